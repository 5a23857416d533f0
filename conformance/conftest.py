"""Options that the tests share."""

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--rewrite-golden",
        action="store_true",
        help="write conformance/golden anew; keep the changes only if you understand them",
    )

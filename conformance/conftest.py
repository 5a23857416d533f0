"""Options and fixtures that the tests share."""

import pytest

from checker import searches
from checker.prove import Proofs


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--rewrite-golden",
        action="store_true",
        help="write conformance/golden anew; keep the changes only if you understand them",
    )


@pytest.fixture
def no_proofs(monkeypatch: pytest.MonkeyPatch) -> None:
    """A matrix that has no time for proofs, and nothing of an earlier run: quick, and always the same."""
    monkeypatch.setattr(searches, "proved", lambda *given, **more: Proofs(stopped="seconds"))

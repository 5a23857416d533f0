"""Options and fixtures that the tests share."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest

from conformance.tests.support.browser import chromium
from isrcheck.checker.outcome.proof_results import Proofs
from isrcheck.checker.session import progress
from isrcheck.checker.session import session as searches

if TYPE_CHECKING:
    from conformance.tests.support.spark import Cluster
    from isrcheck.checker.spark.runtime.session import Session


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--rewrite-golden",
        action="store_true",
        help="write conformance/tests/golden anew; keep the changes only if you understand them",
    )


@pytest.fixture(autouse=True)
def no_progress(monkeypatch: pytest.MonkeyPatch) -> None:
    """No progress on stderr: a slow machine would print some. Tests of progress set the seconds themselves."""
    monkeypatch.setattr(progress, "SECONDS_BETWEEN_LINES", 3600)


@pytest.fixture
def no_proofs(monkeypatch: pytest.MonkeyPatch) -> None:
    """A matrix that has no time for proofs, and nothing of an earlier run: quick, and always the same."""
    monkeypatch.setattr(searches, "proved", lambda *given, **more: Proofs(stopped="seconds"))


@pytest.fixture(scope="module")
def local_spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Session]:
    """A session on two threads, which the tests of a file share; there can be one at a time in a process."""
    from conformance.tests.support.spark import local_session

    with local_session(tmp_path_factory.mktemp("spark")) as session:
        yield session


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """A standalone master and two workers on loopback, which the tests of a file share."""
    from conformance.tests.support.spark import standalone_cluster

    with standalone_cluster(tmp_path_factory.mktemp("cluster")) as running:
        yield running


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """A real browser; where there is none, the test is skipped and says how to get one."""
    with chromium() as found:
        yield found

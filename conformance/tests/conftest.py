"""Options and fixtures that the tests share."""

from __future__ import annotations

import json
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from conformance.tests.schedule import schedule, uses_shared_session
from conformance.tests.support.browser import chromium
from isrcheck.checker import cli
from isrcheck.checker.analyses import matrix
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


@pytest.hookimpl(tryfirst=True)  # xdist reads the groups
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    schedule(items)


@pytest.hookimpl(wrapper=True, optionalhook=True)
def pytest_xdist_auto_num_workers() -> Generator[None, int, int]:
    """One worker more than there are cores: tests of Spark, of limits of time and of Ctrl-C wait a good deal."""
    return (yield) + 1


LEFT = pytest.StashKey[int]()
"""How many tests were left to `make test-exhaustive`."""


def pytest_deselected(items: Sequence[pytest.Item]) -> None:
    left = [item for item in items if item.get_closest_marker("exhaustive")]
    if left:
        left[0].config.stash[LEFT] = len(left)


def pytest_sessionfinish(session: pytest.Session) -> None:
    if hasattr(session.config, "workeroutput"):
        session.config.workeroutput["left"] = session.config.stash.get(LEFT, 0)


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """What a worker has left out, all workers have: each collects everything."""
    node.config.stash[LEFT] = getattr(node, "workeroutput", {}).get("left", 0)


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    left = config.stash.get(LEFT, 0)
    if left:
        terminalreporter.write_line(f"exhaustive tests left out: {left}; they run with: make test-exhaustive")


@pytest.fixture
def no_proofs(monkeypatch: pytest.MonkeyPatch) -> None:
    """A matrix that has no time for proofs, and nothing of an earlier run: quick, and always the same."""
    monkeypatch.setattr(searches, "proved", lambda *given, **more: Proofs(stopped="seconds"))


@pytest.fixture
def check_record(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., tuple[int, str, Any]]:
    """Run the matrix against a record: gives the exit code, the text, and the object of --json."""
    monkeypatch.chdir(tmp_path)
    record = tmp_path / "verdicts.toml"
    read = matrix.recorded
    monkeypatch.setattr(matrix, "recorded", lambda: read(record))

    def run(content: str, *words: str) -> tuple[int, str, Any]:
        record.write_text(content, encoding="utf-8")
        code = cli.main(words)
        text = capsys.readouterr().out
        assert cli.main([*words, "--json"]) == code
        return code, text, json.loads(capsys.readouterr().out)

    return run


SHARED = pytest.StashKey[tuple[ExitStack, Any]]()
"""The session that consecutive tests of this process share, and what ends it."""


@pytest.fixture
def local_spark(pytestconfig: pytest.Config, tmp_path_factory: pytest.TempPathFactory) -> Session:
    """A session on two threads, which consecutive tests share; there can be one at a time in a process."""
    from conformance.tests.support.spark import local_session

    if SHARED not in pytestconfig.stash:
        stack = ExitStack()
        session = stack.enter_context(local_session(tmp_path_factory.mktemp("spark")))
        pytestconfig.stash[SHARED] = stack, session
        pytestconfig.add_cleanup(stack.close)
    shared: Session = pytestconfig.stash[SHARED][1]
    return shared


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> None:
    """The shared session ends before the first test that may start one of its own."""
    if SHARED in item.config.stash and not uses_shared_session(nextitem):
        item.config.stash[SHARED][0].close()
        del item.config.stash[SHARED]


@pytest.fixture(scope="session")
def standalone(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """A standalone master and two workers on loopback."""
    from conformance.tests.support.spark import standalone_cluster

    with standalone_cluster(tmp_path_factory.mktemp("cluster")) as running:
        yield running


@pytest.fixture
def cluster(standalone: Cluster) -> Cluster:
    """The one cluster that all tests share; workers that an earlier test has killed are there again."""
    standalone.start_missing_workers()
    return standalone


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """A real browser; where there is none, the test is skipped and says how to get one."""
    with chromium() as found:
        yield found

"""Options and fixtures that the tests share."""

from __future__ import annotations

import gc
import json
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, settings

from conformance.tests import schedule
from conformance.tests.support.browser import chromium
from conformance.tests.timings import Measurement
from isrcheck.checker import cli
from isrcheck.checker.comparisons import matrix_record as matrix
from isrcheck.checker.results import terminal as progress
from isrcheck.checker.results.proofs import Proofs
from isrcheck.checker.running import session as searches

if TYPE_CHECKING:
    from conformance.tests.support.spark import Cluster
    from isrcheck.checker.spark.session import Session


# How fast examples are generated says something about the machine, not about the program.
settings.register_profile("any machine", suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("any machine")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--rewrite-golden",
        action="store_true",
        help="write conformance/tests/golden anew; keep the changes only if you understand them",
    )
    parser.addoption(
        "--timings",
        metavar="FILE",
        help="measure the processor time of each test, and write it into FILE (conformance/tests/timings.py)",
    )
    parser.addoption(
        "--when",
        action="store_true",
        help="print for each test when it runs, and run none (conformance/tests/schedule.py)",
    )


def pytest_configure(config: pytest.Config) -> None:
    if config.option.timings is not None:
        is_worker = hasattr(config, "workerinput")
        config.pluginmanager.register(Measurement(Path(config.option.timings), is_worker=is_worker))


@pytest.fixture(autouse=True)
def no_progress(monkeypatch: pytest.MonkeyPatch) -> None:
    """Print no progress, which a slow machine would print on stderr. Tests of progress set the seconds themselves."""
    monkeypatch.setattr(progress, "SECONDS_BETWEEN_LINES", 3600)


LEAST_MEASURED = 3
"""The parameters of a test that a measurement runs at least: the first is more expensive than the others."""


@pytest.hookimpl(wrapper=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> Generator[None, None, None]:
    """Mark the tests before pytest leaves some out and xdist reads the groups; then sort those that run."""
    schedule.mark(items, least=1 if config.option.timings is None else LEAST_MEASURED)
    config.stash[schedule.UNMARKED] = schedule.unmarked(items)
    yield
    schedule.sort(items)


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop(session: pytest.Session) -> bool | None:
    """With --when, print instead of running."""
    if not session.config.option.when:
        return None
    session.config.get_terminal_writer().write("\n".join(["", *schedule.runs(session.items)]))
    return True


def pytest_collection_finish() -> None:
    """Let the garbage collector pass over the thousands of collected tests, which live to the end."""
    gc.collect()
    gc.freeze()


@pytest.hookimpl(wrapper=True, optionalhook=True)
def pytest_xdist_auto_num_workers() -> Generator[None, int, int]:
    """One worker more than there are cores, because the tests of Spark and of interrupts often wait."""
    return (yield) + 1


RUN_WITH = {"exhaustive": "make test-exhaustive", "recorded": "make verify"}
"""The marks of tests that `make test` leaves out, and the command that runs them; of two marks the last counts."""

LEFT = pytest.StashKey[dict[str, int]]()
"""How many tests with each of these marks were left out."""


def pytest_deselected(items: Sequence[pytest.Item]) -> None:
    marks = [[mark for mark in RUN_WITH if item.get_closest_marker(mark)][-1:] for item in items]
    if items:
        items[0].config.stash[LEFT] = {mark: marks.count([mark]) for mark in RUN_WITH}


def pytest_sessionfinish(session: pytest.Session) -> None:
    if hasattr(session.config, "workeroutput"):
        session.config.workeroutput["left"] = session.config.stash.get(LEFT, {})


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """Take the number of deselected tests from a worker, which is that of all workers."""
    node.config.stash[LEFT] = getattr(node, "workeroutput", {}).get("left", {})


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    for mark, left in config.stash.get(LEFT, {}).items():
        if left:
            terminalreporter.write_line(f"{mark} tests left out: {left}; they run with: {RUN_WITH[mark]}")


@pytest.fixture
def no_proofs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Run the matrix without time for proofs and with empty caches: quickly, and always with the same result."""
    monkeypatch.setattr(searches, "proved", lambda *given, **more: Proofs(stopped="seconds"))


@pytest.fixture
def check_record(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., tuple[int, str, Any]]:
    """Run the matrix against a record; return the exit code, the text with details, and the object of --json."""
    monkeypatch.chdir(tmp_path)
    record = tmp_path / "verdicts.toml"
    read = matrix.recorded
    monkeypatch.setattr(matrix, "recorded", lambda: read(record))

    def run(content: str, *words: str) -> tuple[int, str, Any]:
        record.write_text(content, encoding="utf-8")
        code = cli.main([*words, "--details"])
        text = capsys.readouterr().out
        assert cli.main([*words, "--json"]) == code
        return code, text, json.loads(capsys.readouterr().out)

    return run


SHARED = pytest.StashKey[tuple[ExitStack, Any]]()
"""The session that consecutive tests of this process share, and what ends it."""


@pytest.fixture
def local_spark(pytestconfig: pytest.Config, tmp_path_factory: pytest.TempPathFactory) -> Session:
    """A session on two threads, which consecutive tests share: a process can have only one at a time."""
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
    """End the shared session before the first test that may start its own."""
    if SHARED in item.config.stash and not schedule.uses_shared_session(nextitem):
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
    """The cluster that all tests share; workers killed by an earlier test are restarted."""
    standalone.start_missing_workers()
    return standalone


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """A real browser; without one the test is skipped, with the way to get one."""
    with chromium() as found:
        yield found

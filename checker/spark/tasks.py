"""Tasks on executors: their memory, the statistics that they report, and a check of the code on the executors.

The statistics of a job are a dictionary on the driver, to which each task adds an entry when it ends. They are counts,
never states. A task that runs twice reports the same values under the same key, so nothing is counted twice.

The code on all machines is compared, because a result would be worthless if an executor ran other code than the driver.
"""

from __future__ import annotations

import operator
import platform
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from importlib import metadata
from threading import Thread
from typing import Any, TypeVar

from pyspark import Accumulator, AccumulatorParam, SparkContext

from isrcheck.checker.resources.cache import hashed_modules
from isrcheck.checker.spark.faults import explained
from isrcheck.checker.spark.session import Session
from isrcheck.models.messages import UsageError


def task_memory(session: Session, memory: int) -> int:
    """Return the memory, in bytes, of each task, if all tasks on one machine together may use `memory`."""
    if session.is_local:
        return memory // session.context.defaultParallelism
    conf = session.context.getConf()
    return memory // max(1, int(conf.get("spark.executor.cores", "1")) // int(conf.get("spark.task.cpus", "1")))


SECONDS_BETWEEN_LOOKS = 0.2
SECONDS_TO_CANCEL = 10.0

T = TypeVar("T")
R = TypeVar("R")


class _ByKey(AccumulatorParam[dict[Any, Any]]):
    def zero(self, value: dict[Any, Any]) -> dict[Any, Any]:  # noqa: ARG002 - Spark's signature
        return {}

    def addInPlace(self, value1: dict[Any, Any], value2: dict[Any, Any]) -> dict[Any, Any]:  # noqa: N802 - Spark's name
        value1.update(value2)
        return value1


TaskStatistics = Accumulator[dict[Any, Any]]


def task_statistics(context: SparkContext) -> TaskStatistics:
    """Return an empty accumulator for the statistics that the tasks of a job report."""
    return context.accumulator({}, _ByKey())


def running(session: Session, work: Callable[[], object]) -> Iterator[None]:
    """Run `work`, a function that runs Spark jobs, in a thread, and yield every 0.2 s until `work` has returned. If the
    caller gets an exception before then, such as Ctrl-C, the jobs are cancelled. Raises SparkLostError or UsageError if
    Spark fails; other exceptions of `work` are raised unchanged."""
    errors: list[BaseException] = []
    group = f"isrcheck {id(errors)}"

    def run() -> None:
        try:
            session.context.setJobGroup(group, "isrcheck", interruptOnCancel=True)
            work()
        except BaseException as error:
            errors.append(error)

    thread = Thread(target=run, daemon=True)
    thread.start()
    try:
        while thread.is_alive():
            thread.join(SECONDS_BETWEEN_LOOKS)
            yield
    except BaseException:
        session.context.cancelJobGroup(group)
        thread.join(SECONDS_TO_CANCEL)
        raise
    if errors:
        with explained(session.evidence):
            raise errors[0]


def run_job(session: Session, work: Callable[[], T], look: Callable[[], object]) -> T:
    """Run `work` (a function that runs Spark jobs) and return its result; call `look` every 0.2 s meanwhile. An
    exception of `look` cancels the jobs. Raises the same exceptions as `running`."""
    done: list[T] = []
    for _ in running(session, lambda: done.append(work())):
        look()
    return done[0]


def values_of(statistics: TaskStatistics) -> Mapping[Any, Any]:
    """The statistics that tasks have reported so far, by key."""
    return dict(statistics.value)


def results_of(
    session: Session, tasks: Sequence[T], run: Callable[[T], R], look: Callable[[int], object]
) -> Iterator[tuple[int, R]]:
    """For each task, call `run` on an executor, and yield the task's position and result soon after the task has ended.
    Every 0.2 s, `look` is called with the number of finished tasks. Results must be small: they are sent as statistics.
    Ctrl-C cancels the tasks. Raises SparkLostError or UsageError if Spark fails, and every exception of `run`."""
    statistics, yielded = task_statistics(session.context), set[int]()

    def work() -> None:
        spread = session.context.parallelize(list(enumerate(tasks)), max(1, len(tasks)))
        spread.foreach(lambda task: statistics.add({task[0]: run(task[1])}))

    def new() -> Iterator[tuple[int, R]]:
        for position, result in values_of(statistics).items():
            if position not in yielded:
                yielded.add(position)
                yield position, result

    for _ in running(session, work):
        yield from new()
        look(len(yielded))
    yield from new()


SOURCES = ("isrcheck.commands", "isrcheck.models", "isrcheck.traces", "isrcheck.checker", "isrcheck.conformance.follow")
PACKAGES = ("numpy", "llvmlite", "pyarrow")
TASKS_PER_CORE = 2
SECONDS_OF_A_TASK = 0.1
"""How many seconds each check of an executor waits, so that no executor runs all checks before the others start."""

CURE = "install the same version there, or give the executors a packaged environment"


def require_same(session: Session, look: Callable[[], object] = lambda: None) -> None:
    """Raise UsageError if an executor's machine has other code than the driver; call `look` while the check runs."""
    if not session.is_local:
        run_job(session, lambda: same_everywhere(session.context), look)


def same_everywhere(context: SparkContext) -> list[str]:
    """Return the hosts of the executors. Raises UsageError if the code on a host differs from the driver's."""

    def tell(_: Iterable[int]) -> Iterator[tuple[str, Mapping[str, str]]]:
        # A nested function is sent by value; a function of a module would fail where isrcheck is missing.
        import socket
        import time

        try:
            from isrcheck.checker.spark.tasks import facts as facts_there  # by name, so that it is not sent

            versions = facts_there()
        except ImportError as error:
            versions = {"isrcheck": f"none ({error})"}
        time.sleep(SECONDS_OF_A_TASK)
        yield socket.gethostname(), versions

    tasks = context.defaultParallelism * TASKS_PER_CORE
    answers = context.parallelize(range(tasks), tasks).mapPartitions(tell).collect()
    here = facts()
    for host, there in sorted(answers, key=operator.itemgetter(0)):
        if line := difference(host, here, there):
            raise UsageError(line)
    return sorted({host for host, _ in answers})


def facts() -> dict[str, str]:
    """What must be equal on all machines: source, versions, processor. The keys are the names that messages use."""
    return {
        "isrcheck": f"of source {source_digest()[:12]}",  # more exact than a version
        "Python": f"{sys.version_info.major}.{sys.version_info.minor}",
        **{name: _major(_version(name)) for name in PACKAGES},
        "processor": f"{platform.machine()} ({sys.byteorder}-endian)",
    }


def difference(host: str, here: Mapping[str, str], there: Mapping[str, str]) -> str | None:
    """Return the message about the first difference between a host's `facts` and the driver's; None if all match."""
    for name, ours in here.items():
        theirs = there.get(name, "none")
        if theirs != ours:
            cure = "exclude this host" if name == "processor" else CURE
            return f"an executor on {host} has {name} {theirs}, and the driver has {name} {ours}: {cure}"
    return None


def source_digest() -> str:
    """The digest of all modules in SOURCES, which can be in a folder or in an archive."""
    return hashed_modules(dict.fromkeys(SOURCES, True))


def _version(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return "none"


def _major(version: str) -> str:
    """Return the part of a version that must be equal on all machines: 2 for 2.3.1, but 0.68 for 0.68.0."""
    major, minor, *_ = (*version.split("."), "")
    return f"0.{minor}" if major == "0" else major

"""Task statistics: counts, never states, that tasks report to the driver while a job runs.

In:  on an executor, a key and a value.
Out: on the driver, a dictionary that grows as tasks end.

A task that runs twice reports the same values under the same key, so that nothing is counted twice.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from threading import Thread
from typing import Any, TypeVar

from pyspark import Accumulator, AccumulatorParam, SparkContext

from isrcheck.checker.spark.runtime.faults import explained
from isrcheck.checker.spark.runtime.session import Session

SECONDS_BETWEEN_LOOKS = 0.2
SECONDS_TO_CANCEL = 10.0

T = TypeVar("T")


class _ByKey(AccumulatorParam[dict[Any, Any]]):
    def zero(self, value: dict[Any, Any]) -> dict[Any, Any]:  # noqa: ARG002 - Spark's signature
        return {}

    def addInPlace(self, value1: dict[Any, Any], value2: dict[Any, Any]) -> dict[Any, Any]:  # noqa: N802 - Spark's name
        value1.update(value2)
        return value1


TaskStatistics = Accumulator[dict[Any, Any]]


def task_statistics(context: SparkContext) -> TaskStatistics:
    """An accumulator for the statistics of a job's tasks."""
    return context.accumulator({}, _ByKey())


def running(session: Session, work: Callable[[], object]) -> Iterator[None]:
    """Run `work` (a function that runs Spark jobs) in a thread, and yield every 0.2 s until it is done.

    An exception meanwhile, such as Ctrl-C, cancels the jobs. Raises SparkLostError or UsageError if Spark fails, and
    every exception of `work`.
    """
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
    """Run `work` (a function that runs Spark jobs) and return its result; call `look` every 0.2 s meanwhile.

    An exception of `look` cancels the jobs. Raises the same exceptions as `running`.
    """
    done: list[T] = []
    for _ in running(session, lambda: done.append(work())):
        look()
    return done[0]


def values_of(told: TaskStatistics) -> Mapping[Any, Any]:
    """The statistics that tasks have reported so far, by key."""
    return dict(told.value)

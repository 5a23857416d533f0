"""What tasks tell the driver while a job is still running: statistics by key, never states.

In:  on an executor, a key and what is known under it. Out: on the driver, a dictionary that grows as tasks end.

A task that is run twice tells the same twice, under the same key, so that nothing is counted twice.
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


Told = Accumulator[dict[Any, Any]]


def told_by(context: SparkContext) -> Told:
    """Something that the tasks of a job can tell to."""
    return context.accumulator({}, _ByKey())


def running(session: Session, work: Callable[[], object]) -> Iterator[None]:
    """Do something that runs jobs, and give a chance to look at it every now and then, until it is done.

    Whatever is raised in between, Ctrl-C for one, cancels the jobs. Raises SparkLostError or UsageError where Spark
    fails, and what `work` raises itself.
    """
    errors: list[BaseException] = []
    group = f"isrcheck {id(errors)}"

    def run() -> None:
        session.context.setJobGroup(group, "isrcheck", interruptOnCancel=True)
        try:
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
    """Do something that runs jobs, and look at how far it is every now and then; what it gives. Raises as `running`.

    `look` may raise to end it.
    """
    done: list[T] = []
    for _ in running(session, lambda: done.append(work())):
        look()
    return done[0]


def values_of(told: Told) -> Mapping[Any, Any]:
    """What was told by now."""
    return dict(told.value)

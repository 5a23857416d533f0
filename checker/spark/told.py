"""What tasks tell the driver while a job is still running: statistics by key, never states.

In:  on an executor, a key and what is known under it. Out: on the driver, a dictionary that grows as tasks end.

A task that is run twice tells the same twice, under the same key, so that nothing is counted twice.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from threading import Thread
from typing import Any

from pyspark import Accumulator, AccumulatorParam, SparkContext

from checker.spark.faults import explained
from checker.spark.session import Session

SECONDS_BETWEEN_LOOKS = 0.2


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


def run_job(session: Session, work: Callable[[], Any], look: Callable[[], None]) -> Any:
    """Do something that runs jobs, and look at how far it is every now and then; Ctrl-C cancels the jobs.

    `look` may raise to end it. Raises SparkLostError or UsageError where Spark fails, and what `work` raises itself.
    """
    context = session.context
    done: dict[str, Any] = {}
    group = f"isrcheck {id(done)}"

    def run() -> None:
        context.setJobGroup(group, "isrcheck", interruptOnCancel=True)
        try:
            done["result"] = work()
        except BaseException as error:
            done["error"] = error

    thread = Thread(target=run, daemon=True)
    thread.start()
    try:
        while thread.is_alive():
            thread.join(SECONDS_BETWEEN_LOOKS)
            look()
    except BaseException:
        context.cancelJobGroup(group)
        thread.join(10)
        raise
    if "error" in done:
        with explained(session.evidence):
            raise done["error"]
    return done.get("result")


def values_of(told: Told) -> Mapping[Any, Any]:
    """What was told by now."""
    return dict(told.value)

"""The executable cluster as a system for traces: chooses the driver for the model of a trace."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from isrcheck.conformance.cluster.configuration.settings import ClusterError
from isrcheck.conformance.implemented import BUGS, UntimelyError, require_bug_of, system_of
from isrcheck.conformance.replay.compare import replay
from isrcheck.conformance.replay.coordinator import TIMED, CoordinatorDriver, why_no_cluster_follows
from isrcheck.conformance.replay.driver import Driver
from isrcheck.conformance.replay.system import StepRefusedError, System
from isrcheck.conformance.replay.transactions.driver import LEARNS, TransactionsDriver, why_nobody_answers
from isrcheck.models.language.model import Step
from isrcheck.models.messages import UsageError
from isrcheck.traces.format.trace import Trace
from isrcheck.traces.lanes.scene import listed


class Followed(NamedTuple):
    """How a cluster replays the traces of one model: a function that makes the driver, and one that rejects traces."""

    driver: Callable[[str | None], System]
    """A function that takes the name of a seeded bug and makes the driver."""
    decisive: tuple[str, ...]
    """The actions in which a trace may become one that no cluster follows."""
    why_not: Callable[[Trace], str | None]
    """A function that says why no cluster follows a trace; None if a cluster follows it."""


FOLLOWED: Mapping[str, Followed] = {
    "transactions": Followed(TransactionsDriver, LEARNS, why_nobody_answers),
    "coordinator": Followed(CoordinatorDriver, TIMED, why_no_cluster_follows),
}


class OnCluster:
    """Replays traces one after the other, each on a new cluster of its model. Implements `System` (system.py)."""

    def __init__(self, bug: str | None = None, logs: Path | None = None) -> None:
        """`bug`: the bug that is seeded in the clusters; `logs`: the folder in which the brokers keep their logs."""
        self._bug = bug
        self._logs = logs
        self._of_kafka = Driver(None, logs)
        self._driver: System = self._of_kafka

    def begin(self, trace: Trace) -> None:
        """Create a cluster in the trace's initial state. Raises UsageError for a trace, bug or `logs` that no driver
        supports; UntimelyError if no cluster can follow the trace; and the driver's errors."""
        model = system_of(trace.instance)
        if model not in BUGS or trace.instance.swaps:
            raise UsageError(
                f"the cluster replays only traces of {listed(BUGS)} without swapped actions; give such a trace"
            )
        require_bug_of(model, self._bug)
        if model == "kafka":
            self._of_kafka.bug = self._bug
            self._driver = self._of_kafka
        elif self._logs is not None:
            raise UsageError("--logs keeps the logs of brokers only for traces of kafka; leave --logs out")
        elif why := FOLLOWED[model].why_not(trace):
            raise UntimelyError(why)
        else:
            self._driver = FOLLOWED[model].driver(self._bug)
        self._driver.begin(trace)

    def take(self, step: Step) -> None:
        """Take the next step of the trace. Raises StepRefusedError."""
        try:
            self._driver.take(step)
        except ClusterError as error:
            raise StepRefusedError(str(error)) from None

    def observe(self) -> Mapping[str, Any]:
        return self._driver.observe()


def why_not_taken(trace: Trace) -> str:
    """Why the executable cluster cannot follow a trace, found by replaying it; an empty text if the cluster can."""
    try:
        divergence = replay(trace, OnCluster())
    except UsageError as error:
        return str(error)
    return "" if divergence is None else divergence.lines(trace)[0]

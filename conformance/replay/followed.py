"""The traces of `transactions` and `coordinator` that no cluster follows, because the models are coarser there.

In:  a trace of one of these models.
Out: why the system of its model cannot follow it, or None. (For `kafka`, timing.py tells that.)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from isrcheck.conformance.implemented import system_of
from isrcheck.conformance.replay.coordinator.timing import TIMED, why_no_cluster_follows
from isrcheck.conformance.replay.transactions.answers import LEARNS, why_nobody_answers
from isrcheck.traces.format.trace import Trace

DECIDED_BY: Mapping[str, tuple[tuple[str, ...], Callable[[Trace], str | None]]] = {
    "transactions": (LEARNS, why_nobody_answers),
    "coordinator": (TIMED, why_no_cluster_follows),
}
"""For each model, the actions in which this happens, and the function that tells."""


def why_not_followed(trace: Trace) -> str | None:
    """Why no cluster follows a trace of one of these models, as a reason; None if one does."""
    _, why = DECIDED_BY[system_of(trace.instance)]
    return why(trace)

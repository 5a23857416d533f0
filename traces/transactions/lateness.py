"""Counts late records in a trace of the model `transactions`.

In:  a trace of that model.
Out: a number.

A record is late if the coordinator has decided its transaction before it arrives. Copies of other requests that arrive
late have budgets of their own.
"""

from __future__ import annotations

from isrcheck.models.run import State
from isrcheck.models.transactions.values import Outcome
from isrcheck.traces.format.trace import Trace, arguments_of


def late_records(trace: Trace) -> int:
    """Return the number of records that arrive after their transaction was decided."""
    late = 0
    for number, step in enumerate(trace.steps):
        if step.action == "leader_appends_record":
            before = State(trace.instance, trace.states[number])
            late += before.outcome[arguments_of(trace.instance, step)["transaction"]] != Outcome.OPEN
    return late

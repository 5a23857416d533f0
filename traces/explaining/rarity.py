"""What has to happen for a history: faults, elections, messages that are late or lost. Only counted, never estimated.

In:  a certified trace.
Out: the number of each kind of event; what does not occur is left out.

A fault is what a budget of the model counts. An election is a change of the leader epoch at the controller. A message
is lost in an action of its own; those that a crash takes along are not counted.
"""

from __future__ import annotations

from collections.abc import Mapping

from isrcheck.models.run import State
from isrcheck.traces.explaining.cause import faults_in
from isrcheck.traces.format.trace import Trace
from isrcheck.traces.kafka.lateness import elections, late_messages
from isrcheck.traces.kafka.model import is_kafka
from isrcheck.traces.transactions.columns import is_transactions
from isrcheck.traces.transactions.lateness import late_records

ELECTIONS, FAIL_OVERS, LATE, LOST = "elections", "fail-overs", "late messages", "lost messages"
LOSE_A_MESSAGE = frozenset(
    {
        *("send_is_lost", "answer_is_lost", "response_is_lost", "late_fetch_is_lost"),
        *("answer_to_leader_is_lost", "answer_to_marker_is_lost"),
    }
)
"""The actions that lose a message and have no budget."""


def rarity(trace: Trace) -> Mapping[str, int]:
    """Return how often each kind of event occurs in a trace."""
    counted = dict(faults_in(trace.instance, trace.states[-1]))
    if is_kafka(trace.instance):
        counted |= {ELECTIONS: elections(trace), LATE: late_messages(trace)}
    elif is_transactions(trace.instance):
        counted |= {LATE: late_records(trace), FAIL_OVERS: _fail_overs(trace)}
    counted[LOST] = sum(step.action in LOSE_A_MESSAGE for step in trace.steps)
    return {name: count for name, count in counted.items() if count}


def _fail_overs(trace: Trace) -> int:
    """How often the coordinator moved: each time, its epoch rises."""
    epoch: int = State(trace.instance, trace.states[-1]).coordinator_epoch
    return epoch

"""Counts elections and late messages in a trace of Kafka's model.

In:  a trace of Kafka's model.
Out: numbers.

A message is late if the controller has changed the leader or the ISR between its sending and its arrival. The messages
are the announcements of the controller, the responses to fetches, and the answers to AlterPartition. A fetch is late if
its leader leads in a later epoch than the follower knows. A lost message is not late.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from isrcheck.models.run import State
from isrcheck.traces.format.trace import Trace, arguments_of

Arguments = Mapping[str, Any]
Sent = Callable[[Arguments], object]
"""The key of a message, under which its sending is found again."""


def _from_leader(arguments: Arguments) -> object:
    return "response", arguments["leader"], arguments["follower"]


def _to_leader(arguments: Arguments) -> object:
    return "answer", arguments["leader"]


SENDING: Mapping[str, Sent] = {
    "leader_handles_fetch": _from_leader,
    "leader_answers_parked_fetch": _from_leader,
    "controller_handles_alter_partition": _to_leader,
}
ARRIVING: Mapping[str, Sent] = {
    "follower_applies_response": _from_leader,
    "follower_truncates": _from_leader,
    "leader_hears_answer": _to_leader,
}
"""The actions that send a message, and those in which it arrives."""

LEADER_AND_ISR = ("broker_becomes_leader", "broker_becomes_follower")
METADATA = "broker_applies_metadata"


def elections(trace: Trace) -> int:
    """Return the number of leader epochs that the controller has begun."""
    first, last = State(trace.instance, trace.states[0]), State(trace.instance, trace.states[-1])
    return int(last.controller_epoch - first.controller_epoch)


def late_messages(trace: Trace) -> int:
    """Return the number of messages that arrive late."""
    late = 0
    sent: dict[object, tuple[int, int]] = {}
    for number, step in enumerate(trace.steps):
        before = State(trace.instance, trace.states[number])
        arguments = arguments_of(trace.instance, step)
        if step.action in LEADER_AND_ISR:
            late += arguments["epoch"] < before.controller_epoch
        elif step.action == METADATA:
            late += arguments["partition_epoch"] < before.controller_partition_epoch
        elif step.action in ARRIVING:
            key = ARRIVING[step.action](arguments)
            late += sent.get(key, _moment(before)) != _moment(before)
        if step.action == "leader_handles_fetch":
            late += before.leader_epoch[arguments["follower"]] < before.leader_epoch[arguments["leader"]]
        if step.action in SENDING:
            sent[SENDING[step.action](arguments)] = _moment(State(trace.instance, trace.states[number + 1]))
    return late


def _moment(s: State) -> tuple[int, int]:
    """The epochs of the controller, by which two moments are told apart."""
    return int(s.controller_epoch), int(s.controller_partition_epoch)

"""The messages of one step of Kafka's transactions: between the coordinator, the producers and the partitions.

In:  a step of that model, and the state before it.
Out: arrows and marks between lanes, in the order in which they occur.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from isrcheck.models.language.declarations import NONE
from isrcheck.models.language.model import Instance, Step
from isrcheck.models.language.states import spell_element
from isrcheck.models.run import State
from isrcheck.models.transactions import log as transaction_log
from isrcheck.models.transactions.values import Outcome, Phase, Request, TransactionState
from isrcheck.traces.format.trace import arguments_of
from isrcheck.traces.lanes.scene import ELECTION, FAULT, LOST, NOTE, REQUEST, RESPONSE, Arrow, Mark
from isrcheck.traces.transactions.lanes import name_of

Events = Iterator[Arrow | Mark]

decided_request: Callable[[State], int] = transaction_log.decided_request


@dataclass(frozen=True)
class LaneNumbers:
    """The number of each lane: first the coordinator, then the producers and the partitions."""

    producers: int

    coordinator: int = 0

    def producer(self, i: int) -> int:
        """The lane of an instance of the producer."""
        return 1 + i

    def partition(self, p: int) -> int:
        """The lane of a partition."""
        return 1 + self.producers + p


@dataclass(frozen=True)
class _Step:
    """A step: the state before it, and its arguments by their names."""

    lanes: LaneNumbers
    before: State
    arguments: Mapping[str, Any]

    @property
    def producer(self) -> int:
        return self.lanes.producer(self.arguments["producer"])

    @property
    def partition(self) -> int:
        return self.lanes.partition(self.arguments["partition"])

    def asks(self, text: str, kind: str = REQUEST) -> Arrow:
        """A message from the producer to the coordinator."""
        return Arrow(self.producer, self.lanes.coordinator, text, kind)

    def tells(self, text: str, kind: str = REQUEST) -> Arrow:
        """A message from the coordinator to the partition."""
        return Arrow(self.lanes.coordinator, self.partition, text, kind)

    def answers(self, text: str, kind: str = REQUEST) -> Arrow:
        """A message from the partition to the coordinator."""
        return Arrow(self.partition, self.lanes.coordinator, text, kind)

    @property
    def end(self) -> str:
        """The outstanding EndTxn of the producer."""
        return f"EndTxn {'commit' if self.before.phase[self.arguments['producer']] == Phase.COMMITTING else 'abort'}"

    @property
    def marker(self) -> str:
        """The marker that the coordinator sends."""
        return f"{_kind(decided_request(self.before))} marker"


def _kind(request: int) -> str:
    return "commit" if request == Request.COMMIT else "abort"


def _sends(step: _Step) -> Events:
    s, i = step.before, step.arguments["producer"]
    latest = [t for t in range(s.transactions) if s.begun_by[t] == i]
    record = f"record {spell_element(latest[-1])}" if latest else "record"
    yield Arrow(step.producer, step.partition, record, RESPONSE)


def _appends(step: _Step) -> Events:
    s, transaction = step.before, step.arguments["transaction"]
    sender = s.begun_by[transaction]
    record = f"record {spell_element(transaction)}"
    if sender != NONE:
        yield Arrow(step.lanes.producer(sender), step.partition, record)
    if s.outcome[transaction] != Outcome.OPEN:
        yield Mark(step.partition, f"{record} is late", FAULT)


def _verifies(step: _Step) -> Events:
    yield step.answers(f"is {spell_element(step.arguments['transaction'])} open?")
    yield step.tells("yes")


def _replicates(step: _Step) -> Events:
    s = step.before
    yield Mark(step.lanes.coordinator, f"{name_of(TransactionState(s.pending_state))} is in the log", ELECTION)
    if s.pending_producer != NONE:
        yield Arrow(step.lanes.coordinator, step.lanes.producer(s.pending_producer), f"epoch {s.pending_epoch}")


def _refuses(step: _Step) -> Events:
    yield step.tells(step.marker)
    yield step.answers("refused")


def _late_marker(step: _Step) -> Events:
    request = step.before.late_marker[step.arguments["partition"]]
    yield step.tells(f"{_kind(request)} marker")
    yield Mark(step.partition, "a late marker", FAULT)


def _stops(step: _Step) -> Events:
    for i in range(step.before.producers):
        yield Mark(step.lanes.producer(i), "stops", FAULT)


def _at_coordinator(text: str, kind: str = NOTE) -> Callable[[_Step], Events]:
    def befall(step: _Step) -> Events:
        yield Mark(step.lanes.coordinator, text, kind)

    return befall


def _at_partition(text: str, kind: str = NOTE) -> Callable[[_Step], Events]:
    def befall(step: _Step) -> Events:
        yield Mark(step.partition, text, kind)

    return befall


def _one(arrow: Callable[[_Step], Arrow]) -> Callable[[_Step], Events]:
    def send(step: _Step) -> Events:
        yield arrow(step)

    return send


SENT: Mapping[str, Callable[[_Step], Events]] = {
    "producer_starts": _one(lambda step: step.asks("InitProducerId", RESPONSE)),
    "producer_asks_for_new_epoch": _one(lambda step: step.asks("InitProducerId", RESPONSE)),
    "producer_adds_partition": _one(lambda step: step.asks(f"add partition {step.arguments['partition']}")),
    "producer_sends_record": _sends,
    "producer_commits": _one(lambda step: step.asks("EndTxn commit", RESPONSE)),
    "producer_aborts": _one(lambda step: step.asks("EndTxn abort", RESPONSE)),
    "producer_learns_of_commit": _one(lambda step: Arrow(step.lanes.coordinator, step.producer, "committed")),
    "producer_learns_of_abort": _one(lambda step: Arrow(step.lanes.coordinator, step.producer, "aborted")),
    "application_stops": _stops,
    "transaction_log_is_replicated": _replicates,
    "coordinator_handles_init_producer_id": _one(lambda step: step.asks("InitProducerId")),
    "coordinator_handles_end_txn": _one(lambda step: step.asks(step.end)),
    "end_txn_is_sent_again": _one(lambda step: step.asks(f"{step.end} again", RESPONSE)),
    "coordinator_handles_late_end_txn": _at_coordinator("a late EndTxn", FAULT),
    "coordinator_times_out_transaction": _at_coordinator("time-out", FAULT),
    "coordinator_completes_transaction": _at_coordinator("all markers are there"),
    "coordinator_fails_over": _at_coordinator("moves to another broker", FAULT),
    "coordinator_fails_over_after_append": _at_coordinator("moves to another broker", FAULT),
    "coordinator_sends_marker": _one(lambda step: step.tells(step.marker, RESPONSE)),
    "marker_is_sent_again": _one(lambda step: step.tells(f"{step.marker} again", RESPONSE)),
    "leader_appends_marker": _one(lambda step: step.tells(step.marker)),
    "leader_refuses_marker": _refuses,
    "leader_appends_late_marker": _late_marker,
    "coordinator_learns_of_marker": _one(lambda step: step.answers("marker appended")),
    "coordinator_learns_of_earlier_marker": _at_coordinator("a late answer to an earlier marker", FAULT),
    "answer_to_marker_is_lost": _one(lambda step: step.answers("marker appended", LOST)),
    "leader_adds_partition": _one(
        lambda step: step.answers(f"add me to {spell_element(step.arguments['transaction'])}")
    ),
    "leader_verifies_transaction": _verifies,
    "leader_appends_record": _appends,
    "followers_fetch": _at_partition("replicated"),
    "producer_state_expires": _at_partition("forgets the producer", FAULT),
}
"""The messages of each action; a producer begins a transaction without any."""


def events(instance: Instance, step: Step, before: State) -> Events:
    """Return all messages and events of a step; none for an action that this module does not know."""
    taken = _Step(LaneNumbers(before.producers), before, arguments_of(instance, step))
    if (sent := SENT.get(step.action)) is not None:
        with suppress(KeyError):  # an action of another model with the same name, and other parameters
            yield from sent(taken)

"""Executes the steps of a trace on a system of transactions, only from outside (acts.py).

In:  a trace of `transactions`, and its steps one by one.
Out: a `TransactionalCluster` after each step.

The driver reads the trace ahead to know how often a client has to send a request again, because every step in which a
copy arrives needs one. It also does what the model refuses, which has to change nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from isrcheck.conformance.cluster.network.messages import AddPartitionsToTxnRequest
from isrcheck.conformance.replay.transactions.acts import Acts
from isrcheck.conformance.replay.transactions.answers import LEARNS
from isrcheck.conformance.replay.transactions.projection import begun_in, entries_of, number_of, project
from isrcheck.models import run
from isrcheck.models.language.model import Step
from isrcheck.models.run import State
from isrcheck.models.transactions.values import Request, TransactionState
from isrcheck.traces.format.trace import Trace

ARRIVES = ("leader_adds_partition", "leader_verifies_transaction", "leader_appends_record")
"""The steps in which a copy of a record arrives at a partition's leader."""

ASKS_NO_MORE = (*LEARNS, "application_stops")
"""After each of these a producer waits for the answer to no EndTxn."""


class TransactionsDriver(Acts):
    """Replays traces one after the other, each on a new system. The methods are those of `System` (system.py)."""

    def __init__(self, bug: str | None = None) -> None:
        """With `bug`, the systems have a seeded bug."""
        self.bug = bug

    def begin(self, trace: Trace) -> None:
        """Create a system in which the first instance of the producer is initialised."""
        self.trace, self.position = trace, 0
        self.spare_end_txns: dict[int, list[int]] = {}
        self.copies: dict[int, int] = {}
        self.probed: set[tuple[int, int]] = set()
        self.numbers = {(step.action, step.ordinals): step for step in trace.instance.steps}
        self.begin_with(trace.instance, self.bug)

    def take(self, step: Step) -> None:
        """Take the next step of the trace. Raises ClusterError if the system cannot take it."""
        take: Callable[..., object] = getattr(self, step.action)
        self.position += 1
        take(*step.ordinals)
        self.between_steps()
        self._try_what_is_refused()
        self.between_steps()

    def observe(self) -> dict[str, Any]:
        """The values of all variables of the model, except the budgets, which a system does not have."""
        self.seen.note(self.system)
        return project(self.system, self.seen, self.configuration)

    # -------------------------------------------------------------------------------------- what the model does not do

    def _try_what_is_refused(self) -> None:
        """Do what has no step in the model here, because it changes nothing: the coordinator's thread looks for what is
        complete; a copy of a late marker arrives that the partition refuses; so does one of a record that finds a
        transaction of another one open.
        """
        now = State(self.trace.instance, self.trace.states[self.position])
        if not self._is_possible("coordinator_completes_transaction"):
            self.system.write_completions()
        for partition in list(self.copies):
            is_late = now.late_marker[partition] != Request.NOTHING
            if is_late and not self._is_possible("leader_appends_late_marker", partition):
                self.lose_answers_to(partition)
                self.system.deliver(self.copies.pop(partition))
        for partition, transaction in sorted(self._refused_records(now) - self.probed):
            self.probed.add((partition, transaction))
            self.deliver_record(partition, transaction)
            question = self.system.messages[-1]
            if isinstance(question.payload, AddPartitionsToTxnRequest):
                self.system.deliver(question.number)
                for message in self.answers_to_leader(partition):
                    self.system.deliver(message.number)

    def _refused_records(self, now: State) -> set[tuple[int, int]]:
        """The records in flight that can neither be appended nor verified, at partitions with an open transaction."""
        if (
            now.pending_state != TransactionState.NOTHING
        ):  # a leader's question is answered meanwhile, if it adds nothing
            return set()
        found = set()
        for leader in self.system.leaders:
            held = {number_of(record.payload) for record in leader.log.records if record.control is None}
            entries = entries_of(leader)
            for transaction in range(now.transactions) if entries and entries[-1].control is None else ():
                is_in_flight = now.was_sent[leader.number][transaction] and transaction not in held
                at = leader.number, transaction
                if is_in_flight and not any(self._is_possible(action, *at) for action in ARRIVES):
                    found.add(at)
        return found

    def _is_possible(self, action: str, *ordinals: int) -> bool:
        """Whether the model can take this step now."""
        step = self.numbers[action, ordinals]
        return run.take(self.trace.instance, self.trace.states[self.position], step) is not None

    # ----------------------------------------------------------------------------- acts that need the rest of the trace

    def producer_sends_record(self, producer: int, partition: int) -> None:
        begun = {id(one): number for number, (_, one) in begun_in(self.system)}
        transaction = begun[id(self.system.producers[producer].transactions[-1])]
        super().producer_sends_record(producer, partition)
        arrivals = [step for step in self._later() if step.action in ARRIVES]
        for _ in [step for step in arrivals if step.ordinals == (partition, transaction)]:  # one is to be refused
            self.system.producers[producer].resend(partition)

    def producer_commits(self, producer: int) -> None:
        super().producer_commits(producer)
        self._send_copies_of_end_txn(producer)

    def producer_aborts(self, producer: int) -> None:
        super().producer_aborts(producer)
        self._send_copies_of_end_txn(producer)

    def _send_copies_of_end_txn(self, producer: int) -> None:
        """As many copies of EndTxn as the trace has late ones."""
        for step in self._later():
            if step.action in ASKS_NO_MORE and step.ordinals in ((producer,), ()):
                break
            if step.action == "end_txn_is_sent_again" and step.ordinals == (producer,):
                self.spare_end_txns.setdefault(producer, []).append(self.request_of(producer))
                self.system.producers[producer].ask_again()

    def end_txn_is_sent_again(self, producer: int) -> None:
        self.drop(self.seen.late_end_txn)
        self.seen.late_end_txn = self.spare_end_txns[producer].pop(0)

    def coordinator_handles_late_end_txn(self) -> None:
        """The copies are alike: if a producer awaits the answer to one, this is the one that arrives."""
        late, self.seen.late_end_txn = self.seen.late_end_txn, None
        (content,) = [one.payload for one in self.system.messages if one.number == late]
        for number, producer in enumerate(self.system.producers):
            if producer.awaited == content:
                self.drop(late)
                late = self.request_of(number)
        self.system.deliver(-1 if late is None else late)

    def coordinator_fails_over(self, late_markers: int = 0) -> int:
        """Markers that the old coordinator has sent are lost, or arrive late, as many as the model says."""
        return super().coordinator_fails_over(
            State(self.trace.instance, self.trace.states[self.position - 1]).late_markers_left
        )

    def marker_outlives_coordinator(self, partition: int, marker: int) -> None:
        """The marker is late, and so is a copy of it, which arrives when the partition refuses it."""
        self.system.disconnect(marker)
        self.system.send_markers(partition)
        super().marker_outlives_coordinator(partition, marker)
        self.copies[partition] = self.must_be_sent_to(partition)

    def leader_appends_late_marker(self, partition: int) -> None:
        super().leader_appends_late_marker(partition)
        self.drop(self.copies.pop(partition, None))

    def leave_late(self, partition: int, marker: int) -> None:
        """This marker takes longer; an earlier one that does is lost, and so is its copy."""
        self.drop(self.copies.pop(partition, None))
        super().leave_late(partition, marker)

    def _later(self) -> tuple[Step, ...]:
        """The steps after the present one."""
        return self.trace.steps[self.position :]

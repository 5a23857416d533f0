"""Executes the model's steps on a system of transactions, only from outside: by the application, messages, timers,
fail-overs and the progress of replication.

In:  a trace of `transactions`, and its steps one by one.
Out: a `TransactionalCluster` after each step.

The driver reads the trace ahead to know how often a client has to send a request again, because every step in which a
copy arrives needs one. It never writes a field of a node.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from isrcheck.conformance.cluster.configuration.settings import ClusterError
from isrcheck.conformance.cluster.configuration.switches import Switches, UnknownProducer, Verification
from isrcheck.conformance.cluster.network.messages import ProduceRequest, ProduceResponse
from isrcheck.conformance.cluster.network.network import Message
from isrcheck.conformance.cluster.network.records import Control
from isrcheck.conformance.cluster.network.transaction_messages import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    EndTxnResponse,
    InitProducerIdResponse,
)
from isrcheck.conformance.cluster.transactions.system import TransactionalCluster
from isrcheck.conformance.replay.transactions.answers import LEARNS
from isrcheck.conformance.replay.transactions.projection import (
    Observations,
    begun_in,
    entries_of,
    name_of,
    number_of,
    project,
    replicated_entries_of,
)
from isrcheck.models import run
from isrcheck.models.language.model import Instance, Step
from isrcheck.models.run import State
from isrcheck.models.transactions.values import Request, TransactionState
from isrcheck.traces.format.trace import Trace

ARRIVES = ("leader_adds_partition", "leader_verifies_transaction", "leader_appends_record")
"""The steps in which a copy of a record arrives at a partition's leader."""

ASKS_NO_MORE = (*LEARNS, "application_stops")
"""After each of these a producer waits for the answer to no EndTxn."""

UNKNOWN = {True: UnknownProducer.ANY_SEQUENCE, False: UnknownProducer.SEQUENCE_ZERO}


def switches_of(instance: Instance) -> Switches:
    """The switches of a system that behaves like the model."""
    given = instance.configuration
    return Switches(
        TXN_VERIFY=Verification(given.TXN_VERIFY),
        UNKNOWN_PID_POLICY=UNKNOWN[bool(given.UNKNOWN_PID_ACCEPTED)],
        EPOCH_BUMP_BY_PRODUCER=bool(given.EPOCH_BUMP_BY_PRODUCER),
        PRODUCER_STATE_EXPIRES_EARLY=bool(given.PRODUCER_STATE_EXPIRES_EARLY),
        OFFSET_COMMITS_VERIFIED=bool(given.OFFSET_COMMITS_VERIFIED),
        ONGOING_PER_EPOCH=bool(given.ONGOING_PER_EPOCH),
        MARKER_EPOCH_STRICT=bool(given.MARKER_EPOCH_STRICT),
        EQUAL_MARKER_EPOCH_IS_RETRY=bool(given.EQUAL_MARKER_EPOCH_IS_RETRY),
    )


class TransactionsDriver:
    """Replays traces one after the other, each on a new system. The methods are those of `System` (system.py)."""

    system: TransactionalCluster

    def __init__(self, bug: str | None = None) -> None:
        """With `bug`, the systems have a seeded bug."""
        self.bug = bug

    def begin(self, trace: Trace) -> None:
        """Create a system in which the first instance of the producer is initialised."""
        self.trace, self.position = trace, 0
        self.configuration = trace.instance.configuration
        self.system = TransactionalCluster(switches_of(trace.instance), self.configuration.partitions, self.bug)
        self.seen = Observations()
        self.spare_end_txns: dict[int, list[int]] = {}
        self.asked: dict[int, int] = {}
        self.copies: dict[int, int] = {}
        self.probed: set[tuple[int, int]] = set()
        self.numbers = {(step.action, step.ordinals): step for step in trace.instance.steps}
        self.system.start_producer()
        self._coordinator_handles_init_producer_id(0)
        self.system.replicate_transaction_log()
        self._between_steps()

    def take(self, step: Step) -> None:
        """Take the next step of the trace. Raises ClusterError if the system cannot take it."""
        take: Callable[..., None] = getattr(self, f"_{step.action}")
        self.position += 1
        take(*step.ordinals)
        self._between_steps()
        self._try_what_is_refused()
        self._between_steps()

    def observe(self) -> dict[str, Any]:
        """The values of all variables of the model, except the budgets, which a system does not have."""
        self.seen.note(self.system)
        return project(self.system, self.seen, self.configuration)

    # ---------------------------------------------------------------------------------------------- between two steps

    def _between_steps(self) -> None:
        """Deliver what the model does not tell apart: answers to producers, except those to EndTxn; copies of a record
        that the log holds; markers that end nothing, to the followers. Partitions look for producers that are gone.
        """
        system = self.system
        for producer in system.producers:
            for partition, batch in producer.transactions[-1].batches.items() if producer.transactions else ():
                held = {record.payload for record in system.leaders[partition].log.records}
                if not batch.is_acknowledged and batch.message.payload in held and self._is_in_flight(batch.request):
                    system.deliver(batch.request)
        for leader in system.leaders:
            if len(entries_of(leader)) == replicated_entries_of(leader):
                system.replicate(leader.number)
            if not self.configuration.PRODUCER_STATE_EXPIRES_EARLY:
                system.expire_producers(leader.number)
        for message in system.messages:
            awaits_step = isinstance(message.payload, EndTxnResponse) or (
                isinstance(message.payload, ProduceResponse) and message.in_reply_to in system.coordinator.markers.sent
            )
            is_answer = isinstance(message.payload, ProduceResponse | InitProducerIdResponse) or (
                isinstance(message.payload, AddPartitionsToTxnResponse) and not isinstance(message.destination, int)
            )
            if is_answer and not awaits_step:
                system.deliver(message.number)

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
                self._lose_answers_to(partition)
                self.system.deliver(self.copies.pop(partition))
        for partition, transaction in sorted(self._refused_records(now) - self.probed):
            self.probed.add((partition, transaction))
            self._deliver_record(partition, transaction)
            question = self.system.messages[-1]
            if isinstance(question.payload, AddPartitionsToTxnRequest):
                self.system.deliver(question.number)
                for message in self._answers_to_leader(partition):
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

    # ------------------------------------------------------------------------------------------------------- producers

    def _producer_starts(self, producer: int) -> None:
        self.system.start_producer()

    def _producer_asks_for_new_epoch(self, producer: int) -> None:
        self.system.producers[producer].raise_epoch()

    def _producer_begins_transaction(self, producer: int) -> None:
        self.system.producers[producer].begin_transaction(name_of(len(list(begun_in(self.system)))))

    def _producer_adds_partition(self, producer: int, partition: int) -> None:
        self.system.producers[producer].add_partition(partition, self.system.leaders[partition].name)
        self._deliver_request(producer)

    def _producer_sends_record(self, producer: int, partition: int) -> None:
        begun = {id(one): number for number, (_, one) in begun_in(self.system)}
        transaction = begun[id(self.system.producers[producer].transactions[-1])]
        self.system.send(producer, partition)
        arrivals = [step for step in self._later() if step.action in ARRIVES]
        for _ in [step for step in arrivals if step.ordinals == (partition, transaction)]:  # one is to be refused
            self.system.producers[producer].resend(partition)

    def _producer_commits(self, producer: int) -> None:
        self._end(producer, Control.COMMIT)

    def _producer_aborts(self, producer: int) -> None:
        self._end(producer, Control.ABORT)

    def _end(self, producer: int, control: Control) -> None:
        """EndTxn, and as many copies of it as the trace has late ones."""
        self.system.producers[producer].end_transaction(control)
        for step in self._later():
            if step.action in ASKS_NO_MORE and step.ordinals in ((producer,), ()):
                break
            if step.action == "end_txn_is_sent_again" and step.ordinals == (producer,):
                self.spare_end_txns.setdefault(producer, []).append(self._request_of(producer))
                self.system.producers[producer].ask_again()

    def _end_txn_is_sent_again(self, producer: int) -> None:
        self._drop(self.seen.late_end_txn)
        self.seen.late_end_txn = self.spare_end_txns[producer].pop(0)

    def _producer_learns_of_commit(self, producer: int) -> None:
        """The answer arrives; if there is none, the producer sends EndTxn again."""
        answer = self._answer_to(self.system.producers[producer].request)
        if answer is None:
            self._deliver_request(producer)
            answer = self._answer_to(self.system.producers[producer].request)
        if answer is None:
            raise ClusterError("the coordinator does not answer the producer's EndTxn")
        self.system.deliver(answer.number)

    _producer_learns_of_abort = _producer_learns_of_commit

    def _application_stops(self) -> None:
        for producer in self.system.producers:
            if producer.request is not None:
                self._drop(producer.request)
                self._drop_answer_to(producer.request)
            producer.stop()

    # ----------------------------------------------------------------------------------------------------- coordinator

    def _transaction_log_is_replicated(self) -> None:
        self.system.replicate_transaction_log()

    def _coordinator_handles_init_producer_id(self, producer: int) -> None:
        self.seen.initialising = producer
        self._deliver_request(producer)

    def _coordinator_handles_end_txn(self, producer: int) -> None:
        self._deliver_request(producer)

    def _coordinator_handles_late_end_txn(self) -> None:
        """The copies are alike: if a producer awaits the answer to one, this is the one that arrives."""
        late, self.seen.late_end_txn = self.seen.late_end_txn, None
        (content,) = [one.payload for one in self.system.messages if one.number == late]
        for number, producer in enumerate(self.system.producers):
            if producer.awaited == content:
                self._drop(late)
                late = self._request_of(number)
        self.system.deliver(-1 if late is None else late)

    def _coordinator_times_out_transaction(self) -> None:
        self.system.time_out_transactions()

    def _coordinator_completes_transaction(self) -> None:
        self.system.write_completions()

    def _coordinator_fails_over(self) -> None:
        """Markers that the old coordinator has sent are lost, or arrive late, as many as the model says."""
        most = State(self.trace.instance, self.trace.states[self.position - 1]).late_markers_left
        for leader in self.system.leaders:
            sent = self._marker_sent_to(leader.number)
            if sent is None or not self._is_in_flight(sent):
                continue
            if most > 0:
                self.system.disconnect(sent)
                self.system.send_markers(leader.number)
                self._leave_late(leader.number, sent)
                self._drop(self.copies.get(leader.number))
                self.copies[leader.number] = self._must_be_sent_to(leader.number)
                most -= 1
            else:
                self._drop(sent)
        self.system.fail_over()

    def _coordinator_fails_over_after_append(self) -> None:
        """The transition becomes durable, and is answered, just before; an answer to InitProducerId is lost."""
        self.system.replicate_transaction_log()
        for message in self.system.messages:
            if isinstance(message.payload, InitProducerIdResponse):
                self.system.drop(message.number)
        self._coordinator_fails_over()

    # --------------------------------------------------------------------------------------------------------- markers

    def _coordinator_sends_marker(self, partition: int) -> None:
        self.system.send_markers(partition)

    def _leader_appends_marker(self, partition: int) -> None:
        self._lose_answers_to(partition)
        self.system.deliver(self._must_be_sent_to(partition))

    def _leader_refuses_marker(self, partition: int) -> None:
        sent = self._must_be_sent_to(partition)
        self.system.deliver(sent)
        self._coordinator_hears(sent)

    def _coordinator_learns_of_marker(self, partition: int) -> None:
        self._coordinator_hears(self._must_be_sent_to(partition))

    def _coordinator_hears(self, sent: int) -> None:
        answer = self._answer_to(sent)
        if answer is None:
            raise ClusterError("the partition's leader does not answer the marker")
        self.system.deliver(answer.number)

    def _answer_to_marker_is_lost(self, partition: int) -> None:
        sent = self._must_be_sent_to(partition)
        self._drop_answer_to(sent)
        self.system.disconnect(sent)
        self.system.send_markers(partition)

    def _marker_is_sent_again(self, partition: int) -> None:
        sent = self._must_be_sent_to(partition)
        self.system.disconnect(sent)
        self.system.send_markers(partition)
        self._leave_late(partition, sent)

    def _leader_appends_late_marker(self, partition: int) -> None:
        self._lose_answers_to(partition)
        self._drop(self.copies.pop(partition, None))
        self.system.deliver(self.seen.late_markers.pop(partition))

    def _leave_late(self, partition: int, marker: int) -> None:
        """This marker takes longer; an earlier one that does is lost."""
        self._drop(self.copies.pop(partition, None))
        self._drop(self.seen.late_markers.get(partition))
        self.seen.late_markers[partition] = marker

    # ------------------------------------------------------------------------------------------------------ partitions

    def _leader_adds_partition(self, partition: int, transaction: int) -> None:
        self._ask_coordinator(partition, transaction)

    def _leader_verifies_transaction(self, partition: int, transaction: int) -> None:
        """The answer to the leader arrives; if there is none, another copy of the record has the leader ask again."""
        for message in self._answers_to_leader(partition):
            if self.asked.get(message.in_reply_to or 0) == transaction:
                self.system.deliver(message.number)
                return
        self._ask_coordinator(partition, transaction)
        for message in self._answers_to_leader(partition):
            self.system.deliver(message.number)

    def _ask_coordinator(self, partition: int, transaction: int) -> None:
        """A copy of a record arrives, and the leader's question about it arrives at the coordinator."""
        self._deliver_record(partition, transaction)
        question = self.system.messages[-1]
        if not isinstance(question.payload, AddPartitionsToTxnRequest) or question.source != partition:
            raise ClusterError("the partition's leader does not ask the coordinator")
        self.asked[question.number] = transaction
        self.system.deliver(question.number)

    def _leader_appends_record(self, partition: int, transaction: int) -> None:
        leader = self.system.leaders[partition]
        known = [payload for payload in leader.verified if payload.startswith(name_of(transaction))]
        if known:
            leader.append_verified(known[0])
        else:
            self._deliver_record(partition, transaction)
        self._lose_answers_to(partition)

    def _deliver_record(self, partition: int, transaction: int) -> None:
        """The copy of the record that was sent first arrives."""
        for message in self.system.messages:
            content = message.payload
            is_copy = isinstance(content, ProduceRequest) and content.payload.startswith(name_of(transaction))
            if is_copy and message.destination == partition:
                self.system.deliver(message.number)
                return
        raise ClusterError(f"no copy of record {name_of(transaction)} is on its way to partition {partition}")

    def _answers_to_leader(self, partition: int) -> Iterator[Message]:
        """The coordinator's answers that the leader waits for."""
        asked = self.system.leaders[partition].asked
        for message in self.system.messages:
            if isinstance(message.payload, AddPartitionsToTxnResponse) and message.in_reply_to in asked:
                yield message

    def _lose_answers_to(self, partition: int) -> None:
        """Answers of the coordinator that come after an append are of no use to the leader: they are lost."""
        for message in list(self._answers_to_leader(partition)):
            self.system.drop(message.number)

    def _followers_fetch(self, partition: int) -> None:
        self.system.replicate(partition)

    def _producer_state_expires(self, partition: int) -> None:
        self.system.expire_producers(partition)

    # -------------------------------------------------------------------------------------------------------- messages

    def _later(self) -> tuple[Step, ...]:
        """The steps after the present one."""
        return self.trace.steps[self.position :]

    def _is_in_flight(self, number: int) -> bool:
        return any(message.number == number for message in self.system.messages)

    def _answer_to(self, request: int | None) -> Message | None:
        return next((one for one in self.system.messages if request is not None and one.in_reply_to == request), None)

    def _drop(self, number: int | None) -> None:
        if number is not None and self._is_in_flight(number):
            self.system.drop(number)

    def _drop_answer_to(self, request: int) -> None:
        answer = self._answer_to(request)
        if answer is not None:
            self.system.drop(answer.number)

    def _request_of(self, producer: int) -> int:
        """The producer's request to the coordinator; it is sent again if it is not in flight."""
        asking = self.system.producers[producer]
        if asking.request is None or not self._is_in_flight(asking.request):
            asking.ask_again()
        assert asking.request is not None
        return asking.request

    def _deliver_request(self, producer: int) -> None:
        self.system.deliver(self._request_of(producer))

    def _marker_sent_to(self, partition: int) -> int | None:
        """The number of the marker to which the coordinator awaits the answer of this partition."""
        name = self.system.leaders[partition].name
        return next(
            (number for number, one in self.system.coordinator.markers.sent.items() if one.partition == name), None
        )

    def _must_be_sent_to(self, partition: int) -> int:
        sent = self._marker_sent_to(partition)
        if sent is None:
            raise ClusterError(f"the coordinator awaits no answer to a marker for partition {partition}")
        return sent

"""Replays traces of the model `transactions` on a system (a coordinator, partitions, producers), only from outside.

`Acts` has a method for each action of the model, with the action's name. A method calls the application, delivers or
loses messages, fires timers, fails nodes over, or lets replication progress; no method writes a field of a node. The
driver takes the steps of a trace; follow/recorder/transactions calls the methods at random. Each step in which a copy
of a request arrives uses up one copy; so the driver reads the whole trace to know how many copies a client must send.
The driver also tries requests that the system must refuse; they must change nothing that is observed.

In the model, a producer learns of the outcome of its transaction as soon as the outcome is decided. If another request
led to the decision, the producer sends EndTxn again to learn the outcome. Kafka answers with CONCURRENT_TRANSACTIONS
until every partition has its marker and the coordinator has recorded this (TransactionCoordinator.endTransaction). So a
step in which the producer learns of the outcome earlier cannot be replayed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from isrcheck.conformance.cluster.configuration.protocol import Switches, UnknownProducer, Verification
from isrcheck.conformance.cluster.configuration.settings import ClusterError
from isrcheck.conformance.cluster.network.messages import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    EndTxnResponse,
    Errors,
    InitProducerIdResponse,
    ProduceRequest,
    ProduceResponse,
)
from isrcheck.conformance.cluster.network.network import Message
from isrcheck.conformance.cluster.network.records import LAST_EPOCH, Control
from isrcheck.conformance.cluster.transactions.system import TRANSACTIONAL_ID, TransactionalCluster
from isrcheck.conformance.implemented import with_flags
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
from isrcheck.models.transactions.values import Phase, Request, TransactionState
from isrcheck.traces.format.trace import Trace

LEARNS = ("producer_learns_of_commit", "producer_learns_of_abort")
WAITS_FOR = {Phase.COMMITTING: Request.COMMIT, Phase.ABORTING: Request.ABORT}
COMPLETE = (TransactionState.COMPLETE_COMMIT, TransactionState.COMPLETE_ABORT)


def why_nobody_answers(trace: Trace) -> str | None:
    """Return why the trace cannot be replayed; None if it can. The reason is the first step in which a producer learns
    of an outcome before Kafka would answer with this outcome."""
    handled: int | None = None
    answered: set[int] = set()
    for position, step in enumerate(trace.steps, start=1):
        before = State(trace.instance, trace.states[position - 1])
        if step.action == "coordinator_handles_end_txn":
            (handled,) = step.ordinals
        elif step.action == "coordinator_handles_late_end_txn":
            handled = next((i for i in range(before.producers) if _waits_for_same(before, i)), None)
        elif step.action in ("transaction_log_is_replicated", "coordinator_fails_over_after_append"):
            answered |= set() if handled is None else {handled}
            handled = None
        elif step.action == "coordinator_fails_over":
            handled = None
        elif step.action in LEARNS:
            (producer,) = step.ordinals
            is_written = before.transaction_state in COMPLETE and before.pending_state == TransactionState.NOTHING
            if producer not in answered and not is_written:
                return (
                    f"in step {position}, producer {producer} learns of an outcome that another request has brought"
                    " about, before it is complete; Kafka tells it CONCURRENT_TRANSACTIONS until then"
                )
            answered.discard(producer)
    return None


def _waits_for_same(state: State, producer: int) -> bool:
    """Whether `producer` awaits the answer to an EndTxn with the outcome and epoch of the late copy of an EndTxn."""
    awaited = WAITS_FOR.get(state.phase[producer])
    return bool(awaited == state.late_end_txn and state.epoch[producer] == state.late_end_txn_epoch)


UNKNOWN = {True: UnknownProducer.ANY_SEQUENCE, False: UnknownProducer.SEQUENCE_ZERO}


def switches_of(instance: Instance) -> Switches:
    """The protocol switches with which the executable system behaves like this instance of the model."""
    configuration = instance.configuration
    policy = UNKNOWN[bool(configuration.UNKNOWN_PID_ACCEPTED)]
    return with_flags(Switches(TXN_VERIFY=Verification(configuration.TXN_VERIFY), UNKNOWN_PID_POLICY=policy), instance)


class Acts:
    """What a driver does to a system: one method for each action of the model, with the action's name. The methods act
    on the system that `begin_with` or `begin` has created last."""

    system: TransactionalCluster
    seen: Observations

    def begin_with(self, instance: Instance, bug: str | None) -> None:
        """Create a system in which the first producer instance has already received its producer id and epoch."""
        self.configuration = instance.configuration
        epochs = self.configuration.producer_epochs
        first_epoch = LAST_EPOCH + 1 - epochs if epochs else 0
        shared = (switches_of(instance), self.configuration.partitions, bug)
        self.system = TransactionalCluster(*shared, first_epoch=first_epoch)
        self.seen = Observations(first_epoch=first_epoch)
        self.answers_left = self.configuration.late_answers
        self.asked: dict[int, int] = {}
        self.system.start_producer()
        self.coordinator_handles_init_producer_id(0)
        self.system.replicate_transaction_log()
        self.between_steps()

    def between_steps(self) -> None:
        """Do what has no step in the model: deliver answers to producers (except answers to EndTxn), and copies of
        records that are already in the log; replicate markers that end no transaction; forget expired producers."""
        system = self.system
        for producer in system.producers:
            for partition, batch in producer.transactions[-1].batches.items() if producer.transactions else ():
                held = {record.payload for record in system.leaders[partition].log.records}
                if not batch.is_acknowledged and batch.message.payload in held and self.is_in_flight(batch.request):
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

    # ------------------------------------------------------------------------------------------------------- producers

    def producer_starts(self, producer: int) -> None:
        self.system.start_producer()

    def producer_asks_for_new_epoch(self, producer: int) -> None:
        self.system.producers[producer].raise_epoch()

    def producer_begins_transaction(self, producer: int) -> None:
        self.system.producers[producer].begin_transaction(name_of(len(list(begun_in(self.system)))))

    def producer_adds_partition(self, producer: int, partition: int) -> None:
        self.system.producers[producer].add_partition(partition, self.system.leaders[partition].name)
        self.deliver_request(producer)

    def producer_sends_record(self, producer: int, partition: int) -> None:
        self.system.send(producer, partition)

    def producer_commits(self, producer: int) -> None:
        self.system.producers[producer].end_transaction(Control.COMMIT)

    def producer_aborts(self, producer: int) -> None:
        self.system.producers[producer].end_transaction(Control.ABORT)

    def producer_learns_of_commit(self, producer: int) -> None:
        """Deliver the answer to EndTxn; if no answer is in flight, the producer first sends EndTxn again."""
        answer = self.answer_to(self.system.producers[producer].request)
        if answer is None:
            self.deliver_request(producer)
            answer = self.answer_to(self.system.producers[producer].request)
        elif not self._is_known_id(answer):
            self.system.drop(answer.number)
            self.producer_learns_of_commit(producer)
            return
        if answer is None:
            raise ClusterError("the coordinator does not answer the producer's EndTxn")
        self.system.deliver(answer.number)

    producer_learns_of_abort = producer_learns_of_commit

    def _is_known_id(self, answer: Message) -> bool:
        """Whether the coordinator knows the producer id in this answer to EndTxn; also true of an answer without an id.
        After a fail-over, the coordinator may not know the producer id that the producer was to use next (KAFKA-20310);
        then the caller drops the answer that has this id."""
        metadata = self.system.coordinator.states.states[TRANSACTIONAL_ID]
        content = answer.payload
        ids = (metadata.producer_id, metadata.next_producer_id)
        return not isinstance(content, EndTxnResponse) or content.error is not Errors.NONE or content.producer_id in ids

    def application_stops(self) -> None:
        for producer in self.system.producers:
            if producer.request is not None:
                self.drop(producer.request)
                self.drop_answer_to(producer.request)
            producer.stop()

    # ----------------------------------------------------------------------------------------------------- coordinator

    def transaction_log_is_replicated(self) -> None:
        self.system.replicate_transaction_log()

    def coordinator_handles_init_producer_id(self, producer: int) -> None:
        self.seen.initialising = producer
        self.deliver_request(producer)

    def coordinator_handles_end_txn(self, producer: int) -> None:
        self.deliver_request(producer)

    def end_txn_is_sent_again(self, producer: int) -> None:
        """The producer sends EndTxn again. The copy in flight becomes the late copy; an earlier late copy is lost."""
        self.drop(self.seen.late_end_txn)
        self.seen.late_end_txn = self.request_of(producer)
        self.system.producers[producer].ask_again()

    def coordinator_handles_late_end_txn(self) -> None:
        late, self.seen.late_end_txn = self.seen.late_end_txn, None
        if late is None:
            raise ClusterError("no copy of an EndTxn is late")
        self.system.deliver(late)

    def coordinator_times_out_transaction(self) -> None:
        self.system.time_out_transactions()

    def coordinator_completes_transaction(self) -> None:
        self.system.write_completions()

    def coordinator_fails_over(self, late_markers: int = 0) -> int:
        """Let the coordinator fail over. At most `late_markers` of its markers stay in flight; its other markers are
        lost. Returns how many markers stay in flight."""
        late = 0
        if self.answers_left and any(self.marker_sent_to(leader.number) is not None for leader in self.system.leaders):
            self.answers_left -= 1
            self.seen.is_answer_late = True
        for leader in self.system.leaders:
            sent = self.marker_sent_to(leader.number)
            if sent is None or not self.is_in_flight(sent):
                continue
            if late < late_markers:
                self.marker_outlives_coordinator(leader.number, sent)
                late += 1
            else:
                self.drop(sent)
        self.system.fail_over()
        return late

    def marker_outlives_coordinator(self, partition: int, marker: int) -> None:
        """A marker of a coordinator that has moved stays in flight, and becomes the partition's late marker."""
        self.leave_late(partition, marker)

    def coordinator_fails_over_after_append(self, late_markers: int = 0) -> int:
        """Like `coordinator_fails_over`, but first the coordinator's pending transition becomes durable, and the
        request that caused the transition is answered; an answer to InitProducerId is lost."""
        self.system.replicate_transaction_log()
        for message in self.system.messages:
            if isinstance(message.payload, InitProducerIdResponse):
                self.system.drop(message.number)
        return self.coordinator_fails_over(late_markers)

    # --------------------------------------------------------------------------------------------------------- markers

    def coordinator_sends_marker(self, partition: int) -> None:
        self.system.send_markers(partition)

    def leader_appends_marker(self, partition: int) -> None:
        self.lose_answers_to(partition)
        self.system.deliver(self.must_be_sent_to(partition))

    def leader_refuses_marker(self, partition: int) -> None:
        self.system.deliver(self.must_be_sent_to(partition))
        self.coordinator_learns_of_marker(partition)

    def coordinator_learns_of_marker(self, partition: int) -> None:
        answer = self.answer_to(self.must_be_sent_to(partition))
        if answer is None:
            raise ClusterError("the partition's leader does not answer the marker")
        self.system.deliver(answer.number)

    def coordinator_learns_of_earlier_marker(self, _: int) -> None:
        self.seen.is_answer_late = False
        self.system.answer_earlier_marker()

    def answer_to_marker_is_lost(self, partition: int) -> None:
        sent = self.must_be_sent_to(partition)
        self.drop_answer_to(sent)
        self.system.disconnect(sent)
        self.system.send_markers(partition)

    def marker_is_sent_again(self, partition: int) -> None:
        sent = self.must_be_sent_to(partition)
        self.system.disconnect(sent)
        self.system.send_markers(partition)
        self.leave_late(partition, sent)

    def leader_appends_late_marker(self, partition: int) -> None:
        self.lose_answers_to(partition)
        self.system.deliver(self.seen.late_markers.pop(partition))

    def leave_late(self, partition: int, marker: int) -> None:
        """This marker becomes the partition's late marker; an earlier late marker is lost."""
        self.drop(self.seen.late_markers.get(partition))
        self.seen.late_markers[partition] = marker

    # ------------------------------------------------------------------------------------------------------ partitions

    def ask_coordinator(self, partition: int, transaction: int) -> None:
        """A copy of the transaction's record arrives at the partition's leader, and the leader's AddPartitionsToTxn
        arrives at the coordinator."""
        self.deliver_record(partition, transaction)
        question = self.question_of(partition)
        if question is None:
            raise ClusterError("the partition's leader does not ask the coordinator")
        self.asked[question.number] = transaction
        self.system.deliver(question.number)

    leader_adds_partition = ask_coordinator

    def leader_verifies_transaction(self, partition: int, transaction: int) -> None:
        """Deliver the coordinator's answer to the leader. If no answer is in flight, first deliver a further copy of
        the record, so that the leader asks the coordinator again."""
        for message in self.answers_to_leader(partition):
            if self.asked.get(message.in_reply_to or 0) == transaction:
                self.system.deliver(message.number)
                return
        self.ask_coordinator(partition, transaction)
        for message in self.answers_to_leader(partition):
            self.system.deliver(message.number)

    def leader_appends_record(self, partition: int, transaction: int) -> None:
        leader = self.system.leaders[partition]
        payloads = [payload for payload in leader.verified if payload.startswith(name_of(transaction))]
        if payloads:
            leader.append_verified(payloads[0])
        else:
            self.deliver_record(partition, transaction)
        self.lose_answers_to(partition)

    def deliver_record(self, partition: int, transaction: int) -> None:
        """The oldest copy in flight of the transaction's record arrives at the partition. Raises ClusterError if there
        is no copy."""
        for message in self.copies_in_flight(partition, transaction):
            self.system.deliver(message.number)
            return
        raise ClusterError(f"no copy of record {name_of(transaction)} is on its way to partition {partition}")

    def copies_in_flight(self, partition: int, transaction: int) -> Iterator[Message]:
        """The copies of the transaction's record that are in flight to a partition, in order of sending."""
        for message in self.system.messages:
            content = message.payload
            is_copy = isinstance(content, ProduceRequest) and content.payload.startswith(name_of(transaction))
            if is_copy and message.destination == partition:
                yield message

    def question_of(self, partition: int) -> Message | None:
        """The AddPartitionsToTxn that the leader has just sent to the coordinator; None if it has sent none."""
        last = self.system.messages[-1] if self.system.messages else None
        is_question = last is not None and isinstance(last.payload, AddPartitionsToTxnRequest)
        return last if is_question and last is not None and last.source == partition else None

    def answers_to_leader(self, partition: int) -> Iterator[Message]:
        """The coordinator's answers in flight that the partition's leader still waits for."""
        questions = self.system.leaders[partition].asked
        for message in self.system.messages:
            if isinstance(message.payload, AddPartitionsToTxnResponse) and message.in_reply_to in questions:
                yield message

    def lose_answers_to(self, partition: int) -> None:
        """Lose the coordinator's answers to a partition's leader, which appends an entry and no longer needs them."""
        for message in list(self.answers_to_leader(partition)):
            self.system.drop(message.number)

    def followers_fetch(self, partition: int) -> None:
        self.system.replicate(partition)

    def producer_state_expires(self, partition: int) -> None:
        self.system.expire_producers(partition)

    # -------------------------------------------------------------------------------------------------------- messages

    def is_in_flight(self, number: int) -> bool:
        return any(message.number == number for message in self.system.messages)

    def answer_to(self, request: int | None) -> Message | None:
        return next(
            (message for message in self.system.messages if request is not None and message.in_reply_to == request),
            None,
        )

    def drop(self, number: int | None) -> None:
        if number is not None and self.is_in_flight(number):
            self.system.drop(number)

    def drop_answer_to(self, request: int) -> None:
        answer = self.answer_to(request)
        if answer is not None:
            self.system.drop(answer.number)

    def request_of(self, producer: int) -> int:
        """The message number of the producer's request to the coordinator; a lost request is first sent again."""
        asking = self.system.producers[producer]
        if asking.request is None or not self.is_in_flight(asking.request):
            asking.ask_again()
        assert asking.request is not None
        return asking.request

    def deliver_request(self, producer: int) -> None:
        self.system.deliver(self.request_of(producer))

    def marker_sent_to(self, partition: int) -> int | None:
        """The number of the marker whose answer from this partition the coordinator awaits; None if it awaits none."""
        name = self.system.leaders[partition].name
        return next(
            (number for number, request in self.system.coordinator.markers.sent.items() if request.partition == name),
            None,
        )

    def must_be_sent_to(self, partition: int) -> int:
        """Like `marker_sent_to`, but raises ClusterError if the coordinator awaits no answer from this partition."""
        sent = self.marker_sent_to(partition)
        if sent is None:
            raise ClusterError(f"the coordinator awaits no answer to a marker for partition {partition}")
        return sent


ARRIVES = ("leader_adds_partition", "leader_verifies_transaction", "leader_appends_record")
"""The steps in which a copy of a record arrives at a partition's leader."""

ASKS_NO_MORE = (*LEARNS, "application_stops")
"""After each of these steps a producer waits for no answer to an EndTxn."""


class TransactionsDriver(Acts):
    """Replays traces one after the other, each on a new system. The methods are those of `System` (system.py)."""

    def __init__(self, bug: str | None = None) -> None:
        """`bug`: the name of the bug that is seeded in the systems; None: no bug."""
        self.bug = bug

    def begin(self, trace: Trace) -> None:
        """Create a system in which the first producer instance has already received its producer id and epoch."""
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
        """The values of all variables of the model except the budgets (faults left), which a system does not have."""
        self.seen.note(self.system)
        return project(self.system, self.seen, self.configuration)

    # -------------------------------------------------------------------------------------- what the model does not do

    def _try_what_is_refused(self) -> None:
        """Try acts that the system must refuse, because the model has no step for them in this state: let the
        coordinator's thread look for complete transactions; deliver a copy of a late marker; deliver a copy of a record
        to a partition in which a different transaction is open."""
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
        """Return the records in flight whose arrival is no step of the model in this state, at partitions with an open
        transaction. Each record is given by the numbers of its partition and its transaction."""
        # A leader's request is answered meanwhile, if it adds nothing.
        if now.pending_state != TransactionState.NOTHING:
            return set()
        refused = set()
        for leader in self.system.leaders:
            held = {number_of(record.payload) for record in leader.log.records if record.control is None}
            entries = entries_of(leader)
            for transaction in range(now.transactions) if entries and entries[-1].control is None else ():
                is_in_flight = now.was_sent[leader.number][transaction] and transaction not in held
                at = leader.number, transaction
                if is_in_flight and not any(self._is_possible(action, *at) for action in ARRIVES):
                    refused.add(at)
        return refused

    def _is_possible(self, action: str, *ordinals: int) -> bool:
        step = self.numbers[action, ordinals]
        return run.take(self.trace.instance, self.trace.states[self.position], step) is not None

    # ----------------------------------------------------------------------------- acts that need the rest of the trace

    def producer_sends_record(self, producer: int, partition: int) -> None:
        begun = {id(transaction): number for number, (_, transaction) in begun_in(self.system)}
        transaction = begun[id(self.system.producers[producer].transactions[-1])]
        super().producer_sends_record(producer, partition)
        arrivals = [step for step in self._later() if step.action in ARRIVES]
        for _ in [step for step in arrivals if step.ordinals == (partition, transaction)]:  # one copy is to be refused
            self.system.producers[producer].resend(partition)

    def producer_commits(self, producer: int) -> None:
        super().producer_commits(producer)
        self._send_copies_of_end_txn(producer)

    def producer_aborts(self, producer: int) -> None:
        super().producer_aborts(producer)
        self._send_copies_of_end_txn(producer)

    def _send_copies_of_end_txn(self, producer: int) -> None:
        """Send further copies of the producer's EndTxn: one for each later step in which a copy becomes late, up to the
        step in which the producer learns of the outcome or the application stops."""
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
        """Deliver the late copy of an EndTxn. If a producer awaits the answer to an equal EndTxn, that producer's
        EndTxn is delivered instead, and the late copy is lost."""
        late, self.seen.late_end_txn = self.seen.late_end_txn, None
        (content,) = [message.payload for message in self.system.messages if message.number == late]
        for number, producer in enumerate(self.system.producers):
            if producer.awaited == content:
                self.drop(late)
                late = self.request_of(number)
        self.system.deliver(-1 if late is None else late)

    def coordinator_fails_over(self, late_markers: int = 0) -> int:
        """Like `Acts.coordinator_fails_over`, with the limit for late markers taken from the trace's state."""
        return super().coordinator_fails_over(
            State(self.trace.instance, self.trace.states[self.position - 1]).late_markers_left
        )

    def marker_outlives_coordinator(self, partition: int, marker: int) -> None:
        """Make the marker late; send a copy of it that is delivered when the partition must refuse the late marker."""
        self.system.disconnect(marker)
        self.system.send_markers(partition)
        super().marker_outlives_coordinator(partition, marker)
        self.copies[partition] = self.must_be_sent_to(partition)

    def leader_appends_late_marker(self, partition: int) -> None:
        super().leader_appends_late_marker(partition)
        self.drop(self.copies.pop(partition, None))

    def leave_late(self, partition: int, marker: int) -> None:
        """Make `marker` the partition's late marker; an earlier late marker of this partition and its copy are lost."""
        self.drop(self.copies.pop(partition, None))
        super().leave_late(partition, marker)

    def _later(self) -> tuple[Step, ...]:
        return self.trace.steps[self.position :]

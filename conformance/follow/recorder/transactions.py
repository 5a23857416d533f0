"""Records runs of the executable cluster's system of transactions under random acts.

Each act is chosen among all that are possible at the moment: what clients can do, which messages can arrive or be lost,
and which faults can happen. An act is as large as a step of the model: for instance, the request of a leader to the
coordinator and the answer belong to one act. The possible acts follow from the messages in flight, and from the states
of clients, coordinator and leaders; the model is not consulted. Behaviours that the model lacks are avoided
(`ModelGap`).

The model is bounded, and so is each run: it ends when the application wants to begin more transactions than the model
has, and the next run begins with another system. An act that changes no observation is not an event.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import Enum
from functools import cached_property, partial
from random import Random
from typing import Any

from isrcheck.conformance.cluster.configuration.protocol import Verification
from isrcheck.conformance.cluster.network.messages import (
    AddPartitionsToTxnRequest,
    EndTxnResponse,
    Errors,
    ProduceRequest,
)
from isrcheck.conformance.cluster.network.network import Message
from isrcheck.conformance.cluster.transactions.coordinator import TransactionMetadata, TransactionState
from isrcheck.conformance.cluster.transactions.leader import TransactionLeader
from isrcheck.conformance.cluster.transactions.producer import Phase, Transaction, TransactionalProducer
from isrcheck.conformance.cluster.transactions.system import TRANSACTIONAL_ID
from isrcheck.conformance.follow.format.events import Event, Header, Writer
from isrcheck.conformance.follow.format.variables import Value, Variables
from isrcheck.conformance.follow.recorder.plan import RunsPlan
from isrcheck.conformance.implemented import require_bug_of
from isrcheck.conformance.replay.transactions.driver import Acts, switches_of
from isrcheck.conformance.replay.transactions.projection import (
    begun_in,
    entries_of,
    number_of,
    project,
    replicated_entries_of,
)
from isrcheck.models.language.model import Instance, parse, spell
from isrcheck.models.messages import UsageError, nearest
from isrcheck.models.transactions.generations import MODEL

BOUNDS = {"producers": 3, "failovers": 3, "timeouts": 1, "late_markers": 3, "late_requests": 3}
"""Default values of a run. Also defaults: 4 transactions, logs for these, and 2 expirations if any are possible."""


class ModelGap(Enum):
    """A behaviour of Kafka and of the system that the model lacks; recordings avoid it unless the plan allows it."""

    ADD_PARTITIONS_IS_LATE = (
        "before TV2, a copy of AddPartitionsToTxn arrives after its transaction, and opens another transaction"
    )
    EPOCH_IS_ASKED_FOR_AGAIN = (
        "a producer asks for its epoch again, although the coordinator has taken its request, or has raised its epoch"
    )
    SECOND_LATE_END_TXN = "two copies of EndTxn are late at a time"
    SECOND_LATE_MARKER = "two copies of markers for one partition are late at a time"
    EMPTY_TRANSACTION_IS_ABORTED = (
        "a producer aborts a transaction without records that the coordinator does not know, or no longer knows"
    )
    FENCED_PRODUCER_GOES_ON = (
        "a producer that was fenced asks for the end of its transaction or for an epoch, or, before TV2, begins a"
        " transaction, and is refused"
    )
    ANSWER_COMES_AFTER_FENCE = "a producer learns of an outcome after it was fenced"
    SENT_AFTER_END = (
        "before TV2, a producer sends a record whose partition the coordinator has added, after the coordinator has"
        " ended the transaction: the model sends it before, and it arrives late"
    )
    VERIFIED_WHILE_PENDING = (
        "in 3.6 to 3.9, the coordinator confirms a transaction to a leader while it appends a transition"
    )
    ANSWER_TO_LEADER_IS_LATE = (
        "a leader learns that a transaction is ongoing, or appends its record, after the coordinator has gone on or has"
        " confirmed another transaction"
    )
    ANSWER_TO_MARKER_IS_LATE = (
        "a coordinator learns that a marker is replicated, after the partition has appended a record that is not yet"
        " replicated"
    )
    FORGOTTEN_COPY = "a copy of a record arrives that the log holds, and the partition has forgotten its producer"
    NEW_EPOCH_DESPITE_RECORD = (
        "a producer takes a new epoch because it lacks an answer to a record that is replicated nevertheless"
    )
    STARTED_WHILE_INITIALISING = "an instance of the producer starts while another instance waits for its epoch"


@dataclass(frozen=True)
class TransactionsPlan(RunsPlan):
    """The plan of a recording of the system of transactions."""

    protocol: str = list(MODEL.protocols)[-1]

    def __post_init__(self) -> None:
        """Raise UsageError for invalid shares, and for values and bugs that do not exist."""
        require_bug_of("transactions", self.bug)
        assert self.left_out  # which checks the shares
        assert self.instance  # which checks the values

    @cached_property
    def entries(self) -> dict[str, int]:
        """The configuration entries and switches that are given, or have a default here. Raises UsageError."""
        entries = MODEL.entries
        if strange := [name for name in self.given if name not in entries]:
            raise UsageError(f"transactions has no entry or switch {strange[0]}; {nearest(strange[0], entries)}")
        values = {name: parse(name, entries[name], value) for name, value in self.given.items()}
        transactions = values.get("transactions", 4)
        bounds = {"transactions": transactions, "log_size": 2 * transactions, **BOUNDS, **values}
        may_expire = MODEL.instance(self.protocol, bounds).configuration.PRODUCER_STATE_EXPIRES_EARLY
        return {"expirations": 2 if may_expire else 0, **bounds}

    @cached_property
    def instance(self) -> Instance:
        """The instance of the model for every run. Raises UsageError."""
        return MODEL.instance(self.protocol, self.entries)

    @property
    def configuration(self) -> Any:
        return self.instance.configuration

    def spelled(self, *, is_switch: bool) -> dict[str, int | str]:
        """Return the switches (if `is_switch`) or the other configuration entries, as a header writes them."""
        return {
            name: value if MODEL.entries[name].values is None else spell(MODEL.entries[name], value)
            for name, value in self.entries.items()
            if name.isupper() == is_switch
        }


Step = tuple[str, tuple[int, ...]]
"""An action of the model and its arguments."""

Choices = Iterator[tuple[float, Callable[[], Step | None]]]
"""Acts, with their weights."""

OFTEN, NORMAL, SELDOM, RARE = 3.0, 1.0, 0.25, 0.04
"""Weights: what drives a transaction on, what competes with that, faults, and what ends most of a run."""

ABORTED = TransactionState.PREPARE_ABORT, TransactionState.COMPLETE_ABORT

LATE_MARKER = ("late_marker", "late_marker_epoch", "late_marker_coordinator_epoch")
LATE_END_TXN = ("late_end_txn", "late_end_txn_epoch")
"""The variables about late messages, which are not observed once the messages are lost, or have arrived in vain: in the
model they remain in flight.
"""


class RandomActs(Acts):
    """Performs random acts, one after the other. `is_over` says that the run has reached its bounds; `lost` has the
    log keys (names in the recording) of variables that cannot be observed now.
    """

    def __init__(self, plan: TransactionsPlan, seed: str) -> None:
        self.begin_with(plan.instance, plan.bug)
        self.is_over = False
        self.lost: set[str] = set()
        self._random = Random(seed)
        self._allowed = plan.allowed
        self._late_copies: dict[int, Step] = {}
        has = self.configuration
        self._tv2 = switches_of(plan.instance).TXN_VERIFY is Verification.TV2
        self._left = {
            name: getattr(has, name)
            for name in ("failovers", "timeouts", "late_markers", "late_requests", "expirations")
        }

    def _end(self) -> None:
        self.is_over = True

    def act(self) -> Step | None:
        """Perform one act; return the model's step for it, if any. Raises ClusterError for a defect of the system."""
        choices = [*self._of_producers(), *self._of_coordinator(), *self._of_partitions()]
        if not choices:
            self._end()
            return None
        (act,) = self._random.choices([act for _, act in choices], [weight for weight, _ in choices])
        step = act()
        self.seen.note(self.system)
        self._lose_what_the_model_lacks()
        self.between_steps()
        for message in self.system.messages:
            if isinstance(message.payload, AddPartitionsToTxnRequest) and isinstance(message.source, int):
                self.drop(message.number)  # a request about a record that the log holds
        return step

    # -------------------------------------------------------------------------------------------- what can be observed

    @property
    def durable(self) -> TransactionMetadata:
        """The state of the transaction in the coordinator's log."""
        return self.system.coordinator.states.states[TRANSACTIONAL_ID]

    @property
    def is_pending(self) -> bool:
        """Whether the coordinator is appending a transition to its log, and the transition is not replicated yet."""
        return TRANSACTIONAL_ID in self.system.coordinator.states.pending

    @property
    def is_stopped(self) -> bool:
        return any(producer.phase is Phase.STOPPED for producer in self.system.producers)

    def _keeps_out(self, gap: ModelGap) -> bool:
        return gap not in self._allowed

    def _is_fenced(self, producer: TransactionalProducer) -> bool:
        return producer.producer_epoch != self.durable.producer_epoch

    def _may_go_on(self, producer: TransactionalProducer) -> bool:
        """Return whether the producer may send the coordinator requests; if fenced, only if the plan allows this."""
        return not self._is_fenced(producer) or not self._keeps_out(ModelGap.FENCED_PRODUCER_GOES_ON)

    def _takes_abort_for_its_own(self, producer: TransactionalProducer) -> bool:
        """Whether the coordinator mistakes an abort that it began itself for one that this producer requested. This
        happens with TV2 (transactions version 2), because the coordinator judges by the epoch."""
        is_raised = producer.producer_epoch + 1 == self.durable.producer_epoch
        return self._tv2 and is_raised and self.durable.state in ABORTED

    def _is_ongoing(self, leader: TransactionLeader) -> bool:
        """Whether a transaction is ongoing, and the coordinator knows that the leader's partition belongs to it."""
        return self.durable.state is TransactionState.ONGOING and leader.name in self.durable.partitions

    def _has_replicated(self, partition: int, payload: str) -> bool:
        log = self.system.leaders[partition].log
        return any(record.payload == payload and record.offset < log.high_watermark for record in log.records)

    # ------------------------------------------------------------------------------------------------------- producers

    def _of_producers(self) -> Choices:
        producers = self.system.producers
        for number, producer in enumerate(producers):
            if producer.phase is Phase.READY:
                yield from self._of_ready(number, producer)
            elif producer.phase is Phase.IN_TRANSACTION:
                yield from self._of_transaction(number, producer, producer.transactions[-1])
            elif producer.phase is Phase.INITIALISING and self._may_ask_for_epoch(producer):
                yield NORMAL, self._step("coordinator_handles_init_producer_id", number)
            elif producer.phase in (Phase.COMMITTING, Phase.ABORTING):
                yield from self._of_ending(number, producer)
        if self.is_stopped:
            return
        is_waiting = any(producer.phase is Phase.INITIALISING for producer in producers)
        may_start = not is_waiting or not self._keeps_out(ModelGap.STARTED_WHILE_INITIALISING)
        if len(producers) < self.configuration.producers and may_start:
            yield RARE, self._step("producer_starts", len(producers))
        yield RARE / 2, self._step("application_stops")

    def _of_ready(self, number: int, producer: TransactionalProducer) -> Choices:
        may_go_on = self._may_go_on(producer)
        if may_go_on or self._tv2:
            is_last = len(list(begun_in(self.system))) == self.configuration.transactions
            yield NORMAL, self._end if is_last else self._step("producer_begins_transaction", number)
        if producer.may_raise_epoch and may_go_on:
            batches = producer.transactions[-1].batches
            is_lost = any(not self._has_replicated(at, batch.message.payload) for at, batch in batches.items())
            if is_lost or not self._keeps_out(ModelGap.NEW_EPOCH_DESPITE_RECORD):
                yield NORMAL, self._step("producer_asks_for_new_epoch", number)

    def _of_transaction(self, number: int, producer: TransactionalProducer, transaction: Transaction) -> Choices:
        batches = transaction.batches
        for leader in self.system.leaders:
            partition = leader.number
            is_known = self._is_ongoing(leader) and not self._is_fenced(producer)
            if partition not in transaction.added and not self._tv2:
                yield NORMAL, partial(self._add_partition, number, partition)
            elif partition not in batches:
                if self._tv2 or is_known or not self._keeps_out(ModelGap.SENT_AFTER_END):
                    yield NORMAL, self._step("producer_sends_record", number, partition)
            elif not batches[partition].is_acknowledged:
                copies = len(list(self.copies_in_flight(partition, number_of(transaction.payload))))
                yield SELDOM if copies else NORMAL, partial(producer.resend, partition)
        if not self._may_go_on(producer):
            if self._takes_abort_for_its_own(producer):
                yield NORMAL, self._step("producer_aborts", number)
            return
        is_all_sent = len(batches) == len(self.system.leaders)
        if is_all_sent and all(batch.is_acknowledged for batch in batches.values()):
            yield OFTEN, self._step("producer_commits", number)
        is_known = any(self._is_ongoing(leader) for leader in self.system.leaders if leader.number in transaction.added)
        if batches or is_known or not self._keeps_out(ModelGap.EMPTY_TRANSACTION_IS_ABORTED):
            yield RARE, self._step("producer_aborts", number)

    def _add_partition(self, producer: int, partition: int) -> Step:
        self.producer_adds_partition(producer, partition)
        step = "producer_adds_partition", (producer, partition)
        if not self._keeps_out(ModelGap.ADD_PARTITIONS_IS_LATE):
            self.system.producers[producer].add_partition(partition, self.system.leaders[partition].name)
            self._late_copies[self.request_of(producer)] = step
        return step

    def _may_ask_for_epoch(self, producer: TransactionalProducer) -> bool:
        """Return whether a producer's request for its epoch can arrive, because it is in flight or is sent again. It is
        sent again if the last request had no effect, because it was refused or lost in a fail-over."""
        is_answered = self._is_fenced(producer) and producer.producer_epoch == self.durable.last_producer_epoch
        is_taken = self.is_pending or (is_answered and producer.producer_epoch != -1)
        is_under_way = producer.request is not None and self.is_in_flight(producer.request)
        may_ask_again = not is_taken or not self._keeps_out(ModelGap.EPOCH_IS_ASKED_FOR_AGAIN)
        return producer.awaited is not None and (is_under_way or may_ask_again)

    def _of_ending(self, number: int, producer: TransactionalProducer) -> Choices:
        request, answer = producer.request, self.answer_to(producer.request)
        if producer.awaited is None:
            return  # the request was finally refused
        if request is not None and self.is_in_flight(request):
            yield NORMAL, self._step("coordinator_handles_end_txn", number)
            yield RARE, partial(self.drop, request)
            if self._left["late_requests"]:
                yield SELDOM, partial(self._send_end_txn_again, number)
        elif answer is not None:
            yield SELDOM, partial(self._learn, number, producer, answer)
            yield RARE, partial(self.drop, answer.number)
        else:
            yield RARE if self.is_pending else NORMAL, self._step("coordinator_handles_end_txn", number)

    def _learn(self, number: int, producer: TransactionalProducer, answer: Message) -> Step | None:
        content, phase = answer.payload, producer.phase
        assert isinstance(content, EndTxnResponse)
        is_late = content.error is Errors.NONE and content.producer_epoch != self.durable.producer_epoch
        if is_late and self._keeps_out(ModelGap.ANSWER_COMES_AFTER_FENCE):
            self.drop(answer.number)
            return None
        self.system.deliver(answer.number)
        return f"producer_learns_of_{'commit' if phase is Phase.COMMITTING else 'abort'}", (number,)

    def _send_end_txn_again(self, producer: int) -> Step:
        self._left["late_requests"] -= 1
        if not self._keeps_out(ModelGap.SECOND_LATE_END_TXN) and self.seen.late_end_txn is not None:
            self._late_copies[self.seen.late_end_txn] = "coordinator_handles_late_end_txn", ()
            self.seen.late_end_txn = None
        self.end_txn_is_sent_again(producer)
        self.lost -= set(LATE_END_TXN)
        return "end_txn_is_sent_again", (producer,)

    # ----------------------------------------------------------------------------------------------------- coordinator

    def _of_coordinator(self) -> Choices:
        if self.is_pending:
            yield OFTEN, self._step("transaction_log_is_replicated")
        elif self.durable.decision is not None:
            yield NORMAL, self._step("coordinator_completes_transaction")
        elif self.durable.state is TransactionState.ONGOING and (self.is_stopped or self._left["timeouts"]):
            yield NORMAL if self.is_stopped else RARE, self._time_out
        if self._left["failovers"]:
            yield RARE, partial(self._fail_over, "coordinator_fails_over")
            if self.is_pending:
                yield RARE, partial(self._fail_over, "coordinator_fails_over_after_append")
        if self.seen.late_end_txn is not None:
            yield RARE, self._late_end_txn_arrives
        for number in self._late_copies:
            yield NORMAL, partial(self._late_copy_arrives, number)

    def _time_out(self) -> Step:
        self._left["timeouts"] -= not self.is_stopped
        return self._step("coordinator_times_out_transaction")()

    def _fail_over(self, action: str) -> Step:
        self._left["failovers"] -= 1
        self._left["late_markers"] -= getattr(self, action)(self._left["late_markers"])
        return action, ()

    def _late_end_txn_arrives(self) -> Step | None:
        was_pending = self.is_pending
        self.coordinator_handles_late_end_txn()
        if self.is_pending > was_pending:
            return "coordinator_handles_late_end_txn", ()
        self.lost |= set(LATE_END_TXN)
        return None

    # ------------------------------------------------------------------------------------------------------ partitions

    def _of_partitions(self) -> Choices:
        markers = self.system.coordinator.markers
        for leader in self.system.leaders:
            at = leader.number
            sent = self.marker_sent_to(at)
            is_replicated = replicated_entries_of(leader) == len(entries_of(leader))
            if any(marker.partition == leader.name for marker in markers.queued):
                yield NORMAL, self._step("coordinator_sends_marker", at)
            if sent is not None and self.is_in_flight(sent):
                yield NORMAL, partial(self._marker_arrives, at, sent)
                if self._left["late_requests"]:
                    yield SELDOM, partial(self._send_marker_again, at)
            elif sent is not None:
                yield SELDOM, self._step("answer_to_marker_is_lost", at)
                is_new = not is_replicated and self._keeps_out(ModelGap.ANSWER_TO_MARKER_IS_LATE)
                if self.answer_to(sent) is not None and not is_new:
                    yield NORMAL, self._step("coordinator_learns_of_marker", at)
            if at in self.seen.late_markers:
                yield RARE, partial(self._late_marker_arrives, leader)
            if not is_replicated:
                yield OFTEN, self._step("followers_fetch", at)
            if self._left["expirations"] and self.configuration.PRODUCER_STATE_EXPIRES_EARLY:
                yield RARE, partial(self._expire, at)
            for message in self.system.messages:
                if message.destination == at and isinstance(message.payload, ProduceRequest):
                    yield SELDOM, partial(self._record_arrives, leader, message, message.payload)
            for answer in self.answers_to_leader(at):
                yield OFTEN, partial(self._answer_arrives, at, answer)
            may_be_late = not self._keeps_out(ModelGap.ANSWER_TO_LEADER_IS_LATE)
            for payload in leader.verified:
                if may_be_late or number_of(payload) == self.seen.confirmed.get(at):
                    yield NORMAL, partial(self._append_verified, leader, payload)

    def _marker_arrives(self, partition: int, sent: int) -> Step:
        self.leader_appends_marker(partition)
        answer = self.answer_to(sent)
        if answer is None:
            return "leader_appends_marker", (partition,)
        self.system.deliver(answer.number)
        return "leader_refuses_marker", (partition,)

    def _send_marker_again(self, partition: int) -> Step:
        self._left["late_requests"] -= 1
        return self._step("marker_is_sent_again", partition)()

    def leave_late(self, partition: int, marker: int) -> None:
        """Make a marker the late marker of its partition; an earlier late marker is lost unless the plan allows two."""
        if not self._keeps_out(ModelGap.SECOND_LATE_MARKER) and partition in self.seen.late_markers:
            self._late_copies[self.seen.late_markers.pop(partition)] = "leader_appends_late_marker", (partition,)
        super().leave_late(partition, marker)
        self.lost -= {f"{name}[{partition}]" for name in LATE_MARKER}

    def _late_marker_arrives(self, leader: TransactionLeader) -> Step | None:
        end = leader.log.log_end_offset
        self.leader_appends_late_marker(leader.number)
        if leader.log.log_end_offset > end:
            return "leader_appends_late_marker", (leader.number,)
        self.lost |= {f"{name}[{leader.number}]" for name in LATE_MARKER}
        return None

    def _expire(self, partition: int) -> Step:
        before = self.system.leaders[partition].log.producers.known
        self.producer_state_expires(partition)
        self._left["expirations"] -= before != self.system.leaders[partition].log.producers.known
        return "producer_state_expires", (partition,)

    def _record_arrives(self, leader: TransactionLeader, message: Message, request: ProduceRequest) -> Step | None:
        """Let a copy of a record arrive. If the leader asks the coordinator about the transaction, this query arrives,
        too; the answer also arrives, unless the coordinator first has to append to its log.
        """
        at = leader.number, number_of(request.payload)
        self.system.deliver(message.number)
        question = self.question_of(leader.number)
        if question is None:
            return "leader_appends_record", at
        assert isinstance(question.payload, AddPartitionsToTxnRequest)
        was_pending = self.is_pending
        if was_pending and question.payload.verify_only and self._keeps_out(ModelGap.VERIFIED_WHILE_PENDING):
            self.drop(question.number)
            return None
        self.asked[question.number] = at[1]
        self.system.deliver(question.number)
        answer = self.answer_to(question.number)
        if answer is None:
            return "leader_adds_partition", at
        self.system.deliver(answer.number)
        return "leader_verifies_transaction", at

    def _answer_arrives(self, partition: int, answer: Message) -> Step:
        self.system.deliver(answer.number)
        return "leader_verifies_transaction", (partition, self.asked[answer.in_reply_to or 0])

    def _append_verified(self, leader: TransactionLeader, payload: str) -> Step:
        leader.append_verified(payload)
        return "leader_appends_record", (leader.number, number_of(payload))

    # -------------------------------------------------------------------------------------------------------- messages

    def _step(self, action: str, *ordinals: int) -> Callable[[], Step]:
        """A function that performs the act of this name, and returns the model's step of the same name."""

        def perform() -> Step:
            getattr(self, action)(*ordinals)
            return action, ordinals

        return perform

    def _late_copy_arrives(self, number: int) -> Step:
        """Deliver a late copy of a message, a copy that the model lacks; return the model's step for the message."""
        step = self._late_copies.pop(number)
        if self.is_in_flight(number):
            self.system.deliver(number)
        return step

    def _lose_what_the_model_lacks(self) -> None:
        """Lose the messages whose arrival would be a behaviour that the model lacks (`ModelGap`)."""
        begun = dict(begun_in(self.system))
        for leader in self.system.leaders:
            if self._keeps_out(ModelGap.ANSWER_TO_LEADER_IS_LATE):
                for answer in list(self.answers_to_leader(leader.number)):
                    _, transaction = begun[self.asked[answer.in_reply_to or 0]]
                    is_current = transaction.producer_epoch == self.durable.producer_epoch
                    if self.is_pending or not self._is_ongoing(leader) or not is_current:
                        self.drop(answer.number)
            forgotten = self.seen.forgotten_below.get(leader.number, 0)
            held = {record.payload for record in entries_of(leader)[:forgotten]}
            for message in self.system.messages if self._keeps_out(ModelGap.FORGOTTEN_COPY) else ():
                is_copy = isinstance(message.payload, ProduceRequest) and message.payload.payload in held
                if is_copy and message.destination == leader.number:
                    self.drop(message.number)


MOST_IDLE = 100
"""The number of acts without an event after which a run ends."""

Observed = dict[str, list[int]]
"""The cells of what is observed, by log key."""


class TransactionsRun:
    """One run of one system, from the first instance of the producer until the bounds are reached."""

    def __init__(self, plan: TransactionsPlan, writer: Writer) -> None:
        self._plan = plan
        self._writer = writer
        self._name = f"{plan.seed}.{writer.runs + 1}"
        self._variables = Variables(plan.instance)
        self._acts = RandomActs(plan, f"transactions of {self._name}")
        self._events = 0

    def go(self) -> None:
        """Perform the run until it ends, or the plan's number of events is reached."""
        plan, before = self._plan, self._observed()
        assert before is not None
        note = f"bug: {plan.bug}" if plan.bug else ""
        entries, switches = plan.spelled(is_switch=False), plan.spelled(is_switch=True)
        spelled = {name: str(value) for name, value in switches.items()}
        state, seed = self._spelled(before), plan.seed
        self._writer.begin(Header(self._name, seed, "transactions", plan.protocol, spelled, entries, state, note))
        idle = 0
        while idle < MOST_IDLE and self._writer.events < plan.events:
            step = self._acts.act()
            after = self._observed()
            if self._acts.is_over or after is None:
                return
            idle += 1
            if any(before.get(key) != cells for key, cells in after.items()):
                idle = 0
                self._write(step, after)
            before = after

    def _write(self, step: Step | None, observed: Observed) -> None:
        """Write an event with these variables; without a step, the event has no action."""
        self._events += 1
        action, ordinals = step or (None, ())
        instance, arguments = self._plan.instance, {}
        if action is not None:
            index = [declared.name for declared in instance.model.actions].index(action)
            names = [argument.parameter.name for argument in instance.argument_ranges[index]]
            arguments = dict(zip(names, ordinals, strict=True))
        self._writer.write(Event(self._name, self._events, None, action, arguments, self._spelled(observed)))

    def _spelled(self, observed: Observed) -> dict[str, Value]:
        return {key: self._variables.part(key).spell(cells) for key, cells in observed.items()}

    def _observed(self) -> Observed | None:
        """The present values of the observed variables, by log key; None if they exceed the bounds of the model."""
        acts, instance, observed = self._acts, self._plan.instance, Observed()
        acts.seen.note(acts.system)
        for key, value in _by_key(project(acts.system, acts.seen, instance.configuration)):
            layout, cells = self._variables.part(key).layout, list(_flat(value))
            if not cells:  # the bounds leave the mechanism out
                continue
            if len(cells) > layout.count or min(cells) < layout.low or max(cells) > layout.high:
                return None
            if key not in acts.lost:
                observed[key] = cells
        return observed


def _by_key(variables: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """The variables' values, each with its log key; a variable of late markers gives one value for each partition."""
    for name, value in variables.items():
        if name in LATE_MARKER:
            yield from ((f"{name}[{partition}]", cells) for partition, cells in enumerate(value))
        else:
            yield name, value


def _flat(value: Any) -> Iterator[int]:
    if isinstance(value, list):
        for part in value:
            yield from _flat(part)
    else:
        yield int(value)

"""The acts by which the outside world brings about each step of the model, without a trace.

In:  a system of transactions; what is known of the messages in flight (`Observations`).
Out: the system after the act. Each act has the name of the step that it brings about.

An act does only what is possible from outside: calls of the application, messages, timers, fail-overs and the progress
of replication. It never writes a field of a node. `driver.py` takes the steps of a trace with these acts, and
follow/recorder/transactions.py takes random ones.
"""

from __future__ import annotations

from collections.abc import Iterator

from isrcheck.conformance.cluster.configuration.settings import ClusterError
from isrcheck.conformance.cluster.configuration.switches import Switches, UnknownProducer, Verification
from isrcheck.conformance.cluster.network.messages import Errors, ProduceRequest, ProduceResponse
from isrcheck.conformance.cluster.network.network import Message
from isrcheck.conformance.cluster.network.records import LAST_EPOCH, Control
from isrcheck.conformance.cluster.network.transaction_messages import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    EndTxnResponse,
    InitProducerIdResponse,
)
from isrcheck.conformance.cluster.transactions.system import TRANSACTIONAL_ID, TransactionalCluster
from isrcheck.conformance.replay.transactions.projection import (
    Observations,
    begun_in,
    entries_of,
    name_of,
    replicated_entries_of,
)
from isrcheck.models.language.model import Instance

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
        FENCE_RAISES_EPOCH_TWICE=bool(given.FENCE_RAISES_EPOCH_TWICE),
        ONGOING_PER_EPOCH=bool(given.ONGOING_PER_EPOCH),
        MARKER_EPOCH_STRICT=bool(given.MARKER_EPOCH_STRICT),
        EQUAL_MARKER_EPOCH_IS_RETRY=bool(given.EQUAL_MARKER_EPOCH_IS_RETRY),
        MARKER_ANSWERS_CHECK_EPOCH=bool(given.MARKER_ANSWERS_CHECK_EPOCH),
        FENCE_TAKES_NEXT_ID=bool(given.FENCE_TAKES_NEXT_ID),
        NEXT_ID_IS_LOGGED=bool(given.NEXT_ID_IS_LOGGED),
    )


class Acts:
    """The acts on one system at a time."""

    system: TransactionalCluster
    seen: Observations

    def begin_with(self, instance: Instance, bug: str | None) -> None:
        """Create a system in which the first instance of the producer is initialised."""
        self.configuration = instance.configuration
        epochs = self.configuration.producer_epochs
        first_epoch = LAST_EPOCH + 1 - epochs if epochs else 0
        given = (switches_of(instance), self.configuration.partitions, bug)
        self.system = TransactionalCluster(*given, first_epoch=first_epoch)
        self.seen = Observations(first_epoch=first_epoch)
        self.answers_left = self.configuration.late_answers
        self.asked: dict[int, int] = {}
        self.system.start_producer()
        self.coordinator_handles_init_producer_id(0)
        self.system.replicate_transaction_log()
        self.between_steps()

    def between_steps(self) -> None:
        """Deliver what the model does not tell apart: answers to producers, except those to EndTxn; copies of a record
        that the log holds; markers that end nothing, to the followers. Partitions look for producers that are gone.
        """
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
        """The answer arrives; if there is none, the producer sends EndTxn again."""
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
        """Whether the coordinator knows the producer id of this answer. If it has forgotten the next one in a
        fail-over (KAFKA-20310), an answer that has not arrived before is lost.
        """
        known = self.system.coordinator.states.states[TRANSACTIONAL_ID]
        content = answer.payload
        ids = (known.producer_id, known.next_producer_id)
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
        """The copy that is under way takes longer; an earlier one that does is lost."""
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
        """Markers that the old coordinator has sent arrive late, up to this number, or are lost. Return how many are
        late.
        """
        late = 0
        if self.answers_left and any(self.marker_sent_to(one.number) is not None for one in self.system.leaders):
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
        """A marker of a coordinator that has moved is late."""
        self.leave_late(partition, marker)

    def coordinator_fails_over_after_append(self, late_markers: int = 0) -> int:
        """The transition becomes durable, and is answered, just before; an answer to InitProducerId is lost."""
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
        sent = self.must_be_sent_to(partition)
        self.system.deliver(sent)
        self._coordinator_hears(sent)

    def coordinator_learns_of_marker(self, partition: int) -> None:
        self._coordinator_hears(self.must_be_sent_to(partition))

    def _coordinator_hears(self, sent: int) -> None:
        answer = self.answer_to(sent)
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
        """This marker takes longer; an earlier one that does is lost."""
        self.drop(self.seen.late_markers.get(partition))
        self.seen.late_markers[partition] = marker

    # ------------------------------------------------------------------------------------------------------ partitions

    def ask_coordinator(self, partition: int, transaction: int) -> None:
        """A copy of a record arrives, and the leader's question about it arrives at the coordinator."""
        self.deliver_record(partition, transaction)
        question = self.question_of(partition)
        if question is None:
            raise ClusterError("the partition's leader does not ask the coordinator")
        self.asked[question.number] = transaction
        self.system.deliver(question.number)

    leader_adds_partition = ask_coordinator

    def leader_verifies_transaction(self, partition: int, transaction: int) -> None:
        """The answer to the leader arrives; if there is none, another copy of the record has the leader ask again."""
        for message in self.answers_to_leader(partition):
            if self.asked.get(message.in_reply_to or 0) == transaction:
                self.system.deliver(message.number)
                return
        self.ask_coordinator(partition, transaction)
        for message in self.answers_to_leader(partition):
            self.system.deliver(message.number)

    def leader_appends_record(self, partition: int, transaction: int) -> None:
        leader = self.system.leaders[partition]
        known = [payload for payload in leader.verified if payload.startswith(name_of(transaction))]
        if known:
            leader.append_verified(known[0])
        else:
            self.deliver_record(partition, transaction)
        self.lose_answers_to(partition)

    def deliver_record(self, partition: int, transaction: int) -> None:
        """The copy of the record that was sent first arrives."""
        for message in self.copies_in_flight(partition, transaction):
            self.system.deliver(message.number)
            return
        raise ClusterError(f"no copy of record {name_of(transaction)} is on its way to partition {partition}")

    def copies_in_flight(self, partition: int, transaction: int) -> Iterator[Message]:
        """The copies of a record that are on their way to a partition, in order of sending."""
        for message in self.system.messages:
            content = message.payload
            is_copy = isinstance(content, ProduceRequest) and content.payload.startswith(name_of(transaction))
            if is_copy and message.destination == partition:
                yield message

    def question_of(self, partition: int) -> Message | None:
        """The question that the leader has just asked the coordinator, if it has."""
        last = self.system.messages[-1] if self.system.messages else None
        is_question = last is not None and isinstance(last.payload, AddPartitionsToTxnRequest)
        return last if is_question and last is not None and last.source == partition else None

    def answers_to_leader(self, partition: int) -> Iterator[Message]:
        """The coordinator's answers that the leader waits for."""
        asked = self.system.leaders[partition].asked
        for message in self.system.messages:
            if isinstance(message.payload, AddPartitionsToTxnResponse) and message.in_reply_to in asked:
                yield message

    def lose_answers_to(self, partition: int) -> None:
        """Answers of the coordinator that come after an append are of no use to the leader: they are lost."""
        for message in list(self.answers_to_leader(partition)):
            self.system.drop(message.number)

    def followers_fetch(self, partition: int) -> None:
        self.system.replicate(partition)

    def producer_state_expires(self, partition: int) -> None:
        self.system.expire_producers(partition)

    # -------------------------------------------------------------------------------------------------------- messages

    def is_in_flight(self, number: int) -> bool:
        """Whether the message with this number is in flight."""
        return any(message.number == number for message in self.system.messages)

    def answer_to(self, request: int | None) -> Message | None:
        """The answer to a request, if it is in flight."""
        return next((one for one in self.system.messages if request is not None and one.in_reply_to == request), None)

    def drop(self, number: int | None) -> None:
        """Lose a message, if it is in flight."""
        if number is not None and self.is_in_flight(number):
            self.system.drop(number)

    def drop_answer_to(self, request: int) -> None:
        """Lose the answer to a request, if it is in flight."""
        answer = self.answer_to(request)
        if answer is not None:
            self.system.drop(answer.number)

    def request_of(self, producer: int) -> int:
        """The producer's request to the coordinator; it is sent again if it is not in flight."""
        asking = self.system.producers[producer]
        if asking.request is None or not self.is_in_flight(asking.request):
            asking.ask_again()
        assert asking.request is not None
        return asking.request

    def deliver_request(self, producer: int) -> None:
        """The producer's request arrives at the coordinator."""
        self.system.deliver(self.request_of(producer))

    def marker_sent_to(self, partition: int) -> int | None:
        """The number of the marker to which the coordinator awaits the answer of this partition."""
        name = self.system.leaders[partition].name
        return next(
            (number for number, one in self.system.coordinator.markers.sent.items() if one.partition == name), None
        )

    def must_be_sent_to(self, partition: int) -> int:
        """The same. Raises ClusterError if there is none."""
        sent = self.marker_sent_to(partition)
        if sent is None:
            raise ClusterError(f"the coordinator awaits no answer to a marker for partition {partition}")
        return sent

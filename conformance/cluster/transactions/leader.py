"""The leader of one partition that transactions write to: it appends records and markers, and asks the coordinator.

In:  produce and marker requests; the coordinator's answers; the followers' progress.
Out: answers; questions to the coordinator; what a read_committed reader receives.

One log stands for all replicas: `replicate` lets the followers fetch everything. The leader handles the coordinator's
answer in one event and appends the record in another event, as in Kafka, where another thread appends it. The leader of
`__consumer_offsets` stands for the group coordinator, too, which appends the offsets that a transaction commits. In
Kafka these offsets have no sequence numbers, and a repeated request appends them twice; here the second request is
recognised. 3.6 does not verify the transaction of these offsets (KAFKA-15449). Source: fact sheet, sections 5.1, 5.3,
6.2 to 6.5; Kafka: ReplicaManager, UnifiedLog.analyzeAndValidateProducerState, KIP-890.
"""

from __future__ import annotations

from dataclasses import dataclass

from isrcheck.conformance.cluster.configuration.bugs import TransactionBug
from isrcheck.conformance.cluster.configuration.protocol import Switches, Verification
from isrcheck.conformance.cluster.log.log import Log
from isrcheck.conformance.cluster.log.storage import MemoryStorage
from isrcheck.conformance.cluster.network.messages import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    Errors,
    ProduceRequest,
    ProduceResponse,
    WriteTxnMarkersRequest,
)
from isrcheck.conformance.cluster.network.network import Clock, Message, Network
from isrcheck.conformance.cluster.network.records import Record

PRODUCER_ID_EXPIRATION = 7 * 24 * 3_600_000
"""transactional.id.expiration.ms, after which a partition forgets a producer up to 3.3."""


@dataclass(frozen=True)
class Verifying:
    """A produce request whose transaction is verified, or is being verified. `guard`: a number that ties the
    coordinator's answer to the request; the guard must still be valid when the record is appended."""

    message: Message
    request: ProduceRequest
    guard: int


@dataclass(frozen=True)
class Waiting:
    """A request that is answered once the high watermark is above its record."""

    message: Message
    send: int
    offset: int


class TransactionLeader:
    """The leader of one partition; its address in the network is the number of the partition."""

    def __init__(
        self,
        number: int,
        holds_offsets: bool,
        coordinator: str,
        network: Network,
        clock: Clock,
        switches: Switches,
        bug: TransactionBug | None,
    ) -> None:
        self.number = number
        self.log = Log(MemoryStorage(), switches, bug)
        self._holds_offsets = holds_offsets
        self._coordinator = coordinator
        self._network = network
        self._clock = clock
        self._verification = switches.TXN_VERIFY
        self._bug = bug
        self._verifies = (
            switches.TXN_VERIFY is not Verification.OFF
            and (switches.OFFSET_COMMITS_VERIFIED or not holds_offsets)
            and bug is not TransactionBug.RECORD_NOT_VERIFIED
        )
        self._asked: dict[int, Verifying] = {}
        self._verified: list[Verifying] = []
        self._waiting: list[Waiting] = []

    @property
    def name(self) -> str:
        """The name by which producers and the coordinator know the partition."""
        return f"partition {self.number}"

    @property
    def asked(self) -> tuple[int, ...]:
        """The message numbers of the leader's requests to the coordinator that have no answer yet."""
        return tuple(self._asked)

    @property
    def verified(self) -> tuple[str, ...]:
        """The payloads of the records that the leader may append now, because the coordinator has confirmed their
        transaction; in the order of the answers.
        """
        guards = self.log.producers.guards
        return tuple(
            each.request.payload
            for each in self._verified
            if each.request.stamp is not None and guards.allows(each.request.stamp.producer_id, each.guard)
        )

    @property
    def committed(self) -> tuple[Record, ...]:
        """The records that a read_committed reader receives. Fact sheet 6.4; Kafka: CompletedFetch."""
        end = self.log.last_stable_offset
        aborted = self.log.aborted_transactions(0, end)
        return tuple(
            record
            for record in self.log.read(0, end)
            if record.control is None
            and not any(
                record.stamp is not None
                and record.stamp.producer_id == each.producer_id
                and each.first_offset <= record.offset < each.last_offset
                for each in aborted
            )
        )

    def handle_produce(self, message: Message, request: ProduceRequest) -> None:
        """Append a record; with TXN_VERIFY, ask the coordinator before the first record of a transaction (KIP-890)."""
        assert request.stamp is not None
        if not self._verifies or self.log.producers.is_ongoing(request.stamp):
            self._append(message, request, None)
            return
        stamp = request.stamp
        guard = self.log.producers.guards.start(stamp.producer_id)
        question = AddPartitionsToTxnRequest(
            request.transactional_id,
            stamp.producer_id,
            stamp.producer_epoch,
            self.name,
            verify_only=self._verification is Verification.PART_1,
        )
        self._asked[self._network.send(self.number, self._coordinator, question)] = Verifying(message, request, guard)

    def receive(self, message: Message, answer: AddPartitionsToTxnResponse) -> None:
        """Handle the coordinator's answer: after NONE, the record can be appended; after an error, it is refused."""
        verifying = self._asked.pop(message.in_reply_to or 0, None)
        if verifying is None:
            return
        if answer.error is Errors.NONE:
            self._verified.append(verifying)
        else:
            self._reply(verifying.message, ProduceResponse(verifying.request.send, answer.error))

    def disconnected(self, question: int) -> None:
        """Give up the message `question`, which the coordinator does not answer: the producer gets a retriable error.
        Kafka: AddPartitionsToTxnManager."""
        verifying = self._asked.pop(question)
        self._reply(verifying.message, ProduceResponse(verifying.request.send, Errors.NOT_ENOUGH_REPLICAS))

    def append_verified(self, payload: str) -> None:
        """Append the verified record with this payload, if it exists."""
        verified = next((each for each in reversed(self._verified) if each.request.payload == payload), None)
        if verified is not None:
            self._verified.remove(verified)
            self._append(verified.message, verified.request, verified.guard)

    def handle_write_marker(self, message: Message, request: WriteTxnMarkersRequest) -> None:
        """Append a transaction's marker, and answer once it is replicated; answer a refused marker at once."""
        error = self.log.producers.refusal_of_marker(request.stamp, request.coordinator_epoch)
        if error is not Errors.NONE:
            self._reply(message, ProduceResponse(request.send, error))
            return
        control, epoch = request.control, request.coordinator_epoch
        fields = (control.value, 0, request.stamp, control, 1, self._clock.now, epoch)
        self._waiting.append(Waiting(message, request.send, self.log.append_as_leader(*fields).offset))

    def replicate(self) -> None:
        """Let the followers fetch everything: the high watermark reaches the log's end."""
        self.log.increment_high_watermark(self.log.log_end_offset)
        for each in self._waiting:
            self._reply(each.message, ProduceResponse(each.send, Errors.NONE, each.offset))
        self._waiting.clear()

    def expire_producers(self) -> None:
        """Forget producers that have appended nothing for PRODUCER_ID_EXPIRATION. Kafka: removeExpiredProducers."""
        self.log.producers.remove_expired(self._clock.now, PRODUCER_ID_EXPIRATION)

    def _append(self, message: Message, request: ProduceRequest, guard: int | None) -> None:
        producers, stamp = self.log.producers, request.stamp
        assert stamp is not None
        offset = duplicate = producers.duplicate_of(stamp)
        if offset is None or self._bug is TransactionBug.COPY_APPENDED:
            is_known = producers.is_ongoing(stamp) or producers.guards.allows(stamp.producer_id, guard)
            error = Errors.INVALID_TXN_STATE
            if is_known or not self._verifies:
                error = producers.refusal_of(stamp, is_from_client=not self._holds_offsets)
            if error is not Errors.NONE and duplicate is None:
                self._reply(message, ProduceResponse(request.send, error))
                return
            offset = self.log.append_as_leader(request.payload, 0, stamp, timestamp=request.timestamp).offset
        if offset < self.log.high_watermark:
            self._reply(message, ProduceResponse(request.send, Errors.NONE, offset))
        else:
            self._waiting.append(Waiting(message, request.send, offset))

    def _reply(self, message: Message, response: ProduceResponse) -> None:
        self._network.reply(message, response, 0)

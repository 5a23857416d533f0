"""A producer: its requests, and the outcomes that it knows. Its driver decides when and where to send and to retry.

An idempotent producer numbers its records. It concludes that records are lost if its first unacknowledged record is
refused as out of order, or any record is refused because the leader does not know the producer. It then raises its
epoch and renumbers the records in flight (CLIENT_BUMPS_EPOCH, KIP-360); before 2.5, it takes a new producer id and
gives up the records in flight. There is one exception before 2.5: if the leader does not know the producer, and the
leader's log starts above all acknowledged records, the producer assumes that its records were deleted, and renumbers
the records in flight in the same epoch. The fact sheet does not say what happens before 2.5. If a record
was renumbered after the refused request was sent, the refusal changes nothing: the record is sent again. Transactional
producers do none of this here.

Source: fact sheet, sections 5.1 to 5.4; Kafka: KafkaProducer, ProducerConfig, TransactionManager (canRetry,
bumpIdempotentProducerEpoch, resetProducerId, startSequencesAtBeginning).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from isrcheck.conformance.cluster.configuration.bugs import Bug
from isrcheck.conformance.cluster.configuration.protocol import Switches
from isrcheck.conformance.cluster.configuration.settings import ClusterError, Settings
from isrcheck.conformance.cluster.network.messages import Acks, Errors, ProduceRequest, ProduceResponse
from isrcheck.conformance.cluster.network.network import Network
from isrcheck.conformance.cluster.network.records import ProducerStamp


@dataclass(frozen=True)
class Sent:
    """A produce request that the producer has sent, and what the producer knows of the request's outcome."""

    number: int
    """The number of this request among the producer's requests, from 0."""
    payload: str
    broker: int
    acks: Acks
    """With NONE, no outcome is ever known."""
    stamp: ProducerStamp | None
    """The producer's numbering of the record; None without idempotence."""
    request: int
    """The number of the message."""
    retry_of: int | None = None
    """The number of the first attempt; None for the first attempt itself."""
    outcome: Errors | None = None
    """The error in the response; None before a response. NETWORK_EXCEPTION: the connection broke, and the record may
    have been written."""
    offset: int = -1
    """-1 if unknown."""

    @property
    def is_acknowledged(self) -> bool:
        """Whether a response without an error has arrived: the record is written, as safely as `acks` demands."""
        return self.outcome is Errors.NONE

    @property
    def is_unanswered(self) -> bool:
        """Whether the producer does not know whether the record was written."""
        return self.outcome in (None, Errors.NETWORK_EXCEPTION, Errors.REQUEST_TIMED_OUT)

    @property
    def is_refused(self) -> bool:
        """Whether a broker refused the record; with NOT_ENOUGH_REPLICAS_AFTER_APPEND the record is in a log anyway."""
        return not self.is_acknowledged and not self.is_unanswered

    @property
    def is_failed(self) -> bool:
        """Whether the request ended with an error or a broken connection; a producer would then retry."""
        return self.outcome not in (None, Errors.NONE)

    @property
    def is_in_flight(self) -> bool:
        """Whether a response may still arrive."""
        return self.outcome is None and self.acks is not Acks.NONE


@dataclass
class Numbered:
    """A record of an idempotent producer, with all stamps (id, epoch, sequence number) that it has had. `stamps` maps
    an index in `Producer.identities` to the record's stamp under that identity."""

    payload: str
    stamps: dict[int, ProducerStamp]
    is_acknowledged: bool = False

    @property
    def stamp(self) -> ProducerStamp:
        """The latest stamp (producer id, epoch, sequence number) of the record."""
        return self.stamps[max(self.stamps)]


@dataclass(frozen=True)
class Identity:
    """A producer id with an epoch. Whenever a producer takes an identity, its sequence numbers begin at 0 again."""

    producer_id: int
    producer_epoch: int


REFUSED_SEQUENCES = (Errors.OUT_OF_ORDER_SEQUENCE_NUMBER, Errors.UNKNOWN_PRODUCER_ID)
"""The errors which say that a sequence number is not the next one."""


@dataclass(eq=False)
class Producer:
    """One producer instance; its name is its address in the network."""

    name: str
    _new_producer_id: Callable[[], int]
    _network: Network
    _settings: Settings
    _switches: Switches
    _bug: Bug | None

    def __post_init__(self) -> None:
        """Errors: `ClusterError` for settings that Kafka's producer refuses to start with."""
        most, allowed = self._settings.max_in_flight_requests_per_connection, self._switches.IDEMPOTENT_CACHE
        if self._settings.idempotent and most > allowed:
            raise ClusterError(
                f"producer {self.name}: idempotence allows at most {allowed} requests in flight, not {most}"
            )
        if self._settings.idempotent and self._settings.retries == 0:
            raise ClusterError(f"producer {self.name}: idempotence needs retries; set `retries` above 0")
        self._identities = [Identity(self._new_producer_id(), 0)]
        self._sequence = 0
        self._last_acknowledged = -1
        self.last_acknowledged_offset = -1
        """The highest offset in a successful answer to this producer id; -1 before the first."""
        self._numbered: dict[int, Numbered] = {}  # by the number of the first request; below 0: from before the start
        self.leader_epoch = 0
        """The latest leader epoch that this producer has heard of, with STALE_METADATA_IGNORED; otherwise 0."""
        self._sent: list[Sent] = []
        self.in_transaction = False
        """Whether the producer's records belong to a transaction."""
        self._idempotent = self._settings.idempotent

    @property
    def sent(self) -> tuple[Sent, ...]:
        """Every request of this producer, in order of sending."""
        return tuple(self._sent)

    @property
    def identities(self) -> tuple[Identity, ...]:
        """All identities that the producer has had, the present one last. If the sequence numbers have begun at 0 again
        under the same identity, the identity is listed once more."""
        return tuple(self._identities)

    @property
    def numbered(self) -> tuple[tuple[str, tuple[tuple[int, ProducerStamp], ...]], ...]:
        """Every record with a sequence number, in order of sending: its payload, and its stamps as pairs (index in
        `identities`, stamp)."""
        return tuple((each.payload, tuple(each.stamps.items())) for _, each in sorted(self._numbered.items()))

    @property
    def stamp(self) -> ProducerStamp:
        """The stamp of this producer's transaction markers: its present id and epoch, and the sequence number -1."""
        return self._stamp(-1, is_transactional=True)

    def has_sent(self, payloads: Iterable[str]) -> int:
        """Set up the producer as if it had sent the given records and all were acknowledged; used for the records of
        the initial log (`Start.log`). Returns the producer's id."""
        for payload in payloads:
            self._numbered[self._sequence - (1 << 31)] = Numbered(payload, {0: self._stamp(self._sequence)}, True)
            self._sequence += 1
        self._last_acknowledged = self.last_acknowledged_offset = self._sequence - 1
        return self._identities[-1].producer_id

    def learns_of_leader(self, leader_epoch: int) -> None:
        """Receive metadata with the leader's epoch. Kafka: Metadata.updateLastSeenEpochIfNewer; not in the fact sheet.
        Errors: with STALE_METADATA_IGNORED (KAFKA-7738), `ClusterError` if the producer knows a later leader epoch."""
        if self._switches.STALE_METADATA_IGNORED:
            if leader_epoch < self.leader_epoch:
                raise ClusterError(
                    f"producer {self.name} ignores leader epoch {leader_epoch}: it has seen epoch {self.leader_epoch}"
                )
            self.leader_epoch = leader_epoch

    def begin_transaction(self) -> None:
        """Make all further records transactional; the producer has to be idempotent from its first record on (KIP-98).

        Errors: `ClusterError` if the producer has sent records without idempotence, or is in a transaction.
        """
        if self._sent and not self._idempotent:
            raise ClusterError(f"producer {self.name}: transactions need idempotence; set `idempotent`")
        if self.in_transaction:
            raise ClusterError(f"producer {self.name} is in a transaction already; end it first")
        self.in_transaction = self._idempotent = True

    def end_transaction(self) -> None:
        """End the transaction of this producer. Errors: `ClusterError` outside a transaction."""
        if not self.in_transaction:
            raise ClusterError(f"producer {self.name} is in no transaction; begin one first")
        self.in_transaction = False

    def bump_epoch(self) -> None:
        """Become a new instance: the same id, the next epoch, which fences the old instance, and sequences from 0."""
        now = self._identities[-1]
        self._becomes(Identity(now.producer_id, now.producer_epoch + 1))
        self.in_transaction = False

    def send(self, payload: str, broker: int, acks: Acks) -> int:
        """Send one record; returns the number of the request.

        Errors: `ClusterError` for idempotence without acks=all, or for too many requests in flight.
        """
        stamp = None
        if self._idempotent:
            if acks is not Acks.ALL:
                raise ClusterError(f"producer {self.name}: idempotence needs acks=all, not {acks.value}")
            stamp = self._stamp(self._sequence, is_transactional=self.in_transaction)
        number = self._send(payload, broker, acks, stamp, retry_of=None)
        self._sequence += 1
        if stamp is not None:
            self._numbered[number] = Numbered(payload, {self._numbering: stamp})
        return number

    def resend(self, number: int, broker: int) -> int:
        """Send the record of request `number` again, with its present sequence; returns the new request's number.

        Errors: `ClusterError` for an unknown number, an acknowledged record, or more than `retries` attempts.
        """
        earlier = self._known(number)
        first = number if earlier.retry_of is None else earlier.retry_of
        if any(each.is_acknowledged for each in self._sent if first in (each.number, each.retry_of)):
            raise ClusterError(f"producer {self.name}: {earlier.payload} is acknowledged and cannot be sent again")
        if sum(each.retry_of == first for each in self._sent) >= self._settings.retries:
            raise ClusterError(
                f"producer {self.name}: {earlier.payload} was retried {self._settings.retries} times; raise `retries`"
            )
        numbered = self._numbered.get(first)
        stamp = numbered.stamp if numbered else None
        return self._send(earlier.payload, broker, earlier.acks, stamp, retry_of=first)

    def receive(self, response: ProduceResponse) -> None:
        """Handle a response; ignore a response to a request that was given up. Kafka: Sender.completeBatch."""
        sent = self._sent[response.send]
        if not sent.is_in_flight:
            return
        self._settle(response.send, response.error, response.offset)
        numbered = self._numbered.get(sent.number if sent.retry_of is None else sent.retry_of)
        if numbered is None or not self._is_present(numbered):
            return
        if response.error is Errors.NONE:
            numbered.is_acknowledged = True
            self._last_acknowledged = max(self._last_acknowledged, numbered.stamp.sequence)
            self.last_acknowledged_offset = max(self.last_acknowledged_offset, response.offset)
        elif response.error in REFUSED_SEQUENCES and sent.stamp == numbered.stamp and not sent.stamp.is_transactional:
            is_unknown = response.error is Errors.UNKNOWN_PRODUCER_ID
            if is_unknown and self._takes_records_for_deleted(response):
                if self._last_acknowledged >= 0:  # otherwise every request keeps its number
                    self._numbers_anew(self._identities[-1])
            elif is_unknown or numbered.stamp.sequence == self._last_acknowledged + 1:
                self._has_lost_records()  # otherwise it is simply sent again

    def _takes_records_for_deleted(self, refusal: ProduceResponse) -> bool:
        """Whether a producer before 2.5 assumes that its records were deleted: the log starts above all acknowledged
        records. Kafka: TransactionManager.canRetry."""
        is_deleted = self.last_acknowledged_offset < refusal.log_start_offset
        return is_deleted and not self._switches.CLIENT_BUMPS_EPOCH

    def _has_lost_records(self) -> None:
        """React to lost records: take the next epoch; before 2.5, take a new id and give up the records in flight."""
        now = self._identities[-1]
        if self._switches.CLIENT_BUMPS_EPOCH:
            self._numbers_anew(Identity(now.producer_id, now.producer_epoch + 1))
        else:
            self._becomes(Identity(self._new_producer_id(), 0))
            self.last_acknowledged_offset = -1

    def _numbers_anew(self, identity: Identity) -> None:
        """Take this producer id and epoch, and number the records in flight from 0 again."""
        in_flight = [
            each for _, each in sorted(self._numbered.items()) if self._is_present(each) and not each.is_acknowledged
        ]
        self._becomes(identity)
        for each in in_flight:
            keeps = self._bug is Bug.EPOCH_NOT_RENUMBERED
            each.stamps[self._numbering] = self._stamp(each.stamp.sequence if keeps else self._sequence)
            self._sequence += 1

    def _becomes(self, identity: Identity) -> None:
        self._identities.append(identity)
        self._sequence, self._last_acknowledged = 0, -1

    def _stamp(self, sequence: int, *, is_transactional: bool = False) -> ProducerStamp:
        now = self._identities[-1]
        return ProducerStamp(now.producer_id, now.producer_epoch, sequence, is_transactional)

    @property
    def _numbering(self) -> int:
        return len(self._identities) - 1

    def _is_present(self, numbered: Numbered) -> bool:
        return self._numbering in numbered.stamps

    def gives_up(self, number: int) -> None:
        """Give up this request, as if its connection had broken. Errors: `ClusterError` for an unknown number."""
        self.disconnected(self._known(number).request)

    def disconnected(self, request: int) -> None:
        """Give up the message `request`, whose connection broke, unless its response has arrived."""
        for each in self._sent:
            if each.request == request and each.is_in_flight:
                self._settle(each.number, Errors.NETWORK_EXCEPTION, -1)

    def _send(self, payload: str, broker: int, acks: Acks, stamp: ProducerStamp | None, retry_of: int | None) -> int:
        most, number = self._settings.max_in_flight_requests_per_connection, len(self._sent)
        if sum(each.is_in_flight and each.broker == broker for each in self._sent) >= most:
            raise ClusterError(
                f"producer {self.name}: {most} requests to broker {broker} are in flight; deliver or drop one"
            )
        request = self._network.send(self.name, broker, ProduceRequest(number, payload, acks, stamp))
        self._sent.append(Sent(number, payload, broker, acks, stamp, request, retry_of))
        return number

    def _known(self, number: int) -> Sent:
        if not 0 <= number < len(self._sent):
            raise ClusterError(
                f"producer {self.name} has sent no request {number}; it has sent {len(self._sent)} requests"
            )
        return self._sent[number]

    def _settle(self, number: int, outcome: Errors, offset: int) -> None:
        self._sent[number] = replace(self._sent[number], outcome=outcome, offset=offset)

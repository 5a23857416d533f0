"""The requests and responses between brokers, the controller and clients, and the errors in them.

None stands for a field that the release lacks. A broker epoch is the number of a broker's process; every message from a
broker carries it. AlterIsr (KIP-497) is called AlterPartition with KRaft. Source: fact sheet, sections 2.1, 3.4, 4.3,
4.4, 4.8, 4.9, 5.1, 6.1; KIP-98, KIP-360, KIP-890; Kafka: PartitionRecord, BrokerRegistration, BrokerHeartbeatRequest.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from isrcheck.conformance.cluster.network.records import Control, ProducerStamp, Record


class Errors(Enum):
    """Error codes, with the names of org.apache.kafka.common.protocol.Errors."""

    NONE = "NONE"
    NOT_LEADER_OR_FOLLOWER = "NOT_LEADER_OR_FOLLOWER"
    FENCED_LEADER_EPOCH = "FENCED_LEADER_EPOCH"
    UNKNOWN_LEADER_EPOCH = "UNKNOWN_LEADER_EPOCH"
    OFFSET_OUT_OF_RANGE = "OFFSET_OUT_OF_RANGE"
    STALE_BROKER_EPOCH = "STALE_BROKER_EPOCH"
    INVALID_UPDATE_VERSION = "INVALID_UPDATE_VERSION"
    INVALID_REQUEST = "INVALID_REQUEST"
    INELIGIBLE_REPLICA = "INELIGIBLE_REPLICA"
    NEW_LEADER_ELECTED = "NEW_LEADER_ELECTED"
    NOT_ENOUGH_REPLICAS = "NOT_ENOUGH_REPLICAS"
    NOT_ENOUGH_REPLICAS_AFTER_APPEND = "NOT_ENOUGH_REPLICAS_AFTER_APPEND"
    REQUEST_TIMED_OUT = "REQUEST_TIMED_OUT"
    OUT_OF_ORDER_SEQUENCE_NUMBER = "OUT_OF_ORDER_SEQUENCE_NUMBER"
    UNKNOWN_PRODUCER_ID = "UNKNOWN_PRODUCER_ID"
    INVALID_PRODUCER_EPOCH = "INVALID_PRODUCER_EPOCH"
    INVALID_TXN_STATE = "INVALID_TXN_STATE"
    INVALID_PRODUCER_ID_MAPPING = "INVALID_PRODUCER_ID_MAPPING"
    CONCURRENT_TRANSACTIONS = "CONCURRENT_TRANSACTIONS"
    PRODUCER_FENCED = "PRODUCER_FENCED"
    TRANSACTION_COORDINATOR_FENCED = "TRANSACTION_COORDINATOR_FENCED"
    TRANSACTION_ABORTABLE = "TRANSACTION_ABORTABLE"
    OFFSET_NOT_AVAILABLE = "OFFSET_NOT_AVAILABLE"
    KAFKA_STORAGE_ERROR = "KAFKA_STORAGE_ERROR"
    NETWORK_EXCEPTION = "NETWORK_EXCEPTION"
    NOT_COORDINATOR = "NOT_COORDINATOR"
    GROUP_ID_NOT_FOUND = "GROUP_ID_NOT_FOUND"
    UNKNOWN_SERVER_ERROR = "UNKNOWN_SERVER_ERROR"


class Isolation(Enum):
    """`isolation.level` of a consumer."""

    READ_UNCOMMITTED = "read_uncommitted"
    READ_COMMITTED = "read_committed"


class Acks(Enum):
    """`acks` of a producer."""

    NONE = "0"
    LEADER = "1"
    ALL = "all"


class OffsetKind(Enum):
    """The offset that a ListOffsets request asks for."""

    LATEST = "latest"
    EARLIEST = "earliest"


class Payload:
    """What a message carries."""


@dataclass(frozen=True)
class LeaderAndIsr(Payload):
    """The leader, leader epoch and ISR that the controller has recorded for the partition and announces to brokers.
    `partition_epoch` counts the changes of the record (in ZooKeeper, the version of the node). With KRaft, a broker
    takes the same fields from the metadata log; only with KRaft can `leader` be None: the partition has no leader."""

    leader: int | None
    leader_epoch: int
    isr: frozenset[int]
    partition_epoch: int = 0


@dataclass(frozen=True)
class IsrWrite:
    """A leader's conditional write of the ISR, and whether the controller accepted the write."""

    writer: int
    leader_epoch: int
    isr: frozenset[int]
    is_accepted: bool


@dataclass(frozen=True)
class FetchRequest(Payload):
    """A follower asks for everything from its log end offset on; this offset acknowledges all records below it.

    `last_fetched_epoch`: with truncation on fetch (2.7), the newest leader epoch in the follower's log; None if the log
    has no epoch, and in earlier releases.
    """

    fetch_offset: int
    log_start_offset: int
    current_leader_epoch: int | None
    last_fetched_epoch: int | None = None


@dataclass(frozen=True)
class DivergingEpoch:
    """Tells a follower that its log diverges from the leader's: in the leader's log, `leader_epoch` ends at
    `end_offset`. Fact sheet 2.2."""

    leader_epoch: int
    end_offset: int


@dataclass(frozen=True)
class FetchResponse(Payload):
    """All records from the fetch offset on, or else `diverging_epoch`; in both cases the leader's high watermark."""

    error: Errors
    fetch_offset: int
    records: tuple[Record, ...] = ()
    high_watermark: int = -1
    log_start_offset: int = -1
    diverging_epoch: DivergingEpoch | None = None


@dataclass(frozen=True)
class OffsetsForLeaderEpochRequest(Payload):
    """A follower or a consumer asks where an epoch ends in the leader's log. KIP-101; fenced since KIP-320."""

    leader_epoch: int
    current_leader_epoch: int | None


@dataclass(frozen=True)
class OffsetsForLeaderEpochResponse(Payload):
    """The end offset of an epoch, and since KIP-279 the epoch that ends there; -1 for undefined."""

    error: Errors
    leader_epoch: int = -1
    end_offset: int = -1


@dataclass(frozen=True)
class ListOffsetsRequest(Payload):
    """A follower whose fetch was out of range asks for the leader's log end or start. Kafka: AbstractFetcherThread."""

    kind: OffsetKind
    current_leader_epoch: int | None


@dataclass(frozen=True)
class ListOffsetsResponse(Payload):
    """The offset that the request asked for, the log's end or start (`kind`); -1 with an error."""

    error: Errors
    kind: OffsetKind
    offset: int = -1


@dataclass(frozen=True)
class ProduceRequest(Payload):
    """One batch for a broker to append."""

    send: int
    """The producer's number of this request, repeated in the response."""
    payload: str
    """The value of the first record; the other ones are empty."""
    acks: Acks
    stamp: ProducerStamp | None = None
    """The producer's id, epoch and sequence number. None: the producer is not idempotent."""
    records: int = 1
    """The number of records in the batch."""
    transactional_id: str = ""
    """The transactional.id of the producer; empty outside a transaction."""
    timestamp: int = 0
    """The timestamp that the application gives to the record, in ms."""


@dataclass(frozen=True)
class ProduceResponse(Payload):
    """The answer to a produce request. `offset`: the offset of the batch's first record, -1 if unknown.
    `log_start_offset`: the leader's log start, if the leader refuses the batch's producer stamp; otherwise -1.
    """

    send: int
    error: Errors
    offset: int = -1
    log_start_offset: int = -1


@dataclass(frozen=True)
class WriteTxnMarkersRequest(Payload):
    """The transaction coordinator asks a broker to write a marker. Fact sheet, section 6.2."""

    send: int
    stamp: ProducerStamp
    control: Control
    coordinator_epoch: int = 0


@dataclass(frozen=True)
class DeleteRecordsRequest(Payload):
    """A client asks to delete the records below `before_offset`, by moving the log start up. KIP-107."""

    send: int
    before_offset: int


@dataclass(frozen=True)
class DeleteRecordsResponse(Payload):
    """The outcome of DeleteRecords; `low_watermark` is the smallest log start of live replicas, -1 on an error."""

    send: int
    error: Errors
    low_watermark: int = -1


@dataclass(frozen=True)
class ConsumerFetchRequest(Payload):
    """A consumer reads from its position; the broker answers at once (fetch.max.wait.ms=0).

    `current_leader_epoch` is the leader epoch that the consumer knows, since KIP-320. `most` limits the number of
    records, as fetch.max.bytes does; None: no limit. Every broker has a rack of its own: `rack` is the broker in the
    consumer's rack (client.rack, KIP-392); None: no broker is in the consumer's rack.
    """

    position: int
    isolation: Isolation
    current_leader_epoch: int | None = None
    most: int | None = None
    rack: int | None = None


@dataclass(frozen=True)
class AbortedTransaction:
    """An entry of the transaction index: the first offset of the transaction, and the offset of its ABORT marker."""

    producer_id: int
    first_offset: int
    last_offset: int


@dataclass(frozen=True)
class ConsumerFetchResponse(Payload):
    """The records that the consumer may read at its isolation level; or no records, but the follower from which the
    consumer is to read (KIP-392). Left out: Kafka's response that names a follower also has the leader's offsets."""

    error: Errors
    position: int
    """The position that the consumer named in its request."""
    records: tuple[Record, ...] = ()
    aborted: tuple[AbortedTransaction, ...] = ()
    """The aborted transactions among the records."""
    high_watermark: int = -1
    """The high watermark of the answering broker. The next two offsets are of the same broker."""
    last_stable_offset: int = -1
    log_start_offset: int = -1
    preferred_read_replica: int | None = None
    """The follower from which the consumer is to read; None: this broker."""


@dataclass(frozen=True)
class ConsumerListOffsetsRequest(Payload):
    """A client asks for the first offset that it can read, or for the offset after the last. Fact sheet, section 7."""

    kind: OffsetKind
    isolation: Isolation
    current_leader_epoch: int | None = None


BrokerRequest = FetchRequest | OffsetsForLeaderEpochRequest | ListOffsetsRequest
BrokerResponse = FetchResponse | OffsetsForLeaderEpochResponse | ListOffsetsResponse


@dataclass(frozen=True)
class AlterIsrRequest(Payload):
    """A leader proposes an ISR to replace the ISR that the controller recorded in the given partition epoch.

    `broker_epochs`: the followers in the proposed ISR that have fetched during this leadership, each with the number of
    its process that sent the last fetch (KIP-903).
    """

    leader_epoch: int
    partition_epoch: int
    isr: frozenset[int]
    broker_epochs: tuple[tuple[int, int], ...] = ()

    def broker_epoch_of(self, broker: int) -> int | None:
        """The number of the follower's process that sent the last fetch to the leader; None if there was no fetch."""
        return dict(self.broker_epochs).get(broker)


@dataclass(frozen=True)
class AlterIsrResponse(Payload):
    """The record of the partition after the change; or an error, without a record."""

    error: Errors
    leader_epoch: int = -1
    partition_epoch: int = -1
    isr: frozenset[int] = frozenset()


@dataclass(frozen=True)
class PartitionRegistration:
    """The partition's record in the metadata: its replicas, ISR, leader and epochs. Kafka: PartitionRegistration."""

    replicas: tuple[int, ...]
    """The assigned brokers in order; while a reassignment lasts, with those that it adds and removes."""
    leader: int | None
    """The leader; None if no broker can lead."""
    leader_epoch: int
    isr: frozenset[int]
    partition_epoch: int = 0
    """The number of changes of the record."""
    elr: frozenset[int] = frozenset()
    """The eligible leader replicas (KIP-966)."""
    last_known_leader: int | None = None
    """The broker that led last; None while one leads (KIP-966)."""
    adding: frozenset[int] = frozenset()
    """The replicas that a reassignment adds."""
    removing: frozenset[int] = frozenset()
    """The replicas that a reassignment removes."""

    @property
    def is_reassigned(self) -> bool:
        """Whether a reassignment is in progress. Kafka: PartitionReassignmentReplicas.isReassignmentInProgress."""
        return bool(self.adding or self.removing)


@dataclass(frozen=True)
class BrokerRegistration:
    """A registered process of a broker; `UNREGISTERED`: no process is registered. Kafka: BrokerRegistration."""

    broker_epoch: int
    is_fenced: bool = False
    in_controlled_shutdown: bool = False

    @property
    def is_registered(self) -> bool:
        """Whether a process of the broker is registered."""
        return self != UNREGISTERED

    @property
    def is_active(self) -> bool:
        """Whether the broker may lead, and join an ISR. Kafka: ClusterControlManager.isActive."""
        return not self.is_fenced and not self.in_controlled_shutdown


UNREGISTERED = BrokerRegistration(0, is_fenced=True)


@dataclass(frozen=True)
class MetadataImage(Payload):
    """The metadata up to the record at this offset of the metadata log. A broker that receives this image
    has read everything up to this offset; the broker applies all changes since its former image at once.

    Brokers are in order of their numbers. `min_insync_replicas` is the value of min.insync.replicas that holds for the
    topic. Kafka: MetadataImage, MetadataDelta.
    """

    offset: int
    partition: PartitionRegistration
    brokers: tuple[BrokerRegistration, ...]
    min_insync_replicas: int


@dataclass(frozen=True)
class BrokerHeartbeatRequest(Payload):
    """A broker tells the controller that it is alive, and how far it has read the metadata log."""

    metadata_offset: int
    wants_to_shut_down: bool


@dataclass(frozen=True)
class BrokerHeartbeatResponse(Payload):
    """The answer to a heartbeat: whether the broker may stop now; if not, it continues to send heartbeats."""

    should_shut_down: bool


@dataclass(frozen=True)
class AssignReplicasToDirsRequest(Payload):
    """A broker reports its replica's log directory; the controller has recorded a different directory. KIP-858."""


@dataclass(frozen=True)
class InitProducerIdRequest(Payload):
    """An instance of a producer asks for its id and epoch; since KIP-360 the request names the id and the epoch that
    the instance has already, if any."""

    transactional_id: str
    timeout: int
    producer_id: int = -1
    producer_epoch: int = -1


@dataclass(frozen=True)
class InitProducerIdResponse(Payload):
    """The producer's id and epoch; -1 on an error."""

    error: Errors
    producer_id: int = -1
    producer_epoch: int = -1


@dataclass(frozen=True)
class AddPartitionsToTxnRequest(Payload):
    """A producer, or with TV2 (transactions version 2) a partition's leader, adds a partition to the transaction. With
    `verify_only`, a leader asks if the transaction has the partition (KIP-890). Also stands for AddOffsetsToTxn."""

    transactional_id: str
    producer_id: int
    producer_epoch: int
    partition: str
    verify_only: bool = False


@dataclass(frozen=True)
class AddPartitionsToTxnResponse(Payload):
    """NONE if the transaction is ongoing and has the partition; otherwise the coordinator's error."""

    error: Errors
    partition: str


@dataclass(frozen=True)
class EndTxnRequest(Payload):
    """A producer commits or aborts its transaction."""

    transactional_id: str
    producer_id: int
    producer_epoch: int
    control: Control


@dataclass(frozen=True)
class EndTxnResponse(Payload):
    """The answer to EndTxn, sent once the outcome is decided; with TV2, the producer continues with this id and
    epoch."""

    error: Errors
    producer_id: int = -1
    producer_epoch: int = -1


TransactionRequest = InitProducerIdRequest | AddPartitionsToTxnRequest | EndTxnRequest
TransactionResponse = InitProducerIdResponse | AddPartitionsToTxnResponse | EndTxnResponse

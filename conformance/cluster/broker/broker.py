"""One broker: a machine with a disk, and the process of the broker, which runs, is frozen, or does not run.

The process holds everything that a crash loses; the disk (`Storage`) survives it. Kafka: KafkaServer, LogManager.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from isrcheck.conformance.cluster.broker.fetcher import FetcherManager
from isrcheck.conformance.cluster.broker.kraft import KraftPartition, KraftReplicaManager, MetadataCache
from isrcheck.conformance.cluster.broker.part import Part
from isrcheck.conformance.cluster.broker.partition import AlterIsrManager, Partition, ZkIsrManager
from isrcheck.conformance.cluster.broker.replica_manager import (
    ConsumerRequests,
    DeleteRecordsPurgatory,
    ReplicaManager,
)
from isrcheck.conformance.cluster.configuration.settings import ClusterError, Start
from isrcheck.conformance.cluster.controller.controller import Controller
from isrcheck.conformance.cluster.controller.kraft.quorum_controller import QuorumController
from isrcheck.conformance.cluster.log.log import Log
from isrcheck.conformance.cluster.log.storage import Storage
from isrcheck.conformance.cluster.network.messages import (
    AlterIsrRequest,
    AlterIsrResponse,
    AssignReplicasToDirsRequest,
    BrokerHeartbeatRequest,
    BrokerHeartbeatResponse,
    BrokerRequest,
    ConsumerFetchRequest,
    ConsumerListOffsetsRequest,
    DeleteRecordsRequest,
    FetchRequest,
    FetchResponse,
    LeaderAndIsr,
    ListOffsetsRequest,
    ListOffsetsResponse,
    MetadataImage,
    OffsetsForLeaderEpochRequest,
    OffsetsForLeaderEpochResponse,
    Payload,
    ProduceRequest,
    WriteTxnMarkersRequest,
)
from isrcheck.conformance.cluster.network.network import CONTROLLER, Message, Network


class TimerKind(Enum):
    """The activities of a broker that begin when a timer fires."""

    ISR_SHRINK_CHECK = "isr shrink check"
    HIGH_WATERMARK_CHECKPOINT = "high watermark checkpoint"
    LOG_START_OFFSET_CHECKPOINT = "log start offset checkpoint"
    LOG_FLUSH = "log flush"
    FETCHER_DO_WORK = "fetcher do_work"
    DELAYED_FETCH = "delayed fetch"
    DELAYED_PRODUCE_EXPIRY = "delayed produce expiry"
    HEARTBEAT = "heartbeat"


@dataclass(frozen=True)
class Process:
    """The state of a broker's process: everything in memory, which a crash loses."""

    log: Log
    partition: Partition
    fetchers: FetcherManager
    replica_manager: ReplicaManager
    alter_isr: AlterIsrManager
    delete_records: DeleteRecordsPurgatory
    consumer_requests: ConsumerRequests


ControllerRequest = AlterIsrRequest | BrokerHeartbeatRequest | AssignReplicasToDirsRequest
"""A request of a broker to the controller."""


@dataclass(eq=False)
class Broker(Part):
    """A broker: its disk, and the process that runs on it, if any. A broker's processes have the numbers 1, 2, ..."""

    _number: int
    storage: Storage
    _controller: Controller | QuorumController
    _network: Network
    _start: Start

    def __post_init__(self) -> None:
        self.running: Process | None = None
        """The running process; None if none runs."""
        self.is_frozen = False
        """Whether the broker's process is frozen (SIGSTOP, a long garbage collection)."""
        self.has_stopped_cleanly = False
        """Whether the last process has ended by a controlled shutdown, and its disk still shows this."""
        self._processes = 0

    @property
    def process(self) -> int:
        """The number of the running process, from 1; 0 if none runs."""
        return self._processes if self.running else 0

    def start_up(self) -> None:
        """Start a process from the contents of the disk. Errors: `ClusterError` if a process runs; `StorageError` if
        the disk is damaged."""
        if self.running is not None:
            raise ClusterError(f"broker {self._number} runs already; crash it first")
        log = Log(self.storage, self._switches, self._bug)
        conditions = (self._clock, self._settings, self._switches, self._bug)
        fetchers = FetcherManager(*conditions, self._number, log, self._ask, self.crash)
        alter_isr = AlterIsrManager(self._ask_controller, self._bug)
        replica = (self._number, frozenset(range(self._start.replicas)), log)
        partition: Partition
        manager: ReplicaManager
        if isinstance(self._controller, QuorumController):
            metadata = MetadataCache()
            kraft = KraftPartition(*conditions, *replica, alter_isr, metadata)
            partition, manager = kraft, KraftReplicaManager(*conditions, kraft, fetchers, self._reply, metadata)
        else:
            asks = self._switches.asks_controller
            partition = Partition(
                *conditions, *replica, alter_isr if asks else ZkIsrManager(self._number, self._controller.write_isr)
            )
            manager = ReplicaManager(*conditions, partition, fetchers, self._reply)
        deletes = DeleteRecordsPurgatory(partition, self._reply, self._controller.live_brokers)
        consumers = ConsumerRequests(partition, self._reply, *conditions[1:])
        self.running = Process(log, partition, fetchers, manager, alter_isr, deletes, consumers)
        self._processes += 1

    def stand_at_the_start(self) -> None:
        """Become leader or follower, as the initial state (`Start`) says. Called only at the start of a run."""
        process, start = self._must_run(), self._start
        if isinstance(self._controller, QuorumController):
            self.kraft.apply_metadata(self._controller.image)
        else:
            process.replica_manager.become_leader_or_follower(LeaderAndIsr(start.leader, 0, start.in_sync))
        if process.partition.is_leader:
            others = set(start.assigned) - {self._number}
            process.partition.know_followers(
                {each: start.log_end_offset_of(each) for each in sorted(others)}, start.slow
            )
        elif self._number in start.assigned:
            process.fetchers.start_fetching(start.leader, 0)

    @property
    def kraft(self) -> KraftReplicaManager:
        """The replica manager of the running process, as a `KraftReplicaManager`. Errors: `ClusterError` if no process
        runs, the process is frozen, or the cluster has no KRaft controller."""
        manager = self._must_move().replica_manager
        if not isinstance(manager, KraftReplicaManager):
            raise ClusterError(
                "without a KRaft controller, brokers have no heartbeats or controlled shutdowns; take --protocol 3.3"
            )
        return manager

    def crash(self) -> None:
        """End the process at once. Errors: `ClusterError` if no process runs."""
        self._must_run()
        self.running, self.is_frozen, self.has_stopped_cleanly = None, False, False

    def _shut_down(self) -> None:
        """Shut the process down cleanly: flush the log, checkpoint the high watermark and the log start, and record the
        clean shutdown. Unlike Kafka, this method does not save the producers' state."""
        log = self._must_move().log
        log.flush()
        log.checkpoint_high_watermark()
        log.checkpoint_log_start()
        self.crash()
        self.has_stopped_cleanly = True

    def lose_disk(self) -> None:
        """Replace the disk by an empty one, which records no clean shutdown. Call this only while no process runs."""
        self.storage.lose_disk()
        self.has_stopped_cleanly = False

    def delete_replica(self) -> None:
        """Delete the partition's folder; the checkpointed high watermark stays. Errors: `ClusterError` if a process
        runs."""
        if self.running is not None:
            raise ClusterError(f"broker {self._number} runs; shut it down before the folder of its replica is deleted")
        high_watermark = self.storage.checkpointed_high_watermark
        self.storage.lose_disk()
        self.storage.checkpoint_high_watermark(high_watermark)
        self.has_stopped_cleanly &= not self._switches.DELETED_FOLDER_IS_UNCLEAN

    def report_directory(self) -> None:
        """Send the controller a request that reports the replica's directory, as if the controller had recorded a
        different directory. Errors: `ClusterError` if no process runs, or it is frozen."""
        self._must_move()
        self._ask_controller(AssignReplicasToDirsRequest())

    def freeze(self) -> None:
        """Freeze the process until it is thawed. Errors: `ClusterError` if no process runs, or it is frozen already."""
        self._must_move()
        self.is_frozen = True

    def thaw(self) -> None:
        """The process continues. Errors: `ClusterError` if the process is not frozen."""
        if not self.is_frozen:
            raise ClusterError(f"broker {self._number} is not frozen")
        self.is_frozen = False

    def roll_segment(self) -> None:
        """Roll the segment; save the producers' state. Errors: `ClusterError` if no process runs, or it is frozen."""
        self._must_move().log.save_producers()

    def receive(self, message: Message) -> None:
        """Handle a message that reaches the process. Errors: `ClusterError` if no process runs, or it is frozen."""
        process, payload = self._must_move(), message.payload
        match payload:
            case LeaderAndIsr():
                process.replica_manager.become_leader_or_follower(payload)
                process.delete_records.try_complete()
            case MetadataImage():
                self.kraft.apply_metadata(payload)
                process.delete_records.try_complete()
            case BrokerHeartbeatResponse():
                self.kraft.end_heartbeat(message.in_reply_to)
                if payload.should_shut_down:
                    self._shut_down()
            case FetchRequest():
                process.replica_manager.handle_fetch(message, payload)
                process.delete_records.try_complete()
            case OffsetsForLeaderEpochRequest():
                process.replica_manager.handle_offsets_for_leader_epoch(message, payload)
            case ListOffsetsRequest():
                process.replica_manager.handle_list_offsets(message, payload)
            case ProduceRequest():
                process.replica_manager.handle_produce(message, payload)
            case WriteTxnMarkersRequest():
                process.replica_manager.handle_write_marker(message, payload)
            case DeleteRecordsRequest():
                process.delete_records.handle(message, payload)
            case ConsumerFetchRequest():
                process.consumer_requests.handle_fetch(message, payload)
            case ConsumerListOffsetsRequest():
                process.consumer_requests.handle_list_offsets(message, payload)
            case AlterIsrResponse():
                if message.in_reply_to is not None:
                    process.alter_isr.receive(message.in_reply_to, payload)
                    process.replica_manager.complete_delayed_produces()
            case FetchResponse() | OffsetsForLeaderEpochResponse() | ListOffsetsResponse():
                thread = process.fetchers.threads.get(message.source) if isinstance(message.source, int) else None
                if thread is not None and message.in_reply_to is not None:
                    thread.receive(message.in_reply_to, payload)
            case _:
                raise AssertionError(f"{message} is not for a broker: this is a defect of the cluster")

    def disconnected_from_controller(self, request: int) -> None:
        """Handle the loss of the connection to the controller that carried message number `request`: if the message is
        an AlterIsr request, send it again; if it is a heartbeat, give it up."""
        if self.running is not None:
            self.running.alter_isr.disconnected(request)
            if isinstance(self._controller, QuorumController):
                self.kraft.end_heartbeat(request)

    def disconnected(self, source: int, request: int) -> None:
        """Handle the loss of the connection to broker `source`: give up `request` if a fetcher awaits its response."""
        thread = self.running.fetchers.threads.get(source) if self.running else None
        if thread is not None and thread.outstanding == request:
            thread.disconnected()

    def timers(self) -> tuple[tuple[TimerKind, int | None], ...]:
        """The timers that can fire now, each with its peer: for a fetcher, the broker from which it fetches; for a
        parked fetch, the follower that sent it; for every other timer, None."""
        if self.running is None or self.is_frozen:
            return ()
        with_peers = {TimerKind.FETCHER_DO_WORK, TimerKind.DELAYED_FETCH}
        left_out = with_peers if self._switches.has_kraft else {*with_peers, TimerKind.HEARTBEAT}
        return (
            *((each, None) for each in TimerKind if each not in left_out),
            *((TimerKind.FETCHER_DO_WORK, source) for source in sorted(self.running.fetchers.threads)),
            *((TimerKind.DELAYED_FETCH, each) for each in sorted(self.running.replica_manager.parked_fetches)),
        )

    def fire(self, timer: TimerKind, peer: int | None) -> bool:
        """Fire one timer with its peer, as in `timers`; returns whether it had an effect. Errors: `ClusterError` if no
        process runs, the process is frozen, or the timer is a fetcher's and no fetcher fetches from `peer`."""
        process = self._must_move()
        manager = process.replica_manager
        match timer:
            case TimerKind.ISR_SHRINK_CHECK:
                return bool(manager.shrink_isr())
            case TimerKind.HIGH_WATERMARK_CHECKPOINT:
                process.log.checkpoint_high_watermark()
            case TimerKind.LOG_START_OFFSET_CHECKPOINT:
                process.log.checkpoint_log_start()
            case TimerKind.LOG_FLUSH:
                process.log.flush()
            case TimerKind.DELAYED_PRODUCE_EXPIRY:
                return manager.expire_produces() > 0
            case TimerKind.HEARTBEAT:
                return self.kraft.send_heartbeat(self._ask_controller)
            case TimerKind.DELAYED_FETCH:
                return peer is not None and manager.try_complete_fetch(peer)
            case TimerKind.FETCHER_DO_WORK:
                threads = process.fetchers.threads
                if peer is None or peer not in threads:
                    raise ClusterError(f"broker {self._number} does not fetch from {peer}, only from {sorted(threads)}")
                return threads[peer].do_work()
        return True

    def _must_run(self) -> Process:
        if self.running is None:
            raise ClusterError(f"broker {self._number} does not run; restart it first")
        return self.running

    def _must_move(self) -> Process:
        process = self._must_run()
        if self.is_frozen:
            raise ClusterError(f"broker {self._number} is frozen; thaw it first")
        return process

    def _ask(self, source: int, request: BrokerRequest) -> int:
        return self._network.send(self._number, source, request, source_process=self._processes)

    def _ask_controller(self, request: ControllerRequest) -> int:
        return self._network.send(self._number, CONTROLLER, request, source_process=self._processes)

    def _reply(self, request: Message, payload: Payload) -> None:
        self._network.reply(request, payload, self._processes)

"""The active controller of a KRaft quorum: the sessions of brokers, registrations, and shutdowns.

In:  heartbeats and requests of brokers in the network; registrations, ends of sessions, and an administrator's
     requests.
Out: the metadata log (replication_control.py): a message to every running broker for each record.

A record that the controller writes is committed at once, so a fail-over to another controller loses no record. A broker
may also lead partitions that are not simulated. A broker that leads any partition leaves the ISR when it shuts down,
and stops once the active brokers have read this in the log. Source: fact sheet, sections 4.5 to 4.9; Kafka:
ClusterControlManager, QuorumController, BrokerHeartbeatManager.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from isrcheck.conformance.cluster.configuration.bugs import Bug
from isrcheck.conformance.cluster.configuration.protocol import Switches
from isrcheck.conformance.cluster.configuration.settings import ClusterError, Settings, Start
from isrcheck.conformance.cluster.controller.controller import Election, ProcessOf
from isrcheck.conformance.cluster.controller.kraft.replication_control import MetadataLog, ReplicationControl
from isrcheck.conformance.cluster.network.messages import (
    UNREGISTERED,
    AlterIsrRequest,
    AlterIsrResponse,
    AssignReplicasToDirsRequest,
    BrokerHeartbeatRequest,
    BrokerHeartbeatResponse,
    BrokerRegistration,
    Errors,
    LeaderAndIsr,
    MetadataImage,
    PartitionRegistration,
)
from isrcheck.conformance.cluster.network.network import Clock, Message, Network

NEVER = -1


@dataclass
class BrokerState:
    """What the controller knows of one broker."""

    metadata_offset: int = 0
    """How far the broker has read the metadata log, by its last heartbeat."""
    last_contact: int = 0
    """The time of its last heartbeat, in ms."""
    has_session: bool = True
    """Whether no failure of its heartbeats was noticed."""
    shutdown_offset: int = NEVER
    """The end of the log when its controlled shutdown began; NEVER if it does not shut down."""


class QuorumController:
    """The controller, which decides who leads, and writes the metadata log."""

    def __init__(
        self,
        start: Start,
        network: Network,
        process_of: ProcessOf,
        is_running: Callable[[int], bool],
        clock: Clock,
        settings: Settings,
        switches: Switches,
        bug: Bug | None,
    ) -> None:
        self._brokers = range(start.replicas)
        self._network = network
        self._process_of = process_of
        self._is_running = is_running
        self._clock = clock
        self._settings = settings
        self._switches = switches
        self._states = {number: BrokerState() for number in self._brokers}
        self._lead_others: set[int] = set()
        partition = PartitionRegistration(start.assigned, start.leader, 0, start.in_sync)
        brokers = tuple(BrokerRegistration(1) for _ in self._brokers)
        first = MetadataImage(0, partition, brokers, settings.min_insync_replicas)
        self._log = MetadataLog(first, network, process_of)
        self.replication = ReplicationControl(self._log, settings, switches, bug)

    # What the controller has recorded

    @property
    def log(self) -> tuple[MetadataImage, ...]:
        """The metadata after each record, by offset."""
        return self._log.images

    @property
    def image(self) -> MetadataImage:
        """The metadata after the last record."""
        return self._log.now

    @property
    def shutdown_offsets(self) -> tuple[int, ...]:
        """For each broker: the end of the metadata log when the broker's shutdown began; -1 without a shutdown."""
        return tuple(self._states[each].shutdown_offset for each in self._brokers)

    @property
    def metadata(self) -> LeaderAndIsr:
        """The recorded leader, epoch and ISR; the leader may be dead, or None if no broker can lead."""
        record = self.image.partition
        return LeaderAndIsr(record.leader, record.leader_epoch, record.isr, record.partition_epoch)

    def live_brokers(self) -> frozenset[int]:
        """The brokers that are not fenced."""
        return frozenset(each for each in self._brokers if not self.image.brokers[each].is_fenced)

    # Requests of brokers

    def receive(self, message: Message) -> None:
        """Handle a broker's request: AlterPartition, a heartbeat, or AssignReplicasToDirs. A request from a process
        that is not the broker's registered process changes nothing (STALE_BROKER_EPOCH)."""
        broker, process, request = message.source, message.source_process, message.payload
        assert isinstance(broker, int), f"{message}: this is a defect of the cluster"
        is_known = process == self.image.brokers[broker].broker_epoch
        if isinstance(request, AlterIsrRequest):
            stale = AlterIsrResponse(Errors.STALE_BROKER_EPOCH)
            self._network.reply(message, self.replication.alter_partition(broker, request) if is_known else stale, 0)
        elif isinstance(request, BrokerHeartbeatRequest):
            should_shut_down = is_known and self._take_heartbeat(broker, request)
            self._network.reply(message, BrokerHeartbeatResponse(should_shut_down), 0)
        elif is_known:
            assert isinstance(request, AssignReplicasToDirsRequest), f"{message}: this is a defect of the cluster"
            self.replication.take_directory(broker)

    def _take_heartbeat(self, broker: int, request: BrokerHeartbeatRequest) -> bool:
        """Unfence the broker, or advance its shutdown; return whether it may stop. Kafka: calculateNextBrokerState."""
        registered = self.image.brokers[broker]
        state = self._states[broker]
        state.metadata_offset, state.last_contact, state.has_session = request.metadata_offset, self._clock.now, True
        if registered.is_fenced:
            if not request.wants_to_shut_down and request.metadata_offset >= self._log.registered_at(broker):
                self._log.write_broker(broker, replace(registered, is_fenced=False))
                self.replication.elect_if_leaderless()
            elif request.wants_to_shut_down:
                self._fence(broker)  # once more: this may start an epoch of the last member of the ISR
            return request.wants_to_shut_down
        if not request.wants_to_shut_down:
            return False
        if not registered.in_controlled_shutdown:
            if not self._has_leaderships(broker):
                self._fence(broker)
                return True
            self._log.write_broker(broker, replace(registered, in_controlled_shutdown=True))
            self.replication.remove_from_isr(broker)
            state.shutdown_offset = self.image.offset
            return False
        active = [self._states[each] for each in self._brokers if self.image.brokers[each].is_active]
        may_stop = all(each.metadata_offset >= state.shutdown_offset for each in active)
        if may_stop:
            self._fence(broker)
        return may_stop

    def _has_leaderships(self, broker: int) -> bool:
        """Whether the broker leads any partition. Kafka: BrokersToIsrs.hasLeaderships."""
        return self.image.partition.leader == broker or broker in self._lead_others

    def give_other_leaderships(self, broker: int, *, leads: bool) -> None:
        """Note whether the broker leads partitions that are not simulated; a controlled shutdown moves them first."""
        (self._lead_others.add if leads else self._lead_others.discard)(broker)

    # Life of brokers

    def must_accept(self, broker: int) -> None:
        """Check that a new process of the broker may register. Errors: `ClusterError` while the session of the broker's
        earlier process lasts (DUPLICATE_BROKER_REGISTRATION)."""
        if self.has_session(broker):
            raise ClusterError(
                f"broker {broker}: the session of its earlier process has not ended; end that session first"
            )

    def register(self, broker: int, *, was_clean: bool = False) -> None:
        """Register a new process of a broker; the broker is fenced, and has a new session. With KIP-966, the broker
        leaves ISR and ELR unless it was registered and shut down cleanly (`was_clean`). Otherwise, it leaves only the
        ISR, as if it had been fenced; with RESTART_BEFORE_FENCING (the controller does not notice a quick restart), it
        leaves neither. Kafka: registerBroker. Errors: as for `must_accept`."""
        self.must_accept(broker)
        if self._switches.ELR and not (was_clean and self.image.brokers[broker].is_registered):
            self.replication.distrust(broker)
        elif self.fences_at_registration:
            self.replication.remove_from_isr(broker)
        self._states[broker] = BrokerState(last_contact=self._clock.now)
        self._log.write_broker(broker, BrokerRegistration(self._process_of(broker), is_fenced=True))

    @property
    def fences_at_registration(self) -> bool:
        """Whether a broker that registers again without having been fenced leaves the ISR (KAFKA-18106)."""
        return not self._switches.RESTART_BEFORE_FENCING

    def unregister(self, broker: int) -> None:
        """Remove the registration of a broker that is gone for good, as an administrator asks. Kafka: unregisterBroker.
        Errors: `ClusterError` if the broker is not registered.
        """
        if not self.image.brokers[broker].is_registered:
            raise ClusterError(f"broker {broker} is not registered; name a registered one")
        self.replication.unregister(broker)
        self._end_session(broker)
        self._log.write_broker(broker, UNREGISTERED)

    def has_session(self, broker: int) -> bool:
        """Whether a session of the broker lasts: a heartbeat arrived within the last broker.session.timeout.ms."""
        state = self._states[broker]
        return state.has_session and self._clock.now - state.last_contact <= self._settings.broker_session_timeout_ms

    def end_session(self, broker: int) -> None:
        """Let the session of a broker end, as if no heartbeat had arrived for broker.session.timeout.ms."""
        self._states[broker].has_session = False

    def fence(self, broker: int) -> None:
        """Fence a broker whose session has ended. Kafka: maybeFenceOneStaleBroker. Errors: `ClusterError`
        if the broker is fenced already, or its session lasts.
        """
        if self.image.brokers[broker].is_fenced:
            raise ClusterError(f"broker {broker} is fenced already")
        if self.has_session(broker):
            raise ClusterError(f"broker {broker}: its session has not ended; end it first")
        self._fence(broker)

    def fail_over(self) -> None:
        """Let another controller become active. It starts a new session of every unfenced broker; up to 4.0, also of
        every fenced broker. It does not know the log offsets for which controlled shutdowns wait. Kafka:
        ClusterControlManager.activate.
        """
        for broker, registered in enumerate(self.image.brokers):
            has_session = not registered.is_fenced or self._switches.FAIL_OVER_GIVES_FENCED_SESSIONS
            self._states[broker] = BrokerState(
                last_contact=self._clock.now, has_session=registered.is_registered and has_session
            )

    def _fence(self, broker: int) -> None:
        self.replication.remove_from_isr(broker)
        self._end_session(broker)
        self._log.write_broker(broker, replace(self.image.brokers[broker], is_fenced=True))

    def _end_session(self, broker: int) -> None:
        """Note that a broker's session has ended, and that its controlled shutdown no longer waits for an offset."""
        self._states[broker].has_session, self._states[broker].shutdown_offset = False, NEVER

    # Elections that an administrator, or a driver, asks for

    def elect(self, kind: Election, candidate: int) -> None:
        """Hold an election that `candidate` has to win. A preferred election prefers the first replica; an unclean
        election may take the first active replica; a fail-over fences the leader, and elects the first replica that can
        lead. Errors: `ClusterError` if `candidate` does not win, or if `kind` does not fit the present leader."""
        leader = self.image.partition.leader
        if kind is Election.FAIL_OVER:
            if leader is None or leader == candidate:
                raise ClusterError(
                    f"fail-over to broker {candidate}: the present leader is {leader}; choose another candidate"
                )
            built = self.replication.change(removed=leader)
        elif kind is Election.UNCLEAN and leader is not None and self.replication.may_lead(leader):
            raise ClusterError(f"unclean election: broker {leader} leads and is active; fence it first")
        else:
            built = self.replication.change(election=kind)
        if built is None or built.leader != candidate:
            won = None if built is None else built.leader
            raise ClusterError(f"{kind.value}: broker {candidate} does not win this election; the winner is {won}")
        if kind is Election.FAIL_OVER and leader is not None:
            self._fence(leader)
        else:
            self.replication.write(built)

    def notice_dead(self, broker: int) -> None:
        """End the session of a broker that does not run, and fence the broker. Errors: `ClusterError` if the broker
        runs, or is fenced already."""
        if self._is_running(broker):
            raise ClusterError(f"broker {broker} is alive; crash or freeze it first")
        self.end_session(broker)
        self.fence(broker)

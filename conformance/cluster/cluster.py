"""A cluster with one partition, with all operations that are possible from outside.

In:  operations of a test driver, a scheduler, or a user: deliver, drop, advance time, fire, crash, elect, produce,
     read; with a KRaft controller also fencing, controlled shutdowns, and an administrator's requests.
Out: `observe()`. The same operations always lead to the same state. Clients and brokers communicate only by messages.

The formal model makes the same two simplifications: a fetch response carries all records from the fetch offset to the
log end (unless `Settings` limits them), and a follower has at most one outstanding fetch to a leader. The cluster's own
producers send one record in a batch. Before 2.7, a leader writes the ISR synchronously, as through ZooKeeper.

Connections: a message that is dropped, or that reaches a process other than the intended one, breaks its connection;
the process that awaits a response on this connection notices at once. A crash breaks every connection to the process;
messages that the process had already sent still arrive.
"""

from __future__ import annotations

from pathlib import Path

from isrcheck.conformance.cluster import observe
from isrcheck.conformance.cluster.broker.broker import Broker, TimerKind
from isrcheck.conformance.cluster.clients.clients import Clients, OutsideClients
from isrcheck.conformance.cluster.clients.consumer import Consumer
from isrcheck.conformance.cluster.clients.transactions import Transactions
from isrcheck.conformance.cluster.configuration.bugs import Bug
from isrcheck.conformance.cluster.configuration.protocol import USUAL, Switches, generation
from isrcheck.conformance.cluster.configuration.settings import ClusterError, Settings, Start
from isrcheck.conformance.cluster.controller.controller import Controller, Election
from isrcheck.conformance.cluster.controller.kraft.quorum_controller import QuorumController
from isrcheck.conformance.cluster.log.storage import FileStorage, MemoryStorage, Storage, StorageError, lay_out
from isrcheck.conformance.cluster.network.messages import Acks, Isolation, LeaderAndIsr, MetadataImage
from isrcheck.conformance.cluster.network.network import CONTROLLER, Clock, Message, Network
from isrcheck.conformance.cluster.network.records import Control
from isrcheck.conformance.cluster.observe import BrokerView, ClusterView, ConsumerView

PRODUCER = "producer"
CONSUMER = "consumer"


class Cluster:
    """Brokers 0 to N-1, a controller, clients, and the network between them; `Start` describes their initial state."""

    def __init__(
        self,
        protocol: str | Switches = USUAL,
        start: Start | None = None,
        settings: Settings | None = None,
        bug: str | None = None,
        directory: Path | None = None,
    ) -> None:
        """`protocol`: a generation's name, such as 2.4, or its switches. With `directory`, the logs are files there.
        Errors: `SwitchError` for an unknown generation; `ClusterError` for an unknown bug; `StorageError` if
        `directory` is not empty or cannot be written."""
        switches = generation(protocol) if isinstance(protocol, str) else protocol
        start, settings, known_bug = start or Start(), settings or Settings(), _bug_named(bug)
        self._switches, self._settings, self._assigned = switches, settings, start.assigned
        self._clock = Clock()
        self._network = Network()
        surroundings = (start, self._network, self.process_of, self.is_running)
        self._controller: Controller | QuorumController = (
            QuorumController(*surroundings, self._clock, settings, switches, known_bug)
            if switches.has_kraft
            else Controller(*surroundings, switches, known_bug)
        )
        self._clients = Clients(self._network, settings, self._clock, switches, known_bug)
        first = self._clients.producer(PRODUCER).has_sent(start.log) if settings.idempotent and start.log else None
        self._brokers: dict[int, Broker] = {}
        conditions = (self._clock, settings, switches, known_bug)
        for number in range(start.replicas):
            storage: Storage = MemoryStorage()
            if directory is not None:
                storage = FileStorage(directory / f"broker-{number}", settings.segment_records)
            lay_out(storage, start, number, first)
            self._brokers[number] = Broker(*conditions, number, storage, self._controller, self._network, start)
            self._brokers[number].start_up()
        for number, broker in self._brokers.items():
            broker.stand_at_the_start()
            if number in dict(start.checkpointed):
                broker.storage.checkpoint_high_watermark(dict(start.checkpointed)[number])

    # Observation

    @property
    def now(self) -> int:
        """The time in milliseconds since the start."""
        return self._clock.now

    @property
    def switches(self) -> Switches:
        """The rules of the protocol that the cluster follows."""
        return self._switches

    @property
    def settings(self) -> Settings:
        """The settings with which the cluster began."""
        return self._settings

    @property
    def assigned(self) -> tuple[int, ...]:
        """The replicas with which the cluster began."""
        return self._assigned

    @property
    def brokers(self) -> tuple[int, ...]:
        """The numbers of all brokers."""
        return tuple(self._brokers)

    def observe(self) -> ClusterView:
        """The observed state of the whole cluster. Observing changes nothing."""
        clients = self._clients
        return ClusterView(
            now=self.now,
            brokers=tuple(map(self.observe_broker, self.brokers)),
            network=self.messages(),
            controller=observe.controller_view(self._controller, self.messages()),
            sent=tuple((name, each.sent) for name, each in clients.producers.items()),
            producers=tuple(observe.client_view(observe.ProducerView, each) for each in clients.producers.values()),
            decided=clients.coordinator.decided,
            markers=clients.coordinator.markers,
            deletes=clients.deletes,
            consumers=self.observe_consumers(),
        )

    def observe_broker(self, broker: int) -> BrokerView:
        """The state of one broker: the same as in `observe()`, but no other broker is observed."""
        return observe.observe_broker(broker, self._broker(broker))

    def observe_consumers(self) -> tuple[ConsumerView, ...]:
        """The views of all consumers: the same as in `observe()`."""
        return tuple(observe.client_view(ConsumerView, each) for each in self._clients.consumers.values())

    def leader_known_to(self, broker: int) -> tuple[int | None, int]:
        """The leader that a broker's process knows, or None, and the leader epoch; (None, -1) if no process runs."""
        running = self._broker(broker).running
        return running.replica_manager.known_leader if running else (None, -1)

    def controller_metadata(self) -> LeaderAndIsr:
        """The leader, its epoch and the ISR that the controller has recorded."""
        return self._controller.metadata

    def is_running(self, broker: int) -> bool:
        """Whether a process runs on a broker, and is not frozen."""
        return self.process_of(broker) > 0 and not self._broker(broker).is_frozen

    def process_of(self, broker: int) -> int:
        """The number of the process that runs on a broker, from 1; 0 if none runs."""
        return self._broker(broker).process

    def is_frozen(self, broker: int) -> bool:
        """Whether the process of a broker is frozen."""
        return self._broker(broker).is_frozen

    def readable_by_consumers(self, broker: int) -> tuple[int, int, int] | None:
        """A broker's leader epoch, high watermark and last stable offset; None if no process runs."""
        running = self._broker(broker).running
        if running is None:
            return None
        return (running.partition.leader_epoch, running.log.high_watermark, running.log.last_stable_offset)

    def messages(self) -> tuple[Message, ...]:
        """Every message in flight, in order of sending."""
        return self._network.in_flight

    def timers(self, broker: int) -> tuple[tuple[TimerKind, int | None], ...]:
        """A broker's timers that can fire now, as in `Broker.timers`; empty while the broker is down or frozen."""
        return self._broker(broker).timers()

    # Network and time

    def deliver(self, number: int) -> None:
        """Deliver a message to its destination, which handles it in the same event; drop it if the intended process has
        ended. Errors: `ClusterError` if the message is not in flight, or its destination is frozen; `StorageError` if
        the disk fails."""
        message = self._network.look(number)
        destination = message.destination
        if destination == CONTROLLER:
            self._controller.receive(self._network.take(number))
            return
        if isinstance(destination, str):
            self._clients.receive(self._network.take(number))
            return
        broker = self._broker(destination)
        if broker.is_frozen:
            raise ClusterError(f"message #{number}: broker {destination} is frozen; thaw it, or drop the message")
        if broker.process == 0 or message.destination_process not in (0, broker.process):
            self.drop(number)
            return
        self._network.take(number)
        try:
            broker.receive(message)
        except StorageError:
            broker.crash()
            raise
        finally:
            self._break_connections_if_down(destination)

    def drop(self, number: int) -> None:
        """Lose a message and its connection. Errors: `ClusterError` if the message is not in flight."""
        message = self._network.take(number)
        if message.in_reply_to is None:
            self._disconnect(message.source, message.source_process, message.destination, number)
        else:
            self._disconnect(message.destination, message.destination_process, message.source, message.in_reply_to)

    def advance(self, milliseconds: int) -> None:
        """Advance the time. No timer fires by itself: the driver fires the timers that are due."""
        self._clock.advance(milliseconds)

    def fire(self, broker: int, timer: TimerKind, peer: int | None = None) -> bool:
        """Fire one timer of one broker; returns whether it had an effect.

        `peer`: for `FETCHER_DO_WORK`, the broker to fetch from; for `DELAYED_FETCH`, the follower. Deadlines are
        respected: a fetch without new records completes only when its wait is over, and a follower is removed from the
        ISR only if it lags. Errors: `ClusterError` if the broker is down or frozen, or has no fetcher for `peer`;
        `StorageError` if the disk fails.
        """
        try:
            return self._broker(broker).fire(timer, peer)
        except StorageError:
            self._broker(broker).crash()
            raise
        finally:
            self._break_connections_if_down(broker)

    # Brokers

    def crash(self, broker: int) -> None:
        """End a broker's process; what it wrote to the disk is kept. Errors: `ClusterError` if no process runs."""
        self._broker(broker).crash()
        self._break_connections_if_down(broker)

    def lose_power(self, broker: int, written: int = 0) -> None:
        """End the process by a power loss; only flushed records are kept (the timer `LOG_FLUSH` flushes the log).

        Records below offset `written` are kept as well, as if the operating system had happened to write them.
        """
        self._end(broker)
        self._broker(broker).storage.lose_power(written)

    def lose_disk(self, broker: int) -> None:
        """End the process of a broker, and replace its disk by an empty one."""
        self._end(broker)
        self._broker(broker).lose_disk()

    def restart(self, broker: int) -> None:
        """Start a new process; it registers, and the controller sends it the current metadata. Errors: `ClusterError`
        if a process runs, or if the session of the earlier process has not ended (KRaft); `StorageError` if the
        broker's files are damaged."""
        self._controller.must_accept(broker)
        self._broker(broker).start_up()
        self._controller.register(broker, was_clean=self._broker(broker).has_stopped_cleanly)

    def roll_segment(self, broker: int) -> None:
        """Roll the log segment of a broker; this saves the state of producers, too. Errors: `ClusterError` if the
        broker is down or frozen."""
        self._broker(broker).roll_segment()

    def freeze(self, broker: int) -> None:
        """Freeze a broker's process: it receives no messages and fires no timers. Errors: `ClusterError` if the broker
        is down or frozen."""
        self._broker(broker).freeze()

    def thaw(self, broker: int) -> None:
        """Let a frozen process continue. Errors: `ClusterError` if the process is not frozen."""
        self._broker(broker).thaw()

    # Controller

    def elect(self, kind: Election, candidate: int) -> None:
        """Make the controller hold an election of this kind, with this candidate. Errors: see `Controller.elect`."""
        self._controller.elect(kind, candidate)

    def notice_dead(self, broker: int) -> None:
        """Let the controller remove a dead follower from the ISR. Errors: `ClusterError` if the broker is alive, or if
        the controller cannot remove the broker."""
        self._controller.notice_dead(broker)

    # Clients

    @property
    def coordinator(self) -> Transactions:
        """The transaction coordinator, the decisions on transactions, and the attempts to write markers."""
        return self._clients.coordinator

    @property
    def outside(self) -> OutsideClients:
        """The clients that are not part of the cluster."""
        return self._clients.outside

    def refresh_metadata(self, broker: int, producer: str = PRODUCER) -> None:
        """A producer learns the leader epoch of `broker`, which believes that it leads. Errors: `ClusterError`, only
        with STALE_METADATA_IGNORED, if the producer knows a later leader epoch, or the broker does not run.
        """
        self._clients.producer(producer).learns_of_leader(self.leader_known_to(broker)[1])

    def produce(self, payload: str, broker: int, acks: Acks = Acks.ALL, producer: str = PRODUCER) -> int:
        """A producer sends one record to a broker; returns the request's number. Errors: as for `Producer.send`."""
        self._broker(broker)
        return self._clients.producer(producer).send(payload, broker, acks)

    def resend(self, number: int, broker: int, producer: str = PRODUCER) -> int:
        """A producer resends a request's record; returns the new request's number. Errors: as for `Producer.resend`."""
        self._broker(broker)
        return self._clients.producer(producer).resend(number, broker)

    def disconnect(self, number: int, producer: str = PRODUCER) -> None:
        """Break the connection of a producer's request, so that the producer gets no response."""
        self._clients.producer(producer).gives_up(number)

    def init_producer_id(self, producer: str = PRODUCER) -> None:
        """Start a new instance of a producer, with a higher epoch; the old instance's open transaction is aborted."""
        named = self._clients.producer(producer)
        was_open = named.in_transaction
        named.bump_epoch()
        if was_open:
            self._clients.coordinator.decide(producer, named.stamp, Control.ABORT)

    def begin_transaction(self, producer: str = PRODUCER) -> None:
        """From now on the producer's records are transactional. Errors: as for `Producer.begin_transaction`."""
        self._clients.producer(producer).begin_transaction()

    def end_transaction(self, control: Control, producer: str = PRODUCER) -> None:
        """The coordinator decides to commit or abort the producer's transaction, but writes no marker yet. Errors:
        `ClusterError` if the producer has no open transaction."""
        named = self._clients.producer(producer)
        named.end_transaction()
        self._clients.coordinator.decide(producer, named.stamp, control)

    def write_marker(self, broker: int, producer: str = PRODUCER) -> int:
        """The coordinator asks a broker to write the marker of the producer's last decided transaction; may be
        repeated. Returns the number of the attempt."""
        self._broker(broker)
        return self._clients.coordinator.write_marker(producer, broker)

    def delete_records(self, broker: int, before_offset: int) -> int:
        """Ask a broker to delete records below an offset (-1: the high watermark); returns the request's number."""
        self._broker(broker)
        return self._clients.delete_records(broker, before_offset)

    def check_low_watermark(self, broker: int) -> None:
        """A leader answers the DeleteRecords requests whose offset the low watermark has reached."""
        running = self._broker(broker).running
        if running is not None:
            running.delete_records.try_complete()

    def consume(
        self,
        broker: int,
        consumer: str = CONSUMER,
        isolation: Isolation = Isolation.READ_UNCOMMITTED,
        most: int | None = None,
        rack: int | None = None,
    ) -> int:
        """A consumer asks a broker for at most `most` of the next records; returns the number of the message. `rack`:
        the broker in whose rack the consumer is; None: no rack. Errors: as for `Clients.consumer` and `Consumer.fetch`.
        """
        self._broker(broker)
        return self._clients.consumer(consumer, isolation).fetch(broker, most, rack)

    def expire_preferred_read_replica(self, consumer: str = CONSUMER) -> None:
        """A consumer reads from the leader again, since metadata.max.age.ms has passed. Errors: as for `seek`."""
        self._consumer(consumer).expire_preferred_read_replica()

    def tell_consumer(
        self, broker: int, consumer: str = CONSUMER, isolation: Isolation = Isolation.READ_UNCOMMITTED
    ) -> None:
        """A consumer learns from a broker that this broker leads, and may then ask the broker about offsets."""
        self._clients.consumer(consumer, isolation).learns_of_leader(broker, self.leader_known_to(broker)[1])

    def seek(self, position: int, consumer: str = CONSUMER) -> None:
        """A consumer moves to another position. Errors: `ClusterError` if there is no consumer of that name."""
        self._consumer(consumer).seek(position)

    # A KRaft controller

    @property
    def has_kraft(self) -> bool:
        """Whether the controller is a KRaft quorum."""
        return isinstance(self._controller, QuorumController)

    def metadata_log(self) -> tuple[MetadataImage, ...]:
        """The metadata after each record of the metadata log, by offset. Errors: `ClusterError` without KRaft."""
        return self._quorum().log

    def may_be_fenced(self, broker: int) -> bool:
        """Whether a broker's session has ended, but the broker is not fenced. Errors: `ClusterError` without KRaft."""
        return not self._quorum().has_session(broker) and not self._quorum().image.brokers[broker].is_fenced

    def may_register(self, broker: int) -> bool:
        """Whether a broker can register a new process now without being fenced first: its session has ended, and the
        broker is fenced already or (before KAFKA-18106) need not be. Errors: `ClusterError` without KRaft."""
        quorum = self._quorum()
        is_fenced = quorum.image.brokers[broker].is_fenced
        return not quorum.has_session(broker) and (is_fenced or not quorum.fences_at_registration)

    def end_session(self, broker: int) -> None:
        """End a broker's session, as if its heartbeats did not arrive in time. Errors: `ClusterError` without KRaft."""
        self._broker(broker)
        self._quorum().end_session(broker)

    def fence(self, broker: int) -> None:
        """Fence a broker. Errors: `ClusterError` if the broker's session has not ended, or it is fenced already."""
        self._broker(broker)
        self._quorum().fence(broker)

    def begin_shutdown(self, broker: int, *, leads_others: bool = False) -> None:
        """An operator shuts a broker down: from now on its heartbeats ask for the shutdown. A broker that leads no
        partition stops with the first heartbeat; otherwise its leaderships move first. `leads_others`: the broker also
        leads partitions outside of this cluster. Errors: `ClusterError` if the broker is down or frozen, or without
        KRaft."""
        self._broker(broker).kraft.begin_shutdown()
        self._quorum().give_other_leaderships(broker, leads=leads_others)

    def begin_reassignment(self, replicas: tuple[int, ...]) -> None:
        """An administrator assigns the partition to `replicas`, in this order. Errors: as for
        `ReplicationControl.begin_reassignment`."""
        self._quorum().replication.begin_reassignment(replicas)

    def cancel_reassignment(self) -> None:
        """An administrator cancels the reassignment. Errors: as for `ReplicationControl.cancel_reassignment`."""
        self._quorum().replication.cancel_reassignment()

    def change_min_insync_replicas(self, least: int) -> None:
        """An administrator sets the topic's min.insync.replicas. Errors: `ClusterError` without KRaft."""
        self._quorum().replication.change_min_insync_replicas(least)

    def write_cluster_min_insync_replicas(self) -> None:
        """Set the cluster's min.insync.replicas, which empties the ELR. Errors: `ClusterError` without KRaft."""
        self._quorum().replication.write_cluster_min_insync_replicas()

    def unregister(self, broker: int) -> None:
        """An administrator unregisters a broker. Errors: `ClusterError` if it is not registered, or without KRaft."""
        self._broker(broker)
        self._quorum().unregister(broker)

    def fail_over_controller(self) -> None:
        """Another controller of the quorum becomes active. Errors: `ClusterError` without KRaft."""
        self._quorum().fail_over()

    def delete_replica(self, broker: int) -> None:
        """An operator deletes the folder of a broker's replica. Errors: `ClusterError` if the broker runs."""
        self._broker(broker).delete_replica()

    def report_directory(self, broker: int) -> None:
        """A broker reports the directory of its replica to the controller. Errors: `ClusterError` if the broker is down
        or frozen, or without KRaft."""
        self._quorum()
        self._broker(broker).report_directory()

    def fail_to_apply(self, number: int) -> None:
        """A record of the metadata log reaches a broker, but an exception there, such as too many open files, prevents
        the change of the partition, and nothing repeats the change. Errors: `ClusterError` if the record is not in
        flight, or the broker is down or frozen."""
        message = self._network.take(number)
        assert isinstance(message.payload, MetadataImage)
        self._broker(int(message.destination)).kraft.apply_metadata(message.payload, is_dropped=True)

    def deliver_together(self, late: int, other: int) -> None:
        """Two fetches of one follower reach its leader, which handles them in two threads: the fetch `late` finds that
        the follower may join the ISR; the fetch `other` takes effect before the leader proposes the new ISR. Errors:
        `ClusterError` if one of the fetches is not in flight, the leader is down or frozen, or without KRaft."""
        broker = self._broker(int(self._network.look(late).destination))
        broker.kraft.handle_two_fetches(self._network.take(late), self._network.take(other))

    # Parts

    def _consumer(self, name: str) -> Consumer:
        if name not in self._clients.consumers:
            raise ClusterError(f"there is no consumer {name}; create it with consume")
        return self._clients.consumers[name]

    def _quorum(self) -> QuorumController:
        if not isinstance(self._controller, QuorumController):
            raise ClusterError("this cluster has no KRaft controller; take the protocol 3.3 or newer")
        return self._controller

    def _broker(self, number: int) -> Broker:
        if number not in self._brokers:
            raise ClusterError(f"there is no broker {number}; the brokers are {list(self._brokers)}")
        return self._brokers[number]

    def _end(self, broker: int) -> None:
        if self.process_of(broker):
            self.crash(broker)

    def _disconnect(self, sender: int | str, sender_process: int, receiver: int | str, request: int) -> None:
        """Tell the sender of `request`, if its process still runs, that its connection to the receiver broke."""
        if isinstance(sender, int):
            if self.process_of(sender) != sender_process:
                return
            if isinstance(receiver, int):
                self._brokers[sender].disconnected(receiver, request)
            elif receiver == CONTROLLER:
                self._brokers[sender].disconnected_from_controller(request)
        elif isinstance(sender, str):
            self._clients.disconnected(sender, request)

    def _break_connections_if_down(self, broker: int) -> None:
        """If the broker is down, break the connection of each request to it that has no response in flight."""
        if self.process_of(broker):
            return
        for number, other in self._brokers.items():
            thread = other.running.fetchers.threads.get(broker) if other.running else None
            if thread is not None and thread.outstanding is not None and not self._network.carries(thread.outstanding):
                self._disconnect(number, other.process, broker, thread.outstanding)
        for client, request, receiver in list(self._clients.outstanding()):
            if receiver == broker and not self._network.carries(request):
                self._clients.disconnected(client, request)


def _bug_named(name: str | None) -> Bug | None:
    if name is not None and name.upper() not in Bug.__members__:
        raise ClusterError(f"no bug {name}; the bugs are: {', '.join(each.lower() for each in Bug.__members__)}")
    return None if name is None else Bug[name.upper()]

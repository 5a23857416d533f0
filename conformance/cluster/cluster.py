"""A cluster with one partition, with all operations that are possible from outside.

In:  operations of a test driver, a scheduler, or a user: deliver, drop, advance time, fire, crash, elect, produce,
     read.
Out: `observe()`. All communication inside is by messages; the same operations give the same cluster.

Two simplifications are shared with the formal model: a fetch response carries everything from the fetch offset to the
log end (unless `Settings` limits it); and a fetch is between one follower and one leader, at most one outstanding per
pair. A batch holds one record. Before 2.7 the ISR is written synchronously, as through ZooKeeper.

Connections: a message that is dropped, or that reaches a process other than the intended one, breaks its connection,
and the process that awaits a response on it notices at once. A crash breaks every connection to the process; messages
that it had already sent still arrive.
"""

from __future__ import annotations

from pathlib import Path

from isrcheck.conformance.cluster import observe
from isrcheck.conformance.cluster.broker.broker import Broker
from isrcheck.conformance.cluster.broker.timers import TimerKind
from isrcheck.conformance.cluster.client_operations import PRODUCER, ClientOperations
from isrcheck.conformance.cluster.clients.clients import Clients
from isrcheck.conformance.cluster.configuration.bugs import Bug
from isrcheck.conformance.cluster.configuration.generations import USUAL, generation
from isrcheck.conformance.cluster.configuration.settings import ClusterError, Settings, Start
from isrcheck.conformance.cluster.configuration.switches import Switches
from isrcheck.conformance.cluster.controller.controller import Controller
from isrcheck.conformance.cluster.controller.election import Election
from isrcheck.conformance.cluster.controller.kraft.quorum_controller import QuorumController
from isrcheck.conformance.cluster.kraft_operations import KraftOperations
from isrcheck.conformance.cluster.log.storage import MemoryStorage, Storage, StorageError, lay_out
from isrcheck.conformance.cluster.log.storage_files import FileStorage
from isrcheck.conformance.cluster.network.clock import Clock
from isrcheck.conformance.cluster.network.messages import LeaderAndIsr
from isrcheck.conformance.cluster.network.network import CONTROLLER, Message, Network
from isrcheck.conformance.cluster.views import BrokerView, ClusterView, ConsumerView


class Cluster(ClientOperations, KraftOperations):
    """Brokers 0 to N-1, a controller, clients, and the network between them, from a stable start (`Start`)."""

    def __init__(
        self,
        protocol: str | Switches = USUAL,
        start: Start | None = None,
        settings: Settings | None = None,
        bug: str | None = None,
        directory: Path | None = None,
    ) -> None:
        """`protocol` is the name of a generation, or its switches. With a directory, logs are files in it.

        Errors: `SwitchError`, `ClusterError` for unknown names; `StorageError` for the directory.
        """
        switches = generation(protocol) if isinstance(protocol, str) else protocol
        start, settings, known_bug = start or Start(), settings or Settings(), _bug_named(bug)
        self._clock = Clock()
        self._network = Network()
        asked = (start, self._network, self._process_of, self._is_running)
        self._controller: Controller | QuorumController = (
            QuorumController(*asked, self._clock, settings, switches, known_bug)
            if switches.has_kraft
            else Controller(*asked, switches, known_bug)
        )
        self._clients = Clients(self._network, settings, self._clock, switches, known_bug)
        first = self._clients.first_producer(PRODUCER, start.log) if settings.idempotent and start.log else None
        self._brokers: dict[int, Broker] = {}
        given = (self._controller, self._network, self._clock, start, settings, switches, known_bug)
        for number in range(start.replicas):
            storage: Storage = MemoryStorage()
            if directory is not None:
                storage = FileStorage(directory / f"broker-{number}", settings.segment_records)
            lay_out(storage, start, number, first)
            self._brokers[number] = Broker(number, storage, *given)
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
    def brokers(self) -> tuple[int, ...]:
        """The numbers of all brokers."""
        return tuple(self._brokers)

    def observe(self) -> ClusterView:
        """The state of everything. Changes nothing."""
        clients = self._clients
        parts = (self._brokers, self._network, self._controller, clients.producers, clients.consumers)
        return observe.observe(self.now, *parts, clients.coordinator, clients.deletes)

    def observe_broker(self, broker: int) -> BrokerView:
        """The state of one broker: the same as in `observe()`, but no other broker is observed."""
        return observe.observe_broker(broker, self._broker(broker))

    def observe_consumers(self) -> tuple[ConsumerView, ...]:
        """The views of all consumers: the same as in `observe()`."""
        return observe.consumer_views(self._clients.consumers)

    def leader_known_to(self, broker: int) -> tuple[int | None, int]:
        """The leader that a broker's process knows, and its epoch; (None, -1) if it knows none, or none runs."""
        running = self._broker(broker).running
        return running.known_leader if running else (None, -1)

    def controller_metadata(self) -> LeaderAndIsr:
        """The leader, its epoch and the ISR that the controller has recorded."""
        return self._controller.metadata

    def is_running(self, broker: int) -> bool:
        """Whether a process runs on a broker, and is not frozen."""
        return self._is_running(broker)

    def process_of(self, broker: int) -> int:
        """The number of the process that runs on a broker, from 1; 0 if none runs."""
        return self._process_of(broker)

    def is_frozen(self, broker: int) -> bool:
        """Whether the process of a broker is frozen."""
        return self._broker(broker).is_frozen

    def readable_by_consumers(self, broker: int) -> tuple[int, int, int] | None:
        """What consumers of a broker depend on: its leader epoch, high watermark and last stable offset; None if no
        process runs.
        """
        running = self._broker(broker).running
        if running is None:
            return None
        return (running.partition.leader_epoch, running.log.high_watermark, running.log.last_stable_offset)

    def messages(self) -> tuple[Message, ...]:
        """Every message in flight, in order of sending."""
        return self._network.in_flight

    def timers(self, broker: int) -> tuple[tuple[TimerKind, int | None], ...]:
        """The timers of a broker that can be fired now, each with its peer; none while the broker is down or frozen."""
        return self._broker(broker).timers()

    # Network and time

    def deliver(self, number: int) -> None:
        """Deliver a message to its destination, which handles it in the same event.

        Errors: `ClusterError` if it is not in flight, or its destination is frozen; `StorageError` if the disk fails.
        """
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
        """Lose a message and its connection. Errors: `ClusterError` if it is not in flight."""
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

        `peer` is the source for `FETCHER_DO_WORK`, the follower for `DELAYED_FETCH`. Deadlines are respected: a fetch
        without new records completes only when its wait is over, and a follower is removed from the ISR only if it
        lags. Errors: `ClusterError` if the broker is down or frozen, or has no such fetcher; `StorageError`.
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
        """End the process; everything that it wrote to the disk is kept. Errors: `ClusterError` if none runs."""
        self._broker(broker).crash()
        self._break_connections_if_down(broker)

    def lose_power(self, broker: int, written: int = 0) -> None:
        """End the process by a power loss; only flushed records are kept (fire `LOG_FLUSH` before).

        Records below `written` are kept as well: the operating system happened to write them to the disk.
        """
        self._end(broker)
        self._broker(broker).storage.lose_power(written)

    def lose_disk(self, broker: int) -> None:
        """End the process, and replace its disk by an empty one."""
        self._end(broker)
        self._broker(broker).lose_disk()

    def restart(self, broker: int) -> None:
        """Start a new process; it registers, and the controller sends it the current metadata.

        Errors: `ClusterError` if one runs, or if the session of the process before lasts (KRaft); `StorageError` if its
        files are damaged.
        """
        self._controller.must_accept(broker)
        self._broker(broker).start_up()
        self._controller.register(broker, was_clean=self._broker(broker).has_stopped_cleanly)

    def roll_segment(self, broker: int) -> None:
        """The log of a broker rolls its segment, which saves the state of producers. Errors: `ClusterError`."""
        self._broker(broker).roll_segment()

    def freeze(self, broker: int) -> None:
        """Freeze the process: it receives no messages and fires no timers. Errors: `ClusterError`."""
        self._broker(broker).freeze()

    def thaw(self, broker: int) -> None:
        """Let a frozen process continue. Errors: `ClusterError` if it is not frozen."""
        self._broker(broker).thaw()

    # Controller

    def elect(self, kind: Election, candidate: int) -> None:
        """Make the controller hold an election of this kind, with this candidate. Errors: see `Controller.elect`."""
        self._controller.elect(kind, candidate)

    def notice_dead(self, broker: int) -> None:
        """Make the controller remove a dead follower from the ISR. Errors: `ClusterError`."""
        self._controller.notice_dead(broker)

    def _broker(self, number: int) -> Broker:
        if number not in self._brokers:
            raise ClusterError(f"there is no broker {number}; the brokers are {list(self._brokers)}")
        return self._brokers[number]

    def _process_of(self, broker: int) -> int:
        return self._broker(broker).process

    def _is_running(self, broker: int) -> bool:
        return self._process_of(broker) > 0 and not self._broker(broker).is_frozen

    def _end(self, broker: int) -> None:
        if self._process_of(broker):
            self.crash(broker)

    def _disconnect(self, asker: int | str, asker_process: int, asked: int | str, request: int) -> None:
        """The process that awaits a response learns that its connection broke."""
        if isinstance(asker, int):
            if self._process_of(asker) != asker_process:
                return
            if isinstance(asked, int):
                self._brokers[asker].disconnected(asked, request)
            elif asked == CONTROLLER:
                self._brokers[asker].disconnected_from_controller(request)
        elif isinstance(asker, str):
            self._clients.disconnected(asker, request)

    def _break_connections_if_down(self, broker: int) -> None:
        """If the broker is down, break the connection of each request to it that has no response in flight."""
        if self._process_of(broker):
            return
        for number, other in self._brokers.items():
            thread = other.running.fetchers.threads.get(broker) if other.running else None
            if thread is not None and thread.outstanding is not None and not self._network.carries(thread.outstanding):
                self._disconnect(number, other.process, broker, thread.outstanding)
        for client, request, asked in list(self._clients.outstanding()):
            if asked == broker and not self._network.carries(request):
                self._clients.disconnected(client, request)


def _bug_named(name: str | None) -> Bug | None:
    """The bug with this name, such as `hw_off_by_one`. Errors: `ClusterError` for an unknown name."""
    if name is not None and name.upper() not in Bug.__members__:
        raise ClusterError(f"no bug {name}; the bugs are: {', '.join(each.lower() for each in Bug.__members__)}")
    return None if name is None else Bug[name.upper()]

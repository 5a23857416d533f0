"""A cluster that keeps one partition: all that the outside world may do to it, and nothing else.

In:  acts of a test driver, a scheduler, or a person: deliver, drop, let time pass, fire, crash, elect, produce, read.
Out: `observe()`. Everything is a message in between; the same acts give the same cluster.

Two simplifications, shared with the formal model: a fetch response carries everything from the fetch offset to the log
end (no size limits); and a fetch is between one follower and one leader, at most one outstanding per pair. A batch
holds one record. The write of the ISR is synchronous, as through ZooKeeper.

What a connection does: a message that is dropped, or that reaches a process other than the one it was meant for, breaks
the connection, and who waits for an answer on it notices at once. A crash breaks every connection to the process; what
it had already sent still arrives.
"""

from __future__ import annotations

from pathlib import Path

from isrcheck.conformance.cluster.broker.broker import Broker, TimerKind
from isrcheck.conformance.cluster.clients.clients import Clients
from isrcheck.conformance.cluster.configuration.bugs import bug_named
from isrcheck.conformance.cluster.configuration.settings import ClusterError, Settings, Start
from isrcheck.conformance.cluster.configuration.switches import Switches, generation
from isrcheck.conformance.cluster.controller.controller import Controller, Election
from isrcheck.conformance.cluster.log.storage import MemoryStorage, Storage, StorageError, lay_out
from isrcheck.conformance.cluster.log.storage_files import FileStorage
from isrcheck.conformance.cluster.network.clock import Clock
from isrcheck.conformance.cluster.network.messages import Acks, Isolation
from isrcheck.conformance.cluster.network.network import Message, Network
from isrcheck.conformance.cluster.network.records import Control
from isrcheck.conformance.cluster.observe import (
    BrokerView,
    ClusterView,
    ConsumerView,
    consumer_views,
    observe,
    observe_broker,
)

PRODUCER = "producer"
CONSUMER = "consumer"


class Cluster:
    """Brokers 0 to N-1, a controller, clients, and the network between them, from a stable start (`Start`)."""

    def __init__(
        self,
        protocol: str | Switches = "2.1",
        start: Start | None = None,
        settings: Settings | None = None,
        bug: str | None = None,
        directory: Path | None = None,
    ) -> None:
        """A protocol by the name of its generation, or by its switches. With a directory, logs are files in it.

        Errors: `SwitchError`, `ClusterError` for names that do not exist; `StorageError` for the directory.
        """
        switches = generation(protocol) if isinstance(protocol, str) else protocol
        start, settings, known_bug = start or Start(), settings or Settings(), bug_named(bug)
        self._clock = Clock()
        self._network = Network()
        self._controller = Controller(start, self._network, self._process_of, self._is_running, known_bug)
        self._clients = Clients(self._network, settings)
        self._brokers: dict[int, Broker] = {}
        given = (self._controller, self._network, self._clock, start, settings, switches, known_bug)
        for number in range(start.replicas):
            storage: Storage = MemoryStorage()
            if directory is not None:
                storage = FileStorage(directory / f"broker-{number}", settings.segment_records)
            lay_out(storage, start, number)
            self._brokers[number] = Broker(number, storage, *given)
            self._brokers[number].start_up()
        for number, broker in self._brokers.items():
            broker.stand_at_the_start()
            if number in dict(start.checkpointed):
                broker.storage.checkpoint_high_watermark(dict(start.checkpointed)[number])

    # What can be seen

    @property
    def now(self) -> int:
        """The time in milliseconds since the start."""
        return self._clock.now

    @property
    def brokers(self) -> tuple[int, ...]:
        """The numbers of all brokers."""
        return tuple(self._brokers)

    def observe(self) -> ClusterView:
        """How everything stands. Changes nothing."""
        clients = self._clients
        parts = (self._brokers, self._network, self._controller, clients.producers, clients.consumers)
        return observe(self.now, *parts, clients.coordinator, clients.deletes)

    def observe_broker(self, broker: int) -> BrokerView:
        """How one broker stands: the same as in `observe()`, without the work for all the others."""
        return observe_broker(broker, self._broker(broker))

    def observe_consumers(self) -> tuple[ConsumerView, ...]:
        """What each consumer has read: the same as in `observe()`."""
        return consumer_views(self._clients.consumers)

    def messages(self) -> tuple[Message, ...]:
        """Every message in flight, in the order of sending."""
        return self._network.in_flight

    def timers(self, broker: int) -> tuple[tuple[TimerKind, int | None], ...]:
        """The timers of a broker that could be fired now, each with its peer; none while it is down or frozen."""
        return self._broker(broker).timers()

    # Network and time

    def deliver(self, number: int) -> None:
        """A message reaches its destination, and is handled in the same event.

        Errors: `ClusterError` if it is not in flight, or its destination is frozen; `StorageError`: the broker halts.
        """
        message = self._network.look(number)
        destination = message.destination
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
        """A message is lost with its connection. Errors: `ClusterError` if it is not in flight."""
        message = self._network.take(number)
        if message.in_reply_to is None:
            self._disconnect(message.source, message.source_process, message.destination, number)
        else:
            self._disconnect(message.destination, message.destination_process, message.source, message.in_reply_to)

    def advance(self, milliseconds: int) -> None:
        """Lets time pass. Nothing happens by itself: timers that are due are fired by whoever drives the cluster."""
        self._clock.advance(milliseconds)

    def fire(self, broker: int, timer: TimerKind, peer: int | None = None) -> bool:
        """Fires one timer of one broker; whether anything came of it.

        `peer` is the source for `FETCHER_DO_WORK`, the follower for `DELAYED_FETCH`. Deadlines are honoured: a fetch
        without news completes only when its wait is over, a follower is shrunk only when it lags.
        Errors: `ClusterError` if the broker is down or frozen, or has no such fetcher; `StorageError`: it halts.
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
        """The process ends; what it wrote is kept. Errors: `ClusterError` if none runs."""
        self._broker(broker).crash()
        self._break_connections_if_down(broker)

    def lose_power(self, broker: int, written: int = 0) -> None:
        """The machine loses power; of the records, those that were flushed are kept (fire `LOG_FLUSH` before).

        So are those below `written`, which the operating system happened to have put to the disk by itself.
        """
        self._end(broker)
        self._broker(broker).storage.lose_power(written)

    def lose_disk(self, broker: int) -> None:
        """The machine comes back with an empty disk."""
        self._end(broker)
        self._broker(broker).storage.lose_disk()

    def restart(self, broker: int) -> None:
        """A new process; it registers, and the controller sends it the current metadata.

        Errors: `ClusterError` if one runs; `StorageError` if its files are damaged.
        """
        self._broker(broker).start_up()
        self._controller.register(broker)

    def freeze(self, broker: int) -> None:
        """The process stands still: nothing is delivered to it, no timer of it fires. Errors: `ClusterError`."""
        self._broker(broker).freeze()

    def thaw(self, broker: int) -> None:
        """The process goes on. Errors: `ClusterError` if it does not stand still."""
        self._broker(broker).thaw()

    # Controller

    def elect(self, kind: Election, candidate: int) -> None:
        """The controller elects a named candidate and announces it. Errors: `ClusterError`; see `Controller.elect`."""
        self._controller.elect(kind, candidate)

    def notice_dead(self, broker: int) -> None:
        """The controller removes a follower that does not run from the ISR. Errors: `ClusterError`."""
        self._controller.notice_dead(broker)

    # Clients

    def produce(self, payload: str, broker: int, acks: Acks = Acks.ALL, producer: str = PRODUCER) -> int:
        """A producer sends one record to a broker; the number of the request. Errors: `ClusterError`."""
        self._broker(broker)
        return self._clients.producer(producer).send(payload, broker, acks)

    def resend(self, number: int, broker: int, producer: str = PRODUCER) -> int:
        """A producer retries one of its requests; the number of the new request. Errors: `ClusterError`."""
        self._broker(broker)
        return self._clients.producer(producer).resend(number, broker)

    def disconnect(self, number: int, producer: str = PRODUCER) -> None:
        """The connection on which a request of a producer is in flight breaks: it will hear of no answer."""
        self._clients.producer(producer).gives_up(number)

    def init_producer_id(self, producer: str = PRODUCER) -> None:
        """A new instance of a producer, with its epoch raised; an open transaction of the old one is aborted."""
        named = self._clients.producer(producer)
        was_open = named.in_transaction
        named.bump_epoch()
        if was_open:
            self._clients.coordinator.decide(producer, named.stamp, Control.ABORT)

    def begin_transaction(self, producer: str = PRODUCER) -> None:
        """What the producer sends from now on is transactional. Errors: `ClusterError`."""
        self._clients.producer(producer).begin_transaction()

    def end_transaction(self, control: Control, producer: str = PRODUCER) -> None:
        """The coordinator decides: commit or abort. No marker is written by this. Errors: `ClusterError`."""
        named = self._clients.producer(producer)
        named.end_transaction()
        self._clients.coordinator.decide(producer, named.stamp, control)

    def write_marker(self, broker: int, producer: str = PRODUCER) -> int:
        """The coordinator sends the decision to a broker, again if need be; the number of the attempt."""
        self._broker(broker)
        return self._clients.coordinator.write_marker(producer, broker)

    def delete_records(self, broker: int, before_offset: int) -> int:
        """An administrator asks a broker to delete below an offset (-1: the high watermark); the request's number."""
        self._broker(broker)
        return self._clients.delete_records(broker, before_offset)

    def consume(self, broker: int, consumer: str = CONSUMER, isolation: Isolation = Isolation.READ_UNCOMMITTED) -> int:
        """A consumer asks a broker for what comes next; the number of the message. Errors: `ClusterError`."""
        self._broker(broker)
        return self._clients.consumer(consumer, isolation).fetch(broker)

    def seek(self, position: int, consumer: str = CONSUMER) -> None:
        """A consumer goes to another position. Errors: `ClusterError` if there is none of that name."""
        if consumer not in self._clients.consumers:
            raise ClusterError(f"no consumer {consumer}; let it consume first")
        self._clients.consumers[consumer].seek(position)

    def _broker(self, number: int) -> Broker:
        if number not in self._brokers:
            raise ClusterError(f"no broker {number}; there are {list(self._brokers)}")
        return self._brokers[number]

    def _process_of(self, broker: int) -> int:
        return self._broker(broker).process

    def _is_running(self, broker: int) -> bool:
        return self._process_of(broker) > 0 and not self._broker(broker).is_frozen

    def _end(self, broker: int) -> None:
        if self._process_of(broker):
            self.crash(broker)

    def _disconnect(self, asker: int | str, asker_process: int, asked: int | str, request: int) -> None:
        """Who waits for an answer to a request learns that its connection broke."""
        if isinstance(asker, int) and isinstance(asked, int) and self._process_of(asker) == asker_process:
            self._brokers[asker].disconnected(asked, request)
        elif isinstance(asker, str) and asker in self._clients.producers:
            self._clients.producers[asker].disconnected(request)

    def _break_connections_if_down(self, broker: int) -> None:
        """A process that ended answers nothing more: whoever waits for it, and has nothing under way, notices."""
        if self._process_of(broker):
            return
        for number, other in self._brokers.items():
            thread = other.running.fetchers.threads.get(broker) if other.running else None
            if thread is not None and thread.outstanding is not None and not self._network.carries(thread.outstanding):
                self._disconnect(number, other.process, broker, thread.outstanding)
        for producer in self._clients.producers.values():
            for sent in producer.sent:
                if sent.broker == broker and sent.is_in_flight and not self._network.carries(sent.request):
                    producer.disconnected(sent.request)

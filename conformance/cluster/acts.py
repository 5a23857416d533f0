"""Functions that drive a cluster: fixed sequences of calls, and an administrator's operations, drawn at random.

In:  a `Cluster`, used through its public methods only; a source of randomness.
Out: the changed cluster; for a drawn operation its name and arguments, or None if the cluster refuses the operation.

Some functions make several calls, which together are one step of the formal model: for "the leader handles a fetch", a
timer of the follower fires, and its request is delivered. The operations of administrators need a KRaft controller.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random

from isrcheck.conformance.cluster.broker.broker import TimerKind
from isrcheck.conformance.cluster.broker.fetcher import Mode
from isrcheck.conformance.cluster.cluster import CONSUMER, PRODUCER, Cluster
from isrcheck.conformance.cluster.configuration.settings import ClusterError
from isrcheck.conformance.cluster.network.messages import (
    Acks,
    AlterIsrRequest,
    AlterIsrResponse,
    Isolation,
    LeaderAndIsr,
    MetadataImage,
    ProduceRequest,
)
from isrcheck.conformance.cluster.network.network import Message
from isrcheck.conformance.cluster.observe import BrokerView


@dataclass(frozen=True)
class Act:
    """An operation on the cluster: its time (ms), its name, and its arguments."""

    at: int
    name: str
    arguments: tuple[object, ...]

    def __str__(self) -> str:
        return " ".join([f"{self.at:>9}", self.name, *map(str, self.arguments)])


def view_of(cluster: Cluster, broker: int) -> BrokerView:
    """The observed state of one broker, as in `Cluster.observe()`."""
    return cluster.observe_broker(broker)


def payloads(cluster: Cluster, broker: int) -> tuple[str, ...]:
    """The payloads of the records in a broker's log, in the order of the log."""
    return tuple(each.payload for each in view_of(cluster, broker).log)


def response_in_flight(cluster: Cluster, follower: int, leader: int) -> Message | None:
    """The response in flight from the leader to the follower's outstanding request; None if none is in flight."""
    for fetcher in view_of(cluster, follower).fetchers:
        if fetcher.source == leader:
            for message in cluster.messages():
                if message.in_reply_to is not None and message.in_reply_to == fetcher.outstanding:
                    return message
    return None


def ask(cluster: Cluster, follower: int, leader: int) -> Message | None:
    """A follower sends its next request, and the leader handles the request. Returns the response; None if the request
    is a fetch that the leader parks, to answer it when there are records. Errors: `ClusterError` if the follower's
    fetcher awaits a response, is in a back-off, or does not have the partition."""
    cluster.fire(follower, TimerKind.FETCHER_DO_WORK, leader)
    for fetcher in view_of(cluster, follower).fetchers:
        if fetcher.source == leader and fetcher.outstanding in {each.number for each in cluster.messages()}:
            cluster.deliver(fetcher.outstanding)
            return response_in_flight(cluster, follower, leader)
    raise ClusterError(
        f"broker {follower} can send no fetch to broker {leader}; its fetchers: {view_of(cluster, follower).fetchers}"
    )


def apply(cluster: Cluster, follower: int, leader: int) -> None:
    """The leader's response in flight reaches the follower. Errors: `ClusterError` if no such response is in flight."""
    response = response_in_flight(cluster, follower, leader)
    if response is None:
        raise ClusterError(f"no answer of broker {leader} to broker {follower} is in flight")
    cluster.deliver(response.number)


def fetch(cluster: Cluster, follower: int, leader: int) -> None:
    """The leader handles a follower's fetch, and the follower applies the response, unless the fetch is parked."""
    if ask(cluster, follower, leader) is not None:
        apply(cluster, follower, leader)


def complete_parked_fetch(cluster: Cluster, leader: int, follower: int) -> None:
    """Let the leader answer the follower's parked fetch: at once if there are records, otherwise after advancing the
    time to the fetch's deadline. Errors: `ClusterError` if the follower has no parked fetch."""
    if not cluster.fire(leader, TimerKind.DELAYED_FETCH, follower):
        parked = view_of(cluster, leader).leadership
        deadlines = [deadline for each, _, deadline in (parked.parked_fetches if parked else ()) if each == follower]
        if not deadlines:
            raise ClusterError(f"broker {leader} has no parked fetch of broker {follower}")
        cluster.advance(max(0, deadlines[0] - cluster.now))
        cluster.fire(leader, TimerKind.DELAYED_FETCH, follower)


def reconcile(cluster: Cluster, follower: int) -> None:
    """Let a follower ask its leader where their logs diverge, and truncate its log, until the follower can fetch
    records. Errors: `ClusterError` if the leader refuses a request, or if the follower still truncates after E + 2
    rounds, where E is the number of leader epochs in its log (KAFKA-10706)."""
    for _ in range(len(view_of(cluster, follower).epoch_entries) + 2):
        fetcher = next(each for each in view_of(cluster, follower).fetchers if each.mode is not None)
        if fetcher.mode is not Mode.TRUNCATING:
            return
        before = len(cluster.messages())
        cluster.fire(follower, TimerKind.FETCHER_DO_WORK, fetcher.source)
        if len(cluster.messages()) > before:
            cluster.deliver(cluster.messages()[-1].number)
            apply(cluster, follower, fetcher.source)
    if view_of(cluster, follower).is_truncating:
        raise ClusterError(
            f"broker {follower} goes on truncating; its leader epochs are {view_of(cluster, follower).epoch_entries}"
        )


def learn(cluster: Cluster, *brokers: int) -> None:
    """Deliver to each of the given brokers the newest metadata message in flight to it, and drop older ones. With
    KRaft, a broker reads the metadata log to its end in this one step."""
    for broker in brokers:
        announcements = [each for each in cluster.messages() if each.destination == broker and _is_metadata(each)]
        for message in announcements[:-1]:
            cluster.drop(message.number)
        for message in announcements[-1:]:
            cluster.deliver(message.number)


def beat(cluster: Cluster, broker: int) -> None:
    """A heartbeat of a broker reaches the controller, and the answer reaches the broker."""
    cluster.fire(broker, TimerKind.HEARTBEAT)
    heartbeat = cluster.messages()[-1].number
    cluster.deliver(heartbeat)
    cluster.deliver(next(each.number for each in cluster.messages() if each.in_reply_to == heartbeat))


def restart(cluster: Cluster, broker: int) -> None:
    """A broker restarts and receives the current metadata."""
    cluster.restart(broker)
    learn(cluster, broker)


def bounce(cluster: Cluster, broker: int) -> None:
    """A broker crashes, restarts at once, and receives the current metadata."""
    cluster.crash(broker)
    restart(cluster, broker)


def append(cluster: Cluster, payload: str, leader: int, acks: Acks = Acks.ALL, producer: str = PRODUCER) -> int:
    """Let the producer send a record; deliver all produce requests in flight. Returns the new request's number."""
    send = cluster.produce(payload, leader, acks, producer)
    deliver_requests(cluster)
    return send


def deliver_requests(cluster: Cluster) -> None:
    """Deliver every produce request in flight."""
    for message in cluster.messages():
        if isinstance(message.payload, ProduceRequest):
            cluster.deliver(message.number)


def deliver_answers(cluster: Cluster, held: tuple[type, ...] = ()) -> None:
    """Deliver every response in flight to a client, except responses whose payload has one of the types `held`."""
    for message in cluster.messages():
        if isinstance(message.destination, str) and not isinstance(message.payload, (AlterIsrRequest, *held)):
            cluster.deliver(message.number)


def acknowledged(cluster: Cluster) -> tuple[str, ...]:
    """Deliver all responses in flight to clients; return the payloads of all records acknowledged so far."""
    deliver_answers(cluster)
    return tuple(each.payload for each in cluster.observe().acknowledged)


def read(
    cluster: Cluster, broker: int, consumer: str = CONSUMER, isolation: Isolation = Isolation.READ_UNCOMMITTED
) -> tuple[str, ...]:
    """Let a consumer fetch from a broker; return all payloads that the consumer has read so far."""
    cluster.deliver(cluster.consume(broker, consumer, isolation))
    cluster.deliver(cluster.messages()[-1].number)
    (view,) = [each for each in cluster.observe_consumers() if each.name == consumer]
    return tuple(each.payload for each in view.read)


def deliver_all_of(cluster: Cluster, client: str) -> list[Message]:
    """Deliver a client's requests and the responses to them, until no such message is left; return the responses."""
    responses = []
    while messages := [each for each in cluster.messages() if client in (each.source, each.destination)]:
        cluster.deliver(messages[0].number)
        if messages[0].destination == client:
            responses.append(messages[0])
    return responses


def alter_isr_in_flight(cluster: Cluster, broker: int, kind: type[AlterIsrRequest] | type[AlterIsrResponse]) -> Message:
    """Return the message of type `kind` in flight between a broker and the controller: the broker's request to change
    the ISR, or the controller's answer. Errors: `ClusterError` if no message of the type is in flight."""
    for message in cluster.messages():
        if broker in (message.source, message.destination) and isinstance(message.payload, kind):
            return message
    raise ClusterError(f"no such message about the ISR is in flight between broker {broker} and the controller")


def finish_alter_isr(cluster: Cluster, broker: int) -> None:
    """Deliver every ISR request of a broker to the controller, and then every answer to the broker."""
    for kind in (AlterIsrRequest, AlterIsrResponse):
        for message in cluster.messages():
            if broker in (message.source, message.destination) and isinstance(message.payload, kind):
                cluster.deliver(message.number)


def _is_metadata(message: Message) -> bool:
    return isinstance(message.payload, LeaderAndIsr | MetadataImage)


LARGEST_MINIMUM = 3


def administrate(cluster: Cluster, random: Random, kinds: Sequence[str]) -> tuple[str, tuple[int, ...]] | None:
    """Choose at random one of the given kinds of operations (names in `OPERATIONS`), and carry it out; return its name
    and its arguments, or None if the operation is refused."""
    kind = random.choice(kinds)
    operate, choose = OPERATIONS[kind]
    arguments = choose(cluster, random)
    try:
        operate(cluster, *arguments)
    except ClusterError:
        return None
    return kind, arguments


def _nothing(cluster: Cluster, random: Random) -> tuple[int, ...]:
    return ()


def _broker(cluster: Cluster, random: Random) -> tuple[int, ...]:
    return (random.choice(cluster.brokers),)


def _stopped_broker(cluster: Cluster, random: Random) -> tuple[int, ...]:
    return (random.choice([each for each in cluster.brokers if not cluster.process_of(each)] or [-1]),)


def _replicas(cluster: Cluster, random: Random) -> tuple[int, ...]:
    return tuple(random.sample(cluster.brokers, random.randint(1, len(cluster.brokers))))


def _minimum(cluster: Cluster, random: Random) -> tuple[int, ...]:
    return (random.randint(1, LARGEST_MINIMUM),)


OPERATIONS: dict[str, tuple[Callable[..., None], Callable[[Cluster, Random], tuple[int, ...]]]] = {
    "begin reassignment": (lambda cluster, *replicas: cluster.begin_reassignment(replicas), _replicas),
    "cancel reassignment": (Cluster.cancel_reassignment, _nothing),
    "change min.insync.replicas": (Cluster.change_min_insync_replicas, _minimum),
    "write cluster's min.insync.replicas": (Cluster.write_cluster_min_insync_replicas, _nothing),
    "report directory": (Cluster.report_directory, _broker),
    "fail over controller": (Cluster.fail_over_controller, _nothing),
    "unregister": (Cluster.unregister, _stopped_broker),
    "delete replica": (Cluster.delete_replica, _broker),
}
"""By name: the operation, which raises `ClusterError` if it is refused, and what chooses its arguments."""

"""What an operator does to a cluster with KRaft, and what `describe` shows: for tests of histories without a model."""

from __future__ import annotations

from isrcheck.conformance.cluster.acts import fetch as fetch_once
from isrcheck.conformance.cluster.acts import finish_alter_isr, payloads, view_of
from isrcheck.conformance.cluster.broker.broker import TimerKind
from isrcheck.conformance.cluster.cluster import Cluster
from isrcheck.conformance.cluster.configuration.protocol import generation
from isrcheck.conformance.cluster.configuration.settings import ClusterError, Settings, Start
from isrcheck.conformance.cluster.network.messages import MetadataImage

PROMPT = Settings(replica_fetch_backoff_ms=0, replica_fetch_wait_max_ms=0)

RECORDS = ("a", "b", "c", "d", "e")
"""Records that are acknowledged and on every replica when a history begins."""

THREE, PAIR = Start(log=RECORDS), Start(replicas=2, log=RECORDS)
"""How most histories begin: three replicas, or two, that hold the records."""

ALL = "".join(RECORDS)
"""A log with all of them, as `logs` shows it."""


def cluster_of(protocol: str, start: Start, settings: Settings = PROMPT, *, bug: str | None = None) -> Cluster:
    """A cluster of `4.3`, or of `4.3 without ELR`, or of `4.0 with ELR`."""
    name, _, elr = protocol.partition(" ")
    switches = generation(name)
    if elr:
        switches = switches.with_switch("ELR", {"with ELR": "on", "without ELR": "off"}[elr])
    return Cluster(switches, start, settings, bug)


def read_all(cluster: Cluster, *brokers: int) -> None:
    """These brokers, or all that run, read the metadata log to its end, one record at a time."""
    for message in cluster.messages():
        is_told = isinstance(message.payload, MetadataImage) and (not brokers or message.destination in brokers)
        if is_told and not cluster.is_frozen(int(message.destination)):
            cluster.deliver(message.number)


def read_at_once(cluster: Cluster, broker: int) -> None:
    """A broker reads the metadata log to its end, all of it in one delta."""
    told = [one for one in cluster.messages() if isinstance(one.payload, MetadataImage) and one.destination == broker]
    for one in told[:-1]:
        cluster.drop(one.number)
    cluster.deliver(told[-1].number)


def beat(cluster: Cluster, broker: int) -> None:
    """A heartbeat reaches the controller, and the answer the broker."""
    cluster.fire(broker, TimerKind.HEARTBEAT)
    beat = cluster.messages()[-1].number
    cluster.deliver(beat)
    cluster.deliver(next(one.number for one in cluster.messages() if one.in_reply_to == beat))


def stop(cluster: Cluster, broker: int) -> None:
    """A controlled shutdown of a broker that leads other partitions, to its end (SIGTERM); the others read the metadata
    log."""
    cluster.begin_shutdown(broker, leads_others=True)
    beat(cluster, broker)
    for other in cluster.brokers:
        if cluster.is_running(other):
            read_all(cluster, other)
            if other != broker:
                beat(cluster, other)
    beat(cluster, broker)
    assert not view_of(cluster, broker).is_up
    read_all(cluster)


def kill(cluster: Cluster, broker: int) -> None:
    """The process ends (kill -9), and the controller fences the broker; the others read of it."""
    cluster.crash(broker)
    fence(cluster, broker)


def lose_power(cluster: Cluster, broker: int, kept: int) -> None:
    """The machine loses power, and all records from this offset on."""
    cluster.lose_power(broker, kept)
    fence(cluster, broker)


def fence(cluster: Cluster, broker: int) -> None:
    """The session of a broker ends, and the controller notices; the others read of it."""
    cluster.end_session(broker)
    cluster.fence(broker)
    read_all(cluster)


def start(cluster: Cluster, *brokers: int) -> None:
    """Brokers start, register, read the metadata log and are unfenced, one after the other."""
    for broker in brokers:
        cluster.end_session(broker)
        cluster.restart(broker)
        read_all(cluster)
        beat(cluster, broker)
        read_all(cluster)


def reassign(cluster: Cluster, *replicas: int) -> None:
    """A reassignment begins, and every broker that runs reads of it."""
    cluster.begin_reassignment(replicas)
    read_all(cluster)


def replicate(cluster: Cluster, follower: int) -> None:
    """A follower copies its leader's log, joins the ISR if it may, and everybody reads of it."""
    leader = view_of(cluster, follower).follows
    if leader is None:
        raise ClusterError(f"broker {follower} follows nobody")
    for _ in range(4):
        if any(each.outstanding for each in view_of(cluster, follower).fetchers):
            cluster.fire(leader, TimerKind.DELAYED_FETCH, follower)
            for one in cluster.messages():
                if (one.source, one.destination) == (leader, follower):
                    cluster.deliver(one.number)
        fetch_once(cluster, follower, leader)
    finish_alter_isr(cluster, leader)
    read_all(cluster)


def described(cluster: Cluster) -> str:
    """What `kafka-topics --describe` shows: leader, replicas, ISR, ELR, last known leader."""
    now = cluster.metadata_log()[-1].partition
    last = "" if now.last_known_leader is None else str(now.last_known_leader)
    return (
        f"Leader: {'none' if now.leader is None else now.leader} Replicas: {_joined(now.replicas)}"
        f" Isr: {_joined(sorted(now.isr))} Elr: {_joined(sorted(now.elr))} LastKnownElr: {last}"
    )


def logs(cluster: Cluster) -> dict[int, str]:
    """The log of each broker, a letter for each record."""
    return {broker: "".join(payloads(cluster, broker)) for broker in cluster.brokers}


def _joined(numbers: object) -> str:
    assert isinstance(numbers, list | tuple)
    return ",".join(map(str, numbers))

"""A small language for histories of an executable cluster, which `play` reads: sentences, separated by semicolons
or line ends.

    append m 0; fetch 1 0          a step: a name of `STEPS`, and its words
    elect unclean 1 ! are alive    a step that is refused, and a part of the message, to the end of the line
    log 0: r m                     a step or a question, and its value, as `spell` writes it

A sentence that is no step asks for an attribute of the view of a broker, or of what it knows as a leader:
`high_watermark 0`. An operator's steps (`stop`, `start`, `kill`, ...) need a KRaft controller.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from enum import Enum
from operator import attrgetter
from typing import Any

import pytest

from isrcheck.conformance.cluster import acts
from isrcheck.conformance.cluster.acts import ask, deliver_answers, payloads, view_of
from isrcheck.conformance.cluster.broker.broker import TimerKind
from isrcheck.conformance.cluster.cluster import CONSUMER, PRODUCER, Cluster
from isrcheck.conformance.cluster.configuration.protocol import generation
from isrcheck.conformance.cluster.configuration.settings import AutoOffsetReset, ClusterError, Settings, Start
from isrcheck.conformance.cluster.controller.controller import Election
from isrcheck.conformance.cluster.network.messages import (
    Acks,
    AlterIsrRequest,
    AlterIsrResponse,
    Isolation,
    MetadataImage,
)
from isrcheck.conformance.cluster.network.network import Message
from isrcheck.conformance.cluster.network.records import Control, ProducerStamp
from isrcheck.conformance.cluster.observe import LeadershipView

ALTERNATIVES = re.compile(r"\[([^\[\]]*\|[^\[\]]*)\]")


def play(cluster: Cluster, history: str) -> Cluster:
    """Perform the steps of a history, and check its values; returns the cluster."""
    for line in history.splitlines():
        sentences, is_refused, message = line.partition("!")
        *allowed, last = sentences.split(";")
        for sentence in filter(str.strip, allowed if is_refused else [*allowed, last]):
            question, is_checked, value = sentence.partition(":")
            answer = value_of(cluster, question)
            assert not is_checked or spell(answer) == " ".join(value.split()), sentence
        if is_refused:
            with pytest.raises(ClusterError, match=re.escape(message.strip())):
                value_of(cluster, last)
    return cluster


def histories(text: str) -> list[object]:
    """Histories with titles, as parameters (cluster, history): a line `== title`, a line that describes the cluster,
    and the history. `[a|b]` stands for one history with a, and another with b; several such brackets go together. What
    comes behind `# ` is a remark.
    """
    parameters: list[object] = []
    for block in re.sub(r"# .*", "", text).split("\n== ")[1:]:
        title, _, rest = block.partition("\n")
        variants = max((each.count("|") + 1 for each in ALTERNATIVES.findall(rest)), default=1)
        for place in range(variants):
            chosen = ALTERNATIVES.sub(lambda found, place=place: found[1].split("|")[place], rest)  # type: ignore[misc]
            cluster, _, history = chosen.partition("\n")
            name = title if variants == 1 else f"{title} ({place + 1} of {variants})"
            parameters.append(pytest.param(cluster, history, id=name))
    return parameters


def value_of(cluster: Cluster, sentence: str) -> object:
    """The value of one step or question."""
    name, *words = sentence.split()
    arguments = [int(word) if re.fullmatch(r"-?\d+", word) else word for word in words]
    if name in STEPS:
        return STEPS[name](cluster, *arguments)
    (broker,) = map(int, words)
    view = view_of(cluster, broker)
    return attrgetter(name)(view if hasattr(view, name) else view.leadership)


def spell(value: object, separator: str = " ") -> str:
    """A value in words: a collection in order, its collections with commas; an enumeration by its name."""
    match value:
        case None | bool():
            return {None: "none", True: "yes", False: "no"}[value]
        case Enum():
            return value.name
        case Message():
            return spell(value.payload)
        case set() | frozenset():
            return spell(sorted(value), separator)
        case tuple() | list():
            return separator.join(spell(each, ",") for each in value) or "-"
    if is_dataclass(value) and not isinstance(value, type):
        return spell([attrgetter(each.name)(value) for each in fields(value)], ",")
    return str(value)


def values_of(cluster: Cluster, questions: str) -> str:
    """The values of several sentences, with slashes between them; `refused` if the cluster refuses one."""
    try:
        return " / ".join(spell(value_of(cluster, question)) for question in questions.split(";"))
    except ClusterError:
        return "refused"


def leadership(cluster: Cluster, broker: int = 0) -> LeadershipView:
    """What a broker knows as the leader that it presumes to be."""
    view = view_of(cluster, broker).leadership
    assert view is not None
    return view


def cluster_of(description: str, *, bug: str | None = None) -> Cluster:
    """A cluster in words: its generation, then switches (`ELR=on`), and entries of `Start` and `Settings`: `4.3
    assignment=01 log=abc min_insync_replicas=1 idempotent`. Followers fetch again at once after an error; with KRaft,
    leaders answer every fetch at once, too.
    """
    protocol, *words = description.split()
    switches = generation(protocol)
    entries: dict[str, object] = {"replica_fetch_backoff_ms": 0}
    if switches.has_kraft:
        entries["replica_fetch_wait_max_ms"] = 0
    for name, _, value in (word.partition("=") for word in words):
        if name.isupper():
            switches = switches.with_switch(name, value)
        else:
            entries[name] = _entry(name, value)
    parts = [{key: value for key, value in entries.items() if key in _names(kind)} for kind in (Start, Settings)]
    assert len(parts[0]) + len(parts[1]) == len(entries), description
    return Cluster(switches, Start(**parts[0]), Settings(**parts[1]), bug)  # type: ignore[arg-type]


def _names(kind: type[Start | Settings]) -> set[str]:
    return {each.name for each in fields(kind)}


def _entry(name: str, value: str) -> object:
    """The value of an entry: the letters of a log, numbers of brokers, `0:1` for a broker and an offset."""
    match name:
        case "log":
            return tuple(value)
        case "isr":
            return frozenset(map(int, value))
        case "assignment":
            return tuple(map(int, value))
        case "held" | "checkpointed":
            broker, _, offset = value.partition(":")
            return ((int(broker), int(offset)),)
        case "auto_offset_reset":
            return AutoOffsetReset(value)
    return int(value) if value else True


# ------------------------------------------------------------------------------------- what an operator does with KRaft


def _images(cluster: Cluster, *brokers: int) -> list[Message]:
    """The records of the metadata log that are on their way to these brokers, or to all."""
    images = [each for each in cluster.messages() if isinstance(each.payload, MetadataImage)]
    return [each for each in images if not brokers or each.destination in brokers]


def read_all(cluster: Cluster, *brokers: int) -> None:
    """These brokers, or all that run, read the metadata log to its end, one record at a time."""
    for message in _images(cluster, *brokers):
        if not cluster.is_frozen(int(message.destination)):
            cluster.deliver(message.number)


def stop(cluster: Cluster, *brokers: int) -> None:
    """Brokers that lead other partitions shut down in order (SIGTERM), one after the other; the others read the
    metadata log.
    """
    for broker in brokers:
        cluster.begin_shutdown(broker, leads_others=True)
        acts.beat(cluster, broker)
        for other in filter(cluster.is_running, cluster.brokers):
            read_all(cluster, other)
            if other != broker:
                acts.beat(cluster, other)
        acts.beat(cluster, broker)
        assert not view_of(cluster, broker).is_up
        read_all(cluster)


def fence(cluster: Cluster, *brokers: int) -> None:
    """The sessions of brokers end, and the controller notices; nobody has read of it."""
    for broker in brokers:
        cluster.end_session(broker)
        cluster.fence(broker)


def kill(cluster: Cluster, *brokers: int) -> None:
    """Processes end (kill -9), and the controller fences the brokers; the others read of it."""
    for broker in brokers:
        cluster.crash(broker)
        fence(cluster, broker)
        read_all(cluster)


def register(cluster: Cluster, *brokers: int) -> None:
    """The sessions of brokers end, and new processes of them register."""
    for broker in brokers:
        cluster.end_session(broker)
        cluster.restart(broker)


def start(cluster: Cluster, *brokers: int) -> None:
    """Brokers start, register, read the metadata log and are unfenced, one after the other."""
    for broker in brokers:
        register(cluster, broker)
        read_all(cluster)
        acts.beat(cluster, broker)
        read_all(cluster)


def reassign(cluster: Cluster, *replicas: int) -> None:
    """A reassignment begins, and every broker that runs reads of it."""
    cluster.begin_reassignment(replicas)
    read_all(cluster)


def replicate(cluster: Cluster, *followers: int) -> None:
    """Followers copy their leader's log, and join the ISR if they may; everybody reads of it."""
    for follower in followers:
        leader = view_of(cluster, follower).follows
        assert leader is not None, f"broker {follower} follows nobody"
        for _ in range(4):
            if any(each.outstanding for each in view_of(cluster, follower).fetchers):
                cluster.fire(leader, TimerKind.DELAYED_FETCH, follower)
                for message in cluster.messages():
                    if (message.source, message.destination) == (leader, follower):
                        cluster.deliver(message.number)
            acts.fetch(cluster, follower, leader)
        acts.finish_alter_isr(cluster, leader)
        read_all(cluster)


def described(cluster: Cluster) -> str:
    """What `kafka-topics --describe` shows: leader, replicas, ISR, ELR, last known leader."""
    record = cluster.metadata_log()[-1].partition
    last = "-" if record.last_known_leader is None else str(record.last_known_leader)
    return (
        f"Leader: {spell(record.leader)} Replicas: {spell(record.replicas, ',')} Isr: {spell(record.isr, ',')}"
        f" Elr: {spell(record.elr, ',')} LastKnownElr: {last}"
    )


# -------------------------------------------------------------------------------------------------- steps and questions


def _number(cluster: Cluster, number: int | None) -> int:
    return cluster.messages()[-1].number if number is None else number


def _append(cluster: Cluster, payload: str, leader: int, acks: str | int = "all", producer: str = PRODUCER) -> int:
    return acts.append(cluster, payload, leader, Acks(str(acks)), producer)


def _answer(cluster: Cluster, follower: int, leader: int, name: str = "error") -> object:
    """The error, or another field, of the answer to a follower's next request."""
    return attrgetter(f"payload.{name}")(ask(cluster, follower, leader))


def _response(cluster: Cluster, follower: int, leader: int, name: str) -> object:
    """A field of the response that is on its way to a follower."""
    return attrgetter(f"payload.{name}")(acts.response_in_flight(cluster, follower, leader))


def _consume_in(cluster: Cluster, broker: int, rack: int | None = None) -> object:
    """The broker to which a consumer in this rack is sent when it fetches from a broker."""
    cluster.deliver(cluster.consume(broker, rack=rack))
    cluster.deliver(cluster.messages()[-1].number)
    return cluster.observe_consumers()[0].preferred_read_replica


def _answers(act: Callable[[Cluster, int], None]) -> Callable[[Cluster, str], None]:
    """The answers in flight to a client arrive, or are lost."""

    def answer(cluster: Cluster, client: str) -> None:
        for message in cluster.messages():
            if message.destination == client:
                act(cluster, message.number)

    return answer


def _produce_as(cluster: Cluster, payload: str, producer_id: int, epoch: int, sequence: int) -> None:
    """A client outside sends a record with this stamp to broker 0."""
    stamp = ProducerStamp(producer_id, epoch, sequence)
    cluster.outside.produce(0, payload, Acks.LEADER, stamp, 1, lambda answer: None)
    acts.deliver_requests(cluster)


def _finish_consumer(cluster: Cluster) -> None:
    """The consumer's questions are answered, and those that it asks then."""
    while messages := [each for each in cluster.messages() if CONSUMER in (each.source, each.destination)]:
        for message in messages:
            cluster.deliver(message.number)


def _outcomes(cluster: Cluster) -> list[object]:
    """The outcome of every request of producers, once the answers in flight have arrived."""
    deliver_answers(cluster)
    return [each.outcome for _, sent in cluster.observe().sent for each in sent]


def _marked(cluster: Cluster, broker: int, producer: str = PRODUCER) -> None:
    """The coordinator's decision reaches a broker."""
    cluster.write_marker(broker, producer)
    cluster.deliver(cluster.messages()[-1].number)


def _isolation(consumer: str) -> Isolation:
    return Isolation.READ_COMMITTED if consumer == "committed" else Isolation.READ_UNCOMMITTED


def _record(cluster: Cluster) -> tuple[object, ...]:
    """The controller's leader, leader epoch, partition epoch and ISR."""
    record = cluster.controller_metadata()
    return (record.leader, record.leader_epoch, record.partition_epoch, sorted(record.isr))


def _timer(kind: TimerKind) -> Callable[..., bool]:
    return lambda cluster, broker, peer=None: cluster.fire(broker, kind, peer)


STEPS: dict[str, Callable[..., Any]] = {
    **{name: act for name, act in inspect.getmembers(Cluster, callable) if not name.startswith("_")},
    **dict(inspect.getmembers(acts, inspect.isfunction)),
    "read_all": read_all,
    "read_at_once": acts.learn,
    "stop": stop,
    "fence": fence,
    "kill": kill,
    "register": register,
    "start": start,
    "reassign": reassign,
    "replicate": replicate,
    "described": described,
    "append": _append,
    "answer": _answer,
    "response": _response,
    "consume_in": _consume_in,
    "deliver_to": _answers(Cluster.deliver),
    "answer_to_leader": lambda cluster, leader: attrgetter("payload.error")(
        acts.alter_isr_in_flight(cluster, leader, AlterIsrResponse)
    ),
    "proposal": lambda cluster, leader: acts.alter_isr_in_flight(cluster, leader, AlterIsrRequest),
    "announcements": lambda cluster: [each.number for each in cluster.observe().controller.announcements],
    "outstanding": lambda cluster, follower, leader: {
        each.source: each.outstanding for each in view_of(cluster, follower).fetchers
    }[leader],
    "sent": lambda cluster, name: [attrgetter(name)(each) for _, sent in cluster.observe().sent for each in sent],
    "metadata_records": lambda cluster: len(cluster.metadata_log()),
    "now": lambda cluster: cluster.now,
    "start_process": Cluster.restart,
    "payload": lambda cluster: cluster.messages()[-1],
    "deletes": lambda cluster: cluster.observe().deletes,
    "markers": lambda cluster: [each.outcome for each in cluster.observe().markers],
    "is_leader": lambda cluster, broker: view_of(cluster, broker).leadership is not None,
    "begin_shutdown": lambda cluster, broker, *others: cluster.begin_shutdown(broker, leads_others=bool(others)),
    "begin_reassignment": lambda cluster, *replicas: cluster.begin_reassignment(replicas),
    "drop_to": _answers(Cluster.drop),
    "finish_consumer": _finish_consumer,
    "last_outcome": lambda cluster: cluster.observe().sent[0][1][-1].outcome,
    "outcomes": _outcomes,
    "produce_as": _produce_as,
    "mark": _marked,
    "record": _record,
    "elect": lambda cluster, kind, candidate: cluster.elect(Election(kind), candidate),
    "end_transaction": lambda cluster, control: cluster.end_transaction(Control(control)),
    "deliver": lambda cluster, number=None: cluster.deliver(_number(cluster, number)),
    "drop": lambda cluster, number=None: cluster.drop(_number(cluster, number)),
    "read": lambda cluster, broker, consumer=CONSUMER: acts.read(cluster, broker, consumer, _isolation(consumer)),
    "log": payloads,
    "logs": lambda cluster: ["".join(payloads(cluster, broker)) or "-" for broker in cluster.brokers],
    "modes": lambda cluster, broker: [each.mode for each in view_of(cluster, broker).fetchers],
    "sources": lambda cluster, broker: [
        each.source for each in view_of(cluster, broker).fetchers if each.mode is not None
    ],
    "in_flight": lambda cluster: [each.number for each in cluster.messages()],
    "ask_controller": lambda cluster, leader: cluster.deliver(
        acts.alter_isr_in_flight(cluster, leader, AlterIsrRequest).number
    ),
    "answer_leader": lambda cluster, leader: cluster.deliver(
        acts.alter_isr_in_flight(cluster, leader, AlterIsrResponse).number
    ),
    "proposals": lambda cluster: sum(isinstance(each.payload, AlterIsrRequest) for each in cluster.messages()),
    "controller": lambda cluster, name: attrgetter(name)(cluster.observe().controller),
    "partition": lambda cluster, name: attrgetter(name)(cluster.metadata_log()[-1].partition),
    "registration": lambda cluster, broker, name: attrgetter(name)(cluster.metadata_log()[-1].brokers[broker]),
    "consumer": lambda cluster, name: attrgetter(name)(cluster.observe_consumers()[0]),
    "check_isr": _timer(TimerKind.ISR_SHRINK_CHECK),
    "checkpoint": _timer(TimerKind.HIGH_WATERMARK_CHECKPOINT),
    "checkpoint_log_start": _timer(TimerKind.LOG_START_OFFSET_CHECKPOINT),
    "flush": _timer(TimerKind.LOG_FLUSH),
    "do_work": _timer(TimerKind.FETCHER_DO_WORK),
    "delayed_fetch": _timer(TimerKind.DELAYED_FETCH),
    "expire_produces": _timer(TimerKind.DELAYED_PRODUCE_EXPIRY),
}
"""Name -> what it does to a cluster, with the words of the sentence as arguments, and what it returns."""

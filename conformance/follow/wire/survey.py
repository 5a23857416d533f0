"""The first pass over a wire recording: which partition it is about, and the settings that it shows.

In:  the lines of a wire recording.
Out: a `Survey`. A recording in which several partitions are written to is refused with a UsageError.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from isrcheck.conformance.follow.format.ndjson import UnreadableError, bad_line, get
from isrcheck.conformance.follow.wire.messages import Happening, Message, is_number, listed, numbers
from isrcheck.models.messages.errors import UsageError

END = "end"
"""The remark with which an experimenter ends a recording."""

INTERNAL = "__"
"""The names of Kafka's own topics begin so."""

WEAKEST_FIRST = ("0", "1", "all")
"""The values of acks, as observations spell them."""

MOST_TOPICS = 10_000

MOST = 1 << 62

MIN_ISR, UNCLEAN = "min.insync.replicas", "unclean.leader.election.enable"


@dataclass
class Topic:
    """What a recording shows of a topic: its id, settings; by partition its replicas, and the acks of its producers."""

    topic_id: str | None = None
    replicas: dict[int, set[int]] = field(default_factory=dict)
    acks: dict[int, set[str]] = field(default_factory=dict)
    min_insync_replicas: int | None = None
    unclean_election: bool | None = None


@dataclass
class Survey:
    """The partition: its topic by name and by id, its number, its replicas, the acks of its producers, settings.

    `topic_id` and the settings are None where the recording does not show them. `seconds` is the time from the first
    line to the last one.
    `first_offset` is the smallest offset at which a follower fetches: what lies before is taken for equal in all logs.
    `shut_down_at` is the line from which on the brokers are shut down at the end, without a line that says so; None:
    they are not.
    """

    topic: str | None = None
    topic_id: str | None = None
    replicas: tuple[int, ...] = ()
    partition: int = 0
    acks: set[str] = field(default_factory=set)
    min_insync_replicas: int | None = None
    unclean_election: bool | None = None
    seconds: float = 0.0
    first_offset: int = 0
    shut_down_at: int | None = None
    topics: dict[str, Topic] = field(default_factory=dict)
    _lowest: dict[tuple[str, int], int] = field(default_factory=dict)
    _stopping: set[int] = field(default_factory=set)

    @property
    def weakest_acks(self) -> str | None:
        """The acks that promise the least: the model has one kind of producer, and this one promises no more."""
        return next((acks for acks in WEAKEST_FIRST if acks in self.acks), None)

    def hear(self, line: Happening) -> None:
        """Note the faults that have to do with a shutdown."""
        broker: Any = line.keys.get("broker")
        if line.what == "start":
            self.shut_down_at = None
            self._stopping.discard(broker if is_number(broker) else -1)
        elif line.what.startswith("stop") and is_number(broker):
            self._stopping.add(broker)
        elif line.what.startswith("client_"):
            self.shut_down_at = None
        elif line.what == END and self.shut_down_at is None:
            self.shut_down_at = line.number

    def see_shutdown(self, number: int, broker: int) -> None:
        """A broker asks the controller to be shut down."""
        if self.shut_down_at is None and broker not in self._stopping:
            self.shut_down_at = number

    def is_about(self, topic: Mapping[str, Any]) -> bool:
        """Whether an entry of a message, with the name or the id of a topic, is about the partition's topic."""
        name = topic.get("name", topic.get("topic"))
        if name is not None:
            return bool(name == self.topic)
        return topic.get("topic_id") is not None and topic.get("topic_id") == self.topic_id

    def partitions(self, body: Mapping[str, Any], topics: str, partitions: str) -> Iterator[Mapping[str, Any]]:
        """The entries of a message about the partition. Raises UnreadableError."""
        for topic in listed(body, topics):
            if self.is_about(topic):
                for partition in listed(topic, partitions):
                    if _index_of(partition) == self.partition:
                        yield partition

    def choose(self) -> None:
        """Choose the partition: the only one that is written to, or else the only one that there is.

        Raises UnreadableError.
        """
        every = [(name, index) for name, topic in self.topics.items() for index in sorted(topic.replicas | topic.acks)]
        written = [(name, index) for name, topic in self.topics.items() for index in sorted(topic.acks)]
        chosen = written or every
        if not chosen:
            raise UnreadableError("no message names a topic of a client; record its Metadata responses")
        if len(chosen) > 1:
            named = ", ".join(f"{name[:60]}-{index}" for name, index in chosen[:4])
            what = f"{len(chosen)} partitions {'are written to' if written else 'occur'} ({named})"
            raise UnreadableError(
                f"{what}; a recording has to be about one partition: leave the messages about the others out"
            )
        self.topic, self.partition = chosen[0]
        topic = self.topics[self.topic]
        self.topic_id, self.acks = topic.topic_id, topic.acks.get(self.partition, set())
        self.replicas = tuple(sorted(topic.replicas.get(self.partition, ())))
        self.min_insync_replicas, self.unclean_election = topic.min_insync_replicas, topic.unclean_election
        names = (self.topic, self.topic_id or self.topic)
        self.first_offset = min((self._lowest.get((name, self.partition), MOST) for name in names), default=0)
        self.first_offset = 0 if self.first_offset == MOST else self.first_offset

    def see_fetch(self, name: str, index: int, offset: int) -> None:
        """A follower fetches this partition of a topic, given by name or id, from this offset on."""
        if offset >= 0 and (len(self._lowest) < MOST_TOPICS or (name, index) in self._lowest):
            self._lowest[name, index] = min(offset, self._lowest.get((name, index), offset))


def _index_of(partition: Mapping[str, Any]) -> int:
    """The number of a partition, which has three names in Kafka's messages. Raises UnreadableError."""
    key = next((one for one in ("partition_index", "index", "partition") if one in partition), "partition_index")
    return int(get(partition, key, int, absent=0))


def survey_of(path: Path, lines: Iterable[Message | Happening]) -> Survey:
    """The survey of a recording. Raises UsageError."""
    found, began = Survey(), None
    for line in lines:
        began = line.t if began is None else began
        found.seconds = max(found.seconds, line.t - began)
        try:
            if isinstance(line, Happening):
                found.hear(line)
            else:
                _take(found, line)
        except UnreadableError as error:
            raise bad_line(path, line.number, error) from None
    try:
        found.choose()
    except UnreadableError as error:
        raise UsageError(f"{path}: {error}") from None
    return found


def _take(found: Survey, line: Message) -> None:
    body = line.body
    if line.api == "Metadata" and not line.is_request:
        for topic, known in _user_topics(found, listed(body, "topics")):
            if topic.get("topic_id") is not None:
                known.topic_id = get(topic, "topic_id", str)
            for partition in listed(topic, "partitions"):
                nodes = numbers(partition, "replica_nodes")
                known.replicas.setdefault(_index_of(partition), set()).update(nodes)
    elif line.api == "CreateTopics":
        for topic, known in _user_topics(found, listed(body, "topics")):
            for setting in listed(topic, "configs"):
                _take_setting(known, setting.get("name"), setting.get("value"))
    elif shuts_down(line):
        found.see_shutdown(line.number, get(body, "broker_id", int))
    elif line.api == "Fetch" and line.is_request and line.broker is not None and "topics" in body:
        if follower_of(body) is not None:
            for topic in listed(body, "topics"):
                name = topic.get("topic", topic.get("name", topic.get("topic_id")))
                for partition in listed(topic, "partitions") if isinstance(name, str) else ():
                    found.see_fetch(str(name), _index_of(partition), get(partition, "fetch_offset", int))
    elif line.api == "Produce" and line.is_request:
        found.shut_down_at = None
        for topic, known in _user_topics(found, listed(body, "topic_data")):
            for partition in listed(topic, "partition_data"):
                known.acks.setdefault(_index_of(partition), set()).add(acks_of(line))


def shuts_down(line: Message) -> bool:
    """Whether a broker asks with this message to be shut down."""
    return line.api == "BrokerHeartbeat" and line.is_request and line.body.get("want_shut_down") is True


def follower_of(body: Mapping[str, Any]) -> int | None:
    """The follower that sends a Fetch request with this body; None: a consumer. Raises UnreadableError."""
    state = get(body, "replica_state", dict, absent=body)
    found: int = get(state, "replica_id", int, absent=-1)
    return found if found >= 0 else None


def acks_of(line: Message) -> str:
    """The acks of a Produce request, as observations spell them. Raises UnreadableError."""
    acks = get(line.body, "acks", int)
    spelled = {-1: "all", 0: "0", 1: "1"}.get(acks)
    if spelled is None:
        raise UnreadableError(f"acks is {acks}; it has to be -1, 0 or 1")
    return spelled


def _user_topics(found: Survey, topics: Iterable[Mapping[str, Any]]) -> Iterator[tuple[Mapping[str, Any], Topic]]:
    for topic in topics:
        name = topic.get("name")
        if name is None or (isinstance(name, str) and name.startswith(INTERNAL)):
            continue
        name = get(topic, "name", str)
        if name not in found.topics and len(found.topics) >= MOST_TOPICS:
            raise UnreadableError(f"more than {MOST_TOPICS} topics; leave the messages about the others out")
        yield topic, found.topics.setdefault(name, Topic())


def _take_setting(found: Topic, name: Any, value: Any) -> None:
    is_count = isinstance(value, str) and value.isascii() and value.isdecimal() and len(value) < 10
    if name == MIN_ISR and is_count:
        found.min_insync_replicas = max(1, int(value))
    if name == UNCLEAN and value in ("true", "false"):
        found.unclean_election = value == "true"

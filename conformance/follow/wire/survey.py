"""The first pass over a wire recording: which partition it is about, and the settings that it shows.

In:  the lines of a wire recording.
Out: a `Survey`. A recording of several partitions is refused with a UsageError.
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

MIN_ISR, UNCLEAN = "min.insync.replicas", "unclean.leader.election.enable"


@dataclass
class Survey:
    """The partition: its topic by name and by id, its replicas, the acks of its producers, settings of the topic.

    `topic_id` and the settings are None where the recording does not show them. `seconds` is the time
    of the last line. `shut_down_at` is the line from which
    on the brokers are shut down at the end, without a line that says so; None: they are not.
    """

    topic: str | None = None
    topic_id: str | None = None
    replicas: tuple[int, ...] = ()
    acks: set[str] = field(default_factory=set)
    min_insync_replicas: int | None = None
    unclean_election: bool | None = None
    seconds: float = 0.0
    shut_down_at: int | None = None
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


def survey_of(path: Path, lines: Iterable[Message | Happening]) -> Survey:
    """The survey of a recording. Raises UsageError."""
    found = Survey()
    for line in lines:
        found.seconds = max(found.seconds, line.t)
        try:
            if isinstance(line, Happening):
                found.hear(line)
            else:
                _take(found, line)
        except UnreadableError as error:
            raise bad_line(path, line.number, error) from None
    if found.topic is None:
        raise UsageError(f"{path}: no message names a topic of a client; record its Metadata responses")
    return found


def _take(found: Survey, line: Message) -> None:
    body = line.body
    if line.api == "Metadata" and not line.is_request:
        for topic in _user_topics(found, listed(body, "topics")):
            if topic.get("topic_id") is not None:
                found.topic_id = get(topic, "topic_id", str)
            for partition in listed(topic, "partitions"):
                _only_partition(found, get(partition, "partition_index", int))
                found.replicas = tuple(sorted({*found.replicas, *numbers(partition, "replica_nodes")}))
    elif line.api == "CreateTopics":
        for topic in _user_topics(found, listed(body, "topics")):
            for setting in listed(topic, "configs"):
                _take_setting(found, setting.get("name"), setting.get("value"))
    elif shuts_down(line):
        found.see_shutdown(line.number, get(body, "broker_id", int))
    elif line.api == "Produce" and line.is_request:
        found.shut_down_at = None
        for topic in _user_topics(found, listed(body, "topic_data")):
            for partition in listed(topic, "partition_data"):
                _only_partition(found, get(partition, "index", int))
                found.acks.add(acks_of(line))


def shuts_down(line: Message) -> bool:
    """Whether a broker asks with this message to be shut down."""
    return line.api == "BrokerHeartbeat" and line.is_request and line.body.get("want_shut_down") is True


def acks_of(line: Message) -> str:
    """The acks of a Produce request, as observations spell them. Raises UnreadableError."""
    acks = get(line.body, "acks", int)
    spelled = {-1: "all", 0: "0", 1: "1"}.get(acks)
    if spelled is None:
        raise UnreadableError(f"acks is {acks}; it has to be -1, 0 or 1")
    return spelled


def _user_topics(found: Survey, topics: Iterable[Mapping[str, Any]]) -> Iterator[Mapping[str, Any]]:
    for topic in topics:
        name = topic.get("name")
        if name is None or (isinstance(name, str) and name.startswith(INTERNAL)):
            continue
        name = get(topic, "name", str)
        if found.topic is None:
            found.topic = name
        if name != found.topic:
            what = f"topic {name[:60]!r} after {found.topic[:60]!r}"
            raise UnreadableError(f"{what}; a recording has to be about one partition: leave the other messages out")
        yield topic


def _only_partition(found: Survey, index: int) -> None:
    if index != 0:
        what = f"partition {index} of topic {str(found.topic)[:60]!r}"
        raise UnreadableError(f"{what}; a recording has to be about one partition, number 0: use a topic that has one")


def _take_setting(found: Survey, name: Any, value: Any) -> None:
    if name == MIN_ISR and isinstance(value, str) and value.isascii() and value.isdecimal() and is_number(int(value)):
        found.min_insync_replicas = max(1, int(value))
    if name == UNCLEAN and value in ("true", "false"):
        found.unclean_election = value == "true"

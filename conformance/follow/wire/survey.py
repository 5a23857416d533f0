"""The first pass over a wire recording: which partition it is about, and the settings that it shows.

A recording in which several partitions are written to is refused with a UsageError.

Metadata responses name the topics, their ids and replicas. Without Metadata responses, the Produce requests show the
partition or, without these requests, the fetches do.

A shutdown is not the end of the recording if anything shows that the cluster continues after it: a producer that writes
or gets an answer, a client that reads, a fault, a broker that registers, or a broker that keeps sending heartbeats.
Then the shutdown is a fault like any other.

With `auto.leader.rebalance.enable`, the controller elects the preferred leader, the first of the assignment, from time
to time (ReplicationControlManager.maybeBalancePartitionLeaders). No message requests this.

A broker may lag behind, and then shows former replicas. Within a leader epoch replicas are only added, because a change
that removes a replica begins a new epoch (PartitionChangeBuilder). So a set of replicas from an older epoch, or a
smaller set in the same epoch, is not news.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from heapq import merge
from itertools import pairwise
from pathlib import Path
from typing import Any

from isrcheck.conformance.follow.format.ndjson import UnreadableError, bad_line, get
from isrcheck.conformance.follow.recorded.faults import FaultKind
from isrcheck.conformance.follow.wire.messages import Happening, Message, is_number, listed, numbers
from isrcheck.models.messages import UsageError

Replicas = tuple[int, ...]
"""The replicas of a partition, the preferred leader first."""


@dataclass
class Assignments:
    """The replicas of a partition over time: those that were shown, with the line that first shows them (`shown`), and
    those that were requested, with the line of the request (`requests`; None: a reassignment is cancelled)."""

    shown: list[tuple[int, Replicas]] = field(default_factory=list)
    requests: list[tuple[int, Replicas | None]] = field(default_factory=list)
    _epoch: int = -1
    _in_epoch: set[Replicas] = field(default_factory=set)
    _offset: int = -1

    def show(self, number: int, replicas: Sequence[int], leader_epoch: int) -> None:
        """Note that a broker shows these replicas."""
        if not replicas or self._offset >= 0 or leader_epoch < self._epoch:
            return
        if leader_epoch > self._epoch:
            self._epoch, self._in_epoch = leader_epoch, set()
        if all(set(earlier) <= set(replicas) and earlier != tuple(replicas) for earlier in self._in_epoch):
            self._in_epoch.add(tuple(replicas))
            self._accept(number, tuple(replicas))

    def log(self, number: int, offset: int, replicas: Sequence[int]) -> None:
        """Note that the metadata log has these replicas at this offset."""
        if offset > self._offset:
            self._offset = offset
            self._accept(number, tuple(replicas))

    def _accept(self, number: int, replicas: Replicas) -> None:
        if not self.shown or self.shown[-1][1] != replicas:
            self.shown.append((number, replicas))

    def ask(self, number: int, replicas: Replicas | None) -> None:
        """Note that an operator asks for these replicas, or cancels the reassignment (None)."""
        self.requests.append((number, replicas))

    def join(self, other: Assignments) -> None:
        """Add `other`: the replicas and requests in messages that name the partition's topic by id, not by name."""
        self.shown = sorted(self.shown + other.shown)
        self.requests = sorted(self.requests + other.requests, key=lambda request: request[0])

    @property
    def is_reassigned(self) -> bool:
        """Whether the partition is reassigned: there is a request, or the replicas change."""
        return bool(self.requests) or len({frozenset(replicas) for _, replicas in self.shown}) > 1

    @property
    def first(self) -> Replicas:
        """The replicas at the beginning; empty if no line before the first request shows them."""
        first_request = self.requests[0][0] if self.requests else None
        line, replicas = self.shown[0] if self.shown else (0, ())
        return replicas if first_request is None or line < first_request else ()

    def preferred_before(self, number: int) -> int | None:
        """The preferred leader according to the lines before line `number`; None if those lines show no replicas."""
        named = [(at, replicas[0]) for at, replicas in (*self.shown, *self.requests) if replicas and at < number]
        return max(named)[1] if named else None

    def unasked(self) -> dict[int, list[Replicas | None]]:
        """For each change of replicas that no request explains: the line that shows the former replicas, with the
        requests that may have caused the change. One request can add replicas, and later remove other replicas.
        """
        requests: dict[int, list[Replicas | None]] = {}
        for at, ((since, before), (until, after)) in enumerate(pairwise(self.shown)):
            if set(before) == set(after) or self._explains(self._last_request(until), before, after):
                continue
            later = self.shown[at + 2][1] if at + 2 < len(self.shown) else after
            targets: list[Replicas | None] = [after, *([later] if set(later) < set(after) else [])]
            requests[since] = targets + ([None] if set(after) < set(before) else [])
        return requests

    def reordered(self) -> Iterator[int]:
        """The lines that only request a new order of the replicas, or show a new order that no request explains."""
        for number, target in self.requests:
            current = self._current_before(number)
            if target is not None and current and set(target) == set(current) and target != current:
                yield number
        for (_, before), (until, after) in pairwise(self.shown):
            request = self._last_request(until)
            is_asked = request is not None and (request[1] is None or after[: len(request[1])] == request[1])
            if set(before) == set(after) and not is_asked:
                yield until

    def _last_request(self, number: int) -> tuple[int, Replicas | None] | None:
        return next((request for request in reversed(self.requests) if request[0] < number), None)

    def _current_before(self, number: int) -> Replicas:
        """The replicas that were shown or requested last before a line."""
        lines = [entry for entry in (*self.shown, *self.requests) if entry[0] < number]
        return max(lines, key=lambda entry: entry[0])[1] or () if lines else ()

    @staticmethod
    def _explains(request: tuple[int, Replicas | None] | None, before: Replicas, after: Replicas) -> bool:
        if request is None or request[1] is None:
            return request is not None
        target = set(request[1])
        return set(after) in (target, target | set(before))


@dataclass
class Elections:
    """The leaders of a partition: for each leader epoch its leader, and the first line that shows it.
    `rebalanced_after` has the leader epochs that ended by an unrequested preferred election."""

    leaders: dict[int, tuple[int, int]] = field(default_factory=dict)
    rebalanced_after: set[int] = field(default_factory=set)

    def lead(self, number: int, leader: int, epoch: int) -> None:
        """Note that a message, at line `number`, shows the leader of an epoch."""
        self.leaders.setdefault(epoch, (leader, number))

    def join(self, other: Elections) -> None:
        """Add `other`: the leaders in messages that name the topic by id; these messages show no replicas."""
        for epoch, leader in other.leaders.items():
            self.leaders[epoch] = min(leader, self.leaders.get(epoch, leader), key=lambda entry: entry[1])

    def judge(
        self, departures: Sequence[tuple[int, int | None]], preferred_before: Callable[[int], int | None]
    ) -> None:
        """Find the preferred elections without a request, and without a departure of the former leader.

        `departures` are lines, each with the broker that failed or was shut down there; None: an administrator requests
        an election, or other replicas. `preferred_before` names the preferred leader before a line.
        """
        lines = [number for number, _ in departures]
        for (epoch, (before, since)), (_, (after, until)) in pairwise(sorted(self.leaders.items())):
            between = departures[bisect_right(lines, since) : bisect_right(lines, until)]
            is_asked = any(broker in (None, before) for _, broker in between)
            if after == preferred_before(until) != before and not is_asked:
                self.rebalanced_after.add(epoch)


END = "end"
"""The remark with which an experimenter ends a recording."""

FAULTS = tuple(kind.value for kind in FaultKind)

LATE_HEARTBEATS = 1
"""The number of heartbeats that a broker may still send before it also asks to be shut down; one every two seconds."""


@dataclass
class Ending:
    """Finds the shutdown of the brokers at the end of a recording. `_away` are the brokers that have asked, perhaps
    repeatedly, to be shut down, or were stopped, and have not come back."""

    _at: int | None = None
    _is_told: bool = False
    _away: set[int] = field(default_factory=set)
    _heartbeats: Counter[int] = field(default_factory=Counter)

    @property
    def at(self) -> int | None:
        """The line at which the final shutdown of the brokers begins; None: they are not shut down at the end."""
        return None if self._heartbeats and not self._is_told else self._at

    def hear(self, line: Happening) -> None:
        """Note whether this line of a person or client shows a shutdown, or that the cluster goes on."""
        broker: Any = line.keys.get("broker")
        if line.what in FAULTS:
            self._goes_on()
            if is_number(broker):
                self._returns(broker)
                if line.what == FaultKind.STOP.value:
                    self._away.add(broker)
        elif line.what.startswith("client_") or line.what in ("acked", "send"):
            self._goes_on()
        elif line.what == END and not self._is_told:
            self._at, self._is_told = self._at or line.number, True

    def see(self, line: Message) -> None:
        """Note whether this message shows a shutdown, or that the cluster goes on. Raises UnreadableError."""
        if line.api == "Produce" or (line.api == "BrokerRegistration" and line.is_request):
            self._goes_on()
            self._returns(line.body.get("broker_id"))
        elif line.api == "BrokerHeartbeat" and line.is_request and line.body:
            broker: int = get(line.body, "broker_id", int)
            if shuts_down(line):
                if broker not in self._away:
                    self._at = self._at or line.number
                self._away.add(broker)
                del self._heartbeats[broker]
            elif self._at is not None and broker not in self._away:
                self._heartbeats[broker] += 1
                if self._heartbeats[broker] > LATE_HEARTBEATS:
                    self._goes_on()

    def _goes_on(self) -> None:
        self._at, self._is_told = None, False
        self._heartbeats.clear()

    def _returns(self, broker: object) -> None:
        if isinstance(broker, int):
            self._away.discard(broker)


def shuts_down(line: Message) -> bool:
    """Whether a broker asks with this message to be shut down."""
    return line.api == "BrokerHeartbeat" and line.is_request and line.body.get("want_shut_down") is True


INTERNAL = "__"
"""The prefix of the names of Kafka's own topics."""

WEAKEST_FIRST = ("0", "1", "all")
"""The values of acks, as observations spell them."""

MOST_TOPICS = 10_000

MOST_VALUES = 1_000
"""The records of a topic that are compared to find its id."""

DEPARTURES = tuple(kind.value for kind in (FaultKind.KILL, FaultKind.FREEZE, FaultKind.STOP))
"""Faults after which the controller elects another leader."""

MIN_ISR, UNCLEAN = "min.insync.replicas", "unclean.leader.election.enable"


@dataclass
class Partition:
    """What a recording shows of a partition."""

    replicas: set[int] | None = None
    """None: no Metadata response names the partition."""

    fetching: set[int] | None = None
    """The followers, with the brokers that they fetch from; None: no follower fetches it."""

    acks: set[str] = field(default_factory=set)
    """The acks of its producers."""

    elections: Elections = field(default_factory=Elections)
    assignments: Assignments = field(default_factory=Assignments)

    lowest: int | None = None
    """The smallest offset at which a follower fetches."""

    def join(self, other: Partition) -> None:
        """Add `other`: what the recording shows of the partition in messages that name its topic by id."""
        self.replicas = _united(self.replicas, other.replicas)
        self.fetching = _united(self.fetching, other.fetching)
        self.acks |= other.acks
        self.elections.join(other.elections)
        self.assignments.join(other.assignments)
        self.lowest = min((offset for offset in (self.lowest, other.lowest) if offset is not None), default=None)


def _united(first: set[int] | None, second: set[int] | None) -> set[int] | None:
    return second if first is None else first | (second or set())


@dataclass
class Topic:
    """What a recording shows of a topic: its id, partitions and settings."""

    topic_id: str | None = None
    partitions: dict[int, Partition] = field(default_factory=lambda: defaultdict(Partition))
    min_insync_replicas: int | None = None
    unclean_election: bool | None = None

    values: set[str] = field(default_factory=set)
    """Some of the records that producers send to it."""

    carried: set[str] = field(default_factory=set)
    """Some of the records that brokers answer with."""

    def join(self, other: Topic) -> None:
        """Add `other`: what the recording shows of the topic in messages that name the topic by id."""
        for index, partition in other.partitions.items():
            self.partitions[index].join(partition)


@dataclass
class Survey:
    """The partition that a recording is about, and its settings; a setting that the recording does not show is None."""

    topic: str | None = None
    topic_id: str | None = None
    replicas: tuple[int, ...] = ()
    """The replicas at the beginning, if the partition is reassigned."""

    partition: int = 0

    acks: set[str] = field(default_factory=set)
    """The acks of its producers."""

    min_insync_replicas: int | None = None
    unclean_election: bool | None = None

    seconds: float = 0.0
    """The time from the first line to the last one."""

    first_offset: int = 0
    """The smallest offset at which a follower fetches: earlier records are assumed to be equal in all logs."""

    elections: Elections = field(default_factory=Elections)
    assignments: Assignments = field(default_factory=Assignments)
    topics: dict[str, Topic] = field(default_factory=dict)

    unnamed: dict[str, Topic] = field(default_factory=dict)
    """Topics of which only the id is known."""

    internal: set[str] = field(default_factory=set)
    """The ids of Kafka's own topics."""

    ending: Ending = field(default_factory=Ending)

    departures: list[tuple[int, int | None]] = field(default_factory=list)
    """The lines at which a broker is killed, shut down, frozen or cut off; None: an administrator asks for an election,
    or for other replicas."""

    @property
    def weakest_acks(self) -> str | None:
        """The weakest acks of all producers, which the model's single kind of producer gets."""
        return next((acks for acks in WEAKEST_FIRST if acks in self.acks), None)

    def is_about(self, topic: Mapping[str, Any]) -> bool:
        """Whether an entry of a message, with the name or the id of a topic, is about the partition's topic."""
        name = topic.get("name", topic.get("topic"))
        if name is not None:
            return bool(name == self.topic)
        return topic.get("topic_id") is not None and topic.get("topic_id") == self.topic_id

    def partitions(self, body: Mapping[str, Any], topics: str, partitions: str) -> Iterator[Mapping[str, Any]]:
        """The entries about the recording's partition in the body of a message; `topics` and `partitions` are the keys
        of the lists with the entries. Raises UnreadableError."""
        for topic in listed(body, topics):
            if self.is_about(topic):
                for partition in listed(topic, partitions):
                    if _index_of(partition) == self.partition:
                        yield partition

    def choose(self) -> None:
        """Choose the partition: the only one that is written to, or else the only one that exists. Raises
        UnreadableError."""
        self._name()
        topics = self.topics | self.unnamed
        named = {(name, at): topic.partitions[at] for name, topic in topics.items() for at in sorted(topic.partitions)}
        written = [place for place, partition in named.items() if partition.acks]
        every = [place for place, partition in named.items() if partition.acks or partition.replicas is not None]
        chosen = written or every or [place for place, partition in named.items() if partition.fetching is not None]
        if not chosen:
            raise UnreadableError(
                "no message names a partition of a topic of clients; record Metadata, Produce or Fetch messages"
            )
        if len(chosen) > 1:
            places = ", ".join(f"{name[:60]}-{index}" for name, index in chosen[:4])
            defect = f"{len(chosen)} partitions {'are written to' if written else 'occur'} ({places})"
            raise UnreadableError(
                f"{defect}; a recording has to be about one partition: leave the messages about the others out"
            )
        name, self.partition = chosen[0]
        topic, partition = topics[name], named[chosen[0]]
        self.topic, self.topic_id = (name if name in self.topics else None), topic.topic_id
        self.acks, self.assignments, self.elections = partition.acks, partition.assignments, partition.elections
        first = self.assignments.first if self.assignments.is_reassigned else ()
        self.replicas = tuple(sorted(first or partition.replicas or partition.fetching or ()))
        self.elections.judge(self.departures, self.assignments.preferred_before)
        self.min_insync_replicas, self.unclean_election = topic.min_insync_replicas, topic.unclean_election
        self.first_offset = partition.lowest or 0

    def _name(self) -> None:
        """Join what the recording shows of each topic under the topic's id and under its name.

        If no message has both id and name, the topic that producers write to by name gets the id under which brokers
        send its records. Raises UnreadableError.
        """
        by_id = {topic.topic_id: topic for topic in self.topics.values() if topic.topic_id is not None}
        for topic_id in [topic_id for topic_id in self.unnamed if topic_id in by_id or topic_id in self.internal]:
            by_id.get(topic_id, Topic()).join(self.unnamed.pop(topic_id))
        written = [
            topic for topic in self.topics.values() if any(partition.acks for partition in topic.partitions.values())
        ]
        nameless = [topic for topic in written if topic.topic_id is None]
        if len(nameless) != 1 or not self.unnamed:
            return
        named = nameless[0]
        ids = [topic_id for topic_id, partition in self.unnamed.items() if partition.carried & named.values] or list(
            self.unnamed
        )
        if len(ids) > 1:
            candidates = ", ".join(ids[:4])
            raise UnreadableError(
                f"the topic that is written to has one of the ids {candidates}, but no message shows which; record a"
                " Metadata response, which names the id"
            )
        named.topic_id = ids[0]
        named.join(self.unnamed.pop(ids[0]))


def _index_of(partition: Mapping[str, Any]) -> int:
    """The number of a partition, whose key has three names in Kafka's messages. Raises UnreadableError."""
    key = next((name for name in ("partition_index", "index", "partition") if name in partition), "partition_index")
    return int(get(partition, key, int, absent=0))


def survey_of(path: Path, lines: Iterable[Message | Happening], beside: Iterable[Happening] = ()) -> Survey:
    """The survey of a recording. `beside` are lines of observations.ndjson, which are inserted by their times. Raises
    UsageError."""
    survey, began = Survey(), None
    for is_beside, line in merge(
        ((False, line) for line in lines), ((True, line) for line in beside), key=lambda pair: pair[1].t
    ):
        if is_beside and isinstance(line, Happening):
            survey.ending.hear(line)
            continue
        began = line.t if began is None else began
        survey.seconds = max(survey.seconds, line.t - began)
        try:
            if isinstance(line, Happening):
                survey.ending.hear(line)
                if line.what in DEPARTURES:
                    broker = line.keys.get("broker")
                    survey.departures.append((line.number, broker if isinstance(broker, int) else None))
            elif not line.undecoded:
                survey.ending.see(line)
                _take(survey, line)
        except UnreadableError as error:
            raise bad_line(path, line.number, error) from None
    try:
        survey.choose()
    except UnreadableError as error:
        raise UsageError(f"{path}: {error}") from None
    return survey


def _take(survey: Survey, line: Message) -> None:
    body = line.body
    match line.api, line.is_request:
        case "Metadata", False:
            _take_metadata(survey, line)
        case "CreateTopics", _:
            for topic, entry in _topics(survey, body, "topics"):
                for setting in listed(entry, "configs"):
                    _take_setting(topic, setting.get("name"), setting.get("value"))
        case "BrokerHeartbeat", _ if shuts_down(line):
            survey.departures.append((line.number, get(body, "broker_id", int)))
        case "ElectLeaders", True:
            survey.departures.append((line.number, None))
        case "AlterPartitionReassignments", True if not line.is_held:
            survey.departures.append((line.number, None))
            for _, partition, entry in _partitions(survey, body, "topics", "partitions"):
                partition.assignments.ask(line.number, asked_in(entry))
        case "Fetch", _ if line.broker is not None:
            _take_fetch(survey, line, line.broker)
        case "Fetch", False:
            _take_metadata_log(survey, line)
        case "AlterPartition", False:
            for _, partition, entry in _partitions(survey, body, "topics", "partitions"):
                _lead(partition, entry, line.number)
        case "Produce", True:
            for topic, partition, entry in _partitions(survey, body, "topic_data", "partition_data"):
                partition.acks.add(acks_of(line))
                _note_values(topic.values, entry)


def _take_metadata(survey: Survey, line: Message) -> None:
    for entry in listed(line.body, "topics"):
        name, topic_id = entry.get("name"), entry.get("topic_id")
        if isinstance(name, str) and name.startswith(INTERNAL) and isinstance(topic_id, str):
            survey.internal.add(topic_id)
    for _, partition, entry in _partitions(survey, line.body, "topics", "partitions"):
        nodes = numbers(entry, "replica_nodes")
        partition.replicas = _united(partition.replicas, set(nodes))
        partition.assignments.show(line.number, nodes, get(entry, "leader_epoch", int, absent=-1))
        _lead(partition, entry, line.number)


def _take_metadata_log(survey: Survey, line: Message) -> None:
    """Note the changes of replicas in the metadata log, for topics whose names and ids earlier messages have shown."""
    for change in listed(line.body, "partition_changes"):
        topics = [topic for topic in survey.topics.values() if topic.topic_id == change.get("topic_id")]
        if topics and change.get("replicas") is not None:
            replicas, offset = numbers(change, "replicas"), get(change, "offset", int)
            topics[0].partitions[_index_of(change)].assignments.log(line.number, offset, replicas)


def _take_fetch(survey: Survey, line: Message, broker: int) -> None:
    if not line.is_request:
        for topic, _, entry in _partitions(survey, line.body, "responses", "partitions"):
            _note_values(topic.carried, entry)
        return
    follower = follower_of(line.body) if line.body else None
    for _, partition, entry in _partitions(survey, line.body, "topics", "partitions"):
        partition.fetching = _united(partition.fetching, set() if follower is None else {follower, broker})
        offset = -1 if follower is None else get(entry, "fetch_offset", int)
        if offset >= 0:
            partition.lowest = offset if partition.lowest is None else min(partition.lowest, offset)


def asked_in(partition: Mapping[str, Any]) -> tuple[int, ...] | None:
    """The replicas in a reassignment request; None if the request cancels a reassignment. Raises UnreadableError."""
    return None if partition.get("replicas") is None else numbers(partition, "replicas")


def _lead(partition: Partition, entry: Mapping[str, Any], number: int) -> None:
    leader, epoch = entry.get("leader_id"), entry.get("leader_epoch")
    if isinstance(leader, int) and isinstance(epoch, int) and leader >= 0 and epoch >= 0:
        partition.elections.lead(number, leader, epoch)


def _note_values(values: set[str], partition: Mapping[str, Any]) -> None:
    for batch in listed(partition, "records"):
        for record in listed(batch, "records") if not batch.get("control") else ():
            value = record.get("value")
            if isinstance(value, str) and len(values) < MOST_VALUES:
                values.add(value)


def follower_of(body: Mapping[str, Any]) -> int | None:
    """The follower that sends a Fetch request with this body; None: a consumer. Raises UnreadableError."""
    state = get(body, "replica_state", dict, absent=body)
    follower: int = get(state, "replica_id", int, absent=-1)
    return follower if follower >= 0 else None


def acks_of(line: Message) -> str:
    """The acks of a Produce request, as observations spell them. Raises UnreadableError."""
    acks = get(line.body, "acks", int)
    spelled = {-1: "all", 0: "0", 1: "1"}.get(acks)
    if spelled is None:
        raise UnreadableError(f"acks is {acks}; it has to be -1, 0 or 1")
    return spelled


def _topics(survey: Survey, body: Mapping[str, Any], topics: str) -> Iterator[tuple[Topic, Mapping[str, Any]]]:
    """Yield topic and entry, for each entry in a message's list `topics` whose topic is not one of Kafka's own."""
    for entry in listed(body, topics):
        key = next((key for key in ("name", "topic", "topic_id") if entry.get(key) is not None), None)
        if key is None:
            continue
        name = get(entry, key, str)
        if name.startswith(INTERNAL) or name in survey.internal:
            continue
        of_kind = survey.unnamed if key == "topic_id" else survey.topics
        if name not in of_kind and len(of_kind) >= MOST_TOPICS:
            raise UnreadableError(f"more than {MOST_TOPICS} topics; leave out the messages about other topics")
        topic = of_kind.setdefault(name, Topic())
        if entry.get("topic_id") is not None:
            topic.topic_id = get(entry, "topic_id", str)
        yield topic, entry


def _partitions(
    survey: Survey, body: Mapping[str, Any], topics: str, partitions: str
) -> Iterator[tuple[Topic, Partition, Mapping[str, Any]]]:
    """Yield topic, partition and entry, for each entry of a message that is about a partition, unless the topic is one
    of Kafka's own. `topics` and `partitions` are the keys of the lists with the entries."""
    for topic, of_topic in _topics(survey, body, topics):
        for entry in listed(of_topic, partitions):
            yield topic, topic.partitions[_index_of(entry)], entry


def _take_setting(topic: Topic, name: Any, value: Any) -> None:
    is_count = isinstance(value, str) and value.isascii() and value.isdecimal() and len(value) < 10
    if name == MIN_ISR and is_count:
        topic.min_insync_replicas = max(1, int(value))
    if name == UNCLEAN and value in ("true", "false"):
        topic.unclean_election = value == "true"

"""Reads a running cluster into a `Snapshot`. Every request only describes: nothing is written to the cluster.

One broker, the first of the given addresses that answers, says almost everything: brokers and racks (Metadata),
partitions with their eligible leader replicas (DescribeTopicPartitions, since 3.8; before, Metadata), settings of
topics and of the whole cluster (DescribeConfigs), features (ApiVersions), the quorum (DescribeQuorum). The controller
is asked for reassignments. Each broker says its own settings, because no other broker knows them all.

A part that a broker does not say, for lack of time, of permission or of the API, becomes a line of `Snapshot.unknown`.
Without the brokers or the partitions there is no snapshot.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any

from isrcheck.checker.cluster.contents import MOST_LISTED, listed
from isrcheck.checker.cluster.live.address import Address
from isrcheck.checker.cluster.live.connection import Api, ConnectError, Connection, NoAnswerError, name_of
from isrcheck.checker.cluster.live.old_configs import OldSetting
from isrcheck.checker.cluster.live.security import Security
from isrcheck.checker.cluster.live.snapshot import (
    BrokerRead,
    FeatureRead,
    PartitionRead,
    QuorumRead,
    SettingRead,
    Snapshot,
    TopicRead,
)
from isrcheck.checker.cluster.property_files import PropertiesError, printable, shown

TOPIC, BROKER = 2, 4
"""Kafka's numbers for kinds of resources with settings (ConfigResource.Type)."""

TOPIC_KEYS = (
    "cleanup.policy",
    "flush.messages",
    "flush.ms",
    "message.format.version",
    "min.insync.replicas",
    "remote.storage.enable",
    "unclean.leader.election.enable",
)
"""The settings of topics that matter for replication; the others are not asked for."""

SOURCES = {1: "topic", 2: "broker", 3: "cluster", 4: "static", 5: "default"}
"""Where a setting is set, by the numbers of DescribeConfigs (ConfigSource)."""
UNKNOWN_SOURCE = "unknown"
SET_IN = {TOPIC: "topic", BROKER: "static"}
"""Where a setting that is no default counts as set if the broker does not say where, by the kind of its resource. This
concerns brokers before 1.1. Kafka's own client does the same (DescribeConfigsResponse)."""

Replicas = tuple[int, ...]
"""Brokers of a partition by their ids."""

TOPICS_AT_ONCE, PARTITIONS_AT_ONCE, BROKERS_AT_ONCE = 500, 2000, 16
NO_LEADER = -1
UNKNOWN_TOPIC = 3
METADATA_TOPIC = "__cluster_metadata"


@dataclass(frozen=True)
class Request:
    """What to read: from which brokers, with which security, which topics, and how long to wait for each answer."""

    addresses: tuple[Address, ...]
    security: Security
    topics: tuple[str, ...] = ()
    """The topics to read; empty: all."""
    timeout: float = 10.0
    """The longest wait in seconds for a connection, and for each answer."""


def read_cluster(request: Request) -> Snapshot:
    """Read a cluster. Raises ConnectError, NoAnswerError or PropertiesError if there is no snapshot."""
    with _first_that_answers(request) as server:
        return _Reading(request, server).read()


def _first_that_answers(request: Request) -> Connection:
    """Return a connection to the first address that answers. If none does, raise the first error, which then also names
    the other addresses."""
    problems: list[ConnectError | NoAnswerError] = []
    for address in request.addresses:
        try:
            return Connection(address, request.security, request.timeout)
        except (ConnectError, NoAnswerError) as error:
            problems.append(error)
    first, *others = problems
    also = f"; {listed(list(map(str, request.addresses[1:])))} cannot be used either" if others else ""
    raise type(first)(f"{first}{also}")


class _Reading:
    """One reading of a cluster over a connection to one of its brokers."""

    def __init__(self, request: Request, server: Connection) -> None:
        self.request = request
        self.server = server
        self.unknown: list[str] = []

    def read(self) -> Snapshot:
        read_at = datetime.now(UTC).isoformat(timespec="seconds")
        metadata = self._metadata(())
        brokers = {each.node_id: each for each in metadata.brokers}
        if not brokers:
            raise NoAnswerError(f"{self.server.address} knows no broker that is up; ask another broker")
        topics, partitions_from = self._topics()
        moving = self._reassignments(brokers.get(metadata.controller_id))
        settings = self._topic_settings(list(topics))
        with_settings = self._brokers(list(brokers.values()))
        snapshot = Snapshot(
            server=str(self.server.address),
            read_at=read_at,
            cluster_id=getattr(metadata, "cluster_id", None),
            controller=None if metadata.controller_id < 0 else metadata.controller_id,
            brokers=tuple(sorted(with_settings, key=lambda broker: broker.id)),
            cluster_settings=self._cluster_settings(),
            features=self._features(),
            quorum=self._quorum(),
            apis=tuple(sorted(self.server.versions)),
            topics=tuple(
                TopicRead(
                    name,
                    tuple(
                        replace(each, adding=moved[0], removing=moved[1])
                        if (moved := (moving or {}).get((name, each.number)))
                        else each
                        for each in sorted(topics[name], key=lambda each: each.number)
                    ),
                    settings.get(name),
                )
                for name in sorted(topics)
            ),
            partitions_from=partitions_from.title,
            reassignments_known=moving is not None,
            unknown=(),
        )
        if self.request.security.login is not None and not self.request.topics:
            self.unknown.append("topics that the user may not describe: Kafka does not mention them")
        self._compare(snapshot)
        return replace(snapshot, unknown=tuple(self.unknown))

    @contextmanager
    def _noting(self, what: str) -> Iterator[None]:
        """Note a part of the cluster as unknown, with the reason, if no broker says it."""
        try:
            yield
        except (ConnectError, NoAnswerError) as error:
            self.unknown.append(f"{what}: {error}")

    # --- brokers and partitions ---

    def _metadata(self, topics: Sequence[str] | None) -> Any:
        """Ask for the brokers and these topics (None: all)."""
        named = None if topics is None else [{"name": name, "topic_id": None} for name in topics]
        flags = {"include_cluster_authorized_operations": False, "include_topic_authorized_operations": False}
        return self.server.ask(Api.METADATA, topics=named, allow_auto_topic_creation=False, **flags)

    def _topics(self) -> tuple[dict[str, list[PartitionRead]], Api]:
        """Return the partitions of each topic, and the API that described them."""
        if self.server.has(Api.DESCRIBE_TOPIC_PARTITIONS):
            with self._noting("eligible leader replicas"):
                return self._described(), Api.DESCRIBE_TOPIC_PARTITIONS
        elif self.server.has(Api.DESCRIBE_QUORUM):
            self.unknown.append(f"eligible leader replicas: {_lacks(self.server, Api.DESCRIBE_TOPIC_PARTITIONS)}")
        answer = self._metadata(self.request.topics or None)
        return self._partitions(answer.topics), Api.METADATA

    def _described(self) -> dict[str, list[PartitionRead]]:
        wanted = [{"name": name} for name in sorted(self.request.topics)]
        found: dict[str, list[PartitionRead]] = {}
        cursor = None
        while True:
            answer = self.server.ask(
                Api.DESCRIBE_TOPIC_PARTITIONS,
                topics=wanted,
                response_partition_limit=PARTITIONS_AT_ONCE,
                cursor=cursor,
            )
            for name, partitions in self._partitions(answer.topics).items():
                found.setdefault(name, []).extend(partitions)
            following = answer.next_cursor
            if following is None:
                return found
            here = following.topic_name, following.partition_index
            if cursor is not None and here <= (cursor["topic_name"], cursor["partition_index"]):
                raise NoAnswerError(f"{self.server.address} describes the same partitions again and again")
            cursor = {"topic_name": here[0], "partition_index": here[1]}

    def _partitions(self, topics: Sequence[Any]) -> dict[str, list[PartitionRead]]:
        found = {}
        for topic in topics:
            if topic.error_code == UNKNOWN_TOPIC and topic.name in self.request.topics:
                raise PropertiesError(
                    f"--topic-name {printable(topic.name)}: there is no such topic at {self.server.address}"
                )
            if topic.error_code:
                self.unknown.append(f"topic {printable(topic.name or '')}: {name_of(topic.error_code)}")
                continue
            found[topic.name] = [_partition(each) for each in topic.partitions]
        return found

    def _reassignments(self, controller: Any | None) -> Mapping[tuple[str, int], tuple[Replicas, Replicas]] | None:
        """Return the added and removed replicas of each partition under reassignment; None if they are unknown."""
        api = Api.LIST_PARTITION_REASSIGNMENTS
        with self._noting("reassignments under way"):
            if not self.server.has(api):
                raise NoAnswerError(_lacks(self.server, api))
            if controller is None:
                raise NoAnswerError("no controller is known")
            with self._connected(controller) as connection:
                answer = connection.ask(api, timeout=timedelta(seconds=self.request.timeout), topics=None)
            if answer.error_code:
                raise NoAnswerError(f"{name_of(answer.error_code)} from {connection.address}")
            return {
                (topic.name, each.partition_index): (each.adding_replicas, each.removing_replicas)
                for topic in answer.topics
                for each in topic.partitions
            }
        return None

    def _connected(self, broker: Any) -> Connection:
        return Connection(Address(broker.host, broker.port), self.request.security, self.request.timeout)

    # --- settings ---

    def _topic_settings(self, names: Sequence[str]) -> dict[str, tuple[SettingRead, ...]]:
        found: dict[str, tuple[SettingRead, ...]] = {}
        failed: dict[str, list[str]] = {}
        with self._noting("settings of topics"):
            for start in range(0, len(names), TOPICS_AT_ONCE):
                some = names[start : start + TOPICS_AT_ONCE]
                for result in _configs(self.server, TOPIC, some, TOPIC_KEYS):
                    if result.error_code:
                        failed.setdefault(name_of(result.error_code), []).append(result.resource_name)
                    else:
                        found[result.resource_name] = _settings(result)
        for reason, topics in failed.items():
            which = f"topic {printable(topics[0])}" if len(topics) == 1 else f"{len(topics):,} topics"
            self.unknown.append(f"settings of {which}: {reason}")
        return found

    def _cluster_settings(self) -> tuple[SettingRead, ...] | None:
        if self.server.version(Api.DESCRIBE_CONFIGS) == 0:
            return ()  # brokers before 1.1 have no such settings (KIP-226)
        with self._noting("dynamic settings of the whole cluster"):
            return _settings_of_broker(self.server, "")
        return None

    def _brokers(self, brokers: Sequence[Any]) -> list[BrokerRead]:
        """Ask every broker for its own settings, several at the same time."""
        reasons: dict[str, list[int]] = {}
        with ThreadPoolExecutor(min(len(brokers), BROKERS_AT_ONCE)) as pool:
            found = list(pool.map(self._broker, brokers))
        for broker, why in found:
            if why:
                reasons.setdefault(why, []).append(broker.id)
        lines = [(listed(list(map(str, ids))), why) for why, ids in reasons.items()]
        self.unknown += [f"settings of broker {which}: {why}" for which, why in lines[:MOST_LISTED]]
        if others := lines[MOST_LISTED:]:
            self.unknown.append(f"settings of broker {listed([which for which, _ in others])}: for other reasons")
        return [broker for broker, _ in found]

    def _broker(self, broker: Any) -> tuple[BrokerRead, str]:
        """Return a broker with its settings, and the reason why it has no settings (empty if it has)."""
        read = BrokerRead(broker.node_id, broker.host, broker.port, getattr(broker, "rack", None), None)
        try:
            with self._connected(broker) as connection:
                newest = {each.name: each.max_version for each in getattr(connection.about, "supported_features", ())}
                read = replace(read, newest_metadata=newest.get("metadata.version"))
                return replace(read, settings=_settings_of_broker(connection, str(broker.node_id))), ""
        except (ConnectError, NoAnswerError) as error:
            return read, str(error)

    # --- the cluster ---

    def _features(self) -> tuple[FeatureRead, ...]:
        """Return the features that the broker supports, with the levels on which the cluster has agreed."""
        about = self.server.about
        levels = {each.name: each.max_version_level for each in getattr(about, "finalized_features", ())}
        is_known = getattr(about, "finalized_features_epoch", -1) >= 0
        names = sorted({*levels, *(each.name for each in getattr(about, "supported_features", ()))})
        return tuple(FeatureRead(name, levels.get(name, 0 if is_known else None)) for name in names)

    def _quorum(self) -> QuorumRead | None:
        if not self.server.has(Api.DESCRIBE_QUORUM):
            return None
        topic = {"topic_name": METADATA_TOPIC, "partitions": [{"partition_index": 0}]}
        with self._noting("controllers and voters"):
            answer = self.server.ask(Api.DESCRIBE_QUORUM, topics=[topic])
            states = [each for told in answer.topics for each in told.partitions]
            code = answer.error_code or next((each.error_code for each in states), 0)
            if code or not states:
                raise NoAnswerError(name_of(code) if code else f"{self.server.address} says nothing about it")
            state = states[0]
            ends = {voter.replica_id: voter.log_end_offset for voter in state.current_voters}
            return QuorumRead(
                None if state.leader_id < 0 else state.leader_id,
                tuple(sorted(ends)),
                tuple(sorted(each.replica_id for each in state.observers)),
                tuple(sorted(voter for voter, end in ends.items() if end < ends.get(state.leader_id, end))),
            )
        return None

    def _compare(self, snapshot: Snapshot) -> None:
        """Ask for the brokers again, and report those that came or went during the reading."""
        before = {broker.id for broker in snapshot.brokers}
        with self._noting("whether the cluster changed while it was read"):
            now = {each.node_id for each in self._metadata(()).brokers}
            for what, changed in (("stopped", before - now), ("came up", now - before)):
                if changed:
                    which = ", ".join(map(str, sorted(changed)))
                    self.unknown.append(f"the cluster changed while it was read: broker {which} {what}; read it again")


def _lacks(server: Connection, api: Api) -> str:
    return f"{server.address} does not answer {api.title}: it is too old, or its cluster has ZooKeeper"


def _partition(each: Any) -> PartitionRead:
    elr, last_known = getattr(each, "eligible_leader_replicas", None), getattr(each, "last_known_elr", None)
    return PartitionRead(
        each.partition_index,
        None if each.leader_id == NO_LEADER else each.leader_id,
        each.replica_nodes,
        each.isr_nodes,
        elr,
        last_known,
        getattr(each, "offline_replicas", ()),
    )


def _configs(connection: Connection, kind: int, names: Sequence[str], keys: Sequence[str] | None) -> Sequence[Any]:
    resources = [{"resource_type": kind, "resource_name": name, "configuration_keys": keys} for name in names]
    flags = {"include_synonyms": False, "include_documentation": False}
    results: Sequence[Any] = connection.ask(Api.DESCRIBE_CONFIGS, resources=resources, **flags).results
    return results


def _settings_of_broker(connection: Connection, name: str) -> tuple[SettingRead, ...]:
    """Return the settings of a broker, or with an empty name the dynamic defaults of all brokers. Raises ConnectError
    or NoAnswerError."""
    results = _configs(connection, BROKER, [name], None)
    if [each.resource_name for each in results] != [name]:
        raise NoAnswerError(f"{connection.address} describes other resources")
    if results[0].error_code:
        raise NoAnswerError(name_of(results[0].error_code))
    return _settings(results[0])


def _settings(result: Any) -> tuple[SettingRead, ...]:
    """Return the settings of an answer, without secrets: brokers hide their values, and those of other keys that look
    like secrets are left out."""
    return tuple(
        SettingRead(each.name, each.value, _source(result.resource_type, each))
        for each in result.configs
        if each.value is not None and not each.is_sensitive and shown(each.name, each.value) == printable(each.value)
    )


def _source(kind: int, setting: Any) -> str:
    if isinstance(setting, OldSetting):
        return "default" if setting.config_source else SET_IN[kind]
    return SOURCES.get(setting.config_source, UNKNOWN_SOURCE)

"""Requests about the cluster: ApiVersions, Metadata, FindCoordinator.

Each broker names the leader that it knows itself, so a broker that has missed an election names an old leader. The ISR
is the controller's, and the live brokers are those that run, because the fact sheet on Kafka does not say how
the metadata for clients reaches the brokers.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from kio.schema.errors import ErrorCode

from isrcheck.conformance.cluster.configuration.protocol import Switches, Verification
from isrcheck.conformance.wire.driving.backend import NO_LEADER, Backend
from isrcheck.conformance.wire.driving.topics import Permission
from isrcheck.conformance.wire.format.protocol import Api, Request

CLUSTER_ID = "isrcheck"
TOPIC_ID = uuid.UUID(int=1)


FINALIZED_EPOCH = 0
"""The epoch of the finalized features, which never change while the cluster is served."""

METADATA_VERSIONS = {"3.3": 7, "3.5": 11, "3.7": 19, "4.0": 25, "4.1": 27, "4.3": 30}
"""The level of the newest metadata.version of each release: 3.3-IV3, 3.5-IV2, 3.7-IV4, 4.0-IV3, 4.1-IV1, 4.3-IV0."""

OLDEST_METADATA_VERSION, OLDEST_SINCE_4_0 = 1, 7


def api_versions(backend: Backend, versions: Mapping[Api, tuple[int, int]], protocol: str, request: Request) -> Any:
    """Answer with the supported APIs and their versions, and the features of the release `protocol`; add an error if
    `request` has an unsupported version."""
    keys = (
        request.make("ApiVersion", api_key=api, min_version=first, max_version=last)
        for api, (first, last) in versions.items()
    )
    code = ErrorCode.unsupported_version if request.is_unsupported else ErrorCode.none
    features = features_of(protocol, backend.cluster.switches)
    has_features = bool(features) and request.version >= FIRST_WITH_FEATURES and not request.is_unsupported
    shown = features if has_features else ()
    supported = (
        request.make("SupportedFeatureKey", name=each.name, min_version=each.least, max_version=each.most)
        for each in shown
        if each.least or request.version >= FIRST_WITH_LEAST_0
    )
    finalized = (
        request.make("FinalizedFeatureKey", name=each.name, max_version_level=each.level, min_version_level=each.level)
        for each in shown
        if each.level
    )
    return request.make(
        "ApiVersionsResponse",
        error_code=code,
        api_keys=tuple(keys),
        supported_features=tuple(supported),
        finalized_features_epoch=FINALIZED_EPOCH if shown else -1,
        finalized_features=tuple(finalized),
    )


FIRST_WITH_FEATURES, FIRST_WITH_LEAST_0 = 3, 4
"""Versions of ApiVersions: the first with features, and the first that names features whose least level is 0."""


@dataclass(frozen=True)
class Feature:
    """A feature of a KRaft cluster."""

    name: str
    least: int
    """The least level that the brokers support."""
    most: int
    """The greatest level that the brokers support."""
    level: int
    """The finalized level; 0 if the feature is off, and then not reported."""


def features_of(protocol: str, switches: Switches) -> tuple[Feature, ...]:
    """The features of a release with KRaft, as a new cluster has them; empty for a release with ZooKeeper. The levels
    agree with the switches. The quorum can change its voters (kraft.version 1), because its voters are constants."""
    if not switches.has_kraft:
        return ()
    newest = METADATA_VERSIONS[protocol]
    if newest < METADATA_VERSIONS["4.0"]:
        return (Feature("metadata.version", OLDEST_METADATA_VERSION, newest, newest),)
    return (
        Feature("eligible.leader.replicas.version", 0, 1, int(switches.ELR)),
        Feature("kraft.version", 0, 1, 1),
        Feature("metadata.version", OLDEST_SINCE_4_0, newest, newest),
        Feature("transaction.version", 0, 2, 2 if switches.TXN_VERIFY is Verification.TV2 else 0),
    )


async def metadata(backend: Backend, broker: int, request: Request) -> Any:
    """Answer with the live brokers, and the leaders and replicas of partitions."""
    may_see = Permission.DESCRIBE_TOPIC not in backend.denied
    if request.body.topics is None:
        names: list[str | None] = [*backend.topics] if may_see else []
    else:
        names = [_name(backend, each) for each in request.body.topics]
    active = backend.active()
    return request.make(
        "MetadataResponse",
        error_code=ErrorCode.none,
        brokers=tuple(
            request.make("MetadataResponseBroker", node_id=each, host=host, port=port, rack=backend.around.rack(each))
            for each, (host, port) in sorted(backend.addresses.items())
            if each in active
        ),
        cluster_id=CLUSTER_ID,
        controller_id=backend.coordinator(),
        topics=tuple(_topic(backend, broker, request, name, may_see) for name in names),
    )


def topic_id(backend: Backend, topic: str) -> uuid.UUID:
    """The id of a topic."""
    return TOPIC_ID if topic == backend.topic else uuid.uuid5(TOPIC_ID, topic)


def _name(backend: Backend, topic: Any) -> str | None:
    """The name of the topic in an entry of a Metadata request, which gives a name or (since version 10) an id; None for
    an unknown id."""
    asked = getattr(topic, "topic_id", None)
    if not asked:
        return str(topic.name)
    return next((name for name in backend.topics if topic_id(backend, name) == asked), None)


def _topic(backend: Backend, broker: int, request: Request, name: str | None, may_see: bool) -> Any:
    code, partitions, its_id = ErrorCode.unknown_topic_or_partition, (), None
    if not may_see:
        code = ErrorCode.topic_authorization_failed
    elif name is not None and name in backend.topics:
        code, its_id = ErrorCode.none, topic_id(backend, name)
        partitions = tuple(_partition(backend, broker, request, name, index) for index in range(backend.topics[name]))
    return request.make("MetadataResponseTopic", error_code=code, name=name, topic_id=its_id, partitions=partitions)


def _partition(backend: Backend, broker: int, request: Request, topic: str, index: int) -> Any:
    record = backend.partition(topic, index)
    leader, epoch = NO_LEADER if record.leader is None else record.leader, record.leader_epoch
    if topic == backend.topic:
        leader, epoch = backend.leader_told_by(broker, request.client_id)
    return request.make(
        "MetadataResponsePartition",
        error_code=ErrorCode.leader_not_available if leader == NO_LEADER else ErrorCode.none,
        partition_index=index,
        leader_id=leader,
        leader_epoch=epoch,
        replica_nodes=record.replicas,
        isr_nodes=tuple(sorted(record.isr)),
        offline_replicas=tuple(each for each in record.replicas if not backend.cluster.is_running(each)),
    )


async def find_coordinator(backend: Backend, broker: int, request: Request) -> Any:
    """Answer with the broker on which the coordinators run."""
    node = backend.coordinator()
    host, port = backend.addresses[node]
    coordinator = {"node_id": node, "host": host, "port": port, "error_code": ErrorCode.none, "error_message": None}
    keys = getattr(request.body, "coordinator_keys", ())
    several = tuple(request.make("Coordinator", key=key, **coordinator) for key in keys) if keys else ()
    return request.make("FindCoordinatorResponse", coordinators=several, **coordinator)

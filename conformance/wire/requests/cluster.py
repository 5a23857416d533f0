"""Requests about the cluster: ApiVersions, Metadata, FindCoordinator.

Each broker names the leader that it knows itself, so a broker that has missed an election names an old leader. The ISR
is the controller's, and the live brokers are those that run, because the fact sheet on Kafka does not say how
the metadata for clients reaches the brokers.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from typing import Any

from kio.schema.errors import ErrorCode

from isrcheck.conformance.wire.driving.backend import NO_LEADER, Backend
from isrcheck.conformance.wire.format.protocol import Api, Request

CLUSTER_ID = "isrcheck"
TOPIC_ID = uuid.UUID(int=1)


def api_versions(versions: Mapping[Api, tuple[int, int]], request: Request) -> Any:
    """Answer with the supported APIs and their versions; add an error if `request` has an unsupported version."""
    keys = (
        request.make("ApiVersion", api_key=api, min_version=first, max_version=last)
        for api, (first, last) in versions.items()
    )
    code = ErrorCode.unsupported_version if request.is_unsupported else ErrorCode.none
    return request.make("ApiVersionsResponse", error_code=code, api_keys=tuple(keys))


async def metadata(backend: Backend, broker: int, request: Request) -> Any:
    """Answer with the live brokers, and the leader of the topic's only partition."""
    topics = request.body.topics
    names = [backend.topic] if topics is None else [_name(backend, each) for each in topics]
    return request.make(
        "MetadataResponse",
        brokers=tuple(
            request.make("MetadataResponseBroker", node_id=each, host=host, port=port, rack=None)
            for each, (host, port) in sorted(backend.addresses.items())
            if each in backend.live()
        ),
        cluster_id=CLUSTER_ID,
        controller_id=backend.coordinator(),
        topics=tuple(_topic(backend, broker, request, name) for name in names),
    )


def _name(backend: Backend, topic: Any) -> str | None:
    """The name of the topic in an entry of a Metadata request, which gives a name or (since version 10) an id; None for
    an unknown id."""
    return backend.topic if getattr(topic, "topic_id", None) == TOPIC_ID else topic.name


def _topic(backend: Backend, broker: int, request: Request, name: str | None) -> Any:
    is_known = name == backend.topic
    partitions = (_partition(backend, broker, request),) if is_known else ()
    code = ErrorCode.none if is_known else ErrorCode.unknown_topic_or_partition
    topic_id = TOPIC_ID if is_known else None
    return request.make("MetadataResponseTopic", error_code=code, name=name, topic_id=topic_id, partitions=partitions)


def _partition(backend: Backend, broker: int, request: Request) -> Any:
    leader, epoch = backend.leader_told_by(broker, request.client_id)
    return request.make(
        "MetadataResponsePartition",
        error_code=ErrorCode.leader_not_available if leader == NO_LEADER else ErrorCode.none,
        partition_index=0,
        leader_id=leader,
        leader_epoch=epoch,
        replica_nodes=tuple(backend.cluster.brokers),
        isr_nodes=tuple(backend.in_sync()),
        offline_replicas=tuple(each for each in backend.cluster.brokers if each not in backend.live()),
    )


async def find_coordinator(backend: Backend, broker: int, request: Request) -> Any:
    """Answer with the broker on which the coordinators run."""
    node = backend.coordinator()
    host, port = backend.addresses[node]
    coordinator = {"node_id": node, "host": host, "port": port, "error_code": ErrorCode.none, "error_message": None}
    keys = getattr(request.body, "coordinator_keys", ())
    several = tuple(request.make("Coordinator", key=key, **coordinator) for key in keys) if keys else ()
    return request.make("FindCoordinatorResponse", coordinators=several, **coordinator)

"""OffsetCommit and OffsetFetch: the offsets that consumer groups have committed.

In:  requests to the group coordinator.
Out: its answers.
"""

from __future__ import annotations

from typing import Any

from kio.schema.errors import ErrorCode

from isrcheck.conformance.wire.driving.backend import Backend
from isrcheck.conformance.wire.driving.groups import Groups
from isrcheck.conformance.wire.format.protocol import Request


async def offset_commit(backend: Backend, groups: Groups, broker: int, request: Request) -> Any:
    """Commit the offsets of a group."""
    is_here = broker == backend.coordinator()
    topics = []
    for topic in request.body.topics:
        partitions = []
        for each in topic.partitions:
            if is_here:
                at = (request.body.group_id, topic.name, each.partition_index)
                groups.commit(at, each.committed_offset, each.committed_metadata)
            code = ErrorCode.none if is_here else ErrorCode.not_coordinator
            partitions.append(
                request.make("OffsetCommitResponsePartition", partition_index=each.partition_index, error_code=code)
            )
        topics.append(request.make("OffsetCommitResponseTopic", name=topic.name, partitions=tuple(partitions)))
    return request.make("OffsetCommitResponse", topics=tuple(topics))


async def offset_fetch(backend: Backend, groups: Groups, broker: int, request: Request) -> Any:
    """Answer with the committed offsets of a group."""
    body = request.body
    if broker != backend.coordinator():
        return request.make("OffsetFetchResponse", topics=(), error_code=ErrorCode.not_coordinator)
    asked = (
        groups.partitions_of(body.group_id)
        if body.topics is None
        else {each.name: list(each.partition_indexes) for each in body.topics}
    )
    topics = []
    for name, indexes in asked.items():
        partitions = []
        for index in indexes:
            offset, metadata = groups.committed((body.group_id, name, index))
            partitions.append(
                request.make(
                    "OffsetFetchResponsePartition",
                    partition_index=index,
                    committed_offset=offset,
                    metadata=metadata,
                    error_code=ErrorCode.none,
                )
            )
        topics.append(request.make("OffsetFetchResponseTopic", name=name, partitions=tuple(partitions)))
    return request.make("OffsetFetchResponse", topics=tuple(topics), error_code=ErrorCode.none)

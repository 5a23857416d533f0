"""OffsetCommit, TxnOffsetCommit and OffsetFetch: the offsets that consumer groups have committed.

In:  requests to the group coordinator.
Out: its answers.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from kio.schema.errors import ErrorCode

from isrcheck.conformance.wire.driving.backend import Backend
from isrcheck.conformance.wire.driving.groups import Groups
from isrcheck.conformance.wire.format.protocol import Request


async def offset_commit(backend: Backend, groups: Groups, broker: int, request: Request) -> Any:
    """Commit the offsets of a group."""
    return _kept(backend, broker, request, "OffsetCommit", groups.commit)


async def txn_offset_commit(backend: Backend, groups: Groups, broker: int, request: Request) -> Any:
    """Keep the offsets of a transaction until it ends."""
    hold = partial(groups.hold, (request.body.producer_id, request.body.producer_epoch))
    return _kept(backend, broker, request, "TxnOffsetCommit", hold)


def _kept(backend: Backend, broker: int, request: Request, kind: str, keep: Callable[..., None]) -> Any:
    """The answer to a request with offsets of a group, each of which is kept if the coordinator is here."""
    is_here = broker == backend.coordinator()
    code = ErrorCode.none if is_here else ErrorCode.not_coordinator
    topics = []
    for topic in request.body.topics:
        partitions = []
        for each in topic.partitions:
            if is_here:
                at = (request.body.group_id, topic.name, each.partition_index)
                keep(at, each.committed_offset, each.committed_metadata)
            partitions.append(
                request.make(f"{kind}ResponsePartition", partition_index=each.partition_index, error_code=code)
            )
        topics.append(request.make(f"{kind}ResponseTopic", name=topic.name, partitions=tuple(partitions)))
    return request.make(f"{kind}Response", topics=tuple(topics))


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

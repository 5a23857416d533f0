"""OffsetCommit and OffsetFetch: the offsets that consumer groups have committed.

In:  requests to the group coordinator.
Out: its answers.

The offsets are kept in the memory of the server: the topic __consumer_offsets and its replication are left out.
"""

from __future__ import annotations

from typing import Any

from kio.schema.errors import ErrorCode

from isrcheck.conformance.cluster.network.records import Control
from isrcheck.conformance.wire.backend import Backend
from isrcheck.conformance.wire.protocol import Request

At = tuple[str, str, int]
"""A group, a topic and a partition."""

Committed = tuple[int, str | None]
"""An offset and its metadata."""

NOTHING: Committed = (-1, "")


class Groups:
    """The committed offsets, and those of transactions that have not ended."""

    def __init__(self) -> None:
        self._committed: dict[At, Committed] = {}
        self._held: dict[tuple[int, int], dict[At, Committed]] = {}

    def commit(self, at: At, offset: int, metadata: str | None) -> None:
        """Commit an offset."""
        self._committed[at] = offset, metadata

    def committed(self, at: At) -> Committed:
        """The committed offset; -1 if there is none."""
        return self._committed.get(at, NOTHING)

    def partitions_of(self, group: str) -> dict[str, list[int]]:
        """The partitions of each topic for which a group has committed an offset."""
        found: dict[str, list[int]] = {}
        for name, topic, partition in self._committed:
            if name == group:
                found.setdefault(topic, []).append(partition)
        return found

    def hold(self, producer: tuple[int, int], at: At, offset: int, metadata: str | None) -> None:
        """Keep an offset until the transaction of this producer (id, epoch) ends."""
        self._held.setdefault(producer, {})[at] = offset, metadata

    def release(self, producer: tuple[int, int], control: Control) -> None:
        """The transaction of this producer has ended."""
        held = self._held.pop(producer, {})
        if control is Control.COMMIT:
            self._committed.update(held)


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

"""Requests to the group coordinator: members (JoinGroup, SyncGroup, Heartbeat, LeaveGroup) and committed offsets."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from kio.schema.errors import ErrorCode

from isrcheck.conformance.wire.driving.backend import Backend, Groups, Membership
from isrcheck.conformance.wire.format.protocol import Request


async def offset_commit(backend: Backend, groups: Groups, broker: int, request: Request) -> Any:
    """Commit the offsets of a group."""
    return _kept(backend, broker, request, "OffsetCommit", groups.commit)


async def txn_offset_commit(backend: Backend, groups: Groups, broker: int, request: Request) -> Any:
    """Keep the offsets that are part of a transaction until the transaction ends."""
    hold = partial(groups.hold, (request.body.producer_id, request.body.producer_epoch))
    return _kept(backend, broker, request, "TxnOffsetCommit", hold)


def _kept(backend: Backend, broker: int, request: Request, kind: str, keep: Callable[..., None]) -> Any:
    """Pass each offset in a group's request to `keep`, if this broker is the coordinator. Return the response, built
    from the dataclasses of kio whose names begin with `kind`, such as OffsetCommit."""
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
    indexes_by_topic = (
        groups.partitions_of(body.group_id)
        if body.topics is None
        else {each.name: list(each.partition_indexes) for each in body.topics}
    )
    topics = []
    for name, indexes in indexes_by_topic.items():
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


async def join_group(backend: Backend, members: Membership, broker: int, request: Request) -> Any:
    """Let a consumer become the only member of a group, and so also its leader."""
    body, code, member = request.body, ErrorCode.not_coordinator, None
    if broker == backend.coordinator():
        now = backend.cluster.now
        code, member = members.join(body.group_id, body.member_id, body.session_timeout, now)
        backend.tell(f"{request.client_id} joins group {body.group_id}: {member.name if member else code.name}")
    first = body.protocols[0] if body.protocols else None
    name = member.name if member else body.member_id
    listed = (request.make("JoinGroupResponseMember", member_id=name, metadata=first.metadata if first else b""),)
    return request.make(
        "JoinGroupResponse",
        error_code=code,
        generation_id=member.generation if member else -1,
        protocol_name=first.name if first else "",
        leader=name,
        member_id=name,
        members=listed if member else (),
    )


async def sync_group(backend: Backend, members: Membership, broker: int, request: Request) -> Any:
    """Answer with the assignment that the leader has made."""
    body, code, assignment = request.body, ErrorCode.not_coordinator, b""
    if broker == backend.coordinator():
        made = {each.member_id: each.assignment for each in body.assignments}
        member = (body.group_id, body.member_id, body.generation_id, made)
        code, assignment = members.sync(*member, backend.cluster.now)
    return request.make("SyncGroupResponse", error_code=code, assignment=assignment)


async def heartbeat(backend: Backend, members: Membership, broker: int, request: Request) -> Any:
    """Note that the member of a group is alive."""
    body, code = request.body, ErrorCode.not_coordinator
    if broker == backend.coordinator():
        code = members.heartbeat(body.group_id, body.member_id, body.generation_id, backend.cluster.now)
    return request.make("HeartbeatResponse", error_code=code)


async def leave_group(backend: Backend, members: Membership, broker: int, request: Request) -> Any:
    """Take the member out of its group."""
    code = ErrorCode.not_coordinator
    if broker == backend.coordinator():
        code = members.leave(request.body.group_id, request.body.member_id)
    return request.make("LeaveGroupResponse", error_code=code)

"""JoinGroup, SyncGroup, Heartbeat, LeaveGroup.

In:  requests to the group coordinator.
Out: its answers.
"""

from __future__ import annotations

from typing import Any

from kio.schema.errors import ErrorCode

from isrcheck.conformance.wire.driving.backend import Backend
from isrcheck.conformance.wire.driving.membership import Membership
from isrcheck.conformance.wire.format.protocol import Request


async def join_group(backend: Backend, members: Membership, broker: int, request: Request) -> Any:
    """Let a consumer become the member of a group; it is its leader, too."""
    body, code, found = request.body, ErrorCode.not_coordinator, None
    if broker == backend.coordinator():
        now = backend.cluster.now
        code, found = members.join(body.group_id, body.member_id, body.session_timeout, now)
        backend.tell(f"{request.client_id} joins group {body.group_id}: {found.name if found else code.name}")
    first = body.protocols[0] if body.protocols else None
    name = found.name if found else body.member_id
    listed = (request.make("JoinGroupResponseMember", member_id=name, metadata=first.metadata if first else b""),)
    return request.make(
        "JoinGroupResponse",
        error_code=code,
        generation_id=found.generation if found else -1,
        protocol_name=first.name if first else "",
        leader=name,
        member_id=name,
        members=listed if found else (),
    )


async def sync_group(backend: Backend, members: Membership, broker: int, request: Request) -> Any:
    """Answer with the assignment that the leader has made."""
    body, code, assignment = request.body, ErrorCode.not_coordinator, b""
    if broker == backend.coordinator():
        made = {each.member_id: each.assignment for each in body.assignments}
        given = (body.group_id, body.member_id, body.generation_id, made)
        code, assignment = members.sync(*given, backend.cluster.now)
    return request.make("SyncGroupResponse", error_code=code, assignment=assignment)


async def heartbeat(backend: Backend, members: Membership, broker: int, request: Request) -> Any:
    """Note that the member lives."""
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

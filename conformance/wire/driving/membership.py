"""The members of consumer groups: at most one in each.

In:  requests to the group coordinator, with the time in ms.
Out: its answers.

A group with one member needs no rebalancing: the member is the leader, and assigns the partition to itself. Another
consumer is refused, as with group.max.size=1 (KIP-389). The members are kept in the memory of the server. The fact
sheet says nothing of groups: this is just what one consumer needs.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass

from kio.schema.errors import ErrorCode


@dataclass
class Member:
    """The member of a group: its generation, its assignment, and when it was last heard of."""

    name: str
    generation: int
    session_timeout: int
    heard: int
    assignment: bytes = b""


class Membership:
    """The member of each group."""

    def __init__(self) -> None:
        self._members: dict[str, Member] = {}
        self._numbers = itertools.count(1)
        self._generations = itertools.count(1)

    def join(self, group: str, name: str, session_timeout: int, now: int) -> tuple[ErrorCode, Member | None]:
        """Become the member of a group, or stay it in a new generation; an empty name asks for a new one."""
        present = self._members.get(group)
        if present is not None and now - present.heard > present.session_timeout:
            present = None
        if present is not None and present.name != name:
            return ErrorCode.group_max_size_reached, None
        if present is None and name:
            return ErrorCode.unknown_member_id, None
        name = name or f"member-{next(self._numbers)}"
        self._members[group] = found = Member(name, next(self._generations), session_timeout, now)
        return ErrorCode.none, found

    def sync(
        self, group: str, name: str, generation: int, assignments: dict[str, bytes], now: int
    ) -> tuple[ErrorCode, bytes]:
        """Take the assignment that the member, which is the leader, has made."""
        code = self.heartbeat(group, name, generation, now)
        if code is not ErrorCode.none:
            return code, b""
        found = self._members[group]
        found.assignment = assignments.get(name, found.assignment)
        return code, found.assignment

    def heartbeat(self, group: str, name: str, generation: int, now: int) -> ErrorCode:
        """Note that the member lives."""
        found = self._members.get(group)
        if found is None or found.name != name:
            return ErrorCode.unknown_member_id
        if found.generation != generation:
            return ErrorCode.illegal_generation
        found.heard = now
        return ErrorCode.none

    def leave(self, group: str, name: str) -> ErrorCode:
        """Take the member out of its group."""
        found = self._members.get(group)
        if found is None or found.name != name:
            return ErrorCode.unknown_member_id
        del self._members[group]
        return ErrorCode.none

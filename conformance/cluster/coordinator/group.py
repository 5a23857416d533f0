"""The state of one group, which records change, and the records.

In:  records, replayed one by one.
Out: the group after them.

A group of the protocol of KIP-848 is a consumer group until its last such member has left; then it becomes a classic
group. Kafka: GroupMetadataManager, OffsetMetadataManager.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum


class RecordKind(Enum):
    """What a record says: an offset is committed, a consumer has joined, the group becomes a classic group."""

    COMMIT = "commit"
    MEMBER = "member"
    CLASSIC = "classic"


class InvalidRecordError(Exception):
    """A record that contradicts the state. Kafka: IllegalStateException."""


@dataclass(frozen=True)
class GroupRecord:
    """A record in the log; each write operation has its own name."""

    kind: RecordKind
    name: str

    @classmethod
    def of(cls, payload: str) -> GroupRecord:
        """The record with this payload."""
        kind, name = payload.split()
        return cls(RecordKind(kind), name)

    @property
    def payload(self) -> str:
        """The record as it is written."""
        return f"{self.kind.value} {self.name}"


@dataclass(frozen=True)
class Group:
    """A group: the commits and members in memory, by the names of their records, and that of the conversion."""

    commits: frozenset[str] = frozenset()
    members: frozenset[str] = frozenset()
    converted_by: str | None = None

    @property
    def is_classic(self) -> bool:
        """Whether the group has become a classic group."""
        return self.converted_by is not None

    def replayed(self, record: GroupRecord) -> Group:
        """The group after a record. A classic group takes neither consumers nor the end of a consumer group, with which
        a conversion begins: raises InvalidRecordError. Kafka: getOrMaybeCreatePersistedConsumerGroup.
        """
        if record.kind is RecordKind.COMMIT:
            return replace(self, commits=self.commits | {record.name})
        if self.is_classic:
            raise InvalidRecordError(f"record {record.payload}: the group is not a consumer group")
        if record.kind is RecordKind.CLASSIC:
            return replace(self, converted_by=record.name)
        return replace(self, members=self.members | {record.name})

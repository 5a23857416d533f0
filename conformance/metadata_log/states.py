"""The state of a partition in the metadata log, and the changes of partitions, brokers and settings."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields

Brokers = tuple[int, ...]

NO_LEADER = -1
NO_CHANGE = -2
"""The leader in a PartitionChangeRecord that does not change the leader."""

NOT_KNOWN = "?"


@dataclass(frozen=True, slots=True)
class PartitionState:
    """What the controller knows of a partition. None: not known from the files."""

    replicas: Brokers | None = None
    """The replicas, the preferred leader first."""

    isr: Brokers | None = None
    elr: Brokers | None = None
    """The eligible leader replicas."""

    last_known_elr: Brokers | None = None
    adding: Brokers | None = None
    """The replicas that a reassignment adds."""

    removing: Brokers | None = None
    """The replicas that a reassignment removes."""

    leader: int | None = None
    """The leader; -1 if the partition has no leader."""

    leader_epoch: int | None = None
    partition_epoch: int | None = None
    """The number of changes of the partition before this state."""

    is_recovering: bool | None = None
    """The leader was elected uncleanly, and has not yet said that it has recovered."""

    @property
    def is_reassigned(self) -> bool:
        """Whether a reassignment is going on."""
        return bool(self.adding or self.removing)

    def differences(self, other: PartitionState) -> Iterator[tuple[str, str, str]]:
        """The fields that are known in both states and differ: name, value here, value there. The order of brokers
        counts only for replicas, because a leader knows its ISR as a set."""
        for name in NAMES:
            here, there = getattr(self, name), getattr(other, name)
            if None in (here, there) or here == there:
                continue
            if isinstance(here, tuple) and name != "replicas" and sorted(here) == sorted(there):
                continue
            yield spelled_name(name), spelled(here), spelled(there)


NAMES = tuple(field.name for field in fields(PartitionState))
"""The names of the fields of a state."""


def spelled_name(name: str) -> str:
    """The name of a field in words."""
    words = {"isr": "ISR", "elr": "ELR", "last_known_elr": "last known ELR", "is_recovering": "recovery"}
    return words.get(name, name.replace("_", " "))


def spelled(value: Brokers | int | bool | None) -> str:
    """A value of a state for people: `1,2` for brokers, `-` for no brokers and no leader, `?` if it is not known."""
    if value is None:
        return NOT_KNOWN
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, tuple):
        return ",".join(map(str, value)) or "-"
    return "-" if value == NO_LEADER else str(value)


@dataclass(slots=True)
class Change:
    """A change of a partition: where it is recorded, when, and the state after it."""

    offset: int | None
    """The offset of the record in the metadata log; None if only a text log has the change."""

    time: str
    """The time of the record in UTC, or the time as the text log writes it."""

    source: str
    """The file; for a line of a text log, FILE:LINE."""

    what: str
    """`created`, `changed`, `ELR cleared`, `topic deleted`, `in a snapshot`, or `logged` for a line of a text log."""

    state: PartitionState
    before: PartitionState | None = None
    """The state before the change, if it is known."""

    seen_in: list[str] | None = None
    """The lines of text logs that agree with this change, as FILE:LINE."""

    @property
    def is_unclean(self) -> bool:
        """Whether the change elects a leader that was neither in the ISR nor among the eligible leader replicas. If it
        is not known who was, only a leader that has to recover counts."""
        before, state = self.before, self.state
        if before is None or state.leader in (None, NO_LEADER) or state.leader_epoch == before.leader_epoch:
            return False
        if before.isr is None or before.elr is None:
            return bool(state.is_recovering) and before.is_recovering is False
        return state.leader not in (*before.isr, *before.elr)


@dataclass(frozen=True, slots=True)
class Event:
    """A change of a broker, a topic, a setting or a feature."""

    offset: int
    time: str
    subject: str
    """What has changed: `broker 1`, `topic t`, `all brokers`, `feature metadata.version`."""

    what: str

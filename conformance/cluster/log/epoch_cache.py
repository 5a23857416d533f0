"""The leader epoch cache of one log: where each leader epoch begins. Kafka: LeaderEpochFileCache.

Source: fact sheet, section 1.4; KIP-101, KIP-279, KAFKA-7415.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from isrcheck.conformance.cluster.configuration.bugs import AnyBug, Bug
from isrcheck.conformance.cluster.configuration.protocol import (
    EpochBelowFirstEntry,
    EpochCacheAssign,
    Switches,
    Truncation,
)
from isrcheck.conformance.cluster.network.records import UNDEFINED_EPOCH, UNDEFINED_OFFSET


@dataclass(frozen=True)
class EpochEntry:
    """One line of leader-epoch-checkpoint: the first record of the epoch `leader_epoch` has offset `start_offset`."""

    leader_epoch: int
    start_offset: int


@dataclass(frozen=True)
class EpochEndOffset:
    """An epoch and the offset after its last record; both are -1 if undefined."""

    leader_epoch: int
    end_offset: int


UNDEFINED_END = EpochEndOffset(UNDEFINED_EPOCH, UNDEFINED_OFFSET)


class LeaderEpochFileCache:
    """The leader epoch cache: a list of (epoch, start offset), in order."""

    def __init__(self, entries: Iterable[EpochEntry], switches: Switches, bug: AnyBug | None) -> None:
        self._entries = list(entries)
        self._switches = switches
        self._bug = bug

    @property
    def entries(self) -> tuple[EpochEntry, ...]:
        """All entries, oldest first."""
        return tuple(self._entries)

    @property
    def latest_epoch(self) -> int:
        """The epoch of the last entry; -1 without entries."""
        return self._entries[-1].leader_epoch if self._entries else UNDEFINED_EPOCH

    def assign(self, leader_epoch: int, start_offset: int) -> bool:
        """Record that an epoch begins at an offset; return whether that changed anything. Kafka: assign."""
        entry = EpochEntry(leader_epoch, start_offset)
        last = self._entries[-1] if self._entries else EpochEntry(UNDEFINED_EPOCH, UNDEFINED_OFFSET)
        if self._switches.EPOCH_CACHE_ASSIGN is EpochCacheAssign.APPEND_ONLY:
            if leader_epoch <= last.leader_epoch or start_offset < last.start_offset:
                return False
            self._entries.append(entry)
            return True
        if leader_epoch == last.leader_epoch and start_offset >= last.start_offset:
            return False
        self._entries = [
            each for each in self._entries if each.leader_epoch < leader_epoch and each.start_offset < start_offset
        ]
        self._entries.append(entry)
        return True

    def end_offset_for(self, leader_epoch: int, log_end_offset: int) -> EpochEndOffset:
        """The end of an epoch, in a log that ends at `log_end_offset`; `UNDEFINED_END` if the cache does not know the
        end. Kafka: LeaderEpochFileCache.endOffsetFor.

        The result names an epoch: since KIP-279, the largest cached epoch that is not above the requested epoch; before
        KIP-279, the requested epoch.
        """
        kip101 = self._switches.TRUNC <= Truncation.KIP101
        if leader_epoch == self.latest_epoch and (leader_epoch != UNDEFINED_EPOCH or kip101):  # -1: an empty cache
            return EpochEndOffset(leader_epoch, log_end_offset)
        if leader_epoch == UNDEFINED_EPOCH:
            return UNDEFINED_END
        higher = [each for each in self._entries if each.leader_epoch > leader_epoch]
        lower = [each for each in self._entries if each.leader_epoch <= leader_epoch]
        if not higher:
            return UNDEFINED_END
        end = higher[0].start_offset
        if self._bug is Bug.TRUNCATION_TO_WRONG_EPOCH_END:
            end = higher[1].start_offset if len(higher) > 1 else log_end_offset
        if not lower:
            if self._switches.EPOCH_BELOW_FIRST_ENTRY is EpochBelowFirstEntry.UNDEFINED:
                return UNDEFINED_END
            return EpochEndOffset(leader_epoch, end)
        return EpochEndOffset(leader_epoch if kip101 else lower[-1].leader_epoch, end)

    def truncate_from_end(self, offset: int) -> None:
        """Drop the entries that begin at or after an offset. Kafka: LeaderEpochFileCache.truncateFromEnd."""
        self._entries = [each for each in self._entries if each.start_offset < offset]

    def starts_below(self, offset: int) -> bool:
        """Whether the first entry begins before an offset."""
        return bool(self._entries) and self._entries[0].start_offset < offset

    def truncate_from_start(self, offset: int) -> None:
        """Drop the entries that begin at or before an offset, except the last, which then begins at that offset."""
        dropped = [each for each in self._entries if each.start_offset <= offset]
        if dropped:
            self._entries[: len(dropped)] = [EpochEntry(dropped[-1].leader_epoch, offset)]

    def clear(self) -> None:
        """Drop every entry. Kafka: LeaderEpochFileCache.clearAndFlush."""
        self._entries.clear()

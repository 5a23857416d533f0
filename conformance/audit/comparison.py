"""Compares the copies of a partition offset by offset: does each copy have every committed record that it must have?

Batches are equal if their offsets, leader epochs and digests are equal. If batches differ, their records are compared,
because compaction rewrites the batches of each copy separately. Compressed records that cannot be read are undecided.

A record is committed if it is below the high watermark of a broker that holds it. Every later leader has to hold it. A
broker may lack a committed record because its log ends before the record's offset or has a record of an earlier leader
epoch there. Perhaps the broker only stopped before the other brokers. Therefore the lack of the record is an error only
if the broker was in the ISR, which the folders do not show.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence, Set
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

from isrcheck.conformance.audit.copies import CopyLog, UnreadRecordsError, records_in, unread
from isrcheck.conformance.audit.findings import Finding, Grade, names, offsets
from isrcheck.conformance.kafka_format.record_batches import Batch, BatchError

LONGEST_VALUE = 40
"""The most characters of a record's value that are shown."""


@dataclass(frozen=True)
class Group:
    """Copies with the same content at some offsets: their brokers, the leader epoch, the value of the first record."""

    brokers: tuple[str, ...]
    epoch: int
    shown: str = ""


@dataclass(frozen=True)
class Region:
    """Offsets at which copies differ: the groups of copies that hold records there, and the brokers whose copy has a
    hole (`holes`): its log spans these offsets, but has no records there.

    `why` is the reason why the groups could not be compared; None if they were compared.
    """

    first: int
    last: int
    groups: tuple[Group, ...]
    holes: tuple[str, ...] = ()
    why: str | None = None

    def goes_on_as(self, other: Region) -> bool:
        """Whether `other` begins right after this region and has the same `sides`, so that both can be joined."""
        return self.last + 1 == other.first and self.sides() == other.sides()

    def sides(self) -> object:
        """Return what two successive regions must have in common to be joined: the brokers and leader epochs of the
        groups, the holes, and `why`. The values of the records may differ."""
        return [(group.brokers, group.epoch) for group in self.groups], self.holes, self.why


@dataclass(frozen=True, slots=True)
class _Piece:
    """A batch, or one record of a batch; for a record, `batch` is None."""

    first: int
    last: int
    epoch: int
    digest: bytes
    batch: Batch | None
    shown: str = ""


class _Cursor:
    """Reads a copy piece by piece: `head` is the next batch or record, None at the end of the copy."""

    def __init__(self, log: CopyLog) -> None:
        self.log = log
        self._batches = log.batches()
        self._records: Iterator[_Piece] = iter(())
        self.head: _Piece | None = None
        self.advance()

    def advance(self) -> None:
        """Move `head` to the next piece of the copy."""
        self.head = next(self._records, None)
        if self.head is None:
            batch = next(self._batches, None)
            if batch is not None:
                bounds = (batch.header.base_offset, batch.header.last_offset, batch.header.leader_epoch, batch.digest)
                self.head = _Piece(*bounds, batch)

    def open(self) -> str | None:
        """Replace the batch at the head by its records. Returns None, or the reason why the records cannot be read."""
        batch = self.head.batch if self.head else None
        if batch is None:
            return None
        try:
            pieces = [
                _Piece(
                    record.offset, record.offset, batch.header.leader_epoch, record.digest, None, shown(record.value)
                )
                for record in records_in(batch)
                if record.offset >= self.log.start
            ]
        except UnreadRecordsError as error:
            return str(error)
        except BatchError as error:
            return error.what
        self._records = iter(pieces)
        self.advance()
        return None


def compare(logs: Sequence[CopyLog]) -> Iterator[Region]:
    """Read the copies side by side; yield the regions in which they differ, in the order of their offsets."""
    before: Region | None = None
    for region in _differences([_Cursor(log) for log in logs]):
        if before is not None and before.goes_on_as(region):
            before = replace(before, last=region.last)
        else:
            if before is not None:
                yield before
            before = region
    if before is not None:
        yield before


def _differences(cursors: Sequence[_Cursor]) -> Iterator[Region]:
    while True:
        heads = [cursor for cursor in cursors if cursor.head is not None]
        if not heads:
            return
        at = min(cursor.head.first for cursor in heads if cursor.head)
        holders = [cursor for cursor in heads if cursor.head and cursor.head.first == at]
        pieces = [cursor.head for cursor in holders if cursor.head]
        last = max(piece.last for piece in pieces)
        inside = any(cursor.head and at < cursor.head.first <= last for cursor in heads)
        if _are_equal(pieces) and not inside:
            yield from _gap(cursors, holders, pieces[0])
            for cursor in holders:
                cursor.advance()
            continue
        closed = [unread(piece.batch) for piece in pieces if piece.batch and unread(piece.batch)]
        why = next(iter(closed), None) or next(filter(None, (cursor.open() for cursor in holders)), None)
        if why is not None:  # at least one piece stays a batch
            yield from _unopened(cursors, at, last, why)
        elif all(piece.batch is None for piece in pieces):  # otherwise the records are compared in the next round
            yield from _different(cursors, holders)
            for cursor in holders:
                cursor.advance()


def _are_equal(pieces: Sequence[_Piece]) -> bool:
    first = pieces[0]
    return all(
        (piece.last, piece.epoch, piece.digest, piece.batch is None)
        == (first.last, first.epoch, first.digest, first.batch is None)
        for piece in pieces
    )


def _gap(cursors: Sequence[_Cursor], holders: Sequence[_Cursor], piece: _Piece) -> Iterator[Region]:
    """Yield the region of `piece`, which all `holders` have, if some other copy has a hole (no records) there."""
    holes = _holes(cursors, holders, piece.first)
    if holes:
        brokers = tuple(cursor.log.broker for cursor in holders)
        yield Region(piece.first, piece.last, (Group(brokers, piece.epoch, piece.shown),), holes)


def _holes(cursors: Sequence[_Cursor], holders: Sequence[_Cursor], at: int) -> tuple[str, ...]:
    """The brokers whose log spans the offset `at`, but has no record there."""
    return tuple(
        cursor.log.broker
        for cursor in cursors
        if cursor not in holders and cursor.log.start <= at and (cursor.head is not None or at < cursor.log.end)
    )


def _different(cursors: Sequence[_Cursor], holders: Sequence[_Cursor]) -> Iterator[Region]:
    """Yield a region of one offset, where the `holders` have different records; equal records form a group."""
    groups = _grouped(holders, lambda piece: (piece.epoch, piece.digest))
    at = holders[0].head.first if holders[0].head else 0
    yield Region(at, at, tuple(groups.values()), _holes(cursors, holders, at))


def _grouped(cursors: Sequence[_Cursor], key: Callable[[_Piece], tuple[Any, ...]]) -> dict[tuple[Any, ...], Group]:
    """Group the copies by the `key` of their next pieces; return the groups by key."""
    groups: dict[tuple[Any, ...], Group] = {}
    for cursor in cursors:
        if piece := cursor.head:
            group = groups.get(key(piece), Group((), piece.epoch, piece.shown))
            groups[key(piece)] = replace(group, brokers=(*group.brokers, cursor.log.broker))
    return groups


def _unopened(cursors: Sequence[_Cursor], at: int, last: int, why: str) -> Iterator[Region]:
    """Yield the region of the offsets `at` to `last`, where batches differ and some batches have unreadable records.

    If each copy has a single batch there with exactly these offsets, which compaction has not rewritten, the copies
    differ. Otherwise it is unknown whether their records differ; then the region gives the reason `why`.
    """
    holders = [cursor for cursor in cursors if cursor.head and cursor.head.first <= last]
    groups = _grouped(holders, lambda piece: (piece.first, piece.last, piece.epoch, piece.digest))
    is_rewritten = any(cursor.log.copy.cleaned > at for cursor in holders)
    is_aligned = all(key[:2] == (at, last) for key in groups)
    sides = tuple(replace(group, shown="") for group in groups.values())
    yield Region(at, last, sides, why=None if is_aligned and not is_rewritten else why)
    for cursor in holders:
        while cursor.head is not None and cursor.head.first <= last:
            cursor.advance()


def shown(value: bytes | None) -> str:
    """The value of a record, shortened, for people to read."""
    if value is None:
        return "no value"
    text = value[: 4 * LONGEST_VALUE].decode(errors="replace")
    return text if len(text) <= LONGEST_VALUE else f"{text[: LONGEST_VALUE - 3]}..."


class CommittedCheck:
    """Decides which differences between copies are errors. `isr`: the brokers in the ISR; None if not known. `elr`: the
    brokers in the ELR, as far as they are known."""

    def __init__(self, logs: Sequence[CopyLog], isr: Set[str] | None, elr: Set[str]) -> None:
        self.logs = logs
        self.isr = isr
        self.elr = elr
        self._high_watermarks = {log.broker: log.copy.high_watermark or 0 for log in logs}
        self._highest = max(self._high_watermarks.values())
        self._cleaned = {log.broker: log.copy.cleaned for log in logs}
        self._told: set[tuple[str, int]] = set()
        self._compacted: dict[str, tuple[int, int]] = {}

    def judge(self, region: Region) -> Iterator[Finding]:
        """Yield the findings about a region in which copies differ."""
        if region.why is not None:
            brokers = tuple(broker for group in region.groups for broker in group.brokers)
            statement = f"{offsets(region.first, region.last)} of {names(brokers)} cannot be compared: {region.why}"
            yield Finding(Grade.UNDECIDED, "matching", statement, brokers, region.first, region.last)
        else:
            for one, other in combinations(region.groups, 2):
                yield self._pair(region, *sorted((one, other), key=lambda group: group.epoch))
        for broker in region.holes:
            yield from self._hole(region, broker)

    def judge_all(self) -> Iterator[Finding]:
        """Yield the findings about the logs as a whole; called after the last region."""
        yield from self._later_leaders()
        for log in self.logs:
            yield from self._behind(log)
        for broker, (first, count) in self._compacted.items():
            statement = f"{broker} lacks {count} of the offsets from {first} on, as compaction may do"
            yield Finding(Grade.NOTE, "matching", statement, (broker,), first)

    def _pair(self, region: Region, earlier: Group, later: Group) -> Finding:
        """Return the finding about two groups that differ; `later` has the higher leader epoch, or an equal one."""
        brokers, first = (*earlier.brokers, *later.brokers), region.first
        values = f": {earlier.shown} against {later.shown}" if earlier.shown or later.shown else ""
        who = f"{names(earlier.brokers)} differ{'s' * (len(earlier.brokers) == 1)} from {names(later.brokers)} at"
        if len(brokers) == 2:
            who = f"{names(brokers)} differ at"
        epochs = f"(epoch {earlier.epoch} against {later.epoch}{values})"
        if earlier.epoch == later.epoch:
            statement = (
                f"{who} {offsets(first, region.last)}, both of epoch {later.epoch}{values}: an epoch has one leader"
            )
            return Finding(Grade.BROKEN, "matching", statement, brokers, first, region.last)
        high_watermark, owner = self._bound(earlier)
        if first < high_watermark:
            self._told |= {(broker, first) for broker in earlier.brokers}
            last = min(region.last, high_watermark - 1)
            statement = (
                f"{who} {offsets(first, last)} {epochs}, below the high watermark {high_watermark} of {owner}: a"
                f" committed record differs, and the leader of epoch {later.epoch} did not have it"
            )
            return Finding(Grade.BROKEN, "committed", statement, brokers, first, last)
        high_watermark, owner = self._bound(later)
        if first < high_watermark:
            last = min(region.last, high_watermark - 1)
            statement = (
                f"{who} {offsets(first, last)} {epochs}, below the high watermark {high_watermark} of {owner} only"
            )
            return lacking(self.isr, self.elr, statement, earlier.brokers, first, last)
        above = "every high watermark" if first >= self._highest else "the high watermarks of both"
        statement = (
            f"{who} {offsets(first, region.last)} {epochs}, only above {above}: this is normal, and"
            f" {names(earlier.brokers)} will truncate there"
        )
        return Finding(Grade.NOTE, "matching", statement, brokers, first, region.last)

    def _hole(self, region: Region, broker: str) -> Iterator[Finding]:
        if self._cleaned[broker] > region.first:
            first, count = self._compacted.get(broker, (region.first, 0))
            self._compacted[broker] = first, count + region.last - region.first + 1
            return
        holders = tuple(holder for group in region.groups for holder in group.brokers)
        hole = offsets(region.first, region.last)
        statement = f"{broker} has a hole at {hole}, where {names(holders)} {_have(holders)} records"
        if region.first < self._highest:
            statement += (
                f", below the high watermark {self._highest}: a committed record is missing from the middle of its log"
            )
            yield Finding(Grade.BROKEN, "committed", statement, (broker,), region.first, region.last)
        else:
            yield Finding(
                Grade.NOTE, "matching", f"{statement}, above every high watermark", (broker,), region.first, region.last
            )

    def _later_leaders(self) -> Iterator[Finding]:
        """Yield the findings about leaders that lacked a committed record: the leader's epoch begins at or below the
        offset of a record that was committed in an earlier epoch."""
        for log in self.logs:
            committed = min(self._high_watermarks[log.broker], log.end)
            ends = [run.last for run in log.runs]
            for (epoch, start), told_by in _starts(self.logs, log.broker).items():
                place = bisect_left(ends, max(start, log.start))
                if place == len(ends) or log.runs[place].epoch >= epoch:
                    continue
                first = max(log.runs[place].first, start, log.start)
                if first >= committed or (log.broker, first) in self._told:
                    continue
                self._told.add((log.broker, first))
                statement = (
                    f"{log.broker} holds {offsets(first, committed - 1)} from epoch {log.runs[place].epoch} on, below"
                    f" its high watermark {committed}, and the leader of epoch {epoch} began at offset {start}"
                    f" (leader epochs of {names(told_by)}): it did not have this committed record"
                )
                yield Finding(Grade.BROKEN, "committed", statement, (log.broker, *told_by), first, committed - 1)

    def _behind(self, log: CopyLog) -> Iterator[Finding]:
        """Yield the finding about a copy, if the copy ends before an offset that is committed on another copy."""
        others = [other for other in self.logs if other is not log]
        committed = {other.broker: min(self._high_watermarks[other.broker], other.end) for other in others}
        most = max(committed.values(), default=0)
        if log.end >= most:
            return
        holders = [broker for broker, offset in committed.items() if offset > log.end]
        owners = [broker for broker, offset in committed.items() if offset == most]
        hold = f"{names(holders)} hold{'s' * (len(holders) == 1)}"
        if not log.is_whole:
            statement = (
                f"{log.broker} is not read from offset {log.end} on; {hold} offset {log.end}, and what is committed"
                f" below the high watermark {most} of {names(owners)}"
            )
            yield Finding(Grade.UNDECIDED, "committed", statement, (log.broker,), log.end, most - 1)
            return
        statement = (
            f"{log.broker} lacks {offsets(log.end, most - 1)}, below the high watermark {most} of {names(owners)}"
            f" ({hold} offset {log.end})"
        )
        if self._high_watermarks[log.broker] > log.end:
            statement += (
                f"; its own high watermark is {self._high_watermarks[log.broker]}: a committed record is missing"
            )
            yield Finding(Grade.BROKEN, "committed", statement, (log.broker,), log.end, most - 1)
        else:
            yield lacking(self.isr, self.elr, statement, (log.broker,), log.end, most - 1)

    def _bound(self, group: Group) -> tuple[int, str]:
        """The highest high watermark of the group's brokers, and the broker that has it."""
        owner = max(group.brokers, key=lambda broker: self._high_watermarks[broker])
        return self._high_watermarks[owner], owner


def lacking(
    isr: Set[str] | None, elr: Set[str], statement: str, brokers: tuple[str, ...], first: int, last: int
) -> Finding:
    """The finding that `brokers` lack committed records: BROKEN if one of these brokers is in `isr` or `elr`, UNDECIDED
    if `isr` is None, otherwise a note."""
    for group, members in (("ISR", isr or set()), ("ELR", elr)):
        inside = tuple(broker for broker in brokers if broker in members)
        if inside:
            why = f"a committed record is missing, for {names(inside)} {_was(inside)} in the {group}"
            return Finding(Grade.BROKEN, "committed", f"{statement}: {why}", brokers, first, last)
    if isr is None:
        why = f"if {names(brokers)} {_was(brokers)} in the ISR at the end, this is a loss, else normal; --isr tells"
        return Finding(Grade.UNDECIDED, "committed", f"{statement}; {why}", brokers, first, last)
    why = f"this is normal, for {names(brokers)} {_was(brokers)} not in the ISR"
    return Finding(Grade.NOTE, "committed", f"{statement}: {why}", brokers, first, last)


def later_leader_without(logs: Sequence[CopyLog], offset: int, epoch: int) -> tuple[int, int, str] | None:
    """Return the first leader after `epoch` that started at or before `offset`, and so lacked the record of `epoch`
    there: its epoch, its start offset, and a broker whose log folder shows both; None if there is no such leader."""
    leaders = [
        (later, start, log.broker)
        for log in logs
        for later, start in leader_epochs(log)
        if later > epoch and start <= offset
    ]
    return min(leaders, default=None)


def _starts(logs: Sequence[CopyLog], but: str) -> dict[tuple[int, int], list[str]]:
    """Return pairs (leader epoch, start offset), each with the brokers, except `but`, whose log folders have it."""
    starts: dict[tuple[int, int], list[str]] = {}
    for log in logs:
        if log.broker != but:
            for entry in leader_epochs(log):
                starts.setdefault(entry, []).append(log.broker)
    return dict(sorted(starts.items()))


def leader_epochs(log: CopyLog) -> Sequence[tuple[int, int]]:
    """The pairs (leader epoch, start offset) of a copy: its checkpoint's, or its batches' if it has no checkpoint."""
    if log.copy.leader_epochs is not None:
        return log.copy.leader_epochs
    return [(run.epoch, run.first) for run in log.runs]


def _have(brokers: Sequence[str]) -> str:
    return "has" if len(brokers) == 1 else "have"


def _was(brokers: Sequence[str]) -> str:
    return "was" if len(brokers) == 1 else "were"

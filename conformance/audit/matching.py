"""Compares the copies of a partition offset by offset.

In:  the logs of the copies, each of which is read once, all side by side.
Out: `Region`: offsets in a row at which the same copies agree and differ.

Batches with equal offsets, leader epochs and digests are equal. If they are not, their records are compared, since
compaction rewrites the batches of each copy by itself. Compressed records that cannot be read are left undecided.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from isrcheck.conformance.audit.copy_log import CopyLog
from isrcheck.conformance.audit.format.batches import Batch, BatchError
from isrcheck.conformance.audit.format.records import CompressedError, records_of, unread

LONGEST_VALUE = 40
"""The most characters of a record's value that are shown."""


@dataclass(frozen=True)
class Group:
    """Copies that hold the same at some offsets: their brokers, the leader epoch, the value of the first record."""

    brokers: tuple[str, ...]
    epoch: int
    shown: str = ""


@dataclass(frozen=True)
class Region:
    """Offsets at which copies differ: the groups that hold something, and the copies that have a hole there.

    `why` says why it could not be decided whether the groups differ, if so.
    """

    first: int
    last: int
    groups: tuple[Group, ...]
    holes: tuple[str, ...] = ()
    why: str | None = None

    def goes_on_as(self, other: Region) -> bool:
        """Whether another region follows directly, with the same copies in the same groups."""
        return self.last + 1 == other.first and self.sides() == other.sides()

    def sides(self) -> object:
        """The copies and epochs, without the values."""
        return [(group.brokers, group.epoch) for group in self.groups], self.holes, self.why


@dataclass(frozen=True, slots=True)
class _Piece:
    """A batch, or one record of a batch (then `batch` is None)."""

    first: int
    last: int
    epoch: int
    digest: bytes
    batch: Batch | None
    shown: str = ""


class _Cursor:
    """The next piece of a copy (`head`, None at the end)."""

    def __init__(self, log: CopyLog) -> None:
        self.log = log
        self._batches = log.batches()
        self._records: Iterator[_Piece] = iter(())
        self.head: _Piece | None = None
        self.advance()

    def advance(self) -> None:
        """Pass on to the next piece."""
        self.head = next(self._records, None)
        if self.head is None:
            batch = next(self._batches, None)
            if batch is not None:
                found = (batch.base_offset, batch.last_offset, batch.leader_epoch, batch.digest)
                self.head = _Piece(*found, batch)

    def open(self) -> str | None:
        """Replace the batch at the head by its records; return why that is not possible."""
        batch = self.head.batch if self.head else None
        if batch is None:
            return None
        try:
            pieces = [
                _Piece(record.offset, record.offset, batch.leader_epoch, record.digest, None, shown(record.value))
                for record in records_of(batch)
                if record.offset >= self.log.start
            ]
        except CompressedError as error:
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
        here = [cursor for cursor in heads if cursor.head and cursor.head.first == at]
        pieces = [cursor.head for cursor in here if cursor.head]
        last = max(piece.last for piece in pieces)
        inside = any(cursor.head and at < cursor.head.first <= last for cursor in heads)
        if _are_equal(pieces) and not inside:
            yield from _gap(cursors, here, pieces[0])
            for cursor in here:
                cursor.advance()
            continue
        closed = [unread(piece.batch) for piece in pieces if piece.batch and unread(piece.batch)]
        why = next(iter(closed), None) or next(filter(None, (cursor.open() for cursor in here)), None)
        if why is not None:  # at least one stays a batch
            yield from _unopened(cursors, at, last, why)
        elif all(piece.batch is None for piece in pieces):  # otherwise the records are compared in the next round
            yield from _different(cursors, here)
            for cursor in here:
                cursor.advance()


def _are_equal(pieces: Sequence[_Piece]) -> bool:
    first = pieces[0]
    return all(
        (one.last, one.epoch, one.digest, one.batch is None)
        == (first.last, first.epoch, first.digest, first.batch is None)
        for one in pieces
    )


def _gap(cursors: Sequence[_Cursor], here: Sequence[_Cursor], piece: _Piece) -> Iterator[Region]:
    """The region of a piece on which all agree that hold it, if another copy has a hole there."""
    holes = _holes(cursors, here, piece.first)
    if holes:
        brokers = tuple(cursor.log.broker for cursor in here)
        yield Region(piece.first, piece.last, (Group(brokers, piece.epoch, piece.shown),), holes)


def _holes(cursors: Sequence[_Cursor], here: Sequence[_Cursor], at: int) -> tuple[str, ...]:
    """The copies whose log spans an offset without having it."""
    return tuple(
        cursor.log.broker
        for cursor in cursors
        if cursor not in here and cursor.log.start <= at and (cursor.head is not None or at < cursor.log.end)
    )


def _different(cursors: Sequence[_Cursor], here: Sequence[_Cursor]) -> Iterator[Region]:
    """The region of one offset, with the copies grouped by what they hold."""
    groups: dict[tuple[int, bytes], Group] = {}
    for cursor in here:
        piece = cursor.head
        assert piece is not None
        known = groups.get((piece.epoch, piece.digest), Group((), piece.epoch, piece.shown))
        groups[piece.epoch, piece.digest] = replace(known, brokers=(*known.brokers, cursor.log.broker))
    at = here[0].head.first if here[0].head else 0
    yield Region(at, at, tuple(groups.values()), _holes(cursors, here, at))


def _unopened(cursors: Sequence[_Cursor], at: int, last: int, why: str) -> Iterator[Region]:
    """The region of a batch that cannot be opened.

    If all hold a batch of these bounds, which compaction has not rewritten, they differ; otherwise it is not known.
    """
    groups: dict[tuple[int, int, int, bytes], Group] = {}
    here = [cursor for cursor in cursors if cursor.head and cursor.head.first <= last]
    for cursor in here:
        piece = cursor.head
        assert piece is not None
        key = (piece.first, piece.last, piece.epoch, piece.digest)
        known = groups.get(key, Group((), piece.epoch, ""))
        groups[key] = replace(known, brokers=(*known.brokers, cursor.log.broker))
    is_rewritten = any(cursor.log.copy.cleaned > at for cursor in here)
    is_aligned = all(key[:2] == (at, last) for key in groups)
    yield Region(at, last, tuple(groups.values()), why=None if is_aligned and not is_rewritten else why)
    for cursor in here:
        while cursor.head is not None and cursor.head.first <= last:
            cursor.advance()


def shown(value: bytes | None) -> str:
    """The value of a record, shortened, for people to read."""
    if value is None:
        return "no value"
    text = value[: 4 * LONGEST_VALUE].decode(errors="replace")
    return text if len(text) <= LONGEST_VALUE else f"{text[: LONGEST_VALUE - 3]}..."

"""The window: the records that are followed online at present, and what is remembered of the records before them.

What a line says about records before the window is compared with what is remembered: digests of the settled records and
of their epochs, the ends of short logs, and the recently settled records (online/moving.py explains settled and short).
Parts of lines that cannot be compared are left out, and these lines are counted (`unchecked`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b

MOST_SETTLED = 10_000
"""The number of settled records whose offsets are remembered until a line says that they are acknowledged."""

MOST_RECENT = 1_000
"""The number of settled records that are remembered with their offsets."""


@dataclass(frozen=True)
class Short:
    """A log that ends before the guard, the window's first record: its length and its high watermark, as offsets in the
    window before its move. If the possible states differ in the high watermark, it has no value (None)."""

    length: int
    high_watermark: int | None


@dataclass(frozen=True)
class Move:
    """A move of the window: a settled record becomes the guard, the window's first record."""

    guard: int
    """The offset of this record in the present window."""

    records: int
    epochs: int
    partition_epochs: int
    """The numbers that are subtracted from record numbers, leader epochs and partition epochs."""

    numbers: tuple[int, ...]
    """The settled records up to the guard, by number."""

    number_epochs: tuple[int, ...]
    """The leader epochs of the settled records up to the guard."""

    shorts: Mapping[int, Short]
    """The logs that end before the guard, by broker."""

    caches: Mapping[int, tuple[tuple[int, int], ...]]
    """The entries of each broker's epoch cache up to the guard."""

    acknowledged: tuple[bool | None, ...]
    """For each record up to the guard, whether it is acknowledged in all states (True), in none (False), or in some."""


@dataclass(frozen=True)
class ShortLog(Short):
    """A log that ends before the guard, with offsets counted as in the recording, and digests of its records."""

    digests: Digests


class UnfitLine(Exception):
    """A line cannot be checked with what the window holds; the message says why."""


class FalseLine(Exception):
    """A line is true in no possible state; the message says why."""


@dataclass(frozen=True)
class Digests:
    """Digests of the first records of a log: of their values, and of their leader epochs."""

    values: bytes
    epochs: bytes


class Prefix:
    """All settled records, which can no longer change, from the first one on, as digests."""

    def __init__(self) -> None:
        self._values, self._epochs = blake2b(digest_size=16), blake2b(digest_size=16)
        self.length = 0

    def append(self, value: str, epoch: int) -> None:
        self._values.update(_spelled([value]))
        self._epochs.update(_spelled([epoch]))
        self.length += 1

    @property
    def digests(self) -> Digests:
        return Digests(self._values.digest(), self._epochs.digest())


def _spelled(items: Sequence[str | int]) -> bytes:
    """Return bytes for a digest: the leader epochs as numbers, or the values of records, each after its length."""
    return b"".join(b"%d " % item if isinstance(item, int) else b"%d:%s" % (len(item), item.encode()) for item in items)


def _digest(items: Sequence[str | int]) -> bytes:
    return blake2b(_spelled(items), digest_size=16).digest()


class Window:
    """The records followed online, and what is remembered of earlier ones. `values` are the records; if `has_guard`,
    the first is the guard. `offset`, `epoch` and `partition_epoch` are the recording's numbers that count as 0 here."""

    def __init__(self, brokers: tuple[int, ...], first_epoch: int, records: int) -> None:
        self.brokers = brokers
        self.records = records
        self.has_guard = False
        self.offset = 0
        self.epoch = first_epoch
        self.partition_epoch = 0
        self.values: list[str] = []
        self.prefix = Prefix()
        self.shorts: dict[int, ShortLog] = {}
        self.settled: dict[str, tuple[int, bool | None]] = {}
        self.recent: dict[int, str] = {}
        self.guard_epoch = first_epoch
        self.unchecked = 0
        self._unchecked: set[int] = set()

    # --------------------------------------------------------------------------------------------------- the moves

    def move(self, by: Move) -> None:
        """Move the window, and remember what is now before it: settled records, and logs that end before the guard."""
        records = zip(by.numbers, by.number_epochs, strict=True)
        settled = [(self.values[number], epoch + self.epoch) for number, epoch in records]
        if self.has_guard:
            settled[0] = (settled[0][0], self.guard_epoch)
        digests = {self.prefix.length: self.prefix.digests}
        for value, epoch in settled[int(self.has_guard) :]:  # the guard is in the digests already
            self.prefix.append(value, epoch)
            digests[self.prefix.length] = self.prefix.digests
        self.shorts = {replica: self._short(replica, short, digests) for replica, short in by.shorts.items()}
        for at, number in enumerate(by.numbers):
            if not (self.has_guard and at == 0):
                self.settled[self.values[number]] = (self.offset + at, by.acknowledged[number])
                self.recent[self.offset + at] = self.values[number]
        self.recent = dict(list(self.recent.items())[-MOST_RECENT:])
        self.settled = dict(list(self.settled.items())[-MOST_SETTLED:])
        self.values = self.values[by.records :]
        self.guard_epoch = settled[-1][1]
        self.offset += by.guard
        self.epoch += by.epochs
        self.partition_epoch += by.partition_epochs
        self.has_guard = True

    def _short(self, replica: int, short: Short, digests: Mapping[int, Digests]) -> ShortLog:
        if self.has_guard and short.length == 0:
            return self.shorts[replica]  # it was short before
        length, mark = short.length + self.offset, short.high_watermark
        is_shown = mark is not None and (mark > 0 or not self.has_guard)
        return ShortLog(length, mark + self.offset if mark is not None and is_shown else None, digests[length])

    def pass_line(self, number: int) -> None:
        """Add 1 to `unchecked` if a part of this line, which the search has now passed, was left out."""
        self.unchecked += number in self._unchecked
        self._unchecked.discard(number)

    def leave_out(self, number: int) -> None:
        """Note that a part of a line is not checked."""
        self._unchecked.add(number)

    def forget_high_watermark(self, broker: int) -> None:
        """If a broker's log ends before the guard, forget its high watermark, which may fall at a restart."""
        if broker in self.brokers and (replica := self.brokers.index(broker)) in self.shorts:
            self.shorts[replica] = replace(self.shorts[replica], high_watermark=None)

    # ---------------------------------------------------------------------------------- what lines are compared with

    @property
    def known(self) -> set[str]:
        """The values of the window's records and of the recently settled records."""
        return {*self.values, *self.settled, *self.recent.values()}

    def shows(self, offset: int) -> bool:
        """Whether the window represents this offset exactly: the offset is after the guard's, or there is no guard."""
        return not self.has_guard or offset > self.offset

    def short(self, broker: int) -> ShortLog | None:
        """What is known of a broker's log if it ends before the guard, the window's first record; otherwise None."""
        return self.shorts.get(self.brokers.index(broker))

    def check_short(self, broker: int, log: Sequence[str], epochs: Sequence[int] | None) -> None:
        """Raise FalseLine unless a broker's log ends before the guard, and has these records and, if given, epochs."""
        short = self.short(broker)
        if short is None:
            raise FalseLine(f"the log of broker {broker} has more than {self.offset} records")
        if len(log) != short.length:
            raise FalseLine(f"the log of broker {broker} has {short.length} records")
        if short.digests.values:
            self._check(log, epochs, short.digests)

    def check_prefix(self, log: Sequence[str], epochs: Sequence[int] | None) -> None:
        """Raise FalseLine unless a log begins with the settled records up to the guard and, if given, their epochs."""
        self._check(log[: self.offset + 1], epochs, self.prefix.digests)

    @staticmethod
    def _check(log: Sequence[str], epochs: Sequence[int] | None, digests: Digests) -> None:
        length = len(log)
        if _digest(log) != digests.values:
            raise FalseLine(f"no log has these records at the offsets below {length}")
        if epochs is not None and _digest(epochs[:length]) != digests.epochs:
            raise FalseLine(f"no log has these leader epochs at the offsets below {length}")

    def check_guard(self, epoch: int | None) -> None:
        """Raise FalseLine unless the guard, the window's first record, has this leader epoch."""
        if epoch != self.guard_epoch:
            raise FalseLine(f"the epoch of the record at offset {self.offset} is {self.guard_epoch}")

    def cache(self, entries: Sequence[tuple[int, int]]) -> tuple[tuple[int, int], ...]:
        """Return an epoch cache from the guard on, as numbered here. Raises FalseLine if the guard's epoch differs."""
        epoch, _ = max((entry for entry in entries if entry[1] <= self.offset), default=(None, 0))
        self.check_guard(epoch)
        later = [(epoch, start - self.offset) for epoch, start in entries if start > self.offset]
        return ((max(self.guard_epoch, self.epoch), 0), *later)

    def since_guard(
        self, number: int, records: Sequence[str], offsets: Sequence[int]
    ) -> tuple[tuple[int, ...], tuple[str, ...]]:
        """Return the offsets and records of a line from the guard on. Raises FalseLine if a record before the guard is
        not the settled record at its offset, and UnfitLine if another record is not among the window's records."""
        kept: list[tuple[int, str]] = []
        for offset, value in zip(offsets, records, strict=True):
            if offset < self.offset:
                settled = self.recent.get(offset)
                if settled is None:
                    self.leave_out(number)
                elif settled != value:
                    raise FalseLine(f"the record at offset {offset} is {settled}, in every log")
            elif value in self.values:
                kept.append((offset - self.offset, value))
            else:
                raise UnfitLine(f"{value} is shown before a line sends it, or at another offset than in earlier lines")
        return tuple(offset for offset, _ in kept), tuple(value for _, value in kept)

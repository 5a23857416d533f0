"""Where the window is, and the lines of the recording in its terms.

In:  the lines of a recording, and the moves of the window (settled.py).
Out: the same lines, counted from the beginning of the window, or why a line is false in all states.

What a line says of the part before the window is compared with what is known of it: a digest of the settled records and
of their epochs, the ends of short logs, and the records that were settled lately. What cannot be compared is left out
and counted (`unchecked`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b

from isrcheck.conformance.follow.recorded.faults import FaultKind
from isrcheck.conformance.follow.recorded.lines import (
    Acked,
    AlterRequest,
    Applied,
    Disk,
    Fault,
    HighWatermark,
    Holds,
    Line,
    LogEnd,
    Metadata,
    Read,
    Sent,
    View,
)

MOST_SETTLED = 10_000
"""The number of settled records whose offsets are remembered until a line says that they are acknowledged."""


MOST_RECENT = 1_000
"""The number of settled records that are remembered with their offsets."""


@dataclass(frozen=True)
class Short:
    """The end of a log that ends before the guard, its high watermark if it is the same in all states, and its cache
    of leader epochs; counted as in the window before the move.
    """

    length: int
    high_watermark: int | None


@dataclass(frozen=True)
class Move:
    """The window moves so that the guard is the record at `guard`, an offset in the present window.

    `records`, `epochs` and `partition_epochs` are subtracted. `values` and `guard_epochs` are the settled records by
    number with their epochs, up to the guard. `caches` are the entries of each broker's epoch cache up to the guard,
    None for a short log. `acknowledged` says for each record up to the guard whether it is acknowledged in all states
    (True), in none (False), or in some (None).
    """

    guard: int
    records: int
    epochs: int
    partition_epochs: int
    numbers: tuple[int, ...]
    number_epochs: tuple[int, ...]
    shorts: Mapping[int, Short]
    caches: Mapping[int, tuple[tuple[int, int], ...]]
    acknowledged: tuple[bool | None, ...]


@dataclass(frozen=True)
class ShortLog:
    """A log that ends before the guard: its length, its high watermark (None: not known) and its digests."""

    length: int
    high_watermark: int | None
    digests: Digests


class UnfitLine(Exception):
    """A line needs what the window does not hold; the message says what."""


class FalseLine(Exception):
    """A line is true in no state; the message says why."""


@dataclass(frozen=True)
class Digests:
    """Digests of a log up to some offset: of its values and of its epochs."""

    values: bytes
    epochs: bytes


def shown(line: Line, since: int = 0) -> Sequence[str]:
    """The records that a line shows, in logs from an offset on."""
    if isinstance(line, Sent | Acked):
        return (line.value,)
    if isinstance(line, Disk):
        return line.log[since:]
    if isinstance(line, Read | Holds):
        return [value for offset, value in zip(line.offsets, line.records, strict=True) if offset >= since]
    return ()


class Prefix:
    """The settled records, of which only digests are kept."""

    def __init__(self) -> None:
        self._values, self._epochs = blake2b(digest_size=16), blake2b(digest_size=16)
        self.length = 0

    def append(self, value: str, epoch: int) -> None:
        """Add the next settled record."""
        self._values.update(_spelled(value))
        self._epochs.update(b"%d " % epoch)
        self.length += 1

    @property
    def digests(self) -> Digests:
        """The digests up to here."""
        return Digests(self._values.digest(), self._epochs.digest())


def _spelled(value: str) -> bytes:
    encoded = value.encode()
    return b"%d:%s" % (len(encoded), encoded)


def _digest_of_values(values: Sequence[str]) -> bytes:
    return blake2b(b"".join(map(_spelled, values)), digest_size=16).digest()


def _digest_of_epochs(epochs: Sequence[int]) -> bytes:
    return blake2b(b"".join(b"%d " % epoch for epoch in epochs), digest_size=16).digest()


class Window:
    """The position of the window. `values` are its records, by number; with a guard, the first one is the guard.

    `offset` is the offset in the recording of the window's offset 0, and so for `epoch` and `partition_epoch`.
    """

    def __init__(self, brokers: tuple[int, ...], first_epoch: int, records: int, log_size: int) -> None:
        self.brokers = brokers
        self.records = records
        self.log_size = log_size
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
        self._unchecked: dict[int, int] = {}

    # --------------------------------------------------------------------------------------------------- the moves

    def move(self, by: Move) -> None:
        """Move the window: note what is left behind."""
        records = zip(by.numbers, by.number_epochs, strict=True)
        known = [(self.values[number], epoch + self.epoch) for number, epoch in records]
        if self.has_guard:
            known[0] = (known[0][0], self.guard_epoch)
        digests = {self.prefix.length: self.prefix.digests}
        for value, epoch in known[int(self.has_guard) :]:  # the guard is in the digests already
            self.prefix.append(value, epoch)
            digests[self.prefix.length] = self.prefix.digests
        self.shorts = {replica: self._short(replica, short, digests) for replica, short in by.shorts.items()}
        for at, number in enumerate(by.numbers):
            if not (self.has_guard and at == 0):
                self.settled[self.values[number]] = (self.offset + at, by.acknowledged[number])
                self.recent[self.offset + at] = self.values[number]
        for offset in list(self.recent)[: max(0, len(self.recent) - MOST_RECENT)]:
            del self.recent[offset]
        for value in list(self.settled)[: max(0, len(self.settled) - MOST_SETTLED)]:
            del self.settled[value]
        self.values = self.values[by.records :]
        self.guard_epoch = known[-1][1]
        self.offset += by.guard
        self.epoch += by.epochs
        self.partition_epoch += by.partition_epochs
        self.has_guard = True

    def _short(self, replica: int, short: Short, digests: Mapping[int, Digests]) -> ShortLog:
        if self.has_guard and short.length == 0:
            return self.shorts[replica]  # it was short before
        mark = short.high_watermark
        is_shown = mark is not None and (mark > 0 or not self.has_guard)
        length = short.length + self.offset
        return ShortLog(length, mark + self.offset if mark is not None and is_shown else None, digests[length])

    def pass_line(self, line: Line) -> None:
        """A line was passed: note what later lines refer to."""
        if isinstance(line, Acked):
            self.settled.pop(line.value, None)
        if isinstance(line, Fault) and line.what is FaultKind.START and line.broker in self.brokers:
            replica = self.brokers.index(line.broker)
            if replica in self.shorts:  # it may start with an earlier high watermark
                self.shorts[replica] = replace(self.shorts[replica], high_watermark=None)
        shown = self._unchecked.pop(line.number, 0)
        self.unchecked += shown

    # --------------------------------------------------------------------------------------------------- the lines

    def new_records(self, line: Line) -> tuple[str, ...]:
        """The records that a line sends, or shows without a line that has sent them; they join the window."""
        if isinstance(line, Sent):
            return (line.value,)
        known = {*self.values, *self.settled, *self.recent.values()}
        return tuple(dict.fromkeys(value for value in shown(line, self.offset) if value not in known))

    def rewrite(self, line: Line) -> Line | None:
        """A line in terms of the window; None if it claims nothing there. Raises UnfitLine, and FalseLine."""
        if isinstance(line, Sent):
            return line
        if isinstance(line, Acked):
            return self._acked(line)
        if isinstance(line, Disk):
            return self._disk(line)
        if isinstance(line, Read):
            return self._read(line)
        if isinstance(line, Holds):
            return self._holds(line)
        if isinstance(line, View):  # what a broker believes; the window forgets what all have heard
            self._leave_out(line)
            return None
        if isinstance(line, HighWatermark):
            return self._high_watermark(line)
        if isinstance(line, LogEnd):
            return self._log_end(line)
        return self.rewrite_control(line)

    def rewrite_control(self, line: Line) -> Line:
        """A line about leaders, ISR, requests, faults, or a checkpoint, in terms of the window."""
        if isinstance(line, Metadata) and line.partition_epoch is not None:
            return replace(line, partition_epoch=line.partition_epoch - self.partition_epoch)
        if isinstance(line, AlterRequest | Applied):
            return replace(line, partition_epoch=line.partition_epoch - self.partition_epoch)
        if isinstance(line, Disk) and line.checkpoint is not None:
            shown = self.is_behind(line.checkpoint)
            return replace(line, checkpoint=line.checkpoint - self.offset if shown else None)
        return line

    def is_behind(self, offset: int) -> bool:
        """Whether the window shows this offset exactly: not before the guard, or there is none."""
        return not self.has_guard or offset > self.offset

    def _acked(self, line: Acked) -> Line | None:
        if line.value in self.values[int(self.has_guard) :]:
            offset = line.offset
            if offset is not None and self.has_guard and offset <= self.offset:
                raise FalseLine(f"{line.value} is in no log at offset {offset}")
            return replace(line, offset=None if offset is None else offset - self.offset)
        if line.value not in self.settled:
            raise UnfitLine(
                f"{line.value} is acknowledged, but no line says that it is sent, or it is settled long since"
            )
        offset, is_acknowledged = self.settled[line.value]
        if line.offset not in (None, offset):
            raise FalseLine(f"{line.value} is at offset {offset}")
        if is_acknowledged is False:
            raise FalseLine(f"{line.value} is not acknowledged")
        if is_acknowledged is None:
            raise UnfitLine(f"{line.value} is acknowledged in some states only, which the window holds no more")
        return None

    def _disk(self, line: Disk) -> Line | None:
        replica = self.brokers.index(line.broker)
        for value in line.log[self.offset :]:
            if value not in self.values:
                raise UnfitLine(f"{value} is on disk before a line says that it is sent")
        if not self.has_guard:
            return line
        short = self.shorts.get(replica)
        if len(line.log) <= self.offset:
            self._check_short(line, short)
            log: tuple[str, ...] = ()
            epochs: tuple[int, ...] | None = None if line.batch_epochs is None else ()
            entries = None
        else:
            self._check(line.log[: self.offset + 1], line.batch_epochs, self.prefix.digests, self.offset + 1)
            log = line.log[self.offset :]
            epochs = None
            if line.batch_epochs is not None:
                # The guard's epoch is in the digest; in the window it may count as a later one.
                guard, *later = line.batch_epochs[self.offset :]
                epochs = (max(guard, self.epoch), *later)
            entries = self._cache(line.epoch_cache)
        checkpoint = self._checkpoint(line)
        return replace(line, log=log, batch_epochs=epochs, epoch_cache=entries, checkpoint=checkpoint)

    def _check_short(self, line: Disk, short: ShortLog | None) -> None:
        name = f"broker {line.broker}"
        if short is None:
            raise FalseLine(f"the log of {name} has more than {self.offset} records")
        if len(line.log) != short.length:
            raise FalseLine(f"the log of {name} has {short.length} records")
        if short.digests.values:
            self._check(line.log, line.batch_epochs, short.digests, short.length)

    def _check(self, log: Sequence[str], epochs: Sequence[int] | None, digests: Digests, length: int) -> None:
        if _digest_of_values(log) != digests.values:
            raise FalseLine(f"one of the first {length} records is another one, in every log")
        if epochs is not None and _digest_of_epochs(epochs[:length]) != digests.epochs:
            raise FalseLine(f"one of the first {length} records has another epoch, in every log")

    def _cache(self, entries: tuple[tuple[int, int], ...] | None) -> tuple[tuple[int, int], ...] | None:
        """The entries of a leader epoch checkpoint behind the guard, and the last one before it."""
        if entries is None:
            return None
        before = max((entry for entry in entries if entry[1] <= self.offset), default=None)
        if before is None or before[0] != self.guard_epoch:
            raise FalseLine(f"the epoch of the record at offset {self.offset} is {self.guard_epoch}")
        later = [(epoch, start - self.offset) for epoch, start in entries if start > self.offset]
        return ((max(before[0], self.epoch), 0), *later)

    def _checkpoint(self, line: Disk) -> int | None:
        """A checkpointed high watermark in terms of the window; None if it is before it, where it is not checked."""
        if line.checkpoint is None or self.is_behind(line.checkpoint):
            return None if line.checkpoint is None else line.checkpoint - self.offset
        self._leave_out(line)
        return None

    def _leave_out(self, line: Line) -> None:
        self._unchecked[line.number] = 1

    def _read(self, line: Read) -> Line | None:
        kept = self._since_guard(line, line.records, line.offsets)
        if not kept:
            return None
        offsets = tuple(offset - self.offset for offset, _ in kept)
        return replace(line, offsets=offsets, records=tuple(value for _, value in kept))

    def _holds(self, line: Holds) -> Line | None:
        kept = self._since_guard(line, line.records, line.offsets)
        if not kept:
            return None
        offsets = tuple(offset - self.offset for offset, _ in kept)
        epochs = None
        if line.batch_epochs is not None:
            epochs = tuple(max(epoch, self.epoch) for epoch in line.batch_epochs[-len(kept) :])
        return replace(line, offsets=offsets, records=tuple(value for _, value in kept), batch_epochs=epochs)

    def _since_guard(self, line: Line, records: Sequence[str], offsets: Sequence[int]) -> list[tuple[int, str]]:
        """The records of a line from the guard on; those before it are compared with the settled records."""
        kept = []
        for offset, value in zip(offsets, records, strict=True):
            if offset < self.offset:
                known = self.recent.get(offset)
                if known is None:
                    self._leave_out(line)
                elif known != value:
                    raise FalseLine(f"the record at offset {offset} is {known}, in every log")
            elif value in self.values:
                kept.append((offset, value))
            else:
                raise UnfitLine(f"{value} is shown before a line says that it is sent, or at another offset")
        return kept

    def _high_watermark(self, line: HighWatermark) -> Line | None:
        if self.is_behind(line.high_watermark):
            return replace(line, high_watermark=line.high_watermark - self.offset)
        short = self.shorts.get(self.brokers.index(line.broker))
        if short is not None and short.high_watermark is not None and short.high_watermark != line.high_watermark:
            raise FalseLine(f"the high watermark of broker {line.broker} is {short.high_watermark}")
        if short is None or short.high_watermark is None:
            self._leave_out(line)
        return replace(line, high_watermark=0)

    def _log_end(self, line: LogEnd) -> Line | None:
        if self.is_behind(line.log_end_offset):
            epoch = line.last_epoch
            if self.has_guard and line.log_end_offset == self.offset + 1 and epoch is not None:
                if epoch != self.guard_epoch:
                    raise FalseLine(f"the epoch of the record at offset {self.offset} is {self.guard_epoch}")
                epoch = None
            return replace(line, log_end_offset=line.log_end_offset - self.offset, last_epoch=epoch)
        short = self.shorts.get(self.brokers.index(line.broker))
        if short is None:
            raise FalseLine(f"the log of broker {line.broker} has more than {self.offset} records")
        if short.length != line.log_end_offset:
            raise FalseLine(f"the log of broker {line.broker} ends at {short.length}")
        return replace(line, log_end_offset=0, last_epoch=None)

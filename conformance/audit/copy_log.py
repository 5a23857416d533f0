"""Reads the log of one copy of a partition, batch by batch, and collects what the checks ask.

In:  a `Copy`. Out: its batches in the order of their offsets; meanwhile, and after the last one, what is known of it.

Reading ends before the first batch that cannot be read. At the very end of the log, where nothing was flushed yet, this
is what a loss of power leaves (`torn`); anywhere else it is damage.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from isrcheck.conformance.audit.findings import Finding, Grade
from isrcheck.conformance.audit.folder import Copy
from isrcheck.conformance.audit.format.batches import Batch, BatchError, LimitError, OldFormatError, batches_of
from isrcheck.conformance.audit.format.files import FileError, opened

MOST_EPOCHS = 100_000
"""The most changes of the leader epoch of a log."""

CURE = "what follows is not read; copy the file again, or let this broker replicate the partition anew"


@dataclass(frozen=True)
class EpochRun:
    """Batches in a row of one leader epoch."""

    epoch: int
    first: int
    last: int


class CopyLog:
    """The log of a copy. `batches` can be read once; `end` and what else it counts are final once it is exhausted.

    `start` is the log start offset, `end` the log end offset, or the first offset that was not read if `is_whole` is
    false. `heard` is called with each batch before it is passed on.
    """

    def __init__(self, copy: Copy, most: int) -> None:
        self.copy = copy
        self.broker = copy.broker
        self.start = max(copy.log_start or 0, copy.segments[0][0])
        self.end = copy.segments[0][0]
        self.last_epoch: int | None = None
        self.runs: list[EpochRun] = []
        self.batches_read = self.records_read = self.bytes_read = self.segments_read = 0
        self.compressed: Counter[str] = Counter()
        self.torn: str | None = None
        self.is_whole = True
        self.findings: list[Finding] = []
        self.heard: list[Callable[[Batch], None]] = []
        self._most = most
        self._went_back = False

    def batches(self) -> Iterator[Batch]:
        """The batches that hold offsets from the log start on, in the order of their offsets."""
        reached = self.copy.segments[0][0]
        try:
            for place, (base, path) in enumerate(self.copy.segments):
                if base < reached:
                    what = f"it is named after offset {base}, and the segment before it ends at {reached}; {CURE}"
                    raise FileError(path, what)
                reached = base
                for batch in self._in_segment(path, place == len(self.copy.segments) - 1, base):
                    if batch.base_offset < reached:
                        what = f"the batch begins at offset {batch.base_offset}, and offset {reached} is due; {CURE}"
                        raise FileError(path, what, batch.byte)
                    reached = batch.last_offset + 1
                    self._take(path, batch)
                    if batch.last_offset >= self.start:
                        yield batch
                self.segments_read += 1
                self.end = max(self.end, reached)
        except FileError as error:
            self._stop(Grade.DAMAGED, "damage", str(error))
        except _LimitReachedError:
            pass

    def _in_segment(self, path: Path, is_last: bool, base: int) -> Iterator[Batch]:
        """The batches of a segment; after an end that a loss of power leaves, there are no more. Raises FileError."""
        with opened(path) as (file, size):
            try:
                for batch in batches_of(file, size, self._most):
                    yield batch
                    base = batch.last_offset + 1
            except LimitError as error:
                rest = f"{size - error.byte} bytes from offset {base} on are not checked; raise --most-bytes"
                self._stop(Grade.UNDECIDED, "limit", f"{path}: byte {error.byte}: {error.what}; {rest}")
                raise _LimitReachedError from None
            except OldFormatError as error:
                raise FileError(path, f"{error.what}; nothing from offset {base} on is checked", error.byte) from None
            except BatchError as error:
                flushed = (self.copy.recovery_point or 0) > base
                if flushed or not (is_last and error.reaches_end):
                    at = f"offset {base}" + (", below the recovery point" if flushed else "")
                    raise FileError(path, f"{error.what} (at {at}); {CURE}", error.byte) from None
                self.torn = f"{path}: byte {error.byte}: {error.what}"
                why = f"the log is torn at its end, as a loss of power leaves it; Kafka cuts it at offset {base}"
                what = f"{self.torn}: {why}"
                self.findings.append(Finding(Grade.NOTE, "torn", what, (self.broker,), base))

    def _take(self, path: Path, batch: Batch) -> None:
        """Count a batch, and check that its leader epoch is not lower than the one before."""
        self.batches_read += 1
        self.records_read += batch.count
        self.end = max(self.end, batch.last_offset + 1)
        if batch.codec != "none":
            self.compressed[batch.codec] += 1
        epoch = batch.leader_epoch
        if self.last_epoch is not None and epoch < self.last_epoch and not self._went_back:
            self._went_back = True  # said once: in a log that is no log, every batch may do it
            what = (
                f"{self.broker}: leader epochs go back at offset {batch.base_offset}, from {self.last_epoch} to {epoch}"
                f" ({path}: byte {batch.byte})"
            )
            self.findings.append(Finding(Grade.BROKEN, "epochs", what, (self.broker,), batch.base_offset))
        self.last_epoch = epoch
        if self.runs and self.runs[-1].epoch == epoch:
            self.runs[-1] = EpochRun(epoch, self.runs[-1].first, batch.last_offset)
        elif len(self.runs) == MOST_EPOCHS:
            raise FileError(path, f"the log has more than {MOST_EPOCHS} changes of the leader epoch", batch.byte)
        else:
            self.runs.append(EpochRun(epoch, batch.base_offset, batch.last_offset))
        for hear in self.heard:
            hear(batch)

    def _stop(self, grade: Grade, check: str, what: str) -> None:
        self.is_whole = False
        self.findings.append(Finding(grade, check, what, (self.broker,), self.end))


class _LimitReachedError(Exception):
    """Reading of a copy ended at the limit of --most-bytes."""

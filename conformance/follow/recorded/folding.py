"""Folds records that a recording always shows together into one record of the model.

In:  a recording.
Out: the same recording with fewer records, or None if nothing can be folded.

A producer sends many records as one batch, which a log holds completely or not at all. The model appends records one
after the other, so a batch has many states that no line shows. Consecutive records are folded if every log has all of
them or none, always at the same offsets and in one leader epoch; if they are sent, and acknowledged, directly after
each other; and if no line names an offset between them. A path with the folded record stands for one that appends its
records one after the other. So an explanation of the folded recording is one of the recording itself, but a rejection
is not.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from isrcheck.conformance.follow.recorded.lines import Acked, Disk, HighWatermark, Holds, Line, LogEnd, Read, Sent
from isrcheck.conformance.follow.recorded.recording import Recording

FEWEST = 5
"""The fewest records that are folded: a few records have few states."""


def folded(recording: Recording) -> Recording | None:
    """The recording with batches as single records, or None."""
    places = _places(recording)
    bounds = set(_bounds(recording))
    groups: list[list[str]] = []
    for value in recording.values:
        is_next = bool(groups) and _is_together(recording, groups[-1][-1], value, places, bounds)
        if is_next:
            groups[-1].append(value)
        else:
            groups.append([value])
    large = [group for group in groups if len(group) >= FEWEST]
    if not large:
        return None
    return _Fold(large, places).recording(recording)


def _places(recording: Recording) -> dict[str, int]:
    """The offset of each record that has the same offset, and no other neighbour there, wherever it is shown."""
    found: dict[str, set[int]] = {}
    at: dict[int, set[str]] = {}
    for line in recording.lines:
        for offset, value in _shown(line):
            found.setdefault(value, set()).add(offset)
            at.setdefault(offset, set()).add(value)
    return {value: min(offsets) for value, offsets in found.items() if len(offsets) == 1 == len(at[min(offsets)])}


def _shown(line: Line) -> Iterator[tuple[int, str]]:
    if isinstance(line, Disk):
        yield from enumerate(line.log)
    elif isinstance(line, Read | Holds):
        yield from zip(line.offsets, line.records, strict=True)
    elif isinstance(line, Acked) and line.offset is not None:
        yield line.offset, line.value


def _bounds(recording: Recording) -> Iterator[int]:
    """The offsets that lines name other than as the place of a record."""
    for line in recording.lines:
        if isinstance(line, Disk):
            yield len(line.log)
            yield from (start for _, start in line.epoch_cache or ())
            if line.checkpoint is not None:
                yield line.checkpoint
        elif isinstance(line, Read | Holds) and line.offsets:
            yield from (line.offsets[0], line.offsets[-1] + 1)
        elif isinstance(line, HighWatermark):
            yield line.high_watermark
        elif isinstance(line, LogEnd):
            yield line.log_end_offset


def _is_together(recording: Recording, one: str, other: str, places: dict[str, int], bounds: set[int]) -> bool:
    """Whether two consecutive records can be folded."""
    if one not in places or places.get(other) != places[one] + 1 or places[other] in bounds:
        return False
    for line in recording.lines:
        if isinstance(line, Disk | Read | Holds) and (one in _values(line)) != (other in _values(line)):
            return False
        if isinstance(line, Disk | Holds) and line.batch_epochs and one in _values(line):
            at = _values(line).index(one)
            if line.batch_epochs[at] != line.batch_epochs[at + 1]:
                return False
    return all(_follows(recording, kind, one, other) for kind in (Sent, Acked))


def _values(line: Disk | Read | Holds) -> tuple[str, ...]:
    return line.log if isinstance(line, Disk) else line.records


def _follows(recording: Recording, kind: type[Sent | Acked], one: str, other: str) -> bool:
    """Whether the second record's line of this kind comes directly after the first one's, or both have none."""
    found = {
        line.value: at
        for at, line in enumerate(recording.lines)
        if isinstance(line, kind) and line.value in (one, other)
    }
    return not found or (len(found) == 2 and found[other] == found[one] + 1)


class _Fold:
    """Replaces groups of records by single ones."""

    def __init__(self, groups: Sequence[Sequence[str]], places: dict[str, int]) -> None:
        self.names = {group[0]: f"{group[0]} to {group[-1]}" for group in groups}
        self.dropped = {value for group in groups for value in group[1:]}
        self.lasts = {group[-1]: group[0] for group in groups}
        self.removed = sorted(places[value] for value in self.dropped)

    def recording(self, recording: Recording) -> Recording:
        """The folded recording."""
        lines = tuple(folded for line in recording.lines if (folded := self._line(line)) is not None)
        return replace(recording, lines=lines, values=self._records(recording.values), is_folded=True)

    def _records(self, values: Iterable[str]) -> tuple[str, ...]:
        return tuple(self.names.get(value, value) for value in values if value not in self.dropped)

    def _offset(self, offset: int) -> int:
        return offset - sum(removed <= offset for removed in self.removed)

    def _epochs(self, line: Disk | Holds) -> tuple[int, ...] | None:
        """The leader epochs of the records that stay."""
        if line.batch_epochs is None:
            return None
        pairs = zip(_values(line), line.batch_epochs, strict=True)
        return tuple(epoch for value, epoch in pairs if value not in self.dropped)

    def _line(self, line: Line) -> Line | None:
        """A line about folded records; None for a line about one of them that says no more than another line."""
        if isinstance(line, Sent | Acked):
            if line.value in self.names or (line.value in self.dropped and line.value not in self.lasts):
                return None
            first = self.lasts.get(line.value)
            if isinstance(line, Acked) and line.offset is not None:
                line = replace(line, offset=self._offset(line.offset))
            return line if first is None else replace(line, value=self.names[first])
        if isinstance(line, Disk):
            cache = line.epoch_cache
            return replace(
                line,
                log=self._records(line.log),
                batch_epochs=self._epochs(line),
                epoch_cache=None if cache is None else tuple((epoch, self._offset(start)) for epoch, start in cache),
                checkpoint=None if line.checkpoint is None else self._offset(line.checkpoint),
            )
        if isinstance(line, Read | Holds):
            pairs = zip(line.offsets, line.records, strict=True)
            offsets = tuple(self._offset(offset) for offset, value in pairs if value not in self.dropped)
            records = self._records(line.records)
            if isinstance(line, Read):
                return replace(line, records=records, offsets=offsets)
            return replace(line, records=records, offsets=offsets, batch_epochs=self._epochs(line))
        if isinstance(line, HighWatermark):
            return replace(line, high_watermark=self._offset(line.high_watermark))
        if isinstance(line, LogEnd):
            return replace(line, log_end_offset=self._offset(line.log_end_offset))
        return line

"""Gives each of several records with the same value a name of its own: its value, and the offset at which it was shown.

In:  the lines of a recording.
Out: the same lines, in which `x` at the offsets 3 and 5 is `x@3` and `x@5`, if `x` was sent or acknowledged twice.

A value that is in a log twice, but was sent and acknowledged at most once, can be a copy of one record, and keeps its
name. A `send` line, and an `acked` line without an offset, does not say which of the records it is about: they are
taken in the order in which leaders appended the records, by epoch and offset. If any order explains the recording, this
one does, because equal records can change places. A `send` line that would come after its record was shown claims
nothing.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import chain, count

from isrcheck.conformance.follow.recorded.lines import Acked, Disk, Header, Holds, Line, Read, Remark, Sent

UNKNOWN = 1 << 31
"""The leader epoch of a record of which no line tells it; above all others."""


def told_apart(lines: Sequence[Line]) -> list[Line]:
    """The lines, with a name of its own for each record."""
    repeated: set[str] = set()
    for kind in (Sent, Acked):
        counted = Counter(line.value for line in lines if isinstance(line, kind))
        repeated |= {value for value, times in counted.items() if times > 1}
    return list(_Names(lines, repeated).renamed(lines)) if repeated else list(lines)


class _Names:
    """The names of all records whose values are repeated."""

    def __init__(self, lines: Sequence[Line], repeated: set[str]) -> None:
        header = next((line for line in lines if isinstance(line, Header)), None)
        self.first = 0 if header is None else header.first_offset
        self.repeated = repeated
        self.others = {value for line in lines for value in _values(line)} - repeated
        epochs: defaultdict[str, dict[int, int]] = defaultdict(dict)
        for line in lines:
            for value, offset, epoch in _places(line):
                epochs[value][offset] = min(epoch, epochs[value].get(offset, UNKNOWN))
        given = {(line.value, line.offset) for line in lines if isinstance(line, Acked)}
        self.sent: dict[str, Iterator[str]] = {}
        self.acked: dict[str, Iterator[str]] = {}
        for value in repeated:
            offsets = [offset for _, offset in sorted((epoch, offset) for offset, epoch in epochs[value].items())]
            self.sent[value] = self._in_turn(value, offsets, len(offsets))
            open_ones = [offset for offset in offsets if (value, offset) not in given]
            self.acked[value] = self._in_turn(value, open_ones, len(offsets))

    def _in_turn(self, value: str, offsets: Sequence[int], shown: int) -> Iterator[str]:
        """The names of the records at these offsets, and then names of records that no line shows at an offset."""
        unseen = (self._own(f"{value}#{number}") for number in count(shown + 1))
        return chain((self._at(value, offset) for offset in offsets), unseen)

    def _at(self, value: str, offset: int) -> str:
        return self._own(f"{value}@{offset + self.first}") if value in self.repeated else value

    def _own(self, name: str) -> str:
        while name in self.others:
            name += "'"
        return name

    def renamed(self, lines: Sequence[Line]) -> Iterator[Line]:
        """The lines with these names; a second acknowledgement of a record is a remark."""
        shown: set[str] = set()
        acked: set[str] = set()
        for line in lines:
            found = self._renamed(line)
            is_late = isinstance(found, Sent) and found.value in shown
            is_again = isinstance(found, Acked) and found.value in acked
            if isinstance(line, Sent | Acked) and line.value in self.repeated and (is_late or is_again):
                found = Remark(line.number, line.n, source=line.source)
            shown.update(_values(found))
            acked |= {found.value} if isinstance(found, Acked) else set()
            yield found

    def _renamed(self, line: Line) -> Line:
        if isinstance(line, Sent) and line.value in self.repeated:
            return replace(line, value=next(self.sent[line.value]))
        if isinstance(line, Acked) and line.value in self.repeated:
            offset = line.offset
            return replace(line, value=next(self.acked[line.value]) if offset is None else self._at(line.value, offset))
        if isinstance(line, Disk):
            return replace(line, log=tuple(self._at(value, offset) for offset, value in enumerate(line.log)))
        if isinstance(line, Read | Holds):
            pairs = zip(line.records, line.offsets, strict=True)
            return replace(line, records=tuple(self._at(value, offset) for value, offset in pairs))
        return line


def _values(line: Line) -> tuple[str, ...]:
    """The records that a line names."""
    if isinstance(line, Sent | Acked):
        return (line.value,)
    if isinstance(line, Disk):
        return line.log
    return line.records if isinstance(line, Read | Holds) else ()


def _places(line: Line) -> Iterator[tuple[str, int, int]]:
    """The records that a line shows, each with its offset and its leader epoch."""
    if isinstance(line, Acked) and line.offset is not None:
        yield line.value, line.offset, UNKNOWN
    elif isinstance(line, Disk | Holds | Read):
        values = _values(line)
        offsets = range(len(values)) if isinstance(line, Disk) else line.offsets
        epochs = None if isinstance(line, Read) else line.batch_epochs
        yield from zip(values, offsets, epochs or [UNKNOWN] * len(values), strict=True)

"""The array of 64-bit words in which a kernel counts its results; only this module knows the layout of the array.

In:  the number of properties that the model declares.
Out: `KernelResults`, for running a kernel; byte offsets, for building its code.

The array is a table with three columns: a count, and the first state and step that were counted. Each property has a
row for each kind of result (`EntryKind`), and then as many rows again for successors outside the model's constraint:
the search does not keep these successors, but the kernel evaluates properties in them. The declared properties are
numbered from 0, and the implicit property `deadlock` follows them. Three rows end the table: one for steps that leave
a declared range, one for steps that lead outside the constraint, and the status row. Its columns are the state at which
the kernel stopped, the number of successors, and whether the model left a declared range at this state.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

WORD_BYTES = 8
COLUMNS = 3
STATE_OFFSET, STEP_OFFSET = WORD_BYTES, 2 * WORD_BYTES
"""The byte offsets of the first state and of its step within a row, which begins with the count."""

SUCCESSORS_OFFSET, FAILED_OFFSET = WORD_BYTES, 2 * WORD_BYTES
"""The byte offsets of the successor count and of the failure flag in the status row, which begins with the state."""


class EntryKind(IntEnum):
    """Kinds of results: violations (or that a `sometimes` property is true), permitted failures, range errors."""

    FOUND = 0
    PERMITTED = 1
    ERRED = 2


KINDS = len(EntryKind)

PREMISE = 4
"""A further bit in the mark of a state (`judgement`), for a `leads_to` property whose premise is true there."""


def judgement(kind: EntryKind) -> int:
    """The number that marks a state with this kind of result; 0 marks a state without a result. A kernel writes such
    marks only for properties that need a search of every reachable state."""
    return 1 + kind


@dataclass(frozen=True, slots=True)
class Entry:
    """A row of the table: a count, and the first state and step that were counted; `step` is -1 if there is no step."""

    count: int
    state: int
    step: int


def _row(number: int, kind: EntryKind, *, is_outside: bool = False) -> int:
    return KINDS * (2 * number + is_outside) + kind


def _row_of_steps(properties: int) -> int:
    return 2 * KINDS * (properties + 1)


def offset(number: int, kind: EntryKind, *, is_outside: bool = False) -> int:
    """The byte of the array at which the row of property `number` for this kind of result begins."""
    return COLUMNS * WORD_BYTES * _row(number, kind, is_outside=is_outside)


def offset_of_steps(properties: int) -> int:
    """The byte at which the row of steps that leave a declared range begins."""
    return COLUMNS * WORD_BYTES * _row_of_steps(properties)


def offset_of_outside(properties: int) -> int:
    """The byte at which the row of steps that lead outside the constraint begins."""
    return COLUMNS * WORD_BYTES * (_row_of_steps(properties) + 1)


def offset_of_status(properties: int) -> int:
    """The byte at which the status row begins."""
    return COLUMNS * WORD_BYTES * (_row_of_steps(properties) + 2)


class KernelResults:
    """The counts of a kernel, for a model that declares `properties` properties; all counts are 0 at first."""

    def __init__(self, properties: int) -> None:
        self._table: NDArray[np.int64] = np.zeros((_row_of_steps(properties) + 3, COLUMNS), np.int64)
        self._properties = properties
        self._of_steps = _row_of_steps(properties)
        self._status = self._table[-1]
        self.address: int = self._table.ctypes.data

    @classmethod
    def of(cls, properties: int, words: Sequence[int]) -> KernelResults:
        """Results rebuilt from their `words`, which may come from another machine."""
        results = cls(properties)
        results._table[:] = np.reshape(words, results._table.shape)
        return results

    @property
    def words(self) -> tuple[int, ...]:
        """All words of the array, to be sent to another machine or stored."""
        return tuple(self._table.ravel().tolist())

    @property
    def next_state(self) -> int:
        """The number of the state at which the kernel stopped, and at which its next call must begin."""
        return int(self._status[0])

    @property
    def has_failed(self) -> bool:
        """Whether the kernel stopped because the model left a declared range."""
        return bool(self._status[2])

    def copy(self) -> NDArray[np.int64]:
        """A copy of all counts, for `restore`."""
        return self._table.copy()

    def duplicate(self) -> KernelResults:
        """A copy of all counts, as a new `KernelResults`."""
        return self.of(self._properties, self.words)

    def restore(self, copy: NDArray[np.int64]) -> None:
        """Set all counts to those of a copy that the method `copy` made."""
        self._table[:] = copy

    def clear(self) -> None:
        """Set all counts to 0."""
        self._table[:] = 0

    def count(self, number: int, kind: EntryKind = EntryKind.FOUND) -> int:
        """How many states or transitions have this kind of result for property `number`."""
        return sum(entry.count for entry in self.entries(number, kind))

    def first_found(self, numbers: NDArray[np.int64]) -> int | None:
        """The number of the first state with a FOUND result for a property in `numbers`; None if no state has one."""
        rows = self._table[2 * KINDS * numbers + EntryKind.FOUND]
        states = rows[rows[:, 0] > 0, 1]
        return int(states.min()) if len(states) else None

    def entry(self, number: int, kind: EntryKind) -> Entry:
        """The row of property `number` for this kind of result."""
        return self._entry(_row(number, kind))

    def entries(self, number: int, kind: EntryKind) -> tuple[Entry, Entry]:
        """The two rows of property `number` for this kind of result: within the constraint, and outside."""
        return self.entry(number, kind), self._entry(_row(number, kind, is_outside=True))

    @property
    def outside(self) -> int:
        """The number of steps that lead outside the constraint."""
        return int(self._table[self._of_steps + 1, 0])

    def put(self, number: int, kind: EntryKind, entry: Entry) -> None:
        """Set the row of property `number` for this kind of result."""
        self._table[_row(number, kind)] = entry.count, entry.state, entry.step

    def mark_at(self, number: int, address: int) -> None:
        """Let the kernel write a byte per state, the result of property `number` (`judgement`), from `address` on."""
        self._table[_row(number, EntryKind.FOUND), 1] = address

    @property
    def erring_steps(self) -> Entry:
        """The row of steps that leave a declared range."""
        return self._entry(self._of_steps)

    @property
    def errors(self) -> list[Entry]:
        """The rows of range errors: two for each property (also `deadlock`), as in `entries`, and one for steps."""
        return [*map(self._entry, range(EntryKind.ERRED, self._of_steps, KINDS)), self.erring_steps]

    @property
    def error_count(self) -> int:
        """How often a step, or the evaluation of a property, left a declared range."""
        of_properties = self._table[EntryKind.ERRED : self._of_steps : KINDS, 0]
        return int(of_properties.sum() + self._table[self._of_steps, 0])

    def first_states(self, without_found: Iterable[int] = ()) -> Iterator[int]:
        """The first state of each row whose count is not 0, except FOUND rows of the properties `without_found`."""
        left_out = {
            _row(number, EntryKind.FOUND, is_outside=outside) for number in without_found for outside in (False, True)
        }
        for row in np.flatnonzero(self._table[: self._of_steps + 1, 0]):
            if int(row) not in left_out:
                yield int(self._table[row, 1])

    def forget(self, is_unknown: Callable[[int], bool]) -> None:
        """For each row, set the count to 0 if `is_unknown` is true for the row's first state."""
        for row in np.flatnonzero(self._table[: self._of_steps + 1, 0]):
            if is_unknown(int(self._table[row, 1])):
                self._table[row, 0] = 0

    def add(self, other: KernelResults, number_of: Callable[[int], int]) -> None:
        """Add the counts of `other`; `number_of` maps the number of a state in `other` to its number in `self`.

        If both have counted a kind of result, its first state becomes the state with the smaller number in `self`.
        """
        for row in np.flatnonzero(other._table[:-1, 0]):
            own, further = self._entry(row), other._entry(row)
            number = number_of(further.state)
            if not own.count or number < own.state:
                self._table[row, 1:] = number, further.step
            self._table[row, 0] += further.count

    def _entry(self, row: int | np.intp) -> Entry:
        return Entry(*self._table[row].tolist())

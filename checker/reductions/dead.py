"""Dead cells: those that are written again before anything reads them.

In:  an `Instance`.
Out: `Clearing`s: cells that a search may set to one value, because what they hold decides nothing.

Two kinds are found. A field is dead if nothing reads it: no guard, no property, no index, no value of another cell; but
values may be copied from one dead field to another. Cells of a field are dead while a *guard cell* has some values: if
each use of the field stands where the text excludes these values, and each step that gives the guard cell another value
writes the dead cells anew. For instance, `offset[r]` is dead while `role[r]` is OFFLINE, if every action that reads
`offset[r]` requires another role, and every action that ends this role sets `offset[r]`.

Two states that differ only in dead cells have the same steps, which lead to such states again, and judge alike: the
relation is a bisimulation, whose pairs have equal labels. So a path of a reduced search is a path of the model, step by
step. A value that is computed from a dead cell and could leave its range counts as read, because leaving it is a
violation. Only fairness is different: a step that changes dead cells alone changes nothing after them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from isrcheck.checker.reductions.clearing import Clearing
from isrcheck.checker.reductions.reads import Reads, Use
from isrcheck.models.language.model import Instance
from isrcheck.models.language.states import FieldLayout


def dead_cells(instance: Instance) -> tuple[Clearing, ...]:
    """What a search of this instance may clear: of the fields that some step writes."""
    reads = Reads(instance)
    dead = set(_never_read(reads))
    written = {use.field for uses in reads.actions for use in uses if use.is_write}
    found: list[Clearing] = []
    for name, layout in instance.layouts.items():
        if name not in written or not layout.count or layout.low == layout.high:
            continue
        if name in dead:
            cells = range(layout.offset, layout.offset + layout.count)
            found.append(Clearing(name, tuple((cell, layout.low) for cell in cells)))
        else:
            found += _dead_in_states(reads, layout, dead)
    return tuple(_in_order(found, instance))


def _in_order(found: Sequence[Clearing], instance: Instance) -> Iterator[Clearing]:
    """A cell that guards others is cleared before them, so that one pass clears everything. What would go round in a
    circle is left out."""
    fields = {layout.offset + cell: name for name, layout in instance.layouts.items() for cell in range(layout.count)}
    guards: dict[str, set[str]] = {}
    for one in found:
        guards.setdefault(one.field, set()).update(() if one.guard is None else (fields[one.guard],))
    while ready := [name for name, those in guards.items() if not those & guards.keys()]:
        yield from (one for one in found if one.field in ready)
        for name in ready:
            del guards[name]


# ------------------------------------------------------------------------------------------------------------ nowhere


def _never_read(reads: Reads) -> Iterator[str]:
    """The fields whose values decide nothing."""
    uses = [use for uses in (*reads.actions, *reads.predicates) for use in uses if not use.is_write]
    live = {use.field for use in uses if use.into is None}
    while more := {use.field for use in uses if use.into in live} - live:
        live |= more
    return (name for name in reads.instance.layouts if name not in live)


# -------------------------------------------------------------------------------------------------- in some states only


def _dead_in_states(reads: Reads, layout: FieldLayout, dead: set[str]) -> Iterator[Clearing]:
    """The cells of a field that are dead while another cell has some values."""
    uses = [use for uses in (*reads.actions, *reads.predicates) for use in uses if use.field == layout.name]
    read = [use for use in uses if not use.is_write and use.into not in dead]
    # Something must be known of the guard cell wherever the field is read, so also at the first such place.
    for state, name, indices in read[0].facts if read else ():
        is_of_cell = all(read[0].indices.count(index) == 1 for index in indices)
        if state == read[0].state and name not in (layout.name, *dead) and is_of_cell:
            guard = _Guard(reads, layout, reads.instance.layouts[name], tuple(map(read[0].indices.index, indices)))
            yield from guard.clearings(read)


@dataclass(frozen=True)
class _Guard:
    """A field, and a guard field: a cell of the one belongs to the cell of the other with its indices at `axes`."""

    reads: Reads
    layout: FieldLayout
    guard: FieldLayout
    axes: tuple[int, ...]

    @property
    def everything(self) -> frozenset[int]:
        return frozenset(range(self.guard.low, self.guard.high + 1))

    def clearings(self, read: Sequence[Use]) -> Iterator[Clearing]:
        """The same values of each cell of the guard field clear the cells with its indices."""
        values = self.values(read)
        where = f"{self.guard.name} is {' or '.join(map(self.guard.spell, sorted(values)))}"
        cells = list(enumerate(self.layout.indices(), self.layout.offset))
        for position, element in enumerate(self.guard.indices() if values else (), self.guard.offset):
            here = [cell for cell, indices in cells if tuple(indices[axis] for axis in self.axes) == element]
            if here:
                pairs = tuple((cell, self.layout.low) for cell in here)
                yield Clearing(self.layout.name, pairs, where, position, tuple(sorted(values)))

    def values(self, read: Sequence[Use]) -> frozenset[int]:
        """The values of the guard cell with which the cells of the field are dead, which is read at these places."""
        values = self.everything
        for use in read:
            indices = tuple(use.indices[axis] for axis in self.axes)
            values -= use.facts.get((use.state, self.guard.name, indices), self.everything)
        before = None
        while values and values != before:
            before = values
            for uses in self.reads.actions:
                for use in uses:
                    if use.is_write and use.field == self.guard.name:
                        values -= self.left(use, uses, values)
        return values

    def left(self, write: Use, uses: Sequence[Use], values: frozenset[int]) -> frozenset[int]:
        """The values that the guard cell may have before this write ends them, while the field keeps what it holds."""
        if write.value is not None and write.value in values:
            return frozenset()
        before = write.facts.get((write.state, self.guard.name, write.indices), self.everything) & values
        return before if before and not any(self.is_anew(use, write) for use in uses) else frozenset()

    def is_anew(self, use: Use, write: Use) -> bool:
        """Whether a use writes all cells of the field that have the indices of the written guard cell, whenever that is
        written."""
        if not use.is_write or use.field != self.layout.name or len(set(use.indices)) < len(use.indices):
            return False
        if None in use.indices or tuple(use.indices[axis] for axis in self.axes) != write.indices:
            return False
        loops = {axis: index for axis, index in enumerate(use.indices) if index is not None and axis not in self.axes}
        if any(self.reads.count(index) != self.layout.sizes[axis] for axis, index in loops.items()):
            return False
        # Loops over whole domains stand inside everything else: an `if` in such a loop may leave cells out.
        is_whole = [any(block[-1] is index for index in loops.values()) for block in use.blocks]
        outer = is_whole.index(True) if True in is_whole else len(is_whole)
        return all(is_whole[outer:]) and set(use.blocks[:outer]) <= set(write.blocks)

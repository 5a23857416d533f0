"""Finds the reduction of a search: which elements can be exchanged, and which cells are dead.

A sort is a domain, or several domains that share elements (checker/reductions/sorts.py). Two elements of a sort can be
exchanged if no constant of the model names either of them, and if exchanging them maps the set of initial states to
itself. The first condition keeps the verdicts correct. The second keeps the count of states correct: the sizes of the
orbits of the visited states add up to the number of states without reduction.

A cell is dead if it is written again before anything reads it. Its value has no influence, so a search may set it to a
fixed value. All cells of a field are dead if nothing reads the field: no guard, no property, no index, no value of
another cell, except values copied from one dead field to another. Or cells are dead while another cell, their *guard
cell*, has certain values: if the field is read only under conditions that exclude these values, and each step that
gives the guard cell another value also writes the dead cells. For instance, `offset[r]` is dead while `role[r]` is
OFFLINE, if every action that reads `offset[r]` requires another role, and every action that ends this role sets
`offset[r]`.

Two states that differ only in dead cells satisfy the same properties and have the same steps, which lead to states that
again differ only in dead cells: this is a bisimulation. So a path of a reduced search is a path of the model, step by
step. A dead cell may not be used to compute a value that could leave its range, because leaving a range is a violation.
Only fairness differs: a step that changes only dead cells no longer changes the state.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import factorial, prod

import numpy as np

from isrcheck.checker.reductions.reads import Reads, Use
from isrcheck.checker.reductions.reduction import Block, Cell, Clearing, Reduction, Symmetry, place_in
from isrcheck.checker.reductions.sorts import Sort, Sorts
from isrcheck.models.language.declarations import WHOLE, Domain, Queue, Subset
from isrcheck.models.language.model import Instance
from isrcheck.models.language.states import FieldLayout
from isrcheck.models.messages import LanguageError, UsageError


def dead_cells(instance: Instance) -> tuple[Clearing, ...]:
    """The dead cells that a search of this instance may clear; only fields that some step writes are considered."""
    reads = Reads(instance)
    dead = set(_never_read(reads))
    written = {use.field for uses in reads.actions for use in uses if use.is_write}
    clearings: list[Clearing] = []
    for name, layout in instance.layouts.items():
        if name not in written or not layout.count or layout.low == layout.high:
            continue
        if name in dead:
            cells = range(layout.offset, layout.offset + layout.count)
            clearings.append(Clearing(name, tuple((cell, layout.low) for cell in cells)))
        else:
            clearings += _dead_in_states(reads, layout, dead)
    return tuple(_in_order(clearings, instance))


def _in_order(clearings: Sequence[Clearing], instance: Instance) -> Iterator[Clearing]:
    """The clearings, in an order in which applying each once is enough: a clearing with a guard cell comes after those
    of the guard cell's field. Clearings of fields that guard each other in a cycle, or depend on a cycle, are left out.
    """
    fields = {layout.offset + cell: name for name, layout in instance.layouts.items() for cell in range(layout.count)}
    guards: dict[str, set[str]] = {}
    for clearing in clearings:
        guards.setdefault(clearing.field, set()).update(() if clearing.guard is None else (fields[clearing.guard],))
    while ready := [name for name, guarding in guards.items() if not guarding & guards.keys()]:
        yield from (clearing for clearing in clearings if clearing.field in ready)
        for name in ready:
            del guards[name]


# ------------------------------------------------------------------------------------------------------------ nowhere


def _never_read(reads: Reads) -> Iterator[str]:
    uses = [use for uses in (*reads.actions, *reads.predicates) for use in uses if not use.is_write]
    live = {use.field for use in uses if use.into is None}
    while copied := {use.field for use in uses if use.into in live} - live:
        live |= copied
    return (name for name in reads.instance.layouts if name not in live)


# -------------------------------------------------------------------------------------------------- in some states only


def _dead_in_states(reads: Reads, layout: FieldLayout, dead: set[str]) -> Iterator[Clearing]:
    uses = [use for uses in (*reads.actions, *reads.predicates) for use in uses if use.field == layout.name]
    read = [use for use in uses if not use.is_write and use.into not in dead]
    # Facts about the guard cell must be known wherever the field is read, so also at the first such place.
    for state, name, indices in read[0].facts if read else ():
        is_of_cell = all(read[0].indices.count(index) == 1 for index in indices)
        if state == read[0].state and name not in (layout.name, *dead) and is_of_cell:
            guard = Guard(reads, layout, reads.instance.layouts[name], tuple(map(read[0].indices.index, indices)))
            yield from guard.clearings(read)


@dataclass(frozen=True)
class Guard:
    """A field (`layout`) and the field of its guard cells (`guard`). The guard cell of a cell has the indices that the
    cell has at the positions `axes`."""

    reads: Reads
    layout: FieldLayout
    guard: FieldLayout
    axes: tuple[int, ...]

    @property
    def everything(self) -> frozenset[int]:
        """All values of the guard field."""
        return frozenset(range(self.guard.low, self.guard.high + 1))

    def clearings(self, read: Sequence[Use]) -> Iterator[Clearing]:
        """Yield a clearing for each guard cell: the cells that it guards, and the values of the guard cell for which
        these cells are dead. `read` are the places where the field `layout` is read."""
        values = self.values(read)
        where = f"{self.guard.name} is {' or '.join(map(self.guard.spell, sorted(values)))}"
        cells = list(enumerate(self.layout.indices(), self.layout.offset))
        for position, element in enumerate(self.guard.indices() if values else (), self.guard.offset):
            here = [cell for cell, indices in cells if tuple(indices[axis] for axis in self.axes) == element]
            if here:
                pairs = tuple((cell, self.layout.low) for cell in here)
                yield Clearing(self.layout.name, pairs, where, position, tuple(sorted(values)))

    def values(self, read: Sequence[Use]) -> frozenset[int]:
        """The values of a guard cell for which the cells that it guards are dead."""
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
        """Return the elements of `values` that the guard cell may have before `write`, if `write` can give it a value
        outside `values` and the action does not also write all cells that it guards; otherwise the empty set."""
        if write.value is not None and write.value in values:
            return frozenset()
        before = write.facts.get((write.state, self.guard.name, write.indices), self.everything) & values
        return before if before and not any(self.is_anew(use, write) for use in uses) else frozenset()

    def is_anew(self, use: Use, write: Use) -> bool:
        """Whether `use` writes all cells that a guard cell guards, whenever `write` writes this guard cell."""
        if not use.is_write or use.field != self.layout.name or len(set(use.indices)) < len(use.indices):
            return False
        if None in use.indices or tuple(use.indices[axis] for axis in self.axes) != write.indices:
            return False
        loops = {axis: index for axis, index in enumerate(use.indices) if index is not None and axis not in self.axes}
        if any(self.reads.count(index) != self.layout.sizes[axis] for axis, index in loops.items()):
            return False
        # Loops over whole domains must be innermost: an `if` in such a loop may leave cells out.
        is_whole = [any(block[-1] is index for index in loops.values()) for block in use.blocks]
        outer = is_whole.index(True) if True in is_whole else len(is_whole)
        return all(is_whole[outer:]) and set(use.blocks[:outer]) <= set(write.blocks)


MOST_PERMUTATIONS = 5040
"""The largest group: in a state whose elements look alike, all permutations are tried."""


def reduction_of(
    instance: Instance, *, symmetry: bool = False, dead: bool = True, whole: str = ""
) -> tuple[Reduction | None, str]:
    """Return the reduction for a search (None if it reduces nothing), and a reason for the report: why the search does
    not use the symmetric domains that the model declares (empty if there is no such reason).

    With `symmetry`, all domains with exchangeable elements are used, otherwise only those declared symmetric. With
    `dead`, dead cells are cleared. `whole` says why the search must visit every state (empty if it need not). Raises
    LanguageError, UsageError.
    """
    permuted, says = _symmetry(instance, symmetry, whole)
    # Liveness depends on whether a step changes anything; for `always_possible`, the stuck states are counted.
    is_graph = any(prop.kind in WHOLE for prop in instance.properties)
    clearings = dead_cells(instance) if dead and not whole and not is_graph else ()
    reduction = Reduction(permuted, tuple(clearing for clearing in clearings if not _is_moved(clearing, permuted)))
    return reduction if reduction != Reduction() else None, says


def _is_moved(clearing: Clearing, symmetry: Symmetry | None) -> bool:
    """Whether a clearing sets cells to an element that the symmetry may exchange. Then the search could keep several
    states of one orbit, so such a clearing is not used."""
    if symmetry is None:
        return False
    moved = {(block.sort, element) for block in symmetry.blocks for element in block.elements}
    sorts = {cell.position: cell.value for cell in symmetry.cells}
    return any((sorts[position], value) in moved for position, value in clearing.cells)


def _symmetry(instance: Instance, is_asked: bool, whole: str) -> tuple[Symmetry | None, str]:
    """The symmetry that a search uses, or None; and why it cannot use the model's symmetry (empty: no reason)."""
    if not is_asked and not any(domain.symmetric for domain in _domains(instance)):
        return None, ""
    symmetry = symmetry_of(instance, declared=not is_asked)
    if symmetry is None:
        return None, ""
    on_graph = [prop.name for prop in instance.properties if prop.kind in WHOLE]
    if on_graph and not whole:
        whole = f"{', '.join(on_graph)} is judged on the graph of all states"
    if instance.model.constraints and not whole:
        whole = "a @constraint decides which states are kept"
    return (None, f"no symmetry: {whole}") if whole else (symmetry, "")


def _domains(instance: Instance) -> Iterator[type[Domain]]:
    for field in instance.model.fields.values():
        yield from field.over
    for action in instance.model.actions:
        for parameter in action.parameters:
            assert parameter.domain is not None
            yield parameter.domain.of if issubclass(parameter.domain, Subset) else parameter.domain


def symmetry_of(instance: Instance, *, declared: bool = False) -> Symmetry | None:
    """The permutations of elements under which an instance stays the same.

    With `declared`, only domains that the model declares as symmetric count, and the result is None if no two of their
    elements can be exchanged. Raises LanguageError if a declared domain is not symmetric; without `declared`, raises
    UsageError, with the reasons, if no two elements can be exchanged.
    """
    sorts = Sorts(instance)
    for domain, reason in sorts.asymmetric.items():
        if domain.symmetric:
            raise LanguageError(
                f"{reason}; so the elements of {domain.__name__} are not alike: leave symmetric=True out, or compare"
                " them only with == and !="
            )
    chosen = [sort for sort in sorts.symmetric if not declared or any(domain.symmetric for domain in sort.domains)]
    sizes, cells = tuple(sort.size for sort in chosen), tuple(_cells(instance, chosen))
    trivial = Symmetry((), sizes, cells, (), frozenset(), frozenset())
    blocks = _small([block for number, sort in enumerate(chosen) for block in _blocks(instance, trivial, number, sort)])
    if not blocks:
        if declared:
            return None
        queues = [field.contents.axis for field in instance.model.fields.values() if isinstance(field.contents, Queue)]
        reasons = [f"{domain.__name__}: {why}" for domain, why in sorts.asymmetric.items() if domain not in queues]
        because = f" ({'; '.join(reasons)})" if reasons else ""
        raise UsageError(f"--symmetry: no domain of {instance.model.name} has elements that can be exchanged{because}")
    arguments, sources = tuple(_arguments(instance, chosen)), instance.model.sources
    both = sorts.unordered, sorts.over_configured_ranges(chosen)
    places = (frozenset(place_in(sources, node) for node in nodes) for nodes in both)
    return Symmetry(tuple(blocks), sizes, cells, arguments, *places)


def _number(domain: type[Domain], chosen: Sequence[Sort]) -> int | None:
    return next((number for number, sort in enumerate(chosen) if domain in sort.domains), None)


def _cells(instance: Instance, chosen: Sequence[Sort]) -> Iterator[Cell]:
    for name, layout in instance.layouts.items():
        axes = tuple(_number(domain, chosen) for domain in layout.field.over)
        value = next((number for number, sort in enumerate(chosen) if name in sort.fields), None)
        for position, indices in enumerate(layout.indices(), layout.offset):
            yield Cell(name, position, indices, axes, value)


def _arguments(instance: Instance, chosen: Sequence[Sort]) -> Iterator[tuple[tuple[int | None, bool], ...]]:
    def argument(domain: type[Domain] | type[Subset] | None) -> tuple[int | None, bool]:
        assert domain is not None
        if issubclass(domain, Subset):
            return _number(domain.of, chosen), True
        return _number(domain, chosen), False

    for action in instance.model.actions:
        yield tuple(argument(parameter.domain) for parameter in action.parameters)


def _blocks(instance: Instance, symmetry: Symmetry, number: int, sort: Sort) -> Iterator[Block]:
    """The blocks of a sort: sets of elements of which any two can be exchanged."""
    states = instance.initial_states
    rows = np.array(list(states), np.int64).reshape(len(states), instance.cells)
    initial = {row.tobytes() for row in rows}
    left = [element for element in range(sort.size) if element not in sort.fixed]
    while left:
        first, *others = left
        block = [first]
        for other in others:
            images = list(map(list, symmetry.identity))
            images[number][first], images[number][other] = other, first
            if initial >= {row.tobytes() for row in symmetry.rows_permuted(rows, tuple(map(tuple, images)))}:
                block.append(other)
        left = [element for element in left if element not in block]
        if len(block) > 1:
            yield Block(number, sort.name, tuple(block))


def _small(blocks: list[Block]) -> list[Block]:
    """Shrink the largest blocks until at most MOST_PERMUTATIONS permutations remain, and return all blocks."""
    while prod(factorial(len(block.elements)) for block in blocks) > MOST_PERMUTATIONS:
        largest = max(range(len(blocks)), key=lambda number: len(blocks[number].elements))
        block = blocks[largest]
        blocks[largest] = Block(block.sort, block.name, block.elements[:-1])
    return blocks

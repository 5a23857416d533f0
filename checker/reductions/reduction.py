"""The reduction of a search, as plain data: what the kernel does with each successor so that fewer states are kept.

In:  what checker/reductions/find.py finds: the blocks of elements that can be exchanged, and the dead cells.
Out: a `Reduction`, which belongs to a kernel (checker/compile/kernel.py) and can be sent to another machine. It has
     `Clearing`s, which are cells that the search sets to a fixed value while they are dead; and a `Symmetry`, which is
     a group of permutations of elements. The search keeps one state per orbit of this group. The group has every
     combination of permutations of the blocks.
"""

from __future__ import annotations

import itertools
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import factorial, prod

import numpy as np
from numpy.typing import NDArray

from isrcheck.models.language.declarations import NONE
from isrcheck.models.language.ir import nodes as ir
from isrcheck.models.language.model import Instance
from isrcheck.models.run import Cells


@dataclass(frozen=True)
class Clearing:
    """Dead cells of a field, which a search sets to fixed values, always or while a guard cell has one of `values`."""

    field: str
    cells: tuple[tuple[int, int], ...]
    """The position of each cell, and the value that it gets."""
    where: str = ""
    """The condition in words; empty: always."""
    guard: int | None = None
    """The position of the guard cell."""
    values: tuple[int, ...] = ()
    """The values of the guard cell."""


Permutation = tuple[tuple[int, ...], ...]
"""For each sort the image of each element."""

Place = tuple[str, int, int]
"""A place in a model's text: file as an import finds it, line, column."""


@dataclass(frozen=True)
class Cell:
    """One cell of a state: its field, its position in the state, its indices, and the number of the sort of each index
    (`axes`) and of the value; None instead of the number for an index or value that belongs to no symmetric sort."""

    field: str
    position: int
    indices: tuple[int, ...]
    axes: tuple[int | None, ...]
    value: int | None


@dataclass(frozen=True)
class Block:
    """Elements of one sort, any two of which can be exchanged; `elements` is in ascending order."""

    sort: int
    name: str
    elements: tuple[int, ...]


@dataclass(frozen=True)
class Symmetry:
    """The group of permutations of a model's elements: it permutes the elements of each block in every way."""

    blocks: tuple[Block, ...]
    sizes: tuple[int, ...]
    """The sizes of the sorts."""
    cells: tuple[Cell, ...]
    arguments: tuple[tuple[tuple[int | None, bool], ...], ...]
    """For each action, for each parameter, the sort of its values and whether they are subsets."""
    unordered: frozenset[Place]
    """The comparisons of two elements that only spare the second look at a pair (checker/reductions/pairs.py)."""
    configured: frozenset[Place]
    """The generators over all elements whose range a kernel does not know, because the configuration determines it."""

    @property
    def order(self) -> int:
        """The number of permutations."""
        return prod(factorial(len(block.elements)) for block in self.blocks)

    @property
    def says(self) -> str:
        """The group in words, for a report: the number of permutations, and the elements of each block."""
        parts = [f"{block.name} {', '.join(map(str, block.elements))}" for block in self.blocks]
        return f"{self.order} permutations ({'; '.join(parts)})"

    @property
    def identity(self) -> Permutation:
        """The permutation that changes nothing."""
        return tuple(tuple(range(size)) for size in self.sizes)

    @cached_property
    def permutations(self) -> list[Permutation]:
        """Every permutation of the group."""
        permutations = []
        for chosen in itertools.product(*(itertools.permutations(block.elements) for block in self.blocks)):
            images = [list(range(size)) for size in self.sizes]
            for block, order in zip(self.blocks, chosen, strict=True):
                for element, image in zip(block.elements, order, strict=True):
                    images[block.sort][element] = image
            permutations.append(tuple(map(tuple, images)))
        return permutations

    def permuted(self, cells: Cells, images: Permutation) -> Cells:
        """The state that results when a permutation replaces each element by its image."""
        places, tables = self.tables
        number = self.numbers[images]
        after = [0] * len(cells)
        for cell, value in zip(self.cells, cells, strict=True):
            image = value if cell.value is None else int(tables[cell.value][number, value])
            after[places[number, cell.position]] = image
        return tuple(after)

    def rows_permuted(self, rows: NDArray[np.int64], images: Permutation) -> NDArray[np.int64]:
        """The states (one per row) that result when a permutation replaces each element in `rows` by its image."""
        places, tables = self._tables([images])
        after = np.empty_like(rows)
        for cell in self.cells:
            column = rows[:, cell.position]
            after[:, places[0, cell.position]] = column if cell.value is None else tables[cell.value][0, column]
        return after

    def between(self, cells: Cells, others: Cells) -> Permutation | None:
        """The first permutation that maps the state `cells` to the state `others`; None if no permutation does."""
        places, tables = self.tables
        values = np.empty(places.shape, np.int64)
        for cell, value in zip(self.cells, cells, strict=True):
            values[:, cell.position] = value if cell.value is None else tables[cell.value][:, value]
        # The value that arrives at each place is compared with the value that must be there.
        matches = np.flatnonzero((values == np.array(others)[places]).all(axis=1))
        return self.permutations[int(matches[0])] if len(matches) else None

    @cached_property
    def numbers(self) -> dict[Permutation, int]:
        """The position of each permutation in the list `permutations`."""
        return {images: number for number, images in enumerate(self.permutations)}

    @cached_property
    def tables(self) -> tuple[NDArray[np.int64], list[NDArray[np.int64]]]:
        """For all permutations, the new position of each cell and the image of each element (see `_tables`)."""
        return self._tables(self.permutations)

    def _tables(self, several: Sequence[Permutation]) -> tuple[NDArray[np.int64], list[NDArray[np.int64]]]:
        """Returns an array whose row p has the position to which permutation p moves each cell; and, for each sort, an
        array whose row p has the image of each element, followed by the image of NONE, which is -1."""
        positions = {(cell.field, cell.indices): cell.position for cell in self.cells}

        def moved(cell: Cell, images: Permutation) -> int:
            pairs = zip(cell.indices, cell.axes, strict=True)
            return positions[cell.field, tuple(at if axis is None else images[axis][at] for at, axis in pairs)]

        places = [[moved(cell, images) for cell in self.cells] for images in several]
        tables = [np.array([[*images[sort], NONE] for images in several]) for sort in range(len(self.sizes))]
        return np.array(places, np.int64).reshape(len(several), len(self.cells)), tables

    def step(self, instance: Instance, number: int, images: Permutation) -> int:
        """The number of the step that results when each argument of step `number` is replaced by its image."""
        step = instance.step(number)
        ordinals = []
        for ordinal, (sort, is_subset) in zip(step.ordinals, self.arguments[step.action_index], strict=True):
            if sort is None:
                ordinals.append(ordinal)
            elif is_subset:
                ordinals.append(sum(1 << images[sort][one] for one in range(self.sizes[sort]) if ordinal >> one & 1))
            else:
                ordinals.append(images[sort][ordinal])
        return instance.number(step.action, ordinals)


def place_in(sources: Mapping[str, str], node: ir.Node) -> Place:
    """The place of a node in a model's text; `sources` maps each file's path to the name by which it is imported."""
    span = node.span
    return sources.get(span.source.path, span.source.path), span.line, span.column


def inverse(images: Permutation) -> Permutation:
    """The inverse of a permutation."""
    return tuple(tuple(map(one.index, range(len(one)))) for one in images)


def followed_by(first: Permutation, second: Permutation) -> Permutation:
    """The permutation that applies `first`, and then `second`."""
    return tuple(tuple(then[image] for image in one) for one, then in zip(first, second, strict=True))


@dataclass(frozen=True)
class Reduction:
    """What a kernel does with each successor: it clears dead cells, and then takes the least state of the orbit."""

    symmetry: Symmetry | None = None
    dead: tuple[Clearing, ...] = ()

    @property
    def says(self) -> str:
        """The reduction in words, for a report."""
        parts = []
        if self.symmetry is not None:
            parts.append(f"symmetry: one state of each orbit of {self.symmetry.says}")
        if self.dead:
            fields: dict[str, list[str]] = {}
            for field, where in self.clears:
                fields.setdefault(where, []).append(field)
            dead = [f"{', '.join(names)}{' where ' * bool(where)}{where}" for where, names in fields.items()]
            parts.append(f"dead cells: {'; '.join(dead)}")
        return "; ".join(parts)

    @property
    def clears(self) -> dict[tuple[str, str], None]:
        """The clearings in words, in order: pairs of a field and the condition under which its cells are dead."""
        return dict.fromkeys((one.field, one.where) for one in self.dead)

    def clearing(self, chosen: Container[tuple[str, str]]) -> Reduction:
        """This reduction, with only those of its clearings whose pair (see `clears`) is in `chosen`."""
        return replace(self, dead=tuple(one for one in self.dead if (one.field, one.where) in chosen))

    def worthwhile(self, states: NDArray[np.int64]) -> Reduction:
        """This reduction, without clearings that do not lower the number of distinct `states` (one state per row)."""
        # One number identifies a state: a sum of its cells with random weights.
        weights = np.random.default_rng(0).integers(1 << 62, size=states.shape[1])

        def count(chosen: Sequence[Clearing]) -> int:
            rows = states.copy()
            for clearing in chosen:
                here = slice(None) if clearing.guard is None else np.isin(rows[:, clearing.guard], clearing.values)
                for position, value in clearing.cells:
                    rows[here, position] = value
            return len(np.unique(rows @ weights))

        left, fewest = self.dead, count(self.dead)
        if fewest == count(()):
            return replace(self, dead=())
        for field_and_states in self.clears:
            others = tuple(clearing for clearing in left if (clearing.field, clearing.where) != field_and_states)
            if count(others) == fewest:
                left = others
        return replace(self, dead=left)

    def cleared(self, cells: Cells) -> Cells:
        """The state with its dead cells cleared."""
        after = list(cells)
        for clearing in self.dead:
            if clearing.guard is None or after[clearing.guard] in clearing.values:
                for position, value in clearing.cells:
                    after[position] = value
        return tuple(after)

"""Machine code that packs, unpacks and copies states, clears dead cells, and finds a state's least permutation.

Packing, unpacking and copying are inlined in the functions that use them (checker/compile/staging.py). Separate
functions permute a state. Dead cells are cells that are written again before anything reads them.

Each element of a block (a set of symmetric elements) gets a signature: numbers that depend on the element's own cells.
Exchanging two elements of a state exchanges their signatures. The elements of a block are sorted by signature, by
exchanging neighbours; the next number of a signature is computed only where all numbers before it are equal. Elements
with equal signatures are rare; all orders of them are tried. So all permutations of a state lead to the same set of
tried states, and thus to the same least state. States are compared by the first word that differs, as a signed number.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from functools import partial, reduce
from operator import or_
from typing import Any

from llvmlite import ir

from isrcheck.checker.compile.layout import LANES, WORD_BITS, Bits, Layout
from isrcheck.checker.compile.staging import (
    CELLS,
    I32,
    I64,
    LOAD,
    READ,
    STORE,
    Code,
    Module,
    Operation,
    Value,
    Variable,
    at,
)
from isrcheck.checker.reductions.reduction import Block, Cell, Clearing, Symmetry


def _groups(layout: Layout) -> list[list[Bits]]:
    """The cells, in order, in groups of at most LANES; the cells of a group share a word, and have equal sizes."""
    groups: list[list[Bits]] = []
    for bits in layout.bits:
        first = groups[-1][0] if groups else bits
        if not groups or len(groups[-1]) == LANES or (first.word, first.bytes) != (bits.word, bits.bytes):
            groups.append([])
        groups[-1].append(bits)
    return groups


def _vector(values: Sequence[int], kind: Any = I64) -> Any:
    return ir.Constant(ir.VectorType(kind, LANES), [*values, *[0] * (LANES - len(values))])


def packer(layout: Layout) -> Operation:
    """The operation `pack(state, words)`: pack the cells of the working buffer `state` into words at address `words`.

    It reads up to LANES - 1 cells beyond the last one; a working buffer has room for that.
    """

    @Operation
    def pack(builder: Any, state: Any, words: Any) -> None:
        for word, packed in enumerate(_packed(layout, builder, state)):
            builder.store(packed, at(builder, words, I64, 8 * word))

    return pack


def least_packer(layout: Layout) -> Operation:
    """The operation `pack_least(state, words)`: pack `state` to address `words` if it is less than the packed state
    there. The first word that differs, as a signed number, decides which is less."""

    @Operation
    def pack_least(builder: Any, state: Any, words: Any) -> None:
        packed = _packed(layout, builder, state)
        places = [at(builder, words, I64, 8 * word) for word in range(layout.words)]
        is_less: Any = ir.Constant(ir.IntType(1), 0)
        for new, place in reversed(list(zip(packed, places, strict=True))):
            old = builder.load(place)
            is_equal = builder.icmp_signed("==", new, old)
            is_less = builder.select(is_equal, is_less, builder.icmp_signed("<", new, old))
        with builder.if_then(is_less):
            for new, place in zip(packed, places, strict=True):
                builder.store(new, place)

    return pack_least


def _packed(layout: Layout, builder: Any, state: Any) -> list[Any]:
    totals: list[Any] = [None] * layout.words
    for group in _groups(layout):
        of_cell, mask = CELLS[group[0].bytes], (1 << 8 * group[0].bytes) - 1
        cells = builder.load(at(builder, state, ir.VectorType(of_cell, LANES), group[0].byte), align=1)
        cells = builder.sub(cells, _vector([bits.low & mask for bits in group], of_cell))
        if len(group) < LANES:
            cells = builder.and_(cells, _vector([mask] * len(group), of_cell))
        wide = builder.zext(cells, ir.VectorType(I64, LANES))
        wide = builder.shl(wide, _vector([bits.shift if bits.width else 0 for bits in group]))
        total = totals[group[0].word]
        totals[group[0].word] = wide if total is None else builder.or_(total, wide)
    kind, name = ir.FunctionType(I64, [ir.VectorType(I64, LANES)]), "llvm.vector.reduce.or.v8i64"
    reduce = builder.module.globals.get(name) or ir.Function(builder.module, kind, name)
    return [ir.Constant(I64, 0) if total is None else builder.call(reduce, [total]) for total in totals]


def unpacker(layout: Layout) -> Operation:
    """The operation `unpack(words, state)`: unpack the state at address `words` into the working buffer `state`."""

    @Operation
    def unpack(builder: Any, words: Any, state: Any) -> None:
        undefined = ir.Constant(ir.VectorType(I64, LANES), ir.Undefined)
        first = ir.Constant(I32, 0)
        everywhere = ir.Constant(ir.VectorType(I32, LANES), [0] * LANES)
        packed = [builder.load(at(builder, words, I64, 8 * word)) for word in range(layout.words)]
        # In byte order: a group always writes LANES cells, and the next groups overwrite the surplus.
        for group in _groups(layout):
            single = builder.insert_element(undefined, packed[group[0].word], first)
            wide = builder.shuffle_vector(single, undefined, everywhere)
            wide = builder.lshr(wide, _vector([bits.shift if bits.width else 0 for bits in group]))
            wide = builder.and_(wide, _vector([(1 << bits.width) - 1 for bits in group]))
            kind, mask = CELLS[group[0].bytes], (1 << 8 * group[0].bytes) - 1
            cells = builder.trunc(wide, ir.VectorType(kind, LANES))
            cells = builder.add(cells, _vector([bits.low & mask for bits in group], kind))
            builder.store(cells, at(builder, state, ir.VectorType(kind, LANES), group[0].byte), align=1)

    return unpack


def copier(layout: Layout) -> Operation:
    """The operation `copy(source, target)`: copy the cells of one working buffer to another."""

    @Operation
    def copy(builder: Any, source: Any, target: Any) -> None:
        offset = layout.first_cell
        while offset < layout.size:
            size = 32 if layout.size - offset >= 32 else 8
            kind = ir.VectorType(I64, size // 8) if size > 8 else I64
            cells = builder.load(at(builder, source, kind, offset), align=8)
            builder.store(cells, at(builder, target, kind, offset), align=8)
            offset += size

    return copy


Term = Callable[[Value], Value]
"""Builds a number that is a part of a signature, from the address of the state."""


class Canonical:
    """Builds functions that find a state's least permutation; the elements of all blocks are numbered from 0 on."""

    def __init__(self, module: Module, symmetry: Symmetry, layout: Layout) -> None:
        self.module = module
        self.symmetry = symmetry
        self.places = layout.bits
        self.pack, self.pack_least = packer(layout), least_packer(layout)
        self.cells = {(cell.field, cell.indices): cell for cell in symmetry.cells}
        self.numbers: list[range] = []
        """For each block, the consecutive numbers of its elements."""
        end = 0
        for block in symmetry.blocks:
            self.numbers.append(range(end, end := end + len(block.elements)))
        self.signatures = {
            number: self._signature(block, element)
            for block, numbers in zip(symmetry.blocks, self.numbers, strict=True)
            for number, element in zip(numbers, block.elements, strict=True)
        }
        self.exchanges = {
            number: self._function(f"exchange.{number}", 1, partial(self._exchange, block, number - numbers.start))
            for block, numbers in zip(symmetry.blocks, self.numbers, strict=True)
            for number in numbers[:-1]
        }

    def keep(self, code: Code, state: Value, words: Value) -> None:
        """Build code that packs the least permutation of `state` to address `words`; it may leave `state` permuted."""
        self._settle(0, code, state, words)

    def _function(self, name: str, parameters: int, build: Callable[..., None]) -> Any:
        return self.module.define(name, [Value] * parameters, build)

    # ------------------------------------------------------------------------------------------------------- exchanges

    def _exchange(self, block: Block, place: int, code: Code, state: Value) -> None:
        left, right = block.elements[place : place + 2]
        swapped = {left: right, right: left}
        pairs = []
        for cell in self.symmetry.cells:
            indices = tuple(
                swapped.get(index, index) if axis == block.sort else index
                for index, axis in zip(cell.indices, cell.axes, strict=True)
            )
            there = self.cells[cell.field, indices].position
            if cell.position < there:
                pairs.append((cell.position, there))
        for here, there, size in self._runs(pairs):
            for offset, number in pieces(size):
                first, second = state + (here + offset), state + (there + offset)
                kept = LOAD[number](first)
                STORE[number](first, LOAD[number](second))
                STORE[number](second, kept)
        for cell in self.symmetry.cells:
            if cell.value == block.sort:
                cell_place = self.places[cell.position]
                kept = READ[cell_place.bytes](state, cell_place.byte)
                change = code.among(kept, (left, right)) * (left ^ right)
                STORE[cell_place.bytes](state + cell_place.byte, kept ^ change)

    def _runs(self, pairs: Sequence[tuple[int, int]]) -> Iterator[tuple[int, int, int]]:
        """Join exchanges of neighbouring cells (`pairs`) into exchanges of byte ranges: two offsets and a size each."""
        runs: list[list[int]] = []
        for here, there in sorted(pairs):
            at, to, size = self.places[here].byte, self.places[there].byte, self.places[here].bytes
            if runs and [at - runs[-1][2], to - runs[-1][2]] == runs[-1][:2]:
                runs[-1][2] += size
            else:
                runs.append([at, to, size])
        return ((at, to, size) for at, to, size in runs)

    # ------------------------------------------------------------------------------------------------------ signatures

    def _signature(self, block: Block, element: int) -> list[Term]:
        """Functions that each build one number of an element's signature, the most discriminating number first."""
        own, tests = [], []
        for cell in self.symmetry.cells:
            of_sort = [
                index == element for index, axis in zip(cell.indices, cell.axes, strict=True) if axis == block.sort
            ]
            if all(of_sort) and all(axis in (None, block.sort) for axis in cell.axes):
                if cell.value == block.sort:
                    tests.append(cell)
                elif cell.value is None and of_sort:
                    own.append(cell)
        words: list[list[tuple[Term, int]]] = []
        left = list(self._terms(own, tests, element))
        while left:
            words.append([])
            bits, waiting = 0, left
            left = []
            for term, width in waiting:
                if bits + width < WORD_BITS:
                    words[-1].append((term, bits))
                    bits += width
                else:
                    left.append((term, width))
        return [partial(_joined, word) for word in words] or [lambda state: state.code.constant(0)]

    def _terms(self, own: Sequence[Cell], tests: Sequence[Cell], element: int) -> Iterator[tuple[Term, int]]:
        """The parts of a signature, each with its width in bits, the most discriminating first: the bytes of the cells
        `own`, and for each cell of `tests` a bit that says whether the cell's value is `element`."""
        runs: list[list[int]] = []
        for cell in own:
            bits = self.places[cell.position]
            if runs and sum(runs[-1][:2]) == bits.byte:
                runs[-1][1] += bits.bytes
                runs[-1][2] += bits.width
            else:
                runs.append([bits.byte, bits.bytes, bits.width])
        for first, size, _ in sorted(runs, key=lambda run: -run[2] / len(list(pieces(run[1], most=4)))):
            for offset, number in pieces(size, most=4):
                yield partial(_loaded, number, first + offset), 8 * number
        for cell in tests:
            yield partial(_tested, self.places[cell.position], element), 1

    # ---------------------------------------------------------------------------------------------------------- orders

    def _settle(self, part: int, code: Code, state: Value, words: Value, tied: Value | None = None) -> None:
        """Build code that sorts elements by number `part` of their signatures, where all earlier numbers are equal.

        Bit k of `tied` says that all earlier numbers of elements k and k+1 are equal; None: there is no earlier number.
        After the last number, or if no signatures are equal, the code packs the state. Then it tries all orders of the
        elements whose signatures are equal.
        """
        equal: list[Value] = []
        for numbers in self.numbers:
            pairs = numbers[:-1]
            if part < len(self.signatures[numbers.start]):
                values = {number: code.variable(self.signatures[number][part](state)) for number in numbers}
                self._sort(code, state, numbers, values, tied)
                equal += ((values[number] == values[number + 1]) * (1 << number) for number in pairs)
            else:
                equal += (code.constant(1 << number) for number in pairs)
        ties = reduce(or_, equal if tied is None else [tied & reduce(or_, equal)])
        if part + 1 < max(map(len, self.signatures.values())):
            with code.when(ties != 0):
                following = self._function(f"settle.{part + 1}", 3, partial(self._settle, part + 1))
                code.call(following, state, words, ties)
                code.return_()
            self.pack(state, words)
        else:
            self.pack(state, words)
            with code.when(ties != 0):
                code.call(self._others(), state, words, ties)

    def _sort(
        self, code: Code, state: Value, numbers: range, values: Mapping[int, Variable], tied: Value | None
    ) -> None:
        for end in range(len(numbers) - 1, 0, -1):
            for number in numbers[:end]:
                left, right = values[number], values[number + 1]
                ties = [] if tied is None else [partial(_are_tied, tied, number)]
                with code.when(code.every(right < left, *ties)):
                    code.call(self.exchanges[number], state)
                    kept = left.get()
                    left.set(right)
                    right.set(kept)

    def _others(self) -> Any:
        """A function that tries all orders of elements with equal signatures, packs the least state, and then restores
        the working buffer."""
        others = self._function("others.none", 3, lambda *_: None)
        for numbers in self.numbers:
            for last in numbers[1:]:
                others = self._function(f"others.{last}", 3, partial(self._other_orders, numbers.start, last, others))
        return others

    def _other_orders(
        self, first: int, last: int, before: Any, code: Code, state: Value, words: Value, ties: Value
    ) -> None:
        """Build one function of `_others`, which tries all other orders of those elements first..last with equal
        signatures. Each of these elements takes the place `last` once; each time, the function `before` tries the
        orders of the elements at the other places."""
        code.call(before, state, words, ties)
        with ExitStack() as conditions:
            for place in range(last - 1, first - 1, -1):
                conditions.enter_context(code.when(_are_tied(ties, place)))
                for number in range(place, last):
                    code.call(self.exchanges[number], state)
                self.pack_least(state, words)
                code.call(before, state, words, ties)
                for number in reversed(range(place, last)):
                    code.call(self.exchanges[number], state)


def _are_tied(ties: Value, number: int) -> Value:
    return (ties >> number & 1).is_true


def _loaded(size: int, byte: int, state: Value) -> Value:
    return LOAD[size](state + byte)


def _tested(place: Bits, element: int, state: Value) -> Value:
    return state.code.compared("==", READ[place.bytes](state, place.byte), element)


def _joined(terms: Sequence[tuple[Term, int]], state: Value) -> Value:
    return reduce(or_, (term(state) * (1 << bit) for term, bit in terms))


def pieces(size: int, most: int = 8) -> Iterator[tuple[int, int]]:
    """Divide `size` bytes into pieces that one instruction can load or store. For each piece, yields its offset and its
    number of bytes, at most `most`."""
    offset = 0
    while offset < size:
        number = next(number for number in LOAD if number <= min(size - offset, most))
        yield offset, number
        offset += number


# -------------------------------------------------------------------------------------------------------- dead cells


def clear_dead(code: Code, state: Value, clearings: Sequence[Clearing], places: Sequence[Bits]) -> None:
    """Build code that clears the dead cells of a working buffer: nothing reads dead cells, so they get fixed values."""
    groups: dict[tuple[int | None, tuple[int, ...]], dict[int, int]] = {}
    for clearing in clearings:
        groups.setdefault((clearing.guard, clearing.values), {}).update(clearing.cells)
    for (guard, values), cells in groups.items():
        if guard is None:
            _store(state, cells, places)
        else:
            place = places[guard]
            with code.when(code.among(READ[place.bytes](state, place.byte), values)):
                _store(state, cells, places)


def _store(state: Value, cells: Mapping[int, int], places: Sequence[Bits]) -> None:
    """Build the storing of constants in cells (`cells` maps cell to value); neighbouring cells are stored together."""
    runs: list[tuple[int, bytearray]] = []
    for cell, value in sorted(cells.items()):
        place = places[cell]
        stored = value.to_bytes(place.bytes, "little", signed=True)
        if runs and runs[-1][0] + len(runs[-1][1]) == place.byte:
            runs[-1][1].extend(stored)
        else:
            runs.append((place.byte, bytearray(stored)))
    for first, run in runs:
        for offset, size in pieces(len(run)):
            STORE[size](state + (first + offset), int.from_bytes(run[offset : offset + size], "little", signed=True))

"""The text of a kernel that clears dead cells, and packs, of all permutations of a state, the least one.

In:  a `Symmetry` (checker/reductions/symmetry.py), `Clearing`s, and where each cell is in a working buffer.
Out: the functions `keep` and those that it calls; `clear_dead`.

Each element gets a signature: numbers that depend on its own cells, and that another element would have in the state
with both exchanged. The elements of a block are sorted by signature, which exchanges neighbours; a later number is
computed only where the earlier ones are equal. Only among elements with equal signatures, which are rare, all orders
are tried. So every state of an orbit leads to the same set of tried
states, and thus to the same least one: words are compared from the first on, as signed numbers.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol

from isrcheck.checker.reductions.clearing import Clearing
from isrcheck.checker.reductions.symmetry import Block, Cell, Symmetry

WORD_BITS = 64


class CellPlace(Protocol):
    """Where a cell is: its first byte in a working buffer, its number of bytes, and the bits that its values need."""

    @property
    def byte(self) -> int:
        """The byte."""

    @property
    def bytes(self) -> int:
        """The number of bytes."""

    @property
    def width(self) -> int:
        """The number of bits."""


PIECES = ((8, "word"), (4, "half"), (2, "quarter"), (1, "byte"))
"""The sizes in bytes that are loaded and stored at once."""

VALUES = {1: ("read", "store_byte"), 2: ("read16", "store_quarter"), 4: ("read32", "store_half")}
"""The operations that read and store a cell, by its number of bytes."""


def keep_text(symmetry: Symmetry, places: Sequence[CellPlace], first: str) -> str:
    """The text of `keep(state, words)`, which packs the least permutation of the state; it may permute the state.

    `first` are lines of the function that come first.
    """
    return "\n\n".join(_Text(symmetry, places, first).functions())


class _Text:
    """Writes the functions. The elements of all blocks have consecutive numbers, by which functions are named."""

    def __init__(self, symmetry: Symmetry, places: Sequence[CellPlace], first: str) -> None:
        self.symmetry = symmetry
        self.places = places
        self.first = first
        self.known = {(cell.field, cell.indices): cell for cell in symmetry.cells}
        self.first_of_block: list[int] = []
        for number in range(len(symmetry.blocks)):
            self.first_of_block.append(sum(len(one.elements) for one in symmetry.blocks[:number]))

    def functions(self) -> Iterator[str]:
        """The texts of the functions, callees before callers."""
        yield "def others_none(state, words, ties):\n    return"
        others, parts = "others_none", 1
        for block, numbers in zip(self.symmetry.blocks, self._numbers(), strict=True):
            for number, element in zip(numbers, block.elements, strict=True):
                signature = self._signature(block, element)
                parts = max(parts, len(signature))
                for part, total in enumerate(signature):
                    yield f"def part_{part}_{number}(state):\n    return {total}"
                if number > numbers.start:
                    yield self._exchange(block, number - numbers.start - 1, f"exchange_{number - 1}")
                    yield self._others(numbers.start, number, others)
                    others = f"others_{number}"
        following = f"if ties != 0:\n        {others}(state, words, ties)"
        for part in reversed(range(1, parts)):
            yield self._settle(part, following)
            following = f"if ties != 0:\n        return settle_{part}(state, words, ties)"
        yield self._keep(following)

    # ------------------------------------------------------------------------------------------------------- exchanges

    def _exchange(self, block: Block, place: int, name: str) -> str:
        """The function that exchanges two neighbours of a block in the state."""
        one, other = block.elements[place], block.elements[place + 1]
        swapped = {one: other, other: one}
        pairs = []
        for cell in self.symmetry.cells:
            indices = tuple(
                swapped.get(index, index) if axis == block.sort else index
                for index, axis in zip(cell.indices, cell.axes, strict=True)
            )
            there = self.known[cell.field, indices].position
            if cell.position < there:
                pairs.append((cell.position, there))
        lines = [f"def {name}(state):"]
        for here, there, size in self._runs(pairs):
            for offset, _, kind in pieces(size):
                first, second = f"state + {here + offset}", f"state + {there + offset}"
                lines += [
                    f"    kept = load_{kind}({first})",
                    f"    store_{kind}({first}, load_{kind}({second}))",
                    f"    store_{kind}({second}, kept)",
                ]
        for cell in self.symmetry.cells:
            if cell.value == block.sort:
                at = self.places[cell.position].byte
                read, store = VALUES[self.places[cell.position].bytes]
                lines.append(f"    kept = {read}(state, {at})")
                change = f"(((kept == {one}) | (kept == {other})) * {one ^ other})"
                lines.append(f"    {store}(state + {at}, kept ^ {change})")
        return "\n".join([*lines, "    return"])

    def _runs(self, pairs: Sequence[tuple[int, int]]) -> Iterator[tuple[int, int, int]]:
        """The pairs of cells as runs of bytes: the offsets of both, and their common size."""
        runs: list[list[int]] = []
        for here, there in sorted(pairs):
            at, to, size = self.places[here].byte, self.places[there].byte, self.places[here].bytes
            if runs and [at - runs[-1][2], to - runs[-1][2]] == runs[-1][:2]:
                runs[-1][2] += size
            else:
                runs.append([at, to, size])
        return ((at, to, size) for at, to, size in runs)

    # ------------------------------------------------------------------------------------------------------ signatures

    def _signature(self, block: Block, element: int) -> list[str]:
        """The numbers that make up the signature of an element, as expressions; the first ones tell most."""
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
        words: list[list[str]] = []
        left = list(self._terms(own, tests, element))
        while left:
            words.append([])
            bits, rest = 0, []
            for term, width in left:
                if bits + width < WORD_BITS:
                    words[-1].append(f"({term}) * {1 << bits}" if bits else f"({term})")
                    bits += width
                else:
                    rest.append((term, width))
            left = rest
        return [" | ".join(word) for word in words] or ["0"]

    def _terms(self, own: Sequence[Cell], tests: Sequence[Cell], element: int) -> Iterator[tuple[str, int]]:
        """Numbers that make up a signature, each with its width in bits; those come first that tell most."""
        runs: list[list[int]] = []
        for cell in own:
            bits = self.places[cell.position]
            if runs and sum(runs[-1][:2]) == bits.byte:
                runs[-1][1] += bits.bytes
                runs[-1][2] += bits.width
            else:
                runs.append([bits.byte, bits.bytes, bits.width])
        for at, size, _ in sorted(runs, key=lambda run: -run[2] / len(list(pieces(run[1], most=4)))):
            for offset, number, kind in pieces(size, most=4):
                yield f"load_{kind}(state + {at + offset})", 8 * number
        for cell in tests:
            place = self.places[cell.position]
            yield f"{VALUES[place.bytes][0]}(state, {place.byte}) == {element}", 1

    # ---------------------------------------------------------------------------------------------------------- orders

    def _others(self, first: int, last: int, before: str) -> str:
        """The function that packs all other orders of tied elements up to number `last` of a block, which begins at
        `first`: each of the elements tied with the last one takes its place, and those before it take all orders.

        Bit k of `ties` says that elements k and k+1 are tied. The state is the same before and after.
        """
        lines = [f"def others_{last}(state, words, ties):", f"    {before}(state, words, ties)"]
        for place in range(last - 1, first - 1, -1):
            indent = "    " * (last - place)
            moves = [f"{indent}    exchange_{number}(state)" for number in range(place, last)]
            lines += [
                f"{indent}if (ties >> {place}) & 1 != 0:",
                *moves,
                f"{indent}    pack_least(state, words)",
                f"{indent}    {before}(state, words, ties)",
                *reversed(moves),
            ]
        return "\n".join([*lines, "    return"])

    def _numbers(self) -> Iterator[range]:
        for block, first in zip(self.symmetry.blocks, self.first_of_block, strict=True):
            yield range(first, first + len(block.elements))

    def _settle(self, part: int, following: str) -> str:
        """The function for a state in which the earlier parts of some signatures are equal: this part decides."""
        lines = [f"def settle_{part}(state, words, ties):"]
        equal = []
        for block, numbers in zip(self.symmetry.blocks, self._numbers(), strict=True):
            if part < len(self._signature(block, block.elements[0])):
                lines += (f"    g{number} = part_{part}_{number}(state)" for number in numbers)
                lines += self._sorted(numbers, " and (ties >> {0}) & 1 != 0")
                equal += [f"(g{number} == g{number + 1}) * {1 << number}" for number in numbers[:-1]]
            else:
                equal += [f"{1 << number}" for number in numbers[:-1]]
        return "\n".join([*lines, f"    ties = ties & ({' | '.join(equal)})", *self._end(following)])

    def _end(self, following: str) -> Iterator[str]:
        """The lines that pack the state, and go on with what follows if elements are tied."""
        if following.startswith("if ties != 0:\n        return"):
            yield f"    {following}"
            yield "    pack(state, words)"
        else:
            yield "    pack(state, words)"
            yield f"    {following}"
        yield "    return"

    def _sorted(self, numbers: range, more: str = "") -> Iterator[str]:
        """The lines that sort elements by g0, g1, ... where the condition `more` on two neighbours is true as well."""
        for end in range(len(numbers) - 1, 0, -1):
            for number in numbers[:end]:
                yield f"    if g{number + 1} < g{number}{more.format(number)}:"
                yield f"        exchange_{number}(state)"
                yield f"        kept = g{number}"
                yield f"        g{number} = g{number + 1}"
                yield f"        g{number + 1} = kept"

    def _keep(self, following: str) -> str:
        lines = [f"def keep(state, words):{self.first}"]
        ties = []
        for numbers in self._numbers():
            lines += (f"    g{number} = part_0_{number}(state)" for number in numbers)
            lines += self._sorted(numbers)
            ties += [f"(g{number} == g{number + 1}) * {1 << number}" for number in numbers[:-1]]
        return "\n".join([*lines, f"    ties = {' | '.join(ties)}", *self._end(following)])


def pieces(size: int, most: int = 8) -> Iterator[tuple[int, int, str]]:
    """A run of bytes in pieces: the offset of each, its number of bytes, and the name of its size."""
    offset = 0
    while offset < size:
        number, kind = next(piece for piece in PIECES if piece[0] <= min(size - offset, most))
        yield offset, number, kind
        offset += number


# -------------------------------------------------------------------------------------------------------- dead cells


def clear_text(clearings: Sequence[Clearing], places: Sequence[CellPlace]) -> str:
    """The text of `clear_dead(state)`, which clears the cells in a working buffer."""
    lines = ["def clear_dead(state):"]
    groups: dict[tuple[int | None, tuple[int, ...]], dict[int, int]] = {}
    for one in clearings:
        groups.setdefault((one.guard, one.values), {}).update(one.cells)
    for (guard, values), cells in groups.items():
        indent = "    "
        if guard is not None:
            place = places[guard]
            shown = "".join(f"{value}, " for value in values)
            lines.append(f"    if {VALUES[place.bytes][0]}(state, {place.byte}) in ({shown}):")
            indent = "        "
        lines += (f"{indent}{one}" for one in _stores(cells, places))
    return "\n".join([*lines, "    return"])


def _stores(cells: dict[int, int], places: Sequence[CellPlace]) -> Iterator[str]:
    """The lines that store these values: neighbours in one run of bytes, in as few pieces as possible."""
    runs: list[tuple[int, bytearray]] = []
    for cell, value in sorted(cells.items()):
        place = places[cell]
        stored = value.to_bytes(place.bytes, "little", signed=True)
        if runs and runs[-1][0] + len(runs[-1][1]) == place.byte:
            runs[-1][1].extend(stored)
        else:
            runs.append((place.byte, bytearray(stored)))
    for first, run in runs:
        for offset, size, kind in pieces(len(run)):
            number = int.from_bytes(run[offset : offset + size], "little", signed=True)
            yield f"store_{kind}(state + {first + offset}, {number})"

"""The operations that pack and unpack states, and copy working buffers, as LLVM instructions.

In:  a `Layout`; values of a function that is being built (checker/compile/staging/code.py): addresses of working
     buffers and of packed states.
Out: instructions, inlined at that place of the function.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from llvmlite import ir

from isrcheck.checker.compile.layout import LANES, Bits, Layout
from isrcheck.checker.compile.staging.code import I64, Operation
from isrcheck.checker.compile.staging.instructions import CELLS, I32, at


def _groups(layout: Layout) -> list[list[Bits]]:
    """The consecutive cells in groups of at most LANES, each group within one word and of one size."""
    groups: list[list[Bits]] = []
    for bits in layout.bits:
        first = groups[-1][0] if groups else bits
        if not groups or len(groups[-1]) == LANES or (first.word, first.bytes) != (bits.word, bits.bytes):
            groups.append([])
        groups[-1].append(bits)
    return groups


def _vector(values: Sequence[int], kind: Any = I64) -> Any:
    padded = [*values, *[0] * (LANES - len(values))]
    return ir.Constant(ir.VectorType(kind, LANES), padded)


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
    """The operation `pack_least(state, words)`: pack the state into words at address `words` if it is less than what
    they hold: the first word that differs, as a signed number, decides."""

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
    """The packed words of the cells of a working buffer."""
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
    packed: list[Any] = []
    for total in totals:
        if total is None:
            packed.append(ir.Constant(I64, 0))
            continue
        kind = ir.FunctionType(I64, [ir.VectorType(I64, LANES)])
        name = "llvm.vector.reduce.or.v8i64"
        reduce = builder.module.globals.get(name) or ir.Function(builder.module, kind, name)
        packed.append(builder.call(reduce, [total]))
    return packed


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
            one = builder.insert_element(undefined, packed[group[0].word], first)
            wide = builder.shuffle_vector(one, undefined, everywhere)
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

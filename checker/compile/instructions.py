"""The operations that compiled functions call, on memory and on unsigned numbers, as LLVM instructions.

In:  a position in a function that is being built (checker/compile/native.py), numbers, and addresses of working
     buffers, packed states and counters (see checker/compile/layout.py), as integers.
Out: instructions, inlined at that position.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from llvmlite import ir

from isrcheck.checker.compile.layout import LANES, Bits, Layout
from isrcheck.checker.compile.native import I64, Builder, Operation, Value

I8, I16, I32 = ir.IntType(8), ir.IntType(16), ir.IntType(32)


def _at(builder: Builder, address: Value, kind: Any, offset: Value | int = 0) -> Value:
    """The pointer to `address + offset`.

    The address is the base and the offset the index, so that LLVM can tell how two cells of one state are related. An
    address is never 0; if LLVM cannot exclude that a base is 0, it must not treat the code as unreachable.
    """
    # llvmlite's `add` refuses attributes that it does not know, although LLVM does.
    set.add(builder.function.attributes, "null_pointer_is_valid")
    if isinstance(offset, int):
        offset = ir.Constant(I64, offset)
    place = builder.gep(builder.inttoptr(address, I8.as_pointer()), [offset])
    return builder.bitcast(place, kind.as_pointer())


def _fail(builder: Builder, state: Value) -> None:
    builder.store(ir.Constant(I64, 1), _at(builder, state, I64))


def _read(kind: Any, builder: Builder, state: Value, offset: Value) -> Value:
    """The signed number of this type at `state + offset`."""
    return builder.sext(builder.load(_at(builder, state, kind, offset)), I64)


def _write(kind: Any, builder: Builder, state: Value, offset: Value, value: Value, low: Value, high: Value) -> None:
    """Write a number of this type; if it is outside low..high, nothing is written and the state is marked as failed."""
    above = builder.icmp_signed(">=", value, low)
    below = builder.icmp_signed("<=", value, high)
    with builder.if_else(builder.and_(above, below), likely=True) as (inside, outside):
        with inside:
            builder.store(builder.trunc(value, kind), _at(builder, state, kind, offset))
        with outside:
            _fail(builder, state)


read, read16, read32 = (partial(_read, kind) for kind in (I8, I16, I32))
write, write16, write32 = (partial(_write, kind) for kind in (I8, I16, I32))


def element(builder: Builder, state: Value, index: Value, size: Value) -> Value:
    """`index` if it is in 0..size-1; otherwise 0, and the state is marked as failed."""
    inside = builder.icmp_unsigned("<", index, size)
    with builder.if_then(builder.not_(inside), likely=False):
        _fail(builder, state)
    return builder.select(inside, index, ir.Constant(I64, 0))


def failed(builder: Builder, state: Value) -> Value:
    """Whether an index or a value has left its range since the state's error word was last cleared."""
    return builder.icmp_unsigned("!=", builder.load(_at(builder, state, I64)), ir.Constant(I64, 0))


def load_word(builder: Builder, address: Value) -> Value:
    """The 64-bit number at `address`."""
    return builder.load(_at(builder, address, I64))


def store_word(builder: Builder, address: Value, value: Value) -> None:
    """Store a 64-bit number at `address`."""
    builder.store(value, _at(builder, address, I64))


def load_half(builder: Builder, address: Value) -> Value:
    """The unsigned 32-bit number at `address`."""
    return builder.zext(builder.load(_at(builder, address, I32)), I64)


def load_byte(builder: Builder, address: Value) -> Value:
    """The unsigned 8-bit number at `address`."""
    return builder.zext(builder.load(_at(builder, address, I8)), I64)


def load_quarter(builder: Builder, address: Value) -> Value:
    """The unsigned 16-bit number at `address`."""
    return builder.zext(builder.load(_at(builder, address, I16)), I64)


def store_half(builder: Builder, address: Value, value: Value) -> None:
    """Store a 32-bit number at `address`."""
    builder.store(builder.trunc(value, I32), _at(builder, address, I32))


def store_quarter(builder: Builder, address: Value, value: Value) -> None:
    """Store a 16-bit number at `address`."""
    builder.store(builder.trunc(value, I16), _at(builder, address, I16))


def store_byte(builder: Builder, address: Value, value: Value) -> None:
    """Store an 8-bit number at `address`."""
    builder.store(builder.trunc(value, I8), _at(builder, address, I8))


def prefetch(builder: Builder, address: Value) -> None:
    """Fetch the cache line of `address` for reading, into all caches. The address need not be valid."""
    place = _at(builder, address, I8)
    kind = ir.FunctionType(ir.VoidType(), [place.type, I32, I32, I32])
    function = builder.module.declare_intrinsic("llvm.prefetch", [place.type], kind)
    builder.call(function, [place, *(ir.Constant(I32, number) for number in (0, 3, 1))])


def product(builder: Builder, left: Value, right: Value) -> Value:
    """The lowest 64 bits of a product."""
    return builder.mul(left, right)


def unsigned_shift(builder: Builder, value: Value, bits: Value) -> Value:
    """An unsigned number, shifted to the right by 0..63 bits."""
    return builder.lshr(value, bits)


def unsigned_remainder(builder: Builder, left: Value, right: Value) -> Value:
    """The remainder of an unsigned division."""
    return builder.urem(left, right)


def unsigned_less(builder: Builder, left: Value, right: Value) -> Value:
    """Whether one unsigned number is less than another."""
    return builder.icmp_unsigned("<", left, right)


CELLS = {1: I8, 2: I16, 4: I32}
"""The types of cells by their number of bytes."""


def _groups(layout: Layout) -> list[list[Bits]]:
    """The consecutive cells in groups of at most LANES, each group within one word and of one size."""
    groups: list[list[Bits]] = []
    for bits in layout.bits:
        first = groups[-1][0] if groups else bits
        if not groups or len(groups[-1]) == LANES or (first.word, first.bytes) != (bits.word, bits.bytes):
            groups.append([])
        groups[-1].append(bits)
    return groups


def _vector(values: Sequence[int], kind: Any = I64) -> Value:
    padded = [*values, *[0] * (LANES - len(values))]
    return ir.Constant(ir.VectorType(kind, LANES), padded)


def packer(layout: Layout) -> Operation:
    """The operation `pack(state, words)`: pack the cells of the working buffer `state` into words at address `words`.

    It reads up to LANES - 1 cells beyond the last one; a working buffer has room for that.
    """

    def pack(builder: Builder, state: Value, words: Value) -> None:
        for word, packed in enumerate(_packed(layout, builder, state)):
            builder.store(packed, _at(builder, words, I64, 8 * word))

    return pack


def least_packer(layout: Layout) -> Operation:
    """The operation `pack_least(state, words)`: pack the state into words at address `words` if it is less than what
    they hold: the first word that differs, as a signed number, decides."""

    def pack_least(builder: Builder, state: Value, words: Value) -> None:
        packed = _packed(layout, builder, state)
        places = [_at(builder, words, I64, 8 * word) for word in range(layout.words)]
        is_less: Value = ir.Constant(ir.IntType(1), 0)
        for new, place in reversed(list(zip(packed, places, strict=True))):
            old = builder.load(place)
            is_equal = builder.icmp_signed("==", new, old)
            is_less = builder.select(is_equal, is_less, builder.icmp_signed("<", new, old))
        with builder.if_then(is_less):
            for new, place in zip(packed, places, strict=True):
                builder.store(new, place)

    return pack_least


def _packed(layout: Layout, builder: Builder, state: Value) -> list[Value]:
    """The packed words of the cells of a working buffer."""
    totals: list[Any] = [None] * layout.words
    for group in _groups(layout):
        of_cell, mask = CELLS[group[0].bytes], (1 << 8 * group[0].bytes) - 1
        cells = builder.load(_at(builder, state, ir.VectorType(of_cell, LANES), group[0].byte), align=1)
        cells = builder.sub(cells, _vector([bits.low & mask for bits in group], of_cell))
        if len(group) < LANES:
            cells = builder.and_(cells, _vector([mask] * len(group), of_cell))
        wide = builder.zext(cells, ir.VectorType(I64, LANES))
        wide = builder.shl(wide, _vector([bits.shift if bits.width else 0 for bits in group]))
        total = totals[group[0].word]
        totals[group[0].word] = wide if total is None else builder.or_(total, wide)
    packed: list[Value] = []
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

    def unpack(builder: Builder, words: Value, state: Value) -> None:
        undefined = ir.Constant(ir.VectorType(I64, LANES), ir.Undefined)
        first = ir.Constant(I32, 0)
        everywhere = ir.Constant(ir.VectorType(I32, LANES), [0] * LANES)
        packed = [builder.load(_at(builder, words, I64, 8 * word)) for word in range(layout.words)]
        # In byte order: a group always writes LANES cells, and the next groups overwrite the surplus.
        for group in _groups(layout):
            one = builder.insert_element(undefined, packed[group[0].word], first)
            wide = builder.shuffle_vector(one, undefined, everywhere)
            wide = builder.lshr(wide, _vector([bits.shift if bits.width else 0 for bits in group]))
            wide = builder.and_(wide, _vector([(1 << bits.width) - 1 for bits in group]))
            kind, mask = CELLS[group[0].bytes], (1 << 8 * group[0].bytes) - 1
            cells = builder.trunc(wide, ir.VectorType(kind, LANES))
            cells = builder.add(cells, _vector([bits.low & mask for bits in group], kind))
            at = _at(builder, state, ir.VectorType(kind, LANES), group[0].byte)
            builder.store(cells, at, align=1)

    return unpack


def copier(layout: Layout) -> Operation:
    """The operation `copy(source, target)`: copy the cells of one working buffer to another."""

    def copy(builder: Builder, source: Value, target: Value) -> None:
        offset = layout.first_cell
        while offset < layout.size:
            size = 32 if layout.size - offset >= 32 else 8
            kind = ir.VectorType(I64, size // 8) if size > 8 else I64
            cells = builder.load(_at(builder, source, kind, offset), align=8)
            builder.store(cells, _at(builder, target, kind, offset), align=8)
            offset += size

    return copy

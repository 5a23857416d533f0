"""The few operations on memory that compiled models are made of, as LLVM instructions inside Numba.

In:  addresses of working buffers, packed states and counters (see checker/layout.py), as whole numbers.
Out: functions that Numba puts in line.

Arrays would do, at twice the compile time: Numba passes an array as seven values and counts references to it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from checker.layout import Bits, Layout

I8, I32, I64 = ir.IntType(8), ir.IntType(32), ir.IntType(64)


def _at(builder: Any, address: Any, kind: Any, offset: int = 0) -> Any:
    """The pointer to `address + offset`.

    An address is a whole number here, and Numba optimises a function again after LLVM has split its addresses into base
    and index: either may have become the base. Unless the function says that null may be read, a path on which the
    base is known to be 0 counts as unreachable, and is silently dropped.
    """
    # llvmlite knows fewer attributes than LLVM, and refuses the others in its own `add`.
    set.add(builder.function.attributes, "null_pointer_is_valid")
    if offset:
        address = builder.add(address, ir.Constant(I64, offset))
    return builder.inttoptr(address, kind.as_pointer())


def _fail(builder: Any, state: Any) -> None:
    builder.store(ir.Constant(I64, 1), _at(builder, state, I64))


@intrinsic
def read(typing: Any, state: Any, offset: Any) -> Any:
    """The signed byte at `state + offset`."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.sext(builder.load(_at(builder, builder.add(*arguments), I8)), I64)

    return types.int64(types.int64, types.int64), generate


@intrinsic
def write(typing: Any, state: Any, offset: Any, value: Any, low: Any, high: Any) -> Any:
    """Write a byte; outside low..high nothing is written and the state is marked as failed."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        state, offset, value, low, high = arguments
        above = builder.icmp_signed(">=", value, low)
        below = builder.icmp_signed("<=", value, high)
        with builder.if_else(builder.and_(above, below), likely=True) as (inside, outside):
            with inside:
                builder.store(builder.trunc(value, I8), _at(builder, builder.add(state, offset), I8))
            with outside:
                _fail(builder, state)
        return context.get_dummy_value()

    return types.void(*[types.int64] * 5), generate


@intrinsic
def element(typing: Any, state: Any, index: Any, size: Any) -> Any:
    """`index` where it lies in 0..size-1; otherwise 0, and the state is marked as failed."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        state, index, size = arguments
        inside = builder.icmp_unsigned("<", index, size)
        with builder.if_then(builder.not_(inside), likely=False):
            _fail(builder, state)
        return builder.select(inside, index, ir.Constant(I64, 0))

    return types.int64(types.int64, types.int64, types.int64), generate


@intrinsic
def failed(typing: Any, state: Any) -> Any:
    """Whether an index or a value has left its range since the state's error word was last cleared."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.icmp_unsigned("!=", builder.load(_at(builder, arguments[0], I64)), ir.Constant(I64, 0))

    return types.boolean(types.int64), generate


@intrinsic
def load_word(typing: Any, address: Any) -> Any:
    """The 64-bit number at `address`."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.load(_at(builder, arguments[0], I64))

    return types.int64(types.int64), generate


@intrinsic
def store_word(typing: Any, address: Any, value: Any) -> Any:
    """Put a 64-bit number at `address`."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        builder.store(arguments[1], _at(builder, arguments[0], I64))
        return context.get_dummy_value()

    return types.void(types.int64, types.int64), generate


@intrinsic
def store_half(typing: Any, address: Any, value: Any) -> Any:
    """Put a 32-bit number at `address`."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        builder.store(builder.trunc(arguments[1], I32), _at(builder, arguments[0], I32))
        return context.get_dummy_value()

    return types.void(types.int64, types.int64), generate


LANES = 8
"""Cells that are packed or unpacked together: one 64-bit load, and vectors that every processor's compiler knows."""


def _groups(layout: Layout) -> list[list[Bits]]:
    """The cells in runs of at most LANES, none across a word."""
    groups: list[list[Bits]] = []
    for bits in layout.bits:
        if not groups or len(groups[-1]) == LANES or groups[-1][0].word != bits.word:
            groups.append([])
        groups[-1].append(bits)
    return groups


def _vector(values: Sequence[int], kind: Any = I64) -> Any:
    padded = [*values, *[0] * (LANES - len(values))]
    return ir.Constant(ir.VectorType(kind, LANES), padded)


def packer(layout: Layout) -> Callable[[int, int], None]:
    """`pack(state, words)`: the cells of a working buffer into `layout.words` words at address `words`.

    Reads up to LANES - 1 bytes beyond the last cell, so a working buffer has that much room behind it.
    """

    @intrinsic
    def pack(typing: Any, state: Any, words: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            state, words = arguments
            totals: list[Any] = [None] * layout.words
            for group in _groups(layout):
                bytes_at = _at(builder, state, ir.VectorType(I8, LANES), group[0].byte)
                cells = builder.load(bytes_at, align=1)
                cells = builder.sub(cells, _vector([bits.low & 0xFF for bits in group], I8))
                if len(group) < LANES:
                    cells = builder.and_(cells, _vector([0xFF] * len(group), I8))
                wide = builder.zext(cells, ir.VectorType(I64, LANES))
                wide = builder.shl(wide, _vector([bits.shift if bits.width else 0 for bits in group]))
                total = totals[group[0].word]
                totals[group[0].word] = wide if total is None else builder.or_(total, wide)
            for word, total in enumerate(totals):
                packed = ir.Constant(I64, 0)
                if total is not None:
                    kind = ir.FunctionType(I64, [ir.VectorType(I64, LANES)])
                    name = "llvm.vector.reduce.or.v8i64"
                    reduce = builder.module.globals.get(name) or ir.Function(builder.module, kind, name)
                    packed = builder.call(reduce, [total])
                builder.store(packed, _at(builder, words, I64, 8 * word))
            return context.get_dummy_value()

        return types.void(types.int64, types.int64), generate

    made: Callable[[int, int], None] = pack
    return made


def unpacker(layout: Layout) -> Callable[[int, int], None]:
    """`unpack(words, state)`: a packed state at address `words` into the cells of a working buffer."""

    @intrinsic
    def unpack(typing: Any, words: Any, state: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            words, state = arguments
            undefined = ir.Constant(ir.VectorType(I64, LANES), ir.Undefined)
            first = ir.Constant(I32, 0)
            everywhere = ir.Constant(ir.VectorType(I32, LANES), [0] * LANES)
            packed = [builder.load(_at(builder, words, I64, 8 * word)) for word in range(layout.words)]
            # In the order of the bytes, since a group writes LANES bytes and the next one corrects what was too many.
            for group in _groups(layout):
                one = builder.insert_element(undefined, packed[group[0].word], first)
                wide = builder.shuffle_vector(one, undefined, everywhere)
                wide = builder.lshr(wide, _vector([bits.shift if bits.width else 0 for bits in group]))
                wide = builder.and_(wide, _vector([(1 << bits.width) - 1 for bits in group]))
                cells = builder.trunc(wide, ir.VectorType(I8, LANES))
                cells = builder.add(cells, _vector([bits.low & 0xFF for bits in group], I8))
                at = _at(builder, state, ir.VectorType(I8, LANES), group[0].byte)
                builder.store(cells, at, align=1)
            return context.get_dummy_value()

        return types.void(types.int64, types.int64), generate

    made: Callable[[int, int], None] = unpack
    return made


def copier(layout: Layout) -> Callable[[int, int], None]:
    """`copy(source, target)`: the cells of one working buffer into another."""

    @intrinsic
    def copy(typing: Any, source: Any, target: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            source, target = arguments
            for offset in range(layout.first_cell, layout.size, 8):
                builder.store(builder.load(_at(builder, source, I64, offset)), _at(builder, target, I64, offset))
            return context.get_dummy_value()

        return types.void(types.int64, types.int64), generate

    made: Callable[[int, int], None] = copy
    return made

"""The operations that compiled functions call, on memory and on unsigned numbers, as LLVM instructions.

In:  values of a function that is being built (checker/compile/staging/code.py): numbers, and addresses of working
     buffers, packed states and counters (see checker/compile/layout.py).
Out: instructions, inlined at that place of the function.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from llvmlite import ir

from isrcheck.checker.compile.staging.code import I64, Operation

I8, I16, I32 = ir.IntType(8), ir.IntType(16), ir.IntType(32)

CELLS = {1: I8, 2: I16, 4: I32}
"""The types of cells by their number of bytes."""


def at(builder: Any, address: Any, kind: Any, offset: Any = 0) -> Any:
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


def _fail(builder: Any, state: Any) -> None:
    builder.store(ir.Constant(I64, 1), at(builder, state, I64))


def _read(kind: Any, builder: Any, state: Any, offset: Any) -> Any:
    """The signed number of this type at `state + offset`."""
    return builder.sext(builder.load(at(builder, state, kind, offset)), I64)


def _write(kind: Any, builder: Any, state: Any, offset: Any, value: Any, low: Any, high: Any) -> None:
    """Write a number of this type; if it is outside low..high, nothing is written and the state is marked as failed."""
    above = builder.icmp_signed(">=", value, low)
    below = builder.icmp_signed("<=", value, high)
    with builder.if_else(builder.and_(above, below), likely=True) as (inside, outside):
        with inside:
            builder.store(builder.trunc(value, kind), at(builder, state, kind, offset))
        with outside:
            _fail(builder, state)


READ = {size: Operation(partial(_read, kind)) for size, kind in CELLS.items()}
"""The operations `read(state, offset)` by the number of bytes that they read."""

WRITE = {size: Operation(partial(_write, kind)) for size, kind in CELLS.items()}
"""The operations `write(state, offset, value, low, high)` by the number of bytes that they write."""


@Operation
def element(builder: Any, state: Any, index: Any, size: Any) -> Any:
    """`index` if it is in 0..size-1; otherwise 0, and the state is marked as failed."""
    inside = builder.icmp_unsigned("<", index, size)
    with builder.if_then(builder.not_(inside), likely=False):
        _fail(builder, state)
    return builder.select(inside, index, ir.Constant(I64, 0))


@Operation
def failed(builder: Any, state: Any) -> Any:
    """Whether an index or a value has left its range since the state's error word was last cleared."""
    return builder.icmp_unsigned("!=", builder.load(at(builder, state, I64)), ir.Constant(I64, 0))


@Operation
def load_word(builder: Any, address: Any) -> Any:
    """The 64-bit number at `address`."""
    return builder.load(at(builder, address, I64))


@Operation
def store_word(builder: Any, address: Any, value: Any) -> None:
    """Store a 64-bit number at `address`."""
    builder.store(value, at(builder, address, I64))


@Operation
def load_half(builder: Any, address: Any) -> Any:
    """The unsigned 32-bit number at `address`."""
    return builder.zext(builder.load(at(builder, address, I32)), I64)


@Operation
def load_byte(builder: Any, address: Any) -> Any:
    """The unsigned 8-bit number at `address`."""
    return builder.zext(builder.load(at(builder, address, I8)), I64)


@Operation
def load_quarter(builder: Any, address: Any) -> Any:
    """The unsigned 16-bit number at `address`."""
    return builder.zext(builder.load(at(builder, address, I16)), I64)


@Operation
def store_half(builder: Any, address: Any, value: Any) -> None:
    """Store a 32-bit number at `address`."""
    builder.store(builder.trunc(value, I32), at(builder, address, I32))


@Operation
def store_quarter(builder: Any, address: Any, value: Any) -> None:
    """Store a 16-bit number at `address`."""
    builder.store(builder.trunc(value, I16), at(builder, address, I16))


@Operation
def store_byte(builder: Any, address: Any, value: Any) -> None:
    """Store an 8-bit number at `address`."""
    builder.store(builder.trunc(value, I8), at(builder, address, I8))


@Operation
def prefetch(builder: Any, address: Any) -> None:
    """Fetch the cache line of `address` for reading, into all caches. The address need not be valid."""
    place = at(builder, address, I8)
    kind = ir.FunctionType(ir.VoidType(), [place.type, I32, I32, I32])
    function = builder.module.declare_intrinsic("llvm.prefetch", [place.type], kind)
    builder.call(function, [place, *(ir.Constant(I32, number) for number in (0, 3, 1))])


@Operation
def unsigned_shift(builder: Any, value: Any, bits: Any) -> Any:
    """An unsigned number, shifted to the right by 0..63 bits."""
    return builder.lshr(value, bits)


@Operation
def unsigned_remainder(builder: Any, left: Any, right: Any) -> Any:
    """The remainder of an unsigned division."""
    return builder.urem(left, right)


@Operation
def unsigned_less(builder: Any, left: Any, right: Any) -> Any:
    """Whether one unsigned number is less than another."""
    return builder.icmp_unsigned("<", left, right)


LOAD = {8: load_word, 4: load_half, 2: load_quarter, 1: load_byte}
"""The operations that load an unsigned number, by its number of bytes, the largest first."""

STORE = {8: store_word, 4: store_half, 2: store_quarter, 1: store_byte}
"""The operations that store a number, by its number of bytes."""

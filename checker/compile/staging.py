"""Builds functions of machine code by running Python functions: each operation on a `Value` writes an instruction.

A Python function that builds a function of machine code gets a `Code` and `Value`s. It runs once, while the code is
built: Python's own `if` and `for` decide which instructions are written, and `code.when` and `code.loop` decide which
of them are executed. The result is a `Module` of functions that call each other, in LLVM's assembly; machine_code.py
compiles it to machine code.

A `Value` is a 64-bit number or a truth value. Used as a number, a truth value is 0 or 1; used as a truth value, a
number is true unless it is 0. Sums and products wrap around. Addresses of working buffers, packed states and counters
are numbers, too. An `Operation`, such as one that reads memory, is inlined where it is used.
"""

from __future__ import annotations

import gc
import inspect
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial, update_wrapper
from typing import Any, ClassVar

from llvmlite import ir

I1, I64 = ir.IntType(1), ir.IntType(64)
POINTER = ir.IntType(8).as_pointer()

Build = Callable[..., None]
"""Builds a function: gets a `Code` and a `Value` for each parameter."""


def _operator(operation: str) -> Callable[[Value, Number], Value]:
    """The method of `Value` for a Python operator such as `+`, given LLVM's name of the operation."""
    return lambda value, other: value.code.calculated(operation, value, other)


def _comparison(sign: str) -> Callable[[Value, Number], Value]:
    return lambda value, other: value.code.compared(sign, value, other)


def _assignment(operation: str) -> Callable[[Variable, Number], Variable]:
    """The method of `Variable` for an assignment such as `+=`, given LLVM's name of the operation."""

    def assign(variable: Variable, other: Number) -> Variable:
        variable.set(variable.code.calculated(operation, variable, other))
        return variable

    return assign


class Value:
    """A number or a truth value of the function that is being built. `==` and other comparisons build a truth value.
    Python's own `if` or `and` raises an error for a `Value`, because the value is not known yet."""

    __slots__ = ("_operand", "code")

    def __init__(self, code: Code, operand: Any) -> None:
        self.code = code
        self._operand = operand

    @property
    def operand(self) -> Any:
        """The value as an operand of LLVM."""
        return self._operand

    @property
    def is_true(self) -> Value:
        """The truth value of this number: whether it is not 0."""
        return Value(self.code, self.code.truth(self))

    def __bool__(self) -> bool:
        raise TypeError("Python cannot test a value that code computes later: use when(), every(), some() or choice()")

    __add__, __radd__ = _operator("add"), _operator("add")
    __sub__ = _operator("sub")
    __mul__, __rmul__ = _operator("mul"), _operator("mul")
    __and__, __or__, __xor__ = _operator("and_"), _operator("or_"), _operator("xor")
    __rshift__ = _operator("ashr")
    __lt__, __le__, __gt__, __ge__ = _comparison("<"), _comparison("<="), _comparison(">"), _comparison(">=")

    def __rsub__(self, other: Number) -> Value:
        return self.code.calculated("sub", other, self)

    def __floordiv__(self, divisor: Number) -> Value:
        """The quotient, rounded down as by Python's `//`; the divisor must be above 0."""
        code, operands = self.code, (self.code.number(self), self.code.number(divisor))
        is_rounded_up = code.builder.zext(code.is_rounded_up(*operands), I64)
        return Value(code, code.builder.sub(code.builder.sdiv(*operands), is_rounded_up))

    def __mod__(self, divisor: Number) -> Value:
        """The remainder of the division that `//` does; it is in 0..divisor-1."""
        code, operands = self.code, (self.code.number(self), self.code.number(divisor))
        remainder = code.builder.srem(*operands)
        is_rounded_up = code.is_rounded_up(*operands)
        return Value(code, code.builder.select(is_rounded_up, code.builder.add(remainder, operands[1]), remainder))

    def __neg__(self) -> Value:
        return Value(self.code, self.code.builder.neg(self.code.number(self)))

    def __invert__(self) -> Value:
        """Whether the value is 0: Python's `not`."""
        return Value(self.code, self.code.builder.not_(self.code.truth(self)))

    def __eq__(self, other: object) -> Any:
        return self.code.compared("==", self, other)

    def __ne__(self, other: object) -> Any:
        return self.code.compared("!=", self, other)


class Buffer(Value):
    """A parameter of a function: the address of a working buffer."""

    __slots__ = ()


class Apart(Buffer):
    """A parameter that is the address of a working buffer which no other parameter points to (C's `restrict`)."""

    __slots__ = ()


class Variable(Value):
    """A variable of the function that is being built: `variable.set(value)`, `variable += value`. A calculation uses
    the value that the variable has when the calculation is executed."""

    __slots__ = ()

    @property
    def operand(self) -> Any:
        """The variable's value at this place of the code, as an operand of LLVM."""
        return self.code.builder.load(self._operand)

    def get(self) -> Value:
        """The variable's value at this place of the code, as a `Value` that later assignments do not change."""
        return Value(self.code, self.operand)

    def set(self, value: Number) -> None:
        """Build the assignment of a value to the variable."""
        self.code.builder.store(self.code.number(value), self._operand)

    __iadd__, __isub__ = _assignment("add"), _assignment("sub")
    __ior__, __ixor__ = _assignment("or_"), _assignment("xor")


Number = Value | int
"""An operand: a value, or a number or truth value that is known while the code is built."""

Operand = Number | Callable[[], Number]
"""An operand that is perhaps not evaluated: a `Number`, or a function that builds the operand where it is evaluated."""


class Code:
    """A function that is being built. `parameters` are its arguments, of the types `kinds` (Value, Buffer or Apart)."""

    def __init__(self, module: Module, name: str, kinds: Sequence[type[Value]]) -> None:
        self.module = module
        types = [POINTER if issubclass(kind, Buffer) else I64 for kind in kinds]
        self.function = ir.Function(module.content, ir.FunctionType(I64, types), name)
        self.function.attributes.add("nounwind")
        entry = self.function.append_basic_block("entry")
        self._body = self.function.append_basic_block("body")
        self._entry, self._builder = ir.IRBuilder(entry), ir.IRBuilder(self._body)
        self._ends_of_loops: list[Any] = []
        self._condition: tuple[Any, list[Any]] = None, []
        """The block after the last condition, and the jumps to it from the places where the condition was true."""
        self.parameters: list[Value] = []
        for kind, argument in zip(kinds, self.function.args, strict=True):
            if kind is Apart:
                argument.add_attribute("noalias")
            is_pointer = argument.type == POINTER
            operand = self._builder.ptrtoint(argument, I64) if is_pointer else argument
            self.parameters.append(kind(self, operand))

    @property
    def builder(self) -> Any:
        """LLVM's builder, which adds instructions at this place of the code. Fails behind a `return_` or `leave`."""
        assert not self._builder.block.is_terminated, "the code has ended here"
        return self._builder

    @property
    def has_ended(self) -> bool:
        """Whether the current position cannot be reached, because it is after a `return_` or `leave`."""
        return bool(self._builder.block.is_terminated)

    def end(self) -> None:
        """Finish the function: execution that reaches the end of its code returns 0."""
        if not self.has_ended:
            self.return_()
        self._entry.branch(self._body)
        self.parameters.clear()  # they refer to this code

    # -------------------------------------------------------------------------------------------------------- values

    def constant(self, number: int) -> Value:
        """A Python number or truth value, as a `Value`."""
        return Value(self, self.operand(number))

    def operand(self, number: Number) -> Any:
        """The LLVM operand of a number (64 bits) or of a truth value (1 bit), without a conversion."""
        if isinstance(number, Value):
            return number.operand
        return ir.Constant(I1 if isinstance(number, bool) else I64, int(number))

    def number(self, number: Number) -> Any:
        """A number or truth value as an operand of LLVM that is a 64-bit number."""
        operand = self.operand(number)
        return operand if operand.type == I64 else self.builder.zext(operand, I64)

    def truth(self, number: Number) -> Any:
        """A number or truth value as an operand of LLVM that is a truth value."""
        operand = self.operand(number)
        return operand if operand.type == I1 else self.builder.icmp_signed("!=", operand, ir.Constant(I64, 0))

    def variable(self, initial: Number | None = None) -> Variable:
        """A new variable; without an `initial` value it must be set before it is read."""
        variable = Variable(self, self._entry.alloca(I64))
        if initial is not None:
            variable.set(initial)
        return variable

    def calculated(self, operation: str, left: Number, right: Number) -> Value:
        """The result of an operation on two numbers; `operation` is the name of a method of LLVM's builder."""
        operands = self.number(left), self.number(right)
        return Value(self, getattr(self.builder, operation)(*operands))

    def compared(self, sign: str, left: Number, right: Any) -> Value:
        """Whether the comparison of two signed numbers by `sign`, such as `<=`, is true."""
        operands = self.number(left), self.number(right)
        return Value(self, self.builder.icmp_signed(sign, *operands))

    def is_rounded_up(self, left: Any, right: Any) -> Any:
        """Whether `left / right`, rounded towards 0, is above the exact quotient. The divisor `right` is above 0."""
        return self.builder.icmp_signed("<", self.builder.srem(left, right), ir.Constant(I64, 0))

    def extremum(self, sign: str, first: Number, *others: Number) -> Value:
        """The least (`<`) or greatest (`>`) of numbers."""
        best = self.number(first)
        for other in map(self.number, others):
            best = self.builder.select(self.builder.icmp_signed(sign, other, best), other, best)
        return Value(self, best)

    def among(self, element: Number, choices: Iterable[Number]) -> Value:
        """Whether `element` equals one of the `choices`."""
        number = self.number(element)
        truth: Any = ir.Constant(I1, 0)
        for choice in map(self.number, choices):
            truth = self.builder.or_(truth, self.builder.icmp_signed("==", number, choice))
        return Value(self, truth)

    def every(self, *conditions: Operand) -> Value:
        """Python's `and`: the first condition that is 0, else the last. The conditions after a 0 are not evaluated."""
        return self._first(conditions, decides=False)

    def some(self, *conditions: Operand) -> Value:
        """Python's `or`: the first condition that is not 0, else the last. Later conditions are not evaluated."""
        return self._first(conditions, decides=True)

    def _first(self, conditions: Sequence[Operand], *, decides: bool) -> Value:
        if len(conditions) == 1:
            return Value(self, self.operand(evaluated(conditions[0])))
        after, ends = self._block(), []
        for condition in conditions[:-1]:
            operand = self.operand(evaluated(condition))
            truth, following = self.truth(Value(self, operand)), self._block()
            ends.append((operand, self._builder.block))
            self._builder.cbranch(truth, *((after, following) if decides else (following, after)))
            self._builder.position_at_end(following)
        return self._met(ends, conditions[-1], after)

    def choice(self, options: Iterable[tuple[Operand, Operand]], otherwise: Operand) -> Value:
        """The value of the first option whose condition is true, else `otherwise`; no other value is evaluated."""
        after, ends = self._block(), []
        for condition, value in options:
            yes, no = self._block(), self._block()
            self.builder.cbranch(self.truth(evaluated(condition)), yes, no)
            self._builder.position_at_end(yes)
            operand = self.operand(evaluated(value))
            ends.append((operand, self._builder.block))
            self._builder.position_at_end(no)
        return self._met(ends, otherwise, after)

    def _met(self, ends: list[tuple[Any, Any]], last: Operand, after: Any) -> Value:
        """Join the branches of a choice at LLVM's block `after`, and return the value of the executed branch. `ends`
        are the values and blocks of the earlier branches; the last branch is the current block, with value `last`."""
        operand = self.operand(evaluated(last))
        ends.append((operand, self._builder.block))
        kind = I1 if all(operand.type == I1 for operand, _ in ends) else I64
        incoming = []
        for operand, block in ends:
            terminator = block.terminator
            self._builder.position_at_end(block) if terminator is None else self._builder.position_before(terminator)
            incoming.append((operand if operand.type == kind else self._builder.zext(operand, I64), block))
            if terminator is None:
                self._builder.branch(after)
        self._builder.position_at_end(after)
        meeting = self._builder.phi(kind)
        for operand, block in incoming:
            meeting.add_incoming(operand, block)
        return Value(self, meeting)

    def call(self, function: Any, *arguments: Number) -> Value:
        """Build a call of a function (LLVM's, or the Python function that builds it), and return the call's result."""
        if not isinstance(function, ir.Function):
            function = self.module.function(function)
        operands = [self.number(argument) for argument in arguments]
        for place, argument in enumerate(function.args):
            if argument.type == POINTER:
                operands[place] = self.builder.inttoptr(operands[place], POINTER)
        return Value(self, self.builder.call(function, operands))

    # --------------------------------------------------------------------------------------------------- statements

    def _block(self) -> Any:
        return self.function.append_basic_block()

    def _go_to(self, block: Any) -> Any:
        return None if self.has_ended else self._builder.branch(block)

    @contextmanager
    def when(self, condition: Number) -> Iterator[None]:
        """The code that the `with` block builds is executed if the condition is true."""
        yes, no = self._block(), self._block()
        self.builder.cbranch(self.truth(condition), yes, no)
        self._builder.position_at_end(yes)
        yield
        self._ended_in(no, [self._go_to(no)])

    @contextmanager
    def otherwise(self, condition: Operand = True) -> Iterator[None]:
        """Python's `elif` or `else`, directly after `when` or `otherwise`: the code that the `with` block builds is
        executed if all earlier conditions are false and this one is true."""
        no, jumps = self._condition
        assert no is self._builder.block and not no.instructions, "otherwise() stands directly behind when()"
        after = self._block()
        for jump in jumps:
            if jump is not None:
                jump.replace_usage(no, after)
        if condition is True:
            yield
            self._go_to(after)
            self._builder.position_at_end(after)
        else:
            yes = self._block()
            self.builder.cbranch(self.truth(evaluated(condition)), yes, after)
            self._builder.position_at_end(yes)
            yield
            self._ended_in(after, [*jumps, self._go_to(after)])

    def _ended_in(self, block: Any, jumps: list[Any]) -> None:
        self._builder.position_at_end(block)
        self._condition = block, jumps

    @contextmanager
    def loop(self, first: Number, end: Number) -> Iterator[Value]:
        """Build a loop over the numbers first..end-1: the `with` block gets the current number, and builds the loop's
        body. `first` and `end` are calculated once, before the loop."""
        limits = self.number(first), self.number(end)
        before, head, body, after = self._builder.block, self._block(), self._block(), self._block()
        self.builder.branch(head)
        self._builder.position_at_end(head)
        number = self._builder.phi(I64)
        number.add_incoming(limits[0], before)
        self._builder.cbranch(self._builder.icmp_signed("<", number, limits[1]), body, after)
        self._builder.position_at_end(body)
        following = self._builder.add(number, ir.Constant(I64, 1), flags=["nsw"])
        self._ends_of_loops.append(after)
        yield Value(self, number)
        if not self.has_ended:
            number.add_incoming(following, self._builder.block)
            self._builder.branch(head)
        self._builder.position_at_end(self._ends_of_loops.pop())

    @contextmanager
    def repeat(self, condition: Operand = True) -> Iterator[None]:
        """Build a `while` loop: the `with` block builds its body; the condition is tested before each execution."""
        head, after = self._block(), self._block()
        self.builder.branch(head)
        self._builder.position_at_end(head)
        if condition is not True:
            body = self._block()
            self.builder.cbranch(self.truth(evaluated(condition)), body, after)
            self._builder.position_at_end(body)
        self._ends_of_loops.append(after)
        yield
        self._go_to(head)
        self._builder.position_at_end(self._ends_of_loops.pop())

    def leave(self) -> None:
        """Build a jump out of the innermost `loop` or `repeat`, like Python's `break`."""
        self.builder.branch(self._ends_of_loops[-1])

    def return_(self, value: Number = 0) -> None:
        """Build a return from the function with this number."""
        self.builder.ret(self.number(value))


def evaluated(operand: Operand) -> Number:
    """The value of an operand; if the operand is a function that builds its code, the code is built here."""
    return operand() if callable(operand) else operand


class Operation:
    """An operation whose instructions are inlined where it is used. `build` gets LLVM's builder and LLVM's numbers, and
    returns the result; if `build` returns None, the operation's result is 0."""

    def __init__(self, build: Callable[..., Any]) -> None:
        self.build = build
        update_wrapper(self, build)

    def __call__(self, *arguments: Number) -> Value:
        """Write the operation's instructions into the `Code` to which `arguments` belong, and return the result."""
        code = code_of(arguments)
        operands = [code.number(argument) for argument in arguments]
        operand = self.build(code.builder, *operands)
        return Value(code, ir.Constant(I64, 0) if operand is None else operand)


def code_of(arguments: Iterable[Number]) -> Code:
    """The `Code` to which these arguments belong; at least one of them must be a `Value`."""
    return next(argument.code for argument in arguments if isinstance(argument, Value))


I8, I16, I32 = ir.IntType(8), ir.IntType(16), ir.IntType(32)

CELLS = {1: I8, 2: I16, 4: I32}
"""The types of cells by their number of bytes."""

NUMBERS = {8: I64, 4: I32, 2: I16, 1: I8}
"""The types of numbers in memory by their number of bytes, the largest first."""


def at(builder: Any, address: Any, kind: Any, offset: Any = 0) -> Any:
    """The pointer to `address + offset`, for data of type `kind`.

    LLVM gets the address as base and the offset as index, so it can tell whether two cells of a state overlap. LLVM may
    not know that an address is never 0; an attribute keeps it from treating code that reads address 0 as unreachable.
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
    """The signed number of type `kind` at address `state + offset`, extended to 64 bits."""
    return builder.sext(builder.load(at(builder, state, kind, offset)), I64)


def _write(kind: Any, builder: Any, state: Any, offset: Any, value: Any, low: Any, high: Any) -> None:
    """Write a number of type `kind` to `state + offset`. A number outside low..high is not written; instead the
    working buffer `state` is marked as failed."""
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


def _load(kind: Any, builder: Any, address: Any) -> Any:
    """The unsigned number of type `kind` at `address`, extended to 64 bits."""
    number = builder.load(at(builder, address, kind))
    return number if kind is I64 else builder.zext(number, I64)


def _store(kind: Any, builder: Any, address: Any, value: Any) -> None:
    builder.store(value if kind is I64 else builder.trunc(value, kind), at(builder, address, kind))


LOAD = {size: Operation(partial(_load, kind)) for size, kind in NUMBERS.items()}
"""The operations `load(address)` of an unsigned number, by its number of bytes, the largest first."""

STORE = {size: Operation(partial(_store, kind)) for size, kind in NUMBERS.items()}
"""The operations `store(address, value)`, by the number of bytes."""

load_word, store_word, store_half = LOAD[8], STORE[8], STORE[4]


@Operation
def element(builder: Any, state: Any, index: Any, size: Any) -> Any:
    """Returns `index` if it is in 0..size-1. Otherwise returns 0, and marks the working buffer `state` as failed."""
    inside = builder.icmp_unsigned("<", index, size)
    with builder.if_then(builder.not_(inside), likely=False):
        _fail(builder, state)
    return builder.select(inside, index, ir.Constant(I64, 0))


@Operation
def failed(builder: Any, state: Any) -> Any:
    """Whether an index or a value has left its range since the error word of the buffer `state` was last cleared."""
    return builder.icmp_unsigned("!=", builder.load(at(builder, state, I64)), ir.Constant(I64, 0))


@Operation
def prefetch(builder: Any, address: Any) -> None:
    """Fetch the cache line of `address` for reading, into all caches. The address need not be valid."""
    place = at(builder, address, I8)
    kind = ir.FunctionType(ir.VoidType(), [place.type, I32, I32, I32])
    function = builder.module.declare_intrinsic("llvm.prefetch", [place.type], kind)
    builder.call(function, [place, *(ir.Constant(I32, number) for number in (0, 3, 1))])


unsigned_shift = Operation(lambda builder, value, bits: builder.lshr(value, bits))
"""An unsigned number, shifted to the right by 0..63 bits."""

unsigned_remainder = Operation(lambda builder, left, right: builder.urem(left, right))
"""The remainder of an unsigned division."""

unsigned_less = Operation(lambda builder, left, right: builder.icmp_unsigned("<", left, right))
"""Whether one unsigned number is less than another."""


class Words(Value):
    """The address of an array of 64-bit numbers: `words[place]` reads a number, `words[place] = number` writes it."""

    __slots__ = ()

    size: ClassVar[int] = 8
    __iter__ = None  # its end is not known: Python would load numbers for ever

    def __getitem__(self, place: Number) -> Value:
        return LOAD[self.size](self + place * self.size)

    def __setitem__(self, place: Number, number: Number) -> None:
        STORE[self.size](self + place * self.size, number)


class Halves(Words):
    """The address of an array of unsigned 32-bit numbers, read and written like `Words`."""

    __slots__ = ()

    size = 4


class Bytes(Words):
    """The address of an array of unsigned 8-bit numbers, read and written like `Words`."""

    __slots__ = ()

    size = 1


class Module:
    """Functions of machine code that call each other. `before_each` is called before each function is built."""

    def __init__(self, before_each: Callable[[], object] = lambda: None) -> None:
        self.content = ir.Module("kernel")
        self._before_each = before_each
        self._functions: dict[Build, Any] = {}

    def function(self, build: Build, *, is_exported: bool = False) -> Any:
        """Return LLVM's function that the Python function `build` builds (on the first call only). It is named after
        `build`; the annotations of `build` are its parameter types. Only an exported function can be loaded by name."""
        if build not in self._functions:
            kinds = kinds_of(build)
            self._functions[build] = self.define(build.__name__, kinds, build, is_exported=is_exported)
        return self._functions[build]

    def define(self, name: str, kinds: Sequence[type[Value]], build: Build, *, is_exported: bool = False) -> Any:
        """Build a function with parameters of these types, and return it as LLVM's function. If the name is taken, a
        function that is not exported gets a longer name."""
        self._before_each()
        name = name if is_exported else self.content.get_unique_name(name)
        code = Code(self, name, kinds)
        if not is_exported:
            code.function.linkage = "internal"
        build(code, *code.parameters)
        code.end()
        self.content.globals.move_to_end(name)  # behind the functions that it calls
        return code.function

    def assembly(self) -> str:
        """The text of the module in LLVM's assembly."""
        return str(self.content)

    def take_apart(self) -> None:
        """Break the reference cycles in a module that is no longer needed. The module's memory is then freed at once,
        not later by the garbage collector."""
        for function in self.content.functions:
            for block in function.blocks:
                for instruction in block.instructions:
                    if isinstance(instruction, ir.PhiInstr):
                        instruction.incomings.clear()
                block.instructions.clear()
                block.terminator = None
            function.blocks.clear()
            function.args = ()
        self.content.globals.clear()
        self._functions.clear()


def kinds_of(build: Build) -> list[type[Value]]:
    """The annotations of `build`, which are the types (Value, Buffer, ...) of the built function's parameters."""
    _, *parameters = inspect.signature(build, eval_str=True).parameters.values()
    return [parameter.annotation for parameter in parameters]


@contextmanager
def new_module(before_each: Callable[[], object] = lambda: None) -> Iterator[Module]:
    """Yield an empty module, which the `with` block fills; free the module's memory at the end of the block. As no
    object is freed earlier, the garbage collector is off during the block, which saves a third of the block's time."""
    was_enabled, built = gc.isenabled(), Module(before_each)
    gc.disable()
    try:
        yield built
    finally:
        built.take_apart()
        if was_enabled:
            gc.enable()


class Staged:
    """A Python function, marked with the decorator `@Staged`, that builds a function of machine code. Calling it with
    `Value`s builds a call of the function of machine code, in the code of the caller."""

    def __init__(self, build: Build) -> None:
        self.build = build
        update_wrapper(self, build)

    @property
    def parameters(self) -> int:
        """The number of the function's parameters."""
        return self.build.__code__.co_argcount - 1

    def __call__(self, *arguments: Number) -> Value:
        """Build a call of the function in the `Code` to which `arguments` belong, and return the call's result."""
        return code_of(arguments).call(self.build, *arguments)

"""Compiles functions in a small subset of Python to machine code, through LLVM.

In:  the text of a kernel (checker/compile/lower.py) or of a module (checker/compile/hash_table.py), in which functions
     contain only integers, truth values, `if`, `while`, `for ... in range(...)`, `break` and calls; and the operations
     that they call (checker/compile/staging/instructions.py).
Out: object code, which can be stored; and, from object code, functions that Python can call.
"""

from __future__ import annotations

import ast
import ctypes
import gc
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import llvmlite.binding as llvm
from llvmlite import ir

from isrcheck.checker.compile.staging.code import Operation as Staged
from isrcheck.models.language.text.chains import alternatives, branches, summands

I1, I64 = ir.IntType(1), ir.IntType(64)
POINTER = ir.IntType(8).as_pointer()

BUFFERS = frozenset(("s", "before", "after"))
"""The parameters that are addresses of working buffers."""

APART = frozenset(("expand", "emit", "observe_step"))
"""The functions whose working buffers are different: what is written through one is never read through another. A
function of the model may get one state twice."""

Builder = Any
Value = Any
Operation = Callable[..., Value]
"""A memory operation: takes the builder and integers; returns an integer, a truth value, or nothing."""

OPTIMIZATION = 3
"""LLVM's level for the selection of machine instructions."""

SIMPLIFICATION = 1
"""LLVM's level for the passes before. Level 3 takes twice as long, and makes searches at most 2 % faster."""

QUICK = 0
"""LLVM's level for code that is compiled in a third of the time, and takes two and a half times as long to run."""

SIGNS = {ast.Eq: "==", ast.NotEq: "!=", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">="}


def object_code(
    text: str,
    operations: Mapping[str, Operation],
    exported: Iterable[str],
    constants: Mapping[str, int] = {},
    *,
    is_quick: bool = False,
) -> bytes:
    """Compile the functions of a text; only the `exported` ones can be called from outside.

    What else a module contains, such as imports, concerns only Python; its constants are given as values. `is_quick`
    saves time of compilation, not of the code.
    """
    with _uncollected():
        module = ir.Module("kernel")
        functions: dict[str, Any] = {}
        for definition in ast.parse(text).body:
            if isinstance(definition, ast.FunctionDef):
                _Function(module, definition, operations, functions, constants).build(definition.name in exported)
        assembly = str(module)
        _take_apart(module)
    return machine_code(assembly, is_quick=is_quick)


def machine_code(assembly: str, *, is_quick: bool = False) -> bytes:
    """The object code of a module in LLVM's assembly. `is_quick` saves time of compilation, not of the code."""
    machine = _machine(QUICK if is_quick else OPTIMIZATION)
    compiled = llvm.parse_assembly(assembly)
    compiled.triple, compiled.data_layout = llvm.get_process_triple(), str(machine.target_data)
    compiled.verify()
    if is_quick:
        _put_into_registers(compiled, machine)
    else:
        _simplify(compiled, machine)
    code: bytes = machine.emit_object(compiled)
    return code


@contextmanager
def _uncollected() -> Iterator[None]:
    """Leave garbage alone in the block: it makes many objects that live to its end, and is a third faster so."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def _take_apart(module: Any) -> None:
    """Break the cycles in a module that is not needed, so that it goes at once: the garbage collector takes longer."""
    for function in module.functions:
        for block in function.blocks:
            for instruction in block.instructions:
                if isinstance(instruction, ir.PhiInstr):
                    instruction.incomings.clear()
            block.instructions.clear()
            block.terminator = None
        function.blocks.clear()
        function.args = ()
    module.globals.clear()


def _put_into_registers(compiled: Any, machine: Any) -> None:
    passes = llvm.create_new_module_pass_manager()
    passes.add_sroa_pass()
    passes.run(compiled, llvm.create_pass_builder(machine, llvm.create_pipeline_tuning_options(speed_level=QUICK)))


def _simplify(compiled: Any, machine: Any) -> None:
    tuning = llvm.create_pipeline_tuning_options(speed_level=SIMPLIFICATION)
    tuning.loop_vectorization = True
    tuning.slp_vectorization = False
    builder = llvm.create_pass_builder(machine, tuning)
    builder.getModulePassManager().run(compiled, builder)


def load(code: bytes, parameters: Mapping[str, int]) -> dict[str, Callable[..., int]]:
    """The functions in object code, by name and number of integer parameters."""
    engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), _machine(OPTIMIZATION))
    engine.add_object_file(llvm.ObjectFileRef.from_data(code))
    engine.finalize_object()
    found: dict[str, Callable[..., int]] = {}
    for name, count in parameters.items():
        kind = ctypes.CFUNCTYPE(ctypes.c_int64, *[ctypes.c_int64] * count)
        function = kind(engine.get_function_address(name))
        function.engine = engine  # type: ignore[attr-defined] # the code lives as long as the engine does
        found[name] = function
    return found


def host() -> str:
    """The system, the processor and its features, which can differ between processors with the same name."""
    return f"{llvm.get_process_triple()} {llvm.get_host_cpu_name()} {llvm.get_host_cpu_features().flatten()}"


def _machine(level: int) -> Any:
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    triple, name, features = host().split(" ", 2)
    target = llvm.Target.from_triple(triple)
    return target.create_target_machine(name, features, opt=level, codemodel="jitdefault", jit=True)


class _Function:
    """Builds one function. Every local name is a 64-bit cell on the stack, which LLVM turns into registers."""

    def __init__(
        self,
        module: Any,
        definition: ast.FunctionDef,
        operations: Mapping[str, Operation],
        functions: dict[str, Any],
        constants: Mapping[str, int],
    ) -> None:
        names = [argument.arg for argument in definition.args.args]
        kind = ir.FunctionType(I64, [POINTER if name in BUFFERS else I64 for name in names])
        self.function = ir.Function(module, kind, definition.name)
        self.function.attributes.add("nounwind")
        self.definition = definition
        self.operations = operations
        self.functions = functions
        self.constants = constants
        self.ends_of_loops: list[Value] = []
        functions[definition.name] = self.function
        self.entry = self.function.append_basic_block("entry")
        self.builder: Builder = ir.IRBuilder(self.function.append_basic_block("body"))
        self.cells: dict[str, Value] = {}
        is_apart = definition.name in APART or len(BUFFERS.intersection(names)) == 1
        for name, argument in zip(names, self.function.args, strict=True):
            if name in BUFFERS:
                if is_apart:
                    argument.add_attribute("noalias")
                argument = self.builder.ptrtoint(argument, I64)
            self.assign(name, argument)

    def build(self, is_exported: bool) -> None:
        """Build the whole function."""
        if not is_exported:
            self.function.linkage = "internal"
        body = self.function.blocks[1]
        self.block(self.definition.body)
        if not self.builder.block.is_terminated:
            self.builder.ret(ir.Constant(I64, 0))
        ir.IRBuilder(self.entry).branch(body)

    def assign(self, name: str, value: Value) -> None:
        if name not in self.cells:
            self.cells[name] = ir.IRBuilder(self.entry).alloca(I64)
        self.builder.store(self.number(value), self.cells[name])

    # --------------------------------------------------------------------------------------------------- statements

    def block(self, statements: Iterable[ast.stmt]) -> None:
        """Build statements in order; nothing is built after a `return`."""
        for statement in statements:
            if self.builder.block.is_terminated:
                return
            getattr(self, f"statement_{type(statement).__name__}")(statement)

    def statement_Pass(self, statement: ast.Pass) -> None:
        pass

    def statement_Expr(self, statement: ast.Expr) -> None:
        if not isinstance(statement.value, ast.Constant):  # a docstring
            self.value(statement.value)

    def statement_Assign(self, statement: ast.Assign) -> None:
        (target,) = statement.targets
        assert isinstance(target, ast.Name)
        self.assign(target.id, self.value(statement.value))

    def statement_AugAssign(self, statement: ast.AugAssign) -> None:
        assert isinstance(statement.target, ast.Name)
        known = self.builder.load(self.cells[statement.target.id])
        self.assign(statement.target.id, self.calculated(statement.op, known, self.value(statement.value)))

    def statement_Return(self, statement: ast.Return) -> None:
        value = ir.Constant(I64, 0) if statement.value is None else self.number(self.value(statement.value))
        self.builder.ret(value)

    def statement_If(self, statement: ast.If) -> None:
        tests, otherwise = branches(statement)
        after = self.function.append_basic_block()
        for one in tests:
            condition = self.truth(self.value(one.test))
            is_last = one is tests[-1] and not otherwise
            yes, no = self.function.append_basic_block(), after if is_last else self.function.append_basic_block()
            self.builder.cbranch(condition, yes, no)
            self.builder.position_at_end(yes)
            self.block_to(one.body, after)
            self.builder.position_at_end(no)
        if otherwise:
            self.block_to(otherwise, after)
            self.builder.position_at_end(after)

    def block_to(self, statements: Iterable[ast.stmt], after: Value) -> None:
        """Build statements, followed by a jump to `after`."""
        self.block(statements)
        if not self.builder.block.is_terminated:
            self.builder.branch(after)

    def statement_For(self, statement: ast.For) -> None:
        """Build a loop. The counter has a cell of its own, so that the body may assign to the variable."""
        assert isinstance(statement.target, ast.Name) and isinstance(statement.iter, ast.Call) and not statement.orelse
        limits = [self.number(self.value(argument)) for argument in statement.iter.args]
        first, last = limits if len(limits) == 2 else (ir.Constant(I64, 0), *limits)
        counter = f"range {len(self.cells)}"
        self.assign(counter, first)
        head, body, after = (self.function.append_basic_block() for _ in range(3))
        self.builder.branch(head)
        self.builder.position_at_end(head)
        number = self.builder.load(self.cells[counter])
        self.builder.cbranch(self.builder.icmp_signed("<", number, last), body, after)
        self.builder.position_at_end(body)
        self.assign(statement.target.id, number)
        self.assign(counter, self.builder.add(number, ir.Constant(I64, 1), flags=["nsw"]))
        self.repeat(statement.body, head, after)

    def statement_While(self, statement: ast.While) -> None:
        assert not statement.orelse
        head, body, after = (self.function.append_basic_block() for _ in range(3))
        self.builder.branch(head)
        self.builder.position_at_end(head)
        self.builder.cbranch(self.truth(self.value(statement.test)), body, after)
        self.builder.position_at_end(body)
        self.repeat(statement.body, head, after)

    def repeat(self, statements: Iterable[ast.stmt], head: Value, after: Value) -> None:
        """Build the body of a loop, followed by a jump to `head`; a `break` in the body jumps to `after`."""
        self.ends_of_loops.append(after)
        self.block_to(statements, head)
        self.ends_of_loops.pop()
        self.builder.position_at_end(after)

    def statement_Break(self, statement: ast.Break) -> None:
        self.builder.branch(self.ends_of_loops[-1])

    # -------------------------------------------------------------------------------------------------- expressions

    def value(self, expression: ast.expr) -> Value:
        return getattr(self, f"value_{type(expression).__name__}")(expression)

    def truth(self, value: Value) -> Value:
        return value if value.type == I1 else self.builder.icmp_signed("!=", value, ir.Constant(I64, 0))

    def number(self, value: Value) -> Value:
        return value if value.type == I64 else self.builder.zext(value, I64)

    def value_Constant(self, expression: ast.Constant) -> Value:
        assert isinstance(expression.value, int)
        kind = I1 if isinstance(expression.value, bool) else I64
        return ir.Constant(kind, int(expression.value))

    def value_Name(self, expression: ast.Name) -> Value:
        if expression.id in self.cells:
            return self.builder.load(self.cells[expression.id])
        return ir.Constant(I64, self.constants[expression.id])

    def value_UnaryOp(self, expression: ast.UnaryOp) -> Value:
        value = self.value(expression.operand)
        if isinstance(expression.op, ast.Not):
            return self.builder.not_(self.truth(value))
        assert isinstance(expression.op, ast.USub)
        return self.builder.neg(self.number(value))

    def value_BinOp(self, expression: ast.BinOp) -> Value:
        first, rest = summands(expression)
        if not rest:
            return self.calculated(expression.op, self.value(expression.left), self.value(expression.right))
        total = self.value(first)
        for operator, term in rest:
            total = self.calculated(operator, total, self.value(term))
        return total

    def calculated(self, operator: ast.operator, left: Value, right: Value) -> Value:
        operations = {
            ast.Add: self.builder.add,
            ast.Sub: self.builder.sub,
            ast.Mult: self.builder.mul,
            ast.FloorDiv: self.quotient,
            ast.Mod: self.remainder,
            ast.RShift: self.builder.ashr,
            ast.BitAnd: self.builder.and_,
            ast.BitOr: self.builder.or_,
            ast.BitXor: self.builder.xor,
        }
        return operations[type(operator)](self.number(left), self.number(right))

    def quotient(self, left: Value, right: Value) -> Value:
        """The greatest number whose product with `right`, which is above 0, is at most `left`."""
        return self.builder.sub(self.builder.sdiv(left, right), self.number(self.is_rounded_up(left, right)))

    def remainder(self, left: Value, right: Value) -> Value:
        """The remainder of that quotient, which is in 0..right-1."""
        found = self.builder.srem(left, right)
        return self.builder.select(self.is_rounded_up(left, right), self.builder.add(found, right), found)

    def is_rounded_up(self, left: Value, right: Value) -> Value:
        """Whether the processor's quotient, which is rounded towards 0, is above the exact one."""
        return self.builder.icmp_signed("<", self.builder.srem(left, right), ir.Constant(I64, 0))

    def membership(self, expression: ast.Compare, values: ast.Tuple) -> Value:
        """Build `x in (a, b)`, which evaluates x and every value."""
        one = self.number(self.value(expression.left))
        found: Value = ir.Constant(I1, 0)
        for value in values.elts:
            found = self.builder.or_(found, self.builder.icmp_signed("==", one, self.number(self.value(value))))
        return found if isinstance(expression.ops[0], ast.In) else self.builder.not_(found)

    def value_Compare(self, expression: ast.Compare) -> Value:
        """Build a chain of comparisons: evaluated from left to right, up to the first one that is false."""
        if isinstance(expression.comparators[0], ast.Tuple):
            return self.membership(expression, expression.comparators[0])

        def comparisons() -> Iterator[Value]:
            left = self.number(self.value(expression.left))
            for sign, side in zip(expression.ops, expression.comparators, strict=True):
                right = self.number(self.value(side))
                yield self.builder.icmp_signed(SIGNS[type(sign)], left, right)
                left = right

        return self.first(comparisons(), len(expression.ops), decides=False)

    def value_BoolOp(self, expression: ast.BoolOp) -> Value:
        values = map(self.value, expression.values)
        return self.first(values, len(expression.values), decides=isinstance(expression.op, ast.Or))

    def first(self, values: Iterator[Value], count: int, *, decides: bool) -> Value:
        """The value of `and` or `or`: the first one whose truth is `decides`, else the last; evaluates no others."""
        ends = []
        after = self.function.append_basic_block() if count > 1 else None
        for position, value in enumerate(values, 1):
            if after is None:
                return value
            condition = self.truth(value)
            following = self.function.append_basic_block() if position < count else None
            ends.append((value, self.builder.block, condition, following))
            if following is not None:
                self.builder.position_at_end(following)
        kind = I1 if all(value.type == I1 for value, *_ in ends) else I64
        incoming = []
        for value, block, condition, following in ends:
            self.builder.position_at_end(block)
            incoming.append((value if kind == I1 else self.number(value), block))
            if following is None:
                self.builder.branch(after)
            else:
                self.builder.cbranch(condition, *((after, following) if decides else (following, after)))
        return self.met(kind, incoming, after)

    def value_IfExp(self, expression: ast.IfExp) -> Value:
        """Build a conditional expression, which evaluates only the chosen value."""
        pairs, last = alternatives(expression)
        ends = []
        for test, side in pairs:
            condition = self.truth(self.value(test))
            yes, no = self.function.append_basic_block(), self.function.append_basic_block()
            self.builder.cbranch(condition, yes, no)
            self.builder.position_at_end(yes)
            value = self.value(side)
            ends.append((value, self.builder.block))
            self.builder.position_at_end(no)
        value = self.value(last)
        ends.append((value, self.builder.block))
        after = self.function.append_basic_block()
        kind = I1 if all(value.type == I1 for value, _ in ends) else I64
        incoming = []
        for value, block in ends:
            self.builder.position_at_end(block)
            incoming.append((value if kind == I1 else self.number(value), block))
            self.builder.branch(after)
        return self.met(kind, incoming, after)

    def met(self, kind: Any, incoming: Iterable[tuple[Value, Value]], after: Value) -> Value:
        """The phi node of the block `after`: its value for each predecessor is given in `incoming`."""
        self.builder.position_at_end(after)
        found = self.builder.phi(kind)
        for value, block in incoming:
            found.add_incoming(value, block)
        return found

    def value_Call(self, call: ast.Call) -> Value:
        assert isinstance(call.func, ast.Name)
        name = call.func.id
        values = [self.number(self.value(argument)) for argument in call.args]
        if name in self.functions:
            function = self.functions[name]
            kinds = [argument.type for argument in function.args]
            given = [
                self.builder.inttoptr(value, kind) if kind == POINTER else value
                for value, kind in zip(values, kinds, strict=True)
            ]
            return self.builder.call(function, given)
        if name in self.operations:
            operation = self.operations[name]
            found = (operation.build if isinstance(operation, Staged) else operation)(self.builder, *values)
            return ir.Constant(I64, 0) if found is None else found
        if name == "int":
            return values[0]
        sign = {"min": "<", "max": ">"}[name]
        best = values[0]
        for value in values[1:]:
            # Among equal values the first one counts, as in Python.
            best = self.builder.select(self.builder.icmp_signed(sign, value, best), value, best)
        return best

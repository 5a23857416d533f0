"""Builds what the nodes of one routine of a model say, as machine code.

In:  a `Routine`, and the kernel that it becomes a part of (checker/compile/lower.py).
Out: a function of the kernel: a cell is the number at an address, a guard that is false returns 0, folds are loops.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import ExitStack
from functools import partial
from typing import Any, Protocol, assert_never

from isrcheck.checker.compile.lowering.elements import Elements
from isrcheck.checker.compile.lowering.ranges import Limits, Ranges, is_of_loop
from isrcheck.checker.compile.staging.code import Apart, Buffer, Code, Number, Value, Variable
from isrcheck.checker.compile.staging.instructions import READ, WRITE, element
from isrcheck.checker.compile.staging.module import Module
from isrcheck.models.language.ir import nodes as ir
from isrcheck.models.language.ir.nodes import increase, variables, visit
from isrcheck.models.language.model import Instance
from isrcheck.models.language.states import FieldLayout


class Kernel(Protocol):
    """The kernel whose functions are built."""

    instance: Instance
    module: Module
    ranges: Ranges
    elements: Elements

    def routine(self, routine: ir.Routine, /) -> Any:
        """The function of a routine, which is built if it is not there yet."""

    def first_byte(self, place: FieldLayout) -> int:
        """Where the cells of a field begin in a working buffer."""

    def setting(self, entry: str) -> tuple[int, int]:
        """Where a working buffer has a setting, and in how many bytes."""


def function_of(
    kernel: Kernel, routine: ir.Routine, limits: Limits | None = None, *, is_action: bool = False, skip: int = 0
) -> Any:
    """The function of a routine, given limits of its parameters, without its first `skip` statements. That of an action
    returns whether the action is enabled."""
    body = routine.body[skip:]

    def build(code: Code, *parameters: Value) -> None:
        places = {
            variable: code.variable(value) if variable in routine.assignments else value
            for variable, value in zip(routine.parameters, parameters, strict=True)
        }
        Lowering(kernel, code, routine, places, kernel.ranges.limits(routine, body, limits or {})).statements(body)
        if is_action and not code.has_ended:
            code.return_(True)

    return kernel.module.define(f"model.{routine.name}", _kinds(routine.parameters), build)


def _kinds(parameters: Iterable[ir.Variable]) -> list[type[Value]]:
    """The kinds of a function's parameters. If there are several states, they may be the same."""
    states = sum(one.role is ir.Role.STATE for one in parameters)
    return [(Apart if states == 1 else Buffer) if one.role is ir.Role.STATE else Value for one in parameters]


class Lowering:
    """Builds nodes of a routine in a function. `places` are the values of the variables so far; `limits` are known of
    them."""

    def __init__(
        self, kernel: Kernel, code: Code, routine: ir.Routine, places: dict[ir.Variable, Value], limits: Limits
    ) -> None:
        self.kernel = kernel
        self.code = code
        self.routine = routine
        self.places = places
        self.limits = limits

    # --------------------------------------------------------------------------------------------------- statements

    def statements(self, statements: Iterable[ir.Statement]) -> None:
        """Build statements in order; nothing is built behind the end."""
        for statement in statements:
            if not self.code.has_ended:
                self.statement(statement)

    def statement(self, statement: ir.Statement) -> None:
        """Build one statement."""
        code = self.code
        match statement:
            case ir.Assign(variable, value):
                self.assign(variable, self.value(value))
            case ir.Store():
                self.store(statement)
            case ir.Branch(cases, otherwise):
                with code.when(self.value(cases[0].condition)):
                    self.statements(cases[0].body)
                for case in cases[1:]:
                    with code.otherwise(partial(self.value, case.condition)):
                        self.statements(case.body)
                if otherwise:
                    with code.otherwise():
                        self.statements(otherwise)
            case ir.Loop(variable, numbers, body):
                with code.loop(*self.range(numbers)) as number:
                    if is_of_loop(self.routine, variable):
                        self.places[variable] = number
                    else:
                        self.assign(variable, number)
                    self.statements(body)
            case ir.Require(ir.Fold(ir.Gathering.ALL) as fold):
                self.guard(self.folded(fold))
            case ir.Require(condition):
                self.guard(self.value(condition))
            case ir.Return(ir.Fold(ir.Gathering.ALL | ir.Gathering.ANY) as fold):
                code.return_(self.folded(fold))
            case ir.Return(value):
                code.return_(self.value(value))
            case ir.Do(call):
                self.value(call)
            case ir.CollectiveStatement():
                raise ir.NotInTheCoreError(statement.span.place)
            case _:
                assert_never(statement)

    def guard(self, holds: Number) -> None:
        """Return that an action is not enabled, unless a guard holds."""
        if holds is not True:
            with self.code.when(~holds):
                self.code.return_(False)

    def assign(self, variable: ir.Variable, value: Number) -> None:
        """Give a variable a value."""
        place = self.places.get(variable)
        if place is None:
            place = self.places[variable] = self.code.variable()
        assert isinstance(place, Variable)
        place.set(value)

    def store(self, store: ir.Store) -> None:
        """Store a value, or add to a cell, whose place is computed once."""
        total = increase(store)
        state, place, offset = self.place(store.cell)
        if total is None:
            value = self.value(store.value)
        else:
            value = self.added(READ[place.bytes](state, offset), total.terms[1:])
        WRITE[place.bytes](state, offset, value, place.low, place.high)

    # -------------------------------------------------------------------------------------------------- expressions

    def value(self, expression: ir.Expression) -> Value:
        """Build an expression."""
        code, value = self.code, self.value
        match expression:
            case ir.Constant(number):
                return code.constant(number)
            case ir.Local(variable):
                return self.places[variable]
            case ir.Setting(entry):
                return self.setting(entry)
            case ir.Size(domain):
                return code.constant(self.kernel.instance.size_of(domain))
            case ir.Cell():
                state, place, offset = self.place(expression)
                cell = READ[place.bytes](state, offset)
                return cell.is_true if place.field.values.is_flag else cell
            case ir.Element(subset, index):
                elements = self.kernel.ranges.elements(subset)
                assert elements < 64, "a subset fits into one word: MOST_STEPS limits its size"
                place_ = self.index(self.state, index, elements)
                return (self.places[subset] >> place_ & 1).is_true
            case ir.IsTaken(taken, action):
                slot = [one.name for one in self.kernel.instance.model.actions].index(action)
                return code.compared("==", self.places[taken], slot)
            case ir.Not(operand):
                return ~value(operand)
            case ir.And(parts):
                return code.every(*self.delayed(parts))
            case ir.Or(parts):
                return code.some(*self.delayed(parts))
            case ir.Compare(left, _, right):
                return code.compared(self.kernel.elements.sign(expression), value(left), value(right))
            case ir.Chain(first, links):
                return code.every(*self.compared(value(first), links))
            case ir.Among(element_, choices):
                return code.among(value(element_), map(value, choices))
            case ir.Negative(operand):
                return -value(operand)
            case ir.Sum(terms):
                return self.added(value(terms[0].value), terms[1:])
            case ir.Arithmetic(left, operation, right):
                return self.calculated(value(left), operation, value(right))
            case ir.Choose(options, otherwise):
                pairs = [(partial(value, one.condition), partial(value, one.value)) for one in options]
                return code.choice(pairs, partial(value, otherwise))
            case ir.Extremum(extreme, parts):
                return code.extremum("<" if extreme is ir.Extreme.LEAST else ">", *map(value, parts))
            case ir.Fold():
                return self.fold_call(expression)
            case ir.Call(routine, arguments):
                return code.call(self.kernel.routine(routine), *map(value, arguments))
            case ir.CollectiveExpression():
                raise ir.NotInTheCoreError(expression.span.place)
            case _:
                assert_never(expression)

    @property
    def state(self) -> Value:
        """The state that holds the settings, and notes an index outside a subset."""
        return self.places[self.routine.states[0]]

    def delayed(self, expressions: Iterable[ir.Expression]) -> list[Callable[[], Value]]:
        """What builds each of these expressions."""
        return [partial(self.value, one) for one in expressions]

    def compared(self, first: Value, links: Iterable[ir.Link]) -> list[Callable[[], Value]]:
        """What builds each comparison of a chain, in which every number is evaluated once."""
        left = first

        def compare(link: ir.Link) -> Value:
            nonlocal left
            before, left = left, self.value(link.right)
            return self.code.compared(link.sign.value, before, left)

        return [partial(compare, link) for link in links]

    def added(self, total: Value, terms: Iterable[ir.Term]) -> Value:
        """A sum, with further terms."""
        for term in terms:
            total = total - self.value(term.value) if term.is_subtracted else total + self.value(term.value)
        return total

    def calculated(self, left: Value, operation: ir.Operation, right: Value) -> Value:
        """A product, a quotient or a remainder."""
        match operation:
            case ir.Operation.TIMES:
                return left * right
            case ir.Operation.DIVIDED_BY:
                return left // right
            case ir.Operation.MODULO:
                return left % right
            case _:
                assert_never(operation)

    def setting(self, name: str) -> Value:
        """A setting: a number, or where the working buffer has it."""
        entry = self.kernel.instance.model.entries[name]
        if entry.is_bound:
            return self.code.constant(getattr(self.kernel.instance.configuration, name))
        byte, size = self.kernel.setting(name)
        number = READ[size](self.state, byte)
        return number.is_true if entry.values is bool else number

    # -------------------------------------------------------------------------------------------------------- cells

    def place(self, cell: ir.Cell) -> tuple[Value, FieldLayout, Value]:
        """The state, the field, and the byte offset of a cell."""
        state, place = self.places[cell.state], self.kernel.instance.layouts[cell.field]
        first, moving = self.kernel.first_byte(place), []
        stride = place.count * place.bytes
        for index, size in zip(cell.indices, place.sizes, strict=True):
            stride //= size or 1
            number = self.kernel.ranges.number(index)
            if number is not None and 0 <= number < size:
                first += number * stride
            else:
                moving.append(self.index(state, index, size) * stride)
        return state, place, sum(moving, self.code.constant(first))

    def index(self, state: Value, index: ir.Expression, size: int) -> Value:
        """An index, which is checked unless it surely is in 0..size-1."""
        value = self.value(index)
        return value if self.kernel.ranges.is_safe(index, size, self.limits) else element(state, value, size)

    # --------------------------------------------------------------------------------------------- ranges and folds

    def range(self, numbers: ir.Range) -> list[Number]:
        """The ends of a range."""
        ends = [(end, self.kernel.ranges.number(end)) for end in (numbers.first, numbers.end)]
        return [self.value(end) if number is None else number for end, number in ends]

    def folded(self, fold: ir.Fold) -> Number:
        """The value of a fold that ends a function, or a guard: a value that decides it is returned."""
        code, gathering = self.code, fold.gathering
        is_all, is_extremum = gathering is ir.Gathering.ALL, gathering in (ir.Gathering.LEAST, ir.Gathering.GREATEST)
        gathers = is_extremum or gathering is ir.Gathering.SUM
        goes_on = not gathers and self.kernel.elements.must_go_on(fold, self.limits)
        result: Number = is_all
        if gathers:
            result = total = code.variable(0 if fold.default is None else self.value(fold.default))
        elif goes_on:
            result = total = code.variable(is_all)
        is_first = code.variable(True) if is_extremum else None
        with ExitStack() as loops:
            for generator in fold.generators:
                number = loops.enter_context(code.loop(*self.range(generator.range)))
                self.places[generator.variable] = number
                if generator.conditions:
                    loops.enter_context(code.when(code.every(*self.delayed(generator.conditions))))
            body = self.value(fold.body)
            if gathering is ir.Gathering.SUM:
                total += body
            elif is_first is not None:
                sign = "<" if gathering is ir.Gathering.LEAST else ">"
                with code.when(code.some(is_first, lambda: code.compared(sign, body, total))):
                    total.set(body)
                    is_first.set(False)
            else:
                with code.when(~body if is_all else body):
                    if goes_on:
                        total.set(not is_all)
                    else:
                        code.return_(not is_all)
        return result

    def fold_call(self, fold: ir.Fold) -> Value:
        """A fold inside an expression: the call of a new function that gets the variables that it reads."""
        read = variables(fold)
        if any(isinstance(node, ir.Element | ir.Setting) for node in visit([fold])):
            read.add(self.routine.states[0])
        parameters = sorted(read, key=lambda variable: variable.name)

        def build(code: Code, *values: Value) -> None:
            places = dict(zip(parameters, values, strict=True))
            code.return_(Lowering(self.kernel, code, self.routine, places, self.limits).folded(fold))

        function = self.kernel.module.define(f"model.{self.routine.name}.fold", _kinds(parameters), build)
        return self.code.call(function, *(self.places[variable] for variable in parameters))

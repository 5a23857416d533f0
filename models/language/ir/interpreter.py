"""What the representation means: the smallest engine, which evaluates routines on one state at a time.

In:  an `Instance`, routines, and the cells of a state.
Out: the value of a property, or the cells after a step; the value of an expression.

What a model means is defined by models/run.py, which calls its Python functions. The tests compare both on every model,
and so check that the representation says what the functions say. Analyses use the interpreter for a single expression.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from operator import eq, floordiv, ge, gt, le, lt, mod, mul, ne
from typing import TypeAlias, assert_never

from isrcheck.models.language.declare import Disabled
from isrcheck.models.language.ir.nodes import (
    Among,
    And,
    Arithmetic,
    Assign,
    Branch,
    Call,
    Cell,
    Chain,
    Choose,
    Compare,
    Constant,
    Do,
    Element,
    Expression,
    Extreme,
    Extremum,
    Fold,
    Gathering,
    Generator,
    IsTaken,
    Local,
    Loop,
    Negative,
    Not,
    Operation,
    Or,
    Range,
    Require,
    Return,
    Role,
    Routine,
    Setting,
    Sign,
    Size,
    Statement,
    Store,
    Sum,
    Variable,
)
from isrcheck.models.language.model import Instance
from isrcheck.models.messages.errors import ModelError

SIGNS: Mapping[Sign, Callable[[int, int], bool]] = {
    Sign.EQUAL: eq,
    Sign.NOT_EQUAL: ne,
    Sign.LESS: lt,
    Sign.AT_MOST: le,
    Sign.GREATER: gt,
    Sign.AT_LEAST: ge,
}
OPERATIONS: Mapping[Operation, Callable[[int, int], int]] = {
    Operation.TIMES: mul,
    Operation.DIVIDED_BY: floordiv,
    Operation.MODULO: mod,
}

Argument: TypeAlias = int | list[int] | Sequence[bool] | str
"""The value of a variable: a number, the cells of a state, a subset, or the name of the action that was taken."""


class UnknownVariableError(Exception):
    """The value of an expression depends on a variable that has none."""


class Interpreter:
    """Evaluates the routines of one instance."""

    def __init__(self, instance: Instance) -> None:
        self.instance = instance

    def call(self, routine: Routine, arguments: Iterable[Argument | None]) -> int | None:
        """The value that a routine returns, if it returns one; an action changes the cells that it is given.
        An argument can be unknown (None).

        Raises ModelError if an index or a value leaves its declared range, Disabled if a guard is false, and
        UnknownVariableError if an unknown argument is used.
        """
        return Evaluation(self, dict(zip(routine.parameters, arguments, strict=True))).block(routine.body)

    def value(self, expression: Expression, values: Mapping[Variable, Argument] = {}) -> int:
        """The value of an expression, given those of variables in it. Raises UnknownVariableError if it depends on
        another variable, and ModelError as for `call`."""
        return Evaluation(self, {**values}).value(expression)


class Evaluation:
    """One call of a routine, with the values of its variables."""

    def __init__(self, interpreter: Interpreter, values: dict[Variable, Argument | None]) -> None:
        self.interpreter = interpreter
        self.instance = interpreter.instance
        self.values = values

    # --------------------------------------------------------------------------------------------------- statements

    def block(self, statements: Iterable[Statement]) -> int | None:
        """Execute statements up to the first that returns; the value that it returns."""
        for statement in statements:
            result = self.statement(statement)
            if result is not None:
                return result
        return None

    def statement(self, statement: Statement) -> int | None:
        match statement:
            case Assign(variable, value):
                self.values[variable] = self.value(value)
            case Store(cell, value):
                number = self.value(value)
                cells, place = self.place(cell)
                layout = self.instance.layouts[cell.field]
                if not layout.low <= number <= layout.high:
                    raise ModelError(f"{cell.field} = {number}")
                cells[place] = number
            case Branch(cases, otherwise):
                for case in cases:
                    if self.value(case.condition):
                        return self.block(case.body)
                return self.block(otherwise)
            case Loop(variable, numbers, body):
                for number in self.range(numbers):
                    self.values[variable] = number
                    result = self.block(body)
                    if result is not None:
                        return result
            case Require(condition):
                if not self.value(condition):
                    raise Disabled
            case Return(value):
                return self.value(value)
            case Do(call):
                self.interpreter.call(call.routine, map(self.argument, call.arguments))
            case _:
                assert_never(statement)
        return None

    # -------------------------------------------------------------------------------------------------- expressions

    def held(self, variable: Variable) -> Argument:
        """What a variable holds."""
        argument = self.values.get(variable)
        if argument is None:
            raise UnknownVariableError(variable.name)
        return argument

    def value(self, expression: Expression) -> int:
        match expression:
            case Constant(value):
                return value
            case Local(variable):
                number = self.held(variable)
                assert isinstance(number, int)
                return number
            case Setting(entry):
                return int(getattr(self.instance.configuration, entry))
            case Size(domain):
                return self.instance.size_of(domain)
            case Cell():
                cells, place = self.place(expression)
                return cells[place]
            case Element(subset, index):
                elements, number = self.held(subset), self.value(index)
                assert isinstance(elements, Sequence)
                if not 0 <= number < len(elements):
                    raise ModelError(f"{subset.name}[{number}]")
                return int(elements[number])
            case IsTaken(taken, action):
                return int(self.held(taken) == action)
            case Not(operand):
                return int(not self.value(operand))
            case And(parts):
                return self.decided(parts, False)
            case Or(parts):
                return self.decided(parts, True)
            case Compare(left, sign, right):
                return int(SIGNS[sign](self.value(left), self.value(right)))
            case Chain(first, links):
                number = self.value(first)
                for link in links:
                    before, number = number, self.value(link.right)
                    if not SIGNS[link.sign](before, number):
                        return 0
                return 1
            case Among(element, choices):
                number = self.value(element)
                return int(number in [self.value(one) for one in choices])
            case Negative(operand):
                return -self.value(operand)
            case Sum(terms):
                return sum(-self.value(one.value) if one.is_subtracted else self.value(one.value) for one in terms)
            case Arithmetic(left, operation, right):
                return OPERATIONS[operation](self.value(left), self.value(right))
            case Choose(options, otherwise):
                chosen = next((one.value for one in options if self.value(one.condition)), otherwise)
                return self.value(chosen)
            case Extremum(extreme, parts):
                return (min if extreme is Extreme.LEAST else max)(map(self.value, parts))
            case Fold():
                return self.gathered(expression)
            case Call(routine, arguments):
                result = self.interpreter.call(routine, map(self.argument, arguments))
                assert result is not None
                return result

    def decided(self, parts: Sequence[Expression], decisive: bool) -> int:
        """The first number that is (or is not) 0, or the last."""
        number = 0
        for part in parts:
            number = self.value(part)
            if bool(number) is decisive:
                break
        return number

    def gathered(self, fold: Fold) -> int:
        numbers = self.generated(fold.generators, fold.body)
        match fold.gathering:
            case Gathering.ALL:
                return int(all(numbers))
            case Gathering.ANY:
                return int(any(numbers))
            case Gathering.SUM:
                return sum(numbers)
        default = 0 if fold.default is None else self.value(fold.default)
        return (min if fold.gathering is Gathering.LEAST else max)(numbers, default=default)

    def generated(self, generators: Sequence[Generator], body: Expression) -> Iterator[int]:
        """The values of a fold, in their order."""
        if not generators:
            yield self.value(body)
            return
        first, *others = generators
        for number in self.range(first.range):
            self.values[first.variable] = number
            if all(self.value(condition) for condition in first.conditions):
                yield from self.generated(others, body)

    def range(self, numbers: Range) -> range:
        return range(self.value(numbers.first), self.value(numbers.end))

    def argument(self, expression: Expression) -> Argument | None:
        """What a call passes on: also a state, a subset, or the taken action."""
        match expression:
            case Local(variable) if variable.role is not Role.NUMBER:
                return self.values.get(variable)
        return self.value(expression)

    def place(self, cell: Cell) -> tuple[list[int], int]:
        """The cells of a state, and the position of a cell in them."""
        cells, layout = self.held(cell.state), self.instance.layouts[cell.field]
        assert isinstance(cells, list)
        indices = [self.value(index) for index in cell.indices]
        if not all(0 <= index < size for index, size in zip(indices, layout.sizes, strict=True)):
            raise ModelError(f"{cell.field}{indices}")
        return cells, layout.position(indices)

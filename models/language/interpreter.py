"""The smallest engine: it evaluates routines, the representation of a model's functions, on one state at a time.

The meaning of a model is what CPython computes with its functions (models/run.py). The tests compare CPython and this
interpreter on every model, to check that the representation has the same meaning. Analyses use the interpreter for
single expressions, and `Determined` to find the expressions that the configuration alone determines.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from operator import eq, floordiv, ge, gt, le, lt, mod, mul, ne
from typing import TypeAlias, assert_never

from isrcheck.models.language.declarations import Disabled
from isrcheck.models.language.ir import nodes as ir
from isrcheck.models.language.ir.lowering import lowered_expression
from isrcheck.models.language.model import Instance, Step
from isrcheck.models.language.states import Meanings, Members, State, parts_of

SIGNS: Mapping[ir.Sign, Callable[[int, int], bool]] = {
    ir.Sign.EQUAL: eq,
    ir.Sign.NOT_EQUAL: ne,
    ir.Sign.LESS: lt,
    ir.Sign.AT_MOST: le,
    ir.Sign.GREATER: gt,
    ir.Sign.AT_LEAST: ge,
}
OPERATIONS: Mapping[ir.Operation, Callable[[int, int], int]] = {
    ir.Operation.TIMES: mul,
    ir.Operation.DIVIDED_BY: floordiv,
    ir.Operation.MODULO: mod,
}

Argument: TypeAlias = int | list[int] | Members | str
"""The value that a variable can have: a number, the cells of a state, a subset, or the name of the taken action."""


class UnknownVariableError(Exception):
    """Raised if the value of an expression depends on a variable whose value was not given."""


class Interpreter:
    """Evaluates routines and expressions for one instance, a model with a configuration."""

    def __init__(self, instance: Meanings) -> None:
        self.instance = instance

    def call(self, routine: ir.Routine, arguments: Iterable[Argument | None]) -> int | None:
        """Execute a routine and return its value. A routine without a value, such as an action, returns None and
        changes the cells of the state in `arguments`. An argument is None if its value is unknown.

        Raises ModelError if an index or a value leaves its declared range, Disabled if a guard is false, and
        UnknownVariableError if the routine uses an unknown argument.
        """
        return Evaluation(self, dict(zip(routine.parameters, arguments, strict=True))).block(routine.body)

    def value(self, expression: ir.Expression, values: Mapping[ir.Variable, Argument] = {}) -> int:
        """Return the value of an expression, given the values of its variables. Raises UnknownVariableError if one of
        these variables has no value, and ModelError as `call` does."""
        return Evaluation(self, {**values}).value(expression)


class Evaluation:
    """One call of a routine, with the values of its variables."""

    def __init__(self, interpreter: Interpreter, values: dict[ir.Variable, Argument | None]) -> None:
        self.interpreter = interpreter
        self.instance = interpreter.instance
        self.values = values

    # --------------------------------------------------------------------------------------------------- statements

    def block(self, statements: Iterable[ir.Statement]) -> int | None:
        """Execute statements until one returns a value, and return this value; None if no statement returns a value."""
        for statement in statements:
            result = self.statement(statement)
            if result is not None:
                return result
        return None

    def statement(self, statement: ir.Statement) -> int | None:
        """Execute a statement. Return the value that the statement returns; None if it does not return."""
        match statement:
            case ir.Assign(variable, value):
                self.values[variable] = self.value(value)
            case ir.Store(cell, value):
                number = self.value(value)
                cells, place = self.place(cell)
                cells[place] = self.instance.layouts[cell.field].cell(number)
            case ir.Branch(cases, otherwise):
                for case in cases:
                    if self.value(case.condition):
                        return self.block(case.body)
                return self.block(otherwise)
            case ir.Loop(variable, numbers, body):
                for number in self.range(numbers):
                    self.values[variable] = number
                    result = self.block(body)
                    if result is not None:
                        return result
            case ir.Require(condition):
                if not self.value(condition):
                    raise Disabled
            case ir.Return(value):
                return self.value(value)
            case ir.Do(call):
                self.interpreter.call(call.routine, map(self.argument, call.arguments))
            case ir.CollectiveStatement():
                raise ir.NotInTheCoreError(statement.span.place)
            case _:
                assert_never(statement)
        return None

    # -------------------------------------------------------------------------------------------------- expressions

    def held(self, variable: ir.Variable) -> Argument:
        """Return the value of a variable. Raises UnknownVariableError if the variable has no value."""
        argument = self.values.get(variable)
        if argument is None:
            raise UnknownVariableError(variable.name)
        return argument

    def value(self, expression: ir.Expression) -> int:
        """Return the value of an expression. A truth value is Python's True or False."""
        match expression:
            case ir.Constant(value):
                return value
            case ir.Local(variable):
                number = self.held(variable)
                assert isinstance(number, int)
                return number
            case ir.Setting(entry):
                return self.instance.setting(entry)
            case ir.Size(domain):
                return self.instance.size_of(domain)
            case ir.Cell():
                cells, place = self.place(expression)
                is_flag = self.instance.layouts[expression.field].field.values.is_flag
                return bool(cells[place]) if is_flag else cells[place]
            case ir.Element(subset, index):
                members = self.held(subset)
                assert isinstance(members, Members)
                return bool(members[self.value(index)])
            case ir.IsTaken(taken, action):
                return self.held(taken) == action
            case ir.Not(operand):
                return not self.value(operand)
            case ir.And(parts):
                return self.decided(parts, False)
            case ir.Or(parts):
                return self.decided(parts, True)
            case ir.Compare(left, sign, right):
                return SIGNS[sign](self.value(left), self.value(right))
            case ir.Chain(first, links):
                number = self.value(first)
                for link in links:
                    before, number = number, self.value(link.right)
                    if not SIGNS[link.sign](before, number):
                        return False
                return True
            case ir.Among(element, choices):
                number = self.value(element)
                return number in [self.value(choice) for choice in choices]
            case ir.Negative(operand):
                return -self.value(operand)
            case ir.Sum(terms):
                return sum(-self.value(term.value) if term.is_subtracted else self.value(term.value) for term in terms)
            case ir.Arithmetic(left, operation, right):
                return OPERATIONS[operation](self.value(left), self.value(right))
            case ir.Choose(options, otherwise):
                return self.value(next((each.value for each in options if self.value(each.condition)), otherwise))
            case ir.Extremum(extreme, parts):
                return (min if extreme is ir.Extreme.LEAST else max)(map(self.value, parts))
            case ir.Fold():
                return self.gathered(expression)
            case ir.Call(routine, arguments):
                result = self.interpreter.call(routine, map(self.argument, arguments))
                assert result is not None
                return result
            case ir.CollectiveExpression():
                return self.value(lowered_expression(expression))

    def decided(self, parts: Sequence[ir.Expression], decisive: bool) -> int:
        """Return the value of an `and` (`decisive` is False) or of an `or` (`decisive` is True): the value of the first
        part whose truth value is `decisive`, or else the value of the last part."""
        number = 0
        for part in parts:
            number = self.value(part)
            if bool(number) is decisive:
                break
        return number

    def gathered(self, fold: ir.Fold) -> int:
        """Return the value of a fold: all, any, sum, min or max of the values of its body."""
        numbers = self.generated(fold.generators, fold.body)
        match fold.gathering:
            case ir.Gathering.ALL:
                return all(numbers)
            case ir.Gathering.ANY:
                return any(numbers)
            case ir.Gathering.SUM:
                return sum(numbers)
        default = 0 if fold.default is None else self.value(fold.default)
        return (min if fold.gathering is ir.Gathering.LEAST else max)(numbers, default=default)

    def generated(self, generators: Sequence[ir.Generator], body: ir.Expression) -> Iterator[int]:
        """Yield the values of `body` for all values of the generators' variables, in order."""
        if not generators:
            yield self.value(body)
            return
        first, *others = generators
        for number in self.range(first.range):
            self.values[first.variable] = number
            if all(self.value(condition) for condition in first.conditions):
                yield from self.generated(others, body)

    def range(self, numbers: ir.Range) -> range:
        """Return the numbers of a range as a Python range."""
        return range(self.value(numbers.first), self.value(numbers.end))

    def argument(self, expression: ir.Expression) -> Argument | None:
        """Return the value that a call of a helper passes as an argument: a number, a state, a subset, or the action
        that was taken. A state, subset or action without a value is passed as None."""
        match expression:
            case ir.Local(variable) if variable.role is not ir.Role.NUMBER:
                return self.values.get(variable)
        return self.value(expression)

    def place(self, cell: ir.Cell) -> tuple[list[int], int]:
        """Return all cells of the state `cell.state`, and the position of `cell` among them."""
        cells, layout = self.held(cell.state), self.instance.layouts[cell.field]
        assert isinstance(cells, list)
        return cells, layout.position([self.value(index) for index in cell.indices], cells)


def arguments_of(instance: Instance, step: Step) -> list[Argument]:
    """Return the arguments that a step passes to the action's function, after the state."""
    choices = zip(instance.argument_ranges[step.action_index], step.ordinals, strict=True)
    return [choice.argument(ordinal) for choice, ordinal in choices]


def interpreted(routine: ir.Routine) -> Callable[..., int | None]:
    """Return a Python function that executes a routine. It is called with a `State` and the arguments."""

    def function(state: State, *arguments: int | Members) -> int | None:
        instance, cells = parts_of(state)
        return Interpreter(instance).call(routine, [cells, *arguments])

    return function


class Determined:
    """Evaluates expressions that have the same value in every state of an instance, because the instance's
    configuration determines the value."""

    def __init__(self, instance: Instance) -> None:
        self._interpreter = Interpreter(instance)
        self._numbers: dict[ir.Expression, int | None] = {}

    def number(self, expression: ir.Expression) -> int | None:
        """Return the value of an expression; None if the configuration does not determine it."""
        if expression not in self._numbers:
            try:
                self._numbers[expression] = int(self._interpreter.value(expression))
            except (UnknownVariableError, ZeroDivisionError):  # the model never evaluates a division by 0
                self._numbers[expression] = None
        return self._numbers[expression]

    def truth(self, condition: ir.Expression) -> bool | None:
        """Return whether a condition is true; None if the configuration does not determine it. A conjunction with a
        false part is false, even if another part is unknown."""
        match condition:
            case ir.Not(operand):
                truth = self.truth(operand)
                return None if truth is None else not truth
            case ir.And(parts) | ir.Or(parts):
                decisive = isinstance(condition, ir.Or)
                truths = [self.truth(part) for part in parts]
                if decisive in truths:
                    return decisive
                return None if None in truths else not decisive
        number = self.number(condition)
        return None if number is None else bool(number)

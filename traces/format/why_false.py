"""Explains why an expression is false: the operand that decides, the values of its variables, and the cells it reads.

The expressions are those of the model's source text, so a set is explained as a set, not as the flags that store it.
The interpreter (models/language/interpreter.py) computes every value, and reads the cells.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import chain
from pathlib import Path

from isrcheck import models
from isrcheck.models import run
from isrcheck.models.language.declarations import Disabled
from isrcheck.models.language.interpreter import Argument, Evaluation, Interpreter, arguments_of
from isrcheck.models.language.ir import nodes as ir
from isrcheck.models.language.ir.nodes import parts, variables, visit
from isrcheck.models.language.model import DEADLOCK, Instance, Property, Step
from isrcheck.models.language.reading.reader import Function
from isrcheck.models.language.reading.source import respelled
from isrcheck.models.language.states import spell_element
from isrcheck.models.run import Cells
from isrcheck.traces.format.trace import Trace, spelled_at

MOST_READINGS = 12
"""The most cells listed for one expression; `all`, `any` and `sum` can read hundreds."""


@dataclass(frozen=True)
class Binding:
    """A bound name (a parameter, or a variable of `all` or `any`), its value, and a text with both."""

    name: str
    value: int
    text: str


@dataclass(frozen=True)
class Reason:
    """An expression of the model with its truth value, and why it has that value."""

    source: str
    truth: bool
    bindings: tuple[Binding, ...] = ()
    """The bindings of names under which the expression has that value."""
    conditions: tuple[str, ...] = ()
    """The conditions under which the expression has that value."""
    readings: tuple[str, ...] = ()
    """The cells that the expression itself reads."""
    deeper: tuple[Reason, ...] = ()
    """The reasons of the deciding subexpressions."""

    @staticmethod
    def over(source: str, truth: bool, readings: tuple[str, ...], inner: Reason) -> Reason:
        """Return the reason for an expression whose value `inner` decides. If `inner` is a constant, it explains
        nothing and is left out; the cells in `readings` are then the reason."""
        if inner.source in ("True", "False"):
            return Reason(source, truth, readings=readings + inner.readings)
        return Reason(source, truth, readings=readings, deeper=(inner,))

    def numbers(self) -> dict[str, int]:
        """Return the values of the names bound here and in deeper reasons; if a name has several, the outermost."""
        values = {binding.name: binding.value for binding in reversed(self.bindings)}
        for reason in self.deeper:
            values = reason.numbers() | values
        return values

    @property
    def shown_readings(self) -> str:
        """The first MOST_READINGS of the cells that are read, and the number of the others."""
        others = len(self.readings) - MOST_READINGS
        return ", ".join([*self.readings[:MOST_READINGS], *([f"and {others} more cells"] if others > 0 else [])])

    @property
    def where(self) -> str:
        """The bound names and their values, as the end of a sentence, such as ` for r = 1`; "" without names."""
        return f" for {', '.join(binding.text for binding in self.bindings)}" if self.bindings else ""

    def lines(self, indent: str = "") -> list[str]:
        """Return the reason, and the deeper reasons below it, as lines; table.fitted can break those that are long."""
        lines = [f"{indent}{self.source} is {'true' if self.truth else 'false'}{self.where}"]
        if self.conditions:
            lines.append(f"{indent}  given {' and '.join(self.conditions)}")
        if self.readings:
            lines.append(f"{indent}  {self.shown_readings}")
        for reason in self.deeper:
            lines += reason.lines(indent + "  ")
        return lines


def why_false(instance: Instance, prop: Property, before: Cells | None, step: Step | None, after: Cells) -> Reason:
    """Return why a property is false in the state `after`, or, for a property of transitions, on the step to it."""
    if prop is DEADLOCK:  # each `@terminal` of the model is false
        reasons = (_why_returned(instance, terminal.name, terminal, after) for terminal in instance.model.terminals)
        return Reason("some step is enabled", False, deeper=tuple(reasons))
    if not prop.of_steps:
        return _why_returned(instance, prop.name, prop.function, after)
    assert before is not None
    assert step is not None
    return _why_returned(instance, prop.name, prop.function, before, after, step.action)


def _why_returned(instance: Instance, name: str, function: Function, *arguments: Cells | str) -> Reason:
    return Reason.over(name, False, (), _scope(instance, function, arguments).why_returned(function.routine))


def why_broken(trace: Trace) -> Reason:
    """Return why the property of a trace is false at its end."""
    assert trace.prop is not None
    before, step = (trace.states[-2], trace.steps[-1]) if trace.length else (None, None)
    return why_false(trace.instance, trace.prop, before, step, trace.states[-1])


ROOT = Path(models.__file__).parents[1]


@dataclass(frozen=True)
class FalseGuard:
    """A false guard: its text, its position, and the cells and locals that it reads, with their values."""

    source: str
    path: str
    line: int
    readings: tuple[str, ...]

    def __str__(self) -> str:
        """The guard and its values, without its position."""
        values = f" ({', '.join(self.readings)})" if self.readings else ""
        return f"its guard `{self.source}` is false{values}"

    @property
    def place(self) -> str:
        """The file and line of the guard; the path of a built-in model is relative to the product's folder."""
        path = Path(self.path)
        return f"{path.relative_to(ROOT).as_posix() if path.is_relative_to(ROOT) else path}:{self.line}"


def false_guard(instance: Instance, cells: Cells, step: Step) -> str:
    """Return why a step is not enabled: its first false guard, with the cells that it reads."""
    if not run.is_within(instance, cells):
        names = ", ".join(constraint.name for constraint in instance.model.constraints)
        return f"the state before it is outside the constraint {names}"
    guard = first_false_guard(instance, cells, step)
    return f"protocol {instance.protocol.name} has no action {step.action}" if guard is None else str(guard)


def first_false_guard(instance: Instance, cells: Cells, step: Step) -> FalseGuard | None:
    """Return the first false guard of a disabled step; None if the protocol does not have the step's action at all."""
    function = instance.function(step.action_index)
    if function is None:
        return None
    scope = _scope(instance, function, [cells, *arguments_of(instance, step)])
    try:
        scope.block(function.routine.written)  # guards come before the first write, so no set or queue is changed
    except Disabled:
        readings = scope.readings(scope.guard)[:MOST_READINGS]
        return FalseGuard(spell_expression(scope.guard), function.path, scope.guard.span.line, readings)
    raise AssertionError("the step is enabled")


@lru_cache(maxsize=4096)
def spell_expression(expression: ir.Expression) -> str:
    """Return the text of an expression."""
    return expression.span.text


class _State(list[int]):
    """The cells of a state, and the name of the parameter that stands for the state in a property or an action."""

    def __init__(self, name: str, cells: Sequence[int]) -> None:
        super().__init__(cells)
        self.name = name


def _scope(instance: Instance, function: Function, arguments: Iterable[Argument | Cells]) -> _Scope:
    """The scope of a call of a function with these arguments; surplus arguments (the action taken) are left out."""
    values: dict[ir.Variable, Argument | None] = {
        parameter: _State(parameter.name, argument) if isinstance(argument, tuple) else argument
        for parameter, argument in zip(function.routine.parameters, arguments, strict=False)
    }
    return _Scope(Interpreter(instance), values, {})


class _Scope(Evaluation):
    """One call of a routine (property, action or helper) of the model: finds the expressions that decide its value."""

    instance: Instance
    returned: ir.Expression
    """The expression that the routine returns."""
    guard: ir.Expression
    """The last guard of the routine."""

    def __init__(
        self, interpreter: Interpreter, values: dict[ir.Variable, Argument | None], reads: dict[tuple[str, int], _State]
    ) -> None:
        super().__init__(interpreter, values)
        self.reads = reads
        """The cells that were read, by the name of the state and the position."""
        self.lettered: set[ir.Variable] = set()
        """The variables that print as letters."""
        self.assigned: set[ir.Variable] = set()
        """The locals."""
        self.loops: list[ir.Variable] = []
        """The variables of the loops around the statement that is executed, innermost last."""
        self.tests: list[ir.Expression] = []
        """The conditions around that statement, innermost last."""

    def called(self, call: ir.Call) -> _Scope:
        arguments = map(self.argument, call.arguments)
        return _Scope(self.interpreter, dict(zip(call.routine.parameters, arguments, strict=True)), self.reads)

    def bound(self, variable: ir.Variable) -> Binding:
        number = self.values[variable]
        assert isinstance(number, int)
        text = spell_element(number) if variable in self.lettered and number >= 0 else str(number)
        if isinstance(number, bool):
            text = "true" if number else "false"
        return Binding(variable.name, int(number), f"{variable.name} = {text}")

    # ----------------------------------------------------------------------------------------------------------- values

    def value(self, expression: ir.Expression) -> int:
        """Return the value of an expression; note the cells that it reads, in the order in which Python reads them."""
        match expression:
            case ir.CollectiveExpression():
                for part in parts(expression):  # the core may read them in another order, or not all of them
                    if isinstance(part, ir.Collection) and part.field:
                        first = ir.Constant(0, span=part.span)
                        self.place(ir.Cell(part.holder, part.field, (*part.indices, first), span=part.span))
                    elif isinstance(part, ir.Expression):
                        self.value(part)
            case ir.Call(routine):
                scope = self.called(expression)
                scope.block(routine.written)
                return scope.value(scope.returned)
        return super().value(expression)

    def place(self, cell: ir.Cell) -> tuple[list[int], int]:
        """The state and the position of a cell; the cell is noted as read."""
        state, place = super().place(cell)
        assert isinstance(state, _State)
        self.reads[state.name, place] = state
        return state, place

    def read(self) -> tuple[str, ...]:
        """The cells, sets and queues that were read so far, with their values."""
        read = (
            f"{name}.{cell} = {value}"
            for (name, place), state in self.reads.items()
            for cell, value in spelled_at(self.instance, tuple(state), [place]).items()
        )
        return tuple(dict.fromkeys(read))

    def readings(self, expression: ir.Expression) -> tuple[str, ...]:
        """The cells that an expression reads, also through helpers, and the locals in it, with their values."""
        used = [node.variable for node in visit([expression]) if isinstance(node, ir.Local)]
        self.reads.clear()
        self.value(expression)
        values = (self.bound(variable).text for variable in used if variable in self.assigned)
        return tuple(dict.fromkeys((*values, *self.read())))

    # ------------------------------------------------------------------------------------------------------- statements

    def decisive(self, routine: ir.Routine) -> ir.Expression:
        """Execute a routine up to its return statement. Return the expression that decides the value: the returned
        expression or, if this is a constant inside an `if`, the condition of the `if`."""
        self.block(routine.written)
        return self.tests[-1] if isinstance(self.returned, ir.Constant) and self.tests else self.returned

    def statement(self, statement: ir.Statement) -> int | None:
        """Execute a statement. The expression of a return statement is not evaluated but kept in `returned`."""
        match statement:
            case ir.Return(value):
                self.returned = value
                return 0
            case ir.Assign(variable):
                self.assigned.add(variable)
            case ir.Require(condition):
                self.guard = condition
            case ir.Branch(cases, otherwise):
                case = next((case for case in cases if self.value(case.condition)), None)
                self.tests.append((case or cases[-1]).condition)
                result = self.block(otherwise if case is None else case.body)
                if result is None:
                    self.tests.pop()
                return result
            case ir.Loop(variable, numbers, body):
                return self.loop(variable, numbers.end, self.range(numbers), body)
            case ir.SetLoop(variable, collection, body):
                size = ir.Size(collection.domain, span=statement.span)
                elements = (ir.Constant(number, span=statement.span) for number in range(self.value(size)))
                members = [item.value for item in elements if self.value(ir.IsIn(item, collection, span=item.span))]
                return self.loop(variable, size, members, body)
        return super().statement(statement)

    def loop(
        self, variable: ir.Variable, end: ir.Expression, numbers: Iterable[int], body: Iterable[ir.Statement]
    ) -> int | None:
        self.letter(variable, end)
        self.loops.append(variable)
        for number in numbers:
            self.values[variable] = number
            result = self.block(body)
            if result is not None:
                return result
        self.loops.pop()
        return None

    def letter(self, variable: ir.Variable, end: ir.Expression) -> None:
        """Note whether a variable is printed as a letter: it is if `end` is the size of a domain with letters."""
        match end:
            case ir.Size(domain):
                is_lettered = domain.letters
            case ir.Setting(entry):
                domains = (domain for layout in self.instance.layouts.values() for domain in layout.field.over)
                is_lettered = any(domain.letters and domain.size == entry for domain in domains)
            case _:
                is_lettered = False
        (self.lettered.add if is_lettered else self.lettered.discard)(variable)

    # --------------------------------------------------------------------------------------------------------- reasons

    def why_returned(self, routine: ir.Routine) -> Reason:
        self.reads.clear()
        decisive = self.decisive(routine)
        if isinstance(decisive, ir.Constant):
            truth = bool(self.value(self.returned))
            return Reason(str(truth), truth, readings=self.read())
        reason = self.why(decisive)
        return replace(reason, bindings=(*map(self.bound, self.loops), *reason.bindings))

    def why(self, expression: ir.Expression) -> Reason:
        match expression:
            case ir.And(operands) | ir.Or(operands):
                return self.why_operands(expression, operands)
            case ir.Not(operand) if operand.span != expression.span:  # not for `!=` and `not in`
                return self.why(operand)
            case ir.Choose(options, otherwise):
                return self.why(next((option.value for option in options if self.value(option.condition)), otherwise))
            case ir.Call():
                return self.why_helper(expression)
            case ir.Fold(ir.Gathering.ALL | ir.Gathering.ANY as gathering, generators, body):
                for generator in generators:
                    self.letter(generator.variable, generator.range.end)
                for value in self.generated(generators, body):
                    if bool(value) is (gathering is ir.Gathering.ANY):
                        return self.why_element(generators, body)
        truth = bool(self.value(expression))
        return Reason(spell_expression(expression), truth, readings=self.readings(expression))

    def why_operands(self, expression: ir.And | ir.Or, operands: Sequence[ir.Expression]) -> Reason:
        """Explain `and` and `or`: a false `and` or a true `or` by one operand, a true `and` or a false `or` by all."""
        decisive = isinstance(expression, ir.Or)
        for operand in operands:
            if bool(self.value(operand)) is decisive:
                return self.why(operand)
        return Reason(spell_expression(expression), not decisive, deeper=tuple(map(self.why, operands)))

    def why_helper(self, call: ir.Call) -> Reason:
        """Explain a call of a helper: why the helper returns this value for these arguments."""
        truth = bool(self.value(call))
        self.reads.clear()
        scope = self.called(call)
        readings = self.read()
        renamed = []
        for parameter, argument in zip(call.routine.parameters, call.arguments, strict=True):
            variable = argument.variable if isinstance(argument, ir.Local) else None
            if variable in self.lettered:
                scope.lettered.add(parameter)
            if parameter.role is ir.Role.NUMBER and (variable is None or variable.name != parameter.name):
                renamed.append(parameter)
        bindings = tuple(map(scope.bound, renamed))
        inner = scope.why_returned(call.routine)
        return Reason.over(spell_expression(call), truth, readings, replace(inner, bindings=bindings + inner.bindings))

    def why_element(self, generators: Sequence[ir.Generator], body: ir.Expression) -> Reason:
        """Explain `all` or `any` by the element that decides: the current values of the generators' variables."""
        inner = self.why(body)
        bindings = tuple(self.bound(generator.variable) for generator in generators)
        stated = (map(self.stated, generator.conditions) for generator in generators)
        conditions = tuple(chain.from_iterable(chain.from_iterable(stated)))
        return replace(inner, bindings=bindings + inner.bindings, conditions=conditions + inner.conditions)

    def stated(self, condition: ir.Expression) -> list[str]:
        """Return a list with the text of a true condition, without the calls of helpers that are true in every state
        under this configuration. The list is empty if no part of the condition is left."""
        operands = condition.parts if isinstance(condition, ir.And) else (condition,)
        open_parts = [part for part in operands if not isinstance(part, ir.Call) or not self.is_settled(part)]
        if len(open_parts) == len(operands):
            return [spell_expression(condition)]
        text = " and ".join(f"({part.span.text})" for part in open_parts)
        return [respelled(text)] if open_parts else []

    def is_settled(self, expression: ir.Expression) -> bool:
        """Whether a true expression is true by the configuration alone, whatever the state and the bindings are."""
        match expression:
            case ir.Or(operands):
                return self.is_settled(next(operand for operand in operands if self.value(operand)))
            case ir.Call(routine):
                scope = self.called(expression)
                return scope.is_settled(scope.decisive(routine))
        reads_only_state = all(variable.role is ir.Role.STATE for variable in variables(expression))
        return reads_only_state and not self.readings(expression)

"""Explains why an expression is false: the deciding operand, for which binding, and the cell values that it reads.

In:  a property or an action of a model, and the states in which it is evaluated.
Out: a `Reason`: a tree of expressions of the model, down to expressions that only read cells; and its lines.

The checked syntax tree (models/language/syntax.py) determines which expressions are examined. CPython computes every
value with the model's own functions, so this module does not define a second semantics of the language.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from isrcheck.models import run
from isrcheck.models.language.core.records import RecordView
from isrcheck.models.language.core.views import SetView
from isrcheck.models.language.declare import Disabled
from isrcheck.models.language.in_range import DEADLOCK
from isrcheck.models.language.layouts import FieldLayout, spell_element
from isrcheck.models.language.model import Instance, Property, Step
from isrcheck.models.language.syntax import Function
from isrcheck.models.language.text.spelling import as_written, spelled
from isrcheck.models.run import Cells
from isrcheck.traces.format.spelling import spell_contents, spell_part, spell_place, spell_value
from isrcheck.traces.format.trace import Trace

MOST_READINGS = 12
"""The most cells listed for one expression; `all`, `any` and `sum` can read hundreds."""


@dataclass(frozen=True)
class Binding:
    """A name and its value, and both as text."""

    name: str
    value: int
    text: str


@dataclass(frozen=True)
class Reason:
    """An expression with its truth value, the bindings and conditions under which it has that value, and the reasons.

    `readings` are the cells that the expression itself reads; `deeper` are the reasons of the deciding subexpressions.
    """

    source: str
    truth: bool
    bindings: tuple[Binding, ...] = ()
    conditions: tuple[str, ...] = ()
    readings: tuple[str, ...] = ()
    deeper: tuple[Reason, ...] = ()

    @staticmethod
    def over(source: str, truth: bool, readings: tuple[str, ...], inner: Reason) -> Reason:
        """Return the reason for an expression that `inner` decides. A constant `inner` is left out, since it explains
        nothing; the cells in `readings` are then the reason."""
        if inner.source in ("True", "False"):
            return Reason(source, truth, readings=readings + inner.readings)
        return Reason(source, truth, readings=readings, deeper=(inner,))

    def numbers(self) -> dict[str, int]:
        """Return the values of the names, here and in deeper reasons; for a name that is bound several times, the
        outermost."""
        found = {binding.name: binding.value for binding in reversed(self.bindings)}
        for reason in self.deeper:
            found = reason.numbers() | found
        return found

    @property
    def shown_readings(self) -> list[str]:
        """The first MOST_READINGS of the cells that are read, and the number of the other ones."""
        more = len(self.readings) - MOST_READINGS
        return [*self.readings[:MOST_READINGS], *([f"and {more} more cells"] if more > 0 else [])]

    def lines(self, indent: str = "") -> list[str]:
        """Return the tree as lines of any length, for table.fitted, with the deciding cells last."""
        where = f" for {', '.join(binding.text for binding in self.bindings)}" if self.bindings else ""
        found = [f"{indent}{self.source} is {'true' if self.truth else 'false'}{where}"]
        if self.conditions:
            found.append(f"{indent}  given {' and '.join(self.conditions)}")
        if self.readings:
            found.append(f"{indent}  {', '.join(self.shown_readings)}")
        for reason in self.deeper:
            found += reason.lines(indent + "  ")
        return found


def why_false(instance: Instance, prop: Property, before: Cells | None, step: Step | None, after: Cells) -> Reason:
    """Return why a property is false in the state `after`, or, for a property of transitions, on the step to it."""
    explainer = _Explainer(instance)
    names: dict[str, Any]
    if prop is DEADLOCK:
        return _why_deadlocked(instance, explainer, after)
    if prop.of_steps:
        assert before is not None
        assert step is not None
        names = {"before": explainer.watch("before", before), "after": explainer.watch("after", after)}
        names["taken"] = run.Taken(instance, step)
    else:
        names = {"s": explainer.watch("s", after)}
    return Reason.over(prop.name, False, (), explainer.why_returned(prop.function, names))


def _why_deadlocked(instance: Instance, explainer: _Explainer, cells: Cells) -> Reason:
    """Return why a state without a step is a deadlock: each `@terminal` of the model, and why it is false."""
    names = {"s": explainer.watch("s", cells)}
    reasons = tuple(
        Reason.over(terminal.name, False, (), explainer.why_returned(terminal, names))
        for terminal in instance.model.terminals
    )
    return Reason("some step is enabled", False, deeper=reasons)


def why_broken(trace: Trace) -> Reason:
    """Return why the property of a trace is false at its end."""
    assert trace.prop is not None
    before, step = (trace.states[-2], trace.steps[-1]) if trace.length else (None, None)
    return why_false(trace.instance, trace.prop, before, step, trace.states[-1])


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


def false_guard(instance: Instance, cells: Cells, step: Step) -> str:
    """Return why a step is not enabled: its first false guard, with the cells that it reads."""
    if not run.is_within(instance, cells):
        names = ", ".join(constraint.name for constraint in instance.model.constraints)
        return f"the state before it is outside the constraint {names}"
    guard = first_false_guard(instance, cells, step)
    return f"protocol {instance.protocol.name} has no action {step.action}" if guard is None else str(guard)


def first_false_guard(instance: Instance, cells: Cells, step: Step) -> FalseGuard | None:
    """Return the first guard that disables a disabled step; None if the protocol lacks the action."""
    function = instance.function(step.action_index)
    if function is None:
        return None
    arguments = [c.argument(o) for c, o in zip(instance.argument_ranges[step.action_index], step.ordinals, strict=True)]
    try:
        instance.python(function)(run.State(instance, cells), *arguments)
    except Disabled as disabled:
        trace = disabled.__traceback__
        while trace is not None and trace.tb_frame.f_code is not function.python.__code__:
            trace = trace.tb_next
        assert trace is not None, "guards stand in the action itself"
        return _guard_at(instance, function, cells, trace.tb_lineno, dict(trace.tb_frame.f_locals))
    raise AssertionError("the step is enabled")


def _guard_at(instance: Instance, function: Function, cells: Cells, line: int, names: dict[str, Any]) -> FalseGuard:
    explainer = _Explainer(instance)
    names["s"] = explainer.watch("s", cells)
    guard = next(
        node.value.args[0]
        for statement in function.body
        for node in ast.walk(statement)
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)
        if node.lineno <= line <= (node.end_lineno or node.lineno)
    )
    readings = explainer.readings(guard, _Scope(instance, function, names))[:MOST_READINGS]
    return FalseGuard(spell_expression(guard), function.path, guard.lineno, readings)


def spell_expression(expression: ast.expr) -> str:
    """Return the text of an expression."""
    return without_extra_brackets(spelled(expression))


def without_extra_brackets(text: str) -> str:
    """Return the text without the brackets that `ast.unparse` adds around a generator, which models do not write."""
    for start in reversed([match.start() + 3 for match in re.finditer(r"\b(?:all|any|sum|min|max)\(\(", text)]):
        depth, end = 1, start + 2
        while depth:
            depth += {"(": 1, ")": -1}.get(text[end], 0)
            end += 1
        if text[end : end + 1] == ")" and " for " in text[start:end]:
            text = text[: start + 1] + text[start + 2 : end - 1] + text[end:]
    return text


@dataclass
class _Scope:
    """The values of names at one point of a function (states, parameters, locals), and which are printed as letters.

    `loops` are the variables of the enclosing loops, `tests` the enclosing conditions, innermost last.
    """

    instance: Instance
    function: Function
    names: dict[str, Any]
    lettered: set[str] = field(default_factory=set)
    assigned: set[str] = field(default_factory=set)
    loops: list[str] = field(default_factory=list)
    tests: list[ast.expr] = field(default_factory=list)

    def evaluate(self, expression: ast.expr) -> Any:
        """Return the value of an expression. The names are passed as globals, so that generators can see them."""
        code = compile(ast.Expression(as_written(expression)), self.function.path, "eval")
        python = self.instance.python(self.function)
        return eval(code, {**python.__globals__, **self.names})  # noqa: S307 - checked model text

    def bound(self, name: str) -> Binding:
        return Binding(name, int(self.names[name]), self.spell(name))

    def spell(self, name: str) -> str:
        value = self.names[name]
        if isinstance(value, bool):
            return f"{name} = {'true' if value else 'false'}"
        return f"{name} = {spell_element(value) if name in self.lettered and value >= 0 else value}"

    def inner(self) -> _Scope:
        """A copy of this scope that can be extended."""
        return replace(self, names=dict(self.names), lettered=set(self.lettered), assigned=set(self.assigned))


class _Explainer:
    """Follows the expressions that decide a value; CPython computes every value on the way."""

    def __init__(self, instance: Instance) -> None:
        self.instance = instance
        self.log: list[str] = []
        domains = [domain for layout in instance.layouts.values() for domain in layout.field.over]
        self.lettered_sizes = {domain.size for domain in domains if domain.letters and isinstance(domain.size, str)}

    def watch(self, name: str, cells: Cells) -> _Watched:
        return _Watched(self.instance, run.State(self.instance, cells), name, self.log)

    def readings(self, expression: ast.expr, scope: _Scope) -> tuple[str, ...]:
        """Return the cells that an expression reads, also through helpers, and the locals in it, with their values."""
        used = [n.id for n in ast.walk(expression) if isinstance(n, ast.Name) and n.id in scope.assigned]
        self.log.clear()
        scope.evaluate(expression)
        return tuple(dict.fromkeys([*map(scope.spell, used), *self.log]))

    # ------------------------------------------------------------------------------------------------------- statements

    def why_returned(self, function: Function, names: dict[str, Any], lettered: Sequence[str] = ()) -> Reason:
        """Return why a function, called with the values in `names`, returns its value: the returned expression, or the
        `if` around a returned constant. Parameters in `lettered` print as letters."""
        arguments = [names[parameter.name] for parameter in function.parameters]
        found = self.returned(function.body, _Scope(self.instance, function, dict(names), set(lettered)))
        assert found is not None, "every path of a property ends with a return"
        expression, scope = found
        if isinstance(expression, ast.Constant) and scope.tests:
            expression = scope.tests[-1]
        if isinstance(expression, ast.Constant):
            self.log.clear()
            truth = bool(self.instance.python(function)(*arguments))
            return Reason(str(truth), truth, readings=tuple(dict.fromkeys(self.log)))
        reason = self.why(expression, scope)
        return replace(reason, bindings=tuple(map(scope.bound, scope.loops)) + reason.bindings)

    def returned(self, statements: Sequence[ast.stmt], scope: _Scope) -> tuple[ast.expr, _Scope] | None:
        """Return the expression of the return statement that these statements reach, and the scope there; or None."""
        for statement in statements:
            found = None
            match statement:
                case ast.Return(value=ast.expr() as value):
                    return value, scope
                case ast.Assign(targets=[ast.Name(id=name)], value=value):
                    scope.names[name] = scope.evaluate(value)
                    scope.assigned.add(name)
                case ast.AugAssign(target=ast.Name(id=name), op=op, value=value):
                    sign = 1 if isinstance(op, ast.Add) else -1
                    scope.names[name] += sign * scope.evaluate(value)
                case ast.If(test=test, body=body, orelse=orelse):
                    scope.tests.append(test)
                    found = self.returned(body if scope.evaluate(test) else orelse, scope)
                    if found is None:
                        scope.tests.pop()
                case ast.For(target=ast.Name() as target, iter=iterated, body=body):
                    name = getattr(target, "origin", target).id  # as it is written
                    scope.loops.append(name)
                    values = self.bind(name, iterated, scope)
                    if isinstance(values, SetView) and isinstance(body[0], ast.If):
                        body = body[0].body  # the test of the core asks whether the set contains the element
                        body = body[1:] if hasattr(target, "origin") else body  # the variable has its value already
                    for bound in values:
                        scope.names[name] = bound
                        found = self.returned(body, scope)
                        if found is not None:
                            break
                    else:
                        scope.loops.pop()
            if found is not None:
                return found
        return None

    # ------------------------------------------------------------------------------------------------------ expressions

    def why(self, expression: ast.expr, scope: _Scope) -> Reason:
        """Return why an expression has its truth value."""
        if hasattr(expression, "origin"):  # it is written in another form, which is explained by what it reads
            truth = bool(scope.evaluate(expression))
            return Reason(spell_expression(expression), truth, readings=self.readings(expression, scope))
        match expression:
            case ast.BoolOp():
                return self.why_operands(expression, scope)
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                return self.why(operand, scope)
            case ast.IfExp(test=test, body=body, orelse=orelse):
                return self.why(body if scope.evaluate(test) else orelse, scope)
            case ast.Call(func=ast.Name(id=name)) if name in scope.function.functions:
                return self.why_helper(expression, scope)
            case ast.Call(func=ast.Name(id="all" | "any" as fold), args=[ast.GeneratorExp() as generator]):
                decisive = self.binding(generator, fold == "any", scope)
                if decisive is not None:
                    return self.why_binding(generator, *decisive)
        truth = bool(scope.evaluate(expression))
        return Reason(spell_expression(expression), truth, readings=self.readings(expression, scope))

    def why_operands(self, expression: ast.BoolOp, scope: _Scope) -> Reason:
        """Explain `and` and `or`: one operand decides a false `and` and a true `or`; all operands decide the others."""
        decisive = isinstance(expression.op, ast.Or)
        for operand in expression.values:
            if bool(scope.evaluate(operand)) is decisive:
                return self.why(operand, scope)
        deeper = tuple(self.why(operand, scope) for operand in expression.values)
        return Reason(spell_expression(expression), not decisive, deeper=deeper)

    def why_helper(self, call: ast.Call, scope: _Scope) -> Reason:
        """Explain a call of a helper by the value that the helper returns, with its parameters bound."""
        assert isinstance(call.func, ast.Name)
        callee = scope.function.functions[call.func.id]
        truth = bool(scope.evaluate(call))
        self.log.clear()
        names: dict[str, Any] = {}
        lettered, renamed = [], []
        for parameter, argument in zip(callee.parameters, call.args, strict=True):
            names[parameter.name] = scope.evaluate(argument)
            source = spelled(argument)
            if source in scope.lettered or getattr(parameter.domain, "letters", False):
                lettered.append(parameter.name)
            if not parameter.is_state and not parameter.is_subset and source != parameter.name:
                renamed.append(parameter.name)
        readings = tuple(dict.fromkeys(self.log))
        inner = self.why_returned(callee, names, lettered)
        bound = tuple(map(_Scope(self.instance, callee, names, set(lettered)).bound, renamed))
        inner = replace(inner, bindings=bound + inner.bindings)
        return Reason.over(spell_expression(call), truth, readings, inner)

    def why_binding(self, generator: ast.GeneratorExp, names: tuple[str, ...], scope: _Scope) -> Reason:
        """Explain `all` or `any` by its deciding element, whose variables `names` have their values in `scope`."""
        inner = self.why(generator.elt, scope)
        conditions = tuple(
            condition for part in generator.generators for test in part.ifs for condition in self.stated(test, scope)
        )
        return replace(
            inner,
            bindings=tuple(map(scope.bound, names)) + inner.bindings,
            conditions=conditions + inner.conditions,
        )

    def stated(self, test: ast.expr, scope: _Scope) -> list[str]:
        """Return a true condition without the helpers in it that are true by the configuration alone."""
        parts = test.values if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And) else [test]
        left = [part for part in parts if not isinstance(part, ast.Call) or not self.is_settled(part, scope)]
        return [spell_expression(ast.BoolOp(ast.And(), left) if len(left) > 1 else left[0])] if left else []

    def is_settled(self, expression: ast.expr, scope: _Scope) -> bool:
        """Whether a true expression is true by the configuration alone, whatever the state and the bindings are."""
        match expression:
            case ast.BoolOp(op=ast.Or(), values=operands):
                return self.is_settled(next(one for one in operands if scope.evaluate(one)), scope)
            case ast.Call(func=ast.Name(id=name), args=arguments) if name in scope.function.functions:
                callee = scope.function.functions[name]
                names = {p.name: scope.evaluate(one) for p, one in zip(callee.parameters, arguments, strict=True)}
                found = self.returned(callee.body, _Scope(self.instance, callee, names))
                return found is not None and self.is_settled(*found)
        used = (scope.names.get(node.id) for node in ast.walk(expression) if isinstance(node, ast.Name))
        return all(value is None or isinstance(value, _Watched) for value in used) and not self.readings(
            expression, scope
        )

    def binding(
        self, generator: ast.GeneratorExp, decisive: bool, scope: _Scope
    ) -> tuple[tuple[str, ...], _Scope] | None:
        """Return the first binding for which the generator's element has the truth value `decisive`, or None."""
        for names, inner in self.bindings(generator.generators, scope.inner()):
            if bool(inner.evaluate(generator.elt)) is decisive:
                return names, inner
        return None

    def bindings(self, parts: Sequence[ast.comprehension], scope: _Scope) -> Iterator[tuple[tuple[str, ...], _Scope]]:
        """Return every binding of the loop variables in a generator's `parts` that satisfies the conditions in them."""
        if not parts:
            yield (), scope
            return
        part, *rest = parts
        assert isinstance(part.target, ast.Name)
        for value in self.bind(part.target.id, part.iter, scope):
            scope.names[part.target.id] = value
            if all(scope.evaluate(test) for test in part.ifs):
                for names, inner in self.bindings(rest, scope):
                    yield (part.target.id, *names), inner

    def bind(self, name: str, iterated: ast.expr, scope: _Scope) -> range | SetView:
        """Return the values of a loop variable, which goes through the range or the set `iterated`; those of a lettered
        domain print as letters."""
        scope.lettered.discard(name)
        end = iterated.args[-1] if isinstance(iterated, ast.Call) else iterated
        is_lettered = isinstance(end, ast.Attribute) and end.attr in self.lettered_sizes
        if isinstance(end, ast.Call) and isinstance(end.args[0], ast.Name):  # of a domain: range(len(Replica))
            domain = scope.function.domains.get(end.args[0].id)
            is_lettered = domain is not None and domain.letters
        if is_lettered:
            scope.lettered.add(name)
        values = scope.evaluate(iterated)
        assert isinstance(values, range | SetView)
        return values


class _Watched:
    """A state that records which of its cells are read."""

    def __init__(self, instance: Instance, state: run.State, name: str, log: list[str]) -> None:
        self._instance = instance
        self._state = state
        self._name = name
        self._log = log

    def __getattr__(self, name: str) -> Any:
        group = self._instance.model.groups.get(name)
        if group is not None:
            return RecordView(self, name, tuple(group.parts))
        value = getattr(self._state, name)
        layout = self._instance.layouts.get(name)
        if layout is None:
            return value
        if layout.sizes and (layout.field.contents is None or layout.field.own):
            return _WatchedArray(value, self._instance, layout, self._name, (), self._log)
        self._log.append(f"{self._name}.{name} = {spell_part(self._instance, layout, self._state.cells)}")
        return value


class _WatchedArray:
    """An array field of a watched state, or one of its rows."""

    def __init__(
        self, row: Any, instance: Instance, layout: FieldLayout, state: str, index: tuple[int, ...], log: list[str]
    ) -> None:
        self._row = row
        self._instance = instance
        self._layout = layout
        self._state = state
        self._index = index
        self._log = log

    def __getitem__(self, element: int) -> Any:
        value, layout, index = self._row[element], self._layout, (*self._index, element)
        if len(index) < len(layout.field.own):
            return _WatchedArray(value, self._instance, layout, self._state, index, self._log)
        if layout.field.contents is None:
            text = spell_value(self._instance, layout, value)
        else:
            text = spell_contents(layout, [value.row[place] for place in range(value.size)])
        self._log.append(f"{self._state}.{spell_place(layout, index)} = {text}")
        return value

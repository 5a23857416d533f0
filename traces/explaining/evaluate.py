"""Evaluates an expression of the modelling language in the states of a trace.

In:  the text of an expression from the command line (never from a trace), and the instance of the trace.
Out: a `StateExpression`, whose values are text: numbers, true and false, or letters and names for fields that have
     them.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from types import TracebackType
from typing import Any

from isrcheck.models.language.declarations import NONE
from isrcheck.models.language.expression import read_expression
from isrcheck.models.language.ir import nodes as ir
from isrcheck.models.language.ir.nodes import visit
from isrcheck.models.language.model import Instance
from isrcheck.models.language.reading.reader import Function
from isrcheck.models.language.states import FieldLayout
from isrcheck.models.messages import ModelError, UsageError
from isrcheck.models.run import Cells, State
from isrcheck.traces.format.spelling import spell_value
from isrcheck.traces.format.why_false import spell_expression


@dataclass(frozen=True)
class StateExpression:
    """An expression that can be evaluated in the states of an instance; if all its values come from one field, `layout`
    is that field."""

    instance: Instance
    text: str
    title: str
    function: Function
    layout: FieldLayout | None

    def value_in(self, cells: Cells, where: str) -> str:
        """Return the value in a state, as text. Raises UsageError, which calls the state `where`, if there is none:
        an index may be out of range."""
        try:
            value: Any = self.instance.python(self.function)(State(self.instance, cells))
        except (ModelError, ArithmeticError, ValueError) as error:  # also a division by 0, and the least of no numbers
            column = _column(self, error.__traceback__)
            raise UsageError(f"--eval `{self.text}`, column {column}: at {where}: {error}") from None
        if isinstance(value, bool):
            return "true" if value else "false"
        if self.layout is not None and self.layout.low <= value <= self.layout.high:
            return spell_value(self.instance, self.layout, value)
        return str(value)


def parse_expression(instance: Instance, text: str) -> StateExpression:
    """Parse an expression that a user typed. Raises UsageError."""
    try:
        function = read_expression(instance, text)
    except UsageError as error:
        raise UsageError(f"--eval {error}") from None
    (returned,) = function.routine.body
    assert isinstance(returned, ir.Return)
    title = spell_expression(returned.value)
    return StateExpression(instance, text.strip(), title, function, _layout(instance, returned.value))


def _column(expression: StateExpression, trace: TracebackType | None) -> int:
    """The column of the expression at which its evaluation failed."""
    column = 1
    while trace is not None:
        code = trace.tb_frame.f_code
        if code.co_filename == expression.function.python.__code__.co_filename:
            _, _, start, _ = list(code.co_positions())[trace.tb_lasti // 2]
            column = len(expression.text.encode()[: start or 0].decode(errors="ignore")) + 1
        trace = trace.tb_next
    return column


def _layout(instance: Instance, expression: ir.Expression) -> FieldLayout | None:
    """The field from which all values of the expression come; None if there are several fields."""
    match expression:
        case ir.Cell(_, field):
            return instance.layouts.get(field)
        case ir.Choose(options, otherwise):
            return _common(instance, [*(option.value for option in options), otherwise])
        case ir.Extremum(_, parts):
            return _common(instance, parts)
        case ir.Call(routine):
            return _common(instance, [node.value for node in visit(routine.body) if isinstance(node, ir.Return)])
    return None


def _common(instance: Instance, expressions: Iterable[ir.Expression]) -> FieldLayout | None:
    """The one field from which the values of all these expressions come, or None. The constant NONE is ignored."""
    layouts = [
        _layout(instance, one) for one in expressions if not (isinstance(one, ir.Constant) and one.value == NONE)
    ]
    known = [layout for layout in layouts if layout is not None]
    if not known or len(known) < len(layouts) or len({_kind(layout) for layout in known}) > 1:
        return None
    return max(known, key=lambda layout: layout.high)


def _kind(layout: FieldLayout) -> tuple[object, ...]:
    """The form in which the values of a field are printed."""
    values = layout.field.values
    return values.names, values.is_flag, values.letters, values.none

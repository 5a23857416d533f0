"""Prints a trace: its headline; one line per step, one column per broker; why the property fails, and by which steps.

One state can also be shown in full, with the changes made by the step that led to it and the properties that are false
in it. Expressions that the user gives on the command line (never those of a trace) are evaluated in every state.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise, zip_longest
from types import TracebackType
from typing import Any

from isrcheck.models.language.declarations import LIVENESS, NONE, Kind
from isrcheck.models.language.expression import read_expression
from isrcheck.models.language.ir import nodes as ir
from isrcheck.models.language.ir.nodes import visit
from isrcheck.models.language.model import IN_RANGE, Instance
from isrcheck.models.language.reading.reader import Function
from isrcheck.models.language.states import FieldLayout
from isrcheck.models.messages import ModelError, UsageError
from isrcheck.models.run import Cells, State
from isrcheck.traces.explaining.presentation import headline, room_of
from isrcheck.traces.format.certify import UNREACHABLE, continuation_text, judge, lasso_lines
from isrcheck.traces.format.trace import (
    HOLDS,
    NOT_INDUCTIVE,
    PERMITTED,
    REACHED,
    VIOLATED,
    Trace,
    back,
    changed_cells,
    heading,
    says,
    spell_value,
)
from isrcheck.traces.format.why_false import spell_expression, why_broken, why_false
from isrcheck.traces.kafka import failures
from isrcheck.traces.kafka.lanes import is_kafka, shown_fields
from isrcheck.traces.lanes import generic_lanes
from isrcheck.traces.lanes.table import PLAIN, Look, StepRow, blocks, fitted, lay_out, widest, wrapped


def view(
    trace: Trace, full: bool = False, look: Look = PLAIN, expressions: Sequence[StateExpression] = ()
) -> list[str]:
    """Return all lines about a trace; with `full`, every field of every state instead of only the changes."""
    if full:
        body = full_states(trace, range(len(trace.states)), look, expressions)
        if trace.erring is not None:
            body += wrapped(f"{trace.length}  {trace.spell_row(trace.length)}: causes an error", "  ", look.width)
        if trace.loop is not None:
            body += wrapped(back(trace), "  ", look.width)
    else:
        body = [*step_table(trace, look, expressions), *legend(trace, look)]
    top = fitted([*told(trace), heading(trace.instance)], look.width)
    ending = why(trace, look) if trace.prop is not None else []
    # The command is meant to be copied, so its line is never broken.
    ending += [f"reproduce: {trace.command}"] if trace.command else []
    return [*top, "", *body, "", *ending]


def told(trace: Trace) -> list[str]:
    """Return the headline, in a list, if the trace breaks a property of Kafka's models; otherwise return an empty list.
    The headline of any other trace would only repeat the property and the last step."""
    has_words = room_of(trace.instance).actions is not None
    return [headline(trace)] if has_words and trace.verdict in (VIOLATED, PERMITTED) else []


def step_table(trace: Trace, look: Look = PLAIN, expressions: Sequence[StateExpression] = ()) -> list[str]:
    """Return the trace as a table in the widest layout that fits; if none fits, list the changes below each step."""
    lanes = room_of(trace.instance).lanes
    titles = [*lanes.titles(trace.instance), *(expression.title for expression in expressions)]
    paint = look.ink.lane if is_kafka(trace.instance) else look.ink.changed
    values = _values(trace, expressions)
    # Try narrower layouts: first with more lines per lane, then with steps broken into lines.
    for stacked in range(lanes.MOST_STACKED + 1):
        rows = [*map(_with_values, lanes.rows(trace, stacked), values), *last_row(trace, titles)]
        excess = widest(lay_out(titles, rows)) - look.width
        if excess <= 0:
            break
    narrower = max(0, excess) if look.fits else 0
    if widest(lay_out(titles, rows, narrower=narrower)) > look.width and look.fits:
        rows = [*map(_with_values, lanes.rows(trace), values), *last_row(trace, titles)]
        return blocks(titles, rows, look.width, paint)
    return lay_out(titles, rows, paint, narrower)


def last_row(trace: Trace, titles: Sequence[str]) -> list[StepRow]:
    """Return a row for a last step that causes an error, or for a loop at the end (`back to step 3`); otherwise []."""
    nothing = ((),) * len(titles)
    if trace.loop is not None:
        return [StepRow("", back(trace), nothing)]
    return [] if trace.erring is None else [StepRow(trace.length, trace.spell_row(trace.length), nothing)]


def legend(trace: Trace, look: Look) -> list[str]:
    """Return an empty line and the lines that explain the signs in the table of this trace; [] if it has no signs."""
    signs = room_of(trace.instance).lanes.legend(trace)
    return ["", *fitted(signs, look.width)] if signs else []


def _values(trace: Trace, expressions: Sequence[StateExpression]) -> list[tuple[tuple[str, ...], ...]]:
    """Return the text of each expression's value in each state; empty if the previous state has the same value."""
    values = [
        [expression.value_in(cells, trace.spell_position(position)) for expression in expressions]
        for position, cells in enumerate(trace.states)
    ]
    return [
        tuple(() if old == new else (new,) for old, new in zip_longest(before, after))
        for before, after in pairwise([[], *values])
    ]


def _with_values(row: StepRow, values: tuple[tuple[str, ...], ...]) -> StepRow:
    return replace(row, cells=row.cells + values)


def full_states(
    trace: Trace, positions: Iterable[int], look: Look = PLAIN, expressions: Sequence[StateExpression] = ()
) -> list[str]:
    """Return each step at `positions`, then every field of the state after it and the values of the expressions."""
    lines = []
    for position in positions:
        lines += wrapped(f"{position}  {trace.spell_row(position)}", "  ", look.width)
        lines += fitted((f"       {line}" for line in _state(trace, position, expressions)), look.width)
    return lines


def full_state(instance: Instance, cells: Cells) -> list[str]:
    """Return every field of a state, one per line."""
    return generic_lanes.full_state(instance, cells, shown_fields(instance))


def _state(trace: Trace, position: int, expressions: Sequence[StateExpression]) -> list[str]:
    cells, where = trace.states[position], trace.spell_position(position)
    values = (f"{expression.title}  {expression.value_in(cells, where)}" for expression in expressions)
    return [*full_state(trace.instance, cells), *values]


def why(trace: Trace, look: Look = PLAIN) -> list[str]:
    """Return how a trace ends and why: expressions and steps that make the property false, and what permits this."""
    prop = trace.prop
    if prop is None or trace.verdict is None:
        return ["a behaviour without a property"]
    verdict = outcome(trace)
    # The coloured part is on the first line, even in a narrow terminal.
    first, *others = wrapped(f"{verdict}{says(prop.function.documentation)}", width=look.width)
    end = min(len(verdict), len(first))
    lines = [look.ink.verdict(trace.verdict, first[:end]) + first[end:], *others]
    if trace.error is not None:
        return [*lines, *wrapped(trace.error.message, "  ", look.width)]
    if trace.verdict in (VIOLATED, PERMITTED, NOT_INDUCTIVE):
        lines += fitted(why_broken(trace).lines(), look.width)
    if prop.kind is Kind.ALWAYS_POSSIBLE and trace.verdict in (VIOLATED, PERMITTED):
        lines += wrapped(continuation_text(trace.instance, prop, trace.states[-1]), width=look.width)
    for line in lasso_lines(trace):
        lines += wrapped(line, "  ", look.width)
    if trace.verdict == NOT_INDUCTIVE:
        lines += wrapped(UNREACHABLE, width=look.width)
    return lines + fitted(failures.lines(trace), look.width)


def outcome(trace: Trace) -> str:
    """Return one line: the verdict of a trace, the number of its last step, and the property."""
    at = "" if trace.verdict == HOLDS else f" at step {trace.length}"
    return f"{trace.verdict}{at}{f', {back(trace)}' if trace.loop is not None else ''}: {trace.property_name}"


# ---------------------------------------------------------------------------------------------------- one state in full


def view_step(trace: Trace, number: int, look: Look = PLAIN, expressions: Sequence[StateExpression] = ()) -> list[str]:
    """Return lines about the state after step `number`: its fields, changes and false properties. Raises UsageError."""
    position = number if number >= 0 else number + trace.length + 1
    if not 0 <= position <= trace.length:
        raise UsageError(
            f"--step {number}: no such state; the trace has the states 0..{trace.length}; -1 is the last state,"
            " -2 the state before it"
        )
    step = f"step {position} of {trace.length}: {trace.spell_row(position)}"
    lines = fitted([heading(trace.instance), "", step, ""], look.width)
    if position == trace.length and trace.erring is not None and trace.error is not None:
        error = f"the step causes an error, so no state follows it: {trace.error.message}"
        state = (f"  {line}" for line in _state(trace, position - 1, expressions))
        return [*lines, *fitted([error, "", "the state before:", *state], look.width)]
    if position == trace.length and trace.loop is not None:
        lines += [*wrapped(back(trace), width=look.width), ""]
    if position:
        lines += [*wrapped("changed:", width=look.width), *_changed(trace, position, look), ""]
    state = (f"  {line}" for line in _state(trace, position, expressions))
    return [*lines, *fitted(["the state:", *state, ""], look.width), *_judged(trace, position, look)]


def _changed(trace: Trace, position: int, look: Look) -> list[str]:
    cells = changed_cells(trace.instance, trace.states[position - 1], trace.states[position])
    if not cells:
        return wrapped("nothing", "  ", look.width)
    width = max(len(name) for name, _, _ in cells)
    lines = []
    for name, old, new in cells:
        *first, last = wrapped(f"{name:<{width}}  {old} -> {new}", "  ", look.width)
        # Only the new value is coloured.
        end = len(last) - len(new) if last.endswith(new) else len(last)
        lines += [*first, last[:end] + look.ink.changed(last[end:])]
    return lines


def _judged(trace: Trace, position: int, look: Look) -> list[str]:
    """Return lines about the properties false in this state, with reasons, and the reached `@sometimes` properties."""
    instance = trace.instance
    properties = list(instance.properties)
    if trace.prop is not None and trace.prop not in (IN_RANGE, *properties):
        properties.append(trace.prop)  # a lemma, or the implicit property `deadlock`
    first = max(0, position - 1)
    states, steps = trace.states[first : position + 1], trace.steps[first:position]
    before, step = (states[0], steps[0]) if position else (None, None)
    broken: list[str] = []
    reached: list[str] = []
    for prop in properties:
        try:
            verdict = judge(instance, prop, states, steps, len(states) - 1)
            if verdict == REACHED:
                reached.append(prop.name)
            elif verdict is not None:
                # The first line of the reason says that the property is false.
                _, *reason = why_false(instance, prop, before, step, states[-1]).lines("  ")
                name, *others = fitted([f"  {prop.name} ({verdict})"], look.width)
                broken += [look.ink.verdict(verdict, name), *others, *fitted(reason, look.width)]
        except ModelError as error:
            broken += fitted([f"  {prop.name} cannot be evaluated here: {error}"], look.width)
    count = sum(1 for prop in properties if prop.kind not in (Kind.SOMETIMES, *LIVENESS))
    title = "false here:" if broken else f"false here: none of {count} properties"
    ending = [f"reached here: {', '.join(reached)}"] if reached else []
    return [*wrapped(title, width=look.width), *broken, *fitted(ending, look.width)]


# ---------------------------------------------------------------------------------------------- expressions of the user


@dataclass(frozen=True)
class StateExpression:
    """An expression that can be evaluated in the states of an instance."""

    instance: Instance
    text: str
    title: str
    """The text as the language spells it."""
    function: Function
    layout: FieldLayout | None
    """The field from which all values of the expression come, if that is one field."""

    def value_in(self, cells: Cells, where: str) -> str:
        """Return the value of the expression in a state, as text; `where` is the state's name in error messages. Raises
        UsageError if the expression has no value there, for example because an index is out of range."""
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
    """Parse an expression that a user typed (`--eval`). Raises UsageError."""
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
    """Return the field whose names or letters spell the values of the expression; None if no field suits all values."""
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
    """Return the field that spells the values of all these expressions, or None. The constant NONE is ignored."""
    layouts = [
        _layout(instance, expression)
        for expression in expressions
        if not (isinstance(expression, ir.Constant) and expression.value == NONE)
    ]
    common = [layout for layout in layouts if layout is not None]
    if not common or len(common) < len(layouts) or len({_kind(layout) for layout in common}) > 1:
        return None
    return max(common, key=lambda layout: layout.high)


def _kind(layout: FieldLayout) -> tuple[object, ...]:
    """Everything that decides how the values of a field are printed: two fields with equal results print alike."""
    values = layout.field.values
    return values.names, values.is_flag, values.letters, values.none

"""Prints a trace: its headline; one line per step, one column per broker; why the property fails, and by which steps.

In:  a certified Trace; the width of the view, and whether it has colours; expressions to evaluate in every state.
Out: lines for a terminal or a pipe.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from isrcheck.models.language.declarations import Kind
from isrcheck.models.language.model import Instance
from isrcheck.traces.explaining import attribution
from isrcheck.traces.explaining.evaluate import StateExpression
from isrcheck.traces.explaining.headline import headline
from isrcheck.traces.format import lasso
from isrcheck.traces.format.possibility import continuation_text
from isrcheck.traces.format.trace import HOLDS, NOT_INDUCTIVE, PERMITTED, VIOLATED, Trace
from isrcheck.traces.format.why_false import why_broken
from isrcheck.traces.kafka import lanes
from isrcheck.traces.kafka.model import is_kafka, shown_fields
from isrcheck.traces.lanes import generic_lanes
from isrcheck.traces.lanes.heading import heading, says
from isrcheck.traces.lanes.table import StepRow, blocks, fitted, lay_out, widest, wrapped
from isrcheck.traces.terminal.colour import PLAIN, Look
from isrcheck.traces.transactions import columns as columns_of_transactions
from isrcheck.traces.transactions.columns import is_transactions


def view(
    trace: Trace, full: bool = False, look: Look = PLAIN, expressions: Sequence[StateExpression] = ()
) -> list[str]:
    """Return the whole view; with `full`, every field of every state instead of the changes."""
    shown = (
        full_states(trace, range(len(trace.states)), look, expressions)
        if full
        else step_table(trace, look, expressions)
    )
    if full and trace.erring is not None:
        shown += wrapped(f"{trace.length}  {trace.spell_row(trace.length)}: causes an error", "  ", look.width)
    if full and trace.loop is not None:
        shown += wrapped(lasso.back(trace), "  ", look.width)
    shown += [] if full else legend(trace, look)
    lines = [*told(trace), heading(trace.instance)]
    top = [line for one in lines for line in wrapped(one, width=look.width)]
    return [*top, "", *shown, "", *_ending(trace, look)]


def told(trace: Trace) -> list[str]:
    """Return the headline of a trace that breaks a property of Kafka's models; nothing for any other trace, whose
    headline would only repeat the property and the last step."""
    has_words = is_kafka(trace.instance) or is_transactions(trace.instance)
    return [headline(trace)] if has_words and trace.verdict in (VIOLATED, PERMITTED) else []


def step_table(trace: Trace, look: Look = PLAIN, expressions: Sequence[StateExpression] = ()) -> list[str]:
    """Return the lanes in the widest layout that fits; if none fits, each step with one line per changed column."""
    titles_of_values = [expression.title for expression in expressions]
    titles = [*lane_titles(trace.instance), *titles_of_values]
    paint = look.ink.lane if is_kafka(trace.instance) else look.ink.changed
    values = _values(trace, expressions)
    # Try narrower layouts: first with more lines per lane, then with steps broken into lines.
    for stacked in range(lanes.MOST_STACKED + 1 if is_kafka(trace.instance) else 1):
        rows = [*map(_with_values, lane_rows(trace, stacked), values), *last_row(trace, titles)]
        excess = widest(lay_out(titles, rows)) - look.width
        if excess <= 0:
            break
    narrower = max(0, excess) if look.fits else 0
    if widest(lay_out(titles, rows, narrower=narrower)) > look.width and look.fits:
        rows = [*map(_with_values, lane_rows(trace), values), *last_row(trace, titles)]
        return blocks(titles, rows, look.width, paint)
    return lay_out(titles, rows, paint, narrower)


def last_row(trace: Trace, titles: Sequence[str]) -> list[StepRow]:
    """Return the row of the last step if it causes an error, or of where a lasso goes on; its columns are empty, since
    no state follows."""
    nothing: tuple[tuple[str, ...], ...] = tuple(() for _ in titles)
    if trace.loop is not None:
        return [StepRow("", lasso.back(trace), nothing)]
    if trace.erring is None:
        return []
    return [StepRow(trace.length, trace.spell_row(trace.length), nothing)]


def legend(trace: Trace, look: Look) -> list[str]:
    """Return the meanings of the signs in the lanes of this trace, after an empty line."""
    signs = []
    if is_kafka(trace.instance):
        signs = lanes.legend(trace)
    elif is_transactions(trace.instance):
        signs = columns_of_transactions.legend()
    return ["", *fitted(signs, look.width)] if signs else []


def lane_titles(instance: Instance) -> list[str]:
    """Return the titles of the columns after the step."""
    if is_transactions(instance):
        return columns_of_transactions.titles(instance)
    return lanes.titles(instance) if is_kafka(instance) else generic_lanes.titles(instance)


def lane_rows(trace: Trace, stacked: int = 0) -> list[StepRow]:
    """Return one row per state; unchanged columns are empty. The higher `stacked`, the narrower Kafka's columns."""
    if is_transactions(trace.instance):
        from isrcheck.traces.transactions import lanes as lanes_of_transactions  # here, for others do without the model

        return lanes_of_transactions.rows(trace)
    return lanes.rows(trace, stacked) if is_kafka(trace.instance) else generic_lanes.rows(trace)


def _values(trace: Trace, expressions: Sequence[StateExpression]) -> list[tuple[tuple[str, ...], ...]]:
    """The values of the expressions in each state, if they differ from those in the previous state."""
    found: list[tuple[tuple[str, ...], ...]] = []
    before: list[str | None] = [None] * len(expressions)
    for position, cells in enumerate(trace.states):
        values = [expression.value_in(cells, trace.spell_position(position)) for expression in expressions]
        found.append(tuple(() if old == new else (new,) for old, new in zip(before, values, strict=True)))
        before = [*values]
    return found


def _with_values(row: StepRow, values: tuple[tuple[str, ...], ...]) -> StepRow:
    return replace(row, cells=row.cells + values)


def full_states(
    trace: Trace, positions: Iterable[int], look: Look = PLAIN, expressions: Sequence[StateExpression] = ()
) -> list[str]:
    """Return steps, each with every field of the state that it leads to, and the values of the expressions there."""
    found = []
    for position in positions:
        found += wrapped(f"{position}  {trace.spell_row(position)}", "  ", look.width)
        found += fitted((f"       {line}" for line in full_state(trace, position, expressions)), look.width)
    return found


def full_state(trace: Trace, position: int, expressions: Sequence[StateExpression] = ()) -> list[str]:
    """Return every field of a state and the values of the expressions there, one per line."""
    cells = trace.states[position]
    values = [f"{one.title}  {one.value_in(cells, trace.spell_position(position))}" for one in expressions]
    return [*generic_lanes.full_state(trace.instance, cells, shown_fields(trace.instance)), *values]


def why(trace: Trace, look: Look = PLAIN) -> list[str]:
    """Return how a trace ends and why: deciding expressions, responsible steps, and what permits the failure."""
    prop = trace.prop
    if prop is None or trace.verdict is None:
        return ["a behaviour without a property"]
    at = "" if trace.verdict == HOLDS else f" at step {trace.length}"
    at += f", {lasso.back(trace)}" if trace.loop is not None else ""
    verdict = f"{trace.verdict}{at}: {prop.name}"
    # The coloured part is on the first line, even in a narrow terminal.
    first, *others = wrapped(f"{verdict}{says(prop.function.documentation)}", width=look.width)
    end = min(len(verdict), len(first))
    found = [look.ink.verdict(trace.verdict, first[:end]) + first[end:], *others]
    if trace.error is not None:
        return [*found, *wrapped(trace.error.message, "  ", look.width)]
    if trace.verdict in (VIOLATED, PERMITTED, NOT_INDUCTIVE):
        found += fitted(why_broken(trace).lines(), look.width)
    if prop.kind is Kind.ALWAYS_POSSIBLE and trace.verdict in (VIOLATED, PERMITTED):
        found += wrapped(continuation_text(trace.instance, prop, trace.states[-1]), width=look.width)
    for line in lasso.lines(trace):
        found += wrapped(line, "  ", look.width)
    if trace.verdict == NOT_INDUCTIVE:
        note = "The first state may be unreachable: the proof does not exclude it."
        found += wrapped(note, width=look.width)
    return found + fitted(attribution.lines(trace), look.width)


def _ending(trace: Trace, look: Look) -> list[str]:
    found = why(trace, look) if trace.prop is not None else []
    # The command is meant to be copied, so its line is never broken.
    return [*found, f"reproduce: {trace.command}"] if trace.command else found

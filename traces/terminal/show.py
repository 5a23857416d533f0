"""A trace as text: one line per step, one column per broker; then why the property fails, and who did what.

In:  a certified Trace; how wide the view may be, and whether it has colours; expressions to evaluate in every state.
Out: lines for a terminal or a pipe.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from isrcheck.models.language.model import Instance, spell
from isrcheck.traces.explaining import attribution
from isrcheck.traces.explaining.evaluate import Question
from isrcheck.traces.format.itf import label
from isrcheck.traces.format.trace import HOLDS, NOT_INDUCTIVE, PERMITTED, VIOLATED, Trace
from isrcheck.traces.format.why_false import why_broken
from isrcheck.traces.kafka import lanes
from isrcheck.traces.kafka.model import is_kafka
from isrcheck.traces.lanes import generic_lanes
from isrcheck.traces.lanes.table import Row, blocks, fitted, lay_out, widest, wrapped
from isrcheck.traces.terminal.colour import PLAIN, Look


def view(trace: Trace, full: bool = False, look: Look = PLAIN, asked: Sequence[Question] = ()) -> list[str]:
    """The whole view; with `full` every field of every state instead of what changed."""
    shown = full_states(trace, range(len(trace.states)), look, asked) if full else history(trace, look, asked)
    if full and trace.erring is not None:
        shown += wrapped(f"{trace.length}  {trace.spell_row(trace.length)}: leads nowhere", "  ", look.width)
    shown += [] if full else _legend(trace, look)
    return [*wrapped(heading(trace.instance), width=look.width), "", *shown, "", *_ending(trace, look)]


def heading(instance: Instance) -> str:
    """The model, and what of its configuration is not the default."""
    entries = instance.model.entries
    defaults = {name: entry.default for name, entry in entries.items()} | dict(instance.protocol.switches)
    changed = [
        f"{name}={spell(entries[name], value)}"
        for name, value in instance.configuration.items()
        if value != defaults[name]
    ]
    changed += [f"{action} of {origin}" for action, origin in instance.swaps.items()]
    return f"{label(instance)}, {' '.join(changed) or 'default configuration'}"


def history(trace: Trace, look: Look = PLAIN, asked: Sequence[Question] = ()) -> list[str]:
    """The lanes in the widest layout that fits; where none does, each step with a line per column that changed."""
    questions = [question.title for question in asked]
    titles = [*lane_titles(trace.instance), *questions]
    paint = look.ink.lane if is_kafka(trace.instance) else look.ink.changed
    answers = _answers(trace, asked)
    # Ever narrower: with more lines for each lane, and at last with the steps over several lines.
    for stacked in range(lanes.MOST_STACKED + 1 if is_kafka(trace.instance) else 1):
        rows = [*map(_with_answers, lane_rows(trace, stacked), answers), *erring_row(trace, titles)]
        excess = widest(lay_out(titles, rows)) - look.width
        if excess <= 0:
            break
    narrower = max(0, excess) if look.fits else 0
    if widest(lay_out(titles, rows, narrower=narrower)) > look.width and look.fits:
        rows = [*map(_with_answers, lane_rows(trace), answers), *erring_row(trace, titles)]
        return blocks(titles, rows, look.width, paint)
    return lay_out(titles, rows, paint, narrower)


def erring_row(trace: Trace, titles: Sequence[str]) -> list[Row]:
    """The row of a step that errs, which changes nothing."""
    if trace.erring is None:
        return []
    return [Row(trace.length, trace.spell_row(trace.length), tuple(() for _ in titles))]


def _legend(trace: Trace, look: Look) -> list[str]:
    """What the signs in these lanes mean, under an empty line."""
    signs = lanes.legend(trace) if is_kafka(trace.instance) else []
    return ["", *fitted(signs, look.width)] if signs else []


def lane_titles(instance: Instance) -> list[str]:
    """The columns that a model's states have, after the step."""
    return lanes.titles(instance) if is_kafka(instance) else generic_lanes.titles(instance)


def lane_rows(trace: Trace, stacked: int = 0) -> list[Row]:
    """One row per state, what did not change left empty; `stacked` as in kafka_lanes.rows."""
    return lanes.rows(trace, stacked) if is_kafka(trace.instance) else generic_lanes.rows(trace)


def _answers(trace: Trace, asked: Sequence[Question]) -> list[tuple[tuple[str, ...], ...]]:
    """For each state what the questions get for an answer, where it is another than before."""
    found: list[tuple[tuple[str, ...], ...]] = []
    before: list[str | None] = [None] * len(asked)
    for position, cells in enumerate(trace.states):
        answers = [question.answer(cells, trace.spell_position(position)) for question in asked]
        found.append(tuple(() if old == new else (new,) for old, new in zip(before, answers, strict=True)))
        before = [*answers]
    return found


def _with_answers(row: Row, answers: tuple[tuple[str, ...], ...]) -> Row:
    return replace(row, cells=row.cells + answers)


def full_states(
    trace: Trace, positions: Iterable[int], look: Look = PLAIN, asked: Sequence[Question] = ()
) -> list[str]:
    """Steps, each with every field of the state that it leads to, and the answers there."""
    found = []
    for position in positions:
        found += wrapped(f"{position}  {trace.spell_row(position)}", "  ", look.width)
        found += fitted((f"       {line}" for line in full_state(trace, position, asked)), look.width)
    return found


def full_state(trace: Trace, position: int, asked: Sequence[Question] = ()) -> list[str]:
    """Every field of a state, and the answers there, one a line."""
    cells = trace.states[position]
    answers = [f"{one.title}  {one.answer(cells, trace.spell_position(position))}" for one in asked]
    return [*generic_lanes.full_state(trace.instance, cells), *answers]


def why(trace: Trace, look: Look = PLAIN) -> list[str]:
    """How a trace ends, and why: the expressions that decide it, who did what, and what permits it."""
    prop = trace.prop
    if prop is None or trace.verdict is None:
        return ["a behaviour: no property is spoken of"]
    at = "" if trace.verdict == HOLDS else f" at step {trace.length}"
    verdict = f"{trace.verdict}{at}: {prop.name}"
    # What is coloured stands on the first line, even in a narrow terminal.
    first, *others = wrapped(f"{verdict}{says(prop.function.documentation)}", width=look.width)
    end = min(len(verdict), len(first))
    found = [look.ink.verdict(trace.verdict, first[:end]) + first[end:], *others]
    if trace.error is not None:
        return [*found, *wrapped(trace.error.message, "  ", look.width)]
    if trace.verdict in (VIOLATED, PERMITTED, NOT_INDUCTIVE):
        found += fitted(why_broken(trace).lines(), look.width)
    if trace.verdict == NOT_INDUCTIVE:
        note = "The state that it starts from need not be reachable: it is one that the proof does not rule out."
        found += wrapped(note, width=look.width)
    return found + fitted(attribution.lines(trace), look.width)


def _ending(trace: Trace, look: Look) -> list[str]:
    found = why(trace, look) if trace.prop is not None else []
    # A command is to be copied: its line is never broken.
    return [*found, f"reproduce: {trace.command}"] if trace.command else found


def says(documentation: str) -> str:
    """The first paragraph of a docstring behind a colon."""
    first = documentation.strip().split("\n\n")[0].replace("\n", " ")
    return f": {' '.join(first.split())}" if first else ""

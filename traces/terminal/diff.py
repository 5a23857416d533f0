"""Compares two traces of one model: their common steps, how each continues, and how each ends.

In:  two certified traces of one model, whose configurations may differ; their names.
Out: lines, and whether the traces are identical in steps, configuration and outcome.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from isrcheck.models.language.model import spell
from isrcheck.models.messages import UsageError
from isrcheck.traces.format.trace import HOLDS, Trace, back, heading, spelled_at
from isrcheck.traces.lanes.table import PLAIN, Look, Paint, Row, fitted, grid, widest, wrapped
from isrcheck.traces.terminal.show import full_states

NAMES = ("A", "B")
ABSENT = "-"
"""The text in place of a step that one of the traces lacks."""


@dataclass(frozen=True)
class Difference:
    """The differences of two traces; `position` is the first state at which they differ (None: nowhere)."""

    one: Trace
    other: Trace

    @cached_property
    def position(self) -> int | None:
        """The number of the first state that the traces reach by different steps, that differs in a cell of both, or
        that one trace lacks; None if there is none."""
        longest = max(self.one.length, self.other.length)
        return next((position for position in range(longest + 1) if not self._agree(position)), None)

    def _agree(self, position: int) -> bool:
        traces = (self.one, self.other)
        if any(position > trace.length for trace in traces):
            return False
        if position and len({trace.spell_row(position) for trace in traces}) > 1:
            return False
        return not self.cells(position, position)

    def cells(self, position: int, other: int) -> list[tuple[str, str, str]]:
        """Name and both values of each common cell that differs in state `position` of one and state `other` of two."""
        one, two = _spelled(self.one, position), _spelled(self.other, other)
        return [(name, one[name], two[name]) for name in one if name in two and one[name] != two[name]]

    @cached_property
    def own_cells(self) -> tuple[int, int]:
        """For each trace, the number of cells in its states that are missing from the other trace's states."""
        one, two = _spelled(self.one, 0).keys(), _spelled(self.other, 0).keys()
        return len(one - two), len(two - one)

    @cached_property
    def settings(self) -> list[tuple[str, str, str]]:
        """The differences in protocol, configuration and outcome: name, and the two values."""
        one, two = (trace.instance.protocol.name for trace in (self.one, self.other))
        found = [("protocol", one, two)]
        for name, entry in self.one.instance.model.entries.items():
            one, two = (getattr(trace.instance.configuration, name) for trace in (self.one, self.other))
            found.append((name, spell(entry, one), spell(entry, two)))
        actions = {**self.one.instance.swaps, **self.other.instance.swaps}
        for action in actions:
            one, two = (trace.instance.swaps.get(action, "own") for trace in (self.one, self.other))
            found.append((f"{action} of", one, two))
        return [setting for setting in found if setting[1] != setting[2]]

    @property
    def same_ending(self) -> bool:
        """Whether both traces have the same property and verdict."""
        return (self.one.property_name, self.one.verdict) == (self.other.property_name, self.other.verdict)

    @property
    def is_none(self) -> bool:
        """Whether the traces are identical."""
        return self.position is None and not self.settings and self.same_ending


def _spelled(trace: Trace, position: int) -> Mapping[str, str]:
    """A state as text, cell by cell, which can be compared with states of other sizes."""
    instance, cells = trace.instance, trace.state_at(position)
    return spelled_at(instance, cells, range(len(cells)))


def refuse_different(one: str, other: str) -> None:
    """Raise UsageError if the two traces are not of one model."""
    if one != other:
        raise UsageError(f"a trace of {one} and a trace of {other} cannot be compared; give two traces of one model")


def tell(found: Difference, full: bool = False, look: Look = PLAIN) -> list[str]:
    """Return the differences as lines; with `full`, every field of the common states."""
    traces = (found.one, found.other)
    if found.is_none:
        same = f"identical: {_steps(found.one.length)} of {heading(found.one.instance)}; {_outcome(found.one)}"
        return wrapped(same, width=look.width)
    lines = [f"{name}  {heading(trace.instance)}" for name, trace in zip(NAMES, traces, strict=True)]
    lines = fitted(lines, look.width)
    if found.settings:
        lines += ["", *wrapped("they differ in", width=look.width), *_pairs(found.settings, look)]
    if any(found.own_cells):
        told = (f"{number} cells only in {name}" for name, number in zip(NAMES, found.own_cells, strict=True))
        lines += fitted([f"  their states differ in size: {' and '.join(told)} are not compared"], look.width)
    if found.position is None:
        same = f"the same {_steps(found.one.length)}, and the same states"
        lines += ["", *wrapped(same, width=look.width)]
    else:
        lines += ["", *_common(found, found.position, full, look), "", *_parting(found, found.position, look)]
    lines.append("")
    for name, trace in zip(NAMES, traces, strict=True):
        first, *others = wrapped(f"{name}: {_outcome(trace)}", width=look.width)
        verdict = trace.verdict or ""
        head, middle, tail = first.partition(verdict) if verdict else (first, "", "")
        lines += [head + (look.ink.verdict(verdict, middle) if middle else "") + tail, *others]
    return lines


def _steps(number: int) -> str:
    return f"{number} step{'' if number == 1 else 's'}"


def _outcome(trace: Trace) -> str:
    if trace.prop is None or trace.verdict is None:
        return f"{_steps(trace.length)}, no property"
    at = "" if trace.verdict == HOLDS else f" at step {trace.length}"
    at += f", {back(trace)}" if trace.loop is not None else ""
    return f"{trace.verdict}{at}: {trace.prop.name}"


def _common(found: Difference, position: int, full: bool, look: Look) -> list[str]:
    """The lines of the common steps."""
    if position == 0:
        return wrapped("nothing in common: they start in different states", width=look.width)
    lines = wrapped(f"in common up to step {position - 1}:", width=look.width)
    if full:
        return [*lines, *full_states(found.one, range(position), look)]
    width = len(str(position - 1))
    steps = (f"  {i:>{width}}  {found.one.spell_row(i)}" for i in range(position))
    return [*lines, *fitted(steps, look.width)]


def _parting(found: Difference, position: int, look: Look) -> list[str]:
    """Lines about how each trace continues, and in which cells their states differ."""
    traces = (found.one, found.other)
    ended = [name for name, trace in zip(NAMES, traces, strict=True) if trace.length < position]
    if ended:
        lines = [f"{ended[0]} ends there, {NAMES[1 - NAMES.index(ended[0])]} continues:"]
    elif len({trace.spell_row(position) for trace in traces}) == 1:
        lines = [
            f"they part at step {position}: the same step leads to different states"
            if position
            else "how they continue:"
        ]
    else:
        lines = [f"they part at step {position}:"]
    longest = max(trace.length for trace in traces)
    width = len(str(longest))
    rows: list[Row] = [[("#".rjust(width),), *((name,) for name in NAMES)]]
    rows += [
        [(str(i).rjust(width),), *((trace.spell_row(i) if i <= trace.length else ABSENT,) for trace in traces)]
        for i in range(position, longest + 1)
    ]
    lines = [*fitted(lines, look.width), *_columns(rows, look)]
    if not ended:
        after = f"their states after step {position}" if position else "their first states"
        lines += ["", *_differing(after, found.cells(position, position), look)]
    ends = [trace.length for trace in traces]
    if ended or ends != [position, position]:
        lines += ["", *_differing("their final states", found.cells(*ends), look)]
    return lines


def _differing(what: str, cells: list[tuple[str, str, str]], look: Look) -> list[str]:
    says = f"{what} differ in" if cells else f"{what} are the same"
    return [*wrapped(says, width=look.width), *_pairs(cells, look)]


def _pairs(pairs: list[tuple[str, str, str]], look: Look) -> list[str]:
    """One line per difference: its name, and the two values."""
    rows: list[Row] = [[("",), *((name,) for name in NAMES)]] if pairs else []
    rows += [[(name,), (one,), (two,)] for name, one, two in pairs]
    return _columns(rows, look)


def _columns(rows: list[Row], look: Look) -> list[str]:
    """Lines in three columns; if they do not fit, the last two columns are below the first, each with its name."""
    if not rows:
        return []
    if not look.fits or widest(grid(rows)) <= look.width:
        paint: Paint = look.ink.changed
        return grid(rows, [str, paint, paint])
    lines = []
    for (first, *_), *others in rows[1:]:
        lines += wrapped(first, "  ", look.width)
        for name, (text, *_) in zip(NAMES, others, strict=True):
            lines += wrapped(f"{name}: {text}", "    ", look.width)
    return lines

"""Compares two certified traces of one model: their common steps, how each continues, and how each ends."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from isrcheck.models.language.model import Instance
from isrcheck.traces.format.trace import Trace, heading, spell_configuration, spelled_at
from isrcheck.traces.lanes.table import PLAIN, Look, Paint, Row, fitted, grid, widest, wrapped
from isrcheck.traces.terminal.show import full_states, outcome

NAMES = ("A", "B")
ABSENT = "-"
"""The text in place of a step that one of the traces lacks."""


@dataclass(frozen=True)
class Difference:
    """Two traces of one model, and what differs between them."""

    first: Trace
    second: Trace

    @property
    def traces(self) -> tuple[Trace, Trace]:
        """Both traces."""
        return self.first, self.second

    @cached_property
    def position(self) -> int | None:
        """The number of the first state at which the traces differ: it is reached by different steps, has another value
        in some cell, or exists in only one trace. None if there is no such state."""
        shortest, longest = sorted(trace.length for trace in self.traces)
        for position in range(shortest + 1):
            if not self.is_same_step(position) or self.cells(position, position):
                return position
        return None if shortest == longest else shortest + 1

    def is_same_step(self, position: int) -> bool:
        """Whether the traces reach the states of this number by the same step."""
        return position == 0 or self.first.spell_row(position) == self.second.spell_row(position)

    def cells(self, position: int, other: int) -> list[tuple[str, str, str]]:
        """The name and both values of each cell that differs between state `position` of the first trace and state
        `other` of the second. A cell that only one of the traces has is left out."""
        mine, theirs = _spelled(self.first, position), _spelled(self.second, other)
        return [(name, mine[name], theirs[name]) for name in mine if name in theirs and mine[name] != theirs[name]]

    @cached_property
    def own_cells(self) -> tuple[int, int]:
        """For each of the two traces, the number of cells in its states that the other trace's states do not have."""
        mine, theirs = _spelled(self.first, 0).keys(), _spelled(self.second, 0).keys()
        return len(mine - theirs), len(theirs - mine)

    @cached_property
    def settings(self) -> list[tuple[str, str, str]]:
        """The name and both values of each setting that differs: protocol, configuration entry or swapped action."""
        first, second = (_settings(trace.instance) for trace in self.traces)
        pairs = ((name, first.get(name, "own"), second.get(name, "own")) for name in {**first, **second})
        return [(name, mine, theirs) for name, mine, theirs in pairs if mine != theirs]

    @property
    def is_none(self) -> bool:
        """Whether the traces are identical."""
        is_same_end = (self.first.property_name, self.first.verdict) == (self.second.property_name, self.second.verdict)
        return self.position is None and not self.settings and is_same_end


def _settings(instance: Instance) -> dict[str, str]:
    swaps = {f"{action} of": origin for action, origin in instance.swaps.items()}
    return {"protocol": instance.protocol.name, **spell_configuration(instance), **swaps}


def _spelled(trace: Trace, position: int) -> Mapping[str, str]:
    """The values of a state's cells as text, by cell name, so that states with different cells can be compared."""
    instance, cells = trace.instance, trace.state_at(position)
    return spelled_at(instance, cells, range(len(cells)))


def tell(difference: Difference, full: bool = False, look: Look = PLAIN) -> list[str]:
    """Return lines that compare two traces; with `full`, they show every field of the states that the traces share."""
    first, position = difference.first, difference.position
    if difference.is_none:
        same = f"identical: {_steps(first.length)} of {heading(first.instance)}; {_outcome(first)}"
        return wrapped(same, width=look.width)
    named = [*zip(NAMES, difference.traces, strict=True)]
    lines = fitted([f"{name}  {heading(trace.instance)}" for name, trace in named], look.width)
    if difference.settings:
        lines += ["", *wrapped("they differ in", width=look.width), *_pairs(difference.settings, look)]
    if any(difference.own_cells):
        sizes = (f"{number} cells only in {name}" for name, number in zip(NAMES, difference.own_cells, strict=True))
        lines += fitted([f"  their states differ in size: {' and '.join(sizes)} are not compared"], look.width)
    if position is None:
        lines += ["", *wrapped(f"the same {_steps(first.length)}, and the same states", width=look.width)]
    else:
        lines += ["", *_common(first, position, full, look), "", *_parting(difference, position, look)]
    lines.append("")
    for name, trace in named:
        line, *others = wrapped(f"{name}: {_outcome(trace)}", width=look.width)
        verdict = trace.verdict or ""
        head, middle, tail = line.partition(verdict) if verdict else (line, "", "")
        lines += [head + (look.ink.verdict(verdict, middle) if middle else "") + tail, *others]
    return lines


def _steps(number: int) -> str:
    return f"{number} step{'' if number == 1 else 's'}"


def _outcome(trace: Trace) -> str:
    return f"{_steps(trace.length)}, no property" if trace.verdict is None else outcome(trace)


def _common(trace: Trace, position: int, full: bool, look: Look) -> list[str]:
    if position == 0:
        return wrapped("nothing in common: they start in different states", width=look.width)
    lines = wrapped(f"in common up to step {position - 1}:", width=look.width)
    if full:
        return [*lines, *full_states(trace, range(position), look)]
    width = len(str(position - 1))
    return [*lines, *fitted((f"  {i:>{width}}  {trace.spell_row(i)}" for i in range(position)), look.width)]


def _parting(difference: Difference, position: int, look: Look) -> list[str]:
    """Lines about how each trace continues from `position`, and which cells differ there and in the final states."""
    ends = [trace.length for trace in difference.traces]
    has_ended = min(ends) < position
    if has_ended:
        ended = ends.index(min(ends))
        title = f"{NAMES[ended]} ends there, {NAMES[1 - ended]} continues:"
    elif position == 0:
        title = "how they continue:"
    elif difference.is_same_step(position):
        title = f"they part at step {position}: the same step leads to different states"
    else:
        title = f"they part at step {position}:"
    width = len(str(max(ends)))
    rows: list[Row] = [[("#".rjust(width),), *((name,) for name in NAMES)]]
    for number in range(position, max(ends) + 1):
        steps = (trace.spell_row(number) if number <= trace.length else ABSENT for trace in difference.traces)
        rows.append([(str(number).rjust(width),), *((step,) for step in steps)])
    lines = [*fitted([title], look.width), *_columns(rows, look)]
    if not has_ended:
        states = f"their states after step {position}" if position else "their first states"
        lines += ["", *_differing(states, difference.cells(position, position), look)]
    if has_ended or ends != [position, position]:
        lines += ["", *_differing("their final states", difference.cells(*ends), look)]
    return lines


def _differing(states: str, cells: list[tuple[str, str, str]], look: Look) -> list[str]:
    title = f"{states} differ in" if cells else f"{states} are the same"
    return [*wrapped(title, width=look.width), *_pairs(cells, look)]


def _pairs(pairs: list[tuple[str, str, str]], look: Look) -> list[str]:
    rows: list[Row] = [[("",), *((name,) for name in NAMES)]] if pairs else []
    rows += [[(name,), (mine,), (theirs,)] for name, mine, theirs in pairs]
    return _columns(rows, look)


def _columns(rows: list[Row], look: Look) -> list[str]:
    """Lines in three columns; if too wide, each row's last two cells are below the first, after their names A and B."""
    if not rows:
        return []
    if not look.fits or widest(grid(rows)) <= look.width:
        paint: Paint = look.ink.changed
        return grid(rows, [str, paint, paint])
    lines: list[str] = []
    for (first, *_), *others in rows[1:]:
        lines += wrapped(first, "  ", look.width)
        for name, (text, *_) in zip(NAMES, others, strict=True):
            lines += wrapped(f"{name}: {text}", "    ", look.width)
    return lines

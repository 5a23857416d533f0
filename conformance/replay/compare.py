"""Replays a trace on a system: after each step, the observed system has to agree with the model."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

from isrcheck.conformance.replay.system import StepRefusedError, System
from isrcheck.models.language.model import Instance
from isrcheck.models.language.states import FieldLayout
from isrcheck.models.messages import UsageError
from isrcheck.models.run import Cells
from isrcheck.traces.format.trace import Trace
from isrcheck.traces.kafka.lanes import shown_fields
from isrcheck.traces.lanes.generic_lanes import full_state


@dataclass(frozen=True)
class Divergence:
    """The first difference between trace and system: the state's number (from 0), and the first differing variable.

    `cells` is the model's state with the observed values inserted. If the system refused the step into the state, `why`
    is the reason, and `variable` is None.
    """

    position: int
    variable: str | None
    cells: Cells
    why: str = ""

    def lines(self, trace: Trace) -> list[str]:
        """The report: the step, the variable, and the difference between system and model."""
        at = f"diverges after {trace.spell_position(self.position)}" if self.position else "diverges in the first state"
        if self.variable is None:
            return [f"{at}: the system refuses the step: {self.why}"]
        shown = shown_fields(trace.instance)
        expected, observed = (
            full_state(trace.instance, cells, shown) for cells in (trace.states[self.position], self.cells)
        )
        return [
            f"{at}, first in {self.variable}:",
            *(
                line.rstrip("\n")
                for line in difflib.unified_diff(expected, observed, "model", "system", n=0, lineterm="")
            ),
        ]


def replay(trace: Trace, system: System) -> Divergence | None:
    """Replay a trace on a system; return the first divergence, or None.

    Raises UsageError if `observe` returns an unknown variable or a list of the wrong length, and if it never returns
    a value, because then nothing was compared.
    """
    system.begin(trace)
    is_blind = True
    for position, cells in enumerate(trace.states):
        if position:
            try:
                system.take(trace.steps[position - 1])
            except StepRefusedError as error:
                return Divergence(position, None, cells, str(error))
        observed = system.observe()
        is_blind = is_blind and all(_is_unseen(value) for value in observed.values())
        differing, inserted = compared(trace.instance, cells, observed)
        if differing is not None:
            return Divergence(position, differing, inserted)
    if is_blind:
        raise UsageError("observe never returned the value of a variable, so nothing was compared; return at least one")
    return None


def _is_unseen(value: Any) -> bool:
    return value is None or (isinstance(value, list | tuple) and all(map(_is_unseen, value)))


def compared(instance: Instance, cells: Cells, observed: Mapping[str, Any]) -> tuple[str | None, Cells]:
    """Compare the state `cells` with an observation. Return the first variable that differs, or None; and the state
    with the observed values inserted."""
    inserted = list(cells)
    for name, value in observed.items():
        layout = instance.layouts.get(name)
        if layout is None:
            raise UsageError(f"observe returned {name}, but {instance.model.name} has no such variable; leave it out")
        in_a_row = isinstance(value, tuple) and len(value) == layout.count
        if in_a_row and not all(cell is None or isinstance(cell, int) for cell in value):
            raise UsageError(f"observe returned {value!r} for {name}; a tuple must have a number or None for each cell")
        for offset, cell in enumerate(value if in_a_row else _flat(layout, value, layout.sizes)):
            if cell is not None:
                inserted[layout.offset + offset] = cell
    for name, layout in instance.layouts.items():
        part = slice(layout.offset, layout.offset + layout.count)
        if list(cells[part]) != inserted[part]:
            return name, tuple(inserted)
    return None, tuple(inserted)


def _flat(layout: FieldLayout, value: Any, sizes: Sequence[int]) -> Iterator[int | None]:
    """Yield the cells of `value`, an observed variable or one row of it, as one flat list; None for a cell that was not
    observed. `sizes` are the lengths of the nested lists in `value`, the outermost first."""
    if value is None:
        yield from [None] * prod(sizes)
    elif not sizes:
        if not isinstance(value, int) or not layout.low <= value <= layout.high:
            raise UsageError(f"observe returned {value!r} for {layout.name}; give {layout.low}..{layout.high}")
        yield int(value)
    elif layout.field.contents is not None and len(sizes) == 1:
        try:
            yield from map(int, layout.field.contents.cells(value, sizes[0]))
        except ValueError as error:
            raise UsageError(f"observe returned {value!r} for {layout.name}; {error}") from None
    elif not isinstance(value, Sequence) or len(value) != sizes[0]:
        raise UsageError(f"observe returned {value!r} for {layout.name}; give a list of {sizes[0]} values")
    else:
        for item in value:
            yield from _flat(layout, item, sizes[1:])

"""A trace as users read it: states are dictionaries, steps are lines.

In:  a `Trace` (traces/format/trace.py).
Out: a `ReadableTrace`: `isrcheck.Trace` is one, and drivers of systems begin with one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

from isrcheck.models.language.model import Instance
from isrcheck.models.language.states import FieldLayout
from isrcheck.traces.format import itf
from isrcheck.traces.format.lasso import back
from isrcheck.traces.format.trace import Trace


@dataclass(frozen=True, eq=False)
class ReadableTrace:
    """A path of a model (an initial state and steps), and the verdict on a property at its end, or on its `loop`.

    `certified` is the same trace as the engines use it: its states are rows of cells.
    """

    certified: Trace

    @property
    def instance(self) -> Instance:
        """The model with its configuration."""
        return self.certified.instance

    @property
    def property_name(self) -> str | None:
        """The name of the property that the trace is about; None for a plain behaviour."""
        return self.certified.property_name

    @property
    def verdict(self) -> str | None:
        """VIOLATED, PERMITTED, REACHED, HOLDS ON THIS PATH or NOT INDUCTIVE; None for a plain behaviour."""
        return self.certified.verdict

    @property
    def model(self) -> str:
        """The name of the model, with its protocol."""
        return itf.label(self.certified.instance)

    @property
    def configuration(self) -> dict[str, str]:
        """Every configuration entry, spelled as on the command line."""
        return itf.spell_configuration(self.certified.instance)

    @property
    def command(self) -> str:
        """The command that finds the trace; empty if there is none."""
        return self.certified.command

    @property
    def steps(self) -> tuple[str, ...]:
        """The steps, each as one line: the action and its arguments."""
        return tuple(self.certified.instance.spell_step(step) for step in self.certified.every_step)

    @property
    def states(self) -> tuple[Mapping[str, Any], ...]:
        """The states, the initial one first; each maps a field to a number, a truth value, a set, or nested lists."""
        layouts = self.certified.instance.layouts.values()
        return tuple({layout.name: _value(layout, cells) for layout in layouts} for cells in self.certified.states)

    @property
    def loop(self) -> int | None:
        """Of a lasso, the position in `states` of the state to which its last step returns, and from which the rest is
        repeated for ever; the last position if the behaviour stays there. None for a trace that just ends.
        """
        return self.certified.loop

    def __len__(self) -> int:
        """The number of steps."""
        return self.certified.length

    def __repr__(self) -> str:
        goes_on = "" if self.loop is None else f", {back(self.certified)}"
        return f"<Trace of {self.model}: {self.property_name or 'a behaviour'}, {len(self)} steps{goes_on}>"


def _value(layout: FieldLayout, cells: Sequence[int]) -> Any:
    """The value of a field in a state: nested lists for the field's indices; sets of numbers."""
    part = cells[layout.offset : layout.offset + layout.count]
    contents = layout.field.contents
    if contents is not None:
        size = layout.sizes[-1]
        rows = [part[start : start + size] for start in range(0, len(part), size)]
        return _nested([contents.value(row) for row in rows], layout.sizes[:-1])
    values: list[Any] = [bool(cell) if layout.field.values.is_flag else cell for cell in part]
    return _nested(values, layout.sizes)


def _nested(values: list[Any], sizes: Sequence[int]) -> Any:
    """Values in a row as lists of these sizes, which may be 0; the only value if there are no sizes."""
    if not sizes:
        return values[0]
    each = prod(sizes[1:])
    return [_nested(values[start * each : (start + 1) * each], sizes[1:]) for start in range(sizes[0])]

"""Traces, as Python code and notebooks see them.

In:  the path of a trace file, or a trace that a search found.
Out: a certified `Trace`: each of its steps has been taken again in plain Python.
"""

from __future__ import annotations

import html
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any

from isrcheck.loading import load
from isrcheck.models.language.model import FieldLayout
from isrcheck.models.messages.errors import UsageError
from isrcheck.traces.drawing import pages
from isrcheck.traces.drawing.pages import page
from isrcheck.traces.format import folder, itf
from isrcheck.traces.format import recheck as rechecking
from isrcheck.traces.format import trace as certified
from isrcheck.traces.format.lasso import back
from isrcheck.traces.format.recheck import Recheck
from isrcheck.traces.terminal.show import view

HEIGHT = 640
"""The height in pixels of a trace's page in a notebook."""


@dataclass(frozen=True, eq=False)
class Trace:
    """A path of a model (an initial state and steps), and the verdict on a property at its end, or on its `loop`.

    `certified` is the trace in the form that `isrcheck.traces` and `isrcheck.conformance` use.
    """

    certified: certified.Trace

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

    def __str__(self) -> str:
        return "\n".join(view(self.certified))

    def __repr__(self) -> str:
        goes_on = "" if self.loop is None else f", {back(self.certified)}"
        return f"<Trace of {self.model}: {self.property_name or 'a behaviour'}, {len(self)} steps{goes_on}>"

    def show(self, *, full: bool = False) -> None:
        """Print a line for each step, then why the property fails. With `full`, print every field of every state."""
        print("\n".join(view(self.certified, full)))

    def save(self, directory: str | os.PathLike[str] = folder.DEFAULT) -> Path:
        """Write the trace as a file into a folder and return its path. Nothing is overwritten. Raises UsageError."""
        return folder.write(self.certified, Path(directory))

    def page(self, path: str | os.PathLike[str], *, replace: bool = False) -> Path:
        """Write the trace as one self-contained HTML page and return its path. Raises UsageError."""
        return pages.write(self.certified, {"html": Path(path)}, replace=replace)[0]

    def _repr_html_(self) -> str:
        """The page of the trace for a notebook, or the trace as text if there are too many states to draw."""
        if len(self.certified.states) > pages.MOST_DRAWN:
            return f"<pre>{html.escape(str(self))}</pre>"
        content = html.escape(page(self.certified))
        return f'<iframe srcdoc="{content}" sandbox="allow-scripts" width="100%" height="{HEIGHT}"></iframe>'


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


def trace(path: str | os.PathLike[str], model: str | os.PathLike[str] | None = None) -> Trace:
    """Read and certify the trace in a file. A trace of your own model needs its file as `model`, which is run.

    Raises UsageError if the file is not a trace, or if the model does not confirm the trace.
    """
    return Trace(folder.read(Path(path), None if model is None else load(model)))


def recheck(path: str | os.PathLike[str], model: str | os.PathLike[str] | None = None) -> Recheck:
    """Take the steps of the trace in a file again, and return whether the current model still allows it, and why.

    A trace of your own model needs its file as `model`, which is run. Raises UsageError if the question cannot be
    decided.
    """
    if model is not None and not os.fspath(model).endswith(".py"):
        raise UsageError(f"{os.fspath(model)}: not a model file; leave `model` out if the model is built in")
    return rechecking.recheck(Path(path), None if model is None else Path(model))

"""Traces, as Python code and notebooks see them.

A `Trace`, from a file or from a search, is certified: each of its steps has been taken again in plain Python.
"""

from __future__ import annotations

import html
import os
from dataclasses import dataclass
from pathlib import Path

from isrcheck.loading import load
from isrcheck.models.messages import UsageError
from isrcheck.traces.drawing import files as drawings
from isrcheck.traces.drawing.page import page
from isrcheck.traces.format import files
from isrcheck.traces.format.files import Recheck
from isrcheck.traces.format.trace import ReadableTrace
from isrcheck.traces.terminal.show import view

HEIGHT = 640
"""The height in pixels of a trace's page in a notebook."""


@dataclass(frozen=True, eq=False, repr=False)
class Trace(ReadableTrace):
    """A path of a model (an initial state and steps), and the verdict on a property: on the path or, if the path
    ends in a `loop`, on the endless behaviour that repeats the loop.

    `certified` is the same trace in the form that `isrcheck.traces` and `isrcheck.conformance` use.
    """

    def __str__(self) -> str:
        return "\n".join(view(self.certified))

    def show(self, *, full: bool = False) -> None:
        """Print a line for each step, then why the property fails. With `full`, print every field of every state."""
        print("\n".join(view(self.certified, full)))

    def save(self, directory: str | os.PathLike[str] = files.DEFAULT) -> Path:
        """Write the trace as a file into a folder; return its path. No file is overwritten. Raises UsageError."""
        return files.write(self.certified, Path(directory))

    def page(self, path: str | os.PathLike[str], *, replace: bool = False) -> Path:
        """Write the trace as one self-contained HTML page and return its path. Raises UsageError."""
        return drawings.write(self.certified, {"html": Path(path)}, replace=replace)[0]

    def _repr_html_(self) -> str:
        """Return the page of the trace for a notebook, or the trace as text if it has too many states to draw."""
        if len(self.certified.states) > drawings.MOST_DRAWN:
            return f"<pre>{html.escape(str(self))}</pre>"
        content = html.escape(page(self.certified).alone())
        return f'<iframe srcdoc="{content}" sandbox="allow-scripts" width="100%" height="{HEIGHT}"></iframe>'


def trace(path: str | os.PathLike[str], model: str | os.PathLike[str] | None = None) -> Trace:
    """Read and certify the trace in a file. For a trace of your own model, `model` is the model's file, which is run.

    Raises UsageError if the file is not a trace, or if the model does not confirm the trace.
    """
    return Trace(files.read(Path(path), None if model is None else load(model)))


def recheck(path: str | os.PathLike[str], model: str | os.PathLike[str] | None = None) -> Recheck:
    """Take the steps of the trace in a file again, and return whether the current model still allows the trace, with
    the reason.

    For a trace of your own model, `model` is the model's file, which is run. Raises UsageError if it cannot be decided
    whether the model allows the trace.
    """
    if model is not None and not os.fspath(model).endswith(".py"):
        raise UsageError(f"{os.fspath(model)}: not a model file; leave `model` out if the model is built in")
    return files.recheck(Path(path), None if model is None else Path(model))

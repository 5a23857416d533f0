"""Options that several subcommands of `trace` have."""

from __future__ import annotations

import argparse
import os
import shutil
import sys

from isrcheck.commands.declarations import Option, integer, path
from isrcheck.models.language.model import Model
from isrcheck.models.messages import UsageError
from isrcheck.models.registry import load_file
from isrcheck.traces.lanes import table
from isrcheck.traces.lanes.table import WIDTH, Ink, Look

FILE_HELP = "a trace written by check, or the link `latest`; or a JSON trace of Apalache, Quint or TLC"

MODEL = Option("--model FILE.py", "your own model file, which is executed", path)

LOOK = (
    Option("--width N", "columns (default: those of the terminal, or 120)", integer),
    Option("--color", "auto: colours on a terminal", choices=table.WHEN, default=table.AUTO),
)
"""The options for the width and the colours of a view."""

REPLACE = Option("--force", "replace an existing file")


def model_of(arguments: argparse.Namespace) -> Model | None:
    """Return the model that `--model` names; None without the option. Raises UsageError."""
    return None if arguments.model is None else load_file(arguments.model)


def look_of(arguments: argparse.Namespace) -> Look:
    """Return the width and the colours that the options name, or those of the terminal."""
    is_terminal = sys.stdout.isatty()
    if arguments.width is not None and arguments.width < 1:
        raise UsageError(f"--width {arguments.width}: too narrow; give at least one column")
    width: int = arguments.width or (shutil.get_terminal_size((WIDTH, 1)).columns if is_terminal else WIDTH)
    is_coloured = table.is_wanted(arguments.color, is_terminal, os.environ)
    return Look(max(1, width), Ink(is_coloured), fits=is_terminal or arguments.width is not None)

"""Options that several subcommands of `trace` have, and how the subcommands print.

In:  the arguments; lines.
Out: models, looks; text on stdout.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

from isrcheck.models.language.model import Model
from isrcheck.models.messages import UsageError
from isrcheck.models.registry import load_file
from isrcheck.traces.command.output import discard_output
from isrcheck.traces.lanes.table import UNCHANGED, WIDTH
from isrcheck.traces.terminal import colour
from isrcheck.traces.terminal.colour import Ink, Look

FILE_HELP = "a trace written by check, or the link `latest`; or a JSON trace of Apalache, Quint or TLC"


def add_model(parser: argparse.ArgumentParser) -> None:
    """Declare the option `--model`, which names the user's own model file."""
    what = "your own model file, which is executed"
    parser.add_argument("--model", metavar="FILE.py", type=Path, help=what)


def model_of(arguments: argparse.Namespace) -> Model | None:
    """Return the model that `--model` names; None without the option. Raises UsageError."""
    return None if arguments.model is None else load_file(arguments.model)


def add_look(parser: argparse.ArgumentParser) -> None:
    """Declare the options for the width and the colours of a view."""
    parser.add_argument("--width", metavar="N", type=int, help="columns (default: those of the terminal, or 120)")
    parser.add_argument("--color", choices=colour.WHEN, default=colour.AUTO, help="auto: colours on a terminal")


def look_of(arguments: argparse.Namespace) -> Look:
    """Return the width and the colours that the options name, or those of the terminal."""
    is_terminal = sys.stdout.isatty()
    if arguments.width is not None and arguments.width < 1:
        raise UsageError(f"--width {arguments.width}: give at least one column")
    width: int = arguments.width or (shutil.get_terminal_size((WIDTH, 1)).columns if is_terminal else WIDTH)
    is_coloured = colour.is_wanted(arguments.color, is_terminal, os.environ)
    return Look(max(1, width), Ink(is_coloured), fits=is_terminal or arguments.width is not None)


def print_lines(lines: Sequence[str]) -> None:
    """Print lines, even if the terminal cannot encode the sign for unchanged cells, or the reader closes the pipe."""
    text = "\n".join(lines) + "\n"
    encoding = sys.stdout.encoding or "utf-8"
    try:
        text.encode(encoding)
    except UnicodeEncodeError:
        text = text.replace(UNCHANGED, ".").encode(encoding, "replace").decode(encoding)
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except BrokenPipeError:
        discard_output()
    except OSError as error:
        discard_output()
        raise UsageError(f"the output cannot be written: {error.strerror}; send it elsewhere") from None

"""Shared by all commands of `conform`: exit codes, output, and common options.

In:  the command line; the output of a command.
Out: values; text on stdout, one line of error on stderr.
"""

from __future__ import annotations

import argparse
import sys

from isrcheck.checker.command.console import give_up_stdout, parse_memory
from isrcheck.conformance.cluster.configuration.bugs import Bug
from isrcheck.conformance.cluster.configuration.protocol import USUAL
from isrcheck.models import registry
from isrcheck.models.language.model import Instance, parse
from isrcheck.models.messages import UsageError, escaped, escaped_lines, nearest

DONE, USAGE, UNDECIDED, VIOLATED, DIVERGED, NOTHING, INTERRUPTED = 0, 2, 3, 12, 20, 21, 130
GRAVEST = (DIVERGED, VIOLATED, USAGE, UNDECIDED, NOTHING)
"""Exit codes, gravest first. The exit code for several files is the first of these that occurs for one of them."""

BUGS = [bug.name.lower() for bug in Bug]


def gravest(codes: set[int]) -> int:
    """The first of the codes in GRAVEST that is among these; 0 if none is."""
    return next((code for code in GRAVEST if code in codes), DONE)


def say(*lines: str) -> None:
    """Print lines on stdout, if any. If the reader has closed the output, discard the rest and keep the exit code."""
    try:
        print("".join(f"{escaped_lines(line)}\n" for line in lines), end="", flush=True)
    except BrokenPipeError:
        give_up_stdout()


def complain(message: str) -> int:
    """Print a message on stderr as one escaped line; return exit code 2."""
    print(f"conform: {escaped(message)[:1000]}", file=sys.stderr)
    return USAGE


def add_model(
    parser: argparse.ArgumentParser,
    protocol: str = f"a generation of the model (default: {USUAL}; for another model than kafka, its newest)",
) -> None:
    """Add the options that choose a configuration of a model. `protocol` is the help text of --protocol."""
    parser.add_argument("--protocol", metavar="NAME", help=protocol)
    parser.add_argument("--switch", metavar="NAME=VALUE", action="append", default=[], help="set a protocol switch")
    parser.add_argument("--set", metavar="NAME=VALUE", action="append", default=[], help="set a configuration entry")


def protocol_of(arguments: argparse.Namespace) -> str:
    """The generation that --protocol names, or the default."""
    return arguments.protocol or default_protocol(_model_of(arguments))


def default_protocol(model: str) -> str:
    """The generation of a model that is taken if --protocol names none."""
    return USUAL if model == "kafka" else list(registry.load(model)[0].protocols)[-1]


def instance_of(arguments: argparse.Namespace) -> Instance:
    """The instance of the model that the options choose. Raises UsageError."""
    return registry.load(_model_of(arguments))[0].instance(protocol_of(arguments), values_of(arguments))


def values_of(arguments: argparse.Namespace) -> dict[str, int]:
    """The values of --switch and --set. Raises UsageError."""
    model, _ = registry.load(_model_of(arguments))
    values = {}
    for name, text in map(pair, (*arguments.switch, *arguments.set)):
        if name not in model.entries:
            raise UsageError(f"{model.name} has no {name}; {nearest(name, model.entries)}")
        values[name] = parse(name, model.entries[name], text)
    return values


def asked_model(arguments: argparse.Namespace) -> str | None:
    """The model that --model names, or that the other options of `add_model` are about; None if none is given."""
    is_about_one = arguments.protocol or arguments.switch or arguments.set
    return arguments.model or ("kafka" if is_about_one else None)


def _model_of(arguments: argparse.Namespace) -> str:
    """The model that --model names; commands without that option are about kafka."""
    return str(getattr(arguments, "model", None) or "kafka")


def pair(given: str) -> tuple[str, str]:
    """Split NAME=VALUE into name and value. Raises UsageError."""
    name, equals, text = given.partition("=")
    if not equals:
        raise UsageError(f"{given}: write it as NAME=VALUE")
    return name, text


def count(text: str) -> int:
    """Parse a whole number of 1 or more. Raises ArgumentTypeError."""
    if not text.isascii() or not text.isdecimal() or not int(text):
        raise argparse.ArgumentTypeError(f"{text} is not a number of 1 or more")
    return int(text)


def share(text: str) -> float:
    """Parse a number between 0 and 1. Raises ArgumentTypeError."""
    try:
        found = float(text)
    except ValueError:
        found = -1.0
    if not 0 <= found <= 1:
        raise argparse.ArgumentTypeError(f"{text} is not a share between 0 and 1")
    return found


def seconds(text: str) -> float:
    """Parse a number of seconds above 0. Raises ArgumentTypeError."""
    try:
        found = float(text)
    except ValueError:
        found = -1.0
    if not 0 < found < float("inf"):
        raise argparse.ArgumentTypeError(f"{text} is not a number of seconds above 0")
    return found


def memory(text: str) -> int:
    """Parse a size such as 512M or 8G into bytes. Raises ArgumentTypeError."""
    try:
        return parse_memory(text)
    except UsageError as error:
        raise argparse.ArgumentTypeError(str(error).removeprefix("--memory ")) from None

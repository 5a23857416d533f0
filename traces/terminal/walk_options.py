"""The options of `trace explore`, and the walk that they describe.

In:  the arguments: a model and its configuration, or a trace to continue.
Out: a `Walk`, with the command that repeats it.
"""

from __future__ import annotations

import argparse
import shlex
from dataclasses import dataclass
from pathlib import Path

from isrcheck.models import registry, settings
from isrcheck.models.command_line import Parser
from isrcheck.models.messages import UsageError
from isrcheck.traces.format import folder
from isrcheck.traces.terminal.walk import Walk


@dataclass(frozen=True)
class _ModelArguments:
    """The arguments about a model, in the form that models/settings.py expects."""

    target: str | None
    protocol: str | None
    settings: tuple[str, ...]
    switches: tuple[str, ...]
    swaps: tuple[str, ...]
    rest: tuple[str, ...]


def add_options(parser: Parser) -> None:
    """Declare the options of this command; the remaining arguments are options of the model."""
    parser.add_model()
    parser.add_argument("--protocol", metavar="P", help="the protocol, if the model has several")
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", help="set an entry")
    parser.add_argument("--switch", action="append", default=[], metavar="NAME=VALUE", help="set a switch")
    parser.add_argument("--swap", action="append", default=[], metavar="ACTION=P", help="use the action of protocol P")
    parser.add_argument("--from", dest="origin", metavar="FILE", type=Path, help="continue from the end of this trace")
    parser.add_argument(
        "--step", metavar="I", type=_whole, help="continue from this step; the later steps can be redone"
    )
    parser.add_argument("--model", metavar="FILE.py", type=Path, help="the model of that trace, if it is your own file")
    parser.add_argument(
        "--out",
        metavar="DIR",
        type=Path,
        default=folder.DEFAULT,
        help="the folder for saved walks (default: ./%(default)s)",
    )


def reserve_options(parser: Parser) -> None:
    """Reserve the options that are declared so far: an entry of a model that has the same name needs `--set`."""
    parser.set_defaults(reserved=tuple(option for option in parser.options() if option.startswith("--")))


def _whole(text: str) -> int:
    if not text.isdecimal() or not text.isascii() or len(text) > 9:
        raise argparse.ArgumentTypeError(f"{text} is not the number of a step; give 0 or more")
    return int(text)


def walk_of(arguments: argparse.Namespace, rest: tuple[str, ...]) -> Walk:
    """Return the walk that the arguments describe; `rest` contains options of the model. Raises UsageError."""
    asked = _ModelArguments(
        arguments.target,
        arguments.protocol,
        tuple(arguments.set),
        tuple(arguments.switch),
        tuple(arguments.swap),
        rest,
    )
    if arguments.origin is not None:
        return _from_trace(asked, arguments.origin, arguments.step, arguments.model)
    for option, value in (("--step", arguments.step), ("--model", arguments.model)):
        if value is not None:
            raise UsageError(f"{option} needs --from FILE; name your own model as an argument: FILE.py")
    if asked.target is None:
        raise UsageError("name a model, as in: trace explore kafka --protocol 2.1; or a trace: --from FILE")
    instance = settings.instance_of(asked, settings.Command("trace explore", arguments.reserved))
    words = [*settings.words_of_name(asked.target, instance), *settings.words_of_values(instance)]
    return Walk(instance, _command(words))


def _from_trace(asked: _ModelArguments, origin: Path, step: int | None, given: Path | None) -> Walk:
    """The walk along the trace in `origin`, which fixes model and configuration; `given` is the user's model file."""
    if asked.target is not None and asked.target.endswith(".py"):
        if given is not None and given != Path(asked.target):
            raise UsageError(f"{asked.target} and --model {given} are two models; give one of them")
        given = Path(asked.target)
    configured = (asked.protocol, *asked.settings, *asked.switches, *asked.swaps, *asked.rest)
    if any(configured):
        raise UsageError(f"{origin} fixes the configuration; leave {' '.join(filter(None, configured))} out")
    trace = folder.read(origin, None if given is None else registry.load_file(given))
    instance = trace.instance
    name = str(given) if given is not None else instance.model.name
    wanted = "" if given is not None else asked.target or ""
    if wanted and wanted not in (name, f"{name}/{instance.protocol.name}"):
        raise UsageError(f"{origin} is a trace of {name}, not of {wanted}; leave the model out")
    words = [*settings.words_of_name(name, instance), *settings.words_of_values(instance)]
    return Walk.along(trace, step, _command(words))


def _command(words: list[str]) -> str:
    return shlex.join(["trace", "explore", *words])

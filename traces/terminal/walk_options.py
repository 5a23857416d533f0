"""The options of `trace explore`, and the walk that they describe.

In:  the arguments: a model and its configuration, or a trace to continue.
Out: a `Walk`, with the command that repeats it.
"""

from __future__ import annotations

import argparse
import shlex
from pathlib import Path

from isrcheck.commands import settings
from isrcheck.commands.declarations import MODEL, ModelArguments, Option, path, whole_number
from isrcheck.models import registry
from isrcheck.models.messages import UsageError
from isrcheck.traces.format import folder
from isrcheck.traces.terminal.walk import Walk

OPTIONS = (
    MODEL,
    Option("--protocol P", "the protocol, if the model has several"),
    Option("--set NAME=VALUE", "set an entry", is_repeated=True),
    Option("--switch NAME=VALUE", "set a switch", is_repeated=True),
    Option("--swap ACTION=P", "use the action of protocol P", is_repeated=True),
    Option("--from FILE", "continue from the end of this trace", path, field="origin"),
    Option(
        "--step I",
        "continue from this step; the later steps can be redone",
        whole_number("not the number of a step; give 0 or more"),
    ),
    Option("--model FILE.py", "the model of that trace, if it is your own file", path),
    Option("--out DIR", "the folder for saved walks (default: ./%(default)s)", path, default=folder.DEFAULT),
)
"""The options about a walk; what else is typed are options of the model."""


def walk_of(arguments: argparse.Namespace) -> Walk:
    """Return the walk that the arguments describe. Raises UsageError."""
    asked = ModelArguments(
        command="trace explore",
        reserved=arguments.reserved,
        target=arguments.target,
        protocol=arguments.protocol,
        settings=arguments.set,
        switches=arguments.switch,
        swaps=arguments.swap,
        rest=arguments.rest,
    )
    if arguments.origin is not None:
        return _from_trace(asked, arguments.origin, arguments.step, arguments.model)
    for option, value in (("--step", arguments.step), ("--model", arguments.model)):
        if value is not None:
            raise UsageError(f"{option} needs --from FILE; name your own model as an argument: FILE.py")
    if asked.target is None:
        raise UsageError("name a model, as in: trace explore kafka --protocol 2.1; or a trace: --from FILE")
    instance = settings.instance_of(asked)
    words = [*settings.words_of_name(asked.target, instance), *settings.words_of_values(instance)]
    return Walk(instance, _command(words))


def _from_trace(asked: ModelArguments, origin: Path, step: int | None, given: Path | None) -> Walk:
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

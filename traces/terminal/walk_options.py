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
    chosen = ModelArguments(
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
        return _from_trace(chosen, arguments.origin, arguments.step, arguments.model)
    for option, value in (("--step", arguments.step), ("--model", arguments.model)):
        if value is not None:
            raise UsageError(f"{option} needs --from FILE; name your own model as an argument: FILE.py")
    if chosen.target is None:
        raise UsageError("name a model, as in: trace explore kafka --protocol 2.1; or a trace: --from FILE")
    instance = settings.instance_of(chosen)
    words = [*settings.words_of_name(chosen.target, instance), *settings.words_of_values(instance)]
    return Walk(instance, _command(words))


def _from_trace(chosen: ModelArguments, origin: Path, step: int | None, model_file: Path | None) -> Walk:
    """The walk along the trace in `origin`, which fixes model and configuration; `model_file` is the user's."""
    if chosen.target is not None and chosen.target.endswith(".py"):
        if model_file is not None and model_file != Path(chosen.target):
            raise UsageError(f"{chosen.target} and --model {model_file} are two models; give one of them")
        model_file = Path(chosen.target)
    configured = (chosen.protocol, *chosen.settings, *chosen.switches, *chosen.swaps, *chosen.rest)
    if any(configured):
        raise UsageError(f"{origin} fixes the configuration; leave {' '.join(filter(None, configured))} out")
    trace = folder.read(origin, None if model_file is None else registry.load_file(model_file))
    instance = trace.instance
    name = str(model_file) if model_file is not None else instance.model.name
    wanted = "" if model_file is not None else chosen.target or ""
    if wanted and wanted not in (name, f"{name}/{instance.protocol.name}"):
        raise UsageError(f"{origin} is a trace of {name}, not of {wanted}; leave the model out")
    words = [*settings.words_of_name(name, instance), *settings.words_of_values(instance)]
    return Walk.along(trace, step, _command(words))


def _command(words: list[str]) -> str:
    return shlex.join(["trace", "explore", *words])

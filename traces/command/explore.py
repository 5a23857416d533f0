"""`trace explore`: a walk through the states of a model, on a screen of the terminal or in the browser."""

from __future__ import annotations

import argparse
import os
import shlex
import sys
from pathlib import Path

from isrcheck.commands import settings
from isrcheck.commands.declarations import MODEL, ModelArguments, Option, path, port, whole_number
from isrcheck.commands.program import print_lines
from isrcheck.models import registry
from isrcheck.models.language.model import Instance
from isrcheck.models.messages import UsageError
from isrcheck.traces.format import files
from isrcheck.traces.terminal.walk import Walk, saved_line

NOTHING = "nothing saved"

NOTES = ("Every configuration entry of a model is an option, as for check: --replicas 3, --acks all.", "")

OPTIONS = (
    MODEL,
    Option("--protocol P", "the protocol, if the model has several"),
    Option("--set NAME=VALUE", "set an entry", is_repeated=True),
    Option("--switch NAME=VALUE", "set a switch", is_repeated=True),
    Option("--swap ACTION=P", "use the action of protocol P", is_repeated=True),
    Option("--from FILE", "continue from the end of this trace", path, destination="origin"),
    Option(
        "--step I",
        "continue from this step; the later steps can be redone",
        whole_number("not the number of a step; give 0 or more"),
    ),
    Option("--model FILE.py", "the model of that trace, if it is your own file", path),
    Option("--out DIR", "the folder for saved walks (default: ./%(default)s)", path, default=files.DEFAULT),
    Option("--browser", "serve the walk to a browser on this machine"),
    Option("--port N", "the port of --browser (default: any free one)", port),
)


def run(arguments: argparse.Namespace) -> int:
    """Let the user walk through a model. Bad input is reported on the terminal, before the screen opens."""
    if arguments.port is not None and not arguments.browser:
        raise UsageError("--port needs --browser")
    walk = walk_of(arguments)
    if arguments.browser:
        return _serve(walk, arguments.out, arguments.port or 0)
    if not all(stream.isatty() for stream in (sys.stdin, sys.stdout, sys.stderr)):
        raise UsageError("explore needs a terminal for input and output; without one use: trace show FILE")
    if os.environ.get("TERM", "dumb") == "dumb":
        raise UsageError("explore needs a terminal with a cursor, and TERM names a dumb terminal; set TERM")
    try:
        from isrcheck.traces.terminal.explore import Explorer
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != "textual":
            raise
        raise UsageError("explore needs textual, which is not installed: pip install 'isrcheck[viewer]'") from None
    screen = Explorer(walk, arguments.out)
    screen.run()
    print_lines([saved_line(path) for path in screen.saved] or [NOTHING])
    return screen.return_code or 0


def _serve(walk: Walk, out: Path, number: int) -> int:
    """Serve the walk to a browser until Ctrl-C; then return 0. Raises UsageError if the port is not available."""
    from isrcheck.traces.browser.server import Server  # here, because the screen of the terminal needs neither
    from isrcheck.traces.browser.site import WalkSite

    site = WalkSite(walk, out, lambda line: print_lines([line]))
    with Server(site, number) as server:
        try:
            print_lines([f"open {server.address} in a browser on this machine; Ctrl-C ends the walk"])
            server.serve_forever()
        except KeyboardInterrupt:
            count = len(site.saved)
            print_lines([f"ended: {count} trace{'s' * (count != 1)} saved" if count else f"ended: {NOTHING}"])
    return 0


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
    return Walk(instance, _command(chosen.target, instance))


def _from_trace(chosen: ModelArguments, origin: Path, step: int | None, model_file: Path | None) -> Walk:
    """Return a walk along the trace in the file `origin`, with the trace's configuration, at the state after `step`
    (None: the last state); `model_file` holds a user's model. Raises UsageError."""
    if chosen.target is not None and chosen.target.endswith(".py"):
        if model_file is not None and model_file != Path(chosen.target):
            raise UsageError(f"{chosen.target} and --model {model_file} are two models; give one of them")
        model_file = Path(chosen.target)
    configured = (chosen.protocol, *chosen.settings, *chosen.switches, *chosen.swaps, *chosen.rest)
    if any(configured):
        raise UsageError(f"{origin} already has a configuration; leave {' '.join(filter(None, configured))} out")
    trace = files.read(origin, None if model_file is None else registry.load_file(model_file))
    instance = trace.instance
    name = str(model_file) if model_file is not None else instance.model.name
    target = "" if model_file is not None else chosen.target or ""
    if target and target not in (name, f"{name}/{instance.protocol.name}"):
        raise UsageError(f"{origin} is a trace of {name}, not of {target}; leave the model out")
    return Walk.along(trace, step, _command(name, instance))


def _command(name: str, instance: Instance) -> str:
    words = (*settings.words_of_name(name, instance), *settings.words_of_values(instance))
    return shlex.join(["trace", "explore", *words])

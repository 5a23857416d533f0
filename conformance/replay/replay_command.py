"""`conform replay`: replays traces, folders of traces, or random walks on the cluster or on a user's own system."""

from __future__ import annotations

import argparse
import shlex
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from isrcheck.checker.results.terminal import ProgressLine
from isrcheck.commands.declarations import Option, count, integer, path
from isrcheck.commands.exit_codes import DIVERGED, DONE, NOTHING, UNDECIDED
from isrcheck.commands.program import say
from isrcheck.conformance.console import complain, gravest, instance_of, model_options, words_of
from isrcheck.conformance.implemented import BUGS, MissingMechanismError, UntimelyError
from isrcheck.conformance.replay.compare import Divergence, replay
from isrcheck.conformance.replay.coverage import Coverage, spelled
from isrcheck.conformance.replay.on_cluster import OnCluster
from isrcheck.conformance.replay.system import Guarded, System, load_driver
from isrcheck.conformance.replay.walks import walk
from isrcheck.conformance.unseen_bugs import NEVER_IN_REPLAY, told
from isrcheck.models.messages import UsageError, escaped
from isrcheck.traces.format import files
from isrcheck.traces.format.trace import Trace, label
from isrcheck.traces.lanes.scene import listed

BUG_NAMES = tuple(bug.name.lower() for bugs in BUGS.values() for bug in bugs)

OPTIONS = (
    Option("[FILE ...]", "a trace, or a folder of traces", path, destination="files"),
    Option("--walks N", "replay N random walks of the model instead", count),
    Option("--steps N", "number of steps of each walk (default: %(default)s)", count, default=30),
    Option("--seed N", "seed of the first walk (default: %(default)s)", integer, default=0),
    Option("--model", "the model that --walks walks (default: %(default)s)", choices=tuple(BUGS), default="kafka"),
    *model_options(),
    Option("--bug NAME", f"seed a bug in the cluster: {', '.join(BUG_NAMES)}", choices=BUG_NAMES),
    Option("--driver FILE.py", "a Python file with a driver of your system; it is executed", path),
    Option("--logs DIR", "keep the brokers' logs as files, in a new folder", path),
    Option("--coverage", "report the actions and lines that the traces never exercised"),
    Option(
        "--out DIR",
        "the folder for the trace of a walk that diverges (default: ./%(default)s)",
        path,
        default=files.DEFAULT,
    ),
)


def run(arguments: argparse.Namespace) -> int:
    """Replay traces, or random walks; return the exit code."""
    if arguments.driver and (arguments.bug or arguments.logs or arguments.coverage):
        raise UsageError("--bug, --logs and --coverage apply to the cluster only; leave them out with --driver")
    if bool(arguments.files) == bool(arguments.walks):
        raise UsageError("give traces to replay, or --walks N for random ones; see conform replay --help")
    if arguments.files and (arguments.protocol or arguments.switch or arguments.set or arguments.model != "kafka"):
        raise UsageError(
            "a trace contains its own protocol and configuration; use --model, --protocol, --switch and --set only with"
            " --walks"
        )
    system: System = OnCluster(arguments.bug, arguments.logs)
    if arguments.driver:
        system = Guarded(arguments.driver, load_driver(arguments.driver))
    coverage = Coverage() if arguments.coverage else None
    code = (_replay_walks if arguments.walks else _replay_files)(arguments, system, coverage)
    if coverage:
        say(*spelled(coverage))
    return code


def _replay_files(arguments: argparse.Namespace, system: System, coverage: Coverage | None) -> int:
    """Replay every file, even if some files are not traces; return the gravest exit code."""
    paths = [
        path for argument in arguments.files for path in (files.files(argument) if argument.is_dir() else [argument])
    ]
    if not paths:
        print(
            f"conform: there is no trace in {' '.join(map(str, arguments.files))}; run check to get some",
            file=sys.stderr,
        )
        return NOTHING
    return gravest({_replay_file(path, system, coverage, _on_what(arguments)) for path in paths})


def _replay_file(path: Path, system: System, coverage: Coverage | None, options: Sequence[str]) -> int:
    try:
        header, _, _ = files.read_header(path)
        if header.file is not None:
            what = f"a trace of the model in {header.file}, but only traces of {listed(BUGS)} are replayed"
            raise UsageError(f"{what}; compare your system with your model by isrcheck.testing, see docs/api.md")
        trace = files.read(path, None)
        divergence = _replayed(trace, system, coverage)
    except (MissingMechanismError, UntimelyError) as error:
        say(escaped(f"{path}: UNDECIDED: {error}"))
        return UNDECIDED
    except UsageError as error:
        return complain(str(error) if str(error).startswith(str(path)) else f"{path}: {error}")
    if divergence is None:
        steps = len(trace.steps)
        say(f"{escaped(str(path))}: replayed, {steps} steps; system and model agree after every step", *_behind(trace))
        return DONE
    _tell(path, trace, divergence, options)
    return DIVERGED


def _behind(trace: Trace) -> list[str]:
    """Return the report's line about an end of the trace that cannot be replayed: in the last step a variable leaves
    its declared range, or the trace ends in an endless loop. Other traces have no such line."""
    if trace.loop is not None:
        once = (
            f"the loop back to step {trace.loop} is replayed once"
            if trace.loop < trace.length
            else "the endless end is left out"
        )
        return [f"  {once}: a run of a system ends"]
    if trace.erring is None:
        return []
    return [f"  {trace.spell_position(trace.length)} is not replayed: the model leaves a declared range in it"]


def _replay_walks(arguments: argparse.Namespace, system: System, coverage: Coverage | None) -> int:
    instance = instance_of(arguments)
    progress, begun = ProgressLine("conform"), time.monotonic()
    for number in range(arguments.walks):
        trace = walk(instance, arguments.seed + number, arguments.steps)
        try:
            divergence = _replayed(trace, system, coverage)
        except MissingMechanismError as error:
            say(f"random walks of {label(instance)}: UNDECIDED: {error}")
            return UNDECIDED
        if divergence is not None:
            progress.clear()
            end = divergence.position
            kept = replace(trace, states=trace.states[: end + 1], steps=trace.steps[:end])
            command = _command(arguments, number)
            try:
                path = files.write(replace(kept, command=command), arguments.out)
            except UsageError as error:  # the divergence is reported nevertheless
                say(*divergence.lines(trace), f"  replay it: {command}")
                complain(str(error))
            else:
                _tell(path, trace, divergence, _on_what(arguments))
            return DIVERGED
        progress.tell(f"{number + 1} of {arguments.walks} walks replayed", time.monotonic() - begun)
    progress.clear()
    say(
        f"{arguments.walks} random walks of {label(instance)}, {arguments.steps} steps each:"
        " system and model agree after every step"
    )
    if not arguments.driver and not arguments.bug:
        say(*told(arguments.model, instance.configuration, NEVER_IN_REPLAY, "replay"))
    return DONE


def _command(arguments: argparse.Namespace, number: int) -> str:
    words = ["conform replay --walks 1", f"--seed {arguments.seed + number}", f"--steps {arguments.steps}"]
    return " ".join(words + list(map(shlex.quote, words_of(arguments))) + _on_what(arguments))


def _on_what(arguments: argparse.Namespace) -> list[str]:
    """The options of the command line that choose the system: --bug and --driver."""
    options = [f"--bug {arguments.bug}"] if arguments.bug else []
    return options + ([f"--driver {shlex.quote(str(arguments.driver))}"] if arguments.driver else [])


def _replayed(trace: Trace, system: System, coverage: Coverage | None) -> Divergence | None:
    if coverage is None:
        return replay(trace, system)
    coverage.note(trace)
    with coverage.watching():
        return replay(trace, system)


def _tell(path: Path, trace: Trace, divergence: Divergence, options: Sequence[str]) -> None:
    first, *rest = divergence.lines(trace)
    quoted = escaped(shlex.quote(str(path)))
    say(
        escaped(f"{path}: {first}"),
        *(f"  {line}" for line in rest),
        f"  show the whole trace: trace show {quoted}",
        f"  replay it: {' '.join(['conform replay', quoted, *options])}",
    )

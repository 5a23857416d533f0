"""The command `conform`: does a system do what the model says, and the model what a system did?

In:  the words that a person typed: traces to replay, recordings to follow. Out: text on stdout, errors on stderr, an
     exit code.
"""

from __future__ import annotations

import argparse
import itertools
import shlex
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NoReturn, TextIO

from checker.console import ProgressLine, give_up_stdout, interrupts, parse_memory, prepare_streams
from checker.report import human_bytes
from conformance.cluster.bugs import Bug
from conformance.cluster.storage import StorageError
from conformance.follow.follow import MOST_STATES, follow_log
from conformance.follow.ndjson import lines_of
from conformance.follow.observations.explain import Explained, follow_recording
from conformance.follow.observations.reading import is_observation
from conformance.follow.observations.search import Progress as SearchProgress
from conformance.follow.observations.tell import tell
from conformance.follow.plan import Plan
from conformance.follow.record import record
from conformance.follow.watch import Progress, Watch
from conformance.replay.compare import Divergence, replay
from conformance.replay.coverage import Coverage, spelled
from conformance.replay.driver import Driver
from conformance.replay.system import Guarded, System, load_driver
from conformance.replay.timing import UntimelyError
from conformance.replay.walks import walk
from models import registry
from models.errors import UsageError
from models.language.model import Instance, nearest, parse
from traces import folder
from traces.itf import label
from traces.trace import Trace

DONE, USAGE, UNDECIDED, DIVERGED, NOTHING, INTERRUPTED = 0, 2, 3, 20, 21, 130
GRAVEST = (DIVERGED, USAGE, UNDECIDED)
"""Of several files, the first of these codes that one of them has is the code of all."""

BUGS = [bug.name.lower() for bug in Bug]


class _Parser(argparse.ArgumentParser):
    """Bad arguments are bad input like any other: one line."""

    def error(self, message: str) -> NoReturn:
        raise UsageError(f"{message}; see {self.prog} --help")


def main(words: Sequence[str] | None = None) -> int:
    """Run `conform` and return its exit code."""
    prepare_streams()
    try:
        try:
            arguments = _parser().parse_args(words)
        except SystemExit:  # --help: what it printed may still wait to be taken
            sys.stdout.flush()
            raise
        run: Callable[[argparse.Namespace], int] = arguments.run
        return run(arguments)
    except (UsageError, StorageError) as error:
        return _complain(str(error))
    except BrokenPipeError:
        give_up_stdout()
        return DONE
    except OSError as error:
        give_up_stdout()
        return _complain(f"{error.filename or 'output'}: {error.strerror}; make room, or write elsewhere")
    except KeyboardInterrupt:
        print("conform: interrupted", file=sys.stderr)
        return INTERRUPTED


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(prog="conform", description="Hold a system against the model, and the model against a system.")
    commands = parser.add_subparsers(metavar="COMMAND", required=True, parser_class=_Parser)
    _add_replay(commands.add_parser("replay", help="take traces on the executable cluster, compared after every step"))
    _add_run(commands.add_parser("run", help="the cluster under random faults, followed by the model"))
    _add_follow(commands.add_parser("follow", help="is a recorded run a behaviour of the model?"))
    return parser


def _add_replay(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("files", metavar="FILE", type=Path, nargs="*", help="a trace, or a folder of traces")
    parser.add_argument("--walks", metavar="N", type=_count, help="replay N random behaviours of the model instead")
    parser.add_argument("--steps", metavar="N", type=_count, default=30, help="steps of each of them (default: 30)")
    parser.add_argument("--seed", metavar="N", type=int, default=0, help="the first one's seed (default: 0)")
    _add_model(parser)
    parser.add_argument("--bug", choices=BUGS, metavar="NAME", help=f"seed a bug in the cluster: {', '.join(BUGS)}")
    parser.add_argument(
        "--driver", type=Path, metavar="FILE.py", help="the driver of a system of your own; this runs it"
    )
    parser.add_argument("--logs", type=Path, metavar="DIR", help="keep the brokers' logs as files, in a new folder")
    parser.add_argument("--coverage", action="store_true", help="tell which actions and lines the traces never touched")
    parser.add_argument(
        "--out", type=Path, metavar="DIR", default=folder.DEFAULT, help="where a walk that diverges goes"
    )
    parser.set_defaults(run=_replay)


def _add_model(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--protocol", metavar="NAME", help="a generation of kafka (default: the newest)")
    parser.add_argument("--switch", metavar="NAME=VALUE", action="append", default=[], help="a protocol switch")
    parser.add_argument(
        "--set", metavar="NAME=VALUE", action="append", default=[], help="an entry of the configuration"
    )


def _instance(arguments: argparse.Namespace) -> Instance:
    """The model of kafka as asked for. Raises UsageError."""
    model, _ = registry.load("kafka")
    return model.instance(arguments.protocol or list(model.protocols)[-1], _values(arguments))


def _values(arguments: argparse.Namespace) -> dict[str, int]:
    """What --switch and --set say. Raises UsageError."""
    model, _ = registry.load("kafka")
    values = {}
    for name, text in map(_pair, (*arguments.switch, *arguments.set)):
        if name not in model.entries:
            raise UsageError(f"{model.name} has no {name}; {nearest(name, model.entries)}")
        values[name] = parse(name, model.entries[name], text)
    return values


def _count(text: str) -> int:
    if not text.isascii() or not text.isdecimal() or not int(text):
        raise argparse.ArgumentTypeError(f"{text} is not a number of 1 or more")
    return int(text)


def _replay(arguments: argparse.Namespace) -> int:
    if arguments.driver and (arguments.bug or arguments.logs or arguments.coverage):
        raise UsageError("--bug, --logs and --coverage are about the cluster; with --driver leave them out")
    if bool(arguments.files) == bool(arguments.walks):
        raise UsageError("give traces to replay, or --walks N for random ones; see conform replay --help")
    if arguments.files and (arguments.protocol or arguments.switch or arguments.set):
        raise UsageError(
            "a trace says its own protocol and configuration; --protocol, --switch and --set go with --walks"
        )
    system: System = Driver(arguments.bug, arguments.logs)
    if arguments.driver:
        system = Guarded(arguments.driver, load_driver(arguments.driver))
    coverage = Coverage() if arguments.coverage else None
    code = (_replay_walks if arguments.walks else _replay_files)(arguments, system, coverage)
    if coverage:
        _say(*spelled(coverage))
    return code


def _replay_files(arguments: argparse.Namespace, system: System, coverage: Coverage | None) -> int:
    """Every file in its turn: one that is no trace does not keep the others from being replayed."""
    paths = [path for given in arguments.files for path in (folder.files(given) if given.is_dir() else [given])]
    if not paths:
        print(
            f"conform: there is no trace in {' '.join(map(str, arguments.files))}; check writes some", file=sys.stderr
        )
        return NOTHING
    codes = {_replay_file(path, system, coverage, _on_what(arguments)) for path in paths}
    return next((code for code in GRAVEST if code in codes), DONE)


def _replay_file(path: Path, system: System, coverage: Coverage | None, options: Sequence[str]) -> int:
    try:
        trace = folder.read(path, None)
        divergence = _replayed(trace, system, coverage)
    except UntimelyError as error:
        _say(f"{path}: UNDECIDED: {error}")
        return UNDECIDED
    except UsageError as error:
        return _complain(str(error) if str(error).startswith(str(path)) else f"{path}: {error}")
    if divergence is None:
        _say(f"{path}: replayed, {trace.length} steps; the same after every step")
        return DONE
    _tell(path, trace, divergence, options)
    return DIVERGED


def _replay_walks(arguments: argparse.Namespace, system: System, coverage: Coverage | None) -> int:
    """Random walks, up to the first that diverges: that one is kept as a trace."""
    instance = _instance(arguments)
    progress, begun = ProgressLine("conform"), time.monotonic()
    for number in range(arguments.walks):
        trace = walk(instance, arguments.seed + number, arguments.steps)
        divergence = _replayed(trace, system, coverage)
        if divergence is not None:
            progress.clear()
            end = divergence.position
            kept = replace(trace, states=trace.states[: end + 1], steps=trace.steps[:end])
            command = _command(arguments, number)
            try:
                path = folder.write(replace(kept, command=command), arguments.out)
            except UsageError as error:  # what was found is told all the same
                _say(*divergence.lines(trace), f"  replay it: {command}")
                _complain(str(error))
            else:
                _tell(path, trace, divergence, _on_what(arguments))
            return DIVERGED
        progress.tell(f"{number + 1} of {arguments.walks} walks replayed", time.monotonic() - begun)
    progress.clear()
    _say(
        f"{arguments.walks} random walks of {label(instance)}, {arguments.steps} steps each: the same after every step"
    )
    return DONE


def _command(arguments: argparse.Namespace, number: int) -> str:
    """What replays this walk again."""
    options = [f"--protocol {arguments.protocol}"] if arguments.protocol else []
    options += [f"--switch {given}" for given in arguments.switch] + [f"--set {given}" for given in arguments.set]
    return " ".join(
        [
            *("conform replay --walks 1", f"--seed {arguments.seed + number}", f"--steps {arguments.steps}"),
            *(*options, *_on_what(arguments)),
        ]
    )


def _on_what(arguments: argparse.Namespace) -> list[str]:
    """The options that say what a trace is replayed on."""
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
    quoted = shlex.quote(str(path))
    _say(
        f"{path}: {first}",
        *(f"  {line}" for line in rest),
        f"  see the whole of it: trace show {quoted}",
        f"  replay it: {' '.join(['conform replay', quoted, *options])}",
    )


def _say(*lines: str) -> None:
    """Print; where nobody reads on, the rest goes nowhere, and the exit code stays what it is."""
    try:
        print("\n".join(lines), flush=True)
    except BrokenPipeError:
        give_up_stdout()


# ------------------------------------------------------------------------------------------------------- run and follow


def _add_run(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--seed", metavar="N", type=int, default=0, help="decides everything that happens (default: 0)")
    parser.add_argument("--steps", metavar="N", type=_count, default=1000, help="events to record (default: 1000)")
    parser.add_argument("--protocol", metavar="NAME", default=Plan.protocol, help="a generation (default: the newest)")
    parser.add_argument("--switch", metavar="NAME=VALUE", action="append", default=[], help="a protocol switch")
    parser.add_argument("--bug", choices=BUGS, metavar="NAME", help="seed a bug in the cluster (conform replay --help)")
    parser.add_argument("--replicas", metavar="N", type=_count, default=Plan.replicas, help="brokers (default: 3)")
    parser.add_argument("--acks", choices=["0", "1", "all"], default=Plan.acks, help="of the producer (default: all)")
    parser.add_argument(
        "--min-insync-replicas", metavar="N", type=_count, default=Plan.min_insync_replicas, help="(default: 2)"
    )
    parser.add_argument(
        "--missing", metavar="SHARE", type=_share, default=0.0, help="of the events left out of the log"
    )
    parser.add_argument("--unseen", metavar="SHARE", type=_share, default=0.0, help="of the variables left out of each")
    parser.add_argument("--most-states", metavar="N", type=_count, default=MOST_STATES, help="possible states, at most")
    parser.add_argument("--seconds", metavar="N", type=_seconds, help="end the following after so long: undecided")
    parser.add_argument("--log", metavar="FILE", type=Path, help="where the log goes (default: a new file in runs/)")
    parser.add_argument("--logs", type=Path, metavar="DIR", help="keep the brokers' own logs as files, in a new folder")
    parser.set_defaults(run=_run)


def _share(text: str) -> float:
    try:
        share = float(text)
    except ValueError:
        share = -1.0
    if not 0 <= share <= 1:
        raise argparse.ArgumentTypeError(f"{text} is not a share between 0 and 1")
    return share


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = -1.0
    if not 0 < seconds < float("inf"):
        raise argparse.ArgumentTypeError(f"{text} is not a number of seconds above 0")
    return seconds


def _memory(text: str) -> int:
    try:
        return parse_memory(text)
    except UsageError as error:
        raise argparse.ArgumentTypeError(str(error).removeprefix("--memory ")) from None


def _run(arguments: argparse.Namespace) -> int:
    plan = Plan(
        protocol=arguments.protocol,
        seed=arguments.seed,
        events=arguments.steps,
        switches=dict(_pair(given) for given in arguments.switch),
        bug=arguments.bug,
        replicas=arguments.replicas,
        acks=arguments.acks,
        min_insync_replicas=arguments.min_insync_replicas,
        missing=arguments.missing,
        unseen=arguments.unseen,
    )
    path, stream = _new_log(arguments)
    line, began = ProgressLine("conform"), time.monotonic()
    with stream:
        record(
            *(plan, stream, str(path), arguments.logs),
            lambda events: line.tell(f"{events:,} of {plan.events:,} events recorded", time.monotonic() - began),
        )
    line.clear()
    _say(f"recorded: {path}")
    return _follow_events(path, arguments, None, {})


def _pair(given: str) -> tuple[str, str]:
    name, equals, text = given.partition("=")
    if not equals:
        raise UsageError(f"{given}: write it as NAME=VALUE")
    return name, text


def _new_log(arguments: argparse.Namespace) -> tuple[Path, TextIO]:
    """A file that was not there before. Raises UsageError."""
    stem = f"{arguments.protocol}-seed-{arguments.seed}{f'-{arguments.bug}' if arguments.bug else ''}"
    candidates = [arguments.log] if arguments.log else (Path("runs") / f"{stem}-{n}.ndjson" for n in itertools.count(1))
    for path in candidates:
        try:
            if not path.parent.is_dir():
                path.parent.mkdir(parents=True)
            if path.exists() or path.is_symlink():
                continue
            return path, path.open("x", encoding="utf-8")
        except OSError as error:
            raise UsageError(f"{path}: {error.strerror}; write the log elsewhere, with --log FILE") from None
    raise UsageError(f"{arguments.log}: it is there already, and nothing is overwritten; give another --log FILE")


def _add_follow(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "files", metavar="LOG", type=Path, nargs="+", help="events of a run, or observations of a Kafka"
    )
    _add_model(parser)
    parser.add_argument(
        "--most-states", metavar="N", type=_count, default=MOST_STATES, help="of events: states, at most"
    )
    parser.add_argument(
        "--memory", metavar="SIZE", type=_memory, default="4G", help="of observations: 512M, 8G, ... (default: 4G)"
    )
    parser.add_argument("--seconds", metavar="N", type=_seconds, help="end each file after so long: undecided")
    parser.add_argument("--out", metavar="DIR", type=Path, help="of observations: write the history there, as a trace")
    parser.set_defaults(run=_follow)


def _follow(arguments: argparse.Namespace) -> int:
    """Every file in its turn: a bad one does not keep the others from being followed."""
    codes = set()
    for path in arguments.files:
        codes.add(_follow_file(path, arguments))
        if INTERRUPTED in codes:
            return INTERRUPTED
    return next((code for code in (*GRAVEST, NOTHING) if code in codes), DONE)


def _follow_file(path: Path, arguments: argparse.Namespace) -> int:
    try:
        _, line = next(lines_of(path), (1, b""))
        if is_observation(line):
            return _follow_observations(path, arguments)
        return _follow_events(path, arguments, arguments.protocol, _values(arguments))
    except UsageError as error:
        return _complain(str(error))


def _follow_observations(path: Path, arguments: argparse.Namespace) -> int:
    model, _ = registry.load("kafka")
    line = ProgressLine("conform")
    with interrupts() as seen:

        def report(progress: SearchProgress) -> None:
            line.tell(
                f"step {progress.depth}, line {progress.lines} of {progress.of}, {progress.states:,} states,"
                f" {human_bytes(progress.bytes_used)}",
                progress.seconds,
            )
            if seen:  # while LLVM compiled, where the exception was lost
                raise KeyboardInterrupt

        outcome = follow_recording(
            path,
            arguments.protocol or list(model.protocols)[-1],
            _values(arguments),
            memory=arguments.memory,
            seconds=arguments.seconds,
            report=report,
            announce=line.announce,
        )
    line.clear()
    _say(*tell(outcome))
    if arguments.out and isinstance(outcome, Explained):
        kept = folder.write(outcome.history, arguments.out)
        _say(f"written: {kept}; replay it: conform replay {kept}")
    return outcome.exit_code


def _follow_events(path: Path, arguments: argparse.Namespace, protocol: str | None, values: Mapping[str, int]) -> int:
    """Every run of a log in its turn."""
    line = ProgressLine("conform")

    def report(progress: Progress) -> None:
        line.tell(f"line {progress.line:,}, {progress.possible:,} possible states", progress.seconds)

    watch, codes = Watch(arguments.seconds, report), set()
    try:
        for outcome in follow_log(path, arguments.most_states, protocol, values, watch):
            line.clear()
            _say(*outcome.spell())
            codes.add(int(outcome.verdict))
    except KeyboardInterrupt:
        line.clear()
        print(f"conform: {path}:{watch.line}: interrupted at this line, nothing is decided", file=sys.stderr)
        return INTERRUPTED
    return next((code for code in (*GRAVEST, NOTHING) if code in codes), DONE)


def _complain(message: str) -> int:
    """One line on stderr, whatever a file has put into the message."""
    line = "".join(character if character.isprintable() else " " for character in message)
    print(f"conform: {line[:1000]}", file=sys.stderr)
    return USAGE


if __name__ == "__main__":
    sys.exit(main())

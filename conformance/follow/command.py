"""`conform run` and `conform follow`: is the run of a cluster, or what was seen of a real Kafka, a behaviour of the
model?

One log is reported in full; many logs get one line each (many.py).

In:  the words that were typed.
Out: text on stdout, errors on stderr, an exit code.
"""

from __future__ import annotations

import argparse
import itertools
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import TextIO

from isrcheck.checker.command.console import interrupts
from isrcheck.checker.command.spark_options import add_session_options, read_session_options
from isrcheck.checker.resources.budget import Budget
from isrcheck.checker.session.formatting import human_bytes
from isrcheck.checker.session.progress import ProgressLine
from isrcheck.checker.spark.request import ENGINE
from isrcheck.conformance.console import (
    BUGS,
    INTERRUPTED,
    NOTHING,
    UNDECIDED,
    add_model,
    complain,
    count,
    gravest,
    memory,
    pair,
    protocol_of,
    say,
    seconds,
    share,
    values_of,
)
from isrcheck.conformance.follow.format.ndjson import lines_of
from isrcheck.conformance.follow.logs import logs_of
from isrcheck.conformance.follow.many import FollowOptions, follow_many
from isrcheck.conformance.follow.observations.explain import Explained, follow_recording
from isrcheck.conformance.follow.observations.reading import is_observation
from isrcheck.conformance.follow.observations.search import Progress as SearchProgress
from isrcheck.conformance.follow.observations.tell import tell
from isrcheck.conformance.follow.recorder.plan import Plan
from isrcheck.conformance.follow.recorder.record import record
from isrcheck.conformance.follow.runs.follow import MOST_STATES, follow_log
from isrcheck.conformance.follow.runs.watch import Progress, TimeOverError, Watch
from isrcheck.conformance.follow.verdicts import FollowRequest
from isrcheck.models.messages.errors import UsageError
from isrcheck.models.messages.printable import escaped
from isrcheck.traces.format import folder


def add_run(parser: argparse.ArgumentParser) -> None:
    """Add the options of `conform run`."""
    parser.add_argument(
        "--seed", metavar="N", type=int, default=0, help="the seed, which determines the run (default: 0)"
    )
    parser.add_argument(
        "--steps", metavar="N", type=count, default=1000, help="number of events to record (default: 1000)"
    )
    parser.add_argument(
        "--protocol", metavar="NAME", default=Plan.protocol, help="a generation of kafka (default: the newest)"
    )
    parser.add_argument("--switch", metavar="NAME=VALUE", action="append", default=[], help="a protocol switch")
    parser.add_argument("--bug", choices=BUGS, metavar="NAME", help="seed a bug in the cluster (conform replay --help)")
    parser.add_argument(
        "--replicas", metavar="N", type=count, default=Plan.replicas, help="number of brokers (default: 3)"
    )
    parser.add_argument(
        "--acks", choices=["0", "1", "all"], default=Plan.acks, help="acks of the producer (default: all)"
    )
    parser.add_argument(
        "--min-insync-replicas", metavar="N", type=count, default=Plan.min_insync_replicas, help="(default: 2)"
    )
    parser.add_argument(
        "--missing", metavar="SHARE", type=share, default=0.0, help="share of the events that the log leaves out"
    )
    parser.add_argument(
        "--unseen", metavar="SHARE", type=share, default=0.0, help="share of the variables that each event leaves out"
    )
    parser.add_argument("--most-states", metavar="N", type=count, default=MOST_STATES, help="possible states, at most")
    parser.add_argument("--seconds", metavar="N", type=seconds, help="stop after this time; what is left is undecided")
    parser.add_argument("--log", metavar="FILE", type=Path, help="the file of the log (default: a new file in runs/)")
    parser.add_argument("--logs", type=Path, metavar="DIR", help="keep the brokers' own logs as files, in a new folder")
    parser.set_defaults(run=_run)


def _run(arguments: argparse.Namespace) -> int:
    plan = Plan(
        protocol=arguments.protocol,
        seed=arguments.seed,
        events=arguments.steps,
        switches=dict(pair(given) for given in arguments.switch),
        bug=arguments.bug,
        replicas=arguments.replicas,
        acks=arguments.acks,
        min_insync_replicas=arguments.min_insync_replicas,
        missing=arguments.missing,
        unseen=arguments.unseen,
    )
    path, stream = _new_log(arguments)
    line, began = ProgressLine("conform"), time.monotonic()

    def report(events: int) -> None:
        line.tell(f"{events:,} of {plan.events:,} events recorded", time.monotonic() - began)
        if _left(arguments) == 0:
            raise TimeOverError

    try:
        with stream:
            record(plan, stream, str(path), arguments.logs, report)
    except TimeOverError:
        line.clear()
        say(f"{path}: UNDECIDED: the time ended before everything was recorded; give more with --seconds")
        return UNDECIDED
    line.clear()
    say(f"recorded: {escaped(str(path))}")
    return _follow_events(path, arguments, None, {})


def _new_log(arguments: argparse.Namespace) -> tuple[Path, TextIO]:
    """A file that did not exist before. Raises UsageError."""
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
    raise UsageError(f"{arguments.log}: it exists already and is not overwritten; give another --log FILE")


def add_follow(parser: argparse.ArgumentParser) -> None:
    """Add the options of `conform follow`."""
    parser.add_argument(
        "files", metavar="LOG", type=Path, nargs="+",
        help="a log of events or of observations, or a folder of logs; each of several logs gets one line",
    )  # fmt: skip
    add_model(parser)
    parser.add_argument(
        "--most-states", metavar="N", type=count, default=MOST_STATES, help="of events: states, at most"
    )
    parser.add_argument(
        "--memory", metavar="SIZE", type=memory, default="4G", help="of observations: 512M, 8G, ... (default: 4G)"
    )
    parser.add_argument("--seconds", metavar="N", type=seconds, help="stop after this time; what is left is undecided")
    parser.add_argument(
        "--out",
        metavar="DIR",
        type=Path,
        help="for observations: write the path that explains them as a trace into this folder",
    )
    parser.add_argument(
        "--engine",
        choices=["local", ENGINE],
        default="local",
        help="where logs are followed: in this process (default), or on Spark",
    )
    add_session_options(parser.add_argument_group(f"with --engine {ENGINE}"))
    parser.set_defaults(run=_follow)


def _follow(arguments: argparse.Namespace) -> int:
    """Follow one log or many; a log that cannot be read does not stop the others."""
    spark = read_session_options(arguments)
    logs = logs_of(arguments.files)
    codes = {complain(line) for line in logs.unreadable}
    for line in (*logs.empty, *logs.twice):
        complain(line)
    codes |= {NOTHING} if logs.empty else set()
    if len(logs.paths) == 1 and arguments.engine != ENGINE:
        codes.add(_follow_file(logs.paths[0], arguments))
    elif logs.paths:
        left = _left(arguments)
        request = FollowRequest(
            protocol=arguments.protocol,
            generation=protocol_of(arguments),
            values=values_of(arguments),
            most_states=arguments.most_states,
            memory=arguments.memory,
            ends=None if left is None else time.time() + left,
            with_trace=arguments.out is not None,
        )
        manner = FollowOptions(spark if arguments.engine == ENGINE else None, arguments.out, _words(arguments))
        codes |= follow_many(logs.paths, request, manner)
    return INTERRUPTED if INTERRUPTED in codes else gravest(codes)


def _left(arguments: argparse.Namespace) -> float | None:
    """The remaining seconds of this command; None: no limit."""
    return Budget(arguments.seconds, sys.maxsize, arguments.began).left


def _words(arguments: argparse.Namespace) -> list[str]:
    """The options that follow a single log in the same way."""
    words = ["--protocol", arguments.protocol] if arguments.protocol else []
    words += [word for given in arguments.switch for word in ("--switch", given)]
    words += [word for given in arguments.set for word in ("--set", given)]
    return words + (["--most-states", str(arguments.most_states)] if arguments.most_states != MOST_STATES else [])


def _follow_file(path: Path, arguments: argparse.Namespace) -> int:
    try:
        _, line = next(lines_of(path), (1, b""))
        if is_observation(line):
            return _follow_observations(path, arguments)
        return _follow_events(path, arguments, arguments.protocol, values_of(arguments))
    except UsageError as error:
        return complain(str(error))


def _follow_observations(path: Path, arguments: argparse.Namespace) -> int:
    line = ProgressLine("conform")
    with interrupts() as seen:

        def report(progress: SearchProgress) -> None:
            line.tell(
                f"step {progress.depth}, line {progress.lines} of {progress.of}, {progress.states:,} states,"
                f" {human_bytes(progress.bytes_used)}",
                progress.seconds,
            )
            if seen:  # during compilation by LLVM, where the exception was lost
                raise KeyboardInterrupt

        outcome = follow_recording(
            path,
            protocol_of(arguments),
            values_of(arguments),
            memory=arguments.memory,
            seconds=_left(arguments),
            report=report,
            announce=line.announce,
        )
    line.clear()
    say(*tell(outcome))
    if arguments.out and isinstance(outcome, Explained):
        kept = folder.write(outcome.trace, arguments.out)
        say(f"written: {kept}; replay it: conform replay {kept}")
    return outcome.exit_code


def _follow_events(path: Path, arguments: argparse.Namespace, protocol: str | None, values: Mapping[str, int]) -> int:
    """Follow every run of a log."""
    line = ProgressLine("conform")

    def report(progress: Progress) -> None:
        line.tell(f"line {progress.line:,}, {progress.possible:,} possible states", progress.seconds)

    watch, codes = Watch(_left(arguments), report), set()
    try:
        for outcome in follow_log(path, arguments.most_states, protocol, values, watch):
            line.clear()
            say(*outcome.spell())
            codes.add(int(outcome.verdict))
    except KeyboardInterrupt:
        line.clear()
        print(
            f"conform: {escaped(str(path))}:{watch.line}: interrupted at this line; nothing is decided", file=sys.stderr
        )
        return INTERRUPTED
    return gravest(codes)

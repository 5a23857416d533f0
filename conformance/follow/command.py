"""`conform follow`: checks whether a recorded run of a cluster or of a real Kafka is a behaviour of the model.

One log is reported in full; many logs get one line each (many.py).

In:  the command line.
Out: text on stdout, errors on stderr, an exit code.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Mapping
from pathlib import Path

from isrcheck.checker.command.console import interrupts
from isrcheck.checker.command.spark_options import SESSION_OPTIONS, read_session_options
from isrcheck.checker.resources.budget import Budget
from isrcheck.checker.session.formatting import human_bytes
from isrcheck.checker.session.progress import ProgressLine
from isrcheck.checker.spark.request import ENGINE
from isrcheck.conformance.console import (
    INTERRUPTED,
    NOTHING,
    add_model,
    complain,
    count,
    gravest,
    memory,
    protocol_of,
    say,
    seconds,
    values_of,
)
from isrcheck.conformance.follow.format.ndjson import lines_of
from isrcheck.conformance.follow.logs import logs_of
from isrcheck.conformance.follow.many import FollowOptions, follow_many
from isrcheck.conformance.follow.observations.explain import Explained, follow_recording
from isrcheck.conformance.follow.observations.reading import is_observation
from isrcheck.conformance.follow.observations.search import Progress as SearchProgress
from isrcheck.conformance.follow.observations.tell import tell
from isrcheck.conformance.follow.runs.follow import MOST_STATES, follow_log
from isrcheck.conformance.follow.runs.watch import Progress, Watch
from isrcheck.conformance.follow.verdicts import FollowRequest
from isrcheck.models.messages.errors import UsageError
from isrcheck.models.messages.printable import escaped
from isrcheck.traces.format import folder


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of `conform follow`."""
    parser.add_argument(
        "files", metavar="LOG", type=Path, nargs="+",
        help="a log of events or of observations, or a folder of logs; each of several logs gets one line",
    )  # fmt: skip
    add_model(parser)
    parser.add_argument(
        "--most-states", metavar="N", type=count, default=MOST_STATES,
        help=f"for events: limit on possible states (default: {MOST_STATES})",
    )  # fmt: skip
    parser.add_argument(
        "--memory", metavar="SIZE", type=memory, default="4G",
        help="for observations: memory limit, such as 512M or 8G (default: 4G)",
    )  # fmt: skip
    parser.add_argument(
        "--seconds", metavar="N", type=seconds, help="time limit; logs not followed by then are undecided"
    )
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
    group = parser.add_argument_group(f"with --engine {ENGINE}")
    for option in SESSION_OPTIONS:
        option.add_to(group)
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
        left = seconds_left(arguments)
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


def seconds_left(arguments: argparse.Namespace) -> float | None:
    """The seconds left to this command; None: no limit."""
    return Budget(arguments.seconds, sys.maxsize, arguments.began).left


def _words(arguments: argparse.Namespace) -> list[str]:
    """The options with which `conform follow` follows a single log alike."""
    words = ["--protocol", arguments.protocol] if arguments.protocol else []
    words += [word for given in arguments.switch for word in ("--switch", given)]
    words += [word for given in arguments.set for word in ("--set", given)]
    return words + (["--most-states", str(arguments.most_states)] if arguments.most_states != MOST_STATES else [])


def _follow_file(path: Path, arguments: argparse.Namespace) -> int:
    try:
        _, line = next(lines_of(path), (1, b""))
        if is_observation(line):
            return _follow_observations(path, arguments)
        return follow_events(path, arguments, arguments.protocol, values_of(arguments))
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
            seconds=seconds_left(arguments),
            report=report,
            announce=line.announce,
        )
    line.clear()
    say(*tell(outcome))
    if arguments.out and isinstance(outcome, Explained):
        kept = folder.write(outcome.trace, arguments.out)
        say(f"written: {kept}; replay it: conform replay {kept}")
    return outcome.exit_code


def follow_events(path: Path, arguments: argparse.Namespace, protocol: str | None, values: Mapping[str, int]) -> int:
    """Follow every run of a log, print the outcomes, and return the exit code. Raises UsageError."""
    line = ProgressLine("conform")

    def report(progress: Progress) -> None:
        line.tell(f"line {progress.line:,}, {progress.possible:,} possible states", progress.seconds)

    watch, codes = Watch(seconds_left(arguments), report), set()
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

"""`conform follow`: checks whether a recorded run of a cluster or of a real Kafka is a behaviour of the model.

One log is reported in full; many logs get one line each (many.py).

In:  the command line.
Out: text on stdout, errors on stderr, an exit code.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

from isrcheck.checker.command.spark_options import SESSION_OPTIONS, read_session_options
from isrcheck.checker.spark.request import ENGINE
from isrcheck.conformance.cluster.configuration.protocol import USUAL
from isrcheck.conformance.console import (
    INTERRUPTED,
    NOTHING,
    add_model,
    asked_model,
    complain,
    count,
    gravest,
    memory,
    protocol_of,
    seconds,
    values_of,
)
from isrcheck.conformance.follow.format.events import MODELS
from isrcheck.conformance.follow.many import FollowOptions, follow_many, logs_of
from isrcheck.conformance.follow.one_log import follow_file, seconds_left
from isrcheck.conformance.follow.runs import MOST_STATES
from isrcheck.conformance.follow.verdicts import FollowRequest
from isrcheck.conformance.replay.on_cluster import why_not_taken


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of `conform follow`."""
    parser.add_argument(
        "files", metavar="LOG", type=Path, nargs="+",
        help="a log of events or of observations, or a folder of logs; several logs are reported in one line each",
    )  # fmt: skip
    parser.add_argument(
        "--model", choices=MODELS,
        help="for events: the model that --protocol, --switch and --set are about (default: kafka)",
    )  # fmt: skip
    add_model(
        parser,
        f"for observations: the generation of the model that has to explain them (default: {USUAL}); for events: the"
        " one that the log has to name",
    )
    parser.add_argument(
        "--most-states", metavar="N", type=count, default=MOST_STATES,
        help="for events: limit on possible states (default: %(default)s)",
    )  # fmt: skip
    parser.add_argument(
        "--memory", metavar="SIZE", type=memory, default="4G",
        help="for observations: memory limit, such as 512M or 8G (default: %(default)s)",
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
    manner = parser.add_mutually_exclusive_group()
    manner.add_argument(
        "--history",
        action="store_true",
        help="for observations: search for a history of a long recording, too, which needs memory for all of it",
    )
    manner.add_argument(
        "--online",
        action="store_true",
        help="for observations: give only a verdict on a short recording, too, as for long ones",
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
        codes.add(follow_file(logs.paths[0], arguments))
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
            model=asked_model(arguments),
            why_not_taken=why_not_taken,
        )
        manner = FollowOptions(spark if arguments.engine == ENGINE else None, arguments.out, _words(arguments))
        codes |= follow_many(logs.paths, request, manner)
    return INTERRUPTED if INTERRUPTED in codes else gravest(codes)


def _words(arguments: argparse.Namespace) -> list[str]:
    """The options of this command that `conform follow` needs in order to follow one of these logs in the same way."""
    words = ["--model", arguments.model] if arguments.model else []
    words += ["--protocol", arguments.protocol] if arguments.protocol else []
    words += [word for given in arguments.switch for word in ("--switch", given)]
    words += [word for given in arguments.set for word in ("--set", given)]
    return words + (["--most-states", str(arguments.most_states)] if arguments.most_states != MOST_STATES else [])

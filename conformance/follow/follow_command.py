"""`conform follow`: checks whether a recorded run of a cluster or of a real Kafka is a behaviour of the model.

One log is reported in full; many logs get one line each (many.py).
"""

from __future__ import annotations

import argparse
import time

from isrcheck.checker.command.options import read_session_options
from isrcheck.checker.command.table import SPARK_SESSION
from isrcheck.checker.spark.request import ENGINE
from isrcheck.commands.declarations import Option, count, memory, path, seconds
from isrcheck.commands.exit_codes import INTERRUPTED, NOTHING
from isrcheck.conformance.cluster.configuration.protocol import USUAL
from isrcheck.conformance.console import (
    asked_model,
    complain,
    gravest,
    model_options,
    protocol_of,
    values_of,
    words_of,
)
from isrcheck.conformance.follow.format.events import MODELS
from isrcheck.conformance.follow.many import follow_many, logs_of
from isrcheck.conformance.follow.one_log import follow_file, seconds_left
from isrcheck.conformance.follow.runs import MOST_STATES
from isrcheck.conformance.follow.verdicts import FollowRequest
from isrcheck.conformance.replay.on_cluster import why_not_taken

OPTIONS = (
    Option(
        "LOG ...",
        "a log of events or of observations, or a folder of logs; several logs are reported in one line each",
        path,
        destination="files",
    ),
    Option(
        "--model",
        "for events: the model that --protocol, --switch and --set are about (default: kafka)",
        choices=tuple(MODELS),
    ),
    *model_options(
        f"for observations: the generation of the model that has to explain them (default: {USUAL}); for events: the"
        " one that the log has to name",
    ),
    Option(
        "--most-states N", "for events: limit on possible states (default: %(default)s)", count, default=MOST_STATES
    ),
    Option(
        "--memory SIZE",
        "for observations: memory limit, such as 512M or 8G (default: %(default)s)",
        memory,
        default="4G",
    ),
    Option("--seconds N", "time limit; logs not followed by then are undecided", seconds),
    Option("--out DIR", "for observations: write the path that explains them as a trace into this folder", path),
    Option(
        "--history",
        "for observations: search for a history of a long recording, too, which needs memory for all of it",
        excludes="manner",
    ),
    Option(
        "--online",
        "for observations: give only a verdict on a short recording, too, as for long ones",
        excludes="manner",
    ),
    Option(
        "--engine",
        "where logs are followed: in this process (default), or on Spark",
        choices=("local", ENGINE),
        default="local",
    ),
    *SPARK_SESSION,
)


def run(arguments: argparse.Namespace) -> int:
    """Follow one log or many; return the gravest exit code. After an unreadable log, the others are still followed."""
    spark = read_session_options(vars(arguments))
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
        words = words_of(arguments)
        if arguments.most_states != MOST_STATES:
            words += ["--most-states", str(arguments.most_states)]
        codes |= follow_many(logs.paths, request, spark if arguments.engine == ENGINE else None, arguments.out, words)
    return INTERRUPTED if INTERRUPTED in codes else gravest(codes)

"""`conform run`: runs the cluster under random faults, and checks the recorded run against the model.

In:  the command line. Out: a log; text on stdout, errors on stderr, an exit code.
"""

from __future__ import annotations

import argparse
import itertools
import time
from pathlib import Path
from typing import TextIO

from isrcheck.checker.session.progress import ProgressLine
from isrcheck.conformance.console import BUGS, UNDECIDED, add_model, count, pair, protocol_of, say, seconds, share
from isrcheck.conformance.follow.one_log import follow_events, seconds_left
from isrcheck.conformance.follow.recorder.plan import Plan
from isrcheck.conformance.follow.recorder.record import record
from isrcheck.conformance.follow.runs.follow import MOST_STATES
from isrcheck.conformance.follow.runs.watch import TimeOverError
from isrcheck.models.messages.errors import UsageError
from isrcheck.models.messages.printable import escaped


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of `conform run`."""
    parser.add_argument(
        "--seed", metavar="N", type=int, default=0, help="the seed, which determines the run (default: 0)"
    )
    parser.add_argument(
        "--steps", metavar="N", type=count, default=1000, help="number of events to record (default: 1000)"
    )
    add_model(parser)
    parser.add_argument("--bug", choices=BUGS, metavar="NAME", help="seed a bug (conform replay --help lists them)")
    parser.add_argument(
        "--replicas", metavar="N", type=count, default=Plan.replicas, help="number of brokers (default: 3)"
    )
    parser.add_argument(
        "--acks", choices=["0", "1", "all"], default=Plan.acks, help="acks of the producer (default: all)"
    )
    parser.add_argument(
        "--min-insync-replicas", metavar="N", type=count, default=Plan.min_insync_replicas,
        help="min.insync.replicas (default: 2)",
    )  # fmt: skip
    parser.add_argument(
        "--missing", metavar="SHARE", type=share, default=0.0, help="share, 0 to 1, of the events that the log omits"
    )
    parser.add_argument(
        "--unseen", metavar="SHARE", type=share, default=0.0, help="share, 0 to 1, of the variables that events omit"
    )
    parser.add_argument("--most-states", metavar="N", type=count, default=MOST_STATES, help="limit on possible states")
    parser.add_argument("--seconds", metavar="N", type=seconds, help="time limit; after it, the run is undecided")
    parser.add_argument("--log", metavar="FILE", type=Path, help="the file of the log (default: a new file in runs/)")
    parser.add_argument("--logs", type=Path, metavar="DIR", help="keep the brokers' own logs as files, in a new folder")
    parser.set_defaults(run=_run)


def _run(arguments: argparse.Namespace) -> int:
    plan = Plan(
        protocol=protocol_of(arguments),
        seed=arguments.seed,
        events=arguments.steps,
        given=dict(map(pair, (*arguments.switch, *arguments.set))),
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
        if seconds_left(arguments) == 0:
            raise TimeOverError

    try:
        with stream:
            record(plan, stream, str(path), arguments.logs, report)
    except TimeOverError:
        line.clear()
        say(f"{path}: UNDECIDED: the time limit was reached before everything was recorded; give more with --seconds")
        return UNDECIDED
    line.clear()
    say(f"recorded: {escaped(str(path))}")
    return follow_events(path, arguments, None, {})


def _new_log(arguments: argparse.Namespace) -> tuple[Path, TextIO]:
    """Create and open a file that did not exist before. Raises UsageError."""
    stem = f"{protocol_of(arguments)}-seed-{arguments.seed}{f'-{arguments.bug}' if arguments.bug else ''}"
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

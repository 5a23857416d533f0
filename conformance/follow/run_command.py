"""`conform run`: runs the cluster under random faults, and checks the recorded run against the model.

In:  the command line. Out: a log; text on stdout, errors on stderr, an exit code.
"""

from __future__ import annotations

import argparse
import itertools
import time
from pathlib import Path
from typing import Any, TextIO

from isrcheck.checker.session.progress import ProgressLine
from isrcheck.conformance.console import DONE, UNDECIDED, add_model, count, pair, protocol_of, say, seconds, share
from isrcheck.conformance.follow.format.events import MODELS
from isrcheck.conformance.follow.one_log import follow_events, seconds_left
from isrcheck.conformance.follow.recorder.plan import Plan
from isrcheck.conformance.follow.recorder.record import record
from isrcheck.conformance.follow.recorder.transactions import TransactionsPlan
from isrcheck.conformance.follow.runs import MOST_STATES, TimeOverError
from isrcheck.conformance.implemented import BUGS, require_bug_of
from isrcheck.conformance.unseen_bugs import ALLOWED_IN_RUNS, NEVER_IN_RUNS, told
from isrcheck.models.messages import UsageError, escaped


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of `conform run`."""
    parser.add_argument(
        "--seed", metavar="N", type=int, default=0, help="the seed, which determines the run (default: %(default)s)"
    )
    parser.add_argument(
        "--steps", metavar="N", type=count, default=1000, help="number of events to record (default: %(default)s)"
    )
    parser.add_argument(
        "--model", choices=MODELS, default=MODELS[0], help="the model whose system runs (default: %(default)s)"
    )
    add_model(parser)
    bugs = [each.name.lower() for model in MODELS for each in BUGS[model]]
    parser.add_argument("--bug", choices=bugs, metavar="NAME", help="seed a bug (conform replay --help lists them)")
    parser.add_argument("--replicas", metavar="N", type=count, help=f"number of brokers (default: {Plan.replicas})")
    parser.add_argument("--acks", choices=["0", "1", "all"], help=f"acks of the producer (default: {Plan.acks})")
    least = f"min.insync.replicas (default: {Plan.min_insync_replicas})"
    parser.add_argument("--min-insync-replicas", metavar="N", type=count, help=least)
    parser.add_argument(
        "--missing", metavar="SHARE", type=share, default=0.0, help="share, 0 to 1, of the events that the log omits"
    )
    parser.add_argument(
        "--unseen", metavar="SHARE", type=share, default=0.0, help="share, 0 to 1, of the variables that events omit"
    )
    most = "limit on possible states (default: %(default)s)"
    parser.add_argument("--most-states", metavar="N", type=count, default=MOST_STATES, help=most)
    parser.add_argument("--seconds", metavar="N", type=seconds, help="time limit; after it, the run is undecided")
    parser.add_argument("--log", metavar="FILE", type=Path, help="the file of the log (default: a new file in runs/)")
    parser.add_argument("--logs", type=Path, metavar="DIR", help="keep the brokers' own logs as files, in a new folder")
    parser.set_defaults(run=_run)


def _plan(arguments: argparse.Namespace) -> Plan | TransactionsPlan:
    """The plan that the options give. Raises UsageError for what it cannot be, and for options of another model."""
    of_brokers = {name: getattr(arguments, name) for name in ("replicas", "acks", "min_insync_replicas")}
    of_brokers = {name: value for name, value in of_brokers.items() if value is not None}
    strange = [*of_brokers, *(["logs"] if arguments.logs else [])]
    if strange and arguments.model != "kafka":
        raise UsageError(f"--{strange[0].replace('_', '-')} is about the brokers of kafka; leave it out")
    given: dict[str, Any] = {
        "protocol": protocol_of(arguments),
        "seed": arguments.seed,
        "events": arguments.steps,
        "given": dict(map(pair, (*arguments.switch, *arguments.set))),
        "bug": arguments.bug,
        "missing": arguments.missing,
        "unseen": arguments.unseen,
    }
    if arguments.model != "kafka":
        return TransactionsPlan(**given)
    require_bug_of("kafka", arguments.bug)
    return Plan(**given, **of_brokers)


def _run(arguments: argparse.Namespace) -> int:
    plan = _plan(arguments)
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
    code = follow_events(path, arguments)
    if code == DONE and not arguments.bug:
        say(*told(arguments.model, plan.configuration, {**NEVER_IN_RUNS, **ALLOWED_IN_RUNS}, "recorded runs"))
    return code


def _new_log(arguments: argparse.Namespace) -> tuple[Path, TextIO]:
    """Create and open a file that did not exist before. Raises UsageError."""
    model = "" if arguments.model == "kafka" else f"{arguments.model}-"
    stem = f"{model}{protocol_of(arguments)}-seed-{arguments.seed}{f'-{arguments.bug}' if arguments.bug else ''}"
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

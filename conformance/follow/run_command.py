"""`conform run`: runs the cluster under random faults, and checks the recorded run against the model."""

from __future__ import annotations

import argparse
import itertools
import time
from pathlib import Path
from typing import Any, TextIO

from isrcheck.checker.results.terminal import ProgressLine
from isrcheck.commands.declarations import Option, count, integer, path, seconds, share
from isrcheck.commands.exit_codes import DONE, UNDECIDED
from isrcheck.commands.program import say
from isrcheck.commands.settings import pair
from isrcheck.conformance.console import model_options, protocol_of
from isrcheck.conformance.follow.format.events import MODELS
from isrcheck.conformance.follow.one_log import follow_events, seconds_left
from isrcheck.conformance.follow.recorder.plan import Plan
from isrcheck.conformance.follow.recorder.record import record
from isrcheck.conformance.follow.recorder.transactions import TransactionsPlan
from isrcheck.conformance.follow.runs import MOST_STATES, TimeOverError
from isrcheck.conformance.implemented import BUGS, require_bug_of
from isrcheck.conformance.unseen_bugs import ALLOWED_IN_RUNS, NEVER_IN_RUNS, told
from isrcheck.models.messages import UsageError, escaped

BUG_NAMES = tuple(bug.name.lower() for model in MODELS for bug in BUGS[model])

OPTIONS = (
    Option("--seed N", "the seed, which determines the run (default: %(default)s)", integer, default=0),
    Option("--steps N", "number of events to record (default: %(default)s)", count, default=1000),
    Option("--model", "the model whose system runs (default: %(default)s)", choices=tuple(MODELS), default=MODELS[0]),
    *model_options(),
    Option("--bug NAME", "seed a bug (conform replay --help lists them)", choices=BUG_NAMES),
    Option("--replicas N", f"number of brokers (default: {Plan.replicas})", count),
    Option("--acks", f"acks of the producer (default: {Plan.acks})", choices=("0", "1", "all")),
    Option("--min-insync-replicas N", f"min.insync.replicas (default: {Plan.min_insync_replicas})", count),
    Option("--missing SHARE", "share, 0 to 1, of the events that the log omits", share, default=0.0),
    Option("--unseen SHARE", "share, 0 to 1, of the variables that events omit", share, default=0.0),
    Option("--most-states N", "limit on possible states (default: %(default)s)", count, default=MOST_STATES),
    Option("--seconds N", "time limit; after it, the run is undecided", seconds),
    Option("--log FILE", "the file of the log (default: a new file in runs/)", path),
    Option("--logs DIR", "keep the brokers' own logs as files, in a new folder", path),
)


def plan_of(arguments: argparse.Namespace) -> Plan | TransactionsPlan:
    """The plan that the options give. Raises UsageError for impossible plans, and for options of another model."""
    of_brokers = {name: getattr(arguments, name) for name in ("replicas", "acks", "min_insync_replicas")}
    of_brokers = {name: value for name, value in of_brokers.items() if value is not None}
    strange = [*of_brokers, *(["logs"] if arguments.logs else [])]
    if strange and arguments.model != "kafka":
        raise UsageError(f"--{strange[0].replace('_', '-')} is about the brokers of kafka; leave it out")
    settings: dict[str, Any] = {
        "protocol": protocol_of(arguments),
        "seed": arguments.seed,
        "events": arguments.steps,
        "given": dict(
            pair(option, text)
            for option, texts in (("--switch", arguments.switch), ("--set", arguments.set))
            for text in texts
        ),
        "bug": arguments.bug,
        "missing": arguments.missing,
        "unseen": arguments.unseen,
    }
    if arguments.model != "kafka":
        return TransactionsPlan(**settings)
    require_bug_of("kafka", arguments.bug)
    return Plan(**settings, **of_brokers)


def run(arguments: argparse.Namespace) -> int:
    """Run the cluster, check the recorded run, and return the exit code."""
    plan = plan_of(arguments)
    log, stream = _new_log(arguments)
    line, began = ProgressLine("conform"), time.monotonic()

    def report(events: int) -> None:
        line.tell(f"{events:,} of {plan.events:,} events recorded", time.monotonic() - began)
        if seconds_left(arguments) == 0:
            raise TimeOverError

    try:
        with stream:
            record(plan, stream, str(log), arguments.logs, report)
    except TimeOverError:
        line.clear()
        say(f"{log}: UNDECIDED: the time limit was reached before everything was recorded; give more with --seconds")
        return UNDECIDED
    line.clear()
    say(f"recorded: {escaped(str(log))}")
    code = follow_events(log, arguments)
    if code == DONE and not arguments.bug:
        say(*told(arguments.model, plan.configuration, {**NEVER_IN_RUNS, **ALLOWED_IN_RUNS}, "recorded runs"))
    return code


def _new_log(arguments: argparse.Namespace) -> tuple[Path, TextIO]:
    model = "" if arguments.model == "kafka" else f"{arguments.model}-"
    stem = f"{model}{protocol_of(arguments)}-seed-{arguments.seed}{f'-{arguments.bug}' if arguments.bug else ''}"
    candidates = [arguments.log] if arguments.log else (Path("runs") / f"{stem}-{n}.ndjson" for n in itertools.count(1))
    for log in candidates:
        try:
            if not log.parent.is_dir():
                log.parent.mkdir(parents=True)
            if log.exists() or log.is_symlink():
                continue
            return log, log.open("x", encoding="utf-8")
        except OSError as error:
            raise UsageError(f"{log}: {error.strerror}; write the log elsewhere, with --log FILE") from None
    raise UsageError(f"{arguments.log}: it exists already and is not overwritten; give another --log FILE")

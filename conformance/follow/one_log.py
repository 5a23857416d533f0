"""Follows one log, of events or of observations, and reports it in full."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from isrcheck.checker.resources.limits import Budget
from isrcheck.checker.results.terminal import ProgressLine
from isrcheck.commands.exit_codes import DIVERGED, INTERRUPTED
from isrcheck.commands.program import interrupts, say
from isrcheck.conformance.console import asked_model, complain, gravest, protocol_of, values_of
from isrcheck.conformance.follow.online.follow import OnlineOutcome, follow_online, is_long, stream_of
from isrcheck.conformance.follow.report.tell import tell, tell_online
from isrcheck.conformance.follow.runs import EXIT_CODES, Watch, follow_log
from isrcheck.conformance.follow.search.explain import Explained, Outcome, follow_recording
from isrcheck.conformance.follow.wire.convert import is_recording, wire_observations
from isrcheck.conformance.replay.on_cluster import why_not_taken
from isrcheck.models import registry
from isrcheck.models.messages import UsageError, escaped
from isrcheck.traces.format import files
from isrcheck.traces.lanes.table import wrapped


def seconds_left(arguments: argparse.Namespace) -> float | None:
    """The seconds left until the time limit of this command; None: no limit."""
    return Budget(arguments.seconds, sys.maxsize, arguments.began).left


def follow_file(path: Path, arguments: argparse.Namespace) -> int:
    """Follow one log, of events or observations; return the exit code. An unreadable log gives one line on stderr."""
    try:
        if is_recording(path, arguments.model):
            return _follow_observations(path, arguments)
        return follow_events(path, arguments, arguments.protocol, values_of(arguments), asked_model(arguments))
    except UsageError as error:
        return complain(str(error))


def _follow_observations(path: Path, arguments: argparse.Namespace) -> int:
    line = ProgressLine("conform")
    wants_history = arguments.history or arguments.out is not None
    question = protocol_of(arguments), values_of(arguments)
    outcome: Outcome | OnlineOutcome
    with interrupts() as pressed:

        def report(words: str, seconds: float) -> None:
            line.tell(words, seconds)
            if pressed:  # during compilation by LLVM, where the exception was lost
                raise KeyboardInterrupt

        limits: dict[str, Any] = {
            "memory": arguments.memory,
            "seconds": seconds_left(arguments),
            "report": report,
            "announce": line.announce,
        }
        if arguments.online or (not wants_history and is_long(path, stream_of(path))):
            outcome = follow_online(path, stream_of(path), *question, **limits)
            lines = tell_online(outcome)
        else:
            objects = wire_observations(path)
            outcome = follow_recording(path, *question, **limits, objects=objects, why_not_taken=why_not_taken)
            lines = tell(outcome)
    line.clear()
    say(*lines, *_by_default(arguments, outcome.exit_code))
    if arguments.out and isinstance(outcome, Explained):
        written = files.write(outcome.trace, arguments.out)
        say(f"written: {written}; replay it: conform replay {written}")
    return outcome.exit_code


def _by_default(arguments: argparse.Namespace, code: int) -> Sequence[str]:
    """A hint to choose rules with --protocol, if a recording was rejected by the default rules; otherwise nothing."""
    if code != DIVERGED or arguments.protocol is not None:
        return ()
    generations = list(registry.load("kafka")[0].protocols)
    choice = f"choose other rules with --protocol, from {generations[0]} to {generations[-1]}"
    return wrapped(f"The rules are those of {protocol_of(arguments)}, because no --protocol is given; {choice}.")


def follow_events(
    path: Path,
    arguments: argparse.Namespace,
    protocol: str | None = None,
    values: Mapping[str, int] | None = None,
    model: str | None = None,
) -> int:
    """Follow every run of a log, print the outcomes, and return the exit code. Raises UsageError."""
    line = ProgressLine("conform")
    watch = Watch(seconds_left(arguments), line.tell)
    codes = set()
    try:
        for outcome in follow_log(path, arguments.most_states, protocol, values, watch, model=model):
            line.clear()
            say(*outcome.spell())
            codes.add(EXIT_CODES[outcome.verdict])
    except KeyboardInterrupt:
        line.clear()
        print(
            f"conform: {escaped(str(path))}:{watch.line}: interrupted at this line; nothing is decided", file=sys.stderr
        )
        return INTERRUPTED
    return gravest(codes)

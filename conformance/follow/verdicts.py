"""Follows one log among many and gives the verdict on it; the log has the events of runs, or observations of a Kafka.

A verdict consists of texts, because an executor on another machine may send it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from isrcheck.commands.exit_codes import DIVERGED, VIOLATED
from isrcheck.conformance.follow.recorded.recording import Objects
from isrcheck.conformance.follow.report.tell import WHY, losses, place, spell_unmet_claim, tell
from isrcheck.conformance.follow.runs import EXIT_CODES, Outcome, Verdict, Watch, count, follow_log
from isrcheck.conformance.follow.search.explain import (
    Explained,
    NothingToFollow,
    RejectedAfter,
    Undecided,
    WhyNotTaken,
    follow_recording,
)
from isrcheck.conformance.follow.search.explain import Outcome as RecordingOutcome
from isrcheck.conformance.follow.search.promises import summary
from isrcheck.conformance.follow.wire.convert import is_recording, wire_observations
from isrcheck.models.messages import UsageError
from isrcheck.traces.format.files import to_text

OF_RUNS = (Verdict.REJECTED, Verdict.UNDECIDED, Verdict.NOTHING, Verdict.FOLLOWED)
"""The verdict on a log of several runs is the first of these that one of its runs has."""


@dataclass(frozen=True)
class FollowRequest:
    """How logs are to be followed: the options, which are the same for every log."""

    protocol: str | None
    """If `model`, `protocol` or `values` are given, logs of events with different ones are refused."""

    generation: str
    """The generation for logs that name none."""

    values: Mapping[str, int]
    most_states: int

    memory: int
    """The memory limit for each log."""

    ends: float | None
    """The end of the time limit by time.time(), because executors share no other clock; None: no limit."""

    with_trace: bool = False
    model: str | None = None

    why_not_taken: WhyNotTaken | None = None
    """Asks a system with clocks whether it can take the steps that explain a recording; None: there is no system."""

    @property
    def seconds(self) -> float | None:
        """The seconds left until the end of the time limit; None: no limit."""
        return None if self.ends is None else max(0.0, self.ends - time.time())


@dataclass(frozen=True)
class LogVerdict:
    """The verdict on a log, with its reason, in one line.

    `rejections` are the lines about each rejected run, even if a later line of the log is damaged; `trace` is the
    text of the trace that explains a recording, if requested; `is_violated` says that this trace violates a property.
    """

    verdict: Verdict
    where: str
    why: str
    rejections: Sequence[Sequence[str]] = ()
    trace: str | None = None
    is_violated: bool = False

    @property
    def exit_codes(self) -> set[int]:
        return {EXIT_CODES[self.verdict], *[DIVERGED] * bool(self.rejections), *[VIOLATED] * self.is_violated}

    def __str__(self) -> str:
        return f"{self.verdict:<{max(map(len, Verdict))}} {self.where}: {self.why}"


def unreadable(error: UsageError, rejections: Sequence[Sequence[str]] = ()) -> LogVerdict:
    """The verdict that a line of a log is unreadable (`error`); `rejections` are about the runs before this line."""
    return LogVerdict(Verdict.UNREADABLE, "", str(error), rejections)


def follow_one(
    path: Path,
    request: FollowRequest,
    content: bytes | None = None,
    *,
    objects: Objects | None = None,
    tick: Callable[[], None] = lambda: None,
    announce: Callable[[str], None] = lambda message: None,
) -> LogVerdict:
    """Follow a log, and return the verdict on it, which is UNREADABLE if the log cannot be read.

    `tick` is called about twice a second. If `content` or `objects` (of the lines of a recording) are given, nothing is
    read from the disk. Raises KeyboardInterrupt if the user interrupts, because the log then has no verdict.
    """
    try:
        if objects is None and not is_recording(path, request.model, content):
            return _follow_events(path, request, content, tick)
        outcome = follow_recording(
            path,
            request.generation,
            request.values,
            memory=request.memory,
            seconds=request.seconds,
            report=lambda words, seconds: tick(),
            announce=announce,
            content=content,
            objects=objects or wire_observations(path, content),
            why_not_taken=request.why_not_taken,
        )
        return _on_recording(path, outcome, with_trace=request.with_trace)
    except UsageError as error:
        return unreadable(error)


def _follow_events(path: Path, request: FollowRequest, content: bytes | None, tick: Callable[[], None]) -> LogVerdict:
    watch, outcomes = Watch(request.seconds, lambda words, seconds: tick()), list[Outcome]()
    try:
        question = request.protocol, request.values
        for outcome in follow_log(path, request.most_states, *question, watch, content, request.model):
            outcomes.append(outcome)
    except UsageError as error:
        return unreadable(error, _rejections(outcomes))
    verdict = next(verdict for verdict in OF_RUNS if any(outcome.verdict is verdict for outcome in outcomes))
    equal = [outcome for outcome in outcomes if outcome.verdict is verdict]
    where = f"{path}:{equal[0].line}" if equal[0].line else str(path)
    return LogVerdict(verdict, where, _why(equal, len(outcomes)), _rejections(outcomes))


def _why(outcomes: Sequence[Outcome], of: int) -> str:
    """The reason in one line for the verdict that all of `outcomes` have; the log has `of` runs."""
    first = outcomes[0]
    if first.verdict is Verdict.NOTHING:
        return "nothing to follow, there is no event"
    if first.verdict is not Verdict.FOLLOWED:
        return f"run {first.run}: {first.why}" + (f" (so {len(outcomes)} of {of} runs)" if of > 1 else "")
    events = count(sum(outcome.events for outcome in outcomes), "event")
    missing = sum(outcome.missing for outcome in outcomes)
    return f"{count(of, 'run')}, {events}" + (f", {missing} missing between them" if missing else "")


def _rejections(outcomes: Sequence[Outcome]) -> list[list[str]]:
    """For each rejected run, lines of text: where, the event, and the step that comes nearest to the observation."""
    return [
        [
            outcome.spell()[0],
            *([f"  {outcome.event}"] if outcome.event is not None else []),
            *(f"  {candidate}" for candidate in outcome.candidates[:1]),
        ]
        for outcome in outcomes
        if outcome.verdict is Verdict.REJECTED
    ]


def _on_recording(path: Path, outcome: RecordingOutcome, *, with_trace: bool) -> LogVerdict:
    if isinstance(outcome, NothingToFollow):
        return LogVerdict(Verdict.NOTHING, str(path), "nothing to follow: no line describes a state or a fault")
    if isinstance(outcome, Explained):
        why = f"a behaviour of {outcome.trace.instance.protocol.name}, in {outcome.trace.length} steps"
        if outcome.untimely:
            why += f"; no path was found that keeps to time: {outcome.untimely}"
        if outcome.failures:
            failures = outcome.failures, outcome.recording
            why += "; ".join(["", summary(*failures), *losses(*failures, outcome.passed)])
        trace = to_text(outcome.trace) if with_trace else None
        return LogVerdict(Verdict.EXPLAINED, str(path), why, trace=trace, is_violated=outcome.exit_code == VIOLATED)
    if isinstance(outcome, Undecided):
        if outcome.why == "interrupt":
            raise KeyboardInterrupt
        at = None if outcome.recording is None or outcome.line is None else place(outcome.recording.path, outcome.line)
        return LogVerdict(Verdict.UNDECIDED, at or str(path), WHY.get(outcome.why, outcome.why))
    where = place(outcome.recording.path, outcome.line)
    if isinstance(outcome, RejectedAfter):
        why = "no behaviour explains the whole recording; the first line that has none is this line or a later one"
        return LogVerdict(Verdict.REJECTED, where, why, [tell(outcome)])
    line = outcome.line.says
    unmet = [f"  {spell_unmet_claim(claim, outcome.possible)}" for claim in outcome.unmet]
    return LogVerdict(Verdict.REJECTED, where, line, [[f"{where}: it is rejected: {line}", *unmet]])

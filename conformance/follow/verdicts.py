"""The verdict on one log among many: events of runs, or observations of a Kafka.

In:  the `FollowRequest` for all logs; the name of one log, and its content if it was sent along.
Out: a `LogVerdict`: a word and a reason, as texts, because it may come from another machine.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from isrcheck.commands.exit_codes import DIVERGED, DONE, NOTHING, UNDECIDED, USAGE, VIOLATED
from isrcheck.conformance.follow import runs as events
from isrcheck.conformance.follow.format.ndjson import lines_of
from isrcheck.conformance.follow.recorded.lines import is_observation, only_about_kafka
from isrcheck.conformance.follow.recorded.recording import Objects
from isrcheck.conformance.follow.report.tell import WHY, losses, place, spell_unmet_claim, tell
from isrcheck.conformance.follow.runs import Watch, follow_log
from isrcheck.conformance.follow.search import explain as observations
from isrcheck.conformance.follow.search.explain import WhyNotTaken, follow_recording
from isrcheck.conformance.follow.search.promises import summary
from isrcheck.conformance.follow.wire.convert import wire_observations
from isrcheck.conformance.follow.wire.messages import is_wire
from isrcheck.models.messages import UsageError
from isrcheck.traces.format.files import to_text


class Word(StrEnum):
    """The verdicts on a log."""

    FOLLOWED = "FOLLOWED"
    EXPLAINED = "EXPLAINED"
    REJECTED = "REJECTED"
    UNDECIDED = "UNDECIDED"
    NOTHING = "NOTHING"
    UNREADABLE = "UNREADABLE"


EXIT_CODES = {
    Word.FOLLOWED: DONE,
    Word.EXPLAINED: DONE,
    Word.REJECTED: DIVERGED,
    Word.UNDECIDED: UNDECIDED,
    Word.NOTHING: NOTHING,
    Word.UNREADABLE: USAGE,
}

WORDS = {
    events.Verdict.REJECTED: Word.REJECTED,
    events.Verdict.UNDECIDED: Word.UNDECIDED,
    events.Verdict.NOTHING: Word.NOTHING,
    events.Verdict.FOLLOWS: Word.FOLLOWED,
}
"""The verdict on a log of several runs is the first of these that one of its runs has."""


@dataclass(frozen=True)
class FollowRequest:
    """The request for all logs. `memory` is per log; `generation` applies to logs that name none. With `model`, and
    with `protocol` or `values` of it, logs of events with different ones are refused. `why_not_taken` asks a system
    with clocks whether it can take the steps that explain a recording; None: no system is consulted.

    `ends` is the end of the time limit by time.time(), because executors share no other clock; None: no limit.
    """

    protocol: str | None
    generation: str
    values: Mapping[str, int]
    most_states: int
    memory: int
    ends: float | None
    with_trace: bool = False
    model: str | None = None
    why_not_taken: WhyNotTaken | None = None

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

    word: Word
    where: str
    why: str
    rejections: Sequence[Sequence[str]] = ()
    trace: str | None = None
    is_violated: bool = False

    @property
    def exit_codes(self) -> set[int]:
        """The exit codes of the verdict."""
        more = [DIVERGED] * bool(self.rejections) + [VIOLATED] * self.is_violated
        return {EXIT_CODES[self.word], *more}

    def __str__(self) -> str:
        """One line."""
        return f"{self.word:<{max(map(len, Word))}} {self.where}: {self.why}"


def unreadable(error: UsageError, rejections: Sequence[Sequence[str]] = ()) -> LogVerdict:
    """The verdict on a log of which a line, which the error names, cannot be read."""
    return LogVerdict(Word.UNREADABLE, "", str(error), rejections)


def follow_one(
    path: Path,
    request: FollowRequest,
    content: bytes | None = None,
    *,
    objects: Objects | None = None,
    tick: Callable[[], None] = lambda: None,
    announce: Callable[[str], None] = lambda message: None,
) -> LogVerdict:
    """Follow a log; a defect of the log is a verdict, too. `tick` is called about twice a second.

    If the content is given, or the objects of a recording with their lines, nothing is read from the disk. Raises
    KeyboardInterrupt, because a log whose following was interrupted has no verdict.
    """
    try:
        if objects is not None:
            only_about_kafka(path, request.model)
            return _follow_observations(path, request, content, objects, tick, announce)
        _, line = next(lines_of(path, content), (1, b""))
        if is_observation(line) or is_wire(path, content):
            only_about_kafka(path, request.model)
            found = wire_observations(path, content)
            return _follow_observations(path, request, content, found, tick, announce)
    except UsageError as error:
        return unreadable(error)
    return _follow_events(path, request, content, tick)


def _follow_events(path: Path, request: FollowRequest, content: bytes | None, tick: Callable[[], None]) -> LogVerdict:
    watch, found = Watch(request.seconds, lambda progress: tick()), list[events.Outcome]()
    try:
        asked = request.protocol, request.values
        for outcome in follow_log(path, request.most_states, *asked, watch, content, request.model):
            found.append(outcome)
    except UsageError as error:
        return unreadable(error, _rejections(found))
    verdict = next(verdict for verdict in WORDS if any(outcome.verdict == verdict for outcome in found))
    like_it = [outcome for outcome in found if outcome.verdict == verdict]
    where = f"{path}:{like_it[0].line}" if like_it[0].line else str(path)
    return LogVerdict(WORDS[verdict], where, _why(like_it, len(found)), _rejections(found))


def _why(found: Sequence[events.Outcome], of: int) -> str:
    """The reasons for a verdict that several runs share, in one line."""
    first = found[0]
    if first.verdict == events.Verdict.NOTHING:
        return "nothing to follow, there is no event"
    if first.verdict != events.Verdict.FOLLOWS:
        return f"run {first.run}: {first.why}" + (f" (so {len(found)} of {of} runs)" if of > 1 else "")
    so_far = events.count(sum(outcome.events for outcome in found), "event")
    missing = sum(outcome.missing for outcome in found)
    return f"{events.count(of, 'run')}, {so_far}" + (f", {missing} missing between them" if missing else "")


def _rejections(found: Sequence[events.Outcome]) -> list[list[str]]:
    """For each rejected run: the line, the event, and the step whose result differs in the fewest cells."""
    return [
        [
            outcome.spell()[0],
            *([f"  {outcome.event}"] if outcome.event is not None else []),
            *(f"  {candidate}" for candidate in outcome.candidates[:1]),
        ]
        for outcome in found
        if outcome.verdict == events.Verdict.REJECTED
    ]


def _follow_observations(
    path: Path,
    request: FollowRequest,
    content: bytes | None,
    objects: Objects | None,
    tick: Callable[[], None],
    announce: Callable[[str], None],
) -> LogVerdict:
    outcome = follow_recording(
        path,
        request.generation,
        request.values,
        memory=request.memory,
        seconds=request.seconds,
        report=lambda progress: tick(),
        announce=announce,
        content=content,
        objects=objects,
        why_not_taken=request.why_not_taken,
    )
    if isinstance(outcome, observations.NothingToFollow):
        return LogVerdict(Word.NOTHING, str(path), "nothing to follow: no line describes a state or a fault")
    if isinstance(outcome, observations.Explained):
        why = f"a behaviour of {outcome.trace.instance.protocol.name}, in {outcome.trace.length} steps"
        if outcome.untimely:
            why += f"; no path was found that keeps to time: {outcome.untimely}"
        if outcome.failures:
            told = outcome.failures, outcome.recording
            why += "; ".join(["", summary(*told), *losses(*told, outcome.passed)])
        kept = to_text(outcome.trace) if request.with_trace else None
        return LogVerdict(Word.EXPLAINED, str(path), why, trace=kept, is_violated=outcome.exit_code == VIOLATED)
    if isinstance(outcome, observations.Undecided):
        if outcome.why == "interrupt":
            raise KeyboardInterrupt
        at = None if outcome.recording is None or outcome.line is None else place(outcome.recording.path, outcome.line)
        return LogVerdict(Word.UNDECIDED, at or str(path), WHY.get(outcome.why, outcome.why))
    where = place(outcome.recording.path, outcome.line)
    if isinstance(outcome, observations.RejectedAfter):
        first, *more = tell(outcome)
        return LogVerdict(
            Word.REJECTED, where, "no behaviour explains it, at this line or a later one", [[first, *more]]
        )
    seen = outcome.line.says
    unmet = [f"  {spell_unmet_claim(claim, outcome.possible)}" for claim in outcome.unmet]
    return LogVerdict(Word.REJECTED, where, seen, [[f"{where}: it is rejected: {seen}", *unmet]])

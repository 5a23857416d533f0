"""Follows the log of a run: checks whether the run is a behaviour of the model.

All states that are possible after each event are kept. A run is *rejected* only if every possibility was tried, and
*undecided* if a limit was reached first.
"""

from __future__ import annotations

import itertools
import json
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import Any

from isrcheck.commands.exit_codes import DIVERGED, DONE, NOTHING, UNDECIDED, USAGE
from isrcheck.conformance.follow.format.events import Event, RunEvent, RunStart, read_log
from isrcheck.conformance.follow.format.variables import Observed, Variables, agrees
from isrcheck.models import run
from isrcheck.models.language.model import Instance, Step
from isrcheck.models.run import Cells
from isrcheck.traces.format.why_false import first_false_guard

SECONDS_BETWEEN_REPORTS = 0.5


class TimeOverError(Exception):
    """The time limit was reached."""


class Watch:
    """The clock while a log is followed. `line` is the current line, `possible` the number of states before it.
    `report` takes the progress in words, and the seconds since the start."""

    def __init__(
        self, seconds: float | None = None, report: Callable[[str, float], None] = lambda words, seconds: None
    ) -> None:
        self.line = self.possible = 0
        self._report = report
        self._began = self._reported = time.monotonic()
        self._end = float("inf") if seconds is None else self._began + seconds

    def look(self) -> None:
        """Check the clock; called at least once per state. Raises TimeOverError."""
        now = time.monotonic()
        if now > self._end:
            raise TimeOverError
        if now - self._reported >= SECONDS_BETWEEN_REPORTS:
            self._reported = now
            self._report(f"line {self.line:,}, {self.possible:,} possible states", now - self._began)


class TooManyError(Exception):
    """More states are possible than the limit allows."""


class StateSet:
    """The states of the model that are possible after an event. `largest` is the largest number of states so far. All
    methods raise TooManyError, or TimeOverError at the time limit of `watch`; the states are then unchanged."""

    def __init__(self, instance: Instance, observed: Observed, most: int, watch: Watch) -> None:
        """Begin with the initial states that agree with the observation."""
        self._instance = instance
        self._most = most
        self._watch = watch
        self.largest = 0
        starts = instance.enumerated(lambda count, size: watch.look())
        self.states = self._collect(cells for cells in starts if agrees(cells, observed))

    def skip(self, events: int) -> None:
        """Replace the states by all states to which `events` arbitrary steps lead: so many events are missing."""
        states = self.states
        for _ in range(events):
            if not states:
                break
            states = self._collect(self._successors(states))
        self.states = states

    def take(self, steps: Sequence[Step], observed: Observed) -> bool:
        """Take each of these steps in each state, and keep the results that agree with the observation. Returns whether
        any result agrees; if none does, the states stay unchanged, so that the reason can be found."""
        states = self._collect(self._after(steps, observed))
        if states:
            self.states = states
        return bool(states)

    def _successors(self, states: Sequence[Cells]) -> Iterator[Cells]:
        for state in states:
            self._watch.look()
            for _, cells in run.successors(self._instance, state):
                yield cells

    def _after(self, steps: Sequence[Step], observed: Observed) -> Iterator[Cells]:
        for state in self.states:
            self._watch.look()
            for step in steps:
                cells = run.take(self._instance, state, step)
                if cells is not None and agrees(cells, observed):
                    yield cells

    def _collect(self, reached: Iterable[Cells]) -> tuple[Cells, ...]:
        states: dict[Cells, None] = {}
        for cells in reached:
            states[cells] = None
            if len(states) > self._most:
                raise TooManyError
        self.largest = max(self.largest, len(states))
        return tuple(states)


MOST_EXPLAINED = 24
"""The number of pairs of a possible state and a candidate step for which a reason is computed."""


class Verdict(StrEnum):
    """The verdict on a run, or on a whole log."""

    FOLLOWED = "FOLLOWED"
    EXPLAINED = "EXPLAINED"
    REJECTED = "REJECTED"
    UNDECIDED = "UNDECIDED"
    NOTHING = "NOTHING"
    UNREADABLE = "UNREADABLE"


EXIT_CODES = {
    Verdict.FOLLOWED: DONE,
    Verdict.EXPLAINED: DONE,
    Verdict.REJECTED: DIVERGED,
    Verdict.UNDECIDED: UNDECIDED,
    Verdict.NOTHING: NOTHING,
    Verdict.UNREADABLE: USAGE,
}


@dataclass(frozen=True)
class Candidate:
    """A step that an event may record, and why it is impossible: a guard is false, or the result was not observed."""

    step: str
    reason: str

    def __str__(self) -> str:
        return f"{self.step}: {self.reason}"


@dataclass(frozen=True)
class Outcome:
    """The outcome of following one run: the verdict and, unless the run was followed to its end, where and why."""

    verdict: Verdict
    path: Path
    run: str = ""

    events: int = 0
    """The number of events that were followed."""

    missing: int = 0
    """The number of missing events; arbitrary steps were taken instead."""

    possible: int = 0
    """The number of states that remain, or remained before the rejected event."""

    largest: int = 0
    """The largest number of states."""

    line: int = 0
    """The line at which following ended early, if it did."""

    event: Event | None = None
    """The event on this line."""

    why: str = ""

    candidates: tuple[Candidate, ...] = ()
    """Why each step that the event may record is impossible."""

    left_out: int = 0
    """The number of further pairs of a state and a step, whose reasons are not listed."""

    def spell(self) -> list[str]:
        name = f"run {self.run}" if self.run else str(self.path)
        so_far = count(self.events, "event") + (f", {self.missing} missing between them" if self.missing else "")
        states = count(self.possible, "possible state")
        if self.verdict is Verdict.FOLLOWED:
            return [f"{name} follows the model: {so_far}; {states}, {self.largest} at most at one time"]
        if self.verdict is Verdict.NOTHING:
            return [f"{name}: nothing to follow, there is no event"]
        is_undecided = self.verdict is Verdict.UNDECIDED
        lines = [f"{self.path}:{self.line}: {name} is {'undecided' if is_undecided else 'rejected'}: {self.why}"]
        if self.event is not None:
            lines.append(f"  {self.event}")
        if self.event is not None or is_undecided:
            lines.append(f"  after {so_far}, with {states}")
        lines += [f"  {candidate}" for candidate in self.candidates]
        if self.left_out:
            lines.append(f"  and {self.left_out} more pairs of a possible state and a step")
        return lines


def count(number: int, noun: str) -> str:
    """A number with its noun, in the plural unless it is 1."""
    return f"{number} {noun}{'' if number == 1 else 's'}"


def explain(
    instance: Instance, variables: Variables, states: Sequence[Cells], steps: Sequence[Step], observed: Observed
) -> tuple[tuple[Candidate, ...], int]:
    """Return reasons why no step leads from any of the states to the observation, and how many further pairs of a state
    and a step there are.

    Steps whose results differ from the observation in the fewest values come first, steps that are not enabled last.
    """
    distances: dict[Candidate, int] = {}
    pairs = itertools.product(states, steps)
    for state, step in itertools.islice(pairs, max(MOST_EXPLAINED, len(steps))):
        candidate, distance = _why_not(instance, variables, state, step, observed)
        distances[candidate] = min(distance, distances.get(candidate, distance))
    ordered = sorted(distances, key=distances.__getitem__)[:MOST_EXPLAINED]
    return tuple(ordered), len(states) * len(steps) - len(ordered)


def why_not_at_the_start(instance: Instance, variables: Variables, observed: Observed) -> tuple[Candidate, ...]:
    """Why initial states (the first MOST_EXPLAINED of them) disagree with the observation; each reason once."""
    starts = instance.initial_states[:MOST_EXPLAINED]
    return tuple(dict.fromkeys(Candidate("initially", _difference(variables, cells, observed)[0]) for cells in starts))


def _why_not(
    instance: Instance, variables: Variables, state: Cells, step: Step, observed: Observed
) -> tuple[Candidate, int]:
    spelt = instance.spell_step(step)
    after = run.take(instance, state, step)
    if after is not None:
        reason, distance = _difference(variables, after, observed)
        return Candidate(spelt, reason), distance
    guard = first_false_guard(instance, state, step)
    if guard is None:
        return Candidate(spelt, f"protocol {instance.protocol.name} has no such action"), len(state)
    return Candidate(spelt, f"{guard.place}: {guard}"), len(state)


def _difference(variables: Variables, cells: Cells, observed: Observed) -> tuple[str, int]:
    """The first value of a state that differs from the observation, in words, and the number of differing values."""
    differences = list(variables.differences(cells, observed))
    key, here, there = differences[0]
    others = f", and {len(differences) - 1} more cells differ" if len(differences) > 1 else ""
    return f"it leads to {key} = {json.dumps(here)}, but {json.dumps(there)} was observed{others}", len(differences)


MOST_STATES = 10_000
"""The default limit on the number of possible states."""

TIME_IS_OVER = "the time limit was reached; give more with --seconds"

MOST_MISSING = 100
"""The limit on consecutive missing events, for each of which all steps of the model are tried."""


def follow_log(
    path: Path,
    most_states: int = MOST_STATES,
    protocol: str | None = None,
    values: Mapping[str, int] | None = None,
    watch: Watch | None = None,
    content: bytes | None = None,
    model: str | None = None,
) -> Iterator[Outcome]:
    """Yield the outcome of each run in a log, after the run is read to its end.

    An empty log has one outcome, without a run.

    A rejected or undecided run is read to its end, too, so that any damaged line is reported. If `model`, `protocol`
    or `values` (of the configuration, by name) are given, a log that differs is refused. Raises UsageError
    (`FILE:LINE: what; cure`) for a damaged line; the run that contains it has no outcome. With a `watch`, a run that
    exceeds the time limit is undecided. If `content` is given, the log is not read from the disk.
    """
    watch = watch or Watch()
    following: _Following | None = None
    for line in read_log(path, protocol, values, content, model):
        watch.line = line.line
        if isinstance(line, RunStart):
            if following is not None:
                yield following.outcome
            following = _Following(path, line, most_states, watch)
        elif following is not None:
            following.happened(line)
    yield following.outcome if following is not None else Outcome(Verdict.NOTHING, path)


class _Following:
    def __init__(self, path: Path, began: RunStart, most_states: int, watch: Watch) -> None:
        self._began = began
        self._watch = watch
        self._most = most_states
        self._possible: StateSet | None = None
        self._so_far = Outcome(Verdict.NOTHING, path, began.header.run)
        self._end: Outcome | None = None
        self._events = 0
        self._missing = 0
        try:
            self._possible = StateSet(began.instance, began.observed, most_states, watch)
        except TooManyError:
            why = f"more than {most_states} initial states are possible; raise --most-states"
            self._stop(Verdict.UNDECIDED, began.line, why)
        else:
            if not self._possible.states:
                why = "no initial state of this configuration agrees with the observation"
                candidates = why_not_at_the_start(began.instance, began.variables, began.observed)
                self._stop(Verdict.REJECTED, began.line, why, candidates=candidates)

    @property
    def outcome(self) -> Outcome:
        return self._end or self._ended(Verdict.FOLLOWED if self._events else Verdict.NOTHING)

    def happened(self, line: RunEvent) -> None:
        if self._end is not None:
            return
        possible, event = self._possible, line.event
        assert possible is not None
        try:
            if line.missing > MOST_MISSING:
                why = f"{line.missing} events are missing before it, more than {MOST_MISSING}; record more events"
                self._stop(Verdict.UNDECIDED, line.line, why, event=event)
                return
            possible.skip(line.missing)
            if not possible.take(line.steps, line.observed):
                instance, variables, states = self._began.instance, self._began.variables, possible.states
                candidates, left_out = explain(instance, variables, states, line.steps, line.observed)
                why = (
                    "no step of the model leads to the observed state"
                    if states
                    else "no path of the model takes this many arbitrary steps for the missing events"
                )
                reasons = {"candidates": candidates, "left_out": left_out}
                self._stop(Verdict.REJECTED, line.line, why, event=event, **reasons)
        except TooManyError:
            why = f"more than {self._most} states are possible; raise --most-states, or record more"
            self._stop(Verdict.UNDECIDED, line.line, why, event=event)
        except TimeOverError:
            self._stop(Verdict.UNDECIDED, line.line, TIME_IS_OVER, event=event)
        self._watch.possible = len(possible.states)
        if self._end is None:
            self._events += 1
            self._missing += line.missing

    def _stop(self, verdict: Verdict, line: int, why: str, **details: Any) -> None:
        self._end = replace(self._ended(verdict), line=line, why=why, **details)

    def _ended(self, verdict: Verdict) -> Outcome:
        possible = self._possible
        return replace(
            self._so_far,
            verdict=verdict,
            events=self._events,
            missing=self._missing,
            possible=len(possible.states) if possible else 0,
            largest=possible.largest if possible else 0,
        )

"""Follows the log of a run: checks whether the run is a behaviour of the model.

In:  the path of a log (format/events.py).
Out: an `Outcome` for each run in it.

All states that are possible after each event are kept. A run is *rejected* only if every possibility was tried, and
*undecided* if a limit was reached first.
"""

from __future__ import annotations

import itertools
import json
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import IntEnum
from pathlib import Path

from isrcheck import models
from isrcheck.conformance.follow.format.events import Event, RunEvent, RunStart, read_log
from isrcheck.conformance.follow.format.variables import Seen, Variables, agrees
from isrcheck.models import run
from isrcheck.models.language.model import Instance, Step
from isrcheck.models.run import Cells
from isrcheck.traces.format.why_false import first_false_guard

SECONDS_BETWEEN_REPORTS = 0.5


class TimeOverError(Exception):
    """The time limit was reached."""


@dataclass(frozen=True)
class Progress:
    """The position in a log: the current line, and the number of possible states before it."""

    seconds: float
    line: int
    possible: int


class Watch:
    """The clock for a whole log. The follower sets `line` and `possible`, which `Progress` reports."""

    def __init__(
        self, seconds: float | None = None, report: Callable[[Progress], None] = lambda progress: None
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
            self._report(Progress(now - self._began, self.line, self.possible))


class TooManyError(Exception):
    """More states are possible than the limit allows."""


class StateSet:
    """The possible states after each event. `largest` is the largest number of states so far.

    All methods raise TooManyError, and TimeOverError when the watch does; the states are then unchanged.
    """

    def __init__(self, instance: Instance, seen: Seen, most: int, watch: Watch) -> None:
        """The initial states that agree with the observation."""
        self._instance = instance
        self._most = most
        self._watch = watch
        self.largest = 0
        starts = instance.enumerated(lambda count, size: watch.look())
        self.states = self._collect(cells for cells in starts if agrees(cells, seen))

    def skip(self, events: int) -> None:
        """Take this number of arbitrary steps, in place of missing events."""
        states = self.states
        for _ in range(events):
            if not states:
                break
            states = self._collect(self._successors(states))
        self.states = states

    def take(self, steps: Sequence[Step], seen: Seen) -> bool:
        """Take one of these steps, followed by this observation; return whether that is possible.

        If it is not possible, the states stay unchanged, so that the reason can be found.
        """
        states = self._collect(self._after(steps, seen))
        if states:
            self.states = states
        return bool(states)

    def _successors(self, states: Sequence[Cells]) -> Iterator[Cells]:
        for state in states:
            self._watch.look()
            for _, cells in run.successors(self._instance, state):
                yield cells

    def _after(self, steps: Sequence[Step], seen: Seen) -> Iterator[Cells]:
        for state in self.states:
            self._watch.look()
            for step in steps:
                cells = run.take(self._instance, state, step)
                if cells is not None and agrees(cells, seen):
                    yield cells

    def _collect(self, found: Iterable[Cells]) -> tuple[Cells, ...]:
        """These states in the order of discovery, each only once."""
        states: dict[Cells, None] = {}
        for cells in found:
            states[cells] = None
            if len(states) > self._most:
                raise TooManyError
        self.largest = max(self.largest, len(states))
        return tuple(states)


MOST_EXPLAINED = 24
"""The number of pairs of a possible state and a candidate step for which a reason is computed."""

ROOT = Path(models.__file__).parents[1]


class Verdict(IntEnum):
    """Whether a run is a behaviour of the model; the value is the exit code of the command."""

    FOLLOWS = 0
    UNDECIDED = 3
    REJECTED = 20
    NOTHING = 21


@dataclass(frozen=True)
class Candidate:
    """A step that an event may record, and why it is impossible: a guard is false, or the state after it differs."""

    step: str
    reason: str

    def __str__(self) -> str:
        """The step and the reason, in one line."""
        return f"{self.step}: {self.reason}"


@dataclass(frozen=True)
class Outcome:
    """The outcome of one run; `line` and `event` are where following ended early, if it did.

    `events` were followed; `possible` states remain, or remained before the rejected event; `largest` was the largest
    number of states. Arbitrary steps took the place of `missing` events. `candidates` say why each step is impossible;
    `left_out` is the number of further pairs of a state and a step, whose reasons are not listed.
    """

    verdict: Verdict
    path: Path
    run: str = ""
    events: int = 0
    missing: int = 0
    possible: int = 0
    largest: int = 0
    line: int = 0
    event: Event | None = None
    why: str = ""
    candidates: tuple[Candidate, ...] = ()
    left_out: int = 0

    def spell(self) -> list[str]:
        """The lines for the user."""
        name = f"run {self.run}" if self.run else str(self.path)
        so_far = f"{count(self.events, 'event')}"
        if self.missing:
            so_far += f", {self.missing} missing between them"
        states = f"{count(self.possible, 'possible state')}, {self.largest} at most"
        match self.verdict:
            case Verdict.FOLLOWS:
                return [f"{name} follows the model: {so_far}; {states} at one time"]
            case Verdict.NOTHING:
                return [f"{name}: nothing to follow, there is no event"]
            case Verdict.UNDECIDED:
                found = [f"{self.path}:{self.line}: {name} is undecided: {self.why}"]
                found += [] if self.event is None else [f"  {self.event}"]
                return [*found, f"  after {so_far}, with {count(self.possible, 'possible state')}"]
        found = [f"{self.path}:{self.line}: {name} is rejected: {self.why}"]
        if self.event is not None:
            found.append(f"  {self.event}")
            found.append(f"  after {so_far}, with {count(self.possible, 'possible state')}")
        found += [f"  {candidate}" for candidate in self.candidates]
        if self.left_out:
            found.append(f"  and {self.left_out} more pairs of a possible state and a step")
        return found


def count(number: int, what: str) -> str:
    """A number with its noun, in the plural unless it is 1."""
    return f"{number} {what}{'' if number == 1 else 's'}"


def explain(
    instance: Instance, variables: Variables, states: Sequence[Cells], steps: Sequence[Step], seen: Seen
) -> tuple[tuple[Candidate, ...], int]:
    """Why no step leads from any state to the observation; and the number of pairs of state and step without a reason.

    Steps whose successors differ from the observation in the fewest cells come first, steps that are not enabled last.
    """
    found: dict[Candidate, int] = {}
    pairs = itertools.product(states, steps)
    for state, step in itertools.islice(pairs, max(MOST_EXPLAINED, len(steps))):
        candidate, distance = _why_not(instance, variables, state, step, seen)
        found[candidate] = min(distance, found.get(candidate, distance))
    ordered = sorted(found, key=lambda candidate: found[candidate])[:MOST_EXPLAINED]
    return tuple(ordered), len(states) * len(steps) - len(ordered)


def why_not_at_the_start(instance: Instance, variables: Variables, seen: Seen) -> tuple[Candidate, ...]:
    """Why no initial state agrees with the observation."""
    found: dict[Candidate, None] = {}
    for cells in instance.initial_states[:MOST_EXPLAINED]:
        reason, _ = _difference(variables, cells, seen)
        found[Candidate("initially", reason)] = None
    return tuple(found)


def _why_not(instance: Instance, variables: Variables, state: Cells, step: Step, seen: Seen) -> tuple[Candidate, int]:
    spelt = instance.spell_step(step)
    after = run.take(instance, state, step)
    if after is not None:
        reason, distance = _difference(variables, after, seen)
        return Candidate(spelt, reason), distance
    guard = first_false_guard(instance, state, step)
    if guard is None:
        return Candidate(spelt, f"protocol {instance.protocol.name} has no such action"), len(state)
    path = Path(guard.path)
    place = path.relative_to(ROOT).as_posix() if path.is_relative_to(ROOT) else guard.path
    return Candidate(spelt, f"{place}:{guard.line}: {guard}"), len(state)


def _difference(variables: Variables, cells: Cells, seen: Seen) -> tuple[str, int]:
    """The first cell that differs from the observation, and the number of differing cells."""
    differences = list(variables.differences(cells, seen))
    key, here, there = differences[0]
    more = f", and {len(differences) - 1} more cells differ" if len(differences) > 1 else ""
    return f"it leads to {key} = {json.dumps(here)}, but {json.dumps(there)} was observed{more}", len(differences)


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

    A rejected or undecided run is still read to its end, so that any damaged line is reported. With `model`,
    `protocol` or `values` (names and numbers of the configuration), a log with others is refused. Raises UsageError
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
    """Follows one run, event by event."""

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
            self._possible = StateSet(began.instance, began.seen, most_states, watch)
        except TooManyError:
            self._end = self._undecided(
                began.line, f"more than {most_states} initial states are possible; raise --most-states"
            )
        else:
            if not self._possible.states:
                why = "no initial state of this configuration agrees with the observation"
                candidates = why_not_at_the_start(began.instance, began.variables, began.seen)
                self._end = replace(self._ended(Verdict.REJECTED), line=began.line, why=why, candidates=candidates)

    @property
    def outcome(self) -> Outcome:
        """The outcome so far."""
        return self._end or self._ended(Verdict.FOLLOWS if self._events else Verdict.NOTHING)

    def happened(self, line: RunEvent) -> None:
        """Follow the next event."""
        if self._end is not None:
            return
        assert self._possible is not None
        instance, variables = self._began.instance, self._began.variables
        try:
            if line.missing:
                self._skip(line)
            if self._end is None and not self._possible.take(line.steps, line.seen):
                states = self._possible.states
                candidates, left_out = explain(instance, variables, states, line.steps, line.seen)
                why = (
                    "no step of the model leads to the observed state"
                    if states
                    else "no path of the model takes this many arbitrary steps for the missing events"
                )
                self._end = replace(
                    self._ended(Verdict.REJECTED),
                    line=line.line,
                    event=line.event,
                    why=why,
                    candidates=candidates,
                    left_out=left_out,
                )
        except TooManyError:
            why = f"more than {self._most} states are possible; raise --most-states, or record more"
            self._end = replace(self._undecided(line.line, why), event=line.event)
        except TimeOverError:
            self._end = replace(self._undecided(line.line, TIME_IS_OVER), event=line.event)
        self._watch.possible = len(self._possible.states)
        if self._end is None:
            self._events += 1
            self._missing += line.missing

    def _skip(self, line: RunEvent) -> None:
        assert self._possible is not None
        if line.missing > MOST_MISSING:
            why = f"{line.missing} events are missing before it, more than {MOST_MISSING}; record more events"
            self._end = replace(self._undecided(line.line, why), event=line.event)
            return
        self._possible.skip(line.missing)

    def _undecided(self, line: int, why: str) -> Outcome:
        return replace(self._ended(Verdict.UNDECIDED), line=line, why=why)

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

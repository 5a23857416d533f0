"""The outcome of following a run: the verdict, and the reason for a rejection.

In:  the possible states before an event, the steps that the event may record, the observation after it.
Out: an `Outcome`, with lines for the user.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path

from isrcheck import models
from isrcheck.conformance.follow.format.events import Event
from isrcheck.conformance.follow.format.variables import Seen, Variables
from isrcheck.models import run
from isrcheck.models.language.model import Instance, Step
from isrcheck.models.run import Cells
from isrcheck.traces.format.why_false import first_false_guard

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
    """The outcome of one run; `line` and `event` are those at which following ended early, if it did.

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

"""The result of a simulation, as plain values, and the verdicts that follow from it.

In:  nothing; checker/simulation/group.py and walks.py fill the fields.
Out: a `Simulation`, and a `Verdict` for every property. That no walk violated a property never reads like a pass.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from isrcheck.checker.outcome.exploration import Finding, Findings
from isrcheck.checker.outcome.kernel_results import EntryKind
from isrcheck.checker.outcome.verdict import Verdict, Word
from isrcheck.models.language.declarations import Kind
from isrcheck.models.language.model import DEADLOCK, IN_RANGE, Instance, Property
from isrcheck.traces.format.erring import error_of

JUDGED = (Kind.ALWAYS, Kind.ALWAYS_STEP, Kind.SOMETIMES)
"""The kinds of properties that a walk can judge: the others are about all continuations of a state."""


@dataclass(kw_only=True)
class Tally:
    """What some walks did and found.

    `walks` were walked to their end. `visited` counts the states of all walks, `steps` the steps between them,
    `generated` all successors of visited states; `longest` is the number of steps of the longest walk. `ended` counts
    the walks that ended in a state without a step within the constraint. For each action, `enabled` counts the visited
    states in which it had a step, and `taken` the walks' steps. `seen` says for each declared value of a field, the
    least one first, whether it had that value in a visited state.
    """

    walks: int = 0
    visited: int = 0
    steps: int = 0
    generated: int = 0
    longest: int = 0
    ended: int = 0
    enabled: NDArray[np.int64]
    taken: NDArray[np.int64]
    seen: dict[str, NDArray[np.bool_]]
    findings: dict[str, Findings] = field(default_factory=dict)

    @classmethod
    def of(cls, instance: Instance, /, **more: Any) -> Self:
        """A tally of no walks."""
        actions = len(instance.model.actions)
        seen = {name: np.zeros(place.high - place.low + 1, bool) for name, place in instance.layouts.items()}
        return cls(enabled=np.zeros(actions, np.int64), taken=np.zeros(actions, np.int64), seen=seen, **more)

    def note(self, name: str, kind: EntryKind, finding: Finding) -> None:
        """Note the first finding of this kind for the property with this name."""
        known = self.findings.setdefault(name, Findings())
        place = known.permitted if kind is EntryKind.PERMITTED else known.found
        if place.path is None:
            place.count, place.path = finding.count, finding.path

    def add(self, other: Tally) -> None:
        """Add what later walks did and found."""
        for name in ("walks", "visited", "steps", "generated", "ended"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.longest = max(self.longest, other.longest)
        self.enabled += other.enabled
        self.taken += other.taken
        for name, seen in other.seen.items():
            self.seen[name] |= seen
        for name, found in other.findings.items():
            for kind, finding in ((EntryKind.FOUND, found.found), (EntryKind.PERMITTED, found.permitted)):
                if finding.path is not None:
                    self.note(name, kind, finding)


@dataclass(frozen=True)
class ValuesSeen:
    """How many values a field declares, how many of them it had in visited states, and those that it had not."""

    declared: int
    seen: int
    missing: Sequence[int]


@dataclass(kw_only=True)
class Simulation(Tally):
    """What a simulation did and found: `asked` walks of at most `depth` steps were asked for.

    `weights` are those of actions, by name, that are not 1. `stopped`: seconds, interrupt, decided, or None.
    """

    instance: Instance
    asked: int
    depth: int
    seed: int
    weights: dict[str, int]
    stopped: str | None = None
    seconds: float = 0.0

    @classmethod
    def begun(cls, instance: Instance, asked: int, depth: int, seed: int, weights: dict[str, int]) -> Simulation:
        """A simulation without a walk."""
        return cls.of(instance, instance=instance, asked=asked, depth=depth, seed=seed, weights=weights)

    @property
    def never_enabled(self) -> list[str]:
        """The actions of the protocol that no visited state enabled."""
        return self._without(self.enabled)

    @property
    def never_taken(self) -> list[str]:
        """The actions of the protocol that were enabled, and that no walk took."""
        return [name for name in self._without(self.taken) if name not in self.never_enabled]

    def _without(self, counts: NDArray[np.int64]) -> list[str]:
        alternatives = zip(self.instance.model.actions, self.instance.alternatives, counts, strict=True)
        return [action.name for action, chosen, count in alternatives if chosen is not None and not count]

    @property
    def values(self) -> dict[str, ValuesSeen]:
        """For each field with cells, how many of its declared values it had."""
        found = {}
        for name, place in self.instance.layouts.items():
            missing = np.flatnonzero(~self.seen[name]) + place.low
            declared = len(self.seen[name])
            if place.count:
                found[name] = ValuesSeen(declared, declared - len(missing), missing.tolist())
        return found


def verdicts(simulation: Simulation, judged: Sequence[Property]) -> list[Verdict]:
    """A verdict for every property of the model: what a walk found, otherwise UNDECIDED. `judged` are the properties
    that apply. Raises AssertionError if the reference semantics does not confirm a range error."""
    found = [_verdict(simulation, prop, prop in judged) for prop in simulation.instance.model.properties]
    for prop in (DEADLOCK, IN_RANGE):
        path = simulation.findings.get(prop.name, Findings()).found.path
        if path is not None:
            note = error_of(simulation.instance, path.initial, path.steps).message if prop is IN_RANGE else ""
            found.append(Verdict(prop, Word.VIOLATED, path.depth, 1, path, note=note))
    return found


def _verdict(simulation: Simulation, prop: Property, applies: bool) -> Verdict:
    if not applies:
        return Verdict(prop, Word.NOT_APPLICABLE)
    if prop.kind not in JUDGED:
        return Verdict(prop, Word.UNDECIDED, note="a walk cannot judge it")
    findings = simulation.findings.get(prop.name, Findings())
    permitted = findings.permitted if findings.permitted.path is not None else None
    if findings.found.path is not None:
        word = Word.REACHED if prop.kind is Kind.SOMETIMES else Word.VIOLATED
        return Verdict(prop, word, findings.found.path.depth, 1, findings.found.path, permitted)
    if permitted is not None and permitted.path is not None:
        return Verdict(prop, Word.PERMITTED, permitted.path.depth, 1, permitted.path, permitted)
    what = "reached it" if prop.kind is Kind.SOMETIMES else "violated it"
    return Verdict(prop, Word.UNDECIDED, note=f"no walk {what}")

"""The result of a simulation, as plain values, and the verdicts that follow from it.

In:  nothing; checker/simulation/walks.py fills the fields.
Out: a `Simulation`, and a `Verdict` for every property. That no walk violated a property never reads like a pass.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from isrcheck.checker.outcome.exploration import Findings
from isrcheck.checker.outcome.verdict import Verdict, Word
from isrcheck.models.language.declare import Kind
from isrcheck.models.language.in_range import DEADLOCK, IN_RANGE
from isrcheck.models.language.model import Instance, Property
from isrcheck.traces.format.erring import error_of

JUDGED = (Kind.ALWAYS, Kind.ALWAYS_STEP, Kind.SOMETIMES)
"""The kinds of properties that a walk can judge: the others are about all continuations of a state."""


@dataclass
class Simulation:
    """What a simulation did and found.

    `asked` walks of at most `depth` steps were asked for; `walks` were walked. `visited` counts the states of all
    walks, `steps` the steps between them, `generated` all successors of visited states; `longest` is the number of
    steps of the longest walk. `ended` counts the walks that ended in a state without a step within the constraint. For
    each action, `enabled` counts the visited states in which it had a step, and `taken` the walks' steps. `seen` has
    for each field the values that it had in visited states. `stopped`: seconds, interrupt, decided, or None.
    """

    instance: Instance
    asked: int
    depth: int
    seed: int
    walks: int = 0
    visited: int = 0
    steps: int = 0
    generated: int = 0
    longest: int = 0
    ended: int = 0
    enabled: list[int] = field(default_factory=list)
    taken: list[int] = field(default_factory=list)
    seen: dict[str, set[int]] = field(default_factory=dict)
    findings: dict[str, Findings] = field(default_factory=dict)
    stopped: str | None = None
    seconds: float = 0.0

    @property
    def never_enabled(self) -> list[str]:
        """The actions of the protocol that no visited state enabled."""
        return self._without(self.enabled)

    @property
    def never_taken(self) -> list[str]:
        """The actions of the protocol that were enabled, and that no walk took."""
        return [name for name in self._without(self.taken) if name not in self.never_enabled]

    def _without(self, counts: Sequence[int]) -> list[str]:
        alternatives = zip(self.instance.model.actions, self.instance.alternatives, counts, strict=True)
        return [action.name for action, chosen, count in alternatives if chosen is not None and not count]

    @property
    def never_seen(self) -> dict[str, list[int]]:
        """For each field, the declared values that it had in no visited state; fields without such values are left
        out."""
        found = {}
        for name, place in self.instance.layouts.items():
            missing = [value for value in range(place.low, place.high + 1) if value not in self.seen.get(name, ())]
            if missing and place.count:
                found[name] = missing
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

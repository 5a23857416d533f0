"""The results of the prover, as plain values.

Out: for each property a `Proof`, or an `Attempt`: a failed attempt, with a counterexample to induction if there is one.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum

from isrcheck.models.language.model import Property, Step


@dataclass(frozen=True)
class CounterexampleToInduction:
    """A state in which all hypotheses hold, a step, and the state after the step, in which the property `claim` fails.

    `says` describes the step in words. `step` is None if evaluating a property leaves a declared range, and in every
    counterexample from the unbounded abstraction; there, cells that the abstraction lacks are None, too.
    """

    claim: str
    before: tuple[int | None, ...]
    step: Step | None
    says: str
    after: tuple[int | None, ...]


@dataclass(frozen=True)
class Proof:
    """A proof that a property holds at every depth.

    `lemmas` names the lemmas and the other properties that the proof uses. If `every_length`, the proof covers all
    values of the open configuration entries (checker/proofs/unbounded_abstraction.py). `steps` is the k of a
    k-induction; for k > 1, the induction considers only paths that visit no state twice. Every proof assumes that no
    step leaves a declared range: `premise` is the proof of this assumption, or None if exhaustive search showed it.
    """

    prop: Property
    lemmas: tuple[str, ...]
    every_length: bool
    steps: int
    seconds: float
    premise: Proof | None = None


FALSE_INITIALLY = "it is false in an initial state"
"""The reason of an attempt that fails already in an initial state, so that no step shows it."""


@dataclass(frozen=True)
class Attempt:
    """A failed attempt at a proof: `why` is the reason; if a step violates the property, `counterexample` shows it."""

    prop: Property
    every_length: bool
    why: str
    counterexample: CounterexampleToInduction | None = None


@dataclass
class Proofs:
    """All proofs and failed attempts. `lost` has the failed attempts to prove lemmas, by name; `is_kept` says that all
    results come from the proof cache."""

    proofs: dict[str, Proof] = field(default_factory=dict)
    attempts: list[Attempt] = field(default_factory=list)
    lost: dict[str, Attempt] = field(default_factory=dict)
    seconds: float = 0.0
    stopped: str | None = None
    is_kept: bool = False

    def attempt(self, name: str) -> Attempt | None:
        """The last failed attempt to prove the property with this name; None if there is no failed attempt."""
        return next((attempt for attempt in reversed(self.attempts) if attempt.prop.name == name), None)

    def joined(self, other: Proofs) -> Proofs:
        """These results together with `other`, the results of a later phase."""
        proofs = other.proofs | self.proofs
        attempts = [*self.attempts, *other.attempts]
        return Proofs(
            proofs,
            # A failed attempt within bounds does not matter if a later phase succeeded.
            [attempt for attempt in attempts if attempt.every_length or attempt.prop.name not in proofs],
            self.lost | other.lost,
            self.seconds + other.seconds,
            self.stopped or other.stopped,
            self.is_kept and other.is_kept,
        )


class Phase(Enum):
    """The phases of proving, in order; each phase looks for a different kind of proof."""

    EVERY_LENGTH = "every length"
    WITHIN_BOUNDS = "within bounds"
    WITH_MORE = "with proposed lemmas, or over more steps"

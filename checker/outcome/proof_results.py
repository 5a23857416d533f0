"""What a search for proofs found, as plain values.

In:  nothing; the engine fills them.
Out: for each property a `Proof`, or an `Attempt` with the counterexample to induction that stands in its way.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum

from isrcheck.models.language.model import Property, Step


@dataclass(frozen=True)
class Counterexample:
    """A counterexample to induction: a state in which everything holds, a step, and the state after it.

    Cells that a slice does not have are None. `step` is None where the step is one of a slice; `says` names it.
    """

    claim: str
    before: tuple[int | None, ...]
    step: Step | None
    says: str
    after: tuple[int | None, ...]


@dataclass(frozen=True)
class Proof:
    """That a property holds at every depth, and what that rests on.

    `lemmas` are the other claims that were used, promises among them. `every_length`: for whatever is open, as in
    checker/proofs/unbounded_abstraction.py. `steps` is the k of a k-induction, whose paths are simple where k > 1. That
    every step stays in range is a premise, which checker/proofs/premises.py looks after: `premise` is the proof of it,
    None where a search to the end has shown it.
    """

    prop: Property
    lemmas: tuple[str, ...]
    every_length: bool
    steps: int
    seconds: float
    premise: Proof | None = None


@dataclass(frozen=True)
class Attempt:
    """A proof that was not found: `broken` is the first claim that fails, with the state and the step; or `why`."""

    prop: Property
    every_length: bool
    why: str
    counterexample: Counterexample | None = None


@dataclass
class Proofs:
    """Everything that was proved and tried. `lost` are lemmas that do not hold where they are claimed; `is_kept` says
    that all of it comes from an earlier run."""

    proofs: dict[str, Proof] = field(default_factory=dict)
    attempts: list[Attempt] = field(default_factory=list)
    lost: dict[str, Attempt] = field(default_factory=dict)
    seconds: float = 0.0
    stopped: str | None = None
    is_kept: bool = False

    def attempt(self, name: str) -> Attempt | None:
        """The last attempt at a property."""
        return next((one for one in reversed(self.attempts) if one.prop.name == name), None)

    def joined(self, other: Proofs) -> Proofs:
        """These, and others that were looked for afterwards."""
        proofs = other.proofs | self.proofs
        attempts = [*self.attempts, *other.attempts]
        return Proofs(
            proofs,
            # An attempt within bounds that a later phase made good is no news.
            [one for one in attempts if one.every_length or one.prop.name not in proofs],
            self.lost | other.lost,
            self.seconds + other.seconds,
            self.stopped or other.stopped,
            self.is_kept and other.is_kept,
        )


class Phase(Enum):
    """Which proofs are looked for."""

    EVERY_LENGTH = "every length"
    WITHIN_BOUNDS = "within bounds"
    WITH_MORE = "with proposed lemmas, or over more steps"

"""What a breadth-first search found, as plain values.

In:  nothing; the engines fill them.
Out: an `Exploration`: how many states were reached in each level, how often each action fired, and for each property
     the path to the first state (or transition) that decides it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from isrcheck.checker.resources.limits import Limits
from isrcheck.models.language.model import Instance
from isrcheck.models.run import Cells


@dataclass(frozen=True)
class Witness:
    """A path: the position of its initial state, and the numbers of its steps."""

    initial: int
    steps: tuple[int, ...]

    @property
    def depth(self) -> int:
        """Transitions from the initial state."""
        return len(self.steps)

    @property
    def order(self) -> tuple[int, int, tuple[int, ...]]:
        """What paths are ordered by: the shortest first, and among those the least."""
        return self.depth, self.initial, self.steps


@dataclass
class Finding:
    """What a search found about one property: how many states or transitions, and the first of them."""

    count: int = 0
    witness: Witness | None = None


@dataclass
class Findings:
    """For `always`: failures that break a promise, and failures that are permitted. For `sometimes`: `found`.

    `erred` is where asking the property leaves the declaration, so that it is not judged; of `in_range`, the steps that
    do so.
    Counts are of the whole search with `count_all`, otherwise of the levels up to the one that decided the property.
    """

    found: Finding = field(default_factory=Finding)
    permitted: Finding = field(default_factory=Finding)
    erred: Finding = field(default_factory=Finding)


class ReachedStates(Protocol):
    """The states that a search has seen, to be asked about."""

    def sample(self, most: int) -> list[Cells]:
        """At most so many of the states, spread evenly over the search."""

    def first_of_levels(self, most: int) -> Iterator[list[Cells]]:
        """The first states of each level, at most so many."""

    def find(self, cells: Sequence[int | None]) -> Witness | None:
        """The path to the first state that has these cells; a cell that is None may have any value."""


@dataclass
class Exploration:
    """What a search did and found.

    `stopped` says why it ended early: memory, seconds, interrupt, decided (no property is open), or None.
    `judged` is the depth to which every state was seen and looked at, `frontier` counts states that were not expanded.
    `findings` has an entry for the implicit property `in_range` only where it is broken; it counts steps that err, and
    states and transitions at which a property does.
    """

    instance: Instance
    limits: Limits
    levels: list[int] = field(default_factory=list)
    generated: int = 0
    frontier: int = 0
    depth: int = 0
    judged: int = 0
    stopped: str | None = None
    seconds: float = 0.0
    bytes_used: int = 0
    fired: list[int] = field(default_factory=list)
    new: list[int] = field(default_factory=list)
    findings: dict[str, Findings] = field(default_factory=dict)
    reached: ReachedStates | None = None

    @property
    def distinct(self) -> int:
        """Different states reached."""
        return sum(self.levels)

    @classmethod
    def without_beginning(
        cls, instance: Instance, limits: Limits, stopped: str, only: Sequence[str] = ()
    ) -> Exploration:
        """Nothing was searched: a limit was met before the initial states were known."""
        none = [0] * len(instance.model.actions)
        findings = {prop.name: Findings() for prop in instance.properties if not only or prop.name in only}
        return cls(instance, limits, judged=-1, stopped=stopped, fired=none, new=none, findings=findings)

    @property
    def has_begun(self) -> bool:
        """Whether a state was searched."""
        return bool(self.levels)

    @property
    def exhausted(self) -> bool:
        """Whether nothing is left to explore: every reachable state was seen and looked at."""
        return self.stopped is None and self.frontier == 0

    @property
    def is_complete(self) -> bool:
        """Whether the search did all that was asked of it: to its depth, or to the end."""
        return self.stopped in (None, "decided")


@dataclass(frozen=True)
class Progress:
    """What is told while a search runs."""

    seconds: float
    depth: int
    distinct: int
    generated: int
    frontier: int
    bytes_used: int

"""The result of a breadth-first search, as plain values.

In:  nothing; the engines fill the fields.
Out: an `Exploration`: the number of states in each level, how often each action fired, and for each property the path
     to the first state (or transition) that violates or reaches it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from isrcheck.checker.resources.limits import Limits
from isrcheck.models.language.model import Instance
from isrcheck.models.run import Cells


@dataclass(frozen=True)
class StepPath:
    """A path: the position of its initial state, and the numbers of its steps.

    If it shows an endless behaviour, its last state is the one that it has after `loop` steps; the steps between are
    repeated for ever, and without such steps the behaviour stays where it is.
    """

    initial: int
    steps: tuple[int, ...]
    loop: int | None = None

    @property
    def depth(self) -> int:
        """The number of transitions from the initial state."""
        return len(self.steps)

    @property
    def order(self) -> tuple[int, int, tuple[int, ...]]:
        """The sort key of paths: shorter paths first, then by initial state and steps."""
        return self.depth, self.initial, self.steps


@dataclass
class Finding:
    """How many states or transitions a search found, and the path to the first of them."""

    count: int = 0
    path: StepPath | None = None


@dataclass
class Findings:
    """What a search found about one property.

    For `always`, `found` counts violations and `permitted` counts permitted failures; for `sometimes`, `found` counts
    the states that reach it. `erred` counts evaluations that leave a declared range and therefore do not judge the
    property; for `in_range` it counts steps that leave a declared range. With `count_all` the counts cover the whole
    search, otherwise the levels up to the one that decided the property.

    For `always_possible`, `found` counts the stuck states, from which no path leads to a state in which the property is
    true; `permitted` counts those in which that is permitted; `unjudged` says why the engine has not judged it. For a
    property of endless behaviours, `found` and `permitted` count the states in which such a behaviour can go on for
    ever.
    """

    found: Finding = field(default_factory=Finding)
    permitted: Finding = field(default_factory=Finding)
    erred: Finding = field(default_factory=Finding)
    unjudged: str = ""


class ReachedStates(Protocol):
    """Answers queries about the states that a search has visited."""

    def sample(self, most: int) -> list[Cells]:
        """About `most` of the states, at equal distances in the order of discovery."""

    def first_of_levels(self, most: int) -> Iterator[list[Cells]]:
        """The first states of each level, at most `most` each."""

    def find(self, cells: Sequence[int | None]) -> StepPath | None:
        """The path to the first state with these values of cells (None: any value); None if there is no such state."""


@dataclass
class Exploration:
    """The result of a breadth-first search.

    `stopped` says why the search ended early: memory, seconds, interrupt, decided (every property is decided), lost
    (Spark), disk (full), or None. `judged` is the depth to which every state was reached and judged; `frontier` counts
    the states that were not expanded. `generated` counts all successors, and `outside` those of them that the model's
    constraint excludes. `findings` has an entry for an implicit property only if something was found; the one for
    `in_range` counts steps, and evaluations of properties, that leave a declared range. `reduction` says which states
    stand for others in this search, so that all counts are counts of those; empty: none, every state was visited.
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
    outside: int = 0
    findings: dict[str, Findings] = field(default_factory=dict)
    reached: ReachedStates | None = None
    reduction: str = ""

    @property
    def distinct(self) -> int:
        """The number of distinct states that were reached."""
        return sum(self.levels)

    @property
    def generated_with_initial(self) -> int:
        """The number of successors and of initial states, as TLC counts."""
        return self.generated + (self.levels[0] if self.levels else 0)

    @classmethod
    def without_beginning(
        cls, instance: Instance, limits: Limits, stopped: str, only: Sequence[str] = ()
    ) -> Exploration:
        """The result of a search that a limit ended before the initial states were known."""
        none = [0] * len(instance.model.actions)
        findings = {prop.name: Findings() for prop in instance.properties if not only or prop.name in only}
        return cls(instance, limits, judged=-1, stopped=stopped, fired=none, new=none, findings=findings)

    @property
    def has_begun(self) -> bool:
        """Whether any state was searched."""
        return bool(self.levels)

    @property
    def exhausted(self) -> bool:
        """Whether every reachable state was reached and judged."""
        return self.stopped is None and self.frontier == 0

    @property
    def is_complete(self) -> bool:
        """Whether the search did everything that was requested: it reached its depth or the end of the state space."""
        return self.stopped in (None, "decided")


@dataclass(frozen=True)
class Progress:
    """A progress report of a running search.

    `forecast` is the expected number of states in the next level, if it can be said. A search on disk has
    `bytes_on_disk`, and `candidates`: states of the next level, some of which may turn out to be duplicates.
    """

    seconds: float
    depth: int
    distinct: int
    generated: int
    frontier: int
    bytes_used: int
    forecast: int | None = None
    bytes_on_disk: int | None = None
    candidates: int = 0

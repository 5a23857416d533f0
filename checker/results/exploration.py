"""The results of searches, as plain values: those of the explorer, and those of bounded model checking.

Out: an `Exploration`: the number of states in each level, how often each action fired, and for each property the path
     to the first state (or transition) that violates or reaches it; a `BmcResult`. The engines fill their fields. Also
     the forecast of the next level's size.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from isrcheck.checker.resources.limits import Limits
from isrcheck.models.language.model import Instance
from isrcheck.models.run import Cells


@dataclass(frozen=True)
class StepPath:
    """A path: the position of its initial state, and the numbers of its steps.

    If the path shows an endless behaviour, its last state equals its state after `loop` steps, and the steps between
    these two states are repeated for ever. If `loop` is the number of all steps, the behaviour stays in the last state.
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
        """A key that sorts paths by length, and paths of equal length by initial state and steps."""
        return self.depth, self.initial, self.steps


@dataclass
class Finding:
    """The number of states or transitions that have one kind of result, and the path to the first of them."""

    count: int = 0
    path: StepPath | None = None


@dataclass
class Findings:
    """What a search found about one property.

    For `always`, `found` counts violations and `permitted` counts permitted failures; for `sometimes`, `found` counts
    the states in which the property is true. `erred` counts states or steps in which the property has no result because
    its evaluation leaves a declared range; for `in_range`, `erred` counts the steps that leave a declared range. With
    `count_all` the counts cover the whole search, otherwise the levels up to the level that decided the property.

    For `always_possible`, `found` counts stuck states, from which no path leads to a state in which the property is
    true; `permitted` counts stuck states in which the failure is permitted. For a liveness property, `found` counts the
    states that a violating behaviour can repeat for ever; `permitted` counts the same for permitted failures. If the
    property has no verdict, `unjudged` says why.
    """

    found: Finding = field(default_factory=Finding)
    permitted: Finding = field(default_factory=Finding)
    erred: Finding = field(default_factory=Finding)
    unjudged: str = ""


class ReachedStates(Protocol):
    """Answers queries about the states that a search has visited; each engine has an implementation of its own."""

    def sample(self, most: int) -> list[Cells]:
        """About `most` of the visited states, at equal distances in the order of discovery."""

    def first_of_levels(self, most: int) -> Iterator[list[Cells]]:
        """The first states of each level, at most `most` each."""

    def find(self, cells: Sequence[int | None]) -> StepPath | None:
        """The path to the first state whose cells have these values, where None stands for any value. Returns None if
        the search visited no such state."""


@dataclass
class Exploration:
    """The result of a breadth-first search."""

    instance: Instance
    limits: Limits
    levels: list[int] = field(default_factory=list)
    """The number of states that were first reached at each depth."""
    generated: int = 0
    """The number of successors, new or not."""
    frontier: int = 0
    """The number of states that were not expanded."""
    depth: int = 0
    judged: int = 0
    """The depth to which every state was reached and judged."""
    stopped: str | None = None
    """Why it ended early: memory, seconds, interrupt, decided (every property), lost (Spark), disk (full); or None."""
    seconds: float = 0.0
    bytes_used: int = 0
    fired: list[int] = field(default_factory=list)
    """The number of steps of each action, and (`new`) the number of states that they reached first."""
    new: list[int] = field(default_factory=list)
    outside: int = 0
    """The number of successors that the model's constraint excludes."""
    findings: dict[str, Findings] = field(default_factory=dict)
    """The findings by name of property. An implicit property has an entry only if something was found; that of
    `in_range` counts steps, and evaluations of properties, that leave a declared range."""
    reached: ReachedStates | None = None
    reduction: str = ""
    """Which states represent others, so that all counts are of representatives; empty: every state was visited."""

    @property
    def distinct(self) -> int:
        """The number of distinct states that were reached."""
        return sum(self.levels)

    @property
    def generated_with_initial(self) -> int:
        """The number of successors plus the number of initial states, which is what TLC calls generated states."""
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
        """Whether the search reached any state before it ended."""
        return bool(self.levels)

    @property
    def exhausted(self) -> bool:
        """Whether the search visited every reachable state, and evaluated the properties in each of these states."""
        return self.stopped is None and self.frontier == 0

    @property
    def is_complete(self) -> bool:
        """Whether the search ended as requested: at its depth, with all states visited, or all properties decided."""
        return self.stopped in (None, "decided")


@dataclass
class BmcResult:
    """The result of bounded model checking. A field with the same name as in `Exploration` has the same meaning."""

    instance: Instance
    limits: Limits
    judged: int = -1
    exhausted: bool = False
    stopped: str | None = None
    seconds: float = 0.0
    nodes: int = 0
    """The size of the formula."""
    times: list[float] = field(default_factory=list)
    """The time for each depth, in seconds."""
    findings: dict[str, Findings] = field(default_factory=dict)
    solver: str = "Z3"
    """The solver with its version."""

    @property
    def is_complete(self) -> bool:
        """Whether every requested depth was checked, or all properties were decided at a smaller depth."""
        return self.stopped in (None, "decided")


@dataclass(frozen=True)
class Progress:
    """A progress report of a running search. A field with the same name as in `Exploration` has the same meaning."""

    seconds: float
    depth: int
    distinct: int
    generated: int
    frontier: int
    bytes_used: int
    forecast: int | None = None
    """The expected number of states in the next level; None if the search is too short for a forecast."""
    bytes_on_disk: int | None = None
    """The size of a search on disk; None for other searches."""
    candidates: int = 0
    """On disk, the states of the next level so far, some of which may turn out to be duplicates."""


# ------------------------------------------------------------------------------------------------------- as plain data

PlainData = dict[str, Any]

COUNTED = ("levels", "generated", "frontier", "depth", "judged", "bytes_used", "fired", "new", "outside")
"""The fields of an exploration that are whole numbers, or lists of them."""


def plain_data_of(exploration: Exploration) -> PlainData:
    """The result of a search as plain data, to be stored in a file or sent to another machine."""
    counts = {name: _whole(getattr(exploration, name)) for name in COUNTED}
    findings = {
        name: {kind: _written(getattr(findings, kind)) for kind in ("found", "permitted", "erred")}
        | {"unjudged": findings.unjudged}
        for name, findings in exploration.findings.items()
    }
    return counts | {"stopped": exploration.stopped, "seconds": exploration.seconds, "findings": findings}


def _whole(value: int | list[int]) -> int | list[int]:
    return [int(count) for count in value] if isinstance(value, list) else int(value)


def _written(finding: Finding) -> PlainData:
    witness, path = None, finding.path
    if path is not None:
        witness = {"initial": int(path.initial), "steps": [int(step) for step in path.steps]}
        witness |= {} if path.loop is None else {"loop": int(path.loop)}
    return {"count": int(finding.count), "witness": witness}


def exploration_of(data: PlainData, instance: Instance, limits: Limits) -> Exploration:
    """Rebuild the exploration from plain data that `plain_data_of` returned."""
    counts = {name: data[name] for name in (*COUNTED, "stopped", "seconds")}
    findings = {
        name: Findings(_read(kinds["found"]), _read(kinds["permitted"]), _read(kinds["erred"]), kinds["unjudged"])
        for name, kinds in data["findings"].items()
    }
    return Exploration(instance, limits, findings=findings, **counts)


def _read(written: PlainData) -> Finding:
    path = written["witness"]
    return Finding(written["count"], path and StepPath(path["initial"], tuple(path["steps"]), path.get("loop")))


# ---------------------------------------------------------------------------------------------------------- forecasts

LEAST = 1000
"""Levels with fewer states are not forecast: their sizes say little about the next."""

MOST_CHANGE = 1.5
"""The ratio of two levels is expected to change by at most this factor."""


def forecast(levels: Sequence[int]) -> int | None:
    """The expected number of states in the next level; None if the levels so far are too few or too small.

    A level is larger than the level before by a factor. The forecast assumes that this factor changes from level to
    level in the same ratio as it last changed, but by at most MOST_CHANGE.
    """
    if len(levels) < 3 or levels[-1] < LEAST or not levels[-2] or not levels[-3]:
        return None
    ratio, before = levels[-1] / levels[-2], levels[-2] / levels[-3]
    change = min(MOST_CHANGE, max(1 / MOST_CHANGE, ratio / before))
    return round(levels[-1] * ratio * change)


def mean_error(levels: Sequence[int]) -> tuple[float, int] | None:
    """The mean error of the forecasts of these levels, relative to the real sizes, and the number of forecasts; None if
    there were no forecasts. The error for the last level is right only if that level is complete."""
    expected = [(forecast(levels[:number]), real) for number, real in enumerate(levels)]
    errors = [abs(states - real) / real for states, real in expected if states is not None and real]
    return (sum(errors) / len(errors), len(errors)) if errors else None

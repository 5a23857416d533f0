"""Which states a fair behaviour can repeat for ever, found by networkx on the graph of the plain search.

In:  a `PlainSystem`, its plain search, and a liveness property.
Out: `Loops`: the states that violations repeat, and those of permitted failures; and what is wrong with a lasso.

Like the plain search, this module uses nothing of models/: it has its own definition of fairness. For strong fairness,
it tries every set of groups of which a behaviour takes no step from some moment on: then the behaviour visits no state
that enables one of them, and takes steps of every other group again and again.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import networkx as nx

from isrcheck.conformance.fuzz.plain_search import (
    Cells,
    Chosen,
    OutOfRange,
    PlainFairness,
    PlainProperty,
    PlainSearch,
    PlainSystem,
    State,
)

Edge = tuple[Cells, int, Cells]
"""A state, a step that leads to another state, and that state."""

MOST_TRIED = 6
"""The most strongly fair groups for which every set of groups is tried."""


@dataclass(frozen=True)
class Group:
    """Steps of which one is taken eventually, if they stay possible or are possible again and again."""

    steps: frozenset[int]
    is_strong: bool = False
    when: Any = None
    """The condition under which a step counts, a function of the state and of the arguments that it names."""


@dataclass(frozen=True)
class Loops:
    """The states that behaviours repeat for ever which break a property, for violations and for permitted failures; and
    for each of both, the fewest steps to a state with which such a loop can begin."""

    violating: frozenset[Cells]
    permitted: frozenset[Cells]
    steps_to_violating: int | None
    steps_to_permitted: int | None


class FairLoops:
    """The behaviours that break one liveness property of a system of which every state was reached."""

    def __init__(self, system: PlainSystem, plain: PlainSearch, prop: PlainProperty) -> None:
        self.system = system
        self.plain = plain
        self.prop = prop
        self.states = list(plain.paths)
        self.groups = list(_groups(system, prop))
        self.fails = {cells for cells in self.states if self._says(prop.python, cells) is False}
        self.excused = {cells for cells in self.fails if prop.permitted and self._says(prop.permitted, cells)}

    def _says(self, python: Any, cells: Cells) -> bool | None:
        try:
            return bool(python(State(self.system, cells)))
        except OutOfRange:
            return None

    @cached_property
    def edges(self) -> dict[Cells, list[Edge]]:
        """The steps from each state that lead to another state."""
        return {cells: list(self._edges(cells)) for cells in self.states}

    def _edges(self, cells: Cells) -> Iterator[Edge]:
        for step in self.system.steps:
            try:
                after = self.system.take(cells, step)
            except OutOfRange:
                continue
            if after is not None and after != cells:
                yield cells, step.number, after

    @property
    def strong(self) -> list[Group]:
        """The strongly fair groups."""
        return [group for group in self.groups if group.is_strong]

    @cached_property
    def loops(self) -> Loops:
        """All states that can be repeated for ever; there must be at most MOST_TRIED strongly fair groups."""
        reached = self._reached()
        violating = self._repeated(set(reached) - self.excused)
        permitted = self._repeated(set(reached))
        repeated = (
            frozenset().union(*(states for states in violating if states & self.fails)),
            frozenset().union(*(states for states in permitted if states & self.excused)),
        )
        return Loops(*repeated, *(min((reached[cells] for cells in states), default=None) for states in repeated))

    def _reached(self) -> dict[Cells, int]:
        """The states in which a loop that breaks the property may begin, because its promise is due and not kept; with
        the fewest steps to each."""
        depths = {cells: len(steps) for cells, (_, steps) in self.plain.paths.items()}
        if self.prop.kind == "eventually":
            begins = self.fails & set(self.system.initial)
        elif self.prop.kind == "leads_to":
            begins = {cells for cells in self.fails if self._says(self.prop.premise, cells)}
        else:
            return depths if self.prop.kind == "eventually_always" else {cells: depths[cells] for cells in self.fails}
        drawn, reached = self._drawn(self.fails), dict[Cells, int]()
        for cells in begins:
            for after, steps in nx.single_source_shortest_path_length(drawn, cells).items():
                reached[after] = min(reached.get(after, depths[cells] + steps), depths[cells] + steps)
        return reached

    def _drawn(self, states: set[Cells]) -> Any:
        drawn = nx.DiGraph()
        drawn.add_nodes_from(states)
        drawn.add_edges_from(
            (before, after) for cells in states for before, _, after in self.edges[cells] if after in states
        )
        return drawn

    def _repeated(self, states: set[Cells]) -> list[set[Cells]]:
        """Sets of these states that a fair behaviour can repeat for ever; each other such set is a part of one."""
        components, strong = [], self.strong
        for number in range(1 << len(strong)):
            idle = [group for place, group in enumerate(strong) if number >> place & 1]
            rest = {cells for cells in states if not any(self._enables(cells, group) for group in idle)}
            for component in nx.strongly_connected_components(self._drawn(rest)):
                edges = [edge for cells in component for edge in self.edges[cells]]
                inside = [(cells, step) for cells, step, after in edges if after in component]
                if self.is_fair(component, inside):
                    components.append(component)
        return components

    def _counts(self, cells: Cells, step: int, group: Group) -> bool:
        if step not in group.steps or group.when is None:
            return step in group.steps
        taken = self.system.steps[step]
        arguments = dict(zip(taken.parameters, taken.arguments, strict=True))
        names = group.when.__code__.co_varnames[1 : group.when.__code__.co_argcount]
        return bool(group.when(State(self.system, cells), *(arguments[name] for name in names)))

    def _enables(self, cells: Cells, group: Group) -> bool:
        return any(self._counts(cells, step, group) for _, step, _ in self.edges[cells])

    def is_fair(self, states: Iterable[Cells], steps: Iterable[tuple[Cells, int]]) -> bool:
        """Whether a behaviour that repeats exactly these states, and these steps from them, is fair."""
        taken, repeated = list(steps), list(states)
        for group in self.groups:
            enabled = [self._enables(cells, group) for cells in repeated]
            if (any if group.is_strong else all)(enabled) and not any(self._counts(*one, group) for one in taken):
                return False
        return True

    def wrong(self, initial: int, steps: tuple[int, ...], loop: int | None, *, is_permitted: bool) -> str:
        """The error of a lasso; "" if it breaks the property as it claims, and its loop begins as early as possible.

        A lasso that repeats a single state may be chosen because it is shorter than one whose loop begins earlier.
        """
        path = [self.system.initial[initial]]
        for number in steps:
            after = self.system.take(path[-1], self.system.steps[number])
            if after is None:
                return f"step {number} is not possible"
            path.append(after)
        if loop is None or not loop <= len(steps) or path[loop] != path[-1]:
            return "it does not return"
        repeated = set(path[loop:])
        if bool(repeated & self.excused) != is_permitted:
            return "it repeats a permitted failure" if not is_permitted else "it repeats no permitted failure"
        if not self.is_fair(repeated, zip(path[loop:], steps[loop:], strict=False)):
            return "it is not fair"
        if not self._is_broken(path, repeated):
            return "it does not break the property"
        loops = self.loops
        first = loops.steps_to_permitted if is_permitted else loops.steps_to_violating
        return "" if loop in (first, len(steps)) else f"its loop begins at step {loop} instead of {first}"

    def _is_broken(self, path: list[Cells], repeated: set[Cells]) -> bool:
        match self.prop.kind:
            case "eventually":
                return set(path) <= self.fails
            case "leads_to":
                begins = [at for at, cells in enumerate(path) if self._says(self.prop.premise, cells)]
                return any(set(path[at:]) <= self.fails for at in begins) and repeated <= self.fails
            case "always_eventually":
                return repeated <= self.fails
            case _:
                return bool(repeated & self.fails)


def _groups(system: PlainSystem, prop: PlainProperty) -> Iterator[Group]:
    """The groups of steps under fairness."""
    if prop.fair is None:
        for action in system.actions:
            own = [step.python for step in system.steps if step.action == action and step.python is not None]
            fair = getattr(getattr(own[0], "noted", None), "fair", False) if own else False
            if fair == "strong":
                fair = PlainFairness((), (), True)
            if fair is not False:
                given = fair if isinstance(fair, PlainFairness) else PlainFairness((), () if fair is True else fair)
                yield from _of(system, [action], given)
        return
    for one in prop.fair if isinstance(prop.fair, list) else [prop.fair]:
        given = one if isinstance(one, PlainFairness) else PlainFairness((one,))
        yield from _of(system, [getattr(each, "__name__", each) for each in given.actions], given)


def _of(system: PlainSystem, actions: list[str], given: PlainFairness) -> Iterator[Group]:
    names = (given.each,) if isinstance(given.each, str) else given.each
    groups: dict[tuple[Any, ...], set[int]] = {} if names else {(): set()}
    for step in system.steps:
        if step.python is not None and (step.action in actions or not actions):
            arguments = dict(zip(step.parameters, step.arguments, strict=True))
            values = (arguments[name] for name in names)
            key = tuple(tuple(one.members) if isinstance(one, Chosen) else one for one in values)
            groups.setdefault(key, set()).add(step.number)
    yield from (Group(frozenset(steps), given.is_strong, given.when) for steps in groups.values())

"""Judges a liveness property: is there a behaviour, fair to what the property assumes, that breaks it for ever?

In:  every reachable state; the property.
Out: how many states such a behaviour can repeat for ever, and a lasso: a path from an initial state, and a loop.

A behaviour that goes on for ever repeats some states for ever; they lie in one strongly connected component of the
states in which the property may be false:

- `eventually` P: in states without P, reached from an initial state through states without P;
- `leads_to` P: the same, from any reachable state without P in which the premise is true;
- `always_eventually` P: in any states without P;
- `eventually_always` P: in any states, of which one is without P.

A component can be repeated if it meets every requirement of fairness (checker/liveness/graph.py); a single state, if it
meets them without a step. More states and steps never meet less, so the largest components are enough.

A state without P in which a failure is permitted counts as a state with P when a violation is sought. A behaviour that
repeats such a state for ever is a permitted failure. Where P or its premise cannot be evaluated, nothing is found.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from isrcheck.checker.compile.machine_code import as_machine_code
from isrcheck.checker.liveness import walks
from isrcheck.checker.liveness.graph import Graph
from isrcheck.checker.liveness.reachable import Marks, Reachable
from isrcheck.checker.outcome.exploration import Finding, StepPath
from isrcheck.checker.outcome.kernel_results import PREMISE, EntryKind, judgement
from isrcheck.models.fair_groups import groups_of
from isrcheck.models.language.declare import Kind
from isrcheck.models.language.model import Instance, Property

PathTo = Callable[[int], StepPath]


def fair_loops(
    reachable: Reachable, number: int, prop: Property, instance: Instance, path: PathTo
) -> dict[EntryKind, Finding]:
    """Judge a liveness property, which has this number in its model. `path` gives the path to the state with a number.

    Returns, for violations and for permitted failures, the number of states that can be repeated for ever, and a lasso:
    the path to the first of them and a loop, or the path to the first in which a behaviour can stay, whichever is
    shorter. Raises LimitError.
    """
    marks = reachable.judged(number)
    judged = marks % PREMISE
    broken, permitted = judged == judgement(EntryKind.FOUND), judged == judgement(EntryKind.PERMITTED)
    premise = marks >= PREMISE
    del marks
    found = {EntryKind.FOUND: Finding(), EntryKind.PERMITTED: Finding()}
    everywhere = prop.kind is Kind.EVENTUALLY_ALWAYS  # the states of a loop may be any
    if not (broken.any() or permitted.any()):
        return found
    groups = groups_of(instance, prop)
    fails = broken | permitted
    kept = judged != judgement(EntryKind.ERRED) if everywhere else fails
    visits = [fails, permitted] if everywhere else [permitted]
    graph = Graph(reachable, kept, instance.first_steps[-1], groups, visits)
    ways = _ways(graph, prop.kind, premise)
    # A violation repeats no state in which a failure is permitted; a permitted failure repeats one.
    bits = len(groups) + len(visits)
    alive = ways.reached & ~permitted[graph.nodes]
    begins = fails[graph.nodes]
    found[EntryKind.FOUND] = FairLoops(graph, ways, alive, graph.row(bits - 1), path).finding(begins)
    if permitted.any():
        found[EntryKind.PERMITTED] = FairLoops(graph, ways, ways.reached, graph.row(bits), path).finding(begins)
    return found


@dataclass(frozen=True)
class Ways:
    """How the nodes of a graph are reached: `reached` marks those that are, `depths` counts the steps from an initial
    state. `parents` has the node before, or the node itself, to which the path of the search leads."""

    reached: Marks
    depths: NDArray[np.uint32]
    parents: NDArray[np.uint32]


def _ways(graph: Graph, kind: Kind, premise: Marks) -> Ways:
    """How a behaviour that breaks the property gets to each node. Raises LimitError."""
    depths = np.repeat(np.arange(len(graph.reachable.levels), dtype=np.uint32), graph.reachable.levels)[graph.nodes]
    parents = np.arange(graph.count, dtype=np.uint32)
    if kind in (Kind.ALWAYS_EVENTUALLY, Kind.EVENTUALLY_ALWAYS):
        return Ways(np.ones(graph.count, np.bool_), depths, parents)
    if kind is Kind.EVENTUALLY:
        entries = np.flatnonzero(graph.nodes < graph.reachable.starts)
    else:
        entries = np.flatnonzero(premise[graph.nodes])
    alive, reached, queue = (
        np.ones(graph.count, np.bool_),
        np.zeros(graph.count, np.bool_),
        np.zeros(graph.count, np.uint32),
    )
    depths_of_entries = depths[entries].copy()
    spread = as_machine_code(walks.spread)
    first = last = depth = at = 0
    # Level by level: what the level before reaches, and then the states of that depth from which a way begins.
    while at < len(entries) or first < last:
        graph.reachable.look_at_the_clock()
        if first == last:
            depth = int(depths_of_entries[at])
        new = at + int(np.searchsorted(depths_of_entries[at:], depth, "right"))
        begin = entries[at:new][~reached[entries[at:new]]]
        reached[begin] = True
        queue[last : last + len(begin)] = begin
        last, at = last + len(begin), new
        depths[queue[first:last]] = depth
        end = spread(
            *(first, last, graph.offsets.ctypes.data, graph.targets.ctypes.data, alive.ctypes.data),
            *(reached.ctypes.data, queue.ctypes.data, parents.ctypes.data, last),
        )
        first, last, depth = last, end, depth + 1
    return Ways(reached, depths, parents)


class FairLoops:
    """The loops within the nodes `alive` of a graph that meet every requirement of the row `needed`."""

    def __init__(self, graph: Graph, ways: Ways, alive: Marks, needed: NDArray[np.uint64], path: PathTo) -> None:
        self.graph = graph
        self.ways = ways
        self.needed = needed
        self.path = path
        self.component = graph.components(alive)
        self.is_fair = graph.fair(self.component, needed)[self.component]
        self.stays: Marks = alive & ((graph.met & needed) == needed).all(axis=1)

    def finding(self, begins: Marks) -> Finding:
        """The number of nodes that can be repeated for ever, and the lasso of the first; its loop begins in a node of
        `begins`, of which each fair component has one."""
        count = int(np.count_nonzero(self.is_fair))
        if not count:
            return Finding()
        lassos = [self._lasso(self._first(self.is_fair & begins))]
        if self.stays.any():
            node = self._first(self.stays)
            before = self._path_to(node)
            lassos.insert(0, StepPath(before.initial, before.steps, before.depth))
        return Finding(count, min(lassos, key=lambda lasso: lasso.depth))

    def _first(self, marks: Marks) -> int:
        """The marked node with the shortest path; the first of several."""
        nodes = np.flatnonzero(marks)
        return int(nodes[np.argmin(self.ways.depths[nodes])])

    def _path_to(self, node: int) -> StepPath:
        """The path to a node."""
        steps: list[int] = []
        while int(self.ways.parents[node]) != node:
            before = int(self.ways.parents[node])
            low, high = self.graph.offsets[before : before + 2]
            edge = int(low) + int(np.argmax(self.graph.targets[low:high] == node))
            steps.append(int(self.graph.steps[edge]))
            node = before
        found = self.path(int(self.graph.nodes[node]))
        return StepPath(found.initial, (*found.steps, *reversed(steps)))

    def _lasso(self, first: int) -> StepPath:
        """A lasso whose path leads to the node `first`: a loop that meets every requirement, as short as a walk from
        one requirement to the nearest next one makes it."""
        before, walk = self._path_to(first), Walk(self.graph, self.component, first)
        needed = self.needed & ~self.graph.met[first]
        # The first node that the loop needs: from there on, what the walk meets has to lie in the loop.
        anchor = 0 if (self.needed & self.graph.met[first]).any() else None
        while needed.any():
            given = self.graph.given[self.graph.steps[walk.to_nearest(needed, ())]]
            if anchor is None:
                anchor = len(walk.nodes) - (2 if (given & needed).any() else 1)
            needed &= ~(given | self.graph.met[walk.nodes[-1]])
        before_anchor = walk.nodes[: (anchor or 0) + 1]
        if walk.nodes[-1] not in before_anchor:
            walk.to_nearest(np.zeros_like(needed), before_anchor)
        start = walk.nodes.index(walk.nodes[-1])
        steps = [int(self.graph.steps[edge]) for edge in walk.edges]
        return StepPath(before.initial, (*before.steps, *steps), before.depth + start)


class Walk:
    """A walk within one component: the nodes, and the edges between them."""

    def __init__(self, graph: Graph, component: NDArray[np.uint32], first: int) -> None:
        self.graph = graph
        self.component = component
        self.nodes = [first]
        self.edges: list[int] = []
        self._goals: NDArray[np.uint8] = np.zeros(graph.count, np.uint8)
        self._reached_by: NDArray[np.int64] = np.zeros(graph.count, np.int64)
        self._queue, self._parents = (np.zeros(graph.count + 1, np.uint32) for _ in range(2))

    def to_nearest(self, needed: NDArray[np.uint64], goals: Iterable[int]) -> int:
        """Go on to the nearest node or edge that meets one of the bits `needed`, or to the nearest node of `goals`;
        return the last edge."""
        graph, here, goals = self.graph, self.nodes[-1], list(goals)
        self._goals[goals] = 1
        found = as_machine_code(walks.nearest)(
            *(here, graph.offsets.ctypes.data, graph.targets.ctypes.data, graph.steps.ctypes.data),
            *(self.component.ctypes.data, graph.met.ctypes.data, graph.given.ctypes.data, graph.words),
            *(needed.ctypes.data, self._goals.ctypes.data, self._queue.ctypes.data),
            *(self._reached_by.ctypes.data, self._parents.ctypes.data),
        )
        assert found, "every node of a component leads to every other"
        last = found - 1
        edges, node = [last], int(np.searchsorted(graph.offsets, last, "right")) - 1
        while node != here:
            edges.append(int(self._reached_by[node]) - 1)
            node = int(self._parents[node])
        self._goals[goals] = 0
        self._reached_by[:] = 0
        self.edges += reversed(edges)
        self.nodes += (int(graph.targets[edge]) for edge in reversed(edges))
        return last

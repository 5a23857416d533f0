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

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from isrcheck.checker.compile.machine_code import as_machine_code
from isrcheck.checker.liveness import walks
from isrcheck.checker.liveness.graph import Graph
from isrcheck.checker.liveness.reachable import Marks, Numbers, Reachable
from isrcheck.checker.outcome.exploration import Finding, StepPath
from isrcheck.checker.outcome.kernel_results import PREMISE, EntryKind, judgement
from isrcheck.models.fair_groups import groups_of
from isrcheck.models.language.declarations import Kind
from isrcheck.models.language.model import Instance, Property

PathTo = Callable[[int], StepPath]

ROOM = 1 << 21
"""The most pairs of a node and of what is met already that the search for a shortest loop distinguishes, unless the
component has more nodes; a pair takes 16 bytes."""


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
    found[EntryKind.FOUND] = FairLoops(graph, ways, alive, graph.row(bits - 1), path).finding()
    if permitted.any():
        found[EntryKind.PERMITTED] = FairLoops(graph, ways, ways.reached, graph.row(bits), path).finding()
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

    def finding(self) -> Finding:
        """The number of nodes that can be repeated for ever, and a lasso: its loop begins in the first of them, unless
        the path to the first node in which a behaviour can stay is shorter than the whole lasso, or as short."""
        count = int(np.count_nonzero(self.is_fair))
        if not count:
            return Finding()
        lassos = [self._lasso(self._first(self.is_fair))]
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
        """A lasso whose loop begins in the node `first`, and meets every requirement."""
        before = self._path_to(first)
        walk = ClosedWalk(self.graph, np.flatnonzero(self.component == self.component[first]), first, self.needed)
        steps = [int(self.graph.steps[edge]) for edge in walk.edges]
        return StepPath(before.initial, (*before.steps, *steps), before.depth)


class ClosedWalk:
    """A walk within the nodes of a component, from `first` back to it, that meets every requirement of a row.

    It is a shortest one, as long as the search has room for all requirements at once: it distinguishes for each node
    what is met already. Where there is no room, it meets some of the requirements first, and then the others.
    """

    def __init__(self, graph: Graph, members: Numbers, first: int, needed: NDArray[np.uint64]) -> None:
        self.graph = graph
        self.nodes = np.concatenate(([0], members)).astype(np.uint32)  # places are counted from 1
        self.places: NDArray[np.uint32] = np.zeros(graph.count, np.uint32)
        self.places[members] = np.arange(1, len(self.nodes))
        self.edges: list[int] = []
        at_once = max(1, (ROOM // len(self.nodes)).bit_length() - 1)
        here, missing = first, self._without([], [first], _bits(needed))
        while missing or here != first:
            now, later = missing[:at_once], missing[at_once:]
            taken = self._to(now, here, None if later else first)
            visited = [int(graph.targets[edge]) for edge in taken]
            self.edges += taken
            here, missing = visited[-1], self._without(taken, visited, later)

    def _without(self, taken: list[int], visited: list[int], bits: list[int]) -> list[int]:
        """The requirements that neither these edges nor these nodes meet."""
        rows = [*self.graph.given[self.graph.steps[taken]], *self.graph.met[visited]]
        return [bit for bit in bits if not _masks(np.array(rows), [bit]).any()]

    def _to(self, bits: list[int], here: int, goal: int | None) -> list[int]:
        """The edges of a shortest walk from `here` that meets these requirements, and ends in `goal`."""
        graph, masks = self.graph, 1 << len(bits)
        size = masks * len(self.nodes)
        met, given = _masks(graph.met[self.nodes], bits), _masks(graph.given, bits)
        queue, parents = np.zeros(size, np.uint32), np.zeros(size, np.uint32)
        reached_by: NDArray[np.int64] = np.zeros(size, np.int64)
        place = int(self.places[here])
        begin = masks * place + int(met[place])
        pair = as_machine_code(walks.shortest)(
            *(begin, 0 if goal is None else int(self.places[goal])),
            *(graph.offsets.ctypes.data, graph.targets.ctypes.data, graph.steps.ctypes.data),
            *(self.nodes.ctypes.data, self.places.ctypes.data, met.ctypes.data, given.ctypes.data, masks),
            *(queue.ctypes.data, reached_by.ctypes.data, parents.ctypes.data),
        )
        assert pair, "every node of a component leads to every other"
        edges = []
        while pair != begin:
            edges.append(int(reached_by[pair]) - 1)
            pair = int(parents[pair])
        return edges[::-1]


def _bits(row: NDArray[np.uint64]) -> list[int]:
    """The numbers of the bits of a row that are 1."""
    return [bit for bit in range(64 * len(row)) if int(row[bit // 64]) >> bit % 64 & 1]


def _masks(rows: NDArray[np.uint64], bits: list[int]) -> NDArray[np.uint32]:
    """These bits of each row, as the lowest bits of a number."""
    masks: NDArray[np.uint32] = np.zeros(len(rows), np.uint32)
    for at, bit in enumerate(bits):
        masks |= ((rows[:, bit // 64] >> np.uint64(bit % 64) & np.uint64(1)) << np.uint64(at)).astype(np.uint32)
    return masks

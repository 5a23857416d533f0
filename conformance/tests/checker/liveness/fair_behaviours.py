"""Which states a fair behaviour can repeat for ever: an independent answer in plain Python, for graphs of few states.

In:  an instance, a liveness property.
Out: the states of all fair loops that break the property, the fewest steps to one of them, and the lengths of lassos.

Every set of states is tried: a behaviour can repeat exactly these states for ever if each can be reached from each
within the set, and for each fair group some step within the set belongs to it, or some state of the set disables it.
The shortest loop from a state is found by a search of pairs: a state, and what the loop has met on the way there.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import networkx as nx

from isrcheck.models import run
from isrcheck.models.fair_groups import FairGroup, groups_of
from isrcheck.models.language.declarations import Kind
from isrcheck.models.language.model import Instance, Property
from isrcheck.models.run import Cells

Edges = dict[Cells, list[tuple[int, Cells]]]


@dataclass(frozen=True)
class Repeated:
    """The states that behaviours which break a property repeat for ever.

    `begin` is the fewest steps to one of them. `lengths` are those of the lassos that can be reported: the path to a
    state after `begin` steps with a shortest loop, unless a path to a state in which the behaviour stays is as short.
    """

    states: frozenset[Cells]
    begin: int | None
    lengths: frozenset[int]


def repeated(instance: Instance, prop: Property) -> tuple[Repeated, Repeated]:
    """Return which states the behaviours that break a liveness property repeat: violations, and permitted failures."""
    edges = _edges(instance)
    fails = {cells for cells in edges if not run.holds(instance, prop, cells)}
    excused = {cells for cells in fails if run.is_permitted(instance, prop, cells)}
    depths = _depths(instance, prop, edges, fails)
    may = set(depths) & (set(edges) if prop.kind is Kind.EVENTUALLY_ALWAYS else fails)
    violating: set[Cells] = set()
    permitted: set[Cells] = set()
    for states in _fair_sets(instance, prop, edges, may):
        if states & fails:
            if not states & excused:
                violating |= states
            else:
                permitted |= states
    groups = groups_of(instance, prop)
    return (
        _repeated(violating, depths, _Loops(edges, groups, may - excused, (fails,))),
        _repeated(permitted, depths, _Loops(edges, groups, may, (fails, excused))),
    )


def _repeated(states: set[Cells], depths: dict[Cells, int], loops: _Loops) -> Repeated:
    if not states:
        return Repeated(frozenset(), None, frozenset())
    begin = min(depths[cells] for cells in states)
    stays = [depths[cells] for cells in states if loops.shortest(cells) == 0]
    lengths = {begin + loops.shortest(cells) for cells in states if depths[cells] == begin}
    return Repeated(frozenset(states), begin, frozenset(min([length, *stays]) for length in lengths))


@dataclass(frozen=True)
class _Loops:
    """The loops within some states that are fair to `groups`, and visit a state of each of `visits`."""

    edges: Edges
    groups: Sequence[FairGroup]
    within: set[Cells]
    visits: Sequence[set[Cells]]

    def shortest(self, begin: Cells) -> int:
        """The fewest steps of a loop from a state, which is known to be in one; 0 if the behaviour can stay there."""
        pairs = {(begin, self._met(begin))}
        steps = 0
        while not any(cells == begin and len(met) == len(self.groups) + len(self.visits) for cells, met in pairs):
            steps += 1
            pairs |= {
                (after, met | self._met(after) | {group for group in self.groups if step in group.steps})
                for cells, met in pairs
                for step, after in self.edges[cells]
                if after in self.within
            }
        return steps

    def _met(self, cells: Cells) -> frozenset[object]:
        disabled = (one for one in self.groups if not any(step in one.steps for step, _ in self.edges[cells]))
        return frozenset([*disabled, *(number for number, states in enumerate(self.visits) if cells in states)])


def _edges(instance: Instance) -> Edges:
    edges: Edges = {}
    waiting = list(instance.initial_states)
    while waiting:
        cells = waiting.pop()
        if cells not in edges:
            edges[cells] = [(step.number, after) for step, after in run.successors(instance, cells) if after != cells]
            waiting += (after for _, after in edges[cells])
    return edges


def _depths(instance: Instance, prop: Property, edges: Edges, fails: set[Cells]) -> dict[Cells, int]:
    """The fewest steps to each state, on paths along which the property is broken as far as its kind asks."""
    # A path is a sequence of pairs (state, whether the property has to be false from there on).
    begins = prop.kind is Kind.EVENTUALLY
    drawn = nx.DiGraph()
    for cells, found in edges.items():
        for asked in (False, True):
            for _, after in found:
                drawn.add_edge((cells, asked), (after, asked))
        if prop.premise is not None and cells in fails and run.asks(instance, prop, prop.premise, cells):
            drawn.add_edge((cells, False), (cells, True), asks=True)
    # Asking takes no step.
    for _, _, data in drawn.edges(data=True):
        data["length"] = 0 if data.get("asks") else 1
    drawn.remove_nodes_from([node for node in drawn if node[1] and node[0] not in fails])
    sources = {(cells, begins) for cells in instance.initial_states if not begins or cells in fails}
    drawn.add_nodes_from(sources)
    lengths = nx.multi_source_dijkstra_path_length(drawn, sources, weight="length") if sources else {}
    in_question = prop.kind in (Kind.EVENTUALLY, Kind.LEADS_TO)
    return {cells: length for (cells, asked), length in lengths.items() if asked == in_question}


def _fair_sets(instance: Instance, prop: Property, edges: Edges, may: set[Cells]) -> Iterator[set[Cells]]:
    groups = groups_of(instance, prop)
    for size in range(1, len(may) + 1):
        for chosen in itertools.combinations(sorted(may), size):
            states = set(chosen)
            inside = [(one, step, other) for one in states for step, other in edges[one] if other in states]
            drawn = nx.DiGraph([(one, other) for one, _, other in inside])
            drawn.add_nodes_from(states)
            if nx.is_strongly_connected(drawn) and all(
                any(step in group.steps for _, step, _ in inside)
                or any(not any(step in group.steps for step, _ in edges[one]) for one in states)
                for group in groups
            ):
                yield states

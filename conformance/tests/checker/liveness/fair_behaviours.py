"""Which states a fair behaviour can repeat for ever: an independent answer in plain Python, for graphs of few states.

In:  an instance, a liveness property.
Out: the states of all fair loops that break the property, and the length of the shortest path to one of them.

Every set of states is tried: a behaviour can repeat exactly these states for ever if each can be reached from each
within the set, and for each fair group some step within the set belongs to it, or some state of the set disables it.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass

import networkx as nx

from isrcheck.models import run
from isrcheck.models.fair_groups import groups_of
from isrcheck.models.language.declare import Kind
from isrcheck.models.language.model import Instance, Property
from isrcheck.models.run import Cells

Edges = dict[Cells, list[tuple[int, Cells]]]


@dataclass(frozen=True)
class Repeated:
    """The states that violations repeat for ever, and those of permitted failures; and the fewest steps to each."""

    violating: frozenset[Cells]
    permitted: frozenset[Cells]
    steps_to_violating: int | None
    steps_to_permitted: int | None


def repeated(instance: Instance, prop: Property) -> Repeated:
    """Return which states the behaviours that break a liveness property repeat."""
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
    first = [min((depths[cells] for cells in found), default=None) for found in (violating, permitted)]
    return Repeated(frozenset(violating), frozenset(permitted), *first)


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

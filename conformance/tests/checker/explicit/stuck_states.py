"""The stuck states of a small model by another way: a graph of networkx, and paths compared as they are written.

In:  an instance, an `always_possible` property.
Out: the states from which no path leads to a state in which the property is true, and the least path to one of them.
"""

from __future__ import annotations

import networkx as nx

from isrcheck.checker.results.exploration import Finding, StepPath
from isrcheck.models import run
from isrcheck.models.language.model import Instance, Property
from isrcheck.models.run import Cells


def stuck_findings(instance: Instance, prop: Property) -> tuple[Finding, Finding]:
    """The stuck states that violate the property, and those in which that is permitted, each with the least path."""
    graph: nx.DiGraph[Cells] = nx.DiGraph()
    least = {cells: StepPath(number, ()) for number, cells in reversed(list(enumerate(instance.initial_states)))}
    level = dict(least)
    graph.add_nodes_from(level)
    while level:
        offered: dict[Cells, list[StepPath]] = {}
        for cells, path in level.items():
            for step, after in run.successors(instance, cells):
                graph.add_edge(cells, after)
                if after not in least:
                    offered.setdefault(after, []).append(StepPath(path.initial, (*path.steps, step.number)))
        level = {after: min(paths, key=lambda path: path.order) for after, paths in offered.items()}
        least |= level
    goals = {cells for cells in graph if run.holds(instance, prop, cells)}
    stuck = set(graph) - goals - {before for goal in goals for before in nx.ancestors(graph, goal)}
    excused = {cells for cells in stuck if run.is_permitted(instance, prop, cells)}
    return _first(stuck - excused, least), _first(excused, least)


def _first(stuck: set[Cells], least: dict[Cells, StepPath]) -> Finding:
    return Finding(len(stuck), min((least[cells] for cells in stuck), key=lambda path: path.order, default=None))

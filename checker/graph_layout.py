"""Where the nodes of a state graph stand: a column for each depth, and in it an order in which few edges cross.

In:  a `StateGraph`. Out: a point for each node.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby, pairwise

from checker.graph import StateGraph

SWEEPS = 6
"""How often the columns are put in order, from left to right and back."""


def layers(drawn: StateGraph) -> list[list[int]]:
    """The nodes of each column, from top to bottom: each near the middle of its neighbours in the column before."""
    nodes = sorted(drawn.nodes(), key=lambda node: node.depth)
    columns = [[node.number for node in group] for _, group in groupby(nodes, key=lambda node: node.depth)]
    graph = drawn.graph
    for sweep in range(SWEEPS):
        order = columns if sweep % 2 == 0 else columns[::-1]
        for before, column in pairwise(order):
            height = {number: place / max(1, len(before) - 1) for place, number in enumerate(before)}
            own = {number: place / max(1, len(column) - 1) for place, number in enumerate(column)}

            def middle(number: int, height: dict[int, float] = height, own: dict[int, float] = own) -> float:
                near = [height[n] for n in (*graph.predecessors(number), *graph.successors(number)) if n in height]
                return sum(near) / len(near) if near else own[number]

            column.sort(key=middle)
    return columns


def points(columns: Sequence[Sequence[int]], across: float, down: float) -> dict[int, tuple[float, float]]:
    """A point for each node; the columns are centred on one line."""
    tallest = max(map(len, columns))
    return {
        number: ((place + 0.5) * across, (row + 0.5 + (tallest - len(column)) / 2) * down)
        for place, column in enumerate(columns)
        for row, number in enumerate(column)
    }

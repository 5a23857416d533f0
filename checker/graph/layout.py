"""The layout of a state graph: a column for each depth, ordered so that few edges cross.

In:  a `StateGraph`, and the size of a node. Out: a `Layout`.

In a column that is much taller than the others, the nodes zigzag between several strands. This leaves room for edges
between the nodes, and makes the drawing about as wide and high as a screen.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise

from isrcheck.checker.graph.state_graph import StateGraph

SWEEPS = 6
"""The number of passes over the columns, alternately from left to right and back."""

SHAPE = 1.4
"""The expected ratio of width to height of the window."""


@dataclass(frozen=True)
class Point:
    """A point of a drawing."""

    x: float
    y: float


@dataclass(frozen=True)
class Column:
    """The position and width of the column of nodes at one depth."""

    depth: int
    left: float
    width: float


@dataclass(frozen=True)
class Layout:
    """The place of each node by its number; the columns from left to right; the height of all columns."""

    places: Mapping[int, Point]
    columns: Sequence[Column]
    height: float


def lay_out(drawn: StateGraph, across: float, down: float, gap: float) -> Layout:
    """Return the layout of nodes that are `across` wide and `down` high, with `gap` between the columns."""
    columns = layers(drawn)
    rows = _rows([len(column) for column in columns], across, down, gap)
    strands = [math.ceil(len(column) / rows) for column in columns]
    height = max(down * (1 + (len(column) - 1) / count) for column, count in zip(columns, strands, strict=True))
    places, found, left = {}, [], 0.0
    for column, count in zip(columns, strands, strict=True):
        for place, number in enumerate(column):
            x = left + gap / 2 + (place % count + 0.5) * across
            places[number] = Point(x, height / 2 + (place - (len(column) - 1) / 2) * down / count)
        width = count * across + gap
        found.append(Column(drawn.node(column[0]).depth, left, width))
        left += width
    return Layout(places, found, height)


def layers(drawn: StateGraph) -> list[list[int]]:
    """Return the nodes of each column from top to bottom, ordered by the barycentre of their neighbours."""
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


def _rows(sizes: Sequence[int], across: float, down: float, gap: float) -> int:
    """Return the number of nodes in a strand for which the drawing fits into a window at the largest scale."""

    def extent(rows: int) -> float:
        width = sum(math.ceil(size / rows) * across + gap for size in sizes)
        return max(width / SHAPE, rows * down)

    return min(range(1, max(sizes) + 1), key=extent)

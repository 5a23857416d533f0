"""The nodes that wait to be expanded: breadth first at the beginning, later those first that have come furthest.

In:  nodes, each with its depth (the number of its steps) and the number of lines that it has passed.
Out: the next nodes to expand.

Breadth first, the depth is a node's rank, so the first path that is found is a shortest one. Later, each passed line
counts as some steps less: a path is followed further than others as long as it passes lines, and less so the more steps
it has taken since its last line. How many steps a line should count depends on the recording, so several orders share
the nodes equally. Every node has its turn, so a search without a result is complete.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.int64]

STEPS_OF_A_LINE = (1, 3)
"""How many more steps a path may have for each line that it has passed in addition, in each of the orders."""

TOGETHER, SHARE = 512, 50
"""Once the search is no longer breadth first, at most so many nodes are expanded together, or one of so many of all
nodes: a few at a time follow a path quickly, and many at a time cost less each."""

MANY = 1 << 16
"""The number of nodes that change their order together."""


class Order:
    """Nodes by rank: their depth, less some steps for each passed line. `taken` counts those that it has chosen."""

    def __init__(self, steps_of_a_line: int) -> None:
        self.steps_of_a_line = steps_of_a_line
        self.taken = 0
        self._of_rank: dict[int, list[NDArray[np.uint32]]] = {}

    def add(self, nodes: Numbers, depths: Numbers, passed: Numbers) -> None:
        """Let nodes wait."""
        ranks = depths - self.steps_of_a_line * passed
        for rank in np.unique(ranks):
            self._of_rank.setdefault(int(rank), []).append(nodes[ranks == rank].astype(np.uint32))

    def take(self, most: int) -> Numbers:
        """The next nodes, all of one rank, and in the order in which they came; empty if none is left."""
        if not self._of_rank:
            return np.empty(0, np.int64)
        rank = min(self._of_rank)
        nodes = np.concatenate(self._of_rank.pop(rank))
        if len(nodes) > most:
            self._of_rank[rank] = [nodes[most:]]
        return nodes[:most].astype(np.int64)


class Waiting:
    """The nodes that wait; `is_broad` as long as the search is breadth first."""

    def __init__(self) -> None:
        self.is_broad = True
        self._orders = [Order(0)]
        self._count = 0
        self._is_taken: NDArray[np.bool_] = np.zeros(1 << 16, bool)

    def add(self, nodes: Numbers, depths: Numbers, passed: Numbers) -> None:
        """Let nodes wait."""
        self._count += len(nodes)
        for order in self._orders:
            order.add(nodes, depths, passed)

    def take(self, most: int) -> Numbers:
        """The next nodes; empty if none is left."""
        if self.is_broad:
            return self._orders[0].take(most)
        while True:
            order = min(self._orders, key=lambda one: one.taken)
            nodes = order.take(min(most, max(TOGETHER, self._count // SHARE)))
            if not len(nodes):  # what waits in one order waits in all of them, or was taken by another one
                return nodes
            nodes = nodes[~self._are_taken(nodes)]
            order.taken += len(nodes)
            if len(nodes):
                self._is_taken[nodes] = True
                return nodes

    def _are_taken(self, nodes: Numbers) -> NDArray[np.bool_]:
        size = int(nodes.max()) + 1
        if size > len(self._is_taken):
            self._is_taken = np.concatenate([self._is_taken, np.zeros(2 * size - len(self._is_taken), bool)])
        return self._is_taken[nodes]

    def prefer_lines(self, depths: NDArray[np.uint16], passed_of: Callable[[Numbers], Numbers]) -> None:
        """Be no longer breadth first. The depths and the numbers of passed lines of all nodes are given."""
        left = self._orders[0]
        self._count = 0
        self.is_broad = False
        self._orders = [Order(steps) for steps in STEPS_OF_A_LINE]
        while len(nodes := left.take(MANY)):
            self.add(nodes, depths[nodes].astype(np.int64), passed_of(nodes))

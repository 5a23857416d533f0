"""The graph of the states in which a property fails, stored: compressed lists of successors.

In:  every reachable state; the states to keep; and the requirements of a fair loop.
Out: a `Graph`: its nodes, their edges, what each node and each step meets of the requirements, and its components.

A loop is fair to a group of steps if the group is disabled in one of its states, or if one of its steps belongs to the
group. So a group is a requirement, that is one bit: a state meets it if no step of the group leads to another state
from there, and a step of the group meets it. Further requirements are that a loop visits a state of some kind.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from isrcheck.checker.compile.machine_code import as_machine_code
from isrcheck.checker.liveness import walks
from isrcheck.checker.liveness.reachable import Marks, Reachable
from isrcheck.models.fair_groups import FairGroup

OUTSIDE = (1 << 32) - 1

BYTES_OF_EDGE = 8
BYTES_OF_NODE = 64
BYTES_OF_STATE = 16
"""Memory that a node needs besides its edges and requirements: its place, offset, marks, queues and component; and
what each state needs, kept or not."""

BUDGET = 1 << 22
"""The most edges that are followed before the clock is looked at."""


def bits_of(requirements: int) -> int:
    """The words of 64 bits that this many requirements need."""
    return max(1, -(-requirements // 64))


class Graph:
    """The states `kept` (a truth value for each state) and the steps between them that change the state.

    `nodes` are the numbers of the states, ascending; a node is given by its place there. `met` has a row for each node,
    `given` for each step, both with a bit for each of `groups`, then one for each of `visits`, which are truth values
    for each state: a loop has to visit such a state. Raises LimitError.
    """

    def __init__(
        self,
        reachable: Reachable,
        kept: Marks,
        steps: int,
        groups: Sequence[FairGroup],
        visits: Sequence[Marks] = (),
    ) -> None:
        self.reachable = reachable
        self.nodes = np.flatnonzero(kept)
        self.words = bits_of(len(groups) + len(visits))
        self.given: NDArray[np.uint64] = np.zeros((steps, self.words), np.uint64)
        for bit, group in enumerate(groups):
            self.given[sorted(group.steps), bit // 64] |= np.uint64(1 << bit % 64)
        self.met: NDArray[np.uint64] = np.zeros((0, self.words), np.uint64)
        self._store(kept, self.row(len(groups)))
        for bit, visit in enumerate(visits, len(groups)):
            self.met[visit[self.nodes], bit // 64] |= np.uint64(1 << bit % 64)

    def row(self, bits: int) -> NDArray[np.uint64]:
        """A row with this many of the first bits."""
        row: NDArray[np.uint64] = np.zeros(self.words, np.uint64)
        for bit in range(bits):
            row[bit // 64] |= np.uint64(1 << bit % 64)
        return row

    def _store(self, kept: Marks, of_groups: NDArray[np.uint64]) -> None:
        """Store the edges, and which groups each node disables. Raises LimitError."""
        of_nodes = (BYTES_OF_NODE + 16 * self.words) * len(self.nodes) + BYTES_OF_STATE * len(kept)
        self.reachable.refuse_memory(of_nodes)
        index: NDArray[np.uint32] = np.full(len(kept), OUTSIDE, np.uint32)
        index[self.nodes] = np.arange(len(self.nodes))
        self.met = np.tile(of_groups, (len(self.nodes), 1))
        degrees: NDArray[np.int64] = np.zeros(len(self.nodes) + 1, np.int64)
        targets: list[NDArray[np.uint32]] = []
        steps: list[NDArray[np.uint32]] = []
        edges = 0
        for before, step, after in self.reachable.transitions(self.nodes):
            moves = before != after
            source, step, target = index[before[moves]], step[moves], index[after[moves]]
            # All transitions of a state stand together.
            firsts = np.flatnonzero(np.diff(source, prepend=np.uint32(OUTSIDE)))
            inside = target != OUTSIDE
            if len(firsts):
                self.met[source[firsts]] &= ~np.bitwise_or.reduceat(self.given[step], firsts)
                degrees[source[firsts] + np.uint32(1)] = np.add.reduceat(inside, firsts, dtype=np.int64)
            targets.append(target[inside])
            steps.append(step[inside].astype(np.uint32))
            edges += len(targets[-1])
            # The lists and the arrays that are made of them exist at once.
            self.reachable.refuse_memory(of_nodes + 2 * BYTES_OF_EDGE * edges)
        self.offsets: NDArray[np.int64] = np.cumsum(degrees)
        self.targets: NDArray[np.uint32] = _joined(targets)
        self.steps: NDArray[np.uint32] = _joined(steps)

    @property
    def count(self) -> int:
        """The number of nodes."""
        return len(self.nodes)

    def components(self, alive: Marks) -> NDArray[np.uint32]:
        """The strongly connected component of each node, numbered from 1; 0 for nodes outside `alive`. Raises
        LimitError."""
        component, orders, lows, stack, path = (np.zeros(self.count, np.uint32) for _ in range(5))
        cursors, saved = np.zeros(self.count, np.int64), np.zeros(5, np.int64)
        run = as_machine_code(walks.components)
        while not run(
            *(self.count, self.offsets.ctypes.data, self.targets.ctypes.data, alive.ctypes.data),
            *(orders.ctypes.data, lows.ctypes.data, stack.ctypes.data, path.ctypes.data, cursors.ctypes.data),
            *(component.ctypes.data, saved.ctypes.data, BUDGET),
        ):
            self.reachable.look_at_the_clock()
        return component

    def fair(self, component: NDArray[np.uint32], needed: NDArray[np.uint64]) -> Marks:
        """Whether each component, by its number, meets every requirement of the row `needed`. Raises LimitError."""
        total: NDArray[np.uint64] = np.zeros((int(component.max(initial=0)) + 1, self.words), np.uint64)
        collect = as_machine_code(walks.collect)
        for low in range(0, self.count, BUDGET):
            collect(
                *(low, min(low + BUDGET, self.count), self.offsets.ctypes.data, self.targets.ctypes.data),
                *(self.steps.ctypes.data, component.ctypes.data, self.met.ctypes.data, self.given.ctypes.data),
                *(self.words, total.ctypes.data),
            )
            self.reachable.look_at_the_clock()
        fair: Marks = ((total & needed) == needed).all(axis=1)
        fair[0] = False
        return fair


def _joined(parts: list[NDArray[np.uint32]]) -> NDArray[np.uint32]:
    joined = np.concatenate(parts) if parts else np.zeros(0, np.uint32)
    parts.clear()
    return joined

"""Decodes Arrow batches into a shard's visited set.

In:  Arrow batches of states, from any machine.
Out: a visited set that contains each of their states once.
"""

from __future__ import annotations

import numpy as np

from isrcheck.checker.explicit.visited_set import Batch, VisitedSet
from isrcheck.checker.spark.blobs import Blob

ROOM = 1 << 15
PARENT, STEP = "parent", "step"
"""Columns of a batch: the number of a state's predecessor in its level, and the number of the step from there."""


class ShardIntake:
    """Inserts Arrow batches into a visited set, with predecessors and steps if the batches have them."""

    def __init__(self, visited: VisitedSet) -> None:
        self.visited = visited
        self.batch = Batch.of(ROOM, visited.words)
        self.batch.parents[:] = 0
        self.batch.steps[:] = 0

    def take(self, blob: Blob) -> None:
        """Insert the states of an Arrow batch, in order. Raises Full if the memory limit is reached."""
        words, batch = self.visited.words, self.batch
        for low in range(0, blob.size, ROOM):
            size = min(ROOM, blob.size - low)
            batch.states[: size * words] = blob.states[low * words : (low + size) * words]
            if PARENT in blob.columns:
                batch.parents[:size] = blob.columns[PARENT][low : low + size]
                batch.steps[:size] = blob.columns[STEP][low : low + size].astype(np.uint32)
            self.visited.add(batch, size)

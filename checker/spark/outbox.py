"""What a task sends to the other machines: states by shard, in blobs of a handy size.

In:  states with their columns, and for each its shard. Out: (shard, blob) pairs, for Spark to carry.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from checker.spark.blobs import pack

TASK_BYTES = 1 << 26
"""What all the blobs that a task has begun may take."""

MOST_BLOB = 1 << 22
LEAST_BLOB = 1 << 14

Columns = Mapping[str, NDArray[Any]]


class Outbox:
    """Blobs for each shard. In the blobs of a shard the states stand in the order in which they were put in."""

    def __init__(self, words: int, shards: int, **about: int) -> None:
        """Each blob carries what is said `about` it, and how many went to its shard before it."""
        self.words = words
        self.about = about
        self.least = max(LEAST_BLOB, min(MOST_BLOB, TASK_BYTES // shards))
        self.waiting: list[list[tuple[NDArray[np.uint64], Columns]]] = [[] for _ in range(shards)]
        self.bytes = [0] * shards
        self.sent = [0] * shards

    def put(self, shard: int, states: NDArray[np.uint64], columns: Columns) -> Iterator[tuple[int, bytes]]:
        """States, one a row, for a shard; gives a blob when it is full."""
        if len(states):
            self.waiting[shard].append((states, columns))
            self.bytes[shard] += states.nbytes
            if self.bytes[shard] >= self.least:
                yield self._blob(shard)

    def rest(self) -> Iterator[tuple[int, bytes]]:
        """What is not sent yet."""
        for shard, waiting in enumerate(self.waiting):
            if waiting:
                yield self._blob(shard)

    def _blob(self, shard: int) -> tuple[int, bytes]:
        waiting = self.waiting[shard]
        states = np.concatenate([states for states, _ in waiting]).reshape(-1)
        columns = {name: np.concatenate([columns[name] for _, columns in waiting]) for name in waiting[0][1]}
        blob = pack(self.words, states, columns, number=self.sent[shard], **self.about)
        self.waiting[shard], self.bytes[shard] = [], 0
        self.sent[shard] += 1
        return shard, blob

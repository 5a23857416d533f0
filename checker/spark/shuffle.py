"""The sending side of the shuffle: sorts states by shard, and packs them into Arrow batches of moderate size.

In:  packed states, and columns with one number per state.
Out: (shard, Arrow batch) pairs, for Spark to move.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isrcheck.checker.explicit.shards import Lane
from isrcheck.checker.explicit.visited_set import Batch
from isrcheck.checker.spark.blobs import pack

TASK_BYTES = 1 << 26
"""The most bytes that the unfinished Arrow batches of a task may take."""

MOST_BLOB = 1 << 22
LEAST_BLOB = 1 << 14
ROOM = 1 << 15
"""How many states are routed at a time by default."""

Columns = Mapping[str, NDArray[Any]]


class ShuffleWriter:
    """Sorts states by shard. Within a shard, states keep their order."""

    def __init__(self, words: int, shards: int, room: int = ROOM, **about: int) -> None:
        """Each Arrow batch has `about` and its number in the shard as metadata; `room` is the size of `batch`."""
        self.words = words
        self.shards = shards
        self.about = about
        self.lane = Lane.of(words, room, 0, shards)
        self.least = max(LEAST_BLOB, min(MOST_BLOB, TASK_BYTES // shards))
        self.waiting: list[list[tuple[NDArray[np.uint64], Columns]]] = [[] for _ in range(shards)]
        self.bytes = [0] * shards
        self.sent = [0] * shards

    @property
    def batch(self) -> Batch:
        """The batch to fill before `send`."""
        return self.lane.batch

    def send(self, count: int, columns: Columns) -> Iterator[tuple[int, bytes]]:
        """Sort the first `count` states of the batch by shard, without recent duplicates; yield full Arrow batches."""
        self.lane.sort(count)
        rows = self.batch.states[: count * self.words].reshape(-1, self.words)
        for shard in range(self.shards):
            part = self.lane.routed.kept[self.lane.bounds[shard] : self.lane.bounds[shard + 1]]
            if len(part):
                self.waiting[shard].append((rows[part], {name: column[part] for name, column in columns.items()}))
                self.bytes[shard] += 8 * self.words * len(part)
                if self.bytes[shard] >= self.least:
                    yield self._blob(shard)

    def send_all(self, states: NDArray[np.uint64], columns: Columns) -> Iterator[tuple[int, bytes]]:
        """Sort any number of distinct, concatenated states by shard; yield full Arrow batches."""
        room = len(self.batch.parents)
        for low in range(0, len(states) // self.words, room):
            part = states[low * self.words : (low + room) * self.words]
            self.batch.states[: len(part)] = part
            size = len(part) // self.words
            yield from self.send(size, {name: column[low : low + size] for name, column in columns.items()})

    def rest(self) -> Iterator[tuple[int, bytes]]:
        """Yield the Arrow batches that are not full; called last."""
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

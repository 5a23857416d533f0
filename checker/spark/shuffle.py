"""What a task sends to the other machines: states by shard, in blobs of a handy size.

In:  states, with columns that go with them. Out: (shard, blob) pairs, for Spark to carry.
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
"""What all the blobs that a task has begun may take."""

MOST_BLOB = 1 << 22
LEAST_BLOB = 1 << 14
ROOM = 1 << 15
"""States that are routed at a time, where nothing else is said."""

Columns = Mapping[str, NDArray[Any]]


class Outbox:
    """Sorts states by shard. In the blobs of a shard they stand in the order in which they came."""

    def __init__(self, words: int, shards: int, room: int = ROOM, **about: int) -> None:
        """Each blob carries what is said `about` it, and how many went to its shard before it."""
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
        """Where states can be put for `send`."""
        return self.lane.batch

    def send(self, count: int, columns: Columns) -> Iterator[tuple[int, bytes]]:
        """The first states of the batch, without those that were met a moment ago; gives blobs that are full."""
        self.lane.sort(self.words, count, self.shards)
        rows = self.batch.states[: count * self.words].reshape(-1, self.words)
        for shard in range(self.shards):
            part = self.lane.routed[self.lane.bounds[shard] : self.lane.bounds[shard + 1]]
            if len(part):
                self.waiting[shard].append((rows[part], {name: column[part] for name, column in columns.items()}))
                self.bytes[shard] += 8 * self.words * len(part)
                if self.bytes[shard] >= self.least:
                    yield self._blob(shard)

    def send_all(self, states: NDArray[np.uint64], columns: Columns) -> Iterator[tuple[int, bytes]]:
        """Different states, one behind the other; gives blobs that are full."""
        room = len(self.batch.parents)
        for low in range(0, len(states) // self.words, room):
            part = states[low * self.words : (low + room) * self.words]
            self.batch.states[: len(part)] = part
            size = len(part) // self.words
            yield from self.send(size, {name: column[low : low + size] for name, column in columns.items()})

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

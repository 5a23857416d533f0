"""The shuffle: sends packed states, as bytes, to the shards of a search, and inserts them into the shards.

Packed states, and columns with one number per state, become Arrow batches (record batches in Arrow's streaming format)
by shard. Spark moves each batch to the partition with the shard's number. No Python object is created per state. An
Arrow batch can have metadata (`about`): named integers, stored in its schema.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyspark import RDD

from isrcheck.checker.explicit.threads import Lane
from isrcheck.checker.explicit.visited_set import Batch, VisitedSet

PARENT, STEP = "parent", "step"
"""Columns of a batch: the number of a state's predecessor in its level, and the number of the step from there."""

STATE = "state"
"""The column of packed states: 8 bytes per word, little-endian, in the order of checker/compile/layout.py."""


@dataclass(frozen=True)
class Blob:
    """A decoded Arrow batch: a flat array of states, each of `words` 64-bit words; columns with a number for each
    state; and the metadata `about`."""

    words: int
    states: NDArray[np.uint64]
    columns: Mapping[str, NDArray[Any]]
    about: Mapping[str, int]

    @property
    def size(self) -> int:
        """The number of states in the batch."""
        return len(self.states) // self.words


def pack(words: int, states: NDArray[np.uint64], columns: Mapping[str, NDArray[Any]], **about: int) -> bytes:
    """Encode a flat array of states, `words` words each, and other columns as bytes; `about` becomes the metadata."""
    count = len(states) // words
    flat = np.ascontiguousarray(states).view(np.uint8)
    fields = [pa.field(STATE, pa.binary(8 * words))]
    arrays = [pa.Array.from_buffers(pa.binary(8 * words), count, [None, pa.py_buffer(flat)])]
    for name, column in columns.items():
        # Raw buffers: `pa.array` would import pandas, if that is installed.
        kind = pa.from_numpy_dtype(column.dtype)
        arrays.append(pa.Array.from_buffers(kind, count, [None, pa.py_buffer(np.ascontiguousarray(column))]))
        fields.append(pa.field(name, kind))
    schema = pa.schema(fields, {name: str(value) for name, value in about.items()})
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, schema) as writer:
        writer.write_batch(pa.record_batch(arrays, schema=schema))
    packed: bytes = sink.getvalue().to_pybytes()
    return packed


def unpack(blob: bytes) -> Blob:
    """Decode an Arrow batch; its arrays are read-only."""
    with pa.ipc.open_stream(pa.py_buffer(blob)) as reader:
        batch = reader.read_next_batch()
    about = {name.decode(): int(value) for name, value in (batch.schema.metadata or {}).items()}
    packed = batch.column(STATE)
    words = packed.type.byte_width // 8
    states = np.frombuffer(packed.buffers()[1], np.uint64, batch.num_rows * words, 8 * words * packed.offset)
    columns = {name: _numbers(batch.column(name)) for name in batch.schema.names if name != STATE}
    return Blob(words, states, columns, about)


def _numbers(column: Any) -> NDArray[Any]:
    kind = column.type.to_pandas_dtype()
    return np.frombuffer(column.buffers()[1], kind, len(column), np.dtype(kind).itemsize * column.offset)


Pairs = RDD[tuple[int, bytes]]


def partitioned(pairs: Pairs, shards: int) -> Pairs:
    """Return `pairs`, each a number and an Arrow batch, moved to the partition whose index is the pair's number. A
    union of RDDs that are partitioned in this way moves no data."""
    return pairs.partitionBy(shards, int)


TASK_BYTES = 1 << 26
"""The most bytes that the unfinished Arrow batches of a task may take."""

MOST_BLOB = 1 << 22
LEAST_BLOB = 1 << 14
ROOM = 1 << 15
"""How many states are sent to shards, or taken in, at a time by default."""

Columns = Mapping[str, NDArray[Any]]


class ShuffleWriter:
    """Sorts states by shard into Arrow batches. Within a shard, states keep their order."""

    def __init__(self, words: int, shards: int, room: int = ROOM, **about: int) -> None:
        """Create a writer for `shards` shards. Each Arrow batch gets the metadata `about`, and `number`: its position,
        from 0, among the batches for its shard. The buffer `batch` can hold `room` states."""
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
        """The buffer of states that the caller fills before it calls `send`."""
        return self.lane.batch

    def send(self, count: int, columns: Columns) -> Iterator[tuple[int, bytes]]:
        """Sort the first `count` states in `batch` by shard, and yield the Arrow batches that are full, each with its
        shard. `columns` has further numbers for each state. A state that equals a recently sent state is dropped."""
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
        """Send all states of a flat array, in which no state occurs twice; yield the Arrow batches that are full."""
        room = len(self.batch.parents)
        for low in range(0, len(states) // self.words, room):
            part = states[low * self.words : (low + room) * self.words]
            self.batch.states[: len(part)] = part
            size = len(part) // self.words
            yield from self.send(size, {name: column[low : low + size] for name, column in columns.items()})

    def rest(self) -> Iterator[tuple[int, bytes]]:
        """Yield the remaining Arrow batches, which are not full. The caller calls this after the last `send`."""
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


class ShardIntake:
    """Inserts the states of Arrow batches into a visited set, with predecessor and step if the batches have both."""

    def __init__(self, visited: VisitedSet) -> None:
        self.visited = visited
        self.batch = Batch.of(ROOM, visited.words)
        self.batch.parents[:] = self.batch.steps[:] = 0

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

"""Encodes packed states as bytes that can be sent to another machine: a blob is an Arrow batch (record batch).

In:  arrays, one per column: packed states, and integers that belong to each state.
Out: bytes in Arrow's streaming format, and from these the arrays; no Python object is created per state.

An Arrow batch can carry metadata (`about`): named integers, stored in its schema.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

STATE = "state"
"""The column of packed states: 8 bytes per word, little-endian, in the order of checker/compile/layout.py."""


@dataclass(frozen=True)
class Blob:
    """A decoded Arrow batch: a flat array of states, `words` words each; columns with one number per state;
    metadata."""

    words: int
    states: NDArray[np.uint64]
    columns: Mapping[str, NDArray[Any]]
    about: Mapping[str, int]

    @property
    def size(self) -> int:
        """The number of states."""
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

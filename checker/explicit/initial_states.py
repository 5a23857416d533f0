"""Enumerates the initial states of a model with compiled code, from the model's generators of initial states.

Plain Python enumerates the same states in the same order (models/language/states.py). The states are collected in a
visited set, which keeps each state once, in the order of discovery.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from isrcheck.checker.compile.generators import FAILED, PAUSED, compiled_generators
from isrcheck.checker.compile.layout import Layout, layout_of
from isrcheck.checker.explicit.visited_set import Batch, VisitedSet
from isrcheck.checker.resources.limits import machine_memory
from isrcheck.models.language.model import Instance
from isrcheck.models.language.states import Cells, Enumeration, InitialStates, Watch

ROOM = 1 << 14
"""The most states that a call makes."""

WORK = 1 << 22
"""The most combinations of arguments that a call tries: about a hundredth of a second."""


def generate_initial_states(instance: Instance, memory: int, watch: Watch) -> InitialStates:
    """Enumerate the initial states, in at most `memory` bytes, and store them in the instance; `watch` gets the number
    of states and bytes so far. Raises Full, OutOfTimeError, ModelError, UsageError."""
    if instance.is_enumerated:
        return instance.initial_states
    default = Enumeration(instance.model.place_of, instance.layouts).default()
    layout = layout_of(instance)
    visited = VisitedSet(layout.words, 1, min(memory, machine_memory()))
    batch = Batch.of(ROOM, layout.words)
    batch.parents[:] = batch.steps[:] = 0
    for number in range(len(instance.model.generators)):
        for count in _calls(instance, layout, number, default, batch):
            visited.add(batch, count)
            watch(visited.count, visited.bytes_used)
    cells = layout.unpack_rows(visited.states[: visited.count * layout.words].reshape(-1, layout.words))
    return instance.start_from(InitialStates(cells.tobytes(), visited.count, instance.cells, cells.itemsize))


def _calls(
    instance: Instance, layout: Layout, number: int, default: Cells, batch: Batch, *, is_careful: bool = False
) -> Iterator[int]:
    """Run generator `number` in several calls; yield how many states each call put into `batch`. Raises ModelError."""
    begin = compiled_generators(instance, layout, is_careful=is_careful)[number]
    place: NDArray[np.int64] = np.zeros(len(instance.generator_ranges[number]) + 1, np.int64)
    status: NDArray[np.int64] = np.zeros(1, np.int64)
    before, state = (layout.buffer(instance, default) for _ in range(2))
    arrays = (before.ctypes.data, state.ctypes.data, batch.at.states)
    status[0] = PAUSED
    while status[0] == PAUSED:
        yield begin(*arrays, ROOM, WORK, place.ctypes.data, status.ctypes.data)
    if status[0] == FAILED:
        if not is_careful:
            for _ in _calls(instance, layout, number, default, batch, is_careful=True):
                pass
        instance.generated_by(default, number, place[:-1].tolist())
        raise AssertionError("an initial state leaves a declared range in compiled code, but not in plain Python")

"""Moves states into a later window: offsets, record numbers and epochs are counted from later points.

In:  states as a table, and a `Move` (settled.py).
Out: the same states, in terms of the new window.
"""

from __future__ import annotations

import numpy as np

from isrcheck.conformance.follow.online.window.settled import Move, has_request
from isrcheck.conformance.follow.online.window.table import Cube, Table
from isrcheck.models.kafka.state.values import Controller, Fetch
from isrcheck.models.language.declarations import NONE

OFFSETS = (
    *("log_end_offset", "high_watermark", "epoch_start_offset", "remote_log_end_offset", "fetch_offset"),
    *("response_high_watermark", "flushed_offset", "log_end_offset_at_fetch", "late_fetch_offset"),
    "diverging_end_offset",
)
RECORDS, RECORD_EPOCHS = ("log_record", "response_record"), ("log_epoch", "response_epoch")


def move(table: Table, by: Move) -> None:
    """Move all states of a table."""
    _cut_short_logs(table, by)
    _move_offsets(table, by)
    _move_records(table, by)
    _move_epochs(table, by)
    _move_partition_epochs(table, by)


def _cut_short_logs(table: Table, by: Move) -> None:
    for replica in by.shorts:
        for name in ("log_record", "log_epoch", "epoch_cache"):
            table[name][:, replica] = NONE


def _move_offsets(table: Table, by: Move) -> None:
    for name in OFFSETS:
        if table.has(name):
            cube = table[name]
            table[name] = np.where(cube == NONE, NONE, np.maximum(cube - by.guard, 0))
    # An outstanding fetch and its response show nothing before the guard; a log keeps the guard itself.
    for name in (*RECORDS, *RECORD_EPOCHS):
        table[name] = _shifted(table[name], by.guard, -1)
    cache = table["epoch_cache"]
    settled, kept = (cache != NONE) & (cache <= by.guard), cache > by.guard
    moved = np.where(kept, cache - by.guard, NONE).astype(np.int16)
    for replica, entries in by.caches.items():
        if entries and replica not in by.shorts:
            moved[:, replica, entries[-1][0]] = 0
    assert by.caches or not settled.any()
    table["epoch_cache"] = moved


def _move_records(table: Table, by: Move) -> None:
    for name in RECORDS:
        cube = table[name]
        table[name] = np.where(cube == NONE, NONE, cube - by.records)
    table["next_record"] = table["next_record"] - by.records
    table["pending"] = _shifted(table["pending"], by.records, -1)
    acknowledged = _shifted(table["acknowledged"], by.records, -1, empty=0)
    acknowledged[:, 0] = 1  # the guard: nobody asks any more, so that states differ in nothing that is over
    table["acknowledged"] = acknowledged


def _move_epochs(table: Table, by: Move) -> None:
    epochs = by.epochs
    for name in ("controller_epoch", "leader_epoch", "requested_leader_epoch", "metadata_leader_epoch"):
        if table.has(name):
            table[name] = np.maximum(table[name] - epochs, 0)
    if table.has("diverging_epoch"):
        diverges = table["fetch"] == Fetch.DIVERGING
        table["diverging_epoch"] = np.where(diverges, np.maximum(table["diverging_epoch"] - epochs, 0), 0)
    for name in RECORD_EPOCHS:
        cube = table[name]
        table[name] = np.where(cube == NONE, NONE, np.maximum(cube - epochs, 0))
    cache = table["epoch_cache"]
    moved = _shifted(cache, epochs, -1)
    for older in range(epochs):  # the entry of the guard may have an epoch before all others
        moved[..., 0] = np.where(cache[..., older] == 0, 0, moved[..., 0])
    table["epoch_cache"] = moved
    if table.instance.configuration.CONTROLLER == Controller.ZOOKEEPER:
        table["metadata_leader"] = _shifted(table["metadata_leader"], epochs, 1)
        table["metadata_isr"] = _shifted(table["metadata_isr"], epochs, 1, empty=0)
        if table.has("metadata_partition_epoch"):
            table["metadata_partition_epoch"] = _shifted(table["metadata_partition_epoch"], epochs, 1, empty=0)


def _move_partition_epochs(table: Table, by: Move) -> None:
    if not table.has("partition_epoch"):
        return
    less = by.partition_epochs
    for name in (
        *("controller_partition_epoch", "partition_epoch", "requested_partition_epoch", "metadata_position"),
        *("shutdown_partition_epoch", "metadata_partition_epoch"),
    ):
        if table.has(name):
            table[name] = np.maximum(table[name] - less, 0)
    if table.instance.configuration.CONTROLLER == Controller.KRAFT:
        table["metadata_leader"] = _shifted(table["metadata_leader"], less, 1)
        table["metadata_isr"] = _shifted(table["metadata_isr"], less, 1, empty=0)
        table["metadata_leader_epoch"] = _shifted(table["metadata_leader_epoch"], less, 1, empty=0)
    assert (has_request(table) | (table["requested_partition_epoch"] == 0)).all()


def _shifted(cube: Cube, by: int, axis: int, empty: int = NONE) -> Cube:
    """The values along an axis, moved towards its beginning; the end is filled with `empty`."""
    moved = np.full_like(cube, empty)
    size = cube.shape[axis]
    if by < size:
        to, since = [slice(None)] * cube.ndim, [slice(None)] * cube.ndim
        to[axis], since[axis] = slice(0, size - by), slice(by, None)
        moved[tuple(to)] = cube[tuple(since)]
    return moved

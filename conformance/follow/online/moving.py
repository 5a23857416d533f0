"""Moves the window forward, past the records that are settled in all possible states.

The states are also simplified: messages in flight that can have no effect are dropped, and brokers apply metadata that
changes nothing for them.

A record is settled at an offset if, in all possible states, all logs that reach this offset have the same records up to
and including it. The last settled record stays in the window as its record 0 at offset 0, and is called the guard. If
it disappears from a log, that log has lost records that the window does not show (steps_of_chunk.py). A log that ends
before the guard is called short; the window shows it as an empty log, and its length, the same in all states, is
remembered (window.py). Every offset before the guard becomes 0, and so does every epoch that is older than all epochs
in use: the model only compares offsets and epochs.

This is sound as long as no two values that a step compares become equal. So a broker with a short log must not lead,
unless it is frozen; a leader's high watermark must be after the guard; and messages in flight must fit the log of their
receiver.

Each simplification takes an unrecorded step that is possible at any time, or drops a step that would change nothing. So
every behaviour from the old state is also a behaviour from the new state.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from isrcheck.checker.compile.layout import Layout
from isrcheck.conformance.follow.recorded.states import Truths, Words
from isrcheck.conformance.follow.recorded.window import Move, Short
from isrcheck.models.kafka.state.values import AlterPartition, Controller, Fetch, Truncation
from isrcheck.models.language.declarations import NONE
from isrcheck.models.language.model import Instance

Cube = NDArray[np.int16]
"""The values of a variable: the first axis is the state, the others are the indices of the variable."""


class Table:
    """Many states as one array for each variable, so that a variable can be changed in all states at once."""

    def __init__(self, instance: Instance, layout: Layout, states: Words) -> None:
        self.instance = instance
        self.layout = layout
        self.rows = len(states)
        self._cubes: dict[str, Cube] = {}
        for name, place in instance.layouts.items():
            cube = np.empty((self.rows, place.count), np.int16)
            for at in range(place.count):
                cube[:, at] = layout.column(states, place.offset + at)
            self._cubes[name] = cube.reshape(self.rows, *place.sizes)

    def __getitem__(self, name: str) -> Cube:
        return self._cubes[name]

    def __setitem__(self, name: str, cube: Cube) -> None:
        assert cube.shape == self._cubes[name].shape, name
        self._cubes[name] = cube.astype(np.int16)

    def has(self, name: str) -> bool:
        """Whether the instance of the model has this variable, and the variable is not empty."""
        return name in self._cubes and self._cubes[name].size > 0

    def packed(self) -> Words:
        """The states in packed form. Every value must be within its range."""
        words: Words = np.zeros((self.rows, self.layout.words), np.uint64)
        for name, place in self.instance.layouts.items():
            cube = self._cubes[name].reshape(self.rows, place.count)
            assert not cube.size or (place.low <= cube.min() and cube.max() <= place.high), f"{name} leaves its range"
            for at in range(place.count):
                bits = self.layout.bits[place.offset + at]
                value = (cube[:, at].astype(np.int64) - bits.low).astype(np.uint64)
                words[:, bits.word] |= value << np.uint64(bits.shift)
        return words


def longest_move(table: Table, frozen: frozenset[int], *, is_crowded: bool) -> Move | None:
    """Return the sound move that takes the window farthest; None if no move is sound.

    Unless `is_crowded`, all states must agree on which records up to the guard (the new first record) are acknowledged.
    """
    reference, epochs = _reference(table)
    for guard in range(len(reference) - 1, -1, -1):
        move = _Try(table, frozen, reference, epochs, guard).move()
        if move is not None and (is_crowded or None not in move.acknowledged):
            return move
    return None


def _reference(table: Table) -> tuple[list[int], list[int]]:
    """The longest common beginning of the longest logs of all states: its records, and their leader epochs."""
    ends = table["log_end_offset"]
    leaders = np.argmax(ends, axis=1)
    rows = np.arange(table.rows)
    records, epochs = table["log_record"][rows, leaders], table["log_epoch"][rows, leaders]
    same = (records == records[0]).all(axis=0) & (epochs == epochs[0]).all(axis=0) & (records[0] != NONE)
    count = len(same) if same.all() else int(np.argmin(same))
    return records[0][:count].tolist(), epochs[0][:count].tolist()


@dataclass
class _Try:
    """A test whether the window can move so far that the record at offset `guard` becomes its first, the guard."""

    table: Table
    frozen: frozenset[int]
    reference: list[int]
    epochs: list[int]
    guard: int

    def __post_init__(self) -> None:
        self.configuration = self.table.instance.configuration
        self.replicas = range(self.configuration.replicas)
        self.short: Truths = np.any(self.table["log_end_offset"] <= self.guard, axis=0)

    def move(self) -> Move | None:
        """The move if it is sound in every state, otherwise None."""
        table, guard = self.table, self.guard
        checks = (self._logs, self._leaders, self._fetches, self._records)
        if not all(check() for check in checks):
            return None
        shorts = {}
        for replica in np.flatnonzero(self.short):
            ends = table["log_end_offset"][:, replica]
            marks = table["high_watermark"][:, replica]
            if (ends != ends[0]).any():
                return None
            shorts[int(replica)] = Short(int(ends[0]), int(marks[0]) if (marks == marks[0]).all() else None)
        caches = self._caches()
        if caches is None:
            return None
        flags = table["acknowledged"]
        return Move(
            guard,
            self.reference[guard],
            self._epoch_shift(),
            self._partition_shift(),
            tuple(self.reference[: guard + 1]),
            tuple(self.epochs[: guard + 1]),
            shorts,
            caches,
            tuple(
                bool(flags[0, record]) if (flags[:, record] == flags[0, record]).all() else None
                for record in range(self.reference[guard] + 1)
            ),
        )

    def _logs(self) -> bool:
        """Whether every log, as far as it reaches, has the records in `reference` and their epochs up to the guard."""
        end = self.guard + 1
        for replica in self.replicas:
            for name, wanted in (("log_record", self.reference), ("log_epoch", self.epochs)):
                held = self.table[name][:, replica, :end]
                agrees = (held == np.array(wanted[:end], np.int16)) | (held == NONE)
                if not agrees.all():
                    return False
        return True

    def _leaders(self) -> bool:
        table = self.table
        if table["log_start_offset"].any():
            return False
        for replica in self.replicas:
            leads = table["leader"][:, replica] == replica
            if self.short[replica]:
                if (table["controller_leader"] == replica).any() or (leads.any() and replica not in self.frozen):
                    return False
                for other in np.flatnonzero(self.short):
                    is_pair = leads & (table["leader"][:, other] == replica) & (table["is_up"][:, other] == 1)
                    if other != replica and is_pair.any():
                        return False
                members = table["controller_isr"][:, replica].any() or (
                    table.has("proposed_isr") and table["proposed_isr"][:, :, replica].any()
                )
                if members:
                    return False
            elif (leads & (table["high_watermark"][:, replica] <= self.guard)).any():
                return False
        return True

    def _fetches(self) -> bool:
        """Whether the same fetches in flight fit the log of their follower before and after the move of the window."""
        table, guard = self.table, self.guard
        is_out = table["fetch"] != Fetch.NONE
        fetched = table["fetch_offset"].astype(int)
        ends = np.broadcast_to(table["log_end_offset"][:, :, None], fetched.shape).astype(int)
        moved = np.maximum(fetched - guard, 0) == np.maximum(ends - guard, 0)
        if (is_out & (moved != (fetched == ends))).any():
            return False
        at_guard = table["response_record"][..., guard]
        if ((at_guard != NONE) & (at_guard != self.reference[guard])).any():
            return False
        if table.has("diverging_end_offset"):
            diverges = table["fetch"] == Fetch.DIVERGING
            if (diverges & (table["diverging_end_offset"] <= guard)).any():
                return False
        return True

    def _records(self) -> bool:
        """Whether the records up to the guard are sent, are pending at no leader, and occur nowhere after the guard."""
        table, last = self.table, self.reference[self.guard]
        if (table["next_record"] <= last).any() or (table["pending"][:, : last + 1] != NONE).any():
            return False
        for name in ("log_record", "response_record"):
            later = table[name][..., self.guard + 1 :]
            if ((later != NONE) & (later <= last)).any():
                return False
        return True

    def _caches(self) -> dict[int, tuple[tuple[int, int], ...]] | None:
        """For each broker, the entries of its epoch cache that start up to the guard; empty if brokers have no cache.
        None if states differ in them, or a broker's log has the guard, but its last cache entry is of another epoch."""
        if self.configuration.TRUNC == Truncation.HW:
            return {}
        caches = {}
        for replica in self.replicas:
            cache = self.table["epoch_cache"][:, replica]
            kept = np.where(cache <= self.guard, cache, NONE)
            if (kept != kept[0]).any():
                return None
            entries = tuple((epoch, int(start)) for epoch, start in enumerate(kept[0]) if start != NONE)
            if not self.short[replica] and (not entries or entries[-1][0] != self.epochs[self.guard]):
                return None
            caches[replica] = entries
        return caches

    def _epoch_shift(self) -> int:
        """The number to subtract from leader epochs so that the least epoch in use becomes 1 (0 if it is below 2)."""
        least = min((int(values.min()) for values in self._live_epochs() if values.size), default=0)
        return max(0, least - 1)

    def _live_epochs(self) -> Iterator[np.ndarray]:
        table, end = self.table, self.guard + 1
        yield table["controller_epoch"]
        yield table["leader_epoch"][table["is_up"] == 1]
        for name in ("log_epoch", "response_epoch"):
            later = table[name][..., end:]
            yield later[later != NONE]
        cache = table["epoch_cache"]
        epochs = np.broadcast_to(np.arange(cache.shape[-1]), cache.shape)
        yield epochs[cache > self.guard]
        if table.has("diverging_epoch"):
            yield table["diverging_epoch"][table["fetch"] == Fetch.DIVERGING]
        if table.has("metadata_leader_epoch"):
            announced = table["metadata_leader_epoch"]
            numbers = np.broadcast_to(np.arange(announced.shape[-1]), announced.shape)
            yield announced[numbers > least_position(table)[:, None]]

    def _partition_shift(self) -> int:
        table = self.table
        if not table.has("partition_epoch"):
            return 0
        is_up = table["is_up"] == 1
        live = [table["controller_partition_epoch"], table["partition_epoch"][is_up]]
        if self.configuration.CONTROLLER == Controller.KRAFT:
            live.append(table["metadata_position"][is_up])
        live.append(table["requested_partition_epoch"][is_up & has_request(table)])
        least = min(int(values.min()) for values in live if values.size)
        return max(0, least - 1)


def least_position(table: Table) -> np.ndarray:
    """For each state, the position up to which all running brokers have applied the metadata log (KRaft)."""
    unread = np.where(table["is_up"] == 1, table["metadata_position"], np.iinfo(np.int16).max)
    least: np.ndarray = np.minimum(unread.min(axis=1), table["controller_partition_epoch"])
    return least


def has_request(table: Table) -> Truths:
    """For each state and leader, whether the leader has a request to change the ISR, unanswered or answered."""
    requested: Truths = table["alter_partition"] != AlterPartition.NONE
    return requested


Request = tuple[int, int, int]
"""A leader's request to change the ISR: the replica, and the leader epoch and partition epoch that it names."""

OF_REQUEST = ("alter_partition", "requested_leader_epoch", "requested_partition_epoch", "requested_isr")
OF_RESPONSE = {
    "fetch": Fetch.NONE,
    "fetch_offset": 0,
    "response_high_watermark": 0,
    "response_log_start_offset": 0,
    "response_record": NONE,
    "response_epoch": NONE,
    "diverging_epoch": 0,
    "diverging_end_offset": 0,
}


def read_ahead(table: Table, frozen: frozenset[int]) -> None:
    """Let brokers apply metadata records that only change a broker's position in the metadata log (KRaft): records
    older than the broker's partition epoch and, at followers, ISR changes in the broker's leader epoch. `frozen`
    brokers apply none."""
    if table.instance.configuration.CONTROLLER != Controller.KRAFT:
        return
    newest = table["controller_partition_epoch"].astype(int)
    position, epochs = table["metadata_position"].astype(int), table["partition_epoch"].astype(int)
    announced = table["metadata_leader_epoch"]
    numbers = np.arange(announced.shape[-1])
    for replica in range(position.shape[1]):
        if replica in frozen:
            continue
        is_up = table["is_up"][:, replica] == 1
        ahead = np.maximum(position[:, replica], np.minimum(epochs[:, replica] - 1, newest))
        unread = (numbers > ahead[:, None]) & (numbers <= newest[:, None])
        same = (~unread | (announced == table["leader_epoch"][:, replica][:, None])).all(axis=1)
        follows = same & (table["leader"][:, replica] != replica) & (table["leader"][:, replica] != NONE)
        position[:, replica] = np.where(is_up, np.where(follows, newest, ahead), position[:, replica])
        epochs[:, replica] = np.where(is_up & follows, np.maximum(epochs[:, replica], newest), epochs[:, replica])
    table["metadata_position"], table["partition_epoch"] = position, epochs
    heard = numbers <= least_position(table)[:, None]
    table["metadata_leader"] = np.where(heard, NONE, table["metadata_leader"])
    table["metadata_leader_epoch"] = np.where(heard, 0, announced)
    table["metadata_isr"] = np.where(heard[:, :, None], 0, table["metadata_isr"])


def drop_late_responses(table: Table) -> None:
    """Drop responses to fetches at offset 0 that the follower cannot use, because its log has the guard (record 0)."""
    is_late = (table["fetch"] >= Fetch.ANSWERED) & (table["fetch_offset"] == 0)
    is_late &= (table["log_end_offset"] > 0)[:, :, None] & (table["is_truncating"] == 0)[:, :, None]
    for name, empty in OF_RESPONSE.items():
        if table.has(name):
            cube = table[name]
            table[name] = np.where(is_late.reshape(*is_late.shape, *(1,) * (cube.ndim - 3)), empty, cube)


def drop_late_requests(table: Table, expected: Iterable[Request]) -> None:
    """Let the controller refuse outdated requests to change the ISR, and let leaders receive answers to changes that
    they have given up. Requests that a later line shows (`expected`) stay.
    """
    if not table.has("alter_partition"):
        return
    stage, epoch = table["alter_partition"], table["requested_leader_epoch"]
    request_epoch = table["requested_partition_epoch"]
    newest, partition = table["controller_epoch"][:, None], table["controller_partition_epoch"][:, None]
    refused = (stage == AlterPartition.REQUESTED) & ((epoch < newest) | (request_epoch < partition))
    given_up = (stage > AlterPartition.REQUESTED) & ~table["proposed_isr"].any(axis=2)
    is_late = refused | given_up
    for leader, leader_epoch, partition_epoch in expected:
        is_late[:, leader] &= (epoch[:, leader] != leader_epoch) | (request_epoch[:, leader] != partition_epoch)
    for name in OF_REQUEST:
        cube = table[name]
        table[name] = np.where(is_late.reshape(*is_late.shape, *(1,) * (cube.ndim - 2)), 0, cube)
    if table.has("requested_broker_epoch"):
        table["requested_broker_epoch"] = np.where(is_late[:, :, None], 0, table["requested_broker_epoch"])


OF_LOG = ("log_end_offset", "high_watermark", "epoch_start_offset", "flushed_offset", "log_end_offset_at_fetch")
OF_FETCH = ("remote_log_end_offset", "fetch_offset", "response_high_watermark", "late_fetch_offset")
OFFSETS = (*OF_LOG, *OF_FETCH, "diverging_end_offset")
OF_PARTITION = ("controller_partition_epoch", "partition_epoch", "requested_partition_epoch")
PARTITION_EPOCHS = (*OF_PARTITION, "shutdown_partition_epoch", "metadata_partition_epoch", "metadata_position")
ANNOUNCED_EPOCHS = ("metadata_partition_epoch", "metadata_leader_epoch")
RECORDS, RECORD_EPOCHS = ("log_record", "response_record"), ("log_epoch", "response_epoch")


def move(table: Table, by: Move) -> None:
    for replica in by.shorts:
        for name in ("log_record", "log_epoch", "epoch_cache"):
            table[name][:, replica] = NONE
    _move_offsets(table, by)
    _move_records(table, by)
    _move_epochs(table, by)
    _move_partition_epochs(table, by)


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
    acknowledged[:, 0] = 1  # the guard: no step reads it, and states must not differ in what is over
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
        _shift_announcements(table, epochs)


def _move_partition_epochs(table: Table, by: Move) -> None:
    if not table.has("partition_epoch"):
        return
    less = by.partition_epochs
    for name in PARTITION_EPOCHS:
        if table.has(name):
            table[name] = np.maximum(table[name] - less, 0)
    if table.instance.configuration.CONTROLLER == Controller.KRAFT:
        _shift_announcements(table, less)
    assert (has_request(table) | (table["requested_partition_epoch"] == 0)).all()


def _shift_announcements(table: Table, by: int) -> None:
    """Subtract `by` from the index of the controller's announcements: a leader epoch, with KRaft a partition epoch."""
    for name, empty in (("metadata_leader", NONE), ("metadata_isr", 0), *((name, 0) for name in ANNOUNCED_EPOCHS)):
        if table.has(name):
            table[name] = _shifted(table[name], by, 1, empty)


def _shifted(cube: Cube, by: int, axis: int, empty: int = NONE) -> Cube:
    """The values of `cube`, moved `by` places to the beginning of `axis`; the places freed at the end get `empty`."""
    moved = np.full_like(cube, empty)
    size = cube.shape[axis]
    if by < size:
        to, since = [slice(None)] * cube.ndim, [slice(None)] * cube.ndim
        to[axis], since[axis] = slice(0, size - by), slice(by, None)
        moved[tuple(to)] = cube[tuple(since)]
    return moved

"""Which records are settled in all possible states, so that the window can move behind them.

In:  the states after a line, as a table.
Out: a `Move`: how far offsets, record numbers, leader epochs and partition epochs can be counted from later points.

A record is settled at an offset if every log that reaches so far has the same record there, and before it, in every
state. The last settled record stays in the window, as its record 0 at offset 0, the guard: a log from which it
disappears has lost records that the window does not show (../guard.py). A log that ends before the guard is short: its
length is known, because it is the same in all states, and it appears as an empty log. Every offset before the guard
becomes 0, and every epoch before all that are in use becomes 0: the model only compares offsets and epochs.

That is right as long as no two values become equal that a step compares. So a short broker must not lead, unless it is
frozen; a leader's high watermark must be behind the guard; and what is on its way must fit the log that it is for.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from isrcheck.conformance.follow.online.window.table import Table
from isrcheck.conformance.follow.paths.cells import Truths
from isrcheck.models.kafka.state.values import AlterPartition, Controller, Fetch, Truncation
from isrcheck.models.language.declarations import NONE


@dataclass(frozen=True)
class Short:
    """The end of a log that ends before the guard, its high watermark if it is the same in all states, and its cache
    of leader epochs; counted as in the window before the move.
    """

    length: int
    high_watermark: int | None


@dataclass(frozen=True)
class Move:
    """The window moves so that the guard is the record at `guard`, an offset in the present window.

    `records`, `epochs` and `partition_epochs` are subtracted. `values` and `guard_epochs` are the settled records by
    number with their epochs, up to the guard. `caches` are the entries of each broker's epoch cache up to the guard,
    None for a short log. `acknowledged` says for each record up to the guard whether it is acknowledged in all states
    (True), in none (False), or in some (None).
    """

    guard: int
    records: int
    epochs: int
    partition_epochs: int
    numbers: tuple[int, ...]
    number_epochs: tuple[int, ...]
    shorts: Mapping[int, Short]
    caches: Mapping[int, tuple[tuple[int, int], ...]]
    acknowledged: tuple[bool | None, ...]


def longest_move(table: Table, frozen: frozenset[int], *, is_crowded: bool) -> Move | None:
    """The move to the last settled record; None if there is none.

    If the window is not crowded, states agree whether the records up to there are acknowledged.
    """
    reference, epochs = _reference(table)
    for guard in range(len(reference) - 1, -1, -1):
        move = _Try(table, frozen, reference, epochs, guard).move()
        if move is not None and (is_crowded or None not in move.acknowledged):
            return move
    return None


def _reference(table: Table) -> tuple[list[int], list[int]]:
    """The common beginning of the longest logs of all states: records and epochs."""
    ends = table["log_end_offset"]
    leaders = np.argmax(ends, axis=1)
    rows = np.arange(table.rows)
    records, epochs = table["log_record"][rows, leaders], table["log_epoch"][rows, leaders]
    same = (records == records[0]).all(axis=0) & (epochs == epochs[0]).all(axis=0) & (records[0] != NONE)
    count = len(same) if same.all() else int(np.argmin(same))
    return records[0][:count].tolist(), epochs[0][:count].tolist()


class _Try:
    """One attempt: the guard at one offset."""

    def __init__(
        self,
        table: Table,
        frozen: frozenset[int],
        reference: list[int],
        epochs: list[int],
        guard: int,
    ) -> None:
        self.table = table
        self.configuration = table.instance.configuration
        self.frozen = frozen
        self.reference = reference
        self.epochs = epochs
        self.guard = guard
        self.replicas = range(self.configuration.replicas)
        self.short: Truths = np.any(table["log_end_offset"] <= guard, axis=0)

    def move(self) -> Move | None:
        """The move, if it is right in all states."""
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
        epochs = self._epoch_shift()
        if caches is None or epochs is None:
            return None
        flags = table["acknowledged"]
        return Move(
            guard,
            self.reference[guard],
            epochs,
            self._partition_shift(),
            tuple(self.reference[: guard + 1]),
            tuple(self.epochs[: guard + 1]),
            shorts,
            caches,
            tuple(_uniform(flags[:, record]) for record in range(self.reference[guard] + 1)),
        )

    def _logs(self) -> bool:
        """Every log agrees with the reference, as far as it reaches."""
        end = self.guard + 1
        for replica in self.replicas:
            for name, wanted in (("log_record", self.reference), ("log_epoch", self.epochs)):
                found = self.table[name][:, replica, :end]
                agrees = (found == np.array(wanted[:end], np.int16)) | (found == NONE)
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
        """What is on its way fits the same logs as before."""
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
        """All records up to the guard are behind the producer, and in no log or response behind the guard."""
        table, last = self.table, self.reference[self.guard]
        if (table["next_record"] <= last).any():
            return False
        if (table["pending"][:, : last + 1] != NONE).any():
            return False
        for name in ("log_record", "response_record"):
            later = table[name][..., self.guard + 1 :]
            if ((later != NONE) & (later <= last)).any():
                return False
        return True

    def _caches(self) -> dict[int, tuple[tuple[int, int], ...]] | None:
        """The cached epochs that start up to the guard, by broker; None if states differ in them."""
        if self.configuration.TRUNC == Truncation.HW:
            return {}
        found = {}
        for replica in self.replicas:
            cache = self.table["epoch_cache"][:, replica]
            kept = np.where(cache <= self.guard, cache, NONE)
            if (kept != kept[0]).any():
                return None
            entries = tuple((epoch, int(start)) for epoch, start in enumerate(kept[0]) if start != NONE)
            if not self.short[replica] and (not entries or entries[-1][0] != self.epochs[self.guard]):
                return None
            found[replica] = entries
        return found

    def _epoch_shift(self) -> int | None:
        """What is subtracted from leader epochs: all that are in use become 1 or more, unless they are already less."""
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
    """For each state, how far all running brokers have applied the metadata log (KRaft)."""
    unread = np.where(table["is_up"] == 1, table["metadata_position"], np.iinfo(np.int16).max)
    least: np.ndarray = np.minimum(unread.min(axis=1), table["controller_partition_epoch"])
    return least


def has_request(table: Table) -> Truths:
    """For each leader, whether it has a request to change the ISR, answered or not."""
    found: Truths = table["alter_partition"] != AlterPartition.NONE
    return found


def _uniform(flags: np.ndarray) -> bool | None:
    return bool(flags[0]) if (flags == flags[0]).all() else None

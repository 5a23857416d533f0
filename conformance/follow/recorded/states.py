"""Reads the variables of many packed states at once, and evaluates claims on them: conditions that lines impose."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isrcheck.checker.compile.layout import Layout
from isrcheck.models.kafka.state.values import Controller, IsrChannel
from isrcheck.models.language.declarations import NONE
from isrcheck.models.language.model import Instance

Words = NDArray[np.uint64]
"""States, one row each; or one monitor per state."""

Numbers = NDArray[np.int64]
Truths = NDArray[np.bool_]

Variable = tuple[str, *tuple[int, ...]]
"""A variable: the name of a field, and its indices."""

Spell = Callable[[Sequence[int]], str]
"""Turns the values in one state into text."""


def alters_partitions(instance: Instance) -> bool:
    """Whether leaders change the ISR by requests to the controller; partition epochs then count the changes."""
    return bool(instance.configuration.ISR_CHANNEL == IsrChannel.ALTER_PARTITION)


def has_kraft(instance: Instance) -> bool:
    return bool(instance.configuration.CONTROLLER == Controller.KRAFT)


@dataclass(frozen=True)
class Bits:
    """A bit field in a monitor, a 64-bit number that a search keeps beside each state (search/monitor.py)."""

    shift: int
    width: int

    def read(self, monitors: Words) -> Numbers:
        """The value of the field in each of these monitors."""
        mask = np.uint64((1 << self.width) - 1)
        return ((monitors >> np.uint64(self.shift)) & mask).astype(np.int64)

    def write(self, monitors: Words, values: Numbers) -> None:
        """Set the field in each of these monitors to the monitor's value in `values`."""
        mask = np.uint64(((1 << self.width) - 1) << self.shift)
        monitors &= ~mask
        monitors |= values.astype(np.uint64) << np.uint64(self.shift)


class Cells:
    """Finds the variables of an instance of the model in its packed states."""

    def __init__(self, instance: Instance, layout: Layout) -> None:
        self.instance = instance
        self.layout = layout

    def column(self, states: Words, name: str, *index: int) -> Numbers:
        """The values of a variable, one for each state."""
        return self.layout.column(states, self.place(name, *index))

    def place(self, name: str, *index: int) -> int:
        """The position of a variable in the unpacked state."""
        place = self.instance.layouts[name]
        position = 0
        for at, size in zip(index, place.sizes, strict=True):
            assert 0 <= at < size, f"{name}{list(index)} does not exist"
            position = position * size + at
        return place.offset + position

    def pattern(self, values: Mapping[Variable, int | None]) -> tuple[Words, Words]:
        """Return a mask with all bits of these variables, and a packed state with their values (zeros for None)."""
        masks, words = [0] * self.layout.words, [0] * self.layout.words
        for (name, *index), value in values.items():
            bits = self.layout.bits[self.place(name, *index)]
            masks[bits.word] |= ((1 << bits.width) - 1) << bits.shift
            words[bits.word] |= 0 if value is None else (value - bits.low) << bits.shift
        return np.array(masks, np.uint64), np.array(words, np.uint64)


@dataclass(frozen=True)
class Claim:
    """One condition on a state, evaluated on many states at once."""

    says: str
    """The condition in words."""

    is_true: Callable[[Words, Words], Truths]
    """For each of many states and their monitors, whether the condition is true."""

    columns: Callable[[Words, Words], list[Numbers]]
    """The values in the states that the condition is about."""

    spell: Spell

    cells: tuple[tuple[Variable, int], ...] = ()
    """The variables and their values, if the condition is that variables have certain values."""

    reads: tuple[str, ...] = ()
    """Otherwise the fields that it reads, if any."""


@dataclass(frozen=True, kw_only=True)
class Names:
    """The brokers, records and leader epochs as a recording names them; the model numbers each kind from 0."""

    brokers: tuple[int, ...]
    """The broker of each replica."""

    values: tuple[str, ...]
    """The value of each record."""

    first_epoch: int
    """The leader epoch that the model counts from."""

    def replica(self, broker: int) -> int:
        """The model's number of a broker."""
        return self.brokers.index(broker)

    def record(self, value: str) -> int:
        """The model's number of a record."""
        return self.values.index(value)


@dataclass(frozen=True)
class Place:
    """The situation of a line in its recording: the facts that its claims refer to, and methods that make claims."""

    names: Names
    cells: Cells

    earlier: Sequence[Any]
    """The lines before it."""

    sighted: Sequence[Bits]
    """For each replica, how many of the observed checkpoints of its process have occurred."""

    elsewhere: Mapping[int, Bits]
    """For each record, whether it was acknowledged at another offset than the recorded one."""

    may_start: Callable[[Words, int, Numbers], Truths]
    """For each monitor, whether this replica can be started with a checkpoint up to this high watermark."""

    frozen: frozenset[int]
    """The replicas that are frozen."""

    stopping: frozenset[int]
    """The replicas that are shut down or shutting down."""

    sightings: int | None
    """How many observed checkpoints of the broker's process have occurred when a checkpoint of this line is true. None:
    the checkpoint differs from the last observed one although no process could have written it."""

    shows_reassignment: bool
    """Whether the states show the effect of the reassignment that is answered here."""

    @property
    def configuration(self) -> Any:
        return self.cells.instance.configuration

    @property
    def alters_partitions(self) -> bool:
        return alters_partitions(self.cells.instance)

    @property
    def has_kraft(self) -> bool:
        return has_kraft(self.cells.instance)

    @property
    def replicas(self) -> range:
        return range(self.configuration.replicas)

    @property
    def log_size(self) -> int:
        return int(self.configuration.log_size)

    @property
    def newest_epoch(self) -> int:
        """The newest leader epoch that an earlier line shows, counted as in the model."""
        epochs = (line.metadata_epoch for line in self.earlier)
        return max((epoch - self.names.first_epoch for epoch in epochs if epoch is not None), default=0)

    def column(self, states: Words, name: str, *index: int) -> Numbers:
        return self.cells.column(states, name, *index)

    def equal(self, says: str, variables: Sequence[Variable], wanted: Sequence[int], spell: Spell) -> Claim:
        """The claim that each of these variables has its wanted value."""

        def columns(states: Words, monitors: Words) -> list[Numbers]:
            return [self.column(states, *variable) for variable in variables]

        def is_true(states: Words, monitors: Words) -> Truths:
            pairs = zip(columns(states, monitors), wanted, strict=True)
            return self.all_of(states, (column == value for column, value in pairs))

        return Claim(says, is_true, columns, spell, tuple(zip(variables, wanted, strict=True)))

    def cell(self, says: str, variable: Variable, value: int, spell: Callable[[int], str] = str) -> Claim:
        """The claim that a variable has this value."""
        return self.equal(says, [variable], [value], lambda values: spell(values[0]))

    def never(self, says: str, why: str) -> Claim:
        """A claim that is true in no state, for the reason `why`."""
        return self.claim(says, lambda states, _: self.any_of(states, ()), lambda *_: [], lambda _: why)

    def claim(
        self,
        says: str,
        is_true: Callable[[Words, Words], Truths],
        columns: Callable[[Words, Words], list[Numbers]],
        spell: Spell,
        *reads: str,
    ) -> Claim:
        """A claim with the condition `is_true`, which reads the fields `reads`; `columns` gives values to report."""
        return Claim(says, is_true, columns, spell, reads=reads)

    def members(self, says: str, field: str, members: frozenset[int]) -> Claim:
        """The claim that exactly these brokers are members of the set that a field holds, such as the ISR."""
        return self.equal(
            f"{says} {self.listed(sorted(members))}",
            [(field, replica) for replica in self.replicas],
            [int(broker in members) for broker in self.names.brokers],
            self.spell_members,
        )

    @staticmethod
    def all_of(states: Words, truths: Iterable[Truths]) -> Truths:
        """For each state, whether all of these columns are true."""
        return reduce(np.logical_and, truths, np.ones(len(states), bool))

    @staticmethod
    def any_of(states: Words, truths: Iterable[Truths]) -> Truths:
        """For each state, whether at least one of these columns is true."""
        return reduce(np.logical_or, truths, np.zeros(len(states), bool))

    @staticmethod
    def where(truths: Truths, column: Numbers) -> Numbers:
        """The values of a column in the states for which `truths` is true, and NONE for the other states."""
        return np.where(truths, column, NONE)

    def spell_members(self, flags: Sequence[int]) -> str:
        """The brokers of a set as text; `flags` says for each replica whether it is a member."""
        return self.listed(sorted(broker for broker, flag in zip(self.names.brokers, flags, strict=True) if flag))

    def spell_broker(self, replica: int) -> str:
        """A replica as text, by the recording's number of its broker; "nobody" for NONE."""
        return "nobody" if replica == NONE else f"broker {self.names.brokers[replica]}"

    def spell_epoch(self, epoch: int) -> str:
        """A leader epoch as text, counted as in the recording."""
        return f"epoch {epoch + self.names.first_epoch}"

    def spell_epochs(self, epochs: Sequence[int]) -> str:
        """The leader epochs of the records of a log as text, counted as in the recording."""
        return self.listed([epoch + self.names.first_epoch for epoch in epochs if epoch != NONE])

    def spell_records(self, records: Sequence[int]) -> str:
        """The records of a log as text, by their values."""
        return self.listed([self.names.values[record] for record in records if record != NONE])

    @staticmethod
    def listed(values: Sequence[object]) -> str:
        """The values as one text; "empty" if there are no values."""
        return " ".join(map(str, values)) or "empty"

"""The claims of a recording: conditions that a line imposes on the state of the model in which it was recorded.

In:  a script.
Out: for each line its claims, each evaluated on many states at once; and, for the report, the actual values.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from isrcheck.conformance.follow.recorded.faults import FaultKind
from isrcheck.conformance.follow.recorded.lines import (
    Acked,
    AlterRequest,
    Applied,
    Disk,
    Fault,
    HighWatermark,
    Holds,
    LogEnd,
    Metadata,
    Read,
    Reassigned,
    View,
)
from isrcheck.conformance.follow.recorded.reassigning import requests_in, shown_by
from isrcheck.conformance.follow.recorded.states import Cells, Numbers, Truths, Variable, Words
from isrcheck.conformance.follow.search.monitor import Monitor
from isrcheck.conformance.follow.search.rules import request_values, request_variables
from isrcheck.conformance.follow.search.script import Script, alters_partitions, has_kraft, is_old
from isrcheck.models.kafka.state.values import AlterPartition
from isrcheck.models.language.declarations import NONE

Told = Callable[[Sequence[int]], str]


@dataclass(frozen=True)
class Claim:
    """One condition on a state: its text (`says`), and for many states at once, whether it is true.

    `columns` are the values in the states that the condition is about; `told` turns those of one state into text. Where
    the condition is that variables have certain values, `cells` are these; otherwise `reads` are the fields that it
    reads, if any.
    """

    says: str
    is_true: Callable[[Words, Words], Truths]
    columns: Callable[[Words, Words], list[Numbers]]
    told: Told
    cells: tuple[tuple[Variable, int], ...] = ()
    reads: tuple[str, ...] = ()


class Claims:
    """The claims of all lines of a recording."""

    def __init__(self, script: Script, cells: Cells, monitor: Monitor) -> None:
        self.recording = script.recording
        self.script = script
        self.cells = cells
        self.monitor = monitor
        configuration = cells.instance.configuration
        self.replicas = range(configuration.replicas)
        self.log_size = configuration.log_size
        self.epochs = configuration.elections + 1
        self.of_line = [tuple(self._claims(position)) for position in range(len(script.stages))]

    def hold(self, position: int, states: Words, monitors: Words) -> Truths:
        """For each of these states, whether all claims of a line are true."""
        truths: Truths = np.ones(len(states), bool)
        for claim in self.of_line[position]:
            truths &= claim.is_true(states, monitors)
        return truths

    def _claims(self, position: int) -> Iterator[Claim]:
        line = self.script.stages[position].line
        if isinstance(line, Acked):
            yield from self._acked(line)
        elif isinstance(line, Disk):
            yield from self._disk(position, line)
        elif isinstance(line, Metadata):
            yield from self._metadata(position, line)
        elif isinstance(line, View):
            yield from self._view(position, line)
        elif isinstance(line, AlterRequest) and alters_partitions(self.cells.instance):
            yield self._request(line)
        elif isinstance(line, Applied) and has_kraft(self.cells.instance):
            yield self._applied(line)
        elif isinstance(line, Reassigned):
            yield from self._reassigned(position)
        elif isinstance(line, HighWatermark):
            yield self._high_watermark(line)
        elif isinstance(line, LogEnd):
            yield from self._log_end(line)
        elif isinstance(line, Holds):
            yield from self._holds(line)
        elif isinstance(line, Read) and line.records:  # a consumer that reads nothing may not have reached a broker
            yield self._read(line)
        elif isinstance(line, Fault) and line.what is FaultKind.START:
            yield from self._started(line)

    def _equal(self, says: str, variables: Sequence[Variable], wanted: Sequence[int], told: Told) -> Claim:
        """The claim that each of these variables has its wanted value."""

        def columns(states: Words, monitors: Words) -> list[Numbers]:
            return [self.cells.column(states, *variable) for variable in variables]

        def is_true(states: Words, monitors: Words) -> Truths:
            truths: Truths = np.ones(len(states), bool)
            for column, value in zip(columns(states, monitors), wanted, strict=True):
                truths &= column == value
            return truths

        return Claim(says, is_true, columns, told, tuple(zip(variables, wanted, strict=True)))

    def _never(self, says: str, told: str) -> Claim:
        return Claim(
            says, lambda states, monitors: np.zeros(len(states), bool), lambda states, monitors: [], lambda found: told
        )

    def _started(self, line: Fault) -> Iterator[Claim]:
        """The claims of a start. As a start is a step of the model, they are evaluated only to explain a rejection."""
        replica = self.recording.replica(line.broker)
        yield self._equal(f"broker {line.broker} does not run", [("is_up", replica)], [0], lambda found: "it runs")

        def columns(states: Words, monitors: Words) -> list[Numbers]:
            return [self.cells.column(states, "high_watermark", replica)]

        def is_true(states: Words, monitors: Words) -> Truths:
            high_watermark = columns(states, monitors)[0]
            truths: Truths = np.zeros(len(states), bool)
            for offset in range(self.log_size + 1):
                given = np.full(len(states), offset, np.int64)
                fits = self.monitor.may_start_with(monitors, replica, given, high_watermark)
                truths |= fits & (given <= high_watermark)
            return truths

        yield Claim(
            "it restarts with a checkpoint that agrees with the observations and is not above its last high watermark",
            is_true,
            columns,
            lambda found: f"its last high watermark was {found[0]}",
        )

    def _acked(self, line: Acked) -> Iterator[Claim]:
        record = self.recording.record(line.value)
        yield self._equal(
            f"{line.value} is acknowledged", [("acknowledged", record)], [1], lambda found: "it is not acknowledged"
        )
        if line.offset is not None:
            bits = self.monitor.elsewhere[record]
            yield Claim(
                f"it was acknowledged at offset {line.offset}, if at all",
                lambda states, monitors: bits.read(monitors) == 0,
                lambda states, monitors: [bits.read(monitors)],
                lambda found: "at another offset",
            )

    def _disk(self, position: int, line: Disk) -> Iterator[Claim]:
        recording, replica, name = self.recording, self.recording.replica(line.broker), f"broker {line.broker}"
        offsets = range(self.log_size)
        if len(line.log) > self.log_size:
            yield self._never(f"the log of {name} has {len(line.log)} records", f"none has more than {self.log_size}")
            return
        padding = [NONE] * (self.log_size - len(line.log))
        yield self._equal(
            f"the log of {name} is {_listed(line.log)}",
            [("log_record", replica, offset) for offset in offsets],
            [*(recording.record(value) for value in line.log), *padding],
            lambda found: _listed([recording.values[record] for record in found if record != NONE]),
        )
        if line.batch_epochs is not None:
            yield self._equal(
                f"the epochs of its records are {_listed(line.batch_epochs)}",
                [("log_epoch", replica, offset) for offset in offsets],
                [*(epoch - recording.first_epoch for epoch in line.batch_epochs), *padding],
                lambda found: _listed([epoch + recording.first_epoch for epoch in found if epoch != NONE]),
            )
        if line.epoch_cache is not None:
            yield self._epoch_cache(replica, line.epoch_cache)
        if line.checkpoint is not None:
            yield from self._checkpoint(position, replica, line.checkpoint)

    def _epoch_cache(self, replica: int, entries: Sequence[tuple[int, int]]) -> Claim:
        first = self.recording.first_epoch
        known = {epoch - first: offset for epoch, offset in entries}
        says = f"its leader epoch checkpoint is {_entries(sorted(entries))}"
        if any(epoch >= self.epochs for epoch in known):
            return self._never(says, f"the metadata shows no epoch after {self.epochs - 1 + first}")
        return self._equal(
            says,
            [("epoch_cache", replica, epoch) for epoch in range(self.epochs)],
            [known.get(epoch, NONE) for epoch in range(self.epochs)],
            lambda found: _entries([(epoch + first, start) for epoch, start in enumerate(found) if start != NONE]),
        )

    def _checkpoint(self, position: int, replica: int, value: int) -> Iterator[Claim]:
        needed = self.monitor.sightings.needed[position]
        seen = self.monitor.seen[replica]
        is_stopping = replica in self.script.stages[position].stopping
        if not needed.is_possible:
            yield self._never(
                f"its checkpointed high watermark is {value}",
                "it was another one, and no process ran that could have written it",
            )
            return

        def columns(states: Words, monitors: Words) -> list[Numbers]:
            return [
                self.cells.column(states, "high_watermark", replica),
                self.cells.column(states, "is_up", replica),
            ]

        def is_true(states: Words, monitors: Words) -> Truths:
            truths: Truths = seen.read(monitors) >= needed.count
            if is_stopping:
                # A process writes its checkpoint when it ends.
                high_watermark, is_up = columns(states, monitors)
                truths = truths & ((is_up == 1) | (high_watermark == value))
            return truths

        yield Claim(
            f"it has had the high watermark {value}, not before the last observed checkpoint",
            is_true,
            columns,
            lambda found: f"its high watermark is {found[0]}",
            reads=("high_watermark",),
        )

    def _metadata(self, position: int, line: Metadata) -> Iterator[Claim]:
        recording = self.recording
        newest = max(
            (
                earlier.leader_epoch - recording.first_epoch
                for earlier in recording.lines[:position]
                if isinstance(earlier, Metadata) and earlier.leader_epoch is not None
            ),
            default=0,
        )
        if is_old(recording, line, newest):
            yield from self._old_view(position, line)
            return
        if line.leader is None:
            yield self._without_leader()
        else:
            yield self._equal(
                f"the leader is broker {line.leader}",
                [("controller_leader",)],
                [recording.replica(line.leader)],
                lambda found: self._broker(found[0]),
            )
            if line.leader_epoch is not None:
                yield self._equal(
                    f"the leader epoch is {line.leader_epoch}",
                    [("controller_epoch",)],
                    [line.leader_epoch - recording.first_epoch],
                    lambda found: f"epoch {found[0] + recording.first_epoch}",
                )
        if line.partition_epoch is not None and alters_partitions(self.cells.instance):
            yield self._equal(
                f"the partition epoch is {line.partition_epoch}",
                [("controller_partition_epoch",)],
                [line.partition_epoch],
                lambda found: f"partition epoch {found[0]}",
            )
        yield self._isr(line.isr)
        if line.replicas is not None and self.cells.instance.configuration.reassignments:
            yield self._members("the replicas are", "is_assigned", line.replicas)

    def _view(self, position: int, line: View) -> Iterator[Claim]:
        epoch, recording = line.leader_epoch - self.recording.first_epoch, self.recording
        says = f"the leader of epoch {line.leader_epoch} is broker {line.leader}"
        if line.leader is not None and (epoch >= self.epochs or line.leader not in recording.brokers):
            yield self._never(says, "no other line shows such an epoch, or such a broker")
        elif line.leader is not None:
            leader = [recording.replica(line.leader)]
            yield self._equal(says, [("metadata_leader", epoch)], leader, lambda found: self._broker(found[0]))
        if line.isr is not None and line.partition_epoch is None:
            yield self._isr(line.isr)
        elif line.isr is not None:
            says = f"the ISR of partition epoch {line.partition_epoch} is {_listed(sorted(line.isr))}"
            for one in recording.lines[:position]:
                if isinstance(one, Metadata) and one.partition_epoch == line.partition_epoch and one.isr != line.isr:
                    yield self._never(says, f"it is {_listed(sorted(one.isr))} by {one.spot}")
                    return

    def _isr(self, isr: frozenset[int]) -> Claim:
        return self._members("the ISR is", "controller_isr", isr)

    def _members(self, says: str, field: str, members: frozenset[int]) -> Claim:
        return self._equal(
            f"{says} {_listed(sorted(members))}",
            [(field, replica) for replica in self.replicas],
            [int(broker in members) for broker in self.recording.brokers],
            self._spelled,
        )

    def _spelled(self, found: Sequence[int]) -> str:
        """The brokers of a set, given as one truth value for each."""
        brokers = zip(self.recording.brokers, found, strict=True)
        return _listed(sorted(broker for broker, is_in in brokers if is_in))

    def _reassigned(self, position: int) -> Iterator[Claim]:
        """The claim of an answer: all that is asked for are replicas, and others only as long as they leave; after a
        cancellation, nothing is in progress."""
        asked = shown_by(requests_in(self.recording.lines), position)
        if asked is None:
            return
        target, names = asked.target, ("is_assigned", "is_adding", "is_removing")
        is_wanted = np.array([[target is not None and broker in target] for broker in self.recording.brokers])

        def columns(states: Words, monitors: Words) -> list[Numbers]:
            return [self.cells.column(states, name, replica) for name in names for replica in self.replicas]

        def is_true(states: Words, monitors: Words) -> Truths:
            assigned, adding, removing = np.split(np.array(columns(states, monitors)), len(names))
            is_taken = adding + removing == 0
            if target is not None:
                is_taken = np.where(is_wanted, assigned == 1, assigned <= removing)
            truths: Truths = is_taken.all(axis=0)
            return truths

        def told(found: Sequence[int]) -> str:
            count = len(self.replicas)
            assigned, adding, removing = (self._spelled(found[at * count : (at + 1) * count]) for at in range(3))
            return f"its replicas are {assigned}, being added {adding}, being removed {removing}"

        says = f"the partition is reassigned to {_listed(sorted(target or ()))}"
        says = "no reassignment is in progress" if target is None else says
        yield Claim(says, is_true, columns, told, reads=names)

    def _broker(self, replica: int) -> str:
        return "nobody" if replica == NONE else f"broker {self.recording.brokers[replica]}"

    def _old_view(self, position: int, line: Metadata) -> Iterator[Claim]:
        """The claim of a line about an earlier epoch: it shows the same leader as other lines about that epoch."""
        for earlier in self.recording.lines[:position]:
            is_same = isinstance(earlier, Metadata) and earlier.leader_epoch == line.leader_epoch
            if isinstance(earlier, Metadata) and is_same and None not in (line.leader, earlier.leader):
                if line.leader != earlier.leader:
                    says = f"the leader of epoch {line.leader_epoch} was broker {line.leader}"
                    yield self._never(says, f"it was broker {earlier.leader} by line {earlier.number}")
                return

    def _without_leader(self) -> Claim:
        def columns(states: Words, monitors: Words) -> list[Numbers]:
            return [self.cells.column(states, "controller_leader")]

        def is_true(states: Words, monitors: Words) -> Truths:
            leaders = columns(states, monitors)[0]
            truths: Truths = np.zeros(len(states), bool)
            truths |= leaders == NONE  # with KRaft
            for replica in self.replicas:
                truths |= (leaders == replica) & (self.cells.column(states, "is_up", replica) == 0)
            return truths

        says, reads = "there is no running leader", ("controller_leader", "is_up")
        return Claim(says, is_true, columns, lambda found: self._broker(found[0]), reads=reads)

    def _request(self, line: AlterRequest) -> Claim:
        recording, leader = self.recording, self.recording.replica(line.leader)

        def told(found: Sequence[int]) -> str:
            if found[0] != AlterPartition.REQUESTED:
                return "it has no request on its way"
            isr, epoch = self._spelled(found[3:]), found[1] + recording.first_epoch
            return f"ISR {isr} after partition epoch {found[2]} in epoch {epoch}"

        return self._equal(
            f"broker {line.leader} asks for the ISR {_listed(sorted(line.isr))} after partition epoch"
            f" {line.partition_epoch} in epoch {line.leader_epoch}",
            request_variables(leader, self.replicas),
            request_values(recording, line),
            told,
        )

    def _applied(self, line: Applied) -> Claim:
        replica, least = self.recording.replica(line.broker), line.partition_epoch

        def columns(states: Words, monitors: Words) -> list[Numbers]:
            return [self.cells.column(states, "metadata_position", replica)]

        return Claim(
            f"broker {line.broker} has applied the metadata up to partition epoch {least}",
            lambda states, monitors: columns(states, monitors)[0] >= least,
            columns,
            lambda found: f"up to {found[0]}",
            reads=("metadata_position",),
        )

    def _high_watermark(self, line: HighWatermark) -> Claim:
        return self._equal(
            f"the high watermark of broker {line.broker} is {line.high_watermark}",
            [("high_watermark", self.recording.replica(line.broker))],
            [line.high_watermark],
            lambda found: str(found[0]),
        )

    def _log_end(self, line: LogEnd) -> Iterator[Claim]:
        replica, end, first = self.recording.replica(line.broker), line.log_end_offset, self.recording.first_epoch
        says = f"the log of broker {line.broker} ends at {end}"
        if end > self.log_size:
            yield self._never(says, f"no log has more than {self.log_size} records")
            return
        yield self._equal(says, [("log_end_offset", replica)], [end], lambda found: str(found[0]))
        if line.last_epoch is not None:
            yield self._equal(
                f"its last record has the epoch {line.last_epoch}",
                [("log_epoch", replica, end - 1)],
                [line.last_epoch - first],
                lambda found: "there is none" if found[0] == NONE else f"epoch {found[0] + first}",
            )

    def _holds(self, line: Holds) -> Iterator[Claim]:
        recording, replica, first = self.recording, self.recording.replica(line.broker), self.recording.first_epoch
        says = f"broker {line.broker} has {_listed(line.records)} at {_listed(line.offsets)}"
        if any(offset >= self.log_size for offset in line.offsets):
            yield self._never(says, f"no log has more than {self.log_size} records")
            return
        yield self._equal(
            says,
            [("log_record", replica, offset) for offset in line.offsets],
            [recording.record(value) for value in line.records],
            lambda found: _listed([recording.values[record] for record in found if record != NONE]),
        )
        if line.batch_epochs is not None:
            yield self._equal(
                f"the epochs of these records are {_listed(line.batch_epochs)}",
                [("log_epoch", replica, offset) for offset in line.offsets],
                [epoch - first for epoch in line.batch_epochs],
                lambda found: _listed([epoch + first for epoch in found if epoch != NONE]),
            )

    def _read(self, line: Read) -> Claim:
        """The claim of a read: some broker presumes leadership, is not frozen, and can return these records."""
        recording = self.recording
        frozen = self.script.stages[recording.lines.index(line)].frozen
        wanted = [recording.record(value) for value in line.records]
        end = line.offsets[-1] + 1
        servers = [replica for replica in self.replicas if replica not in frozen]

        def serves(states: Words, replica: int) -> Truths:
            truths: Truths = self.cells.column(states, "leader", replica) == replica
            if end > self.log_size:
                return np.zeros(len(states), bool)
            for offset, record in zip(line.offsets, wanted, strict=True):
                truths &= self.cells.column(states, "log_record", replica, offset) == record
            return truths & (self.cells.column(states, "high_watermark", replica) >= end)

        def columns(states: Words, monitors: Words) -> list[Numbers]:
            found = []
            for replica in servers:
                leads = self.cells.column(states, "leader", replica) == replica
                high_watermark = self.cells.column(states, "high_watermark", replica)
                for offset in range(self.log_size):
                    held = self.cells.column(states, "log_record", replica, offset)
                    found.append(np.where(leads & (offset < high_watermark), held, NONE))
            return found

        def told(found: Sequence[int]) -> str:
            parts = []
            for position, replica in enumerate(servers):
                records = found[position * self.log_size : (position + 1) * self.log_size]
                if any(record != NONE for record in records):
                    values = [recording.values[record] for record in records if record != NONE]
                    parts.append(f"broker {recording.brokers[replica]} can return {_listed(values)}")
            return " and ".join(parts) or "no broker can return anything"

        return Claim(
            f"a running leader can return {_listed(line.records)}{_where(line.offsets)}",
            lambda states, monitors: (
                np.logical_or.reduce([serves(states, replica) for replica in servers])
                if servers
                else np.zeros(len(states), bool)
            ),
            columns,
            told,
            reads=("leader", "log_record", "high_watermark"),
        )


def _listed(values: Sequence[object]) -> str:
    return " ".join(map(str, values)) or "empty"


def _where(offsets: Sequence[int]) -> str:
    """The offsets of records, unless they are 0, 1, 2, ..."""
    return "" if list(offsets) == list(range(len(offsets))) else f" at {_listed(offsets)}"


def _entries(entries: Sequence[tuple[int, int]]) -> str:
    return " ".join(f"{epoch}@{start}" for epoch, start in entries) or "empty"

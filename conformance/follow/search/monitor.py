"""The monitor of a path: what a search remembers of the path in addition to its last state, packed into one number. It
holds the number of passed lines, the observed checkpoints so far, and whether a record was acknowledged at an offset
other than the recorded one.

In:  a script.
Out: the claims of its lines, which read the monitor and the states; the bit fields of the monitor, and how each step
     changes the fields. The fields derive from: for each process of each broker, the observed checkpoints in order; for
     each line with a checkpoint, how many of these must have occurred; for each start, the possible checkpoints.

An observed checkpoint is a high watermark that the broker had in memory at an earlier time. Checkpoints are observed in
the order in which the broker had these high watermarks; a checkpoint may be observed repeatedly. A broker that is down
or frozen writes no checkpoint. An observed checkpoint is matched with the first state that has its high watermark: any
later match would allow less. So a path determines its monitor, and the search never has to guess.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum

import numpy as np
from numpy.typing import NDArray

from isrcheck.conformance.follow.recorded.faults import FaultKind
from isrcheck.conformance.follow.recorded.lines import Acked, Disk, Fault
from isrcheck.conformance.follow.recorded.recording import is_shown_at, requests_in
from isrcheck.conformance.follow.recorded.states import Bits, Cells, Numbers, Place, Truths, Words
from isrcheck.conformance.follow.search.script import Script
from isrcheck.models.messages import UsageError


class Known(Enum):
    """What is known about the checkpoint that a broker restarts with."""

    SEEN = "the checkpoint observed while it was down"
    AT_STOP = "the high watermark at its shutdown"
    SINCE_SEEN = "any high watermark that it had since the last observed checkpoint"


@dataclass
class Process:
    """One process of a broker, from one start to the next: the distinct observed checkpoints, in order."""

    values: list[int] = field(default_factory=list)
    ends: Known | None = None


class Sightings:
    """The checkpoints that the lines of a script show, by broker and process."""

    def __init__(self, script: Script) -> None:
        recording = script.recording
        replicas = range(len(recording.brokers))
        self.processes: list[list[Process]] = [[Process()] for _ in replicas]
        self.needed: dict[int, int | None] = {}
        """For each line with a checkpoint, how many of the observed values of the running process have occurred when it
        is passed. None: the checkpoint differs from the last observed one although no process could write it."""
        seen_still: dict[int, int] = {}
        for position, stage in enumerate(script.stages):
            line = stage.line
            if isinstance(line, Disk) and line.checkpoint is not None:
                replica = recording.replica(line.broker)
                process = self.processes[replica][-1]
                stands_still = replica in stage.down | stage.frozen
                is_possible = not stands_still or seen_still.setdefault(replica, line.checkpoint) == line.checkpoint
                if not process.values or process.values[-1] != line.checkpoint:
                    process.values.append(line.checkpoint)
                if replica in stage.down:
                    process.ends = Known.SEEN
                self.needed[position] = len(process.values) if is_possible else None
            if isinstance(line, Fault):
                if line.what is FaultKind.START:
                    process = self.processes[stage.replica][-1]
                    if stage.replica in stage.stopping:
                        process.ends = Known.AT_STOP
                    elif process.ends is None:
                        process.ends = Known.SINCE_SEEN
                    self.processes[stage.replica].append(Process())
                if line.what is FaultKind.KILL and stage.replica in seen_still:
                    # The checkpoint was observed while the broker was frozen, and was not written since.
                    self.processes[stage.replica][-1].ends = Known.SEEN
                if stage.replica not in stage.frozen or line.what is not FaultKind.KILL:
                    seen_still.pop(stage.replica, None)


WORD_BITS = 64
NEVER = -1
"""The value for no further checkpoint; not a high watermark."""


class Monitor:
    """The bit fields of a monitor, and the tables that say how they change."""

    def __init__(self, script: Script, cells: Cells) -> None:
        self.cells = cells
        self.sightings = Sightings(script)
        self._used = 0
        stages = len(script.stages) + 1
        self.passed = self._field(len(script.stages))
        self.sighted = [
            self._field(max(len(process.values) for process in processes)) for processes in self.sightings.processes
        ]
        log_size = cells.instance.configuration.log_size
        self.since: list[Bits | None] = [
            self._field((2 << log_size) - 1) if any(process.ends is Known.SINCE_SEEN for process in processes) else None
            for processes in self.sightings.processes
        ]
        self.offsets: Mapping[int, int] = {
            script.recording.record(line.value): line.offset
            for _, line in script.recording.claims(Acked)
            if line.offset is not None
        }
        self.elsewhere = {record: self._field(1) for record in self.offsets}
        if self._used > WORD_BITS:
            raise UsageError(
                f"{script.recording.path}: a search has to remember {self._used} bits of each path, more than"
                f" {WORD_BITS}; split the recording"
            )
        at_the_end = tuple(len(processes) - 1 for processes in self.sightings.processes)
        self.incarnations = incarnations = [*(stage.incarnations for stage in script.stages), at_the_end]
        self.next_value = [self._next_values(replica, incarnations) for replica in range(len(self.sighted))]
        self.collects = [
            np.array(
                [self.sightings.processes[r][incarnations[s][r]].ends is Known.SINCE_SEEN for s in range(stages)], bool
            )
            for r in range(len(self.sighted))
        ]

    def _field(self, most: int) -> Bits:
        bits = Bits(self._used, most.bit_length())
        self._used += bits.width
        return bits

    def _next_values(self, replica: int, incarnations: list[tuple[int, ...]]) -> NDArray[np.int64]:
        """A table: for each number of passed lines, and of observed checkpoints that have occurred, the next checkpoint
        that a line shows for the replica's process; NEVER if no line shows a further checkpoint."""
        table = np.full((len(incarnations), 1 << self.sighted[replica].width), NEVER, np.int64)
        for stage, counts in enumerate(incarnations):
            values = self.sightings.processes[replica][counts[replica]].values
            table[stage, : len(values)] = values
        return table

    def see(self, monitors: Words, replica: int, values: Numbers) -> None:
        """Record for each monitor the high watermark that this replica has in memory or reads from its checkpoint."""
        stages = self.passed.read(monitors)
        seen = self.sighted[replica].read(monitors)
        seen += self.next_value[replica][stages, seen] == values
        self.sighted[replica].write(monitors, seen)
        since = self.since[replica]
        if since is not None:
            collects = self.collects[replica][stages] & (self.next_value[replica][stages, seen] == NEVER)
            since.write(monitors, since.read(monitors) | (collects.astype(np.int64) << values))

    def look(self, monitors: Words, states: Words) -> None:
        """Record each replica's high watermark in these states; a replica that is down has its last high watermark."""
        for replica in range(len(self.sighted)):
            self.see(monitors, replica, self.cells.column(states, "high_watermark", replica))

    def begin_process(self, monitors: Words, replica: int, checkpoints: Numbers) -> None:
        """Record for each monitor the checkpoint with which this replica was started; its `start` line is passed."""
        nothing = np.zeros(len(monitors), np.int64)
        self.sighted[replica].write(monitors, nothing)
        since = self.since[replica]
        if since is not None:
            since.write(monitors, nothing)
        self.see(monitors, replica, checkpoints)

    def may_start_with(self, monitors: Words, replica: int, checkpoints: Numbers, high_watermarks: Numbers) -> Truths:
        """For each monitor, whether the recording allows that this replica starts with the given checkpoint;
        `high_watermarks` are the replica's last high watermarks before the start."""
        allowed: Truths = np.zeros(len(monitors), bool)
        stages = self.passed.read(monitors)
        for stage in np.unique(stages):
            rows = stages == stage
            process = self.sightings.processes[replica][self.incarnations[int(stage)][replica]]
            if process.ends is Known.AT_STOP:
                allowed[rows] = checkpoints[rows] == high_watermarks[rows]
            elif process.ends is Known.SEEN:
                allowed[rows] = checkpoints[rows] == process.values[-1]
            else:
                since = self.since[replica]
                assert since is not None
                allowed[rows] = (since.read(monitors[rows]) >> checkpoints[rows] & 1) == 1
        return allowed

    def may_start(self, monitors: Words, replica: int, high_watermarks: Numbers) -> Truths:
        """For each monitor, whether this replica can be started with a checkpoint up to its last high watermark."""
        allowed: Truths = np.zeros(len(monitors), bool)
        for offset in range(self.cells.instance.configuration.log_size + 1):
            checkpoints = np.full(len(monitors), offset, np.int64)
            fits = self.may_start_with(monitors, replica, checkpoints, high_watermarks)
            allowed |= fits & (checkpoints <= high_watermarks)
        return allowed

    def note_acknowledged(
        self, monitors: Words, before: Words, parents: Numbers, after: Words, actors: Numbers
    ) -> None:
        """Note for each new acknowledgement whether the acting broker has the record at the recorded offset.

        `after` are the successors; `parents` gives their predecessors as rows of `before`.
        """
        for record, offset in self.offsets.items():
            was = self.cells.column(before, "acknowledged", record)[parents]
            newly = self.cells.column(after, "acknowledged", record) > was
            if not newly.any():
                continue
            rows = np.flatnonzero(newly)
            there = np.zeros(len(rows), bool)
            if offset < self.cells.instance.configuration.log_size:
                for replica in range(len(self.sighted)):
                    held = self.cells.column(after[rows], "log_record", replica, offset) == record
                    there |= (actors[rows] == replica) & held
            changed = monitors[rows]
            self.elsewhere[record].write(changed, (~there).astype(np.int64))
            monitors[rows] = changed


class Claims:
    """The claims of all lines, which are conditions on the state; and for each line its `Place`: its situation in the
    recording, on which its claims depend."""

    def __init__(self, script: Script, cells: Cells, monitor: Monitor) -> None:
        recording = script.recording
        requests = requests_in(recording.lines)
        self.places = [
            Place(
                names=recording,
                cells=cells,
                earlier=recording.lines[:position],
                sighted=monitor.sighted,
                elsewhere=monitor.elsewhere,
                may_start=monitor.may_start,
                frozen=stage.frozen,
                stopping=stage.stopping,
                sightings=monitor.sightings.needed.get(position),
                shows_reassignment=is_shown_at(requests, position),
            )
            for position, stage in enumerate(script.stages)
        ]
        self.passing = np.array([*(line.passing for line in recording.lines), -1], np.int64)
        """When a path passes each line, and -1 after the last one."""

        self.of_line = [tuple(line.claims(place)) for line, place in zip(recording.lines, self.places, strict=True)]

    def hold(self, position: int, states: Words, monitors: Words) -> Truths:
        """For each of these states, whether all claims of a line are true."""
        return Place.all_of(states, (claim.is_true(states, monitors) for claim in self.of_line[position]))

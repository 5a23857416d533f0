"""States from which no path passes all lines, because a later line contradicts what can no longer change.

In:  a script, and packed states with their monitors.
Out: for each of them, whether a later line contradicts it.

A record is acknowledged once. If that was at another offset than a later line says, the monitor remembers it
(monitor.py), and no path passes this line.

Since 2.8 every change of leader, leader epoch or ISR at the controller begins a new partition epoch, and partition
epochs never fall. So a partition epoch has one record. A metadata line with this partition epoch that is yet to be
passed is true only in states with its leader, leader epoch and ISR; a state that has this partition epoch, and another
record, can never pass it. A search leaves such states until it has tried all others: if no other is left, no path
explains the recording; and only which line is the first that none passes depends on them.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from isrcheck.conformance.follow.observations.monitor import Monitor
from isrcheck.conformance.follow.observations.script import Script, alters_partitions, is_old
from isrcheck.conformance.follow.paths.cells import Cells, Numbers, Truths, Words
from isrcheck.conformance.follow.recorded.lines import Acked, Metadata

ANY = -2
"""The value of what no line shows; -1 is nobody."""


class Foreseen:
    """The records that lines show. `records[stage, partition_epoch]` is the one that a line from this stage on shows:
    the leader, the leader epoch, and for each replica whether it is in the ISR; ANY if none does.
    """

    def __init__(self, script: Script, cells: Cells, monitor: Monitor) -> None:
        self.cells = cells
        self.monitor = monitor
        self.acknowledgements = {
            script.recording.record(line.value): position
            for position, line in script.recording.claims(Acked)
            if line.offset is not None
        }
        self.has_partition_epochs = alters_partitions(script.instance)
        configuration = cells.instance.configuration
        self.replicas = range(configuration.replicas)
        stages, epochs = len(script.stages) + 1, configuration.partition_changes + 1
        self.records: NDArray[np.int64] = np.full((stages, epochs, 2 + len(self.replicas)), ANY, np.int64)
        recording, newest = script.recording, 0
        for position, line in recording.claims(Metadata):
            if is_old(recording, line, newest):
                continue
            if line.leader_epoch is not None:
                newest = line.leader_epoch - recording.first_epoch
            if line.partition_epoch is None or line.partition_epoch >= epochs:
                continue
            of_line = self.records[: position + 1, line.partition_epoch]
            of_line[of_line[:, 2] == ANY] = [
                ANY if line.leader is None else recording.replica(line.leader),
                ANY if line.leader is None or line.leader_epoch is None else newest,
                *(int(broker in line.isr) for broker in recording.brokers),
            ]

    def contradicts(self, states: Words, monitors: Words) -> Truths:
        """For each of these states, whether a line that it has yet to pass contradicts it."""
        stages = self.monitor.passed.read(monitors)
        truths: Truths = np.zeros(len(states), bool)
        for record, position in self.acknowledgements.items():
            truths |= (stages <= position) & (self.monitor.elsewhere[record].read(monitors) == 1)
        return truths | self._in_record(states, stages) if self.has_partition_epochs else truths

    def _in_record(self, states: Words, stages: Numbers) -> Truths:
        """Whether a line from its stage on shows another record of its partition epoch."""
        truths: Truths = np.zeros(len(states), bool)
        column = self.cells.column
        records = self.records[stages, column(states, "controller_partition_epoch")]
        columns = [column(states, "controller_leader"), column(states, "controller_epoch")]
        columns += [column(states, "controller_isr", replica) for replica in self.replicas]
        for shown, actual in zip(records.T, columns, strict=True):
            truths |= (shown != ANY) & (shown != actual)
        return truths

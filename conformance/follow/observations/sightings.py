"""The observed checkpoints of high watermarks: their order for each process, and the checkpoints possible at a restart.

In:  a script.
Out: for each process of each broker, the observed values in order; for each line with a checkpoint, how many of them it
     needs; for each start, the checkpoints that the broker can restart with.

A checkpoint is a high watermark that the broker had in memory before the checkpoint was observed, and not before the
high watermarks of earlier observed checkpoints. A checkpoint may be observed repeatedly. A broker that is down or
frozen writes none.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum

from isrcheck.conformance.follow.observations.script import FaultStage, Script
from isrcheck.conformance.follow.recorded.lines import Disk, Fault, FaultKind


class Known(Enum):
    """What is known about the checkpoint that a broker restarts with."""

    SEEN = "the one that was observed while it was down"
    AT_STOP = "the high watermark that it had when it was shut down"
    SINCE_SEEN = "any high watermark that it had since the last observed one"


@dataclass
class Process:
    """One process of a broker, from one start to the next: the distinct observed checkpoints, in order."""

    values: list[int] = field(default_factory=list)
    ends: Known | None = None


@dataclass(frozen=True)
class Needed:
    """What has to be true when a line with a checkpoint is passed: `count` of the observed values have occurred.

    They are high watermarks of the running process of the broker. `is_possible` is False if the checkpoint differs from
    the last observed one although no process could write it.
    """

    replica: int
    count: int
    is_possible: bool


class Sightings:
    """The checkpoints that the lines of a script show."""

    def __init__(self, script: Script) -> None:
        recording = script.recording
        replicas = range(len(recording.brokers))
        self.processes: list[list[Process]] = [[Process()] for _ in replicas]
        self.needed: dict[int, Needed] = {}
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
                self.needed[position] = Needed(replica, len(process.values), is_possible)
            if isinstance(stage, FaultStage) and isinstance(line, Fault):
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

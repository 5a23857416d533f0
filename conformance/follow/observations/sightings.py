"""The checkpointed high watermarks of a recording: which were seen of which process, and what a restart begins with.

In:  a script.
Out: for each process of each broker the values that were seen, in order; for each line which of them it needs; for each
     start what the broker can come back with.

A checkpoint is what the broker had in memory at some moment, up to when it is seen, and not before the moment of one
that was seen earlier; the same one may be seen again. A process that does not run, or is frozen, makes none.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum

from isrcheck.conformance.follow.observations.lines import Disk, Fault, FaultKind
from isrcheck.conformance.follow.observations.script import FaultStage, Script


class Known(Enum):
    """What is known of the checkpoint that a broker comes back with."""

    SEEN = "the one that was seen while it was down"
    AT_STOP = "the high watermark that it had when it was shut down"
    SINCE_SEEN = "any high watermark that it had, since the moment of the last one that was seen"


@dataclass
class Process:
    """One process of a broker, from one start to the next: the different checkpoints that were seen, in order."""

    values: list[int] = field(default_factory=list)
    ends: Known | None = None


@dataclass(frozen=True)
class Needed:
    """What a line that sees a checkpoint needs: so many checkpoints of this process seen by then.

    `is_possible` is False where the file would have changed although nobody ran who could write it.
    """

    replica: int
    count: int
    is_possible: bool


class Sightings:
    """The sightings of a script."""

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
                    # It was seen while the broker was frozen, and nothing wrote it since.
                    self.processes[stage.replica][-1].ends = Known.SEEN
                if stage.replica not in stage.frozen or line.what is not FaultKind.KILL:
                    seen_still.pop(stage.replica, None)

"""Computes when brokers have to read the metadata log, so that a cluster with KRaft can follow a trace.

In:  a trace of `kafka`. In the model, a broker knows the partition's record of some partition epoch, and a leader
     proposes a follower for the ISR whatever it has read of the brokers.
Out: `KraftTiming`: how far each broker has to have read before a step, and the order of the replicas. Or
     UntimelyError: no timing makes a cluster follow the trace.

Each broker reads as late as it can: the log only grows, so that it can read on whenever it has to.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from isrcheck.conformance.implemented import UntimelyError
from isrcheck.conformance.replay.kraft.assignment import ELECTIONS, assignment_of
from isrcheck.conformance.replay.kraft.metadata_log import RESTART, SHUT_DOWN, STOP, Metadata, MetadataLog
from isrcheck.models.kafka.state.values import AlterPartition, BrokerStateCheck, Fetch
from isrcheck.models.language.model import Step
from isrcheck.models.run import State

READ = "broker_applies_metadata"
DROP = "broker_drops_metadata"
FETCH = "leader_handles_fetch"
LATE_FETCH = "leader_handles_late_fetch"
CRASH_WHILE_FETCHING = ("broker_crashes_while_it_fetches", "broker_loses_disk_while_it_fetches")
READ_CONFIGURATION = "broker_reads_configuration"
TIMED = (*ELECTIONS, STOP, FETCH, LATE_FETCH, READ_CONFIGURATION)
"""The actions whose steps a cluster with KRaft can take only with suitable timing."""


@dataclass(frozen=True)
class KraftTiming:
    """`reads`: before a step, these brokers read the metadata log up to these offsets. `assignment`: the replicas in
    order. Without KRaft, nothing is read, and the order does not matter.
    """

    reads: Mapping[int, Mapping[int, int]] = field(default_factory=dict)
    assignment: tuple[int, ...] = ()


def kraft_timing_of(steps: Sequence[Step], states: Sequence[State]) -> KraftTiming:
    """The timing of these steps. Raises UntimelyError if there is none."""
    return KraftTiming(_Reading(states[0]).all(steps, states), assignment_of(steps, states))


class _Reading:
    """How far the brokers have read; a broker that is down keeps what it has told last."""

    def __init__(self, first: State) -> None:
        self.log = MetadataLog(first)
        self.read = dict.fromkeys(range(first.replicas), 0)
        self.shutdown_at: dict[int, int] = {}
        self.late_process: dict[tuple[int, int], int] = {}

    def all(self, steps: Sequence[Step], states: Sequence[State]) -> dict[int, dict[int, int]]:
        """What is read before each step, by its position."""
        found = {}
        for position, step in enumerate(steps, start=1):
            before, after = states[position - 1], states[position]
            wanted = self._before(position, step, before, after)
            for broker, offset in wanted.items():
                self._must_not_pass_configuration(position, step, broker, offset, after)
            found[position] = {broker: offset for broker, offset in wanted.items() if offset != self.read[broker]}
            self.read |= found[position]
            if step.action in CRASH_WHILE_FETCHING:
                follower, leader = step.ordinals
                self.late_process[leader, follower] = self.log.log[-1].processes[follower]
            self.log.note(step, before, after)
            if step.action in SHUT_DOWN:
                self.shutdown_at[step.ordinals[0]] = self.log.end
            if step.action == RESTART:
                self.read[step.ordinals[0]] = self.log.end
        return found

    def _before(self, position: int, step: Step, before: State, after: State) -> dict[int, int]:
        if step.action in (READ, DROP):
            broker, partition_epoch = step.ordinals
            return {broker: self.log.offsets(partition_epoch, self.read[broker])[0]}
        if step.action == READ_CONFIGURATION:
            broker = step.ordinals[0]
            known = self.log.log[self.read[broker]].configurations
            for offset in self.log.offsets(int(before.metadata_position[broker]), self.read[broker]):
                if self.log.log[offset].configurations > known:
                    return {broker: offset}
            raise UntimelyError(f"step {position} lets a broker read a configuration without the record with it")
        if step.action in (FETCH, LATE_FETCH) and _proposes(step, before, after):
            return self._before_proposal(position, step, before)
        if step.action == STOP:
            return self._before_stop(position, step.ordinals[0], before)
        return {}

    def _must_not_pass_configuration(self, position: int, step: Step, broker: int, offset: int, after: State) -> None:
        """A broker reads the metadata log in order. In the model, it reads a change of min.insync.replicas in a step of
        its own, or with a record of the partition.
        """
        if after.min_isr_changes > 0 and self.log.log[offset].configurations > after.min_isr_changes_read[broker]:
            raise UntimelyError(
                f"step {position} ({step.action}) needs broker {broker} to have read a record of the metadata log that"
                " is behind a change of min.insync.replicas, which it has not read in the trace"
            )

    def _before_proposal(self, position: int, step: Step, before: State) -> dict[int, int]:
        """The leader has to have read that the follower is active, and since 3.5 that the process which has fetched is
        registered; but nothing about the partition that it does not know yet.
        """
        leader, follower = step.ordinals
        is_late = step.action == LATE_FETCH
        process = self.late_process[leader, follower] if is_late else self.log.log[-1].processes[follower]
        if is_late and before.fetch[follower][leader] != Fetch.NONE:
            raise UntimelyError(
                f"step {position} lets a fetch of the follower's new process take effect in the middle of a late fetch,"
                " but that fetch was handled before; a leader holds its lock meanwhile"
            )
        offsets = self.log.offsets(int(before.metadata_position[leader]), self.read[leader])
        check = before.BROKER_STATE_CHECK
        for offset in offsets:
            if _is_eligible(self.log.log[offset], follower, process, check):
                return {leader: offset}
        raise UntimelyError(
            f"step {position} lets broker {leader} propose broker {follower} for the ISR; it has read that this one is"
            " fenced or shuts down, or has not read of its registration, and does not propose it"
        )

    def _before_stop(self, position: int, broker: int, before: State) -> dict[int, int]:
        """The active brokers have to tell that they have read what the shutdown has changed, unless the broker stops at
        once."""
        if before.is_fenced[broker] or not before.is_shutting_down[broker]:
            return {}
        found, least, now = {}, self.shutdown_at[broker], self.log.log[-1]
        for other in range(before.replicas):
            if now.is_active(other) and self.read[other] < least:
                if not before.is_up[other]:
                    raise UntimelyError(
                        f"step {position} stops broker {broker} before broker {other}, which is down and not fenced,"
                        " has told that it has read of the shutdown; the controller waits for it"
                    )
                found[other] = least
        return found


def _proposes(step: Step, before: State, after: State) -> bool:
    leader = step.ordinals[0]
    return bool(
        before.alter_partition[leader] == AlterPartition.NONE and after.alter_partition[leader] != AlterPartition.NONE
    )


def _is_eligible(metadata: Metadata, follower: int, process: int, check: int) -> bool:
    """Kafka: Partition.isReplicaIsrEligible."""
    if check == BrokerStateCheck.NONE:
        return True
    is_registered = metadata.processes[follower] == process
    return metadata.is_active(follower) and (is_registered or check < BrokerStateCheck.BROKER_EPOCH)

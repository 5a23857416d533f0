"""Computes how far brokers read the metadata log, and the order of the replicas, so that a cluster follows a trace.

In:  a trace of `kafka` with KRaft. The model records only the partition epoch up to which a broker has read. Its leader
     may propose any follower for the ISR, whatever the leader has read, and any valid broker may be elected.
Out: `KraftTiming`: how far each broker has to have read before a step, and the order of the replicas. Or UntimelyError:
     no timing or no order makes a cluster follow the trace.

Each broker reads as late as possible: the log only grows, so a broker can read further whenever it has to. Two records
of one change have Kafka's order: the record of a fenced broker comes after the partition's record; the record of a
broker that is unfenced or begins to shut down comes before the partition's record. Kafka elects the first valid replica
in the order of the replicas; a preferred election elects the first replica, an unclean election the first active
replica. Source: fact sheet, section 4.6; ReplicationControlManager.handleBrokerFenced, handleBrokerUnfenced,
handleBrokerInControlledShutdown; ClusterControlManager.registerBroker.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import permutations

from isrcheck.conformance.implemented import UntimelyError
from isrcheck.models.kafka.state.values import AlterPartition, BrokerStateCheck, Fetch, LeaderChoice
from isrcheck.models.language import NONE
from isrcheck.models.language.model import Step
from isrcheck.models.run import State

FENCE = ("controller_fences_broker", "controller_fences_leader", "controller_fences_last_leader")
SHUT_DOWN = ("broker_asks_to_shut_down", "leader_asks_to_shut_down", "last_leader_asks_to_shut_down")
UNFENCE = "controller_unfences_broker"
STOP = "broker_shuts_down"
UNREGISTER = "controller_unregisters_broker"
CONFIGURE = "operator_changes_min_insync_replicas"
RESTART = "broker_restarts"


@dataclass(frozen=True)
class Metadata:
    """The metadata after one record: the partition epoch, and for each broker whether it is fenced, whether it shuts
    down, and the number of its registered process; and how often min.insync.replicas was changed."""

    partition_epoch: int
    is_fenced: tuple[bool, ...]
    is_shutting_down: tuple[bool, ...]
    processes: tuple[int, ...]
    configurations: int = 0

    def is_active(self, broker: int) -> bool:
        """Whether a broker is neither fenced nor shutting down, so that it may join the ISR."""
        return not self.is_fenced[broker] and not self.is_shutting_down[broker]


class MetadataLog:
    """The metadata log of a trace: the metadata after each record, by the record's offset."""

    def __init__(self, first: State) -> None:
        replicas = int(first.replicas)
        nobody = (False,) * replicas
        self.log = [Metadata(0, nobody, nobody, (1,) * replicas)]

    @property
    def end(self) -> int:
        """The offset of the last record."""
        return len(self.log) - 1

    def offsets(self, partition_epoch: int, least: int) -> range:
        """The offsets, from `least` on, of the records after which the partition has this partition epoch."""
        offsets = [offset for offset, record in enumerate(self.log) if record.partition_epoch == partition_epoch]
        return range(max(least, offsets[0]), offsets[-1] + 1) if offsets else range(0)

    def note(self, step: Step, before: State, after: State) -> None:
        """Append to the metadata log the records that a step writes."""
        if step.action == CONFIGURE:
            now = self.log[-1]
            epoch = int(after.controller_partition_epoch)
            self.log.append(replace(now, partition_epoch=epoch, configurations=now.configurations + 1))
            return
        if step.action in (*FENCE, STOP, RESTART, UNREGISTER):
            self._change_partition(after)
            self._change_broker(step, after)
        elif step.action == UNFENCE or step.action in SHUT_DOWN:
            self._change_broker(step, after)
            self._change_partition(after)
        else:
            self._change_partition(after)

    def _change_partition(self, after: State) -> None:
        epoch = int(after.controller_partition_epoch)
        if epoch != self.log[-1].partition_epoch:
            self.log.append(replace(self.log[-1], partition_epoch=epoch))

    def _change_broker(self, step: Step, after: State) -> None:
        broker, now = step.ordinals[0], self.log[-1]
        started = step.action == RESTART
        self.log.append(
            replace(
                now,
                is_fenced=_with(now.is_fenced, broker, bool(after.is_fenced[broker])),
                is_shutting_down=_with(now.is_shutting_down, broker, bool(after.is_shutting_down[broker])),
                processes=tuple(process + (started and r == broker) for r, process in enumerate(now.processes)),
            )
        )


def _with(flags: Sequence[bool], broker: int, flag: bool) -> tuple[bool, ...]:
    return tuple(flag if r == broker else current for r, current in enumerate(flags))


ELECT_WITHOUT = ("controller_fences_leader", "leader_asks_to_shut_down")
REQUESTS = ("controller_begins_reassignment", "controller_reassigns_without_leader")
REASSIGNED = (
    "controller_reassigns_without_leader",
    "controller_cancels_without_leader",
    "controller_completes_reassignment",
)
ELECTIONS = (*ELECT_WITHOUT, *REASSIGNED, "controller_elects_preferred", "controller_elects_unclean")


def assignment_of(steps: Sequence[Step], states: Sequence[State]) -> tuple[int, ...]:
    """Return an order of replicas with which Kafka elects as the trace does. Raises UntimelyError if no order fits.

    An administrator who reassigns the partition names the new replicas in this order, too. Replicas that the
    reassignment will remove come after the new replicas, sorted by number; if it is cancelled, they stay last. Kafka:
    PartitionReassignmentReplicas, PartitionReassignmentRevert.
    """
    replicas = range(int(states[0].replicas))
    is_fixed = states[0].LEADER_CHOICE == LeaderChoice.ASSIGNMENT_ORDER
    orders = [tuple(replicas)] if is_fixed else [*permutations(replicas)]
    fitting = {order: [r for r in order if is_assigned(states[0], r)] for order in orders}
    for position, step in enumerate(steps, start=1):
        before, after = states[position - 1], states[position]
        fitting = {order: _assigned_by(step, order, assigned, after) for order, assigned in fitting.items()}
        elected, others = _elected(step, before)
        if elected is not None:
            fitting = {
                order: assigned
                for order, assigned in fitting.items()
                if next((r for r in assigned if r in {elected, *others}), None) == elected
            }
        if not fitting:
            raise UntimelyError(
                f"step {position} elects broker {elected}, but Kafka elects the first valid replica in the order of the"
                " assignment, and no order fits this and the earlier elections; the model elects any valid replica"
            )
    return next(iter(fitting))


def _assigned_by(step: Step, order: tuple[int, ...], assigned: Sequence[int], after: State) -> list[int]:
    """Return the assigned replicas, in their order, in the state `after` a step. `assigned`: the assigned replicas
    before the step; `order`: the order in which a reassignment names the new replicas."""
    if step.action in REQUESTS:
        target = [r for r in order if step.ordinals[0] >> r & 1]
        assigned = [*target, *sorted({*assigned} - {*target})]
    return [r for r in assigned if is_assigned(after, r)]


def is_valid(state: State, broker: int, leaving: int = NONE) -> bool:
    """Whether a broker may lead when the broker `leaving` (NONE: nobody) has left the ISR. Kafka: isValidNewLeader."""
    if broker == leaving or not is_active(state, broker):
        return False
    nobody = not any(state.controller_isr[r] for r in range(state.replicas) if r != leaving)
    return bool(state.controller_isr[broker] or (nobody and state.eligible_leader_replicas[broker]))


def is_assigned(state: State, broker: int) -> bool:
    """Whether the partition is assigned to a broker; without reassignments, it is assigned to all."""
    return not state.reassignments or bool(state.is_assigned[broker])


def _elected(step: Step, before: State) -> tuple[int | None, set[int]]:
    """The broker that a step elects, or None; and all brokers that may be elected, of which Kafka elects the first in
    the order of the replicas."""
    replicas = [r for r in range(before.replicas) if is_assigned(before, r)]
    if step.action in ELECT_WITHOUT:
        leaving, elected = step.ordinals
        return elected, {r for r in replicas if is_valid(before, r, leaving)}
    if step.action in REASSIGNED:
        active = [r for r in range(before.replicas) if is_active(before, r)]
        return step.ordinals[-1], {r for r in active if _stays(step, before, r)}
    if step.action == "controller_elects_preferred":
        leads = before.controller_leader != NONE and is_valid(before, before.controller_leader)
        return step.ordinals[0], set(replicas) if leads else {r for r in replicas if is_valid(before, r)}
    if step.action == "controller_elects_unclean":
        return step.ordinals[0], {r for r in replicas if not before.is_fenced[r] and not before.is_shutting_down[r]}
    return None, set()


def _stays(step: Step, before: State, broker: int) -> bool:
    """Whether a broker stays in the ISR when a reassignment, or its cancellation, removes the leader's replica."""
    if step.action == "controller_cancels_without_leader":
        return bool(before.controller_isr[broker] and not before.is_adding[broker])
    if step.action == "controller_completes_reassignment":
        return bool(before.requested_isr[step.ordinals[0]][broker] and not before.is_removing[broker])
    return bool(before.controller_isr[broker] and step.ordinals[0] >> broker & 1)


def is_active(state: State, broker: int) -> bool:
    """Whether a broker is neither fenced nor shutting down."""
    return not state.is_fenced[broker] and not state.is_shutting_down[broker]


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
    """The timing of a cluster with KRaft. `reads`: by step, the brokers that must read the metadata log before the
    step, and the offsets up to which they read. `assignment`: the replicas in the order in which they are assigned.
    Both are empty without KRaft."""

    reads: Mapping[int, Mapping[int, int]] = field(default_factory=dict)
    assignment: tuple[int, ...] = ()


def kraft_timing_of(steps: Sequence[Step], states: Sequence[State]) -> KraftTiming:
    """The timing with which a cluster can take `steps`. Raises UntimelyError if there is no such timing."""
    return KraftTiming(_Reading(states[0]).all(steps, states), assignment_of(steps, states))


class _Reading:
    """Computes how far each broker has read the metadata log; a broker that is down keeps its last reported offset."""

    def __init__(self, first: State) -> None:
        self.log = MetadataLog(first)
        self.read = dict.fromkeys(range(first.replicas), 0)
        self.shutdown_at: dict[int, int] = {}
        self.late_process: dict[tuple[int, int], int] = {}

    def all(self, steps: Sequence[Step], states: Sequence[State]) -> dict[int, dict[int, int]]:
        """For each step: the brokers that must read the metadata log first, and the offset up to which each reads."""
        reads = {}
        for position, step in enumerate(steps, start=1):
            before, after = states[position - 1], states[position]
            wanted = self._before(position, step, before, after)
            for broker, offset in wanted.items():
                self._must_not_pass_configuration(position, step, broker, offset, after)
            reads[position] = {broker: offset for broker, offset in wanted.items() if offset != self.read[broker]}
            self.read |= reads[position]
            if step.action in CRASH_WHILE_FETCHING:
                follower, leader = step.ordinals
                self.late_process[leader, follower] = self.log.log[-1].processes[follower]
            self.log.note(step, before, after)
            if step.action in SHUT_DOWN:
                self.shutdown_at[step.ordinals[0]] = self.log.end
            if step.action == RESTART:
                self.read[step.ordinals[0]] = self.log.end
        return reads

    def _before(self, position: int, step: Step, before: State, after: State) -> dict[int, int]:
        if step.action in (READ, DROP):
            broker, partition_epoch = step.ordinals
            return {broker: self.log.offsets(partition_epoch, self.read[broker])[0]}
        if step.action == READ_CONFIGURATION:
            broker = step.ordinals[0]
            configurations = self.log.log[self.read[broker]].configurations
            for offset in self.log.offsets(int(before.metadata_position[broker]), self.read[broker]):
                if self.log.log[offset].configurations > configurations:
                    return {broker: offset}
            raise UntimelyError(f"step {position} lets a broker read a configuration that is not in the metadata log")
        if step.action in (FETCH, LATE_FETCH) and _proposes(step, before, after):
            return self._before_proposal(position, step, before)
        if step.action == STOP:
            return self._before_stop(position, step.ordinals[0], before)
        return {}

    def _must_not_pass_configuration(self, position: int, step: Step, broker: int, offset: int, after: State) -> None:
        """Raise UntimelyError if a broker that reads the metadata log up to `offset` also reads a change of
        min.insync.replicas that it has not read in the trace, in the state `after` the step."""
        if after.min_isr_changes > 0 and self.log.log[offset].configurations > after.min_isr_changes_read[broker]:
            raise UntimelyError(
                f"step {position} ({step.action}) needs broker {broker} to have read a record of the metadata log that"
                " comes after a change of min.insync.replicas, but in the trace the broker has not read that change"
            )

    def _before_proposal(self, position: int, step: Step, before: State) -> dict[int, int]:
        """Return the proposing leader and the first offset up to which it must read the metadata log to know that the
        follower is active and (since 3.5) that the process that fetched is registered. Raises UntimelyError if no such
        offset comes before the partition's next change, which the leader has not read in the trace."""
        leader, follower = step.ordinals
        is_late = step.action == LATE_FETCH
        process = self.late_process[leader, follower] if is_late else self.log.log[-1].processes[follower]
        if is_late and before.fetch[follower][leader] != Fetch.NONE:
            raise UntimelyError(
                f"step {position} lets a fetch of the follower's new process take effect in the middle of a late fetch,"
                " but the new process's fetch was already handled; a leader handles one fetch at a time, under a lock"
            )
        for offset in self.log.offsets(int(before.metadata_position[leader]), self.read[leader]):
            if _is_eligible(self.log.log[offset], follower, process, before.BROKER_STATE_CHECK):
                return {leader: offset}
        raise UntimelyError(
            f"step {position} lets broker {leader} propose broker {follower} for the ISR; Kafka's leader does not: it"
            f" has read that broker {follower} is fenced or shuts down, or has not read that the broker is registered"
        )

    def _before_stop(self, position: int, broker: int, before: State) -> dict[int, int]:
        """For each broker that must read further before `broker` may stop: the offset of the shutdown in the metadata
        log. Empty if the stop waits for no broker. Raises UntimelyError if the stop waits for a broker that is down."""
        if before.is_fenced[broker] or not before.is_shutting_down[broker]:
            return {}
        reads, least, now = {}, self.shutdown_at[broker], self.log.log[-1]
        for other in range(before.replicas):
            if now.is_active(other) and self.read[other] < least:
                if not before.is_up[other]:
                    raise UntimelyError(
                        f"step {position} stops broker {broker} too early: broker {other}, which is down and unfenced,"
                        " has not reported that it read of the shutdown, and the controller waits for this report"
                    )
                reads[other] = least
        return reads


def _proposes(step: Step, before: State, after: State) -> bool:
    leader = step.ordinals[0]
    return bool(
        before.alter_partition[leader] == AlterPartition.NONE and after.alter_partition[leader] != AlterPartition.NONE
    )


def _is_eligible(metadata: Metadata, follower: int, process: int, check: int) -> bool:
    """Whether a leader that has read `metadata` would propose a follower whose fetch came from `process`; `check`: the
    release's rule, a BrokerStateCheck. Kafka: Partition.isReplicaIsrEligible."""
    if check == BrokerStateCheck.NONE:
        return True
    is_registered = metadata.processes[follower] == process
    return metadata.is_active(follower) and (is_registered or check < BrokerStateCheck.BROKER_EPOCH)

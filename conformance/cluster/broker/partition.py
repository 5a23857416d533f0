"""The partition on one broker: its role, what the leader knows of its followers, and how the leader changes the ISR.

Source: fact sheet, sections 2.3, 2.4, 3, 4; Kafka: Partition, Replica, IsrState, AlterIsrManager (ZkIsrManager,
DefaultAlterIsrManager).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from enum import Enum
from functools import partial

from isrcheck.conformance.cluster.broker.part import Part
from isrcheck.conformance.cluster.configuration.bugs import Bug
from isrcheck.conformance.cluster.configuration.protocol import FollowerSkip, MaximalIsr, ShrinkRule
from isrcheck.conformance.cluster.configuration.settings import Settings
from isrcheck.conformance.cluster.log.log import Log
from isrcheck.conformance.cluster.network.messages import AlterIsrRequest, AlterIsrResponse, Errors, LeaderAndIsr
from isrcheck.conformance.cluster.network.records import UNDEFINED_OFFSET, Control, ProducerStamp, Record


@dataclass(frozen=True)
class ReplicaState:
    """The leader's knowledge of one follower; unknown offsets are -1, times in ms. `broker_epoch` is the number of the
    follower's process that fetched last; 0 before the first fetch.
    """

    log_end_offset: int = UNDEFINED_OFFSET
    log_start_offset: int = UNDEFINED_OFFSET
    last_caught_up_time: int = 0
    last_fetch_time: int = 0
    last_fetch_leader_log_end_offset: int = 0
    broker_epoch: int = 0

    def after_fetch(
        self, fetch_offset: int, log_start_offset: int, leader_end_offset: int, now: int, broker_epoch: int = 0
    ) -> ReplicaState:
        """The state after a fetch at time `now`; `leader_end_offset`: the leader's log end. Kafka: updateFetchState."""
        caught_up = self.last_caught_up_time
        if fetch_offset >= leader_end_offset:
            caught_up = max(caught_up, now)
        elif fetch_offset >= self.last_fetch_leader_log_end_offset:
            caught_up = max(caught_up, self.last_fetch_time)
        leader_end_offset = max(leader_end_offset, self.last_fetch_leader_log_end_offset)
        return ReplicaState(fetch_offset, log_start_offset, caught_up, now, leader_end_offset, broker_epoch)

    def is_caught_up(self, rule: ShrinkRule, leader_end_offset: int, now: int, settings: Settings) -> bool:
        """Whether the follower may stay in the ISR. Kafka: Partition.getOutOfSyncReplicas; fact sheet 4.1.

        By default, a follower may stay if it was caught up within the last replica.lag.time.max.ms. In 0.8
        (LAG_MESSAGES), it may stay if it lacks at most replica.lag.max.messages, or has not fetched from this leader
        yet. (Left out: 0.8 also removes a follower that has not fetched for replica.lag.time.max.ms.)
        """
        lag = leader_end_offset - self.log_end_offset
        if rule is ShrinkRule.LAG_MESSAGES:
            return self.log_end_offset == UNDEFINED_OFFSET or lag <= settings.replica_lag_max_messages
        if rule is ShrinkRule.EXEMPT_AT_LOG_END and lag == 0:
            return True
        return now - self.last_caught_up_time <= settings.replica_lag_time_max_ms


Answered = Callable[[AlterIsrResponse], None]
"""A function that takes the answer to a proposed ISR."""


@dataclass(frozen=True)
class IsrState:
    """The committed ISR as far as the leader knows it, and the proposed ISR (None if no proposal awaits its answer)."""

    isr: frozenset[int] = frozenset()
    proposed: frozenset[int] | None = None

    @property
    def is_inflight(self) -> bool:
        """Whether a change of the ISR is proposed and not answered yet."""
        return self.proposed is not None

    def maximal_isr(self, rule: MaximalIsr = MaximalIsr.COMMITTED_AND_PROPOSED) -> frozenset[int]:
        """The replicas that may be elected next: the members of the committed and of the proposed ISR. Every `rule` but
        the default counts only one of the two ISRs, a mistake that KIP-497 avoids."""
        if self.proposed is None or rule is MaximalIsr.COMMITTED:
            return self.isr
        return self.proposed if rule is MaximalIsr.PROPOSED else self.isr | self.proposed

    def is_answered_by(self, pending: IsrState, response: AlterIsrResponse, epochs: tuple[int, int]) -> bool:
        """Whether the leader may apply `response`. The leader's state (`self`) must still be `pending`, the state of
        the proposal. Unless the error is INELIGIBLE_REPLICA, the response must have the leader's leader epoch, and at
        least the leader's partition epoch. `epochs`: the leader's (leader epoch, partition epoch). Sheet 4.3."""
        leader_epoch, partition_epoch = epochs
        is_current = response.leader_epoch == leader_epoch and response.partition_epoch >= partition_epoch
        return self is pending and (response.error is Errors.INELIGIBLE_REPLICA or is_current)


class ZkIsrManager:
    """Writes a leader's ISR in ZooKeeper, by calling `write_isr` of the controller. Kafka: updateLeaderAndIsr."""

    def __init__(self, broker: int, write_isr: Callable[[int, int, frozenset[int]], int | None]) -> None:
        self._broker = broker
        self._write_isr = write_isr

    def submit(self, proposal: AlterIsrRequest, answered: Answered) -> bool:
        """Write the ISR in ZooKeeper, call `answered`, return True; if the write is refused, only return False."""
        written = self._write_isr(self._broker, proposal.leader_epoch, proposal.isr)
        if written is None:
            return False
        answered(AlterIsrResponse(Errors.NONE, proposal.leader_epoch, written, proposal.isr))
        return True


class AlterIsrManager:
    """Sends a leader's proposals to the controller, one at a time, and again if the connection breaks. Kafka:
    DefaultAlterIsrManager."""

    def __init__(self, ask: Callable[[AlterIsrRequest], int], bug: Bug | None) -> None:
        """`ask` sends a request to the controller, and returns the number of the message."""
        self._ask = ask
        self._bug = bug
        self._outstanding: int | None = None
        self._submitted: tuple[AlterIsrRequest, Answered] | None = None

    def submit(self, proposal: AlterIsrRequest, answered: Answered) -> bool:
        """Send the proposal, unless an earlier proposal is unanswered; returns whether `proposal` was sent."""
        if self._submitted is not None and self._bug is not Bug.SECOND_ALTER_ISR_SENT:
            return False
        self._submitted = (proposal, answered)
        self._outstanding = self._ask(proposal)
        return True

    def disconnected(self, request: int) -> None:
        """Send the unanswered proposal again, if `request`, whose connection broke, is the request that carried it."""
        if self._submitted is not None and self._outstanding == request:
            self._outstanding = self._ask(self._submitted[0])

    def receive(self, request: int, response: AlterIsrResponse) -> None:
        """Call the proposal's function `answered` with the response; ignore a response to an earlier request."""
        if self._submitted is not None and self._outstanding == request:
            answered = self._submitted[1]
            self._outstanding = self._submitted = None
            answered(response)


NO_EPOCH = -1


class Role(Enum):
    """The role that a broker believes it has."""

    NONE = "none"
    LEADER = "leader"
    FOLLOWER = "follower"


@dataclass(eq=False)
class Partition(Part):
    """One replica of the partition; the controller's latest announcement determines its role."""

    _broker: int
    _replicas: frozenset[int]
    log: Log
    """This replica's log."""
    _isr_manager: AlterIsrManager | ZkIsrManager

    def __post_init__(self) -> None:
        self._min_insync_replicas = self._settings.min_insync_replicas
        self._role = Role.NONE
        self.leader: int | None = None
        """The leader known to this broker; None before the controller's first announcement."""
        self.leader_epoch = NO_EPOCH
        """The leader epoch that this broker applied last; -1 before the first."""
        self.partition_epoch = 0
        """The partition epoch of the record that this broker knows; 0 before the first."""
        self.leader_epoch_start_offset = UNDEFINED_OFFSET
        """On a leader: the log end offset when it accepted the epoch; -1 otherwise."""
        self.isr_state = IsrState()
        """On a leader: the in-sync replicas, and the change that is pending; empty otherwise."""
        self._remote: dict[int, ReplicaState] = {}

    @property
    def is_leader(self) -> bool:
        """Whether this broker believes that it leads."""
        return self._role is Role.LEADER

    @property
    def remote(self) -> Mapping[int, ReplicaState]:
        """What a leader knows of each follower, by the follower's number; empty on a broker that does not lead."""
        return dict(self._remote)

    @property
    def is_under_min_isr(self) -> bool:
        """Whether the ISR is too small for a record with acks=all to be appended."""
        return self._is_too_small(self.isr_state.isr)

    @property
    def is_under_min_isr_after_append(self) -> bool:
        """Whether the maximal ISR is too small for an appended acks=all record to be acknowledged. Fact sheet 5.1."""
        return self._is_too_small(self.isr_state.maximal_isr(self._switches.MAXIMAL_ISR))

    def make_leader(self, announced: LeaderAndIsr) -> None:
        """Accept leadership in a new epoch. Kafka: Partition.makeLeader; fact sheet 3.1.

        The followers' offsets are unknown, unless this broker led before and REMOTE_OFFSETS_KEPT_BY_REELECTED_LEADER is
        on: then the broker keeps the offsets that it knew. The broker does not truncate its log, and tries to advance
        the high watermark at once. A high watermark outside the log is set to the log start: Kafka 2.1 reads the log at
        the high watermark (convertHWToLocalOffsetMetadata). Older releases set it to -1, later ones keep it inside the
        log.
        """
        if self._bug is Bug.LEADER_TRUNCATES_ON_ELECTION and not self.is_leader:
            self.log.truncate_to(self.log.high_watermark)
        if not self.is_leader:
            self.log.bring_high_watermark_inside()
        kept = self.is_leader and self._switches.REMOTE_OFFSETS_KEPT_BY_REELECTED_LEADER
        former = self._remote if kept or self._bug is Bug.REMOTE_OFFSETS_NOT_RESET else {}
        self._role, self.leader = Role.LEADER, self._broker
        self.leader_epoch, self.partition_epoch = announced.leader_epoch, announced.partition_epoch
        self.isr_state = IsrState(announced.isr)  # no change is pending now
        self.leader_epoch_start_offset = self.log.log_end_offset
        if self._switches.EPOCH_AT_BECOME_LEADER:
            self.log.assign_epoch(announced.leader_epoch)
        now = self._clock.now
        self._remote = {
            follower: replace(
                former.get(follower, ReplicaState()),
                last_caught_up_time=now if follower in announced.isr else 0,
                last_fetch_time=now if kept and follower in announced.isr else 0,
                last_fetch_leader_log_end_offset=self.log.log_end_offset if kept else 0,
            )
            for follower in sorted(self._replicas - {self._broker})
        }
        self.maybe_increment_leader_high_watermark()

    def make_follower(self, announced: LeaderAndIsr) -> bool:
        """Follow the announced leader. Returns True if the broker has to start fetching anew; False if, by the switch
        FOLLOWER_SKIP, it keeps fetching from the same leader as before. Kafka: makeFollower."""
        rule = self._switches.FOLLOWER_SKIP
        further = announced.leader_epoch - self.leader_epoch
        skipped = self.leader == announced.leader and (
            rule is FollowerSkip.SAME_LEADER
            or (rule is FollowerSkip.SAME_LEADER_NEXT_EPOCH and further <= 1)
            or (rule is FollowerSkip.SAME_LEADER_AND_EPOCH and further == 0)
        )
        self._role, self.leader = Role.FOLLOWER, announced.leader
        self.leader_epoch, self.partition_epoch = announced.leader_epoch, announced.partition_epoch
        self.leader_epoch_start_offset = UNDEFINED_OFFSET
        self.isr_state = IsrState()
        if self._bug is not Bug.REMOTE_OFFSETS_NOT_RESET:
            self._remote = {}
        return not skipped

    def know_followers(self, log_end_offsets: Mapping[int, int], slow: frozenset[int]) -> None:
        """Set what the leader knows of its followers at the start. Each last fetched at its offset in
        `log_end_offsets`: at time 0 or, if the follower is in `slow`, more than replica.lag.time.max.ms before."""
        self.leader_epoch_start_offset = 0
        for follower, offset in log_end_offsets.items():
            then = -1 - self._settings.replica_lag_time_max_ms if follower in slow else 0
            self._remote[follower] = ReplicaState(offset, 0, then, then, self.log.log_end_offset, 1)
        self.maybe_increment_leader_high_watermark()

    def error_for_epoch(self, current_leader_epoch: int | None) -> Errors:
        """The error with which this broker refuses a request that carries this leader epoch (None: the request carries
        no epoch); NONE if the request is accepted. Fact sheet 2.2."""
        if current_leader_epoch is not None:
            if current_leader_epoch < self.leader_epoch and self._bug is not Bug.STALE_FETCHES_COUNTED:
                return Errors.FENCED_LEADER_EPOCH
            if current_leader_epoch > self.leader_epoch:
                return Errors.UNKNOWN_LEADER_EPOCH
        return Errors.NONE if self.is_leader else Errors.NOT_LEADER_OR_FOLLOWER

    def append_as_leader(
        self,
        payload: str,
        stamp: ProducerStamp | None = None,
        control: Control | None = None,
        records: int = 1,
        coordinator_epoch: int = 0,
    ) -> Record:
        """Append a batch in this leader's epoch, and try to advance the high watermark; returns the first record of the
        batch. Kafka: appendRecordsToLeader.
        """
        fields = (payload, self.leader_epoch, stamp, control, records, self._clock.now, coordinator_epoch)
        record = self.log.append_as_leader(*fields)
        self.maybe_increment_leader_high_watermark()
        return record

    def update_follower_fetch_state(self, follower: int, offset: int, log_start: int, broker_epoch: int = 0) -> None:
        """Record a follower's fetch: set its offset (even to a lower one), expand the ISR, advance the high watermark.
        Kafka: updateFollowerFetchState; fact sheet 2.3, 4.2, 2.4, in this order.
        """
        self._note_fetch(follower, offset, log_start, broker_epoch)
        if self._may_join_isr(follower):
            self._propose(self.isr_state.isr | {follower})
        self.maybe_increment_leader_high_watermark()

    def _note_fetch(self, follower: int, offset: int, log_start: int, broker_epoch: int) -> None:
        old, end = self._remote[follower], self.log.log_end_offset
        new = old.after_fetch(offset, log_start, end, self._clock.now, broker_epoch)
        if self._bug is Bug.REMOTE_OFFSET_IS_MAXIMUM:
            new = replace(new, log_end_offset=max(offset, old.log_end_offset))
        self._remote[follower] = new

    def maybe_shrink_isr(self) -> frozenset[int]:
        """Remove all out-of-sync followers from the ISR, or propose their removal. Returns these followers; the empty
        set if the removal cannot be written or proposed now. Fact sheet 4.1."""
        if not self.is_leader or self.isr_state.is_inflight:
            return frozenset()
        isr = self.isr_state.isr
        out_of_sync = frozenset(each for each in isr - {self._broker} if not self._is_caught_up(each))
        if self._bug is Bug.ISR_KEEPS_DEAD_FOLLOWER or not out_of_sync:
            return frozenset()
        is_proposed = self._propose(isr - out_of_sync)
        if self.isr_state.is_inflight:  # the high watermark moves only with MAXIMAL_ISR=PROPOSED
            self.maybe_increment_leader_high_watermark()
        return out_of_sync if is_proposed else frozenset()

    def maybe_increment_leader_high_watermark(self) -> bool:
        """Advance the high watermark to the lowest log end in the maximal ISR; returns whether it moved. Sheet 2.4."""
        state = self.isr_state
        has_gate = self._switches.HW_MINISR_GATE and self._bug is not Bug.HIGH_WATERMARK_GATE_MISSING
        if has_gate and self._is_too_small(state.isr):
            return False
        rule = MaximalIsr.COMMITTED if self._bug is Bug.ISR_NOT_MAXIMAL else self._switches.MAXIMAL_ISR
        counted = state.maximal_isr(rule)
        ends = [self._remote[each].log_end_offset for each in counted if each != self._broker]
        candidate = min([self.log.log_end_offset, *ends])
        if self._bug is Bug.HW_OFF_BY_ONE and candidate >= 0:
            candidate = min(candidate + 1, self.log.log_end_offset)
        return self.log.increment_high_watermark(candidate)

    def low_watermark(self, live: frozenset[int]) -> int:
        """The smallest log start of the leader and the live followers. Kafka: lowWatermarkIfLeader; fact sheet 1.1."""
        return min(
            [self.log.log_start_offset, *(self._remote[each].log_start_offset for each in live & {*self._remote})]
        )

    def _may_join_isr(self, follower: int) -> bool:
        """Whether the follower may be added to the ISR: no proposal is pending, and the follower's log reaches the high
        watermark and, with EXPAND_EPOCH_START, the start of the leader's epoch. Fact sheet 4.2."""
        offset = self._remote[follower].log_end_offset
        if follower in self.isr_state.isr or self.isr_state.is_inflight:
            return False
        if offset < self.log.high_watermark and self._bug is not Bug.EXPANSION_WITHOUT_HIGH_WATERMARK:
            return False
        needs_start = self._switches.EXPAND_EPOCH_START and self._bug is not Bug.EXPANSION_WITHOUT_EPOCH_START
        return not needs_start or offset >= self.leader_epoch_start_offset

    def _is_caught_up(self, follower: int) -> bool:
        now = (self._switches.SHRINK_RULE, self.log.log_end_offset, self._clock.now, self._settings)
        return self._remote[follower].is_caught_up(*now)

    def _propose(self, isr: frozenset[int]) -> bool:
        """Propose an ISR, which is pending until it is answered. Returns True if the ISR was proposed; False, with the
        state unchanged, if the write is refused or an earlier proposal is unanswered. Kafka: sendAlterIsr."""
        committed = self.isr_state
        self.isr_state = pending = replace(committed, proposed=isr)
        epochs = ((each, self._remote[each].broker_epoch) for each in sorted(isr & {*self._remote}))
        named = tuple((each, epoch) for each, epoch in epochs if epoch)
        proposal = AlterIsrRequest(self.leader_epoch, self.partition_epoch, isr, named)
        if self._isr_manager.submit(proposal, partial(self._handle_alter_isr_response, pending)):
            return True
        self.isr_state = committed
        return False

    def _handle_alter_isr_response(self, pending: IsrState, response: AlterIsrResponse) -> None:
        """Adopt the ISR of the response; drop the proposal if the controller found a proposed member not eligible;
        ignore the response if the leader's state has changed since the proposal. After another error the proposal stays
        pending until a newer metadata record arrives. (Left out: up to 3.0 the high watermark is not recomputed after a
        shrink, KAFKA-13091.)"""
        epochs = (self.leader_epoch, self.partition_epoch)
        is_current = self.isr_state.is_answered_by(pending, response, epochs)
        if self._bug is Bug.STALE_ALTER_ISR_ANSWER_APPLIED:
            is_current = self.is_leader
        if response.error is Errors.NONE and is_current:
            self.isr_state, self.partition_epoch = IsrState(response.isr), response.partition_epoch
        elif response.error is Errors.INELIGIBLE_REPLICA and is_current and self._bug is not Bug.INELIGIBLE_CHANGE_KEPT:
            self.isr_state = IsrState(pending.isr)
        else:
            return
        if self._bug is not Bug.HW_NOT_RECOMPUTED_AFTER_SHRINK or len(response.isr) > len(pending.isr):
            self.maybe_increment_leader_high_watermark()

    def _is_too_small(self, isr: frozenset[int]) -> bool:
        return len(isr) < self._effective_min_isr() and self._bug is not Bug.MIN_ISR_NOT_CHECKED

    def _effective_min_isr(self) -> int:
        """min.insync.replicas; since 3.7, at most the number of replicas. Kafka: effectiveMinIsr."""
        least = self._min_insync_replicas
        return min(least, len(self._replicas)) if self._switches.HW_MINISR_GATE else least

"""The partition on one broker: its role, and what the leader knows of its followers. Kafka: Partition, Replica.

In:  the controller's announcements, appends, followers' fetches, the ISR shrink check.
Out: records in the log, the high watermark, conditional writes of the ISR.

The ISR is written synchronously, as through ZooKeeper: a written ISR is the committed one, and there is no pending ISR
(KIP-497 would change only `_write_isr`). Source: fact sheet, sections 2.3, 2.4, 3, 4.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import Enum
from typing import Protocol

from isrcheck.conformance.cluster.configuration.bugs import Bug
from isrcheck.conformance.cluster.configuration.settings import Settings
from isrcheck.conformance.cluster.configuration.switches import FollowerSkip, ShrinkRule, Switches
from isrcheck.conformance.cluster.log.log import Log
from isrcheck.conformance.cluster.network.clock import Clock
from isrcheck.conformance.cluster.network.messages import Errors, LeaderAndIsr
from isrcheck.conformance.cluster.network.records import UNDEFINED_OFFSET, Control, ProducerStamp, Record

NO_EPOCH = -1


class IsrStore(Protocol):
    """Where a leader writes the ISR: the controller's side of ReplicationUtils.updateLeaderAndIsr."""

    def alter_isr(self, writer: int, leader_epoch: int, isr: frozenset[int]) -> bool:
        """Write the ISR if the writer's leader epoch is the controller's; returns whether it was written."""


class Role(Enum):
    """The role that a broker presumes to have."""

    NONE = "none"
    LEADER = "leader"
    FOLLOWER = "follower"


@dataclass(frozen=True)
class ReplicaState:
    """The leader's knowledge of one follower; unknown offsets are -1, times in ms. Kafka: Replica; fact sheet 2.3."""

    log_end_offset: int = UNDEFINED_OFFSET
    log_start_offset: int = UNDEFINED_OFFSET
    last_caught_up_time: int = 0
    last_fetch_time: int = 0
    last_fetch_leader_log_end_offset: int = 0


class Partition:
    """One replica of the partition, in the role of the controller's latest announcement."""

    def __init__(
        self,
        broker: int,
        replicas: frozenset[int],
        log: Log,
        isr_store: IsrStore,
        clock: Clock,
        settings: Settings,
        switches: Switches,
        bug: Bug | None,
    ) -> None:
        self._broker = broker
        self._replicas = replicas
        self._log = log
        self._isr_store = isr_store
        self._clock = clock
        self._settings = settings
        self._switches = switches
        self._bug = bug
        self._role = Role.NONE
        self._leader: int | None = None
        self._leader_epoch = NO_EPOCH
        self._leader_epoch_start_offset = UNDEFINED_OFFSET
        self._isr: frozenset[int] = frozenset()
        self._remote: dict[int, ReplicaState] = {}

    @property
    def log(self) -> Log:
        """This replica's log."""
        return self._log

    @property
    def is_leader(self) -> bool:
        """Whether this broker presumes leadership."""
        return self._role is Role.LEADER

    @property
    def leader(self) -> int | None:
        """The leader known to this broker; None before the controller's first announcement."""
        return self._leader

    @property
    def leader_epoch(self) -> int:
        """The leader epoch that this broker applied last; -1 before the first."""
        return self._leader_epoch

    @property
    def leader_epoch_start_offset(self) -> int:
        """On a leader: the log end offset when it accepted the epoch; -1 otherwise."""
        return self._leader_epoch_start_offset

    @property
    def isr(self) -> frozenset[int]:
        """On a leader: the in-sync replicas; empty otherwise."""
        return self._isr

    @property
    def remote(self) -> Mapping[int, ReplicaState]:
        """On a leader: what it knows of each follower; empty otherwise."""
        return dict(self._remote)

    @property
    def is_under_min_isr(self) -> bool:
        """Whether the ISR is too small for acks=all."""
        return len(self._isr) < self._settings.min_insync_replicas and self._bug is not Bug.MIN_ISR_NOT_CHECKED

    def make_leader(self, announced: LeaderAndIsr) -> None:
        """Accept leadership in a new epoch. Kafka: Partition.makeLeader; fact sheet 3.1.

        The followers' offsets are unknown, unless this broker led before and REMOTE_OFFSETS_KEPT_BY_REELECTED_LEADER is
        on: then it keeps the offsets that it knew. The leader does not truncate its log, and tries to advance its high
        watermark at once. A high watermark outside the log is set to the log start: in Kafka 2.1,
        Replica.convertHWToLocalOffsetMetadata reads the log there. (Older releases then set it to -1, which is not
        distinguished here; later releases keep the high watermark inside the log.)
        """
        if self._bug is Bug.LEADER_TRUNCATES_ON_ELECTION and not self.is_leader:
            self._log.truncate_to(self._log.high_watermark)
        if not self.is_leader:
            self._log.bring_high_watermark_inside()
        kept = self.is_leader and self._switches.REMOTE_OFFSETS_KEPT_BY_REELECTED_LEADER
        known = self._remote if kept or self._bug is Bug.REMOTE_OFFSETS_NOT_RESET else {}
        self._role, self._leader = Role.LEADER, self._broker
        self._leader_epoch, self._isr = announced.leader_epoch, announced.isr
        self._leader_epoch_start_offset = self._log.log_end_offset
        if self._switches.EPOCH_AT_BECOME_LEADER:
            self._log.assign_epoch(announced.leader_epoch)
        now = self._clock.now
        self._remote = {
            follower: replace(
                known.get(follower, ReplicaState()),
                last_caught_up_time=now if follower in self._isr else 0,
                last_fetch_time=now if kept and follower in self._isr else 0,
                last_fetch_leader_log_end_offset=self._log.log_end_offset if kept else 0,
            )
            for follower in sorted(self._replicas - {self._broker})
        }
        self.maybe_increment_leader_high_watermark()

    def make_follower(self, announced: LeaderAndIsr) -> bool:
        """Accept a leader; return whether the fetcher has to start over (FOLLOWER_SKIP). Kafka: makeFollower."""
        rule = self._switches.FOLLOWER_SKIP
        same_leader = self._leader == announced.leader
        further = announced.leader_epoch - self._leader_epoch
        skipped = same_leader and (
            rule is FollowerSkip.SAME_LEADER
            or (rule is FollowerSkip.SAME_LEADER_NEXT_EPOCH and further <= 1)
            or (rule is FollowerSkip.SAME_LEADER_AND_EPOCH and further == 0)
        )
        self._role, self._leader = Role.FOLLOWER, announced.leader
        self._leader_epoch, self._leader_epoch_start_offset = announced.leader_epoch, UNDEFINED_OFFSET
        self._isr = frozenset()
        if self._bug is not Bug.REMOTE_OFFSETS_NOT_RESET:
            self._remote = {}
        return not skipped

    def know_followers(self, log_end_offsets: Mapping[int, int]) -> None:
        """Set up as if every follower had fetched at these offsets. Called only at the start of a run (`Start`).

        The initial records were written in this epoch, so the epoch began at offset 0.
        """
        self._leader_epoch_start_offset = 0
        for follower, offset in log_end_offsets.items():
            caught_up = 0 if follower not in self._isr else self._clock.now
            self._remote[follower] = ReplicaState(offset, 0, caught_up, self._clock.now, self._log.log_end_offset)
        self.maybe_increment_leader_high_watermark()

    def error_for_epoch(self, current_leader_epoch: int | None) -> Errors:
        """The error for a request with this leader epoch (None: without one); NONE: it is accepted. Fact sheet 2.2."""
        if current_leader_epoch is not None:
            if current_leader_epoch < self._leader_epoch and self._bug is not Bug.STALE_FETCHES_COUNTED:
                return Errors.FENCED_LEADER_EPOCH
            if current_leader_epoch > self._leader_epoch:
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
        """Append a batch in this leader's epoch, and try to advance the high watermark; returns its first record.
        Kafka: appendRecordsToLeader.
        """
        given = (payload, self._leader_epoch, stamp, control, records, self._clock.now, coordinator_epoch)
        record = self._log.append_as_leader(*given)
        self.maybe_increment_leader_high_watermark()
        return record

    def update_follower_fetch_state(self, follower: int, fetch_offset: int, log_start_offset: int) -> None:
        """Record a follower's fetch: set its offset (even to a lower one), expand the ISR, advance the high watermark.

        Kafka: Partition.updateFollowerFetchState, Replica.updateFetchState; fact sheet 2.3, 4.2, 2.4, in this order.
        """
        old, now, end = self._remote[follower], self._clock.now, self._log.log_end_offset
        caught_up = old.last_caught_up_time
        if fetch_offset >= end:
            caught_up = max(caught_up, now)
        elif fetch_offset >= old.last_fetch_leader_log_end_offset:
            caught_up = max(caught_up, old.last_fetch_time)
        if self._bug is Bug.REMOTE_OFFSET_IS_MAXIMUM:
            fetch_offset = max(fetch_offset, old.log_end_offset)
        self._remote[follower] = ReplicaState(
            fetch_offset, log_start_offset, caught_up, now, max(end, old.last_fetch_leader_log_end_offset)
        )
        self._maybe_expand_isr(follower)
        self.maybe_increment_leader_high_watermark()

    def maybe_shrink_isr(self) -> frozenset[int]:
        """Remove every out-of-sync follower from the ISR; return the removed ones. Kafka: maybeShrinkIsr; fact sheet
        4.1.
        """
        if not self.is_leader:
            return frozenset()
        out_of_sync = frozenset(each for each in self._isr - {self._broker} if not self._is_caught_up(each))
        if self._bug is Bug.ISR_KEEPS_DEAD_FOLLOWER or not out_of_sync:
            return frozenset()
        if not self._write_isr(self._isr - out_of_sync):
            return frozenset()
        if self._bug is not Bug.HW_NOT_RECOMPUTED_AFTER_SHRINK:
            self.maybe_increment_leader_high_watermark()
        return out_of_sync

    def maybe_increment_leader_high_watermark(self) -> bool:
        """Advance the high watermark to the offset that the whole ISR has reached; returns whether it moved. Fact sheet
        2.4.

        Two later rules are missing: to wait for followers that are about to join the ISR (HW_WAIT), and not to advance
        while the ISR is smaller than min.insync.replicas (since 3.7).
        """
        known = [self._remote[each].log_end_offset for each in self._isr if each != self._broker]
        candidate = min([self._log.log_end_offset, *known])
        if self._bug is Bug.HW_OFF_BY_ONE and candidate >= 0:
            candidate = min(candidate + 1, self._log.log_end_offset)
        return self._log.increment_high_watermark(candidate)

    def low_watermark(self, live: frozenset[int]) -> int:
        """The smallest log start of the leader and the live followers. Kafka: lowWatermarkIfLeader; fact sheet 1.1."""
        return min(
            [self._log.log_start_offset, *(self._remote[each].log_start_offset for each in live & {*self._remote})]
        )

    def _maybe_expand_isr(self, follower: int) -> None:
        """Add a follower to the ISR that has reached the high watermark, if not the log end. Fact sheet 4.2."""
        offset = self._remote[follower].log_end_offset
        if follower in self._isr:
            return
        if offset < self._log.high_watermark and self._bug is not Bug.EXPANSION_WITHOUT_HIGH_WATERMARK:
            return
        needs_start = self._switches.EXPAND_EPOCH_START and self._bug is not Bug.EXPANSION_WITHOUT_EPOCH_START
        if needs_start and offset < self._leader_epoch_start_offset:
            return
        self._write_isr(self._isr | {follower})

    def _is_caught_up(self, follower: int) -> bool:
        """Kafka: Partition.getOutOfSyncReplicas; section 4.1.

        0.8 counts messages, and only for a follower that has fetched from this leader. (It drops a follower that has
        not fetched for replica.lag.time.max.ms as well, which is left out here.)
        """
        rule, state = self._switches.SHRINK_RULE, self._remote[follower]
        lag = self._log.log_end_offset - state.log_end_offset
        if rule is ShrinkRule.LAG_MESSAGES:
            return state.log_end_offset == UNDEFINED_OFFSET or lag <= self._settings.replica_lag_max_messages
        if rule is ShrinkRule.EXEMPT_AT_LOG_END and lag == 0:
            return True
        return self._clock.now - state.last_caught_up_time <= self._settings.replica_lag_time_max_ms

    def _write_isr(self, isr: frozenset[int]) -> bool:
        """Write the ISR if this leader's epoch is the controller's; return whether it was written. Fact sheet 4.4."""
        if not self._isr_store.alter_isr(self._broker, self._leader_epoch, isr):
            return False
        self._isr = isr
        return True

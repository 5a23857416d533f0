"""What a leader knows of one follower. Kafka: Replica.

In:  the follower's fetches.
Out: whether it has caught up.

Source: fact sheet, sections 2.3 and 4.1.
"""

from __future__ import annotations

from dataclasses import dataclass

from isrcheck.conformance.cluster.configuration.settings import Settings
from isrcheck.conformance.cluster.configuration.switches import ShrinkRule
from isrcheck.conformance.cluster.network.records import UNDEFINED_OFFSET


@dataclass(frozen=True)
class ReplicaState:
    """The leader's knowledge of one follower; unknown offsets are -1, times in ms. `broker_epoch` is the number of the
    process that has fetched; 0 if none has.
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
        """The knowledge after a fetch at time `now`, while the leader's log ended there. Kafka: updateFetchState."""
        caught_up = self.last_caught_up_time
        if fetch_offset >= leader_end_offset:
            caught_up = max(caught_up, now)
        elif fetch_offset >= self.last_fetch_leader_log_end_offset:
            caught_up = max(caught_up, self.last_fetch_time)
        leader_end_offset = max(leader_end_offset, self.last_fetch_leader_log_end_offset)
        return ReplicaState(fetch_offset, log_start_offset, caught_up, now, leader_end_offset, broker_epoch)

    def is_caught_up(self, rule: ShrinkRule, leader_end_offset: int, now: int, settings: Settings) -> bool:
        """Whether the follower may stay in the ISR. Kafka: Partition.getOutOfSyncReplicas; section 4.1.

        0.8 counts messages, and only for a follower that has fetched from this leader. (It drops a follower that has
        not fetched for replica.lag.time.max.ms as well, which is left out here.)
        """
        lag = leader_end_offset - self.log_end_offset
        if rule is ShrinkRule.LAG_MESSAGES:
            return self.log_end_offset == UNDEFINED_OFFSET or lag <= settings.replica_lag_max_messages
        if rule is ShrinkRule.EXEMPT_AT_LOG_END and lag == 0:
            return True
        return now - self.last_caught_up_time <= settings.replica_lag_time_max_ms

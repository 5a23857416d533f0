"""Which followers have caught up, as the leader sees it: a small model of replica.lag.time.max.ms, used with HW_WAIT.

A follower has caught up at a fetch that asks for the leader's log end, or for what was its log end at the fetch before.
It stays so for replica.lag.time.max.ms: without a clock, until a step says that the time is over. Kafka:
Replica.updateFetchStateOrThrow, ReplicaState.isCaughtUp.
"""

from isrcheck.models.kafka.state.values import HighWatermarkWait
from isrcheck.models.language import NONE


def note_progress(s, leader, follower):
    """A fetch, before its offset is noted."""
    if s.HW_WAIT == HighWatermarkWait.CAUGHT_UP:
        if s.log_end_offset[follower] >= s.log_end_offset[leader] or (
            s.log_end_offset_at_fetch[leader][follower] != NONE
            and s.log_end_offset[follower] >= s.log_end_offset_at_fetch[leader][follower]
        ):
            s.is_caught_up[leader][follower] = True
        s.log_end_offset_at_fetch[leader][follower] = s.log_end_offset[leader]


def begin_to_wait(s, leader):
    """A new leader regards the members of its ISR as caught up, and nobody else. Kafka: Partition.makeLeader."""
    if s.HW_WAIT == HighWatermarkWait.CAUGHT_UP:
        for r in range(s.replicas):
            s.is_caught_up[leader][r] = s.isr[leader][r] and r != leader
            s.log_end_offset_at_fetch[leader][r] = NONE


def stop_waiting(s, leader):
    if s.HW_WAIT == HighWatermarkWait.CAUGHT_UP:
        for r in range(s.replicas):
            s.is_caught_up[leader][r] = False
            s.log_end_offset_at_fetch[leader][r] = NONE


def holds_back(s, leader, r):
    """The replica counts as caught up: it is not dropped from the ISR, and the high watermark waits for it."""
    return s.HW_WAIT == HighWatermarkWait.CAUGHT_UP and (
        s.is_caught_up[leader][r] or s.remote_log_end_offset[leader][r] == s.log_end_offset[leader]
    )

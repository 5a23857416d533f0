"""KIP-101 (Kafka 0.11): a follower truncates to where the epoch of its last entry ends in the leader's log.

A translation of Kip101.tla.
"""

from isrcheck.models.language import action, require
from isrcheck.models.published.replication import (
    LeaderEpoch,
    Replica,
    become_follower_at,
    may_become_follower,
    names_leader,
)


def first_offset_above_epoch(s, leader, epoch, otherwise):
    for offset in range(s.log_size):
        if offset < s.log_end_offset[leader] and s.log_epoch[leader][offset] > epoch:
            return offset
    return otherwise


def truncation_offset(s, leader, r):
    """The offset at which follower `r` cuts its log: the leader's end offset of the epoch of the last entry of `r`; 0
    if the log of `r` is empty; the high watermark of `r` if the leader's log is empty or has only older epochs.

    The leader answers from its current log, even if it does not believe that it leads.
    """
    if s.log_end_offset[r] == 0:
        return 0
    if s.log_end_offset[leader] == 0:
        return s.high_watermark[r]
    epoch = s.log_epoch[r][s.log_end_offset[r] - 1]
    if s.log_epoch[leader][s.log_end_offset[leader] - 1] == epoch:
        return s.log_end_offset[leader]
    return first_offset_above_epoch(s, leader, epoch, s.high_watermark[r])


@action
def become_follower(s, request: LeaderEpoch, r: Replica):
    require(names_leader(s, request))
    require(may_become_follower(s, request, r))
    end_offset = truncation_offset(s, s.request_leader[request], r)
    require(end_offset <= s.log_end_offset[r])
    become_follower_at(s, request, r, end_offset)

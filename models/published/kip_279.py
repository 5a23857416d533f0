"""KIP-279 (Kafka 2.0): a follower truncates to the end of the common part of both logs. Kip279.tla."""

from isrcheck.models.language import action, require
from isrcheck.models.log import same_entry
from isrcheck.models.published.replication import (
    LeaderEpoch,
    Replica,
    become_follower_at,
    may_become_follower,
    names_leader,
)


def matching_end_offset(s, leader, r):
    """One above the largest offset at which `leader` and `r` hold the same entry; 0 if there is no such offset."""
    end_offset = 0
    for offset in range(s.log_size):
        if same_entry(s, leader, r, offset):
            end_offset = offset + 1
    return end_offset


@action
def become_follower(s, request: LeaderEpoch, r: Replica):
    require(names_leader(s, request))
    require(may_become_follower(s, request, r))
    become_follower_at(s, request, r, matching_end_offset(s, s.request_leader[request], r))

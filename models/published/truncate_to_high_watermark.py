"""Kafka up to 0.10: a follower truncates to its own high watermark. KafkaTruncateToHighWatermark.tla."""

from isrcheck.models.language import action, require
from isrcheck.models.published.replication import (
    LeaderEpoch,
    Replica,
    become_follower_at,
    may_become_follower,
    names_leader,
)


@action
def become_follower(s, request: LeaderEpoch, r: Replica):
    """The follower removes the entries above its own high watermark, even those that are committed."""
    require(names_leader(s, request))
    require(may_become_follower(s, request, r))
    require(s.high_watermark[r] <= s.log_end_offset[r])
    become_follower_at(s, request, r, s.high_watermark[r])

"""Time, where it is modelled: with HW_WAIT, a follower no longer counts as caught up after replica.lag.time.max.ms."""

from isrcheck.models.kafka.state.fields import WaitReplica
from isrcheck.models.language import action, require


@action(shows="{follower} at {leader}")
def follower_falls_behind(s, leader: WaitReplica, follower: WaitReplica):
    """The follower has not caught up with this leader for replica.lag.time.max.ms. Kafka: ReplicaState.isCaughtUp."""
    require(s.is_caught_up[leader][follower])
    require(s.remote_log_end_offset[leader][follower] < s.log_end_offset[leader])
    s.is_caught_up[leader][follower] = False

"""Which brokers serve a consumer."""

from isrcheck.models.kafka.state.broker.roles import presumes_leadership
from isrcheck.models.kafka.state.values import PositionCheck
from isrcheck.models.language import NONE


def is_not_fenced(s, consumer, broker):
    """A consumer that checks its position (since 2.3, here since 2.4) names the leader epoch that it knows, and a
    broker in another epoch refuses it (FENCED_LEADER_EPOCH, UNKNOWN_LEADER_EPOCH)."""
    return s.POSITION_CHECK == PositionCheck.NONE or s.leader_epoch[broker] == s.consumer_leader_epoch[consumer]


def reads_from(s, consumer, broker):
    """The consumer takes the broker for its leader, or was sent to it."""
    if s.follower_fetching and s.preferred_read_replica[consumer] != NONE:
        return s.preferred_read_replica[consumer] == broker and s.leader[broker] != NONE
    return presumes_leadership(s, broker)

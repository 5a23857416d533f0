"""Lemmas for proofs about logs of every length: they order the offsets, however long the logs are.

They read only fields whose array sizes do not depend on the log's length (checker/proofs/unbounded_abstraction.py).
"""

from isrcheck.models.kafka.state.broker.roles import presumes_leadership
from isrcheck.models.kafka.state.values import Controller, Fetch
from isrcheck.models.language import NONE, lemma


@lemma(applies=lambda configuration: configuration.CONTROLLER == Controller.ZOOKEEPER, every_length=True)
def the_controller_names_a_leader(s):
    """With ZooKeeper there is always a leader of record, which may be down."""
    return s.controller_leader != NONE


@lemma(every_length=True)
def answers_start_where_the_log_did(s):
    """A response answers a fetch from within the leader's log: its log start is not above the fetch offset."""
    return all(
        s.response_log_start_offset[follower][leader] <= s.fetch_offset[follower][leader]
        for follower in range(s.replicas)
        for leader in range(s.replicas)
        if s.fetch[follower][leader] == Fetch.ANSWERED
    )


@lemma(every_length=True)
def nobody_follows_itself(s):
    """A leader does not truncate, and no broker fetches from itself."""
    return all(
        s.fetch[r][r] == Fetch.NONE and not (s.is_truncating[r] and presumes_leadership(s, r))
        for r in range(s.replicas)
    )


@lemma(every_length=True)
def who_is_down_follows_nobody(s):
    """A process that is down has forgotten its leader, and has no request outstanding."""
    return all(
        s.is_up[r]
        or (
            s.leader[r] == NONE
            and not s.is_truncating[r]
            and all(s.fetch[r][leader] == Fetch.NONE for leader in range(s.replicas))
        )
        for r in range(s.replicas)
    )

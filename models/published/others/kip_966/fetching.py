"""KIP-966, fetching: requests of followers, the answers of leaders, divergence and truncation."""

from isrcheck.models.language import NONE, action, require
from isrcheck.models.published.others.kip_966.controller import clear_message
from isrcheck.models.published.others.kip_966.replicas import maybe_advance_high_watermark
from isrcheck.models.published.others.kip_966.state import (
    Broker,
    Fetch,
    Offset,
    Role,
    Status,
    known_leader,
    known_leader_epoch,
    last_epoch,
)


def has_converged(s, leader, follower):
    """Nothing to fetch, nothing to tell: the original sends no request then, to keep its state space small."""
    return (
        s.log_end[leader] == s.log_end[follower]
        and s.high_watermark[leader] == s.high_watermark[follower]
        and s.follower_epoch[leader][follower] > 0
        and s.follower_end[leader][follower] == s.log_end[follower]
        and s.follower_epoch[leader][follower] == s.broker_epoch[follower]
    )


@action(shows="{follower} from {leader}")
def follower_sends_fetch(s, follower: Broker, leader: Broker):
    """SendFetchRequest"""
    require(follower != leader)
    require(s.status[follower] == Status.RUNNING)
    require(s.is_added[follower][leader])
    require(not s.waits_for_response[follower][leader])
    require(known_leader(s, follower) == leader)
    require(not has_converged(s, leader, follower))
    s.fetch[follower][leader] = Fetch.REQUEST
    s.sent_leader_epoch[follower][leader] = known_leader_epoch(s, follower)
    s.sent_offset[follower][leader] = s.fetch_offset[follower][leader]
    s.sent_epoch[follower][leader] = s.last_fetched_epoch[follower][leader]
    s.sent_broker_epoch[follower][leader] = s.broker_epoch[follower]
    s.waits_for_response[follower][leader] = True
    s.is_delayed[follower][leader] = False


# ------------------------------------------------------------------------------------------------ epochs and their ends


def is_open_epoch(s, b, epoch, leads):
    """The epoch has no end in this log: the log is empty, ends in it, or is of its leader."""
    return s.log_end[b] == 0 or epoch == last_epoch(s, b) or (leads and known_leader_epoch(s, b) == epoch)


def floor_epoch(s, b, epoch):
    """The highest epoch in the log that is not above `epoch`; if there is none, `epoch` itself."""
    found = max(
        (s.log_epoch[b][offset] for offset in Offset if offset < s.log_end[b] and s.log_epoch[b][offset] <= epoch),
        default=NONE,
    )
    return epoch if found == NONE else found


def start_above(s, b, epoch):
    """The first offset of a higher epoch; the end of the log if there is none."""
    return min(
        (offset for offset in Offset if offset < s.log_end[b] and s.log_epoch[b][offset] > epoch),
        default=s.log_end[b],
    )


def end_of_epoch(s, b, epoch, leads):
    """LastOffsetForEpoch: where the epoch ends in this log, exclusively."""
    return s.log_end[b] if is_open_epoch(s, b, epoch, leads) else start_above(s, b, epoch)


def answered_epoch(s, b, epoch, leads):
    """LastOffsetForEpoch: the epoch that ends there."""
    return epoch if is_open_epoch(s, b, epoch, leads) else floor_epoch(s, b, epoch)


def diverges(s, leader, follower):
    """What the follower has fetched last is not in the leader's log."""
    return (
        answered_epoch(s, leader, s.sent_epoch[follower][leader], True) < s.sent_epoch[follower][leader]
        or end_of_epoch(s, leader, s.sent_epoch[follower][leader], True) < s.sent_offset[follower][leader]
    )


# -------------------------------------------------------------------------------------------------------------- answers


def answer_error(s, leader, follower):
    if known_leader_epoch(s, leader) < s.sent_leader_epoch[follower][leader]:
        s.fetch[follower][leader] = Fetch.UNKNOWN_EPOCH
    elif known_leader_epoch(s, leader) > s.sent_leader_epoch[follower][leader]:
        s.fetch[follower][leader] = Fetch.FENCED_EPOCH
    else:
        s.fetch[follower][leader] = Fetch.NOT_LEADER
    s.sent_epoch[follower][leader] = 0


def answer_divergence(s, leader, follower):
    epoch = s.sent_epoch[follower][leader]
    s.sent_epoch[follower][leader] = answered_epoch(s, leader, epoch, True)
    s.sent_end[follower][leader] = end_of_epoch(s, leader, epoch, True)
    s.fetch[follower][leader] = Fetch.DIVERGING


def answer_records(s, leader, follower):
    """The leader now knows how far the follower is, and sends the next record, if there is one."""
    s.follower_end[leader][follower] = s.sent_offset[follower][leader]
    s.follower_epoch[leader][follower] = s.sent_broker_epoch[follower][leader]
    maybe_advance_high_watermark(s, leader, s.log_end[leader])
    s.sent_epoch[follower][leader] = 0
    if s.sent_offset[follower][leader] < s.log_end[leader]:
        s.sent_epoch[follower][leader] = s.log_epoch[leader][s.sent_offset[follower][leader]]
        s.sent_value[follower][leader] = s.log_value[leader][s.sent_offset[follower][leader]]
    s.fetch[follower][leader] = Fetch.RECORDS


@action(shows="{leader} to {follower}")
def leader_answers_fetch(s, leader: Broker, follower: Broker):
    """ReceiveFetchRequest"""
    require(s.fetch[follower][leader] == Fetch.REQUEST)
    require(s.status[leader] == Status.RUNNING)
    if s.role[leader] != Role.LEADER or known_leader_epoch(s, leader) != s.sent_leader_epoch[follower][leader]:
        answer_error(s, leader, follower)
    elif diverges(s, leader, follower):
        answer_divergence(s, leader, follower)
    else:
        answer_records(s, leader, follower)
    s.sent_broker_epoch[follower][leader] = 0
    s.sent_leader_epoch[follower][leader] = known_leader_epoch(s, leader)
    s.sent_high_watermark[follower][leader] = s.high_watermark[leader]


def truncation_end(s, follower, leader):
    """Where both logs agree: where the leader's epoch ends here or there, or the follower's epoch below it."""
    end = end_of_epoch(s, follower, s.sent_epoch[follower][leader], False)
    if answered_epoch(s, follower, s.sent_epoch[follower][leader], False) != s.sent_epoch[follower][leader]:
        return end
    return min(end, s.sent_end[follower][leader])


def truncate(s, follower, end):
    """The high watermark stays, even if it is then above the end of the log."""
    for offset in Offset:
        if offset >= end:
            s.log_epoch[follower][offset] = 0
            s.log_value[follower][offset] = NONE
    s.log_end[follower] = end


def append_record(s, follower, leader):
    """Append the record, if there is one, and adopt the high watermark if it is within the log."""
    if s.sent_value[follower][leader] != NONE:
        s.log_epoch[follower][s.log_end[follower]] = s.sent_epoch[follower][leader]
        s.log_value[follower][s.log_end[follower]] = s.sent_value[follower][leader]
        s.last_fetched_epoch[follower][leader] = s.sent_epoch[follower][leader]
        s.log_end[follower] += 1
    if s.sent_high_watermark[follower][leader] <= s.log_end[follower]:
        s.high_watermark[follower] = s.sent_high_watermark[follower][leader]


def is_expected(s, follower, leader):
    """The fetcher still has the partition, at the same offset and in the same leader epoch."""
    return (
        s.is_added[follower][leader]
        and s.fetch_offset[follower][leader] == s.sent_offset[follower][leader]
        and known_leader_epoch(s, follower) == s.sent_leader_epoch[follower][leader]
    )


@action(shows="{follower} from {leader}")
def follower_receives_fetch(s, follower: Broker, leader: Broker):
    """ReceiveFetchResponse"""
    require(s.fetch[follower][leader] >= Fetch.RECORDS)
    require(s.status[follower] == Status.RUNNING)
    require(s.waits_for_response[follower][leader])
    s.waits_for_response[follower][leader] = False
    if is_expected(s, follower, leader):
        if s.fetch[follower][leader] == Fetch.RECORDS:
            append_record(s, follower, leader)
            s.fetch_offset[follower][leader] = s.log_end[follower]
            s.is_delayed[follower][leader] = False
        elif s.fetch[follower][leader] == Fetch.DIVERGING:
            truncate(s, follower, truncation_end(s, follower, leader))
            s.fetch_offset[follower][leader] = s.log_end[follower]
            s.last_fetched_epoch[follower][leader] = last_epoch(s, follower)
            s.is_delayed[follower][leader] = False
        else:
            s.is_delayed[follower][leader] = True
    clear_message(s, follower, leader)

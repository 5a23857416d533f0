"""KIP-966, the brokers and their replicas: starting, metadata, requests to change the ISR, fetching, and writing."""

from isrcheck.models.language import NONE, action, require
from isrcheck.models.published.others.kip_966.controller import (
    forget_followers,
    forget_request,
    is_eligible,
    is_from_the_leader,
    refuse_pending,
    remove_partition,
)
from isrcheck.models.published.others.kip_966.state import (
    Broker,
    BrokerSet,
    Incarnations,
    IsrNumber,
    Offset,
    PartitionEpoch,
    Registration,
    Role,
    Start,
    Status,
    Value,
    is_offline,
    isr_size,
    known_leader,
    known_leader_epoch,
    last_epoch,
    leader_of,
    power_of_two,
    waits_for_the_controller,
    weight,
)

# ------------------------------------------------------------------------------------------------------------- starting


@action
def broker_starts(s, b: Broker):
    """BrokerStart: the broker asks to be registered, with the broker epoch that it has on file."""
    require(is_offline(s, b))
    s.status[b] = Status.STARTING
    s.registration[s.starts_so_far] = Registration.REQUESTED
    s.registration_broker[s.starts_so_far] = b
    s.registration_epoch[s.starts_so_far] = s.broker_epoch[b]
    s.starts_so_far += 1
    s.incarnation[b] = s.starts_so_far + 1


@action(shows="start {start}")
def broker_is_registered(s, start: Start):
    """ReceiveBrokerRegResponse: the broker runs; it has yet to replicate the last metadata record."""
    require(s.registration[start] == Registration.ANSWERED)
    require(s.status[s.registration_broker[start]] == Status.STARTING)
    require(s.incarnation[s.registration_broker[start]] == start + 2)
    b = s.registration_broker[start]
    s.status[b] = Status.RUNNING
    s.broker_epoch[b] = s.registration_epoch[start]
    s.position[b] = s.registration_position[start] - 1
    s.known_epoch[b] = 0
    for member in Broker:
        s.maximal_isr[b][member] = False
    s.registration[start] = Registration.NONE
    s.registration_broker[start] = 0
    s.registration_epoch[start] = 0
    s.registration_position[start] = 0


# --------------------------------------------------------------------------------------------------- the high watermark


def lags(s, b, member, end):
    """Whether a member lacks a record below `end`, as far as the leader knows; the leader itself lacks none."""
    return member != b and (s.follower_epoch[b][member] == 0 or s.follower_end[b][member] < end)


def committed_end(s, b, end):
    """The end up to which every member of the maximal ISR has the records, as far as the leader knows."""
    return max(
        (
            offset + 1
            for offset in Offset
            if offset < end
            and s.log_end[b] > 0
            and not any(lags(s, b, member, offset + 1) for member in Broker if s.maximal_isr[b][member])
        ),
        default=0,
    )


def advance_high_watermark(s, b, old, new):
    """Acknowledge what is committed; and if nobody was as far, consumers read it."""
    s.high_watermark[b] = new
    for offset in Offset:
        if old <= offset and offset < new:
            if s.first_written[b] != NONE and s.first_written[b] <= offset and not s.is_refused[s.log_value[b][offset]]:
                s.is_acknowledged[s.log_value[b][offset]] = True
            if s.true_high_watermark <= offset:
                s.consumed_epoch[offset] = s.log_epoch[b][offset]
                s.consumed_value[offset] = s.log_value[b][offset]
    s.true_high_watermark = max(s.true_high_watermark, new)


def maybe_advance_high_watermark(s, b, end):
    """Only a leader whose ISR has the minimum size advances: otherwise it may not know all who can lead."""
    if committed_end(s, b, end) > s.high_watermark[b] and isr_size(s, s.known_epoch[b]) >= s.min_isr:
        advance_high_watermark(s, b, s.high_watermark[b], committed_end(s, b, end))


# ------------------------------------------------------------------------------------------------------------- metadata


def adopt(s, b, epoch):
    s.known_epoch[b] = epoch
    for member in Broker:
        s.maximal_isr[b][member] = s.record_isr[epoch][member]


def renounce_leadership(s, b, epoch):
    if isr_size(s, epoch) < s.min_isr or s.record_leader[epoch] != b:
        refuse_pending(s, b)
    forget_followers(s, b)
    forget_request(s, b)
    s.first_written[b] = NONE
    s.epoch_start[b] = NONE


def fetch_from(s, b, leader):
    for other in Broker:
        remove_partition(s, b, other)
    s.is_added[b][leader] = True
    s.fetch_offset[b][leader] = s.log_end[b]
    s.last_fetched_epoch[b][leader] = last_epoch(s, b)


def remain_leader(s, b, epoch):
    adopt(s, b, epoch)
    maybe_advance_high_watermark(s, b, s.log_end[b])
    if epoch >= s.pending_epoch[b]:
        forget_request(s, b)


def become_leader(s, b, epoch):
    adopt(s, b, epoch)
    maybe_advance_high_watermark(s, b, s.log_end[b])
    s.epoch_start[b] = s.log_end[b]
    for other in Broker:
        # What the leader knew of followers outside the ISR is of an older leader epoch.
        if s.role[b] != Role.LEADER or not s.record_isr[epoch][other]:
            s.follower_end[b][other] = 0
            s.follower_epoch[b][other] = 0
    s.role[b] = Role.LEADER
    forget_request(s, b)
    for other in Broker:
        remove_partition(s, b, other)


def become_follower(s, b, epoch):
    if s.record_leader_epoch[epoch] > known_leader_epoch(s, b) or not s.is_added[b][s.record_leader[epoch]]:
        fetch_from(s, b, s.record_leader[epoch])
    s.role[b] = Role.FOLLOWER
    renounce_leadership(s, b, epoch)
    adopt(s, b, epoch)


def wait_for_leader(s, b, epoch):
    s.role[b] = Role.NONE
    for other in Broker:
        remove_partition(s, b, other)
    renounce_leadership(s, b, epoch)
    adopt(s, b, epoch)


@action(shows="{b} up to {epoch}")
def broker_learns_metadata(s, b: Broker, epoch: PartitionEpoch):
    """ReceiveMetadataUpdate: the broker replicates the metadata up to a record that concerns it, and acts on that."""
    require(s.status[b] == Status.RUNNING)
    require(epoch > s.position[b] and epoch <= s.partition_epoch)
    require(
        s.role[b] == Role.LEADER or s.known_epoch[b] == 0 or s.record_leader_epoch[epoch] > known_leader_epoch(s, b)
    )
    s.position[b] = epoch
    if epoch > s.known_epoch[b]:
        if s.record_leader[epoch] == b:
            if known_leader(s, b) == b and known_leader_epoch(s, b) == s.record_leader_epoch[epoch]:
                remain_leader(s, b, epoch)
            else:
                become_leader(s, b, epoch)
        elif s.record_leader[epoch] != NONE:
            become_follower(s, b, epoch)
        else:
            wait_for_leader(s, b, epoch)


# ------------------------------------------------------------------------------------------- requests to the controller


def is_caught_up(s, b, follower):
    """Whether a leader may add a follower to the ISR."""
    return (
        s.follower_epoch[b][follower] > 0
        and (not s.CHECKS_HIGH_WATERMARK or s.follower_end[b][follower] >= s.high_watermark[b])
        and (not s.CHECKS_LEADER_EPOCH_START or s.follower_end[b][follower] >= s.epoch_start[b])
    )


def is_proposed(s, b, member, timed_out):
    """A leader proposes an ISR of those members that have not timed out, and of those that have caught up."""
    return member == b or (not timed_out if s.record_isr[s.known_epoch[b]][member] else is_caught_up(s, b, member))


def joins(s, b, member):
    return member != b and not s.record_isr[s.known_epoch[b]][member] and is_caught_up(s, b, member)


def incarnations_that_join(s, b):
    return sum((s.follower_epoch[b][member] - 1) * weight(s, member) for member in Broker if joins(s, b, member))


def would_be_granted(s, epoch, isr, incarnations):
    return is_from_the_leader(s, epoch) and all(
        is_eligible(s, epoch, isr, incarnations, leader_of(s), member) for member in Broker
    )


@action(shows="{b} without {timed_out}")
def leader_proposes_isr(s, b: Broker, timed_out: BrokerSet):
    """SendAlterPartitionRequest. A request that was sent before is only repeated if it will be granted."""
    require(s.status[b] == Status.RUNNING)
    require(s.role[b] == Role.LEADER)
    require(not waits_for_the_controller(s, b))
    require(
        all(
            not timed_out[member]
            or (member != b and s.record_isr[s.known_epoch[b]][member] and s.isr_shrinks_so_far < s.isr_shrinks)
            for member in Broker
        )
    )
    require(any(timed_out[member] or joins(s, b, member) for member in Broker))
    isr = sum(power_of_two(member) for member in Broker if is_proposed(s, b, member, timed_out[member]))
    incarnations = incarnations_that_join(s, b)
    epoch = s.known_epoch[b]
    require(not s.was_requested[epoch][isr][incarnations] or would_be_granted(s, epoch, isr, incarnations))
    s.request_epoch[epoch] = s.broker_epoch[b]
    s.was_requested[epoch][isr][incarnations] = True
    s.is_requested[epoch][isr][incarnations] = True
    for member in Broker:
        if joins(s, b, member):
            s.maximal_isr[b][member] = True
    for member in Broker:
        if s.record_isr[epoch][member]:
            s.maximal_isr[b][member] = True
    s.pending_epoch[b] = epoch + 1
    s.pending_isr[b] = isr
    s.pending_incarnations[b] = incarnations
    if any(timed_out[member] for member in Broker):
        s.isr_shrinks_so_far += 1


def is_pending(s, b, isr, incarnations):
    return (
        s.status[b] == Status.RUNNING
        and s.role[b] == Role.LEADER
        and waits_for_the_controller(s, b)
        and s.pending_isr[b] == isr
        and s.pending_incarnations[b] == incarnations
    )


@action(shows="{b}, ISR {isr}, incarnations {incarnations}")
def leader_learns_isr(s, b: Broker, isr: IsrNumber, incarnations: Incarnations):
    """ReceiveAlterPartitionResponse of a request that was granted"""
    require(is_pending(s, b, isr, incarnations))
    require(s.is_granted[s.pending_epoch[b] - 1][isr][incarnations])
    require(s.record_leader_epoch[s.pending_epoch[b]] == known_leader_epoch(s, b))
    s.is_granted[s.pending_epoch[b] - 1][isr][incarnations] = False
    adopt(s, b, s.pending_epoch[b])
    maybe_advance_high_watermark(s, b, s.log_end[b])
    forget_request(s, b)


def roll_back_request(s, b):
    adopt(s, b, s.known_epoch[b])
    maybe_advance_high_watermark(s, b, s.log_end[b])
    forget_request(s, b)


@action(shows="{b}, ISR {isr}, incarnations {incarnations}")
def leader_is_refused_as_fenced(s, b: Broker, isr: IsrNumber, incarnations: Incarnations):
    """ReceiveAlterPartitionResponse with the error FencedLeaderEpoch"""
    require(is_pending(s, b, isr, incarnations))
    require(s.is_refused_as_fenced[s.pending_epoch[b] - 1][isr][incarnations])
    s.is_refused_as_fenced[s.pending_epoch[b] - 1][isr][incarnations] = False
    roll_back_request(s, b)


@action(shows="{b}, ISR {isr}, incarnations {incarnations}")
def leader_is_refused_as_ineligible(s, b: Broker, isr: IsrNumber, incarnations: Incarnations):
    """ReceiveAlterPartitionResponse with the error IneligibleReplica"""
    require(is_pending(s, b, isr, incarnations))
    require(s.is_refused_as_ineligible[s.pending_epoch[b] - 1][isr][incarnations])
    s.is_refused_as_ineligible[s.pending_epoch[b] - 1][isr][incarnations] = False
    roll_back_request(s, b)


# -------------------------------------------------------------------------------------------------------------- writing


@action(shows="{value} to {b}")
def leader_writes(s, b: Broker, value: Value):
    """WriteRecordToLeader: the leader appends a record if its maximal ISR has the minimum size."""
    require(not s.was_sent[value])
    require(s.status[b] == Status.RUNNING)
    require(s.role[b] == Role.LEADER)
    require(sum(1 for member in Broker if s.maximal_isr[b][member]) >= s.min_isr)
    offset = s.log_end[b]
    maybe_advance_high_watermark(s, b, offset)
    s.log_epoch[b][offset] = known_leader_epoch(s, b)
    s.log_value[b][offset] = value
    s.log_end[b] = offset + 1
    s.was_sent[value] = True
    if s.first_written[b] == NONE:
        s.first_written[b] = offset

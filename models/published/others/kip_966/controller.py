"""KIP-966, the controller: registration, fencing, elections from the ISR and the ELR, and requests of leaders."""

from isrcheck.models.language import NONE, action, require
from isrcheck.models.published.others.kip_966.state import (
    Broker,
    Change,
    Choice,
    Incarnations,
    IsrNumber,
    Offset,
    PartitionEpoch,
    Registration,
    Role,
    Start,
    Status,
    added_epoch,
    is_in,
    is_offline,
    leader_of,
)

# -------------------------------------------------------------------- what a change of a broker means for the partition


def stays_in_isr(s, change, b, member):
    """The ISR after a change of broker `b`: unless it is unfenced, it leaves, even if that leaves nobody."""
    return s.record_isr[s.partition_epoch][member] and (change == Change.UNFENCED or member != b)


def next_isr_size(s, change, b):
    return sum(1 for member in Broker if stays_in_isr(s, change, b, member))


def is_next_elr(s, change, b, member):
    """The ELR after a change of broker `b`. Who leaves an ISR below the minimum is eligible, unless it is unclean."""
    if change == Change.FENCED:
        return next_isr_size(s, change, b) < s.min_isr and (
            s.record_elr[s.partition_epoch][member] or (member == b and s.record_isr[s.partition_epoch][b])
        )
    return s.record_elr[s.partition_epoch][member] and (change == Change.UNFENCED or member != b)


def can_lead_from_elr(s, change, b, candidate):
    """An eligible leader that is not fenced."""
    return is_next_elr(s, change, b, candidate) and (
        change != Change.FENCED if candidate == b else s.is_unfenced[candidate]
    )


def has_candidate(s, change, b):
    return any(can_lead_from_elr(s, change, b, candidate) for candidate in Broker)


def keeps_leader(s, change, b):
    """The leader stays in the ISR; or there is none, and nobody to elect."""
    if leader_of(s) == NONE:
        return next_isr_size(s, change, b) == 0 and not has_candidate(s, change, b)
    return stays_in_isr(s, change, b, leader_of(s))


def changes_partition(s, change, b):
    return not keeps_leader(s, change, b) or any(
        stays_in_isr(s, change, b, member) != s.record_isr[s.partition_epoch][member]
        or is_next_elr(s, change, b, member) != s.record_elr[s.partition_epoch][member]
        for member in Broker
    )


def may_elect(s, change, b, candidate):
    """The candidates of the election that the change needs; if it needs none, `b` stands for nobody."""
    if keeps_leader(s, change, b):
        return candidate == b
    if next_isr_size(s, change, b) > 0:
        return stays_in_isr(s, change, b, candidate)
    if has_candidate(s, change, b):
        return can_lead_from_elr(s, change, b, candidate)
    return candidate == b


def elects(s, change, b):
    return not keeps_leader(s, change, b) and (next_isr_size(s, change, b) > 0 or has_candidate(s, change, b))


def writes_last_known_elr(s):
    """Who was eligible before the last record, and is not any more, may be the last hope; an ISR of the minimum size
    needs none. The record before the last one is that of the epoch before."""
    size = sum(1 for member in Broker if s.record_isr[s.partition_epoch][member])
    for member in Broker:
        s.record_last_known_elr[s.partition_epoch][member] = size < s.min_isr and (
            s.record_last_known_elr[s.partition_epoch - 1][member]
            or (s.record_elr[s.partition_epoch - 1][member] and not s.record_elr[s.partition_epoch][member])
        )


def write_change(s, change, b, candidate):
    """Append the metadata record of a change; the first one below reads the state before it."""
    following = s.partition_epoch + 1
    is_election = elects(s, change, b)
    from_elr = is_election and next_isr_size(s, change, b) == 0
    leader = leader_of(s)
    if is_election:
        leader = candidate
    elif not keeps_leader(s, change, b):
        leader = NONE
    s.record_leader[following] = leader
    s.record_leader_epoch[following] = s.record_leader_epoch[s.partition_epoch] + (
        0 if keeps_leader(s, change, b) else 1
    )
    for member in Broker:
        s.record_isr[following][member] = stays_in_isr(s, change, b, member) or (from_elr and member == candidate)
        s.record_elr[following][member] = is_next_elr(s, change, b, member) and not (from_elr and member == candidate)
    s.partition_epoch = following
    writes_last_known_elr(s)


def apply_change(s, change, b, candidate):
    if changes_partition(s, change, b):
        write_change(s, change, b, candidate)
    s.is_unfenced[b] = change != Change.FENCED


# --------------------------------------------------------------------------------------------------- fencing, unfencing


@action(shows="{b}, elects {candidate}")
def controller_fences(s, b: Broker, candidate: Broker):
    """FenceBroker: the controller misses heartbeats of a broker."""
    require(s.fencings_so_far < s.fencings)
    require(s.is_unfenced[b])
    require(may_elect(s, Change.FENCED, b, candidate))
    apply_change(s, Change.FENCED, b, candidate)
    s.fencings_so_far += 1


def unfencing_matters(s):
    """A partition with a leader does not change."""
    return leader_of(s) == NONE


@action(shows="{b}, elects {candidate}")
def controller_unfences(s, b: Broker, candidate: Broker):
    """UnfenceBroker: a running broker is heard from again."""
    require(not s.is_unfenced[b])
    require(s.status[b] == Status.RUNNING)
    require(may_elect(s, Change.UNFENCED, b, candidate) if unfencing_matters(s) else candidate == b)
    if unfencing_matters(s):
        apply_change(s, Change.UNFENCED, b, candidate)
    s.is_unfenced[b] = True


@action(shows="start {start}, elects {candidate}")
def controller_registers(s, start: Start, candidate: Broker):
    """ReceiveBrokerRegRequest: a broker without an epoch on file has shut down uncleanly, and leaves ISR and ELR."""
    require(s.registration[start] == Registration.REQUESTED)
    require(
        not s.is_unfenced[s.registration_broker[start]]
        or s.registered_incarnation[s.registration_broker[start]] == start + 2
    )
    require(
        may_elect(s, Change.UNCLEAN, s.registration_broker[start], candidate)
        if s.registration_epoch[start] == 0
        else may_elect(s, Change.UNFENCED, s.registration_broker[start], candidate)
        if unfencing_matters(s)
        else candidate == s.registration_broker[start]
    )
    b = s.registration_broker[start]
    # As in the original, this is the last record before those that the registration itself causes.
    s.registration_position[start] = s.partition_epoch
    if s.registration_epoch[start] == 0:
        apply_change(s, Change.UNCLEAN, b, candidate)
    elif unfencing_matters(s):
        apply_change(s, Change.UNFENCED, b, candidate)
    s.is_unfenced[b] = True
    s.registrations_so_far += 1
    s.registered_epoch[b] = s.registrations_so_far + 1
    s.registered_incarnation[b] = start + 2
    s.registration[start] = Registration.ANSWERED
    s.registration_epoch[start] = s.registrations_so_far + 1


# ----------------------------------------------------------------------------------------------- requests of the leader


def is_eligible(s, epoch, isr, incarnations, leader, member):
    """A member of the proposed ISR is not fenced; one that is added fetched in its present incarnation."""
    return not is_in(isr, member) or (
        s.is_unfenced[member]
        and (
            s.record_isr[epoch][member]
            or member == leader
            or not s.CHECKS_BROKER_EPOCH
            or added_epoch(s, incarnations, member) == s.registered_epoch[member]
        )
    )


def is_from_the_leader(s, epoch):
    """The request is of the present leader, in its present incarnation, and knows the last state of the partition."""
    return (
        epoch == s.partition_epoch
        and leader_of(s) != NONE
        and s.request_epoch[epoch] == s.registered_epoch[leader_of(s)]
    )


@action(shows="of epoch {epoch}: ISR {isr}, incarnations {incarnations}")
def controller_changes_isr(s, epoch: PartitionEpoch, isr: IsrNumber, incarnations: Incarnations):
    """ReceiveAlterPartitionRequest"""
    require(s.is_requested[epoch][isr][incarnations])
    s.is_requested[epoch][isr][incarnations] = False
    if not is_from_the_leader(s, epoch):
        s.is_refused_as_fenced[epoch][isr][incarnations] = True
    elif not all(is_eligible(s, epoch, isr, incarnations, leader_of(s), member) for member in Broker):
        s.is_refused_as_ineligible[epoch][isr][incarnations] = True
    else:
        s.is_granted[epoch][isr][incarnations] = True
        size = sum(1 for member in Broker if is_in(isr, member))
        for member in Broker:
            s.record_isr[epoch + 1][member] = is_in(isr, member)
            s.record_elr[epoch + 1][member] = size < s.min_isr and (
                s.record_elr[epoch][member] or (s.record_isr[epoch][member] and not is_in(isr, member))
            )
        s.record_leader[epoch + 1] = s.record_leader[epoch]
        s.record_leader_epoch[epoch + 1] = s.record_leader_epoch[epoch]
        s.partition_epoch += 1
        writes_last_known_elr(s)


# ---------------------------------------------------------------------- shutdowns, which the controller notices at once


def refuse_pending(s, b):
    """Producers of records that are not committed yet get an error."""
    for offset in Offset:
        if (
            s.high_watermark[b] <= offset
            and offset < s.log_end[b]
            and s.first_written[b] != NONE
            and s.first_written[b] <= offset
            and not s.is_acknowledged[s.log_value[b][offset]]
        ):
            s.is_refused[s.log_value[b][offset]] = True


def forget_followers(s, b):
    for other in Broker:
        s.follower_end[b][other] = 0
        s.follower_epoch[b][other] = 0


def forget_request(s, b):
    s.pending_epoch[b] = 0
    s.pending_isr[b] = 0
    s.pending_incarnations[b] = 0


def clear_message(s, follower, leader):
    s.fetch[follower][leader] = 0
    s.sent_leader_epoch[follower][leader] = 0
    s.sent_offset[follower][leader] = 0
    s.sent_epoch[follower][leader] = 0
    s.sent_broker_epoch[follower][leader] = 0
    s.sent_high_watermark[follower][leader] = 0
    s.sent_end[follower][leader] = 0
    s.sent_value[follower][leader] = NONE


def remove_partition(s, follower, leader):
    s.is_added[follower][leader] = False
    s.fetch_offset[follower][leader] = 0
    s.last_fetched_epoch[follower][leader] = 0
    s.is_delayed[follower][leader] = False


def drop_fetch_sessions(s, b):
    """What is on the way from and to a broker that goes down is lost; who waits for it, waits no longer."""
    for other in Broker:
        clear_message(s, b, other)
        clear_message(s, other, b)
        remove_partition(s, b, other)
        s.waits_for_response[b][other] = False
    for other in Broker:
        if s.waits_for_response[other][b]:
            s.waits_for_response[other][b] = False
            s.is_delayed[other][b] = s.is_added[other][b]


def goes_down(s, b, candidate):
    """What both kinds of shutdown have in common."""
    drop_fetch_sessions(s, b)
    if s.role[b] == Role.LEADER:
        refuse_pending(s, b)
    s.role[b] = Role.NONE
    forget_followers(s, b)
    forget_request(s, b)
    s.first_written[b] = NONE
    s.incarnation[b] = 0
    apply_change(s, Change.FENCED, b, candidate)


@action(shows="{b}, elects {candidate}")
def broker_loses_its_log(s, b: Broker, candidate: Broker):
    """DataLossShutdown: an unclean shutdown that loses the whole log, and the broker epoch on file."""
    require(s.lossy_shutdowns_so_far < s.lossy_shutdowns)
    require(not is_offline(s, b))
    require(may_elect(s, Change.FENCED, b, candidate))
    goes_down(s, b, candidate)
    s.status[b] = Status.OFFLINE_DIRTY
    s.broker_epoch[b] = 0
    for offset in Offset:
        s.log_epoch[b][offset] = 0
        s.log_value[b][offset] = NONE
    s.log_end[b] = 0
    s.high_watermark[b] = 0
    s.epoch_start[b] = NONE
    s.lossy_shutdowns_so_far += 1


@action(shows="{b}, clean {is_clean}, elects {candidate}")
def broker_shuts_down(s, b: Broker, is_clean: Choice, candidate: Broker):
    """NoDataLossShutdown: the log stays whole; only a clean shutdown leaves the broker epoch on file."""
    require(s.lossless_shutdowns_so_far < s.lossless_shutdowns)
    require(not is_offline(s, b))
    require(may_elect(s, Change.FENCED, b, candidate))
    goes_down(s, b, candidate)
    s.status[b] = Status.OFFLINE_CLEAN
    if is_clean == 0:
        s.broker_epoch[b] = 0
    s.lossless_shutdowns_so_far += 1

"""KIP-966, eligible leader replicas, as Jack Vanlightly has specified it.

After kafka_data_replication/kraft/kip-966 of github.com/Vanlightly/kafka-tlaplus (commit 823615e8, 2025-01-24). An ISR
may become empty. A broker that leaves an ISR which is then below the minimum becomes an eligible leader replica (ELR),
and only an ISR of the minimum size commits. The author reports no counts, since there are too many states. He reports
that the invariants of the model file hold, that NoCommittedRecordLostGlobally fails once min.insync.replicas logs are
lost, and that TLC finds a counterexample if a condition marked CHECK is removed. Three of these are switches here.

The model has every state and step of the original, with offsets counted from 0 and as many replicas as brokers. But a
metadata record is identified by its partition epoch, so that a broker's copy of the metadata log is a position, and
MetadataLogMatchingProperty is true by construction. At most one fetch is on the way between two brokers. A request to
change the ISR is identified by the partition epoch at which it was sent, the proposed ISR, and the broker epochs of the
replicas that join. A broker epoch is the number of a registration. As in the original, `is_delayed` is set after an
error and never read: a follower asks again at once. The model has no reassignments (ReassignmentLimit = 0, as in the
model file), no liveness, and no minimum ISR of 1.

Each point says what Kafka 4.1 does (org.apache.kafka.controller, kafka.cluster.Partition), then what differs here:

- A broker that registers stays fenced until its heartbeats show that it has caught up with the metadata. Here it is
  unfenced, and may be elected, as soon as it registers. Heartbeats and controlled shutdowns are left out.
- The controller notices an unclean shutdown because the broker sends another broker epoch than the controller has
  recorded. Here the broker sends no broker epoch.
- The controller elects the first valid replica in the order of the assignment. Here it elects any valid replica.
- While the ISR is below the minimum, a member of the ELR that joins the ISR leaves the ELR. Here it stays in the ELR;
  this makes a difference only with a minimum of at least 3.
- The last known ELR is one replica: the last leader, which is elected if ISR and ELR are empty. Here it is the set of
  all brokers that were removed from the ELR, and no broker is elected from it: the recovery that compares logs is not
  specified, and Kafka has not implemented it.
- A record is appended only if the committed ISR has the minimum size; the maximal ISR decides on acknowledgements.
  Here the maximal ISR decides on appending.
- The high watermark also waits for a replica outside the maximal ISR that is caught up and may join. A truncation
  lowers the high watermark of a follower to the end of its log. Here the high watermark does neither.
"""

from enum import IntEnum

from isrcheck.models.language import (
    NONE,
    Domain,
    Flag,
    Subset,
    action,
    always,
    between,
    bound,
    budget,
    contradiction,
    field,
    initial,
    optional,
    require,
    sometimes,
    switch,
    terminal,
)


class Configuration:
    brokers = bound(2, "brokers, each with a replica (BrokerCount, InitReplicationFactor)", least=2, most=4)
    values = bound(1, "records that producers can write (Values)", least=1)
    min_isr = bound(2, "min.insync.replicas (MinISR)", least=2)
    initial_isr = bound(2, "replicas in the ISR at first (InitIsrSize)", least=2)
    lossless_shutdowns = budget(0, "shutdowns that keep the log (NoDataLossShutdownLimit)", most=4, shapes=True)
    lossy_shutdowns = budget(1, "shutdowns that lose the log (DataLossShutdownLimit)", most=4, shapes=True)
    fencings = budget(0, "how often the controller fences a running broker (FenceBrokerLimit)", most=4, shapes=True)
    isr_shrinks = budget(0, "requests of leaders that shrink the ISR (LeaderShrinkIsrLimit)", most=4, shapes=True)
    CHECKS_BROKER_EPOCH = switch(True, "a replica joins the ISR only in the incarnation in which it fetched")
    CHECKS_HIGH_WATERMARK = switch(True, "a replica joins the ISR only if it has fetched up to the high watermark")
    CHECKS_LEADER_EPOCH_START = switch(True, "a replica joins the ISR only if it has all of the leader's first log")


@contradiction
def isr_sizes_do_not_fit(configuration):
    """initial_isr must be at least min_isr, and at most the number of brokers"""
    return not configuration.min_isr <= configuration.initial_isr <= configuration.brokers


def shutdowns_of(configuration):
    return configuration.lossless_shutdowns + configuration.lossy_shutdowns


def last_partition_epoch(configuration):
    """The largest partition epoch that behaviours can reach; the search reports a larger one as a range error."""
    return (
        2
        + 3 * (configuration.fencings + shutdowns_of(configuration))
        + 2 * configuration.isr_shrinks
        + configuration.brokers
        - configuration.initial_isr
    )


MOST_REQUESTS = 700
"""The most different requests to change the ISR that a configuration may have; each takes five bits of every state.
With the sizes of the original's model file there are 640."""


@contradiction
def requests_are_too_many(configuration):
    """with this many brokers and faults, there are more requests to change the ISR than a state should hold; lower the
    number of brokers or faults"""
    sets = 2**configuration.brokers * (shutdowns_of(configuration) + 1) ** configuration.brokers
    return sets * (last_partition_epoch(configuration) + 1) > MOST_REQUESTS


class Broker(Domain, size="brokers"):
    """A broker, and its replica. At first, broker 0 leads."""


class BrokerSet(Subset, of=Broker):
    pass


class Value(Domain, size="values", letters=True):
    pass


class Offset(Domain, size="values"):
    pass


class PartitionEpoch(Domain, size=lambda configuration: last_partition_epoch(configuration) + 1):
    """The number of a metadata record; 0 for a broker that has no record of the partition yet."""


class Start(Domain, size=lambda configuration: max(1, shutdowns_of(configuration))):
    """The number of a broker's start after a shutdown, counted over all brokers; each start has a registration."""


class IsrNumber(Domain, size=lambda configuration: 2**configuration.brokers):
    """The ISR that a leader's request proposes: a set of brokers, as a number whose bits are the brokers."""


class Incarnations(Domain, size=lambda configuration: (shutdowns_of(configuration) + 1) ** configuration.brokers):
    """The broker epochs of the replicas that a request adds to the ISR, as the digits of one number (see `weight`)."""


class Choice(Domain, size=2):
    pass


class Status(IntEnum):
    RUNNING = 0
    STARTING = 1
    OFFLINE_CLEAN = 2
    OFFLINE_DIRTY = 3


class Role(IntEnum):
    NONE = 0
    FOLLOWER = 1
    LEADER = 2


class Registration(IntEnum):
    NONE = 0
    REQUESTED = 1
    ANSWERED = 2


class Fetch(IntEnum):
    """The message on the way between a follower and a leader: no message, a fetch request, or a response."""

    NONE = 0
    REQUEST = 1
    RECORDS = 2
    DIVERGING = 3
    NOT_LEADER = 4
    UNKNOWN_EPOCH = 5
    FENCED_EPOCH = 6


class Change(IntEnum):
    """A change of a broker, as the controller sees it: the broker is fenced, unfenced, or was shut down uncleanly."""

    FENCED = 0
    UNFENCED = 1
    UNCLEAN = 2


EPOCH = between(0, last_partition_epoch)
BROKER_EPOCH = between(0, lambda configuration: shutdowns_of(configuration) + 1)
"""The values of a broker epoch. 0: none; 1: the epoch of the first incarnation; 1 + k: the epoch of the k-th
registration after a shutdown."""
END = between(0, "values")


class State:
    # The controller; metadata record e is the e-th state of the partition, the last one the current one.
    partition_epoch = field(values=EPOCH)
    record_leader = field(PartitionEpoch, values=optional(Broker), initially=NONE)
    record_leader_epoch = field(PartitionEpoch, values=EPOCH)
    record_isr = field(PartitionEpoch, Broker, values=Flag)
    record_elr = field(PartitionEpoch, Broker, values=Flag)
    record_last_known_elr = field(PartitionEpoch, Broker, values=Flag)
    is_unfenced = field(Broker, values=Flag)
    registered_epoch = field(Broker, values=BROKER_EPOCH, initially=1)
    registered_incarnation = field(Broker, values=BROKER_EPOCH, initially=1)
    # The brokers
    status = field(Broker, values=Status)
    broker_epoch = field(Broker, values=BROKER_EPOCH, initially=1)
    incarnation = field(Broker, values=BROKER_EPOCH, initially=1)
    position = field(Broker, values=EPOCH)  # how far the broker has replicated the metadata
    is_added = field(Broker, Broker, values=Flag)  # [follower][leader]: the fetcher has the partition
    fetch_offset = field(Broker, Broker, values=END)
    last_fetched_epoch = field(Broker, Broker, values=EPOCH)
    is_delayed = field(Broker, Broker, values=Flag)
    waits_for_response = field(Broker, Broker, values=Flag)
    # The replicas
    role = field(Broker, values=Role)
    known_epoch = field(Broker, values=EPOCH)  # the metadata record that the replica acts on
    maximal_isr = field(Broker, Broker, values=Flag)
    log_epoch = field(Broker, Offset, values=EPOCH)
    log_value = field(Broker, Offset, values=optional(Value), initially=NONE)
    log_end = field(Broker, values=END)
    high_watermark = field(Broker, values=END)
    epoch_start = field(Broker, values=between(NONE, "values"), initially=NONE)
    follower_end = field(Broker, Broker, values=END)
    follower_epoch = field(Broker, Broker, values=BROKER_EPOCH)  # 0: no fetch request yet
    pending_epoch = field(Broker, values=EPOCH)
    pending_isr = field(Broker, values=IsrNumber)
    pending_incarnations = field(Broker, values=Incarnations)
    # Messages
    registration = field(Start, values=Registration)
    registration_broker = field(Start, values=Broker)
    registration_epoch = field(Start, values=BROKER_EPOCH)
    registration_position = field(Start, values=EPOCH)
    request_epoch = field(PartitionEpoch, values=BROKER_EPOCH)  # of the leader that sends requests in this epoch
    was_requested = field(PartitionEpoch, IsrNumber, Incarnations, values=Flag)
    is_requested = field(PartitionEpoch, IsrNumber, Incarnations, values=Flag)
    is_granted = field(PartitionEpoch, IsrNumber, Incarnations, values=Flag)
    is_refused_as_fenced = field(PartitionEpoch, IsrNumber, Incarnations, values=Flag)
    is_refused_as_ineligible = field(PartitionEpoch, IsrNumber, Incarnations, values=Flag)
    fetch = field(Broker, Broker, values=Fetch)  # [follower][leader], as the next ones
    sent_leader_epoch = field(Broker, Broker, values=EPOCH)
    sent_offset = field(Broker, Broker, values=END)
    sent_epoch = field(Broker, Broker, values=EPOCH)  # last fetched epoch; of the record, or of the diverging epoch
    sent_broker_epoch = field(Broker, Broker, values=BROKER_EPOCH)
    sent_high_watermark = field(Broker, Broker, values=END)
    sent_end = field(Broker, Broker, values=END)  # end of the diverging epoch
    sent_value = field(Broker, Broker, values=optional(Value), initially=NONE)
    # What bounds the state space, and what properties are about
    starts_so_far = field(values=BROKER_EPOCH)
    registrations_so_far = field(values=BROKER_EPOCH)
    lossless_shutdowns_so_far = field(values=between(0, "lossless_shutdowns"))
    lossy_shutdowns_so_far = field(values=between(0, "lossy_shutdowns"))
    fencings_so_far = field(values=between(0, "fencings"))
    isr_shrinks_so_far = field(values=between(0, lambda configuration: configuration.isr_shrinks + 1))
    first_written = field(Broker, values=optional(Offset), initially=NONE)
    was_sent = field(Value, values=Flag)
    is_acknowledged = field(Value, values=Flag)
    is_refused = field(Value, values=Flag)
    true_high_watermark = field(values=END)
    consumed_epoch = field(Offset, values=EPOCH)
    consumed_value = field(Offset, values=optional(Value), initially=NONE)


# --------------------------------------------------------------------------------------------------- vocabulary of sets


def power_of_two(b):
    return 1 if b == 0 else 2 if b == 1 else 4 if b == 2 else 8


def is_in(number, b):
    """Whether broker `b` is in the set that `number` stands for: bit `b` is 1."""
    return (number // max(1, power_of_two(b))) % 2 == 1


def weight(s, b):
    """The place value of broker `b`'s digit in a number of the domain `Incarnations`."""
    base = s.lossless_shutdowns + s.lossy_shutdowns + 1
    return 1 if b == 0 else base if b == 1 else base * base if b == 2 else base * base * base


def added_epoch(s, incarnations, b):
    """The broker epoch of replica `b` in `incarnations`, the broker epochs of the replicas that a request adds."""
    return (incarnations // max(1, weight(s, b))) % max(1, s.lossless_shutdowns + s.lossy_shutdowns + 1) + 1


def isr_size(s, epoch):
    return sum(1 for b in Broker if s.record_isr[epoch][b])


# ------------------------------------------------------------------------------------------------ vocabulary of brokers


def is_offline(s, b):
    return s.status[b] >= Status.OFFLINE_CLEAN


def leader_of(s):
    """The leader in the controller's current metadata record, or NONE if the partition has no leader."""
    return s.record_leader[s.partition_epoch]


def known_leader(s, b):
    return s.record_leader[s.known_epoch[b]]


def known_leader_epoch(s, b):
    return s.record_leader_epoch[s.known_epoch[b]]


def waits_for_the_controller(s, b):
    """Leader `b` has sent a request to change the ISR, and has not learned yet whether it was granted."""
    return s.pending_epoch[b] > s.known_epoch[b]


def is_current_leader(s, b):
    return s.role[b] == Role.LEADER and known_leader_epoch(s, b) == s.record_leader_epoch[s.partition_epoch]


def last_epoch(s, b):
    """The epoch of the last record in the log of broker `b`; 0 if the log is empty."""
    return s.log_epoch[b][s.log_end[b] - 1] if s.log_end[b] > 0 else 0


def has_value(s, b, value):
    return any(s.log_value[b][offset] == value for offset in Offset)


# ------------------------------------------------------------------------------------------------------------- starting


@action
def broker_starts(s, b: Broker):
    """BrokerStart: the broker asks to be registered, and sends the broker epoch that it has stored."""
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
    """Whether `member` lacks a record below `end`, as far as leader `b` knows; the leader itself lacks none."""
    return member != b and (s.follower_epoch[b][member] == 0 or s.follower_end[b][member] < end)


def committed_end(s, b, end):
    """The offset, at most `end`, below which every member of the maximal ISR has the records, as far as `b` knows."""
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
    """Raise the high watermark to `new`: acknowledge records from `old` on; consumers read all records below `new`."""
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
    """Raise the high watermark if the ISR has the minimum size; a smaller ISR may lack brokers that can be elected."""
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
        # The leader's knowledge of followers outside the ISR is of an older leader epoch.
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
    """ReceiveMetadataUpdate: the broker replicates the metadata up to a record that concerns it, and applies it."""
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
    """Whether leader `b` regards `follower` as caught up, and so may add it to the ISR."""
    return (
        s.follower_epoch[b][follower] > 0
        and (not s.CHECKS_HIGH_WATERMARK or s.follower_end[b][follower] >= s.high_watermark[b])
        and (not s.CHECKS_LEADER_EPOCH_START or s.follower_end[b][follower] >= s.epoch_start[b])
    )


def is_proposed(s, b, member, timed_out):
    """Whether leader `b` puts `member` into the ISR that it proposes: itself, the members that have not timed out, and
    the followers that have caught up."""
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
    """SendAlterPartitionRequest: the leader proposes an ISR. It sends an earlier request again only if the controller
    will grant it now."""
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
    """ReceiveAlterPartitionResponse: the leader learns that its request to change the ISR was granted."""
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
    """ReceiveAlterPartitionResponse: the leader learns that its request got the error FencedLeaderEpoch."""
    require(is_pending(s, b, isr, incarnations))
    require(s.is_refused_as_fenced[s.pending_epoch[b] - 1][isr][incarnations])
    s.is_refused_as_fenced[s.pending_epoch[b] - 1][isr][incarnations] = False
    roll_back_request(s, b)


@action(shows="{b}, ISR {isr}, incarnations {incarnations}")
def leader_is_refused_as_ineligible(s, b: Broker, isr: IsrNumber, incarnations: Incarnations):
    """ReceiveAlterPartitionResponse: the leader learns that its request got the error IneligibleReplica."""
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


# ----------------------------------- fetching: requests of followers, the answers of leaders, divergence and truncation


def has_converged(s, leader, follower):
    """Whether the follower has nothing to fetch or report. As in the original, it then sends no request."""
    return (
        s.log_end[leader] == s.log_end[follower]
        and s.high_watermark[leader] == s.high_watermark[follower]
        and s.follower_epoch[leader][follower] > 0
        and s.follower_end[leader][follower] == s.log_end[follower]
        and s.follower_epoch[leader][follower] == s.broker_epoch[follower]
    )


@action(shows="{follower} from {leader}")
def follower_sends_fetch(s, follower: Broker, leader: Broker):
    """SendFetchRequest: the follower sends a fetch request to the leader."""
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
    """Whether `epoch` has no end yet in the log of `b`: the log is empty, its last entry is of `epoch`, or `b` leads in
    `epoch`. `leads` says whether the caller regards `b` as a leader."""
    return s.log_end[b] == 0 or epoch == last_epoch(s, b) or (leads and known_leader_epoch(s, b) == epoch)


def floor_epoch(s, b, epoch):
    """The highest epoch in the log of `b` that is at most `epoch`; `epoch` itself if the log has no such epoch."""
    found = max(
        (s.log_epoch[b][offset] for offset in Offset if offset < s.log_end[b] and s.log_epoch[b][offset] <= epoch),
        default=NONE,
    )
    return epoch if found == NONE else found


def start_above(s, b, epoch):
    """The first offset in the log of `b` with an epoch above `epoch`; the end of the log if it has no such epoch."""
    return min(
        (offset for offset in Offset if offset < s.log_end[b] and s.log_epoch[b][offset] > epoch),
        default=s.log_end[b],
    )


def end_of_epoch(s, b, epoch, leads):
    """LastOffsetForEpoch: the offset after the last entry of `epoch`, or of an earlier epoch, in the log of `b`."""
    return s.log_end[b] if is_open_epoch(s, b, epoch, leads) else start_above(s, b, epoch)


def answered_epoch(s, b, epoch, leads):
    """LastOffsetForEpoch: the epoch whose end is `end_of_epoch`: `epoch`, or the next lower one in the log of `b`."""
    return epoch if is_open_epoch(s, b, epoch, leads) else floor_epoch(s, b, epoch)


def diverges(s, leader, follower):
    """The last entry that the follower has fetched is not in the leader's log."""
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
    """The leader notes the fetch offset as the follower's log end, and sends the record at this offset, if any."""
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
    """ReceiveFetchRequest: the leader answers a fetch request with an error, a diverging epoch, or records."""
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
    """The offset at which the follower truncates. If its log has the epoch in the leader's answer, it is the end of
    this epoch in the log of one of the two, whichever is lower; else the end of the follower's next lower epoch."""
    end = end_of_epoch(s, follower, s.sent_epoch[follower][leader], False)
    if answered_epoch(s, follower, s.sent_epoch[follower][leader], False) != s.sent_epoch[follower][leader]:
        return end
    return min(end, s.sent_end[follower][leader])


def truncate(s, follower, end):
    """Cut the follower's log at `end`. The high watermark stays, even if it is then above the end of the log."""
    for offset in Offset:
        if offset >= end:
            s.log_epoch[follower][offset] = 0
            s.log_value[follower][offset] = NONE
    s.log_end[follower] = end


def append_record(s, follower, leader):
    """Append the answer's record, if it has one, and adopt the answer's high watermark if the log reaches it."""
    if s.sent_value[follower][leader] != NONE:
        s.log_epoch[follower][s.log_end[follower]] = s.sent_epoch[follower][leader]
        s.log_value[follower][s.log_end[follower]] = s.sent_value[follower][leader]
        s.last_fetched_epoch[follower][leader] = s.sent_epoch[follower][leader]
        s.log_end[follower] += 1
    if s.sent_high_watermark[follower][leader] <= s.log_end[follower]:
        s.high_watermark[follower] = s.sent_high_watermark[follower][leader]


def is_expected(s, follower, leader):
    """Whether the answer fits the follower's present fetch: it has the same leader, offset and leader epoch."""
    return (
        s.is_added[follower][leader]
        and s.fetch_offset[follower][leader] == s.sent_offset[follower][leader]
        and known_leader_epoch(s, follower) == s.sent_leader_epoch[follower][leader]
    )


@action(shows="{follower} from {leader}")
def follower_receives_fetch(s, follower: Broker, leader: Broker):
    """ReceiveFetchResponse: the follower receives the answer to its fetch."""
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


# -------------------------------------------------------------------- what a change of a broker means for the partition


def stays_in_isr(s, change, b, member):
    """Whether `member` is still in the ISR after `change` of broker `b`: all members stay, except `b`, which stays only
    if the change unfences it. The ISR may become empty."""
    return s.record_isr[s.partition_epoch][member] and (change == Change.UNFENCED or member != b)


def next_isr_size(s, change, b):
    return sum(1 for member in Broker if stays_in_isr(s, change, b, member))


def is_next_elr(s, change, b, member):
    """Whether `member` is in the ELR after `change` of broker `b`. If `b` leaves an ISR that becomes smaller than the
    minimum, `b` joins the ELR, unless its shutdown was unclean."""
    if change == Change.FENCED:
        return next_isr_size(s, change, b) < s.min_isr and (
            s.record_elr[s.partition_epoch][member] or (member == b and s.record_isr[s.partition_epoch][b])
        )
    return s.record_elr[s.partition_epoch][member] and (change == Change.UNFENCED or member != b)


def can_lead_from_elr(s, change, b, candidate):
    """After `change` of broker `b`, `candidate` is in the ELR and not fenced, so it may be elected."""
    return is_next_elr(s, change, b, candidate) and (
        change != Change.FENCED if candidate == b else s.is_unfenced[candidate]
    )


def has_candidate(s, change, b):
    return any(can_lead_from_elr(s, change, b, candidate) for candidate in Broker)


def keeps_leader(s, change, b):
    """Whether the change needs no election: the leader stays in the ISR, or there is no leader and no candidate."""
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
    """Whether the election after `change` may elect `candidate`. If no broker is elected, `candidate` must be `b`."""
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
    """Write the last known ELR of the new metadata record: the last known ELR of the previous record, and each broker
    that leaves the ELR with the new record. If the ISR has the minimum size, the last known ELR is empty."""
    size = sum(1 for member in Broker if s.record_isr[s.partition_epoch][member])
    for member in Broker:
        s.record_last_known_elr[s.partition_epoch][member] = size < s.min_isr and (
            s.record_last_known_elr[s.partition_epoch - 1][member]
            or (s.record_elr[s.partition_epoch - 1][member] and not s.record_elr[s.partition_epoch][member])
        )


def write_change(s, change, b, candidate):
    """Append the metadata record of `change`, computed from the previous record; then write the last known ELR."""
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
    """FenceBroker: the controller misses heartbeats of broker `b`, and fences it."""
    require(s.fencings_so_far < s.fencings)
    require(s.is_unfenced[b])
    require(may_elect(s, Change.FENCED, b, candidate))
    apply_change(s, Change.FENCED, b, candidate)
    s.fencings_so_far += 1


def unfencing_matters(s):
    """Whether unfencing a broker can change the partition: only a partition without a leader changes."""
    return leader_of(s) == NONE


@action(shows="{b}, elects {candidate}")
def controller_unfences(s, b: Broker, candidate: Broker):
    """UnfenceBroker: the controller hears from running broker `b` again, and unfences it."""
    require(not s.is_unfenced[b])
    require(s.status[b] == Status.RUNNING)
    require(may_elect(s, Change.UNFENCED, b, candidate) if unfencing_matters(s) else candidate == b)
    if unfencing_matters(s):
        apply_change(s, Change.UNFENCED, b, candidate)
    s.is_unfenced[b] = True


@action(shows="start {start}, elects {candidate}")
def controller_registers(s, start: Start, candidate: Broker):
    """ReceiveBrokerRegRequest: the controller registers a broker; after an unclean shutdown it leaves ISR and ELR."""
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
    """Whether `member` is not in `isr`, or may be: it is not fenced and, if added, has fetched since its last start."""
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
    """Whether `epoch` is the present partition epoch, and its request has the present broker epoch of the leader."""
    return (
        epoch == s.partition_epoch
        and leader_of(s) != NONE
        and s.request_epoch[epoch] == s.registered_epoch[leader_of(s)]
    )


@action(shows="of epoch {epoch}: ISR {isr}, incarnations {incarnations}")
def controller_changes_isr(s, epoch: PartitionEpoch, isr: IsrNumber, incarnations: Incarnations):
    """ReceiveAlterPartitionRequest: the controller receives a request to change the ISR, and grants or refuses it."""
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
    """Send an error to the producers of those records that leader `b` has written but not committed yet."""
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
    """Drop all messages from and to `b`, which goes down, so that other brokers no longer wait for responses of `b`."""
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
    """Shut down broker `b`: do what shutdowns with and without loss of the log have in common."""
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
    """DataLossShutdown: an unclean shutdown that loses the whole log, and the stored broker epoch."""
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
    """NoDataLossShutdown: the log stays whole; the broker epoch stays stored only if the shutdown is clean."""
    require(s.lossless_shutdowns_so_far < s.lossless_shutdowns)
    require(not is_offline(s, b))
    require(may_elect(s, Change.FENCED, b, candidate))
    goes_down(s, b, candidate)
    s.status[b] = Status.OFFLINE_CLEAN
    if is_clean == 0:
        s.broker_epoch[b] = 0
    s.lossless_shutdowns_so_far += 1


# ------------------------------------------------------------------------------------------------------------- promises
#
# KIP-966, how it starts, and the safety properties of its model file, with their names there.


def starts_in_isr(s, b):
    return b < s.initial_isr


@initial
def broker_0_leads(s):
    """At first broker 0 leads. Replicas outside the initial ISR are fenced, and have not learned that they left it."""
    stale = 1
    current = 1 if s.initial_isr == s.brokers else 2
    s.partition_epoch = current
    s.record_leader[stale] = 0
    s.record_leader_epoch[stale] = 1
    s.record_leader[current] = 0
    s.record_leader_epoch[current] = 1
    s.role[0] = Role.LEADER
    s.epoch_start[0] = 0
    for b in Broker:
        s.record_isr[stale][b] = True
    for b in Broker:
        s.record_isr[current][b] = starts_in_isr(s, b)
        s.is_unfenced[b] = starts_in_isr(s, b)
        s.known_epoch[b] = current if starts_in_isr(s, b) else stale
        s.position[b] = current if starts_in_isr(s, b) else current - 1
        for member in Broker:
            s.maximal_isr[b][member] = starts_in_isr(s, member) or not starts_in_isr(s, b)
        if b != 0:
            s.role[b] = Role.FOLLOWER
            s.is_added[b][0] = True


@terminal
def faults_are_used_up(s):
    """All faults are used up; every other state has a step (TLC ran with -deadlock)."""
    return (
        s.lossless_shutdowns_so_far == s.lossless_shutdowns
        and s.lossy_shutdowns_so_far == s.lossy_shutdowns
        and s.fencings_so_far == s.fencings
    )


@always
def leader_completeness(s):
    """LeaderCompletenessProperty: a leader that runs has every record that was committed or acknowledged."""
    return (
        s.true_high_watermark == 0
        or leader_of(s) == NONE
        or s.status[leader_of(s)] != Status.RUNNING
        or (
            s.log_end[leader_of(s)] >= s.true_high_watermark
            and all(not s.is_acknowledged[value] or has_value(s, leader_of(s), value) for value in Value)
        )
    )


@always
def leader_candidate_completeness(s):
    """LeaderCandidateCompletenessProperty: every running member of ISR or ELR has all committed records."""
    return not any(
        s.log_end[b] < s.true_high_watermark
        and s.status[b] == Status.RUNNING
        and (s.record_isr[s.partition_epoch][b] or s.record_elr[s.partition_epoch][b])
        for b in Broker
    )


def has_superset(s, b):
    return all(
        s.maximal_isr[b][member]
        for member in Broker
        if s.record_isr[s.partition_epoch][member] or s.record_elr[s.partition_epoch][member]
    )


@always
def replication_quorum_superset(s):
    """ReplicationQuorumSupersetProperty: if the leader's ISR has the minimum size, its maximal ISR contains ISR and
    ELR. A leader that does not wait for the controller has a maximal ISR equal to its ISR."""
    return all(
        not is_current_leader(s, b)
        or (
            (
                waits_for_the_controller(s, b)
                or all(s.maximal_isr[b][member] == s.record_isr[s.known_epoch[b]][member] for member in Broker)
            )
            and (isr_size(s, s.known_epoch[b]) < s.min_isr or has_superset(s, b))
        )
        for b in Broker
    )


@always
def log_matching(s):
    """LogMatchingProperty: below both high watermarks, logs are equal."""
    return not any(
        s.log_end[a] > offset
        and s.log_end[b] > offset
        and s.high_watermark[a] > offset
        and s.high_watermark[b] > offset
        and s.log_value[a][offset] != s.log_value[b][offset]
        for offset in Offset
        for a in Broker
        for b in Broker
    )


@always
def consistent_read(s):
    """ConsistentReadProperty: what a consumer has read is in the log of every leader that is not stale."""
    return all(
        s.log_epoch[b][offset] == s.consumed_epoch[offset] and s.log_value[b][offset] == s.consumed_value[offset]
        for b in Broker
        if is_current_leader(s, b)
        for offset in Offset
        if offset < s.true_high_watermark
    )


@always
def min_isr_recovery_quorum(s):
    """MinIsrRecoveryQuorum: if ISR and ELR are empty, the last known ELR has min_isr replicas."""
    return (
        any(s.record_isr[s.partition_epoch][b] or s.record_elr[s.partition_epoch][b] for b in Broker)
        or sum(1 for b in Broker if s.record_last_known_elr[s.partition_epoch][b]) == s.min_isr
    )


@always
def no_committed_record_lost_globally(s):
    """NoCommittedRecordLostGlobally: a replica has each acknowledged record. Can fail with min_isr lossy shutdowns."""
    return all(not s.is_acknowledged[value] or any(has_value(s, b, value) for b in Broker) for value in Value)


@sometimes
def a_record_is_acknowledged(s):
    return any(s.is_acknowledged[value] for value in Value)


@sometimes
def an_eligible_replica_exists(s):
    return any(s.record_elr[s.partition_epoch][b] for b in Broker)

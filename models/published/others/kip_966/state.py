"""State and vocabulary of KIP-966: what the controller, the brokers, and the messages between them remember."""

from enum import IntEnum

from isrcheck.models.language import (
    NONE,
    Domain,
    Flag,
    Subset,
    between,
    bound,
    budget,
    contradiction,
    field,
    optional,
    switch,
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
    """A partition epoch that is large enough: one above it would leave the range of its field, and be reported."""
    return (
        2
        + 3 * (configuration.fencings + shutdowns_of(configuration))
        + 2 * configuration.isr_shrinks
        + configuration.brokers
        - configuration.initial_isr
    )


MOST_REQUESTS = 700
"""Different requests to change the ISR; each takes five bits of every state. The model file's size has 640."""


@contradiction
def requests_are_too_many(configuration):
    """so many brokers and faults have more requests to change the ISR than a state should hold; leave some out"""
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
    """The number of a metadata record. 0 is that of a broker that knows nothing of the partition."""


class Start(Domain, size=lambda configuration: max(1, shutdowns_of(configuration))):
    """The number of a start of a broker after a shutdown, over all brokers; each has a registration of its own."""


class IsrNumber(Domain, size=lambda configuration: 2**configuration.brokers):
    """A set of brokers, as a number, in a request of a leader."""


class Incarnations(Domain, size=lambda configuration: (shutdowns_of(configuration) + 1) ** configuration.brokers):
    """The broker epochs of the replicas that a request adds, as a number."""


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
    """What is on the way between a follower and a leader: nothing, a request, or one of the responses."""

    NONE = 0
    REQUEST = 1
    RECORDS = 2
    DIVERGING = 3
    NOT_LEADER = 4
    UNKNOWN_EPOCH = 5
    FENCED_EPOCH = 6


class Change(IntEnum):
    """What the controller learns of a broker."""

    FENCED = 0
    UNFENCED = 1
    UNCLEAN = 2


EPOCH = between(0, last_partition_epoch)
BROKER_EPOCH = between(0, lambda configuration: shutdowns_of(configuration) + 1)
"""0: none; 1: that of the first incarnation; 1 + k: that of the k-th registration after a shutdown."""
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
    """Whether a broker is in a set that is a number."""
    return (number // max(1, power_of_two(b))) % 2 == 1


def weight(s, b):
    """The value of a broker's digit in a number of `Incarnations`."""
    base = s.lossless_shutdowns + s.lossy_shutdowns + 1
    return 1 if b == 0 else base if b == 1 else base * base if b == 2 else base * base * base


def added_epoch(s, incarnations, b):
    """The broker epoch of an added replica."""
    return (incarnations // max(1, weight(s, b))) % max(1, s.lossless_shutdowns + s.lossy_shutdowns + 1) + 1


def isr_size(s, epoch):
    return sum(1 for b in Broker if s.record_isr[epoch][b])


# ------------------------------------------------------------------------------------------------ vocabulary of brokers


def is_offline(s, b):
    return s.status[b] >= Status.OFFLINE_CLEAN


def leader_of(s):
    """The leader that the controller has chosen, or NONE."""
    return s.record_leader[s.partition_epoch]


def known_leader(s, b):
    return s.record_leader[s.known_epoch[b]]


def known_leader_epoch(s, b):
    return s.record_leader_epoch[s.known_epoch[b]]


def waits_for_the_controller(s, b):
    """The leader has sent a request to change the ISR, and does not know the outcome."""
    return s.pending_epoch[b] > s.known_epoch[b]


def is_current_leader(s, b):
    return s.role[b] == Role.LEADER and known_leader_epoch(s, b) == s.record_leader_epoch[s.partition_epoch]


def last_epoch(s, b):
    """The epoch of the last record in the log; 0 if it is empty."""
    return s.log_epoch[b][s.log_end[b] - 1] if s.log_end[b] > 0 else 0


def has_value(s, b, value):
    return any(s.log_value[b][offset] == value for offset in Offset)

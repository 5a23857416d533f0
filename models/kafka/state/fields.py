"""Kafka's replication of one partition: configuration, state, and initial clusters.

One partition on N brokers, a controller, a producer, transactions, and readers (the records that readers could have
read are stored; readers themselves are not modelled). Not modelled: segments, batches of more than one record, time (a
timer can expire in any state), failures of the controller, throttling, and fetches by consumers.
"""

import itertools
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
    initial,
    optional,
    setting,
    switch,
)


class Acks(IntEnum):
    """When a producer regards a record as written: `acks`."""

    ALL = -1
    ZERO = 0
    ONE = 1

    @property
    def spelling(self):
        return "all" if self is Acks.ALL else str(int(self))


class Start(IntEnum):
    """The initial clusters of the model: `--start`."""

    ELECTED = 0
    ANY = 1


class IsolationLevel(IntEnum):
    """Which records a consumer receives: `isolation.level`."""

    READ_UNCOMMITTED = 0
    READ_COMMITTED = 1

    @property
    def spelling(self):
        return self.name.lower()


class Truncation(IntEnum):
    """TRUNC: how a follower finds the common prefix of its log and its leader's (ReplicaFetcherThread)."""

    HW = 0
    KIP101 = 1
    KIP279 = 2
    KIP320 = 3


class FollowerSkip(IntEnum):
    """FOLLOWER_SKIP: when a broker takes no action on becoming a follower (Partition.makeFollower)."""

    SAME_LEADER = 0
    SAME_LEADER_NEXT_EPOCH = 1
    SAME_LEADER_AND_EPOCH = 2


class EpochCacheAssign(IntEnum):
    """EPOCH_CACHE_ASSIGN: how an entry that contradicts earlier entries is handled (LeaderEpochFileCache.assign)."""

    APPEND_ONLY = 0
    REPLACE_CONFLICTING = 1


class EpochBelowFirstEntry(IntEnum):
    """EPOCH_BELOW_FIRST_ENTRY: the leader's answer for an epoch older than all epochs in its cache."""

    UNDEFINED = 0
    FIRST_START_OFFSET = 1


class ShrinkRule(IntEnum):
    """SHRINK_RULE: which followers a leader may consider out of sync (Partition.getOutOfSyncReplicas)."""

    LAST_CAUGHT_UP = 0
    EXEMPT_AT_LOG_END = 1


class Fetch(IntEnum):
    """The stage of a follower's fetch: none in flight, parked at the leader, or answered with the response in
    flight.
    """

    NONE = 0
    PARKED = 1
    ANSWERED = 2


class TransactionState(IntEnum):
    """The decision of the transaction coordinator; the marker in the log follows it."""

    OPEN = 0
    COMMITTED = 1
    ABORTED = 2


class Configuration:
    replicas = bound(3, "brokers that hold the partition (replication.factor)", least=1, most=7, option="--replicas")
    records = bound(2, "records that producers send", least=1, option="--records", is_open=True)
    log_size = bound(2, "records that a log can hold", least=1, option="--log-size", is_open=True)
    elections = budget(2, "leader epochs after the first", shapes=True, option="--elections")
    bounces = budget(1, "restarts too short for the controller to notice", option="--bounces")
    crashes = budget(1, "process crashes (what was written stays written)", option="--crashes")
    preferred_elections = budget(0, "elections that leave a living leader", option="--preferred-elections")
    unclean_elections = budget(0, "elections from outside the ISR", option="--unclean-elections")
    power_losses = budget(0, "crashes that lose unflushed records", option="--power-losses")
    disk_losses = budget(0, "crashes that lose the whole log", option="--disk-losses")
    retries = budget(0, "requests that a producer sends again", option="--retries")
    delete_records = budget(0, "DeleteRecords requests", shapes=True, option="--delete-records")
    transactions = budget(0, "transactions, each from a producer of its own", shapes=True, option="--transactions")
    acks = setting(Acks.ALL, "when a producer regards a record as written", values=Acks, option="--acks")
    min_insync_replicas = setting(2, "min.insync.replicas", least=1, option="--min-insync-replicas")
    max_in_flight_requests = setting(5, "max.in.flight.requests.per.connection", least=1)
    isolation_level = setting(IsolationLevel.READ_UNCOMMITTED, "how far consumers read", values=IsolationLevel)
    start = setting(Start.ELECTED, "the initial clusters", values=Start, option="--start")
    start_isr = setting(0, "start=elected: the ISR, bit r set for replica r; 0: every allowed ISR")
    common_records = setting(0, "start=elected: committed records that every replica holds")
    brokers_down = setting(0, "start=elected: brokers that stay down, every choice of them")
    TRUNC = switch(Truncation.HW, "how a follower finds the common prefix with its leader")
    EPOCH_AT_BECOME_LEADER = switch(False, "a leader adds its epoch to its cache when it is elected")
    EPOCH_CACHE_ASSIGN = switch(EpochCacheAssign.APPEND_ONLY, "which entry is dropped if a new one contradicts it")
    EPOCH_BELOW_FIRST_ENTRY = switch(EpochBelowFirstEntry.UNDEFINED, "the answer for an epoch older than the cache")
    EPOCH_ENTRY_AT_END_DROPPED = switch(False, "truncation at the log end forgets an epoch that starts there")
    EXPAND_EPOCH_START = switch(False, "joining the ISR needs all records before the leader's epoch")
    FOLLOWER_SKIP = switch(FollowerSkip.SAME_LEADER, "when a broker that becomes a follower takes no action")
    HW_CLAMPED_AT_TRUNCATION = switch(False, "truncation keeps the high watermark within the log")
    OUT_OF_RANGE_HALTS = switch(True, "a follower beyond its leader's log halts if unclean election is off")
    REMOTE_OFFSETS_KEPT_BY_REELECTED_LEADER = switch(True, "an undemoted leader keeps followers' offsets")
    SHRINK_RULE = switch(ShrinkRule.LAST_CAUGHT_UP, "which replicas may be dropped from the ISR")


def up_to_budget(name):
    """The values of a budget's remaining amount. Budgets up to three share a state layout, and thus a kernel."""
    return between(0, lambda configuration: max(3, getattr(configuration, name)))


class Replica(Domain, size="replicas"):
    pass


class ReplicaSet(Subset, of=Replica):
    pass


class Offset(Domain, size="log_size"):
    pass


class EndOffset(Domain, size=lambda configuration: configuration.log_size + 1):
    pass


class Record(Domain, size="records", letters=True):
    pass


class Transaction(Domain, size="transactions"):
    pass


class Entry(Domain, size=lambda configuration: configuration.records + configuration.transactions, letters=True):
    """The values of a log cell: a record, or the marker that ends a transaction (numbered after the records)."""


class CommittedRecord(Domain, size=lambda c: c.records if c.transactions else 0, letters=True):
    """A record as read_committed readers see it; without transactions, both isolation levels see the same records."""


class LeaderEpoch(Domain, size=lambda configuration: configuration.elections + 1):
    pass


LOG_START_OFFSETS = between(0, lambda configuration: configuration.log_size if configuration.delete_records else 0)
"""The values of a log start offset, which stays 0 unless a client deletes records."""


class State:
    # The controller: its leader, leader epoch and ISR; and each election as it was announced (LeaderAndIsr), while
    # a running broker has yet to hear of it.
    controller_leader = field(values=optional(Replica), initially=0)
    controller_epoch = field(values=LeaderEpoch)
    controller_isr = field(Replica, values=Flag)
    metadata_leader = field(LeaderEpoch, values=optional(Replica), initially=NONE)
    metadata_isr = field(LeaderEpoch, Replica, values=Flag)

    # Each broker: its log; what it believes of leader, epoch and, as a leader, of ISR and followers.
    # The cache of leader epochs says at which offset each epoch that the broker knows of starts in its log.
    is_up = field(Replica, values=Flag, initially=True)
    log_record = field(Replica, Offset, values=optional(Entry), initially=NONE)
    log_epoch = field(Replica, Offset, values=optional(LeaderEpoch), initially=NONE)
    epoch_cache = field(Replica, LeaderEpoch, values=optional(EndOffset), initially=NONE)
    log_start_offset = field(Replica, values=LOG_START_OFFSETS)
    log_end_offset = field(Replica, values=EndOffset)
    high_watermark = field(Replica, values=EndOffset)
    leader_epoch = field(Replica, values=LeaderEpoch)
    leader = field(Replica, values=optional(Replica), initially=0)
    is_truncating = field(Replica, values=Flag)
    isr = field(Replica, Replica, values=Flag)
    epoch_start_offset = field(Replica, values=EndOffset)
    remote_log_end_offset = field(Replica, Replica, values=optional(EndOffset), initially=NONE)

    # Between a follower and a leader, in this order of indices: the one fetch that can be outstanding.
    fetch = field(Replica, Replica, values=Fetch)
    fetch_offset = field(Replica, Replica, values=EndOffset)
    response_record = field(Replica, Replica, Offset, values=optional(Entry), initially=NONE)
    response_epoch = field(Replica, Replica, Offset, values=optional(LeaderEpoch), initially=NONE)
    response_high_watermark = field(Replica, Replica, values=EndOffset)
    response_log_start_offset = field(Replica, Replica, values=LOG_START_OFFSETS)

    # Clients: the next record to send; the leader at which an acks=all request waits; which records were acknowledged;
    # the transaction of each record; the first entry that readers of either isolation level could see at each offset;
    # the offset up to which clients deleted records.
    next_record = field(values=between(0, "records"))
    pending = field(Record, values=optional(Replica), initially=NONE)
    acknowledged = field(Record, values=Flag)
    transaction_of = field(Record, values=optional(Transaction), initially=NONE)
    transaction_state = field(Transaction, values=TransactionState)
    exposed_record = field(Offset, values=optional(Entry), initially=NONE)
    read_committed_record = field(Offset, values=optional(CommittedRecord), initially=NONE)
    deleted_before = field(values=LOG_START_OFFSETS)

    # The remaining budgets for faults and for elections that need one.
    bounces_left = field(values=up_to_budget("bounces"))
    crashes_left = field(values=up_to_budget("crashes"))
    preferred_elections_left = field(values=up_to_budget("preferred_elections"))
    unclean_elections_left = field(values=up_to_budget("unclean_elections"))
    power_losses_left = field(values=up_to_budget("power_losses"))
    disk_losses_left = field(values=up_to_budget("disk_losses"))
    retries_left = field(values=up_to_budget("retries"))
    delete_records_left = field(values=between(0, "delete_records"))


BUDGETS = (
    "bounces",
    "crashes",
    "preferred_elections",
    "unclean_elections",
    "power_losses",
    "disk_losses",
    "retries",
    "delete_records",
)


def _subsets_with(leader, replicas, at_least):
    """Every ISR with the leader and at least this many members, as truth values, in the order of binary numbers."""
    for number in range(1 << replicas):
        isr = [bool(number >> r & 1) for r in range(replicas)]
        if isr[leader] and sum(isr) >= at_least:
            yield isr


def _cluster(configuration, leader, isr, lengths, down=()):
    """A quiescent cluster at epoch 0: broker r holds the first lengths[r] records, all of them acknowledged.

    Brokers that are down have no leader and no followers, as after a crash.
    """
    replicas, log_size, elections = configuration.replicas, configuration.log_size, configuration.elections
    committed = lengths[leader]
    leads = [r == leader and r not in down for r in range(replicas)]
    following = [[f != leader and leads[r] for f in range(replicas)] for r in range(replicas)]
    has_epoch = [
        configuration.TRUNC != Truncation.HW
        and (length > 0 or (leads[r] and bool(configuration.EPOCH_AT_BECOME_LEADER)))
        for r, length in enumerate(lengths)
    ]
    return {
        "controller_leader": leader,
        "controller_isr": isr,
        "is_up": [r not in down for r in range(replicas)],
        "log_record": [[o if o < length else NONE for o in range(log_size)] for length in lengths],
        "log_epoch": [[0 if o < length else NONE for o in range(log_size)] for length in lengths],
        "epoch_cache": [[0 if has_epoch[r] else NONE] + [NONE] * elections for r in range(replicas)],
        "log_end_offset": lengths,
        "high_watermark": lengths,
        "leader": [NONE if r in down else leader for r in range(replicas)],
        "isr": [isr if leads[r] else [False] * replicas for r in range(replicas)],
        "remote_log_end_offset": [
            [lengths[f] if following[r][f] else NONE for f in range(replicas)] for r in range(replicas)
        ],
        "next_record": committed,
        "acknowledged": [record < committed for record in range(configuration.records)],
        "exposed_record": [o if o < committed else NONE for o in range(log_size)],
        "read_committed_record": [o if configuration.transactions and o < committed else NONE for o in range(log_size)],
        **{f"{budget}_left": getattr(configuration, budget) for budget in BUDGETS},
    }


@initial
def quiescent_clusters(configuration):
    """Stable clusters: leader 0, equal logs, any ISR with the leader and at least min.insync.replicas members.

    With `start=any`: any leader, any ISR with it, any common log of the ISR, and any prefix of it elsewhere.
    """
    if configuration.start == Start.ANY:
        yield from _any_clusters(configuration)
        return
    replicas = configuration.replicas
    lengths = [configuration.common_records] * replicas
    for down in itertools.combinations(range(replicas), configuration.brokers_down):
        for isr in _elected_isrs(configuration):
            yield _cluster(configuration, 0, isr, lengths, down)


def _elected_isrs(configuration):
    replicas = configuration.replicas
    if configuration.start_isr:
        return [[bool(configuration.start_isr >> r & 1) for r in range(replicas)]]
    if configuration.brokers_down:
        return [[True] * replicas]  # they fail all at once, in a cluster that was complete
    # More replicas than exist cannot be in sync; such a cluster starts complete, and refuses acks=all.
    return _subsets_with(0, replicas, min(configuration.min_insync_replicas, replicas))


def _any_clusters(configuration):
    replicas = configuration.replicas
    for leader in range(replicas):
        for isr in _subsets_with(leader, replicas, 1):
            for committed in range(min(configuration.log_size, configuration.records) + 1):
                lengths = [[committed] if isr[r] else range(committed + 1) for r in range(replicas)]
                for chosen in itertools.product(*lengths):
                    yield _cluster(configuration, leader, isr, list(chosen))


@contradiction
def start_isr_lacks_the_leader(configuration):
    """start_isr is a number whose bit r means that replica r is in the ISR: it has to contain replica 0, the leader,
    and no replica that does not exist."""
    return configuration.start_isr and not (
        configuration.start_isr & 1 and configuration.start_isr < 1 << configuration.replicas
    )


@contradiction
def more_common_records_than_there_are(configuration):
    """common_records is above the number of records or the log size; raise those, or lower common_records."""
    return configuration.common_records > min(configuration.records, configuration.log_size)


@contradiction
def more_brokers_down_than_there_are(configuration):
    """brokers_down is above the number of replicas; lower brokers_down."""
    return configuration.brokers_down > configuration.replicas


@contradiction
def transactions_before_0_11(configuration):
    """Transactions and DeleteRecords came with the record format of 0.11, but TRUNC=HW is older; choose a newer
    --protocol, or set --transactions and --delete-records to 0."""
    return configuration.TRUNC == Truncation.HW and (configuration.transactions or configuration.delete_records)


@contradiction
def transactions_without_acks_all(configuration):
    """A transactional producer is idempotent, and Kafka refuses to start one without acks=all; set acks=all."""
    return configuration.transactions and configuration.acks != Acks.ALL

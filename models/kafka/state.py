"""What there is in the model of one partition: configuration, state, and the clusters that a history starts from.

One partition on N brokers, a controller, producers, and readers (what a reader could have seen is remembered, readers
themselves are not modelled). Left out: segments, batches of more than one record, time (a timer can fire at any
moment), the controller's own failures, throttling, and fetches by consumers.
"""

import itertools
from enum import IntEnum

from models.language import (
    NONE,
    Domain,
    Flag,
    Subset,
    between,
    bound,
    budget,
    field,
    initial,
    optional,
    setting,
    switch,
)


class Acks(IntEnum):
    """When a producer takes a record for written: `acks`."""

    ALL = -1
    ZERO = 0
    ONE = 1

    @property
    def spelling(self):
        return "all" if self is Acks.ALL else str(int(self))


class Start(IntEnum):
    """Which clusters a history starts from."""

    ELECTED = 0
    ANY = 1


class FollowerSkip(IntEnum):
    """FOLLOWER_SKIP: when a broker takes no action on becoming a follower (ReplicaManager.makeFollowers)."""

    SAME_LEADER = 0
    SAME_LEADER_AND_EPOCH = 1


class ShrinkRule(IntEnum):
    """SHRINK_RULE: which followers a leader may take for out of sync (Partition.getOutOfSyncReplicas)."""

    LAST_CAUGHT_UP = 0
    EXEMPT_AT_LOG_END = 1


class Fetch(IntEnum):
    """What has become of a follower's fetch: none under way, parked at the leader, or answered and on its way back."""

    NONE = 0
    PARKED = 1
    ANSWERED = 2


class Configuration:
    replicas = bound(3, "brokers that hold the partition (replication.factor)", least=1, most=7, option="--replicas")
    records = bound(2, "records that producers send", least=1, option="--records")
    log_size = bound(2, "records that a log can hold", least=1, option="--log-size")
    elections = budget(2, "leader epochs after the first", shapes=True, option="--elections")
    bounces = budget(1, "restarts too short for the controller to notice", option="--bounces")
    crashes = budget(1, "process crashes (what was written stays written)", option="--crashes")
    preferred_elections = budget(0, "elections that leave a living leader", option="--preferred-elections")
    unclean_elections = budget(0, "elections from outside the ISR", option="--unclean-elections")
    power_losses = budget(0, "crashes that lose unflushed records", option="--power-losses")
    disk_losses = budget(0, "crashes that lose the whole log", option="--disk-losses")
    acks = setting(Acks.ALL, "when a producer takes a record for written", values=Acks, option="--acks")
    min_insync_replicas = setting(2, "min.insync.replicas", least=1, option="--min-insync-replicas")
    start = setting(Start.ELECTED, "which clusters a history starts from", values=Start, option="--start")
    FOLLOWER_SKIP = switch(FollowerSkip.SAME_LEADER, "when becoming a follower changes nothing")
    SHRINK_RULE = switch(ShrinkRule.LAST_CAUGHT_UP, "who may be dropped from the ISR")
    HW_CLAMPED_AT_TRUNCATION = switch(False, "truncation lowers the high watermark to the log end offset")
    REMOTE_OFFSETS_KEPT_BY_REELECTED_LEADER = switch(True, "re-election without demotion keeps followers' offsets")


def up_to_budget(name):
    """What may be left of a budget. Up to three all have the same shape, so that one kernel serves them."""
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


class LeaderEpoch(Domain, size=lambda configuration: configuration.elections + 1):
    pass


class State:
    # The controller: its leader, leader epoch and ISR; and each election as it was announced (LeaderAndIsr), for as
    # long as a running broker has yet to hear of it.
    controller_leader = field(values=optional(Replica), initially=0)
    controller_epoch = field(values=LeaderEpoch)
    controller_isr = field(Replica, values=Flag)
    metadata_leader = field(LeaderEpoch, values=optional(Replica), initially=NONE)
    metadata_isr = field(LeaderEpoch, Replica, values=Flag)

    # Each broker: its log; what it believes of leader, epoch and, as a leader, of ISR and followers.
    is_up = field(Replica, values=Flag, initially=True)
    log_record = field(Replica, Offset, values=optional(Record), initially=NONE)
    log_epoch = field(Replica, Offset, values=optional(LeaderEpoch), initially=NONE)
    log_end_offset = field(Replica, values=EndOffset)
    high_watermark = field(Replica, values=EndOffset)
    leader_epoch = field(Replica, values=LeaderEpoch)
    leader = field(Replica, values=optional(Replica), initially=0)
    isr = field(Replica, Replica, values=Flag)
    remote_log_end_offset = field(Replica, Replica, values=optional(EndOffset), initially=NONE)

    # Between a follower and a leader, in this order of indices: the one fetch that can be outstanding.
    fetch = field(Replica, Replica, values=Fetch)
    fetch_offset = field(Replica, Replica, values=EndOffset)
    response_record = field(Replica, Replica, Offset, values=optional(Record), initially=NONE)
    response_epoch = field(Replica, Replica, Offset, values=optional(LeaderEpoch), initially=NONE)
    response_high_watermark = field(Replica, Replica, values=EndOffset)

    # Clients: the next record to be sent; the leader at which an acks=all request waits; what the producer was told;
    # and what readers could see first at each offset.
    next_record = field(values=between(0, "records"))
    pending = field(Record, values=optional(Replica), initially=NONE)
    acknowledged = field(Record, values=Flag)
    exposed_record = field(Offset, values=optional(Record), initially=NONE)

    # What is left of the budgets for faults and for elections that need one.
    bounces_left = field(values=up_to_budget("bounces"))
    crashes_left = field(values=up_to_budget("crashes"))
    preferred_elections_left = field(values=up_to_budget("preferred_elections"))
    unclean_elections_left = field(values=up_to_budget("unclean_elections"))
    power_losses_left = field(values=up_to_budget("power_losses"))
    disk_losses_left = field(values=up_to_budget("disk_losses"))


BUDGETS = ("bounces", "crashes", "preferred_elections", "unclean_elections", "power_losses", "disk_losses")


def _subsets_with(leader, replicas, at_least):
    """Every ISR that contains the leader and has so many members, as truth values, in the order of binary numbers."""
    for number in range(1 << replicas):
        isr = [bool(number >> r & 1) for r in range(replicas)]
        if isr[leader] and sum(isr) >= at_least:
            yield isr


def _cluster(configuration, leader, isr, lengths):
    """A quiescent cluster at epoch 0: broker r holds the first lengths[r] records, all of them acknowledged."""
    replicas, log_size = configuration.replicas, configuration.log_size
    committed = lengths[leader]
    following = [[f != leader and r == leader for f in range(replicas)] for r in range(replicas)]
    return {
        "controller_leader": leader,
        "controller_isr": isr,
        "log_record": [[o if o < length else NONE for o in range(log_size)] for length in lengths],
        "log_epoch": [[0 if o < length else NONE for o in range(log_size)] for length in lengths],
        "log_end_offset": lengths,
        "high_watermark": lengths,
        "leader": [leader] * replicas,
        "isr": [isr if r == leader else [False] * replicas for r in range(replicas)],
        "remote_log_end_offset": [
            [lengths[f] if following[r][f] else NONE for f in range(replicas)] for r in range(replicas)
        ],
        "next_record": committed,
        "acknowledged": [record < committed for record in range(configuration.records)],
        "exposed_record": [o if o < committed else NONE for o in range(log_size)],
        **{f"{budget}_left": getattr(configuration, budget) for budget in BUDGETS},
    }


@initial
def quiescent_clusters(configuration):
    """Stable elected clusters: leader 0, empty logs, any ISR with the leader and at least min.insync.replicas members.

    With `start=any`: any leader, any ISR with it, any log that the ISR has in common, any prefix of it elsewhere.
    """
    replicas = configuration.replicas
    if configuration.start == Start.ELECTED:
        # More than there are replicas cannot be in sync; such a cluster starts whole, and refuses acks=all.
        at_least = min(configuration.min_insync_replicas, replicas)
        for isr in _subsets_with(0, replicas, at_least):
            yield _cluster(configuration, 0, isr, [0] * replicas)
        return
    for leader in range(replicas):
        for isr in _subsets_with(leader, replicas, 1):
            for committed in range(min(configuration.log_size, configuration.records) + 1):
                lengths = [[committed] if isr[r] else range(committed + 1) for r in range(replicas)]
                for chosen in itertools.product(*lengths):
                    yield _cluster(configuration, leader, isr, list(chosen))

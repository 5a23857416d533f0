"""The clusters that a history starts from."""

import itertools

from isrcheck.models.kafka.state.configuration import has_kraft, numbers_from_zero
from isrcheck.models.kafka.state.fields import BUDGETS
from isrcheck.models.kafka.state.values import HighWatermarkWait, Start, Truncation
from isrcheck.models.language import NONE, initial, terminal


def _subsets_with(leader, replicas, at_least):
    """Every ISR with the leader and at least this many members, as truth values, in the order of binary numbers."""
    for number in range(1 << replicas):
        isr = [bool(number >> r & 1) for r in range(replicas)]
        if isr[leader] and sum(isr) >= at_least:
            yield isr


def _cluster(configuration, leader, isr, lengths, absent=()):
    """A quiescent cluster at epoch 0: broker r holds the first lengths[r] records, all of them acknowledged.

    Brokers that are absent have no leader and no followers, as after a crash; nor have those that are no replicas.
    """
    replicas, log_size, elections = configuration.replicas, configuration.log_size, configuration.elections
    committed = lengths[leader]
    lengths = [length if is_assigned_at_first(configuration, r) else 0 for r, length in enumerate(lengths)]
    down = (*absent, *(r for r in range(replicas) if not is_assigned_at_first(configuration, r)))
    leads = [r == leader and r not in down for r in range(replicas)]
    following = [
        [f != leader and leads[r] and is_assigned_at_first(configuration, f) for f in range(replicas)]
        for r in range(replicas)
    ]
    has_epoch = [
        configuration.TRUNC != Truncation.HW
        and (length > 0 or (leads[r] and bool(configuration.EPOCH_AT_BECOME_LEADER)))
        for r, length in enumerate(lengths)
    ]
    return {
        "controller_leader": leader,
        "controller_isr": isr,
        **_assignment(configuration, leads),
        "is_up": [r not in absent for r in range(replicas)],
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
        "has_sequence": [
            record < committed for record in range(configuration.records * configuration.enable_idempotence)
        ],
        "acknowledged_before": committed if numbers_from_zero(configuration) else 0,
        "exposed_record": [o if o < committed else NONE for o in range(log_size)],
        "read_committed_record": [o if configuration.transactions and o < committed else NONE for o in range(log_size)],
        "remote_broker_epoch": [
            [int(following[r][f]) for f in range(replicas)] for r in range(replicas * has_kraft(configuration))
        ],
        "is_caught_up": [
            [isr[f] and following[r][f] for f in range(replicas)] if leads[r] else [False] * replicas
            for r in range(replicas * (configuration.HW_WAIT == HighWatermarkWait.CAUGHT_UP))
        ],
        "flushed_offset": lengths if has_kraft(configuration) or configuration.flush_interval_messages else [],
        **{f"{budget}_left": getattr(configuration, budget) for budget in BUDGETS},
    }


def _assignment(configuration, leads):
    if not configuration.reassignments:
        return {}
    assigned = [is_assigned_at_first(configuration, r) for r in range(configuration.replicas)]
    nobody = [False] * configuration.replicas
    return {
        "is_assigned": assigned,
        "knows_assigned": [assigned if leads[r] else nobody for r in range(configuration.replicas)],
    }


def is_assigned_at_first(configuration, r):
    return configuration.start_assignment == 0 or bool(configuration.start_assignment >> r & 1)


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
    if configuration.start_assignment:
        assigned = [is_assigned_at_first(configuration, r) for r in range(replicas)]
        least = min(configuration.min_insync_replicas, sum(assigned))
        isrs = _subsets_with(0, replicas, least)
        return [isr for isr in isrs if all(assigned[r] or not isr[r] for r in range(replicas))]
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


@terminal
def cluster_is_idle(s):
    """Records, elections and faults are numbered, so that a cluster can run out of events: it is idle then, even if it
    has no leader. What must not remain so is a property of its own."""
    return True

"""The clusters that a history starts from, and the configurations that are impossible."""

import itertools

from isrcheck.models.client_settings import Acks
from isrcheck.models.kafka.state.fields import BUDGETS, alters_partitions, has_kraft, numbers_from_zero
from isrcheck.models.kafka.state.values import (
    BrokerStateCheck,
    HighWatermarkWait,
    LeaderChoice,
    MaximalIsr,
    Start,
    Truncation,
)
from isrcheck.models.language import NONE, contradiction, initial, terminal


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


# ---------------------------------------------- configurations that are impossible, and what to choose instead of them


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


@contradiction
def idempotence_before_0_11(configuration):
    """Idempotent producers came with the record format of 0.11, but TRUNC=HW is older; choose a newer --protocol, or
    set --enable-idempotence off."""
    return configuration.TRUNC == Truncation.HW and configuration.enable_idempotence


@contradiction
def idempotence_without_acks_all(configuration):
    """Kafka refuses to start an idempotent producer without acks=all; set --acks all, or --enable-idempotence off."""
    return configuration.enable_idempotence and configuration.acks != Acks.ALL


@contradiction
def more_in_flight_than_remembered(configuration):
    """An idempotent producer has at most as many requests in flight as leaders remember batches (1 in 0.11, 5 since
    1.0); set max_in_flight_requests to remembered_batches or less, or --enable-idempotence off."""
    return configuration.enable_idempotence and configuration.max_in_flight_requests > configuration.remembered_batches


@contradiction
def snapshots_without_idempotence(configuration):
    """producer_snapshots is about the state of an idempotent producer; set --enable-idempotence on, or
    producer_snapshots to 0."""
    return configuration.producer_snapshots and not configuration.enable_idempotence


@contradiction
def followers_are_read_before_2_4(configuration):
    """Consumers read from followers since 2.4 (KIP-392); set follower_fetching=off, or choose a newer --protocol."""
    return configuration.follower_fetching and not configuration.HW_CLAMPED_AT_TRUNCATION


@contradiction
def partition_changes_before_2_8(configuration):
    """Before 2.8 the leader writes the ISR itself, and nothing counts partition epochs; set --partition-changes
    to 0, or choose --protocol 2.8 or newer."""
    return configuration.partition_changes and not alters_partitions(configuration)


@contradiction
def bounces_since_2_8(configuration):
    """Since 2.8 a restart that the controller does not notice is not modelled: brokers register anew; set --bounces
    to 0 and give --crashes, or choose --protocol 2.4 or older."""
    return configuration.bounces and alters_partitions(configuration)


@contradiction
def kraft_budgets_with_zookeeper(configuration):
    """--fencings, --shutdowns, --reassignments, --min-isr-changes, unregistrations, folder_deletions,
    directory_reports, dropped_metadata and --late-fetches are about brokers of a KRaft cluster; choose --protocol 3.3
    or newer, or set them to 0."""
    return not has_kraft(configuration) and (
        configuration.fencings
        or configuration.shutdowns
        or configuration.reassignments
        or configuration.min_isr_changes
        or configuration.unregistrations
        or configuration.folder_deletions
        or configuration.directory_reports
        or configuration.dropped_metadata
        or configuration.late_fetches
    )


@contradiction
def start_assignment_lacks_the_leader(configuration):
    """start_assignment is a number whose bit r means that the partition is assigned to broker r: it needs
    --reassignments, has to contain broker 0, the leader, every broker of start_isr, and none that does not exist."""
    return configuration.start_assignment and (
        not configuration.reassignments
        or not configuration.start_assignment & 1
        or configuration.start_isr & ~configuration.start_assignment
        or configuration.start_assignment >= 1 << configuration.replicas
    )


@contradiction
def replicas_of_another_partition_do_not_exist(configuration):
    """replicas_of_partition_0 is above the number of replicas; lower it."""
    return configuration.replicas_of_partition_0 > configuration.replicas


@contradiction
def min_isr_changes_before_the_gate(configuration):
    """--min-isr-changes are modelled since the high watermark waits for min.insync.replicas (3.7); set
    HW_MINISR_GATE=on, or --min-isr-changes to 0."""
    return configuration.min_isr_changes and not configuration.HW_MINISR_GATE


@contradiction
def kraft_without_alter_partition(configuration):
    """A KRaft controller changes the ISR by AlterPartition requests; set ISR_CHANNEL=ALTER_PARTITION."""
    return has_kraft(configuration) and not alters_partitions(configuration)


@contradiction
def truncation_on_fetch_before_2_8(configuration):
    """Truncation on fetch (TRUNC=ON_FETCH) came in 2.8, together with AlterPartition; no other truncation is modelled
    since then. Leave TRUNC out, or choose a --protocol that has it."""
    return (configuration.TRUNC == Truncation.ON_FETCH) != alters_partitions(configuration)


@contradiction
def diverging_responses_before_2_8(configuration):
    """DIVERGING_RESP_UPDATES_STATE, HW_FROM_DIVERGING_RESP and RESPONSE_EPOCH_MATCHED are about truncation on fetch;
    choose --protocol 2.8 or newer, or leave them out."""
    return configuration.TRUNC != Truncation.ON_FETCH and (
        configuration.DIVERGING_RESP_UPDATES_STATE
        or configuration.HW_FROM_DIVERGING_RESP
        or configuration.RESPONSE_EPOCH_MATCHED
    )


@contradiction
def maximal_isr_before_2_8(configuration):
    """MAXIMAL_ISR says who counts while AlterPartition is pending; choose --protocol 2.8 or newer, or leave it out."""
    return configuration.MAXIMAL_ISR != MaximalIsr.COMMITTED_AND_PROPOSED and not alters_partitions(configuration)


@contradiction
def kraft_switches_with_zookeeper(configuration):
    """BROKER_STATE_CHECK, ELR, EPOCH_BUMP_ON_SHRINK, EQUAL_PARTITION_EPOCH_REPLACES, LATE_FETCH_COUNTS,
    LEADER_CHOICE and RESTART_BEFORE_FENCING are about a KRaft controller; choose --protocol 3.3 or newer."""
    return not has_kraft(configuration) and (
        configuration.BROKER_STATE_CHECK != BrokerStateCheck.NONE
        or configuration.ELR
        or configuration.EPOCH_BUMP_ON_SHRINK
        or configuration.EQUAL_PARTITION_EPOCH_REPLACES
        or configuration.LEADER_CHOICE != LeaderChoice.ANY
        or configuration.LATE_FETCH_COUNTS
        or configuration.RESTART_BEFORE_FENCING
    )


@contradiction
def elr_without_the_gate(configuration):
    """ELR rests on a high watermark that waits for min.insync.replicas members (KIP-966); set HW_MINISR_GATE=on, or
    ELR=off."""
    return configuration.ELR and not configuration.HW_MINISR_GATE


@contradiction
def elr_with_restarts_before_fencing(configuration):
    """With ELR, a broker that registers anew leaves the ISR (KAFKA-18106); set RESTART_BEFORE_FENCING=off, or
    ELR=off."""
    return configuration.ELR and configuration.RESTART_BEFORE_FENCING

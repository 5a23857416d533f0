"""The bounds for which the kernels of each model are compared with CPython.

For each family of models whose protocols have the same fields: the shapes, each with the entries that differ from the
default ones. In each family, some shape has each value of each switch that shapes the state, also where it should have
no effect: a switch of KRaft without KRaft, a repair without what it repairs.
"""

from collections.abc import Mapping, Sequence

TRANSACTION = {"transactions": 1, "delete_records": 1, "DELETION_IS_ANSWERED": 1}
IDEMPOTENT = {"enable_idempotence": 1, "producer_snapshots": 1}
NUMBERED_ANEW = {"enable_idempotence": 1, "delete_records": 1, "min_insync_replicas": 1}
FAULTS = ("bounces", "crashes", "power_losses", "disk_losses", "preferred_elections", "unclean_elections")
READ = {"consumers": 1, "follower_fetching": 1}
OPERATED = {
    "min_isr_changes": 1,
    "unregistrations": 1,
    "folder_deletions": 1,
    "directory_reports": 1,
    "dropped_metadata": 1,
}
IN_TWO_STEPS = {"FETCH_IS_SPLIT": 1, "DIVERGING_ANSWER_IS_SPLIT": 1}
REPAIRED = {
    "ELR_WITHIN_REPLICAS": 1,
    "CHANGED_MIN_ISR_ERASES": 2,
    "CONFIGURATION_BEFORE_TOPICS": 1,
    "RAISED_MIN_ISR_AWAITS_BROKERS": 1,
    "MIN_ISR_OF_OWN_REPLICAS": 1,
    "UNREGISTERED_LEAVES_ELR": 1,
    "DELETED_FOLDER_IS_UNCLEAN": 1,
    "EQUAL_PARTITION_EPOCH_ASSIGNS": 1,
    "EXPAND_LOG_START": 1,
    "FETCH_COUNTED_IN_ITS_EPOCH": 1,
    "DELETION_AWAITS_ELIGIBLE": 1,
}

SHAPES: Mapping[str, Sequence[Mapping[str, int]]] = {
    "kafka": (
        {"replicas": 3, "records": 2, "log_size": 2, "elections": 2},
        {"replicas": 2, "records": 2, "log_size": 3, "elections": 2, **TRANSACTION},
        {"replicas": 2, "records": 1, "log_size": 2, "HW_WAIT": 1, "flush_interval_messages": 1, "consumers": 1},
        {"replicas": 2, "records": 2, "log_size": 2, "elections": 1, "CHANGED_MIN_ISR_ERASES": 1, **IDEMPOTENT},
        {"replicas": 2, "records": 1, "log_size": 2, "elections": 1, **TRANSACTION, **READ, **IN_TWO_STEPS, **REPAIRED},
        {"replicas": 2, "records": 2, "log_size": 2, "elections": 1, **NUMBERED_ANEW, **dict.fromkeys(FAULTS, 0)},
    ),
    "kafka, ALTER_PARTITION": (
        {"replicas": 3, "records": 1, "log_size": 1, "elections": 1, "partition_changes": 3},
        {"replicas": 2, "records": 2, "log_size": 3, "partition_changes": 2, "HW_WAIT": 1, **TRANSACTION},
        {"replicas": 2, "records": 2, "log_size": 2, "CHANGED_MIN_ISR_ERASES": 1, **IDEMPOTENT, **READ},
        {"replicas": 2, "records": 1, "log_size": 2, **TRANSACTION, **IN_TWO_STEPS, **REPAIRED},
    ),
    "kafka, KRAFT": (
        {"replicas": 3, "records": 1, "log_size": 1, "elections": 1, "partition_changes": 3, "reassignments": 2},
        {"replicas": 2, "records": 2, "log_size": 2, "partition_changes": 3, "HW_WAIT": 1, **TRANSACTION},
        {"replicas": 2, "records": 1, "log_size": 1, "elections": 1, "partition_changes": 2, "late_fetches": 1},
        {"replicas": 2, "records": 2, "log_size": 2, "partition_changes": 2, **IDEMPOTENT, **READ},
        {
            "replicas": 2,
            "records": 1,
            "log_size": 1,
            "elections": 1,
            "partition_changes": 3,
            **OPERATED,
            **IN_TWO_STEPS,
        },
        {"replicas": 2, "records": 1, "log_size": 1, "min_isr_changes": 2, "CHANGED_MIN_ISR_ERASES": 1},
        {
            "replicas": 3,
            "records": 1,
            "log_size": 1,
            "partition_changes": 3,
            "reassignments": 1,
            "replicas_of_partition_0": 1,
            "delete_records": 1,
            "DELETION_IS_ANSWERED": 1,
            **(OPERATED | IN_TWO_STEPS | REPAIRED),
        },
    ),
    "exactly_once": (
        {"partitions": 2, "records": 2, "batches": 3, "log_size": 4, "restarts": 1, "epoch_bumps": 1},
        {"partitions": 1, "records": 3, "batches": 3, "log_size": 3, "restarts": 0, "epoch_bumps": 2},
        {"partitions": 2, "records": 2, "batches": 3, "log_size": 4, "overlapping_blocks": 1, "deadlines_in_flight": 1},
    ),
    "published": (
        {"replicas": 3, "log_size": 2, "records": 2, "max_epoch": 1},
        {"replicas": 2, "log_size": 3, "records": 3, "max_epoch": 2},
    ),
    "transactions": (
        {"partitions": 2, "transactions": 2, "log_size": 4, "producers": 2, "failovers": 1, "timeouts": 1},
        {"partitions": 1, "transactions": 1, "log_size": 2, "producers": 3, "failovers": 2},
        {"partitions": 1, "transactions": 2, "log_size": 4, "late_answers": 1, "producer_epochs": 2},
    ),
    "coordinator": ({}, {"replicas": 3, "writes": 2, "elections": 2}),
    "consumer_commits": ({}, {"records": 3, "restarts": 2}),
    "tier": (
        {"brokers": 2, "log_size": 4, "segment_size": 2, "elections": 1, "restarts": 1},
        {"brokers": 3, "log_size": 3, "segment_size": 2, "elections": 2, "restarts": 0},
    ),
    "quorum": (
        {"replicas": 3, "observers": 0, "records": 2, "log_size": 2, "elections": 1},
        {"replicas": 3, "observers": 1, "records": 1, "log_size": 3, "elections": 2},
    ),
    "quorum, PULL": (
        {"replicas": 3, "observers": 0, "records": 2, "elections": 1, "log_size": 2},
        {"replicas": 4, "observers": 1, "records": 1, "log_size": 3, "elections": 2},
        {"replicas": 2, "observers": 1, "records": 1, "elections": 1, "log_size": 2},
    ),
    "quorum_schemes": ({},),
    "isr_propagation": ({}, {"brokers": 1, "followers": 2, "latest_ticks": 6, "within_ticks": 9}),
    "isr_by_lag": ({}, {"burst": 2, "most_behind": 6, "lag_time_max_ticks": 2}),
    "placement": (
        {"brokers": 4, "partitions": 4},
        {"brokers": 3, "replication_factor": 2, "racks": 2, "rack_failures": 1},
    ),
    "cap": ({}, {"replicas": 2, "cuts": 2, "unclean_elections": 1}),
    "examples": ({},),  # each has bounds of its own: the default ones
    "examples/tla": ({},),
    "published/others": ({}, {"lossy_shutdowns": 0, "lossless_shutdowns": 1, "fencings": 1, "isr_shrinks": 1}),
}
"""Few shapes, since each is compiled; all run-time values of a shape share one kernel. A shape that gives some of them
as well keeps these, so that a search comes to what is rare."""

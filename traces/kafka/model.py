"""Recognises Kafka's model in a trace, and gives typed access to the functions of that model.

In:  an instance; a state.
Out: the results of the model's functions, with types.
"""

from __future__ import annotations

from collections.abc import Callable

from isrcheck.models.kafka.properties import promises
from isrcheck.models.kafka.state import broker as commit
from isrcheck.models.kafka.state import broker as min_isr
from isrcheck.models.kafka.state import clients as readers
from isrcheck.models.kafka.state import log
from isrcheck.models.kafka.state import log as epochs
from isrcheck.models.language.model import Instance
from isrcheck.models.language.states import FieldLayout
from isrcheck.models.run import State

FIELDS = (
    *("acknowledged", "controller_epoch", "controller_isr", "controller_leader", "deleted_before", "epoch_cache"),
    *("exposed_record", "fetch", "high_watermark", "is_truncating", "is_up", "isr", "leader", "leader_epoch"),
    *("log_end_offset", "log_epoch", "log_record", "log_start_offset", "metadata_isr", "metadata_leader"),
    *("next_record", "pending", "read_committed_record", "remote_log_end_offset", "response_epoch"),
    *("response_high_watermark", "response_record", "retries_left", "transaction_of", "transaction_state"),
)
SETTINGS = (
    *("EPOCH_AT_BECOME_LEADER", "TRUNC", "acks", "elections", "isolation_level", "log_size", "records", "replicas"),
    "transactions",
)
"""The fields and configuration entries by which a model is recognised as Kafka's."""

SINCE_2_8 = (
    *("controller_partition_epoch", "metadata_partition_epoch", "metadata_leader_epoch", "is_fenced"),
    *("is_shutting_down", "eligible_leader_replicas", "last_known_leader", "partition_epoch", "proposed_isr"),
    *("alter_partition", "requested_leader_epoch", "requested_partition_epoch", "requested_isr", "metadata_position"),
    *("stopped_by", "shutdown_partition_epoch", "remote_broker_epoch", "requested_broker_epoch", "late_fetch_offset"),
    *("diverging_epoch", "diverging_end_offset", "fencings_left", "late_fetches_left", "shutdowns_left"),
    *("is_assigned", "metadata_assigned", "is_caught_up", "log_end_offset_at_fetch", "flushed_offset"),
    *("is_adding", "is_removing", "metadata_adding", "knows_assigned", "knows_adding", "reassignments_left"),
    *("changed_min_isr", "min_isr_position", "min_isr_changes_read", "min_isr_changes_left"),
    *("is_unregistered", "unregistrations_left", "folder_deletions_left", "directory_reports_left"),
    *("dropped_metadata_left", "answered_deletion", "erases_elr"),
    *("admitted_offset", "is_of_former_state", "held_epoch", "held_end_offset"),
)
"""The fields of generations from 2.8 on, and of switches and bounds that are off by default; without those, they have
no cells, or cells of one value."""

OF_IDEMPOTENCE = (
    *("producer_epoch", "heard_leader_epoch", "has_sequence", "log_producer_epoch", "response_producer_epoch"),
    *("snapshot_offset", "replayed_from", "deleted_record", "producer_snapshots_left"),
    *("acknowledged_before", "had_sequence"),
)
"""The fields of an idempotent producer; without one, they have no cells, or cells of one value."""

OF_CONSUMERS = (
    *("position", "known_end_offset", "consumer_leader_epoch", "consumed_epoch", "consumed_record", "has_skipped"),
    "preferred_read_replica",
)
"""The fields of consumers; without one, they have no cells."""

OPTIONAL = frozenset({*SINCE_2_8, *OF_IDEMPOTENCE, *OF_CONSUMERS})
"""The fields that a generation or a configuration may lack."""

latest_epoch: Callable[[State, int], int] = epochs.latest_epoch
is_answered: Callable[[State, int, int], bool] = epochs.is_answered
epoch_for: Callable[[State, int, int], int] = epochs.epoch_for
end_offset_for: Callable[[State, int, int], int] = epochs.end_offset_for

holds_record: Callable[[State, int, int], bool] = log.holds_record
was_deleted: Callable[[State, int], bool] = promises.was_deleted

is_counted: Callable[[State, int, int], bool] = commit.is_in_maximal_isr
"""Whether a leader's high watermark waits for a replica: since 2.8 the maximal ISR, before that the leader's ISR."""

known_min_insync_replicas: Callable[[State, int], int] = min_isr.known_min_insync_replicas

is_judged: Callable[[State, int], bool] = promises.is_judged

first_read: Callable[[State, int], int] = readers.first_read
is_read: Callable[[State, int, int], bool] = readers.is_read
is_exposed: Callable[[State, int, int], bool] = readers.is_exposed
is_exposed_as_committed: Callable[[State, int, int], bool] = readers.is_exposed_as_committed
is_in_transaction: Callable[[State, int], bool] = readers.is_in_transaction
last_stable_offset: Callable[[State, int], int] = readers.last_stable_offset


def is_kafka(instance: Instance) -> bool:
    """Whether the model has all the fields and entries that this package shows."""
    return instance.layouts.keys() >= OPTIONAL | set(FIELDS) and instance.model.entries.keys() >= set(SETTINGS)


def shown_fields(instance: Instance) -> list[FieldLayout]:
    """Return the fields of a model that a reader is shown: all but those that a generation of Kafka does not have."""
    layouts = instance.layouts.values()
    if not is_kafka(instance):
        return [*layouts]
    return [one for one in layouts if one.name not in OPTIONAL or (one.count > 0 and one.low < one.high)]

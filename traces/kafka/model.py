"""Recognises Kafka's model in a trace, and gives typed access to the functions of that model.

In:  an instance; a state.
Out: the results of the model's functions, with types.
"""

from __future__ import annotations

from collections.abc import Callable

from isrcheck.models.kafka.properties import promises
from isrcheck.models.kafka.state import epochs, log, readers
from isrcheck.models.language.model import Instance
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

latest_epoch: Callable[[State, int], int] = epochs.latest_epoch
is_answered: Callable[[State, int, int], bool] = epochs.is_answered
epoch_for: Callable[[State, int, int], int] = epochs.epoch_for
end_offset_for: Callable[[State, int, int], int] = epochs.end_offset_for

holds_record: Callable[[State, int, int], bool] = log.holds_record
was_deleted: Callable[[State, int], bool] = promises.was_deleted

first_read: Callable[[State, int], int] = readers.first_read
is_read: Callable[[State, int, int], bool] = readers.is_read
is_exposed: Callable[[State, int, int], bool] = readers.is_exposed
is_exposed_as_committed: Callable[[State, int, int], bool] = readers.is_exposed_as_committed
is_in_transaction: Callable[[State, int], bool] = readers.is_in_transaction
last_stable_offset: Callable[[State, int], int] = readers.last_stable_offset


def is_kafka(instance: Instance) -> bool:
    """Whether the model has all the fields and entries that this package shows."""
    return instance.layouts.keys() >= set(FIELDS) and instance.model.entries.keys() >= set(SETTINGS)

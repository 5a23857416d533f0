"""The columns for the model `transactions`: recognises the model, and names and explains what lanes.py shows.

In:  an instance.
Out: whether it is one of that model; titles; a legend of the signs. The model itself is not loaded for that.
"""

from __future__ import annotations

from isrcheck.models.language.model import Instance

LEGEND = (
    ("e1", "producer epoch 1"),
    ("c1", "coordinator epoch 1"),
    ("a", "the record of transaction a"),
    ("C, A", "commit marker, abort marker"),
    ("|", "high watermark"),
    (":", "last stable offset, if it is below"),
    ("->", "is being appended to the coordinator's log"),
)

FIELDS = {
    *("coordinator_epoch", "transaction_state", "producer_epoch", "in_transaction", "pending_state", "pending_epoch"),
    *("pending_partition", "marker", "late_marker", "late_marker_epoch", "late_marker_coordinator_epoch"),
    *("log_record", "log_end_offset", "high_watermark", "known_epoch", "known_coordinator_epoch", "verified"),
    *("was_sent", "phase", "epoch", "late_end_txn", "late_end_txn_epoch", "begun_by", "processed_input", "outcome"),
}
ENTRIES = {"partitions", "transactions", "log_size", "producers"}
"""The fields and configuration entries by which the model is recognised."""


def is_transactions(instance: Instance) -> bool:
    """Whether the model has all the fields and entries that these lanes show."""
    return instance.layouts.keys() >= FIELDS and instance.model.entries.keys() >= ENTRIES


def titles(instance: Instance) -> list[str]:
    """Return the titles of the columns after the step."""
    configuration = instance.configuration
    return [
        "coordinator",
        *(f"producer {i}" for i in range(configuration.producers)),
        *(f"partition {p}" for p in range(configuration.partitions)),
    ]


def legend() -> list[str]:
    """Return the meanings of the signs, for the lines below the table."""
    return [f"{sign:<4}  {meaning}" for sign, meaning in LEGEND]

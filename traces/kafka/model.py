"""Typed access to the functions of Kafka's model.

In:  a state, and the arguments of the model's function.
Out: the results of the model's functions, with types.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from isrcheck.models.kafka import promises
from isrcheck.models.kafka.actions import alter_partition
from isrcheck.models.kafka.actions import kraft as kraft_controller
from isrcheck.models.kafka.actions import kraft as metadata
from isrcheck.models.kafka.state import broker as commit
from isrcheck.models.kafka.state import broker as min_isr
from isrcheck.models.kafka.state import clients as readers
from isrcheck.models.kafka.state import controller as assignment
from isrcheck.models.kafka.state import controller as requests
from isrcheck.models.kafka.state import log
from isrcheck.models.kafka.state import log as epochs
from isrcheck.models.run import State

Flags = Any
"""A field of truth values, one per broker."""

latest_epoch: Callable[[State, int], int] = epochs.latest_epoch
is_answered: Callable[[State, int, int], bool] = epochs.is_answered
epoch_for: Callable[[State, int, int], int] = epochs.epoch_for
end_offset_for: Callable[[State, int, int], int] = epochs.end_offset_for
diverges: Callable[[State, int, int, int], bool] = alter_partition.diverges

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

is_refused: Callable[[State, int], bool] = requests.is_refused
names_no_replica: Callable[[State, int], bool] = requests.names_no_replica
has_ineligible_member: Callable[[State, int], bool] = requests.has_ineligible_member
can_lead_alone: Callable[[State, int], bool] = kraft_controller.can_lead_alone
is_new_replica: Callable[[State, int], bool] = metadata.is_new_replica
is_complete_at_once: Callable[[State, Flags], bool] = assignment.is_complete_at_once
is_complete_with_request: Callable[[State, int], bool] = assignment.is_complete_with_request

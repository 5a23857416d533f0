"""Typed access to the functions of Kafka's model."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from isrcheck.models.kafka import promises
from isrcheck.models.kafka.actions import alter_partition, kraft
from isrcheck.models.kafka.state import broker, clients, controller, log
from isrcheck.models.run import State

Flags = Any
"""A field of truth values, one per broker."""

latest_epoch: Callable[[State, int], int] = log.latest_epoch
is_answered: Callable[[State, int, int], bool] = log.is_answered
epoch_for: Callable[[State, int, int], int] = log.epoch_for
end_offset_for: Callable[[State, int, int], int] = log.end_offset_for
diverges: Callable[[State, int, int, int], bool] = alter_partition.diverges

holds_record: Callable[[State, int, int], bool] = log.holds_record
was_deleted: Callable[[State, int], bool] = promises.was_deleted

is_counted: Callable[[State, int, int], bool] = broker.is_in_maximal_isr
"""Whether a leader's high watermark waits for a replica: since 2.8 the maximal ISR, before that the leader's ISR."""

known_min_insync_replicas: Callable[[State, int], int] = broker.known_min_insync_replicas

is_judged: Callable[[State, int], bool] = promises.is_judged

first_read: Callable[[State, int], int] = clients.first_read
is_read: Callable[[State, int, int], bool] = clients.is_read
is_exposed: Callable[[State, int, int], bool] = clients.is_exposed
is_exposed_as_committed: Callable[[State, int, int], bool] = clients.is_exposed_as_committed
is_in_transaction: Callable[[State, int], bool] = clients.is_in_transaction
last_stable_offset: Callable[[State, int], int] = clients.last_stable_offset

is_refused: Callable[[State, int], bool] = controller.is_refused
names_no_replica: Callable[[State, int], bool] = controller.names_no_replica
has_ineligible_member: Callable[[State, int], bool] = controller.has_ineligible_member
is_complete_at_once: Callable[[State, Flags], bool] = controller.is_complete_at_once
is_complete_with_request: Callable[[State, int], bool] = controller.is_complete_with_request
can_lead_alone: Callable[[State, int], bool] = kraft.can_lead_alone
is_new_replica: Callable[[State, int], bool] = kraft.is_new_replica

"""The coordinator's log: a transition is appended to it, and takes effect once the append is replicated.

In:  transitions; the news that the log is replicated; the log of the coordinator before.
Out: the state of every transactional id; a call when a transition is durable.

While one is pending, every other request for that id is refused (CONCURRENT_TRANSACTIONS). Source: fact sheet, section
6.1; Kafka: TransactionStateManager, TransactionLog.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

from isrcheck.conformance.cluster.configuration.bugs import TransactionBug
from isrcheck.conformance.cluster.network.records import Record
from isrcheck.conformance.cluster.transactions.metadata import TransactionMetadata

Durable = Callable[[], None]
"""Called when a transition has taken effect."""


class TransactionLog(Protocol):
    """What a coordinator needs of the log of its partition of `__transaction_state` (log/log.py)."""

    @property
    def records(self) -> tuple[Record, ...]:
        """Every record, oldest first."""

    @property
    def high_watermark(self) -> int:
        """The offset below which records are replicated."""

    def append_as_leader(self, payload: str, leader_epoch: int) -> Record:
        """Append a record in the leader's epoch."""


@dataclass(frozen=True)
class PendingTransition:
    """A transition that is in the log and not replicated yet; `offset` is that of its record."""

    offset: int
    metadata: TransactionMetadata
    durable: Durable


class TransactionStateManager:
    """The transactional ids of one coordinator, loaded from its log."""

    def __init__(
        self,
        log: TransactionLog,
        coordinator_epoch: int,
        bug: TransactionBug | None = None,
        *,
        logs_other_ids: bool = True,
    ) -> None:
        """Load the log. Kafka: loadTransactionMetadata."""
        self._logs_other_ids = logs_other_ids
        self._log = log
        self._bug = bug
        self._coordinator_epoch = coordinator_epoch
        self._pending: dict[str, PendingTransition] = {}
        self._states: dict[str, TransactionMetadata] = {}
        for record in log.records:
            transactional_id, text = json.loads(record.payload)
            self._states[transactional_id] = TransactionMetadata.of(text)

    @property
    def coordinator_epoch(self) -> int:
        """The leader epoch of the log's partition."""
        return self._coordinator_epoch

    @property
    def states(self) -> Mapping[str, TransactionMetadata]:
        """The durable state of each transactional id."""
        return dict(self._states)

    @property
    def pending(self) -> Mapping[str, PendingTransition]:
        """The pending transition of each transactional id that has one."""
        return dict(self._pending)

    def append(self, transactional_id: str, metadata: TransactionMetadata, durable: Durable) -> None:
        """Append a transition to the log. Kafka: appendTransactionToLog."""
        assert transactional_id not in self._pending, "one transition at a time: this is a defect of the cluster"
        text = json.dumps([transactional_id, metadata.text(has_other_ids=self._logs_other_ids)])
        record = self._log.append_as_leader(text, self._coordinator_epoch)
        self._pending[transactional_id] = PendingTransition(record.offset, metadata, durable)
        self.replicated()

    def replicated(self) -> None:
        """The log is replicated up to its high watermark: the transitions below take effect. Kafka:
        updateCacheCallback.
        """
        for transactional_id, each in list(self._pending.items()):
            if each.offset < self._log.high_watermark or self._bug is TransactionBug.PENDING_TAKEN_FOR_DURABLE:
                del self._pending[transactional_id]
                self._states[transactional_id] = each.metadata
                each.durable()

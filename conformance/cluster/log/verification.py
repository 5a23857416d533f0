"""Which first records of a transaction a leader may append: those that the coordinator knows of. KIP-890.

In:  producers whose record waits for the coordinator's answer; appends.
Out: guards, by number.

A guard lives from the question to the coordinator until something of the producer's transactions is appended: so an
answer that comes after the marker lets nothing pass. Source: fact sheet, section 6.5; Kafka: VerificationGuard,
VerificationStateEntry. Left out: that a guard remembers the lowest sequence that was tried (KAFKA-14920).
"""

from __future__ import annotations

import itertools


class VerificationGuards:
    """The present guard of each producer id that has one."""

    def __init__(self) -> None:
        self._numbers = itertools.count(1)
        self._guards: dict[int, int] = {}

    def start(self, producer_id: int) -> int:
        """The guard of a record that is about to be verified. Kafka: maybeStartTransactionVerification."""
        return self._guards.setdefault(producer_id, next(self._numbers))

    def allows(self, producer_id: int, guard: int | None) -> bool:
        """Whether this is the producer's present guard. Kafka: batchMissingRequiredVerification."""
        return guard is not None and self._guards.get(producer_id) == guard

    def clear(self, producer_id: int) -> None:
        """Something was appended: no answer to an earlier question counts. Kafka: clearVerificationStateEntry."""
        self._guards.pop(producer_id, None)

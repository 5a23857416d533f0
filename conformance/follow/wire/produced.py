"""What producers have sent and what they were told, so that a request that is sent again brings no other record.

In:  the records of Produce requests; the offsets at which records were acknowledged.
Out: which records are sent for the first time, and which acknowledgements say something new.

A record of an idempotent producer is known by its sequence number. Any other one is sent again if a record with the
same value, of an earlier request, is not acknowledged yet.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from isrcheck.conformance.follow.format.ndjson import UnreadableError, get
from isrcheck.conformance.follow.wire.lines.messages import listed
from isrcheck.conformance.follow.wire.sessions import entries_of

Number = tuple[int, int, int]
"""Producer id, producer epoch and sequence number."""

SentRecord = tuple[str, Number | None]
"""A record in a request: its value, and its number if its producer is idempotent."""


class Produced:
    """The records that producers have sent, and the acknowledged ones. Online, values may not be repeated."""

    def __init__(self, *, may_repeat: bool = True) -> None:
        self.may_repeat = may_repeat
        self._sent: Counter[str] = Counter()
        self._numbers: defaultdict[str, set[Number]] = defaultdict(set)
        self._acked: defaultdict[str, set[int | None]] = defaultdict(set)
        self._attempts: Counter[str] = Counter()

    @property
    def copies(self) -> int:
        """The most copies of records that leaders can have appended: requests that were sent again, and not refused."""
        return sum(max(0, attempts - self._sent[value]) for value, attempts in self._attempts.items())

    def refused(self, records: Sequence[SentRecord]) -> None:
        """A leader has not appended the records of a request."""
        self._attempts.subtract(value for value, number in records if number is None)

    def offsets(self, value: str) -> set[int]:
        """The offsets at which records with this value were acknowledged."""
        return {offset for offset in self._acked.get(value, ()) if offset is not None}

    def sends(self, records: Sequence[SentRecord]) -> list[str]:
        """Those of the records of a request that were not sent before. Raises UnreadableError."""
        found: list[str] = []
        for value, number in records:
            if self._is_another(value, number) or (number is None and value in found):
                self._check(value, is_repeated=value in self._sent)
                self._sent[value] += 1
                found.append(value)
            if number is None:
                self._attempts[value] += 1
            else:
                self._numbers[value].add(number)
        return found

    def _is_another(self, value: str, number: Number | None) -> bool:
        """Whether the record is another one than those that were sent before with this value."""
        known = self._numbers.get(value, set())
        if number in known:
            return False
        all_acked = self._sent[value] <= len(self._acked.get(value, ()))
        return all_acked or (number is not None and any(one[:2] == number[:2] for one in known))

    def acks(self, value: str, offset: int | None) -> bool:
        """Whether it is news that a record with this value is acknowledged at this offset. Raises UnreadableError."""
        known = self._acked[value]
        if offset in known or (offset is None and known):
            return False
        self._check(value, is_repeated=bool(known))
        known.add(offset)
        self._sent[value] = max(self._sent[value], len(known))
        return True

    def _check(self, value: str, *, is_repeated: bool) -> None:
        if is_repeated and not self.may_repeat:
            raise UnreadableError(
                f"there is another record {value[:60]!r}; a recording with repeated values is not followed online:"
                " follow it with --history"
            )


def records_in(partition: Mapping[str, Any]) -> list[SentRecord]:
    """The records for a partition in a Produce request. Raises UnreadableError."""
    found: list[SentRecord] = []
    for batch in listed(partition, "records"):
        producer, first = get(batch, "producer_id", int, absent=-1), get(batch, "base_sequence", int, absent=-1)
        for at, entry in enumerate(entries_of([batch])):
            number = (producer, get(batch, "producer_epoch", int, absent=-1), first + at)
            found.append((entry.value, number if producer >= 0 and first >= 0 else None))
    return found

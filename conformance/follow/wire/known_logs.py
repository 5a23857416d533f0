"""What the traffic has shown of each broker's log.

In:  records that a broker has answered with, has acknowledged, or was offered; the offsets at which followers fetch.
Out: a broker's whole log, where it is known.

A record that was offered to a follower counts as in its log only after the follower fetches behind it: the answer may
have come too late. A follower's log ends where it fetches, so everything behind that is forgotten.
"""

from __future__ import annotations

from collections import defaultdict

from isrcheck.conformance.follow.wire.sessions import Asked, Entry

MOST_RECORDS = 10_000
"""The longest log: each of its records is one more variable in each state of the search."""

Log = tuple[tuple[str, int], ...]
"""Values and leader epochs, from the first offset of the recording on."""


class KnownLogs:
    """The logs of all brokers, as far as they are known."""

    def __init__(self, first: int = 0) -> None:
        self._first = first
        self._held: defaultdict[int, dict[int, tuple[str, int]]] = defaultdict(dict)
        self._offered: defaultdict[int, tuple[Entry, ...]] = defaultdict(tuple)

    def add(self, broker: int, entry: Entry) -> None:
        """A broker has this record."""
        if entry.offset < self._first:
            return
        self._held[broker][entry.offset] = (entry.value, entry.epoch)

    def offer(self, follower: int, entries: tuple[Entry, ...]) -> None:
        """An answer with these records is on its way to a follower."""
        self._offered[follower] = entries

    def truncate(self, broker: int, end: int) -> None:
        """Forget what a broker had from this offset on."""
        held = self._held[broker]
        for offset in [offset for offset in held if offset >= end]:
            del held[offset]

    def has_records(self, broker: int) -> bool:
        """Whether the traffic has shown a record that the broker has."""
        return bool(self._held[broker])

    def fetches(self, follower: int, asked: Asked) -> Log | None:
        """The log of a follower that fetches; None if not all of it is known."""
        for entry in self._offered.pop(follower, ()):
            self.add(follower, entry)
        self.truncate(follower, asked.offset)
        held = self._held[follower]
        length = asked.offset - self._first
        if not 0 <= length <= MOST_RECORDS or len(held) != length:
            return None
        log = tuple(held[offset] for offset in range(self._first, asked.offset))
        # An entry that the follower has replaced since, unseen, has another epoch than the last one that it names.
        return log if not log or asked.last_epoch in (-1, log[-1][1]) else None

"""Reassignments of a partition, as the messages about it show them.

In:  the replicas that Metadata responses and records of the metadata log show, and the requests of operators, in order.
Out: the replicas at the beginning; the changes of the replicas that no request explains, each with the requests that
     may have made it; and what changes only the order of the replicas.

A broker may lag behind: within a leader epoch replicas are only added, because a change that removes one begins a new
one (PartitionChangeBuilder). So what is older, or smaller in the same epoch, is not news.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

Replicas = tuple[int, ...]
"""The replicas of a partition, the preferred leader first."""


@dataclass
class Assignments:
    """The replicas that were shown, each with the line that shows them first; and the requests with their lines, of
    which one that cancels a reassignment has None.
    """

    shown: list[tuple[int, Replicas]] = field(default_factory=list)
    requests: list[tuple[int, Replicas | None]] = field(default_factory=list)
    _epoch: int = -1
    _in_epoch: set[Replicas] = field(default_factory=set)
    _offset: int = -1

    def show(self, number: int, replicas: Sequence[int], leader_epoch: int) -> None:
        """A broker shows these replicas."""
        if not replicas or self._offset >= 0 or leader_epoch < self._epoch:
            return
        if leader_epoch > self._epoch:
            self._epoch, self._in_epoch = leader_epoch, set()
        if all(set(earlier) <= set(replicas) and earlier != tuple(replicas) for earlier in self._in_epoch):
            self._in_epoch.add(tuple(replicas))
            self._accept(number, tuple(replicas))

    def log(self, number: int, offset: int, replicas: Sequence[int]) -> None:
        """The metadata log has these replicas at this offset."""
        if offset > self._offset:
            self._offset = offset
            self._accept(number, tuple(replicas))

    def _accept(self, number: int, replicas: Replicas) -> None:
        if not self.shown or self.shown[-1][1] != replicas:
            self.shown.append((number, replicas))

    def ask(self, number: int, replicas: Replicas | None) -> None:
        """An operator asks for these replicas, or cancels the reassignment."""
        self.requests.append((number, replicas))

    def join(self, other: Assignments) -> None:
        """Add what messages with the id of the topic show."""
        self.shown = sorted(self.shown + other.shown)
        self.requests = sorted(self.requests + other.requests, key=lambda request: request[0])

    @property
    def is_reassigned(self) -> bool:
        """Whether there is a request, or the replicas change."""
        return bool(self.requests) or len({frozenset(replicas) for _, replicas in self.shown}) > 1

    @property
    def first(self) -> Replicas:
        """The replicas at the beginning; empty if no line before the first request shows them."""
        first_request = self.requests[0][0] if self.requests else None
        known = self.shown[:1]
        return known[0][1] if known and (first_request is None or known[0][0] < first_request) else ()

    def preferred_before(self, number: int) -> int | None:
        """The preferred leader by what lines before this one show or ask for."""
        named = [(at, replicas[0]) for at, replicas in (*self.shown, *self.requests) if replicas and at < number]
        return max(named)[1] if named else None

    def unasked(self) -> dict[int, list[Replicas | None]]:
        """For each change that no request explains: the line that shows the replicas before it, and the requests that
        may have made it. What is added first, and what is left in the end, can be two steps of one request.
        """
        found: dict[int, list[Replicas | None]] = {}
        for at, ((since, before), (until, after)) in enumerate(pairwise(self.shown)):
            if set(before) == set(after) or self._explains(self._last_request(until), before, after):
                continue
            later = self.shown[at + 2][1] if at + 2 < len(self.shown) else after
            targets: list[Replicas | None] = [after, *([later] if set(later) < set(after) else [])]
            found[since] = targets + ([None] if set(after) < set(before) else [])
        return found

    def reordered(self) -> Iterator[int]:
        """The lines that ask for the same replicas in another order, or show them so without a request for it."""
        for number, target in self.requests:
            current = self._current_before(number)
            if target is not None and current and set(target) == set(current) and target != current:
                yield number
        for (_, before), (until, after) in pairwise(self.shown):
            request = self._last_request(until)
            is_asked = request is not None and (request[1] is None or after[: len(request[1])] == request[1])
            if set(before) == set(after) and not is_asked:
                yield until

    def _last_request(self, number: int) -> tuple[int, Replicas | None] | None:
        """The last request before a line."""
        return next((request for request in reversed(self.requests) if request[0] < number), None)

    def _current_before(self, number: int) -> Replicas:
        """The replicas that were last shown or asked for before a line."""
        named = [one for one in (*self.shown, *self.requests) if one[0] < number]
        return max(named, key=lambda one: one[0])[1] or () if named else ()

    @staticmethod
    def _explains(request: tuple[int, Replicas | None] | None, before: Replicas, after: Replicas) -> bool:
        if request is None or request[1] is None:
            return request is not None
        target = set(request[1])
        return set(after) in (target, target | set(before))

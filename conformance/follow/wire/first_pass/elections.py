"""Elections that nobody asked for, and reassignments, as the messages about a partition show them.

In:  the leaders and the assignments that messages show, in order; who departed, and which elections were asked for.
Out: the leader epochs after which the controller gave leadership back to the preferred leader by itself; and the line
     after which the replicas are others.

With `auto.leader.rebalance.enable`, the controller elects the preferred leader, the first of the assignment, from time
to time (ReplicationControlManager.maybeBalancePartitionLeaders). No message asks for it.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise


@dataclass
class Elections:
    """The leaders of a partition: for each leader epoch its leader, and the first line that shows it.

    `rebalanced_after` has the leader epochs that a preferred election ended which nobody asked for. `reassigned_after`
    is the last line that shows the first assignment if a later one has other replicas, and no request said so before.
    """

    leaders: dict[int, tuple[int, int]] = field(default_factory=dict)
    preferred: int | None = None
    rebalanced_after: set[int] = field(default_factory=set)
    reassigned_after: int | None = None
    is_reassigned: bool = False
    _assigned: frozenset[int] | None = None
    _assigned_at: int = 0

    def lead(self, number: int, leader: int, epoch: int) -> None:
        """A message shows the leader of an epoch."""
        self.leaders.setdefault(epoch, (leader, number))

    def assign(self, number: int, replicas: Sequence[int]) -> None:
        """A message shows the replicas, the preferred leader first."""
        if not replicas or self.is_reassigned:
            return
        if self._assigned is None:
            self._assigned, self.preferred = frozenset(replicas), replicas[0]
        if frozenset(replicas) == self._assigned:
            self._assigned_at = number
        else:
            self.is_reassigned, self.reassigned_after = True, self._assigned_at

    def join(self, other: Elections) -> None:
        """Add the leaders that messages with the id of the topic show; these messages show no assignment."""
        for epoch, leader in other.leaders.items():
            self.leaders[epoch] = min(leader, self.leaders.get(epoch, leader), key=lambda one: one[1])

    def judge(self, departures: Sequence[tuple[int, int | None]]) -> None:
        """Find the elections that nobody asked for: the leader before did not depart. Each departure has its line.

        A departure of None is a request for an election.
        """
        lines = [number for number, _ in departures]
        for (epoch, (before, since)), (_, (after, until)) in pairwise(sorted(self.leaders.items())):
            between = departures[bisect_right(lines, since) : bisect_right(lines, until)]
            is_asked = any(broker in (None, before) for _, broker in between)
            if after == self.preferred != before and not is_asked:
                self.rebalanced_after.add(epoch)

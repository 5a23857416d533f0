"""Elections that nobody asked for, as the messages about a partition show them.

In:  the leaders that messages show, in order; who was preferred; who departed, and which elections were asked for.
Out: the leader epochs after which the controller gave leadership back to the preferred leader by itself.

With `auto.leader.rebalance.enable`, the controller elects the preferred leader, the first of the assignment, from time
to time (ReplicationControlManager.maybeBalancePartitionLeaders). No message asks for it.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise


@dataclass
class Elections:
    """The leaders of a partition: for each leader epoch its leader, and the first line that shows it.

    `rebalanced_after` has the leader epochs that a preferred election ended which nobody asked for.
    """

    leaders: dict[int, tuple[int, int]] = field(default_factory=dict)
    rebalanced_after: set[int] = field(default_factory=set)

    def lead(self, number: int, leader: int, epoch: int) -> None:
        """A message shows the leader of an epoch."""
        self.leaders.setdefault(epoch, (leader, number))

    def join(self, other: Elections) -> None:
        """Add the leaders that messages with the id of the topic show; these messages show no assignment."""
        for epoch, leader in other.leaders.items():
            self.leaders[epoch] = min(leader, self.leaders.get(epoch, leader), key=lambda one: one[1])

    def judge(
        self, departures: Sequence[tuple[int, int | None]], preferred_before: Callable[[int], int | None]
    ) -> None:
        """Find the elections that nobody asked for: the leader before did not depart. Each departure has its line.

        A departure of None is a request for an election, or for other replicas. `preferred_before` names the preferred
        leader before a line.
        """
        lines = [number for number, _ in departures]
        for (epoch, (before, since)), (_, (after, until)) in pairwise(sorted(self.leaders.items())):
            between = departures[bisect_right(lines, since) : bisect_right(lines, until)]
            is_asked = any(broker in (None, before) for _, broker in between)
            if after == preferred_before(until) != before and not is_asked:
                self.rebalanced_after.add(epoch)

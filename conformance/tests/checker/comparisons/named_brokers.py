"""The schemes of `check compare-schemes` once more, with every broker by its name, and searched in plain Python.

The model counts brokers that are alike; this does not, shares no code with it, and is only fast enough for few.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace


@dataclass(frozen=True)
class Cluster:
    """Sets of brokers: that run, hold the record, are in the ISR, are eligible; the leader, if there is one."""

    up: frozenset[int]
    holds: frozenset[int]
    isr: frozenset[int]
    eligible: frozenset[int]
    leader: int | None
    is_acknowledged: bool = False


@dataclass(frozen=True)
class Scheme:
    """`min_isr` is None for a majority."""

    replicas: int
    min_isr: int | None
    has_elr: bool
    lag: bool

    def start(self) -> Cluster:
        everyone = frozenset(range(self.replicas))
        return Cluster(everyone, frozenset(), everyone, frozenset(), 0)

    def is_majority(self, brokers: frozenset[int]) -> bool:
        return len(brokers) > self.replicas // 2

    def may_acknowledge(self, s: Cluster) -> bool:
        if self.min_isr is None:
            return self.is_majority(s.up & s.holds)
        return s.isr <= s.holds and len(s.isr) >= self.min_isr

    def candidates(self, s: Cluster) -> frozenset[int]:
        """Who can be elected, if nobody leads."""
        if self.min_isr is None:
            lacking = s.up - s.holds
            return frozenset(one for one in s.up if self.is_majority(s.up if one in s.holds else lacking))
        return s.isr & s.up or s.eligible & s.up

    def successors(self, s: Cluster, failures: int) -> Iterator[Cluster]:
        if s.leader is None:
            for one in self.candidates(s):
                isr = s.isr if self.min_isr is None or s.isr & s.up else frozenset({one})
                yield self.tidied(replace(s, leader=one, isr=isr, eligible=s.eligible - {one}))
        elif s.leader not in s.holds:
            if not s.is_acknowledged:
                yield replace(s, holds=frozenset({s.leader}))
        else:
            yield from (replace(s, holds=s.holds | {one}) for one in s.up - s.holds)
            if self.may_acknowledge(s):
                yield replace(s, is_acknowledged=True)
        if s.leader is not None and self.min_isr is not None:
            if self.lag:
                for one in s.isr - {s.leader}:
                    isr = s.isr - {one}
                    kept = {one} if self.has_elr and len(isr) < self.min_isr else set()
                    yield replace(s, isr=isr, eligible=s.eligible | kept)
            for one in s.up - s.isr:
                if s.leader not in s.holds:  # what it has more than the leader, it truncates
                    yield self.tidied(replace(s, isr=s.isr | {one}, holds=s.holds - {one}))
                elif one in s.holds:
                    yield self.tidied(replace(s, isr=s.isr | {one}))
        if self.replicas - len(s.up) < failures:
            for one in s.up:
                yield Cluster(
                    s.up - {one},
                    s.holds - {one},
                    s.isr - {one},
                    s.eligible - {one},
                    None if one == s.leader else s.leader,
                    s.is_acknowledged,
                )

    def tidied(self, s: Cluster) -> Cluster:
        """With an ISR of the required size, nobody else is eligible."""
        enough = self.min_isr is not None and len(s.isr) >= self.min_isr
        return replace(s, eligible=frozenset() if enough else s.eligible - s.isr)

    def tolerates(self, failures: int) -> dict[str, bool]:
        """Whether writes, reads and data survive so many failures, in every history."""
        before: dict[Cluster, set[Cluster]] = {self.start(): set()}
        waiting = [self.start()]
        while waiting:
            here = waiting.pop()
            for there in self.successors(here, failures):
                if there not in before:
                    before[there] = set()
                    waiting.append(there)
                before[there].add(here)

        def always_possible(good: set[Cluster]) -> bool:
            reach, new = set(good), list(good)
            while new:
                earlier = before[new.pop()] - reach
                reach |= earlier
                new += earlier
            return len(reach) == len(before)

        def can_be_read(s: Cluster) -> bool:
            return not s.is_acknowledged or s.leader in s.holds

        def is_safe(s: Cluster) -> bool:
            return not s.is_acknowledged or (bool(s.holds) and (s.leader is None or s.leader in s.holds))

        return {
            "writes": always_possible({s for s in before if s.is_acknowledged}),
            "reads": always_possible({s for s in before if can_be_read(s)}),
            "data": all(is_safe(s) for s in before),
        }

"""The state of partitions now, as `kafka-topics --describe` shows it.

In:  described partitions, and the least ISR of a write.
Out: `Now`: those without a leader, those whose ISR is too small for acks=all, and those that are not fully replicated.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from isrcheck.checker.kafka_config.cluster import Cluster
from isrcheck.checker.kafka_config.describe import listed
from isrcheck.checker.kafka_config.describe_lines import Partition
from isrcheck.checker.results.terminal import counted


@dataclass(frozen=True)
class Now:
    """The partitions of several topics that are not as they should be; each is in the first group that fits."""

    without_leader: tuple[Partition, ...] = ()
    below_min_isr: tuple[Partition, ...] = ()
    under_replicated: tuple[Partition, ...] = ()

    def lines(self) -> Iterator[str]:
        """Yield a line for each group that cannot be read or written now, or whose new records have one copy."""
        if self.without_leader:
            until = _who_can_lead(self.without_leader)
            yield f"{_have(self.without_leader, 'no leader')}: nothing can be written or read until {until}"
        if self.below_min_isr:
            what = _have(self.below_min_isr, "an ISR below min.insync.replicas")
            yield f"{what}: writes with acks=all are refused"
        alone = [one for one in self.under_replicated if len(one.isr) == 1]
        if alone:
            yield f"{_have(alone, 'one replica in sync')}: new records are acknowledged with one copy"


def now_of(clusters: Iterable[Cluster]) -> Now:
    """Return the state of all partitions of these clusters."""
    found: tuple[list[Partition], ...] = ([], [], [])
    for cluster in clusters:
        least = cluster.min_insync_replicas.value
        for one in cluster.partitions:
            if one.leader is None:
                found[0].append(one)
            elif len(one.isr) < min(least, len(one.replicas)):
                found[1].append(one)
            elif not {*one.target} <= {*one.isr}:
                found[2].append(one)
    return Now(*(tuple(sorted(group, key=lambda one: (one.topic, one.number))) for group in found))


def _have(partitions: Sequence[Partition], what: str) -> str:
    names = listed([one.name for one in partitions])
    if len(partitions) == 1:
        return f"{names} has {what}"
    return f"{counted(len(partitions), 'partition')} have {what} ({names})"


def _who_can_lead(partitions: Sequence[Partition]) -> str:
    """Which broker has to come back; of several partitions, only in general."""
    one = partitions[0]
    if len(partitions) > 1:
        return "a broker of their ISR or ELR is up"
    if one.isr:
        return f"a broker of its ISR ({_ids(one.isr)}) is up"
    if one.elr:
        return f"a broker of its ELR ({_ids(one.elr)}) is up"
    if one.strangers:
        strangers = f"brokers that are no replicas ({_ids(one.strangers)})"
        return f"an unclean election is made by hand (kafka-leader-election), as its ELR names only {strangers}"
    if one.last_known_elr:
        return f"its last known leader ({_ids(one.last_known_elr)}) is up, or an unclean election is allowed"
    return "an unclean election is allowed, as no broker is in its ISR or ELR"


def _ids(brokers: Iterable[int]) -> str:
    return ", ".join(map(str, brokers))

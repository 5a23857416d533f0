"""What a cluster of `conform serve` has beside its topic with records: further topics, racks, settings, permissions.

The partitions of further topics have no records and no fetches, so their replicas follow a rule: each replica whose
broker is active joins the ISR at once, and a broker that is no longer active leaves the ISR at once. Who leads, the
ISR, the ELR and the last known leader then follow from the controller's own rules (`PartitionChange`). Partitions with
the same replicas and settings always have the same state, which is kept once.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from enum import Enum

from isrcheck.conformance.cluster.configuration.protocol import Switches
from isrcheck.conformance.cluster.controller.controller import Election
from isrcheck.conformance.cluster.controller.kraft.replication_control import Assignment, PartitionChange
from isrcheck.conformance.cluster.network.messages import PartitionRegistration
from isrcheck.conformance.wire.driving.configuration import Configuration

MOST_REPLICAS = 3
"""The replicas of a partition of a further topic; fewer if there are fewer brokers."""

CONTROLLERS = (1000, 1001, 1002)
"""The voters of a KRaft quorum: the cluster does not have them as nodes, so their number and ids are constants. The
first leads, in epoch 1."""


class Permission(Enum):
    """What a user needs to be allowed; each value is an operation and the kind of resource, as in Kafka's ACLs."""

    DESCRIBE_TOPIC = "Describe Topic"
    DESCRIBE_CLUSTER = "Describe Cluster"
    DESCRIBE_CONFIGS_TOPIC = "DescribeConfigs Topic"
    DESCRIBE_CONFIGS_CLUSTER = "DescribeConfigs Cluster"


@dataclass(frozen=True)
class Surroundings:
    """What a served cluster has beside its topic with records."""

    topics: int = 0
    """The number of further topics."""
    partitions: int = 10
    """The partitions of each further topic."""
    racks: int = 0
    """The number of racks; broker N is in rack N modulo this number. 0: no broker has a rack."""
    configuration: Configuration | None = None
    """The settings that an operator has made; None: those of the cluster (`configured`)."""

    def rack(self, broker: int) -> str | None:
        """The rack of a broker."""
        return f"rack-{broker % self.racks}" if self.racks else None


Alike = tuple[tuple[int, ...], int, bool]
"""What partitions in the same state share: their replicas, min.insync.replicas, whether unclean elections are on."""


class FurtherTopics:
    """The topics without records. Partition P of topic T has its replicas on brokers T + P, T + P + 1, ..."""

    def __init__(
        self, name: str, around: Surroundings, made: Configuration, brokers: Iterable[int], switches: Switches
    ) -> None:
        """`name`: the name of the topic with records; the further topics are called `name`-1, `name`-2, ..."""
        width = len(str(around.topics))
        self._numbers = {f"{name}-{number:0{width}}": number for number in range(1, around.topics + 1)}
        self._partitions = around.partitions
        self._configuration = made
        self._brokers = tuple(brokers)
        self._active = frozenset(self._brokers)
        # A controller with ZooKeeper, too, begins an epoch when it takes a dead broker out of the ISR.
        self._switches = replace(switches, EPOCH_BUMP_ON_SHRINK=switches.EPOCH_BUMP_ON_SHRINK or not switches.has_kraft)
        self._alike = {name: self._alike_of(name) for name in self._numbers}
        self._states = {
            alike: PartitionRegistration(alike[0], alike[0][0], 0, frozenset(alike[0]))
            for several in self._alike.values()
            for alike in several
        }

    @property
    def partitions(self) -> Mapping[str, int]:
        """The further topics, each with the number of its partitions."""
        return dict.fromkeys(self._numbers, self._partitions)

    def partition(self, topic: str, index: int) -> PartitionRegistration:
        """The present record of a partition."""
        several = self._alike[topic]
        return self._states[several[index % len(several)]]

    def follow(self, active: frozenset[int], distrusted: frozenset[int] = frozenset()) -> None:
        """Adapt the partitions to the brokers that are active now. `distrusted`: those of them that have restarted
        after an unclean shutdown; they leave the ISR and, with ELR, the ELR before they join the ISR again."""
        for broker in sorted(self._active - (active - distrusted)):
            self._active -= {broker}
            self._change(broker, leaves=True)
        for broker in sorted(active - self._active):
            if broker in distrusted and self._switches.ELR:
                self._change(broker, leaves=True, unclean=frozenset({broker}))
            self._active |= {broker}
            self._change(broker)
            self._change(broker, joins=True)

    def _alike_of(self, name: str) -> tuple[Alike, ...]:
        """What the partitions of a topic are like: for partition P, the entry P modulo the number of entries."""
        minimum = int(self._configuration.value(name, "min.insync.replicas"))
        is_unclean = self._configuration.value(name, "unclean.leader.election.enable") == "true"
        count = len(self._brokers)
        starts = (self._numbers[name] + index for index in range(min(self._partitions, count)))
        return tuple(
            (tuple((start + each) % count for each in range(min(MOST_REPLICAS, count))), minimum, is_unclean)
            for start in starts
        )

    def _change(
        self, broker: int, *, leaves: bool = False, joins: bool = False, unclean: frozenset[int] = frozenset()
    ) -> None:
        for alike, now in self._states.items():
            replicas, minimum, is_unclean = alike
            if broker not in replicas or (joins and now.leader is None):
                continue
            change = PartitionChange(
                partition=now,
                may_lead=self._active.__contains__,
                min_isr=min(minimum, len(replicas)),
                switches=self._switches,
                bug=None,
                target_isr=now.isr - {broker} if leaves else now.isr | {broker} if joins else now.isr,
                target=Assignment(replicas),
                election=Election.UNCLEAN if is_unclean else Election.FAIL_OVER,
                unclean=unclean,
                knows_elr=self._switches.ELR,
            ).build()
            if change is not None:
                self._states[alike] = change

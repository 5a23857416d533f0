"""How Kafka assigns the replicas of new partitions to brokers, with and without racks.

This is AdminUtils.assignReplicasToBrokers of Kafka up to 3.9 with ZooKeeper, which chooses start and shift at random.
A KRaft controller stripes the partitions over racks instead (StripedReplicaPlacer); this is not modelled.
"""

from __future__ import annotations


def rack_of(broker: int, brokers: int, racks: int) -> int:
    """Return the rack of a broker, a number from 0: each rack has brokers with successive numbers."""
    return broker * racks // brokers


def assignment(
    brokers: int, partitions: int, replicas: int, racks: int, *, start: int, shift: int, is_rack_aware: bool
) -> list[list[int]]:
    """Return the brokers of each partition's replicas, the preferred leader first. `start` determines the broker of the
    first replica, and `shift` the distance from this broker to the broker of the second replica."""
    order = _alternating(brokers, racks) if is_rack_aware else list(range(brokers))
    rack = {broker: rack_of(broker, brokers, racks) for broker in order} if is_rack_aware else dict.fromkeys(order, 0)
    count = racks if is_rack_aware else 1
    replicas_of_partitions = []
    for partition in range(partitions):
        if partition and partition % brokers == 0:
            shift += 1
        first = (partition + start) % brokers
        chosen = [order[first]]
        candidate = 0
        while len(chosen) < replicas:
            # The candidates are the other brokers, from `shift` on, in turn.
            broker = order[(first + 1 + (shift * count + candidate) % (brokers - 1)) % brokers]
            candidate += 1
            used = {rack[other] for other in chosen}
            if broker not in chosen and (rack[broker] not in used or len(used) == count):
                chosen.append(broker)
        replicas_of_partitions.append(chosen)
    return replicas_of_partitions


def _alternating(brokers: int, racks: int) -> list[int]:
    """Return all brokers, one of each rack in turn: with 9 brokers in 3 racks, 0 3 6 1 4 7 2 5 8."""
    members = [
        [broker for broker in range(brokers) if rack_of(broker, brokers, racks) == rack] for rack in range(racks)
    ]
    longest = max(map(len, members))
    return [of_rack[place] for place in range(longest) for of_rack in members if place < len(of_rack)]

"""The case of a cluster: the settings on which the answers depend, without the rest.

In:  a `Cluster` (checker/kafka_config/cluster.py).
Out: a `Case` (checker/questions/case.py).
"""

from __future__ import annotations

from dataclasses import replace

from isrcheck.checker.kafka_config.cluster import Cluster
from isrcheck.checker.kafka_config.transaction_rules import spelled
from isrcheck.checker.questions.case import Case

MOST_IN_FLIGHT = 5
"""More requests in flight make no difference for the few records of a search."""


def case_of(cluster: Cluster) -> Case:
    """Return the case of a cluster; that of the nearest generation, if its own is not modelled."""
    generation, producer, replicas = cluster.generation, cluster.producer, cluster.replication_factor.value
    case = Case(generation.protocol, tuple(sorted(generation.switches.items())))
    has_epochs = case.has_record_epochs
    is_idempotent = producer.is_idempotent.value and has_epochs
    transactions = cluster.transactions if has_epochs else None
    of_transactions: dict[str, str] = {}
    if transactions is not None and transactions.why_unsearched is None:
        of_transactions = {"protocol": transactions.protocol} | spelled(transactions.values)
    return replace(
        case,
        acks=producer.acks.value,
        replication_factor=replicas,
        min_insync_replicas=min(cluster.min_insync_replicas.value, replicas + 1),
        unclean_election=cluster.unclean_election.value,
        leader_rebalance=cluster.leader_rebalance.value,
        flushes_every_message=cluster.flushes_every_message,
        enable_idempotence=is_idempotent,
        retries=bool(producer.retries.value) and producer.acks.value != "0",
        max_in_flight_requests=1 if producer.in_flight.value == 1 else MOST_IN_FLIGHT,
        numbering=tuple(sorted((name, int(value)) for name, value in producer.numbering.items())),
        transactions=tuple(sorted(of_transactions.items())),
    )

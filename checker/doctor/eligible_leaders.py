"""What eligible leader replicas (ELR, KIP-966) ask of operators, and what defects do to the coordinators' own topics.

In:  a `Cluster`, its `Case`, and the numbers of the known defects to which it is exposed.
Out: lines with their labels, for text.py and as_object.py.

Each line rests on runs of a real cluster and on searches; docs/eligible_leader_replicas.md says which.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from isrcheck.checker.kafka_config.cluster import Cluster
from isrcheck.checker.kafka_config.describe import listed
from isrcheck.checker.kafka_config.describe_lines import Partition
from isrcheck.checker.kafka_config.least_isr import LEAST_ISR
from isrcheck.checker.kafka_settings.keys import Role
from isrcheck.checker.questions.case import Case
from isrcheck.checker.questions.finding import Finding

PAGE = "docs/eligible_leader_replicas.md"

OPERATIONS = (
    "with eligible leader replicas, these can lose acknowledged records or leave a partition without a leader: a"
    " reassignment to fewer replicas; deleting a replica's folder after a clean stop; and, while fewer replicas are in"
    " sync than min.insync.replicas asks for, any reassignment, a change of min.insync.replicas, or unregistering a"
    f" broker ({PAGE})"
)


def claim(case: Case, found: Finding) -> str:
    """Return what the release claims about losses of power and disks: only eligible leader replicas are meant to
    survive them."""
    if not case.has_elr or found.fails or not found.is_known:
        return ""
    return ", as eligible leader replicas claim (KIP-966)"


def operator_rows(case: Case, cluster: Cluster) -> Iterator[tuple[str, str]]:
    """Yield which acts of operators endanger a cluster with ELR, and which topics have no protection by it."""
    if not case.has_elr:
        return
    # The setting itself, which counts as the number of replicas if it is above it: those of the smallest partition.
    least = next(int(one.value) for one in cluster.understood if one.key == LEAST_ISR)
    unequal = list(_without_protection(cluster.partitions, least))
    if case.replication_factor > 1 or unequal:
        yield "Beware", OPERATIONS
    if unequal:
        names = listed([one.name for one in unequal])
        yield (
            "",
            f"{names}: partition 0 has fewer replicas than min.insync.replicas; the controller takes its number for the"
            " whole topic, and keeps no eligible leaders where the leader still waits for more replicas",
        )


def _without_protection(partitions: tuple[Partition, ...], least: int) -> Iterator[Partition]:
    """Yield the partitions of which the controller takes a smaller minimum than the leader does.

    Kafka: ReplicationControlManager.getTopicEffectiveMinIsr takes the replicas of partition 0."""
    first = {one.topic: len(one.replicas) for one in partitions if one.number == 0}
    for one in partitions:
        of_controller = min(least, first.get(one.topic, len(one.replicas)))
        if of_controller < min(least, len(one.replicas)):
            yield one


def coordinator_rows(cluster: Cluster, defects: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield what `defects`, those by which a partition loses records, do to the topics in which coordinators keep what
    clients committed."""
    if not defects:
        return
    which = f"{'defect' if len(defects) == 1 else 'defects'} {listed(defects)}"
    if cluster.transactions is not None:
        yield (
            "Transactions",
            f"{which} can lose records of __transaction_state too: a transaction is undone after its client heard that"
            " it is committed",
        )
    if Role.CONSUMER in cluster.given_roles:
        yield (
            "Groups",
            f"{which} can lose records of __consumer_offsets too: offsets go back after the group heard that they are"
            " committed",
        )

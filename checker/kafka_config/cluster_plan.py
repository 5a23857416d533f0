"""`check --config`: plans the searches for a cluster.

In:  a `Cluster` (checker/kafka_config/cluster.py).
Out: a `ClusterPlan`: instances of the model. Some of the searches decide the verdict, the side searches do not.

Resends and transactions would make the main search too large, so each has a search of its own with fewer faults. The
verdict depends on all of these searches. From 2.8 on, a generation's own bounds are for one record in a log of one; the
searches that need a second entry have a longer log and fewer changes of the ISR.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from isrcheck.checker.kafka_config.cluster import Cluster, read_cluster
from isrcheck.checker.kafka_settings.keys import Role
from isrcheck.models.client_settings import Acks
from isrcheck.models.kafka.generations import MODEL
from isrcheck.models.kafka.state.values import Controller, IsolationLevel, IsrChannel, PositionCheck, Truncation
from isrcheck.models.language.model import Instance, parse
from isrcheck.models.transactions import MODEL as TRANSACTIONS_MODEL

PATIENCE = 3.0
"""After the loss of an acknowledged record is found, the search for other violations continues for this many seconds,
if the user sets no time limit."""

PROMISE = "acked_not_lost"

MOST_IN_FLIGHT_SEARCHED = 5
"""A search uses at most this many requests in flight: more make no difference for its few records."""

MODELLED: Mapping[str, tuple[str, Callable[[Any], int]]] = {
    "replication.factor": ("replicas", int),
    "unclean.leader.election.enable": ("unclean_elections", int),
    "max.in.flight.requests.per.connection": (
        "max_in_flight_requests",
        lambda requests: min(requests, MOST_IN_FLIGHT_SEARCHED),
    ),
}
"""The model's configuration entry for each of these Kafka keys, with the conversion of the value. If Kafka allows
unclean elections, the model allows one."""

MAIN = "as configured"
RESENDS = "where a request is sent again"
RECOGNISED = "where an idempotent producer sends requests again"
TRANSACTIONS = "where records belong to a transaction"
CONSUMED = "where a consumer reads"
OVER_PARTITIONS = "where transactions write to two partitions (model transactions)"
SIDE_SEARCHES = {
    "power_losses": "one broker loses its unflushed data (power)",
    "disk_losses": "one broker comes back with an empty disk",
}
MOVED = "leadership moves while the leader lives (auto.leader.rebalance.enable, on by default)"
MOVED_BY_HAND = "leadership moves while the leader lives (kafka-leader-election; auto.leader.rebalance.enable is off)"
COMPLETE = "isr_is_complete"
"""The promise that one move of leadership can break; losing an acknowledged record takes one more election."""


@dataclass(frozen=True)
class PlannedSearch:
    """One search: its description, instance, properties, and fraction of the time (0: the remaining time)."""

    says: str
    instance: Instance
    only: tuple[str, ...]
    share: float

    @property
    def is_of_transactions(self) -> bool:
        """Whether it is the search of the model `transactions`; all others are of `kafka`."""
        return self.instance.model is TRANSACTIONS_MODEL


@dataclass(frozen=True)
class ClusterPlan:
    """A cluster and the model that is searched for it; `values` are the model's configuration entries.

    If `protocol` is None, `why_undecided` is the reason why nothing can be searched. If neither is None, the nearest
    generation is searched, and the cluster itself stays undecided."""

    cluster: Cluster
    protocol: str | None
    values: Mapping[str, int]
    why_undecided: str | None

    @property
    def is_nearest(self) -> bool:
        """Whether the nearest generation is searched because the cluster's own is not modelled."""
        return self.protocol is not None and self.why_undecided is not None

    def instance(self, **values: int) -> Instance:
        """Return the model's instance for the cluster; `values` override configuration entries."""
        return MODEL.instance(self.protocol, {**self.values, **values})

    def deciding(self) -> list[PlannedSearch]:
        """Return the searches that decide the verdict, first the main search for the cluster as configured."""
        # From 2.8 on, two elections among the changes of the ISR are too many for the time of the command. An unclean
        # election needs two with KRaft: the controller first notes that there is no leader.
        elections = 1 + (self._has_kraft and self.values["unclean_elections"])
        parts = [self._part(MAIN, 0.0, **({"elections": elections} if self._alters_partitions else {}))]
        producer = self.cluster.producer
        if producer.is_idempotent.value and self._has_epochs:
            # A duplicate needs a log of three, two resends, and a leader that crashes.
            bounds = {**self.longer_log(changes=1), "log_size": 3, "retries": 2, "elections": 1, "bounces": 0}
            numbering = {**producer.numbering, "enable_idempotence": 1}
            parts.append(self._part(RECOGNISED, 0.35, **numbering, **bounds))
        elif producer.retries.value and producer.acks.value != "0":
            parts.append(self._part(RESENDS, 0.35, retries=1, crashes=0, **self.longer_log(changes=1)))
        if producer.has_transactions.value and self._has_epochs:
            longer = self.longer_log(changes=1)
            parts.append(self._part(TRANSACTIONS, 0.3, transactions=1, crashes=0, bounces=0, **longer))
        if self.searches_consumers:
            parts.append(self._part(CONSUMED, 0.2, **self._consumer_values()))
        if (search := self.over_partitions()) is not None:
            parts.append(search)
        return parts

    @property
    def searches_consumers(self) -> bool:
        """Whether a consumer is configured that the model has. Without its settings, a search would only take time."""
        return self.cluster.consumer.is_given and self.cluster.consumer.why_unsearched is None

    def _consumer_values(self) -> Mapping[str, int]:
        """Return the configuration of the search with a consumer: two records, and one broker that crashes.

        Since 2.8 the log holds one of them, because a log of two takes a quarter of a minute.
        """
        values = dict(self.cluster.consumer.values)
        if not self._has_epochs:
            values["POSITION_CHECK"] = PositionCheck.NONE  # records without epochs cannot be compared
        if not self._alters_partitions:
            return {**values, "elections": 1, "bounces": 0}
        changes = 1 + (self._has_kraft and self.values["unclean_elections"])
        return {**values, **self.longer_log(changes=changes), "log_size": 1}

    def over_partitions(self) -> PlannedSearch | None:
        """Return the search of the model `transactions`, if the producer has transactions that the model has."""
        transactions = self.cluster.transactions
        if transactions is None or transactions.why_unsearched is not None or not self._has_epochs:
            return None
        bounds = {"partitions": 2, "transactions": 2, "producers": 2, "failovers": 0}
        instance = TRANSACTIONS_MODEL.instance(transactions.protocol, {**bounds, **transactions.values})
        return PlannedSearch(OVER_PARTITIONS, instance, tuple(p.name for p in instance.properties), 0.2)

    def longer_log(self, *, changes: int) -> Mapping[str, int]:
        """Return the bounds of a search with a log of two records, and with so many changes of the ISR and elections;
        nothing up to 2.4, where the generation's own bounds allow them."""
        if not self._alters_partitions:
            return {}
        return {"records": 2, "log_size": 2, "partition_changes": changes, "elections": changes, "fencings": 0}

    @property
    def _alters_partitions(self) -> bool:
        """Whether leaders ask the controller to change the ISR, as since 2.8."""
        return self.instance().configuration.ISR_CHANNEL == IsrChannel.ALTER_PARTITION

    @property
    def _has_kraft(self) -> bool:
        """Whether the controller is a KRaft quorum."""
        return self.instance().configuration.CONTROLLER == Controller.KRAFT

    @property
    def _has_epochs(self) -> bool:
        """Whether records have the format of 0.11, which transactions require."""
        return self.instance().configuration.TRUNC != Truncation.HW

    @property
    def notes(self) -> list[str]:
        """Remarks on configured mechanisms that are not searched, with the reasons."""
        producer, consumer, transactions = self.cluster.producer, self.cluster.consumer, self.cluster.transactions
        notes = []
        if not consumer.is_given:
            notes.append("consumers are not searched: none of their settings is given (--consumer FILE)")
        elif consumer.why_unsearched is not None:
            notes.append(f"consumers are not searched: {consumer.why_unsearched}")
        if transactions and transactions.why_unsearched:
            notes.append(f"transactions over several partitions are not searched: {transactions.why_unsearched}")
        if transactions and transactions.why_none_begins:
            notes.append(f"no transaction can begin: {transactions.why_none_begins}")
        if self._has_epochs:
            return notes
        if producer.is_idempotent.value:
            notes.append("idempotence is not searched: it needs records in the format of 0.11")
        if producer.has_transactions.value:
            notes.append("transactions are not searched: they need records in the format of 0.11")
        return notes

    def side_searches(self) -> list[PlannedSearch]:
        """Return the side searches: each adds one fault, and none affects the verdict."""
        # With KRaft, a broker leads again by a second election: the first one is that of its absence.
        again = {"elections": 2} if self._has_kraft else {}
        parts = [
            PlannedSearch(says, self.instance(**{fault: 1}, **again), (PROMISE,), 0.1)
            for fault, says in SIDE_SEARCHES.items()
        ]
        if self.values["replicas"] > 1:
            says = MOVED if self.cluster.moves_leadership else MOVED_BY_HAND
            parts.append(PlannedSearch(says, self.instance(preferred_elections=1), (COMPLETE,), 0.1))
        return parts

    def _part(self, says: str, share: float, **values: int) -> PlannedSearch:
        instance = self.instance(**values)
        return PlannedSearch(says, instance, tuple(p.name for p in instance.properties), share)


def read_plan(
    files: Sequence[tuple[Role | None, Path]],
    kafka_version: str | None,
    described: Sequence[str] = (),
    topic: str | None = None,
    metadata_version: str | None = None,
) -> ClusterPlan:
    """Read the configuration of a cluster and plan its searches. Raises PropertiesError, UsageError."""
    cluster = read_cluster(files, kafka_version, described, topic, metadata_version)
    generation, producer = cluster.generation, cluster.producer
    most = MODEL.entries["replicas"].most or 0
    replicas = cluster.replication_factor.value
    why = cluster.why_unavailable
    if why is None and replicas > most:
        why = f"{replicas} replicas are more than the model supports ({most})"
    if why is not None:
        return ClusterPlan(cluster, None, {}, why)
    kafka_values = {
        "replication.factor": replicas,
        "unclean.leader.election.enable": cluster.unclean_election.value,
        "max.in.flight.requests.per.connection": producer.in_flight.value,
    }
    sessions = MODEL.instance(generation.protocol).configuration.CONTROLLER == Controller.KRAFT
    values = {
        "fencings": int(sessions),
        **{name: parse(name, MODEL.entries[name], value) for name, value in generation.switches.items()},
        **{entry: meaning(kafka_values[key]) for key, (entry, meaning) in MODELLED.items()},
        "acks": {"all": Acks.ALL, "0": Acks.ZERO, "1": Acks.ONE}[producer.acks.value],
        # Every number above that of the replicas has the same effect: the ISR never reaches it.
        "min_insync_replicas": min(cluster.min_insync_replicas.value, replicas + 1),
        "isolation_level": IsolationLevel[cluster.consumer.isolation_level.value.upper()],
        "start_isr": cluster.partition.isr_number if cluster.partition else 0,
    }
    return ClusterPlan(cluster, generation.protocol, values, generation.why_undecided)

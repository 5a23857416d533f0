"""`check --config`: from a cluster to the searches that answer for it.

In:  a `Cluster` (checker/kafka_config/cluster.py).
Out: a `Question`: instances of the model, some of which decide the verdict, and others that are asked on the side.

What would make the one search too large has a search of its own, with fewer faults: a request that is sent again, and a
transaction. The verdict rests on all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from isrcheck.checker.kafka_config.cluster import Cluster, read_cluster
from isrcheck.checker.kafka_config.kafka_keys import Role
from isrcheck.models.kafka import MODEL
from isrcheck.models.kafka.state.fields import Acks, IsolationLevel, Truncation
from isrcheck.models.language.model import Instance, parse

PATIENCE = 3.0
"""How long the search goes on for lesser promises once an acknowledged record is lost, unless the person says how long
it may take."""

PROMISE = "acked_not_lost"

MOST_IN_FLIGHT_SEARCHED = 5
"""More requests in flight than this make no difference to so few records."""

MODELLED: Mapping[str, tuple[str, Callable[[Any], int]]] = {
    "replication.factor": ("replicas", int),
    "unclean.leader.election.enable": ("unclean_elections", int),
    "max.in.flight.requests.per.connection": (
        "max_in_flight_requests",
        lambda requests: min(requests, MOST_IN_FLIGHT_SEARCHED),
    ),
}
"""Kafka's keys that the model spells otherwise: its entry, and what a value that checker/kafka_config/values.py read is
there. One unclean election is allowed where Kafka allows any."""

MAIN = "as configured"
RESENDS = "where a request is sent again"
TRANSACTIONS = "where records belong to a transaction"
ASIDES = {
    "power_losses": "one broker loses its unflushed data (power)",
    "disk_losses": "one broker comes back with an empty disk",
}
MOVED = "leadership moves while the leader lives (auto.leader.rebalance.enable, which Kafka has on)"
MOVED_BY_HAND = "leadership moves while the leader lives (kafka-leader-election; auto.leader.rebalance.enable is off)"
COMPLETE = "isr_is_complete"
"""The promise that one such move can break; the loss of an acknowledged record takes one election more."""


@dataclass(frozen=True)
class Part:
    """One search: what it asks, of which instance, for which properties, and its share of the time (0: the rest)."""

    says: str
    instance: Instance
    only: tuple[str, ...]
    share: float


@dataclass(frozen=True)
class Question:
    """A cluster, and the model of it. Where there is none (`protocol` is None), `why_undecided` says why.

    With a protocol and `why_undecided`, it is the nearest one, and its answer is not that of the cluster.
    """

    cluster: Cluster
    protocol: str | None
    values: Mapping[str, int]
    why_undecided: str | None

    @property
    def is_nearest(self) -> bool:
        """Whether there is an answer, but for another generation than the cluster's."""
        return self.protocol is not None and self.why_undecided is not None

    def instance(self, **values: int) -> Instance:
        """The model of the cluster, with some entries set anew."""
        return MODEL.instance(self.protocol, {**self.values, **values})

    def deciding(self) -> list[Part]:
        """The searches on which the verdict rests; the first is the cluster as it is configured, and has the rest of
        the time."""
        parts = [self._part(MAIN, 0.0)]
        if self.cluster.producer.retries.value and self.cluster.producer.acks.value != "0":
            parts.append(self._part(RESENDS, 0.35, retries=1, crashes=0))
        if self.cluster.producer.has_transactions.value and self._has_epochs:
            parts.append(self._part(TRANSACTIONS, 0.3, transactions=1, crashes=0, bounces=0))
        return parts

    @property
    def _has_epochs(self) -> bool:
        """Whether records have the format of 0.11, without which the model has no transactions either."""
        return self.instance().configuration.TRUNC != Truncation.HW

    @property
    def notes(self) -> list[str]:
        """What was not searched, and why."""
        if self.cluster.producer.has_transactions.value and not self._has_epochs:
            return ["transactions are not searched: they need records in the format of 0.11"]
        return []

    def asides(self) -> list[Part]:
        """The questions on the side, which do not decide the verdict: one more fault each."""
        parts = [Part(says, self.instance(**{fault: 1}), (PROMISE,), 0.1) for fault, says in ASIDES.items()]
        if self.values["replicas"] > 1:
            says = MOVED if self.cluster.moves_leadership else MOVED_BY_HAND
            parts.append(Part(says, self.instance(preferred_elections=1), (COMPLETE,), 0.1))
        return parts

    def _part(self, says: str, share: float, **values: int) -> Part:
        instance = self.instance(**values)
        left_out = self.cluster.undecided_properties
        return Part(says, instance, tuple(p.name for p in instance.properties if p.name not in left_out), share)


def read_question(
    files: Sequence[tuple[Role | None, Path]],
    kafka_version: str | None,
    described: Sequence[str] = (),
    topic: str | None = None,
) -> Question:
    """Read what was given and model the cluster. Raises PropertiesError, UsageError."""
    cluster = read_cluster(files, kafka_version, described, topic)
    generation, producer = cluster.generation, cluster.producer
    most = MODEL.entries["replicas"].most or 0
    replicas = cluster.replication_factor.value
    why = cluster.why_unavailable
    if why is None and replicas > most:
        why = f"{replicas} replicas are more than the model takes ({most})"
    if why is not None:
        return Question(cluster, None, {}, why)
    told = {
        "replication.factor": replicas,
        "unclean.leader.election.enable": cluster.unclean_election.value,
        "max.in.flight.requests.per.connection": producer.in_flight.value,
    }
    values = {
        **{name: parse(name, MODEL.entries[name], value) for name, value in generation.switches.items()},
        **{entry: meaning(told[key]) for key, (entry, meaning) in MODELLED.items()},
        "acks": {"all": Acks.ALL, "0": Acks.ZERO, "1": Acks.ONE}[producer.acks.value],
        # More than all of them is never reached, whatever the number.
        "min_insync_replicas": min(cluster.min_insync_replicas.value, replicas + 1),
        "isolation_level": IsolationLevel[cluster.isolation_level.value.upper()],
        "start_isr": cluster.partition.isr_number if cluster.partition else 0,
    }
    return Question(cluster, generation.protocol, values, generation.why_undecided)

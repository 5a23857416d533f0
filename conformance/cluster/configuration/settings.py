"""An operator's settings, and the initial state of a cluster."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum


class AutoOffsetReset(Enum):
    """Where a consumer continues if its position does not exist. Fact sheet, section 7."""

    EARLIEST = "earliest"
    LATEST = "latest"
    NOTHING = "none"


class ClusterError(Exception):
    """An impossible operation was requested; the message is one line: the fault, the place, the cure."""


@dataclass(frozen=True)
class Settings:
    """Settings named by Kafka's keys, with underscores for dots; times in ms. Defaults: fact sheet, sections 2.1, 4.1,
    5.4.

    A driver that cares only about the order of events sets `replica_fetch_wait_max_ms` and `replica_fetch_backoff_ms`
    to 0: a fetch without new records is still parked, but its wait ends at once.
    """

    min_insync_replicas: int = 2
    """The value of the topic at the start; with KRaft it can be changed."""
    replicas_of_partition_0: int | None = None
    """The number of replicas of the topic's first partition; None: the cluster's partition is the first."""
    unclean_leader_election_enable: bool = False
    replica_lag_time_max_ms: int = 10_000
    replica_lag_max_messages: int = 4_000
    """Only in 0.8."""
    replica_fetch_max_records: int = 2_147_483_647
    """Stands for `replica.fetch.max.bytes`: a response carries at most so many records."""
    replica_fetch_wait_max_ms: int = 500
    replica_fetch_backoff_ms: int = 1_000
    replica_socket_timeout_ms: int = 30_000
    replica_high_watermark_checkpoint_interval_ms: int = 5_000
    request_timeout_ms: int = 30_000
    broker_session_timeout_ms: int = 9_000
    segment_records: int = 4
    """Stands for `segment.bytes`, for logs in files."""
    auto_offset_reset: AutoOffsetReset = AutoOffsetReset.NOTHING
    """The consumers' auto.offset.reset; NOTHING leaves the choice to the user of the consumer."""
    follower_fetching: bool = False
    """Stands for `replica.selector.class`: brokers that do not lead serve consumers, too (KIP-392)."""
    idempotent: bool = False
    """The producer's `enable.idempotence`."""
    retries: int = 2_147_483_647
    """The producer's."""
    max_in_flight_requests_per_connection: int = 5


@dataclass(frozen=True)
class Start:
    """A cluster's initial state in leader epoch 0: all replicas run and fetch; the leader knows all log end offsets."""

    replicas: int = 3
    """The number of brokers."""
    leader: int = 0
    isr: frozenset[int] = frozenset()
    """The ISR at the start; empty: every assigned replica."""
    log: tuple[str, ...] = ()
    """Payloads of acknowledged records, held by every member of the ISR, and below its high watermark."""
    held: tuple[tuple[int, int], ...] = field(default=())
    """For each replica outside the ISR, how many of these records it holds."""
    checkpointed: tuple[tuple[int, int], ...] = field(default=())
    """The high watermark in a broker's checkpoint file, if it is older than the broker's own."""
    assignment: tuple[int, ...] = ()
    """The assigned brokers, in the order in which a KRaft controller elects; empty: all, by their numbers."""
    slow: frozenset[int] = frozenset()
    """Followers whose last fetch is longer ago than replica.lag.time.max.ms; all others have just fetched."""

    def __post_init__(self) -> None:
        """Check that the fields agree. Errors: `ClusterError` if `isr`, `assignment` or `held` is impossible."""
        if self.leader not in self.in_sync or not self.in_sync <= set(self.assigned) <= set(range(self.replicas)):
            raise ClusterError(
                f"start: the ISR {sorted(self.in_sync)} has to contain the leader {self.leader} and only replicas"
                f" below {self.replicas}; correct `isr`"
            )
        for broker, count in self.held:
            if broker in self.in_sync or not 0 <= count <= len(self.log):
                raise ClusterError(f"start: broker {broker} cannot hold {count} of {len(self.log)} records; fix `held`")

    @property
    def assigned(self) -> tuple[int, ...]:
        """The assigned replicas in order: `assignment`, or all brokers if `assignment` is empty."""
        return self.assignment or tuple(range(self.replicas))

    @property
    def in_sync(self) -> frozenset[int]:
        """The ISR at the start: `isr`, or all assigned replicas if `isr` is empty."""
        return self.isr or frozenset(self.assigned)

    def log_end_offset_of(self, broker: int) -> int:
        """The number of records that a broker holds at the start."""
        return len(self.log) if broker in self.in_sync else dict(self.held).get(broker, 0)

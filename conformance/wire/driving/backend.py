"""The state from which requests of clients are answered: the cluster, the addresses of its brokers, consumer groups.

Groups are kept in the memory of the server: the topic __consumer_offsets and its replication are left out. A group has
at most one member and needs no rebalancing: the member is the leader, and assigns the partition to itself. Another
consumer is refused, as with group.max.size=1 (KIP-389). The fact sheet does not cover groups; only what a single
consumer needs is implemented.
"""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Protocol

from kio.schema.errors import ErrorCode

from isrcheck.conformance.cluster.clients.clients import Answered, ConsumerRequest
from isrcheck.conformance.cluster.clients.transactions import Transactions
from isrcheck.conformance.cluster.cluster import Cluster
from isrcheck.conformance.cluster.network.messages import (
    Acks,
    Errors,
    PartitionRegistration,
    Payload,
    ProduceResponse,
)
from isrcheck.conformance.cluster.network.records import Control
from isrcheck.conformance.wire.driving.configuration import Configuration, configured
from isrcheck.conformance.wire.driving.events import Tell
from isrcheck.conformance.wire.driving.topics import MOST_REPLICAS, FurtherTopics, Permission, Surroundings
from isrcheck.conformance.wire.format.batches import Batch

At = tuple[str, str, int]
"""A group, a topic and a partition."""

Committed = tuple[int, str | None]
"""An offset and its metadata."""

NOTHING: Committed = (-1, "")


class Groups:
    """Stores the offsets that consumer groups have committed, and those sent in transactions that have not ended."""

    def __init__(self) -> None:
        self._committed: dict[At, Committed] = {}
        self._held: dict[tuple[int, int], dict[At, Committed]] = {}

    def commit(self, at: At, offset: int, metadata: str | None) -> None:
        """Commit an offset of a group for a partition."""
        self._committed[at] = offset, metadata

    def committed(self, at: At) -> Committed:
        """The offset and metadata that the group has committed for a partition; (-1, "") before the first commit."""
        return self._committed.get(at, NOTHING)

    def partitions_of(self, group: str) -> dict[str, list[int]]:
        """The partitions of each topic for which a group has committed an offset."""
        partitions: dict[str, list[int]] = {}
        for name, topic, partition in self._committed:
            if name == group:
                partitions.setdefault(topic, []).append(partition)
        return partitions

    def names(self) -> set[str]:
        """The groups that have committed an offset."""
        return {group for group, _, _ in self._committed}

    def hold(self, producer: tuple[int, int], at: At, offset: int, metadata: str | None) -> None:
        """Keep an offset that this producer (id, epoch) sent as part of a transaction, until the transaction ends."""
        self._held.setdefault(producer, {})[at] = offset, metadata

    def release(self, producer: tuple[int, int], control: Control) -> None:
        """Commit or drop, as `control` says, the offsets kept for a producer's transaction that has now ended."""
        held = self._held.pop(producer, {})
        if control is Control.COMMIT:
            self._committed.update(held)


@dataclass
class Member:
    """The member of a group: its generation, its assignment, and the time of its last request (`heard`, in ms)."""

    name: str
    generation: int
    session_timeout: int
    heard: int
    assignment: bytes = b""


class Membership:
    """Stores the only member of each consumer group; answers the member's requests."""

    def __init__(self) -> None:
        self._members: dict[str, Member] = {}
        self._numbers = itertools.count(1)
        self._generations = itertools.count(1)

    def names(self) -> set[str]:
        """The groups that have a member."""
        return set(self._members)

    def member(self, group: str) -> Member | None:
        """The member of a group; None if it has none."""
        return self._members.get(group)

    def join(self, group: str, name: str, session_timeout: int, now: int) -> tuple[ErrorCode, Member | None]:
        """Let a consumer become the member of a group, or the present member join again in a new generation. An empty
        `name` requests a new name. Returns an error and None, or no error and the member."""
        present = self._members.get(group)
        if present is not None and now - present.heard > present.session_timeout:
            present = None
        if present is not None and present.name != name:
            return ErrorCode.group_max_size_reached, None
        if present is None and name:
            return ErrorCode.unknown_member_id, None
        name = name or f"member-{next(self._numbers)}"
        self._members[group] = member = Member(name, next(self._generations), session_timeout, now)
        return ErrorCode.none, member

    def sync(
        self, group: str, name: str, generation: int, assignments: dict[str, bytes], now: int
    ) -> tuple[ErrorCode, bytes]:
        """Store the assignment that the member made as the group's leader; return no error and the member's assignment.
        Return an error and b"" if `name` or `generation` is not current."""
        code = self.heartbeat(group, name, generation, now)
        if code is not ErrorCode.none:
            return code, b""
        member = self._members[group]
        member.assignment = assignments.get(name, member.assignment)
        return code, member.assignment

    def heartbeat(self, group: str, name: str, generation: int, now: int) -> ErrorCode:
        """Note that a group's member is alive; return `none`, or an error if `name` or `generation` is not current."""
        member = self._members.get(group)
        if member is None or member.name != name:
            return ErrorCode.unknown_member_id
        if member.generation != generation:
            return ErrorCode.illegal_generation
        member.heard = now
        return ErrorCode.none

    def leave(self, group: str, name: str) -> ErrorCode:
        """Remove the member `name` from its group; return `none`, or an error if `name` is not the member."""
        member = self._members.get(group)
        if member is None or member.name != name:
            return ErrorCode.unknown_member_id
        del self._members[group]
        return ErrorCode.none


MOST_STORED = 256 << 20
"""The most bytes of batches that a server takes."""

NO_LEADER = -1


class Disconnected(Exception):
    """Raised if a broker does not answer, so that the client's connection breaks."""


class Moves(Protocol):
    """The part of `Pump` (pump.py) that `Backend` needs."""

    def run(self) -> None:
        """Bring the cluster up to date: deliver messages, and fire the timers that are due."""


class Backend:
    """The listeners' access to the cluster: passes clients' requests to brokers, and returns the brokers' answers."""

    def __init__(
        self, cluster: Cluster, pump: Moves, topic: str, tell: Tell, around: Surroundings | None = None
    ) -> None:
        self.cluster = cluster
        self.pump = pump
        self.topic = topic
        self.tell = tell
        self.around = around or Surroundings()
        self._made = self.around.configuration or configured(cluster.settings, cluster.switches)
        self.addresses: Mapping[int, tuple[str, int]] = {}
        self.transactions: Transactions = cluster.coordinator
        """The coordinator of the transactions of the clients."""
        self.denied: set[Permission] = set()
        """What the clients are not allowed."""
        self.further = FurtherTopics(topic, self.around, self._made, cluster.brokers, cluster.switches)
        """The topics without records."""
        self.topics: Mapping[str, int] = {topic: 1, **self.further.partitions}
        """All topics, each with the number of its partitions."""
        self._processes = {each: cluster.process_of(each) for each in cluster.brokers}
        self._stopped_cleanly: dict[int, bool] = {}
        self._distrusted: set[int] = set()
        self._stored = 0

    # What the cluster tells administrators

    def live(self) -> list[int]:
        """The numbers of the brokers that run, in order."""
        return [each for each in self.cluster.brokers if self.cluster.is_running(each)]

    def active(self) -> list[int]:
        """The brokers that run and, with KRaft, are not fenced and do not shut down; in order."""
        if not self.cluster.has_kraft:
            return self.live()
        registered = self.cluster.metadata_log()[-1].brokers
        return [each for each in self.live() if registered[each].is_active]

    def follow(self) -> None:
        """Adapt the further topics to the brokers that are active now."""
        for broker, former in self._processes.items():
            process = self.cluster.process_of(broker)
            if process and process != former and not self._stopped_cleanly.pop(broker, False):
                self._distrusted.add(broker)
            elif not process and former:
                self._stopped_cleanly[broker] = self.cluster.observe_broker(broker).has_stopped_cleanly
            self._processes[broker] = process
        active = frozenset(self.active())
        self.further.follow(active, active & self._distrusted)
        self._distrusted -= active

    def partition(self, topic: str, index: int) -> PartitionRegistration:
        """The record of a partition, as the controller has it."""
        if topic != self.topic:
            return self.further.partition(topic, index)
        if self.cluster.has_kraft:
            return self.cluster.metadata_log()[-1].partition
        now = self.cluster.controller_metadata()
        return PartitionRegistration(self.cluster.assigned, now.leader, now.leader_epoch, now.isr, now.partition_epoch)

    def configuration(self) -> Configuration:
        """The settings that somebody has made until now."""
        made = self._made
        if not self.cluster.has_kraft:
            return made
        now = self.cluster.metadata_log()[-1].min_insync_replicas
        if now == self.cluster.settings.min_insync_replicas:
            return made
        own = {**made.topic.get(self.topic, {}), "min.insync.replicas": str(now)}
        return replace(made, topic={**made.topic, self.topic: own})

    def static(self, broker: int) -> dict[str, str]:
        """The settings in the server.properties of a broker, as far as the cluster has them."""
        settings, rack = self.cluster.settings, self.around.rack(broker)
        number = str(broker)
        of_kraft = {
            "node.id": number,
            "process.roles": "broker",
            "broker.session.timeout.ms": str(settings.broker_session_timeout_ms),
        }
        return {
            "broker.id": number,
            **(of_kraft if self.cluster.has_kraft else {}),
            **({"broker.rack": rack} if rack else {}),
            "auto.create.topics.enable": "false",
            "auto.leader.rebalance.enable": "false",
            "default.replication.factor": str(min(MOST_REPLICAS, len(self.cluster.brokers))),
            "replica.lag.time.max.ms": str(settings.replica_lag_time_max_ms),
            "request.timeout.ms": str(settings.request_timeout_ms),
        }

    def leader_told_by(self, broker: int, client: str) -> tuple[int, int]:
        """The leader and the leader epoch that this broker knows; NO_LEADER for a leader that is unknown or down."""
        leader, epoch = self.cluster.leader_known_to(broker)
        return (leader if leader is not None and self.cluster.is_running(leader) else NO_LEADER, epoch)

    def coordinator(self) -> int:
        """The broker on which the coordinators of groups and transactions run: the first broker that runs; if no broker
        runs, the first broker."""
        return next(iter(self.live()), self.cluster.brokers[0])

    # Records and offsets

    async def append(self, broker: int, batch: Batch, acks: Acks) -> ProduceResponse | None:
        """Send a batch to a broker, and wait for the answer; None with acks=0. Raises Disconnected."""
        if self._stored + len(batch.payload) > MOST_STORED:
            self.tell(f"the server holds {MOST_STORED >> 20} MiB of records, and is full; start it anew")
            return ProduceResponse(-1, Errors.KAFKA_STORAGE_ERROR)
        self._stored += len(batch.payload)
        send = partial(self.cluster.outside.produce, broker, batch.payload, acks, batch.stamp, batch.records)
        if acks is Acks.NONE:
            send(lambda _: None)  # there is no response to take
            self.pump.run()
            return None
        answer = await self._answer(send)
        assert isinstance(answer, ProduceResponse)
        return answer

    async def ask(self, broker: int, request: ConsumerRequest, client: str) -> Payload:
        """Send a consumer's request to a broker, and wait for the answer. Raises Disconnected."""
        return await self._answer(lambda answered: self.cluster.outside.ask(broker, request, answered))

    async def _answer(self, send: Callable[[Answered], None]) -> Payload:
        answer: asyncio.Future[Payload | None] = asyncio.get_running_loop().create_future()

        def settle(payload: Payload | None) -> None:
            if not answer.done():  # the client may have disconnected
                answer.set_result(payload)

        send(settle)
        self.pump.run()
        response = await answer
        if response is None:
            raise Disconnected
        return response

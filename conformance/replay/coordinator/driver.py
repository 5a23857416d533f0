"""Executes the steps of a trace on a cluster with group coordinators, only from outside.

In:  a trace of `coordinator`, and its steps one by one.
Out: a `CoordinatedCluster` after each step.

In the model, leaders and followers exchange records and high watermarks at once. Here a follower fetches: its fetch
tells the leader how far it has come, so that one whose response is lost advances the high watermark, and nothing else.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from isrcheck.conformance.cluster import acts
from isrcheck.conformance.cluster.configuration.protocol import Switches, generation
from isrcheck.conformance.cluster.configuration.settings import ClusterError
from isrcheck.conformance.cluster.coordinator.coordinator import EventKind, RecordKind
from isrcheck.conformance.cluster.coordinator.system import CoordinatedCluster
from isrcheck.conformance.cluster.network.messages import FetchResponse, MetadataImage
from isrcheck.conformance.replay.coordinator.projection import name_of, project
from isrcheck.models.language.model import Instance, Step
from isrcheck.traces.format.trace import Trace

REPLICATION = "4.0"
"""The generation of the brokers below the coordinators. What they do here is the same in all releases since."""

MOST_FETCHES = 8
"""A follower needs fewer fetches to find where its log diverges from the leader's."""


def switches_of(instance: Instance) -> Switches:
    """The switches of a cluster that behaves like the model."""
    given = instance.configuration
    return replace(
        generation(REPLICATION),
        LISTENS_AS_FOLLOWER=bool(given.LISTENS_AS_FOLLOWER),
        FLUSHES_EMPTY_BATCH=bool(given.FLUSHES_EMPTY_BATCH),
        APPENDS_IN_ITS_EPOCH=bool(given.APPENDS_IN_ITS_EPOCH),
    )


class CoordinatorDriver:
    """Replays traces one after the other, each on a new cluster. The methods are those of `System` (system.py)."""

    cluster: CoordinatedCluster

    def __init__(self, bug: str | None = None) -> None:
        """With `bug`, the clusters have a seeded bug."""
        self.bug = bug

    def begin(self, trace: Trace) -> None:
        """Create a cluster whose broker 0 leads an empty log, and has an active coordinator."""
        self.configuration, self.handled = trace.instance.configuration, 0
        self.cluster = CoordinatedCluster(switches_of(trace.instance), self.configuration.replicas, self.bug)

    def take(self, step: Step) -> None:
        """Take the next step of the trace. Raises ClusterError if the cluster cannot take it."""
        take: Callable[..., object] = getattr(self, step.action)
        take(*step.ordinals)

    def observe(self) -> dict[str, Any]:
        """The values of all variables of the model."""
        return project(self.cluster.observe_coordinators(), self.configuration.writes)

    # ------------------------------------------------------------------------------------------------- the coordinators

    def coordinator_handles_commit(self, broker: int) -> None:
        self._write(broker, RecordKind.COMMIT)

    def coordinator_handles_member(self, broker: int) -> None:
        self._write(broker, RecordKind.MEMBER)

    def coordinator_converts_group(self, broker: int) -> None:
        self._write(broker, RecordKind.CLASSIC)

    def _write(self, broker: int, kind: RecordKind) -> None:
        self.cluster.write(broker, kind, name_of(self.handled))
        self.handled += 1

    def coordinator_flushes_batch(self, broker: int) -> None:
        self.cluster.coordinator_of(broker).flush()

    def coordinator_handles_high_watermark(self, broker: int) -> None:
        self.cluster.coordinator_of(broker).handle_high_watermark()

    def coordinator_unloads(self, broker: int) -> None:
        """The events up to the last unloading are handled."""
        coordinator = self.cluster.coordinator_of(broker)
        while any(event.kind is EventKind.UNLOAD for event in coordinator.queue):
            coordinator.handle_event()

    def coordinator_loads(self, broker: int) -> None:
        """All events are handled: those before the last loading change nothing that lasts."""
        coordinator = self.cluster.coordinator_of(broker)
        while coordinator.queue:
            coordinator.handle_event()

    coordinator_stays = coordinator_loads

    # -------------------------------------------------------------------------------------------------- the replication

    def controller_elects(self, elected: int) -> None:
        self.cluster.move_leadership(elected)

    def broker_applies_leadership(self, broker: int) -> None:
        """The broker reads the metadata log to its end."""
        images = [
            message.number
            for message in self.cluster.messages()
            if message.destination == broker and isinstance(message.payload, MetadataImage)
        ]
        for number in images[:-1]:
            self.cluster.drop(number)
        self.cluster.deliver(images[-1])

    def follower_truncates(self, follower: int) -> None:
        for _ in range(MOST_FETCHES):
            ends = self._log_of(follower)
            if ends == self._log_of(self._leader())[: len(ends)]:
                return
            self._fetch(follower)
        raise ClusterError(f"follower {follower} does not stop truncating")

    def follower_fetches(self, follower: int) -> None:
        """The follower fetches until it has the next record, or a higher high watermark."""
        before = self.cluster.observe_broker(follower)
        for _ in range(MOST_FETCHES):
            self._fetch(follower)
            after = self.cluster.observe_broker(follower)
            if (before.log_end_offset, before.high_watermark) != (after.log_end_offset, after.high_watermark):
                return
        raise ClusterError(f"follower {follower} fetches nothing new from broker {self._leader()}")

    def leader_advances_high_watermark(self) -> None:
        """Every follower fetches, and the responses are lost, but for those that say where logs diverge."""
        for follower in self.cluster.brokers:
            while follower != self._leader() and self._sends_fetch(follower).diverging_epoch is not None:
                acts.apply(self.cluster, follower, self._leader())
            if follower != self._leader():
                response = acts.response_in_flight(self.cluster, follower, self._leader())
                self.cluster.drop(response.number if response else -1)

    def _fetch(self, follower: int) -> None:
        self._sends_fetch(follower)
        acts.apply(self.cluster, follower, self._leader())

    def _sends_fetch(self, follower: int) -> FetchResponse:
        """A follower sends a fetch, which the leader answers; the response, which is in flight."""
        leader = self._leader()
        if acts.ask(self.cluster, follower, leader) is None:
            acts.complete_parked_fetch(self.cluster, leader, follower)
        response = acts.response_in_flight(self.cluster, follower, leader)
        if response is None or not isinstance(response.payload, FetchResponse):
            raise ClusterError(f"broker {leader} does not answer the fetch of broker {follower}")
        return response.payload

    def _leader(self) -> int:
        leader = self.cluster.controller_metadata().leader
        if leader is None:
            raise ClusterError("the partition has no leader")
        return leader

    def _log_of(self, broker: int) -> tuple[str, ...]:
        return acts.payloads(self.cluster, broker)

"""A cluster whose partition is one of `__consumer_offsets`: each broker has a group coordinator.

Clients and coordinators exchange no messages here: a write is handled when the driver says so, and its answer arrives
at once. The partition is replicated as in any other cluster with a KRaft controller.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from isrcheck.conformance.cluster.cluster import Cluster
from isrcheck.conformance.cluster.configuration.bugs import CoordinatorBug
from isrcheck.conformance.cluster.configuration.protocol import Switches
from isrcheck.conformance.cluster.configuration.settings import ClusterError, Settings, Start
from isrcheck.conformance.cluster.controller.controller import Election
from isrcheck.conformance.cluster.coordinator.coordinator import (
    CoordinatorRuntime,
    CoordinatorView,
    GroupRecord,
    RecordKind,
)
from isrcheck.conformance.cluster.network.messages import Errors, MetadataImage
from isrcheck.conformance.cluster.observe import ClusterView


@dataclass(frozen=True)
class HandledWrite:
    """A write operation that the coordinator of a broker has handled, and its answer; None before the answer."""

    name: str
    kind: RecordKind
    broker: int
    answer: Errors | None = None


@dataclass(frozen=True)
class CoordinatedView:
    """A cluster, the coordinator of each running broker (None if not active), and all handled writes in order."""

    cluster: ClusterView
    coordinators: Mapping[int, CoordinatorView | None]
    writes: tuple[HandledWrite, ...]


PROMPT = Settings(
    min_insync_replicas=1,
    replica_fetch_max_records=1,
    replica_fetch_wait_max_ms=0,
    replica_fetch_backoff_ms=0,
)
"""A follower fetches one record at a time, and waits for nothing."""


class CoordinatedCluster(Cluster):
    """Brokers with group coordinators. At the start, broker 0 leads an empty log, and its coordinator is loaded."""

    def __init__(self, switches: Switches, replicas: int = 2, bug: str | None = None) -> None:
        super().__init__(switches, Start(replicas=replicas), PROMPT)
        self._switches = switches
        self._coordinator_bug = None if bug is None else CoordinatorBug[bug.upper()]
        self._coordinators = {number: self._started_on(number) for number in self.brokers}
        self._writes: list[HandledWrite] = []
        self._answers: dict[int, Errors] = {}
        self._coordinators[0].handle_event()

    def coordinator_of(self, broker: int) -> CoordinatorRuntime:
        """The coordinator of a broker's process. Errors: `ClusterError` if no process runs."""
        if not self.process_of(broker):
            raise ClusterError(f"broker {broker} does not run, so it has no coordinator; restart it first")
        return self._coordinators[broker]

    def observe_coordinators(self) -> CoordinatedView:
        """The observed state of the cluster and of its coordinators. Observing changes nothing."""
        running = [broker for broker in self.brokers if self.process_of(broker)]
        coordinators = {broker: self._coordinators[broker].observe() for broker in running}
        writes = tuple(replace(write, answer=self._answers.get(at)) for at, write in enumerate(self._writes))
        return CoordinatedView(self.observe(), coordinators, writes)

    def write(self, broker: int, kind: RecordKind, name: str) -> None:
        """Let the coordinator of a broker handle the write `name`. Errors: as for `CoordinatorContext.write`."""
        number = len(self._writes)

        def respond(error: Errors) -> None:
            self._answers[number] = error

        self.coordinator_of(broker).write(GroupRecord(kind, name), respond)
        self._writes.append(HandledWrite(name, kind, broker))

    def move_leadership(self, broker: int) -> None:
        """Make a broker the leader, as an administrator does: put the broker first among the replicas, and hold a
        preferred election. Errors: `ClusterError` if the broker leads already.
        """
        self.begin_reassignment((broker, *(each for each in self.brokers if each != broker)))
        self.elect(Election.PREFERRED, broker)

    def deliver(self, number: int) -> None:
        """Deliver a message; if it is metadata, tell the broker's coordinator. Errors: as for `Cluster.deliver`."""
        message = self._network.look(number)
        super().deliver(number)
        if isinstance(message.payload, MetadataImage) and isinstance(message.destination, int):
            self._coordinators[message.destination].metadata_applied()

    def restart(self, broker: int) -> None:
        """Start a new process, with a coordinator that is not loaded. Errors: as for `Cluster.restart`."""
        super().restart(broker)
        self._coordinators[broker] = self._started_on(broker)

    def _started_on(self, broker: int) -> CoordinatorRuntime:
        running = self._broker(broker).running
        assert running is not None, f"broker {broker} has just been started: this is a defect of the cluster"
        return CoordinatorRuntime(running.partition, self._switches, self._coordinator_bug)

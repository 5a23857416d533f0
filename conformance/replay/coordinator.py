"""Replays traces of the model `coordinator` on a cluster with group coordinators, through public methods only.

In the model, a follower gets records and the high watermark in one step. In the cluster it fetches, and the fetch shows
the leader its log end. To advance only the leader's high watermark, the driver drops the responses to such fetches.

Some traces cannot be replayed. In a cluster, a follower's fetch shows the leader the follower's log end, unless their
logs diverge, and the leader immediately advances its high watermark to the smallest log end; the model's leader may
wait, and also counts the records of a follower that has not truncated its log yet. A cluster's follower adopts its
leader's high watermark even if that is lower than its own; the model's follower keeps its own. Kafka's coordinator
cannot load a log in which a group's conversion to a classic group is followed by a record of a consumer group, or by a
second conversion; the model's coordinator loads it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from isrcheck.conformance.cluster import acts
from isrcheck.conformance.cluster.configuration.protocol import generation
from isrcheck.conformance.cluster.configuration.settings import ClusterError
from isrcheck.conformance.cluster.coordinator.coordinator import CoordinatorView, EventKind, GroupRecord, RecordKind
from isrcheck.conformance.cluster.coordinator.system import CoordinatedCluster, CoordinatedView
from isrcheck.conformance.cluster.network.messages import Errors, FetchResponse
from isrcheck.conformance.cluster.observe import BrokerView
from isrcheck.conformance.implemented import with_flags
from isrcheck.models.coordinator.runtime import Answer, Kind
from isrcheck.models.language import NONE
from isrcheck.models.language.model import Step
from isrcheck.models.run import State
from isrcheck.traces.format.trace import Trace

KINDS = {RecordKind.COMMIT: Kind.COMMIT, RecordKind.MEMBER: Kind.MEMBER, RecordKind.CLASSIC: Kind.CLASSIC}


def name_of(write: int) -> str:
    """The name of the write with a given number in the model: a letter."""
    return chr(ord("a") + write)


def number_of(name: str) -> int:
    """The number of the write with this name in the model."""
    return ord(name) - ord("a")


def project(view: CoordinatedView, writes: int) -> dict[str, Any]:
    """The values of all variables of the model; `writes` is the number of writes in the model."""
    controller, handled = view.cluster.controller, view.writes
    left = writes - len(handled)
    active = [coordinator for coordinator in view.coordinators.values() if coordinator]
    awaited = {number_of(name): offset for coordinator in active for name, offset in coordinator.deferred}
    brokers = [
        _of_broker(broker, writes) | _of_coordinator(view.coordinators[broker.number], writes)
        for broker in view.cluster.brokers
    ]
    return {
        "leader": controller.leader,
        "leader_epoch": controller.leader_epoch,
        "next_write": len(handled),
        "kind": [KINDS[each.kind] for each in handled] + [Kind.NONE] * left,
        "handled_by": [each.broker for each in handled] + [NONE] * left,
        "answer": [_answer(each.answer) for each in handled] + [Answer.NONE] * left,
        "awaited_offset": [awaited.get(write, 0) for write in range(writes)],
    } | {name: [broker[name] for broker in brokers] for name in brokers[0]}


def _answer(error: Errors | None) -> Answer:
    if error is None:
        return Answer.NONE
    return Answer.ACKNOWLEDGED if error is Errors.NONE else Answer.FAILED


def _of_broker(view: BrokerView, writes: int) -> dict[str, Any]:
    log = [number_of(GroupRecord.of(record.payload).name) for record in view.log]
    return {
        "known_epoch": view.leader_epoch,
        "leads": view.leadership is not None,
        "log": log + [NONE] * (writes - len(log)),
        "log_end_offset": view.log_end_offset,
        "high_watermark": view.high_watermark,
    }


def _of_coordinator(view: CoordinatorView | None, writes: int) -> dict[str, Any]:
    """The variables of a broker's coordinator by name; all are false or 0 for an inactive coordinator (None)."""
    applied = {*view.group.commits, *view.group.members, view.group.converted_by} if view else set()
    batch = view.batch if view else ()
    return {
        "is_active": view is not None,
        "loaded_in": view.epoch if view else 0,
        "applied": [name_of(write) in applied for write in range(writes)],
        "batch": [name_of(write) in batch for write in range(writes)],
        "last_written_offset": view.last_written_offset if view else 0,
        "unload_is_queued": view is not None and view.unload_is_queued,
        "is_listening": view is not None and view.is_listening,
        "heard_high_watermark": (view.noted_high_watermark or 0) if view else 0,
    }


FETCHES, ADVANCES, LOADS = "follower_fetches", "leader_advances_high_watermark", "coordinator_loads"
TIMED = (FETCHES, ADVANCES, LOADS)
"""The steps that a cluster may be unable to take as the model does."""


def why_no_cluster_follows(trace: Trace) -> str | None:
    """Why a cluster cannot follow the trace, with the first impossible step; None if a cluster can follow it."""
    replicas = range(trace.instance.configuration.replicas)
    known_ends = {(leader, follower): 0 for leader in replicas for follower in replicas}
    for position, step in enumerate(trace.steps, start=1):
        before, after = (State(trace.instance, trace.states[at]) for at in (position - 1, position))
        leader = after.leader
        if step.action == LOADS and not _is_valid(before, step.ordinals[0]):
            return (
                f"step {position} loads a log in which a record of a consumer group comes behind its conversion to a"
                " classic group; Kafka's coordinator fails to load it, the model's does not"
            )
        if step.action == "broker_applies_leadership":
            (broker,) = step.ordinals
            if after.leads[broker] and not before.leads[broker]:
                known_ends |= {(broker, follower): NONE for follower in replicas}
        fetches: tuple[int, ...] = ()
        if step.action == FETCHES:
            fetches = step.ordinals
            if before.high_watermark[fetches[0]] > before.high_watermark[leader]:
                return (
                    f"in step {position}, broker {fetches[0]} fetches from a leader with a lower high watermark, and"
                    " keeps its own; a follower of a cluster takes its leader's"
                )
        elif step.action == ADVANCES:
            fetches = tuple(follower for follower in replicas if not _diverges(before, follower))
        known_ends |= {(leader, follower): before.log_end_offset[follower] for follower in fetches}
        reached = min(known_ends[leader, follower] for follower in replicas if follower != leader)
        if fetches and after.high_watermark[leader] != max(reached, before.high_watermark[leader]):
            return (
                f"in step {position}, the followers of broker {leader} have reported that all have {max(reached, 0)}"
                f" records, and its high watermark is {after.high_watermark[leader]}; a cluster's leader advances it at"
                " once, and no further"
            )
    return None


def _log_of(state: State, broker: int) -> list[int]:
    return [state.log[broker][offset] for offset in range(state.log_end_offset[broker])]


def _diverges(state: State, follower: int) -> bool:
    """Whether a follower's log has records that the leader's log lacks."""
    log = _log_of(state, follower)
    return log != _log_of(state, state.leader)[: len(log)]


def _is_valid(state: State, broker: int) -> bool:
    """Whether a broker's log has no conversion to a classic group, or only commits of offsets after the conversion."""
    kinds = [state.kind[write] for write in _log_of(state, broker)]
    return Kind.CLASSIC not in kinds or {*kinds[kinds.index(Kind.CLASSIC) + 1 :]} <= {Kind.COMMIT}


REPLICATION = "4.0"
"""The generation of the brokers below the coordinators. What they do here is the same in all releases since."""

MOST_FETCHES = 8
"""A follower needs fewer fetches to find where its log diverges from the leader's."""


class CoordinatorDriver:
    """Replays traces one after the other, each on a new cluster. The methods are those of `System` (system.py)."""

    cluster: CoordinatedCluster

    def __init__(self, bug: str | None = None) -> None:
        """`bug`: the name of the bug that is seeded in the clusters; None: no bug."""
        self.bug = bug

    def begin(self, trace: Trace) -> None:
        """Create a cluster whose broker 0 leads an empty log, and has an active coordinator."""
        self.configuration, self.handled = trace.instance.configuration, 0
        switches = with_flags(generation(REPLICATION), trace.instance)
        self.cluster = CoordinatedCluster(switches, self.configuration.replicas, self.bug)

    def take(self, step: Step) -> None:
        """Take the next step of the trace. Raises ClusterError if the cluster cannot take it."""
        take: Callable[..., object] = getattr(self, step.action)
        take(*step.ordinals)

    def observe(self) -> dict[str, Any]:
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
        """The coordinator handles the events in its queue, up to and including the last UNLOAD event."""
        coordinator = self.cluster.coordinator_of(broker)
        while any(event.kind is EventKind.UNLOAD for event in coordinator.queue):
            coordinator.handle_event()

    def coordinator_loads(self, broker: int) -> None:
        """The coordinator handles all events in its queue; the result depends only on the last load event."""
        coordinator = self.cluster.coordinator_of(broker)
        while coordinator.queue:
            coordinator.handle_event()

    coordinator_stays = coordinator_loads

    # -------------------------------------------------------------------------------------------------- the replication

    def controller_elects(self, elected: int) -> None:
        self.cluster.move_leadership(elected)

    def broker_applies_leadership(self, broker: int) -> None:
        acts.learn(self.cluster, broker)

    def follower_truncates(self, follower: int) -> None:
        for _ in range(MOST_FETCHES):
            held = acts.payloads(self.cluster, follower)
            if held == acts.payloads(self.cluster, self._leader())[: len(held)]:
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
        """Every follower fetches, so that the leader learns the follower's log end. The responses are lost, except
        those that say where the logs diverge."""
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
        """A follower sends a fetch, which the leader answers; returns the response, which is in flight."""
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

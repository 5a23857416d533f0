"""Executes the model's steps on a cluster, only from outside: by messages, timers, faults, elections and clients.

The driver reads the whole trace beforehand, to find out when time has to pass and when a checkpoint has to be written
(timing.py). It never writes a field of a broker.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from isrcheck.conformance.cluster import acts
from isrcheck.conformance.cluster.broker.broker import TimerKind
from isrcheck.conformance.cluster.cluster import Cluster
from isrcheck.conformance.cluster.configuration.settings import ClusterError, Settings, Start
from isrcheck.conformance.cluster.network.messages import (
    DeleteRecordsResponse,
    Isolation,
)
from isrcheck.conformance.cluster.network.records import Record
from isrcheck.conformance.cluster.observe import BrokerView
from isrcheck.conformance.implemented import ISOLATIONS, RESETS, switches_of, system_of
from isrcheck.conformance.replay.kraft_timing import DROP
from isrcheck.conformance.replay.projection import (
    Observations,
    Projected,
    alters_partitions,
    has_kraft,
    payload_of,
    project,
    reader_of,
)
from isrcheck.conformance.replay.steps import PARTS, Replay, cells_of, late_fetches, read_metadata
from isrcheck.conformance.replay.system import StepRefusedError
from isrcheck.conformance.replay.timing import timing_of
from isrcheck.models.kafka.state.values import AlterPartition, Fetch
from isrcheck.models.language import NONE
from isrcheck.models.language.model import Instance, Step
from isrcheck.models.messages import UsageError
from isrcheck.models.run import Cells
from isrcheck.traces.format.trace import Trace

LAG = 10
"""The time in ms after which a leader regards a follower that has not caught up as slow."""


class Driver:
    """Replays traces one after the other, each on a new cluster. Implements `System` (system.py)."""

    cluster: Cluster
    replay: Replay

    def __init__(self, bug: str | None = None, logs: Path | None = None) -> None:
        """`bug`: the bug seeded in the clusters; `logs`: a folder that gets a subfolder with each cluster's logs."""
        self.bug = bug
        self.logs = logs
        self.begun = 0

    def begin(self, trace: Trace) -> None:
        """Create a cluster in the trace's initial state. Raises MissingMechanismError for a protocol that the cluster
        does not implement, UntimelyError if no timing makes a cluster follow the trace, and UsageError for a trace of a
        model other than `kafka`."""
        if system_of(trace.instance) != "kafka" or trace.instance.swaps:
            raise UsageError("this driver replays only traces of kafka without swapped actions; give such a trace")
        switches = switches_of(trace.instance)
        self.instance = trace.instance
        self.configuration = trace.instance.configuration
        self.timing = timing_of(trace)
        self.begun += 1
        settings = Settings(
            min_insync_replicas=self.configuration.min_insync_replicas,
            replicas_of_partition_0=self.configuration.replicas_of_partition_0 or None,
            unclean_leader_election_enable=self.configuration.unclean_elections > 0,
            idempotent=bool(self.configuration.enable_idempotence),
            max_in_flight_requests_per_connection=self.configuration.max_in_flight_requests,
            # In the model, only the order of events matters.
            replica_fetch_backoff_ms=0,
            replica_fetch_wait_max_ms=0,
            replica_lag_time_max_ms=LAG,
            replica_lag_max_messages=self.configuration.replica_lag_max_messages,
            auto_offset_reset=RESETS[self.configuration.auto_offset_reset],
            follower_fetching=bool(self.configuration.follower_fetching),
        )
        assignment = self.timing.kraft.assignment
        start = replace(
            start_of(self.instance, trace.states[0]),
            checkpointed=tuple(self.timing.checkpointed.items()),
            assignment=tuple(
                r
                for r in assignment
                if not self.configuration.start_assignment or self.configuration.start_assignment >> r & 1
            ),
            slow=self.timing.slow,
        )
        folder = None if self.logs is None else self.logs / f"trace-{self.begun}"
        self.cluster = Cluster(switches, start, settings, self.bug, folder)
        if has_kraft(self.configuration):  # in the model, the initial log is on disk
            for broker in self.cluster.brokers:
                self.cluster.fire(broker, TimerKind.LOG_FLUSH)
        self.replay = Replay(self.cluster, trace, assignment, ISOLATIONS[self.configuration.isolation_level])
        parts = [part(self.replay) for part in PARTS]
        self.steps = {name: getattr(part, name) for part in parts for name in dir(part) if name[0] != "_"}
        for consumer in range(self.configuration.consumers):
            self.cluster.tell_consumer(start.leader, reader_of(consumer), self.replay.isolation)
        self.seen = Observations(common=max(cells_of(self.instance, trace.states[0], "log_end_offset")))
        self.seen.note(self.cluster.observe())  # brokers that stay down were up before, and were read from
        for broker, is_up in enumerate(cells_of(self.instance, trace.states[0], "is_up")):
            if not is_up:
                self.cluster.crash(broker)
                del self.seen.last_epochs[broker]  # it will load them from its disk
        self._between_steps()
        for isolation in Isolation:  # readers that have not read anything yet
            self.cluster.drop(self.cluster.consume(0, isolation.value, isolation))

    def take(self, step: Step) -> None:
        """Take the next step of the trace. Raises StepRefusedError."""
        self.replay.next_step()
        try:
            for broker, offset in self.timing.kraft.reads.get(self.replay.position, {}).items():
                read_metadata(self.cluster, broker, offset, is_dropped=step.action == DROP)
            self.steps[step.action](*step.ordinals)
            self._between_steps()
        except ClusterError as error:
            raise StepRefusedError(str(error)) from None

    def observe(self) -> Projected:
        """The values of all variables of the model except the budgets (faults left), which a cluster does not have."""
        view = self.cluster.observe()
        leaders = [broker for broker in view.brokers if broker.leadership is not None]
        self.seen.note(
            view, {leader.number: {each: self._read(leader, each) for each in Isolation} for leader in leaders}
        )
        return project(self.instance, view, self.seen)

    def _read(self, leader: BrokerView, isolation: Isolation) -> tuple[Record, ...]:
        """The records that a consumer with this isolation level receives if it reads a leader's whole log."""
        self.cluster.seek(leader.log_start_offset, isolation.value)
        before = self._all_read(isolation)
        acts.read(self.cluster, leader.number, isolation.value, isolation)
        return self._all_read(isolation)[len(before) :]

    def _all_read(self, isolation: Isolation) -> tuple[Record, ...]:
        return next(consumer.read for consumer in self.cluster.observe_consumers() if consumer.name == isolation.value)

    # ---------------------------------------------------------------------------------------------- between two steps

    def _between_steps(self) -> None:
        """Deliver responses to clients, lose the messages that the model discards, and fire the timers that are due."""
        # If the answer to DeleteRecords is a step of the model, it is held until that step.
        acts.deliver_answers(self.cluster, (DeleteRecordsResponse,) * int(self.configuration.DELETION_IS_ANSWERED))
        self._give_up_fetches()
        self._give_up_proposals()
        self._give_up_late_fetches()
        for broker in self.cluster.brokers:
            if (self.replay.position, broker) in self.timing.checkpoints:
                self.cluster.fire(broker, TimerKind.HIGH_WATERMARK_CHECKPOINT)
            # In the model every log start is checkpointed.
            if self.configuration.delete_records and acts.view_of(self.cluster, broker).is_up:
                self.cluster.fire(broker, TimerKind.LOG_START_OFFSET_CHECKPOINT)
        if self.replay.position in self.timing.pauses:
            self.cluster.advance(LAG + 1)

    def _before_and_after(self, name: str) -> tuple[Cells, Cells]:
        """The values of a variable of the model, as flat lists, before and after the present step."""
        position = self.replay.position
        return self.replay.cells(name, max(0, position - 1)), self.replay.cells(name, position)

    def _give_up_fetches(self) -> None:
        """Break the connections of the fetches that the model discards in this step. A fetch that only the cluster has
        is left alone, so that the comparison finds it."""
        before, after = self._before_and_after("fetch")
        replicas = self.configuration.replicas
        for follower in range(replicas):
            for leader in range(replicas):
                pair = follower * replicas + leader
                if before[pair] != Fetch.NONE and after[pair] == Fetch.NONE:
                    self._give_up(follower, leader)

    def _give_up_proposals(self) -> None:
        """Deliver each ISR request that the model discards in this step, and its answer. The model discards a request
        if its sender has restarted since; it discards an answer that is a refusal, or whose receiver has ended."""
        if not alters_partitions(self.configuration):
            return
        before, after = self._before_and_after("alter_partition")
        for broker in range(self.configuration.replicas):
            if before[broker] != AlterPartition.NONE and after[broker] == AlterPartition.NONE:
                acts.finish_alter_isr(self.cluster, broker)

    def _give_up_late_fetches(self) -> None:
        """Lose the fetches in flight whose sending process has ended, except a fetch that the model still has."""
        if not self.configuration.late_fetches:
            return
        _, now = self._before_and_after("late_fetch_offset")
        for pair, offset in enumerate(now):
            leader, follower = divmod(pair, self.configuration.replicas)
            kept = int(offset != NONE)  # the last fetch
            late = late_fetches(self.cluster, follower, leader)
            for message in late[: len(late) - kept]:
                self.cluster.drop(message.number)

    def _give_up(self, follower: int, leader: int) -> None:
        fetchers = acts.view_of(self.cluster, follower).fetchers
        thread = next((fetcher for fetcher in fetchers if fetcher.source == leader), None)
        if thread is None or thread.outstanding is None:
            return
        parked = acts.view_of(self.cluster, leader).leadership
        if parked is not None and any(number == follower for number, _, _ in parked.parked_fetches):
            self.cluster.fire(leader, TimerKind.DELAYED_FETCH, follower)
        for message in self.cluster.messages():
            if thread.outstanding in (message.number, message.in_reply_to):
                self.cluster.drop(message.number)


def start_of(instance: Instance, state: Cells) -> Start:
    """The `Start` of a cluster that has the initial state of a trace."""
    (leader,) = cells_of(instance, state, "controller_leader")
    isr = frozenset(r for r, is_member in enumerate(cells_of(instance, state, "controller_isr")) if is_member)
    ends = cells_of(instance, state, "log_end_offset")
    return Start(
        replicas=len(ends),
        leader=leader,
        isr=isr,
        log=tuple(payload_of(record) for record in range(ends[leader])),
        held=tuple((r, end) for r, end in enumerate(ends) if r not in isr),
    )

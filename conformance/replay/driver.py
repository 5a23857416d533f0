"""Executes the model's steps on a cluster, only from outside: by messages, timers, faults, elections and clients.

In:  a trace of `kafka`, and its steps one by one.
Out: a `Cluster` after each step.

The driver reads the whole trace beforehand, to find out when time has to pass and when a checkpoint has to be written
(timing.py). It never writes a field of a broker.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from isrcheck.conformance.cluster import acts
from isrcheck.conformance.cluster.broker.timers import TimerKind
from isrcheck.conformance.cluster.client_operations import PRODUCER
from isrcheck.conformance.cluster.cluster import Cluster
from isrcheck.conformance.cluster.configuration.settings import ClusterError, Settings, Start
from isrcheck.conformance.cluster.controller.election import Election
from isrcheck.conformance.cluster.network.alter_isr_messages import AlterIsrRequest, AlterIsrResponse
from isrcheck.conformance.cluster.network.messages import Acks, DeleteRecordsResponse, Isolation, LeaderAndIsr
from isrcheck.conformance.cluster.network.records import Control, Record
from isrcheck.conformance.cluster.views import BrokerView
from isrcheck.conformance.implemented import ACKS, ISOLATIONS, RESETS, switches_of, system_of
from isrcheck.conformance.replay.kraft.projection import has_kraft
from isrcheck.conformance.replay.kraft.steps import KraftSteps
from isrcheck.conformance.replay.kraft.timing import DROP
from isrcheck.conformance.replay.projection import (
    Observations,
    Projected,
    alters_partitions,
    payload_of,
    producer_of,
    project,
    reader_of,
)
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


class Driver(KraftSteps):
    """Replays traces one after the other, each on a new cluster. Implements `System` (system.py)."""

    cluster: Cluster
    trace: Trace

    def __init__(self, bug: str | None = None, logs: Path | None = None) -> None:
        """With `bug`, the clusters have a seeded bug; with `logs`, each keeps its logs in its own folder there."""
        self.bug = bug
        self.logs = logs
        self.begun = 0

    def begin(self, trace: Trace) -> None:
        """Create a cluster in the trace's initial state. Raises MissingMechanismError for a protocol that the cluster
        does not implement, UntimelyError if no timing makes a cluster follow the trace, and UsageError for a trace of
        another model.
        """
        if system_of(trace.instance) != "kafka" or trace.instance.swaps:
            raise UsageError("this driver replays only traces of kafka without swapped actions; give such a trace")
        switches = switches_of(trace.instance)
        self.trace = trace
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
        self.assignment = self.timing.kraft.assignment
        start = replace(
            start_of(self.instance, trace.states[0]),
            checkpointed=tuple(self.timing.checkpointed.items()),
            assignment=tuple(
                r
                for r in self.assignment
                if not self.configuration.start_assignment or self.configuration.start_assignment >> r & 1
            ),
            slow=self.timing.slow,
        )
        folder = None if self.logs is None else self.logs / f"trace-{self.begun}"
        self.cluster = Cluster(switches, start, settings, self.bug, folder)
        if has_kraft(self.configuration):  # in the model, what is there at the start is on disk
            for broker in self.cluster.brokers:
                self.cluster.fire(broker, TimerKind.LOG_FLUSH)
        self.isolation = ISOLATIONS[self.configuration.isolation_level]
        for consumer in range(self.configuration.consumers):
            self.cluster.tell_consumer(start.leader, reader_of(consumer), self.isolation)
        self.seen = Observations(common=max(cells_of(self.instance, trace.states[0], "log_end_offset")))
        self.seen.note(self.cluster.observe())  # brokers that are down for good were up before, and were read from
        for broker, is_up in enumerate(cells_of(self.instance, trace.states[0], "is_up")):
            if not is_up:
                self.cluster.crash(broker)
                self.seen.lose_memory(broker)
        self.position = 0
        self._between_steps()
        for isolation in Isolation:  # readers that have not read anything yet
            self.cluster.drop(self.cluster.consume(0, isolation.value, isolation))

    def take(self, step: Step) -> None:
        """Take the next step of the trace. Raises StepRefusedError."""
        take: Callable[..., None] = getattr(self, f"_{step.action}")
        self.position += 1
        try:
            for broker, offset in self.timing.kraft.reads.get(self.position, {}).items():
                self.read_metadata(broker, offset, is_dropped=step.action == DROP)
            take(*step.ordinals)
            self._between_steps()
        except ClusterError as error:
            raise StepRefusedError(str(error)) from None

    def observe(self) -> Projected:
        """The values of all variables of the model, except the budgets, which a cluster does not have."""
        view = self.cluster.observe()
        leaders = [broker for broker in view.brokers if broker.leadership is not None]
        self.seen.note(
            view, {leader.number: {each: self._read(leader, each) for each in Isolation} for leader in leaders}
        )
        return project(self.instance, view, self.seen)

    def _read(self, leader: BrokerView, isolation: Isolation) -> tuple[Record, ...]:
        """The records that a consumer receives if it reads a leader's whole log."""
        self.cluster.seek(leader.log_start_offset, isolation.value)
        before = self._all_read(isolation)
        acts.read(self.cluster, leader.number, isolation.value, isolation)
        return self._all_read(isolation)[len(before) :]

    def _all_read(self, isolation: Isolation) -> tuple[Record, ...]:
        return next(one.read for one in self.cluster.observe_consumers() if one.name == isolation.value)

    # ---------------------------------------------------------------------------------------------- between two steps

    def _between_steps(self) -> None:
        """Deliver responses to clients, give up fetches as the model does, and fire the timers that are due."""
        # Where the answer to DeleteRecords is a step of the model, it is held until then.
        acts.deliver_answers(self.cluster, (DeleteRecordsResponse,) * int(self.configuration.DELETION_IS_ANSWERED))
        self._give_up_fetches()
        self._give_up_proposals()
        self._give_up_late_fetches()
        for broker in self.cluster.brokers:
            if (self.position, broker) in self.timing.checkpoints:
                self.cluster.fire(broker, TimerKind.HIGH_WATERMARK_CHECKPOINT)
            # In the model every log start is checkpointed.
            if self.configuration.delete_records and acts.view_of(self.cluster, broker).is_up:
                self.cluster.fire(broker, TimerKind.LOG_START_OFFSET_CHECKPOINT)
        if self.position in self.timing.pauses:
            self.cluster.advance(LAG + 1)

    def _give_up_fetches(self) -> None:
        """Break the connections of the fetches that this step of the model gives up.

        A fetch that the cluster has and the model does not is left alone, so that the comparison finds it.
        """
        before, after = (
            cells_of(self.instance, self.trace.states[at], "fetch") for at in (max(0, self.position - 1), self.position)
        )
        replicas = self.configuration.replicas
        for follower in range(replicas):
            for leader in range(replicas):
                pair = follower * replicas + leader
                if before[pair] != Fetch.NONE and after[pair] == Fetch.NONE:
                    self._give_up(follower, leader)

    def _give_up_proposals(self) -> None:
        """Let the messages about the ISR arrive that this step of the model makes void.

        They are the request of a process that has restarted since, a refusal, and an answer to a process that is gone.
        """
        if not alters_partitions(self.configuration):
            return
        before, after = (
            cells_of(self.instance, self.trace.states[at], "alter_partition")
            for at in (max(0, self.position - 1), self.position)
        )
        for broker in range(self.configuration.replicas):
            if before[broker] != AlterPartition.NONE and after[broker] == AlterPartition.NONE:
                acts.finish_alter_isr(self.cluster, broker)

    def _give_up_late_fetches(self) -> None:
        """Lose the fetches of ended processes that their leader would refuse from now on."""
        if not self.configuration.late_fetches:
            return
        now = cells_of(self.instance, self.trace.states[self.position], "late_fetch_offset")
        for pair, offset in enumerate(now):
            leader, follower = divmod(pair, self.configuration.replicas)
            kept = int(offset != NONE)  # the last one
            late = self.late_fetches(follower, leader)
            for one in late[: len(late) - kept]:
                self.cluster.drop(one.number)

    def _give_up(self, follower: int, leader: int) -> None:
        fetchers = acts.view_of(self.cluster, follower).fetchers
        thread = next((one for one in fetchers if one.source == leader), None)
        if thread is None or thread.outstanding is None:
            return
        parked = acts.view_of(self.cluster, leader).leadership
        if parked is not None and any(number == follower for number, _, _ in parked.parked_fetches):
            self.cluster.fire(leader, TimerKind.DELAYED_FETCH, follower)
        for message in self.cluster.messages():
            if thread.outstanding in (message.number, message.in_reply_to):
                self.cluster.drop(message.number)

    # ----------------------------------------------------------------------------------------------------- the actions

    def _next_payload(self) -> str:
        return payload_of(cells_of(self.instance, self.trace.states[self.position - 1], "next_record")[0])

    def _producer_appends(self, leader: int) -> None:
        producer = PRODUCER if self.configuration.enable_idempotence else self.producer_with_room(leader)
        if self.configuration.enable_idempotence:
            self.cluster.refresh_metadata(leader)
        acts.append(self.cluster, self._next_payload(), leader, ACKS[int(self.configuration.acks)], producer)

    def producer_with_room(self, leader: int) -> str:
        """The first producer that can send without waiting for a response: the model's records may come from
        several producers.
        """
        most, sent = self.configuration.max_in_flight_requests, dict(self.cluster.observe().sent)
        names = (f"{PRODUCER} {number}" if number else PRODUCER for number in itertools.count())
        return next(
            name
            for name in names
            if sum(one.is_in_flight and one.broker == leader for one in sent.get(name, ())) < most
        )

    def _producer_is_refused(self, leader: int) -> None:
        producer = PRODUCER if self.configuration.enable_idempotence else self.producer_with_room(leader)
        acts.append(self.cluster, self._next_payload(), leader, ACKS[int(self.configuration.acks)], producer)

    def _request_fails(self, record: int) -> None:
        """The request is lost. It goes to the broker that has the fewest requests of this producer."""
        sent = dict(self.cluster.observe().sent).get(PRODUCER, ())
        awaited = [one.broker for one in sent if one.is_in_flight]
        self.cluster.produce(payload_of(record), min(self.cluster.brokers, key=awaited.count))
        self.cluster.drop(self.cluster.messages()[-1].number)

    def _producer_resends(self, record: int, leader: int) -> None:
        self.cluster.refresh_metadata(leader)
        self._producer_retries(record, leader)

    def _producer_begins_new_epoch(self, leader: int, record: int) -> None:
        """The record is sent, or sent again, and refused; the producer draws its conclusions from the answer."""
        self._leader_mistakes_request(record, leader)

    _producer_begins_from_zero = _producer_begins_new_epoch

    def _leader_mistakes_request(self, record: int, leader: int) -> None:
        if payload_of(record) == self._next_payload():
            self._producer_appends(leader)
        else:
            self._producer_resends(record, leader)

    def _broker_saves_producer_state(self, broker: int) -> None:
        self.cluster.roll_segment(broker)

    def _send_is_lost(self) -> None:
        self.cluster.produce(self._next_payload(), 0, Acks.NONE)
        self.cluster.drop(self.cluster.messages()[-1].number)

    def _answer_is_lost(self, leader: int) -> None:
        self._producer_appends(leader)
        self.cluster.drop(self.cluster.messages()[-1].number)

    def _producer_retries(self, record: int, leader: int) -> None:
        """Send a record again, after giving up its earlier requests: their responses did not arrive in time."""
        for producer, sent in self.cluster.observe().sent:
            attempts = [one for one in sent if one.payload == payload_of(record)]
            if attempts:
                for attempt in attempts:
                    self.cluster.disconnect(attempt.number, producer)
                self.cluster.resend(attempts[0].number, leader, producer)
        self._deliver_last()

    def _producer_appends_in_transaction(self, leader: int, transaction: int) -> None:
        producer = producer_of(transaction)
        if producer not in dict(self.cluster.observe().sent):
            self.cluster.begin_transaction(producer)
        self.cluster.produce(self._next_payload(), leader, ACKS[int(self.configuration.acks)], producer)
        self._deliver_last()

    def _coordinator_commits(self, transaction: int) -> None:
        self.cluster.end_transaction(Control.COMMIT, producer_of(transaction))

    def _coordinator_aborts(self, transaction: int) -> None:
        self.cluster.end_transaction(Control.ABORT, producer_of(transaction))

    def _leader_appends_marker(self, leader: int, transaction: int) -> None:
        self.cluster.write_marker(leader, producer_of(transaction))
        self._deliver_last()

    def _deliver_last(self) -> None:
        self.cluster.deliver(self.cluster.messages()[-1].number)

    def _consumer_fetches(self, consumer: int, broker: int) -> None:
        self.cluster.consume(broker, reader_of(consumer), self.isolation, most=1)
        self._finish(reader_of(consumer))

    _consumer_finds_nothing = _consumer_fetches

    def _consumer_is_sent_to_follower(self, consumer: int, leader: int, follower: int) -> None:
        """The consumer asks the leader, as one in the follower's rack."""
        self.cluster.consume(leader, reader_of(consumer), self.isolation, rack=follower)
        self._finish(reader_of(consumer))

    def _consumer_returns_to_leader(self, consumer: int) -> None:
        self.cluster.expire_preferred_read_replica(reader_of(consumer))

    def _consumer_follows_new_leader(self, consumer: int, leader: int) -> None:
        self.cluster.tell_consumer(leader, reader_of(consumer), self.isolation)
        self._finish(reader_of(consumer))

    def _consumer_is_out_of_range(self, consumer: int, leader: int) -> None:
        """The fetch is refused, and the consumer asks the leader where to continue."""
        self.cluster.tell_consumer(leader, reader_of(consumer), self.isolation)
        self.cluster.consume(leader, reader_of(consumer), self.isolation)
        self._finish(reader_of(consumer))

    def _finish(self, client: str) -> None:
        """Deliver the requests of a client, and the responses, until there are no more."""
        while found := [one for one in self.cluster.messages() if client in (one.source, one.destination)]:
            self.cluster.deliver(found[0].number)

    def _leader_deletes_records(self, leader: int, offset: int) -> None:
        self.cluster.delete_records(leader, offset)
        self._deliver_last()

    def _leader_answers_deletion(self, leader: int) -> None:
        self.cluster.check_low_watermark(leader)
        told = [one for one in self.cluster.messages() if isinstance(one.payload, DeleteRecordsResponse)]
        answers = [one for one in told if one.source == leader]
        if not answers:
            raise ClusterError(
                f"broker {leader} answers no DeleteRecords: it has not heard that every live replica has deleted the"
                " records, or the request went to an earlier leader"
            )
        for one in answers:
            self.cluster.deliver(one.number)

    def _leader_handles_fetch(self, leader: int, follower: int) -> None:
        acts.ask(self.cluster, follower, leader)

    def _leader_answers_parked_fetch(self, leader: int, follower: int) -> None:
        acts.complete_parked_fetch(self.cluster, leader, follower)

    def _leader_shrinks_isr(self, leader: int, removed: int) -> None:
        self.cluster.fire(leader, TimerKind.ISR_SHRINK_CHECK)

    def _follower_applies_response(self, follower: int, leader: int) -> None:
        acts.apply(self.cluster, follower, leader)

    def _response_is_lost(self, follower: int, leader: int) -> None:
        response = acts.response_in_flight(self.cluster, follower, leader)
        if response is None:
            raise ClusterError(f"no answer of broker {leader} to broker {follower} is in flight")
        self.cluster.drop(response.number)

    _response_no_longer_fits = _response_is_lost

    def _follower_takes_high_watermark_first(self, follower: int, leader: int) -> None:
        acts.apply(self.cluster, follower, leader)

    def _follower_truncates(self, follower: int, leader: int) -> None:
        """The fetcher goes on with a response that it has received, or receives it."""
        if acts.view_of(self.cluster, follower).is_truncating:
            self.cluster.fire(follower, TimerKind.FETCHER_DO_WORK, leader)
        else:
            acts.apply(self.cluster, follower, leader)

    def _controller_handles_alter_partition(self, leader: int) -> None:
        self.cluster.deliver(acts.alter_isr_in_flight(self.cluster, leader, AlterIsrRequest).number)

    def _controller_completes_reassignment(self, leader: int, elected: int) -> None:
        self._controller_handles_alter_partition(leader)

    def _leader_hears_answer(self, leader: int) -> None:
        self.cluster.deliver(acts.alter_isr_in_flight(self.cluster, leader, AlterIsrResponse).number)

    def _answer_to_leader_is_lost(self, leader: int) -> None:
        self.cluster.drop(acts.alter_isr_in_flight(self.cluster, leader, AlterIsrResponse).number)

    def _follower_reconciles(self, follower: int, leader: int) -> None:
        self._exchange(follower, leader)

    def _follower_is_out_of_range(self, follower: int, leader: int) -> None:
        for _ in range(3):  # the refused fetch, and two requests for the log's start and end
            if not acts.view_of(self.cluster, follower).is_up or not self._exchange(follower, leader):
                break

    _follower_starts_over = _follower_is_out_of_range

    def _exchange(self, follower: int, leader: int) -> bool:
        """Perform one request of a follower, if it has one to send, and the leader's response; return whether another
        request follows.
        """
        self.cluster.fire(follower, TimerKind.FETCHER_DO_WORK, leader)
        for thread in acts.view_of(self.cluster, follower).fetchers:
            if thread.source == leader and thread.outstanding in {one.number for one in self.cluster.messages()}:
                self.cluster.deliver(thread.outstanding)
                acts.apply(self.cluster, follower, leader)
        view = acts.view_of(self.cluster, follower)
        return any(thread.source == leader and thread.outstanding is not None for thread in view.fetchers)

    def _controller_fails_over(self, elected: int) -> None:
        self.cluster.elect(Election.FAIL_OVER, elected)

    def _controller_elects_preferred(self, elected: int) -> None:
        self.cluster.elect(Election.PREFERRED, elected)

    def _controller_elects_unclean(self, elected: int) -> None:
        self.cluster.elect(Election.UNCLEAN, elected)

    def _controller_removes_dead_follower(self, follower: int) -> None:
        self.cluster.notice_dead(follower)

    def _broker_becomes_leader(self, broker: int, epoch: int) -> None:
        for message in self.cluster.messages():
            told = message.payload
            if message.destination == broker and isinstance(told, LeaderAndIsr) and told.leader_epoch == epoch:
                self.cluster.deliver(message.number)
                return
        raise ClusterError(f"no announcement of epoch {epoch} is in flight to broker {broker}")

    _broker_becomes_follower = _broker_becomes_leader

    def _broker_bounces(self, broker: int, checkpoint: int) -> None:
        acts.bounce(self.cluster, broker)

    def _broker_restarts(self, broker: int, checkpoint: int) -> None:
        if has_kraft(self.configuration):
            self.register(broker)
        else:
            acts.restart(self.cluster, broker)

    def _broker_crashes(self, broker: int) -> None:
        self.cluster.crash(broker)

    def _broker_loses_power(self, broker: int, kept: int) -> None:
        self.cluster.lose_power(broker, kept)

    def _broker_loses_disk(self, broker: int) -> None:
        self.cluster.lose_disk(broker)


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


def cells_of(instance: Instance, state: Cells, name: str) -> Cells:
    """The cells of a variable in a state."""
    layout = instance.layouts[name]
    return state[layout.offset : layout.offset + layout.count]

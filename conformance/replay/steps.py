"""The steps of the model, carried out on a cluster only from outside: by messages, timers, faults, elections, clients.

Each method takes the steps of one action and has the action's name.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Any

from isrcheck.conformance.cluster import acts
from isrcheck.conformance.cluster.broker.broker import TimerKind
from isrcheck.conformance.cluster.cluster import PRODUCER, Cluster
from isrcheck.conformance.cluster.configuration.settings import ClusterError
from isrcheck.conformance.cluster.controller.controller import Election
from isrcheck.conformance.cluster.network.messages import (
    Acks,
    AlterIsrRequest,
    AlterIsrResponse,
    DeleteRecordsResponse,
    FetchRequest,
    Isolation,
    LeaderAndIsr,
    MetadataImage,
)
from isrcheck.conformance.cluster.network.network import Message
from isrcheck.conformance.cluster.network.records import Control
from isrcheck.conformance.implemented import ACKS
from isrcheck.conformance.replay.projection import (
    has_kraft,
    payload_of,
    producer_of,
    reader_of,
)
from isrcheck.models.language.model import Instance
from isrcheck.models.run import Cells
from isrcheck.traces.format.trace import Trace


@dataclass
class Replay:
    """The objects that all steps of a replay use: the cluster, and the trace with the number of the present step."""

    cluster: Cluster
    trace: Trace
    assignment: tuple[int, ...]
    """The replicas of the partition in the order in which they are assigned."""
    isolation: Isolation
    """The isolation level of the consumers."""
    position: int = 0

    def next_step(self) -> None:
        self.position += 1

    def cells(self, name: str, at: int) -> Cells:
        """The values of a variable, as a flat list, in the state after `at` steps of the trace."""
        return cells_of(self.trace.instance, self.trace.states[at], name)


class _Steps:
    def __init__(self, replay: Replay) -> None:
        self.replay = replay
        self.cluster = replay.cluster
        self.configuration: Any = replay.trace.instance.configuration

    def _next_payload(self) -> str:
        return payload_of(self.replay.cells("next_record", self.replay.position - 1)[0])

    def _deliver_last(self) -> None:
        self.cluster.deliver(self.cluster.messages()[-1].number)


class ClientSteps(_Steps):
    """The steps of producers, consumers, transactions, and an administrator who deletes records."""

    def producer_appends(self, leader: int) -> None:
        if self.configuration.enable_idempotence:
            self.cluster.refresh_metadata(leader)
        self.producer_is_refused(leader)

    def _producer_with_room(self, leader: int) -> str:
        """The name of the first producer that may send to `leader` now: the model does not say which producer sends."""
        most, sent = self.configuration.max_in_flight_requests, dict(self.cluster.observe().sent)
        names = (f"{PRODUCER} {number}" if number else PRODUCER for number in itertools.count())
        return next(
            name
            for name in names
            if sum(attempt.is_in_flight and attempt.broker == leader for attempt in sent.get(name, ())) < most
        )

    def producer_is_refused(self, leader: int) -> None:
        producer = PRODUCER if self.configuration.enable_idempotence else self._producer_with_room(leader)
        acts.append(self.cluster, self._next_payload(), leader, ACKS[int(self.configuration.acks)], producer)

    def request_fails(self, record: int) -> None:
        """Send the record to the broker that has the fewest unanswered requests of the producer; lose this request."""
        sent = dict(self.cluster.observe().sent).get(PRODUCER, ())
        awaited = [attempt.broker for attempt in sent if attempt.is_in_flight]
        self.cluster.produce(payload_of(record), min(self.cluster.brokers, key=awaited.count))
        self.cluster.drop(self.cluster.messages()[-1].number)

    def producer_resends(self, record: int, leader: int) -> None:
        self.cluster.refresh_metadata(leader)
        self.producer_retries(record, leader)

    def producer_begins_new_epoch(self, leader: int, record: int) -> None:
        """Send a record, for the first time or again; the leader refuses it, so the producer begins a new epoch."""
        self.leader_mistakes_request(record, leader)

    producer_begins_from_zero = producer_begins_new_epoch

    def leader_mistakes_request(self, record: int, leader: int) -> None:
        if payload_of(record) == self._next_payload():
            self.producer_appends(leader)
        else:
            self.producer_resends(record, leader)

    def broker_saves_producer_state(self, broker: int) -> None:
        self.cluster.roll_segment(broker)

    def send_is_lost(self) -> None:
        self.cluster.produce(self._next_payload(), 0, Acks.NONE)
        self.cluster.drop(self.cluster.messages()[-1].number)

    def answer_is_lost(self, leader: int) -> None:
        self.producer_appends(leader)
        self.cluster.drop(self.cluster.messages()[-1].number)

    def producer_retries(self, record: int, leader: int) -> None:
        """Send a record again, after giving up its earlier requests, whose responses did not arrive in time."""
        for producer, sent in self.cluster.observe().sent:
            attempts = [attempt for attempt in sent if attempt.payload == payload_of(record)]
            if attempts:
                for attempt in attempts:
                    self.cluster.disconnect(attempt.number, producer)
                self.cluster.resend(attempts[0].number, leader, producer)
        self._deliver_last()

    def producer_appends_in_transaction(self, leader: int, transaction: int) -> None:
        producer = producer_of(transaction)
        if producer not in dict(self.cluster.observe().sent):
            self.cluster.begin_transaction(producer)
        self.cluster.produce(self._next_payload(), leader, ACKS[int(self.configuration.acks)], producer)
        self._deliver_last()

    def coordinator_commits(self, transaction: int) -> None:
        self.cluster.end_transaction(Control.COMMIT, producer_of(transaction))

    def coordinator_aborts(self, transaction: int) -> None:
        self.cluster.end_transaction(Control.ABORT, producer_of(transaction))

    def leader_appends_marker(self, leader: int, transaction: int) -> None:
        self.cluster.write_marker(leader, producer_of(transaction))
        self._deliver_last()

    def consumer_fetches(self, consumer: int, broker: int) -> None:
        self.cluster.consume(broker, reader_of(consumer), self.replay.isolation, most=1)
        acts.deliver_all_of(self.cluster, reader_of(consumer))

    consumer_finds_nothing = consumer_fetches

    def consumer_is_sent_to_follower(self, consumer: int, leader: int, follower: int) -> None:
        """The consumer fetches from the leader, as a consumer in the follower's rack: the leader names the follower."""
        self.cluster.consume(leader, reader_of(consumer), self.replay.isolation, rack=follower)
        acts.deliver_all_of(self.cluster, reader_of(consumer))

    def consumer_returns_to_leader(self, consumer: int) -> None:
        self.cluster.expire_preferred_read_replica(reader_of(consumer))

    def consumer_follows_new_leader(self, consumer: int, leader: int) -> None:
        self.cluster.tell_consumer(leader, reader_of(consumer), self.replay.isolation)
        acts.deliver_all_of(self.cluster, reader_of(consumer))

    def consumer_is_out_of_range(self, consumer: int, leader: int) -> None:
        """The leader refuses the consumer's fetch, and the consumer asks the leader where to continue."""
        self.cluster.tell_consumer(leader, reader_of(consumer), self.replay.isolation)
        self.cluster.consume(leader, reader_of(consumer), self.replay.isolation)
        acts.deliver_all_of(self.cluster, reader_of(consumer))

    def leader_deletes_records(self, leader: int, offset: int) -> None:
        self.cluster.delete_records(leader, offset)
        self._deliver_last()

    def leader_answers_deletion(self, leader: int) -> None:
        self.cluster.check_low_watermark(leader)
        responses = [
            message for message in self.cluster.messages() if isinstance(message.payload, DeleteRecordsResponse)
        ]
        answers = [response for response in responses if response.source == leader]
        if not answers:
            raise ClusterError(
                f"broker {leader} answers no DeleteRecords: it has not heard that every live replica has deleted the"
                " records, or the request went to an earlier leader"
            )
        for answer in answers:
            self.cluster.deliver(answer.number)


class ReplicationSteps(_Steps):
    """The fetches of followers: requests, answers, truncation."""

    def leader_handles_fetch(self, leader: int, follower: int) -> None:
        acts.ask(self.cluster, follower, leader)

    def leader_answers_parked_fetch(self, leader: int, follower: int) -> None:
        acts.complete_parked_fetch(self.cluster, leader, follower)

    def leader_shrinks_isr(self, leader: int, removed: int) -> None:
        self.cluster.fire(leader, TimerKind.ISR_SHRINK_CHECK)

    def follower_applies_response(self, follower: int, leader: int) -> None:
        acts.apply(self.cluster, follower, leader)

    follower_takes_high_watermark_first = follower_applies_response

    def response_is_lost(self, follower: int, leader: int) -> None:
        response = acts.response_in_flight(self.cluster, follower, leader)
        if response is None:
            raise ClusterError(f"no answer of broker {leader} to broker {follower} is in flight")
        self.cluster.drop(response.number)

    _response_no_longer_fits = response_is_lost

    def follower_truncates(self, follower: int, leader: int) -> None:
        """The follower receives the response that makes it truncate, or continues if it already truncates."""
        if acts.view_of(self.cluster, follower).is_truncating:
            self.cluster.fire(follower, TimerKind.FETCHER_DO_WORK, leader)
        else:
            acts.apply(self.cluster, follower, leader)

    def follower_reconciles(self, follower: int, leader: int) -> None:
        self._exchange(follower, leader)

    def follower_is_out_of_range(self, follower: int, leader: int) -> None:
        for _ in range(3):  # the refused fetch, and two requests for the log's start and end
            if not acts.view_of(self.cluster, follower).is_up or not self._exchange(follower, leader):
                break

    follower_starts_over = follower_is_out_of_range

    def _exchange(self, follower: int, leader: int) -> bool:
        """Deliver the follower's next request, if any, and the response; return whether the follower has then sent a
        further request."""
        self.cluster.fire(follower, TimerKind.FETCHER_DO_WORK, leader)
        in_flight = {message.number for message in self.cluster.messages()}
        for thread in acts.view_of(self.cluster, follower).fetchers:
            if thread.source == leader and thread.outstanding in in_flight:
                self.cluster.deliver(thread.outstanding)
                acts.apply(self.cluster, follower, leader)
        view = acts.view_of(self.cluster, follower)
        return any(thread.source == leader and thread.outstanding is not None for thread in view.fetchers)


class ControllerSteps(_Steps):
    """Elections, changes of the ISR, brokers that become leader or follower, and crashes and restarts of brokers."""

    def controller_handles_alter_partition(self, leader: int) -> None:
        self.cluster.deliver(acts.alter_isr_in_flight(self.cluster, leader, AlterIsrRequest).number)

    def controller_completes_reassignment(self, leader: int, elected: int) -> None:
        self.controller_handles_alter_partition(leader)

    def leader_hears_answer(self, leader: int) -> None:
        self.cluster.deliver(acts.alter_isr_in_flight(self.cluster, leader, AlterIsrResponse).number)

    def answer_to_leader_is_lost(self, leader: int) -> None:
        self.cluster.drop(acts.alter_isr_in_flight(self.cluster, leader, AlterIsrResponse).number)

    def controller_fails_over(self, elected: int) -> None:
        self.cluster.elect(Election.FAIL_OVER, elected)

    def controller_elects_preferred(self, elected: int) -> None:
        self.cluster.elect(Election.PREFERRED, elected)

    def controller_elects_unclean(self, elected: int) -> None:
        self.cluster.elect(Election.UNCLEAN, elected)

    def controller_removes_dead_follower(self, follower: int) -> None:
        self.cluster.notice_dead(follower)

    def broker_becomes_leader(self, broker: int, epoch: int) -> None:
        for message in self.cluster.messages():
            announced = message.payload
            is_sought = isinstance(announced, LeaderAndIsr) and announced.leader_epoch == epoch
            if is_sought and message.destination == broker:
                self.cluster.deliver(message.number)
                return
        raise ClusterError(f"no announcement of epoch {epoch} is in flight to broker {broker}")

    broker_becomes_follower = broker_becomes_leader

    def broker_bounces(self, broker: int, checkpoint: int) -> None:
        acts.bounce(self.cluster, broker)

    def broker_restarts(self, broker: int, checkpoint: int) -> None:
        """The broker restarts; with KRaft, the session of its earlier process ends first."""
        if has_kraft(self.configuration):
            self.cluster.end_session(broker)
        acts.restart(self.cluster, broker)

    def broker_crashes(self, broker: int) -> None:
        self.cluster.crash(broker)

    def broker_loses_power(self, broker: int, kept: int) -> None:
        self.cluster.lose_power(broker, kept)

    def broker_loses_disk(self, broker: int) -> None:
        self.cluster.lose_disk(broker)


class KraftSteps(_Steps):
    """The steps of a cluster with KRaft. The cluster's clock does not decide when a session ends: the trace does."""

    def broker_applies_metadata(self, broker: int, partition_epoch: int) -> None:
        """Do nothing: before this step, the driver has already let the broker read the metadata log (timing.py)."""

    broker_drops_metadata = broker_applies_metadata

    def controller_fences_broker(self, broker: int) -> None:
        self.cluster.end_session(broker)
        self.cluster.fence(broker)

    def controller_fences_leader(self, broker: int, elected: int) -> None:
        self.controller_fences_broker(broker)

    controller_fences_last_leader = controller_fences_broker

    def controller_unfences_broker(self, broker: int) -> None:
        acts.beat(self.cluster, broker)

    def broker_asks_to_shut_down(self, broker: int) -> None:
        self.cluster.begin_shutdown(broker, leads_others=True)
        acts.beat(self.cluster, broker)

    def leader_asks_to_shut_down(self, broker: int, elected: int) -> None:
        self.broker_asks_to_shut_down(broker)

    last_leader_asks_to_shut_down = broker_asks_to_shut_down

    def broker_shuts_down(self, broker: int) -> None:
        self.cluster.begin_shutdown(broker)  # unless it has begun before
        acts.beat(self.cluster, broker)

    def controller_begins_reassignment(self, target: int) -> None:
        self.cluster.begin_reassignment(tuple(r for r in self.replay.assignment if target >> r & 1))

    def controller_reassigns_without_leader(self, target: int, elected: int) -> None:
        self.controller_begins_reassignment(target)

    def controller_cancels_reassignment(self) -> None:
        self.cluster.cancel_reassignment()

    def controller_cancels_without_leader(self, elected: int) -> None:
        self.cluster.cancel_reassignment()

    def controller_unregisters_broker(self, broker: int) -> None:
        self.cluster.unregister(broker)

    def operator_deletes_replica_folder(self, broker: int) -> None:
        self.cluster.delete_replica(broker)

    def broker_reports_directory(self, broker: int) -> None:
        self.cluster.report_directory(broker)
        self._deliver_last()

    def operator_changes_min_insync_replicas(self, minimum: int) -> None:
        if self.cluster.metadata_log()[-1].min_insync_replicas == minimum:
            self.cluster.write_cluster_min_insync_replicas()
        else:
            self.cluster.change_min_insync_replicas(minimum)

    def broker_reads_configuration(self, broker: int) -> None:
        """Do nothing: before this step, the driver has already let the broker read the metadata log (timing.py)."""

    def broker_crashes_while_it_fetches(self, follower: int, leader: int) -> None:
        self.cluster.fire(follower, TimerKind.FETCHER_DO_WORK, leader)
        self.cluster.crash(follower)

    def broker_loses_disk_while_it_fetches(self, follower: int, leader: int) -> None:
        self.cluster.fire(follower, TimerKind.FETCHER_DO_WORK, leader)
        self.cluster.lose_disk(follower)

    def leader_handles_late_fetch(self, leader: int, follower: int) -> None:
        """The leader handles a late fetch, which the follower's earlier process sent, together with a fetch of its new
        process; the response to the new process is lost."""
        (late,) = late_fetches(self.cluster, follower, leader)
        self.cluster.fire(follower, TimerKind.FETCHER_DO_WORK, leader)
        self.cluster.deliver_together(late.number, self.cluster.messages()[-1].number)
        self.cluster.drop(self.cluster.messages()[-1].number)

    def late_fetch_is_lost(self, leader: int, follower: int) -> None:
        for late in late_fetches(self.cluster, follower, leader):
            self.cluster.drop(late.number)


PARTS = (ClientSteps, ReplicationSteps, ControllerSteps, KraftSteps)
"""The classes whose methods are the steps of the model `kafka`."""


def read_metadata(cluster: Cluster, broker: int, offset: int, *, is_dropped: bool = False) -> None:
    """Let a broker read the metadata log up to `offset`, and, if it is active, report this to the controller in a
    heartbeat. With `is_dropped`, the broker fails to apply the records. Raises ClusterError."""
    for message in cluster.messages():
        image = message.payload
        if message.destination == broker and isinstance(image, MetadataImage):
            if image.offset == offset:
                (cluster.fail_to_apply if is_dropped else cluster.deliver)(message.number)
                break
            cluster.drop(message.number)
    else:
        raise ClusterError(f"no record of the metadata log at offset {offset} is on its way to broker {broker}")
    if cluster.metadata_log()[-1].brokers[broker].is_active:
        acts.beat(cluster, broker)


def late_fetches(cluster: Cluster, follower: int, leader: int) -> list[Message]:
    """The fetches in flight that earlier processes of a follower have sent to a leader."""
    process = cluster.process_of(follower)
    return [
        message
        for message in cluster.messages()
        if (message.source, message.destination) == (follower, leader) and isinstance(message.payload, FetchRequest)
        if message.source_process != process
    ]


def cells_of(instance: Instance, state: Cells, name: str) -> Cells:
    layout = instance.layouts[name]
    return state[layout.offset : layout.offset + layout.count]

"""The clients of a recorded run that the scheduler lacks: an idempotent producer, consumers, an administrator.

The acts of clients are as fine-grained as the steps of the model: a request reaches its broker at once or is lost.
Behaviours that the model lacks (`ModelGap`) are avoided. Sources: fact sheet, sections 5.3, 5.4, 7; Kafka:
RecordAccumulator.drain, Sender.canRetry, ReplicaManager.findPreferredReadReplica (KIP-392).
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from isrcheck.conformance.cluster.acts import Act, deliver_all_of
from isrcheck.conformance.cluster.clients.producer import Sent
from isrcheck.conformance.cluster.cluster import PRODUCER, Cluster
from isrcheck.conformance.cluster.configuration.settings import ClusterError
from isrcheck.conformance.cluster.network.messages import (
    Acks,
    Errors,
    OffsetsForLeaderEpochResponse,
    ProduceResponse,
)
from isrcheck.conformance.cluster.network.network import Message
from isrcheck.conformance.cluster.observe import BrokerView, ConsumerView, ProducerView
from isrcheck.conformance.follow.recorder.plan import ModelGap, Plan
from isrcheck.conformance.implemented import ISOLATIONS
from isrcheck.conformance.replay.projection import reader_of
from isrcheck.models.kafka.state.values import AutoOffsetReset

INTERVAL = 2_500
"""The mean interval between rolls of segments, and between deletions, in milliseconds; a producer and a consumer act
three times as often.
"""

LOSS_SHARE = 0.1
"""How often a producer's request is lost."""

STALE_SHARE = 0.1
"""How often a producer sends to a broker that does not lead."""

RETRY_SHARE = 0.5
"""How often a producer with an unanswered or failed request sends it again, in place of a new record."""

RETURN_SHARE = 0.2
"""How often a consumer that may read from a follower switches between follower and leader."""


class Clients:
    """Performs the acts of the clients that a plan has. `stopped` are the consumers that stopped at a truncated log."""

    def __init__(self, plan: Plan, cluster: Cluster, seed: str, tell: Callable[[Act], None]) -> None:
        self._plan = plan
        self._cluster = cluster
        self._random = Random(seed)
        self._tell = tell
        self._has = has = plan.configuration
        self._isolation = ISOLATIONS[has.isolation_level]
        self._payloads = 0
        self.stopped: set[int] = set()
        self._acts: list[Callable[[], None]] = [
            *([self._produce] * 3 if has.enable_idempotence else []),
            *([self._read] * 3 if has.consumers else []),
            *([self._roll] if has.producer_snapshots else []),
            *([self._delete] if has.delete_records else []),
        ]
        self._next = self._later()
        first_leader = cluster.observe().controller.leader
        assert first_leader is not None, "a run starts with a leader"
        if has.enable_idempotence:
            cluster.refresh_metadata(first_leader)
        for consumer in range(has.consumers):
            self._learn(consumer, first_leader)

    def act(self) -> None:
        """Perform a random act for each of the randomly planned times that have passed since the last call."""
        while self._acts and self._cluster.now >= self._next:
            self._next += self._later()
            self._random.choice(self._acts)()

    def _later(self) -> float:
        return self._random.expovariate(len(self._acts) / INTERVAL) if self._acts else 0.0

    def _done(self, name: str, *arguments: object) -> None:
        self._tell(Act(self._cluster.now, name, arguments))

    def _leaders(self) -> list[BrokerView]:
        return [view for view in self._cluster.observe().brokers if view.leadership is not None and not view.is_frozen]

    # ------------------------------------------------------------------------------------------------------- producer

    def _produce(self) -> None:
        """Send the first unacknowledged record again, or a new record, to a broker that is usually a leader."""
        random = self._random
        unacknowledged = self._unacknowledged()
        is_lost, is_stale = random.random() < LOSS_SHARE, random.random() < STALE_SHARE
        leaders = [view.number for view in self._leaders()]
        broker = random.choice(self._cluster.brokers if is_stale or not leaders else leaders)
        try:
            if broker in leaders and not is_lost:
                self._cluster.refresh_metadata(broker)
            if unacknowledged and random.random() < RETRY_SHARE:
                self._resend(unacknowledged[0], broker, is_lost=is_lost)
            elif len(unacknowledged) < self._has.max_in_flight_requests:
                self._payloads += 1
                message = self._send(self._cluster.produce(f"r{self._payloads}", broker, Acks.ALL), is_lost=is_lost)
                self._done("drop" if is_lost else "deliver", message)
        except ClusterError:
            return  # the producer knows a later leader, or too many of its requests are in flight

    def _unacknowledged(self) -> list[int]:
        """Return the number of the first request for each record that is unacknowledged and whose newest sequence
        number belongs to the producer's present epoch."""
        producer, sent = self._producer()
        latest = {payload: stamps[-1][0] for payload, stamps in producer.numbered}
        now = len(producer.identities) - 1
        acknowledged = {request.payload for request in sent if request.is_acknowledged}
        present = [request for request in sent if request.retry_of is None and latest[request.payload] == now]
        return [request.number for request in present if request.payload not in acknowledged]

    def _resend(self, first: int, broker: int, *, is_lost: bool) -> None:
        """Send the request `first` again. If the new request has an effect, give up earlier requests for its record
        that still wait for an answer: in the model, a record waits for the answer to one request only."""
        producer, sent = self._producer()
        waiting = [request for request in sent if first in (request.number, request.retry_of) and request.is_in_flight]
        number = self._cluster.resend(first, broker)
        message = self._send(number, is_lost=is_lost)
        producer_now, sent_now = self._producer()
        has_effect = not sent_now[number].is_failed or producer_now.identities != producer.identities
        if has_effect:
            for request in waiting:
                self._cluster.disconnect(request.number)
        self._done("drop" if is_lost else "deliver", message)

    def _send(self, number: int, *, is_lost: bool) -> Message:
        """Deliver or lose a request, and return its message; give it up if it waits in a way that the model lacks."""
        _, sent = self._producer()
        request = sent[number].request
        message = next(sent_request for sent_request in self._cluster.messages() if sent_request.number == request)
        if not is_lost:
            self._cluster.deliver(request)
        elif ModelGap.REQUEST_IS_LATE in self._plan.allowed:
            self._cluster.disconnect(number)
        else:
            self._cluster.drop(request)
        self.answer_producer()
        sent_request = self._producer()[1][number]
        waits = sent_request.is_in_flight and self._cluster.observe_broker(sent_request.broker).mistakes(sent_request)
        if waits and ModelGap.MISTAKEN_REQUEST_WAITS not in self._plan.allowed:
            self._cluster.disconnect(number)
        return message

    def answer_producer(self) -> None:
        """Deliver the responses in flight to the idempotent producer, but only errors if ANSWER_IS_LOST is allowed."""
        late = (Errors.NONE,) if ModelGap.ANSWER_IS_LOST in self._plan.allowed else ()
        for message in self._cluster.messages() if self._has.enable_idempotence else ():
            if isinstance(message.payload, ProduceResponse) and message.payload.error not in late:
                self._cluster.deliver(message.number)

    def _producer(self) -> tuple[ProducerView, tuple[Sent, ...]]:
        view = self._cluster.observe()
        return next(producer for producer in view.producers if producer.name == PRODUCER), dict(view.sent)[PRODUCER]

    # ------------------------------------------------------------------------------------------------------- consumers

    def _read(self) -> None:
        consumer = self._random.randrange(self._has.consumers)
        leaders = self._leaders()
        if not leaders or consumer in self.stopped:
            return
        broker = self._random.choice(leaders).number
        epoch = self._view_of(consumer).leader_epoch
        self._learn(consumer, broker)
        now, changes = self._view_of(consumer), self._random.random() < RETURN_SHARE
        if now.leader_epoch != epoch:
            pass  # the consumer fetches the next time
        elif now.preferred_read_replica is None:
            self._fetch(consumer, broker, self._random.choice(self._cluster.brokers) if changes else None)
        elif changes:
            self._cluster.expire_preferred_read_replica(reader_of(consumer))
        else:
            broker = now.preferred_read_replica
            self._fetch(consumer, broker)
        self._done("read", consumer, broker)

    def _learn(self, consumer: int, leader: int) -> None:
        """Let a consumer learn of the leader, and validate its position. With auto.offset.reset=none, the consumer
        stops if the log is truncated (LogTruncationException).
        """
        self._cluster.tell_consumer(leader, reader_of(consumer), self._isolation)
        answers = [message.payload for message in deliver_all_of(self._cluster, reader_of(consumer))]
        ends = [answer.end_offset for answer in answers if isinstance(answer, OffsetsForLeaderEpochResponse)]
        is_truncated = any(end < self._view_of(consumer).position for end in ends)
        if is_truncated and self._has.auto_offset_reset == AutoOffsetReset.NOTHING:
            self.stopped.add(consumer)

    def _fetch(self, consumer: int, broker: int, rack: int | None = None) -> None:
        """Let a consumer fetch one record or all, at random. It is in the rack of broker `rack` (None: no rack)."""
        most = self._random.choice([1, None])
        self._cluster.consume(broker, reader_of(consumer), self._isolation, most, rack)
        deliver_all_of(self._cluster, reader_of(consumer))

    def _view_of(self, consumer: int) -> ConsumerView:
        return next(view for view in self._cluster.observe_consumers() if view.name == reader_of(consumer))

    # --------------------------------------------------------------------------------------- segments and administrator

    def _roll(self) -> None:
        brokers = [
            view.number
            for view in self._cluster.observe().brokers
            if view.is_up and max(view.producers.snapshot_offset, view.log_start_offset) < view.log_end_offset
        ]
        if brokers:
            broker = self._random.choice(brokers)
            self._cluster.roll_segment(broker)
            self._done("roll segment", broker)

    def _delete(self) -> None:
        leaders = self._leaders()
        if leaders:
            leader = self._random.choice(leaders)
            offset = self._random.randint(leader.log_start_offset, leader.high_watermark or 0)
            self._cluster.delete_records(leader.number, offset)
            message = self._cluster.messages()[-1]
            self._cluster.deliver(message.number)
            self._done("deliver", message)

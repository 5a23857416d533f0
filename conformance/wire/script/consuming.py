"""The consumers of a played trace: those that read during the trace, and a new one that reads the log afterwards.

After each step of a consumer, its next fetch must ask for the position that the consumer has in the trace. The trace
decides which follower a leader names, as if this follower were in the consumer's rack (KIP-392).

The consumer of librdkafka leaves a follower after an error, after a broken connection, when another broker becomes the
leader, and after five minutes. If the trace's consumer still reads from the follower, the response to the next fetch
names the follower again as preferred read replica, as Kafka's leader does at every fetch. If the trace's consumer reads
from the leader, the response names the leader in the same way, because an error does not always move a real consumer:
librdkafka compares the leader with the broker that the consumer fetches from, not with the broker to which the consumer
is moving. A consumer that learns of the leader during a move mistakes the move's target for the leader, and fetches
there for ever. Sources: librdkafka 2.15, rd_kafka_fetch_preferred_replica_handle, rd_kafka_toppar_leader_update,
rd_kafka_toppar_delegate_to_leader, and rd_kafka_toppar_broker_update, which ignores rktp_next_broker.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import replace

from confluent_kafka import Consumer, KafkaException, TopicPartition

from isrcheck.conformance.cluster.broker.partition import NO_EPOCH
from isrcheck.conformance.cluster.configuration.settings import AutoOffsetReset
from isrcheck.conformance.cluster.network.messages import ConsumerFetchResponse, Errors, Isolation
from isrcheck.conformance.implemented import ISOLATIONS, RESETS
from isrcheck.conformance.replay.projection import reader_of
from isrcheck.conformance.wire.script.played import ClientError, Played, Reading, otherwise
from isrcheck.conformance.wire.script.producing import FAST
from isrcheck.conformance.wire.script.stage import SECONDS, Stage, Waiting, comes
from isrcheck.models.kafka.state.values import PositionCheck
from isrcheck.models.language.model import Step
from isrcheck.models.run import State
from isrcheck.traces.format.trace import Trace

POLL = 0.2
READ_SECONDS = 10.0
RESET_NAMES: Mapping[AutoOffsetReset, str] = {
    AutoOffsetReset.EARLIEST: "earliest",
    AutoOffsetReset.LATEST: "latest",
    AutoOffsetReset.NOTHING: "error",
}


def read_all(addresses: str, topic: str, isolation: Isolation) -> Reading | None:
    """Read the whole partition with a new consumer; None if the consumer could not read it. Blocks."""
    consumer = _consumer(addresses, "a new consumer", isolation, AutoOffsetReset.EARLIEST)
    try:
        partition = TopicPartition(topic, 0)
        start, end = consumer.get_watermark_offsets(partition, timeout=READ_SECONDS)
        consumer.assign([TopicPartition(topic, 0, start)])
        records: list[tuple[int, str]] = []
        for _ in range(int(READ_SECONDS / POLL)):
            message = consumer.poll(POLL)
            if message is not None and message.error() is not None:
                return Reading(tuple(records), start, end)  # the end of the partition
            if message is not None:
                records.append((message.offset() or 0, (message.value() or b"").decode()))
    except KafkaException:
        return None
    finally:
        consumer.close()
    return None


class PositionedConsumer:
    """A consumer that begins at offset 0 and reads until the trace ends; it refreshes its metadata every 50 ms."""

    def __init__(self, addresses: str, topic: str, name: str, isolation: Isolation, reset: AutoOffsetReset) -> None:
        self._consumer = _consumer(addresses, name, isolation, reset, **{"topic.metadata.refresh.interval.ms": 50})
        self._consumer.assign([TopicPartition(topic, 0, 0)])
        self._read: list[tuple[int, str]] = []

    @property
    def read(self) -> list[tuple[int, str]]:
        """The offset and the value of each record that the consumer has read so far, in order."""
        while (message := self._consumer.poll(0)) is not None:
            if message.error() is None:
                self._read.append((message.offset() or 0, (message.value() or b"").decode()))
        return self._read

    def end(self) -> None:
        """Close the consumer. Blocks until the library has ended its threads."""
        self._consumer.close()


def _consumer(
    addresses: str, name: str, isolation: Isolation, reset: AutoOffsetReset, **settings: str | int
) -> Consumer:
    return Consumer(
        {
            "bootstrap.servers": addresses,
            "client.id": name,
            "group.id": name,
            "enable.auto.commit": False,
            "enable.partition.eof": True,
            "isolation.level": isolation.value,
            "auto.offset.reset": RESET_NAMES[reset],
            "fetch.wait.max.ms": 10,
            "fetch.error.backoff.ms": 10,
            **FAST,
            **settings,
        }
    )


FETCHES = ("consumer_fetches", "consumer_finds_nothing", "consumer_is_out_of_range")
FOLLOWS = "consumer_follows_new_leader"
TO_FOLLOWER = "consumer_is_sent_to_follower"
TO_LEADER = "consumer_returns_to_leader"
READS = (*FETCHES, FOLLOWS, TO_FOLLOWER, TO_LEADER)


class Consuming:
    """The consumers that take part while one trace is played."""

    def __init__(self, trace: Trace, stage: Stage, addresses: str, played: Played, tell: Callable[[str], None]) -> None:
        self._stage = stage
        self._addresses = addresses
        self._played = played
        self._tell = tell
        self._configuration = trace.instance.configuration
        self._states = [State(trace.instance, cells) for cells in trace.states]
        self._consumers: list[PositionedConsumer] = []

    def begin(self) -> None:
        """Start the consumers, at offset 0."""
        isolation = ISOLATIONS[int(self._configuration.isolation_level)]
        reset = RESETS[int(self._configuration.auto_offset_reset)]
        for number in range(self._configuration.consumers):
            self._let_know(number, self._states[0].controller_leader, self._states[0])
            name = reader_of(number)
            self._consumers.append(PositionedConsumer(self._addresses, self._stage.topic, name, isolation, reset))
            self._played.consumed.append([])

    async def end(self) -> None:
        """Close the consumers."""
        for waiting in list(self._stage.fetches):
            if not waiting.answer.done():
                waiting.answer.set_result(None)
        while self._consumers:
            await asyncio.to_thread(self._consumers.pop().end)

    async def before(self, step: Step, position: int) -> None:
        """If this step is a consumer's fetch, wait for it and send the cluster's answer. Raises ClientError."""
        if step.action in (*FETCHES, TO_FOLLOWER):
            consumer, broker, *follower = step.ordinals
            waiting = await self._fetch(consumer, broker, position, self._states[position - 1])
            waiting.answer.set_result(self._answer(waiting, *follower))

    async def after(self, step: Step, position: int) -> None:
        """Wait until a consumer has completed its part of this step. Raises ClientError."""
        if step.action not in READS:
            return
        consumer, before, after = step.ordinals[0], self._states[position - 1], self._states[position]
        broker = self._stage.leaders[reader_of(consumer)][0] if step.action == TO_LEADER else step.ordinals[-1]
        if step.action in (TO_FOLLOWER, TO_LEADER) and not self._stage.cluster.is_running(broker):
            return  # the consumer looks for the broker in vain
        if step.action == FOLLOWS:
            self._let_know(consumer, broker, after)
        await self._fetch(consumer, broker, position, after)
        offset, read = before.position[consumer], self._played.consumed[consumer]
        if step.action == FETCHES[0] and after.consumed_record[consumer][offset] == after.log_record[broker][offset]:
            await comes(lambda: len(self._consumers[consumer].read) > len(read))
        new = self._consumers[consumer].read[len(read) :]
        read += new
        for at, value in new:
            self._tell(f"     consumer {consumer} has read record {value} at offset {at}")
        if step.action in (TO_FOLLOWER, TO_LEADER):
            self._tell(f"     consumer {consumer} fetches from broker {broker}")
        elif step.action != FETCHES[0] and before.position[consumer] != after.position[consumer]:
            self._tell(f"     consumer {consumer} continues at offset {after.position[consumer]}")

    def _answer(self, waiting: Waiting, follower: int | None = None) -> ConsumerFetchResponse:
        """The cluster's answer to a fetch: one record at most, or `follower` as the preferred read replica."""
        answer = self._stage.answer_to(waiting.broker, replace(waiting.request, most=1, rack=follower))
        assert isinstance(answer, ConsumerFetchResponse)
        return answer

    def _let_know(self, consumer: int, leader: int, state: State) -> None:
        """Set the leader that every broker names to this consumer from now on. The leader epoch is the epoch that the
        consumer knows in `state`, or NO_EPOCH if the model's consumers do not check epochs."""
        checks = self._configuration.POSITION_CHECK != PositionCheck.NONE
        epoch = state.consumer_leader_epoch[consumer] if checks else NO_EPOCH
        self._stage.leaders[reader_of(consumer)] = leader, epoch

    async def _fetch(self, consumer: int, broker: int, position: int, state: State) -> Waiting:
        """Wait for and return the consumer's fetch from `broker`, at its position in `state`. Raises ClientError.

        A fetch with an epoch other than in `state` is refused, so that the consumer looks for the leader. A fetch
        from another broker gets `broker` as preferred replica, or is refused if consumers do not read from followers.
        """
        follows = self._configuration.follower_fetching
        if not (follows and state.preferred_read_replica[consumer] == broker):
            self._let_know(consumer, broker, state)
        name, fetches = reader_of(consumer), []
        _, epoch = self._stage.leaders[name]

        def look() -> bool:
            for waiting in self._stage.fetches:
                if waiting.client != name or waiting.answer.done():
                    continue
                is_told = (waiting.request.current_leader_epoch or 0) == max(epoch, 0)
                if is_told and waiting.broker == broker:
                    fetches.append(waiting)
                    continue
                error, named = (Errors.NONE, broker) if is_told and follows else (Errors.NOT_LEADER_OR_FOLLOWER, None)
                answer = ConsumerFetchResponse(error, waiting.request.position, preferred_read_replica=named)
                waiting.answer.set_result(answer)
            return bool(fetches)

        if not await comes(look):
            raise ClientError(
                f"{otherwise(position)}: consumer {consumer} did not fetch from broker {broker} within {SECONDS:.0f} s"
            )
        there, meant = fetches[0].request.position, state.position[consumer]
        if there != meant:
            raise ClientError(
                f"{otherwise(position)}: consumer {consumer} fetches from offset {there}, the trace's consumer"
                f" from {meant}"
            )
        return fetches[0]

"""The producers of a played trace: real producers, their requests, and their results.

Without idempotence each record has a producer of its own, because a broker handles one request of a connection at a
time, and in the model several records can wait for their acknowledgement at once. With idempotence, one producer sends
all records; with transactions, one producer sends the records of each transaction. An idempotent or transactional
producer must give each record the same sequence number as the producer in the trace.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from functools import partial

from confluent_kafka import KafkaError, KafkaException, Message, Producer

from isrcheck.conformance.cluster.clients.producer import REFUSED_SEQUENCES, Identity, Sent
from isrcheck.conformance.cluster.cluster import PRODUCER
from isrcheck.conformance.cluster.network.messages import Acks, Errors, ProduceResponse
from isrcheck.conformance.cluster.network.records import Control, ProducerStamp
from isrcheck.conformance.implemented import ACKS
from isrcheck.conformance.replay.projection import payload_of, producer_of
from isrcheck.conformance.replay.timing import NUMBER_ANEW, SEND_AGAIN, SEND_IN_TRANSACTION
from isrcheck.conformance.wire.script.played import ClientError, Played, Told, otherwise
from isrcheck.conformance.wire.script.stage import SECONDS, Arrival, Stage, comes
from isrcheck.models.language.model import Step
from isrcheck.models.run import State
from isrcheck.traces.format.trace import Trace

FAST = {
    "retry.backoff.ms": 10,
    "retry.backoff.max.ms": 10,
    "reconnect.backoff.ms": 10,
    "reconnect.backoff.max.ms": 20,
    "topic.metadata.refresh.fast.interval.ms": 10,
    "log_level": 0,  # the library says nothing on stderr
}
"""Short times for every client, and silence."""


SILENT = logging.getLogger(__name__)
SILENT.disabled = True
"""A logger that drops the errors that the library would print on stderr: errors after which a producer sends
nothing."""


class RealProducer:
    """A producer of confluent-kafka. It puts each record in a batch of its own."""

    def __init__(self, addresses: str, topic: str, settings: Mapping[str, str | int | bool]) -> None:
        """`settings`: the library's settings that depend on the trace: acks, enable.idempotence, transactional.id."""
        all_settings = {"bootstrap.servers": addresses, "linger.ms": 0, "batch.num.messages": 1, **FAST, **settings}
        self._producer = Producer({**all_settings, "logger": SILENT})
        self._topic = topic
        self._told: dict[str, Told] = {}
        self.sent: list[str] = []

    @property
    def told(self) -> Mapping[str, Told]:
        """The results that the producer's callbacks have had so far, by record."""
        self._poll()
        return self._told

    def is_told(self, value: str) -> bool:
        """Whether a callback has had a result for the given record."""
        return value in self.told

    def send(self, value: str) -> None:
        """Send a record. Raises KafkaException if the producer does not take it."""
        self.sent.append(value)
        self._producer.produce(self._topic, value, partition=0, on_delivery=self._note)

    def begin_transaction(self, seconds: float) -> None:
        """Get the producer's id, and begin its transaction. Blocks. Raises KafkaException."""
        self._producer.init_transactions(seconds)
        self._producer.begin_transaction()

    def end_transaction(self, control: Control, seconds: float) -> None:
        """Commit or abort the transaction. Blocks. Raises KafkaException."""
        if control is Control.COMMIT:
            self._producer.commit_transaction(seconds)
        else:
            self._producer.abort_transaction(seconds)

    def end(self) -> None:
        """Give up the records that are still in flight. Blocks until the library has ended its threads."""
        self._producer.purge()
        self._poll()
        del self._producer  # close() would first wait for the abort of a transaction that is still open

    def _poll(self) -> None:
        with suppress(KafkaException):  # a final error of the producer, which the callbacks of its records also get
            self._producer.poll(0)

    def _note(self, error: KafkaError | None, message: Message) -> None:
        value, offset = (message.value() or b"").decode(), message.offset()
        result = Told(None if error is None else error.str(), offset if offset is not None and offset >= 0 else None)
        self._told.setdefault(value, result)


FAILS = "request_fails"
SENDS = ("producer_appends", "producer_is_refused", "answer_is_lost", "send_is_lost", SEND_IN_TRANSACTION, FAILS)
RETRIES = ("producer_retries", *SEND_AGAIN)
ENDS = {"coordinator_commits": Control.COMMIT, "coordinator_aborts": Control.ABORT}

REFUSED = ProduceResponse(-1, Errors.NOT_LEADER_OR_FOLLOWER)
"""The answer to a request that fails without breaking its connection: later requests on it are in flight."""

MOST_REFUSALS = 5
IN_FLIGHT_SECONDS = 0.05
"""The time in which a producer sends a ready record after another record."""

Key = tuple[str, int]
"""A request of a producer of the cluster: the producer's name, and the request's number."""


class Producing:
    """The producers that take part while one trace is played."""

    def __init__(self, trace: Trace, stage: Stage, addresses: str, played: Played, tell: Callable[[str], None]) -> None:
        self._trace = trace
        self._stage = stage
        self._addresses = addresses
        self._played = played
        self._tell = tell
        self._acks = ACKS[int(trace.instance.configuration.acks)]
        self._is_idempotent = bool(trace.instance.configuration.enable_idempotence)
        self._states = [State(trace.instance, cells) for cells in trace.states]
        self._common = [payload_of(record) for record in range(self._states[0].next_record)]
        self._by_name: dict[str, RealProducer] = {}
        self._by_value: dict[str, RealProducer] = {}
        self._before: set[Key] = set()
        self._bound: dict[Key, Arrival] = {}
        self._identities: dict[Identity, Identity] = {}

    async def begin(self) -> None:
        """Let an idempotent producer send the records that the log holds at the start. Raises ClientError."""
        if not self._is_idempotent:
            return
        producer = self._by_name[PRODUCER] = self._new(
            **{
                "enable.idempotence": True,
                "max.in.flight": int(self._trace.instance.configuration.max_in_flight_requests),
            }
        )
        self._stage.expected = self._states[0].controller_leader
        for offset, value in enumerate(self._common):
            self._send(producer, value, 0)
            arrival = await self._arrived(value, 0)
            arrival.answer.set_result(ProduceResponse(-1, Errors.NONE, offset))
            if not await comes(partial(producer.is_told, value)):
                raise ClientError(f"record {value} was not reported as delivered within {SECONDS:.0f} s")

    async def end(self) -> None:
        """Note the producers' new results, and end the producers."""
        self._note_told(len(self._trace.steps))
        for each in {id(each): each for each in (*self._by_name.values(), *self._by_value.values())}.values():
            await asyncio.to_thread(each.end)

    # ------------------------------------------------------------------------------------------------- before a step

    async def before(self, step: Step, position: int) -> Arrival | None:
        """Wait for the producer's request that this step needs, and return it; None if the step needs no request.
        Raises ClientError."""
        self._before = {key for key, _ in self._sent()}
        if step.action in ENDS:
            await self._end_transaction(step.ordinals[0], ENDS[step.action], position)
            return None
        if step.action in SENDS:
            value = payload_of(self._states[position - 1].next_record)
            is_lost = step.action in ("send_is_lost", FAILS)  # such a request may go to any broker
            self._stage.expected = self._stage.coordinator() if is_lost else step.ordinals[0]
            producer = await self._producer_for(step)
            if step.action != FAILS:
                self._must_not_wait(producer, value, position)
            self._send(producer, value, position)
            if step.action == FAILS and self._waits(producer, value):
                return None  # after an earlier request: it is lost before a broker handles it
        elif step.action in RETRIES:
            is_refused = step.action in NUMBER_ANEW
            self._stage.expected, record = step.ordinals if is_refused else reversed(step.ordinals)
            value = payload_of(record)
            if record == self._states[position - 1].next_record:
                self._send(self._by_name[PRODUCER], value, position)
            for arrival in self._bound.values():  # its response did not arrive in time
                if arrival.value == value and not arrival.answer.done():
                    arrival.answer.set_result(None)
            self._must_not_wait(self._by_value[value], value, position)
        else:
            return None
        return await self._arrived(value, position)

    async def _producer_for(self, step: Step) -> RealProducer:
        if step.action == SEND_IN_TRANSACTION:
            name = producer_of(step.ordinals[1])
            if name not in self._by_name:
                self._by_name[name] = producer = self._new(**{"transactional.id": name})
                await self._done(lambda: producer.begin_transaction(SECONDS), f"the producer of {name}")
            return self._by_name[name]
        if self._is_idempotent:
            return self._by_name[PRODUCER]
        return self._new(**{"enable.idempotence": False})

    def _new(self, **settings: str | int | bool) -> RealProducer:
        return RealProducer(self._addresses, self._stage.topic, {"acks": self._acks.value, **settings})

    def _send(self, producer: RealProducer, value: str, position: int) -> None:
        self._by_value[value] = producer
        try:
            producer.send(value)
        except KafkaException as error:
            raise ClientError(f"{otherwise(position)}: it does not send record {value}: {_text(error)}") from None

    def _waits(self, producer: RealProducer, value: str) -> bool:
        """Whether a record of `producer` other than `value` is in a request that waits at a broker for an answer."""
        return any(
            arrival.value in producer.sent and arrival.value != value and not arrival.answer.done()
            for arrival in self._stage.arrivals
        )

    def _must_not_wait(self, producer: RealProducer, value: str, position: int) -> None:
        """Raise ClientError if another record of `producer` awaits its answer at the broker to which `value` goes."""
        for other in self._bound.values():
            is_here = other.broker == self._stage.expected and other.value in producer.sent and other.value != value
            if is_here and not other.answer.done() and self._acks is not Acks.NONE:
                raise ClientError(
                    f"step {position} sends record {value} to broker {other.broker}, where record {other.value} of the"
                    " same producer waits for its acknowledgement; a broker handles one request of a connection at a"
                    " time"
                )

    async def _arrived(self, value: str, position: int) -> Arrival:
        """Wait until the request with this record arrives at the expected broker, and return it. Raises ClientError.

        If the producer first resends a different record, which the trace's producer does not resend, that request gets
        the error `REFUSED`. This keeps the connection open: a later request on it may already be in flight.
        """
        producer, bound = self._by_value[value], {id(each) for each in self._bound.values()}
        arrivals: list[Arrival] = []

        def look() -> bool:
            for arrival in self._stage.arrivals:
                if arrival.value not in producer.sent or id(arrival) in bound or arrival.answer.done():
                    continue
                if self._stage.expected not in (None, arrival.broker):
                    arrival.answer.set_result(None)  # the request waits at the broker of an earlier step
                    continue
                arrivals.append(arrival)
            result = producer.told.get(value)
            # With acks=0, a record counts as delivered as soon as its request is in flight.
            is_told = result is not None and (self._acks is not Acks.NONE or result.error is not None)
            return bool(arrivals) or is_told

        for _ in range(MOST_REFUSALS):
            if not await comes(look):
                raise ClientError(f"{otherwise(position)}: it did not send record {value} within {SECONDS:.0f} s")
            if not arrivals:
                result = producer.told[value]
                raise ClientError(f"{otherwise(position)}: it does not send record {value}, whose result is: {result}")
            arrival = arrivals.pop()
            if arrival.value == value:
                return arrival
            await asyncio.sleep(IN_FLIGHT_SECONDS)
            arrival.answer.set_result(REFUSED)
        raise ClientError(
            f"{otherwise(position)}: it sends record {arrival.value} again, but the trace's producer sends {value}"
        )

    async def _end_transaction(self, transaction: int, control: Control, position: int) -> None:
        """Let the producer commit or abort its transaction. If a record in it is not acknowledged, the producer can do
        neither: a commit raises ClientError, and an abort is left to the coordinator, after transaction.timeout.ms."""
        before = self._states[position - 1]
        for record in range(before.next_record):
            if before.transaction_of[record] == transaction and not before.acknowledged[record]:
                if control is Control.ABORT:
                    return
                raise ClientError(
                    f"step {position} commits transaction {transaction} before record {payload_of(record)} is"
                    " acknowledged; a producer waits until then"
                )
        producer = self._by_name[producer_of(transaction)]
        await self._done(lambda: producer.end_transaction(control, SECONDS), otherwise(position))
        self._played.ended[transaction] = position

    async def _done(self, act: Callable[[], None], what: str) -> None:
        try:
            await asyncio.to_thread(act)
        except KafkaException as error:
            raise ClientError(f"{what}: {_text(error)}") from None

    # -------------------------------------------------------------------------------------------------- after a step

    async def after(self, step: Step, arrival: Arrival | None, position: int) -> None:
        """Pass the cluster's answers on to the producers, and wait until the producers have the results.

        Raises ClientError.
        """
        if arrival is not None and step.action == FAILS:
            arrival.answer.set_result(REFUSED)
        elif arrival is not None:
            (own,) = (key for key, _ in self._sent() if key not in self._before)
            self._bound[own] = arrival
            self._must_be_numbered_alike(dict(self._sent())[own].stamp, arrival, position)
        if step.action in ENDS and step.ordinals[0] in self._played.ended:
            outcome = "committed" if ENDS[step.action] is Control.COMMIT else "aborted"
            self._tell(f"     the producer learned that transaction {step.ordinals[0]} is {outcome}")
        awaited = {*self._by_value} if self._acks is Acks.NONE else {*self._answer()}
        if not await comes(lambda: self._note_told(position) | self._refused_and_back() >= awaited):
            raise ClientError(f"the producer's callback was not called within {SECONDS:.0f} s")

    def _answer(self) -> Iterator[str]:
        """Pass the cluster's answers on to the producers. Yield each record that was acknowledged, or refused because
        of its sequence number: next, its producer reports a result for this record, or sends the record again."""
        for key, sent in self._sent():
            arrival = self._bound.get(key)
            if arrival is None or sent.outcome is None or arrival.answer.done():
                continue
            is_lost = sent.outcome is Errors.NETWORK_EXCEPTION
            arrival.answer.set_result(None if is_lost else ProduceResponse(-1, sent.outcome, sent.offset))
            if sent.outcome in (Errors.NONE, *REFUSED_SEQUENCES):
                yield arrival.value

    def _refused_and_back(self) -> set[str]:
        """The records that were refused because of their sequence number, were sent again, and wait at a broker."""
        refused = {sent.payload for _, sent in self._sent() if sent.outcome in REFUSED_SEQUENCES}
        return refused & {arrival.value for arrival in self._stage.arrivals if not arrival.answer.done()}

    def _note_told(self, position: int) -> set[str]:
        """Note the producers' new results; returns all records that have a result."""
        for value, producer in self._by_value.items():
            result = producer.told.get(value)
            if result is not None and value not in self._played.told and value not in self._common:
                self._played.told[value] = position, result
                self._tell(f"     the producer's callback called record {value} {result}")
        return {*self._played.told, *self._common}

    def _sent(self) -> Iterator[tuple[Key, Sent]]:
        for name, sent in self._stage.cluster.observe().sent:
            yield from (((name, each.number), each) for each in sent)

    def _must_be_numbered_alike(self, own: ProducerStamp | None, arrival: Arrival, position: int) -> None:
        """Raise ClientError if the client's stamp, in `arrival`, contradicts `own`, the record's stamp in the trace.

        Sequence numbers must be equal. Producer ids and epochs need not be equal, but each id and epoch in the trace
        must correspond to one id and epoch of the client in all requests.
        """
        real = arrival.stamp
        if own is None or real is None:
            return
        ours, theirs = (Identity(each.producer_id, each.producer_epoch) for each in (own, real))
        is_known = ours in self._identities or theirs in self._identities.values()
        is_same = self._identities.get(ours) == theirs if is_known else True
        if not is_same or real.sequence != own.sequence:
            epoch = "the same epoch, but another number" if is_same else "another epoch"
            raise ClientError(
                f"{otherwise(position)}: it gives record {arrival.value} sequence number {real.sequence} in {epoch}"
                f" than in the trace, where it has number {own.sequence}"
            )
        self._identities[ours] = theirs


def _text(error: KafkaException) -> str:
    return str(error.args[0].str())

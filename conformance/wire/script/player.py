"""Plays a trace: the cluster takes its steps, and real producers send its records.

In:  a trace of `kafka`, which the driver of `conform replay` takes step by step.
Out: `Played`: what the producers were told at which step, what a new consumer reads afterwards, and whether the cluster
     has the states of the trace.

Whatever a producer sends arrives at the server and waits there. A step in which a producer sends a record lets that
request through; when the cluster answers, the answer goes back on the same connection. After the last step the cluster
runs on without faults and elections, so that a new consumer can read.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator

from isrcheck.conformance.cluster.cluster import Cluster
from isrcheck.conformance.cluster.network.messages import Acks, Errors, ProduceResponse
from isrcheck.conformance.implemented import ACKS
from isrcheck.conformance.replay.compare import Divergence, compared
from isrcheck.conformance.replay.driver import Driver, cells_of
from isrcheck.conformance.replay.projection import payload_of
from isrcheck.conformance.replay.system import StepRefusedError
from isrcheck.conformance.wire.driving.pump import Pump
from isrcheck.conformance.wire.listening.server import Server
from isrcheck.conformance.wire.script.clients import RecordProducer, read_all
from isrcheck.conformance.wire.script.played import Played
from isrcheck.conformance.wire.script.stage import Arrival, Stage
from isrcheck.models.language.model import Step
from isrcheck.models.messages.errors import UsageError
from isrcheck.traces.format.trace import Trace

SENDS = ("producer_appends", "producer_is_refused", "answer_is_lost", "send_is_lost")
RETRIES = "producer_retries"
IN_TRANSACTIONS = ("producer_appends_in_transaction", "coordinator_commits", "coordinator_aborts")
CLIENT_SECONDS = 10.0
POLL_SECONDS = 0.002
AFTERWARDS = 60
"""Virtual seconds for which the cluster runs on, one after the other."""

ROUNDS = 10
"""In a replay, a fetch without news does not wait: messages between brokers never end."""

NEVER = 10**9


class ClientError(UsageError):
    """A client did not do in time what the trace needs."""


class Player:
    """Plays one trace."""

    def __init__(self, trace: Trace, bug: str | None, host: str, port: int, tell: Callable[[str], None]) -> None:
        """`tell` takes one line per event. Raises UsageError for a trace that cannot be played."""
        if any(step.action in IN_TRANSACTIONS for step in trace.steps):
            raise ClientError("the trace has transactions, whose producers --trace does not play yet")
        if trace.instance.configuration.enable_idempotence:
            raise ClientError("the trace has an idempotent producer, which --trace does not play yet")
        if trace.instance.configuration.consumers:
            raise ClientError("the trace has consumers with a position, which --trace does not play yet")
        self._trace = trace
        self._tell = tell
        self._at = host, port
        self._driver = Driver(bug)
        self._driver.begin(trace)
        self._producers: dict[str, RecordProducer] = {}
        self._bound: dict[tuple[str, int], tuple[str, Arrival]] = {}
        self._played = Played()

    @property
    def _cluster(self) -> Cluster:
        return self._driver.cluster

    async def play(self, topic: str, protocol: str) -> Played:
        """Play the trace. Raises ClientError, PortError."""
        stage = Stage(self._cluster, topic, _be_silent)
        async with Server(stage, protocol, *self._at) as server:
            try:
                await self._take_steps(stage, server)
                if self._played.divergence is None:
                    await self._run_on(stage, server)
                    self._played.reading = await asyncio.to_thread(read_all, server.bootstrap, topic)
            finally:
                stage.expected = None
                for each in self._producers.values():
                    await asyncio.to_thread(each.end)
        return self._played

    async def _take_steps(self, stage: Stage, server: Server) -> None:
        self._compare(0)
        for position, step in enumerate(self._trace.steps, start=1):
            if self._played.divergence is not None:
                return
            arrival = await self._arrival_for(stage, server, step, position)
            before = {key for key, _, _ in self._sent()}
            try:
                self._driver.take(step)
            except StepRefusedError as error:
                self._played.divergence = Divergence(position, None, self._trace.states[position], str(error))
                return
            if arrival is not None:
                self._bind(arrival, before)
            self._compare(position)
            self._tell(f"{position:>3}  {self._trace.instance.spell_step(step)}")
            await server.follow()
            await self._answer(position)

    def _compare(self, position: int) -> None:
        cells = self._trace.states[position]
        differing, found = compared(self._trace.instance, cells, self._driver.observe())
        if differing is not None:
            self._played.divergence = Divergence(position, differing, found)

    # ------------------------------------------------------------------------------------------ requests of producers

    async def _arrival_for(self, stage: Stage, server: Server, step: Step, position: int) -> Arrival | None:
        """The request that this step lets through, once it has arrived; None if no producer takes part in the step."""
        if step.action in SENDS:
            (number,) = cells_of(self._trace.instance, self._trace.states[position - 1], "next_record")
            anyone = stage.coordinator()  # a request that is lost may go to any broker
            stage.expected = step.ordinals[0] if step.ordinals else anyone
            value, acks = payload_of(number), ACKS[int(self._trace.instance.configuration.acks)]
            self._producers[value] = RecordProducer(server.bootstrap, stage.topic, value, acks.value)
        elif step.action == RETRIES:
            record, stage.expected = step.ordinals
            value = payload_of(record)
            for name, arrival in self._bound.values():  # its response did not arrive in time
                if name == value and not arrival.answer.done():
                    arrival.answer.set_result(None)
        else:
            return None
        return await self._arrived(stage, value)

    async def _arrived(self, stage: Stage, value: str) -> Arrival:
        bound = {id(arrival) for _, arrival in self._bound.values()}
        for _ in range(int(CLIENT_SECONDS / POLL_SECONDS)):
            for arrival in stage.arrivals:
                if arrival.value == value and id(arrival) not in bound and not arrival.answer.done():
                    if stage.expected in (None, arrival.broker):
                        return arrival
                    arrival.answer.set_result(None)  # it waits at the broker of an earlier step
            await asyncio.sleep(POLL_SECONDS)
        raise ClientError(f"the producer did not send record {value} within {CLIENT_SECONDS:.0f} s")

    def _sent(self) -> Iterator[tuple[tuple[str, int], Errors | None, int]]:
        """Every request of a producer of the cluster: its name and number, its outcome, its offset."""
        for name, sent in self._cluster.observe().sent:
            yield from (((name, each.number), each.outcome, each.offset) for each in sent)

    def _bind(self, arrival: Arrival, before: set[tuple[str, int]]) -> None:
        """Remember which request of the cluster is the one that has arrived."""
        (key,) = {key for key, _, _ in self._sent()} - before
        self._bound[key] = arrival.value, arrival

    async def _answer(self, position: int) -> None:
        """Answer the requests that the cluster has answered, and wait until their producers have been told."""
        awaited = []
        for key, outcome, offset in self._sent():
            if key not in self._bound or outcome is None:
                continue
            value, arrival = self._bound[key]
            if arrival.answer.done():
                continue
            is_lost = outcome is Errors.NETWORK_EXCEPTION
            arrival.answer.set_result(None if is_lost else ProduceResponse(-1, outcome, offset))
            if outcome is Errors.NONE:
                awaited.append(value)
        if ACKS[int(self._trace.instance.configuration.acks)] is Acks.NONE:
            awaited = list(self._producers)
        await self._be_told(awaited, position)

    async def _be_told(self, values: list[str], position: int) -> None:
        for _ in range(int(CLIENT_SECONDS / POLL_SECONDS)):
            for value, producer in self._producers.items():
                told = producer.told
                if told is not None and value not in self._played.told:
                    self._played.told[value] = position, told
                    self._tell(f"     the producer's callback called record {value} {told}")
            if all(value in self._played.told for value in values):
                return
            await asyncio.sleep(POLL_SECONDS)
        raise ClientError(f"the producer's callback was not called within {CLIENT_SECONDS:.0f} s")

    # ---------------------------------------------------------------------------------------------- after the trace

    async def _run_on(self, stage: Stage, server: Server) -> None:
        """Let the cluster run without faults and elections; brokers that are down stay down.

        What brokers had on their way to each other is lost first: it could still bring a lost record back.
        """
        for message in self._cluster.messages():
            if isinstance(message.source, int) and isinstance(message.destination, int):
                self._cluster.drop(message.number)
        now = [self._cluster.now / 1000]

        def tell(line: str) -> None:
            self._tell(f"     afterwards: {line}")

        pump = Pump(self._cluster, tell, session_timeout=NEVER, rounds=ROUNDS, now=lambda: now[0])
        for _ in range(AFTERWARDS):
            now[0] += 1
            pump.run()
        stage.pump, stage.expected = pump, None
        await server.follow()


def _be_silent(line: str) -> None:
    """The requests of clients are not told one by one."""

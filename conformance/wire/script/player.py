"""Plays a trace: the cluster takes the trace's steps, and real producers and consumers take part.

Whatever a client sends arrives at the server and waits there. A step in which a client takes part lets the client's
request through; when the cluster answers, the answer goes back on the same connection. After the last step the cluster
keeps running without faults and elections, so that new consumers can read.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from isrcheck.conformance.cluster.network.messages import Errors, Isolation
from isrcheck.conformance.replay.compare import Divergence, compared
from isrcheck.conformance.replay.driver import Driver
from isrcheck.conformance.replay.system import StepRefusedError
from isrcheck.conformance.wire.driving.events import be_silent
from isrcheck.conformance.wire.driving.pump import Pump
from isrcheck.conformance.wire.listening.server import Server
from isrcheck.conformance.wire.script.consuming import READS, Consuming, read_all
from isrcheck.conformance.wire.script.played import Played
from isrcheck.conformance.wire.script.producing import SENDS, Producing
from isrcheck.conformance.wire.script.stage import Stage
from isrcheck.traces.format.trace import Trace

FOR_CLIENTS = (*SENDS, *READS)
"""The actions that a trace must have, so that there is something to play."""

AFTERWARDS = 60
"""The virtual seconds for which the cluster keeps running after the last step, one after the other."""

ROUNDS = 10
"""In a replay, a fetch without news does not wait: messages between brokers never end."""

NEVER = 10**9


class Player:
    """Plays one trace on a cluster, with real clients."""

    def __init__(self, trace: Trace, bug: str | None, host: str, port: int, tell: Callable[[str], None]) -> None:
        """`tell` takes one line per event. Raises UsageError for a trace that cannot be played."""
        self._driver = Driver(bug)
        self._driver.begin(trace)
        self._trace = trace
        self._tell = tell
        self._at = host, port
        self._played = Played()

    async def play(self, topic: str, protocol: str) -> Played:
        """Play the trace; returns the results and reads of the clients. Raises ClientError, PortError."""
        stage = Stage(self._driver.cluster, topic, be_silent)
        async with Server(stage, protocol, *self._at) as server:
            shared = (stage, server.bootstrap, self._played, self._tell)
            producing, consuming = Producing(self._trace, *shared), Consuming(self._trace, *shared)
            try:
                await producing.begin()
                consuming.begin()
                await self._take_steps(server, producing, consuming)
                if self._played.divergence is None:
                    await consuming.end()
                    await self._run_on(stage, server)
                    await self._read(server.bootstrap, topic)
            finally:
                stage.expected = None
                await consuming.end()
                await producing.end()
        return self._played

    async def _take_steps(self, server: Server, producing: Producing, consuming: Consuming) -> None:
        self._compare(0)
        for position, step in enumerate(self._trace.steps, start=1):
            if self._played.divergence is not None:
                return
            arrival = await producing.before(step, position)
            await consuming.before(step, position)
            try:
                self._driver.take(step)
            except StepRefusedError as error:
                self._played.divergence = Divergence(position, None, self._trace.states[position], str(error))
                return
            self._compare(position)
            self._tell(f"{position:>3}  {self._trace.instance.spell_step(step)}")
            await server.follow()
            await producing.after(step, arrival, position)
            await consuming.after(step, position)

    def _compare(self, position: int) -> None:
        cells = self._trace.states[position]
        differing, observed = compared(self._trace.instance, cells, self._driver.observe())
        if differing is not None:
            self._played.divergence = Divergence(position, differing, observed)

    # ---------------------------------------------------------------------------------------------- after the trace

    async def _run_on(self, stage: Stage, server: Server) -> None:
        """Let the cluster run without faults and elections; brokers that are down stay down.

        First, all messages in flight between brokers are dropped: they could still bring a lost record back.
        """
        for message in self._driver.cluster.messages():
            if isinstance(message.source, int) and isinstance(message.destination, int):
                self._driver.cluster.drop(message.number)
        now = [self._driver.cluster.now / 1000]

        def tell(line: str) -> None:
            self._tell(f"     afterwards: {line}")

        pump = Pump(self._driver.cluster, tell, session_timeout=NEVER, rounds=ROUNDS, now=lambda: now[0])
        for _ in range(AFTERWARDS):
            now[0] += 1
            self._write_markers()
            pump.run()
        self._played.is_leaderless = self._driver.cluster.controller_metadata().leader is None
        stage.pump, stage.expected = pump, None
        await server.follow()

    def _write_markers(self) -> None:
        """Write the marker of each decided transaction that has no marker yet."""
        view = self._driver.cluster.observe()
        is_sent = {each.producer for each in view.markers if each.outcome in (None, Errors.NONE)}
        leader = view.controller.leader
        if leader is not None and self._driver.cluster.is_running(leader):
            for producer, _ in view.decided:
                if producer not in is_sent:
                    self._driver.cluster.write_marker(leader, producer)

    async def _read(self, addresses: str, topic: str) -> None:
        if self._trace.instance.configuration.transactions:
            self._played.committed = await asyncio.to_thread(read_all, addresses, topic, Isolation.READ_COMMITTED)
            if self._played.committed is None:
                return
        self._played.reading = await asyncio.to_thread(read_all, addresses, topic, Isolation.READ_UNCOMMITTED)

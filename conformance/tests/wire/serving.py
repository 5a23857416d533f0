"""Shared by the tests of the wire: a server in a thread, and real clients with short time-outs."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, closing, contextmanager, suppress
from typing import Any

from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition

from conformance.tests.wire.in_thread import in_thread
from isrcheck.conformance.cluster.cluster import Cluster
from isrcheck.conformance.cluster.configuration.settings import Settings, Start
from isrcheck.conformance.wire.driving.backend import Backend
from isrcheck.conformance.wire.driving.pump import Pump
from isrcheck.conformance.wire.driving.topics import Surroundings
from isrcheck.conformance.wire.listening.server import DEFECT, Server
from isrcheck.conformance.wire.listening.serving import Faults

TOPIC = "topic"
SECONDS = 10.0
"""How long a client may take at most; none of them takes a tenth of it."""


def until(condition: Callable[[], bool], wait: Callable[[], object] = lambda: None) -> None:
    """Wait until a condition holds; a test fails after a while instead of waiting for ever."""
    end = time.monotonic() + SECONDS
    while not condition():
        assert time.monotonic() < end, f"not within {SECONDS} s"
        wait()


class Running:
    """A server that runs in another thread. `lines` are the events that it told."""

    def __init__(self, server: Server, faults: Faults, loop: asyncio.AbstractEventLoop, lines: list[str]) -> None:
        self.server = server
        self.bootstrap = server.bootstrap
        self.addresses = [(host, int(port)) for host, port in (one.split(":") for one in self.bootstrap.split(","))]
        self.lines = lines
        self._faults = faults
        self._loop = loop

    def do(self, *commands: str) -> None:
        """Carry out faults, one after the other; returns when they have happened."""

        async def carry_out() -> None:
            for command in commands:
                self._faults.obey(command)
            await self.server.follow()

        asyncio.run_coroutine_threadsafe(carry_out(), self._loop).result(SECONDS)

    def call(self, function: Callable[[], Any]) -> Any:
        """Call a function in the thread of the server."""

        async def called() -> Any:
            return function()

        return asyncio.run_coroutine_threadsafe(called(), self._loop).result(SECONDS)


@contextmanager
def running(
    protocol: str = "2.4",
    session_timeout: int = 0,
    bug: str | None = None,
    around: Surroundings | None = None,
    start: Start | None = None,
    **settings: int,
) -> Iterator[Running]:
    """A server with three brokers; the controller notices at once that one is down."""
    lines: list[str] = []
    cluster = Cluster(protocol, start, Settings(**settings), bug)
    pump = Pump(cluster, lines.append, session_timeout, unclean=cluster.settings.unclean_leader_election_enable)
    backend = Backend(cluster, pump, TOPIC, lines.append, around)
    faults = Faults(cluster, pump, backend, lines.append)

    @asynccontextmanager
    async def opened() -> AsyncIterator[Running]:
        async with Server(backend, protocol) as server:
            yield Running(server, faults, asyncio.get_running_loop(), lines)

    with in_thread(opened, SECONDS) as served:
        yield served
    assert [line for line in lines if DEFECT in line] == []


FAST = {
    "linger.ms": 0,
    "retry.backoff.ms": 5,
    "retry.backoff.max.ms": 5,
    "reconnect.backoff.ms": 5,
    "reconnect.backoff.max.ms": 10,
    "topic.metadata.refresh.fast.interval.ms": 5,
    "log_level": 0,
}


@contextmanager
def producer(server: Running, **settings: Any) -> Iterator[Producer]:
    """A producer, with underscores for the dots of its settings."""
    given = {name.replace("_", "."): value for name, value in settings.items()}
    found = Producer({"bootstrap.servers": server.bootstrap, "acks": "all", **FAST, **given})
    try:
        yield found
    finally:
        found.purge()
        with suppress(KafkaException):  # a fenced producer complains once more
            found.close()


def send(found: Producer, *values: str) -> list[tuple[str | None, int | None]]:
    """Send records one after the other, and wait; the results in the callbacks: the error's name, the offset."""
    told: list[tuple[str | None, int | None]] = []
    for value in values:
        found.produce(TOPIC, value, on_delivery=lambda error, one: told.append((error and error.name(), one.offset())))
        assert found.flush(SECONDS) == 0
    return told


def read(server: Running, isolation: str = "read_uncommitted", **settings: Any) -> list[tuple[int, str]]:
    """The offset and the value of every record that a new consumer reads, up to the end of the partition."""
    given = {name.replace("_", "."): value for name, value in settings.items()}
    consumer = Consumer(
        {
            "bootstrap.servers": server.bootstrap,
            "group.id": "readers",
            "isolation.level": isolation,
            "enable.partition.eof": True,
            "enable.auto.commit": False,
            "fetch.wait.max.ms": 5,
            "log_level": 0,
            **given,
        }
    )
    found: list[tuple[int, str]] = []
    with closing(consumer):
        consumer.assign([TopicPartition(TOPIC, 0, 0)])
        while True:
            message = consumer.poll(SECONDS)
            assert message is not None
            if message.error() is not None:
                assert message.error().name() == "_PARTITION_EOF"
                return found
            found.append((message.offset(), message.value().decode()))

"""Serves a cluster until it is interrupted.

In:  a cluster, where to listen, commands on standard input.
Out: the address; one line per event.
"""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable
from dataclasses import dataclass

from isrcheck.conformance.cluster.cluster import Cluster
from isrcheck.conformance.wire.driving.backend import Backend
from isrcheck.conformance.wire.driving.events import Tell
from isrcheck.conformance.wire.driving.pump import Pump
from isrcheck.conformance.wire.faults import Faults
from isrcheck.conformance.wire.listening.server import Server
from isrcheck.conformance.wire.standard_input import commands


@dataclass(frozen=True)
class Address:
    """Where the brokers listen: a host, and the port of broker 0 (0: the system chooses).

    `advertised` is the port of broker 0 that clients are told (0: where it listens). The other brokers have the next.
    """

    host: str
    port: int
    advertised: int = 0


async def serve(
    cluster: Cluster,
    protocol: str,
    topic: str,
    at: Address,
    unclean: bool,
    tell: Tell,
    started: Callable[[str], None],
    seconds: float | None,
) -> bool:
    """Serve until Ctrl-C, or for so many seconds; returns whether it was interrupted.

    `tell` takes one line per event; `started` takes the addresses of the brokers. Raises PortError.
    """
    pump = Pump(cluster, tell, unclean=unclean)
    backend = Backend(cluster, pump, topic, tell)
    faults = Faults(cluster, pump, tell)
    interrupted = asyncio.Event()
    loop = asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGINT, interrupted.set)
    loop.add_signal_handler(signal.SIGTERM, interrupted.set)
    with commands(faults.obey):
        async with Server(backend, protocol, at.host, at.port) as server:
            if at.advertised:
                server.advertise({broker: at.advertised + broker for broker in cluster.brokers})
            started(server.bootstrap)
            assert server.ticking is not None
            waiting = asyncio.create_task(interrupted.wait())
            await asyncio.wait({waiting, server.ticking}, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
            waiting.cancel()
    return interrupted.is_set()

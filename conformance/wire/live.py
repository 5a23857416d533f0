"""Serves a cluster until it is interrupted.

In:  a cluster, where to listen, commands on standard input.
Out: the address; one line per event.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Callable
from dataclasses import dataclass

from isrcheck.conformance.cluster.cluster import Cluster
from isrcheck.conformance.wire.driving.backend import Backend
from isrcheck.conformance.wire.driving.events import Tell
from isrcheck.conformance.wire.driving.pump import Pump
from isrcheck.conformance.wire.faults import Faults
from isrcheck.conformance.wire.listening.server import Server

LONGEST_LINE = 1_000


@dataclass(frozen=True)
class Address:
    """Where the brokers listen: a host, and the port of broker 0 (0: the system chooses)."""

    host: str
    port: int


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
    is_readable = _reads_commands(loop, faults)
    try:
        async with Server(backend, protocol, at.host, at.port) as server:
            started(server.bootstrap)
            assert server.ticking is not None
            waiting = asyncio.create_task(interrupted.wait())
            await asyncio.wait({waiting, server.ticking}, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
            waiting.cancel()
    finally:
        if is_readable:
            loop.remove_reader(sys.stdin.fileno())
    return interrupted.is_set()


def _reads_commands(loop: asyncio.AbstractEventLoop, faults: Faults) -> bool:
    """Read commands from standard input as they come; returns whether there is one to read from."""
    try:
        number = sys.stdin.fileno()
        loop.add_reader(number, _Commands(loop, number, faults).read)
    except (ValueError, OSError):  # closed, replaced, or a file, which is no source of events
        return False
    return True


class _Commands:
    """The lines of standard input, which arrive in pieces of any length."""

    def __init__(self, loop: asyncio.AbstractEventLoop, number: int, faults: Faults) -> None:
        self._loop = loop
        self._number = number
        self._faults = faults
        self._rest = ""

    def read(self) -> None:
        """Obey every line that is complete, and at the end of the input also the last one."""
        if os.isatty(self._number) and os.tcgetpgrp(self._number) != os.getpgrp():
            return  # in the background: reading would stop this process
        data = os.read(self._number, LONGEST_LINE)
        lines = (self._rest + data.decode(errors="replace")).split("\n")
        self._rest = "" if not data or len(lines[-1]) > LONGEST_LINE else lines.pop()
        if not data:
            self._loop.remove_reader(self._number)
        for line in lines:
            self._faults.obey(line)

"""Serves a cluster until Ctrl-C; meanwhile the person who runs it causes faults by typed commands."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from isrcheck.conformance.cluster.cluster import Cluster
from isrcheck.conformance.cluster.configuration.settings import ClusterError
from isrcheck.conformance.cluster.controller.controller import Election
from isrcheck.conformance.wire.driving.backend import Backend
from isrcheck.conformance.wire.driving.events import Tell
from isrcheck.conformance.wire.driving.pump import Pump
from isrcheck.conformance.wire.listening.server import Server
from isrcheck.conformance.wire.listening.standard_input import commands

LOSE = "lose answer"


class Faults:
    """The commands with which a person causes faults in one cluster."""

    def __init__(self, cluster: Cluster, pump: Pump, tell: Tell) -> None:
        self._cluster = cluster
        self._pump = pump
        self._tell = tell
        self._commands: Mapping[str, Callable[[int], None]] = {
            "crash": cluster.crash,
            "restart": cluster.restart,
            "freeze": cluster.freeze,
            "thaw": cluster.thaw,
            "elect": self._elect,
        }

    def obey(self, line: str) -> None:
        """Carry out a command, or report what is wrong with it. Empty lines are skipped."""
        words = line.split()
        if not words:
            return
        try:
            self._obey(words)
        except ClusterError as error:
            self._tell(str(error))
        else:
            self._pump.run()

    def _obey(self, words: list[str]) -> None:
        if words == LOSE.split():
            self._pump.lose_answer()
        elif len(words) == 2 and words[0] in self._commands and words[1].isascii() and words[1].isdecimal():
            self._commands[words[0]](int(words[1]))
        else:
            commands = ", ".join(f"{name} N" for name in self._commands)
            raise ClusterError(f"{' '.join(words)[:100]}: no such command; the commands are: {commands}, {LOSE}")
        self._tell(" ".join(words))

    def _elect(self, broker: int) -> None:
        """Let the controller elect `broker` as the leader; the former leader stays in the ISR if it runs."""
        leader = self._cluster.controller_metadata().leader
        is_led = leader is not None and self._cluster.is_running(leader)
        kind = Election.PREFERRED if is_led else Election.FAIL_OVER
        self._cluster.elect(kind, broker)


@dataclass(frozen=True)
class Address:
    """Where the brokers listen: a host, and the port of broker 0 (0: the system chooses).

    `advertised`: the port of broker 0 that clients receive (0: where it listens). Other brokers have the next ports.
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
    """Serve until Ctrl-C, or for `seconds`. Return whether Ctrl-C ended the serving.

    `tell` takes one line per event; `started` takes the brokers' addresses, once they listen. Raises PortError.
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

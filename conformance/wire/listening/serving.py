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
from isrcheck.conformance.wire.driving.pump import SESSION_TIMEOUT, Pump
from isrcheck.conformance.wire.driving.topics import Permission, Surroundings
from isrcheck.conformance.wire.listening.server import Server
from isrcheck.conformance.wire.listening.standard_input import commands

LOSE = "lose answer"
DENY, ALLOW, REASSIGN = "deny", "allow", "reassign"


class Faults:
    """The commands with which a person causes faults in one cluster."""

    def __init__(self, cluster: Cluster, pump: Pump, backend: Backend, tell: Tell) -> None:
        self._cluster = cluster
        self._backend = backend
        self._pump = pump
        self._tell = tell
        self._permissions = {each.value: each for each in Permission}
        self._commands: Mapping[str, Callable[[int], None]] = {
            "crash": cluster.crash,
            "stop": self._stop,
            "restart": self._restart,
            "freeze": cluster.freeze,
            "thaw": cluster.thaw,
            "elect": self._elect,
            "min-isr": cluster.change_min_insync_replicas,
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
            self._backend.follow()

    def _obey(self, words: list[str]) -> None:
        if words == LOSE.split():
            self._pump.lose_answer()
        elif words[0] in (DENY, ALLOW) and (permission := self._permissions.get(" ".join(words[1:]))):
            (self._backend.denied.add if words[0] == DENY else self._backend.denied.discard)(permission)
        elif words[0] == REASSIGN and len(words) > 1 and all(map(str.isdecimal, words[1:])):
            self._cluster.begin_reassignment(tuple(map(int, words[1:])))
        elif len(words) == 2 and words[0] in self._commands and words[1].isascii() and words[1].isdecimal():
            self._commands[words[0]](int(words[1]))
        else:
            commands = ", ".join(f"{name} N" for name in self._commands)
            others = f"{REASSIGN} N N ..., {LOSE}, {DENY} or {ALLOW} one of: {', '.join(self._permissions)}"
            raise ClusterError(f"{' '.join(words)[:100]}: no such command; the commands are: {commands}, {others}")
        self._tell(" ".join(words))

    def _stop(self, broker: int) -> None:
        """Shut a broker of a KRaft cluster down, as SIGTERM does; it may lead partitions of further topics."""
        self._cluster.begin_shutdown(broker, leads_others=True)

    def _restart(self, broker: int) -> None:
        """Start a process of a broker. Errors: `ClusterError` while the session of its earlier process lasts."""
        if self._cluster.has_kraft and not self._cluster.process_of(broker) and not self._cluster.may_register(broker):
            raise ClusterError(f"restart {broker}: the session of its earlier process lasts; try again in 9 s at most")
        self._cluster.restart(broker)

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
    around: Surroundings | None = None,
) -> bool:
    """Serve until Ctrl-C, or for `seconds`. Return whether Ctrl-C ended the serving.

    `tell` takes one line per event; `started` takes the brokers' addresses, once they listen. Raises PortError.
    """
    session_timeout = cluster.settings.broker_session_timeout_ms if cluster.has_kraft else SESSION_TIMEOUT
    pump = Pump(cluster, tell, session_timeout, unclean=unclean)
    backend = Backend(cluster, pump, topic, tell, around)
    faults = Faults(cluster, pump, backend, tell)
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

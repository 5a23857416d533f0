"""What a person can do to the brokers, as commands of one line.

In:  lines of text.
Out: faults of the cluster; what is wrong with a line.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from isrcheck.conformance.cluster.cluster import Cluster
from isrcheck.conformance.cluster.configuration.settings import ClusterError
from isrcheck.conformance.cluster.controller.controller import Election
from isrcheck.conformance.wire.driving.events import Tell
from isrcheck.conformance.wire.driving.pump import Pump

LOSE = "lose answer"


class Faults:
    """The faults of one cluster."""

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
        """Carry out a command; tell what is wrong with it. An empty line is none."""
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
            known = ", ".join(f"{name} N" for name in self._commands)
            raise ClusterError(f"{' '.join(words)[:100]}: no such command; the commands are: {known}, {LOSE}")
        self._tell(" ".join(words))

    def _elect(self, broker: int) -> None:
        """Elect a broker: the former leader stays in the ISR if it runs."""
        leader = self._cluster.controller_metadata().leader
        is_led = leader is not None and self._cluster.is_running(leader)
        kind = Election.PREFERRED if is_led else Election.FAIL_OVER
        self._cluster.elect(kind, broker)

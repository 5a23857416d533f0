"""What a person types while the proxy runs: faults of nodes, remarks, and commands for rules.

In:  one line each.
Out: entries of the recording: faults in the words that `conform follow` knows, and notes; commands for the rules; or
     one line that says what is wrong.

A fault is only written down: the person causes it. Its line stands where it was typed, so type it at the same moment.
"""

from __future__ import annotations

from collections.abc import Callable, Collection

from isrcheck.conformance.follow.recorded.faults import ALLOWED, BECOMES, FaultKind, fault_in, may_be_fault
from isrcheck.conformance.wire.recording.holding import ACTS, Holding
from isrcheck.conformance.wire.recording.messages import Broker
from isrcheck.conformance.wire.recording.recorder import Sink

MOST_NOTE = 1_000
LONGEST_WORD = 100

FAULTS = {
    "kill": FaultKind.KILL,
    "freeze": FaultKind.FREEZE,
    "thaw": FaultKind.THAW,
    "stop": FaultKind.STOP,
    "start": FaultKind.START,
}
"""The commands for faults of one node."""

CUTS = {"cut": FaultKind.CUT.value, "heal": "heal"}
"""The commands for faults between two nodes, and the words of their lines."""

FAULT_COMMANDS = "kill N, freeze N, thaw N, stop N, start N, cut N M, heal N M"
COMMANDS = f"{FAULT_COMMANDS}, note TEXT, begin LINE, pass LINE, release LINE"
NO_FAULT = "it is kept as a remark, after which `conform follow` rejects nothing, since it may be about a fault"


class Typed:
    """The commands of one recording. `answer` takes the one line that says what is wrong with a command."""

    def __init__(self, nodes: Collection[Broker], holding: Holding, sink: Sink, answer: Callable[[str], None]) -> None:
        self._nodes = {str(node): node for node in nodes}
        self._holding = holding
        self._sink = sink
        self._answer = answer
        self._conditions: dict[Broker, str] = {}

    def obey(self, line: str) -> None:
        """Carry out a command of one line; answer what is wrong with it. An empty line is none."""
        command, _, rest = line.strip().partition(" ")
        words = rest.split()
        if command in FAULTS and len(words) == 1:
            self._befall(FAULTS[command], words[0])
        elif command in CUTS and len(words) == 2:
            self._cut(CUTS[command], *words)
        elif command == "note" and rest:
            self._note(rest[:MOST_NOTE])
        elif command in ACTS:
            self._holding.obey(command, rest.strip())
        elif command:
            self._answer(f"{line.strip()[:LONGEST_WORD]}: no such command; the commands are: {COMMANDS}")

    def _note(self, text: str) -> None:
        fault = fault_in(text)
        if fault is not None:
            self._befall(fault[0], str(fault[1]))
            return
        self._sink.put({"kind": "fault", "what": "note", "text": text})
        if may_be_fault(text):
            self._answer(f"{text[:LONGEST_WORD]}: {NO_FAULT}; the commands for faults are: {FAULT_COMMANDS}")

    def _befall(self, kind: FaultKind, word: str) -> None:
        node = self._node(word)
        if node is None:
            return
        condition = self._conditions.get(node, "running")
        if condition not in ALLOWED[kind]:
            self._answer(f"{kind.value} {word}: it is {condition}; not written")
            return
        self._conditions[node] = BECOMES[kind]
        self._sink.put({"kind": "fault", "what": kind.value, "broker": node})

    def _cut(self, what: str, *words: str) -> None:
        one, other = (self._node(word) for word in words)
        if one is None or other is None:
            return
        if one == other:
            self._answer(f"{what} {words[0]} {words[1]}: name two nodes")
            return
        broker, peer = (one, other) if isinstance(one, int) else (other, one)
        self._sink.put({"kind": "fault", "what": what, "broker": broker, "peer": peer})

    def _node(self, word: str) -> Broker | None:
        if word not in self._nodes:
            self._answer(
                f"{word[:LONGEST_WORD]}: there is no such node; the nodes are {', '.join(self._nodes)} (--node)"
            )
        return self._nodes.get(word)

"""The script of holds and delays: one rule a line.

In:  the text of a script; the names of the nodes.
Out: `Rule`s; or UsageError with file and line.

    hold  MESSAGE [after MOMENT] until MOMENT
    delay MESSAGE by N ms [after MOMENT] [until MOMENT]

    MESSAGE: [response] API [from PARTY] [to PARTY]      API: fetch, alter_partition, ..., or any
    MOMENT:  MESSAGE | begun | released                  PARTY: broker N | controller | client ID
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from isrcheck.conformance.wire.recording.messages import NAMES, Broker, Message
from isrcheck.models.messages import UsageError, nearest

MOST_BYTES = 64 << 10
MOST_RULES = 100
MOST_MS = 3_600_000
ANY = "any"
CONTROLLER = "controller"
BEGUN, RELEASED = "begun", "released"
"""Moments at which the person who runs the proxy says so."""

SUCH_AS = "fetch, produce, alter_partition, or any"
LONG = 100
"""Characters of a cure that lists all names."""

SHAPE = "write hold MESSAGE until MOMENT, or delay MESSAGE by N ms"


@dataclass(frozen=True)
class Party:
    """A sender or a receiver: `node` is a broker's id or a controller's name, else `client` is a client id."""

    node: Broker | None
    client: str | None = None

    def is_client(self, client: str | None) -> bool:
        """Whether a client id is that of this party. A broker has several."""
        if client is None:
            return False
        if self.client is not None:
            return client.startswith(self.client[:-1]) if self.client.endswith("*") else client == self.client
        number = str(self.node).removeprefix(f"{CONTROLLER}-")
        return client in (number, f"raft-client-{number}") or client.startswith(f"broker-{number}-")


@dataclass(frozen=True)
class Pattern:
    """Requests or responses of one API, between two parties; None stands for any."""

    kind: str
    api: str
    source: Party | None
    target: Party | None

    def fits(self, message: Message) -> bool:
        """Whether a message is one of these."""
        client, node = (self.source, self.target) if self.kind == "request" else (self.target, self.source)
        return (
            message.kind == self.kind
            and (self.api == ANY or NAMES.get(-1 if message.key is None else message.key) == self.api)
            and (client is None or client.is_client(message.client))
            and (node is None or node.node == message.broker)
        )


Moment = Pattern | str | None
"""A message that arrives, BEGUN, RELEASED; or None: from the start, or never."""


@dataclass(frozen=True)
class Rule:
    """One line of a script. `delay` is in seconds; a hold has none."""

    line: int
    text: str
    pattern: Pattern
    delay: float | None
    after: Moment
    until: Moment


def read_script(path: Path, nodes: Collection[Broker]) -> tuple[Rule, ...]:
    """Read a script. Raises UsageError."""
    try:
        with path.open("rb") as file:
            data = file.read(MOST_BYTES + 1)
    except OSError as error:
        raise UsageError(f"{path}: cannot be read: {error.strerror}; name a file with one rule a line") from None
    if len(data) > MOST_BYTES:
        raise UsageError(f"{path}: it has more than {MOST_BYTES} bytes; a script has one rule a line")
    rules = []
    for number, text in enumerate(data.decode(errors="replace").split("\n"), 1):
        words = text.partition("#")[0].split()
        if words:
            rules.append(_Words(f"{path}:{number}", words, nodes).rule(number))
    if len(rules) > MOST_RULES:
        raise UsageError(f"{path}: {len(rules)} rules; a script has at most {MOST_RULES}")
    return tuple(rules)


class _Words:
    """The words of one line, from left to right."""

    def __init__(self, where: str, words: list[str], nodes: Collection[Broker]) -> None:
        self._where = where
        self._left = words[::-1]
        self._text = " ".join(words)
        self._nodes = nodes

    def rule(self, number: int) -> Rule:
        action = self._next(SHAPE)
        if action not in ("hold", "delay"):
            raise self._error(f"{action}: no such rule; {SHAPE}")
        pattern = self._pattern()
        delay = None
        if action == "delay":
            self._must("by", "a delay says for how long: by 200 ms")
            delay = self._milliseconds() / 1000
        after = self._moment(BEGUN) if self._has("after") else None
        until = self._moment(RELEASED) if self._has("until") else None
        if self._left:
            raise self._error(f"{self._left[-1]}: it does not belong here; {SHAPE}")
        if action == "hold" and until is None:
            raise self._error("a hold says when it ends: until released, or until a message")
        return Rule(number, self._text, pattern, delay, after, until)

    def _moment(self, word: str) -> Moment:
        return word if self._has(word) else self._pattern()

    def _pattern(self) -> Pattern:
        kind = "response" if self._has("response") else "request"
        api = self._api()
        is_request = kind == "request"
        source = self._party(is_client=is_request) if self._has("from") else None
        target = self._party(is_client=not is_request) if self._has("to") else None
        return Pattern(kind, api, source, target)

    def _api(self) -> str:
        """The name of an API, as alter_partition or as AlterPartition."""
        word = self._next(f"name an API, such as {SUCH_AS}")
        known = {_run_together(each): each for each in (*NAMES.values(), ANY)}
        found = known.get(_run_together(word))
        if found is None:
            cure = nearest(word.lower(), known.values())
            raise self._error(f"{word}: no such API; {cure if len(cure) < LONG else f'such are {SUCH_AS}'}")
        return found

    def _party(self, *, is_client: bool) -> Party:
        """`is_client`: it has opened the connection, and is known by its client id; else it is a node."""
        cure = "write broker N, controller, or client ID"
        word = self._next(cure)
        if word == "client":
            if not is_client:
                raise self._error("clients send requests, and get responses; name a broker or a controller here")
            return Party(None, self._next("name the client by its client id"))
        if word == "broker":
            number = self._next("name the broker by its id")
            if not (number.isascii() and number.isdecimal() and len(number) <= 9):
                raise self._error(f"broker {number}: its id is a number")
            return self._node(int(number)) if not is_client else Party(int(number))
        if word.partition("-")[0] != CONTROLLER:
            raise self._error(f"{word}: {cure}")
        if is_client and word == CONTROLLER:
            raise self._error("a controller that sends requests is known by its id: write controller-ID")
        return Party(word) if is_client else self._node(word)

    def _node(self, node: Broker) -> Party:
        if node not in self._nodes:
            known = ", ".join(map(str, self._nodes))
            raise self._error(f"{node}: there is no such node; the nodes are {known} (--node)")
        return Party(node)

    def _milliseconds(self) -> int:
        number = self._next("write by N ms")
        if not (number.isascii() and number.isdecimal() and len(number) <= 9 and 1 <= int(number) <= MOST_MS):
            raise self._error(f"{number}: a delay has 1 to {MOST_MS} ms")
        self._must("ms", "delays are in milliseconds: by 200 ms")
        return int(number)

    def _has(self, word: str) -> bool:
        """Take the next word if it is this one."""
        if self._left and self._left[-1] == word:
            self._left.pop()
            return True
        return False

    def _must(self, word: str, cure: str) -> None:
        if not self._has(word):
            raise self._error(cure)

    def _next(self, cure: str) -> str:
        if not self._left:
            raise self._error(f"the line ends too early; {cure}")
        return self._left.pop()

    def _error(self, message: str) -> UsageError:
        return UsageError(f"{self._where}: {message}")


def _run_together(name: str) -> str:
    return name.lower().replace("_", "")

"""Holds and delays messages by the rules of a script, and carries out commands that a person types meanwhile.

In:  the text of a script, one rule a line; the names of the nodes; each message when it arrives; typed lines.
Out: `Rule`s, or a UsageError with file and line; the moments when messages may pass; entries of the recording: `hold`,
     `delay`, `pass`, `release`, `held`, `dropped`, faults in the words that `conform follow` knows, and notes.

    hold  MESSAGE [after MOMENT] until MOMENT
    delay MESSAGE by N ms [after MOMENT] [until MOMENT]

    MESSAGE: [response] API [from PARTY] [to PARTY]      API: fetch, alter_partition, ..., or any
    MOMENT:  MESSAGE | begun | released                  PARTY: broker N | controller | client ID

`begun` and `released` are the moments when a person types `begin LINE` and `release LINE`. If several rules fit a
message, they hold it one after the other, in the order of the script. Later messages on the same connection wait behind
this message, because the order of bytes must not change. When a person types a fault, the fault is only recorded, with
the time of typing: the person must also cause the fault at that moment.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from pathlib import Path

from isrcheck.conformance.follow.recorded.faults import ALLOWED, BECOMES, FaultKind, fault_in, may_be_fault
from isrcheck.conformance.wire.recording.frames import NAMES, Broker, Message
from isrcheck.conformance.wire.recording.writing import Sink
from isrcheck.models.messages import UsageError, nearest

MOST_BYTES = 64 << 10
MOST_RULES = 100
MOST_MS = 3_600_000
ANY = "any"
CONTROLLER = "controller"
BEGUN, RELEASED = "begun", "released"
"""Moments that the person who runs the proxy chooses."""

SUCH_AS = "fetch, produce, alter_partition, or any"
LONG = 100
"""The length in characters from which a message no longer lists all names."""

SHAPE = "write hold MESSAGE until MOMENT, or delay MESSAGE by N ms"


@dataclass(frozen=True)
class Party:
    """A sender or a receiver: `node` is a broker's id or a controller's name; if None, `client` is a client id."""

    node: Broker | None
    client: str | None = None

    def is_client(self, client: str | None) -> bool:
        """Whether the client id `client` belongs to the party's node, or fits the party's own `client` (X* fits XY)."""
        if client is None:
            return False
        if self.client is not None:
            return client.startswith(self.client[:-1]) if self.client.endswith("*") else client == self.client
        number = str(self.node).removeprefix(f"{CONTROLLER}-")
        return client in (number, f"raft-client-{number}") or client.startswith(f"broker-{number}-")


@dataclass(frozen=True)
class Pattern:
    """Requests or responses of one API, between two parties; None stands for any party."""

    kind: str
    api: str
    source: Party | None
    target: Party | None

    def fits(self, message: Message) -> bool:
        """Whether a message is a request or response of this pattern."""
        client, node = (self.source, self.target) if self.kind == "request" else (self.target, self.source)
        return (
            message.kind == self.kind
            and (self.api == ANY or NAMES.get(-1 if message.key is None else message.key) == self.api)
            and (client is None or client.is_client(message.client))
            and (node is None or node.node == message.broker)
        )


Moment = Pattern | str | None
"""A moment at which a rule begins or ends: the arrival of a message, BEGUN, RELEASED; None: the start, or never."""


@dataclass(frozen=True)
class Rule:
    """One line of a script. `delay` is in seconds, and None for a hold."""

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
        raise UsageError(
            f"{path}: it has more than {MOST_BYTES} bytes, too many for a script; give a file with one rule a line"
        )
    rules = []
    for number, text in enumerate(data.decode(errors="replace").split("\n"), 1):
        words = text.partition("#")[0].split()
        if words:
            rules.append(_Words(f"{path}:{number}", words, nodes).rule(number))
    if len(rules) > MOST_RULES:
        raise UsageError(f"{path}: {len(rules)} rules are too many; give at most {MOST_RULES}")
    return tuple(rules)


class _Words:
    """Parses the words of one line, from left to right, into a rule."""

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
            self._must("by", "the delay has no length; write, for example, by 200 ms")
            delay = self._milliseconds() / 1000
        after = self._moment(BEGUN) if self._has("after") else None
        until = self._moment(RELEASED) if self._has("until") else None
        if self._left:
            raise self._error(f"{self._left[-1]}: it does not belong here; {SHAPE}")
        if action == "hold" and until is None:
            raise self._error("the hold has no end; write until released, or until MESSAGE")
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
        """Take the name of an API from the line, written as alter_partition or as AlterPartition."""
        word = self._next(f"name an API, such as {SUCH_AS}")
        names = {_run_together(each): each for each in (*NAMES.values(), ANY)}
        name = names.get(_run_together(word))
        if name is None:
            cure = nearest(word.lower(), names.values())
            raise self._error(f"{word}: no such API; {cure if len(cure) < LONG else f'write, for example, {SUCH_AS}'}")
        return name

    def _party(self, *, is_client: bool) -> Party:
        """Take a party from the line. With `is_client` the party is the end that opened the connection, and may be a
        client; otherwise the party must be a broker or a controller."""
        cure = "write broker N, controller, or client ID"
        word = self._next(cure)
        if word == "client":
            if not is_client:
                raise self._error(
                    "client: only brokers and controllers get requests and send responses; name a broker or controller"
                )
            return Party(None, self._next("name the client by its client id"))
        if word == "broker":
            number = self._next("name the broker by its id")
            if not (number.isascii() and number.isdecimal() and len(number) <= 9):
                raise self._error(f"broker {number}: not the id of a broker; write its number")
            return self._node(int(number)) if not is_client else Party(int(number))
        if word.partition("-")[0] != CONTROLLER:
            raise self._error(f"{word}: {cure}")
        if is_client and word == CONTROLLER:
            raise self._error("controller: a controller that sends requests is named with its id; write controller-ID")
        return Party(word) if is_client else self._node(word)

    def _node(self, node: Broker) -> Party:
        if node not in self._nodes:
            names = ", ".join(map(str, self._nodes))
            raise self._error(f"{node}: there is no such node; the nodes are {names} (--node)")
        return Party(node)

    def _milliseconds(self) -> int:
        number = self._next("write by N ms")
        if not (number.isascii() and number.isdecimal() and len(number) <= 9 and 1 <= int(number) <= MOST_MS):
            raise self._error(f"{number}: not a valid delay; give 1 to {MOST_MS} ms")
        self._must("ms", "the delay is not in milliseconds; write, for example, by 200 ms")
        return int(number)

    def _has(self, word: str) -> bool:
        """Return whether the next word of the line is `word`; if so, take it."""
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


ACTS = ("begin", "pass", "release")


class DroppedError(ConnectionError):
    """A held message cannot be passed on: its connection has ended."""


class _Active:
    """The state of a rule while the proxy runs: whether it has begun or ended, and how many messages it holds."""

    def __init__(self, rule: Rule) -> None:
        self.rule = rule
        self.name = f"line {rule.line}"
        self.is_on = rule.after is None
        self.is_over = False
        self.passes = asyncio.Event()
        self.now = 0
        self.has_held = False

    def takes(self, message: Message) -> bool:
        return self.is_on and not self.is_over and self.rule.pattern.fits(message)

    def let_pass(self) -> None:
        """Let all messages pass that this rule holds now; the rule still holds later messages."""
        self.passes.set()
        self.passes = asyncio.Event()


class Holding:
    """The rules of one script, and the messages that they hold."""

    def __init__(
        self,
        rules: Sequence[Rule],
        sink: Sink,
        tell: Callable[[str], None],
        answer: Callable[[str], None] | None = None,
    ) -> None:
        """`tell` takes a line for each event, `answer` a line for each faulty command (None: `tell` takes both)."""
        self._answer = answer or tell
        self._rules = [_Active(each) for each in rules]
        self._sink = sink
        self._tell = tell

    @property
    def has_rules(self) -> bool:
        """Whether there are rules, so that each message has to be compared with them."""
        return bool(self._rules)

    def start(self) -> None:
        """Begin the rules that hold from the start, and write them to the recording."""
        for each in self._rules:
            if each.is_on:
                self._begin(each)

    async def admit(self, message: Message, frame: bytes, ended: asyncio.Event) -> None:
        """Wait until the rules let a message pass. Raises DroppedError if the connection ends first."""
        begun = self._see(message)
        for each in self._rules:
            if each not in begun and each.takes(message):
                await self._hold(each, message, frame, ended)

    def obey(self, act: str, line: str) -> None:
        """Carry out `act` (begin, pass, release) for the rule at this line of the script, or report why not."""
        rule = next((each for each in self._rules if str(each.rule.line) == line), None)
        if rule is None:
            lines = ", ".join(str(each.rule.line) for each in self._rules) or "none"
            self._answer(f"{line[:100]}: no such rule; the lines of the rules are: {lines}")
        elif rule.is_over:
            self._answer(f"{rule.name} is over already")
        elif act == "release":
            self._end(rule)
        elif act == "pass":
            self._pass(rule)
        elif not rule.is_on:
            self._begin(rule)

    def _see(self, message: Message) -> list[_Active]:
        """Begin the rules whose `after` fits this message, and end the rules whose `until` fits it, except holds that
        have held nothing yet. Return the rules that begin now: they do not hold this message."""
        begun = []
        for each in self._rules:
            rule = each.rule
            if each.is_over:
                continue
            if each.is_on and isinstance(rule.until, Pattern) and (each.has_held or rule.delay is not None):
                if rule.until.fits(message):
                    self._end(each)
            elif not each.is_on and isinstance(rule.after, Pattern) and rule.after.fits(message):
                self._begin(each)
                begun.append(each)
        return begun

    async def _hold(self, each: _Active, message: Message, frame: bytes, ended: asyncio.Event) -> None:
        about = {"what": message.kind, "rule": each.name, **message.meta()}
        self._sink.put({"kind": "held", **about}, frame)
        self._tell(f"{each.name} holds a {message.kind} of {message.client} at {message.broker}")
        each.now += 1
        each.has_held = True
        has_passed = False
        try:
            has_passed = await _either(each.passes, ended, each.rule.delay)
            if not has_passed:
                raise DroppedError
        finally:
            each.now -= 1
            if not has_passed:
                self._sink.put({"kind": "dropped", **about})
                self._tell(f"{each.name} drops it: the connection has ended")

    def _begin(self, each: _Active) -> None:
        each.is_on = True
        what = "hold" if each.rule.delay is None else "delay"
        self._sink.put({"kind": "fault", "what": what, "rule": each.name, "text": each.rule.text})
        self._tell(f"{each.name} begins: {each.rule.text}")

    def _pass(self, each: _Active) -> None:
        self._sink.put({"kind": "fault", "what": "pass", "rule": each.name, "held_now": each.now})
        self._tell(f"{each.name} lets {each.now} pass")
        each.let_pass()

    def _end(self, each: _Active) -> None:
        self._sink.put({"kind": "fault", "what": "release", "rule": each.name, "held_now": each.now})
        self._tell(f"{each.name} ends, and releases {each.now}")
        each.is_over = True
        each.let_pass()


async def _either(passes: asyncio.Event, ended: asyncio.Event, delay: float | None) -> bool:
    """Wait for `passes`, for the connection's end (`ended`), or for `delay`, whichever comes first. Return whether the
    connection still exists."""
    waiting = [asyncio.create_task(passes.wait()), asyncio.create_task(ended.wait())]
    try:
        await asyncio.wait(waiting, timeout=delay, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for each in waiting:
            each.cancel()
    return not ended.is_set()


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
    """Carries out commands that a person types during a recording. `answer` takes a line for each faulty command."""

    def __init__(self, nodes: Collection[Broker], holding: Holding, sink: Sink, answer: Callable[[str], None]) -> None:
        self._nodes = {str(node): node for node in nodes}
        self._holding = holding
        self._sink = sink
        self._answer = answer
        self._conditions: dict[Broker, str] = {}

    def obey(self, line: str) -> None:
        """Carry out a command of one line, or tell `answer` what is wrong with the command. Empty lines are skipped."""
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

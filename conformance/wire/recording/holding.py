"""Holds and delays messages by the rules of a script.

In:  each message when it arrives; what the person who runs the proxy says.
Out: when it may pass; entries of the recording: `hold`, `delay`, `pass`, `release`, `held`, `dropped`.

A message is held by the first rule that fits, then by the next ones. What follows it on its connection waits behind
it, because the order of bytes must not change.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

from isrcheck.conformance.wire.recording.messages import Message
from isrcheck.conformance.wire.recording.recorder import Sink
from isrcheck.conformance.wire.recording.rules import Pattern, Rule

ACTS = ("begin", "pass", "release")


class DroppedError(ConnectionError):
    """The connection of a message that is held has ended."""


class _Active:
    """A rule while the proxy runs."""

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
        """Let the messages pass that are held now; later ones are held anew."""
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
        """`tell` takes one line for each event, `answer` what is wrong with a command (None: `tell` takes it, too)."""
        self._answer = answer or tell
        self._rules = [_Active(each) for each in rules]
        self._sink = sink
        self._tell = tell

    @property
    def has_rules(self) -> bool:
        """Whether messages have to be judged at all."""
        return bool(self._rules)

    def start(self) -> None:
        """Record the rules that hold from the start."""
        for each in self._rules:
            if each.is_on:
                self._begin(each)

    async def admit(self, message: Message, frame: bytes, ended: asyncio.Event) -> None:
        """Wait until a message may pass. Raises DroppedError if its connection ends before."""
        begun = self._see(message)
        for each in self._rules:
            if each not in begun and each.takes(message):
                await self._hold(each, message, frame, ended)

    def obey(self, act: str, line: str) -> None:
        """Begin, let pass or release the rule at this line of the script; answer what is wrong with it."""
        found = next((each for each in self._rules if str(each.rule.line) == line), None)
        if found is None:
            lines = ", ".join(str(each.rule.line) for each in self._rules) or "none"
            self._answer(f"{line[:100]}: no such rule; the lines of the rules are: {lines}")
        elif found.is_over:
            self._answer(f"{found.name} is over already")
        elif act == "release":
            self._end(found)
        elif act == "pass":
            self._pass(found)
        elif not found.is_on:
            self._begin(found)

    def _see(self, message: Message) -> list[_Active]:
        """Begin and end the rules whose moment this message is; returns those that begin, and hold only later ones."""
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
    """Wait until a message may pass, its delay is over, or its connection has ended; returns whether it may pass."""
    waiting = [asyncio.create_task(passes.wait()), asyncio.create_task(ended.wait())]
    try:
        await asyncio.wait(waiting, timeout=delay, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for each in waiting:
            each.cancel()
    return not ended.is_set()

"""A small language for tests of Kafka's traces: histories, and what is shown after their steps.

    # A title of the story: 3.7 WHOLE isr_is_complete acks=1
    COMMITTED; restart_of 1; leader_handles_fetch 0 from 1
      what is shown after these steps, a line each
    STALE_RECORD[4:6]
      what is shown after two more steps

The words of the title's line are the protocol (0.10 without one), the number of the initial state (start=1, or WHOLE
with all replicas in the ISR), the property that the trace is about, its verdict, and settings, or a name of several of
them (SETTINGS). Steps are those of the model, the names of histories in
support/trace.py, with an index or a slice, and the names of its functions, with their arguments.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from conformance.tests.support import trace as histories
from conformance.tests.support.trace import WHOLE, kafka
from isrcheck.models import registry
from isrcheck.models.language.model import parse
from isrcheck.traces.format.trace import VERDICTS, Trace

NAMED = re.compile(r"([A-Z][A-Z_]+)(?:\[(\d*)(:?)(\d*)\])?")
FUNCTIONS: dict[str, Callable[..., tuple[str, ...]]] = {
    one.__name__: one
    for one in (
        histories.copy_to,
        histories.replicate_to,
        histories.restart_of,
        histories.election_of,
        histories.follow_on,
    )
}

SETTINGS = {
    "FAST": "0.11 start=1 replicas=2 records=4 log_size=3 preferred_elections=1 common_records=1 min_insync_replicas=1",
    "UNCLEAN": "power_losses=1 partition_changes=4 elections=2",
}
"""The settings of FAST_FAIL_OVER, in which two brokers hold a record from the start, and those of LAST_KNOWN_LEADER."""


@dataclass(frozen=True)
class Story:
    """A history, and what is shown after its steps."""

    title: str
    settings: str
    """The words after the title."""
    steps: tuple[str, ...]
    shown: tuple[tuple[int, tuple[str, ...]], ...]
    """The number of a step, and the lines that are shown after it."""

    def trace(self) -> Trace:
        """Return the trace of the whole history."""
        return history("; ".join(self.steps), self.settings)


def steps_of(text: str) -> list[str]:
    """Return the steps in a text."""
    steps: list[str] = []
    for part in filter(None, text.split("; ")):
        word, *numbers = part.split()
        if word in FUNCTIONS:
            steps += FUNCTIONS[word](*map(int, numbers))
        elif (named := NAMED.fullmatch(part)) is not None:
            name, first, colon, last = named.groups()
            whole: Sequence[str] = getattr(histories, name)
            begin = int(first or 0)
            steps += whole[begin : int(last) if last else None] if colon or first is None else [whole[begin]]
        else:
            steps.append(part)
    return steps


def history(text: str, settings: str = "") -> Trace:
    """Return the trace of these steps of Kafka's model; the settings are the words after the title of a story."""
    entries = registry.load("kafka")[0].entries
    protocol, start, property_name, verdict = "0.10", 0, None, None
    values: dict[str, Any] = {}
    for word in " ".join(SETTINGS.get(word, word) for word in settings.split()).split():
        name, is_value, value = word.partition("=")
        if name == "start":
            start = int(value)
        elif is_value:
            values[name] = parse(name, entries[name], value)
        elif word == "WHOLE":
            start = WHOLE
        elif word[0].isdigit():
            protocol = word
        elif word.isupper():
            verdict = next(verdict for verdict in VERDICTS if verdict.startswith(word))
        else:
            property_name = word
    return kafka(steps_of(text), property_name, verdict, protocol, start, **values)


def stories(text: str) -> list[Story]:
    """Return the stories in a text, which can be the cases of a test (ids=title_of)."""
    told = []
    for block in text.split("# ")[1:]:
        title, *lines = block.splitlines()
        title, _, settings = title.partition(": ")
        steps: list[str] = []
        shown: dict[int, list[str]] = {}
        for line in filter(None, lines):
            if line.startswith("  "):
                shown.setdefault(len(steps), []).append(line[2:])
            else:
                steps += steps_of(line)
        assert shown, f"{title}: nothing is shown"
        told.append(Story(title, settings, tuple(steps), tuple((at, tuple(of)) for at, of in shown.items())))
    return told


def title_of(story: Story) -> str:
    """Return the name of a test's case."""
    return story.title

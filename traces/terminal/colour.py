"""Colours of the terminal: who leads, the epochs of the entries, what did not change, and how it ended.

In:  text that is laid out already, so that colours make nothing wider; the environment.
Out: the same text with colours, or, where none are wanted, the very same text.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from isrcheck.traces.format.trace import HOLDS, NOT_INDUCTIVE, PERMITTED, REACHED, VIOLATED
from isrcheck.traces.lanes.table import UNCHANGED, WIDTH

AUTO, ALWAYS, NEVER = "auto", "always", "never"
WHEN = (AUTO, ALWAYS, NEVER)

BOLD, FAINT = 1, 2
RED, GREEN, YELLOW, BLUE, MAGENTA, CYAN = range(31, 37)
EPOCHS = (CYAN, MAGENTA, YELLOW, GREEN, BLUE, RED)
"""The colours of leader epochs 0, 1, 2, ...; then they come again."""

VERDICTS = {VIOLATED: RED, PERMITTED: YELLOW, NOT_INDUCTIVE: YELLOW, REACHED: GREEN, HOLDS: GREEN}

OF_AN_EPOCH = re.compile(r"(?<![\w.])([a-zL]|\d*[AC])(\d+)(?!\w)")
"""What has an epoch in a lane of Kafka: an entry, a role, the controller."""


def is_wanted(when: str, is_terminal: bool, environment: Mapping[str, str]) -> bool:
    """Whether to colour: `auto` asks NO_COLOR, FORCE_COLOR and TERM in this order, and then whether a person looks."""
    if when != AUTO:
        return when == ALWAYS
    if environment.get("NO_COLOR"):
        return False
    if environment.get("FORCE_COLOR"):
        return True
    return is_terminal and environment.get("TERM") != "dumb"


@dataclass(frozen=True)
class Ink:
    """Colours text, or leaves it as it is."""

    is_coloured: bool = False

    def paint(self, text: str, *codes: int) -> str:
        """Text in the given colours."""
        if not self.is_coloured or not text:
            return text
        return f"\x1b[{';'.join(map(str, codes))}m{text}\x1b[0m"

    def changed(self, text: str) -> str:
        """What a step changed; the sign for what it did not change steps back."""
        return self.paint(text, FAINT) if text == UNCHANGED else self.paint(text, BOLD)

    def lane(self, text: str) -> str:
        """A piece of a lane of Kafka: everything of an epoch in the colour of the epoch, and leaders stand out."""
        return self.paint(text, FAINT) if text == UNCHANGED else OF_AN_EPOCH.sub(self._of_an_epoch, text)

    def _of_an_epoch(self, found: re.Match[str]) -> str:
        colour = EPOCHS[int(found[2]) % len(EPOCHS)]
        return self.paint(found[0], BOLD, colour) if found[1] == "L" else self.paint(found[0], colour)

    def verdict(self, verdict: str, text: str) -> str:
        """Text in the colour of a verdict: a failure is red, a permitted one yellow."""
        return self.paint(text, BOLD, VERDICTS[verdict])


@dataclass(frozen=True)
class Look:
    """How a view looks: columns, and colours or none.

    `fits`: a person's terminal has just these columns. Elsewhere a table that is wider stays a table.
    """

    width: int = WIDTH
    ink: Ink = Ink()
    fits: bool = False


PLAIN = Look()
"""What is written to no terminal."""

"""Colours for the terminal: leaders, the epochs of entries, unchanged cells, and verdicts.

In:  text that is already laid out, so colours do not widen anything; the environment.
Out: the same text with colours, or unchanged if colours are off.
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
"""The colours of leader epochs 0, 1, 2, ..., repeated from the start after the last."""

VERDICTS = {VIOLATED: RED, PERMITTED: YELLOW, NOT_INDUCTIVE: YELLOW, REACHED: GREEN, HOLDS: GREEN}

OF_AN_EPOCH = re.compile(r"(?<![\w.])([a-zL]|\d*[AC])(\d+)(?!\w)")
"""The words in a Kafka lane that end with a leader epoch: an entry, a role, the controller."""


def is_wanted(when: str, is_terminal: bool, environment: Mapping[str, str]) -> bool:
    """Whether to use colours: `auto` reads NO_COLOR, FORCE_COLOR and TERM, in this order, then requires a terminal."""
    if when != AUTO:
        return when == ALWAYS
    if environment.get("NO_COLOR"):
        return False
    if environment.get("FORCE_COLOR"):
        return True
    return is_terminal and environment.get("TERM") != "dumb"


@dataclass(frozen=True)
class Ink:
    """Colours text, or returns it unchanged."""

    is_coloured: bool = False

    def paint(self, text: str, *codes: int) -> str:
        """Return text in the given colours."""
        if not self.is_coloured or not text:
            return text
        return f"\x1b[{';'.join(map(str, codes))}m{text}\x1b[0m"

    def changed(self, text: str) -> str:
        """Return text that a step changed; the sign for unchanged cells is dimmed."""
        return self.paint(text, FAINT) if text == UNCHANGED else self.paint(text, BOLD)

    def lane(self, text: str) -> str:
        """Return the text of a Kafka lane with each epoch in its colour, and leaders in bold."""
        return self.paint(text, FAINT) if text == UNCHANGED else OF_AN_EPOCH.sub(self._of_an_epoch, text)

    def _of_an_epoch(self, found: re.Match[str]) -> str:
        colour = EPOCHS[int(found[2]) % len(EPOCHS)]
        return self.paint(found[0], BOLD, colour) if found[1] == "L" else self.paint(found[0], colour)

    def verdict(self, verdict: str, text: str) -> str:
        """Return text in the colour of a verdict: red for a failure, yellow for a permitted failure."""
        return self.paint(text, BOLD, VERDICTS[verdict])


@dataclass(frozen=True)
class Look:
    """The width of a view, and whether it has colours.

    `fits` is true if the width is that of a terminal, so nothing may be wider. Otherwise a table may be wider.
    """

    width: int = WIDTH
    ink: Ink = Ink()
    fits: bool = False


PLAIN = Look()
"""The look of output that does not go to a terminal."""

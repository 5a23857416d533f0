"""Names for a server or a proxy: its partition, its default address, and what takes its events."""

from __future__ import annotations

from collections.abc import Callable

from isrcheck.commands.program import say
from isrcheck.models.messages import escaped

PARTITION = "topic-0"
"""The cluster's only partition, for the transaction coordinator."""

LOOPBACK = "127.0.0.1"
"""The default address."""

LONGEST_LINE = 300
"""The most characters of an event that are printed."""


class PortError(OSError):
    """A port that is not available; the message is one line."""


Tell = Callable[[str], None]
"""Takes one line for each event."""


def be_silent(line: str) -> None:
    """Take an event, and drop it."""


def print_event(line: str) -> None:
    """Print an event; what clients send is escaped and cut off."""
    say(escaped(line[:LONGEST_LINE]))

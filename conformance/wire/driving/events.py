"""Shared by the server and the proxy: the partition's name, the default address, and functions that report events."""

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
    """A port cannot be listened on; the message gives the port and the reason in one line."""


Tell = Callable[[str], None]
"""A function that takes one line for each event."""


def be_silent(line: str) -> None:
    """Ignore the line about an event: nothing is printed."""


def print_event(line: str) -> None:
    """Print the line about an event; text that clients sent is escaped and cut off."""
    say(escaped(line[:LONGEST_LINE]))

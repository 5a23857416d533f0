"""What is told to the person who runs a server, under which name, and at which address.

In:  nothing.
Out: names.
"""

from __future__ import annotations

from collections.abc import Callable

PARTITION = "topic-0"
"""The cluster's only partition, for the transaction coordinator."""

Tell = Callable[[str], None]
"""Takes one line for each event."""

LOOPBACK = "127.0.0.1"
"""Where a server listens if nothing else is said."""


def be_silent(line: str) -> None:
    """Take a line, and tell nobody."""

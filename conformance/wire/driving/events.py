"""Names for a server: of its partition, of the function that takes events, and of its default address.

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
"""The default address of a server."""


def be_silent(line: str) -> None:
    """Take a line, and drop it."""

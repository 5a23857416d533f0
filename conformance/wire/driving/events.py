"""What is told to the person who runs a server, and under which name.

In:  nothing.
Out: names.
"""

from __future__ import annotations

from collections.abc import Callable

PARTITION = "topic-0"
"""The cluster's only partition, for the transaction coordinator."""

Tell = Callable[[str], None]
"""Takes one line for each event."""

"""How `trace` complains, and how it ends where its output cannot be written.

In:  a message.
Out: one line on stderr. Importing it is quick.
"""

from __future__ import annotations

import os
import sys

from isrcheck.models.messages.printable import escaped

MOST_MESSAGE = 1000
"""Characters of a message; a file can hold names of any length."""


def complain(message: str) -> int:
    """One line on stderr, whatever a file has put into the message."""
    print(f"trace: {escaped(message)[:MOST_MESSAGE]}", file=sys.stderr)
    return 2


def discard_output() -> None:
    """Send what is left to nowhere, so that the interpreter has nothing to say about it when it ends."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())

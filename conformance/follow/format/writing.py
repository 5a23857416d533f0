"""Writes the log of a run, without the events and values that are to be left out.

In:  headers and events; shares of what the log leaves out.
Out: lines of NDJSON in a stream.
"""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from typing import TextIO

from isrcheck.conformance.follow.format.events import Event, Header, line_of_event, line_of_header
from isrcheck.models.messages import UsageError


@dataclass(frozen=True)
class LeftOut:
    """The shares of events, and of the variables and arguments of each, that a log leaves out, chosen by the seed."""

    seed: int
    missing: float = 0.0
    unseen: float = 0.0
    untold: float = 0.0

    def __post_init__(self) -> None:
        """Check the shares. Raises UsageError."""
        for name in ("missing", "unseen", "untold"):
            if not 0 <= getattr(self, name) <= 1:
                raise UsageError(f"{name}={getattr(self, name)}: a share is between 0 and 1")


class Writer:
    """Writes the log line by line. `lines` and `runs` count what was written, `events` also the events left out.

    `name` names the stream in errors.
    """

    def __init__(self, left_out: LeftOut, stream: TextIO, name: str) -> None:
        self._left_out = left_out
        self._stream = stream
        self._name = name
        self._random = Random(f"what is left out of {left_out.seed}")
        self.lines = self.runs = self.events = 0

    def begin(self, header: Header) -> None:
        """Write the header of a run, which is never left out. Raises UsageError if it cannot be written."""
        self.runs += 1
        self._write(line_of_header(header))

    def write(self, event: Event) -> None:
        """Write an event, unless it is left out; count it. Raises UsageError if it cannot be written."""
        self.events += 1
        shares = self._left_out
        if self._random.random() >= shares.missing:
            arguments = {name: said for name, said in event.arguments.items() if self._random.random() >= shares.untold}
            state = {key: value for key, value in event.state.items() if self._random.random() >= shares.unseen}
            self._write(line_of_event(Event(event.run, event.number, event.broker, event.action, arguments, state)))

    def close(self) -> None:
        """Write the lines that are still buffered, when the log is complete. Raises UsageError if the write fails."""
        self._write("")

    def _write(self, line: str) -> None:
        try:
            self._stream.write(line)
            if not line:
                self._stream.flush()
        except OSError as error:
            raise UsageError(
                f"{self._name}:{self.lines + 1}: cannot be written: {error.strerror or error};"
                " free some space, or write elsewhere"
            ) from None
        self.lines += bool(line)

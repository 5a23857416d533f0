"""Writes the log of a run, without the events and values that the plan leaves out.

In:  headers and events; a `Plan`.
Out: lines of NDJSON in a stream.
"""

from __future__ import annotations

from random import Random
from typing import TextIO

from isrcheck.conformance.follow.format.events import Event, Header, line_of_event, line_of_header
from isrcheck.conformance.follow.recorder.plan import Plan
from isrcheck.models.messages.errors import UsageError


class Writer:
    """Writes the log line by line. `lines` and `runs` count what was written, `events` also the events left out.

    `name` names the stream in errors.
    """

    def __init__(self, plan: Plan, stream: TextIO, name: str) -> None:
        self._plan = plan
        self._stream = stream
        self._name = name
        self._random = Random(f"what is left out of {plan.seed}")
        self.lines = self.runs = self.events = 0

    def begin(self, header: Header) -> None:
        """Write the header of a run, which is never left out. Raises UsageError if it cannot be written."""
        self.runs += 1
        self._write(line_of_header(header))

    def write(self, event: Event) -> None:
        """Write an event, unless the plan leaves it out; count it. Raises UsageError if it cannot be written."""
        self.events += 1
        plan = self._plan
        if self._random.random() >= plan.missing:
            arguments = {name: said for name, said in event.arguments.items() if self._random.random() >= plan.untold}
            state = {key: value for key, value in event.state.items() if self._random.random() >= plan.unseen}
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

"""What a command may use as a whole: its time runs from the moment it starts, whatever it does one after the other.

In:  the limits that a person gave.
Out: for each stage what is left of them, and Spent where a stage that has no clock of its own goes beyond.

Stages that work through states or questions look at the clock themselves. Python code that does not, such as the
initial states of a model, runs under `kept`: a timer of the system interrupts it again and again, and looks.
"""

from __future__ import annotations

import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from types import FrameType
from typing import Any

from isrcheck.checker.resources.limits import Limits
from isrcheck.checker.resources.machine_memory import resident

SECONDS_BETWEEN_LOOKS = 0.1

GRACE = 0.5
"""So long after its time a command still begins what may be over at once."""


class Spent(BaseException):
    """A limit of the command is met: `why` is `seconds` or `memory`."""

    def __init__(self, why: str) -> None:
        super().__init__(why)
        self.why = why


class Budget:
    """The time that a command has left, and the memory that each of its stages may take."""

    def __init__(self, seconds: float | None, memory: int, began: float | None = None) -> None:
        """`began` is when the command was started, in the time of time.monotonic (now)."""
        self.memory = memory
        self.deadline = float("inf")
        if seconds is not None:
            self.deadline = (time.monotonic() if began is None else began) + seconds

    @property
    def left(self) -> float | None:
        """The seconds that are left, 0 at least; None: no limit."""
        return None if self.deadline == float("inf") else max(0.0, self.deadline - time.monotonic())

    def limits(self, asked: Limits) -> Limits:
        """These limits, within what is left."""
        seconds = min((one for one in (asked.seconds, self.left) if one is not None), default=None)
        return replace(asked, seconds=seconds)

    def look(self, memory: int) -> None:
        """Raises Spent where the time is over, or so many bytes are more than there may be."""
        if time.monotonic() > self.deadline:
            raise Spent("seconds")
        if memory > self.memory:
            raise Spent("memory")

    @contextmanager
    def kept(self) -> Iterator[None]:
        """Python code that does not look at the clock: raises Spent in its midst.

        The memory that it takes is what the process grows by.
        """
        if time.monotonic() > self.deadline + GRACE:
            raise Spent("seconds")
        before = resident()

        def look(_number: int, _frame: FrameType | None) -> None:
            self.look(resident() - before)

        with _timer(look):
            yield


UNLIMITED = Budget(None, sys.maxsize)
"""Where nobody said how much there is."""


@contextmanager
def _timer(look: Any) -> Iterator[None]:
    """Calls `look` again and again, where this is the main thread, which alone is told of signals."""
    try:
        handler = signal.signal(signal.SIGALRM, look)
    except ValueError:
        yield
        return
    signal.setitimer(signal.ITIMER_REAL, SECONDS_BETWEEN_LOOKS, SECONDS_BETWEEN_LOOKS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, handler)

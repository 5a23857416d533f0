"""The budget of a whole command: its time runs from the start of the command, through all of its stages.

In:  the limits that the user gave.
Out: the limits that are left for each stage; `Spent`, if a stage that does not look at the clock exceeds them.

Stages that process states or queries look at the clock themselves. Python code that does not, such as the enumeration
of a model's initial states, runs under `kept`: a system timer interrupts it periodically and checks the budget.
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
"""Seconds after the deadline during which a command still starts a stage, because the stage may be very short."""


class Spent(BaseException):
    """A limit of the command is exceeded: `why` is `seconds` or `memory`."""

    def __init__(self, why: str) -> None:
        super().__init__(why)
        self.why = why


class Budget:
    """The time that a command has left, and the memory that each of its stages may use."""

    def __init__(self, seconds: float | None, memory: int, began: float | None = None) -> None:
        """`seconds` (None: no limit) count from `began`, a value of time.monotonic (default: now)."""
        self.memory = memory
        self.deadline = float("inf")
        if seconds is not None:
            self.deadline = (time.monotonic() if began is None else began) + seconds

    @property
    def left(self) -> float | None:
        """The seconds that are left, at least 0; None: no limit."""
        return None if self.deadline == float("inf") else max(0.0, self.deadline - time.monotonic())

    def limits(self, asked: Limits) -> Limits:
        """The limits for a stage: those given, with the seconds reduced to what the command has left."""
        seconds = min((one for one in (asked.seconds, self.left) if one is not None), default=None)
        return replace(asked, seconds=seconds)

    def look(self, memory: int) -> None:
        """Raise Spent if the time is over, or if `memory` bytes exceed the memory limit."""
        if time.monotonic() > self.deadline:
            raise Spent("seconds")
        if memory > self.memory:
            raise Spent("memory")

    @contextmanager
    def kept(self) -> Iterator[None]:
        """Watch the budget during a block of code that does not look at the clock; raises Spent inside the block.

        The memory of the block is the growth of the process.
        """
        if time.monotonic() > self.deadline + GRACE:
            raise Spent("seconds")
        before = resident()

        def look(_number: int, frame: FrameType | None) -> None:
            if not _is_finalizing(frame):
                self.look(resident() - before)

        with _timer(look):
            yield


UNLIMITED = Budget(None, sys.maxsize)
"""A budget without a limit."""


def _is_finalizing(frame: FrameType | None) -> bool:
    """Whether a finalizer runs: Python ignores what is raised in it, and says so on stderr. The timer fires again."""
    while frame is not None and frame.f_code.co_name != "__del__":
        frame = frame.f_back
    return frame is not None


@contextmanager
def _timer(look: Any) -> Iterator[None]:
    """Call `look` every 0.1 s during the block; only in the main thread, because other threads receive no signals.

    Blocks may be nested: after the inner one, the timer of the outer one goes on.
    """
    try:
        handler = signal.signal(signal.SIGALRM, look)
    except ValueError:
        yield
        return
    outer = signal.setitimer(signal.ITIMER_REAL, SECONDS_BETWEEN_LOOKS, SECONDS_BETWEEN_LOOKS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, handler)
        signal.setitimer(signal.ITIMER_REAL, *outer)

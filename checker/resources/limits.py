"""Limits of time and memory: those that the user sets, what a whole command has left, and those of the symbolic engine.

In:  options of the command line.
Out: `Limits` of a search; a `Budget`, with the limits that are left for each stage, and `Spent`, if a stage that does
     not look at the clock exceeds them; a `FormulaBudget`, and `UndecidedError`, if it is used up.

Stages that process states or queries look at the clock themselves. Python code that does not, such as the enumeration
of a model's initial states, runs under `Budget.kept`: a system timer interrupts it periodically and checks the budget.

Python builds formulas and translates them for Z3. Either can take more time and memory than the solver, so every loop
over many nodes checks the formula budget.
"""

from __future__ import annotations

import signal
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from enum import Enum
from types import FrameType
from typing import Any

from isrcheck.checker.resources.machine_memory import resident

MOST_THREADS = 64
"""More threads than this are refused."""

MOST_THREADS_FOR_A_CLUSTER = 8
"""The most threads for a cluster if the command line does not say how many: one for each core, and at most so many."""

SECONDS_FOR_A_CLUSTER = 60.0
"""The time limit of a command for a cluster, if the command line gives none."""


@dataclass(frozen=True)
class Limits:
    """Limits of a search: `depth` in transitions, `memory` in bytes, `seconds` (None: no limit), and `threads`.

    Results do not depend on `threads` unless a limit stops the search. Without `deadlock`, states without a step are
    not reported.
    """

    depth: int | None = None
    memory: int = 4 << 30
    seconds: float | None = None
    threads: int = 1
    deadlock: bool = True

    def after(self, seconds: float) -> Limits:
        """What is left of these limits after so many seconds."""
        return self if self.seconds is None else replace(self, seconds=max(0.0, self.seconds - seconds))


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


class Answer(Enum):
    """The answer of Z3: yes (satisfiable), no (unsatisfiable), or why there is no answer."""

    YES = "yes"
    NO = "no"
    SECONDS = "seconds"
    MEMORY = "memory"
    UNKNOWN = "unknown"

    @property
    def is_known(self) -> bool:
        """Whether the answer is yes or no."""
        return self in (Answer.YES, Answer.NO)

    @property
    def is_yes(self) -> bool:
        """Whether the answer is yes. Raises UndecidedError if it is not known."""
        if not self.is_known:
            raise UndecidedError(self)
        return self is Answer.YES


class UndecidedError(Exception):
    """A query was not answered, for the reason `why`, and the engine cannot go on without the answer."""

    def __init__(self, why: Answer) -> None:
        super().__init__(why.value)
        self.why = why


class Memory:
    """The memory limit of the symbolic engine, in bytes above the memory in use when the limit is set.

    Z3's own hard limit can end the process, and its soft limit looks like an interrupt. Therefore the memory of the
    process is measured instead, which includes Python's.
    """

    most = float("inf")
    most_resident = float("inf")

    @classmethod
    def limit(cls, size: int) -> None:
        """From now on, let the process use at most `size` more bytes."""
        cls.most = size
        cls.most_resident = resident() + size

    @classmethod
    def lift(cls) -> None:
        """Remove the limit: a command that has ended must not limit later ones in the same process."""
        cls.most = cls.most_resident = float("inf")

    @classmethod
    def is_full(cls, more: int = 0) -> bool:
        """Whether the limit is reached, or would be with `more` additional bytes."""
        import z3  # here, because Memory is limited also where nothing is asked, and it takes long to import

        if z3.Z3_get_estimated_alloc_size() + more > cls.most:
            return True
        return cls.most_resident < float("inf") and resident() + more > cls.most_resident


class Interrupts:
    """The interrupts of the user that were seen so far, because Python can drop the exception for Ctrl-C."""

    seen: Sequence[int] = ()

    @classmethod
    def listen(cls, interrupts: Sequence[int]) -> None:
        """Treat Ctrl-C as pressed once this list has an entry."""
        cls.seen = interrupts


STEPS_BETWEEN_LOOKS = 4096
"""The number of small Python steps between two checks of the budget: a few milliseconds."""


class FormulaBudget:
    """The time until a deadline (in the time of time.monotonic), and the memory limit."""

    def __init__(self, deadline: float = float("inf")) -> None:
        self.deadline = deadline
        self._steps = 0

    def look(self, more: int = 0) -> None:
        """Raise UndecidedError if the budget is used up, or would be with `more` additional bytes."""
        if time.monotonic() >= self.deadline:
            raise UndecidedError(Answer.SECONDS)
        if Memory.is_full(more):
            raise UndecidedError(Answer.MEMORY)

    def step(self) -> None:
        """Count one of many small steps; the budget is checked every few thousand steps."""
        self._steps += 1
        if self._steps >= STEPS_BETWEEN_LOOKS:
            self._steps = 0
            self.look()

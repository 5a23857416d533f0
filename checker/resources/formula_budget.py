"""The time and memory limits of the symbolic engine, checked while formulas are built and while Z3 runs.

In:  a deadline, and a number of bytes.
Out: `UndecidedError`, when the time or the memory is used up.

Python builds formulas and translates them for Z3. Either can take more time and memory than the solver, so every loop
over many nodes checks the budget.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from enum import Enum

from isrcheck.checker.resources.machine_memory import resident


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

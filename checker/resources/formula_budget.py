"""How long the symbolic engine may go on, and in how much memory: looked at while formulas are made, and by Z3.

In:  a deadline, and a number of bytes.
Out: `UndecidedError`, from wherever the engine is, once one of them is used up.

Formulas are made by Python and translated for Z3; either can take longer, and more memory, than the search for an
answer. So whoever goes through many nodes looks at the budget on the way.
"""

from __future__ import annotations

import time
from enum import Enum

import z3

from isrcheck.checker.resources.machine_memory import resident


class Answer(Enum):
    """What Z3 said: yes, no, or why it did not know."""

    YES = "yes"
    NO = "no"
    SECONDS = "seconds"
    MEMORY = "memory"
    UNKNOWN = "unknown"

    @property
    def is_known(self) -> bool:
        """Whether it is an answer at all."""
        return self in (Answer.YES, Answer.NO)


class UndecidedError(Exception):
    """There is no answer to a question without whose answer there is no going on."""

    def __init__(self, why: Answer) -> None:
        super().__init__(why.value)
        self.why = why


class Memory:
    """How many bytes may be used from the moment on at which they are limited.

    Z3's own limit ends the process where it is met in the wrong place, and its soft one looks like an interrupt: so it
    is watched. What Python holds counts as well.
    """

    most = float("inf")
    most_resident = float("inf")

    @classmethod
    def limit(cls, size: int) -> None:
        """So many bytes may be used from now on."""
        cls.most = size
        cls.most_resident = resident() + size

    @classmethod
    def lift(cls) -> None:
        """There is no limit any more: a command that has ended limits nobody who comes after it in this process."""
        cls.most = cls.most_resident = float("inf")

    @classmethod
    def is_full(cls, more: int = 0) -> bool:
        """Whether they are used up, or would be with so many bytes more."""
        if z3.Z3_get_estimated_alloc_size() + more > cls.most:
            return True
        return cls.most_resident < float("inf") and resident() + more > cls.most_resident


STEPS_BETWEEN_LOOKS = 4096
"""So many steps of Python's take a few milliseconds."""


class FormulaBudget:
    """The time until a deadline (in the time of time.monotonic), and what memory there is."""

    def __init__(self, deadline: float = float("inf")) -> None:
        self.deadline = deadline
        self._steps = 0

    def look(self, more: int = 0) -> None:
        """Raise UndecidedError where the budget is used up, or would be with so many bytes more."""
        if time.monotonic() >= self.deadline:
            raise UndecidedError(Answer.SECONDS)
        if Memory.is_full(more):
            raise UndecidedError(Answer.MEMORY)

    def step(self) -> None:
        """One of many small steps: every few thousand of them the budget is looked at."""
        self._steps += 1
        if self._steps >= STEPS_BETWEEN_LOOKS:
            self._steps = 0
            self.look()

"""Prepares a search within the limits of the command: enumerates the initial states, and gets the compiled kernel.

In:  an `Instance`, and the `Budget` of the command.
Out: a `Beginning`; raises Spent if the time or the memory is exhausted.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from isrcheck.checker.compile.kernel import Kernel
from isrcheck.checker.compile.machine_code import OutOfTimeError, compiling_within
from isrcheck.checker.explicit.initial_states import generate_initial_states
from isrcheck.checker.explicit.visited_set import Full
from isrcheck.checker.resources.limits import Budget, Spent
from isrcheck.checker.session.formatting import human_bytes
from isrcheck.checker.session.progress import ProgressLine
from isrcheck.models.language.model import Instance

QUIET = 1.0
"""Progress is reported only after this many seconds."""

Compile = Callable[[Instance, Callable[[str], None]], Kernel]
"""Returns the kernel of an instance; before compiling a kernel, calls the second argument with a message."""


@dataclass(frozen=True)
class Beginning:
    """The kernel of an instance, and the time of enumerating the initial states, in seconds; `says` is what a report
    says of a reduction that was not possible."""

    kernel: Kernel
    seconds: float
    says: str = ""

    def said(self, reduction: str) -> str:
        """What a report says, given the reduction that the search has used."""
        return "; ".join(filter(None, (reduction, self.says)))


def begin(instance: Instance, budget: Budget, compiled: Compile, progress: ProgressLine | None = None) -> Beginning:
    """Enumerate the initial states and get the kernel. Raises Spent, and ModelError for an invalid initial state."""
    seconds = enumerate_initial_states(instance, budget, progress)
    try:
        with budget.kept(), compiling_within(budget.left):
            kernel = compiled(instance, progress.announce if progress else lambda message: None)
    except OutOfTimeError:
        raise Spent("seconds") from None
    return Beginning(kernel, seconds)


def enumerate_initial_states(instance: Instance, budget: Budget, progress: ProgressLine | None = None) -> float:
    """Enumerate the initial states; returns the time taken, in seconds. Raises Spent, ModelError."""
    began = time.monotonic()
    announced = False

    def watch(count: int, size: int) -> None:
        nonlocal announced
        budget.look(size)
        seconds = time.monotonic() - began
        if progress is None or seconds < QUIET:
            return
        if not announced:
            progress.announce(f"{progress.subject}: enumerating the initial states")
            announced = True
        progress.tell(f"{count:,} initial states, {human_bytes(size)}", seconds)

    try:
        with budget.kept(), compiling_within(budget.left):
            if instance.model.generators:
                generate_initial_states(instance, budget.memory, watch)
            else:
                instance.enumerated(watch)
    except OutOfTimeError:
        raise Spent("seconds") from None
    except Full:
        raise Spent("memory") from None
    return time.monotonic() - began

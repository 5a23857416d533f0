"""Prepares a search within the limits of the command: enumerates the initial states, and gets the kernel.

In:  an `Instance`, and the `Budget` of the command.
Out: a `Beginning`; Spent is raised if the time or the memory does not suffice.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from isrcheck.checker.compile.compiling import OutOfTimeError, compiling_within
from isrcheck.checker.compile.kernel import Kernel
from isrcheck.checker.resources.budget import Budget, Spent
from isrcheck.checker.session.formatting import human_bytes
from isrcheck.checker.session.progress import ProgressLine
from isrcheck.models.language.model import Instance

QUIET = 1.0
"""Progress is reported only after this number of seconds."""

Compile = Callable[[Instance, Callable[[str], None]], Kernel]
"""Returns the kernel of an instance; calls the second argument with a message if it has to compile the kernel."""


@dataclass(frozen=True)
class Beginning:
    """The kernel, and the seconds that the initial states took."""

    kernel: Kernel
    seconds: float


def begin(instance: Instance, budget: Budget, compiled: Compile, progress: ProgressLine | None = None) -> Beginning:
    """Enumerate the initial states and get the kernel. Raises Spent, and ModelError for a wrong initial state."""
    seconds = enumerate_initial_states(instance, budget, progress)
    try:
        with budget.kept(), compiling_within(budget.left):
            kernel = compiled(instance, progress.announce if progress else lambda message: None)
    except OutOfTimeError:
        raise Spent("seconds") from None
    return Beginning(kernel, seconds)


def enumerate_initial_states(instance: Instance, budget: Budget, progress: ProgressLine | None = None) -> float:
    """Enumerate the initial states, and return the seconds that this took. Raises Spent, ModelError."""
    began = time.monotonic()
    announced = False

    def watch(count: int, size: int) -> None:
        nonlocal announced
        budget.look(size)
        seconds = time.monotonic() - began
        if progress is None or seconds < QUIET:
            return
        if not announced:
            progress.announce(f"{progress.subject}: reading initial states")
            announced = True
        progress.tell(f"{count:,} initial states, {human_bytes(size)}", seconds)

    with budget.kept():
        instance.enumerated(watch)
    return time.monotonic() - began

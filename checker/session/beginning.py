"""What comes before a search, within the limits of the command: the initial states, and the kernel.

In:  an `Instance`, and the `Budget` of the command.
Out: a `Beginning`; Spent where there is no time or memory left for it, and nothing can be searched.
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
"""For so many seconds nothing is said."""

Compile = Callable[[Instance, Callable[[str], None]], Kernel]
"""Gives the kernel of an instance; tells where it has to be compiled first."""


@dataclass(frozen=True)
class Beginning:
    """The kernel, and how many seconds the initial states took."""

    kernel: Kernel
    seconds: float


def begin(instance: Instance, budget: Budget, compiled: Compile, progress: ProgressLine | None = None) -> Beginning:
    """The initial states, and the kernel. Raises Spent; ModelError where an initial state is wrong."""
    seconds = enumerate_initial_states(instance, budget, progress)
    try:
        with budget.kept(), compiling_within(budget.left):
            kernel = compiled(instance, progress.announce if progress else lambda message: None)
    except OutOfTimeError:
        raise Spent("seconds") from None
    return Beginning(kernel, seconds)


def enumerate_initial_states(instance: Instance, budget: Budget, progress: ProgressLine | None = None) -> float:
    """The initial states; how many seconds they took. Raises Spent, ModelError."""
    began = time.monotonic()
    told = False

    def watch(count: int, size: int) -> None:
        nonlocal told
        budget.look(size)
        seconds = time.monotonic() - began
        if progress is None or seconds < QUIET:
            return
        if not told:
            progress.announce(f"{progress.subject}: reading initial states")
            told = True
        progress.tell(f"{count:,} initial states, {human_bytes(size)}", seconds)

    with budget.kept():
        instance.enumerated(watch)
    return time.monotonic() - began

"""Measures where the processor time of a search on one thread goes, phase by phase, in units of the limit loop.

Run: python -m benchmarks.phases [ROUNDS]; it needs Numba, which `make benchmark` installs

The search is that of benchmarks/limit_loop.py: published KIP-320 with 9,985,570 states. The limit loop runs before each
search, so that changes in the machine's speed hardly affect the shares. A phase is measured around the calls of
compiled code, so that Python's own part is what is left.
"""

from __future__ import annotations

import resource
import statistics
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import wraps
from typing import Any
from unittest.mock import patch

from benchmarks.limit_loop import STATES, insert_nothing_much, limit_loop
from isrcheck.checker.compile.kernel import Kernel, kernel_of
from isrcheck.checker.explicit.carrier import KernelRunner
from isrcheck.checker.explicit.explore import explore
from isrcheck.checker.explicit.visited_set import RecentStates, VisitedSet
from isrcheck.checker.resources.limits import Limits
from isrcheck.models import published
from isrcheck.models.language.model import Instance

PHASES: dict[str, tuple[type, str]] = {
    "successors": (KernelRunner, "expand"),
    "properties of states": (KernelRunner, "check"),
    "filter of recent states": (RecentStates, "sift"),
    "looking up and inserting": (VisitedSet, "insert"),
    "doubling the table": (VisitedSet, "_grow"),
}
"""The phases, each with the class and the method that does it; doubling happens while inserting."""


def processor_time() -> tuple[float, float]:
    """The processor time of this process so far, in seconds: of the program, and of the system."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime, used.ru_stime


@contextmanager
def measured(spent: Counter[str], name: str) -> Iterator[None]:
    """Add the processor time of the block under this name, and that of the system under this name and "system"."""
    of_program, of_system = processor_time()
    yield
    program, system = processor_time()
    spent[name] += program - of_program + system - of_system
    spent[f"{name}, system"] += system - of_system


def timed(spent: Counter[str], name: str, method: Callable[..., Any]) -> Callable[..., Any]:
    """The method, whose processor time is added under this name."""

    @wraps(method)
    def run(*arguments: Any) -> Any:
        with measured(spent, name):
            return method(*arguments)

    return run


def profile(instance: Instance, kernel: Kernel) -> Counter[str]:
    """The processor time of one search, by phase; "all" is that of the whole search."""
    spent: Counter[str] = Counter()
    with ExitStack() as stack:
        for name, (kind, method) in PHASES.items():
            stack.enter_context(patch.object(kind, method, timed(spent, name, getattr(kind, method))))
        with measured(spent, "all"):
            exploration = explore(instance, Limits(), kernel=kernel)
    assert exploration.distinct == STATES
    spent["looking up and inserting"] -= spent["doubling the table"]
    spent["looking up and inserting, system"] -= spent["doubling the table, system"]
    spent["the rest"] = 2 * spent["all"] - sum(time for name, time in spent.items() if not name.endswith("system"))
    return spent


def main() -> None:
    """Measure, and print one line per phase: medians of all rounds."""
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    instance = published.MODEL.instance("kip_320", {"replicas": 3, "log_size": 2, "records": 2, "max_epoch": 3})
    kernel = kernel_of(instance, print, is_optimized=True)
    insert_nothing_much()
    profile(instance, kernel)
    limits, of_system, all_spent = [], [], []
    for _ in range(rounds):
        spent: Counter[str] = Counter()
        with measured(spent, "limit"):
            limit_loop()
        limits.append(spent["limit"])
        of_system.append(spent["limit, system"])
        all_spent.append(profile(instance, kernel))
    print(
        f"limit loop {statistics.median(limits):.2f} s of processor time ({min(limits):.2f} to {max(limits):.2f}),"
        f" {statistics.median(of_system):.2f} s of it in the system"
    )
    for name in (*PHASES, "the rest", "all"):
        seconds, system = ([spent[one] for spent in all_spent] for one in (name, f"{name}, system"))
        shares = [one / spent["all"] for one, spent in zip(seconds, all_spent, strict=True)]
        of_limit = [one / limit for one, limit in zip(seconds, limits, strict=True)]
        print(
            f"{name:26} {statistics.median(seconds):5.2f} s, {statistics.median(system):5.2f} s of it in the system,"
            f" {statistics.median(shares):6.1%}, {statistics.median(of_limit):5.2f} limit loops"
        )


if __name__ == "__main__":
    main()

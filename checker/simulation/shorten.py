"""Shortens a path to a violation, by searches in its neighbourhood.

From each state of the path, beginning with the last, a breadth-first search looks for the same violation in fewer steps
than the rest of the path has. A search ends at a level with many states, so it stays near the path. A shorter path is
searched in the same way, until no search shortens it or the time is over. In a small model the search from the initial
states is complete, and the result is a shortest path; in a large model the result may be longer.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from isrcheck.checker.compile.kernel import Kernel
from isrcheck.checker.explicit.carrier import SearchContext, SearchRequest, Starts
from isrcheck.checker.explicit.explore import Search
from isrcheck.checker.resources.limits import Limits
from isrcheck.checker.results.exploration import Findings, StepPath
from isrcheck.checker.results.kernel_results import EntryKind
from isrcheck.models.language.model import DEADLOCK, IN_RANGE, Instance, Property
from isrcheck.traces.format.trace import path_of

ENOUGH = 20_000
"""The size of a level at which a search in the neighbourhood ends."""

Report = Callable[[str, float], None]


def shortened(
    instance: Instance,
    kernel: Kernel,
    prop: Property,
    kind: EntryKind,
    path: StepPath,
    limits: Limits,
    report: Report = lambda what, seconds: None,
) -> StepPath:
    """Return the shortest path found within `limits` that has the same kind of end as `path`; if no search finds a
    shorter path, return `path` itself. `kind` says whether the end is a permitted failure of `prop`, or a violation (or
    a state that reaches `prop`). Raises KeyboardInterrupt after Ctrl-C."""
    started = time.monotonic()
    deadline = float("inf") if limits.seconds is None else started + limits.seconds
    best, at = path, path.depth - 1
    while at >= 0:
        left = deadline - time.monotonic()
        if left <= 0:
            break
        report(f"shortening {prop.name}: {best.depth} steps, searching from step {at}", time.monotonic() - started)
        within = replace(limits, seconds=None if limits.seconds is None else left, threads=1)
        shorter = _shorter(instance, kernel, prop, kind, best, at, within)
        if shorter is None:
            at -= 1
        else:
            best, at = shorter, shorter.depth - 1
    return best


def _shorter(
    instance: Instance, kernel: Kernel, prop: Property, kind: EntryKind, path: StepPath, at: int, limits: Limits
) -> StepPath | None:
    """Return a path shorter than `path` with the same first `at` steps; None if the search finds none. The search
    starts after these steps; if `at` is 0, it starts at all initial states, or if too many, that of `path`."""
    length = path.depth - at
    is_deadlock, is_error = prop is DEADLOCK, prop is IN_RANGE
    # The ends of paths of this length are judged when they are expanded.
    depth = length if is_deadlock else length - 1
    cells = path_of(instance, path.initial, path.steps[:at]).states[-1]
    # Another initial state may have a shorter path.
    starts = Starts.initial(instance)
    if at > 0 or len(starts) > ENOUGH:
        starts = Starts([path.initial], np.array([cells], np.int32))
    request = SearchRequest(
        watched=instance.properties if is_error else () if is_deadlock else (prop,),
        decisive=kind,
        starts=starts,
        enough=ENOUGH,
        deadlock=is_deadlock or is_error,
    )
    result = Search(SearchContext(instance, replace(limits, depth=depth), kernel, request)).run()
    if result.stopped == "interrupt":
        raise KeyboardInterrupt
    findings = result.findings.get(prop.name, Findings())
    shorter = (findings.permitted if kind is EntryKind.PERMITTED else findings.found).path
    if shorter is None or shorter.depth >= length:
        return None
    return StepPath(shorter.initial, path.steps[:at] + shorter.steps)

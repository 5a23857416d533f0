"""Breadth-first search of an instance, on one thread or several.

In:  an `Instance`, and limits: depth, memory, seconds, threads.
Out: an `Exploration`, the same for any number of threads unless a limit stops the search.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from isrcheck.checker.compile.compiling import OutOfTimeError, compiling_within
from isrcheck.checker.compile.kernel import Announce, Kernel, kernel_of
from isrcheck.checker.explicit.carrier import EVERY_STATE, SearchContext, SearchRequest
from isrcheck.checker.explicit.reached import Reached
from isrcheck.checker.explicit.search import Search
from isrcheck.checker.explicit.single_thread import SingleThread
from isrcheck.checker.explicit.starts import Starts
from isrcheck.checker.explicit.threads import Threads
from isrcheck.checker.outcome.exploration import Exploration, Finding, Findings, Progress
from isrcheck.checker.outcome.kernel_results import EntryKind
from isrcheck.checker.reductions.concrete import RealPaths
from isrcheck.checker.resources.limits import Limits
from isrcheck.models.language.model import DEADLOCK, IN_RANGE, Instance
from isrcheck.models.messages import UsageError
from isrcheck.models.run import Cells

FIRST_LEVELS, MANY_OF_A_LEVEL = 40, 1000
"""The first states of a search end with a level of so many states, or with the last of so many levels."""


def first_states(instance: Instance, limits: Limits, kernel: Kernel) -> NDArray[np.int64]:
    """The cells of the first states of a search, one state per row. Of the limits, time and memory count."""
    request = replace(EVERY_STATE, enough=MANY_OF_A_LEVEL)
    context = SearchContext(instance, replace(limits, depth=FIRST_LEVELS, threads=1), kernel, request)
    search = Search(context, SingleThread(context))
    search.run()
    store = search.visited
    packed = store.states[: store.count * store.words].reshape(-1, store.words)
    return np.stack([kernel.layout.column(packed, cell) for cell in range(instance.cells)], axis=1)


Again = Callable[[Kernel, Limits], Exploration]
"""Runs a search once more, with another kernel, within these limits."""


def concluded(
    first: Exploration, kernel: Kernel, again: Again, announce: Announce = lambda message: None
) -> Exploration:
    """The result of a search, with real paths in place of those of its kernel's reduction, and with a note on that.

    If the kernel has found a declared range left, and may overreport, `again` repeats the search without the reduction.
    If a limit or Ctrl-C ends either of both too early, what the first one is sure of is kept.
    """
    if kernel.reduction is None:
        return first
    is_sure = not kernel.may_overreport or IN_RANGE.name not in first.findings
    if not is_sure and first.is_complete:
        began = time.monotonic()
        second = _repeated(first, again, announce)
        seconds = first.seconds + time.monotonic() - began
        if isinstance(second, Exploration):
            second.limits, second.seconds = first.limits, seconds
            if second.is_complete or IN_RANGE.name in second.findings:
                return second
        first.seconds = seconds
        first.stopped = second.stopped if isinstance(second, Exploration) else second
    if not is_sure:
        _leave_out_what_is_unsure(first)
    _make_real(first, kernel)
    return first


def _repeated(first: Exploration, again: Again, announce: Announce) -> Exploration | str:
    """The result of the repetition without a reduction; or what has ended it before it began."""
    limits, began = first.limits.after(first.seconds), time.monotonic()
    try:
        with compiling_within(limits.seconds):
            kernel = kernel_of(first.instance, announce)
        return again(kernel, limits.after(time.monotonic() - began))
    except OutOfTimeError:
        return "seconds"
    except KeyboardInterrupt:
        return "interrupt"


def _leave_out_what_is_unsure(result: Exploration) -> None:
    """After the first range that is left, perhaps, steps may be missing: leave out what is found later than that.

    Every state before was reached and judged, so no shorter path leads to what is kept.
    """
    path = result.findings[IN_RANGE.name].found.path
    assert path is not None
    result.judged = min(result.judged, path.depth - 1)
    for name, found in result.findings.items():
        if name != IN_RANGE.name:
            first, permitted = (
                one if one.path is not None and one.path.depth <= path.depth else Finding()
                for one in (found.found, found.permitted)
            )
            result.findings[name] = Findings(first, permitted, unjudged=found.unjudged)


def _make_real(result: Exploration, kernel: Kernel) -> None:
    """Put real paths in place of those of a search with a reduction, and note the reduction."""
    reduction, instance, layout = kernel.reduction, result.instance, kernel.layout
    assert reduction is not None

    def kept(cells: Cells) -> Cells:
        words = kernel.reduced(layout.pack(cells).reshape(1, -1), instance)
        return layout.unpack([int(word) for word in words[0]])

    if reduction.symmetry is not None:
        RealPaths(instance, reduction, kept).translate(result, may_overreport=kernel.may_overreport)
    result.reduction = reduction.says


def explore(
    instance: Instance,
    limits: Limits,
    *,
    count_all: bool = False,
    only: Sequence[str] = (),
    want_permitted: bool = False,
    initial: int | None = None,
    keep_states: bool = False,
    patience: Mapping[str, float] = MappingProxyType({}),
    kernel: Kernel | None = None,
    report: Callable[[Progress], None] = lambda progress: None,
    announce: Callable[[str], None] = lambda message: None,
) -> Exploration:
    """Search an instance within limits. Raises UsageError if there is no initial state `initial`.

    With `count_all`, every violation is counted; otherwise a property is judged up to its first violation, and the
    search ends once every property is decided. `only` names the properties to judge (none: all that apply). With
    `want_permitted`, a property is judged up to its first permitted failure instead; a violation may come later.
    `initial` is the position of the only initial state to start from (None: all). `keep_states` keeps the visited
    states for queries (unless the repetition of a search was cut short). Once a property in `patience` is violated, the
    search goes on for at most that many seconds.
    """
    if initial is not None and not 0 <= initial < len(instance.initial_states):
        raise UsageError(f"no initial state {initial}; the initial states are 0..{len(instance.initial_states) - 1}")
    request = SearchRequest(
        watched=tuple(prop for prop in instance.properties if not only or prop.name in only),
        deadlock=not only or DEADLOCK.name in only,
        count_all=count_all,
        decisive=EntryKind.PERMITTED if want_permitted else EntryKind.FOUND,
        starts=None if initial is None else Starts.initial(instance)[initial : initial + 1],
        patience=patience,
    )
    kernel = kernel or kernel_of(instance, announce)

    def prepared(kernel: Kernel, limits: Limits) -> Search:
        context = SearchContext(instance, limits, kernel, request, report)
        return Search(context, SingleThread(context) if limits.threads == 1 else Threads(context))

    search = prepared(kernel, limits)

    def again(kernel: Kernel, limits: Limits) -> Exploration:
        nonlocal search
        search = prepared(kernel, limits)  # the states of the first search are given up
        return search.run()

    result = concluded(search.run(), kernel, again, announce)
    if keep_states and search.result is result:
        context = search.context
        result.reached = Reached(context.kernel, search.visited, result.levels, context.starts)
    return result

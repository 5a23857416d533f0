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

from isrcheck.checker.compile.kernel import Kernel, kernel_of
from isrcheck.checker.explicit.carrier import EVERY_STATE, SearchContext, SearchRequest
from isrcheck.checker.explicit.reached import Reached
from isrcheck.checker.explicit.search import Search
from isrcheck.checker.explicit.single_thread import SingleThread
from isrcheck.checker.explicit.starts import Starts
from isrcheck.checker.explicit.threads import Threads
from isrcheck.checker.outcome.exploration import Exploration, Progress
from isrcheck.checker.outcome.kernel_results import EntryKind
from isrcheck.checker.reductions.concrete import RealPaths
from isrcheck.checker.resources.limits import Limits
from isrcheck.models.language.in_range import DEADLOCK, IN_RANGE
from isrcheck.models.language.model import Instance
from isrcheck.models.messages.errors import UsageError
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


def must_repeat(result: Exploration, kernel: Kernel) -> bool:
    """Whether a search is repeated without its reduction, because the model leaves a declared range.

    A search that a limit or the user has ended keeps what it has found, unless it permutes states: then its path to
    such a step is not that of the model.
    """
    reduction = kernel.reduction
    if reduction is None or IN_RANGE.name not in result.findings:
        return False
    return result.is_complete or reduction.symmetry is not None


def make_real(result: Exploration, kernel: Kernel) -> None:
    """Put real paths in place of those of a search with a reduction, and note the reduction."""
    reduction, instance, layout = kernel.reduction, result.instance, kernel.layout
    assert reduction is not None

    def kept(cells: Cells) -> Cells:
        words = kernel.reduced(layout.pack(cells).reshape(1, -1), instance)
        return layout.unpack([int(word) for word in words[0]])

    if reduction.symmetry is not None:
        RealPaths(instance, reduction, kept).translate(result)
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
    states for queries. Once a property in `patience` is violated, the search goes on for at most that many seconds.
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
    began = time.monotonic()
    kernel = kernel or kernel_of(instance, announce)
    context = SearchContext(instance, limits, kernel, request, report)
    search = Search(context, SingleThread(context) if limits.threads == 1 else Threads(context))
    result = search.run()
    if must_repeat(result, kernel):
        within = limits.after(time.monotonic() - began)
        context = SearchContext(instance, within, kernel_of(instance, announce), request, report)
        search = Search(context, SingleThread(context) if limits.threads == 1 else Threads(context))
        result = search.run()
        result.limits, result.seconds = limits, time.monotonic() - began
    elif kernel.reduction is not None:
        make_real(result, kernel)
    if keep_states:
        result.reached = Reached(context.kernel, search.visited, result.levels, context.starts)
    return result

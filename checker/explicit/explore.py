"""Breadth-first search of an instance, on one thread or several.

In:  an `Instance`, and limits: depth, memory, seconds, threads.
Out: an `Exploration`, the same for any number of threads unless a limit stops the search.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

from isrcheck.checker.compile.kernel import Kernel, kernel_of
from isrcheck.checker.explicit.carrier import SearchContext, SearchRequest
from isrcheck.checker.explicit.reached import Reached
from isrcheck.checker.explicit.search import Search
from isrcheck.checker.explicit.single_thread import SingleThread
from isrcheck.checker.explicit.starts import Starts
from isrcheck.checker.explicit.threads import Threads
from isrcheck.checker.outcome.exploration import Exploration, Progress
from isrcheck.checker.outcome.kernel_results import EntryKind
from isrcheck.checker.resources.limits import Limits
from isrcheck.models.language.model import Instance
from isrcheck.models.messages.errors import UsageError


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
        count_all=count_all,
        decisive=EntryKind.PERMITTED if want_permitted else EntryKind.FOUND,
        starts=None if initial is None else Starts.initial(instance)[initial : initial + 1],
        patience=patience,
    )
    context = SearchContext(instance, limits, kernel or kernel_of(instance, announce), request, report)
    search = Search(context, SingleThread(context) if limits.threads == 1 else Threads(context))
    result = search.run()
    if keep_states:
        result.reached = Reached(context.kernel, search.visited, result.levels, context.starts)
    return result

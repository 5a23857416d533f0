"""The request and the counts of a search, and the interface of its carriers.

In:  an instance, its kernel, limits, and a `SearchRequest`.
Out: a `SearchContext`, which the search and its carrier share; the base class `Carrier`.

A search runs level by level. Its carrier does the work within a level: on one thread, on several, or on Spark.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from isrcheck.checker.compile.kernel import Kernel
from isrcheck.checker.explicit.starts import Starts
from isrcheck.checker.explicit.visited_set import Batch, VisitedSet
from isrcheck.checker.outcome.exploration import Exploration, Findings, Progress
from isrcheck.checker.outcome.forecast import forecast
from isrcheck.checker.outcome.kernel_results import EntryKind, KernelResults
from isrcheck.checker.resources.limits import Limits
from isrcheck.models.language.declarations import WHOLE
from isrcheck.models.language.model import Instance, Property

SECONDS_BETWEEN_REPORTS = 0.5


@dataclass(frozen=True)
class SearchRequest:
    """What a search looks for, where it starts, and when it ends.

    `watched` are the properties to judge (None: all that apply; empty: none, and the search visits every state).
    `count_all` counts every violation; otherwise a property is judged up to the level with its first result of the kind
    `decisive`. `starts` replaces the initial states; `starts_are_judged` says that the properties were judged in them
    before. Once a property in `patience` is violated, the search goes on for at most that many seconds. The search ends
    at the first level with at least `enough` states. `deadlock` judges the implicit property of this name as well.
    """

    watched: tuple[Property, ...] | None = None
    count_all: bool = False
    decisive: EntryKind = EntryKind.FOUND
    starts: Starts | None = None
    starts_are_judged: bool = False
    patience: Mapping[str, float] = field(default_factory=dict)
    enough: int | None = None
    deadlock: bool = True


EVERY_STATE = SearchRequest(watched=(), deadlock=False)
"""A request to visit every state and to judge no property."""


class SearchContext:
    """The input of a search, and its counts so far.

    `active` has a 1 for each property that is still judged; the last one is the implicit property `deadlock`. `whole`
    are the properties that are judged after a complete search, and `judged` what was found for them. `expanded` counts
    the states whose successors are known. `errors` counts how often the model left a declared range, up to the end of
    the first level where it did.
    """

    def __init__(
        self,
        instance: Instance,
        limits: Limits,
        kernel: Kernel,
        request: SearchRequest = SearchRequest(),
        report: Callable[[Progress], None] = lambda progress: None,
    ) -> None:
        self.instance = instance
        self.limits = limits
        self.kernel = kernel
        self.request = request
        self.report = report
        self.properties = list(enumerate(instance.model.properties))
        self.watched = instance.properties if request.watched is None else request.watched
        self.whole = [
            (number, prop)
            for number, prop in self.properties
            if prop in self.watched and prop.kind in WHOLE and not request.starts_are_judged
        ]
        self.judged: dict[str, Findings] = {}
        starts = Starts.initial(instance) if request.starts is None else request.starts
        self.starts = kept_in_place_of(starts, kernel, instance)
        self.result = Exploration(instance, limits)
        self.active: NDArray[np.int8] = np.zeros(len(self.properties) + 1, np.int8)
        for number, prop in self.properties:
            self.active[number] = prop in self.watched
        self.active[-1] = limits.deadlock and request.deadlock
        self.results = KernelResults(len(self.properties))
        self.errors: int | None = None
        self.fired: NDArray[np.int64] = np.zeros(len(instance.model.actions), np.int64)
        self.expanded = 0
        self.started = time.monotonic()
        self.deadline = float("inf") if limits.seconds is None else self.started + limits.seconds
        self.reported = self.started


def kept_in_place_of(starts: Starts, kernel: Kernel, instance: Instance) -> Starts:
    """The states that a search keeps in place of these: of those for which it keeps the same one, only the first has
    its number there."""
    if kernel.reduction is None or not len(starts):
        return starts
    words = kernel.reduced(kernel.layout.pack_rows(starts.cells), instance)
    _, firsts = np.unique(words, axis=0, return_index=True)
    firsts.sort()
    cells = [kernel.layout.unpack([int(word) for word in words[first]]) for first in firsts]
    rows = np.array(cells, starts.cells.dtype).reshape(len(firsts), starts.cells.shape[1])
    return Starts([starts.numbers[first] for first in firsts], rows)


class Carrier(ABC):
    """The backend of a search. As a context manager it holds threads or other resources while the search runs.

    `visited` is the visited set. `without_stores` says that a carrier without `stores` does not judge a kind of
    properties ({}) that need every reachable state, and what to do.
    """

    visited: Any
    without_stores = "Spark does not judge {}; use --engine local"

    def __init__(self, context: SearchContext) -> None:
        self.context = context

    @property
    def stores(self) -> Sequence[VisitedSet] | None:
        """The visited sets of this machine that hold all states; None if there are none such."""
        return None

    def numbers_of(self, shard: int) -> NDArray[np.int64]:
        """The numbers of the states of one of the `stores`, in order."""
        raise NotImplementedError

    @abstractmethod
    def start(self) -> int:
        """Insert the states that the search starts from; returns the number of the first state to be judged."""

    @abstractmethod
    def check(self, first: int, last: int) -> None:
        """Judge the properties in all states of a level: states first..last-1."""

    @abstractmethod
    def expand(self, first: int, last: int) -> None:
        """Take every step from every state of a level: states first..last-1. Raises Full."""

    def close_level(self) -> None:  # noqa: B027 - most carriers have nothing to do here
        """Called after a level is expanded and its results are taken into account."""

    def finish(self) -> None:  # noqa: B027 - most carriers have nothing to do here
        """Called after the search, before its paths are read."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> bool | None:
        return None

    def is_out_of_time(self) -> bool:
        """Report progress every 0.5 s; return whether the time limit is reached."""
        context, result = self.context, self.context.result
        now = time.monotonic()
        if now - context.reported >= SECONDS_BETWEEN_REPORTS:
            context.reported = now
            context.report(self.progress(now - context.started))
        if now > context.deadline:
            result.stopped = "seconds"
            return True
        return False

    def progress(self, seconds: float) -> Progress:
        """The report of the search after this time."""
        context, result, states = self.context, self.context.result, self.visited.count
        return Progress(
            *(seconds, result.depth, states, result.generated),
            *(states - context.expanded, self.visited.bytes_used, forecast(result.levels)),
        )

    def put_starts(self, batch: Batch, first: int, most: int) -> int:
        """Put at most `most` of the states that the search starts from into a batch; return their number."""
        part = self.context.starts[first : first + most]
        words, count = self.context.kernel.layout.pack_rows(part.cells), len(part)
        batch.states[: words.size] = words.ravel()
        batch.parents[:count] = range(first, first + count)
        batch.steps[:count] = 0
        return count

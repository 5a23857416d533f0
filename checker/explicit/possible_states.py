"""Judges `always_possible` properties after a search: from which states does no path lead to one in which it is true?

In:  the carrier of a search that has ended, with its visited sets.
Out: in the results of the search, the number of these stuck states, and the first of them; or why they are unknown.

A state is possible if the property is true in it, or if a step leads from it to a possible state. The search stores no
transitions. So the states that are not known to be possible are expanded again, the last ones first: then most of them
have a successor that is known to be possible. The transitions of the others are kept, and followed backward.

States have positions here: their places in the visited sets, one set after the other. A property that cannot be
evaluated in a state counts as true there, so that no state is called stuck by mistake.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from isrcheck.checker.explicit.carrier import Carrier, SearchContext
from isrcheck.checker.explicit.kernel_runner import KernelRunner
from isrcheck.checker.explicit.visited_set import Batch, Full, VisitedSet
from isrcheck.checker.outcome.kernel_results import Entry, EntryKind, KernelResults, judgement
from isrcheck.models.language.declare import Kind
from isrcheck.models.language.model import Property

CHUNK = 1 << 14
"""The most states that are processed before the clock is looked at."""

BYTES_OF_TRANSITION = 32
"""The memory that a kept transition needs while transitions are sorted."""

ON_SPARK = "Spark does not judge always_possible; use --engine local"

Positions = NDArray[np.int64]
Marks = NDArray[np.bool_]


class OutOfTimeError(Exception):
    """The time limit of the search is reached."""


def judge_possible(carrier: Carrier) -> None:
    """Judge the `always_possible` properties of a search if it has reached every state."""
    context = carrier.context
    if not context.possible or carrier.stores is None or not context.result.exhausted:
        return
    judging = PossibleStates(context, carrier.stores, carrier.is_out_of_time)
    for number, prop in context.possible:
        try:
            found = judging.stuck(number)
        except (Full, OutOfTimeError) as error:
            # The search itself is complete.
            context.result.stopped = None
            limit = "memory" if isinstance(error, Full) else "time"
            context.unjudged[prop.name] = f"the {limit} limit is reached while paths are followed backward"
            continue
        for kind, positions in found.items():
            context.results.put(number, kind, judging.entry(carrier, positions))
        context.unjudged[prop.name] = ""


def why_unjudged(carrier: Carrier, prop: Property) -> str:
    """Why an `always_possible` property was not judged; "" if it was judged, or is of another kind."""
    if prop.kind is not Kind.ALWAYS_POSSIBLE:
        return ""
    if carrier.stores is None:
        return ON_SPARK
    left = carrier.context.result.frontier
    if not left:
        return carrier.context.unjudged.get(prop.name, "the search ended before paths were followed backward")
    return f"it needs every reachable state, and {left:,} state{' was' if left == 1 else 's were'} not expanded"


class PossibleStates:
    """Finds the stuck states of one property after the other, in visited sets that hold every reachable state.

    `is_out_of_time` is called after some states; it may report progress.
    """

    def __init__(
        self, context: SearchContext, stores: Sequence[VisitedSet], is_out_of_time: Callable[[], bool]
    ) -> None:
        layout, steps = context.kernel.layout, context.instance.first_steps[-1]
        self.context = context
        self.stores = stores
        self.is_out_of_time = is_out_of_time
        self.firsts = np.cumsum([0, *(store.count for store in stores)])
        self.runner = KernelRunner(context.kernel)
        self.buffers = layout.buffer(context.instance), layout.buffer(context.instance)
        self.room = max(4 * steps, CHUNK)
        self.batch = Batch.of(self.room, layout.words)

    def stuck(self, number: int) -> dict[EntryKind, Positions]:
        """The stuck states for property `number`: those that violate it, and those where this is permitted. Raises
        Full, OutOfTimeError."""
        judged = self._judged(number)
        possible = (judged == 0) | (judged == judgement(EntryKind.ERRED))
        self._spread(possible)
        return {
            kind: np.flatnonzero(~possible & (judged == judgement(kind)))
            for kind in (EntryKind.FOUND, EntryKind.PERMITTED)
        }

    def entry(self, carrier: Carrier, positions: Positions) -> Entry:
        """The number of states at these positions, and the first of them in the order of the search."""
        numbers = []
        for shard, first in enumerate(self.firsts[:-1]):
            there = positions[(positions >= first) & (positions < self.firsts[shard + 1])]
            if len(there):
                numbers.append(carrier.number_at(shard, int(there[0] - first)))
        return Entry(len(positions), min(numbers, default=0), -1)

    def _judged(self, number: int) -> NDArray[np.uint8]:
        """The mark of each state (`judgement`)."""
        judged: NDArray[np.uint8] = np.zeros(self.firsts[-1], np.uint8)
        properties = len(self.context.properties)
        active: NDArray[np.int8] = np.zeros(properties + 1, np.int8)
        active[number] = 1
        results = KernelResults(properties)
        for store, first, low, high in self._chunks():
            results.mark_at(number, judged.ctypes.data + first)
            self.runner.check(store.states.ctypes.data, low, high, self.buffers[0], active, results)
        return judged

    def _chunks(self) -> Iterator[tuple[VisitedSet, int, int, int]]:
        """Consecutive states of a store, the last ones first: the store, its first position, and their places in it."""
        for store, first in zip(reversed(self.stores), reversed(self.firsts[:-1].tolist()), strict=True):
            for low in reversed(range(0, store.count, CHUNK)):
                if self.is_out_of_time():
                    raise OutOfTimeError
                yield store, first, low, min(low + CHUNK, store.count)

    def _spread(self, possible: Marks) -> None:
        """Mark every state from which a path leads to a marked state. Raises Full, OutOfTimeError."""
        sources: list[NDArray[np.uint32]] = []
        targets: list[NDArray[np.uint32]] = []
        kept = 0
        for store, first, low, high in self._chunks():
            waiting = low + np.flatnonzero(~possible[first + low : first + high])
            for source, target in self._transitions(store, first, waiting):
                possible[source[possible[target]]] = True
                is_open = ~possible[source]
                sources.append(source[is_open].astype(np.uint32))
                targets.append(target[is_open].astype(np.uint32))
                kept += len(sources[-1])
            self._refuse_memory(kept)
        if kept:
            spread_backward(possible, np.concatenate(sources), np.concatenate(targets))

    def _transitions(self, store: VisitedSet, first: int, waiting: Positions) -> Iterator[tuple[Positions, Positions]]:
        """The transitions from the states at these places of a store, in batches: positions before and after."""
        states = store.states[: store.count * store.words].reshape(-1, store.words)[waiting]
        properties, fired = len(self.context.properties), np.zeros(len(self.context.fired), np.int64)
        nothing: NDArray[np.int8] = np.zeros(properties + 1, np.int8)
        at = 0
        while at < len(waiting):
            at, size = self.runner.expand(
                *(states.ctypes.data, at, len(waiting), *self.buffers, self.batch, self.room),
                *(fired, nothing, KernelResults(properties)),
            )
            yield first + waiting[self.batch.parents[:size]], self._positions(self.batch.states[: size * store.words])

    def _positions(self, states: NDArray[np.uint64]) -> Positions:
        positions: Positions = np.full(len(states) // self.stores[0].words, -1)
        for store, first in zip(self.stores, self.firsts[:-1], strict=True):
            places = store.places_of(states)
            positions = np.where(places >= 0, places + first, positions)
        assert not len(positions) or positions.min() >= 0, "the search has visited every successor"
        return positions

    def _refuse_memory(self, transitions: int) -> None:
        marks = 2 * int(self.firsts[-1])
        states = sum(store.bytes_used for store in self.stores)
        if states + marks + BYTES_OF_TRANSITION * transitions > self.context.limits.memory:
            raise Full


def spread_backward(possible: Marks, sources: NDArray[np.uint32], targets: NDArray[np.uint32]) -> None:
    """Mark every state from which these transitions lead to a marked state: a breadth-first search against them."""
    order = np.argsort(targets, kind="stable")
    sources, targets = sources[order], targets[order]
    reached = np.unique(targets[possible[targets]])
    while len(reached):
        firsts, lasts = (np.searchsorted(targets, reached, side) for side in ("left", "right"))
        sizes = lasts - firsts
        # The places firsts[k], ..., lasts[k] - 1 for every k, one after the other.
        places = np.arange(sizes.sum()) + np.repeat(firsts - (np.cumsum(sizes) - sizes), sizes)
        before = sources[places]
        reached = np.unique(before[~possible[before]])
        possible[reached] = True

"""Judges the properties that need every reachable state, after a search that has reached them all.

In:  the carrier of a search that has ended, with its visited sets.
Out: the findings for each such property, or why it is not judged.

The search stores no transitions: the states are expanded again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from isrcheck.checker.explicit.carrier import Carrier, SearchContext
from isrcheck.checker.explicit.kernel_runner import KernelRunner
from isrcheck.checker.explicit.visited_set import Batch, VisitedSet
from isrcheck.checker.liveness.fair_loops import fair_loops
from isrcheck.checker.liveness.possible_states import stuck_states
from isrcheck.checker.liveness.reachable import LimitError, Numbers
from isrcheck.checker.outcome.exploration import Finding, Findings, StepPath
from isrcheck.checker.outcome.kernel_results import EntryKind, KernelResults
from isrcheck.models.language.declarations import WHOLE, Kind
from isrcheck.models.language.model import Property

CHUNK = 1 << 14
"""The most states that are processed before the clock is looked at."""

CUT = "a @constraint cuts behaviours off, so that it is unknown how they go on"
"""Why what happens at last is not judged in a model with a constraint."""

PathTo = Callable[[int], StepPath]
"""Gives the path to the state with this number."""


def judge_whole(carrier: Carrier, path: PathTo) -> None:
    """Judge the properties that need every reachable state, if the search has reached every one."""
    context = carrier.context
    if not context.whole or carrier.stores is None or not context.result.exhausted:
        return
    states = WholeSearch(context, carrier.stores, carrier.numbers_of, carrier.is_out_of_time)
    for number, prop in context.whole:
        try:
            context.judged[prop.name] = _findings(states, number, prop, path)
        except LimitError as limit:
            # The search itself is complete.
            context.result.stopped = None
            what = "paths are followed backward" if prop.kind is Kind.ALWAYS_POSSIBLE else "loops are looked for"
            context.judged[prop.name] = Findings(unjudged=f"the {limit} limit is reached while {what}")


def _findings(states: WholeSearch, number: int, prop: Property, path: PathTo) -> Findings:
    if prop.kind is Kind.ALWAYS_POSSIBLE:
        found = {
            kind: Finding(len(stuck), path(int(stuck[0])) if len(stuck) else None)
            for kind, stuck in stuck_states(states, number).items()
        }
    elif states.context.instance.model.constraints:
        return Findings(unjudged=CUT)
    else:
        found = fair_loops(states, number, prop, states.context.instance, path)
    return Findings(found[EntryKind.FOUND], found[EntryKind.PERMITTED])


def why_unjudged(carrier: Carrier, prop: Property) -> str:
    """Why a property that needs every reachable state was not judged; "" if it was judged, or is of another kind."""
    if prop.kind not in WHOLE:
        return ""
    if carrier.stores is None:
        return carrier.without_stores.format(prop.kind.value)
    context = carrier.context
    left = context.result.frontier
    if left:
        return f"it needs every reachable state, and {left:,} state{' was' if left == 1 else 's were'} not expanded"
    if prop.name in context.judged:
        return context.judged[prop.name].unjudged
    what = "paths were followed backward" if prop.kind is Kind.ALWAYS_POSSIBLE else "loops were looked for"
    return f"the search ended before {what}"


class WholeSearch:
    """Every reachable state (checker/liveness/reachable.py), in the visited sets of a search that is complete.

    `numbers_of` gives the numbers of the states of each visited set, in order. `is_out_of_time` is called after some
    states; it may report progress.
    """

    def __init__(
        self,
        context: SearchContext,
        stores: Sequence[VisitedSet],
        numbers_of: Callable[[int], Numbers],
        is_out_of_time: Callable[[], bool],
    ) -> None:
        layout, steps = context.kernel.layout, context.instance.first_steps[-1]
        self.context = context
        self.stores = stores
        self.is_out_of_time = is_out_of_time
        self.count = sum(store.count for store in stores)
        self.runner = KernelRunner(context.kernel)
        self.buffers = layout.buffer(context.instance), layout.buffer(context.instance)
        self.room = max(4 * steps, CHUNK)
        self.batch = Batch.of(self.room, layout.words)
        self.numbers = [numbers_of(shard).astype(np.uint32) for shard in range(len(stores))]
        # For each number, the visited set of the state and the place there; with one set, both are known.
        self.owners: NDArray[np.uint8] = np.zeros(self.count if len(stores) > 1 else 0, np.uint8)
        self.places: NDArray[np.uint32] = np.zeros(len(self.owners), np.uint32)
        for shard, numbers in enumerate(self.numbers if len(self.owners) else ()):
            self.owners[numbers] = shard
            self.places[numbers] = np.arange(len(numbers))

    @property
    def starts(self) -> int:
        """The number of initial states."""
        return len(self.context.starts)

    @property
    def levels(self) -> list[int]:
        """The number of states at each depth."""
        return self.context.result.levels

    def look_at_the_clock(self) -> None:
        """Report progress. Raises LimitError if the time limit is reached."""
        if self.is_out_of_time():
            raise LimitError("time")

    def refuse_memory(self, needed: int) -> None:
        """Raise LimitError if the states and `needed` more bytes are over the memory limit."""
        own = 4 * self.count + self.owners.nbytes + self.places.nbytes
        if sum(store.bytes_used for store in self.stores) + own + needed > self.context.limits.memory:
            raise LimitError("memory")

    def judged(self, number: int) -> NDArray[np.uint8]:
        """The mark of each state for the property with this number (`judgement`, PREMISE). Raises LimitError."""
        judged: NDArray[np.uint8] = np.zeros(self.count, np.uint8)
        properties = len(self.context.properties)
        active: NDArray[np.int8] = np.zeros(properties + 1, np.int8)
        active[number] = 1
        results = KernelResults(properties)
        for store, numbers in zip(self.stores, self.numbers, strict=True):
            marks: NDArray[np.uint8] = np.zeros(store.count, np.uint8)
            results.mark_at(number, marks.ctypes.data)
            for low in range(0, store.count, CHUNK):
                self.look_at_the_clock()
                high = min(low + CHUNK, store.count)
                self.runner.check(store.states.ctypes.data, low, high, self.buffers[0], active, results)
            judged[numbers] = marks
        return judged

    def transitions(self, waiting: Numbers) -> Iterator[tuple[Numbers, Numbers, Numbers]]:
        """The transitions from these states, in batches: states before, steps, and states after. Raises LimitError."""
        for low in range(0, len(waiting), CHUNK):
            self.look_at_the_clock()
            yield from self._transitions(waiting[low : low + CHUNK])

    def _transitions(self, waiting: Numbers) -> Iterator[tuple[Numbers, Numbers, Numbers]]:
        states = self._states(waiting)
        properties, fired = len(self.context.properties), np.zeros(len(self.context.fired), np.int64)
        nothing: NDArray[np.int8] = np.zeros(properties + 1, np.int8)
        at = 0
        while at < len(waiting):
            at, size = self.runner.expand(
                *(states.ctypes.data, at, len(waiting), *self.buffers, self.batch, self.room),
                *(fired, nothing, KernelResults(properties)),
            )
            after = self._numbers(self.batch.states[: size * self.stores[0].words])
            yield waiting[self.batch.parents[:size]], self.batch.steps[:size].astype(np.int64), after

    def _states(self, numbers: Numbers) -> NDArray[np.uint64]:
        """The packed states with these numbers, one after the other."""
        words = self.stores[0].words
        if not len(self.owners):
            return self.stores[0].states[: self.count * words].reshape(-1, words)[numbers]
        states = np.empty((len(numbers), words), np.uint64)
        owners, places = self.owners[numbers], self.places[numbers]
        for shard, store in enumerate(self.stores):
            there = owners == shard
            states[there] = store.states[: store.count * words].reshape(-1, words)[places[there]]
        return states

    def _numbers(self, states: NDArray[np.uint64]) -> Numbers:
        """The numbers of these packed states."""
        numbers: Numbers = np.full(len(states) // self.stores[0].words, -1)
        for store, known in zip(self.stores, self.numbers, strict=True):
            places = store.places_of(states)
            there = places >= 0
            numbers[there] = known[places[there]]
        assert not len(numbers) or numbers.min() >= 0, "the search has visited every successor"
        return numbers

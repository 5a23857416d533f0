"""Every way in which one property comes to fail: a search whose histories end where it does.

In:  an instance, a property, and which of its failures are meant: those that break a promise, or those that the
     configuration permits.
Out: the ends of the histories in which it fails for the first time, in the order of discovery.

Without that end, what lies behind a failure would be found as well: mostly the same failure, with something irrelevant
added. As everywhere in a breadth-first search, a state is known by one path: the least of the shortest ones.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from isrcheck.checker.compile.kernel import Kernel
from isrcheck.checker.explicit.search import Search
from isrcheck.checker.explicit.violating_states import Failing
from isrcheck.checker.outcome.exploration import Progress, Witness
from isrcheck.checker.outcome.kernel_results import EntryKind
from isrcheck.checker.resources.limits import Limits
from isrcheck.models.language.model import Instance, Property


@dataclass(frozen=True)
class End:
    """Where a history ends: in this state, or with a step from it; and the packed words of the last state."""

    state: int
    step: int | None
    words: NDArray[np.uint64]


class FirstFailures(Search):
    """One search for the failures of one property; `ends` is what it has found."""

    def __init__(
        self,
        instance: Instance,
        limits: Limits,
        kernel: Kernel,
        report: Callable[[Progress], None],
        prop: Property,
        *,
        permitted: bool,
    ) -> None:
        super().__init__(instance, limits, kernel, report)
        self.watched = [prop]
        self.count_all = True
        self.prop = prop
        self.permitted = permitted
        self.ends: list[End] = []
        self.failing = Failing(instance, kernel, self.store, prop)
        self.number = instance.model.properties.index(prop)
        self.kind = EntryKind.PERMITTED if permitted else EntryKind.FOUND
        self.known = 0

    def path(self, end: End) -> Witness:
        """The history that ends there."""
        position, steps = self.store.path(end.state)
        return Witness(self.starts[position].number, (*steps, *(() if end.step is None else (end.step,))))

    def _look(self, first: int, last: int) -> None:
        super()._look(first, last)
        if not self.prop.of_steps and self.result.stopped is None:
            found = self.failing.states(first, last)[self.permitted]
            self.ends += [End(state, None, self.store.state(state)) for state in found]

    def _expand(self, first: int, last: int) -> None:
        ended = [end.state for end in self.ends if end.state >= first] if not self.prop.of_steps else []
        for before, after in pairwise([first - 1, *ended, last]):
            if before + 1 < after:
                super()._expand(before + 1, after)
            if self.result.stopped:
                return
        self.expanded = last  # those in which a history ends have no successors here

    # ---------------------------------------------------------------------------------------- properties of transitions

    def _take_in_batch(self, generated: int) -> None:
        if self.prop.of_steps and self.results.count(self.number, self.kind) > self.known:
            self.known = self.results.count(self.number, self.kind)
            generated = self._without_ends(generated)
        super()._take_in_batch(generated)

    def _without_ends(self, generated: int) -> int:
        """Take the transitions that fail out of the batch; how many are left."""
        parents, steps = self.batch.parents[:generated], self.batch.steps[:generated]
        states = self.batch.states.reshape(-1, self.kernel.layout.words)
        staying = np.ones(generated, bool)
        for state in np.unique(parents):
            failing = self.failing.steps(int(state))[self.permitted]
            for place in np.flatnonzero((parents == state) & np.isin(steps, failing)):
                staying[place] = False
                self.ends.append(End(int(state), int(steps[place]), states[place].copy()))
        left = int(staying.sum())
        states[:left] = states[:generated][staying]
        parents[:left], steps[:left] = parents[staying], steps[staying]
        return left

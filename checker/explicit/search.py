"""Breadth-first search over a compiled model: exact, level by level, always in the same order.

In:  a `SearchContext`: instance, limits, request; the carrier that does the work within a level.
Out: an `Exploration`: the number of states in each level, how often each action fired, and for each property the path
     to the first state (or transition) that violates or reaches it.

A step that leaves a declared range has no successor, and a property whose evaluation leaves a declared range is not
judged in that state. Both violate the implicit property `in_range`, and the search goes on. A state without a step
violates the implicit property `deadlock` when it is expanded, unless the model declares that it may end there; a search
that ends because every declared property is decided does not expand the states that are left.

States are expanded in the order of their discovery, and the steps of a state in the order of the model. Therefore the
path found for a state is, of its shortest paths, the first in the order of initial states and steps.
"""

from __future__ import annotations

import time
from itertools import pairwise
from typing import Any

from isrcheck.checker.compile.compiling import OutOfTimeError, compiling_within
from isrcheck.checker.explicit.carrier import Carrier, SearchContext
from isrcheck.checker.explicit.single_thread import SingleThread
from isrcheck.checker.explicit.visited_set import Full
from isrcheck.checker.explicit.whole_search import judge_whole, why_unjudged
from isrcheck.checker.outcome.exploration import Exploration, Finding, Findings, StepPath
from isrcheck.checker.outcome.kernel_results import Entry, EntryKind
from isrcheck.models.language.model import DEADLOCK, IN_RANGE, Property


class Search:
    """One search. After it, `visited` still holds the visited states."""

    def __init__(self, context: SearchContext, carrier: Carrier | None = None) -> None:
        self.context = context
        self.carrier = carrier or SingleThread(context)
        self.result = context.result

    @property
    def visited(self) -> Any:
        """The visited set."""
        return self.carrier.visited

    def run(self) -> Exploration:
        """Search, and return the result, also if a limit or Ctrl-C ends the search early."""
        context, result = self.context, self.result
        try:
            # Where a declared range is left, the search compiles its kernel anew, more carefully.
            with compiling_within(context.limits.seconds), self.carrier:
                self._levels()
                result.frontier = self.visited.count - context.expanded
                judge_whole(self.carrier, self.path)
        except KeyboardInterrupt:
            result.stopped = "interrupt"
        except Full:
            result.stopped = "memory"
        except OutOfTimeError:
            result.stopped = "seconds"
        result.frontier = self.visited.count - context.expanded
        if sum(result.levels) < self.visited.count:
            result.levels.append(self.visited.count - sum(result.levels))
        result.seconds = time.monotonic() - context.started
        result.bytes_used = self.visited.bytes_used
        result.fired = [int(count) for count in context.fired]
        result.outside = context.results.outside
        result.generated += result.outside  # the carrier counts those that it keeps
        bounds = context.instance.first_steps
        new = self.visited.found_by(len(context.starts), bounds[-1])
        result.new = [int(new[low:high].sum()) for low, high in pairwise(bounds)]
        self.carrier.finish()
        self._collect()
        return result

    def _levels(self) -> None:
        result, request = self.result, self.context.request
        first = self.carrier.start()
        while True:
            last = self.visited.count
            result.levels.append(last - first)
            result.depth = len(result.levels) - 1
            if result.depth or not request.starts_are_judged:
                self._check(first, last)
            if not result.stopped:
                result.judged = result.depth
            if first == last or result.stopped or not self.is_open():
                break
            if self.context.limits.depth is not None and result.depth >= self.context.limits.depth:
                break
            if request.enough is not None and last - first >= request.enough:
                break
            self.carrier.expand(first, last)
            if result.stopped:
                break
            self._settle(of_steps=True)
            self.carrier.close_level()
            if self.visited.count == last:
                break
            first = last

    def _check(self, first: int, last: int) -> None:
        self.carrier.check(first, last)
        if not self.result.stopped:
            self._settle(of_steps=False)

    def is_open(self) -> bool:
        """Whether further search can change a verdict or a count."""
        context = self.context
        return context.request.count_all or bool(context.active[:-1].any()) or not context.watched

    def _settle(self, of_steps: bool) -> None:
        """Stop judging properties of states (or of steps) that are decided, unless all violations are counted."""
        context, request = self.context, self.context.request
        if request.count_all:
            return
        deadlock = len(context.properties)
        if of_steps and context.errors is None:
            # Only the end of a shorter path was judged while steps were taken.
            context.errors = context.results.count(deadlock, EntryKind.ERRED) or None
        if not of_steps and context.errors is None:
            # On a path of this length, properties of states are the last that can leave a declared range.
            context.errors = context.results.error_count or None
        if context.results.count(deadlock):
            context.active[-1] = 0
        for number, prop in context.properties:
            is_judged = context.active[number] and prop.of_steps == of_steps
            if is_judged and context.results.count(number, request.decisive):
                context.active[number] = 0
                if prop.name in request.patience and context.results.count(number):
                    context.deadline = min(context.deadline, time.monotonic() + request.patience[prop.name])

    def _collect(self) -> None:
        result = self.result
        for number, prop in self.context.properties:
            if prop in self.context.watched:
                result.findings[prop.name] = self.found(number, prop)
        found, _, erred = (self.counted(len(self.context.properties), kind) for kind in EntryKind)
        if found.count or erred.count:
            result.findings[DEADLOCK.name] = Findings(found, erred=erred)
        if result.stopped is None and not self.is_open() and result.frontier:
            result.stopped = "decided"
        errors = self.found_errors()
        if errors is not None:
            steps = self.finding(self.context.results.erring_steps)
            result.findings[IN_RANGE.name] = Findings(errors, erred=steps)

    def found(self, number: int, prop: Property) -> Findings:
        """What is known so far about the property with this number."""
        found, permitted, erred = (self.counted(number, kind) for kind in EntryKind)
        whole = self.context.judged.get(prop.name, Findings(found, permitted))
        return Findings(whole.found, whole.permitted, erred, why_unjudged(self.carrier, prop))

    def counted(self, number: int, kind: EntryKind) -> Finding:
        """How often property `number` has such a result, within the constraint and outside, and the first path."""
        both = [self.finding(entry) for entry in self.context.results.entries(number, kind)]
        paths = [one.path for one in both if one.path is not None]
        return Finding(sum(one.count for one in both), min(paths, key=lambda path: path.order, default=None))

    def found_errors(self) -> Finding | None:
        """How often the model has left a declared range, with the first of the shortest paths to it; None if never."""
        found = [self.finding(entry) for entry in self.context.results.errors]
        paths = [one.path for one in found if one.path is not None]
        if not paths:
            return None
        count = self.context.results.error_count if self.context.errors is None else self.context.errors
        return Finding(count, min(paths, key=lambda path: path.order))

    def finding(self, entry: Entry) -> Finding:
        """A count of the kernel, with the path to the first state or step that it counts."""
        return Finding(entry.count, self.path(entry.state, entry.step)) if entry.count else Finding()

    def path(self, state: int, step: int = -1) -> StepPath:
        """The path to a state, followed by one more step if `step` is given."""
        position, steps = self.visited.path(state)
        last = (step,) if step >= 0 else ()
        return StepPath(self.context.starts[position].number, (*steps, *last))

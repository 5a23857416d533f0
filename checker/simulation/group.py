"""One group of random walks, which take their steps together.

In:  an instance with its kernel, the request of a simulation, the numbers of the walks.
Out: a `Tally`: what these walks did and found. It depends on nothing else, so that groups may run in any order.

A walk chooses an action first, each of those that have a step with a chance in proportion to its weight, and then one
of its steps, all with equal chance. So an action with few arguments is taken as often as one with many. Properties of
states and `in_range` are judged in every visited state, properties of transitions and `deadlock` whenever a state is
expanded: also on the steps that the walk does not take. The first violation is the one with the fewest steps.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from isrcheck.checker.compile.kernel import Kernel
from isrcheck.checker.explicit.kernel_runner import KernelRunner
from isrcheck.checker.explicit.visited_set import Batch
from isrcheck.checker.outcome.exploration import Finding, StepPath
from isrcheck.checker.outcome.kernel_results import Entry, EntryKind, KernelResults
from isrcheck.checker.simulation.chance import Numbers, below
from isrcheck.checker.simulation.result import JUDGED, Tally
from isrcheck.models.language.model import DEADLOCK, IN_RANGE, Instance

ROOM = 1 << 15
"""The successors that one call of the kernel makes, about."""


@dataclass(frozen=True)
class SimulationRequest:
    """How many walks of at most how many steps, and the seed. Without `deadlock`, states without a step are not
    reported. `weights` of actions, by name, are at least 1, which is the weight of the others."""

    walks: int
    depth: int
    seed: int = 0
    deadlock: bool = True
    weights: Mapping[str, int] = field(default_factory=dict)


class Walkers:
    """Walks for one thread, group by group. `is_over` is asked before each step whether to end early."""

    def __init__(
        self, instance: Instance, kernel: Kernel, request: SimulationRequest, is_over: Callable[[], bool]
    ) -> None:
        self.instance, self.kernel, self.request, self.is_over = instance, kernel, request, is_over
        self.properties = list(enumerate(instance.model.properties))
        self.results = KernelResults(len(self.properties))
        self.runner = KernelRunner(kernel)
        self.words = kernel.layout.words
        self.room = max(4 * instance.first_steps[-1], ROOM)
        self.batch = Batch.of(self.room, self.words)
        self.before, self.after = kernel.layout.buffer(instance), kernel.layout.buffer(instance)
        self.first_steps = np.array(instance.first_steps)
        self.weights = np.array([request.weights.get(action.name, 1) for action in instance.model.actions], np.int64)

    def walk(self, numbers: Numbers, starts: NDArray[np.uint64]) -> Tally:
        """Walk with these numbers. `numbers`, `states` and `paths` have a row for each walk that goes on."""
        seed, most = self.request.seed, self.request.depth
        tally = self.tally = Tally.of(self.instance)
        self.active = self._active()
        self.fired: NDArray[np.int64] = np.zeros(len(self.instance.model.actions), np.int64)
        initial = below(np.full(len(numbers), len(starts)), seed, numbers, 0, 0)
        states = np.ascontiguousarray(starts[initial])
        paths: NDArray[np.uint32] = np.zeros((len(numbers), most), np.uint32)
        walks = len(numbers)
        for depth in range(most + 1):
            path = _PathOf(initial, paths, depth)
            self._visit(states, path)
            if depth == most:
                break
            if self.is_over():
                walks = 0
                break
            going, states, steps = self._step(states, numbers, path)
            numbers, initial, paths = numbers[going], initial[going], paths[going]
            paths[:, depth] = steps
            tally.steps += len(going)
            if not len(going):
                break
            tally.longest = max(tally.longest, depth + 1)
        tally.walks, tally.generated = walks, int(self.fired.sum())
        return tally

    def _active(self) -> NDArray[np.int8]:
        active: NDArray[np.int8] = np.zeros(len(self.properties) + 1, np.int8)
        for number, prop in self.properties:
            active[number] = prop in self.instance.properties and prop.kind in JUDGED
        active[-1] = self.request.deadlock
        return active

    def _visit(self, states: NDArray[np.uint64], path: _PathOf) -> None:
        """Judge the states, and note their values."""
        self.tally.visited += len(states)
        self.runner.check(states.ctypes.data, 0, len(states), self.before, self.active, self.results)
        self._note(path)
        for name, place in self.instance.layouts.items():
            seen = self.tally.seen[name]
            for cell in range(place.offset, place.offset + place.count) if not seen.all() else ():
                seen[self.kernel.layout.column(states, cell) - place.low] = True

    def _step(
        self, states: NDArray[np.uint64], numbers: Numbers, path: _PathOf
    ) -> tuple[Numbers, NDArray[np.uint64], NDArray[np.uint32]]:
        """Expand the states; return the rows of the walks that go on, their new states, and the steps."""
        rows: list[Numbers] = []
        taken: list[NDArray[np.uint64]] = []
        steps: list[NDArray[np.uint32]] = []
        at = 0
        while at < len(states):
            at, count = self.runner.expand(
                *(states.ctypes.data, at, len(states), self.before, self.after, self.batch, self.room),
                *(self.fired, self.active, self.results),
            )
            self._note(path)
            if count:
                chosen = self._choose(self.batch.parents[:count], self.batch.steps[:count], numbers, path.depth)
                rows.append(self.batch.parents[chosen].astype(np.int64))
                taken.append(self.batch.states[: count * self.words].reshape(count, self.words)[chosen])
                steps.append(self.batch.steps[chosen])
        self.tally.ended += len(states) - sum(map(len, rows))
        if not rows:
            return np.zeros(0, np.int64), states[:0], np.zeros(0, np.uint32)
        return np.concatenate(rows), np.ascontiguousarray(np.concatenate(taken)), np.concatenate(steps)

    def _choose(
        self, parents: NDArray[np.uint32], steps: NDArray[np.uint32], numbers: Numbers, depth: int
    ) -> NDArray[np.int64]:
        """The position of one successor for each state that has any. Successors stand in the order of states and steps,
        so that those of one action of a state stand together."""
        actions = np.searchsorted(self.first_steps, steps, side="right") - 1
        kinds = parents.astype(np.int64) * len(self.fired) + actions
        firsts = np.flatnonzero(np.concatenate([[True], kinds[1:] != kinds[:-1]]))
        sizes = np.diff(np.append(firsts, len(kinds)))
        owners = parents[firsts]
        walks = np.flatnonzero(np.concatenate([[True], owners[1:] != owners[:-1]]))
        # On a line on which each action is as long as its weight, a point in the part of the walk.
        ends = np.cumsum(self.weights[actions[firsts]])
        begins = np.concatenate([[0], ends])[walks]
        lengths = np.append(begins[1:], ends[-1]) - begins
        who = numbers[owners[walks]]
        points = begins + below(lengths, self.request.seed, who, depth, 1)
        group = np.searchsorted(ends, points, side="right")
        chosen: NDArray[np.int64] = firsts[group] + below(sizes[group], self.request.seed, who, depth, 2)
        for counts, found in ((self.tally.enabled, actions[firsts]), (self.tally.taken, actions[chosen])):
            counts += np.bincount(found, minlength=len(counts))
        return chosen

    # ------------------------------------------------------------------------------------------------------- findings

    def _note(self, path: _PathOf) -> None:
        """Note what the kernel has found, and judge what is decided no more."""
        if next(self.results.first_states(), None) is None:
            return
        deadlock = len(self.properties)
        for number, name in [*((number, prop.name) for number, prop in self.properties), (deadlock, DEADLOCK.name)]:
            for kind in (EntryKind.FOUND, EntryKind.PERMITTED):
                least = path.least(self.results.entries(number, kind))
                if least is not None:
                    self.tally.note(name, kind, Finding(1, least))
            if self.results.count(number):
                self.active[number] = 0
        error = path.least(self.results.errors)
        if error is not None:
            self.tally.note(IN_RANGE.name, EntryKind.FOUND, Finding(1, error))
        self.results.clear()


@dataclass(frozen=True)
class _PathOf:
    """The paths of a group of walks up to `depth`."""

    initial: Numbers
    paths: NDArray[np.uint32]
    depth: int

    def least(self, entries: Iterable[Entry]) -> StepPath | None:
        """The first of the shortest paths to what the kernel counted in some rows; None if it counted nothing."""
        found = [self._path(entry) for entry in entries if entry.count]
        return min(found, key=lambda path: path.order, default=None)

    def _path(self, entry: Entry) -> StepPath:
        steps = self.paths[entry.state, : self.depth].tolist()
        return StepPath(int(self.initial[entry.state]), (*steps, *([entry.step] if entry.step >= 0 else [])))

"""Walks at random: many walks at once, each of which takes one of the steps that the kernel finds.

In:  an instance with its kernel; the number of walks, their length, the seed, a deadline.
Out: a `Simulation`.

A walk chooses an action first, each of those that have a step with equal chance, and then one of its steps. So an
action with few arguments is taken as often as one with many. Properties of states and `in_range` are judged in every
visited state, properties of transitions and `deadlock` whenever a state is expanded: also on the steps that the walk
does not take. Walks form groups of a fixed size; within a group the first violation is the one with the fewest steps.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from isrcheck.checker.compile.kernel import Kernel
from isrcheck.checker.explicit.kernel_runner import KernelRunner
from isrcheck.checker.explicit.starts import Starts
from isrcheck.checker.explicit.visited_set import Batch
from isrcheck.checker.outcome.exploration import Finding, Findings, StepPath
from isrcheck.checker.outcome.kernel_results import Entry, EntryKind, KernelResults
from isrcheck.checker.simulation.chance import Numbers, below
from isrcheck.checker.simulation.result import JUDGED, Simulation
from isrcheck.models.language.in_range import DEADLOCK, IN_RANGE
from isrcheck.models.language.model import Instance

GROUP = 4096
"""The most walks at once."""

GROUP_STEPS = 1 << 24
"""The most steps that a group remembers: 64 MiB."""

ROOM = 1 << 15
"""The successors that one call of the kernel makes, about."""

Report = Callable[[str, float], None]


@dataclass(frozen=True)
class SimulationRequest:
    """How many walks of at most how many steps, and the seed. Without `deadlock`, states without a step are not
    reported."""

    walks: int
    depth: int
    seed: int = 0
    deadlock: bool = True


def simulate(
    instance: Instance,
    kernel: Kernel,
    request: SimulationRequest,
    deadline: float = float("inf"),
    report: Report = lambda what, seconds: None,
) -> Simulation:
    """Walk until all walks are done, every property is decided, or the deadline (of time.monotonic) is reached."""
    walking = _Walking(instance, kernel, request, deadline, report)
    try:
        walking.run()
    except KeyboardInterrupt:
        walking.result.stopped = "interrupt"
    walking.result.generated = int(walking.fired.sum())
    walking.result.seconds = time.monotonic() - walking.started
    return walking.result


class _Walking:
    def __init__(
        self, instance: Instance, kernel: Kernel, request: SimulationRequest, deadline: float, report: Report
    ) -> None:
        self.started = time.monotonic()
        self.instance, self.kernel, self.request = instance, kernel, request
        self.deadline, self.report = deadline, report
        actions = len(instance.model.actions)
        self.result = Simulation(instance, request.walks, request.depth, request.seed)
        self.result.enabled, self.result.taken = [0] * actions, [0] * actions
        self.result.seen = {name: set() for name in instance.layouts}
        self.properties = list(enumerate(instance.model.properties))
        self.active: NDArray[np.int8] = np.zeros(len(self.properties) + 1, np.int8)
        for number, prop in self.properties:
            self.active[number] = prop in instance.properties and prop.kind in JUDGED
        self.active[-1] = request.deadlock
        self.results = KernelResults(len(self.properties))
        self.runner = KernelRunner(kernel)
        self.words = kernel.layout.words
        self.room = max(4 * instance.first_steps[-1], ROOM)
        self.batch = Batch.of(self.room, self.words)
        self.before, self.after = kernel.layout.buffer(instance), kernel.layout.buffer(instance)
        self.fired: NDArray[np.int64] = np.zeros(actions, np.int64)
        self.first_steps = np.array(instance.first_steps)

    def run(self) -> None:
        """Walk group by group."""
        starts = self.kernel.layout.pack_rows(Starts.initial(self.instance).cells)
        size = max(1, min(GROUP, self.request.walks, GROUP_STEPS // max(1, self.request.depth)))
        for first in range(0, self.request.walks, size):
            numbers = np.arange(first, min(first + size, self.request.walks), dtype=np.int64)
            self._group(numbers, starts)
            if self.result.stopped is not None:
                return
            self.result.walks += len(numbers)
            if not self.active[:-1].any() and self.properties:
                self.result.stopped = "decided" if self.result.walks < self.request.walks else None
                return

    def _group(self, numbers: Numbers, starts: NDArray[np.uint64]) -> None:
        """Walk with these numbers. `numbers`, `states` and `paths` have a row for each walk that goes on."""
        result, seed = self.result, self.request.seed
        initial = below(np.full(len(numbers), len(starts)), seed, numbers, 0, 0)
        states = np.ascontiguousarray(starts[initial])
        paths: NDArray[np.uint32] = np.zeros((len(numbers), self.request.depth), np.uint32)
        for depth in range(self.request.depth + 1):
            path = _PathOf(initial, paths, depth)
            self._visit(states, path)
            if depth == self.request.depth or self._is_out_of_time(depth):
                return
            going, states, steps = self._step(states, numbers, path)
            numbers, initial, paths = numbers[going], initial[going], paths[going]
            paths[:, depth] = steps
            result.steps += len(going)
            if not len(going):
                return
            result.longest = max(result.longest, depth + 1)

    def _visit(self, states: NDArray[np.uint64], path: _PathOf) -> None:
        """Judge the states, and note their values."""
        self.result.visited += len(states)
        self.runner.check(states.ctypes.data, 0, len(states), self.before, self.active, self.results)
        self._note(path)
        for name, place in self.instance.layouts.items():
            seen, values = self.result.seen[name], place.high - place.low + 1
            for cell in range(place.offset, place.offset + place.count) if len(seen) < values else ():
                seen.update(np.flatnonzero(np.bincount(self._column(states, cell) - place.low)) + place.low)

    def _column(self, states: NDArray[np.uint64], cell: int) -> NDArray[np.int64]:
        return self.kernel.layout.column(states, cell)

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
        self.result.ended += len(states) - sum(map(len, rows))
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
        choices = np.diff(np.append(walks, len(owners)))
        who = numbers[owners[walks]]
        group = walks + below(choices, self.request.seed, who, depth, 1)
        chosen: NDArray[np.int64] = firsts[group] + below(sizes[group], self.request.seed, who, depth, 2)
        for counts, found in ((self.result.enabled, actions[firsts]), (self.result.taken, actions[chosen])):
            for action, count in enumerate(np.bincount(found, minlength=len(counts)).tolist()):
                counts[action] += count
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
                    self._found(name, kind, least)
            if self.results.count(number):
                self.active[number] = 0
        error = path.least(self.results.errors)
        if error is not None:
            self._found(IN_RANGE.name, EntryKind.FOUND, error)
        self.results.clear()

    def _found(self, name: str, kind: EntryKind, path: StepPath) -> None:
        known = self.result.findings.setdefault(name, Findings())
        if kind is EntryKind.FOUND and known.found.path is None:
            self.result.findings[name] = replace(known, found=Finding(1, path))
        if kind is EntryKind.PERMITTED and known.permitted.path is None:
            self.result.findings[name] = replace(known, permitted=Finding(1, path))

    def _is_out_of_time(self, depth: int) -> bool:
        now = time.monotonic()
        done = f"{self.result.walks:,} walks, {self.result.steps:,} steps"
        self.report(f"{done}, now at step {depth}", now - self.started)
        if now > self.deadline:
            self.result.stopped = "seconds"
        return now > self.deadline


@dataclass(frozen=True)
class _PathOf:
    """The paths of a group of walks up to `depth`."""

    initial: Numbers
    paths: NDArray[np.uint32]
    depth: int

    def least(self, entries: object) -> StepPath | None:
        """The first of the shortest paths to what the kernel counted in some rows; None if it counted nothing."""
        found = [self._path(entry) for entry in entries if entry.count]  # type: ignore[attr-defined]
        return min(found, key=lambda path: path.order, default=None)

    def _path(self, entry: Entry) -> StepPath:
        steps = self.paths[entry.state, : self.depth].tolist()
        return StepPath(int(self.initial[entry.state]), (*steps, *([entry.step] if entry.step >= 0 else [])))

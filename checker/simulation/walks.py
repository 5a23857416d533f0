"""Random walks in groups, on one thread or several.

In:  an instance with its kernel; the number of walks, their length, the seed; threads, a deadline.
Out: a `Simulation`: the same for every number of threads, unless the time ends first; and a `Verdict` for every
     property. A property that no walk violated is UNDECIDED, never a pass.

In each state, a walk first chooses one of the actions that have a step, with a probability in proportion to the
action's weight, and then one of the action's steps, each with equal probability. So an action with few arguments is
taken as often as an action with many. Properties of states and `in_range` are checked in every visited state;
properties of transitions and `deadlock` are checked on all steps from a visited state, also on those that the walk does
not take. Of the first group of walks that violates a property, the violation after the fewest steps is reported.

The random numbers of a walk depend only on the seed, the number of the walk and the position in the walk, not on other
walks or threads. The walks of a group take their steps together. The groups are always the same, and their results are
combined in order: once every property is decided, the results of later groups are dropped.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from queue import SimpleQueue
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from isrcheck.checker.compile.kernel import Kernel
from isrcheck.checker.compile.machine_code import OutOfTimeError, compiling_within
from isrcheck.checker.explicit.carrier import KernelRunner, Starts
from isrcheck.checker.explicit.visited_set import Batch
from isrcheck.checker.results.exploration import Findings, StepPath
from isrcheck.checker.results.kernel_results import Entry, EntryKind, KernelResults
from isrcheck.checker.results.verdict import Verdict, Word, shown
from isrcheck.models.language.declarations import Kind
from isrcheck.models.language.model import DEADLOCK, IN_RANGE, Instance, Property
from isrcheck.traces.format.trace import error_of

JUDGED = (Kind.ALWAYS, Kind.ALWAYS_STEP, Kind.SOMETIMES)
"""The kinds of properties that a walk can judge. The other kinds are about all continuations of a state, of which a
walk takes only one."""


@dataclass(kw_only=True)
class Tally:
    """The counts of some walks, and a path to each violation and reached property. Two tallies can be added."""

    walks: int = 0
    """The number of walks that were taken to their end."""
    visited: int = 0
    """The number of states of all walks, and in `steps` the number of steps between them."""
    steps: int = 0
    generated: int = 0
    """The number of successors of all visited states."""
    longest: int = 0
    """The number of steps of the longest walk."""
    ended: int = 0
    """The number of walks that ended early, in a state without a step within the constraint."""
    enabled: NDArray[np.int64]
    """For each action, in how many visited states it had a step, and in `taken` how often the walks took it."""
    taken: NDArray[np.int64]
    seen: dict[str, NDArray[np.bool_]]
    """By field, for each declared value, the least one first, whether a visited state had it."""
    findings: dict[str, Findings] = field(default_factory=dict)

    @classmethod
    def of(cls, instance: Instance, /, **fields: Any) -> Self:
        """Return the tally of no walks: all counts are 0. `fields` has the further fields of a subclass, by name."""
        actions = len(instance.model.actions)
        seen = {name: np.zeros(place.high - place.low + 1, bool) for name, place in instance.layouts.items()}
        return cls(enabled=np.zeros(actions, np.int64), taken=np.zeros(actions, np.int64), seen=seen, **fields)

    def note(self, name: str, kind: EntryKind, path: StepPath) -> None:
        """Add a path to the findings about the property `name`, unless they already have a path of this kind."""
        findings = self.findings.setdefault(name, Findings())
        finding = findings.permitted if kind is EntryKind.PERMITTED else findings.found
        if finding.path is None:
            finding.count, finding.path = 1, path

    def add(self, other: Tally) -> None:
        """Add the tally of later walks to this tally. If both have a path for a finding, this tally keeps its path."""
        for name in ("walks", "visited", "steps", "generated", "ended"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.longest = max(self.longest, other.longest)
        self.enabled += other.enabled
        self.taken += other.taken
        for name, seen in other.seen.items():
            self.seen[name] |= seen
        for name, findings in other.findings.items():
            for kind, finding in ((EntryKind.FOUND, findings.found), (EntryKind.PERMITTED, findings.permitted)):
                if finding.path is not None:
                    self.note(name, kind, finding.path)


@dataclass(frozen=True)
class ValuesSeen:
    """How many values a field declares, how many of them occurred in visited states, and which did not (`missing`)."""

    declared: int
    seen: int
    missing: Sequence[int]


@dataclass(kw_only=True)
class Simulation(Tally):
    """The result of a simulation: what was requested, and the tally of all its walks."""

    instance: Instance
    asked: int
    """The number of walks that were requested."""
    depth: int
    """The most steps of a walk."""
    seed: int
    weights: dict[str, int]
    """By name, the weights of actions that are not 1."""
    stopped: str | None = None
    """Why the simulation ended early: seconds, interrupt or decided (every property); None if it did not."""
    seconds: float = 0.0

    @property
    def never_enabled(self) -> list[str]:
        """The actions of the protocol that no visited state enabled."""
        return self._without(self.enabled)

    @property
    def never_taken(self) -> list[str]:
        """The actions of the protocol that were enabled in a visited state, but that no walk took."""
        return [name for name in self._without(self.taken) if name not in self.never_enabled]

    def _without(self, counts: NDArray[np.int64]) -> list[str]:
        alternatives = zip(self.instance.model.actions, self.instance.alternatives, counts, strict=True)
        return [action.name for action, chosen, count in alternatives if chosen is not None and not count]

    @property
    def values(self) -> dict[str, ValuesSeen]:
        """For each field with cells in this instance, by name: which declared values occurred in visited states."""
        values = {}
        for name, place in self.instance.layouts.items():
            missing = np.flatnonzero(~self.seen[name]) + place.low
            declared = len(self.seen[name])
            if place.count:
                values[name] = ValuesSeen(declared, declared - len(missing), missing.tolist())
        return values


def verdicts(simulation: Simulation, judged: Sequence[Property]) -> list[Verdict]:
    """Return a verdict for every property of the model, and for `deadlock` and `in_range` if they are violated. A
    property that no walk violated or reached is UNDECIDED; `judged` has the properties that apply to the instance.
    Raises AssertionError if CPython does not confirm a violation of `in_range`."""
    reported = [_verdict(simulation, prop, prop in judged) for prop in simulation.instance.model.properties]
    for prop in (DEADLOCK, IN_RANGE):
        path = simulation.findings.get(prop.name, Findings()).found.path
        if path is not None:
            note = error_of(simulation.instance, path.initial, path.steps).message if prop is IN_RANGE else ""
            reported.append(Verdict(prop, Word.VIOLATED, path.depth, 1, path, note=note))
    return reported


def _verdict(simulation: Simulation, prop: Property, applies: bool) -> Verdict:
    if not applies:
        return Verdict(prop, Word.NOT_APPLICABLE)
    if prop.kind not in JUDGED:
        return Verdict(prop, Word.UNDECIDED, note="a walk cannot judge it")
    event = "reached it" if prop.kind is Kind.SOMETIMES else "violated it"
    undecided = Verdict(prop, Word.UNDECIDED, note=f"no walk {event}")
    return shown(prop, simulation.findings.get(prop.name, Findings())) or undecided


STEP, SALT = 0x9E3779B97F4A7C15, 0xD1342543DE82EF95
"""Odd constants that spread positions and purposes over all bits."""

MASK = (1 << 64) - 1

Numbers = NDArray[np.int64]


def below(limits: Numbers, seed: int, walks: Numbers, position: int, purpose: int) -> Numbers:
    """Return, for each walk, a random number from 0 up to, but not including, the walk's entry in `limits` (less than
    2**32). `walks` has the walks' numbers. Draws at one position of a walk are independent if `purpose` differs."""
    start = (seed * STEP + position * SALT + purpose * 0xBF58476D1CE4E5B9) & MASK
    bits = mixed(mixed(walks.astype(np.uint64) + np.uint64(start)) + np.uint64(start >> 1))
    return ((bits >> np.uint64(32)) * limits.astype(np.uint64) >> np.uint64(32)).astype(np.int64)


def mixed(numbers: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return, for each number, a pseudorandom number that depends only on this number, by the mixing function of
    SplitMix64 (Steele, Lea, Flood, 2014)."""
    bits = numbers * np.uint64(STEP)
    bits = (bits ^ (bits >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return bits ^ (bits >> np.uint64(31))


ROOM = 1 << 15
"""About how many successors one call of the kernel makes."""


@dataclass(frozen=True)
class SimulationRequest:
    """A request for a simulation: the number of walks, the most steps of a walk (`depth`), and the seed. Without
    `deadlock`, states without a step are not reported. `weights` has the weights of actions by name, at least 1; an
    action without a weight has weight 1."""

    walks: int
    depth: int
    seed: int = 0
    deadlock: bool = True
    weights: Mapping[str, int] = field(default_factory=dict)


class Walkers:
    """Takes the walks of one thread, group by group. All end if the function `is_over` returns True before a step."""

    def __init__(
        self, instance: Instance, kernel: Kernel, request: SimulationRequest, is_over: Callable[[], bool]
    ) -> None:
        self.instance, self.kernel, self.request, self.is_over = instance, kernel, request, is_over
        self.properties = list(enumerate(instance.model.properties))
        self.results = KernelResults(len(self.properties))
        self.runner = KernelRunner(kernel, instance)
        self.words = kernel.layout.words
        self.batch = Batch.of(max(4 * instance.first_steps[-1], ROOM), self.words)
        self.first_steps = np.array(instance.first_steps)
        self.weights = np.array([request.weights.get(action.name, 1) for action in instance.model.actions], np.int64)

    def walk(self, numbers: Numbers, starts: NDArray[np.uint64]) -> Tally:
        """Take the walks with these numbers, each from a random state of `starts`, and return their tally. In the code,
        `numbers`, `states` and `paths` have a row for each walk that has not ended."""
        seed, most = self.request.seed, self.request.depth
        tally = self.tally = Tally.of(self.instance)
        judged = [prop in self.instance.properties and prop.kind in JUDGED for _, prop in self.properties]
        self.active: NDArray[np.int8] = np.array([*judged, self.request.deadlock], np.int8)
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

    def _visit(self, states: NDArray[np.uint64], path: _PathOf) -> None:
        self.tally.visited += len(states)
        self.runner.check(states.ctypes.data, 0, len(states), self.active, self.results)
        self._note(path)
        for name, place in self.instance.layouts.items():
            seen = self.tally.seen[name]
            for cell in range(place.offset, place.offset + place.count) if not seen.all() else ():
                seen[self.kernel.layout.column(states, cell) - place.low] = True

    def _step(
        self, states: NDArray[np.uint64], numbers: Numbers, path: _PathOf
    ) -> tuple[Numbers, NDArray[np.uint64], NDArray[np.uint32]]:
        """Expand `states`, and choose a step from each state that has one. Return, for these states, their positions in
        `states`, the next states and the steps. `path` makes paths to states with a violated or reached property."""
        rows: list[Numbers] = []
        taken: list[NDArray[np.uint64]] = []
        steps: list[NDArray[np.uint32]] = []
        at = 0
        while at < len(states):
            counts = self.fired, self.active, self.results
            at, count = self.runner.expand(states.ctypes.data, at, len(states), self.batch, *counts)
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
        """Choose a successor for each state that has successors; return the chosen positions in `parents` and `steps`.
        Both arrays are sorted by state, then by step, so the successors of a state by one action are adjacent."""
        actions = np.searchsorted(self.first_steps, steps, side="right") - 1
        kinds = parents.astype(np.int64) * len(self.fired) + actions
        firsts = np.flatnonzero(np.concatenate([[True], kinds[1:] != kinds[:-1]]))
        sizes = np.diff(np.append(firsts, len(kinds)))
        owners = parents[firsts]
        walks = np.flatnonzero(np.concatenate([[True], owners[1:] != owners[:-1]]))
        # A point on a line on which the length of each action is its weight; it lies in the walk's part of the line.
        ends = np.cumsum(self.weights[actions[firsts]])
        begins = np.concatenate([[0], ends])[walks]
        lengths = np.append(begins[1:], ends[-1]) - begins
        who = numbers[owners[walks]]
        points = begins + below(lengths, self.request.seed, who, depth, 1)
        group = np.searchsorted(ends, points, side="right")
        chosen: NDArray[np.int64] = firsts[group] + below(sizes[group], self.request.seed, who, depth, 2)
        for counts, counted in ((self.tally.enabled, actions[firsts]), (self.tally.taken, actions[chosen])):
            counts += np.bincount(counted, minlength=len(counts))
        return chosen

    # ------------------------------------------------------------------------------------------------------- findings

    def _note(self, path: _PathOf) -> None:
        if next(self.results.first_states(), None) is None:
            return
        deadlock = len(self.properties)
        for number, name in [*((number, prop.name) for number, prop in self.properties), (deadlock, DEADLOCK.name)]:
            for kind in (EntryKind.FOUND, EntryKind.PERMITTED):
                if (least := path.least(self.results.entries(number, kind))) is not None:
                    self.tally.note(name, kind, least)
            if self.results.count(number):
                self.active[number] = 0
        if (error := path.least(self.results.errors)) is not None:
            self.tally.note(IN_RANGE.name, EntryKind.FOUND, error)
        self.results.clear()


@dataclass(frozen=True)
class _PathOf:
    initial: Numbers
    paths: NDArray[np.uint32]
    depth: int

    def least(self, entries: Iterable[Entry]) -> StepPath | None:
        """Return the first path by StepPath.order (so a shortest path) to a state or step in the kernel's `entries`;
        None if all entries are empty."""
        paths = [self._path(entry) for entry in entries if entry.count]
        return min(paths, key=lambda path: path.order, default=None)

    def _path(self, entry: Entry) -> StepPath:
        steps = self.paths[entry.state, : self.depth].tolist()
        return StepPath(int(self.initial[entry.state]), (*steps, *([entry.step] if entry.step >= 0 else [])))


GROUP = 4096
"""The most walks in a group, whose walks take their steps together."""

GROUP_STEPS = 1 << 24
"""The most steps that a group remembers: 64 MiB."""

SECONDS_BETWEEN_REPORTS = 0.2

Report = Callable[[str, float], None]


def simulate(
    instance: Instance,
    kernel: Kernel,
    request: SimulationRequest,
    deadline: float = float("inf"),
    report: Report = lambda what, seconds: None,
    *,
    threads: int = 1,
) -> Simulation:
    """Take walks until all are done, every property is decided, the deadline (of time.monotonic) is reached, or Ctrl-C
    is pressed, and return the result, which includes the steps of unfinished walks."""
    asked = {"asked": request.walks, "depth": request.depth, "seed": request.seed, "weights": dict(request.weights)}
    simulation = Simulation.of(instance, instance=instance, **asked)
    walking = _Walking(instance, kernel, request, deadline, threads)
    try:
        for tally in walking.tallies(
            lambda took: report(f"{simulation.walks:,} walks, {simulation.steps:,} steps", took)
        ):
            simulation.add(tally)
            if _is_decided(simulation):
                simulation.stopped = "decided" if simulation.walks < request.walks else None
                break
        else:
            simulation.stopped = "seconds" if simulation.walks < request.walks else None
    except OutOfTimeError:
        simulation.stopped = "seconds"
    except KeyboardInterrupt:
        simulation.stopped = "interrupt"
        for tally in walking.rest():
            simulation.add(tally)
    finally:
        walking.end()
    simulation.seconds = time.monotonic() - walking.started
    return simulation


def _is_decided(simulation: Simulation) -> bool:
    """Whether no further walk can change a verdict. For a model without a property that walks can judge, this is False,
    so that all walks are taken."""
    judged = [prop for prop in simulation.instance.properties if prop.kind in JUDGED]
    findings = simulation.findings
    return bool(judged) and all(prop.name in findings and findings[prop.name].found.path is not None for prop in judged)


class _Walking:
    def __init__(
        self, instance: Instance, kernel: Kernel, request: SimulationRequest, deadline: float, threads: int
    ) -> None:
        self.started = time.monotonic()
        self.deadline = deadline
        self.is_ended = False
        self.starts = kernel.layout.pack_rows(Starts.initial(instance).cells)
        size = max(1, min(GROUP, request.walks, GROUP_STEPS // max(1, request.depth)))
        self.groups = deque(
            np.arange(first, min(first + size, request.walks), dtype=np.int64)
            for first in range(0, request.walks, size)
        )
        self.walkers: SimpleQueue[Walkers] = SimpleQueue()
        self.threads = min(threads, len(self.groups))
        for _ in range(self.threads):
            self.walkers.put(Walkers(instance, kernel, request, self._is_over))
        self.pool = ThreadPoolExecutor(self.threads)
        self.running: deque[Future[Tally]] = deque()

    def tallies(self, look: Callable[[float], None]) -> Iterator[Tally]:
        """Yield the groups' tallies in order until the time ends; while waiting, call `look` with the elapsed time."""
        while not self._is_over() or self.running:
            while self.groups and len(self.running) <= self.threads and not self._is_over():
                self.running.append(self.pool.submit(self._walk, self.groups.popleft()))
            if not self.running:
                return
            try:
                tally = self.running[0].result(SECONDS_BETWEEN_REPORTS)
            except TimeoutError:
                look(time.monotonic() - self.started)
                continue
            self.running.popleft()
            yield tally

    def rest(self) -> Iterator[Tally]:
        """End the groups on which threads are working, and yield the tallies of these groups."""
        self.is_ended = True
        while self.running:
            yield self.running.popleft().result()

    def end(self) -> None:
        """End all threads."""
        self.is_ended = True
        self.pool.shutdown(cancel_futures=True)

    def _walk(self, numbers: Numbers) -> Tally:
        walkers, left = self.walkers.get(), self.deadline - time.monotonic()
        try:
            # If the model leaves a declared range, a walk compiles a careful kernel.
            with compiling_within(None if left == float("inf") else left):
                return walkers.walk(numbers, self.starts)
        finally:
            self.walkers.put(walkers)

    def _is_over(self) -> bool:
        return self.is_ended or time.monotonic() > self.deadline

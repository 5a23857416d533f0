"""Explores all paths that a recording allows until the last line is passed or no path is left.

A node is a state of the model with its monitor, which holds the number of passed lines. A true line is passed at once,
without a step, if waiting gains nothing (recorded/lines.py, `Passing`); so the length of a path is its number of steps.
The search begins breadth first: a path that is found then is a shortest path. Later, the search prefers nodes with a
small number of steps minus a few steps for each passed line, so a path that passes many lines is followed further. How
many steps to subtract for a line depends on the recording, so several orders of the nodes take turns. Every node has
its turn, so a search without a result is complete. No depth limits the search: it ends when no new node appears. The
model's budgets of faults are restored after every step, because only the recording limits faults. The variable
`exposed_record` is cleared, because no rule reads it.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from isrcheck.checker.compile.kernel import Kernel
from isrcheck.checker.explicit.visited_set import Batch, Full, VisitedSet, reserve
from isrcheck.checker.resources.limits import Limits
from isrcheck.checker.results.kernel_results import KernelResults
from isrcheck.checker.results.terminal import human_bytes
from isrcheck.conformance.follow.recorded.lines import Passing
from isrcheck.conformance.follow.recorded.states import Cells, Numbers, Words, has_kraft
from isrcheck.conformance.follow.search.monitor import Claims, Monitor
from isrcheck.conformance.follow.search.promises import Keeping
from isrcheck.conformance.follow.search.pruning import Foreseen, Unread
from isrcheck.conformance.follow.search.rules import Dropped, InTime, Rules
from isrcheck.conformance.follow.search.script import NOBODY, Permission, Script
from isrcheck.models import run
from isrcheck.models.kafka.state.fields import BUDGETS
from isrcheck.models.language.declarations import NONE
from isrcheck.models.language.model import Instance
from isrcheck.models.run import State

STEPS_OF_A_LINE = (1, 3)
"""How many more steps a path may have for each additional passed line, in each of the orders."""

TOGETHER, SHARE = 512, 50
"""Once the search is no longer breadth first, it expands at most TOGETHER nodes together, or one in SHARE of all nodes
if these are more. Few nodes at a time follow a path quickly; many at a time cost less each."""

MANY = 1 << 16
"""The number of nodes that change their order together."""


@dataclass
class Order:
    """Waiting nodes by rank: depth minus `steps_of_a_line` for each passed line. `taken` counts the nodes taken."""

    steps_of_a_line: int
    taken: int = 0
    _of_rank: dict[int, list[NDArray[np.uint32]]] = field(default_factory=dict)

    def add(self, nodes: Numbers, depths: Numbers, passed: Numbers) -> None:
        ranks = depths - self.steps_of_a_line * passed
        for rank in np.unique(ranks):
            self._of_rank.setdefault(int(rank), []).append(nodes[ranks == rank].astype(np.uint32))

    def take(self, most: int) -> Numbers:
        """The next nodes, all of one rank, and in the order in which they came; empty if none is left."""
        if not self._of_rank:
            return np.empty(0, np.int64)
        rank = min(self._of_rank)
        nodes = np.concatenate(self._of_rank.pop(rank))
        if len(nodes) > most:
            self._of_rank[rank] = [nodes[most:]]
        return nodes[:most].astype(np.int64)


class Waiting:
    """The nodes whose successors are yet to be found; `is_broad` as long as the search is breadth first."""

    def __init__(self) -> None:
        self.is_broad = True
        self._orders = [Order(0)]
        self._left: list[Numbers] = []
        self._count = 0
        self._is_taken: NDArray[np.bool_] = np.zeros(1 << 16, bool)

    def add(self, nodes: Numbers, depths: Numbers, passed: Numbers) -> None:
        self._count += len(nodes)
        for order in self._orders:
            order.add(nodes, depths, passed)

    def take(self, most: int) -> Numbers:
        """The next nodes; empty if none is left."""
        if self.is_broad:
            return self._orders[0].take(most)
        while True:
            order = min(self._orders, key=lambda candidate: candidate.taken)
            nodes = order.take(min(most, max(TOGETHER, self._count // SHARE)))
            if not len(nodes):  # then no node is left: a node waits in every order until one of them takes it
                return nodes
            nodes = nodes[~self._are_taken(nodes)]
            order.taken += len(nodes)
            if len(nodes):
                self._is_taken[nodes] = True
                return nodes

    def leave(self, nodes: Numbers) -> None:
        """Set nodes aside until no other node is left."""
        if len(nodes):
            self._left.append(nodes)

    def left(self) -> Numbers:
        """Return the nodes that were set aside, and no longer keep them aside."""
        nodes = np.concatenate([np.empty(0, np.int64), *self._left])
        self._left = []
        return nodes

    def _are_taken(self, nodes: Numbers) -> NDArray[np.bool_]:
        size = int(nodes.max()) + 1
        if size > len(self._is_taken):
            self._is_taken = np.concatenate([self._is_taken, np.zeros(2 * size - len(self._is_taken), bool)])
        return self._is_taken[nodes]

    def prefer_lines(self, depths: NDArray[np.uint16], passed_of: Callable[[Numbers], Numbers]) -> None:
        """End the breadth-first phase: prefer nodes with small `depths` that have passed many lines (`passed_of`)."""
        left = self._orders[0]
        self._count = 0
        self.is_broad = False
        self._orders = [Order(steps) for steps in STEPS_OF_A_LINE]
        while len(nodes := left.take(MANY)):
            self.add(nodes, depths[nodes].astype(np.int64), passed_of(nodes))


ROOM = 1 << 16
"""The number of successors processed together, if they are small."""

ROOM_BYTES = 8 << 20
"""The memory for the successors that are processed together."""

MOST_BROAD = 20_000
"""The number of nodes from which on the search is no longer breadth first."""


@dataclass(frozen=True)
class Path:
    """A path of the model: the numbers of its initial state and steps; after i steps, `passed[i]` lines are passed."""

    initial: int
    steps: tuple[int, ...]
    passed: tuple[int, ...]


Report = Callable[[str, float], None]
"""Takes the progress in words, and the seconds since the start."""


@dataclass(frozen=True)
class Manner:
    """The goal of a search, and its method."""

    keeps_promises: bool = False
    """No path continues from a state that violates a promise of the model."""

    in_time: Dropped | None = None
    """If given, no path takes a step that a cluster's clocks may exclude (rules.py)."""

    most_broad: int = MOST_BROAD
    """The number of nodes from which on the search is no longer breadth first."""

    clears: bool = True
    """Cells that are no longer read are cleared (pruning.py), unless promises are judged, which may read them."""

    finds_line: bool = True
    """If no path passes the last line, the search looks for the first line that no path passes."""


class Nodes:
    """The nodes of a search: each has its packed state and monitor (monitor.py) in a row, a parent, a step, a depth."""

    def __init__(self, words: int, steps: int, starts: int, memory: int) -> None:
        self.words = words
        self.steps = steps
        """The number of steps of the model; a start has a number from here on, and is its own parent."""

        self.store = VisitedSet(words + 1, steps + starts, memory)
        self.depths = reserve(self.store.room, np.uint16)

    def all(self) -> Words:
        width = self.words + 1
        return self.store.states[: self.store.count * width].reshape(-1, width)

    def monitors(self) -> Words:
        return self.all()[:, self.words]

    def of(self, nodes: Numbers) -> tuple[Words, Words]:
        """The states of these nodes, and their monitors."""
        rows = self.all()[nodes]
        return rows[:, : self.words], rows[:, self.words]

    def add(self, states: Words, monitors: Words, parents: Numbers, steps: Numbers) -> Numbers:
        """Store the nodes that are not stored yet, and return their numbers. Raises Full at the memory limit."""
        count, before = len(states), self.store.count
        batch = Batch(
            np.ascontiguousarray(np.column_stack([states, monitors])).reshape(-1),
            parents.astype(np.uint32),
            steps.astype(np.uint32),
            np.empty(count, np.uint32),
            np.empty(count, np.uint64),
        )
        self.store.add(batch, count)
        new = np.arange(before, self.store.count)
        is_step = self.store.steps[new] < self.steps
        self.depths[new] = self.depths[self.store.parents[new]].astype(np.int64) + is_step
        return new

    def trail(self, index: int) -> tuple[list[int], list[int]]:
        """The nodes from the node `index` back to the start, and the step that led to each node except the last."""
        nodes, steps = [index], []
        while int(self.store.parents[nodes[-1]]) != nodes[-1]:
            steps.append(int(self.store.steps[nodes[-1]]))
            nodes.append(int(self.store.parents[nodes[-1]]))
        return nodes, steps


class Expander:
    """Takes every step of the model from many states at a time. `generated` counts the successors."""

    def __init__(self, instance: Instance, kernel: Kernel, room_bytes: int) -> None:
        self.instance = instance
        self.kernel = kernel
        self.words = kernel.layout.words
        self.room = max(min(ROOM, room_bytes // (8 * self.words)), 2 * instance.first_steps[-1])
        self.batch = Batch.of(self.room, self.words)
        self.generated = 0
        self._expanded = 0
        self._active = np.zeros(len(instance.model.properties) + 1, np.int8)
        self._fired = np.zeros(len(instance.model.actions), np.int64)
        self._buffers = kernel.layout.buffer(instance), kernel.layout.buffer(instance)

    def expand(self, states: Words, deadline: float) -> tuple[int, Words, Numbers, Numbers]:
        """Take all steps from these states, as long as there is room for successors. Return how many states were
        expanded, and the successors, each with its parent (a row of `states`) and its step. `deadline` is the end of
        the search."""
        results = KernelResults(len(self.instance.model.properties))
        before, after = self._buffers
        count = self.kernel.expand(
            states.ctypes.data,
            0,
            len(states),
            before.ctypes.data,
            after.ctypes.data,
            self.batch.states.ctypes.data,
            self.batch.parents.ctypes.data,
            self.batch.steps.ctypes.data,
            self.room,
            self._fired.ctypes.data,
            self._active.ctypes.data,
            results.address,
        )
        done = results.next_state
        if results.has_failed:
            self._explain_failure(states[done])
        self.generated += count
        self._expanded += done
        self.kernel.optimize_for(self._expanded, deadline)
        successors = self.batch.states[: count * self.words].reshape(count, self.words)
        return done, successors, self.batch.parents[:count].astype(np.int64), self.batch.steps[:count].astype(np.int64)

    def _explain_failure(self, state: Words) -> None:
        cells = self.kernel.layout.unpack([int(word) for word in state])
        for step in self.instance.steps:
            run.take(self.instance, cells, step)
        raise AssertionError("the kernel reports a range error that the reference does not find")


class Clock:
    """Measures the time of a search: when it has to end, and when it has to report."""

    def __init__(self, seconds: float | None) -> None:
        self.started = self.reported = time.monotonic()
        self.deadline = float("inf") if seconds is None else self.started + seconds

    @property
    def seconds(self) -> float:
        return time.monotonic() - self.started

    def has_to_report(self) -> bool:
        """Whether half a second has passed since the last report."""
        is_due = time.monotonic() - self.reported >= 0.5
        self.reported = time.monotonic() if is_due else self.reported
        return is_due


@dataclass
class Checks:
    """The checks that a search makes of steps and states. If a field is None, the search omits that check."""

    rules: Rules
    in_time: InTime | None
    keeping: Keeping | None
    unread: Unread | None
    foreseen: Foreseen


class ObservationSearch:
    """A search for a path that passes all lines. `stopped`: why it ended early (memory, seconds, interrupt), or None.

    States that a later line contradicts (pruning.py) wait until no other state is left. Then `is_exhausted` is true: no
    path passes all lines. `last` is the node that has passed the last line, `furthest` the most lines passed so far.
    """

    room_bytes = ROOM_BYTES

    def __init__(
        self,
        script: Script,
        kernel: Kernel,
        is_idempotent: bool,
        limits: Limits,
        report: Report = lambda words, seconds: None,
        manner: Manner = Manner(),
    ) -> None:
        self.instance = instance = script.instance
        self.script = script
        self.manner = manner
        self.report = report
        self.cells = Cells(instance, kernel.layout)
        self.monitor = Monitor(script, self.cells)
        self.claims = Claims(script, self.cells, self.monitor)
        may_clear = manner.clears and not manner.keeps_promises and has_kraft(instance)
        self.checks = Checks(
            Rules(script, self.cells, self.monitor, is_idempotent),
            InTime(script, self.cells, manner.in_time) if manner.in_time is not None else None,
            Keeping(instance, kernel) if manner.keeps_promises else None,
            Unread(script, self.cells) if may_clear else None,
            Foreseen(script, self.cells, self.monitor),
        )
        self.expander = Expander(instance, kernel, self.room_bytes)
        starts = len(instance.initial_states)
        self.nodes = Nodes(kernel.layout.words, instance.first_steps[-1], starts, limits.memory)
        unlimited = [budget for budget in BUDGETS if budget != "retries" or is_idempotent]
        values = {f"{budget}_left": getattr(instance.configuration, budget) for budget in unlimited}
        values |= {} if manner.keeps_promises else {"exposed_record": NONE}
        self.restored = self.cells.pattern(
            {(name, *index): value for name, value in values.items() for index in instance.layouts[name].indices()}
        )
        """A mask of the budgets and of `exposed_record`, and their bits in every node."""

        self.lines = len(script.stages)
        self.clock = Clock(limits.seconds)
        self.waiting_nodes = Waiting()
        self.stopped: str | None = None
        self.is_exhausted = False
        self.last: int | None = None
        self.furthest = 0

    # ------------------------------------------------------------------------------------------------------ the loop

    def run(self) -> None:
        """Search until nothing is left to search, or a limit or the user ends the search."""
        try:
            self._search()
        except KeyboardInterrupt:
            self.stopped = "interrupt"
        except Full:
            self.stopped = "memory"

    def _search(self) -> None:
        """Search until the last line is passed, or no node is left."""
        self.begin_first()
        while self.last is None and self.stopped is None:
            nodes = self.waiting_nodes.take(self.expander.room)
            if not len(nodes):
                self.is_exhausted = True
                left = self.waiting_nodes.left()
                if not (len(left) and self.manner.finds_line):
                    break
                self._add_waiting(left)
                continue
            self._expand(nodes)
            if self.waiting_nodes.is_broad and self.nodes.store.count > self.manner.most_broad:
                self.waiting_nodes.prefer_lines(self.nodes.depths, self._passed_at)

    def begin_first(self) -> None:
        """Begin with the initial states; if lines show the first epoch's leader, only with states with this leader."""
        starts, layout, first = self.instance.initial_states, self.cells.layout, self.script.stages[0]
        is_open = first.most_epoch > 0 or first.leader == NOBODY
        leaders = [State(self.instance, cells).controller_leader for cells in starts]
        chosen = [at for at, leader in enumerate(leaders) if is_open or leader == first.leader]
        states = np.array([layout.pack(starts[at]) for at in chosen], np.uint64).reshape(len(chosen), layout.words)
        self._restore(states)
        monitors = np.zeros(len(chosen), np.uint64)
        self.monitor.look(monitors, states)
        steps = self.nodes.steps + np.array(chosen, np.int64)
        self._pass_and_add(states, monitors, np.arange(len(chosen)), steps, is_start=True)

    def _restore(self, states: Words) -> None:
        mask, words = self.restored
        states &= ~mask
        states |= words

    def _expand(self, nodes: Numbers) -> None:
        at = 0
        while at < len(nodes) and self.last is None and self.stopped is None:
            chosen = nodes[at:]
            states, monitors = self.nodes.of(chosen)
            states = np.ascontiguousarray(states)
            done, after, parents, steps = self.expander.expand(states, self.clock.deadline)
            self._take(chosen, states, monitors.copy(), after, parents, steps)
            at += done
            self.look_at_clock()

    def look_at_clock(self) -> None:
        if self.clock.has_to_report():
            store = self.nodes.store
            words = f"step {self.depth}, line {self.furthest} of {self.lines}, {store.count:,} states"
            self.report(f"{words}, {human_bytes(store.bytes_used)}", self.clock.seconds)
        if time.monotonic() > self.clock.deadline and self.last is None:
            self.stopped = "seconds"

    # -------------------------------------------------------------------------------------------------- one batch

    def _take(
        self, nodes: Numbers, before: Words, monitors_before: Words, after: Words, parents: Numbers, steps: Numbers
    ) -> None:
        """Store the successors that the recording allows, with their monitors."""
        stages = self.monitor.passed.read(monitors_before)
        permissions = self.script.permissions[stages[parents], steps]
        rows = np.flatnonzero(permissions)
        after, parents, steps, permissions = after[rows], parents[rows], steps[rows], permissions[rows]
        allowed = self.checks.rules.allow(before, monitors_before, after, parents, steps, permissions)
        if self.checks.in_time is not None:
            allowed &= self.checks.in_time.allow(before, after, parents, steps, stages[parents])
        rows = np.flatnonzero(allowed)
        after, parents, steps, permissions = after[rows], parents[rows], steps[rows], permissions[rows]
        monitors = monitors_before[parents]
        actors = self.script.actor[steps]
        self.monitor.note_acknowledged(monitors, before, parents, after, actors)
        self._restore(after)
        by_fault = (permissions == Permission.KILL) | (permissions == Permission.START)
        stages = self.monitor.passed.read(monitors)
        self.monitor.passed.write(monitors, stages + by_fault)
        for replica in np.unique(actors[permissions == Permission.START]):
            started = np.flatnonzero((permissions == Permission.START) & (actors == replica))
            changed = monitors[started]
            self.monitor.begin_process(changed, int(replica), self.script.checkpoint[steps[started]])
            monitors[started] = changed
        self.monitor.look(monitors, after)
        self._pass_and_add(after, monitors, nodes[parents], steps)

    def _pass_and_add(
        self, states: Words, monitors: Words, parents: Numbers, steps: Numbers, is_start: bool = False
    ) -> None:
        """Pass every line that these states satisfy, and store the resulting nodes."""
        nodes = [(states, monitors, parents, steps)]
        while nodes:
            states, monitors, parents, steps = nodes.pop()
            later = self._pass_lines(states, monitors)
            if self.checks.unread is not None:
                self.checks.unread.clear(states, self.monitor.passed.read(monitors))
            self._add(states, monitors, parents, steps, is_start)
            if len(later):
                changed = monitors[later]
                self.monitor.passed.write(changed, self.monitor.passed.read(changed) + 1)
                nodes.append((states[later], changed, parents[later], steps[later]))

    def _pass_lines(self, states: Words, monitors: Words) -> Numbers:
        """Advance each of the `monitors` past all true lines that are passed at once. Return the rows whose next line
        is true and may be passed at any time (`Passing`)."""
        moving = np.arange(len(states))
        while len(moving):
            stages = self.monitor.passed.read(monitors[moving])
            moved = np.zeros(len(moving), bool)
            for stage in np.unique(stages):
                if stage == self.lines or self.claims.passing[stage] != Passing.AT_ONCE:
                    continue
                rows = np.flatnonzero(stages == stage)
                chosen = moving[rows]
                moved[rows] = self.claims.hold(int(stage), states[chosen], monitors[chosen])
            moving = moving[moved]
            changed = monitors[moving]
            self.monitor.passed.write(changed, self.monitor.passed.read(changed) + 1)
            monitors[moving] = changed
        stages = self.monitor.passed.read(monitors)
        is_true = self.claims.passing[stages] == Passing.AT_ANY_TIME
        for stage in np.unique(stages[is_true]):
            rows = np.flatnonzero(stages == stage)
            is_true[rows] = self.claims.hold(int(stage), states[rows], monitors[rows])
        return np.flatnonzero(is_true)

    def _add(self, states: Words, monitors: Words, parents: Numbers, steps: Numbers, is_start: bool) -> None:
        if len(states):
            first = self.nodes.store.count
            new = self.nodes.add(states, monitors, first + np.arange(len(states)) if is_start else parents, steps)
            if len(new):
                self._let_wait(new)

    def _passed_at(self, nodes: Numbers) -> Numbers:
        return self.monitor.passed.read(self.nodes.of(nodes)[1])

    def _let_wait(self, new: Numbers) -> None:
        """Add the new nodes to the waiting ones; if the search keeps promises, without nodes that violate a promise."""
        if self.checks.keeping is not None:
            new = new[self.checks.keeping.keep(self.nodes.of(new)[0])]
        passed = self._passed_at(new)
        self.furthest = max(self.furthest, int(passed.max(initial=0)))
        if not self.is_exhausted:
            is_left = self.checks.foreseen.contradicts(*self.nodes.of(new))
            self.waiting_nodes.leave(new[is_left])
            new, passed = new[~is_left], passed[~is_left]
        done = np.flatnonzero(passed == self.lines)
        if len(done) and self.last is None:
            self.last = int(new[done[0]])
        self._add_waiting(new)

    def _add_waiting(self, nodes: Numbers) -> None:
        self.waiting_nodes.add(nodes, self.nodes.depths[nodes].astype(np.int64), self._passed_at(nodes))

    # ------------------------------------------------------------------------------------------------------- results

    @property
    def depth(self) -> int:
        """The number of steps of the longest path so far."""
        return int(self.nodes.depths[: self.nodes.store.count].max(initial=0))

    def path(self) -> Path:
        """The path that passes the last line."""
        assert self.last is not None
        nodes, steps = self.nodes.trail(self.last)
        passed = self._passed_at(np.array(nodes[::-1])).tolist()
        return Path(int(self.nodes.store.steps[nodes[-1]]) - self.nodes.steps, tuple(steps[::-1]), tuple(passed))

    @property
    def leaves_out(self) -> bool:
        """Whether the search has reached a state in which Kafka may act in a way that the model excludes (rules.py)."""
        count = self.nodes.store.count
        parts = (np.arange(at, min(at + ROOM, count)) for at in range(0, count, ROOM))
        return any(self.checks.rules.leave_out(*self.nodes.of(nodes)).any() for nodes in parts)

    def nodes_waiting(self) -> Numbers:
        """The nodes that have passed the most lines, and so wait before the furthest line that the search reached."""
        return np.flatnonzero(self.monitor.passed.read(self.nodes.monitors()) == self.furthest)

    def counts(self) -> list[int]:
        """The number of nodes before each line; the last number counts those that passed all lines."""
        passed = self.monitor.passed.read(self.nodes.monitors())
        return [int(count) for count in np.bincount(passed, minlength=self.lines + 1)]

"""Explores all paths that a recording allows until the last line is passed or no path is left.

In:  a script and the instance of the model.
Out: a path that passes the last line; or all states before the line that no path passes.

A node is a state of the model with its monitor, which holds the number of passed lines. A true line is passed at once,
without a step, if waiting gains nothing (script.py). So only steps count. The search is breadth first at the beginning:
a path that it finds then is a shortest one. Later, each passed line counts as some steps less: a path is followed
further than others as long as it passes lines, and less so the more steps it has taken since its last line. How many
steps a line should count depends on the recording, so several orders share the nodes equally. Every node has its turn,
so a search without a result is complete. No depth limits the search: it ends when no new node appears. Budgets are
restored after every step, because only the recording limits faults. The variable `exposed_record` is cleared, because
no rule reads it.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from isrcheck.checker.compile.kernel import Kernel
from isrcheck.checker.explicit.visited_set import Batch, Full, VisitedSet, reserve
from isrcheck.checker.resources.limits import Limits
from isrcheck.checker.results.kernel_results import KernelResults
from isrcheck.conformance.follow.recorded.states import Cells, Numbers, Words
from isrcheck.conformance.follow.search.claims import Claims
from isrcheck.conformance.follow.search.monitor import Monitor
from isrcheck.conformance.follow.search.promises import Keeping
from isrcheck.conformance.follow.search.pruning import Foreseen, Unread
from isrcheck.conformance.follow.search.rules import Dropped, InTime, Rules
from isrcheck.conformance.follow.search.script import NOBODY, Passing, Permission, Script
from isrcheck.models import run
from isrcheck.models.kafka.state.fields import BUDGETS
from isrcheck.models.language.declarations import NONE
from isrcheck.models.language.model import Instance
from isrcheck.models.run import State

STEPS_OF_A_LINE = (1, 3)
"""How many more steps a path may have for each line that it has passed in addition, in each of the orders."""

TOGETHER, SHARE = 512, 50
"""Once the search is no longer breadth first, at most so many nodes are expanded together, or one of so many of all
nodes: a few at a time follow a path quickly, and many at a time cost less each."""

MANY = 1 << 16
"""The number of nodes that change their order together."""


class Order:
    """Nodes by rank: their depth, less some steps for each passed line. `taken` counts those that it has chosen."""

    def __init__(self, steps_of_a_line: int) -> None:
        self.steps_of_a_line = steps_of_a_line
        self.taken = 0
        self._of_rank: dict[int, list[NDArray[np.uint32]]] = {}

    def add(self, nodes: Numbers, depths: Numbers, passed: Numbers) -> None:
        """Let nodes wait."""
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
    """The nodes that wait; `is_broad` as long as the search is breadth first."""

    def __init__(self) -> None:
        self.is_broad = True
        self._orders = [Order(0)]
        self._count = 0
        self._is_taken: NDArray[np.bool_] = np.zeros(1 << 16, bool)

    def add(self, nodes: Numbers, depths: Numbers, passed: Numbers) -> None:
        """Let nodes wait."""
        self._count += len(nodes)
        for order in self._orders:
            order.add(nodes, depths, passed)

    def take(self, most: int) -> Numbers:
        """The next nodes; empty if none is left."""
        if self.is_broad:
            return self._orders[0].take(most)
        while True:
            order = min(self._orders, key=lambda one: one.taken)
            nodes = order.take(min(most, max(TOGETHER, self._count // SHARE)))
            if not len(nodes):  # what waits in one order waits in all of them, or was taken by another one
                return nodes
            nodes = nodes[~self._are_taken(nodes)]
            order.taken += len(nodes)
            if len(nodes):
                self._is_taken[nodes] = True
                return nodes

    def _are_taken(self, nodes: Numbers) -> NDArray[np.bool_]:
        size = int(nodes.max()) + 1
        if size > len(self._is_taken):
            self._is_taken = np.concatenate([self._is_taken, np.zeros(2 * size - len(self._is_taken), bool)])
        return self._is_taken[nodes]

    def prefer_lines(self, depths: NDArray[np.uint16], passed_of: Callable[[Numbers], Numbers]) -> None:
        """Be no longer breadth first. The depths and the numbers of passed lines of all nodes are given."""
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
    """A path: the numbers of its initial state and steps, and the number of lines passed after each state, also the
    first.
    """

    initial: int
    steps: tuple[int, ...]
    passed: tuple[int, ...]


@dataclass(frozen=True)
class Progress:
    """The progress of a search: its furthest path explains the first `lines` lines of a recording of `of` lines."""

    seconds: float
    depth: int
    states: int
    lines: int
    of: int
    bytes_used: int


class ObservationSearch:
    """One search. `stopped` is the reason for an early end (memory, seconds, interrupt), or None.

    With `keeps_promises`, no path goes on from a state that violates a promise of the model. With
    `in_time`, no path takes a step that a cluster's clocks may exclude (in_time.py). Cells that are no longer read
    are cleared (unread.py), unless promises are judged, which may read them; or never, without `clears`.
    States that a later line contradicts (foreseen.py) are left until no other is: from then on `is_exhausted`, no path
    passes the last line. Then only the first line that no path passes is looked for, or nothing without `finds_line`.
    `is_shortest`: the search has always been breadth first.
    """

    room_bytes = ROOM_BYTES

    def __init__(
        self,
        script: Script,
        instance: Instance,
        kernel: Kernel,
        is_idempotent: bool,
        limits: Limits,
        report: Callable[[Progress], None] = lambda progress: None,
        *,
        keeps_promises: bool = False,
        in_time: Dropped | None = None,
        most_broad: int = MOST_BROAD,
        clears: bool = True,
        finds_line: bool = True,
    ) -> None:
        self.script = script
        self.instance = instance
        self.kernel = kernel
        self.report = report
        self.cells = Cells(instance, kernel.layout)
        self.monitor = Monitor(script, self.cells)
        self.claims = Claims(script, self.cells, self.monitor)
        self.lines = len(script.stages)
        self.words = kernel.layout.words
        self.steps = instance.first_steps[-1]
        self.room = max(min(ROOM, self.room_bytes // (8 * self.words)), 2 * self.steps)
        self.batch = Batch.of(self.room, self.words)
        self.store = VisitedSet(self.words + 1, self.steps + len(instance.initial_states), limits.memory)
        self.rules = Rules(script, self.cells, self.monitor, is_idempotent)
        self.in_time = InTime(script, self.cells, in_time) if in_time is not None else None
        unlimited = [budget for budget in BUDGETS if budget != "retries" or is_idempotent]
        values = {f"{budget}_left": getattr(instance.configuration, budget) for budget in unlimited}
        self.keeping = Keeping(instance, kernel) if keeps_promises else None
        self.unread = Unread(script, self.cells) if clears and not keeps_promises else None
        if not keeps_promises:
            values["exposed_record"] = NONE
        self.kept = ~self.cells.masks(*values)
        self.full = self.cells.packed(values)
        self.passing = np.array([*(stage.passing for stage in script.stages), -1], np.int64)
        self.started = time.monotonic()
        self.deadline = float("inf") if limits.seconds is None else self.started + limits.seconds
        self.reported = self.started
        self.seconds = 0.0
        self.stopped: str | None = None
        self.depth = 0
        self.depths = reserve(self.store.room, np.uint16)
        self.foreseen = Foreseen(script, self.cells, self.monitor)
        self.finds_line = finds_line
        self.is_exhausted = False
        self.waiting_nodes = Waiting()
        self.left: list[Numbers] = []
        self.most_broad = most_broad
        self.generated = 0
        self.expanded = 0
        self.last: int | None = None
        self.furthest = 0

    # ------------------------------------------------------------------------------------------------------ the loop

    def run(self) -> None:
        """Search until the last line is passed, no node is left, or a limit or the user ends the search."""
        try:
            self._start()
            while self.last is None and self.stopped is None:
                nodes = self.waiting_nodes.take(self.room)
                if not len(nodes):
                    self.is_exhausted = True
                    if not (self.left and self.finds_line):
                        break
                    self._let_left_wait()
                    continue
                self._expand(nodes)
                if self.waiting_nodes.is_broad and self.store.count > self.most_broad:
                    self.waiting_nodes.prefer_lines(self.depths, self._passed_at)
        except KeyboardInterrupt:
            self.stopped = "interrupt"
        except Full:
            self.stopped = "memory"
        finally:
            self.seconds = time.monotonic() - self.started

    def _start(self) -> None:
        """Start with the leader of the first metadata line, if that is of the first epoch."""
        chosen = [
            position
            for position, cells in enumerate(self.instance.initial_states)
            if self._is_start(State(self.instance, cells))
        ]
        packed = [self.kernel.layout.pack(self.instance.initial_states[position]) for position in chosen]
        states = np.array(packed, np.uint64).reshape(len(chosen), self.words)
        states = states & self.kept | self.full
        monitors = np.zeros(len(chosen), np.uint64)
        self.monitor.look(monitors, states)
        nodes = np.arange(len(chosen))
        self._pass_and_add(states, monitors, nodes, self.steps + np.array(chosen, np.int64), is_start=True)

    def _is_start(self, s: State) -> bool:
        stage = self.script.stages[0]
        is_first_epoch = stage.most_epoch == 0 and stage.leader != NOBODY
        return not is_first_epoch or s.controller_leader == stage.leader

    @property
    def is_shortest(self) -> bool:
        """Whether the path that was found is a shortest one."""
        return self.waiting_nodes.is_broad

    def _expand(self, nodes: Numbers) -> None:
        """Take every allowed step from these nodes."""
        active = np.zeros(len(self.instance.model.properties) + 1, np.int8)
        results = KernelResults(len(self.instance.model.properties))
        fired = np.zeros(len(self.instance.model.actions), np.int64)
        before, after = self.kernel.layout.buffer(self.instance), self.kernel.layout.buffer(self.instance)
        at = 0
        while at < len(nodes) and self.last is None and self.stopped is None:
            chosen = nodes[at:]
            found = self.nodes()[chosen]
            states = np.ascontiguousarray(found[:, : self.words])
            count = self.kernel.expand(
                *(states.ctypes.data, 0, len(states), before.ctypes.data, after.ctypes.data),
                *(self.batch.states.ctypes.data, self.batch.parents.ctypes.data, self.batch.steps.ctypes.data),
                *(self.room, fired.ctypes.data, active.ctypes.data, results.address),
            )
            done = results.next_state
            if results.has_failed:
                self._explain_failure(states[done])
            self.generated += count
            self._take(chosen, states, found[:, self.words].copy(), count)
            at += done
            self.expanded += done
            self._look_at_clock()
            self.kernel.optimize_for(self.expanded, self.deadline)

    def nodes(self) -> Words:
        """All nodes so far: a row has the words of the state, and the monitor."""
        width = self.words + 1
        return self.store.states[: self.store.count * width].reshape(-1, width)

    def _explain_failure(self, state: Words) -> None:
        cells = self.kernel.layout.unpack([int(word) for word in state])
        for step in self.instance.steps:
            run.take(self.instance, cells, step)
        raise AssertionError("the kernel reports a range error that the reference does not find")

    def _look_at_clock(self) -> None:
        now = time.monotonic()
        if now - self.reported >= 0.5:
            self.reported = now
            seconds = now - self.started
            self.report(
                Progress(seconds, self.depth, self.store.count, self.furthest, self.lines, self.store.bytes_used)
            )
        if now > self.deadline and self.last is None:
            self.stopped = "seconds"

    # -------------------------------------------------------------------------------------------------- one batch

    def _take(self, nodes: Numbers, before: Words, monitors_before: Words, count: int) -> None:
        """Store the successors that the recording allows, with their monitors."""
        parents = self.batch.parents[:count].astype(np.int64)
        steps = self.batch.steps[:count].astype(np.int64)
        after = self.batch.states[: count * self.words].reshape(count, self.words)
        stages = self.monitor.passed.read(monitors_before)
        permissions = self.script.permissions[stages[parents], steps]
        rows = np.flatnonzero(permissions)
        after, parents, steps, permissions = after[rows], parents[rows], steps[rows], permissions[rows]
        allowed = self.rules.allow(before, monitors_before, after, parents, steps, permissions)
        if self.in_time is not None:
            allowed &= self.in_time.allow(before, after, parents, steps, stages[parents])
        rows = np.flatnonzero(allowed)
        after, parents, steps, permissions = after[rows], parents[rows], steps[rows], permissions[rows]
        monitors = monitors_before[parents]
        actors = self.script.actor[steps]
        self.monitor.note_acknowledged(monitors, before, parents, after, actors)
        after &= self.kept
        after |= self.full
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
            if self.unread is not None:
                self.unread.clear(states, self.monitor.passed.read(monitors))
            self._add(states, monitors, parents, steps, is_start)
            if len(later):
                changed = monitors[later]
                self.monitor.passed.write(changed, self.monitor.passed.read(changed) + 1)
                nodes.append((states[later], changed, parents[later], steps[later]))

    def _pass_lines(self, states: Words, monitors: Words) -> Numbers:
        """Pass every line that is passed at once; return the nodes whose next line may be passed at any time, and is
        true."""
        moving = np.arange(len(states))
        while len(moving):
            stages = self.monitor.passed.read(monitors[moving])
            moved = np.zeros(len(moving), bool)
            for stage in np.unique(stages):
                if stage == self.lines or self.passing[stage] != Passing.AT_ONCE:
                    continue
                rows = np.flatnonzero(stages == stage)
                chosen = moving[rows]
                moved[rows] = self.claims.hold(int(stage), states[chosen], monitors[chosen])
            moving = moving[moved]
            changed = monitors[moving]
            self.monitor.passed.write(changed, self.monitor.passed.read(changed) + 1)
            monitors[moving] = changed
        stages = self.monitor.passed.read(monitors)
        is_true = self.passing[stages] == Passing.AT_ANY_TIME
        for stage in np.unique(stages[is_true]):
            rows = np.flatnonzero(stages == stage)
            is_true[rows] = self.claims.hold(int(stage), states[rows], monitors[rows])
        found: Numbers = np.flatnonzero(is_true)
        return found

    def _add(self, states: Words, monitors: Words, parents: Numbers, steps: Numbers, is_start: bool) -> None:
        count = len(states)
        if not count:
            return
        known = self.store.count
        if is_start:
            parents = known + np.arange(count)
        batch = Batch(
            np.ascontiguousarray(np.column_stack([states, monitors])).reshape(-1),
            parents.astype(np.uint32),
            steps.astype(np.uint32),
            np.empty(count, np.uint32),
            np.empty(count, np.uint64),
        )
        self.store.add(batch, count)
        new = np.arange(known, self.store.count)
        if len(new):
            self._let_wait(new)

    def _passed_at(self, nodes: Numbers) -> Numbers:
        """The number of lines that each of these nodes has passed."""
        return self.monitor.passed.read(self.nodes()[nodes, self.words])

    def _let_wait(self, new: Numbers) -> None:
        """Let new nodes wait; those that violate a promise do not, if the search keeps promises."""
        found = self.nodes()[new]
        depths = self.depths[self.store.parents[new]].astype(np.int64) + (self.store.steps[new] < self.steps)
        self.depths[new] = depths
        self.depth = max(self.depth, int(depths.max()))
        passed = self.monitor.passed.read(found[:, self.words])
        if self.keeping is not None:
            kept = self.keeping.keep(found[:, : self.words])
            new, depths, passed = new[kept], depths[kept], passed[kept]
        if len(new):
            self.furthest = max(self.furthest, int(passed.max()))
        if not self.is_exhausted:
            is_left = self.foreseen.contradicts(*self.of_nodes(new))
            if is_left.any():
                self.left.append(new[is_left])
                new, depths, passed = new[~is_left], depths[~is_left], passed[~is_left]
        done = np.flatnonzero(passed == self.lines)
        if len(done) and self.last is None:
            self.last = int(new[done[0]])
        self.waiting_nodes.add(new, depths, passed)

    def _let_left_wait(self) -> None:
        """Let those nodes wait that were left because of a later line."""
        nodes = np.concatenate(self.left)
        self.left = []
        self.waiting_nodes.add(nodes, self.depths[nodes].astype(np.int64), self._passed_at(nodes))

    # ------------------------------------------------------------------------------------------------------- results

    def path(self) -> Path:
        """The path that passes the last line."""
        assert self.last is not None
        nodes = self.nodes()[:, self.words]
        index, steps, passed = self.last, [], []
        while True:
            passed.append(int(self.monitor.passed.read(nodes[index : index + 1])[0]))
            if int(self.store.parents[index]) == index:
                break
            steps.append(int(self.store.steps[index]))
            index = int(self.store.parents[index])
        return Path(int(self.store.steps[index]) - self.steps, tuple(steps[::-1]), tuple(passed[::-1]))

    @property
    def leaves_out(self) -> bool:
        """Whether the search has come to a state in which the model leaves something out."""
        parts = (np.arange(at, min(at + ROOM, self.store.count)) for at in range(0, self.store.count, ROOM))
        return any(self.rules.leave_out(*self.of_nodes(nodes)).any() for nodes in parts)

    def waiting(self) -> tuple[Words, Words]:
        """The states before the furthest line that the search reached, and their monitors."""
        return self.of_nodes(self.nodes_waiting())

    def trail(self, index: int) -> tuple[list[int], list[int]]:
        """The nodes from this one back to the start, and the step to each of them but the last."""
        nodes, steps = [index], []
        while int(self.store.parents[nodes[-1]]) != nodes[-1]:
            steps.append(int(self.store.steps[nodes[-1]]))
            nodes.append(int(self.store.parents[nodes[-1]]))
        return nodes, steps

    def nodes_waiting(self) -> Numbers:
        """The nodes before the furthest line that the search reached."""
        found: Numbers = np.flatnonzero(self.monitor.passed.read(self.nodes()[:, self.words]) == self.furthest)
        return found

    def of_nodes(self, nodes: Numbers) -> tuple[Words, Words]:
        """The states of these nodes, and their monitors."""
        found = self.nodes()[nodes]
        return found[:, : self.words], found[:, self.words]

    def counts(self) -> list[int]:
        """The number of nodes before each line; the last number counts those that passed all lines."""
        passed = self.monitor.passed.read(self.nodes()[:, self.words])
        return [int(count) for count in np.bincount(passed, minlength=self.lines + 1)]

"""Finds all states that are possible after each line of a chunk, one line after the other.

For each line, all states that can be reached before the line are found; then the search continues only from those in
which the line is true, and drops the others.

Steps that the window cannot show, because they concern the part before the window, are left out (`GuardedRules`); so
are the states to which only such steps lead. If a recording can be followed without these states, it is followed;
otherwise it is undecided, not rejected.
"""

from __future__ import annotations

from collections import defaultdict

import numpy as np

from isrcheck.checker.compile.kernel import Kernel
from isrcheck.checker.resources.limits import Limits
from isrcheck.conformance.follow.online.chunk import Chunk
from isrcheck.conformance.follow.recorded.states import Cells, Numbers, Truths, Words
from isrcheck.conformance.follow.search.monitor import Monitor
from isrcheck.conformance.follow.search.promises import Keeping
from isrcheck.conformance.follow.search.rules import Permissions, Rules
from isrcheck.conformance.follow.search.script import Script
from isrcheck.conformance.follow.search.search import Manner, Nodes, ObservationSearch, Report


class GuardedRules(Rules):
    """The rules of a chunk (search/rules.py); in addition, steps that the window cannot show are forbidden."""

    def __init__(self, script: Script, cells: Cells, monitor: Monitor, is_idempotent: bool, *, has_guard: bool) -> None:
        super().__init__(script, cells, monitor, is_idempotent)
        self.has_guard = has_guard
        self.left_out: str | None = None
        """The first step that was left out, if any."""

    def allow(
        self, before: Words, monitors: Words, after: Words, parents: Numbers, steps: Numbers, permissions: Permissions
    ) -> Truths:
        """For each of these successors, whether the recording allows its step, and the window can show the step."""
        allowed = super().allow(before, monitors, after, parents, steps, permissions)
        if not self.has_guard:
            return allowed
        rows = np.flatnonzero(allowed)
        before, after = before[parents[rows]], after[rows]
        for replica, broker in enumerate(self.script.recording.brokers):
            ended, ends = (self.cells.column(states, "log_end_offset", replica) for states in (before, after))
            is_short, leads = ends == 0, self.cells.column(before, "leader", replica) == replica
            for is_unfit, why in (
                (is_short & (ended > 0), f"broker {broker} may have lost records before the window"),
                ((ended == 0) & ~is_short & leads, f"broker {broker} may lead with a short log"),
                (is_short & self._is_chosen(before, after, replica), f"broker {broker} may join with a short log"),
            ):
                if is_unfit.any():
                    self.left_out = self.left_out or why
                    allowed[rows[is_unfit]] = False
        return allowed

    def _is_chosen(self, before: Words, after: Words, replica: int) -> Truths:
        """For each step, whether afterwards `replica` is the elected leader, or is new in an ISR or a proposed ISR."""
        column = self.cells.column
        chosen: Truths = column(after, "controller_leader") == replica
        chosen |= column(after, "controller_isr", replica) > column(before, "controller_isr", replica)
        if self.cells.instance.layouts["proposed_isr"].count:
            for leader in range(len(self.script.recording.brokers)):
                place = "proposed_isr", leader, replica
                chosen |= column(after, *place) > column(before, *place)
        return chosen


FEW = 4_000
"""A chunk may end after any line; it ends at its last line if so few states are possible there."""

SMALL_ROOM_BYTES = 1 << 20
"""The memory for the successors that are processed together; data derived from them need several times as much."""


class ChunkSearch(ObservationSearch):
    """The search through one chunk: begins with the states before it, and finds the states after it.

    `at` is the line that the search has reached: it explores the states that have passed the lines before `at`,
    but not `at` itself. `peak` is the largest number of states before one line, `total` the sum over all lines.
    `keeping`, if given, judges a promise of the model: the search does not continue from states that break the promise,
    and `has_broken` says whether there were such states.
    """

    room_bytes = SMALL_ROOM_BYTES

    def __init__(
        self,
        chunk: Chunk,
        script: Script,
        kernel: Kernel,
        limits: Limits,
        report: Report,
        *,
        has_guard: bool,
        keeping: Keeping | None = None,
    ) -> None:
        super().__init__(script, kernel, True, limits, report, Manner(clears=False))
        self.chunk = chunk
        self.promise = keeping
        self.has_broken = False
        self.memory = limits.memory
        self.guard = GuardedRules(script, self.cells, self.monitor, is_idempotent=True, has_guard=has_guard)
        self.checks.rules = self.guard
        self.lines = chunk.end
        self.at = -1
        self.peak = 0
        self.total = 0
        self._waiting: defaultdict[int, list[Words]] = defaultdict(list)
        self._best: tuple[int, Words] | None = None

    def begin(self, states: Words, monitors: Words) -> None:
        """Start with these states, which have passed the lines before the chunk."""
        self.monitor.look(monitors, states)
        nothing = np.zeros(len(states), np.int64)
        self._pass_and_add(states, monitors, nothing, nothing)

    def _search(self) -> None:
        """Find the states before each line; `at` becomes the chunk's end, or the first line that no state passes."""
        self._note_best()
        for line in range(self.chunk.first, self.chunk.end):
            if line not in self._waiting:
                continue
            self.at = line
            self._close(line)
            if self.stopped is not None or not any(later > line for later in self._waiting):
                return
            self._note_best()
        self.at = self.chunk.end

    def _close(self, line: int) -> None:
        """Find all states that can be reached before this line is passed."""
        rows = self._waiting.pop(line)
        self.nodes = Nodes(self.nodes.words, self.nodes.steps, 1, self.memory)
        store = self.nodes.store
        for states in rows:
            self._store(states)
        first = 0
        while self.stopped is None and first < store.count:
            end = min(store.count, first + self.expander.room)
            nodes = np.arange(first, end)
            nodes = nodes[self._keep(self.nodes.of(nodes)[0])]
            if len(nodes):
                self._expand(nodes)
            first = end
        self.peak = max(self.peak, store.count)
        self.total += store.count

    def _keep(self, states: Words) -> Truths:
        """For each state, whether the search continues from it: it must not break the promise to be checked, if any."""
        if self.promise is None:
            return np.ones(len(states), bool)
        kept = self.promise.keep(states)
        self.has_broken |= not kept.all()
        return kept

    def _add(self, states: Words, monitors: Words, parents: Numbers, steps: Numbers, is_start: bool) -> None:
        nodes = np.column_stack([states, monitors])
        passed = self.monitor.passed.read(monitors)
        for line in np.unique(passed):
            rows = nodes[passed == line]
            if line == self.at:
                self._store(rows)
            else:
                self._waiting[int(line)].append(np.unique(rows, axis=0))
                self._tidy(int(line))

    def _tidy(self, line: int, most: int = 8) -> None:
        """Join the lists of states that wait for a line, without duplicates, if there are more than `most` lists."""
        if len(self._waiting[line]) > most:
            self._waiting[line] = [np.unique(np.concatenate(self._waiting[line]), axis=0)]

    def _store(self, rows: Words) -> None:
        nothing = np.zeros(len(rows), np.int64)
        self.nodes.add(*self._split(rows), nothing, nothing)

    def _note_best(self) -> None:
        """Remember the waiting states if all are before one line, late in the chunk: the next chunk can begin there.
        They replace earlier ones if their number is at most FEW (4,000), or at most that of the earlier ones."""
        if len(self._waiting) == 1:
            line = next(iter(self._waiting))
            self._tidy(line, most=1)
            rows = self._waiting[line][0]
            is_late = line > (self.chunk.first + 2 * self.chunk.end) // 3
            if is_late and (self._best is None or len(rows) <= max(FEW, len(self._best[1]))):
                self._best = line, rows

    def after(self) -> tuple[int, Words, Words]:
        """The line of this chunk (or its end) at which the next chunk can begin; the states there that keep the promise
        to check; and the monitors of these states."""
        assert self._best is not None
        line, rows = self._best
        states, monitors = self._split(rows)
        kept = self._keep(states)
        return line, np.ascontiguousarray(states[kept]), monitors[kept]

    def _split(self, rows: Words) -> tuple[Words, Words]:
        return rows[:, : self.nodes.words], rows[:, self.nodes.words]

    def here(self) -> tuple[Words, Words]:
        """The states before the line `at`, which is true in none of them, and their monitors."""
        return self._split(self.nodes.all())

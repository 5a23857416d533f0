"""What clocks and controllers do not do, although the model allows it: steps that a path in time leaves out.

In:  a script, and states with their successors, many at a time.
Out: a truth value for each successor.

A leader drops the followers that have not caught up for long. It keeps one that is at its log end, so in time it drops
every follower that lags, and no other; or some that lag, if the others have begun to lag later, of which the states
say nothing. With KRaft it proposes a follower for the ISR if it has read in the metadata that this one is active; if
the recording has a fault of that follower, it has to have read everything. The replay (conformance/replay) says
whether the cluster can take a path.
"""

from __future__ import annotations

import enum

import numpy as np
from numpy.typing import NDArray

from isrcheck.conformance.follow.observations.script import NOBODY, Script, has_kraft
from isrcheck.conformance.follow.paths.cells import Cells, Numbers, Truths, Words
from isrcheck.conformance.follow.recorded.lines import Fault
from isrcheck.models.kafka.state.values import AlterPartition

SHRINKS, FETCHES = "leader_shrinks_isr", "leader_handles_fetch"


class Dropped(enum.Enum):
    """The followers that a leader drops from the ISR in one step: a search in time allows no other step."""

    ALL = "all that lag"
    SOME = "some that lag"


class InTime:
    """The steps of one recording that can be in time."""

    def __init__(self, script: Script, cells: Cells, dropped: Dropped) -> None:
        self.cells = cells
        self.dropped = dropped
        self.replicas = range(cells.instance.configuration.replicas)
        self.has_kraft = has_kraft(script.instance)
        count = len(script.actor)
        self.shrinks: NDArray[np.int64] = np.full(count, NOBODY, np.int64)
        self.removed: NDArray[np.int64] = np.zeros(count, np.int64)
        self.fetches: NDArray[np.int64] = np.full(count, NOBODY, np.int64)
        self.follower: NDArray[np.int64] = np.full(count, NOBODY, np.int64)
        for step in script.instance.steps:
            if step.action == SHRINKS:
                self.shrinks[step.number], self.removed[step.number] = step.ordinals
            elif step.action == FETCHES:
                self.fetches[step.number], self.follower[step.number] = step.ordinals
        self.had_fault = np.zeros((len(self.replicas), len(script.stages) + 1), bool)
        for at, line in script.recording.claims(Fault):
            self.had_fault[script.recording.replica(line.broker), at + 1 :] = True

    def allow(self, before: Words, after: Words, parents: Numbers, steps: Numbers, stages: Numbers) -> Truths:
        """For each of these successors, whether its step can be in time."""
        allowed: Truths = np.ones(len(after), bool)
        for leader in self.replicas:
            rows = np.flatnonzero(self.shrinks[steps] == leader)
            allowed[rows] &= self._drops_those_that_lag(before[parents[rows]], leader, self.removed[steps[rows]])
            if self.has_kraft:
                rows = np.flatnonzero(self.fetches[steps] == leader)
                proposes = (self._request(after[rows], leader) != AlterPartition.NONE) & (
                    self._request(before[parents[rows]], leader) == AlterPartition.NONE
                )
                rows = rows[proposes]
                allowed[rows] &= self._may_propose(before[parents[rows]], leader, steps[rows], stages[rows])
        return allowed

    def _request(self, states: Words, leader: int) -> Numbers:
        return self.cells.column(states, "alter_partition", leader)

    def _drops_those_that_lag(self, states: Words, leader: int, removed: Numbers) -> Truths:
        column = self.cells.column
        end = column(states, "log_end_offset", leader)
        are: Truths = np.ones(len(states), bool)
        for other in self.replicas:
            if other != leader:
                lags = column(states, "remote_log_end_offset", leader, other) != end
                is_member = column(states, "isr", leader, other) == 1
                is_removed = (removed >> other) & 1 == 1
                are &= ~is_member | (lags == is_removed if self.dropped is Dropped.ALL else lags | ~is_removed)
        return are

    def _may_propose(self, states: Words, leader: int, steps: Numbers, stages: Numbers) -> Truths:
        column = self.cells.column
        has_read_all = column(states, "metadata_position", leader) == column(states, "controller_partition_epoch")
        may: Truths = np.ones(len(states), bool)
        for follower in self.replicas:
            is_active = (column(states, "is_fenced", follower) == 0) & (
                column(states, "is_shutting_down", follower) == 0
            )
            knows = has_read_all | ~self.had_fault[follower, stages]
            may &= (self.follower[steps] != follower) | (is_active & knows)
        return may

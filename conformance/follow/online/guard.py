"""Watches for steps that the window cannot show, because they concern what is before it.

In:  states, their monitors, and successors, many at a time.
Out: the successors that the recording allows, without those steps; and whether any were left out, and why.

A state that is left out is a possibility that is not followed. A recording that is followed without it is followed; one
that is rejected without it is undecided.
"""

from __future__ import annotations

import numpy as np

from isrcheck.conformance.follow.observations.monitor import Monitor
from isrcheck.conformance.follow.observations.rules import Permissions, Rules
from isrcheck.conformance.follow.observations.script import Script
from isrcheck.conformance.follow.paths.cells import Cells, Numbers, Truths, Words


class GuardedRules(Rules):
    """The rules of a chunk, and those of the window. `left_out` says what was left out first, or is None."""

    def __init__(self, script: Script, cells: Cells, monitor: Monitor, is_idempotent: bool, *, has_guard: bool) -> None:
        super().__init__(script, cells, monitor, is_idempotent)
        self.has_guard = has_guard
        self.left_out: str | None = None

    def allow(
        self,
        states_before: Words,
        monitors_before: Words,
        after: Words,
        parents: Numbers,
        steps: Numbers,
        permissions: Permissions,
    ) -> Truths:
        """For each of these successors, whether the recording allows it, and the window can show it."""
        allowed = super().allow(states_before, monitors_before, after, parents, steps, permissions)
        if not self.has_guard:
            return allowed
        rows = np.flatnonzero(allowed)
        before, after = states_before[parents[rows]], after[rows]
        for replica, broker in enumerate(self.script.recording.brokers):
            ended, ends = (self.cells.column(states, "log_end_offset", replica) for states in (before, after))
            is_short = ends == 0
            for is_unfit, why in (
                (is_short & (ended > 0), f"broker {broker} may have lost records before the window"),
                ((ended == 0) & ~is_short & self._leads(before, replica), f"broker {broker} may lead with a short log"),
                (is_short & self._is_chosen(before, after, replica), f"broker {broker} may join with a short log"),
            ):
                if is_unfit.any():
                    self.left_out = self.left_out or why
                    allowed[rows[is_unfit]] = False
        return allowed

    def _leads(self, states: Words, replica: int) -> Truths:
        leads: Truths = self.cells.column(states, "leader", replica) == replica
        return leads

    def _is_chosen(self, before: Words, after: Words, replica: int) -> Truths:
        """Whether a broker with a short log becomes the leader of record, or a member of an ISR."""
        column = self.cells.column
        chosen: Truths = column(after, "controller_leader") == replica
        chosen |= column(after, "controller_isr", replica) > column(before, "controller_isr", replica)
        if self.cells.instance.layouts["proposed_isr"].count:
            for leader in range(len(self.script.recording.brokers)):
                place = "proposed_isr", leader, replica
                chosen |= column(after, *place) > column(before, *place)
        return chosen

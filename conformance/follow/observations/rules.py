"""The rules of a recording that depend on the state; script.py holds those that depend only on step and stage.

In:  states, their monitors, and successors, many at a time.
Out: a truth value for each successor.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from isrcheck.conformance.follow.observations.monitor import Monitor
from isrcheck.conformance.follow.observations.requests import Requests
from isrcheck.conformance.follow.observations.script import (
    CANCEL,
    NOBODY,
    Permission,
    Script,
    elections_after_metadata,
)
from isrcheck.conformance.follow.paths.cells import Cells, Numbers, Truths, Words
from isrcheck.models.kafka.state.values import AlterPartition

Permissions = NDArray[np.uint8]


class Rules:
    """The rules of one recording."""

    def __init__(self, script: Script, cells: Cells, monitor: Monitor, is_idempotent: bool) -> None:
        self.script = script
        self.cells = cells
        self.monitor = monitor
        self.is_idempotent = is_idempotent
        self.leader = script.column("leader")
        self.most_epoch = script.column("most_epoch")
        self.may_end_unseen = elections_after_metadata(script.recording) > 0
        self.most_sent = script.column("most_sent")
        self.most_partition_epoch = script.column("most_partition_epoch")
        self.requests = Requests(script, cells)
        self.replicas = range(cells.instance.configuration.replicas)

    def allow(
        self,
        states_before: Words,
        monitors_before: Words,
        after: Words,
        parents: Numbers,
        steps: Numbers,
        permissions: Permissions,
    ) -> Truths:
        """For each of these successors, whether the recording allows it after its predecessor."""
        column = self.cells.column
        stages = self.monitor.passed.read(monitors_before)[parents]
        allowed: Truths = column(after, "next_record") <= self.most_sent[stages]
        allowed &= column(after, "controller_partition_epoch") <= self.most_partition_epoch[stages]
        allowed &= self._are_required(states_before, after, parents, permissions, stages)
        allowed &= self.requests.allow(states_before, after, parents, steps, stages)
        if self.is_idempotent:
            allowed &= self._keeps_order(states_before, parents, steps)
        actors = self.script.actor[steps]
        is_free = (permissions == Permission.FREE) | (permissions == Permission.ELECTION)
        for replica in range(len(self.monitor.seen)):
            # A broker that halts dies, and the recording lists every death.
            was_up = column(states_before, "is_up", replica)[parents]
            allowed &= ~is_free | (column(after, "is_up", replica) == was_up)
            started = np.flatnonzero((permissions == Permission.START) & (actors == replica))
            if len(started):
                origins = parents[started]
                allowed[started] &= self.monitor.may_start_with(
                    monitors_before[origins],
                    replica,
                    self.script.checkpoint[steps[started]],
                    column(states_before, "high_watermark", replica)[origins],
                )
            stops = np.flatnonzero((permissions == Permission.CLEAN_STOP) & (actors == replica))
            if len(stops):
                allowed[stops] &= self._may_stop(states_before[parents[stops]], replica)
        return allowed

    def _are_required(
        self, states_before: Words, after: Words, parents: Numbers, permissions: Permissions, stages: Numbers
    ) -> Truths:
        """For each successor, whether its step is no election, or an election that the recorded leaders require.

        If epochs are recorded, elections happen up to the next recorded epoch, and the last one elects its recorded
        leader, if any. Otherwise there is one election if the next leader differs. After the last recorded leader any
        may be elected, if the controller may have changed something since.
        """
        column = self.cells.column
        leader, required = column(after, "controller_leader"), self.leader[stages]
        are: Truths
        if self.script.recording.has_epochs:
            epoch, most_epoch = column(after, "controller_epoch"), self.most_epoch[stages]
            is_new = epoch > column(states_before, "controller_epoch")[parents]
            is_free = (leader == required) | (required == NOBODY)
            are = ~is_new | (epoch < most_epoch) | ((epoch == most_epoch) & is_free)
        else:
            # A leader is not elected again, so this can happen only once.
            is_unseen = (required == NOBODY) & self.may_end_unseen
            are = (permissions != Permission.ELECTION) | (leader == required) | is_unseen
        return are

    def leave_out(self, states: Words, monitors: Words) -> Truths:
        """For each of these states, whether the controller may reassign the partition here as the model does not
        (models/kafka/actions/kraft.py): while the leader is not active, or so that the members of the ISR
        that stay are not.
        """
        found: Truths = np.zeros(len(states), bool)
        if not self.cells.instance.configuration.reassignments:
            return found

        def flags(name: str, *index: int) -> list[Truths]:
            return [self.cells.column(states, name, *index, replica) == 1 for replica in self.replicas]

        fenced, stopping, isr, adding, removing = map(
            flags, ("is_fenced", "is_shutting_down", "controller_isr", "is_adding", "is_removing")
        )
        leads = [self.cells.column(states, "controller_leader") == replica for replica in self.replicas]
        active = [~(is_fenced | is_stopping) for is_fenced, is_stopping in zip(fenced, stopping, strict=True)]

        def ends(stays: list[Truths], members: list[Truths]) -> Truths:
            """Whether the leader leaves, and the members that stay, at least one, are not active."""
            staying = [a & b for a, b in zip(members, stays, strict=True)]
            is_led = _any(leads, stays) | ~np.logical_or.reduce(leads)
            truths: Truths = ~is_led & np.logical_or.reduce(staying) & ~_any(staying, active)
            return truths

        everyone = np.ones(len(states), bool)
        stages = self.monitor.passed.read(monitors)
        for target in {one for stage in self.script.stages for one in stage.reassigning}:
            is_open = np.array([*(target in stage.reassigning for stage in self.script.stages), False])[stages]
            stays = [everyone & bool(target >> replica & 1) for replica in self.replicas]
            stays = [~one for one in adding] if target == CANCEL else stays
            found |= is_open & (ends(stays, isr) | (~_any(leads, active) & np.logical_or.reduce(leads)))
        for leader in self.replicas:
            is_requested = self.cells.column(states, "alter_partition", leader) == AlterPartition.REQUESTED
            requested = flags("requested_isr", leader)
            found |= is_requested & leads[leader] & ends([~one for one in removing], requested)
        return found

    def _keeps_order(self, states_before: Words, parents: Numbers, steps: Numbers) -> Truths:
        """For each step, whether it is no retry of an idempotent producer, or the log holds only earlier records."""
        keeps: Truths = np.ones(len(steps), bool)
        again = np.flatnonzero(self.script.sent_again[steps] != NOBODY)
        for replica in range(len(self.monitor.seen)):
            rows = again[self.script.actor[steps[again]] == replica]
            states, records = states_before[parents[rows]], self.script.sent_again[steps[rows]]
            for offset in range(self.cells.instance.configuration.log_size):
                keeps[rows] &= self.cells.column(states, "log_record", replica, offset) < records
        return keeps

    def _may_stop(self, states: Words, replica: int) -> Truths:
        """Whether a broker may shut down: it does not lead, or no other broker can take over its leadership."""
        column = self.cells.column
        has_heir: Truths = np.zeros(len(states), bool)
        for other in range(len(self.monitor.seen)):
            if other != replica:
                has_heir |= (column(states, "controller_isr", other) == 1) & (column(states, "is_up", other) == 1)
        may: Truths = (column(states, "controller_leader") != replica) | ~has_heir
        return may


def _any(these: list[Truths], those: list[Truths]) -> Truths:
    """Whether a replica has both properties, each given as a column for each replica."""
    truths: Truths = np.logical_or.reduce([a & b for a, b in zip(these, those, strict=True)])
    return truths

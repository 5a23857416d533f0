"""The rules by which a recording allows a step, as far as the rules depend on the state; script.py has the other rules.

`Rules`: whether the recording allows a successor. `Requests`: whether a leader sends, and the controller decides on,
only recorded requests to change the ISR, if the recording has all of them (header `all_requests`). `InTime`: whether a
step that the model allows can keep to time, which means that a cluster with clocks can take it, too.

The proxy sees a request before the controller does. The rules here ignore that a leader may have prepared a request
without sending it; so does script.py for requests that make the ISR smaller.

For `InTime`: a leader drops the followers that have not caught up for long, and keeps a follower that is at the
leader's log end. So the leader drops every lagging follower and no other follower, or only some lagging followers, if
the rest began to lag later, which the states do not show. With KRaft, the leader proposes a follower for the ISR if it
has read in the metadata that the follower is active; if the recording has a fault of that follower, the leader must
have read all metadata. The replay (conformance/replay) finally says whether the cluster can take a path.
"""

from __future__ import annotations

import enum

import numpy as np
from numpy.typing import NDArray

from isrcheck.conformance.follow.recorded.lines import AlterRequest, Fault
from isrcheck.conformance.follow.recorded.states import (
    Cells,
    Numbers,
    Truths,
    Words,
    alters_partitions,
    has_kraft,
)
from isrcheck.conformance.follow.search.monitor import Monitor
from isrcheck.conformance.follow.search.script import (
    CANCEL,
    NOBODY,
    SHRINK,
    Permission,
    Script,
    elections_after_metadata,
)
from isrcheck.models.kafka.state.values import AlterPartition

DECIDES = ("controller_handles_alter_partition", "controller_completes_reassignment")
NO_REQUEST = 0
"""The number for "no request"; the requests of the recording have the numbers 1, 2, ..."""


class Requests:
    """The rule that only recorded requests to change the ISR occur. The lines of these requests are numbered from 1."""

    def __init__(self, script: Script, cells: Cells) -> None:
        self.cells = cells
        self.replicas = range(cells.instance.configuration.replicas)
        recording = script.recording
        self.is_complete = recording.header.has_all_requests and alters_partitions(script.instance)
        lines = list(recording.claims(AlterRequest))
        places = [(at, recording.replica(line.leader)) for at, line in lines] if self.is_complete else []
        empty = np.zeros(cells.layout.words, np.uint64)
        self.requests = np.array([empty, *(cells.pattern(line.cells(recording))[1] for _, line in lines if places)])
        count, leaders = len(self.replicas), self.replicas if places else ()
        self.masks = [cells.pattern(dict.fromkeys(AlterRequest.variables(leader, count)))[0] for leader in leaders]
        stages = range(len(script.stages) + 1)
        self.next: NDArray[np.int64] = np.full((len(self.replicas), len(stages)), NO_REQUEST, np.int64)
        self.last = self.next.copy()
        for number, (at, leader) in reversed(list(enumerate(places, 1))):
            self.next[leader, : at + 1] = number
        for number, (at, leader) in enumerate(places, 1):
            self.last[leader, at + 1 :] = number
        self.decides: NDArray[np.int64] = np.full(len(script.actor), NOBODY, np.int64)
        for step in script.instance.steps:
            if step.action in DECIDES:
                self.decides[step.number] = step.ordinals[0]

    def allow(self, before: Words, after: Words, parents: Numbers, steps: Numbers, stages: Numbers) -> Truths:
        """Whether each successor keeps to the recorded requests: a request that its step sends is the leader's next
        one, and a request that its step decides on is the leader's last one before the next line."""
        allowed: Truths = np.ones(len(after), bool)
        for leader, mask in enumerate(self.masks):
            words = np.flatnonzero(mask)
            was, now = before[:, words] & mask[words], after[:, words] & mask[words]
            is_sent = self.cells.column(after, "alter_partition", leader) == AlterPartition.REQUESTED
            sent = np.flatnonzero(is_sent & (now != was[parents]).any(axis=1))
            allowed[sent] &= self._is(now[sent], self.next[leader, stages[sent]], words)
            decided = np.flatnonzero(self.decides[steps] == leader)
            allowed[decided] &= self._is(was[parents[decided]], self.last[leader, stages[decided]], words)
        return allowed

    def _is(self, requests: Words, numbers: Numbers, words: Numbers) -> Truths:
        """For each of these requests, whether it equals the recorded request with the number at its place in `numbers`.
        A request consists of the words of a state at the indices `words`."""
        truths: Truths = (numbers != NO_REQUEST) & (requests == self.requests[numbers][:, words]).all(axis=1)
        return truths


FETCHES = "leader_handles_fetch"


class Dropped(enum.Enum):
    """Which lagging followers a leader drops from the ISR in one step; an `InTime` allows only one of these ways."""

    ALL = "all that lag"
    SOME = "some that lag"


class InTime:
    """The rule that says which steps can keep to time: a cluster with clocks can take these steps, too."""

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
            if step.action == SHRINK:
                self.shrinks[step.number], self.removed[step.number] = step.ordinals
            elif step.action == FETCHES:
                self.fetches[step.number], self.follower[step.number] = step.ordinals
        self.had_fault = np.zeros((len(self.replicas), len(script.stages) + 1), bool)
        for at, line in script.recording.claims(Fault):
            self.had_fault[script.recording.replica(line.broker), at + 1 :] = True

    def allow(self, before: Words, after: Words, parents: Numbers, steps: Numbers, stages: Numbers) -> Truths:
        """For each of these successors, whether its step can keep to time."""
        allowed: Truths = np.ones(len(after), bool)
        for leader in self.replicas:
            rows = np.flatnonzero(self.shrinks[steps] == leader)
            allowed[rows] &= self._drops_those_that_lag(before[parents[rows]], leader, self.removed[steps[rows]])
            if self.has_kraft:
                rows = np.flatnonzero(self.fetches[steps] == leader)
                was, now = (self._request(states, leader) for states in (before[parents[rows]], after[rows]))
                rows = rows[(was == AlterPartition.NONE) & (now != AlterPartition.NONE)]
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
            is_active = (column(states, "is_fenced", follower) | column(states, "is_shutting_down", follower)) == 0
            knows = has_read_all | ~self.had_fault[follower, stages]
            may &= (self.follower[steps] != follower) | (is_active & knows)
        return may


Permissions = NDArray[np.uint8]


class Rules:
    """The rules that say which steps one recording allows in a state."""

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
        self, before: Words, monitors: Words, after: Words, parents: Numbers, steps: Numbers, permissions: Permissions
    ) -> Truths:
        """For each of these successors, whether the recording allows it after its predecessor."""
        column = self.cells.column
        stages = self.monitor.passed.read(monitors)[parents]
        allowed: Truths = column(after, "next_record") <= self.most_sent[stages]
        allowed &= column(after, "controller_partition_epoch") <= self.most_partition_epoch[stages]
        allowed &= self._are_required(before, after, parents, permissions, stages)
        allowed &= self.requests.allow(before, after, parents, steps, stages)
        if self.is_idempotent:
            allowed &= self._keeps_order(before, parents, steps)
        actors = self.script.actor[steps]
        is_free = (permissions == Permission.FREE) | (permissions == Permission.ELECTION)
        for replica in range(len(self.monitor.sighted)):
            # A broker that halts dies, and the recording lists every death.
            was_up = column(before, "is_up", replica)[parents]
            allowed &= ~is_free | (column(after, "is_up", replica) == was_up)
            started = np.flatnonzero((permissions == Permission.START) & (actors == replica))
            if len(started):
                origins = parents[started]
                allowed[started] &= self.monitor.may_start_with(
                    monitors[origins],
                    replica,
                    self.script.checkpoint[steps[started]],
                    column(before, "high_watermark", replica)[origins],
                )
            stops = np.flatnonzero((permissions == Permission.CLEAN_STOP) & (actors == replica))
            if len(stops):
                allowed[stops] &= self._may_stop(before[parents[stops]], replica)
        return allowed

    def _are_required(
        self, before: Words, after: Words, parents: Numbers, permissions: Permissions, stages: Numbers
    ) -> Truths:
        """For each successor, whether its step is not an election, or an election that the recorded leaders require.

        If epochs are recorded, elections happen up to the next recorded epoch, and the last of them elects the recorded
        leader of that epoch, if any. Otherwise there is one election if the next recorded leader is not the present
        one. After the last recorded leader, any broker may be elected, if leader or ISR may have changed since.
        """
        column = self.cells.column
        leader, required = column(after, "controller_leader"), self.leader[stages]
        are: Truths
        if self.script.recording.has_epochs:
            epoch, most_epoch = column(after, "controller_epoch"), self.most_epoch[stages]
            is_new = epoch > column(before, "controller_epoch")[parents]
            is_free = (leader == required) | (required == NOBODY)
            are = ~is_new | (epoch < most_epoch) | ((epoch == most_epoch) & is_free)
        else:
            # A leader is not elected again, so this can happen only once.
            is_unseen = (required == NOBODY) & self.may_end_unseen
            are = (permissions != Permission.ELECTION) | (leader == required) | is_unseen
        return are

    def leave_out(self, states: Words, monitors: Words) -> Truths:
        """For each of these states, whether the controller may reassign the partition in a way that the model excludes
        (models/kafka/actions/kraft.py): while the leader is not active, or although no active member of the ISR stays.
        """
        left_out: Truths = np.zeros(len(states), bool)
        if not self.cells.instance.configuration.reassignments:
            return left_out

        def flags(name: str, *index: int) -> list[Truths]:
            return [self.cells.column(states, name, *index, replica) == 1 for replica in self.replicas]

        fenced, stopping, isr, adding, removing = map(
            flags, ("is_fenced", "is_shutting_down", "controller_isr", "is_adding", "is_removing")
        )
        leads = [self.cells.column(states, "controller_leader") == replica for replica in self.replicas]
        active = [~(is_fenced | is_stopping) for is_fenced, is_stopping in zip(fenced, stopping, strict=True)]

        def ends(stays: list[Truths], members: list[Truths]) -> Truths:
            """For each state, whether the leader does not stay, and some `members` stay, but no active member."""
            staying = [a & b for a, b in zip(members, stays, strict=True)]
            is_led = _any(leads, stays) | ~np.logical_or.reduce(leads)
            truths: Truths = ~is_led & np.logical_or.reduce(staying) & ~_any(staying, active)
            return truths

        everyone = np.ones(len(states), bool)
        stages = self.monitor.passed.read(monitors)
        for target in {target for stage in self.script.stages for target in stage.reassigning}:
            is_open = np.array([*(target in stage.reassigning for stage in self.script.stages), False])[stages]
            stays = [everyone & bool(target >> replica & 1) for replica in self.replicas]
            stays = [~flag for flag in adding] if target == CANCEL else stays
            left_out |= is_open & (ends(stays, isr) | (~_any(leads, active) & np.logical_or.reduce(leads)))
        for leader in self.replicas:
            is_requested = self.cells.column(states, "alter_partition", leader) == AlterPartition.REQUESTED
            requested = flags("requested_isr", leader)
            left_out |= is_requested & leads[leader] & ends([~flag for flag in removing], requested)
        return left_out

    def _keeps_order(self, states_before: Words, parents: Numbers, steps: Numbers) -> Truths:
        """For each step, whether it keeps records in order: if an idempotent producer sends a record again, the log of
        the receiving broker must hold only records before that record."""
        keeps: Truths = np.ones(len(steps), bool)
        again = np.flatnonzero(self.script.sent_again[steps] != NOBODY)
        for replica in range(len(self.monitor.sighted)):
            rows = again[self.script.actor[steps[again]] == replica]
            states, records = states_before[parents[rows]], self.script.sent_again[steps[rows]]
            for offset in range(self.cells.instance.configuration.log_size):
                keeps[rows] &= self.cells.column(states, "log_record", replica, offset) < records
        return keeps

    def _may_stop(self, states: Words, replica: int) -> Truths:
        """For each state, whether a broker may shut down: it does not lead, or no other broker can become leader."""
        column = self.cells.column
        has_heir: Truths = np.zeros(len(states), bool)
        for other in range(len(self.monitor.sighted)):
            if other != replica:
                has_heir |= (column(states, "controller_isr", other) == 1) & (column(states, "is_up", other) == 1)
        may: Truths = (column(states, "controller_leader") != replica) | ~has_heir
        return may


def _any(first: list[Truths], second: list[Truths]) -> Truths:
    """For each state, whether some replica has both properties; each property is a list of columns, one per replica."""
    truths: Truths = np.logical_or.reduce([a & b for a, b in zip(first, second, strict=True)])
    return truths

"""Reduces the states of a search by what later lines imply: clears cells that are no longer read, and finds states from
which no path passes all lines, because a later line contradicts a value that can no longer change.

A cell is one value of a state: a variable with its indices. `Unread` gives unread cells one value, so that states that
differ only in these cells become one state; `Foreseen` finds the contradicted states.

No line shows the messages in flight from a partitioned leader to brokers that meanwhile follow another leader, nor the
high watermark of a broker from which nobody will read again. Each such cell has a handful of values, and a search goes
through all their combinations. With KRaft, this module knows three kinds of dead cells, which nothing reads again:

1. *The fetch of a follower at a leader that it will never follow again*, with its response. To send a fetch, to serve
   it and to apply its response, the follower has to follow this leader; the leader's answer to a parked fetch, and the
   loss of a response, change only the same cells.
2. *The request for an ISR of a broker that will never lead again.* The controller refuses the request, because the
   sender is not the leader of record (the leader in the controller's state); and the sender ignores the answer, because
   only leaders hear answers. All of this changes only the same cells.
3. *The high watermark of a broker that will never lead again, and those in its responses*, if no later line shows a
   checkpoint or high watermark of this broker, or starts it. A follower only copies the high watermark from responses
   and keeps it within its log. (Where a follower truncates a log without epochs to its high watermark, the log is
   empty.)

A broker will never follow a leader again if it does not follow that leader now, that leader is not the leader of
record, no announcement that the broker has yet to apply names that leader, and no election that the script allows from
here on elects that leader. Once all these conditions are true, each stays true, so a dead cell stays dead.

No behaviour is lost or added. States that differ only in dead cells form a class, and the same lines are true in them.
A step that changes only dead cells leads to a state of the same class. Each other step is possible in all states of a
class or in none, and leads from all of them to one class. So the classes are a bisimulation up to steps without effect.
A step that a search takes from a state whose cells are cleared can be taken from every state of the class, so the steps
of a path are those of a path of the model itself, which `from_steps` takes again without this module. A search clears
nothing if it judges promises in every state (promises may read dead cells) or does not know all later lines (online/).

A record is acknowledged once. If it was acknowledged at another offset than a later line shows, the monitor remembers
this (monitor.py), and no path passes that line.

Since 2.8 every change of leader, leader epoch or ISR at the controller begins a new partition epoch, and partition
epochs never fall. So each partition epoch has one leader, leader epoch and ISR. If a state has the partition epoch of a
later metadata line, but another leader, leader epoch or ISR, it can never pass that line. A search sets such states
aside until no other state is left. Then no path explains the recording; the states set aside only help to find the
first line that no path passes.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from isrcheck.conformance.follow.recorded.lines import Acked, AlterRequest, Line, Metadata
from isrcheck.conformance.follow.recorded.states import Cells, Numbers, Truths, Variable, Words, alters_partitions
from isrcheck.conformance.follow.search.monitor import Monitor
from isrcheck.conformance.follow.search.script import NOBODY, Script
from isrcheck.models.language.declarations import NONE

FETCH = {
    **dict.fromkeys(("fetch", "fetch_offset", "response_high_watermark", "response_log_start_offset"), 0),
    **dict.fromkeys(("diverging_epoch", "diverging_end_offset"), 0),
    **dict.fromkeys(("response_record", "response_epoch"), NONE),
}
"""The fields of a fetch and its response, indexed by follower and leader, with their values without a fetch."""

REQUEST = ("alter_partition", "requested_leader_epoch", "requested_partition_epoch")
REQUEST_MEMBERS = ("requested_isr", "requested_broker_epoch")
"""The fields of a request for an ISR; the latter also have a member as an index. Without a request, all are 0."""

Pattern = tuple[Words, Words]
"""The bits to keep, and the bits to set."""


class Unread:
    """Gives each dead cell, which nothing reads again, the same value in all states (KRaft only)."""

    def __init__(self, script: Script, cells: Cells) -> None:
        self.cells = cells
        configuration = cells.instance.configuration
        self.replicas = range(configuration.replicas)
        self.announcements = range(configuration.partition_changes + 1)
        self.may_be_elected = _elections(script, configuration.elections + 1, len(self.replicas))
        self.has_request = _shown_later(
            script, len(self.replicas), lambda line: line.leader if isinstance(line, AlterRequest) else None
        )
        self.has_high_watermark = _shown_later(script, len(self.replicas), lambda line: line.high_watermark_of)
        self.fetches = {
            (follower, leader): self._pattern(self._fetch(follower, leader))
            for follower in self.replicas
            for leader in self.replicas
        }
        self.requests = [self._pattern(self._request(leader)) for leader in self.replicas]
        self.high_watermarks = [self._pattern(self._high_watermark(replica)) for replica in self.replicas]

    def clear(self, states: Words, stages: Numbers) -> None:
        """Clear the dead cells of these states, in place; `stages` are the numbers of lines that they have passed."""
        if not len(states):
            return
        column = self.cells.column
        record, epochs = column(states, "controller_leader"), column(states, "controller_epoch")
        named = [column(states, "metadata_leader", position_in_log) for position_in_log in self.announcements]
        elected = self.may_be_elected[stages, epochs]
        for broker in self.replicas:
            leader, position = column(states, "leader", broker), column(states, "metadata_position", broker)
            for other in self.replicas:
                may_follow: Truths = (leader == other) | (record == other) | elected[:, other]
                for position_in_log in self.announcements:
                    may_follow |= (named[position_in_log] == other) & (position < position_in_log)
                if other != broker:
                    _set(states, ~may_follow, self.fetches[broker, other])
                    continue
                _set(states, ~may_follow & ~self.has_request[stages, broker], self.requests[broker])
                _set(states, ~may_follow & ~self.has_high_watermark[stages, broker], self.high_watermarks[broker])

    def _pattern(self, values: dict[Variable, int]) -> Pattern:
        mask, words = self.cells.pattern(values)
        return ~mask, words

    def _fetch(self, follower: int, leader: int) -> dict[Variable, int]:
        offsets = range(self.cells.instance.configuration.log_size)
        records = [name for name, value in FETCH.items() if value == NONE]
        return {
            **{(name, follower, leader): value for name, value in FETCH.items() if value != NONE},
            **{(name, follower, leader, offset): NONE for name in records for offset in offsets},
        }

    def _request(self, leader: int) -> dict[Variable, int]:
        return {
            **{(name, leader): 0 for name in REQUEST},
            **{(name, leader, member): 0 for name in REQUEST_MEMBERS for member in self.replicas},
        }

    def _high_watermark(self, replica: int) -> dict[Variable, int]:
        answers: dict[Variable, int] = {("response_high_watermark", replica, leader): 0 for leader in self.replicas}
        return {("high_watermark", replica): 0, **answers}


def _set(states: Words, rows: Truths, pattern: Pattern) -> None:
    kept, words = pattern
    states[rows] = states[rows] & kept | words


def _elections(script: Script, epochs: int, replicas: int) -> NDArray[np.bool_]:
    """A table by number of passed lines, leader epoch of the state, and replica: whether a later election may elect the
    replica. As in rules.py, this may be any replica in an epoch that is skipped, or whose leader no line names."""
    may_be_elected = np.zeros((len(script.stages) + 1, epochs, replicas), bool)
    if not script.recording.has_epochs:
        may_be_elected[:] = True
        return may_be_elected
    for position, stage in reversed(list(enumerate(script.stages))):
        may_be_elected[position] = may_be_elected[position + 1]
        may_be_elected[position, : max(0, stage.most_epoch - 1)] = True
        if stage.leader == NOBODY:
            may_be_elected[position, : stage.most_epoch] = True
        else:
            may_be_elected[position, : stage.most_epoch, stage.leader] = True
    return may_be_elected


def _shown_later(script: Script, replicas: int, broker_of: Callable[[Line], int | None]) -> NDArray[np.bool_]:
    """A table: for each number of passed lines and each replica, whether `broker_of` names it for some later line."""
    is_shown = np.zeros((len(script.stages) + 1, replicas), bool)
    for position, stage in enumerate(script.stages):
        broker = broker_of(stage.line)
        if broker is not None:
            is_shown[: position + 1, script.recording.replica(broker)] = True
    return is_shown


ANY = -2
"""The value of a record that no line shows; -1 is no leader."""


class Foreseen:
    """The leader, leader epoch and ISR that later lines show for partition epochs.

    `records[passed, partition_epoch]` is a row of values that lines after the first `passed` lines show: the leader,
    the leader epoch, and for each replica whether the replica is in the ISR; ANY for a value that no line shows.
    """

    def __init__(self, script: Script, cells: Cells, monitor: Monitor) -> None:
        self.cells = cells
        self.monitor = monitor
        self.acknowledgements = {
            script.recording.record(line.value): position
            for position, line in script.recording.claims(Acked)
            if line.offset is not None
        }
        self.has_partition_epochs = alters_partitions(script.instance)
        configuration = cells.instance.configuration
        self.replicas = range(configuration.replicas)
        stages, epochs = len(script.stages) + 1, configuration.partition_changes + 1
        self.records: NDArray[np.int64] = np.full((stages, epochs, 2 + len(self.replicas)), ANY, np.int64)
        recording, newest = script.recording, 0
        for position, line in recording.claims(Metadata):
            if line.is_before(newest + recording.first_epoch):
                continue
            if line.leader_epoch is not None:
                newest = line.leader_epoch - recording.first_epoch
            if line.partition_epoch is None or line.partition_epoch >= epochs:
                continue
            of_line = self.records[: position + 1, line.partition_epoch]
            of_line[of_line[:, 2] == ANY] = [
                ANY if line.leader is None else recording.replica(line.leader),
                ANY if line.leader is None or line.leader_epoch is None else newest,
                *(int(broker in line.isr) for broker in recording.brokers),
            ]

    def contradicts(self, states: Words, monitors: Words) -> Truths:
        """For each of these states, whether one of the lines that are not passed yet contradicts the state."""
        stages = self.monitor.passed.read(monitors)
        truths: Truths = np.zeros(len(states), bool)
        for record, position in self.acknowledgements.items():
            truths |= (stages <= position) & (self.monitor.elsewhere[record].read(monitors) == 1)
        return truths | self._in_record(states, stages) if self.has_partition_epochs else truths

    def _in_record(self, states: Words, stages: Numbers) -> Truths:
        """For each state, whether a later line shows a different leader, leader epoch or ISR in its partition epoch."""
        truths: Truths = np.zeros(len(states), bool)
        column = self.cells.column
        records = self.records[stages, column(states, "controller_partition_epoch")]
        columns = [column(states, "controller_leader"), column(states, "controller_epoch")]
        columns += [column(states, "controller_isr", replica) for replica in self.replicas]
        for shown, actual in zip(records.T, columns, strict=True):
            truths |= (shown != ANY) & (shown != actual)
        return truths

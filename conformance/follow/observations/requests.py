"""The requests of leaders to change the ISR, where the recording has all of them (header `all_requests`).

In:  a script, and states with their successors, many at a time.
Out: a truth value for each successor: a leader sends no request but the one in its next line, and the controller
     decides on no request before its line.

The proxy sees a request before the controller does. A request that a leader has prepared but not sent is left out, as
it is for requests that make the ISR smaller (script.py).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from isrcheck.conformance.follow.observations.script import NOBODY, Script, alters_partitions
from isrcheck.conformance.follow.paths.cells import Cells, Numbers, Truths, Variable, Words
from isrcheck.conformance.follow.recorded.lines import AlterRequest
from isrcheck.conformance.follow.recorded.recording import Recording
from isrcheck.models.kafka.state.values import AlterPartition

DECIDES = ("controller_handles_alter_partition", "controller_completes_reassignment")
NO_REQUEST = 0
"""The number of no request; the requests of the recording have the numbers 1, 2, ..."""


class Requests:
    """The requests of one recording, numbered in the order of their lines."""

    def __init__(self, script: Script, cells: Cells) -> None:
        self.cells = cells
        self.replicas = range(cells.instance.configuration.replicas)
        recording = script.recording
        self.is_complete = recording.has_all_requests and alters_partitions(script.instance)
        found = list(recording.claims(AlterRequest))
        places = [(at, recording.replica(line.leader)) for at, line in found] if self.is_complete else []
        empty = np.zeros(cells.layout.words, np.uint64)
        self.requests = np.array([empty, *(cells.pattern(_cells(recording, line))[1] for _, line in found if places)])
        self.masks = [cells.mask(request_variables(leader, self.replicas)) for leader in self.replicas if places]
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
        """For each of these successors, whether the step sends, and the controller decides on, a recorded request."""
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

    def _is(self, found: Words, numbers: Numbers, words: Numbers) -> Truths:
        """For each of these requests, whether it is the one with this number."""
        truths: Truths = (numbers != NO_REQUEST) & (found == self.requests[numbers][:, words]).all(axis=1)
        return truths


def request_variables(leader: int, replicas: range) -> list[Variable]:
    """The variables that hold a leader's request."""
    return [
        ("alter_partition", leader),
        ("requested_leader_epoch", leader),
        ("requested_partition_epoch", leader),
        *(("requested_isr", leader, replica) for replica in replicas),
    ]


def request_values(recording: Recording, line: AlterRequest) -> list[int]:
    """The values of these variables while the request of this line is on its way."""
    return [
        *(AlterPartition.REQUESTED, line.leader_epoch - recording.first_epoch, line.partition_epoch),
        *(int(broker in line.isr) for broker in recording.brokers),
    ]


def _cells(recording: Recording, line: AlterRequest) -> dict[Variable, int]:
    variables = request_variables(recording.replica(line.leader), range(len(recording.brokers)))
    return dict(zip(variables, request_values(recording, line), strict=True))

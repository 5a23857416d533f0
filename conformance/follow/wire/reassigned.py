"""Reassignments in the traffic: the requests of operators, their answers, and changes that no request shows.

In:  AlterPartitionReassignments requests and responses, in order; and the survey of the whole recording.
Out: an observation for each request, from which on the controller may take it, and for each answer.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from isrcheck.conformance.follow.recorded.reading import REASSIGN
from isrcheck.conformance.follow.wire.first_pass.survey import Survey, asked_in
from isrcheck.conformance.follow.wire.lines.messages import Message
from isrcheck.conformance.follow.wire.sessions import NO_ERROR, Pending

API = "AlterPartitionReassignments"

UNCERTAIN = ("request_timed_out", "network_exception", "not_controller")
"""Errors after which the controller may have taken the request, or may take it later."""

UNKNOWN = "a reassignment of replicas that no line shows before"
REORDERED = "a change of the order of the replicas"

Observation = dict[str, Any]


class Reassignments:
    """The requests without an answer yet."""

    def __init__(self, survey: Survey) -> None:
        self.survey = survey
        self._unasked = survey.assignments.unasked()
        self._reordered = set(survey.assignments.reordered())
        self._pending = Pending()

    def before(self, line: Message) -> Iterator[Observation]:
        """What happens from this line on without a request, and what the model leaves out."""
        if line.number in self._reordered:
            yield unmodelled(REORDERED, line.api)
        for target in self._unasked.get(line.number, ()):
            replicas = None if target is None else list(target)
            yield {"kind": "fault", "what": REASSIGN, "replicas": replicas, "unseen": True}

    def asks(self, line: Message) -> Iterator[Observation]:
        """An operator asks for other replicas, or cancels a reassignment."""
        for partition in self.survey.partitions(line.body, "topics", "partitions"):
            target = asked_in(partition)
            if not self.survey.assignments.first:
                yield unmodelled(UNKNOWN, API)
            elif target != ():  # which the controller refuses
                replicas = None if target is None else list(target)
                self._pending.put(line, {"replicas": replicas})
                yield {"kind": "fault", "what": REASSIGN, "replicas": replicas}

    def answers(self, line: Message) -> Iterator[Observation]:
        """The controller has taken the request, or has refused it."""
        keys: Observation | None = self._pending.pop(line)
        if keys is None:
            return
        for partition in self.survey.partitions(line.body, "responses", "partitions"):
            errors = [said.get("error_code", NO_ERROR) for said in (line.body, partition)]
            error = next((one for one in errors if one != NO_ERROR), None)
            if error not in UNCERTAIN:
                yield {"kind": "reassigned", **keys, **({} if error is None else {"refused": True})}


def unmodelled(why: str, what: str) -> Observation:
    """The remark that something happens which no path of the model has."""
    return {"kind": "note", "what": what, "unmodelled": why}

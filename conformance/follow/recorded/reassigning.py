"""Requests of an operator to reassign the partition: from where to where the controller may take each of them.

In:  the lines of a recording.
Out: the requests, each with the positions between which it may be taken; and for each answer the request that the
     state has to show there.

A request may be taken from its line on, up to its answer, which names the same replicas. One that is refused is never
taken; one without an answer may be taken at any later time.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from isrcheck.conformance.follow.recorded.lines import Line, Reassigned, Reassignment

Target = frozenset[int] | None
"""The replicas that are asked for; None: the reassignment is cancelled."""


@dataclass
class Asked:
    """A request: the positions of its line and of its answer (None: there is none), and whether it is refused."""

    target: Target
    since: int
    until: int | None = None
    is_refused: bool = False

    def is_open(self, position: int) -> bool:
        """Whether the controller may take it before the line at this position."""
        return not self.is_refused and self.since < position and (self.until is None or position <= self.until)


def requests_in(lines: Sequence[Line]) -> list[Asked]:
    """The requests of a recording. An answer is that to the earliest request for its replicas which has none."""
    found: list[Asked] = []
    for position, line in enumerate(lines):
        if isinstance(line, Reassignment):
            found.append(Asked(line.replicas, position))
        elif isinstance(line, Reassigned):
            asked = next((one for one in found if one.until is None and one.target == line.replicas), None)
            if asked is not None:
                asked.until, asked.is_refused = position, line.is_refused
    return found


def shown_by(requests: Iterable[Asked], position: int) -> Asked | None:
    """The request whose effect the state shows at the answer at this position; None: it is refused, or another request
    that may have been taken after it changes what the state shows."""
    requests = list(requests)
    answered = next((one for one in requests if one.until == position and not one.is_refused), None)
    others = [one for one in requests if one is not answered and not one.is_refused]
    if answered is None or any(
        one.since < position and (one.until is None or one.until > answered.since) for one in others
    ):
        return None
    return answered

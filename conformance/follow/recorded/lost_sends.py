"""Records that only a `send` line shows: nobody knows whether they have reached a leader.

In:  a recording.
Out: the same recording, once for each way in which these records can have arrived: one that has not is left out.

A leader that has taken such a record had it in its log at least for a time, and other records came after it. So each
way is followed by itself; what none of them explains is rejected. The records of one request arrive together.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import combinations

from isrcheck.conformance.follow.recorded.lines import Sent
from isrcheck.conformance.follow.recorded.recording import Recording
from isrcheck.conformance.follow.recorded.repeated import named_by

MOST_REQUESTS = 4
"""The most requests of unknown fate for which all ways are tried; there are two for each."""

Request = tuple[Sent, ...]


def unknown_requests(recording: Recording) -> list[Request]:
    """The requests whose records no line shows after they were sent."""
    shown = {value for line in recording.lines if not isinstance(line, Sent) for value in named_by(line)}
    found: list[list[Sent]] = []
    before = None
    for line in recording.lines:
        is_unknown = isinstance(line, Sent) and line.value not in shown
        if isinstance(line, Sent) and is_unknown:
            if before is not None and before.number == line.number:
                found[-1].append(line)
            else:
                found.append([line])
        before = line if is_unknown else None
    return [tuple(lines) for lines in found]


def ways(recording: Recording, requests: Sequence[Request]) -> Iterator[Recording]:
    """The recording without some of these requests: first without all of them, then with all, then with some."""
    every = range(len(requests))
    yield _without(recording, requests)
    if requests:
        yield recording
    for arrived in range(1, len(requests)):
        for lost in combinations(every, len(requests) - arrived):
            yield _without(recording, [requests[at] for at in lost])


def _without(recording: Recording, requests: Sequence[Request]) -> Recording:
    lost = tuple(line for request in requests for line in request)
    values = {line.value for line in lost}
    return replace(
        recording,
        lines=tuple(line for line in recording.lines if line not in lost),
        values=tuple(value for value in recording.values if value not in values),
        lost=lost,
    )

"""The lines of a recording as a stream that can be read again, and whether they are too many for a history.

In:  the path of a recording of observations, or of a wire recording.
Out: its objects, from the first one on at every call.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import islice
from pathlib import Path

from isrcheck.conformance.follow.format.ndjson import lines_of, objects_of
from isrcheck.conformance.follow.recorded.recording import Objects
from isrcheck.conformance.follow.wire.convert import observations_of
from isrcheck.conformance.follow.wire.lines.messages import is_wire

LONG = 1_000
"""A recording with so many observations is followed online, unless a history is asked for."""

Stream = Callable[[], Objects]


def stream_of(path: Path) -> Stream:
    """The objects of the lines of a recording, each with the number of its line. Reading raises UsageError."""
    if is_wire(path):
        return lambda: observations_of(path, is_online=True)
    return lambda: objects_of(path)


def is_long(path: Path, stream: Stream) -> bool:
    """Whether a recording has LONG observations. Raises UsageError."""
    if not _has(LONG, lines_of(path)):  # without decoding them: one line shows one observation, or two
        return False
    return _has(LONG, stream())


def _has(count: int, found: Iterable[object]) -> bool:
    return next(islice(found, count - 1, None), None) is not None

"""The window that moves along a recording: what it keeps of the part before it, and lines in its terms."""

from __future__ import annotations

import pytest

from isrcheck.conformance.follow.online.chunk import Past
from isrcheck.conformance.follow.recorded.lines import (
    Acked,
    AlterRequest,
    Disk,
    HighWatermark,
    Line,
    LogEnd,
    Metadata,
    Read,
)
from isrcheck.conformance.follow.recorded.window import FalseLine, Move, Short, UnfitLine, Window

BROKERS = (1, 2, 3)


@pytest.fixture
def window() -> Window:
    """A window behind the records a, b and c; broker 3 has only a. The epoch of c is 5, and 4 is counted as 0."""
    found = Window(BROKERS, 3, 10, 11)
    found.values = ["a", "b", "c", "d"]
    found.move(Move(2, 2, 1, 7, (0, 1, 2), (0, 0, 2), {2: Short(1, 1)}, {}, (True, True, None)))
    return found


def disk(broker: int, log: str, epochs: tuple[int, ...] | None = None) -> Disk:
    return Disk(1, 1, broker, tuple(log), epochs, None, None)


def test_the_window_begins_with_the_last_settled_record(window) -> None:
    assert (window.offset, window.epoch, window.partition_epoch, window.values) == (2, 4, 7, ["c", "d"])
    metadata = Metadata(1, 1, 1, frozenset(BROKERS), 5, 9, None, frozenset(), None).in_window(window)
    assert isinstance(metadata, Metadata)
    assert (metadata.leader_epoch, metadata.partition_epoch) == (5, 2)


def test_a_request_from_before_it_counts_as_the_first_ones_do(window) -> None:
    past = Past(
        requests={1: AlterRequest(1, 1, 1, frozenset(BROKERS), 3, 2), 2: AlterRequest(1, 1, 2, frozenset(), 6, 9)}
    )
    requests = [line for line in past.lines(window, 0, ()) if isinstance(line, AlterRequest)]
    assert [(line.leader_epoch, line.partition_epoch) for line in requests] == [(window.epoch, 0), (6, 2)]


def test_lines_are_counted_from_it(window) -> None:
    assert disk(1, "abcd", (3, 3, 5, 5)).in_window(window) == disk(1, "cd", (5, 5))
    assert disk(3, "a", (3,)).in_window(window) == disk(3, "", ())
    assert HighWatermark(1, 1, 1, 3).in_window(window) == HighWatermark(1, 1, 1, 1)
    assert HighWatermark(1, 1, 3, 1).in_window(window) == HighWatermark(1, 1, 3, 0)
    assert LogEnd(1, 1, 2, 4, 5).in_window(window) == LogEnd(1, 1, 2, 2, 5)
    assert LogEnd(1, 1, 3, 1, 3).in_window(window) == LogEnd(1, 1, 3, 0, None)
    assert Read(1, 1, ("b", "c", "d"), (1, 2, 3)).in_window(window) == Read(1, 1, ("c", "d"), (0, 1))
    assert Acked(1, 1, "b", 1, None).in_window(window) is None
    assert window.unchecked == 0


@pytest.mark.parametrize(
    ("line", "why"),
    [
        (disk(1, "axcd"), "one of the first 3 records is another one, in every log"),
        (disk(1, "abcd", (3, 4, 5, 5)), "one of the first 3 records has another epoch, in every log"),
        (disk(1, "ab"), "the log of broker 1 has more than 2 records"),
        (disk(3, "ab"), "the log of broker 3 has 1 records"),
        (disk(3, "b"), "one of the first 1 records is another one, in every log"),
        (HighWatermark(1, 1, 3, 0), "the high watermark of broker 3 is 1"),
        (LogEnd(1, 1, 1, 2, 3), "the log of broker 1 has more than 2 records"),
        (LogEnd(1, 1, 2, 3, 4), "the epoch of the record at offset 2 is 5"),
        (LogEnd(1, 1, 3, 2, 3), "the log of broker 3 ends at 1"),
        (Read(1, 1, ("a", "c"), (1, 2)), "the record at offset 1 is b, in every log"),
        (Acked(1, 1, "b", 0, None), "b is at offset 1"),
        (Acked(1, 1, "d", 1, None), "d is in no log at offset 1"),
    ],
)
def test_what_is_false_before_the_window_is_rejected(window, line: Line, why: str) -> None:
    with pytest.raises(FalseLine) as caught:
        line.in_window(window)
    assert str(caught.value) == why


@pytest.mark.parametrize(
    ("line", "why"),
    [
        (disk(1, "abcdx"), "x is on disk before a line says that it is sent"),
        (Acked(1, 1, "c", 2, None), "c is acknowledged in some states only, which the window holds no more"),
    ],
)
def test_what_the_window_does_not_hold_is_undecided(window, line: Line, why: str) -> None:
    with pytest.raises(UnfitLine) as caught:
        line.in_window(window)
    assert str(caught.value) == why


def test_what_cannot_be_compared_is_counted(window) -> None:
    line = HighWatermark(1, 1, 1, 1)
    assert line.in_window(window) == HighWatermark(1, 1, 1, 0)
    window.pass_line(line.number)
    assert window.unchecked == 1

"""A leader that was replaced, does not know it, and goes on answering its clients, while the other brokers are frozen.

No line shows what the others do meanwhile, nor their high watermarks. Before dead cells were cleared (unread.py) and
states that later lines contradict were left (foreseen.py), a search of the recording that is explained needed 1,471,547
states.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from conformance.tests.support.observations import (
    FREEZE,
    THAW,
    disk,
    fault,
    header,
    high_watermark,
    log_end,
    read,
    record,
    sent,
    write,
)
from isrcheck.checker.compile.kernel import kernel_of
from isrcheck.checker.resources.limits import Limits
from isrcheck.conformance.follow.recorded.recording import read_recording
from isrcheck.conformance.follow.report.tell import tell
from isrcheck.conformance.follow.search.explain import Explained, RejectedAfter, follow_recording
from isrcheck.conformance.follow.search.script import Script
from isrcheck.conformance.follow.search.search import Manner, ObservationSearch
from isrcheck.conformance.follow.search.size import instance_for, size_of
from isrcheck.traces.format.certify import certify

MEMORY, SECONDS = 1 << 30, 120


def written(*values: str, at: int) -> Iterator[dict[str, Any]]:
    for offset, value in enumerate(values, at):
        yield sent(value, acks="1")
        yield {"kind": "acked", "value": value, "offset": offset, "acks": "1"}


def zombie(before: int, meanwhile: int, after: int, *, shows_uncommitted: bool = False) -> Iterator[dict[str, Any]]:
    """Broker 1 leads, and freezes; broker 2 is elected; broker 1 goes on while 2 and 3 are frozen; then all go on.

    With `shows_uncommitted`, a consumer reads a record that only broker 1 holds.
    """
    old, late, new = (
        [f"{name}{n}" for n in range(size)] for name, size in zip("azn", (before, meanwhile, after), strict=True)
    )
    yield header(1, 1, 2, 3)
    yield record(1, 1, 2, 3, epoch=0, change=0)
    yield from written(*old, at=0)
    yield from (log_end(broker, before) for broker in (2, 3))
    yield high_watermark(1, before)
    yield from (fault(FREEZE, 1), record(2, 2, 3, epoch=1, change=1))
    yield from (fault(FREEZE, 2), fault(FREEZE, 3), fault(THAW, 1))
    for number, value in enumerate(late):
        yield from written(value, at=before + number)
        if number % 2 == 0:
            yield read(*old)
    if shows_uncommitted:
        yield read(*old, late[0])
    yield from (fault(THAW, 2), fault(THAW, 3))
    yield from written(*new, at=before)
    yield read(*old, new[0])
    yield log_end(3, before + after)
    yield record(2, 1, 2, 3, epoch=1, change=2)
    for broker in (1, 2, 3):
        yield disk(broker, *old, *new)


def test_a_zombie_is_explained(tmp_path: Path) -> None:
    path = write(tmp_path / "zombie", *zombie(4, 8, 4), {"kind": "note", "what": "the end"})
    assert len(path.read_text().splitlines()) == 55
    outcome = follow_recording(path, "4.1", memory=MEMORY, seconds=SECONDS)
    assert isinstance(outcome, Explained)
    certify(outcome.trace)
    assert (outcome.exit_code, outcome.passed[-1]) == (0, 53)
    assert sum(outcome.effort.states) == 45_651
    assert outcome.effort.bytes_used < 16 << 20


def test_a_zombie_that_shows_what_is_not_committed_is_rejected(tmp_path: Path) -> None:
    path = write(tmp_path / "zombie", *zombie(1, 8, 4, shows_uncommitted=True))
    recording = read_recording(path)
    instance = instance_for(size_of(recording), "4.1", {}, {}, 1)
    limits = Limits(seconds=SECONDS, memory=MEMORY)
    manner = Manner(finds_line=False)
    found = ObservationSearch(Script(recording, instance), kernel_of(instance), True, limits, manner=manner)
    found.run()
    assert (found.is_exhausted, found.stopped, found.last) == (True, None, None)
    assert (found.nodes.store.count, recording.lines[found.furthest].number) == (127_279, 33)


def test_it_is_rejected_although_a_limit_ends_the_search_for_the_line(tmp_path: Path) -> None:
    path = write(tmp_path / "zombie", *zombie(2, 8, 4, shows_uncommitted=True))
    outcome = follow_recording(path, "4.1", memory=256 << 20)
    assert isinstance(outcome, RejectedAfter)
    assert (outcome.exit_code, outcome.why, outcome.line.number) == (20, "memory", 35)
    told = " ".join(" ".join(tell(outcome)).split())
    assert told.startswith(
        f"REJECTED: no behaviour of 4.1 explains {path}. All were tried that agree with the partition"
    )
    assert f"The lines before {path}:35 have an explanation." in told

"""An administrator asks for an unclean election: from then on there may be one, whatever the setting says."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from conformance.tests.support.observations import KILL, START, disk, fault, header, metadata, write
from isrcheck.conformance.follow.format.ndjson import objects_of
from isrcheck.conformance.follow.online.follow import UndecidedOnline, follow_online
from isrcheck.conformance.follow.search.explain import Explained, Rejected, follow_recording

ASKED = {"kind": "fault", "what": "elect unclean"}
ALONE: list[dict[str, Any]] = [
    *(
        header(1, 1, 2) | {"all_requests": True},
        metadata(1, 1, 2, epoch=0),
        fault(KILL, 2),
        metadata(1, 1, epoch=0),
        disk(1, "a"),
    ),
    *(fault(KILL, 1), fault(START, 2)),
]
"""Leader 1 is alone in its ISR, appends a, and is killed, so that epoch 1 has no leader; 2 starts again."""

ELECTED = metadata(2, 2, epoch=2)


@pytest.mark.parametrize(
    ("lines", "outcome"), [((ASKED, ELECTED), Explained), ((ELECTED, ASKED), Rejected), ((ELECTED,), Rejected)]
)
def test_an_unclean_election_needs_its_request(tmp_path: Path, lines: Any, outcome: type) -> None:
    found = follow_recording(write(tmp_path / "seen.ndjson", *ALONE, *lines), "3.7")
    assert isinstance(found, outcome)


@pytest.mark.parametrize("lines", [(ASKED, ELECTED), (ELECTED, ASKED), (ELECTED,)])
def test_the_setting_permits_it_at_any_time(tmp_path: Path, lines: Any) -> None:
    begins = [header(1, 1, 2, unclean=True) | {"all_requests": True}, *ALONE[1:]]
    assert isinstance(follow_recording(write(tmp_path / "seen.ndjson", *begins, *lines), "3.7"), Explained)


def test_online_it_is_not_modelled(tmp_path: Path) -> None:
    path = write(tmp_path / "seen.ndjson", *ALONE, ASKED, ELECTED)
    found = follow_online(path, lambda: objects_of(path), "3.7")
    assert isinstance(found, UndecidedOnline)
    assert found.why == "a request for an unclean election (line 8) is not modelled"

"""observations.ndjson beside a wire recording: what it adds, and what contradicts the traffic."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from conformance.tests.support.engine import checking
from conformance.tests.support.places import RECORDINGS
from isrcheck.conformance.cli import main
from isrcheck.conformance.follow.wire.convert import observations_of
from isrcheck.models.messages import UsageError

STALE = RECORDINGS / "wire" / "stale_record"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return Path(shutil.copytree(STALE, tmp_path / "stale"))


def change(folder: Path, number: int, **keys: Any) -> None:
    path = folder / "observations.ndjson"
    lines = path.read_text().splitlines()
    lines[number - 1] = json.dumps(json.loads(lines[number - 1]) | keys)
    path.write_text("\n".join(lines) + "\n")


def test_only_what_the_traffic_does_not_show_is_added() -> None:
    """Its faults, acknowledgements, reads and metadata are in the traffic, and a shutdown ends what is followed."""
    added = [(number, said["kind"]) for number, said in observations_of(STALE / "wire.ndjson") if "from" in said]
    disks = [*range(10, 13), *range(34, 37), *range(47, 50), *range(54, 57)]
    assert added == [*((number, "disk") for number in disks), *((640, "disk") for _ in range(3))]


@pytest.mark.exhaustive
def test_a_folder_of_both_is_one_recording(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, said, _ = checking(main, capsys)("follow", str(folder), "--protocol", "3.7")
    assert code == 12
    flat = " ".join(said.split())
    assert f"EXPLAINED: {folder}/wire.ndjson is a behaviour of 3.7, in 58 steps" in flat
    assert "observations.ndjson:36: broker 3 has m0 m1 m2 on disk, checkpointed high watermark 3" in flat
    assert "broker2/: broker 2 has m0 m1 m2 after on disk, checkpointed high watermark 4" in flat
    assert (
        "record PRECIOUS was acknowledged (line 331), and is not in the log any more (observations.ndjson:48):"
        " acked_not_lost is violated at step 36; before that: stop (controlled shutdown) broker 1 (line 338);"
        " not permitted: acks=all promises it"
    ) in flat


@pytest.mark.parametrize(
    ("number", "keys", "complaint"),
    [
        (33, {"offset": 2}, "33: PRECIOUS is acknowledged at offset 2, but at 3 in wire.ndjson; correct one of them"),
        (53, {"records": [[0, "x"]]}, "53: a consumer reads something else than by line 640 of wire.ndjson; "),
        (10, {"kind": "disc"}, '10: unknown kind "disc"; there are: header, '),
        (10, {"t": "now"}, '10: "t" has to be the seconds since the start; give it'),
        (10, {"t": None}, '10: "t" has to be the seconds since the start; give it'),
        (10, {"log": [[0, "a"], [2, "b"]]}, "10: log has offset 2 at position 1; offsets have to be 0, 1, 2, ..."),
    ],
)
def test_a_contradiction_is_one_line(folder: Path, number: int, keys: dict[str, Any], complaint: str) -> None:
    change(folder, number, **keys)
    with pytest.raises(UsageError) as caught:
        list(observations_of(folder / "wire.ndjson"))
    assert str(caught.value).startswith(f"{folder}/observations.ndjson:{complaint}")


def test_a_disk_that_may_be_older_than_its_line_is_left_out(folder: Path) -> None:
    """Broker 2 fetches behind PRECIOUS at 14.7068 s; a disk that is noted 5 ms later may have been read before that."""
    change(folder, 35, t=14.7118, log=[[0, "m0"], [1, "m1"], [2, "m2"]], batch_epochs=[0, 0, 0])
    change(folder, 34, t=14.7117)
    change(folder, 33, t=14.7116)
    change(folder, 32, t=14.7115)
    shown = {number: said for number, said in observations_of(folder / "wire.ndjson") if "from" in said}
    assert shown[35]["what"] == "the disk of broker 2 may have been read before its last fetch"
    assert shown[34]["kind"] == "disk"

"""Recordings of a Kafka 4.5 in development, made by `conform record`: 4.1 follows each, with the right answer."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from conformance.tests.support.places import RECORDINGS, SHARED
from isrcheck.conformance.follow.observations.explain import Explained, Outcome, follow_recording
from isrcheck.conformance.follow.wire.convert import wire_observations

KEPT = RECORDINGS / "kafka-4.5"
OTHERS = SHARED / "data" / "kafka-4.5-dev"
"""All of them, beside the project; the largest are not kept in it."""


def recording(name: str) -> Path:
    """The folder of a recording, in the project or beside it."""
    if (KEPT / name).is_dir():
        return KEPT / name
    if not (OTHERS / name).is_dir():
        pytest.skip(f"the recording {name} lies beside the project, in {OTHERS.relative_to(OTHERS.parents[2])}")
    return OTHERS / name


def followed(folder: Path, protocol: str = "4.1") -> Outcome:
    path = folder / "wire.ndjson"
    return follow_recording(path, protocol, seconds=120, memory=1 << 30, objects=wire_observations(path))


def copied(name: str, to: Path) -> Path:
    return Path(shutil.copytree(recording(name), to / name))


def without(folder: Path, *kinds: str, beside: bool = False) -> Path:
    """The recording without its faults of these kinds, and without observations.ndjson."""
    path = folder / "wire.ndjson"
    lines = path.read_text().splitlines()
    kept = [line for line in lines if json.loads(line).get("what") not in kinds]
    path.write_text("".join(f"{line}\n" for line in kept))
    if not beside:
        (folder / "observations.ndjson").unlink(missing_ok=True)
    return folder


def broken(outcome: Explained) -> dict[str, tuple[str, int]]:
    return {failure.name: (failure.verdict, failure.step) for failure in outcome.failures}


EXPLAINED: list[tuple[str, int, dict[str, tuple[str, int]], int]] = [
    ("auto_rebalance", 66, {}, 0),
    ("controlled_shutdown", 55, {}, 0),
    ("leader_killed", 75, {}, 0),
    ("stale_record_control", 28, {}, 0),
    ("steady", 88, {}, 0),
    ("transactions", 71, {}, 0),
]


@pytest.mark.parametrize(("name", "length", "failures", "code"), EXPLAINED)
def test_it_is_explained(name: str, length: int, failures: dict[str, tuple[str, int]], code: int) -> None:
    outcome = followed(recording(name))
    assert isinstance(outcome, Explained)
    assert (outcome.trace.length, broken(outcome), outcome.exit_code) == (length, failures, code)
    assert outcome.passed[-1] == len(outcome.recording.lines)

"""The search over recordings agrees with a second implementation in plain Python that tries all choices."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

from conformance.tests.support.observations import SlowReading, acked, disk, header, metadata, said, wander, write
from isrcheck.conformance.follow.recorded.recording import read_recording
from isrcheck.conformance.follow.search.explain import Explained, Rejected, follow_recording
from isrcheck.conformance.follow.search.size import instance_for, size_of
from isrcheck.models import registry
from isrcheck.models.language.model import Instance
from isrcheck.models.run import Cells, State

BROKERS = (4, 7)
VALUES = ("x", "y")


def walk(seed: int, protocol: str) -> list[dict[str, Any]]:
    """A recording of a random path: true observations at random states, and sometimes a false one."""
    chance = random.Random(seed)
    instance = registry.load("kafka")[0].instance(
        protocol,
        {"replicas": 2, "records": 1 + seed % 2, "log_size": 2, "elections": 1, "crashes": 1, "preferred_elections": 1}
        | {"min_insync_replicas": 1, "bounces": 0},
    )
    cells: Cells = chance.choice(instance.initial_states)
    told: set[int] = set()

    def seen(cells: Cells) -> list[dict[str, Any]]:
        return observe(chance, instance, cells, told)

    lines = [header(1, *BROKERS), see_leader(instance, cells)]
    lines += wander(chance, instance, cells, BROKERS, seen, most=chance.randrange(4, 16), freezing=0.15)[0]
    if chance.random() < 0.4:
        spoil(chance, lines)
    return lines


def see_leader(instance: Instance, cells: Cells) -> dict[str, Any]:
    s = State(instance, cells)
    isr = [BROKERS[r] for r in range(2) if s.controller_isr[r]]
    return metadata(BROKERS[s.controller_leader], *isr)


def observe(chance: random.Random, instance: Instance, cells: Cells, told: set[int]) -> list[dict[str, Any]]:
    s = State(instance, cells)
    found = []
    if chance.random() < 0.3:
        found.append(see_leader(instance, cells))
    for r in range(2):
        if chance.random() < 0.25:
            log = [VALUES[s.log_record[r][o]] for o in range(s.log_end_offset[r])]
            checkpoint = s.high_watermark[r] if chance.random() < 0.7 else None
            found.append(disk(BROKERS[r], *log, checkpoint=checkpoint))
    for record in range(s.records):
        if s.acknowledged[record] and record not in told and chance.random() < 0.7:
            told.add(record)
            found.append(acked(VALUES[record]))
    return found


def spoil(chance: random.Random, lines: list[dict[str, Any]]) -> None:
    line = chance.choice([line for line in lines[1:] if line["kind"] != "fault"])
    if line["kind"] == "metadata":
        line["isr"] = chance.choice([[4], [7], [4, 7]])
    elif line["kind"] == "acked":
        line["offset"] = chance.randrange(2)
    elif line.get("high_watermark_checkpoint") is not None:
        line["high_watermark_checkpoint"] = chance.randrange(2)
    else:
        line["log"] = [[0, "x"]]


def both(path: Path, protocol: str, values: dict[str, int]) -> tuple[str, str]:
    """The results of the search and of the second implementation, in the same form."""
    outcome, recording = follow_recording(path, protocol, values), read_recording(path)
    is_idempotent = "retries" not in values
    instance = instance_for(size_of(recording), protocol, values, 1 if is_idempotent else None)
    slow = SlowReading(recording, instance, is_idempotent=is_idempotent)
    length = slow.shortest()
    obvious = f"{length} steps" if length is not None else f"not line {recording.lines[slow.furthest].number}"
    if isinstance(outcome, Explained):
        trace = outcome.trace
        slow = SlowReading(outcome.recording, trace.instance, is_idempotent=is_idempotent)
        assert slow.accepts(trace.steps, trace.states)
        return f"{trace.length} steps", obvious
    assert isinstance(outcome, Rejected)
    return f"not line {outcome.line.number}", obvious


SEEDS = {
    "0.10": (0, 4, 8),
    "2.1": (1, 5, 9),
    "2.0": (2, 6, 10),
    "0.11": (3, 7, 11),
    "2.4": (12, 13),
    "0.8": (14, 15),
}


@pytest.mark.sampled
@pytest.mark.parametrize(("protocol", "seed"), [(name, seed) for name, seeds in SEEDS.items() for seed in seeds])
def test_random_recordings(tmp_path: Path, protocol: str, seed: int) -> None:
    path = write(tmp_path / "recording", *walk(seed, protocol))
    result, obvious = both(path, protocol, {} if seed % 3 == 0 else {"retries": 0})
    assert result == obvious


BY_HAND = {
    "the leader is shut down": "metadata 4: 4 7; acked x; stop 4; disk 4: x hw=1; metadata 7: 7; start 4;"
    " disk 4: x hw=1",
    "a checkpoint that no line shows": "metadata 4: 4 7; acked x; disk 7: x hw=0; kill 7; start 7; disk 7:",
    "one that was seen while frozen": "metadata 4: 4 7; disk 7: x hw=1; freeze 7; disk 7: x hw=1; kill 7; start 7;"
    " disk 7:",
    "with epochs": "metadata 4: 4 7 epoch=2; acked x 0; metadata 7: 4 7 epoch=3; metadata 4: 4 epoch=2;"
    " disk 7: x epochs=2 cache=2@0,3@1",
    "no line shows who leads next": "metadata 4: 4 7; acked x; disk 7: x; kill 4; acked y",
    "no line shows the beginning of an epoch": "metadata 4: 4 7 epoch=2; acked x 0; kill 4; disk 7: x y epochs=2,3",
    "a dead follower": "metadata 4: 4 7; acked x; kill 7; metadata 4: 4; read x",
    "the file changes while nobody runs": "metadata 4: 4 7; acked x; disk 7: x; kill 7; disk 7: x hw=0; disk 7: x hw=1",
}


@pytest.mark.sampled
@pytest.mark.parametrize("name", BY_HAND)
@pytest.mark.parametrize("protocol", ["0.10", "2.1"])
def test_recordings_made_by_hand(tmp_path: Path, protocol: str, name: str) -> None:
    path = write(tmp_path / "recording", *said(f"header 1: 4 7; {BY_HAND[name]}"))
    result, obvious = both(path, protocol, {"retries": 0})
    assert result == obvious

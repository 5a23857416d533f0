"""The search over recordings agrees with a second implementation in plain Python that tries all choices."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

from conformance.tests.support.observations import (
    FREEZE,
    KILL,
    START,
    STOP,
    THAW,
    SlowReading,
    acked,
    disk,
    fault,
    header,
    metadata,
    read,
    write,
)
from isrcheck.conformance.follow.recorded.recording import read_recording
from isrcheck.conformance.follow.search.explain import Explained, Rejected, follow_recording
from isrcheck.conformance.follow.search.size import instance_for, size_of
from isrcheck.models import registry
from isrcheck.models.language.model import Instance
from isrcheck.models.run import Cells, State, take

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
    lines = [header(1, *BROKERS), see_leader(instance, cells)]
    frozen: set[int] = set()
    told: set[int] = set()
    for _ in range(chance.randrange(4, 16)):
        possible = [(step, take(instance, cells, step)) for step in instance.steps]
        enabled = [(step, after) for step, after in possible if after is not None]
        if not enabled:
            break
        step, after = chance.choice(enabled)
        involved = {
            o
            for c, o in zip(instance.argument_ranges[step.action_index], step.ordinals, strict=True)
            if not c.is_subset
        }
        if frozen & involved and not step.action.startswith("controller"):
            continue
        befalls = {"broker_crashes": KILL, "broker_restarts": START}.get(step.action)
        if befalls is not None:
            lines.append(fault(befalls, BROKERS[step.ordinals[0]]))
            frozen.discard(step.ordinals[0])
        cells = after
        lines += observe(chance, instance, cells, told)
        if chance.random() < 0.15:
            broker = chance.choice([r for r in (0, 1) if State(instance, cells).is_up[r]] or [None])
            if broker is not None:
                lines.append(fault(THAW if broker in frozen else FREEZE, BROKERS[broker]))
                frozen ^= {broker}
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
    outcome = follow_recording(path, protocol, values)
    recording = read_recording(path)
    is_idempotent = "retries" not in values
    slow = SlowReading(
        recording,
        instance_for(size_of(recording), protocol, values, {}, 1 if is_idempotent else None),
        is_idempotent=is_idempotent,
    )
    length = slow.shortest()
    obvious = f"{length} steps" if length is not None else f"not line {recording.lines[slow.furthest].number}"
    if isinstance(outcome, Explained):
        assert slow_accepts(outcome, values)
        return f"{outcome.trace.length} steps", obvious
    assert isinstance(outcome, Rejected)
    return f"not line {outcome.line.number}", obvious


def slow_accepts(outcome: Explained, values: dict[str, int]) -> bool:
    trace = outcome.trace
    slow = SlowReading(outcome.recording, trace.instance, is_idempotent="retries" not in values)
    return slow.accepts(trace.steps, trace.states)


SEEDS = {
    "0.10": (0, 4, 8),
    "2.1": (1, 5, 9),
    "2.0": (2, 6, 10),
    "0.11": (3, 7, 11),
    "2.4": (12, 13),
    "0.8": (14, 15),
}


@pytest.mark.parametrize(("protocol", "seed"), [(name, seed) for name, seeds in SEEDS.items() for seed in seeds])
def test_random_recordings(tmp_path: Path, protocol: str, seed: int) -> None:
    found, obvious = both(
        write(tmp_path / "recording", *walk(seed, protocol)), protocol, {} if seed % 3 == 0 else {"retries": 0}
    )
    assert found == obvious


BY_HAND = {
    "the leader is shut down": (
        metadata(4, 4, 7),
        acked("x"),
        fault(STOP, 4),
        disk(4, "x", checkpoint=1),
        metadata(7, 7),
        fault(START, 4),
        disk(4, "x", checkpoint=1),
    ),
    "a checkpoint that nobody saw": (
        metadata(4, 4, 7),
        acked("x"),
        disk(7, "x", checkpoint=0),
        fault(KILL, 7),
        fault(START, 7),
        disk(7),
    ),
    "one that was seen while frozen": (
        metadata(4, 4, 7),
        disk(7, "x", checkpoint=1),
        fault(FREEZE, 7),
        disk(7, "x", checkpoint=1),
        fault(KILL, 7),
        fault(START, 7),
        disk(7),
    ),
    "with epochs": (
        metadata(4, 4, 7, epoch=2),
        acked("x", 0),
        metadata(7, 4, 7, epoch=3),
        metadata(4, 4, epoch=2),
        {**disk(7, "x"), "batch_epochs": [2], "leader_epoch_checkpoint": [[2, 0], [3, 1]]},
    ),
    "nobody saw who leads next": (metadata(4, 4, 7), acked("x"), disk(7, "x"), fault(KILL, 4), acked("y")),
    "an epoch that nobody saw begin": (
        metadata(4, 4, 7, epoch=2),
        acked("x", 0),
        fault(KILL, 4),
        {**disk(7, "x", "y"), "batch_epochs": [2, 3]},
    ),
    "a dead follower": (metadata(4, 4, 7), acked("x"), fault(KILL, 7), metadata(4, 4), read("x")),
    "the file changes while nobody runs": (
        metadata(4, 4, 7),
        acked("x"),
        disk(7, "x"),
        fault(KILL, 7),
        disk(7, "x", checkpoint=0),
        disk(7, "x", checkpoint=1),
    ),
}


@pytest.mark.parametrize("name", BY_HAND)
@pytest.mark.parametrize("protocol", ["0.10", "2.1"])
def test_recordings_made_by_hand(tmp_path: Path, protocol: str, name: str) -> None:
    path = write(tmp_path / "recording", header(1, *BROKERS), *BY_HAND[name])
    found, obvious = both(path, protocol, {"retries": 0})
    assert found == obvious

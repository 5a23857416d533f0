"""Cluster and model side by side under Hypothesis, with the explorer as the oracle.

The explorer needs at most as many steps for a failure as Hypothesis; the failure is written as a trace, which the
reported command replays.
"""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from conformance.tests.sampling import exhaustive, recorded
from conformance.tests.support.compared.compiled import enabled_steps
from conformance.tests.support.places import PROJECT
from conformance.tests.support.state_machines import machine_of, replay_of
from isrcheck.checker.explicit.explore import explore
from isrcheck.checker.resources.limits import Limits
from isrcheck.commands.exit_codes import DIVERGED, DONE
from isrcheck.models import registry
from isrcheck.models.language.model import Instance
from isrcheck.testing import find, must_agree


def kafka(protocol: str, **values: int) -> Instance:
    return registry.load("kafka")[0].instance(protocol, values)


def run_command(command: str) -> subprocess.CompletedProcess[str]:
    name, *words = command.split()
    assert name == "conform"
    return subprocess.run(
        [sys.executable, "-m", "isrcheck.conformance", *words], capture_output=True, text=True, check=False
    )


@pytest.mark.sampled
@pytest.mark.parametrize(
    ("protocol", "promised"),
    [
        recorded(("0.8", ["leader_in_isr", "one_leader_per_epoch"])),
        exhaustive(("0.10", ["leader_in_isr", "one_leader_per_epoch"])),
        recorded(("0.11", ["leader_in_isr", "one_leader_per_epoch"])),
        recorded(("2.0", ["leader_in_isr", "one_leader_per_epoch"])),
        exhaustive(("2.1", None)),
        recorded(("2.4", None)),
        recorded(("2.8", None)),
    ],
)
def test_cluster_and_model_agree_and_the_properties_hold(protocol, promised):
    """From 2.1 on all state properties hold; older generations violate some (models/verdicts.toml)."""
    instance = kafka(protocol)
    must_agree(machine_of(instance, promised=promised, enabled=enabled_steps(instance)), examples=40)


@pytest.mark.recorded
@pytest.mark.parametrize(
    ("protocol", "values", "broken", "least", "examples", "steps"),
    [
        ("2.1", {"acks": 1}, "acked_not_lost", 2, 100, 30),
        exhaustive(("2.0", {"retries": 1}, "no_duplicates", 2, 100, 30)),
        # KIP-101 between two replicas; the ISR goes on with one. A thousand examples take half a minute.
        pytest.param(
            "0.10",
            {
                "records": 1,
                "log_size": 1,
                "crashes": 0,
                "elections": 1,
                "replicas": 2,
                "bounces": 3,
                "min_insync_replicas": 1,
            },
            "isr_is_complete",
            5,
            1000,
            16,
            marks=pytest.mark.recorded,
        ),
    ],
)
def test_the_explorer_finds_hypothesis_failures_in_no_more_steps(
    protocol, values, broken, least, examples, steps, tmp_path
):
    instance = kafka(protocol, **values)
    failure = find(machine_of(instance, enabled=enabled_steps(instance)), examples, steps)
    assert failure is not None
    assert failure.broken == broken
    found = explore(instance, Limits(depth=len(failure.trace)), only=[broken]).findings[broken]
    witness = found.found.path or found.permitted.path
    assert witness is not None
    assert witness.depth == least <= len(failure.trace)
    path = failure.trace.save(tmp_path)
    command = replay_of(path)
    assert path.exists()
    replayed = run_command(command)
    assert (replayed.returncode, replayed.stderr) == (DONE, "")
    assert replayed.stdout == f"{path}: replayed, {len(failure.trace)} steps; system and model agree after every step\n"


@pytest.mark.recorded
def test_a_bug_in_the_cluster_is_shrunk_to_a_trace_that_shows_it(tmp_path):
    failure = find(machine_of(kafka("2.1"), bug="hw_off_by_one"), examples=100)
    assert failure is not None
    assert failure.divergence is not None
    assert failure.broken is None
    assert (len(failure.trace), failure.divergence.variable) == (1, "high_watermark")
    path = failure.trace.save(tmp_path)
    command = replay_of(path, "hw_off_by_one")
    assert command == f"conform replay {path} --bug hw_off_by_one"
    replayed = run_command(command)
    assert (replayed.returncode, replayed.stderr) == (DIVERGED, "")
    assert replayed.stdout.startswith(
        f"{path}: diverges after step 1 (producer_appends at 0), first in high_watermark:\n"
    )
    assert run_command(command.partition(" --bug")[0]).returncode == 0


MACHINE = """
from conformance.tests.support.compared.compiled import enabled_steps
from conformance.tests.support.state_machines import machine_of
from isrcheck.models import registry

TestModelAndCluster = machine_of(registry.load("kafka")[0].instance("2.1", {}), bug="hw_off_by_one").TestCase
"""


@pytest.mark.exhaustive
def test_a_machine_that_fails_in_a_test_run_prints_the_command_that_replays_it(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "test_mine.py").write_text(MACHINE, encoding="utf-8")
    ran = subprocess.run(
        # A CI system's pytest says each failure twice: once whole in its summary.
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-rN", "test_mine.py"],
        env=os.environ | {"PYTHONPATH": str(PROJECT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 1
    lines = [line.removeprefix("E").strip() for line in ran.stdout.splitlines()]
    (command,) = [line.removeprefix("replay it: ") for line in lines if line.startswith("replay it: ")]
    assert "1  producer_appends at 0" in lines
    assert "diverges after step 1 (producer_appends at 0), first in high_watermark:" in lines
    assert command.startswith("conform replay counterexamples/kafka_2.1_behaviour_")
    assert run_command(command).returncode == DIVERGED

"""Random histories of the model on the cluster: two implementations that share no code go the same way."""

from __future__ import annotations

import ast
import random
from pathlib import Path

import pytest

from conformance.cluster.bugs import Bug
from conformance.replay import driver, projection
from conformance.replay.compare import replay
from models import registry, run
from traces.trace import Trace

STEPS = 30
HISTORIES = 100

SEEN = [
    *(Bug.HW_OFF_BY_ONE, Bug.ACK_BEFORE_ISR, Bug.TRUNCATION_TO_WRONG_EPOCH_END, Bug.EPOCH_CACHE_NOT_TRUNCATED),
    *(Bug.MIN_ISR_NOT_CHECKED, Bug.FETCHER_NOT_CLEARED, Bug.CHECKPOINT_AHEAD, Bug.LEADER_TRUNCATES_ON_ELECTION),
    *(Bug.REMOTE_OFFSETS_NOT_RESET, Bug.PARKED_FETCH_UPDATES, Bug.ISR_WRITE_UNCONDITIONAL),
    Bug.EXPANSION_WITHOUT_HIGH_WATERMARK,
]
"""Bugs of the cluster that random histories see."""

LEFT_OUT = {"leader_shrinks_isr"}
"""Time is not in the model: which followers are slow at a moment, a driver has to arrange from outside."""


def history(protocol: str, seed: int, **values: int) -> Trace:
    """A random walk of the model."""
    instance = registry.load("kafka")[0].instance(protocol, values)
    chance = random.Random(seed)
    states, steps = [chance.choice(instance.initial_states)], []
    while len(steps) < STEPS:
        after = [(step, cells) for step, cells in run.successors(instance, states[-1]) if step.action not in LEFT_OUT]
        if not after:
            break
        step, cells = chance.choice(after)
        steps.append(step)
        states.append(cells)
    return Trace(instance, tuple(states), tuple(steps), None, None, "")


@pytest.mark.parametrize("protocol", ["0.10", "0.11", "2.0", "2.1"])
def test_the_cluster_goes_the_way_of_the_model(protocol):
    taken: set[str] = set()
    for seed in range(HISTORIES):
        trace = history(protocol, seed)
        divergence = replay(trace)
        assert divergence is None, (seed, divergence, [trace.instance.spell_step(step) for step in trace.steps])
        taken |= {step.action for step in trace.steps}
    # All that the default configuration has but what is left out, and what no walk of this length came to.
    assert taken >= {
        *("producer_appends", "producer_is_refused", "leader_handles_fetch", "leader_answers_parked_fetch"),
        *("follower_applies_response", "response_is_lost", "controller_fails_over", "controller_removes_dead_follower"),
        *("broker_becomes_leader", "broker_becomes_follower", "broker_bounces", "broker_crashes", "broker_restarts"),
    }
    assert ("follower_reconciles" in taken) == (protocol != "0.10")


def test_every_variable_but_the_budgets_is_compared():
    trace = history("2.1", 0)
    compared = projection.project(trace.instance, *seen_at_the_start(trace))
    without = {name for name, place in trace.instance.places.items() if place.count == 0}
    there = set(trace.instance.places) - without
    assert {name for name in compared if compared[name]} == there - projection.LEFT_OUT


def seen_at_the_start(trace):
    view = driver.Driver(trace).cluster.observe()
    seen = projection.Witnessed()
    seen.note(view)
    return view, seen


@pytest.mark.parametrize("bug", SEEN, ids=lambda bug: bug.name)
def test_a_cluster_with_a_bug_goes_another_way(bug):
    assert any(replay(history("2.1", seed), bug.name.lower()) is not None for seed in range(HISTORIES))


def test_a_driver_writes_no_field_of_a_broker():
    """It assigns to nothing but its own fields, and to locals."""
    tree = ast.parse(Path(driver.__file__).read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        targets = node.targets if isinstance(node, ast.Assign) else []
        for target in [*targets, node.target] if isinstance(node, ast.AugAssign | ast.AnnAssign) else targets:
            if isinstance(target, ast.Attribute):
                assert isinstance(target.value, ast.Name)
                assert target.value.id == "self"
    called = {node.func.id for node in ast.walk(tree) if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)}
    assert "setattr" not in called
    private = [node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute) and node.attr.startswith("_")]
    own = {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}
    assert set(private) <= own

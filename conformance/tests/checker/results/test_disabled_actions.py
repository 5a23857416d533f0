"""The actions that a configuration disables: exactly those are exempt from vacuity checks."""

from __future__ import annotations

from pathlib import Path

import pytest

from conformance.tests.sampling import sampled
from conformance.tests.support.small_models import action, domain, entries, helper, model, state, write_model
from isrcheck.checker.explicit.explore import explore
from isrcheck.checker.resources.limits import Limits
from isrcheck.checker.results.instance_facts import disabled_actions
from isrcheck.checker.results.run import never_fired
from isrcheck.models import registry
from isrcheck.models.language.model import Instance

MODEL = model(
    entries(
        'places = bound(2, "places", least=0)',
        'thefts = budget(1, "thefts")',
        'colour = setting(1, "a colour", most=3)',
        'NEW = switch(True, "the new way")',
    ),
    domain("Place", '"places"'),
    state("thefts_left: between(0, 3), initially=1", "a: between(0, 3)", "b: between(0, 3)", "door: between(0, 3)"),
    helper("is_open(s)", "s.door > 0"),
    action("takes(s, place: Place)", "require(s.a < 3)", "s.a += 1 + place - place"),
    action(
        "steals(s, place: Place)",
        "require(place < 2)",
        "require(s.thefts_left > 0)",
        "require(s.thefts > 0)",
        "s.thefts_left -= 1",
    ),
    action("paints(s)", "require(any(s.colour == i for i in range(1, 3)))", "require(s.a < 3)", "s.a += 1"),
    action(
        "works_the_new_way(s)", "old = not s.NEW", "require(not old)", "require(s.NEW)", "require(s.a == 3)", "s.a = 0"
    ),
    action("enters(s)", '"""The door is shut, until somebody knocks."""', "require(is_open(s))", "s.b = 0"),
    action("knocks(s)", '"""Nobody knocks before somebody is in."""', "require(s.b == 1)", "s.door = 1"),
    action("breaks_in(s)", "require(s.NEW)", "require(s.b == 0)", "s.b = 1"),
)
"""A budget, a setting, a switch, a chain of actions, and one that only looks as if it were off."""


@pytest.fixture
def off(tmp_path: Path):
    path = tmp_path / "mine.py"
    write_model(path, MODEL)
    model = registry.load_file(path)

    def names(**values: int) -> set[str]:
        instance = model.instance(None, values)
        found = disabled_actions(instance)
        assert_that_they_never_fire(instance, found)
        return {model.actions[slot].name for slot in found}

    return names


def assert_that_they_never_fire(instance: Instance, found: frozenset[int]) -> None:
    exploration = explore(instance, Limits(depth=12), count_all=True)
    fired = {slot for slot, count in enumerate(exploration.fired) if count}
    assert not found & fired
    assert set(never_fired(exploration)) == {
        action.name
        for number, action in enumerate(instance.model.actions)
        if instance.alternatives[number] is not None and number not in fired | found
    }


@pytest.mark.parametrize(
    ("values", "disabled"),
    [
        ({}, set()),
        ({"thefts": 0}, {"steals"}),
        ({"colour": 0}, {"paints"}),
        ({"colour": 3, "thefts": 0}, {"paints", "steals"}),
        ({"places": 0}, {"takes", "steals"}),  # which have no possible arguments
        # Without the thief, nobody knocks, and the door stays shut.
        ({"NEW": 0}, {"works_the_new_way", "breaks_in", "knocks", "enters"}),
    ],
)
def test_which_actions_a_configuration_disables(off, values: dict[str, int], disabled: set[str]) -> None:
    assert off(**values) == disabled


@pytest.mark.sampled
@pytest.mark.parametrize("name", sampled(registry.names(), lambda name: not name.endswith(("_liveness", "_scenarios"))))
def test_disabled_actions_of_the_registered_models_never_fire(name: str) -> None:
    model, protocol = registry.load(name)
    for one in [protocol] if protocol else model.protocols:
        instance = model.instance(one)
        exploration = explore(instance, Limits(depth=6), count_all=True)
        assert not {slot for slot in disabled_actions(instance) if exploration.fired[slot]}


def test_actions_without_budget_are_disabled_in_the_default_kafka() -> None:
    instance = registry.load("kafka")[0].instance("0.10")
    names = {instance.model.actions[slot].name for slot in disabled_actions(instance)}
    assert {"controller_elects_preferred", "controller_elects_unclean"} <= names
    assert {"broker_loses_power", "broker_loses_disk", "send_is_lost"} <= names
    assert not {"broker_bounces", "broker_crashes", "broker_restarts", "producer_appends"} & names

"""What a history needs, counted in the shortest histories of the known failures."""

from __future__ import annotations

import pytest

from conformance.tests.support.golden import steps_of
from isrcheck.models import registry
from isrcheck.models.kafka.failures.catalogue import failures
from isrcheck.traces.explaining.cause import rarity
from isrcheck.traces.kafka import actions as kafka_actions
from isrcheck.traces.transactions import actions as transaction_actions

HISTORIES = {one.number: one.history for one in failures() if one.history is not None}


@pytest.mark.parametrize(
    ("number", "needs"),
    [
        ("8.1", {"bounces": 1, "elections": 1}),
        ("8.23", {"lost messages": 1}),
        ("8.24", {"preferred_elections": 1, "elections": 3, "late messages": 3}),
        ("8.25", {"crashes": 1, "elections": 1, "late messages": 1}),
        ("9.1", {"lost messages": 1}),
        ("12.6a", {"fail-overs": 1}),
        ("12.7", {"overlapping_blocks": 1}),
        ("12.11", {"late_answers": 1, "fail-overs": 1}),
    ],
)
def test_faults_elections_and_messages_are_counted(number, needs):
    assert rarity(steps_of(HISTORIES[number])) == needs


def test_these_actions_lose_a_message():
    names = {
        action.name for model in ("kafka", "transactions", "exactly_once") for action in registry.load(model)[0].actions
    }
    shown = kafka_actions.ACTIONS | transaction_actions.ACTIONS
    lossy = {name for name, view in shown.items() if view.loses_message}
    with_budget = {"broker_loses_disk", "broker_loses_disk_while_it_fetches", "broker_loses_power"}
    with_budget |= {"last_record_is_lost", "connection_is_lost", "connection_is_lost_past_deadline"}
    assert {name for name in names if "lost" in name or "loses" in name} - with_budget == lossy

"""How actions are shown: every action of Kafka's models has words and messages; what a history needs is counted."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from string import Formatter

import pytest

from conformance.tests.support import trace
from conformance.tests.support.golden import steps_of
from isrcheck.models import registry
from isrcheck.models.kafka.failures.catalogue import failures
from isrcheck.traces.explaining.cause import rarity
from isrcheck.traces.explaining.presentation import steps_in_words
from isrcheck.traces.kafka.actions import ACTIONS as KAFKA
from isrcheck.traces.transactions.actions import ACTIONS as TRANSACTIONS

TABLES = {
    "kafka": KAFKA,
    "kafka_liveness": KAFKA,
    "kafka_scenarios": KAFKA,
    "transactions": TRANSACTIONS,
    "transactions_liveness": TRANSACTIONS,
}
SHARED = (("kafka", "kafka_liveness", "kafka_scenarios"), ("transactions", "transactions_liveness"))
"""The models that share a table."""


def needed(words: str | Callable[..., str]) -> set[str]:
    """The arguments that the words of an action take: for a text, any of them; for a function, all."""
    if isinstance(words, str):
        return {name for _, name, _, _ in Formatter().parse(words) if name is not None}
    return {*list(inspect.signature(words).parameters)[1:]}


@pytest.mark.parametrize("model", TABLES)
def test_every_action_has_words(model: str) -> None:
    for action in registry.load(model)[0].actions:
        assert action.name in TABLES[model], f"{model}: no words for {action.name}"
        parameters = {one.name for one in action.parameters}
        words = TABLES[model][action.name].words
        fits = needed(words) <= parameters if isinstance(words, str) else needed(words) == parameters
        assert fits, f"{model}: the words of {action.name} take {needed(words)}, not {parameters}"


@pytest.mark.parametrize("models", SHARED)
def test_no_words_are_left_over(models: tuple[str, ...]) -> None:
    names = {action.name for model in models for action in registry.load(model)[0].actions}
    assert TABLES[models[0]].keys() == names


@pytest.mark.parametrize("model", ["kafka", "transactions"])
def test_words_are_one_clause_that_a_headline_can_end_with(model: str) -> None:
    texts = [view.words for view in TABLES[model].values() if isinstance(view.words, str)]
    assert len(texts) > len(TABLES[model]) / 2
    for words in texts:
        assert not {":", ";"} & set(words) and words[0].islower() and words[-1] != "."


def test_another_model_has_the_names_of_its_actions() -> None:
    assert steps_in_words(trace.weak_isr())[:3] == [
        "the beginning",
        "controller elects leader 0",
        "controller shrinks isr 1",
    ]


@pytest.mark.parametrize(
    ("models", "silent"),
    [
        (("kafka",), {"leader_shrinks_isr"}),
        (("transactions", "transactions_liveness"), {"producer_begins_transaction"}),
    ],
)
def test_every_action_has_messages(models: tuple[str, ...], silent: set[str]) -> None:
    """Except the actions that send nothing, or only what the states show."""
    names = {action.name for model in models for action in registry.load(model)[0].actions}
    assert {name for name in names if TABLES[models[0]][name].messages is None} == silent


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
    shown = {**KAFKA, **TRANSACTIONS}
    lossy = {name for name, view in shown.items() if view.loses_message}
    with_budget = {"broker_loses_disk", "broker_loses_disk_while_it_fetches", "broker_loses_power"}
    with_budget |= {"last_record_is_lost", "connection_is_lost", "connection_is_lost_past_deadline"}
    assert {name for name in names if "lost" in name or "loses" in name} - with_budget == lossy

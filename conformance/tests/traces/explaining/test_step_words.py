"""Steps in plain words: every action of Kafka's models has words, which fit its parameters."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from string import Formatter

import pytest

from conformance.tests.support import trace
from conformance.tests.support.golden import steps_of
from isrcheck.models import registry
from isrcheck.models.kafka.failures.catalogue import failures
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


def words_of(number: str) -> list[str]:
    history = next(one.history for one in failures() if one.number == number)
    assert history is not None
    return steps_in_words(steps_of(history))


def test_a_missed_demotion_in_words() -> None:
    assert words_of("8.24") == [
        "the beginning",
        "the producer sends record a to broker 0, which appends it",
        "broker 0 answers the fetch of broker 2",
        "broker 2 appends record a from the answer of broker 0",
        "broker 2 asks broker 0 for more, and so tells it how far it has come",
        "the controller moves the leadership to broker 1, in a preferred election",
        "the controller takes broker 1 for dead, and elects broker 0",
        "the controller takes broker 0 for dead, and elects broker 2",
        "broker 0 hears that it leads, in epoch 2",
        "broker 1 hears that it leads, in epoch 1",
        "broker 2 hears that broker 1 leads, in epoch 1",
        "broker 2 asks broker 1 where their logs part",
    ]


def test_a_stale_record_in_words() -> None:
    assert words_of("8.25") == [
        "the beginning",
        "the producer sends record a to broker 0, which appends it",
        "broker 0 answers the fetch of broker 1",
        "broker 0 asks the controller to take broker 2 out of the ISR",
        "broker 1 appends record a from the answer of broker 0",
        "the controller makes brokers 0 and 1 the ISR, as broker 0 asks",
        "broker 0 hears that its change of the ISR is granted",
        "broker 0 answers the fetch of broker 2",
        "broker 1 asks broker 0 for more, and so tells it how far it has come",
        "the controller makes brokers 0, 1 and 2 the ISR, as broker 0 asks",
        "broker 0 reads in the metadata that the ISR is brokers 0 and 1",
        "broker 0 crashes",
        "the controller gives up on broker 0, which is down, and elects broker 2",
    ]


def test_a_hanging_transaction_in_words() -> None:
    assert words_of("8.17a") == [
        "the beginning",
        "producer 0 begins transaction a",
        "producer 0 adds partition 0 to its transaction",
        "the coordinator's log now says that partition 0 belongs to the transaction",
        "producer 0 sends the record of transaction a to partition 0",
        "producer 0 asks to abort",
        "the coordinator takes the abort request of producer 0",
        "the application stops",
        "the coordinator's log now says that the transaction is to be aborted",
        "the coordinator sends the abort marker to partition 0",
        "partition 0 takes the abort marker",
        "the coordinator hears that partition 0 has its marker",
        "partition 0 appends the record of transaction a, which arrives late",
    ]


def test_another_model_has_the_names_of_its_actions() -> None:
    assert steps_in_words(trace.weak_isr())[:3] == [
        "the beginning",
        "controller elects leader 0",
        "controller shrinks isr 1",
    ]

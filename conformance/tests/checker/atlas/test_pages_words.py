"""The words of the pages of the atlas: what each cell says about an answer."""

from __future__ import annotations

import pytest

from conformance.tests.checker.atlas.small_record import (
    FARTHER,
    HOLDS,
    OPEN,
    THREE,
    TO_DEPTH,
    failing,
    found,
    part,
    works,
)
from isrcheck.checker.atlas.pages.words import Grave, available, exposures, said, said_of, survived
from isrcheck.checker.questions.question import Question, Topic
from isrcheck.checker.results.verdict import Word


@pytest.mark.parametrize(
    ("topic", "finding", "grave", "text"),
    [
        (Topic.LOSS, HOLDS, Grave.TO_THE_END, "no loss, to the end"),
        (Topic.LOSS, TO_DEPTH, Grave.TO_DEPTH, "no loss to depth 10"),
        (Topic.LOSS, failing("acks_1"), Grave.ALLOWED, "lost after 3 steps: your settings allow this"),
        (Topic.LOSS, failing("missed_demotion"), Grave.BROKEN, "lost after 11 steps, against Kafka's promise"),
        (Topic.LOSS, OPEN, Grave.OPEN, "not decided; nothing found to depth 7"),
        (Topic.LOSS, None, Grave.OPEN, "not recorded"),
        (Topic.POWER, failing("whole_isr_loses_power"), Grave.ALLOWED, "lost after 6 steps: not promised"),
        (Topic.POWER, failing("acks_1"), Grave.ALLOWED, "lost after 3 steps: your settings allow this"),
        (Topic.ORDER, HOLDS, Grave.TO_THE_END, "in order, to the end"),
        (Topic.ORDER, found(Word.NOT_APPLICABLE, note="why"), Grave.NOTHING, "not asked here"),
    ],
)
def test_the_words_of_an_answer(topic, finding, grave, text):
    words = said(topic, finding)
    assert (words.grave, words.text) == (grave, text)


@pytest.mark.parametrize(
    ("findings", "grave", "text"),
    [
        (THREE, Grave.FACT, "with up to 1 down"),
        (works((1, 0), (0, 2)), Grave.FACT, "only with all brokers up"),
        (works((1, 0), (2, 0)), Grave.FACT, "with up to 1 down"),
        (works((0, 1)), Grave.BROKEN, "never, even with all brokers up"),
        ({0: None}, Grave.OPEN, "not recorded"),
        ({0: OPEN}, Grave.OPEN, "not decided"),
        ({0: works((1, 0))[0], 1: None}, Grave.OPEN, "only with all brokers up; with 1 down: not recorded"),
        ({0: works((1, 0))[0], 1: OPEN}, Grave.OPEN, "only with all brokers up; with 1 down: not decided"),
    ],
)
def test_the_words_about_brokers_that_are_down(findings, grave, text):
    words = available({Question(Topic.WRITES, down): finding for down, finding in findings.items()})
    assert (words.grave, words.text) == (grave, text)


SURVIVED = found(Word.REACHED, part(Word.REACHED))
GONE = found(Word.UNREACHABLE, part(Word.REACHED, choices=2), part(Word.UNREACHABLE))
NOT_DEEP_ENOUGH = found(Word.NOT_REACHED, part(Word.NOT_REACHED, 9))


@pytest.mark.parametrize(
    ("findings", "grave", "text"),
    [
        ({}, Grave.NOTHING, "not asked here"),
        ({1: GONE}, Grave.ALLOWED, "none, because one can have the only copy: your settings allow this"),
        ({1: SURVIVED, 2: GONE}, Grave.FACT, "up to 1 broker"),
        ({1: SURVIVED, 2: SURVIVED, 3: GONE}, Grave.FACT, "up to 2 brokers"),
        ({1: None, 2: GONE}, Grave.OPEN, "not recorded"),
        ({1: OPEN, 2: GONE}, Grave.OPEN, "not decided"),
        ({1: NOT_DEEP_ENOUGH, 2: GONE}, Grave.OPEN, "not decided"),
        ({1: SURVIVED, 2: None}, Grave.OPEN, "up to 1 broker; with 2 lost: not recorded"),
        ({1: SURVIVED, 2: SURVIVED, 3: OPEN}, Grave.OPEN, "up to 2 brokers; with 3 lost: not decided"),
    ],
)
def test_the_words_about_lost_brokers(findings, grave, text):
    words = survived({Question(Topic.SURVIVES, lost): finding for lost, finding in findings.items()})
    assert (words.grave, words.text) == (grave, text)


UNMODELLED = found(Word.NOT_APPLICABLE, note="the model has no such thing")


@pytest.mark.parametrize(
    ("findings", "grave", "text"),
    [
        ({}, Grave.NOTHING, "none known"),
        ({"stale_record": HOLDS}, Grave.TO_THE_END, "not exposed, to the end"),
        ({"stale_record": HOLDS, "missed_demotion": FARTHER}, Grave.TO_DEPTH, "not exposed, to depth 14"),
        # The failure takes 11 steps: ten say nothing about it.
        ({"stale_record": HOLDS, "missed_demotion": TO_DEPTH}, Grave.OPEN, "1 known defect not decided"),
        (
            {"stale_record": HOLDS, "new_incarnation": UNMODELLED},
            *(Grave.TO_THE_END, "not exposed, to the end; 1 not searched"),
        ),
        ({"new_incarnation": UNMODELLED}, Grave.NOTHING, "1 not searched"),
        # A loss that the settings permit says nothing about a failure that breaks a promise.
        ({"new_incarnation": failing("minimum_of_one")}, Grave.TO_THE_END, "not exposed, to the end"),
        ({"stale_record": OPEN, "missed_demotion": HOLDS}, Grave.OPEN, "1 known defect not decided"),
        (
            {"stale_record": None, "missed_demotion": failing("missed_demotion")},
            *(Grave.BROKEN, "exposed to 1 known defect; 1 not decided"),
        ),
    ],
)
def test_the_words_about_known_defects(findings, grave, text):
    asked = {Question(Topic.DEFECT, name=name): finding for name, finding in findings.items()}
    words = said_of(exposures(asked))
    assert (words.grave, words.text) == (grave, text)

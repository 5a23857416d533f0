"""`isrcheck doctor` is held against the right answers (expert.toml) of an expert of Kafka who did not look at it.

A claim that contradicts the expert fails; what is undecided contradicts nothing, and the last tests count what was
compared. Where the program still differs, the table says why (`differs`), and the list of these is exact.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import pytest

from conformance.tests.checker.answers.expert import (
    NOT_RECORDED,
    Comparison,
    Doctor,
    Expert,
    compare_answer,
    compare_read,
    experts,
    lacking_words,
    wrong_words,
)
from isrcheck.checker.answers.recorded import Recorded
from isrcheck.checker.answers.searching import searcher_of
from isrcheck.checker.cluster.property_files import PropertiesError
from isrcheck.checker.resources.limits import Limits

pytestmark = pytest.mark.xdist_group("expert")

READ_FACTS = 918
"""Facts and known failures that were compared without a search, all of them."""

LEAST_ANSWERED_FACTS = 1700
"""Facts that were compared with what the record answers; more are allowed, for the record grows."""

LEAST_TEXTS = 86
"""Answers whose words were looked for; more are allowed."""

DIFFERS: dict[str, list[str]] = {}
"""The facts in which the program still differs from the expert; the table says why."""

SEARCHED = (
    "one-replica-acks-all-3.9",
    "one-replica-defaults-2.8-zookeeper",
    "one-replica-flush-every-message-4.1",
    "two-replicas-min-1-acks-all-3.9",
    "two-replicas-min-2-acks-all-2.1-zookeeper",
    "two-replicas-min-2-acks-1-3.7",
)
"""A sample of clusters that are small enough to be searched in some seconds for each question."""

SECONDS = 5.0
"""The limit of the searches of a question."""


@dataclass(frozen=True)
class Held:
    """A right answer, and what the command says: the refusal, or the answers with what was compared."""

    expert: Expert
    refusal: str
    doctor: Doctor | None
    of_files: Comparison
    of_answer: Comparison

    @property
    def different(self) -> dict[str, str]:
        """Every difference in a fact."""
        return self.of_files.different | self.of_answer.different


class _Holding:
    """Holds each right answer against the command, once."""

    def __init__(self, folders, find):
        self.folders, self.find = folders, find
        self._held = {}

    def __call__(self, expert: Expert) -> Held:
        if expert.name not in self._held:
            self._held[expert.name] = self._hold(expert)
        return self._held[expert.name]

    def _hold(self, expert):
        try:
            reading = expert.read(self.folders.mktemp("files"))
        except PropertiesError as error:
            return Held(expert, str(error), None, Comparison(), Comparison())
        doctor = Doctor.of(reading, self.find)
        return Held(expert, "", doctor, compare_read(expert, reading), compare_answer(expert, doctor))


@pytest.fixture(scope="module")
def hold(tmp_path_factory):
    return _Holding(tmp_path_factory, Recorded().find)


def is_answered(held: Held) -> bool:
    """Whether every question has a recorded answer: else the words that follow from one may be missing."""
    return held.doctor is not None and NOT_RECORDED not in held.doctor.whole


def explained(held: Held) -> dict[str, str]:
    """The differences that the table does not explain."""
    return {name: says for name, says in held.different.items() if name not in held.expert.differs}


@pytest.mark.whole
@pytest.mark.parametrize("expert", experts(), ids=lambda one: one.name)
def test_an_answer_agrees_with_the_expert(hold, expert):
    held = hold(expert)
    if held.doctor is None:
        assert expert.refused, f"isrcheck refuses the files: {held.refusal}"
        assert list(lacking_words(expert, held.refusal)) == [], held.refusal
        return
    assert not expert.refused, f"isrcheck reads the files, although {expert.refused}"
    assert explained(held) == {}
    if is_answered(held):
        assert list(lacking_words(expert, held.doctor.whole)) == [], held.doctor.whole
    assert list(wrong_words(expert, held.doctor.short)) == [], held.doctor.short


@pytest.mark.sampled
def test_every_fact_of_the_files_is_compared(hold):
    assert sum(len(hold(one).of_files.compared) for one in experts()) == READ_FACTS


@pytest.mark.sampled
def test_enough_facts_are_compared_with_what_is_recorded(hold):
    """An outdated record answers nothing, so that this fails; models/kafka/atlas/README.md says how it is made anew."""
    answered = [hold(one).of_answer for one in experts()]
    count = sum(len(one.compared) for one in answered)
    left = Counter(name for one in answered for name in one.undecided)
    assert count >= LEAST_ANSWERED_FACTS, f"{count} compared; undecided: {left.most_common(10)}"


def test_enough_texts_are_compared(hold):
    """As above: the words of an answer are looked for where all of it is recorded."""
    assert sum(is_answered(hold(one)) for one in experts() if one.must_say_words) >= LEAST_TEXTS


def test_what_differs_is_listed(hold):
    found = {one.name: sorted(hold(one).different) for one in experts()}
    assert {name: differs for name, differs in found.items() if differs} == DIFFERS
    assert {one.name: sorted(one.differs) for one in experts() if one.differs} == DIFFERS


EXPERTS, REFUSED = 242, 15
"""The rows of the table, and those of them whose files are refused."""


def test_the_table_is_whole():
    names = [one.name for one in experts()]
    assert len(names) == len(set(names)) == EXPERTS
    assert sum(bool(one.refused) for one in experts()) == REFUSED


@pytest.mark.recorded
@pytest.mark.parametrize("name", SEARCHED)
def test_a_search_agrees_with_the_expert(tmp_path_factory, name):
    """What is not recorded is searched, within some seconds."""
    expert = next(one for one in experts() if one.name == name)
    recorded, limits = Recorded(), Limits(seconds=SECONDS)

    def find(case, question):
        return recorded.find(case, question) or searcher_of(Limits()).answer(case, question, limits)

    held = _Holding(tmp_path_factory, find)(expert)
    assert explained(held) == {}
    assert len(held.of_answer.compared) > len(held.of_answer.undecided)

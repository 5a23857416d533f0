"""Every scenario proves that what it searches can happen: its witnesses, and what an answer is without them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from isrcheck.checker.answers.findings import Result, Search, assembled
from isrcheck.checker.answers.planning import of_instance, planned, search_of, witnesses
from isrcheck.checker.answers.questions import Question, Topic, why_unasked
from isrcheck.checker.answers.recorded import Record
from isrcheck.checker.atlas.cells import clusters
from isrcheck.checker.resources.limits import Limits
from isrcheck.checker.results.verdict import Word
from isrcheck.models.kafka.generations import MODEL

pytestmark = pytest.mark.sampled

FAULTS = (Topic.LOSS, Topic.POWER, Topic.POWER_OF_ALL, Topic.DISK, Topic.DUPLICATES, Topic.ORDER)


def answer(searcher, *searches):
    """The answer to a question with these searches."""
    found = assembled(searches, lambda at: searcher.result(searches[at], Limits()))
    return found.word, found.note


def resends_of(**values):
    """The search for records that change their order, in a cluster with KRaft and two replicas."""
    entries = {"replicas": 2, "retries": 1, "max_in_flight_requests": 1, "records": 2, "log_size": 2, "elections": 1}
    instance = MODEL.instance("3.7", entries | {"crashes": 0, "fencings": 0, "partition_changes": 2} | values)
    return search_of("a request is sent again", instance, "order_preserved")


def test_an_election_that_nothing_can_cause_is_no_scenario(searcher):
    """With KRaft, an election needs a crash or a session that expires. Without one, no fail-over can reorder anything,
    and the search holds: so it was for every KRaft release until November 2026."""
    vacuous, sound = resends_of(), resends_of(crashes=1)
    assert answer(searcher, vacuous) == (Word.HOLDS, "")
    assert answer(searcher, vacuous, *witnesses([vacuous])) == (
        Word.UNDECIDED,
        "within its bounds, the search does not reach what it must be able to reach:"
        " a leader is elected after an acknowledgement",
    )
    assert answer(searcher, sound, *witnesses([sound])) == (Word.HOLDS, "")


@pytest.mark.parametrize(
    ("values", "goal"),
    [
        ({"min_insync_replicas": 3}, "a record is acknowledged"),
        ({"partition_changes": 0, "crashes": 1}, "a leader is elected after an acknowledgement"),
        ({"crashes": 1, "partition_changes": 1, "min_insync_replicas": 2}, "a request is sent again to another leader"),
    ],
)
def test_what_cannot_happen_is_named(searcher, values, goal):
    """More replicas in sync than there are (before 3.7); no change of the ISR; no write after the fail-over."""
    scenario = resends_of(**values)
    if "min_insync_replicas" in values and values["min_insync_replicas"] == 3:
        instance = MODEL.instance("3.3", dict(scenario.instance.configuration.items()) | {"HW_MINISR_GATE": 0})
        scenario = of_instance(scenario, instance)
    word, note = answer(searcher, scenario, *witnesses([scenario]))
    assert word is Word.UNDECIDED
    assert note.endswith(f"what it must be able to reach: {goal}")


def result(word, prop="", **values):
    return Result(prop, word, None, 5, is_exhausted=True, states=1, **values)


SEARCH, WITNESS = Search("", "kafka", "3.7", "", "acked_not_lost"), Search("", "kafka", "3.7", "", "", is_witness=True)


@pytest.mark.parametrize(
    ("witness", "word"),
    [
        (result(Word.REACHED), Word.HOLDS),
        (result(Word.NOT_REACHED, "a_goal"), Word.UNDECIDED),
        (result(Word.UNREACHABLE, "a_goal"), Word.UNDECIDED),
        (result(Word.UNDECIDED, "a_goal", stopped="seconds"), Word.UNDECIDED),
    ],
)
def test_an_answer_needs_its_witnesses(witness, word):
    found = assembled([SEARCH, WITNESS], [result(Word.HOLDS), witness].__getitem__)
    assert (found.word, len(found.parts), len(found.witnesses)) == (word, 1, 1)
    assert bool(found.note) is (word is Word.UNDECIDED)


def test_a_failure_is_its_own_witness():
    results = [replace(result(Word.VIOLATED, "acked_not_lost"), depth=5)]
    found = assembled([SEARCH, WITNESS], results.__getitem__)
    assert (found.word, found.depth, found.witnesses) == (Word.VIOLATED, 5, ())


def test_a_witness_is_another_search_than_one_for_promises():
    assert replace(WITNESS, is_witness=False).identity != WITNESS.identity


def questions():
    """Every kind of released cluster, with one and two replicas, and every question about its faults."""
    kinds = {one.case: one for one in clusters()}
    for one in kinds.values():
        for replicas, least in ((1, 1), (2, 1), (2, 2)):
            in_flight = 1 if dict(one.case.numbering)["remembered_batches"] == 1 else 5
            case = replace(one.case, replication_factor=replicas, min_insync_replicas=least)
            case = replace(case, max_in_flight_requests=in_flight)
            for idempotent in (True, False) if case.has_record_epochs else (False,):
                for topic in FAULTS:
                    if idempotent or topic in (Topic.DUPLICATES, Topic.ORDER):
                        yield one, replace(case, enable_idempotence=idempotent), Question(topic)
                    elif not case.has_record_epochs:
                        yield one, replace(case, enable_idempotence=False), Question(topic)


def parameter(place, cluster, case, question):
    kind = "idempotent" if case.enable_idempotence else "plain"
    text = f"{cluster.release} {cluster.mode} {case.replication_factor}/{case.min_insync_replicas} {kind}"
    marks = [] if place % 45 == 0 else [pytest.mark.exhaustive if place % 9 == 0 else pytest.mark.recorded]
    return pytest.param(case, question, id=f"{text} {question.text}", marks=marks)


EVERY = [parameter(place, *one) for place, one in enumerate(questions())]


@pytest.mark.parametrize(("case", "question"), EVERY)
def test_every_scenario_can_happen(ask, case, question):
    """Of every kind of cluster: either something fails, or everything that the search has to reach is reached."""
    if why_unasked(case, question):
        assert planned(case, question) == why_unasked(case, question)
        return
    found = ask(case, question)
    assert found.word is not Word.UNDECIDED, found.note
    assert found.fails or [result.word for _, result in found.witnesses] == [Word.REACHED] * len(found.witnesses) != []


ENOUGH_ANSWERS = 500
"""Fewer would mean that the record names its questions in another way."""


def test_no_recorded_answer_lacks_a_witness():
    """Every answer of the record in which nothing fails has its witnesses, and they are reached."""
    record = Record()
    kinds = {"loss", "power", "power-of-all", "disk", "duplicates", "order"}
    searches, count = record.every_search(), 0
    for name, group in record.groups().items():
        for settings, numbers in group["cells"].items():
            if name.split(" | ")[0] not in kinds or isinstance(numbers, str):
                continue
            answers = [searches[number] for number in numbers]
            if any(one["word"] in (Word.VIOLATED.value, Word.PERMITTED.value) for one in answers):
                continue
            shown = [one for one in answers if one.get("is_witness")]
            assert shown, (name, settings)
            count += 1
    assert count > ENOUGH_ANSWERS

"""Answers from the record: the same as by search, and never from a record of something else."""

from __future__ import annotations

import json
import math

import pytest

from isrcheck.checker.atlas.cells import Cell
from isrcheck.checker.atlas.compute import Computing, compute
from isrcheck.checker.atlas.record import write_record
from isrcheck.checker.questions.case import Case
from isrcheck.checker.questions.concerns import key_of
from isrcheck.checker.questions.finding import Source
from isrcheck.checker.questions.question import Question, Topic
from isrcheck.checker.questions.recorded import Recorded
from isrcheck.checker.resources.limits import Limits
from isrcheck.checker.results.verdict import Word
from isrcheck.models.kafka.atlas.catalogue import Record

LOSS = Question(Topic.LOSS)
LOSES, KEEPS = Case("2.4", acks="1"), Case("2.4", replication_factor=1)
LARGE = Case("2.4", acks="1", replication_factor=5)
UNKNOWN = Question(Topic.DEFECT, name="fetch_session_without_epoch")


class Unasked:
    """Answers nothing, and keeps what it was asked."""

    def __init__(self):
        self.asked = []

    def answer(self, case, question, limits):
        self.asked.append((case, question, limits))
        raise LookupError


@pytest.fixture(scope="session")
def written(searcher, tmp_path_factory):
    """A record of three cells, from two searches and a witness."""
    folder = tmp_path_factory.mktemp("atlas")
    cells = [Cell(key_of(case, LOSS), case, LOSS) for case in (LOSES, KEEPS, LARGE)]
    computing = Computing(folder / "results.jsonl", {}, lambda scenario: searcher.result(scenario, Limits()))
    compute(computing, cells, math.inf)
    assert [computing.missing(cell) for cell in cells] == [None, None, None]
    assert write_record(folder / "record.jsonl", cells, computing.known, 60.0) == (3, 3)
    return folder / "record.jsonl"


@pytest.fixture
def altered(written, tmp_path):
    """The record with another header, or with other text."""

    def alter(change=lambda text: text, **header):
        first, rest = written.read_text().split("\n", 1)
        path = tmp_path / "record.jsonl"
        path.write_text(json.dumps(json.loads(first) | header) + "\n" + change(rest))
        return Record(path)

    return alter


@pytest.mark.parametrize("case", [LOSES, KEEPS], ids=["loses", "keeps"])
def test_a_recorded_answer_is_that_of_the_search(ask, written, case):
    recorded = Recorded(Unasked(), Record(written)).answer(case, LOSS, Limits())
    searched = ask(case, LOSS)
    assert (recorded.source, recorded.recorded[:2]) == (Source.RECORDED, "20")
    assert (recorded.word, recorded.depth, recorded.history) == (searched.word, searched.depth, searched.history)
    assert recorded.parts == searched.parts


def test_a_case_with_more_replicas_is_answered_by_the_rule(ask, written):
    case = Case("2.1", acks="1", replication_factor=5, leader_rebalance=True, flushes_every_message=True)
    found, searched = Recorded(Unasked(), Record(written)).answer(case, LOSS, Limits()), ask(case, LOSS)
    assert found is not None
    assert (found.source, found.rule, found.parts) == (Source.RULE, searched.rule, searched.parts)
    assert found.recorded


def test_what_is_not_recorded_is_asked_of_another(written):
    other = Unasked()
    with pytest.raises(LookupError):
        Recorded(other, Record(written)).answer(Case("3.7"), LOSS, Limits(seconds=7.0))
    with pytest.raises(LookupError):
        Recorded(other, Record(written)).answer(LOSES, LOSS, Limits(depth=2))
    assert other.asked == [(Case("3.7"), LOSS, Limits(seconds=7.0)), (LOSES, LOSS, Limits(depth=2))]


def test_what_no_model_expresses_needs_no_record(written):
    found = Recorded(Unasked(), Record(written)).answer(Case("2.1"), UNKNOWN, Limits())
    assert found.word is Word.NOT_APPLICABLE


def test_a_record_of_the_same_searches_is_used_even_if_a_comment_has_changed(altered):
    recorded = Recorded(Unasked(), altered(texts="0" * 64))
    assert recorded.answer(LOSES, LOSS, Limits()).word is Word.PERMITTED
    assert recorded.outdated == ""


def test_a_record_of_another_model_is_not_used(altered):
    recorded = Recorded(Unasked(), altered(texts="0" * 64, models={"kafka": "0" * 64}))
    with pytest.raises(LookupError):
        recorded.answer(LOSES, LOSS, Limits())
    assert recorded.outdated == "the model kafka has changed since the record was made"


def test_a_record_of_other_searches_is_not_used(altered):
    record = altered(lambda text: text.replace("records=1 ", "records=2 "), texts="0" * 64)
    recorded = Recorded(Unasked(), record)
    with pytest.raises(LookupError):
        recorded.answer(LOSES, LOSS, Limits())
    assert recorded.outdated == "the searches for this question have changed since the record was made"


def test_without_a_record_everything_is_searched(monkeypatch):
    from isrcheck.checker.questions import recorded as room

    def missing():
        raise FileNotFoundError

    monkeypatch.setattr(room, "Record", missing)
    with pytest.raises(LookupError):
        Recorded(Unasked()).answer(LOSES, LOSS, Limits())


def test_a_result_that_a_limit_has_cut_short_is_recorded_as_undecided(searcher, tmp_path):
    cell = Cell(key_of(KEEPS, LOSS), KEEPS, LOSS)
    computing = Computing(
        tmp_path / "results.jsonl", {}, lambda scenario: searcher.result(scenario, Limits(seconds=0.0))
    )
    compute(computing, [cell], math.inf)
    path = tmp_path / "record.jsonl"
    assert write_record(path, [cell], computing.known, 0.0) == (1, 2)
    found = Recorded(Unasked(), Record(path)).answer(KEEPS, LOSS, Limits())
    assert (found.word, found.source, found.recorded[:2]) == (Word.UNDECIDED, Source.RECORDED, "20")
    assert {part.stopped for part in found.parts} == {"seconds"}

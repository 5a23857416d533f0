"""Answers from the record: the same as by search, and never from a record of something else."""

from __future__ import annotations

import json
import subprocess
import sys
from unittest.mock import Mock

import pytest

from conformance.tests.checker.answers.fake import Fake
from conformance.tests.support.places import PROJECT
from isrcheck.checker.answers.answerers import FromTheAtlas
from isrcheck.checker.answers.findings import Source, without_search
from isrcheck.checker.answers.questions import Case, Question, Topic, key_of
from isrcheck.checker.answers.recorded import Record, Recorded
from isrcheck.checker.atlas.cells import Cell
from isrcheck.checker.atlas.compute import Computing, write_record
from isrcheck.checker.resources.limits import Limits
from isrcheck.checker.results.verdict import Word

LOSS = Question(Topic.LOSS)
LOSES, KEEPS = Case("2.4", acks="1"), Case("2.4", replication_factor=1)
LARGE = Case("2.4", acks="1", replication_factor=5)
UNKNOWN = Question(Topic.DEFECT, name="fetch_session_without_epoch")


@pytest.fixture(scope="session")
def written(searcher, tmp_path_factory):
    """A record of three cells, from two searches and a witness."""
    folder = tmp_path_factory.mktemp("atlas")
    cells = [Cell(key_of(case, LOSS), case, LOSS) for case in (LOSES, KEEPS, LARGE)]
    computing = Computing(folder / "results.jsonl", {}, lambda search: searcher.result(search, Limits()))
    computing.answer(cells)
    assert [computing.missing(cell) for cell in cells] == [None, None, None]
    assert write_record(folder / "record.jsonl", cells, computing.results, 60.0) == (3, 3)
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
    recorded = Recorded(Record(written)).find(case, LOSS)
    searched = ask(case, LOSS)
    assert (recorded.source, recorded.recorded[:2]) == (Source.RECORDED, "20")
    assert (recorded.word, recorded.depth, recorded.history) == (searched.word, searched.depth, searched.history)
    assert recorded.parts == searched.parts


def test_a_case_with_more_replicas_is_answered_by_the_rule(ask, written):
    case = Case("2.1", acks="1", replication_factor=5, leader_rebalance=True, flushes_every_message=True)
    found, searched = Recorded(Record(written)).find(case, LOSS), ask(case, LOSS)
    assert found is not None
    assert (found.source, found.rule, found.parts) == (Source.RULE, searched.rule, searched.parts)
    assert found.recorded


def test_what_is_not_recorded_is_searched_and_so_is_what_is_asked_to_a_depth(written):
    other = Fake(lambda case, question: without_search(Word.NOT_APPLICABLE, "asked of another"))
    answerer = FromTheAtlas(other, Record(written))
    assert answerer.answer(LOSES, LOSS, Limits()).word is Word.PERMITTED
    assert other.asked == []
    answerer.answer(Case("3.7"), LOSS, Limits(seconds=7.0))
    answerer.answer(LOSES, LOSS, Limits(depth=2))
    assert (other.asked, other.seconds) == ([(Case("3.7"), LOSS), (LOSES, LOSS)], [7.0, None])


def test_what_no_model_expresses_needs_no_record(written):
    found = Recorded(Record(written)).find(Case("2.1"), UNKNOWN)
    assert found.word is Word.NOT_APPLICABLE


def test_a_record_of_the_same_searches_is_used_even_if_a_comment_has_changed(altered):
    recorded = Recorded(altered(texts="0" * 64))
    assert recorded.find(LOSES, LOSS).word is Word.PERMITTED
    assert recorded.outdated == ""


def test_a_record_of_another_model_is_not_used(altered):
    recorded = Recorded(altered(texts="0" * 64, models={"kafka": "0" * 64}))
    assert recorded.find(LOSES, LOSS) is None
    assert recorded.outdated == "the model kafka has changed since the record was made"


def test_a_record_of_other_searches_is_not_used(altered):
    recorded = Recorded(altered(lambda text: text.replace("records=1 ", "records=2 "), texts="0" * 64))
    assert recorded.find(LOSES, LOSS) is None
    assert recorded.outdated == "the searches for this question have changed since the record was made"


def test_without_a_record_everything_is_searched(monkeypatch):
    monkeypatch.setattr("isrcheck.checker.answers.recorded.Record", Mock(side_effect=FileNotFoundError))
    assert Recorded().find(LOSES, LOSS) is None


def test_a_result_that_a_limit_has_cut_short_is_recorded_as_undecided(searcher, tmp_path):
    cell = Cell(key_of(KEEPS, LOSS), KEEPS, LOSS)
    computing = Computing(tmp_path / "results.jsonl", {}, lambda search: searcher.result(search, Limits(seconds=0.0)))
    computing.answer([cell])
    path = tmp_path / "record.jsonl"
    assert write_record(path, [cell], computing.results, 0.0) == (1, 2)
    found = Recorded(Record(path)).find(KEEPS, LOSS)
    assert (found.word, found.source, found.recorded[:2]) == (Word.UNDECIDED, Source.RECORDED, "20")
    assert {result.stopped for _, result in found.parts} == {"seconds"}


def test_a_recorded_answer_loads_no_engine(tmp_path):
    """To import an engine takes longer than to answer from the record."""
    topic = tmp_path / "topic.properties"
    topic.write_text("replication.factor=3\nmin.insync.replicas=2\nacks=all\n", encoding="utf-8")
    engines = {"numpy", "numba", "llvmlite", "z3", "pyspark", "networkx", "isrcheck.models.kafka.generations"}
    code = (
        "import sys; from isrcheck.checker import cli; code = cli.main(sys.argv[1:]);"
        f" print(code, sorted({engines} & sys.modules.keys()))"
    )
    words = [sys.executable, "-c", code, "doctor", str(topic), "--kafka-version", "4.1"]
    done = subprocess.run(words, cwd=PROJECT, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[0].startswith("Keeps its promises, but for 12 known defects of this release")
    assert done.stdout.splitlines()[-1] == "12 []"

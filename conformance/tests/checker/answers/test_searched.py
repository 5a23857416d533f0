"""`check doctor` with real searches: the smallest cases, and larger budgets.

Searches side by side: the same results as one after the other, in processes that can be lost and interrupted.
"""

from __future__ import annotations

import json
import os
import pickle
import signal
from typing import ClassVar

import pytest

from conformance.tests.checker.answers.fake import finding
from conformance.tests.support.engine import checking
from isrcheck.checker import cli
from isrcheck.checker.answers import answerers, recorded
from isrcheck.checker.answers.answerers import Searches
from isrcheck.checker.answers.planning import of_instance, planned
from isrcheck.checker.answers.questions import Case, Question, Topic
from isrcheck.checker.answers.recorded import Record
from isrcheck.checker.answers.searching import Searcher, SideBySide, searcher_of
from isrcheck.checker.resources.limits import Limits
from isrcheck.checker.results.verdict import Word

pytestmark = pytest.mark.sampled

TOPIC = "replication.factor=2\nmin.insync.replicas=1\nacks=1\nretries=0\nauto.leader.rebalance.enable=false\n"


@pytest.fixture
def ask_json(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "topic.properties").write_text(TOPIC)
    check = checking(cli.main, capsys)

    def ask(line):
        words = f"doctor topic.properties --kafka-version 2.6 --seconds 600 --fresh --json {line}"
        code, out, _ = check(*words.split())
        return code, json.loads(out)

    return ask


@pytest.mark.exhaustive
def test_a_loss_and_what_prevents_it_are_searched(ask_json):
    code, content = ask_json("--details")
    assert (code, content["headline"], content["verdict"]) == (0, "Can lose acknowledged records", "PERMITTED")
    (answer,) = content["answers"]
    loss = [answer["findings"]["loss"][name] for name in ("word", "depth", "source", "needs")]
    assert loss == ["PERMITTED", 2, "searched", {"elections": 1}]
    assert answer["how"] == "An acknowledged record is lost: broker 1 is elected before it has the record"
    (change,) = answer["changes"]
    assert (change["change"], change["finding"]["word"]) == ("acks=all and min.insync.replicas=2", "HOLDS")
    assert [one["number"] for one in answer["defects"] if one["finding"]["word"] == "VIOLATED"] == []
    assert [(one["writes"], one["reads"]) for one in answer["availability"]] == [("yes", "yes")] * 2


class Changed(Record):
    """The record of a model that has changed since."""

    def __init__(self):
        super().__init__()
        self.header = dict(self.header) | {"texts": "", "models": dict.fromkeys(self.header["models"], "")}


class Unreadable(Record):
    """A record that is damaged."""

    def __init__(self):
        raise ValueError


@pytest.mark.parametrize(
    ("record", "why"),
    [(Changed, "the model kafka has changed since the record was made"), (Unreadable, "it cannot be read")],
)
def test_a_record_that_does_not_count_is_told_once(tmp_path, monkeypatch, capsys, record, why):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(recorded, "Record", record)
    monkeypatch.setattr(answerers, "Searches", lambda *given: Nothing())
    (tmp_path / "topic.properties").write_text(TOPIC)
    assert cli.main(["doctor", "topic.properties", "--kafka-version", "2.6"]) == 3
    assert capsys.readouterr().err == f"the recorded answers are not used: {why}; searching again ...\n"


class Nothing:
    """Searches nothing, and finds nothing."""

    budgets: ClassVar[dict[str, int]] = {}

    def expect(self, *questions):
        """Expect nothing."""

    def answer(self, case, question, limits):
        return finding(Word.UNDECIDED)

    def close(self):
        """End nothing."""


def test_a_budget_can_be_raised_and_nothing_else(ask_json, monkeypatch, capsys):
    """Searched to the depth 1, where larger budgets show only in the bounds."""
    _, content = ask_json("--set crashes=2 --bound 1")
    (answer,) = content["answers"]
    parts = [part for name in ("loss", "power") for part in answer["findings"][name]["parts"]]
    assert parts
    assert all("crashes=2" in part["configuration"].split() for part in parts)
    assert all("crashes=2" in part["says"] for part in parts)
    assert cli.main(["doctor", "topic.properties", "--set", "acks=all"]) == 2
    assert "--set acks=all: neither a number of faults nor a size of the search;" in capsys.readouterr().err


LOSS, WRITES = Question(Topic.LOSS), Question(Topic.WRITES)
SMALL = Case("2.4", replication_factor=2, min_insync_replicas=2)
LARGE = Case("4.1", replication_factor=3, min_insync_replicas=2)


@pytest.fixture
def side_by_side():
    one = SideBySide(2, lambda: None)
    yield one
    one.close()


def every_search(case, *questions):
    return [one for question in questions for one in planned(case, question)]


CROSSING = [
    *((case, question) for case in (SMALL, LARGE) for question in (LOSS, WRITES, Question(Topic.READS, 1))),
    (Case("2.1", acks="1", replication_factor=5), LOSS),
    (LARGE, Question(Topic.DEFECT, name="stale_record")),
    (Case("4.1", transactions=(("protocol", "4.1"),)), Question(Topic.TRANSACTIONS)),
]


@pytest.mark.parametrize(("case", "question"), CROSSING, ids=[f"{one.protocol}-{two.text}" for one, two in CROSSING])
def test_a_search_crosses_the_pipe_as_text(case, question):
    """Its instance is made again from the text, and is the one of which the text was made."""
    for search in every_search(case, question):
        there = pickle.loads(pickle.dumps(search))
        assert there == search
        assert of_instance(there, there.instance) == search


def test_the_results_are_those_of_one_search_after_the_other(side_by_side):
    one_by_one = searcher_of(Limits())
    searches = every_search(SMALL, LOSS, WRITES, Question(Topic.DUPLICATES))
    side_by_side.expect([(one, 1.0) for one in searches], Limits(threads=2))
    several = Searcher(side_by_side)
    for question in (WRITES, LOSS, Question(Topic.DISK)):  # in another order, and one that was not expected
        assert several.answer(SMALL, question, Limits()) == one_by_one.answer(SMALL, question, Limits())


def test_what_was_expected_and_has_not_begun_is_forgotten(side_by_side):
    first, second, third, *_ = every_search(LARGE, LOSS)
    side_by_side.expect([(first, 1.0), (second, 1.0), (third, 1.0)], Limits(depth=1))
    wanted = every_search(SMALL, WRITES)
    side_by_side.expect([(one, 1.0) for one in wanted], Limits(depth=1))
    waiting = [one.search for one in side_by_side.waiting]
    assert waiting == wanted
    assert [one.task.search for one in side_by_side.workers] == [first, second]


def test_a_search_gets_its_share_of_the_time_that_is_left():
    one = SideBySide(2, lambda: 60.0)
    given = []
    try:
        for worker in one.workers:
            worker.begin = lambda task, limits, left, worker=worker: (
                given.append((limits.seconds, limits.threads, left)),
                setattr(worker, "task", task),
            )
        searches = every_search(LARGE, LOSS)[:3]
        one.expect(list(zip(searches, (4.0, 1.0, 1.0), strict=True)), Limits(threads=2), reserve=6.0, part=0.5)
        assert given == [(2 * 0.5 * 60 * 4 / 12, 1, 60.0), (2 * 0.5 * 60 * 1 / 8, 1, 60.0)]
    finally:
        one.close()


def test_a_search_that_is_alone_has_all_threads(side_by_side):
    threads = []
    begin = side_by_side.workers[0].begin
    side_by_side.workers[0].begin = lambda task, limits, left: (
        threads.append(limits.threads),
        begin(task, limits, left),
    )
    assert side_by_side(every_search(SMALL, LOSS)[0], Limits(threads=2)).word is Word.HOLDS
    assert threads == [2]


def test_a_process_that_is_killed_leaves_its_search_undecided_and_is_replaced(side_by_side):
    first, *_ = every_search(LARGE, LOSS)
    side_by_side.expect([(first, 1.0)], Limits())
    lost = side_by_side.workers[0].process
    os.kill(lost.pid, signal.SIGKILL)
    result = side_by_side(first, Limits())
    assert (result.word, result.judged, result.stopped) == (Word.UNDECIDED, -1, "memory")
    assert side_by_side.workers[0].process is not lost
    assert side_by_side(every_search(SMALL, WRITES)[0], Limits()).word is Word.REACHED


def test_a_limit_of_time_ends_a_search(side_by_side):
    first, *_ = every_search(LARGE, LOSS)
    assert side_by_side(first, Limits(seconds=0)).stopped == "seconds"
    assert side_by_side(first, Limits(seconds=0.3)).stopped == "seconds"
    # The result of a search that was cut short is not kept for one with more time.
    assert side_by_side(first, Limits(depth=3)).judged == 3


def test_after_an_interrupt_what_was_found_is_told_and_nothing_else_begins(side_by_side, monkeypatch):
    first, second, third, *_ = every_search(LARGE, LOSS)
    done = every_search(SMALL, WRITES)[0]
    side_by_side.expect([(done, 1.0), (first, 1.0), (second, 1.0), (third, 1.0)], Limits())
    assert side_by_side(done, Limits()).word is Word.REACHED

    def pressed(pipes):
        raise KeyboardInterrupt

    monkeypatch.setattr("isrcheck.checker.answers.searching.wait", pressed)
    result = side_by_side(second, Limits())
    assert (result.word, result.stopped) == (Word.UNDECIDED, "interrupt")
    assert side_by_side(done, Limits()).word is Word.REACHED
    with pytest.raises(KeyboardInterrupt):
        side_by_side(third, Limits())


@pytest.mark.parametrize(("threads", "count", "is_begun"), [(2, 0, False), (2, 1, False), (1, 2, False), (2, 2, True)])
def test_processes_begin_only_for_several_questions(monkeypatch, threads, count, is_begun):
    """An answer from the atlas expects nothing; one question alone has all threads in this process."""
    begun = []
    monkeypatch.setattr(SideBySide, "__init__", lambda self, processes, *more: begun.append(processes))
    monkeypatch.setattr(SideBySide, "expect", lambda self, *asked: None)
    searches = Searches(None, {}, lambda: None)
    questions = [(SMALL, question, 1.0) for question in (LOSS, WRITES)[:count]]
    searches.expect(questions, Limits(threads=threads), 0.0, 1.0)
    assert begun == [threads] * is_begun

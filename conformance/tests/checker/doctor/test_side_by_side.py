"""Searches side by side: the same results as one after the other, in processes that can be lost and interrupted."""

from __future__ import annotations

import os
import signal

import pytest

from isrcheck.checker.doctor import answering
from isrcheck.checker.doctor.asking import Expected
from isrcheck.checker.doctor.searches.side_by_side import SideBySide
from isrcheck.checker.doctor.searches.worker import scenario_of, serve
from isrcheck.checker.questions.case import Case
from isrcheck.checker.questions.planning import asked_of, planned
from isrcheck.checker.questions.question import Question, Topic
from isrcheck.checker.questions.searching import InThisProcess, Searcher
from isrcheck.checker.resources.limits import UNLIMITED, Limits
from isrcheck.checker.results.verdict import Word
from isrcheck.checker.running.session import SearchSession

LOSS, WRITES = Question(Topic.LOSS), Question(Topic.WRITES)
SMALL = Case("2.4", replication_factor=2, min_insync_replicas=2)
LARGE = Case("4.1", replication_factor=3, min_insync_replicas=2)


@pytest.fixture
def side_by_side():
    one = SideBySide(2, lambda: None, serve)
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
    for scenario in every_search(case, question):
        there = scenario_of(asked_of(scenario))
        assert asked_of(there) == asked_of(scenario)
        assert dict(there.instance.configuration.items()) == dict(scenario.instance.configuration.items())


def test_the_results_are_those_of_one_search_after_the_other(side_by_side):
    one_by_one = Searcher(InThisProcess(SearchSession(Limits(), UNLIMITED, [])))
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
    waiting = [one.scenario for one in side_by_side._waiting]
    assert waiting == wanted
    assert [one.task.scenario for one in side_by_side.workers] == [first, second]


def test_a_search_gets_its_share_of_the_time_that_is_left():
    one = SideBySide(2, lambda: 60.0, serve)
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

    def pressed():
        raise KeyboardInterrupt

    monkeypatch.setattr(side_by_side, "_take", pressed)
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
    searches = answering._Searches(None, {}, lambda: None)
    asked = [(SMALL, question, 1.0) for question in (LOSS, WRITES)[:count]]
    searches.expect(Expected(asked, Limits(threads=threads), 0.0, 1.0))
    assert begun == [threads] * is_begun

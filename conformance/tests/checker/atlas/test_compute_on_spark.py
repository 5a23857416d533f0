"""The searches of the atlas on Spark: the same results as here, and each search once."""

from __future__ import annotations

import json

from isrcheck.checker.answers.questions import Case, Question, Topic, key_of
from isrcheck.checker.answers.searching import search_on_executor, searcher_of
from isrcheck.checker.atlas.cells import Cell
from isrcheck.checker.atlas.compute import Computing, compute_on_spark, read_results
from isrcheck.checker.resources.limits import Limits

LOSS, LIMITS = Question(Topic.LOSS), Limits(seconds=60.0, memory=1 << 30)
LOSES, KEEPS = Case("2.4", acks="1"), Case("2.4", replication_factor=1)
LARGE = Case("2.4", acks="1", replication_factor=4)
"""It loses what LOSES loses: the same search answers it."""

CELLS = [Cell(key_of(case, LOSS), case, LOSS) for case in (LOSES, KEEPS, LARGE)]


def test_spark_finds_the_same_and_an_interrupted_run_goes_on(local_spark, tmp_path):
    here = Computing(tmp_path / "here.jsonl", {}, lambda search: searcher_of(LIMITS).result(search, LIMITS))
    here.answer(CELLS)

    late = Computing(tmp_path / "there.jsonl", {}, here.search)
    compute_on_spark(local_spark, late, CELLS, search_on_executor, LIMITS, seconds=0.0)
    assert late.results == {}, "nothing begins after the end of the time"
    compute_on_spark(local_spark, late, CELLS[:1], search_on_executor, LIMITS, seconds=60.0)

    there = Computing(tmp_path / "there.jsonl", read_results(tmp_path / "there.jsonl"), here.search)
    compute_on_spark(local_spark, there, CELLS, search_on_executor, LIMITS, seconds=60.0)
    assert there.results == here.results
    lines = (tmp_path / "there.jsonl").read_text(encoding="utf-8").splitlines()
    assert sorted(json.loads(line)["search"] for line in lines) == sorted(here.results)

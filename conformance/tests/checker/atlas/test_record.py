"""The record of the atlas: whole, of the present models and searches, and confirmed by searching samples of it again.

The samples are drawn anew in each run; a failure names its seed. If a model or the searches have changed, the record is
made anew, as models/kafka/atlas/README.md says.
"""

from __future__ import annotations

import json
import random

import pytest

from conformance.tests.sampling import exhaustive, recorded
from isrcheck.checker.answers.findings import Source, trace_of
from isrcheck.checker.answers.questions import FEWER_IN_SYNC, Case, Question, Topic
from isrcheck.checker.answers.recorded import Record, Recorded
from isrcheck.checker.answers.searching import searcher_of
from isrcheck.checker.atlas.cells import cells
from isrcheck.checker.atlas.sample import differences, main, sampled
from isrcheck.checker.resources.limits import Limits
from isrcheck.checker.results.verdict import Word
from isrcheck.commands.exit_codes import DIFFERENT, DONE
from isrcheck.models.kafka.atlas import RECORD

LARGEST = 11_000_000
"""Bytes that the file may have: it has about 610 a search, of 16,559."""


@pytest.fixture(scope="module")
def record():
    return Record()


@pytest.fixture(scope="module")
def answered(record):
    """The recorded cells."""
    return [cell for cell in cells() if record.searches(*cell.key) is not None]


def draw():
    """A random choice that differs from run to run, and its seed."""
    seed = random.SystemRandom().randrange(1 << 32)
    return random.Random(seed), seed


def test_the_record_is_whole(record, answered):
    assert RECORD.stat().st_size < LARGEST
    groups, searches = record.groups(), record.every_search()
    numbers = {
        one for group in groups.values() for cell in group["cells"].values() if isinstance(cell, list) for one in cell
    }
    assert numbers == set(range(len(searches)))
    assert (record.header["groups"], record.header["searches"]) == (len(groups), len(searches))
    assert record.header["cells"] == sum(len(group["cells"]) for group in groups.values()) == len(answered)
    assert len(answered) == len(cells()), "every combination has an answer, though it may be undecided"


def test_every_recorded_search_went_as_far_as_it_says(record):
    for one in record.every_search():
        assert (one["word"] == Word.UNDECIDED) == (one.get("stopped") in ("seconds", "memory"))
        if one["word"] == Word.UNDECIDED:
            assert "is_exhausted" not in one
            continue
        assert one.get("is_exhausted") or "depth" in one, "to the end, or to a depth"
        assert ("steps" in one) == (one["word"] in (Word.VIOLATED, Word.PERMITTED))
        if one["word"] == Word.HOLDS:
            assert one["is_exhausted"] is True


def test_recorded_histories_are_taken_again_in_plain_python(answered, record):
    choice, seed = draw()
    for cell in choice.sample(answered, min(25, len(answered))):
        found = Recorded(record).find(cell.case, cell.question)
        if found.history is not None:
            trace = trace_of(found.history)
            assert (trace.verdict, trace.length) == (found.word.value, found.depth), f"seed {seed}: {cell.key}"


def test_the_recorded_searches_are_those_that_would_be_made_now(answered, record):
    choice, seed = draw()
    header = {**record.header, "texts": "of another version"}
    elsewhere = Record()
    elsewhere.header = header
    recorded_answers = Recorded(elsewhere)
    for cell in choice.sample(answered, min(25, len(answered))):
        recorded_answers.find(cell.case, cell.question)
        assert recorded_answers.outdated == "", f"seed {seed}: {cell.key}; see models/kafka/atlas/README.md"


@pytest.mark.sampled
@pytest.mark.parametrize(("count", "states"), [(2, 20_000), exhaustive((8, 100_000)), recorded((60, 10_000_000))])
def test_a_sample_is_searched_again(record, count, states):
    seed = draw()[1]
    searcher = searcher_of(Limits())
    found = [
        text for one in sampled(record, count, seed, states) for text in differences(one, searcher, Limits(threads=2))
    ]
    assert found == [], f"seed {seed}"


def test_what_a_limit_has_cut_short_is_in_no_sample(record):
    short = [one for one in record.every_search() if "stopped" in one]
    assert 0 < len(short) < len(record.every_search()) / 100
    drawn = sampled(record, record.header["searches"], 1, max(one["states"] for one in short))
    assert not any(one in drawn for one in short)


def test_what_a_limit_has_cut_short_says_how_far_it_came(record):
    """8.7d in 3.7 takes 20 steps; where every replica has to be in sync, depth 14 does not fit into the memory."""
    case = Case("3.7", min_insync_replicas=3)
    found = Recorded(record).find(case, Question(Topic.DEFECT, name="stale_diverging_response"))
    assert (found.word, found.note, found.source) == (
        Word.UNDECIDED,
        "memory; nothing found to depth 13",
        Source.RECORDED,
    )


@pytest.mark.parametrize(("replicas", "least"), [(4, 3), (5, 3), (5, 4)])
@pytest.mark.parametrize("protocol", ["2.4", "2.8", "3.3", "3.7", "4.1"])
def test_an_unclean_election_loses_records_whatever_has_to_be_in_sync(record, protocol, replicas, least):
    case = Case(protocol, replication_factor=replicas, min_insync_replicas=least, unclean_election=True)
    found = Recorded(record).find(case, Question(Topic.LOSS))
    assert (found.word, found.source, found.rule) == (Word.PERMITTED, Source.RULE, FEWER_IN_SYNC)


def test_a_difference_is_found(record):
    one = next(one for one in record.every_search() if one["word"] == Word.PERMITTED and one["states"] < 1000)
    searcher = searcher_of(Limits())
    wrong = {**one, "depth": one["depth"] + 1, "word": "HOLDS"}
    assert [text.split(": ")[-1].split(" is ")[0] for text in differences(wrong, searcher, Limits())] == [
        "word",
        "depth",
    ]


def test_a_sample_names_its_seed_and_a_difference_how_to_find_it_again(record, capsys, tmp_path):
    assert main(["--seed", "7", "--searches", "1"], record) == DONE
    whole = capsys.readouterr().out
    assert whole == f"seed 7: 1 of {record.header['searches']} recorded searches made again, all as recorded\n"
    one = next(one for one in record.every_search() if one["word"] == Word.PERMITTED and one["states"] < 1000)
    header = {**record.header, "groups": 0, "searches": 1}
    file = tmp_path / "record.jsonl"
    file.write_text(f"{json.dumps(header)}\n{json.dumps({**one, 'word': 'HOLDS'})}\n", encoding="utf-8")
    assert main(["--seed", "7"], Record(file)) == DIFFERENT
    first, last = capsys.readouterr().out.splitlines()
    assert first.endswith("word is PERMITTED, recorded as HOLDS")
    assert last.endswith("to repeat: python -m isrcheck.checker.atlas.sample --seed 7 --searches 1")


def test_what_an_operator_asks_first_is_recorded(record):
    recorded_answers = Recorded(record)
    durable = Case("4.1", min_insync_replicas=2)
    found = recorded_answers.find(durable, Question(Topic.LOSS))
    assert (found.word, found.depth, found.source) == (Word.NO_VIOLATION, 10, Source.RECORDED)
    assert [result.reach for _, result in found.parts] == ["to the end", "to the end", "to depth 10"]
    for name, depth in (("missed_demotion", 12), ("stale_record", 12)):
        defect = recorded_answers.find(durable, Question(Topic.DEFECT, name=name))
        assert (defect.word, defect.depth) == (Word.VIOLATED, depth)
    assert found.recorded.startswith("20")

"""`check doctor` with real searches: the smallest cases, and larger budgets."""

from __future__ import annotations

import json
from typing import ClassVar

import pytest

from conformance.tests.checker.doctor.answers import finding
from conformance.tests.support.engine import checking
from isrcheck.checker import cli
from isrcheck.checker.doctor import answering
from isrcheck.checker.questions import recorded
from isrcheck.checker.results.verdict import Word
from isrcheck.models.kafka.atlas.catalogue import Record

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
    loss = answer["findings"]["loss"]
    assert (loss["word"], loss["depth"], loss["source"], loss["needs"]) == (
        "PERMITTED",
        2,
        "searched",
        {"elections": 1},
    )
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
    monkeypatch.setattr(answering, "_Searches", lambda *given: Nothing())
    (tmp_path / "topic.properties").write_text(TOPIC)
    assert cli.main(["doctor", "topic.properties", "--kafka-version", "2.6"]) == 3
    assert capsys.readouterr().err == f"recorded answers do not count: {why}; searching again ...\n"


class Nothing:
    """Searches nothing, and finds nothing."""

    budgets: ClassVar[dict[str, int]] = {}

    def expect(self, expected):
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
    assert "--set acks=all: the files configure the cluster; only faults and sizes" in capsys.readouterr().err

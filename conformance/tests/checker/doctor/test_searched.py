"""`check doctor` with real searches: the smallest cases, and larger budgets."""

from __future__ import annotations

import json

import pytest

from conformance.tests.support.engine import checking
from isrcheck.checker import cli

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
    assert (change["change"], change["finding"]["word"]) == ("acks=all", "HOLDS")
    assert [one["number"] for one in answer["defects"] if one["finding"]["word"] == "VIOLATED"] == []
    assert [(one["writes"], one["reads"]) for one in answer["availability"]] == [("yes", "yes")] * 2


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

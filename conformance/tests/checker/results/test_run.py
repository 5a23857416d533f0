"""Counted nouns are singular for one and plural otherwise."""

from __future__ import annotations

import pytest

from conformance.tests.support.engine import none_to
from isrcheck.checker import cli
from isrcheck.checker.results.terminal import counted


@pytest.mark.parametrize(
    ("noun", "text"), [("level", "6,185 levels"), ("search", "6,185 searches"), ("box", "6,185 boxes")]
)
def test_a_noun_that_ends_in_a_hiss_has_its_own_plural(noun, text):
    assert counted(6185, noun) == text
    assert counted(1, noun) == f"1 {noun}"


def test_one_state_and_one_level(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert cli.main(["examples/two_phase_commit", "--bound", "0", "--details"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert "search         breadth first, every behaviour of at most 0 steps, from 1 initial state" in lines
    assert "1 distinct state, 0 generated, 1 level (judged to depth 0; 1 state not expanded)" in lines
    assert lines[-1] == none_to(0)
    assert cli.main(["examples/two_phase_commit", "--bound", "1", "--details"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert "search         breadth first, every behaviour of at most 1 step, from 1 initial state" in lines
    assert "8 distinct states, 7 generated, 2 levels (judged to depth 1; 7 states not expanded)" in lines
    assert lines[-1] == none_to(1)

"""Counted nouns are singular for one and plural otherwise."""

from __future__ import annotations

from isrcheck.checker import cli


def test_one_state_and_one_level(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert cli.main(["examples/two_phase_commit", "--bound", "0"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert "search         breadth first, every behaviour of at most 0 steps, from 1 initial state" in lines
    assert "1 distinct state, 0 generated, 1 level (judged to depth 0; 1 state not expanded)" in lines
    assert lines[-1] == "NO VIOLATION TO DEPTH 0: 1 frontier state left"
    assert cli.main(["examples/two_phase_commit", "--bound", "1"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert "search         breadth first, every behaviour of at most 1 step, from 1 initial state" in lines
    assert "8 distinct states, 7 generated, 2 levels (judged to depth 1; 7 states not expanded)" in lines
    assert lines[-1] == "NO VIOLATION TO DEPTH 1: 7 frontier states left"

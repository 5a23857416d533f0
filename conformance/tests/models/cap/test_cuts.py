"""What a cut takes away: textbook histories, and the model's verdict on reads against an independent checker."""

from __future__ import annotations

import json
import random
import re

import pytest

from conformance.tests.models.cap.linearizability import is_linearizable
from isrcheck.checker.explicit.explore import explore
from isrcheck.checker.resources.limits import Limits
from isrcheck.checker.results.verdict import Word, verdicts
from isrcheck.models import registry, run
from isrcheck.models.language.declarations import Kind
from isrcheck.traces import cli
from isrcheck.traces.format import files
from isrcheck.traces.format.certify import behaviour, step_named
from isrcheck.traces.other_tools.client_history import Operation, operations_of

MODEL, _ = registry.load("cap")
STALE = """
    network_is_cut {0} {0}, controller_elects 1, client_writes 1 1, follower_fetches 1 2, leader_commits_entry 1,
    client_reads 0 0
"""
"""The old leader is cut off with a client, which misses what the new one acknowledges."""

SETTINGS = (
    ({}, 0),  # a stale leader is rare in random walks
    ({"FOLLOWER_READS": 1}, 10),
    ({"acks": 1, "min_insync_replicas": 1}, 10),
    ({"acks": 0, "min_insync_replicas": 1, "FOLLOWER_READS": 1}, 10),
    ({"unclean_elections": 1, "cuts": 2, "elections": 2}, 1),
)
"""Configurations, and how many of the random histories have a read that is not linearizable, at least."""

HISTORIES = 120
"""The number of random histories; they have at least as many linearizable reads."""


def steps_named(instance, text):
    return [step_named(instance, step.strip()) for step in re.split(r",\s+", text)]


def path(instance, text):
    return behaviour(instance, 0, steps_named(instance, text), None, "check cap", None, None)


def after(instance, text, start=None):
    """The state after these steps."""
    cells = start or instance.initial_states[0]
    for step in steps_named(instance, text):
        cells = run.take(instance, cells, step)
    return cells


def steps_from(instance, cells):
    return [instance.spell_step(step) for step, _ in run.successors(instance, cells)]


def write(client, record, invoked, answered):
    return Operation(client, False, (record,), invoked, answered)


def read(client, records, step):
    return Operation(client, True, records, step, step)


@pytest.mark.parametrize(
    ("operations", "expected"),
    [
        ([write(0, 0, 1, 2), read(1, (0,), 3)], True),
        ([write(0, 0, 1, 2), read(1, (), 3)], False),
        ([write(0, 0, 1, 3), read(1, (), 2)], True),
        ([write(0, 0, 1, 3), read(1, (0,), 2)], True),
        ([write(0, 0, 1, None), read(1, (0,), 2), read(0, (), 3)], False),
        ([write(0, 0, 1, None), read(1, (), 2), read(0, (0,), 3)], True),
        ([write(0, 0, 1, 4), write(1, 1, 2, 3), read(1, (1,), 5)], False),
        ([write(0, 0, 1, None), write(1, 1, 2, 3), read(1, (1,), 5)], True),
        ([write(0, 0, 1, 1), read(1, (), 1)], True),
        ([read(1, (0,), 1), write(0, 0, 2, 3)], False),
    ],
)
def test_the_independent_checker_knows_small_histories(operations, expected):
    assert is_linearizable(operations) == expected


def test_a_client_beside_the_old_leader_reads_what_is_over():
    trace = path(MODEL.instance("", {}), STALE)
    operations = operations_of(trace)
    assert operations == [write(1, 0, 3, 5), read(0, (), 6)]
    assert not is_linearizable(operations)


@pytest.mark.sampled
@pytest.mark.parametrize(("settings", "least"), SETTINGS)
def test_the_model_and_the_independent_checker_agree_on_random_histories(settings, least):
    """After each read, the model says whether it was linearizable; the checker looks at the whole history."""
    instance = MODEL.instance("", {"records": 3, "log_size": 3} | settings)
    prop = next(one for one in MODEL.properties if one.name == "linearizable_read")
    chance = random.Random(23)
    counts = {True: 0, False: 0}
    for _ in range(HISTORIES):
        cells, steps = instance.initial_states[0], []
        for _ in range(24):
            enabled = list(run.successors(instance, cells))
            reads = [one for one in enabled if one[0].action == "client_reads"]
            if not enabled:
                break
            step, cells = chance.choice(reads if reads and chance.random() < 0.3 else enabled)
            steps.append(step)
            if step.action == "client_reads":
                holds = run.holds(instance, prop, cells)
                history = operations_of(behaviour(instance, 0, steps, None, "check cap", None, None))
                assert is_linearizable(history) == holds
                counts[holds] += 1
                if not holds:
                    break
    assert counts[True] >= HISTORIES
    assert counts[False] >= least


def test_a_trace_of_the_model_is_printed_as_a_history(tmp_path, capsys):
    file = files.write(path(MODEL.instance("", {}), STALE), tmp_path)
    assert cli.main(["history", str(file)]) == 0
    assert [json.loads(line) for line in capsys.readouterr().out.splitlines()] == [
        {"index": 0, "step": 3, "process": 1, "type": "invoke", "f": "append", "value": 0},
        {"index": 1, "step": 5, "process": 1, "type": "ok", "f": "append", "value": 0},
        {"index": 2, "step": 6, "process": 0, "type": "invoke", "f": "read", "value": None},
        {"index": 3, "step": 6, "process": 0, "type": "ok", "f": "read", "value": []},
    ]


def test_a_history_is_written_and_not_overwritten(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    file = str(files.write(path(MODEL.instance("", {}), STALE), tmp_path))
    assert cli.main(["history", file, "--jsonl", "history.jsonl"]) == 0
    assert capsys.readouterr().out == "history.jsonl\n"
    assert len((tmp_path / "history.jsonl").read_text().splitlines()) == 4
    assert cli.main(["history", file, "--jsonl", "history.jsonl"]) == 2
    assert "exists already and is not overwritten" in capsys.readouterr().err
    assert cli.main(["history", file, "--jsonl", "history.jsonl", "--force"]) == 0


def test_a_trace_of_another_model_has_no_history(tmp_path, capsys):
    instance = registry.load("isr_by_lag")[0].instance("", {})
    file = files.write(path(instance, "follower_fetches"), tmp_path)
    assert cli.main(["history", str(file)]) == 2
    says = "trace: a trace of isr_by_lag has no reads of clients; give a trace of the model cap\n"
    assert capsys.readouterr().err == says


def test_a_follower_joins_the_isr_although_it_lacks_what_is_not_committed():
    """Kafka asks for the high watermark, not for the end of the leader's log."""
    instance = MODEL.instance("", {})
    cells = after(instance, "client_writes 0 0, leader_shrinks_isr 0 1")
    assert "leader_expands_isr 0 1" in steps_from(instance, cells)


def test_a_follower_that_lacks_what_was_there_at_the_election_does_not_join_the_isr():
    """The new leader has an acknowledged record above its own high watermark: joining would lose it."""
    instance = MODEL.instance("", {})
    writes = "client_writes 0 0, follower_fetches 0 1, leader_shrinks_isr 0 2, leader_commits_entry 0"
    cells = after(instance, f"{writes}, network_is_cut {{0}} {{}}, controller_elects 1")
    assert "leader_expands_isr 1 2" not in steps_from(instance, cells)
    assert "leader_expands_isr 1 2" in steps_from(instance, after(instance, "follower_fetches 1 2", start=cells))


@pytest.mark.sampled
@pytest.mark.parametrize(
    ("replicas", "least", "times"), [(2, 1, 1), (2, 2, 1), (4, 2, 1), (4, 3, 1), (3, 1, 2), (3, 2, 2), (3, 3, 2)]
)
def test_acknowledged_records_survive_cuts_and_leaders_answer(replicas, least, times):
    """With other numbers of brokers; and with two cuts and elections, after which a leader can lead again."""
    entries = {"replicas": replicas, "min_insync_replicas": least, "records": 1, "log_size": 1}
    entries |= {"cuts": times, "elections": times}
    found = explore(MODEL.instance("", entries), Limits(), count_all=True)
    words = {one.prop.name: one.word for one in verdicts(found) if one.prop.kind is not Kind.SOMETIMES}
    assert words["acked_not_lost"] is Word.HOLDS
    assert words["requests_are_answered"] is Word.HOLDS
    assert words["linearizable_read"] is Word.VIOLATED

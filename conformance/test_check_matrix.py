"""`check --bound N` against a record that says something else: what is new exits 12, what is missing exits 10."""

from __future__ import annotations

import json
import re

import pytest

from checker import cli, matrix
from models.errors import UsageError

TRUE = """\
[[run]]
model = "kafka"
protocol = "0.10"
explored = "exhausted"
[run.configuration]
[run.violated]
acked_not_lost = 6
isr_is_complete = 5
[run.permitted]
"""
"""What `check --bound 6` finds with the default configuration."""

PERMITTED = """\
[[run]]
model = "kafka"
protocol = "0.10"
explored = "3"
[run.configuration]
acks = 1
[run.violated]
[run.permitted]
acked_not_lost = 2
"""
"""What `check --bound 3` finds with acks=1."""


@pytest.fixture
def check(tmp_path, monkeypatch, capsys):
    """Run the matrix against a record: gives the exit code, the text, and the object of --json."""
    monkeypatch.chdir(tmp_path)
    record = tmp_path / "verdicts.toml"
    read = matrix.recorded
    monkeypatch.setattr(matrix, "recorded", lambda: read(record))

    def run(content, *words):
        record.write_text(content, encoding="utf-8")
        code = cli.main(words)
        text = capsys.readouterr().out
        assert cli.main([*words, "--json"]) == code
        return code, text, json.loads(capsys.readouterr().out)

    return run


def cells(content):
    return {cell["property"]: cell["record"] for cell in content["cells"] if cell["record"] != "as recorded"}


def line(text, name):
    return next(one for one in text.splitlines() if one.startswith(name))


def test_the_true_record_is_as_recorded(check):
    code, text, content = check(TRUE, "--bound", "6")
    assert (code, content["record"], cells(content)) == (0, "as recorded", {})
    assert "<-" not in text


def test_the_record_of_the_project_is_read_and_has_the_default_configuration():
    (run, *_) = matrix.recorded()
    assert run.instance.configuration == run.instance.model.instance("0.10").configuration
    assert run.violated["acked_not_lost"] == 6
    assert run.violated["isr_is_complete"] == 5
    assert run.permitted == {}


@pytest.mark.parametrize("bound", ["5", "6", "7"])
def test_a_violation_that_is_not_recorded_exits_12_at_any_bound_that_shows_it(check, bound):
    code, text, content = check(TRUE.replace("isr_is_complete = 5\n", ""), "--bound", bound)
    assert code == 12
    assert content["record"] == "not recorded"
    assert cells(content) == {"isr_is_complete": "not recorded"}
    assert line(text, "isr_is_complete").endswith("VIOLATED at step 5  <- not recorded")
    assert text.splitlines()[-1].startswith("VIOLATED")


def test_a_violation_before_its_recorded_depth_exits_12(check):
    code, _, content = check(TRUE.replace("acked_not_lost = 6", "acked_not_lost = 7"), "--bound", "6")
    assert (code, cells(content)) == (12, {"acked_not_lost": "not recorded"})


def test_a_violation_after_its_recorded_depth_exits_10(check):
    code, text, content = check(TRUE.replace("acked_not_lost = 6", "acked_not_lost = 4"), "--bound", "6")
    assert (code, cells(content)) == (10, {"acked_not_lost": "recorded, but not found"})
    assert line(text, "acked_not_lost").endswith("<- recorded, but not found")


@pytest.mark.parametrize(("bound", "code"), [("3", 0), ("4", 10), ("6", 10)])
def test_a_recorded_violation_that_does_not_show_exits_10_from_its_depth_on(check, bound, code):
    given, text, content = check(TRUE.replace("[run.permitted]", "log_matching = 4\n[run.permitted]"), "--bound", bound)
    assert given == code
    assert cells(content) == ({} if code == 0 else {"log_matching": "recorded, but not found"})
    if code == 10:
        assert text.splitlines()[-1].startswith("NOT FOUND")


def test_what_is_new_is_graver_than_what_is_missing(check):
    record = TRUE.replace("isr_is_complete = 5\n", "log_matching = 4\n")
    code, _, content = check(record, "--bound", "6")
    assert code == 12
    assert content["record"] == "not recorded"
    assert cells(content) == {"isr_is_complete": "not recorded", "log_matching": "recorded, but not found"}


@pytest.mark.parametrize("bound", ["0", "2", "4"])
def test_below_every_recorded_depth_there_is_nothing_to_find(check, bound):
    code, text, content = check(TRUE, "--bound", bound)
    assert (code, content["verdict"], cells(content)) == (0, "NO VIOLATION TO DEPTH", {})
    assert f"acked_not_lost            none to {bound}" in text


def test_a_permitted_failure_is_recorded_apart_and_strict_counts_it(check):
    code, text, content = check(PERMITTED, "--bound", "3")
    assert (code, content["verdict"], cells(content)) == (0, "PERMITTED", {})
    assert line(text, "acked_not_lost").endswith("PERMITTED at step 2")
    assert check(PERMITTED, "--bound", "3", "--strict")[0] == 12


def test_a_permitted_failure_that_is_not_recorded_is_new(check):
    record = PERMITTED.replace("acked_not_lost = 2\n", "")
    assert (check(record, "--bound", "3")[0], check(record, "--bound", "1")[0]) == (12, 0)


def test_a_permitted_failure_is_not_the_violation_that_is_recorded(check):
    record = PERMITTED.replace("[run.violated]\n[run.permitted]\n", "[run.permitted]\n[run.violated]\n")
    code, _, content = check(record, "--bound", "3")
    assert (code, cells(content)) == (10, {"acked_not_lost": "recorded, but not found"})


def test_several_runs_stand_beside_each_other(check):
    code, text, content = check(TRUE + PERMITTED, "--bound", "2")
    assert len(content["runs"]) == 2
    assert code == 0
    assert re.search(r"^acked_not_lost +none to 2 +PERMITTED at step 2$", text, re.MULTILINE)


def test_a_matrix_that_is_cut_short_is_undecided(check):
    code, text, content = check(TRUE, "--seconds", "1e-9")
    assert code == 3
    assert (content["record"], content["verdict"]) == ("undecided", "UNDECIDED")
    assert text.splitlines()[-1].startswith("UNDECIDED")
    assert "as recorded: every cell" not in text


def test_a_matrix_that_is_cut_short_after_a_new_violation_is_violated(check):
    record = TRUE.replace("isr_is_complete = 5\n", "")
    code, _, content = check(record, "--memory", "16M")
    assert code == 12
    assert cells(content)["isr_is_complete"] == "not recorded"
    assert cells(content)["log_matching"] == "undecided"


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("[[run]]", "[[run", "cannot be read"),
        ('explored = "exhausted"\n', "", "'explored'"),
        ("[run.permitted]\n", "", "'permitted'"),
        ('model = "kafka"', 'model = "kafak"', "no model kafak; did you mean kafka?"),
        ('protocol = "0.10"', 'protocol = "9.9"', "has no protocol 9.9"),
        ("[run.violated]", "replica = 3\n[run.violated]", "no configuration entry replica"),
        ("[run.violated]", "replicas = 0\n[run.violated]", "replicas=0 is impossible"),
        ("acked_not_lost = 6", "acked_not_lot = 6", "has no property acked_not_lot"),
    ],
)
def test_a_damaged_record_is_refused(tmp_path, old, new, says):
    path = tmp_path / "verdicts.toml"
    path.write_text(TRUE.replace(old, new), encoding="utf-8")
    with pytest.raises(UsageError, match=re.escape(says)):
        matrix.recorded(path)


def test_a_missing_record_is_refused(tmp_path):
    with pytest.raises(UsageError, match="cannot be read"):
        matrix.recorded(tmp_path / "nowhere.toml")

"""The generated test_regressions.py: it tests whether the model still allows a counterexample."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from conformance.tests.support.engine import checking
from conformance.tests.support.places import PROJECT
from conformance.tests.support.report import HOSTILE, NAME
from isrcheck.checker import cli
from isrcheck.commands.exit_codes import VIOLATED
from isrcheck.models.messages import UsageError
from isrcheck.traces.format.files import Recheck, recheck

FIXED = "require(s.height < s.most)\n    require(s.height < s.limit)"


@pytest.fixture
def found(tmp_path, monkeypatch, capsys):
    """A model, and the report with a counterexample to `stays_safe`."""
    monkeypatch.chdir(tmp_path)
    rewrite(tmp_path, HOSTILE)
    assert checking(cli.main, capsys)(NAME, "--report", "deep/DIR")[0] == VIOLATED
    (path,) = (tmp_path / "deep" / "DIR" / "traces").glob("*stays_safe*.itf.json")
    return path


def rewrite(folder, text):
    (folder / NAME).write_text(text, encoding="utf-8")


def test_the_same_model_allows_the_counterexample(found, tmp_path):
    assert recheck(found, tmp_path / NAME) == Recheck(True, "the model allows it: stays_safe is VIOLATED after 3 steps")


def test_a_reformatted_model_allows_the_counterexample(found, tmp_path):
    rewrite(tmp_path, HOSTILE + "\n\n# a line more\n")
    assert recheck(found, tmp_path / NAME).is_possible


@pytest.mark.parametrize(
    ("before", "after", "says"),
    [
        ("require(s.height < s.most)", FIXED, "no longer possible: its guard `s.height < s.limit` is false"),
        ("return s.height <= s.limit", "return s.height <= s.limit + 1", "stays_safe is no longer VIOLATED after them"),
        ('values=between(0, "most"))', 'values=between(0, "most"), initially=1)', "is no longer an initial state"),
        ("@always\ndef stays_safe", "@always(permitted=is_even)\ndef stays_safe", "the model allows it"),
        ("@always\ndef stays_safe", "def anything(s):\n    return s.height >= 0\n\n\n@always(permitted=anything)\n"
         "def stays_safe", "stays_safe is no longer VIOLATED after them"),
    ],
)  # fmt: skip
def test_a_repaired_model_forbids_the_counterexample(found, tmp_path, before, after, says):
    assert HOSTILE.count(before) == 1 or before.startswith("values")
    rewrite(tmp_path, HOSTILE.replace(before, after))
    again = recheck(found, tmp_path / NAME)
    assert says in again.says
    assert again.is_possible == (says == "the model allows it")


@pytest.mark.parametrize(
    ("before", "after", "says"),
    [
        ("height", "altitude", "its variables are not the fields of its model"),
        ("def climber_steps", "def climber_walks", "has no action climber_steps"),
        ("def stays_safe", "def is_safe", "has no property stays_safe"),
        ("class State", "    more = setting(0, 'more')\n\n\nclass State", "its model do not both have the entry more"),
    ],
)
def test_an_undecidable_case_is_not_answered(found, tmp_path, before, after, says):
    rewrite(tmp_path, HOSTILE.replace(before, after))
    with pytest.raises(UsageError, match=says):
        recheck(found, tmp_path / NAME)


def test_an_edited_file_is_not_answered(found, tmp_path):
    document = json.loads(found.read_text())
    document["states"][2]["height"] = {"#bigint": "1"}
    found.write_text(json.dumps(document))
    with pytest.raises(UsageError, match="leads to another state: height is 2, but the trace says 1"):
        recheck(found, tmp_path / NAME)


def test_a_model_named_in_a_file_is_not_loaded(found):
    with pytest.raises(UsageError, match="is not loaded automatically"):
        recheck(found)


@pytest.mark.exhaustive
def test_pytest_fails_until_the_model_is_repaired(found, tmp_path):
    file = found.parents[1] / "test_regressions.py"
    passes, fails = (0, "1 passed"), (1, "1 failed")
    assert pytest_of(file)[:2] == fails
    file.write_text(file.read_text().replace("WANTED = IMPOSSIBLE\n", "WANTED = POSSIBLE\n"))
    assert pytest_of(file)[:2] == passes
    rewrite(tmp_path, HOSTILE.replace("require(s.height < s.most)", FIXED))
    assert pytest_of(file)[:2] == fails
    file.write_text(file.read_text().replace("WANTED = POSSIBLE\n", "WANTED = IMPOSSIBLE\n"))
    assert pytest_of(file)[:2] == passes


def pytest_of(file, modules=PROJECT):
    """Run the file in another folder, with what can be imported from `modules`; return the exit code, pytest's counts,
    and what it printed."""
    words = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(file)]
    environment = {**os.environ, "PYTHONPATH": str(modules)}
    done = subprocess.run(words, cwd="/", env=environment, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout.splitlines()[-1].partition(" in ")[0], done.stdout


@pytest.mark.exhaustive
def test_a_project_may_have_its_own_folders_models_and_traces(found, tmp_path):
    for name in ("models", "traces"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").write_text("MINE = True\n")
    (tmp_path / "conftest.py").write_text("import models\nimport traces\n\nassert models.MINE\nassert traces.MINE\n")
    code, counts, text = pytest_of(found.parents[1] / "test_regressions.py", tmp_path)
    assert (code, counts) == (1, "1 failed")
    assert "the model allows it: stays_safe is VIOLATED after 3 steps" in text

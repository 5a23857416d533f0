"""`pytest --isrcheck model.py`: each property is a test; nothing is loaded if no model is named."""

from __future__ import annotations

import ast
import subprocess
import sys
import tomllib

import pytest

from conformance.tests.sampling import exhaustive
from conformance.tests.support.engine import COUNTER
from conformance.tests.support.places import PROJECT
from isrcheck import pytest_plugin
from isrcheck.checker.results.verdict import Word

MODEL = (
    COUNTER.replace("between, field, require", "between, bound, field, require, setting, sometimes").replace(
        "class State", 'class Configuration:\n    limit = setting(2, "what is small", most=9)\n\n\nclass State'
    )
    + """

def never(configuration):
    return False


@always(applies=never)
def is_switched_off(s):
    return s.count < 0


@sometimes
def is_full(s):
    return s.count == 3
"""
).replace("s.count < 2", "s.count < s.limit")


@pytest.fixture
def run(tmp_path):
    """Run pytest in a folder with the model; return the exit code and the lines of its output."""
    (tmp_path / "counter.py").write_text(MODEL, encoding="utf-8")

    def ran(*words, ini=""):
        (tmp_path / "pytest.ini").write_text(f"[pytest]\naddopts = --strict-markers --strict-config\n{ini}")
        command = [sys.executable, "-m", "pytest", "-p", "isrcheck.pytest_plugin", "-p", "no:cacheprovider", *words]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
        return done.returncode, [line.rstrip() for line in (done.stdout + done.stderr).splitlines()]

    return ran


def outcomes(lines):
    """The outcome of each test in the output of -v."""
    found = [line.split() for line in lines if line.startswith("counter.py::")]
    return {name.partition("::")[2]: outcome for name, outcome, *_ in found}


@pytest.mark.sampled
def test_each_property_is_a_test_and_a_failure_shows_its_trace(run):
    code, lines = run("--isrcheck", "counter.py", "-v")
    assert code == 1
    assert outcomes(lines) == {
        "stays_small": "FAILED",
        "is_switched_off": "SKIPPED",
        "is_full": "PASSED",
        "in_range": "PASSED",
        "deadlock": "PASSED",
    }
    for line in (
        "stays_small: VIOLATED at step 2",
        "  2  counter_steps  count 2",
        "reproduce: check counter.py --bound 2",
        "FAILED counter.py::stays_small - stays_small: VIOLATED at step 2",
    ):
        assert line in lines
    assert not [line for line in lines if "Traceback" in line]
    assert "collected 5 items" in "\n".join(lines)


@pytest.mark.exhaustive
def test_words_after_the_model_are_arguments_of_check(run):
    code, lines = run("--isrcheck", "counter.py bound=2 limit=3", "-v", "-rs")
    assert code == 0
    assert outcomes(lines) == {
        "stays_small": "PASSED",
        "is_switched_off": "SKIPPED",
        "is_full": "SKIPPED",
        "in_range": "PASSED",
        "deadlock": "PASSED",
    }
    assert [line for line in lines if "is_full: NOT REACHED TO DEPTH 2" in line]


@pytest.mark.exhaustive
def test_models_can_be_named_in_the_ini_file_and_chosen_by_marker(run, tmp_path):
    (tmp_path / "test_other.py").write_text("def test_other():\n    pass\n")
    ini = "isrcheck =\n    counter.py bound=1\n    kafka protocol=2.1 bound=1\n"
    code, lines = run("-m", "isrcheck", "-q", ini=ini)
    assert (code, lines[-1].partition(" in ")[0]) == (0, "17 passed, 36 skipped, 1 deselected")
    assert run("-q")[1][-1].startswith("1 passed in ")


@pytest.mark.exhaustive
def test_undecided_properties_do_not_pass(run):
    code, lines = run("--isrcheck", "kafka protocol=2.1 seconds=0.001", "-q")
    assert code == 1
    assert [line for line in lines if line.startswith("FAILED kafka::acked_not_lost - acked_not_lost: UNDECIDED")]


@pytest.mark.sampled
def test_a_property_that_leaves_a_declared_range_fails(run, tmp_path):
    (tmp_path / "counter.py").write_text(COUNTER.replace("s.count < 3", "s.count < 4").replace("< 2", "< 4"))
    code, lines = run("--isrcheck", "counter.py", "-q")
    assert code == 1
    assert "FAILED counter.py::in_range - in_range: VIOLATED at step 4" in lines


@pytest.mark.whole
@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        ("nobody.py", 2, "nobody.py: there is no such Python file"),
        exhaustive(
            (
                "counter.py bound",
                4,
                "ERROR: --isrcheck counter.py bound: bound: not a name with a value; write it as NAME=VALUE",
            )
        ),
        ("counter.py bound=six", 4, "ERROR: --isrcheck counter.py bound=six: bound=six: not a number"),
        exhaustive(("counter.py most=3", 1, "counter has no configuration entry most")),
        exhaustive(("", 2, "no model ;")),
    ],
)
def test_bad_input_is_one_line(run, words, code, says):
    found, lines = run("--isrcheck", words, "-q")
    assert found == code
    assert [line for line in lines if says in line]
    assert not [line for line in lines if "Traceback" in line or line.startswith("INTERNALERROR")]


def test_nothing_is_loaded_if_no_model_is_named(tmp_path):
    (tmp_path / "test_loaded.py").write_text(
        "import sys\n\n\ndef test_loaded():\n"
        "    found = {name for name in sys.modules if name.partition('.')[0] == 'isrcheck'}\n"
        "    assert found == {'isrcheck', 'isrcheck.pytest_plugin'}\n"
    )
    command = [sys.executable, "-m", "pytest", "-q", "-p", "isrcheck.pytest_plugin", "-p", "no:cacheprovider"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


def test_the_plugin_imports_only_modules_that_pytest_loads():
    tree = ast.parse((PROJECT / "isrcheck" / "pytest_plugin.py").read_text(encoding="utf-8"))
    found = {alias.name for node in tree.body if isinstance(node, ast.Import) for alias in node.names}
    found |= {node.module or "" for node in tree.body if isinstance(node, ast.ImportFrom)}
    assert found - set(sys.stdlib_module_names) <= {"collections.abc", "pytest"}


def test_the_entry_point_has_the_name_of_the_module():
    declared = tomllib.loads((PROJECT / "pyproject.toml").read_text(encoding="utf-8"))
    assert declared["project"]["entry-points"]["pytest11"] == {"isrcheck.pytest_plugin": "isrcheck.pytest_plugin"}


def test_every_verdict_passes_fails_or_is_skipped():
    failing = {Word.VIOLATED, Word.UNREACHABLE, Word.UNDECIDED}
    assert set(Word) == {*failing, *pytest_plugin.PASSED, *pytest_plugin.SKIPPED}

"""Lassos in the lists, reports, tests and mutants that are made of them, and in Python."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

import isrcheck
from conformance.tests.support.engine import ENDS
from conformance.tests.support.small_models import write_model
from isrcheck.checker import cli
from isrcheck.traces.cli import main as trace

MODEL = (
    '''"""A lamp that is switched three times, and somebody who takes it back."""

class Configuration:
    broken = setting(False, "what was switched is taken back at any time", values=bool)

class State:
    count = field(values=between(0, 2))
    is_done = field(values=Flag)

@action(fair=True)
def switches(s):
    require(s.count < 2)
    s.count += 1

@action
def takes_back(s):
    require(s.is_done or s.broken)
    require(s.count == 1)
    s.count = 0

@action(fair=True)
def ends(s):
    require(s.count == 2)
    s.is_done = True

@eventually
def is_switched_twice(s):
    return s.count == 2

@eventually_always
def stops_early(s):
    return s.count < 2
'''
    + ENDS
)


@pytest.fixture(autouse=True)
def lamp(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_model(Path("lamp.py"), MODEL)


def test_a_list_says_where_a_lasso_goes_on(capsys):
    for switch, property_name, steps in (
        ("on", "is_switched_twice", "2, back to 0"),
        ("off", "stops_early", "3, stays"),
    ):
        assert cli.main(["lamp.py", "--set", f"broken={switch}", "--out", switch]) == 13
        capsys.readouterr()
        assert trace(["list", switch]) in (0, None)
        (row,) = [line for line in capsys.readouterr().out.splitlines() if f"  {property_name}  " in line]
        assert f"  VIOLATED  {steps}  " in row


def test_python_sees_the_loop():
    lasso = isrcheck.check("lamp.py", broken=True).traces["is_switched_twice"]
    stays = isrcheck.check("lamp.py").traces["stops_early"]
    assert (lasso.loop, len(lasso), lasso.states[0]) == (0, 2, lasso.states[-1])
    assert repr(lasso) == "<Trace of lamp: is_switched_twice, 2 steps, back to step 0>"
    assert (stays.loop, len(stays)) == (3, 3)
    assert repr(stays) == "<Trace of lamp: stops_early, 3 steps, stays here for ever>"
    again = isrcheck.trace(lasso.save("found"), "lamp.py")
    assert (again.loop, str(again)) == (0, str(lasso))


def test_a_test_report_shows_the_lasso(capsys):
    assert cli.main(["lamp.py", "--set", "broken=on", "--report", "report"]) == 13
    (suite,) = ET.parse("report/junit.xml").getroot()
    assert (suite.get("failures"), suite.get("errors")) == ("2", "0")
    failures = {case.get("name"): case.find("failure") for case in suite.iter("testcase")}
    told = failures["is_switched_twice"]
    assert told is not None
    assert told.get("message") == "VIOLATED at step 2 (back to step 0)"
    assert "Steps 1 to 2 are repeated for ever, and is_switched_twice never becomes true." in (told.text or "")


@pytest.mark.exhaustive
def test_pytest_shows_the_lasso():
    command = [sys.executable, "-m", "pytest", "-p", "isrcheck.pytest_plugin", "-p", "no:cacheprovider", "--isrcheck"]
    done = subprocess.run([*command, "lamp.py broken=on"], capture_output=True, text=True, check=False)
    lines = done.stdout.splitlines()
    assert done.returncode == 1
    assert "is_switched_twice: VIOLATED at step 2 (back to step 0)" in lines
    assert "  Steps 1 to 2 are repeated for ever, and is_switched_twice never becomes true." in lines


def test_a_mutant_that_goes_on_for_ever_is_killed(capsys):
    assert cli.main(["mutate", "lamp.py", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    killed = {one["dropped"]: one for one in found["mutants"] if one["action"] == "takes_back"}
    one = killed["s.is_done or s.broken"]
    assert (one["fate"], one["property"], one["verdict"]) == ("killed", "is_switched_twice", "VIOLATED")
    assert (one["depth"], one["steps"]) == (2, ["switches", "takes_back"])

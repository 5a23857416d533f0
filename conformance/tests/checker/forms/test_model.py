"""The screen of one model, with exact texts: the verdict, a shortest history and the next command come last."""

from __future__ import annotations

import json
import os
import pty
import re
import subprocess
from pathlib import Path

import pytest

from conformance.tests.checker.test_cli import COUNTER
from conformance.tests.support.engine import HOLDS, checking, none_to
from conformance.tests.support.programs import HERE, ran, words_of
from isrcheck.checker import cli
from isrcheck.checker.proofs import proof_cache
from isrcheck.checker.results.terminal import ProgressLine
from isrcheck.commands.exit_codes import DEADLOCKED, VIOLATED

COUNTS = """\
counter: A counter that goes up, step by step.

search    every behaviour of {length}, from 1 initial state
settings  {settings}
faults    none; not considered: leaps
size      {size}, N s; --details shows counts, actions and all settings

"""

HISTORY = """\

stays_within fails at step 3: The count stays within its limit.
  #  step           global
  0  initially      count 0
                    leaps_done 0
  1  counter_steps  count 1
  2  counter_steps  count 2
  3  counter_steps  count 3
"""

PROOFS = "      looks for proofs for any number of steps\n"


def counts(settings="default configuration", length="any length", size="6 states to depth 5"):
    return COUNTS.format(settings=settings, length=length, size=size)


def shows(digest):
    return (
        f"\nTo go on:\n  trace show counterexamples/counter_stays_within_{digest}_1.itf.json --model counter.py\n"
        "      explains this history\n"
    )


SCREENS = {
    "": (
        0,
        counts() + f"HOLDS    stays_within, goes_up\nREACHED  gets_there\n\n{HOLDS}\n\nTo go on:\n"
        "  check counter.py --prove\n" + PROOFS,
    ),
    "--bound 2": (
        0,
        counts(length="at most 2 steps", size="3 states to depth 2")
        + "NO VIOLATION TO DEPTH 2  stays_within, goes_up\nNOT REACHED TO DEPTH 2   gets_there\n\n"
        + f"{none_to(2)}\n\nTo go on:\n  check counter.py --bound 4\n      searches behaviours of up to 4 steps\n"
        "  check counter.py --bound 2 --prove\n" + PROOFS,
    ),
    "--limit 2": (
        12,
        counts("limit=2")
        + "VIOLATED at step 3  stays_within\nHOLDS               goes_up\nREACHED             gets_there\n\n"
        "VIOLATED: stays_within at step 3\n" + HISTORY + shows("b81177ba"),
    ),
    "--limit 2 --switch EXCUSED=on": (
        0,
        counts("limit=2 EXCUSED=on")
        + "PERMITTED at step 3  stays_within\nHOLDS                goes_up\nREACHED              gets_there\n\n"
        "PERMITTED: stays_within at step 3: this configuration makes no promise for these behaviours\n"
        + HISTORY
        + shows("833e52e5"),
    ),
    "--goal 7": (
        10,
        counts("goal=7") + "UNREACHABLE  gets_there\nHOLDS        stays_within, goes_up\n\n"
        "UNREACHABLE: gets_there: the model must be able to reach such a state, but cannot\n\nTo go on:\n"
        "  check counter.py --goal 7 --details\n      shows how often each action happened\n",
    ),
    "--seconds 1e-9": (
        3,
        counts(size="1 state to depth 0") + "UNDECIDED  stays_within, goes_up, gets_there\n\n"
        "warning: never happened in this search: counter_steps\n\n"
        "UNDECIDED: the time limit is reached; only behaviours of at most 0 steps were searched; a longer one may"
        " break a\n"
        "    property\n\nTo go on:\n  check counter.py\n      searches without a time limit\n",
    ),
    "--prove --bound 3": (
        0,
        counts(length="at most 3 steps", size="4 states to depth 3")
        + "NOT REACHED TO DEPTH 3  gets_there\nPROVED                  stays_within, goes_up\n\n"
        "proofs (Z3 V, N s)\n"
        "  stays_within, goes_up: PROVED: at any depth, with most=5; no leaps\n"
        "    induction, without a lemma (true in every initial state, preserved by every step)\n"
        "  premise in_range (proved): no step and no property leaves its declared range in a reachable state:"
        " proved by\n"
        "    induction, without a lemma\n"
        "  premise initial states (checked): every claim about states was evaluated in the initial state\n\n"
        "PROVED: every property holds at every depth; the basis of each proof is given above\n\nTo go on:\n"
        "  check mutate counter.py --bound 3\n      drops each guard in turn: would these properties notice?\n",
    ),
}
"""The screen and the exit code for some words."""


@pytest.fixture
def check(tmp_path, monkeypatch, capsys):
    """Run `check` in an empty folder that holds counter.py; return the exit code, stdout without times, and stderr."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(proof_cache, "cache_folder", lambda: tmp_path / "cache")
    (tmp_path / "counter.py").write_text(COUNTER)
    ran = checking(cli.main, capsys)

    def run(*words):
        code, out, err = ran(*words)
        return code, re.sub(r"Z3 \d[\d.]+", "Z3 V", re.sub(r"\b\d+\.\d\d s\b", "N s", out)), err

    return run


@pytest.mark.parametrize("words", SCREENS)
def test_the_screen_of_each_verdict(check, words):
    code, screen = SCREENS[words]
    assert check("counter.py", *words.split()) == (code, screen, "")


def test_details_and_json_have_the_same_exit_code(check):
    for words, (code, _) in SCREENS.items():
        assert check("counter.py", *words.split(), "--details")[0] == code
        if "seconds" not in words:
            assert check("counter.py", *words.split(), "--json")[0] == code


def test_a_deadlock_is_shown(check):
    Path("counter.py").write_text(COUNTER.partition("\n@terminal")[0])
    code, out, _ = check("counter.py")
    assert code == DEADLOCKED
    assert "VIOLATED: deadlock at step 5: no step is enabled there, and no @terminal is true\n\n" in out
    assert "\n  5  counter_steps  count 5\n\nTo go on:\n" in out


def test_ctrl_c_ends_in_what_was_found(check, monkeypatch):
    def interrupt(line, progress):
        raise KeyboardInterrupt

    monkeypatch.setattr(ProgressLine, "report", interrupt)
    code, out, err = check("kafka", "--protocol", "2.1")
    assert (code, err) == (130, "check: interrupted; this is what was found so far\n")
    assert "\n\nUNDECIDED: the user interrupted it; only behaviours of at most " in out
    assert out.endswith("\n\nTo go on:\n  check kafka --protocol 2.1\n      searches without a time limit\n")
    assert "HOLDS" not in out and "NO VIOLATION" not in out


def test_a_closed_pipe_does_not_change_the_exit_code(check, tmp_path):
    redirected = "| true; exit ${PIPESTATUS[0]}"
    assert ran("check counter.py --limit 2", folder=tmp_path, redirected=redirected).code == VIOLATED


@pytest.mark.sampled
def test_a_terminal_of_80_columns_gets_no_longer_lines_and_no_colours(check, tmp_path):
    ours, theirs = pty.openpty()
    subprocess.run(["stty", "cols", "80", "rows", "40"], stdin=theirs, check=True)
    own = {name: value for name, value in HERE.items() if name != "COLUMNS"}
    words = words_of("check kafka --protocol 0.10 --bound 6")
    with subprocess.Popen(words, cwd=tmp_path, env=own, stdout=theirs, stderr=subprocess.DEVNULL) as process:
        os.close(theirs)
        out = b""
        try:
            while more := os.read(ours, 4096):
                out += more
        except OSError:  # the other side has closed the terminal
            pass
    os.close(ours)
    lines = out.decode().splitlines()
    assert process.returncode == VIOLATED
    assert b"\x1b" not in out
    assert {line for line in lines if len(line) > 80} == set()
    assert "VIOLATED: acked_not_lost at step 6, isr_is_complete at step 5" in lines[-35:]


def test_the_history_shown_is_the_trace_that_is_named(check):
    _, out, _ = check("kafka", "--protocol", "0.10", "--bound", "6")
    _, told, _ = check("kafka", "--protocol", "0.10", "--bound", "6", "--json")
    first = json.loads(told)["runs"][0]["properties"][1]
    assert first["name"] == "acked_not_lost"
    steps = re.findall(r"^  \d  (\w+(?: \S+)*?)  ", out, re.MULTILINE)
    assert len(steps) == first["depth"] + 1
    assert f"To go on:\n  trace show {first['trace']}\n      explains this history\n" in out


def test_states_that_stand_for_others_are_not_told_as_all(check):
    _, out, _ = check("examples/two_phase_commit")
    assert "size      99 states to depth 10, some of which stand for others, N s; --details shows" in out
    _, out, _ = check("examples/two_phase_commit", "--no-reduction")
    assert "size      288 states to depth 10, N s; --details shows" in out


def test_the_verdict_of_a_constrained_model_says_what_was_left_out(check):
    Path("counter.py").write_text(COUNTER + "\n@constraint\ndef is_low(s):\n    return s.count < 3\n")
    code, out, _ = check("counter.py")
    assert (code, "size      3 states to depth 2, 1 step to states outside the constraint, N s; " in out) == (10, True)


def test_what_permits_a_failure_is_told_with_its_history(check):
    code, out, _ = check("kafka", "--protocol", "2.1", "--acks", "1", "--replicas", "2", "--bound", "3")
    assert code == 0
    lines = out.splitlines()
    start = lines.index("permitted: acks=1 does not wait for the ISR")
    assert lines[start - 1].startswith("An acknowledged record is lost: ")
    assert lines[start - 3].startswith("PERMITTED: acked_not_lost at step 2")


@pytest.mark.parametrize(("out", "folder"), [((), ""), (("--out", "kept"), " kept")])
def test_of_many_traces_the_first_is_named_and_their_folder(check, out, folder):
    few = "--replicas 2 --min-insync-replicas 1 --unclean-elections 1 --bounces 0 --bound 5"
    code, text, _ = check("kafka", "--protocol", "2.1", *few.split(), *out)
    assert code == 0
    words = rf"  trace list{folder}\n      lists this and (\d+) more traces\n"
    told = re.search(rf"To go on:\n  trace show \S+\n      explains this history\n{words}\Z", text)
    assert told is not None, text
    assert int(told[1]) + 1 == 4 == len(list(Path(folder.strip() or "counterexamples").glob("*.json")))

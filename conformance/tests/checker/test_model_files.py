"""`check FILE.py`: a user's model file gets an answer or one clear line."""

from __future__ import annotations

import json
import re
import shlex

import pytest

from conformance.tests.support.engine import HOLDS, assert_refused, checking, verdict_of
from conformance.tests.support.programs import ran
from isrcheck.checker import cli
from isrcheck.commands.exit_codes import SAFE, VIOLATED
from isrcheck.traces.cli import main as trace

GOOD = '''\
"""Two processes and one lock that can be stolen."""

from enum import IntEnum

from isrcheck.language import NONE, Domain, Flag, action, always, always_step, between, bound, budget, field, initial
from isrcheck.language import optional, require, setting, sometimes, switch, terminal

class Configuration:
    processes = bound(2, "processes that want the lock", least=1, option="--processes")
    thefts = budget(1, "times the lock is stolen", option="--thefts")

class Process(Domain, size="processes"):
    pass

class Place(IntEnum):
    IDLE = 0
    WAITING = 1
    INSIDE = 2

class State:
    place = field(Process, values=Place)
    owner = field(values=optional(Process), initially=NONE)
    stolen = field(values=Flag)

@action
def process_asks(s, p: Process):
    require(s.place[p] == Place.IDLE)
    s.place[p] = Place.WAITING

@action
def process_enters(s, p: Process):
    require(s.place[p] == Place.WAITING)
    require(s.owner == NONE)
    s.owner = p
    s.place[p] = Place.INSIDE

@action
def process_leaves(s, p: Process):
    require(s.place[p] == Place.INSIDE)
    s.owner = NONE
    s.place[p] = Place.IDLE

@action
def lock_is_stolen(s):
    require(s.owner != NONE)
    require(not s.stolen)
    require(s.thefts > 0)
    s.stolen = True
    s.owner = NONE

@always
def one_at_a_time(s):
    """At most one process is inside."""
    return not any(
        s.place[a] == Place.INSIDE and s.place[b] == Place.INSIDE
        for a in range(s.processes)
        for b in range(s.processes)
        if a < b
    )

@always_step
def a_stolen_lock_stays_stolen(before, after):
    return after.stolen or not before.stolen

@sometimes
def both_wait(s):
    return all(s.place[p] == Place.WAITING for p in range(s.processes))

@terminal
def may_end(s):
    return True
'''


@pytest.fixture
def check(tmp_path, monkeypatch, capsys):
    """Write a model and check it in its folder; return the exit code, stdout and stderr."""
    monkeypatch.chdir(tmp_path)
    checked = checking(cli.main, capsys)

    def run(text, *words, name="model.py"):
        if text is not None:
            (tmp_path / name).write_bytes(text if isinstance(text, bytes) else text.encode())
        return checked(name, *words)

    return run


def changed(old, new):
    assert GOOD.count(old) == 1, old
    return GOOD.replace(old, new)


def line_of(text, part):
    return text[: text.index(part)].count("\n") + 1


# ------------------------------------------------------------------------------------------------------ a right model


def test_a_users_model_is_checked_like_any_other(check):
    code, text, err = check(GOOD, "--details")
    assert (code, err) == (12, "")
    assert re.search(r"^one_at_a_time +VIOLATED at step 5 +2 +states up to that depth$", text, re.MULTILINE)
    assert re.search(r"^sometimes both_wait +REACHED at step 2$", text, re.MULTILINE)
    assert "faults         thefts 1" in text
    assert "22 distinct states, 44 generated, 8 levels" in text
    assert text.splitlines()[0] == "model: Two processes and one lock that can be stolen."
    assert verdict_of(text) == "VIOLATED: one_at_a_time at step 5"


def test_configuration_entries_are_options(check):
    code, text, _ = check(GOOD, "--thefts", "0", "--details")
    assert (code, verdict_of(text)) == (0, HOLDS)
    assert "faults         none; not considered: thefts" in text
    assert "disabled by the configuration: lock_is_stolen" in text.splitlines()
    assert "never fired" not in text
    code, out, _ = check(None, "--set", "thefts=0", "--processes", "3", "--json")
    (run,) = json.loads(out)["runs"]
    assert (code, run["distinct"], run["faults"]) == (0, 20, {"thefts": 0})
    assert run["command"] == "check model.py --processes 3 --thefts 0"


@pytest.mark.sampled
def test_an_edited_model_gives_its_new_verdict_at_once(tmp_path):
    """In a process of its own, which keeps bytecode."""
    edited = changed("require(s.owner == NONE)", "require(s.owner == NONE and not s.stolen)")
    for text, code in ((GOOD, VIOLATED), (edited, SAFE), (GOOD, VIOLATED)):
        (tmp_path / "model.py").write_text(text)
        assert ran("check model.py", folder=tmp_path, PYTHONDONTWRITEBYTECODE="").code == code


@pytest.mark.exhaustive
def test_an_edited_helper_beside_the_model_gives_its_new_verdict_at_once(tmp_path):
    helped = changed("require(s.thefts > 0)", "require(may_steal(s))")
    (tmp_path / "model.py").write_text(helped.replace("class Conf", "from thieves import may_steal\n\nclass Conf"))
    for body, code in (("return s.thefts > 0", VIOLATED), ("return s.thefts > 100", SAFE)):
        (tmp_path / "thieves.py").write_text(f"def may_steal(s):\n    {body}\n")
        assert ran("check model.py", folder=tmp_path, PYTHONDONTWRITEBYTECODE="").code == code


def test_the_trace_of_a_users_model_is_shown_with_the_given_model(check, capsys, tmp_path):
    _, out, _ = check(GOOD, "--json")
    file = json.loads(out)["runs"][0]["properties"][0]["trace"]
    assert trace(["show", file]) == 2
    err = capsys.readouterr().err
    assert err.count("\n") == 1
    assert "not loaded automatically" in err
    assert "--model model.py" in err
    assert trace(["show", file, "--model", "model.py"]) == 0
    shown = capsys.readouterr().out
    assert shown.splitlines()[-1] == "reproduce: check model.py --bound 5"
    assert "s.place[0] = INSIDE" in shown
    (tmp_path / "model.py").write_text(GOOD + "\n# edited\n")
    assert trace(["show", file, "--model", "model.py"]) == 0
    assert capsys.readouterr().out == shown
    (tmp_path / "model.py").write_text(GOOD.replace("a < b", "b > a"))
    assert trace(["show", file, "--model", "model.py"]) == 2
    assert "written with another version of model model" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["models.py", "numba.py", "check.py", "json.py", "two words.py", "mödel.py", "a-b.py"])
def test_a_model_may_have_any_name(check, name):
    assert check(GOOD, "--thefts", "0", name=name)[0] == 0


# ------------------------------------------------------------------------------------------------------ wrong models

LANGUAGE = {
    "while": (
        "    s.place[p] = Place.WAITING\n",
        "    while s.stolen:\n        s.place[p] = Place.WAITING\n",
        "while s.stolen",
        "in process_asks: the statement `While` is not in the language; use only assignments, if, for,"
        " require(...), return, and calls of helpers",
    ),
    "division": (
        "    s.place[p] = Place.WAITING\n",
        "    s.place[p] = 2 / 2\n",
        "2 / 2",
        "in process_asks: `2 / 2` has an operator that the language lacks; use + - * // or %",
    ),
    "print": (
        "    s.place[p] = Place.WAITING\n",
        "    print(s.place[p])\n    s.place[p] = Place.WAITING\n",
        "print(",
        "in process_asks: Python's own `print` is not in the language; of Python's own functions, use only min, max,"
        " abs, all, any, sum, len",
    ),
    "unknown field": (
        "require(s.owner == NONE)",
        "require(s.ower == NONE)",
        "s.ower",
        "in process_enters: the state has no field `ower`; it has owner, place, processes, stolen, thefts",
    ),
    "no domain": (
        "def process_asks(s, p: Process):",
        "def process_asks(s, p):",
        "def process_asks",
        "in process_asks: the parameter p of an action has no domain; annotate the parameter, as in `leader: Replica`",
    ),
    "raise": (
        "    return all(s.place[p] == Place.WAITING for p in range(s.processes))\n",
        '    raise ValueError("x")\n',
        "raise ValueError",
        "in both_wait: the statement `Raise` is not in the language; use only assignments, if, for,"
        " require(...), return, and calls of helpers",
    ),
    "require in a property": (
        "    return all(s.place[p] == Place.WAITING for p in range(s.processes))\n",
        "    require(s.stolen)\n    return True\n",
        "    require(s.stolen)\n    return",
        "in both_wait: require(...) is called outside an action;"
        " return a truth value, and call require(...) in the action",
    ),
}


@pytest.mark.parametrize("case", LANGUAGE)
def test_code_outside_the_language_is_refused_with_file_line_and_hint(check, case, tmp_path):
    old, new, part, says = LANGUAGE[case]
    text = changed(old, new)
    assert check(text) == (2, "", f"check: {tmp_path / 'model.py'}:{line_of(text, part)}: {says}\n")


def test_invalid_python_is_refused_with_file_and_line(check, tmp_path):
    text = GOOD + "def f(:\n"
    line = text.count("\n")
    assert check(text) == (2, "", f"check: {tmp_path / 'model.py'}:{line}: not Python: invalid syntax\n")
    says = "no `class State:` with fields; declare the state, see docs/language.md"
    assert check("") == (2, "", f"check: {tmp_path / 'model.py'}:1: {says}\n")


@pytest.mark.parametrize("text", [b"\xff\xfe\x00", b"x = 1\x00", bytes(range(256))], ids=["UTF-16", "NUL", "binary"])
def test_a_binary_file_is_refused(check, text):
    code, out, err = check(text)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert "not Python" in err


@pytest.mark.parametrize(
    ("statement", "says"),
    [
        ('raise RuntimeError("boom")', "RuntimeError: boom"),
        ("import no_such_module", "ModuleNotFoundError: No module named 'no_such_module'"),
        ("1 / 0", "ZeroDivisionError: division by zero"),
        ("import sys; sys.exit(5)", "SystemExit: 5"),
    ],
)
def test_an_error_while_loading_is_refused_with_file_and_line(check, statement, says):
    text = f"{GOOD}\n{statement}\n"
    assert check(text) == (2, "", f"check: model.py:{text.count(chr(10))}: loading the model failed: {says}\n")


@pytest.mark.parametrize(
    ("old", "new", "where", "says", "step"),
    [
        (
            "    s.owner = p\n",
            "    s.owner = p + 1\n",
            "def process_enters",
            "process_enters 1: 2 is written to owner, whose values are -1..1;"
            " guard the step, or widen the field's range",
            2,
        ),
        (
            "    return all(s.place[p] == Place.WAITING for p in range(s.processes))\n",
            "    return s.place[s.processes - 1 + s.place[0]] == Place.WAITING\n",
            "def both_wait",
            "both_wait: index 2 of place is outside 0..1; test the index before it is used",
            1,
        ),
    ],
    ids=["a value", "an index in a property"],
)
def test_what_leaves_its_range_is_named_with_its_place_and_its_depth(check, tmp_path, old, new, where, says, step):
    text = changed(old, new)
    code, out, _ = check(text)
    assert code == VIOLATED
    assert f"\n  {tmp_path / 'model.py'}:{line_of(text, where)}: {says} (step {step})\n" in out
    assert f"VIOLATED at step {step} in_range" in " ".join(out.split())


def test_an_initial_value_out_of_range_is_refused(check, tmp_path):
    text = changed("values=optional(Process), initially=NONE", "values=optional(Process), initially=2")
    place = f"{tmp_path / 'model.py'}:{line_of(text, '    owner = field')}"
    assert check(text) == (2, "", f"check: {place}: owner is initially 2; give a value in -1..1\n")


def initial(body):
    return f"{GOOD}\n\n@initial\ndef starts(configuration):\n    {body}\n"


@pytest.mark.parametrize(
    ("body", "says"),
    [
        ("return []", "this configuration has no initial state"),
        ("yield {'places': [0, 0]}", "initial states set places, but the model has no such field"),
    ],
)
def test_a_model_without_initial_states_is_refused(check, body, says):
    ended = check(initial(body))
    assert_refused(ended, "")
    assert says in ended[2]


def test_declared_initial_states_are_used(check):
    code, out, _ = check(initial("yield {'place': [2, 1]}\n    yield {'place': [2, 2]}"), "--json")
    (run,) = json.loads(out)["runs"]
    assert (code, run["states_per_level"][0]) == (12, 2)
    assert run["properties"][0]["depth"] == 0


def test_a_domain_of_negative_size_is_refused(check):
    code, _, err = check(changed('class Process(Domain, size="processes")', "class Process(Domain, size=-1)"))
    assert (code, err.count("\n")) == (2, 1)
    assert "has an index of size -1; give each of its domains a size of at least 0" in err


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ("--processes 0", "processes=0 is impossible: it ranges from 1 to any size (processes that want the lock)"),
        (
            "--processes 2147483649",
            "field owner would hold -1..2147483648: a cell holds -2147483648..2147483647; use smaller bounds",
        ),
        ("--thefts -1", "thefts=-1 is impossible: it ranges from 0 to 127 (times the lock is stolen)"),
        ("--theft 1", "model has no option --theft; did you mean --thefts?"),
        ("--set theft=1", "model has no configuration entry theft; did you mean thefts?"),
        ("--switch STEAL=on", "model has no switch STEAL; leave it out"),
        ("--swap process_ask=x", "model has no action process_ask; did you mean process_asks?"),
        ("--protocol 1", "model has no protocol 1: it has only one protocol; leave --protocol out"),
    ],
)
def test_bad_words_beside_a_model(check, words, says):
    assert check(GOOD, *shlex.split(words)) == (2, "", f"check: {says}\n")


def test_a_switch_may_be_written_in_small_letters(check):
    text = GOOD.replace("\nclass Process(", "    steal = switch(False, 'the lock may be stolen')\n\nclass Process(", 1)
    code, out, err = check(text, "--switch", "steal=on", "--json")
    assert (code, err) == (12, "")
    (run,) = json.loads(out)["runs"]
    assert run["configuration"]["steal"] == "on"
    assert run["command"] == "check model.py --switch steal=on"


def test_a_path_that_is_no_file_is_refused(check, tmp_path):
    (tmp_path / "folder.py").mkdir()
    for name in ("missing.py", "folder.py", "no/folder/model.py"):
        says = "there is no such Python file; give the path of a model, such as my_protocol.py"
        assert check(None, name=name) == (2, "", f"check: {name}: {says}\n")

"""`check sweep`: the table over configurations, the smallest failure, resumption, and bad input."""

from __future__ import annotations

import errno
import json
import os
import pickle
import random
import re
import shlex
from dataclasses import replace
from pathlib import Path

import pytest

from conformance.tests.support.engine import assert_refused
from conformance.tests.support.places import PROJECT
from conformance.tests.support.programs import interrupted_when
from conformance.tests.support.small_models import action, claim, define, entries, helper, model, state, write_model
from isrcheck.checker import cli
from isrcheck.checker.results.exploration import exploration_of
from isrcheck.checker.results.terminal import ProgressLine
from isrcheck.checker.results.verdict import verdicts
from isrcheck.checker.sweep import results_file
from isrcheck.checker.sweep import searches as sweep_cases
from isrcheck.checker.sweep import table as sweep
from isrcheck.checker.sweep.searches import cases_of, read_sweep, search_case
from isrcheck.commands.exit_codes import INTERRUPTED, VIOLATED
from isrcheck.models.messages import UsageError
from isrcheck.traces.cli import main as trace

pytestmark = pytest.mark.sampled

DOOR = model(
    entries(
        'most = bound(4, "how far it counts", least=1, most=9, option="--most")',
        'leaps = budget(0, "steps of two", option="--leaps")',
        'limit = setting(9, "what is promised of the count", option="--limit")',
        'goal = setting(1, "what has to be reached", option="--goal")',
        'excused_from = setting(9, "from where on nothing is promised")',
        'BREAKS = switch(False, "it leaves its declaration")',
    ),
    state('count: between(0, "most")', "leaps_done: between(0, 3)"),
    define(
        "contradiction",
        "more_promised_than_there_is(configuration)",
        '"""limit is 7, which nobody can promise; choose another limit."""',
        "return configuration.limit == 7",
    ),
    action("counter_steps(s)", "require(s.count < s.most or s.BREAKS)", "s.count += 1"),
    action(
        "counter_leaps(s)",
        "require(s.leaps_done < s.leaps)",
        "require(s.leaps_done < 3)",
        "require(s.count + 1 < s.most)",
        "s.count += 2",
        "s.leaps_done += 1",
    ),
    helper("is_excused(s)", "s.count >= s.excused_from"),
    define(
        "always(permitted=is_excused, applies=lambda configuration: configuration.limit < 100)",
        "stays_within(s)",
        '"""The count stays within its limit."""',
        "return s.count <= s.limit",
    ),
    claim("always", "never_negative(s)", "s.count >= 0"),
    claim("sometimes", "gets_there(s)", "s.count == s.goal"),
    claim("terminal", "may_end(s)", "True"),
)
"""A counter that goes up, as far as it is let."""


@pytest.fixture
def check(check):
    """Run `check sweep` in a folder that holds door.py."""
    write_model(Path("door.py"), DOOR)
    return lambda line: check("sweep", *shlex.split(line))


@pytest.fixture
def check_json(check):
    def run(line):
        code, out, err = check(f"{line} --json")
        return code, json.loads(out), err

    return run


def cells(content, name):
    """The verdict and depth of a property in every row; the word of the row if it has no run."""
    found = []
    for row in content["rows"]:
        if row["run"] is None:
            found.append(row["verdict"])
            continue
        (one,) = [one for one in content["runs"][row["run"]]["properties"] if one["name"] == name]
        found.append((one["verdict"], one["depth"]))
    return found


def results(folder="counterexamples"):
    (path,) = Path(folder).glob("sweep_*.jsonl")
    return path


# ----------------------------------------------------------------------------------------------------------- the table


def test_every_combination_is_a_row_in_the_order_of_the_values(check):
    code, out, err = check("door.py --vary limit=2,9,7 --vary leaps=0,1")
    assert (code, err) == (12, "")
    shown = out.splitlines()
    at = shown.index("limit  leaps  stays_within")
    refused = "n/a: limit is 7, which nobody can promise; choose another limit."
    assert shown[at + 1 : at + 8] == [
        "2      0      VIOLATED 3",
        "2      1      VIOLATED 2",
        "9      0      HOLDS",
        "9      1      HOLDS",
        f"7      0      {refused}",
        f"7      1      {refused}",
        "",
    ]
    assert "in common      most=4, goal=1, excused_from=9, BREAKS=off" in shown
    assert "faults         leaps 0 or 1" in shown
    assert "in every row   HOLDS: never_negative" in shown
    assert "sometimes      1 of 1 reached in every row where they apply" in shown
    assert "6 configurations: 2 VIOLATED, 2 HOLDS, 2 n/a (reasons in the table)" in shown
    assert shown[-1] == "VIOLATED: in 2 of 6 configurations: stays_within"


def test_the_smallest_failing_configuration_has_the_smallest_bounds_then_budgets_then_steps(check_json, capsys):
    code, content, _ = check_json("door.py --vary leaps=1,0 --vary most=4,3 --vary limit=2,1")
    assert code == VIOLATED
    smallest = content["smallest"]
    assert content["rows"][smallest["row"]]["values"] == {"leaps": "0", "most": "3", "limit": "1"}
    assert (smallest["property"], smallest["verdict"], smallest["depth"]) == ("stays_within", "VIOLATED", 2)
    assert smallest["command"] == "check door.py --bound 2 --most 3 --limit 1"
    assert cli.main([*shlex.split(smallest["command"])[1:], "--json"]) == VIOLATED
    (run,) = json.loads(capsys.readouterr().out)["runs"]
    assert [run["properties"][0][key] for key in ("verdict", "depth", "trace")] == ["VIOLATED", 2, smallest["trace"]]
    assert trace(["show", smallest["trace"], "--model", "door.py"]) == 0
    assert "stays_within is false" in capsys.readouterr().out


def test_a_violation_is_named_before_a_smaller_permitted_failure(check, check_json):
    line = "door.py --limit 1 --vary excused_from=2,4 --vary most=3,4"
    _, content, _ = check_json(line)
    assert cells(content, "stays_within") == [("PERMITTED", 2), ("PERMITTED", 2), ("VIOLATED", 2), ("VIOLATED", 2)]
    assert content["smallest"]["row"] == 2
    line = "door.py --limit 1 --set excused_from=2 --vary most=3,4"
    code, out, _ = check(line)
    assert code == 0
    assert "smallest failing configuration: most=3\n  stays_within: PERMITTED at step 2 (no violation" in out
    assert check(f"{line} --strict")[0] == VIOLATED
    assert "smallest failing configuration: none found" in check("door.py --vary most=3,4")[1]


def test_a_failing_cell_has_its_own_trace(check_json):
    _, content, _ = check_json("door.py --vary limit=1,2,9")
    files = [run["properties"][0]["trace"] for run in content["runs"]]
    assert files[2] is None
    assert len(set(files)) == 3
    assert all(Path(file).is_file() for file in files[:2])


CODES = [
    # what is added, exit code, verdict
    ("--vary limit=9,8", 0, "HOLDS"),
    ("--vary limit=9,8 --bound 1", 0, "NO VIOLATION TO DEPTH"),
    ("--vary limit=9,2", 12, "VIOLATED"),
    ("--vary goal=1,9", 10, "UNREACHABLE"),
    ("--vary limit=9,8 --seconds 1e-9", 3, "UNDECIDED"),
    ("--vary BREAKS=off,on", 12, "VIOLATED"),
    ("--vary BREAKS=on", 12, "VIOLATED"),
    ("--vary limit=9,2 --seconds 1e-9 --vary BREAKS=on,off", 3, "UNDECIDED"),
]


@pytest.mark.parametrize(("words", "code", "verdict"), CODES, ids=[case[0] for case in CODES])
def test_the_gravest_row_decides(check, check_json, words, code, verdict):
    given, content, _ = check_json(f"door.py {words}")
    assert (given, content["verdict"]) == (code, verdict)
    given, out, _ = check(f"door.py {words} --out other")
    assert given == code
    assert out.splitlines()[-1].startswith(verdict)


def test_undecided_never_looks_like_a_pass(check):
    _, out, _ = check("door.py --vary limit=9,8 --seconds 1e-9")
    assert "HOLDS" not in out
    assert re.search(r"^9 +UNDECIDED +UNDECIDED$", out, re.MULTILINE)
    assert "cut short: 2 configurations: the time limit is reached" in out
    _, out, _ = check("door.py --vary BREAKS=off,on")
    assert re.search(r"^on .*VIOLATED 5$", out, re.MULTILINE)
    assert out.splitlines()[-1].startswith("VIOLATED: in 1 of 2 configurations: in_range")


def test_a_permitted_failure_in_an_interrupted_search_is_marked(check):
    options = cli.options_of(["sweep", *shlex.split("door.py --vary limit=1 --set excused_from=2")])
    cases, _ = cases_of(read_sweep(options), options)
    instance = read_sweep(options).instances[0]
    whole = search_case(cases[0])
    for stopped, shown in ((None, "PERMITTED 2"), ("memory", "PERMITTED 2 (UNDECIDED)")):
        found = exploration_of(whole | {"stopped": stopped}, instance, cases[0].limits)
        assert sweep.cell(verdicts(found)[0]) == shown


def test_unreachable_goals_have_a_column(check):
    _, out, _ = check("door.py --vary goal=1,9")
    assert re.search(r"goal  sometimes gets_there\n1 +REACHED 1\n9 +UNREACHABLE\n", out)


def test_kafka_keys_and_the_newest_protocol_without_a_model(check_json, check):
    line = "--vary unclean.leader.election.enable=false,true --vary replication.factor=2,3 --bound 6"
    code, content, _ = check_json(f"{line} --min-insync-replicas 1")
    assert code == 0
    assert content["vary"] == {"unclean.leader.election.enable": ["false", "true"], "replication.factor": ["2", "3"]}
    assert {run["protocol"] for run in content["runs"]} == {"2.1"}
    told = [(run["configuration"]["unclean_elections"], run["configuration"]["replicas"]) for run in content["runs"]]
    assert told == [("0", "2"), ("0", "3"), ("1", "2"), ("1", "3")]
    none = ("NO VIOLATION TO DEPTH", 6)
    assert cells(content, "acked_not_lost") == [none, none, ("PERMITTED", 3), ("PERMITTED", 3)]
    _, out, _ = check(f"{line} --min-insync-replicas 1")
    assert out.startswith("kafka, protocol 2.1: 4 configurations\n")
    assert "\nunclean.\nleader.\nelection.  replication.\nenable     factor        offsets_ordered  " in out


def test_the_classic_loss_over_generations_brokers_and_the_isr(check_json):
    line = "--vary protocol=0.10,0.11,2.0,2.1 --vary min.insync.replicas=1,2 --bound 8"
    code, content, _ = check_json(line)
    assert code == VIOLATED
    none = ("NO VIOLATION TO DEPTH", 8)
    steps = [6, 6, 8, 8, 8, 8]
    assert cells(content, "acked_not_lost") == [*(("VIOLATED", step) for step in steps), none, none]
    values = content["rows"][content["smallest"]["row"]]["values"]
    assert values == {"protocol": "0.10", "min.insync.replicas": "1"}


def test_a_row_equals_the_single_command(check_json, capsys):
    _, content, _ = check_json("--vary acks=0,1 --vary replicas=2,3 --bound 5")
    for run in content["runs"]:
        cli.main([*shlex.split(run["command"])[1:], "--json"])
        (alone,) = json.loads(capsys.readouterr().out)["runs"]
        assert {key: value for key, value in alone.items() if key != "seconds"} == {
            key: value for key, value in run.items() if key != "seconds"
        }


def test_a_wide_table_is_split_to_fit(check):
    _, out, _ = check("--vary acks=0,all --vary unclean_elections=0,1 --vary replicas=1,2 --protocol 0.10 --bound 11")
    parts = [part for part in out.split("\n\n") if re.search(r"^all ", part, re.MULTILINE)]
    assert len(parts) == 2
    assert all(len(line) <= 120 for part in parts for line in part.splitlines())
    assert all(len(re.findall(r"^(0|all) ", part, re.MULTILINE)) == 8 for part in parts)


def test_one_system_under_two_names_is_searched_once(check, monkeypatch):
    asked = []
    search = sweep_cases.explore
    monkeypatch.setattr(sweep_cases, "explore", lambda *given, **more: asked.append(1) or search(*given, **more))
    same = "--switch TRUNC=KIP101 --switch UNKNOWN_PID_POLICY=SEQUENCE_ZERO --set remembered_batches=5 --bound 4"
    _, out, _ = check(f"--vary protocol=0.10,0.11 {same}")
    assert len(asked) == 1
    assert "2 configurations: 2 NO VIOLATION" in out
    check(f"--vary protocol=0.10,2.1 {same}")
    assert len(asked) == 3


def test_rows_with_the_same_bounds_share_a_kernel(check, monkeypatch):
    made = []
    monkeypatch.setattr(sweep_cases, "KERNELS", sweep_cases.Kernels())
    from isrcheck.checker.compile import kernel as kernels

    kernel_of = kernels.kernel_of
    monkeypatch.setattr(kernels, "kernel_of", lambda *given, **named: made.append(1) or kernel_of(*given, **named))
    check("door.py --vary limit=1,2,3 --vary leaps=0,1 --vary most=3,4")
    assert len(made) == 2


# ------------------------------------------------------------------------------------------------------------ the seam


def test_a_case_is_plain_data_that_suffices_for_the_search(check):
    words = "door.py --vary limit=2,9 --vary leaps=0,1 --swap counter_steps=x"
    options = cli.options_of(["sweep", *shlex.split(words)])
    with pytest.raises(UsageError, match="door has no protocol x"):
        read_sweep(options)
    options = cli.options_of(["sweep", *shlex.split("door.py --vary limit=2,9 --vary leaps=0,1")])
    cases, answers = cases_of(read_sweep(options), options)
    assert answers == {0: 0, 1: 1, 2: 2, 3: 3}
    again = pickle.loads(pickle.dumps(cases))
    assert again == cases
    records = [json.loads(json.dumps(search_case(case))) for case in again]
    judged = [record["verdicts"]["stays_within"] for record in records]
    assert judged == ["VIOLATED at step 3", "VIOLATED at step 2", "HOLDS", "HOLDS"]
    assert records[1]["findings"]["stays_within"]["found"]["witness"]["initial"] == 0


def test_records_may_come_in_any_order(check_json, monkeypatch):
    _, forwards, _ = check_json("door.py --vary limit=2,9 --vary leaps=0,1 --out one")

    def carry_backwards(progress, interrupts, total, budget, cases):
        return ((case.position, search_case(case)) for case in reversed(cases))

    monkeypatch.setattr(sweep, "run_cases_here", carry_backwards)
    _, backwards, _ = check_json("door.py --vary limit=2,9 --vary leaps=0,1 --out two")

    def plain(content):
        text = json.dumps(content).replace('"two/', '"one/')
        return re.sub(r'"seconds": [0-9.e-]+', "", text)

    assert plain(forwards) == plain(backwards)


def test_a_case_contains_the_text_of_a_users_model(check):
    options = cli.options_of(["sweep", *shlex.split("door.py --vary limit=2,9")])
    cases, _ = cases_of(read_sweep(options), options)
    Path("door.py").write_text("nothing that could be a model")
    assert [search_case(case)["verdicts"]["stays_within"] for case in cases] == ["VIOLATED at step 3", "HOLDS"]


def test_a_registered_model_must_have_the_same_text_on_executors(check):
    options = cli.options_of(["sweep", *shlex.split("kafka --vary acks=1 --bound 2")])
    cases, _ = cases_of(read_sweep(options), options)
    assert search_case(cases[0])["verdicts"]["acked_not_lost"] == "PERMITTED at step 2"
    other = replace(cases[0], subject=replace(cases[0].subject, digest="0" * 64))
    with pytest.raises(UsageError, match="kafka: an executor of Spark has another version of this model"):
        search_case(other)


# ---------------------------------------------------------------------------------------------------------- resumption

SWEEP = "door.py --vary limit=2,9,7 --vary leaps=0,1"


def interrupt_after(monkeypatch, count):
    """Raise Ctrl-C after this number of configurations."""
    search, done = sweep_cases.search_case, []

    def searched(*given):
        if len(done) == count:
            raise KeyboardInterrupt
        done.append(given[0].name)
        return search(*given)

    monkeypatch.setattr(sweep_cases, "search_case", searched)
    return done


def test_after_an_interrupt_the_same_command_resumes(check, monkeypatch):
    with monkeypatch.context() as patch:
        interrupt_after(patch, 2)
        code, out, err = check(SWEEP)
    assert code == INTERRUPTED
    assert err == "check: interrupted; this is what was found so far\n"
    assert re.search(r"^9 +0 +UNDECIDED: not searched$", out, re.MULTILINE)
    assert "6 configurations: 2 VIOLATED, 2 n/a (reasons in the table), 2 not searched" in out
    assert len(results().read_bytes().splitlines()) == 3
    with monkeypatch.context() as patch:
        done = interrupt_after(patch, 9)
        code, resumed, err = check(SWEEP)
    assert done == ["limit=9, leaps=0", "limit=9, leaps=1"]
    assert (code, err) == (12, f"resuming from {results()}: 2 of 4 searches are done\n")
    _, fresh, _ = check(f"{SWEEP} --out fresh")
    assert without_times(fresh.replace("fresh/", "counterexamples/")) == without_times(resumed)
    with monkeypatch.context() as patch:
        done = interrupt_after(patch, 0)
        assert check(SWEEP)[0] == VIOLATED
    assert done == []


def test_an_interrupt_before_any_result_is_reported(check, monkeypatch):
    interrupt_after(monkeypatch, 0)
    assert check(SWEEP) == (130, "", "check: interrupted before anything was found\n")


def test_interrupted_and_timed_out_searches_are_repeated(check, monkeypatch):
    explore = sweep_cases.explore

    def cut_short(*given, **more):
        found = explore(*given, **more)
        found.stopped = "interrupt"
        return found

    with monkeypatch.context() as patch:
        patch.setattr(sweep_cases, "explore", cut_short)
        code, out, _ = check("door.py --vary limit=9,8")
    assert code == INTERRUPTED
    assert "HOLDS" not in out
    assert "2 configurations: 1 UNDECIDED, 1 not searched" in out
    assert len(results().read_bytes().splitlines()) == 1
    assert check("door.py --vary limit=9,8")[0] == 0
    for _ in range(2):  # each run goes on where the time of the one before was over
        check("door.py --vary limit=9,8 --seconds 1e-9 --out short")
        assert len(results("short").read_bytes().splitlines()) == 1


@pytest.mark.exhaustive
def test_ctrl_c_keeps_finished_rows(tmp_path):
    line = "check sweep --vary replicas=1,3 --protocol 0.10"
    ended = interrupted_when("] 2 of 2, replicas=3: 1 s, depth", line, folder=tmp_path)
    assert ended.code == INTERRUPTED
    assert "cut short: 1 configuration: the user interrupted it" in ended.out
    assert len(results(tmp_path / "counterexamples").read_bytes().splitlines()) == 2


@pytest.mark.parametrize(
    "other",
    ["--vary limit=2,9", f"{SWEEP[8:]} --bound 3", f"{SWEEP[8:]} --most 3", f"{SWEEP[8:]} --seconds 9"],
)
def test_another_sweep_has_another_file(check, other):
    check(SWEEP)
    assert "resuming from" not in check(f"door.py {other}")[2]
    assert len(list(Path("counterexamples").glob("sweep_*.jsonl"))) == 2


def test_another_text_of_the_model_is_another_sweep(check):
    check(SWEEP)
    write_model(Path("door.py"), DOOR.replace("s.count <= s.limit", "s.count <= s.limit + 1"))
    code, out, err = check(SWEEP)
    assert (code, err) == (12, "")
    assert re.search(r"^2 +0 +VIOLATED 4$", out, re.MULTILINE)


def test_the_search_for_a_cut_last_line_is_repeated(check):
    check(SWEEP)
    content = results().read_bytes()
    results().write_bytes(content[:-20])
    code, _, err = check(SWEEP)
    assert (code, err) == (12, f"resuming from {results()}: 3 of 4 searches are done\n")
    assert check(SWEEP)[2].endswith("4 of 4 searches are done\n")
    for left in (0, 7):
        results().write_bytes(content[:left])
        assert check(SWEEP)[::2] == (12, "")


DAMAGES = {
    "a word": (lambda lines: [lines[0], lines[1].replace(b"VIOLATED", b"HOLDS   "), *lines[2:]], ":2: damaged"),
    "no json": (lambda lines: [lines[0], b"what\n", *lines[2:]], ":2: damaged"),
    "a list": (lambda lines: [lines[0], b"[]\n", *lines[2:]], ":2: damaged"),
    "bytes": (lambda lines: [*lines[:3], b"\xff\xfe\n"], ":4: damaged"),
    "twice": (lambda lines: [*lines, lines[1]], ":6: damaged"),
    "foreign": (lambda lines: [b"my notes\n", *lines[1:]], ":1: the file does not contain results of this sweep"),
    "another": (
        lambda lines: [lines[0].replace(b"door", b"barn"), *lines[1:]],
        ":1: the file does not contain results of this sweep",
    ),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_or_foreign_file_is_refused_and_kept(check, damage):
    check(SWEEP)
    change, said = DAMAGES[damage]
    spoilt = b"".join(change(results().read_bytes().splitlines(keepends=True)))
    results().write_bytes(spoilt)
    code, out, err = check(SWEEP)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert err.startswith(f"check: {results()}{said}")
    assert results().read_bytes() == spoilt


def test_a_line_of_another_sweep_is_refused(check):
    check(f"{SWEEP} --bound 0 --out other")
    (other,) = Path("other").glob("sweep_*.jsonl")
    check(SWEEP)
    lines = results().read_bytes().splitlines(keepends=True)
    results().write_bytes(b"".join([lines[0], other.read_bytes().splitlines(keepends=True)[1], *lines[2:]]))
    code, out, err = check(SWEEP)
    assert (code, out, err.startswith(f"check: {results()}:2: damaged")) == (2, "", True)


def without_times(text):
    return re.sub(r", [0-9.]+ s;", ", a while;", text)


def test_a_changed_results_file_gives_a_correct_table_or_is_refused(check):
    told = without_times(check(SWEEP)[1])
    content = results().read_bytes()
    chances = random.Random(16)
    codes = []
    for _ in range(60):
        place = chances.randrange(len(content))
        kinds = [
            content[:place],
            content[:place] + bytes([content[place] ^ 1 << chances.randrange(8)]) + content[place + 1 :],
            content[:place] + chances.choice([b"[" * 9999, b"\n", b"\0", b"9" * 5000, b'"a":']) + content[place:],
            content + content[place:],
        ]
        results().write_bytes(chances.choice(kinds))
        code, out, err = check(SWEEP)
        codes.append(code)
        assert (code, err.count("\n")) in ((2, 1), (12, 0), (12, 1))
        assert without_times(out) == ("" if code == 2 else told)
    assert set(codes) == {2, 12}


def test_a_file_without_results_is_not_touched(check, tmp_path):
    check(SWEEP)
    path = results()
    mine = tmp_path / "mine"
    mine.write_text("mine")
    path.unlink()
    path.symlink_to(mine)
    assert "a symbolic link" in check(SWEEP)[2]
    assert mine.read_text() == "mine"
    path.unlink()
    path.mkdir()
    assert check(SWEEP)[0] == 2
    path.rmdir()
    os.mkfifo(path)
    assert "not a regular file" in check(SWEEP)[2]


def test_a_full_device_costs_the_results_and_not_the_report(check, monkeypatch):
    def full(number):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr(results_file.os, "fsync", full)
        code, out, err = check("door.py --vary limit=9,8")
    assert code == 2
    assert out.splitlines()[-1] == "HOLDS: in every searched configuration"
    assert "results could not be written: No space left on device; make room" in err


def test_the_same_sweep_does_not_run_concurrently(check):
    import fcntl

    check(SWEEP)
    with results().open("rb") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        code, _, err = check(SWEEP)
    assert code == 2
    assert err.endswith("the same sweep is running; wait until it ends, or give another folder with --out DIR\n")


# ------------------------------------------------------------------------------------------------------------ progress


def test_progress_is_a_bar_only_on_a_terminal(check, monkeypatch):
    check("door.py --vary limit=2,9 --bound 0")
    assert check("door.py --vary limit=2,9,8,6")[2] == ""
    monkeypatch.setattr(ProgressLine, "is_terminal", property(lambda self: True, lambda self, value: None), False)
    monkeypatch.setenv("COLUMNS", "200")
    _, _, err = check("door.py --vary limit=2,9,8,6 --out other")
    told = [line.removeprefix("\x1b[K") for line in err.split("\r") if " of 4" in line]
    assert told == [
        "[....................] 1 of 4, limit=2: 0 s, begins",
        "[#####...............] 2 of 4, limit=9: 0 s, begins",
        "[##########..........] 3 of 4, limit=8: 0 s, begins",
        "[###############.....] 4 of 4, limit=6: 0 s, begins",
    ]


# ----------------------------------------------------------------------------------------------------------- bad input

BAD = {
    "door.py": "sweep needs --vary, as in",
    "door.py --vary limit": "--vary limit: no key with values; write it as --vary KEY=VALUE,VALUE,...",
    **{f"door.py --vary {words}": "write it as --vary KEY" for words in ("limit=", "=1", "limit=1,,2")},
    "door.py --vary limits=1,2": "--vary limits: door has no such entry; did you mean limit?",
    "door.py --vary limit=1 --vary limit=2": "--vary sets limit twice",
    "--vary replicas=1 --vary replication.factor=2": "replicas and replication.factor, which mean the same",
    "--vary min.insync.replicas=1 --vary min_insync_replicas=2": "which mean the same",
    "door.py --vary limit=1,1": "1 is given twice",
    "--vary acks=all,-1": "-1 is given twice",
    "--vary max.in.flight.requests.per.connection=5,9": "5 and 9 mean the same to the model",
    "door.py --vary limit=1,2 --limit 3": "limit is in --vary, and another option sets it",
    "door.py --vary limit=1,2 --set limit=1": "limit is in --vary, and another option sets it",
    "--vary unclean.leader.election.enable=true --unclean-elections 1": "is in --vary, and another option sets it",
    "--vary protocol=0.10,2.1 --protocol 2.1": "protocol is in --vary, and another option sets it",
    "published/kip_320 --vary protocol=kip_101": "protocol is in --vary, and another option sets it",
    "--vary protocol=0.10,3.9": "kafka has no protocol 3.9",
    "door.py --vary protocol=a": "door has no protocol a",
    "door.py --vary most=1,99": "most=99 is impossible: it ranges from 1 to 9",
    "door.py --vary limit=x": "limit=x: not a whole number",
    "--vary acks=2": "acks=2: no such value; there are: all, 0, 1",
    "--vary unclean.leader.election.enable=maybe": "'maybe' is neither true nor false",
    "--vary replication.factor=9": "replicas=9 is impossible",
    "door.py --vary limit=7 --vary leaps=0,1": "no combination of a sweep can be searched: limit is 7",
    "--replicas 9 --vary acks=0,1": "no combination of a sweep can be searched: replicas=9 is impossible",
    "kafka --vary acks=0,1 --no-such 3": "kafka has no option --no-such",
    "nowhere --vary acks=0,1": "no model nowhere",
    "--vary acks=0,1 --config server.properties": "--config",
    "--vary acks=0,1 --describe -": "--describe",
    "--vary acks=0,1 --prove": "--prove does not go with sweep",
    **{
        f"--vary acks=0,1 --bound 3 --engine {engine}": f"--engine {engine} does not go with sweep"
        for engine in ("z3", "all")
    },
    "mutate kafka --vary acks=0,1": "mutate must be the first argument",
    "--vary acks=0,1 --out door.py": "door.py: not a folder",
    "--vary acks=0,1 --bound -1": "--bound",
}


@pytest.mark.parametrize("line", BAD)
def test_bad_input_is_one_clear_line(check, line):
    ended = check(line)
    assert_refused(ended, "")
    assert BAD[line] in ended[2]


def test_too_many_combinations_are_refused(check):
    wide = ",".join(map(str, range(101)))
    says = "check: --vary gives 10,201 combinations, more than 10,000; give fewer values\n"
    assert check(f"door.py --vary limit={wide} --vary goal={wide}") == (2, "", says)


def test_sweep_and_vary_go_together_and_sweep_comes_first(capsys):
    for words, said in {
        "kafka --vary acks=0,1 --bound 1": "--vary goes with sweep",
        "kafka sweep --vary acks=0,1": "sweep must be the first argument",
        "mutate sweep": "sweep must be the first argument",
        "mutate kafka --protocol 2.1 --vary acks=0,1": "--vary goes with sweep",
    }.items():
        assert cli.main(words.split()) == 2
        assert said in capsys.readouterr().err


# -------------------------------------------------------------------------------------------------------- the document


@pytest.mark.recorded
def test_the_table_in_the_document_is_the_commands_output(check_json):
    text = (PROJECT / "docs" / "sweeps_and_tables.md").read_text(encoding="utf-8")
    section = text[text.index("A larger table") : text.index("## Results as tables")]
    line = re.search(r"\$ check sweep (.*?)\n\.\.\.", section, re.DOTALL)[1].replace("\\\n", " ")
    code, content, _ = check_json(line)
    assert code == 0
    states = sum(run["distinct"] for run in content["runs"])
    assert f"({states:,} states)" in section
    told = iter(cells(content, "acked_not_lost"))
    table = {}
    for row, (word, depth) in zip(content["rows"], told, strict=True):
        acks, least, unclean, brokers = row["values"].values()
        table[acks, least, unclean, brokers] = f"{word.removesuffix(' DEPTH')} {depth}"
    for acks, least, *shown in re.findall(
        r"^\| `(0|1|all)` \| (.*?) \| (.*?) \| (.*?) \| (.*?) \| (.*?) \|$", section, re.MULTILINE
    ):
        for one in least.split(" or "):
            assert shown == [table[acks, one, unclean, n] for unclean in ("false", "true") for n in ("2", "3")]
    read = cells(content, "consistent_read")
    assert read[[row["values"] for row in content["rows"]].index(
        dict(zip(content["vary"], ("all", "2", "true", "2"), strict=True))
    )] == ("PERMITTED", 10)  # fmt: skip
    assert f"  {content['smallest']['command']}\n  trace show {content['smallest']['trace']}\n" in section


def test_the_json_object_has_exactly_the_documented_keys(check_json):
    _, content, _ = check_json("door.py --vary limit=2,9,7")
    assert set(content) == {"runs", "vary", "rows", "smallest", "results", "resumed", "verdict"}
    assert [set(row) for row in content["rows"]] == [{"values", "verdict", "why", "run"}] * 3
    assert [row["run"] for row in content["rows"]] == [0, 1, None]
    assert set(content["smallest"]) == {"row", "property", "verdict", "depth", "command", "trace"}
    assert (content["results"], content["resumed"]) == (str(results()), 0)

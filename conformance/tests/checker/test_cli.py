"""The command `check`: verdicts, exit codes, text and JSON, traces, bad input.

One model, compiled once, gives every verdict: it counts, and a setting chooses the properties of the count.
"""

from __future__ import annotations

import errno
import json
import mmap
import os
import re
import shlex
import sys
from pathlib import Path

import pytest

from conformance.tests.checker.test_names import HEAD, LOOP_OVER_A_SET
from conformance.tests.support.engine import COUNTER as PLAIN_COUNTER
from conformance.tests.support.engine import checking, searched_to, verdict_of, with_rows
from conformance.tests.support.programs import ran
from conformance.tests.support.small_models import action, claim, define, entries, helper, in_the_language, model, state
from isrcheck.checker import cli
from isrcheck.checker.comparisons import matrix_record as matrix
from isrcheck.checker.comparisons import published
from isrcheck.checker.comparisons.published import PUBLISHED_MODELS
from isrcheck.checker.compile import kernel as kernels
from isrcheck.checker.forms import model as one_model
from isrcheck.checker.results.exploration import Progress
from isrcheck.checker.results.terminal import ProgressLine
from isrcheck.checker.results.verdict import Verdict, Word, exit_code, overall
from isrcheck.checker.running import session, trace_writer
from isrcheck.commands.exit_codes import DISAGREE, INTERRUPTED, SAFE, UNDECIDED, UNEXPECTED, USAGE, VIOLATED
from isrcheck.commands.program import product
from isrcheck.conformance.fuzz.collisions.captures import CAPTURES, planted
from isrcheck.models import registry
from isrcheck.traces.cli import main as trace
from isrcheck.traces.format.certify import NotCertifiedError

COUNTER = in_the_language(
    model(
        '"""A counter that goes up, step by step.\n\nLeft out: going down.\n"""\n',
        entries(
            'most = bound(5, "how far it counts", least=1, option="--most")',
            'leaps = budget(0, "steps of two", option="--leaps")',
            'limit = setting(9, "what is promised of the count", least=0, option="--limit")',
            'goal = setting(5, "what has to be reached", least=0, option="--goal")',
            'EXCUSED = switch(False, "nothing is promised at all")',
        ),
        state('count: between(0, "most")', "leaps_done: between(0, 3)"),
        action("counter_steps(s)", "require(s.count < s.most)", "s.count += 1"),
        action(
            "counter_leaps(s)",
            "require(s.leaps_done < s.leaps)",
            "require(s.leaps_done < 3)",
            "require(s.count + 1 < s.most)",
            "s.count += 2",
            "s.leaps_done += 1",
        ),
        helper("is_excused(s)", "s.EXCUSED"),
        define(
            "always(permitted=is_excused, applies=lambda configuration: configuration.limit < 100)",
            "stays_within(s)",
            '"""The count stays within its limit."""',
            "return s.count <= s.limit",
        ),
        claim("always_step", "goes_up(before, after)", "after.count > before.count"),
        claim("sometimes", "gets_there(s)", "s.count == s.goal"),
        claim("terminal", "may_end(s)", "True"),
    )
)

CONFIGURATION = """
class Configuration:
    most = bound(3, "how far it counts", least=1, option="--most")
    limit = setting(1, "what is promised of the count", option="--limit")

class State"""

MODEL = (
    PLAIN_COUNTER.replace("between, field, require", "between, bound, field, require, setting")
    .replace("\nclass State", CONFIGURATION)
    .replace("between(0, 3)", 'between(0, "most")')
    .replace("s.count < 3", "s.count < s.most")
    .replace("s.count < 2", "s.count <= s.limit")
)

NO_VERDICT = (
    "an engine is wrong, which is an error in isrcheck, so no verdict is given: to report it, send the command, the"
    f" files of the model, and the version ({product()})"
)

DURABLE = "replication.factor=3\nmin.insync.replicas=2\nunclean.leader.election.enable=false\nacks=all\n"


FILES = {"counter.py": COUNTER, "model.py": MODEL, "topic.properties": DURABLE}

RUN_KEYS = {
    "model": str,
    "protocol": (str, type(None)),
    "swaps": dict,
    "digest": str,
    "bound": (int, type(None)),
    "engine": str,
    "configuration": dict,
    "distinct": int,
    "generated": int,
    "generated_with_initial": int,
    "outside": int,
    "levels": int,
    "states_per_level": list,
    "frontier": int,
    "exhausted": bool,
    "stopped": (str, type(None)),
    "judged_to_depth": int,
    "seconds": float,
    "reduction": (str, type(None)),
    "bytes": int,
    "properties": list,
    "proofs": (dict, type(None)),
    "z3": (dict, type(None)),
    "actions": dict,
    "faults": dict,
    "spark": (dict, type(None)),
    "disk": (dict, type(None)),
    "counterexamples": list,
    "command": str,
    "verdict": str,
}
"""What docs/json.md documents of a run, with types."""

PROPERTY_KEYS = {
    "name": str,
    "kind": str,
    "verdict": str,
    "depth": (int, type(None)),
    "violating": int,
    "trace": (str, type(None)),
    "permitted_depth": (int, type(None)),
    "permitted_trace": (str, type(None)),
}

WORDS = {word.value for word in Word}


@pytest.fixture
def check(tmp_path, monkeypatch, capsys):
    """Run `check` in a folder that holds FILES; return the exit code, stdout and stderr."""
    monkeypatch.chdir(tmp_path)
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    return checking(cli.main, capsys)


@pytest.fixture
def check_json(check):
    """Run `check --json`; return the exit code and the object. Nothing else may be printed."""

    def run(*words):
        code, out, err = check(*words, "--json")
        assert err == ""
        assert out.startswith("{\n")
        assert out.endswith("}\n")
        return code, json.loads(out)

    return run


def has_keys(given, documented):
    assert set(given) == set(documented)
    wrong = {key: value for key, value in given.items() if not isinstance(value, documented[key])}
    assert wrong == {}
    numbers = (int, (int, type(None)))
    assert not any(isinstance(value, bool) for key, value in given.items() if documented[key] in numbers)


# ------------------------------------------------------------------------------------------- verdicts and exit codes

CASES = [
    # words, exit code, overall verdict, then (verdict, depth) of the three properties
    ((), 0, "HOLDS", ("HOLDS", None), ("HOLDS", None), ("REACHED", 5)),
    (("--bound", "2"), 0, "NO VIOLATION TO DEPTH", ("NO VIOLATION TO DEPTH", 2), ("NO VIOLATION TO DEPTH", 2),
     ("NOT REACHED TO DEPTH", 2)),
    (("--bound", "0"), 0, "NO VIOLATION TO DEPTH", ("NO VIOLATION TO DEPTH", 0), ("NO VIOLATION TO DEPTH", 0),
     ("NOT REACHED TO DEPTH", 0)),
    (("--limit", "2"), 12, "VIOLATED", ("VIOLATED", 3), ("HOLDS", None), ("REACHED", 5)),
    (("--limit", "2", "--bound", "2"), 0, "NO VIOLATION TO DEPTH", ("NO VIOLATION TO DEPTH", 2),
     ("NO VIOLATION TO DEPTH", 2), ("NOT REACHED TO DEPTH", 2)),
    (("--limit", "2", "--switch", "EXCUSED=on"), 0, "PERMITTED", ("PERMITTED", 3), ("HOLDS", None), ("REACHED", 5)),
    (("--limit", "2", "--switch", "EXCUSED=on", "--strict"), 12, "PERMITTED", ("PERMITTED", 3), ("HOLDS", None),
     ("REACHED", 5)),
    (("--limit", "100"), 0, "HOLDS", ("n/a", None), ("HOLDS", None), ("REACHED", 5)),
    (("--goal", "7"), 10, "UNREACHABLE", ("HOLDS", None), ("HOLDS", None), ("UNREACHABLE", None)),
    (("--goal", "7", "--limit", "2"), 12, "VIOLATED", ("VIOLATED", 3), ("HOLDS", None), ("UNREACHABLE", None)),
    (("--seconds", "1e-9"), 3, "UNDECIDED", ("UNDECIDED", None), ("UNDECIDED", None), ("UNDECIDED", None)),
    (("--seconds", "1e-9", "--limit", "0"), 3, "UNDECIDED", ("UNDECIDED", None), ("UNDECIDED", None),
     ("UNDECIDED", None)),
]  # fmt: skip


@pytest.mark.sampled
@pytest.mark.parametrize("case", CASES, ids=lambda case: " ".join(case[0]) or "plain")
def test_every_verdict_has_a_word_a_depth_and_an_exit_code(check, check_json, case):
    words, code, word, stays, goes, gets = case
    given, content = check_json("counter.py", *words)
    assert given == code
    assert content["verdict"] == word
    (run,) = content["runs"]
    assert run["verdict"] == word
    assert [(one["name"], one["verdict"], one["depth"]) for one in run["properties"]] == [
        ("stays_within", *stays),
        ("goes_up", *goes),
        ("gets_there", *gets),
    ]
    given, text, err = check("counter.py", *words)
    assert (given, err) == (code, "")
    assert verdict_of(text).startswith(word)


def test_undecided_states_reason_and_depth_and_never_that_a_property_holds(check):
    _, text, _ = check("counter.py", "--seconds", "1e-9")
    assert "HOLDS" not in text
    assert verdict_of(text) == f"UNDECIDED: the time limit is reached; {searched_to(0)}"


def test_reaching_the_memory_limit_is_undecided_and_keeps_findings(check_json, check):
    check("kafka", "--protocol", "0.10", "--bound", "0")  # to compile a kernel takes more than this search may
    code, content = check_json("kafka", "--protocol", "0.10", "--memory", "24M")
    (run,) = content["runs"]
    assert (code, run["verdict"], run["stopped"], run["exhausted"]) == (12, "VIOLATED", "memory", False)
    found = {one["name"]: (one["verdict"], one["depth"]) for one in run["properties"]}
    assert found["acked_not_lost"] == ("VIOLATED", 6)
    assert found["isr_is_complete"] == ("VIOLATED", 5)
    assert found["log_matching"] == ("UNDECIDED", None)


def test_findings_do_not_depend_on_the_number_of_threads(check_json):
    """Counts, depths, and the counterexamples themselves."""

    def told(threads):
        words = ("kafka", "--protocol", "0.10", "--acks", "1", "--bound", "6", "--continue", "--threads", threads)
        code, content = check_json(*words)
        (run,) = content["runs"]
        properties = [(one["name"], one["verdict"], one["depth"]) for one in run["properties"]]
        return code, run["levels"], run["generated"], run["actions"], properties

    assert told("1") == told("2") == told("5")


def test_permitted_failures_count_only_with_strict(check):
    assert check("kafka", "--protocol", "0.10", "--acks", "1", "--bound", "3")[0] == 0
    assert check("kafka", "--protocol", "0.10", "--acks", "1", "--bound", "3", "--strict")[0] == VIOLATED


# ------------------------------------------------------------------------------------------------- figures and texts


def test_the_json_object_has_exactly_the_documented_keys(check_json):
    _, content = check_json("counter.py", "--limit", "2")
    assert set(content) == {"runs", "verdict"}
    (run,) = content["runs"]
    has_keys(run, RUN_KEYS)
    for one in run["properties"]:
        has_keys(one, PROPERTY_KEYS)
        assert one["verdict"] in WORDS
        assert one["kind"] in {"always", "always_step", "sometimes"}
    for counts in run["actions"].values():
        has_keys(counts, {"fired": int, "new": int})
    assert all(isinstance(value, str) for value in run["configuration"].values())
    assert run["engine"] == "local"
    assert re.fullmatch("[0-9a-f]{64}", run["digest"])


def test_the_figures_of_a_small_model_are_exact(check_json):
    _, content = check_json("counter.py", "--limit", "2", "--leaps", "1")
    (run,) = content["runs"]
    figures = {
        "model": "counter",
        "protocol": None,
        "bound": None,
        "distinct": 10,
        "generated": 12,
        "levels": 6,
        "frontier": 0,
        "states_per_level": [1, 2, 2, 2, 2, 1],
        "exhausted": True,
        "stopped": None,
        "judged_to_depth": 5,
        "faults": {"leaps": 1},
        "configuration": {"most": "5", "leaps": "1", "limit": "2", "goal": "5", "EXCUSED": "off"},
        "actions": {"counter_steps": {"fired": 8, "new": 5}, "counter_leaps": {"fired": 4, "new": 4}},
        "command": "check counter.py --leaps 1 --limit 2",
    }
    assert {key: run[key] for key in figures} == figures


def test_failures_are_counted_beyond_the_first_depth_only_with_continue(check_json, check):
    def violating(*words):
        return check_json("counter.py", "--limit", "2", *words)[1]["runs"][0]["properties"][0]["violating"]

    assert violating() == 1
    assert violating("--continue") == 3
    assert "1  states up to that depth" in check("counter.py", "--limit", "2", "--details")[1]
    counted = check("counter.py", "--limit", "2", "--continue", "--details")[1]
    assert re.search(r"VIOLATED at step 3 +3  states\n", counted)


def test_two_phase_commit_has_the_states_that_every_checker_counts(check_json):
    code, content = check_json("examples/two_phase_commit", "--no-reduction")
    (run,) = content["runs"]
    assert (code, run["distinct"], run["generated"], run["levels"], run["verdict"]) == (0, 288, 1145, 11, "HOLDS")
    assert {one["name"]: one["depth"] for one in run["properties"]} == {
        "consistent": None,
        "all_commit": 10,
        "all_abort": 3,
    }


def test_text_and_json_have_the_same_figures(check, check_json):
    words = ("kafka", "--protocol", "0.10", "--bound", "6")
    code, text, err = check(*words, "--details")
    again, content = check_json(*words)
    (run,) = content["runs"]
    assert (code, again, err) == (12, 12, "")
    assert f"{run['distinct']:,} distinct states, {run['generated']:,} generated, {run['levels']} levels" in text
    assert f"{run['frontier']:,} states not expanded" in text
    for name, figures in run["actions"].items():
        assert re.search(rf"^{name} +{figures['fired']:,} +{figures['new']:,}$", text, re.MULTILINE)
    for one in run["properties"]:
        told = one["verdict"] + {"VIOLATED": " at step", "REACHED": " at step"}.get(one["verdict"], "")
        told += f" {one['depth']}" if one["depth"] is not None else ""
        assert re.search(rf"^(sometimes )?{one['name']} +{re.escape(told)}( |$)", text, re.MULTILINE)
        assert one["trace"] is None or one["trace"] in text
    assert verdict_of(text) == "VIOLATED: acked_not_lost at step 6, isr_is_complete at step 5"
    assert "faults         elections 2, bounces 1, crashes 1; not considered:" in text


def test_two_runs_differ_only_in_their_times(check_json):
    one, other = (check_json("kafka", "--protocol", "0.10", "--bound", "7")[1]["runs"][0] for _ in range(2))
    assert {key: value for key, value in one.items() if key != "seconds"} == {
        key: value for key, value in other.items() if key != "seconds"
    }


def test_a_bound_reached_after_the_last_new_state_is_exhaustive(check_json):
    """Depth 6 adds no state, which is not known yet at depth 5."""
    assert [check_json("counter.py", "--bound", n)[1]["runs"][0]["exhausted"] for n in ("4", "6")] == [False, True]


def test_a_swapped_action_is_named_everywhere(check, check_json):
    words = ("published/kip_279", "--swap", "leader_expands_isr=kip_320")
    sizes = ("--replicas", "2", "--log-size", "1", "--records", "1", "--max-epoch", "1")
    _, content = check_json(*words, *sizes)
    (run,) = content["runs"]
    assert run["swaps"] == {"leader_expands_isr": "kip_320"}
    assert run["protocol"] == "kip_279"
    assert run["command"].endswith(" --swap leader_expands_isr=kip_320")
    assert "leader_expands_isr of kip_320" in check(*words, *sizes)[1].splitlines()[0]


# ------------------------------------------------------------------------------------------------------------- traces


def test_the_command_in_a_trace_finds_the_same_trace_again(check, check_json, capsys):
    _, content = check_json("kafka", "--protocol", "0.10", "--bound", "6", "--unclean-elections", "1")
    found = {one["name"]: one for one in content["runs"][0]["properties"]}
    assert found["isr_is_complete"]["depth"] == 5
    assert found["isr_is_complete"]["permitted_depth"] == 4
    files = [
        (name, one[key]) for name, one in found.items() for key in ("trace", "permitted_trace") if one[key] is not None
    ]
    assert [name for name, _ in files] == ["acked_not_lost", "isr_is_complete", "isr_is_complete"]
    for name, file in files:
        assert trace(["show", file]) == 0
        shown = capsys.readouterr().out.splitlines()
        assert shown[-1].startswith("reproduce: check kafka --protocol 0.10 --bound ")
        words = shlex.split(shown[-1].removeprefix("reproduce: "))[1:]
        _, again = check_json(*words)
        same = next(one for one in again["runs"][0]["properties"] if one["name"] == name)
        assert file in (same["trace"], same["permitted_trace"])


def test_the_command_of_a_run_repeats_it(check_json):
    words = shlex.split(
        "kafka --protocol 0.10 --bound 3 --acks 0 --set min.insync.replicas=1 --start any --crashes 2"
        " --switch HW_CLAMPED_AT_TRUNCATION=on --switch SHRINK_RULE=exempt_at_log_end"
    )
    _, content = check_json(*words)
    (run,) = content["runs"]
    _, again = check_json(*shlex.split(run["command"])[1:])
    assert again["runs"][0] | {"seconds": 0} == run | {"seconds": 0}


def test_traces_are_written_to_out_once_without_overwriting(check, check_json, tmp_path):
    (tmp_path / "counterexamples").mkdir()
    kept = tmp_path / "counterexamples" / "counter_stays_within_00000000_1.itf.json"
    kept.write_text("mine")
    for _ in range(2):
        _, content = check_json("counter.py", "--limit", "2", "--out", "there/deep")
        file = content["runs"][0]["properties"][0]["trace"]
        assert file.startswith("there/deep/counter_stays_within_")
    assert sorted(path.name for path in (tmp_path / "there" / "deep").iterdir()) == sorted(
        [file.rpartition("/")[2], "latest"]
    )
    check("counter.py", "--limit", "2")
    assert kept.read_text() == "mine"


def test_a_property_that_holds_writes_no_trace(check, tmp_path):
    assert check("counter.py")[0] == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(FILES)


# ---------------------------------------------------------------------------------------------------------- the forms


@pytest.mark.recorded
def test_the_matrix_shows_findings_and_agreement_with_the_record(check, check_json, no_proofs):
    code, text, err = check("--bound", "6", "--details")
    assert (code, err) == (0, "")
    rows: dict[str, dict[str, str]] = {}
    columns: list[str] = []
    for name, *cells in (re.split(r"  +", line) for line in text.splitlines()):
        columns = columns if name else [cell.removeprefix("kafka ") for cell in cells]
        rows.setdefault(name, {}).update(zip(columns, cells, strict=False))
    generations = list(registry.load("kafka")[0].protocols)
    found = {name: {one: cell for one, cell in rows[name].items() if cell != "none to 6"} for name in rows if name}
    assert all(list(rows[name]) == generations for name in ("acked_not_lost", "log_matching"))
    below = "VIOLATED at step 4 (PERMITTED at step 6)"
    assert found["offsets_ordered"] == {"0.11": below, "2.0": below, "2.1": below}
    assert found["acked_not_lost"] == {"0.8": "VIOLATED at step 6", "0.10": "VIOLATED at step 6"}
    assert found["isr_is_complete"] == {"0.8": "VIOLATED at step 5", "0.10": "VIOLATED at step 5"}
    assert found["log_matching"] == {}
    without_idempotence, accepting_any = generations[:2], generations[generations.index("2.8") :]
    assert found["no_duplicates"] == dict.fromkeys(without_idempotence, "PERMITTED at step 2")
    permitted = dict.fromkeys(without_idempotence, "PERMITTED at step 5")
    assert found["order_preserved"] == permitted | dict.fromkeys(accepting_any, "VIOLATED at step 4")
    shown = r"^ +acked_not_lost +trace show counterexamples/kafka_0.10_acked_not_lost_\w+_1.itf.json$"
    assert re.search(shown, text, re.MULTILINE)
    code, content = check_json("--bound", "6")
    assert code == 0
    assert set(content) == {"runs", "cells", "record", "verdict"}
    assert (content["record"], content["verdict"]) == ("as recorded", "VIOLATED")
    for run in content["runs"]:
        has_keys(run, RUN_KEYS | {"name": (str, type(None))})
    assert {(cell["model"], cell["protocol"], cell["record"]) for cell in content["cells"]} == {
        ("kafka", protocol, "as recorded") for protocol in registry.load("kafka")[0].protocols
    }
    assert "acked_not_lost" in {cell["property"] for cell in content["cells"]}


@pytest.fixture
def five_rows(monkeypatch, tmp_path):
    """The first five rows of the first published table, alone: one size, one kernel."""
    table = with_rows(PUBLISHED_MODELS, tmp_path, range(5))
    monkeypatch.setitem(published.TABLES, "check published", (table,))
    return table.rows


def test_the_published_table_is_shown_beside_tlcs(check, check_json, five_rows):
    code, text, err = check("published")
    assert (code, err) == (0, "")
    assert len([line for line in text.splitlines() if re.match(r"(kip_|truncate_)", line)]) == 5
    assert re.search(r"^kip_320 +2 +2 +2 +0 .*93.*3@1", text, re.MULTILINE)
    assert text.splitlines()[-1].startswith("5 of 5 rows equal TLC's figures")
    code, content = check_json("published")
    assert code == 0
    for run, row in zip(content["runs"], five_rows, strict=True):
        assert run["figures"] == run["tlc"] == row.tlc
        has_keys({key: run[key] for key in RUN_KEYS}, RUN_KEYS)


def test_a_differing_published_figure_is_unexpected_and_is_marked(check, check_json, five_rows):
    five_rows[4].tlc["distinct"] = five_rows[4].expected["distinct"] = "94"
    code, text, _ = check("published")
    assert (code, "93 != 94" in text) == (UNEXPECTED, True)
    assert text.splitlines()[-1].startswith("4 of 5 rows equal TLC's figures")
    code, content = check_json("published")
    assert (code, content["verdict"] in {"HOLDS", "as published"}) == (UNEXPECTED, False)


def test_an_interrupted_published_table_is_undecided(check, five_rows):
    code, text, _ = check("published", "--seconds", "1e-9")
    assert code == 3
    assert verdict_of(text).startswith("UNDECIDED: 0 of ")


# --------------------------------------------------------------------------------------------------------- bad input

MODELS = ", ".join(registry.names())
RANGE = "it ranges from 1 to 7 (brokers that hold the partition (replication.factor))"

BAD = {
    "--bound -1": "--bound -1: not a number of steps; give 0 or more",
    "--bound": "argument --bound: expected one argument; see check --help",
    "kafka --protocol 0.10 --replicas 0": f"replicas=0 is impossible: {RANGE}",
    "kafka --protocol 0.10 --replicas 8": f"replicas=8 is impossible: {RANGE}",
    "kafka --protocol 0.10 --elections -1": (
        "elections=-1 is impossible: it ranges from 0 to any size (leader epochs after the first)"
    ),
    "kafka --protocol 0.10 --records 2147483648": (
        "field next_record would hold 0..2147483648: a cell holds -2147483648..2147483647; use smaller bounds"
    ),
    "kafka --acks 2": "acks=2: no such value; there are: all, 0, 1",
    "kafka --switch HW_CLAMPED_AT_TRUNCATION=maybe": (
        "HW_CLAMPED_AT_TRUNCATION=maybe: not a switch value; write on or off"
    ),
    "kafka --switch HW_CLAMPED_AT_TRUNCATION": (
        "--switch HW_CLAMPED_AT_TRUNCATION: not a name with a value; write it as --switch NAME=VALUE"
    ),
    "kafka --switch HW_CLAMPED_AT_TRUNCATIN=on": (
        "kafka has no switch HW_CLAMPED_AT_TRUNCATIN; did you mean HW_CLAMPED_AT_TRUNCATION?"
    ),
    "kafka --set min.insync.replica=2": (
        "kafka has no configuration entry min.insync.replica; did you mean min_insync_replicas?"
    ),
    "kafka --set replicas": "--set replicas: not a name with a value; write it as --set NAME=VALUE",
    "kafka --replica 3": "kafka has no option --replica; did you mean --replicas?",
    "kafka --protocol 0.10 --swap producer_append=0.10": (
        "kafka has no action producer_append; did you mean producer_appends?"
    ),
    "published/kip_101 --swap become_leader=kip_321": (
        "published has no protocol kip_321; there are: truncate_to_high_watermark, kip_101, kip_279, kip_320_first_try,"
        " kip_320"
    ),
    "kafak": "no model kafak; did you mean kafka? (for a model in a file: check FILE.py)",
    "published/kip_102": f"no model published/kip_102; there are: {MODELS}",
    "published/kip_320_first_tri": (
        "no model published/kip_320_first_tri; did you mean published/kip_320_first_try?"
    ),
    "kafka --protocol 3.0": "kafka has no protocol 3.0; 2.8 stands for it with ZooKeeper, 3.3 with KRaft",
    "kafka --protocol 3.7.1": "kafka has no protocol 3.7.1; 3.7 stands for it",
    "kafka --protocol 2,1": "kafka has no protocol 2,1; did you mean 2.1?",
    "kafka --boud 3": "kafka has no option --boud; did you mean --bound?",
    "published/kip_101 --boud 3": "published has no option --boud; did you mean --bound?",
    "counter.py --boud 3": "counter has no option --boud; did you mean --bound?",
    "counter.py --leap 3": "counter has no option --leap; did you mean --leaps?",
    "graph counter.py --flod count -o x.html": "counter has no option --flod; did you mean --fold?",
    "--boud 3": "there is no option --boud; did you mean --bound?",
    "--boud=3": "there is no option --boud; did you mean --bound?",
    "--acs all": "there is no option --acs; did you mean --acks?",
    "published --boud 3": "there is no option --boud; did you mean --bound?",
    "sweep --vari acks=0,1": "there is no option --vari; did you mean --vary?",
    "zzz": f"no model zzz; there are: {MODELS} (for a model in a file: check FILE.py)",
    "published/": (
        "published needs --protocol; there are: truncate_to_high_watermark, kip_101, kip_279, kip_320_first_try,"
        " kip_320"
    ),
    "published/kip_101 --protocol kip_320": (
        "published/kip_101 already fixes the protocol (kip_101); leave --protocol kip_320 out"
    ),
    "published --bound 3": "check published compares whole state spaces: leave --bound out, or name one model",
    "published raft_mongo": (
        "raft_mongo does not go with check published, which compares every model; search one, as in: check"
        " published/kip_101"
    ),
    "--protocol 0.10": "--protocol does not go with the matrix; name a model, as in: check kafka --protocol ...",
    "--set replicas=3": "--set does not go with the matrix; name a model, as in: check kafka --set ...",
    "--switch A=on": "--switch does not go with the matrix; name a model, as in: check kafka --switch ...",
    "kafka --kafka-version 0.10.2": "--kafka-version goes with --config FILE; for a model use --protocol",
    "kafka --config x.properties": "--config is for a cluster, kafka is a model: give only one of them",
    "--config x.properties --set replicas=3": (
        "--set replicas=3: neither a number of faults nor a size of the search; the files configure the cluster, and "
        "--set can only raise faults and sizes, as in --set crashes=2"
    ),
    "kafka --memory 0": "--memory 0: a search needs at least 16M",
    "kafka --memory 8X": "--memory 8X: not a size; write it as 512M or 8G",
    "kafka --seconds 0": "--seconds 0: not a time; give a number of seconds above 0",
    "kafka --threads 0": "--threads 0: not a number of threads; give 1 to 64",
    "counter.py --switch EXCUSE=on": "counter has no switch EXCUSE; did you mean EXCUSED?",
    "counter.py --leaps 128": "leaps=128 is impossible: it ranges from 0 to 127 (steps of two)",
    "counter.py --most 2147483648": (
        "field count would hold 0..2147483648: a cell holds -2147483648..2147483647; use smaller bounds"
    ),
    "counte.py": "counte.py: there is no such Python file; give the path of a model, such as my_protocol.py",
}  # fmt: skip


@pytest.mark.parametrize("line", BAD)
def test_bad_arguments_get_one_line_with_problem_and_cure(check, line, tmp_path):
    assert check(*shlex.split(line)) == (2, "", f"check: {BAD[line]}\n")
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(FILES)


@pytest.mark.parametrize("folder", ["file", "file/below"])
def test_a_file_in_place_of_the_trace_folder_is_kept_with_the_verdict(check, tmp_path, folder):
    (tmp_path / "file").write_text("mine")
    code, _, err = check("counter.py", "--limit", "2", "--out", folder)
    assert (code, err.startswith(f"check: {folder}: "), err.count("\n"), "--out DIR" in err) == (USAGE, True, 1, True)
    assert (tmp_path / "file").read_text() == "mine"


# --------------------------------------------------------------------------------------------------------- interrupts


@pytest.mark.sampled
@pytest.mark.parametrize("form", [("kafka", "--protocol", "0.10"), ()], ids=["one model", "matrix"])
def test_an_interrupted_search_reports_its_findings(check, monkeypatch, form):
    """The first report of progress comes half a second into a search of twenty seconds."""

    def interrupt(line, progress):
        raise KeyboardInterrupt

    monkeypatch.setattr(ProgressLine, "report", interrupt)
    code, text, err = check(*form, "--details")
    assert code == INTERRUPTED
    assert err == "check: interrupted; this is what was found so far\n"
    assert "acked_not_lost" in text
    assert "VIOLATED at step 6" in text
    assert not verdict_of(text).startswith(("HOLDS", "as recorded"))
    code, out, err = check(*form, "--json")
    assert (code, err) == (130, "check: interrupted; this is what was found so far\n")
    (run,) = json.loads(out)["runs"]
    assert (run["stopped"], run["exhausted"]) == ("interrupt", False)
    assert {one["name"]: one["verdict"] for one in run["properties"]}["log_matching"] == "UNDECIDED"


def test_an_interrupt_before_the_search_reports_nothing(check, monkeypatch):
    def interrupt(options):
        raise KeyboardInterrupt

    monkeypatch.setattr(one_model, "instance_of", interrupt)
    for json_or_not in ((), ("--json",)):
        assert check("kafka", *json_or_not) == (130, "", "check: interrupted before anything was found\n")


# ---------------------------------------------------------------------------------------------- verdicts by themselves


def test_the_gravest_verdict_decides_and_interrupted_searches_are_at_best_undecided():
    codes = {word: exit_code(word, strict=False) for word in Word}
    assert [codes.pop(word) for word in (Word.VIOLATED, Word.UNREACHABLE, Word.UNDECIDED)] == [
        VIOLATED,
        UNEXPECTED,
        UNDECIDED,
    ]
    assert set(codes.values()) == {SAFE}
    assert exit_code(Word.PERMITTED, strict=True) == VIOLATED
    assert overall([], is_complete=False) is Word.UNDECIDED
    assert overall([], is_complete=True) is Word.NOT_APPLICABLE
    permitted = [Verdict(registry.load("kafka")[0].properties[0], Word.PERMITTED, 2)]
    assert [exit_code(Word.UNDECIDED, strict=strict, found=permitted) for strict in (True, False)] == [
        VIOLATED,
        UNDECIDED,
    ]


def refuses(check, line, *parts):
    """Assert exit code 2, no stdout, and one line on stderr with all of these texts."""
    code, out, err = check(*shlex.split(line))
    assert (code, out, err.startswith("check: "), err.count("\n")) == (USAGE, "", True, 1)
    assert [part for part in parts if part not in err] == []


# --------------------------------------------------------------------------------------------------- untrue or missing


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (
            NotCertifiedError("the path is not confirmed (reproduce: check x)"),
            "the path is not confirmed (reproduce: check x)",
        ),
        (
            AssertionError("a permutation maps steps to steps"),
            "the engines disagree: a permutation maps steps to steps (reproduce: check model.py --bound 3)",
        ),
    ],
)
def test_an_error_of_an_engine_says_in_one_line_how_to_repeat_and_report_it(check, monkeypatch, error, said):
    def fails(*arguments):
        raise error

    monkeypatch.setattr(trace_writer, "from_steps", fails)
    code, _, err = check("model.py", "--bound", "3")
    assert (code, err) == (DISAGREE, f"check: {said}; {NO_VERDICT}\n")


def test_a_path_that_plain_python_refutes_blames_an_engine_and_no_file(check):
    """Both engines share the bug; only plain Python notices."""
    Path("names.py").write_text(HEAD.format(nodes=3) + LOOP_OVER_A_SET.format(looks="s.last = last_of(s, x)"))
    code, out, _ = check("names.py", "--no-deadlock")
    assert (code, re.search(r"^HOLDS +is_not_two_unless_a_member$", out, re.MULTILINE) is not None) == (VIOLATED, True)
    (capture,) = (capture for capture in CAPTURES if capture.name == "parameter_is_new")
    with planted(capture):
        code, out, err = check("names.py", "--no-deadlock")
    assert (code, out) == (DISAGREE, "")
    assert err.splitlines()[-1] == (
        "check: plain Python does not confirm the path that the engine found: is_not_two_unless_a_member is not broken"
        f' at step 1 (looks 0), but the trace says "VIOLATED" (reproduce: check names.py --bound 1); {NO_VERDICT}'
    )


def test_a_search_respects_its_memory_limit(check):
    check("kafka", "--protocol", "0.10", "--bound", "0")  # to compile a kernel takes more than this search may
    code, out, _ = check("kafka", "--protocol", "0.10", "--memory", "16M", "--json")
    (run,) = json.loads(out)["runs"]
    assert (code, run["stopped"]) == (12, "memory")
    assert run["bytes"] <= 16 << 20


def test_a_model_without_properties_is_not_reported_as_holding(check, tmp_path):
    (tmp_path / "model.py").write_text(MODEL.replace("@always\n", ""))
    assert "no property" in verdict_of(check("model.py")[1])


@pytest.mark.parametrize("words", [(), ("--strict",), ("--bound", "1"), ("--engine", "z3", "--bound", "1")])
def test_if_no_property_applies_none_is_reported_as_holding(check, tmp_path, words):
    never = MODEL.replace("@always\n", "@always(applies=lambda configuration: False)\n")
    (tmp_path / "model.py").write_text(never)
    code, text, _ = check("model.py", *words)
    last = verdict_of(text)
    assert (code, "HOLDS" in text) == (0, False)
    assert last.startswith("n/a: no property applies under this configuration; ")
    assert json.loads(check("model.py", *words, "--json")[1])["verdict"] == "n/a"


# ---------------------------------------------------------------------------------------------------------- interrupts


def test_an_interrupt_keeps_finished_published_rows(check, monkeypatch, tmp_path):
    table = with_rows(PUBLISHED_MODELS, tmp_path, range(3))
    explore, rows = session.SearchSession.explore, table.rows

    def interrupted(self, *arguments, subject, **more):
        if subject == rows[2].title:
            raise KeyboardInterrupt
        return explore(self, *arguments, subject=subject, **more)

    monkeypatch.setitem(published.TABLES, "check published", (table,))
    monkeypatch.setattr(session.SearchSession, "explore", interrupted)
    code, text, err = check("published")
    assert code == INTERRUPTED
    assert text.splitlines()[-1].startswith("UNDECIDED: 2 of 3 rows equal TLC's figures")
    assert err == "check: interrupted; this is what was found so far\n"


def test_an_interrupt_during_compilation_is_not_lost(check, monkeypatch):
    kernel_of = kernels.kernel_of

    def compiling(*arguments, **named):
        class Callback:
            def __del__(self):
                os.kill(os.getpid(), 2)
                for _ in range(1000):
                    pass

        Callback()
        return kernel_of(*arguments, **named)

    monkeypatch.setitem(session.explore.__globals__, "kernel_of", compiling)
    monkeypatch.setattr(kernels, "kernel_of", compiling)
    monkeypatch.setattr(sys, "unraisablehook", lambda unraisable: None)
    assert check("model.py")[0] == INTERRUPTED


# ------------------------------------------------------------------------------------------------------------ commands


def test_the_printed_command_shows_the_trace_of_a_users_model(check, capsys):
    _, text, _ = check("model.py")
    (line,) = [line for line in text.splitlines() if "trace show " in line]
    assert trace(shlex.split(line[line.index("trace show ") :])[1:]) == 0
    assert "stays_small is false" in capsys.readouterr().out


def test_the_printed_command_is_quoted(check, capsys):
    _, text, _ = check("kafka", "--protocol", "0.10", "--bound", "5", "--out", "two words")
    (line,) = [line for line in text.splitlines() if "trace show " in line]
    assert trace(shlex.split(line[line.index("trace show ") :])[1:]) == 0
    assert "isr_is_complete is false" in capsys.readouterr().out


# ----------------------------------------------------------------------------------------------------------- bad input


REFUSED = {
    f"kafka --bound {'9' * 5000}": ("--bound ",),
    **{
        f"kafka --bound 0 --replicas {text}": (f"replicas={text}", "not a whole number") for text in ("٣", "2_0", "0_2")
    },
    **{f"kafka --engine '{engine}'": ("--engine", "local") for engine in ("Z3", "Spark", "both", "")},
    "kafka --protocol '' --bound 0": ("--protocol",),
    "kafka --bound 0 --set replicas=2 --set replicas=3": ("keep one",),
    "kafka --bound 0 --replicas 2 --set replicas=3": ("keep one",),
    "kafka --bound 0 --switch HW_CLAMPED_AT_TRUNCATION=on --switch HW_CLAMPED_AT_TRUNCATION=off": ("keep one",),
    "--replicas 3": ("--replicas 3", "name the model first"),
    "--replicas 3 kafka": ("--replicas 3", "name the model first"),
    **{
        f"{form} topic.properties --fencings 1": (
            f"--fencings does not go with {form}: the files configure the cluster; leave --fencings out",
        )
        for form in ("--config", "--describe")
    },
    "model.py --out model.py": ("model.py: ", "not a folder", "--out DIR"),
}


@pytest.mark.parametrize("line", REFUSED, ids=lambda line: line[:60])
def test_bad_arguments_are_refused_with_a_hint_before_the_search(check, monkeypatch, line):
    def search(*arguments, **keywords):
        raise AssertionError("the search has begun")

    monkeypatch.setattr(session, "explore", search)
    refuses(check, line, *REFUSED[line])


@pytest.mark.parametrize("option", ["limit", "--most", "--bound"])
def test_an_option_that_an_entry_cannot_have_is_refused(check, tmp_path, option):
    """No option, that of another entry, and one of `check` itself."""
    (tmp_path / "model.py").write_text(MODEL.replace('option="--limit"', f'option="{option}"'))
    refuses(check, "model.py", "model.py", "limit", option)


def test_output_of_a_model_is_not_part_of_the_json_object(check, tmp_path):
    (tmp_path / "model.py").write_text(MODEL + "\nprint('hello')\n")
    code, out, err = check("model.py", "--json")
    assert code == VIOLATED
    assert json.loads(out)["verdict"] == "VIOLATED"
    assert err == "hello\n"


def test_the_record_can_be_another_file(tmp_path, monkeypatch):
    monkeypatch.setattr(matrix, "RECORD", tmp_path / "nowhere.toml")
    with pytest.raises(Exception, match="nowhere"):
        matrix.recorded()


@pytest.mark.parametrize("content", [b"run = 3\n", b"[[run]]\nmodel = 3\n", b"run = [3]\n", b"\xff\xfe"])
def test_a_record_of_the_wrong_kinds_is_refused(tmp_path, content):
    path = tmp_path / "verdicts.toml"
    path.write_bytes(content)
    with pytest.raises(Exception, match="cannot be read"):
        matrix.recorded(path)


# -------------------------------------------------------------------------------------------------------- surroundings


@pytest.mark.exhaustive
def test_a_helper_edited_within_a_second_is_reloaded(check, tmp_path):
    (tmp_path / "model.py").write_text(
        MODEL.replace("s.count < s.most", "s.count < s.most and s.count < MOST").replace(
            "class Configuration", "from helper import MOST\n\n\nclass Configuration"
        )
    )
    for most, code in ((1, 0), (9, 12)):
        (tmp_path / "helper.py").write_text(f"MOST = {most}\n")
        os.utime(tmp_path / "helper.py", (1_700_000_000, 1_700_000_000))
        assert ran("check model.py", folder=tmp_path, PYTHONDONTWRITEBYTECODE="").code == code


def test_progress_fits_the_terminal(monkeypatch, capsys):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    columns = 60
    monkeypatch.setenv("COLUMNS", str(columns))
    line = ProgressLine("kafka, protocol 0.10")
    line.report(Progress(31.0, 26, 23_492_999, 143_770_465, 1_031_766, 1 << 30))
    shown = capsys.readouterr().err.removeprefix("\r\x1b[K")
    assert shown.startswith("kafka, protocol 0.10: 31 s, depth 26")
    assert len(shown) < columns


def test_memory_refused_by_the_machine_is_reported_as_such(tmp_path, monkeypatch, capsys):
    """As in a container, or under `ulimit -v`, with less than half of the machine's memory."""

    def refuse(*arguments, **keywords):
        raise OSError(errno.ENOMEM, "Cannot allocate memory")

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(mmap, "mmap", refuse)
    assert cli.main(["kafka", "--protocol", "0.10", "--bound", "1"]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.splitlines()[-1] == ("check: this machine does not have enough memory; give a smaller --memory")

"""`--counterexamples K`: the distinct causes, fewest faults first, and the notes on further ones."""

from __future__ import annotations

import json
import shlex
from dataclasses import replace

import pytest

from conformance.tests.support.engine import checking
from conformance.tests.support.small_models import (
    action,
    claim,
    define,
    domain,
    entries,
    helper,
    model,
    state,
    write_model,
)
from isrcheck.checker import cli
from isrcheck.checker.compile.kernel import kernel_of
from isrcheck.checker.explicit import causes as search_for_causes
from isrcheck.checker.explicit.causes import distinct_causes
from isrcheck.checker.resources.limits import Limits
from isrcheck.checker.results.verdict import Word
from isrcheck.models import registry
from isrcheck.traces import cli as trace_cli

DOORS = model(
    entries(
        'doors = bound(3, "doors", least=1)',
        'thieves = budget(1, "thieves that come")',
        'draughts = budget(1, "draughts")',
    ),
    domain("Door", '"doors"'),
    state(
        "is_open[Door]: Flag",
        "is_robbed[Door]: Flag",
        "visits: between(0, 2)",
        "thieves_left: between(0, 127)",
        "draughts_left: between(0, 127)",
    ),
    define(
        "initial",
        "starts(configuration)",
        'yield {"thieves_left": configuration.thieves, "draughts_left": configuration.draughts}',
    ),
    action(
        "person_enters(s, door: Door)",
        "require(s.visits < 2)",
        "require(not s.is_open[door])",
        "s.visits += 1",
        "s.is_open[door] = True",
    ),
    action(
        "person_leaves(s, door: Door)", "require(s.visits == 2)", "require(s.is_open[door])", "s.is_open[door] = False"
    ),
    action(
        "thief_enters(s, door: Door)",
        "require(s.thieves_left > 0)",
        "s.thieves_left -= 1",
        "s.is_open[door] = True",
        "s.is_robbed[door] = True",
    ),
    action(
        "draught_shuts(s, door: Door)",
        "require(s.draughts_left > 0)",
        "require(s.is_open[door])",
        "s.draughts_left -= 1",
        "s.is_open[door] = False",
    ),
    helper("a_thief_came(s)", "s.thieves_left < s.thieves"),
    claim(
        "always(permitted=a_thief_came)",
        "at_most_one_is_open_and_none_robbed(s)",
        "sum(1 for door in range(s.doors) if s.is_open[door]) < 2"
        " and not any(s.is_robbed[door] for door in range(s.doors))",
    ),
    claim(
        "always_step",
        "doors_stay_open(before, after)",
        "all(after.is_open[door] for door in range(before.doors) if before.is_open[door])",
    ),
)
"""People go through doors; a thief opens any, a draught shuts one. Doors are alike."""


@pytest.fixture
def check(tmp_path, monkeypatch, capsys):
    """Run `check` in an empty folder that holds doors.py; return the exit code, stdout and stderr."""
    monkeypatch.chdir(tmp_path)
    write_model(tmp_path / "doors.py", DOORS)
    run = checking(cli.main, capsys)
    return lambda line: run(*shlex.split(line))


def asked(check, line):
    """For each property and verdict: the length, faults and actions of every counterexample."""
    code, out, err = check(f"{line} --json")
    assert (code, err) == (12, "")
    found = {}
    for one in json.loads(out)["runs"][0]["counterexamples"]:
        found[one["property"], one["verdict"]] = [(e["length"], e["faults"], e["happened"]) for e in one["found"]]
    return found


# ----------------------------------------------------------------------------------------------------------- kafka 0.10

BOUNCE, CRASH = {"bounces": 1}, {"crashes": 1}
SHIFTED = "missing from the ISR by"
ADMITTED = "never there: let into the ISR by leader_handles_fetch"

LOSSES = [
    (6, BOUNCE, ["removed by broker_bounces", "lost by controller_fails_over"]),
    (7, CRASH, ["removed by broker_restarts", "lost by controller_fails_over"]),
]
GAPS = [
    (5, BOUNCE, ["removed by broker_bounces", f"{SHIFTED} broker_bounces"]),
    (6, CRASH, ["removed by broker_restarts", f"{SHIFTED} broker_restarts"]),
    (6, BOUNCE, ["removed by broker_bounces", f"{SHIFTED} leader_shrinks_isr"]),
    (7, CRASH, [ADMITTED, f"{SHIFTED} leader_handles_fetch"]),
]


@pytest.mark.exhaustive
def test_every_way_to_lose_a_record_in_seven_steps(check):
    line = "kafka --protocol 0.10 --bound 7 --counterexamples"
    found = asked(check, f"{line} 9")
    assert found == {("acked_not_lost", "VIOLATED"): LOSSES, ("isr_is_complete", "VIOLATED"): GAPS}
    found = asked(check, f"{line} 2")
    assert found == {("acked_not_lost", "VIOLATED"): LOSSES, ("isr_is_complete", "VIOLATED"): GAPS[:2]}


@pytest.mark.recorded
def test_permitted_failures_are_listed_separately(check):
    found = asked(check, "kafka --protocol 0.10 --acks 1 --bound 5 --counterexamples 9 --strict")
    assert found == {
        ("acked_not_lost", "PERMITTED"): [
            (2, {}, ["never there", "lost by controller_fails_over"]),
            (2, {}, ["never there", "lost by producer_appends"]),
            (3, {}, [ADMITTED, "lost by controller_fails_over"]),
            (3, {}, [ADMITTED, "lost by producer_appends"]),
        ],
        ("isr_is_complete", "VIOLATED"): GAPS[:1],
    }


@pytest.mark.recorded
def test_an_unrelated_unclean_election_permits_nothing(check):
    line = "kafka --protocol 0.10 --bound 7 --unclean-elections 1 --counterexamples 9"
    found = asked(check, line)
    assert found["acked_not_lost", "VIOLATED"] == LOSSES
    assert ("acked_not_lost", "PERMITTED") not in found
    unclean = [f"{word} controller_elects_unclean" for word in ("never there: let into the ISR by", SHIFTED)]
    assert found["isr_is_complete", "PERMITTED"] == [(4, {"crashes": 1, "unclean_elections": 1}, unclean)]


def test_the_report_its_files_and_its_reach(check, tmp_path, capsys):
    code, out, err = check("kafka --protocol 0.10 --bound 6 --counterexamples 2 --details")
    assert (code, err) == (12, "")
    files = sorted(path.name for path in (tmp_path / "counterexamples").glob("*.json"))
    stems = ["kafka_0.10_acked_not_lost_d503d3c4", "kafka_0.10_isr_is_complete_d503d3c4"]
    # The shortest ones were written already, and are not written again.
    assert files == [f"{stems[0]}_1.itf.json", f"{stems[1]}_1.itf.json", f"{stems[1]}_2.itf.json"]
    shown = [f"     trace show counterexamples/{name}" for name in files]
    assert out.splitlines()[-14:] == [
        "acked_not_lost, VIOLATED: 1 counterexample, no other cause was found to depth 6 in a shortest path to each of"
        " 2 first failures",
        "  1. 6 steps, bounces 1: removed by broker_bounces, lost by controller_fails_over",
        "     false: holds_record(s, s.controller_leader, record) or was_deleted(s, record)",
        shown[0],
        "",
        "isr_is_complete, VIOLATED: 2 counterexamples with different causes, as many as requested; there may be more",
        "  1. 5 steps, bounces 1: removed by broker_bounces, missing from the ISR by broker_bounces",
        "     false: s.log_record[member][offset] == s.exposed_record[offset]",
        shown[1],
        "  2. 6 steps, crashes 1: removed by broker_restarts, missing from the ISR by broker_restarts",
        "     false: s.log_record[member][offset] == s.exposed_record[offset]",
        shown[2],
        "",
        "VIOLATED: acked_not_lost at step 6, isr_is_complete at step 5",
    ]
    assert trace_cli.main(["show", f"counterexamples/{files[2]}"]) == 0
    command = "check kafka --protocol 0.10 --bound 6 --counterexamples 2"
    assert capsys.readouterr().out.splitlines()[-1] == f"reproduce: {command}"


# ------------------------------------------------------------------------------------------------ a model of its own


@pytest.mark.sampled
@pytest.mark.parametrize("draughts", [1, 2])
def test_interchangeable_elements_count_as_one_cause(check, draughts):
    found = asked(check, f"doors.py --set draughts={draughts} --counterexamples 9")
    part = "at_most_one_is_open_and_none_robbed"
    assert found == {
        (part, "VIOLATED"): [(2, {}, ["person_enters"])],
        (part, "PERMITTED"): [
            (1, {"thieves": 1}, ["thief_enters"]),
            (2, {"thieves": 1}, ["person_enters", "thief_enters"]),
        ],
        ("doors_stay_open", "VIOLATED"): [
            (3, {}, ["person_enters", "person_leaves"]),
            (2, {"draughts": 1}, ["person_enters", "draught_shuts"]),
            (2, {"thieves": 1, "draughts": 1}, ["thief_enters", "draught_shuts"]),
        ],
    }


def test_the_reach_in_json(check):
    code, out, err = check("doors.py --counterexamples 2 --json")
    assert (code, err) == (12, "")
    run = json.loads(out)["runs"][0]
    assert run["command"] == "check doors.py --counterexamples 2"
    first, second, third = run["counterexamples"]
    trace = "counterexamples/doors_at_most_one_is_open_and_none_robbed_6c50d17e_1.itf.json"
    assert first == {
        "property": "at_most_one_is_open_and_none_robbed",
        "verdict": "VIOLATED",
        "asked": 2,
        "stopped": None,
        "exhausted": True,
        "judged_to_depth": 5,
        "first_failures": 3,
        "looked_at": 3,
        "reach": "no other cause was found in the whole state space in a shortest path to each of 3 first failures",
        "found": [
            {
                "length": 2,
                "faults": {},
                "happened": ["person_enters"],
                "broken": ["sum(1 for door in range(s.doors) if s.is_open[door]) < 2"],
                "trace": trace,
                "show": f"trace show {trace} --model doors.py",
                "command": "check doors.py --bound 2",  # the shortest one, which is there already
            }
        ],
    }
    assert [one["command"][15:] for one in third["found"]] == ["--counterexamples 2", "--bound 2"]
    assert (third["first_failures"], third["looked_at"]) == (75, 5)
    assert second["reach"] == third["reach"] == "as many as requested; there may be more"


def of_doors(monkeypatch, tmp_path, limits, asked=9):
    instance = registry.load_file(write_model(tmp_path / "doors.py", DOORS)).instance()
    prop = instance.model.properties[0]
    return distinct_causes(
        instance,
        prop,
        Word.PERMITTED,
        asked,
        limits,
        kernel_of(instance),
        "check doors.py",
        lambda progress: None,
        lambda what, seconds: None,
    )


def test_an_interrupted_search_is_reported(monkeypatch, tmp_path):
    done = of_doors(monkeypatch, tmp_path, Limits())
    assert (len(done.found), done.stopped) == (2, None)
    cut = of_doors(monkeypatch, tmp_path, Limits(seconds=1e-9))
    assert (len(cut.found), cut.stopped) == (0, "seconds")
    assert cut.reach == "UNDECIDED whether there are more: the time limit is reached"

    cut.exploration.stopped = "memory"
    enough = replace(cut, asked=0, stopped=None)
    assert enough.reach == (
        "as many as requested; there may be more, some with fewer faults: the memory limit is reached"
    )

    def interrupted(trace):
        raise KeyboardInterrupt

    monkeypatch.setattr(search_for_causes, "cause_of", interrupted)
    cut = of_doors(monkeypatch, tmp_path, Limits())
    assert (len(cut.found), cut.looked_at, cut.stopped) == (0, 1, "interrupt")
    assert cut.reach == "UNDECIDED whether there are more: the user interrupted it"


NAME_IT = (
    "--counterexamples goes with one model: name the model, as in: check kafka --protocol 0.10 --counterexamples 3"
)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("doors.py --counterexamples 0", "--counterexamples 0: not a whole number of at least 1"),
        ("doors.py --counterexamples many", "--counterexamples many: not a whole number of at least 1"),
        ("--counterexamples 2 --bound 3", NAME_IT),
        ("published --counterexamples 2", NAME_IT),
        ("mutate doors.py --counterexamples 2", NAME_IT),
        ("sweep doors.py --vary doors=1,2 --counterexamples 2", NAME_IT),
        (
            "doors.py --counterexamples 2 --engine z3 --bound 3",
            "--counterexamples does not go with --engine z3; leave out one of them",
        ),
    ],
)
def test_incompatible_options_are_refused(check, line, message):
    assert check(line) == (2, "", f"check: {message}\n")


def test_without_a_violation_there_is_no_counterexample(check):
    code, out, err = check("doors.py --bound 0 --counterexamples 2 --json")
    assert (code, err) == (0, "")
    assert json.loads(out)["runs"][0]["counterexamples"] == []

"""`--engine z3` and `--engine all`: Z3 agrees with the explorer, and disagreements are reported.

Interrupted runs (time, memory, user) keep their findings, and none looks like a pass. Limits on time and memory hold
while formulas are built, measured from outside.
"""

from __future__ import annotations

import mmap
import re
import shlex
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given

from conformance.tests.checker.compile.test_kernel import drawn, protocols_of, values_within
from conformance.tests.sampling import exhaustive, recorded, sampled
from conformance.tests.support.engine import LAMPS, checking, decided, instance_of, told, verdict_of
from conformance.tests.support.programs import HERE, interrupted_when, ran, words_of
from conformance.tests.support.small_models import action, claim, domain, helper, model, state, write_model
from isrcheck.checker import cli
from isrcheck.checker.comparisons.published import PUBLISHED_MODELS
from isrcheck.checker.explicit.explore import explore
from isrcheck.checker.resources.limits import Answer, FormulaBudget, Limits, Memory, UndecidedError, resident
from isrcheck.checker.results.exploration import Finding, StepPath
from isrcheck.checker.results.verdict import Word, differences, verdicts
from isrcheck.checker.running import session, trace_writer
from isrcheck.checker.symbolic import bounded_model_checking
from isrcheck.checker.symbolic.and_inverter_graph import TRUE, AndInverterGraph
from isrcheck.checker.symbolic.bounded_model_checking import ask_to_depth
from isrcheck.checker.symbolic.transition_relation import TransitionRelation
from isrcheck.commands.exit_codes import DISAGREE, INTERRUPTED, UNDECIDED, VIOLATED
from isrcheck.models import registry
from isrcheck.models.language.declarations import Kind
from isrcheck.testing import legal_values
from isrcheck.traces.cli import main as trace

pytestmark = pytest.mark.sampled


@pytest.fixture
def check(tmp_path, monkeypatch, capsys):
    """Run `check` in a folder that holds lamps.py; return the exit code, stdout and stderr."""
    monkeypatch.chdir(tmp_path)
    write_model(tmp_path / "lamps.py", LAMPS)
    return checking(cli.main, capsys)


def same_findings(instance, depth, only=()):
    """Run both engines, and assert that their verdicts and least counterexamples are equal."""
    exploration = explore(instance, Limits(depth=depth), only=only)
    unrolled = ask_to_depth(instance, Limits(depth=depth), only=only)
    assert differences(exploration, unrolled) == []
    kinds = {prop.name: prop.kind for prop in instance.properties}
    assert set(unrolled.findings) == set(exploration.findings)
    for name, ours in exploration.findings.items():
        theirs = unrolled.findings[name]
        if name != "in_range":
            assert (theirs.erred.path and theirs.erred.path.depth) == (ours.erred.path and ours.erred.path.depth)
        if kinds.get(name) is Kind.SOMETIMES:  # any of the shortest paths will do
            assert (ours.found.path is None) == (theirs.found.path is None)
        else:
            assert theirs.found.path == ours.found.path
            assert theirs.permitted.path == ours.permitted.path
    assert [verdict.text for verdict in verdicts(unrolled)] == [verdict.text for verdict in verdicts(exploration)]
    return unrolled


# ---------------------------------------------------------------------------------------------------- the same is found


@pytest.mark.parametrize("depth", [0, 1, 2, 3, 4, 20])
@pytest.mark.parametrize("values", [{}, {"limit": 3}, {"lamps": 1, "most": 5, "speaks_of_storms": 0}], ids=str)
def test_a_small_model_gives_the_same_least_counterexamples(tmp_path, depth, values):
    instance = registry.load_file(write_model(tmp_path / "lamps.py", LAMPS)).instance(None, values)
    unrolled = same_findings(instance, depth)
    assert (unrolled.judged, unrolled.exhausted) == (min(depth, unrolled.judged), depth == 20)


ORDER = model(
    state("shut: Flag", "heard: Flag"),
    action("shuts(s)", "s.shut = True"),
    action("hears(s)", "require(not s.shut)", "s.heard = True"),
    claim("always", "fine(s)", "not (s.shut and s.heard)"),
)
"""A bell is heard only before the door is shut. Z3 tries only one order of two independent neighbouring steps; these
two are dependent."""

DECIDING = model(
    domain("Lamp", 3),
    state("n: between(0, 3)", "lit[Lamp]: Flag"),
    action("steps(s)", "s.n = {value}"),
    claim("always", "fine(s)", "{fine}"),
)


@pytest.mark.parametrize(
    ("text", "depth", "path"),
    [
        pytest.param(ORDER, 2, StepPath(0, (1, 0)), id="the order of dependent steps"),
        pytest.param(DECIDING.format(value="2 or s.n", fine="s.n != 2"), 1, StepPath(0, (0,)), id="the value of an or"),
        pytest.param(
            DECIDING.format(value="0", fine="any(s.n == i or s.lit[i + 2] for i in range(3))"),
            0,
            None,
            id="an index after the deciding element",
        ),
    ],
)
def test_the_engines_decide_as_python_does(tmp_path, text, depth, path):
    unrolled = same_findings(instance_of(tmp_path, text), depth)
    assert unrolled.findings["fine"].found.path == path
    assert [name for name, findings in unrolled.findings.items() if findings.erred.path] == []


def test_permitted_failures_are_reported_beside_violations(check):
    code, run = told(check, "lamps.py", "--engine", "z3", "--bound", "4")
    found = {name: (word, depth, permitted) for name, word, depth, permitted in decided(run)}
    assert code == VIOLATED
    assert found["calm"] == ("VIOLATED", 3, 2)
    assert found["some_are_off"] == ("VIOLATED", 1, None)
    assert found["only_persons_switch_off"] == ("PERMITTED", 2, 2)
    assert found["storms_stay"] == ("NO VIOLATION TO DEPTH", 4, None)
    assert found["dark_after_a_storm"] == ("REACHED", 4, None)
    assert found["one_at_a_time"] == ("REACHED", 3, None)
    assert found["never_to_be_seen"] == ("NOT REACHED TO DEPTH", 4, None)


KAFKA = [
    exhaustive(("0.10", 4, {})),
    recorded(("0.11", 4, {})),
    recorded(("2.0", 4, {})),
    ("2.1", 4, {}),
    # VIOLATED at step 5, PERMITTED at step 4
    recorded(("0.10", 5, {"unclean_elections": 1, "bounces": 1, "crashes": 0})),
    recorded(("2.0", 4, {"acks": 1, "retries": 1})),
    recorded(("2.1", 4, {"delete_records": 1, "transactions": 1, "records": 1})),  # VIOLATED at step 4
]


@pytest.mark.parametrize(("protocol", "depth", "values"), KAFKA, ids=str)
def test_kafka_within_small_bounds(protocol, depth, values):
    same_findings(registry.load("kafka")[0].instance(protocol, values), depth)


@pytest.mark.recorded
@pytest.mark.parametrize(
    "protocol", sampled(protocols_of("kafka"), lambda protocol: False, last=lambda protocol: protocol != "4.1")
)
def test_every_generation_within_small_bounds(protocol):
    """Two draws of switches, budgets and settings of clients; the first has the least values."""
    model, bounds = registry.load("kafka")[0], {"replicas": 2, "records": 1, "log_size": 1, "elections": 1}
    bounds = legal_values(model, protocol, bounds, {"partition_changes": 2})

    def agree(values):
        same_findings(model.instance(protocol, values), 3)

    drawn(2)(given(values_within("kafka", protocol, bounds))(agree))()


@pytest.mark.parametrize(("managers", "depth"), [(2, 7), (3, 5)])
def test_two_phase_commit(managers, depth):
    model, protocol = registry.load("examples/two_phase_commit")
    unrolled = same_findings(model.instance(protocol, {"resource_managers": managers}), depth)
    # Received again, a message changes nothing: behaviours go on, and nothing is ever exhausted.
    assert (unrolled.judged, unrolled.exhausted) == (depth, False)


def level_of(row, name):
    """TLC's level of the first violating state (initial states: level 1); None without a violation."""
    _, found, level = row.tlc[name].partition("@")
    return int(level) if found else None


ISR = ("weak_isr", "strong_isr")
SHALLOW = [row for row in PUBLISHED_MODELS.rows if any((level_of(row, name) or 99) <= 10 for name in ISR)]


def named(row):
    return " ".join([row.leading[0], *map(str, row.sizes.values())])


EARLIEST = "truncate_to_high_watermark"
LONG = {f"{EARLIEST} 2 1 1 2"}
"""The rows that take Z3 three seconds and more."""
LONGEST = {f"{EARLIEST} 2 {sizes}" for sizes in ("2 2 1", "2 2 2", "2 2 3", "2 3 2", "3 3 2")}
LONGEST |= {f"{EARLIEST} 3 {sizes}" for sizes in ("1 1 1", "1 1 2", "2 2 1")}
"""The rows that take Z3 ten seconds and more."""


def marks_of(row):
    if named(row) in LONGEST:
        return [pytest.mark.recorded]
    return [pytest.mark.exhaustive] if named(row) in LONG else []


@pytest.mark.parametrize("row", [pytest.param(row, marks=marks_of(row)) for row in SHALLOW], ids=named)
def test_the_published_violations_are_found_at_tlcs_level(row):
    levels = {name: level_of(row, name) for name in ISR}
    unrolled = same_findings(row.instance(), max(levels.values()) - 1, only=ISR)
    # Not one level before: each depth is asked before the next one.
    assert {name: unrolled.findings[name].found.path.depth + 1 for name in ISR} == levels


def test_nine_published_rows_are_shallow():
    assert len(SHALLOW) == 9


# ---------------------------------------------------------------------------------------------------------- the report


def test_z3_alone_reports_its_depth_and_writes_a_trace(check, capsys):
    code, text, err = check("lamps.py", "--engine", "z3", "--bound", "2", "--details")
    lines = text.splitlines()
    assert (code, err) == (12, "")
    assert "search         Z3, depth by depth, every behaviour of at most 2 steps, from 2 initial states" in lines
    assert re.search(
        r"^Z3 [\d.]+: checked every depth to 2 \(there are longer behaviours\); [\d,]+ nodes$", text, re.MULTILINE
    )
    assert "distinct" not in text
    assert lines[-1] == "VIOLATED: some_are_off at step 1"
    shown = next(line for line in lines if line.startswith("some_are_off  ") and "trace show " in line)
    assert trace(shlex.split(shown[shown.index("trace show ") :])[1:]) == 0
    assert "VIOLATED at step 1: some_are_off" in capsys.readouterr().out
    code, run = told(check, "lamps.py", "--engine", "z3", "--bound", "2")
    assert (run["engine"], run["command"]) == ("z3", "check lamps.py --bound 2 --engine z3")
    assert run["nodes"] > 0
    assert {"distinct", "generated", "levels", "states_per_level", "frontier", "bytes", "actions"} & set(run) == set()
    assert (run["z3"], run["proofs"], run["exhausted"], run["judged_to_depth"]) == (None, None, False, 2)
    again = told(check, *shlex.split(run["command"])[1:])[1]
    assert again | {"seconds": 0} == run | {"seconds": 0}


def test_both_engines_together_write_one_trace(check):
    files = [
        [one["trace"] for one in told(check, "lamps.py", "--bound", "4", *engine)[1]["properties"]]
        for engine in ((), ("--engine", "z3"), ("--engine", "all"))
    ]
    assert files[0] == files[1] == files[2]
    assert files[0][:2] != [None, None]


def test_a_model_with_only_finite_paths_is_searched_exhaustively(check):
    for words in (("--engine", "z3"), ("--engine", "all")):
        code, text, _ = check("lamps.py", "--limit", "3", "--bound", "30", *words, "--details")
        assert "(no behaviour is longer)" in text
        assert re.search(r"^storms_stay +HOLDS$", text, re.MULTILINE)
        assert re.search(r"^sometimes never_to_be_seen +UNREACHABLE$", text, re.MULTILINE)
        assert (code, verdict_of(text)[:8]) == (12, "VIOLATED")


def test_the_engines_agree(check):
    code, text, err = check("lamps.py", "--engine", "all", "--bound", "4", "--details")
    assert (code, err) == (12, "")
    assert "the engines agree on every property to depth 4" in text.splitlines()
    assert "search         breadth first, and by Z3, every behaviour of at most 4 steps" in text
    code, run = told(check, "lamps.py", "--engine", "all", "--bound", "4")
    assert (run["engine"], run["command"]) == ("all", "check lamps.py --bound 4 --engine all")
    assert run["distinct"] > 0
    assert set(run["z3"]) == {"judged_to_depth", "seconds", "stopped", "refusal"}
    assert (run["z3"]["judged_to_depth"], run["z3"]["stopped"]) == (4, None)
    assert decided(run) == decided(told(check, "lamps.py", "--bound", "4")[1])


# ---------------------------------------------------------------------------------------------------------- they differ


def test_a_guard_misread_by_z3_is_detected(check, monkeypatch):
    """With `all`, both results are reported; alone, Z3 takes a step that the reference does not allow."""
    transition = TransitionRelation.transition

    def unguarded(self, step):
        found = transition(self, step)
        return replace(found, enabled=TRUE) if found is not None and step.action == "lamp_fails" else found

    monkeypatch.setattr(TransitionRelation, "transition", unguarded)
    code, _, err = check("lamps.py", "--engine", "all", "--bound", "3")
    assert code == DISAGREE
    # On a loaded machine a line about progress can stand before it.
    assert [line for line in err.splitlines() if " s, Z3 at depth " not in line] == err.splitlines()[-1:]
    assert "only_persons_switch_off: found by the explorer never; by Z3 at step 1, steps " in err
    assert "reproduce: check lamps.py --bound 3 --engine all" in err
    code, _, err = check("lamps.py", "--engine", "z3", "--bound", "3")
    assert (code, err.count("\n")) == (70, 1)
    assert "plain Python does not confirm the path that the engine found" in err


def changed_finding(name, is_permitted, witness):
    """A result of an engine with one changed finding."""

    def wrongly(ask):
        def asked(*arguments, **keywords):
            found = ask(*arguments, **keywords)
            findings = found.findings[name]
            finding = Finding(int(witness is not None), witness)
            found.findings[name] = replace(findings, **{"permitted" if is_permitted else "found": finding})
            return found

        return asked

    return wrongly


@pytest.mark.parametrize("engine", ["explore", "ask_to_depth"])
@pytest.mark.parametrize(
    ("name", "is_permitted", "witness", "honest"),
    [
        ("some_are_off", False, None, "at step 1, steps "),
        ("some_are_off", False, StepPath(0, (0, 0)), "at step 1, steps "),
        ("calm", True, None, "at step 2, steps "),
        ("storms_stay", False, StepPath(0, (3, 3, 3)), "never"),
        ("one_at_a_time", False, None, "at step 3, steps "),
    ],
)
def test_a_disagreement_of_engines_exits_70_and_shows_both_results(
    check, monkeypatch, engine, name, is_permitted, witness, honest
):
    wrongly = changed_finding(name, is_permitted, witness)
    module = session if engine == "explore" else bounded_model_checking
    monkeypatch.setattr(module, engine, wrongly(getattr(module, engine)))
    # The trace of a wrong path would be refused even before the engines are compared.
    monkeypatch.setattr(trace_writer.TraceWriter, "write", lambda *given: {})
    code, text, err = check("lamps.py", "--engine", "all", "--bound", "3")
    assert (code, text, err.count("\n")) == (70, "", 1)
    wrong = "never" if witness is None else f"at step {witness.depth}, steps {' '.join(map(str, witness.steps))}"
    sides = (wrong, honest) if engine == "explore" else (honest, wrong)
    what = "permitted" if is_permitted else "found"
    told = re.search(rf"{name}: {what} by the explorer (.*?); by Z3 (.*?)(; |$)", err)
    assert told is not None, err
    assert all(one.startswith(side) for one, side in zip(told.groups(), sides, strict=False)), err


def test_findings_beyond_the_depth_of_one_engine_are_no_disagreement(tmp_path):
    instance = registry.load_file(write_model(tmp_path / "lamps.py", LAMPS)).instance(None)
    short, far = ask_to_depth(instance, Limits(depth=0)), explore(instance, Limits(depth=4))
    assert differences(far, short) == []
    far.findings["some_are_off"].found.path = StepPath(0, ())
    assert differences(far, short) == ["some_are_off: found by the explorer at step 0, steps ; by Z3 never"]


# ------------------------------------------------------------------------------------------------------ out of range

OUTSIDE = model(
    domain("Slot", 3),
    state("n: between(0, 6)", "at: between(0, 6)", "slots[Slot]: between(0, 6)"),
    action("goes_up(s)", "require(s.n < 5)", "s.n += 1"),
    action("fills(s, slot: Slot)", "require(s.at < 4)", "s.slots[slot] = s.at", "s.at += 1"),
    helper("is_excused(s)", "s.slots[s.n] == 0"),
    claim("terminal", "may_end(s)", "True"),
)
"""It leaves its declaration."""

FINE = "@always\ndef fine(s):\n    return s.n < 6\n"
LEAP = "@action\ndef leaps(s):\n    require(s.n == 3)\n    s.n += 4\n\n"
LEAVING = {
    "a value that is written": LEAP + FINE,
    "an index of a write": "@action\ndef uses(s):\n    require(s.n == 1)\n    s.slots[s.at] = 1\n\n" + FINE,
    "an index of a guard": "@action\ndef uses(s):\n    require(s.slots[s.n] == 0)\n    s.n = 0\n\n" + FINE,
    "a property": "@always\ndef fine(s):\n    return s.slots[s.n] < 6\n",
    "a property of steps": "@always_step\ndef fine(before, after):\n    return after.slots[before.n] < 6\n",
    "what is permitted": "@always(permitted=is_excused)\ndef fine(s):\n    return s.n != 3\n",
    "a state to be reached": "@sometimes\ndef fine(s):\n    return s.slots[s.n] == 5\n",
    "an initial state": "@always\ndef fine(s):\n    return s.slots[s.n + 3] < 6\n",
    "all is decided before": LEAP + FINE.replace("6", "3"),
}


def broken(text):
    """The violated property, or the word for none."""
    last = verdict_of(text)
    return last if last.startswith("VIOLATED") else last.partition(":")[0]


@pytest.mark.parametrize("where", LEAVING)
def test_every_engine_reports_the_same_range_error(check, tmp_path, where):
    write_model(tmp_path / "outside.py", OUTSIDE + LEAVING[where])
    codes = set()
    for bound in ("0", "3", "4", "5"):
        of_all = [check("outside.py", "--bound", bound, *engine) for engine in (
            (), ("--engine", "z3"), ("--engine", "all"),
        )]  # fmt: skip
        assert len({(code, err, broken(out)) for code, out, err in of_all}) == 1, of_all
        codes.add(of_all[0][0])
    assert codes == ({12} if "initial" in where else {0, 12})


# ----------------------------------------------------------------------------------------------------------- bad input

NAME_IT = "works only with one model; name the model, as in: check kafka --protocol 2.1"
BAD = {
    "lamps.py --engine z3": "--engine z3 needs a bound, as it searches depth by depth; add --bound 6",
    "lamps.py --engine all": "--engine all needs a bound, as it searches depth by depth; add --bound 6",
    "lamps.py --engine all --prove": "--engine all needs a bound, as it searches depth by depth; add --bound 6",
    "lamps.py --engine z3 --bound 3 --prove": (
        "--prove does not go with --engine z3, which visits no states; leave out one of them"
    ),
    "lamps.py --engine z3 --bound 3 --continue": (
        "--continue counts states, which Z3 cannot do: leave out --continue or --engine z3"
    ),
    "lamps.py --engine all --bound 3 --continue": (
        "--continue counts states, which Z3 cannot do: leave out --continue or --engine all"
    ),
    "--engine z3 --bound 3": f"--engine z3 {NAME_IT} --engine z3",
    "--engine all": f"--engine all {NAME_IT} --engine all",
    "--prove": f"--prove {NAME_IT} --prove",
    "published --engine z3 --bound 3": f"--engine z3 {NAME_IT} --engine z3",
    "published --prove": f"--prove {NAME_IT} --prove",
    "--config x.properties --engine z3 --bound 3": (
        "--engine z3 does not go with --config; name a model, as in: check kafka --engine z3"
    ),
    "--config x.properties --prove": "--prove does not go with --config; name a model, as in: check kafka --prove",
    "--describe - --prove": "--prove does not go with --describe; name a model, as in: check kafka --prove",
    "mutate lamps.py --engine z3 --bound 3": (
        "--engine z3 does not go with mutate: mutants are searched explicitly; leave --engine out"
    ),
    "mutate lamps.py --prove": "--prove does not go with mutate: mutants are searched explicitly; leave --prove out",
}


@pytest.mark.parametrize("line", BAD)
def test_options_that_an_engine_does_not_use_are_refused(check, line, tmp_path):
    assert check(*shlex.split(line)) == (2, "", f"check: {BAD[line]}\n")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["lamps.py"]


def test_z3_without_time_is_undecided(check):
    code, text, err = check("lamps.py", "--engine", "z3", "--bound", "4", "--seconds", "1e-9")
    assert (code, err) == (3, "")
    assert "HOLDS" not in text
    assert verdict_of(text).startswith("UNDECIDED: the time limit is reached")
    code, run = told(check, "lamps.py", "--engine", "z3", "--bound", "4", "--seconds", "1e-9")
    assert (code, run["stopped"], run["exhausted"], run["verdict"]) == (3, "seconds", False, "UNDECIDED")
    assert {word for _, word, _, _ in decided(run)} == {"UNDECIDED"}


@pytest.mark.parametrize("why", [Answer.SECONDS, Answer.MEMORY, Answer.UNKNOWN])
def test_findings_before_an_interrupt_of_z3_are_kept(check, monkeypatch, why):
    """Queries fail from depth 2 on: the violation at depth 1 is known, all else is undecided."""
    once = bounded_model_checking.once

    def refusing(circuit, demanded, deadline):
        demanded = list(demanded)
        is_far = len(demanded) > 4
        return (why, None) if is_far else once(circuit, demanded, deadline)

    monkeypatch.setattr(bounded_model_checking, "once", refusing)
    code, run = told(check, "lamps.py", "--engine", "z3", "--bound", "4")
    at_depth = run["judged_to_depth"]
    found = {name: (word, depth) for name, word, depth, _ in decided(run)}
    assert (code, run["stopped"]) == (12, why.value)
    assert at_depth < 4
    assert found["some_are_off"] == ("VIOLATED", 1)
    assert found["storms_stay"] == ("UNDECIDED", None)
    code, text, _ = check("lamps.py", "--engine", "z3", "--bound", "4", "--details")
    assert re.search(
        rf"^storms_stay +UNDECIDED \({why.value}; nothing found to depth {at_depth}\)$", text, re.MULTILINE
    )
    # Beside the explorer, which was not cut: what it found stands, and what it did not find is agreed no further.
    code, text, _ = check("lamps.py", "--engine", "all", "--bound", "4", "--details")
    assert code == VIOLATED
    assert f"the engines agree on every property to depth {at_depth}" in text.splitlines()
    assert re.search(
        rf"^storms_stay +UNDECIDED \(Z3: {why.value}; both found nothing to depth {at_depth}\)$", text, re.MULTILINE
    )
    assert re.search(r"^calm +VIOLATED at step 3 \(PERMITTED at step 2\)", text, re.MULTILINE)
    assert "distinct states" in text


def test_a_verdict_requires_that_both_engines_finish(check, monkeypatch):
    monkeypatch.setattr(bounded_model_checking, "once", lambda *given: (Answer.MEMORY, None))
    words = ("examples/two_phase_commit", "--engine", "all", "--bound", "3")
    code, run = told(check, *words)
    assert (code, run["verdict"], run["z3"]["stopped"], run["stopped"]) == (3, "UNDECIDED", "memory", None)
    assert {one["verdict"] for one in run["properties"] if one["kind"] == "always"} == {Word.UNDECIDED.value}
    for more in ((), ("--prove",)):  # what is proved in the end leaves the states that have to be reached
        last = verdict_of(check(*words, *more)[1])
        assert last.startswith("UNDECIDED: Z3: the memory limit is reached; ")


@pytest.mark.parametrize("engine", ["z3", "all"])
def test_z3_out_of_memory_is_undecided(tmp_path, engine):
    """In a separate process, which survives and reports the findings of the explorer."""
    ended = ran(f"check kafka --protocol 2.1 --engine {engine} --bound 7 --memory 16M", folder=tmp_path)
    assert ended.code == UNDECIDED, ended.err
    verdict = verdict_of(ended.out)
    assert verdict.startswith("UNDECIDED: ")
    assert "the memory limit is reached" in verdict
    assert not re.search(r"^(HOLDS|NO VIOLATION|VIOLATED)", ended.out, re.MULTILINE)


def test_proofs_out_of_memory_are_reported_as_such(tmp_path):
    """With a kernel that is compiled already, for which the limit has no room, and without proofs that are kept."""
    command, cache = "check kafka --protocol 2.1 --bound 1", str(tmp_path / "cache")
    ran(command, folder=tmp_path, ISRCHECK_CACHE=cache)
    ended = ran(command, "--prove", "--memory", "16M", folder=tmp_path, ISRCHECK_CACHE=cache)
    assert ended.code == UNDECIDED, ended.err
    assert "the proofs were cut short: Z3 reached the memory limit" in ended.out


@pytest.mark.exhaustive
def test_an_interrupt_of_z3_reports_the_findings(tmp_path):
    """Progress on stderr shows when depth 7 begins; everything before is finished."""
    sizes = "--replicas 2 --records 1 --elections 1 --crashes 0 --bound 40"
    ended = interrupted_when("Z3 at depth 7", f"check kafka --protocol 0.10 --engine z3 {sizes}", folder=tmp_path)
    assert ended.code == INTERRUPTED
    assert re.search(r"^VIOLATED at step 6 +acked_not_lost$", ended.out, re.MULTILINE)
    assert re.search(r"^UNDECIDED +[^:]*\blog_matching\b", ended.out, re.MULTILINE)
    assert verdict_of(ended.out) == "VIOLATED: acked_not_lost at step 6, isr_is_complete at step 5"


WIDE = model(
    domain("Cell", 80),
    state("load[Cell]: between(0, 100)"),
    action("worker_takes(s, c: Cell)", "require(s.load[c] < 100)", "s.load[c] += 1"),
    claim("always", "bounded(s)", "sum(s.load[c] for c in range(80)) <= 7000"),
)
"""A sum over many wide cells."""
MEASURE = (
    "import resource, subprocess, sys; done = subprocess.run(sys.argv[1:], stdout=2);"
    "print(done.returncode, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)"
)
LATE = 2
ABOVE = 250 << 20


def measured(folder: Path, *words: str) -> tuple[int, float, int]:
    """Run `check`; return the exit code, the seconds, and the peak memory in bytes."""
    began = time.monotonic()
    command = [sys.executable, "-c", MEASURE, *words_of("check", *words)]
    done = subprocess.run(command, cwd=folder, env=HERE, capture_output=True, text=True, check=True)
    code, kilobytes = map(int, done.stdout.split())
    return code, time.monotonic() - began, kilobytes << 10


@pytest.fixture
def start(tmp_path: Path) -> float:
    """The seconds for the start, compilation, and a trivial query."""
    write_model(tmp_path / "wide.py", WIDE)
    small = WIDE.replace("80", "2")
    write_model(tmp_path / "small.py", small)
    measured(tmp_path, "wide.py", "--bound", "1")
    return measured(tmp_path, "small.py", "--engine", "z3", "--bound", "0")[1]


SEVEN_REPLICAS = ("kafka", "--protocol", "2.1", "--set", "replicas=7")


@pytest.mark.parametrize(
    ("words", "seconds", "memory"),
    [
        exhaustive((("wide.py", "--engine", "z3", "--bound", "40", "--seconds", "4"), 4, None)),
        exhaustive((("wide.py", "--prove", "--bound", "1", "--seconds", "3", "--memory", "300M"), 3, 300 << 20)),
        recorded((("wide.py", "--engine", "z3", "--bound", "12", "--memory", "200M"), None, 200 << 20)),
        recorded(((*SEVEN_REPLICAS, "--engine", "z3", "--bound", "2", "--seconds", "2"), 2, None)),
    ],
)
def test_a_limit_ends_the_construction_of_formulas(tmp_path, start, words, seconds, memory):
    code, took, held = measured(tmp_path, *words)
    assert code == 3
    assert seconds is None or took <= start + seconds + LATE
    assert memory is None or held <= memory + ABOVE


def fill(circuit: AndInverterGraph) -> None:
    """Create nodes in an endless loop."""
    while True:
        circuit.both(circuit.variable(), circuit.variable())


def test_a_circuit_respects_its_deadline():
    circuit = AndInverterGraph(FormulaBudget(time.monotonic() + 0.2))
    began = time.monotonic()
    with pytest.raises(UndecidedError, match="seconds"):
        fill(circuit)
    assert time.monotonic() - began <= 0.7


def test_a_circuit_respects_its_memory_limit(monkeypatch):
    monkeypatch.setattr(Memory, "most", Memory.most)
    monkeypatch.setattr(Memory, "most_resident", Memory.most_resident)
    before = resident()
    Memory.limit(30 << 20)
    circuit = AndInverterGraph()
    with pytest.raises(UndecidedError, match="memory"):
        fill(circuit)
    assert resident() - before <= 60 << 20


def test_the_measured_memory_is_that_of_this_process():
    before = resident()
    # New memory: a bytearray may get memory that the process has used before.
    with mmap.mmap(-1, 50 << 20, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS) as held:
        held.write(b"x" * len(held))
        assert resident() - before >= len(held) - (1 << 20)

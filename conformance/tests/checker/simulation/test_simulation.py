"""`--simulate`: walks that depend on the seed alone, what they cover, and violations that are shortened."""

from __future__ import annotations

import json
import re
from math import sqrt
from pathlib import Path

import numpy as np
import pytest

from conformance.tests.sampling import exhaustive
from conformance.tests.support.report import cases_of, run_of
from conformance.tests.support.small_models import action, claim, domain, model, state, write_model
from isrcheck.checker.compile.kernel import kernel_of
from isrcheck.checker.resources.limits import Limits
from isrcheck.checker.results.exploration import StepPath
from isrcheck.checker.results.kernel_results import EntryKind
from isrcheck.checker.simulation import walks
from isrcheck.checker.simulation.shorten import shortened
from isrcheck.checker.simulation.walks import Simulation, SimulationRequest, ValuesSeen, below, simulate, verdicts
from isrcheck.commands.exit_codes import UNDECIDED, VIOLATED
from isrcheck.models import registry, run
from isrcheck.traces.format import files

WALK = model(
    domain("Length", 4),
    state("place: between(0, 30)", "jumps: between(0, 9)"),
    action("goes(s)", "require(s.place < 30)", "s.place += 1"),
    action(
        "jumps(s, length: Length)",
        "require(s.place + length <= 30 and s.jumps < 5)",
        "s.place += length",
        "s.jumps += 1",
    ),
    action("flies(s)", "require(s.place > 30)"),
    claim("always", "stays_near(s)", "s.place < 12"),
    claim("always_step", "is_slow(before, after)", "after.place - before.place < {step}"),
    claim("sometimes", "arrives(s)", "s.place == 30"),
)
"""A walker on a line, who sometimes jumps."""

FIGURES = (200, 4000, 4200, 20, 0, [4000, 1973, 0], [3001, 999, 0], 11892)
"""Of 200 walks of 20 steps with seed 7: walks, steps, states, longest, ended, enabled, taken, generated."""


@pytest.fixture
def walk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Writes the model to a new working folder."""
    monkeypatch.chdir(tmp_path)

    def write(text: str = WALK, step: int = 9):
        return registry.load_file(write_model(tmp_path / "walk.py", text.format(step=step))).instance()

    return write


def test_a_seed_determines_every_figure(walk) -> None:
    instance = walk()
    kernel = kernel_of(instance)
    found = figures(simulate(instance, kernel, SimulationRequest(200, 20, 7)))
    again = figures(simulate(instance, kernel, SimulationRequest(200, 20, 7)))
    assert found == again
    assert found[: len(FIGURES)] == FIGURES
    assert figures(simulate(instance, kernel, SimulationRequest(200, 20, 8)))[6] != found[6]


def figures(found: Simulation) -> tuple[object, ...]:
    """Everything that a simulation says, except how long it took."""
    counts = (found.walks, found.steps, found.visited, found.longest, found.ended)
    counts += (found.enabled.tolist(), found.taken.tolist(), found.generated)
    return *counts, found.values, found.findings, found.stopped


def test_walks_do_not_depend_on_how_they_are_divided(walk, monkeypatch: pytest.MonkeyPatch) -> None:
    instance = walk(WALK.replace("return s.place < 12", "return s.place < 99"), step=99)
    kernel = kernel_of(instance)
    whole = simulate(instance, kernel, SimulationRequest(100, 12, 3))
    monkeypatch.setattr(walks, "GROUP", 7)
    monkeypatch.setattr(walks, "ROOM", 1)
    parts = simulate(instance, kernel, SimulationRequest(100, 12, 3))
    assert figures(parts)[:9] == figures(whole)[:9]


@pytest.mark.parametrize(("threads", "step"), [(2, 9), (5, 3), exhaustive((5, 9)), exhaustive((2, 3))])
def test_results_do_not_depend_on_the_number_of_threads(walk, monkeypatch, threads: int, step: int) -> None:
    """Also where every property is decided before the last walk, so that the walks end early."""
    monkeypatch.setattr(walks, "GROUP", 16)
    instance = walk(WALK.replace("s.place == 30", "s.place == 20"), step=step)
    kernel, request = kernel_of(instance), SimulationRequest(400, 20, 3, weights={"jumps": 2})
    alone, together = simulate(instance, kernel, request), simulate(instance, kernel, request, threads=threads)
    assert figures(together) == figures(alone)
    assert (alone.stopped, alone.walks < 400) == (("decided", True) if step == 3 else (None, False))


@pytest.mark.parametrize("seed", [1, 2, exhaustive(0), exhaustive(3)])
def test_a_property_that_one_group_has_decided_is_judged_in_the_next_one(walk, monkeypatch, seed: int) -> None:
    """It leaves a declared range where somebody stands at 5 and has jumped; most walks jump over that place."""
    monkeypatch.setattr(walks, "GROUP", 4)
    text = WALK.replace("    jumps = field", "    marks = field(Length, values=between(0, 1))\n    jumps = field")
    errs = "s.place < 6 and (s.place < 5 or s.jumps == 0 or s.marks[s.place] == 0)"
    instance = walk(text.replace("s.place < 12", errs))
    kernel, request = kernel_of(instance), SimulationRequest(60, 9, seed)
    alone, together = simulate(instance, kernel, request), simulate(instance, kernel, request, threads=5)
    assert figures(together) == figures(alone)
    assert {"stays_near", "in_range"} <= set(alone.findings)


def test_ctrl_c_keeps_what_the_walks_did(walk) -> None:
    """Walks that were not ended count with the steps that they took."""
    instance, looks = walk(WALK.replace("s.place < 12", "s.place < 1")), []

    def press(what: str, seconds: float) -> None:
        looks.append(what)
        if len(looks) == 3:
            raise KeyboardInterrupt

    request = SimulationRequest(10**7, 5000, 1)
    found = simulate(instance, kernel_of(instance), request, report=press, threads=2)
    assert (found.stopped, len(looks)) == ("interrupt", 3)
    assert 0 < found.steps == found.taken.sum() and found.walks < 10**7
    path = found.findings["stays_near"].found.path
    assert path is not None and path.depth == 1


def test_actions_are_chosen_with_equal_chance(walk) -> None:
    """`jumps` has four steps and `goes` one: while both are enabled, each action is taken about as often."""
    found = simulate(walk(), kernel_of(walk()), SimulationRequest(20_000, 2, 1))
    goes, jumps, flies = found.taken.tolist()
    assert (goes + jumps, flies) == (40_000, 0)
    assert abs(goes - jumps) < 4 * sqrt(goes + jumps)  # four standard deviations


@pytest.mark.sampled
def test_a_weight_makes_an_action_as_many_times_as_likely(walk) -> None:
    request = SimulationRequest(20_000, 2, 1, weights={"jumps": 3, "flies": 100})
    goes, jumps, flies = simulate(walk(), kernel_of(walk()), request).taken.tolist()
    assert (goes + jumps, flies) == (40_000, 0)
    assert abs(3 * goes - jumps) < 6 * sqrt(goes + jumps)  # three and a half standard deviations
    # Among the steps of an action, the choice is the same as ever.
    equal = simulate(walk(), kernel_of(walk()), SimulationRequest(500, 3, 1, weights={"jumps": 7, "goes": 7}))
    assert abs(equal.taken[0] - equal.taken[1]) < 3.8 * sqrt(equal.steps)  # almost four standard deviations


def test_weights_are_reported_and_repeat_the_walks(walk, check) -> None:
    walk()
    line = "walk.py --simulate 30 --depth 3 --weight jumps=5 --weight goes=1 --weight jumps=5"
    words = line.split()
    code, out, _ = check(*words)
    assert code == 3
    assert "\nweights        jumps=5; 1 for the other actions\n" in out
    _, out, _ = check(*words, "--json")
    found = json.loads(out)
    assert found["weights"] == {"jumps": 5}
    assert found["command"] == "check walk.py --simulate 30 --depth 3 --seed 0 --weight jumps=5"
    _, again, _ = check(*found["command"].split()[1:], "--threads", "2", "--json")
    assert {**json.loads(again), "seconds": 0} == {**found, "seconds": 0}


def test_numbers_below_a_limit_are_spread_evenly() -> None:
    draws, limit = 70_000, 7
    numbers, next_ones = (below(np.full(draws, limit), 5, np.arange(draws), position, 1) for position in (3, 4))
    assert np.bincount(limit * numbers + next_ones, minlength=limit**2).min() > 7 / 8 * draws / limit**2
    assert abs(np.bincount(numbers, minlength=limit) - draws / limit).max() < 0.04 * draws / limit


def test_what_was_covered_is_reported(walk) -> None:
    found = simulate(walk(), kernel_of(walk()), SimulationRequest(20, 3, 0))
    assert (found.never_enabled, found.never_taken) == (["flies"], [])
    assert found.values["jumps"] == ValuesSeen(10, 3, [3, 4, 5, 6, 7, 8, 9])
    place = found.values["place"]
    assert (place.declared, place.seen, place.missing[-1]) == (31, 31 - len(place.missing), 30)


def test_covered_values_are_printed_and_in_the_object(walk, check) -> None:
    walk(WALK.replace("values=between(0, 9)", "values=between(0, 300)"))
    words = ["walk.py", "--simulate", "200", "--depth", "40"]
    _, out, _ = check(*words)
    assert re.search(
        r"^field  values  seen  never seen\njumps     301     6  6 7 8 9 10 11 12 13 and 287 more$", out, re.MULTILINE
    )
    assert "\nevery declared value was seen: place\n" in out
    _, out, _ = check(*words, "--json")
    fields = json.loads(out)["fields"]
    assert fields["place"] == {"declared": 31, "seen": 31, "never_seen": []}
    assert (fields["jumps"]["seen"], fields["jumps"]["never_seen"]) == (6, [str(one) for one in range(6, 106)])


def test_a_report_has_what_the_walks_found(walk, check) -> None:
    walk()
    words = ["walk.py", "--simulate", "50", "--depth", "20", "--seed", "7", "--report", "DIR"]
    assert check(*words)[0] == VIOLATED
    suite = "walk, simulated"
    assert cases_of(Path("DIR"))[suite, "stays_near"] == ("failure", "VIOLATED at step 4")
    assert cases_of(Path("DIR"))[suite, "the search itself"] == ("passed", "")
    assert "found by simulation; not known to be shortest" in (Path("DIR") / "index.html").read_text()
    assert [one["ruleId"] for one in run_of(Path("DIR"))["results"] if one["kind"] == "fail"] == ["walk/stays_near"]
    assert list(Path("DIR").glob("traces/walk_stays_near_*.html"))
    words[4] = "3"
    assert check(*words)[0] == 3
    outcome, says = cases_of(Path("DIR"))[suite, "the search itself"]
    assert (outcome, says) == ("error", "UNDECIDED: simulation: 50 walks of at most 3 steps found no violation")


def test_properties_are_judged_as_the_reference_does(walk) -> None:
    instance = walk(step=3)
    found = simulate(instance, kernel_of(instance), SimulationRequest(200, 40, 7)).findings
    for name, is_step in (("stays_near", False), ("is_slow", True), ("deadlock", False)):
        path = found[name].found.path
        assert path is not None
        states = [instance.initial_states[path.initial]]
        for number in path.steps:
            after = run.take(instance, states[-1], instance.step(number))
            assert after is not None
            states.append(after)
        if name == "stays_near":
            assert [cells[0] < 12 for cells in states] == [True] * path.depth + [False]
        if is_step:
            assert states[-1][0] - states[-2][0] == 3
        if name == "deadlock":
            assert not run.has_step(instance, states[-1])


def test_a_violation_is_shortened_to_the_known_length(walk) -> None:
    """Four jumps of 3 lead to 12; of the shortest paths it is the first."""
    instance = walk()
    kernel = kernel_of(instance)
    found = simulate(instance, kernel, SimulationRequest(50, 20, 7)).findings["stays_near"].found.path
    assert found is not None and found.depth > 4
    prop = next(one for one in instance.properties if one.name == "stays_near")
    assert shortened(instance, kernel, prop, EntryKind.FOUND, found, Limits()) == StepPath(0, (4, 4, 4, 4))


def test_without_a_violation_it_is_undecided(walk, check) -> None:
    walk()
    words = ["walk.py", "--simulate", "30", "--depth", "3", "--seed", "5"]
    code, out, _ = check(*words)
    assert code == UNDECIDED
    assert out.splitlines()[-1] == "UNDECIDED: simulation: 30 walks of at most 3 steps found no violation"
    assert "stays_near         UNDECIDED (no walk violated it)\n" in out
    assert "sometimes arrives  UNDECIDED (no walk reached it)\n" in out
    assert "warning: never enabled in this simulation: flies\n" in out
    assert "HOLDS" not in out
    assert "simulation     30 walks of at most 3 steps, seed 5, from 1 initial state\n" in out
    content = json.loads(check(*words, "--json")[1])
    figures = {"asked": 30, "walks": 30, "depth": 3, "seed": 5, "steps": 90, "verdict": "UNDECIDED"}
    assert {key: content[key] for key in figures} == figures
    assert content["command"] == "check walk.py --simulate 30 --depth 3 --seed 5"
    code, out, _ = check(*words, "--seconds", "1e-9")
    assert (code, "UNDECIDED" in out.splitlines()[-1]) == (UNDECIDED, True)


def test_a_violation_is_certified_and_written(walk, check) -> None:
    walk()
    code, out, _ = check("walk.py", "--simulate", "50", "--depth", "20", "--seed", "7")
    assert code == VIOLATED
    assert out.splitlines()[-1].startswith("VIOLATED: stays_near at step 4")
    assert out.splitlines()[-1].endswith(": found by simulation; not known to be shortest")
    (file,) = Path("counterexamples").glob("walk_stays_near_*.itf.json")
    assert files.recheck(file, Path("walk.py")).is_possible
    assert "check walk.py --simulate 50 --depth 20 --seed 7" in file.read_text()


def test_a_range_error_and_a_constraint_are_known(walk) -> None:
    text = WALK.replace("require(s.place < 30)", "require(s.place < 31)").replace("return s.place < 12", "return True")
    far = "\n\nfrom isrcheck.language import constraint\n\n@constraint\ndef is_near(s):\n    return s.place < 8\n"
    instance = walk(text)
    found = simulate(instance, kernel_of(instance), SimulationRequest(50, 40, 1))
    assert verdicts(found, instance.properties)[-1].prop.name == "in_range"
    instance = walk(text + far)
    found = simulate(instance, kernel_of(instance), SimulationRequest(50, 40, 1))
    assert (found.findings.keys(), found.values["place"].missing[0]) == (set(), 8)


NO_SEARCH = "--simulate does not go with {}, an option of searches; leave out one of them"
COMPILED = "--simulate does not go with --engine {}: walks use compiled code; leave one out"
WALKS = "--simulate 5 --depth 3"
REFUSED = {
    "--simulate 5": "--simulate needs --depth, the most steps of a walk, as in: --simulate 1000 --depth 100",
    "--simulate -1 --depth 3": "--simulate -1: not a whole number of at least 1",
    **{f"--simulate 5 --depth {depth}": f"--depth {depth}: not a whole number of at least 1" for depth in (-3, 0)},
    "--depth 4": "--depth goes with --simulate; add --simulate 1000, or leave --depth out",
    **{f"{WALKS} --engine {engine}": COMPILED.format(engine) for engine in ("z3", "spark")},
    **{
        f"{WALKS} {words}": NO_SEARCH.format(words.split()[0])
        for words in ("--prove", "--no-reduction", "--symmetry", "--bound 4", "--continue", "--disk D", "--resume D")
    },
    f"{WALKS} --disk=D --checkpoint-minutes 2": NO_SEARCH.format("--disk"),
    f"{WALKS} --checkpoint-minutes 2": (
        "--checkpoint-minutes needs --disk DIR; add --disk DIR, or leave --checkpoint-minutes out"
    ),
    "--weight goes=2": "--weight goes with --simulate; add --simulate 1000, or leave --weight out",
    **{
        f"{WALKS} --weight {weight}": f"--weight {weight}: not of the form ACTION=N with N from 1 to 10,000"
        for weight in ("goes", "goes=0")
    },
    f"{WALKS} --weight jump=2": "--weight jump=2: walk has no such action; did you mean jumps?",
    f"{WALKS} --weight jumps=2 --weight jumps=3": ("--weight jumps is given twice, as 2 and as 3; keep one of them"),
    **{
        f"{WALKS} --seed {seed}": f"--seed {seed}: not a seed; give 0 to 18446744073709551615"
        for seed in ("-1", "18446744073709551616", "0x10")
    },
}


@pytest.mark.parametrize("words", REFUSED)
def test_what_does_not_go_together_is_refused(walk, check, words: str) -> None:
    walk()
    assert check("walk.py", *words.split()) == (2, "", f"check: {REFUSED[words]}\n")


@pytest.mark.recorded
def test_a_record_is_lost_beyond_the_reach_of_a_search(check) -> None:
    """Six records, six elections and six faults: no exhaustive search reaches the end of such bounds."""
    large = "--records 6 --log-size 6 --elections 6 --crashes 3 --bounces 3"
    words = ["kafka", "--protocol", "0.10", *large.split(), "--simulate", "1000", "--depth", "60", "--seed", "1"]
    code, out, _ = check(*words, "--seconds", "12")
    assert code == VIOLATED
    assert "acked_not_lost" in out.splitlines()[-1]

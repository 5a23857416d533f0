"""The proof cache: what is stored and reused, its effect on the matrix, and budget independence."""

from __future__ import annotations

import re
from importlib import resources

import pytest

from conformance.tests.support.places import PROJECT
from conformance.tests.support.small_models import action, claim, define, entries, model, state, write_model
from isrcheck.checker import cli
from isrcheck.checker.comparisons import matrix as matrix_proofs
from isrcheck.checker.comparisons import matrix_record as matrix
from isrcheck.checker.proofs import proof_cache
from isrcheck.checker.proofs.budget_independence import independent_budgets
from isrcheck.checker.proofs.proof_cache import proved
from isrcheck.checker.proofs.prove import prove
from isrcheck.checker.resources.cache import FOLDERS, modules_of
from isrcheck.checker.results.proofs import Phase, Proofs
from isrcheck.checker.running import session
from isrcheck.commands.exit_codes import INTERRUPTED
from isrcheck.models import registry
from isrcheck.models.language.declarations import Kind
from isrcheck.models.language.model import IN_RANGE

STREAM = model(
    entries(
        'water = bound(4, "how much there is", least=1, option="--water")',
        'storms = budget(2, "storms", option="--storms")',
        'dams = budget(1, "dams that break", option="--dams")',
    ),
    state("lake: between(0, 9)", "sea: between(0, 9)", "storms_left: between(0, 127)", "dams_left: between(0, 127)"),
    define(
        "initial",
        "starts(configuration)",
        'yield {"lake": configuration.water, "storms_left": configuration.storms, "dams_left": configuration.dams}',
    ),
    action("water_flows(s)", "require(s.lake > 0)", "require(s.sea < 9)", "s.lake -= 1", "s.sea += 1"),
    action(
        "storm_comes(s)",
        "require(s.storms_left > 0)",
        "require(s.sea > 0)",
        "require(s.lake < 9)",
        "s.storms_left -= 1",
        "s.sea -= 1",
        "s.lake += 1",
    ),
    action("dam_breaks(s)", "require(s.dams_left > 0)", "s.dams_left -= 1"),
    claim("lemma", "no_water_is_lost(s)", "s.lake + s.sea == s.water"),
    claim("always", "sea_stays_low(s)", "s.sea <= s.water"),
    claim("terminal", "may_end(s)", "True"),
)
"""Water flows from a lake to the sea, and storms bring some back."""


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    """A separate proof cache for each test; compiled kernels are shared."""
    monkeypatch.setattr(proof_cache, "cache_folder", lambda: tmp_path / "cache")
    return tmp_path / "cache" / "proofs"


@pytest.fixture
def asked(monkeypatch):
    """The phases of the prover that ran, in order."""
    phases = []

    def counting(instance, properties, phase, **more):
        phases.append(phase)
        return prove(instance, properties, phase, **more)

    monkeypatch.setattr("isrcheck.checker.proofs.prove.prove", counting)
    return phases


def instance_of(tmp_path, text=STREAM, **values):
    return registry.load_file(write_model(tmp_path / "stream.py", text)).instance(None, values)


def promises(instance):
    return [prop for prop in instance.properties if prop.kind is not Kind.SOMETIMES]


def within(instance, **more):
    return proved(instance, promises(instance), Phase.WITHIN_BOUNDS, **more)


def content_of(found):
    return {
        name: (proof.lemmas, proof.every_length, proof.steps)
        for name, proof in found.proofs.items()
        if name != IN_RANGE.name
    }


# ---------------------------------------------------------------------------------------------------------------- kept


def test_a_cached_proof_is_not_repeated(tmp_path, asked):
    instance = instance_of(tmp_path)
    first, second = within(instance), within(instance_of(tmp_path))
    assert asked == [Phase.WITHIN_BOUNDS]
    assert (first.is_kept, second.is_kept) == (False, True)
    assert content_of(first) == content_of(second) == {"sea_stays_low": (("no_water_is_lost",), False, 1)}


def test_a_failed_proof_is_cached_with_its_counterexample(tmp_path, asked):
    text = STREAM.replace("@lemma\n", "@lemma(applies=lambda configuration: configuration.water > 4)\n")
    first, second = within(instance_of(tmp_path, text)), within(instance_of(tmp_path, text))
    assert len(asked) == 1
    assert content_of(first) == content_of(second) == {}
    (one,), (other,) = first.attempts, second.attempts
    assert one.counterexample == other.counterexample
    assert (one.why, one.every_length) == (other.why, other.every_length)


def test_a_dropped_lemma_is_cached_as_dropped(tmp_path, asked):
    text = STREAM.replace("s.lake + s.sea == s.water", "s.lake + s.sea == s.water and s.lake > 0")
    for _ in range(2):
        found = within(instance_of(tmp_path, text))
        assert (content_of(found), list(found.lost)) == ({}, ["no_water_is_lost"])
    assert len(asked) == 1


@pytest.mark.sampled
@pytest.mark.parametrize(
    "change",
    [
        {"text": STREAM.replace("s.lake + s.sea == s.water", "s.sea + s.lake == s.water")},
        {"text": STREAM.replace("    require(s.lake < 9)\n", "")},
        {
            "text": STREAM.replace(
                "    storms_left = field(", "    other = field(values=between(0, 1))\n    storms_left = field("
            )
        },
        {"values": {"water": 5}},
        {"values": {"storms": 3}},
        {"failing": ["sea_stays_low"]},
        {"phase": Phase.WITH_MORE},
        {"properties": []},
        {"known": True, "first": Phase.WITH_MORE},
        {"version": "4.0"},
    ],
    ids=str,
)
def test_any_change_leads_to_a_new_proof(tmp_path, asked, monkeypatch, change):
    instance = instance_of(tmp_path)
    first = change.get("first", Phase.WITHIN_BOUNDS)
    found = within(instance)
    proved(instance, promises(instance), first)
    asked.clear()
    if "version" in change:
        monkeypatch.setattr(proof_cache, "solver_version", lambda: change["version"])
    other = instance_of(tmp_path, change.get("text", STREAM), **change.get("values", {}))
    more = {"known": found} if "known" in change else {"failing": change.get("failing", [])}
    properties = change.get("properties", promises(other))
    phase = change.get("phase", first)
    assert not proved(other, properties, phase, **more).is_kept
    assert asked == [phase]


def test_a_proof_depends_on_every_module_of_the_engines():
    """A cached proof is used only if no module imported by the prover has changed."""
    listed = {
        name for package, deep in FOLDERS.items() for name, _ in modules_of(package, resources.files(package), deep)
    }
    folders = [PROJECT / "checker", PROJECT / "models" / "language", PROJECT / "models" / "messages"]
    own = [path for folder in folders for path in folder.rglob("*.py")] + list((PROJECT / "models").glob("*.py"))
    assert listed == {f"isrcheck/{path.relative_to(PROJECT).as_posix()}" for path in own}


@pytest.mark.parametrize("damage", ["cut", "changed", "empty", "foreign"])
def test_a_damaged_file_counts_as_none(tmp_path, cache, asked, damage):
    first = within(instance_of(tmp_path))
    (path,) = cache.iterdir()
    content = path.read_bytes()
    path.write_bytes({
        "cut": content[: len(content) // 2],
        "changed": content.replace(b"no_water_is_lost", b"no_water_is_last"),
        "empty": b"",
        "foreign": b"{}",
    }[damage])  # fmt: skip
    again = within(instance_of(tmp_path))
    assert (len(asked), again.is_kept) == (2, False)
    assert content_of(again) == content_of(first)
    assert path.read_bytes()[32:36] == content[32:36]
    assert within(instance_of(tmp_path)).is_kept


def test_an_unwritable_folder_costs_only_time(tmp_path, monkeypatch, asked):
    write_model(tmp_path / "file", "mine")
    monkeypatch.setattr(proof_cache, "cache_folder", lambda: tmp_path / "file")
    for _ in range(2):
        assert list(content_of(within(instance_of(tmp_path)))) == ["sea_stays_low"]
    assert len(asked) == 2
    assert (tmp_path / "file").read_text() == "mine"


def test_a_timeout_is_cached_for_impatient_runs(tmp_path, asked):
    instance = instance_of(tmp_path)
    for _ in range(2):
        assert within(instance, seconds=1e-9, is_patient=False).stopped == "seconds"
    assert len(asked) == 1
    # Who waits asks anew, and leaves it to those who do not.
    assert within(instance, seconds=1e-9).stopped == "seconds"
    assert len(asked) == 2
    assert list(content_of(within(instance))) == ["sea_stays_low"]
    assert list(content_of(within(instance, seconds=1e-9, is_patient=False))) == ["sea_stays_low"]
    assert len(asked) == 3


@pytest.mark.parametrize("why", ["memory", "interrupt", "unknown"])
@pytest.mark.parametrize("is_patient", [True, False])
def test_no_other_interrupted_proof_is_cached(tmp_path, monkeypatch, cache, why, is_patient):
    monkeypatch.setattr("isrcheck.checker.proofs.prove.prove", lambda *given, **more: Proofs(stopped=why))
    assert within(instance_of(tmp_path), is_patient=is_patient).stopped == why
    assert not cache.exists() or list(cache.iterdir()) == []


def test_the_report_marks_a_cached_proof(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    write_model(tmp_path / "stream.py", STREAM)
    told = []
    for words in ((), (), ("--bound", "1"), ("--storms", "3")):
        assert cli.main(["stream.py", "--prove", *words]) == 0
        out = capsys.readouterr().out
        assert "sea_stays_low: PROVED" in out
        told.append("found by an earlier run" in out)
    assert told == [False, True, True, False]


# ---------------------------------------------------------------------------------------------------------- the matrix

COMMIT = """
[[run]]
model = "examples/two_phase_commit"
explored = "exhausted"
[run.configuration]
resource_managers = 2
[run.violated]
[run.permitted]
"""


def cell(content):
    (one,) = content["cells"]
    return one["property"], one["verdict"], one["proof"], one["record"]


def test_the_matrix_marks_proved_cells(check_record):
    code, text, content = check_record(COMMIT)
    assert (code, cell(content)) == (0, ("consistent", "PROVED", "any depth", "as recorded"))
    assert re.search(r"^consistent +PROVED$", text, re.MULTILINE)
    proof = "proved consistent in examples/two_phase_commit: at any depth, with resource_managers=2"
    assert proof in text.splitlines()
    assert matrix.NOT_ATTEMPTED not in text
    proved = COMMIT.replace("[run.configuration]", 'proved = ["consistent"]\n[run.configuration]')
    assert check_record(proved)[0] == 0
    assert check_record(proved, "--bound", "2")[0] == 0


def test_a_proof_that_timed_out_is_reported_as_timed_out(check_record, monkeypatch):
    monkeypatch.setattr(matrix_proofs, "PROOF_SECONDS", 0.0)
    code, text, content = check_record(COMMIT)
    assert (code, cell(content)) == (0, ("consistent", "HOLDS", "not attempted", "as recorded"))
    assert f"{matrix.NOT_ATTEMPTED}: consistent in examples/two_phase_commit" in text.splitlines()
    # Nothing is missing as long as nobody has tried.
    assert check_record(COMMIT.replace("[run.configuration]", 'proved = ["consistent"]\n[run.configuration]'))[0] == 0


def test_proofs_by_check_prove_are_shown_in_the_matrix(check_record, monkeypatch):
    """After `check --prove`, the matrix shows the proof in place of `not attempted`, also for a partial run."""
    named = COMMIT.replace("explored", 'name = "reached"\nproperties = ["all_commit", "all_abort"]\nexplored')
    monkeypatch.setattr(matrix_proofs, "PROOF_SECONDS", 0.0)
    assert cell(check_record(COMMIT + named)[2])[2] == "not attempted"
    assert cli.main(["examples/two_phase_commit", "--resource-managers", "2", "--prove"]) == 0
    assert cell(check_record(COMMIT + named)[2])[2] == "any depth"


def test_a_recorded_proof_that_fails_exits_10(check_record, monkeypatch):
    monkeypatch.setattr(session, "proved", lambda *given, **more: Proofs())
    recorded = COMMIT.replace("[run.configuration]", 'proved = ["consistent"]\n[run.configuration]')
    code, text, content = check_record(recorded)
    assert (code, cell(content)) == (10, ("consistent", "HOLDS", "not proved", "recorded, but not found"))
    assert re.search(r"^consistent +HOLDS.*<- recorded, but not found$", text, re.MULTILINE)
    assert check_record(COMMIT)[0] == 0


def test_a_recorded_violation_that_is_disproved_exits_10(check_record):
    code, _, content = check_record(COMMIT.replace("[run.violated]", "[run.violated]\nconsistent = 9"), "--bound", "3")
    assert (code, cell(content)) == (10, ("consistent", "PROVED", "any depth", "recorded, but not found"))


def test_an_interrupt_during_the_matrix_proofs_reports_the_searches(check_record, monkeypatch):
    monkeypatch.setattr(session, "proved", lambda *given, **more: Proofs(stopped="interrupt"))
    code, text, content = check_record(COMMIT)
    assert code == INTERRUPTED
    assert re.search(r"^consistent +HOLDS$", text, re.MULTILINE)
    assert content["runs"][0]["exhausted"] is True


# ----------------------------------------------------------------------------------------------- budgets without limit


def free(tmp_path, text=STREAM, **values):
    instance = instance_of(tmp_path, text, **values)
    return independent_budgets(instance, [*instance.properties, *instance.lemmas])


def test_budgets_that_only_count_down_do_not_matter(tmp_path):
    assert free(tmp_path) == ["storms", "dams"]
    assert free(tmp_path, storms=0) == ["dams"]
    assert free(tmp_path, storms=0, dams=0) == []


@pytest.mark.sampled
@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("require(s.storms_left > 0)", "require(s.storms_left > 1)"),
        ("require(s.storms_left > 0)", "require(s.storms_left >= 1)"),
        ("require(s.storms_left > 0)", "require(s.storms_left != 0)"),
        ("require(s.storms_left > 0)", "require(0 < s.storms_left)"),
        ("require(s.storms_left > 0)", "require(s.storms_left > 0 and s.storms_left < 9)"),
        ("require(s.storms_left > 0)", "require(s.storms_left > s.dams_left)"),
        ("require(s.storms_left > 0)", "require(s.storms > 0)"),
        ("require(s.storms_left > 0)", "require(is_possible(s))"),
        ("s.storms_left -= 1", "s.storms_left -= 1\n    s.storms_left += 0"),
        ("s.storms_left -= 1", "s.storms_left -= 2"),
        ("s.storms_left -= 1", "s.storms_left = 0"),
        ("s.storms_left -= 1", "s.sea = s.storms_left"),
        ("s.storms_left -= 1", "s.storms_left -= s.storms_left"),
        ("return s.sea <= s.water", "return s.sea <= s.water and s.storms_left <= 99"),
        ("return s.sea <= s.water", "return s.sea <= s.water or s.storms > 99"),
        ("return s.sea <= s.water", "return s.sea <= s.water and (is_possible(s) or s.sea < 9)"),
        ("return s.lake + s.sea == s.water", "return s.lake + s.sea == s.water and s.storms_left < 99"),
        ('{"lake": configuration.water,', '{"sea": configuration.storms - 2, "lake": configuration.water,'),
        ('"storms_left": configuration.storms,', '"storms_left": min(configuration.storms, 2), "lake": 4,'),
        ("    yield {", "    for sea in range(configuration.storms):\n        yield {\"sea\": sea, "),
        ('budget(2, "storms", option', 'budget(2, "storms", shapes=True, option'),
        ('"storms_left": ', '"sea": configuration.storms == 7, "storms_left": '),
        ("@initial\n", "@contradiction\ndef many(configuration):\n    return configuration.storms > 2\n\n@initial\n"),
    ],
)  # fmt: skip
def test_a_budget_with_other_uses_matters(tmp_path, old, new):
    assert old in STREAM
    helper = "def is_possible(s):\n    return s.storms_left == 2 or s.storms_left == 1\n\n"
    text = STREAM.replace(old, new).replace("@action", helper + "@action", 1)
    if "min(" in new:
        # More of it changes nothing at all: then there is nothing that could count down.
        assert set(free(tmp_path, text)) <= {"storms", "dams"}
    else:
        assert "storms" not in free(tmp_path, text)


def test_claims_that_are_no_premise_may_read_a_budget(tmp_path):
    text = STREAM + "\n\n@always\ndef storms_end(s):\n    return s.storms_left <= 100\n"
    instance = instance_of(tmp_path, text)
    low, ends = instance.properties
    assert independent_budgets(instance, [low, *instance.lemmas]) == ["storms", "dams"]
    assert independent_budgets(instance, [ends]) == ["dams"]


@pytest.mark.parametrize(
    ("guard", "scope"),
    [
        ("require(s.storms_left > 0)", "with water=4; any number of storms, dams"),
        ("require(s.storms_left >= 1)", "with water=4, storms=2; any number of dams"),
    ],
)
def test_a_proof_says_of_which_faults_there_may_be_any_number(tmp_path, monkeypatch, capsys, guard, scope):
    monkeypatch.chdir(tmp_path)
    write_model(tmp_path / "stream.py", STREAM.replace("require(s.storms_left > 0)", guard))
    assert cli.main(["stream.py", "--prove"]) == 0
    assert f"sea_stays_low: PROVED: at any depth, {scope} induction" in " ".join(capsys.readouterr().out.split())

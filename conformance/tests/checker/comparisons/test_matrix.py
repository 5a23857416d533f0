"""`check --bound N` against a record that differs: a new finding exits 12, a missing one 10."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from conformance.tests.support.records import recorded_run
from isrcheck.checker.comparisons import matrix_record as matrix
from isrcheck.checker.compile import kernel as kernels
from isrcheck.checker.explicit.explore import explore
from isrcheck.checker.resources.limits import Limits
from isrcheck.checker.results.run import Run
from isrcheck.checker.results.verdict import Word, verdicts
from isrcheck.commands.exit_codes import UNEXPECTED, VIOLATED
from isrcheck.models import registry
from isrcheck.models.language.declarations import Kind
from isrcheck.models.messages import UsageError

TRUE = recorded_run("0.10", violated={"acked_not_lost": 6, "isr_is_complete": 5})
"""What `check --bound 6` finds with the default configuration."""

PERMITTED = recorded_run("0.10", explored="3", configuration={"acks": 1}, permitted={"acked_not_lost": 2})
"""What `check --bound 3` finds with acks=1."""


@pytest.fixture
def check(check_record, no_proofs):
    """Run the matrix against a record, without proofs."""
    return check_record


def cells(content):
    return {cell["property"]: cell["record"] for cell in content["cells"] if cell["record"] != "as recorded"}


def line(text, name):
    return next(one for one in text.splitlines() if one.startswith(name))


def test_the_projects_record_has_the_default_configuration():
    (run, *_) = matrix.recorded()
    assert run.instance.configuration == run.instance.model.instance("0.8").configuration
    assert run.violated["acked_not_lost"] == 6
    assert run.violated["isr_is_complete"] == 5
    assert run.permitted == {}


NEW, MISSING = "not recorded", "recorded, but not found"
LATER = TRUE.replace("[run.permitted]", "log_matching = 4\n[run.permitted]")
SWAPPED = PERMITTED.replace("[run.violated]\n[run.permitted]\n", "[run.permitted]\n[run.violated]\n")

COMPARISONS = {
    "accurate": (TRUE, "6", {}),
    # Below every recorded depth nothing is expected.
    **{f"below {bound}": (TRUE, bound, {}) for bound in ("0", "2", "4")},
    # A violation that is not recorded is new at every bound that shows it.
    **{
        f"unrecorded {bound}": (TRUE.replace("isr_is_complete = 5\n", ""), bound, {"isr_is_complete": NEW})
        for bound in ("5", "6", "7")
    },
    "before its depth": (TRUE.replace("acked_not_lost = 6", "acked_not_lost = 7"), "6", {"acked_not_lost": NEW}),
    "after its depth": (TRUE.replace("acked_not_lost = 6", "acked_not_lost = 4"), "6", {"acked_not_lost": MISSING}),
    # A violation that is missing is missed from its depth on.
    "missing 3": (LATER, "3", {}),
    **{f"missing {bound}": (LATER, bound, {"log_matching": MISSING}) for bound in ("4", "6")},
    # A new violation is graver than a missing one.
    "new and missing": (
        TRUE.replace("isr_is_complete = 5\n", "log_matching = 4\n"),
        "6",
        {"isr_is_complete": NEW, "log_matching": MISSING},
    ),
    "permitted": (PERMITTED, "3", {}),
    "permitted beside a violation": (
        PERMITTED.replace("[run.violated]", "[run.violated]\nisr_is_complete = 5"),
        "5",
        {},
    ),
    "unrecorded permitted 1": (PERMITTED.replace("acked_not_lost = 2\n", ""), "1", {}),
    "unrecorded permitted 3": (PERMITTED.replace("acked_not_lost = 2\n", ""), "3", {"acked_not_lost": NEW}),
    # A permitted failure is not the violation that is recorded.
    "permitted as violated": (SWAPPED, "3", {"acked_not_lost": MISSING}),
}
"""A record, the bound of the searches, and the cells that are not as recorded."""


@pytest.mark.sampled
@pytest.mark.parametrize("name", COMPARISONS)
def test_what_is_not_as_recorded_is_marked_and_decides_the_exit_code(check, name):
    record, bound, differing = COMPARISONS[name]
    code, text, content = check(record, "--bound", bound)
    worst = next((match for match in (NEW, MISSING) if match in differing.values()), "as recorded")
    assert (content["record"], cells(content)) == (worst, differing)
    closings = {NEW: (12, "VIOLATED"), MISSING: (10, "NOT FOUND"), "as recorded": (0, "as recorded")}
    assert (code, text.splitlines()[-1].partition(":")[0]) == closings[worst]
    assert {one.partition(" ")[0]: one.partition("  <- ")[2] for one in text.splitlines() if "<-" in one} == differing


def test_cells_say_the_verdict_and_its_depth(check):
    _, text, content = check(TRUE, "--bound", "4")
    assert content["verdict"] == "NO VIOLATION TO DEPTH"
    assert line(text, "acked_not_lost").endswith("  none to 4")
    _, text, _ = check(TRUE, "--bound", "6")
    assert line(text, "isr_is_complete").endswith("VIOLATED at step 5")


def test_strict_counts_permitted_failures(check):
    code, text, content = check(PERMITTED, "--bound", "3", "--strict")
    assert (code, content["verdict"], content["record"]) == (12, "PERMITTED", "as recorded")
    assert line(text, "acked_not_lost").endswith("PERMITTED at step 2")


# ------------------------------------------------------------------------------------- several runs of one generation

TWO = recorded_run("0.10", violated={"isr_is_complete": 5}) + recorded_run(
    "0.10",
    name="leader only",
    properties=["acked_not_lost", "a_write_is_acknowledged"],
    explored="3",
    configuration={"acks": 1, "bounces": 0},
    permitted={"acked_not_lost": 2},
)
"""Two runs of one generation: the second one judges one property, and one `sometimes`."""

OTHER = recorded_run(model="examples/two_phase_commit", states=56, configuration={"resource_managers": 2})
"""A model of one protocol, small enough to be searched to the end."""


def unclean(permitted):
    """A property that breaks its promise, and fails later where nothing is promised."""
    return recorded_run("2.1", explored=6) + recorded_run(
        "2.1",
        name="offsets",
        properties=["offsets_ordered"],
        explored=6,
        configuration={"delete_records": 1, "transactions": 1, "unclean_elections": 1},
        violated={"offsets_ordered": 4},
        permitted=permitted,
    )


BOUNDS = (
    "replicas=3, records=2, log_size=2, elections=2, partition_changes=0, bounces=1, crashes=1, preferred_elections=0,"
    " unclean_elections=0, power_losses=0, disk_losses=0, fencings=0, shutdowns=0, reassignments=0, min_isr_changes=0,"
    " unregistrations=0, folder_deletions=0, directory_reports=0, dropped_metadata=0, late_fetches=0, retries=0,"
    " delete_records=0, producer_snapshots=0, transactions=0, acks=all, min_insync_replicas=2, enable_idempotence=off,"
    " producer_epochs=2, max_in_flight_requests=5, remembered_batches=5, flush_interval_messages=0,"
    " claimed_failures=LOSS, replica_lag_max_messages=1, isolation_level=read_uncommitted, consumers=0,"
    " auto_offset_reset=latest, follower_fetching=off, start=ELECTED, start_isr=0, start_assignment=0,"
    " replicas_of_partition_0=0, common_records=0, brokers_down=0"
)
"""The default configuration of the generations up to 2.4."""


def test_a_generation_draws_each_cell_from_one_of_its_runs(check):
    code, text, content = check(TWO, "--bound", "3")
    assert code == 0
    instance = registry.load("kafka")[0].instance("0.10")
    names = [prop.name for prop in instance.model.properties if prop.kind is not Kind.SOMETIMES]
    on = {prop.name for prop in instance.properties}
    told = {name: "none to 3" for name in names if name in on} | {"acked_not_lost": "PERMITTED at step 2"}
    width = max(len(name) for name in told)
    assert text.splitlines()[: len(told) + 7] == [
        " " * width + "  kafka 0.10",
        *(f"{name.ljust(width)}  {cell}" for name, cell in told.items()),
        "",
        f"n/a everywhere: {', '.join(name for name in names if name not in on)}",
        f"bounds of every cell: {BOUNDS}",
        "acked_not_lost: bounces=0, acks=1 in kafka 0.10",
        "exhaustive: none",
        "not exhaustive: kafka 0.10, kafka 0.10 leader only (to depth 3)",
    ]
    unsettled = [name for name in told if told[name] == "none to 3"]
    assert line(text, matrix.NOT_ATTEMPTED) == f"{matrix.NOT_ATTEMPTED}: " + "; ".join(
        f"{name} in kafka 0.10" for name in unsettled
    )
    assert {one["property"] for one in content["cells"] if one["proof"] == "not attempted"} == set(unsettled)
    default, named = content["runs"]
    assert (default["name"], named["name"]) == (None, "leader only")
    own = ["acked_not_lost", "a_write_is_acknowledged"]
    others = [prop.name for prop in instance.model.properties if prop.name not in own]
    assert [[one["name"] for one in run["properties"]] for run in (named, default)] == [own, others]
    assert (named["configuration"]["acks"], default["configuration"]["acks"]) == ("1", "all")
    (cell,) = (one for one in content["cells"] if one["property"] == "acked_not_lost")
    assert cell == {
        "model": "kafka",
        "protocol": "0.10",
        "run": "leader only",
        "property": "acked_not_lost",
        "verdict": "PERMITTED",
        "depth": 2,
        "exhaustive": False,
        "proof": None,
        "record": "as recorded",
    }
    assert sorted(one["property"] for one in content["cells"]) == sorted(names)


def test_a_run_searches_only_for_what_it_judges(check):
    """The search does not stop when one judged property is decided: the other findings are found."""
    record = TWO.replace('["acked_not_lost", "a_write_is_acknowledged"]', '["a_write_is_acknowledged"]')
    record = record.replace("acked_not_lost = 2\n", "")
    code, text, content = check(record, "--bound", "3")
    named = content["runs"][1]
    assert (code, named["stopped"], named["judged_to_depth"]) == (0, None, 3)
    assert [prop["name"] for prop in named["properties"]] == ["a_write_is_acknowledged"]
    assert "leader only: bounces=0, acks=1 in kafka 0.10" in text.splitlines()
    assert "not exhaustive: kafka 0.10, kafka 0.10 leader only (to depth 3)" in text.splitlines()
    # What the other run does not judge, this one does.
    assert line(text, "acked_not_lost").endswith("none to 3")


def test_an_expected_finding_is_compared_with_the_run_that_has_to_find_it(check):
    wrong = TWO.replace("isr_is_complete = 5\n", "").replace("acked_not_lost = 2", "acked_not_lost = 1")
    code, text, content = check(wrong, "--bound", "5")
    assert code == VIOLATED
    assert cells(content) == {"isr_is_complete": "not recorded", "acked_not_lost": "recorded, but not found"}
    assert line(text, "acked_not_lost").endswith("PERMITTED at step 2  <- recorded, but not found")


def test_without_a_bound_every_run_searches_to_its_recorded_depth(check):
    record = TRUE.replace('explored = "exhausted"', 'explored = "4"') + OTHER
    code, text, content = check(record)
    assert code == 0
    assert [run["bound"] for run in content["runs"]] == [4, None]
    assert "exhaustive: examples/two_phase_commit (56 states)" in text.splitlines()
    assert "not exhaustive: kafka 0.10 (to depth 4)" in text.splitlines()
    exhaustive = {one["property"]: one["exhaustive"] for one in content["cells"]}
    assert exhaustive["consistent"] and not exhaustive["log_matching"]
    assert re.search(r"^log_matching +none to 4$", text, re.MULTILINE)
    assert re.search(r"^consistent +HOLDS$", text, re.MULTILINE)


def test_a_recorded_violation_that_a_search_to_the_end_does_not_find_exits_10(check):
    """Even if the recorded depth exceeds the depth of the whole state space."""
    record = OTHER.replace("[run.violated]", "[run.violated]\nconsistent = 99")
    code, text, content = check(record)
    assert (code, content["record"]) == (10, "recorded, but not found")
    assert re.search(r"^consistent +HOLDS  <- recorded, but not found$", text, re.MULTILINE)


@pytest.mark.sampled
def test_a_permitted_failure_beside_a_violation_is_compared_with_the_record(check):
    """The violation comes first, and does not end the search for the permitted failure."""
    assert check(unclean({"offsets_ordered": 6}), "--bound", "6")[0] == 0
    assert check(unclean({"offsets_ordered": 5}), "--bound", "6")[0] == UNEXPECTED
    code, text, _ = check(unclean({}), "--bound", "6")
    assert code == VIOLATED
    assert "VIOLATED at step 4 (PERMITTED at step 6)  <- not recorded" in text


def test_another_number_of_states_than_recorded_exits_10(check):
    record = OTHER.replace("56", "57")
    code, text, content = check(record)
    assert (code, content["record"], cells(content)) == (10, "recorded, but not found", {})
    says = "recorded: exhausted, 57 states  <- recorded, but not found"
    assert line(text, "examples/two_phase_commit:").endswith(says)
    assert text.splitlines()[-1].startswith("NOT FOUND")
    # Nothing is said of the number where the search does not come to the end.
    assert check(record, "--bound", "3")[0] == 0


@pytest.mark.sampled
def test_the_runs_share_the_time_limit(check):
    whole = TRUE.replace("[run.permitted]", "committed_agrees = 11\nconsistent_read = 11\n[run.permitted]")
    code, text, content = check(whole + OTHER, "--seconds", "2")
    first, second = content["runs"]
    assert (code, first["stopped"], second["exhausted"]) == (3, "seconds", True)
    assert first["seconds"] >= 0.9  # half of the time, less what was spent before
    assert re.search(r"^log_matching +UNDECIDED, none to \d+$", text, re.MULTILINE)
    assert line(text, "not exhaustive: kafka 0.10 (to depth ").endswith(": the time limit is reached)")


def test_a_disabled_mechanism_is_not_undecided_when_time_runs_out(tmp_path):
    path = tmp_path / "verdicts.toml"
    path.write_text(OTHER, encoding="utf-8")
    (record,) = matrix.recorded(path)
    exploration = explore(record.instance, Limits(seconds=1e-9))
    run = Run(exploration, verdicts(exploration), "check examples/two_phase_commit")
    (always,) = (verdict for verdict in run.verdicts if verdict.prop.name == "consistent")
    off = replace(always, word=Word.NOT_APPLICABLE)
    assert matrix.judge(record, run, always) is matrix.Match.OPEN
    assert matrix.judge(record, run, off) is matrix.Match.SAME
    assert matrix.judge(replace(record, permitted={"consistent": 3}), run, off) is matrix.Match.MISSING
    assert matrix.cell(off, run) == "n/a"


def test_an_interrupt_leaves_the_other_runs_undecided(check, monkeypatch):
    """Ctrl-C before the second search: the first one is reported, and the second one is no pass."""
    kernel_of = kernels.kernel_of

    def interrupted(instance, announce, **named):
        if instance.model.name != "kafka":
            raise KeyboardInterrupt
        return kernel_of(instance, announce, **named)

    monkeypatch.setattr(kernels, "kernel_of", interrupted)
    code, text, content = check(TRUE + OTHER, "--bound", "6")
    assert (code, content["record"], content["verdict"]) == (130, "undecided", "VIOLATED")
    assert re.search(r"^consistent +UNDECIDED, not searched$", text, re.MULTILINE)
    assert line(text, "not exhaustive: ").endswith("(to depth 6); examples/two_phase_commit (not searched)")
    assert text.splitlines()[-1].startswith("UNDECIDED")


# ---------------------------------------------------------------------------------------------------------- the limits


def test_an_interrupted_matrix_is_undecided(check):
    code, text, content = check(TRUE, "--seconds", "1e-9")
    assert code == 3
    assert (content["record"], content["verdict"]) == ("undecided", "UNDECIDED")
    assert text.splitlines()[-1].startswith("UNDECIDED")
    assert "as recorded: every cell" not in text


@pytest.mark.sampled
def test_an_interrupted_matrix_with_a_new_violation_is_violated(check):
    record = TRUE.replace("isr_is_complete = 5\n", "")
    code, _, content = check(record, "--memory", "16M")
    assert code == VIOLATED
    assert cells(content)["isr_is_complete"] == "not recorded"
    assert cells(content)["log_matching"] == "undecided"


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("[[run]]", "[[run", "cannot be read"),
        ('explored = "exhausted"\n', "", "'explored'"),
        ("[run.permitted]\n", "", "'permitted'"),
        ('model = "kafka"', 'model = "kafak"', "no model kafak; did you mean kafka?"),
        ('protocol = "0.10"', 'protocol = "9.9"', "has no protocol 9.9"),
        ("[run.violated]", "replica = 3\n[run.violated]", "no configuration entry replica"),
        ("[run.violated]", "replicas = 0\n[run.violated]", "replicas=0 is impossible"),
        ("acked_not_lost = 6", "acked_not_lot = 6", "kafka has no property acked_not_lot; correct the file"),
        ("acked_not_lost = 6", 'acked_not_lost = "6"', "has a depth or a number of states that is no integer"),
        ('"exhausted"\n', '"exhausted"\nstates = "many"\n', "has a depth or a number of states that is no integer"),
        ('"exhausted"', '"far"', "invalid literal for int() with base 10: 'far'"),
        ('"exhausted"\n', '"exhausted"\ndepth = 6\n', "a run has the unknown key depth"),
        ('"exhausted"\n', '"exhausted"\nname = "more"\n', "has only one of name and properties; give both or neither"),
        ('"exhausted"\n', '"exhausted"\nproperties = ["log_matching"]\n', "has only one of name and properties"),
        ('"exhausted"\n', '"exhausted"\nname = "more"\nproperties = []\n', "has only one of name and properties"),
        ('"exhausted"\n', '"exhausted"\nname = "more"\nproperties = ["log"]\n', "kafka has no property log"),
        (
            '"exhausted"\n',
            '"exhausted"\nname = "more"\nproperties = ["isr_is_complete"]\n',
            "a run of kafka 0.10 has a figure or proof of acked_not_lost; add it to properties",
        ),
        (
            '"exhausted"\n',
            '"exhausted"\nname = "more"\nproperties = ["isr_is_complete", "acked_not_lost"]\n',
            "kafka 0.10 needs exactly one run without a name; correct the file",
        ),
    ],
)
def test_a_damaged_record_is_refused(tmp_path, old, new, says):
    path = tmp_path / "verdicts.toml"
    path.write_text(TRUE.replace(old, new, 1), encoding="utf-8")
    with pytest.raises(UsageError, match=f"^{re.escape(str(path))}: .*{re.escape(says)}"):
        matrix.recorded(path)


THIRD = TWO[TWO.index("[[run]]", 1) :].replace('"acked_not_lost", ', "").replace("acked_not_lost = 2\n", "")


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (TRUE + TRUE, "offsets_ordered is in two runs of kafka 0.10; keep offsets_ordered in one of them"),
        (
            TWO + THIRD.replace("leader only", "b"),
            "a_write_is_acknowledged is in two runs of kafka 0.10; keep a_write_is_acknowledged in one",
        ),
        (
            TWO + THIRD.replace('["a_write_is_acknowledged"]', '["a_record_is_exposed"]'),
            "two runs of kafka 0.10 have the name leader only; rename one",
        ),
    ],
)
def test_a_matrix_cell_filled_by_two_runs_is_refused(tmp_path, content, says):
    path = tmp_path / "verdicts.toml"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(UsageError, match=f"^{re.escape(str(path))}: {re.escape(says)}"):
        matrix.recorded(path)


def published(variant, **more):
    return recorded_run(model=f"published/{variant}", explored="3", **more)


def test_a_list_of_properties_applies_to_its_generation_only(tmp_path):
    """Two variants of one model have the same properties, and one of them has two runs."""
    path = tmp_path / "verdicts.toml"
    named = published("kip_101", name="weak", properties=["weak_isr"])
    path.write_text(published("kip_101") + named + published("kip_279") + OTHER, encoding="utf-8")
    runs = matrix.recorded(path)
    assert [run.title for run in runs] == [
        "published kip_101",
        "published kip_101 weak",
        "published kip_279",
        "examples/two_phase_commit",
    ]
    names = tuple(prop.name for prop in runs[0].instance.model.properties)
    others = tuple(name for name in names if name != "weak_isr")
    assert [run.judges for run in runs[:3]] == [others, ("weak_isr",), names]
    assert [(run.explored, run.states, run.reach) for run in runs[2:]] == [
        (3, None, "to depth 3"),
        (None, 56, "exhausted, 56 states"),
    ]


def test_a_missing_record_is_refused(tmp_path):
    with pytest.raises(UsageError, match="cannot be read"):
        matrix.recorded(tmp_path / "nowhere.toml")

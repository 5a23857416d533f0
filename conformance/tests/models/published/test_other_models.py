"""Models that others published have the figures that their authors report, or that TLC finds in their files."""

import json
from pathlib import Path

import pytest

from conformance.tests.support.engine import checking, with_rows
from conformance.tests.support.searches import transitions
from isrcheck.checker import cli
from isrcheck.checker.comparisons import published
from isrcheck.checker.comparisons.published import OTHER_MODELS, PUBLISHED_MODELS
from isrcheck.checker.compile.kernel import Kernels
from isrcheck.checker.explicit.explore import explore
from isrcheck.checker.reductions.find import reduction_of
from isrcheck.checker.resources.limits import Limits
from isrcheck.models import registry
from isrcheck.models.published.others import atomic_commitment
from isrcheck.models.published.others.kip_966 import Role

ROWS = OTHER_MODELS.rows
WITHOUT_DEADLOCK = Limits(memory=1 << 30, deadlock=False)


def searched(instance, symmetric=False):
    reduction, _ = reduction_of(instance, dead=False) if symmetric else (None, "")
    kernel = Kernels().of(instance, reduction=reduction) if reduction else None
    return explore(instance, WITHOUT_DEADLOCK, count_all=True, kernel=kernel)


def row_of(title):
    (row,) = [row for row in ROWS if row.title == f"published/others/{title}"]
    return row


def test_every_model_has_a_row_with_its_source():
    assert {row.target for row in ROWS} == {f"published/others/{name}" for name in registry.OTHERS}
    assert {row.leading[2] for row in ROWS} == {"published", "measured"}
    assert {row.target for row in ROWS if row.leading[2] == "measured"} == {"published/others/kip_966"}
    assert all("/" in row.source for row in ROWS)
    assert [row.target for row in ROWS if row.symmetric] == ["published/others/raft_mongo"] * 3


@pytest.mark.whole
@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.title.replace(" ", "-"))
def test_figures_equal_those_that_are_reported(row):
    exploration = searched(row.instance(), row.symmetric)
    assert exploration.exhausted
    assert OTHER_MODELS.figures_of(exploration) == row.expected
    assert bool(row.why) != row.equals_published(row.expected)
    assert row.tlc["distinct"] == row.expected["distinct"]


def test_without_symmetry_there_are_more_states_of_raft():
    """As many as TLC finds in the published files without SYMMETRY."""
    row = row_of("raft_mongo servers=3 LEARNS_FROM_SYNC_SOURCE=1")
    assert (searched(row.instance()).distinct, row.tlc["distinct"]) == (42034, "7402")


MUTANTS = {
    "voting acceptors=3 values=2 ballots=3": ("    require(s.max_ballot[acceptor] <= ballot)\n", "agreement"),
    "raft_mongo servers=3 LEARNS_FROM_SYNC_SOURCE=1": (
        " and last_term(s, me) == s.term",
        "never_rollback_before_commit_point",
    ),
    "atomic_commitment participants=3 FORWARDS=0": (
        "    require(s.recorded_vote[p] == Recorded.NO)\n",
        "",
    ),
}
"""A text of a model that is taken out, and a property that then fails (empty: only the counts are others)."""


@pytest.mark.sampled
@pytest.mark.parametrize(("title", "mutant"), MUTANTS.items(), ids=[title.split()[0] for title in MUTANTS])
def test_a_model_without_a_guard_has_other_figures(tmp_path, title, mutant):
    row, (dropped, fails) = row_of(title), mutant
    name = row.target.rpartition("/")[2]
    source = Path(atomic_commitment.__file__).with_name(f"{name}.py").read_text(encoding="utf-8")
    assert source.count(dropped) == 1
    (tmp_path / f"{name}.py").write_text(source.replace(dropped, ""), encoding="utf-8")
    mutated = registry.load_file(tmp_path / f"{name}.py").instance("", row.sizes)
    figures = OTHER_MODELS.figures_of(searched(mutated, row.symmetric))
    assert figures != row.expected
    assert fails in figures["violates"]


def test_as_many_lossy_shutdowns_as_the_minimum_isr_lose_a_record():
    """The authors say that NoCommittedRecordLostGlobally fails then; TLC's counterexample has nine states."""
    instance = registry.load("published/others/kip_966")[0].instance("", {"lossy_shutdowns": 2})
    found = explore(instance, Limits(8, 1 << 30), only=("no_committed_record_lost_globally",))
    assert found.findings["no_committed_record_lost_globally"].found.path.depth == 8


@pytest.mark.sampled
def test_tlc_generates_a_step_of_one_participant_for_each_other_one():
    row = row_of("atomic_commitment participants=2 FORWARDS=1")
    of_pairs = ("participant_forwards", "participant_receives_forwarded")
    initial, ours, again = len(row.instance().initial_states), 0, 0
    for _, step, _ in transitions(row.instance()):
        ours += 1
        again += step.action.startswith("participant_") and step.action not in of_pairs
    assert (str(initial + ours), str(initial + ours + again)) == (row.expected["generated"], row.tlc["generated"])


@pytest.mark.sampled
def test_tlc_generates_a_metadata_update_for_each_reason_to_act_on_it():
    row = row_of("kip_966 lossy_shutdowns=0 fencings=1")
    ours = again = 0
    for state, step, _ in transitions(row.instance()):
        ours += 1
        if step.action == "broker_learns_metadata":
            broker, epoch = step.ordinals
            known = state.record_leader_epoch[state.known_epoch[broker]]
            again += state.role[broker] == Role.LEADER and state.record_leader_epoch[epoch] > known
    assert (str(1 + ours), str(1 + ours + again)) == (row.expected["generated"], row.tlc["generated"])


@pytest.fixture
def check(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    return checking(cli.main, capsys)


@pytest.fixture
def two_rows(monkeypatch, tmp_path):
    """A row with a figure that is not published, and one with a reason; and the first of the first table."""
    titles = "raft_mongo servers=3 LEARNS_FROM_SYNC_SOURCE=0", "atomic_commitment participants=2 FORWARDS=1"
    others = with_rows(OTHER_MODELS, tmp_path, [ROWS.index(row_of(title)) for title in titles])
    tables = with_rows(PUBLISHED_MODELS, tmp_path, [0]), others
    monkeypatch.setitem(published.TABLES, "check published", tables)
    return others.rows


def test_both_tables_are_shown(check, two_rows):
    code, text, err = check("published")
    assert (code, err) == (0, "")
    lines = [" ".join(line.split()) for line in text.splitlines()]
    assert lines.count("1 of 1 rows equal TLC's figures (ours = TLC's; states@level of the first violation)") == 1
    assert (
        "raft_mongo servers=3 LEARNS_FROM_SYNC_SOURCE=0 published 9177 = 9177 68431 = 68431 21"
        " never_rollback_before_commit_point = never_rollback_before_commit_point 8" in lines
    )
    assert lines[-1].startswith("1 of 2 rows equal TLC's figures")
    assert lines[-1].endswith("; 1 differ for the reasons above")


@pytest.mark.parametrize("figure", ["distinct", "first"])
def test_a_differing_figure_exits_10_even_if_only_ours_is_recorded(check, two_rows, figure):
    two_rows[0].expected[figure] = "9176"
    code, text, _ = check("published", "--json")
    content = json.loads(text)
    assert (code, content["verdict"]) == (10, "differs")
    assert "depth" not in content["runs"][1]["tlc"]


def test_the_form_has_both_tables():
    assert published.TABLES["check published"] == (PUBLISHED_MODELS, OTHER_MODELS)

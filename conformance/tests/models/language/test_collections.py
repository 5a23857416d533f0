"""Sets, queues and records have one meaning in all engines, and are printed as such."""

from __future__ import annotations

import re
from pathlib import Path
from types import ModuleType

import pytest

from conformance.tests.checker.reductions.test_symmetry import depths, searched, states_of
from conformance.tests.models.language import test_queues as queues
from conformance.tests.models.language import test_records as records
from conformance.tests.models.language import test_sets as sets
from conformance.tests.support.searches import transitions
from isrcheck.checker import cli
from isrcheck.checker.reductions.find import reduction_of
from isrcheck.commands.exit_codes import VIOLATED
from isrcheck.traces import cli as traces


@pytest.mark.sampled
@pytest.mark.parametrize(
    ("kind", "words", "violated"),
    [
        (sets, ["--bound", "4", "--set", "n=2"], "VIOLATED at step 1 +leader_is_in_isr"),
        (queues, ["--bound", "5", "--set", "n=2"], "VIOLATED at step 4 +a_grant_is_last"),
        (records, ["--bound", "3"], "VIOLATED at step 2 +leaders_have_empty_logs"),
    ],
)
def test_every_engine_finds_the_same(
    kind: ModuleType, words: list[str], violated: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main([str(kind.write(tmp_path, kind.STEPS)), "--engine", "all", *words]) == VIOLATED
    out = capsys.readouterr().out
    assert re.search(violated, out), out
    assert f"the engines agree on every property to depth {words[1]}" in out


@pytest.mark.parametrize(
    ("kind", "values", "states"), [(sets, {"n": 2}, 80), (queues, {"n": 2}, 220), (records, {}, 2580)]
)
def test_the_reference_and_the_kernel_reach_the_same_states(
    kind: ModuleType, values: dict[str, int], states: int, tmp_path: Path
) -> None:
    instance = kind.instance_of(tmp_path, kind.STEPS, **values)
    found = searched(instance, None)
    reached = {*instance.initial_states, *(after for _, _, after in transitions(instance))}
    assert set(states_of(found)) == reached
    assert found.distinct == len(reached) == states


@pytest.mark.parametrize(("kind", "order"), [(sets, 2), (queues, 6)], ids=["the followers", "all nodes"])
def test_contents_of_symmetric_elements_are_permuted(kind: ModuleType, order: int, tmp_path: Path) -> None:
    """The elements are alike: the orbits of the visited states are all states."""
    instance = kind.instance_of(tmp_path, kind.STEPS)
    reduction, _ = reduction_of(instance, dead=False)
    assert reduction is not None and reduction.symmetry.order == order
    whole, reduced = searched(instance, None), searched(instance, reduction)
    assert depths(reduced) == depths(whole)
    permutations = reduction.symmetry.permutations
    orbits = [{reduction.symmetry.permuted(cells, images) for images in permutations} for cells in states_of(reduced)]
    assert sum(map(len, orbits)) == whole.distinct
    assert reduced.distinct < whole.distinct


@pytest.mark.parametrize(
    ("kind", "bound", "prop", "shown"),
    [
        (sets, 2, "leader_is_in_isr", ["isr        [{0, 1, 2} {0, 1, 2}]", "seen       {BLUE}", "s.isr[0] = {"]),
        (
            queues,
            5,
            "a_grant_is_last",
            ["inbox  [[] [] []]", "turns  [0]", "[GRANT, REQUEST]", "s.inbox[0] = [GRANT, REQUEST]"],
        ),
        (
            records,
            2,
            "leaders_have_empty_logs",
            ["broker.isr", "{0, 1}", "inbox.kind", "s.broker[0].log[0] = 1", "s.broker[0].role = LEADER"],
        ),
    ],
)
def test_a_trace_shows_contents(
    kind: ModuleType, bound: int, prop: str, shown: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = kind.write(tmp_path, kind.STEPS)
    cli.main([str(path), "--bound", str(bound), "--out", str(tmp_path / "found")])
    (file,) = (tmp_path / "found").glob(f"*{prop}*")
    capsys.readouterr()
    assert traces.main(["show", str(file), "--model", str(path), "--full"]) == 0
    out = capsys.readouterr().out
    assert [text for text in shown if text not in out] == []
    assert not re.search("place_|element_|elements", out)

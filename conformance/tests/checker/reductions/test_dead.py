"""Dead cells are found where the text shows them; clearing them changes no verdict and no shortest depth."""

from __future__ import annotations

import json
import random
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import isrcheck
from conformance.tests.checker.reductions.test_symmetry import certify, check, depths, searched, states_of
from conformance.tests.sampling import exhaustive, sampled
from conformance.tests.support.small_models import action, claim, model, state, write_model
from isrcheck.checker import cli
from isrcheck.checker.explicit.reduced_search import kept_or_found
from isrcheck.checker.reductions.find import dead_cells, reduction_of
from isrcheck.checker.reductions.reduction import Clearing, Reduction
from isrcheck.checker.results.exploration import Findings
from isrcheck.conformance.fuzz.roles.programs import HEAD, model_text
from isrcheck.models import registry
from isrcheck.models.language.declarations import WHOLE
from isrcheck.models.language.model import Instance
from isrcheck.models.registry import load_file

PROPERTY = "\n\n@always\ndef fine(s):\n    return {}\n"
ROLES = model(
    action("acts(s, n: Node, m: Node)", "require(s.role[n] == 1)", "{acts}"),
    action("starts(s, n: Node, m: Node)", "require(s.role[n] != 1)", "s.role[n] = 1", "{starts}"),
    action("stops(s, n: Node, m: Node)", "require(s.role[n] == 1)", "s.role[n] = 2", "{stops}"),
)


def loaded(folder: Path, text: str, name: str = "model") -> Instance:
    return load_file(write_model(folder / f"{name}.py", HEAD + text)).instance()


def found(instance: Instance) -> list[str]:
    return list(dict.fromkeys(one.field + (f" where {one.where}" if one.where else "") for one in dead_cells(instance)))


# --------------------------------------------------------------------------------------------------------- what is dead


@pytest.mark.parametrize(
    ("statement", "dead"),
    [
        ("s.offset[n] = 1", ["offset"]),
        ("s.copy[n] = s.offset[m]\n    s.offset[n] = 1", ["offset", "copy"]),
        ("s.copy[n] = s.offset[m] if s.phase == 0 else s.copy[m]\n    s.offset[n] = 1", ["offset", "copy"]),
        ("if s.pick == 1:\n        s.phase = s.offset[m]\n    s.offset[n] = 1", ["offset"]),
        ("s.offset[n] = 1\n    s.limit[n] = s.offset[m]", ["offset"]),  # limit is read below
    ],
)
def test_what_nothing_reads_is_dead(statement: str, dead: list[str], tmp_path: Path) -> None:
    limit = "s.limit[0] < 2" if "limit" in statement else "True"
    text = f"\n\n@action\ndef act(s, n: Node, m: Node):\n    {statement}\n" + PROPERTY.format(limit)
    assert found(loaded(tmp_path, text)) == ([] if "limit" in statement else dead)


@pytest.mark.parametrize(
    "statement",
    [
        "s.offset[n] += 1",  # the range may be left, which is a violation
        "s.narrow[n] = s.offset[m]\n    s.offset[n] = 1",  # the same
        "s.copy[n] = s.offset[m] + 1\n    s.offset[n] = 1",
        "s.offset[n] = 1\n    s.seen[n][s.offset[m]] = True",
        "s.offset[n] = 1\n    if s.offset[m] == 1:\n        s.copy[n] = 1",
        "s.offset[n] = 1\n    for x in range(s.nodes):\n        if any(s.offset[y] == x for y in range(s.nodes)):\n"
        "            s.seen[x][x] = True",
    ],
)
def test_what_may_matter_is_not_dead(statement: str, tmp_path: Path) -> None:
    text = f"\n\n@action\ndef act(s, n: Node, m: Node):\n    {statement}\n" + PROPERTY.format("s.phase < 2")
    assert "offset" not in found(loaded(tmp_path, text))


@pytest.mark.parametrize("where", ["permitted", "terminal", "constraint", "step", "always_possible"])
def test_everything_that_judges_is_looked_at(where: str, tmp_path: Path) -> None:
    text = "\n\n@action\ndef act(s, n: Node):\n    s.offset[n] = 1\n"
    text += {
        "permitted": "\n\ndef p(s):\n    return s.offset[0] == 1\n\n"
        "@always(permitted=p)\ndef fine(s):\n    return s.phase == 0\n",
        "terminal": "\n\n@terminal\ndef fine(s):\n    return s.offset[0] == 1\n",
        "constraint": "\n\n@constraint\ndef fine(s):\n    return s.offset[0] < 2\n",
        "step": "\n\n@always_step\ndef fine(before, after):\n    return before.offset[0] <= after.offset[0]\n",
        "always_possible": "\n\n@always_possible\ndef fine(s):\n    return s.offset[0] == 1\n",
    }[where]
    head = HEAD.replace("import (", "import (\n    always_possible,")
    path = tmp_path / "model.py"
    assert dead_cells(load_file(write_model(path, head + text)).instance()) == ()
    path = tmp_path / "other.py"
    assert found(load_file(write_model(path, head + text.replace("offset[0]", "limit[0]"))).instance()) == ["offset"]


DEAD = ["offset where role is 0 or 2"]
READS, ANEW = "require(s.offset[n] == 0)", "s.offset[n] = 1"


@pytest.mark.parametrize(
    ("acts", "starts", "stops", "fine", "dead"),
    [
        (READS, ANEW, "", "True", DEAD),
        (READS, "reset(s, n)", "", "True", DEAD),
        ("s.limit[n] = s.offset[n]", ANEW, "", "s.limit[0] < 2", DEAD),
        (READS, ANEW, "", "all(s.role[x] != 1 or s.offset[x] < 2 for x in range(2))", DEAD),
        (READS, ANEW, "", "all(s.offset[x] < 2 for x in range(2) if s.role[x] in (1,))", DEAD),
        # nothing, or not always something, writes it anew; or it is read in other roles, too
        (READS, "s.offset[m] = 1", "", "True", []),
        (READS, "reset(s, m)", "", "True", []),
        (READS, "if s.phase == 0:\n        s.offset[n] = 1", "", "True", []),
        ("require(s.offset[m] == 0)", ANEW, "", "True", []),
        (READS, ANEW, "", "s.offset[0] < 2", []),
        (READS, ANEW, "", "all(s.role[0] != 1 or s.offset[x] < 2 for x in range(2))", []),
        (READS, ANEW, "", "all(s.role[x] != 1 or s.offset[x] == s.offset[0] for x in range(2))", []),
        (READS, ANEW, "s.offset[m] = s.offset[n]", "True", DEAD),
        (READS, "s.offset[n] = s.offset[n]", "", "True", []),
        (READS, ANEW, "s.role[m] = s.role[n]", "True", []),
        # what is read after the role was written is not excluded by the new role
        ("s.role[m] = 1\n    if s.role[m] == 1:\n        s.limit[n] = s.offset[m]", ANEW, "", "s.limit[0] == 0", []),
    ],
)  # fmt: skip
def test_what_matters_only_in_a_role_is_dead_in_the_others(
    acts: str, starts: str, stops: str, fine: str, dead: list[str], tmp_path: Path
) -> None:
    text = ROLES.format(acts=acts, starts=starts, stops=stops) + PROPERTY.format(fine)
    instance = loaded(tmp_path, text.replace("    \n", ""))
    assert [one for one in found(instance) if one.startswith("offset")] == dead


@pytest.mark.parametrize(
    ("anew", "dead"),
    [
        ("for x in range(s.nodes):\n        s.seen[n][x] = False", True),
        ("for x in range(s.nodes):\n        for y in range(s.nodes):\n            s.seen[x][y] = False", False),
        ("for x in range(s.nodes):\n        s.seen[x][x] = False", False),
        ("for x in range(1):\n        s.seen[n][x] = False", False),
        ("for x in range(s.nodes):\n        if x == 0:\n            s.seen[n][x] = False", False),
        ("for n in range(s.nodes):\n        s.seen[n][m] = False", False),
        ("reset_some(s, n)", False),
        ("reset(s, n)", True),
    ],
)
def test_every_cell_has_to_be_written_anew(anew: str, dead: bool, tmp_path: Path) -> None:
    text = ROLES.format(acts="require(not s.seen[n][m])", starts=anew, stops="s.seen[n][m] = True")
    instance = loaded(tmp_path, text + PROPERTY.format("True"))
    assert ("seen where role is 0 or 2" in found(instance)) == dead


PARTLY = model(
    action("begins(s, n: Node, m: Node)", "require(s.phase == 0)", "{begins}"),
    action("sees(s, n: Node, m: Node)", "require(s.phase == 1)", "s.seen[n][m] = True", "s.phase = 0"),
)


@pytest.mark.parametrize(
    ("begins", "dead"),
    [
        (("for x in Node:", "s.seen[n][x] = False; s.phase = 1"), False),
        (("for x in Node:", "for y in Node:", "s.seen[x][y] = False; s.phase = 1"), True),
        (("for x in Node:", "for y in Node:", "if x != n:", "s.seen[x][y] = False; s.phase = 1"), False),
        (("for x in Node:", "for y in range(m, s.nodes):", "s.seen[x][y] = False; s.phase = 1"), False),
        (("for x in Node:", "if x == n:", "for y in Node:", "s.seen[x][y] = False; s.phase = 1"), False),
        (("if n == m:", "s.phase = 1", "for x in Node:", "for y in Node:", "s.seen[x][y] = False"), True),
    ],
)
def test_what_a_loop_leaves_out_is_not_written_anew(begins: tuple[str, ...], dead: bool, tmp_path: Path) -> None:
    """Although the guard cell is written beside it, and only there."""
    lines, indent = "", "    "
    for line in begins:
        lines += "".join(f"{indent}{one}\n" for one in line.split("; "))
        indent += "    " * line.endswith(":")
    fine = "s.phase != 1 or not (s.seen[0][0] and s.seen[1][1])"
    instance = loaded(tmp_path, PARTLY.format(begins=lines.strip()) + PROPERTY.format(fine))
    assert ("seen where phase is 0 or 2" in found(instance)) == dead
    agree(instance, None)


DECIDING = model(
    action("sees(s, n: Node)", "require(s.phase == 0)", "s.seen[n][n] = True"),
    action("begins(s)", "require(s.phase == 0)", "s.phase = {value}"),
)


@pytest.mark.parametrize(
    ("value", "fine"),
    [
        ("s.pick or 2", "s.phase != 2"),
        ("s.pick == 0 and 2", "s.phase != 2"),
        ("2", "s.phase != (s.pick or 2)"),
        ("2", "not s.phase in (s.pick or (not s.pick and 2), 3)"),
    ],
)
def test_the_value_of_an_or_is_the_number_that_decides(value: str, fine: str, tmp_path: Path) -> None:
    """`s.pick or 2` is 2, not 1: so the cells that are seen are read after the next step."""
    instance = loaded(tmp_path, DECIDING.format(value=value) + PROPERTY.format(f"{fine} or not s.seen[0][0]"))
    assert [one for one in found(instance) if one.startswith("seen")] == ["seen where phase is 1"]
    agree(instance, None)


CHAIN = model(
    action(
        "stops(s, n: Node)",
        "require(s.role[n] == 1 and s.limit[n] == 1 and s.offset[n] == 1)",
        "s.role[n] = 0",
        "s.phase = 1",
    ),
    action("starts(s, n: Node)", "require(s.role[n] == 0)", "s.role[n] = 1", "s.limit[n] = 0"),
    action("limits(s, n: Node)", "require(s.role[n] == 1 and s.limit[n] == 0)", "s.limit[n] = 1", "s.offset[n] = 0"),
    action("moves(s, n: Node)", "require(s.role[n] == 1 and s.limit[n] == 1 and s.offset[n] == 0)", "s.offset[n] = 1"),
    action("goes_on(s)", "require(s.phase == 1)", "s.phase = 2"),
)


def test_what_is_dead_because_of_dead_cells_is_cleared_in_one_pass(tmp_path: Path) -> None:
    """The field that is cleared last is declared first."""
    instance = loaded(tmp_path, CHAIN + PROPERTY.format("s.phase < 2"))
    fields = [one.field for one in dead_cells(instance)]
    assert fields.index("limit") < fields.index("offset")
    assert agree(instance, None)[1] < agree(instance, None)[0]
    reduction, _ = reduction_of(instance, symmetry=True)
    assert reduction is not None and reduction.symmetry is not None and reduction.dead
    whole, reduced = searched(instance, None, None), searched(instance, reduction, None)
    assert depths(whole) == depths(reduced)
    certify(reduced)


def test_a_guard_may_be_one_cell_for_all_or_have_two_indices(tmp_path: Path) -> None:
    text = model(
        action("asks(s, n: Node, m: Node)", "require(s.asks[n][m] == 0)", "s.asks[n][m] = 1"),
        action(
            "answers(s, n: Node, m: Node)",
            "require(s.asks[n][m] == 1 and s.phase != 1)",
            "s.asks[n][m] = 0",
            "s.answer[n][m] = 1 - s.answer[m][n]",
        ),
        action(
            "reads(s, n: Node, m: Node)",
            "require(s.asks[n][m] == 0 and s.answer[n][m] == 1)",
            "require(s.phase == 0 and s.limit[n] == 0)",
            "s.phase = 1",
            "s.limit[m] = 1",
        ),
    )
    assert found(loaded(tmp_path, text)) == ["limit where phase is 1 or 2"]
    text = text.replace("1 - s.answer[m][n]", "s.phase")
    assert found(loaded(tmp_path, text, "other")) == ["limit where phase is 1 or 2", "answer where asks is 1"]


SETS = model(
    action("stands(s, n: Node)", "require(s.role[n] == 0)", "s.role[n] = 1", "s.votes[n] = {n}"),
    action(
        "votes(s, n: Node, m: Node)",
        "require(s.role[n] == 1)",
        "require(m not in s.votes[n])",
        "s.votes[n].add(m)",
        "s.voters.add(m)",
    ),
    action("wins(s, n: Node)", "require(s.role[n] == 1 and len(s.votes[n]) == s.nodes)", "s.role[n] = 0"),
)


def test_sets_are_cells(tmp_path: Path) -> None:
    head = HEAD.replace("import (", "import (\n    Set,")
    fields = "class State:\n    votes = field(Node, values=Set(of=Node))\n    voters = field(values=Set(of=Node))\n"
    instance = load_file(write_model(tmp_path / "model.py", head.replace("class State:\n", fields) + SETS)).instance()
    assert found(instance) == ["votes where role is 0 or 2", "voters"]
    assert agree(instance, None) == (25, 9)


# ----------------------------------------------------------------------------------------------- searches find the same


def agree(instance: Instance, depth: int | None) -> tuple[int, int]:
    """Compare a search of all states with one that clears dead cells; returns the numbers of states."""
    reduction = Reduction(dead=dead_cells(instance))
    whole, reduced = searched(instance, None, depth), searched(instance, reduction, depth)
    for prop in instance.properties:
        if prop.kind in WHOLE:  # they are judged without a reduction
            whole.findings[prop.name] = reduced.findings[prop.name] = Findings()
    assert depths(whole) == depths(reduced), reduction.says
    certify(reduced)
    states = {reduction.cleared(cells) for cells in states_of(whole)}
    assert states == {reduction.cleared(cells) for cells in states_of(reduced)}
    return whole.distinct, reduced.distinct


def cases() -> Iterator[tuple[str, str | None, dict[str, int], int | None, tuple[int, int]]]:
    """Model, protocol, values, depth; and the numbers of states without and with dead cells cleared."""
    for name in registry.SINGLE:
        yield name, None, {}, 6, EXAMPLES.get(name, (0, 0))
    for name in registry.FAMILIES:
        if name.endswith(
            "_liveness"
        ):  # the actions of another model, with properties that are judged without a reduction
            continue
        values, depth = SIZES.get(name, ({}, 5))
        for protocol in registry.load(name)[0].protocols:
            yield name, protocol, values, depth, (0, 0)


SIZES: dict[str, tuple[dict[str, int], int | None]] = {
    "published": ({"replicas": 2, "log_size": 1, "records": 1, "max_epoch": 1}, None),
    "kafka": ({"replicas": 2}, 6),
    "transactions": ({}, 9),
    "exactly_once": ({"records": 1, "batches": 2, "log_size": 2}, 7),
}
QUICK = {
    ("published", "kip_320"),
    ("kafka", "0.10"),
    ("kafka", "3.7"),
    ("transactions", "4.2"),
    ("exactly_once", "2.1"),
}
EXAMPLES = {
    "examples/two_phase_commit": (220, 91),
    "examples/isr_propagation": (71, 51),
    "examples/tla/bcast_byz": (14424, 7212),
    "published/others/atomic_commitment": (5742, 5694),
    "published/others/kip_966": (126, 115),
}
"""Where clearing dead cells makes the states fewer; everywhere else the counts are equal."""


@pytest.mark.sampled
@pytest.mark.parametrize(
    ("name", "protocol", "values", "depth", "counts"),
    sampled(cases(), lambda case: case[0].startswith("examples") or (case[0], case[1]) in QUICK),
)
def test_registered_models_have_the_same_verdicts(
    name: str, protocol: str | None, values: dict[str, int], depth: int | None, counts: tuple[int, int]
) -> None:
    instance = registry.load(name)[0].instance(protocol, values)
    if dead_cells(instance):
        both = agree(instance, depth)
        assert both == counts or (counts == (0, 0) and both[0] == both[1])
    else:
        assert counts == (0, 0)


@pytest.mark.sampled
@pytest.mark.parametrize("part", [0, *map(exhaustive, range(1, 6))])
def test_random_models_have_the_same_verdicts(part: int, tmp_path: Path) -> None:
    searches, fewer = 0, 0
    for number in range(60):
        path = tmp_path / f"model_{number}.py"
        instance = load_file(write_model(path, model_text(random.Random(f"roles/{part}/{number}")))).instance()
        if searches < 8 and any(one.guard is not None for one in dead_cells(instance)):
            whole, reduced = agree(instance, 8)
            searches, fewer = searches + 1, fewer + (reduced < whole)
    assert (searches, fewer > 0) == (8, True)


def test_a_wrong_clearing_is_noticed(tmp_path: Path) -> None:
    text = ROLES.format(acts="s.offset[n] = 1", starts="s.limit[n] = 1", stops="s.offset[n] = 2")
    instance = loaded(tmp_path, text + PROPERTY.format("s.offset[0] < 2"))
    wrong = Reduction(dead=tuple(Clearing("role", ((instance.layouts["role"].offset + n, 0),)) for n in range(2)))
    whole, reduced = searched(instance, None), searched(instance, wrong)
    assert [depths(one)["fine"] for one in (whole, reduced)] == [[2, None], [None, None]]


def test_what_leaves_a_range_is_found_with_dead_cells(tmp_path: Path) -> None:
    text = "\n\n@action\ndef act(s, n: Node):\n    s.limit[n] = 1\n    s.copy[n] += 1\n"
    instance = loaded(tmp_path, text)
    assert found(instance) == ["limit"]
    reduction = Reduction(dead=dead_cells(instance))
    result = searched(instance, reduction)
    path = result.findings["in_range"].found.path
    assert path is not None
    assert (path.depth, result.reduction) == (4, reduction.says)  # no second search is needed
    assert depths(result) == depths(searched(instance, None))


def test_dead_cells_are_cleared_before_elements_are_permuted() -> None:
    instance = registry.load("examples/two_phase_commit")[0].instance()
    reduction, _ = reduction_of(instance, symmetry=True)
    assert reduction is not None and reduction.symmetry is not None
    assert reduction.says == (
        "symmetry: one state of each orbit of 6 permutations (ResourceManager 0, 1, 2);"
        " dead cells: manager_knows_prepared, prepared_was_sent where decision is COMMIT or ABORT"
    )
    whole, reduced = searched(instance, None), searched(instance, reduction)
    assert (whole.distinct, reduced.distinct) == (288, 34)
    symmetry = reduction.symmetry
    states = {reduction.cleared(cells) for cells in states_of(whole)}
    orbits = {min(symmetry.permuted(one, images) for images in symmetry.permutations) for one in states}
    assert len(orbits) == reduced.distinct
    assert depths(whole) == depths(reduced)
    certify(reduced)


SHOWN = model(
    action("writes(s, n: Node)", "require(s.phase == 0)", "s.last = n", "s.phase = 1"),
    action("copies(s, n: Node)", "require(s.phase == 1)", "s.given[n] = s.last", "s.phase = 2"),
)


def test_a_cell_that_is_cleared_may_be_copied_into_one_that_is_not(tmp_path: Path) -> None:
    """Which is left as it is, because clearing it does not make the first states fewer."""
    path = tmp_path / "model.py"
    head = HEAD.replace(
        "class State:\n", "class State:\n    given = field(Node, values=optional(Node), initially=NONE)\n"
    )
    instance = load_file(write_model(path, head + SHOWN + PROPERTY.format("s.phase < 2"))).instance()
    found, _ = reduction_of(instance, symmetry=True)
    assert found is not None and {one.field for one in found.dead} == {"given", "last"}
    reduction = Reduction(found.symmetry, tuple(one for one in found.dead if one.field == "last"))
    result = searched(instance, reduction)
    assert depths(result)["fine"] == [2, None]
    certify(result)


def test_a_cell_is_not_cleared_to_an_element_that_is_exchanged(tmp_path: Path) -> None:
    """It would name one of them: more states would differ, and clearing a state again would change it."""
    path = tmp_path / "model.py"
    head = HEAD.replace("import (", "import (\n    initial,")
    head = head.replace("last = field(values=optional(Node), initially=NONE)", "last = field(values=Node)")
    start = "\n\n@initial\ndef starts(s, n: Node):\n    s.last = n\n"
    instance = load_file(write_model(path, head + start + SHOWN.replace("    s.given[n] = s.last\n", ""))).instance()
    fields = []
    for symmetry in (False, True):
        reduction, _ = reduction_of(instance, symmetry=symmetry)
        fields.append([one.field for one in reduction.dead] if reduction is not None else [])
    assert fields == [["last"], []]


# ------------------------------------------------------------------------------------------------------ whether it pays


def test_only_what_makes_the_first_states_fewer_is_cleared() -> None:
    instance = registry.load("examples/two_phase_commit")[0].instance()
    reduction, _ = reduction_of(instance)
    assert reduction is not None
    states = np.array(states_of(searched(instance, None)))
    assert {one.field for one in reduction.worthwhile(states).dead} == {"manager_knows_prepared", "prepared_was_sent"}
    assert reduction.worthwhile(states[:1]).dead == ()
    undecided = states[states[:, instance.layouts["decision"].offset] == 0]
    assert reduction.worthwhile(undecided).dead == ()


REMEMBERS = model(
    state("is_open: Flag", "was_open: Flag"),
    action("turns(s)", "s.was_open = s.is_open", "s.is_open = not s.is_open"),
    claim("always", "fine(s)", "{}"),
)
"""A door that remembers in what nobody reads whether it was open."""


def test_levels_can_become_fewer_and_failures_stay_where_they_are(tmp_path: Path, monkeypatch, capsys) -> None:
    monkeypatch.chdir(tmp_path)

    def judged(fine: str, *words: str) -> tuple[int, str, list[str]]:
        write_model(Path("door.py"), REMEMBERS.format(fine))
        cli.main(["door.py", "--json", *words])
        (run,) = json.loads(capsys.readouterr().out)["runs"]
        steps = isrcheck.trace("counterexamples/latest", "door.py").steps if run["verdict"] == "VIOLATED" else ()
        return run["distinct"], run["properties"][0]["verdict"], [run["levels"], run["judged_to_depth"], *steps]

    assert judged("s.is_open in (0, 1)") == (2, "HOLDS", [2, 1])
    assert judged("s.is_open in (0, 1)", "--no-reduction") == (3, "HOLDS", [3, 2])
    for words in ((), ("--no-reduction",)):
        assert judged("not s.is_open", *words) == (2, "VIOLATED", [2, 1, "turns"])


def test_liveness_and_whole_searches_keep_every_cell(tmp_path: Path) -> None:
    head = HEAD.replace("import (", "import (\n    always_possible, eventually,")
    text = "\n\n@action\ndef act(s, n: Node):\n    s.offset[n] = 1\n" + PROPERTY.format("s.phase == 0")
    path = tmp_path / "model.py"
    instance = load_file(write_model(path, head + text)).instance()
    assert found(instance) == ["offset"]
    assert reduction_of(instance, whole="a reason") == (None, "")
    for kind in ("eventually", "always_possible"):
        path = tmp_path / f"{kind}.py"
        write_model(path, head + text.replace("@always", f"@{kind}"))
        assert reduction_of(load_file(path).instance()) == (None, "")


# ------------------------------------------------------------------------------------------------------------ the cache


def test_a_reduction_is_found_once_for_a_text_and_what_is_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ISRCHECK_CACHE", str(tmp_path / "cache"))
    path = tmp_path / "model.py"
    write_model(path, Path(registry.load("examples/two_phase_commit")[0].path).read_text())
    finds: list[str] = []

    def kept(asked: str, is_whole: bool = True) -> tuple[Reduction | None, str]:
        instance = load_file(path).instance()

        def find() -> tuple[Reduction | None, str]:
            finds.append(asked)
            return reduction_of(instance, symmetry=True)

        found = kept_or_found(instance, asked, find, lambda: is_whole)
        assert found == reduction_of(instance, symmetry=True)
        return found

    first = kept("cut short", is_whole=False)
    assert first[0] is not None and first[0].symmetry is not None and first[0].dead
    assert kept("cut short") == kept("cut short") == kept("other words") == first
    assert finds == ["cut short", "cut short", "other words"]
    # A line more makes no other model; but a symmetry names the places of comparisons.
    write_model(path, "# A remark.\n" + path.read_text())
    kept("cut short")
    assert finds[3:] == ["cut short"]


def test_a_domain_of_another_file_that_becomes_symmetric_is_not_answered_from_the_cache(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("ISRCHECK_CACHE", str(tmp_path / "cache"))
    write_model(tmp_path / "walkers.py", WALKERS)
    for declared, states in (("", 16), (", symmetric=True", 5), ("", 16)):
        write_model(tmp_path / "places.py", PLACES.format(declared=declared))
        for module in ("places", "walkers"):
            sys.modules.pop(module, None)
        code, out = check(capsys, tmp_path, str(tmp_path / "walkers.py"), "--no-deadlock", "--details")
        assert (code, f"\n{states} distinct states, " in out) == (0, True), out


PLACES = """
from isrcheck.models.language import Domain

class Walker(Domain, size=4{declared}):
    pass
"""

WALKERS = """
from isrcheck.models.language import Flag, action, always, field, require
from places import Walker

class State:
    has_gone = field(Walker, values=Flag)

@action
def goes(s, walker: Walker):
    require(not s.has_gone[walker])
    s.has_gone[walker] = True

@always
def somebody_stays_or_all_are_gone(s):
    return any(not s.has_gone[w] for w in Walker) or all(s.has_gone[w] for w in Walker)
"""


# ---------------------------------------------------------------------------------------------------------- the command


def test_the_command_says_which_cells_it_clears(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    name = "examples/two_phase_commit"
    line = "reduction      dead cells: manager_knows_prepared, prepared_was_sent where decision is COMMIT or ABORT"
    code, out = check(capsys, tmp_path, name, "--details")
    assert (code, line in out.splitlines()) == (0, True)
    assert "\n99 distinct states, 416 generated, 11 levels" in out
    (run,) = json.loads(check(capsys, tmp_path, name, "--json")[1])["runs"]
    assert (run["reduction"], run["distinct"]) == (line.removeprefix("reduction      "), 99)
    for words in (["--no-reduction"], ["--continue"]):
        code, out = check(capsys, tmp_path, name, *words, "--details")
        assert (code, "reduction " in out) == (0, False)
        assert "\n288 distinct states, " in out

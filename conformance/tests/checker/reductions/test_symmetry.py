"""A search with symmetry visits one state of each orbit; its verdicts are those of one without, its paths are real.

Which domains may be permuted: what tells elements apart is refused with its place; what is not refused, is right.
"""

from __future__ import annotations

import itertools
import json
import random
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from unittest.mock import Mock

import pytest

from conformance.tests.checker.reductions.random_models import HEAD, TESTS, model_text
from conformance.tests.sampling import exhaustive, sampled
from conformance.tests.support.small_models import action, claim, define, helper, in_the_language, model, write_model
from isrcheck.checker import cli
from isrcheck.checker.compile.kernel import Kernel, kernel_of
from isrcheck.checker.explicit.carrier import SearchContext, SearchRequest, SingleThread
from isrcheck.checker.explicit.explore import Search, explore
from isrcheck.checker.explicit.reduced_search import concluded
from isrcheck.checker.explicit.visited_set import Full
from isrcheck.checker.reductions.find import reduction_of, symmetry_of
from isrcheck.checker.reductions.reduction import Block, Reduction, Symmetry
from isrcheck.checker.reductions.sorts import Sort, Sorts
from isrcheck.checker.resources.limits import Limits
from isrcheck.checker.results.exploration import Exploration
from isrcheck.checker.results.verdict import verdicts
from isrcheck.checker.spark.engine import explore_on_spark
from isrcheck.checker.spark.request import Mode, SparkRequest
from isrcheck.checker.spark.session import SparkOptions
from isrcheck.commands.exit_codes import VIOLATED
from isrcheck.models import registry, run
from isrcheck.models.language.declarations import LastOf
from isrcheck.models.language.model import Instance
from isrcheck.models.messages import LanguageError, ModelError, UsageError
from isrcheck.models.registry import load_file
from isrcheck.models.run import Cells
from isrcheck.traces.format.trace import error_of

pytestmark = pytest.mark.sampled

MEMORY = 1 << 28


def searched(
    instance: Instance, reduction: Reduction | None, depth: int | None = None, threads: int = 1
) -> Exploration:
    kernel = kernel_of(instance, reduction=reduction)
    limits = Limits(depth, MEMORY, threads=threads)
    return explore(instance, limits, kernel=kernel, count_all=True, keep_states=True)


def states_of(result: Exploration) -> list[Cells]:
    assert result.reached is not None
    return result.reached.sample(result.distinct)


def depths(result: Exploration) -> dict[str, list[int | None]]:
    return {
        name: [one.path.depth if one.path else None for one in (found.found, found.permitted)]
        for name, found in result.findings.items()
    }


def orbit(instance: Instance, names: set[str], images: dict[int, int], cells: Cells) -> Cells:
    """A state with the elements of these domains replaced by their images, from the declarations alone."""
    after = list(cells)
    for layout in instance.layouts.values():
        values = layout.field.values
        is_element = isinstance(values.high, LastOf) and values.high.domain.__name__ in names
        places = {index: layout.offset + number for number, index in enumerate(layout.indices())}
        for index, place in places.items():
            to = tuple(
                images.get(one, one) if domain.__name__ in names else one
                for one, domain in zip(index, layout.field.over, strict=True)
            )
            after[places[to]] = images.get(cells[place], cells[place]) if is_element else cells[place]
    return tuple(after)


KAFKA = {"Replica", "AlteringReplica", "KraftReplica", "WaitReplica", "FlushedReplica", "AssignedReplica"}
KAFKA |= {"LateReplica", "NumberedReplica", "SnapshotReplica", "DeletingReplica"}


def cases() -> Iterator[tuple[str, str | None, dict[str, int], int | None, set[str], tuple[int, ...], tuple[int, int]]]:
    """Model, protocol, values, depth; the symmetric domains, the elements that are exchanged; states, and orbits."""
    managers = {"ResourceManager"}
    yield "examples/two_phase_commit", None, {}, None, managers, (0, 1, 2), (288, 80)
    # 314: the number of orbits that the literature gives for five resource managers
    yield "examples/two_phase_commit", None, {"resource_managers": 5}, None, managers, (0, 1, 2, 3, 4), (8832, 314)
    small = {"replicas": 3, "log_size": 1, "records": 1, "max_epoch": 1}
    for protocol, counts in (
        ("kip_320", (6787, 1165)),
        ("truncate_to_high_watermark", (10681, 1823)),
        ("kip_101", (9841, 1682)),
        ("kip_279", (9841, 1682)),
        ("kip_320_first_try", (9661, 1650)),
    ):
        yield "published", protocol, small, None, {"Replica"}, (0, 1, 2), counts
    for protocol, counts in KAFKA_COUNTS.items():
        yield "kafka", protocol, {"replicas": 3}, 3, KAFKA, (1, 2), counts


KAFKA_COUNTS = {
    "0.8": (505, 264),
    "0.10": (562, 300),
    "0.11": (681, 355),
    "2.0": (681, 355),
    "2.1": (644, 333),
    "2.4": (644, 333),
    "2.8": (450, 231),
    "3.3": (309, 163),
    "3.5": (309, 163),
    "3.7": (309, 163),
    "4.1": (256, 134),
}
"""States and orbits of each generation to 3 steps."""


@pytest.mark.parametrize(
    ("name", "protocol", "values", "depth", "names", "elements", "counts"),
    sampled(cases(), lambda case: case[1] in (None, "kip_320", "0.10", "3.7")),
)
def test_the_orbits_of_the_visited_states_are_all_states(
    name: str,
    protocol: str | None,
    values: dict[str, int],
    depth: int | None,
    names: set[str],
    elements: tuple[int, ...],
    counts: tuple[int, int],
) -> None:
    instance = registry.load(name)[0].instance(protocol, values)
    reduction, _ = reduction_of(instance, symmetry=True, dead=False)
    whole, reduced = searched(instance, None, depth), searched(instance, reduction, depth)
    assert (whole.distinct, reduced.distinct) == counts
    permutations = [dict(zip(elements, images, strict=True)) for images in itertools.permutations(elements)]
    orbits = [{orbit(instance, names, images, cells) for images in permutations} for cells in states_of(reduced)]
    assert sum(map(len, orbits)) == whole.distinct
    assert set().union(*orbits) == set(states_of(whole))
    assert depths(whole) == depths(reduced)
    assert len(whole.levels) == len(reduced.levels)
    two = searched(instance, reduction, depth, threads=2)
    for name in ("levels", "fired", "new", "findings"):
        assert getattr(two, name) == getattr(reduced, name)
    certify(reduced)


def certify(result: Exploration) -> None:
    """Take every reported path in plain Python, and judge the property at its end."""
    instance = result.instance
    for prop in instance.properties:
        found = result.findings[prop.name]
        for finding, is_permitted in ((found.found, False), (found.permitted, True)):
            if finding.path is None:
                continue
            before = after = instance.initial_states[finding.path.initial]
            step = None
            for number in finding.path.steps:
                step, before = instance.step(number), after
                taken = run.take(instance, before, step)
                assert taken is not None
                after = taken
            if prop.of_steps:
                assert step is not None
                holds = run.holds_step(instance, prop, before, step, after)
            else:
                holds = run.holds(instance, prop, after)
            assert holds == (prop.kind.value == "sometimes")
            assert run.is_permitted(instance, prop, after) == is_permitted


@pytest.mark.parametrize("part", [0, *map(exhaustive, range(1, 10))])
def test_random_models_have_the_same_verdicts(part: int, tmp_path: Path) -> None:
    compared = 0
    for number in range(6):
        path = tmp_path / f"model_{number}.py"
        instance = load_file(write_model(path, model_text(random.Random(f"{part}/{number}/whole"), 0.02))).instance()
        try:
            reduction, _ = reduction_of(instance, symmetry=True, dead=False)
        except UsageError:
            continue
        assert reduction is not None
        compared += 1
        whole, reduced = searched(instance, None, 5), searched(instance, reduction, 5)
        assert depths(whole) == depths(reduced), number
        certify(reduced)
        symmetry = reduction.symmetry
        assert symmetry is not None
        orbits = [{symmetry.permuted(one, images) for images in symmetry.permutations} for one in states_of(reduced)]
        assert sum(map(len, orbits)) == whole.distinct == len(set().union(*orbits)), number
    assert compared >= 3


# ------------------------------------------------------------------------------------------------------ initial states

STARTS = model(
    define(
        "initial",
        "one_is_up(configuration)",
        "for up in range(configuration.nodes):",
        "    for total in (1, 0):",
        '        yield {{"up": [n == up for n in range(configuration.nodes)], "total": total}}',
    ),
    action("goes_down(s, n: Node)", "require(s.up[n])", "s.up[n] = False"),
    claim("always", "total_is_odd_while_nobody_is_up(s)", "s.total == 1 or any(s.up[n] for n in range(s.nodes))"),
)


def written(folder: Path, text: str, name: str = "model", **changes: str) -> Path:
    path = folder / f"{name}.py"
    head = HEAD.replace("sometimes,", "sometimes, initial,")
    for domain, more in changes.items():
        head = head.replace(f"class {domain}(Domain", f"class {domain}(Domain{more}")
    write_model(path, (head + text).format(nodes=3, keys=1))
    return path


def test_initial_states_of_one_orbit_are_one_and_a_path_starts_at_the_first_of_them(tmp_path: Path) -> None:
    instance = load_file(written(tmp_path, STARTS)).instance()
    assert len(instance.initial_states) == 6
    reduction, _ = reduction_of(instance, symmetry=True, dead=False)
    result = searched(instance, reduction)
    assert result.levels == [2, 2]
    path = result.findings["total_is_odd_while_nobody_is_up"].found.path
    assert path is not None
    assert (path.initial, [instance.spell_step(instance.step(number)) for number in path.steps]) == (1, ["goes_down 0"])
    certify(result)


def test_elements_that_differ_in_the_initial_states_are_not_exchanged(tmp_path: Path) -> None:
    text = STARTS.replace("for up in range(configuration.nodes)", "for up in (2,)")
    instance = load_file(written(tmp_path, text)).instance()
    reduction, _ = reduction_of(instance, symmetry=True, dead=False)
    assert reduction is not None
    assert [block.elements for block in reduction.symmetry.blocks] == [(0, 1)]


# -------------------------------------------------------------------------------------------------------- out of range

LEAVES = model(
    action(
        "one_rises(s, n: Node)",
        "require(not any(s.up[x] for x in range(s.nodes)))",
        "s.level[n] = 1",
        "for x in range(s.nodes):",
        "    s.up[x] = True",
    ),
    helper("is_nobody_up(s)", "not any(s.up[x] for x in range(s.nodes))"),
    claim("always", "fine(s)", "is_nobody_up(s) or not all(s.has[x][LEVEL] for x in range(s.nodes))"),
)


@pytest.mark.parametrize("level", ["s.level[x]", "1 - s.level[x]"])
@pytest.mark.parametrize("end", ["s.nodes", "s.nodes + s.pick", "max(s.nodes, 1)"])
def test_whether_a_range_is_left_does_not_depend_on_the_order_of_elements(end: str, level: str, tmp_path: Path) -> None:
    """There is one key, and no node has it: the fold is decided by the first node that is looked at, if its level is a
    key. If it is not, the range is left. So some permutations of a state leave it, and others do not."""
    text = LEAVES.replace("[LEVEL] for x in range(s.nodes)", f"[{level}] for x in range({end})")
    instance = load_file(written(tmp_path, text)).instance()
    reduction, _ = reduction_of(instance, symmetry=True, dead=False)
    assert reduction is not None
    whole, reduced = searched(instance, None), searched(instance, reduction)
    assert whole.levels == [1, 3]
    assert whole.findings["in_range"].found.path is not None
    assert (reduced.findings, reduced.levels, reduced.reduction) == (whole.findings, whole.levels, "")


GROWS = model(
    action("rises(s, n: Node)", "s.up[n] = True"),
    action("grows(s, n: Node)", "require(s.up[n])", "s.level[n] += 1"),
    claim("always", "not_all_are_full(s)", "not all(s.level[x] == 2 for x in range(s.nodes))"),
)


def searched_first(instance: Instance, reduction: Reduction, depth: int | None = None) -> tuple[Exploration, Kernel]:
    """A search with its reduction that is not concluded, and its kernel."""
    kernel = kernel_of(instance, reduction=reduction)
    context = SearchContext(instance, Limits(depth, MEMORY), kernel, SearchRequest(count_all=True))
    return Search(context).run(), kernel


def error_in(result: Exploration) -> int | None:
    """The depth at which plain Python leaves a declared range on the path of the result; None: there is no path."""
    found = result.findings.get("in_range")
    if found is None:
        return None
    path = found.found.path
    assert path is not None
    error_of(result.instance, path.initial, path.steps)
    return path.depth


def said(result: Exploration) -> dict[str, str]:
    return {verdict.prop.name: verdict.bare for verdict in verdicts(result)}


ENDS = {"deadlock": "VIOLATED at step 1"}
"""What is found beside the rest in the model LEAVES."""


def end_searches(monkeypatch: pytest.MonkeyPatch, why: str, levels: int) -> None:
    """End every search in this way once so many levels have been expanded in all, as Ctrl-C or a limit does."""
    expand, expanded = SingleThread.expand, itertools.count(1)

    def ended(self: SingleThread, first: int, last: int) -> None:
        if next(expanded) <= levels:
            expand(self, first, last)
        elif why == "interrupt":
            raise KeyboardInterrupt
        elif why == "memory":
            raise Full
        else:
            self.context.result.stopped = why

    monkeypatch.setattr(SingleThread, "expand", ended)


def test_a_step_that_leaves_its_range_is_found_without_a_second_search(tmp_path: Path) -> None:
    """Each node is down, or up with one of three levels: there are 64 states, and 20 orbits."""
    instance = load_file(written(tmp_path, GROWS)).instance()
    reduction, _ = reduction_of(instance, symmetry=True)
    assert reduction is not None
    whole, reduced = searched(instance, None), searched(instance, reduction)
    assert (whole.distinct, reduced.distinct, reduced.reduction) == (64, 20, reduction.says)
    assert depths(whole) == depths(reduced)
    assert (error_in(whole), error_in(reduced)) == (4, 4)
    assert [one.findings["in_range"].found.count for one in (whole, reduced)] == [48, 15]
    certify(reduced)


@pytest.mark.parametrize("why", ["interrupt", "seconds", "memory"])
def test_a_range_that_is_left_is_kept_when_the_search_is_ended(
    why: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    instance = load_file(written(tmp_path, GROWS)).instance()
    reduction, _ = reduction_of(instance, symmetry=True)
    end_searches(monkeypatch, why, 4)
    result = searched(instance, reduction)
    assert (result.stopped, result.judged, error_in(result)) == (why, 4, 4)
    assert said(result) == {
        "not_all_are_full": f"UNDECIDED ({why}; nothing found to depth 4)",
        "in_range": "VIOLATED at step 4",
    }


@pytest.mark.parametrize("why", ["interrupt", "seconds", "memory"])
def test_a_range_that_is_left_is_kept_when_the_second_search_is_ended(
    why: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The path of the first search does not leave the range, but a permutation of it does."""
    instance = load_file(written(tmp_path, LEAVES.replace("LEVEL", "1 - s.level[x]"))).instance()
    reduction, _ = reduction_of(instance, symmetry=True, dead=False)
    assert reduction is not None
    first, _ = searched_first(instance, reduction)
    path = first.findings["in_range"].found.path
    assert path is not None and path.steps == (0,)
    end_searches(monkeypatch, why, 2)
    result = searched(instance, reduction)
    assert (result.stopped, result.judged, error_in(result), result.reduction) == (why, 0, 1, reduction.says)
    path = result.findings["in_range"].found.path
    assert path is not None and path.steps == (1,)
    assert said(result) == {
        "fine": f"UNDECIDED ({why}; nothing found to depth 0)",
        **ENDS,
        "in_range": "VIOLATED at step 1",
    }


def test_a_range_that_no_permutation_leaves_is_not_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Node 0 stays where it is, and decides the fold before the others are looked at."""
    text = LEAVES.replace("LEVEL", "s.level[x]").replace("    require(", "    require(n != 0)\n    require(")
    instance = load_file(written(tmp_path, text)).instance()
    reduction, _ = reduction_of(instance, symmetry=True, dead=False)
    assert reduction is not None
    first, kernel = searched_first(instance, reduction)
    assert (kernel.may_overreport, "in_range" in first.findings) == (True, True)
    result = searched(instance, reduction)
    assert (result.levels, said(result)) == ([1, 2], {"fine": "HOLDS", **ENDS})
    end_searches(monkeypatch, "interrupt", 2)
    result = searched(instance, reduction)
    assert said(result) == {"fine": "UNDECIDED (interrupt; nothing found to depth 0)", **ENDS}


ERRING = (
    "s.level[node] += 1", "s.total += 1", "s.has[node][s.level[peer]] = True", "s.level[peer] = s.total",
    "s.has[peer][s.level[node]] = s.up[peer]", "s.total = sum(s.level[other] for other in range(s.nodes))",
    "for other in range(s.nodes):\n        if s.up[other]:\n            s.level[other] += 1",
    "if any(s.has[other][s.level[other]] for other in range(s.nodes)):\n        s.owner = node",
    "s.up[node] = not all(s.knows[other][node] or s.has[other][s.level[node]] for other in range(s.nodes))",
)  # fmt: skip
CLAIMS = (
    "not all(s.has[x][s.level[x]] for x in range(s.nodes))",
    "any(s.has[x][s.level[x]] or s.total < 2 for x in range(s.nodes))",
    "s.owner == NONE or not s.has[s.owner][s.level[s.owner]]",
    "all(s.follows[x] == NONE or s.level[x] < 2 for x in range(s.nodes))",
)


def erring_text(chance: random.Random) -> str:
    """A random model that often leaves a declared range."""
    parts = [model_text(chance, 0)]
    for number in range(2):
        test = chance.choice(("True", chance.choice(TESTS))).format(n="node", m="peer", k="key")
        header = f"@action\ndef may_err_{number}(s, node: Node, peer: Node, key: Key):\n    require({test})"
        parts.append(f"{header}\n    {chance.choice(ERRING)}")
    if chance.random() < 0.5:
        parts.append(f"@always\ndef may_err(s):\n    return {chance.choice(CLAIMS)}")
    return "\n\n".join(parts)


@pytest.mark.parametrize("part", [0, *map(exhaustive, range(1, 6))])
def test_random_models_leave_their_ranges_at_the_same_depth(part: int, tmp_path: Path) -> None:
    """Also if the second search is ended: then everything that is found has the depth that a whole search finds."""
    counts: Counter[str] = Counter()
    for number in range(5):
        path = tmp_path / f"model_{number}.py"
        instance = load_file(write_model(path, erring_text(random.Random(f"{part}/{number}/errs")))).instance()
        reduction, _ = reduction_of(instance, symmetry=True)
        assert reduction is not None
        whole = searched(instance, None, 4)
        first, kernel = searched_first(instance, reduction, 4)
        has_erred = "in_range" in first.findings
        counts["erred"] += has_erred
        counts["repeated"] += has_erred and kernel.may_overreport
        search = Mock(side_effect=[first, KeyboardInterrupt])
        cut = concluded(search, kernel, first.limits)
        reduced = searched(instance, reduction, 4)
        assert depths(whole) == depths(reduced), number
        assert (reduced.reduction == "") == (has_erred and kernel.may_overreport)
        assert error_in(reduced) == error_in(whole)
        certify(reduced)
        certify(cut)
        for name, found in depths(cut).items():
            assert [one for one in found if one is not None] == [
                there for one, there in zip(found, depths(whole)[name], strict=True) if one is not None
            ], (number, name)
        for name, found in depths(whole).items():
            for here, there in zip(found, depths(cut).get(name, [None, None]), strict=True):
                assert here is None or here > cut.judged or here == there, (number, name)
        error_in(cut)
    assert counts["erred"] >= 1


# ------------------------------------------------------------------------------------------------------ the command


def check(capsys: pytest.CaptureFixture[str], folder: Path, *words: str) -> tuple[int, str]:
    code = cli.main([*words, "--out", str(folder / "traces")])
    out, err = capsys.readouterr()
    return code, out + "".join(line for line in err.splitlines(keepends=True) if line.startswith("check: "))


def test_the_command_says_what_was_done(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    name = "examples/two_phase_commit"
    code, out = check(capsys, tmp_path, name, "--symmetry", "--details")
    line = (
        "reduction      symmetry: one state of each orbit of 6 permutations (ResourceManager 0, 1, 2);"
        " dead cells: manager_knows_prepared, prepared_was_sent where decision is COMMIT or ABORT"
    )
    assert (code, line in out.splitlines()) == (0, True)
    assert "34 distinct states, 143 generated, 11 levels" in out
    code, out = check(capsys, tmp_path, name, "--symmetry", "--json")
    (found,) = json.loads(out)["runs"]
    assert (found["reduction"], found["distinct"]) == (line.removeprefix("reduction      "), 34)
    assert found["command"] == f"check {name} --symmetry"


def test_a_declared_domain_is_used_unless_every_state_is_wanted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = str(written(tmp_path, STARTS, Node=", symmetric=True"))
    assert "2 levels" in check(capsys, tmp_path, path, "--details")[1]
    assert "\n4 distinct states, " in check(capsys, tmp_path, path, "--details")[1]
    for words, why in (
        (["--no-reduction"], ""),
        (["--continue"], "reduction      no symmetry: --continue counts every violating state\n"),
    ):
        code, out = check(capsys, tmp_path, path, *words, "--details")
        assert code == VIOLATED
        assert "\n8 distinct states, " in out
        assert why in out
    ordered = STARTS.replace("    require(s.up[n])", "    require(s.up[n] and n < 2)")
    path = str(written(tmp_path, ordered, "ordered", Node=", symmetric=True"))
    code, out = check(capsys, tmp_path, path, "--details")
    assert code == 2
    assert "in goes_down: `n < 2` orders elements; so the elements of Node are not alike" in out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--no-reduction"], "--symmetry does not go with --no-reduction, which switches it off"),
        (["--continue"], "--symmetry does not go with --continue, which counts every violating state"),
        (["--prove"], "--symmetry does not go with --prove, which compares lemmas with every state"),
        (["--engine", "z3", "--bound", "2"], "--symmetry does not go with --engine z3, which visits no states"),
        (["--tables", "here"], "--symmetry does not go with --tables, which lists counts of all states"),
    ],
)
def test_what_needs_every_state_does_not_go_with_symmetry(
    words: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = check(capsys, tmp_path, "examples/two_phase_commit", "--symmetry", *words)
    assert found == (2, f"check: {message}; leave one of them out\n")


# ------------------------------------------------------------------------------------------------------------- on Spark


@pytest.mark.parametrize("mode", list(Mode))
def test_spark_visits_the_same_orbits(local_spark, mode: Mode) -> None:
    instance = registry.load("kafka")[0].instance("0.10", {"replicas": 3})
    reduction, _ = reduction_of(instance, symmetry=True)
    here = explore(instance, Limits(4, MEMORY), kernel=kernel_of(instance, reduction=reduction))
    there, _ = explore_on_spark(
        local_spark,
        SparkRequest(mode, None, SparkOptions(), None),
        instance,
        Limits(4, MEMORY),
        kernel_of(instance, reduction=reduction),
        count_all=False,
        report=lambda progress: None,
    )
    assert (there.distinct, depths(there), there.reduction) == (here.distinct, depths(here), here.reduction)
    certify(there)


ACT = "\n\n@action\ndef act(s, n: Node, m: Node, k: Key):\n    require(s.up[n])\n    {}\n"
PROPERTY = "\n\n@always\ndef fine(s):\n    return {}\n"


def sorts_of(folder: Path, text: str) -> Sorts:
    return Sorts(load_file(write_model(folder / "model.py", HEAD.format(nodes=3, keys=2) + text)).instance())


LINE = in_the_language(HEAD).count("\n") + 6
"""The line of what stands in the action."""


@pytest.mark.parametrize(
    ("statement", "reason"),
    [
        ("s.level[n] = min(n, 2)", "`min(n, 2)` orders elements"),
        ("s.up[n] = n < m", "`n < m` orders elements"),
        (
            "s.total = max((x for x in Node if s.up[x]), default=0)",
            "`max((x for x in Node if s.up[x]), default=0)` orders elements",
        ),
        ("s.up[n] = s.owner >= 0", "`s.owner >= 0` orders elements"),
        ("s.total = n + 1", "`n + 1` calculates with an element"),
        ("s.total = sum(x for x in range(s.nodes) if s.up[x])", "a sum of elements"),
        ("s.owner = 1 if s.total > 2 else s.total + 1", "`s.total + 1` uses the result of a calculation as an element"),
        ("s.owner = first_up(s)", "returns from a loop over elements: the first element decides the result"),
        (
            "for x in range(s.nodes):\n        if s.up[x]:\n            s.owner = x",
            "the order of this loop's elements decides what owner becomes",
        ),
        (
            "for x in range(s.nodes):\n        s.total = s.level[x]",
            "the order of this loop's elements decides what total becomes",
        ),
        (
            "last = 0\n    for x in range(s.nodes):\n        last = s.level[x]\n    s.level[n] = last",
            "the order of this loop's elements decides what last becomes",
        ),
        (
            "for x in range(s.nodes):\n        s.up[x] = not s.up[n]",
            "the order of this loop's elements decides what up becomes",
        ),
        (
            "for x in range(s.nodes):\n        s.total += s.level[x]",
            "the order of this loop's elements decides what total becomes",
        ),
        (
            "for m in range(s.nodes):\n        s.up[m] = True\n    s.owner = m",
            "after this loop, `m` is the last element, so their order matters",
        ),
        ("s.up[n] = any(s.up[x] for x in range(1, s.nodes))", "a loop over 1..2, which is only a part of Node"),
        (
            "for x in range(s.nodes):\n        require(s.up[x])\n    s.up[n] = False",
            "`require` in a loop stops at the first element that fails; write require(all(...))",
        ),
        (
            "s.up[n] = any(s.knows[a][b] for a in range(s.nodes) for b in range(s.nodes) if a < b)",
            "`a < b` orders elements",
        ),
        (  # `2 and 1` is 1, and `1 and 2` is 2
            "s.up[n] = any((s.level[a] and s.level[b]) == 2 for a in range(3) for b in range(3) if a < b)",
            "`a < b` orders elements",
        ),
    ],
)
def test_what_tells_elements_apart_is_named(statement: str, reason: str, tmp_path: Path) -> None:
    sorts = sorts_of(tmp_path, ACT.format(statement))
    ((domain, said),) = [(one.__name__, why) for one, why in sorts.asymmetric.items()]
    assert domain == "Node"
    assert said.startswith(str(tmp_path / "model.py"))
    assert said.endswith(reason)
    place = int(said.split(":")[1])
    assert LINE <= place <= LINE + 3 or "first_up" in statement
    assert [one.name for one in sorts.symmetric] == ["Key"]


@pytest.mark.parametrize(
    ("statement", "fixed"),
    [
        ("s.owner = n", []),
        ("s.owner = NONE", []),
        ("s.owner = 2", [2]),
        ("s.up[n] = s.owner == 0 or s.follows[n] == 1", [0, 1]),
        ("s.up[0] = s.up[1]", [0, 1]),
        ("s.up[n] = not s.owner", [0]),
        ("for x in range(s.nodes):\n        s.up[x] = x == n", []),
        ("for x in range(s.nodes):\n        s.total += 1", []),
        ("for x in range(s.nodes):\n        if s.up[x]:\n            s.total = 0", []),
        ("for x in range(s.nodes):\n        copy_row(s, x, x)", []),
        ("low = 2\n    for x in range(s.nodes):\n        low = min(low, s.level[x])\n    s.level[n] = low", []),
        ("s.total = max(s.level[x] for x in Node) + min((s.level[x] for x in Node if s.up[x]), default=1)", []),
        ("s.total = s.total + 1", []),
        ("s.up[n] = all(s.level[a] == s.level[b] for a in range(3) for b in range(3) if a < b)", []),
        ("s.up[n] = any(not (s.level[a] and s.level[b]) for a in range(3) for b in range(3) if a < b)", []),
        ("if s.pick == 1:\n        s.owner = first_up(s)", []),
        ("s.owner = first_up(s) if s.pick == 1 and s.up[n] else n", []),
    ],
)
def test_what_treats_elements_alike_is_symmetric(statement: str, fixed: list[int], tmp_path: Path) -> None:
    sorts = sorts_of(tmp_path, ACT.format(statement))
    assert sorts.asymmetric == {}
    assert [(one.name, one.size, sorted(one.fixed)) for one in sorts.symmetric] == [("Node", 3, fixed), ("Key", 2, [])]


@pytest.mark.parametrize(
    "judge",
    [
        "@always\ndef judge(s):\n    return s.owner\n",
        "@always\ndef judge(s):\n    return s.owner if s.up[1] else NONE\n",
        "@always(permitted=allowed)\ndef judge(s):\n    return s.total == 0\n",
    ],
)
def test_what_judges_a_state_tells_element_0_from_the_others(judge: str, tmp_path: Path) -> None:
    """Only the truth of its result counts, and 0 is false: element 0 breaks `return s.owner`, said to hold."""
    allowed = "\n\ndef allowed(s):\n    return s.owner\n"
    sorts = sorts_of(tmp_path, ACT.format("s.owner = n") + allowed + "\n\n" + judge)
    assert [0 in one.fixed for one in sorts.symmetric if one.name == "Node"] == [True]


def test_the_value_of_an_or_is_the_number_that_decides(tmp_path: Path) -> None:
    """`s.pick or 2` names element 2, not 1: with 1 kept in its place, one of two different steps was left out."""
    text = "\n\n@action\ndef rises(s, n: Node):\n    require(s.total == 0)\n    s.total = 1\n    s.up[n] = True\n"
    text += "\n\n@action\ndef asks(s):\n    require(s.total == 1)\n    s.total = 2 if s.up[s.pick or 2] else 3\n"
    text += "".join(f"\n\n@always\ndef never_{number}(s):\n    return s.total != {number}\n" for number in (2, 3))
    instance = sorts_of(tmp_path, text).instance
    symmetry = symmetry_of(instance)
    assert symmetry is not None
    assert [block.elements for block in symmetry.blocks if block.name == "Node"] == [(0, 1)]
    kernel = kernel_of(instance, reduction=Reduction(symmetry))
    paths = [explore(instance, Limits(), kernel=kernel).findings[f"never_{number}"].found.path for number in (2, 3)]
    assert [path is not None and path.depth for path in paths] == [2, 2]


def test_domains_whose_elements_meet_have_one_sort(tmp_path: Path) -> None:
    text = ACT.format("s.up[n] = False") + PROPERTY
    sorts = sorts_of(tmp_path, text.format("all(s.up[x] or s.has[0][x] for x in range(2))"))
    assert [one.__name__ for one in sorts.asymmetric] == ["Node", "Key"]
    assert "elements of domains of different sizes are compared: Node with 3, Key with 2" in str(sorts.asymmetric)


def test_the_replicas_of_kafka_and_of_the_published_models_are_symmetric() -> None:
    for name, order, replicas in (("kafka", 2, (1, 2)), ("published", 6, (0, 1, 2))):
        model = registry.load(name)[0]
        for protocol in {"kafka": ("0.10", "2.8", "4.1")}.get(name, model.protocols):
            found = symmetry_of(model.instance(protocol))
            assert found is not None
            assert (found.order, [block.elements for block in found.blocks]) == (order, [replicas]), protocol


def test_no_symmetry_at_all_is_explained() -> None:
    with pytest.raises(
        UsageError, match=r"--symmetry: no domain of transactions has elements that can be exchanged \(.*: in"
    ):
        symmetry_of(registry.load("transactions")[0].instance("3.7"))


def test_a_declared_domain_that_is_ordered_is_refused(tmp_path: Path) -> None:
    text = HEAD.replace('size="nodes"', 'size="nodes", symmetric=True') + ACT.format("s.up[n] = n < m")
    path = tmp_path / "model.py"
    write_model(path, text.format(nodes=3, keys=2))
    with pytest.raises(LanguageError, match=rf"{LINE}: in act: `n < m` orders elements; so .* Node are not"):
        symmetry_of(load_file(path).instance(), declared=True)


# ------------------------------------------------------------------------------------------------------- random models


@pytest.mark.parametrize("part", [0, *map(exhaustive, range(1, 30))])
def test_steps_and_properties_of_random_models_respect_the_permutations(part: int, tmp_path: Path) -> None:
    """In random states, not only in reachable ones; a constant is kept, and what may differ is refused."""
    found = 0
    for number in range(8):
        chance = random.Random(f"{part}/{number}")
        instance = load_file(write_model(tmp_path / f"model_{number}.py", model_text(chance, 0.05))).instance()
        sorts = Sorts(instance).symmetric
        if any(one.size - len(one.fixed) > 1 for one in sorts):
            found += 1
            compare(instance, sorts, chance)
    assert found > 3


def compare(instance: Instance, sorts: list[Sort], chance: random.Random) -> None:
    blocks = tuple(Block(number, one.name, tuple(set(range(one.size)) - one.fixed)) for number, one in enumerate(sorts))
    known = symmetry_of(instance)
    assert known is not None
    symmetry = Symmetry(blocks, known.sizes, known.cells, known.arguments, frozenset(), frozenset())
    layouts = [layout for layout in instance.layouts.values() for _ in range(layout.count)]
    for _ in range(8):
        state = tuple(chance.randint(layout.low, layout.high) for layout in layouts)
        images = chance.choice(symmetry.permutations)
        other = symmetry.permuted(state, images)
        for step in chance.sample(instance.steps, 20):
            there = instance.step(symmetry.step(instance, step.number, images))
            try:
                after = run.take(instance, state, step)
                expected = None if after is None else symmetry.permuted(after, images)
                assert run.take(instance, other, there) == expected
            except ModelError:
                continue
        for prop in instance.properties:
            assert run.holds(instance, prop, state) == run.holds(instance, prop, other)

"""The explicit search: exact counts, least shortest counterexamples, limits, and kernels that are never stale."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from conformance.tests.checker.test_process import run as run_command
from conformance.tests.sampling import exhaustive
from conformance.tests.support.engine import searched_to, verdict_of
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
from isrcheck.checker.compile import kernel as compiled_kernel
from isrcheck.checker.compile.kernel import kernel_of
from isrcheck.checker.explicit import carrier, visited_set
from isrcheck.checker.explicit import explore as engine
from isrcheck.checker.explicit import threads as threaded
from isrcheck.checker.explicit.explore import explore
from isrcheck.checker.resources.cache import kept
from isrcheck.checker.resources.limits import Limits
from isrcheck.checker.results.exploration import Exploration, Finding, Findings, Progress, StepPath
from isrcheck.checker.results.verdict import Word, verdicts
from isrcheck.commands.exit_codes import SAFE, UNDECIDED, VIOLATED
from isrcheck.models import registry, run
from isrcheck.models.language.declarations import Kind
from isrcheck.models.language.model import Instance, Model, Property, Step
from isrcheck.models.messages import ModelError

pytestmark = pytest.mark.sampled

MEMORY = 1 << 28

COUNTERS = model(
    '"""Counters that go up, from several starts; many ways lead to each state."""\n',
    entries(
        'counters = bound(3, "counters", least=1)',
        'top = bound(3, "how far each goes")',
        'forgiven = setting(0, "counter 0 up to here is forgiven")',
    ),
    domain("Counter", '"counters"'),
    state('count[Counter]: between(0, "top")', "total: between(0, 100)"),
    define(
        "initial",
        "some_have_begun(configuration)",
        "for first in (2, 0, 1):",
        "    count = [first] + [0] * (configuration.counters - 1)",
        '    yield {"count": count, "total": first}',
    ),
    define("", "note(s, more)", "s.total = min(s.total + more, 100)"),
    action(
        "two_at_once(s, one: Counter, other: Counter)",
        "require(one != other)",
        "require(s.count[one] < s.top and s.count[other] < s.top)",
        "s.count[one] += 1",
        "s.count[other] += 1",
        "note(s, 2)",
    ),
    action("one_more(s, counter: Counter)", "require(s.count[counter] < s.top)", "s.count[counter] += 1", "note(s, 1)"),
    action("rest(s)", "require(s.total > 4)"),
    helper("is_forgiven(s)", "s.count[0] <= s.forgiven"),
    define(
        "always",
        "never_level(s)",
        '"""False where two counters have reached 2."""',
        "return sum(s.count[i] == 2 for i in range(s.counters)) < 2",
    ),
    claim("always(permitted=is_forgiven)", "total_below_six(s)", "s.total < 6"),
    claim("always", "total_is_the_sum(s)", "s.total == sum(s.count[i] for i in range(s.counters))"),
    claim(
        "always_step(permitted=is_forgiven)",
        "grows_by_one(before, after, taken)",
        "taken != two_at_once or after.total < 5",
    ),
    claim("sometimes", "all_at_the_top(s)", "all(s.count[i] == s.top for i in range(s.counters))"),
    claim(
        "sometimes",
        "rests_high(before, after, taken)",
        "taken == rest and before.total == after.total and after.total > 6",
    ),
    claim("sometimes", "flies(s)", "s.total > 99"),
)


def written(folder: Path, text: str = COUNTERS, name: str = "counters.py") -> Path:
    return write_model(folder / name, text)


Within = Callable[..., Limits]
"""The fixture `limits`: limits with some number of threads."""


@pytest.fixture(scope="module")
def counters(tmp_path_factory: pytest.TempPathFactory) -> Model:
    return registry.load_file(written(tmp_path_factory.mktemp("counters")))


# --------------------------------------------------------------------------------------- the same by another way


@dataclass
class Naive:
    """A naive breadth-first search over isrcheck.models.run."""

    instance: Instance
    depth: int | None = None
    count_all: bool = False
    want_permitted: bool = False
    levels: list[int] = field(default_factory=list)
    generated: int = 0
    frontier: int = 0
    fired: dict[str, int] = field(default_factory=dict)
    new: dict[str, int] = field(default_factory=dict)
    findings: dict[str, Findings] = field(default_factory=dict)
    paths: dict[run.Cells, StepPath] = field(default_factory=dict)
    errors: list[StepPath] = field(default_factory=list)
    erring: Finding = field(default_factory=Finding)

    def search(self) -> Naive:
        self._levels()
        if self.errors:
            least = min(self.errors, key=lambda path: (path.depth, path.initial, path.steps))
            counted = [path for path in self.errors if self.count_all or path.depth == least.depth]
            self.findings["in_range"] = Findings(Finding(len(counted), least), erred=self.erring)
        return self

    def _levels(self) -> None:
        self.findings = {prop.name: Findings() for prop in self.instance.properties}
        self.fired = {action.name: 0 for action in self.instance.model.actions}
        self.new = dict(self.fired)
        for position, cells in enumerate(self.instance.initial_states):
            self.paths[cells] = StepPath(position, ())
        level = list(self.paths)
        closed: set[str] = set()
        while level:
            self.levels.append(len(level))
            self.frontier = len(level)
            for cells in level:
                for prop in self.instance.properties:
                    if not prop.of_steps and prop.name not in closed:
                        self._ask(prop, self.paths[cells], cells)
            closed |= self._decided(of_steps=False)
            if (closed and len(closed) == len(self.findings)) or len(self.levels) - 1 == self.depth:
                return
            level = [after for cells in level for after in self._expanded(cells, closed)]
            closed |= self._decided(of_steps=True)
            self.frontier = 0

    def _expanded(self, cells: run.Cells, closed: set[str]) -> list[run.Cells]:
        new = []
        here = self.paths[cells]
        for step in self.instance.steps:
            path = StepPath(here.initial, (*here.steps, step.number))
            try:
                after = run.take(self.instance, cells, step)
            except ModelError:
                self._note_error(self.erring, path)
                continue
            if after is None:
                continue
            self.generated += 1
            self.fired[step.action] += 1
            for prop in self.instance.properties:
                if prop.of_steps and prop.name not in closed:
                    self._ask(prop, path, cells, step, after)
            if after not in self.paths:
                self.paths[after] = path
                self.new[step.action] += 1
                new.append(after)
        return new

    def _ask(self, prop: Property, path: StepPath, *about: Any) -> None:
        try:
            truth = run.holds(self.instance, prop, *about) if len(about) == 1 else None
            truth = run.holds_step(self.instance, prop, *about) if truth is None else truth
            self._note(prop, truth, about[-1], path)
        except ModelError:
            self._note_error(self.findings[prop.name].erred, path)

    def _note_error(self, finding: Finding, path: StepPath) -> None:
        finding.count += 1
        finding.path = finding.path or path
        self.errors.append(path)

    def _note(self, prop: Property, truth: bool, cells: run.Cells, path: StepPath) -> None:
        if truth != (prop.kind is Kind.SOMETIMES):
            return
        findings = self.findings[prop.name]
        is_permitted = prop.kind is not Kind.SOMETIMES and run.is_permitted(self.instance, prop, cells)
        finding = findings.permitted if is_permitted else findings.found
        finding.count += 1
        finding.path = finding.path or path

    def _decided(self, of_steps: bool) -> set[str]:
        if self.count_all:
            return set()
        return {
            prop.name
            for prop in self.instance.properties
            if prop.of_steps == of_steps
            and (self.findings[prop.name].permitted if self.want_permitted else self.findings[prop.name].found).count
        }


def assert_same(found: Exploration, naive: Naive) -> None:
    counts = found.levels, found.distinct, found.generated, found.frontier
    assert counts == (naive.levels, len(naive.paths), naive.generated, naive.frontier)
    assert (found.fired, found.new) == (list(naive.fired.values()), list(naive.new.values()))
    assert found.findings == naive.findings


@pytest.mark.parametrize("forgiven", [0, 1, 3])
@pytest.mark.parametrize(("count_all", "want_permitted"), [(True, False), (False, False), (False, True)])
@pytest.mark.parametrize("depth", [None, 0, 1, 2, 3, 4])
def test_the_search_agrees_with_a_naive_search(
    counters: Model, forgiven: int, count_all: bool, want_permitted: bool, depth: int | None, limits: Within
) -> None:
    instance = counters.instance(None, {"forgiven": forgiven})
    found = explore(instance, limits(depth, MEMORY), count_all=count_all, want_permitted=want_permitted)
    assert_same(found, Naive(instance, depth, count_all, want_permitted).search())


@pytest.mark.parametrize(
    ("name", "bounds", "depth"),
    [
        ("examples/two_phase_commit", {"resource_managers": 3}, None),
        ("published/truncate_to_high_watermark", {"replicas": 2, "log_size": 2, "records": 2, "max_epoch": 1}, None),
        ("published/kip_320_first_try", {"replicas": 2, "log_size": 2, "records": 2, "max_epoch": 1}, None),
        ("published/kip_320", {"replicas": 2, "log_size": 2, "records": 2, "max_epoch": 1}, None),
        ("kafka", {}, 3),
        ("kafka", {"acks": 1, "unclean_elections": 1, "disk_losses": 1}, 3),
    ],
)
def test_the_search_agrees_with_a_naive_search_on_registered_models(
    name: str, bounds: Mapping[str, int], depth: int | None, limits: Within
) -> None:
    model, protocol = registry.load(name)
    instance = model.instance(protocol or next(iter(model.protocols)), bounds)
    found = explore(instance, limits(depth, MEMORY), count_all=True)
    assert_same(found, Naive(instance, depth, count_all=True).search())


# ------------------------------------------------------------------------------------------------- exact figures


def test_two_phase_commit_has_288_states_with_three_resource_managers(limits: Within) -> None:
    found = explore(registry.load("examples/two_phase_commit")[0].instance(), limits(memory=MEMORY))
    assert (found.distinct, found.generated, found.exhausted, found.frontier) == (288, 1145, True, 0)
    assert found.levels == [1, 7, 21, 38, 50, 54, 49, 36, 21, 9, 2]
    assert {
        name: (one.found.count, one.found.path and one.found.path.depth) for name, one in found.findings.items()
    } == {"consistent": (0, None), "all_commit": (1, 10), "all_abort": (1, 3)}


def test_two_phase_commit_has_296448_states_with_seven_resource_managers(limits: Within) -> None:
    model, _ = registry.load("examples/two_phase_commit")
    found = explore(model.instance(None, {"resource_managers": 7}), limits(memory=MEMORY))
    assert (found.distinct, found.generated, len(found.levels), found.exhausted) == (296_448, 2_744_705, 23, True)
    assert [verdict.word for verdict in verdicts(found)] == [Word.HOLDS, Word.REACHED, Word.REACHED]


# ---------------------------------------------------------------------------- the least of the shortest counterexamples


def least_by_brute_force(instance: Instance, prop: Property, most: int) -> StepPath | None:
    """The least violating path, by trying all paths in order of length, initial state and steps."""
    paths: list[tuple[StepPath, run.Cells, Step | None, run.Cells]] = [
        (StepPath(number, ()), cells, None, cells) for number, cells in enumerate(instance.initial_states)
    ]
    for _ in range(most + 1):
        for path, before, step, cells in paths:
            if prop.of_steps and step is None:
                continue
            holds = (
                run.holds_step(instance, prop, before, step, cells)
                if prop.of_steps
                else run.holds(instance, prop, cells)
            )
            if holds == (prop.kind is Kind.SOMETIMES) and not run.is_permitted(instance, prop, cells):
                return path
        paths = [
            (StepPath(path.initial, (*path.steps, step.number)), cells, step, after)
            for path, _, _, cells in paths
            for step, after in run.successors(instance, cells)
        ]
    return None


@pytest.mark.parametrize("name", ["never_level", "total_below_six", "grows_by_one", "rests_high", "total_is_the_sum"])
def test_the_counterexample_is_the_least_of_the_shortest(counters: Model, name: str, limits: Within) -> None:
    instance = counters.instance()
    prop = next(prop for prop in instance.properties if prop.name == name)
    found = explore(instance, limits(3, MEMORY), only=[name]).findings[name].found.path
    assert found == least_by_brute_force(instance, prop, 3)
    spelled = found and [instance.spell_step(instance.step(number)) for number in found.steps]
    # All start in state 0, where counter 0 has gone to 2, since the order of the starts comes first.
    assert (found and found.initial, spelled) == {
        "never_level": (0, ["two_at_once 1 2", "two_at_once 1 2"]),
        "total_below_six": (0, ["two_at_once 0 1", "two_at_once 1 2"]),
        "grows_by_one": (0, ["two_at_once 0 1", "two_at_once 1 2"]),
        "rests_high": (None, None),  # at step 4
        "total_is_the_sum": (None, None),
    }[name]


# ------------------------------------------------------------------------------------ however the work is cut to pieces


def everything(found: Exploration) -> tuple[object, ...]:
    return found.levels, found.generated, found.fired, found.new, found.findings, found.frontier, found.judged


@pytest.mark.parametrize("chunk", [1, 7, 1 << 16])
@pytest.mark.parametrize("batch_bytes", [1, 1 << 10, 1 << 18])
@pytest.mark.parametrize("recent_bits", [0, 3, 12])
def test_the_batch_size_does_not_change_results(
    counters: Model, monkeypatch: pytest.MonkeyPatch, chunk: int, batch_bytes: int, recent_bits: int, limits: Within
) -> None:
    instance = counters.instance()
    expected = {count_all: explore(instance, limits(memory=MEMORY), count_all=count_all) for count_all in (False, True)}
    monkeypatch.setattr(carrier, "CHUNK", chunk)
    monkeypatch.setattr(carrier, "BATCH_BYTES", batch_bytes)
    monkeypatch.setattr(threaded, "MOST_CHUNK", chunk)
    monkeypatch.setattr(threaded, "LANE_BYTES", batch_bytes)
    monkeypatch.setattr(visited_set, "RECENT_BITS", recent_bits)
    monkeypatch.setattr(visited_set, "FIRST_TABLE_BITS", 1)
    for count_all, one in expected.items():
        assert everything(explore(instance, limits(memory=MEMORY), count_all=count_all)) == everything(one)


# ---------------------------------------------------------------------------------------------------------- limits


def assert_books_in_order(found: Exploration) -> None:
    """Assert that the counts of a search are consistent, wherever it ended."""
    initial = len(found.instance.initial_states)
    assert sum(found.fired) == found.generated
    assert sum(found.new) == max(0, found.distinct - initial)
    assert all(new <= fired for new, fired in zip(found.new, found.fired, strict=True))
    assert 0 <= found.frontier <= found.distinct
    assert not found.exhausted or found.frontier == 0


def test_depth_zero_checks_only_the_initial_states(counters: Model, limits: Within) -> None:
    found = explore(counters.instance(), limits(0, MEMORY), count_all=True)
    assert (found.levels, found.generated, found.frontier, found.depth, found.judged) == ([3], 0, 3, 0, 0)
    assert not found.exhausted and found.is_complete
    says = {Kind.SOMETIMES: "NOT REACHED TO DEPTH 0"}
    assert [verdict.text for verdict in verdicts(found)] == [
        says.get(verdict.prop.kind, "NO VIOLATION TO DEPTH 0") for verdict in verdicts(found)
    ]


def test_an_initial_state_can_violate(tmp_path: Path, limits: Within) -> None:
    text = COUNTERS.replace("for first in (2, 0, 1)", "for first in (1, 7, 0, 7)").replace(
        "top = bound(3", "top = bound(7"
    )
    instance = registry.load_file(written(tmp_path, text)).instance()
    findings = explore(instance, limits(0, MEMORY)).findings["total_below_six"]
    assert findings == Findings(Finding(1, StepPath(1, ())), Finding())


@pytest.mark.parametrize("kibibytes", [0, 512, 1024, 2048])
def test_reaching_the_memory_limit_keeps_results_consistent(kibibytes: int, limits: Within) -> None:
    model, _ = registry.load("examples/two_phase_commit")
    instance = model.instance(None, {"resource_managers": 7})
    found = explore(instance, limits(memory=max(1, kibibytes << 10)))
    assert found.stopped == "memory" and not found.is_complete and not found.exhausted
    # The first table is there in any case, in every shard.
    threads = found.limits.threads
    assert found.bytes_used <= max(kibibytes << 10, threads * ((8 << visited_set.FIRST_TABLE_BITS) + 15))
    assert_books_in_order(found)
    full = explore(instance, limits(memory=MEMORY))
    assert found.levels[: found.judged + 1] == full.levels[: found.judged + 1]
    words = {verdict.prop.name: verdict.word for verdict in verdicts(found)}
    assert words["consistent"] is Word.UNDECIDED


def test_memory_too_small_for_the_initial_states(counters: Model, limits: Within) -> None:
    found = explore(counters.instance(), limits(memory=1))
    # There is room for one state in every shard.
    least = 1 if found.limits.threads == 1 else found.distinct
    assert (found.stopped, found.distinct, found.generated, found.frontier) == ("memory", least, 0, least)
    assert least <= min(found.limits.threads, len(found.instance.initial_states))
    assert_books_in_order(found)


class Clock:
    """A clock that advances by one second at each call, so that every chunk reports."""

    def __init__(self) -> None:
        self.now = 0.0

    def monotonic(self) -> float:
        self.now += 1.0
        return self.now


def slow_down(monkeypatch: pytest.MonkeyPatch) -> None:
    """Process few states between two looks at such a clock."""
    clock = Clock()
    monkeypatch.setattr(carrier, "time", clock)
    monkeypatch.setattr(engine, "time", clock)
    monkeypatch.setattr(carrier, "CHUNK", 2)
    monkeypatch.setattr(threaded, "MOST_CHUNK", 1)


@pytest.mark.parametrize("seconds", [1.5, 3.5, 7.5, 20.5])
def test_reaching_the_time_limit_keeps_results_consistent(
    counters: Model, monkeypatch: pytest.MonkeyPatch, seconds: float, limits: Within
) -> None:
    kernel = kernel_of(counters.instance())
    slow_down(monkeypatch)
    monkeypatch.setattr(threaded, "LANES_A_THREAD", 1)
    found = explore(counters.instance(), limits(memory=MEMORY, seconds=seconds), kernel=kernel)
    assert found.stopped == "seconds" and not found.is_complete and not found.exhausted
    assert_books_in_order(found)
    assert found.judged < len(found.levels)


@pytest.mark.parametrize("after", [1, 4, 9, 30])
def test_an_interrupt_keeps_the_findings(
    counters: Model, monkeypatch: pytest.MonkeyPatch, after: int, limits: Within
) -> None:
    reports: list[Progress] = []
    last = after if limits().threads == 1 else min(after, 12)  # three threads are done sooner

    def report(progress: Progress) -> None:
        reports.append(progress)
        if len(reports) == last:
            raise KeyboardInterrupt

    kernel = kernel_of(counters.instance())
    whole = explore(counters.instance(), limits(memory=MEMORY), count_all=True, kernel=kernel)
    slow_down(monkeypatch)
    found = explore(counters.instance(), limits(memory=MEMORY), count_all=True, kernel=kernel, report=report)
    assert found.stopped == "interrupt" and not found.is_complete
    assert (found.generated, found.distinct) >= (reports[-1].generated, reports[-1].distinct)
    assert_books_in_order(found)
    for name, findings in found.findings.items():
        assert findings.found.path in (None, whole.findings[name].found.path)
        assert findings.found.count <= whole.findings[name].found.count
    words = {verdict.prop.name: verdict.word for verdict in verdicts(found)}
    if found.limits.threads == 1:
        # By then the two counters that have reached 2 have been seen, and the verdict says so.
        assert (words["never_level"] is Word.VIOLATED) == (after == 30)
    assert words["total_is_the_sum"] is Word.UNDECIDED


# ------------------------------------------------------------------------------------------ a range that is left


OVER_COUNTERS, OUTSIDE = "s.count[i] == 2 for i in range(s.counters)", "of count is outside 0..2"

LEAVES = [
    ("s.total = min(s.total + more, 100)", "s.total = s.total - more", "two_at_once", "-2 is written to total, whose"),
    (OVER_COUNTERS, "s.count[i + 1] == 2 for i in range(3)", "never_level", f"never_level: index 3 {OUTSIDE}"),
    ("after.total < 5", "after.count[after.total] < 5", "grows_by_one", f"grows_by_one: index 4 {OUTSIDE}"),
    ("s.count[0] <= s.forgiven", "s.count[s.total] < 9", "is_forgiven", f"grows_by_one: index 6 {OUTSIDE}"),
]


@pytest.mark.parametrize(("old", "new", "function", "says"), LEAVES, ids=[function for _, _, function, _ in LEAVES])
@pytest.mark.parametrize("count_all", [False, True])
def test_leaving_a_range_is_a_violation_with_its_position(
    tmp_path: Path, old: str, new: str, function: str, says: str, count_all: bool, limits: Within
) -> None:
    text = COUNTERS.replace(old, new)
    assert text != COUNTERS
    path = written(tmp_path, text)
    instance = registry.load_file(path).instance()
    found = explore(instance, limits(memory=MEMORY), count_all=count_all)
    assert_same(found, Naive(instance, count_all=count_all).search())
    verdict = verdicts(found)[-1]
    lines = path.read_text().splitlines()
    line = next(number for number, line in enumerate(lines, 1) if line.startswith(f"def {function}("))
    assert (verdict.prop.name, verdict.word) == ("in_range", Word.VIOLATED)
    assert verdict.note.startswith(f"{path}:{line}: ") and says in verdict.note and "\n" not in verdict.note


# ----------------------------------------------------------------------------------- kernels, in processes of their own

MINE = model(
    "from helper_of_mine import more\n",
    state("count: between(0, 9)"),
    action("adds(s)", "require(s.count < 5)", "s.count = more(s)"),
    claim("always", "stays_below_six(s)", "s.count < 6"),
    claim("terminal", "may_end(s)", "True"),
)
HELPER = "def more(s):\n    return s.count + 1\n"
WORSE = HELPER.replace("+ 1", "+ 2")


def check(folder: Path, cache: Path, *words: str) -> tuple[int, str, str]:
    """Run `check mine.py` in a separate process; return exit code, stdout and stderr."""
    return run_command(folder, "mine.py", *words, ISRCHECK_CACHE=str(cache))


@pytest.fixture
def mine(tmp_path: Path) -> Path:
    folder = tmp_path / "mine"
    folder.mkdir()
    written(folder, MINE, "mine.py")
    written(folder, HELPER, "helper_of_mine.py")
    return folder


@pytest.mark.exhaustive
def test_a_kernel_is_compiled_once_and_never_stale(mine: Path, tmp_path: Path) -> None:
    cache, helper = tmp_path / "cache", mine / "helper_of_mine.py"
    code, _, err = check(mine, cache)
    assert (code, "compiling mine (once for these bounds)" in err) == (SAFE, True)
    code, _, err = check(mine, cache)
    assert (code, err) == (SAFE, "")
    date = helper.stat().st_mtime_ns
    helper.write_text(WORSE)
    # As long as before, and as old: neither size nor date tells the difference.
    os.utime(helper, ns=(date, date))
    code, out, err = check(mine, cache)
    assert (code, "VIOLATED at step 3" in out, "compiling" in err) == (VIOLATED, True, True)
    helper.write_text(HELPER)
    code, _, err = check(mine, cache)
    assert (code, "compiling" in err) == (SAFE, False)
    assert len(list((cache / "kernels").iterdir())) == 2


@pytest.mark.parametrize("threads", [1, 2])
def test_a_large_search_goes_on_with_optimized_code(
    threads: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The code is replaced in the middle of a level, and the next search begins with the better code."""
    monkeypatch.setenv("ISRCHECK_CACHE", str(tmp_path))
    monkeypatch.setattr(compiled_kernel, "MANY_STATES", 100)
    monkeypatch.setattr(carrier, "CHUNK", 32)
    instance = registry.load("examples/two_phase_commit")[0].instance(None, {"resource_managers": 4})
    limits, messages = Limits(memory=MEMORY, threads=threads), list[str]()
    kernel = kernel_of(instance, messages.append)
    quick = kernel.expand
    for seconds in (9.0, None):  # in less than ten seconds, it does not compile anything else
        found = explore(instance, replace(limits, seconds=seconds), kernel=kernel)
        assert (found.distinct, found.generated, found.is_complete) == (1568, 8257, True)
        assert (kernel.expand is quick) == (kernel.optimize is not None) == (seconds is not None)
    assert messages == [
        "compiling examples/two_phase_commit (once for these bounds)",
        "compiling examples/two_phase_commit for a large search (once for these bounds)",
    ]
    assert kernel_of(instance, messages.append).optimize is None
    assert len(messages) == 2


def test_an_unwritable_cache_costs_only_time(mine: Path, tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("not a folder")
    code, _, err = check(mine, blocked / "cache")
    assert (code, f"compiling mine (uncached: {blocked}" in err) == (SAFE, True)
    assert blocked.read_text() == "not a folder"


@pytest.mark.parametrize("content", [exhaustive(0.0), 0.5, exhaustive(b"\x7fELF, of somebody else")])
def test_a_damaged_cache_is_rebuilt(mine: Path, tmp_path: Path, content: float | bytes) -> None:
    cache = tmp_path / "cache"
    assert check(mine, cache)[0] == SAFE
    (kernel,), (functions,) = (cache / "kernels").iterdir(), (cache / "functions").iterdir()
    for path in (kernel, functions):
        whole = path.read_bytes()
        path.write_bytes(content if isinstance(content, bytes) else whole[: int(len(whole) * content)])
    for says in (f"compiling mine again ({kernel} is damaged) ...\n", ""):
        code, out, err = check(mine, cache)
        assert (code, "HOLDS" in out, err) == (SAFE, True, says)
        assert kept(kernel) and kept(functions)


def test_reaching_the_memory_limit_is_undecided(tmp_path: Path) -> None:
    text = COUNTERS.replace("counters = bound(3", "counters = bound(9").replace("top = bound(3", "top = bound(9")
    text = text[: text.index("@always\n")] + text[text.index("@always\ndef total_is_the_sum") :]
    text = text.replace("@always_step(permitted=is_forgiven)", "@sometimes")
    written(tmp_path, text, "mine.py")
    code, out, _ = check(tmp_path, tmp_path / "cache", "--memory", "16M", "--continue")
    assert (code, bool(re.search(r"^UNDECIDED +total_is_the_sum", out, re.MULTILINE))) == (UNDECIDED, True)
    assert verdict_of(out) == f"UNDECIDED: the memory limit is reached; {searched_to(5)}"

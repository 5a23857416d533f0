"""`@always_possible`: stuck states, the least path to the first of them, and searches that cannot tell.

The stuck states of a small model are found by another way, too: a graph of networkx, and paths compared as they are
written.
"""

from __future__ import annotations

import json
import shlex
import sys
from pathlib import Path
from types import SimpleNamespace

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import isrcheck
from conformance.tests.support.engine import told, verdict_of
from conformance.tests.support.places import PROJECT
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
from isrcheck.checker.comparisons import matrix_record as matrix
from isrcheck.checker.explicit import explore as search
from isrcheck.checker.explicit import liveness
from isrcheck.checker.explicit.carrier import Carrier
from isrcheck.checker.explicit.explore import explore
from isrcheck.checker.explicit.liveness import PathTo, spread_backward
from isrcheck.checker.results.exploration import Exploration, Finding, StepPath
from isrcheck.checker.results.kernel_results import EntryKind
from isrcheck.checker.results.verdict import Word, verdicts
from isrcheck.commands.exit_codes import DISAGREE, INTERRUPTED, SAFE, STUCK, UNDECIDED, VIOLATED
from isrcheck.models import registry, run
from isrcheck.models.language.declarations import Kind
from isrcheck.models.language.model import Instance, Model, Property
from isrcheck.models.messages import UsageError
from isrcheck.models.run import Cells
from isrcheck.testing import find, judged_walks, state_machine
from isrcheck.traces.cli import main as trace
from isrcheck.traces.format import certify as certifying
from isrcheck.traces.format.certify import certify
from isrcheck.traces.format.files import recheck
from isrcheck.traces.terminal.walk import Walk


def stuck_findings(instance: Instance, prop: Property) -> tuple[Finding, Finding]:
    """The stuck states that violate the property, and those in which that is permitted, each with the least path."""
    graph: nx.DiGraph[Cells] = nx.DiGraph()
    least = {cells: StepPath(number, ()) for number, cells in reversed(list(enumerate(instance.initial_states)))}
    level = dict(least)
    graph.add_nodes_from(level)
    while level:
        offered: dict[Cells, list[StepPath]] = {}
        for cells, path in level.items():
            for step, after in run.successors(instance, cells):
                graph.add_edge(cells, after)
                if after not in least:
                    offered.setdefault(after, []).append(StepPath(path.initial, (*path.steps, step.number)))
        level = {after: min(paths, key=lambda path: path.order) for after, paths in offered.items()}
        least |= level
    goals = {cells for cells in graph if run.holds(instance, prop, cells)}
    stuck = set(graph) - goals - {before for goal in goals for before in nx.ancestors(graph, goal)}
    excused = {cells for cells in stuck if run.is_permitted(instance, prop, cells)}
    return _first(stuck - excused, least), _first(excused, least)


def _first(stuck: set[Cells], least: dict[Cells, StepPath]) -> Finding:
    return Finding(len(stuck), min((least[cells] for cells in stuck), key=lambda path: path.order, default=None))


MEMORY = 1 << 28

GRAPHS = model(
    '"""Somebody walks through a random graph, with two ways out of each node."""\n',
    "from random import Random\n",
    entries('nodes = bound(9, "nodes")', 'graph = setting(0, "which graph", most=127)'),
    domain("Node", '"nodes"'),
    domain("Way", 2),
    state(
        "here: Node",
        "target[Node, Way]: optional(Node), initially=NONE",
        "is_goal[Node]: Flag",
        "is_excused[Node]: Flag",
    ),
    define(
        "initial",
        "somewhere(configuration)",
        "chance, nodes = Random(configuration.graph), range(configuration.nodes)",
        "graph = {",
        '    "target": [[chance.choice([NONE, NONE, *nodes]) for _ in range(2)] for _ in nodes],',
        '    "is_goal": [chance.random() < 0.15 for _ in nodes],',
        '    "is_excused": [chance.random() < 0.3 for _ in nodes],',
        "}",
        "for here in chance.sample(nodes, 3):",
        '    yield {"here": here, **graph}',
    ),
    action("walks(s, way: Way)", "require(s.target[s.here][way] != NONE)", "s.here = s.target[s.here][way]"),
    helper("excused(s)", "s.is_excused[s.here]"),
    claim("always_possible(permitted=excused)", "a_goal_is_ahead(s)", "s.is_goal[s.here]"),
)

WALK = model(
    '"""A walker on a line of places. Beyond place {far} there is no way back."""\n',
    entries('closed = setting(0, "whether the way back is closed", most=1)'),
    state("place: between(0, 9)"),
    action("goes_on(s)", "require(s.place < 9)", "s.place = s.place + 1"),
    action(
        "goes_back(s)",
        "require(0 < s.place)",
        "require(s.place < {far})",
        "require(s.closed == 0)",
        "s.place = s.place - 1",
    ),
    "{more}"
    + define("always_possible", "home_is_ahead(s)", '"""The walker can still go home."""', "return s.place == 0"),
    claim("terminal", "may_end(s)", "True"),
)


def walk(far: int, more: str = "") -> str:
    return WALK.replace("{far}", str(far)).replace("{more}", more)


@pytest.fixture(scope="module")
def graphs(tmp_path_factory: pytest.TempPathFactory) -> Model:
    return registry.load_file(write_model(tmp_path_factory.mktemp("graphs") / "graphs.py", GRAPHS))


def write(text: str) -> None:
    write_model(Path("walk.py"), text)


@pytest.fixture
def check(check):
    """Runs `check` in a folder with the walker's model, who cannot go back beyond place 7."""
    write(walk(far=7))
    return check


@pytest.fixture
def searched(tmp_path, limits):
    def search(text: str, depth: int | None = None) -> Exploration:
        instance = registry.load_file(write_model(tmp_path / "walk.py", text)).instance()
        return explore(instance, limits(depth, MEMORY, None))

    return search


def texts(exploration: Exploration) -> list[str]:
    return [verdict.text for verdict in verdicts(exploration)]


# ------------------------------------------------------------------------------------------------- the same by networkx


@pytest.mark.sampled
def test_stuck_states_are_those_of_networkx(graphs, limits):
    words = []
    for seed in range(128):
        instance = graphs.instance(None, {"graph": seed})
        exploration = explore(instance, limits(None, MEMORY, None))
        found = exploration.findings["a_goal_is_ahead"]
        assert (found.found, found.permitted) == stuck_findings(instance, instance.properties[0]), seed
        assert found.unjudged == ""
        words.append(verdicts(exploration)[0].word)
    assert [words.count(word) for word in (Word.VIOLATED, Word.PERMITTED, Word.HOLDS)] == [67, 3, 58]


def test_counting_everything_and_wanting_permitted_failures_change_nothing(graphs, limits):
    for seed in range(8):
        instance = graphs.instance(None, {"graph": seed})
        plain = explore(instance, limits(None, MEMORY, None)).findings
        assert explore(instance, limits(None, MEMORY, None), count_all=True).findings == plain
        assert explore(instance, limits(None, MEMORY, None), want_permitted=True).findings == plain


def test_following_transitions_backward():
    def marked(count: int, first: list[int], transitions: list[tuple[int, int]]) -> list[int]:
        possible = np.zeros(count, bool)
        possible[first] = True
        sources, targets = (np.array(side, np.uint32) for side in zip(*transitions, strict=True))
        spread_backward(possible, sources, targets)
        return np.flatnonzero(possible).tolist()

    assert marked(5, [4], [(0, 1), (1, 2), (2, 4), (3, 3)]) == [0, 1, 2, 4]
    assert marked(5, [0], [(1, 0), (1, 0), (2, 1), (3, 1), (2, 3), (4, 4)]) == [0, 1, 2, 3]
    assert marked(3, [], [(0, 1), (1, 0)]) == []
    assert marked(3, [2], [(0, 1), (1, 0)]) == [2]
    assert marked(1001, [1000], [(one, one + 1) for one in range(1000)]) == list(range(1001))


# ------------------------------------------------------------------------------------------------------ exact histories

LASSO = "@action\ndef turns_round(s):\n    require(s.place >= 8)\n    s.place = 17 - s.place\n\n"


BACK_TO_9 = LASSO.replace(">= 8", "== 9").replace("17 - s.place", "9")


@pytest.mark.parametrize(
    ("text", "stuck", "depth"),
    [
        pytest.param(walk(far=7), 3, 7, id="a deadlock"),
        pytest.param(walk(far=9, more=BACK_TO_9), 1, 9, id="a loop of one state"),
        pytest.param(walk(far=8, more=LASSO), 2, 8, id="a livelock is stuck although it goes on for ever"),
    ],
)
def test_states_without_a_way_back_are_stuck(searched, text, stuck, depth):
    exploration = searched(text)
    assert exploration.findings["home_is_ahead"].found == Finding(stuck, StepPath(0, (0,) * depth))
    assert texts(exploration) == [f"VIOLATED at step {depth}"]


def test_a_single_way_back_is_enough(searched):
    way = "@action\ndef is_rescued(s):\n    require(s.place == 9)\n    s.place = 6\n\n"
    assert texts(searched(walk(far=7, more=way))) == ["HOLDS"]
    assert texts(searched(walk(far=7, more=way.replace("s.place = 6", "s.place = 7")))) == ["VIOLATED at step 7"]


def test_the_first_of_several_stuck_states_comes_by_the_least_path(searched):
    doors = "".join(
        f"@action\ndef door_{number}(s):\n    require(s.place == {place})\n    s.place = {target}\n\n"
        for number, (place, target) in enumerate([(2, 9), (1, 8), (1, 9), (1, 7)])
    )
    # Steps 0 and 1 are goes_on and goes_back, steps 2 to 5 the doors: 3 leads to place 8 by the least path.
    exploration = searched(walk(far=7, more=doors))
    assert exploration.findings["home_is_ahead"].found == Finding(3, StepPath(0, (0, 3)))


def test_an_initial_state_can_be_stuck(searched):
    start = "@initial\ndef away(c):\n    yield {'place': 9}\n\n"
    exploration = searched(walk(far=7, more=start))
    assert exploration.findings["home_is_ahead"].found == Finding(1, StepPath(0, ()))
    assert texts(exploration) == ["VIOLATED at step 0"]


# -------------------------------------------------------------------------------------------- searches that cannot tell


def test_a_bounded_search_does_not_tell(searched):
    says = "it needs every reachable state, and 1 state was not expanded"
    assert searched(walk(far=7), depth=8).findings["home_is_ahead"].found == Finding()
    verdicts_to = {depth: texts(searched(walk(far=7), depth=depth)) for depth in (8, 9, 10)}
    assert verdicts_to == {8: [f"UNDECIDED ({says})"], 9: [f"UNDECIDED ({says})"], 10: ["VIOLATED at step 7"]}


def test_a_decided_promise_does_not_end_the_search(searched):
    more = "@always\ndef stays_near(s):\n    return s.place < 2\n\n"
    assert texts(searched(walk(far=7, more=more))) == ["VIOLATED at step 2", "VIOLATED at step 7"]


NEAR = "@always\ndef stays_near(s):\n    return s.place < 10\n\n"


@pytest.mark.parametrize("limit", ["memory", "time"])
def test_a_limit_while_paths_are_followed_backward(searched, monkeypatch, limit):
    def judge(carrier: Carrier, path: PathTo) -> None:
        if limit == "time":
            carrier.context.deadline = 0.0
        liveness.judge_whole(carrier, path)

    monkeypatch.setattr(search, "judge_whole", judge)
    if limit == "memory":
        monkeypatch.setattr(liveness, "BYTES_OF_TRANSITION", MEMORY)
    exploration = searched(walk(far=7, more=NEAR))
    says = f"the {limit} limit is reached while paths are followed backward"
    assert (exploration.stopped, texts(exploration)) == (None, ["HOLDS", f"UNDECIDED ({says})"])


def test_ctrl_c_while_paths_are_followed_backward(searched, check, monkeypatch):
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(liveness, "stuck_states", interrupted)
    exploration = searched(walk(far=7))
    assert exploration.stopped == "interrupt"
    assert texts(exploration) == ["UNDECIDED (interrupt; the search ended before paths were followed backward)"]
    assert check("walk.py")[0] == INTERRUPTED


def test_a_property_that_cannot_be_evaluated_counts_as_true_there(searched):
    doors = "class Door(Domain, size=9):\n    pass\n\nclass State:\n    door = field(Door, values=Flag, initially=True)"
    text = walk(far=7).replace("return s.place == 0", "return s.door[s.place] and s.place == 0")
    exploration = searched(text.replace("class State:", doors))
    assert texts(exploration) == ["UNDECIDED (it cannot be evaluated at step 9)", "VIOLATED at step 9"]
    findings = exploration.findings["home_is_ahead"]
    assert (findings.found, findings.erred) == (Finding(), Finding(1, StepPath(0, (0,) * 9)))


# ------------------------------------------------------------------------------------------------------------- reports


def test_the_report_says_that_no_path_leads_on(check, capsys):
    code, out, err = check("walk.py", "--details")
    lines = out.splitlines()
    assert (code, err) == (STUCK, "")
    assert "home_is_ahead  VIOLATED at step 7  3  stuck states" in lines
    assert lines[-1] == "VIOLATED: home_is_ahead at step 7: from there, no path leads to a state in which it is true"
    (show,) = (line for line in lines if "trace show" in line)
    assert trace(shlex.split(show)[2:]) == 0
    shown = capsys.readouterr().out.splitlines()
    assert "VIOLATED at step 7: home_is_ahead: The walker can still go home." in shown
    assert "From here, no path leads to a state in which home_is_ahead is true: 2 other states can follow." in shown
    assert "reproduce: check walk.py" in shown


def test_the_report_of_a_bounded_search_is_undecided(check):
    code, out, _ = check("walk.py", "--bound", "3")
    says = "it needs every reachable state, and 1 state was not expanded"
    assert (code, verdict_of(out)) == (3, f"UNDECIDED: home_is_ahead: {says}")
    code, run = told(check, "walk.py", "--bound", "3")
    (found,) = run["properties"]
    assert (found["kind"], found["verdict"], found["message"]) == ("always_possible", "UNDECIDED", says)


def test_the_object_of_a_stuck_state(check):
    code, run = told(check, "walk.py")
    (found,) = run["properties"]
    assert (code, found["verdict"], found["depth"], found["violating"]) == (STUCK, "VIOLATED", 7, 3)
    assert json.loads(Path(found["trace"]).read_text())["#meta"]["isrcheck"]["command"] == "check walk.py"


PROMISE = "@always\ndef stays_near(s):\n    return s.place < 9\n\n"
GOAL = "@sometimes\ndef flies(s):\n    return s.place > 9\n\n"
EXCUSED = "def excused(s):\n    return s.place >= 7\n\n"


@pytest.mark.parametrize(
    ("more", "words", "code"),
    [
        pytest.param("", (), STUCK, id="only a stuck state"),
        pytest.param(PROMISE, (), VIOLATED, id="a broken promise comes first"),
        pytest.param(GOAL, (), STUCK, id="before a state that cannot be reached"),
        pytest.param(PROMISE.replace("< 9", "< 10"), ("--prove",), STUCK, id="before a promise that is not proved"),
        pytest.param(EXCUSED, (), SAFE, id="permitted"),
        pytest.param(EXCUSED, ("--strict",), STUCK, id="permitted, with --strict"),
        pytest.param(EXCUSED + PROMISE, ("--strict",), VIOLATED, id="permitted, together with a broken promise"),
        pytest.param(EXCUSED.replace("7", "8"), ("--strict",), STUCK, id="some of them permitted"),
    ],
)
def test_exit_codes(check, more, words, code):
    text = walk(far=7, more=more)
    write(text.replace("@always_possible\n", "@always_possible(permitted=excused)\n") if "excused" in more else text)
    assert check("walk.py", *words)[0] == code


def test_other_engines_say_that_they_do_not_judge_it(check):
    write(walk(far=7, more=PROMISE))
    code, run = told(check, "walk.py", "--engine", "z3", "--bound", "10")
    promise, possible = run["properties"]
    assert (code, promise["verdict"], possible["verdict"]) == (12, "VIOLATED", "UNDECIDED")
    assert possible["message"] == "Z3 does not judge always_possible; use --engine local"
    code, out, _ = check("walk.py", "--engine", "all", "--bound", "10", "--details")
    assert code == VIOLATED
    assert "home_is_ahead  VIOLATED at step 7  3  stuck states" in out
    assert "the engines agree on every property to depth 9, except home_is_ahead: Z3 does not judge" in out
    code, out, _ = check("walk.py", "--prove", "--set", "closed=1")
    assert "  home_is_ahead: Z3 does not prove always_possible; the search judges it" in out.splitlines()


@pytest.mark.parametrize(
    ("state", "says"),
    [
        pytest.param(3, "home_is_ahead is not broken at step 3 (goes_on)", id="it is not stuck"),
        pytest.param(8, "home_is_ahead is VIOLATED already at step 7 (goes_on)", id="an earlier state is stuck"),
    ],
)
def test_a_false_alarm_of_the_explorer_does_not_survive(check, monkeypatch, state, says):
    stuck = {EntryKind.FOUND: np.array([state]), EntryKind.PERMITTED: np.array([], int)}
    monkeypatch.setattr(liveness, "stuck_states", lambda states, number: stuck)
    code, _, err = check("walk.py")
    assert code == DISAGREE
    assert "plain Python does not confirm the path" in err and says in err


def test_more_states_than_plain_python_searches(check, monkeypatch, capsys):
    monkeypatch.setattr(certifying, "MOST_STATES", 2)
    code, out, _ = check("walk.py")
    assert code == STUCK
    (show,) = (line for line in out.splitlines() if "trace show" in line)
    trace(shlex.split(show)[1:])
    says = "says the checker; not certified here: more than 2 states can follow."
    shown = " ".join(capsys.readouterr().out.split())
    assert f"From here, no path leads to a state in which home_is_ahead is true, {says}" in shown


def test_a_trace_is_rechecked_and_not_sliced(check, capsys):
    _, run = told(check, "walk.py")
    file = Path(run["properties"][0]["trace"])
    assert recheck(file, Path("walk.py")).says == "the model allows it: home_is_ahead is VIOLATED after 7 steps"
    assert trace(["slice", str(file), "--model", "walk.py"]) == 2
    assert "home_is_ahead is @always_possible, whose failure depends on what follows" in capsys.readouterr().err
    write(walk(far=9))
    says = "its steps are possible, but home_is_ahead is no longer VIOLATED after them"
    assert recheck(file, Path("walk.py")).says == says


def test_a_trace_that_many_states_follow_is_not_rechecked(check, monkeypatch):
    _, run = told(check, "walk.py")
    monkeypatch.setattr(certifying, "MOST_STATES", 2)
    with pytest.raises(UsageError, match="states can follow its steps, too many to search for one in which home_is_"):
        recheck(Path(run["properties"][0]["trace"]), Path("walk.py"))


def test_counterexamples_with_other_causes_are_not_sought(check):
    code, out, _ = check("walk.py", "--counterexamples", "3")
    assert code == STUCK
    assert "home_is_ahead: only the first counterexample; causes of always_possible are not compared" in out


def test_the_graph_marks_stuck_states(check):
    code, out, _ = check("graph", "walk.py", "-o", "walk.html")
    assert (code, "VIOLATED: home_is_ahead in 3 states" in out.splitlines()) == (0, True)
    code, out, _ = check("graph", "walk.py", "--bound", "8", "-o", "part.html")
    says = "not judged: home_is_ahead: it needs every reachable state; leave --bound out"
    assert (code, says in out.splitlines(), "VIOLATED" in out) == (0, True, False)


# ----------------------------------------------------------------------------------------------------------- an example

CRASH = '''@action
def manager_crashes(s):
    """The transaction manager crashes for good before it has decided."""
    require(s.decision == Decision.OPEN)
    s.is_down = True


'''


@pytest.mark.parametrize(("managers", "stuck", "states"), [(1, 2, 16), (2, 12, 72), (3, 56, 352)])
def test_two_phase_commit_blocks_when_the_manager_crashes(check, managers, stuck, states):
    text = (PROJECT / "models" / "examples" / "two_phase_commit.py").read_text()
    text = text.replace(
        "    decision = field(values=Decision)\n",
        "    decision = field(values=Decision)\n    is_down = field(values=Flag)\n",
    )
    text = text.replace("@action\ndef manager_commits", CRASH + "@action\ndef manager_commits")
    for name in ("manager_commits(s):", "manager_aborts(s):", "manager_receives_prepared(s, rm: ResourceManager):"):
        head, body = text.split(f"def {name}\n")
        doc, rest = body.split('"""\n', 1)
        text = f'{head}def {name}\n{doc}"""\n    require(not s.is_down)\n{rest}'
    text = text.replace("import Domain, Flag, action,", "import Domain, Flag, action, always_possible,")
    text += '''

@always_possible
def everyone_can_decide(s):
    """Every resource manager can still commit or abort."""
    return all(s.phase[rm] >= Phase.COMMITTED for rm in range(s.resource_managers))
'''
    write(text)
    code, run = told(check, "walk.py", "--resource-managers", str(managers))
    found = run["properties"][-1]
    assert (code, found["name"], found["depth"], found["violating"], run["distinct"]) == (
        STUCK,
        "everyone_can_decide",
        2,
        stuck,
        states,
    )
    # Each manager is working, has aborted, or is prepared with its message sent or received; one at least is prepared.
    assert stuck == 4**managers - 2**managers


# ---------------------------------------------------------------------------------------------------- other commands


def test_a_sweep_names_the_command_that_shows_the_stuck_state(check):
    way = "@action\ndef is_rescued(s):\n    require(s.place == 9)\n    require(s.closed == 0)\n    s.place = 6\n\n"
    write(walk(far=7, more=way))
    code, out, _ = check("sweep", "walk.py", "--vary", "closed=0,1")
    assert code == STUCK
    assert "  home_is_ahead: VIOLATED at step 1\n  check walk.py --set closed=1\n" in out
    assert out.splitlines()[-1] == "VIOLATED: in 1 of 2 configurations: home_is_ahead"
    code, out, _ = check("sweep", "walk.py", "--vary", "closed=0,1", "--bound", "3")
    assert (code, out.splitlines()[-1]) == (3, "UNDECIDED: in 2 of 2 configurations")


@pytest.mark.exhaustive  # sessions of Spark
@pytest.mark.parametrize(
    ("words", "verdict"),
    [
        pytest.param((), "VIOLATED", id="nothing is left to divide"),
        pytest.param(("--split-depth", "2"), "UNDECIDED", id="parts", marks=pytest.mark.recorded),
        pytest.param(("--spark-mode", "search"), "UNDECIDED", id="one search", marks=pytest.mark.recorded),
    ],
)
def test_spark_judges_it_only_if_nothing_is_divided(check, words, verdict, monkeypatch):
    # Java needs a real stderr, if this test is the first to start it.
    monkeypatch.setattr(sys, "stderr", sys.__stderr__)
    code, out, _ = check("walk.py", "--engine", "spark", "--master", "local[2]", *words, "--json")
    (run,) = json.loads(out)["runs"]
    (found,) = run["properties"]
    assert (code, found["verdict"]) == (UNDECIDED if verdict == "UNDECIDED" else STUCK, verdict)
    if verdict == "UNDECIDED":
        assert found["message"] == "Spark does not judge always_possible; use --engine local"


def test_mutants_that_make_a_state_stuck_are_killed(check):
    door = "@action\ndef closes(s):\n    require(s.place > 9)\n    s.place = 9\n\n"
    write(walk(far=10, more=door))
    code, out, _ = check("mutate", "walk.py")
    assert code == 0
    (line,) = (line for line in out.splitlines() if "without s.place > 9" in line)
    # It only leads to a place from which the way back is still open.
    assert "survives" in line
    write(walk(far=9, more=door).replace("require(0 < s.place)", "require(s.place > 0)"))
    assert "killed by home_is_ahead at step 1 (unmutated at step 9)" in check("mutate", "walk.py")[1]


@pytest.mark.usefixtures("check")
def test_python_code_gets_the_same():
    result = isrcheck.check("walk.py")
    found = result.properties["home_is_ahead"]
    assert (result.verdict, result.exit_code, result.is_safe) == ("VIOLATED", 13, False)
    assert (found.kind, found.verdict, found.depth, found.violating) == ("always_possible", "VIOLATED", 7, 3)
    assert found.trace is not None and len(found.trace) == 7
    bounded = isrcheck.check("walk.py", bound=3)
    assert (bounded.verdict, bounded.is_safe) == ("UNDECIDED", False)


class Walker:
    """A system that walks as the model does."""

    def begin(self, trace):
        self.place = 0

    def take(self, step):
        self.place += 1 if step.action == "goes_on" else -1

    def observe(self):
        return {"place": self.place}


@pytest.mark.sampled
@pytest.mark.usefixtures("check")
def test_a_watched_property_fails_only_in_a_stuck_state():
    for far, broken in ((2, "home_is_ahead"), (10, None)):
        write(walk(far=far))
        machine = state_machine(isrcheck.load("walk.py").instance(), Walker, properties=["home_is_ahead"], steps=20)
        failure = find(machine, examples=60)
        assert (failure and failure.broken) == broken
        assert failure is None or failure.trace.states[-1] == {"place": far}


@settings(max_examples=30, deadline=None)
@given(data=st.data())
def test_drawn_traces_end_in_the_first_stuck_state(graphs, data):
    instance = graphs.instance(None, {"graph": data.draw(st.integers(0, 127))})
    drawn = data.draw(judged_walks(instance, "a_goal_is_ahead"))
    certify(drawn.certified)
    assert drawn.verdict in ("VIOLATED", "PERMITTED", "HOLDS ON THIS PATH")


def test_a_walk_by_hand_tells_when_it_is_too_late(tmp_path):
    walked = Walk(registry.load_file(write_model(tmp_path / "walk.py", walk(far=3))).instance(), "")
    words = []
    for _ in range(5):
        walked.take(walked.options()[0])
        words.append(walked.statuses()[0].verdict)
    assert words == [None, None, "VIOLATED", "VIOLATED", "VIOLATED"]


@pytest.mark.parametrize(
    ("kind", "judged", "exhausted", "shows"),
    [
        (Kind.ALWAYS, 7, False, True),
        (Kind.ALWAYS, 6, False, False),
        (Kind.ALWAYS_POSSIBLE, 7, False, False),
        (Kind.ALWAYS_POSSIBLE, 9, True, True),
    ],
)
def test_the_matrix_expects_a_recorded_stuck_state_only_of_a_complete_search(kind, judged, exhausted, shows):
    run = SimpleNamespace(explored=SimpleNamespace(judged=judged, exhausted=exhausted))
    verdict = SimpleNamespace(prop=SimpleNamespace(kind=kind))
    assert matrix.could_show(run, verdict, 7) == shows


def test_a_report_has_the_stuck_state(check):
    assert check("walk.py", "--report", "shown")[0] == STUCK
    (run,) = json.loads(Path("shown/results.sarif").read_text())["runs"]
    (invocation,) = run["invocations"]
    says = "no path leads from some state to a state that must stay reachable"
    assert (invocation["exitCode"], invocation["exitCodeDescription"]) == (13, says)
    assert invocation["executionSuccessful"]
    assert [one["ruleId"] for one in run["results"]] == ["walk/home_is_ahead"]
    assert '<failure message="VIOLATED at step 7' in Path("shown/junit.xml").read_text()
    assert "2 other states can follow" in next(Path("shown").rglob("walk_home*.html")).read_text()

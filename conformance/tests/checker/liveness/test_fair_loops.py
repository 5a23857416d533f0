"""Liveness against an independent answer: every set of states of small random graphs is tried for a fair loop."""

from __future__ import annotations

from collections import Counter

import pytest

from conformance.tests.checker.liveness.fair_behaviours import repeated
from isrcheck.checker.explicit import liveness as fair_loops
from isrcheck.checker.explicit.explore import explore
from isrcheck.checker.resources.limits import Limits
from isrcheck.checker.results.exploration import Finding, Findings, StepPath
from isrcheck.models import registry
from isrcheck.models.language.model import Model
from isrcheck.traces.format.certify import from_steps

MEMORY = 1 << 28

GRAPHS = '''"""Somebody walks through a random graph, along red, green and blue edges."""

from random import Random

from isrcheck.language import NONE, Domain, Flag, action, always_eventually, any_action, bound, eventually
from isrcheck.language import eventually_always, field, initial, leads_to, optional, require, setting, weak_fairness


class Configuration:
    nodes = bound(7, "nodes")
    graph = setting(0, "which graph", most=127)


class Node(Domain, size="nodes"):
    pass


class Way(Domain, size=4):
    pass


class Blue(Domain, size=2):
    pass


class State:
    here = field(values=Node)
    target = field(Node, Way, values=optional(Node), initially=NONE)
    is_goal = field(Node, values=Flag)
    is_asked = field(Node, values=Flag)
    is_excused = field(Node, values=Flag)


@initial
def somewhere(configuration):
    chance, nodes = Random(configuration.graph), range(configuration.nodes)
    graph = {
        "target": [[chance.choice([NONE, *nodes] + [node] * 2 + [NONE] * 4) for _ in range(4)] for node in nodes],
        "is_goal": [chance.random() < 0.5 for _ in nodes],
        "is_asked": [chance.random() < 0.3 for _ in nodes],
        "is_excused": [chance.random() < 0.2 for _ in nodes],
    }
    for here in chance.sample(nodes, 2):
        yield {"here": here, **graph}


def goes(s, way):
    s.here = s.target[s.here][way]


@action(fair=True)
def red(s):
    require(s.target[s.here][0] != NONE)
    goes(s, 0)


@action
def green(s):
    require(s.target[s.here][1] != NONE)
    goes(s, 1)


@action(fair="way")
def blue(s, way: Blue):
    require(s.target[s.here][2 + way] != NONE)
    goes(s, 2 + way)


def excused(s):
    return s.is_excused[s.here]


def asked(s):
    return s.is_asked[s.here]


'''

KINDS = ("eventually", "leads_to", "always_eventually", "eventually_always")
FAIR = {
    "by_the_actions": "",
    "without": "fair=[]",
    "next": "fair=any_action",
    "two": "fair=[red, green]",
    "either": "fair=weak_fairness(red, 'green')",
    "each": "fair=[weak_fairness(blue, each='way'), green]",
    "excused": "fair=[blue], permitted=excused",
}


def text() -> str:
    found = GRAPHS
    for kind in KINDS:
        for name, fair in FAIR.items():
            words = ", ".join([*(["when=asked"] if kind == "leads_to" else []), *([fair] if fair else [])])
            found += f"@{kind}({words})\ndef {kind}_{name}(s):\n    return s.is_goal[s.here]\n\n\n"
    return found


@pytest.fixture(scope="module")
def graphs(tmp_path_factory) -> Model:
    path = tmp_path_factory.mktemp("graphs") / "graphs.py"
    path.write_text(text())
    return registry.load_file(path)


def words(findings: Findings) -> tuple[tuple[str, Finding], ...]:
    """What was found about a property, with the verdict on each trace."""
    return ("VIOLATED", findings.found), ("PERMITTED", findings.permitted)


def check_graph(model: Model, graph: int, threads: int = 1) -> int:
    """Compare all properties on one graph; return how many are violated."""
    instance = model.instance(None, {"graph": graph})
    found = explore(instance, Limits(None, MEMORY, None, threads), only=())
    broken = 0
    for prop in instance.properties:
        findings, expected = found.findings[prop.name], repeated(instance, prop)
        where = f"{prop.name} in graph {graph}"
        broken += bool(expected[0].states)
        for (word, finding), answer in zip(words(findings), expected, strict=True):
            assert finding.count == len(answer.states), where
            assert (finding.path is None) == (answer.begin is None), where
            if finding.path is not None:
                path = finding.path
                trace = from_steps(instance, path.initial, path.steps, prop.name, "", word, path.loop)
                assert trace.loop == path.loop
                assert path.depth in answer.lengths, where
                # A behaviour that stays where it is may need fewer steps than a loop that begins earlier.
                assert path.loop in (answer.begin, path.depth), where
    return broken


def test_every_kind_and_fairness_on_random_graphs(graphs):
    assert sum(check_graph(graphs, graph) for graph in range(12)) == 195


def lassos(model: Model, graph: int) -> list[StepPath]:
    """The lassos of all properties on one graph, certified."""
    instance = model.instance(None, {"graph": graph})
    found = explore(instance, Limits(None, MEMORY), only=()).findings
    paths = [(name, word, one.path) for name, both in found.items() for word, one in words(both)]
    for name, word, path in paths:
        if path is not None:
            from_steps(instance, path.initial, path.steps, name, "", word, path.loop)
    return [path for _, _, path in paths if path is not None]


def test_a_search_without_room_meets_one_requirement_after_the_other(graphs, monkeypatch):
    """The lassos are certified all the same, and some are longer."""
    shortest = [path for graph in range(12) for path in lassos(graphs, graph)]
    monkeypatch.setattr(fair_loops, "ROOM", 1)
    others = [path for graph in range(12) for path in lassos(graphs, graph)]
    longer = [after.depth - before.depth for before, after in zip(shortest, others, strict=True)]
    assert Counter(longer) == {0: 209, 1: 3, 2: 1}


@pytest.mark.exhaustive
def test_many_random_graphs(graphs):
    for graph in range(12, 64):
        check_graph(graphs, graph, threads=1 + graph % 2)

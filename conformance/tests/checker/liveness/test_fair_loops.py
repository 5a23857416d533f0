"""Liveness against an independent answer in plain Python, for graphs of few states.

Every set of states of small random graphs is tried: a behaviour can repeat exactly these states for ever if each can be
reached from each within the set, and for each fair group some step within the set belongs to it, or some state of the
set disables it; if fairness is strong, every state of the set. The shortest loop from a state is found by a search of
pairs: a state, and what the loop has met and enabled on the way there.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import networkx as nx
import pytest

from conformance.tests.support.small_models import action, define, domain, entries, helper, model, state, write_model
from isrcheck.checker.explicit import liveness as fair_loops
from isrcheck.checker.explicit.explore import explore
from isrcheck.checker.resources.limits import Limits
from isrcheck.checker.results.exploration import Finding, Findings, StepPath
from isrcheck.models import registry, run
from isrcheck.models.fair_groups import FairGroup, groups_of
from isrcheck.models.language.declarations import Kind
from isrcheck.models.language.model import Instance, Model, Property
from isrcheck.models.run import Cells
from isrcheck.traces.format.certify import from_steps

Edges = dict[Cells, list[tuple[int, Cells]]]


@dataclass(frozen=True)
class Repeated:
    """The states that behaviours which break a property repeat for ever.

    `begin` is the fewest steps to one of them. `lengths` are those of the lassos that can be reported: the path to a
    state after `begin` steps with a shortest loop, unless a path to a state in which the behaviour stays is as short.
    """

    states: frozenset[Cells]
    begin: int | None
    lengths: frozenset[int]


def repeated(instance: Instance, prop: Property) -> tuple[Repeated, Repeated]:
    """Return which states the behaviours that break a liveness property repeat: violations, and permitted failures."""
    edges = _edges(instance)
    fails = {cells for cells in edges if not run.holds(instance, prop, cells)}
    excused = {cells for cells in fails if run.is_permitted(instance, prop, cells)}
    depths = _depths(instance, prop, edges, fails)
    may = set(depths) & (set(edges) if prop.kind is Kind.EVENTUALLY_ALWAYS else fails)
    violating: set[Cells] = set()
    permitted: set[Cells] = set()
    for states in _fair_sets(instance, prop, edges, may):
        if states & fails:
            if not states & excused:
                violating |= states
            else:
                permitted |= states
    groups = groups_of(instance, prop)
    return (
        _repeated(violating, depths, _Loops(instance, edges, groups, may - excused, (fails,))),
        _repeated(permitted, depths, _Loops(instance, edges, groups, may, (fails, excused))),
    )


def _repeated(states: set[Cells], depths: dict[Cells, int], loops: _Loops) -> Repeated:
    if not states:
        return Repeated(frozenset(), None, frozenset())
    begin = min(depths[cells] for cells in states)
    stays = [depths[cells] for cells in states if loops.shortest(cells) == 0]
    lengths = {begin + loops.shortest(cells) for cells in states if depths[cells] == begin}
    return Repeated(frozenset(states), begin, frozenset(min([length, *stays]) for length in lengths))


@dataclass(frozen=True)
class _Loops:
    """The loops within some states that are fair to `groups`, and visit a state of each of `visits`."""

    instance: Instance
    edges: Edges
    groups: Sequence[FairGroup]
    within: set[Cells]
    visits: Sequence[set[Cells]]

    def shortest(self, begin: Cells) -> int:
        """The fewest steps of a loop from a state, which is known to be in one; 0 if the behaviour can stay there."""
        pairs = {(begin, self._met(begin))}
        steps = 0
        while not any(cells == begin and self._is_fair(met) for cells, met in pairs):
            steps += 1
            pairs |= {
                (
                    after,
                    met
                    | self._met(after)
                    | {("taken", one) for one in _taken(self.instance, self.groups, cells, step)},
                )
                for cells, met in pairs
                for step, after in self.edges[cells]
                if after in self.within
            }
        return steps

    def _met(self, cells: Cells) -> frozenset[object]:
        enabled = {one for step, _ in self.edges[cells] for one in _taken(self.instance, self.groups, cells, step)}
        noted = (("enabled" if one in enabled else "disabled", one) for one in self.groups)
        return frozenset([*noted, *(number for number, states in enumerate(self.visits) if cells in states)])

    def _is_fair(self, met: frozenset[object]) -> bool:
        return all(number in met for number in range(len(self.visits))) and all(
            ("taken", one) in met or (("enabled", one) not in met if one.is_strong else ("disabled", one) in met)
            for one in self.groups
        )


def _taken(instance: Instance, groups: Sequence[FairGroup], cells: Cells, step: int) -> Iterator[FairGroup]:
    """The groups to which a step from a state belongs."""
    for group in groups:
        if group.has(instance, cells, instance.step(step)):
            yield group


def _edges(instance: Instance) -> Edges:
    edges: Edges = {}
    waiting = list(instance.initial_states)
    while waiting:
        cells = waiting.pop()
        if cells not in edges:
            edges[cells] = [(step.number, after) for step, after in run.successors(instance, cells) if after != cells]
            waiting += (after for _, after in edges[cells])
    return edges


def _depths(instance: Instance, prop: Property, edges: Edges, fails: set[Cells]) -> dict[Cells, int]:
    """The fewest steps to each state, on paths along which the property is broken as far as its kind asks."""
    # A path is a sequence of pairs (state, whether the property has to be false from there on).
    begins = prop.kind is Kind.EVENTUALLY
    drawn = nx.DiGraph()
    for cells, found in edges.items():
        for asked in (False, True):
            for _, after in found:
                drawn.add_edge((cells, asked), (after, asked))
        if prop.premise is not None and cells in fails and run.asks(instance, prop, prop.premise, cells):
            drawn.add_edge((cells, False), (cells, True), asks=True)
    # Asking takes no step.
    for _, _, data in drawn.edges(data=True):
        data["length"] = 0 if data.get("asks") else 1
    drawn.remove_nodes_from([node for node in drawn if node[1] and node[0] not in fails])
    sources = {(cells, begins) for cells in instance.initial_states if not begins or cells in fails}
    drawn.add_nodes_from(sources)
    lengths = nx.multi_source_dijkstra_path_length(drawn, sources, weight="length") if sources else {}
    in_question = prop.kind in (Kind.EVENTUALLY, Kind.LEADS_TO)
    return {cells: length for (cells, asked), length in lengths.items() if asked == in_question}


def _fair_sets(instance: Instance, prop: Property, edges: Edges, may: set[Cells]) -> Iterator[set[Cells]]:
    groups = groups_of(instance, prop)
    for size in range(1, len(may) + 1):
        for chosen in itertools.combinations(sorted(may), size):
            states = set(chosen)
            inside = [(one, step, other) for one in states for step, other in edges[one] if other in states]
            drawn = nx.DiGraph([(one, other) for one, _, other in inside])
            drawn.add_nodes_from(states)
            if nx.is_strongly_connected(drawn):
                taken = {group for one, step, _ in inside for group in _taken(instance, groups, one, step)}
                enabled = [
                    {group for step, _ in edges[one] for group in _taken(instance, groups, one, step)} for one in states
                ]
                among = {group: any if group.is_strong else all for group in groups}
                if all(group in taken or not among[group](group in each for each in enabled) for group in groups):
                    yield states


MEMORY = 1 << 28

GRAPHS = model(
    '"""Somebody walks through a random graph, along red, green and blue edges."""\n',
    "from random import Random\n",
    entries('nodes = bound(7, "nodes")', 'graph = setting(0, "which graph", most=127)'),
    domain("Node", '"nodes"'),
    domain("Way", 4),
    domain("Blue", 2),
    state(
        "here: Node",
        "target[Node, Way]: optional(Node), initially=NONE",
        "is_goal[Node]: Flag",
        "is_asked[Node]: Flag",
        "is_excused[Node]: Flag",
    ),
    define(
        "initial",
        "somewhere(configuration)",
        "chance, nodes = Random(configuration.graph), range(configuration.nodes)",
        "graph = {",
        '    "target": [[chance.choice([NONE, *nodes, node, node] + [NONE] * 4) for _ in range(4)] for node in nodes],',
        '    "is_goal": [chance.random() < 0.5 for _ in nodes],',
        '    "is_asked": [chance.random() < 0.3 for _ in nodes],',
        '    "is_excused": [chance.random() < 0.2 for _ in nodes],',
        "}",
        "for here in chance.sample(nodes, 2):",
        '    yield {"here": here, **graph}',
    ),
    define("", "goes(s, way)", "s.here = s.target[s.here][way]"),
    define("action(fair=True)", "red(s)", "require(s.target[s.here][0] != NONE)", "goes(s, 0)"),
    action("green(s)", "require(s.target[s.here][1] != NONE)", "goes(s, 1)"),
    define(
        'action(fair="way")', "blue(s, way: Blue)", "require(s.target[s.here][2 + way] != NONE)", "goes(s, 2 + way)"
    ),
    helper("excused(s)", "s.is_excused[s.here]"),
    helper("asked(s)", "s.is_asked[s.here]"),
    helper("is_first(s, way: Blue)", "way == 0 and not s.is_asked[s.here]"),
)

KINDS = ("eventually", "leads_to", "always_eventually", "eventually_always")
FAIR = {
    "by_the_actions": "",
    "without": "fair=[]",
    "next": "fair=any_action",
    "two": "fair=[red, green]",
    "either": "fair=weak_fairness(red, 'green')",
    "each": "fair=[weak_fairness(blue, each='way'), green]",
    "excused": "fair=[blue], permitted=excused",
    "strong": "fair=strong_fairness(blue, each='way')",
    "both": "fair=[strong_fairness(red, green), strong_fairness(blue), weak_fairness(red)], permitted=excused",
    "where": "fair=[weak_fairness(blue, each='way', when=asked), weak_fairness(red, green)]",
    "strongly_where": "fair=[strong_fairness(blue, when=is_first), strong_fairness(red, 'green', when=asked)]",
}


def text() -> str:
    found = GRAPHS
    for kind in KINDS:
        for name, fair in FAIR.items():
            words = ", ".join([*(["when=asked"] if kind == "leads_to" else []), *([fair] if fair else [])])
            found += f"@{kind}({words})\ndef {kind}_{name}(s):\n    return s.is_goal[s.here]\n\n"
    return found


@pytest.fixture(scope="module")
def graphs(tmp_path_factory) -> Model:
    return registry.load_file(write_model(tmp_path_factory.mktemp("graphs") / "graphs.py", text()))


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


FEW_GRAPHS, BROKEN = 12, 288
"""The first graphs, and the properties that are broken on them in all, with each fairness."""


@pytest.mark.sampled
def test_every_kind_and_fairness_on_random_graphs(graphs):
    assert sum(check_graph(graphs, graph) for graph in range(FEW_GRAPHS)) == BROKEN


def lassos(model: Model, graph: int) -> list[StepPath]:
    """The lassos of all properties on one graph, certified."""
    instance = model.instance(None, {"graph": graph})
    found = explore(instance, Limits(None, MEMORY), only=()).findings
    paths = [(name, word, one.path) for name, both in found.items() for word, one in words(both)]
    for name, word, path in paths:
        if path is not None:
            from_steps(instance, path.initial, path.steps, name, "", word, path.loop)
    return [path for _, _, path in paths if path is not None]


@pytest.mark.sampled
def test_a_search_without_room_meets_one_requirement_after_the_other(graphs, monkeypatch):
    """The lassos are certified all the same, and some are longer."""
    shortest = [path for graph in range(FEW_GRAPHS) for path in lassos(graphs, graph)]
    monkeypatch.setattr(fair_loops, "ROOM", 1)
    others = [path for graph in range(FEW_GRAPHS) for path in lassos(graphs, graph)]
    longer = [after.depth - before.depth for before, after in zip(shortest, others, strict=True)]
    assert Counter(longer) == {0: 308, 1: 6, 2: 3, 3: 2}


@pytest.mark.recorded
def test_many_random_graphs(graphs):
    for graph in range(12, 64):
        check_graph(graphs, graph, threads=1 + graph % 2)

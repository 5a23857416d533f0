"""The state graph of a model: states, transitions, dead ends, strongly connected components, and failing properties.

Every state is a node, or all states with the same values of some fields are folded into one node.

The explorer finds the states, and then expands each state again to find its transitions. A dead end is an expanded
state without transitions; it violates `deadlock` unless the model may end there. States at the depth `--bound` are not
expanded; nor are states outside the model's constraint, but the steps that lead to them are drawn.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import networkx as nx
import numpy as np
from numpy.typing import NDArray

from isrcheck.checker.command.forms import GraphRequest
from isrcheck.checker.compile.kernel import Kernel, kernel_of
from isrcheck.checker.explicit.carrier import CHUNK, EVERY_STATE, KernelRunner, SearchContext, SingleThread
from isrcheck.checker.explicit.causes import ViolatingStates
from isrcheck.checker.explicit.explore import Search
from isrcheck.checker.explicit.liveness import LimitError, WholeSearch, stuck_states
from isrcheck.checker.explicit.visited_set import Batch, Full, VisitedSet
from isrcheck.checker.resources.limits import Limits
from isrcheck.checker.results.exploration import Progress
from isrcheck.checker.results.kernel_results import EntryKind, KernelResults
from isrcheck.checker.results.terminal import counted
from isrcheck.checker.results.verdict import WHY_STOPPED
from isrcheck.models import run
from isrcheck.models.language.declarations import WHOLE, Kind
from isrcheck.models.language.model import DEADLOCK, IN_RANGE, Instance, Property, Step
from isrcheck.models.messages import ModelError, UsageError, nearest
from isrcheck.models.run import Cells
from isrcheck.traces.format.trace import PERMITTED, VIOLATED, error_in, error_in_step, spell_part

Numbers = NDArray[np.int64]

MOST_STATES = 500_000
"""The most states that a folded graph can represent, because all their transitions are visited."""

MOST_COUNTED = 100_000
"""If there are too many states to draw, the search continues up to this many states to count them for the message."""


class CutShortError(Exception):
    """A limit ended the search before the graph was complete."""


@dataclass
class Node:
    """A state, or in a folded graph all states with the same values of the chosen fields."""

    number: int
    depth: int
    """The smallest depth of the states."""
    fields: dict[str, str]
    states: int = 0
    initial: int = 0
    """How many of the states are initial; the next three fields are such counts, too."""
    dead_ends: int = 0
    unexpanded: int = 0
    """At the bound."""
    outside: int = 0
    """Of the constraint."""
    failing: Counter[tuple[str, str]] = field(default_factory=Counter)
    """The number of states in which a property fails, by the property and its verdict."""
    component: int | None = None
    """The number of the node's strongly connected component, if that has several nodes."""


@dataclass
class Edge:
    """All steps from one node to another: how many steps each action has, and on how many steps a property fails."""

    actions: Counter[str] = field(default_factory=Counter)
    failing: Counter[tuple[str, str]] = field(default_factory=Counter)

    @property
    def label(self) -> str:
        """The names of the actions, each followed by the action's number of steps if above 1: `fetch x3`."""
        return ", ".join(f"{name} x{count}" if count > 1 else name for name, count in self.actions.items())


@dataclass(frozen=True)
class StateGraph:
    """The state graph of a model: its nodes and edges, and counts of states, transitions and components."""

    instance: Instance
    fold: tuple[str, ...]
    bound: int | None
    states: int
    """The number of states within the constraint."""
    transitions: int
    graph: nx.DiGraph[int]
    """The nodes are numbers with a Node as attribute; the edges have an Edge as attribute."""
    components: int
    """The number of strongly connected components of several nodes."""
    unjudged: tuple[str, ...] = ()
    """The properties that are not judged, because some states are not expanded."""

    def node(self, number: int) -> Node:
        """Return the node with this number."""
        node: Node = self.graph.nodes[number]["node"]
        return node

    def nodes(self) -> list[Node]:
        """Return the nodes in the order in which the search found them."""
        return [self.node(number) for number in sorted(self.graph)]

    def edges(self) -> list[tuple[int, int, Edge]]:
        """Return the edges as (number of the source, number of the target, edge), ordered by these numbers."""
        return sorted(((a, b, data["edge"]) for a, b, data in self.graph.edges(data=True)), key=lambda edge: edge[:2])

    @property
    def failing(self) -> dict[tuple[str, str], int]:
        """The number of failing states or transitions, by property and verdict."""
        counts: Counter[tuple[str, str]] = Counter()
        parts: list[Node | Edge] = [*self.nodes(), *(edge for _, _, edge in self.edges())]
        for part in parts:
            counts.update(part.failing)
        return dict(sorted(counts.items()))


def state_graph(
    instance: Instance,
    limits: Limits,
    kernel: Kernel,
    request: GraphRequest,
    report: Callable[[Progress], None] = lambda progress: None,
) -> StateGraph:
    """Search the states and build their graph. Raises UsageError if the graph is too large, CutShortError if a limit
    ends the search, and KeyboardInterrupt."""
    fold, most = request.fold, request.most
    for name in fold:
        if name not in instance.layouts:
            raise UsageError(
                f"--fold {name}: {instance.model.name} has no such field; {nearest(name, instance.layouts)}"
            )
    searched = replace(EVERY_STATE, enough=(MOST_STATES if fold else max(most, MOST_COUNTED)) + 1)
    search = Search(SearchContext(instance, limits, kernel, searched, report))
    search.run()
    _refuse_part(search, fold, most)
    try:
        made = _GraphBuilder(search, fold)
    except Full:
        raise CutShortError(
            f"{WHY_STOPPED['memory']} by states outside the constraint; give a smaller --bound, or raise --memory"
        ) from None
    if len(made.nodes) > most:
        outside = ", with those outside the constraint," if made.count > made.kept else ""
        raise UsageError(
            f"{made.count:,} states{outside} {'fold into' if fold else 'make'} {len(made.nodes):,} nodes, more than"
            f" {most:,}; {'fold by fewer fields' if fold else 'fold states by some fields'},"
            f" {_smaller_bound(search, most)}, or raise the limit with --at-most {len(made.nodes)}"
        )
    made.connect()
    made.judge()
    made.judge_range()
    return made.graph(request.loops)


def _refuse_part(search: Search, fold: Sequence[str], most: int) -> None:
    """Raise an error if the search did not reach all states within the bound: an incomplete graph would mislead."""
    result, limits = search.result, search.context.limits
    if result.stopped == "interrupt":
        raise KeyboardInterrupt
    if result.stopped is not None:
        raise CutShortError(
            f"{WHY_STOPPED[result.stopped]} at {result.distinct:,} states, and an incomplete graph would mislead; give"
            " a smaller --bound, or raise the limit with --memory or --seconds"
        )
    is_cut = result.frontier > 0 and (limits.depth is None or result.depth < limits.depth)
    count = f"{'more than ' if is_cut else ''}{result.distinct:,} states"
    if fold:
        if is_cut or result.distinct > MOST_STATES:
            raise UsageError(
                f"there are {count}, and at most {MOST_STATES:,} states can be folded;"
                f" {_smaller_bound(search, MOST_STATES)}"
            )
    elif is_cut or result.distinct > most:
        insist = "N" if is_cut else result.distinct
        field = next(iter(search.context.instance.layouts))
        raise UsageError(
            f"the graph has {count}, and the limit is {most:,};"
            f" {_smaller_bound(search, most)}, fold states by some fields, as in --fold {field},"
            f" or raise the limit with --at-most {insist}"
        )


def _smaller_bound(search: Search, most: int) -> str:
    """Return the advice for a graph that is too large: to give the largest --bound with at most `most` states."""
    states = np.cumsum(search.result.levels)
    depth = int(np.searchsorted(states, most, side="right")) - 1
    if depth < 0:
        return "choose a smaller configuration"
    return f"give a smaller --bound ({depth}: {counted(int(states[depth]), 'state')})"


class _GraphBuilder:
    def __init__(self, search: Search, fold: tuple[str, ...]) -> None:
        self.search = search
        self.instance = search.context.instance
        self.kernel = search.context.kernel
        self.visited = search.visited
        self.expanded = search.context.expanded
        self.fold = fold
        self.stuck = {prop.name: self._stuck_states(prop) for prop in self._possible()}  # before states are appended
        self.connections = Transitions(search.context, search.visited)
        self.kept, self.count = self.connections.kept, self.visited.count
        self.nodes: list[Node] = []
        self.edges: dict[tuple[int, int], Edge] = {}
        self.transitions = 0
        self.errs = IN_RANGE.name in search.result.findings
        self.node_of = self._fold_states()

    def _fold_states(self) -> Numbers:
        """Create the nodes, numbered in the order of their first states. Returns, for each state, its node's number."""
        levels = self.search.result.levels
        depths = np.repeat(np.arange(len(levels)), levels)
        depths = np.append(depths, depths[self.visited.parents[self.kept : self.count]] + 1)
        node_of = np.arange(self.count)
        first_states = node_of
        if self.fold:
            rows = self.visited.states[: self.count * self.visited.words].reshape(-1, self.visited.words)
            places = [self.instance.layouts[name] for name in self.fold]
            cells = [cell for place in places for cell in range(place.offset, place.offset + place.count)]
            columns = [self.kernel.layout.column(rows, cell) for cell in cells]
            keys = np.array(columns, np.int64).reshape(len(cells), self.count).T
            _, firsts, inverse = np.unique(keys, axis=0, return_index=True, return_inverse=True)
            order = np.argsort(firsts)
            node_of, first_states = np.argsort(order)[inverse.reshape(-1)], firsts[order]
        names = self.fold or tuple(self.instance.layouts)
        for number, state in enumerate(map(int, first_states)):
            values = self._cells(state)
            fields = {name: spell_part(self.instance, self.instance.layouts[name], values) for name in names}
            self.nodes.append(Node(number, int(depths[state]), fields))
        starts = len(self.search.context.starts)
        for name, states in (
            ("states", node_of),
            ("unexpanded", node_of[self.expanded : self.kept]),
            ("outside", node_of[self.kept :]),
            ("initial", node_of[:starts]),
        ):
            for node, count in zip(self.nodes, np.bincount(states, minlength=len(self.nodes)), strict=True):
                setattr(node, name, int(count))
        return node_of

    def _cells(self, state: int) -> Cells:
        return tuple(self.kernel.layout.unpack([int(word) for word in self.visited.state(state)]))

    def connect(self) -> None:
        has_step = np.zeros(self.count, bool)
        for states, steps, targets in self.connections:
            self.transitions += len(states)
            has_step[states] = True
            if self.fold:
                slots = np.searchsorted(self.instance.first_steps, steps, side="right") - 1
                kinds = np.stack([self.node_of[states], self.node_of[targets], slots])
            else:
                kinds = np.stack([states, targets, steps])
            for (source, target, kind), count in zip(*np.unique(kinds.T, axis=0, return_counts=True), strict=True):
                self._edge(int(source), int(target)).actions[self._label(int(kind))] += int(count)
        ends = np.flatnonzero(~has_step[: self.expanded])
        for state in ends:
            self.nodes[self.node_of[state]].dead_ends += 1
        if self.search.context.limits.deadlock:
            self._judge_deadlock(ends)

    def _label(self, kind: int) -> str:
        """Return the text of step number `kind` or, in a folded graph, the name of action number `kind`."""
        if self.fold:
            return self.instance.model.actions[kind].name
        return self.instance.spell_step(self.instance.step(kind))

    def _edge(self, source: int, target: int) -> Edge:
        return self.edges.setdefault((source, target), Edge())

    def _judge_deadlock(self, ends: Numbers) -> None:
        """Record as deadlocks the dead ends where the model may not end and where no step leaves a declared range."""
        number = len(self.instance.model.properties)
        runner, results = KernelRunner(self.kernel, self.instance), KernelResults(number)
        active: NDArray[np.int8] = np.zeros(number + 1, np.int8)
        active[number] = 1
        fired: NDArray[np.int64] = np.zeros(len(self.instance.model.actions), np.int64)
        batch = Batch.of(2 * self.instance.first_steps[-1] + 1, self.visited.words)
        for state in map(int, ends):
            results.clear()
            states = self.visited.states.ctypes.data
            runner.expand(states, state, state + 1, batch, fired, active, results)
            if results.count(number):
                self.nodes[self.node_of[state]].failing[DEADLOCK.name, VIOLATED] += 1
        self.errs = self.errs or runner.careful is not None

    def judge(self) -> None:
        """Record, for each property, in how many states of each node and how many steps of each edge it fails."""
        for prop in self.instance.properties:
            if prop.kind is Kind.SOMETIMES:
                continue
            for word, states in self.stuck.get(prop.name, {}).items():
                for node in self.node_of[states]:
                    self.nodes[node].failing[prop.name, word] += 1
            if prop.kind in WHOLE:
                continue
            failing = ViolatingStates(self.instance, self.kernel, self.visited, prop)
            self._judge(failing)
            self.errs = self.errs or failing.runner.careful is not None

    def _judge(self, failing: ViolatingStates) -> None:
        name = failing.prop.name
        if not failing.prop.of_steps:
            for word, states in zip((VIOLATED, PERMITTED), failing.states(0, self.count), strict=True):
                for node in self.node_of[states]:
                    self.nodes[node].failing[name, word] += 1
            return
        for state in range(self.expanded):
            for word, steps in zip((VIOLATED, PERMITTED), failing.steps(state), strict=True):
                for step in steps:
                    self._edge(*self._ends(state, step)).failing[name, word] += 1

    def _possible(self) -> list[Property]:
        return [prop for prop in self.instance.properties if prop.kind is Kind.ALWAYS_POSSIBLE]

    def _stuck_states(self, prop: Property) -> dict[str, Numbers]:
        """Return, by verdict, the states from which a property can never become true; {} if states are unexpanded."""
        if self.expanded < self.visited.count:
            return {}
        states = WholeSearch(self.search.carrier)
        try:
            stuck = stuck_states(states, self.instance.model.properties.index(prop))
        except LimitError as error:
            limit = WHY_STOPPED["memory" if str(error) == "memory" else "seconds"]
            raise CutShortError(
                f"{limit} before it was known from which states {prop.name} can still become true; raise the limit with"
                " --memory or --seconds"
            ) from None
        return {VIOLATED: stuck[EntryKind.FOUND], PERMITTED: stuck[EntryKind.PERMITTED]}

    @property
    def unjudged(self) -> tuple[str, ...]:
        """The `always_possible` properties without a verdict: all if some state is not expanded, otherwise none."""
        return tuple(prop.name for prop in self._possible()) if self.expanded < self.kept else ()

    def judge_range(self) -> None:
        """Record the violations of `in_range`: where a step or the evaluation of a property leaves a declared range."""
        for state in range(self.count) if self.errs else ():
            cells = self._cells(state)
            tried = self.instance.steps if state < self.expanded else ()
            does_step = [error_in_step(self.instance, cells, step) is not None for step in tried]
            ends = (DEADLOCK,) if state < self.expanded else ()
            if any(does_step) or self._errs([cells], [], ends):
                self.nodes[self.node_of[state]].failing[IN_RANGE.name, VIOLATED] += 1
            for step, errs in zip(tried, does_step, strict=True):
                after = None if errs else run.take(self.instance, cells, step)
                if after is not None and self._errs([cells, after], [step]):
                    self._edge(*self._ends(state, step.number)).failing[IN_RANGE.name, VIOLATED] += 1

    def _errs(self, states: Sequence[Cells], steps: Sequence[Step], implicit: Sequence[Property] = ()) -> bool:
        """Whether evaluating any property of steps (if there are no `steps`: of states) leaves a declared range."""
        properties = (prop for prop in (*self.instance.properties, *implicit) if prop.of_steps == bool(steps))
        return any(error_in(self.instance, prop, states, steps, len(steps)) is not None for prop in properties)

    def _ends(self, state: int, number: int) -> tuple[int, int]:
        after = run.take(self.instance, self._cells(state), self.instance.step(number))
        assert after is not None, "the kernel took this step"
        (target,) = self.visited.places_of(self.kernel.layout.pack(after))
        return int(self.node_of[state]), int(self.node_of[target])

    def graph(self, loops: bool) -> StateGraph:
        """Return the finished graph, and number its strongly connected components. A folded node has an edge to itself
        only if `loops` is True, or if a property fails on that edge."""
        graph: nx.DiGraph[int] = nx.DiGraph()
        for node in self.nodes:
            graph.add_node(node.number, node=node)
        for (source, target), edge in self.edges.items():
            if source != target or loops or edge.failing or not self.fold:
                graph.add_edge(source, target, edge=edge)
        components = sorted(
            sorted(component) for component in nx.strongly_connected_components(graph) if len(component) > 1
        )
        for number, members in enumerate(components, 1):
            for member in members:
                self.nodes[member].component = number
        return StateGraph(
            self.instance,
            self.fold,
            self.search.context.limits.depth,
            self.kept,
            self.transitions,
            graph,
            len(components),
            self.unjudged,
        )


# -------------------------------------------------------------------------------------------------- steps of the search


class Transitions:
    """The transitions from the expanded states of a finished search, also to states outside the constraint. The search
    does not keep states outside the constraint, so a kernel of the model without the constraint computes these states
    again. They are appended to the `kept` states in the visited set. Raises Full if they do not fit."""

    def __init__(self, context: SearchContext, visited: VisitedSet) -> None:
        self.instance, kernel = context.instance, context.kernel
        self.visited, self.expanded, self.kept = visited, context.expanded, visited.count
        free = self.instance
        if self.instance.model.constraints:
            free = replace(self.instance, model=replace(self.instance.model, constraints=()))
            kernel = kernel_of(free)
        request = replace(EVERY_STATE, starts=context.starts)
        self.carrier = SingleThread(SearchContext(free, context.limits, kernel, request), self.visited)
        if self.instance.model.constraints:
            self._append_outside()

    def __iter__(self) -> Iterator[tuple[Numbers, Numbers, Numbers]]:
        """Yield the transitions in batches (source states, steps, target states), in the order of the source states."""
        batch = self.carrier.batch
        for size, targets in self._batches():
            is_known = np.flatnonzero(targets >= 0)
            yield (
                batch.parents[:size][is_known].astype(np.int64),
                batch.steps[:size][is_known].astype(np.int64),
                targets[is_known],
            )

    def _batches(self) -> Iterator[tuple[int, Numbers]]:
        """Yield, for each batch, the number of its successors and their state numbers (-1: not in the visited set)."""
        at = 0
        while at < self.expanded:
            at, size = self.carrier.attempt(at, min(at + CHUNK, self.expanded))
            targets = self.visited.places_of(self.carrier.batch.states[: size * self.visited.words])
            is_known = size == 0 or targets.min() >= 0
            assert is_known or self.instance.model.constraints, "every successor of an expanded state was seen"
            yield size, targets

    def _append_outside(self) -> None:
        """Append the successors outside the constraint to the visited set, unless evaluating the constraint fails."""
        batch, words = self.carrier.batch, self.visited.words
        for size, targets in self._batches():
            rows = batch.states[: size * words].reshape(size, words)
            chosen = [number for number in np.flatnonzero(targets < 0) if self._is_outside(rows[number])]
            if chosen:
                appended = Batch.of(len(chosen), words)
                appended.states[:] = rows[chosen].reshape(-1)
                appended.parents[:], appended.steps[:] = batch.parents[chosen], batch.steps[chosen]
                self.visited.add(appended, len(chosen))

    def _is_outside(self, words: NDArray[np.uint64]) -> bool:
        try:
            within = run.is_within(
                self.instance, self.carrier.context.kernel.layout.unpack([int(word) for word in words])
            )
        except ModelError:
            return False  # the step leaves a declared range, and has no successor
        assert not within, "every successor within the constraint was seen"
        return True


# --------------------------------------------------------------------------------------------------- figures and labels


def summary(drawn: StateGraph) -> dict[str, Any]:
    """Return the counts of a graph, and its failing properties, as the object that `--json` prints."""
    nodes = drawn.nodes()
    return {
        "model": drawn.instance.model.name,
        "protocol": drawn.instance.protocol.name or None,
        "bound": drawn.bound,
        "fold": list(drawn.fold),
        "states": drawn.states,
        "transitions": drawn.transitions,
        "nodes": len(nodes),
        "edges": drawn.graph.number_of_edges(),
        "initial": sum(node.initial for node in nodes),
        "dead_ends": sum(node.dead_ends for node in nodes),
        "not_expanded": sum(node.unexpanded for node in nodes),
        "outside": sum(node.outside for node in nodes),
        "components": drawn.components,
        "failing": [
            {"property": name, "verdict": word, "count": count} for (name, word), count in drawn.failing.items()
        ],
        "unjudged": list(drawn.unjudged),
    }


def node_lines(drawn: StateGraph, node: Node) -> list[str]:
    """Return the lines of a node's label: its number; for a folded node, the number and common values of its states."""
    if not drawn.fold:
        return [str(node.number)]
    values = [f"{name} {value}" for name, value in node.fields.items()]
    return [*values, f"({node.states:,} state{'s' * (node.states != 1)})"]


def node_notes(drawn: StateGraph, node: Node) -> list[str]:
    """Return the notes on a node, such as "dead end"; a folded node's notes say how many of its states they concern."""

    def noted(count: int, note: str) -> str:
        return f"{count:,} of {node.states:,} states: {note}" if drawn.fold else note

    notes = [
        (node.initial, "initial"),
        (node.dead_ends, "dead end"),
        (node.unexpanded, "at the bound, not expanded"),
        (node.outside, "outside the constraint, not expanded"),
    ]
    lines = [noted(count, note) for count, note in notes if count]
    lines += [noted(count, f"{name} is {word}") for (name, word), count in node.failing.items()]
    if node.component is not None:
        lines.append(f"strongly connected component {node.component}")
    return lines


def failing_names(failing: Mapping[tuple[str, str], int]) -> list[str]:
    """Return a text for each failing property: its name and its verdict."""
    return [f"{name} {word}" for name, word in failing]

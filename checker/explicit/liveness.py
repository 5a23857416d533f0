"""Checks the properties whose verdict needs every reachable state: `always_possible` and the liveness properties.

A state is given by its number: its place in breadth-first order, the same for any number of threads. For an
`always_possible` property, the result is the stuck states: from them, no path leads to a state in which the property is
true. For a liveness property, the result is the number of states that a violating behaviour can repeat for ever, and a
lasso: a path from an initial state, followed by a loop.

A state is possible if the property is true in it, or if a step leads from it to a possible state. The search stores no
transitions, so each state that is not yet known to be possible is expanded again. States found last are expanded first:
then most of the earlier states have a successor that is known to be possible. The transitions of states that are still
not known to be possible are kept, and followed backward. A property that cannot be evaluated in a state counts as true
there, so that no state is called stuck by mistake.

An endless behaviour repeats some states for ever. They lie in one strongly connected component of a graph of states:

- `eventually` P: the states without P to which a path through states without P leads from an initial state;
- `leads_to` P: the same, but the path starts in any reachable state without P in which the premise is true;
- `always_eventually` P: all states without P;
- `eventually_always` P: all states, but the behaviour must repeat at least one state without P.

A loop is fair to a group of steps (weak fairness) if one of its states disables the group, or if one of its steps
belongs to the group. So each group is a requirement for loops, stored as one bit. A state meets the requirement if no
step of the group leads from the state to another state; a step meets it if it belongs to the group. A further
requirement can be that the loop visits a marked state, such as a state without P. A behaviour can repeat a component
for ever if the component's states and steps together meet every requirement. It can stay in one state for ever if this
state meets every requirement. A component meets each requirement that a part of it meets, so only the largest
components are examined.

A loop is strongly fair to a group if all of its states disable the group, or if one of its steps belongs to the group
(a Streett condition). So only a step meets the requirement, and a further bit says whether a state enables the group:
if none does, the requirement does not count. A component that enables a group without a step of it may have a part that
does not enable the group. So the states that enable it are taken away, and the components of the rest are examined in
the same way (Emerson and Lei, 1987).

If a group has a condition, its steps from states in which the condition is false belong to no group. A step counts as
several *moves*, one for each set of conditions that are true before it; a move, like a step, always belongs to the same
groups.

If a failure is permitted in some states without P, a violation repeats none of these states; an endless behaviour that
repeats one of them is a permitted failure. States in which P or its premise cannot be evaluated are left out.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from isrcheck.checker.compile.machine_code import addresses, as_machine_code
from isrcheck.checker.explicit import walks
from isrcheck.checker.explicit.carrier import Carrier, KernelRunner
from isrcheck.checker.explicit.visited_set import Batch
from isrcheck.checker.results.exploration import Finding, Findings, StepPath
from isrcheck.checker.results.kernel_results import PREMISE, EntryKind, KernelResults, judgement
from isrcheck.models.fair_groups import FairGroup, groups_of
from isrcheck.models.language.declarations import WHOLE, Kind
from isrcheck.models.language.model import Property
from isrcheck.models.language.reading.reader import Function

Numbers = NDArray[np.int64]
Marks = NDArray[np.bool_]

PathTo = Callable[[int], StepPath]
"""A function that returns the path to the state with a given number."""

CHUNK = 1 << 14
"""The most states between two looks at the clock and at which further states have become possible."""


class UnjudgedError(Exception):
    """A property cannot be judged; the message says why."""


class LimitError(Exception):
    """The time limit or memory limit of the search is reached; the message is `time` or `memory`."""


class WholeSearch:
    """All reachable states of a complete search, `count` in number, and the transitions between them.

    `stores` has the visited sets in which the search keeps the states; transitions are computed when they are needed.
    """

    def __init__(self, carrier: Carrier) -> None:
        assert carrier.stores is not None, "the states are in visited sets of this machine"
        self.carrier = carrier
        self.context, self.stores = context, stores = carrier.context, carrier.stores
        layout, steps = context.kernel.layout, context.instance.first_steps[-1]
        self.count = sum(store.count for store in stores)
        self.runner = KernelRunner(context.kernel, context.instance)
        self.batch = Batch.of(max(4 * steps, CHUNK), layout.words)
        self.numbers = [carrier.visited.numbers_of(shard).astype(np.uint32) for shard in range(len(stores))]
        # For each number, the visited set of the state and the place there; with one set, both are known.
        self.owners: NDArray[np.uint8] = np.zeros(self.count if len(stores) > 1 else 0, np.uint8)
        self.places: NDArray[np.uint32] = np.zeros(len(self.owners), np.uint32)
        for shard, numbers in enumerate(self.numbers if len(self.owners) else ()):
            self.owners[numbers] = shard
            self.places[numbers] = np.arange(len(numbers))

    def look_at_the_clock(self) -> None:
        """Report progress. Raises LimitError if the time limit is reached."""
        if self.carrier.is_out_of_time():
            raise LimitError("time")

    def refuse_memory(self, needed: int) -> None:
        """Raise LimitError if the states and `needed` further bytes exceed the memory limit."""
        own = 4 * self.count + self.owners.nbytes + self.places.nbytes
        if sum(store.bytes_used for store in self.stores) + own + needed > self.context.limits.memory:
            raise LimitError("memory")

    def judged(self, number: int) -> NDArray[np.uint8]:
        """Return, for each state, the result of the property as a number (`judgement`). Raises LimitError. PREMISE is
        added to the number if the property's premise is true in the state."""
        judged: NDArray[np.uint8] = np.zeros(self.count, np.uint8)
        active = np.zeros_like(self.context.active)
        active[number] = 1
        results = KernelResults(len(self.context.properties))
        for store, numbers in zip(self.stores, self.numbers, strict=True):
            marks: NDArray[np.uint8] = np.zeros(store.count, np.uint8)
            results.mark_at(number, marks.ctypes.data)
            for low in range(0, store.count, CHUNK):
                self.look_at_the_clock()
                high = min(low + CHUNK, store.count)
                self.runner.check(store.states.ctypes.data, low, high, active, results)
            judged[numbers] = marks
        return judged

    def transitions(self, waiting: Numbers) -> Iterator[tuple[Numbers, Numbers, Numbers]]:
        """The transitions from the states `waiting`, in batches of three arrays: states before, steps, states after.

        States come in the order of `waiting`, and all transitions of a state are in one batch, in the order of the
        steps. Raises LimitError.
        """
        return ((before, steps, after) for before, steps, after, _ in self.transitions_where(waiting, ()))

    def transitions_where(
        self, waiting: Numbers, conditions: Collection[Function]
    ) -> Iterator[tuple[Numbers, Numbers, Numbers, NDArray[np.uint64]]]:
        """The transitions as from `transitions`, with a fourth array: for each transition, a number whose bit k says
        whether condition k of the model's fairness is true before it. Of conditions that are not in `conditions`, the
        bits are 0. Raises LimitError, and UnjudgedError if a condition has no value."""
        active = np.array([each in conditions for each in self.context.instance.model.conditions], np.int8)
        fired, no_property = np.zeros_like(self.context.fired), np.zeros_like(self.context.active)
        for low in range(0, len(waiting), CHUNK):
            self.look_at_the_clock()
            numbers = waiting[low : low + CHUNK]
            states, at = self._states(numbers), 0
            while at < len(numbers):
                counts = fired, no_property, KernelResults(len(self.context.properties))
                at, size = self.runner.expand(states.ctypes.data, at, len(numbers), self.batch, *counts)
                after = self._numbers(self.batch.states[: size * self.stores[0].words])
                met: NDArray[np.uint64] | None = np.zeros(size, np.uint64)
                if conditions:
                    met = self.runner.conditions(states.ctypes.data, self.batch, size, active)
                if met is None:
                    raise UnjudgedError("a condition of its fairness cannot be evaluated in a reachable state")
                yield numbers[self.batch.parents[:size]], self.batch.steps[:size].astype(np.int64), after, met

    def _states(self, numbers: Numbers) -> NDArray[np.uint64]:
        words = self.stores[0].words
        if not len(self.owners):
            return self.stores[0].states[: self.count * words].reshape(-1, words)[numbers]
        states = np.empty((len(numbers), words), np.uint64)
        owners, places = self.owners[numbers], self.places[numbers]
        for shard, store in enumerate(self.stores):
            there = owners == shard
            states[there] = store.states[: store.count * words].reshape(-1, words)[places[there]]
        return states

    def _numbers(self, states: NDArray[np.uint64]) -> Numbers:
        numbers: Numbers = np.full(len(states) // self.stores[0].words, -1)
        for store, of_store in zip(self.stores, self.numbers, strict=True):
            places = store.places_of(states)
            there = places >= 0
            numbers[there] = of_store[places[there]]
        assert not len(numbers) or numbers.min() >= 0, "the search has visited every successor"
        return numbers


BYTES_OF_TRANSITION = 32
"""The memory that a kept transition needs while transitions are sorted."""

JUDGED_KINDS = (EntryKind.FOUND, EntryKind.PERMITTED)


def stuck_states(reachable: WholeSearch, number: int) -> dict[EntryKind, Numbers]:
    """Return the states from which property `number` can never become true. Raises LimitError.

    They are in two groups: the states that violate the property, and the states in which its failure is permitted.
    """
    judged = reachable.judged(number)
    possible = (judged == 0) | (judged == judgement(EntryKind.ERRED))
    _spread(reachable, possible)
    return {kind: np.flatnonzero(~possible & (judged == judgement(kind))) for kind in JUDGED_KINDS}


def _spread(reachable: WholeSearch, possible: Marks) -> None:
    """Mark in `possible` every state from which a path leads to a marked state. Raises LimitError."""
    sources, targets = [np.zeros(0, np.uint32)], [np.zeros(0, np.uint32)]
    kept = 0
    for low in reversed(range(0, reachable.count, CHUNK)):
        reachable.look_at_the_clock()
        waiting = low + np.flatnonzero(~possible[low : low + CHUNK])
        for source, _, target in reachable.transitions(waiting):
            possible[source[possible[target]]] = True
            is_open = ~possible[source]
            sources.append(source[is_open].astype(np.uint32))
            targets.append(target[is_open].astype(np.uint32))
            kept += len(sources[-1])
        reachable.refuse_memory(2 * reachable.count + BYTES_OF_TRANSITION * kept)
    spread_backward(possible, np.concatenate(sources), np.concatenate(targets))


def spread_backward(possible: Marks, sources: NDArray[np.uint32], targets: NDArray[np.uint32]) -> None:
    """Search backward: mark in `possible` every state from which the given transitions lead to a marked state."""
    order = np.argsort(targets, kind="stable")
    sources, targets = sources[order], targets[order]
    reached = np.unique(targets[possible[targets]])
    while len(reached):
        firsts, lasts = (np.searchsorted(targets, reached, side) for side in ("left", "right"))
        sizes = lasts - firsts
        # The places firsts[k], ..., lasts[k] - 1 for every k, one after the other.
        places = np.arange(sizes.sum()) + np.repeat(firsts - (np.cumsum(sizes) - sizes), sizes)
        before = sources[places]
        reached = np.unique(before[~possible[before]])
        possible[reached] = True


OUTSIDE = (1 << 32) - 1

BYTES_OF_EDGE = 8
BYTES_OF_NODE = 64
BYTES_OF_STATE = 16
"""The memory for a node without its edges and requirements: its place, offset, marks, queues and component; and the
memory for each state, kept or not."""

BUDGET = 1 << 22
"""The most edges that are followed before the next look at the clock."""


class Graph:
    """A graph: its nodes are the states that `kept` marks, and its edges are the moves between two different nodes.

    `nodes` has the numbers of the states, ascending; a node is given by its position in `nodes`. `groups` and `visits`
    are requirements for loops: a loop must be fair to each group, and it must visit a marked state of each array in
    `visits`. `met` has a row of bits for each node, and `met_by_move` for each move: bit k is 1 if the node or move
    meets requirement k (first the groups, then `visits`). If a group is strongly fair (`strong` has its bit), each row
    has a second half, in which bit k says whether a node enables the strongly fair group k. Raises LimitError, and
    UnjudgedError.
    """

    def __init__(
        self, reachable: WholeSearch, kept: Marks, groups: Sequence[FairGroup], visits: Sequence[Marks] = ()
    ) -> None:
        instance = reachable.context.instance
        self.reachable = reachable
        self.nodes = np.flatnonzero(kept)
        self.half = max(1, -(-(len(groups) + len(visits)) // 64))  # of 64 bits
        self.strong = self.row([group.is_strong for group in groups])
        self.words = self.half * (1 + any(group.is_strong for group in groups))
        self.steps = instance.first_steps[-1]
        """The number of steps. A move is numbered from its step's number on, in strides of this number."""
        self.groups = groups
        self.conditions = {
            condition: number
            for number, condition in enumerate(instance.model.conditions)
            if any(group.condition is condition for group in groups)
        }
        """The conditions of the groups, with their numbers in the model."""
        self.codes = {0: 0}
        """For each set of conditions that is true before a step, as bits, its number in the numbers of moves."""
        self.met_by_move = self._moves_where(0)
        self.met: NDArray[np.uint64] = np.zeros((0, self.words), np.uint64)
        self._store(kept)
        for bit, visit in enumerate(visits, len(groups)):
            self.met[visit[self.nodes], bit // 64] |= np.uint64(1 << bit % 64)

    def row(self, marks: Sequence[bool]) -> NDArray[np.uint64]:
        """Return half a row of bits in the format of `met`: bit k is 1 if marks[k] is true."""
        row = sum(1 << bit for bit, is_marked in enumerate(marks) if is_marked)
        return np.array([row >> 64 * word & (1 << 64) - 1 for word in range(self.half)], np.uint64)

    def unmet(self, met: NDArray[np.uint64], needed: NDArray[np.uint64]) -> NDArray[np.uint64]:
        """For each row of `met`, return the requirements in `needed` that are not met. Strong fairness to a group is
        met if no node enables the group."""
        missing: NDArray[np.uint64] = needed & ~met[:, : self.half]
        return missing & (met[:, self.half :] | ~self.strong) if self.words > self.half else missing

    def step(self, edge: int) -> int:
        """Return the number of the step of an edge."""
        return int(self.moves[edge]) % self.steps

    def _moves_where(self, conditions: int) -> NDArray[np.uint64]:
        """Return rows of `met_by_move`: for each step, its groups where exactly these conditions are true."""
        rows: NDArray[np.uint64] = np.zeros((self.steps, self.words), np.uint64)
        for bit, group in enumerate(self.groups):
            if group.condition is None or conditions >> self.conditions[group.condition] & 1:
                rows[sorted(group.steps), bit // 64] |= np.uint64(1 << bit % 64)
        return rows

    def _moves(self, steps: Numbers, conditions: NDArray[np.uint64]) -> Numbers:
        """Return the numbers of the moves that consist of these steps, with the conditions that are true before them,
        and add missing rows to `met_by_move`."""
        if not self.conditions:
            return steps
        found, places = np.unique(conditions, return_inverse=True)
        for true in found.tolist():
            if true not in self.codes:
                self.codes[true] = len(self.codes)
                self.met_by_move = np.concatenate([self.met_by_move, self._moves_where(true)])
        codes: Numbers = np.array([self.codes[true] for true in found.tolist()], np.int64)[places]
        return codes * self.steps + steps

    def _store(self, kept: Marks) -> None:
        """Compute and store the edges; note in `met` which groups of steps each node disables, or enables if fairness
        to the group is strong. Raises LimitError, UnjudgedError."""
        of_nodes = (BYTES_OF_NODE + 16 * self.words) * len(self.nodes) + BYTES_OF_STATE * len(kept)
        self.reachable.refuse_memory(of_nodes)
        index: NDArray[np.uint32] = np.full(len(kept), OUTSIDE, np.uint32)
        index[self.nodes] = np.arange(len(self.nodes))
        enabled: NDArray[np.uint64] = np.zeros((len(self.nodes), self.half), np.uint64)
        degrees: NDArray[np.int64] = np.zeros(len(self.nodes) + 1, np.int64)
        targets, moves = [np.zeros(0, np.uint32)], [np.zeros(0, np.uint32)]
        edges = 0
        for before, step, after, true in self.reachable.transitions_where(self.nodes, self.conditions):
            changes = before != after
            source, target = index[before[changes]], index[after[changes]]
            move = self._moves(step[changes], true[changes])
            # All transitions of a state are adjacent.
            firsts = np.flatnonzero(np.diff(source, prepend=np.uint32(OUTSIDE)))
            inside = target != OUTSIDE
            if len(firsts):
                of_groups = self.met_by_move[move, : self.half]
                enabled[source[firsts]] |= np.bitwise_or.reduceat(of_groups, firsts)
                degrees[source[firsts] + np.uint32(1)] = np.add.reduceat(inside, firsts, dtype=np.int64)
            targets.append(target[inside])
            moves.append(move[inside].astype(np.uint32))
            edges += len(targets[-1])
            # The lists and the arrays made from them exist at the same time.
            self.reachable.refuse_memory(of_nodes + 2 * BYTES_OF_EDGE * edges + self.met_by_move.nbytes)
        self.offsets: NDArray[np.int64] = np.cumsum(degrees)
        self.targets, self.moves = np.concatenate(targets), np.concatenate(moves)
        of_strong = [enabled & self.strong] if self.words > self.half else []
        np.invert(enabled, out=enabled)
        enabled &= self.row([not group.is_strong for group in self.groups])
        self.met = np.concatenate([enabled, *of_strong], axis=1) if of_strong else enabled

    @property
    def count(self) -> int:
        """The number of nodes."""
        return len(self.nodes)

    def components(self, alive: Marks) -> NDArray[np.uint32]:
        """Each node's strongly connected component, numbered from 1; 0 for nodes outside `alive`. Raises LimitError."""
        component, orders, lows, stack, path = (np.zeros(self.count, np.uint32) for _ in range(5))
        cursors, saved = np.zeros(self.count, np.int64), np.zeros(5, np.int64)
        run = as_machine_code(walks.components)
        arrays = self.offsets, self.targets, alive, orders, lows, stack, path, cursors, component, saved
        while not run(self.count, *addresses(*arrays), BUDGET):
            self.reachable.look_at_the_clock()
        return component

    def met_together(self, component: NDArray[np.uint32]) -> NDArray[np.uint64]:
        """For each component, the bits of its nodes and of the moves between them. Raises LimitError."""
        total: NDArray[np.uint64] = np.zeros((int(component.max(initial=0)) + 1, self.words), np.uint64)
        collect = as_machine_code(walks.collect)
        for low in range(0, self.count, BUDGET):
            arrays = addresses(self.offsets, self.targets, self.moves, component, self.met, self.met_by_move)
            collect(low, min(low + BUDGET, self.count), *arrays, self.words, total.ctypes.data)
            self.reachable.look_at_the_clock()
        return total

    def fair_parts(self, alive: Marks, needed: NDArray[np.uint64]) -> NDArray[np.uint32]:
        """Each node's part: a largest strongly connected set of nodes in `alive` that together meet all requirements in
        `needed`. Parts have numbers above 0; nodes that no fair behaviour can repeat get 0. Raises LimitError."""
        parts: NDArray[np.uint32] = np.zeros(self.count, np.uint32)
        numbered = 0
        while True:
            component = self.components(alive)
            missing = self.unmet(self.met_together(component), needed)
            is_fair: Marks = (missing == 0).all(axis=1)
            is_fair[0] = False
            inside = is_fair[component]
            parts[inside] = component[inside] + np.uint32(numbered)
            numbered += len(missing) - 1
            # If only strong fairness is missing, the nodes that do not enable its groups may have fair parts.
            is_open: Marks = ((missing & ~self.strong) == 0).all(axis=1) & ~is_fair
            is_open[0] = False
            nodes = np.flatnonzero(is_open[component])
            if not len(nodes):
                return parts
            enabled = self.met[nodes, self.half :] & missing[component[nodes]]
            alive = np.zeros(self.count, np.bool_)
            alive[nodes[(enabled == 0).all(axis=1)]] = True


ROOM = 1 << 21
"""The most pairs of a node and a set of met requirements that the search for a shortest loop distinguishes, unless the
component has more nodes; a pair takes 16 bytes."""


def fair_loops(reachable: WholeSearch, number: int, prop: Property, path: PathTo) -> dict[EntryKind, Finding]:
    """Check liveness property `prop`, which has this number in its model. Raises LimitError.

    Returns two findings: for violations, and for permitted failures. Each has the number of states that a fair
    behaviour can repeat for ever, and the shorter of two counterexamples: the path to the first such state, with a
    loop; or the path to the first state in which a fair behaviour can stay for ever without a step.
    """
    marks = reachable.judged(number)
    judged, premise = marks % PREMISE, marks >= PREMISE
    broken, permitted = (judged == judgement(kind) for kind in JUDGED_KINDS)
    findings = {kind: Finding() for kind in JUDGED_KINDS}
    everywhere = prop.kind is Kind.EVENTUALLY_ALWAYS  # the states of a loop may be any
    if not (broken.any() or permitted.any()):
        return findings
    instance = reachable.context.instance
    groups = groups_of(instance, prop)
    fails = broken | permitted
    kept = judged != judgement(EntryKind.ERRED) if everywhere else fails
    visits = [fails, permitted] if everywhere else [permitted]
    graph = Graph(reachable, kept, groups, visits)
    ways = _ways(graph, prop.kind, premise)
    # A violation repeats no state in which a failure is permitted; a permitted failure repeats one.
    bits = [True] * (len(groups) + len(visits))
    alive = ways.reached & ~permitted[graph.nodes]
    findings[EntryKind.FOUND] = FairLoops(graph, ways, alive, graph.row(bits[:-1]), path).finding()
    if permitted.any():
        findings[EntryKind.PERMITTED] = FairLoops(graph, ways, ways.reached, graph.row(bits), path).finding()
    return findings


@dataclass(frozen=True)
class Ways:
    """Paths from initial states to the nodes of a graph. `reached` marks the nodes to which a path leads, `depths` has
    the number of steps to each node, `parents` the node before. A node at which a path enters the graph is its own
    parent; the search knows the path to this node."""

    reached: Marks
    depths: NDArray[np.uint32]
    parents: NDArray[np.uint32]


def _ways(graph: Graph, kind: Kind, premise: Marks) -> Ways:
    """Return the paths on which a behaviour may still violate a property of this kind. Raises LimitError."""
    context = graph.reachable.context
    levels = context.result.levels
    depths = np.repeat(np.arange(len(levels), dtype=np.uint32), levels)[graph.nodes]
    parents = np.arange(graph.count, dtype=np.uint32)
    if kind in (Kind.ALWAYS_EVENTUALLY, Kind.EVENTUALLY_ALWAYS):
        return Ways(np.ones(graph.count, np.bool_), depths, parents)
    is_initial = graph.nodes < len(context.starts)
    entries = np.flatnonzero(is_initial if kind is Kind.EVENTUALLY else premise[graph.nodes])
    alive, reached = np.ones(graph.count, np.bool_), np.zeros(graph.count, np.bool_)
    queue = np.zeros(graph.count, np.uint32)
    depths_of_entries = depths[entries].copy()
    spread = as_machine_code(walks.spread)
    first = last = depth = at = 0
    # Level by level: the nodes that the previous level reaches, and then the states of that depth where a path begins.
    while at < len(entries) or first < last:
        graph.reachable.look_at_the_clock()
        if first == last:
            depth = int(depths_of_entries[at])
        new = at + int(np.searchsorted(depths_of_entries[at:], depth, "right"))
        begin = entries[at:new][~reached[entries[at:new]]]
        reached[begin] = True
        queue[last : last + len(begin)] = begin
        last, at = last + len(begin), new
        depths[queue[first:last]] = depth
        arrays = addresses(graph.offsets, graph.targets, alive, reached, queue, parents)
        end = spread(first, last, *arrays, last)
        first, last, depth = last, end, depth + 1
    return Ways(reached, depths, parents)


class FairLoops:
    """Finds loops through nodes marked in `alive`. A loop must meet every requirement whose bit is set in `needed`."""

    def __init__(self, graph: Graph, ways: Ways, alive: Marks, needed: NDArray[np.uint64], path: PathTo) -> None:
        self.graph = graph
        self.ways = ways
        self.needed = needed
        self.path = path
        self.part = graph.fair_parts(alive, needed)
        self.is_fair: Marks = self.part > 0
        self.stays: Marks = alive & ~graph.unmet(graph.met, needed).any(axis=1)

    def finding(self) -> Finding:
        """Return the number of nodes that can be repeated for ever, and the shorter of two counterexamples. One is the
        path to the first node in which a behaviour can stay for ever without a step; the other is a lasso through the
        first node that can be repeated."""
        count = int(np.count_nonzero(self.is_fair))
        if not count:
            return Finding()
        lassos = [self._lasso(self.first(self.is_fair))]
        if self.stays.any():
            node = self.first(self.stays)
            before = self._path_to(node)
            lassos.insert(0, StepPath(before.initial, before.steps, before.depth))
        return Finding(count, min(lassos, key=lambda lasso: lasso.depth))

    def first(self, marks: Marks) -> int:
        """The marked node with the least depth; of several such nodes, the first."""
        nodes = np.flatnonzero(marks)
        return int(nodes[np.argmin(self.ways.depths[nodes])])

    def _path_to(self, node: int) -> StepPath:
        steps: list[int] = []
        while (before := int(self.ways.parents[node])) != node:
            low, high = self.graph.offsets[before : before + 2]
            edge = int(low) + int(np.argmax(self.graph.targets[low:high] == node))
            steps.append(self.graph.step(edge))
            node = before
        beginning = self.path(int(self.graph.nodes[node]))
        return StepPath(beginning.initial, (*beginning.steps, *reversed(steps)))

    def _lasso(self, first: int) -> StepPath:
        """A path to the node `first`, and a loop from there that meets every requirement."""
        before = self._path_to(first)
        walk = ClosedWalk(self.graph, np.flatnonzero(self.part == self.part[first]), first, self.needed)
        steps = [self.graph.step(edge) for edge in walk.edges]
        return StepPath(before.initial, (*before.steps, *steps), before.depth)


class ClosedWalk:
    """A walk within a strongly connected component, from node `first` back to it, that meets all requirements `needed`.

    A search over pairs (node, bits met so far) finds the walk. If the memory suffices for all requirements at once, it
    is a shortest such walk; of a strongly fair group, it takes a step unless none of its nodes enables the group.
    Otherwise it meets the requirements in portions that fit into memory, and takes a step of each strongly fair group
    that a node of the component enables.
    """

    def __init__(self, graph: Graph, members: Numbers, first: int, needed: NDArray[np.uint64]) -> None:
        self.graph = graph
        self.nodes = np.concatenate(([0], members)).astype(np.uint32)  # places are counted from 1
        self.places: NDArray[np.uint32] = np.zeros(graph.count, np.uint32)
        self.places[members] = np.arange(1, len(self.nodes))
        self.edges: list[int] = []
        if not graph.unmet(graph.met[[first]], needed).any():
            return
        at_once = max(1, (ROOM // len(self.nodes)).bit_length() - 1)
        met_by_all = np.bitwise_or.reduce(graph.met[members])
        strong = _bits(needed & met_by_all[graph.half :]) if graph.words > graph.half else []
        here, missing = first, [*self._without([], [first], _bits(needed & ~graph.strong)), *strong]
        if len(missing) + len(strong) <= at_once:
            missing += [bit + 64 * graph.half for bit in strong]
        while missing or here != first:
            now, later = missing[:at_once], missing[at_once:]
            walked = self._to(now, here, None if later else first)
            visited = graph.targets[walked].tolist()
            self.edges += walked
            here, missing = visited[-1], self._without(walked, visited, later)

    def _without(self, walked: list[int], visited: list[int], bits: list[int]) -> list[int]:
        """Those of the requirements `bits` that neither an edge of `walked` nor a node of `visited` meets."""
        rows = [*self.graph.met_by_move[self.graph.moves[walked]], *self.graph.met[visited]]
        met = np.bitwise_or.reduce(rows)
        return [bit for bit in bits if not met[bit // 64] >> np.uint64(bit % 64) & np.uint64(1)]

    def _enough(self, bits: list[int]) -> NDArray[np.int8]:
        """For each set of the bits `bits`, whether it meets their requirements: each bit is set, or the bit that says
        that a node enables its group is among `bits` and not set."""
        masks: Numbers = np.arange(1 << len(bits))
        enough = np.ones(len(masks), np.bool_)
        places = {bit: place for place, bit in enumerate(bits)}
        for bit, place in places.items():
            if bit < 64 * self.graph.half:
                of_enabled = places.get(bit + 64 * self.graph.half)
                enough &= (masks >> place & 1 == 1) | (of_enabled is not None and masks >> (of_enabled or 0) & 1 == 0)
        return enough.astype(np.int8)

    def _to(self, bits: list[int], here: int, goal: int | None) -> list[int]:
        """The edges of a shortest walk from `here` to `goal` (None: to any node) that meets the requirements `bits`."""
        graph, masks = self.graph, 1 << len(bits)
        size = masks * len(self.nodes)
        met, met_by_move, enough = (
            _masks(graph.met[self.nodes], bits),
            _masks(graph.met_by_move, bits),
            self._enough(bits),
        )
        queue, parents = np.zeros(size, np.uint32), np.zeros(size, np.uint32)
        reached_by: NDArray[np.int64] = np.zeros(size, np.int64)
        place = int(self.places[here])
        begin = masks * place + int(met[place])
        end = 0 if goal is None else int(self.places[goal])
        read = addresses(graph.offsets, graph.targets, graph.moves, self.nodes, self.places, met, met_by_move)
        written = addresses(enough, queue, reached_by, parents)
        pair = as_machine_code(walks.shortest)(begin, end, *read, masks, *written)
        assert pair, "every node of a component leads to every other"
        edges = []
        while pair != begin:
            edges.append(int(reached_by[pair]) - 1)
            pair = int(parents[pair])
        return edges[::-1]


def _bits(row: NDArray[np.uint64]) -> list[int]:
    return [bit for bit in range(64 * len(row)) if int(row[bit // 64]) >> bit % 64 & 1]


def _masks(rows: NDArray[np.uint64], bits: list[int]) -> NDArray[np.uint32]:
    """For each row of bits, a number whose bit k is the row's bit at position bits[k]."""
    masks: NDArray[np.uint32] = np.zeros(len(rows), np.uint32)
    for at, bit in enumerate(bits):
        masks |= ((rows[:, bit // 64] >> np.uint64(bit % 64) & np.uint64(1)) << np.uint64(at)).astype(np.uint32)
    return masks


CUT = "a @constraint cuts behaviours off; how they would continue is unknown"
"""Why liveness properties are not judged in a model with a constraint."""


def judge_whole(carrier: Carrier, path: PathTo) -> None:
    """Check the properties that need every reachable state, if the search visited all states; store the results."""
    context = carrier.context
    if not context.whole or carrier.stores is None or not context.result.exhausted:
        return
    states = WholeSearch(carrier)
    for number, prop in context.whole:
        try:
            context.judged[prop.name] = _findings(states, number, prop, path)
        except UnjudgedError as error:
            context.judged[prop.name] = Findings(unjudged=str(error))
        except LimitError as limit:
            # The search itself is complete.
            context.result.stopped = None
            context.judged[prop.name] = Findings(unjudged=f"the {limit} limit is reached while {_work(prop, 'are')}")


def _findings(states: WholeSearch, number: int, prop: Property, path: PathTo) -> Findings:
    if prop.kind is Kind.ALWAYS_POSSIBLE:
        findings = {
            kind: Finding(len(stuck), path(int(stuck[0])) if len(stuck) else None)
            for kind, stuck in stuck_states(states, number).items()
        }
    elif states.context.instance.model.constraints:
        return Findings(unjudged=CUT)
    else:
        findings = fair_loops(states, number, prop, path)
    return Findings(findings[EntryKind.FOUND], findings[EntryKind.PERMITTED])


def why_unjudged(carrier: Carrier, prop: Property) -> str:
    """Return why a property that needs every reachable state has no verdict; "" if it has one, and for other kinds."""
    if prop.kind not in WHOLE:
        return ""
    if carrier.stores is None:
        return carrier.without_stores.format(prop.kind.value)
    context = carrier.context
    left = context.result.frontier
    if left:
        were = "state was" if left == 1 else "states were"
        return f"a verdict needs every reachable state, and {left:,} {were} not expanded"
    if prop.name in context.judged:
        return context.judged[prop.name].unjudged
    return f"the search ended before {_work(prop, 'were')}"


def _work(prop: Property, are: str) -> str:
    if prop.kind is Kind.ALWAYS_POSSIBLE:
        return f"the states {are} looked for from which it can become true"
    return f"endless behaviours without it {are} looked for"

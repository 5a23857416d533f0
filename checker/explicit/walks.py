"""Machine code for a stored graph: finds strongly connected components, and searches breadth first.

Each `Staged` function here generates a machine-code function (checker/compile/machine_code.py), which takes addresses
of arrays, and numbers, as arguments. The edges from node n are at positions offsets[n]..offsets[n + 1] - 1 of the
arrays `targets` and `steps`. Offsets have 64 bits; nodes and steps have 32.
"""

from __future__ import annotations

from isrcheck.checker.compile.staging import Bytes, Code, Halves, Staged, Value, Words

ROOT, DEPTH, HEIGHT, ORDER, COMPONENTS = range(5)
"""Where `components` keeps its progress: the next root, the length of the path, the height of the stack, and how many
nodes and components were numbered."""


@Staged
def components(
    code: Code,
    count: Value,
    offsets: Words,
    targets: Halves,
    alive: Bytes,
    orders: Halves,
    lows: Halves,
    stack: Halves,
    path: Halves,
    cursors: Words,
    component: Halves,
    saved: Words,
    budget: Value,
) -> None:
    """Number the strongly connected components of the nodes whose byte in `alive` is not 0, from 1 on (Tarjan, 1972).

    A call ends after at most `budget` rounds of its loop. It returns 1 if all nodes are numbered, otherwise 0; then the
    caller must call again with the same arrays. Before the first call, `saved` (five words), `cursors` (64 bits for
    each node) and `orders`, `lows`, `stack`, `path` and `component` (32 bits for each node) must hold zeros.
    """
    progress = [code.variable(saved[place]) for place in (ROOT, DEPTH, HEIGHT, ORDER, COMPONENTS)]
    root, depth, height, order, number = progress

    def visit(node: Value) -> None:
        order.set(order + 1)
        orders[node] = order
        lows[node] = order
        stack[height] = node
        height.set(height + 1)
        path[depth] = node
        cursors[depth] = offsets[node]
        depth.set(depth + 1)

    def lower(node: Value, low: Value) -> None:
        lows[node] = code.extremum("<", lows[node], low)

    with code.loop(0, budget):
        with code.when(depth == 0):
            with code.when(root == count):
                code.leave()
            with code.when(code.every(alive[root] != 0, orders[root] == 0)):
                visit(root)
            root += 1
        with code.otherwise():
            node, at = path[depth - 1], cursors[depth - 1]
            with code.when(at < offsets[node + 1]):
                cursors[depth - 1] = at + 1
                to = targets[at]
                with code.when(alive[to] != 0):
                    with code.when(orders[to] == 0):
                        visit(to)
                    with code.otherwise(lambda: component[to] == 0):
                        lower(node, orders[to])
            with code.otherwise():
                with code.when(lows[node] == orders[node]):
                    number += 1
                    last = code.variable(count)
                    with code.repeat(lambda: last != node):
                        height -= 1
                        last.set(stack[height])
                        component[last] = number
                depth -= 1
                with code.when(depth > 0):
                    lower(path[depth - 1], lows[node])
    for place, value in enumerate(progress):
        saved[place] = value
    code.return_(code.every(depth == 0, root == count))


@Staged
def collect(
    code: Code,
    first: Value,
    last: Value,
    offsets: Words,
    targets: Halves,
    steps: Halves,
    component: Halves,
    met: Words,
    met_by_step: Words,
    words: Value,
    total: Words,
) -> None:
    """Collect the requirements that the components of the nodes first..last-1 meet, as bits in the rows of `total`.

    For each node, the row of its component gets the bit of each requirement that the node meets, or that a step from
    the node to a node of the same component meets. Nodes with component 0 are left out. A row has `words` words: `met`
    has a row for each node, `met_by_step` for each step, `total` for each component.
    """
    total_met = code.variable()
    with code.loop(first, last) as node:
        own = component[node]
        with code.when(own != 0), code.loop(0, words) as word:
            total_met.set(total[own * words + word] | met[node * words + word])
            with code.loop(offsets[node], offsets[node + 1]) as at, code.when(component[targets[at]] == own):
                total_met |= met_by_step[steps[at] * words + word]
            total[own * words + word] = total_met
    code.return_(last)


@Staged
def spread(
    code: Code,
    first: Value,
    last: Value,
    offsets: Words,
    targets: Halves,
    alive: Bytes,
    reached: Bytes,
    queue: Halves,
    parents: Halves,
    end: Value,
) -> None:
    """Search one level, breadth first: append to the queue the new nodes to which edges lead from queue[first..last-1].

    New nodes are nodes that were not reached before and whose byte in `alive` is not 0; the first of them gets position
    `end`. For each new node, its byte in `reached` becomes 1, and `parents` gets the node from which the edge leads.
    Returns the new end of the queue.
    """
    new_end = code.variable(end)
    with code.loop(first, last) as place:
        node = queue[place]
        with code.loop(offsets[node], offsets[node + 1]) as at:
            to = targets[at]
            with code.when(code.every(alive[to] != 0, reached[to] == 0)):
                reached[to] = 1
                parents[to] = node
                queue[new_end] = to
                new_end += 1
    code.return_(new_end)


@Staged
def shortest(
    code: Code,
    begin: Value,
    goal: Value,
    offsets: Words,
    targets: Halves,
    steps: Halves,
    nodes: Halves,
    places: Halves,
    met: Halves,
    met_by_step: Halves,
    masks: Value,
    enough: Bytes,
    queue: Halves,
    edges: Words,
    parents: Halves,
) -> None:
    """Find a shortest walk within a component that meets all requirements, and ends at the place `goal` (0: anywhere).
    The nodes of the component have the places 1, 2, ...: `nodes` has the node at each place, `places` has the place of
    each node of the graph, and 0 for nodes outside the component. A mask has a bit for each requirement, 1 if it is
    met. `met` has the mask of each place, and `met_by_step` the mask of each step, in 32 bits; `enough` has a byte for
    each of the `masks` masks, not 0 if a walk with this mask meets all requirements. The search is breadth first over
    pairs (place, mask); a pair is stored as place * masks + mask. The walk begins with the pair `begin`. For every
    other visited pair, `edges` (64 bits, 0 for pairs not visited) gets the edge that led there, plus 1, and `parents`
    gets the pair before. Returns the last pair; 0 if there is no such walk."""
    queue[0] = begin
    end, place = code.variable(1), code.variable(0)
    with code.repeat(lambda: place < end):
        here = queue[place]
        place += 1
        node = nodes[here // masks]
        with code.loop(offsets[node], offsets[node + 1]) as at:
            to = places[targets[at]]
            with code.when(to != 0):
                mask = here % masks | met_by_step[steps[at]] | met[to]
                there = to * masks + mask
                with code.when(code.every(there != begin, lambda: edges[there] == 0)):
                    edges[there] = at + 1
                    parents[there] = here
                    is_end = code.some(goal == 0, goal == to)
                    with code.when(code.every(enough[mask] != 0, is_end)):
                        code.return_(there)
                    queue[end] = there
                    end += 1
    code.return_(0)

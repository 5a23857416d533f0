"""The inner loops over a stored graph: strongly connected components, and breadth-first searches.

In:  addresses of arrays, and numbers. The edges of node n have the places offsets[n]..offsets[n + 1] - 1; each has a
     target and a step. Offsets have 64 bits, nodes and steps 32.
Out: what each function writes into the arrays.

All of this is compiled (checker/compile/machine_code.py), so it is written in the subset of Python that
checker/compile/native.py knows.
"""

from __future__ import annotations

from isrcheck.checker.compile.primitives import load_byte, load_half, load_word, store_byte, store_half, store_word

SAVED_ROOT, SAVED_DEPTH, SAVED_HEIGHT, SAVED_ORDER, SAVED_COMPONENTS = 0, 8, 16, 24, 32
"""Where `components` keeps its progress: the next root, the length of the path, the height of the stack, and how many
nodes and components were numbered."""


def components(
    count: int,
    offsets: int,
    targets: int,
    alive: int,
    orders: int,
    lows: int,
    stack: int,
    path: int,
    cursors: int,
    component: int,
    saved: int,
    budget: int,
) -> int:
    """Number the strongly connected components of the nodes whose byte in `alive` is not 0, from 1 on (Tarjan, 1972).

    Takes at most `budget` steps; returns 1 if it is done, and otherwise goes on when it is called again with the same
    arrays. All of them are 0 at first; `cursors` has a word for each node, the others 32 bits.
    """
    root = load_word(saved + SAVED_ROOT)
    depth = load_word(saved + SAVED_DEPTH)
    height = load_word(saved + SAVED_HEIGHT)
    order = load_word(saved + SAVED_ORDER)
    number = load_word(saved + SAVED_COMPONENTS)
    while budget > 0:
        budget -= 1
        if depth == 0:
            if root == count:
                break
            if load_byte(alive + root) != 0 and load_half(orders + 4 * root) == 0:
                order += 1
                store_half(orders + 4 * root, order)
                store_half(lows + 4 * root, order)
                store_half(stack + 4 * height, root)
                height += 1
                store_half(path, root)
                store_word(cursors, load_word(offsets + 8 * root))
                depth = 1
            root += 1
        else:
            node = load_half(path + 4 * (depth - 1))
            at = load_word(cursors + 8 * (depth - 1))
            if at < load_word(offsets + 8 * (node + 1)):
                store_word(cursors + 8 * (depth - 1), at + 1)
                to = load_half(targets + 4 * at)
                if load_byte(alive + to) != 0:
                    if load_half(orders + 4 * to) == 0:
                        order += 1
                        store_half(orders + 4 * to, order)
                        store_half(lows + 4 * to, order)
                        store_half(stack + 4 * height, to)
                        height += 1
                        store_half(path + 4 * depth, to)
                        store_word(cursors + 8 * depth, load_word(offsets + 8 * to))
                        depth += 1
                    elif load_half(component + 4 * to) == 0:
                        store_half(lows + 4 * node, min(load_half(lows + 4 * node), load_half(orders + 4 * to)))
            else:
                if load_half(lows + 4 * node) == load_half(orders + 4 * node):
                    number += 1
                    last = count
                    while last != node:
                        height -= 1
                        last = load_half(stack + 4 * height)
                        store_half(component + 4 * last, number)
                depth -= 1
                if depth > 0:
                    before = load_half(path + 4 * (depth - 1))
                    store_half(lows + 4 * before, min(load_half(lows + 4 * before), load_half(lows + 4 * node)))
    store_word(saved + SAVED_ROOT, root)
    store_word(saved + SAVED_DEPTH, depth)
    store_word(saved + SAVED_HEIGHT, height)
    store_word(saved + SAVED_ORDER, order)
    store_word(saved + SAVED_COMPONENTS, number)
    return int(depth == 0 and root == count)


def collect(
    first: int,
    last: int,
    offsets: int,
    targets: int,
    steps: int,
    component: int,
    met: int,
    given: int,
    words: int,
    total: int,
) -> int:
    """Add to `total` what each component meets: in its states (`met`), and with the steps within it (`given`).

    Every row has `words` words: `met` a row for each node, `given` for each step, `total` for each component. Looks at
    the nodes first..last-1; those of component 0 count nowhere.
    """
    for node in range(first, last):
        own = load_half(component + 4 * node)
        if own != 0:
            for word in range(words):
                row = total + 8 * (own * words + word)
                found = load_word(row) | load_word(met + 8 * (node * words + word))
                for at in range(load_word(offsets + 8 * node), load_word(offsets + 8 * (node + 1))):
                    if load_half(component + 4 * load_half(targets + 4 * at)) == own:
                        found |= load_word(given + 8 * (load_half(steps + 4 * at) * words + word))
                store_word(row, found)
    return last


def spread(
    first: int, last: int, offsets: int, targets: int, alive: int, reached: int, queue: int, parents: int, end: int
) -> int:
    """Append to the queue, which ends at `end`, what edges from queue[first..last-1] reach for the first time.

    Only nodes whose byte in `alive` is not 0 are reached. Each gets a 1 in `reached`, and the node from which it was
    reached in `parents`. Returns the new end of the queue.
    """
    for place in range(first, last):
        node = load_half(queue + 4 * place)
        for at in range(load_word(offsets + 8 * node), load_word(offsets + 8 * (node + 1))):
            to = load_half(targets + 4 * at)
            if load_byte(alive + to) != 0 and load_byte(reached + to) == 0:
                store_byte(reached + to, 1)
                store_half(parents + 4 * to, node)
                store_half(queue + 4 * end, to)
                end += 1
    return end


def shortest(
    begin: int,
    goal: int,
    offsets: int,
    targets: int,
    steps: int,
    nodes: int,
    places: int,
    met: int,
    given: int,
    masks: int,
    queue: int,
    edges: int,
    parents: int,
) -> int:
    """Find a shortest walk within a component that meets some requirements, and ends in the place `goal`, if that is
    not 0: a breadth-first search of pairs (place, mask of what is met), as numbers place * masks + mask.

    `begin` is the pair with which the walk begins. The component has the `nodes` at the places 1, 2, ...; `places` has
    the place of each node of the graph, 0 outside of the component. `met` has a mask for each place, `given` for each
    step, both of 32 bits; there are `masks` of them, and the last one is that of all requirements. Each visited pair,
    except the first, gets in `edges` (64 bits, 0 elsewhere) the edge by which it was reached, plus 1, and in `parents`
    the pair before. Returns the last pair; 0 if there is no such walk.
    """
    store_half(queue, begin)
    end = 1
    place = 0
    while place < end:
        here = load_half(queue + 4 * place)
        place += 1
        node = load_half(nodes + 4 * (here // masks))
        for at in range(load_word(offsets + 8 * node), load_word(offsets + 8 * (node + 1))):
            to = load_half(places + 4 * load_half(targets + 4 * at))
            if to != 0:
                mask = here % masks | load_half(given + 4 * load_half(steps + 4 * at)) | load_half(met + 4 * to)
                there = to * masks + mask
                if there != begin and load_word(edges + 8 * there) == 0:
                    store_word(edges + 8 * there, at + 1)
                    store_half(parents + 4 * there, here)
                    if mask == masks - 1 and (goal == 0 or goal == to):
                        return there
                    store_half(queue + 4 * end, there)
                    end += 1
    return 0

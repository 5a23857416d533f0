"""Random models of which many treat the elements of their domains alike, and many do not.

In:  a random number generator.
Out: the text of a model file: nodes and keys, fields over them, actions and properties with comparisons, folds, loops
     and helpers; now and then with an order, arithmetic, a constant, or a loop whose order matters.
"""

from __future__ import annotations

import random

HEAD = '''"""A random model."""

class Configuration:
    nodes = bound({nodes}, "nodes", least=1)
    keys = bound({keys}, "keys", least=1)
    pick = setting(0, "a choice", most=1)

class Node(Domain, size="nodes"):
    pass

class Key(Domain, size="keys"):
    pass

class Nodes(Subset, of=Node):
    pass

class State:
    up = field(Node, values=Flag)
    owner = field(values=optional(Node), initially=NONE)
    follows = field(Node, values=optional(Node), initially=NONE)
    knows = field(Node, Node, values=Flag)
    level = field(Node, values=between(0, 2))
    total = field(values=between(0, 3))
    place = field(Key, values=optional(Node), initially=NONE)
    has = field(Node, Key, values=Flag)
    favourite = field(Node, values=optional(Key), initially=NONE)

def levels_reached(s, n):
    return sum(1 for other in range(s.nodes) if s.level[other] == s.level[n])

def is_known(s, n):
    return any(s.knows[other][n] for other in range(s.nodes))

def copy_row(s, n, other):
    for third in range(s.nodes):
        s.knows[n][third] = s.knows[other][third]

def first_up(s):
    for n in range(s.nodes):
        if s.up[n]:
            return n
    return NONE
'''

TESTS = (
    "s.up[{n}]", "not s.up[{n}]", "{n} != {m}", "{n} == {m}", "s.owner == {n}", "s.owner == NONE",
    "s.follows[{n}] == {m}",
    "s.follows[{n}] != NONE", "s.knows[{n}][{m}]", "s.level[{n}] < 2", "s.level[{n}] == s.level[{m}]", "s.total < 3",
    "s.place[{k}] == {n}", "s.has[{n}][{k}]", "s.favourite[{n}] == {k}", "is_known(s, {n})",
    "levels_reached(s, {n}) > 1",
    "all(s.knows[other][{n}] for other in range(s.nodes) if s.up[other])",
    "any(s.place[key] == {n} for key in range(s.keys))",
    "all(s.level[a] == s.level[b] for a in range(s.nodes) for b in range(s.nodes) if a < b)",
    "not any(s.knows[a][b] and s.knows[b][a] for a in range(s.nodes) for b in range(s.nodes) if a < b)",
    "sum(1 for other in range(s.nodes) if s.up[other]) > 1",
)  # fmt: skip
UNSAFE_TESTS = (
    "{n} < {m}", "s.owner == 0", "s.up[0]", "s.owner + 1 == {n}", "first_up(s) == {n}", "s.owner >= 0", "{n} > 0",
    "any(s.knows[a][b] for a in range(s.nodes) for b in range(s.nodes) if a < b)", "s.follows[{n}] == s.favourite[{n}]",
    "all(s.up[other] for other in range(1, s.nodes))", "max(s.owner, {n}) == {n}", "s.pick == s.owner",
)  # fmt: skip
WRITES = (
    "s.up[{n}] = not s.up[{n}]", "s.owner = {n}", "s.owner = NONE", "s.follows[{n}] = {m}", "s.follows[{n}] = s.owner",
    "s.knows[{n}][{m}] = True", "s.level[{n}] = 2 - s.level[{m}]", "s.place[{k}] = {n}", "s.has[{n}][{k}] = s.up[{m}]",
    "s.favourite[{n}] = {k}", "copy_row(s, {n}, {m})", "s.total = sum(1 for other in range(s.nodes) if s.up[other])",
    "for other in range(s.nodes):\n        s.up[other] = other == {n}",
    "for other in range(s.nodes):\n        if s.follows[other] == {n}:\n"
    "            s.follows[other] = {m}\n            s.level[other] = 0",
    "for other in range(s.nodes):\n        if s.up[other]:\n            s.total = 0",
    "least = s.level[{n}]\n    for other in range(s.nodes):\n        if s.knows[{n}][other]:\n"
    "            least = min(least, s.level[other])\n    s.level[{n}] = least",
    "for key in range(s.keys):\n        s.has[{n}][key] = s.has[{m}][key]",
    "for other in range(s.nodes):\n        for third in range(s.nodes):\n"
    "            s.knows[other][third] = s.up[other] and s.up[third]",
    "s.follows[{n}] = {m} if s.up[{n}] else s.follows[{m}]",
)  # fmt: skip
UNSAFE_WRITES = (
    "s.owner = 0", "s.owner = first_up(s)",
    "for other in range(s.nodes):\n        if s.up[other]:\n            s.owner = other",
    "for other in range(s.nodes):\n        s.up[other] = not s.up[{n}]",
    "for other in range(s.nodes):\n        if s.level[other] == s.level[{n}]:\n            s.level[{n}] = 0",
    "s.level[{n}] = min({n}, 2)",
    "for other in range(s.nodes):\n        s.total = s.level[other]",
    "for other in range(s.nodes):\n        if s.owner == NONE:\n            s.owner = other",
)  # fmt: skip


def model_text(chance: random.Random, unsafe: float) -> str:
    """The text of a model; `unsafe` is the share of its tests and writes that may tell elements apart."""
    parts = [HEAD.format(nodes=chance.choice((2, 3, 3)), keys=chance.choice((1, 2)))]
    parts += [_action(chance, unsafe, number) for number in range(chance.randint(2, 4))]
    parts += [_property(chance, unsafe, number) for number in range(chance.randint(1, 3))]
    return "\n\n".join(parts)


def _pick(
    chance: random.Random, unsafe: float, safe: tuple[str, ...], other: tuple[str, ...], names: dict[str, str]
) -> str:
    return chance.choice(other if chance.random() < unsafe else safe).format(**names)


def _action(chance: random.Random, unsafe: float, number: int) -> str:
    names = {"n": "node", "m": "peer", "k": "key"}
    lines = ["@action", f"def act_{number}(s, node: Node, peer: Node, key: Key, some: Nodes):"]
    for _ in range(chance.randint(1, 3)):
        test = "some[node]" if chance.random() < 0.2 else _pick(chance, unsafe, TESTS, UNSAFE_TESTS, names)
        lines.append(f"    require({test})")
    if chance.random() < 0.3:
        lines.append(
            "    for member in range(s.nodes):\n        if some[member]:\n            s.knows[node][member] = True"
        )
    else:
        lines.append("    require(not any(some[member] for member in range(s.nodes)))")
    lines += [f"    {_pick(chance, unsafe, WRITES, UNSAFE_WRITES, names)}" for _ in range(chance.randint(1, 2))]
    return "\n".join(lines)


def _property(chance: random.Random, unsafe: float, number: int) -> str:
    names = {"n": "x", "m": "y", "k": "z"}
    tests = [_pick(chance, unsafe, TESTS, UNSAFE_TESTS, names) for _ in range(chance.randint(1, 3))]
    loops = "for x in range(s.nodes) for y in range(s.nodes) for z in range(s.keys)"
    fold, kind = chance.choice((("all", "always"), ("any", "always"), ("any", "sometimes")))
    return f"@{kind}\ndef prop_{number}(s):\n    return {fold}({chance.choice((' and ', ' or ')).join(tests)} {loops})"

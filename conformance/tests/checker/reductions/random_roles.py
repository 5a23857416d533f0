"""Random models whose nodes have roles: much of what a node holds matters only in some roles.

In:  a random number generator.
Out: the text of a model file. Some actions that end a role write anew what the next one needs, and some do not; some
     guards and properties look at the role first, and some do not.
"""

from __future__ import annotations

import random

HEAD = '''"""A random model."""

from isrcheck.language import (
    NONE, Domain, Flag, action, always, always_step, between, bound, constraint, field, optional, require, setting,
    sometimes, terminal,
)


class Configuration:
    nodes = bound(2, "nodes", least=1)
    pick = setting(0, "a choice", most=1)


class Node(Domain, size="nodes"):
    pass


class State:
    role = field(Node, values=between(0, 2))
    phase = field(values=between(0, 2))
    asks = field(Node, Node, values=between(0, 1))
    offset = field(Node, values=between(0, 2))
    limit = field(Node, values=between(0, 2))
    seen = field(Node, Node, values=Flag)
    answer = field(Node, Node, values=between(0, 1))
    last = field(values=optional(Node), initially=NONE)
    copy = field(Node, values=between(0, 3))
    narrow = field(Node, values=between(0, 1))


def is_off(s, n):
    return s.role[n] == 0


def is_on(s, n):
    return not is_off(s, n) and (s.pick == 1 or s.role[n] != 0)


def reset(s, n):
    s.offset[n] = 0
    for other in range(s.nodes):
        s.seen[n][other] = False


def reset_some(s, n):
    for other in range(s.nodes):
        if s.asks[n][other] == 0:
            s.seen[n][other] = False


def leave(s, n, role):
    s.limit[n] = 0
    s.role[n] = role
'''

GUARDS = (
    "s.role[{n}] == 1", "s.role[{n}] == 0", "s.role[{n}] != 0", "is_off(s, {n})", "is_on(s, {n})",
    "not is_on(s, {n})", "s.phase == 0", "s.phase < 2", "s.phase in (1, 2)", "s.asks[{n}][{m}] == 1",
    "s.asks[{n}][{m}] == 0", "s.role[{n}] == 1 or s.role[{n}] == 2", "s.role[{m}] > 0",
)  # fmt: skip
TESTS = (
    "s.offset[{n}] < 2", "s.limit[{n}] == 0", "not s.seen[{n}][{m}]", "s.answer[{n}][{m}] == 1", "s.last != {n}",
    "s.role[{n}] == 0 or s.offset[{n}] == 1", "(s.limit[{n}] > 0 if s.role[{n}] == 2 else s.phase == 0)",
    "all(s.seen[{n}][x] for x in range(s.nodes) if s.role[{n}] == 1)", "s.narrow[{n}] == 0",
)  # fmt: skip
WRITES = (
    "s.role[{n}] = 1", "s.role[{n}] = 0", "s.role[{n}] = 2", "s.role[{n}] = s.role[{m}]", "leave(s, {n}, 1)",
    "leave(s, {n}, 0)", "s.phase = 1", "s.phase = 2", "s.phase = 0", "s.asks[{n}][{m}] = 1", "s.asks[{n}][{m}] = 0",
    "s.asks[{n}][{m}] = 1\n    s.answer[{n}][{m}] = 0",
    "s.asks[{n}][{m}] = 0\n    s.answer[{n}][{m}] = 1", "s.offset[{n}] = 0", "s.offset[{n}] = s.limit[{m}]",
    "s.offset[{n}] = 1", "s.limit[{n}] = 2 - s.offset[{n}]", "s.limit[{n}] = 0", "reset(s, {n})", "reset(s, {m})",
    "reset_some(s, {n})", "s.seen[{n}][{m}] = True", "s.answer[{n}][{m}] = 1", "s.last = {n}",
    "s.copy[{n}] = s.offset[{m}]", "s.copy[{n}] = s.copy[{m}]", "s.copy[{n}] += 1", "s.narrow[{n}] = s.offset[{n}]",
    "if s.role[{n}] == 1:\n        s.offset[{n}] = 2",
    "if s.role[{m}] == 2:\n        s.role[{m}] = 0\n        s.limit[{m}] = 0",
    "if s.role[{n}] == 0:\n        s.limit[{n}] = 1\n    else:\n        s.limit[{n}] = s.offset[{n}]",
    "for x in range(s.nodes):\n        s.offset[x] = 0\n        s.role[x] = 1",
    "for x in range(s.nodes):\n        s.limit[x] = 1\n    s.phase = 1",
    "for x in range(s.nodes):\n        for y in range(s.nodes):\n            s.answer[x][y] = 0\n    s.phase = 2",
    "for x in range(s.nodes):\n        s.seen[x][x] = False\n    s.phase = 0",
    "for x in range(s.nodes):\n        if x == {m}:\n            s.limit[x] = 1\n            s.phase = 1",
    "for x in range(s.nodes):\n        if x == {m}:\n            s.seen[{n}][x] = False\n            s.role[{n}] = 1",
)  # fmt: skip
PROPERTIES = (
    "@always\ndef prop_{i}(s):\n    return all({test} for x in range(s.nodes) for y in range(s.nodes) if {guard})",
    "@always\ndef prop_{i}(s):\n    return not any({guard} and {test} for x in range(s.nodes) for y in range(s.nodes))",
    "@sometimes\ndef prop_{i}(s):\n"
    "    return any({guard} and not {test} for x in range(s.nodes) for y in range(s.nodes))",
    "@always_step\ndef prop_{i}(before, after):\n"
    "    return all(before.limit[x] <= after.limit[x] for x in range(before.nodes) if after.role[x] == 1)",
    "@always_step\ndef prop_{i}(before, after):\n"
    "    return not any(after.role[x] == 2 and after.offset[x] == 1 for x in range(before.nodes))",
)  # fmt: skip


def model_text(chance: random.Random) -> str:
    """The text of a model."""
    parts = [HEAD]
    parts += [_action(chance, number) for number in range(chance.randint(3, 6))]
    parts += [_property(chance, number) for number in range(chance.randint(1, 2))]
    for kind in ("terminal", "constraint"):
        if chance.random() < 0.3:
            guard, test = chance.choice(GUARDS), chance.choice(TESTS)
            parts.append(
                f"@{kind}\ndef is_{kind}(s):\n    return s.phase == 0 or {guard} or {test}".format(n="0", m="1")
            )
    return "\n\n".join(parts) + "\n"


def _action(chance: random.Random, number: int) -> str:
    names = chance.choice(({"n": "n", "m": "m"}, {"n": "n", "m": "n"}, {"n": "m", "m": "n"}))
    guards = [chance.choice(GUARDS).format(**names)]
    if chance.random() < 0.5:
        guards.append(chance.choice((*GUARDS, *TESTS)).format(**names))
    lines = ["@action", f"def act_{number}(s, n: Node, m: Node):"]
    lines += (f"    require({guard})" for guard in guards)
    lines += (f"    {chance.choice(WRITES).format(**names)}" for _ in range(chance.randint(1, 3)))
    return "\n".join(lines)


def _property(chance: random.Random, number: int) -> str:
    names = {"n": "x", "m": "y"}
    guard, test = chance.choice(GUARDS).format(**names), chance.choice(TESTS).format(**names)
    return chance.choice(PROPERTIES).format(i=number, guard=f"({guard})", test=f"({test})")

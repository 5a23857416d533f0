"""Makes random programs whose names collide on purpose; a seed and a number determine a program.

In:  a seed and a number.
Out: a `Program`.

All variables have one of few names: parameters, locals, variables of loops and of generators, inside each other and in
helpers. Fields, constants and helpers have these names as well; helpers are also called like functions of Python,
subsets like fields, entries of the configuration like members of an enumeration. Two modules give two meanings to one
name: to an enumeration, a constant, a domain, a helper. Loops reuse the names of parameters and locals, and may have
no iteration.
"""

from __future__ import annotations

import random

from isrcheck.conformance.fuzz.collisions.motifs import ONE, Motifs
from isrcheck.conformance.fuzz.collisions.writer import (
    ALWAYS,
    BUILTINS,
    FIELDS,
    HELPERS,
    VARIABLES,
    Helper,
    Module,
    Scope,
    Writer,
    indented,
)
from isrcheck.conformance.fuzz.program import LIBRARY, Program

WORDS = (
    "NONE, Domain, Flag, Set, Subset, action, always, always_step, between, bound, field, optional, require, sometimes"
)


# ---------------------------------------------------------------------------------------------------------- functions


def helper(chance: random.Random, module: Module, name: str, *, is_careful: bool) -> tuple[Helper, str]:
    """A helper of a module, and its text."""
    kinds = chance.choice((("n",), ("n",), ("n", "n"), ("n", "n", "n"), ("n", "n", "n"), ("i",), ("n", "i")))
    returns = chance.choice(("t", "t", "t", "i", "i", None))
    parameters = chance.sample(VARIABLES, len(kinds))
    writer, made = Writer(chance, is_careful=is_careful), Helper(name, kinds, returns)
    if name in ("max", "min"):
        # Of two numbers, as Python's own, but with a result that depends on their order.
        made = Helper(name, ("i", "i"), "i", of_state=False)
        first, second = parameters = chance.sample(VARIABLES, 2)
        lines = [chance.choice((f"return {second}", f"return {first} if {second} == 0 else {second}"))]
    else:
        is_short = returns == "t" and chance.random() < 0.75
        storable = () if is_short else tuple(chance.sample(VARIABLES, chance.choice((1, 2, 2))))
        own = frozenset((*parameters, *storable, name))
        scope = Scope(module, dict(zip(parameters, kinds, strict=True)), own)
        lines = [] if is_short else writer.statements(scope, storable, 2, chance.choice((1, 2)), writes=returns is None)
        nodes = scope.of_kind("n")
        if returns is None:
            lines.append(f"s.x = {chance.choice([*scope.of_kind('i'), '1'])}")
        elif returns == "i":
            lines.append(f"return {writer.number(scope, 1)}")
        elif len(nodes) > 1:
            lines.append(f"return {writer.shared(scope, *nodes[:2])}")
        else:
            lines.append(f"return {writer.truth(scope, 1)}")
    given = ["s", *parameters] if made.of_state else parameters
    return made, "\n".join([f"def {name}({', '.join(given)}):", *indented(lines)])


HARMLESS = (
    "def {name}(s, x: Node, y: Node):\n    s.k[x][y] = not s.k[x][y]\n    s.f[x] = 2 - s.f[y]\n    s.role[x] = 1",
    "def {name}(s, x: Node):\n    s.f[x] = (s.f[x] + 1) % 3\n    s.role[x] = 1\n    s.k[x][x] = True",
)
"""Actions that treat all nodes alike, whatever their names mean."""

PLAIN = (
    "s.x != {i}",
    "sum(1 for x in Node if s.f[x] == {i}) != {j}",
    "all(s.g[x] != {i} or s.f[x] == {j} for x in Node)",
)
"""Claims that treat all nodes alike, whatever their names mean."""

CLAIM, ACTION, BOTH = "claim", "action", "both"
"""The part of a program that may tell nodes apart. With BOTH, the nodes mostly cannot be exchanged."""


def action(chance: random.Random, module: Module, made: Motifs, name: str, *, is_careful: bool) -> str:
    """An action with a motif, or without one; its loops may reuse the names of its parameters."""
    motif, lines = chance.random(), list[str]()
    is_reused, is_of_a_set = 0.35 <= motif < 0.6, 0.6 <= motif < 0.78 and "z" in module.fields
    domains = ["Small"] if is_reused and chance.random() < 0.7 else []
    domains += [chance.choice(("Node", "Some", "Few", "Few"))] if is_of_a_set else []
    domains += [
        chance.choice(("Node", "Node", "Some", "Few", "Small")) for _ in range(chance.choice((0, 1, 1)) or not domains)
    ]
    names = chance.sample(VARIABLES, len(domains))
    if domains[0] in ("Some", "Few") and "z" not in names and chance.random() < 0.5:
        names[0] = "z"  # like the set in the state
    parameters = dict(zip(names, domains, strict=True))
    kinds = {"Node": "n", "Some": "n", "Few": "i", "Small": "i"}
    subsets = tuple((one, kinds[domain]) for one, domain in parameters.items() if domain in ("Some", "Few"))
    names = [one for one in VARIABLES if one not in dict(subsets)]
    numbers = [one for one, domain in parameters.items() if domain == "Small"]
    bound = [one for one in parameters if one not in dict(subsets)]
    others = [one for one in parameters if one not in numbers]
    if motif < 0.2:
        lines = made.spread(list(dict(subsets)))
    elif motif < 0.35:
        lines = made.gather((), list(parameters))
    elif is_reused:
        lines = made.reused(numbers, others)
    elif is_of_a_set:
        lines = made.of_a_set(bound, list(dict(subsets)))
    elif motif < (0.92 if module.has_entry else 0.8):
        lines = made.of_a_member(bound, list(dict(subsets)))
    else:
        storable = tuple(chance.sample(names, min(len(names), chance.choice((0, 1, 2, 3)))))
        variables = {one: kinds[domain] for one, domain in parameters.items() if domain in ("Node", "Small")}
        scope = Scope(module, variables, frozenset((*parameters, *storable, name)), subsets)
        writer = Writer(chance, is_careful=is_careful)
        lines = [f"require({writer.truth(scope, 1)})" for _ in range(chance.choice((0, 0, 1)))]
        lines += writer.statements(scope, storable, 2, chance.choice((1, 2, 3)), writes=True)
        values = scope.of_kind("i") + ([] if is_careful else scope.of_kind("n"))
        if values and chance.random() < 0.7:
            lines.append(f"s.x = {chance.choice(values)}")
    given = ", ".join(["s", *(f"{one}: {domain}" for one, domain in parameters.items())])
    return "\n".join(["@action", f"def {name}({given}):", *indented(lines)])


def claim(
    chance: random.Random, module: Module, made: Motifs, name: str, twins: tuple[str, str] | None, *, is_careful: bool
) -> str:
    """A property: mostly a motif, or a fold over nodes or pairs of nodes."""
    kind = chance.choice(("always", "always", "sometimes", "always_step"))
    if twins is not None and chance.random() < 0.6:
        kind, text = "always", made.of_two_modules(*twins)
    elif chance.random() < 0.7:
        kind, text = "always", made.inlined()
    else:
        states = ("before", "after") if kind == "always_step" else ("s",)
        writer, scope = Writer(chance, is_careful=is_careful), Scope(module, {}, frozenset((name,)), states=states)
        folds = [one for one in ("any", "all") if one in module.builtins]
        text = writer.truth(scope, 2)
        if folds and chance.random() < 0.5:
            variable = chance.choice(VARIABLES)
            inner = scope.inside((variable,), {variable: "n"})
            text = f"{chance.choice(folds)}({writer.pair(chance.choice(folds), inner)} for {variable} in Node)"
    given = "before, after" if kind == "always_step" else "s"
    return "\n".join([f"@{kind}", f"def {name}({given}):", f"    return {text}"])


# ------------------------------------------------------------------------------------------------------------ programs


def _head(nodes: int | str, first: int) -> list[str]:
    """What both modules define, under the same names: an enumeration and a domain."""
    return [
        "from enum import IntEnum",
        f"from isrcheck.language import {WORDS}",
        f"class Role(IntEnum):\n    X = {first}\n    Y = {1 - first}",
        f"class Node(Domain, size={nodes}):\n    pass",
    ]


def _module(chance: random.Random, module: Module, *, is_careful: bool) -> list[str]:
    """A module with constants and helpers of its own, and their text."""
    parts = []
    free = [name for name in (*VARIABLES, "LIMIT") if name not in module.names]
    for one in chance.sample(free, chance.choice((0, 1, 2))):
        module.constants[one] = chance.randint(0, 2)
        parts.append(f"{one} = {module.constants[one]}")
    for name in module.names:
        made, text = helper(chance, module, name, is_careful=is_careful)
        module.helpers.append(made)
        parts.append(text)
    return parts


def collisions(seed: int, number: int) -> Program:
    """The program with this number for a seed."""
    chance = random.Random(f"collisions {seed}/{number}")
    name, is_careful = f"collisions_{seed}_{number}", chance.random() < 0.8
    risk = chance.choice((CLAIM, CLAIM, ACTION, ACTION, BOTH))
    fields = [one for one in FIELDS if one in ALWAYS or chance.random() < 0.5]
    nodes, has_entry = chance.choice((2, 3, 3)), chance.random() < 0.5
    names = chance.sample(HELPERS, chance.choice((0, 0, 1, 2)))
    module = Module(nodes, fields, names if {"any", "all"} - {*names} else [], has_entry=has_entry)
    parts, imports = list[str](), list[str]()
    library: str | None = None
    twins: tuple[str, str] | None = None
    if risk != ACTION and chance.random() < 0.5:
        # The same text in both modules: only what its names mean is different.
        word, (node, inner) = chance.choice(("h", "w", "is_so")), chance.sample(VARIABLES, 2)
        module.names = [one for one in module.names if one not in (*BUILTINS, word)]
        twin = f"def {word}(s, {node}):\n    return {chance.choice(ONE).format(n=node, v=inner)}"
        library = "\n".join([*_head(chance.choice((2, 3)), 1), f"LIMIT = {chance.randint(0, 2)}", twin]) + "\n"
        parts, twins = [f"LIMIT = {chance.randint(0, 2)}", twin], (word, f"{word}_{LIBRARY}")
        imports = [f"from {name}_{LIBRARY} import {word} as {twins[1]}"]
        module.constants["LIMIT"] = 0
    parts += _module(chance, module, is_careful=is_careful)
    made = Motifs(chance, module)
    if risk == CLAIM:
        actions = ["@action\n" + chance.choice(HARMLESS).format(name="step_0")]
    else:
        count = chance.choice((1, 1, 2)) if risk == BOTH else 1
        actions = [action(chance, module, made, f"step_{one}", is_careful=is_careful) for one in range(count)]
    if risk == ACTION:
        plain = [one for one in PLAIN if one.partition("(")[0] not in module.names]
        text_of = chance.choice(plain).format(i=chance.randint(0, 2), j=chance.randint(0, 2))
        claims = [f"@always\ndef claim_0(s):\n    return {text_of}"]
    else:
        count = chance.choice((1, 2)) if risk == BOTH else 1
        claims = [claim(chance, module, made, f"claim_{one}", twins, is_careful=is_careful) for one in range(count)]
    # Proofs for every length go through all sizes of a domain; the rest of the program does not depend on that.
    is_open = random.Random(f"{name}: open").random() < 0.25
    entries = [f"nodes = bound({nodes}, 'how many', least=1, is_open=True)"] if is_open else []
    entries += ["X = bound(2, 'a bound')"] if has_entry else []
    if is_open:
        claims = [one.replace("@always\n", "@always(every_length=True)\n") for one in claims]
    text = [
        f'"""{name}: names that collide."""',
        *_head("'nodes'" if is_open else nodes, 0),
        *imports,
        "class Small(Domain, size=1):\n    pass",
        "class Some(Subset, of=Node):\n    pass",
        "class Few(Subset, of=Small):\n    pass",
        *(["\n".join(["class Configuration:", *indented(entries)])] if entries else []),
        "\n".join(["class State:", *indented([f"{one} = {FIELDS[one][0]}" for one in fields])]),
        *parts,
        *made.helpers,
        *actions,
        *claims,
    ]
    return Program(name, "\n".join(text) + "\n", library=library)

"""Writes expressions and statements whose variables all have one of few names.

In:  a random number generator, a `Module`, and a `Scope`: what can be read at one point.
Out: text.

Many conditions treat two nodes almost alike, so that what a name means decides whether the nodes can be exchanged.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from isrcheck.conformance.fuzz.program import LIBRARY

VARIABLES = ("x", "y", "z", "f")
"""The names of all variables; each is also a field, and may be a constant or a helper."""

BUILTINS = ("max", "min", "sum", "any", "all")
HELPERS = (*BUILTINS, "h", "w", *VARIABLES)

FIELDS = {
    "f": ("field(Node, values=between(0, 2))", "s.f[{n}] == {i}"),
    "g": ("field(Node, values=between(0, 2))", "s.g[{n}] >= {i}"),
    "role": ("field(Node, values=Role)", "s.role[{n}] == Role.{member}"),
    "k": ("field(Node, Node, values=Flag)", "s.k[{n}][{m}]"),
    "z": ("field(values=Set(of=Node))", "{n} in s.z"),
    "y": ("field(values=optional(Node), initially=NONE)", "s.y == {n}"),
    "x": ("field(values=between(0, 3))", "s.x == {i}"),
}
"""Each field with its declaration, and a condition about it: {n} and {m} are nodes, {i} is a number."""

ALWAYS = ("f", "g", "role", "k", "x")
"""The fields that each program has."""


@dataclass(frozen=True)
class Helper:
    """A helper: its name where it is called, the kinds of its parameters, what it returns (None: it writes), and
    whether its first parameter is a state."""

    name: str
    kinds: tuple[str, ...]
    returns: str | None
    of_state: bool = True

    @property
    def twin(self) -> str:
        """The name under which a helper with the same text may be imported from the library."""
        return f"{self.name}_{LIBRARY}"


@dataclass
class Module:
    """A module of a program."""

    nodes: int
    """The number of nodes."""
    fields: Sequence[str]
    """The fields that its functions may use."""
    names: Sequence[str]
    """The names of all helpers that it will have."""
    constants: dict[str, int] = field(default_factory=dict)
    """Its constants, with their values."""
    helpers: list[Helper] = field(default_factory=list)
    """The helpers that are written so far."""
    has_entry: bool = False
    """Whether the configuration has an entry with the name of a member of an enumeration."""
    has_twins: bool = False
    """Whether the library has a helper with the same text."""

    @property
    def builtins(self) -> set[str]:
        return {one for one in BUILTINS if one not in self.names}


@dataclass(frozen=True)
class Scope:
    """What can be read at one point of a function."""

    module: Module
    """The module of the function."""
    variables: dict[str, str]
    """The variables, with their kinds."""
    own: frozenset[str]
    """The names that hide those of the module."""
    subsets: tuple[tuple[str, str], ...] = ()
    """The subsets that can be read, each with the kind of its elements."""
    states: tuple[str, ...] = ("s",)
    """The names of states."""
    looping: str = ""
    """The variable of the innermost loop over nodes."""

    def of_kind(self, kind: str) -> list[str]:
        return [name for name, one in self.variables.items() if one == kind]

    def has(self, name: str) -> bool:
        """Whether a global name, or one of Python's, can be read."""
        return name not in self.own

    def calls(self, returns: str | None) -> list[Helper]:
        helpers = [one for one in self.module.helpers if one.returns == returns and self.has(one.name)]
        return [one for one in helpers if "n" not in one.kinds or self.of_kind("n")]

    def inside(self, hidden: Sequence[str], variables: dict[str, str]) -> Scope:
        """The scope in a generator whose variables have these names."""
        outer = {name: kind for name, kind in self.variables.items() if name not in hidden}
        return replace(self, variables=outer | variables, own=self.own | set(hidden))


class Writer:
    """Writes expressions and statements; a careful one mostly treats all nodes alike."""

    def __init__(self, chance: random.Random, *, is_careful: bool) -> None:
        self.chance = chance
        self.is_careful = is_careful

    # -------------------------------------------------------------------------------------------------- expressions

    def number(self, scope: Scope, depth: int) -> str:
        chance, state, module = self.chance, self.chance.choice(scope.states), scope.module
        forms: list[Callable[[], str]] = [lambda: str(chance.randint(0, 2)), lambda: f"{state}.x"]
        forms += [partial(str, name) for name in scope.of_kind("i") * 2]
        forms += [partial(str, name) for name in scope.module.constants if scope.has(name)]
        if scope.of_kind("n"):
            forms += [lambda: f"{state}.f[{self.node(scope)}]"] * 2
        if scope.has("Role"):
            forms.append(lambda: f"Role.{chance.choice('XY')}")
        if scope.has("Node"):
            forms.append(lambda: "len(Node)")
        if module.has_entry:
            forms.append(lambda: f"{state}.X")
        if depth > 0:
            forms += [partial(self.call, scope, one) for one in scope.calls("i") * 2]
            if {"max", "min"} <= scope.module.builtins and scope.has("max") and scope.has("min"):
                extremum = chance.choice(("max", "min"))
                forms.append(lambda: f"{extremum}({self.number(scope, 0)}, {self.number(scope, 0)})")
            if "sum" in scope.module.builtins and scope.has("sum"):
                forms.append(lambda: self.fold("sum", scope, depth - 1))
        return chance.choice(forms)()

    def node(self, scope: Scope) -> str:
        return self.chance.choice(scope.of_kind("n"))

    def call(self, scope: Scope, helper: Helper, *nodes: str) -> str:
        """A call of a helper, with these nodes as its first arguments that are nodes."""
        state, waiting = self.chance.choice(scope.states), list(nodes)
        arguments = []
        for kind in helper.kinds:
            if kind == "n":
                arguments.append(waiting.pop(0) if waiting else self.node(scope))
            else:
                arguments.append(self.number(scope, 0))
        return f"{helper.name}({', '.join([*([state] if helper.of_state else []), *arguments])})"

    def atom(self, scope: Scope, node: str) -> str:
        """A condition about one node."""
        chance, module = self.chance, scope.module
        calls = [one for one in scope.calls("t") if "n" in one.kinds]
        if calls and chance.random() < 0.45:
            return self.call(scope, chance.choice(calls), node)
        subsets = [name for name, kind in scope.subsets if kind == "n"]
        if subsets and chance.random() < 0.3:
            return f"{node} in {chance.choice(subsets)}"
        if chance.random() < 0.1:
            return f"{node} {chance.choice(('==', '!='))} {self.node(scope)}"
        names = [one for one in module.fields if one != "x" and (one != "role" or scope.has("Role"))]
        text = FIELDS[chance.choice(names)][1]
        state = chance.choice(scope.states)
        values = {"n": node, "m": self.node(scope), "i": self.number(scope, 0), "member": chance.choice("XY")}
        if chance.random() < 0.5:
            values["n"], values["m"] = (values["m"], values["n"]) if "{m}" in text else (values["n"], values["m"])
        return text.format(**values).replace("s.", f"{state}.", 1) if state != "s" else text.format(**values)

    def mirror(self, scope: Scope, one: str, other: str) -> str:
        """A condition that treats two nodes alike, or almost: both sides make the same choices, but perhaps with
        different third nodes, or with helpers of two modules that have the same text."""
        chance = self.chance
        calls = [helper for helper in scope.calls("t") if helper.kinds.count("n") > 1]
        if calls and chance.random() < 0.4:
            return self.call(scope, chance.choice(calls), one, other)
        thirds = [name for name in scope.of_kind("n") if name not in (one, other)]
        numbers = {name: kind for name, kind in scope.variables.items() if kind != "n"}
        third, seed, sides = chance.choice([*thirds, ""]), chance.random(), []
        for node in (one, other):
            if chance.random() < 0.4:
                third = chance.choice([*thirds, ""])
            self.chance = random.Random(seed)
            sides.append(
                self.atom(replace(scope, variables=numbers | dict.fromkeys([node, *filter(None, [third])], "n")), node)
            )
        self.chance = chance
        if scope.module.has_twins and chance.random() < 0.6:
            helper = scope.module.helpers[0]
            sides[1] = re.sub(rf"\b{helper.name}\(", f"{helper.twin}(", sides[1])
        if chance.random() < 0.1:
            sides[1] = self.atom(scope, other)
        return f"(({sides[0]}) {chance.choice(('and', 'or', '=='))} ({sides[1]}))"

    def truth(self, scope: Scope, depth: int) -> str:
        chance, nodes = self.chance, scope.of_kind("n")
        forms: list[Callable[[], str]] = [
            lambda: f"{chance.choice(scope.states)}.x {chance.choice(('<', '==', '!='))} 2"
        ]
        if nodes:
            forms += [lambda: self.atom(scope, chance.choice(nodes))] * 3
        if len(nodes) > 1:
            forms += [lambda: self.mirror(scope, *chance.sample(nodes, 2))]
        if depth > 0:
            forms.append(lambda: f"not {self.truth(scope, 0)}")
            word = chance.choice(("and", "or"))
            forms.append(lambda: f"({self.truth(scope, depth - 1)} {word} {self.truth(scope, depth - 1)})")
            folds = [one for one in ("any", "all") if one in scope.module.builtins and scope.has(one)]
            if folds:
                forms += [lambda: self.fold(chance.choice(folds), scope, depth - 1)] * 2
                forms += [lambda: self.pair(chance.choice(folds), scope)] * (not self.is_careful)
        return chance.choice(forms)()

    def ranges(self, scope: Scope, hidden: Sequence[str] = ()) -> tuple[str, str]:
        """What a loop goes through, and the kind of its variable."""
        chance, module = self.chance, scope.module
        state = chance.choice(scope.states)
        ranges = [(f"range({module.nodes})", "n"), (f"range({chance.choice((0, 1, 2))})", "i")]
        if "Node" not in (*hidden, *scope.own):
            ranges += [("Node", "n")] * 4
        if module.has_entry and "Role" not in (*hidden, *scope.own):
            ranges += [("range(Role.X)", "i")] * 2
        if "z" in module.fields:
            ranges += [(f"{state}.z", "n")] * 2
        ranges += [(one, kind) for one, kind in scope.subsets if one not in hidden]
        nodes = [one for one in scope.of_kind("n") if one not in hidden]
        if nodes:
            ranges.append((f"range({state}.f[{chance.choice(nodes)}])", "i"))
        return chance.choice(ranges)

    def variable(self, scope: Scope) -> str:
        """The name of a variable of a generator."""
        names = [one for one in VARIABLES if one not in dict(scope.subsets)]
        return self.chance.choice(names) if self.chance.random() < 0.95 else self.chance.choice(("Node", "Role", "max"))

    def fold(self, word: str, scope: Scope, depth: int) -> str:
        name = self.variable(scope)
        iterated, kind = self.ranges(scope, (name,))
        inner = scope.inside((name,), {name: kind})
        test = f" if {self.truth(inner, 0)}" if self.chance.random() < 0.4 or word == "sum" else ""
        element = "1" if word == "sum" else self.truth(inner, depth)
        return f"{word}({element} for {name} in {iterated}{test})"

    def pair(self, word: str, scope: Scope) -> str:
        """A fold over pairs of nodes, each of which is looked at once."""
        names = [one for one in VARIABLES if one not in dict(scope.subsets)]
        first, second = self.chance.sample(names, 2)
        iterated = "Node" if scope.has("Node") else f"range({scope.module.nodes})"
        inner = scope.inside((first, second), {first: "n", second: "n"})
        element = self.mirror(inner, first, second)
        if self.chance.random() < 0.3:
            element = f"({element} {self.chance.choice(('and', 'or'))} {self.mirror(inner, first, second)})"
        return f"{word}({element} for {first} in {iterated} for {second} in {iterated} if {first} < {second})"

    def shared(self, scope: Scope, one: str, other: str) -> str:
        """A condition about two nodes, mostly inside a fold."""
        folds = [word for word in ("any", "all") if word in scope.module.builtins and scope.has(word)]
        names = [name for name in VARIABLES if name not in (one, other) or self.chance.random() < 0.1]
        if not folds or not names or self.chance.random() < 0.2:
            return self.mirror(scope, one, other)
        name = self.chance.choice(names)
        iterated, kind = self.ranges(scope, (name,))
        inner = scope.inside((name,), {name: kind})
        nodes = [node for node in (one, other) if node != name]
        text = self.mirror(inner, *nodes) if len(nodes) == 2 else self.truth(inner, 1)
        return f"{self.chance.choice(folds)}({text} for {name} in {iterated})"

    # --------------------------------------------------------------------------------------------------- statements

    def statements(self, scope: Scope, storable: Sequence[str], depth: int, count: int, *, writes: bool) -> list[str]:
        """Some statements; what they assign is added to the variables of the scope."""
        lines: list[str] = []
        for _ in range(count):
            forms = [self._local]
            if writes:
                forms += [self._write] * 3
            if depth > 0 and storable:
                forms += [self._loop] * 3
            lines += self.chance.choice(forms)(scope, storable, depth, writes)
        return lines or ["pass"]

    def _local(self, scope: Scope, storable: Sequence[str], depth: int, writes: bool) -> list[str]:
        name = self.chance.choice([*storable, ""])
        if not name or scope.variables.get(name) == "n":
            return ["pass"]
        value = self.number(scope, depth)
        scope.variables[name] = "i"
        return [f"{name} = {value}"]

    def _write(self, scope: Scope, storable: Sequence[str], depth: int, writes: bool) -> list[str]:
        chance, module = self.chance, scope.module
        is_in_order = self.is_careful and scope.looping and chance.random() < 0.9
        calls = scope.calls(None)
        nodes = [scope.looping] if is_in_order else scope.of_kind("n")
        if calls and chance.random() < 0.35:
            lines = [self.call(scope, chance.choice(calls), *nodes[:1])]
        elif not nodes or chance.random() < 0.3:
            numbers = scope.of_kind("i")
            value = str(chance.randint(0, 2)) if is_in_order else self.number(scope, depth)
            lines = [f"s.x = {chance.choice([*numbers, *numbers, value])}"]
        else:
            node, name = chance.choice(nodes), chance.choice([one for one in module.fields if one not in ("x", "y")])
            lines = [
                {
                    "f": f"s.f[{node}] = {self.number(scope, depth)}",
                    "g": f"s.g[{node}] = {self.number(scope, depth)}",
                    "role": f"s.role[{node}] = {chance.choice((0, 1))}",
                    "k": f"s.k[{node}][{self.node(scope)}] = {self.truth(scope, depth)}",
                    "z": f"s.z.{chance.choice(('add', 'discard'))}({node})",
                }[name]
            ]
            if "y" in module.fields and not is_in_order and chance.random() < 0.3:
                lines = [f"s.y = {chance.choice((node, node, 'NONE'))}"]
        if chance.random() < 0.4:
            return [f"if {self.truth(scope, 1)}:", *indented(lines)]
        return lines

    def _loop(self, scope: Scope, storable: Sequence[str], depth: int, writes: bool) -> list[str]:
        chance = self.chance
        iterated, kind = self.ranges(scope)
        before = dict(scope.variables)
        numbers = [one for one in storable if before.get(one) == "i"]
        names = [one for one in storable if one not in before]
        if kind == "i" or not self.is_careful:
            names += numbers if self.is_careful else [one for one in storable if one in before]
        if not names:
            return ["pass"]
        name = chance.choice([*names, *(one for one in names if one in before)])
        scope.variables[name] = kind
        inner = replace(scope, looping=name if kind == "n" else scope.looping)
        others = [one for one in numbers if one != name]
        if others and chance.random() < 0.5:
            lines = [self._gathered(inner, chance.choice(others), name if kind == "n" else "")]
        else:
            lines = self.statements(inner, storable, depth - 1, chance.choice((1, 1, 2)), writes=writes)
        after = kind if before.get(name) in (kind, None) else "i"
        scope.variables.clear()
        scope.variables.update(before)
        if name in before:
            scope.variables[name] = after
        return [f"for {name} in {iterated}:", *indented(lines)]

    def _gathered(self, scope: Scope, name: str, node: str) -> str:
        """An update of a local in a loop: its result does not depend, or hardly depends, on the iterations' order."""
        value = f"s.f[{node}]" if node and self.chance.random() < 0.8 else self.number(scope, 0)
        words = [one for one in ("max", "min") if scope.has(one)]
        own = [one.name for one in scope.calls("i") if not one.of_state]
        words = [one for one in words if one in scope.module.builtins or one in own]
        if words and self.chance.random() < 0.7:
            return f"{name} = {self.chance.choice(words)}({name}, {value})"
        return f"{name} = {self.chance.randint(0, 2)}" if self.chance.random() < 0.5 else f"{name} += {value}"


def indented(lines: Sequence[str]) -> list[str]:
    """Lines, one level deeper."""
    return [f"    {line}" for line in lines]

"""Parts of programs in which the meaning of one name decides a verdict: each makes one kind of collision likely.

In:  a random number generator, and the `Module` of the program, whose helpers a motif extends.
Out: text of helpers, actions and properties.

Each motif has many variants, of which most are harmless: whether two names are the same one is left to chance.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

from isrcheck.conformance.fuzz.collisions.writer import VARIABLES, Module, indented

TWO = ("s.k[{n}][{m}]", "s.k[{m}][{n}]", "s.f[{n}] == s.f[{m}]", "s.f[{n}] > s.f[{m}]", "({n} == {m} or s.k[{n}][{m}])")
"""Conditions about two nodes."""

ONE = (
    *("s.role[{n}] == Role.X", "s.f[{n}] == Role.Y", "s.f[{n}] == LIMIT", "s.f[{n}] > max(LIMIT, 0)"),
    *("s.f[{n}] + 1 == len(Node)", "s.f[{n}] < sum(1 for {v} in Node) - 1", "any(s.k[{n}][{v}] for {v} in Node)"),
)
"""Conditions about one node, in which a global name may mean something else in another module."""


class Motifs:
    """Makes motifs. `name` gives the names of the helpers that no other part has."""

    def __init__(self, chance: random.Random, module: Module) -> None:
        self.chance = chance
        self.module = module
        self.helpers: list[str] = []

    def helper(self, parameters: Sequence[str], lines: Sequence[str]) -> str:
        """Add a helper, and return its name."""
        name = f"{self.chance.choice(('aid', *VARIABLES))}_{len(self.helpers)}"
        self.helpers.append("\n".join([f"def {name}({', '.join(parameters)}):", *indented(lines)]))
        return name

    def names(self, count: int) -> list[str]:
        """Different names of variables."""
        return self.chance.sample(VARIABLES, count)

    def again(self, name: str, *others: str) -> str:
        """Often this name, and otherwise a name that differs from the others."""
        left = [one for one in VARIABLES if one not in (name, *others)]
        return name if self.chance.random() < 0.6 else self.chance.choice(left)

    def fold(self) -> str:
        """One of Python's functions that go through conditions."""
        return self.chance.choice([one for one in ("any", "all") if one not in self.module.names])

    def sides(self) -> str:
        """How two conditions are joined."""
        return self.chance.choice(("{0} and {1}", "{0} or {1}", "({0}) == ({1})"))

    # -------------------------------------------------------------------------------------------------- properties

    def pair(self, element: Callable[[str, str], str], *outer: str) -> str:
        """A fold over unordered pairs of nodes, inside folds over nodes with these variables."""
        first, second = self.chance.sample([one for one in VARIABLES if one not in outer], 2)
        text = f"{self.fold()}({element(first, second)} for {first} in Node for {second} in Node if {first} < {second})"
        for variable in outer:
            text = f"{self.fold()}({text} for {variable} in Node)"
        return text

    def inlined(self) -> str:
        """A helper about a pair of nodes, with a generator whose variable may be one of the caller's."""
        one, other, third = self.names(3)
        (outer,) = self.names(1)
        inner = self.again(outer, one, other)
        thirds = [name for name in (inner, third, third, inner) if name not in (one, other)] or [one]
        template, joined = self.chance.choice(TWO), self.sides()
        both = [template.format(n=node, m=self.chance.choice(thirds)) for node in (one, other)]
        word = "any" if "any" not in self.module.names and self.chance.random() < 0.6 else self.fold()
        text = f"{word}({joined.format(*both)} for {inner} in Node)"
        name = self.helper(["s", one, other, third], [f"return {text}"])
        return self.pair(lambda first, second: f"{name}(s, {first}, {second}, {outer})", outer)

    def of_two_modules(self, own: str, imported: str) -> str:
        """The same helper of two modules, in which a name may mean something else."""
        joined = self.sides()
        names = self.chance.choice(((own, imported), (own, imported), (own, own)))
        outer = self.names(self.chance.choice((0, 1)))
        return self.pair(
            lambda first, second: joined.format(f"{names[0]}(s, {first})", f"{names[1]}(s, {second})"), *outer
        )

    # ----------------------------------------------------------------------------------------------------- actions

    def spread(self, subsets: Sequence[str]) -> list[str]:
        """A loop over nodes that writes each by what a helper says of it, whose generator may reuse its parameter."""
        row = self.chance.choice([one for one in VARIABLES if one not in subsets])
        parameter, outer = self.names(1)[0], self.chance.choice(("f", "g"))
        inner = self.again(parameter)
        sign, number = self.chance.choice(("==", ">", "<")), self.chance.randint(0, 2)
        test = f"s.{self.chance.choice(('f', 'g'))}[{inner}] {sign} {number}"
        name = self.helper(["s", parameter], [f"return {self.fold()}({test} for {inner} in Node)"])
        value = self.chance.choice((f"1 if {name}(s, {row}) else 0", f"2 if {name}(s, {row}) else s.g[{row}]"))
        if self.chance.random() < 0.3:
            return [f"for {row} in Node:", f"    if {name}(s, {row}):", f"        s.{outer}[{row}] = 1"]
        return [f"for {row} in Node:", f"    s.{outer}[{row}] = {value}"]

    def gather(self, bound: Sequence[str], reserved: Sequence[str]) -> list[str]:
        """A local that a loop over nodes combines with a number of each node, by Python's function or a helper."""
        local, row = self.chance.sample([one for one in VARIABLES if one not in (*bound, *reserved)], 2)
        one, other = self.names(2)
        word = self.chance.choice(("max", "min"))
        if word not in self.module.names and self.chance.random() < 0.6:
            self.module.names = (*self.module.names, word)
            result = self.chance.choice(
                (other, f"{one} if {other} == 0 else {other}", f"{one} if {one} > {other} else {other}")
            )
            self.helpers.append(f"def {word}({one}, {other}):\n    return {result}")
        return [
            f"{local} = {self.chance.randint(0, 2)}",
            f"for {row} in Node:",
            f"    {local} = {word}({local}, s.f[{row}])",
            f"s.x = {local}",
        ]

    def reused(self, bound: Sequence[str], reserved: Sequence[str]) -> list[str]:
        """A loop over nodes with a loop in it, whose variable may be a parameter or a local."""
        row, free = self.chance.sample([one for one in VARIABLES if one not in (*bound, *reserved)], 2)
        variable = self.chance.choice([*bound, free])
        first = [] if variable in bound else [f"{variable} = {self.chance.randint(0, 2)}"]
        iterated = self.chance.choice(
            (f"range(s.f[{row}])", f"range(s.f[{row}])", "range(s.x)", "range(2)", "range(Role.X)")
        )
        inner = [f"for {variable} in {iterated}:", f"    {self.chance.choice(('pass', f's.g[{row}] = {variable}'))}"]
        if self.chance.random() < 0.4:
            parameter = self.names(1)[0]
            loop = self.again(parameter)
            if loop != parameter:
                loop = parameter
            other = self.again(row, parameter)
            other = other if other != parameter else next(one for one in VARIABLES if one != parameter)
            lines = [f"for {loop} in range(s.f[{other}]):", "    pass", f"s.x = {parameter}"]
            name = self.helper(["s", other, parameter], lines)
            inner = [f"{name}(s, {row}, {variable})"]
        elif self.chance.random() < 0.5:
            inner.append(f"s.x = {variable}")
        last = [f"s.x = {variable}"] if self.chance.random() < 0.7 else []
        return [*first, f"for {row} in Node:", *indented(inner), *last]

    def of_a_set(self, bound: Sequence[str], subsets: Sequence[str]) -> list[str]:
        """A loop over a set, whose variable may be a parameter or a local; perhaps a set has the name of a field."""
        chance = self.chance
        free = [one for one in VARIABLES if one not in (*bound, *subsets)]
        variable = chance.choice([*bound, *bound, free[0]])
        first = [f"{variable} = {chance.randint(0, 2)}"] if variable not in bound and chance.random() < 0.7 else []
        iterated = chance.choice(("s.z", *subsets, *subsets))
        loop = [f"for {variable} in {iterated}:", f"    {chance.choice(('pass', f's.f[{variable}] = 1'))}"]
        last = [f"s.x = {variable}"] if variable in bound or first else []
        if (
            chance.random() < (0.7 if subsets else 0.1) and "sum" not in self.module.names
        ):  # which the engines need for len(...) of a set
            last = [f"s.x = {' + '.join(f'len({one})' for one in ('s.z', *subsets))} - {len(subsets)}"]
        if chance.random() < 0.3:
            parameter = self.names(1)[0]
            lines = [f"for {parameter} in s.z:", "    pass", f"return {parameter}"]
            last = [f"s.x = {self.helper(['s', parameter], lines)}(s, {chance.choice([*bound, '1'])})"]
        return [*first, *loop, *last]

    def of_a_member(self, bound: Sequence[str], reserved: Sequence[str]) -> list[str]:
        """A loop to a member of an enumeration, perhaps with the name of an entry of the configuration."""
        free = [one for one in VARIABLES if one not in reserved]
        end = self.chance.choice(("Role.X", "Role.X", "Role.Y", "s.X" if self.module.has_entry else "2"))
        return [f"for {self.chance.choice([*bound, *free])} in range({end}):", "    s.x = (s.x + 1) % 4"]

"""Random models whose nodes have roles: much of what a node holds matters only in some roles.

In:  a random number generator.
Out: the text of a model file. For one or two of its fields, it mostly keeps a rule: what reads a cell looks first
     whether its guard cell has one of some values, and what gives the guard cell such a value writes the cell anew.
     Sometimes the rule is nearly kept: an `if` or a part of a range leaves cells out, an index is a different one.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from isrcheck.conformance.fuzz.program import Program

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


def offset_of(s, n):
    if s.role[n] == 0:
        return 0
    return s.offset[n]


def follow(s, before, n):
    if before.role[n] == 1:
        s.offset[n] = before.limit[n]
'''


@dataclass(frozen=True)
class Rule:
    """A field that matters only while its guard has one of the values `live`; both with the indices {n} and {m}."""

    name: str
    guard: str
    live: tuple[int, ...]
    values: tuple[int, ...]
    """All values of the guard."""
    last: int
    """The greatest value of the field; the least one is 0, and that of `last` is NONE."""

    @property
    def free(self) -> list[str]:
        """The indices of the field that the guard does not have."""
        return [one for one in ("n", "m") if f"{{{one}}}" in self.name and f"{{{one}}}" not in self.guard]


FIELDS = {"offset[{n}]": 2, "limit[{n}]": 2, "seen[{n}][{m}]": 1, "answer[{n}][{m}]": 1, "last": 1, "narrow[{n}]": 1}
GUARDS = {"role[{n}]": 2, "role[{m}]": 2, "phase": 2, "asks[{n}][{m}]": 1}
OTHERS = (
    "s.role[{n}] == 1", "s.role[{n}] != 0", "is_off(s, {n})", "is_on(s, {n})", "s.phase < 2", "s.phase in (1, 2)",
    "s.asks[{n}][{m}] == 1", "s.role[{m}] > 0", "{n} == {m}", "s.pick == 0", "s.pick == 1",
)  # fmt: skip
WRITES = (
    "s.copy[{n}] = s.copy[{m}]", "s.asks[{n}][{m}] = 1", "s.asks[{n}][{m}] = 0", "s.phase = 0", "s.phase = 1",
    "s.role[{n}] = 0", "s.role[{n}] = 2", "s.role[{m}] = s.role[{n}]", "leave(s, {n}, 1)", "leave(s, {n}, 0)",
    "reset(s, {n})", "reset_some(s, {n})", "s.limit[{n}] = 0", "s.offset[{n}] = 1", "s.last = {n}",
    "s.limit[{n}] = offset_of(s, {n})", "follow(s, s, {n})", "s.narrow[{n}] = s.limit[{n}]", "s.copy[{n}] += 1",
    "s.copy[{n}] = s.offset[{m}]", "s.narrow[{n}] = s.offset[{n}]",
)  # fmt: skip

Names = Mapping[str, str]


def model_text(chance: random.Random) -> str:
    """The text of a model."""
    return _Writer(chance).text()


def roles(seed: int, number: int) -> Program:
    """The program with this number for a seed."""
    return Program(f"roles_{seed}_{number}", model_text(random.Random(f"roles/{seed}/{number}")))


class _Writer:
    """Writes one model."""

    def __init__(self, chance: random.Random) -> None:
        self.chance = chance
        self.rules: list[Rule] = []
        for name in chance.sample(sorted(FIELDS), chance.choice((1, 1, 2))):
            guard = chance.choice([one for one in GUARDS if "{" in name or "{" not in one])
            if set("nm") & {one for one in "nm" if f"{{{one}}}" in guard and f"{{{one}}}" not in name}:
                guard = "phase"
            values = tuple(range(GUARDS[guard] + 1))
            live = tuple(sorted(chance.sample(values, chance.randint(1, len(values) - 1))))
            live = (
                values[2:] if len(values) > 2 and self.likely(0.5) else live
            )  # 2: neither a truth value nor the first
            self.rules.append(Rule(name, guard, live, values, FIELDS[name]))

    def likely(self, share: float) -> bool:
        return self.chance.random() < share

    def text(self) -> str:
        chance = self.chance
        parts = [HEAD, *(self.action(number) for number in range(chance.randint(3, 6)))]
        parts += [self.claim(number) for number in range(chance.randint(1, 2))]
        for kind in ("terminal", "constraint"):
            if self.likely(0.25):
                names = {"n": "0", "m": "1"}
                test = chance.choice((self.asked(names), chance.choice(OTHERS).format(**names)))
                parts.append(f"@{kind}\ndef is_{kind}(s):\n    return s.phase == 0 or {test}")
        return "\n\n".join(parts) + "\n"

    # ------------------------------------------------------------------------------------------------------- conditions

    def is_live(self, rule: Rule, names: Names) -> str:
        """A condition that is true only while the guard has one of the live values."""
        guard, live = f"s.{rule.guard.format(**names)}", rule.live
        dead = [one for one in rule.values if one not in live]
        forms = [f"{guard} in ({', '.join(map(str, live))},)", " or ".join(f"{guard} == {one}" for one in live)]
        forms += [" and ".join(f"{guard} != {one}" for one in dead), f"not {guard} in ({', '.join(map(str, dead))},)"]
        if len(live) == 1:
            forms += [f"{guard} == (s.pick or {live[0]})", f"s.pick == 0 and {guard} == {live[0]}"]
        return f"({self.chance.choice(forms)})"

    def test(self, rule: Rule, names: Names) -> str:
        sign = self.chance.choice(("==", "!=", "<=", ">"))
        return f"s.{rule.name.format(**names)} {sign} {self.chance.randint(0, rule.last)}"

    def asked(self, names: Names) -> str:
        """A condition that reads a cell, mostly after a look at its guard."""
        rule = self.chance.choice(self.rules)
        live, test = self.is_live(rule, names), self.test(rule, names)
        if self.likely(0.03):
            return self.chance.choice((test, f"{test} and {live}", f"{live} or {test}"))
        loops = "".join(f" for {name} in range(s.nodes)" for name in ("x", "y"))
        inner = {"n": "x", "m": "y"}
        forms = (
            f"{live} and {test}", f"not {live} or {test}", f"({test} if {live} else s.phase == 1)",
            f"any({self.is_live(rule, inner)} and {self.test(rule, inner)}{loops})",
            f"all({self.test(rule, inner)}{loops} if {self.is_live(rule, inner)})",
        )  # fmt: skip
        return f"({self.chance.choice(forms)})"

    # ------------------------------------------------------------------------------------------------------- statements

    def value(self, rule: Rule, names: Names) -> str:
        """A value that is written to the field."""
        cell = f"s.{rule.name.format(**names)}"
        other = f"s.{rule.name.format(n=names['m'], m=names['n'])}"
        forms = [str(self.chance.randint(0, rule.last))] * 12 + [cell, other, f"{rule.last} - {cell}"]
        return self.chance.choice([*forms, "s.pick", names["n"]])

    def anew(self, rule: Rule, names: Names) -> list[str]:
        """Statements that write the cells of a guard anew, or nearly so."""
        if self.likely(0.08):
            return []
        outer, names = names, dict(names)
        if self.likely(0.05):
            names["n"], names["m"] = names["m"], names["n"]
        if self.likely(0.2) and rule.name.startswith(("offset", "seen")):
            return [self.chance.choice(("reset(s, {n})", "reset_some(s, {n})")).format(**names)]
        loops = []
        for axis, name in zip(rule.free, ("u", "v"), strict=False):
            end = self.chance.choice(("range(s.nodes)",) * 12 + ("range(1)", f"range({names['m']}, s.nodes)"))
            loops.append(f"for {name} in {end}:")
            names[axis] = name
        if self.likely(0.12):
            loops.insert(self.chance.randint(0, len(loops)), f"if {self.other(outer)}:")
        lines = [f"s.{rule.name.format(**names)} = {self.value(rule, names)}"]
        for loop in reversed(loops):
            lines = indented(loop, lines)
        return lines

    def other(self, names: Names) -> str:
        return self.chance.choice(OTHERS).format(**{"n": "n", "m": "m"} if self.likely(0.5) else names)

    def begins(self, rule: Rule, names: Names) -> list[str]:
        """Statements that give the guard a live value."""
        guard = f"s.{rule.guard.format(**names)}"
        value = str(self.chance.choice(rule.live))
        if self.likely(0.25):
            forms = (f"s.pick or {value}", f"{value} - s.pick", f"{value} and (s.pick or {value})", "s.phase")
            value = self.chance.choice(forms[: 3 + (rule.values[-1] == 2)])
        anew = [] if " or " in value and self.likely(0.5) else self.anew(rule, names)
        parts = [anew, [f"{guard} = {value}"]]
        self.chance.shuffle(parts)
        if self.likely(0.2):  # the step may change what the guard said before it
            test = f"{self.is_live(rule, names)} and {self.test(rule, names)}"
            parts.insert(1, indented(f"if {test}:", [self.chance.choice(WRITES[1:6]).format(**names)]))
        return [line for part in parts for line in part]

    def statement(self, names: Names, depth: int) -> list[str]:
        rule, form = self.chance.choice(self.rules), self.chance.random()
        cell = f"s.{rule.name.format(**names)}"
        if depth > 0 and form < 0.12:
            return self.branches(names, depth)
        if depth > 0 and form < 0.2:
            return indented("for x in range(s.nodes):", self.block({**names, "n": "x"}, depth - 1))
        if form < 0.45:
            return self.begins(rule, names)
        if form < 0.58:
            dead = [one for one in rule.values if one not in rule.live]
            return [f"s.{rule.guard.format(**names)} = {self.chance.choice(dead)}"]
        if form < 0.68:
            return indented(f"if {self.is_live(rule, names)}:", [f"{cell} = {self.value(rule, names)}"])
        if form < 0.76:
            return [f"{cell} = {self.chance.randint(0, rule.last)}"]
        if form < 0.84 and rule.name != "last":
            return [f"s.{self.chance.choice(('copy', 'copy', 'narrow'))}[{names[self.chance.choice('nm')]}] = {cell}"]
        if form < 0.92:
            return indented(f"if {self.asked(names)}:", [self.chance.choice(WRITES[:6]).format(**names)])
        return [self.chance.choice(WRITES if self.likely(0.4) else WRITES[:6]).format(**names)]

    def block(self, names: Names, depth: int) -> list[str]:
        return [line for _ in range(self.chance.randint(1, 2)) for line in self.statement(names, depth)]

    def branches(self, names: Names, depth: int) -> list[str]:
        tests = [self.asked(names) if self.likely(0.3) else self.other(names) for _ in range(2)]
        lines = indented(f"if {tests[0]}:", self.block(names, depth - 1))
        if self.likely(0.3):
            lines += indented(f"elif {tests[1]}:", self.block(names, depth - 1))
        return lines + (indented("else:", self.block(names, depth - 1)) if self.likely(0.4) else [])

    # -------------------------------------------------------------------------------------------------------- functions

    def action(self, number: int) -> str:
        chance = self.chance
        names = chance.choice(({"n": "n", "m": "m"}, {"n": "n", "m": "m"}, {"n": "m", "m": "n"}))
        if number < 2:  # so that the guard gets live and dead values in most searches
            rule = self.rules[0]
            dead = [one for one in rule.values if one not in rule.live]
            ends = [f"s.{one.format(**names)} = {value}" for one, value in ((rule.name, 1), (rule.guard, dead[-1]))]
            lines = ends if number else self.begins(rule, names)
            return "\n".join(indented(f"@action\ndef act_{number}(s, n: Node, m: Node):", lines))
        guards = [self.is_live(chance.choice(self.rules), names) if self.likely(0.4) else self.other(names)]
        guards += [self.asked(names)] if self.likely(0.5) else []
        lines = [*(f"require({guard})" for guard in guards), *self.block(names, 2), *self.block(names, 1)]
        return "\n".join(indented(f"@action\ndef act_{number}(s, n: Node, m: Node):", lines))

    def claim(self, number: int) -> str:
        """A property of states or of steps."""
        kind = self.chance.choice(("always", "always", "sometimes", "always_step"))
        test = self.asked({"n": "x", "m": "y"})
        fold = self.chance.choice(("all", "any"))
        if kind == "always_step":
            state = self.chance.choice(("before", "after", "after"))
            other = self.chance.choice(("before.phase <= after.phase", "before.role[x] == after.role[y]"))
            test = f"({test} or {other})".replace("s.", f"{state}.")
            loops = " ".join(f"for {name} in range(after.nodes)" for name in ("x", "y"))
            return f"@always_step\ndef claim_{number}(before, after):\n    return {fold}({test} {loops})"
        loops = " ".join(f"for {name} in range(s.nodes)" for name in ("x", "y"))
        return f"@{kind}\ndef claim_{number}(s):\n    return {fold}({test} {loops})"


def indented(head: str, lines: Sequence[str]) -> list[str]:
    """A block with this head."""
    return [head, *(f"    {line}" for line in lines)]

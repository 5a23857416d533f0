"""Random function bodies: of actions, of helpers that return a value or write to the state, and of properties.

In:  a source of randomness, a `World`, and the existing helpers.
Out: texts of functions, and the parameters and results of a new `Helper`.
"""

from __future__ import annotations

import random
from collections.abc import Iterable

from isrcheck.conformance.fuzz.declarations import Cells, Space, World
from isrcheck.conformance.fuzz.expressions import NAMES, Helper, Number, Scope, Writer

INDENT = "    "
MOST_STATEMENTS = 8
"""The limit on writes in one body, a loop or branch counted as one: larger bodies compile slowly."""


def indented(lines: Iterable[str]) -> list[str]:
    """Lines indented by one level."""
    return [INDENT + line for line in lines]


class Body:
    """Writes the statements of one function."""

    def __init__(self, chance: random.Random, world: World, scope: Scope) -> None:
        self.chance = chance
        self.world = world
        self.scope = scope
        self.writer = Writer(chance, world, scope)
        self.loops = 0
        self.left = MOST_STATEMENTS
        self.variables: set[str] = set()
        # A local that hides a constant hides it in the whole function.
        self.hidden = [name for name in scope.constants if chance.random() < 0.1]
        for name in self.hidden:
            del scope.constants[name]

    # ----------------------------------------------------------------------------------------------------------- locals

    def free_name(self) -> str | None:
        """A name that the function does not use yet; None if all are used."""
        used = {*self.scope.numbers, *self.scope.subsets, *self.scope.states, *self.scope.assigned, *self.variables}
        free = [name for name in (*self.hidden, *NAMES) if name not in used]
        return self.chance.choice(free[:2]) if self.hidden and free else self.chance.choice(free) if free else None

    def variable(self) -> str:
        """A name for a loop variable; assignments do not use it."""
        used = {*self.scope.numbers, *self.scope.subsets, *self.scope.assigned}
        name = self.chance.choice([one for one in NAMES if one not in used] or ["z"])
        self.variables.add(name)
        return name

    def local(self) -> list[str]:
        """Statements that assign a new local variable on every path; none inside loops."""
        name = self.free_name()
        if name is None or self.loops:
            return []
        one, other = self.writer.number(2), self.writer.number(1)
        self.scope.assigned.add(name)
        if self.chance.random() < 0.3:
            test = self.writer.truth(1)
            self.scope.numbers[name] = min(one.low, other.low), max(one.high, other.high)
            return [f"if {test}:", f"    {name} = {one.text}", "else:", f"    {name} = {other.text}"]
        if self.chance.random() < 0.3:
            sign = self.chance.choice("+-")
            ends = (other.low, other.high) if sign == "+" else (-other.high, -other.low)
            self.scope.numbers[name] = one.low + ends[0], one.high + ends[1]
            return [f"{name} = {one.text}", f"{name} {sign}= {other.text}"]
        self.scope.numbers[name] = one.low, one.high
        return [f"{name} = {one.text}"]

    def counted(self) -> list[str]:
        """A loop that changes a new local variable; none inside loops."""
        name = self.free_name()
        if name is None or self.loops:
            return []
        span, first, last = self.writer.range()
        self.scope.assigned.add(name)
        variable = self.variable()
        rounds = max(0, last - first + 1)
        inside = self.writer.at(self.scope.inner(**{variable: (first, max(first, last))}))
        inside.scope.numbers = {key: one for key, one in inside.scope.numbers.items() if key not in self.scope.assigned}
        added = inside.number(0)
        sign = self.chance.choice("+-")
        low, high = (added.low, added.high) if sign == "+" else (-added.high, -added.low)
        lines = [f"{name} = 0", f"for {variable} in {span}:", f"    {name} {sign}= {added.text}"]
        if self.chance.random() < 0.4:
            lines[2:] = [f"    if {inside.truth(1)}:", f"        {name} {sign}= {added.text}"]
        self.scope.numbers[name] = min(0, rounds * low), max(0, rounds * high)
        return lines

    # ----------------------------------------------------------------------------------------------------------- guards

    def guards(self) -> list[str]:
        """Guards, some of them in loops and branches, with assignments of local variables between them."""
        lines: list[str] = []
        for _ in range(self.chance.choice((0, 1, 1, 1, 2))):
            form = self.chance.random()
            if form < 0.6:
                lines.append(f"require({self.writer.truth(0)})")
            elif form < 0.85:
                lines.append(f"require({self.writer.truth(2)})")
            elif form < 0.92:
                lines += [f"if {self.writer.truth(1)}:", f"    require({self.writer.truth(1)})"]
            else:
                span, first, last = self.writer.range()
                name = self.variable()
                inside = self.writer.at(self.scope.inner(**{name: (first, max(first, last))}))
                lines += [f"for {name} in {span}:", f"    require({inside.truth(1)})"]
            if self.chance.random() < 0.15:
                lines += self.local()
        return lines

    # ----------------------------------------------------------------------------------------------------------- writes

    def writes(self, depth: int, most: int) -> list[str]:
        """At least one statement that writes to the state, at most `most`, with branches and loops of this depth."""
        lines: list[str] = []
        for _ in range(self.chance.randint(1, most)):
            self.left -= 1
            form = self.chance.random()
            if depth <= 0 or form < 0.6 or self.left <= 0:
                lines += self.write()
            elif form < 0.75:
                lines += self.branches(depth)
            elif form < 0.87:
                lines += self.loop(depth)
            elif form < 0.94:
                lines += self.local() or self.counted()
            elif form < 0.95:
                lines.append("pass")
            elif form < 0.98:
                lines += self.copied()
            else:
                lines += self.called()
        return lines or ["pass"]

    def write(self) -> list[str]:
        """A write to a cell."""
        one = self.chance.choice(self.world.fields)
        target = self.writer.cell(one, "s")
        form = self.chance.random()
        if one.is_truth:
            said = f"not {target}" if form < 0.3 else self.writer.truth(2 if form < 0.6 else 0)
            if form < 0.55 and form >= 0.3:
                said = self.chance.choice(("True", "False", "1", "0"))
            return [f"{target} = {said}"]
        if form < 0.35:
            sign = self.chance.choice("+-")
            value = self.writer.number(1 if self.chance.random() < 0.3 else -1)
            if self.chance.random() < 0.6:
                value = Number("1", 1, 1)
            if self.scope.is_careless and self.chance.random() < 0.3:
                return [f"{target} {sign}= {value.text}"]
            return [
                f"if {one.low} <= {target} {sign} {value.text} <= {one.high}:",
                f"    {target} {sign}= {value.text}",
            ]
        if one.names and form < 0.8:
            return [f"{target} = {self.chance.choice(one.names)}"]
        if form < 0.6:
            return [f"{target} = {self.chance.randint(one.low, min(one.high, one.low + 4))}"]
        return [f"{target} = {self.writer.fitted(self.writer.number(2), one.low, one.high)}"]

    def copied(self) -> list[str]:
        """Statements that read a cell, write it, and then read it again into another field."""
        one, other = self.chance.choice(self.world.fields), self.chance.choice(self.world.fields)
        cell, value = self.writer.cell(one, "s", 0), self.chance.randint(one.low, min(one.high, one.low + 4))
        read = self.writer.fitted(Number(cell, one.low, one.high), other.low, other.high)
        return [f"if {cell} != {value}:", f"    {cell} = {value}", f"    {self.writer.cell(other, 's', 0)} = {read}"]

    def called(self) -> list[str]:
        """A call of a helper that writes to the state."""
        found = [one for one in self.scope.helpers if one.returns is None and self.writer.can_call(one)]
        return [self.writer.call(self.chance.choice(found), 1)] if found else self.write()

    def branches(self, depth: int) -> list[str]:
        """An if statement, perhaps with elif and else. After it, the ranges of numbers assigned in it are forgotten."""
        lines = []
        words = ["if", *["elif"] * self.chance.choice((0, 0, 0, 1, 2))]
        known = dict(self.scope.numbers)
        for word in words:
            lines += [
                f"{word} {self.writer.truth(self.chance.choice((0, 1, 2)))}:",
                *indented(self.writes(depth - 1, 2)),
            ]
            self._forget(known)
        if self.chance.random() < 0.4:
            lines += ["else:", *indented(self.writes(depth - 1, 2))]
            self._forget(known)
        return lines

    def _forget(self, known: dict[str, tuple[int, int]]) -> None:
        self.scope.numbers.clear()
        self.scope.numbers.update(known)

    def loop(self, depth: int) -> list[str]:
        """A loop that writes; sometimes its variable is assigned in it, or has the name of a local."""
        span, first, last = self.writer.range()
        name = self.variable()
        known = dict(self.scope.numbers)
        self.scope.numbers[name] = first, max(first, last)
        self.loops += 1
        lines = indented(self.writes(depth - 1, 2))
        if self.chance.random() < 0.12:
            lines += indented(self.assigned_variable(name))
        self.loops -= 1
        self._forget(known)
        return [f"for {name} in {span}:", *lines]

    def assigned_variable(self, name: str) -> list[str]:
        """Statements that assign the loop variable and then use it as an index, which may be out of range in a careless
        program.
        """
        value = self.chance.randint(0, 3)
        rows = [one for one in self.world.fields if len(one.over) == 1]
        rows = [one for one in rows if value < one.over[0].size or self.scope.is_careless]
        lines = [f"{name} = {value}"]
        if rows:
            one = self.chance.choice(rows)
            lines.append(f"s.{one.name}[{name}] = {self.chance.randint(one.low, min(one.high, one.low + 3))}")
        return lines


def parameters_of(chance: random.Random, world: World, scope: Scope) -> list[tuple[str, str]]:
    """Random parameters of an action as (name, domain); they are added to the scope."""
    found: list[tuple[str, str]] = []
    for _ in range(chance.choice((0, 0, 1, 1, 1, 2))):
        name = chance.choice([one for one in ("node", "other", "x", "i", "p1", "k") if one not in dict(found)])
        if world.subsets and chance.random() < 0.25 and not scope.subsets:
            kind = chance.choice(list(world.subsets))
            scope.subsets[name] = kind
            found.append((name, kind))
        else:
            space: Space = chance.choice(world.spaces)
            scope.numbers[name] = 0, max(0, space.size - 1)
            found.append((name, space.name))
    return found


def action(
    chance: random.Random,
    world: World,
    helpers: list[Helper],
    name: str,
    like: str | None = None,
    *,
    is_initial: bool = False,
) -> str:
    """The text of a random action. `like` is the text of another version of it, whose parameters it gets; with
    `is_initial`, it makes initial states."""
    scope = Scope(("s",), chance.random() < world.careless, helpers=helpers, constants=dict(world.constants))
    parameters = parameters_of(chance, world, scope) if like is None else _parameters_like(like, world, scope)
    body = Body(chance, world, scope)
    writes = body.guards()
    writes += body.writes(2, 3)
    declared = "".join(f", {one}: {domain}" for one, domain in parameters)
    decorator = "@initial" if is_initial else "@action"
    if parameters and chance.random() < 0.3 and like is None and not is_initial:
        decorator = f'@action(shows="{" to ".join(f"{{{one}}}" for one, _ in parameters)}")'
    documentation = [f'"""{name}, a random action."""'] if chance.random() < 0.2 else []
    return "\n".join([decorator, f"def {name}(s{declared}):", *indented([*documentation, *writes])])


def countdown(chance: random.Random, world: World, helpers: list[Helper], name: str, one: Cells) -> str:
    """The text of an action that is enabled while a budget is left, and spends one unit of it."""
    scope = Scope(("s",), chance.random() < world.careless, helpers=helpers, constants=dict(world.constants))
    body = Body(chance, world, scope)
    also = [f"require({body.writer.truth(1)})"] if chance.random() < 0.4 else []
    lines = [f"require(s.{one.name} > 0)", *also, f"s.{one.name} -= 1"]
    return "\n".join(["@action", f"def {name}(s):", *indented([*lines, *body.write()])])


def _parameters_like(like: str, world: World, scope: Scope) -> list[tuple[str, str]]:
    header = next(line for line in like.splitlines() if line.startswith("def "))
    inner = header[header.index("(") + 1 : header.rindex(")")]
    found = []
    for part in inner.split(", ")[1:]:
        name, kind = part.split(": ")
        found.append((name, kind))
        if kind in world.subsets:
            scope.subsets[name] = kind
        else:
            size = next(space.size for space in world.spaces if space.name == kind)
            scope.numbers[name] = 0, max(0, size - 1)
    return found


def helper(
    chance: random.Random, world: World, helpers: list[Helper], name: str, *, writes: bool
) -> tuple[Helper, str]:
    """A random helper: what callers need to know of it, and its text."""
    states = 1 if writes else chance.choice((1, 1, 1, 1, 0, 2))
    names = ("node", "value", "x", "i")
    scope = Scope(
        ({0: (), 1: ("s",), 2: ("before", "after")})[states],
        chance.random() < world.careless,
        helpers=[one for one in helpers if one.states <= states] if writes else _asking(helpers, states),
        constants=dict(world.constants),
    )
    numbers: list[tuple[int, int]] = []
    for one in names[: chance.choice((0, 1, 1, 2))]:
        ends = 0, chance.choice([space.size for space in world.spaces if space.size] or [1]) - 1
        if chance.random() < 0.2:
            ends = -2, 3
        scope.numbers[one] = ends
        numbers.append(ends)
    declared = [*scope.states, *scope.numbers]
    subset = None
    if world.subsets and states == 1 and chance.random() < 0.2:
        subset = chance.choice(list(world.subsets))
        scope.subsets["members"] = subset
        declared.append(f"members: {subset}")
    header = f"def {name}({', '.join(declared)}):"
    body = Body(chance, world, scope)
    if writes:
        lines = [*body.writes(1, 2), *body.write()]
        made = Helper(name, states, tuple(numbers), subset, None)
    else:
        is_truth = chance.random() < 0.5
        lines, returns = returning(body, is_truth)
        made = Helper(name, states, tuple(numbers), subset, returns, is_truth)
    return made, "\n".join([header, *indented(lines)])


def _asking(helpers: list[Helper], states: int) -> list[Helper]:
    return [one for one in helpers if one.returns is not None and one.states <= states]


def returning(body: Body, is_truth: bool) -> tuple[list[str], tuple[int, int]]:
    """A body that returns on every path, and the range of its result."""
    chance, found = body.chance, []

    def value(depth: int) -> str:
        one = Number(body.writer.truth(depth), 0, 1) if is_truth else body.writer.number(depth)
        found.append(one)
        return one.text

    lines: list[str] = []
    for _ in range(chance.choice((0, 0, 1, 2))):
        lines += body.local() if chance.random() < 0.5 else body.counted()
    form = chance.random()
    if form < 0.15 and not is_truth and body.scope.assigned:
        name = chance.choice(sorted(body.scope.assigned))
        lines += [f"if {body.writer.truth(1)}:", f"    return {name}"]
        found.append(Number(name, *body.scope.numbers[name]))
    elif form < 0.3:
        lines += [f"if {body.writer.truth(1)}:", f"    return {value(1)}"]
    elif form < 0.45:
        lines += [f"if {body.writer.truth(1)}:", f"    return {value(1)}", "else:", f"    return {value(1)}"]
    elif form < 0.6:
        span, first, last = body.writer.range()
        name = body.variable()
        inside = body.writer.at(body.scope.inner(**{name: (first, max(first, last))}))
        one = Number(inside.truth(1), 0, 1) if is_truth else inside.number(1)
        found.append(one)
        lines += [f"for {name} in {span}:", f"    if {inside.truth(1)}:", f"        return {one.text}"]
    if not (0.3 <= form < 0.45):
        lines.append(f"return {value(2)}")
    return lines, (min(one.low for one in found), max(one.high for one in found))

"""Random fields that hold sets and queues, and the actions and properties that use them.

In:  a source of randomness, a `World`, and the helpers of the program.
Out: the fields, which are added to the world, and the texts of the functions.
"""

from __future__ import annotations

import ast
import random
from dataclasses import replace

from isrcheck.conformance.fuzz.declarations import Queues, Sets, Space, World
from isrcheck.conformance.fuzz.expressions import COMPARISONS, Helper, Scope, Writer
from isrcheck.conformance.fuzz.program import Program
from isrcheck.conformance.fuzz.statements import Body, indented, parameters_of

VARIABLES = ("e", "member", "each")

SUBSET = "Those"
"""The subsets of the domain of the sets."""


class Containers:
    """Adds sets and queues to a program."""

    def __init__(self, chance: random.Random, world: World, helpers: list[Helper]) -> None:
        self.chance = chance
        self.world = world
        self.helpers = [one for one in helpers if one.returns is not None and one.states <= 1]
        spaces = [(space.name, space.size) for space in world.spaces if 0 < space.size <= 3]
        kinds = [(kind, len(members)) for kind, members in world.enumerations.items() if min(members.values()) == 0]
        of, size = chance.choice([*spaces, *spaces, *kinds] or [("", 0)])
        for number in range(chance.choice((1, 1, 2)) if of else 0):
            over = tuple(chance.choice(spaces) for _ in range(chance.choice((0, 0, 1 if spaces else 0))))
            domains = tuple(next(one for one in world.spaces if one.name == name) for name, _ in over)
            start = chance.choice(("", "", of, f"{{{chance.randrange(size)}}}"))
            world.sets.append(Sets(f"set{number}", domains, size, of, start))
        for number in range(chance.choice((0, 1, 1))):
            domains = tuple(space for space in world.spaces if space.size == 2)[: chance.choice((0, 1))]
            ranges = [(name, 0, size - 1) for name, size in spaces]
            ranges += [(kind, min(one.values()), max(one.values())) for kind, one in world.enumerations.items()]
            ranges += [("Flag", 0, 1), ("between(-1, 1)", -1, 1), ("optional(between(0, 1))", -1, 1)]
            queued, low, high = chance.choice(ranges)
            most = chance.choice((1, 2, 2, 3))
            world.queues.append(Queues(f"queue{number}", domains, low, high, most, queued))

        world.pairs = chance.choice((0, 0, 1, 2))
        self.spaces = [space for space in world.spaces if world.sets and space.name == of]
        if self.spaces and chance.random() < 0.7:
            world.subsets[SUBSET] = self.spaces[0]

    def parts(self) -> list[str]:
        """The functions: actions that change sets, and properties that read them."""
        if not self.world.sets and not self.world.queues:
            self.world.pairs = 0
            return []
        chance = self.chance
        functions = [self._action(f"change_{number}") for number in range(chance.choice((1, 1, 2)))]
        for number in range(chance.choice((1, 2, 2))):
            kind = chance.choice(("always", "always", "sometimes", "always_step", "lemma"))
            states = ("before", "after") if kind == "always_step" else ("s",)
            writer = _Asking(chance, self.world, self._scope(states))
            lines = [f"return {chance.choice(('not ', '', ''))}{writer.truth(1)}"]
            if chance.random() < 0.3:
                lines = [*writer.counted(), *lines]
            header = f"def set_claim_{number}({', '.join(states)}):"
            functions.append("\n".join([f"@{kind}", header, *indented(lines)]))
        return functions

    def action_of_second(self) -> list[str]:
        """An action of the second protocol alone that changes sets or queues, if there are any."""
        return [self._action("change_of_its_own")] if self.world.sets or self.world.queues else []

    def _scope(self, states: tuple[str, ...]) -> Scope:
        careless = self.chance.random() < self.world.careless
        return Scope(states, careless, helpers=list(self.helpers), constants=dict(self.world.constants))

    def _action(self, name: str) -> str:
        chance = self.chance
        scope = self._scope(("s",))
        parameters = parameters_of(chance, self.world, scope)
        if SUBSET in self.world.subsets and not scope.subsets and chance.random() < 0.7:
            scope.subsets["those"] = SUBSET
            parameters.append(("those", SUBSET))
        writer = _Asking(chance, self.world, scope)
        lines = [f"require({writer.truth(1)})" for _ in range(chance.choice((0, 1, 1, 2)))]
        for _ in range(chance.choice((1, 2, 2))):
            lines += writer.change()
        if chance.random() < 0.4:
            lines += Body(chance, self.world, scope).write()
        declared = "".join(f", {one}: {domain}" for one, domain in parameters)
        return "\n".join(["@action", f"def {name}(s{declared}):", *indented(lines)])


class _Asking:
    """Writes expressions about sets and queues, and statements that change them."""

    def __init__(self, chance: random.Random, world: World, scope: Scope) -> None:
        self.chance = chance
        self.world = world
        self.scope = scope
        self.writer = Writer(chance, world, scope)

    def set(self, state: str | None = None) -> tuple[str, Sets]:
        """The text of a set of the state."""
        one = self.chance.choice(self.world.sets)
        indices = "".join(f"[{self.writer.index(space.size, 1)}]" for space in one.over)
        return f"{state or self.chance.choice(self.scope.states)}.{one.name}{indices}", one

    def element(self, size: int) -> str:
        """An element of a set; in a careless program perhaps any number."""
        if self.scope.is_careless and self.chance.random() < 0.4:
            return self.writer.number(1).text
        return self.writer.index(size, 1)

    def readable(self) -> tuple[str, int, str]:
        """A set of the state, or a parameter that is a subset: its text, its size and its domain."""
        if self.scope.subsets and self.chance.random() < 0.6:
            name, kind = self.chance.choice(list(self.scope.subsets.items()))
            space: Space = self.world.subsets[kind]
            return name, space.size, space.name
        text, one = self.set()
        return text, one.size, one.of

    def truth(self, depth: int) -> str:
        """An expression about sets, queues or records."""
        if self.world.pairs and self.chance.random() < 0.25:
            return self.paired(depth)
        if self.world.queues and (self.chance.random() < 0.5 or not self.world.sets):
            return self.queued(depth)
        text, size, of = self.readable()
        form = self.chance.random()
        if form < 0.2:
            word = self.chance.choice(("in", "in", "not in"))
            return f"({self.element(size)} {word} {text})"
        if form < 0.35:
            return f"(len({text}) {self.chance.choice(COMPARISONS)} {self.chance.randint(0, size)})"
        if form < 0.65:
            others = [other for other in (self.readable() for _ in range(6)) if other[2] == of and other[0] != text]
            if others:
                return f"({text} {self.chance.choice(COMPARISONS)} {others[0][0]})"
        if form < 0.75 and depth > 0:
            return f"({self.truth(depth - 1)} {self.chance.choice(('and', 'or'))} {self.writer.truth(depth)})"
        variable = self.chance.choice(VARIABLES)
        inside = self.writer.at(self.scope.inner(**{variable: (0, size - 1)}))
        test = "".join(f" if {inside.truth(0)}" for _ in range(self.chance.choice((0, 0, 0, 1, 2))))
        if form < 0.92:
            word = self.chance.choice(("all", "any"))
            return f"{word}({inside.truth(1)} for {variable} in {text}{test})"
        word = self.chance.choice(("sum", "max", "min"))
        if word == "sum":
            return f"(sum({inside.number(1).text} for {variable} in {text}{test}) > 1)"
        return f"({word}(({variable} for {variable} in {text}{test}), default=-1) <= {self.writer.number(0).text})"

    def queue(self, state: str | None = None) -> tuple[str, Queues]:
        """The text of a queue of the state."""
        one = self.chance.choice(self.world.queues)
        indices = "".join(f"[{self.writer.index(space.size, 1)}]" for space in one.over)
        return f"{state or self.chance.choice(self.scope.states)}.{one.name}{indices}", one

    def queued(self, depth: int) -> str:
        """An expression about a queue."""
        text, one = self.queue()
        form, sign = self.chance.random(), self.chance.choice(COMPARISONS)
        value = self.chance.randint(one.low, one.high)
        if form < 0.3:
            return f"(len({text}) {sign} {self.chance.randint(0, one.most)})"
        if form < 0.5:
            return f"({self.writer.number(depth).text} {self.chance.choice(('in', 'not in'))} {text})"
        if form < 0.7:
            return f"(len({text}) > 0 and {text}[0] {sign} {value})"
        if form < 0.9:
            word = self.chance.choice(("all", "any"))
            return f"{word}({text}[place] {sign} {value} for place in range(len({text})))"
        place = self.writer.index(one.most, 1)
        return f"({text}[{place}] {sign} {value})" if self.scope.is_careless else f"(len({text}) == {one.most})"

    def paired(self, depth: int) -> str:
        """An expression about the queue of records."""
        pairs, form = f"{self.chance.choice(self.scope.states)}.pairs", self.chance.random()
        if form < 0.3:
            return f"(len({pairs}) {self.chance.choice(COMPARISONS)} {self.chance.randint(0, self.world.pairs)})"
        if form < 0.6:
            return (
                f"(len({pairs}) > 0 and {pairs}[0].left {self.chance.choice(COMPARISONS)} {self.writer.number(0).text})"
            )
        return f"all({pairs}[place].right or {self.writer.truth(min(depth, 1))} for place in range(len({pairs})))"

    def pairs_changed(self) -> list[str]:
        """Statements that change the queue of records."""
        form, careless = self.chance.random(), self.scope.is_careless and self.chance.random() < 0.7
        if form < 0.6:
            left = self.writer.fitted(self.writer.number(1), 0, 2)
            lines = [f"s.pairs.append(Pair(left={left}, right={self.writer.truth(1)}))"]
            return lines if careless else [f"if len(s.pairs) < {self.world.pairs}:", *indented(lines)]
        lines = ["s.pairs.popleft()" if form < 0.8 else "s.pairs.clear()"]
        return lines if careless else ["if len(s.pairs) > 0:", *indented(lines)]

    def queue_changed(self) -> list[str]:
        """Statements that change a queue."""
        text, one = self.queue("s")
        form, careless = self.chance.random(), self.scope.is_careless and self.chance.random() < 0.7
        if form < 0.5:
            element = self.writer.fitted(self.writer.number(1), one.low, one.high)
            lines = [f"{text}.append({element})"]
            return lines if careless else [f"if len({text}) < {one.most}:", *indented(lines)]
        lines = [f"{text}.popleft()"]
        if form < 0.7 and "first" not in self.scope.numbers:
            into = [
                cell for cell in self.world.fields if not cell.over and cell.low <= one.low <= one.high <= cell.high
            ]
            lines = [f"first = {text}.popleft()", *(f"s.{cell.name} = first" for cell in into[:1])]
        elif form < 0.8:
            lines = [f"{text}.clear()"]
        return lines if careless else [f"if len({text}) > 0:", *indented(lines)]

    def counted(self) -> list[str]:
        """A loop over a set that counts in a local."""
        if not self.world.sets:
            return []
        text, size, _ = self.readable()
        inside = self.writer.at(self.scope.inner(member=(0, size - 1)))
        lines = ["total = 0", f"for member in {text}:", f"    if {inside.truth(1)}:", "        total += member + 1"]
        self.scope.numbers["total"] = 0, size * size
        return lines

    def change(self, depth: int = 1) -> list[str]:
        """Statements that change a set or a queue."""
        if self.world.pairs and self.chance.random() < 0.25:
            return self.pairs_changed()
        if self.world.queues and (self.chance.random() < 0.5 or not self.world.sets):
            return self.queue_changed()
        text, one = self.set("s")
        form = self.chance.random()
        if form < 0.3:
            return [f"{text}.add({self.element(one.size)})"]
        if form < 0.55:
            return [f"{text}.discard({self.element(one.size)})"]
        if form < 0.62:
            return [f"{text}.clear()" if form < 0.58 else f"{text} = set()"]
        if form < 0.72:
            elements = ", ".join(self.element(one.size) for _ in range(self.chance.choice((1, 2))))
            return [f"{text} = {{{elements}}}"]
        if form < 0.82:
            others = [other for other in (self.readable() for _ in range(6)) if other[2] == one.of]
            return [f"{text} = {others[0][0]}"] if others else [f"{text}.clear()"]
        if form < 0.9 or depth <= 0:
            return [f"if {self.truth(0)}:", *indented(self.change(0) if depth > 0 else [f"{text}.clear()"])]
        through, size, _ = self.readable()
        variable = self.chance.choice(VARIABLES)
        outer = dict(self.scope.numbers)
        self.scope.numbers[variable] = 0, size - 1
        lines = [f"for {variable} in {through}:", *indented(self.change(0))]
        self.scope.numbers.clear()
        self.scope.numbers.update(outer)
        return lines


def grouped(program: Program, chance: random.Random) -> Program:
    """The same program with some fields that have the same first domain, or none, as parts of a record."""
    tree = ast.parse(program.text)
    place, state = next(
        (at, one) for at, one in enumerate(tree.body) if isinstance(one, ast.ClassDef) and one.name == "State"
    )
    fields = {ast.unparse(one.targets[0]): one.value for one in state.body if isinstance(one, ast.Assign)}
    firsts: dict[str, list[str]] = {}
    for name, value in fields.items():
        if isinstance(value, ast.Call) and name != "pairs":
            firsts.setdefault(ast.unparse(value.args[0]) if value.args else "", []).append(name)
    domain = chance.choice(sorted(firsts))
    parts = chance.sample(firsts[domain], chance.choice((1, min(2, len(firsts[domain])))))
    record = ast.ClassDef("Parts", [ast.Name("Record")], [], [], [])
    kept: list[ast.stmt] = []
    for one in state.body:
        if isinstance(one, ast.Assign) and ast.unparse(one.targets[0]) in parts and isinstance(one.value, ast.Call):
            one.value.args = one.value.args[1:]
            record.body.append(one)
        else:
            kept.append(one)
    declared = ast.parse(f"record = field({domain}{', ' if domain else ''}values=Parts)").body[0]
    state.body = [declared, *kept]
    tree.body.insert(place, record)

    def written(module: ast.Module) -> str:
        return ast.unparse(ast.fix_missing_locations(_Grouping(set(parts), bool(domain)).visit(module)))

    second = None if program.second is None else written(ast.parse(program.second))
    return replace(program, text=written(tree), second=second)


class _Grouping(ast.NodeTransformer):
    """Writes `s.record[i].part` for `s.part[i]`, and the names of parts in initial states."""

    def __init__(self, parts: set[str], has_index: bool) -> None:
        self.parts = parts
        self.has_index = has_index

    def is_part(self, node: ast.AST) -> bool:
        """Whether an expression is `s.part`."""
        return (
            isinstance(node, ast.Attribute)
            and isinstance(node.value, ast.Name)
            and node.value.id in ("s", "before", "after")
            and node.attr in self.parts
        )

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        """Replace `s.part[i]`."""
        if self.has_index and self.is_part(node.value) and isinstance(node.value, ast.Attribute):
            records = ast.Attribute(node.value.value, "record", ast.Load())
            return ast.Attribute(ast.Subscript(records, self.visit(node.slice), ast.Load()), node.value.attr, node.ctx)
        return self.generic_visit(node)

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        """Replace `s.part`."""
        if not self.has_index and self.is_part(node):
            return ast.Attribute(ast.Attribute(node.value, "record", ast.Load()), node.attr, node.ctx)
        return self.generic_visit(node)

    def visit_Dict(self, node: ast.Dict) -> ast.AST:
        """Replace the keys of an initial state."""
        for key in node.keys:
            if isinstance(key, ast.Constant) and key.value in self.parts:
                key.value = f"record.{key.value}"
        return self.generic_visit(node)

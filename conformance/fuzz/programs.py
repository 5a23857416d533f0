"""Makes random programs that use the whole language; a seed and a number determine a program.

In:  a seed and a number.
Out: a `Program`.
"""

from __future__ import annotations

import ast
import random

from isrcheck.conformance.fuzz.containers import SUBSET, Containers, grouped
from isrcheck.conformance.fuzz.declarations import Cells, World, random_world
from isrcheck.conformance.fuzz.endless.declarations import Endless
from isrcheck.conformance.fuzz.expressions import Helper, Scope, Writer
from isrcheck.conformance.fuzz.plain_search import PlainSystem, search
from isrcheck.conformance.fuzz.program import SWITCHES, Program
from isrcheck.conformance.fuzz.statements import Body, action, countdown, helper, indented, returning
from isrcheck.models import language

KINDS = (
    "always",
    "always",
    "always",
    "always_step",
    "always_step",
    "sometimes",
    "sometimes",
    "lemma",
    "always_possible",
)

ATTEMPTS = 20
FEW_STATES = 10
"""Programs with at most this many states are mostly discarded."""


def random_program(seed: int, number: int) -> Program:
    """The program with this number for a seed. Candidates with only a few states are mostly skipped."""
    for attempt in range(ATTEMPTS):
        chance = random.Random(f"{seed}/{number}/{attempt}")
        making = _Making(chance, f"fuzz_{seed}_{number}")
        program = making.program()
        system = PlainSystem(program, {}, program.protocols[0], {})
        if system.initial and (len(search(system, 6, FEW_STATES, []).paths) > FEW_STATES or chance.random() < 0.03):
            break
    program = making.extended()
    return Program(program.name, _pretty(program.text), None if program.second is None else _pretty(program.second))


class _Making:
    """Makes one program, part by part."""

    def __init__(self, chance: random.Random, name: str) -> None:
        self.chance = chance
        self.name = name
        self.world: World = random_world(chance)
        self.helpers: list[Helper] = []
        self.parts: list[str] = []
        self.second: str | None = None

    def program(self) -> Program:
        chance, world = self.chance, self.world
        budgets = [one for one in world.entries if one.kind == "budget"]
        left: list[tuple[str, Cells]] = []
        for budget in budgets:
            if chance.random() < 0.6:
                one = Cells(f"{budget.name}_left", (), 0, 3, False, (), "between(0, 3)", "")
                left.append((budget.name, one))
        for number in range(chance.choice((0, 1, 2, 3))):
            made, text = helper(chance, world, list(self.helpers), f"helper_{number}", writes=chance.random() < 0.3)
            self.helpers.append(made)
            self.parts.append(text)
        actions = [f"step_{number}" for number in range(chance.choice((1, 2, 2, 3, 3, 4)))]
        texts = {name: action(chance, world, self.helpers, name) for name in actions}
        for name, one in left:
            texts[f"{name}_happen"] = countdown(chance, world, self.helpers, f"{name}_happen", one)
        self.parts += texts.values()
        for number in range(chance.choice((2, 3, 4, 5))):
            self._property(chance.choice(KINDS), f"claim_{number}", list(texts))
        world.fields += [one for _, one in left]
        self._initial({one.name: name for name, one in left})
        if chance.random() < 0.15:
            self._contradiction()
        second = self._second(texts) if chance.random() < 0.25 else None
        self._ends()
        Endless(random.Random(f"{self.name}: for ever"), world).add_to(self.parts, self._likely)
        self.second = second
        return self._whole(self.parts)

    def extended(self) -> Program:
        """The program with sets, queues and records, or as it is."""
        parts = list(self.parts)
        if random.Random(f"{self.name}: containers").random() < 0.5:
            containers = Containers(random.Random(f"{self.name}: the containers"), self.world, self.helpers)
            parts += containers.parts()
            if self.second is not None:
                imported = f"from {self.name} import "
                names = [*(["Pair"] if self.world.pairs else []), *(one for one in self.world.subsets if one == SUBSET)]
                second = self.second.replace(imported, "".join([imported, *(f"{name}, " for name in names)]))
                self.second = "\n".join([second, *containers.action_of_second()])
        whole, chance = self._whole(parts), random.Random(f"{self.name}: records")
        return grouped(whole, chance) if chance.random() < 0.4 else whole

    def _whole(self, parts: list[str]) -> Program:
        words = ", ".join(language.__all__)
        head = [
            f'"""{self.name}: a random program."""',
            "",
            "from enum import IntEnum",
            f"from isrcheck.language import {words}",
        ]
        return Program(self.name, "\n".join([*head, self.world.text(), *parts]), self.second)

    # ------------------------------------------------------------------------------------------------------- properties

    def _property(self, kind: str, name: str, actions: list[str]) -> None:
        chance = self.chance
        of_steps = kind == "always_step" or (kind == "sometimes" and chance.random() < 0.4)
        states = ("before", "after") if of_steps else ("s",)
        asks_taken = of_steps and chance.random() < 0.6
        scope = self._scope(states)
        if asks_taken:
            scope.actions = tuple(actions)
        options = []
        if chance.random() < 0.25 and kind.startswith("always"):
            self._truth_of_state(f"{name}_is_permitted")
            options.append(f"permitted={name}_is_permitted")
        entries = [one for one in self.world.entries if one.kind in ("setting", "switch")]
        if chance.random() < 0.15 and entries:
            entry = chance.choice(entries)
            test = f"configuration.{entry.name} {chance.choice(('==', '!=', '>='))} {entry.default}"
            options.append(f"applies=lambda configuration: {test}")
        if kind not in ("sometimes", "always_possible") and chance.random() < 0.5:
            options.append("every_length=True")
        decorator = f"@{kind}({', '.join(options)})" if options else f"@{kind}"
        taken = ", taken" if asks_taken else ""
        lines = [f"return {self._likely(scope)}"]
        if chance.random() < 0.4 or asks_taken:
            lines = returning(Body(chance, self.world, scope), True)[0]
        if asks_taken and chance.random() < 0.2:
            asked = f"{name}_was_taken"
            self.parts.append(f"def {asked}(taken):\n    return taken == {chance.choice(actions)}")
            lines.insert(0, f"if {asked}(taken):")
            lines.insert(1, f"    return {chance.choice(('True', 'False', 'before.' + self.world.entries[0].name))}")
        self.parts.append("\n".join([decorator, f"def {name}({', '.join(states)}{taken}):", *indented(lines)]))

    def _scope(self, states: tuple[str, ...]) -> Scope:
        helpers = [one for one in self.helpers if one.returns is not None]
        careless = self.chance.random() < self.world.careless / 4
        return Scope(states, careless, helpers=helpers, constants=dict(self.world.constants))

    def _likely(self, scope: Scope) -> str:
        """An expression that is often true: a field lies in a part of its range, or one expression implies another."""
        chance, writer = self.chance, Writer(self.chance, self.world, scope)
        one = chance.choice(self.world.fields)
        form = chance.random()
        if form < 0.35:
            state = scope.states[-1]
            names = [f"n{position}" for position in range(len(one.over))]
            cell = f"{state}.{one.name}" + "".join(f"[{name}]" for name in names)
            value = chance.randint(one.low, one.high)
            test = f"{cell} {chance.choice(('<=', '>=', '!=', '<='))} {value}"
            loops = " ".join(
                f"for {name} in range({writer.size(space)})" for name, space in zip(names, one.over, strict=True)
            )
            return f"all({test} {loops})" if loops else test
        if form < 0.7:
            return f"(not {writer.truth(0)}) or {writer.truth(1)}"
        if form < 0.8 and len(scope.states) == 2 and not one.over and not one.is_truth:
            more = chance.choice(("", "", " + 1", " - 1"))
            return f"before.{one.name} {chance.choice(('<=', '>=', '=='))} after.{one.name}{more}"
        return writer.truth(2)

    def _truth_of_state(self, name: str) -> None:
        self.parts.append(
            "\n".join(
                [f"def {name}(s):", f"    return {Writer(self.chance, self.world, self._scope(('s',))).truth(1)}"]
            )
        )

    # ---------------------------------------------------------------------------------------------- the other functions

    def _initial(self, left: dict[str, str]) -> None:
        """Add one or several initial states; every remaining budget starts with its full amount.

        Whether functions with parameters make them has a chance of its own, and leaves the rest of the program as it
        is."""
        of_state = random.Random("".join(self.parts))
        if of_state.random() < 0.35:
            self._generators(of_state, left)
            return
        chance = self.chance
        starts = [f'"{one}": min(configuration.{entry}, 3)' for one, entry in left.items()]
        if not starts and chance.random() < 0.5:
            return
        lines = [f"yield {{{', '.join(starts)}}}"]
        for _ in range(chance.choice((0, 0, 1, 2))):
            one = chance.choice([field for field in self.world.fields if field.name not in left])
            lines.append(f"yield {{{', '.join([*starts, f'{chr(34)}{one.name}{chr(34)}: {self._start(one)}'])}}}")
        if chance.random() < 0.1:
            lines.append(lines[-1])  # a duplicate state counts once
        self.parts.append("\n".join(["@initial", "def starts(configuration):", *indented(lines)]))

    def _generators(self, chance: random.Random, left: dict[str, str]) -> None:
        """Add one or two functions that make initial states, like actions that start in the default state."""
        budgets = [f"s.{one} = min(s.{entry}, 3)" for one, entry in left.items()]
        for number in range(chance.choice((1, 1, 2))):
            text = action(chance, self.world, self.helpers, f"start_{number}", is_initial=True)
            self.parts.append("\n".join([text, *indented(budgets)]))
        if chance.random() < 0.8:  # guards are often false
            self.parts.append("\n".join(["@initial", "def start_anyhow(s):", *indented(budgets or ["pass"])]))

    def _start(self, one: Cells) -> str:
        text = "False" if one.is_truth else str(self.chance.randint(one.low, min(one.high, one.low + 3)))
        if one.is_truth:
            text = self.chance.choice(("True", "False", "1"))
        for space in reversed(one.over):
            size = space.range.replace("s.", "configuration.")
            text = f"[{text} for _ in range({size})]"
        return text

    def _contradiction(self) -> None:
        entries = [one for one in self.world.entries if not one.shapes]
        if entries:
            entry = self.chance.choice(entries)
            self.parts.append(
                "\n".join(
                    [
                        "@contradiction",
                        "def cannot_be(configuration):",
                        f'    """{entry.name} cannot be {entry.most} here."""',
                        f"    return configuration.{entry.name} == {entry.most} and {entry.most} != {entry.default}",
                    ]
                )
            )

    def _ends(self) -> None:
        """Sometimes declare where the program may end, and within which states it is searched.

        Its own chance leaves the rest of the program as it is."""
        chance = self.chance = random.Random(f"{self.name}: ends")
        for number in range(chance.choice((0, 0, 1, 2))):
            self._predicate("terminal", f"may_end_{number}")
        for number in range(chance.choice((0, 0, 0, 1, 2))):
            self._predicate("constraint", f"goes_on_{number}")

    def _predicate(self, kind: str, name: str) -> None:
        """Add a predicate of a state that is often true."""
        self.parts.append("\n".join([f"@{kind}", f"def {name}(s):", f"    return {self._likely(self._scope(('s',)))}"]))

    def _second(self, texts: dict[str, str]) -> str:
        """The module of a second protocol: other versions of some actions, sometimes a new one, other switches."""
        chance, world = self.chance, self.world
        switches = [one for one in world.entries if one.kind == "switch" and chance.random() < 0.7]
        values = {one.name: chance.randint(one.least, one.most) for one in switches}
        base = [f"helper_{number}" for number in range(len(self.helpers))]
        names = [*world.constants, *world.enumerations, *(one.name for one in world.spaces), *world.subsets, *base]
        lines = [
            f'"""The second protocol of {self.name}."""',
            "from isrcheck.language import NONE, action, require",
            f"from {self.name} import {', '.join(names)}",
            f"{SWITCHES} = {values!r}",
        ]
        swapped = [name for name in texts if name.startswith("step") and chance.random() < 0.5]
        lines += [action(chance, world, self.helpers, name, texts[name]) for name in swapped]
        if chance.random() < 0.3 or not swapped:
            lines.append(action(chance, world, self.helpers, "step_of_its_own"))
        return "\n".join(lines)


def _pretty(text: str) -> str:
    """The program in the format of `ast.unparse`, so that shrinking does not change the formatting."""
    return ast.unparse(ast.parse(text)) + "\n"

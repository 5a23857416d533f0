"""Declares which actions of a random program are fair, weakly or strongly, and what eventually happens.

In:  a source of randomness, the declarations of a program, and the texts of its functions.
Out: the texts with fair actions, and with liveness properties.
"""

from __future__ import annotations

import ast
import random
from collections.abc import Callable

from isrcheck.conformance.fuzz.declarations import World
from isrcheck.conformance.fuzz.expressions import Scope, Writer
from isrcheck.conformance.fuzz.plain_search import ENDLESS

Actions = dict[str, dict[str, str]]
"""The parameters of each action, with their domains."""


class Endless:
    """Makes the declarations of liveness of one program."""

    def __init__(self, chance: random.Random, world: World) -> None:
        self.chance = chance
        self.world = world

    def add_to(self, parts: list[str], likely: Callable[[Scope], str]) -> None:
        """Make some of the actions fair, and add up to three liveness properties. `likely` writes an expression that is
        often true."""
        self.parts, self.likely = parts, likely
        actions = {}
        for at, part in enumerate(parts):
            if part.startswith("@action"):
                name, parameters = _header(part)
                actions[name] = parameters
                if self.chance.random() < 0.4:
                    parts[at] = self._fair_action(part, name, parameters)
        for number in range(self.chance.choice((0, 1, 1, 2, 3))):
            self._property(self.chance.choice(ENDLESS), f"at_last_{number}", actions)

    def _fair_action(self, text: str, name: str, parameters: dict[str, str]) -> str:
        each = tuple(one for one in parameters if self.chance.random() < 0.5)
        head, _, rest = text.partition("\n")
        options = head.removeprefix("@action").strip("()")
        condition, fair = "", repr(each or True)
        if self.chance.random() < 0.2:
            fair = "'strong'"
        elif self.chance.random() < 0.4:
            condition, when = self._condition(f"{name}_counts", parameters)
            fair = f"{self._word()}({', '.join([*self._each(each), *when])})"
        return f"{condition}@action({', '.join(filter(None, (options, f'fair={fair}')))})\n{rest}"

    def _word(self) -> str:
        return self.chance.choice(("weak_fairness", "strong_fairness"))

    def _each(self, names: tuple[str, ...]) -> list[str]:
        return [f"each={(names[0] if len(names) == 1 else names)!r}"] if names else []

    def _condition(self, name: str, parameters: dict[str, str]) -> tuple[str, list[str]]:
        """The text of a condition of the state and of some of these parameters, and the option that names it; often
        nothing."""
        chance = self.chance
        if chance.random() < 0.5:
            return "", []
        truth, chosen = f"({self.likely(Scope(('s',), False, constants=dict(self.world.constants)))})", []
        for parameter, kind in parameters.items():
            if chance.random() < 0.6:
                chosen.append(f", {parameter}: {kind}")
                space = self.world.subsets.get(kind)
                about = f"{parameter} == 0" if space is None else f"any(one in {parameter} for one in {space.name})"
                truth += f" {chance.choice(('and', 'or', 'and not', 'or not'))} {about}"
        return f"def {name}(s{''.join(chosen)}):\n    return {truth}\n", [f"when={name}"]

    def _property(self, kind: str, name: str, actions: Actions) -> None:
        chance, options = self.chance, []
        if kind == "leads_to":
            self._predicate(f"{name}_is_asked")
            options.append(f"when={name}_is_asked")
        if chance.random() < 0.25:
            self._predicate(f"{name}_is_permitted")
            options.append(f"permitted={name}_is_permitted")
        if chance.random() < 0.6:
            options.append(f"fair={self._fair(name, actions)}")
        self._predicate(name, f"@{kind}({', '.join(options)})" if options else f"@{kind}")

    def _predicate(self, name: str, decorator: str = "") -> None:
        """Add a predicate of a state that can always be evaluated."""
        scope = Scope(("s",), False, constants=dict(self.world.constants))
        is_any = self.chance.random() < 0.5
        text = Writer(self.chance, self.world, scope).truth(1) if is_any else self.likely(scope)
        self.parts.append("\n".join([*([decorator] if decorator else []), f"def {name}(s):", f"    return {text}"]))

    def _fair(self, name: str, actions: Actions) -> str:
        chance = self.chance
        if chance.random() < 0.2:
            return chance.choice(("[]", "any_action"))
        found = []
        for number in range(chance.choice((1, 1, 2, 3))):
            chosen = chance.sample(list(actions), chance.randint(1, min(2, len(actions))))
            first = actions[chosen[0]]
            both = set.intersection(*(set(actions[one].items()) for one in chosen))
            shared = {one: kind for one, kind in first.items() if (one, kind) in both}
            each = tuple(one for one in shared if chance.random() < 0.6)
            named = [chance.choice((one, repr(one))) for one in chosen]
            condition, when = self._condition(f"{name}_counts_{number}", shared)
            if condition:
                self.parts.append(condition)
            if len(named) == 1 and not each and not when and chance.random() < 0.5:
                found.append(named[0])
            else:
                found.append(f"{self._word()}({', '.join([*named, *self._each(each), *when])})")
        return found[0] if len(found) == 1 and chance.random() < 0.5 else f"[{', '.join(found)}]"


def _header(text: str) -> tuple[str, dict[str, str]]:
    """The name of the action with this text, and its parameters with their domains."""
    (function,) = [node for node in ast.parse(text).body if isinstance(node, ast.FunctionDef)]
    parameters = {one.arg: ast.unparse(one.annotation) for one in function.args.args[1:] if one.annotation is not None}
    return function.name, parameters

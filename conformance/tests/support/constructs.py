"""The examples of the language's table in a small model, and the nodes of a model's functions.

In:  a row of models/language/ir/constructs.py; a model.
Out: the text of a model; its nodes.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import get_args

from isrcheck.models import language
from isrcheck.models.language.ir.constructs import CONSTRUCTS, MODEL, Place
from isrcheck.models.language.ir.nodes import Node, Routine, routines, visit
from isrcheck.models.language.model import Model

BEFORE = f"from enum import IntEnum\nfrom isrcheck.language import {', '.join(language.__all__)}\n\n\n{MODEL}\n\n"
"""The text before an example."""

ROWS = [(construct, example) for table in CONSTRUCTS.values() for construct in table for example in construct.examples]
"""Each example with its construct."""


def _indented(text: str) -> str:
    return "".join(f"    {line}\n" for line in text.splitlines())


def framed(example: str, place: Place) -> str:
    """A function `example` that contains an example."""
    body = example if place in (Place.ACTION, Place.HELPER) else f"return {example}"
    if place is Place.STEP:
        return f"@always_step\ndef example(before, after, taken):\n{_indented(body)}"
    if place is Place.ACTION:
        return f"@action\ndef example(s, r: Replica, p: Replica, chosen: Replicas):\n{_indented(body)}"
    helper = f"def example(s, r, p, chosen: Replicas):\n{_indented(body)}"
    act = "@action\ndef act(s, r: Replica, p: Replica, chosen: Replicas):\n    require(example(s, r, p, chosen))\n"
    return f"{helper}\n\n{act}"


def kinds_of(*unions: object) -> set[type[Node]]:
    """The classes of the nodes in closed unions, whose members may be base classes."""
    members = [member for union in unions for member in get_args(union)]
    return {kind for member in members for kind in member.__subclasses__() or [member]}


def kinds_in(routine: Routine) -> set[type[Node]]:
    """The classes of the nodes in a routine, as written and in the core."""
    return {type(node) for node in visit((*routine.written, *routine.body))}


def routines_of(model: Model) -> Iterator[Routine]:
    """The routines of a model's actions, initial states, properties and predicates, and of all that they call."""
    functions = [one for action in model.actions for one in action.alternatives]
    functions += [*model.generators, *model.terminals, *model.constraints]
    for prop in (*model.properties, *model.lemmas):
        functions += [one for one in (prop.function, prop.permitted, prop.premise) if one is not None]
    return routines(one.routine for one in functions)

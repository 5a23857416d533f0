"""The parts of documents that are made of the code: tables of the language, and functions of the smallest engine.

A part stands in a document between `<!-- made of: NAME -->` and `<!-- end -->`.
"""

from __future__ import annotations

import inspect
import re
import textwrap
from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields
from functools import partial
from typing import get_args

from isrcheck.models.language import interpreter
from isrcheck.models.language.ir import constructs, nodes

PART = re.compile(r"(<!-- made of: (.*?) -->\n).*?(<!-- end -->)", re.DOTALL)


def made(document: str) -> str:
    """The document with each of its parts made anew."""
    return PART.sub(lambda part: f"{part[1]}\n{PARTS[part[2]]()}\n\n{part[3]}", document)


def _table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    lines = [list(head), *map(list, rows)]
    lines.insert(1, ["---"] * len(lines[0]))
    return "\n".join(f"| {' | '.join(line)} |".replace("| --- ", "|---").replace("--- |", "---|") for line in lines)


def _code(example: str) -> str:
    """An example in one line of a table."""
    line = re.sub(r"\n(?! )", "; ", re.sub(r"\n +", " ", example).replace("\nel", " el"))
    return f"`{line.replace('|', chr(92) + '|')}`"


def _examples(examples: Iterable[str]) -> str:
    return ", ".join(map(_code, examples))


def _constructs(title: str) -> str:
    rows = constructs.CONSTRUCTS[title]
    says = (f"{one.meaning}{f'. Error: {one.error}' if one.error else ''}" for one in rows)
    return _table(("written", "meaning"), zip((_examples(one.examples) for one in rows), says, strict=True))


def _refusals() -> str:
    rows: dict[str, list[str]] = {}
    for one in constructs.REFUSALS:
        values = (re.sub(r"^a = (?=[^=]*$)", "", example) for example in one.examples)
        where = " in a helper" if one.place is constructs.Place.HELPER else ""
        rows.setdefault(one.cure, []).extend(f"{_code(value)}{where}" for value in values)
    return _table(("refused", "cure"), ((", ".join(those), cure) for cure, those in rows.items()))


def _limits() -> str:
    return _table(("limit", "most"), ((one.of, f"{one.most:,}") for one in constructs.LIMITS))


def _nodes(kinds: Iterable[type[nodes.Node]]) -> str:
    """A table of nodes with their parts, their docstrings and an example of each."""
    rows = [one for those in constructs.CONSTRUCTS.values() for one in those]
    lines = []
    for node in kinds:
        parts = [one.name for one in fields(node) if one.name != "span"]
        # A construct that becomes nothing else, or else mainly this.
        example = min(
            (one for one in rows if node in one.nodes), key=lambda one: (len(one.nodes), one.nodes[0] != node)
        )
        meaning = re.sub(r"\s+", " ", inspect.getdoc(node) or "").replace("|", "\\|")
        lines.append((f"`{node.__name__}({', '.join(parts)})`", meaning, _code(example.examples[0])))
    return _table(("node", "meaning", "from"), lines)


def _source(of: Callable[..., object]) -> str:
    return f"```python\n{textwrap.dedent(inspect.getsource(of)).rstrip()}\n```"


COLLECTIVE = (nodes.CollectiveExpression, nodes.CollectiveStatement)
"""The base classes of the nodes that are not in the core."""

PARTS: Mapping[str, Callable[[], str]] = {
    **{title: partial(_constructs, title) for title in constructs.CONSTRUCTS},
    "the model of the examples": lambda: f"```python\n{constructs.MODEL.rstrip()}\n```",
    "refusals": _refusals,
    "limits": _limits,
    "nodes of statements": partial(_nodes, [one for one in get_args(nodes.Statement) if one not in COLLECTIVE]),
    "nodes of expressions": partial(_nodes, [one for one in get_args(nodes.Expression) if one not in COLLECTIVE]),
    "nodes of sets and queues": partial(_nodes, [node for one in COLLECTIVE for node in one.__subclasses__()]),
    **{
        one.__qualname__: partial(_source, one)
        for kind in (interpreter.Interpreter, interpreter.Evaluation)
        for one in vars(kind).values()
        if inspect.isfunction(one)
    },
}
"""What a document can be made of."""

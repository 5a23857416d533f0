"""Ways through the representation, so that no engine has a recursion of its own over the parts of a node.

In:  a node.
Out: its parts, all nodes in it, a value computed from those of its parts, the node with other parts, or whether it
     says the same as another one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any, TypeVar, cast

from isrcheck.models.language.ir import nodes as ir

Value = TypeVar("Value")
Rewritten = TypeVar("Rewritten", bound=ir.Node)


def parts(node: ir.Node) -> Iterator[ir.Node]:
    """The nodes of which a node consists, in the order of the text."""
    for value in vars(node).values():
        for one in value if isinstance(value, tuple) else (value,):
            if isinstance(one, ir.Node):
                yield one


def operands(node: ir.Node) -> Iterator[ir.Expression]:
    """The expressions of which an expression or a range consists, in the order of the text."""
    for part in parts(node):
        if isinstance(part, ir.Expression):
            yield part
        else:  # a term, an option, a generator
            yield from operands(part)


def visit(nodes: Iterable[ir.Node]) -> Iterator[ir.Node]:
    """These nodes and all nodes in them, each before its parts; not those of called functions."""
    waiting = list(nodes)[::-1]
    while waiting:
        node = waiting.pop()
        yield node
        waiting += list(parts(node))[::-1]


def statements_in(statements: Iterable[ir.Statement]) -> Iterator[ir.Statement]:
    """These statements and all statements in them, each before its parts."""
    for statement in statements:
        yield statement
        match statement:
            case ir.Branch(cases, otherwise):
                for case in cases:
                    yield from statements_in(case.body)
                yield from statements_in(otherwise)
            case ir.Loop(body=body) | ir.SetLoop(body=body):
                yield from statements_in(body)


def with_depth(nodes: Iterable[ir.Node]) -> Iterator[tuple[ir.Node, int]]:
    """These nodes and all nodes in them, each with its depth: 1 for the given ones."""
    waiting = [(node, 1) for node in nodes]
    while waiting:
        node, depth = waiting.pop()
        yield node, depth
        waiting += ((part, depth + 1) for part in parts(node))


def fold(node: ir.Node, value: Callable[[ir.Node, Sequence[Value]], Value]) -> Value:
    """The value of a node, computed from the node and the values of its parts."""
    return value(node, [fold(part, value) for part in parts(node)])


def rewrite(node: Rewritten, change: Callable[[ir.Node], ir.Node]) -> Rewritten:
    """The node with each node in it, and then the node itself, replaced by what `change` makes of it. A node in which
    nothing changes stays the same object. An expression has to stay an expression, and so on."""
    rewritten = {name: _rewritten(value, change) for name, value in vars(node).items()}
    changes = {name: value for name, value in rewritten.items() if value is not getattr(node, name)}
    return cast(Rewritten, change(replace(node, **changes) if changes else node))


def _rewritten(value: Any, change: Callable[[ir.Node], ir.Node]) -> Any:
    """A part of a node, or several in a tuple, rewritten; anything else as it is."""
    if isinstance(value, ir.Node):
        return rewrite(value, change)
    if isinstance(value, tuple):
        changed = tuple(_rewritten(one, change) for one in value)
        return value if all(one is other for one, other in zip(changed, value, strict=True)) else changed
    return value


def routines(roots: Iterable[ir.Routine]) -> Iterator[ir.Routine]:
    """These functions and all that they call, each once."""
    seen: set[ir.Routine] = set()
    waiting = list(roots)
    while waiting:
        routine = waiting.pop()
        if routine not in seen:
            seen.add(routine)
            waiting += [node.routine for node in visit(routine.body) if isinstance(node, ir.Call)]
            yield routine


def assigned(statements: Iterable[ir.Statement]) -> set[ir.Variable]:
    """The variables of a function that statements assign, also as the variables of loops."""
    return set(assignments(statements))


def assignments(statements: Iterable[ir.Statement]) -> Counter[ir.Variable]:
    """How often each variable is assigned in the text, also as the variable of a loop, or of the first element of a
    queue."""
    assigning = (ir.Assign, ir.Loop, ir.SetLoop, ir.TakeFirst)
    nodes = (one for one in statements_in(statements) if isinstance(one, assigning))
    return Counter(node.variable for node in nodes if node.variable is not None)


def variables(node: ir.Node) -> set[ir.Variable]:
    """The variables that a node reads, states among them, but for those of its own folds."""
    used: set[ir.Variable] = set()
    own: set[ir.Variable] = set()
    for one in visit([node]):
        used |= {value for value in vars(one).values() if isinstance(value, ir.Variable)}
        if isinstance(one, ir.Generator):
            own.add(one.variable)
    return used - own


def is_same(one: object, other: object) -> bool:
    """Whether two nodes, or parts of nodes, say the same; where they are written does not count."""
    if isinstance(one, ir.Node) and isinstance(other, ir.Node):
        same_kind = type(one) is type(other)
        return same_kind and all(is_same(vars(one)[name], vars(other)[name]) for name in vars(one) if name != "span")
    if isinstance(one, tuple) and isinstance(other, tuple):
        return len(one) == len(other) and all(map(is_same, one, other))
    return one == other


def increase(store: ir.Store) -> ir.Sum | None:
    """The sum of a cell with something else, if that is stored in the cell: `s.x += 1`."""
    match store.value:
        case ir.Sum((ir.Term(ir.Cell() as cell, False), *_)) as total if is_same(cell, store.cell):
            return total
    return None

"""Whether the order of a loop's iterations matters.

In:  a `for` loop, and the accesses to cells in its body, those of the called helpers included.
Out: reasons why the order may matter; none if it surely does not.

The order does not matter if, for each field that the body writes, one of these is true, and likewise for each local
that outlives the loop: all accesses use the loop's variable itself as the same index, so no two iterations share a
cell; or the field is only written, always with one value that is the same in all iterations; or it is only added to,
always with the same sign, so that neither its end nor whether it leaves its range depends on the order.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from isrcheck.models.language.syntax import EXTREMA, Function, stored


@dataclass(frozen=True, eq=False)
class Binding:
    """A variable, or a local, with a value of some sort; `is_stable` if only the loop or the call gives it a value. Two
    variables of one name are two bindings."""

    value: Any
    is_stable: bool


@dataclass(frozen=True)
class Access:
    """One access to cells of a field. `origins` are the bindings of the indices that are plain names (None: others),
    `mode` is read, write or add; `said` is the written value, if it is a constant or a plain name, or the sign of what
    is added."""

    field: str
    origins: tuple[Any, ...]
    mode: str
    said: Any
    node: ast.AST

    def seen_from(self, origins: Mapping[Binding, Binding | None], call: ast.AST) -> Access:
        """The same access as the caller of the function sees it, given the origins of its arguments."""

        def outer(one: Any) -> Any:
            return origins.get(one) if isinstance(one, Binding) else None

        said = self.said
        if isinstance(said, Binding):
            said = outer(said)
        return replace(self, origins=tuple(map(outer, self.origins)), said=said, node=call)


def origin(expression: ast.expr, known: Mapping[str, Binding]) -> Binding | None:
    """The binding of an expression that is a name to which nothing assigns; None for any other expression."""
    binding = known.get(expression.id) if isinstance(expression, ast.Name) else None
    return binding if binding is not None and binding.is_stable else None


def invariant(expression: ast.expr, number: int | None, known: Mapping[str, Binding]) -> Any:
    """What is known of a written value: a number, the binding of a name, or None."""
    return number if number is not None else origin(expression, known)


def assigned(body: Iterable[ast.stmt]) -> set[str]:
    """The names to which statements, or those inside them, give values: also as variables of loops."""
    return {name for statement in body for name in stored(statement)}


def faults(
    loop: ast.For,
    function: Function,
    variable: Binding,
    accesses: Sequence[Access],
    before: Mapping[str, Binding],
    outer: set[int],
) -> Iterator[tuple[str, ast.AST | None]]:
    """Reasons why the order of iterations of a loop in `function` may matter, each with its place; `outer` are the ids
    of bindings that exist outside the loop, `before` the locals that have a value before it."""
    for node in ast.walk(loop):
        if isinstance(node, ast.Return):
            yield "returns from a loop over elements: which one comes first decides", node
    for name in sorted({one.field for one in accesses if one.mode != "read"}):
        those = [one for one in accesses if one.field == name]
        if not (_is_private(those, variable) or _is_same(those, outer) or _is_sum(those)):
            where = next(one.node for one in those if one.mode != "read")
            yield f"the order of this loop's elements decides what {name} becomes", where
    for name in sorted(assigned(loop.body) & set(before)):
        if not _is_commutative(name, loop, function):
            yield f"the order of this loop's elements decides what {name} becomes", loop


def _is_private(those: Iterable[Access], variable: Binding) -> bool:
    common = None
    for one in those:
        axes = {axis for axis, origin_ in enumerate(one.origins) if origin_ is variable}
        common = axes if common is None else common & axes
    return bool(common) and variable.is_stable


def _is_same(those: Sequence[Access], outer: set[int]) -> bool:
    first = those[0].said
    is_invariant = isinstance(first, int) or (isinstance(first, Binding) and id(first) in outer)
    return is_invariant and all(one.mode == "write" and one.said == first for one in those)


def _is_sum(those: Sequence[Access]) -> bool:
    return those[0].said is not None and all(one.mode == "add" and one.said == those[0].said for one in those)


def _is_commutative(name: str, loop: ast.For, function: Function) -> bool:
    """Whether the body only adds to a local, or only lowers it (`x = min(x, e)`) or raises it, or only assigns one
    constant to it, and does not read it otherwise."""
    ways: list[Any] = []
    reads = 0
    for node in ast.walk(loop):
        if isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Load):
            reads += 1
        if (
            isinstance(node, ast.For | ast.comprehension)
            and isinstance(node.target, ast.Name)
            and node.target.id == name
        ):
            return False
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) and node.targets[0].id == name:
            match node.value:
                case ast.Constant(value=int(value)):
                    ways.append(value)
                case ast.Call(args=[ast.Name(id=known), _]) as call if (
                    known == name and function.builtin(call) in EXTREMA
                ):
                    ways.append(function.builtin(call))
                    reads -= 1
                case _:
                    return False
        if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name) and node.target.id == name:
            ways.append("sum")
    return reads == 0 and len(set(ways)) == 1

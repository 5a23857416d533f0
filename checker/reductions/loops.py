"""Whether the order of a loop's iterations matters.

In:  a loop, and the accesses to cells in its body, those of the called helpers included.
Out: reasons why the order may matter; none if it surely does not.

The order does not matter if, for each field that the body writes, one of these is true, and likewise for each local
that outlives the loop: all accesses use the loop's variable itself as the same index, so no two iterations share a
cell; or the field is only written, always with one value that is the same in all iterations; or it is only added to,
always with the same sign, so that neither its end nor whether it leaves its range depends on the order.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from isrcheck.models.language.ir import nodes as ir
from isrcheck.models.language.ir.walking import assigned, visit


@dataclass(frozen=True, eq=False)
class Binding:
    """A variable while it has a value of some sort; `is_stable` if only the loop or the call gives it a value. A
    variable of two loops has a binding in each."""

    value: Any
    is_stable: bool


@dataclass(frozen=True)
class Access:
    """One access to cells of a field. `origins` are the bindings of the indices that are plain names (None: others),
    `mode` is read, write or add; `said` is the written value, if it is a constant or a plain name, or whether what is
    added is subtracted."""

    field: str
    origins: tuple[Any, ...]
    mode: str
    said: Any
    span: ir.Span

    def seen_from(self, origins: Mapping[Binding, Binding | None], call: ir.Span) -> Access:
        """The same access as the caller of the function sees it, given the origins of its arguments."""

        def outer(one: Any) -> Any:
            return origins.get(one) if isinstance(one, Binding) else None

        said = self.said
        if isinstance(said, Binding):
            said = outer(said)
        return replace(self, origins=tuple(map(outer, self.origins)), said=said, span=call)


Bindings = Mapping[ir.Variable, Binding]


def origin(expression: ir.Expression, known: Bindings) -> Binding | None:
    """The binding of an expression that is a name to which nothing assigns; None for any other expression."""
    binding = known.get(expression.variable) if isinstance(expression, ir.Local) else None
    return binding if binding is not None and binding.is_stable else None


def invariant(expression: ir.Expression, number: int | None, known: Bindings) -> Any:
    """What is known of a written value: a number, the binding of a name, or None."""
    return number if number is not None else origin(expression, known)


def faults(
    loop: ir.Loop, variable: Binding, accesses: Sequence[Access], before: Bindings
) -> Iterator[tuple[str, ir.Span]]:
    """Reasons why the order of iterations of a loop may matter, each with its place; `before` are the bindings that
    exist outside the loop."""
    for node in visit(loop.body):
        if isinstance(node, ir.Return):
            yield "returns from a loop over elements: which one comes first decides", node.span
    outer = set(before.values())
    for name in sorted({one.field for one in accesses if one.mode != "read"}):
        those = [one for one in accesses if one.field == name]
        if not (_is_private(those, variable) or _is_same(those, outer) or _is_sum(those)):
            where = next(one.span for one in those if one.mode != "read")
            yield f"the order of this loop's elements decides what {name} becomes", where
    for local in sorted(assigned(loop.body) & before.keys(), key=lambda one: one.name):
        if not _is_commutative(local, loop):
            yield f"the order of this loop's elements decides what {local.name} becomes", loop.span


def _is_private(those: Iterable[Access], variable: Binding) -> bool:
    common = None
    for one in those:
        axes = {axis for axis, origin_ in enumerate(one.origins) if origin_ is variable}
        common = axes if common is None else common & axes
    return bool(common) and variable.is_stable


def _is_same(those: Sequence[Access], outer: Collection[Binding]) -> bool:
    first = those[0].said
    is_invariant = isinstance(first, int) or (isinstance(first, Binding) and first in outer)
    return is_invariant and all(one.mode == "write" and one.said == first for one in those)


def _is_sum(those: Sequence[Access]) -> bool:
    return those[0].said is not None and all(one.mode == "add" and one.said == those[0].said for one in those)


def _is_commutative(local: ir.Variable, loop: ir.Loop) -> bool:
    """Whether the body only adds to a local, or only lowers it (`x = min(x, e)`) or raises it, or only assigns one
    constant to it, and does not read it otherwise."""
    ways: list[Any] = []
    reads = 0
    for node in visit(loop.body):
        match node:
            case ir.Local(variable) if variable is local:
                reads += 1
            case ir.Loop(variable) | ir.Generator(variable) if variable is local:
                return False
            case ir.Assign(variable, ir.Constant(value)) if variable is local:
                ways.append(value)
            case ir.Assign(variable, ir.Extremum(extreme, (ir.Local(first), _))) if (
                variable is local and first is local
            ):
                ways.append(extreme)
                reads -= 1
            case ir.Assign(variable, ir.Sum((ir.Term(ir.Local(first), False), *_))) if (
                variable is local and first is local
            ):
                ways.append(ir.Sum)
                reads -= 1
            case ir.Assign(variable) if variable is local:
                return False
    return reads == 0 and len(set(ways)) == 1

"""Whether the order of a loop's iterations matters.

In:  a loop, and how its function uses cells (checker/reductions/reads.py).
Out: reasons why the order may matter; none if it surely does not.

The order does not matter if, for each field that the body writes, one of these is true, and likewise for each local
that outlives the loop: all uses have the loop's variable itself as the same index, so no two iterations share a cell;
or the field is only written, always with one value that is the same in all iterations; or it is only added to, always
with the same sign, so that neither its end nor whether it leaves its range depends on the order.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Any

from isrcheck.checker.reductions.reads import Use
from isrcheck.models.language.ir import nodes as ir
from isrcheck.models.language.ir.nodes import assigned, visit


def faults(loop: ir.Loop, uses: Sequence[Use], before: Collection[ir.Variable]) -> Iterator[tuple[str, ir.Span]]:
    """Reasons why the order of iterations of a loop may matter, each with its place, given the uses of cells in its
    function, and the variables that have a value before the loop."""
    for node in visit(loop.body):
        if isinstance(node, ir.Return):
            yield "returns from a loop over elements: which one comes first decides", node.span
    inside = [use for use in uses if (loop,) in use.blocks]
    for name in sorted({use.field for use in inside if use.is_write}):
        those = [use for use in inside if use.field == name]
        if not (_is_private(those, loop) or _is_same(those, loop) or _is_sum(those)):
            where = next(use.span for use in those if use.is_write)
            yield f"the order of this loop's elements decides what {name} becomes", where
    for local in sorted(assigned(loop.body) & set(before), key=lambda one: one.name):
        if not _is_commutative(local, loop):
            yield f"the order of this loop's elements decides what {local.name} becomes", loop.span


def _is_private(those: Sequence[Use], loop: ir.Loop) -> bool:
    axes = [{axis for axis, index in enumerate(use.indices) if index is loop} for use in those]
    return bool(set.intersection(*axes))


def _is_same(those: Sequence[Use], loop: ir.Loop) -> bool:
    value, blocks = those[0].value, those[0].blocks
    if isinstance(value, ir.Loop) and (value,) not in blocks[: blocks.index((loop,))]:
        return False  # the number of this loop, or of one in it
    return value is not None and all(use.is_write and use.value == value for use in those)


def _is_sum(those: Sequence[Use]) -> bool:
    return those[0].adds != 0 and all(use.adds == those[0].adds for use in those)


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

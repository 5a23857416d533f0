"""What is known of numbers while a kernel is built, and which functions may therefore leave a range.

In:  an `Instance`; nodes of its functions.
Out: the values of numbers that are compiled in, limits of variables, and whether an index needs a check.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from isrcheck.models.language.declarations import Subset
from isrcheck.models.language.ir import nodes as ir
from isrcheck.models.language.ir.nodes import visit
from isrcheck.models.language.model import Instance

Limits = Mapping[ir.Variable, int]
"""Of some variables, a limit: the value is in 0..limit-1."""


class Ranges:
    """What is known of the numbers in an instance's functions."""

    def __init__(self, instance: Instance) -> None:
        self.instance = instance
        self._may_fail: dict[ir.Routine, bool] = {}

    def number(self, expression: ir.Expression) -> int | None:
        """The value of a number that depends only on what is compiled in; None for any other expression."""
        instance = self.instance
        match expression:
            case ir.Constant(number):
                return int(number)
            case ir.Size(domain):
                return instance.size_of(domain)
            case ir.Setting(entry) if instance.model.entries[entry].is_bound:
                return int(getattr(instance.configuration, entry))
            case ir.Sum(terms):
                numbers = [self.number(term.value) for term in terms]
                known = [number for number in numbers if number is not None]
                if len(known) == len(terms):
                    signs = (-1 if term.is_subtracted else 1 for term in terms)
                    return sum(sign * number for sign, number in zip(signs, known, strict=True))
        return None

    def limits(self, routine: ir.Routine, nodes: Iterable[ir.Node], limits: Limits) -> dict[ir.Variable, int]:
        """The limits of the variables in nodes of a routine, given limits of its parameters. A variable has one if it
        never changes but as the variable of one loop, outside of which no model reads it. Where several generators have
        one variable, because a helper stands in several guards (checker/compile/lowering/guards.py), it is that of all.
        """
        known = {variable: limit for variable, limit in limits.items() if variable not in routine.assignments}
        unknown: set[ir.Variable] = set()
        for node in visit(nodes):
            if isinstance(node, ir.Generator) or (isinstance(node, ir.Loop) and is_of_loop(routine, node.variable)):
                limit = self._limit(node.range, known)
                if limit is None:
                    unknown.add(node.variable)
                    known.pop(node.variable, None)
                elif node.variable not in unknown:
                    known[node.variable] = max(limit, known.get(node.variable, 0))
        return known

    def _limit(self, numbers: ir.Range, limits: Limits) -> int | None:
        """The limit of the numbers of a range: all are in 0..limit-1."""
        match numbers.first:
            case ir.Local(variable):
                is_natural = variable in limits
            case ir.Sum((ir.Term(ir.Local(variable)), ir.Term(more, False))):
                is_natural = variable in limits and (self.number(more) or -1) >= 0
            case first:
                number = self.number(first)
                is_natural = number is not None and number >= 0
        if not is_natural:
            return None
        end = self.number(numbers.end)
        return limits.get(numbers.end.variable) if end is None and isinstance(numbers.end, ir.Local) else end

    def is_safe(self, index: ir.Expression, size: int, limits: Limits) -> bool:
        """Whether an index surely is in 0..size-1."""
        if isinstance(index, ir.Local):
            return limits.get(index.variable, size + 1) <= size
        number = self.number(index)
        return number is not None and 0 <= number < size

    def may_fail(self, nodes: Iterable[ir.Node], limits: Limits) -> bool:
        """Whether an index may leave its range in these nodes, or in what they call."""
        for node in visit(nodes):
            match node:
                case ir.Cell(_, field, indices):
                    sizes = self.instance.layouts[field].sizes
                    if not all(self.is_safe(one, size, limits) for one, size in zip(indices, sizes, strict=True)):
                        return True
                case ir.Element(subset, index):
                    if not self.is_safe(index, self.elements(subset), limits):
                        return True
                case ir.Call(routine):
                    if self.routine_may_fail(routine):
                        return True
        return False

    def routine_may_fail(self, routine: ir.Routine) -> bool:
        """Whether an index may leave its range in a helper."""
        if routine not in self._may_fail:
            self._may_fail[routine] = self.may_fail(routine.body, self.limits(routine, routine.body, {}))
        return self._may_fail[routine]

    def elements(self, subset: ir.Variable) -> int:
        """The number of elements of the domain of which a variable is a subset."""
        assert subset.domain is not None and issubclass(subset.domain, Subset)
        return self.instance.size_of(subset.domain.of)


def is_of_loop(routine: ir.Routine, variable: ir.Variable) -> bool:
    """Whether a variable is assigned only as the variable of one loop."""
    return routine.assignments[variable] == 1 and variable not in routine.parameters

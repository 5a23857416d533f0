"""Facts about numbers while a kernel is built, and their consequences for the order in which conditions are evaluated.

`Ranges` knows the values of numbers that are compiled in, limits of variables, and whether an index needs a check.
Each guard of an action or a generator is evaluated in the outermost loop over arguments that binds what it reads.
`Elements` knows which folds over symmetric elements are evaluated to their end, and how two elements are compared.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from isrcheck.checker.reductions.reduction import Symmetry, place_in
from isrcheck.models.language.declarations import Subset
from isrcheck.models.language.ir import nodes as ir
from isrcheck.models.language.ir.nodes import is_same, rewrite, variables, visit
from isrcheck.models.language.model import ArgumentRange, Instance

Limits = Mapping[ir.Variable, int]
"""The limits of some variables: the value is in 0..limit-1."""


class Ranges:
    """The known facts about the numbers in an instance's functions."""

    def __init__(self, instance: Instance) -> None:
        self.instance = instance
        self._may_fail: dict[ir.Routine, bool] = {}

    def number(self, expression: ir.Expression) -> int | None:
        """The value of a number that depends only on what is compiled in; None for any other expression."""
        instance = self.instance
        match expression:
            case ir.Constant(constant):
                return int(constant)
            case ir.Size(domain):
                return instance.size_of(domain)
            case ir.Setting(entry) if instance.model.entries[entry].is_bound:
                return int(getattr(instance.configuration, entry))
            case ir.Sum(terms):
                total = 0
                for term in terms:
                    number = self.number(term.value)
                    if number is None:
                        return None
                    total += -number if term.is_subtracted else number
                return total
        return None

    def limits(self, routine: ir.Routine, nodes: Iterable[ir.Node], limits: Limits) -> dict[ir.Variable, int]:
        """The limits of the variables in nodes of a routine, given limits of its parameters. A variable has a limit if
        it changes only as the variable of one loop, outside of which no model reads it. Where several generators share
        a variable, because several guards call a helper (`conjuncts`), the limit is the greatest of theirs.
        """
        limited = {variable: limit for variable, limit in limits.items() if variable not in routine.assignments}
        unlimited: set[ir.Variable] = set()
        for node in visit(nodes):
            if isinstance(node, ir.Generator) or (isinstance(node, ir.Loop) and is_of_loop(routine, node.variable)):
                limit = self._limit(node.range, limited)
                if limit is None:
                    unlimited.add(node.variable)
                    limited.pop(node.variable, None)
                elif node.variable not in unlimited:
                    limited[node.variable] = max(limit, limited.get(node.variable, 0))
        return limited

    def _limit(self, numbers: ir.Range, limits: Limits) -> int | None:
        """The limit of the numbers of a range: all are in 0..limit-1."""
        match numbers.first:
            case ir.Local(variable):
                is_natural = variable in limits
            case ir.Sum((ir.Term(ir.Local(variable)), ir.Term(added, False))):
                is_natural = variable in limits and (self.number(added) or -1) >= 0
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
        """Whether an index may leave its range in these nodes, or in the routines that they call."""
        for node in visit(nodes):
            match node:
                case ir.Cell(_, field, indices):
                    sizes = self.instance.layouts[field].sizes
                    if not all(self.is_safe(*pair, limits) for pair in zip(indices, sizes, strict=True)):
                        return True
                case ir.Element(subset, index):
                    if not self.is_safe(index, self.elements(subset), limits):
                        return True
                case ir.Call(routine):
                    if routine not in self._may_fail:
                        self._may_fail[routine] = self.may_fail(routine.body, self.limits(routine, routine.body, {}))
                    if self._may_fail[routine]:
                        return True
        return False

    def elements(self, subset: ir.Variable) -> int:
        """The number of elements of the domain of which a variable is a subset."""
        assert subset.domain is not None and issubclass(subset.domain, Subset)
        return self.instance.size_of(subset.domain.of)


def is_of_loop(routine: ir.Routine, variable: ir.Variable) -> bool:
    """Whether a variable is assigned only as the variable of one loop."""
    return routine.assignments[variable] == 1 and variable not in routine.parameters


INSIDE = ir.And | ir.Or | ir.Compare | ir.Chain | ir.Among
"""The kinds of expressions that are taken apart if a helper returns them: they count as conditions of the guard that
calls the helper."""


def argument_limits(routine: ir.Routine, choices: Sequence[ArgumentRange]) -> Limits:
    """The numbers of elements of the domains of an action's parameters."""
    pairs = zip(routine.arguments, choices, strict=True)
    return {parameter: choice.elements for parameter, choice in pairs if not choice.is_subset}


def placed(
    ranges: Ranges, conditions: Iterable[ir.Expression], unbound: set[ir.Variable], limits: Limits
) -> tuple[list[ir.Expression], list[ir.Expression]]:
    """The conditions that must be true, divided into the conditions that are evaluated while some variables are still
    `unbound`, and the conditions that wait.

    A condition in which an index may leave its range is evaluated exactly if all conditions before it are true, as in
    the reference semantics. Other conditions are evaluated as soon as the loops bind the variables that they read.
    """
    ready: list[ir.Expression] = []
    waiting: list[ir.Expression] = []
    may_one_fail = False  # of those that wait
    for condition in conditions:
        may_fail = ranges.may_fail([condition], limits)
        if variables(condition) & unbound or (may_fail and waiting) or may_one_fail:
            waiting.append(condition)
            may_one_fail = may_one_fail or may_fail
        else:
            ready.append(condition)
    return ready, waiting


def conjuncts(routine: ir.Routine) -> list[ir.Expression]:
    """The conditions that are joined by `and` in the guards of a routine, and in the helpers that they call. Of equal
    conditions the first is enough: a condition that was true stays true until the step is taken."""
    different: list[ir.Expression] = []
    for guard in routine.guards:
        for condition in _conjuncts(guard.condition):
            if not any(is_same(condition, other) for other in different):
                different.append(condition)
    return different


def _conjuncts(condition: ir.Expression) -> Iterator[ir.Expression]:
    match condition:
        case ir.And(parts):
            for part in parts:
                yield from _conjuncts(part)
        case ir.Call(ir.Routine(body=(ir.Return(value),)) as helper, arguments) if isinstance(value, INSIDE) and all(
            isinstance(each, ir.Local) and each.variable.role is not ir.Role.SUBSET for each in arguments
        ):
            passed = [each.variable for each in arguments if isinstance(each, ir.Local)]
            yield from _conjuncts(_inside(value, dict(zip(helper.parameters, passed, strict=True))))
        case _:
            yield condition


def _inside(value: ir.Expression, passed: Mapping[ir.Variable, ir.Variable]) -> ir.Expression:
    """What a helper returns, with the variables that are passed to it in place of its parameters."""

    def change(node: ir.Node) -> ir.Node:
        changes: dict[str, Any] = {
            name: passed[part] for name, part in vars(node).items() if isinstance(part, ir.Variable) and part in passed
        }
        return replace(node, **changes) if changes else node

    return rewrite(value, change)


class Elements:
    """Knows the folds over symmetric elements, which are evaluated so that the order of elements decides nothing.

    A fold stops at the first element that decides it. If an index of a later element may leave its range, the order of
    the elements would decide whether the kernel notices; so such a fold goes on to its end. Then the kernel finds every
    state of which some permutation leaves a range, and perhaps more; if it does not find a state, no permutation leaves
    one. Without such folds, all permutations of a state leave a range, or none. `sources` are the model's files.
    """

    def __init__(self, symmetry: Symmetry | None, sources: Mapping[str, str], ranges: Ranges) -> None:
        self.symmetry = symmetry
        self.sources = sources
        self.ranges = ranges
        self.goes_on = False
        """Whether some fold is evaluated to its end."""

    def must_go_on(self, fold: ir.Fold, limits: Limits) -> bool:
        """Whether a fold is evaluated to its end."""
        is_over_elements = any(map(self._is_over_elements, fold.generators))
        goes_on = is_over_elements and self.ranges.may_fail([*fold.generators, fold.body], limits)
        self.goes_on = self.goes_on or goes_on
        return goes_on

    def _is_over_elements(self, generator: ir.Generator) -> bool:
        if self.symmetry is None:
            return False
        ends = self.ranges.number(generator.range.first), self.ranges.number(generator.range.end)
        is_whole = ends[0] == 0 and ends[1] in self.symmetry.sizes
        return is_whole or place_in(self.sources, generator) in self.symmetry.configured

    def sign(self, comparison: ir.Compare) -> str:
        """The sign with which a comparison is compiled; != if `<` or another order only serves to visit each pair of
        elements once."""
        is_unordered = self.symmetry is not None and place_in(self.sources, comparison) in self.symmetry.unordered
        return (ir.Sign.NOT_EQUAL if is_unordered else comparison.sign).value

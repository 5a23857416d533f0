"""Decides, for the code of kernels, which numbers are constants, which indices need a check, and where to put guards.

`Ranges` computes the values of compiled-in numbers and limits of variables, and decides which indices need a check.
`placed` chooses, for each guard of an action, the outermost loop over arguments that binds all variables of the guard.
`Elements` decides which folds (`all`, `any`) over symmetric elements visit all elements, and how elements are compared.
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
    """Computes the compiled-in numbers of an instance's functions, and decides which indices are surely in range."""

    def __init__(self, instance: Instance) -> None:
        self.instance = instance
        self._may_fail: dict[ir.Routine, bool] = {}

    def number(self, expression: ir.Expression) -> int | None:
        """The value of an expression of constants, bounds and domain sizes only; None for any other expression."""
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
        """Return the limits of variables in nodes of a routine: a variable with limit n is in 0..n-1.

        `limits` has the limits of the routine's parameters. Any other variable gets a limit only if one loop, and
        nothing else, changes it; models do not read the variable outside that loop. If several guards call a helper
        (`conjuncts`), the helper's comprehensions share a variable; the variable's greatest limit counts.
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
        """A limit of the numbers of a range, so that all are in 0..limit-1; None if no such limit is known."""
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
        """For a variable whose value is a subset of a domain, the number of elements of that domain."""
        assert subset.domain is not None and issubclass(subset.domain, Subset)
        return self.instance.size_of(subset.domain.of)


def is_of_loop(routine: ir.Routine, variable: ir.Variable) -> bool:
    """Whether one loop over this variable is the only place that assigns it."""
    return routine.assignments[variable] == 1 and variable not in routine.parameters


INSIDE = ir.And | ir.Or | ir.Compare | ir.Chain | ir.Among
"""The kinds of expressions that are taken apart if a helper returns them: they count as conditions of the guard that
calls the helper."""


def argument_limits(routine: ir.Routine, choices: Sequence[ArgumentRange]) -> Limits:
    """For each parameter of `routine` whose values are elements, not subsets: the number of elements of its domain."""
    pairs = zip(routine.arguments, choices, strict=True)
    return {parameter: choice.elements for parameter, choice in pairs if not choice.is_subset}


def placed(
    ranges: Ranges, conditions: Iterable[ir.Expression], unbound: set[ir.Variable], limits: Limits
) -> tuple[list[ir.Expression], list[ir.Expression]]:
    """Divide conditions into those to evaluate while the variables `unbound` have no value, and those that must wait. A
    condition in which an index may leave its range waits for all conditions before it, and all conditions after it wait
    for it: as in the reference semantics, it is evaluated if and only if the conditions before it are true. Otherwise,
    a condition is evaluated as soon as the loops bind the variables that it reads."""
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
    """List the conditions in a routine's guards and in helpers that they call, split at `and`, without repetitions."""
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
    """The expression that a helper returns, with its parameters replaced by the variables passed to it."""

    def change(node: ir.Node) -> ir.Node:
        changes: dict[str, Any] = {
            name: passed[part] for name, part in vars(node).items() if isinstance(part, ir.Variable) and part in passed
        }
        return replace(node, **changes) if changes else node

    return rewrite(value, change)


class Elements:
    """Decides how folds (`all`, `any`) over symmetric elements are compiled, so that the elements' order has no effect.

    A fold can stop at the first element that decides its result. If an index may leave its range at a later element,
    the order of elements would decide whether the kernel notices the error. Such a fold therefore visits all elements.
    The kernel then reports a state whenever some permutation of the state leaves a range, and may report more states.
    Without such folds, either all permutations of a state leave a range, or none does. `sources` are the model's files.
    """

    def __init__(self, symmetry: Symmetry | None, sources: Mapping[str, str], ranges: Ranges) -> None:
        self.symmetry = symmetry
        self.sources = sources
        self.ranges = ranges
        self.goes_on = False
        """Whether some fold is evaluated to its end."""

    def must_go_on(self, fold: ir.Fold, limits: Limits) -> bool:
        """Whether a fold must visit all elements, even after an element that decides the fold's result."""
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
        """Return the sign with which a comparison of the model is compiled: != if its order is irrelevant, else its own
        sign. The order (`<`) is irrelevant if the model uses it only to visit each pair of elements once."""
        is_unordered = self.symmetry is not None and place_in(self.sources, comparison) in self.symmetry.unordered
        return (ir.Sign.NOT_EQUAL if is_unordered else comparison.sign).value

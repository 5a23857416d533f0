"""Interval arithmetic: the range of every number that a model's functions can compute.

An expression whose value may leave LEAST..MOST is refused with a LanguageError.

The compiled kernels compute with 64 bits, which silently wrap around; CPython and Z3 do not. A model whose numbers stay
within LEAST..MOST has the same meaning in all three. The intervals are coarse: conditions do not narrow them, and the
intervals of different paths are joined. So a model with small numbers may be refused, but no model with too large
numbers is accepted.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from operator import floordiv, mul
from typing import NoReturn, assert_never

from isrcheck.models.language.declarations import Domain
from isrcheck.models.language.ir import nodes as ir
from isrcheck.models.language.ir.nodes import operands
from isrcheck.models.messages import LanguageError

LEAST, MOST = -(1 << 62), (1 << 62) - 1
"""The range to which computed numbers are limited. It is smaller than that of 64-bit arithmetic, so that nothing wraps
around in the kernels."""

MOST_WORK = 200_000
"""The most expressions that are evaluated for a model. A model that needs more is refused, because its loops are too
long."""

Interval = tuple[int, int]
"""An interval: the least and the greatest number, both included."""

Locals = dict[ir.Variable, Interval]

TRUTH: Interval = (0, 1)


class Intervals:
    """Computes an interval for each number that a function can compute. A function is evaluated once for each
    combination of intervals of its arguments. `named` has the interval of every field and every configuration entry by
    name; `size_of` returns the number of elements of a domain."""

    def __init__(self, named: Mapping[str, Interval], size_of: Callable[[type[Domain]], int]) -> None:
        self.named = named
        self.size_of = size_of
        self.work = 0
        self.routine: ir.Routine
        self.returned: Interval | None = None
        self._results: dict[tuple[ir.Routine, tuple[Interval | None, ...]], Interval | None] = {}

    def of_call(self, routine: ir.Routine, arguments: Sequence[Interval | None]) -> Interval | None:
        """Return the interval of a function's result; None stands for an argument or a result that is not a number.
        Raises LanguageError if an intermediate number may leave LEAST..MOST."""
        key = routine, tuple(arguments)
        if key not in self._results:
            outer = getattr(self, "routine", routine), self.returned
            self.routine, self.returned = routine, None
            parameters = zip(routine.parameters, arguments, strict=True)
            self._block(routine.body, {parameter: each for parameter, each in parameters if each is not None})
            self._results[key] = self.returned
            self.routine, self.returned = outer
        return self._results[key]

    def _within(self, node: ir.Node, interval: Interval) -> Interval:
        if interval[0] >= LEAST and interval[1] <= MOST:
            return interval
        far = interval[1] if interval[1] > MOST else interval[0]
        size = str(far) if abs(far) < 1 << 70 else f"{'-' if far < 0 else ''}2**{abs(far).bit_length() - 1}"
        what = f"`{node.span.shown}` can reach {size}, outside -2**62..2**62-1"
        return self._refuse(node, what, "add less to the number, or bound the number with min(...) and max(...)")

    def _refuse(self, node: ir.Node, what: str, hint: str) -> NoReturn:
        raise LanguageError(f"{node.span.place}: in {self.routine.name}: {what}; {hint}")

    # ------------------------------------------------------------------------------------------------------- statements

    def _block(self, statements: Sequence[ir.Statement], locals_: Locals) -> Locals | None:
        """Return the locals' intervals after the statements, given `locals_` before; None if every path returns."""
        after: Locals | None = locals_
        for statement in statements:
            if after is None:
                return None
            match statement:
                case ir.Assign(variable, value):
                    after[variable] = self.value(value, after)
                case ir.Store(cell, value):
                    self.value(value, after)
                    self.value(cell, after)
                case ir.Branch():
                    after = self._branches(statement, after)
                case ir.Loop():
                    after = self._loop(statement, after)
                case ir.Return(value):
                    self.returned = hull(self.returned, self.value(value, after))
                    return None
                case ir.Require(condition):
                    self.value(condition, after)
                case ir.Do(call):
                    self._helper(call, after)
                case ir.CollectiveStatement():
                    raise ir.NotInTheCoreError(statement.span.place)
                case _:
                    assert_never(statement)
        return after

    def _branches(self, branch: ir.Branch, locals_: Locals) -> Locals | None:
        ends = []
        for case in branch.cases:
            self.value(case.condition, locals_)
            ends.append(self._block(case.body, dict(locals_)))
        ends.append(self._block(branch.otherwise, dict(locals_)))
        return None if ends.count(None) == len(ends) else _met(*ends)

    def _loop(self, loop: ir.Loop, locals_: Locals) -> Locals:
        # Iterations are followed until one changes no interval.
        _, rounds, variable = self._range(loop.range, locals_)
        for _ in range(rounds):
            before, locals_ = locals_, _met(locals_, self._block(loop.body, locals_ | {loop.variable: variable}))
            if locals_ == before:
                break
        return locals_

    def _range(self, numbers: ir.Range, locals_: Locals) -> tuple[int, int, Interval]:
        """Return the least and the greatest number of iterations of a loop, and the interval of the loop's variable."""
        first, end = self.value(numbers.first, locals_), self.value(numbers.end, locals_)
        least, most = max(0, end[0] - first[1]), max(0, end[1] - first[0])
        return least, most, (first[0], max(first[0], end[1] - 1))

    # ------------------------------------------------------------------------------------------------------ expressions

    def value(self, expression: ir.Expression, locals_: Locals) -> Interval:
        """Return the interval of an expression, given the intervals of the locals. Raises LanguageError if a number may
        be too large."""
        self.work += 1
        if self.work > MOST_WORK:
            self._refuse(
                expression,
                f"computing the ranges of the numbers in this function takes more than {MOST_WORK} evaluations",
                "shorten the loops in which a local grows, or use smaller bounds",
            )
        match expression:
            case ir.Constant(value):
                return value, value
            case ir.Local(variable):
                return locals_[variable]
            case ir.Cell(_, field):
                self._operands(expression, locals_)
                return self.named[field]
            case ir.Setting(entry):
                return self._within(expression, self.named[entry])
            case ir.Size(domain):
                size = self.size_of(domain)
                return size, size
            case ir.And() | ir.Or():  # they return one of their operands, as in Python
                return hull(*self._operands(expression, locals_))
            case ir.Compare() | ir.Chain() | ir.Among() | ir.Not() | ir.Element() | ir.IsTaken():
                self._operands(expression, locals_)
                return TRUTH
            case ir.Sum():
                return self._sum(expression, locals_)
            case ir.Negative(operand):
                low, high = self.value(operand, locals_)
                return self._within(expression, (-high, -low))
            case ir.Arithmetic():
                return self._arithmetic(expression, locals_)
            case ir.Choose(options, otherwise):
                values = []
                for option in options:
                    self.value(option.condition, locals_)
                    values.append(self.value(option.value, locals_))
                return hull(*values, self.value(otherwise, locals_))
            case ir.Extremum(extreme):
                values = self._operands(expression, locals_)
                pick = min if extreme is ir.Extreme.LEAST else max
                return pick(low for low, _ in values), pick(high for _, high in values)
            case ir.Fold():
                return self._fold(expression, locals_)
            case ir.Call():
                # Only a helper that is never called, in a loop without iterations, has no value.
                return self._helper(expression, locals_) or (0, 0)
            case ir.CollectiveExpression():
                raise ir.NotInTheCoreError(expression.span.place)
        assert_never(expression)

    def _operands(self, expression: ir.Expression, locals_: Locals) -> list[Interval]:
        return [self.value(operand, locals_) for operand in operands(expression)]

    def _sum(self, expression: ir.Sum, locals_: Locals) -> Interval:
        total = (0, 0)
        for term in expression.terms:
            low, high = self.value(term.value, locals_)
            low, high = (-high, -low) if term.is_subtracted else (low, high)
            total = self._within(expression, (total[0] + low, total[1] + high))
        return total

    def _arithmetic(self, expression: ir.Arithmetic, locals_: Locals) -> Interval:
        left, right = self.value(expression.left, locals_), self.value(expression.right, locals_)
        if expression.operation is ir.Operation.TIMES:
            return self._within(expression, _of_ends(left, right, mul))
        if right[0] < 1:
            self._refuse(
                expression,
                f"`{expression.span.shown}` divides by a number that can be {min(right[1], 0)}",
                "divide by a number that its declaration keeps at 1 or above: bound(..., least=1), or max(1, ...)",
            )
        if expression.operation is ir.Operation.MODULO:
            return left if left[0] >= 0 and left[1] < right[0] else (0, right[1] - 1)
        return _of_ends(left, right, floordiv)

    def _helper(self, call: ir.Call, locals_: Locals) -> Interval | None:
        arguments = [
            self.value(argument, locals_) if parameter.role is ir.Role.NUMBER else None
            for parameter, argument in zip(call.routine.parameters, call.arguments, strict=True)
        ]
        return self.of_call(call.routine, arguments)

    def _fold(self, fold: ir.Fold, locals_: Locals) -> Interval:
        inner = dict(locals_)
        rounds, is_filtered = 1, False
        default = None if fold.default is None else self.value(fold.default, locals_)
        is_extremum = fold.gathering in (ir.Gathering.LEAST, ir.Gathering.GREATEST)
        for generator in fold.generators:
            least, most, inner[generator.variable] = self._range(generator.range, inner)
            is_filtered |= bool(generator.conditions) or least < most
            if is_extremum and not least and default is None:
                what = f"`{fold.span.shown}` has no value if its range is empty"
                self._refuse(
                    fold, what, f"give the value for that case: {fold.gathering.value}((... for ...), default=0)"
                )
            rounds *= most
            if not rounds:  # the element is never evaluated
                return default or ((0, 0) if fold.gathering is ir.Gathering.SUM else TRUTH)
            for condition in generator.conditions:
                self.value(condition, inner)
        low, high = self.value(fold.body, inner)
        if is_extremum:
            return hull(default, (low, high))
        if fold.gathering is not ir.Gathering.SUM:
            return TRUTH
        total = self._within(fold, (rounds * low, rounds * high))
        return hull(total, (0, 0)) if is_filtered else total


def _of_ends(left: Interval, right: Interval, operation: Callable[[int, int], int]) -> Interval:
    """Return the interval of the results of an operation on two numbers, such as a product. The operation must be
    monotonic in each number while the other number is fixed: then the extremes are at the intervals' ends."""
    values = [operation(a, b) for a in left for b in right]
    return min(values), max(values)


def hull(*several: Interval | None) -> Interval:
    """Return the smallest interval that contains the given intervals; None (no interval) is ignored."""
    intervals = [interval for interval in several if interval is not None]
    return min(low for low, _ in intervals), max(high for _, high in intervals)


def _met(*ends: Locals | None) -> Locals:
    """Return the intervals of the locals where paths meet: for each local, the hull of its intervals in `ends`. `ends`
    has the locals' intervals at the end of each path, or None for a path that returns. A path that does not assign a
    local is ignored for this local, because the function does not read the local after this path."""
    met: Locals = {}
    for end in ends:
        for variable, interval in (end or {}).items():
            if met.setdefault(variable, interval) != interval:
                met[variable] = hull(met[variable], interval)
    return met

"""Interval arithmetic: the range of every number that a model's functions can compute.

In:  functions of the modelling language, and the interval of every field, configuration entry and parameter.
Out: nothing, or a LanguageError about the first expression whose value may leave LEAST..MOST.

The compiled kernels compute with 64 bits, which silently wrap around; CPython and Z3 do not. A model whose numbers stay
within LEAST..MOST has the same meaning in all of them. The intervals are coarse: conditions do not narrow them, and the
intervals of different paths are joined. So a model with small numbers may be refused, but a model with numbers that are
too large is never accepted.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
from operator import floordiv, mul
from typing import Any, NoReturn

from isrcheck.models.language.declare import Domain
from isrcheck.models.language.syntax import EXTREMA, SIZE, Function
from isrcheck.models.language.text.chains import alternatives, branches, sides, summands
from isrcheck.models.language.text.spelling import shown
from isrcheck.models.messages.errors import LanguageError

LEAST, MOST = -(1 << 62), (1 << 62) - 1
"""The range of computed numbers: less than that of the kernels' 64-bit arithmetic, so that nothing wraps around."""

MOST_WORK = 200_000
"""The number of evaluated expressions after which a model is refused because its loops are too long."""

Interval = tuple[int, int]
"""The least and the greatest value, both included."""

Locals = dict[str, Interval]

TRUTH: Interval = (0, 1)


class Intervals:
    """The intervals of the numbers that functions compute; each function is evaluated once per combination of
    arguments.

    `named` holds the interval of every field and every configuration entry by its name; `size_of` gives the number of
    elements of a domain.
    """

    def __init__(self, named: Mapping[str, Interval], size_of: Callable[[type[Domain]], int]) -> None:
        self.named = named
        self.size_of = size_of
        self.work = 0
        self.function: Function
        self.returned: Interval | None = None
        self._known: dict[tuple[Function, tuple[Interval | None, ...]], Interval | None] = {}
        self._values: dict[type, Callable[[Any, Locals], Interval]] = {
            ast.Constant: self._constant,
            ast.Name: self._name,
            ast.Attribute: self._attribute,
            ast.Subscript: self._subscript,
            ast.BinOp: self._arithmetic,
            ast.UnaryOp: self._unary,
            ast.BoolOp: self._operands,
            ast.Compare: self._comparison,
            ast.IfExp: self._alternatives,
            ast.Call: self._call,
        }

    def of_call(self, function: Function, arguments: Sequence[Interval | None]) -> Interval | None:
        """Return the interval of a function's result; arguments and results that are not numbers are None.

        Raises LanguageError if an intermediate number may leave LEAST..MOST.
        """
        key = function, tuple(arguments)
        if key not in self._known:
            outer = getattr(self, "function", function), self.returned
            self.function, self.returned = function, None
            names = [parameter.name for parameter in function.parameters]
            numbers = {name: one for name, one in zip(names, arguments, strict=True) if one is not None}
            self._block(function.body, numbers)
            self._known[key] = self.returned
            self.function, self.returned = outer
        return self._known[key]

    def _within(self, node: ast.AST, found: Interval) -> Interval:
        if found[0] >= LEAST and found[1] <= MOST:
            return found
        far = found[1] if found[1] > MOST else found[0]
        size = str(far) if abs(far) < 1 << 70 else f"{'-' if far < 0 else ''}2**{abs(far).bit_length() - 1}"
        return self._refuse(
            node,
            f"`{shown(node)}` can reach {size}, outside -2**62..2**62-1",
            "add less to it, or bound it with min(...) and max(...)",
        )

    def _refuse(self, node: ast.AST, what: str, hint: str) -> NoReturn:
        line = getattr(node, "lineno", self.function.line)
        raise LanguageError(f"{self.function.path}:{line}: in {self.function.name}: {what}; {hint}")

    # ------------------------------------------------------------------------------------------------------- statements

    def _block(self, statements: Sequence[ast.stmt], known: Locals) -> Locals | None:
        """The intervals of the locals after these statements, given those before; None if every path returns."""
        after: Locals | None = known
        for statement in statements:
            if after is None:
                return None
            match statement:
                case ast.Assign(targets=[ast.Name(id=name)], value=value):
                    after[name] = self._value(value, after)
                case ast.Assign(targets=[target], value=value):
                    self._value(value, after)
                    self._value(target, after)
                case ast.AugAssign(target=target, op=operator, value=value):
                    found = self._within(
                        statement, added(operator, self._value(target, after), self._value(value, after))
                    )
                    if isinstance(target, ast.Name):
                        after[target.id] = found
                case ast.If():
                    after = self._branches(statement, after)
                case ast.For():
                    after = self._loop(statement, after)
                case ast.Return(value=ast.expr() as value):
                    self.returned = joined(self.returned, self._value(value, after))
                    return None
                case ast.Expr(value=ast.Call() as call):
                    self._statement(call, after)
        return after

    def _statement(self, call: ast.Call, known: Locals) -> None:
        """Evaluate a guard, or the call of a helper that writes."""
        if self.function.builtin(call):
            self._value(call.args[0], known)
        else:
            self._helper(call, known)

    def _branches(self, statement: ast.If, known: Locals) -> Locals | None:
        tests, otherwise = branches(statement)
        ends = []
        for one in tests:
            self._value(one.test, known)
            ends.append(self._block(one.body, dict(known)))
        ends.append(self._block(otherwise, dict(known)))
        return _met([end for end in ends if end is not None])

    def _loop(self, statement: ast.For, known: Locals) -> Locals | None:
        """The intervals of the locals after a loop, whose iterations are followed until one changes no interval."""
        assert isinstance(statement.target, ast.Name)
        _, rounds, variable = self._range(statement.iter, known)
        for _ in range(rounds):
            begun = known | {statement.target.id: variable}
            after = self._block(statement.body, begun)
            met = known if after is None else _met([known, after])
            if met == known:
                break
            assert met is not None
            known = met
        return known

    def _range(self, iterated: ast.expr, known: Locals) -> tuple[int, int, Interval]:
        """The least and the greatest number of iterations of a loop, and the interval of the loop's variable."""
        assert isinstance(iterated, ast.Call)
        ends = [self._value(argument, known) for argument in iterated.args]
        first, last = ends if len(ends) == 2 else ((0, 0), ends[0])
        least, most = max(0, last[0] - first[1]), max(0, last[1] - first[0])
        return least, most, (first[0], max(first[0], last[1] - 1))

    # ------------------------------------------------------------------------------------------------------ expressions

    def _value(self, expression: ast.expr, known: Locals) -> Interval:
        self.work += 1
        if self.work > MOST_WORK:
            self._refuse(
                expression,
                f"computing the ranges of its numbers takes more than {MOST_WORK} evaluations",
                "shorten the loops in which a local grows, or use smaller bounds",
            )
        return self._values[type(expression)](expression, known)

    def _constant(self, expression: ast.Constant, _known: Locals) -> Interval:
        number = int(expression.value)  # type: ignore[arg-type] # the language has no other constants
        return number, number

    def _name(self, expression: ast.Name, known: Locals) -> Interval:
        if expression.id in known:
            return known[expression.id]
        number = int(self.function.constants[expression.id])
        return number, number

    def _attribute(self, expression: ast.Attribute, _known: Locals) -> Interval:
        member = self.function.member(expression)
        if member is not None:
            return int(member), int(member)
        return self._within(expression, self.named[expression.attr])

    def _subscript(self, expression: ast.Subscript, known: Locals) -> Interval:
        node: ast.expr = expression
        while isinstance(node, ast.Subscript):
            self._value(node.slice, known)
            node = node.value
        # What is indexed is a field or a subset.
        return self.named[node.attr] if isinstance(node, ast.Attribute) else TRUTH

    def _arithmetic(self, expression: ast.BinOp, known: Locals) -> Interval:
        if isinstance(expression.op, ast.Add | ast.Sub):
            return self._sum(expression, known)
        left, right = self._value(expression.left, known), self._value(expression.right, known)
        if isinstance(expression.op, ast.Mult):
            return self._within(expression, _of_ends(left, right, mul))
        if right[0] < 1:
            self._refuse(
                expression,
                f"`{shown(expression)}` divides by a number that can be {min(right[1], 0)}",
                "divide by a number that its declaration keeps at 1 or above: bound(..., least=1), or max(1, ...)",
            )
        if isinstance(expression.op, ast.Mod):
            return left if left[0] >= 0 and left[1] < right[0] else (0, right[1] - 1)
        return _of_ends(left, right, floordiv)

    def _sum(self, expression: ast.BinOp, known: Locals) -> Interval:
        first, rest = summands(expression)
        total = self._value(first, known)
        for operator, term in rest:
            total = added(operator, total, self._value(term, known))
            if not (total[0] >= LEAST and total[1] <= MOST):
                self._within(expression, total)
        return total

    def _unary(self, expression: ast.UnaryOp, known: Locals) -> Interval:
        low, high = self._value(expression.operand, known)
        return TRUTH if isinstance(expression.op, ast.Not) else self._within(expression, (-high, -low))

    def _operands(self, expression: ast.BoolOp, known: Locals) -> Interval:
        """The interval of `and` or `or`, which return one of their operands, as in Python."""
        return hull([self._value(value, known) for value in expression.values])

    def _comparison(self, expression: ast.Compare, known: Locals) -> Interval:
        for side in sides(expression):
            # `taken` and the actions that it is compared with are not numbers.
            if not (isinstance(side, ast.Name) and self._is_no_number(side.id, known)):
                self._value(side, known)
        return TRUTH

    def _is_no_number(self, name: str, known: Locals) -> bool:
        return name not in known and name not in self.function.constants

    def _alternatives(self, expression: ast.IfExp, known: Locals) -> Interval:
        pairs, last = alternatives(expression)
        values = []
        for test, value in pairs:
            self._value(test, known)
            values.append(self._value(value, known))
        return hull([*values, self._value(last, known)])

    def _call(self, call: ast.Call, known: Locals) -> Interval:
        name = self.function.builtin(call)
        if not name:
            found = self._helper(call, known)
            # Only a helper that is never called, in a loop without iterations, has no value.
            return (0, 0) if found is None else found
        if name == SIZE:
            size = self.size_of(self.function.domain(call))
            return size, size
        if isinstance(call.args[0], ast.GeneratorExp):
            return self._fold(call, known)
        values = [self._value(argument, known) for argument in call.args]
        pick = min if name == "min" else max
        return pick(low for low, _ in values), pick(high for _, high in values)

    def _helper(self, call: ast.Call, known: Locals) -> Interval | None:
        callee = self.function.callee(call)
        assert callee is not None
        arguments = []
        for parameter, argument in zip(callee.parameters, call.args, strict=True):
            is_number = not (isinstance(argument, ast.Name) and self._is_no_number(argument.id, known))
            arguments.append(self._value(argument, known) if is_number and not parameter.is_state else None)
        return self.of_call(callee, arguments)

    def _fold(self, call: ast.Call, known: Locals) -> Interval:
        generator = call.args[0]
        assert isinstance(generator, ast.GeneratorExp)
        inner = dict(known)
        rounds, is_filtered = 1, False
        defaults = [self._value(keyword.value, known) for keyword in call.keywords]
        name = self.function.builtin(call)
        for part in generator.generators:
            assert isinstance(part.target, ast.Name)
            least, most, inner[part.target.id] = self._range(part.iter, inner)
            is_filtered |= bool(part.ifs) or least < most
            if name in EXTREMA and not least and not defaults:
                what = f"`{shown(call)}` has no element if its range is empty, and then no value"
                self._refuse(call, what, f"say what it is then: {name}((... for ...), default=0)")
            rounds *= most
            if not rounds:  # the element is never evaluated
                return defaults[0] if defaults else (0, 0) if name == "sum" else TRUTH
            for condition in part.ifs:
                self._value(condition, inner)
        low, high = self._value(generator.elt, inner)
        if name in EXTREMA:
            return hull([(low, high), *defaults])
        if name != "sum":
            return TRUTH
        total = self._within(call, (rounds * low, rounds * high))
        return hull([total, (0, 0)]) if is_filtered else total


def added(operator: ast.operator, one: Interval, other: Interval) -> Interval:
    """The interval of the sum of two numbers, or of their difference, as `operator` says."""
    if isinstance(operator, ast.Sub):
        return one[0] - other[1], one[1] - other[0]
    return one[0] + other[0], one[1] + other[1]


def _of_ends(one: Interval, other: Interval, operation: Callable[[int, int], int]) -> Interval:
    """The interval of an operation that is monotonic in each number, if the other one does not change its sign."""
    found = [operation(a, b) for a in one for b in other]
    return min(found), max(found)


def hull(found: Sequence[Interval]) -> Interval:
    """The smallest interval that contains all the given intervals."""
    return min(low for low, _ in found), max(high for _, high in found)


def joined(one: Interval | None, other: Interval) -> Interval:
    """The smallest interval that contains both intervals; `other` if `one` is None."""
    return other if one is None else hull([one, other])


def _met(ends: Sequence[Locals]) -> Locals | None:
    """The intervals of locals where paths meet that end with `ends`. Locals that one leaves unassigned stay unread."""
    if not ends:
        return None
    met = dict(ends[0])
    for end in ends[1:]:
        for name, found in end.items():
            if met.get(name) != found:
                met[name] = joined(met.get(name), found)
    return met

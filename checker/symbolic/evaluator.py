"""Symbolic evaluation of the modelling language: the result of a function in all states at once.

In:  an `Instance`, a state whose cells are variables or formulas, and a step or a property.
Out: for a step, whether it is enabled, whether it leaves a declared range, and the state after it; for a property, its
     truth.

There is one method per syntax node, for the closed list of models/language/syntax.py, with the meaning of
models/run.py. The parameters of a step are plain values. If a branch condition is unknown, both sides are evaluated and
their states are merged; if it is known, or a guard is known to be false, the other side is skipped. Every index and
every written value is checked against its range.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

from isrcheck.checker.symbolic.and_inverter_graph import FALSE, TRUE
from isrcheck.checker.symbolic.symbolic_state import Frame, SymbolicExecution, SymbolicState, Value, as_truth
from isrcheck.models.language.core.views import Members
from isrcheck.models.language.declare import Domain
from isrcheck.models.language.model import FieldLayout, Property, Step
from isrcheck.models.language.syntax import EXTREMA, SIZE, TAKEN, Function
from isrcheck.models.language.text.chains import alternatives, branches, summands
from isrcheck.models.messages.errors import UsageError

SIGN = {ast.Eq: "==", ast.NotEq: "!=", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">="}


class UnsupportedError(UsageError):
    """The symbolic engine does not support a construct; the message says which construct, and where it is."""


class Evaluator(SymbolicExecution):
    """Evaluates functions of one instance. `error` is the condition under which an index or value leaves its range."""

    # ------------------------------------------------------------------------------------------- steps and properties

    def take(self, before: Sequence[Value], step: Step) -> tuple[int, int, list[Value]]:
        """Whether a step is enabled, whether it leaves a declared range, and the cells after it."""
        choices = self.instance.argument_ranges[step.action_index]
        arguments = [choice.argument(ordinal) for choice, ordinal in zip(choices, step.ordinals, strict=True)]
        return self.act(before, self.instance.function(step.action_index), arguments)

    def act(
        self, before: Sequence[Value], function: Function | None, arguments: Sequence[Value]
    ) -> tuple[int, int, list[Value]]:
        """Evaluate one alternative of an action, with arguments that may be symbolic; the result is that of `take`."""
        state = SymbolicState(list(before))
        self.alive = TRUE if function is not None else FALSE
        self.error = FALSE
        if function is not None:
            self._call(function, [state, *arguments], TRUE)
        return self.alive, self.error, state.cells

    def ask(
        self, function: Function, states: Sequence[Sequence[Value]], taken: Mapping[int, int] | None = None
    ) -> tuple[int, int]:
        """The truth of a property of one state or two, and whether its evaluation leaves a declared range.

        `taken` gives for each action, by position, whether it was taken.
        """
        self.alive = TRUE
        self.error = FALSE
        arguments: list[Any] = [SymbolicState(list(cells)) for cells in states]
        if len(function.parameters) > len(arguments):
            arguments.append(taken or {})
        return self.truth(self._call(function, arguments, TRUE)), self.error

    def property(
        self, prop: Property, states: Sequence[Sequence[Value]], taken: Mapping[int, int] | None = None
    ) -> tuple[int, int, int]:
        """Whether a property holds, whether its failure is permitted, whether evaluating it leaves a declared range."""
        holds, error = self.ask(prop.function, states, taken)
        if prop.permitted is None:
            return holds, FALSE, error
        permitted, second = self.ask(prop.permitted, states[-1:])
        return holds, permitted, self.circuit.either(error, self.circuit.both(-holds, second))

    # ---------------------------------------------------------------------------------------------------------- calls

    def _call(self, function: Function, arguments: Sequence[Any], entry: int) -> Value:
        outer = self.frame
        frame = self.frame = Frame(function, entry)
        for parameter, argument in zip(function.parameters, arguments, strict=True):
            if parameter.is_state:
                frame.states[parameter.name] = argument
            elif parameter.name == TAKEN:
                frame.taken = argument
            else:
                frame.locals[parameter.name] = argument
        self.block(function.body)
        self.frame = outer
        # If no return is reachable there is no value, and the result is not used.
        return 0 if frame.result is None else frame.result

    # ----------------------------------------------------------------------------------------------------- statements

    def block(self, statements: Iterable[ast.stmt]) -> None:
        """Execute statements in order, as far as they can be reached."""
        frame = self.frame
        for statement in statements:
            self.circuit.budget.step()
            branch = frame.branch
            if frame.returned != FALSE:
                frame.branch = self.circuit.both(branch, -frame.returned)
            if self._here() != FALSE:
                self._method("statement", statement)(statement)
            frame.branch = branch

    def _method(self, kind: str, node: ast.AST) -> Callable[[Any], Any]:
        method = getattr(self, f"_{kind}_{type(node).__name__}", None)
        if method is None:
            function = self.frame.function
            line = getattr(node, "lineno", function.line)
            raise UnsupportedError(
                f"{function.path}:{line}: in {function.name}: the symbolic engine does not support"
                f" `{type(node).__name__}`; use --engine local"
            )
        found: Callable[[Any], Any] = method
        return found

    def _statement_Pass(self, statement: ast.Pass) -> None:
        pass

    def _statement_Assign(self, statement: ast.Assign) -> None:
        value = self.value(statement.value)
        self._assign(statement.targets[0], value)

    def _statement_AugAssign(self, statement: ast.AugAssign) -> None:
        # As in Python: the target is read before the value, and its indices once.
        target = statement.target
        if isinstance(target, ast.Name):
            self._assign(target, self._sum(statement.op, self.frame.locals[target.id], self.value(statement.value)))
            return
        state, place, indices = self._cell(target)
        old = self.load(state, place, indices)
        self.store(state, place, indices, self._sum(statement.op, old, self.value(statement.value)))

    def _assign(self, target: ast.expr, value: Value) -> None:
        if isinstance(target, ast.Name):
            self.frame.locals[target.id] = value
        else:
            self.store(*self._cell(target), value)

    def _statement_If(self, statement: ast.If) -> None:
        """Execute all branches of an `if` statement, and merge their results, the last two first."""
        frame = self.frame
        branch, states = frame.branch, list(frame.states.values())
        tests, otherwise = branches(statement)
        sides: list[tuple[int, list[list[Value]], dict[str, Value]]] = []
        for one in tests:
            if sides and not self._is_reached():
                break
            condition = self.truth(self.value(one.test))
            if condition == TRUE:
                self.block(one.body)
                break
            if condition == FALSE:
                continue
            before, known, cells = frame.branch, frame.locals, [state.cells for state in states]
            frame.branch = self.circuit.both(before, condition)
            frame.locals = dict(known)
            for state, own in zip(states, cells, strict=True):
                state.cells = list(own)
            self.block(one.body)
            sides.append((condition, [state.cells for state in states], frame.locals))
            frame.branch = self.circuit.both(before, -condition)
            frame.locals = dict(known)
            for state, own in zip(states, cells, strict=True):
                state.cells = own
        else:
            self.block(otherwise)
        frame.branch = branch
        for side in reversed(sides):
            self._merge(states, *side)

    def _is_reached(self) -> bool:
        """Whether an `elif` is reached, given that an earlier branch may have returned."""
        frame = self.frame
        if frame.returned != FALSE:
            frame.branch = self.circuit.both(frame.branch, -frame.returned)
        return self._here() != FALSE

    def _merge(
        self,
        states: Sequence[SymbolicState],
        condition: int,
        then_cells: Sequence[list[Value]],
        then_locals: dict[str, Value],
    ) -> None:
        """Use these cells and locals where the condition holds; elsewhere keep the current ones."""
        frame = self.frame
        for state, then in zip(states, then_cells, strict=True):
            state.cells = [
                one if one is other else self.choose(condition, one, other)
                for one, other in zip(then, state.cells, strict=True)
            ]
        # A local of only one side is read afterwards only if the other side has returned.
        merged = then_locals | frame.locals
        for name in then_locals.keys() & frame.locals.keys():
            if then_locals[name] is not frame.locals[name]:
                merged[name] = self.choose(condition, then_locals[name], frame.locals[name])
        frame.locals = merged

    def _statement_For(self, statement: ast.For) -> None:
        """Execute a loop; an iteration that is not certain is executed like a branch."""
        assert isinstance(statement.target, ast.Name) and isinstance(statement.iter, ast.Call)
        frame, states = self.frame, list(self.frame.states.values())
        for element, inside in self.range(statement.iter):
            if inside == TRUE:
                frame.locals[statement.target.id] = element
                self.block(statement.body)
                continue
            branch, known, cells = frame.branch, frame.locals, [state.cells for state in states]
            frame.branch = self.circuit.both(branch, inside)
            frame.locals = {**known, statement.target.id: element}
            for state, own in zip(states, cells, strict=True):
                state.cells = list(own)
            self.block(statement.body)
            after, frame.locals, frame.branch = frame.locals, known, branch
            changed = [state.cells for state in states]
            for state, own in zip(states, cells, strict=True):
                state.cells = own
            self._merge(states, inside, changed, after)

    def _statement_Return(self, statement: ast.Return) -> None:
        assert statement.value is not None
        self.give(self.value(statement.value))

    def give(self, value: Value) -> None:
        """Return a value from the current function, under the current path condition."""
        frame = self.frame
        frame.result = value if frame.returned == FALSE else self.choose(frame.returned, frame.result, value)
        frame.returned = self.circuit.either(frame.returned, frame.branch)

    def _statement_Expr(self, statement: ast.Expr) -> None:
        call = statement.value
        assert isinstance(call, ast.Call)
        if not self.frame.function.builtin(call):
            self.value(call)
            return
        condition = self.truth(self.value(call.args[0]))
        frame = self.frame
        self.alive = self.circuit.both(self.alive, self.circuit.either(-frame.branch, condition))

    # ---------------------------------------------------------------------------------------------------- expressions

    def value(self, expression: ast.expr) -> Value:
        """The value of an expression at the current point."""
        return self._method("value", expression)(expression)

    def _value_Constant(self, expression: ast.Constant) -> Value:
        return expression.value

    def _value_Name(self, expression: ast.Name) -> Value:
        frame = self.frame
        if expression.id in frame.locals:
            return frame.locals[expression.id]
        return frame.function.constants[expression.id]

    def _value_Attribute(self, expression: ast.Attribute) -> Value:
        member = self.frame.function.member(expression)
        if member is not None:
            return member
        if expression.attr in self.instance.model.entries:
            return self.entry(expression.attr)
        return self.load(*self._cell(expression))

    def _value_Subscript(self, expression: ast.Subscript) -> Value:
        if isinstance(expression.value, ast.Name):
            found, both = self.frame.locals[expression.value.id], self.circuit.both
            members = found.row if isinstance(found, Members) else found
            elements = self.elements(self.value(expression.slice), len(members))
            return as_truth(self.circuit.any(both(literal, self.truth(members[one])) for one, literal in elements))
        return self.load(*self._cell(expression))

    def _value_BinOp(self, expression: ast.BinOp) -> Value:
        if not isinstance(expression.op, ast.Add | ast.Sub):
            left, right = self.number(self.value(expression.left)), self.number(self.value(expression.right))
            if isinstance(expression.op, ast.Mult):
                return self.arithmetic.multiply(left, right)
            divide = self.arithmetic.quotient if isinstance(expression.op, ast.FloorDiv) else self.arithmetic.remainder
            return divide(left, right)
        first, rest = summands(expression)
        total = self.value(first)
        for operator, term in rest:
            total = self._sum(operator, total, self.value(term))
        return total

    def _sum(self, sign: ast.operator, left: Value, right: Value) -> Value:
        right = self.number(right)
        if isinstance(sign, ast.Sub):
            right = self.arithmetic.negate(right)
        return self.arithmetic.add(self.number(left), right)

    def _value_UnaryOp(self, expression: ast.UnaryOp) -> Value:
        value = self.value(expression.operand)
        if isinstance(expression.op, ast.Not):
            return as_truth(-self.truth(value))
        return self.arithmetic.negate(self.number(value))

    def _value_BoolOp(self, expression: ast.BoolOp) -> Value:
        frame, is_and = self.frame, isinstance(expression.op, ast.And)
        branch = frame.branch
        asked: list[tuple[int, Value]] = []
        *firsts, last = expression.values
        for operand in firsts:
            found = self.value(operand)
            condition = self.truth(found) if is_and else -self.truth(found)
            if condition == FALSE:
                break
            asked.append((condition, found))
            frame.branch = self.circuit.both(frame.branch, condition)
        else:
            found = self.value(last)
        frame.branch = branch
        for condition, value in reversed(asked):
            found = self.choose(condition, found, value)
        return found

    def _value_Compare(self, expression: ast.Compare) -> Value:
        if isinstance(expression.left, ast.Name) and expression.left.id == TAKEN:
            return self._taken(expression)
        if isinstance(expression.comparators[0], ast.Tuple):
            return self._membership(expression, expression.comparators[0])
        frame = self.frame
        branch, left = frame.branch, self.value(expression.left)
        asked = []
        for sign, side in zip(expression.ops, expression.comparators, strict=True):
            right = self.value(side)
            found = self.compare(SIGN[type(sign)], left, right)
            asked.append(found)
            if found == FALSE:
                break
            frame.branch, left = self.circuit.both(frame.branch, found), right
        frame.branch = branch
        holds = asked.pop()
        for found in reversed(asked):
            holds = self.circuit.both(found, holds)
        return as_truth(holds)

    def _membership(self, expression: ast.Compare, values: ast.Tuple) -> Value:
        one = self.value(expression.left)
        found = self.circuit.any([self.compare("==", one, self.value(value)) for value in values.elts])
        return as_truth(found if isinstance(expression.ops[0], ast.In) else -found)

    def _taken(self, expression: ast.Compare) -> Value:
        assert isinstance(expression.comparators[0], ast.Name)
        name = self.frame.function.actions[expression.comparators[0].id]
        slot = [one.name for one in self.instance.model.actions].index(name)
        literal = self.frame.taken.get(slot, FALSE)
        return as_truth(literal if isinstance(expression.ops[0], ast.Eq) else -literal)

    def _value_IfExp(self, expression: ast.IfExp) -> Value:
        frame = self.frame
        branch = frame.branch
        pairs, last = alternatives(expression)
        sides: list[tuple[int, Value]] = []
        for test, value in pairs:
            condition = self.truth(self.value(test))
            if condition == TRUE:
                found = self.value(value)
                break
            if condition != FALSE:
                sides.append((condition, self._under(condition, partial(self.value, value))))
                frame.branch = self.circuit.both(frame.branch, -condition)
        else:
            found = self.value(last)
        frame.branch = branch
        for condition, value_there in reversed(sides):
            found = self.choose(condition, value_there, found)
        return found

    def _value_Call(self, call: ast.Call) -> Value:
        frame = self.frame
        callee = frame.function.callee(call)
        if callee is None:
            if frame.function.builtin(call) == SIZE:
                return self.size_of(frame.function.domain(call))
            return self.fold(call) if isinstance(call.args[0], ast.GeneratorExp) else self._least_or_most(call)

        arguments: list[Any] = []
        for parameter, argument in zip(callee.parameters, call.args, strict=True):
            if parameter.is_state:
                assert isinstance(argument, ast.Name)
                arguments.append(frame.states[argument.id])
            elif parameter.name == TAKEN:
                arguments.append(frame.taken)
            elif parameter.is_subset:
                assert isinstance(argument, ast.Name)
                arguments.append(frame.locals[argument.id])
            else:
                arguments.append(self.value(argument))
        return self._call(callee, arguments, self.circuit.both(frame.entry, frame.branch))

    def _least_or_most(self, call: ast.Call) -> Value:
        extremum = self.frame.function.builtin(call)
        assert extremum in EXTREMA
        sign = "<=" if extremum == "min" else ">="
        best = self.value(call.args[0])
        for argument in call.args[1:]:
            other = self.value(argument)
            best = self.choose(self.compare(sign, best, other), best, other)
        return best

    # ---------------------------------------------------------------------------------------- folds, ranges and cells

    def fold(self, call: ast.Call) -> Value:
        """Evaluate a call with a generator; all and any evaluate no elements after the deciding one."""
        generator = call.args[0]
        assert isinstance(generator, ast.GeneratorExp)
        name, frame = self.frame.function.builtin(call), self.frame
        known, branch = frame.locals, frame.branch
        total: Value = self.value(call.keywords[0].value) if call.keywords else 0
        sign = {"min": "<", "max": ">"}.get(name)
        frame.locals = dict(known)
        undecided, is_empty = TRUE, TRUE

        def elements(part: int, condition: int) -> None:
            """Go through the parts of the generator, under the condition that its filters hold so far."""
            nonlocal total, undecided, is_empty
            self.circuit.budget.step()
            if part < len(generator.generators):
                one = generator.generators[part]
                assert isinstance(one.target, ast.Name) and isinstance(one.iter, ast.Call)
                frame.branch = self.circuit.all([branch, undecided, condition])
                for element, inside in self.range(one.iter):
                    frame.locals[one.target.id] = element
                    there = self.circuit.both(condition, inside)
                    self._filter(one.ifs, there, branch, undecided, lambda holds: elements(part + 1, holds))
                return
            frame.branch = self.circuit.all([branch, undecided, condition])
            if frame.branch == FALSE:
                return
            value = self.value(generator.elt)
            if name == "sum":
                total = self.arithmetic.add(total, self.choose(condition, self.number(value), 0))
            elif sign is not None:
                is_better = self.circuit.either(is_empty, self.compare(sign, value, total))
                total = self.choose(self.circuit.both(condition, is_better), self.number(value), total)
                is_empty = self.circuit.both(is_empty, -condition)
            elif name == "all":
                undecided = self.circuit.both(undecided, self.circuit.either(-condition, self.truth(value)))
            else:
                undecided = self.circuit.both(undecided, -self.circuit.both(condition, self.truth(value)))

        elements(0, TRUE)
        frame.locals, frame.branch = known, branch
        if name not in ("all", "any"):
            return total
        return as_truth(undecided if name == "all" else -undecided)

    def _filter(
        self,
        filters: Sequence[ast.expr],
        condition: int,
        branch: int,
        undecided: int,
        go_on: Callable[[int], None],
    ) -> None:
        """Evaluate the filters of a generator in order; call `go_on` with the condition that all of them hold."""
        for one in filters:
            self.frame.branch = self.circuit.all([branch, undecided, condition])
            if self.frame.branch == FALSE:
                return
            condition = self.circuit.both(condition, self.truth(self.value(one)))
        if condition != FALSE:
            go_on(condition)

    def range(self, call: ast.Call) -> Iterable[tuple[Value, int]]:
        """The values that a call of `range` yields, each with its condition."""
        ends = [self.number(self.value(argument)) for argument in call.args]
        low, high = ends if len(ends) == 2 else (0, ends[0])
        if isinstance(low, int) and isinstance(high, int):
            return [(element, TRUE) for element in range(low, high)]
        compare, both = self.arithmetic.compare, self.circuit.both
        found = [
            (element, both(compare("<=", low, element), compare("<", element, high)))
            for element in range(self.arithmetic.ends(low)[0], self.arithmetic.ends(high)[1])
        ]
        return [(element, inside) for element, inside in found if inside != FALSE]

    def size_of(self, domain: type[Domain]) -> Value:
        """The number of elements of a domain."""
        return self.instance.size_of(domain)

    def _cell(self, expression: ast.expr) -> tuple[SymbolicState, FieldLayout, list[Value]]:
        """The state, the field and the indices of `s.field[i][j]`."""
        indices: list[ast.expr] = []
        node = expression
        while isinstance(node, ast.Subscript):
            indices.insert(0, node.slice)
            node = node.value
        assert isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name)
        return self.frame.states[node.value.id], self.layouts[node.attr], [self.value(index) for index in indices]

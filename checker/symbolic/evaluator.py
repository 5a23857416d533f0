"""Symbolic evaluation of the modelling language: the result of a function in all states at once.

In:  an `Instance`, an and-inverter graph, and an arithmetic (checker/symbolic/finite_integers.py or
     checker/symbolic/linear_integers.py); a state whose cells are variables or formulas, and a step or a property.
Out: formulas: for a step, that it is enabled, that it leaves a declared range, and the cells after it; for a property,
     its truth.

The evaluator reads the representation of the functions (models/language/ir); the result is that of models/run.py. The
arguments of a step are plain values. If the condition of an `if` depends on the state, both sides are evaluated and
their states are merged; otherwise only one side is evaluated. Nothing is evaluated after a guard that is false in every
state. Every index and every written value is checked against its range.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, assert_never

from isrcheck.checker.symbolic.and_inverter_graph import FALSE, TRUE, AndInverterGraph, Truth
from isrcheck.models.language.declarations import Domain
from isrcheck.models.language.ir import nodes as ir
from isrcheck.models.language.ir.nodes import increase
from isrcheck.models.language.model import Instance, Property, Step
from isrcheck.models.language.reading.reader import Function
from isrcheck.models.language.states import FieldLayout, Members
from isrcheck.models.run import Cells

Value = Any
"""A plain number or truth value, a `Truth`, or a number of the arithmetic in use."""


@dataclass(slots=True, eq=False)
class SymbolicState:
    """A state whose cells are symbolic values. Each side of an `if` gets a list of cells of its own."""

    cells: list[Value]


@dataclass(slots=True, eq=False)
class Frame:
    """The state of one function call: its variables, its path condition, and its result so far."""

    name: str
    entry: int
    """The path condition of the call; `branch` is that within the function."""
    values: dict[ir.Variable, Value]
    """A value can also be a state, a subset, or for each action, by position, whether it was taken."""
    states: Sequence[SymbolicState]
    branch: int = TRUE
    returned: int = FALSE
    """The condition that the function has returned `result`."""
    result: Value = None


OPERATIONS = {ir.Operation.TIMES: "multiply", ir.Operation.DIVIDED_BY: "quotient", ir.Operation.MODULO: "remainder"}
"""The methods of an arithmetic."""

Side = tuple[int, Sequence[list[Value]], dict[ir.Variable, Value]]
"""A condition, and the cells of the states and the values of the variables where it is true."""


class Evaluator:
    """Evaluates functions of one instance in all states at once, with literals of the and-inverter graph. The path
    condition of a point in a function is true in the states that reach this point. `alive` is the conjunction of the
    guards so far; `error` is true if an index or a value has left its declared range."""

    def __init__(self, instance: Instance, circuit: AndInverterGraph, arithmetic: Any) -> None:
        self.instance = instance
        self.circuit = circuit
        self.arithmetic = arithmetic
        self.layouts = instance.layouts
        self.frame = Frame("", TRUE, {}, ())
        self.alive = TRUE
        self.error = FALSE

    def _here(self) -> int:
        frame = self.frame
        return self.circuit.both(self.alive, self.circuit.both(frame.entry, frame.branch))

    def _demand(self, literal: int) -> None:
        """Require a literal here: `error` becomes true if the current point is reached and the literal is false."""
        if literal != TRUE:
            self.error = self.circuit.either(self.error, self.circuit.both(self._here(), -literal))

    def truth(self, value: Value) -> int:
        """Return a value as a literal; a number is true if it is not 0, as in Python."""
        if isinstance(value, bool | int):
            return TRUE if value else FALSE
        if isinstance(value, Truth):
            return value.literal
        literal: int = self.arithmetic.compare("!=", value, 0)
        return literal

    def number(self, value: Value) -> Value:
        """Return a value as a number; a truth value becomes 0 or 1."""
        if isinstance(value, Truth):
            return self.arithmetic.of_truth(value.literal)
        return int(value) if isinstance(value, bool) else value

    def choose(self, condition: int, yes: Value, no: Value) -> Value:
        """Return a value that equals `yes` if the condition is true, and otherwise `no`."""
        if condition == TRUE or yes is no:
            return yes
        if condition == FALSE:
            return no
        if isinstance(yes, bool | Truth) and isinstance(no, bool | Truth):
            return as_truth(self.circuit.choose(condition, self.truth(yes), self.truth(no)))
        if yes is None or no is None:  # the side without a value is never read
            return no if yes is None else yes
        return self.arithmetic.choose(condition, self.number(yes), self.number(no))

    def one_of(self, sides: Sequence[tuple[int, Value]]) -> Value:
        """Return the value in the only pair (literal, value) whose literal is true; there must be one such pair."""
        if len(sides) == 1:
            return sides[0][1]
        if all(isinstance(value, bool | Truth) for _, value in sides):
            both = self.circuit.both
            return as_truth(self.circuit.any(both(chosen, self.truth(value)) for chosen, value in sides))
        return self.arithmetic.one_of([(chosen, self.number(value)) for chosen, value in sides])

    def conjunction(self, conditions: Iterable[tuple[int, int]]) -> tuple[int, int]:
        """Evaluate conditions in order, up to the first false condition. Return two literals: whether all are true, and
        whether an evaluation leaves a declared range. `conditions` has the same two literals for each condition."""
        holds, error = TRUE, FALSE
        for is_true, fails in conditions:
            error = self.circuit.either(error, self.circuit.both(holds, fails))
            holds = self.circuit.all([holds, is_true, -error])
        return holds, error

    def compare(self, sign: str, left: Value, right: Value) -> int:
        """Return the literal of a comparison such as left < right; `sign` is the operator."""
        if sign in ("==", "!=") and isinstance(left, bool | Truth) and isinstance(right, bool | Truth):
            same = self.circuit.same(self.truth(left), self.truth(right))
            return same if sign == "==" else -same
        literal: int = self.arithmetic.compare(sign, self.number(left), self.number(right))
        return literal

    def entry(self, name: str) -> Value:
        """The value of a configuration entry."""
        value = getattr(self.instance.configuration, name)
        return bool(value) if self.instance.model.entries[name].values is bool else value

    def elements(self, index: Value, size: int) -> list[tuple[int, int]]:
        """Return each element 0..size-1 that an index can equal, with a literal that is true if the two are equal."""
        index = self.number(index)
        if isinstance(index, int):
            self._demand(TRUE if 0 <= index < size else FALSE)
            return [(index, TRUE)] if 0 <= index < size else []
        inside, index = self.arithmetic.within(index, 0, size - 1)
        self._demand(inside)
        cases = [(element, self.arithmetic.is_element(index, element)) for element in range(size)]
        return [(element, literal) for element, literal in cases if literal != FALSE]

    def targets(self, place: FieldLayout, indices: Sequence[Value]) -> list[tuple[int, int]]:
        """Return the position of each cell that `indices` can select, and a literal: whether they select this cell."""
        cells = [(0, TRUE)]
        for index, size in zip(indices, place.sizes, strict=True):
            elements = self.elements(index, size)
            cells = [
                (offset * size + element, self.circuit.both(condition, literal))
                for offset, condition in cells
                for element, literal in elements
            ]
        return [(place.offset + offset, condition) for offset, condition in cells if condition != FALSE]

    def load(self, state: SymbolicState, place: FieldLayout, indices: Sequence[Value]) -> Value:
        """Return the value of the field's cell with these indices."""
        targets = self.targets(place, indices)
        if not targets:  # the index is always out of range, which was noted
            return False if place.field.values.is_flag else place.low
        value = state.cells[targets[-1][0]]
        for cell, condition in targets[-2::-1]:
            value = self.choose(condition, state.cells[cell], value)
        return value

    def store(self, state: SymbolicState, place: FieldLayout, indices: Sequence[Value], value: Value) -> None:
        """Write a value to the field's cell with these indices; `error` becomes true if the value is out of range."""
        targets = self.targets(place, indices)
        if place.field.values.is_flag and isinstance(value, bool | Truth):
            written = value
        else:
            inside, written = self.arithmetic.within(self.number(value), place.low, place.high)
            self._demand(inside)
            if place.field.values.is_flag:
                written = as_truth(self.truth(written))
        for cell, condition in targets:
            state.cells[cell] = self.choose(condition, written, state.cells[cell])

    # ------------------------------------------------------------------------------------------- steps and properties

    def take(self, before: Sequence[Value], step: Step) -> tuple[int, int, list[Value]]:
        """Return two literals, "the step is enabled" and "the step leaves a declared range", and the new cells."""
        choices = self.instance.argument_ranges[step.action_index]
        arguments = [choice.argument(ordinal) for choice, ordinal in zip(choices, step.ordinals, strict=True)]
        return self.act(before, self.instance.function(step.action_index), arguments)

    def act(
        self, before: Sequence[Value], function: Function | None, arguments: Sequence[Value]
    ) -> tuple[int, int, list[Value]]:
        """Execute an action's function (None: never enabled). Return what `take` returns. Arguments can be symbolic."""
        state = SymbolicState(list(before))
        self.alive = TRUE if function is not None else FALSE
        self.error = FALSE
        if function is not None:
            self._call(function.routine, [state, *arguments], TRUE)
        return self.alive, self.error, state.cells

    def ask(
        self, function: Function, states: Sequence[Sequence[Value]], taken: Mapping[int, int] | None = None
    ) -> tuple[int, int]:
        """Evaluate a property's function on one state or two. Return two literals: whether its result is true, and
        whether its evaluation leaves a declared range. `taken` maps an action's position to whether it was taken."""
        self.alive = TRUE
        self.error = FALSE
        arguments: list[Any] = [SymbolicState(list(cells)) for cells in states]
        if len(function.parameters) > len(arguments):
            arguments.append(taken or {})
        return self.truth(self._call(function.routine, arguments, TRUE)), self.error

    def property(
        self, prop: Property, states: Sequence[Sequence[Value]], taken: Mapping[int, int] | None = None
    ) -> tuple[int, int, int]:
        """Return three literals: whether a property holds, whether its failure is permitted, and whether its evaluation
        leaves a declared range. `taken` is as for `ask`."""
        holds, error = self.ask(prop.function, states, taken)
        if prop.permitted is None:
            return holds, FALSE, error
        permitted, second = self.ask(prop.permitted, states[-1:])
        return holds, permitted, self.circuit.either(error, self.circuit.both(-holds, second))

    # ---------------------------------------------------------------------------------------------------------- calls

    def _call(self, routine: ir.Routine, arguments: Sequence[Any], entry: int) -> Value:
        outer = self.frame
        values = dict(zip(routine.parameters, arguments, strict=True))
        frame = self.frame = Frame(routine.name, entry, values, [values[state] for state in routine.states])
        self.block(routine.body)
        self.frame = outer
        # If no return is reachable there is no value, and the result is not used.
        return 0 if frame.result is None else frame.result

    # ----------------------------------------------------------------------------------------------------- statements

    def block(self, statements: Iterable[ir.Statement]) -> None:
        """Execute statements in order; a statement that is reached in no state is skipped."""
        frame = self.frame
        for statement in statements:
            self.circuit.budget.step()
            branch = frame.branch
            if self._is_reached():
                self.statement(statement)
            frame.branch = branch

    def statement(self, statement: ir.Statement) -> None:
        """Execute one statement at the current point, which is reached in some state."""
        match statement:
            case ir.Assign(variable, value):
                self.assign(variable, self.value(value))
            case ir.Store(cell) if (total := increase(statement)) is not None:
                place = self._place(cell)  # once, as for Python's `+=`
                self.store(*place, self._sum(self.load(*place), total.terms[1:]))
            case ir.Store(cell, value):
                written = self.value(value)
                self.store(*self._place(cell), written)
            case ir.Branch():
                self._branch(statement)
            case ir.Loop():
                self.loop(statement)
            case ir.Require(condition):
                holds = self.truth(self.value(condition))
                self.alive = self.circuit.both(self.alive, self.circuit.either(-self.frame.branch, holds))
            case ir.Return(value):
                self.give(self.value(value))
            case ir.Do(call):
                self.value(call)
            case ir.CollectiveStatement():
                raise ir.NotInTheCoreError(statement.span.place)
            case _:
                assert_never(statement)

    def assign(self, variable: ir.Variable, value: Value) -> None:
        """Give a local variable a value."""
        self.frame.values[variable] = value

    def _branch(self, statement: ir.Branch) -> None:
        """Execute all cases of an `if` statement, then merge their results, from the last case to the first."""
        frame = self.frame
        branch = frame.branch
        sides: list[Side] = []
        for case in statement.cases:
            if sides and not self._is_reached():
                break
            condition = self.truth(self.value(case.condition))
            if condition == TRUE:
                self.block(case.body)
                break
            if condition == FALSE:
                continue
            sides.append(self._side(condition, case.body, dict(frame.values)))
            frame.branch = self.circuit.both(frame.branch, -condition)
        else:
            self.block(statement.otherwise)
        frame.branch = branch
        for side in reversed(sides):
            self._merge(*side)

    def _is_reached(self) -> bool:
        """Whether a state reaches the current point; a state in which an earlier statement returned does not."""
        frame = self.frame
        if frame.returned != FALSE:
            frame.branch = self.circuit.both(frame.branch, -frame.returned)
        return self._here() != FALSE

    def _side(self, condition: int, body: Sequence[ir.Statement], values: dict[ir.Variable, Value]) -> Side:
        """Execute statements under a further condition, starting with the given values of variables. Return the `Side`:
        condition, cells and values after the statements. The current cells and values do not change."""
        frame = self.frame
        branch, outer, cells = frame.branch, frame.values, [state.cells for state in frame.states]
        frame.branch, frame.values = self.circuit.both(branch, condition), values
        self._set_cells(map(list, cells))
        self.block(body)
        side = condition, [state.cells for state in frame.states], frame.values
        frame.branch, frame.values = branch, outer
        self._set_cells(cells)
        return side

    def _set_cells(self, cells: Iterable[list[Value]]) -> None:
        for state, own in zip(self.frame.states, cells, strict=True):
            state.cells = own

    def _merge(self, condition: int, then_cells: Sequence[list[Value]], then_values: dict[ir.Variable, Value]) -> None:
        """If the condition is true, give each current cell and variable its value in `then_cells` and `then_values`."""
        frame = self.frame
        for state, then in zip(frame.states, then_cells, strict=True):
            state.cells = [
                one if one is other else self.choose(condition, one, other)
                for one, other in zip(then, state.cells, strict=True)
            ]
        # A local of only one side is read afterwards only if the other side has returned.
        for variable, then_value in then_values.items():
            value = frame.values.setdefault(variable, then_value)
            if then_value is not value:
                frame.values[variable] = self.choose(condition, then_value, value)

    def loop(self, loop: ir.Loop) -> None:
        """Execute a loop. An iteration that takes place only in some states is executed like the body of an `if`."""
        for element, inside in self.range(loop.range):
            if inside == TRUE:
                self.frame.values[loop.variable] = element
                self.block(loop.body)
            else:
                self._merge(*self._side(inside, loop.body, {**self.frame.values, loop.variable: element}))

    def give(self, value: Value) -> None:
        """Let the current function return `value` in all states that reach the current point."""
        frame = self.frame
        frame.result = value if frame.returned == FALSE else self.choose(frame.returned, frame.result, value)
        frame.returned = self.circuit.either(frame.returned, frame.branch)

    # ---------------------------------------------------------------------------------------------------- expressions

    def value(self, expression: ir.Expression) -> Value:
        """Return the value of an expression at the current point."""
        match expression:
            case ir.Local(variable):
                return self.frame.values[variable]
            case ir.Constant(value):
                return value
            case ir.Cell():
                return self.load(*self._place(expression))
            case ir.Compare(left, sign, right):
                return as_truth(self.compare(sign.value, self.value(left), self.value(right)))
            case ir.And(parts):
                return self._decided(map(self.value, parts), len(parts), is_and=True)
            case ir.Or(parts):
                return self._decided(map(self.value, parts), len(parts), is_and=False)
            case ir.Chain(_, links):
                return self._decided(self._links(expression), len(links), is_and=True)
            case ir.Not(operand):
                return as_truth(-self.truth(self.value(operand)))
            case ir.Setting(entry):
                return self.entry(entry)
            case ir.Call(routine, arguments):
                frame = self.frame
                values = [self.value(argument) for argument in arguments]
                return self._call(routine, values, self.circuit.both(frame.entry, frame.branch))
            case ir.Sum(terms):
                return self._sum(self.value(terms[0].value), terms[1:])
            case ir.Choose():
                return self._chosen(expression)
            case ir.Fold():
                return self.fold(expression)
            case ir.Extremum(extreme, parts):
                return self._extremum(extreme, parts)
            case ir.Among(element, choices):
                one = self.value(element)
                return as_truth(self.circuit.any([self.compare("==", one, self.value(other)) for other in choices]))
            case ir.Element(subset, index):
                return self._element(self.frame.values[subset], self.value(index))
            case ir.Negative(operand):
                return self.arithmetic.negate(self.number(self.value(operand)))
            case ir.Arithmetic(left, operation, right):
                compute: Callable[[Value, Value], Value] = getattr(self.arithmetic, OPERATIONS[operation])
                return compute(self.number(self.value(left)), self.number(self.value(right)))
            case ir.IsTaken(taken, action):
                slot = [one.name for one in self.instance.model.actions].index(action)
                return as_truth(self.frame.values[taken].get(slot, FALSE))
            case ir.Size(domain):
                return self.size_of(domain)
            case ir.CollectiveExpression():
                raise ir.NotInTheCoreError(expression.span.place)
            case _:
                assert_never(expression)

    def _decided(self, values: Iterator[Value], count: int, *, is_and: bool) -> Value:
        """Return the value of an `and` or `or` with `count` operands: the first false operand of an `and`, the first
        true operand of an `or`, or else the last operand."""
        frame = self.frame
        branch = frame.branch
        passed: list[tuple[int, Value]] = []
        for _ in range(count - 1):
            last = next(values)
            condition = self.truth(last) if is_and else -self.truth(last)
            if condition == FALSE:
                break
            passed.append((condition, last))
            frame.branch = self.circuit.both(frame.branch, condition)
        else:
            last = next(values)
        frame.branch = branch
        for condition, value in reversed(passed):
            last = self.choose(condition, last, value)
        return last

    def _links(self, chain: ir.Chain) -> Iterator[Value]:
        left = self.value(chain.first)
        for link in chain.links:
            right = self.value(link.right)
            yield as_truth(self.compare(link.sign.value, left, right))
            left = right

    def _sum(self, total: Value, terms: Iterable[ir.Term]) -> Value:
        for term in terms:
            number = self.number(self.value(term.value))
            number = self.arithmetic.negate(number) if term.is_subtracted else number
            total = self.arithmetic.add(self.number(total), number)
        return total

    def _element(self, subset: Value, index: Value) -> Value:
        members = subset.row if isinstance(subset, Members) else subset
        elements = self.elements(index, len(members))
        return as_truth(self.circuit.any(self.circuit.both(one, self.truth(members[at])) for at, one in elements))

    def _chosen(self, choose: ir.Choose) -> Value:
        frame = self.frame
        branch = frame.branch
        sides: list[tuple[int, Value]] = []
        for option in choose.options:
            condition = self.truth(self.value(option.condition))
            if condition == TRUE:
                chosen = self.value(option.value)
                break
            if condition != FALSE:
                around = frame.branch
                frame.branch = self.circuit.both(around, condition)
                sides.append((condition, self.value(option.value)))
                frame.branch = self.circuit.both(around, -condition)
        else:
            chosen = self.value(choose.otherwise)
        frame.branch = branch
        for condition, value in reversed(sides):
            chosen = self.choose(condition, value, chosen)
        return chosen

    def _extremum(self, extreme: ir.Extreme, parts: Sequence[ir.Expression]) -> Value:
        sign = "<=" if extreme is ir.Extreme.LEAST else ">="
        best = self.value(parts[0])
        for part in parts[1:]:
            other = self.value(part)
            best = self.choose(self.compare(sign, best, other), best, other)
        return best

    # ---------------------------------------------------------------------------------------- folds, ranges and cells

    def fold(self, fold: ir.Fold) -> Value:
        """Return the value of a fold (all, any, sum, min or max); `all` and `any` stop at the deciding value."""
        frame, both, either = self.frame, self.circuit.both, self.circuit.either
        values, branch = frame.values, frame.branch
        total: Value = 0 if fold.default is None else self.value(fold.default)
        sign = "<" if fold.gathering is ir.Gathering.LEAST else ">"
        frame.values = dict(values)
        undecided, is_empty = TRUE, TRUE

        def around() -> int:
            return both(branch, undecided)

        for condition in self.combinations(fold.generators, self.range, around):
            value = self.value(fold.body)
            match fold.gathering:
                case ir.Gathering.ALL:
                    undecided = both(undecided, either(-condition, self.truth(value)))
                case ir.Gathering.ANY:
                    undecided = both(undecided, -both(condition, self.truth(value)))
                case ir.Gathering.SUM:
                    total = self.arithmetic.add(total, self.choose(condition, self.number(value), 0))
                case ir.Gathering.LEAST | ir.Gathering.GREATEST:
                    is_better = either(is_empty, self.compare(sign, value, total))
                    total = self.choose(both(condition, is_better), self.number(value), total)
                    is_empty = both(is_empty, -condition)
                case _:
                    assert_never(fold.gathering)
        frame.values, frame.branch = values, branch
        if fold.gathering not in (ir.Gathering.ALL, ir.Gathering.ANY):
            return total
        return as_truth(undecided if fold.gathering is ir.Gathering.ALL else -undecided)

    def combinations(
        self,
        generators: Sequence[ir.Generator],
        numbers: Callable[[ir.Range], Iterable[tuple[Value, int]]],
        around: Callable[[], int],
        condition: int = TRUE,
    ) -> Iterator[int]:
        """Set the generators' variables to each possible combination of numbers; for each, yield a literal: whether the
        combination occurs. `around` returns the path condition, which is false once an `all` or `any` is decided."""
        frame, both = self.frame, self.circuit.both
        self.circuit.budget.step()
        frame.branch = both(around(), condition)
        if not generators:
            if frame.branch != FALSE:
                yield condition
            return
        for element, inside in numbers(generators[0].range):
            frame.values[generators[0].variable] = element
            there = both(condition, inside)
            for test in generators[0].conditions:
                frame.branch = both(around(), there)
                there = both(there, self.truth(self.value(test))) if frame.branch != FALSE else FALSE
            if there != FALSE:
                yield from self.combinations(generators[1:], numbers, around, there)

    def range(self, numbers: ir.Range) -> Iterable[tuple[Value, int]]:
        """Return each number that a range can contain, with a literal that is true if the range contains the number."""
        low, high = self.ends(numbers)
        if isinstance(low, int) and isinstance(high, int):
            return [(element, TRUE) for element in range(low, high)]
        compare, both = self.arithmetic.compare, self.circuit.both
        cases = [
            (element, both(compare("<=", low, element), compare("<", element, high)))
            for element in range(self.arithmetic.ends(low)[0], self.arithmetic.ends(high)[1])
        ]
        return [(element, inside) for element, inside in cases if inside != FALSE]

    def ends(self, numbers: ir.Range) -> tuple[Value, Value]:
        """Return the first number of a range, and the number before which the range stops."""
        return self.number(self.value(numbers.first)), self.number(self.value(numbers.end))

    def size_of(self, domain: type[Domain]) -> Value:
        """The number of elements of a domain."""
        return self.instance.size_of(domain)

    def _place(self, cell: ir.Cell) -> tuple[SymbolicState, FieldLayout, list[Value]]:
        return self.frame.values[cell.state], self.layouts[cell.field], [self.value(index) for index in cell.indices]


def as_truth(literal: int) -> Value:
    """Return a literal as a truth value: True or False if the literal is constant, otherwise a `Truth`."""
    return literal == TRUE if literal in (TRUE, FALSE) else Truth(literal)


def plain_state(instance: Instance, cells: Cells) -> list[Value]:
    """Return the cells of a concrete state as values for the evaluator; the cells of flags become True or False."""
    values: list[Value] = []
    for place in instance.layouts.values():
        own = cells[place.offset : place.offset + place.count]
        values += map(bool, own) if place.field.values.is_flag else own
    return values

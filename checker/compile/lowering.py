"""Builds what the nodes of a model's routines say, as machine code.

In:  a `Routine`, and the kernel that it becomes a part of (checker/compile/kernel_code.py).
Out: a function of the kernel: a cell is the number at an address, a guard that is false returns 0, folds are loops.
     What is known of numbers while a kernel is built (`Ranges`): values that are compiled in, limits of variables,
     whether an index needs a check. The guards of an action or a generator, each to be evaluated in the outermost loop
     over arguments that binds what it reads. The folds over symmetric elements (`Elements`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from typing import Any, Protocol, assert_never

from isrcheck.checker.compile.staging import READ, WRITE, Apart, Buffer, Code, Module, Number, Value, Variable, element
from isrcheck.checker.reductions.reduction import Symmetry, place_in
from isrcheck.models.language.declarations.declare import Subset
from isrcheck.models.language.declarations.layouts import FieldLayout
from isrcheck.models.language.ir import nodes as ir
from isrcheck.models.language.ir.walking import increase, is_same, rewrite, variables, visit
from isrcheck.models.language.model import ArgumentRange, Instance

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
        one variable, because a helper stands in several guards (checker/compile/lowering.py), it is that of all.
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


INSIDE = ir.And | ir.Or | ir.Compare | ir.Chain | ir.Among
"""What a helper returns if its condition is read like one of the guard itself."""


def argument_limits(routine: ir.Routine, choices: Sequence[ArgumentRange]) -> Limits:
    """The numbers of elements of the domains of an action's parameters."""
    pairs = zip(routine.arguments, choices, strict=True)
    return {parameter: choice.elements for parameter, choice in pairs if not choice.is_subset}


def placed(
    ranges: Ranges, conditions: Iterable[ir.Expression], unbound: set[ir.Variable], limits: Limits
) -> tuple[list[ir.Expression], list[ir.Expression]]:
    """Of the conditions that must be true, those to be evaluated where some variables are `unbound`, and those that
    wait.

    A condition in which an index may leave its range is evaluated exactly if all those before it are true, as in the
    reference semantics. Others are evaluated as soon as the loops bind what they read.
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
    ones the first is enough: a condition that was true stays true until the step is taken."""
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
            isinstance(one, ir.Local) and one.variable.role is not ir.Role.SUBSET for one in arguments
        ):
            passed = [one.variable for one in arguments if isinstance(one, ir.Local)]
            yield from _conjuncts(_inside(value, dict(zip(helper.parameters, passed, strict=True))))
        case _:
            yield condition


def _inside(value: ir.Expression, passed: Mapping[ir.Variable, ir.Variable]) -> ir.Expression:
    """What a helper returns, with the variables that are passed to it in place of its parameters."""

    def change(node: ir.Node) -> ir.Node:
        changes: dict[str, Any] = {
            name: passed[one] for name, one in vars(node).items() if isinstance(one, ir.Variable) and one in passed
        }
        return replace(node, **changes) if changes else node

    return rewrite(value, change)


class Elements:
    """Knows the folds over symmetric elements, which are evaluated so that the order of elements decides nothing.

    A fold stops at the first element that decides it. If an index of a later element may leave its range, the order of
    the elements would decide whether that is found; such a fold goes on to its end. Then the kernel finds every state
    of which some permutation leaves a range, and perhaps more; and what it does not find, no permutation leaves.
    Without such folds, all permutations of a state leave a range, or none. `sources` are the model's files.
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
        """The sign of a comparison; != for a comparison that only spares the second look at each pair of elements."""
        is_unordered = self.symmetry is not None and place_in(self.sources, comparison) in self.symmetry.unordered
        return (ir.Sign.NOT_EQUAL if is_unordered else comparison.sign).value


class Kernel(Protocol):
    """The kernel whose functions are built."""

    instance: Instance
    module: Module
    ranges: Ranges
    elements: Elements

    def routine(self, routine: ir.Routine, /) -> Any:
        """The function of a routine, which is built if it is not there yet."""

    def first_byte(self, place: FieldLayout) -> int:
        """Where the cells of a field begin in a working buffer."""

    def setting(self, entry: str) -> tuple[int, int]:
        """Where a working buffer has a setting, and in how many bytes."""


def function_of(
    kernel: Kernel, routine: ir.Routine, limits: Limits | None = None, *, is_action: bool = False, skip: int = 0
) -> Any:
    """The function of a routine, given limits of its parameters, without its first `skip` statements. That of an action
    returns whether the action is enabled."""
    body = routine.body[skip:]

    def build(code: Code, *parameters: Value) -> None:
        places = {
            variable: code.variable(value) if variable in routine.assignments else value
            for variable, value in zip(routine.parameters, parameters, strict=True)
        }
        Lowering(kernel, code, routine, places, kernel.ranges.limits(routine, body, limits or {})).statements(body)
        if is_action and not code.has_ended:
            code.return_(True)

    return kernel.module.define(f"model.{routine.name}", _kinds(routine.parameters), build)


def _kinds(parameters: Iterable[ir.Variable]) -> list[type[Value]]:
    """The kinds of a function's parameters. If there are several states, they may be the same."""
    states = sum(one.role is ir.Role.STATE for one in parameters)
    return [(Apart if states == 1 else Buffer) if one.role is ir.Role.STATE else Value for one in parameters]


class Lowering:
    """Builds nodes of a routine in a function. `places` are the values of the variables so far; `limits` are known of
    them."""

    def __init__(
        self, kernel: Kernel, code: Code, routine: ir.Routine, places: dict[ir.Variable, Value], limits: Limits
    ) -> None:
        self.kernel = kernel
        self.code = code
        self.routine = routine
        self.places = places
        self.limits = limits

    # --------------------------------------------------------------------------------------------------- statements

    def statements(self, statements: Iterable[ir.Statement]) -> None:
        """Build statements in order; nothing is built behind the end."""
        for statement in statements:
            if not self.code.has_ended:
                self.statement(statement)

    def statement(self, statement: ir.Statement) -> None:
        """Build one statement."""
        code = self.code
        match statement:
            case ir.Assign(variable, value):
                self.assign(variable, self.value(value))
            case ir.Store():
                self.store(statement)
            case ir.Branch(cases, otherwise):
                with code.when(self.value(cases[0].condition)):
                    self.statements(cases[0].body)
                for case in cases[1:]:
                    with code.otherwise(partial(self.value, case.condition)):
                        self.statements(case.body)
                if otherwise:
                    with code.otherwise():
                        self.statements(otherwise)
            case ir.Loop(variable, numbers, body):
                with code.loop(*self.range(numbers)) as number:
                    if is_of_loop(self.routine, variable):
                        self.places[variable] = number
                    else:
                        self.assign(variable, number)
                    self.statements(body)
            case ir.Require(ir.Fold(ir.Gathering.ALL) as fold):
                self.guard(self.folded(fold))
            case ir.Require(condition):
                self.guard(self.value(condition))
            case ir.Return(ir.Fold(ir.Gathering.ALL | ir.Gathering.ANY) as fold):
                code.return_(self.folded(fold))
            case ir.Return(value):
                code.return_(self.value(value))
            case ir.Do(call):
                self.value(call)
            case ir.CollectiveStatement():
                raise ir.NotInTheCoreError(statement.span.place)
            case _:
                assert_never(statement)

    def guard(self, holds: Number) -> None:
        """Return that an action is not enabled, unless a guard holds."""
        if holds is not True:
            with self.code.when(~holds):
                self.code.return_(False)

    def assign(self, variable: ir.Variable, value: Number) -> None:
        """Give a variable a value."""
        place = self.places.get(variable)
        if place is None:
            place = self.places[variable] = self.code.variable()
        assert isinstance(place, Variable)
        place.set(value)

    def store(self, store: ir.Store) -> None:
        """Store a value, or add to a cell, whose place is computed once."""
        total = increase(store)
        state, place, offset = self.place(store.cell)
        if total is None:
            value = self.value(store.value)
        else:
            value = self.added(READ[place.bytes](state, offset), total.terms[1:])
        WRITE[place.bytes](state, offset, value, place.low, place.high)

    # -------------------------------------------------------------------------------------------------- expressions

    def value(self, expression: ir.Expression) -> Value:
        """Build an expression."""
        code, value = self.code, self.value
        match expression:
            case ir.Constant(number):
                return code.constant(number)
            case ir.Local(variable):
                return self.places[variable]
            case ir.Setting(entry):
                return self.setting(entry)
            case ir.Size(domain):
                return code.constant(self.kernel.instance.size_of(domain))
            case ir.Cell():
                state, place, offset = self.place(expression)
                cell = READ[place.bytes](state, offset)
                return cell.is_true if place.field.values.is_flag else cell
            case ir.Element(subset, index):
                elements = self.kernel.ranges.elements(subset)
                assert elements < 64, "a subset fits into one word: MOST_STEPS limits its size"
                place_ = self.index(self.state, index, elements)
                return (self.places[subset] >> place_ & 1).is_true
            case ir.IsTaken(taken, action):
                slot = [one.name for one in self.kernel.instance.model.actions].index(action)
                return code.compared("==", self.places[taken], slot)
            case ir.Not(operand):
                return ~value(operand)
            case ir.And(parts):
                return code.every(*self.delayed(parts))
            case ir.Or(parts):
                return code.some(*self.delayed(parts))
            case ir.Compare(left, _, right):
                return code.compared(self.kernel.elements.sign(expression), value(left), value(right))
            case ir.Chain(first, links):
                return code.every(*self.compared(value(first), links))
            case ir.Among(element_, choices):
                return code.among(value(element_), map(value, choices))
            case ir.Negative(operand):
                return -value(operand)
            case ir.Sum(terms):
                return self.added(value(terms[0].value), terms[1:])
            case ir.Arithmetic(left, operation, right):
                return self.calculated(value(left), operation, value(right))
            case ir.Choose(options, otherwise):
                pairs = [(partial(value, one.condition), partial(value, one.value)) for one in options]
                return code.choice(pairs, partial(value, otherwise))
            case ir.Extremum(extreme, parts):
                return code.extremum("<" if extreme is ir.Extreme.LEAST else ">", *map(value, parts))
            case ir.Fold():
                return self.fold_call(expression)
            case ir.Call(routine, arguments):
                return code.call(self.kernel.routine(routine), *map(value, arguments))
            case ir.CollectiveExpression():
                raise ir.NotInTheCoreError(expression.span.place)
            case _:
                assert_never(expression)

    @property
    def state(self) -> Value:
        """The state that holds the settings, and notes an index outside a subset."""
        return self.places[self.routine.states[0]]

    def delayed(self, expressions: Iterable[ir.Expression]) -> list[Callable[[], Value]]:
        """What builds each of these expressions."""
        return [partial(self.value, one) for one in expressions]

    def compared(self, first: Value, links: Iterable[ir.Link]) -> list[Callable[[], Value]]:
        """What builds each comparison of a chain, in which every number is evaluated once."""
        left = first

        def compare(link: ir.Link) -> Value:
            nonlocal left
            before, left = left, self.value(link.right)
            return self.code.compared(link.sign.value, before, left)

        return [partial(compare, link) for link in links]

    def added(self, total: Value, terms: Iterable[ir.Term]) -> Value:
        """A sum, with further terms."""
        for term in terms:
            total = total - self.value(term.value) if term.is_subtracted else total + self.value(term.value)
        return total

    def calculated(self, left: Value, operation: ir.Operation, right: Value) -> Value:
        """A product, a quotient or a remainder."""
        match operation:
            case ir.Operation.TIMES:
                return left * right
            case ir.Operation.DIVIDED_BY:
                return left // right
            case ir.Operation.MODULO:
                return left % right
            case _:
                assert_never(operation)

    def setting(self, name: str) -> Value:
        """A setting: a number, or where the working buffer has it."""
        entry = self.kernel.instance.model.entries[name]
        if entry.is_bound:
            return self.code.constant(getattr(self.kernel.instance.configuration, name))
        byte, size = self.kernel.setting(name)
        number = READ[size](self.state, byte)
        return number.is_true if entry.values is bool else number

    # -------------------------------------------------------------------------------------------------------- cells

    def place(self, cell: ir.Cell) -> tuple[Value, FieldLayout, Value]:
        """The state, the field, and the byte offset of a cell."""
        state, place = self.places[cell.state], self.kernel.instance.layouts[cell.field]
        first, moving = self.kernel.first_byte(place), []
        stride = place.count * place.bytes
        for index, size in zip(cell.indices, place.sizes, strict=True):
            stride //= size or 1
            number = self.kernel.ranges.number(index)
            if number is not None and 0 <= number < size:
                first += number * stride
            else:
                moving.append(self.index(state, index, size) * stride)
        return state, place, sum(moving, self.code.constant(first))

    def index(self, state: Value, index: ir.Expression, size: int) -> Value:
        """An index, which is checked unless it surely is in 0..size-1."""
        value = self.value(index)
        return value if self.kernel.ranges.is_safe(index, size, self.limits) else element(state, value, size)

    # --------------------------------------------------------------------------------------------- ranges and folds

    def range(self, numbers: ir.Range) -> list[Number]:
        """The ends of a range."""
        ends = [(end, self.kernel.ranges.number(end)) for end in (numbers.first, numbers.end)]
        return [self.value(end) if number is None else number for end, number in ends]

    def folded(self, fold: ir.Fold) -> Number:
        """The value of a fold that ends a function, or a guard: a value that decides it is returned."""
        code, gathering = self.code, fold.gathering
        is_all, is_extremum = gathering is ir.Gathering.ALL, gathering in (ir.Gathering.LEAST, ir.Gathering.GREATEST)
        gathers = is_extremum or gathering is ir.Gathering.SUM
        goes_on = not gathers and self.kernel.elements.must_go_on(fold, self.limits)
        result: Number = is_all
        if gathers:
            result = total = code.variable(0 if fold.default is None else self.value(fold.default))
        elif goes_on:
            result = total = code.variable(is_all)
        is_first = code.variable(True) if is_extremum else None
        with ExitStack() as loops:
            for generator in fold.generators:
                number = loops.enter_context(code.loop(*self.range(generator.range)))
                self.places[generator.variable] = number
                if generator.conditions:
                    loops.enter_context(code.when(code.every(*self.delayed(generator.conditions))))
            body = self.value(fold.body)
            if gathering is ir.Gathering.SUM:
                total += body
            elif is_first is not None:
                sign = "<" if gathering is ir.Gathering.LEAST else ">"
                with code.when(code.some(is_first, lambda: code.compared(sign, body, total))):
                    total.set(body)
                    is_first.set(False)
            else:
                with code.when(~body if is_all else body):
                    if goes_on:
                        total.set(not is_all)
                    else:
                        code.return_(not is_all)
        return result

    def fold_call(self, fold: ir.Fold) -> Value:
        """A fold inside an expression: the call of a new function that gets the variables that it reads."""
        read = variables(fold)
        if any(isinstance(node, ir.Element | ir.Setting) for node in visit([fold])):
            read.add(self.routine.states[0])
        parameters = sorted(read, key=lambda variable: variable.name)

        def build(code: Code, *values: Value) -> None:
            places = dict(zip(parameters, values, strict=True))
            code.return_(Lowering(self.kernel, code, self.routine, places, self.limits).folded(fold))

        function = self.kernel.module.define(f"model.{self.routine.name}.fold", _kinds(parameters), build)
        return self.code.call(function, *(self.places[variable] for variable in parameters))

"""Which cells the functions of an instance read and write, and what is known of the state where they do.

In:  an `Instance`.
Out: for each of its actions, and for its predicates, a list of `Use`s.

The configuration is known, so what its settings exclude is not read. Where a cell is used, some cells may be known to
hold one of a few values, because a guard or another condition comes before: these are its *facts*. A fact is about the
state before the step. Only what the text says is understood: comparisons of a cell with numbers, `and`, `or`, `not`,
helpers that are one expression. Of everything else nothing is known, and all cells in it are read.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from operator import eq, ge, gt, le, lt, ne

from isrcheck.models.language.model import Instance
from isrcheck.models.language.syntax import SIZE, TAKEN, Function, stored
from isrcheck.models.language.text.chains import alternatives, branches, summands
from isrcheck.models.run import State

MOST_VALUES = 64
"""Of a field with more values, nothing is known."""


@dataclass(frozen=True, eq=False)
class Variable:
    """A parameter, or the variable of a loop or a fold, to which nothing else assigns. A variable that takes the values
    0..count-1, one after the other, has this `count`; 0: it takes others."""

    name: str
    count: int = 0


Indices = tuple[Variable | None, ...]
"""The variable that is each index; None: the index is something else."""

Cell = tuple[str, str, Indices]
"""A cell: the name of the state, the field, and the indices, which are all known."""

Facts = Mapping[Cell, frozenset[int]]
"""For some cells, values of which they hold one."""

Block = tuple[object, ...]
"""A branch or a loop: the calls that lead to it, and what it is: a node, or the variable of a loop."""


@dataclass(frozen=True)
class Use:
    """A cell that is read or written, and the facts where this happens; `blocks` are the branches and the loops around
    it. `into`: the read does nothing but copy the value into a cell of this field, which can hold it. Of a write,
    `value` is the written number, if the text says it."""

    state: str
    field: str
    indices: Indices
    facts: Facts
    blocks: tuple[Block, ...] = ()
    is_write: bool = False
    into: str | None = None
    value: int | None = None

    def known(self, cell: Cell) -> frozenset[int] | None:
        """The values of which the cell holds one here; None: any."""
        return self.facts.get(cell)


class UnknownConstructError(Exception):
    """The language has a construct that this analysis does not know."""


class Reads:
    """What an instance reads and writes: `actions` in its actions, `predicates` in everything that judges states and
    steps, or ends and bounds a search."""

    def __init__(self, instance: Instance) -> None:
        self.instance = instance
        self._known: dict[Function, tuple[dict[str, Variable], tuple[Use, ...]]] = {}
        model = instance.model
        functions = [instance.function(index) for index in range(len(model.actions))]
        self.actions = [self.of(function)[1] for function in functions if function is not None]
        judging = [*model.terminals, *model.constraints]
        for prop in instance.properties:
            judging += [one for one in (prop.function, prop.permitted, prop.premise) if one is not None]
        self.predicates = [self.of(function)[1] for function in judging]

    def of(self, function: Function) -> tuple[Mapping[str, Variable], tuple[Use, ...]]:
        """The parameters of a function, and the uses of cells in it and in its callees. Each function is read once."""
        if function not in self._known:
            variables = {
                one.name: Variable(one.name)
                for one in function.arguments
                if not one.is_subset and one.name not in (*function.stores, TAKEN)
            }
            reading = _Reading(self, function, dict(variables), {name: name for name in function.states})
            reading.block(function.body)
            self._known[function] = variables, tuple(reading.uses)
        return self._known[function]


class _Reading:
    """Reads one function. `variables` are the names in it that are variables, `states` the states by its names."""

    def __init__(
        self, reads: Reads, function: Function, variables: dict[str, Variable], states: Mapping[str, str]
    ) -> None:
        self.reads = reads
        self.instance = reads.instance
        self.function = function
        self.variables = variables
        self.states = states
        self.uses: list[Use] = []
        self.facts: dict[Cell, frozenset[int]] = {}
        self.blocks: tuple[Block, ...] = ()
        self.written: set[str] = set()

    # --------------------------------------------------------------------------------------------------- statements

    def block(self, statements: Iterable[ast.stmt]) -> bool:
        """Read statements in order, up to one after which nothing follows; whether there is such a one."""
        return any(self.statement(statement) for statement in statements)

    def statement(self, statement: ast.stmt) -> bool:
        match statement:
            case ast.Pass():
                pass
            case ast.Assign(targets=[ast.Name()], value=value):
                self.expression(value)
            case ast.Assign(targets=[target], value=value):
                self.expression(value, self.field_of(target))
                self.write(target, self.number(value))
            case ast.AugAssign(target=ast.Name(), value=value):
                self.expression(value)
            case ast.AugAssign(target=target, value=value):
                self.expression(value)
                self.expression(target)
                self.write(target, None)
            case ast.If():
                return self.branches(statement)
            case ast.For(target=ast.Name(id=name), iter=iterated):
                self.loop(statement, name, iterated)
            case ast.Return(value=ast.expr() as value):
                self.expression(value)
                return True
            case ast.Expr(value=ast.Call(args=arguments) as call):
                if not self.function.builtin(call):
                    self.expression(call)
                else:  # require(...)
                    self.expression(arguments[0])
                    self.facts = self.learnt(arguments[0], True)
                    return self.truth(arguments[0]) is False
            case _:
                raise UnknownConstructError(type(statement).__name__)
        return False

    def branches(self, statement: ast.If) -> bool:
        tests, otherwise = branches(statement)
        known, blocks, ended = dict(self.facts), self.blocks, True
        for one in tests:
            self.expression(one.test)
            truth = self.truth(one.test)
            if truth is not False:
                before = dict(self.facts)
                self.facts = self.learnt(one.test, True)
                self.blocks = (*blocks, (one,))
                ended = self.block(one.body) and ended
                self.facts, self.blocks = before, blocks
            if truth:
                self.facts = known
                return ended
            self.facts = self.learnt(one.test, False)
        self.blocks = (*blocks, (statement, "else"))
        ended_here = self.block(otherwise)
        self.blocks = blocks
        if ended_here or not ended:  # otherwise, only who came through the last branch goes on
            self.facts = known
        return ended and ended_here

    def loop(self, loop: ast.For, name: str, iterated: ast.expr) -> None:
        self.expression(iterated)
        assigned = {one for statement in loop.body for one in stored(statement)}
        for one in (*assigned, name):  # they have other values in a second iteration, and after the loop
            self.variables.pop(one, None)
        self.written |= {field for statement in loop.body for field in self.written_in(statement)}
        known, blocks = dict(self.facts), self.blocks
        variable = Variable(name, self.count(iterated))
        if name not in assigned:
            self.variables[name] = variable
        self.blocks = (*blocks, (variable,))
        self.block(loop.body)
        self.facts, self.blocks = known, blocks
        self.variables.pop(name, None)

    def written_in(self, statement: ast.stmt) -> Iterator[str]:
        """The fields to which a statement, or what it calls, may write."""
        for node in ast.walk(statement):
            if isinstance(node, ast.Attribute) and node.attr in self.instance.model.fields:
                yield node.attr
            callee = self.function.callee(node) if isinstance(node, ast.Call) else None
            yield from () if callee is None else callee.writes

    def count(self, iterated: ast.expr) -> int:
        """How many numbers a loop goes through if they are 0, 1, ...; else 0."""
        match iterated:
            case ast.Call(func=ast.Name(id="range"), args=[end]):
                return max(0, self.number(end) or 0)
        return 0

    # -------------------------------------------------------------------------------------------------- expressions

    def expression(self, expression: ast.expr, into: str | None = None) -> None:
        """Read an expression, whose value is stored in a cell of the field `into` and used for nothing else, or is used
        in any way (None)."""
        match expression:
            case ast.BoolOp(op=operator, values=values):
                decides = isinstance(operator, ast.Or)
                known = dict(self.facts)
                for one in values:
                    self.expression(one)
                    if self.truth(one) is decides:
                        break  # what comes after it is not evaluated
                    self.facts = self.learnt(one, not decides)
                self.facts = known
            case ast.IfExp():
                self.conditional(expression, into)
            case ast.GeneratorExp():
                self.generator(expression)
            case ast.Call(args=arguments) if (callee := self.function.callee(expression)) is not None:
                for argument in arguments:
                    self.expression(argument)
                self.call(callee, arguments, expression)
            case ast.Attribute() | ast.Subscript():
                self.cell(expression, into)
            case ast.BinOp(op=ast.Add() | ast.Sub()):
                first, rest = summands(expression)
                for one in (first, *(term for _, term in rest)):
                    self.expression(one)
            case ast.Call(func=ast.Name(), args=arguments, keywords=keywords):
                for one in (*arguments, *(keyword.value for keyword in keywords)):
                    self.expression(one)
            case ast.BinOp() | ast.UnaryOp() | ast.Compare() | ast.Tuple() | ast.Name() | ast.Constant():
                for child in ast.iter_child_nodes(expression):
                    if isinstance(child, ast.expr):
                        self.expression(child)
            case _:
                raise UnknownConstructError(type(expression).__name__)

    def conditional(self, expression: ast.IfExp, into: str | None) -> None:
        pairs, last = alternatives(expression)
        known = dict(self.facts)
        for test, value in pairs:
            self.expression(test)
            truth = self.truth(test)
            if truth is not False:
                before = dict(self.facts)
                self.facts = self.learnt(test, True)
                self.expression(value, into)
                self.facts = before
            if truth:
                break
            self.facts = self.learnt(test, False)
        else:
            self.expression(last, into)
        self.facts = known

    def generator(self, generator: ast.GeneratorExp) -> None:
        known, variables = dict(self.facts), dict(self.variables)
        for part in generator.generators:
            self.expression(part.iter)
            if not isinstance(part.target, ast.Name):
                raise UnknownConstructError(type(part.target).__name__)
            self.variables[part.target.id] = Variable(part.target.id)
            for test in part.ifs:
                self.expression(test)
                self.facts = self.learnt(test, True)
        self.expression(generator.elt)
        self.facts, self.variables = known, variables

    def call(self, callee: Function, arguments: Sequence[ast.expr], call: ast.Call) -> None:
        """Read a call: what the callee does, with the caller's variables and states."""
        parameters, uses = self.reads.of(callee)
        variables, states = self.given(callee, arguments)
        names = {one: variables.get(name) for name, one in parameters.items()}

        def seen(indices: Indices) -> Indices:
            return tuple(None if one is None else names.get(one, one) for one in indices)

        for use in uses:
            facts = dict(self.facts)
            for (state, field, indices), values in use.facts.items():
                if None not in seen(indices) and field not in self.written:
                    cell = states[state], field, seen(indices)
                    facts[cell] = facts.get(cell, values) & values
            blocks = (*self.blocks, *((call, *block) for block in use.blocks))
            outside = replace(use, state=states[use.state], indices=seen(use.indices), facts=facts, blocks=blocks)
            self.uses.append(outside)
        self.written |= callee.writes

    def given(self, callee: Function, arguments: Sequence[ast.expr]) -> tuple[dict[str, Variable], dict[str, str]]:
        """The variables and the states that a call gives to the parameters of the callee."""
        variables, states = {}, {}
        for parameter, argument in zip(callee.parameters, arguments, strict=True):
            if isinstance(argument, ast.Name) and parameter.is_state:
                states[parameter.name] = self.states[argument.id]
            elif isinstance(argument, ast.Name) and argument.id in self.variables:
                variables[parameter.name] = self.variables[argument.id]
        return variables, states

    def cell(self, expression: ast.expr, into: str | None) -> None:
        """Read a cell, or a number that the configuration determines."""
        if self.number(expression) is not None:
            return
        for index in indices_of(expression):
            self.expression(index)
        cell = self.place(expression)
        if cell is not None:
            self.uses.append(Use(*cell, dict(self.facts), self.blocks, into=self.held_by(into, cell[1])))

    def held_by(self, into: str | None, field: str) -> str | None:
        """The field `into`, if its cells can hold all values of the other field."""
        layouts = self.instance.layouts
        if into is None or layouts[field].low < layouts[into].low or layouts[field].high > layouts[into].high:
            return None
        return into

    def write(self, target: ast.expr, value: int | None) -> None:
        for index in indices_of(target):
            self.expression(index)
        cell = self.place(target)
        assert cell is not None
        self.uses.append(Use(*cell, dict(self.facts), self.blocks, is_write=True, value=value))
        self.written.add(cell[1])

    def field_of(self, target: ast.expr) -> str | None:
        cell = self.place(target)
        return None if cell is None else cell[1]

    def place(self, expression: ast.expr) -> Cell | None:
        """The cell that an expression names; None if it names none, but an element of a subset."""
        indices = [
            self.variables.get(index.id) if isinstance(index, ast.Name) else None for index in indices_of(expression)
        ]
        while isinstance(expression, ast.Subscript):
            expression = expression.value
        if isinstance(expression, ast.Name):
            return None
        if not isinstance(expression, ast.Attribute) or expression.attr not in self.instance.model.fields:
            raise UnknownConstructError(ast.unparse(expression))
        assert isinstance(expression.value, ast.Name)
        return self.states[expression.value.id], expression.attr, tuple(indices)

    # ---------------------------------------------------------------------------------------------- what is known

    def number(self, expression: ast.expr) -> int | None:
        """The value of an expression, if the configuration determines it."""
        function = self.function
        match expression:
            case ast.Constant(value=int(value)):
                return int(value)
            case ast.Name(id=name):
                is_local = name in self.variables or name in function.stores
                return None if is_local or name not in function.constants else int(function.constants[name])
            case ast.Attribute(attr=name):
                member = function.member(expression)
                if member is None and name in self.instance.model.entries:
                    return int(getattr(self.instance.configuration, name))
                return None if member is None else int(member)
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                truth = self.truth(operand)
                return None if truth is None else int(not truth)
            case ast.BoolOp(op=operator, values=values):  # the first value that decides, else the last: `0 or 2` is 2
                number = None
                for number in map(self.number, values):
                    if number is None or bool(number) == isinstance(operator, ast.Or):
                        break
                return number
            case ast.Compare(left=left, ops=[operator], comparators=[right]):
                test = self.test(operator, right)
                number = self.number(left)
                return None if test is None or number is None else int(test(number))
            case ast.Call() if (callee := function.callee(expression)) is not None:
                if callee.reads or callee.writes or callee.arguments:
                    return None
                state = State(self.instance, [0] * self.instance.cells)
                return int(self.instance.python(callee)(*[state] * len(callee.parameters)))
            case ast.Call() if function.builtin(expression) == SIZE:
                return self.instance.size_of(function.domain(expression))
        return None

    def truth(self, condition: ast.expr) -> bool | None:
        """Whether a condition is true, if the configuration determines it: also where its value is not determined."""
        match condition:
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                truth = self.truth(operand)
                return None if truth is None else not truth
            case ast.BoolOp(op=operator, values=values):
                decides = isinstance(operator, ast.Or)
                truths = [self.truth(one) for one in values]
                if decides in truths:
                    return decides
                return None if None in truths else not decides
        number = self.number(condition)
        return None if number is None else bool(number)

    def test(self, operator: ast.cmpop, right: ast.expr) -> Callable[[int], bool] | None:
        """A comparison as a function of its left side; None if the right side is not determined."""
        sides = right.elts if isinstance(right, ast.Tuple) else [right]
        numbers = [self.number(one) for one in sides]
        known = [one for one in numbers if one is not None]
        if len(known) < len(numbers):
            return None
        if isinstance(right, ast.Tuple):
            return lambda left: (left in known) == isinstance(operator, ast.In)
        compare = COMPARE[type(operator)]
        return lambda left: compare(left, known[0])

    def learnt(self, condition: ast.expr, truth: bool) -> dict[Cell, frozenset[int]]:
        """What is known of cells, which no statement has written yet, if a condition has this truth value."""
        facts = dict(self.facts)
        for cell, values in self.said(condition, truth).items():
            if cell[1] not in self.written:
                facts[cell] = facts.get(cell, values) & values
        return facts

    def said(self, condition: ast.expr, truth: bool) -> dict[Cell, frozenset[int]]:
        """The values of cells with which a condition can have this truth value; those of other cells may be any."""
        if self.truth(condition) is not None:
            return {}
        match condition:
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                return self.said(operand, not truth)
            case ast.BoolOp(op=operator, values=values):
                parts = [self.said(one, truth) for one in values if self.truth(one) is None]
                if isinstance(operator, ast.And) == truth:
                    return {
                        cell: frozenset.intersection(*(part[cell] for part in parts if cell in part))
                        for cell in {cell for part in parts for cell in part}
                    }
                return {
                    cell: frozenset.union(*(part[cell] for part in parts))
                    for cell in parts[0]
                    if all(cell in part for part in parts)
                }
            case ast.Compare(left=left, ops=[operator], comparators=[right]):
                test = self.test(operator, right)
                return {} if test is None else self.values(left, lambda value: test(value) == truth)
            case ast.Attribute() | ast.Subscript():
                return self.values(condition, lambda value: bool(value) == truth)
            case ast.Call(args=arguments) if (callee := self.function.callee(condition)) is not None:
                match callee.body:
                    case [ast.Return(value=ast.expr() as value)]:
                        return _Reading(self.reads, callee, *self.given(callee, arguments)).said(value, truth)
        return {}

    def values(self, expression: ast.expr, may_be: Callable[[int], bool]) -> dict[Cell, frozenset[int]]:
        """The values that a cell may have, if the expression names one whose indices are variables."""
        cell = self.place(expression) if isinstance(expression, ast.Attribute | ast.Subscript) else None
        if cell is None or None in cell[2]:
            return {}
        layout = self.instance.layouts[cell[1]]
        if layout.high - layout.low >= MOST_VALUES:
            return {}
        return {cell: frozenset(value for value in range(layout.low, layout.high + 1) if may_be(value))}


def indices_of(expression: ast.expr) -> list[ast.expr]:
    """The indices of a cell, in their order."""
    indices: list[ast.expr] = []
    while isinstance(expression, ast.Subscript):
        indices.insert(0, expression.slice)
        expression = expression.value
    return indices


COMPARE: dict[type[ast.cmpop], Callable[[int, int], bool]] = {
    ast.Eq: eq,
    ast.NotEq: ne,
    ast.Lt: lt,
    ast.LtE: le,
    ast.Gt: gt,
    ast.GtE: ge,
}

"""Which cells the functions of an instance read and write, and what is known of the state where they do.

In:  an `Instance`.
Out: for each of its actions, and for its predicates, a list of `Use`s.

The configuration is known, so what its settings exclude is not read. Where a cell is used, some cells may be known to
hold one of a few values, because a guard or another condition comes before: these are its *facts*. A fact is about the
state before the step. Only what the text says is understood: comparisons of a cell with numbers, `and`, `or`, `not`,
helpers that are one expression. Of everything else nothing is known, and all cells in it are read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, assert_never

from isrcheck.models.language.ir import nodes as ir
from isrcheck.models.language.ir.building import routine_of
from isrcheck.models.language.ir.determined import Determined
from isrcheck.models.language.ir.interpreter import SIGNS
from isrcheck.models.language.ir.walking import assigned, increase, operands, visit
from isrcheck.models.language.model import Instance

MOST_VALUES = 64
"""Of a field with more values, nothing is known."""

Index = ir.Variable | ir.Loop
"""What an index is: a parameter to which nothing assigns, the variable of a generator, or the number of a loop."""

Indices = tuple[Index | None, ...]
"""What each index is; None: something else."""

Place = tuple[ir.Variable, str, Indices]
"""A cell: the state, the field, and the indices, which are all known."""

Facts = Mapping[Place, frozenset[int]]
"""For some cells, values of which they hold one."""

Block = tuple[ir.Node, ...]
"""A branch or a loop: the calls that lead to it, and the node: a `Case`, a `Branch` (for its `else`), or a `Loop`."""


@dataclass(frozen=True)
class Use:
    """A cell that is read or written, the facts where this happens, and the place in the function; `blocks` are the
    branches and the loops around it. `into`: the read does nothing but copy the value into a cell of this field, which
    can hold it. Of a write, `value` is the number that is written, or the variable, if the text says it. `adds`: read
    and write of `s.x += 1` (+1), or `s.x -= 1` (-1)."""

    state: ir.Variable
    field: str
    indices: Indices
    facts: Facts
    span: ir.Span
    blocks: tuple[Block, ...]
    is_write: bool = False
    into: str | None = None
    value: int | Index | None = None
    adds: int = 0


class Reads:
    """What an instance reads and writes."""

    def __init__(self, instance: Instance) -> None:
        self.instance = instance
        self.determined = Determined(instance)
        self._known: dict[ir.Routine, tuple[Use, ...]] = {}

    @cached_property
    def actions(self) -> list[tuple[Use, ...]]:
        """The uses of cells in each action."""
        functions = map(self.instance.function, range(len(self.instance.model.actions)))
        return [self.of(routine_of(function)) for function in functions if function is not None]

    @cached_property
    def predicates(self) -> list[tuple[Use, ...]]:
        """The uses in everything that judges states and steps, or ends and bounds a search."""
        judging = [*self.instance.model.terminals, *self.instance.model.constraints]
        for prop in self.instance.properties:
            judging += [one for one in (prop.function, prop.permitted, prop.premise) if one is not None]
        return [self.of(routine_of(function)) for function in judging]

    def of(self, routine: ir.Routine) -> tuple[Use, ...]:
        """The uses of cells in a function and in its callees. Each function is read once."""
        if routine not in self._known:
            reading = _Reading(self, routine, {}, {})
            reading.block(routine.body)
            self._known[routine] = tuple(reading.uses)
        return self._known[routine]

    def count(self, index: Index) -> int:
        """How many numbers a loop goes through if they are 0, 1, ...; else 0."""
        if not isinstance(index, ir.Loop) or self.determined.number(index.range.first) != 0:
            return 0
        return max(0, self.determined.number(index.range.end) or 0)


class _Reading:
    """Reads one function. `indices` are its variables that are something else as an index than themselves, `states` its
    states that are those of a caller."""

    def __init__(
        self,
        reads: Reads,
        routine: ir.Routine,
        indices: Mapping[Index, Index | None],
        states: Mapping[ir.Variable, ir.Variable],
    ) -> None:
        self.reads = reads
        self.instance = reads.instance
        self.determined = reads.determined
        self.indices: dict[Index, Index | None] = {**indices, **dict.fromkeys(routine.assignments)}
        self.states = states
        self.uses: list[Use] = []
        self.facts: dict[Place, frozenset[int]] = {}
        self.blocks: tuple[Block, ...] = ()
        self.written: set[str] = set()

    # --------------------------------------------------------------------------------------------------- statements

    def block(self, statements: Iterable[ir.Statement]) -> bool:
        """Read statements in order, up to one after which nothing follows; whether there is such a one."""
        return any(self.statement(statement) for statement in statements)

    def statement(self, statement: ir.Statement) -> bool:
        match statement:
            case ir.Assign(_, value):
                self.expression(value)
            case ir.Store(cell) if (total := increase(statement)) is not None:
                adds = self.sign(total)
                self.use(cell, adds=adds)
                for term in total.terms[1:]:
                    self.expression(term.value)
                self.use(cell, is_write=True, adds=adds)
            case ir.Store(cell, value):
                self.expression(value, cell.field)
                number = self.determined.number(value)
                self.use(cell, is_write=True, value=self.index(value) if number is None else number)
            case ir.Branch():
                return self.branches(statement)
            case ir.Loop():
                self.loop(statement)
            case ir.Require(condition):
                self.expression(condition)
                self.facts = self.learnt(condition, True)
                return self.determined.truth(condition) is False
            case ir.Return(value):
                self.expression(value)
                return True
            case ir.Do(call):
                self.expression(call)
            case _:
                assert_never(statement)
        return False

    def branches(self, branch: ir.Branch) -> bool:
        known, blocks, ended = dict(self.facts), self.blocks, True
        for case in branch.cases:
            self.expression(case.condition)
            truth = self.determined.truth(case.condition)
            if truth is not False:
                before = dict(self.facts)
                self.facts = self.learnt(case.condition, True)
                self.blocks = (*blocks, (case,))
                ended = self.block(case.body) and ended
                self.facts, self.blocks = before, blocks
            if truth:
                self.facts = known
                return ended
            self.facts = self.learnt(case.condition, False)
        self.blocks = (*blocks, (branch,))
        ended_here = self.block(branch.otherwise)
        self.blocks = blocks
        if ended_here or not ended:  # otherwise, only who came through the last branch goes on
            self.facts = known
        return ended and ended_here

    def loop(self, loop: ir.Loop) -> None:
        for operand in operands(loop.range):
            self.expression(operand)
        self.written |= _written(loop.body)  # before a second iteration
        known, indices, blocks = dict(self.facts), self.indices, self.blocks
        if loop.variable not in assigned(loop.body):
            self.indices = {**indices, loop.variable: loop}
        self.blocks = (*blocks, (loop,))
        self.block(loop.body)
        self.facts, self.indices, self.blocks = known, indices, blocks

    # -------------------------------------------------------------------------------------------------- expressions

    def expression(self, expression: ir.Expression, into: str | None = None) -> None:
        """Read an expression, whose value is stored in a cell of the field `into` and used for nothing else, or is used
        in any way (None)."""
        match expression:
            case ir.And(parts) | ir.Or(parts):
                decisive = isinstance(expression, ir.Or)
                known = dict(self.facts)
                for one in parts:
                    self.expression(one)
                    if self.determined.truth(one) is decisive:
                        break  # what comes after it is not evaluated
                    self.facts = self.learnt(one, not decisive)
                self.facts = known
            case ir.Choose():
                self.choice(expression, into)
            case ir.Fold():
                self.fold(expression)
            case ir.Call(_, arguments):
                for argument in arguments:
                    self.expression(argument)
                self.call(expression)
            case ir.Cell():
                self.use(expression, into=self.held_by(into, expression.field))
            case (
                ir.Not()
                | ir.Compare()
                | ir.Chain()
                | ir.Among()
                | ir.Negative()
                | ir.Sum()
                | ir.Arithmetic()
                | ir.Extremum()
                | ir.Element()
            ):
                for operand in operands(expression):
                    self.expression(operand)
            case ir.Constant() | ir.Local() | ir.Setting() | ir.Size() | ir.IsTaken():
                pass
            case _:
                assert_never(expression)

    def choice(self, choice: ir.Choose, into: str | None) -> None:
        known = dict(self.facts)
        for option in choice.options:
            self.expression(option.condition)
            truth = self.determined.truth(option.condition)
            if truth is not False:
                before = dict(self.facts)
                self.facts = self.learnt(option.condition, True)
                self.expression(option.value, into)
                self.facts = before
            if truth:
                break
            self.facts = self.learnt(option.condition, False)
        else:
            self.expression(choice.otherwise, into)
        self.facts = known

    def fold(self, fold: ir.Fold) -> None:
        known = dict(self.facts)
        for generator in fold.generators:
            for operand in operands(generator.range):
                self.expression(operand)
            for condition in generator.conditions:
                self.expression(condition)
                self.facts = self.learnt(condition, True)
        self.expression(fold.body)
        self.facts = known
        if fold.default is not None:
            self.expression(fold.default)

    def call(self, call: ir.Call) -> None:
        """Read a call: what the callee does, with the caller's variables and states."""
        outer, states = self.given(call)

        def seen(indices: Indices) -> Indices:
            return tuple(None if one is None else outer.get(one, one) for one in indices)

        for use in self.reads.of(call.routine):
            facts = dict(self.facts)
            for (state, field, indices), values in use.facts.items():
                if None not in seen(indices) and field not in self.written:
                    place = states[state], field, seen(indices)
                    facts[place] = facts.get(place, values) & values
            blocks = (*self.blocks, *((call, *block) for block in use.blocks))
            value = outer.get(use.value, use.value) if isinstance(use.value, Index) else use.value
            place = states[use.state], use.field, seen(use.indices)
            self.uses.append(Use(*place, facts, call.span, blocks, use.is_write, use.into, value, use.adds))
        self.written |= call.routine.writes

    def given(self, call: ir.Call) -> tuple[dict[Index, Index | None], dict[ir.Variable, ir.Variable]]:
        """The indices and the states that a call gives to the parameters of the callee."""
        indices: dict[Index, Index | None] = {}
        states = {}
        for parameter, argument in zip(call.routine.parameters, call.arguments, strict=True):
            if parameter.role is ir.Role.STATE and isinstance(argument, ir.Local):
                states[parameter] = self.states.get(argument.variable, argument.variable)
            else:
                indices[parameter] = self.index(argument)
        return indices, states

    def held_by(self, into: str | None, field: str) -> str | None:
        """The field `into`, if its cells can hold all values of the other field."""
        layouts = self.instance.layouts
        if into is None or layouts[field].low < layouts[into].low or layouts[field].high > layouts[into].high:
            return None
        return into

    def sign(self, total: ir.Sum) -> int:
        """Whether a sum never is less than its first term (1), or never more (-1), as the text shows; else 0."""
        terms = total.terms[1:]
        signs = {-1 if term.is_subtracted else 1 for term in terms}
        numbers = [self.determined.number(term.value) for term in terms]
        return signs.pop() if len(signs) == 1 and all(one is not None and one >= 0 for one in numbers) else 0

    def use(self, cell: ir.Cell, *, is_write: bool = False, **what: Any) -> None:
        """Note that a cell is read or written, after its indices are read."""
        for index in cell.indices:
            self.expression(index)
        self.uses.append(Use(*self.place(cell), dict(self.facts), cell.span, self.blocks, is_write, **what))
        if is_write:
            self.written.add(cell.field)

    def place(self, cell: ir.Cell) -> Place:
        return self.states.get(cell.state, cell.state), cell.field, tuple(map(self.index, cell.indices))

    def index(self, expression: ir.Expression) -> Index | None:
        """What an index is."""
        match expression:
            case ir.Local(variable):
                return self.indices.get(variable, variable)
        return None

    # ---------------------------------------------------------------------------------------------- what is known

    def learnt(self, condition: ir.Expression, truth: bool) -> dict[Place, frozenset[int]]:
        """What is known of cells, which no statement has written yet, if a condition has this truth value."""
        facts = dict(self.facts)
        for place, values in self.said(condition, truth).items():
            if place[1] not in self.written:
                facts[place] = facts.get(place, values) & values
        return facts

    def said(self, condition: ir.Expression, truth: bool) -> dict[Place, frozenset[int]]:
        """The values of cells with which a condition can have this truth value; those of other cells may be any."""
        if self.determined.truth(condition) is not None:
            return {}
        match condition:
            case ir.Not(operand):
                return self.said(operand, not truth)
            case ir.And(operands) | ir.Or(operands):
                parts = [self.said(one, truth) for one in operands if self.determined.truth(one) is None]
                if isinstance(condition, ir.And) == truth:
                    return {
                        place: frozenset.intersection(*(part[place] for part in parts if place in part))
                        for place in dict.fromkeys(place for part in parts for place in part)
                    }
                return {
                    place: frozenset.union(*(part[place] for part in parts))
                    for place in parts[0]
                    if all(place in part for part in parts)
                }
            case ir.Compare(left, sign, right):
                number = self.determined.number(right)
                return {} if number is None else self.values(left, lambda value: SIGNS[sign](value, number) == truth)
            case ir.Among(element, choices):
                numbers = [self.determined.number(one) for one in choices]
                return {} if None in numbers else self.values(element, lambda value: (value in numbers) == truth)
            case ir.Cell():
                return self.values(condition, lambda value: bool(value) == truth)
            case ir.Call(ir.Routine(body=(ir.Return(value),)) as routine) as call:
                return _Reading(self.reads, routine, *self.given(call)).said(value, truth)
        return {}

    def values(self, expression: ir.Expression, may_be: Callable[[int], bool]) -> dict[Place, frozenset[int]]:
        """The values that a cell may have, if the expression is one whose indices are variables."""
        if not isinstance(expression, ir.Cell):
            return {}
        place, layout = self.place(expression), self.instance.layouts[expression.field]
        if None in place[2] or layout.high - layout.low >= MOST_VALUES:
            return {}
        return {place: frozenset(value for value in range(layout.low, layout.high + 1) if may_be(value))}


def _written(statements: Iterable[ir.Statement]) -> set[str]:
    """The fields to which statements, or what they call, may write."""

    def fields(node: ir.Node) -> Iterable[str]:
        match node:
            case ir.Cell(_, field):
                return (field,)
            case ir.Call(routine):
                return routine.writes
        return ()

    return {field for node in visit(statements) for field in fields(node)}

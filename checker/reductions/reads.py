"""Which cells the functions of an instance read and write, and what is known about the state at each such place.

The configuration is known, so code that its settings exclude is skipped. At a place where a cell is read or written,
other cells may be known to hold one of a few values, because of a guard or another condition before it: these are the
*facts* of this place. A fact is about the state before the step. Facts come only from comparisons of a cell with
numbers, joined by `and`, `or` and `not`, also in helpers that are one expression. Other expressions yield no facts; all
cells in them count as read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, assert_never

from isrcheck.models.language.interpreter import SIGNS, Determined
from isrcheck.models.language.ir import nodes as ir
from isrcheck.models.language.ir.nodes import assigned, increase, operands, visit
from isrcheck.models.language.model import Instance

MOST_VALUES = 64
"""The most values of a field for which facts are kept."""

Index = ir.Variable | ir.Loop
"""The origin of an index: a parameter without assignments, a generator's variable, or the number of a loop."""

Indices = tuple[Index | None, ...]
"""The origins of the indices of a cell; None for an index of any other origin."""

Place = tuple[ir.Variable, str, Indices]
"""A cell: the state, the field, and the origins of the indices, none of which is None."""

Names = Mapping[Any, Any]
"""For variables of a function, what the caller passes: an index, a state of the caller, or something else (None)."""

Facts = Mapping[Place, frozenset[int]]
"""For some cells, a set of values that contains the value of the cell."""

Block = tuple[ir.Node, ...]
"""A branch or a loop: the calls that lead to it, and the node: a `Case`, a `Branch` (for its `else`), or a `Loop`."""


@dataclass(frozen=True)
class Use:
    """One place of a function where a cell is read or written, with the facts that hold there."""

    state: ir.Variable
    field: str
    indices: Indices
    facts: Facts
    span: ir.Span
    blocks: tuple[Block, ...]
    """The branches and the loops around it."""
    is_write: bool = False
    into: str | None = None
    """The field of the cell into which the read copies the value, and does nothing else; that cell can hold it."""
    value: int | Index | None = None
    """The number that is written, or the variable, if the text says it."""
    adds: int = 0
    """For the read and the write of `s.x += 1` or `s.x -= 1`: 1 or -1."""


class Reads:
    """Finds the places where the functions of an instance read and write cells."""

    def __init__(self, instance: Instance) -> None:
        self.instance = instance
        self.determined = Determined(instance)
        self._known: dict[ir.Routine, tuple[Use, ...]] = {}

    @cached_property
    def actions(self) -> list[tuple[Use, ...]]:
        """For each action, the places where it reads and writes cells."""
        functions = map(self.instance.function, range(len(self.instance.model.actions)))
        return [self.of(function.routine) for function in functions if function is not None]

    @property
    def judges(self) -> list[ir.Routine]:
        """The functions that are no actions: properties, their premises and permissions, @terminal, @constraint."""
        functions = [*self.instance.model.terminals, *self.instance.model.constraints]
        for prop in self.instance.properties:
            functions += [one for one in (prop.function, prop.permitted, prop.premise) if one is not None]
        return [one.routine for one in functions]

    @cached_property
    def predicates(self) -> list[tuple[Use, ...]]:
        """For each function of `judges`, the places where it reads cells."""
        return list(map(self.of, self.judges))

    def of(self, routine: ir.Routine) -> tuple[Use, ...]:
        """The places where a function, and the functions that it calls, read and write cells."""
        if routine not in self._known:
            reading = _Reading(self, routine, {})
            reading.block(routine.body)
            self._known[routine] = tuple(reading.uses)
        return self._known[routine]

    def count(self, index: Index) -> int:
        """Return the number of iterations if `index` is a loop that starts at 0 and has a known end; otherwise 0."""
        if not isinstance(index, ir.Loop) or self.determined.number(index.range.first) != 0:
            return 0
        return max(0, self.determined.number(index.range.end) or 0)


class _Reading:
    """Goes through the text of a function, and collects in `uses` where it reads and writes cells. `names` maps
    variables of the function to what its caller passes; other variables stand for themselves."""

    def __init__(self, reads: Reads, routine: ir.Routine, names: Names) -> None:
        self.reads = reads
        self.instance = reads.instance
        self.determined = reads.determined
        self.names: Names = {**names, **dict.fromkeys(routine.assignments)}
        self.uses: list[Use] = []
        self.facts: Facts = {}
        self.blocks: tuple[Block, ...] = ()
        self.written: set[str] = set()

    # --------------------------------------------------------------------------------------------------- statements

    def block(self, statements: Iterable[ir.Statement]) -> bool:
        """Go through statements in order, up to one that surely ends the function; return whether there is one."""
        return any(map(self.statement, statements))

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
            case ir.Branch(cases, otherwise):
                options = [(case.condition, partial(self.inside, case, case.body)) for case in cases]
                return self.alternatives(options, partial(self.inside, statement, otherwise))
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
            case ir.CollectiveStatement():
                raise ir.NotInTheCoreError(statement.span.place)
            case _:
                assert_never(statement)
        return False

    def inside(self, node: ir.Node, statements: Iterable[ir.Statement]) -> bool:
        blocks = self.blocks
        self.blocks = (*blocks, (node,))
        ended = self.block(statements)
        self.blocks = blocks
        return ended

    def alternatives(
        self, options: Sequence[tuple[ir.Expression, Callable[[], bool | None]]], otherwise: Callable[[], bool | None]
    ) -> bool:
        """Go through the code of each option (a condition and its code), with the facts that its condition is true and
        all earlier conditions are false; then through `otherwise`. Return whether all of them end the function."""
        facts, ended = self.facts, True
        for condition, read in options:
            self.expression(condition)
            truth = self.determined.truth(condition)
            if truth is not False:
                before, self.facts = self.facts, self.learnt(condition, True)
                ended = bool(read()) and ended
                self.facts = before
            if truth:
                break
            self.facts = self.learnt(condition, False)
        else:
            ended_here = bool(otherwise())
            if ended and not ended_here:
                return False  # only the last branch continues, so its facts remain known
            ended = ended and ended_here
        self.facts = facts
        return ended

    def loop(self, loop: ir.Loop) -> None:
        self.operands(loop.range)
        self.written |= _touched(loop.body)  # before a second iteration
        facts, names = self.facts, self.names
        if loop.variable not in assigned(loop.body):
            self.names = {**names, loop.variable: loop}
        self.inside(loop, loop.body)
        self.facts, self.names = facts, names

    # -------------------------------------------------------------------------------------------------- expressions

    def operands(self, node: ir.Expression | ir.Range) -> None:
        for operand in operands(node):
            self.expression(operand)

    def expression(self, expression: ir.Expression, into: str | None = None) -> None:
        """Go through an expression. If `into` names a field, the value is only copied to a cell of that field; without
        `into`, the value may be used in any way."""
        facts = self.facts
        match expression:
            case ir.And(parts) | ir.Or(parts):
                decisive = isinstance(expression, ir.Or)
                for part in parts:
                    self.expression(part)
                    if self.determined.truth(part) is decisive:
                        break  # what comes after it is not evaluated
                    self.facts = self.learnt(part, not decisive)
            case ir.Choose(options, otherwise):
                pairs = [(option.condition, partial(self.expression, option.value, into)) for option in options]
                self.alternatives(pairs, partial(self.expression, otherwise, into))
            case ir.Fold(_, generators, body, default):
                for generator in generators:
                    self.operands(generator.range)
                    for condition in generator.conditions:
                        self.expression(condition)
                        self.facts = self.learnt(condition, True)
                self.expression(body)
                self.facts = facts
                if default is not None:
                    self.expression(default)
            case ir.Call():
                self.operands(expression)
                self.call(expression)
            case ir.Cell():
                self.use(expression, into=self.held_by(into, expression.field))
            case (ir.Not() | ir.Compare() | ir.Chain() | ir.Among() | ir.Element() | ir.Constant() | ir.Local()) | (
                ir.Negative() | ir.Sum() | ir.Arithmetic() | ir.Extremum() | ir.Setting() | ir.Size() | ir.IsTaken()
            ):
                self.operands(expression)
            case ir.CollectiveExpression():
                raise ir.NotInTheCoreError(expression.span.place)
            case _:
                assert_never(expression)
        self.facts = facts

    def call(self, call: ir.Call) -> None:
        """Go through a call: add the cells that the called function uses, in terms of the caller's variables."""
        names = self.given(call)

        def seen(state: ir.Variable, field: str, indices: Indices) -> Place:
            return names[state], field, tuple(names.get(index, index) for index in indices)

        for use in self.reads.of(call.routine):
            self.uses.append(
                Use(
                    *seen(use.state, use.field, use.indices),
                    self.also((seen(*place), values) for place, values in use.facts.items()),
                    call.span,
                    (*self.blocks, *((call, *block) for block in use.blocks)),
                    use.is_write,
                    use.into,
                    names.get(use.value, use.value),
                    use.adds,
                )
            )
        self.written |= call.routine.writes

    def given(self, call: ir.Call) -> Names:
        """Map each parameter of the called function to the origin of the passed argument, which `index` returns."""
        return dict(zip(call.routine.parameters, map(self.index, call.arguments), strict=True))

    def held_by(self, into: str | None, field: str) -> str | None:
        """The field `into`, if its cells can hold all values of `field`; otherwise None."""
        layouts = self.instance.layouts
        if into is None or layouts[field].low < layouts[into].low or layouts[field].high > layouts[into].high:
            return None
        return into

    def sign(self, total: ir.Sum) -> int:
        """1 if all terms after the first are added, -1 if all are subtracted; 0 if mixed, or if one may be negative."""
        terms = total.terms[1:]
        signs = {-1 if term.is_subtracted else 1 for term in terms}
        numbers = [self.determined.number(term.value) for term in terms]
        return signs.pop() if len(signs) == 1 and all(one is not None and one >= 0 for one in numbers) else 0

    def use(self, cell: ir.Cell, *, is_write: bool = False, **what: Any) -> None:
        self.operands(cell)
        self.uses.append(Use(*self.place(cell), self.facts, cell.span, self.blocks, is_write, **what))
        if is_write:
            self.written.add(cell.field)

    def place(self, cell: ir.Cell) -> Place:
        return self.names.get(cell.state, cell.state), cell.field, tuple(map(self.index, cell.indices))

    def index(self, expression: ir.Expression) -> Any:
        """The origin of an index or an argument: a variable, a loop, or a state of the caller; None for any other."""
        match expression:
            case ir.Local(variable):
                return self.names.get(variable, variable)
        return None

    # ------------------------------------------------------------------------------------------------------ facts

    def also(self, facts: Iterable[tuple[Place, frozenset[int]]]) -> Facts:
        """The facts at this place, and the given `facts` except facts about fields that are already written."""
        joined = dict(self.facts)
        for place, values in facts:
            if place[1] not in self.written and None not in place[2]:
                joined[place] = joined.get(place, values) & values
        return joined

    def learnt(self, condition: ir.Expression, truth: bool) -> Facts:
        return self.also(self.said(condition, truth).items())

    def said(self, condition: ir.Expression, truth: bool) -> Facts:
        """The facts that follow from a condition's truth value: for some cells, the values that they may then have."""
        if self.determined.truth(condition) is not None:
            return {}
        match condition:
            case ir.Not(operand):
                return self.said(operand, not truth)
            case ir.And(operands) | ir.Or(operands):
                parts = [self.said(one, truth) for one in operands if self.determined.truth(one) is None]
                places = dict.fromkeys(place for part in parts for place in part)
                join: Callable[..., frozenset[int]] = frozenset.intersection
                if isinstance(condition, ir.And) != truth:  # a cell that one part leaves open is open for the whole
                    places = {one: None for one in places if all(one in part for part in parts)}
                    join = frozenset.union
                return {one: join(*(part[one] for part in parts if one in part)) for one in places}
            case ir.Compare(left, sign, right):
                number = self.determined.number(right)
                return {} if number is None else self.values(left, lambda value: SIGNS[sign](value, number) == truth)
            case ir.Among(element, choices):
                numbers = [self.determined.number(one) for one in choices]
                return {} if None in numbers else self.values(element, lambda value: (value in numbers) == truth)
            case ir.Cell():
                return self.values(condition, lambda value: bool(value) == truth)
            case ir.Call(ir.Routine(body=(ir.Return(value),)) as routine):
                return _Reading(self.reads, routine, self.given(condition)).said(value, truth)
        return {}

    def values(self, expression: ir.Expression, may_be: Callable[[int], bool]) -> Facts:
        """If the expression is a cell, the fact that its value satisfies `may_be`; otherwise no facts."""
        if not isinstance(expression, ir.Cell):
            return {}
        layout = self.instance.layouts[expression.field]
        if layout.high - layout.low >= MOST_VALUES:
            return {}
        return {self.place(expression): frozenset(filter(may_be, range(layout.low, layout.high + 1)))}


def _touched(statements: Iterable[ir.Statement]) -> set[str]:
    """The fields that the statements read or write, and the fields that functions called by them write."""
    nodes = list(visit(statements))
    called = (node.routine.writes for node in nodes if isinstance(node, ir.Call))
    return {node.field for node in nodes if isinstance(node, ir.Cell)}.union(*called)

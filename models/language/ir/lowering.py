"""Makes the core of a function: replaces the operations on sets and queues by reads and writes of cells.

In:  statements or expressions as they are written (the collective nodes of nodes.py).
Out: their form in the core: `x in s.isr[p]` becomes the cell `s.isr[p][x]`, whose index is out of range if `x` is
     outside the domain; `len(s.isr)` becomes a sum over the domain; a loop over a set becomes a loop over the domain,
     which tests, at each element, whether the set contains it. The length of a queue is its number of cells that differ
     from the filler. A forbidden operation on a queue uses the index `most`, outside the array: `s.q[i]` is read at
     `i if s.q[i] != filler else most`, and an element is appended at index len(s.q), which is `most` for a full queue.

A new node has the same place in the text as the node that it replaces. models/language/states.py has the same
operations for CPython; the tests of the fuzzer compare both.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TypeVar

from isrcheck.models.language.declarations import Domain
from isrcheck.models.language.ir import nodes as ir
from isrcheck.models.language.ir.nodes import assigned, assignments, fold, rewrite, visit

N = TypeVar("N", bound=ir.Node)


def lowered(parameters: Iterable[ir.Variable], written: tuple[ir.Statement, ...]) -> tuple[ir.Statement, ...]:
    """Return the core of a function's statements, in which sets and queues are cells."""
    return _Lowering(parameters, written).block(written)


def size_of_core(written: Iterable[ir.Statement]) -> int:
    """Return an upper estimate of the number of nodes in the core of the statements. In the core, an operand of an
    operation on a queue or set may occur twice."""

    def size(node: ir.Node, sizes: Sequence[int]) -> int:
        match node:
            case ir.InDomain() | ir.IsIn(collection=ir.Collection(filler=None)):  # its operands occur once
                return 1 + sum(sizes)
            case ir.CollectiveExpression():
                return 10 + 2 * sum(sizes)
        return 1 + sum(sizes)

    return sum(fold(statement, size) for statement in written)


def elements_of(domain: type[Domain], span: ir.Span) -> ir.Range:
    """Return the range 0..size-1 of a domain's elements, as a node."""
    return ir.Range(ir.Constant(0, span=span), ir.Size(domain, span=span), span=span)


def lowered_expression(expression: ir.Expression) -> ir.Expression:
    """Return the core of an expression: the expression with reads of cells in place of sets and queues."""
    return _Lowering((), ()).core(expression)


class _Lowering:
    def __init__(self, parameters: Iterable[ir.Variable], written: Sequence[ir.Statement]) -> None:
        self.assignments = Counter(parameters) + Counter(assignments(written))
        own = (node.variable for node in visit(written) if isinstance(node, ir.Generator))
        self.names = {variable.name for variable in (*self.assignments, *own)}

    def fresh(self, word: str) -> ir.Variable:
        """Return a new variable. Its name begins with `word` and is not used in the function yet."""
        number = 1
        while f"{word}_{number}" in self.names:
            number += 1
        self.names.add(f"{word}_{number}")
        return ir.Variable(f"{word}_{number}")

    # ------------------------------------------------------------------------------------------------------ expressions

    def core(self, node: N) -> N:
        """Return the core of an expression, of a part of a statement, or of a statement without statements in it."""
        return rewrite(node, self._core)

    def _core(self, node: ir.Node) -> ir.Node:
        if not isinstance(node, ir.CollectiveExpression):
            return node
        span = node.span
        match node:
            case ir.InDomain(element, domain):
                links = (
                    ir.Link(ir.Sign.AT_MOST, element, span=element.span),
                    ir.Link(ir.Sign.LESS, ir.Size(domain, span=span), span=span),
                )
                return ir.Chain(ir.Constant(0, span=span), links, span=span)
            case ir.IsIn(element, collection) if collection.filler is None:
                return _cell(collection, element, span)
            case ir.IsIn(element, collection):
                place = self.fresh("place")
                same = ir.Compare(_cell(collection, place, span), ir.Sign.EQUAL, copied(element), span=span)
                is_element = ir.Compare(element, ir.Sign.NOT_EQUAL, _filler(collection, span), span=span)
                # The queue is read first: its indices are checked whatever the element is, as in CPython.
                return ir.And((_fold(ir.Gathering.ANY, place, collection, same, span), is_element), span=span)
            case ir.Length(collection) if collection.filler is None:
                number = self.fresh("element")
                return _fold(ir.Gathering.SUM, number, collection, _cell(collection, number, span), span)
            case ir.Length(collection):
                return self._length(collection, span)
            case ir.SetComparison(left, sign, right):
                return self._compared(left, sign, right, span)
            case ir.QueueElement(queue, index):
                return _cell(queue, _used_place(queue, index, span), span)
        raise NotImplementedError(type(node).__name__)

    def _length(self, queue: ir.Collection, span: ir.Span) -> ir.Expression:
        place = self.fresh("place")
        return _fold(ir.Gathering.SUM, place, queue, ir.Constant(1, span=span), span, _is_used(queue, place, span))

    def _compared(self, left: ir.Collection, sign: ir.Sign, right: ir.Collection, span: ir.Span) -> ir.Expression:
        if sign in (ir.Sign.GREATER, ir.Sign.AT_LEAST):
            left, right = right, left
        if sign is ir.Sign.EQUAL:
            return self._for_all(left, ir.Sign.EQUAL, right, span)
        if sign is ir.Sign.NOT_EQUAL:
            return ir.Not(self._for_all(left, ir.Sign.EQUAL, right, span), span=span)
        is_part = self._for_all(left, ir.Sign.AT_MOST, right, span)
        if sign in (ir.Sign.AT_MOST, ir.Sign.AT_LEAST):
            return is_part
        return ir.And((is_part, ir.Not(self._for_all(left, ir.Sign.EQUAL, right, span), span=span)), span=span)

    def _for_all(self, left: ir.Collection, sign: ir.Sign, right: ir.Collection, span: ir.Span) -> ir.Expression:
        number = self.fresh("element")
        both = ir.Compare(_cell(left, number, span), sign, _cell(right, number, span), span=span)
        return _fold(ir.Gathering.ALL, number, left, both, span)

    # ------------------------------------------------------------------------------------------------------- statements

    def block(self, statements: Iterable[ir.Statement]) -> tuple[ir.Statement, ...]:
        """Return the core of the statements."""
        return tuple(core for statement in statements for core in self.statement(statement))

    def statement(self, statement: ir.Statement) -> list[ir.Statement]:
        """Return the statements of the core that replace one statement."""
        match statement:
            case ir.Branch(cases, otherwise):
                lowered_cases = (
                    replace(case, condition=self.core(case.condition), body=self.block(case.body)) for case in cases
                )
                return [replace(statement, cases=tuple(lowered_cases), otherwise=self.block(otherwise))]
            case ir.Loop(_, numbers, body):
                return [replace(statement, range=self.core(numbers), body=self.block(body))]
            case ir.SetLoop():
                return self._set_loop(statement)
            case ir.CollectiveStatement():
                before: list[ir.Statement] = []
                after = self._changed(statement, before)
                return [*before, *after]
        return [self.core(statement)]

    def _set_loop(self, loop: ir.SetLoop) -> list[ir.Statement]:
        # As in Python, the loop's variable keeps the last element after the loop.
        span, variable = loop.span, loop.variable
        before: list[ir.Statement] = []
        collection = self._bound(loop.collection, before, assigned([loop]))
        is_only_here = self.assignments[variable] == 1
        element = variable if is_only_here else self.fresh("element")
        body = self.block(loop.body)
        if not is_only_here:
            body = ir.Assign(variable, ir.Local(element, span=span), span=span), *body
        is_in = _cell(collection, element, collection.span)
        test = ir.Branch((ir.Case(is_in, body, span=span),), (), span=span)
        return [*before, ir.Loop(element, elements_of(collection.domain, collection.span), (test,), span=span)]

    def _changed(self, statement: ir.CollectiveStatement, before: list[ir.Statement]) -> list[ir.Statement]:
        """Return the statements of the core for a change of a set or queue. Assignments that must run before the change
        are appended to `before`."""
        span = statement.span
        match statement:
            case ir.SetChange(collection, element, is_added):
                row = self.core(collection)
                return [_store(row, self.core(element), ir.Constant(is_added, span=span), span)]
            case ir.CopySet(collection, source):
                row, other = self._bound(collection, before), self._bound(source, before)
                number = self.fresh("element")
                return [_loop(row, number, _cell(other, number, span), span)]
            case ir.FillSet(collection, elements):
                kept = [self._kept(self.core(element), before) for element in elements]
                row = self._bound(collection, before)
                added = [_store(row, element, ir.Constant(True, span=span), span) for element in kept]
                return [self._emptied(row, span), *added]
            case ir.Clear(collections):
                return [self._emptied(row, span) for row in self._rows(collections, before)]
            case ir.Append(queues, values):
                kept = [self._kept(self.core(value), before) for value in values]
                return [
                    self._appended(row, value, span)
                    for row, value in zip(self._rows(queues, before), kept, strict=True)
                ]
            case ir.TakeFirst(queues, variable):
                rows = self._rows(queues, before, () if variable is None else (variable,))
                return [part for row in rows for part in self._first_taken(row, variable, span)]
        raise NotImplementedError(type(statement).__name__)

    def _rows(
        self, collections: Sequence[ir.Collection], before: list[ir.Statement], changing: Iterable[ir.Variable] = ()
    ) -> list[ir.Collection]:
        first = self._bound(collections[0], before, changing)
        return [replace(each, indices=first.indices) for each in collections]

    def _bound(
        self, collection: ir.Collection, before: list[ir.Statement], changing: Iterable[ir.Variable] = ()
    ) -> ir.Collection:
        """Return the collection with indices that keep their present values, even if later statements change the state
        or a variable in `changing`. Assignments that save these values in new locals are appended to `before`."""
        indices = tuple(self._kept(self.core(index), before, changing) for index in collection.indices)
        return replace(collection, indices=indices)

    def _kept(
        self, value: ir.Expression, before: list[ir.Statement], changing: Iterable[ir.Variable] = ()
    ) -> ir.Expression:
        """Return an expression that keeps the present value of `value`. If later statements may change the value, an
        assignment of the value to a new local is appended to `before`, and the returned expression is this local."""
        match value:
            case ir.Constant():
                return value
            case ir.Local(variable) if variable not in changing:
                return value
        kept = self.fresh("value")
        before.append(ir.Assign(kept, value, span=value.span))
        return ir.Local(kept, span=value.span)

    def _emptied(self, row: ir.Collection, span: ir.Span) -> ir.Statement:
        word, value = (
            ("element", ir.Constant(False, span=span)) if row.filler is None else ("place", _filler(row, span))
        )
        return _loop(row, self.fresh(word), value, span)

    def _appended(self, queue: ir.Collection, value: ir.Expression, span: ir.Span) -> ir.Statement:
        is_element = ir.Compare(value, ir.Sign.NOT_EQUAL, _filler(queue, span), span=span)
        option = ir.Option(is_element, self._length(queue, span), span=span)
        return _store(queue, ir.Choose((option,), ir.Size(queue.domain, span=span), span=span), copied(value), span)

    def _first_taken(self, queue: ir.Collection, variable: ir.Variable | None, span: ir.Span) -> list[ir.Statement]:
        first = _used_place(queue, ir.Constant(0, span=span), span)
        taken: ir.Statement = _store(queue, first, _filler(queue, span), span)
        if variable is not None:
            taken = ir.Assign(variable, _cell(queue, first, span), span=span)
        here, last = self.fresh("place"), _next_to(ir.Size(queue.domain, span=span), True, span)
        following = _next_to(ir.Local(here, span=span), False, span)
        shift = _store(queue, ir.Local(here, span=span), _cell(queue, following, span), span)
        loop = ir.Loop(here, ir.Range(ir.Constant(0, span=span), last, span=span), (shift,), span=span)
        return [taken, loop, _store(queue, copied(last), _filler(queue, span), span)]


def _next_to(number: ir.Expression, is_below: bool, span: ir.Span) -> ir.Sum:
    """Return `number` - 1 if `is_below` is true, and otherwise `number` + 1."""
    step = ir.Term(ir.Constant(1, span=span), is_below, span=span)
    return ir.Sum((ir.Term(number, False, span=span), step), span=span)


def copied(node: N) -> N:
    """Return a copy of a node and of all nodes in it, because a node must not be at two places of a function."""
    return rewrite(node, replace)


def _cell(collection: ir.Collection, element: ir.Expression | ir.Variable, span: ir.Span) -> ir.Cell | ir.Element:
    """Return the cell for an element of a set, or for a place of a queue. A subset that is a parameter of the function
    has no cells: the returned node tests whether the subset contains the element."""
    index = ir.Local(element, span=span) if isinstance(element, ir.Variable) else element
    if not collection.field:
        return ir.Element(collection.holder, index, span=span)
    indices = *map(copied, collection.indices), index
    return ir.Cell(collection.holder, collection.field, indices, span=span)


def _store(collection: ir.Collection, element: ir.Expression, value: ir.Expression, span: ir.Span) -> ir.Store:
    cell = _cell(collection, element, span)
    assert isinstance(cell, ir.Cell), "a subset is not written"
    return ir.Store(cell, value, span=span)


def _loop(collection: ir.Collection, variable: ir.Variable, value: ir.Expression, span: ir.Span) -> ir.Loop:
    write = _store(collection, ir.Local(variable, span=span), value, span)
    return ir.Loop(variable, elements_of(collection.domain, span), (write,), span=span)


def _fold(
    gathering: ir.Gathering,
    variable: ir.Variable,
    collection: ir.Collection,
    body: ir.Expression,
    span: ir.Span,
    *conditions: ir.Expression,
) -> ir.Fold:
    generator = ir.Generator(variable, elements_of(collection.domain, span), conditions, span=span)
    return ir.Fold(gathering, (generator,), body, span=span)


def _filler(collection: ir.Collection, span: ir.Span) -> ir.Constant:
    assert collection.filler is not None
    return ir.Constant(collection.filler, span=span)


def _is_used(queue: ir.Collection, place: ir.Expression | ir.Variable, span: ir.Span) -> ir.Compare:
    return ir.Compare(_cell(queue, place, span), ir.Sign.NOT_EQUAL, _filler(queue, span), span=span)


def _used_place(queue: ir.Collection, place: ir.Expression, span: ir.Span) -> ir.Choose:
    """Return an expression whose value is `place` if the queue has an element there, and otherwise an index outside the
    array."""
    option = ir.Option(_is_used(queue, place, span), copied(place), span=place.span)
    return ir.Choose((option,), ir.Size(queue.domain, span=span), span=span)

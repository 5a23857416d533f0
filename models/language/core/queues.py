"""Writes the operations of queues in the core of the modelling language, as reads and writes of cells.

In:  nodes of a syntax tree; models/language/core/rewriting.py goes through the tree.
Out: nodes of the core that mean the same. The length is the number of cells without the filler. What a queue does not
     allow is an index outside the array: an element is read at `i if s.q[i] != filler else most`, and appended at the
     place of the length, which a full queue does not have.

models/language/core/views.py has the same operations for CPython.
"""

from __future__ import annotations

import ast
from dataclasses import replace
from typing import NoReturn

from isrcheck.models.language.core.containers import (
    QUEUE_IS,
    ContainerRewriting,
    Row,
    called,
    name,
    original,
    original_places,
)

QUEUE_CHANGES = "{0}.append(x), {0}.popleft(), x = {0}.popleft(), or {0}.clear()"
CHANGES = {"append": 1, "popleft": 0, "clear": 0}
"""The statements that change a queue, with their numbers of arguments."""

GONE_THROUGH = "write: for i in range(len({0})), and {0}[i]"


class QueueRewriting(ContainerRewriting):
    """Rewrites the operations of queues; those of sets are left to its base class."""

    def queues_of_parts(self, node: ast.AST) -> dict[str, Row]:
        """The queues of the parts of a queue of records; none for another expression."""
        inner, indices = self.unwrapped(node)
        name_, group = self.group(inner)
        if group is None or group.queue is None or len(indices) != len(group.over) or not isinstance(node, ast.expr):
            return {}
        assert isinstance(inner, ast.Attribute)
        given, found = tuple(map(self.node, indices)), {}
        for part in group.parts:
            attribute = f"{name_}.{part}"
            contents, _ = self.scope.contents[attribute]
            base = ast.copy_location(ast.Attribute(inner.value, attribute, ast.Load()), inner)
            row = self._row(node, base, given, group.queue.axis, attribute)
            found[part] = replace(row, filler=contents.filler)
        return found

    def queue(self, node: ast.AST) -> Row | None:
        """The queue that an expression is; None if it is none. For a queue of records, that of their first parts."""
        parts = self.queues_of_parts(node)
        if parts:
            return next(iter(parts.values()))
        row = self.row(node)
        return row if row is not None and row.filler is not None else None

    # ------------------------------------------------------------------------------------------------------ expressions

    def contained(self, node: ast.expr) -> ast.expr | None:
        """An expression about queues or sets in the core; None if this node is no such expression."""
        found: ast.expr | None = None
        match node:
            case ast.Compare(left=left, ops=[*signs], comparators=[*others]):
                row = self.queue(others[0])
                is_record = bool(self.queues_of_parts(others[0]))
                if row is not None and not is_record and len(signs) == 1 and isinstance(signs[0], ast.In | ast.NotIn):
                    found = self._is_in(node, self.node(left), row)
                    found = found if isinstance(signs[0], ast.In) else ast.UnaryOp(ast.Not(), found)
                elif any(self.queue(side) is not None for side in (left, *others)):
                    hint = "compare len(...) and the elements"
                    self.scope.refuse(node, f"`{ast.unparse(node)}` compares a queue", hint)
            case ast.Call(func=ast.Name(id="len"), args=[argument], keywords=[]):
                row = self.queue(argument)
                if row is not None:
                    found = self._count(node, row)
            case ast.Call(func=ast.Attribute(value=value, attr=attribute)):
                row = self.queue(value)
                if row is not None:
                    self._refuse_change(node, row, attribute, is_statement=False)
            case ast.Attribute() | ast.Subscript() if self.is_element(node):
                found = self._element(node)
            case ast.Attribute() | ast.Subscript():
                self._refuse_queue(node)
        return super().contained(node) if found is None else original(found, node)

    def _refuse_queue(self, node: ast.expr) -> None:
        if self.queue(node) is not None:
            text = ast.unparse(node)
            hint = f"a queue is read by {QUEUE_IS.format(text)}"
            self.scope.refuse(node, f"the queue `{text}` is used as a value", hint)

    def _refuse_change(self, node: ast.AST, row: Row, attribute: str, *, is_statement: bool) -> NoReturn:
        text = ast.unparse(row.written)
        hint = f"a queue is changed by {QUEUE_CHANGES.format(text)}"
        what = f"a queue has no `{attribute}`"
        if attribute in CHANGES and is_statement:
            count = CHANGES[attribute]
            what = f"`{attribute}` takes {count} element{'s' * (count != 1)}"
        elif attribute == "popleft":
            what, hint = f"`{text}.popleft()` is a part of an expression", f"write x = {text}.popleft() before"
        elif attribute in CHANGES:
            what, hint = f"`{text}.{attribute}(...)` is used as a value", "write it as a statement of its own"
        self.scope.refuse(node, what, hint)

    def _is_used(self, row: Row, place: ast.expr) -> ast.expr:
        return ast.Compare(row.cell(place), [ast.NotEq()], [self._filler(row)])

    def _filler(self, row: Row) -> ast.expr:
        assert row.filler is not None
        return ast.Constant(row.filler) if row.filler >= 0 else ast.UnaryOp(ast.USub(), ast.Constant(-row.filler))

    def _element(self, node: ast.expr) -> ast.expr:
        """An element of a queue; where there is none, an index outside the array."""
        inner, indices = self.unwrapped(node)
        assert isinstance(inner, ast.Attribute)
        *given, place = map(self.node, indices)
        contents, _ = self.scope.contents[inner.attr]
        row = replace(self._row(node, inner, tuple(given), contents.axis, inner.attr), filler=contents.filler)
        return row.cell(ast.IfExp(self._is_used(row, place), place, row.size))

    def _count(self, node: ast.AST, row: Row) -> ast.expr:
        self.need(node, "len", "sum", "range")
        place = self.scope.fresh("place")
        test = self._is_used(row, name(place))
        loop = ast.comprehension(ast.Name(place, ast.Store()), called("range", row.size), [test], 0)
        return called("sum", ast.GeneratorExp(ast.Constant(1), [loop]))

    def _is_in(self, node: ast.AST, element: ast.expr, row: Row) -> ast.expr:
        self.need(node, "any", "len", "range")
        place = self.scope.fresh("place")
        same = ast.Compare(row.cell(name(place)), [ast.Eq()], [element])
        is_element = ast.Compare(element, [ast.NotEq()], [self._filler(row)])
        return ast.BoolOp(ast.And(), [is_element, self._fold("any", same, place, row)])

    def gone_through(self, part: ast.comprehension, later: set[str]) -> ast.comprehension | None:
        """A part of a generator that goes through a set, in the core; None if it goes through something else."""
        self._refuse_loop(part.iter)
        return super().gone_through(part, later)

    def _refuse_loop(self, iterated: ast.expr) -> None:
        if self.queue(iterated) is not None:
            text = ast.unparse(iterated)
            self.scope.refuse(iterated, f"loop over the queue `{text}`", GONE_THROUGH.format(text))

    # ------------------------------------------------------------------------------------------------------- statements

    def stated(self, statement: ast.stmt) -> list[ast.stmt] | None:
        """A statement about queues or sets in the core; None if this is no such statement."""
        found: list[ast.stmt] | None = None
        match statement:
            case ast.Expr(value=ast.Call(func=ast.Attribute(value=value, attr=attribute)) as call):
                row = self.queue(value)
                parts = self.queues_of_parts(value)
                if parts:
                    found = self._records_changed(statement, parts, attribute, call)
                elif row is not None:
                    found = self._queue_changed(statement, row, attribute, call)
            case ast.Assign(targets=[target], value=ast.Call(func=ast.Attribute(value=value, attr="popleft")) as call):
                row = self.queue(value)
                if self.queues_of_parts(value):
                    text = ast.unparse(value)
                    reads = ", ".join(f"{text}[0].{part}" for part in self.queues_of_parts(value))
                    self.scope.refuse(statement, f"`{ast.unparse(statement)}`", f"read {reads} before {text}.popleft()")
                if row is not None:
                    if not isinstance(target, ast.Name):
                        what = f"`{ast.unparse(statement)}`"
                        self.scope.refuse(statement, what, f"assign {ast.unparse(call)} to a local first")
                    found = self._queue_changed(statement, row, "popleft", call, target)
            case ast.Assign(targets=[target]) | ast.AugAssign(target=target):
                is_element = isinstance(target, ast.Attribute | ast.Subscript) and self.is_element(target)
                if is_element or self.queue(target) is not None:
                    inner = target.value if isinstance(target, ast.Attribute) and is_element else target
                    text = ast.unparse(inner.value if isinstance(inner, ast.Subscript) and is_element else inner)
                    hint = f"a queue is changed by {QUEUE_CHANGES.format(text)}"
                    self.scope.refuse(statement, f"`{ast.unparse(target)}` is assigned to", hint)
            case ast.For(iter=iterated):
                self._refuse_loop(iterated)
        if found is None:
            return super().stated(statement)
        for one in found:
            original_places(one, statement)
        return found

    def _records_changed(
        self, statement: ast.stmt, parts: dict[str, Row], attribute: str, call: ast.Call
    ) -> list[ast.stmt]:
        """The statements that change a queue of records: the queues of all parts, after the values are known."""
        found: list[ast.stmt] = []
        values: dict[str, ast.expr] = {}
        if attribute == "append":
            values = {part: self.kept(self.node(one), found, set()) for part, one in self._made(call, parts).items()}
        indices = self.bound(next(iter(parts.values())), found, set()).indices
        for part, row in parts.items():
            arguments, keywords = ([values[part]], []) if values else (call.args, call.keywords)
            one = ast.copy_location(ast.Call(call.func, arguments, keywords), call)
            found += self._queue_changed(statement, replace(row, indices=indices), attribute, one)
        return found

    def _made(self, call: ast.Call, parts: dict[str, Row]) -> dict[str, ast.expr]:
        """The values of the parts of the record that is appended, in the order of the text."""
        made = call.args[0] if len(call.args) == 1 and not call.keywords else None
        assert isinstance(call.func, ast.Attribute)
        record = self.group(self.unwrapped(call.func.value)[0])[1].record
        given, is_record = {}, False
        if isinstance(made, ast.Call) and isinstance(made.func, ast.Name) and not made.args:
            given = {one.arg: one.value for one in made.keywords if one.arg is not None}
            is_record = self.scope.meaning(made.func.id) is record
            if is_record:
                self.scope.records.add(made.func.id)
        if set(given) != set(parts) or not is_record:
            text = f"{record.__name__}({', '.join(f'{part}=...' for part in parts)})"
            self.scope.refuse(call, f"`{ast.unparse(call)}`", f"append a record with all of its parts: {text}")
        return given

    def _queue_changed(
        self, statement: ast.stmt, row: Row, attribute: str, call: ast.Call, target: ast.Name | None = None
    ) -> list[ast.stmt]:
        if len(call.args) != CHANGES.get(attribute, -1) or call.keywords:
            self._refuse_change(call, row, attribute, is_statement=True)
        self.need(statement, "len", "range")
        found: list[ast.stmt] = []
        row = self.bound(row, found, set() if target is None else {target.id})
        if attribute == "append":
            value = self.kept(self.node(call.args[0]), found, set())
            is_element = ast.Compare(value, [ast.NotEq()], [self._filler(row)])
            place = ast.IfExp(is_element, self._count(statement, row), row.size)
            return [*found, ast.Assign([row.cell(place, ast.Store())], value)]
        if attribute == "clear":
            return [*found, self._loop(statement, row, self.scope.fresh("place"), self._filler(row))]
        first = ast.IfExp(self._is_used(row, ast.Constant(0)), ast.Constant(0), row.size)
        if target is not None:
            found.append(ast.Assign([target], row.cell(first)))
        else:
            found.append(ast.Assign([row.cell(first, ast.Store())], self._filler(row)))
        here = self.scope.fresh("place")
        last = ast.BinOp(row.size, ast.Sub(), ast.Constant(1))
        following = ast.BinOp(name(here), ast.Add(), ast.Constant(1))
        shift = ast.Assign([row.cell(name(here), ast.Store())], row.cell(following))
        found.append(ast.For(ast.Name(here, ast.Store()), called("range", last), [shift], []))
        return [*found, ast.Assign([row.cell(last, ast.Store())], self._filler(row))]

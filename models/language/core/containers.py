"""Writes the operations of sets in the core of the modelling language, as reads and writes of cells.

In:  nodes of a syntax tree; models/language/core/rewriting.py goes through the tree.
Out: nodes of the core that mean the same. `x in s.isr[p]` is the cell `s.isr[p][x]`, which an element outside the
     domain makes an index out of range; `len(s.isr)` is a sum over the domain; a loop over a set goes through the
     domain, and asks of each element, when it comes to it, whether the set contains it.

models/language/core/views.py has the same operations for CPython.
"""

from __future__ import annotations

import ast
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NoReturn, TypeVar

from isrcheck.models.language.text.names import names_in, names_stored

Node = TypeVar("Node", bound=ast.AST)

STATES = ("s", "before", "after")

SET_IS = "x in {0}, x not in {0}, len({0}), for x in {0}, and <= == != with another set"
SET_CHANGES = "{0}.add(x), {0}.discard(x), {0}.clear(), or {0} = another set"
QUEUE_IS = "{0}[i], len({0}), x in {0}"
CHANGES = {"add": 1, "discard": 1, "clear": 0}
"""The statements that change a set, with their numbers of arguments."""

NO_SLICES = "read one element at a time, in a loop over range(m, n)"
"""What to do instead of reading a slice."""

ORDERS = (ast.Eq, ast.NotEq, ast.Lt, ast.LtE, ast.Gt, ast.GtE)


@dataclass
class Scope:
    """What the names in a function mean: `domains` are those of domains, `contents` the fields that hold sets, and
    `subsets` the parameters that are subsets. `used` are all names in the function, and `stored` those that get a
    value: parameters by the call, and others once per assignment; `is_builtin` says whether a name means Python's own
    function. `refuse` raises LanguageError.

    `groups` are the records, and `meaning` is what a global name means. `axes` collects the domains that the written
    nodes name, and `records` the names of records that are made."""

    domains: set[str]
    contents: Mapping[str, tuple[Any, int]]
    groups: Mapping[str, Any]
    meaning: Callable[[str], Any]
    subsets: Mapping[str, type]
    used: set[str]
    stored: Sequence[str]
    is_builtin: Callable[[str], bool]
    refuse: Callable[[ast.AST, str, str], NoReturn]
    axes: dict[str, type] = field(default_factory=dict)
    records: set[str] = field(default_factory=set)

    def fresh(self, word: str) -> str:
        """A name that the function does not use yet."""
        number = 1
        while f"{word}_{number}" in self.used:
            number += 1
        self.used.add(f"{word}_{number}")
        return f"{word}_{number}"


@dataclass(frozen=True)
class Row:
    """A set of a state, or a parameter that is one: its text, its domain, and how its cells are written."""

    written: ast.expr
    base: ast.expr
    indices: tuple[ast.expr, ...]
    axis: str
    domain: type
    filler: int | None = None
    """Of a queue: the number in the places behind its last element."""

    def cell(self, element: ast.expr, context: ast.expr_context | None = None) -> ast.expr:
        """The cell of an element."""
        node = self.base
        for index in (*self.indices, element):
            node = ast.Subscript(node, index, ast.Load())
        node.ctx = context or ast.Load()  # type: ignore[attr-defined] # a subscript has one
        return node

    @property
    def size(self) -> ast.expr:
        """The number of elements of the domain."""
        return called("len", name(self.axis))


class ContainerRewriting(ABC):
    """Rewrites the operations of sets."""

    scope: Scope

    @abstractmethod
    def node(self, node: Node) -> Node:
        """Return this node in the core."""

    @abstractmethod
    def body(self, statements: list[ast.stmt]) -> list[ast.stmt]:
        """Return these statements in the core."""

    # ------------------------------------------------------------------------------------------------------------- rows

    def unwrapped(self, node: ast.AST) -> tuple[ast.AST, list[ast.expr]]:
        """What an expression indexes, and its indices. The part of a record is a field of its own, `s.record.part`,
        with the indices of the record before its own."""
        inner, later = unwrapped(node)
        self._refuse_slices(node, later)
        if isinstance(inner, ast.Attribute):
            base, indices = unwrapped(inner.value)
            self._refuse_slices(node, indices)
            name_, group = self.group(base)
            if group is not None:
                rank = len(group.over) + (group.queue is not None)
                if inner.attr not in group.parts:
                    cure = f"it has {', '.join(group.parts)}"
                    self.scope.refuse(node, f"the record `{name_}` has no part `{inner.attr}`", cure)
                if len(indices) != rank:
                    takes = f"takes {rank} {'index' if rank == 1 else 'indices'}, not {len(indices)}"
                    self.scope.refuse(node, f"the record `{name_}` {takes}", f"write all of them before .{inner.attr}")
                assert isinstance(base, ast.Attribute)
                flat = ast.copy_location(ast.Attribute(base.value, f"{name_}.{inner.attr}", ast.Load()), inner)
                return flat, [*indices, *later]
        return inner, later

    def _refuse_slices(self, node: ast.AST, indices: Sequence[ast.expr]) -> None:
        if any(isinstance(index, ast.Slice) for index in indices):
            self.scope.refuse(node, f"`{ast.unparse(node)}` is a slice", NO_SLICES)

    def group(self, node: ast.AST) -> tuple[str, Any]:
        """The name of the records that `s.record` means, and what they are; None if it means something else."""
        match node:
            case ast.Attribute(value=ast.Name(id=state), attr=attribute) if state in STATES:
                return attribute, self.scope.groups.get(attribute)
        return "", None

    def _part(self, node: ast.Attribute | ast.Subscript) -> ast.expr | None:
        """The part of a record in the core; None for another expression. Refuses a whole record."""
        inner, indices = self.unwrapped(node)
        _, group = self.group(inner)
        if group is not None:
            text = ast.unparse(node)
            hint = f"read and write its parts: {', '.join(group.parts)}"
            self.scope.refuse(node, f"the record `{text}` is used as a value", hint)
        if not isinstance(inner, ast.Attribute) or "." not in inner.attr:
            return None
        found: ast.expr = inner
        for index in map(self.node, indices):
            found = ast.Subscript(found, index, ast.Load())
        found.ctx = node.ctx  # type: ignore[attr-defined] # an attribute and a subscript have one
        return found

    def is_element(self, node: ast.expr) -> bool:
        """Whether an expression is an element of a queue: it has one index more than the queue."""
        inner, indices = self.unwrapped(node)
        match inner:
            case ast.Attribute(value=ast.Name(id=state), attr=attribute) if state in STATES:
                contents, rank = self.scope.contents.get(attribute, (None, 0))
                return contents is not None and contents.filler is not None and len(indices) == rank + 1
        return False

    def row(self, node: ast.AST) -> Row | None:
        """The set or queue that an expression is; None if it is none. Refuses a part of a set, and a row of sets."""
        if isinstance(node, ast.Name) and node.id in self.scope.subsets:
            return self._row(node, node, (), self.scope.subsets[node.id], node.id)
        inner, indices = self.unwrapped(node)
        match inner:
            case ast.Attribute(value=ast.Name(id=state), attr=attribute) if state in STATES:
                found = self.scope.contents.get(attribute)
                if found is None:
                    return None
                contents, rank = found
                if contents.filler is not None and len(indices) == rank + 1:
                    return None  # an element of a queue
                if len(indices) != rank:
                    takes = f"takes {rank} {'index' if rank == 1 else 'indices'}, not {len(indices)}"
                    text = f"s.{attribute}{''.join('[...]' for _ in range(rank))}"
                    use = SET_IS if contents.filler is None else QUEUE_IS
                    hint = f"a {contents.word} is read by {use.format(text)}"
                    self.scope.refuse(node, f"the {contents.word} `{attribute}` {takes}", hint)
                assert isinstance(node, ast.expr)
                base = ast.copy_location(ast.Attribute(inner.value, attribute, ast.Load()), inner)
                row = self._row(node, base, tuple(map(self.node, indices)), contents.axis, attribute)
                return replace(row, filler=contents.filler)
        return None

    def _row(self, node: ast.expr, base: ast.expr, indices: tuple[ast.expr, ...], domain: type, called: str) -> Row:
        axis = f"{called}.elements"  # no name of Python's, so that it hides none
        while self.scope.axes.setdefault(axis, domain) is not domain:  # a field and a parameter may have one name
            axis += ".others"
        return Row(node, base, indices, axis, domain)

    def bound(self, row: Row, before: list[ast.stmt], changing: set[str]) -> Row:
        """The same set, with indices that stay the same while the state and the names in `changing` change."""
        return replace(row, indices=tuple(self.kept(index, before, changing) for index in row.indices))

    def kept(self, value: ast.expr, before: list[ast.stmt], changing: set[str]) -> ast.expr:
        """The value of an expression as it is now, which statements in `before` keep if it may change."""
        if isinstance(value, ast.Constant) or (isinstance(value, ast.Name) and value.id not in changing):
            return value
        kept = self.scope.fresh("value")
        before.append(ast.Assign([ast.Name(kept, ast.Store())], value))
        return name(kept)

    def need(self, node: ast.AST, *words: str) -> None:
        """Refuse an operation that is written with functions of Python whose names mean something else here."""
        for word in words:
            if not self.scope.is_builtin(word):
                what = f"`{word}` means something else here, and sets and queues need it"
                self.scope.refuse(node, what, "rename it")

    # ------------------------------------------------------------------------------------------------------ expressions

    def contained(self, node: ast.expr) -> ast.expr | None:
        """An expression about sets in the core; None if this node is no such expression."""
        found: ast.expr | None = None
        match node:
            case ast.Compare(ops=[ast.In() | ast.NotIn() as sign], left=element, comparators=[right]):
                row = self.row(right)
                if row is not None:
                    found = row.cell(self.node(element))
                    found = found if isinstance(sign, ast.In) else ast.UnaryOp(ast.Not(), found)
            case ast.Compare(left=left, comparators=[*others]):
                rows = [self.row(side) for side in (left, *others)]
                if any(row is not None for row in rows):
                    found = self._compared(node, rows)
            case ast.Call(func=ast.Name(id="len"), args=[argument], keywords=[]):
                row = self.row(argument)
                if row is not None:
                    found = self._length(node, row)
            case ast.Call(func=ast.Attribute(value=value, attr=attribute)):
                row = self.row(value)
                if row is not None:
                    self._refuse_method(node, row, attribute, is_statement=False)
            case ast.Attribute() | ast.Subscript() | ast.Name():
                row = self.row(node)
                if row is not None and not isinstance(node, ast.Name):
                    self._refuse_use(node)
                if not isinstance(node, ast.Name):
                    found = self._part(node)
        return None if found is None else original(found, node)

    def _refuse_use(self, node: ast.expr) -> NoReturn:
        text = ast.unparse(node)
        self.scope.refuse(node, f"the set `{text}` is used as a value", f"a set is read by {SET_IS.format(text)}")

    def _refuse_method(self, node: ast.AST, row: Row, attribute: str, *, is_statement: bool) -> NoReturn:
        text = ast.unparse(row.written)
        hint = f"a set is changed by {SET_CHANGES.format(text)}"
        if attribute in CHANGES and is_statement:
            count = CHANGES[attribute]
            what, hint = f"`{attribute}` takes {count} element{'s' * (count != 1)}", f"write {text}.{attribute}(...)"
        elif attribute in CHANGES:
            what, hint = f"`{text}.{attribute}(...)` is used as a value", "write it as a statement of its own"
        elif attribute == "remove":
            what, hint = f"`{text}.remove(...)`", f"write {text}.discard(x)"
        elif attribute in ("issubset", "issuperset"):
            what, hint = f"`{text}.{attribute}(...)`", f"write {text} {'<=' if attribute == 'issubset' else '>='} ..."
        else:
            what = f"a set has no `{attribute}`"
        self.scope.refuse(node, what, hint)

    def _fold(self, word: str, element: ast.expr, target: str, row: Row) -> ast.expr:
        loop = ast.comprehension(ast.Name(target, ast.Store()), called("range", row.size), [], 0)
        return called(word, ast.GeneratorExp(element, [loop]))

    def _length(self, node: ast.expr, row: Row) -> ast.expr:
        self.need(node, "len", "sum", "range")
        target = self.scope.fresh("element")
        return self._fold("sum", row.cell(name(target)), target, row)

    def _compared(self, node: ast.Compare, rows: Sequence[Row | None]) -> ast.expr:
        if len(node.ops) != 1:
            self.scope.refuse(node, f"`{ast.unparse(node)}`", "compare two sets at a time, with `and` between")
        left, right = rows
        sign = node.ops[0]
        if left is None or right is None or not isinstance(sign, ORDERS):
            hint = "compare it with another set of the same domain, or ask len(...) and `in`"
            self.scope.refuse(node, f"`{ast.unparse(node)}` compares a set with something else", hint)
        if left.domain is not right.domain:
            names = f"{left.domain.__name__} and of {right.domain.__name__}"
            self.scope.refuse(node, f"`{ast.unparse(node)}` compares sets of {names}", "compare sets of one domain")
        self.need(node, "all", "any", "range", "len")
        if isinstance(sign, ast.Gt | ast.GtE):
            left, right = right, left
        if isinstance(sign, ast.Eq):
            return self._for_all(left, ast.Eq(), right)
        if isinstance(sign, ast.NotEq):
            return ast.UnaryOp(ast.Not(), self._for_all(left, ast.Eq(), right))
        subset = self._for_all(left, ast.LtE(), right)
        if isinstance(sign, ast.LtE | ast.GtE):
            return subset
        return ast.BoolOp(ast.And(), [subset, ast.UnaryOp(ast.Not(), self._for_all(left, ast.Eq(), right))])

    def _for_all(self, left: Row, sign: ast.cmpop, right: Row) -> ast.expr:
        target = self.scope.fresh("element")
        both = ast.Compare(left.cell(name(target)), [sign], [right.cell(name(target))])
        return self._fold("all", both, target, left)

    def gone_through(self, part: ast.comprehension, later: set[str]) -> ast.comprehension | None:
        """A part of a generator that goes through a set, in the core; None if it goes through something else. `later`
        are the variables that have no value yet where the set is evaluated."""
        row = self.row(part.iter)
        if row is None or not isinstance(part.target, ast.Name):
            return None
        self.need(part.iter, "len", "range")
        hidden = names_in(row.written) & later
        if hidden:
            text = ast.unparse(row.written)
            what = f"`{min(hidden)}` is a variable of the generator, and `{text}` reads it before"
            self.scope.refuse(part.iter, what, "rename the variable")
        is_in = self._asked(part.target.id, part.iter, row)
        tests = [is_in, *map(self.node, part.ifs)]
        found = ast.comprehension(part.target, original(called("range", row.size), part.iter), tests, 0)
        found.origin = part  # type: ignore[attr-defined] # read by models/language/text/spelling.py
        return found

    def _asked(self, element: str, written: ast.expr, row: Row) -> ast.expr:
        """Whether a set contains an element that a loop comes to."""
        asked = ast.Compare(name(element), [ast.In()], [written])
        original_places(asked, written)
        return original(row.cell(name(element)), asked)

    # ------------------------------------------------------------------------------------------------------- statements

    def stated(self, statement: ast.stmt) -> list[ast.stmt] | None:
        """A statement about sets in the core; None if this is no such statement."""
        found: list[ast.stmt] | None = None
        match statement:
            case ast.Expr(value=ast.Call(func=ast.Attribute(value=value, attr=attribute), args=arguments) as call):
                row = self.row(value)
                if row is not None:
                    if len(arguments) != CHANGES.get(attribute, -1) or call.keywords:
                        self._refuse_method(call, row, attribute, is_statement=True)
                    found = self._changed(statement, row, attribute, [self.node(one) for one in arguments])
            case ast.Assign(targets=[target], value=value):
                row = self.row(target)
                if row is not None and isinstance(row.base, ast.Attribute):
                    found = self._assigned(statement, row, value)
            case ast.AugAssign(target=target):
                row = self.row(target)
                if row is not None and isinstance(row.base, ast.Attribute):
                    text = ast.unparse(target)
                    hint = f"a set is changed by {SET_CHANGES.format(text)}"
                    self.scope.refuse(statement, f"`{ast.unparse(statement)}`", hint)
            case ast.For(target=ast.Name(), iter=iterated, orelse=[]):
                row = self.row(iterated)
                if row is not None:
                    found = self._looped(statement, row)
        for one in found or ():
            original_places(one, statement)
        return found

    def _changed(self, statement: ast.stmt, row: Row, attribute: str, arguments: Sequence[ast.expr]) -> list[ast.stmt]:
        if isinstance(row.base, ast.Name):
            hint = "only fields of the state can be written"
            self.scope.refuse(statement, f"the parameter `{row.base.id}` is written", hint)
        if attribute == "clear":
            return self._emptied(statement, row)
        value = ast.Constant(attribute == "add")
        return [ast.Assign([row.cell(arguments[0], ast.Store())], value)]

    def _emptied(self, statement: ast.stmt, row: Row) -> list[ast.stmt]:
        """The statements that make a set empty."""
        found: list[ast.stmt] = []
        target = self.scope.fresh("element")
        row = self.bound(row, found, set())
        return [*found, self._loop(statement, row, target, ast.Constant(False))]

    def _loop(self, statement: ast.stmt, row: Row, target: str, value: ast.expr) -> ast.stmt:
        """A loop that writes one value to each cell of a set."""
        self.need(statement, "len", "range")
        write = ast.Assign([row.cell(name(target), ast.Store())], value)
        return ast.For(ast.Name(target, ast.Store()), called("range", row.size), [write], [])

    def _assigned(self, statement: ast.stmt, row: Row, value: ast.expr) -> list[ast.stmt]:
        other = self.row(value)
        found: list[ast.stmt] = []
        if other is not None:
            if other.domain is not row.domain:
                what = f"a set of {other.domain.__name__} is assigned to a set of {row.domain.__name__}"
                self.scope.refuse(statement, what, "assign a set of the same domain")
            row, other = self.bound(row, found, set()), self.bound(other, found, set())
            target = self.scope.fresh("element")
            return [*found, self._loop(statement, row, target, other.cell(name(target)))]
        elements = value.elts if isinstance(value, ast.Set) else []
        is_empty = isinstance(value, ast.Call) and ast.unparse(value) == "set()" and self.scope.is_builtin("set")
        if not elements and not is_empty:
            text = ast.unparse(row.written)
            hint = f"assign another set, set() or {{x, y}}, or write {text}.add(x) in a loop"
            self.scope.refuse(statement, f"`{ast.unparse(value)}` is assigned to the set `{text}`", hint)
        kept = [self.kept(self.node(element), found, set()) for element in elements]
        row = self.bound(row, found, set())
        found += self._emptied(statement, row)
        return [*found, *(ast.Assign([row.cell(one, ast.Store())], ast.Constant(True)) for one in kept)]

    def _looped(self, statement: ast.For, row: Row) -> list[ast.stmt]:
        """A loop over a set. Its variable keeps the last element of the set after it, as in Python."""
        assert isinstance(statement.target, ast.Name)
        self.need(statement, "len", "range")
        found: list[ast.stmt] = []
        variable = statement.target.id
        row = self.bound(row, found, set(names_stored(statement)))
        is_only_here = list(self.scope.stored).count(variable) == 1
        element = variable if is_only_here else self.scope.fresh("element")
        inner = self.body(statement.body)
        if not is_only_here:
            inner = [ast.Assign([ast.Name(variable, ast.Store())], name(element)), *inner]
        test = self._asked(element, statement.iter, row)
        loop = original(called("range", row.size), statement.iter)
        target = ast.Name(element, ast.Store())
        if not is_only_here:
            target.origin = statement.target  # type: ignore[attr-defined] # read by traces/format/why_false.py
        return [*found, ast.For(target, loop, [ast.If(test, inner, [])], [])]


def unwrapped(node: ast.AST) -> tuple[ast.AST, list[ast.expr]]:
    """What an expression indexes, and its indices."""
    indices: list[ast.expr] = []
    while isinstance(node, ast.Subscript):
        indices.insert(0, node.slice)
        node = node.value
    return node, indices


def name(spelled: str) -> ast.Name:
    """A name that is read."""
    return ast.Name(spelled, ast.Load())


def called(function: str, *arguments: ast.expr) -> ast.Call:
    """A call of a function by its name."""
    return ast.Call(name(function), list(arguments), [])


def original_places(node: ast.AST, origin: ast.AST) -> None:
    """Give a new node the place in the text of the one for which it stands."""
    for part in ast.walk(node):
        if not hasattr(part, "lineno"):
            ast.copy_location(part, origin)


def original(node: Node, origin: ast.AST) -> Node:
    """Return a node that stands for `origin`, at its place in the text."""
    original_places(node, origin)
    node.origin = origin  # type: ignore[attr-defined] # read by models/language/text/spelling.py
    return node

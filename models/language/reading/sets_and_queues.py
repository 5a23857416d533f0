"""Reads expressions and statements about sets, queues and records.

In:  nodes of a function's syntax tree.
Out: nodes of the representation as it is written: `IsIn`, `Length`, `SetLoop`, ..., which ir/lowering.py
     puts into the core; or a LanguageError with the cure.

models/language/views/sets_and_queues.py has the same operations for CPython.
"""

from __future__ import annotations

import ast
from abc import abstractmethod
from dataclasses import replace
from typing import NoReturn

from isrcheck.models.language.declarations.declare import Group
from isrcheck.models.language.ir import nodes as ir
from isrcheck.models.language.ir.lowering import copied, elements_of
from isrcheck.models.language.reading.expressions import (
    MEMBERSHIP,
    SIGNS,
    SIZE,
    ExpressionReader,
    Place,
    indices_taken,
    negated_unless,
)
from isrcheck.models.language.reading.source_text import MemberOf
from isrcheck.models.language.reading.spelling import shown

READ = {
    "set": "a set is read by x in {0}, x not in {0}, len({0}), for x in {0}, and <= == != with another set",
    "queue": "a queue is read by {0}[i], len({0}), x in {0}",
}
CHANGED = {
    "set": "a set is changed by {0}.add(x), {0}.discard(x), {0}.clear(), or {0} = another set",
    "queue": "a queue is changed by {0}.append(x), {0}.popleft(), x = {0}.popleft(), or {0}.clear()",
}
"""What to do instead of what is refused, given the text of the set or the queue."""

CHANGES = {"set": {"add": 1, "discard": 1, "clear": 0}, "queue": {"append": 1, "popleft": 0, "clear": 0}}
"""The statements that change a set or a queue, with their numbers of arguments."""


class CollectionReader(ExpressionReader):
    """Reads what is said about sets, queues and records, and leaves other expressions to its base class."""

    def __init__(self) -> None:
        super().__init__()
        self.records: set[str] = set()
        """The names of the records that are made."""

    @abstractmethod
    def writes_to(self, node: ast.AST, state: str, field: str) -> None:
        """Note that the function writes a field. Refuses a state that cannot be written."""

    @abstractmethod
    def local(self, target: ast.Name) -> ir.Variable:
        """The local that is assigned to, which has a value from here on."""

    # ------------------------------------------------------------------------------------------------------ collections

    def collections(self, node: ast.expr) -> tuple[ir.Collection, ...]:
        """The set or the queue that an expression is; of a queue of records, the queues of all parts; none if it is
        something else. Refuses a part of a set, and a row of sets."""
        if isinstance(node, ast.Name):
            subset = self.subsets.get(node.id)
            if subset is None:
                return ()
            self.has_collections = True
            return (ir.Collection(self.own[node.id], "", (), subset.of, span=self.span(node)),)
        place = self.place(node)
        return () if place is None else self._collections_at(node, place)

    def _collections_at(self, node: ast.expr, place: Place) -> tuple[ir.Collection, ...]:
        group = self.vocabulary.groups.get(place.name)
        if group is not None and group.queue is not None and len(place.indices) == len(group.over):
            first, *others = (Place(place.state, f"{place.name}.{part}", place.indices) for part in group.parts)
            queue = self._collection(node, first)
            return queue, *(self._collection(node, one, queue) for one in others)
        if place.name not in self.vocabulary.contents:
            return ()
        self.refuse_slices(node, place.indices)
        if self._is_element(place):
            return ()
        contents, rank = self.vocabulary.contents[place.name]
        if len(place.indices) != rank:
            what = f"the {contents.word} `{place.name}` takes {indices_taken(rank)}, not {len(place.indices)}"
            raise self.error(node, what, READ[contents.word].format(f"s.{place.name}{'[...]' * rank}"))
        return (self._collection(node, place),)

    def _collection(self, node: ast.expr, place: Place, same: ir.Collection | None = None) -> ir.Collection:
        """The set or the queue at a place; perhaps with the indices of another one, so that nested indices are read
        once, not once for each part of each record."""
        state = self.known_state(node, place.state)
        contents, _ = self.vocabulary.contents[place.name]
        self.reads.add(place.name)
        self.has_collections = True
        indices = self.several(place.indices) if same is None else tuple(map(copied, same.indices))
        return ir.Collection(state, place.name, indices, contents.axis, contents.filler, span=self.span(node))

    def _is_element(self, place: Place) -> bool:
        """Whether a place is an element of a queue: it has one index more than the queue."""
        contents, rank = self.vocabulary.contents.get(place.name, (None, 0))
        return contents is not None and contents.filler is not None and len(place.indices) == rank + 1

    def _group(self, node: ast.expr) -> Group | None:
        """What the records are that an expression means."""
        place = self.place(node)
        return None if place is None else self.vocabulary.groups.get(place.name)

    # ------------------------------------------------------------------------------------------------------ expressions

    def collective(self, node: ast.expr) -> ir.Expression | None:
        """An expression about sets or queues; None for any other."""
        match node:
            case ast.Compare():
                return self._compared(node)
            case ast.Call(func=ast.Name(id=name), args=[argument], keywords=[]) if name == SIZE:
                collections = self.collections(argument) if self.is_builtin(SIZE) else ()
                return ir.Length(collections[0], span=self.span(node)) if collections else None
            case ast.Call(func=ast.Attribute(value=value, attr=change)):
                collections = self.collections(value)
                if collections:
                    self._refuse_change(node, value, collections[0], change, is_statement=False)
            case ast.Attribute() | ast.Subscript():
                return self._element(node)
        return None

    def _element(self, node: ast.expr) -> ir.Expression | None:
        """An element of a queue; None for an expression that is no collection. Refuses a collection as a value."""
        place = self.place(node)
        if place is None:
            return None
        if self._is_element(place):
            self.refuse_slices(node, place.indices)
            queue = self._collection(node, Place(place.state, place.name, place.indices[:-1]))
            return ir.QueueElement(queue, self.expression(place.indices[-1]), span=self.span(node))
        collections = self._collections_at(node, place)
        if collections:
            text, word = shown(node), _word(collections[0])
            raise self.error(node, f"the {word} `{text}` is used as a value", READ[word].format(text))
        return None

    def _compared(self, node: ast.Compare) -> ir.Expression | None:
        """A comparison with a collection, or of sets; None for another comparison."""
        sides = [self.collections(side) for side in (node.left, *node.comparators)]
        if not any(sides):
            return None
        sign, span, text = node.ops[0], self.span(node), shown(node)
        is_membership = len(node.ops) == 1 and isinstance(sign, MEMBERSHIP) and not sides[0]
        if is_membership and self._group(node.comparators[0]) is None:
            is_in = ir.IsIn(self.expression(node.left), sides[1][0], span=span)
            return negated_unless(isinstance(sign, ast.In), is_in)
        if any(_word(side[0]) == "queue" for side in sides if side):
            raise self.error(node, f"`{text}` compares a queue", "compare len(...) and the elements")
        if len(node.ops) != 1:
            raise self.error(node, f"`{text}`", "compare two sets at a time, with `and` between")
        if not all(sides) or type(sign) not in SIGNS:
            hint = "compare it with another set of the same domain, or ask len(...) and `in`"
            raise self.error(node, f"`{text}` compares a set with something else", hint)
        (one,), (other,) = sides
        if one.domain is not other.domain:
            names = f"{one.domain.__name__} and of {other.domain.__name__}"
            raise self.error(node, f"`{text}` compares sets of {names}", "compare sets of one domain")
        return ir.SetComparison(one, SIGNS[type(sign)], other, span=span)

    def _refuse_change(
        self, node: ast.AST, written: ast.expr, collection: ir.Collection, change: str, *, is_statement: bool
    ) -> NoReturn:
        text, word = shown(written), _word(collection)
        what, hint = f"a {word} has no `{change}`", CHANGED[word].format(text)
        if change in CHANGES[word] and is_statement:
            count = CHANGES[word][change]
            what = f"`{change}` takes {count} element{'s' * (count != 1)}"
            hint = f"write {text}.{change}(...)" if word == "set" else hint
        elif change == "popleft" and word == "queue":
            what, hint = f"`{text}.popleft()` is a part of an expression", f"write x = {text}.popleft() before"
        elif change in CHANGES[word]:
            what, hint = f"`{text}.{change}(...)` is used as a value", "write it as a statement of its own"
        elif change == "remove" and word == "set":
            what, hint = f"`{text}.remove(...)`", f"write {text}.discard(x)"
        elif change in ("issubset", "issuperset") and word == "set":
            what, hint = f"`{text}.{change}(...)`", f"write {text} {'<=' if change == 'issubset' else '>='} ..."
        raise self.error(node, what, hint)

    def generator(self, part: ast.comprehension) -> ir.Generator:
        """One `for` of a generator; one over a set goes through the domain, and asks the set for each element."""
        if part.is_async:
            raise self.error(part.target, "`async for`", "write a plain `for`")
        collection = self.set_of(part.iter)
        if collection is None:
            return super().generator(part)
        variable, target = self.begin(self.loop_variable(part.target)), self.span(part.target)
        membership = replace(self.span(part.target, part.iter), source=MemberOf(target, collection.span))
        is_in = ir.IsIn(ir.Local(variable, span=target), collection, span=membership)
        numbers = elements_of(collection.domain, collection.span)
        return ir.Generator(variable, numbers, (is_in, *self.several(part.ifs)), span=target)

    def set_of(self, iterated: ast.expr) -> ir.Collection | None:
        """The set that a loop goes through; None if it goes through something else. Refuses a queue."""
        collections = self.collections(iterated)
        if collections and _word(collections[0]) == "queue":
            text = shown(iterated)
            hint = f"write: for i in range(len({text})), and {text}[i]"
            raise self.error(iterated, f"loop over the queue `{text}`", hint)
        return collections[0] if collections else None

    # ------------------------------------------------------------------------------------------------------- statements

    def changed(self, statement: ast.stmt) -> ir.CollectiveStatement | None:
        """A statement that changes a set or a queue; None for any other statement."""
        match statement:
            case ast.Expr(value=ast.Call(func=ast.Attribute()) as call):
                return self._change(statement, call, None)
            case ast.Assign(targets=[target], value=ast.Call(func=ast.Attribute(attr="popleft")) as call):
                return self._change(statement, call, target) or self._assigned(statement, target)
            case ast.Assign(targets=[target]) | ast.AugAssign(target=target):
                return self._assigned(statement, target)
        return None

    def _change(self, statement: ast.stmt, call: ast.Call, target: ast.expr | None) -> ir.CollectiveStatement | None:
        """The call of a method that changes a set or a queue; `target` gets the element that it takes out."""
        assert isinstance(call.func, ast.Attribute)
        written, change = call.func.value, call.func.attr
        collections, group = self.collections(written), self._group(written)
        if not collections:
            return None
        span, first = self.span(statement), collections[0]
        if len(call.args) != CHANGES[_word(first)].get(change, -1) or call.keywords:
            self._refuse_change(call, written, first, change, is_statement=True)
        if target is not None and group is not None:
            text = shown(written)
            reads = ", ".join(f"{text}[0].{part}" for part in group.parts)
            raise self.error(statement, f"`{shown(statement)}`", f"read {reads} before {text}.popleft()")
        if target is not None and not isinstance(target, ast.Name):
            raise self.error(statement, f"`{shown(statement)}`", f"assign {shown(call)} to a local first")
        for one in collections:
            if not one.field:
                hint = "only fields of the state can be written"
                raise self.error(statement, f"the parameter `{one.holder.name}` is written", hint)
            self.writes_to(written, one.holder.name, one.field)
        match change:
            case "clear":
                return ir.Clear(collections, span=span)
            case "popleft":
                return ir.TakeFirst(collections, None if target is None else self.local(target), span=span)
            case "append":
                values = self.several(call.args) if group is None else self._parts_of(call, group)
                return ir.Append(collections, values, span=span)
        return ir.SetChange(first, self.expression(call.args[0]), change == "add", span=span)

    def _parts_of(self, call: ast.Call, group: Group) -> tuple[ir.Expression, ...]:
        """The values of the parts of the record that is appended."""
        made, values = call.args[0], dict[str | None, ast.expr]()
        is_record = False
        if isinstance(made, ast.Call) and isinstance(made.func, ast.Name) and not made.args:
            values = {keyword.arg: keyword.value for keyword in made.keywords}
            is_record = made.func.id not in self.own and self.names.get(made.func.id) is group.record
            if is_record:
                self.records.add(made.func.id)
        if set(values) != set(group.parts) or not is_record:
            text = f"{group.record.__name__}({', '.join(f'{part}=...' for part in group.parts)})"
            raise self.error(call, f"`{shown(call)}`", f"append a record with all of its parts: {text}")
        return tuple(self.expression(values[part]) for part in group.parts)

    def _assigned(self, statement: ast.Assign | ast.AugAssign, target: ast.expr) -> ir.CollectiveStatement | None:
        """The assignment of a set. Refuses one to a queue or to its elements."""
        place = self.place(target)
        if place is None:
            return None
        is_element, collections = self._is_element(place), self._collections_at(target, place)
        if is_element or (collections and _word(collections[0]) == "queue"):
            inner = target.value if isinstance(target, ast.Attribute) and is_element else target
            text = shown(inner.value if isinstance(inner, ast.Subscript) and is_element else inner)
            raise self.error(statement, f"`{shown(target)}` is assigned to", CHANGED["queue"].format(text))
        if not collections:
            return None
        (collection,), text = collections, shown(target)
        if isinstance(statement, ast.AugAssign):
            raise self.error(statement, f"`{shown(statement)}`", CHANGED["set"].format(text))
        span, value = self.span(statement), statement.value
        sources = self.collections(value)
        self.writes_to(target, collection.holder.name, collection.field)
        if sources and _word(sources[0]) == "set":
            if sources[0].domain is not collection.domain:
                names = f"{sources[0].domain.__name__} is assigned to a set of {collection.domain.__name__}"
                raise self.error(statement, f"a set of {names}", "assign a set of the same domain")
            return ir.CopySet(collection, sources[0], span=span)
        match value:
            case ast.Set(elts=elements):
                return ir.FillSet(collection, self.several(elements), span=span)
            case ast.Call(func=ast.Name(id="set"), args=[], keywords=[]) if self.is_builtin("set"):
                return ir.FillSet(collection, (), span=span)
        hint = f"assign another set, set() or {{x, y}}, or write {text}.add(x) in a loop"
        raise self.error(statement, f"`{shown(value)}` is assigned to the set `{text}`", hint)


def _word(collection: ir.Collection) -> str:
    return "set" if collection.filler is None else "queue"

"""Which domains have elements that a model does not distinguish, so that a search may exchange them.

Out: `Sort`s: the domains whose elements the model distinguishes only by ==, by indices and by named constants; and for
     every other domain the first place that distinguishes elements.

A sort is a set of values. Every value gets a sort by unification: an index has the sort of the domain of its axis, the
two sides of == have one sort, a parameter has the sort of its arguments. Computed numbers have no sort. Two
domains share one sort if elements of one are compared with elements of the other, or stored or passed in their place.

A permutation of the elements of a sort maps steps to steps, and keeps the truth of properties, under two conditions:
every operation on values of the sort is ==, !=, use as an index, assignment, a call, or a fold or loop over the whole
domain; and the order of a loop's iterations does not matter. By induction over the nodes, each expression then has the
permuted value in the permuted state. Branches that the settings exclude are not analysed. If the model compares an
element with a constant, permutations must map this constant to itself; every permutation maps NONE to itself.

The order of a loop's iterations does not matter if each field that the body writes satisfies one of three conditions:
all uses of the field have the loop's variable itself as the same index, so no two iterations share a cell; the field is
only written, always with one value that is the same in all iterations; or the body only adds to the field, always with
the same sign, so that the order decides neither the final value nor whether the field leaves its range. A local
variable that outlives the loop must satisfy a similar condition (`_is_commutative`).

If a step leaves a declared range, the permuted step also leaves it, with one exception: a fold stops at the first
element that decides its result, so the order of the elements decides whether a later index leaves its range. A reduced
kernel evaluates such folds to the end (checker/compile/ranges.py); if the search then reports that a range is left, the
search is repeated without reduction. A `require` in a loop, which also stops early, counts as distinguishing elements.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, assert_never

from isrcheck.checker.reductions import pairs
from isrcheck.checker.reductions.reads import Reads, Use
from isrcheck.models.language.declarations import NONE, Domain, LastOf, Queue, Subset
from isrcheck.models.language.ir import nodes as ir
from isrcheck.models.language.ir.nodes import assigned, increase, operands, visit
from isrcheck.models.language.model import Instance


@dataclass(eq=False)
class Node:
    """A set of expressions, variables, fields and domains whose values have one sort; `join` unites two sets.

    `fixed` has the elements that constants of the model name. `faults` are functions, each of which returns a reason
    why the model distinguishes elements. `ranges` has the first number, end and place of each loop over elements.
    """

    domains: set[type[Domain]] = field(default_factory=set)
    fixed: set[int] = field(default_factory=set)
    faults: list[Callable[[], str]] = field(default_factory=list)
    ranges: list[tuple[int, int, str]] = field(default_factory=list)
    fields: list[str] = field(default_factory=list)
    parent: Node | None = None

    def root(self) -> Node:
        """The node that represents all nodes that were united with this node."""
        node = self
        while node.parent is not None:
            node = node.parent
        return node

    def join(self, other: Node) -> None:
        """Unite this node with `other`, because their values have the same sort."""
        into, gone = self.root(), other.root()
        if into is gone:
            return
        gone.parent = into
        into.domains |= gone.domains
        into.fixed |= gone.fixed
        into.faults += gone.faults
        into.ranges += gone.ranges
        into.fields += gone.fields


Value = Node | int | None
"""The facts about an expression: its sort, its value if the configuration determines it, or that it is a truth value or
a computed number (None)."""


def order_faults(loop: ir.Loop, uses: Sequence[Use], before: Collection[ir.Variable]) -> Iterator[tuple[str, ir.Span]]:
    """Reasons why the order of a loop's iterations may matter, each with its place. `uses` are the reads and writes of
    cells in the loop's function, `before` the variables that have a value before the loop."""
    for node in visit(loop.body):
        if isinstance(node, ir.Return):
            yield "returns from a loop over elements: the first element decides the result", node.span
    inside = [use for use in uses if (loop,) in use.blocks]
    for name in sorted({use.field for use in inside if use.is_write}):
        those = [use for use in inside if use.field == name]
        if not (_is_private(those, loop) or _is_same(those, loop) or _is_sum(those)):
            where = next(use.span for use in those if use.is_write)
            yield f"the order of this loop's elements decides what {name} becomes", where
    for local in sorted(assigned(loop.body) & set(before), key=lambda one: one.name):
        if not _is_commutative(local, loop):
            yield f"the order of this loop's elements decides what {local.name} becomes", loop.span


def _is_private(those: Sequence[Use], loop: ir.Loop) -> bool:
    axes = [{axis for axis, index in enumerate(use.indices) if index is loop} for use in those]
    return bool(set.intersection(*axes))


def _is_same(those: Sequence[Use], loop: ir.Loop) -> bool:
    value, blocks = those[0].value, those[0].blocks
    if isinstance(value, ir.Loop) and (value,) not in blocks[: blocks.index((loop,))]:
        return False  # the number of this loop, or of one in it
    return value is not None and all(use.is_write and use.value == value for use in those)


def _is_sum(those: Sequence[Use]) -> bool:
    return those[0].adds != 0 and all(use.adds == those[0].adds for use in those)


def _is_commutative(local: ir.Variable, loop: ir.Loop) -> bool:
    """Whether a loop's body changes a local variable only by adding to it, only by lowering it (`x = min(x, e)`), only
    by raising it, or only by assigning one constant, and does not read the variable for any other purpose."""
    ways: list[Any] = []
    reads = 0
    for node in visit(loop.body):
        match node:
            case ir.Local(variable) if variable is local:
                reads += 1
            case ir.Loop(variable) | ir.Generator(variable) if variable is local:
                return False
            case ir.Assign(variable, ir.Constant(value)) if variable is local:
                ways.append(value)
            case ir.Assign(variable, ir.Extremum(extreme, (ir.Local(first), _))) if (
                variable is local and first is local
            ):
                ways.append(extreme)
                reads -= 1
            case ir.Assign(variable, ir.Sum((ir.Term(ir.Local(first), False), *_))) if (
                variable is local and first is local
            ):
                ways.append(ir.Sum)
                reads -= 1
            case ir.Assign(variable) if variable is local:
                return False
    return reads == 0 and len(set(ways)) == 1


@dataclass(frozen=True)
class Sort:
    """Domains that share their `size` elements; every permutation must keep the elements in `fixed`."""

    domains: tuple[type[Domain], ...]
    size: int
    fixed: frozenset[int]
    fields: frozenset[str]
    """The fields whose cells hold elements."""

    @property
    def name(self) -> str:
        """The name of the sort: that of its first domain."""
        return self.domains[0].__name__


class Sorts:
    """Finds the sorts of an instance. `symmetric` has the sorts whose elements the model does not distinguish;
    `asymmetric` says, for every other domain, what distinguishes its elements, and where."""

    def __init__(self, instance: Instance) -> None:
        self.instance = instance
        self.reads = Reads(instance)
        self.determined = self.reads.determined
        self.domains: dict[type[Domain], Node] = {}
        self.values: dict[str, Node | None] = {}
        self.routines: dict[ir.Routine, _Reading] = {}
        self.unordered: set[ir.Compare] = set()
        """The comparisons of elements that only spare the second look at a pair (checker/reductions/pairs.py)."""
        self.generators: dict[ir.Generator, Node] = {}
        """The generators whose range is determined, but not by the text and the bounds alone."""
        for name, declared in instance.model.fields.items():
            for domain in declared.over:
                self.domain(domain)
            if isinstance(declared.contents, Queue):
                fault = f"{instance.model.place_of(name)}: the places of a queue are in order"
                self.domain(declared.contents.axis).faults.append(partial(str, fault))
            values = declared.values
            self.values[name] = None
            if not values.is_flag and values.names is None:
                node = self.domain(values.high.domain) if isinstance(values.high, LastOf) else Node()
                node.root().fields.append(name)
                self.values[name] = node
        self._read()
        self.symmetric: list[Sort] = []
        self.asymmetric: dict[type[Domain], str] = {}
        self._judge()

    def domain(self, domain: type[Domain]) -> Node:
        """The node to which a domain belongs."""
        return self.domains.setdefault(domain, Node({domain}))

    def over_configured_ranges(self, chosen: Iterable[Sort]) -> list[ir.Generator]:
        """The comprehensions over elements of these sorts with a range limit that is not a constant, size or bound."""
        domains = {domain for one in chosen for domain in one.domains}
        return [one for one, node in self.generators.items() if node.root().domains & domains]

    def is_written(self, end: ir.Expression) -> bool:
        """Whether a kernel knows this limit of a range: it is a constant, the size of a domain, or a bound."""
        match end:
            case ir.Setting(entry):
                return self.instance.model.entries[entry].is_bound
        return isinstance(end, ir.Constant | ir.Size)

    def routine(self, routine: ir.Routine) -> _Reading:
        """Analyse a routine, at most once, and return the analysis: the nodes of the routine's variables and result."""
        if routine not in self.routines:
            self.routines[routine] = reading = _Reading(self, routine)
            reading.block(routine.body)
        return self.routines[routine]

    def _read(self) -> None:
        instance = self.instance
        for index, action in enumerate(instance.model.actions):
            function = instance.function(index)
            if function is None:
                continue
            reading = self.routine(function.routine)
            for parameter, one in zip(reading.routine.arguments, action.parameters, strict=True):
                for domain in (parameter.domain, one.domain):
                    if domain is not None and not issubclass(domain, Subset):
                        reading.locals[parameter].join(self.domain(domain))
                    elif domain is not None and parameter.domain is not None:
                        self.domain(parameter.domain.of).join(self.domain(domain.of))  # type: ignore[union-attr]
        for routine in self.reads.judges:
            self.routine(routine).result.root().fixed.add(0)  # only the truth of the result counts, and 0 is false

    def _judge(self) -> None:
        for node in {id(one.root()): one.root() for one in self.domains.values()}.values():
            domains = tuple(one for one in self.domains if self.domains[one].root() is node)
            sizes = {self.instance.size_of(one) for one in domains} - {0}
            fault = next(self._faults(node, domains, sizes), None)
            if fault is not None:
                self.asymmetric |= dict.fromkeys(domains, fault)
            elif sizes:
                (size,) = sizes
                fixed = frozenset(node.fixed & set(range(size)))
                self.symmetric.append(Sort(domains, size, fixed, frozenset(node.fields)))

    def _faults(self, node: Node, domains: Sequence[type[Domain]], sizes: set[int]) -> Iterator[str]:
        yield from (fault() for fault in node.faults)
        path, size_of = self.instance.model.path, self.instance.size_of
        if len(sizes) > 1:
            names = ", ".join(f"{one.__name__} with {size_of(one)}" for one in domains if size_of(one))
            yield f"{path}: elements of domains of different sizes are compared: {names}"
        size = max(sizes, default=0)
        for low, high, place in node.ranges:
            if size and (low, high) != (0, size):
                yield f"{place}: a loop over {low}..{high - 1}, which is only a part of {domains[0].__name__}"
        for name in node.fields:
            layout = self.instance.layouts[name]
            if size and layout.count and (layout.low not in (0, NONE) or layout.high != size - 1):
                text = f"field {name} holds {layout.low}..{layout.high}, and its numbers are used as elements of"
                yield f"{path}: {text} {domains[0].__name__}"


class _Reading:
    def __init__(self, sorts: Sorts, routine: ir.Routine) -> None:
        self.sorts = sorts
        self.routine = routine
        self.determined = sorts.determined
        self.result = Node()
        self.loops: list[Node] = []
        self.locals = {one: Node() for one in routine.arguments if one.role is ir.Role.NUMBER}

    def fault(self, value: Value, span: ir.Span, text: str) -> None:
        """Record `text` as a reason why the model distinguishes elements of a sort; {} becomes the source text."""
        if isinstance(value, Node):
            name = self.routine.name
            value.root().faults.append(lambda: f"{span.place}: in {name}: {text.replace('{}', f'`{span.shown}`')}")

    def unify(self, left: Value, right: Value, span: ir.Span) -> None:
        """Record that two values have one sort, because the model compares them or assigns one to the other."""
        if isinstance(left, Node) and isinstance(right, Node):
            left.join(right)
        elif isinstance(left, int) and isinstance(right, Node):
            right.root().fixed.add(left)
        elif isinstance(left, Node) and isinstance(right, int):
            left.root().fixed.add(right)
        elif isinstance(left or right, Node):
            self.fault(left or right, span, "{} uses the result of a calculation as an element")

    # --------------------------------------------------------------------------------------------------- statements

    def block(self, statements: Iterable[ir.Statement]) -> bool:
        """Go through statements in order, up to one that always returns; return whether there is such a statement."""
        return any(map(self.statement, statements))

    def statement(self, statement: ir.Statement) -> bool:
        match statement:
            case ir.Assign(variable, value):
                self.unify(self.locals.setdefault(variable, Node()), self.value(value), value.span)
            case ir.Store():
                self.store(statement)
            case ir.Branch(cases, otherwise):
                ended = True
                for case in cases:
                    test = self.truth(case.condition)
                    if test is not False:
                        ended = self.block(case.body) and ended
                    if test is True:
                        return ended
                return self.block(otherwise) and ended
            case ir.Loop():
                self.loop(statement)
            case ir.Require(condition):
                for node in self.loops:
                    fault = "`require` in a loop stops at the first element that fails; write require(all(...))"
                    self.fault(node, statement.span, fault)
                return self.truth(condition) is False
            case ir.Return(value):
                self.unify(self.result, self.value(value), value.span)
                return True
            case ir.Do(call):
                self.call(call)
            case ir.CollectiveStatement():
                raise ir.NotInTheCoreError(statement.span.place)
            case _:
                assert_never(statement)
        return False

    def store(self, store: ir.Store) -> None:
        total = increase(store)
        if total is None:
            self.unify(self.cell(store.cell), self.value(store.value), store.value.span)
            return
        for value in [*(self.value(term.value) for term in total.terms[1:]), self.cell(store.cell)]:
            self.fault(value, store.span, "arithmetic with an element")

    def loop(self, loop: ir.Loop) -> None:
        variable, before = loop.variable, dict(self.locals)
        node = self.iterated(loop.range, loop.span)
        if variable in before:
            self.unify(node, before[variable], loop.span)
            fault = f"after this loop, `{variable.name}` is the last element, so their order matters"
            self.fault(node, loop.span, fault)
        self.locals[variable] = node
        self.loops.append(node)
        self.block(loop.body)
        self.loops.pop()
        for fault, where in order_faults(loop, self.sorts.reads.of(self.routine), before):
            self.fault(node, where, fault)
        self.locals = before

    # -------------------------------------------------------------------------------------------------- expressions

    def truth(self, condition: ir.Expression) -> bool | None:
        value = self.value(condition)
        if isinstance(value, Node):
            value.root().fixed.add(0)
        return self.determined.truth(condition)

    def value(self, expression: ir.Expression) -> Value:
        number = self.determined.number(expression)
        if number is not None:
            return number
        span = expression.span
        match expression:
            case ir.Local(variable):
                return self.locals[variable]
            case ir.Cell():
                return self.cell(expression)
            case ir.Element(subset, index):
                assert subset.domain is not None and issubclass(subset.domain, Subset)
                self.unify(self.sorts.domain(subset.domain.of), self.value(index), index.span)
            case ir.Not(operand):
                self.truth(operand)
            case ir.And(parts) | ir.Or(parts):  # the value is that of a part: `0 or 2` is 2
                for part in parts:
                    self.fault(self.value(part), part.span, "{} uses an element as a truth value")
                    if self.determined.truth(part) is isinstance(expression, ir.Or):
                        break  # earlier parts are evaluated, later parts are not
            case ir.Compare(left, sign, right):
                self.comparisons(expression, [left, right], [sign])
            case ir.Chain(first, links):
                sides = [first, *(link.right for link in links)]
                self.comparisons(expression, sides, [link.sign for link in links])
            case ir.Among(element, choices):
                value = self.value(element)
                for choice in choices:
                    self.unify(value, self.value(choice), span)
            case ir.Negative() | ir.Sum() | ir.Arithmetic():
                self.computed(operands(expression), "{} calculates with an element", span)
            case ir.Extremum(_, parts):
                self.computed(parts, "{} orders elements", span)
            case ir.Choose():
                return self.chosen(expression)
            case ir.Fold():
                self.fold(expression)
            case ir.Call():
                return self.call(expression)
            case ir.Constant() | ir.Setting() | ir.Size() | ir.IsTaken():
                pass
            case ir.CollectiveExpression():
                raise ir.NotInTheCoreError(expression.span.place)
            case _:
                assert_never(expression)
        return None

    def computed(self, parts: Iterable[ir.Expression], fault: str, span: ir.Span) -> None:
        for part in parts:
            self.fault(self.value(part), span, fault)

    def comparisons(self, whole: ir.Expression, sides: Sequence[ir.Expression], signs: Sequence[ir.Sign]) -> None:
        """Go through a comparison or a chain `a < b < c` of comparisons; `sides` are the compared expressions."""
        values = [self.value(side) for side in sides]
        for left, sign, right in zip(values, signs, values[1:], strict=False):
            if sign in (ir.Sign.EQUAL, ir.Sign.NOT_EQUAL) or whole in self.sorts.unordered:
                self.unify(left, right, whole.span)
            else:
                for value in (left, right):
                    self.fault(value, whole.span, "{} orders elements")

    def chosen(self, choose: ir.Choose) -> Value:
        values = []
        for option in choose.options:
            truth = self.truth(option.condition)
            if truth is not False:
                values.append((self.value(option.value), option.value.span))
            if truth is True:
                break
        else:
            values.append((self.value(choose.otherwise), choose.otherwise.span))
        if len(values) == 1:
            return values[0][0]
        into = Node()
        for value, span in values:
            self.unify(into, value, span)
        return into

    def fold(self, fold: ir.Fold) -> None:
        if fold.gathering is not ir.Gathering.SUM:
            self.sorts.unordered |= set(pairs.symmetric_orders(fold))
        for generator in fold.generators:
            node = self.locals[generator.variable] = self.iterated(generator.range, generator.span)
            numbers = generator.range
            if node.ranges and not all(map(self.sorts.is_written, (numbers.first, numbers.end))):
                self.sorts.generators[generator] = node
            for condition in generator.conditions:
                self.truth(condition)
        match fold.gathering:
            case ir.Gathering.ALL | ir.Gathering.ANY:
                self.truth(fold.body)
            case ir.Gathering.SUM:
                self.fault(self.value(fold.body), fold.body.span, "a sum of elements")
            case ir.Gathering.LEAST | ir.Gathering.GREATEST:
                parts = [fold.body] if fold.default is None else [fold.body, fold.default]
                self.computed(parts, "{} orders elements", fold.span)
            case _:
                assert_never(fold.gathering)

    def iterated(self, numbers: ir.Range, span: ir.Span) -> Node:
        """A new node for the variable of a loop or a fold over a range."""
        node = Node()
        match self.value(numbers.first), self.value(numbers.end):
            case int(low), int(high):
                node.ranges.append((low, high, span.place))
            case ends:
                for end in (node, *ends):
                    self.fault(end, span, f"`{numbers.span.shown}` depends on the state")
        return node

    def call(self, call: ir.Call) -> Value:
        callee = self.sorts.routine(call.routine)
        for parameter, argument in zip(call.routine.parameters, call.arguments, strict=True):
            if parameter.role is ir.Role.NUMBER:
                self.unify(callee.locals[parameter], self.value(argument), argument.span)
        return callee.result if call.routine.returns_value else None

    def cell(self, cell: ir.Cell) -> Value:
        """Unite the index nodes of a cell with the domains of its field; returns the node of the cell's value."""
        declared = self.sorts.instance.model.fields[cell.field]
        for domain, index in zip(declared.over, cell.indices, strict=True):
            self.unify(self.sorts.domain(domain), self.value(index), index.span)
        return self.sorts.values[cell.field]

"""Which values of a model are elements of which domain, and what an action or a property does with them.

In:  an `Instance`.
Out: `Sort`s: the domains whose elements the model never tells apart, except by ==, by indices and by named constants;
     and for every other domain the first place that tells elements apart.

Every value gets a sort by unification: an index has the sort of the axis, the sides of == have one sort, a parameter
has the sort of its arguments. Numbers that are computed have none. Domains whose elements meet this way share one sort.
A permutation of the elements of a sort maps steps to steps, and keeps the truth of properties, if every operation on
values of the sort is one of: ==, !=, use as an index, assignment, a call, a fold or a loop over the whole domain; and
the order of a loop's iterations does not matter (checker/reductions/loops.py). By induction over the syntax tree, each
expression then has in the permuted state the permuted value. Settings are known, so a branch that they exclude is not
read. A comparison with a constant restricts the permutations to those that keep the constant; NONE is always kept.

A permutation maps a step that leaves a declared range to such a step, but for one exception: a fold stops at the first
element that decides it, so the elements' order decides whether an index of a later one leaves its range. A reduced
kernel evaluates such folds to the end (checker/compile/lowering/elements.py), and a search that then finds a range left
is repeated without reduction. A `require` in a loop would be another exception, and is refused.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, assert_never

from isrcheck.checker.reductions import loops, pairs
from isrcheck.checker.reductions.loops import Access, Binding
from isrcheck.checker.reductions.values import Known, Node, Value
from isrcheck.models.language.declare import NONE, Domain, LastOf, Queue, Subset
from isrcheck.models.language.ir.building import routine_of
from isrcheck.models.language.ir.determined import Determined
from isrcheck.models.language.ir.interpreter import SIGNS
from isrcheck.models.language.ir.nodes import (
    Among,
    And,
    Arithmetic,
    Assign,
    Branch,
    Call,
    Cell,
    Chain,
    Choose,
    Compare,
    Constant,
    Do,
    Element,
    Expression,
    Extreme,
    Extremum,
    Fold,
    Gathering,
    IsTaken,
    Local,
    Loop,
    Negative,
    Not,
    Or,
    Range,
    Require,
    Return,
    Role,
    Routine,
    Setting,
    Sign,
    Size,
    Span,
    Statement,
    Store,
    Sum,
)
from isrcheck.models.language.ir.walking import assigned, increase
from isrcheck.models.language.model import Instance
from isrcheck.models.language.syntax import Function, Parameter


@dataclass(frozen=True)
class Sort:
    """Domains whose elements are the same numbers: how many, and those that a permutation has to keep."""

    domains: tuple[type[Domain], ...]
    size: int
    fixed: frozenset[int]
    fields: frozenset[str]
    """The fields whose cells hold elements."""

    @property
    def name(self) -> str:
        """The name of the domain, of which the others are parts."""
        return self.domains[0].__name__


class Sorts:
    """The sorts of an instance. `asymmetric` says for the other domains what tells their elements apart, and where."""

    def __init__(self, instance: Instance) -> None:
        self.instance = instance
        self.determined = Determined(instance)
        self.domains: dict[type[Domain], Node] = {}
        self.values: dict[str, Node | None] = {}
        self.routines: dict[Routine, _Reading] = {}
        self.unordered: set[Compare] = set()
        """The comparisons of elements that only spare the second look at a pair (checker/reductions/pairs.py)."""
        for name, declared in instance.model.fields.items():
            for domain in declared.over:
                self.domain(domain)
            if isinstance(declared.contents, Queue):
                what = f"{instance.model.place_of(name)}: the places of a queue are in order"
                self.domain(declared.contents.axis).faults.append(what)
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
        """The node of a domain."""
        return self.domains.setdefault(domain, Node({domain}))

    def function(self, function: Function) -> _Reading:
        """What is known of a function."""
        return self.routine(routine_of(function))

    def routine(self, routine: Routine) -> _Reading:
        """What is known of a routine, which is read once."""
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
            reading = self.function(function)
            for parameter, one in zip(reading.routine.arguments, action.parameters, strict=True):
                for domain in (parameter.domain, one.domain):
                    if domain is not None and not issubclass(domain, Subset):
                        reading.locals[parameter].value.join(self.domain(domain))
                    elif domain is not None and parameter.domain is not None and issubclass(parameter.domain, Subset):
                        self.domain(parameter.domain.of).join(self.domain(domain.of))
        # What ends or bounds a search has to respect the permutations, too.
        for function in (*instance.model.terminals, *instance.model.constraints):
            self.function(function)
        for prop in instance.properties:
            self.function(prop.function)
            if prop.permitted is not None:
                self.function(prop.permitted)

    def size(self, domain: type[Domain]) -> int:
        """The number of elements of a domain."""
        return self.instance.elements(Parameter(domain.__name__, domain))

    def _judge(self) -> None:
        for node in {id(one.root()): one.root() for one in self.domains.values()}.values():
            domains = tuple(one for one in self.domains if self.domains[one].root() is node)
            sizes = {self.size(one) for one in domains} - {0}
            fault = next(self._faults(node, domains, sizes), None)
            if fault is not None:
                self.asymmetric |= dict.fromkeys(domains, fault)
            elif sizes:
                (size,) = sizes
                fixed = frozenset(node.fixed & set(range(size)))
                self.symmetric.append(Sort(domains, size, fixed, frozenset(node.fields)))

    def _faults(self, node: Node, domains: Sequence[type[Domain]], sizes: set[int]) -> Iterator[str]:
        yield from node.faults
        path = self.instance.model.path
        if len(sizes) > 1:
            names = ", ".join(f"{one.__name__} with {self.size(one)}" for one in domains if self.size(one))
            yield f"{path}: elements of domains of different sizes are compared: {names}"
        size = max(sizes, default=0)
        for low, high, place in node.ranges:
            if size and (low, high) != (0, size):
                yield f"{place}: a loop over {low}..{high - 1}, a part of {domains[0].__name__}"
        for name in node.fields:
            layout = self.instance.layouts[name]
            if size and layout.count and (layout.low not in (0, NONE) or layout.high != size - 1):
                what = f"field {name} holds {layout.low}..{layout.high}, and its numbers are used as elements of"
                yield f"{path}: {what} {domains[0].__name__}"


class _Reading:
    """Reads one routine: unifies the sorts of its values, and notes what it does with the state."""

    def __init__(self, sorts: Sorts, routine: Routine) -> None:
        self.sorts = sorts
        self.routine = routine
        self.result = Node()
        self.accesses: list[Access] = []
        self.loops: list[Node] = []
        self.locals = {
            parameter: Binding(Node(), parameter not in routine.assignments)
            for parameter in routine.arguments
            if parameter.role is Role.NUMBER
        }

    def fault(self, value: Value, span: Span, what: str) -> None:
        """Note that elements of the value's sort are told apart."""
        if isinstance(value, Node):
            value.root().faults.append(f"{span.place}: in {self.routine.name}: {what}")

    def unify(self, left: Value, right: Value, span: Span) -> None:
        """Say that two values are compared, or that one is stored where the other one is read."""
        if isinstance(left, Node) and isinstance(right, Node):
            left.join(right)
        elif isinstance(left, Known) and isinstance(right, Node):
            right.root().fixed.add(left.number)
        elif isinstance(left, Node) and isinstance(right, Known):
            left.root().fixed.add(right.number)
        elif isinstance(left or right, Node):
            self.fault(left or right, span, f"`{span.shown}` uses a computed number as an element")

    # --------------------------------------------------------------------------------------------------- statements

    def block(self, statements: Iterable[Statement]) -> bool:
        """Read statements in order, up to one that always returns; whether there is such a one."""
        return any(map(self.statement, statements))

    def statement(self, statement: Statement) -> bool:
        match statement:
            case Assign(variable, value):
                binding = self.locals.setdefault(variable, Binding(Node(), is_stable=False))
                self.unify(binding.value, self.value(value), value.span)
            case Store():
                self.store(statement)
            case Branch(cases, otherwise):
                ended = True
                for case in cases:
                    test = self.truth(case.condition)
                    if test is not False:
                        ended = self.block(case.body) and ended
                    if test is True:
                        return ended
                return self.block(otherwise) and ended
            case Loop():
                self.loop(statement)
            case Require(condition):
                for node in self.loops:
                    what = "`require` in a loop: the first element decides; write require(all(...))"
                    self.fault(node, statement.span, what)
                return self.truth(condition) is False
            case Return(value):
                self.unify(self.result, self.value(value), value.span)
                return True
            case Do(call):
                self.call(call)
            case _:
                assert_never(statement)
        return False

    def store(self, statement: Store) -> None:
        total, span = increase(statement), statement.span
        if total is None:
            value = self.value(statement.value)
            said = loops.invariant(statement.value, value.number if isinstance(value, Known) else None, self.locals)
            self.unify(self.cell(statement.cell, "write", said), value, statement.value.span)
            return
        signs = set()
        for term in total.terms[1:]:
            value = self.value(term.value)
            self.fault(value, span, "arithmetic with an element")
            signs.add(term.is_subtracted if isinstance(value, Known) and value.number >= 0 else None)
        sign = {True: "subtract", False: "add", None: None}[signs.pop()] if len(signs) == 1 else None
        self.fault(self.cell(statement.cell, "add", sign), span, "arithmetic with an element")

    def loop(self, loop: Loop) -> None:
        variable, known, first = loop.variable, dict(self.locals), len(self.accesses)
        node = self.iterated(loop.range, loop.span)
        if variable in known:
            self.unify(node, known[variable].value, loop.span)
            self.fault(node, loop.span, f"after this loop, `{variable.name}` is the last element")
        self.locals[variable] = binding = Binding(node, variable not in assigned(loop.body))
        self.loops.append(node)
        self.block(loop.body)
        self.loops.pop()
        for what, where in loops.faults(loop, binding, self.accesses[first:], known):
            self.fault(node, where, what)
        self.locals = known

    # -------------------------------------------------------------------------------------------------- expressions

    def truth(self, expression: Expression) -> bool | None:
        """Read a condition; its value if the configuration determines it."""
        value = self.value(expression)
        if isinstance(value, Known):
            return bool(value.number)
        if isinstance(value, Node):
            value.root().fixed.add(0)
        return None

    def value(self, expression: Expression) -> Value:
        span = expression.span
        match expression:
            case Constant(number):
                return Known(int(number))
            case Local(variable):
                found: Value = self.locals[variable].value
                return found
            case Setting(entry):
                return Known(int(getattr(self.sorts.instance.configuration, entry)))
            case Size(domain):
                return Known(self.sorts.instance.size_of(domain))
            case Cell():
                return self.cell(expression, "read", None)
            case Element(subset, index):
                assert subset.domain is not None and issubclass(subset.domain, Subset)
                self.unify(self.sorts.domain(subset.domain.of), self.value(index), index.span)
            case IsTaken():
                pass
            case Not(operand):
                test = self.truth(operand)
                return None if test is None else Known(not test)
            case And(parts):
                return self.decided(parts, False)
            case Or(parts):
                return self.decided(parts, True)
            case Compare(left_side, sign, right_side):
                return self.comparison(self.value(left_side), sign, self.value(right_side), expression)
            case Chain():
                return self.chain(expression)
            case Among(element, choices):
                left = self.value(element)
                for choice in choices:
                    self.unify(left, self.value(choice), span)
            case Negative(operand):
                value = self.computed([operand], f"`{span.shown}` is arithmetic with an element", span)
                return None if value is None else Known(-value[0])
            case Sum(terms):
                what = f"`{span.shown}` is arithmetic with an element"
                numbers = self.computed([term.value for term in terms], what, span)
                if numbers is not None:
                    signs = (-1 if term.is_subtracted else 1 for term in terms)
                    return Known(sum(sign * number for sign, number in zip(signs, numbers, strict=True)))
            case Arithmetic(left_side, _, right_side):
                self.computed([left_side, right_side], f"`{span.shown}` is arithmetic with an element", span)
            case Extremum(extreme, parts):
                numbers = self.computed(parts, f"`{span.shown}` orders elements", span)
                return None if numbers is None else Known((min if extreme is Extreme.LEAST else max)(numbers))
            case Choose():
                return self.chosen(expression)
            case Fold():
                self.fold(expression)
            case Call():
                return self.call(expression)
            case _:
                assert_never(expression)
        return None

    def computed(self, parts: Sequence[Expression], what: str, span: Span) -> list[int] | None:
        """Read numbers that are computed with, which elements must not be; the numbers, if all are determined."""
        values = [self.value(part) for part in parts]
        for value in values:
            self.fault(value, span, what)
        numbers = [value.number for value in values if isinstance(value, Known)]
        return numbers if len(numbers) == len(values) else None

    def decided(self, parts: Sequence[Expression], decides: bool) -> Value:
        """`and`, `or`: the first value that decides, else the last: `0 or 2` is 2."""
        known, value = True, None
        for part in parts:
            value = self.value(part)
            self.fault(value, part.span, f"`{part.span.shown}` is an element that is used as a truth value")
            known = known and isinstance(value, Known)
            if isinstance(value, Known) and bool(value.number) == decides:
                break  # what comes before is evaluated, what comes after is not
        return value if known else None

    def comparison(self, left: Value, sign: Sign, right: Value, comparison: Compare | Chain) -> Value:
        """Two numbers are compared, perhaps in a chain."""
        if isinstance(left, Known) and isinstance(right, Known):
            return Known(SIGNS[sign](left.number, right.number))
        is_order = sign not in (Sign.EQUAL, Sign.NOT_EQUAL)
        if is_order and comparison not in self.sorts.unordered:
            for one in (left, right):
                self.fault(one, comparison.span, f"`{comparison.span.shown}` orders elements")
        else:
            self.unify(left, right, comparison.span)
        return None

    def chain(self, chain: Chain) -> Value:
        left, truths = self.value(chain.first), []
        for link in chain.links:
            right = self.value(link.right)
            truths.append(self.comparison(left, link.sign, right, chain))
            left = right
        numbers = [one.number for one in truths if isinstance(one, Known)]
        return Known(all(numbers)) if len(numbers) == len(truths) else None

    def chosen(self, expression: Choose) -> Value:
        found: list[tuple[Value, Span]] = []
        for option in expression.options:
            known = self.truth(option.condition)
            if known is not False:
                found.append((self.value(option.value), option.value.span))
            if known is True:
                break
        else:
            found.append((self.value(expression.otherwise), expression.otherwise.span))
        if len(found) == 1:
            return found[0][0]
        into = Node()
        for one, where in found:
            self.unify(into, one, where)
        return into

    def fold(self, fold: Fold) -> None:
        if fold.gathering is not Gathering.SUM:
            self.sorts.unordered |= set(pairs.symmetric_orders(fold))
        for generator in fold.generators:
            node = self.iterated(generator.range, generator.span)
            self.locals[generator.variable] = Binding(node, is_stable=True)
            for condition in generator.conditions:
                self.truth(condition)
        match fold.gathering:
            case Gathering.ALL | Gathering.ANY:
                self.truth(fold.body)
            case Gathering.SUM:
                self.fault(self.value(fold.body), fold.body.span, "a sum of elements")
            case Gathering.LEAST | Gathering.GREATEST:
                parts = [fold.body] if fold.default is None else [fold.body, fold.default]
                self.computed(parts, f"`{fold.span.shown}` orders elements", fold.span)
            case _:
                assert_never(fold.gathering)

    def iterated(self, numbers: Range, span: Span) -> Node:
        """The sort of the variable of a loop or a fold."""
        node = Node()
        ends = [self.value(one) for one in (numbers.first, numbers.end)]
        match ends:
            case [Known(low), Known(high)]:
                node.ranges.append((low, high, span.place))
            case _:
                for one in (node, *ends):
                    self.fault(one, span, f"`{numbers.span.shown}` depends on the state")
        return node

    def call(self, call: Call) -> Value:
        routine = call.routine
        callee = self.sorts.routine(routine)
        origins: dict[Binding, Binding | None] = {}
        for parameter, argument in zip(routine.parameters, call.arguments, strict=True):
            if parameter.role is Role.NUMBER:
                self.unify(callee.locals[parameter].value, self.value(argument), argument.span)
                origins[callee.locals[parameter]] = loops.origin(argument, self.locals)
        self.accesses += [one.seen_from(origins, call.span) for one in callee.accesses]
        if not routine.returns_value:
            return None
        if not (routine.writes or routine.reads or routine.arguments):
            number = self.sorts.determined.number(call)
            assert number is not None, "it depends on the configuration alone"
            return Known(number)
        return callee.result

    def cell(self, cell: Cell, mode: str, said: Any) -> Value:
        """Read a cell: unify the indices with the axes; returns the sort of the cell."""
        declared = self.sorts.instance.model.fields[cell.field]
        for domain, index in zip(declared.over, cell.indices, strict=True):
            self.unify(self.sorts.domain(domain), self.value(index), index.span)
        origins = tuple(loops.origin(index, self.locals) for index in cell.indices)
        self.accesses.append(Access(cell.field, origins, mode, said, cell.span))
        return self.sorts.values[cell.field]

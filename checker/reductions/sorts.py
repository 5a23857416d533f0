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
kernel evaluates such folds to the end (checker/reductions/elements.py), and a search that then finds a range left is
repeated without reduction. A `require` in a loop would be another exception, and is refused.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

from isrcheck.checker.reductions import loops, pairs
from isrcheck.checker.reductions.loops import Access, Binding
from isrcheck.checker.reductions.values import Constant, Node, Value
from isrcheck.models.language.declare import NONE, Domain, LastOf, Queue, Subset
from isrcheck.models.language.ir import building, interpreter
from isrcheck.models.language.model import Instance
from isrcheck.models.language.syntax import EXTREMA, FOLDS, SIZE, TAKEN, Function, Parameter
from isrcheck.models.language.text.chains import alternatives, branches, summands
from isrcheck.models.language.text.spelling import shown
from isrcheck.models.run import State

COMPARE = {kind: interpreter.SIGNS[sign] for kind, sign in building.SIGNS.items()}


class UnknownConstructError(Exception):
    """The language has a construct that this analysis does not know; the text says where."""


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
        self.domains: dict[type[Domain], Node] = {}
        self.values: dict[str, Node | None] = {}
        self.functions: dict[Function, _Reading] = {}
        self.unordered: dict[ast.Compare, str] = {}
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
        """What is known of a function, which is read once."""
        if function not in self.functions:
            self.functions[function] = reading = _Reading(self, function)
            reading.read()
        return self.functions[function]

    def _read(self) -> None:
        instance = self.instance
        for index, action in enumerate(instance.model.actions):
            function = instance.function(index)
            if function is None:
                continue
            reading = self.function(function)
            for parameter, one in zip(function.arguments, action.parameters, strict=True):
                for domain in (parameter.domain, one.domain):
                    if domain is not None and not issubclass(domain, Subset):
                        reading.locals[parameter.name].value.join(self.domain(domain))
                    elif domain is not None and parameter.domain is not None:
                        self.domain(parameter.domain.of).join(self.domain(domain.of))  # type: ignore[union-attr]
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
    """Reads one function: unifies the sorts of its values, and notes what it does with the state."""

    def __init__(self, sorts: Sorts, function: Function) -> None:
        self.sorts = sorts
        self.function = function
        self.result = Node()
        self.accesses: list[Access] = []
        self.loops: list[Node] = []
        self.locals: dict[str, Binding] = {}
        for parameter in function.parameters:
            if not parameter.is_state and parameter.name != TAKEN and not parameter.is_subset:
                self.locals[parameter.name] = Binding(Node(), parameter.name not in function.stores)

    def read(self) -> None:
        """Read the whole function."""
        self.block(self.function.body)

    def place(self, node: ast.AST) -> str:
        return f"{self.function.path}:{getattr(node, 'lineno', self.function.line)}"

    def fault(self, value: Value, node: ast.AST, what: str) -> None:
        """Note that elements of the value's sort are told apart."""
        if isinstance(value, Node):
            value.root().faults.append(f"{self.place(node)}: in {self.function.name}: {what}")

    def unify(self, left: Value, right: Value, node: ast.AST) -> None:
        """Say that two values are compared, or that one is stored where the other one is read."""
        if isinstance(left, Node) and isinstance(right, Node):
            left.join(right)
        elif isinstance(left, Constant) and isinstance(right, Node):
            right.root().fixed.add(left.number)
        elif isinstance(left, Node) and isinstance(right, Constant):
            left.root().fixed.add(right.number)
        else:
            self.fault(left or right, node, f"`{shown(node)}` uses a computed number as an element")

    # --------------------------------------------------------------------------------------------------- statements

    def block(self, statements: Sequence[ast.stmt]) -> bool:
        """Read statements in order, up to one that always returns; whether there is such a one."""
        for statement in statements:
            method = getattr(self, f"statement_{type(statement).__name__}", None)
            if method is None:
                self.refuse(statement)
            if method(statement):
                return True
        return False

    def refuse(self, node: ast.AST) -> NoReturn:
        raise UnknownConstructError(f"{self.place(node)}: `{shown(node)}` is not analysed")

    def statement_Pass(self, statement: ast.Pass) -> bool:
        return False

    def statement_Assign(self, statement: ast.Assign) -> bool:
        target = statement.targets[0]
        value = self.value(statement.value)
        if isinstance(target, ast.Name):
            binding = self.locals.setdefault(target.id, Binding(Node(), is_stable=False))
            self.unify(binding.value, value, statement.value)
            return False
        said = loops.invariant(statement.value, value.number if isinstance(value, Constant) else None, self.locals)
        self.unify(self.cell(target, "write", said), value, statement.value)
        return False

    def statement_AugAssign(self, statement: ast.AugAssign) -> bool:
        value = self.value(statement.value)
        self.fault(value, statement, "arithmetic with an element")
        if isinstance(statement.target, ast.Name):
            self.fault(self.locals[statement.target.id].value, statement, "arithmetic with an element")
            return False
        sign = type(statement.op).__name__ if isinstance(value, Constant) and value.number >= 0 else None
        self.fault(self.cell(statement.target, "add", sign), statement, "arithmetic with an element")
        return False

    def statement_If(self, statement: ast.If) -> bool:
        tests, otherwise = branches(statement)
        ended = True
        for one in tests:
            test = self.truth(one.test)
            if test is not False:
                ended = self.block(one.body) and ended
            if test is True:
                return ended
        return self.block(otherwise) and ended

    def statement_For(self, statement: ast.For) -> bool:
        if not isinstance(statement.target, ast.Name):
            self.refuse(statement.target)
        node = self.loop_variable(statement.target, statement.iter)
        name, known = statement.target.id, dict(self.locals)
        if name in known:
            self.unify(node, known[name].value, statement)
            self.fault(node, statement, f"after this loop, `{name}` is the last element")
        self.locals[name] = binding = Binding(node, name not in loops.assigned(statement.body))
        first = len(self.accesses)
        self.loops.append(node)
        self.block(statement.body)
        self.loops.pop()
        outer = set(map(id, known.values()))
        for what, where in loops.faults(statement, self.function, binding, self.accesses[first:], known, outer):
            self.fault(node, where if where is not None else statement, what)
        self.locals = known
        return False

    def statement_Return(self, statement: ast.Return) -> bool:
        assert statement.value is not None
        self.unify(self.result, self.value(statement.value), statement.value)
        return True

    def statement_Expr(self, statement: ast.Expr) -> bool:
        call = statement.value
        if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name):
            self.refuse(statement.value)
        if self.function.builtin(call):  # require(...)
            for node in self.loops:
                self.fault(node, call, "`require` in a loop: the first element decides; write require(all(...))")
            return self.truth(call.args[0]) is False
        self.call(call)
        return False

    # -------------------------------------------------------------------------------------------------- expressions

    def truth(self, expression: ast.expr) -> bool | None:
        """Read a condition; its value if the configuration determines it."""
        value = self.value(expression)
        if isinstance(value, Constant):
            return bool(value.number)
        if isinstance(value, Node):
            value.root().fixed.add(0)
        return None

    def value(self, expression: ast.expr) -> Value:
        method = getattr(self, f"value_{type(expression).__name__}", None)
        if method is None:
            self.refuse(expression)
        found: Value = method(expression)
        return found

    def value_Constant(self, expression: ast.Constant) -> Value:
        if not isinstance(expression.value, int):
            self.refuse(expression)
        return Constant(int(expression.value))

    def value_Name(self, expression: ast.Name) -> Value:
        if expression.id in self.locals:
            found: Value = self.locals[expression.id].value
            return found
        if expression.id not in self.function.constants:
            self.refuse(expression)
        return Constant(int(self.function.constants[expression.id]))

    def value_Attribute(self, expression: ast.Attribute) -> Value:
        member = self.function.member(expression)
        if member is not None:
            return Constant(int(member))
        if expression.attr in self.sorts.instance.model.entries:
            return Constant(int(getattr(self.sorts.instance.configuration, expression.attr)))
        return self.cell(expression, "read", None)

    def value_Subscript(self, expression: ast.Subscript) -> Value:
        if isinstance(expression.value, ast.Name):  # of a subset
            parameter = next((p for p in self.function.parameters if p.name == expression.value.id), None)
            if parameter is None or parameter.domain is None or not issubclass(parameter.domain, Subset):
                self.refuse(expression)
            self.unify(self.sorts.domain(parameter.domain.of), self.value(expression.slice), expression.slice)
            return None
        return self.cell(expression, "read", None)

    def value_BinOp(self, expression: ast.BinOp) -> Value:
        values = []
        if isinstance(expression.op, ast.Add | ast.Sub):
            first, rest = summands(expression)
            values = [self.value(first), *(self.value(term) for _, term in rest)]
            if all(isinstance(value, Constant) for value in values):
                total = values[0].number  # type: ignore[union-attr]
                for (sign, _), value in zip(rest, values[1:], strict=True):
                    total += value.number if isinstance(sign, ast.Add) else -value.number  # type: ignore[union-attr]
                return Constant(total)
        else:
            values = [self.value(expression.left), self.value(expression.right)]
        for value in values:
            self.fault(value, expression, f"`{shown(expression)}` is arithmetic with an element")
        return None

    def value_UnaryOp(self, expression: ast.UnaryOp) -> Value:
        if isinstance(expression.op, ast.Not):
            test = self.truth(expression.operand)
            return None if test is None else Constant(not test)
        value = self.value(expression.operand)
        self.fault(value, expression, f"`{shown(expression)}` is arithmetic with an element")
        return Constant(-value.number) if isinstance(value, Constant) else None

    def value_BoolOp(self, expression: ast.BoolOp) -> Value:
        decides = isinstance(expression.op, ast.Or)
        known, value = True, None
        for one in expression.values:
            value = self.value(one)
            self.fault(value, one, f"`{shown(one)}` is an element that is used as a truth value")
            known = known and isinstance(value, Constant)
            if isinstance(value, Constant) and bool(value.number) == decides:
                break  # what comes before is evaluated, what comes after is not
        return value if known else None  # the first value that decides, else the last: `0 or 2` is 2

    def value_Compare(self, expression: ast.Compare) -> Value:
        if isinstance(expression.left, ast.Name) and expression.left.id == TAKEN:
            return None
        if isinstance(expression.comparators[0], ast.Tuple):  # x in (a, b)
            left = self.value(expression.left)
            for element in expression.comparators[0].elts:
                self.unify(left, self.value(element), expression)
            return None
        values = [self.value(one) for one in (expression.left, *expression.comparators)]
        results = []
        for sign, left, right in zip(expression.ops, values[:-1], values[1:], strict=True):
            if isinstance(left, Constant) and isinstance(right, Constant):
                results.append(COMPARE[type(sign)](left.number, right.number))
            elif type(sign) in (ast.Eq, ast.NotEq):
                self.unify(left, right, expression)
            elif type(sign) in COMPARE and expression not in self.sorts.unordered:
                for one in (left, right):
                    self.fault(one, expression, f"`{shown(expression)}` orders elements")
            elif type(sign) not in COMPARE:
                self.refuse(expression)
            else:
                self.unify(left, right, expression)
        if len(results) == len(expression.ops):
            return Constant(all(results))
        return None

    def value_IfExp(self, expression: ast.IfExp) -> Value:
        pairs_, last = alternatives(expression)
        found: list[tuple[Value, ast.expr]] = []
        for test, value in pairs_:
            known = self.truth(test)
            if known is not False:
                found.append((self.value(value), value))
            if known is True:
                break
        else:
            found.append((self.value(last), last))
        if len(found) == 1:
            return found[0][0]
        into = Node()
        for one, where in found:
            self.unify(into, one, where)
        return into

    def value_Call(self, call: ast.Call) -> Value:
        name = self.function.builtin(call)
        if self.function.callee(call) is not None:
            return self.call(call)
        if name in FOLDS and len(call.args) == 1 and isinstance(call.args[0], ast.GeneratorExp):
            return self.fold(name, call.args[0])
        if name == SIZE:
            return Constant(self.sorts.instance.size_of(self.function.domain(call)))
        if name not in EXTREMA or any(isinstance(one, ast.GeneratorExp) for one in call.args):
            self.refuse(call)
        values = [self.value(one) for one in call.args]
        for value in values:
            self.fault(value, call, f"`{shown(call)}` orders elements")
        if all(isinstance(value, Constant) for value in values):
            return Constant((min if name == "min" else max)(value.number for value in values))  # type: ignore[union-attr]
        return None

    def fold(self, name: str, generator: ast.GeneratorExp) -> Value:
        known = dict(self.locals)
        if name != "sum":
            unordered = pairs.symmetric_orders(generator, self.function, self.locals)
            self.sorts.unordered |= dict.fromkeys(unordered, self.function.path)
        for part in generator.generators:
            if not isinstance(part.target, ast.Name):
                self.refuse(part.target)
            node = self.loop_variable(part.target, part.iter)
            self.locals[part.target.id] = Binding(node, is_stable=True)
            for test in part.ifs:
                self.truth(test)
        if name == "sum":
            self.fault(self.value(generator.elt), generator.elt, "a sum of elements")
        else:
            self.truth(generator.elt)
        self.locals = known
        return None

    def loop_variable(self, target: ast.Name, iterated: ast.expr) -> Node:
        """The sort of the variable of a loop or a fold."""
        node = Node()
        if not isinstance(iterated, ast.Call) or not isinstance(iterated.func, ast.Name) or iterated.func.id != "range":
            self.refuse(iterated)
        ends = [self.value(one) for one in iterated.args]
        if not all(isinstance(end, Constant) for end in ends):
            for one in (node, *ends):
                self.fault(one, target, f"`{shown(iterated)}` depends on the state")
            return node
        numbers = [end.number for end in ends if isinstance(end, Constant)]
        low, high = numbers if len(numbers) == 2 else (0, numbers[0])
        node.ranges.append((low, high, self.place(target)))
        return node

    def call(self, call: ast.Call) -> Value:
        function = self.function.callee(call)
        assert function is not None
        callee = self.sorts.function(function)
        origins: dict[Binding, Binding | None] = {}
        is_constant = not function.writes and not function.reads
        for parameter, argument in zip(function.parameters, call.args, strict=True):
            if parameter.is_state:
                continue
            is_constant = False
            if parameter.is_subset or parameter.name == TAKEN:
                continue
            self.unify(callee.locals[parameter.name].value, self.value(argument), argument)
            origins[callee.locals[parameter.name]] = loops.origin(argument, self.locals)
        self.accesses += [one.seen_from(origins, call) for one in callee.accesses]
        if is_constant and function.returns_value:
            instance = self.sorts.instance
            state = State(instance, [0] * instance.cells)
            return Constant(int(instance.python(function)(*[state] * len(function.parameters))))
        return callee.result if function.returns_value else None

    def cell(self, expression: ast.expr, mode: str, said: Any) -> Value:
        """Read `s.field[i][j]`: unify the indices with the axes; returns the sort of the cell."""
        indices: list[ast.expr] = []
        node = expression
        while isinstance(node, ast.Subscript):
            indices.insert(0, node.slice)
            node = node.value
        if not isinstance(node, ast.Attribute):
            self.refuse(expression)
        if node.attr not in self.sorts.instance.model.fields:
            self.refuse(expression)
        declared = self.sorts.instance.model.fields[node.attr]
        if len(declared.over) != len(indices):
            self.refuse(expression)
        for domain, index in zip(declared.over, indices, strict=True):
            self.unify(self.sorts.domain(domain), self.value(index), index)
        origins = tuple(loops.origin(index, self.locals) for index in indices)
        self.accesses.append(Access(node.attr, origins, mode, said, expression))
        return self.sorts.values[node.attr]

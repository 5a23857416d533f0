"""Reads expressions: numbers, names, cells, arithmetic, comparisons, folds and calls.

In:  nodes of a function's syntax tree, and what the names in the function mean.
Out: expressions of the representation, with every name resolved; or a LanguageError with FILE:LINE and the cure.

What a function collects while it is read (the fields and the constants that it names, ...) is kept for the function.
"""

from __future__ import annotations

import ast
import builtins
import types
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Any, NoReturn

from isrcheck.models.language.declarations.declare import Domain, Kind, Subset, mark_of, require
from isrcheck.models.language.ir import nodes as ir
from isrcheck.models.language.ir.constructs import EXPRESSIONS_ARE, NUMBERS
from isrcheck.models.language.ir.lowering import elements_of
from isrcheck.models.language.reading.chains import alternatives, subscripts, summands
from isrcheck.models.language.reading.function import STATE_NAMES, TAKEN, Function, Vocabulary
from isrcheck.models.language.reading.source_text import stored
from isrcheck.models.language.reading.spelling import shown
from isrcheck.models.language.text.plain import members_of, plain
from isrcheck.models.messages.errors import LanguageError

FOLDS = ("all", "any", "sum")
"""The functions that take one generator."""

EXTREMA = ("min", "max")
"""The functions that take numbers, or one generator, perhaps with `default=`."""

SIZE = "len"
"""The function that gives the number of elements of a domain, a set or a queue."""

SIGNS = {
    ast.Eq: ir.Sign.EQUAL,
    ast.NotEq: ir.Sign.NOT_EQUAL,
    ast.Lt: ir.Sign.LESS,
    ast.LtE: ir.Sign.AT_MOST,
    ast.Gt: ir.Sign.GREATER,
    ast.GtE: ir.Sign.AT_LEAST,
}
OPERATIONS = {ast.Mult: ir.Operation.TIMES, ast.FloorDiv: ir.Operation.DIVIDED_BY, ast.Mod: ir.Operation.MODULO}
MEMBERSHIP = (ast.In, ast.NotIn)

PASSED_ON = {
    ir.Role.TAKEN: "pass `taken` to a parameter `taken`, and only there",
    ir.Role.STATE: "pass a state to a parameter that is a state, and only there",
    ir.Role.SUBSET: "pass a subset to a parameter that is a subset, and only there",
}
"""What is passed on as a whole, without a value, and where it can be passed."""


@dataclass(frozen=True)
class Place:
    """What stands after the name of a state: `s.field[i][j]`. The part of a record is a field, `record.part`."""

    state: str
    name: str
    indices: Sequence[ast.expr]


class ExpressionReader(ABC):
    """Reads the expressions of one function."""

    vocabulary: Vocabulary
    names: Mapping[str, Any]
    """The global names of the function's module."""
    own: Mapping[str, ir.Variable]
    """What the function's own names mean here: parameters, locals, variables of generators. As in Python, a name that
    is assigned anywhere in a function is local everywhere in it."""
    assigned: set[str]
    """The locals and other numbers among them that have a value here."""
    states: Sequence[str]
    subsets: Mapping[str, type[Subset]]
    source: ir.Source

    def __init__(self) -> None:
        self.pending: set[str] = set()
        """The variables of generators that have no value yet."""
        self.has_collections = False  # whether something is said about sets, queues or domains, which the core lacks
        self.reads: set[str] = set()
        self.constants: dict[str, int | bool] = {}
        self.functions: dict[str, Function] = {}
        self.actions: dict[str, str] = {}
        self.domains: dict[str, type[Domain]] = {}

    @abstractmethod
    def error(self, node: ast.AST, what: str, hint: str) -> LanguageError:
        """What says that something is not in the language."""

    @abstractmethod
    def collective(self, node: ast.expr) -> ir.Expression | None:
        """An expression about sets or queues; None for any other."""

    @abstractmethod
    def called(self, python: types.FunctionType, call: ast.Call) -> Function:
        """The checked form of a called helper."""

    def span(self, node: ast.stmt | ast.expr, end: ast.expr | None = None) -> ir.Span:
        """Where a node is written; perhaps up to the end of another one."""
        last = end or node
        assert last.end_lineno is not None and last.end_col_offset is not None
        return ir.Span(self.source, node.lineno, node.col_offset, last.end_lineno, last.end_col_offset)

    # ------------------------------------------------------------------------------------------------------ expressions

    def several(self, expressions: Sequence[ast.expr]) -> tuple[ir.Expression, ...]:
        """These expressions, in their order."""
        return tuple(map(self.expression, expressions))

    def expression(self, node: ast.expr) -> ir.Expression:
        """An expression of any kind."""
        collective = self.collective(node)
        if collective is not None:
            return collective
        span = self.span(node)
        match node:
            case ast.Constant(value=value):
                if not isinstance(value, int):
                    raise self.error(node, f"the constant {value!r}", "values are whole numbers and truth values")
                return ir.Constant(self._constant(node, value), span=span)
            case ast.Name():
                return self._named(node)
            case ast.Attribute(value=ast.Name(id=name) as owner) if name not in STATE_NAMES:
                return self._member(node, owner)
            case ast.Subscript(value=ast.Name(id=name)) if name in self.subsets:
                return ir.Element(self.own[name], self.expression(node.slice), span=span)
            case ast.Attribute() | ast.Subscript():
                return self.cell(node)
            case ast.BinOp(op=ast.Add() | ast.Sub()):
                first, rest = summands(node)
                terms = [ir.Term(self.expression(first), False, span=self.span(first))]
                for sign, term in rest:
                    terms.append(ir.Term(self.expression(term), isinstance(sign, ast.Sub), span=self.span(term)))
                return ir.Sum(tuple(terms), span=span)
            case ast.BinOp(left=left, op=operator, right=right):
                operation = OPERATIONS.get(type(operator))
                if operation is None:
                    raise self.error(node, f"operator {type(operator).__name__}", "arithmetic is + - * // %")
                return ir.Arithmetic(self.expression(left), operation, self.expression(right), span=span)
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                return ir.Not(self.expression(operand), span=span)
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return ir.Negative(self._negated(operand), span=span)
            case ast.UnaryOp(op=operator):
                raise self.error(node, f"operator {type(operator).__name__}", "use `not` or a minus sign")
            case ast.BoolOp(op=ast.And(), values=values):
                return ir.And(self.several(values), span=span)
            case ast.BoolOp(values=values):
                return ir.Or(self.several(values), span=span)
            case ast.Compare():
                return self._comparison(node)
            case ast.IfExp():
                pairs, last = alternatives(node)
                options = [
                    ir.Option(self.expression(test), self.expression(value), span=self.span(value))
                    for test, value in pairs
                ]
                return ir.Choose(tuple(options), self.expression(last), span=span)
            case ast.Call():
                return self._call(node)
        raise self.error(node, f"`{shown(node)}` is not in the language", EXPRESSIONS_ARE)

    def _negated(self, operand: ast.expr) -> ir.Expression:
        """What stands behind a minus sign: the least number is written as one that is too large by itself."""
        if isinstance(operand, ast.Constant) and type(operand.value) is int:
            return ir.Constant(-self._constant(operand, -operand.value), span=self.span(operand))
        return self.expression(operand)

    def _constant(self, node: ast.expr, value: int) -> int:
        """A number, within its limit; models/language/intervals.py checks those that are computed."""
        if not -NUMBERS.most - 1 <= value <= NUMBERS.most:
            # Python does not print numbers of more than 4300 digits.
            size = value if value.bit_length() < 100 else f"of {value.bit_length()} bits"
            raise self.error(node, f"the constant {size}", NUMBERS.cure)
        return value

    # ------------------------------------------------------------------------------------------------------------ names

    def _named(self, node: ast.Name) -> ir.Expression:
        """A local, or a number of the module."""
        name, span = node.id, self.span(node)
        if name in self.assigned:
            return ir.Local(self.own[name], span=span)
        if name in self.states:
            raise self.error(node, f"the whole state `{name}` is used as a value", "read its fields, or pass it on")
        if name in self.subsets:
            raise self.error(node, f"the subset `{name}` is used as a value", f"index it: {name}[element]")
        if name == TAKEN:
            raise self.error(node, "`taken` is used as a value", "compare it with an action: taken == name")
        meaning = self.meaning(node)
        number = plain(meaning)
        if number is None:
            raise self.error(node, f"`{name}` is a {type(meaning).__name__}", "only whole numbers can be named")
        self.constants[name] = self._constant(node, number)
        return ir.Constant(number, type(meaning) if isinstance(meaning, IntEnum) else None, span=span)

    def _member(self, node: ast.Attribute, owner: ast.Name) -> ir.Constant:
        """A member of an enumeration: `Role.LEADER`."""
        kind = self.meaning(owner)
        if not isinstance(kind, type) or not issubclass(kind, IntEnum):
            raise self.error(node, f"`{shown(node)}`", "attributes are those of the state or of an IntEnum")
        members = members_of(kind)
        if node.attr not in members:
            raise self.error(node, f"{kind.__name__} has no {node.attr}", f"it has {', '.join(members)}")
        value = self.constants[f"{owner.id}.{node.attr}"] = self._constant(node, members[node.attr])
        return ir.Constant(value, kind, span=self.span(node))

    def meaning(self, node: ast.Name) -> Any:
        """What a global name means."""
        name = node.id
        if name in self.names and name not in self.own:
            return self.names[name]
        what = f"`{name}` has no value here"
        hint = "define it in the module, or assign it on every path to this line"
        if name in self.pending:
            what, hint = f"`{name}` is a variable of the generator, which has no value yet", "rename the variable"
        elif name not in self.own and name in (*FOLDS, *EXTREMA, SIZE, "range"):
            what = f"`{name}` is used without a call"
            hint = "write it as in: for x in range(n)" if name == "range" else "call it"
        elif name not in self.own and name in vars(builtins):
            what = f"Python's own `{name}` is not in the language"
            hint = f"Python's functions in the language are {', '.join((*EXTREMA, *FOLDS, SIZE))}"
        raise self.error(node, what, hint)

    def is_builtin(self, name: str) -> bool:
        """Whether a name means Python's own function."""
        return name not in self.names and name not in self.own

    def domain(self, node: ast.expr) -> type[Domain] | None:
        """The domain that a name means, if it means one."""
        if not isinstance(node, ast.Name) or node.id in self.own:
            return None
        meaning = self.names.get(node.id)
        if not isinstance(meaning, type) or not issubclass(meaning, Domain) or meaning is Domain:
            return None
        self.domains[node.id] = meaning
        return meaning

    # ------------------------------------------------------------------------------------------------------------ cells

    def place(self, node: ast.expr) -> Place | None:
        """What stands after the name of a state; None if this is no such expression."""
        inner, indices = subscripts(node)
        if not isinstance(inner, ast.Attribute):
            return None
        if isinstance(inner.value, ast.Name):
            return Place(inner.value.id, inner.attr, indices) if inner.value.id in STATE_NAMES else None
        record = self.place(inner.value)
        group = self.vocabulary.groups.get(record.name) if record is not None else None
        if record is None or group is None:
            return None
        self.refuse_slices(node, (*record.indices, *indices))
        if inner.attr not in group.parts:
            cure = f"it has {', '.join(group.parts)}"
            raise self.error(node, f"the record `{record.name}` has no part `{inner.attr}`", cure)
        rank = len(group.over) + (group.queue is not None)
        if len(record.indices) != rank:
            what = f"the record `{record.name}` takes {indices_taken(rank)}, not {len(record.indices)}"
            raise self.error(node, what, f"write all of them before .{inner.attr}")
        return Place(record.state, f"{record.name}.{inner.attr}", (*record.indices, *indices))

    def refuse_slices(self, node: ast.AST, indices: Sequence[ast.expr]) -> None:
        """Raise LanguageError if an index is a slice."""
        if any(isinstance(index, ast.Slice) for index in indices):
            cure = "read one element at a time, in a loop over range(m, n)"
            raise self.error(node, f"`{shown(node)}` is a slice", cure)

    def cell(self, node: ast.expr) -> ir.Cell | ir.Setting:
        """A cell of a state, or an entry of the configuration."""
        place = self.place(node)
        if place is None:
            inner, _ = subscripts(node)
            if isinstance(inner, ast.Attribute) and isinstance(inner.value, ast.Name):
                self.known_state(node, inner.value.id)
            raise self.error(node, f"`{shown(node)}`", "write s.field or s.field[index]")
        name = place.name
        state = self.known_state(node, place.state)
        if name in self.vocabulary.configuration:
            if place.indices:
                raise self.error(node, f"`{name}` is a configuration entry", "it has no elements")
            return ir.Setting(name, span=self.span(node))
        group = self.vocabulary.groups.get(name)
        if group is not None:
            hint = f"read and write its parts: {', '.join(group.parts)}"
            raise self.error(node, f"the record `{shown(node)}` is used as a value", hint)
        if name not in self.vocabulary.fields:
            self.unknown_field(node, name)
        self.refuse_slices(node, place.indices)
        rank = self.vocabulary.fields[name]
        if rank != len(place.indices):
            what = f"`{name}` takes {indices_taken(rank)}, not {len(place.indices)}"
            raise self.error(node, what, "write every index: there are no slices and no rows")
        self.reads.add(name)
        return ir.Cell(state, name, self.several(place.indices), span=self.span(node))

    def known_state(self, node: ast.AST, name: str) -> ir.Variable:
        """The parameter that is the state of this name."""
        if name not in self.states:
            raise self.error(node, f"`{name}` is not a state here", f"states are called {', '.join(STATE_NAMES)}")
        return self.own[name]

    def unknown_field(self, node: ast.AST, name: str) -> NoReturn:
        """Refuse a name that is neither a field nor an entry."""
        known = ", ".join(sorted([*self.vocabulary.fields, *self.vocabulary.configuration]))
        raise self.error(node, f"the state has no field `{name}`", f"it has {known}")

    # ------------------------------------------------------------------------------------------------------ comparisons

    def _comparison(self, node: ast.Compare) -> ir.Expression:
        span, operators = self.span(node), node.ops
        if any(isinstance(operator, MEMBERSHIP) for operator in operators):
            return self._membership(node)
        if not all(type(operator) in SIGNS for operator in operators):
            raise self.error(node, f"`{shown(node)}`", "comparisons are == != < <= > >= and `in`")
        if any(isinstance(side, ast.Name) and side.id == TAKEN for side in (node.left, *node.comparators)):
            return self._taken(node)
        first = self.expression(node.left)
        links = [
            ir.Link(SIGNS[type(operator)], self.expression(side), span=self.span(side))
            for operator, side in zip(operators, node.comparators, strict=True)
        ]
        if len(links) == 1:
            return ir.Compare(first, links[0].sign, links[0].right, span=span)
        return ir.Chain(first, tuple(links), span=span)

    def _membership(self, node: ast.Compare) -> ir.Expression:
        """`x in (a, b)`, whose right side is a tuple of values, or `x in Replica`."""
        if len(node.ops) != 1:
            raise self.error(node, f"`{shown(node)}`", "write `in` as a comparison of its own, in brackets")
        (right,), is_in, span = node.comparators, isinstance(node.ops[0], ast.In), self.span(node)
        domain = self.domain(right)
        if domain is not None:
            self.has_collections = True
            return negated_unless(is_in, ir.InDomain(self.expression(node.left), domain, span=span))
        if not isinstance(right, ast.Tuple):
            raise self.error(node, f"`{shown(node)}`", "`in` takes values in brackets: x in (1, 2)")
        return negated_unless(is_in, ir.Among(self.expression(node.left), self.several(right.elts), span=span))

    def _taken(self, node: ast.Compare) -> ir.Expression:
        """`taken == action`."""
        left, right = node.left, node.comparators[0]
        if TAKEN not in self.own:
            cure = "add it as third parameter of a property of transitions"
            raise self.error(node, "`taken` has no value here", cure)
        is_comparison = len(node.ops) == 1 and isinstance(node.ops[0], ast.Eq | ast.NotEq)
        if not is_comparison or not isinstance(right, ast.Name) or not isinstance(left, ast.Name) or left.id != TAKEN:
            raise self.error(node, f"`{shown(node)}`", "write taken == action, with the action's name")
        meaning = self.meaning(right)
        action = self.vocabulary.actions.get(meaning) if type(meaning) is types.FunctionType else None
        if action is None:
            raise self.error(right, f"{right.id} is not an action of this model", "name one of its actions")
        self.actions[right.id] = action
        is_taken = ir.IsTaken(self.own[TAKEN], action, span=self.span(node))
        return negated_unless(isinstance(node.ops[0], ast.Eq), is_taken)

    # ------------------------------------------------------------------------------------------------------------ calls

    def _call(self, call: ast.Call) -> ir.Expression:
        if not isinstance(call.func, ast.Name):
            raise self.error(call, f"`{shown(call.func)}(...)`", "call helpers by their plain name")
        name = call.func.id
        if name in FOLDS and self.is_builtin(name):
            if len(call.args) != 1 or call.keywords or not isinstance(call.args[0], ast.GeneratorExp):
                raise self.error(call, f"{name} without a generator", f"write {name}(... for x in range(n))")
            return self._fold(call, name, call.args[0])
        if name in EXTREMA and self.is_builtin(name):
            return self._extremum(call, name)
        if name == SIZE and self.is_builtin(name):
            domain = self.domain(call.args[0]) if len(call.args) == 1 and not call.keywords else None
            if domain is None:
                raise self.error(call, f"`{shown(call)}`", "len(...) takes a domain or a set, as in len(Replica)")
            return ir.Size(domain, span=self.span(call))
        called = self.helper(call)
        if called.routine.writes:
            raise self.error(call, f"{name} writes to the state", "call it as a statement of its own")
        if not called.routine.returns_value:
            raise self.error(call, f"{name} returns nothing", "end it with `return value`")
        return called

    def _extremum(self, call: ast.Call, name: str) -> ir.Expression:
        generators = [one for one in call.args if isinstance(one, ast.GeneratorExp)]
        if generators and len(call.args) == 1:
            defaults = [keyword.value for keyword in call.keywords if keyword.arg == "default"]
            if len(defaults) < len(call.keywords):
                raise self.error(call, f"{name} with another keyword than `default`", "leave it out")
            fold = self._fold(call, name, generators[0], *self.several(defaults))
            if fold.default is None and any(part.conditions for part in fold.generators):
                what = f"{name} of a generator with `if` or over a set, which may have no element"
                raise self.error(call, what, f"say what it is then: {name}((... for x in range(n) if ...), default=0)")
            return fold
        if generators:
            raise self.error(call, f"{name} of a generator and more", f"write {name}(a, {name}(... for x in range(n)))")
        if call.keywords:
            raise self.error(call, f"{name} of numbers with a keyword", f"write {name}(a, b)")
        if len(call.args) < 2:
            raise self.error(call, f"{name} with fewer than two numbers", f"write {name}(a, b)")
        return ir.Extremum(ir.Extreme(name), self.several(call.args), span=self.span(call))

    def _fold(
        self, call: ast.Call, name: str, generator: ast.GeneratorExp, default: ir.Expression | None = None
    ) -> ir.Fold:
        outside = self.assigned, self.own, self.pending
        # The variables hide other names in the whole generator, even before they have a value.
        hidden = {name: ir.Variable(name) for part in generator.generators for name in stored(part.target)}
        self.assigned, self.own = self.assigned - set(hidden), {**self.own, **hidden}
        self.pending = self.pending | set(hidden)
        generators = tuple(map(self.generator, generator.generators))
        body = self.expression(generator.elt)
        self.assigned, self.own, self.pending = outside
        return ir.Fold(ir.Gathering(name), generators, body, default, span=self.span(call))

    def generator(self, part: ast.comprehension) -> ir.Generator:
        """One `for` of a generator."""
        name = self.loop_variable(part.target)
        numbers = self.range(part.iter)
        return ir.Generator(self.begin(name), numbers, self.several(part.ifs), span=self.span(part.target))

    def begin(self, name: str) -> ir.Variable:
        """The variable of a `for` of a generator, which has a value from here on; each `for` has one of its own."""
        variable = ir.Variable(name)
        self.own = {**self.own, name: variable}
        self.assigned.add(name)
        self.pending.discard(name)
        return variable

    def loop_variable(self, target: ast.expr) -> str:
        """The name of the variable of a loop."""
        if not isinstance(target, ast.Name) or target.id in (*STATE_NAMES, *self.subsets, TAKEN):
            raise self.error(target, f"`{shown(target)}` as a loop variable", "use one plain name")
        return target.id

    def range(self, iterated: ast.expr) -> ir.Range:
        """What a loop goes through: `range(n)`, `range(m, n)` or a domain."""
        domain, span = self.domain(iterated), self.span(iterated)
        if domain is not None:
            return elements_of(domain, span)
        match iterated:
            case ast.Call(func=ast.Name(id="range"), args=[_] | [_, _], keywords=[]) if self.is_builtin("range"):
                *first, end = self.several(iterated.args)
                return ir.Range(first[0] if first else ir.Constant(0, span=span), end, span=span)
        raise self.error(iterated, f"loop over `{shown(iterated)}`", "loop over range(n), range(m, n) or a domain")

    def helper(self, call: ast.Call) -> ir.Call:
        """The call of a function of the model."""
        assert isinstance(call.func, ast.Name)
        name = call.func.id
        python = self.meaning(call.func)
        if type(python) is not types.FunctionType or python is require:
            raise self.error(call, f"`{name}(...)` cannot be called here", "call helpers written in the language")
        if str(python.__module__).startswith("isrcheck.models.language."):
            what = f"`{name}(...)` is a declaration, which has no value in a function"
            raise self.error(call, what, "write it outside of functions, as a declaration of its own")
        mark = mark_of(python)
        if mark is not None and mark.kind in (Kind.ACTION, Kind.INITIAL, Kind.CONTRADICTION):
            raise self.error(call, f"{name} is an action or another declaration", "move what both need into a helper")
        for parameter_name, argument in zip(python.__code__.co_varnames, call.args, strict=False):
            kind = self.subsets.get(argument.id) if isinstance(argument, ast.Name) else None
            if kind is not None and parameter_name not in python.__annotations__:
                what = f"`{shown(argument)}` is a subset, and {name} does not say that `{parameter_name}` is one"
                raise self.error(argument, what, f"annotate the parameter: {parameter_name}: {kind.__name__}")
        self.functions[name] = self.called(python, call)
        routine = self.functions[name].routine
        if call.keywords or len(call.args) != len(routine.parameters):
            raise self.error(call, f"{name} takes {len(routine.parameters)} arguments", "pass them all by position")
        passed = zip(routine.parameters, call.args, strict=True)
        arguments = tuple(self._argument(name, parameter, argument) for parameter, argument in passed)
        self.reads |= routine.reads
        return ir.Call(routine, arguments, span=self.span(call))

    def _argument(self, helper: str, parameter: ir.Variable, argument: ast.expr) -> ir.Expression:
        """What is passed as a parameter: a state, a subset, the taken action, or a number."""
        variable = self.own.get(argument.id) if isinstance(argument, ast.Name) else None
        role = ir.Role.NUMBER if variable is None else variable.role
        cure = None
        if role is not parameter.role:
            cure = next(cure for one, cure in PASSED_ON.items() if one in (role, parameter.role))
        elif role is ir.Role.SUBSET and variable is not None and variable.domain is not parameter.domain:
            cure = "pass a subset of the kind that annotates the parameter"
        if cure is not None:
            raise self.error(argument, f"`{shown(argument)}` is passed to {helper} as `{parameter.name}`", cure)
        if variable is not None and role in PASSED_ON:
            return ir.Local(variable, span=self.span(argument))
        return self.expression(argument)


def negated_unless(is_so: bool, condition: ir.Expression) -> ir.Expression:
    """The condition, or its negation: `x in ...` and `x not in ...`."""
    return condition if is_so else ir.Not(condition, span=condition.span)


def indices_taken(count: int) -> str:
    """How many indices something takes, in words."""
    return f"{count} {'index' if count == 1 else 'indices'}"

"""Makes the representation of a function that the reader has checked.

In:  a `Function`, a syntax tree in the core of the language.
Out: its `Routine`, with the routines of all that it calls. Each function has one routine.
"""

from __future__ import annotations

import ast
from collections import ChainMap, Counter
from collections.abc import Mapping, Sequence
from enum import IntEnum
from weakref import WeakKeyDictionary

from isrcheck.models.language.ir.nodes import (
    Among,
    And,
    Arithmetic,
    Assign,
    Branch,
    Call,
    Case,
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
    Generator,
    IsTaken,
    Link,
    Local,
    Loop,
    Negative,
    Not,
    Operation,
    Option,
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
    Term,
    Variable,
)
from isrcheck.models.language.syntax import EXTREMA, SIZE, TAKEN, Function, Parameter
from isrcheck.models.language.text.chains import alternatives, branches, summands

SIGNS = {
    ast.Eq: Sign.EQUAL,
    ast.NotEq: Sign.NOT_EQUAL,
    ast.Lt: Sign.LESS,
    ast.LtE: Sign.AT_MOST,
    ast.Gt: Sign.GREATER,
    ast.GtE: Sign.AT_LEAST,
}
OPERATIONS = {ast.Mult: Operation.TIMES, ast.FloorDiv: Operation.DIVIDED_BY, ast.Mod: Operation.MODULO}

_routines: WeakKeyDictionary[Function, Routine] = WeakKeyDictionary()


def routine_of(function: Function) -> Routine:
    """The representation of a function that the reader has accepted."""
    if function not in _routines:
        _routines[function] = _Building(function).routine()
    return _routines[function]


class _Building:
    """Makes the nodes of one function."""

    def __init__(self, function: Function) -> None:
        self.function = function
        parameters = {one.name: _parameter(one) for one in function.parameters}
        # As in Python: a name that is assigned anywhere in a function is one variable everywhere in it.
        own = {name: Variable(name) for name in function.stores if name not in parameters}
        self.parameters = tuple(parameters.values())
        self.scope: Mapping[str, Variable] = parameters | own
        self.assignments = Counter[Variable]()

    def routine(self) -> Routine:
        function, body = self.function, self.block(self.function.body)
        return Routine(
            function.name,
            Span(function.source, function.line, 0, function.line, 0),
            function.documentation,
            self.parameters,
            body,
            function.returns_value,
            function.writes,
            function.reads,
            function.mark,
            self.assignments,
        )

    def span(self, node: ast.stmt | ast.expr) -> Span:
        """Where a node is written; what stands for something else is where that is."""
        node = vars(node).get("origin", node)
        end_line, end_column = node.end_lineno, node.end_col_offset
        assert end_line is not None and end_column is not None
        return Span(self.function.source, node.lineno, node.col_offset, end_line, end_column)

    # --------------------------------------------------------------------------------------------------- statements

    def block(self, statements: Sequence[ast.stmt]) -> tuple[Statement, ...]:
        return tuple(self.statement(one) for one in statements if not isinstance(one, ast.Pass))

    def statement(self, statement: ast.stmt) -> Statement:
        span = self.span(statement)
        match statement:
            case ast.Assign(targets=[target], value=value):
                return self.stored(span, target, self.expression(value))
            case ast.AugAssign(target=target, op=operator, value=value):
                before = Term(self.expression(target), False, span=self.span(target))
                term = Term(self.expression(value), isinstance(operator, ast.Sub), span=self.span(value))
                return self.stored(span, target, Sum((before, term), span=span))
            case ast.If():
                tests, otherwise = branches(statement)
                cases = [Case(self.expression(one.test), self.block(one.body), span=self.span(one)) for one in tests]
                return Branch(tuple(cases), self.block(otherwise), span=span)
            case ast.For(target=ast.Name(id=name), iter=iterated, body=body):
                self.assignments[self.scope[name]] += 1
                return Loop(self.scope[name], self.range(iterated), self.block(body), span=span)
            case ast.Return(value=ast.expr() as value):
                return Return(self.expression(value), span=span)
            case ast.Expr(value=ast.Call(args=arguments) as call):
                if self.function.builtin(call):
                    return Require(self.expression(arguments[0]), span=span)
                return Do(self.helper(call), span=span)
        raise NotImplementedError(type(statement).__name__)

    def stored(self, span: Span, target: ast.expr, value: Expression) -> Statement:
        if isinstance(target, ast.Name):
            self.assignments[self.scope[target.id]] += 1
            return Assign(self.scope[target.id], value, span=span)
        cell = self.expression(target)
        assert isinstance(cell, Cell)
        return Store(cell, value, span=span)

    # -------------------------------------------------------------------------------------------------- expressions

    def several(self, expressions: Sequence[ast.expr]) -> tuple[Expression, ...]:
        return tuple(map(self.expression, expressions))

    def expression(self, expression: ast.expr) -> Expression:
        span = self.span(expression)
        match expression:
            case ast.Constant(value=int(value)):
                return Constant(value, span=span)
            case ast.Name(id=name):
                return self.named(span, name)
            case ast.Attribute() | ast.Subscript():
                return self.place(span, expression)
            case ast.BoolOp(op=operator, values=values):
                return (And if isinstance(operator, ast.And) else Or)(self.several(values), span=span)
            case ast.UnaryOp(op=operator, operand=operand):
                return (Not if isinstance(operator, ast.Not) else Negative)(self.expression(operand), span=span)
            case ast.BinOp(op=ast.Add() | ast.Sub()):
                first, rest = summands(expression)
                terms = [Term(self.expression(first), False, span=self.span(first))]
                terms += [
                    Term(self.expression(one), isinstance(sign, ast.Sub), span=self.span(one)) for sign, one in rest
                ]
                return Sum(tuple(terms), span=span)
            case ast.BinOp(left=left, op=operator, right=right):
                return Arithmetic(self.expression(left), OPERATIONS[type(operator)], self.expression(right), span=span)
            case ast.Compare():
                return self.comparison(span, expression)
            case ast.IfExp():
                pairs, last = alternatives(expression)
                options = [
                    Option(self.expression(test), self.expression(value), span=self.span(value))
                    for test, value in pairs
                ]
                return Choose(tuple(options), self.expression(last), span=span)
            case ast.Call():
                return self.call(span, expression)
        raise NotImplementedError(type(expression).__name__)

    def named(self, span: Span, name: str) -> Expression:
        if name in self.scope:
            return Local(self.scope[name], span=span)
        meaning = self.function.names.get(name)
        enumeration = type(meaning) if isinstance(meaning, IntEnum) else None
        return Constant(self.function.constants[name], enumeration, span=span)

    def place(self, span: Span, expression: ast.Attribute | ast.Subscript) -> Expression:
        """A cell, an element of a subset, an entry of the configuration, or a member of an enumeration."""
        inner: ast.expr = expression
        indices: list[ast.expr] = []
        while isinstance(inner, ast.Subscript):
            indices.insert(0, inner.slice)
            inner = inner.value
        match inner:
            case ast.Name(id=name):
                return Element(self.scope[name], self.expression(indices[0]), span=span)
            case ast.Attribute(value=ast.Name(id=name), attr=attribute):
                member = self.function.member(inner)
                if member is not None:
                    return Constant(member, self.function.names.get(name), span=span)
                if attribute not in self.function.reads:  # a field is read or written, an entry neither
                    return Setting(attribute, span=span)
                return Cell(self.scope[name], attribute, self.several(indices), span=span)
        raise NotImplementedError(type(inner).__name__)

    def comparison(self, span: Span, expression: ast.Compare) -> Expression:
        left, signs, others = expression.left, expression.ops, expression.comparators
        match signs, others:
            case [ast.In() | ast.NotIn() as sign], [ast.Tuple(elts=choices)]:
                among = Among(self.expression(left), self.several(choices), span=span)
                return Not(among, span=span) if isinstance(sign, ast.NotIn) else among
        if isinstance(left, ast.Name) and left.id == TAKEN:
            (action,) = others
            assert isinstance(action, ast.Name)
            is_taken = IsTaken(self.scope[TAKEN], self.function.actions[action.id], span=span)
            return Not(is_taken, span=span) if isinstance(signs[0], ast.NotEq) else is_taken
        first, *links = self.expression(left), *map(self.link, signs, others)
        if len(links) == 1:
            return Compare(first, links[0].sign, links[0].right, span=span)
        return Chain(first, tuple(links), span=span)

    def link(self, sign: ast.cmpop, right: ast.expr) -> Link:
        return Link(SIGNS[type(sign)], self.expression(right), span=self.span(right))

    def call(self, span: Span, call: ast.Call) -> Expression:
        name = self.function.builtin(call)
        if not name:
            return self.helper(call)
        if name == SIZE:
            return Size(self.function.domain(call), span=span)
        match call.args:
            case [ast.GeneratorExp() as generator]:
                defaults = self.several([keyword.value for keyword in call.keywords])
                return self.gathered(span, Gathering(name), generator, *defaults)
        assert name in EXTREMA
        return Extremum(Extreme(name), self.several(call.args), span=span)

    def gathered(
        self, span: Span, gathering: Gathering, generator: ast.GeneratorExp, default: Expression | None = None
    ) -> Fold:
        outer, generators = self.scope, []
        for part in generator.generators:
            assert isinstance(part.target, ast.Name)
            iterated = self.range(part.iter)
            variable = Variable(part.target.id)
            self.scope = ChainMap({variable.name: variable}, dict(self.scope))
            generators.append(Generator(variable, iterated, self.several(part.ifs), span=self.span(part.target)))
        body = self.expression(generator.elt)
        self.scope = outer
        return Fold(gathering, tuple(generators), body, default, span=span)

    def range(self, iterated: ast.expr) -> Range:
        span = self.span(iterated)
        assert isinstance(iterated, ast.Call)
        *first, end = self.several(iterated.args)
        return Range(first[0] if first else Constant(0, span=span), end, span=span)

    def helper(self, call: ast.Call) -> Call:
        callee = self.function.callee(call)
        assert callee is not None
        return Call(routine_of(callee), self.several(call.args), span=self.span(call))


def _parameter(parameter: Parameter) -> Variable:
    role = Role.NUMBER
    if parameter.is_state:
        role = Role.STATE
    elif parameter.is_subset:
        role = Role.SUBSET
    elif parameter.name == TAKEN:
        role = Role.TAKEN
    return Variable(parameter.name, role, parameter.domain)

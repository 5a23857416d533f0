"""Rewrites a function into the core of the modelling language, which is all that the engines have to know.

In:  the body of a function, and the meanings of the names in it.
Out: the body in the core: a loop over a domain is a loop over `range(len(Domain))`, and the operations of sets and
     queues are reads and writes of cells (models/language/core/containers.py, queues.py). A body that is in the core
     already is returned as it is; nothing of the given tree is changed.

CPython runs the text as it is written (models/run.py); the tests of the fuzzer compare both. A node that was rewritten
has the attribute `origin`: the node as it is written, for messages and explanations.
"""

from __future__ import annotations

import ast
from typing import Any

from isrcheck.models.language.core.containers import Node, Scope, original
from isrcheck.models.language.core.queues import QueueRewriting
from isrcheck.models.language.text.chains import summands


def rewritten(body: list[ast.stmt], scope: Scope) -> list[ast.stmt]:
    """Return a function's body in the core."""
    if not (scope.domains or scope.contents or scope.groups or scope.subsets):
        return body
    return _Rewriting(scope).body(body)


class _Rewriting(QueueRewriting):
    """Rewrites the nodes of one function."""

    def __init__(self, scope: Scope) -> None:
        self.scope = scope
        self.domains = scope.domains

    def body(self, statements: list[ast.stmt]) -> list[ast.stmt]:
        """Return these statements in the core."""
        found: list[ast.stmt] = []
        for statement in statements:
            several = self.stated(statement)
            found += [self.node(statement)] if several is None else several
        return statements if list(map(id, found)) == list(map(id, statements)) else found

    def node(self, node: Node) -> Node:
        """Return this node in the core; the node itself if nothing in it changes."""
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add | ast.Sub):
            return self.sum(node)  # type: ignore[return-value] # a sum is a sum
        if isinstance(node, ast.expr):
            contained = self.contained(node)
            if contained is not None:
                return contained  # type: ignore[return-value] # an expression is an expression
        match node:
            case ast.Compare(ops=[ast.In() | ast.NotIn()], comparators=[ast.Name(id=name)]) if name in self.domains:
                return self.element(node)  # type: ignore[return-value] # an expression is an expression
        domains = self.domains
        if isinstance(node, ast.GeneratorExp):
            targets = {part.target.id for part in node.generators if isinstance(part.target, ast.Name)}
            self.domains = domains - targets
        changes: dict[str, Any] = {}
        for name, value in ast.iter_fields(node):
            found: Any = value
            if name == "iter" and isinstance(node, ast.For | ast.comprehension):
                found = self.iterated(value)
            elif name in ("body", "orelse") and isinstance(node, ast.stmt):
                found = self.body(value)
            elif name == "generators":
                found = self.parts(value)
            elif isinstance(value, list):
                found = [self.node(one) if isinstance(one, ast.AST) else one for one in value]
                found = value if all(one is other for one, other in zip(found, value, strict=True)) else found
            elif isinstance(value, ast.AST):
                found = self.node(value)
            if found is not value:
                changes[name] = found
        self.domains = domains
        return _changed(node, **changes) if changes else node

    def parts(self, parts: list[ast.comprehension]) -> list[ast.comprehension]:
        """Return the parts of a generator in the core."""
        found = []
        targets = [part.target.id if isinstance(part.target, ast.Name) else "" for part in parts]
        for number, part in enumerate(parts):
            through = self.gone_through(part, {*targets[number:]})
            found.append(self.node(part) if through is None else through)
        return parts if all(one is other for one, other in zip(found, parts, strict=True)) else found

    def sum(self, node: ast.BinOp) -> ast.BinOp:
        """Return a sum in the core, without recursion from term to term."""
        first, rest = summands(node)
        total, is_changed = self.node(first), False
        is_changed = total is not first
        links: list[ast.BinOp] = [node]
        while isinstance(links[-1].left, ast.BinOp) and isinstance(links[-1].left.op, ast.Add | ast.Sub):
            links.append(links[-1].left)
        for link, (_, term) in zip(reversed(links), rest, strict=True):
            found = self.node(term)
            is_changed |= found is not term
            total = _changed(link, left=total, right=found) if is_changed else link
        assert isinstance(total, ast.BinOp)
        return total

    def element(self, node: ast.Compare) -> ast.expr:
        """Return whether a number is an element of a domain: `0 <= number < len(Domain)`."""
        size = ast.Call(ast.Name("len", ast.Load()), [node.comparators[0]], [])
        within = ast.Compare(ast.Constant(0), [ast.LtE(), ast.Lt()], [self.node(node.left), size])
        is_in = isinstance(node.ops[0], ast.In)
        return original(within if is_in else ast.UnaryOp(ast.Not(), within), node)

    def iterated(self, expression: ast.expr) -> ast.expr:
        """Return what a loop goes through: the numbers of a domain, or a range."""
        if not isinstance(expression, ast.Name) or expression.id not in self.domains:
            return self.node(expression)
        size = ast.Call(ast.Name("len", ast.Load()), [expression], [])
        return original(ast.Call(ast.Name("range", ast.Load()), [size], []), expression)


def _changed(node: Node, **changes: Any) -> Node:
    """Return a copy of a node with other parts."""
    copy = type(node)(**{**dict(ast.iter_fields(node)), **changes})
    return ast.copy_location(copy, node)

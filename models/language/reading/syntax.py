"""Python's syntax as the reader needs it: chains, their nesting, and their text."""

from __future__ import annotations

import ast
import textwrap
from collections.abc import Iterable, Iterator, Sequence

from isrcheck.models.language.declarations import shortened
from isrcheck.models.language.ir.constructs import CONDITIONS, DEPTH, TERMS

# --------------------------------------------------------------------------------------------------------------- chains
#
# People write chains flat, and Python's parser nests them: sums, `elif`, `a if c else b if d else e`, and indices.
# Code that reads a chain as a list does not recurse once per term, so chains can be long.


def summands(expression: ast.BinOp) -> tuple[ast.expr, list[tuple[ast.operator, ast.expr]]]:
    """The first term of a sum, and each further term with the operator before it."""
    rest: list[tuple[ast.operator, ast.expr]] = []
    node: ast.expr = expression
    while isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add | ast.Sub):
        rest.append((node.op, node.right))
        node = node.left
    return node, rest[::-1]


def alternatives(expression: ast.IfExp) -> tuple[list[tuple[ast.expr, ast.expr]], ast.expr]:
    """Each condition of a conditional expression with its value, and the value that applies if no condition is true."""
    found = []
    node: ast.expr = expression
    while isinstance(node, ast.IfExp):
        found.append((node.test, node.body))
        node = node.orelse
    return found, node


def branches(statement: ast.If) -> tuple[list[ast.If], Sequence[ast.stmt]]:
    """The `if` with every `elif` after it, and the statements under `else`."""
    found = [statement]
    while len(found[-1].orelse) == 1 and isinstance(found[-1].orelse[0], ast.If):
        found.append(found[-1].orelse[0])
    return found, found[-1].orelse


def subscripts(node: ast.expr) -> tuple[ast.expr, Sequence[ast.expr]]:
    """What is indexed, as `s.epoch` in `s.epoch[i][j]`, and its indices."""
    indices: list[ast.expr] = []
    while isinstance(node, ast.Subscript):
        indices.insert(0, node.slice)
        node = node.value
    return node, indices


# ----------------------------------------------------------------------------------------------------------------- text
#
# Chains can have any length.


def spelled(node: ast.AST) -> str:
    """Return the text of a statement or an expression, as `ast.unparse` writes it, but with `all(x for x in Node)` for
    `all((x for x in Node))`.

    `ast.unparse` recurses for each term of a sum and each `else` of a chain; here terms are written one by one.
    """
    return ast.unparse(_shallow(node))


def respelled(text: str) -> str:
    """Return the text of an expression or a statement as `ast.unparse` writes it: in one line, without comments."""
    try:
        node: ast.AST = ast.parse(f"({text})", mode="eval").body
    except SyntaxError:
        (node,) = ast.parse(textwrap.dedent(text)).body
    return spelled(node)


def shown(node: ast.AST) -> str:
    """Return the text of an expression in one line, shortened in the middle if it is long."""
    return shortened(spelled(node))


def _shallow(node: ast.AST) -> ast.AST:
    """Return a copy that is not deeply nested: in each long sum or chain of `else`, all parts but one are replaced by a
    single name that is spelled like their text, and so is a generator that is the only argument of a call."""
    match node:
        case ast.BinOp(op=ast.Add() | ast.Sub(), left=ast.BinOp(op=ast.Add() | ast.Sub())):
            first, rest = summands(node)
            # Text that is written beside a one-letter name gets brackets if it needs them.
            text = spelled(ast.BinOp(first, ast.Add(), ast.Name("_")))[: -len(" + _")]
            for operator, term in rest[:-1]:
                text += spelled(ast.BinOp(ast.Name("_"), operator, term))[1:]
            return ast.BinOp(ast.Name(text), node.op, _part(node.right))
        case ast.IfExp(orelse=ast.IfExp() as following):
            pairs, last = alternatives(following)
            otherwise = _part(last)
            for test, value in reversed(pairs):
                otherwise = ast.Name(spelled(ast.IfExp(test, value, otherwise)))
            return ast.IfExp(_part(node.test), _part(node.body), otherwise)
        case ast.Call(func=function, args=[ast.GeneratorExp() as generator], keywords=[]):
            text = spelled(generator)[1:-1]  # `ast.unparse` would put it into brackets of its own
            return ast.Call(function, [ast.Name(text)], [])
    fields = {
        name: [_shallow(one) if isinstance(one, ast.AST) else one for one in value]
        if isinstance(value, list)
        else _shallow(value)
        if isinstance(value, ast.AST)
        else value
        for name, value in ast.iter_fields(node)
    }
    return ast.copy_location(type(node)(**fields), node)


def _part(expression: ast.expr) -> ast.expr:
    found = _shallow(expression)
    assert isinstance(found, ast.expr)
    return found


# -------------------------------------------------------------------------------------------------------------- nesting
#
# The nesting of a function and the length of its chains are limited, so that recursive code can process the function.
# Long sums and chains of `elif` and `else` count as one level. The numbers of `and`, `or`, comparisons, arguments and
# statements in sequence are not limited.


class Nesting:
    """The nesting of a function. `fault` is the first position beyond a limit, with a description and the cure."""

    def __init__(self, body: Iterable[ast.stmt | ast.expr]) -> None:
        self.calls: dict[int, int] = {}
        self.deepest = 0
        self.fault: tuple[ast.AST, str, str] | None = None
        waiting: list[tuple[ast.AST, int]] = [(statement, 1) for statement in body]
        while waiting and self.fault is None:
            node, depth = waiting.pop()
            self.deepest = max(self.deepest, depth)
            if isinstance(node, ast.Call):
                self.calls[id(node)] = depth
            self.fault = _fault(node, depth)
            # Each loop of a generator is one level.
            levels = len(node.generators) if isinstance(node, ast.GeneratorExp) else 1
            waiting += ((child, depth + levels) for child in _parts(node))


def _fault(node: ast.AST, depth: int) -> tuple[ast.AST, str, str] | None:
    if depth > DEPTH.most:
        return node, f"it is nested more than {DEPTH.most} deep", DEPTH.cure
    match node:
        case ast.BinOp():
            terms = 1 + len(summands(node)[1])
            return (node, f"a sum of {terms} terms", TERMS.cure) if terms > TERMS.most else None
        case ast.IfExp() | ast.If():
            tests = len(alternatives(node)[0] if isinstance(node, ast.IfExp) else branches(node)[0])
            return (node, f"a chain of {tests} conditions", CONDITIONS.cure) if tests > CONDITIONS.most else None
    return None


def _parts(node: ast.AST) -> Iterator[ast.AST]:
    """The children of a node, which are one level deeper."""
    parts: Sequence[ast.AST]
    match node:
        case ast.BinOp(op=ast.Add() | ast.Sub()):
            first, rest = summands(node)
            parts = [first, *(term for _, term in rest)]
        case ast.IfExp():
            pairs, last = alternatives(node)
            parts = [*(one for pair in pairs for one in pair), last]
        case ast.If():
            tests, otherwise = branches(node)
            parts = [*(one for test in tests for one in (test.test, *test.body)), *otherwise]
        case ast.Call():
            parts = [node.func, *node.args, *(keyword.value for keyword in node.keywords)]
        case _:
            parts = list(ast.iter_child_nodes(node))
    return (part for part in parts if isinstance(part, ast.stmt | ast.expr | ast.comprehension))

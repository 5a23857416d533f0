"""Prints expressions for messages, explanations and look-ups; chains can have any length.

In:  a node of a syntax tree.
Out: its text in one line, in full or shortened for a message.
"""

from __future__ import annotations

import ast
import textwrap

from isrcheck.models.language.reading.chains import alternatives, summands
from isrcheck.models.language.text.plain import shortened


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

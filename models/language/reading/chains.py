"""Chains that people write flat and Python's parser nests: sums, `elif`, `a if c else b if d else e`, and indices.

In:  the outermost node of a chain.
Out: the chain's terms or branches, in the order of the text.

Code that reads a chain as a list does not recurse once per term, so chains can be long.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence


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

"""The names in an expression.

In:  a node of a syntax tree.
Out: the names that it reads.
"""

from __future__ import annotations

import ast


def names_in(expression: ast.expr) -> set[str]:
    """All names, those of variables of generators included."""
    return {node.id for node in ast.walk(expression) if isinstance(node, ast.Name)}


def names_stored(node: ast.AST) -> list[str]:
    """All names that are assigned in a node, variables of loops and generators included."""
    return [one.id for one in ast.walk(node) if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store)]

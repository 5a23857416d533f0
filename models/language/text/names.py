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


def free_names(node: ast.AST) -> set[str]:
    """The names that an expression reads, without the variables of its generators."""
    names: set[str] = set()
    waiting: list[tuple[ast.AST, frozenset[str]]] = [(node, frozenset())]
    while waiting:
        one, hidden = waiting.pop()
        if isinstance(one, ast.Name) and one.id not in hidden:
            names.add(one.id)
        if isinstance(one, ast.GeneratorExp):
            hidden |= {part.target.id for part in one.generators if isinstance(part.target, ast.Name)}
        waiting += ((child, hidden) for child in ast.iter_child_nodes(one))
    return names

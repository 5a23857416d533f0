"""Limits the nesting of a function and the length of its chains, so that recursive code can process the function.

In:  the body of a function, or its decorators and annotations, with any content.
Out: the nesting depth of each call in the body, and the first position that exceeds a limit.

Long sums and chains of `elif` and `else` count as one level (chains.py). The numbers of `and`,
`or`, comparisons, arguments and statements in sequence are not limited.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence

from isrcheck.models.language.ir.constructs import CONDITIONS, DEPTH, TERMS
from isrcheck.models.language.reading.chains import alternatives, branches, summands


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

"""Shrinks a failing program as far as it still fails in the same way.

In:  a program, and a predicate: whether a smaller program still fails.
Out: a program from which nothing more can be removed, or the smallest one found when the attempts are used up.

Large pieces are tried first: the second protocol; then in each module whole functions and declarations, statements,
expressions (replaced by their operands), large numbers (replaced by smaller ones). Shrinking is deterministic.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial

from isrcheck.conformance.fuzz.program import Program

ATTEMPTS = 400
"""The limit on the number of smaller programs that are tried."""

Change = Callable[[], None]


def shrink(program: Program, fails: Callable[[Program], bool], attempts: int = ATTEMPTS) -> Program:
    """The smallest program found that still fails, after at most this many attempts."""
    left = attempts
    is_smaller = True
    while is_smaller and left > 0:
        is_smaller = False
        position = 0
        while left > 0:
            smaller = _candidate(program, position)
            if smaller is None:
                break
            left -= 1
            if fails(smaller):
                program, is_smaller = smaller, True  # the next change now has the same position
            else:
                position += 1
    return program


def _candidate(program: Program, position: int) -> Program | None:
    """The smaller program at this position in the list of candidates; None after the last."""
    if program.second is not None:
        if position == 0:
            return replace(program, second=None)
        position -= 1
    for part in ("text", "second", "library"):
        text = getattr(program, part)
        if text is None:
            continue
        smaller = _smaller(text, position)
        if isinstance(smaller, str):
            return replace(program, **{part: smaller})
        position -= smaller
    return None


def _smaller(text: str, position: int) -> str | int:
    """The text after one change, the one at this position; or the number of possible changes, if there are fewer."""
    tree = ast.parse(text)
    count = 0
    for count, change in enumerate(_changes(tree), 1):
        if count == position + 1:
            change()
            try:
                smaller = ast.unparse(ast.fix_missing_locations(tree)) + "\n"
                ast.parse(smaller)
            except (SyntaxError, ValueError):
                return text
            return smaller
    return count


def _changes(tree: ast.Module) -> Iterator[Change]:
    """All changes of a program that make it smaller or simpler, large ones first."""
    yield from _left_out(tree.body)
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef):
            yield from _left_out(node.body)
        elif isinstance(node, ast.ImportFrom) and node.module != "isrcheck.models.language" and len(node.names) > 1:
            for at in range(len(node.names)):
                yield partial(node.names.__delitem__, at)
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            yield from _statements(node)
    for node in ast.walk(tree):
        for name, value in ast.iter_fields(node):
            if isinstance(value, ast.expr):
                yield from _expressions(node, name, None, value)
            elif isinstance(value, list):
                for at, one in enumerate(value):
                    if isinstance(one, ast.expr):
                        yield from _expressions(node, name, at, one)


def _left_out(body: list[ast.stmt]) -> Iterator[Change]:
    """Changes that each remove one statement of a body, except imports."""
    for at, one in enumerate(body):
        if isinstance(one, ast.ImportFrom):
            continue
        yield partial(_remove, body, at)


def _remove(body: list[ast.stmt], at: int) -> None:
    del body[at]
    if not body:
        body.append(ast.Pass())


def _statements(holder: ast.AST) -> Iterator[Change]:
    """Changes that remove a statement, replace a compound statement by its block, or drop a decorator's options."""
    if isinstance(holder, ast.FunctionDef):
        for at, decorator in enumerate(holder.decorator_list):
            if isinstance(decorator, ast.Call):
                yield partial(holder.decorator_list.__setitem__, at, decorator.func)
    for node in ast.walk(holder):
        for name in ("body", "orelse"):
            body = getattr(node, name, None)
            if not isinstance(body, list):
                continue
            for at, one in enumerate(body):
                if not isinstance(one, ast.Pass):
                    yield partial(_remove, body, at)
                for inner in ("body", "orelse"):
                    block = getattr(one, inner, None)
                    if isinstance(block, list) and block:
                        yield partial(body.__setitem__, slice(at, at + 1), block)


def _expressions(node: ast.AST, name: str, at: int | None, value: ast.expr) -> Iterator[Change]:
    """Changes that replace an expression by one of its operands or by a constant."""

    def put(new: ast.expr) -> Change:
        def change() -> None:
            if at is None:
                setattr(node, name, copy.deepcopy(new))
            else:
                getattr(node, name)[at] = copy.deepcopy(new)

        return change

    if isinstance(node, ast.Attribute | ast.Call) and name in ("value", "func"):
        return
    if name in ("annotation", "decorator_list", "targets", "target", "bases", "iter", "returns"):
        return
    if isinstance(value, ast.Constant):
        if value.value not in (0, 1, True, False) and isinstance(value.value, int):
            yield put(ast.Constant(1))
            yield put(ast.Constant(value.value // 2))
        return
    yield put(ast.Constant(True))
    yield put(ast.Constant(0))
    if isinstance(value, ast.BoolOp | ast.Compare) and len(getattr(value, "values", getattr(value, "ops", []))) > 2:
        shorter = copy.deepcopy(value)
        (shorter.values if isinstance(shorter, ast.BoolOp) else shorter.ops).pop()
        if isinstance(shorter, ast.Compare):
            shorter.comparators.pop()
        yield put(shorter)
    for part in ast.iter_child_nodes(value):
        if isinstance(part, ast.expr) and not isinstance(part, ast.Name | ast.Constant | ast.GeneratorExp):
            yield put(part)

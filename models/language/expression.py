"""An expression about one state, as a person types it: checked as if a property of the model returned it.

In:  an instance, and the text of the expression, in which `s` is the state.
Out: a `Function` of `s`; or a LanguageError that says in which column what is wrong. Its names are those that the files
     of the model define; nothing that the language lacks is ever run.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from enum import IntEnum
from types import CodeType, FunctionType
from typing import Any, NoReturn

from isrcheck.models.language.declare import Kind, mark_of
from isrcheck.models.language.model import Instance, nearest
from isrcheck.models.language.syntax import Function, FunctionReader, Reader, with_callees
from isrcheck.models.messages.errors import LanguageError

MOST_TEXT = 1000
"""Characters of an expression."""

MOST_DEPTH = 60
"""How deep an expression may be nested; what looks at it calls itself at each level."""

NAME = "expression"


def read_expression(instance: Instance, text: str) -> Function:
    """The function of `s` that returns this expression. Raises LanguageError."""
    definition = _parsed(text)
    names, ambiguous = _names(instance)
    python = _compiled(definition, text, names)
    model = instance.model
    return _ExpressionReader(model.reader, python, definition, text, ambiguous).function


def _parsed(text: str) -> ast.FunctionDef:
    """The text as the body of a function."""
    if len(text) > MOST_TEXT:
        raise LanguageError(f"an expression of {len(text)} characters: at most {MOST_TEXT}; write it into the model")
    if not text.isprintable():
        raise LanguageError(f"`{text!a}`: an expression is one line of text; leave the control characters out")
    try:
        expression = ast.parse(text.strip(), mode="eval").body
    except SyntaxError as error:
        # Python counts from 1, and says 0 where it does not know.
        column = max(error.offset or 1, 1)
        raise LanguageError(
            f"`{text.strip()}`, column {column}: {error.msg}; write an expression about the state `s`"
        ) from None
    except (ValueError, RecursionError, MemoryError) as error:
        raise LanguageError(f"`{text.strip()}` cannot be read: {error}; write it simpler") from None
    if _depth(expression) > MOST_DEPTH:
        raise LanguageError(f"`{text.strip()}` is nested more than {MOST_DEPTH} deep; write it simpler")
    definition = ast.parse(f"def {NAME}(s):\n    return 0").body[0]
    assert isinstance(definition, ast.FunctionDef)
    definition.body = [ast.copy_location(ast.Return(expression), expression)]
    return definition


def _depth(expression: ast.expr) -> int:
    level: list[ast.AST] = [expression]
    depth = 0
    while level and depth <= MOST_DEPTH:
        level = [child for node in level for child in ast.iter_child_nodes(node)]
        depth += 1
    return depth


def _compiled(definition: ast.FunctionDef, text: str, names: dict[str, Any]) -> FunctionType:
    """The function, without that anything is run."""
    try:
        module = compile(ast.Module([definition], []), f"<{NAME}>", "exec")
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise LanguageError(f"`{text.strip()}` is no expression about a state: {error}; write it simpler") from None
    code = next(constant for constant in module.co_consts if isinstance(constant, CodeType))
    return FunctionType(code, names, NAME)


def _names(instance: Instance) -> tuple[dict[str, Any], set[str]]:
    """Helpers, whole numbers and enumerations that the files of the model name; and the names that are not clear.

    A name means what it means where the protocol in force uses it, before what it means elsewhere.
    """
    model = instance.model
    used = [function for index in range(len(model.actions)) if (function := instance.function(index)) is not None]
    used += [prop.function for prop in (*model.properties, *model.lemmas)]
    others = [function for action in model.actions for function in action.alternatives]
    found: dict[str, Any] = {}
    ambiguous: set[str] = set()
    for name, value in _globals(instance, used):
        if found.setdefault(name, value) is not value and found[name] != value:
            ambiguous.add(name)
    for name, value in _globals(instance, others):
        found.setdefault(name, value)
    return {name: value for name, value in found.items() if name not in ambiguous}, ambiguous


def _globals(instance: Instance, functions: list[Function]) -> Iterator[tuple[str, Any]]:
    """What an expression can name in the files of these functions and of what they call, each file once."""
    seen: set[int] = set()
    for function in with_callees(functions):
        names = function.names
        if id(names) not in seen:
            seen.add(id(names))
            yield from ((name, value) for name, value in list(names.items()) if _is_offered(instance, value))


def _is_offered(instance: Instance, value: object) -> bool:
    if type(value) is FunctionType:
        mark = mark_of(value)
        is_declared = mark is not None and mark.kind in (Kind.ACTION, Kind.INITIAL, Kind.CONTRADICTION)
        return value.__code__.co_filename in instance.model.sources and not is_declared
    return isinstance(value, int) or (isinstance(value, type) and issubclass(value, IntEnum) and len(value) > 0)


class _ExpressionReader(FunctionReader):
    """Checks an expression: what is wrong is said with its column, and what a name could have meant."""

    def __init__(
        self, reader: Reader, python: FunctionType, definition: ast.FunctionDef, text: str, ambiguous: set[str]
    ) -> None:
        self.text = text.strip()
        self.ambiguous = ambiguous
        super().__init__(reader, python, definition)

    def _refuse(self, node: ast.AST, what: str, hint: str) -> NoReturn:
        raise LanguageError(f"`{self.text}`, column {column_of(self.text, node)}: {what}; {hint}")

    def _cell(self, expression: ast.expr) -> tuple[str, str]:
        node = expression
        while isinstance(node, ast.Subscript):
            node = node.value
        known = [*self.vocabulary.fields, *self.vocabulary.configuration]
        if isinstance(node, ast.Attribute) and node.attr not in known:
            self._refuse(node, f"the state has no field `{node.attr}`", _proposed(node.attr, known))
        return super()._cell(expression)

    def _global(self, expression: ast.Name) -> Any:
        name = expression.id
        if name in self.ambiguous:
            self._refuse(expression, f"`{name}` means several things in the files of the model", "ask for its parts")
        if name not in self.names and name not in self.own:
            self._refuse(expression, f"nothing is called `{name}`", _proposed(name, ["s", *self.names]))
        return super()._global(expression)


def column_of(text: str, node: ast.AST) -> int:
    """In which column of the text a part of it begins, from 1 on; Python counts bytes."""
    return len(text.encode()[: getattr(node, "col_offset", 0)].decode(errors="ignore")) + 1


def _proposed(name: str, known: list[str]) -> str:
    """The likeliest name; all of them only where they are few."""
    proposal = nearest(name, known)
    return proposal if len(known) < 20 or proposal.startswith("did") else "see the fields with: trace show FILE --full"

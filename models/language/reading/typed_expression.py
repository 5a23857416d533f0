"""An expression about one state that a user typed, checked as if a property of the model returned it.

In:  an instance, and the text of the expression, in which `s` is the state.
Out: a `Function` of `s`; or a LanguageError that names the fault and its column. The expression can use the names that
     the files of the model define; nothing outside the language is ever executed.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from enum import IntEnum
from types import CodeType, FunctionType
from typing import Any, NoReturn

from isrcheck.models.language.declare import Domain, Kind, mark_of
from isrcheck.models.language.ir.constructs import DEPTH
from isrcheck.models.language.model import Instance
from isrcheck.models.language.reading.nesting import Nesting
from isrcheck.models.language.reading.reader import FunctionReader, Reader
from isrcheck.models.language.reading.source_text import WrittenSource
from isrcheck.models.language.syntax import Function, with_callees
from isrcheck.models.messages.errors import LanguageError
from isrcheck.models.messages.nearest import nearest

MOST_TEXT = 1000
"""The longest expression, in characters."""

NAME = "expression"


def read_expression(instance: Instance, text: str) -> Function:
    """Return the function of `s` that returns the expression `text`. Raises LanguageError."""
    definition = _parsed(text)
    names, ambiguous = _names(instance)
    python = _compiled(definition, text, names)
    model = instance.model
    return _ExpressionReader(model.reader, python, definition, text, ambiguous).function()


def _parsed(text: str) -> ast.FunctionDef:
    """Return a function definition whose body returns the expression."""
    if len(text) > MOST_TEXT:
        raise LanguageError(f"the expression has {len(text)} characters, more than {MOST_TEXT}; define it in the model")
    if not text.isprintable():
        raise LanguageError(f"`{text!a}`: an expression is one line of text; remove the control characters")
    try:
        expression = ast.parse(text.strip(), mode="eval").body
    except SyntaxError as error:
        # Python counts columns from 1, and gives 0 for an unknown column.
        column = max(error.offset or 1, 1)
        raise LanguageError(
            f"`{text.strip()}`, column {column}: {error.msg}; write an expression about the state `s`"
        ) from None
    except (ValueError, RecursionError, MemoryError) as error:
        raise LanguageError(f"`{text.strip()}` cannot be read: {error}; simplify it") from None
    if Nesting([ast.Expr(expression)]).deepest > DEPTH.most:  # before it is compiled
        raise LanguageError(f"`{text.strip()}` is nested more than {DEPTH.most} deep; simplify it")
    definition = ast.parse(f"def {NAME}(s):\n    return 0").body[0]
    assert isinstance(definition, ast.FunctionDef)
    definition.body = [ast.copy_location(ast.Return(expression), expression)]
    return definition


def _compiled(definition: ast.FunctionDef, text: str, names: dict[str, Any]) -> FunctionType:
    """Compile the function `definition`, whose global names get the values in `names`; nothing is executed."""
    try:
        module = compile(ast.Module([definition], []), f"<{NAME}>", "exec")
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise LanguageError(f"`{text.strip()}` cannot be compiled: {error}; simplify it") from None
    code = next(constant for constant in module.co_consts if isinstance(constant, CodeType))
    return FunctionType(code, names, NAME)


def _names(instance: Instance) -> tuple[dict[str, Any], set[str]]:
    """The names that an expression can use, with their values: helpers, whole numbers, enumerations and domains of the
    model's files. Also the names that it cannot use: the functions of the instance's protocol disagree on their values.
    """
    model = instance.model
    used = [function for index in range(len(model.actions)) if (function := instance.function(index)) is not None]
    used += [prop.function for prop in (*model.properties, *model.lemmas)]
    used += [*model.terminals, *model.constraints]
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
    """The global names and values in the files of these functions and of the functions that they call."""
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
    if isinstance(value, type) and issubclass(value, Domain):
        return value is not Domain
    return isinstance(value, int) or (isinstance(value, type) and issubclass(value, IntEnum) and len(value) > 0)


class _ExpressionReader(FunctionReader):
    """Checks an expression. Its errors give the column, and suggest names."""

    def __init__(
        self, reader: Reader, python: FunctionType, definition: ast.FunctionDef, text: str, ambiguous: set[str]
    ) -> None:
        self.text = text.strip()
        self.ambiguous = ambiguous
        source = WrittenSource(f"<{NAME}>", self.text.encode())
        super().__init__(reader, python, definition, python.__code__, source)

    def error(self, node: ast.AST, what: str, hint: str) -> LanguageError:
        """What says that something is not in the language."""
        return LanguageError(f"`{self.text}`, column {column_of(self.text, node)}: {what}; {hint}")

    def unknown_field(self, node: ast.AST, name: str) -> NoReturn:
        """Refuse a name that is neither a field nor an entry."""
        cure = _proposed(name, [*self.vocabulary.fields, *self.vocabulary.configuration])
        raise self.error(node, f"the state has no field `{name}`", cure)

    def meaning(self, node: ast.Name) -> Any:
        """What a global name means."""
        name = node.id
        if name in self.ambiguous:
            raise self.error(
                node, f"`{name}` has several meanings in the files of the model", "write out its definition"
            )
        if name not in self.names and name not in self.own:
            raise self.error(node, f"there is no name `{name}`", _proposed(name, ["s", *self.names]))
        return super().meaning(node)


def column_of(text: str, node: ast.AST) -> int:
    """The column at which this node of the text begins, counted from 1 in characters; Python counts bytes."""
    return len(text.encode()[: getattr(node, "col_offset", 0)].decode(errors="ignore")) + 1


def _proposed(name: str, known: list[str]) -> str:
    """Return the cure for an unknown name: the most similar name in `known`, or all of them if they are few."""
    proposal = nearest(name, known)
    return proposal if len(known) < 20 or proposal.startswith("did") else "list the fields with: trace show FILE --full"

"""Expressions that a user types about one state, checked like the result of a property of the model.

In the text, `s` is the state. `read_typed` turns the text into a `Function` of `s`, or raises a LanguageError that says
what is wrong and, where possible, in which column. Nothing outside the language is ever executed.
"""

from __future__ import annotations

import ast
import warnings
from types import CodeType, FunctionType
from typing import Any, NoReturn

from isrcheck.models.language.ir.constructs import DEPTH
from isrcheck.models.language.reading.reader import Function, FunctionReader, Reader
from isrcheck.models.language.reading.source import Nesting, WrittenSource
from isrcheck.models.messages import LanguageError, nearest

MOST_TEXT = 1000
"""The greatest length of a typed expression, in characters."""

NAME = "expression"


def read_typed(text: str, reader: Reader, names: dict[str, Any], ambiguous: set[str]) -> Function:
    """Return a function of `s` whose value is the expression `text`. The expression can use `names`, which the model's
    files define, but not the `ambiguous` names. Raises LanguageError for a text that is not in the language."""
    with warnings.catch_warnings():  # Python's doubts about the text, as in `s.epoch is 1`, which the reader refuses
        warnings.simplefilter("ignore", SyntaxWarning)
        definition = _parsed(text)
        python = _compiled(definition, text, names)
    return _ExpressionReader(reader, python, definition, text, ambiguous).function()


def _parsed(text: str) -> ast.FunctionDef:
    if len(text) > MOST_TEXT:
        raise LanguageError(f"the expression has {len(text)} characters, more than {MOST_TEXT}; define it as a helper")
    if not text.isprintable():
        raise LanguageError(f"`{text!a}`: an expression is one line of text; remove the control characters")
    try:
        expression = ast.parse(text.strip(), mode="eval").body
    except SyntaxError as error:
        # Python counts columns from 1, and gives 0 for an unknown column.
        column = max(error.offset or 1, 1)
        what = f"`{text.strip()}`, column {column}: {error.msg}"
        raise LanguageError(f"{what}; write an expression about the state `s`") from None
    except (ValueError, RecursionError, MemoryError) as error:
        raise LanguageError(f"`{text.strip()}` cannot be read: {error}; simplify the expression") from None
    if Nesting([ast.Expr(expression)]).deepest > DEPTH.most:  # before it is compiled
        raise LanguageError(f"`{text.strip()}` is nested more than {DEPTH.most} deep; simplify the expression")
    definition = ast.parse(f"def {NAME}(s):\n    return 0").body[0]
    assert isinstance(definition, ast.FunctionDef)
    definition.body = [ast.copy_location(ast.Return(expression), expression)]
    return definition


def _compiled(definition: ast.FunctionDef, text: str, names: dict[str, Any]) -> FunctionType:
    """Compile the function `definition`, whose global names get the values in `names`; nothing is executed."""
    try:
        module = compile(ast.Module([definition], []), f"<{NAME}>", "exec")
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise LanguageError(f"`{text.strip()}` cannot be compiled: {error}; simplify the expression") from None
    code = next(constant for constant in module.co_consts if isinstance(constant, CodeType))
    return FunctionType(code, names, NAME)


class _ExpressionReader(FunctionReader):
    """Checks a typed expression. Its error messages give the column, and suggest similar names."""

    def __init__(
        self, reader: Reader, python: FunctionType, definition: ast.FunctionDef, text: str, ambiguous: set[str]
    ) -> None:
        self.text = text.strip()
        self.ambiguous = ambiguous
        source = WrittenSource(f"<{NAME}>", self.text.encode())
        super().__init__(reader, python, definition, python.__code__, source)

    def error(self, node: ast.AST, what: str, hint: str) -> LanguageError:
        """Return the error for a construct that is not in the language: `what` is wrong, and `hint` says what to do."""
        return LanguageError(f"`{self.text}`, column {column_of(self.text, node)}: {what}; {hint}")

    def unknown_field(self, node: ast.AST, name: str) -> NoReturn:
        """Refuse a name that is neither a field of the state nor an entry of the configuration."""
        cure = _proposed(name, [*self.vocabulary.fields, *self.vocabulary.configuration])
        raise self.error(node, f"the state has no field `{name}`", cure)

    def meaning(self, node: ast.Name) -> Any:
        """Return the value of a global name. Refuses a name with several meanings, and an unknown name."""
        name = node.id
        if name in self.ambiguous:
            what = f"`{name}` has several meanings in the files of the model"
            raise self.error(node, what, "write out its definition")
        if name not in self.names and name not in self.own:
            raise self.error(node, f"there is no name `{name}`", _proposed(name, ["s", *self.names]))
        return super().meaning(node)


def column_of(text: str, node: ast.AST) -> int:
    """Return the column of `text` where `node` begins, counted from 1 in characters. (Python counts from 0, in
    bytes.)"""
    return len(text.encode()[: getattr(node, "col_offset", 0)].decode(errors="ignore")) + 1


def _proposed(name: str, names: list[str]) -> str:
    """Return a hint about an unknown name: a similar name, all `names` if they are few, or how to list the fields."""
    proposal = nearest(name, names)
    return proposal if len(names) < 20 or proposal.startswith("did") else "list the fields with: trace show FILE --full"

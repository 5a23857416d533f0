"""The declaration of a command-line option as data.

In:  nothing.
Out: `Option`. The parser, the reserved names and the refusals are derived from it (options.py).
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


def as_typed(_option: str, text: str) -> str:
    """Return the text of an option unchanged."""
    return text


@dataclass(frozen=True, kw_only=True)
class Option:
    """One option: its name, its help text, the function that reads its text, and the forms that accept it.

    An option without a metavar or choices is a flag. `forms` names the forms of the command that accept the option;
    empty: all forms that do not refuse it. `refusal` is the message for any other form; see `Form.refusal_of`.
    """

    name: str
    help: str
    metavar: str | None = None
    choices: tuple[str, ...] = ()
    read: Callable[[str, str], Any] = as_typed
    default: Any = None
    is_repeated: bool = False
    forms: frozenset[str] = frozenset()
    refusal: str = ""
    group: str = ""
    field: str = ""

    def __post_init__(self) -> None:
        if not self.field:
            object.__setattr__(self, "field", self.name.lstrip("-").replace("-", "_"))

    @property
    def is_flag(self) -> bool:
        """Whether the option takes no value."""
        return self.metavar is None and not self.choices

    def add_to(self, parser: argparse._ActionsContainer) -> None:
        """Add the option to an argparse parser or group."""
        if self.is_flag:
            parser.add_argument(self.name, dest=self.field, action="store_true", help=self.help)
            return
        details: dict[str, Any] = {"dest": self.field, "metavar": self.metavar, "help": self.help}
        if self.choices:
            details["choices"] = self.choices
        if self.is_repeated:
            parser.add_argument(self.name, action="append", default=[], **details)
        else:
            parser.add_argument(self.name, default=self.default, **details)

    def is_given(self, known: argparse.Namespace) -> bool:
        """Whether the option was typed with a value other than its default."""
        return getattr(known, self.field) not in (self.default, [], False)

    def value(self, known: argparse.Namespace) -> Any:
        """Return the option's value, or its default if the option was not typed. Raises UsageError."""
        typed = getattr(known, self.field)
        if self.is_flag:
            return typed
        if self.is_repeated:
            return tuple(self.read(self.name, one) for one in typed)
        return None if typed is None else self.read(self.name, typed)

    def spelled(self, known: argparse.Namespace) -> str:
        """Return the option and its text as typed, such as --engine z3."""
        typed = getattr(known, self.field)
        return self.name if self.is_flag else f"{self.name} {typed[0] if self.is_repeated else typed}"

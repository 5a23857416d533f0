"""How the command line of `check` is declared: its options and its forms, as data.

In:  nothing.
Out: `Option` and `Form`. The parser, the reserved names and the refusals are derived from them (options.py).

A form is one way in which `check` is used: the matrix, one model, `check graph`, ... A room that adds a form declares
it in its own module `command`.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from isrcheck.checker.command.options import Options
    from isrcheck.checker.session.command_result import CommandResult
    from isrcheck.checker.session.session import SearchSession

EVERYTHING_ELSE = "*"
"""In the refusals of a form: every option that it does not take."""


def as_typed(_option: str, text: str) -> str:
    """The text of an option, unchanged."""
    return text


@dataclass(frozen=True, kw_only=True)
class Option:
    """One option: how it is typed, what it says in the help, how its text is read, and where it belongs.

    Without a metavar or choices it is a flag. `forms` names the forms of the command with which the option goes; empty:
    all that do not refuse it. `refusal` is the message for any other form; see `Form.refusal_of`.
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
        """Whether nothing stands behind it."""
        return self.metavar is None and not self.choices

    def add_to(self, parser: argparse._ActionsContainer) -> None:
        """Declare the option to argparse."""
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
        """Whether it was typed, with another value than its default."""
        return getattr(known, self.field) not in (self.default, [], False)

    def value(self, known: argparse.Namespace) -> Any:
        """What was typed, as a value; the default where nothing was typed. Raises UsageError."""
        typed = getattr(known, self.field)
        if self.is_flag:
            return typed
        if self.is_repeated:
            return tuple(self.read(self.name, one) for one in typed)
        return None if typed is None else self.read(self.name, typed)

    def spelled(self, known: argparse.Namespace) -> str:
        """The option with what was typed behind it: --engine z3."""
        typed = getattr(known, self.field)
        return self.name if self.is_flag else f"{self.name} {typed[0] if self.is_repeated else typed}"


@dataclass(frozen=True, kw_only=True)
class Form:
    """One form of the command: the word that asks for it (none where other words decide), its lines of usage, three
    examples, the options that it alone has with the message for any other form, what it refuses, and what runs it.

    `refusals` maps the name of an option to the message for it, and `EVERYTHING_ELSE` to the message for all options
    that are neither in `takes` nor its own. A message may contain {option} (--engine), {typed} (--engine z3), {value}
    (z3) and {form}. `rest` is the message for words that would be options of a model, where the form takes no model.
    `refuse` refuses what depends on values. `usual_target` is the model where none is named, `seconds` the time limit
    where none is given.
    """

    name: str
    run: Callable[[Options, SearchSession], CommandResult]
    word: str = ""
    usage: tuple[tuple[str, str], ...] = ()
    examples: tuple[str, ...] = ()
    own: tuple[Option, ...] = ()
    goes_with: str = ""
    takes: frozenset[str] = frozenset()
    refusals: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    rest: str = ""
    refuse: Callable[[Options], None] = lambda options: None
    usual_target: str | None = None
    seconds: float | None = None

    @property
    def options(self) -> tuple[Option, ...]:
        """The options that this form alone has."""
        return tuple(replace(option, forms=frozenset({self.name}), refusal=self.goes_with) for option in self.own)

    def refusal_of(self, option: Option) -> str:
        """The message for an option that does not go with this form; empty where the option does."""
        if option.name in self.refusals:
            return self.refusals[option.name]
        own = {one.name for one in self.own}
        if EVERYTHING_ELSE in self.refusals and option.name not in self.takes | own:
            return self.refusals[EVERYTHING_ELSE]
        return option.refusal if option.forms and self.name not in option.forms else ""

"""The argument parser that the commands share: bad input gives one line with a cure, and every command has --version.

In:  the words that a person typed.
Out: the parsed arguments; UsageError for anything else.
"""

from __future__ import annotations

import argparse
import difflib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NoReturn

from isrcheck.models.messages.errors import UsageError
from isrcheck.models.version import product

LEAST_LIKENESS = 0.7
"""How similar two options have to be, out of 1.0, for one to be suggested in place of the other."""


def alike(option: str, known: Iterable[str]) -> str | None:
    """The known option that is spelled most like this one, if one is similar enough."""
    name = option.partition("=")[0]
    return next(iter(difflib.get_close_matches(name, list(known), n=1, cutoff=LEAST_LIKENESS)), None)


class ShowVersion(argparse.Action):
    """Prints the version and ends the command. The version is looked up only when this is used."""

    def __call__(self, parser: argparse.ArgumentParser, *_: Any) -> NoReturn:
        """Print `isrcheck VERSION`."""
        print(product())
        parser.exit()


class Parser(argparse.ArgumentParser):
    """A parser that raises UsageError instead of printing and ending the process."""

    def __init__(self, *, add_help: bool = True, **more: Any) -> None:
        super().__init__(add_help=add_help, **more)
        self.subcommands: Any = None
        if add_help:
            self.add_argument("--version", action=ShowVersion, nargs=0, help="print the version and exit")

    def error(self, message: str) -> NoReturn:
        """Raise the message, with the command that explains the options."""
        raise UsageError(f"{message}; see {self.prog} --help")

    def add_subparsers(self, **more: Any) -> Any:
        """Add the subcommands, and remember their parsers by name."""
        self.subcommands = super().add_subparsers(parser_class=Parser, **more)
        return self.subcommands

    def refuse(self, rest: Sequence[str], words: Sequence[str]) -> None:
        """Raise UsageError if `rest`, the words that no option takes, is not empty. `words` are all words of the
        command.
        """
        if not rest:
            return
        option = next((word for word in rest if word.startswith("-")), None)
        close = alike(option, self._parser_for(words).options()) if option is not None else None
        if close is not None:
            raise UsageError(f"there is no option {option}; did you mean {close}?")
        self.error(f"unrecognized arguments: {' '.join(rest)}")

    def _parser_for(self, words: Sequence[str]) -> Parser:
        """The parser of the subcommand in the command."""
        commands: Mapping[str, Parser] = {} if self.subcommands is None else self.subcommands.choices
        return next((commands[word] for word in words if word in commands), self)

    def options(self) -> list[str]:
        """Every option, as it is typed."""
        return [option for action in self._actions for option in action.option_strings]

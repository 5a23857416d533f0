"""The argument parser of all commands: each error is one line with a cure, and every command has `--version`.

In:  the words of the command line. Out: the parsed arguments of argparse, or a UsageError.
"""

from __future__ import annotations

import argparse
import importlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

from isrcheck.models.messages import UsageError
from isrcheck.models.version import product

LEAST_LIKENESS = 0.7
"""The least similarity (0 to 1) at which a known option is suggested for an unknown one."""


def alike(option: str, known: Iterable[str]) -> str | None:
    """Return the known option that is spelled most like `option`, or None if none is similar enough."""
    import difflib  # here, because only a mistake needs it

    name = option.partition("=")[0]
    return next(iter(difflib.get_close_matches(name, list(known), n=1, cutoff=LEAST_LIKENESS)), None)


class ShowVersion(argparse.Action):
    """Prints the version and ends the command. The version is looked up only when it is printed."""

    def __call__(self, parser: argparse.ArgumentParser, *_: Any) -> NoReturn:
        """Print `isrcheck VERSION`."""
        print(product())
        parser.exit()


@dataclass(frozen=True, kw_only=True)
class Subcommand:
    """A subcommand: its name, help text, examples and module, which is imported only when the subcommand is used. The
    module's `add_options(parser)` declares the options, and the default `run`: the function that does the work."""

    name: str
    help: str
    module: str
    examples: tuple[str, ...]


class _ModelNames:
    """The names of the models; the models are imported only when the names are printed."""

    def __str__(self) -> str:
        from isrcheck.models import registry

        return ", ".join(registry.names())


class Parser(argparse.ArgumentParser):
    """A parser that raises UsageError instead of printing and ending the process."""

    def __init__(self, *, add_help: bool = True, **more: Any) -> None:
        super().__init__(add_help=add_help, **more)
        self.subcommands: Any = None
        if add_help:
            self.add_argument("--version", action=ShowVersion, nargs=0, help="print the version and exit")

    def error(self, message: str) -> NoReturn:
        """Raise UsageError with the message and a reference to `--help`."""
        raise UsageError(f"{message}; see {self.prog} --help")

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        """Refuse a value that is none of the choices. Raises UsageError, with the choice that was meant, if any was."""
        try:
            super()._check_value(action, value)
        except argparse.ArgumentError as error:
            close = alike(str(value), map(str, action.choices or ()))
            if close is None:
                raise
            raise UsageError(f"{error}; did you mean {close}?") from None

    def add_subparsers(self, **more: Any) -> Any:
        """Add the subcommands, and store their parsers by name, since `refuse` looks them up."""
        self.subcommands = super().add_subparsers(parser_class=Parser, **more)
        return self.subcommands

    def add_model(self) -> None:
        """Add the optional argument MODEL. Models are imported only for the help text, which lists them."""
        action = self.add_argument("target", nargs="?", metavar="MODEL", help="one of: %(models)s; or FILE.py")
        vars(action)["models"] = _ModelNames()

    def add_commands(self, subcommands: Sequence[Subcommand], words: Sequence[str] | None = None) -> None:
        """Add the subcommands. Import modules and declare options only for those named in `words` (None: for all)."""
        commands = self.add_subparsers(metavar="COMMAND", required=True)
        for one in subcommands:
            parser = commands.add_parser(
                one.name,
                help=one.help,
                formatter_class=argparse.RawDescriptionHelpFormatter,
                epilog="\n".join(("examples:", *(f"  {example}" for example in one.examples))),
            )
            if words is None or one.name in words:
                importlib.import_module(one.module).add_options(parser)

    def refuse(self, rest: Sequence[str], words: Sequence[str]) -> None:
        """Raise UsageError if any word of the command line is left over: `rest` holds them, `words` holds all words."""
        if not rest:
            return
        option = next((word for word in rest if word.startswith("-")), None)
        close = alike(option, self._parser_for(words).options()) if option is not None else None
        if close is not None:
            raise UsageError(f"there is no option {option}; did you mean {close}?")
        self.error(f"unrecognized arguments: {' '.join(rest)}")

    def _parser_for(self, words: Sequence[str]) -> Parser:
        """The parser of the subcommand that the command line names, or this parser."""
        commands: Mapping[str, Parser] = {} if self.subcommands is None else self.subcommands.choices
        return next((commands[word] for word in words if word in commands), self)

    def declared(self) -> list[argparse.Action]:
        """The declared options and arguments, as argparse actions."""
        return self._actions

    def options(self) -> list[str]:
        """The declared options as typed, such as `--bound`."""
        return [option for action in self.declared() for option in action.option_strings]

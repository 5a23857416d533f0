"""The parser that the commands share: bad input is one line with a cure, and every command knows --version.

In:  the words that a person typed. Out: what argparse makes of them; UsageError for everything else.
"""

from __future__ import annotations

import argparse
import importlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

from isrcheck.models.messages.errors import UsageError
from isrcheck.models.version import product

LEAST_LIKENESS = 0.7
"""How much alike two options are, of 1.0, where one may be meant by the other."""


def alike(option: str, known: Iterable[str]) -> str | None:
    """The known option that is spelled most like this one, if one is similar enough."""
    import difflib  # here, because only a mistake needs it

    name = option.partition("=")[0]
    return next(iter(difflib.get_close_matches(name, list(known), n=1, cutoff=LEAST_LIKENESS)), None)


class ShowVersion(argparse.Action):
    """Prints the version and ends the command. It is looked up only then."""

    def __call__(self, parser: argparse.ArgumentParser, *_: Any) -> NoReturn:
        """Print `isrcheck VERSION`."""
        print(product())
        parser.exit()


@dataclass(frozen=True, kw_only=True)
class Subcommand:
    """A subcommand: its name, what the help says of it, three examples, and its module, which is imported when it was
    asked for. The module's `add_options` declares its options, and sets what runs it as `run`."""

    name: str
    help: str
    module: str
    examples: tuple[str, ...]


class _ModelNames:
    """The names of the models, spelled when they are printed."""

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
        """Raise the message, with the place where options are explained."""
        raise UsageError(f"{message}; see {self.prog} --help")

    def add_subparsers(self, **more: Any) -> Any:
        """Add the subcommands, whose parsers are found again by their names."""
        self.subcommands = super().add_subparsers(parser_class=Parser, **more)
        return self.subcommands

    def add_model(self) -> None:
        """Add the name of a model, which may be missing. Models are imported only for the help, which lists them."""
        action = self.add_argument("target", nargs="?", metavar="MODEL", help="one of: %(models)s; or FILE.py")
        vars(action)["models"] = _ModelNames()

    def add_commands(self, subcommands: Sequence[Subcommand], words: Sequence[str] | None = None) -> None:
        """Add subcommands. Only those that are among the words are imported, and get their options; all of them where
        there are no words."""
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
        """Raise UsageError where words are left over that no option takes. `words` are all that were typed."""
        if not rest:
            return
        option = next((word for word in rest if word.startswith("-")), None)
        close = alike(option, self._parser_for(words).options()) if option is not None else None
        if close is not None:
            raise UsageError(f"there is no option {option}; did you mean {close}?")
        self.error(f"unrecognized arguments: {' '.join(rest)}")

    def _parser_for(self, words: Sequence[str]) -> Parser:
        """The parser of the subcommand that is named."""
        commands: Mapping[str, Parser] = {} if self.subcommands is None else self.subcommands.choices
        return next((commands[word] for word in words if word in commands), self)

    def declared(self) -> list[argparse.Action]:
        """Every option and argument, as argparse keeps it."""
        return self._actions

    def options(self) -> list[str]:
        """Every option, as it is typed."""
        return [option for action in self.declared() for option in action.option_strings]

"""How a command is declared: its subcommands and its options are values; the parser is derived from them.

The words of a command line become the values of its options; for a wrong word, a one-line UsageError says what to do.
"""

from __future__ import annotations

import argparse
import importlib
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

from isrcheck.commands.program import guarded, print_lines, product
from isrcheck.models.messages import UsageError

LEAST_LIKENESS = 0.7
"""The least similarity (0 to 1) at which a known option is suggested for an unknown one."""

LEAST_MEMORY = 16 << 20
MOST_DIGITS = 9
MOST_THREADS = 64
MOST_PORT = 65_535
MOST_SEED = (1 << 64) - 1
UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}

Read = Callable[[str, str], Any]
"""A function that turns the text of an option into its value. It gets the option's name, for messages, and the text.
Raises UsageError if the text is not valid."""


# ----------------------------------------------------------------------------------------------- the values of options


def whole_number(complaint: str, least: int = 0, most: int = 10**MOST_DIGITS - 1) -> Callable[[str, str], int]:
    """Return a function that reads whole numbers from `least` to `most`. For any other text, it raises UsageError with
    a message that ends in `complaint`."""

    def read(option: str, text: str) -> int:
        is_number = text.isdecimal() and text.isascii() and len(text) <= len(str(most))
        if not is_number or not least <= int(text) <= most:
            raise UsageError(f"{option} {text}: {complaint}")
        return int(text)

    return read


def real_number(complaint: str, is_valid: Callable[[float], bool]) -> Callable[[str, str], float]:
    """Return a function that reads numbers for which `is_valid` is true. For any other text, it raises UsageError with
    a message that ends in `complaint`."""

    def read(option: str, text: str) -> float:
        try:
            value = float(text)
        except ValueError:
            value = float("nan")
        if not is_valid(value):
            raise UsageError(f"{option} {text}: {complaint}")
        return value

    return read


count = whole_number("not a whole number of at least 1", least=1)
steps = whole_number("not a number of steps; give 0 or more")
seed = whole_number(f"not a seed; give 0 to {MOST_SEED}", most=MOST_SEED)
depth = whole_number("not a depth; give 0 to 9999", most=9999)
threads = whole_number(f"not a number of threads; give 1 to {MOST_THREADS}", least=1, most=MOST_THREADS)
port = whole_number(f"not a port; give a number from 1 to {MOST_PORT}", least=1, most=MOST_PORT)
seconds = real_number("not a time; give a number of seconds above 0", lambda value: 0 < value < float("inf"))
minutes = real_number("not a time; give a number of minutes above 0", lambda value: 0 < value < float("inf"))
share = real_number("not a share between 0 and 1", lambda value: 0 <= value <= 1)


def integer(option: str, text: str) -> int:
    """Return the whole number in `text`, which may be negative. Raises UsageError for any other text."""
    try:
        return int(text)
    except ValueError:
        raise UsageError(f"{option} {text}: not a whole number") from None


def memory(option: str, text: str) -> int:
    """Return the bytes of a memory size such as `8G`, `512M` or `1.5GiB`. Raises UsageError for any other text."""
    stripped = text.strip().upper().removesuffix("IB").removesuffix("B")
    unit = stripped[-1:] if stripped[-1:] in "KMGT" else ""
    try:
        size = int(float(stripped.removesuffix(unit)) * UNITS[unit])
    except (ValueError, OverflowError):
        raise UsageError(f"{option} {text}: not a size; write it as 512M or 8G") from None
    if size < LEAST_MEMORY:
        raise UsageError(f"{option} {text}: a search needs at least {LEAST_MEMORY >> 20}M")
    return size


def path(_option: str, text: str) -> Path:
    """Return the path of a file or folder, which need not exist."""
    return Path(text)


def folder(option: str, text: str) -> Path:
    """Return the path of a folder, which need not exist. Raises UsageError if the path is not a folder."""
    place = Path(text)
    if place.exists() and not place.is_dir():
        raise UsageError(f"{text}: not a folder; name a folder with {option} DIR")
    return place


def name(option: str, text: str) -> str:
    """Return `text`, the value of an option that is a name. Raises UsageError if it is empty."""
    if not text:
        raise UsageError(f"{option} needs a name; give a name, or leave {option} out")
    return text


# ------------------------------------------------------------------------------------------------------------ options


class Only(NamedTuple):
    """The forms of `check` (such as `check doctor`) that accept an option, and the error message for any other form."""

    forms: frozenset[str]
    refusal: str


class Option(NamedTuple):
    """One option or argument of a command. An option without a value or choices is a flag."""

    typed: str
    """The way in which the option is typed: `--json`, `--bound N` or `-o --out DIR`; for an argument, `FILE`, `[FILE]`,
    `FILE ...` or `[FILE ...]`. The value of an argument with dots is a tuple."""
    help: str
    """The help text; `%(default)s` stands for the default."""
    read: Read = lambda _option, text: text
    """Reads the text of the option or argument; by default, the value is the text."""
    default: Any = None
    """The value if the option is not typed. A default that is a text is read like a typed text."""
    choices: tuple[str, ...] = ()
    """The only values that are accepted."""
    is_required: bool = False
    """Whether the option must be typed."""
    is_repeated: bool = False
    """Whether the option may be typed several times; the value is then a tuple."""
    excludes: str = ""
    """The name of a group of options of which only one may be typed."""
    group: str = ""
    """The heading in the help below which the option is listed."""
    destination: str = ""
    """The name of the option's value in the parsed arguments; by default, the option's own name."""
    only: Only | None = None
    """The forms of `check` that accept the option; None: all forms that do not refuse it."""

    @property
    def name(self) -> str:
        """The longest name, such as `--out`; for an argument, its name in the help."""
        *names, last = self.typed.replace("[", "").replace("]", "").removesuffix(" ...").split()
        return names[-1] if names and not last.startswith("-") else last

    @property
    def metavar(self) -> str | None:
        """The name of the value in the help, such as DIR; None for a flag."""
        last = self.typed.split()[-1]
        return self.name if not self.typed.startswith("-") else None if last.startswith("-") else last

    @property
    def field(self) -> str:
        """The name of the option's value in the parsed arguments."""
        return self.destination or self.name.lstrip("-").replace("-", "_").lower()

    @property
    def is_flag(self) -> bool:
        """Whether the option takes no value."""
        return self.metavar is None and not self.choices

    @property
    def has_many_values(self) -> bool:
        """Whether the option can have several values; its value is then a tuple."""
        return self.is_repeated or "..." in self.typed

    def add_to(self, parser: argparse._ActionsContainer) -> argparse.Action:
        """Add the option to an argparse parser or group; return its action."""
        details: dict[str, Any] = {"help": self.help, "default": [] if self.has_many_values else self.default}
        if self.choices:
            details["choices"] = self.choices
        if not self.typed.startswith("-"):
            is_optional = self.typed.startswith("[")
            if self.has_many_values or is_optional:
                details["nargs"] = "?" if not self.has_many_values else "*" if is_optional else "+"
            return parser.add_argument(self.field, metavar=None if self.choices else self.metavar, **details)
        names = [word for word in self.typed.split() if word.startswith("-")]
        if self.is_flag:
            return parser.add_argument(*names, dest=self.field, action="store_true", help=self.help)
        details |= {"dest": self.field, "metavar": self.metavar, "required": self.is_required}
        return parser.add_argument(*names, action="append" if self.is_repeated else "store", **details)

    def is_given(self, typed: argparse.Namespace) -> bool:
        """Whether the option was typed with a value other than its default."""
        return getattr(typed, self.field) not in (self.default, [], False)

    def value(self, typed: argparse.Namespace) -> Any:
        """Return the option's value, or its default if the option was not typed. Raises UsageError."""
        text = getattr(typed, self.field)
        if self.has_many_values:
            return tuple(self.read(self.name, part) for part in text)
        return self.read(self.name, text) if isinstance(text, str) else text

    def spelled(self, typed: argparse.Namespace) -> str:
        """Return the option and its text as typed, such as --engine z3."""
        text = getattr(typed, self.field)
        return self.name if self.is_flag else f"{self.name} {text[0] if self.is_repeated else text}"


def alike(option: str, options: Iterable[str]) -> str | None:
    """Return the option that is spelled most like `option`, or None if none is similar enough."""
    import difflib  # here, because only a mistake needs it

    typed = option.partition("=")[0]
    return next(iter(difflib.get_close_matches(typed, list(options), n=1, cutoff=LEAST_LIKENESS)), None)


# ---------------------------------------------------------------------------------------------- subcommands, commands


class Subcommand(NamedTuple):
    """A subcommand: one way to use a command.

    Its module is imported only when the subcommand is chosen. The module has the function `run`, which does the work,
    `OPTIONS`, and perhaps `NOTES`: lines that the help shows above the examples.
    """

    name: str
    """The word that selects the subcommand."""
    module: str = ""
    """The full name of the module; empty: the word is only listed here, and starts another command."""
    help: str = ""
    """A line of help that says what the subcommand does."""
    examples: tuple[str, ...] = ()
    """Examples for the help, each a whole command."""
    description: str = ""
    """The text at the beginning of the subcommand's help."""
    takes_rest: bool = False
    """Whether other words than the subcommand's options are left to the model, whose entries are options."""


class Command(NamedTuple):
    """A command that has subcommands."""

    name: str
    """The name of the command as it is typed, such as `trace`."""
    description: str
    """A sentence that says what the command does."""
    subcommands: tuple[Subcommand, ...]
    """The subcommands, in the order of the help."""
    epilog: str = ""
    """The text at the end of the command's help."""
    bad_input: tuple[type[Exception], ...] = ()
    """The kinds of errors, in addition to UsageError, that the user's input can cause."""

    def parser(self, words: Sequence[str] | None = None) -> Parser:
        """Return the command's parser, with the options of the subcommands named in `words` (None: of all)."""
        parser = Parser(
            prog=self.name,
            description=self.description,
            epilog=self.epilog or None,
        )
        commands = parser.add_subparsers(metavar="COMMAND", required=True, dest="subcommand")
        for subcommand in self.subcommands:
            below = commands.add_parser(
                subcommand.name,
                help=subcommand.help,
                description=subcommand.description or None,
                allow_abbrev=not subcommand.takes_rest,
            )
            lines = ["examples:", *(f"  {example}" for example in subcommand.examples)] if subcommand.examples else []
            if subcommand.module and (words is None or subcommand.name in words):
                module = importlib.import_module(subcommand.module)
                below.add_options(module.OPTIONS)
                lines = [*getattr(module, "NOTES", ()), *lines]
            below.epilog = "\n".join(lines)
        return parser

    def read(self, words: Sequence[str]) -> tuple[Callable[[argparse.Namespace], int], argparse.Namespace]:
        """Read the command line. Return the function that does the work, and the arguments for it. Raises UsageError.

        The arguments have a value for each option; `rest`, the words that are left for a model; and `reserved`, the
        options that the model must not use for its own entries, because the command has them.
        """
        parser = self.parser(words)
        typed, rest = parser.parse_known_args(words)
        subcommand = next(each for each in self.subcommands if each.name == typed.subcommand)
        if rest and not subcommand.takes_rest:
            option = next((word for word in rest if word.startswith("-")), "")
            close = alike(option, parser.subcommands.choices[subcommand.name].options())
            if close is not None:
                raise UsageError(f"there is no option {option}; did you mean {close}?")
            parser.error(f"unrecognized arguments: {' '.join(rest)}")
        module = importlib.import_module(subcommand.module)
        values = {option.field: option.value(typed) for option in module.OPTIONS}
        long = (option.name for option in module.OPTIONS if option.name.startswith("--"))
        return module.run, argparse.Namespace(**values, rest=tuple(rest), reserved=("--help", "--version", *long))

    def run(self, words: Sequence[str], began: float | None = None) -> int:
        """Run the command; return its exit code. `began` is its start by time.monotonic() (default: now)."""
        began = time.monotonic() if began is None else began

        def work(_signals: list[int]) -> int:
            run, arguments = self.read(words)
            arguments.began = began
            return run(arguments)

        return guarded(self.name, work, bad_input=self.bad_input)


# ------------------------------------------------------------------------------------------------------------- parser


class _ShowVersion(argparse.Action):
    """The option `--version`. The version is looked up only when it is printed."""

    def __call__(self, parser: argparse.ArgumentParser, *_: Any) -> NoReturn:
        print_lines([product()])
        parser.exit()


class _ModelNames:
    """The names of the models as an object that imports the models only when it is printed."""

    def __str__(self) -> str:
        from isrcheck.models import registry

        return ", ".join(registry.names())


MODEL = Option("[MODEL]", "one of: %(models)s; or FILE.py", destination="target")
"""The argument that names a model. Models are imported only for the help text, which lists them."""


class ModelArguments(NamedTuple):
    """The model and the configuration that a command line names."""

    command: str
    """The name of the command, for messages."""
    reserved: tuple[str, ...]
    """The options of the command itself, whose names a model's entries cannot have."""
    target: str | None
    """The name of a built-in model, or FILE.py."""
    protocol: str | None
    """The name of the protocol; None if the command line names none."""
    settings: tuple[str, ...] = ()
    """The values of `--set`, each as NAME=VALUE."""
    switches: tuple[str, ...] = ()
    """The values of `--switch`, each as NAME=VALUE."""
    swaps: tuple[str, ...] = ()
    """The values of `--swap`, each as ACTION=PROTOCOL."""
    rest: tuple[str, ...] = ()
    """The remaining words of the command line, which may be options of the model."""


class Parser(argparse.ArgumentParser):
    """A parser that raises UsageError instead of printing and ending the process."""

    def __init__(self, *, add_help: bool = True, **more: Any) -> None:
        super().__init__(add_help=add_help, formatter_class=argparse.RawDescriptionHelpFormatter, **more)
        self.subcommands: Any = None
        if add_help:
            self.add_argument("--version", action=_ShowVersion, nargs=0, help="print the version and exit")

    def add_options(self, options: Iterable[Option]) -> None:
        """Add options and arguments, each below its heading."""
        groups: dict[str, argparse._ActionsContainer] = {"": self}
        exclusive: dict[str, argparse._ActionsContainer] = {}
        for option in options:
            if option.group not in groups:
                groups[option.group] = self.add_argument_group(option.group)
            place = groups[option.group]
            if option.excludes and option.excludes not in exclusive:
                exclusive[option.excludes] = place.add_mutually_exclusive_group()
            action = option.add_to(exclusive.get(option.excludes, place))
            if option is MODEL:
                vars(action)["models"] = _ModelNames()

    def error(self, message: str) -> NoReturn:
        """Raise UsageError with the message and a reference to `--help`."""
        raise UsageError(f"{message}; see {self.prog} --help")

    def _print_message(self, message: str, _file: Any = None) -> None:
        print_lines([message.removesuffix("\n")])

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        try:
            super()._check_value(action, value)
        except argparse.ArgumentError as error:
            close = alike(str(value), map(str, action.choices or ()))
            if close is None:
                raise
            raise UsageError(f"{error}; did you mean {close}?") from None

    def add_subparsers(self, **more: Any) -> Any:
        """Add the subcommands, and keep their parsers by name."""
        self.subcommands = super().add_subparsers(parser_class=Parser, **more)
        return self.subcommands

    def declared(self) -> list[argparse.Action]:
        """The declared options and arguments, as argparse actions."""
        return self._actions

    def options(self) -> list[str]:
        """The declared options as typed, such as `--bound`."""
        return [option for action in self.declared() for option in action.option_strings]

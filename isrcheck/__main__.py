"""The command `isrcheck`: the commands check, trace, conform and forms of them under one name; and shell completion.

In:  the words of the command line.
Out: the output of the named command, and its exit code.
"""

from __future__ import annotations

import importlib
import sys

from isrcheck.models.start import run

TYPE_CHECKING = False  # typing takes a while to import, and a command that is named does without it
if TYPE_CHECKING:
    from collections.abc import Callable

    from isrcheck.models.command_line import Parser

COMMANDS = {
    "check": ("isrcheck.checker", "search a model for violated promises, such as a lost acknowledged record"),
    "trace": ("isrcheck.traces", "show the traces that check has found"),
    "conform": ("isrcheck.conformance", "compare the behaviour of a system with the model"),
}
"""The name of each command, with its package and its help text."""

FORMS = {
    "doctor": ("check", "can a Kafka cluster with these settings lose a record, and what to change?"),
    "atlas": ("check", "the recorded answers for every combination of Kafka's settings, as pages"),
    "report": ("conform", "a known failure as a folder from which an issue of Kafka can be filed"),
}
"""Forms of a command that are named without it: the command, and the help text."""

SHELLS = ("bash", "zsh", "fish")

EXAMPLES = """\
examples:
  isrcheck doctor server.properties topics.txt --kafka-version 3.9
  isrcheck check kafka --protocol 0.10 --bound 6
  isrcheck trace show counterexamples/latest
  isrcheck conform run --steps 200
  isrcheck atlas -o atlas
  isrcheck report 8.24 -o report

completion in a shell:
  eval "$(isrcheck completion bash)"    in ~/.bashrc; zsh likewise, in ~/.zshrc
  isrcheck completion fish | source     in ~/.config/fish/config.fish"""

MODELS = {
    "bash": """\
_isrcheck_models() {
  compgen -W "%(words)s" -- "$1"
  compgen -f -X '!*.py' -- "$1"
  compgen -d -S / -- "$1"
}""",
    "zsh": """\
_isrcheck_models() {
  _alternative 'models:model:(%(words)s)' 'files:file:_files -g "*.py"'
}""",
    "fish": """\
function _isrcheck_models
  string split ' ' '%(words)s'
  __fish_complete_suffix .py
end""",
}
"""Shell functions that complete the name of a model, or a file in the modelling language."""


def main() -> int:
    """Run `isrcheck` and return its exit code."""
    name = sys.argv[1] if len(sys.argv) > 1 else ""
    if name in FORMS:
        name = FORMS[name][0]
    elif name in COMMANDS:
        del sys.argv[1]
    else:
        return run("isrcheck", lambda _began: _run)
    command: Callable[[], int] = importlib.import_module(f"{COMMANDS[name][0]}.__main__").main
    return command()


def _run() -> int:
    """Run `isrcheck` itself: its help, the examples and the completion. Return the exit code."""
    from isrcheck.models.messages import UsageError, escaped

    try:
        arguments = _parser().parse_args()
        print("\n".join(_copied(arguments.folder)) if "folder" in arguments else _completion(arguments.shell))
    except SystemExit as end:  # --help
        return int(end.code or 0)
    except UsageError as error:
        print(f"isrcheck: {escaped(str(error))}", file=sys.stderr)
        return 2
    return 0


def _parser() -> Parser:
    import argparse

    from isrcheck.models.command_line import Parser

    parser = Parser(
        prog="isrcheck",
        description="A model checker for Kafka-style replication.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    commands = parser.add_subparsers(metavar="COMMAND", required=True)
    for name, (_, what) in COMMANDS.items():
        commands.add_parser(name, help=what)
    for name, (_, what) in FORMS.items():
        commands.add_parser(name, help=what)
    examples = commands.add_parser("examples", help="copy the examples and the recordings of Kafka into a folder")
    examples.add_argument(
        "folder", metavar="DIR", help="the folder, created if it does not exist; no file is overwritten"
    )
    completion = commands.add_parser("completion", help="print the script for shell completion")
    completion.add_argument("shell", choices=SHELLS)
    return parser


def _copied(folder: str) -> list[str]:
    """Copy the examples into a folder and return the paths of the files."""
    from isrcheck.examples import copy_to
    from isrcheck.models.messages import escaped

    return [escaped(str(path)) for path in copy_to(folder)]


def _completion(shell: str) -> str:
    """The completion script of `shell` (one of SHELLS) for `isrcheck` and the three commands."""
    import shtab

    parsers = {name: _command_parser(package) for name, (package, _) in COMMANDS.items()}
    whole = _parser()
    forms = {name: _command_parser(COMMANDS[command][0], name) for name, (command, _) in FORMS.items()}
    whole.subcommands.choices.update(parsers | forms)
    preamble = MODELS[shell] % {"words": " ".join(_first_words())}
    scripts = [shtab.complete(whole, shell, preamble=preamble)]
    scripts += [shtab.complete(parser, shell) for parser in parsers.values()]
    return "\n".join(scripts)


def _command_parser(package: str, form: str = "") -> Parser:
    """The parser of a command, or of one of its forms; each option knows the values with which a shell completes it."""
    import shtab

    parser: Parser = importlib.import_module(f"{package}.cli").parser(*filter(None, [form]))
    if form and parser.subcommands:
        parser = parser.subcommands.choices[form]
    for one in (parser, *(parser.subcommands.choices.values() if parser.subcommands else ())):
        for action in one.declared():
            kind = (action.metavar or "").partition(".")[0] if isinstance(action.metavar, str) else ""
            if kind in ("FILE", "LOG", "A", "B", "OUT"):
                action.complete = shtab.FILE
            elif kind == "DIR":
                action.complete = shtab.DIRECTORY
            elif kind == "MODEL":
                action.complete = dict.fromkeys(SHELLS, "_isrcheck_models") | {"fish": "(_isrcheck_models)"}
    return parser


def _first_words() -> list[str]:
    """The words that can stand first after `check`: forms of the command, and models."""
    from isrcheck.checker.cli import forms
    from isrcheck.models import registry

    return [form.word for form in forms() if form.word] + registry.names()


if __name__ == "__main__":
    sys.exit(main())

"""`isrcheck completion`: prints the script with which a shell completes `isrcheck` and its commands."""

from __future__ import annotations

import argparse
import importlib

from isrcheck.__main__ import COMMANDS, FORMS
from isrcheck.cli import COMMAND
from isrcheck.commands.declarations import Option, Parser
from isrcheck.commands.exit_codes import DONE
from isrcheck.commands.program import print_lines

SHELLS = ("bash", "zsh", "fish")

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
"""For each shell, a function of the shell that completes the name of a model, or a file in the modelling language."""

OPTIONS = (Option("SHELL", "", choices=SHELLS),)


def run(arguments: argparse.Namespace) -> int:
    """Print the completion script of the shell that the command line names; return the exit code."""
    print_lines([script(arguments.shell)])
    return DONE


def script(shell: str) -> str:
    """Return the completion script of `shell` (one of SHELLS) for `isrcheck` and the three commands."""
    import shtab

    from isrcheck.checker.cli import forms
    from isrcheck.models import registry

    parsers = {name: _command_parser(name) for name in COMMANDS}
    whole = COMMAND.parser()
    form_parsers = {name: _command_parser(command, name) for name, (command, _) in FORMS.items()}
    whole.subcommands.choices.update(parsers | form_parsers)
    first_words = [form.word for form in forms() if form.word] + registry.names()  # after `check`
    preamble = MODELS[shell] % {"words": " ".join(first_words)}
    scripts = [shtab.complete(whole, shell, preamble=preamble)]
    scripts += [shtab.complete(parser, shell) for parser in parsers.values()]
    return "\n".join(scripts)


def _command_parser(name: str, form: str = "") -> Parser:
    """Return the parser of the command `name` or its `form`, with shtab's completion of files, folders and models."""
    import shtab

    command = importlib.import_module(f"{COMMANDS[name][0]}.cli")
    parser: Parser = command.parser(form) if name == "check" else command.COMMAND.parser()
    if form and parser.subcommands:
        parser = parser.subcommands.choices[form]
    for each in (parser, *(parser.subcommands.choices.values() if parser.subcommands else ())):
        for action in each.declared():
            kind = (action.metavar or "").partition(".")[0] if isinstance(action.metavar, str) else ""
            if kind in ("FILE", "LOG", "A", "B", "OUT"):
                action.complete = shtab.FILE
            elif kind == "DIR":
                action.complete = shtab.DIRECTORY
            elif kind == "MODEL":
                action.complete = dict.fromkeys(SHELLS, "_isrcheck_models") | {"fish": "(_isrcheck_models)"}
    return parser

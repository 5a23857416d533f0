"""Reads the command line of `check`.

In:  the command-line arguments, and the forms of the command.
Out: an `Options`, and the instance of a model that the remaining arguments configure.

Each configuration entry of a model is an option, so the arguments are read a second time when the model is known.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import fields, replace
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

from isrcheck.checker.command import check_options as declared
from isrcheck.checker.command.disk_options import read_disk_options
from isrcheck.checker.command.form import Form, Options
from isrcheck.checker.command.option import Option
from isrcheck.checker.command.spark_options import read_spark_options
from isrcheck.checker.kafka_settings.keys import Role
from isrcheck.models import registry
from isrcheck.models.command_line import Parser, alike
from isrcheck.models.messages import UsageError

if TYPE_CHECKING:
    from isrcheck.models.language.model import Instance, Model

DESCRIPTION = "Can this protocol, under this configuration, lose or diverge a record that somebody was promised?"

ENTRIES = (
    "Every configuration entry of a model is an option: --replicas 3, --acks all, or --set NAME=VALUE;"
    " --switch NAME=on|off."
)

EXIT_CODES = """\
exit codes: 0 nothing promised is broken; 12 violated; 11 deadlock;
13 a state is stuck, or what must happen never does;
10 an expected figure or counterexample was not found; 3 undecided; 2 bad input; 130 interrupted"""


def parser_of(forms: Sequence[Form], more: Sequence[Option] = (), word: str = "") -> Parser:
    """Return the parser of `check`. `more` are options that optional packages add. `word` selects a form: the parser
    then has only the options that this form accepts, and is used for its help."""
    form = next((form for form in forms if form.word == word), None) if word else None
    shown = [form] if form else forms
    usage = [line for one in shown for line in one.usage]
    examples = form.examples if form else [one.examples[0] for one in forms if one.examples][:3]
    parser = Parser(
        prog="check",
        usage="\n".join(f"{line:<43} {what}" for line, what in usage),
        epilog="\n".join(("examples:", *(f"  {one}" for one in examples), "", ENTRIES, EXIT_CODES)),
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
        description=DESCRIPTION,
    )
    if form is not None and form.files:
        parser.add_argument("target", nargs="*", metavar="FILE", help=form.files)
    else:
        parser.add_model()
    groups: dict[str, argparse._ActionsContainer] = {"": parser}
    for option in _options(forms, more):
        if form is None or not form.refusal_of(option):
            if option.group not in groups:
                groups[option.group] = parser.add_argument_group(option.group)
            option.add_to(groups[option.group])
    return parser


def _options(forms: Sequence[Form], more: Sequence[Option]) -> list[Option]:
    own: dict[str, Option] = {}
    for option in (option for form in forms for option in form.options):
        other = own.get(option.name)
        own[option.name] = option if other is None else _shared(other, option)
    return [*declared.OPTIONS, *own.values(), *more]


def _shared(one: Option, other: Option) -> Option:
    """An option that two forms declare, each with a meaning and a reader of its own (such as -o)."""
    return replace(one, forms=one.forms | other.forms, help=f"{one.help}; {other.help}")


def read_options(words: Sequence[str], forms: Sequence[Form], more: Sequence[Option] = ()) -> Options:
    """Read the command line. Raises UsageError."""
    typed = ("check", *words)
    asked = next((form for form in forms if form.word and list(words[:1]) == [form.word]), None)
    if asked is not None:
        words = words[1:]
    if asked is not None and not {"-h", "--help"}.isdisjoint(words):
        parser_of(forms, more, asked.word).parse_known_args(words)
    parser = parser_of(forms, more)
    known, rest = parser.parse_known_args(words)
    taken = [pair for pair in pairwise(words) if pair[1] == known.target and pair[0] in rest and pair[0][:2] == "--"]
    if taken or known.target in (None, "published"):
        accepted = parser if asked is None else parser_of(forms, more, asked.word)
        model = "published" if known.target == "published" else "kafka"
        _refuse_misspelt(rest, accepted.options(), None if asked is not None and not asked.takes_model else model)
    if asked is not None and asked.usual_target is not None and (taken or known.target is None):
        known, rest = parser.parse_known_args([asked.usual_target, *words])
    elif taken:
        option, value = taken[0]
        form = asked or _form_of(forms, known)
        if form.name in (declared.CONFIG, declared.DESCRIBE) or (asked is not None and form.rest):
            raise UsageError(form.rest.format(option=option, form=form.name))
        raise UsageError(f"{option} {value}: name the model first, as in: check kafka {option} {value}")
    options = _options(forms, more)
    form = asked or _form_of(forms, known)
    for one in forms:
        if one.word and one.word in (known.target, *rest):
            raise UsageError(f"{one.word} must be the first argument, as in: {one.as_in}")
    _refuse_other_options(form, options, known, rest)
    _refuse_misspelt_form(known.target, forms)
    spark, on_disk = read_spark_options(known), read_disk_options(known)
    mine = {option.name: option for option in form.options}
    values = {option.field: mine.get(option.name, option).value(known) for option in options}
    common = {field.name: values.pop(field.name) for field in fields(Options) if field.name in values}
    found = Options(
        words=typed,
        form=form,
        target=known.target,
        rest=tuple(rest),
        own=values,
        reserved=tuple(word for word in parser.options() if word.startswith("--")),
        spark=spark,
        on_disk=on_disk,
        **common,
    )
    form.refuse(found)
    return found


def _refuse_misspelt(rest: Sequence[str], accepted: Sequence[str], model: str | None) -> None:
    """Raise UsageError for an unknown option that resembles an option that the form accepts, or one of `model`.

    If the command names a model, the misspelling is found later, when the model's options are read.
    """
    if not any(word.startswith("--") for word in rest):
        return
    entries = {} if model is None else registry.load(model)[0].entries
    own = [entry.option for entry in entries.values() if entry.option is not None]
    for word in rest:
        close = alike(word, [*accepted, *own]) if word.startswith("--") else None
        if close is not None and close != word.partition("=")[0]:
            raise UsageError(f"there is no option {word.partition('=')[0]}; did you mean {close}?")


def _refuse_misspelt_form(target: str | None, forms: Sequence[Form]) -> None:
    """Raise UsageError for a target that is no model and no file, and resembles the word of a form."""
    close = alike(target, [form.word for form in forms if form.word]) if target is not None else None
    if target is None or close is None or target.endswith(".py") or Path(target).exists() or target in registry.names():
        return
    raise UsageError(f"there is no model and no form {target} of check; did you mean {close}?")


def _form_of(forms: Sequence[Form], known: argparse.Namespace) -> Form:
    """Return the form of a command whose first argument does not select a form."""
    if any(getattr(known, role.value) for role in Role) or known.config:
        name = declared.CONFIG
    elif known.describe:
        name = declared.DESCRIBE
    elif known.target is None:
        name = declared.MATRIX
    elif known.target == "published" and known.protocol is None:
        name = declared.PUBLISHED
    elif known.target == "examples/tla":
        name = declared.EXAMPLES
    else:
        name = declared.MODEL
    return next(form for form in forms if form.name == name)


def _refuse_other_options(
    form: Form, options: Sequence[Option], known: argparse.Namespace, rest: Sequence[str]
) -> None:
    """Raise UsageError for an option or argument that the form does not accept."""
    for option in options:
        message = form.refusal_of(option) if option.is_given(known) else ""
        if message:
            value = option.spelled(known).partition(" ")[2]
            raise UsageError(
                message.format(option=option.name, typed=option.spelled(known), value=value, form=form.name)
            )
    if form.rest and rest:
        raise UsageError(form.rest.format(option=" ".join(rest), form=form.name))


def instance_of(options: Options) -> Instance:
    """Return the instance of the model that the options name and configure. Raises UsageError."""
    from isrcheck.models import settings

    return settings.instance_of(options, settings.Command("check", options.reserved))


def values_of(model: Model, options: Options) -> dict[str, int]:
    """Return the configuration entries that the command line sets, with their values. Raises UsageError."""
    from isrcheck.models import settings

    return settings.values_of(model, options, settings.Command("check", options.reserved))

"""Builds an instance from a command line: a model's name, its protocol, and a value for each of its entries.

The parsed arguments (`ModelArguments`) of a command become an `Instance`; conversely, an instance becomes the words of
a command line that configure it. An entry of a model's configuration has its own option (`--replicas 3`), or is set by
name (`--set NAME=VALUE`, `--switch NAME=on`).
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Mapping
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

from isrcheck.commands.declarations import ModelArguments, Parser, alike
from isrcheck.models import registry
from isrcheck.models.language.model import Instance, Model, parse, spell
from isrcheck.models.messages import UsageError, nearest


def model_of(arguments: ModelArguments) -> tuple[Model, str | None]:
    """Return the model that the command line names, which is built in or in a FILE.py; and the protocol that the
    model's name contains, as in published/kip_101, or None. Raises UsageError if there is no such model."""
    assert arguments.target is not None
    if arguments.target.endswith(".py"):
        # What the file prints while it is loaded is not part of the command's output.
        with redirect_stdout(sys.stderr):
            return registry.load_file(Path(arguments.target)), None
    return registry.load(arguments.target)


def instance_of(arguments: ModelArguments) -> Instance:
    """Return the model with its protocol, configuration and swapped actions. Raises UsageError."""
    model, named = model_of(arguments)
    return model.instance(protocol_of(arguments, named), values_of(model, arguments), swaps_of(arguments))


def protocol_of(arguments: ModelArguments, named: str | None) -> str | None:
    """Return the protocol from `--protocol`, or else `named`, the protocol that the model's name contains, if any.
    Raises UsageError if the two protocols differ."""
    if named is not None and arguments.protocol is not None and named != arguments.protocol:
        what = f"{arguments.target} already fixes the protocol ({named})"
        raise UsageError(f"{what}; leave --protocol {arguments.protocol} out")
    return arguments.protocol or named


def values_of(model: Model, arguments: ModelArguments) -> dict[str, int]:
    """Return the value of every configuration entry that the command line sets. Raises UsageError."""
    values: dict[str, str] = {}
    for name, value in _typed(model, arguments):
        if values.setdefault(name, value) != value:
            raise UsageError(f"{name} is set twice, to {values[name]} and to {value}; keep one of them")
    return {name: parse(name, model.entries[name], value) for name, value in values.items()}


def swaps_of(arguments: ModelArguments) -> dict[str, str]:
    """Return the swapped actions, each with the protocol whose version is used. Raises UsageError."""
    return dict(pair("--swap", text) for text in arguments.swaps)


def pair(option: str, text: str) -> tuple[str, str]:
    """Split the text NAME=VALUE of an option into the name and the value. Raises UsageError for any other text."""
    name, equals, value = text.partition("=")
    if not equals or not name or not value:
        form = "ACTION=PROTOCOL" if option == "--swap" else "NAME=VALUE"
        raise UsageError(f"{option} {text}: not a name with a value; write it as {option} {form}")
    return name.strip(), value.strip()


def entry_of(model: Model, name: str, *, is_switch: bool) -> str:
    """Return the name that the model gives to an entry or a switch. `name` is either this name or Kafka's name
    (`min.insync.replicas`). Raises UsageError if there is no such entry."""
    entry = name if name in model.entries else name.replace(".", "_").replace("-", "_")
    candidates = [key for key, value in model.entries.items() if value.is_switch or not is_switch]
    if entry not in candidates:
        kind = "switch" if is_switch else "configuration entry"
        there = nearest(name, candidates) if candidates else "leave it out"
        raise UsageError(f"{model.name} has no {kind} {name}; {there}")
    return entry


def _typed(model: Model, arguments: ModelArguments) -> Iterator[tuple[str, str]]:
    for name, values in _own_options(model, arguments).items():
        yield from ((name, value) for value in values)
    for kind, texts in (("--set", arguments.settings), ("--switch", arguments.switches)):
        for text in texts:
            name, value = pair(kind, text)
            yield entry_of(model, name, is_switch=kind == "--switch"), value


def _own_options(model: Model, arguments: ModelArguments) -> Mapping[str, list[str]]:
    parser = Parser(prog=arguments.command, allow_abbrev=False, add_help=False)
    taken = dict.fromkeys(arguments.reserved, f"{arguments.command} itself")
    for name, entry in model.entries.items():
        if entry.option is not None:
            if not re.fullmatch(r"--[a-z][a-z0-9-]*", entry.option):
                what = f"{model.path}: the option of {name} is {entry.option!r}"
                raise UsageError(f"{what}; write it as in option='--replicas'")
            if entry.option in taken:
                both = f"{name} and {taken[entry.option]} have the same option {entry.option}"
                raise UsageError(f"{model.path}: {both}; rename the option of {name}")
            taken[entry.option] = name
            parser.add_argument(entry.option, dest=name, action="append")
    values, unknown = parser.parse_known_args(list(arguments.rest))
    if unknown:
        options = [entry.option for entry in model.entries.values() if entry.option]
        name = unknown[0].removeprefix("--").partition("=")[0].replace("-", "_")
        close = alike(unknown[0], [*options, *arguments.reserved])
        there = f"did you mean {close}?" if close else f"there are: {', '.join(options)}" if options else "leave it out"
        if unknown[0].startswith("--") and name in model.entries:
            there = f"write it as --set {name}=VALUE"
        raise UsageError(f"{model.name} has no option {unknown[0]}; {there}")
    typed: dict[str, Any] = vars(values)
    return {name: value for name, value in typed.items() if value is not None}


def words_of_name(target: str, instance: Instance) -> list[str]:
    """Return the words of a command line that name a model and its protocol."""
    is_named = not instance.protocol.name or target.endswith(f"/{instance.protocol.name}")
    return [target] if is_named else [target, "--protocol", instance.protocol.name]


def words_of_values(instance: Instance) -> list[str]:
    """Return the words of a command line that swap actions, and set every value that differs from the default."""
    words = []
    usual = dict(instance.model.instance(instance.protocol.name).configuration.items())
    for name, value in instance.configuration.items():
        if value != usual[name]:
            entry = instance.model.entries[name]
            text, kind = spell(entry, value), "--switch" if entry.is_switch else "--set"
            words += [entry.option, text] if entry.option else [kind, f"{name}={text}"]
    for action, protocol in instance.swaps.items():
        words += ["--swap", f"{action}={protocol}"]
    return words

"""Finds the model or the instance that a caller names by a name, a path or an object.

Protocols and values are spelled as on the command line. Every error is a UsageError.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from enum import IntEnum
from pathlib import Path

from isrcheck.commands.settings import entry_of
from isrcheck.models import registry
from isrcheck.models.language.declarations import Entry
from isrcheck.models.language.model import Instance, Model, parse, spell
from isrcheck.models.messages import UsageError

Named = str | os.PathLike[str] | Model | Instance
"""A reference to a model: its name, the path of its file, the model itself, or one of its instances."""

Value = int | str
"""A value of a configuration entry, as a caller passes it: a number, True or False, or a name such as "all"."""


def load(model: str | os.PathLike[str]) -> Model:
    """Return the model with this name, such as `kafka`, or the model in this file, which is run. Raises UsageError."""
    return _named(model)[0]


def instance_of(model: Named, protocol: str | None, values: Mapping[str, Value], swaps: Mapping[str, str]) -> Instance:
    """Return the instance of a model under a protocol and a configuration. Raises UsageError."""
    if isinstance(model, Instance):
        if protocol is not None or values or swaps:
            raise UsageError("an instance already fixes protocol and configuration; leave them out, or give its model")
        return model
    loaded, named = (model, None) if isinstance(model, Model) else _named(model)
    if named is not None and protocol is not None and named != protocol:
        raise UsageError(f"{model} already fixes the protocol ({named}); leave protocol={protocol!r} out")
    return loaded.instance(protocol or named, values_of(loaded, values), swaps)


def values_of(model: Model, values: Mapping[str, Value]) -> dict[str, int]:
    """Return the value of each entry in `values` as a number; names are the model's or Kafka's. Raises UsageError."""
    numbers: dict[str, int] = {}
    for name, value in values.items():
        entry = entry_of(model, name, is_switch=False)
        if entry in numbers:
            raise UsageError(f"{entry} is set twice; keep one of the values")
        numbers[entry] = parse(entry, model.entries[entry], _spelled(model.entries[entry], value))
    return numbers


def target_of(model: Named) -> str:
    """Return the word by which the command line names a model."""
    if isinstance(model, Instance):
        model = model.model
    if isinstance(model, Model):
        return model.name if registry.is_registered(model) else model.path
    return os.fspath(model)


def _named(model: str | os.PathLike[str]) -> tuple[Model, str | None]:
    name = os.fspath(model)
    return (registry.load_file(Path(name)), None) if name.endswith(".py") else registry.load(name)


def _spelled(entry: Entry, value: Value) -> str:
    if isinstance(value, bool):
        return "on" if value else "off"
    return spell(entry, value) if isinstance(value, IntEnum) else str(value)

"""The configurations of a sweep: every combination of the values in `--vary KEY=V1,V2` options.

In:  `Options` (checker/command/options.py).
Out: a `Sweep`: each combination with its instance of the model, or with the reason why the model refuses it.

A key is an entry or a switch of the model, in the model's spelling or in Kafka's; a Kafka key that the model represents
by another entry (checker/kafka_config/modelled.py); or `protocol`. A value that is invalid by itself is bad input;
a combination of contradictory values becomes a row of the table with the reason.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass
from math import prod

from isrcheck.checker.command.form import Options
from isrcheck.checker.command.options import values_of
from isrcheck.checker.kafka_config.modelled import MODELLED
from isrcheck.checker.kafka_settings.cluster_settings import READERS
from isrcheck.checker.sweep.command import SWEPT
from isrcheck.models.language.model import Instance, Model, parse, refuse_out_of_range, spell
from isrcheck.models.messages import UsageError, nearest
from isrcheck.models.settings import entry_of, model_of, protocol_of, swaps_of

MOST_ROWS = 10_000
"""The most combinations of a sweep, because nobody reads a longer table."""

PROTOCOL = "protocol"

USUAL_PROTOCOL = "2.1"
"""The generation of Kafka whose configurations are searched if no protocol is given: its logs hold two records."""


@dataclass(frozen=True)
class Axis:
    """A varied key as typed, and the entry of the model that the key sets (None: the protocol).

    `values` maps the text of each value to its number in the model, or to the name of the protocol.
    """

    key: str
    entry: str | None
    values: Mapping[str, int | str]


@dataclass(frozen=True)
class Combination:
    """One combination of values (their texts by key), with its instance, or with the reason for its refusal."""

    varied: Mapping[str, str]
    instance: Instance | None
    refusal: str = ""

    @property
    def name(self) -> str:
        """The varied values as one line."""
        return ", ".join(f"{key}={value}" for key, value in self.varied.items())


@dataclass(frozen=True)
class Sweep:
    """A model, its varied keys, and every combination of their values; the last key changes fastest."""

    target: str
    model: Model
    axes: tuple[Axis, ...]
    rows: tuple[Combination, ...]

    @property
    def instances(self) -> list[Instance]:
        """The instances of the combinations that the model accepts."""
        return [row.instance for row in self.rows if row.instance is not None]


def read_sweep(options: Options) -> Sweep:
    """Read the keys and values of `--vary`, and build every combination. Raises UsageError."""
    assert options.target is not None
    model, named = model_of(options)
    given, swaps = values_of(model, options), swaps_of(options)
    axes = tuple(_axis(model, text) for text in options.own["vary"])
    protocol = protocol_of(options, named)
    _refuse_twice(axes, given, protocol)
    count = prod(len(axis.values) for axis in axes)
    if count > MOST_ROWS:
        raise UsageError(f"--vary gives {count:,} combinations, more than {MOST_ROWS:,}; give fewer values")
    if protocol is None and model.name == SWEPT:
        protocol = USUAL_PROTOCOL
    rows = []
    for values in itertools.product(*(axis.values for axis in axes)):
        varied = {axis.key: value for axis, value in zip(axes, values, strict=True)}
        chosen = {axis.entry: axis.values[varied[axis.key]] for axis in axes}
        one_protocol = chosen.pop(None, protocol)
        numbers = {entry: int(number) for entry, number in chosen.items() if entry is not None}
        try:
            instance = model.instance(None if one_protocol is None else str(one_protocol), given | numbers, swaps)
            rows.append(Combination(varied, instance))
        except UsageError as error:
            rows.append(Combination(varied, None, str(error)))
    if all(row.instance is None for row in rows):
        raise UsageError(refused_throughout(rows[0].refusal))
    return Sweep(options.target, model, axes, tuple(rows))


def refused_throughout(why: str) -> str:
    """Return the message if no combination can be searched; `why` is the reason for the first combination."""
    return f"no combination of a sweep can be searched: {why}"


def _axis(model: Model, text: str) -> Axis:
    key, equals, listed = (part.strip() for part in text.partition("="))
    given = [value.strip() for value in listed.split(",")]
    if not equals or not key or not all(given):
        raise UsageError(f"--vary {text}: write it as --vary KEY=VALUE,VALUE,...")
    entry = _entry(model, key)
    values: dict[str, int | str] = {}
    for one in given:
        shown, value = _value(model, key, entry, one)
        same = next((other for other, known in values.items() if known == value), None)
        if same is not None:
            again = f"{one} is given twice" if same == shown else f"{same} and {one} mean the same to the model"
            raise UsageError(f"--vary {text}: {again}; keep one of them")
        values[shown] = value
    return Axis(key, entry, values)


def _entry(model: Model, key: str) -> str | None:
    """Return the model's entry that a key sets; None for the protocol. Raises UsageError."""
    if key == PROTOCOL:
        return None
    if _is_of_kafka(model, key):
        return MODELLED[key][0]
    try:
        return entry_of(model, key, is_switch=False)
    except UsageError:
        keys = [*model.entries, *(MODELLED if model.name == SWEPT else ()), PROTOCOL]
        raise UsageError(f"--vary {key}: {model.name} has no such entry; {nearest(key, keys)}") from None


def _is_of_kafka(model: Model, key: str) -> bool:
    return model.name == SWEPT and key in MODELLED


def _value(model: Model, key: str, entry: str | None, text: str) -> tuple[str, int | str]:
    """Return the text of a value for the table, and the value in the model. Raises UsageError."""
    if entry is None:
        return text, model.protocol(text).name
    declared = model.entries[entry]
    if _is_of_kafka(model, key):
        try:
            value = MODELLED[key][1](READERS[key](text))
        except ValueError as error:
            raise UsageError(f"--vary {key}: {error}") from None
        refuse_out_of_range(entry, declared, value)
        return text.lower(), value
    value = parse(entry, declared, text)
    refuse_out_of_range(entry, declared, value)
    return spell(declared, value), value


def _refuse_twice(axes: tuple[Axis, ...], given: Mapping[str, int], protocol: str | None) -> None:
    seen: dict[str | None, str] = {}
    for axis in axes:
        if axis.entry in seen:
            other = seen[axis.entry]
            twice = f"{axis.key} twice" if other == axis.key else f"{other} and {axis.key}, which mean the same"
            raise UsageError(f"--vary is given for {twice}; write all values in one --vary")
        seen[axis.entry] = axis.key
        if axis.entry in given or (axis.entry is None and protocol is not None):
            raise UsageError(f"{axis.key} is in --vary, and another option sets it; leave out one of them")

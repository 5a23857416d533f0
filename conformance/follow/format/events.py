"""The format of event logs, version 1: one JSON object per line (NDJSON); a run is a header and a line per event.

`Writer` writes a log, and can omit a share of it at random; `read_log` reads a log, and finds the steps of the model
that each event may record. The first invalid line raises UsageError, `FILE:LINE: what; cure`.

A header (`Header`) identifies the run and its model, so that a log can be followed without further information:

    {"schema": 1, "run": "7.1", "seed": 7, "protocol": "2.1", "switches": {"EXPAND_EPOCH_START": "off"},
     "configuration": {"replicas": 3, "records": 12, "acks": "all", ...}, "state": {"controller_isr": [true, ...]}}

An event (`Event`) says what happened, where, and what was observed afterwards:

    {"run": "7.1", "number": 3, "broker": 0, "action": "leader_handles_fetch",
     "arguments": {"leader": 0, "follower": 2}, "state": {"high_watermark[0]": 1, "fetch[2][0]": "PARKED"}}

In `state`, a key is a variable of the model, with all or only the first of its indices: `controller_epoch`,
`high_watermark[1]`, `log_record[1]`. A value is a number, true or false, the name of an enumeration's member
("PARKED"), or null for none. If the key lacks indices, the value is a list, nested by the missing indices.
Offsets beyond a log's end hold null; records are numbered in the order in which they reached a broker. Variables
without a key were not observed.

Every line may have a `note`, a text that no program reads. Other keys than these are refused, because they may be
mistyped. A log can hold several runs, one after the other; the lines of a run stand together.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cache
from pathlib import Path
from random import Random
from typing import Any, TextIO

from isrcheck.conformance.follow.format.ndjson import UnreadableError, bad_line, get, kind_of, objects_of, only
from isrcheck.conformance.follow.format.variables import Observed, Value, Variables
from isrcheck.models import registry
from isrcheck.models.kafka.state.values import Start
from isrcheck.models.language.declarations import Entry
from isrcheck.models.language.model import ArgumentRange, Instance, Step, parse
from isrcheck.models.messages import UsageError, nearest

SCHEMA = 1

MODELS = ("kafka", "transactions")
"""The models whose runs are recorded; a header that names no model is about the first."""

ACTORS = {
    "leader": "leader",
    "follower": "follower",
    "response": "follower",
    "broker": "broker",
    "producer": "leader",
    "answer": "leader",
    "late": "leader",
    "leader_asks_to_shut_down": "broker",
    "last_leader_asks_to_shut_down": "broker",
    "broker_crashes_while_it_fetches": "follower",
    "broker_loses_disk_while_it_fetches": "follower",
}
"""Maps an action's name, or its first word, to its parameter that names the acting broker."""


@dataclass(frozen=True)
class Header:
    """The first line of a run, with the model and its configuration; the key `schema`, always 1, is not a field."""

    run: str
    """The name of the run, which every line of the run repeats; runs in one file have different names."""

    seed: int | None
    """The seed that reproduces the run; optional."""

    model: str
    """"kafka", which is also meant if a header names no model, or "transactions"."""

    protocol: str
    """A generation of the model."""

    switches: Mapping[str, str] = field(default_factory=dict)
    """The switches that differ from the protocol, spelled as on the command line."""

    configuration: Mapping[str, int | str] = field(default_factory=dict)
    """The model's other entries by name, including bounds and budgets: numbers, or names such as "all".

    Absent entries have the model's default. The bounds have to suffice for the run: an event beyond them is refused.
    """

    state: Mapping[str, Value] = field(default_factory=dict)
    """The observed part of the initial state; optional. The initial state of kafka is an elected cluster."""

    note: str = ""


@dataclass(frozen=True)
class Event:
    """A line about one event of a run: the action, its arguments, and the variables observed after it."""

    run: str

    number: int
    """1, 2, 3, ... without gaps if nothing is missing. A gap means that this many events were lost."""

    broker: int | None
    """The acting broker; null for events of the controller, of a client or of transactions, and if it is unknown."""

    action: str | None
    """The name of an action of the model; null if it is unknown (if `broker` is given, an action of that broker)."""

    arguments: Mapping[str, int | list[int] | None] = field(default_factory=dict)
    """By the action's own names: numbers counted from 0 (brokers, offsets, epochs, records), or a list of them for a
    set. An argument that is absent or null is unknown; all its possible values are tried.
    """

    state: Mapping[str, Value] = field(default_factory=dict)
    """Variables of the model as observed after the event."""

    note: str = ""

    def __str__(self) -> str:
        arguments = [f"{name}={value}" for name, value in self.arguments.items()]
        where = "" if self.broker is None else f" at broker {self.broker}"
        return f"event {self.number}{where}: {' '.join([self.action or 'something', *arguments])}"


def actor_of(action: str) -> str | None:
    """The name of the parameter of `action` that holds the acting broker; None if the controller or a client acts."""
    return ACTORS.get(action) or ACTORS.get(action.partition("_")[0])


ABSENT = {"seed": None, "model": MODELS[0], "note": ""}
"""The values for which a line has no key."""


def line_of(line: Header | Event) -> str:
    """A header or an event, spelled as a line of a log, with its newline."""
    items = {"schema": SCHEMA, **vars(line)} if isinstance(line, Header) else vars(line)
    return json.dumps({key: value for key, value in items.items() if ABSENT.get(key, ...) != value}) + "\n"


@dataclass(frozen=True)
class LeftOut:
    """The shares of events (`missing`), variables (`unseen`) and arguments (`untold`) that a log randomly omits."""

    seed: int
    missing: float = 0.0
    unseen: float = 0.0
    untold: float = 0.0

    def __post_init__(self) -> None:
        """Check the shares. Raises UsageError."""
        for name in ("missing", "unseen", "untold"):
            if not 0 <= getattr(self, name) <= 1:
                raise UsageError(f"{name}={getattr(self, name)}: a share is between 0 and 1")


class Writer:
    """Writes a log line by line. `lines` and `runs` count what was written; `events` counts the omitted events, too.

    `name` is the name of the log in error messages.
    """

    def __init__(self, left_out: LeftOut, stream: TextIO, name: str) -> None:
        self._left_out = left_out
        self._stream = stream
        self._name = name
        self._random = Random(f"what is left out of {left_out.seed}")
        self.lines = self.runs = self.events = 0

    def begin(self, header: Header) -> None:
        """Write the header of a run, which is never left out. Raises UsageError if the write fails."""
        self.runs += 1
        self._write(line_of(header))

    def write(self, event: Event) -> None:
        """Count an event, and write it unless it is left out at random; some of its arguments and variables may be left
        out, too. Raises UsageError if the write fails."""
        self.events += 1
        shares = self._left_out
        if self._random.random() >= shares.missing:
            arguments = {
                name: value for name, value in event.arguments.items() if self._random.random() >= shares.untold
            }
            state = {key: value for key, value in event.state.items() if self._random.random() >= shares.unseen}
            self._write(line_of(replace(event, arguments=arguments, state=state)))

    def close(self) -> None:
        """Write the lines that are still buffered, when the log is complete. Raises UsageError if the write fails."""
        self._write("")

    def _write(self, line: str) -> None:
        try:
            self._stream.write(line)
            if not line:
                self._stream.flush()
        except OSError as error:
            raise UsageError(
                f"{self._name}:{self.lines + 1}: cannot be written: {error.strerror or error};"
                " free some space, or write elsewhere"
            ) from None
        self.lines += bool(line)


HEADER_KEYS = {"schema", *(key.name for key in fields(Header))}
EVENT_KEYS = {key.name for key in fields(Event)}


@dataclass(frozen=True)
class RunStart:
    """The start of a run: its header, the instance of the model, and the observation of the initial state."""

    line: int
    header: Header
    instance: Instance
    variables: Variables
    observed: Observed


@dataclass(frozen=True)
class RunEvent:
    """An event; the steps (actions with arguments) that it may record; the values observed after it; and how many
    events the log omits between the run's previous event and this one."""

    line: int
    event: Event
    steps: Sequence[Step]
    observed: Observed
    missing: int


def read_log(
    path: Path,
    protocol: str | None = None,
    values: Mapping[str, int] | None = None,
    content: bytes | None = None,
    model: str | None = None,
) -> Iterator[RunStart | RunEvent]:
    """Read the log in a file, or in `content` if given: yield the start and the events of each run. If `model`,
    `protocol` or `values` are given, a run with a different model, protocol or configuration is refused.

    Raises UsageError for a file that cannot be read, and for the first line that does not have this format.
    """
    runs: set[str] = set()
    run: _Run | None = None
    for number, keys in objects_of(path, content):
        try:
            if "schema" in keys or run is None:
                began = _began(number, keys)
                if began.header.run in runs:
                    raise UnreadableError(f"run {began.header.run} occurs twice; give every run its own name")
                _expect(began, model, protocol, values or {})
                runs.add(began.header.run)
                run = _Run(began)
                yield began
            else:
                yield run.happened(number, keys)
        except UnreadableError as error:
            raise bad_line(path, number, error) from None


# -------------------------------------------------------------------------------------------------------- the header


def _began(line: int, keys: Mapping[str, Any]) -> RunStart:
    if "schema" not in keys:
        raise UnreadableError('the line is no header, because "schema" is missing; begin each run with its header')
    schema = get(keys, "schema", int)
    if schema != SCHEMA:
        raise UnreadableError(f"schema {_short(schema)} is unknown; only schema {SCHEMA} can be read")
    only(keys, HEADER_KEYS)
    header = Header(
        run=get(keys, "run", str),
        protocol=get(keys, "protocol", str),
        configuration=get(keys, "configuration", dict, absent={}),
        switches=get(keys, "switches", dict, absent={}),
        state=get(keys, "state", dict, absent={}),
        seed=get(keys, "seed", int) if "seed" in keys else None,
        note=get(keys, "note", str, absent=""),
        model=get(keys, "model", str, absent=MODELS[0]),
    )
    if not header.run:
        raise UnreadableError("the run has no name; give it one")
    instance = _instance_of(header)
    variables = Variables(instance)
    return RunStart(line, header, instance, variables, variables.read(header.state))


def _instance_of(header: Header) -> Instance:
    if header.model not in MODELS:
        raise UnreadableError(f"runs of {header.model[:60]} cannot be followed; {nearest(header.model[:60], MODELS)}")
    model = registry.load(header.model)[0]
    held = [name for name, declared in model.fields.items() if declared.contents is not None]
    if held:
        raise UnreadableError(f"{model.name} has sets or queues, which cannot be followed: {', '.join(held)}")
    values: dict[str, int] = {}
    try:
        for entries, is_switch in ((header.configuration, False), (header.switches, True)):
            names = [name for name in model.entries if name.isupper() == is_switch]
            for name, value in entries.items():
                if name not in names:
                    kind = "switch" if is_switch else "configuration entry"
                    raise UnreadableError(f"there is no {kind} {name[:60]}; {nearest(name[:60], names)}")
                values[name] = _entry_value(name, model.entries[name], value)
        instance = model.instance(header.protocol, values)
        if model.name == "kafka" and instance.configuration.start != Start.ELECTED:
            raise UnreadableError(
                '"start" accepts only "elected"; for any other initial state, leave "start" out'
                ' and give the state in "state"'
            )
        if not (instance.cells and instance.first_steps):  # both raise if the bounds are too large
            raise AssertionError("a model has a state and steps")
    except UsageError as error:
        raise UnreadableError(str(error)) from None
    return instance


def _entry_value(name: str, entry: Entry, value: object) -> int:
    is_named = entry.values is not None
    if type(value) is not (str if is_named else int):
        raise UnreadableError(f'"{name}" is {kind_of(value)}; it has to be {kind_of("" if is_named else 0)}')
    return parse(name, entry, value) if isinstance(value, str) else int(value)


def _expect(began: RunStart, model: str | None, protocol: str | None, values: Mapping[str, int]) -> None:
    """Raise UnreadableError for a log of another model, protocol or configuration than was requested (None: any)."""
    if model not in (None, there := began.header.model):
        raise UnreadableError(f"it is a log of {there}, not of {model}; give --model {there}, with options for it")
    if protocol is not None and began.header.protocol != protocol:
        raise UnreadableError(f"it is a log of protocol {began.header.protocol}, not of {protocol}; omit --protocol")
    for name, value in values.items():
        there = getattr(began.instance.configuration, name)
        if there != value:
            raise UnreadableError(f"it is a log of {name}={there}, not of {name}={value}; omit {name}")


def _short(number: int) -> str:
    return str(number) if abs(number) < 10**12 else "with more than 12 digits"


# -------------------------------------------------------------------------------------------------------- the events


class _Run:
    def __init__(self, began: RunStart) -> None:
        self.name = began.header.run
        self.variables = began.variables
        self.instance = instance = began.instance
        self.action_indices = {action.name: number for number, action in enumerate(instance.model.actions)}
        self.step, self.steps_at = cache(self._step), cache(self._steps_at)
        self.last = 0

    def happened(self, line: int, keys: Mapping[str, Any]) -> RunEvent:
        """The event that a line of the run records, from the line's JSON object (`keys`). Raises UnreadableError."""
        only(keys, EVENT_KEYS)
        run, number = get(keys, "run", str), get(keys, "number", int)
        if run != self.name:
            raise UnreadableError(
                f"the line belongs to run {run[:60]}, but is among the lines of run {self.name};"
                " put the lines of one run together, below their header"
            )
        if number <= self.last:
            raise UnreadableError(
                f"event number {_short(number)} does not follow {self.last}; number the events 1, 2, 3, ... in order"
            )
        event = Event(
            run=run,
            number=number,
            broker=None if keys.get("broker", 0) is None else get(keys, "broker", int),
            action=None if keys.get("action", 0) is None else get(keys, "action", str),
            arguments=get(keys, "arguments", dict, absent={}),
            state=get(keys, "state", dict, absent={}),
        )
        missing, self.last = number - self.last - 1, number
        if event.broker is not None and "replicas" not in self.instance.model.entries:
            raise UnreadableError(f'{self.instance.model.name} has no brokers; set "broker" to null')
        if event.broker is not None and not 0 <= event.broker < self.instance.configuration.replicas:
            raise UnreadableError(
                f"broker {_short(event.broker)} does not exist, because there are"
                f" {self.instance.configuration.replicas}; correct it, or `replicas` in the header"
            )
        return RunEvent(line, event, self._steps(event), self.variables.read(event.state), missing)

    def _steps(self, event: Event) -> Sequence[Step]:
        if event.action is None:
            if event.arguments:
                raise UnreadableError("there are arguments, but no action; leave them out, or name the action")
            return self.instance.steps if event.broker is None else self.steps_at(event.broker)
        if event.action not in self.action_indices:
            raise UnreadableError(
                f"there is no action {event.action[:60]}; {nearest(event.action[:60], self.action_indices)}"
            )
        index = self.action_indices[event.action]
        ranges = self.instance.argument_ranges[index]
        names = [argument.parameter.name for argument in ranges]
        for name in event.arguments:
            if name not in names:
                takes = ", ".join(names) or "nothing"
                raise UnreadableError(f"{event.action} has no argument {name[:60]}; it takes {takes}")
        arguments = dict(event.arguments)
        self._note_actor(event, arguments)
        choices = [_ordinals(argument, arguments.get(argument.parameter.name)) for argument in ranges]
        return [self.step(index, ordinals) for ordinals in itertools.product(*choices)]

    def _steps_at(self, broker: int) -> Sequence[Step]:
        """The model's steps in which `broker` is the acting broker."""

        def actor(step: Step) -> int | None:
            ranges, name = self.instance.argument_ranges[step.action_index], actor_of(step.action)
            ordinals = zip(ranges, step.ordinals, strict=True)
            return next((ordinal for argument, ordinal in ordinals if argument.parameter.name == name), None)

        return [step for step in self.instance.steps if actor(step) == broker]

    def _note_actor(self, event: Event, arguments: dict[str, Any]) -> None:
        """Set the entry of `arguments` for the acting broker to the event's `broker`, if the event has one. Raises
        UnreadableError if that entry names a different broker, or if the action is not performed by a broker."""
        assert event.action is not None
        actor = actor_of(event.action)
        if actor is None and event.broker is not None:
            raise UnreadableError(f'{event.action} is not performed by a broker; set "broker" to null')
        if actor is None or event.broker is None:
            return
        if arguments.get(actor) is None:
            arguments[actor] = event.broker
        elif arguments[actor] != event.broker:
            raise UnreadableError(
                f'"broker" is {event.broker}, but {event.action} is performed by the broker in its argument {actor},'
                f" which is {arguments[actor]}; correct one of them"
            )

    def _step(self, index: int, ordinals: tuple[int, ...]) -> Step:
        return self.instance.step(self.instance.number(self.instance.model.actions[index].name, ordinals))


def _ordinals(argument: ArgumentRange, value: object) -> Iterable[int]:
    """The possible values of an action's argument, as the model's numbers: only `value`, or all of them if it is not
    given (None). The number of a set is its bit mask. Raises UnreadableError if `value` has a wrong type or range."""
    name, elements = argument.parameter.name, argument.elements
    if value is None:
        return range(argument.count)
    members: Sequence[object] = value if argument.is_subset and isinstance(value, list) else [value]
    numbers = [member for member in members if type(member) is int]  # true is not 1
    if argument.is_subset != isinstance(value, list) or len(numbers) < len(members):
        raise UnreadableError(
            f"{name} is {kind_of(value)}; it has to be"
            f" {'a list of numbers' if argument.is_subset else 'a whole number'}"
        )
    for number in numbers:
        if not 0 <= number < elements:
            raise UnreadableError(
                f"{name} {_short(number)} is outside 0..{elements - 1}; correct it, or the configuration in the header"
            )
    if argument.is_subset:
        if len(set(numbers)) < len(numbers):
            raise UnreadableError(f"{name} contains a number twice; give each number once")
        return (sum(1 << number for number in numbers),)
    return numbers

"""A trace: one path of a model, with the verdict on a property and a possible error at its end; and its states as text.

certify.py makes traces from the paths that engines found; files.py reads traces from files. An error is a value or an
index out of range, as plain Python (models/run.py) reports it. A cell of one of Kafka's logs holds a record or the
marker that ends a transaction; markers are numbered after the records, and are not printed as letters.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from math import prod
from pathlib import PurePath
from typing import Any

from isrcheck.models import run
from isrcheck.models.language.declarations import NONE, Kind
from isrcheck.models.language.model import DEADLOCK, IN_RANGE, Instance, Property, Step, spell
from isrcheck.models.language.states import FieldLayout, spell_element
from isrcheck.models.language.states import spell_value as spelled_value
from isrcheck.models.messages import ModelError, UsageError, escaped, nearest
from isrcheck.models.run import Cells, State

VIOLATED = "VIOLATED"
PERMITTED = "PERMITTED"
REACHED = "REACHED"
HOLDS = "HOLDS ON THIS PATH"
NOT_INDUCTIVE = "NOT INDUCTIVE"
"""The property is true in a state that may be unreachable, and the last step violates it."""

VERDICTS = (VIOLATED, PERMITTED, REACHED, HOLDS, NOT_INDUCTIVE)


class FalseTraceError(UsageError):
    """Raised if plain Python (models/run.py) does not confirm a trace. The message says what plain Python finds
    instead. If the trace was read from a file, the file was edited; if an engine made it, the engine is wrong."""


def arguments_of(instance: Instance, step: Step) -> dict[str, Any]:
    """Return the arguments of a step by the names of the action's parameters."""
    ranges = instance.argument_ranges[step.action_index]
    pairs = zip(ranges, step.ordinals, strict=True)
    return {argument.parameter.name: argument.argument(ordinal) for argument, ordinal in pairs}


def spelled_arguments(instance: Instance, step: Step) -> dict[str, str]:
    """Return the arguments of a step as text, by the names of the action's parameters."""
    ranges = instance.argument_ranges[step.action_index]
    pairs = zip(ranges, step.ordinals, strict=True)
    return {argument.parameter.name: argument.spell(ordinal) for argument, ordinal in pairs}


@dataclass(frozen=True, eq=False)
class Trace:
    """A trace: states, the steps between them, and a verdict on a property in the last state or on the last step."""

    instance: Instance
    states: tuple[Cells, ...]
    """State 0 is an initial state of the instance, unless the verdict is NOT_INDUCTIVE."""
    steps: tuple[Step, ...]
    property_name: str | None
    """The name of the property; None for a plain behaviour, which has no verdict either."""
    verdict: str | None
    command: str
    """The command that reproduces the trace."""
    erring: Step | None = None
    """A step from the last state that writes a value or uses an index out of range, so it has no successor; the
    property is then `in_range`."""
    loop: int | None = None
    """Of a lasso, the position of the state that is also its last: the steps between are repeated for ever; without
    steps between, the behaviour stays there."""

    @property
    def every_step(self) -> tuple[Step, ...]:
        """The steps, followed by the step `erring` if there is one."""
        return self.steps if self.erring is None else (*self.steps, self.erring)

    @property
    def length(self) -> int:
        """The number of steps, including the step `erring`."""
        return len(self.every_step)

    @cached_property
    def named_states(self) -> tuple[State, ...]:
        """The states, with their fields as attributes."""
        return tuple(State(self.instance, cells) for cells in self.states)

    @cached_property
    def error(self) -> Error | None:
        """The error at the end of the trace, or None."""
        if self.property_name != IN_RANGE.name:
            return None
        return error_at_end(self.instance, self.states, self.steps, self.erring)

    def state_at(self, position: int) -> Cells:
        """Return the state after step `position`; for the step `erring`, the state before it."""
        return self.states[min(position, len(self.states) - 1)]

    @property
    def prop(self) -> Property | None:
        """The property named `property_name`, or None. Raises UsageError if the model has no such property."""
        return None if self.property_name is None else property_of(self.instance, self.property_name)

    def spell_row(self, position: int) -> str:
        """Return the text of the step that led to a state; for state 0, a description of the initial state."""
        if position:
            return self.instance.spell_step(self.every_step[position - 1])
        return "from this state" if self.verdict == NOT_INDUCTIVE else "initially"

    def spell_position(self, position: int) -> str:
        """Return the text that stands for a state in messages: the step that led to it, with number and arguments."""
        if position == 0:
            return "the initial state"
        return f"step {position} ({self.instance.spell_step(self.every_step[position - 1])})"


def property_of(instance: Instance, name: str) -> Property:
    """Return the property or lemma of this name, or one of the implicit properties `in_range` and `deadlock`.

    Raises UsageError if no property has the name, or if it does not apply to this configuration.
    """
    declared = {prop.name: prop for prop in (*instance.model.properties, *instance.model.lemmas)}
    prop = {**declared, IN_RANGE.name: IN_RANGE, DEADLOCK.name: DEADLOCK}.get(name)
    if prop is None:
        raise UsageError(f"{instance.model.name} has no property {name}; {nearest(name, [*declared])}")
    if prop not in (IN_RANGE, DEADLOCK, *instance.properties, *instance.lemmas):
        raise UsageError(
            f"{name} does not apply to this configuration; change the configuration, or choose a property that applies"
        )
    return prop


def back(trace: Trace) -> str:
    """What follows the last step of a lasso, in words: `stays here for ever`, or `back to step 3`."""
    return "stays here for ever" if trace.loop == trace.length else f"back to step {trace.loop}"


# ------------------------------------------------------------------------------------------- the instance of a trace


def label(instance: Instance) -> str:
    """Return the name of a model and its protocol, as the command line spells it."""
    return "/".join(part for part in (instance.model.name, instance.protocol.name) if part)


def spell_configuration(instance: Instance) -> dict[str, str]:
    """Return the configuration as the command line spells it, in the order of its declaration."""
    return {name: spell(instance.model.entries[name], value) for name, value in instance.configuration.items()}


def heading(instance: Instance) -> str:
    """Return the name of the model, and the entries of its configuration that differ from the defaults."""
    entries = instance.model.entries
    defaults = {name: entry.default for name, entry in entries.items()} | dict(instance.protocol.switches)
    changed = [
        f"{name}={spell(entries[name], value)}"
        for name, value in instance.configuration.items()
        if value != defaults[name]
    ]
    changed += [f"{action} of {origin}" for action, origin in instance.swaps.items()]
    return f"{label(instance)}, {' '.join(changed) or 'default configuration'}"


def says(documentation: str) -> str:
    """Return a colon and the first paragraph of a docstring, on one line; nothing without a docstring."""
    first = documentation.strip().split("\n\n")[0].replace("\n", " ")
    return f": {' '.join(first.split())}" if first else ""


# ----------------------------------------------------------------------------------------- errors at the end of a trace


class NoErrorError(AssertionError):
    """An engine reports an error of the model, but plain Python (models/run.py) finds none."""


@dataclass(frozen=True)
class Error:
    """An error at the end of a trace: a step from the last state causes it, or the evaluation of a property there."""

    step: Step | None
    property_name: str | None
    message: str


@dataclass(frozen=True)
class Path:
    """A path: its states, the steps between them, and `erring`, a final step that causes an error, or None."""

    states: tuple[Cells, ...]
    steps: tuple[Step, ...]
    erring: Step | None


def path_of(instance: Instance, initial: int, numbers: Sequence[int]) -> Path:
    """Return the path that takes the steps with these numbers from initial state number `initial`, in plain Python.
    Raises NoErrorError if a step is not enabled, or if a step before the last one causes an error."""
    states, steps = [instance.initial_states[initial]], [instance.step(number) for number in numbers]
    for position, step in enumerate(steps, 1):
        try:
            after = run.take(instance, states[-1], step)
        except ModelError as error:
            if position == len(steps):
                return Path(tuple(states), tuple(steps[:-1]), step)
            raise NoErrorError(f"step {position} of {len(steps)} already causes an error: {error}") from None
        if after is None:
            raise NoErrorError(f"step {position} ({instance.spell_step(step)}) is not enabled")
        states.append(after)
    return Path(tuple(states), tuple(steps), None)


def error_of(instance: Instance, initial: int, numbers: Sequence[int]) -> Error:
    """Return the error at the end of the path that `path_of` returns. Raises NoErrorError if there is no error."""
    path = path_of(instance, initial, numbers)
    error = error_at_end(instance, path.states, path.steps, path.erring)
    if error is None:
        raise NoErrorError("the engine reports a value or an index out of range, but plain Python finds no error")
    return error


def error_at_end(
    instance: Instance, states: Sequence[Cells], steps: Sequence[Step], erring: Step | None
) -> Error | None:
    """Return the error that the step `erring` causes or, without this step, the error of the first property whose
    evaluation fails at the last position, but at no earlier one. Return None if there is no error."""
    if erring is None:
        return next(errors_in_properties(instance, states, steps), None)
    message = error_in_step(instance, states[-1], erring)
    return None if message is None else Error(erring, None, escaped(message))


def without_folders(instance: Instance, message: str) -> str:
    """Return an error message of models/run.py with the name of the model's file in place of its path."""
    for source in map(escaped, instance.model.sources):
        if message.startswith(f"{source}:"):
            return f"{PurePath(source).name}{message[len(source) :]}"
    return message


def error_in_step(instance: Instance, cells: Cells, step: Step) -> str | None:
    """Return the error that occurs when a step is taken, or None."""
    try:
        run.take(instance, cells, step)
    except ModelError as error:
        return str(error)
    return None


def possible_steps(instance: Instance, cells: Cells) -> Iterator[tuple[Step, Cells]]:
    """Return every enabled step with its successor state, in order, except steps that cause an error."""
    for step in instance.steps:
        try:
            after = run.take(instance, cells, step)
        except ModelError:
            continue
        if after is not None:
            yield step, after


def errors_in_properties(instance: Instance, states: Sequence[Cells], steps: Sequence[Step]) -> Iterator[Error]:
    """Yield the error of each property whose evaluation fails at the last position of a path, but at no earlier one.

    Errors of properties of transitions come first, as in a search.
    """
    last = len(states) - 1
    for prop in sorted((*instance.properties, DEADLOCK), key=lambda prop: not prop.of_steps):
        message = error_in(instance, prop, states, steps, last)
        if message is not None and not any(error_in(instance, prop, states, steps, i) for i in range(last)):
            yield Error(None, prop.name, escaped(message))


def error_in(
    instance: Instance, prop: Property, states: Sequence[Cells], steps: Sequence[Step], position: int
) -> str | None:
    """Return the error that the evaluation of a property causes at a position (in its state or on the step to it).

    None if there is no error.
    """
    try:
        if not prop.of_steps:
            truth = run.holds(instance, prop, states[position])
        elif position:
            truth = run.holds_step(instance, prop, states[position - 1], steps[position - 1], states[position])
        else:
            return None
        if not truth and prop.kind is not Kind.SOMETIMES:
            run.is_permitted(instance, prop, states[position])
            if prop.premise is not None:
                run.asks(instance, prop, prop.premise, states[position])
    except ModelError as error:
        return str(error)
    return None


# ------------------------------------------------------------------------------------------------------- states as text


ENTRIES = ("exposed_record", "log_record", "response_record")
"""The fields of Kafka's model that hold log entries."""


def spell_cell(instance: Instance, position: int) -> str:
    """Return the name of a cell with its indices, such as log_record[1][0]."""
    layout = _layout_at(instance, position)
    index = list(layout.indices())[position - layout.offset]
    return spell_place(layout, index)


def spell_place(layout: FieldLayout, index: Sequence[int]) -> str:
    """Return the name of a field with the indices in `index` (all or only the first ones), such as `log_record[1]`."""
    domains = zip(layout.field.over, index, strict=False)
    indices = [f"[{spell_element(element) if domain.letters else int(element)}]" for domain, element in domains]
    if layout.field.outer is None:
        return layout.name + "".join(indices)
    record, _, part = layout.name.partition(".")
    outer = layout.field.outer
    return f"{record}{''.join(indices[:outer])}.{part}{''.join(indices[outer:])}"


def spelled_at(instance: Instance, cells: Cells, positions: Iterable[int]) -> dict[str, str]:
    """Map the name of each cell at these positions of a state to its value as text; a set or queue is one value."""
    values = {}
    for at in positions:
        layout = _layout_at(instance, at)
        if layout.field.contents is None:
            # A number outside the cell's range is printed as a number.
            is_value = layout.low <= cells[at] <= layout.high
            values[spell_cell(instance, at)] = spell_value(instance, layout, cells[at]) if is_value else str(cells[at])
        else:
            index = list(layout.indices())[at - layout.offset][:-1]
            values[spell_place(layout, index)] = spell_part(instance, layout, cells, index)
    return values


def changed_cells(instance: Instance, before: Cells, after: Cells) -> list[tuple[str, str, str]]:
    """Return the cells, sets and queues that differ between two states: name, old value, new value."""
    positions = [cell for cell, (old, new) in enumerate(zip(before, after, strict=True)) if old != new]
    new_values = spelled_at(instance, after, positions)
    return [(name, old, new_values[name]) for name, old in spelled_at(instance, before, positions).items()]


def spell_part(instance: Instance, layout: FieldLayout, cells: Cells, index: tuple[int, ...] = ()) -> str:
    """Return a field, or its element at `index`, as text. A list of flags is written as the set of its true indices."""
    if len(index) == len(layout.sizes):
        return spell_value(instance, layout, cells[layout.position(index)])
    is_last = len(index) + 1 == len(layout.sizes)
    if (contents := layout.field.contents) is not None and is_last:
        at = layout.position((*index, 0))
        spell = layout.spell if contents.filler is not None else partial(spelled_value, contents.element)
        return contents.text.format(", ".join(map(spell, contents.elements(cells[at : at + layout.sizes[-1]]))))
    parts = [spell_part(instance, layout, cells, (*index, number)) for number in range(layout.sizes[len(index)])]
    if layout.field.values.is_flag and is_last:
        letters = layout.field.over[-1].letters
        members = [spell_element(i) if letters else str(i) for i, part in enumerate(parts) if part == "true"]
        return "{" + ",".join(members) + "}"
    return "[" + " ".join(parts) + "]"


def _layout_at(instance: Instance, position: int) -> FieldLayout:
    return next(layout for layout in reversed([*instance.layouts.values()]) if layout.offset <= position)


def spell_value(instance: Instance, layout: FieldLayout, value: int) -> str:
    """Return the value of a cell of this field as text."""
    if layout.name in ENTRIES and instance.model.entries.keys() >= {"records", "transactions"}:
        transaction = value - instance.configuration.records
        if transaction >= 0:
            return f"marker{transaction}" if instance.configuration.transactions > 1 else "marker"
    return layout.spell(value)


# ------------------------------------------------------------------------------------------------------ Kafka's entries


def spell_entry(s: State, entry: int, epoch: int) -> str:
    """Return an entry of a log: `a0` for record a of epoch 0, `C0` for a commit marker, `1A0` for the abort marker of
    transaction 1.

    A `?` replaces a missing entry or epoch below the log end, which occurs only in unreachable states.
    """
    written = "?" if epoch == NONE else str(epoch)
    if entry == NONE:
        return "?"
    if entry < s.records:
        return f"{spell_element(entry)}{written}"
    transaction = entry - s.records
    return f"{transaction if s.transactions > 1 else ''}{_decision(s, transaction)[0].upper()}{written}"


def name_entry(s: State, entry: int) -> str:
    """Return an entry as part of a sentence: `record a`, `the commit marker of transaction 1`."""
    if entry < s.records:
        return f"record {spell_element(entry)}"
    transaction = entry - s.records
    of = f" of {name_transaction(s, transaction)}" if s.transactions > 1 else ""
    return f"the {_decision(s, transaction)} marker{of}"


def name_transaction(s: State, transaction: int) -> str:
    """Return a transaction as part of a sentence, with its number if there are several."""
    return f"transaction {transaction}" if s.transactions > 1 else "transaction"


def _decision(s: State, transaction: int) -> str:
    from isrcheck.models.kafka.state.values import TransactionState  # here, because other models do not need Kafka's

    return "commit" if s.transaction_state[transaction] == TransactionState.COMMITTED else "abort"


# --------------------------------------------------------------------------------------------- a trace as users read it


@dataclass(frozen=True, eq=False)
class ReadableTrace:
    """A trace for users: a path of a model, its steps as text, its states with named fields, and the verdict.

    `certified` is the same trace in the form that engines use, in which a state is a tuple of numbers.
    """

    certified: Trace

    @property
    def instance(self) -> Instance:
        """The model with its configuration."""
        return self.certified.instance

    @property
    def property_name(self) -> str | None:
        """The name of the property that the trace is about; None for a plain behaviour."""
        return self.certified.property_name

    @property
    def verdict(self) -> str | None:
        """VIOLATED, PERMITTED, REACHED, HOLDS ON THIS PATH or NOT INDUCTIVE; None for a plain behaviour."""
        return self.certified.verdict

    @property
    def model(self) -> str:
        """The name of the model, with its protocol."""
        return label(self.certified.instance)

    @property
    def configuration(self) -> dict[str, str]:
        """Every configuration entry, spelled as on the command line."""
        return spell_configuration(self.certified.instance)

    @property
    def command(self) -> str:
        """The command that finds the trace; "" if no command does."""
        return self.certified.command

    @property
    def steps(self) -> tuple[str, ...]:
        """The steps, each as one line: the action and its arguments."""
        return tuple(self.certified.instance.spell_step(step) for step in self.certified.every_step)

    @property
    def states(self) -> tuple[Mapping[str, Any], ...]:
        """The states, the initial one first; each maps a field to a number, a truth value, a set, or nested lists."""
        layouts = self.certified.instance.layouts.values()
        return tuple({layout.name: _value(layout, cells) for layout in layouts} for cells in self.certified.states)

    @property
    def loop(self) -> int | None:
        """The position in `states` to which the last step of a lasso returns: the steps after this position are
        repeated for ever. It is the last position if the behaviour stays there, and None for a trace without a loop."""
        return self.certified.loop

    def __len__(self) -> int:
        """The number of steps."""
        return self.certified.length

    def __repr__(self) -> str:
        goes_on = "" if self.loop is None else f", {back(self.certified)}"
        return f"<Trace of {self.model}: {self.property_name or 'a behaviour'}, {len(self)} steps{goes_on}>"


def _value(layout: FieldLayout, cells: Sequence[int]) -> Any:
    """Return the value of a field in a state, as nested lists if the field has indices; a set becomes a frozenset."""
    part = cells[layout.offset : layout.offset + layout.count]
    if (contents := layout.field.contents) is not None:
        size = layout.sizes[-1]
        rows = (part[start : start + size] for start in range(0, len(part), size))
        return _nested([*map(contents.value, rows)], layout.sizes[:-1])
    return _nested([bool(cell) if layout.field.values.is_flag else cell for cell in part], layout.sizes)


def _nested(values: list[Any], sizes: Sequence[int]) -> Any:
    """The values as nested lists of these sizes, the size of the outer list first; without sizes, the only value."""
    if not sizes:
        return values[0]
    each = prod(sizes[1:])
    return [_nested(values[start * each : (start + 1) * each], sizes[1:]) for start in range(sizes[0])]

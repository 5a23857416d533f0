"""How the traces of a model are presented: by which modules, under which headline, and with which words for each step.

The headline is a sentence without a full stop, such as `An acknowledged record is lost: broker 1 is elected without
it`, and is computed from the steps and states of the trace. Its first half says what goes wrong: in prepared words for
a property of Kafka's replication or transactions, otherwise in the first sentence of the property's docstring. Its
second half says how: for the loss of a record, it tells how the record is lost (kafka/failures.py); for other failures,
it is the last step, or the steps that are repeated. The steps of Kafka's replication and transactions have prepared
words, too; any other step is the name of its action, with spaces for underscores, and its arguments.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple, Protocol

from isrcheck.models.language.declarations import LIVENESS, Kind
from isrcheck.models.language.model import DEADLOCK, Instance, Property, Step
from isrcheck.models.run import Cells, State
from isrcheck.traces.format.trace import HOLDS, NOT_INDUCTIVE, REACHED, Trace
from isrcheck.traces.kafka import actions, failures, lanes
from isrcheck.traces.kafka.lanes import is_kafka
from isrcheck.traces.lanes import generic_lanes
from isrcheck.traces.lanes.scene import ActionView, words_for
from isrcheck.traces.lanes.table import StepRow

# -------------------------------------------------------------------------------------------------- the rooms of models


class LanesOfModel(Protocol):
    """A module that presents the states of a model as a table."""

    @property
    def MOST_STACKED(self) -> int:  # noqa: N802 - a constant of the module
        """The largest value of `stacked` that `rows` accepts; with it, the table is narrowest."""

    def titles(self, instance: Instance, /) -> list[str]:
        """Return the titles of the columns to the right of the steps."""

    def rows(self, trace: Trace, stacked: int = 0, /) -> list[StepRow]:
        """Return one row per state; unchanged columns are empty. A higher `stacked` gives a narrower table."""

    def legend(self, trace: Trace, /) -> list[str]:
        """Return the meanings of the signs, for the lines below the table."""


class ActionsOfModel(Protocol):
    """A module that presents the actions of a model."""

    @property
    def ACTIONS(self) -> Mapping[str, ActionView]:  # noqa: N802 - a constant of the module
        """The words, the messages and the other data that are shown for each action, by its name."""

    def rare_events(self, trace: Trace, /) -> dict[str, int]:
        """Return how often rare events without a budget in the model, such as elections, occur in a trace, by name."""


class Room(NamedTuple):
    """The modules that present the traces of a model: as a table, and in words."""

    lanes: LanesOfModel
    actions: ActionsOfModel | None
    """The module with the words of the model's actions; None: the actions have no words."""
    headline: Callable[[Trace, str], str | None]
    """Returns what goes wrong in a trace, and how; None for a property without words."""


def room_of(instance: Instance) -> Room:
    """Return the modules that present the traces of a model."""
    if "late_marker_coordinator_epoch" in instance.layouts:  # other models do not load that of the transactions
        from isrcheck.traces.transactions import actions as transaction_actions
        from isrcheck.traces.transactions import lanes as transaction_lanes

        if transaction_lanes.is_transactions(instance):
            return Room(transaction_lanes, transaction_actions, transaction_actions.headline)
    if is_kafka(instance):
        return Room(lanes, actions, failures.headline)
    return Room(generic_lanes, None, lambda trace, how: None)


# --------------------------------------------------------------------------------------------------------- the headline


def headline(trace: Trace) -> str:
    """Return the headline of a trace."""
    text = _headline(trace)
    return text[:1].upper() + text[1:]


def _headline(trace: Trace) -> str:
    prop = trace.prop
    if prop is None or trace.verdict is None:
        return f"a behaviour of {trace.length} step{'s' * (trace.length != 1)}"
    if trace.error is not None:
        return f"the model leaves its declared ranges: {_last_step(trace)}"
    if prop is DEADLOCK:
        return f"nothing more can happen: {_last_step(trace)}"
    claim = claim_of(prop)
    if trace.verdict == REACHED:
        return f"this can happen: {claim}"
    if trace.verdict == HOLDS:
        return f"nothing goes wrong on this path: {claim}"
    if trace.verdict == NOT_INDUCTIVE:
        return f"false after a step from a state that may be unreachable: {claim}"
    if (failure := room_of(trace.instance).headline(trace, _how(trace))) is not None:
        return failure
    if prop.kind in LIVENESS:
        return f"this never happens: {claim} ({_how(trace)})"
    if not trace.length:
        return f"not true from the beginning: {claim}"
    never = "no longer possible" if prop.kind is Kind.ALWAYS_POSSIBLE else "no longer true"
    return f"{never} after {_last_step(trace)}: {claim}"


def _how(trace: Trace) -> str:
    """How the failure comes about, in words: the last step, or the number of steps that are repeated for ever."""
    if trace.loop is None:
        return _last_step(trace)
    repeated = trace.length - trace.loop
    if not repeated:
        return f"{_last_step(trace)}, and nothing that has to happen changes it"
    return "the last step is repeated for ever" if repeated == 1 else f"the last {repeated} steps are repeated for ever"


def _last_step(trace: Trace) -> str:
    """The last step in words; for a trace without steps, "from the beginning"."""
    if not trace.length:
        return "from the beginning"
    return step_in_words(trace.instance, trace.every_step[-1], trace.states[len(trace.every_step) - 1])


def claim_of(prop: Property) -> str:
    """Return what a property says: the first sentence of its docstring; without a docstring, its name with spaces."""
    paragraph = " ".join(prop.function.documentation.strip().split("\n\n")[0].split())
    sentence = paragraph.partition(". ")[0].removesuffix(".")
    return sentence or prop.name.replace("_", " ")


# ------------------------------------------------------------------------------------------------------- steps in words


def step_in_words(instance: Instance, step: Step, before: Cells) -> str:
    """Return a step in words; `before` is the state before it."""
    room = room_of(instance).actions
    words = None if room is None else words_for(room.ACTIONS, instance, step, State(instance, before))
    if words is not None:
        return words
    action, space, arguments = instance.spell_step(step).partition(" ")
    return f"{action.replace('_', ' ')}{space}{arguments}"


def steps_in_words(trace: Trace) -> list[str]:
    """Return a text for the first state of a trace, such as `the beginning`, and then each step in words."""
    first = "some state, perhaps an unreachable one" if trace.verdict == NOT_INDUCTIVE else "the beginning"
    steps = zip(trace.every_step, trace.states, strict=False)  # an erring step has no state after it
    return [first, *(step_in_words(trace.instance, step, before) for step, before in steps)]

"""A trace as plain data for drawing: lanes (columns), their content, and messages; and how an action is shown.

The data come from a trace (kafka/scene.py, drawing/scene.py) or from a file of another tool (drawing/scene.py). All
text in them is plain text, never markup. A table has an `ActionView` for each action of a model.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from itertools import chain
from string import Formatter
from types import MappingProxyType
from typing import Any

from isrcheck.models.language.declarations import Entry, Field
from isrcheck.models.language.model import Instance, Step
from isrcheck.models.run import State
from isrcheck.traces.format.trace import Trace, arguments_of, spelled_arguments

REQUEST, RESPONSE, LOST = "request", "response", "lost"
"""The kinds of arrows: a message that arrives in this step, a message that arrives later, a lost message."""

FAULT, ELECTION, NOTE = "fault", "election", "note"
"""The kinds of marks."""


@dataclass(frozen=True)
class Cell:
    """One offset of a log, as it is drawn: its entry, and the entry's leader epoch (None: the entry has no epoch).

    `kind` is `record`, `marker`, or, for an offset without an entry, `deleted`, `missing` or `free`.
    """

    text: str
    epoch: int | None = None
    kind: str = "record"


@dataclass(frozen=True)
class Lane:
    """The content of one lane (a column of the drawing) after a step."""

    title: str = ""
    role: str = ""
    """Determines the colour: leader, elected, zombie, follower, truncating, down, or none."""
    cells: tuple[Cell, ...] = ()
    """A log, by offset."""
    pointers: tuple[tuple[str, int], ...] = ()
    """Named offsets: log start, LSO, HW, LEO."""
    notes: tuple[str, ...] = ()
    alarms: tuple[str, ...] = ()
    """Notes that report a failure."""
    characters: int = 26
    """The length of the longest line."""


@dataclass(frozen=True)
class Arrow:
    """A message from the lane with the number `source` to the lane with the number `target`."""

    source: int
    target: int
    text: str
    kind: str = REQUEST


@dataclass(frozen=True)
class Mark:
    """An event in one lane."""

    lane: int
    text: str
    kind: str = NOTE


@dataclass(frozen=True)
class Fate:
    """Words for the fate of a record up to a state, each with the step since which it applies (0: from the start)."""

    record: str
    words: tuple[tuple[str, int], ...]


@dataclass(frozen=True)
class Moment:
    """A step and the state after it, as they are drawn."""

    step: str
    """For state 0, a description of the initial state."""
    lanes: tuple[Lane, ...]
    arrows: tuple[Arrow, ...] = ()
    marks: tuple[Mark, ...] = ()
    fates: tuple[Fate, ...] = ()
    variables: tuple[tuple[str, ...], ...] = ()
    """The lines of every field of the state, in the order of the scene's names."""
    words: str = ""
    """The step for readers who do not know the model."""


@dataclass(frozen=True)
class Scene:
    """A whole trace, ready for drawing."""

    title: str
    """The headline of the trace."""
    caption: str
    """The property and the verdict."""
    subtitle: str
    """The model and its configuration."""
    lanes: tuple[str, ...]
    """The titles of the lanes."""
    variables: tuple[str, ...]
    """The names of the variables."""
    moments: tuple[Moment, ...]
    loop: int | None = None
    """Of a lasso, the moment whose state is also its last; the behaviour continues from there for ever."""


# ------------------------------------------------------------------------------------------------- lanes, and one step


class Lanes:
    """The lanes of a scene, or the columns of a table, in groups, such as `broker` with one lane for each broker."""

    def __init__(self, groups: Mapping[str, Sequence[str]], roles: Mapping[str, str] = MappingProxyType({})) -> None:
        self.groups = groups
        """The titles of the lanes of each group, in their order."""
        self.roles = roles
        """The group to which an argument of a step belongs: a `leader` is a `broker`. Others are named like a group."""

    @property
    def titles(self) -> tuple[str, ...]:
        """The titles of all lanes."""
        return tuple(title for titles in self.groups.values() for title in titles)

    def number(self, group: str, index: int = 0) -> int:
        """Return the number of a lane. `index` is its place in the group; a group of a single lane ignores `index`."""
        groups = [*self.groups]
        first = sum(len(self.groups[name]) for name in groups[: groups.index(group)])
        return first + (index if len(self.groups[group]) > 1 else 0)


def declares(instance: Instance, state: type, configuration: type) -> bool:
    """Whether a model has all fields that the class `state` declares, and all entries of the class `configuration`."""
    return instance.layouts.keys() >= _declared(state, Field) and instance.model.entries.keys() >= _declared(
        configuration, Entry
    )


@cache
def _declared(owner: type, kind: type) -> frozenset[str]:
    return frozenset(name for name, value in vars(owner).items() if isinstance(value, kind))


def numbered(name: str, count: int) -> list[str]:
    """Return the titles of several lanes: `broker 0`, `broker 1`."""
    return [f"{name} {number}" for number in range(count)]


@dataclass(frozen=True)
class Item:
    """A part of a lane's content: its sign, shown in tables, and its note, shown on pages; "" is not shown."""

    sign: str = ""
    note: str = ""


def signs(*items: Iterable[Item]) -> list[str]:
    """Return the signs of all items that have one."""
    return [item.sign for group in items for item in group if item.sign]


def notes(*items: Iterable[Item]) -> list[str]:
    """Return the notes of all items that have one."""
    return [item.note for group in items for item in group if item.note]


Participant = str | tuple[str, int]
"""Whose lane: an argument of the step, such as `leader`; the only lane of a group; or a group and a place in it."""


class UnknownArgumentError(AttributeError):
    """Raised if the `ActionView` of an action uses an argument that the action does not have."""


@dataclass(frozen=True)
class StepContext:
    """One step and its states, for functions that find messages. Its arguments are attributes, such as `leader`."""

    lanes: Lanes
    before: State
    after: State
    arguments: Mapping[str, Any]
    """The arguments by the names of the action's parameters."""
    spelled: Mapping[str, str]
    """The arguments by name, as text."""

    def __getattr__(self, name: str) -> Any:
        if name not in self.arguments:
            raise UnknownArgumentError(name)
        return self.arguments[name]

    def lane(self, who: Participant) -> int:
        """Return the number of the lane of a participant."""
        if isinstance(who, tuple):
            return self.lanes.number(*who)
        if who in self.arguments:
            return self.lanes.number(self.lanes.roles.get(who, who), self.arguments[who])
        if who not in self.lanes.groups:
            raise UnknownArgumentError(who)
        return self.lanes.number(who)

    def arrow(self, source: Participant, target: Participant, text: str, kind: str = REQUEST) -> Arrow:
        """Return a message from one lane to another."""
        return Arrow(self.lane(source), self.lane(target), text, kind)

    def mark(self, who: Participant, text: str, kind: str = NOTE) -> Mark:
        """Return an event in a lane."""
        return Mark(self.lane(who), text, kind)


# ------------------------------------------------------------------------------------------------ how actions are shown

Events = Iterator[Arrow | Mark]
MessageFinder = Callable[[StepContext], Events]
"""Finds the messages of one action, and its events at lanes, in the order in which they occur."""

Text = str | Callable[[StepContext], str]
"""The text of a message: with the arguments of the step in braces, or found from the states."""


@dataclass(frozen=True)
class ActionView:
    """How an action of a model is shown: in words, by messages and events to draw, and in explanations of failures."""

    words: str | Callable[..., str]
    """A clause that says which participant does what to which, with the arguments in braces; or a function of the state
    before the step and the arguments by their names."""
    messages: MessageFinder | None = None
    """The messages and events to draw; effects that comparing states shows are found for every action."""
    removal: str = ""
    """How a broker loses its copy of a record by this action, as the predicate of a sentence."""
    sends: tuple[str, ...] = ()
    """If it sends a message that can arrive late: the arguments that identify the message."""
    delivers: tuple[str, ...] = ()
    """If such a message arrives: the arguments that identify it."""
    loses_message: bool = False
    """Whether a message is lost, and no budget of the model counts that."""


def sent(source: str, target: str, text: Text, kind: str = REQUEST) -> MessageFinder:
    """Return a function that finds one message of a step, between two lanes."""

    def find(context: StepContext) -> Events:
        yield context.arrow(source, target, _spelled(text, context), kind)

    return find


def befalls(who: str, text: Text, kind: str = NOTE) -> MessageFinder:
    """Return a function that finds one event of a step, in one lane."""

    def find(context: StepContext) -> Events:
        yield context.mark(who, _spelled(text, context), kind)

    return find


def in_turn(*finders: MessageFinder) -> MessageFinder:
    """Return a function that finds everything that the given functions find in a step, in their order."""
    return lambda context: chain.from_iterable(finder(context) for finder in finders)


def _spelled(text: Text, context: StepContext) -> str:
    return text.format(**context.spelled) if isinstance(text, str) else text(context)


def words_for(actions: Mapping[str, ActionView], instance: Instance, step: Step, s: State) -> str | None:
    """Return a step in words, or None if no entry in `actions` fits the step; `s` is the state before the step."""
    if (view := actions.get(step.action)) is None:
        return None
    spelled = spelled_arguments(instance, step)
    if isinstance(view.words, str):
        return view.words.format(**spelled) if takes(view.words) <= spelled.keys() else None
    return view.words(s, **arguments_of(instance, step)) if takes(view.words) == spelled.keys() else None


@cache
def takes(words: str | Callable[..., object]) -> frozenset[str]:
    """Return the names that `words` needs: in a text, those in braces; for a function, its parameters but the first."""
    if isinstance(words, str):
        return frozenset(name for _, name, _, _ in Formatter().parse(words) if name is not None)
    return frozenset([*inspect.signature(words).parameters][1:])


def listed(items: Iterable[str]) -> str:
    """Return items as a part of a sentence: `a`, `a and b`, `a, b and c`; without items `nothing`."""
    *others, last = [*items] or ["nothing"]
    return f"{', '.join(others)} and {last}" if others else last


def moments(
    trace: Trace,
    lanes: Lanes,
    actions: Mapping[str, ActionView],
    effects: Sequence[MessageFinder],
    draw: Callable[[int, State], tuple[Lane, ...]],
    fates: Sequence[tuple[Fate, ...]] | None = None,
) -> tuple[Moment, ...]:
    """Return a `Moment` (a step and the state after it) for each state, without the values of variables. `draw` takes a
    state's number and the state, and returns the lanes; `effects` find messages and events in every step."""
    states, moments = trace.named_states, []
    for position, s in enumerate(states):
        events: list[Arrow | Mark] = []
        if position:
            step = trace.steps[position - 1]
            arguments, spelled = arguments_of(trace.instance, step), spelled_arguments(trace.instance, step)
            context = StepContext(lanes, states[position - 1], s, arguments, spelled)
            view = actions.get(step.action)
            if view is not None and view.messages is not None:
                with suppress(UnknownArgumentError):
                    events += view.messages(context)
            events += (event for effect in effects for event in effect(context))
        arrows = tuple(event for event in events if isinstance(event, Arrow))
        marks = tuple(event for event in events if isinstance(event, Mark))
        fate = fates[position] if fates is not None else ()
        moments.append(Moment(trace.spell_row(position), draw(position, s), arrows, marks, fate))
    return tuple(moments)

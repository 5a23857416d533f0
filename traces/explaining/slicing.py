"""The slice of a trace: the same failure for the same cause, without the steps that it does not need.

In:  a certified trace that ends where a property fails or is reached.
Out: a `Slice`: the certified trace of the steps that are left, and which of the others lie outside the causal cone.

The causal cone comes first: going back from the cells that the property reads, a step belongs to it if it changed a
cell that the property or a later step of the cone reads, in a guard or to write another. What is outside is left out at
one go. Then what is left is tried without some of its steps, until no one and no two can be spared: the effect of a
step may have been read and not have mattered. Nothing is believed: a history counts only if the reference confirms each
of its steps, and that it ends with the same verdict for the same cause, and nowhere earlier.
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

from isrcheck.models import run
from isrcheck.models.language.in_range import IN_RANGE
from isrcheck.models.language.model import Instance, Property, Step
from isrcheck.models.messages.errors import ModelError, UsageError
from isrcheck.models.run import State
from isrcheck.traces.explaining.attribution import find_loss
from isrcheck.traces.format.certify import behaviour, judgements
from isrcheck.traces.format.itf import MOST_TEXT
from isrcheck.traces.format.trace import PERMITTED, REACHED, VIOLATED, Trace
from isrcheck.traces.format.why_false import Reason, why_broken

SLICED = (VIOLATED, PERMITTED, REACHED)
"""The verdicts that a history leads to; the others are no outcome of their steps."""

MOST_TAKEN = 200_000
"""Steps that are taken to try histories, in plain Python: half a minute; a trace that check found takes hundreds."""


@dataclass(frozen=True)
class Slice:
    """What is left of a trace, which steps are left out, and which of those the causal cone ruled out at once.

    Steps are counted from 1, as in the trace. `is_minimal`: it was tried that no step and no two can be spared.
    """

    trace: Trace
    left_out: tuple[int, ...]
    outside: frozenset[int]
    is_minimal: bool


def slice_of(trace: Trace, command: str) -> Slice:
    """The slice of a trace, which `command` reproduces. Raises UsageError where there is nothing to slice."""
    prop = trace.prop
    if prop is None or prop is IN_RANGE or trace.verdict not in SLICED:
        raise UsageError(_not_sliced(trace))
    search = _Search(trace, prop)
    everything = tuple(range(trace.length))
    inside = causal_cone(trace)
    kept = search.attempt(inside)
    # What is outside the cone decides nothing; a property that was broken earlier without it is an exception.
    outside = frozenset(set(everything) - set(inside)) if kept is not None else frozenset()
    kept = search.shrink(everything if kept is None else kept)
    left = behaviour(trace.instance, search.start, [trace.steps[i] for i in kept], prop.name, command, trace.verdict)
    assert _cause(left) == search.cause
    left_out = tuple(i + 1 for i in everything if i not in kept)
    return Slice(left, left_out, frozenset(i + 1 for i in outside), search.taken < MOST_TAKEN)


def command_of(trace: Trace, path: Path, model: Path | None) -> str:
    """What reproduces the slice: the search that found the trace, and then the slice of its file."""
    words = ["trace", "slice", str(path), *(["--model", str(model)] if model is not None else [])]
    command = " && ".join([trace.command, shlex.join(words)] if trace.command else [shlex.join(words)])
    if len(command) > MOST_TEXT or not command.isprintable():
        raise UsageError(f"{str(path)!a} cannot stand in a command that reproduces the slice; rename the file")
    return command


def _not_sliced(trace: Trace) -> str:
    if trace.property_name == IN_RANGE.name:
        return f"{IN_RANGE.name} has no expression whose cause could be kept; give a trace of a declared property"
    if trace.prop is None or trace.verdict is None:
        return "a behaviour, of which no property is said to fail; give a trace that is VIOLATED, PERMITTED or REACHED"
    return (
        f"{trace.prop.name} {trace.verdict}: that is no failure that a history leads to;"
        " give a trace that is VIOLATED, PERMITTED or REACHED"
    )


# ------------------------------------------------------------------------------------------------------ the causal cone


class _Noted(list[int]):
    """The cells of a state, which note what is read and what is written."""

    def __init__(self, cells: Sequence[int]) -> None:
        super().__init__(cells)
        self.read: set[int] = set()
        self.written: set[int] = set()

    def __getitem__(self, cell: Any) -> Any:
        if cell not in self.written:
            self.read.add(cell)
        return super().__getitem__(cell)

    def __setitem__(self, cell: Any, value: Any) -> None:
        self.written.add(cell)
        super().__setitem__(cell, value)


class _NotedState(State):
    """A state as a model's functions see it, whose cells note what they do to it."""

    __slots__ = ("noted",)
    noted: _Noted

    def __init__(self, instance: Instance, cells: run.Cells) -> None:
        super().__init__(instance, cells)
        object.__setattr__(self, "noted", _Noted(cells))
        object.__setattr__(self, "_cells", self.noted)


def causal_cone(trace: Trace) -> tuple[int, ...]:
    """The positions of the steps on which it depends how the trace ends."""
    needed = _asked(trace)
    found = []
    for position in reversed(range(trace.length)):
        read, written = _effects(trace, position)
        before, after = trace.states[position], trace.states[position + 1]
        changes = any(before[cell] != after[cell] for cell in written & needed)
        # A property of transitions speaks about the last step itself.
        if changes or (position == trace.length - 1 and trace.prop is not None and trace.prop.of_steps):
            found.append(position)
            needed = (needed - written) | read
    return tuple(reversed(found))


def _asked(trace: Trace) -> set[int]:
    """The cells that the property reads in the state that the trace ends with, and what it reads to be permitted."""
    prop, instance = trace.prop, trace.instance
    assert prop is not None
    after = _NotedState(instance, trace.states[-1])
    if prop.of_steps:
        before = _NotedState(instance, trace.states[-2])
        names = (before, after, run.Taken(instance, trace.steps[-1]))
        prop.function.python(*names[: len(prop.function.parameters)])
        read = before.noted.read | after.noted.read
    else:
        prop.function.python(after)
        read = after.noted.read
    if prop.permitted is not None and trace.verdict != REACHED:
        permitting = _NotedState(instance, trace.states[-1])
        prop.permitted.python(permitting)
        read |= permitting.noted.read
    return read


def _effects(trace: Trace, position: int) -> tuple[set[int], set[int]]:
    """The cells that a step reads before it writes them, guards included, and those that it writes."""
    instance, step = trace.instance, trace.steps[position]
    function = instance.function(step.action_index)
    assert function is not None
    state = _NotedState(instance, trace.states[position])
    ranges = instance.argument_ranges[step.action_index]
    function.python(state, *(one.argument(ordinal) for one, ordinal in zip(ranges, step.ordinals, strict=True)))
    return state.noted.read, state.noted.written


# ------------------------------------------------------------------------------------------------------------ attempts


class _Search:
    """Tries histories that consist of some of the steps of a trace, in their order."""

    def __init__(self, trace: Trace, prop: Property) -> None:
        self.trace = trace
        self.prop = prop
        self.start = trace.instance.initial_states.index(trace.states[0])
        self.cause = _cause(trace)
        self.taken = 0

    def shrink(self, kept: tuple[int, ...]) -> tuple[int, ...]:
        """Fewer steps, none of which can be spared, nor any two: a crash, say, and the restart after it."""
        while self.taken < MOST_TAKEN:
            smaller = kept
            size = len(kept) // 2
            while size > 0:
                smaller = self._without(smaller, size)
                size //= 2
            if smaller == kept:
                smaller = self._without_two(kept)
            if smaller == kept:
                break
            kept = smaller
        return kept

    def _without(self, kept: tuple[int, ...], size: int) -> tuple[int, ...]:
        """The same without each piece of this size that can be spared, the later ones first."""
        end = len(kept)
        while end > 0 and self.taken < MOST_TAKEN:
            end = min(end, len(kept))
            first = max(0, end - size)
            kept = self.attempt(kept[:first] + kept[end:]) or kept
            end = first
        return kept

    def _without_two(self, kept: tuple[int, ...]) -> tuple[int, ...]:
        """The same without the first two steps that can be spared together, if there are two."""
        for first, second in combinations(kept, 2):
            if self.taken >= MOST_TAKEN:
                break
            found = self.attempt([one for one in kept if one not in (first, second)])
            if found is not None:
                return found
        return kept

    def attempt(self, kept: Sequence[int]) -> tuple[int, ...] | None:
        """The steps up to where it ends as the trace does, if they are possible and it does; else None."""
        instance = self.trace.instance
        states = [self.trace.states[0]]
        steps: list[Step] = []
        while judgements(instance, self.prop, states[-2:], steps[-1:])[-1] != self.trace.verdict:
            if len(steps) == len(kept):
                return None
            step = self.trace.steps[kept[len(steps)]]
            self.taken += 1
            try:
                after = run.take(instance, states[-1], step)
            except ModelError:  # a history in which the model leaves its declaration shows nothing
                return None
            if after is None:
                return None
            states.append(after)
            steps.append(step)
        found = Trace(instance, tuple(states), tuple(steps), self.prop.name, self.trace.verdict, "")
        return tuple(kept[: len(steps)]) if _cause(found) == self.cause else None


def _cause(trace: Trace) -> object:
    """Why a trace fails, without numbers and names of brokers or records: what decides, and which actions lost what.

    Two histories of one cause can speak of different records, since a record is called after when it is sent.
    """
    if trace.verdict == REACHED:
        return None
    loss = find_loss(trace)
    actions = None
    if loss is not None:
        # How a broker came into the ISR counts only where it never had the record.
        numbers = (loss.promised, loss.removed, loss.admitted if loss.removed is None else None)
        actions = (loss.promise, loss.outcome, *(number and trace.steps[number - 1].action for number in numbers))
    return _outline(why_broken(trace)), actions


def _outline(reason: Reason) -> object:
    names = tuple(binding.name for binding in reason.bindings)
    return reason.source, reason.truth, names, reason.conditions, tuple(map(_outline, reason.deeper))

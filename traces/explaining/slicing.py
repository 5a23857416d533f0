"""Slices a trace: finds a shorter trace with the same failure and cause. `needed_steps` shortens any failing path.

First the causal cone is computed, backwards from the last state. A step belongs to the cone if it changed a cell (one
number of the state) that the property, or a later step in the cone, reads. All steps outside the cone are removed at
once. A step in the cone may read a cell whose value does not matter, so the remaining steps are then removed in blocks,
one by one, and in pairs, as long as the failure stays. Every shorter trace is checked: each of its steps has to be
possible in plain Python, and it has to end with the same verdict for the same cause, without an earlier failure.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

from isrcheck.models import run
from isrcheck.models.language.declarations import WHOLE
from isrcheck.models.language.interpreter import Argument, Interpreter, arguments_of
from isrcheck.models.language.model import DEADLOCK, IN_RANGE, Instance, Property, Step
from isrcheck.models.language.reading.reader import Function
from isrcheck.models.messages import ModelError, UsageError
from isrcheck.models.run import Cells
from isrcheck.traces.format.certify import behaviour, judgements
from isrcheck.traces.format.files import MOST_TEXT
from isrcheck.traces.format.trace import PERMITTED, REACHED, VIOLATED, Trace, heading
from isrcheck.traces.format.why_false import Reason, why_broken
from isrcheck.traces.kafka.failures import find_loss
from isrcheck.traces.lanes.table import Row, grid

SLICED = (VIOLATED, PERMITTED, REACHED)
"""The verdicts of traces that can be sliced: the verdicts that follow from the steps."""

MOST_TAKEN = 200_000
"""The most steps that are taken in plain Python: about half a minute. For a trace that `check` wrote, hundreds do."""


@dataclass(frozen=True)
class Slice:
    """A sliced trace. Steps are counted from 1, as in the whole trace."""

    trace: Trace
    left_out: tuple[int, ...]
    """The removed steps."""
    outside: frozenset[int]
    """The removed steps that lie outside the causal cone."""
    is_minimal: bool
    """Whether every single step and every pair of steps was tried, and none can be removed."""


def slice_of(trace: Trace, command: str) -> Slice:
    """Return the slice of a trace; `command` reproduces the slice. Raises UsageError if the trace cannot be sliced."""
    prop = trace.prop
    if prop is None or prop in (IN_RANGE, DEADLOCK) or prop.kind in WHOLE or trace.verdict not in SLICED:
        raise UsageError(_not_sliced(trace))
    search = _StepRemoval(trace, prop)
    everything = tuple(range(trace.length))
    inside = causal_cone(trace)
    kept = search.attempt(inside)
    # Steps outside the cone do not affect the failure, except that the property may fail earlier without them.
    outside = frozenset(set(everything) - set(inside)) if kept is not None else frozenset()
    kept = search.shrink(everything if kept is None else kept)
    left = behaviour(trace.instance, search.start, [trace.steps[i] for i in kept], prop.name, command, trace.verdict)
    assert _cause(left) == search.cause
    left_out = tuple(i + 1 for i in everything if i not in kept)
    return Slice(left, left_out, frozenset(i + 1 for i in outside), search.taken < MOST_TAKEN)


def command_of(trace: Trace, path: Path, model: Path | None) -> str:
    """Return the shell command that reproduces the slice: the command that finds the trace, and then `trace slice`."""
    words = ["trace", "slice", str(path), *(["--model", str(model)] if model is not None else [])]
    command = " && ".join(part for part in (trace.command, shlex.join(words)) if part)
    if len(command) > MOST_TEXT or not command.isprintable():
        raise UsageError(f"{str(path)!a} cannot be part of the command that reproduces the slice; rename the file")
    return command


def _not_sliced(trace: Trace) -> str:
    if trace.property_name in (IN_RANGE.name, DEADLOCK.name):
        return f"{trace.property_name} has no expression, so its cause is unknown; give a trace of a declared property"
    if trace.prop is None or trace.verdict is None:
        return "a behaviour without a failing property; give a trace that is VIOLATED, PERMITTED or REACHED"
    if trace.prop.kind in WHOLE:
        return (
            f"{trace.prop.name} is @{trace.prop.kind.value}, whose failure depends on what follows the trace;"
            " give a trace of another property"
        )
    return (
        f"{trace.prop.name} {trace.verdict}: this verdict does not result from the steps;"
        " give a trace that is VIOLATED, PERMITTED or REACHED"
    )


# ------------------------------------------------------------------------------------------------------ the causal cone


class _RecordedCells(list[int]):
    """The cells of a state, which record each read and each write."""

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


def causal_cone(trace: Trace) -> tuple[int, ...]:
    """Return the positions of the steps in the causal cone of the trace's outcome (see the module)."""
    needed = _cells_of_outcome(trace)
    cone: list[int] = []
    for position in reversed(range(trace.length)):
        step, before, after = trace.steps[position], trace.states[position], trace.states[position + 1]
        function = trace.instance.function(step.action_index)
        assert function is not None
        read, written = _effects(trace.instance, function, [before, *arguments_of(trace.instance, step)])
        changes = any(before[cell] != after[cell] for cell in written & needed)
        # A property of transitions is about the last step itself.
        if changes or (position == trace.length - 1 and trace.prop is not None and trace.prop.of_steps):
            cone.append(position)
            needed = (needed - written) | read
    return tuple(reversed(cone))


def _cells_of_outcome(trace: Trace) -> set[int]:
    """The cells of the last state that are read by the property or by the condition that permits its failure."""
    prop, instance = trace.prop, trace.instance
    assert prop is not None
    arguments: list[Cells | str] = [*trace.states[-2:], trace.steps[-1].action] if prop.of_steps else [trace.states[-1]]
    read = _effects(instance, prop.function, arguments[: len(prop.function.parameters)])[0]
    if prop.permitted is not None and trace.verdict != REACHED:
        read |= _effects(instance, prop.permitted, [trace.states[-1]])[0]
    return read


def _effects(
    instance: Instance, function: Function, arguments: Iterable[Cells | Argument]
) -> tuple[set[int], set[int]]:
    """Call a function. Return the cells that it reads (also in guards) before it writes them, and the written cells."""
    recorded = [_RecordedCells(value) if isinstance(value, tuple) else value for value in arguments]
    Interpreter(instance).call(function.routine, recorded)
    states = [value for value in recorded if isinstance(value, _RecordedCells)]
    return set().union(*(state.read for state in states)), set().union(*(state.written for state in states))


# ------------------------------------------------------------------------------------------------------------- attempts


class _StepRemoval:
    """Removes steps from a trace while the failure stays. `kept` has the positions of the steps that are left."""

    def __init__(self, trace: Trace, prop: Property) -> None:
        self.trace = trace
        self.prop = prop
        self.start = trace.instance.initial_states.index(trace.states[0])
        self.cause = _cause(trace)
        self.taken = 0

    def shrink(self, kept: tuple[int, ...]) -> tuple[int, ...]:
        """Remove steps from `kept` until no step and no pair of steps (such as a crash and a restart) is removable."""
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
        """Remove each block of `size` steps that can be removed, the last block first; return the rest of `kept`."""
        end = len(kept)
        while end > 0 and self.taken < MOST_TAKEN:
            end = min(end, len(kept))
            first = max(0, end - size)
            kept = self.attempt(kept[:first] + kept[end:]) or kept
            end = first
        return kept

    def _without_two(self, kept: tuple[int, ...]) -> tuple[int, ...]:
        """Return `kept` without the first pair of steps that can be removed together; `kept` if no pair can."""
        for pair in combinations(kept, 2):
            if self.taken >= MOST_TAKEN:
                break
            fewer = self.attempt([position for position in kept if position not in pair])
            if fewer is not None:
                return fewer
        return kept

    def attempt(self, kept: Sequence[int]) -> tuple[int, ...] | None:
        """Take the steps in `kept` until the failure. Return the positions of the steps that were taken; None if one of
        them is not possible, or if there is no failure with the cause of the whole trace's failure."""
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
            except ModelError:  # a path with an error does not show the failure
                return None
            if after is None:
                return None
            states.append(after)
            steps.append(step)
        shorter = Trace(instance, tuple(states), tuple(steps), self.prop.name, self.trace.verdict, "")
        return tuple(kept[: len(steps)]) if _cause(shorter) == self.cause else None


def _cause(trace: Trace) -> object:
    """Return the cause of a failure, to compare it with the cause of a shorter trace; None for the verdict REACHED.

    It has the expressions that decide that the property is false and, for a loss, the promise, the outcome, and the
    actions that made the promise and removed the copy. Numbers of brokers and records are left out: they can differ.
    """
    if trace.verdict == REACHED:
        return None
    loss = find_loss(trace)
    actions = None
    if loss is not None:
        # How a broker joined the ISR matters only if it never had the record.
        numbers = (loss.promised, loss.removed, loss.admitted if loss.removed is None else None)
        actions = (loss.promise, loss.outcome, *(number and trace.steps[number - 1].action for number in numbers))
    return _outline(why_broken(trace)), actions


def _outline(reason: Reason) -> object:
    names = tuple(binding.name for binding in reason.bindings)
    return reason.source, reason.truth, names, reason.conditions, tuple(map(_outline, reason.deeper))


# -------------------------------------------------------------------------------------------------------------- as text


def tell(trace: Trace, sliced: Slice) -> list[str]:
    """Return lines with each removed step and the reason why it could be removed, and with the number of steps left."""
    if not sliced.left_out:
        if sliced.is_minimal:
            return [f"none of the {trace.length} steps can be removed, nor any two of them; nothing is written"]
        return [f"no removable step among {trace.length} was found before the time limit; nothing is written"]
    width = len(str(trace.length))
    rows: list[Row] = [[("",), ("",), ("",)]]
    for number in sliced.left_out:
        reason = "outside the causal cone" if number in sliced.outside else "not needed for the failure"
        rows.append([(str(number).rjust(width),), (trace.spell_row(number),), (reason,)])
    end = f"{trace.property_name} {trace.verdict}"
    lines = [heading(trace.instance), "", f"removed from {trace.length} steps:", *grid(rows)[1:], ""]
    lines.append(f"remaining: {sliced.trace.length} steps, which end in {end} for the same cause; certified")
    if not sliced.is_minimal:
        lines.append("the time limit ended the slicing: more steps may be removable; slice the result again")
    return lines


# ----------------------------------------------------------------------------------------------------- any failing path

Judge = Callable[[list[Cells], list[Step]], bool]
"""Decides whether a shorter path, given as its states and the steps between them, ends in the same failure."""


def needed_steps(instance: Instance, initial: Cells, steps: Sequence[Step], is_it: Judge) -> list[Step]:
    """Return the steps that a failure needs; `is_it` decides whether a shorter path ends in the same failure. Steps are
    removed from the last to the first, so a step is tried after the steps that may depend on it. With a step, the later
    steps that are impossible without it are removed, too: without a crash there is no restart."""
    kept = list(steps)
    position = len(kept) - 1
    while position >= 0:
        states, fewer = take_steps(instance, initial, kept[:position] + kept[position + 1 :])
        if is_it(states, fewer):
            kept = fewer
            position = len(kept)
        position -= 1
    return kept


def take_steps(instance: Instance, initial: Cells, steps: Sequence[Step]) -> tuple[list[Cells], list[Step]]:
    """Take `steps` in order, except impossible ones. Return the states, the initial one first, and the taken steps."""
    states, taken = [initial], []
    for step in steps:
        try:
            after = run.take(instance, states[-1], step)
        except ModelError:  # a step that causes an error has no successor
            after = None
        if after is not None:
            states.append(after)
            taken.append(step)
    return states, taken

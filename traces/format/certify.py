"""Certifies a trace: takes every step again in plain Python, with models/run.py alone.

In:  a Trace from any source; or the path that an engine found.
Out: nothing, or a FalseTraceError that names the wrong step and the difference; `from_steps`: a certified Trace.

Who has the trace from a file adds that the file was edited (traces/format/folder.py); who has it from an engine, that
the engine is wrong (NotCertifiedError).
"""

from __future__ import annotations

from collections.abc import Sequence

from isrcheck.models import run
from isrcheck.models.language.declarations import INDUCTIVE, Kind
from isrcheck.models.language.model import IN_RANGE, Instance, Property, Step
from isrcheck.models.messages import ModelError, UsageError
from isrcheck.models.run import Cells
from isrcheck.traces.format.erring import path_of
from isrcheck.traces.format.lasso import certify_lasso, is_live
from isrcheck.traces.format.possibility import continuations, stuck_positions
from isrcheck.traces.format.spelling import spell_cell, spelled_at
from isrcheck.traces.format.trace import (
    HOLDS,
    NOT_INDUCTIVE,
    PERMITTED,
    REACHED,
    VERDICTS,
    VIOLATED,
    FalseTraceError,
    Trace,
    property_of,
)
from isrcheck.traces.format.why_false import false_guard


class NotCertifiedError(AssertionError):
    """Plain Python does not confirm a path that an engine found: an error in this program, never the user's."""


def certify(trace: Trace) -> None:
    """Certify a trace. Raises FalseTraceError that names the wrong step and the difference."""
    instance = trace.instance
    if len(trace.states) != len(trace.steps) + 1:
        raise FalseTraceError(f"{len(trace.states)} states do not fit {len(trace.steps)} steps")
    for position, cells in enumerate(trace.states):
        if len(cells) != instance.cells:
            raise FalseTraceError(f"state {position} has {len(cells)} cells instead of {instance.cells}")
    _certify_values(trace)
    if trace.states[0] not in instance.initial_states and trace.verdict != NOT_INDUCTIVE:
        raise FalseTraceError(f"state 0 is {_nearest_difference(instance, trace.states[0])}")
    for position, (before, step, after) in enumerate(zip(trace.states, trace.steps, trace.states[1:], strict=False), 1):
        _certify_step(instance, position, before, step, after)
    if trace.erring is not None:
        _certify_number(instance, trace.length, trace.erring)
    if trace.prop is IN_RANGE or trace.erring is not None:
        _certify_error(trace)
    elif trace.loop is not None or is_live(trace.prop):
        certify_lasso(trace)
    else:
        _certify_verdict(trace)


def _certify_error(trace: Trace) -> None:
    """Check that the error occurs at the end of the trace, and at no earlier position. Raises UsageError."""
    if trace.prop is not IN_RANGE or trace.verdict != VIOLATED:
        raise FalseTraceError(
            f"it ends with an error of a step or a property, but its verdict is not {IN_RANGE.name} {VIOLATED}"
        )
    if trace.error is None:
        where = trace.spell_position(trace.length)
        raise FalseTraceError(f"{IN_RANGE.name} is not broken at {where}, but the trace says {VIOLATED}")


def _certify_values(trace: Trace) -> None:
    """Raise UsageError if a cell of state 0 is outside its range; the steps keep all later states in range."""
    for place in trace.instance.layouts.values():
        for cell in range(place.offset, place.offset + place.count):
            value = trace.states[0][cell]
            if not place.low <= value <= place.high:
                name = spell_cell(trace.instance, cell)
                raise FalseTraceError(f"state 0: {name} is {value}, outside {place.low}..{place.high}")


def _certify_step(instance: Instance, position: int, before: Cells, step: Step, after: Cells) -> None:
    _certify_number(instance, position, step)
    label = f"step {position} ({instance.spell_step(step)})"
    found = run.take(instance, before, step)
    if found is None:
        raise FalseTraceError(f"{label} is not enabled: {false_guard(instance, before, step)}")
    if found != after:
        raise FalseTraceError(f"{label} leads to another state: {_difference(instance, found, after)}")


def _certify_number(instance: Instance, position: int, step: Step) -> None:
    if not 0 <= step.number < instance.first_steps[-1] or instance.step(step.number) != step:
        raise FalseTraceError(f"step {position}: {step.action} with {list(step.ordinals)} is not a step of the model")


def _difference(instance: Instance, expected: Cells, found: Cells) -> str:
    """The first cell in which two states differ, with both values."""
    position = next(i for i, (one, other) in enumerate(zip(expected, found, strict=True)) if one != other)
    (name, should), (_, does) = (
        one for cells in (expected, found) for one in spelled_at(instance, cells, [position]).items()
    )
    return f"{name} is {should}, but the trace says {does}"


def _nearest_difference(instance: Instance, found: Cells) -> str:
    """Why a state is not initial: the first difference from the initial state with the most equal cells."""

    def differences(initial: Cells) -> int:
        return sum(one != other for one, other in zip(initial, found, strict=True))

    nearest = min(instance.initial_states, key=differences)
    return f"not an initial state: {_difference(instance, nearest, found)}"


def _certify_verdict(trace: Trace) -> None:
    prop = trace.prop
    if prop is None or trace.verdict is None:
        if prop is not None or trace.verdict is not None:
            raise FalseTraceError("it has a property without a verdict, or a verdict without a property")
        return
    if trace.verdict not in VERDICTS:
        raise UsageError(f"unknown verdict {trace.verdict}; there are: {', '.join(VERDICTS)}")
    if _rests_on_the_search(trace, prop):
        return
    found = judgements(trace.instance, prop, trace.states, trace.steps)
    if trace.verdict == NOT_INDUCTIVE:
        judge(trace.instance, prop, trace.states, trace.steps, trace.length)
        if prop.kind not in INDUCTIVE or trace.length == 0 or found[-1] is None or any(found[:-1]):
            raise FalseTraceError(f"{prop.name} is not broken by the last step alone")
        return
    if trace.verdict == HOLDS:
        if prop.kind is Kind.SOMETIMES:
            raise FalseTraceError(f"{prop.name} can only be {REACHED}, but the trace says {HOLDS}")
        for position, verdict in enumerate(found):
            if verdict is not None:
                where = trace.spell_position(position)
                raise FalseTraceError(f"{prop.name} is {verdict} at {where}, but the trace says {HOLDS}")
        return
    if found[-1] != trace.verdict:
        says = found[-1] or ("not reached" if prop.kind is Kind.SOMETIMES else "not broken")
        where = trace.spell_position(trace.length)
        raise FalseTraceError(f"{prop.name} is {says} at {where}, but the trace says {trace.verdict}")
    first = found.index(trace.verdict)
    if first != trace.length:
        raise FalseTraceError(
            f"{prop.name} is {trace.verdict} already at {trace.spell_position(first)},"
            f" but the trace goes on to step {trace.length}"
        )


def _rests_on_the_search(trace: Trace, prop: Property) -> bool:
    """Whether too many states follow the end of the trace to confirm here that it violates an `always_possible`."""
    end = trace.states[-1]
    if prop.kind is not Kind.ALWAYS_POSSIBLE or trace.verdict not in (VIOLATED, PERMITTED):
        return False
    if continuations(trace.instance, prop, end).is_possible is not None:
        return False
    return trace.verdict == _failure(trace.instance, prop, end)


def judgements(instance: Instance, prop: Property, states: Sequence[Cells], steps: Sequence[Step]) -> list[str | None]:
    """Return the verdict on the property at each position: VIOLATED, PERMITTED, REACHED, or None.

    A property of transitions is judged at the end of each transition. If it cannot be evaluated, the verdict is None;
    so it is for an `always_possible` property if too many states follow to be searched in plain Python.
    """
    if is_live(prop):
        return [None] * len(states)  # no path without a loop breaks it
    if prop.kind is Kind.ALWAYS_POSSIBLE:
        judged = zip(states, stuck_positions(instance, prop, states), strict=True)
        return [_failure(instance, prop, cells) if is_stuck else None for cells, is_stuck in judged]
    found: list[str | None] = []
    for position in range(len(states)):
        try:
            found.append(judge(instance, prop, states, steps, position))
        except ModelError:
            found.append(None)
    return found


def judge(
    instance: Instance, prop: Property, states: Sequence[Cells], steps: Sequence[Step], position: int
) -> str | None:
    """Return the verdict on the property at one position; None for a property of endless behaviours, which no position
    breaks. Raises ModelError if it cannot be evaluated there."""
    if is_live(prop):
        return None
    if prop.kind is Kind.ALWAYS_POSSIBLE:
        is_true = continuations(instance, prop, states[position]).is_possible is not False
    elif not prop.of_steps:
        is_true = run.holds(instance, prop, states[position])
    elif position == 0:
        return None
    else:
        is_true = run.holds_step(instance, prop, states[position - 1], steps[position - 1], states[position])
    if prop.kind is Kind.SOMETIMES:
        return REACHED if is_true else None
    if is_true:
        return None
    return _failure(instance, prop, states[position])


def _failure(instance: Instance, prop: Property, cells: Cells) -> str:
    return PERMITTED if run.is_permitted(instance, prop, cells) else VIOLATED


def from_steps(
    instance: Instance,
    initial_index: int,
    step_numbers: Sequence[int],
    property_name: str | None,
    command: str,
    verdict: str | None = None,
    loop: int | None = None,
) -> Trace:
    """Return the certified trace of a path that an engine found. Raises NotCertifiedError if plain Python disagrees.

    Without `verdict` the trace has to end when the property is VIOLATED, PERMITTED or REACHED for the first time; with
    `verdict` it has to end with exactly that verdict. With `loop`, it is a lasso that returns to that position. A path
    that violates `in_range` may end in a step that causes an error.
    """
    if property_name == IN_RANGE.name:
        path = path_of(instance, initial_index, step_numbers)
        erring = Trace(instance, path.states, path.steps, property_name, VIOLATED, command, path.erring)
        return _certified(erring)
    try:
        steps = [instance.step(number) for number in step_numbers]
        return behaviour(instance, initial_index, steps, property_name, command, verdict, loop)
    except ModelError:
        raise
    except (UsageError, IndexError) as error:
        raise NotCertifiedError(
            f"plain Python does not confirm the path that the engine found: {error} (reproduce: {command})"
        ) from error


def _certified(trace: Trace) -> Trace:
    try:
        certify(trace)
    except UsageError as error:
        raise NotCertifiedError(
            f"plain Python does not confirm the path that the engine found: {error} (reproduce: {trace.command})"
        ) from error
    return trace


def from_any_state(instance: Instance, before: Cells, step: Step, property_name: str, command: str) -> Trace:
    """Return the certified trace of one step that violates a property, from a state that need not be reachable.

    Raises ModelError if the step, or the evaluation of the property after it, causes an error, and NotCertifiedError if
    plain Python disagrees with the engine.
    """
    try:
        after = run.take(instance, before, step)
        if after is None:
            raise UsageError(f"{instance.spell_step(step)} is not enabled: {false_guard(instance, before, step)}")
        trace = Trace(instance, (before, after), (step,), property_name, NOT_INDUCTIVE, command)
        certify(trace)
    except ModelError:
        raise
    except (UsageError, IndexError) as error:
        raise NotCertifiedError(
            f"plain Python does not confirm the path that the engine found: {error} (reproduce: {command})"
        ) from error
    return trace


def step_named(instance: Instance, text: str) -> Step:
    """Return the step with this text, as `Instance.spell_step` writes it. Raises UsageError if there is none."""
    action = text.partition(" ")[0]
    for step in instance.steps:
        if step.action == action and instance.spell_step(step) == text:
            return step
    raise UsageError(f"{instance.model.name} has no step `{text}` in this configuration")


def behaviour(
    instance: Instance,
    initial_index: int,
    steps: Sequence[Step],
    property_name: str | None,
    command: str,
    verdict: str | None = None,
    loop: int | None = None,
) -> Trace:
    """Return the certified trace of these steps, which a user chose, from initial state number `initial_index`; with
    `loop`, it is a lasso. Raises UsageError if they are not possible."""
    starts = instance.initial_states
    if not 0 <= initial_index < len(starts):
        raise UsageError(f"there is no initial state {initial_index}; the initial states are 0..{len(starts) - 1}")
    states = [starts[initial_index]]
    for position, step in enumerate(steps, 1):
        after = run.take(instance, states[-1], step)
        if after is None:
            guard = false_guard(instance, states[-1], step)
            raise UsageError(f"step {position} ({instance.spell_step(step)}) is not enabled: {guard}")
        states.append(after)
    if property_name is not None and verdict is None:
        prop = property_of(instance, property_name)
        verdict = judgements(instance, prop, states, steps)[-1]
        if verdict is None:
            raise UsageError(f"after {len(steps)} steps {property_name} is neither violated nor reached")
    trace = Trace(instance, tuple(states), tuple(steps), property_name, verdict, command, loop=loop)
    certify(trace)
    return trace

"""Certifies a trace: takes every step again in plain Python, with models/run.py alone.

If a trace from a file is not confirmed, the file was edited (traces/format/files.py reports this); if a trace from an
engine is not confirmed, the engine is wrong (NotCertifiedError).

A lasso is a path whose end is repeated for ever; it can violate a property of endless behaviours (liveness). A loop
without steps means that the behaviour stays in its last state. For fairness, a step counts as possible or taken only if
it changes the state and causes no error.

An `always_possible` property is violated in a state if no path leads from there to a state in which the property is
true. In the search for such a path, as in the checker's search, a step that causes an error has no successor, and a
property that cannot be evaluated in a state counts as true there.
"""

from __future__ import annotations

import contextlib
import operator
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from isrcheck.models import run
from isrcheck.models.fair_groups import FairGroup, groups_of
from isrcheck.models.language.declarations import INDUCTIVE, LIVENESS, Kind
from isrcheck.models.language.model import IN_RANGE, Instance, Property, Step
from isrcheck.models.language.reading.reader import Function
from isrcheck.models.messages import ModelError, UsageError
from isrcheck.models.run import Cells
from isrcheck.traces.format.trace import (
    HOLDS,
    NOT_INDUCTIVE,
    PERMITTED,
    REACHED,
    VERDICTS,
    VIOLATED,
    FalseTraceError,
    Trace,
    error_in,
    path_of,
    possible_steps,
    property_of,
    spell_cell,
    spelled_at,
)
from isrcheck.traces.format.why_false import false_guard


class NotCertifiedError(AssertionError):
    """Plain Python does not confirm a path that an engine found: an error in this program, never the user's."""


def certify(trace: Trace) -> None:
    """Certify a trace. Raises FalseTraceError, whose message names the wrong step and how plain Python differs."""
    instance = trace.instance
    if len(trace.states) != len(trace.steps) + 1:
        raise FalseTraceError(f"it has {len(trace.states)} states, which do not fit {len(trace.steps)} steps")
    for position, cells in enumerate(trace.states):
        if len(cells) != instance.cells:
            raise FalseTraceError(f"state {position} has {len(cells)} cells instead of {instance.cells}")
    _certify_values(trace)
    first = trace.states[0]
    if first not in instance.initial_states and trace.verdict != NOT_INDUCTIVE:
        nearest = min(instance.initial_states, key=lambda initial: sum(map(operator.ne, initial, first)))
        raise FalseTraceError(f"state 0 is not an initial state: {_difference(instance, nearest, first)}")
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
    """Raise FalseTraceError unless the error that the trace names occurs at its end, and at no earlier position."""
    if trace.prop is not IN_RANGE or trace.verdict != VIOLATED:
        raise FalseTraceError(
            f'it ends with an error of a step or a property, but its verdict is not "{IN_RANGE.name} {VIOLATED}"'
        )
    if trace.error is None:
        where = trace.spell_position(trace.length)
        raise FalseTraceError(f'{IN_RANGE.name} is not broken at {where}, but the trace says "{VIOLATED}"')


def _certify_values(trace: Trace) -> None:
    """Raise FalseTraceError if a cell of state 0 is outside its range; the steps keep all later states in range."""
    for layout in trace.instance.layouts.values():
        for cell in range(layout.offset, layout.offset + layout.count):
            value = trace.states[0][cell]
            if not layout.low <= value <= layout.high:
                name = spell_cell(trace.instance, cell)
                raise FalseTraceError(f"state 0: {name} is {value}, outside {layout.low}..{layout.high}")


def _certify_step(instance: Instance, position: int, before: Cells, step: Step, after: Cells) -> None:
    _certify_number(instance, position, step)
    label = f"step {position} ({instance.spell_step(step)})"
    successor = run.take(instance, before, step)
    if successor is None:
        raise FalseTraceError(f"{label} is not enabled: {false_guard(instance, before, step)}")
    if successor != after:
        raise FalseTraceError(f"{label} leads to another state: {_difference(instance, successor, after)}")


def _certify_number(instance: Instance, position: int, step: Step) -> None:
    if not 0 <= step.number < instance.first_steps[-1] or instance.step(step.number) != step:
        raise FalseTraceError(f"step {position}: {step.action} with {list(step.ordinals)} is not a step of the model")


def _difference(instance: Instance, expected: Cells, stated: Cells) -> str:
    position = next(i for i, values in enumerate(zip(expected, stated, strict=True)) if len({*values}) > 1)
    ((name, value),) = spelled_at(instance, expected, [position]).items()
    (stated_value,) = spelled_at(instance, stated, [position]).values()
    return f"{name} is {value}, but the trace says {stated_value}"


def _certify_verdict(trace: Trace) -> None:
    prop = trace.prop
    if prop is None or trace.verdict is None:
        if prop is not None or trace.verdict is not None:
            raise FalseTraceError("it has a property without a verdict, or a verdict without a property")
        return
    if trace.verdict not in VERDICTS:
        raise UsageError(f"unknown verdict {trace.verdict}; the verdicts are: {', '.join(VERDICTS)}")
    if _rests_on_the_search(trace, prop):
        return
    verdicts = judgements(trace.instance, prop, trace.states, trace.steps)
    if trace.verdict == NOT_INDUCTIVE:
        judge(trace.instance, prop, trace.states, trace.steps, trace.length)
        if prop.kind not in INDUCTIVE or trace.length == 0 or verdicts[-1] is None or any(verdicts[:-1]):
            raise FalseTraceError(
                f'{prop.name} does not become false in the last step, but the trace says "{NOT_INDUCTIVE}"'
            )
        return
    if trace.verdict == HOLDS:
        if prop.kind is Kind.SOMETIMES:
            raise FalseTraceError(f'the verdict on {prop.name} can only be "{REACHED}", but the trace says "{HOLDS}"')
        for position, verdict in enumerate(verdicts):
            if verdict is not None:
                where = trace.spell_position(position)
                raise FalseTraceError(f'{prop.name} is {verdict} at {where}, but the trace says "{HOLDS}"')
        return
    if verdicts[-1] != trace.verdict:
        actual = verdicts[-1] or ("not reached" if prop.kind is Kind.SOMETIMES else "not broken")
        where = trace.spell_position(trace.length)
        raise FalseTraceError(f'{prop.name} is {actual} at {where}, but the trace says "{trace.verdict}"')
    first = verdicts.index(trace.verdict)
    if first != trace.length:
        raise FalseTraceError(
            f"{prop.name} is {trace.verdict} already at {trace.spell_position(first)},"
            f" but the trace goes on to step {trace.length}"
        )


def _rests_on_the_search(trace: Trace, prop: Property) -> bool:
    """Whether only the checker can show that an `always_possible` property fails: too many states to search follow."""
    end = trace.states[-1]
    return (
        prop.kind is Kind.ALWAYS_POSSIBLE
        and trace.verdict in (VIOLATED, PERMITTED)
        and continuations(trace.instance, prop, end).is_possible is None
        and trace.verdict == _failure(trace.instance, prop, end)
    )


def judgements(instance: Instance, prop: Property, states: Sequence[Cells], steps: Sequence[Step]) -> list[str | None]:
    """Return the verdict on the property at each position: VIOLATED, PERMITTED, REACHED, or None.

    For a property of transitions, the verdict is on the step that leads to the position. The verdict is None where the
    property cannot be evaluated, and, for an `always_possible` property, where too many states can follow to search.
    """
    if is_live(prop):
        return [None] * len(states)  # no path without a loop breaks it
    if prop.kind is Kind.ALWAYS_POSSIBLE:
        judged = zip(states, stuck_positions(instance, prop, states), strict=True)
        return [_failure(instance, prop, cells) if is_stuck else None for cells, is_stuck in judged]
    verdicts: list[str | None] = []
    for position in range(len(states)):
        verdicts.append(None)
        with contextlib.suppress(ModelError):
            verdicts[position] = judge(instance, prop, states, steps, position)
    return verdicts


def judge(
    instance: Instance, prop: Property, states: Sequence[Cells], steps: Sequence[Step], position: int
) -> str | None:
    """Return the verdict on the property at one position, or None; always None for a property of endless behaviours,
    because no single position can break it. Raises ModelError if the property cannot be evaluated there."""
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
    return None if is_true else _failure(instance, prop, states[position])


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
    `verdict` it has to end with exactly that verdict. With `loop`, the trace is a lasso that returns to that position.
    If the path violates `in_range`, its last step is allowed to cause an error.
    """
    with _confirming(command):
        if property_name != IN_RANGE.name:
            steps = [instance.step(number) for number in step_numbers]
            return behaviour(instance, initial_index, steps, property_name, command, verdict, loop)
        path = path_of(instance, initial_index, step_numbers)
        trace = Trace(instance, path.states, path.steps, property_name, VIOLATED, command, path.erring)
        certify(trace)
    return trace


@contextlib.contextmanager
def _confirming(command: str) -> Iterator[None]:
    """Turn the errors by which plain Python refuses an engine's path into NotCertifiedError: the engine is wrong."""
    try:
        yield
    except ModelError:
        raise
    except (UsageError, IndexError) as error:
        raise NotCertifiedError(
            f"plain Python does not confirm the path that the engine found: {error} (reproduce: {command})"
        ) from error


def from_any_state(instance: Instance, before: Cells, step: Step, property_name: str, command: str) -> Trace:
    """Return the certified trace of one step that violates a property, from a state that need not be reachable.

    Raises ModelError if the step, or the evaluation of the property after it, causes an error, and NotCertifiedError if
    plain Python disagrees with the engine.
    """
    with _confirming(command):
        after = run.take(instance, before, step)
        if after is None:
            raise UsageError(f"{instance.spell_step(step)} is not enabled: {false_guard(instance, before, step)}")
        trace = Trace(instance, (before, after), (step,), property_name, NOT_INDUCTIVE, command)
        certify(trace)
    return trace


def step_named(instance: Instance, text: str) -> Step:
    """Return the step with this text, as `Instance.spell_step` writes it. Raises UsageError if no step has it."""
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
    `loop`, a lasso that returns to that position. Raises UsageError if the steps are not possible."""
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


# --------------------------------------------------------------------------------------------------------------- lassos


def is_live(prop: Property | None) -> bool:
    """Whether a property is about endless behaviours, so that no path without a loop breaks it."""
    return prop is not None and prop.kind in LIVENESS


def certify_lasso(trace: Trace) -> None:
    """Certify that a trace with certified steps is a lasso that breaks the trace's property as the verdict says.
    Raises FalseTraceError, and ModelError if the property cannot be evaluated."""
    prop, loop = trace.prop, trace.loop
    if prop is None or not is_live(prop) or loop is None:
        raise FalseTraceError(
            "it has no loop"
            if loop is None
            else "it has a loop, which only a trace of a property of endless behaviours (liveness) can have"
        )
    if trace.verdict not in (VIOLATED, PERMITTED):
        raise FalseTraceError(f'a lasso shows that a property is {VIOLATED} or {PERMITTED}, not "{trace.verdict}"')
    if not 0 <= loop <= len(trace.steps) or trace.states[loop] != trace.states[-1]:
        raise FalseTraceError(f"its last state differs from state {loop}, to which its loop returns")
    instance = trace.instance
    _certify_property(trace, prop, loop)
    for group in groups_of(instance, prop):
        if _taken_at(trace, loop, group) is not None:
            continue
        enabled = _enabled_at(trace, loop, group)
        if group.is_strong and enabled:
            raise FalseTraceError(
                f"its loop is not strongly fair to {group.name}: {trace.spell_position(enabled[0])} allows this step,"
                " but it is never taken"
            )
        if len(enabled) == len(_positions(trace, loop)):
            raise FalseTraceError(
                f"its loop is not fair to {group.name}: every state of the loop allows this step, but it is never taken"
            )
    fails = [cells for cells in trace.states[loop:] if not run.holds(instance, prop, cells)]
    verdict = PERMITTED if any(run.is_permitted(instance, prop, cells) for cells in fails) else VIOLATED
    if verdict != trace.verdict:
        raise FalseTraceError(f'the loop makes {prop.name} {verdict}, but the trace says "{trace.verdict}"')


def _certify_property(trace: Trace, prop: Property, loop: int) -> None:
    """Raise FalseTraceError if the lasso does not break the property, judged by the property's value in its states."""
    instance = trace.instance
    first = _first_false(trace, prop, loop)
    if first is None:
        raise FalseTraceError(f"{prop.name} is not broken: its premise is true in no state of the trace")
    if prop.kind is Kind.EVENTUALLY_ALWAYS:
        if all(run.holds(instance, prop, cells) for cells in trace.states[loop:]):
            raise FalseTraceError(f"{prop.name} is true in every state of the loop")
        return
    # If the conclusion becomes due within the loop, the whole loop comes after that.
    for position in range(min(first, loop), len(trace.states)):
        if run.holds(instance, prop, trace.states[position]):
            raise FalseTraceError(f"{prop.name} is true at {trace.spell_position(position)}")


def _first_false(trace: Trace, prop: Property, loop: int) -> int | None:
    """Return the first position at which the value of the property decides whether the lasso breaks it.

    For `leads_to`, this is the last position at which the premise is true; None if the premise is true nowhere.
    """
    if prop.kind is not Kind.LEADS_TO:
        return 0 if prop.kind is Kind.EVENTUALLY else loop
    positions = reversed(range(len(trace.states)))
    return next((at for at in positions if is_asked(trace.instance, prop, trace.states[at])), None)


def is_asked(instance: Instance, prop: Property, cells: Cells) -> bool:
    """Whether the premise of a `leads_to` property is true in a state. Raises ModelError."""
    return prop.premise is not None and run.asks(instance, prop, prop.premise, cells)


def _positions(trace: Trace, loop: int) -> range:
    """The positions of the loop's states, each once."""
    return range(loop, max(loop + 1, len(trace.steps)))


def _taken_at(trace: Trace, loop: int, group: FairGroup) -> int | None:
    """The number of the first step of the loop that belongs to the group and changes the state; or None."""
    for at in range(loop + 1, len(trace.states)):
        before, step, after = trace.states[at - 1], trace.steps[at - 1], trace.states[at]
        if before != after and group.has(trace.instance, before, step):
            return at
    return None


def _enabled_at(trace: Trace, loop: int, group: FairGroup) -> list[int]:
    """The positions of the loop at which a step of the group leads to another state."""
    instance = trace.instance
    return [
        at
        for at in _positions(trace, loop)
        if any(
            after != trace.states[at] and group.has(instance, trace.states[at], step)
            for step, after in possible_steps(instance, trace.states[at])
        )
    ]


def lasso_lines(trace: Trace) -> list[str]:
    """Return sentences about a lasso: what is repeated, what stays false, and how the loop is fair."""
    prop, loop = trace.prop, trace.loop
    if prop is None or loop is None:
        return []
    repeated = trace.length - loop
    if not repeated:
        end = f"After step {loop}, the behaviour stays where it is for ever" if loop else "The behaviour never moves"
    elif repeated == 1:
        end = f"Step {trace.length} is repeated for ever"
    else:
        end = f"Steps {loop + 1} to {trace.length} are repeated for ever"
    return [f"{end}{_what_fails(trace, prop)}.", *_fairness(trace, prop, loop)]


def _what_fails(trace: Trace, prop: Property) -> str:
    match prop.kind:
        case Kind.EVENTUALLY:
            return f", and {prop.name} never becomes true"
        case Kind.LEADS_TO:
            due = _first_false(trace, prop, trace.loop or 0)
            since = "the initial state" if not due else f"step {due}"
            premise = prop.premise.name if prop.premise is not None else ""
            return f"; {premise} is true at {since}, and {prop.name} does not become true after it"
        case Kind.ALWAYS_EVENTUALLY:
            return f", and {prop.name} does not become true again"
    return f", and {prop.name} is false again and again"


def _fairness(trace: Trace, prop: Property, loop: int) -> Iterator[str]:
    groups = groups_of(trace.instance, prop)
    if not groups:
        yield "No step has to be taken: the property and the actions declare no fairness."
    idle: dict[tuple[bool, int | None], list[FairGroup]] = {}
    taken: list[FairGroup] = []
    positions = _positions(trace, loop)
    for group in groups:
        at = _taken_at(trace, loop, group)
        if at is not None:
            taken.append(group)
            again = ", again and again" if group.is_strong else ""
            yield f"{_fair(group.is_strong)} to {group.name}: taken in step {at}{again}."
            continue
        enabled = _enabled_at(trace, loop, group)
        is_never = group.is_strong and len(positions) > 1
        disabled = None if is_never else next(each for each in positions if each not in enabled)
        idle.setdefault((group.is_strong, disabled), []).append(group)
    for (is_strong, position), members in idle.items():
        where = "in any state of the loop" if position is None else _at(position)
        yield f"{_fair(is_strong)} to {'; to '.join(_names(members, taken, groups))}: not possible {where}."
    for position, name in possible_again_and_again(trace):
        what = f"Possible again and again, {_at(position)}, but never taken: {name}"
        yield f"{what}. Only strong fairness would demand it."


def possible_again_and_again(trace: Trace) -> list[tuple[int, str]]:
    """Return the fair groups that a lasso never takes although some of its states allow a step of them: for each first
    such position, their names. Weak fairness does not demand these steps, strong fairness would."""
    if trace.prop is None or trace.loop is None:
        return []
    groups = groups_of(trace.instance, trace.prop)
    taken = [group for group in groups if _taken_at(trace, trace.loop, group) is not None]
    often: dict[int, list[FairGroup]] = {}
    for group in groups:
        enabled = [] if group in taken else _enabled_at(trace, trace.loop, group)
        if enabled:
            often.setdefault(enabled[0], []).append(group)
    return [(position, "; ".join(_names(members, taken, groups))) for position, members in often.items()]


def _fair(is_strong: bool) -> str:
    return "Strongly fair" if is_strong else "Fair"


def _at(position: int) -> str:
    return f"at step {position}" if position else "in the initial state"


def _names(idle: Sequence[FairGroup], taken: Sequence[FairGroup], groups: Sequence[FairGroup]) -> Iterator[str]:
    """Yield the names of the fair groups in `idle`, of which the loop takes no step. Several groups of the same actions
    get one name, such as `tick for each broker`, if every group of these actions is in `idle` or in `taken`."""
    for kind, members in groupby(idle, _kind):
        alike = list(members)
        others, every = (sum(one == kind for one in map(_kind, some)) for some in (taken, groups))
        if len(alike) > 1 and len(alike) + others == every:
            yield alike[0].named(f"for each {'other ' if others else ''}{' and '.join(alike[0].each)}")
        else:
            yield from (group.name for group in alike)


def _kind(group: FairGroup) -> tuple[str, tuple[str, ...], bool, Function | None]:
    return group.what, group.each, group.is_strong, group.condition


# ---------------------------------------------------------------------------------------------- what can follow a state


UNREACHABLE = "The first state may be unreachable: the proof does not exclude it."
"""What a trace that is NOT INDUCTIVE says about its first state."""

MOST_STATES = 1000
"""The most states that are searched from one state: plain Python needs up to two seconds for them."""


@dataclass(frozen=True)
class Continuations:
    """The result of a search that starts in one state and ends at the first state in which the property is true.
    `states` are the states that the search found, with the state in which it started."""

    is_possible: bool | None
    """Whether the property can become true; None if the limit ended the search."""
    states: frozenset[Cells]


def continuations(
    instance: Instance, prop: Property, cells: Cells, stuck: frozenset[Cells] = frozenset()
) -> Continuations:
    """Search from `cells` for a state in which `prop` is true; `stuck` has states from which no such state follows."""
    reached, waiting = {cells}, deque([cells])
    while waiting:
        here = waiting.popleft()
        if here in stuck:
            continue
        if run.is_within(instance, here) and (
            error_in(instance, prop, (here,), (), 0) is not None or run.holds(instance, prop, here)
        ):
            return Continuations(True, frozenset(reached))
        for _, after in possible_steps(instance, here):
            if after not in reached:
                if len(reached) == MOST_STATES:
                    return Continuations(None, frozenset(reached))
                reached.add(after)
                waiting.append(after)
    return Continuations(False, frozenset(reached) | stuck)


def stuck_positions(instance: Instance, prop: Property, states: Sequence[Cells]) -> list[bool]:
    """Return, for each state of a path, whether it is certain that no state in which `prop` is true can follow."""
    stuck: frozenset[Cells] = frozenset()
    for position in reversed(range(len(states))):
        following = continuations(instance, prop, states[position], stuck)
        if following.is_possible is not False:
            return [False] * (position + 1) + [True] * (len(states) - position - 1)
        stuck = following.states
    return [True] * len(states)


def continuation_text(instance: Instance, prop: Property, cells: Cells) -> str:
    """A sentence about the end of a trace that violates an `always_possible` property: how many states can follow."""
    following = continuations(instance, prop, cells)
    claim = f"From here, no path leads to a state in which {prop.name} is true"
    if following.is_possible is None:
        return f"{claim}, says the checker; not certified here: more than {MOST_STATES:,} states can follow."
    others = len(following.states) - 1
    states = "no other state" if not others else f"{others:,} other {'state' if others == 1 else 'states'}"
    return f"{claim}: {states} can follow."

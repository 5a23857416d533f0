"""Lassos: paths whose end is repeated for ever, which violate a property of endless behaviours (liveness).

In:  a Trace with a `loop`: the position of the state that is its last state as well.
Out: whether plain Python confirms that the lasso breaks its property; sentences that tell how.

A loop without steps means that the behaviour stays in its last state. A step that leaves the state as it is counts as
no step, and neither does a step that causes an error.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby

from isrcheck.models import run
from isrcheck.models.fair_groups import FairGroup, groups_of
from isrcheck.models.language.declarations import LIVENESS, Kind
from isrcheck.models.language.model import Instance, Property
from isrcheck.models.run import Cells
from isrcheck.traces.format.erring import possible_steps
from isrcheck.traces.format.trace import PERMITTED, VIOLATED, FalseTraceError, Trace


def is_live(prop: Property | None) -> bool:
    """Whether a property is one of endless behaviours, which no path without a loop breaks."""
    return prop is not None and prop.kind in LIVENESS


def certify_lasso(trace: Trace) -> None:
    """Certify that a trace, whose steps are certified, is a lasso that breaks its property as its verdict says. Raises
    FalseTraceError, ModelError."""
    prop, loop = trace.prop, trace.loop
    if prop is None or not is_live(prop) or loop is None:
        what = "a loop, but no property of endless behaviours" if loop is not None else "no loop"
        raise FalseTraceError(f"it has {what}")
    if trace.verdict not in (VIOLATED, PERMITTED):
        raise FalseTraceError(f"a lasso shows that a property is {VIOLATED} or {PERMITTED}, not {trace.verdict}")
    if not 0 <= loop <= len(trace.steps) or trace.states[loop] != trace.states[-1]:
        raise FalseTraceError(f"its last state is not state {loop}, to which its loop returns")
    instance = trace.instance
    _certify_property(trace, prop, loop)
    for group in groups_of(instance, prop):
        if not _is_fair(trace, loop, group):
            raise FalseTraceError(
                f"it is not fair to {group.name}: a step of it is possible in every state of the loop, and never taken"
            )
    fails = [cells for cells in trace.states[loop:] if not run.holds(instance, prop, cells)]
    verdict = PERMITTED if any(run.is_permitted(instance, prop, cells) for cells in fails) else VIOLATED
    if verdict != trace.verdict:
        raise FalseTraceError(f"{prop.name} is {verdict} by its loop, but the trace says {trace.verdict}")


def _certify_property(trace: Trace, prop: Property, loop: int) -> None:
    """Raise FalseTraceError if the property is true where the lasso says it is false."""
    instance = trace.instance
    first = _first_false(trace, prop, loop)
    if first is None:
        raise FalseTraceError(f"{prop.name}: its premise is true in no state after which the property stays false")
    if prop.kind is Kind.EVENTUALLY_ALWAYS:
        if all(run.holds(instance, prop, cells) for cells in trace.states[loop:]):
            raise FalseTraceError(f"{prop.name} is true in every state of the loop")
        return
    # If it is asked for within the loop, the whole loop comes after that.
    for position in range(min(first, loop), len(trace.states)):
        if run.holds(instance, prop, trace.states[position]):
            raise FalseTraceError(f"{prop.name} is true at {trace.spell_position(position)}")


def _first_false(trace: Trace, prop: Property, loop: int) -> int | None:
    """The position from which on the property has to be false; None if there is none.

    For `leads_to`, it is the last one in which the premise is true, so that no more than necessary is asked.
    """
    if prop.kind is Kind.EVENTUALLY:
        return 0
    if prop.kind is not Kind.LEADS_TO:
        return loop
    return next(
        (at for at in reversed(range(len(trace.states))) if is_asked(trace.instance, prop, trace.states[at])), None
    )


def is_asked(instance: Instance, prop: Property, cells: Cells) -> bool:
    """Whether the premise of a `leads_to` property is true in a state. Raises ModelError."""
    return prop.premise is not None and run.asks(instance, prop, prop.premise, cells)


def _is_fair(trace: Trace, loop: int, group: FairGroup) -> bool:
    """Whether the loop takes a step of the group, or none is possible in one of its states."""
    return _taken_at(trace, loop, group) is not None or _disabled_at(trace, loop, group) is not None


def _taken_at(trace: Trace, loop: int, group: FairGroup) -> int | None:
    """The number of the first step of the loop that belongs to the group and changes the state."""
    return next(
        (
            at
            for at in range(loop + 1, len(trace.states))
            if trace.steps[at - 1].number in group.steps and trace.states[at - 1] != trace.states[at]
        ),
        None,
    )


def _disabled_at(trace: Trace, loop: int, group: FairGroup) -> int | None:
    """The first position of the loop at which no step of the group leads to another state."""
    for at in range(loop, max(loop + 1, len(trace.steps))):
        cells = trace.states[at]
        if not any(
            step.number in group.steps and after != cells for step, after in possible_steps(trace.instance, cells)
        ):
            return at
    return None


def back(trace: Trace) -> str:
    """What follows the last step of a lasso, in a few words."""
    loop = trace.loop
    assert loop is not None
    if loop == trace.length:
        return "stays here for ever"
    return f"back to step {loop}"


def lines(trace: Trace) -> list[str]:
    """Sentences about a lasso: what is repeated, what stays false, and how the loop is fair. None for other traces."""
    prop, loop = trace.prop, trace.loop
    if prop is None or loop is None:
        return []
    repeated = trace.length - loop
    if not repeated:
        goes = f"After step {loop}, the behaviour stays where it is for ever" if loop else "The behaviour never moves"
    elif repeated == 1:
        goes = f"Step {trace.length} is repeated for ever"
    else:
        goes = f"Steps {loop + 1} to {trace.length} are repeated for ever"
    return [f"{goes}{_what_fails(trace, prop)}.", *_fairness(trace, prop, loop)]


def _what_fails(trace: Trace, prop: Property) -> str:
    match prop.kind:
        case Kind.EVENTUALLY:
            return f", and {prop.name} never becomes true"
        case Kind.LEADS_TO:
            asked = _first_false(trace, prop, trace.loop or 0)
            since = "the initial state" if not asked else f"step {asked}"
            premise = prop.premise.name if prop.premise is not None else ""
            return f"; {premise} is true at {since}, and {prop.name} does not become true after it"
        case Kind.ALWAYS_EVENTUALLY:
            return f", and {prop.name} does not become true again"
    return f", and {prop.name} is false again and again"


def _fairness(trace: Trace, prop: Property, loop: int) -> Iterator[str]:
    """How the loop is fair to each group of steps."""
    groups = groups_of(trace.instance, prop)
    if not groups:
        yield "No step has to be taken: the property and the actions declare no fairness."
    disabled: dict[int | None, list[FairGroup]] = {}
    taken: list[FairGroup] = []
    for group in groups:
        at = _taken_at(trace, loop, group)
        if at is not None:
            taken.append(group)
            yield f"Fair to {group.name}: taken in step {at}."
        else:
            disabled.setdefault(_disabled_at(trace, loop, group), []).append(group)
    for position, those in disabled.items():
        where = f"at step {position}" if position else "in the initial state"
        yield f"Fair to {'; to '.join(_names(those, taken, groups))}: not possible {where}."


def _names(those: Sequence[FairGroup], taken: Sequence[FairGroup], groups: Sequence[FairGroup]) -> Iterator[str]:
    """The names of some of the groups; one name for all those of the same actions of which no step is taken."""
    for (what, each), found in groupby(those, lambda group: (group.what, group.each)):
        alike = list(found)
        told, every = (sum((one.what, one.each) == (what, each) for one in some) for some in (taken, groups))
        if len(alike) > 1 and len(alike) + told == every:
            yield f"{what} for each {'other ' if told else ''}{' and '.join(each)}"
        else:
            yield from (group.name for group in alike)

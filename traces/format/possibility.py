"""Whether a path leads from a state to a state in which an `always_possible` property is true, in plain Python.

In:  an instance, a property, a state.
Out: `Continuations`: whether there is such a path, or that the states that can follow are too many to be searched.

Once no path leads there, no step changes that: the property stays violated. An error in a step has no successor, and a
property that cannot be evaluated counts as true, as in the search of the checker.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass

from isrcheck.models import run
from isrcheck.models.language.model import Instance, Property
from isrcheck.models.run import Cells
from isrcheck.traces.format.erring import error_in, possible_steps

MOST_STATES = 1000
"""The most states that are searched from one state: plain Python needs up to two seconds for them."""


@dataclass(frozen=True)
class Continuations:
    """The states that can follow a state, itself included, as far as they were searched: up to the first in which the
    property is true. `is_possible` is None if the limit ended the search."""

    is_possible: bool | None
    states: frozenset[Cells]


def continuations(
    instance: Instance, prop: Property, cells: Cells, known: frozenset[Cells] = frozenset()
) -> Continuations:
    """Search the states that can follow a state for one in which `prop` is true. No path leads there from the states
    `known`."""
    seen, waiting = {cells}, deque([cells])
    while waiting:
        here = waiting.popleft()
        if here in known:
            continue
        if run.is_within(instance, here) and _is_true(instance, prop, here):
            return Continuations(True, frozenset(seen))
        for _, after in possible_steps(instance, here):
            if after not in seen:
                if len(seen) == MOST_STATES:
                    return Continuations(None, frozenset(seen))
                seen.add(after)
                waiting.append(after)
    return Continuations(False, frozenset(seen) | known)


def _is_true(instance: Instance, prop: Property, cells: Cells) -> bool:
    return error_in(instance, prop, (cells,), (), 0) is not None or run.holds(instance, prop, cells)


def stuck_positions(instance: Instance, prop: Property, states: Sequence[Cells]) -> list[bool]:
    """Whether it is certain that no path leads from each state of a path to a state in which `prop` is true."""
    stuck: frozenset[Cells] = frozenset()
    for position in reversed(range(len(states))):
        found = continuations(instance, prop, states[position], stuck)
        if found.is_possible is not False:
            return [False] * (position + 1) + [True] * (len(states) - position - 1)
        stuck = found.states
    return [True] * len(states)


def continuation_text(instance: Instance, prop: Property, cells: Cells) -> str:
    """A sentence about the end of a trace that violates an `always_possible` property."""
    found = continuations(instance, prop, cells)
    claim = f"From here, no path leads to a state in which {prop.name} is true"
    if found.is_possible is None:
        return f"{claim}, says the checker; not certified here: more than {MOST_STATES:,} states can follow."
    others = len(found.states) - 1
    follow = "no other state" if not others else f"{others:,} other {'state' if others == 1 else 'states'}"
    return f"{claim}: {follow} can follow."

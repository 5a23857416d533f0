"""The steps to which a behaviour must be fair before it can violate a liveness property.

In:  an instance, a liveness property.
Out: groups of steps: if a step of a group stays possible, a step of the group is eventually taken
     (`Fairness` in models/language/declarations).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from isrcheck.models.language.declarations import Fairness, checked_of_action
from isrcheck.models.language.model import Instance, Property
from isrcheck.models.messages import UsageError

MOST_GROUPS = 4096
"""The most groups of steps for which one property may require fairness."""


@dataclass(frozen=True)
class FairGroup:
    """Steps, given by their numbers: if one of them stays possible, one of them is eventually taken.

    They are steps of the actions `what`, for the given `values` of the parameters `each`.
    """

    what: str
    each: tuple[str, ...]
    values: str
    steps: frozenset[int]

    @property
    def name(self) -> str:
        """The actions and the values, in words."""
        return f"{self.what} with {self.values}" if self.values else self.what


def groups_of(instance: Instance, prop: Property) -> tuple[FairGroup, ...]:
    """Return the groups of steps to which a behaviour must be fair before it can violate a liveness property.

    These are the groups of the property, if it declares any, and otherwise those of the actions of the protocol. Raises
    UsageError if there are too many.
    """
    declared = of_actions(instance) if prop.fair is None else prop.fair
    found: list[FairGroup] = []
    for fairness in declared:
        for group in _groups(instance, fairness):
            if len(found) == MOST_GROUPS:
                raise UsageError(
                    f"{prop.name} is to be fair to more than {MOST_GROUPS} groups of steps; use smaller bounds"
                )
            found.append(group)
    return tuple(found)


def of_actions(instance: Instance) -> tuple[Fairness, ...]:
    """Return the fairness that the actions of the protocol declare."""
    found: list[Fairness] = []
    for number, action in enumerate(instance.model.actions):
        function = instance.function(number)
        given = False if function is None or function.mark is None else function.mark.fair
        found += checked_of_action(given, action.name, action.name, action.domains)
    return tuple(found)


def _groups(instance: Instance, fairness: Fairness) -> Iterator[FairGroup]:
    """The groups of one declaration: one for each combination of values of its parameters."""
    slots = [
        slot
        for slot, action in enumerate(instance.model.actions)
        if (action.name in fairness.actions or not fairness.actions) and instance.function(slot) is not None
    ]
    what = " or ".join(fairness.actions) or "any action"
    found: dict[tuple[int, ...], list[int]] = {}
    if not fairness.each:
        found[()] = []
    for slot in slots:
        ranges = {one.parameter.name: one for one in instance.argument_ranges[slot]}
        places = [list(ranges).index(name) for name in fairness.each]
        for number in range(instance.first_steps[slot], instance.first_steps[slot + 1]):
            ordinals = instance.step(number).ordinals
            found.setdefault(tuple(ordinals[place] for place in places), []).append(number)
    for key, numbers in sorted(found.items()):
        values = ", ".join(
            f"{name}={ranges[name].spell(value)}" for name, value in zip(fairness.each, key, strict=True)
        )
        yield FairGroup(what, fairness.each, values, frozenset(numbers))

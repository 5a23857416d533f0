"""The steps to which a behaviour must be fair before it can violate a liveness property.

The steps form groups: if a step of a group stays possible, a step of the group is eventually taken (`Fairness` in
models/language/declarations).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

from isrcheck.models.language.declarations import Fairness, checked_of_action
from isrcheck.models.language.model import Instance, Property
from isrcheck.models.messages import UsageError

MOST_GROUPS = 4096
"""The most groups of steps for which one property may require fairness."""


@dataclass(frozen=True)
class FairGroup:
    """A group of steps: if a step of the group stays possible, a step of the group is eventually taken."""

    what: str
    """The actions of the steps, in words."""
    each: tuple[str, ...]
    """The parameters that have the same values in all steps of the group."""
    values: str
    """The values of the parameters `each`, as text."""
    steps: frozenset[int]
    """The numbers of the steps."""

    @property
    def name(self) -> str:
        """The actions and the values of the group, in words."""
        return f"{self.what} with {self.values}" if self.values else self.what


def groups_of(instance: Instance, prop: Property) -> tuple[FairGroup, ...]:
    """Return the groups of steps to which a behaviour must be fair before it can violate a liveness property.

    The groups come from the fairness that the property declares or, if it declares nothing about fairness, from the
    fairness that the protocol's actions declare. Raises UsageError if there are too many groups.
    """
    declared = of_actions(instance) if prop.fair is None else prop.fair
    groups = (group for fairness in declared for group in _groups(instance, fairness))
    first_groups = tuple(islice(groups, MOST_GROUPS + 1))
    if len(first_groups) > MOST_GROUPS:
        what = f"{prop.name} needs fairness to more than {MOST_GROUPS} groups of steps"
        raise UsageError(f"{what}; use smaller bounds")
    return first_groups


def of_actions(instance: Instance) -> tuple[Fairness, ...]:
    """Return the fairness that the actions of the protocol declare."""
    declared: list[Fairness] = []
    for number, action in enumerate(instance.model.actions):
        function = instance.function(number)
        fair = False if function is None or function.mark is None else function.mark.fair
        declared += checked_of_action(fair, action.name, action.name, action.domains)
    return tuple(declared)


def _groups(instance: Instance, fairness: Fairness) -> Iterator[FairGroup]:
    """Yield the groups of one declaration: one for each combination of values of the parameters in `fairness.each`."""
    slots = [
        slot
        for slot, action in enumerate(instance.model.actions)
        if (action.name in fairness.actions or not fairness.actions) and instance.function(slot) is not None
    ]
    what = " or ".join(fairness.actions) or "any action"
    steps: dict[tuple[int, ...], list[int]] = {} if fairness.each else {(): []}
    for slot in slots:
        ranges = {argument.parameter.name: argument for argument in instance.argument_ranges[slot]}
        places = [list(ranges).index(name) for name in fairness.each]
        for number in range(instance.first_steps[slot], instance.first_steps[slot + 1]):
            ordinals = instance.step(number).ordinals
            steps.setdefault(tuple(ordinals[place] for place in places), []).append(number)
    for key, numbers in sorted(steps.items()):
        values = ", ".join(
            f"{name}={ranges[name].spell(value)}" for name, value in zip(fairness.each, key, strict=True)
        )
        yield FairGroup(what, fairness.each, values, frozenset(numbers))

"""The steps to which a behaviour must be fair before it can violate a liveness property.

The steps form groups: if a step of a group stays possible (for strong fairness: if steps of the group are possible
again and again), a step of the group is eventually taken (models/language/fairness.py). If the group has a condition,
only steps from states in which it is true belong to the group.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

from isrcheck.models.language.fairness import Fairness
from isrcheck.models.language.model import Instance, Property, Step
from isrcheck.models.language.reading.reader import Function
from isrcheck.models.language.states import Cells, State
from isrcheck.models.messages import ModelError, UsageError

MOST_GROUPS = 4096
"""The most groups of steps for which one property may require fairness."""


@dataclass(frozen=True)
class FairGroup:
    """A group of steps: if a step of the group stays possible, or for strong fairness, if steps of the group are
    possible again and again, a step of the group is eventually taken."""

    what: str
    """The actions of the steps, in words."""
    each: tuple[str, ...]
    """The parameters that have the same values in all steps of the group."""
    values: str
    """The values of the parameters `each`, as text."""
    steps: frozenset[int]
    """The numbers of the steps."""
    is_strong: bool = False
    """Whether fairness to the group is strong."""
    condition: Function | None = None
    """The condition in which a step counts, a function of the state and of parameters of the step; None if every step
    counts."""

    @property
    def name(self) -> str:
        """The actions, the values and the condition of the group, in words."""
        return self.named(f"with {self.values}" if self.values else "")

    def named(self, values: str) -> str:
        """Return the actions and the condition of the group in words, with these words about its values."""
        condition = f"where {self.condition.name}" if self.condition is not None else ""
        return " ".join(filter(None, (self.what, values, condition)))

    def has(self, instance: Instance, cells: Cells, step: Step) -> bool:
        """Whether a step from this state belongs to the group. Raises ModelError if its condition has no value."""
        if step.number not in self.steps or self.condition is None:
            return step.number in self.steps
        ranges = instance.argument_ranges[step.action_index]
        arguments = {
            each.parameter.name: each.argument(ordinal) for each, ordinal in zip(ranges, step.ordinals, strict=True)
        }
        own = (arguments[parameter.name] for parameter in self.condition.arguments)
        try:
            return bool(instance.python(self.condition)(State(instance, cells), *own))
        except ModelError as error:
            where = f"{self.condition.path}:{self.condition.line}: {self.condition.name}"
            raise ModelError(f"{where}: {instance.spell_step(step)}: {error}") from None


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
        if function is not None:
            declared += action.fairness(function, instance.model.reader)
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
        steps_of_group = frozenset(numbers)
        yield FairGroup(what, fairness.each, values, steps_of_group, fairness.is_strong, fairness.condition)

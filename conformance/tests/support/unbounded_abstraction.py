"""The slice of a model, held against steps of the model itself.

In:  an `UnboundedAbstraction`, and steps of an instance whose sizes are whatever they are.
Out: whether the slice allows such a step, once what it does not keep is forgotten.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from isrcheck.checker.proofs.unbounded_abstraction import AbstractStep, UnboundedAbstraction
from isrcheck.checker.resources.formula_budget import Answer
from isrcheck.checker.symbolic.and_inverter_graph import FALSE, TRUE, Truth
from isrcheck.checker.symbolic.symbolic_state import Value
from isrcheck.models import run
from isrcheck.models.language.model import Instance, Property, Step
from isrcheck.models.messages.errors import ModelError
from isrcheck.models.run import Cells

Known = tuple[str, tuple[int | None, ...]]
"""An action and its arguments, None where the slice leaves them open."""

Truths = tuple[tuple[str, bool], ...]
"""What properties say, by name."""


@dataclass(frozen=True)
class Projected:
    """A step of the model without what the slice does not keep, and what properties say of it."""

    step: Known
    before: Cells
    after: Cells
    truths: Truths


class Projection:
    """One slice, and the questions about it that fix a configuration, a state and a step."""

    def __init__(self, abstraction: UnboundedAbstraction, properties: Sequence[Property] = ()) -> None:
        self.abstraction = abstraction
        self.properties = properties
        self.solver = abstraction.solver()
        self._of_states = {p.name: abstraction.ask(p, [abstraction.before]) for p in properties if not p.of_steps}
        self._of_steps = {
            (prop.name, id(step)): abstraction.ask(prop, [abstraction.before, step.after], step.taken)
            for prop in properties
            if prop.of_steps
            for step in abstraction.steps
        }

    def kept(self, instance: Instance, cells: Cells) -> Cells:
        """The cells of the fields that the slice has."""
        return tuple(
            value
            for name in self.abstraction.kept
            for place in [instance.layouts[name]]
            for value in cells[place.offset : place.offset + place.count]
        )

    def equal(self, values: Sequence[Value], kept: Sequence[int]) -> list[int]:
        """The literals that say that cells have these values."""
        return [self._equals(value, number) for value, number in zip(values, kept, strict=True)]

    def _equals(self, value: Value, number: int) -> int:
        if isinstance(value, Truth):
            return value.literal if number else -value.literal
        if isinstance(value, bool):
            return TRUE if value == bool(number) else FALSE
        return self.abstraction.arithmetic.compare("==", value, number)

    def pinned(self, instance: Instance) -> list[int]:
        """The literals that say that what is open is what it is in this instance."""
        entries = self.abstraction.evaluator.entries
        return [self._equals(value, getattr(instance.configuration, name)) for name, value in entries.items()]

    def steps(self, action: str, arguments: Sequence[int | None]) -> Iterator[AbstractStep]:
        """The steps of the slice that a step of the model can be."""
        for step in self.abstraction.steps:
            if step.action == action and all(
                mine is None or mine == its for mine, its in zip(step.arguments, arguments, strict=True)
            ):
                yield step

    def allows(self, instance: Instance, one: Projected) -> bool:
        """Whether the slice has this step, with properties that say this of it."""
        assumed = [*self.pinned(instance), *self.equal(self.abstraction.before, one.before)]
        return any(
            self.solver.check(*assumed, step.enabled, *self.equal(step.after, one.after), *self._say(step, one.truths))
            is Answer.YES
            for step in self.steps(*one.step)
        )

    def _say(self, step: AbstractStep, truths: Truths) -> Iterator[int]:
        for name, truth in truths:
            holds, asked = self._of_states[name] if name in self._of_states else self._of_steps[name, id(step)]
            yield from (asked, holds if truth else -holds)

    def projected(self, instance: Instance, cells: Cells) -> dict[Projected, Step]:
        """The enabled steps of a state; those that leave the declaration, or whose properties do, are none."""
        found = {}
        for step in instance.steps:
            try:
                after = run.take(instance, cells, step)
                if after is None:
                    continue
                truths = tuple(
                    (prop.name, run.holds_step(instance, prop, cells, step, after))
                    if prop.of_steps
                    else (prop.name, run.holds(instance, prop, cells))
                    for prop in self.properties
                )
            except ModelError:
                continue
            same = (one.arguments for one in self.steps(step.action, step.ordinals))
            known = step.action, next(same, step.ordinals)
            found[Projected(known, self.kept(instance, cells), self.kept(instance, after), truths)] = step
        return found

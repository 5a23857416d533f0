"""Compares an unbounded abstraction with steps of the model itself.

In:  an `UnboundedAbstraction`, and steps of an instance of any size.
Out: whether the abstraction allows such a step, projected to its fields.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from isrcheck.checker.proofs.unbounded_abstraction import AbstractStep, UnboundedAbstraction
from isrcheck.checker.resources.limits import Answer
from isrcheck.checker.symbolic.and_inverter_graph import FALSE, TRUE, Truth
from isrcheck.checker.symbolic.evaluator import Value
from isrcheck.models import run
from isrcheck.models.language.model import Instance, Property, Step
from isrcheck.models.messages import ModelError
from isrcheck.models.run import Cells

Known = tuple[str, tuple[int | None, ...]]
"""An action and its arguments, None where the slice leaves them open."""

Truths = tuple[tuple[str, bool], ...]
"""The values of properties by name."""


@dataclass(frozen=True)
class Projected:
    """A step of the model, projected to the fields of the abstraction, with the values of properties."""

    step: Known
    before: Cells
    after: Cells
    truths: Truths


class Projection:
    """One abstraction, and queries on it for a given configuration, state and step."""

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
        """The cells of the fields in the abstraction."""
        return tuple(
            value
            for name in self.abstraction.kept
            for place in [instance.layouts[name]]
            for value in cells[place.offset : place.offset + place.count]
        )

    def equal(self, values: Sequence[Value], kept: Sequence[int]) -> list[int]:
        """The literals for these values of cells."""
        return [self._equals(value, number) for value, number in zip(values, kept, strict=True)]

    def _equals(self, value: Value, number: int) -> int:
        if isinstance(value, Truth):
            return value.literal if number else -value.literal
        if isinstance(value, bool):
            return TRUE if value == bool(number) else FALSE
        return self.abstraction.arithmetic.compare("==", value, number)

    def pinned(self, instance: Instance) -> list[int]:
        """The literals for the values of open entries in this instance."""
        entries = self.abstraction.evaluator.entries
        return [self._equals(value, getattr(instance.configuration, name)) for name, value in entries.items()]

    def steps(self, action: str, arguments: Sequence[int | None]) -> Iterator[AbstractStep]:
        """The steps of the abstraction that correspond to a step of the model."""
        for step in self.abstraction.steps:
            if step.action == action and all(
                mine is None or mine == its for mine, its in zip(step.arguments, arguments, strict=True)
            ):
                yield step

    def allows(self, instance: Instance, one: Projected) -> bool:
        """Whether the abstraction has this step with these values of the properties."""
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
        """The enabled steps of a state, without those that leave a declared range or whose properties do."""
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

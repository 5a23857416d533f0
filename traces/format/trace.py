"""A trace: one path of a model, and the verdict on a property at its end.

In:  built by certify.py (from the path that an engine found) or by itf.py (from a file).
Out: the value that all other modules of this package read.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from isrcheck.models.language.model import DEADLOCK, IN_RANGE, Instance, Property, Step
from isrcheck.models.messages import UsageError, nearest
from isrcheck.models.run import Cells
from isrcheck.traces.format.erring import Error, error_at_end

VIOLATED = "VIOLATED"
PERMITTED = "PERMITTED"
REACHED = "REACHED"
HOLDS = "HOLDS ON THIS PATH"
NOT_INDUCTIVE = "NOT INDUCTIVE"
"""The property is true in a state that may be unreachable, and the last step violates it."""

VERDICTS = (VIOLATED, PERMITTED, REACHED, HOLDS, NOT_INDUCTIVE)


class FalseTraceError(UsageError):
    """A trace is not true: the message says what plain Python finds instead.

    If the trace was read from a file, the file was edited; if an engine made it, the engine is wrong."""


def arguments_of(instance: Instance, step: Step) -> dict[str, Any]:
    """Return the arguments of a step by the names of the action's parameters."""
    ranges = instance.argument_ranges[step.action_index]
    return {one.parameter.name: one.argument(number) for one, number in zip(ranges, step.ordinals, strict=True)}


@dataclass(frozen=True, eq=False)
class Trace:
    """States and the steps between them; the verdict is on the property in the last state or on the last step.

    State 0 is an initial state of the instance, unless the verdict is NOT_INDUCTIVE. A plain behaviour has neither
    property nor verdict. `command` reproduces the trace. `erring` is a step from the last state that writes a value or
    uses an index out of range, so it has no successor; the property is then `in_range`. A trace with a `loop` is a
    lasso: its last state is the one at position `loop`, and the steps between are repeated for ever; if there are none,
    the behaviour stays there.
    """

    instance: Instance
    states: tuple[Cells, ...]
    steps: tuple[Step, ...]
    property_name: str | None
    verdict: str | None
    command: str
    erring: Step | None = None
    loop: int | None = None

    @property
    def every_step(self) -> tuple[Step, ...]:
        """The steps, followed by the step `erring` if there is one."""
        return self.steps if self.erring is None else (*self.steps, self.erring)

    @property
    def length(self) -> int:
        """The number of steps, including the step `erring`."""
        return len(self.every_step)

    @cached_property
    def error(self) -> Error | None:
        """The error at the end of the trace, or None if there is none."""
        if self.property_name != IN_RANGE.name:
            return None
        return error_at_end(self.instance, self.states, self.steps, self.erring)

    def state_at(self, position: int) -> Cells:
        """Return the state after step `position`; for the step `erring`, the state before it."""
        return self.states[min(position, len(self.states) - 1)]

    @property
    def prop(self) -> Property | None:
        """The property named `property_name`, or None. Raises UsageError if the model has no such property."""
        return None if self.property_name is None else property_of(self.instance, self.property_name)

    def spell_row(self, position: int) -> str:
        """Return the text of the step that led to a state; for state 0, a description of the initial state."""
        if position:
            return self.instance.spell_step(self.every_step[position - 1])
        return "from this state" if self.verdict == NOT_INDUCTIVE else "initially"

    def spell_position(self, position: int) -> str:
        """Return the text that denotes a state in messages: its step with number, action and arguments."""
        if position == 0:
            return "the initial state"
        return f"step {position} ({self.instance.spell_step(self.every_step[position - 1])})"


def property_of(instance: Instance, name: str) -> Property:
    """Return the property or lemma of this name, which has to apply under this configuration; or an implicit one.

    Raises UsageError.
    """
    for implicit in (IN_RANGE, DEADLOCK):
        if name == implicit.name:
            return implicit
    for prop in (*instance.model.properties, *instance.model.lemmas):
        if prop.name == name:
            if prop not in (*instance.properties, *instance.lemmas):
                raise UsageError(
                    f"{name} does not apply to this configuration; change the configuration, or name another property"
                )
            return prop
    known = [prop.name for prop in (*instance.model.properties, *instance.model.lemmas)]
    raise UsageError(f"{instance.model.name} has no property {name}; {nearest(name, known)}")

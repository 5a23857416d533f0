"""A trace: one history of a model, and what it shows about a property.

In:  built by certify.py (from the path that an engine found) or by itf.py (from a file).
Out: the value that everything else in this package reads.
"""

from __future__ import annotations

from dataclasses import dataclass

from models.errors import UsageError
from models.language.model import Instance, Property, Step, nearest
from models.run import Cells

VIOLATED = "VIOLATED"
PERMITTED = "PERMITTED"
REACHED = "REACHED"
HOLDS = "HOLDS ON THIS PATH"
VERDICTS = (VIOLATED, PERMITTED, REACHED, HOLDS)


@dataclass(frozen=True, eq=False)
class Trace:
    """States and the steps between them; the verdict is that of the property in the last state or on the last step.

    A plain behaviour has neither property nor verdict. `command` is what reproduces the trace.
    """

    instance: Instance
    states: tuple[Cells, ...]
    steps: tuple[Step, ...]
    property_name: str | None
    verdict: str | None
    command: str

    @property
    def length(self) -> int:
        """How many transitions there are; state 0 is the initial one."""
        return len(self.steps)

    @property
    def prop(self) -> Property | None:
        """The property that the trace speaks about. Raises UsageError where the model has no such property."""
        return None if self.property_name is None else property_of(self.instance, self.property_name)

    def spell_position(self, position: int) -> str:
        """How a state is referred to: the step that led to it."""
        if position == 0:
            return "the initial state"
        return f"step {position} ({self.instance.spell_step(self.steps[position - 1])})"


def property_of(instance: Instance, name: str) -> Property:
    """The property of this name, which has to say something under this configuration. Raises UsageError."""
    for prop in instance.model.properties:
        if prop.name == name:
            if prop not in instance.properties:
                raise UsageError(f"{name} says nothing under this configuration: what it speaks about is switched off")
            return prop
    known = [prop.name for prop in instance.model.properties]
    raise UsageError(f"{instance.model.name} has no property {name}; {nearest(name, known)}")

"""The unbounded abstraction: a model reduced to its fields of fixed size, with any values for open bounds.

In:  an `Instance`.
Out: an `UnboundedAbstraction`: its steps as formulas over unbounded integers. Every step of the model, for all values
     of open bounds, becomes one of these steps when the other fields are removed.

Open configuration entries are bounds that are declared open (log length, number of records), budgets (elections,
faults) and client settings; they become integer variables. A domain whose size depends on them is open, too. An array
over an open domain has no cells: reads return any value of its range, writes are ignored. Loops over open domains are
havocked: each cell and local that the loop writes keeps its value, or takes one that an iteration from an arbitrary
state writes; cells that never decrease, or never increase, in an iteration are found first. Steps that leave a declared
range are excluded.

The abstraction over-approximates the model. What holds in it holds in the model; what does not hold in it may still
hold in the model.
"""

from __future__ import annotations

import itertools
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from isrcheck.checker.proofs.abstract_evaluator import OPEN, AbstractEvaluator, UnsupportedError, ends
from isrcheck.checker.resources.formula_budget import FormulaBudget
from isrcheck.checker.symbolic.and_inverter_graph import FALSE, TRUE, AndInverterGraph, Truth
from isrcheck.checker.symbolic.linear_integers import LinearArithmetic
from isrcheck.checker.symbolic.solver import Solver
from isrcheck.checker.symbolic.symbolic_state import Value
from isrcheck.models.language.declarations import Subset, size_of
from isrcheck.models.language.model import Configuration, Instance, Property, run_plain_python
from isrcheck.models.language.states import FieldLayout


@dataclass(frozen=True)
class AbstractStep:
    """A step of the abstraction: the action, the arguments (None: any value), when it is enabled, when it leaves a
    range or an index of fixed size, and the cells after it."""

    action: str
    arguments: tuple[int | None, ...]
    enabled: int
    error: int
    after: Sequence[Value]
    taken: Mapping[int, int]


class UnboundedAbstraction:
    """States and steps of the abstraction, over one and-inverter graph."""

    def __init__(self, instance: Instance, budget: FormulaBudget | None = None) -> None:
        self.instance = instance
        self.circuit = AndInverterGraph(budget)
        self.arithmetic = LinearArithmetic(self.circuit)
        self.open = frozenset(name for name, entry in instance.model.entries.items() if entry.is_open)
        self.layouts = self._places()
        self.evaluator = AbstractEvaluator(self)
        self.before = self.new_state()
        self.steps = [step for slot in range(len(instance.model.actions)) for step in self._steps(slot)]

    def size(self, size: Any, what: str) -> int:
        """The value of `size`, or OPEN if it depends on an open configuration entry; `what` names it in errors."""
        watched = _Watched(self.instance.configuration, self.open)
        number = run_plain_python(self.instance.model.path, what, size_of, size, watched)
        return OPEN if watched.was_asked else int(number)

    def _places(self) -> dict[str, FieldLayout]:
        places = {}
        offset = 0
        for name, declared in self.instance.model.fields.items():
            sizes = tuple(self.size(domain.size, f"field {name}") for domain in declared.over)
            low = self.size(declared.values.low, f"field {name}")
            high = self.size(declared.values.high, f"field {name}")
            place = FieldLayout(name, offset, sizes, low, high, declared)
            places[name] = place
            offset += 0 if OPEN in sizes else place.count
        return places

    @property
    def kept(self) -> list[str]:
        """The names of the fields of fixed size, which the abstraction keeps."""
        return [name for name, place in self.layouts.items() if OPEN not in place.sizes]

    def new_state(self) -> list[Value]:
        """A symbolic state whose cells may have any value of their ranges."""
        return [self.any_value(self.layouts[name]) for name in self.kept for _ in range(self.layouts[name].count)]

    def any_value(self, place: FieldLayout) -> Value:
        """A new symbolic value, which may be any value of a field."""
        if place.field.values.is_flag:
            return Truth(self.circuit.variable())
        return self.arithmetic.number(*ends(place))

    def _steps(self, slot: int) -> Sequence[AbstractStep]:
        function = self.instance.function(slot)
        if function is None:
            return []
        arguments: list[list[tuple[int | None, Value]]] = []
        for position, parameter in enumerate(function.arguments):
            domain = parameter.domain
            assert domain is not None
            size = self.size((domain.of if issubclass(domain, Subset) else domain).size, f"domain {domain.__name__}")
            if size != OPEN:
                choice = self.instance.argument_ranges[slot][position]
                arguments.append([(ordinal, choice.argument(ordinal)) for ordinal in range(choice.count)])
            elif issubclass(domain, Subset):
                raise UnsupportedError(
                    f"{function.path}:{function.line}: {function.name} takes a subset of an open (unbounded) domain"
                )
            else:
                arguments.append([(None, self.arithmetic.number(0, None))])
        found = []
        for chosen in itertools.product(*arguments):
            enabled, error, after = self.evaluator.act(self.before, function, [value for _, value in chosen])
            if enabled != FALSE or error != FALSE:
                name = self.instance.model.actions[slot].name
                known = tuple(number for number, _ in chosen)
                found.append(AbstractStep(name, known, enabled, error, after, {slot: TRUE}))
        return found

    def ask(
        self, prop: Property, states: Sequence[Sequence[Value]], taken: Mapping[int, int] | None = None
    ) -> tuple[int, int]:
        """The literal of a property, and the literal that its evaluation stays in range."""
        holds, _ = self.evaluator.ask(prop.function, states, taken)
        return holds, self.evaluator.alive

    def solver(self, deadline: float = float("inf")) -> Solver:
        """A solver for queries about this abstraction."""
        return Solver(self.circuit, deadline, self.arithmetic)


class _Watched:
    """A configuration that notes whether an entry without a fixed value (an open entry) is read."""

    def __init__(self, configuration: Configuration, is_open: Container[str]) -> None:
        self.configuration = configuration
        self.is_open = is_open
        self.was_asked = False

    def __getattr__(self, name: str) -> Any:
        # `items` reads open entries, too.
        self.was_asked |= name == "items" or name in self.is_open
        return getattr(self.configuration, name)

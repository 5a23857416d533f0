"""The base case of inductions: what is true in every initial state.

In:  an instance whose initial states are enumerated.
Out: a `BaseCase`, which tells whether a property of states is true in all of them.

Plain Python evaluates a property in the initial states that a model yields. Generators can make millions: Z3 asks for
one in which the property is false, and plain Python evaluates it in the state that Z3 names.
"""

from __future__ import annotations

from functools import cached_property

from isrcheck.checker.resources.formula_budget import Answer, FormulaBudget, UndecidedError
from isrcheck.checker.symbolic.and_inverter_graph import AndInverterGraph
from isrcheck.checker.symbolic.binary_integers import FiniteArithmetic
from isrcheck.checker.symbolic.evaluator import Evaluator
from isrcheck.checker.symbolic.initial_choice import InitialChoice, initial_choice
from isrcheck.checker.symbolic.solver import once
from isrcheck.models import run
from isrcheck.models.language.model import Instance, Property


class BaseCase:
    """The initial states of an instance."""

    def __init__(self, instance: Instance, budget: FormulaBudget, deadline: float) -> None:
        self.instance = instance
        self.budget = budget
        self.deadline = deadline

    @cached_property
    def _symbolic(self) -> tuple[Evaluator, InitialChoice]:
        circuit = AndInverterGraph(self.budget)
        evaluator = Evaluator(self.instance, circuit, FiniteArithmetic(circuit))
        return evaluator, initial_choice(self.instance, evaluator)

    def holds(self, prop: Property) -> bool:
        """Whether a property of states is true in every initial state. Raises ModelError if it cannot be evaluated in
        one, and UndecidedError."""
        if self.instance.model.generators:
            return self._holds_symbolically(prop)
        for cells in self.instance.initial_states:
            self.budget.look()
            if not run.holds(self.instance, prop, cells):
                return False
        return True

    def _holds_symbolically(self, prop: Property) -> bool:
        evaluator, choice = self._symbolic
        holds, _, error = evaluator.property(prop, [choice.cells])
        circuit = evaluator.circuit
        answer, values = once(circuit, [choice.condition, -circuit.both(holds, -error)], self.deadline)
        if not answer.is_known:
            raise UndecidedError(answer)
        if answer is Answer.NO:
            return True
        assert values is not None
        found = self.instance.initial_states[choice.number(values.holds)]
        assert not run.holds(self.instance, prop, found), f"Z3 and plain Python differ on {prop.name} in {found}"
        return False

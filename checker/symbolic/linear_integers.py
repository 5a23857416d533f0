"""Linear arithmetic over unbounded integers, for logs of every length.

In:  integers, and `LinearInteger`: sums of variables and a constant.
Out: the same types; a comparison is a variable of the and-inverter graph that represents a formula over integers.

The interface is that of checker/symbolic/finite_integers.py; checker/symbolic/evaluator.py works with both arithmetics.
A choice between two numbers is a new integer variable with a definition. Z3 gets the definitions of the variables that
occur in a query.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

import z3

from isrcheck.checker.symbolic.and_inverter_graph import FALSE, TRUE, AndInverterGraph


@dataclass(frozen=True, slots=True)
class LinearInteger:
    """constant + the sum of factor * variable over the pairs (variable, factor) in `terms`, sorted by variable."""

    terms: tuple[tuple[int, int], ...]
    constant: int = 0


Number = int | LinearInteger


class LinearArithmetic:
    """The operations of linear arithmetic over unbounded integers, which the evaluator uses."""

    def __init__(self, circuit: AndInverterGraph) -> None:
        self.circuit = circuit
        self.definitions: dict[int, list[int]] = defaultdict(list)
        self.names: list[z3.ArithRef] = []
        self._formulas: dict[int, tuple[z3.BoolRef, z3.BoolRef]] = {}
        self._atoms: dict[int, tuple[str, LinearInteger]] = {}
        self._known: dict[tuple[str, LinearInteger], int] = {}
        self._chosen: dict[tuple[int, Number, Number], LinearInteger] = {}

    def number(self, low: int | None, high: int | None) -> Number:
        """Return a new number, which can have each value in low..high. None for `low` or `high` means no bound."""
        if low is not None and low == high:
            return low
        number = LinearInteger(((len(self.names), 1),))
        self.names.append(z3.Int(f"i{len(self.names)}"))
        if low is not None:
            self.define(number, self.compare("<=", low, number))
        if high is not None:
            self.define(number, self.compare("<=", number, high))
        return number

    def define(self, number: Number, literal: int) -> None:
        """Add a literal to the definition of a number: every query about the number requires this literal."""
        assert isinstance(number, LinearInteger)
        self.definitions[number.terms[0][0]].append(literal)

    def of_truth(self, literal: int) -> Number:
        """Return a number that is 1 if the literal is true, and otherwise 0."""
        return self.choose(literal, 1, 0)

    def choose(self, condition: int, yes: Number, no: Number) -> Number:
        """Return a number that equals `yes` if the condition is true, and otherwise `no`."""
        if condition == TRUE or yes == no:
            return yes
        if condition == FALSE:
            return no
        if condition < 0:
            condition, yes, no = -condition, no, yes
        key = condition, yes, no
        if key not in self._chosen:
            number = self.number(None, None)
            assert isinstance(number, LinearInteger)
            self._chosen[key] = number
            either = self.circuit.either
            self.define(number, either(-condition, self.compare("==", number, yes)))
            self.define(number, either(condition, self.compare("==", number, no)))
        return self._chosen[key]

    def add(self, a: Number, b: Number) -> Number:
        """Return a + b."""
        if isinstance(a, int) and isinstance(b, int):
            return a + b
        terms: dict[int, int] = defaultdict(int)
        constant = 0
        for number in (a, b):
            if isinstance(number, int):
                constant += number
            else:
                constant += number.constant
                for variable, factor in number.terms:
                    terms[variable] += factor
        left = tuple(sorted((variable, factor) for variable, factor in terms.items() if factor))
        return LinearInteger(left, constant) if left else constant

    def negate(self, a: Number) -> Number:
        """Return -a."""
        if isinstance(a, int):
            return -a
        return LinearInteger(tuple((variable, -factor) for variable, factor in a.terms), -a.constant)

    def multiply(self, a: Number, b: Number) -> Number:
        """Return a * b. If both depend on variables (not linear), return a new number, which can have any value."""
        if isinstance(a, int):
            a, b = b, a
        if isinstance(a, int) and isinstance(b, int):
            return a * b
        if isinstance(b, int):
            assert isinstance(a, LinearInteger)
            terms = tuple((variable, factor * b) for variable, factor in a.terms)
            return LinearInteger(terms, a.constant * b) if b else 0
        return self.number(None, None)

    def quotient(self, a: Number, b: Number) -> Number:
        """Return a // b, rounded down. If b depends on variables, return a new number, which can have any value."""
        if isinstance(a, int) and isinstance(b, int):
            return a // b
        number = self.number(None, None)
        if isinstance(b, int):
            remainder = self.add(a, self.negate(self.multiply(number, b)))
            self.define(number, self.circuit.both(self.compare("<=", 0, remainder), self.compare("<", remainder, b)))
        return number

    def remainder(self, a: Number, b: Number) -> Number:
        """Return a % b, which is in 0..b-1. If b depends on variables, return a new number, which can have any value in
        this range."""
        if isinstance(b, int):
            return self.add(a, self.negate(self.multiply(self.quotient(a, b), b)))
        number = self.number(0, None)
        self.define(number, self.circuit.either(self.compare("<=", b, 0), self.compare("<", number, b)))
        return number

    def compare(self, sign: str, a: Number, b: Number) -> int:
        """Return the literal of a comparison such as a < b; `sign` is the operator."""
        if sign in ("!=", ">"):
            return -self.compare({"!=": "==", ">": "<="}[sign], a, b)
        if sign in (">=", "<"):
            return self.compare("<=", b, a) if sign == ">=" else -self.compare("<=", b, a)
        difference = self.add(a, self.negate(b))
        if isinstance(difference, int):
            return TRUE if (difference == 0 if sign == "==" else difference <= 0) else FALSE
        if difference.terms[0][1] > 0:
            return self._atom(sign, difference)
        opposite = self.negate(difference)
        assert isinstance(opposite, LinearInteger)
        if sign == "==":
            return self._atom(sign, opposite)
        # -t <= 0 exactly if not t < 0, that is, if not t + 1 <= 0.
        return -self._atom("<=", LinearInteger(opposite.terms, opposite.constant + 1))

    def _atom(self, sign: str, number: LinearInteger) -> int:
        if (sign, number) not in self._known:
            variable = self._known[sign, number] = self.circuit.variable()
            self._atoms[variable] = sign, number
        return self._known[sign, number]

    def formula(self, node: int) -> tuple[z3.BoolRef, z3.BoolRef] | None:
        """Return Z3's formulas of the comparison that the variable `node` represents, and of its negation; None if
        `node` represents no comparison."""
        if node not in self._atoms:
            return None
        if node not in self._formulas:
            formula = self._formula(node)
            self._formulas[node] = formula, z3.Not(formula)
        return self._formulas[node]

    def _formula(self, node: int) -> z3.BoolRef:
        sign, number = self._atoms[node]
        # Terms are split between the two sides, so that most formulas compare two variables.
        sides: list[list[z3.ArithRef | int]] = [[], []]
        for variable, factor in number.terms:
            name = self.names[variable]
            sides[factor < 0].append(name if abs(factor) == 1 else abs(factor) * name)
        left, right = (sum(side[1:], side[0]) if side else 0 for side in sides)
        right = right - number.constant if number.constant else right
        return left == right if sign == "==" else left <= right

    def defining(self, node: int) -> list[int]:
        """Return the definitions, as literals, of the numbers in the comparison that the variable `node` represents."""
        if node not in self._atoms:
            return []
        return [literal for variable, _ in self._atoms[node][1].terms for literal in self.definitions[variable]]

    def within(self, a: Number, low: int | None, high: int | None) -> tuple[int, Number]:
        """Return a literal that is true if a is in low..high, and a itself. None for `low` or `high` means no bound."""
        above = TRUE if low is None else self.compare("<=", low, a)
        below = TRUE if high is None else self.compare("<=", a, high)
        return self.circuit.both(above, below), a

    def is_element(self, a: Number, element: int) -> int:
        """Return a literal that is true if a equals `element`."""
        return self.compare("==", a, element)

    def value(self, model: z3.ModelRef, a: Number) -> int:
        """Return the value of a number in an assignment that Z3 found; a variable without a value counts as 0."""
        if isinstance(a, int):
            return a
        total = a.constant
        for variable, factor in a.terms:
            total += factor * int(model.eval(self.names[variable], model_completion=True).as_long())
        return total

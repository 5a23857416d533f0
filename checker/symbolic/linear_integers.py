"""Linear arithmetic over unbounded integers, for logs of every length.

In:  integers, and `LinearInteger`: sums of variables and a constant.
Out: the same types; comparisons are variables of the and-inverter graph, each of which represents a formula.

The interface is that of checker/symbolic/finite_integers.py, so that checker/symbolic/evaluator.py works with either.
A choice between two numbers is a new variable with a definition; Z3 gets the definitions of the variables that occur in
a query.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

import z3

from isrcheck.checker.symbolic.and_inverter_graph import FALSE, TRUE, AndInverterGraph


@dataclass(frozen=True, slots=True)
class LinearInteger:
    """constant + the sum of factor * variable over `terms`, which are sorted by variable."""

    terms: tuple[tuple[int, int], ...]
    constant: int = 0


Number = int | LinearInteger


class LinearArithmetic:
    """Linear arithmetic over unbounded integers."""

    def __init__(self, circuit: AndInverterGraph) -> None:
        self.circuit = circuit
        self.definitions: dict[int, list[int]] = defaultdict(list)
        self.names: list[z3.ArithRef] = []
        self._formulas: dict[int, tuple[z3.BoolRef, z3.BoolRef]] = {}
        self._atoms: dict[int, tuple[str, LinearInteger]] = {}
        self._known: dict[tuple[str, LinearInteger], int] = {}
        self._chosen: dict[tuple[int, Number, Number], LinearInteger] = {}

    def number(self, low: int | None, high: int | None) -> Number:
        """A new number between low and high (None: no such bound)."""
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
        """Make a literal part of the definition of a number: every query about the number requires it."""
        assert isinstance(number, LinearInteger)
        self.definitions[number.terms[0][0]].append(literal)

    def of_truth(self, literal: int) -> Number:
        """1 if the literal is true, otherwise 0."""
        return self.choose(literal, 1, 0)

    def choose(self, condition: int, yes: Number, no: Number) -> Number:
        """`yes` if the condition is true, otherwise `no`."""
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
        """a + b."""
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
        """-a."""
        if isinstance(a, int):
            return -a
        return LinearInteger(tuple((variable, -factor) for variable, factor in a.terms), -a.constant)

    def multiply(self, a: Number, b: Number) -> Number:
        """a * b; if both depend on variables, any number."""
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
        """a // b, rounded down; if b depends on variables, any number."""
        if isinstance(a, int) and isinstance(b, int):
            return a // b
        number = self.number(None, None)
        if isinstance(b, int):
            remainder = self.add(a, self.negate(self.multiply(number, b)))
            self.define(number, self.circuit.both(self.compare("<=", 0, remainder), self.compare("<", remainder, b)))
        return number

    def remainder(self, a: Number, b: Number) -> Number:
        """a % b, which is in 0..b-1; if b depends on variables, any of these numbers."""
        if isinstance(b, int):
            return self.add(a, self.negate(self.multiply(self.quotient(a, b), b)))
        number = self.number(0, None)
        self.define(number, self.circuit.either(self.compare("<=", b, 0), self.compare("<", number, b)))
        return number

    def compare(self, sign: str, a: Number, b: Number) -> int:
        """The literal of a comparison such as a < b; `sign` is the operator."""
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
        """The formulas for a variable of the graph and its negation; None for an ordinary variable."""
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
        """The definitions of the numbers in the formula of a variable of the graph."""
        if node not in self._atoms:
            return []
        return [literal for variable, _ in self._atoms[node][1].terms for literal in self.definitions[variable]]

    def within(self, a: Number, low: int | None, high: int | None) -> tuple[int, Number]:
        """Whether a is between low and high (None: no such bound), and a itself."""
        above = TRUE if low is None else self.compare("<=", low, a)
        below = TRUE if high is None else self.compare("<=", a, high)
        return self.circuit.both(above, below), a

    def is_element(self, a: Number, element: int) -> int:
        """Whether a is this element of a domain."""
        return self.compare("==", a, element)

    def value(self, model: z3.ModelRef, a: Number) -> int:
        """The value of a number in a model that Z3 found; 0 for a variable that does not matter."""
        if isinstance(a, int):
            return a
        total = a.constant
        for variable, factor in a.terms:
            total += factor * int(model.eval(self.names[variable], model_completion=True).as_long())
        return total

"""One-hot integers: numbers of finite ranges, as a map from each possible value to the literal that selects it.

In:  integers, and `OneHotInteger`.
Out: the same types; sums, comparisons and choices become Boolean formulas over the possible values.

Exactly one literal of a number is true, wherever the number has a value. Numbers of wide ranges are in
checker/symbolic/binary_integers.py, unbounded ones in checker/symbolic/linear_integers.py;
checker/symbolic/evaluator.py works with any of them.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from isrcheck.checker.symbolic.and_inverter_graph import FALSE, TRUE, AndInverterGraph

COMPARE: Mapping[str, Callable[[Any, Any], Any]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


class OneHotInteger:
    """A number that depends on variables: for each possible value, the literal that the number has this value."""

    __slots__ = ("of",)

    def __init__(self, of: Mapping[int, int]) -> None:
        self.of = of

    def __eq__(self, other: object) -> bool:
        return isinstance(other, OneHotInteger) and self.of == other.of

    def __hash__(self) -> int:
        return hash(tuple(sorted(self.of.items())))

    def __repr__(self) -> str:
        return f"OneHotInteger({dict(self.of)})"


Number = int | OneHotInteger

Image = Callable[[int], int]
"""What stands for a literal."""

Holds = Callable[[int], bool]
"""Whether a literal is true in an assignment."""


class OneHotArithmetic:
    """Arithmetic on one-hot integers."""

    def __init__(self, circuit: AndInverterGraph) -> None:
        self.circuit = circuit

    def number(self, low: int, high: int) -> Number:
        """A new number between low and high, inclusive; two values need one variable, more values one variable each."""
        if low == high:
            return low
        if high == low + 1:
            variable = self.circuit.variable()
            return OneHotInteger({low: -variable, high: variable})
        return OneHotInteger({value: self.circuit.variable() for value in range(low, high + 1)})

    def has_one_value(self, number: Number) -> int:
        """Whether exactly one value of a number is selected; required of every new number."""
        return TRUE if isinstance(number, int) else self.circuit.exactly_one(number.of.values())

    def of_truth(self, literal: int) -> Number:
        """1 if the literal is true, otherwise 0."""
        if literal in (TRUE, FALSE):
            return int(literal == TRUE)
        return OneHotInteger({0: -literal, 1: literal})

    def choose(self, condition: int, yes: Number, no: Number) -> Number:
        """`yes` if the condition is true, otherwise `no`."""
        if condition == TRUE or yes == no:
            return yes
        if condition == FALSE:
            return no
        one, other = _items(yes), _items(no)
        both, either = self.circuit.both, self.circuit.either
        cases = {value: both(condition, literal) for value, literal in one.items()}
        for value, literal in other.items():
            mine = both(-condition, literal)
            cases[value] = either(cases[value], mine) if value in cases else mine
        return self.known(cases)

    def known(self, cases: dict[int, int]) -> Number:
        """The number with these cases (value: literal), without the impossible ones."""
        for value, literal in cases.items():
            if literal == TRUE:
                return value
        return OneHotInteger({value: cases[value] for value in sorted(cases) if cases[value] != FALSE})

    def add(self, a: Number, b: Number) -> Number:
        """a + b."""
        if isinstance(a, int) and isinstance(b, int):
            return a + b
        if isinstance(a, int):
            a, b = b, a
        if a is b:  # a number has only one value at a time
            return OneHotInteger({2 * value: literal for value, literal in _items(a).items()})
        if isinstance(b, int):
            return OneHotInteger({value + b: literal for value, literal in _items(a).items()})
        return self._pairs(operator.add, a, b)

    def multiply(self, a: Number, b: Number) -> Number:
        """a * b."""
        return self._pairs(operator.mul, a, b)

    def quotient(self, a: Number, b: Number) -> Number:
        """a // b, rounded down; b is above 0."""
        return self._pairs(operator.floordiv, a, _above_0(b))

    def remainder(self, a: Number, b: Number) -> Number:
        """a % b, which is in 0..b-1; b is above 0."""
        return self._pairs(operator.mod, a, _above_0(b))

    def _pairs(self, operation: Callable[[int, int], int], a: Number, b: Number) -> Number:
        """The number that results from each pair of values of a and b."""
        if isinstance(a, int) and isinstance(b, int):
            return operation(a, b)
        cases: dict[int, int] = {}
        for one, literal in _items(a).items():
            self.circuit.budget.step()
            for other, second in _items(b).items():
                # A number has only one value at a time.
                found = (literal if one == other else FALSE) if a is b else self.circuit.both(literal, second)
                if found != FALSE:
                    value = operation(one, other)
                    cases[value] = self.circuit.either(cases.get(value, FALSE), found)
        return self.known(cases)

    def ends(self, a: Number) -> tuple[int, int]:
        """The least and the greatest value of a number."""
        return min(_items(a), default=0), max(_items(a), default=0)

    def negate(self, a: Number) -> Number:
        """-a."""
        return -a if isinstance(a, int) else OneHotInteger({-value: literal for value, literal in a.of.items()})

    def compare(self, sign: str, a: Number, b: Number) -> int:
        """The literal of a comparison such as a < b; `sign` is the operator."""
        compare = COMPARE[sign]
        if isinstance(a, int) and isinstance(b, int):
            return TRUE if compare(a, b) else FALSE
        either, both = self.circuit.either, self.circuit.both
        found = FALSE
        for one, literal in _items(a).items():
            matching = FALSE
            if isinstance(b, int):
                matching = TRUE if compare(one, b) else FALSE
            else:
                for other, second in b.of.items():
                    if compare(one, other):
                        matching = either(matching, second)
            found = either(found, both(literal, matching))
        return found

    def within(self, a: Number, low: int, high: int) -> tuple[int, Number]:
        """Whether a is between low and high, and a without the values outside."""
        if isinstance(a, int):
            return (TRUE if low <= a <= high else FALSE), a
        outside = [literal for value, literal in a.of.items() if not low <= value <= high]
        if not outside:
            return TRUE, a
        return -self.circuit.any(outside), OneHotInteger({v: one for v, one in a.of.items() if low <= v <= high})

    def is_element(self, a: Number, element: int) -> int:
        """Whether a is this element of a domain."""
        if isinstance(a, int):
            return TRUE if a == element else FALSE
        return a.of.get(element, FALSE)

    def literals(self, a: Number) -> Iterable[int]:
        """The literals of a number."""
        return () if isinstance(a, int) else a.of.values()

    def replaced(self, a: Number, image: Image) -> Number:
        """The number with each literal replaced by its image."""
        return a if isinstance(a, int) else self.known({value: image(literal) for value, literal in a.of.items()})

    def images(self, old: Number, new: Number) -> Iterable[tuple[int, int]]:
        """The variables of a number made by `number`, each with what stands for it if the number is `new`."""
        cases = _items(new)
        return [(literal, cases.get(value, FALSE)) for value, literal in _items(old).items() if literal > 1]

    def value(self, a: Number, holds: Holds) -> int:
        """The value of a number in an assignment, in which `holds` gives the value of a literal."""
        return a if isinstance(a, int) else next(value for value, literal in a.of.items() if holds(literal))


def _above_0(a: Number) -> Number:
    """A number without the values up to 0, which it never has, although their literals are not simplified to FALSE."""
    if isinstance(a, int) or min(a.of) > 0:
        return a
    return OneHotInteger({value: literal for value, literal in a.of.items() if value > 0})


def _items(a: Number) -> Mapping[int, int]:
    return {a: TRUE} if isinstance(a, int) else a.of

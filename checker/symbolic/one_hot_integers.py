"""Numbers out of finite ranges, each as the cases that it can be: {value: the literal that says so}.

In:  whole numbers, and `Cases`.
Out: the same, with sums, comparisons and choices worked out case by case, down to Boolean formulas.

Of the cases of one number exactly one is true, wherever the number has a value at all. The other reading of numbers,
without bounds, is checker/symbolic/linear_integers.py; checker/symbolic/evaluator.py works with either.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from isrcheck.checker.symbolic.and_inverter_graph import FALSE, TRUE, Circuit

COMPARE: Mapping[str, Callable[[Any, Any], Any]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


@dataclass(frozen=True, slots=True)
class Truth:
    """A truth value that depends on variables."""

    literal: int


class Cases:
    """A number that depends on variables; compared by its cases."""

    __slots__ = ("of",)

    def __init__(self, of: Mapping[int, int]) -> None:
        self.of = of

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Cases) and self.of == other.of

    def __hash__(self) -> int:
        return hash(tuple(sorted(self.of.items())))

    def __repr__(self) -> str:
        return f"Cases({dict(self.of)})"


Number = int | Cases


class FiniteArithmetic:
    """Arithmetic on cases."""

    def __init__(self, circuit: Circuit) -> None:
        self.circuit = circuit

    def number(self, low: int, high: int) -> Number:
        """A new number between low and high, both included; two values take one variable, more take one each."""
        if low == high:
            return low
        if high == low + 1:
            variable = self.circuit.variable()
            return Cases({low: -variable, high: variable})
        return Cases({value: self.circuit.variable() for value in range(low, high + 1)})

    def has_one_value(self, number: Number) -> int:
        """Whether exactly one case of a number is true: what has to be demanded of a new one."""
        return TRUE if isinstance(number, int) else self.circuit.exactly_one(number.of.values())

    def of_truth(self, literal: int) -> Number:
        """1 where the literal is true, 0 where it is not."""
        if literal in (TRUE, FALSE):
            return int(literal == TRUE)
        return Cases({0: -literal, 1: literal})

    def choose(self, condition: int, yes: Number, no: Number) -> Number:
        """`yes` where the condition is true, `no` where it is not."""
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
        """The number with these cases, without those that are impossible."""
        for value, literal in cases.items():
            if literal == TRUE:
                return value
        return Cases({value: cases[value] for value in sorted(cases) if cases[value] != FALSE})

    def add(self, a: Number, b: Number) -> Number:
        """a + b."""
        if isinstance(a, int) and isinstance(b, int):
            return a + b
        if isinstance(a, int):
            a, b = b, a
        if a is b:  # of one number no two cases are true at once
            return Cases({2 * value: literal for value, literal in _items(a).items()})
        if isinstance(b, int):
            return Cases({value + b: literal for value, literal in _items(a).items()})
        cases: dict[int, int] = {}
        for one, literal in _items(a).items():
            self.circuit.budget.step()
            for other, second in b.of.items():
                found = self.circuit.both(literal, second)
                if found != FALSE:
                    cases[one + other] = self.circuit.either(cases.get(one + other, FALSE), found)
        return self.known(cases)

    def negate(self, a: Number) -> Number:
        """-a."""
        return -a if isinstance(a, int) else Cases({-value: literal for value, literal in a.of.items()})

    def compare(self, sign: str, a: Number, b: Number) -> int:
        """Whether a stands to b as the sign says."""
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
        """Whether a lies between low and high, and a without the cases that do not."""
        if isinstance(a, int):
            return (TRUE if low <= a <= high else FALSE), a
        outside = [literal for value, literal in a.of.items() if not low <= value <= high]
        if not outside:
            return TRUE, a
        return -self.circuit.any(outside), Cases({v: one for v, one in a.of.items() if low <= v <= high})

    def is_element(self, a: Number, element: int) -> int:
        """Whether a is this element of a domain."""
        if isinstance(a, int):
            return TRUE if a == element else FALSE
        return a.of.get(element, FALSE)

    def literals(self, a: Number) -> Iterable[int]:
        """The literals that a number is made of."""
        return () if isinstance(a, int) else a.of.values()


def _items(a: Number) -> Mapping[int, int]:
    return {a: TRUE} if isinstance(a, int) else a.of

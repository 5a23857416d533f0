"""Numbers of finite ranges as literals: one-hot integers for narrow ranges, binary integers for wide ones.

In:  integers, `OneHotInteger` and `BinaryInteger`.
Out: the same types; sums, comparisons and choices become Boolean formulas over the possible values, or over the bits.

A one-hot integer is a map from each possible value to a literal that is true if the number has this value. Exactly one
of these literals is true, except where the number has no valid value. One-hot integers are quick for a replica or an
offset, but impossible for a range of 70,000 numbers. A binary integer has the bits of its two's complement as literals.
`FiniteArithmetic` uses one-hot integers for narrow ranges and binary integers for wide ranges; an operation on a
one-hot and a binary integer has a binary result. A binary number written to a cell of narrow range becomes one-hot.

checker/symbolic/linear_integers.py has unbounded numbers. checker/symbolic/evaluator.py works with both kinds.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
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


@dataclass(slots=True)
class OneHotInteger:
    """A number that depends on variables. `of` maps each value to a literal that is true if the number has it."""

    of: Mapping[int, int]

    def __hash__(self) -> int:
        return hash(tuple(sorted(self.of.items())))


Holds = Callable[[int], bool]
"""A function that says whether a literal is true in an assignment."""


MOST_VALUES = 64
"""The number of values up to which a new number is one-hot."""

MOST_PAIRS = 1 << 12
"""The number of pairs of values up to which a sum or a comparison of one-hot integers is computed pair by pair."""


@dataclass(frozen=True, slots=True)
class BinaryInteger:
    """A number that depends on variables: the literals of its bits in two's complement, the lowest bit first."""

    bits: tuple[int, ...]


Number = int | OneHotInteger | BinaryInteger


class FiniteArithmetic:
    """Arithmetic on one-hot integers and binary integers."""

    def __init__(self, circuit: AndInverterGraph) -> None:
        self.circuit = circuit
        self._ranges: dict[BinaryInteger, tuple[int, int]] = {}

    def number(self, low: int, high: int) -> Number:
        """Return a new number, which can have each value in low..high. A number with two values has one variable."""
        variable = self.circuit.variable
        if low == high:
            return low
        if high == low + 1:
            is_high = variable()
            return OneHotInteger({low: -is_high, high: is_high})
        if high - low < MOST_VALUES:
            return OneHotInteger({value: variable() for value in range(low, high + 1)})
        sign = FALSE if low >= 0 else TRUE if high < 0 else variable()
        width = max(_width(low), _width(high))
        number = BinaryInteger((*(variable() for _ in range(width - 1)), sign))
        self._ranges[number] = low, high
        return number

    def has_one_value(self, number: Number) -> int:
        """Return a literal that is true if a number from the method `number` has exactly one value, in its range. Every
        query about the number has to require this literal."""
        if isinstance(number, BinaryInteger):
            return self.within(number, *self._ranges[number])[0]
        return TRUE if isinstance(number, int) else self.circuit.exactly_one(number.of.values())

    def of_truth(self, literal: int) -> Number:
        """Return a number that is 1 if the literal is true, and otherwise 0."""
        if literal in (TRUE, FALSE):
            return int(literal == TRUE)
        return OneHotInteger({0: -literal, 1: literal})

    def choose(self, condition: int, yes: Number, no: Number) -> Number:
        """Return a number that equals `yes` if the condition is true, and otherwise `no`."""
        if condition == TRUE or yes == no:
            return yes
        if condition == FALSE:
            return no
        if isinstance(yes, BinaryInteger) or isinstance(no, BinaryInteger):
            pairs = zip(*self._aligned(yes, no), strict=True)
            return self.binary(self.circuit.choose(condition, one, other) for one, other in pairs)
        both, either = self.circuit.both, self.circuit.either
        cases = {value: both(condition, literal) for value, literal in _cases(yes).items()}
        for value, literal in _cases(no).items():
            cases[value] = either(cases.get(value, FALSE), both(-condition, literal))
        return _one_hot(cases)

    def one_of(self, sides: Sequence[tuple[int, Number]]) -> Number:
        """Return the number in the only pair (literal, number) whose literal is true; there must be one such pair."""
        both, either = self.circuit.both, self.circuit.either
        values = {value for _, number in sides for value in _values(number)}
        if len(values) <= 2 * MOST_VALUES and not any(isinstance(number, BinaryInteger) for _, number in sides):
            cases: dict[int, int] = {}
            for taken, number in sides:
                for value, literal in _cases(number).items():
                    cases[value] = either(cases.get(value, FALSE), both(taken, literal))
            return _one_hot(cases)
        width = max(self._width(number) for _, number in sides)
        bits = [FALSE] * width
        for taken, number in sides:
            self.circuit.budget.step()
            for position, bit in enumerate(self._bits(number, width)):
                bits[position] = either(bits[position], both(taken, bit))
        return self.binary(bits)

    def binary(self, bits: Iterable[int]) -> Number:
        """Return the number with these bits, in as few bits as possible; a plain `int` if every bit is constant."""
        shortest = list(bits)
        while len(shortest) > 1 and shortest[-1] == shortest[-2]:
            shortest.pop()
        if all(bit in (TRUE, FALSE) for bit in shortest):
            return signed([bit == TRUE for bit in shortest])
        return BinaryInteger(tuple(shortest))

    def add(self, a: Number, b: Number) -> Number:
        """Return a + b."""
        if _is_wide(a, b):
            return self._sum(a, b, FALSE)
        if isinstance(a, int):
            a, b = b, a
        if isinstance(b, int) and isinstance(a, OneHotInteger):
            return OneHotInteger({value + b: literal for value, literal in a.of.items()})
        return self._pairs(operator.add, a, b)

    def negate(self, a: Number) -> Number:
        """Return -a."""
        if isinstance(a, BinaryInteger):
            return self._sum(BinaryInteger(tuple(-bit for bit in a.bits)), 0, TRUE)
        return -a if isinstance(a, int) else OneHotInteger({-value: literal for value, literal in a.of.items()})

    def multiply(self, a: Number, b: Number) -> Number:
        """Return a * b."""
        if not _is_wide(a, b):
            return self._pairs(operator.mul, a, b)
        width = self._width(a) + self._width(b)
        total: Sequence[int] = [FALSE] * width
        bits = self._bits(a, width)
        for at, bit in enumerate(self._bits(b, width)):
            if bit != FALSE:
                shifted = [FALSE] * at + [self.circuit.both(bit, one) for one in bits[: width - at]]
                total = self._added(total, shifted, FALSE)
        return self.binary(total)

    def quotient(self, a: Number, b: Number) -> Number:
        """Return a // b, rounded down; b must be above 0."""
        return self._divided(a, b)[0] if _is_wide(a, b) else self._pairs(operator.floordiv, a, _above_0(b))

    def remainder(self, a: Number, b: Number) -> Number:
        """Return a % b, which is in 0..b-1; b must be above 0."""
        return self._divided(a, b)[1] if _is_wide(a, b) else self._pairs(operator.mod, a, _above_0(b))

    def _pairs(self, operation: Callable[[int, int], int], a: Number, b: Number) -> Number:
        """Return the result of an operation on two numbers that are not binary, computed for each pair of values."""
        if isinstance(a, int) and isinstance(b, int):
            return operation(a, b)
        cases: dict[int, int] = {}
        for one, literal in _cases(a).items():
            self.circuit.budget.step()
            for other, second in _cases(b).items():
                # A number has only one value at a time.
                chosen = (literal if one == other else FALSE) if a is b else self.circuit.both(literal, second)
                if chosen != FALSE:
                    value = operation(one, other)
                    cases[value] = self.circuit.either(cases.get(value, FALSE), chosen)
        return _one_hot(cases)

    def _divided(self, a: Number, b: Number) -> tuple[Number, Number]:
        """Return a // b and a % b, computed bit by bit. If a is negative, they are ~(~a // b) and b-1 - ~a % b."""
        *bits, sign = self._bits(a, self._width(a))
        remainder: Number = 0
        quotient = [sign]
        for bit in reversed(bits):
            digit = -self.circuit.same(bit, sign)
            remainder = self.binary([digit, *self._bits(remainder, self._width(remainder))])
            is_enough = self.compare("<=", b, remainder)
            remainder = self.choose(is_enough, self.add(remainder, self.negate(b)), remainder)
            remainder = self.binary(self._bits(remainder, self._width(b)))  # it is less than b
            quotient.insert(0, -self.circuit.same(is_enough, sign))
        opposite = self.add(self.add(b, -1), self.negate(remainder))
        return self.binary(quotient), self.choose(sign, opposite, remainder)

    def ends(self, a: Number) -> tuple[int, int]:
        """Return a lower and an upper bound of the values that a number can have."""
        if isinstance(a, BinaryInteger):
            half = 1 << (len(a.bits) - 1)
            return self._ranges.get(a, (-half, half - 1))
        return min(_values(a), default=0), max(_values(a), default=0)

    def _sum(self, a: Number, b: Number, carry: int) -> Number:
        return self.binary(self._added(*self._aligned(a, b, more=1), carry))

    def _added(self, a: Sequence[int], b: Sequence[int], carry: int) -> Sequence[int]:
        """Return the bits of the sum of two numbers of equal width, without the bits beyond this width."""
        circuit, bits = self.circuit, []
        for one, other in zip(a, b, strict=True):
            circuit.budget.step()
            differ = -circuit.same(one, other)
            bits.append(-circuit.same(differ, carry))
            carry = circuit.choose(differ, carry, one)
        return bits

    def compare(self, sign: str, a: Number, b: Number) -> int:
        """Return the literal of a comparison such as a < b; `sign` is the operator."""
        circuit, compare = self.circuit, COMPARE[sign]
        if isinstance(a, int) and isinstance(b, int):
            return TRUE if compare(a, b) else FALSE
        if not _is_wide(a, b):
            return circuit.any(
                circuit.both(literal, circuit.any(second for other, second in _cases(b).items() if compare(one, other)))
                for one, literal in _cases(a).items()
            )
        if sign in ("!=", ">=", "<="):
            opposite: dict[str, tuple[str, Number, Number]] = {"!=": ("==", a, b), ">=": ("<", a, b), "<=": ("<", b, a)}
            return -self.compare(*opposite[sign])
        if sign == ">":
            a, b = b, a
        pairs = list(zip(*self._aligned(a, b), strict=True))
        if sign == "==":
            return circuit.all(circuit.same(one, other) for one, other in reversed(pairs))
        less = FALSE
        for position, (one, other) in enumerate(pairs, 1):
            decisive = other if position < len(pairs) else one  # of different signs, the negative number is less
            less = circuit.choose(circuit.same(one, other), less, decisive)
        return less

    def within(self, a: Number, low: int, high: int) -> tuple[int, Number]:
        """Return a literal that is true if a is in low..high, and a number that equals a if the literal is true."""
        if isinstance(a, int):
            return (TRUE if low <= a <= high else FALSE), a
        if isinstance(a, OneHotInteger):
            outside = [literal for value, literal in a.of.items() if not low <= value <= high]
            if not outside:
                return TRUE, a
            return -self.circuit.any(outside), OneHotInteger({v: one for v, one in a.of.items() if low <= v <= high})
        inside = self.circuit.both(self.compare("<=", low, a), self.compare("<=", a, high))
        if high - low < MOST_VALUES:
            return inside, _one_hot({value: self.compare("==", a, value) for value in range(low, high + 1)})
        return inside, self.binary(a.bits[: max(_width(low), _width(high))])

    def is_element(self, a: Number, element: int) -> int:
        """Return a literal that is true if a equals `element`."""
        return a.of.get(element, FALSE) if isinstance(a, OneHotInteger) else self.compare("==", a, element)

    def literals(self, a: Number) -> Iterable[int]:
        """Return the literals of which a number consists."""
        if isinstance(a, BinaryInteger):
            return [bit for bit in a.bits if bit not in (TRUE, FALSE)]
        return () if isinstance(a, int) else a.of.values()

    def replaced(self, a: Number, image: Callable[[int], int]) -> Number:
        """Return the number in which each literal is replaced by its image."""
        if isinstance(a, BinaryInteger):
            return self.binary(map(image, a.bits))
        return a if isinstance(a, int) else _one_hot({value: image(literal) for value, literal in a.of.items()})

    def images(self, old: Number, new: Number) -> Iterable[tuple[int, int]]:
        """Return the replacement of variables that turns the number `old` into `new`: pairs of a variable and a
        literal. `old` must come from the method `number`."""
        if isinstance(old, BinaryInteger):
            pairs = zip(old.bits, self._bits(new, len(old.bits)), strict=True)
            return [(variable, image) for variable, image in pairs if variable not in (TRUE, FALSE)]
        if isinstance(new, BinaryInteger):  # the range of the old number is narrow
            _, new = self.within(new, min(_values(old)), max(_values(old)))
        cases = _cases(new)
        return [(literal, cases.get(value, FALSE)) for value, literal in _cases(old).items() if literal > 1]

    def value(self, a: Number, holds: Holds) -> int:
        """Return the value of a number in an assignment; `holds` returns the value of a literal."""
        if isinstance(a, BinaryInteger):
            return signed(list(map(holds, a.bits)))
        return a if isinstance(a, int) else next(value for value, literal in a.of.items() if holds(literal))

    # ------------------------------------------------------------------------------------------------------------- bits

    def _aligned(self, a: Number, b: Number, more: int = 0) -> tuple[Sequence[int], Sequence[int]]:
        """Return the bits of two numbers, extended to the same width: the wider number's width plus `more`."""
        width = max(self._width(a), self._width(b)) + more
        return self._bits(a, width), self._bits(b, width)

    def _width(self, a: Number) -> int:
        """Return the number of bits that a number needs in two's complement, including the sign."""
        if isinstance(a, BinaryInteger):
            return len(a.bits)
        return max(map(_width, _values(a)), default=1)

    def _bits(self, a: Number, width: int) -> Sequence[int]:
        if isinstance(a, BinaryInteger):
            return (*a.bits, *[a.bits[-1]] * (width - len(a.bits)))[:width]
        cases = _cases(a).items()
        return [self.circuit.any(literal for value, literal in cases if value >> at & 1) for at in range(width)]


def signed(bits: Sequence[bool]) -> int:
    """Return the number with these bits in two's complement, the lowest bit first."""
    return sum(1 << at for at, bit in enumerate(bits) if bit) - (bits[-1] << len(bits))


def _width(value: int) -> int:
    """Return the number of bits of an integer in two's complement, including the sign."""
    return (value if value >= 0 else ~value).bit_length() + 1


def _is_wide(a: Number, b: Number) -> bool:
    """Whether an operation computes with bits: a number is binary, or there are too many pairs of values."""
    if isinstance(a, BinaryInteger) or isinstance(b, BinaryInteger):
        return True
    return a is not b and len(_cases(a)) * len(_cases(b)) > MOST_PAIRS


def _one_hot(cases: Mapping[int, int]) -> Number:
    """Return the number with these cases {value: literal}, without the cases whose literal is FALSE."""
    for value, literal in cases.items():
        if literal == TRUE:
            return value
    return OneHotInteger({value: cases[value] for value in sorted(cases) if cases[value] != FALSE})


def _above_0(a: Number) -> Number:
    """Return `a`, which is always above 0, without its cases for values of 0 or less. The literals of these cases are
    false in every assignment, but need not be the constant FALSE."""
    if isinstance(a, int) or min(_values(a)) > 0:
        return a
    return OneHotInteger({value: literal for value, literal in _cases(a).items() if value > 0})


def _cases(a: Number) -> Mapping[int, int]:
    """Return the possible values of a number that is not binary, each with its literal."""
    assert not isinstance(a, BinaryInteger)
    return {a: TRUE} if isinstance(a, int) else a.of


def _values(a: Number) -> Iterable[int]:
    """Return the possible values of a number; none for a binary number."""
    return () if isinstance(a, BinaryInteger) else _cases(a).keys()

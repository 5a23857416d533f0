"""Numbers of finite ranges as literals: one-hot integers for narrow ranges, binary integers for wide ones.

In:  integers, `OneHotInteger` and `BinaryInteger`.
Out: the same types; sums, comparisons and choices become Boolean formulas over the possible values, or over the bits.

A one-hot integer is a map from each possible value to the literal that selects it. Exactly one literal of a number is
true, wherever the number has a value. This is quick for a replica or an offset, and impossible for a range of 70,000
numbers, which are represented by the bits of their two's complement instead. `FiniteArithmetic` uses one-hot integers
for narrow ranges and binary integers for wide ones; an operation on both has a binary result. A number becomes one-hot
again where it is written to a narrow range.

Unbounded numbers are in checker/symbolic/linear_integers.py; checker/symbolic/evaluator.py works with either.
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


OneHotNumber = int | OneHotInteger

Image = Callable[[int], int]
"""The image of a literal."""

Holds = Callable[[int], bool]
"""Whether a literal is true in an assignment."""


class OneHotArithmetic:
    """Arithmetic on one-hot integers."""

    def __init__(self, circuit: AndInverterGraph) -> None:
        self.circuit = circuit

    def number(self, low: int, high: int) -> OneHotNumber:
        """A new number between low and high, inclusive; two values need one variable, more values one variable each."""
        if low == high:
            return low
        if high == low + 1:
            variable = self.circuit.variable()
            return OneHotInteger({low: -variable, high: variable})
        return OneHotInteger({value: self.circuit.variable() for value in range(low, high + 1)})

    def has_one_value(self, number: OneHotNumber) -> int:
        """Whether exactly one value of a number is selected; required of every new number."""
        return TRUE if isinstance(number, int) else self.circuit.exactly_one(number.of.values())

    def of_truth(self, literal: int) -> OneHotNumber:
        """1 if the literal is true, otherwise 0."""
        if literal in (TRUE, FALSE):
            return int(literal == TRUE)
        return OneHotInteger({0: -literal, 1: literal})

    def choose(self, condition: int, yes: OneHotNumber, no: OneHotNumber) -> OneHotNumber:
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

    def known(self, cases: dict[int, int]) -> OneHotNumber:
        """The number with these cases (value: literal), without the impossible ones."""
        for value, literal in cases.items():
            if literal == TRUE:
                return value
        return OneHotInteger({value: cases[value] for value in sorted(cases) if cases[value] != FALSE})

    def add(self, a: OneHotNumber, b: OneHotNumber) -> OneHotNumber:
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

    def multiply(self, a: OneHotNumber, b: OneHotNumber) -> OneHotNumber:
        """a * b."""
        return self._pairs(operator.mul, a, b)

    def quotient(self, a: OneHotNumber, b: OneHotNumber) -> OneHotNumber:
        """a // b, rounded down; b is above 0."""
        return self._pairs(operator.floordiv, a, _above_0(b))

    def remainder(self, a: OneHotNumber, b: OneHotNumber) -> OneHotNumber:
        """a % b, which is in 0..b-1; b is above 0."""
        return self._pairs(operator.mod, a, _above_0(b))

    def _pairs(self, operation: Callable[[int, int], int], a: OneHotNumber, b: OneHotNumber) -> OneHotNumber:
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

    def ends(self, a: OneHotNumber) -> tuple[int, int]:
        """The least and the greatest value of a number."""
        return min(_items(a), default=0), max(_items(a), default=0)

    def negate(self, a: OneHotNumber) -> OneHotNumber:
        """-a."""
        return -a if isinstance(a, int) else OneHotInteger({-value: literal for value, literal in a.of.items()})

    def compare(self, sign: str, a: OneHotNumber, b: OneHotNumber) -> int:
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

    def within(self, a: OneHotNumber, low: int, high: int) -> tuple[int, OneHotNumber]:
        """Whether a is between low and high, and a without the values outside."""
        if isinstance(a, int):
            return (TRUE if low <= a <= high else FALSE), a
        outside = [literal for value, literal in a.of.items() if not low <= value <= high]
        if not outside:
            return TRUE, a
        return -self.circuit.any(outside), OneHotInteger({v: one for v, one in a.of.items() if low <= v <= high})

    def is_element(self, a: OneHotNumber, element: int) -> int:
        """Whether a is this element of a domain."""
        if isinstance(a, int):
            return TRUE if a == element else FALSE
        return a.of.get(element, FALSE)

    def literals(self, a: OneHotNumber) -> Iterable[int]:
        """The literals of a number."""
        return () if isinstance(a, int) else a.of.values()

    def replaced(self, a: OneHotNumber, image: Image) -> OneHotNumber:
        """The number with each literal replaced by its image."""
        return a if isinstance(a, int) else self.known({value: image(literal) for value, literal in a.of.items()})

    def images(self, old: OneHotNumber, new: OneHotNumber) -> Iterable[tuple[int, int]]:
        """The variables of a number made by `number`, each with what stands for it if the number is `new`."""
        cases = _items(new)
        return [(literal, cases.get(value, FALSE)) for value, literal in _items(old).items() if literal > 1]

    def value(self, a: OneHotNumber, holds: Holds) -> int:
        """The value of a number in an assignment, in which `holds` gives the value of a literal."""
        return a if isinstance(a, int) else next(value for value, literal in a.of.items() if holds(literal))


def _above_0(a: OneHotNumber) -> OneHotNumber:
    """A number without the values up to 0, which it never has, although their literals are not simplified to FALSE."""
    if isinstance(a, int) or min(a.of) > 0:
        return a
    return OneHotInteger({value: literal for value, literal in a.of.items() if value > 0})


def _items(a: OneHotNumber) -> Mapping[int, int]:
    return {a: TRUE} if isinstance(a, int) else a.of


MOST_VALUES = 64
"""The number of values up to which a new number is one-hot."""

MOST_PAIRS = 1 << 12
"""The number of pairs of values up to which a sum or a comparison of one-hot integers is computed pair by pair."""


@dataclass(frozen=True, slots=True)
class BinaryInteger:
    """A number that depends on variables: the literals of its bits, the lowest first; the last one is the sign."""

    bits: tuple[int, ...]


Number = int | OneHotInteger | BinaryInteger


class FiniteArithmetic:
    """Arithmetic on one-hot integers and binary integers."""

    def __init__(self, circuit: AndInverterGraph) -> None:
        self.circuit = circuit
        self.one_hot = OneHotArithmetic(circuit)
        self._ranges: dict[BinaryInteger, tuple[int, int]] = {}

    def number(self, low: int, high: int) -> Number:
        """A new number between low and high, inclusive."""
        if high - low < MOST_VALUES:
            return self.one_hot.number(low, high)
        sign = FALSE if low >= 0 else TRUE if high < 0 else self.circuit.variable()
        width = max(_width(low), _width(high))
        number = BinaryInteger((*(self.circuit.variable() for _ in range(width - 1)), sign))
        self._ranges[number] = low, high
        return number

    def has_one_value(self, number: Number) -> int:
        """Whether a new number has exactly one value of its range; required of every new number."""
        if isinstance(number, BinaryInteger):
            return self.within(number, *self._ranges[number])[0]
        return self.one_hot.has_one_value(number)

    def choose(self, condition: int, yes: Number, no: Number) -> Number:
        """`yes` if the condition is true, otherwise `no`."""
        if not (isinstance(yes, BinaryInteger) or isinstance(no, BinaryInteger)):
            return self.one_hot.choose(condition, yes, no)
        if condition == TRUE or yes == no:
            return yes
        if condition == FALSE:
            return no
        pairs = zip(*self._aligned(yes, no), strict=True)
        return self.binary(self.circuit.choose(condition, one, other) for one, other in pairs)

    def one_of(self, sides: Sequence[tuple[int, Number]]) -> Number:
        """The number whose literal is true, for pairs of which exactly one literal is true."""
        both, either = self.circuit.both, self.circuit.either
        values = {one for _, number in sides for one in _values(number)}
        if len(values) <= 2 * MOST_VALUES and not any(isinstance(number, BinaryInteger) for _, number in sides):
            cases: dict[int, int] = {}
            for taken, number in sides:
                for value, literal in _cases(number).items():
                    cases[value] = either(cases.get(value, FALSE), both(taken, literal))
            return self.one_hot.known(cases)
        width = max(self._width(number) for _, number in sides)
        bits = [FALSE] * width
        for taken, number in sides:
            self.circuit.budget.step()
            for position, bit in enumerate(self._bits(number, width)):
                bits[position] = either(bits[position], both(taken, bit))
        return self.binary(bits)

    def binary(self, bits: Iterable[int]) -> Number:
        """The number with these bits, as short as possible; a plain integer if every bit is known."""
        found = list(bits)
        while len(found) > 1 and found[-1] == found[-2]:
            found.pop()
        if all(bit in (TRUE, FALSE) for bit in found):
            return signed([bit == TRUE for bit in found])
        return BinaryInteger(tuple(found))

    def add(self, a: Number, b: Number) -> Number:
        """a + b."""
        if not (isinstance(a, BinaryInteger) or isinstance(b, BinaryInteger) or _are_many(a, b)):
            return self.one_hot.add(a, b)
        return self._sum(a, b, FALSE)

    def negate(self, a: Number) -> Number:
        """-a."""
        if not isinstance(a, BinaryInteger):
            return self.one_hot.negate(a)
        return self._sum(BinaryInteger(tuple(-bit for bit in a.bits)), 0, TRUE)

    def multiply(self, a: Number, b: Number) -> Number:
        """a * b."""
        if not (isinstance(a, BinaryInteger) or isinstance(b, BinaryInteger) or _are_many(a, b)):
            return self.one_hot.multiply(a, b)
        width = self._width(a) + self._width(b)
        total: Sequence[int] = [FALSE] * width
        bits = self._bits(a, width)
        for at, bit in enumerate(self._bits(b, width)):
            if bit != FALSE:
                shifted = [FALSE] * at + [self.circuit.both(bit, one) for one in bits[: width - at]]
                total = self._added(total, shifted, FALSE)
        return self.binary(total)

    def quotient(self, a: Number, b: Number) -> Number:
        """a // b, rounded down; b is above 0."""
        if not (isinstance(a, BinaryInteger) or isinstance(b, BinaryInteger) or _are_many(a, b)):
            return self.one_hot.quotient(a, b)
        return self._divided(a, b)[0]

    def remainder(self, a: Number, b: Number) -> Number:
        """a % b, which is in 0..b-1; b is above 0."""
        if not (isinstance(a, BinaryInteger) or isinstance(b, BinaryInteger) or _are_many(a, b)):
            return self.one_hot.remainder(a, b)
        return self._divided(a, b)[1]

    def _divided(self, a: Number, b: Number) -> tuple[Number, Number]:
        """The quotient and the remainder, bit by bit. For a negative a: a // b is ~(~a // b), a % b is b-1 - ~a % b."""
        *bits, sign = self._bits(a, self._width(a))
        rest: Number = 0
        whole = [sign]
        for bit in reversed(bits):
            digit = -self.circuit.same(bit, sign)
            rest = self.binary([digit, *self._bits(rest, self._width(rest))])
            is_enough = self.compare("<=", b, rest)
            rest = self.choose(is_enough, self.add(rest, self.negate(b)), rest)
            rest = self.binary(self._bits(rest, self._width(b)))  # it is less than b
            whole.insert(0, -self.circuit.same(is_enough, sign))
        opposite = self.add(self.add(b, -1), self.negate(rest))
        return self.binary(whole), self.choose(sign, opposite, rest)

    def ends(self, a: Number) -> tuple[int, int]:
        """A least and a greatest value between which a number lies."""
        if not isinstance(a, BinaryInteger):
            return self.one_hot.ends(a)
        half = 1 << (len(a.bits) - 1)
        return self._ranges.get(a, (-half, half - 1))

    def _sum(self, a: Number, b: Number, carry: int) -> Number:
        """a + b + 1 if `carry` is true, otherwise a + b."""
        return self.binary(self._added(*self._aligned(a, b, more=1), carry))

    def _added(self, a: Sequence[int], b: Sequence[int], carry: int) -> Sequence[int]:
        """The bits of the sum of two equally wide numbers, without those beyond this width."""
        circuit, bits = self.circuit, []
        for one, other in zip(a, b, strict=True):
            circuit.budget.step()
            differ = -circuit.same(one, other)
            bits.append(-circuit.same(differ, carry))
            carry = circuit.choose(differ, carry, one)
        return bits

    def compare(self, sign: str, a: Number, b: Number) -> int:
        """The literal of a comparison such as a < b; `sign` is the operator."""
        if not (isinstance(a, BinaryInteger) or isinstance(b, BinaryInteger) or _are_many(a, b)):
            return self.one_hot.compare(sign, a, b)
        if sign in ("!=", ">=", "<="):
            opposite: dict[str, tuple[str, Number, Number]] = {"!=": ("==", a, b), ">=": ("<", a, b), "<=": ("<", b, a)}
            return -self.compare(*opposite[sign])
        if sign == ">":
            a, b = b, a
        circuit = self.circuit
        pairs = list(zip(*self._aligned(a, b), strict=True))
        if sign == "==":
            return circuit.all(circuit.same(one, other) for one, other in reversed(pairs))
        less = FALSE
        for position, (one, other) in enumerate(pairs, 1):
            decisive = other if position < len(pairs) else one  # of different signs, the negative number is less
            less = circuit.choose(circuit.same(one, other), less, decisive)
        return less

    def within(self, a: Number, low: int, high: int) -> tuple[int, Number]:
        """Whether a is between low and high, and a number that equals a if it is."""
        if not isinstance(a, BinaryInteger):
            return self.one_hot.within(a, low, high)
        inside = self.circuit.both(self.compare("<=", low, a), self.compare("<=", a, high))
        if high - low < MOST_VALUES:
            return inside, self.one_hot.known({value: self.compare("==", a, value) for value in range(low, high + 1)})
        return inside, self.binary(a.bits[: max(_width(low), _width(high))])

    def is_element(self, a: Number, element: int) -> int:
        """Whether a is this element of a domain."""
        return self.compare("==", a, element) if isinstance(a, BinaryInteger) else self.one_hot.is_element(a, element)

    def of_truth(self, literal: int) -> Number:
        """1 if the literal is true, otherwise 0."""
        return self.one_hot.of_truth(literal)

    def literals(self, a: Number) -> Iterable[int]:
        """The literals of a number."""
        if isinstance(a, BinaryInteger):
            return [bit for bit in a.bits if bit not in (TRUE, FALSE)]
        return self.one_hot.literals(a)

    def replaced(self, a: Number, image: Image) -> Number:
        """The number with each literal replaced by its image."""
        return self.binary(map(image, a.bits)) if isinstance(a, BinaryInteger) else self.one_hot.replaced(a, image)

    def images(self, old: Number, new: Number) -> Iterable[tuple[int, int]]:
        """The variables of a number made by `number`, each with what stands for it if the number is `new`."""
        if isinstance(old, BinaryInteger):
            found = zip(old.bits, self._bits(new, len(old.bits)), strict=True)
            return [(variable, image) for variable, image in found if variable not in (TRUE, FALSE)]
        if isinstance(new, BinaryInteger):
            _, new = self.within(new, min(_values(old)), max(_values(old)))
            assert not isinstance(new, BinaryInteger), "the range of a one-hot number is narrow"
        return self.one_hot.images(old, new)

    def value(self, a: Number, holds: Holds) -> int:
        """The value of a number in an assignment, in which `holds` gives the value of a literal."""
        if isinstance(a, BinaryInteger):
            return signed(list(map(holds, a.bits)))
        return self.one_hot.value(a, holds)

    # ------------------------------------------------------------------------------------------------------------- bits

    def _aligned(self, a: Number, b: Number, more: int = 0) -> tuple[Sequence[int], Sequence[int]]:
        """The bits of two numbers, equally many; `more` than needed for both."""
        width = max(self._width(a), self._width(b)) + more
        return self._bits(a, width), self._bits(b, width)

    def _width(self, a: Number) -> int:
        """The number of bits that a number needs, with its sign."""
        if isinstance(a, BinaryInteger):
            return len(a.bits)
        return max(map(_width, _values(a)), default=1)

    def _bits(self, a: Number, width: int) -> Sequence[int]:
        """The lowest `width` bits of a number."""
        if isinstance(a, BinaryInteger):
            return (*a.bits, *[a.bits[-1]] * (width - len(a.bits)))[:width]
        cases = _cases(a).items()
        return [self.circuit.any(literal for value, literal in cases if value >> at & 1) for at in range(width)]


def signed(bits: Sequence[bool]) -> int:
    """The number with these bits in two's complement, the lowest first."""
    return sum(1 << at for at, bit in enumerate(bits) if bit) - (bits[-1] << len(bits))


def _width(value: int) -> int:
    """The bits of an integer in two's complement, with its sign."""
    return (value if value >= 0 else ~value).bit_length() + 1


def _are_many(a: int | OneHotInteger, b: int | OneHotInteger) -> bool:
    """Whether two numbers have too many pairs of values for an operation on each pair."""
    return a is not b and len(_cases(a)) * len(_cases(b)) > MOST_PAIRS


def _cases(a: Number) -> dict[int, int]:
    """The possible values of a number that is not binary, each with its literal."""
    assert not isinstance(a, BinaryInteger)
    return {a: TRUE} if isinstance(a, int) else dict(a.of)


def _values(a: Number) -> Iterable[int]:
    """The possible values of a number; none for a binary one."""
    return () if isinstance(a, BinaryInteger) else (a,) if isinstance(a, int) else a.of.keys()

"""Products, quotients and remainders of binary integers are those of Python."""

from __future__ import annotations

import itertools

from isrcheck.checker.symbolic.and_inverter_graph import FALSE, TRUE, AndInverterGraph
from isrcheck.checker.symbolic.finite_integers import BinaryInteger, FiniteArithmetic


def of_bits(number: int, width: int) -> BinaryInteger:
    """A number whose bits are known; operations on it take every step of those on unknown bits."""
    return BinaryInteger(tuple(TRUE if number >> at & 1 else FALSE for at in range(width)))


def test_products_quotients_and_remainders_of_binary_integers() -> None:
    arithmetic = FiniteArithmetic(AndInverterGraph())
    numbers = (-300, -128, -37, -8, -7, -1, 0, 1, 2, 7, 8, 255, 256, 299)
    for one, other in itertools.product(numbers, numbers):
        assert arithmetic.multiply(of_bits(one, 12), of_bits(other, 10)) == one * other
        if other > 0:
            assert arithmetic.quotient(of_bits(one, 12), of_bits(other, 10)) == one // other
            assert arithmetic.remainder(of_bits(one, 12), other) == one % other

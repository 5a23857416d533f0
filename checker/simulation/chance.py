"""Random numbers that depend only on a seed, the number of a walk and the position in it.

In:  a seed, the numbers of walks, a position.
Out: a number for each walk. So a walk does not depend on the other walks, or on how they are divided.

The mixing function is that of SplitMix64 (Steele, Lea and Flood, 2014).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

STEP, SALT = 0x9E3779B97F4A7C15, 0xD1342543DE82EF95
"""Odd constants that spread positions and purposes over all bits."""

MASK = (1 << 64) - 1

Numbers = NDArray[np.int64]


def below(limits: Numbers, seed: int, walks: Numbers, position: int, purpose: int) -> Numbers:
    """For each walk a number from 0 to below its limit, which is less than 2**32. `purpose` tells draws at one position
    apart."""
    start = (seed * STEP + position * SALT + purpose * 0xBF58476D1CE4E5B9) & MASK
    bits = mixed(mixed(walks.astype(np.uint64) + np.uint64(start)) + np.uint64(start >> 1))
    return ((bits >> np.uint64(32)) * limits.astype(np.uint64) >> np.uint64(32)).astype(np.int64)


def mixed(numbers: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Numbers that look random, one for each number."""
    bits = numbers * np.uint64(STEP)
    bits = (bits ^ (bits >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return bits ^ (bits >> np.uint64(31))

"""The forecast of a level's size from the levels before it.

In:  the number of states in each level.
Out: the forecast of the next one, and how good such forecasts were.

A level is so many times as large as the one before. These ratios change slowly, and by nearly equal factors.
"""

from __future__ import annotations

from collections.abc import Sequence

LEAST = 1000
"""Levels with fewer states are not forecast: their sizes say little about the next."""

MOST_CHANGE = 1.5
"""The ratio of two levels is expected to change by at most this factor."""


def forecast(levels: Sequence[int]) -> int | None:
    """The expected number of states in the next level; None if the levels so far are too few or too small."""
    if len(levels) < 3 or levels[-1] < LEAST or not levels[-2] or not levels[-3]:
        return None
    ratio, before = levels[-1] / levels[-2], levels[-2] / levels[-3]
    change = min(MOST_CHANGE, max(1 / MOST_CHANGE, ratio / before))
    return round(levels[-1] * ratio * change)


def mean_error(levels: Sequence[int]) -> tuple[float, int] | None:
    """The mean error of the forecasts, as a part of the real size, and their number; None if there was none.

    The last level counts only if it is complete.
    """
    errors = []
    for number, real in enumerate(levels):
        expected = forecast(levels[:number])
        if expected is not None and real:
            errors.append(abs(expected - real) / real)
    return (sum(errors) / len(errors), len(errors)) if errors else None

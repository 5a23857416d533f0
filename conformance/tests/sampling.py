"""Runs a few of many parameters in `make test`, and the others in `make test-exhaustive`.

In:  the parameters, and which of them are quick to run or tell most.
Out: all parameters for `pytest.mark.parametrize`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import pytest


def sampled(parameters: Iterable[Any], first: Callable[[Any], bool]) -> list[Any]:
    """The parameters; those for which `first` is false are marked `exhaustive`."""
    return [one if first(one) else exhaustive(one) for one in parameters]


def exhaustive(parameter: Any) -> Any:
    """A parameter, or a tuple of parameters, that runs with the exhaustive tests."""
    values = parameter if isinstance(parameter, tuple) else (parameter,)
    return pytest.param(*values, marks=pytest.mark.exhaustive)

"""Decides for single parameters of a test when they run: in `make test`, in CI, or with `make verify` only.

In:  the parameters; which of them are quick to run or tell most, and which tell least.
Out: all parameters for `pytest.mark.parametrize`, some with the marks `exhaustive` and `recorded` (schedule.py).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import pytest


def sampled(
    parameters: Iterable[Any], first: Callable[[Any], bool], last: Callable[[Any], bool] = lambda one: False
) -> list[Any]:
    """The parameters; those for which `first` is false are marked `exhaustive` or, where `last` is true, `recorded`."""
    return [one if first(one) else recorded(one) if last(one) else exhaustive(one) for one in parameters]


def exhaustive(parameter: Any) -> Any:
    """A parameter, or a tuple of parameters, that runs in CI, but not in `make test`."""
    return _marked(parameter, pytest.mark.exhaustive)


def recorded(parameter: Any) -> Any:
    """A parameter, or a tuple of parameters, that runs with `make verify` only."""
    return _marked(parameter, pytest.mark.recorded)


def _marked(parameter: Any, mark: pytest.MarkDecorator) -> Any:
    values = parameter if isinstance(parameter, tuple) else (parameter,)
    return pytest.param(*values, marks=mark)

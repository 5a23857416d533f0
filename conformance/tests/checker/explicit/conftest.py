"""Limits that the tests of searches share."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import pytest

from isrcheck.checker.resources.limits import Limits


@pytest.fixture(params=[1, 3], ids=["one thread", "three threads"])
def limits(request: pytest.FixtureRequest) -> Callable[..., Limits]:
    """Limits with this number of threads, on which no result may depend."""
    return partial(Limits, threads=request.param)

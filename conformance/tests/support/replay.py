"""What the tests of replay share: instances of kafka, and the demand that a trace replays."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from types import MappingProxyType

import pytest

from conformance.tests.support.golden import read_step
from isrcheck.conformance.replay.compare import replay
from isrcheck.conformance.replay.driver import Driver
from isrcheck.models import registry
from isrcheck.models.language.model import Instance
from isrcheck.traces.format.certify import behaviour
from isrcheck.traces.format.trace import Trace

GENERATIONS = ("0.10", "0.11", "2.0", "2.1")

DEFAULT = MappingProxyType({})
EVERY_FAULT = MappingProxyType(
    {
        "records": 3,
        "log_size": 3,
        "elections": 5,
        "crashes": 3,
        "bounces": 3,
        "start": 1,
        "preferred_elections": 2,
        "unclean_elections": 2,
        "power_losses": 2,
        "disk_losses": 1,
        "retries": 2,
    }
)
EVERY_CLIENT = MappingProxyType({"records": 3, "log_size": 4, "transactions": 2, "delete_records": 1, "retries": 1})


@cache
def instance_of(protocol: str, values: tuple[tuple[str, int], ...] = ()) -> Instance:
    return registry.load("kafka")[0].instance(protocol, dict(values))


def trace_of(steps: Sequence[str], protocol: str = "2.1", **values: int) -> Trace:
    """The behaviour that takes these steps, from the last initial state: every replica is in the ISR."""
    instance = instance_of(protocol, tuple(values.items()))
    initial = len(instance.initial_states) - 1
    return behaviour(instance, initial, [read_step(instance, step) for step in steps], None, "", None)


def must_replay(trace: Trace, what: object = "") -> Driver:
    driver = Driver()
    divergence = replay(trace, driver)
    if divergence is not None:
        steps = [trace.instance.spell_step(step) for step in trace.steps[: divergence.position]]
        pytest.fail("\n".join([str(what), "; ".join(steps), *divergence.lines(trace)]))
    return driver

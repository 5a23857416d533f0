"""Shared by the tests of replay: instances of kafka, and an assertion that a trace replays without a difference."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache, lru_cache
from types import MappingProxyType

import pytest

from conformance.tests.support.compared.compiled import enabled_steps
from conformance.tests.support.golden import read_step
from isrcheck.conformance.cluster.configuration.protocol import GENERATIONS as SWITCHES
from isrcheck.conformance.implemented import IN_ONE_EVENT
from isrcheck.conformance.replay.compare import replay
from isrcheck.conformance.replay.driver import Driver
from isrcheck.conformance.replay.system import System
from isrcheck.conformance.replay.walks import Enabled, walk
from isrcheck.models import registry
from isrcheck.models.language.model import Instance
from isrcheck.traces.format.certify import behaviour
from isrcheck.traces.format.trace import Trace

GENERATIONS = tuple(name for name in SWITCHES if name in registry.load("kafka")[0].protocols)
"""The generations that both the model and the cluster have."""

WITH_TRANSACTIONS = GENERATIONS[2:]
"""Those whose record format has transactions."""

KRAFT = tuple(name for name in GENERATIONS if SWITCHES[name].has_kraft)
"""Those with a KRaft controller."""

ZOOKEEPER = tuple(name for name in GENERATIONS if name not in KRAFT)
"""Those without."""

SINCE_ALTER_ISR = frozenset({"2.8", *KRAFT})
"""Those in which a leader asks the controller to change the ISR, and followers truncate on fetch."""

DEFAULT = MappingProxyType({})
EVERY_FAULT = MappingProxyType(
    {
        "records": 3,
        "log_size": 3,
        "elections": 5,
        "partition_changes": 12,
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
EVERY_KRAFT_FAULT = MappingProxyType(
    {**EVERY_FAULT, "fencings": 2, "shutdowns": 2, "reassignments": 1, "late_fetches": 1}
)
SESSIONS = MappingProxyType(
    {"records": 1, "log_size": 1, "elections": 8, "partition_changes": 14, "crashes": 4, "fencings": 3, "shutdowns": 1}
)
"""Brokers that come and go, so that the eligible leader replicas decide."""

EVERY_CLIENT = MappingProxyType(
    {"records": 3, "log_size": 4, "partition_changes": 8, "transactions": 2, "delete_records": 1, "retries": 1}
)

IDEMPOTENT = MappingProxyType(
    {
        "enable_idempotence": 1,
        "CLIENT_BUMPS_EPOCH": 1,
        "records": 4,
        "log_size": 4,
        "elections": 4,
        "retries": 3,
        "producer_snapshots": 1,
    }
)
"""An idempotent producer, as since 2.5, and snapshots of producer state."""
LOSING_RECORDS = MappingProxyType(
    {
        **IDEMPOTENT,
        "producer_snapshots": 0,
        "elections": 5,
        "replicas": 2,
        "min_insync_replicas": 1,
        "unclean_elections": 3,
        "crashes": 4,
    }
)
"""As above, where acknowledged records are lost, so that the producer begins new epochs."""
READERS = MappingProxyType(
    {
        "consumers": 1,
        "transactions": 1,
        "isolation_level": 1,
        "follower_fetching": 1,
        "records": 3,
        "log_size": 4,
        "elections": 4,
        "unclean_elections": 1,
    }
)
"""A read_committed consumer that may fetch from followers."""


@cache
def instance_of(protocol: str, values: tuple[tuple[str, int], ...] = ()) -> Instance:
    """An instance with these values, but for those of other generations: partition epochs came with 2.8, and with them
    went the restarts that nobody notices.
    """
    others = "bounces" if SWITCHES[protocol].asks_controller else "partition_changes"
    return registry.load("kafka")[0].instance(protocol, {name: value for name, value in values if name != others})


def walk_of(protocol: str, values: Mapping[str, int], seed: int, steps: int) -> Trace:
    """A random walk of an instance. The kernel finds the enabled steps; CPython executes the chosen ones."""
    return _walk(protocol, tuple(values.items()), seed, steps)


@lru_cache(maxsize=512)  # the tests of bugs take the same walks, each bug anew
def _walk(protocol: str, values: tuple[tuple[str, int], ...], seed: int, steps: int) -> Trace:
    return walk(instance_of(protocol, values), seed, steps, _enabled(protocol, values))


@cache
def _enabled(protocol: str, values: tuple[tuple[str, int], ...]) -> Enabled:
    return enabled_steps(instance_of(protocol, values))


def steps_in(text: str) -> list[str]:
    """The steps of a text, which has semicolons between them."""
    return text.split("; ")


def trace_of(steps: Sequence[str], protocol: str = "2.1", **values: int) -> Trace:
    """The trace of these steps from the last initial state, in which every replica is in the ISR."""
    instance = instance_of(protocol, tuple(values.items()))
    initial = len(instance.initial_states) - 1
    return behaviour(instance, initial, [read_step(instance, step) for step in steps], None, "", None)


def refusal_of(trace: Trace) -> str | None:
    """What the cluster says of a trace that takes two steps for one of its events; None if it has no such steps."""
    configuration = trace.instance.configuration
    split = [f"{name}=on: {why}" for name, why in IN_ONE_EVENT.items() if getattr(configuration, name)]
    return f"{split[0]}, so that nothing can happen in between" if split else None


def must_replay(trace: Trace, what: object = "") -> Driver:
    driver = Driver()
    must_agree(trace, driver, what)
    return driver


def must_agree(trace: Trace, system: System, what: object = "") -> None:
    divergence = replay(trace, system)
    if divergence is not None:
        steps = [trace.instance.spell_step(step) for step in trace.steps[: divergence.position]]
        pytest.fail("\n".join([str(what), "; ".join(steps), *divergence.lines(trace)]))

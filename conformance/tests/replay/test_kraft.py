"""Traces of a cluster with KRaft that once were UNDECIDED, because Kafka and the model differed; they replay."""

import pytest

from conformance.tests.support.replay import must_replay, trace_of

ROOM = {"start_isr": 7, "elections": 6, "partition_changes": 8, "min_insync_replicas": 1}
RESTARTED = ("broker_crashes 0", "broker_restarts 0 checkpoint 0")
READ = tuple(f"broker_applies_metadata {r} of partition epoch 1" for r in (1, 2))

TRACES = {
    "a registration ends a shutdown": (
        *("3.7", {"shutdowns": 1, "crashes": 1}),
        ["broker_asks_to_shut_down 1", "broker_crashes 1", "broker_restarts 1 checkpoint 0"],
    ),
    "who led last is forgotten": (
        *("4.1", {"start_isr": 3, "fencings": 2, "min_insync_replicas": 2}),
        ["controller_fences_broker 1", "controller_fences_last_leader 0", "controller_unfences_broker 0"],
    ),
    "an epoch of nobody": (
        *("3.5", {"start_isr": 1, "shutdowns": 1}),
        [
            *("last_leader_asks_to_shut_down 0", *READ, "broker_shuts_down 0", "broker_restarts 0 checkpoint 0"),
            "controller_unfences_broker 0",
        ],
    ),
    "a fenced leader is replaced": (
        *("3.3", {"crashes": 1, "fencings": 1}),
        [*RESTARTED, "controller_fences_leader 1 and elects 2"],
    ),
    "nobody replaces a fenced leader": (
        *("3.7", {"start_isr": 3, "crashes": 1, "fencings": 1}),
        [*RESTARTED, "controller_fences_last_leader 1", "controller_unfences_broker 0"],
    ),
    "a shutdown replaces a fenced leader": (
        *("3.7", {"crashes": 1, "shutdowns": 1}),
        [*RESTARTED, "leader_asks_to_shut_down 1 and the controller elects 2"],
    ),
    "a living broker is fenced while it shuts down": (
        *("4.1", {"shutdowns": 1, "fencings": 1}),
        ["broker_asks_to_shut_down 1", "controller_fences_broker 1", "broker_shuts_down 1"],
    ),
    "the last member is fenced while it shuts down": (
        *("3.3", {"start_isr": 1, "shutdowns": 1, "fencings": 1}),
        ["last_leader_asks_to_shut_down 0", "controller_fences_broker 0", "broker_shuts_down 0"],
    ),
    "a fenced broker crashes while it shuts down": (
        *("3.7", {"shutdowns": 1, "fencings": 1, "crashes": 1}),
        ["broker_asks_to_shut_down 1", "controller_fences_broker 1", "broker_crashes 1"],
    ),
    "a fenced broker shuts down": (
        *("4.1", {"start_isr": 3, "min_insync_replicas": 2, "shutdowns": 1, "fencings": 1}),
        ["controller_fences_broker 1", "broker_shuts_down 1", "broker_restarts 1 checkpoint 0"],
    ),
}


@pytest.mark.parametrize("name", TRACES)
def test_it_replays(name):
    protocol, values, steps = TRACES[name]
    must_replay(trace_of(steps, protocol, **{**ROOM, **values}))

"""Traces of a cluster with KRaft that once were UNDECIDED, because Kafka and the model differed; they replay."""

import pytest

from conformance.tests.support.replay import must_replay, steps_in, trace_of
from isrcheck.conformance.implemented import IN_ONE_EVENT, MissingMechanismError, UntimelyError
from isrcheck.conformance.replay.compare import replay
from isrcheck.conformance.replay.driver import Driver

ROOM = {"start_isr": 7, "elections": 6, "partition_changes": 8, "min_insync_replicas": 1}
RESTARTED = ("broker_crashes 0", "broker_restarts 0 checkpoint 0")
READ = tuple(f"broker_applies_metadata {r} of partition epoch 1" for r in (1, 2))
DELETED = {
    "replicas": 2,
    "start_isr": 3,
    "common_records": 1,
    "min_insync_replicas": 2,
    "delete_records": 1,
    "DELETION_IS_ANSWERED": 1,
}
"""Two replicas with a record that is deleted."""

MINIMUM = {"min_isr_changes": 1, "fencings": 1, "shutdowns": 1, "min_insync_replicas": 2}
FENCED_THEN_MINIMUM = ("controller_fences_broker 1", "operator_changes_min_insync_replicas to 1")

TRACES = {
    "a registration ends a shutdown": (
        "3.7",
        {"shutdowns": 1, "crashes": 1},
        ["broker_asks_to_shut_down 1", "broker_crashes 1", "broker_restarts 1 checkpoint 0"],
    ),
    "who led last is forgotten": (
        "4.1",
        {"start_isr": 3, "fencings": 2, "min_insync_replicas": 2},
        ["controller_fences_broker 1", "controller_fences_last_leader 0", "controller_unfences_broker 0"],
    ),
    "an epoch of nobody": (
        "3.5",
        {"start_isr": 1, "shutdowns": 1},
        [
            "last_leader_asks_to_shut_down 0",
            *READ,
            *steps_in("broker_shuts_down 0; broker_restarts 0 checkpoint 0; controller_unfences_broker 0"),
        ],
    ),
    "a fenced leader is replaced": (
        "3.3",
        {"crashes": 1, "fencings": 1},
        [*RESTARTED, "controller_fences_leader 1 and elects 2"],
    ),
    "nobody replaces a fenced leader": (
        "3.7",
        {"start_isr": 3, "crashes": 1, "fencings": 1},
        [*RESTARTED, "controller_fences_last_leader 1", "controller_unfences_broker 0"],
    ),
    "a shutdown replaces a fenced leader": (
        "3.7",
        {"crashes": 1, "shutdowns": 1},
        [*RESTARTED, "leader_asks_to_shut_down 1 and the controller elects 2"],
    ),
    "a living broker is fenced while it shuts down": (
        "4.1",
        {"shutdowns": 1, "fencings": 1},
        ["broker_asks_to_shut_down 1", "controller_fences_broker 1", "broker_shuts_down 1"],
    ),
    "the last member is fenced while it shuts down": (
        "3.3",
        {"start_isr": 1, "shutdowns": 1, "fencings": 1},
        ["last_leader_asks_to_shut_down 0", "controller_fences_broker 0", "broker_shuts_down 0"],
    ),
    "a fenced broker crashes while it shuts down": (
        "3.7",
        {"shutdowns": 1, "fencings": 1, "crashes": 1},
        ["broker_asks_to_shut_down 1", "controller_fences_broker 1", "broker_crashes 1"],
    ),
    "a fenced broker shuts down": (
        "4.1",
        {"start_isr": 3, "min_insync_replicas": 2, "shutdowns": 1, "fencings": 1},
        ["controller_fences_broker 1", "broker_shuts_down 1", "broker_restarts 1 checkpoint 0"],
    ),
    "an elected leader fails to apply the change": (
        "4.3",
        {"start_isr": 3, "fencings": 2, "min_insync_replicas": 2, "dropped_metadata": 1},
        steps_in(
            "controller_fences_leader 0 and elects 1; broker_drops_metadata 1 of partition epoch 1;"
            " controller_unfences_broker 0; controller_fences_leader 1 and elects 0;"
            " broker_applies_metadata 1 of partition epoch 2"
        ),
    ),
    "the answer to DeleteRecords does not wait for a fenced broker": (
        "4.3",
        {**DELETED, "fencings": 1},
        [
            "leader_deletes_records at 0 before 1",
            "controller_fences_broker 1",
            "leader_answers_deletion at 0",
        ],
    ),
    "the answer to DeleteRecords waits for a follower": (
        "4.3",
        DELETED,
        steps_in(
            "leader_deletes_records at 0 before 1; leader_handles_fetch 0 from 1;"
            " leader_answers_parked_fetch 0 to 1; follower_applies_response 1 from 0;"
            " leader_handles_fetch 0 from 1; leader_answers_deletion at 0"
        ),
    ),
    "a broker reads a record of the partition, and then the new minimum": (
        "4.3",
        MINIMUM,
        [*FENCED_THEN_MINIMUM, "broker_applies_metadata 0 of partition epoch 1", "broker_reads_configuration 0"],
    ),
    "a broker reads a new minimum with the record that empties the ELR": (
        "4.3",
        {**MINIMUM, "start_isr": 3},
        [
            *FENCED_THEN_MINIMUM,
            "broker_applies_metadata 0 of partition epoch 2",
        ],
    ),
}


@pytest.mark.parametrize("name", TRACES)
def test_it_replays(name):
    protocol, values, steps = TRACES[name]
    must_replay(trace_of(steps, protocol, **{**ROOM, **values}))


def test_a_leader_answers_deletion_once_it_has_heard_of_it():
    """In the model, the leader knows at once that the follower has deleted the record."""
    steps = ["leader_deletes_records at 0 before 1", "leader_handles_fetch 0 from 1"]
    steps += [
        "leader_answers_parked_fetch 0 to 1",
        "follower_applies_response 1 from 0",
        "leader_answers_deletion at 0",
    ]
    divergence = replay(trace_of(steps, "4.3", **{**ROOM, **DELETED}), Driver())
    assert divergence is not None
    assert (divergence.position, divergence.variable) == (5, None)
    assert divergence.why.startswith("broker 0 answers no DeleteRecords: it has not heard that every live replica")


@pytest.mark.parametrize("name", IN_ONE_EVENT)
def test_what_is_one_event_of_the_cluster_is_not_split(name):
    with pytest.raises(MissingMechanismError, match=f"^{name}=on: {IN_ONE_EVENT[name]}, so that nothing can happen"):
        must_replay(trace_of([], "4.3", **{name: 1}))


def test_a_broker_does_not_pass_a_change_of_the_minimum_that_the_trace_has_not_read():
    """The leader proposes a broker that has restarted, and has to have read of that, which is behind the change."""
    steps = steps_in(
        "leader_handles_fetch 0 from 1; leader_handles_fetch 0 from 2; producer_appends at 0;"
        " broker_crashes 1; controller_fences_broker 1; broker_applies_metadata 0 of partition epoch 1;"
        " operator_changes_min_insync_replicas to 1; broker_restarts 1 checkpoint 0;"
        " controller_unfences_broker 1; leader_handles_fetch 0 from 1; follower_applies_response 1 from 0;"
        " leader_handles_fetch 0 from 1"
    )
    values = {**ROOM, "min_isr_changes": 1, "crashes": 1}
    with pytest.raises(UntimelyError, match=r"after a change of min\.insync\.replicas, but in the trace"):
        must_replay(trace_of(steps, "4.3", **values))
    reads = [*steps[:8], "broker_reads_configuration 0", *steps[8:]]
    must_replay(trace_of(reads, "4.3", **values))

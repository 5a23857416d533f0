"""Histories in which eligible leader replicas lose acknowledged records, or leave a partition without a leader:
C2 to C11, and D2. Those of reassignments are in test_reassignment.py.

Each, but for D2, was driven on a real cluster (trunk of August 2026, two to four times each), with its controls; the
cluster here has the same outcome. In every history, all of RECORDS are acknowledged before it begins. One difference:
a fetch response carries the whole log, so that a copy that is interrupted has copied nothing.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from conformance.tests.cluster.kraft.operating import (
    ALL,
    PAIR,
    PROMPT,
    RECORDS,
    THREE,
    beat,
    cluster_of,
    described,
    kill,
    logs,
    lose_power,
    read_all,
    read_at_once,
    replicate,
    start,
    stop,
)
from isrcheck.conformance.cluster.acts import acknowledged, append, finish_alter_isr, view_of
from isrcheck.conformance.cluster.broker.broker import TimerKind
from isrcheck.conformance.cluster.cluster import Cluster
from isrcheck.conformance.cluster.configuration.settings import ClusterError, Start
from isrcheck.conformance.cluster.controller.controller import Election
from isrcheck.conformance.cluster.network.messages import Errors, ProduceResponse

# C2


def stopped_one_by_one(protocol: str = "4.3") -> Cluster:
    """C2, step 1: all three replicas stop cleanly; a record is acknowledged after the first has stopped."""
    cluster = cluster_of(protocol, Start(assignment=(2, 0, 1), log=RECORDS))
    stop(cluster, 2)
    append(cluster, "x", 0)
    for _ in range(2):
        replicate(cluster, 1)
    assert acknowledged(cluster) == ("x",)
    stop(cluster, 1)
    stop(cluster, 0)
    return cluster


def test_a_new_minimum_of_a_leaderless_partition_forgets_who_may_lead() -> None:
    cluster = stopped_one_by_one()
    assert described(cluster) == "Leader: none Replicas: 2,0,1 Isr:  Elr: 0,1 LastKnownElr: 0"
    cluster.change_min_insync_replicas(1)
    assert described(cluster) == "Leader: none Replicas: 2,0,1 Isr:  Elr:  LastKnownElr: "
    start(cluster, 0, 1, 2)
    assert described(cluster) == "Leader: none Replicas: 2,0,1 Isr:  Elr:  LastKnownElr: "
    assert logs(cluster) == {0: ALL + "x", 1: ALL + "x", 2: ALL}
    cluster.elect(Election.UNCLEAN, 2)
    read_all(cluster)
    for broker in (0, 1):
        replicate(cluster, broker)
    assert logs(cluster) == dict.fromkeys(range(3), ALL)


def test_any_value_of_the_cluster_level_forgets_it_too() -> None:
    cluster = stopped_one_by_one()
    epoch = cluster.controller_metadata().partition_epoch
    cluster.write_cluster_min_insync_replicas()
    assert cluster.controller_metadata().partition_epoch == epoch + 1
    cluster.write_cluster_min_insync_replicas()
    assert cluster.controller_metadata().partition_epoch == epoch + 1  # nothing is left to be cleared
    start(cluster, 0, 1, 2)
    assert described(cluster) == "Leader: none Replicas: 2,0,1 Isr:  Elr:  LastKnownElr: "


def test_the_present_value_of_the_topic_changes_nothing() -> None:
    cluster = stopped_one_by_one()
    cluster.change_min_insync_replicas(2)
    assert described(cluster) == "Leader: none Replicas: 2,0,1 Isr:  Elr: 0,1 LastKnownElr: 0"
    start(cluster, 1)
    assert described(cluster) == "Leader: 1 Replicas: 2,0,1 Isr: 1 Elr: 0 LastKnownElr: "


@pytest.mark.parametrize("is_changed", [False, True])
def test_the_last_known_leader_of_a_killed_partition_is_forgotten_as_well(is_changed: bool) -> None:
    cluster = cluster_of("4.3", THREE)
    for broker in (2, 1, 0):
        kill(cluster, broker)
    if is_changed:
        cluster.change_min_insync_replicas(1)
    start(cluster, 1, 2, 0)
    leader, last = ("none", "") if is_changed else ("0", "")
    isr = "" if is_changed else "0"
    assert described(cluster) == f"Leader: {leader} Replicas: 0,1,2 Isr: {isr} Elr:  LastKnownElr: {last}"


def test_without_elr_a_new_minimum_does_no_harm() -> None:
    cluster = stopped_one_by_one("4.3 without ELR")
    cluster.change_min_insync_replicas(1)
    assert described(cluster) == "Leader: none Replicas: 2,0,1 Isr: 0 Elr:  LastKnownElr: "
    start(cluster, 2, 1, 0)
    assert described(cluster) == "Leader: 0 Replicas: 2,0,1 Isr: 0 Elr:  LastKnownElr: "
    assert logs(cluster)[0] == ALL + "x"


# C3(a)


@pytest.mark.parametrize(
    ("protocol", "is_unregistered", "outcome"),
    [
        ("4.3", True, "Leader: none Replicas: 0,1,2 Isr:  Elr: 1 LastKnownElr: 0"),
        ("4.3", False, "Leader: none Replicas: 0,1,2 Isr:  Elr: 1 LastKnownElr: 0"),
        ("4.3 without ELR", True, "Leader: 0 Replicas: 0,1,2 Isr: 0 Elr:  LastKnownElr: "),
    ],
    ids=["unregistered", "only down", "without ELR"],
)
def test_an_unregistered_broker_keeps_the_last_known_leader_out(
    protocol: str, is_unregistered: bool, outcome: str
) -> None:
    cluster = cluster_of(protocol, THREE)
    kill(cluster, 2)
    stop(cluster, 1)
    if is_unregistered:
        elr = cluster.metadata_log()[-1].partition.elr
        cluster.unregister(1)
        assert cluster.metadata_log()[-1].partition.elr == elr
        assert not cluster.metadata_log()[-1].brokers[1].is_registered
        with pytest.raises(ClusterError, match="broker 1 is not registered; name another"):
            cluster.unregister(1)
    kill(cluster, 0)
    isr, elr, last = ("", "0,1", "0") if protocol == "4.3" else ("0", "", "")
    assert described(cluster) == f"Leader: none Replicas: 0,1,2 Isr: {isr} Elr: {elr} LastKnownElr: {last}"
    start(cluster, 0)
    assert described(cluster) == outcome
    assert logs(cluster)[0] == ALL


def test_a_broker_that_was_unregistered_is_not_trusted_when_it_comes_back() -> None:
    cluster = cluster_of("4.3", THREE)
    kill(cluster, 2)
    stop(cluster, 1)
    cluster.unregister(1)
    start(cluster, 1)
    assert described(cluster) == "Leader: 0 Replicas: 0,1,2 Isr: 0 Elr:  LastKnownElr: "


# C4


@pytest.mark.parametrize(
    ("protocol", "replicas_of_first", "elr", "survives"),
    [("4.3", 1, set(), False), ("4.3", 3, {1}, True), ("4.3 without ELR", 1, set(), False)],
    ids=["the first partition has one replica", "the same replication factor", "without ELR"],
)
def test_the_controller_counts_the_replicas_of_the_first_partition(
    protocol: str, replicas_of_first: int, elr: set[int], survives: bool
) -> None:
    cluster = cluster_of(protocol, THREE, replace(PROMPT, replicas_of_partition_0=replicas_of_first))
    stop(cluster, 2)
    stop(cluster, 1)
    assert cluster.metadata_log()[-1].partition.elr == elr
    append(cluster, "x", 0)
    assert isinstance(cluster.messages()[-1].payload, ProduceResponse)
    assert cluster.messages()[-1].payload.error is Errors.NOT_ENOUGH_REPLICAS
    lose_power(cluster, 0, kept=3)
    without = protocol != "4.3"
    now = cluster.metadata_log()[-1].partition
    assert (now.isr, now.elr) == (({0}, set()) if without else (set(), elr | {0}))
    start(cluster, 0, 1, 2)
    leader = 1 if survives else 0
    assert cluster.controller_metadata().leader == leader
    for broker in {0, 1, 2} - {leader}:
        replicate(cluster, broker)
    assert logs(cluster) == dict.fromkeys(range(3), ALL if survives else ALL[:3])


# C6


def a_precious_record(protocol: str = "4.3", *, is_early: bool = False) -> Cluster:
    """C6, steps 1 to 5: a record is on the leader only; the minimum is raised; the other replica begins to stop."""
    cluster = cluster_of(protocol, PAIR, replace(PROMPT, min_insync_replicas=1))
    if is_early:
        cluster.change_min_insync_replicas(2)
        read_all(cluster)
    append(cluster, "P", 0)
    assert acknowledged(cluster) == ()
    if not is_early:
        cluster.change_min_insync_replicas(2)
    cluster.begin_shutdown(1, leads_others=True)
    beat(cluster, 1)
    return cluster


def fail_over_to_the_other(cluster: Cluster) -> None:
    stop(cluster, 1)
    kill(cluster, 0)
    start(cluster, 1)


def test_a_raised_minimum_that_is_read_after_the_isr_loses_a_record() -> None:
    cluster = a_precious_record()
    read_at_once(cluster, 0)
    assert acknowledged(cluster) == ("P",)
    assert cluster.metadata_log()[-1].partition.elr == {1}
    fail_over_to_the_other(cluster)
    assert described(cluster) == "Leader: 1 Replicas: 0,1 Isr: 1 Elr: 0 LastKnownElr: "
    start(cluster, 0)
    replicate(cluster, 0)
    assert logs(cluster) == {0: ALL, 1: ALL}


def test_a_raised_minimum_that_is_read_first_loses_nothing() -> None:
    cluster = a_precious_record()
    read_all(cluster, 0)
    assert acknowledged(cluster) == ()


def test_a_minimum_that_was_raised_before_loses_nothing() -> None:
    cluster = a_precious_record(is_early=True)
    read_at_once(cluster, 0)
    assert acknowledged(cluster) == ()


def test_without_elr_the_record_is_acknowledged_and_kept() -> None:
    cluster = a_precious_record("4.3 without ELR")
    read_at_once(cluster, 0)
    assert acknowledged(cluster) == ("P",)
    fail_over_to_the_other(cluster)
    assert described(cluster) == "Leader: none Replicas: 0,1 Isr: 0 Elr:  LastKnownElr: "
    start(cluster, 0)
    assert logs(cluster)[0] == ALL + "P"


def test_the_answer_to_alter_partition_passes_the_raised_minimum_by() -> None:
    """That configurations are applied before partitions does not help: the leader has read neither."""
    cluster = cluster_of("4.3", PAIR, replace(PROMPT, min_insync_replicas=1))
    append(cluster, "P", 0)
    cluster.advance(10_001)
    cluster.fire(0, TimerKind.ISR_SHRINK_CHECK)
    cluster.change_min_insync_replicas(2)
    finish_alter_isr(cluster, 0)
    assert acknowledged(cluster) == ("P",)
    assert described(cluster) == "Leader: 0 Replicas: 0,1 Isr: 0 Elr: 1 LastKnownElr: "


# C8


@pytest.mark.parametrize(
    ("protocol", "is_deleted", "is_clean", "survives"),
    [
        ("4.3", True, True, False),
        ("4.3", False, True, True),
        ("4.3", True, False, True),
        ("4.3 without ELR", True, True, True),
    ],
    ids=["deleted", "nothing deleted", "killed", "without ELR"],
)
@pytest.mark.parametrize("leader_is_down", [True, False], ids=["the leader is down", "it copies"])
def test_a_clean_stop_says_nothing_about_the_data(
    protocol: str, is_deleted: bool, is_clean: bool, survives: bool, leader_is_down: bool
) -> None:
    cluster = cluster_of(protocol, PAIR)
    (stop if is_clean else kill)(cluster, 1)
    isr, elr, last = ("", "0,1", "0") if protocol == "4.3" else ("0", "", "")
    assert described(cluster) == f"Leader: 0 Replicas: 0,1 Isr: 0 Elr: {elr[2:]} LastKnownElr: "
    if is_deleted:
        cluster.delete_replica(1)
        assert logs(cluster) == {0: ALL, 1: ""}
    if leader_is_down:
        kill(cluster, 0)
        assert described(cluster) == f"Leader: none Replicas: 0,1 Isr: {isr} Elr: {elr} LastKnownElr: {last}"
    start(cluster, 1)
    if not leader_is_down:
        kill(cluster, 0)
    if not survives:
        assert described(cluster) == "Leader: 1 Replicas: 0,1 Isr: 1 Elr: 0 LastKnownElr: "
    start(cluster, 0)
    leader = cluster.controller_metadata().leader
    assert leader is not None
    replicate(cluster, 1 - leader)
    assert logs(cluster) == {0: ALL if survives else "", 1: ALL if survives else ""}


def test_only_the_folder_of_a_stopped_broker_is_deleted() -> None:
    cluster = cluster_of("4.3", PAIR)
    with pytest.raises(ClusterError, match="broker 1 runs; shut it down before the folder of its replica is deleted"):
        cluster.delete_replica(1)
    stop(cluster, 1)
    cluster.delete_replica(1)
    assert view_of(cluster, 1).has_stopped_cleanly
    assert view_of(cluster, 1).checkpointed_high_watermark == len(RECORDS)  # the file is not in the folder
    cluster.end_session(1)
    cluster.restart(1)
    assert view_of(cluster, 1).high_watermark == 0  # it does not exceed the log
    cluster.lose_disk(1)
    assert not view_of(cluster, 1).has_stopped_cleanly
    assert view_of(cluster, 1).checkpointed_high_watermark == 0


# C11


@pytest.mark.parametrize(("protocol", "offset"), [("4.3", 0), ("4.3 without ELR", 3)])
def test_deleted_records_come_back_through_the_elr(protocol: str, offset: int) -> None:
    cluster = cluster_of(protocol, PAIR)
    stop(cluster, 1)
    cluster.delete_records(0, 3)
    cluster.deliver(cluster.messages()[-1].number)
    stop(cluster, 0)
    start(cluster, 1, 0)
    leader = cluster.controller_metadata().leader
    assert leader is not None
    assert view_of(cluster, leader).log_start_offset == offset


# D2


@pytest.mark.parametrize(
    ("protocol", "forgets"), [("4.0 with ELR", True), ("4.1", True), ("4.3", False)], ids=["4.0", "4.1", "4.3"]
)
def test_up_to_4_2_the_report_of_a_directory_makes_the_controller_forget_the_elr(protocol: str, forgets: bool) -> None:
    cluster = cluster_of(protocol, PAIR)
    stop(cluster, 1)
    epoch = cluster.controller_metadata().partition_epoch
    cluster.report_directory(0)
    cluster.deliver(cluster.messages()[-1].number)
    read_all(cluster)
    elr = "" if forgets else "1"
    assert described(cluster) == f"Leader: 0 Replicas: 0,1 Isr: 0 Elr: {elr} LastKnownElr: "
    assert cluster.controller_metadata().partition_epoch == epoch + 1
    lose_power(cluster, 0, kept=3)
    start(cluster, 0, 1)
    leader = 0 if forgets else 1
    assert cluster.controller_metadata().leader == leader
    replicate(cluster, 1 - leader)
    assert logs(cluster) == dict.fromkeys(range(2), ALL[:3] if forgets else ALL)


def test_a_leaderless_partition_keeps_its_last_known_leader_when_a_directory_is_reported() -> None:
    cluster = cluster_of("4.1", PAIR)
    stop(cluster, 1)
    stop(cluster, 0)
    cluster.delete_replica(1)
    cluster.end_session(1)
    cluster.restart(1)
    cluster.report_directory(1)
    cluster.deliver(cluster.messages()[-1].number)
    assert described(cluster) == "Leader: none Replicas: 0,1 Isr:  Elr:  LastKnownElr: 0"


# Who leads last, and controllers that fail over


@pytest.mark.parametrize(("protocol", "leader"), [("4.0 with ELR", 0), ("4.1", None)])
def test_up_to_4_0_a_last_known_leader_that_is_not_alive_is_elected(protocol: str, leader: int | None) -> None:
    cluster = cluster_of(protocol, PAIR)
    for broker in (1, 0):
        kill(cluster, broker)
    for broker in (1, 0):
        cluster.end_session(broker)
        cluster.restart(broker)  # it registers, and is not unfenced yet
    assert cluster.metadata_log()[-1].brokers[0].is_fenced
    assert cluster.controller_metadata().leader == leader


@pytest.mark.parametrize(("protocol", "is_accepted"), [("4.0 with ELR", False), ("4.1", True)])
def test_since_4_1_a_new_controller_gives_fenced_brokers_no_session(protocol: str, is_accepted: bool) -> None:
    cluster = cluster_of(protocol, PAIR)
    kill(cluster, 1)
    cluster.fail_over_controller()
    assert cluster.may_register(1) == is_accepted
    assert not cluster.may_be_fenced(0)
    cluster.crash(0)
    with pytest.raises(ClusterError, match="broker 0: the session of its earlier process lasts"):
        cluster.restart(0)


def test_a_new_controller_forgets_for_whom_a_shutdown_waits() -> None:
    cluster = cluster_of("4.3", PAIR)
    cluster.begin_shutdown(1, leads_others=True)
    for _ in range(2):
        beat(cluster, 1)
        assert view_of(cluster, 1).is_up
    cluster.fail_over_controller()
    beat(cluster, 1)
    assert not view_of(cluster, 1).is_up

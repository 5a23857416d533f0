"""Reassignments, as Kafka carries them out; and the histories C1(a) to (d), in which eligible leader replicas make one
lose acknowledged records, or leave a partition without a leader.

The histories were driven on a real cluster (trunk of August 2026, two to four times each), with their controls; the
cluster here has the same outcome. In every history, all of RECORDS are acknowledged before it begins. One
difference: a fetch response carries the whole log, so that a copy that is interrupted has copied nothing.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from conformance.tests.cluster.kraft.operating import (
    ALL,
    PROMPT,
    RECORDS,
    THREE,
    cluster_of,
    described,
    kill,
    logs,
    read_all,
    read_at_once,
    reassign,
    replicate,
    start,
    stop,
)
from isrcheck.conformance.cluster.acts import (
    acknowledged,
    alter_isr_in_flight,
    append,
    ask,
    fetch,
    view_of,
)
from isrcheck.conformance.cluster.cluster import Cluster
from isrcheck.conformance.cluster.configuration.settings import ClusterError, Start
from isrcheck.conformance.cluster.controller.controller import Election
from isrcheck.conformance.cluster.network.messages import AlterIsrRequest, AlterIsrResponse, Errors, FetchResponse


def second_partition(replicas_of_first: int) -> Cluster:
    """A cluster of 4.3 whose partition is not the first of its topic."""
    return cluster_of("4.3", THREE, replace(PROMPT, replicas_of_partition_0=replicas_of_first))


def without_leader(protocol: str = "4.3") -> Cluster:
    """C1(a), steps 1 to 3: the replication factor is lowered to 1, and the leader is killed."""
    cluster = cluster_of(protocol, THREE)
    reassign(cluster, 0)
    kill(cluster, 0)
    return cluster


# C1(a)


def test_an_unclean_restart_after_a_smaller_replication_factor_leaves_no_leader() -> None:
    cluster = cluster_of("4.3", THREE)
    reassign(cluster, 0)
    assert described(cluster) == "Leader: 0 Replicas: 0 Isr: 0 Elr: 1,2 LastKnownElr: "
    assert logs(cluster) == {0: ALL, 1: "", 2: ""}
    kill(cluster, 0)
    assert described(cluster) == "Leader: none Replicas: 0 Isr:  Elr: 0,1,2 LastKnownElr: 0"
    start(cluster, 0)
    assert described(cluster) == "Leader: none Replicas: 0 Isr:  Elr: 1,2 LastKnownElr: 0"
    with pytest.raises(ClusterError, match="preferred: broker 0 is not elected, but None"):
        cluster.elect(Election.PREFERRED, 0)
    for broker in (1, 2):
        stop(cluster, broker)
        start(cluster, broker)
    assert described(cluster) == "Leader: none Replicas: 0 Isr:  Elr: 1,2 LastKnownElr: 0"
    cluster.elect(Election.UNCLEAN, 0)
    assert described(cluster) == "Leader: 0 Replicas: 0 Isr: 0 Elr:  LastKnownElr: "
    assert logs(cluster)[0] == ALL


def test_without_elr_the_leader_comes_back_after_a_smaller_replication_factor() -> None:
    cluster = without_leader("4.3 without ELR")
    assert described(cluster) == "Leader: none Replicas: 0 Isr: 0 Elr:  LastKnownElr: "
    start(cluster, 0)
    assert described(cluster) == "Leader: 0 Replicas: 0 Isr: 0 Elr:  LastKnownElr: "


def test_a_clean_stop_after_a_smaller_replication_factor_does_no_harm() -> None:
    cluster = cluster_of("4.3", THREE)
    reassign(cluster, 0)
    stop(cluster, 0)
    start(cluster, 0)
    assert described(cluster) == "Leader: 0 Replicas: 0 Isr: 0 Elr: 1,2 LastKnownElr: "


def test_a_new_minimum_before_the_crash_frees_the_partition_of_strangers() -> None:
    cluster = cluster_of("4.3", THREE)
    reassign(cluster, 0)
    cluster.change_min_insync_replicas(1)
    assert described(cluster) == "Leader: 0 Replicas: 0 Isr: 0 Elr:  LastKnownElr: "
    kill(cluster, 0)
    start(cluster, 0)
    assert described(cluster) == "Leader: 0 Replicas: 0 Isr: 0 Elr:  LastKnownElr: "


# C1(b)


def through_a_stranger(protocol: str) -> Cluster:
    """C1(b): 2 and 3 are down; the leader 1 is replaced by 4; then 1 is added again, and 4 is killed meanwhile."""
    cluster = cluster_of(protocol, Start(replicas=5, assignment=(1, 2, 3), leader=1, log=RECORDS))
    stop(cluster, 3)
    stop(cluster, 2)
    reassign(cluster, 4, 2, 3)
    replicate(cluster, 4)
    return cluster


def test_a_reassignment_through_a_member_of_the_elr_loses_records() -> None:
    cluster = through_a_stranger("4.3")
    assert described(cluster) == "Leader: 4 Replicas: 4,2,3 Isr: 4 Elr: 1,2 LastKnownElr: "
    assert logs(cluster) == {0: "", 1: "", 2: ALL, 3: ALL, 4: ALL}
    reassign(cluster, 4, 1, 3)
    kill(cluster, 4)
    assert described(cluster) == "Leader: 1 Replicas: 4,1,3,2 Isr: 1 Elr: 2,4 LastKnownElr: "
    assert logs(cluster) == {0: "", 1: "", 2: ALL, 3: ALL, 4: ALL}
    start(cluster, 2, 3, 4)
    for broker in (3, 4):
        replicate(cluster, broker)
    assert described(cluster) == "Leader: 1 Replicas: 4,1,3 Isr: 1,3,4 Elr:  LastKnownElr: "
    assert logs(cluster) == dict.fromkeys(range(5), "")


def test_without_elr_a_reassignment_loses_nothing() -> None:
    cluster = through_a_stranger("4.3 without ELR")
    assert described(cluster) == "Leader: 4 Replicas: 4,2,3 Isr: 4 Elr:  LastKnownElr: "
    reassign(cluster, 4, 1, 3)
    kill(cluster, 4)
    assert described(cluster) == "Leader: none Replicas: 4,1,3,2 Isr: 4 Elr:  LastKnownElr: "
    start(cluster, 2, 3, 4)
    for broker in (1, 3):
        replicate(cluster, broker)
    assert described(cluster) == "Leader: 4 Replicas: 4,1,3 Isr: 1,3,4 Elr:  LastKnownElr: "
    assert logs(cluster) == {0: "", 1: ALL, 2: "", 3: ALL, 4: ALL}


@pytest.mark.parametrize("protocol", ["4.0 with ELR", "4.1"])
def test_up_to_4_2_the_reassignment_waits_for_all_replicas(protocol: str) -> None:
    cluster = through_a_stranger(protocol)
    assert described(cluster) == "Leader: 1 Replicas: 4,2,3,1 Isr: 1,4 Elr:  LastKnownElr: "


# C1(c) as first read: cancel, and a second attempt


def test_up_to_4_2_a_second_attempt_after_a_cancel_loses_records() -> None:
    cluster = cluster_of("4.1", Start(assignment=(0, 1), log=RECORDS))
    kill(cluster, 1)
    reassign(cluster, 0, 1, 2)
    replicate(cluster, 2)
    assert described(cluster) == "Leader: 0 Replicas: 0,1,2 Isr: 0,2 Elr:  LastKnownElr: "
    epoch = cluster.controller_metadata().leader_epoch
    cluster.cancel_reassignment()
    read_all(cluster)
    assert described(cluster) == "Leader: 0 Replicas: 0,1 Isr: 0 Elr: 2 LastKnownElr: "
    assert cluster.controller_metadata().leader_epoch == epoch + 1
    assert logs(cluster) == {0: ALL, 1: ALL, 2: ""}
    reassign(cluster, 0, 1, 2)
    kill(cluster, 0)
    assert described(cluster) == "Leader: 2 Replicas: 0,1,2 Isr: 2 Elr: 0 LastKnownElr: "
    start(cluster, 0)
    replicate(cluster, 0)
    assert logs(cluster) == {0: "", 1: ALL, 2: ""}


# C1(c'): what an operator tries after C1(a)


def test_raising_the_replication_factor_of_a_leaderless_partition_is_refused() -> None:
    cluster = without_leader()
    start(cluster, 0)
    with pytest.raises(ClusterError, match="UNKNOWN_SERVER_ERROR: replica 1 is not assigned to this partition"):
        cluster.begin_reassignment((0, 1, 2))
    assert described(cluster) == "Leader: none Replicas: 0 Isr:  Elr: 1,2 LastKnownElr: 0"


def test_adding_the_strangers_while_they_are_down_loses_everything() -> None:
    cluster = without_leader()
    start(cluster, 0)
    stop(cluster, 1)
    stop(cluster, 2)
    reassign(cluster, 0, 1, 2)
    assert described(cluster) == "Leader: none Replicas: 0,1,2 Isr:  Elr: 1,2 LastKnownElr: 0"
    start(cluster, 1)
    assert described(cluster) == "Leader: 1 Replicas: 0,1,2 Isr: 1 Elr: 2 LastKnownElr: "
    replicate(cluster, 0)
    assert logs(cluster) == {0: "", 1: "", 2: ""}


def test_killing_the_strangers_heals_the_partition() -> None:
    cluster = without_leader()
    start(cluster, 0)
    for broker in (1, 2):
        kill(cluster, broker)
        start(cluster, broker)
    assert described(cluster) == "Leader: 0 Replicas: 0 Isr: 0 Elr:  LastKnownElr: "
    assert logs(cluster)[0] == ALL


def test_a_new_minimum_does_not_heal_the_partition() -> None:
    cluster = without_leader()
    start(cluster, 0)
    cluster.change_min_insync_replicas(1)
    stop(cluster, 0)
    start(cluster, 0)
    assert described(cluster) == "Leader: none Replicas: 0 Isr:  Elr:  LastKnownElr: "


def test_without_elr_the_replication_factor_is_raised_again() -> None:
    cluster = without_leader("4.3 without ELR")
    start(cluster, 0)
    reassign(cluster, 0, 1, 2)
    for broker in (1, 2):
        replicate(cluster, broker)
    assert described(cluster) == "Leader: 0 Replicas: 0,1,2 Isr: 0,1,2 Elr:  LastKnownElr: "
    assert logs(cluster) == dict.fromkeys(range(3), ALL)


# C1(d)


def test_a_replication_factor_of_3_1_3_of_the_second_partition_loses_records() -> None:
    cluster = second_partition(3)
    reassign(cluster, 0)
    reassign(cluster, 0, 1, 2)
    assert described(cluster) == "Leader: 0 Replicas: 0,1,2 Isr: 0 Elr: 1,2 LastKnownElr: "
    kill(cluster, 0)
    assert described(cluster) == "Leader: 1 Replicas: 0,1,2 Isr: 1 Elr: 0,2 LastKnownElr: "
    start(cluster, 0)
    replicate(cluster, 0)
    assert logs(cluster) == {0: "", 1: "", 2: ""}


@pytest.mark.parametrize("protocol", ["4.3", "4.3 without ELR"], ids=["the first partition", "without ELR"])
def test_it_loses_nothing(protocol: str) -> None:
    settings = PROMPT if protocol == "4.3" else replace(PROMPT, replicas_of_partition_0=3)
    cluster = cluster_of(protocol, THREE, settings)
    reassign(cluster, 0)
    reassign(cluster, 0, 1, 2)
    assert described(cluster) == "Leader: 0 Replicas: 0,1,2 Isr: 0 Elr:  LastKnownElr: "
    kill(cluster, 0)
    isr, elr, last = ("", "0", "0") if protocol == "4.3" else ("0", "", "")
    assert described(cluster) == f"Leader: none Replicas: 0,1,2 Isr: {isr} Elr: {elr} LastKnownElr: {last}"
    start(cluster, 0)
    assert described(cluster) == "Leader: 0 Replicas: 0,1,2 Isr: 0 Elr:  LastKnownElr: "
    assert logs(cluster)[0] == ALL


# The rules


RULES = {"3.7": "4,2,3", "4.1": "4,2,3,1", "4.3": "4,2,3"}
"""The replicas once the added one is in sync, and another one is down that stays."""


@pytest.mark.parametrize("protocol", RULES)
def test_a_reassignment_completes_by_the_rule_of_its_release(protocol: str) -> None:
    cluster = cluster_of(protocol, Start(replicas=5, assignment=(1, 2, 3), leader=1, log=RECORDS))
    kill(cluster, 3)
    reassign(cluster, 4, 2, 3)
    replicate(cluster, 4)
    assert f" Replicas: {RULES[protocol]} " in described(cluster)


@pytest.mark.parametrize(("protocol", "completes"), [("3.7", True), ("4.1", False), ("4.3", False)])
def test_a_reassignment_to_fewer_replicas_waits_for_all_of_them(protocol: str, completes: bool) -> None:
    cluster = cluster_of(protocol, THREE)
    kill(cluster, 2)
    reassign(cluster, 0, 2)
    isr, replicas = ("0", "0,2") if completes else ("0,1", "0,2,1")
    assert described(cluster) == f"Leader: 0 Replicas: {replicas} Isr: {isr} Elr:  LastKnownElr: "


def test_a_removed_leader_hears_that_another_one_was_elected() -> None:
    cluster = cluster_of("4.3", Start(assignment=(0, 1), log=RECORDS))
    reassign(cluster, 1, 2)
    assert described(cluster) == "Leader: 0 Replicas: 1,2,0 Isr: 0,1 Elr:  LastKnownElr: "
    fetch(cluster, 2, 0)
    ask(cluster, 2, 0)
    cluster.deliver(alter_isr_in_flight(cluster, 0, AlterIsrRequest).number)
    told = alter_isr_in_flight(cluster, 0, AlterIsrResponse)
    assert isinstance(told.payload, AlterIsrResponse)
    assert told.payload.error is Errors.NEW_LEADER_ELECTED
    assert described(cluster) == "Leader: 1 Replicas: 1,2 Isr: 1,2 Elr:  LastKnownElr: "
    cluster.deliver(told.number)
    leadership = view_of(cluster, 0).leadership
    assert leadership is not None
    assert leadership.proposed_isr == {0, 1, 2}  # until it reads the record
    read_all(cluster)
    assert view_of(cluster, 0).leadership is None
    assert logs(cluster) == {0: "", 1: ALL, 2: ALL}


def test_a_leader_is_removed_at_once_if_nothing_has_to_be_copied() -> None:
    cluster = cluster_of("4.3", THREE)
    reassign(cluster, 2, 1)
    assert described(cluster) == "Leader: 2 Replicas: 2,1 Isr: 1,2 Elr:  LastKnownElr: "
    assert cluster.controller_metadata().leader_epoch == 1


def test_only_a_removal_starts_a_leader_epoch() -> None:
    """A record that only clears the added replicas has the leader epoch of the answer: a leader has to take it."""
    cluster = cluster_of("4.3", Start(assignment=(0, 1), log=RECORDS))
    reassign(cluster, 1, 0)
    assert (cluster.controller_metadata().leader_epoch, cluster.controller_metadata().partition_epoch) == (0, 1)
    reassign(cluster, 1, 0, 2)
    replicate(cluster, 2)
    now = cluster.metadata_log()[-1].partition
    assert (now.leader_epoch, now.partition_epoch, now.adding, now.isr) == (0, 3, set(), {0, 1, 2})


def test_a_leader_refuses_a_follower_of_which_it_has_not_read() -> None:
    cluster = cluster_of("4.3", Start(assignment=(0, 1), log=RECORDS))
    cluster.begin_reassignment((0, 1, 2))
    read_all(cluster, 2)
    answer = ask(cluster, 2, 0)
    assert answer is not None
    assert isinstance(answer.payload, FetchResponse)
    assert answer.payload.error is Errors.UNKNOWN_LEADER_EPOCH
    cluster.deliver(answer.number)
    read_all(cluster, 0)
    replicate(cluster, 2)
    assert logs(cluster)[2] == ALL


def test_a_leader_counts_its_own_replicas() -> None:
    """With two replicas, of which one is being added, a minimum of 3 asks for two."""
    cluster = cluster_of("4.3", Start(assignment=(0,), log=RECORDS), replace(PROMPT, min_insync_replicas=3))
    append(cluster, "x", 0)
    assert acknowledged(cluster) == ("x",)
    reassign(cluster, 0, 1)
    append(cluster, "y", 0)
    assert acknowledged(cluster) == ("x",)
    assert logs(cluster)[0] == ALL + "x"


def test_a_replica_that_missed_its_removal_keeps_its_log() -> None:
    """It was down, or has read both records at once."""
    cluster = cluster_of("4.3", THREE)
    cluster.begin_reassignment((0, 1))
    cluster.begin_reassignment((0, 1, 2))
    read_at_once(cluster, 2)
    assert logs(cluster)[2] == ALL


@pytest.mark.parametrize(("protocol", "is_stuck"), [("4.1", False), ("4.3", True)])
def test_the_original_replicas_are_no_way_to_cancel(protocol: str, is_stuck: bool) -> None:
    """Since 4.3 the added replica is then added and removed, so that nothing completes until it is cancelled."""
    cluster = cluster_of(protocol, Start(assignment=(0, 1), log=RECORDS))
    reassign(cluster, 0, 1, 2)
    reassign(cluster, 0, 1)
    now = cluster.metadata_log()[-1].partition
    assert (now.adding, now.removing) == (({2}, {2}) if is_stuck else (set(), set()))
    replicas = "0,1,2" if is_stuck else "0,1"
    assert f" Replicas: {replicas} " in described(cluster)
    if is_stuck:
        cluster.cancel_reassignment()
        assert described(cluster) == "Leader: 0 Replicas: 0,1 Isr: 0,1 Elr:  LastKnownElr: "


def test_what_cannot_be_cancelled_is_told() -> None:
    cluster = cluster_of("4.1", Start(replicas=4, assignment=(0, 1), log=RECORDS))
    with pytest.raises(ClusterError, match="there is no reassignment to cancel; begin one"):
        cluster.cancel_reassignment()
    reassign(cluster, 2, 3)
    replicate(cluster, 2)
    for broker in (1, 0):
        kill(cluster, broker)
    assert described(cluster) == "Leader: 2 Replicas: 2,3,0,1 Isr: 2 Elr: 0 LastKnownElr: "
    with pytest.raises(ClusterError, match="the ISR has only replicas that it adds"):
        cluster.cancel_reassignment()


@pytest.mark.parametrize("replicas", [(), (0, 0), (0, 3), (0, -1), (0, 1)])
def test_a_reassignment_names_registered_brokers_once(replicas: tuple[int, ...]) -> None:
    cluster = cluster_of("4.3", THREE)
    kill(cluster, 1)
    cluster.unregister(1)
    with pytest.raises(ClusterError, match="name registered brokers, each once"):
        cluster.begin_reassignment(replicas)

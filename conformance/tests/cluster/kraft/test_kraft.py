"""A cluster with a KRaft controller, without any model: registrations, fencing, AlterPartition, eligible leaders; and
the seeded bugs of what 4.x has brought.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import pytest

from conformance.tests.cluster.kraft.operating import (
    PROMPT,
    beat,
    kill,
    logs,
    read_all,
    read_at_once,
    reassign,
    replicate,
    stop,
)
from conformance.tests.cluster.kraft.operating import start as start_up
from isrcheck.conformance.cluster.acts import acknowledged, alter_isr_in_flight, append, ask, fetch, view_of
from isrcheck.conformance.cluster.broker.broker import TimerKind
from isrcheck.conformance.cluster.cluster import Cluster
from isrcheck.conformance.cluster.configuration.bugs import Bug
from isrcheck.conformance.cluster.configuration.protocol import generation
from isrcheck.conformance.cluster.configuration.settings import ClusterError, Settings, Start
from isrcheck.conformance.cluster.controller.controller import Election
from isrcheck.conformance.cluster.network.messages import (
    AlterIsrRequest,
    AlterIsrResponse,
    BrokerHeartbeatRequest,
    Errors,
)

IN_SYNC_01 = Start(isr=frozenset({0, 1}))


def fence_all(cluster: Cluster, *brokers: int) -> None:
    """The sessions of these brokers end, and the controller notices; nobody reads of it."""
    for broker in brokers:
        cluster.end_session(broker)
        cluster.fence(broker)


def answer_of(cluster: Cluster, leader: int = 0) -> Errors:
    """What the controller answers to the leader's request."""
    cluster.deliver(alter_isr_in_flight(cluster, leader, AlterIsrRequest).number)
    told = alter_isr_in_flight(cluster, leader, AlterIsrResponse).payload
    assert isinstance(told, AlterIsrResponse)
    return told.error


def leader_and_isr(cluster: Cluster) -> tuple[int | None, list[int]]:
    found = cluster.controller_metadata()
    return found.leader, sorted(found.isr)


@pytest.mark.parametrize(("protocol", "epoch"), [("3.3", 1), ("3.7", 0)])
def test_a_fenced_follower_leaves_the_isr(protocol: str, epoch: int) -> None:
    """Until 3.5 that starts a leader epoch."""
    cluster = Cluster(protocol, settings=PROMPT)
    fence_all(cluster, 1)
    assert leader_and_isr(cluster) == (0, [0, 2])
    assert (cluster.controller_metadata().leader_epoch, cluster.controller_metadata().partition_epoch) == (epoch, 1)


def test_the_first_valid_replica_in_assignment_order_leads() -> None:
    cluster = Cluster("3.7", Start(assignment=(0, 2, 1)), PROMPT)
    fence_all(cluster, 0)
    assert leader_and_isr(cluster) == (2, [1, 2])
    with pytest.raises(ClusterError, match="preferred: broker 1 is not elected, but None"):
        cluster.elect(Election.PREFERRED, 1)


def test_a_leader_that_has_not_read_of_it_proposes_a_fenced_follower_in_vain() -> None:
    cluster = Cluster("3.7", IN_SYNC_01, PROMPT)
    fence_all(cluster, 2)
    ask(cluster, 2, 0)
    assert answer_of(cluster) is Errors.INELIGIBLE_REPLICA
    cluster.deliver(cluster.messages()[-1].number)
    read_all(cluster, 0)
    leadership = view_of(cluster, 0).leadership
    assert leadership is not None
    assert leadership.proposed_isr is None


def test_a_leader_that_has_read_of_it_does_not_propose_a_fenced_follower() -> None:
    cluster = Cluster("3.7", IN_SYNC_01, PROMPT)
    fence_all(cluster, 2)
    read_all(cluster, 0)
    ask(cluster, 2, 0)
    assert not any(isinstance(each.payload, AlterIsrRequest) for each in cluster.messages())


def test_a_request_that_was_accepted_is_refused_if_it_comes_again() -> None:
    """Unlike a controller with ZooKeeper, which compares the ISR before the partition epoch."""
    cluster = Cluster("3.7", IN_SYNC_01, PROMPT)
    ask(cluster, 2, 0)
    assert answer_of(cluster) is Errors.NONE
    cluster.drop(alter_isr_in_flight(cluster, 0, AlterIsrResponse).number)
    assert answer_of(cluster) is Errors.INVALID_UPDATE_VERSION


def test_a_broker_registers_only_after_its_session() -> None:
    cluster = Cluster("3.7", settings=PROMPT)
    cluster.crash(1)
    with pytest.raises(ClusterError, match="broker 1: the session of its earlier process lasts; end the session first"):
        cluster.restart(1)


@pytest.mark.parametrize(("protocol", "isr"), [("3.7", [0, 1, 2]), ("4.0", [0, 2]), ("4.1", [0, 2])])
def test_a_broker_that_restarts_before_it_is_fenced(protocol: str, isr: list[int]) -> None:
    """Up to 3.9 it stays in the ISR (KAFKA-18106); later it leaves it, in one change of the partition."""
    cluster = Cluster(protocol, settings=PROMPT)
    cluster.crash(1)
    cluster.advance(Settings().broker_session_timeout_ms + 1)
    cluster.restart(1)
    assert leader_and_isr(cluster) == (0, isr)
    assert elr_of(cluster) == set()
    assert cluster.controller_metadata().partition_epoch == (0 if len(isr) == 3 else 1)
    assert cluster.metadata_log()[-1].brokers[1].is_fenced


def test_the_releases_of_4_x_differ_as_in_kafka_s_sources() -> None:
    """4.0 is a cluster without eligible leader replicas: their rules show once they are turned on."""
    of_4_0, of_4_1, of_4_3 = (generation(name) for name in ("4.0", "4.1", "4.3"))
    assert replace(generation("3.7"), RESPONSE_EPOCH_MATCHED=True, RESTART_BEFORE_FENCING=False) == replace(
        of_4_0,
        ASSIGNED_DIRECTORY_ERASES_ELR=False,
        LAST_KNOWN_LEADER_IS_ACTIVE=True,
        REASSIGNED_WITHOUT_THE_OTHERS=True,
    )
    assert replace(of_4_0, ELR=True, FAIL_OVER_GIVES_FENCED_SESSIONS=False, LAST_KNOWN_LEADER_IS_ACTIVE=True) == of_4_1
    assert of_4_3 == replace(
        of_4_1,
        ASSIGNED_DIRECTORY_ERASES_ELR=False,
        REASSIGNED_ONCE_ADDED=True,
    )


def test_a_broker_stops_when_the_others_have_read_of_its_shutdown() -> None:
    cluster = Cluster("3.7", settings=PROMPT)
    cluster.begin_shutdown(0)
    beat(cluster, 0)
    assert leader_and_isr(cluster) == (1, [1, 2])
    beat(cluster, 0)
    assert view_of(cluster, 0).is_up
    read_all(cluster, 1, 2)
    beat(cluster, 1)
    beat(cluster, 2)
    beat(cluster, 0)
    assert not view_of(cluster, 0).is_up
    assert view_of(cluster, 0).has_stopped_cleanly


def answered(cluster: Cluster) -> None:
    """The heartbeat in flight reaches the controller, and the answer reaches the broker."""
    for _ in ("request", "response"):
        cluster.deliver(cluster.messages()[-1].number)


@pytest.mark.parametrize(
    "end",
    [
        lambda cluster: cluster.drop(cluster.messages()[-1].number),
        lambda cluster: (
            cluster.deliver(cluster.messages()[-1].number),
            cluster.drop(cluster.messages()[-1].number),
        ),
        answered,
    ],
    ids=["the request is lost", "the answer is lost", "the answer arrives"],
)
def test_a_broker_sends_one_heartbeat_at_a_time(end: Callable[[Cluster], object]) -> None:
    """Kafka: BrokerLifecycleManager, communicationInFlight. With two in flight, an older heartbeat could overtake the
    one that asks for the shutdown, and unfence a broker that was fenced meanwhile.
    """
    cluster = Cluster("3.7", settings=PROMPT)
    assert cluster.fire(1, TimerKind.HEARTBEAT)
    cluster.begin_shutdown(1, leads_others=True)
    assert not cluster.fire(1, TimerKind.HEARTBEAT)
    (heartbeat,) = cluster.messages()
    assert heartbeat.payload == BrokerHeartbeatRequest(0, wants_to_shut_down=False)
    end(cluster)
    assert cluster.messages() == ()
    assert cluster.fire(1, TimerKind.HEARTBEAT)
    (heartbeat,) = cluster.messages()
    assert heartbeat.payload == BrokerHeartbeatRequest(0, wants_to_shut_down=True)
    assert not cluster.metadata_log()[-1].brokers[1].in_controlled_shutdown
    answered(cluster)
    assert cluster.metadata_log()[-1].brokers[1].in_controlled_shutdown


def test_the_heartbeat_of_an_unregistered_process_is_answered_and_changes_nothing() -> None:
    """Kafka: STALE_BROKER_EPOCH."""
    cluster = Cluster("3.7", settings=PROMPT)
    cluster.unregister(1)
    for _ in range(2):
        last_offset = len(cluster.metadata_log())
        assert cluster.fire(1, TimerKind.HEARTBEAT)
        answered(cluster)
        assert len(cluster.metadata_log()) == last_offset


@pytest.mark.parametrize("leads_others", [False, True])
def test_a_broker_that_leads_nothing_stops_at_once(leads_others: bool) -> None:
    """Kafka: BrokerHeartbeatManager.calculateNextBrokerState."""
    cluster = Cluster("3.7", settings=PROMPT)
    cluster.begin_shutdown(1, leads_others=leads_others)
    beat(cluster, 1)
    assert leader_and_isr(cluster) == (0, [0, 2])
    assert view_of(cluster, 1).is_up is leads_others
    assert cluster.metadata_log()[-1].brokers[1].is_fenced is not leads_others


def test_members_below_min_isr_stay_eligible() -> None:
    """KIP-966: the last leader is elected only if nobody is eligible; an unclean shutdown ends eligibility."""
    cluster = Cluster("4.1", settings=PROMPT)
    append(cluster, "r", 0)
    fetch(cluster, 1, 0)
    fence_all(cluster, 2, 1)
    assert (leader_and_isr(cluster), cluster.metadata_log()[-1].partition.elr) == ((0, [0]), {1})
    fence_all(cluster, 0)
    record = cluster.metadata_log()[-1].partition
    assert (record.leader, record.isr, record.elr, record.last_known_leader) == (None, set(), {0, 1}, 0)
    for broker in (0, 1):
        cluster.crash(broker)
        cluster.restart(broker)
        read_all(cluster, broker)
    beat(cluster, 1)
    assert leader_and_isr(cluster) == (None, [])
    beat(cluster, 0)
    assert leader_and_isr(cluster) == (0, [0])


RECORD = Start(log=("r",))


@dataclass(frozen=True)
class Seen:
    """A driver, and what it returns without the bug and with it; `bug` may be a switch, off in Kafka and on."""

    bug: Bug | str
    drive: Callable[[Cluster], object]
    right: object
    wrong: object
    start: Start = RECORD
    settings: Settings = PROMPT


def elr_of(cluster: Cluster) -> set[int]:
    return set(cluster.metadata_log()[-1].partition.elr)


def elr_after_a_smaller_replication_factor(cluster: Cluster) -> object:
    reassign(cluster, 0)
    return elr_of(cluster)


def elr_after_two_stops(cluster: Cluster) -> object:
    stop(cluster, 2)
    stop(cluster, 1)
    return elr_of(cluster)


def elr_after_a_broker_is_unregistered(cluster: Cluster) -> object:
    elr_after_two_stops(cluster)
    cluster.unregister(1)
    return elr_of(cluster)


def elr_after_a_replica_is_deleted(cluster: Cluster) -> object:
    elr_after_two_stops(cluster)
    cluster.delete_replica(1)
    start_up(cluster, 1)
    return elr_of(cluster)


def elr_after_a_new_minimum(cluster: Cluster) -> object:
    elr_after_two_stops(cluster)
    cluster.change_min_insync_replicas(3)
    return elr_of(cluster)


def acknowledged_after_an_append(cluster: Cluster) -> object:
    append(cluster, "x", 0)
    return acknowledged(cluster)


def acknowledged_after_a_new_minimum(cluster: Cluster) -> object:
    cluster.change_min_insync_replicas(2)
    read_all(cluster)
    return acknowledged_after_an_append(cluster)


def acknowledged_after_a_late_minimum(cluster: Cluster) -> object:
    append(cluster, "x", 0)
    cluster.change_min_insync_replicas(2)
    fence_all(cluster, 1)
    read_at_once(cluster, 0)
    return acknowledged(cluster)


def replicas_before_anything_is_copied(cluster: Cluster) -> object:
    reassign(cluster, 0, 2)
    return cluster.metadata_log()[-1].partition.replicas


def isr_after_a_cancel(cluster: Cluster) -> object:
    kill(cluster, 1)
    reassign(cluster, 2, 1)
    replicate(cluster, 2)
    cluster.cancel_reassignment()
    return set(cluster.controller_metadata().isr)


def leader_after_strangers_are_added(cluster: Cluster) -> object:
    reassign(cluster, 0)
    kill(cluster, 0)
    start_up(cluster, 0)
    try:
        reassign(cluster, 0, 1, 2)
    except ClusterError:
        return None
    return cluster.controller_metadata().leader


def log_of_a_removed_replica(cluster: Cluster) -> object:
    reassign(cluster, 0)
    return logs(cluster)[1]


def followers_before_the_leader_has_read(cluster: Cluster) -> object:
    cluster.begin_reassignment((0, 1, 2))
    read_all(cluster, 2)
    ask(cluster, 2, 0)
    leadership = view_of(cluster, 0).leadership
    assert leadership is not None
    return [follower for follower, _ in leadership.remote_log_end_offsets]


ONE = Start(assignment=(0,), log=("r",))
TWO = Start(assignment=(0, 1), log=("r",))
OF_ONE = replace(PROMPT, min_insync_replicas=1)
SEEN_WITH_KRAFT = (
    Seen("ELR_WITHIN_REPLICAS", elr_after_a_smaller_replication_factor, {1, 2}, set()),
    Seen("UNREGISTERED_LEAVES_ELR", elr_after_a_broker_is_unregistered, {1}, set()),
    Seen(
        *("MIN_ISR_OF_OWN_REPLICAS", elr_after_two_stops, set(), {1}),
        settings=replace(PROMPT, replicas_of_partition_0=1),
    ),
    Seen(
        *(Bug.MIN_ISR_OF_ALL_BROKERS, acknowledged_after_an_append, ("x",), (), ONE),
        settings=replace(PROMPT, min_insync_replicas=3),
    ),
    Seen(Bug.NEW_MINIMUM_KEEPS_ELR, elr_after_a_new_minimum, set(), {1}),
    Seen("CONFIGURATION_BEFORE_TOPICS", acknowledged_after_a_late_minimum, ("x",), (), TWO, OF_ONE),
    Seen(
        *(Bug.NEW_MINIMUM_NOT_READ, acknowledged_after_a_new_minimum, (), ("x",)),
        *(Start(replicas=2, isr=frozenset({0})), OF_ONE),
    ),
    Seen(Bug.REASSIGNMENT_COMPLETES_EARLY, replicas_before_anything_is_copied, (0, 2, 1), (0, 2), TWO),
    Seen(Bug.CANCEL_KEEPS_ISR, isr_after_a_cancel, {0}, {0, 2}, TWO),
    Seen(Bug.STRANGER_ELECTED, leader_after_strangers_are_added, None, 1),
    Seen(Bug.REMOVED_REPLICA_KEEPS_LOG, log_of_a_removed_replica, "", "r"),
    Seen(Bug.STRANGER_COUNTED, followers_before_the_leader_has_read, [1], [1, 2], TWO),
    Seen("DELETED_FOLDER_IS_UNCLEAN", elr_after_a_replica_is_deleted, {1}, set()),
)


@pytest.mark.parametrize("seen", SEEN_WITH_KRAFT, ids=lambda each: str(each.bug))
def test_a_seeded_bug_is_detected(seen: Seen) -> None:
    protocol = "4.1" if seen.bug is Bug.CANCEL_KEEPS_ISR else "4.3"  # in 4.3 it would be complete
    assert seen.drive(Cluster(protocol, seen.start, seen.settings)) == seen.right
    if isinstance(seen.bug, Bug):
        mistaken = Cluster(protocol, seen.start, seen.settings, bug=seen.bug.name.lower())
    else:
        mistaken = Cluster(generation(protocol).with_switch(seen.bug, "on"), seen.start, seen.settings)
    assert seen.drive(mistaken) == seen.wrong

"""A cluster with a KRaft controller, without any model: registrations, fencing, AlterPartition, eligible leaders."""

from __future__ import annotations

import pytest

from isrcheck.conformance.cluster.acts import alter_isr_in_flight, append, ask, fetch, view_of
from isrcheck.conformance.cluster.broker.timers import TimerKind
from isrcheck.conformance.cluster.cluster import Cluster
from isrcheck.conformance.cluster.configuration.settings import ClusterError, Settings, Start
from isrcheck.conformance.cluster.controller.controller import Election
from isrcheck.conformance.cluster.network.alter_isr_messages import AlterIsrRequest, AlterIsrResponse
from isrcheck.conformance.cluster.network.messages import Errors
from isrcheck.conformance.cluster.network.metadata_messages import MetadataImage

PROMPT = Settings(replica_fetch_backoff_ms=0, replica_fetch_wait_max_ms=0)
IN_SYNC_01 = Start(isr=frozenset({0, 1}))


def read_all(cluster: Cluster, *brokers: int) -> None:
    """These brokers read the metadata log to its end."""
    for message in cluster.messages():
        if message.destination in brokers and isinstance(message.payload, MetadataImage):
            cluster.deliver(message.number)


def beat(cluster: Cluster, broker: int) -> None:
    """A heartbeat reaches the controller, and the answer the broker."""
    cluster.fire(broker, TimerKind.HEARTBEAT)
    cluster.deliver(cluster.messages()[-1].number)
    cluster.deliver(cluster.messages()[-1].number)


def fence(cluster: Cluster, *brokers: int) -> None:
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
    fence(cluster, 1)
    assert leader_and_isr(cluster) == (0, [0, 2])
    assert (cluster.controller_metadata().leader_epoch, cluster.controller_metadata().partition_epoch) == (epoch, 1)


def test_the_first_valid_replica_in_assignment_order_leads() -> None:
    cluster = Cluster("3.7", Start(assignment=(0, 2, 1)), PROMPT)
    fence(cluster, 0)
    assert leader_and_isr(cluster) == (2, [1, 2])
    with pytest.raises(ClusterError, match="preferred: broker 1 is not elected, but None"):
        cluster.elect(Election.PREFERRED, 1)


def test_a_leader_that_has_not_read_of_it_proposes_a_fenced_follower_in_vain() -> None:
    cluster = Cluster("3.7", IN_SYNC_01, PROMPT)
    fence(cluster, 2)
    ask(cluster, 2, 0)
    assert answer_of(cluster) is Errors.INELIGIBLE_REPLICA
    cluster.deliver(cluster.messages()[-1].number)
    read_all(cluster, 0)
    leadership = view_of(cluster, 0).leadership
    assert leadership is not None
    assert leadership.proposed_isr is None


def test_a_leader_that_has_read_of_it_does_not_propose_a_fenced_follower() -> None:
    cluster = Cluster("3.7", IN_SYNC_01, PROMPT)
    fence(cluster, 2)
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
    cluster.advance(Settings().broker_session_timeout_ms + 1)
    cluster.restart(1)
    assert leader_and_isr(cluster) == (0, [0, 1, 2])  # KAFKA-18106
    assert cluster.metadata_log()[-1].brokers[1].is_fenced


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


def test_members_below_min_isr_stay_eligible() -> None:
    """KIP-966: the last leader is elected only if nobody is eligible; an unclean shutdown ends eligibility."""
    cluster = Cluster("4.1", settings=PROMPT)
    append(cluster, "r", 0)
    fetch(cluster, 1, 0)
    fence(cluster, 2, 1)
    assert (leader_and_isr(cluster), cluster.metadata_log()[-1].partition.elr) == ((0, [0]), {1})
    fence(cluster, 0)
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

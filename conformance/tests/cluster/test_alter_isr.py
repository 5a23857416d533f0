"""AlterIsr (KIP-497): a leader proposes an ISR, the controller decides, and the leader hears of it."""

from __future__ import annotations

import pytest

from isrcheck.conformance.cluster.acts import (
    acknowledged,
    alter_isr_in_flight,
    append,
    ask,
    fetch,
    finish_alter_isr,
    learn,
    restart,
    view_of,
)
from isrcheck.conformance.cluster.broker.broker import TimerKind
from isrcheck.conformance.cluster.cluster import Cluster
from isrcheck.conformance.cluster.configuration.protocol import generation
from isrcheck.conformance.cluster.configuration.settings import ClusterError, Settings, Start
from isrcheck.conformance.cluster.controller.controller import Controller, Election
from isrcheck.conformance.cluster.network.messages import Acks, AlterIsrRequest, AlterIsrResponse, Errors, LeaderAndIsr
from isrcheck.conformance.cluster.network.network import CONTROLLER, Network
from isrcheck.conformance.cluster.observe import LeadershipView

IN_SYNC_01 = Start(isr=frozenset({0, 1}))
PROMPT = Settings(replica_fetch_backoff_ms=0)


def joining() -> Cluster:
    """Leader 0 has proposed that broker 2 joins the ISR of brokers 0 and 1."""
    cluster = Cluster("2.8", IN_SYNC_01, PROMPT)
    ask(cluster, 2, 0)
    return cluster


def leadership(cluster: Cluster, broker: int = 0) -> LeadershipView:
    found = view_of(cluster, broker).leadership
    assert found is not None
    return found


def request_of(cluster: Cluster, broker: int = 0) -> AlterIsrRequest:
    found = alter_isr_in_flight(cluster, broker, AlterIsrRequest).payload
    assert isinstance(found, AlterIsrRequest)
    return found


def answered(cluster: Cluster, broker: int = 0) -> AlterIsrResponse:
    """The controller handles the request of a broker, and answers this."""
    cluster.deliver(alter_isr_in_flight(cluster, broker, AlterIsrRequest).number)
    found = alter_isr_in_flight(cluster, broker, AlterIsrResponse).payload
    assert isinstance(found, AlterIsrResponse)
    return found


def record_of(cluster: Cluster) -> tuple[int, int, int, list[int]]:
    """The controller's leader, leader epoch, partition epoch and ISR."""
    found = cluster.controller_metadata()
    return (found.leader, found.leader_epoch, found.partition_epoch, sorted(found.isr))


def test_an_expansion_is_pending_until_the_answer_arrives() -> None:
    cluster = joining()
    assert request_of(cluster) == AlterIsrRequest(0, 0, frozenset({0, 1, 2}), ((1, 1), (2, 1)))
    assert (leadership(cluster).isr, leadership(cluster).proposed_isr) == ({0, 1}, {0, 1, 2})
    assert record_of(cluster) == (0, 0, 0, [0, 1])
    assert answered(cluster) == AlterIsrResponse(Errors.NONE, 0, 1, frozenset({0, 1, 2}))
    assert record_of(cluster) == (0, 0, 1, [0, 1, 2])
    assert leadership(cluster).isr == {0, 1}
    finish_alter_isr(cluster, 0)
    assert (leadership(cluster).isr, leadership(cluster).proposed_isr) == ({0, 1, 2}, None)
    assert [view_of(cluster, broker).partition_epoch for broker in cluster.brokers] == [1, 0, 0]


def test_a_follower_that_leaves_still_counts_until_the_answer_arrives() -> None:
    cluster = Cluster("2.8", Start(replicas=2), Settings(min_insync_replicas=1))
    append(cluster, "a", leader=0)
    cluster.advance(10_001)
    assert cluster.fire(0, TimerKind.ISR_SHRINK_CHECK)
    assert not cluster.fire(0, TimerKind.ISR_SHRINK_CHECK)  # one change at a time
    assert (leadership(cluster).isr, leadership(cluster).proposed_isr) == ({0, 1}, {0})
    assert (view_of(cluster, 0).high_watermark, acknowledged(cluster)) == (0, ())
    finish_alter_isr(cluster, 0)
    assert leadership(cluster).isr == {0}
    assert (view_of(cluster, 0).high_watermark, acknowledged(cluster)) == (1, ("a",))


def test_an_append_needs_the_committed_isr_and_an_acknowledgement_the_maximal_one() -> None:
    cluster = Cluster("2.8", Start(replicas=2, isr=frozenset({0})), Settings(min_insync_replicas=2))
    ask(cluster, 1, 0)
    append(cluster, "a", leader=0)
    assert [one.outcome for one in cluster.observe().sent[0][1]] == [None]
    acknowledged(cluster)
    assert [one.outcome for one in cluster.observe().sent[0][1]] == [Errors.NOT_ENOUGH_REPLICAS]
    finish_alter_isr(cluster, 0)
    append(cluster, "b", leader=0)
    cluster.advance(10_001)
    assert cluster.fire(0, TimerKind.ISR_SHRINK_CHECK)
    cluster.fire(0, TimerKind.DELAYED_FETCH, 1)
    for message in cluster.messages():
        if message.destination == 1:
            cluster.deliver(message.number)
    ask(cluster, 1, 0)  # which is still counted, so that two members have the record
    assert acknowledged(cluster) == ("b",)


@pytest.mark.parametrize("lost", [AlterIsrRequest, AlterIsrResponse])
def test_a_request_is_sent_again_if_it_or_the_answer_is_lost(
    lost: type[AlterIsrRequest] | type[AlterIsrResponse],
) -> None:
    cluster = joining()
    asked = request_of(cluster)
    if lost is AlterIsrResponse:
        assert answered(cluster).error is Errors.NONE
    cluster.drop(alter_isr_in_flight(cluster, 0, lost).number)
    assert request_of(cluster) == asked
    # A controller with ZooKeeper accepts what is the case already, although the partition epoch is old.
    assert answered(cluster) == AlterIsrResponse(Errors.NONE, 0, 1, frozenset({0, 1, 2}))
    finish_alter_isr(cluster, 0)
    assert leadership(cluster).isr == {0, 1, 2}
    assert record_of(cluster)[2] == 1


def test_a_leader_of_an_older_epoch_is_refused_and_its_change_stays_pending() -> None:
    cluster = joining()
    cluster.elect(Election.FAIL_OVER, 1)
    assert answered(cluster).error is Errors.FENCED_LEADER_EPOCH
    finish_alter_isr(cluster, 0)
    assert (leadership(cluster).isr, leadership(cluster).proposed_isr) == ({0, 1}, {0, 1, 2})
    assert record_of(cluster) == (1, 1, 1, [1])


def test_new_metadata_drops_the_pending_change_and_a_late_answer_is_ignored() -> None:
    cluster = joining()
    assert answered(cluster).error is Errors.NONE
    cluster.elect(Election.PREFERRED, 1)
    cluster.elect(Election.PREFERRED, 0)
    cluster.crash(2)
    cluster.notice_dead(2)
    learn(cluster, 0)
    finish_alter_isr(cluster, 0)
    assert (leadership(cluster).isr, leadership(cluster).proposed_isr) == ({0, 1}, None)
    assert view_of(cluster, 0).partition_epoch == record_of(cluster)[2] == 4


def test_a_request_of_an_earlier_process_is_refused() -> None:
    cluster = joining()
    number = alter_isr_in_flight(cluster, 0, AlterIsrRequest).number
    cluster.crash(0)
    cluster.restart(0)
    cluster.deliver(number)
    answer = alter_isr_in_flight(cluster, 0, AlterIsrResponse)
    assert isinstance(answer.payload, AlterIsrResponse)
    assert answer.payload.error is Errors.STALE_BROKER_EPOCH
    cluster.deliver(answer.number)  # which breaks the connection, and nobody asks again
    with pytest.raises(ClusterError, match="broker 0 and the controller exchange no such message about the ISR"):
        alter_isr_in_flight(cluster, 0, AlterIsrRequest)


def test_an_older_partition_epoch_is_refused() -> None:
    """No leader of the cluster asks so, because it has one request at a time."""
    network = Network()
    controller = Controller(IN_SYNC_01, network, lambda _: 1, lambda _: True, generation("2.8"), None)
    for isr in ({0}, {0, 1, 2}):
        request = AlterIsrRequest(0, 0, frozenset(isr))
        controller.receive(network.take(network.send(0, CONTROLLER, request, source_process=1)))
    answers = [message.payload for message in network.in_flight]
    assert answers == [
        AlterIsrResponse(Errors.NONE, 0, 1, frozenset({0})),
        AlterIsrResponse(Errors.INVALID_UPDATE_VERSION),
    ]


@pytest.mark.parametrize(
    ("broker", "record"), [(0, (1, 1, 1, [1, 2])), (1, (0, 1, 1, [0, 2]))], ids=["leader", "follower"]
)
def test_the_controller_treats_a_short_restart_as_a_failure(broker: int, record: object) -> None:
    cluster = Cluster("2.8")
    cluster.crash(broker)
    restart(cluster, broker)
    assert record_of(cluster) == record
    assert view_of(cluster, broker).leadership is None
    older = Cluster("2.4")
    older.crash(broker)
    restart(older, broker)
    assert record_of(older) == (0, 0, 0, [0, 1, 2])


def test_only_the_leader_hears_of_a_new_isr() -> None:
    cluster = joining()
    finish_alter_isr(cluster, 0)
    assert not [message for message in cluster.messages() if isinstance(message.payload, LeaderAndIsr)]
    fetch(cluster, 1, 0)
    cluster.elect(Election.PREFERRED, 1)
    learn(cluster, 1)
    assert leadership(cluster, 1).isr == {0, 1, 2}
    assert view_of(cluster, 1).partition_epoch == 2


@pytest.mark.parametrize(("gate", "high_watermark"), [("off", 1), ("on", 0)])
def test_since_3_7_the_high_watermark_waits_for_min_insync_replicas(gate: str, high_watermark: int) -> None:
    protocol = generation("2.8").with_switch("HW_MINISR_GATE", gate)
    cluster = Cluster(protocol, Start(replicas=2, isr=frozenset({0})), PROMPT)
    append(cluster, "a", leader=0, acks=Acks.LEADER)
    assert view_of(cluster, 0).high_watermark == high_watermark
    for _ in range(2):
        fetch(cluster, 1, 0)
        assert view_of(cluster, 0).high_watermark == high_watermark
    finish_alter_isr(cluster, 0)
    assert view_of(cluster, 0).high_watermark == 1


@pytest.mark.parametrize(("gate", "outcome"), [("off", Errors.NOT_ENOUGH_REPLICAS), ("on", Errors.NONE)])
def test_since_3_7_min_insync_replicas_is_at_most_the_number_of_replicas(gate: str, outcome: Errors) -> None:
    protocol = generation("2.8").with_switch("HW_MINISR_GATE", gate)
    cluster = Cluster(protocol, Start(replicas=1), Settings(min_insync_replicas=2))
    append(cluster, "a", leader=0)
    acknowledged(cluster)
    assert cluster.observe().sent[0][1][0].outcome is outcome


@pytest.mark.parametrize(("switch", "sent_to"), [("off", 1), ("on", None)])
def test_since_3_4_a_leader_sends_consumers_only_to_members_of_the_isr(switch: str, sent_to: int | None) -> None:
    protocol = generation("2.8").with_switch("READ_REPLICA_IN_ISR", switch)
    start, settings = Start(replicas=2, isr=frozenset({0})), Settings(follower_fetching=True)
    cluster = Cluster(protocol, start, settings)
    cluster.tell_consumer(0)
    cluster.deliver(cluster.consume(0, rack=1))
    cluster.deliver(cluster.messages()[-1].number)
    assert cluster.observe_consumers()[0].preferred_read_replica == sent_to

"""A cluster with a KRaft controller, without any model: registrations, heartbeats, fencing, AlterPartition."""

from __future__ import annotations

from dataclasses import replace

import pytest

from conformance.tests.support.histories import cluster_of, histories, play
from isrcheck.conformance.cluster.broker.broker import TimerKind
from isrcheck.conformance.cluster.configuration.protocol import generation
from isrcheck.conformance.cluster.network.messages import BrokerHeartbeatRequest

HISTORIES = """
== a fenced follower leaves the ISR; up to 3.5 that starts a leader epoch
[3.3|3.7]
fence 1; record: 0 [1|0] 1 0,2

== the first valid replica in assignment order leads
3.7 assignment=021
fence 0; record: 2 1 1 1,2; elect preferred 1 ! preferred: broker 1 does not win this election; the winner is None

== a leader that has not read of it proposes a fenced follower in vain
3.7 isr=01
fence 2; ask 2 0; ask_controller 0; answer_to_leader 0: INELIGIBLE_REPLICA; deliver; read_all 0; proposed_isr 0: none

== a leader that has read of it does not propose a fenced follower
3.7 isr=01
fence 2; read_all 0; ask 2 0; proposals: 0

== a request that was accepted is refused if it comes again, unlike with ZooKeeper, which compares the ISR first
3.7 isr=01
ask 2 0; ask_controller 0; answer_to_leader 0: NONE; drop; ask_controller 0; answer_to_leader 0: INVALID_UPDATE_VERSION

== a broker registers only after its session
3.7
crash 1; start_process 1 ! broker 1: the session of its earlier process has not ended; end that session first

== a broker that restarts before it is fenced stays in the ISR up to 3.9 (KAFKA-18106); later it leaves it in one change
[3.7|4.0|4.1]
crash 1; advance 9001; start_process 1; record: [0 0 0 0,1,2|0 0 1 0,2|0 0 1 0,2]
partition elr: -; registration 1 is_fenced: yes

== a broker stops when the others have read of its shutdown
3.7
begin_shutdown 0; beat 0; record: 1 1 1 1,2; beat 0; is_up 0: yes; read_all 1 2; beat 1; beat 2; beat 0
is_up 0: no; has_stopped_cleanly 0: yes

== a broker that leads nothing stops at once (BrokerHeartbeatManager.calculateNextBrokerState)
3.7
begin_shutdown 1 [|others]; beat 1; record: 0 0 1 0,2; is_up 1: [no|yes]; registration 1 is_fenced: [yes|no]

== members below min.insync.replicas stay eligible (KIP-966)
4.1
append r 0; fetch 1 0; fence 2 1; record: 0 0 2 0; partition elr: 1
fence 0; record: none 1 3 -; partition elr: 0 1; partition last_known_leader: 0
crash 0; start_process 0; read_all 0; crash 1; start_process 1; read_all 1  # an unclean shutdown ends eligibility
beat 1; controller leader: none; controller isr: -  # the last leader is elected only if nobody is eligible
beat 0; controller leader: 0; controller isr: 0

== the heartbeat of a process that is not registered is answered and changes nothing (STALE_BROKER_EPOCH)
3.7
unregister 1; metadata_records: 3; beat 1; beat 1; metadata_records: 3
"""


@pytest.mark.parametrize(("cluster", "history"), histories(HISTORIES))
def test_kraft(cluster: str, history: str) -> None:
    play(cluster_of(cluster), history)


@pytest.mark.parametrize("end", ["drop", "deliver; drop", "deliver; deliver"])
def test_a_broker_sends_one_heartbeat_at_a_time(end: str) -> None:
    """Kafka: BrokerLifecycleManager, communicationInFlight. With two in flight, an older heartbeat could overtake the
    request for the shutdown, and unfence a broker that was fenced meanwhile.
    """
    cluster = cluster_of("3.7")
    assert cluster.fire(1, TimerKind.HEARTBEAT)
    cluster.begin_shutdown(1, leads_others=True)
    assert not cluster.fire(1, TimerKind.HEARTBEAT)
    (heartbeat,) = cluster.messages()
    assert heartbeat.payload == BrokerHeartbeatRequest(0, wants_to_shut_down=False)
    play(cluster, f"{end}; in_flight: -")
    assert cluster.fire(1, TimerKind.HEARTBEAT)
    (heartbeat,) = cluster.messages()
    assert heartbeat.payload == BrokerHeartbeatRequest(0, wants_to_shut_down=True)
    play(
        cluster,
        "registration 1 in_controlled_shutdown: no; deliver; deliver; registration 1 in_controlled_shutdown: yes",
    )


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
    assert of_4_3 == replace(of_4_1, ASSIGNED_DIRECTORY_ERASES_ELR=False, REASSIGNED_ONCE_ADDED=True)

"""What a KRaft controller does with its brokers, rule by rule, as Kafka's sources have it."""

import pytest

from conformance.tests.models.driven import Driven
from conformance.tests.models.kraft import late_heartbeats
from isrcheck.checker.explicit.explore import explore
from isrcheck.checker.resources.limits import Limits
from isrcheck.models.kafka import generations as kafka
from isrcheck.models.kafka import promises
from isrcheck.models.kafka.state import fields
from isrcheck.models.language import NONE
from isrcheck.models.language.declarations import Kind
from isrcheck.models.language.model import assemble

ROOM = {"elections": 6, "partition_changes": 8, "log_size": 1, "records": 1}


def cluster(protocol, isr=(0, 1, 2), **values):
    return Driven(protocol, start_isr=sum(1 << r for r in isr), **ROOM, **values)


def leader_and_isr(one):
    return one.state.controller_leader, [r for r in range(3) if one.state.controller_isr[r]]


def test_a_new_registration_ends_a_shutdown():
    """ClusterControlManager.registerBroker."""
    one = cluster("3.7", shutdowns=1, crashes=1).do("broker_asks_to_shut_down 1", "broker_crashes 1")
    assert one.state.is_shutting_down[1]
    one.do("broker_restarts 1 checkpoint 0")
    assert not one.state.is_shutting_down[1]
    assert not one.do("controller_unfences_broker 1").state.is_shutting_down[1]


def test_a_shutdown_in_order_saves_the_high_watermark():
    """ReplicaManager.shutdown, checkpointHighWatermarks."""
    one = cluster("3.7", shutdowns=1, crashes=1, common_records=1).do("broker_asks_to_shut_down 1")
    stopped = ["broker_applies_metadata 0 of partition epoch 1", "broker_applies_metadata 2 of partition epoch 1"]
    one.do(*stopped, "broker_shuts_down 1")
    assert [one.can(f"broker_restarts 1 checkpoint {saved}") for saved in (0, 1)] == [False, True]
    crashed = cluster("3.7", crashes=1, common_records=1).do("broker_crashes 1")
    assert [crashed.can(f"broker_restarts 1 checkpoint {saved}") for saved in (0, 1)] == [True, True]


def test_an_unclean_election_takes_an_assigned_replica():
    """PartitionChangeBuilder.electAnyLeader."""
    faults = {"crashes": 2, "reassignments": 1, "unclean_elections": 1}
    offline = ["broker_crashes 1", "controller_fences_broker 1", "broker_crashes 0", "controller_fences_last_leader 0"]
    assert cluster("3.7", (0, 1), **faults).do(*offline).can("controller_elects_unclean 2")
    removed = cluster("3.7", (0, 1), **faults).do("controller_begins_reassignment to {0,1}", *offline)
    assert not removed.can("controller_elects_unclean 2")


def test_who_led_last_is_forgotten_as_soon_as_somebody_leads():
    """PartitionChangeBuilder.maybeUpdateLastKnownLeader."""
    one = cluster("4.1", (0, 1), fencings=2).do("controller_fences_broker 1", "controller_fences_last_leader 0")
    assert (one.state.controller_leader, one.state.last_known_leader) == (NONE, 0)
    one.do("controller_unfences_broker 0")
    assert (one.state.controller_leader, one.state.last_known_leader) == (0, NONE)


@pytest.mark.parametrize(("protocol", "epochs"), [("3.3", [1, 2, 3]), ("3.5", [1, 2, 3]), ("3.7", [1, 1, 2])])
def test_up_to_3_5_an_epoch_of_nobody_starts_when_the_last_member_is_fenced(protocol, epochs):
    """PartitionChangeBuilder.triggerLeaderEpochBumpIfNeeded: the ISR keeps the member, but the leader field is set."""
    one = cluster(protocol, (0,), min_insync_replicas=1, shutdowns=1).do("last_leader_asks_to_shut_down 0")
    assert leader_and_isr(one) == (NONE, [0])
    found = [one.state.controller_epoch]
    one.do(*(f"broker_applies_metadata {r} of partition epoch 1" for r in (1, 2)), "broker_shuts_down 0")
    assert leader_and_isr(one) == (NONE, [0])
    found.append(one.state.controller_epoch)
    one.do("broker_restarts 0 checkpoint 0", "controller_unfences_broker 0")
    assert leader_and_isr(one) == (0, [0])
    assert [*found, one.state.controller_epoch] == epochs


@pytest.mark.parametrize("protocol", ["3.3", "3.7"])
def test_a_fenced_leader_is_replaced_when_the_record_changes(protocol):
    """PartitionChangeBuilder.electAnyLeader: it has restarted before it was fenced, and is not active (KAFKA-18106)."""
    restarted = ["broker_crashes 0", "broker_restarts 0 checkpoint 0"]
    one = cluster(protocol, crashes=1, fencings=1, shutdowns=1).do(*restarted)
    assert (one.state.controller_leader, one.state.is_fenced[0]) == (0, True)
    assert [one.can(f"controller_fences_{rest}") for rest in ("broker 1", "last_leader 1")] == [False, False]
    assert [one.can(f"controller_fences_leader 1 and elects {r}") for r in (0, 1, 2)] == [False, False, True]
    assert [one.can(f"leader_asks_to_shut_down 1 and the controller elects {r}") for r in (0, 2)] == [False, True]
    nobody = cluster(protocol, (0, 1), crashes=1, fencings=1).do(*restarted, "controller_fences_last_leader 1")
    assert leader_and_isr(nobody) == (NONE, [0])
    nobody.do("controller_unfences_broker 0")
    assert nobody.state.controller_leader == 0


def test_a_fenced_broker_outside_the_isr_changes_nothing():
    one = cluster("3.7", (0, 1), crashes=1, fencings=1).do("broker_crashes 0", "broker_restarts 0 checkpoint 0")
    one.do("controller_fences_broker 2")
    assert (one.state.controller_leader, one.state.controller_partition_epoch) == (0, 0)


def test_a_living_broker_may_be_fenced_while_it_shuts_down():
    """It no longer waits for anybody, and is not unfenced: BrokerHeartbeatManager.touch, calculateNextBrokerState."""
    one = cluster("3.7", shutdowns=1, fencings=1).do("broker_asks_to_shut_down 1")
    assert not one.can("broker_shuts_down 1")
    one.do("controller_fences_broker 1")
    assert [one.can(step) for step in ("controller_unfences_broker 1", "broker_shuts_down 1")] == [False, True]


@pytest.mark.parametrize(("protocol", "epochs"), [("3.3", [1, 2, 3]), ("3.7", [1, 1, 1])])
def test_each_fencing_of_the_last_member_starts_an_epoch_up_to_3_5(protocol, epochs):
    one, found = cluster(protocol, (0,), min_insync_replicas=1, shutdowns=1, fencings=1), []
    for step in ("last_leader_asks_to_shut_down 0", "controller_fences_broker 0", "broker_shuts_down 0"):
        found.append(one.do(step).state.controller_epoch)
        assert leader_and_isr(one) == (NONE, [0])
    assert found == epochs


def test_a_fenced_broker_may_shut_down_in_order_and_stays_eligible():
    one = cluster("4.1", (0, 1), shutdowns=1, fencings=1, crashes=1).do("controller_fences_broker 1")
    one.do("broker_shuts_down 1", "broker_restarts 1 checkpoint 0")
    assert one.state.eligible_leader_replicas[1]
    assert one.state.shutdowns_left == 0
    crashed = cluster("4.1", (0, 1), fencings=1, crashes=1).do("controller_fences_broker 1", "broker_crashes 1")
    assert not crashed.do("broker_restarts 1 checkpoint 0").state.eligible_leader_replicas[1]


REPAIRS = {
    "EQUAL_PARTITION_EPOCH_REPLACES": 0,
    "REMOTE_OFFSETS_KEPT_BY_REELECTED_LEADER": 0,
    "RESPONSE_EPOCH_MATCHED": 1,
}
GENERATIONS = {
    "3.3": kafka.GENERATION_3_3,
    "3.5": kafka.GENERATION_3_5,
    "3.7": kafka.GENERATION_3_7,
    "4.0": kafka.GENERATION_4_0,
    "4.1": kafka.GENERATION_4_1,
    "4.3": kafka.GENERATION_4_3,
}
LATE = assemble(
    "kafka",
    [fields, promises],
    {
        "2.4": (kafka.CONDITIONAL_WRITE, kafka.GENERATION_2_4),  # the properties name some of its actions
        **{name: (kafka.KRAFT, values) for name, values in GENERATIONS.items()},
        "late heartbeats": (late_heartbeats, kafka.GENERATION_4_1),
    },
)


@pytest.mark.exhaustive
@pytest.mark.parametrize("protocol", GENERATIONS)
def test_a_heartbeat_that_outlives_its_process_breaks_nothing(protocol):
    """The model leaves it out: the same history is in the model, in which the process ends after its heartbeat."""
    values = {"replicas": 2, "min_insync_replicas": 1, "elections": 3, "partition_changes": 4, "crashes": 2}
    found = {}
    for swaps in ({}, {"controller_unfences_broker": "late heartbeats"}):
        instance = LATE.instance(protocol, values | REPAIRS, swaps)
        exploration = explore(instance, Limits())
        assert exploration.exhausted
        promises = [prop.name for prop in instance.properties if prop.kind is not Kind.SOMETIMES]
        assert [name for name in promises if exploration.findings[name].found.path is not None] == []
        found[bool(swaps)] = exploration.distinct
    assert found[False] < found[True]

"""The messages between brokers and controller since 2.8, as a page draws them, action by action."""

from __future__ import annotations

from conformance.tests.support.trace import (
    COMMITTED,
    INELIGIBLE,
    LAST_KNOWN_LEADER,
    LATE_FETCH,
    STALE_RECORD,
    WHOLE,
    kafka,
)
from isrcheck.models import registry
from isrcheck.traces.drawing.scene import scene_of
from isrcheck.traces.format.trace import Trace
from isrcheck.traces.kafka import controller_messages


def told(trace: Trace, position: int) -> list[str]:
    """The messages of a step, then the events at lanes."""
    scene = scene_of(trace)
    moment = scene.moments[position]
    arrows = [f"{scene.lanes[a.source]} > {scene.lanes[a.target]}: {a.text} ({a.kind})" for a in moment.arrows]
    return [*arrows, *(f"{scene.lanes[mark.lane]}: {mark.text} ({mark.kind})" for mark in moment.marks)]


def test_the_messages_of_a_stale_record() -> None:
    found = kafka(STALE_RECORD, None, None, "3.7", WHOLE)
    assert {position: told(found, position) for position in (3, 5, 6, 7, 9, 10, 12)} == {
        3: ["broker 0 > controller: AlterPartition p0: ISR 01 (response)"],
        5: [
            "broker 0 > controller: AlterPartition p0: ISR 01 (request)",
            "controller > broker 0: answer p1: ISR 01 (response)",
        ],
        6: ["controller > broker 0: answer p1: ISR 01 (request)"],
        7: [
            "broker 2 > broker 0: fetch from 0 (request)",
            "broker 0 > broker 2: a0, HW 0 (response)",
            "broker 0 > controller: AlterPartition p1: ISR 012 (response)",
        ],
        9: [
            "broker 0 > controller: AlterPartition p1: ISR 012 (request)",
            "controller > broker 0: answer p2: ISR 012 (response)",
        ],
        10: [
            "controller > broker 0: metadata p1 e0: leader 0, ISR 01 (request)",
            "broker 0 > producer: ack a (request)",
            "broker 0 > readers: a at 0 (request)",
            "broker 0: drops its pending ISR 012, by a p1 that it knew (fault)",
        ],
        12: ["controller: fences 0, elects 2 (election)", "broker 2: elected (election)"],
    }


def test_the_leader_of_2_8_sends_no_isr_write() -> None:
    found = kafka(STALE_RECORD[:5], None, None, "2.8", WHOLE)
    assert told(found, 5) == [
        "broker 0 > controller: AlterPartition p0: ISR 01 (request)",
        "controller > broker 0: answer p1: ISR 01 (response)",
    ]


def test_a_request_that_is_refused() -> None:
    asked = (*STALE_RECORD[:1], STALE_RECORD[2])
    refused = [*asked, "controller_elects_preferred 1", STALE_RECORD[4]]
    found = kafka(refused, None, None, "3.7", WHOLE, preferred_elections=1)
    assert told(found, 3) == ["controller: prefers 1 (election)", "broker 1: elected (election)"]
    assert told(found, 4)[1:] == ["controller > broker 0: FENCED_LEADER_EPOCH (request)"]
    # Without a new leader epoch, the partition epoch is what is old.
    found = kafka([*asked, "controller_fences_broker 1", STALE_RECORD[4]], None, None, "3.7", WHOLE, fencings=1)
    assert told(found, 4)[1:] == ["controller > broker 0: INVALID_UPDATE_VERSION (request)"]
    # Up to 3.5 a smaller ISR starts a leader epoch, so that the sender hears of it by metadata only.
    found = kafka([*asked, STALE_RECORD[4]], None, None, "3.3", WHOLE)
    assert told(found, 3)[1:] == ["controller > broker 0: answer p1: e1 begins (request)"]


def test_an_ineligible_member_and_answers_that_are_lost_or_ignored() -> None:
    steps = [
        *(*INELIGIBLE, "answer_to_leader_is_lost to 0", STALE_RECORD[4]),
        *("broker_applies_metadata 0 of partition epoch 1", "leader_hears_answer 0"),
    ]
    found = kafka(steps, None, None, "3.7", WHOLE, fencings=1)
    assert told(found, 7)[1:] == ["controller > broker 0: INELIGIBLE_REPLICA (response)"]
    assert told(found, 8) == [
        "controller > broker 0: INELIGIBLE_REPLICA (lost)",
        "broker 0 > controller: AlterPartition p1: ISR 012 (response)",
    ]
    assert told(found, 11) == [
        "controller > broker 0: INELIGIBLE_REPLICA (request)",
        "broker 0: nothing is pending: ignored (note)",
    ]


def test_metadata_records_are_skipped_replaced_and_known() -> None:
    elected = ["controller_elects_preferred 1", "controller_fences_leader 1 and elects 0"]
    steps = [*STALE_RECORD[:1], STALE_RECORD[2], *elected, "broker_applies_metadata 0 of partition epoch 2"]
    found = kafka(steps, None, None, "3.7", WHOLE, preferred_elections=1, fencings=1, elections=2)
    assert told(found, 4) == ["controller: fences 1, elects 0 (election)", "broker 0: elected (election)"]
    assert told(found, 5) == [
        "controller > broker 0: metadata p2 e2: leader 0, ISR 02 (request)",
        "broker 0: skips p1 (note)",
        "broker 0: drops its pending ISR 01 (note)",
    ]
    steps = [*STALE_RECORD[:9], "leader_hears_answer 0", STALE_RECORD[9]]
    found = kafka(steps, None, None, "3.7", WHOLE)
    assert told(found, 11) == [
        "controller > broker 0: metadata p1 e0: leader 0, ISR 01 (request)",
        "broker 0: knows p2 already (note)",
    ]


def test_controlled_shutdowns() -> None:
    steps = ["leader_asks_to_shut_down 0 and the controller elects 1", "broker_applies_metadata 1 of partition epoch 1"]
    found = kafka([*steps, "broker_applies_metadata 2 of partition epoch 1"], None, None, "4.1", shutdowns=1)
    assert told(found, 1) == [
        "broker 0 > controller: controlled shutdown (request)",
        "controller: elects 1 (election)",
        "broker 1: elected (election)",
    ]
    assert told(found, 2) == ["controller > broker 1: metadata p1 e1: leader 1, ISR 1 (request)"]
    steps = ["broker_asks_to_shut_down 2", "broker_shuts_down 2"]
    found = kafka(steps, None, None, "4.1", shutdowns=1)
    assert told(found, 1) == ["broker 2 > controller: controlled shutdown (request)"]
    assert told(found, 2) == ["broker 2: shuts down (election)"]
    steps = ["controller_fences_broker 1", "last_leader_asks_to_shut_down 0"]
    steps = [*steps, "broker_applies_metadata 2 of partition epoch 2", "controller_unfences_broker 1"]
    found = kafka(steps, None, None, "3.7", shutdowns=1, fencings=1)
    assert [told(found, position)[-1] for position in (1, 2, 4)] == [
        "controller: fences 1 (election)",
        "controller: no leader (election)",
        "controller: unfences 1 (election)",
    ]
    assert told(found, 3)[0] == "controller > broker 2: metadata p2 e1: no leader, ISR 0 (request)"


def test_an_election_when_a_broker_registers() -> None:
    values = {"power_losses": 1, "partition_changes": 4, "elections": 2}
    found = kafka(LAST_KNOWN_LEADER, None, None, "4.1", **values)
    assert told(found, 8) == ["controller: fences 0, no leader (election)"]
    assert told(found, 9) == ["broker 0: restarts (election)"]
    assert told(found, 11) == [
        "broker 1: restarts (election)",
        "controller: elects 0 (election)",
        "broker 0: elected (election)",
    ]


def test_late_fetches() -> None:
    found = kafka(LATE_FETCH, None, None, "3.5", late_fetches=1)
    assert told(found, 1) == ["broker 2 > broker 0: fetch from 0 (response)", "broker 2: crashes (fault)"]
    assert told(found, 3) == [
        "broker 2 > broker 0: late fetch from 0 (request)",
        "broker 0 > controller: AlterPartition p0: ISR 012 (response)",
    ]
    lost = [LATE_FETCH[0], "late_fetch_is_lost of 2 at 0"]
    assert told(kafka(lost, None, None, "3.5", late_fetches=1), 2) == ["broker 2 > broker 0: late fetch from 0 (lost)"]
    steps = [*COMMITTED[:3], "broker_loses_disk_while_it_fetches 1 from 0"]
    assert told(kafka(steps, None, None, "3.5", late_fetches=1, disk_losses=1), 4) == [
        "broker 1 > broker 0: fetch from 1 (response)",
        "broker 1: loses its disk (fault)",
        "broker 1: truncates 1 to 0 (fault)",
    ]


def test_diverging_responses() -> None:
    steps = [
        *(*COMMITTED, "controller_elects_preferred 2"),
        *("broker_applies_metadata 1 of partition epoch 1", "broker_applies_metadata 2 of partition epoch 1"),
        *(
            "leader_handles_fetch 2 from 1",
            "follower_takes_high_watermark_first 1 from 2",
            "follower_truncates 1 from 2",
        ),
    ]
    found = kafka(steps, None, None, "3.3", WHOLE, preferred_elections=1)
    assert [told(found, position) for position in (8, 9, 10)] == [
        ["broker 1 > broker 2: fetch from 1 (request)", "broker 2 > broker 1: e0 until 0 (response)"],
        ["broker 2 > broker 1: e0 until 0, HW 0 (request)", "broker 1: takes HW 0 (note)"],
        ["broker 2 > broker 1: e0 until 0 (request)", "broker 1: truncates 1 to 0 (fault)"],
    ]


REASSIGNED = (
    *("controller_begins_reassignment to {0,1}", "broker_applies_metadata 0 of partition epoch 1"),
    *("broker_applies_metadata 2 of partition epoch 1", "controller_begins_reassignment to {0,1,2}"),
    *("broker_applies_metadata 0 of partition epoch 2", "controller_cancels_reassignment"),
)


def test_a_replica_is_removed_added_and_given_up() -> None:
    found = kafka(REASSIGNED, None, None, "3.7", WHOLE, reassignments=3, elections=3, partition_changes=4)
    assert [told(found, position) for position in range(1, 7)] == [
        ["controller: reassigns to 01 (election)"],
        ["controller > broker 0: metadata p1 e1: leader 0, ISR 01, replicas 01 (request)"],
        ["controller > broker 2: metadata p1 e1: leader 0, ISR 01, replicas 01 (request)"],
        ["controller: reassigns to 012 (election)"],
        ["controller > broker 0: metadata p2 e1: leader 0, ISR 01, replicas 012, adding 2 (request)"],
        ["controller: cancels the reassignment (election)"],
    ]


def test_a_change_that_completes_a_reassignment() -> None:
    steps = [
        *("controller_begins_reassignment to {2}", "broker_applies_metadata 0 of partition epoch 1"),
        *("broker_applies_metadata 2 of partition epoch 1", "leader_handles_fetch 0 from 2"),
        "controller_completes_reassignment of 0 and elects 2",
    ]
    values = {"reassignments": 1, "start_assignment": 3, "min_insync_replicas": 1, "partition_changes": 3}
    found = kafka(steps, None, None, "4.3", **values)
    assert told(found, 5) == [
        "broker 0 > controller: AlterPartition p1: ISR 02 (request)",
        "controller > broker 0: NEW_LEADER_ELECTED (request)",
        "controller: removes 01, elects 2 (election)",
        "broker 2: elected (election)",
    ]


def test_a_request_that_names_a_removed_replica() -> None:
    steps = ["leader_handles_fetch 0 from 2", "controller_begins_reassignment to {0,1}"]
    steps = [*steps, "controller_handles_alter_partition of 0"]
    found = kafka(steps, None, None, "3.7", reassignments=1)
    assert told(found, 3)[-1] == "controller > broker 0: FENCED_LEADER_EPOCH (request)"


def test_what_operators_do() -> None:
    steps = ["operator_changes_min_insync_replicas to 1", "broker_reads_configuration 2"]
    found = kafka(steps, None, None, "4.1", min_isr_changes=1)
    assert told(found, 1) == ["controller: min.insync.replicas 1 (election)"]
    assert told(found, 2) == ["controller > broker 2: min.insync.replicas 1 (request)"]
    # A change that empties the ELR is read with the record that says so.
    steps = ["controller_fences_broker 1", "operator_changes_min_insync_replicas to 1"]
    steps = [*steps, "broker_applies_metadata 0 of partition epoch 2"]
    found = kafka(steps, None, None, "4.1", fencings=1, min_isr_changes=1)
    assert told(found, 2) == ["controller: min.insync.replicas 1, forgets the ELR (election)"]
    assert told(found, 3) == [
        "controller > broker 0: metadata p2 e0: leader 0, ISR 0 (request)",
        "controller > broker 0: min.insync.replicas 1 (request)",
        "broker 0: skips p1 (note)",
    ]
    steps = ["broker_crashes 1", "controller_fences_broker 1", "controller_unregisters_broker 1"]
    steps = [*steps, "broker_reports_directory 2"]
    found = kafka(steps, None, None, "4.1", unregistrations=1, directory_reports=1)
    assert told(found, 3) == ["controller: unregisters 1 (election)"]
    assert told(found, 4) == [
        "broker 2 > controller: AssignReplicasToDirs (request)",
        "controller: forgets the ELR (election)",
    ]
    shut = ["broker_asks_to_shut_down 1", *(f"broker_applies_metadata {r} of partition epoch 1" for r in (0, 2))]
    steps = [*shut, "broker_shuts_down 1", "operator_deletes_replica_folder of 1"]
    found = kafka(steps, None, None, "4.1", shutdowns=1, folder_deletions=1, common_records=1, records=2, log_size=2)
    assert told(found, 5) == ["broker 1: its folder is deleted (fault)", "broker 1: truncates 1 to 0 (fault)"]


def test_a_follower_that_is_no_longer_caught_up() -> None:
    found = kafka(["producer_appends at 0", "follower_falls_behind 1 at 0"], None, None, "3.7", HW_WAIT=1)
    assert told(found, 2) == ["broker 0: 1 is no longer caught up (note)"]


def test_every_action_since_2_8_has_messages() -> None:
    model = registry.load("kafka")[0]
    old = {action for protocol in ("0.8", "2.4") for action in actions(protocol)}
    new = {action for protocol in ("2.8", "3.3", "4.3") for action in actions(protocol)}
    # Time is modelled with HW_WAIT only, in every generation.
    assert new - old == controller_messages.SENT.keys() - {"follower_falls_behind"}
    assert {one.name for one in model.actions} == old | new


def actions(protocol: str) -> list[str]:
    instance = registry.load("kafka")[0].instance(protocol)
    return [one.name for index, one in enumerate(instance.model.actions) if instance.function(index) is not None]

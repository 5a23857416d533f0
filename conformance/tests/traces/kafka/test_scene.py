"""Scenes: the messages of each step, the contents of lanes, and the outcome of each record."""

from __future__ import annotations

import pytest

from conformance.tests.support import golden as golden_support
from conformance.tests.support.trace import (
    CLASSIC,
    COMMITTED,
    INELIGIBLE,
    LAST_KNOWN_LEADER,
    LATE_FETCH,
    READ_TWICE,
    SENT_AGAIN,
    STALE_RECORD,
    TRANSACTION,
    WHOLE,
    election_of,
    fast_fail_over,
    follow_on,
    kafka,
)
from isrcheck.models.client_settings import Acks
from isrcheck.models.language.declarations import NONE
from isrcheck.models.run import State
from isrcheck.traces.drawing.scene import scene_of
from isrcheck.traces.format.trace import Trace
from isrcheck.traces.kafka.lanes import shown_fields
from isrcheck.traces.kafka.scene import fates
from isrcheck.traces.lanes.scene import Scene

GOLDEN = {
    path.stem: golden_support.read(path.read_text(encoding="utf-8")) for path in golden_support.FOLDER.glob("*.txt")
}


NO_ISR = {"acks=0": int(Acks.ZERO), "acks=1": int(Acks.ONE)}


def told(shown: Scene | Trace, position: int) -> list[str]:
    """The messages of a step, then the events at lanes."""
    scene = shown if isinstance(shown, Scene) else scene_of(shown)
    moment = scene.moments[position]
    arrows = [f"{scene.lanes[a.source]} > {scene.lanes[a.target]}: {a.text} ({a.kind})" for a in moment.arrows]
    return [*arrows, *(f"{scene.lanes[mark.lane]}: {mark.text} ({mark.kind})" for mark in moment.marks)]


def classic() -> Trace:
    return kafka(CLASSIC, "acked_not_lost")


def test_lanes_are_the_controller_the_brokers_and_the_clients() -> None:
    assert scene_of(classic()).lanes == ("controller", "broker 0", "broker 1", "broker 2", "producer", "readers")
    with_transactions = kafka(TRANSACTION, None, None, "2.1", transactions=1, log_size=3)
    assert scene_of(with_transactions).lanes[4:] == (
        "producer",
        "transaction 0",
        "read_uncommitted",
        "read_committed",
    )


def test_an_unacknowledged_record_is_not_lost() -> None:
    trace = kafka(("producer_appends at 0", "controller_fails_over to 1"), None)
    assert scene_of(trace).moments[2].fates[0].words == (("sent", 1),)


def test_a_record_on_a_later_leader_is_no_longer_lost() -> None:
    copied = [
        step
        for follower in (1, 2)
        for step in (f"leader_handles_fetch 0 from {follower}", f"follower_applies_response {follower} from 0")
    ]
    known = [f"leader_handles_fetch 0 from {follower}" for follower in (1, 2)]
    fail_overs = ("broker_bounces 1 checkpoint 0", "controller_fails_over to 1", "controller_fails_over to 2")
    steps = ("producer_appends at 0", *copied, *known, *fail_overs)
    trace = kafka(steps, None, None, "0.10", WHOLE)
    fates_of_a = [dict(fate.words) for moment in scene_of(trace).moments for fate in moment.fates]
    assert [one.get("lost") for one in fates_of_a[6:]] == [None, None, 9, None]


def test_a_kraft_leader_that_lost_data_is_judged_once_it_is_back() -> None:
    values = {"power_losses": 1, "partition_changes": 4, "elections": 2}
    trace = kafka(LAST_KNOWN_LEADER, None, None, "4.1", **values)
    fates_of_a = [dict(fate.words) for moment in scene_of(trace).moments for fate in moment.fates]
    assert [one.get("lost") for one in fates_of_a[5:]] == [None, None, None, None, None, 11]
    same = kafka([*COMMITTED, "broker_loses_power 0 keeping 0"], None, power_losses=1)
    assert dict(scene_of(same).moments[5].fates[0].words)["lost"] == 5


def test_a_record_at_two_offsets_is_duplicated() -> None:
    trace = kafka(SENT_AGAIN, "no_duplicates", None, "0.10", WHOLE, retries=1)
    moments = scene_of(trace).moments
    assert dict(moments[6].fates[0].words) == {"sent": 1, "duplicated": 6}
    assert told(scene_of(trace), 6) == ["producer > broker 1: produce a again (request)"]


def test_a_lost_response_and_a_crash() -> None:
    steps = (
        "producer_appends at 0",
        "leader_handles_fetch 0 from 1",
        "response_is_lost to 1 from 0",
        "broker_crashes 0",
    )
    scene = scene_of(kafka(steps, None))
    assert told(scene, 3) == ["broker 0 > broker 1: response (lost)"]
    assert told(scene, 4) == ["broker 0: crashes (fault)"]
    assert scene.moments[4].lanes[1].role == "down"


def test_a_different_record_for_readers_is_reported() -> None:
    trace = kafka(READ_TWICE, "consistent_read", None, "0.11")
    assert told(scene_of(trace), 11) == [
        "broker 2 > controller: ISR 2 (request)",
        "broker 2 > producer: b: NOT_ENOUGH_REPLICAS_AFTER_APPEND (request)",
        "broker 2 > readers: b1 at 0! (request)",
    ]


def test_different_records_are_reported_for_each_isolation_level() -> None:
    """The transaction stays open, so only read_uncommitted consumers see its record in place of the former one."""
    steps = (
        "producer_appends at 0",
        *election_of(1, 1),
        "producer_appends_in_transaction at 1 in 0",
        "leader_shrinks_isr 1 by {2}",
        "broker_crashes 1",
        "controller_elects_unclean 0",
        "broker_becomes_leader 0 in epoch 2",
    )
    values = {"transactions": 1, "unclean_elections": 1}
    scene = scene_of(kafka(steps, None, None, "2.0", WHOLE, **values))
    assert told(scene, 8) == [
        "controller > broker 0: epoch 2: leader 0, ISR 0 (request)",
        "broker 0 > producer: a: NOT_ENOUGH_REPLICAS_AFTER_APPEND (request)",
        "broker 0 > read_committed: a at 0 (request)",
        "broker 0 > read_uncommitted: a0 at 0! (request)",
    ]
    swapped = (
        "producer_appends_in_transaction at 0 in 0",
        *steps[1:3],
        "producer_appends at 1",
        *steps[4:],
    )
    scene = scene_of(kafka(swapped, None, None, "2.0", WHOLE, **values))
    assert told(scene, 8) == [
        "controller > broker 0: epoch 2: leader 0, ISR 0 (request)",
        "broker 0 > transaction 0: a: NOT_ENOUGH_REPLICAS_AFTER_APPEND (request)",
        "broker 0 > read_uncommitted: a0 at 0! (request)",
    ], "nothing is stable yet, and a reader of everything reads it all the same"


def test_a_request_on_too_few_replicas_is_refused() -> None:
    trace = kafka(("producer_appends at 0", "leader_shrinks_isr 0 by {1}"), None)
    assert told(scene_of(trace), 2) == [
        "broker 0 > controller: ISR 0 (request)",
        "broker 0 > producer: a: NOT_ENOUGH_REPLICAS_AFTER_APPEND (request)",
        "broker 0 > readers: a at 0 (request)",
    ]
    crashed = kafka(("producer_appends at 0", "broker_crashes 0"), None)
    assert told(scene_of(crashed), 2) == ["broker 0: crashes (fault)"], "nobody answers any more"


def test_with_acks_0_there_is_no_response() -> None:
    acks = {name: kafka(("producer_appends at 0",), None, acks=acks) for name, acks in NO_ISR.items()}
    sent = ["producer > broker 0: produce a (request)"]
    assert {name: told(scene_of(trace), 1) for name, trace in acks.items()} == {
        "acks=0": sent,
        "acks=1": [*sent, "broker 0 > producer: ack a (request)"],
    }
    assert all("acked" in dict(scene_of(trace).moments[1].fates[0].words) for trace in acks.values())


def test_a_restarted_log_is_reported() -> None:
    steps = ("producer_appends at 0", "leader_shrinks_isr 0 by {1}", "leader_deletes_records at 0 before 1")
    trace = kafka((*steps, "follower_starts_over 1 at 0"), None, None, "2.0", delete_records=1)
    assert told(scene_of(trace), 4) == [
        "broker 1 > broker 0: fetch from 0 (request)",
        "broker 0 > broker 1: OFFSET_OUT_OF_RANGE (request)",
        "broker 1: starts its log over at 1 (fault)",
    ]


def test_each_isolation_level_reads_a_transaction_at_its_time() -> None:
    trace = kafka(TRANSACTION, None, None, "2.1", transactions=1, log_size=3)
    scene = scene_of(trace)
    assert told(scene, 1) == ["transaction 0 > broker 0: produce a (request)"]
    assert "broker 0 > read_uncommitted: a at 0 (request)" in told(scene, 4)
    assert told(scene, 5) == ["transaction 0: committed (election)"]
    assert told(scene, 6) == ["transaction 0 > broker 0: marker: transaction committed (request)"]
    assert "broker 0 > read_committed: a at 0 (request)" in told(scene, 9)
    assert scene.moments[4].lanes[1].pointers == (("LSO", 0), ("HW", 1), ("LEO", 1))


def test_a_follower_requests_the_end_of_its_epoch() -> None:
    scene = scene_of(fast_fail_over(None))
    assert told(scene, 9) == [
        "broker 1 > broker 0: where does e1 end? (request)",
        "broker 0 > broker 1: e1 until 2 (request)",
    ], "KIP-101's answer speaks of an epoch that the leader does not know, so that nothing is cut"
    assert scene.moments[8].lanes[2].title == "reconciles with 0 in epoch 2"


@pytest.mark.parametrize(
    ("protocol", "expected"),
    [
        (
            "0.11",
            ["broker 2 > broker 1: my log has no epoch (request)", "broker 1 > broker 2: no epoch until 0 (request)"],
        ),
        ("2.1", ["broker 2: knows no epoch (note)"]),
    ],
)
def test_a_follower_without_any_epoch(protocol: str, expected: list[str]) -> None:
    """Up to 1.1 a leader without epochs answers with its log end; later the follower sends no request."""
    steps = (*election_of(1, 1), *follow_on(2, 1, 1))
    assert told(scene_of(kafka(steps, None, None, protocol)), 4) == expected


def test_a_transaction_is_not_begun_before_its_first_record() -> None:
    trace = kafka(TRANSACTION, None, None, "2.1", transactions=1, log_size=3)
    titles = [moment.lanes[5].title for moment in scene_of(trace).moments]
    assert titles == ["not begun", "open", "open", "open", "open", *["committed"] * 5]


@pytest.mark.parametrize("name", sorted(GOLDEN))
def test_scenes_of_golden_traces_contain_every_value(name: str) -> None:
    trace = golden_support.derive(GOLDEN[name])
    scene = scene_of(trace)
    assert len(scene.moments) == len(trace.states)
    for moment in scene.moments:
        assert len(moment.lanes) == len(scene.lanes)
        assert len(moment.variables) == len(scene.variables) == len(shown_fields(trace.instance))
        assert all(0 <= lane < len(scene.lanes) for arrow in moment.arrows for lane in (arrow.source, arrow.target))


@pytest.mark.parametrize(
    "name", sorted(name for name, golden in GOLDEN.items() if golden.header["property"] == "acked_not_lost")
)
def test_a_violation_of_acked_not_lost_shows_a_lost_record(name: str) -> None:
    trace = golden_support.derive(GOLDEN[name])
    states = [State(trace.instance, cells) for cells in trace.states]
    last = fates(states)[-1]
    lost = [
        record
        for record in range(trace.instance.configuration.records)
        if states[-1].acknowledged[record]
        and states[-1].controller_leader != NONE
        and record not in [states[-1].log_record[states[-1].controller_leader][o] for o in range(states[-1].log_size)]
    ]
    assert lost
    assert [number for number, fate in enumerate(last) if "lost" in dict(fate.words)] == lost


# ----------------------------------------------------------- between brokers and controller since 2.8, action by action


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
        *INELIGIBLE,
        "answer_to_leader_is_lost to 0",
        STALE_RECORD[4],
        "broker_applies_metadata 0 of partition epoch 1",
        "leader_hears_answer 0",
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
        *COMMITTED,
        "controller_elects_preferred 2",
        "broker_applies_metadata 1 of partition epoch 1",
        "broker_applies_metadata 2 of partition epoch 1",
        "leader_handles_fetch 2 from 1",
        "follower_takes_high_watermark_first 1 from 2",
        "follower_truncates 1 from 2",
    ]
    found = kafka(steps, None, None, "3.3", WHOLE, preferred_elections=1)
    assert [told(found, position) for position in (8, 9, 10)] == [
        ["broker 1 > broker 2: fetch from 1 (request)", "broker 2 > broker 1: e0 until 0 (response)"],
        ["broker 2 > broker 1: e0 until 0, HW 0 (request)", "broker 1: takes HW 0 (note)"],
        ["broker 2 > broker 1: e0 until 0 (request)", "broker 1: truncates 1 to 0 (fault)"],
    ]


REASSIGNED = (
    "controller_begins_reassignment to {0,1}",
    "broker_applies_metadata 0 of partition epoch 1",
    "broker_applies_metadata 2 of partition epoch 1",
    "controller_begins_reassignment to {0,1,2}",
    "broker_applies_metadata 0 of partition epoch 2",
    "controller_cancels_reassignment",
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
        "controller_begins_reassignment to {2}",
        "broker_applies_metadata 0 of partition epoch 1",
        "broker_applies_metadata 2 of partition epoch 1",
        "leader_handles_fetch 0 from 2",
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

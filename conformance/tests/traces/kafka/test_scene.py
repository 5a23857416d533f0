"""Scenes: the messages of each step, the contents of lanes, and the fate of each record."""

from __future__ import annotations

import pytest

from conformance.tests.support import golden as golden_support
from conformance.tests.traces.stories import Story, history, stories, title_of
from isrcheck.models.language.declarations import NONE
from isrcheck.traces.drawing.scene import scene_of
from isrcheck.traces.format.trace import Trace
from isrcheck.traces.kafka.lanes import shown_fields
from isrcheck.traces.kafka.scene import fates
from isrcheck.traces.lanes.scene import Scene

GOLDEN = {
    path.stem: golden_support.read(path.read_text(encoding="utf-8")) for path in golden_support.FOLDER.glob("*.txt")
}

TRANSACTION = history("TRANSACTION", "2.1 transactions=1 log_size=3")


def messages(scene: Scene, position: int) -> list[str]:
    """The messages of a step, then the events in lanes."""
    moment = scene.moments[position]
    arrows = [f"{scene.lanes[a.source]} > {scene.lanes[a.target]}: {a.text} ({a.kind})" for a in moment.arrows]
    return [*arrows, *(f"{scene.lanes[mark.lane]}: {mark.text} ({mark.kind})" for mark in moment.marks)]


def lost_since(trace: Trace) -> list[int | None]:
    """For each state in which record a has a fate, the step since which the record is lost."""
    return [dict(fate.words).get("lost") for moment in scene_of(trace).moments for fate in moment.fates]


MESSAGES = """
# A record at two offsets: no_duplicates WHOLE retries=1
SENT_AGAIN
  producer > broker 1: produce a again (request)

# A lost response and a crash:
producer_appends at 0; leader_handles_fetch 0 from 1; response_is_lost to 1 from 0
  broker 0 > broker 1: response (lost)
broker_crashes 0
  broker 0: crashes (fault)

# A different record for readers: 0.11 consistent_read
READ_TWICE
  broker 2 > controller: ISR 2 (request)
  broker 2 > producer: b: NOT_ENOUGH_REPLICAS_AFTER_APPEND (request)
  broker 2 > readers: b1 at 0! (request)

# Only read_uncommitted consumers see the record of an open transaction: 2.0 WHOLE transactions=1 unclean_elections=1
producer_appends at 0; election_of 1 1; producer_appends_in_transaction at 1 in 0; leader_shrinks_isr 1 by {2}
broker_crashes 1; controller_elects_unclean 0; broker_becomes_leader 0 in epoch 2
  controller > broker 0: epoch 2: leader 0, ISR 0 (request)
  broker 0 > producer: a: NOT_ENOUGH_REPLICAS_AFTER_APPEND (request)
  broker 0 > read_committed: a at 0 (request)
  broker 0 > read_uncommitted: a0 at 0! (request)

# Nothing is stable yet, but a reader of everything reads it: 2.0 WHOLE transactions=1 unclean_elections=1
producer_appends_in_transaction at 0 in 0; election_of 1 1; producer_appends at 1; leader_shrinks_isr 1 by {2}
broker_crashes 1; controller_elects_unclean 0; broker_becomes_leader 0 in epoch 2
  controller > broker 0: epoch 2: leader 0, ISR 0 (request)
  broker 0 > transaction 0: a: NOT_ENOUGH_REPLICAS_AFTER_APPEND (request)
  broker 0 > read_uncommitted: a0 at 0! (request)

# A request on too few replicas is refused:
producer_appends at 0; leader_shrinks_isr 0 by {1}
  broker 0 > controller: ISR 0 (request)
  broker 0 > producer: a: NOT_ENOUGH_REPLICAS_AFTER_APPEND (request)
  broker 0 > readers: a at 0 (request)

# A crashed broker answers nobody:
producer_appends at 0; broker_crashes 0
  broker 0: crashes (fault)

# With acks=0 there is no response: acks=0
producer_appends at 0
  producer > broker 0: produce a (request)

# With acks=1 there is a response: acks=1
producer_appends at 0
  producer > broker 0: produce a (request)
  broker 0 > producer: ack a (request)

# A log that starts over: 2.0 delete_records=1
producer_appends at 0; leader_shrinks_isr 0 by {1}; leader_deletes_records at 0 before 1; follower_starts_over 1 at 0
  broker 1 > broker 0: fetch from 0 (request)
  broker 0 > broker 1: OFFSET_OUT_OF_RANGE (request)
  broker 1: starts its log over at 1 (fault)

# Each isolation level reads a transaction at its time: 2.1 transactions=1 log_size=3
TRANSACTION[0]
  transaction 0 > broker 0: produce a (request)
TRANSACTION[1:4]
  broker 1 > broker 0: fetch from 1 (request)
  broker 0 > transaction 0: ack a (request)
  broker 0 > read_uncommitted: a at 0 (request)
  broker 0: fetch parked (note)
TRANSACTION[4]
  transaction 0: committed (election)
TRANSACTION[5]
  transaction 0 > broker 0: marker: transaction committed (request)
TRANSACTION[6:]
  broker 1 > broker 0: fetch from 2 (request)
  broker 0 > read_committed: a at 0 (request)
  broker 0: fetch parked (note)

# KIP-101's answer is about an epoch that the leader does not know, so nothing is cut: FAST
FAST_FAIL_OVER[:9]
  broker 1 > broker 0: where does e1 end? (request)
  broker 0 > broker 1: e1 until 2 (request)

# Up to 1.1 a leader without epochs answers with its log end: 0.11
election_of 1 1; follow_on 2 1 1
  broker 2 > broker 1: my log has no epoch (request)
  broker 1 > broker 2: no epoch until 0 (request)

# Since 2.0 a follower without any epoch sends no request: 2.1
election_of 1 1; follow_on 2 1 1
  broker 2: knows no epoch (note)

# The leader of 2.8 sends no ISR write: 2.8 WHOLE
STALE_RECORD[:5]
  broker 0 > controller: AlterPartition p0: ISR 01 (request)
  controller > broker 0: answer p1: ISR 01 (response)

# A request of an earlier leader epoch is refused: 3.7 WHOLE preferred_elections=1
STALE_RECORD[0]; STALE_RECORD[2]; controller_elects_preferred 1
  controller: prefers 1 (election)
  broker 1: elected (election)
STALE_RECORD[4]
  broker 0 > controller: AlterPartition p0: ISR 01 (request)
  controller > broker 0: FENCED_LEADER_EPOCH (request)

# Without a new leader epoch, the partition epoch is what is old: 3.7 WHOLE fencings=1
STALE_RECORD[0]; STALE_RECORD[2]; controller_fences_broker 1; STALE_RECORD[4]
  broker 0 > controller: AlterPartition p0: ISR 01 (request)
  controller > broker 0: INVALID_UPDATE_VERSION (request)

# Up to 3.5 a smaller ISR starts a leader epoch, so the sender hears of it by metadata only: 3.3 WHOLE
STALE_RECORD[0]; STALE_RECORD[2]; STALE_RECORD[4]
  broker 0 > controller: AlterPartition p0: ISR 01 (request)
  controller > broker 0: answer p1: e1 begins (request)

# An ineligible member, and answers that are lost or ignored: 3.7 WHOLE fencings=1
INELIGIBLE
  broker 0 > controller: AlterPartition p1: ISR 012 (request)
  controller > broker 0: INELIGIBLE_REPLICA (response)
answer_to_leader_is_lost to 0
  controller > broker 0: INELIGIBLE_REPLICA (lost)
  broker 0 > controller: AlterPartition p1: ISR 012 (response)
STALE_RECORD[4]; broker_applies_metadata 0 of partition epoch 1; leader_hears_answer 0
  controller > broker 0: INELIGIBLE_REPLICA (request)
  broker 0: nothing is pending: ignored (note)

# Metadata records are skipped: 3.7 WHOLE preferred_elections=1 fencings=1 elections=2
STALE_RECORD[0]; STALE_RECORD[2]; controller_elects_preferred 1; controller_fences_leader 1 and elects 0
  controller: fences 1, elects 0 (election)
  broker 0: elected (election)
broker_applies_metadata 0 of partition epoch 2
  controller > broker 0: metadata p2 e2: leader 0, ISR 02 (request)
  broker 0: skips p1 (note)
  broker 0: drops its pending ISR 01 (note)

# Metadata that the broker knows already: 3.7 WHOLE
STALE_RECORD[:9]; leader_hears_answer 0; STALE_RECORD[9]
  controller > broker 0: metadata p1 e0: leader 0, ISR 01 (request)
  broker 0: knows p2 already (note)

# The leader shuts down: 4.1 shutdowns=1
leader_asks_to_shut_down 0 and the controller elects 1
  broker 0 > controller: controlled shutdown (request)
  controller: elects 1 (election)
  broker 1: elected (election)
broker_applies_metadata 1 of partition epoch 1
  controller > broker 1: metadata p1 e1: leader 1, ISR 1 (request)

# A follower shuts down: 4.1 shutdowns=1
broker_asks_to_shut_down 2
  broker 2 > controller: controlled shutdown (request)
broker_shuts_down 2
  broker 2: shuts down (election)

# The last leader shuts down: 3.7 shutdowns=1 fencings=1
controller_fences_broker 1
  controller: fences 1 (election)
last_leader_asks_to_shut_down 0
  broker 0 > controller: controlled shutdown (request)
  controller: no leader (election)
broker_applies_metadata 2 of partition epoch 2
  controller > broker 2: metadata p2 e1: no leader, ISR 0 (request)
  broker 2: skips p1 (note)
controller_unfences_broker 1
  controller: unfences 1 (election)

# An election when a broker registers: 4.1 UNCLEAN
LAST_KNOWN_LEADER[:8]
  controller: fences 0, no leader (election)
LAST_KNOWN_LEADER[8]
  broker 0: restarts (election)
LAST_KNOWN_LEADER[9:]
  broker 1: restarts (election)
  controller: elects 0 (election)
  broker 0: elected (election)

# A late fetch: 3.5 late_fetches=1
LATE_FETCH[0]
  broker 2 > broker 0: fetch from 0 (response)
  broker 2: crashes (fault)
LATE_FETCH[1:]
  broker 2 > broker 0: late fetch from 0 (request)
  broker 0 > controller: AlterPartition p0: ISR 012 (response)

# A late fetch that is lost: 3.5 late_fetches=1
LATE_FETCH[0]; late_fetch_is_lost of 2 at 0
  broker 2 > broker 0: late fetch from 0 (lost)

# A late fetch of a broker that lost its disk: 3.5 late_fetches=1 disk_losses=1
COMMITTED[:3]; broker_loses_disk_while_it_fetches 1 from 0
  broker 1 > broker 0: fetch from 1 (response)
  broker 1: loses its disk (fault)
  broker 1: truncates 1 to 0 (fault)

# Diverging responses: 3.3 WHOLE preferred_elections=1
COMMITTED; controller_elects_preferred 2; broker_applies_metadata 1 of partition epoch 1
broker_applies_metadata 2 of partition epoch 1; leader_handles_fetch 2 from 1
  broker 1 > broker 2: fetch from 1 (request)
  broker 2 > broker 1: e0 until 0 (response)
follower_takes_high_watermark_first 1 from 2
  broker 2 > broker 1: e0 until 0, HW 0 (request)
  broker 1: takes HW 0 (note)
follower_truncates 1 from 2
  broker 2 > broker 1: e0 until 0 (request)
  broker 1: truncates 1 to 0 (fault)

# A replica is removed, added and given up: 3.7 WHOLE reassignments=3 elections=3 partition_changes=4
controller_begins_reassignment to {0,1}
  controller: reassigns to 01 (election)
broker_applies_metadata 0 of partition epoch 1
  controller > broker 0: metadata p1 e1: leader 0, ISR 01, replicas 01 (request)
broker_applies_metadata 2 of partition epoch 1
  controller > broker 2: metadata p1 e1: leader 0, ISR 01, replicas 01 (request)
controller_begins_reassignment to {0,1,2}
  controller: reassigns to 012 (election)
broker_applies_metadata 0 of partition epoch 2
  controller > broker 0: metadata p2 e1: leader 0, ISR 01, replicas 012, adding 2 (request)
controller_cancels_reassignment
  controller: cancels the reassignment (election)

# A change completes a reassignment: 4.3 reassignments=1 start_assignment=3 min_insync_replicas=1 partition_changes=3
controller_begins_reassignment to {2}; broker_applies_metadata 0 of partition epoch 1
broker_applies_metadata 2 of partition epoch 1; leader_handles_fetch 0 from 2
controller_completes_reassignment of 0 and elects 2
  broker 0 > controller: AlterPartition p1: ISR 02 (request)
  controller > broker 0: NEW_LEADER_ELECTED (request)
  controller: removes 01, elects 2 (election)
  broker 2: elected (election)

# A request that names a removed replica: 3.7 reassignments=1
leader_handles_fetch 0 from 2; controller_begins_reassignment to {0,1}; controller_handles_alter_partition of 0
  broker 0 > controller: AlterPartition p0: ISR 012 (request)
  controller > broker 0: FENCED_LEADER_EPOCH (request)

# A changed minimum: 4.1 min_isr_changes=1
operator_changes_min_insync_replicas to 1
  controller: min.insync.replicas 1 (election)
broker_reads_configuration 2
  controller > broker 2: min.insync.replicas 1 (request)

# A change that empties the ELR is read with the record that says so: 4.1 fencings=1 min_isr_changes=1
controller_fences_broker 1; operator_changes_min_insync_replicas to 1
  controller: min.insync.replicas 1, forgets the ELR (election)
broker_applies_metadata 0 of partition epoch 2
  controller > broker 0: metadata p2 e0: leader 0, ISR 0 (request)
  controller > broker 0: min.insync.replicas 1 (request)
  broker 0: skips p1 (note)

# A reported directory empties the ELR: 4.1 unregistrations=1 directory_reports=1
broker_crashes 1; controller_fences_broker 1; controller_unregisters_broker 1
  controller: unregisters 1 (election)
broker_reports_directory 2
  broker 2 > controller: AssignReplicasToDirs (request)
  controller: forgets the ELR (election)

# A deleted folder: 4.1 shutdowns=1 folder_deletions=1 common_records=1 records=2 log_size=2
broker_asks_to_shut_down 1; broker_applies_metadata 0 of partition epoch 1
broker_applies_metadata 2 of partition epoch 1; broker_shuts_down 1; operator_deletes_replica_folder of 1
  broker 1: its folder is deleted (fault)
  broker 1: truncates 1 to 0 (fault)

# A follower that is no longer caught up: 3.7 HW_WAIT=CAUGHT_UP
producer_appends at 0; follower_falls_behind 1 at 0
  broker 0: 1 is no longer caught up (note)
"""


@pytest.mark.sampled
@pytest.mark.parametrize("story", stories(MESSAGES), ids=title_of)
def test_messages_and_events(story: Story) -> None:
    scene = scene_of(story.trace())
    assert {position: messages(scene, position) for position, _ in story.shown} == {
        position: [*lines] for position, lines in story.shown
    }


def test_a_follower_that_asks_where_its_epoch_ends_is_reconciling() -> None:
    assert scene_of(history("FAST_FAIL_OVER", "FAST")).moments[8].lanes[2].title == "reconciles with 0 in epoch 2"


# ------------------------------------------------------------------------------------------------------------ the lanes


def test_lanes_are_the_controller_the_brokers_and_the_clients() -> None:
    brokers = ("controller", "broker 0", "broker 1", "broker 2", "producer")
    assert scene_of(history("CLASSIC", "acked_not_lost")).lanes == (*brokers, "readers")
    scene = scene_of(TRANSACTION)
    assert scene.lanes == (*brokers, "transaction 0", "read_uncommitted", "read_committed")
    assert scene.moments[4].lanes[1].pointers == (("LSO", 0), ("HW", 1), ("LEO", 1))


def test_a_transaction_is_not_begun_before_its_first_record() -> None:
    titles = [moment.lanes[5].title for moment in scene_of(TRANSACTION).moments]
    assert titles == ["not begun", "open", "open", "open", "open", *["committed"] * 5]


# ---------------------------------------------------------------------------------------------------- fates of records


def test_an_unacknowledged_record_is_not_lost() -> None:
    trace = history("producer_appends at 0; controller_fails_over to 1")
    assert scene_of(trace).moments[2].fates[0].words == (("sent", 1),)


def test_without_an_answer_a_record_counts_as_written_when_it_is_sent() -> None:
    for acks in ("0", "1"):
        trace = history("producer_appends at 0", f"acks={acks}")
        assert "acked" in dict(scene_of(trace).moments[1].fates[0].words)


def test_a_record_on_a_later_leader_is_no_longer_lost() -> None:
    copies = "copy_to 1; copy_to 2; leader_handles_fetch 0 from 1; leader_handles_fetch 0 from 2"
    fail_overs = "broker_bounces 1 checkpoint 0; controller_fails_over to 1; controller_fails_over to 2"
    trace = history(f"producer_appends at 0; {copies}; {fail_overs}", "WHOLE")
    assert lost_since(trace)[6:] == [None, None, 9, None]


def test_a_kraft_leader_that_lost_data_is_judged_once_it_is_back() -> None:
    trace = history("LAST_KNOWN_LEADER", "4.1 UNCLEAN")
    assert lost_since(trace)[5:] == [None, None, None, None, None, 11]
    assert lost_since(history("COMMITTED; broker_loses_power 0 keeping 0", "power_losses=1"))[-1] == 5


def test_a_record_at_two_offsets_is_duplicated() -> None:
    trace = history("SENT_AGAIN", "no_duplicates WHOLE retries=1")
    assert dict(scene_of(trace).moments[6].fates[0].words) == {"sent": 1, "duplicated": 6}


def test_each_of_two_records_that_readers_see_at_an_offset_is_exposed() -> None:
    *_, last = scene_of(history("READ_TWICE", "0.11 consistent_read")).moments
    assert [fate.record for fate in last.fates if "exposed" in dict(fate.words)] == ["a", "b"]


# -------------------------------------------------------------------------------------------------------- golden traces


@pytest.mark.whole
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
    states = golden_support.derive(GOLDEN[name]).named_states
    last = states[-1]
    lost = [
        record
        for record in range(last.records)
        if last.acknowledged[record]
        and last.controller_leader != NONE
        and record not in [last.log_record[last.controller_leader][o] for o in range(last.log_size)]
    ]
    assert lost
    assert [number for number, fate in enumerate(fates(states)[-1]) if "lost" in dict(fate.words)] == lost

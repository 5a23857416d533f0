"""Losses since 2.8: which pending change of the ISR a leader did not count, and from where the next leader came."""

from __future__ import annotations

import pytest

from conformance.tests.support.trace import (
    COMMITTED,
    INELIGIBLE,
    LAST_KNOWN_LEADER,
    STALE_RECORD,
    WHOLE,
    kafka,
)
from isrcheck.models.kafka.state.values import Failure, MaximalIsr
from isrcheck.traces.explaining.cause import cause_of
from isrcheck.traces.explaining.slicing import slice_of
from isrcheck.traces.kafka.failures import (
    PendingChange,
    Timeline,
    about_change,
    earlier_process,
    election,
    find_loss,
    lines,
    uncounted_change,
)

TOOK_PLACE = "no unclean election, loss of power or loss of a disk took place"


def test_metadata_that_the_leader_knew_dropped_the_change() -> None:
    found = kafka(STALE_RECORD, "acked_not_lost", None, "3.7", WHOLE)
    loss = find_loss(found)
    assert loss is not None
    assert (loss.promised, loss.broker, loss.removed, loss.admitted, loss.lost) == (10, 2, None, 9, 12)
    assert loss.uncounted == PendingChange(leader=0, broker=2, proposed=7, dropped=10, is_joining=True)
    assert lines(found) == [
        "record a: acknowledged at step 10 by broker_applies_metadata 0 of partition epoch 1",
        "  the leader relied on broker 1, which it knew to have it since step 8 by leader_handles_fetch 0 from 1",
        "  the leader did not wait for broker 2: it proposed at step 7 by leader_handles_fetch 0 from 2"
        " that broker 2 joins the ISR",
        "  the leader dropped that change at step 10 by broker_applies_metadata 0 of partition epoch 1:"
        " it knew partition epoch 1 already (EQUAL_PARTITION_EPOCH_REPLACES)",
        "  never on broker 2, which joined the ISR at step 9 by controller_handles_alter_partition of 0",
        "  lost at step 12 by controller_fences_leader 0 and elects 2",
        f"not permitted: acks=all promises it, and {TOOK_PLACE}",
    ]


def test_the_dropped_change_is_part_of_the_cause_and_stays_in_a_slice() -> None:
    extra = ["leader_handles_fetch 0 from 2", "response_is_lost to 2 from 0"]
    found = kafka([*STALE_RECORD[:1], *extra, *STALE_RECORD[1:]], "acked_not_lost", None, "3.7", WHOLE)
    assert cause_of(found).happened == (
        "never there: let into the ISR by controller_handles_alter_partition",
        "pending change dropped by broker_applies_metadata",
        "lost by controller_fences_leader",
    )
    sliced = slice_of(found, "check kafka")
    assert [sliced.trace.instance.spell_step(step) for step in sliced.trace.steps] == [*STALE_RECORD]
    assert sliced.left_out == (2, 3)


def test_a_high_watermark_that_passes_a_member_of_the_maximal_isr() -> None:
    steps = [*STALE_RECORD[:10], "broker_applies_metadata 0 of partition epoch 2"]
    assert lines(kafka(steps, "high_watermark_within_maximal_isr", None, "3.7", WHOLE)) == [
        "broker 0: high watermark 1 is above log end offset 0 of broker 2 in its maximal ISR",
        "  high watermark 1 since step 10 by broker_applies_metadata 0 of partition epoch 1",
        "  the leader did not wait for broker 2: it proposed at step 7 by leader_handles_fetch 0 from 2"
        " that broker 2 joins the ISR",
        "  the leader dropped that change at step 10 by broker_applies_metadata 0 of partition epoch 1:"
        " it knew partition epoch 1 already (EQUAL_PARTITION_EPOCH_REPLACES)",
        "  log end offset 0 from the start",
        f"not permitted: {TOOK_PLACE}",
    ]


def test_a_member_of_the_maximal_isr_that_lost_its_log() -> None:
    steps = [
        *COMMITTED,
        "broker_loses_power 1 keeping 0",
        "controller_fences_broker 1",
        "broker_restarts 1 checkpoint 0",
    ]
    assert lines(kafka(steps, "high_watermark_within_maximal_isr", None, "4.1", power_losses=1)) == [
        "broker 0: high watermark 1 is above log end offset 0 of broker 1 in its maximal ISR",
        "  high watermark 1 since step 4 by leader_handles_fetch 0 from 1",
        "  log end offset 0 since step 5 by broker_loses_power 1 keeping 0",
        "permitted: a loss of power at step 5 by broker_loses_power 1 keeping 0",
    ]


PENDING = (
    *("producer_appends at 0", "leader_handles_fetch 0 from 1", "leader_handles_fetch 0 from 2"),
    *("follower_applies_response 1 from 0", "leader_handles_fetch 0 from 1"),
    "controller_handles_alter_partition of 0",
)


def test_a_pending_expansion_that_does_not_count() -> None:
    found = kafka(PENDING, "isr_is_complete", None, "3.7", MAXIMAL_ISR=MaximalIsr.COMMITTED)
    assert lines(found)[1:4] == [
        "  the leader did not wait for broker 2: it proposed at step 3 by leader_handles_fetch 0 from 2"
        " that broker 2 joins the ISR",
        "  that change was pending, so broker 2 could be in the ISR of record (MAXIMAL_ISR)",
        "  never on broker 2, which joined the ISR at step 6 by controller_handles_alter_partition of 0",
    ]
    assert cause_of(found).happened[1] == "pending change not counted"


def test_a_pending_shrink_that_counts_at_once() -> None:
    steps = ["producer_appends at 0", "leader_shrinks_isr 0 by {1}"]
    found = kafka(steps, "isr_is_complete", None, "3.7", MAXIMAL_ISR=MaximalIsr.PROPOSED)
    assert lines(found) == [
        "record a: exposed to readers at step 2 by leader_shrinks_isr 0 by {1}",
        "  the leader did not wait for broker 1: it proposed at step 2 by leader_shrinks_isr 0 by {1}"
        " that broker 1 leaves the ISR",
        "  that change was pending, so broker 1 could be in the ISR of record (MAXIMAL_ISR)",
        "  never on broker 1, which was in the ISR from the start",
        "  missing from the ISR at step 2 by leader_shrinks_isr 0 by {1}",
        f"not permitted: {TOOK_PLACE}",
    ]


def test_a_pending_change_that_counts_is_no_cause() -> None:
    timeline = Timeline(kafka(PENDING, None, None, "3.7"))
    assert uncounted_change(timeline, 0, 2, 5) is None
    assert uncounted_change(timeline, 0, 1, 5) is None
    # Without a change there is none, and up to 2.4 there are no pending ones.
    assert uncounted_change(timeline, 0, 2, 2) is None
    old = Timeline(kafka(COMMITTED, None, None, "2.4"))
    assert uncounted_change(old, 0, 2, 4) is None


def test_why_else_a_leader_drops_a_change() -> None:
    refused = Timeline(kafka([*INELIGIBLE, "leader_hears_answer 0"], None, None, "3.7", WHOLE, fencings=1))
    change = uncounted_change(refused, 0, 2, 8)
    assert change == PendingChange(0, 2, 5, 8, is_joining=True)
    assert about_change(refused, change)[1] == (
        "  the leader dropped that change at step 8 by leader_hears_answer 0:"
        " the controller refused it (INELIGIBLE_REPLICA)"
    )
    newer = [PENDING[2], "controller_fences_broker 1", "broker_applies_metadata 0 of partition epoch 1"]
    replaced = Timeline(kafka(newer, None, None, "3.7", fencings=1))
    change = uncounted_change(replaced, 0, 2, 3)
    assert change == PendingChange(0, 2, 1, 3, is_joining=True)
    assert about_change(replaced, change)[1] == (
        "  the leader dropped that change at step 3 by broker_applies_metadata 0 of partition epoch 1:"
        " partition epoch 1 is newer"
    )
    shut_down = ["leader_asks_to_shut_down 0 and the controller elects 1", newer[2]]
    demoted = Timeline(kafka([PENDING[2], *shut_down], None, None, "3.7", shutdowns=1))
    change = uncounted_change(demoted, 0, 2, 3)
    assert change is not None
    assert about_change(demoted, change)[1].endswith(": partition epoch 1 is newer")
    crashed = Timeline(kafka([PENDING[2], "broker_crashes 0"], None, None, "3.7"))
    change = uncounted_change(crashed, 0, 2, 2)
    assert change is not None
    assert about_change(crashed, change)[1] == "  the leader dropped that change at step 2 by broker_crashes 0"


def test_a_change_that_is_made_is_no_cause() -> None:
    accepted = Timeline(kafka(STALE_RECORD[:6], None, None, "3.7", WHOLE))
    assert uncounted_change(accepted, 0, 2, 3) is None  # it is pending, and counts
    assert uncounted_change(accepted, 0, 2, 6) is None
    heard = [*STALE_RECORD[:5], "broker_applies_metadata 0 of partition epoch 1"]
    assert uncounted_change(Timeline(kafka(heard, None, None, "3.7", WHOLE)), 0, 2, 6) is None


def test_what_a_leader_knows_of_an_earlier_process() -> None:
    steps = [*COMMITTED, "broker_crashes 1", "broker_restarts 1 checkpoint 0", "leader_handles_fetch 0 from 1"]
    timeline = Timeline(kafka(steps, None, None, "3.7", WHOLE))
    assert earlier_process(timeline, 0, 1, 4) == ""
    assert earlier_process(timeline, 0, 1, 6) == ", from a process that ended at step 5 by broker_crashes 1"
    assert earlier_process(timeline, 0, 1, 7) == ""
    assert earlier_process(Timeline(kafka(COMMITTED, None, None, "2.8")), 0, 1, 4) == ""


def test_a_follower_that_is_to_join_counts() -> None:
    """While the change is pending, its high watermark waits for both ISRs."""
    steps = [
        *("producer_appends at 0", "leader_handles_fetch 0 from 1", "leader_handles_fetch 0 from 2"),
        *("follower_applies_response 1 from 0", "follower_applies_response 2 from 0"),
        *("leader_handles_fetch 0 from 2", "leader_handles_fetch 0 from 1"),
        *("broker_loses_power 1 keeping 0", "broker_restarts 1 checkpoint 0"),
    ]
    found = kafka(steps, "isr_is_complete", None, "3.7", power_losses=1)
    assert lines(found) == [
        "record a: exposed to readers at step 7 by leader_handles_fetch 0 from 1",
        "  the leader relied on broker 2, which it knew to have it since step 6 by leader_handles_fetch 0 from 2",
        "  removed from broker 1 at step 8 by broker_loses_power 1 keeping 0",
        "  missing from the ISR at step 9 by broker_restarts 1 checkpoint 0",
        "permitted: a loss of power at step 8 by broker_loses_power 1 keeping 0",
    ]


def test_a_leader_that_counts_on_an_earlier_process() -> None:
    steps = [
        *(*COMMITTED, "broker_loses_power 1 keeping 0", "broker_restarts 1 checkpoint 0"),
        *("leader_handles_fetch 0 from 2", "follower_applies_response 2 from 0", "leader_handles_fetch 0 from 2"),
    ]
    found = kafka(steps, "isr_is_complete", None, "3.7", WHOLE, power_losses=1)
    assert lines(found)[:2] == [
        "record a: exposed to readers at step 9 by leader_handles_fetch 0 from 2",
        "  the leader relied on broker 1, which it knew to have it since step 4 by leader_handles_fetch 0 from 1,"
        " from a process that ended at step 5 by broker_loses_power 1 keeping 0",
    ]


UNCLEAN = {"power_losses": 1, "partition_changes": 4, "elections": 2}


def test_the_last_known_leader_is_elected() -> None:
    found = kafka(LAST_KNOWN_LEADER, "acked_not_lost", None, "4.1", **UNCLEAN)
    assert lines(found) == [
        "record a: acknowledged at step 4 by leader_handles_fetch 0 from 1",
        "  removed from broker 0 at step 6 by broker_loses_power 0 keeping 0",
        "  lost at step 11 by broker_restarts 1 checkpoint 0, electing broker 0 as the last known leader, since ISR and"
        " ELR are empty",
        "permitted: a loss of power at step 6 by broker_loses_power 0 keeping 0",
    ]


def test_the_claim_of_kip_966_counts_failures() -> None:
    found = kafka(LAST_KNOWN_LEADER, "tolerates_claimed_failures", None, "4.1", **UNCLEAN)
    lost = "a loss of power at step 6 by broker_loses_power 0 keeping 0"
    assert lines(found)[0] == "record a: acknowledged at step 4 by leader_handles_fetch 0 from 1"
    assert (found.verdict, lines(found)[-1]) == (
        "VIOLATED",
        f"not permitted: KIP-966 claims to tolerate 1; there were: {lost}",
    )
    both = kafka(
        LAST_KNOWN_LEADER,
        "tolerates_claimed_failures",
        None,
        "4.1",
        claimed_failures=Failure.UNCLEAN_SHUTDOWN,
        **UNCLEAN,
    )
    assert (both.verdict, lines(both)[-1]) == (
        "PERMITTED",
        "permitted: KIP-966 claims to tolerate 1; there were:"
        f" {lost}; an unclean shutdown at step 5 by broker_crashes 1",
    )
    weak = kafka(LAST_KNOWN_LEADER, "tolerates_claimed_failures", None, "4.1", acks=1, **UNCLEAN)
    assert lines(weak)[-1] == f"permitted: acks=1 does not wait for the ISR; {lost}"


def test_the_last_member_of_the_isr_is_elected() -> None:
    # 8.10, before ELR: the controller trusts the last member of the ISR, whatever became of its log.
    steps = [
        *("producer_appends at 0", "leader_handles_fetch 0 from 1", "leader_shrinks_isr 0 by {1}"),
        *("follower_applies_response 1 from 0", "leader_handles_fetch 0 from 1", "broker_loses_power 0 keeping 0"),
        *("controller_handles_alter_partition of 0", "controller_fences_last_leader 0"),
        *("broker_restarts 0 checkpoint 0", "controller_unfences_broker 0"),
    ]
    found = kafka(steps, "acked_not_lost", None, "3.7", **UNCLEAN)
    assert lines(found)[-2] == (
        "  lost at step 10 by controller_unfences_broker 0, electing broker 0 as the last member of the ISR"
    )


@pytest.mark.parametrize("number", [0, 1, 2, 3])
def test_a_member_of_the_elr_is_elected(number: int) -> None:
    steps = ["controller_fences_broker 1", "controller_unfences_broker 1", "controller_fences_leader 0 and elects 1"]
    timeline = Timeline(kafka(steps, None, None, "4.1", fencings=2))
    expected = {3: ", electing broker 1 from the ELR"}
    assert election(timeline, 1, number) == expected.get(number, "")
    assert election(timeline, 0, number) == ""


def test_an_election_among_several_is_not_explained() -> None:
    timeline = Timeline(kafka(["controller_elects_preferred 1"], None, None, "3.7", preferred_elections=1))
    assert election(timeline, 1, 1) == ""
    old = Timeline(kafka(["controller_fails_over to 1"], None, None, "2.4"))
    assert election(old, 1, 1) == ""
    unclean = [*LAST_KNOWN_LEADER[:10], "controller_elects_unclean 0"]
    timeline = Timeline(kafka(unclean, None, None, "4.1", **UNCLEAN, unclean_elections=1))
    assert election(timeline, 0, 11) == ""
    assert election(timeline, 0, 0) == ""

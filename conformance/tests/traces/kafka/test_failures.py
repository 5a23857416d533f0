"""Failures of Kafka's promises: who promised and removed a record, what contradicts what, and what permits it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from conformance.tests.support.trace import (
    CLASSIC,
    COMMITTED,
    FAST_FAIL_OVER,
    INELIGIBLE,
    LAST_KNOWN_LEADER,
    MISSED_DEMOTION,
    READ_TWICE,
    SENT_AGAIN,
    STALE_RECORD,
    WHOLE,
    WITHOUT_MARKER,
    copy_to,
    election_of,
    fast_fail_over,
    follow_on,
    kafka,
    replicate_to,
    restart_of,
    weak_isr,
)
from isrcheck.models.kafka.state.values import Failure, MaximalIsr
from isrcheck.models.language.declarations import NONE
from isrcheck.traces.explaining.cause import cause_of
from isrcheck.traces.explaining.slicing import slice_of
from isrcheck.traces.format.trace import HOLDS, VIOLATED, Trace
from isrcheck.traces.kafka.failures import (
    FAILURES,
    Loss,
    PendingChange,
    Timeline,
    about_change,
    contradiction,
    earlier_process,
    election,
    find_loss,
    lines,
    loss_in,
    uncounted_change,
)
from isrcheck.traces.lanes.table import fitted

TOOK_PLACE = "no unclean election, loss of power or loss of a disk took place"
NOT_PERMITTED = f"not permitted: acks=all promises it, and {TOOK_PLACE}"


def test_the_record_is_removed_one_step_before_it_is_lost() -> None:
    found = kafka(CLASSIC, "acked_not_lost")
    assert find_loss(found) == Loss(0, "acknowledged", 4, 1, 5, None, "lost", 6)


def test_the_last_removed_copy_counts() -> None:
    again = ["broker_bounces 1 checkpoint 0", *copy_to(1)]
    found = kafka([*COMMITTED, *again, *CLASSIC[4:]], "acked_not_lost", bounces=2)
    assert find_loss(found) == Loss(0, "acknowledged", 4, 1, 8, None, "lost", 9)


def test_the_isr_is_incomplete_as_soon_as_a_member_truncates() -> None:
    found = kafka(CLASSIC[:-1], "isr_is_complete")
    assert find_loss(found) == Loss(0, "exposed to readers", 4, 1, 5, None, "missing from the ISR", 5)
    assert lines(found) == [
        "record a: exposed to readers at step 4 by leader_handles_fetch 0 from 1",
        "  removed from broker 1 at step 5 by broker_bounces 1 checkpoint 0",
        "  missing from the ISR at step 5 by broker_bounces 1 checkpoint 0",
        f"not permitted: {TOOK_PLACE}",
    ]


@pytest.mark.parametrize(
    ("steps", "values", "expected"),
    [
        (
            ["producer_appends at 0", "broker_crashes 0", "controller_elects_unclean 2"],
            {"unclean_elections": 1, "min_insync_replicas": 1},
            [
                "record a: acknowledged at step 1 by producer_appends at 0",
                "  never on broker 2, which joined the ISR at step 3 by controller_elects_unclean 2",
                "  lost at step 3 by controller_elects_unclean 2",
                "permitted: an unclean election at step 3 by controller_elects_unclean 2",
            ],
        ),
        (
            [*COMMITTED, "broker_loses_power 0 keeping 0"],
            {"power_losses": 1},
            [
                "record a: acknowledged at step 4 by leader_handles_fetch 0 from 1",
                "  removed from broker 0 at step 5 by broker_loses_power 0 keeping 0",
                "  lost at step 5 by broker_loses_power 0 keeping 0",
                "permitted: a loss of power at step 5 by broker_loses_power 0 keeping 0",
            ],
        ),
        (
            [*COMMITTED, "broker_loses_disk 0"],
            {"disk_losses": 1},
            [
                "record a: acknowledged at step 4 by leader_handles_fetch 0 from 1",
                "  removed from broker 0 at step 5 by broker_loses_disk 0",
                "  lost at step 5 by broker_loses_disk 0",
                "permitted: a loss of a disk at step 5 by broker_loses_disk 0",
            ],
        ),
        (
            ["producer_appends at 0", "broker_loses_disk 0"],
            {"disk_losses": 1, "acks": 1},
            [
                "record a: acknowledged at step 1 by producer_appends at 0",
                "  removed from broker 0 at step 2 by broker_loses_disk 0",
                "  lost at step 2 by broker_loses_disk 0",
                "permitted: acks=1 does not wait for the ISR; a loss of a disk at step 2 by broker_loses_disk 0",
            ],
        ),
    ],
)
def test_the_permission_of_a_loss_is_named(steps: Sequence[str], values: dict[str, Any], expected: list[str]) -> None:
    assert lines(kafka(steps, "acked_not_lost", **values)) == expected


def test_an_unused_budget_permits_nothing() -> None:
    generous: dict[str, Any] = {"unclean_elections": 1, "power_losses": 1, "disk_losses": 1}
    assert lines(kafka(CLASSIC, "acked_not_lost", **generous))[-1] == NOT_PERMITTED


def test_acks_do_not_excuse_an_incomplete_isr() -> None:
    found = kafka(CLASSIC[:-1], "isr_is_complete", acks=1)
    assert lines(found)[-1] == f"not permitted: {TOOK_PLACE}"


def test_the_follower_counted_by_the_leader_is_named() -> None:
    # models/kafka/missed_demotion.md: the leader remembers what it knew two epochs ago.
    found = kafka(MISSED_DEMOTION, "isr_is_complete", None, "2.1", elections=3, preferred_elections=1)
    assert lines(found) == [
        "record a: exposed to readers at step 7 by broker_becomes_leader 0 in epoch 2",
        "  the leader relied on broker 2, which it knew to have it since step 4 by leader_handles_fetch 0 from 2",
        "  removed from broker 2 at step 10 by follower_reconciles 2 with 1",
        "  missing from the ISR at step 10 by follower_reconciles 2 with 1",
        f"not permitted: {TOOK_PLACE}",
    ]


def counted_on(trace: Trace) -> list[str]:
    return [line for line in lines(trace) if line.startswith("  the leader relied")]


def test_later_knowledge_of_the_leader_does_not_count() -> None:
    # After the promise, the leader restarts, and hears of broker 2 again.
    forgets = [*restart_of(0), "leader_handles_fetch 0 from 2"]
    steps = [*MISSED_DEMOTION[:7], *forgets, *MISSED_DEMOTION[7:]]
    found = kafka(steps, "isr_is_complete", None, "2.0", elections=3, preferred_elections=1)
    assert counted_on(found) == [
        "  the leader relied on broker 2, which it knew to have it since step 4 by leader_handles_fetch 0 from 2"
    ]
    # Before the promise, it forgets broker 1, which then fetches last: the promise is made in that step.
    forgets = [*COMMITTED, *forgets[:2], *copy_to(2)]
    steps = [
        *forgets,
        "leader_handles_fetch 0 from 2",
        "leader_handles_fetch 0 from 1",
        "broker_bounces 1 checkpoint 0",
    ]
    assert counted_on(kafka(steps, "isr_is_complete", start=WHOLE)) == [
        "  the leader relied on broker 2, which it knew to have it since step 9 by leader_handles_fetch 0 from 2"
    ]


def test_only_the_acknowledging_leader_and_its_isr_count() -> None:
    # Broker 0, which leads no more, knows of broker 1.
    steps = [
        *COMMITTED,
        *election_of(1, 1),
        "broker_becomes_follower 2 in epoch 1",
        *replicate_to(2, 1),
        "broker_bounces 2 checkpoint 0",
    ]
    found = kafka(steps, "isr_is_complete", start=WHOLE)
    assert lines(found)[0] == "record a: exposed to readers at step 10 by leader_handles_fetch 1 from 2"
    assert counted_on(found) == []
    # Broker 2 has the record, and was dropped from the ISR.
    second = [step.replace("from 1", "from 2").replace("response 1", "response 2") for step in COMMITTED]
    steps = [*second, "leader_shrinks_isr 0 by {2}", *COMMITTED[1:], "broker_bounces 1 checkpoint 0"]
    found = kafka(steps, "isr_is_complete", start=WHOLE)
    assert lines(found)[0] == "record a: exposed to readers at step 8 by leader_handles_fetch 0 from 1"
    assert counted_on(found) == []


def test_a_resent_request_excuses_no_loss() -> None:
    steps = ["answer_is_lost at 0", "producer_retries a at 0", "broker_crashes 0", "controller_elects_unclean 2"]
    found = kafka(steps, "acked_not_lost", unclean_elections=1, min_insync_replicas=1, acks=1, retries=1)
    assert lines(found)[-1] == (
        "permitted: acks=1 does not wait for the ISR; an unclean election at step 4 by controller_elects_unclean 2"
    )


def test_an_unrelated_property_is_not_explained() -> None:
    for trace in (kafka(CLASSIC, "acked_not_lost"), kafka(CLASSIC[:-1], "isr_is_complete")):
        assert loss_in(Timeline(trace), {"somebody": 1}) is None


def test_a_record_that_was_deleted_is_not_the_lost_one() -> None:
    steps = [
        "producer_appends at 0",
        *COMMITTED,
        "leader_deletes_records at 0 before 1",
        *restart_of(0),
        "follower_starts_over 2 at 0",
        "leader_handles_fetch 0 from 2",
        "controller_fails_over to 2",
    ]
    values = {"delete_records": 1}
    lost = kafka(steps, "acked_not_lost", None, "0.11", **values)
    assert find_loss(lost) == Loss(1, "acknowledged", 5, 2, None, 10, "lost", 11)
    missing = kafka(steps[:-1], "isr_is_complete", None, "0.11", **values)
    assert find_loss(missing) == Loss(1, "exposed to readers", 5, 2, None, 10, "missing from the ISR", 10)


def test_a_marker_can_be_missing() -> None:
    for transactions, name in ((1, "the commit marker"), (2, "the commit marker of transaction 0")):
        found = kafka(WITHOUT_MARKER, "isr_is_complete", None, "0.11", transactions=transactions)
        assert lines(found)[:2] == [
            f"{name}: exposed to readers at step 11 by leader_handles_fetch 0 from 1",
            "  never on broker 2, which joined the ISR at step 14 by leader_handles_fetch 0 from 2",
        ]


def test_other_failures_show_their_permission() -> None:
    again = ["broker_loses_disk 0", "broker_restarts 0 checkpoint 0", "producer_appends at 0"]
    found = kafka([*CLASSIC[:3], *again], "log_matching", disk_losses=1)
    assert lines(found)[-1] == "permitted: a loss of a disk at step 4 by broker_loses_disk 0"


def test_only_losses_of_records_are_attributed() -> None:
    assert find_loss(weak_isr()) is None
    assert find_loss(kafka(COMMITTED, "acked_not_lost", HOLDS)) is None
    assert lines(kafka(["producer_appends at 0"], "log_matching", HOLDS)) == []


# ------------------------------------------------------------------------------------------------------- contradictions


NOTHING_PERMITS = f"not permitted: {TOOK_PLACE}"
APPENDED = "appended at step 1 by producer_appends at 0"
COPIED = "copied at step 3 by follower_applies_response 1 from 0"
SENT = "first sent at step 1 by producer_appends at 0"
RETRIED = "step 5 by producer_retries a at 0"
SENT_TWICE = "permitted: a request sent again without idempotence at step"


def fitted_lines(trace: Trace) -> list[str]:
    return fitted(lines(trace))


def test_committed_entries_that_differ() -> None:
    assert fitted_lines(fast_fail_over("committed_agrees")) == [
        "offset 1: brokers 0 and 1 differ, below both their high watermarks",
        "  broker 0 has b0: appended at step 1 by producer_appends at 0, below its high watermark since step 4 by",
        "      broker_becomes_leader 0 in epoch 2",
        "  broker 1 has d1: appended at step 7 by producer_appends at 1, below its high watermark since step 11 by",
        "      follower_applies_response 1 from 0",
        NOTHING_PERMITS,
    ]


def test_entries_of_one_epoch_at_one_offset() -> None:
    # The leader comes back without its log, still in epoch 0.
    again = ["broker_loses_disk 0", "broker_restarts 0 checkpoint 0", "producer_appends at 0"]
    assert fitted_lines(kafka([*COMMITTED[:3], *again], "log_matching", disk_losses=1)) == [
        "offset 0: brokers 0 and 1 have different entries of epoch 0",
        "  broker 0 has b0: appended at step 6 by producer_appends at 0",
        f"  broker 1 has a0: {APPENDED}, {COPIED}",
        "permitted: a loss of a disk at step 4 by broker_loses_disk 0",
    ]


@pytest.mark.parametrize("values", [{}, {"transactions": 1, "isolation_level": 1}])
def test_another_record_at_a_read_offset(values: dict[str, int]) -> None:
    assert fitted_lines(kafka(READ_TWICE, "consistent_read", None, "0.11", **values)) == [
        "offset 0: broker 2 shows record b, where record a was read first",
        "  b1: appended at step 10 by producer_appends at 2",
        "  a0: appended at step 1 by producer_appends at 0, read at step 4 by leader_handles_fetch 0 from 1",
        NOTHING_PERMITS,
    ]


def test_the_copy_that_was_read_counts() -> None:
    # Broker 0, a zombie, has a0 at this offset; what was read is a1.
    steps = [
        "producer_appends at 0",
        *SENT_AGAIN[3:],
        *follow_on(2, 1, 1),
        *replicate_to(2, 1),
        "broker_loses_disk 1",
        "broker_restarts 1 checkpoint 0",
        "producer_appends at 1",
        "leader_shrinks_isr 1 by {2}",
    ]
    assert fitted_lines(kafka(steps, "consistent_read", None, "2.1", WHOLE, retries=1, disk_losses=1))[:4] == [
        "offset 0: broker 1 shows record b, where record a was read first",
        "  b1: appended at step 12 by producer_appends at 1",
        f"  a1: {SENT}, appended at step 4 by producer_retries a at 1, read at step 9 by",
        "      leader_handles_fetch 1 from 2",
    ]


def test_a_record_that_was_there_from_the_start() -> None:
    steps = [
        "broker_loses_disk 0",
        "broker_restarts 0 checkpoint 0",
        "producer_appends at 0",
        "leader_shrinks_isr 0 by {1}",
    ]
    found = kafka(steps, "consistent_read", disk_losses=1, common_records=1)
    assert fitted_lines(found) == [
        "offset 0: broker 0 shows record b, where record a was read first",
        "  b0: appended at step 3 by producer_appends at 0",
        "  a0: there from the start, read from the start",
        "permitted: a loss of a disk at step 1 by broker_loses_disk 0",
    ]


def test_a_record_at_an_unread_offset() -> None:
    found = kafka(COMMITTED, "consistent_read", HOLDS)
    cells = list(found.states[-1])
    cells[found.instance.layouts["exposed_record"].offset] = NONE
    unnoted = replace(found, states=(*found.states[:-1], tuple(cells)), verdict=VIOLATED)
    assert fitted_lines(unnoted)[:2] == [
        "offset 0: broker 0 shows record a, where nothing was read first",
        f"  a0: {APPENDED}",
    ]


def test_a_marker_is_named() -> None:
    steps = [
        *FAST_FAIL_OVER[:4],
        "producer_appends_in_transaction at 0 in 0",
        "coordinator_aborts 0",
        *FAST_FAIL_OVER[5:6],
        "leader_appends_marker of 0 at 1",
        *FAST_FAIL_OVER[7:],
    ]
    values = {"replicas": 2, "records": 4, "log_size": 3, "preferred_elections": 1, "transactions": 1}
    found = kafka(steps, "log_matching", None, "0.11", 1, min_insync_replicas=1, common_records=1, **values)
    assert fitted_lines(found) == [
        "offset 1: brokers 0 and 1 differ, though both have an entry of epoch 2 at offset 2",
        "  broker 0 has b0: appended at step 1 by producer_appends at 0",
        "  broker 1 has A1: appended at step 8 by leader_appends_marker of 0 at 1",
        NOTHING_PERMITS,
    ]


# ----------------------------------------------------------------------------------------------------------- sent again


def test_a_duplicated_record() -> None:
    assert fitted_lines(kafka(SENT_AGAIN, "no_duplicates", None, "2.1", WHOLE, retries=1)) == [
        "broker 1, the controller's leader, holds record a twice",
        f"  a0 at offset 0: {APPENDED}, {COPIED}",
        f"  a1 at offset 1: {SENT}, appended at step 6 by producer_retries a at 1",
        f"{SENT_TWICE} 6 by producer_retries a at 1",
    ]


def test_a_record_appended_again_at_the_same_offset() -> None:
    steps = ["producer_appends at 0", "broker_loses_power 0 keeping 0", "broker_restarts 0 checkpoint 0"]
    steps += ["producer_retries a at 0"] * 2
    assert fitted_lines(kafka(steps, "no_duplicates", power_losses=1, retries=2)) == [
        "broker 0, the controller's leader, holds record a twice",
        f"  a0 at offset 0: {SENT}, appended at step 4 by producer_retries a at 0",
        f"  a0 at offset 1: {SENT}, appended at step 5 by producer_retries a at 0",
        f"{SENT_TWICE} 4 by producer_retries a at 0; a request sent again without",
        "    idempotence at step 5 by producer_retries a at 0;"
        " a loss of power at step 2 by broker_loses_power 0 keeping 0",
    ]


def test_a_record_refused_at_first() -> None:
    steps = [
        "leader_shrinks_isr 0 by {1,2}",
        "producer_is_refused at 0",
        "leader_handles_fetch 0 from 1",
        "producer_appends at 0",
        "producer_retries a at 0",
    ]
    assert fitted_lines(kafka(steps, "order_preserved", None, "0.11", WHOLE, retries=1)) == [
        "broker 0, the controller's leader, holds record a behind record b, which was sent later",
        "  b0 at offset 0: appended at step 4 by producer_appends at 0",
        f"  a0 at offset 1: first sent at step 2 by producer_is_refused at 0, appended at {RETRIED}",
        f"{SENT_TWICE} 5 by producer_retries a at 0",
    ]


def test_an_unpermitted_failure_is_reported_as_such() -> None:
    found = replace(kafka(SENT_AGAIN, "no_duplicates", None, "2.1", WHOLE, retries=1), verdict=VIOLATED)
    assert fitted_lines(found)[-1] == (
        "not permitted: no request sent again, unclean election, loss of power or loss of a disk took place"
    )


# -------------------------------------------------------------------------------------------------------------- offsets


def test_a_high_watermark_above_the_log_end() -> None:
    steps = [
        *COMMITTED,
        "leader_answers_parked_fetch 0 to 1",
        "follower_applies_response 1 from 0",
        "broker_crashes 0",
        "broker_crashes 1",
        "controller_elects_unclean 2",
        "broker_becomes_leader 2 in epoch 1",
        "broker_restarts 1 checkpoint 1",
        "follower_reconciles 1 with 2",
    ]
    assert fitted_lines(kafka(steps, "offsets_ordered", None, "2.1", crashes=2, unclean_elections=1)) == [
        "broker 1: high watermark 1 is above log end offset 0",
        "  high watermark 1 since step 6 by follower_applies_response 1 from 0",
        "  log end offset 0 since step 12 by follower_reconciles 1 with 2",
        "permitted: an unclean election at step 9 by controller_elects_unclean 2",
    ]


# ------------------------------------------------------------------------------------------------ somebody else's model


def test_an_unrelated_property_is_no_contradiction() -> None:
    found = fast_fail_over("log_matching")
    for name in FAILURES:
        assert contradiction(Timeline(replace(found, property_name=name)), {"somebody": 1}) == []
    for name in ("leader_in_isr", "offsets_ordered"):
        assert contradiction(Timeline(replace(found, property_name=name)), {"r": 1}) == []


# --------------------------------------------------------------------------------- pending changes of the ISR since 2.8


def test_metadata_that_the_leader_knew_dropped_the_change() -> None:
    found = kafka(STALE_RECORD, "acked_not_lost", None, "3.7", WHOLE)
    loss = find_loss(found)
    assert loss is not None
    assert (loss.promised, loss.broker, loss.removed, loss.admitted, loss.lost) == (10, 2, None, 9, 12)
    assert loss.uncounted == PendingChange(leader=0, broker=2, proposed=7, dropped=10, is_joining=True)


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
    "producer_appends at 0",
    "leader_handles_fetch 0 from 1",
    "leader_handles_fetch 0 from 2",
    "follower_applies_response 1 from 0",
    "leader_handles_fetch 0 from 1",
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
    steps = [*COMMITTED, *restart_of(1), "leader_handles_fetch 0 from 1"]
    timeline = Timeline(kafka(steps, None, None, "3.7", WHOLE))
    assert earlier_process(timeline, 0, 1, 4) == ""
    assert earlier_process(timeline, 0, 1, 6) == ", from a process that ended at step 5 by broker_crashes 1"
    assert earlier_process(timeline, 0, 1, 7) == ""
    assert earlier_process(Timeline(kafka(COMMITTED, None, None, "2.8")), 0, 1, 4) == ""


def test_a_follower_that_is_to_join_counts() -> None:
    """While the change is pending, its high watermark waits for both ISRs."""
    steps = [
        "producer_appends at 0",
        "leader_handles_fetch 0 from 1",
        "leader_handles_fetch 0 from 2",
        "follower_applies_response 1 from 0",
        "follower_applies_response 2 from 0",
        "leader_handles_fetch 0 from 2",
        "leader_handles_fetch 0 from 1",
        "broker_loses_power 1 keeping 0",
        "broker_restarts 1 checkpoint 0",
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
    steps = [*COMMITTED, "broker_loses_power 1 keeping 0", "broker_restarts 1 checkpoint 0", *replicate_to(2)]
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
        "producer_appends at 0",
        "leader_handles_fetch 0 from 1",
        "leader_shrinks_isr 0 by {1}",
        "follower_applies_response 1 from 0",
        "leader_handles_fetch 0 from 1",
        "broker_loses_power 0 keeping 0",
        "controller_handles_alter_partition of 0",
        "controller_fences_last_leader 0",
        "broker_restarts 0 checkpoint 0",
        "controller_unfences_broker 0",
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

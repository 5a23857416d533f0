"""Diverging logs: the entries that differ, are duplicated or out of order, and the steps that wrote them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from conformance.tests.support.trace import (
    COMMITTED,
    FAST_FAIL_OVER,
    READ_TWICE,
    SENT_AGAIN,
    WHOLE,
    fast_fail_over,
    kafka,
)
from isrcheck.models.language.declarations import NONE
from isrcheck.traces.explaining import attribution
from isrcheck.traces.explaining.divergence import TELLERS
from isrcheck.traces.explaining.divergence import lines as told
from isrcheck.traces.explaining.timeline import Timeline
from isrcheck.traces.format.trace import HOLDS, VIOLATED, Trace
from isrcheck.traces.lanes.table import fitted

NOT_PERMITTED = "not permitted: no unclean election, loss of power or loss of a disk took place"
APPENDED = "appended at step 1 by producer_appends at 0"
COPIED = "copied at step 3 by follower_applies_response 1 from 0"
SENT = "first sent at step 1 by producer_appends at 0"
RETRIED = "step 5 by producer_retries a at 0"
SENT_TWICE = "permitted: a request sent again without idempotence at step"


def lines(trace: Trace) -> list[str]:
    return fitted(attribution.lines(trace))


def test_committed_entries_that_differ() -> None:
    assert lines(fast_fail_over("committed_agrees")) == [
        "offset 1: brokers 0 and 1 differ, below both their high watermarks",
        "  broker 0 has b0: appended at step 1 by producer_appends at 0, below its high watermark since step 4 by",
        "      broker_becomes_leader 0 in epoch 2",
        "  broker 1 has d1: appended at step 7 by producer_appends at 1, below its high watermark since step 11 by",
        "      follower_applies_response 1 from 0",
        NOT_PERMITTED,
    ]


def test_entries_below_a_shared_entry() -> None:
    assert lines(fast_fail_over("log_matching")) == [
        "offset 1: brokers 0 and 1 differ, though both have an entry of epoch 2 at offset 2",
        "  broker 0 has b0: appended at step 1 by producer_appends at 0",
        "  broker 1 has d1: appended at step 7 by producer_appends at 1",
        NOT_PERMITTED,
    ]


def test_entries_of_one_epoch_at_one_offset() -> None:
    # The leader comes back without its log, still in epoch 0.
    again = ["broker_loses_disk 0", "broker_restarts 0 checkpoint 0", "producer_appends at 0"]
    assert lines(kafka([*COMMITTED[:3], *again], "log_matching", disk_losses=1)) == [
        "offset 0: brokers 0 and 1 have different entries of epoch 0",
        "  broker 0 has b0: appended at step 6 by producer_appends at 0",
        f"  broker 1 has a0: {APPENDED}, {COPIED}",
        "permitted: a loss of a disk at step 4 by broker_loses_disk 0",
    ]


@pytest.mark.parametrize("values", [{}, {"transactions": 1, "isolation_level": 1}])
def test_another_record_at_a_read_offset(values: dict[str, int]) -> None:
    assert lines(kafka(READ_TWICE, "consistent_read", None, "0.11", **values)) == [
        "offset 0: broker 2 shows record b, where record a was read first",
        "  b1: appended at step 10 by producer_appends at 2",
        "  a0: appended at step 1 by producer_appends at 0, read at step 4 by leader_handles_fetch 0 from 1",
        NOT_PERMITTED,
    ]


def test_the_copy_that_was_read_counts() -> None:
    # Broker 0, a zombie, has a0 at this offset; what was read is a1.
    steps = [
        *("producer_appends at 0", *SENT_AGAIN[3:], "broker_becomes_follower 2 in epoch 1"),
        *("follower_reconciles 2 with 1", "leader_handles_fetch 1 from 2", "follower_applies_response 2 from 1"),
        *("leader_handles_fetch 1 from 2", "broker_loses_disk 1", "broker_restarts 1 checkpoint 0"),
        *("producer_appends at 1", "leader_shrinks_isr 1 by {2}"),
    ]
    assert lines(kafka(steps, "consistent_read", None, "2.1", WHOLE, retries=1, disk_losses=1))[:4] == [
        "offset 0: broker 1 shows record b, where record a was read first",
        "  b1: appended at step 12 by producer_appends at 1",
        f"  a1: {SENT}, appended at step 4 by producer_retries a at 1, read at step 9 by",
        "      leader_handles_fetch 1 from 2",
    ]


def test_a_record_that_was_there_from_the_start() -> None:
    steps = [
        *("broker_loses_disk 0", "broker_restarts 0 checkpoint 0", "producer_appends at 0"),
        "leader_shrinks_isr 0 by {1}",
    ]
    found = kafka(steps, "consistent_read", disk_losses=1, common_records=1)
    assert lines(found) == [
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
    assert lines(unnoted)[:2] == [
        "offset 0: broker 0 shows record a, where nothing was read first",
        f"  a0: {APPENDED}",
    ]


def test_a_marker_is_named() -> None:
    steps = [
        *FAST_FAIL_OVER[:4],
        *("producer_appends_in_transaction at 0 in 0", "coordinator_aborts 0"),
        *FAST_FAIL_OVER[5:6],
        "leader_appends_marker of 0 at 1",
        *FAST_FAIL_OVER[7:],
    ]
    values = {"replicas": 2, "records": 4, "log_size": 3, "preferred_elections": 1, "transactions": 1}
    found = kafka(steps, "log_matching", None, "0.11", 1, min_insync_replicas=1, common_records=1, **values)
    assert lines(found) == [
        "offset 1: brokers 0 and 1 differ, though both have an entry of epoch 2 at offset 2",
        "  broker 0 has b0: appended at step 1 by producer_appends at 0",
        "  broker 1 has A1: appended at step 8 by leader_appends_marker of 0 at 1",
        NOT_PERMITTED,
    ]


# ----------------------------------------------------------------------------------------------------------- sent again


def test_a_duplicated_record() -> None:
    assert lines(kafka(SENT_AGAIN, "no_duplicates", None, "2.1", WHOLE, retries=1)) == [
        "broker 1, the controller's leader, holds record a twice",
        f"  a0 at offset 0: {APPENDED}, {COPIED}",
        f"  a1 at offset 1: {SENT}, appended at step 6 by producer_retries a at 1",
        f"{SENT_TWICE} 6 by producer_retries a at 1",
    ]


def test_a_record_appended_again_at_the_same_offset() -> None:
    steps = ["producer_appends at 0", "broker_loses_power 0 keeping 0", "broker_restarts 0 checkpoint 0"]
    steps += ["producer_retries a at 0"] * 2
    assert lines(kafka(steps, "no_duplicates", power_losses=1, retries=2)) == [
        "broker 0, the controller's leader, holds record a twice",
        f"  a0 at offset 0: {SENT}, appended at step 4 by producer_retries a at 0",
        f"  a0 at offset 1: {SENT}, appended at step 5 by producer_retries a at 0",
        f"{SENT_TWICE} 4 by producer_retries a at 0; a request sent again without",
        "    idempotence at step 5 by producer_retries a at 0;"
        " a loss of power at step 2 by broker_loses_power 0 keeping 0",
    ]


def test_a_record_after_a_later_sent_one() -> None:
    steps = ["producer_appends at 0", *SENT_AGAIN[3:5], "producer_appends at 1", "producer_retries a at 1"]
    assert lines(kafka(steps, "order_preserved", None, "2.1", WHOLE, retries=1)) == [
        "broker 1, the controller's leader, holds record a behind record b, which was sent later",
        "  b1 at offset 0: appended at step 4 by producer_appends at 1",
        f"  a1 at offset 1: {SENT}, appended at step 5 by producer_retries a at 1",
        f"{SENT_TWICE} 5 by producer_retries a at 1",
    ]


def test_a_record_refused_at_first() -> None:
    steps = [
        *("leader_shrinks_isr 0 by {1,2}", "producer_is_refused at 0", "leader_handles_fetch 0 from 1"),
        *("producer_appends at 0", "producer_retries a at 0"),
    ]
    assert lines(kafka(steps, "order_preserved", None, "0.11", WHOLE, retries=1)) == [
        "broker 0, the controller's leader, holds record a behind record b, which was sent later",
        "  b0 at offset 0: appended at step 4 by producer_appends at 0",
        f"  a0 at offset 1: first sent at step 2 by producer_is_refused at 0, appended at {RETRIED}",
        f"{SENT_TWICE} 5 by producer_retries a at 0",
    ]


def test_an_unpermitted_failure_is_reported_as_such() -> None:
    found = replace(kafka(SENT_AGAIN, "no_duplicates", None, "2.1", WHOLE, retries=1), verdict=VIOLATED)
    assert lines(found)[-1] == (
        "not permitted: no request sent again, unclean election, loss of power or loss of a disk took place"
    )


# -------------------------------------------------------------------------------------------------------------- offsets


def test_a_log_that_starts_above_its_high_watermark() -> None:
    steps = [
        *("producer_appends at 0", "leader_shrinks_isr 0 by {1}", "leader_deletes_records at 0 before 1"),
        "follower_starts_over 1 at 0",
    ]
    assert lines(kafka(steps, "offsets_ordered", None, "2.1", delete_records=1)) == [
        "broker 1: log start offset 1 is above last stable offset 0",
        "  log start offset 1 since step 4 by follower_starts_over 1 at 0",
        "  last stable offset 0 from the start",
        NOT_PERMITTED,
    ]


def test_a_high_watermark_above_the_log_end() -> None:
    steps = [
        *COMMITTED,
        *("leader_answers_parked_fetch 0 to 1", "follower_applies_response 1 from 0"),
        *("broker_crashes 0", "broker_crashes 1", "controller_elects_unclean 2", "broker_becomes_leader 2 in epoch 1"),
        *("broker_restarts 1 checkpoint 1", "follower_reconciles 1 with 2"),
    ]
    assert lines(kafka(steps, "offsets_ordered", None, "2.1", crashes=2, unclean_elections=1)) == [
        "broker 1: high watermark 1 is above log end offset 0",
        "  high watermark 1 since step 6 by follower_applies_response 1 from 0",
        "  log end offset 0 since step 12 by follower_reconciles 1 with 2",
        "permitted: an unclean election at step 9 by controller_elects_unclean 2",
    ]


# ------------------------------------------------------------------------------------------------ somebody else's model


def test_an_unrelated_property_is_not_explained() -> None:
    history = Timeline(fast_fail_over("log_matching"))
    for name in TELLERS:
        assert told(history, name, {"somebody": 1}) == []
    assert told(history, "leader_in_isr", {"r": 1}) == []
    assert told(history, "offsets_ordered", {"r": 1}) == []

"""Failures of Kafka's promises: who promised and removed a record, what contradicts what, and what permits it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest

from conformance.tests.support.trace import STALE_RECORD, weak_isr
from conformance.tests.traces.stories import Story, history, stories, title_of
from isrcheck.models.language.declarations import NONE
from isrcheck.traces.explaining.cause import cause_of
from isrcheck.traces.explaining.slicing import slice_of
from isrcheck.traces.format.trace import VIOLATED
from isrcheck.traces.kafka.failures import (
    EXPLANATIONS,
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

LINES = """
# A member of the ISR that truncates: isr_is_complete
COMMITTED; CLASSIC[4]
  record a: exposed to readers at step 4 by leader_handles_fetch 0 from 1
    removed from broker 1 at step 5 by broker_bounces 1 checkpoint 0
    missing from the ISR at step 5 by broker_bounces 1 checkpoint 0
  not permitted: no unclean election, loss of power or loss of a disk took place

# An unclean election permits a loss: acked_not_lost unclean_elections=1 min_insync_replicas=1
producer_appends at 0; broker_crashes 0; controller_elects_unclean 2
  record a: acknowledged at step 1 by producer_appends at 0
    never on broker 2, which joined the ISR at step 3 by controller_elects_unclean 2
    lost at step 3 by controller_elects_unclean 2
  permitted: an unclean election at step 3 by controller_elects_unclean 2

# A loss of power permits a loss: acked_not_lost power_losses=1
COMMITTED; broker_loses_power 0 keeping 0
  record a: acknowledged at step 4 by leader_handles_fetch 0 from 1
    removed from broker 0 at step 5 by broker_loses_power 0 keeping 0
    lost at step 5 by broker_loses_power 0 keeping 0
  permitted: a loss of power at step 5 by broker_loses_power 0 keeping 0

# A loss of a disk permits a loss: acked_not_lost disk_losses=1
COMMITTED; broker_loses_disk 0
  record a: acknowledged at step 4 by leader_handles_fetch 0 from 1
    removed from broker 0 at step 5 by broker_loses_disk 0
    lost at step 5 by broker_loses_disk 0
  permitted: a loss of a disk at step 5 by broker_loses_disk 0

# Weak acks permit a loss, too: acked_not_lost disk_losses=1 acks=1
producer_appends at 0; broker_loses_disk 0
  record a: acknowledged at step 1 by producer_appends at 0
    removed from broker 0 at step 2 by broker_loses_disk 0
    lost at step 2 by broker_loses_disk 0
  permitted: acks=1 does not wait for the ISR; a loss of a disk at step 2 by broker_loses_disk 0

# An unused budget permits nothing: acked_not_lost unclean_elections=1 power_losses=1 disk_losses=1
CLASSIC
  ...
  not permitted: acks=all promises it, and no unclean election, loss of power or loss of a disk took place

# Acks do not excuse an incomplete ISR: isr_is_complete acks=1
COMMITTED; CLASSIC[4]
  ...
  not permitted: no unclean election, loss of power or loss of a disk took place

# A resent request excuses no loss: acked_not_lost unclean_elections=1 min_insync_replicas=1 acks=1 retries=1
answer_is_lost at 0; producer_retries a at 0; broker_crashes 0; controller_elects_unclean 2
  ...
  permitted: acks=1 does not wait for the ISR; an unclean election at step 4 by controller_elects_unclean 2

# The leader remembers what it knew two epochs ago: 2.1 isr_is_complete elections=3 preferred_elections=1
MISSED_DEMOTION
  record a: exposed to readers at step 7 by broker_becomes_leader 0 in epoch 2
    the leader relied on broker 2, which it knew to have it since step 4 by leader_handles_fetch 0 from 2
    removed from broker 2 at step 10 by follower_reconciles 2 with 1
    missing from the ISR at step 10 by follower_reconciles 2 with 1
  not permitted: no unclean election, loss of power or loss of a disk took place

# What the leader learns after the promise does not count: 2.0 isr_is_complete elections=3 preferred_elections=1
MISSED_DEMOTION[:7]; restart_of 0; leader_handles_fetch 0 from 2; MISSED_DEMOTION[7:]
  record a: exposed to readers at step 7 by broker_becomes_leader 0 in epoch 2
    the leader relied on broker 2, which it knew to have it since step 4 by leader_handles_fetch 0 from 2
    removed ...

# The leader forgot the follower that fetches last: isr_is_complete WHOLE
COMMITTED; restart_of 0; copy_to 2; leader_handles_fetch 0 from 2; leader_handles_fetch 0 from 1
broker_bounces 1 checkpoint 0
  record a: ...
    the leader relied on broker 2, which it knew to have it since step 9 by leader_handles_fetch 0 from 2
    removed ...

# A broker that no longer leads relies on nobody: isr_is_complete WHOLE
COMMITTED; election_of 1 1; broker_becomes_follower 2 in epoch 1; replicate_to 2 1; broker_bounces 2 checkpoint 0
  record a: exposed to readers at step 10 by leader_handles_fetch 1 from 2
    removed ...

# A follower that was dropped from the ISR is not relied on: isr_is_complete WHOLE
producer_appends at 0; replicate_to 2; leader_shrinks_isr 0 by {2}; replicate_to 1; broker_bounces 1 checkpoint 0
  record a: exposed to readers at step 8 by leader_handles_fetch 0 from 1
    removed ...

# The missing commit marker: 0.11 isr_is_complete transactions=1
WITHOUT_MARKER
  the commit marker: exposed to readers at step 11 by leader_handles_fetch 0 from 1
    never on broker 2, which joined the ISR at step 14 by leader_handles_fetch 0 from 2
  ...

# The missing commit marker of one of two transactions: 0.11 isr_is_complete transactions=2
WITHOUT_MARKER
  the commit marker of transaction 0: exposed to readers at step 11 by leader_handles_fetch 0 from 1
    never on broker 2, which joined the ISR at step 14 by leader_handles_fetch 0 from 2
  ...

# Committed entries that differ: FAST committed_agrees
FAST_FAIL_OVER
  offset 1: brokers 0 and 1 differ, below both their high watermarks
    broker 0 has b0: appended at step 1 by producer_appends at 0, below its high watermark since step 4 by
        broker_becomes_leader 0 in epoch 2
    broker 1 has d1: appended at step 7 by producer_appends at 1, below its high watermark since step 11 by
        follower_applies_response 1 from 0
  not permitted: no unclean election, loss of power or loss of a disk took place

# The leader comes back without its log, still in epoch 0: log_matching disk_losses=1
COMMITTED[:3]; broker_loses_disk 0; broker_restarts 0 checkpoint 0; producer_appends at 0
  offset 0: brokers 0 and 1 have different entries of epoch 0
    broker 0 has b0: appended at step 6 by producer_appends at 0
    broker 1 has a0: appended at step 1 by producer_appends at 0, copied at step 3 by follower_applies_response 1 from 0
  permitted: a loss of a disk at step 4 by broker_loses_disk 0

# Another record at a read offset: 0.11 consistent_read
READ_TWICE
  offset 0: broker 2 shows record b, where record a was read first
    b1: appended at step 10 by producer_appends at 2
    a0: appended at step 1 by producer_appends at 0, read at step 4 by leader_handles_fetch 0 from 1
  not permitted: no unclean election, loss of power or loss of a disk took place

# Another record at an offset that was read by read_committed: 0.11 consistent_read transactions=1 isolation_level=1
READ_TWICE
  offset 0: broker 2 shows record b, where record a was read first
    b1: appended at step 10 by producer_appends at 2
    a0: appended at step 1 by producer_appends at 0, read at step 4 by leader_handles_fetch 0 from 1
  not permitted: no unclean election, loss of power or loss of a disk took place

# A zombie has a0 at this offset, but a1 was read: 2.1 consistent_read WHOLE retries=1 disk_losses=1
producer_appends at 0; SENT_AGAIN[3:]; follow_on 2 1 1; replicate_to 2 1; broker_loses_disk 1
broker_restarts 1 checkpoint 0; producer_appends at 1; leader_shrinks_isr 1 by {2}
  offset 0: broker 1 shows record b, where record a was read first
    b1: appended at step 12 by producer_appends at 1
    a1: first sent at step 1 by producer_appends at 0, appended at step 4 by producer_retries a at 1, read at step 9 by
        leader_handles_fetch 1 from 2
  ...

# A record that was there from the start: consistent_read disk_losses=1 common_records=1
broker_loses_disk 0; broker_restarts 0 checkpoint 0; producer_appends at 0; leader_shrinks_isr 0 by {1}
  offset 0: broker 0 shows record b, where record a was read first
    b0: appended at step 3 by producer_appends at 0
    a0: there from the start, read from the start
  permitted: a loss of a disk at step 1 by broker_loses_disk 0

# A marker where another broker has a record: FAST log_matching transactions=1
FAST_FAIL_OVER[:4]; producer_appends_in_transaction at 0 in 0; coordinator_aborts 0; FAST_FAIL_OVER[5]
leader_appends_marker of 0 at 1; FAST_FAIL_OVER[7:]
  offset 1: brokers 0 and 1 differ, though both have an entry of epoch 2 at offset 2
    broker 0 has b0: appended at step 1 by producer_appends at 0
    broker 1 has A1: appended at step 8 by leader_appends_marker of 0 at 1
  not permitted: no unclean election, loss of power or loss of a disk took place

# A duplicated record: 2.1 no_duplicates WHOLE retries=1
SENT_AGAIN
  broker 1, the controller's leader, holds record a twice
    a0 at offset 0: appended at step 1 by producer_appends at 0, copied at step 3 by follower_applies_response 1 from 0
    a1 at offset 1: first sent at step 1 by producer_appends at 0, appended at step 6 by producer_retries a at 1
  permitted: a request sent again without idempotence at step 6 by producer_retries a at 1

# A record appended again at the same offset: no_duplicates power_losses=1 retries=2
producer_appends at 0; broker_loses_power 0 keeping 0; broker_restarts 0 checkpoint 0
producer_retries a at 0; producer_retries a at 0
  broker 0, the controller's leader, holds record a twice
    a0 at offset 0: first sent at step 1 by producer_appends at 0, appended at step 4 by producer_retries a at 0
    a0 at offset 1: first sent at step 1 by producer_appends at 0, appended at step 5 by producer_retries a at 0
  permitted: a request sent again without idempotence at step 4 by producer_retries a at 0; a request sent again without
      idempotence at step 5 by producer_retries a at 0; a loss of power at step 2 by broker_loses_power 0 keeping 0

# A record that was refused at first: 0.11 order_preserved WHOLE retries=1
leader_shrinks_isr 0 by {1,2}; producer_is_refused at 0; leader_handles_fetch 0 from 1; producer_appends at 0
producer_retries a at 0
  broker 0, the controller's leader, holds record a behind record b, which was sent later
    b0 at offset 0: appended at step 4 by producer_appends at 0
    a0 at offset 1: first sent at step 2 by producer_is_refused at 0, appended at step 5 by producer_retries a at 0
  permitted: a request sent again without idempotence at step 5 by producer_retries a at 0

# A high watermark above the log end: 2.1 offsets_ordered crashes=2 unclean_elections=1
COMMITTED; leader_answers_parked_fetch 0 to 1; follower_applies_response 1 from 0; broker_crashes 0; broker_crashes 1
controller_elects_unclean 2; broker_becomes_leader 2 in epoch 1; broker_restarts 1 checkpoint 1
follower_reconciles 1 with 2
  broker 1: high watermark 1 is above log end offset 0
    high watermark 1 since step 6 by follower_applies_response 1 from 0
    log end offset 0 since step 12 by follower_reconciles 1 with 2
  permitted: an unclean election at step 9 by controller_elects_unclean 2

# A high watermark that passes a member of the maximal ISR: 3.7 high_watermark_within_maximal_isr WHOLE
STALE_RECORD[:10]; broker_applies_metadata 0 of partition epoch 2
  broker 0: high watermark 1 is above log end offset 0 of broker 2 in its maximal ISR
    high watermark 1 since step 10 by broker_applies_metadata 0 of partition epoch 1
    the leader did not wait for broker 2: it proposed at step 7 by leader_handles_fetch 0 from 2 that broker 2 joins the
        ISR
    the leader dropped that change at step 10 by broker_applies_metadata 0 of partition epoch 1: it knew partition epoch
        1 already (EQUAL_PARTITION_EPOCH_REPLACES)
    log end offset 0 from the start
  not permitted: no unclean election, loss of power or loss of a disk took place

# A member of the maximal ISR that lost its log: 4.1 high_watermark_within_maximal_isr power_losses=1
COMMITTED; broker_loses_power 1 keeping 0; controller_fences_broker 1; broker_restarts 1 checkpoint 0
  broker 0: high watermark 1 is above log end offset 0 of broker 1 in its maximal ISR
    high watermark 1 since step 4 by leader_handles_fetch 0 from 1
    log end offset 0 since step 5 by broker_loses_power 1 keeping 0
  permitted: a loss of power at step 5 by broker_loses_power 1 keeping 0

# A pending expansion that does not count: 3.7 isr_is_complete MAXIMAL_ISR=COMMITTED
PENDING
  record a: ...
    the leader did not wait for broker 2: it proposed at step 3 by leader_handles_fetch 0 from 2 that broker 2 joins the
        ISR
    that change was pending, so broker 2 could be in the controller's ISR (MAXIMAL_ISR)
    never on broker 2, which joined the ISR at step 6 by controller_handles_alter_partition of 0
  ...

# A pending shrink that counts at once: 3.7 isr_is_complete MAXIMAL_ISR=PROPOSED
producer_appends at 0; leader_shrinks_isr 0 by {1}
  record a: exposed to readers at step 2 by leader_shrinks_isr 0 by {1}
    the leader did not wait for broker 1: it proposed at step 2 by leader_shrinks_isr 0 by {1} that broker 1 leaves the
        ISR
    that change was pending, so broker 1 could be in the controller's ISR (MAXIMAL_ISR)
    never on broker 1, which was in the ISR from the start
    missing from the ISR at step 2 by leader_shrinks_isr 0 by {1}
  not permitted: no unclean election, loss of power or loss of a disk took place

# While a follower is to join, the high watermark waits for both ISRs: 3.7 isr_is_complete power_losses=1
producer_appends at 0; leader_handles_fetch 0 from 1; leader_handles_fetch 0 from 2; follower_applies_response 1 from 0
follower_applies_response 2 from 0; leader_handles_fetch 0 from 2; leader_handles_fetch 0 from 1
broker_loses_power 1 keeping 0; broker_restarts 1 checkpoint 0
  record a: exposed to readers at step 7 by leader_handles_fetch 0 from 1
    the leader relied on broker 2, which it knew to have it since step 6 by leader_handles_fetch 0 from 2
    removed from broker 1 at step 8 by broker_loses_power 1 keeping 0
    missing from the ISR at step 9 by broker_restarts 1 checkpoint 0
  permitted: a loss of power at step 8 by broker_loses_power 1 keeping 0

# A leader that counts on an earlier process: 3.7 isr_is_complete WHOLE power_losses=1
COMMITTED; broker_loses_power 1 keeping 0; broker_restarts 1 checkpoint 0; replicate_to 2
  record a: exposed to readers at step 9 by leader_handles_fetch 0 from 2
    the leader relied on broker 1, which it knew to have it since step 4 by leader_handles_fetch 0 from 1, from a
        process that ended at step 5 by broker_loses_power 1 keeping 0
  ...

# The last known leader is elected: 4.1 acked_not_lost UNCLEAN
LAST_KNOWN_LEADER
  record a: acknowledged at step 4 by leader_handles_fetch 0 from 1
    removed from broker 0 at step 6 by broker_loses_power 0 keeping 0
    lost at step 11 by broker_restarts 1 checkpoint 0, electing broker 0 as the last known leader, since ISR and ELR are
        empty
  permitted: a loss of power at step 6 by broker_loses_power 0 keeping 0

# Before ELR, the last member of the ISR is elected, whatever became of its log: 3.7 acked_not_lost UNCLEAN
producer_appends at 0; leader_handles_fetch 0 from 1; leader_shrinks_isr 0 by {1}; follower_applies_response 1 from 0
leader_handles_fetch 0 from 1; broker_loses_power 0 keeping 0; controller_handles_alter_partition of 0
controller_fences_last_leader 0; broker_restarts 0 checkpoint 0; controller_unfences_broker 0
  ...
    lost at step 10 by controller_unfences_broker 0, electing broker 0 as the last member of the ISR
  permitted: ...

# KIP-966 counts failures: 4.1 tolerates_claimed_failures VIOLATED UNCLEAN
LAST_KNOWN_LEADER
  record a: acknowledged at step 4 by leader_handles_fetch 0 from 1
  ...
  not permitted: KIP-966 claims to tolerate 1; there were: a loss of power at step 6 by broker_loses_power 0 keeping 0

# Unclean shutdowns count: 4.1 tolerates_claimed_failures PERMITTED claimed_failures=UNCLEAN_SHUTDOWN UNCLEAN
LAST_KNOWN_LEADER
  ...
  permitted: KIP-966 claims to tolerate 1; there were: a loss of power at step 6 by broker_loses_power 0 keeping 0; an
      unclean shutdown at step 5 by broker_crashes 1

# KIP-966 claims nothing for weak acks: 4.1 tolerates_claimed_failures acks=1 UNCLEAN
LAST_KNOWN_LEADER
  ...
  permitted: acks=1 does not wait for the ISR; a loss of power at step 6 by broker_loses_power 0 keeping 0
"""
"""`...` stands for the end of a line, or for any lines."""

PENDING = (
    "producer_appends at 0; leader_handles_fetch 0 from 1; leader_handles_fetch 0 from 2;"
    " follower_applies_response 1 from 0; leader_handles_fetch 0 from 1; controller_handles_alter_partition of 0"
)


@pytest.mark.parametrize("story", stories(LINES.replace("PENDING", PENDING)), ids=title_of)
def test_lines_about_a_failure(story: Story) -> None:
    ((_, expected),) = story.shown
    actual = fitted(lines(story.trace()), 118)
    if "..." in expected:
        at, left = expected.index("..."), len(expected) - expected.index("...") - 1
        actual[at : len(actual) - left] = ["..."]
    if expected[-1].endswith(" ..."):  # about the first lines
        del actual[len(expected) :]
    for number, line in enumerate(expected):
        if line.endswith(" ..."):
            start = line.removesuffix("...")
            assert actual[number].startswith(start)
            actual[number] = line
    assert actual == [*expected]


# --------------------------------------------------------------------------------------------------------------- losses

TRUNCATED = "COMMITTED; CLASSIC[4]"
START_OVER = (
    "producer_appends at 0; COMMITTED; leader_deletes_records at 0 before 1; restart_of 0;"
    " follower_starts_over 2 at 0; leader_handles_fetch 0 from 2"
)
LOSSES: Mapping[str, tuple[str, str, Loss | None]] = {
    "the record is removed one step before it is lost": (
        "CLASSIC",
        "acked_not_lost",
        Loss(0, "acknowledged", 4, 1, 5, None, "lost", 6),
    ),
    "the last removed copy counts": (
        "COMMITTED; CLASSIC[4]; copy_to 1; CLASSIC[4:]",
        "acked_not_lost bounces=2",
        Loss(0, "acknowledged", 4, 1, 8, None, "lost", 9),
    ),
    "the ISR is incomplete as soon as a member truncates": (
        TRUNCATED,
        "isr_is_complete",
        Loss(0, "exposed to readers", 4, 1, 5, None, "missing from the ISR", 5),
    ),
    "a deleted record is not the lost one": (
        f"{START_OVER}; controller_fails_over to 2",
        "0.11 acked_not_lost delete_records=1",
        Loss(1, "acknowledged", 5, 2, None, 10, "lost", 11),
    ),
    "a deleted record is not the missing one": (
        START_OVER,
        "0.11 isr_is_complete delete_records=1",
        Loss(1, "exposed to readers", 5, 2, None, 10, "missing from the ISR", 10),
    ),
    "metadata that the leader knew dropped the change": (
        "STALE_RECORD",
        "3.7 acked_not_lost WHOLE",
        Loss(0, "acknowledged", 10, 2, None, 9, "lost", 12, PendingChange(0, 2, 7, 10, is_joining=True)),
    ),
    "nothing is lost": ("COMMITTED", "acked_not_lost HOLDS", None),
}


@pytest.mark.parametrize("case", LOSSES)
def test_who_lost_a_record_and_when(case: str) -> None:
    steps, settings, loss = LOSSES[case]
    assert find_loss(history(steps, settings)) == loss


def test_other_models_and_traces_without_a_failure_have_no_loss() -> None:
    assert find_loss(weak_isr()) is None
    assert lines(history("producer_appends at 0", "log_matching HOLDS")) == []


def test_a_property_with_other_variables_is_not_explained() -> None:
    for trace in (history("CLASSIC", "acked_not_lost"), history(TRUNCATED, "isr_is_complete")):
        assert loss_in(Timeline(trace), {"somebody": 1}) is None
    parted = history("FAST_FAIL_OVER", "FAST log_matching")
    for name in EXPLANATIONS:
        assert contradiction(Timeline(replace(parted, property_name=name)), {"somebody": 1}) == []
    for name in ("leader_in_isr", "offsets_ordered"):
        assert contradiction(Timeline(replace(parted, property_name=name)), {"r": 1}) == []


def test_a_record_at_an_unread_offset() -> None:
    trace = history("COMMITTED", "consistent_read HOLDS")
    cells = list(trace.states[-1])
    cells[trace.instance.layouts["exposed_record"].offset] = NONE
    unnoted = replace(trace, states=(*trace.states[:-1], tuple(cells)), verdict=VIOLATED)
    assert lines(unnoted)[:2] == [
        "offset 0: broker 0 shows record a, where nothing was read first",
        "  a0: appended at step 1 by producer_appends at 0",
    ]


def test_an_unpermitted_failure_is_reported_as_such() -> None:
    duplicated = replace(history("SENT_AGAIN", "2.1 no_duplicates WHOLE retries=1"), verdict=VIOLATED)
    assert lines(duplicated)[-1] == (
        "not permitted: no request sent again, unclean election, loss of power or loss of a disk took place"
    )


# --------------------------------------------------------------------------------- pending changes of the ISR since 2.8


def test_the_dropped_change_is_part_of_the_cause_and_stays_in_a_slice() -> None:
    extra = "leader_handles_fetch 0 from 2; response_is_lost to 2 from 0"
    trace = history(f"STALE_RECORD[0]; {extra}; STALE_RECORD[1:]", "3.7 acked_not_lost WHOLE")
    assert cause_of(trace).happened == (
        "never there: let into the ISR by controller_handles_alter_partition",
        "pending change dropped by broker_applies_metadata",
        "lost by controller_fences_leader",
    )
    sliced = slice_of(trace, "check kafka")
    assert [sliced.trace.instance.spell_step(step) for step in sliced.trace.steps] == [*STALE_RECORD]
    assert sliced.left_out == (2, 3)


def test_a_change_that_is_not_counted_is_part_of_the_cause() -> None:
    trace = history(PENDING, "3.7 isr_is_complete MAXIMAL_ISR=COMMITTED")
    assert cause_of(trace).happened[1] == "pending change not counted"


EXPANSION = "leader_handles_fetch 0 from 2"
NEWER = "broker_applies_metadata 0 of partition epoch 1"


@pytest.mark.parametrize(
    ("steps", "settings", "broker", "promised"),
    [
        (PENDING, "3.7", 2, 5),  # it counts
        (PENDING, "3.7", 1, 5),
        (PENDING, "3.7", 2, 2),  # it is not proposed yet
        ("COMMITTED", "2.4", 2, 4),  # up to 2.4 no change is pending
        ("STALE_RECORD[:6]", "3.7 WHOLE", 2, 3),  # it is pending, and counts
        ("STALE_RECORD[:6]", "3.7 WHOLE", 2, 6),  # it has been made
        (f"STALE_RECORD[:5]; {NEWER}", "3.7 WHOLE", 2, 6),
    ],
)
def test_a_change_that_counts_or_is_made_is_no_cause(steps: str, settings: str, broker: int, promised: int) -> None:
    assert uncounted_change(Timeline(history(steps, settings)), 0, broker, promised) is None


@pytest.mark.parametrize(
    ("steps", "settings", "change", "reason"),
    [
        (
            "INELIGIBLE; leader_hears_answer 0",
            "3.7 WHOLE fencings=1",
            PendingChange(0, 2, 5, 8, is_joining=True),
            "step 8 by leader_hears_answer 0: the controller refused it (INELIGIBLE_REPLICA)",
        ),
        (
            f"{EXPANSION}; controller_fences_broker 1; {NEWER}",
            "3.7 fencings=1",
            PendingChange(0, 2, 1, 3, is_joining=True),
            f"step 3 by {NEWER}: partition epoch 1 is newer",
        ),
        (
            f"{EXPANSION}; leader_asks_to_shut_down 0 and the controller elects 1; {NEWER}",
            "3.7 shutdowns=1",
            PendingChange(0, 2, 1, 3, is_joining=True),
            f"step 3 by {NEWER}: partition epoch 1 is newer",
        ),
        (
            f"{EXPANSION}; broker_crashes 0",
            "3.7",
            PendingChange(0, 2, 1, 2, is_joining=True),
            "step 2 by broker_crashes 0",
        ),
    ],
)
def test_why_a_leader_drops_a_change(steps: str, settings: str, change: PendingChange, reason: str) -> None:
    timeline = Timeline(history(steps, settings))
    assert uncounted_change(timeline, 0, 2, len(timeline.states) - 1) == change
    assert about_change(timeline, change)[1] == f"  the leader dropped that change at {reason}"


def test_what_a_leader_knows_of_an_earlier_process() -> None:
    timeline = Timeline(history("COMMITTED; restart_of 1; leader_handles_fetch 0 from 1", "3.7 WHOLE"))
    assert [earlier_process(timeline, 0, 1, promised) for promised in (4, 6, 7)] == [
        "",
        ", from a process that ended at step 5 by broker_crashes 1",
        "",
    ]
    assert earlier_process(Timeline(history("COMMITTED", "2.8")), 0, 1, 4) == ""


# ------------------------------------------------------------------------------------------------------------ elections


def test_a_member_of_the_elr_is_elected() -> None:
    steps = "controller_fences_broker 1; controller_unfences_broker 1; controller_fences_leader 0 and elects 1"
    timeline = Timeline(history(steps, "4.1 fencings=2"))
    assert [election(timeline, 1, step) for step in range(4)] == ["", "", "", ", electing broker 1 from the ELR"]
    assert [election(timeline, 0, step) for step in range(4)] == [""] * 4


@pytest.mark.parametrize(
    ("steps", "settings", "broker"),
    [
        ("controller_elects_preferred 1", "3.7 preferred_elections=1", 1),
        ("controller_fails_over to 1", "2.4", 1),
        ("LAST_KNOWN_LEADER[:10]; controller_elects_unclean 0", "4.1 UNCLEAN unclean_elections=1", 0),
    ],
)
def test_an_election_among_several_and_an_unclean_one_are_not_explained(steps: str, settings: str, broker: int) -> None:
    timeline = Timeline(history(steps, settings))
    assert {election(timeline, broker, step) for step in (0, len(timeline.states) - 1)} == {""}

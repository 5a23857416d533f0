"""Following rejects every seeded bug of the cluster, except the bugs that observations cannot show."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest

from conformance.tests.sampling import exhaustive, sampled
from conformance.tests.support import follow
from conformance.tests.support.follow import first_rejection, only_follows, table
from isrcheck.conformance.cluster.configuration.bugs import Bug
from isrcheck.conformance.follow.recorder.plan import Plan
from isrcheck.conformance.unseen_bugs import ALLOWED_IN_RUNS, NEVER_IN_RUNS, OF_ADMINISTRATORS

pytestmark = pytest.mark.sampled

CAUGHT_ROWS = """\
HW_OFF_BY_ONE 2.1 0 9 | producer_appends at 0: it leads to pending[1] = 0, but null was observed
ACK_BEFORE_ISR 2.1 0 9 | producer_appends at 0: it leads to pending[1] = 0, but null was observed
TRUNCATION_TO_WRONG_EPOCH_END 2.1 8 357
  follower_reconciles 0 with 1: it leads to log_record[0][1] = null, but 2 was observed
# Before 0.11 a follower truncates to its high watermark, and fetches from there; later it rarely has to go back.
REMOTE_OFFSET_IS_MAXIMUM 0.10 5 37
  leader_handles_fetch 0 from 2: it leads to remote_log_end_offset[0][2] = 1, but 4 was observed
EXPANSION_WITHOUT_EPOCH_START 2.1 5 301
  leader_handles_fetch 0 from 2: it leads to controller_isr[2] = false, but true was observed
EXPANSION_WITHOUT_HIGH_WATERMARK 2.1 5 24
  leader_handles_fetch 1 from 0: it leads to controller_isr[0] = false, but true was observed
RESPONSE_HW_AFTER_FETCH 2.1 2 18
  leader_handles_fetch 0 from 1: it leads to response_high_watermark[1][0] = 0, but 1 was observed
EPOCH_CACHE_NOT_TRUNCATED 2.1 9 89
  follower_reconciles 0 with 1: it leads to epoch_cache[0][2] = null, but 4 was observed
STALE_FETCHES_COUNTED 2.1 1 51
  broker_becomes_leader 2 in epoch 3: it leads to fetch[0][2] = "NONE", but "PARKED" was observed
HW_NOT_RECOMPUTED_AFTER_SHRINK 2.1 5 19 | leader_shrinks_isr 1 by {0}: it leads to pending[1] = null, but 1 was observed
MIN_ISR_NOT_CHECKED 2.1 3 202 | leader_shrinks_isr 0 by {2}: it leads to acknowledged[10] = false, but true was observed
FETCHER_NOT_CLEARED 2.1 0 35
  broker_becomes_follower 2 in epoch 1: it leads to fetch[2][0] = "NONE", but "ANSWERED" was observed
CHECKPOINT_AHEAD 2.1 8 57
  broker_restarts 1 checkpoint 7: models/kafka/actions/faults.py: its guard `checkpoint <=
  s.high_watermark[broker]` is false (s.high_watermark[1] = 6)
LEADER_TRUNCATES_ON_ELECTION 2.1 0 16
  broker_restarts 0 checkpoint 1: it leads to log_record[0][1] = 1, but null was observed
REMOTE_OFFSETS_NOT_RESET 2.1 5 38
  broker_becomes_leader 0 in epoch 2: it leads to remote_log_end_offset[0][1] = null, but 1 was observed
PARKED_FETCH_UPDATES 2.1 0 10
  leader_answers_parked_fetch 0 to 1: it leads to remote_log_end_offset[0][1] = 1, but 2 was observed
ISR_WRITE_UNCONDITIONAL 2.1 11 42
  leader_shrinks_isr 0 by {1,2}: models/kafka/actions/leader.py: its guard `is_controllers_leader(s, leader)` is
  false (s.leader[0] = 0, s.controller_leader = 2)
STALE_METADATA_APPLIED 2.1 1 53
  broker_becomes_follower 2 in epoch 2: models/kafka/actions/zookeeper.py: its guard `epoch > s.leader_epoch[broker]`
  is false (s.leader_epoch[2] = 3)
DUPLICATE_APPENDED 2.1 4 14 | producer_resends c at 0: it leads to log_record[0][3] = null, but 2 was observed
DUPLICATE_WINDOW_OF_ONE 2.1 2 23
  producer_begins_new_epoch after the answer of 0 to c: models/kafka/actions/clients.py: its
  guard `is_refused(s, leader, record)` is false
OUT_OF_ORDER_ACCEPTED 2.1 3 29
  producer_appends at 0: models/kafka/actions/clients.py: its guard `may_send(s, leader)` is false
SNAPSHOT_NOT_TRUNCATED 2.1 5 61 | follower_reconciles 2 with 0: it leads to replayed_from[2] = 0, but 4 was observed
PRODUCERS_NOT_REPLICATED 2.1 1 65
  producer_begins_new_epoch after the answer of 1 to f: models/kafka/actions/clients.py: its
  guard `is_refused(s, leader, record)` is false
EPOCH_NOT_RENUMBERED 2.1 5 16
  producer_begins_new_epoch after the answer of 0 to b: models/kafka/actions/clients.py: its
  guard `is_refused(s, leader, record)` is false
FOLLOWER_SHOWS_LOG_END 2.4 1 15
  consumer_fetches 0 at 1: models/kafka/actions/clients.py: its guard `s.position[consumer] <
  readable_end_offset(s, broker)` is false
# From 2.4 on, records that a consumer has read are lost only by faults that a run does not have. Leaders of 0.10
# answer no question about epochs, so that a consumer that asks is always reset.
POSITION_NOT_VALIDATED 0.10 5 12
  consumer_follows_new_leader 0 of 1: it leads to consumed_epoch[0] = null, but 0 was observed
ISR_NOT_MAXIMAL 2.8 8 7 | leader_handles_fetch 0 from 2: it leads to pending[2] = 0, but null was observed
STALE_ALTER_ISR_ANSWER_APPLIED 2.8 5 60 | leader_hears_answer 2: it leads to isr[2][1] = false, but true was observed
SECOND_ALTER_ISR_SENT 2.8 5 59
  leader_handles_fetch 2 from 1: it leads to proposed_isr[2][1] = false, but true was observed
DIVERGING_FETCH_COUNTS 2.8 1 11
  leader_handles_fetch 0 from 2: it leads to remote_log_end_offset[0][2] = null, but 1 was observed
DIVERGENCE_NOT_SEEN 2.8 1 11
  leader_handles_fetch 0 from 2: it leads to remote_log_end_offset[0][2] = null, but 1 was observed
TRUNCATES_TO_ANSWERED_OFFSET 2.8 20 491
  follower_truncates 2 from 1: it leads to log_record[2][2] = null, but 3 was observed
FENCED_BROKER_ELIGIBLE 3.3 4 119
  controller_handles_alter_partition of 0: it leads to controller_isr[2] = false, but true was observed
PARTITION_EPOCH_NOT_COMPARED 3.7 5 29 | leader_hears_answer 1: models/kafka/actions/alter_partition.py: its guard
INELIGIBLE_CHANGE_KEPT 3.3 4 213 | leader_hears_answer 0: it leads to proposed_isr[0][0] = false, but true was observed
HIGH_WATERMARK_GATE_MISSING 3.7 2 25
  broker_applies_metadata 2 of partition epoch 2: it leads to high_watermark[2] = 1, but 2 was observed
UNCLEAN_BROKER_KEEPS_ELIGIBILITY 4.1 2 20
  broker_restarts 2 checkpoint 0: it leads to metadata_leader[5] = 0, but null was observed
LAST_KNOWN_LEADER_TOO_EARLY 4.1 15 34
  controller_unfences_broker 1: it leads to controller_leader = null, but 1 was observed
"""
CAUGHT = {
    Bug[name]: (protocol, int(seed), int(event), why) for (name, protocol, seed, event), why in table(CAUGHT_ROWS)
}
"""Bug -> the protocol and the seed of a run that shows it, the event that is rejected, and why."""

IDEMPOTENT = {"enable_idempotence": "on"}
NEW_EPOCHS = IDEMPOTENT | {"CLIENT_BUMPS_EPOCH": "on", "delete_records": "4"}

GIVEN = {
    Bug.DUPLICATE_APPENDED: IDEMPOTENT,
    Bug.DUPLICATE_WINDOW_OF_ONE: IDEMPOTENT,
    Bug.OUT_OF_ORDER_ACCEPTED: IDEMPOTENT,
    Bug.SNAPSHOT_NOT_TRUNCATED: IDEMPOTENT,
    Bug.PRODUCERS_NOT_REPLICATED: IDEMPOTENT,
    Bug.EPOCH_NOT_RENUMBERED: NEW_EPOCHS,
    Bug.ZOMBIE_NOT_FENCED: NEW_EPOCHS,
    Bug.FOLLOWER_SHOWS_LOG_END: {"consumers": "1", "follower_fetching": "on"},
    Bug.POSITION_NOT_VALIDATED: {"consumers": "1", "POSITION_CHECK": "END_OFFSET"},
    Bug.LAG_BY_HIGH_WATERMARK: {"consumers": "1", "isolation_level": "read_committed"},
    Bug.OPEN_TRANSACTION_READ: {"consumers": "1", "isolation_level": "read_committed"},
    Bug.ABORT_NOT_INDEXED: {"consumers": "1", "isolation_level": "read_committed"},
}
"""What a run needs for an occasion to make the mistake, or comes closest to one."""

WITHOUT_OCCASION = [bug for bug in NEVER_IN_RUNS if bug not in OF_ADMINISTRATORS]
ALLOWED = [bug for bug in ALLOWED_IN_RUNS if isinstance(bug, Bug)]

WITH_KRAFT = (Bug.BROKER_EPOCH_NOT_COMPARED, Bug.REMOVAL_KEEPS_LEADER_EPOCH, Bug.OLD_RECORD_APPLIED)
"""Bugs of clusters with KRaft for which runs have hardly an occasion, or none: reassignments are not recorded, and a
process that ends has no fetch on its way. Walks and a history show them (replay/test_bugs.py)."""


@cache
def recorded(protocol: str, seed: int, events: int, bug: Bug, *, is_seeded: bool) -> str:
    """The log of a run with what the bug needs, with or without the bug."""
    name = bug.name.lower()
    plan = Plan(protocol, seed, events, given=GIVEN.get(bug, {}), bug=name if is_seeded else None)
    # The name of the bug is noted in the header, where nothing reads it.
    return follow.recorded(plan).replace(f', "note": "bug: {name}"', "")


def test_every_bug_is_rejected_or_has_a_reason() -> None:
    spoken = [*CAUGHT, *NEVER_IN_RUNS, *ALLOWED, *WITH_KRAFT]
    assert sorted(spoken, key=lambda bug: bug.name) == sorted(Bug, key=lambda bug: bug.name)
    assert (len(CAUGHT), len(NEVER_IN_RUNS), len(ALLOWED)) == (38, 13, 1)


@pytest.mark.parametrize(
    "bug",
    sampled(CAUGHT, lambda bug: bug in list(CAUGHT)[::4], last=lambda bug: bug in list(CAUGHT)[1::4]),
    ids=lambda bug: bug.name,
)
def test_a_run_with_a_bug_is_rejected(tmp_path: Path, bug: Bug) -> None:
    protocol, seed, event, why = CAUGHT[bug]
    rejected, reason = first_rejection(tmp_path, recorded(protocol, seed, event, bug, is_seeded=True))
    assert (rejected, reason[: len(why)]) == (event, why)
    # It is the bug, and not the run: without the bug, the run follows.
    only_follows(tmp_path, recorded(protocol, seed, event, bug, is_seeded=False), is_complete=False)


@pytest.mark.parametrize("protocol", [exhaustive("2.0"), "2.1"])
@pytest.mark.parametrize(
    "bug", sampled(WITHOUT_OCCASION, lambda bug: bug in WITHOUT_OCCASION[::3]), ids=lambda bug: bug.name
)
def test_a_bug_without_an_opportunity_does_not_change_the_log(bug: Bug, protocol: str) -> None:
    with_it, without = (recorded(protocol, 1, 300, bug, is_seeded=seeded) for seeded in (True, False))
    assert with_it == without


@pytest.mark.parametrize("bug", ALLOWED, ids=lambda bug: bug.name)
def test_a_bug_that_the_model_allows_is_followed(tmp_path: Path, bug: Bug) -> None:
    text = recorded("2.1", 1, 300, bug, is_seeded=True)
    assert text != recorded("2.1", 1, 300, bug, is_seeded=False)
    only_follows(tmp_path, text, is_complete=False)
    assert '"leader_shrinks_isr"' not in text

"""Every seeded bug is detected by a short history, which ends otherwise without the bug."""

from __future__ import annotations

import re

import pytest

from conformance.tests.support.histories import cluster_of, play, values_of
from isrcheck.conformance.cluster.cluster import Cluster
from isrcheck.conformance.cluster.configuration.bugs import Bug
from isrcheck.conformance.cluster.configuration.settings import ClusterError

SEEN = """\
hw_off_by_one: 2.1 replicas=2: append a 0 -> high_watermark 0 = 0 | 1
ack_before_isr: 2.1 replicas=2: append a 0 -> acknowledged = - | a
truncation_to_wrong_epoch_end: 2.1 replicas=2 log=r: append x 0; elect preferred 1; learn 1 0; append y 1;
  reconcile 0 -> log 0 = r | r x
remote_offset_is_maximum: 2.1 replicas=2: append a 0; fetch 1 0; fetch 1 0; lose_disk 1; restart 1; reconcile 1;
  ask 1 0 -> remote_log_end_offsets 0 = 1,0 | 1,1
expansion_without_epoch_start: 2.1 isr=01: append a 0; fetch 1 0; fetch 1 0; bounce 0; ask 2 0
  -> controller isr = 0 1 | 0 1 2
expansion_without_high_watermark: 2.1 replicas=2 isr=0 log=r min_insync_replicas=1 idempotent: append a 0; ask 1 0
  -> controller isr = 0 | 0 1
response_hw_after_fetch: 2.1 replicas=2: append a 0; fetch 1 0; append b 0; fetch 1 0 -> high_watermark 1 = 0 | 1
epoch_cache_not_truncated: 2.1 replicas=2: append x 0; elect preferred 1; learn 1; append y 1; elect preferred 0;
  learn 0 1; do_work 1 0; deliver; apply 1 0 -> log 1; epoch_entries 1 = - / - | - / 1,0
stale_fetches_counted: 2.1: elect preferred 1; elect preferred 0; learn 0; append y 0
  -> answer 1 0 = FENCED_LEADER_EPOCH | NONE
hw_not_recomputed_after_shrink: 2.1 replicas=2 min_insync_replicas=1: append a 0; advance 10001; check_isr 0
  -> high_watermark 0 = 1 | 0
min_isr_not_checked: 2.1 replicas=2 isr=0 log=r: append a 0 -> acknowledged = - | a
fetcher_not_cleared: 2.1: elect preferred 1; learn 2 -> sources 2 = 1 | 0 1
checkpoint_ahead: 2.1 replicas=2: append a 0; checkpoint 0 -> checkpointed_high_watermark 0 = 0 | 1
leader_truncates_on_election: 2.1 replicas=2: append a 0; fetch 1 0; elect fail-over 1; learn 1 -> log 1 = a | -
remote_offsets_not_reset: 2.1 replicas=2: append a 0; fetch 1 0; fetch 1 0; elect preferred 1; learn 0 1;
  elect preferred 0; learn 0 1 -> remote_log_end_offsets 0 = 1,none | 1,1
parked_fetch_updates: 2.1 replicas=2: ask 1 0; append a 0; complete_parked_fetch 0 1
  -> remote_log_end_offsets 0 = 1,0 | 1,1
duplicate_appended: 2.1 replicas=2 idempotent: append a 0; resend 0 0; deliver_requests -> log 0 = a | a a
duplicate_window_of_one: 2.1 replicas=1 min_insync_replicas=1 idempotent: append a 0; append b 0; disconnect 0;
  resend 0 0; deliver_requests; acknowledged -> log 0; last_outcome = a b / NONE | a b / OUT_OF_ORDER_SEQUENCE_NUMBER
out_of_order_accepted: 2.1 replicas=1 min_insync_replicas=1 idempotent: produce a 0; drop; append b 0 -> log 0 = - | b
# the snapshot of offset 1, in which producer 1 has sent the record at offset 0, is wrong
snapshot_not_truncated: 2.1 replicas=2 idempotent: append x 0; roll_segment 0; elect preferred 1; learn 1 0;
  reconcile 0 -> log 0; producers 0 = - / 0,0,- | - / 1,1,1,0,0,no,0
# the second leader lacks a, which was acknowledged: b is out of order there
epoch_not_renumbered: 2.4 CLIENT_BUMPS_EPOCH=on replicas=2 isr=0 min_insync_replicas=1
  unclean_leader_election_enable auto_offset_reset=earliest idempotent:
  append a 0; acknowledged; crash 0; elect unclean 1; learn 1; append b 1; acknowledged; resend 1 1; deliver_requests
  -> log 1 = b | -
follower_shows_log_end: 2.1 replicas=2 follower_fetching: append a 0; fetch 1 0
  -> read 1; consumer known_end_offset = - / 0 | a / 1
lag_by_high_watermark: 2.1 replicas=1 min_insync_replicas=1 idempotent: begin_transaction; append a 0;
  read 0 committed -> consumer known_end_offset = 0 | 1
position_not_validated: 2.4 replicas=2 isr=0 min_insync_replicas=1
  unclean_leader_election_enable auto_offset_reset=earliest idempotent:
  tell_consumer 0; append a 0; read 0; crash 0; elect unclean 1; learn 1; tell_consumer 1; finish_consumer
  -> consumer position = 0 | 1
isr_write_unconditional: 2.1 replicas=2: elect fail-over 1; append a 0; advance 10001; check_isr 0
  -> controller isr = 1 | 0
# broker 2 hears of the second election, and then of the first
stale_metadata_applied: 2.1: elect preferred 1; elect preferred 0; deliver 5; deliver 2
  -> leader_known_to 2 = 0 2 | 1 1
stale_epoch_answer_applied: 2.1 log=r: elect preferred 1; learn 1 2; ask 2 1; crash 0; notice_dead 0; learn 1 2;
  apply 2 1 -> is_truncating 2 = yes | no
open_transaction_read: 2.1 replicas=1 min_insync_replicas=1 idempotent: begin_transaction; append a 0
  -> read 0 committed = - | a
zombie_not_fenced: 2.1 replicas=2: produce_as e0 9 0 0; produce_as e1 9 1 0; produce_as e0 9 0 1
  -> log 0 = e0 e1 | e0 e1 e0
abort_not_indexed: 2.1 replicas=1 min_insync_replicas=1 idempotent: begin_transaction; append a 0;
  end_transaction ABORT; mark 0 -> read 0 committed = - | a
producers_not_replicated: 2.1 replicas=2 min_insync_replicas=1 idempotent: append a 0; fetch 1 0; disconnect 0;
  elect fail-over 1; learn 1; resend 0 1; deliver_requests -> log 1 = a | a a
isr_keeps_dead_follower: 2.1 replicas=2: append a 0; advance 10001; check_isr 0 -> controller isr = 0 | 0 1
isr_not_maximal: 2.8 isr=01: ask 2 0; append a 0; fetch 1 0; fetch 1 0 -> high_watermark 0 = 0 | 1
# the answer says that 2 has joined; but 2 has died, and 0 leads again
stale_alter_isr_answer_applied: 2.8 isr=01: ask 2 0; ask_controller 0; elect preferred 1; elect preferred 0; crash 2;
  notice_dead 2; learn 0; answer_leader 0 -> isr 0 = 0 1 | 0 1 2
second_alter_isr_sent: 2.8 isr=01: ask 2 0; elect preferred 1; elect preferred 0; learn 0; append a 0; advance 10001;
  check_isr 0 -> proposals = 1 | 2
diverging_fetch_counts: 2.8 replicas=2: append x 0; elect preferred 1; learn 1 0; ask 0 1
  -> remote_log_end_offsets 1 = 0,none | 0,1
divergence_not_seen: 2.8 replicas=2 log=r: append x 0; elect preferred 1; learn 1 0; append y 1; fetch 0 1;
  do_work 0 1 -> log 0 = r | r x
# epoch 0 ends at 2 in the leader's log, and at 1 in that of 1, which has written b in epoch 1
truncates_to_answered_offset: 2.8 replicas=2 log=r min_insync_replicas=1 unclean_leader_election_enable: append a 0;
  elect fail-over 1; learn 1; append b 1; crash 1; elect unclean 0; learn 0; restart 1; fetch 1 0; do_work 1 0
  -> log 1 = r | r b
ELR_WITHIN_REPLICAS: 4.3 log=r: reassign 0 -> partition elr = 1 2 | -
UNREGISTERED_LEAVES_ELR: 4.3 log=r: stop 2 1; unregister 1 -> partition elr = 1 | -
MIN_ISR_OF_OWN_REPLICAS: 4.3 log=r replicas_of_partition_0=1: stop 2 1 -> partition elr = - | 1
min_isr_of_all_brokers: 4.3 log=r assignment=0 min_insync_replicas=3: append x 0 -> acknowledged = x | -
new_minimum_keeps_elr: 4.3 log=r: stop 2 1; change_min_insync_replicas 3 -> partition elr = - | 1
CONFIGURATION_BEFORE_TOPICS: 4.3 log=r assignment=01 min_insync_replicas=1: append x 0; change_min_insync_replicas 2;
  fence 1; read_at_once 0 -> acknowledged = x | -
new_minimum_not_read: 4.3 replicas=2 isr=0 min_insync_replicas=1: change_min_insync_replicas 2; read_all; append x 0
  -> acknowledged = - | x
# before anything is copied
reassignment_completes_early: 4.3 log=r assignment=01: reassign 0 2 -> partition replicas = 0 2 1 | 0 2
# in 4.3 the reassignment would be complete
cancel_keeps_isr: 4.1 log=r assignment=01: kill 1; reassign 2 1; replicate 2; cancel_reassignment
  -> controller isr = 0 | 0 2
stranger_elected: 4.3 log=r: reassign 0; kill 0; start 0 -> reassign 0 1 2; controller leader = refused | none / 1
removed_replica_keeps_log: 4.3 log=r: reassign 0 -> log 1 = - | r
# before the leader has read that broker 2 is added
stranger_counted: 4.3 log=r assignment=01: begin_reassignment 0 1 2; read_all 2; ask 2 0
  -> remote_log_end_offsets 0 = 1,1 | 1,1 2,0
DELETED_FOLDER_IS_UNCLEAN: 4.3 log=r: stop 2 1; delete_replica 1; start 1 -> partition elr = 1 | -
"""
"""A bug, or a switch that is off in Kafka: a cluster: a history -> questions = the values without the bug | with it."""

ROWS = re.findall(
    r"^(\w+): (.+?): (.+?) -> (.+?) = (.+?) \| (.+)$",
    re.sub(r"\n  +", " ", re.sub(r"^#.*\n", "", SEEN, flags=re.MULTILINE)),
    flags=re.MULTILINE,
)


@pytest.mark.parametrize(
    ("bug", "cluster", "history", "questions", "right", "wrong"), ROWS, ids=[row[0] for row in ROWS]
)
def test_a_seeded_bug_is_detected(bug: str, cluster: str, history: str, questions: str, right: str, wrong: str) -> None:
    assert values_of(play(cluster_of(cluster), history), questions) == right
    buggy = cluster_of(f"{cluster} {bug}=on") if bug.isupper() else cluster_of(cluster, bug=bug)
    assert values_of(play(buggy, history), questions) == wrong


SHOWN_BY_WALKS = """
fenced_broker_eligible broker_epoch_not_compared partition_epoch_not_compared ineligible_change_kept
high_watermark_gate_missing unclean_broker_keeps_eligibility last_known_leader_too_early removal_keeps_leader_epoch
old_record_applied
"""
"""Bugs of clusters with KRaft that the walks of replay/test_bugs.py show."""


def test_every_seeded_bug_is_shown() -> None:
    shown = [row[0] for row in ROWS if row[0].islower()]
    assert sorted([*shown, *SHOWN_BY_WALKS.split()]) == sorted(bug.name.lower() for bug in Bug)


def test_a_bug_is_chosen_by_name() -> None:
    with pytest.raises(ClusterError, match=r"no bug off_by_two; the bugs are: hw_off_by_one, ack_before_isr, "):
        Cluster(bug="off_by_two")

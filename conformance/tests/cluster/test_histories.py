"""The known failures of Kafka's replication on the executable cluster: the record is lost in the affected generations,
and kept in the repaired ones. Numbers are those of the fact sheet, section 8.
"""

from __future__ import annotations

import pytest

from conformance.tests.support.histories import cluster_of, histories, play

HISTORIES = """
== 8.1 truncation to the high watermark loses an acknowledged record
[0.10|0.11|2.0|2.1] replicas=2
append m 0; fetch 1 0; fetch 1 0; acknowledged: m
high_watermark 1: 0  # it hears of the new one with its next response
bounce 1; reconcile 1; crash 0; elect fail-over 1; learn 1
read 1: [-|m|m|m]
restart 0; reconcile 0; log 0: [-|m|m|m]

== 8.2 the machine with the longer log restarts second: all lose power, and the one with the shorter log leads first
[0.10|0.11|2.1] replicas=2 log=r min_insync_replicas=1
flush 1; append x 0; fetch 1 0; fetch 1 0; flush 0; checkpoint 0
lose_power 0; lose_power 1; restart 1; elect fail-over 1; learn 1; append y 1
log 1: r y
restart 0; reconcile 0; log 0: [r x|r|r]  # 0.10 never repairs the difference

== 8.3 a follower that wrote in an epoch that its leader has never seen diverges before KIP-279 (KAFKA-6361)
[0.11|2.0|2.1] replicas=2 log=r min_insync_replicas=1
append x 0; elect preferred 1; learn 1; append y 1
elect preferred 0; learn 0 1; append z 0; reconcile 1; fetch 1 0; fetch 1 0
read 0: r x z; acknowledged: x z
elect fail-over 1; learn 1; read 1 another: [r y z|r x z|r x z]

== 8.3 remains in 2.0 if the logs have no common epoch: the answer's epoch is below the follower's first entry
[2.0|2.1] replicas=2 min_insync_replicas=1
append x 0; elect preferred 1; learn 1; append y 1
elect preferred 0; learn 0 1; append z 0; reconcile 1; fetch 1 0
log 0: x z; log 1: [y z|x z]

== 8.4 a broker that stays in epoch 0 keeps its own record and fetches from the same leader (KAFKA-6880): it counts
2.0 log=r
append x 0; fetch 1 0; elect preferred 2; learn 0 2; reconcile 0; log 0: r
elect preferred 0; learn 0 2; reconcile 2; append y 0; fetch 2 0; fetch 2 0; ask 1 0
acknowledged: y
elect fail-over 1; learn 1; log 1: r x

== 8.4 since KIP-320 the old fetch is refused
2.1 log=r
append x 0; fetch 1 0; elect preferred 2; learn 0 2; reconcile 0; log 0: r
elect preferred 0; learn 0 2; reconcile 2; append y 0; fetch 2 0; fetch 2 0; ask 1 0
acknowledged: -
apply 1 0; learn 1; reconcile 1; log 1: r
fetch 1 0; fetch 1 0; acknowledged: y
elect fail-over 1; learn 1; log 1: r y

== 8.5 a follower that missed an epoch skips its truncation
2.0 FOLLOWER_SKIP=[SAME_LEADER|SAME_LEADER_NEXT_EPOCH|SAME_LEADER_AND_EPOCH]
append x 0; fetch 2 0; elect preferred 1; learn 0 1; reconcile 0; log 0: -
elect preferred 0; learn 0 2; append y 0; reconcile 2; log 2: [x|-|-]

== 8.6 a follower joins the ISR below the start of the epoch (KAFKA-7128): the leader restarts with high watermark 0
[2.0|2.1 EXPAND_EPOCH_START=off] isr=01
append a 0; fetch 1 0; fetch 1 0; acknowledged: a; bounce 0; ask 2 0; controller isr: 0 1 2
elect fail-over 2; learn 2; read 2: -

== 8.6 since 2.1 it does not join
[2.1|2.0 EXPAND_EPOCH_START=on] isr=01
append a 0; fetch 1 0; fetch 1 0; acknowledged: a; bounce 0; ask 2 0; controller isr: 0 1

== 8.10 the last member of the ISR is elected, without ELR, even if it has lost records that others hold
2.1
append a 0; fetch 1 0; fetch 2 0; fetch 1 0; fetch 2 0; acknowledged: a
crash 1; notice_dead 1; crash 2; notice_dead 2; lose_power 0; logs: - a a
restart 0; restart 1; restart 2; reconcile 1; reconcile 2; logs: - - -

== 8.12 a record with acks=1 is lost with its leader
2.1
append a 0 1; acknowledged: a; crash 0; elect fail-over 1; learn 1 2; read 1: -
restart 0; reconcile 0; log 0: -

== 8.13 an unclean election loses what was committed and read
2.1 replicas=2 isr=0 min_insync_replicas=1
append a 0; read 0: a; elect unclean 1 ! ISR members [0] are alive
crash 0; elect fail-over 1 ! broker 1 is not in the ISR [0]
elect unclean 1; learn 1; append b 1; restart 0; reconcile 0; fetch 0 1; log 0: b; read 1 another: b

== 8.14 a power loss of the whole ISR loses records that were not flushed
2.1 replicas=2
append a 0; fetch 1 0; fetch 1 0; acknowledged: a
lose_power 0; lose_power 1; restart 0; log 0: -; leader 0: 0

== 8.15 a retry duplicates a record unless the producer is idempotent
2.1 replicas=2[| idempotent]
append a 0; fetch 1 0; ask 1 0; drop_to producer; resend 0 0; deliver_requests; log 0: [a a|a]

== 8.16 the high watermark of a new leader is stale
2.1
append a 0; fetch 1 0; fetch 2 0; fetch 1 0; fetch 2 0; read 0: a
crash 0; elect fail-over 1; learn 1 2; read 1 another: -
reconcile 2; fetch 2 1; read 1 another: a

== 8.17 a late batch leaves a hanging transaction
2.1 replicas=1 min_insync_replicas=1 idempotent
begin_transaction; produce a 0; in_flight: 0; end_transaction ABORT; mark 0; deliver 0; acknowledged: a
append b 0 all other; high_watermark 0: 3; last_stable_offset 0: 1; read 0 committed: -; read 0 uncommitted: a b

== 8.18 a zombie leader acknowledges only acks=1
2.1 log=r
elect fail-over 1; learn 1 2; reconcile 2; append a 0 1; append b 0; advance 30000
check_isr 0: no  # the follower lags, but the epoch of the write is old
expire_produces 0: yes; expire_produces 0: no; acknowledged: a; outcomes: NONE REQUEST_TIMED_OUT; read 0: r
learn 0; reconcile 0; log 0: r

== 8.20 truncation outside the epochs leaves a difference: the leader's log is longer when the follower asks for its end
0.10 replicas=2 isr=0 log=ab min_insync_replicas=1 unclean_leader_election_enable
crash 0; elect unclean 1; learn 1; append c 1; restart 0; ask 0 1; append d 1; append e 1; apply 0 1
deliver; apply 0 1; deliver; apply 0 1; fetch 0 1  # the latest offset, and the earliest
logs: abe cde

== 8.24 a leader that was demoted and elected without learning of it acknowledges a record that no other replica has
2.1
append r 0; fetch 2 0; fetch 2 0; elect preferred 1; learn 1 2; reconcile 2; log 2: -
crash 1; elect fail-over 0; learn 0; acknowledged: r
crash 0; elect fail-over 2; learn 2; read 2: -; restart 0; reconcile 0; log 0: -

== 8.24 is prevented if the leader forgets the remote offsets
2.1 REMOTE_OFFSETS_KEPT_BY_REELECTED_LEADER=off
append r 0; fetch 2 0; fetch 2 0; elect preferred 1; learn 1 2; reconcile 2; log 2: -
crash 1; elect fail-over 0; learn 0; acknowledged: -
apply 2 0  # its fetch that was parked in epoch 0 comes back refused
learn 2; reconcile 2; fetch 2 0; fetch 2 0; acknowledged: r
crash 0; elect fail-over 2; learn 2; read 2: r

== KAFKA-10706 an epoch entry at the log end makes truncation endless: broker 0 leads without writing
2.1 EPOCH_ENTRY_AT_END_DROPPED=[off|on] replicas=2 log=r min_insync_replicas=1
append x 0; elect preferred 1; learn 1; append y 1; elect preferred 0; learn 0; elect preferred 1; learn 1; learn 0
reconcile 0[ ! goes on truncating|; log 0: r]

== KAFKA-7414 a follower beyond its leader halts unless unclean election is allowed
[2.0|2.0 unclean_leader_election_enable|2.1] replicas=2
append a 0; fetch 1 0; lose_disk 0; restart 0; ask 1 0; apply 1 0; deliver; apply 1 0
is_up 1: [no|yes|yes]; log 1: [a|-|-]
"""


@pytest.mark.parametrize(("cluster", "history"), histories(HISTORIES))
def test_a_history(cluster: str, history: str) -> None:
    play(cluster_of(cluster), history)

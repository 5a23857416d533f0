"""Reassignments, as Kafka carries them out; and the histories C1(a) to (d), in which eligible leader replicas make one
lose acknowledged records, or leave a partition without a leader.

The histories C1 were driven on a real cluster (trunk of August 2026, two to four times each), with their controls; the
cluster here has the same outcome. In each, all records abcde are acknowledged before it begins. One difference: a fetch
response carries the whole log, so that a copy that is interrupted has copied nothing.
"""

from __future__ import annotations

import pytest

from conformance.tests.support.histories import cluster_of, histories, play

HISTORIES = """
== C1(a) an unclean restart after a smaller replication factor leaves no leader
4.3 log=abcde
reassign 0; described: Leader: 0 Replicas: 0 Isr: 0 Elr: 1,2 LastKnownElr: -; logs: abcde - -
kill 0; described: Leader: none Replicas: 0 Isr: - Elr: 0,1,2 LastKnownElr: 0
start 0; described: Leader: none Replicas: 0 Isr: - Elr: 1,2 LastKnownElr: 0
elect preferred 0 ! preferred: broker 0 does not win this election; the winner is None
stop 1; start 1; stop 2; start 2; described: Leader: none Replicas: 0 Isr: - Elr: 1,2 LastKnownElr: 0
elect unclean 0; described: Leader: 0 Replicas: 0 Isr: 0 Elr: - LastKnownElr: -; log 0: a b c d e

== C1(a) without ELR the leader comes back after a smaller replication factor
4.3 ELR=off log=abcde
reassign 0; kill 0; described: Leader: none Replicas: 0 Isr: 0 Elr: - LastKnownElr: -
start 0; described: Leader: 0 Replicas: 0 Isr: 0 Elr: - LastKnownElr: -

== C1(a) a clean stop after a smaller replication factor does no harm
4.3 log=abcde
reassign 0; stop 0; start 0; described: Leader: 0 Replicas: 0 Isr: 0 Elr: 1,2 LastKnownElr: -

== C1(a) a new minimum before the crash frees the partition of strangers
4.3 log=abcde
reassign 0; change_min_insync_replicas 1; described: Leader: 0 Replicas: 0 Isr: 0 Elr: - LastKnownElr: -
kill 0; start 0; described: Leader: 0 Replicas: 0 Isr: 0 Elr: - LastKnownElr: -

== C1(b) 4 replaces the leader 1 while 2 and 3 are down; then 1 is added again, and 4 is killed: records are lost
4.3 replicas=5 assignment=123 leader=1 log=abcde
stop 3 2; reassign 4 2 3; replicate 4; described: Leader: 4 Replicas: 4,2,3 Isr: 4 Elr: 1,2 LastKnownElr: -
logs: - - abcde abcde abcde
reassign 4 1 3; kill 4; described: Leader: 1 Replicas: 4,1,3,2 Isr: 1 Elr: 2,4 LastKnownElr: -
logs: - - abcde abcde abcde
start 2 3 4; replicate 3 4; described: Leader: 1 Replicas: 4,1,3 Isr: 1,3,4 Elr: - LastKnownElr: -; logs: - - - - -

== C1(b) without ELR nothing is lost
4.3 ELR=off replicas=5 assignment=123 leader=1 log=abcde
stop 3 2; reassign 4 2 3; replicate 4; described: Leader: 4 Replicas: 4,2,3 Isr: 4 Elr: - LastKnownElr: -
reassign 4 1 3; kill 4; described: Leader: none Replicas: 4,1,3,2 Isr: 4 Elr: - LastKnownElr: -
start 2 3 4; replicate 1 3; described: Leader: 4 Replicas: 4,1,3 Isr: 1,3,4 Elr: - LastKnownElr: -
logs: - abcde - abcde abcde

== C1(b) up to 4.2 the reassignment waits for all replicas
[4.0 ELR=on|4.1] replicas=5 assignment=123 leader=1 log=abcde
stop 3 2; reassign 4 2 3; replicate 4; described: Leader: 1 Replicas: 4,2,3,1 Isr: 1,4 Elr: - LastKnownElr: -

== C1(c) as first read: up to 4.2 a second attempt after a cancel loses records
4.1 assignment=01 log=abcde
kill 1; reassign 0 1 2; replicate 2; described: Leader: 0 Replicas: 0,1,2 Isr: 0,2 Elr: - LastKnownElr: -
record: 0 0 3 0,2; cancel_reassignment; read_all; record: 0 1 4 0
described: Leader: 0 Replicas: 0,1 Isr: 0 Elr: 2 LastKnownElr: -; logs: abcde abcde -
reassign 0 1 2; kill 0; described: Leader: 2 Replicas: 0,1,2 Isr: 2 Elr: 0 LastKnownElr: -
start 0; replicate 0; logs: - abcde -

== C1(c') raising the replication factor of a leaderless partition is refused
4.3 log=abcde
reassign 0; kill 0; start 0
begin_reassignment 0 1 2 ! UNKNOWN_SERVER_ERROR: replica 1 is not assigned to this partition
described: Leader: none Replicas: 0 Isr: - Elr: 1,2 LastKnownElr: 0

== C1(c') adding the strangers while they are down loses everything
4.3 log=abcde
reassign 0; kill 0; start 0; stop 1 2; reassign 0 1 2
described: Leader: none Replicas: 0,1,2 Isr: - Elr: 1,2 LastKnownElr: 0
start 1; described: Leader: 1 Replicas: 0,1,2 Isr: 1 Elr: 2 LastKnownElr: -; replicate 0; logs: - - -

== C1(c') killing the strangers heals the partition
4.3 log=abcde
reassign 0; kill 0; start 0; kill 1; start 1; kill 2; start 2
described: Leader: 0 Replicas: 0 Isr: 0 Elr: - LastKnownElr: -; log 0: a b c d e

== C1(c') a new minimum does not heal the partition
4.3 log=abcde
reassign 0; kill 0; start 0; change_min_insync_replicas 1; stop 0; start 0
described: Leader: none Replicas: 0 Isr: - Elr: - LastKnownElr: -

== C1(c') without ELR the replication factor is raised again
4.3 ELR=off log=abcde
reassign 0; kill 0; start 0; reassign 0 1 2; replicate 1 2
described: Leader: 0 Replicas: 0,1,2 Isr: 0,1,2 Elr: - LastKnownElr: -; logs: abcde abcde abcde

== C1(d) a replication factor of 3, 1, 3 of the second partition loses records
4.3 log=abcde replicas_of_partition_0=3
reassign 0; reassign 0 1 2; described: Leader: 0 Replicas: 0,1,2 Isr: 0 Elr: 1,2 LastKnownElr: -
kill 0; described: Leader: 1 Replicas: 0,1,2 Isr: 1 Elr: 0,2 LastKnownElr: -
start 0; replicate 0; logs: - - -

== C1(d) loses nothing in the first partition, or without ELR
4.3 [|ELR=off replicas_of_partition_0=3] log=abcde
reassign 0; reassign 0 1 2; described: Leader: 0 Replicas: 0,1,2 Isr: 0 Elr: - LastKnownElr: -
kill 0; described: Leader: none Replicas: 0,1,2 Isr: [- Elr: 0 LastKnownElr: 0|0 Elr: - LastKnownElr: -]
start 0; described: Leader: 0 Replicas: 0,1,2 Isr: 0 Elr: - LastKnownElr: -; log 0: a b c d e

== a reassignment completes by the rule of its release, while 3, which stays, is down
[3.7|4.1|4.3] replicas=5 assignment=123 leader=1 log=abcde
kill 3; reassign 4 2 3; replicate 4; partition replicas: [4 2 3|4 2 3 1|4 2 3]

== since 4.0 a reassignment to fewer replicas waits for all of them
[3.7|4.1|4.3] log=abcde
kill 2; reassign 0 2
described: Leader: 0 Replicas: [0,2 Isr: 0|0,2,1 Isr: 0,1|0,2,1 Isr: 0,1] Elr: - LastKnownElr: -

== a removed leader hears that another leader was elected
4.3 assignment=01 log=abcde
reassign 1 2; described: Leader: 0 Replicas: 1,2,0 Isr: 0,1 Elr: - LastKnownElr: -
fetch 2 0; ask 2 0; ask_controller 0; answer_to_leader 0: NEW_LEADER_ELECTED
described: Leader: 1 Replicas: 1,2 Isr: 1,2 Elr: - LastKnownElr: -
answer_leader 0; proposed_isr 0: 0 1 2  # until it reads the record
read_all; is_leader 0: no; logs: - abcde abcde

== a leader is removed at once if nothing has to be copied
4.3 log=abcde
reassign 2 1; described: Leader: 2 Replicas: 2,1 Isr: 1,2 Elr: - LastKnownElr: -; controller leader_epoch: 1

== only a removal starts a leader epoch: a record that only clears the added replicas has that of the answer
4.3 assignment=01 log=abcde
reassign 1 0; record: 0 0 1 0,1; reassign 1 0 2; replicate 2; record: 0 0 3 0,1,2; partition adding: -

== a leader refuses a follower of which it has not read
4.3 assignment=01 log=abcde
begin_reassignment 0 1 2; read_all 2; answer 2 0: UNKNOWN_LEADER_EPOCH; apply 2 0
read_all 0; replicate 2; log 2: a b c d e

== a leader counts its own replicas: with two, of which one is being added, a minimum of 3 asks for two
4.3 assignment=0 log=abcde min_insync_replicas=3
append x 0; acknowledged: x; reassign 0 1; append y 0; acknowledged: x; log 0: a b c d e x

== a replica that missed its removal keeps its log: it has read both records at once
4.3 log=abcde
begin_reassignment 0 1; begin_reassignment 0 1 2; read_at_once 2; log 2: a b c d e

== assigning the original replicas cancels; but since 4.3 the added one is added and removed, and nothing completes
[4.1|4.3] assignment=01 log=abcde
reassign 0 1 2; reassign 0 1; partition adding: [-|2]; partition removing: [-|2]; partition replicas: [0 1|0 1 2]
[|cancel_reassignment]; described: Leader: 0 Replicas: 0,1 Isr: 0,1 Elr: - LastKnownElr: -

== what cannot be cancelled is reported
4.1 replicas=4 assignment=01 log=abcde
cancel_reassignment ! there is no reassignment to cancel; begin one
reassign 2 3; replicate 2; kill 1 0; described: Leader: 2 Replicas: 2,3,0,1 Isr: 2 Elr: 0 LastKnownElr: -
cancel_reassignment ! the ISR has only replicas that the reassignment adds

== a reassignment names registered brokers, each once
4.3 log=abcde
kill 1; unregister 1; begin_reassignment [|0 0|0 3|0 -1|0 1] ! name registered brokers, each once
"""


@pytest.mark.parametrize(("cluster", "history"), histories(HISTORIES))
def test_a_reassignment(cluster: str, history: str) -> None:
    play(cluster_of(cluster), history)

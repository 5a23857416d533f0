"""Histories in which eligible leader replicas lose acknowledged records, or leave a partition without a leader:
C2 to C11, and D2. Those of reassignments are in test_reassignment.py.

Each, but for D2, was driven on a real cluster (trunk of August 2026, two to four times each), with its controls; the
cluster here has the same outcome. In every history, all records abcde are acknowledged before it begins. One
difference: a fetch response carries the whole log, so that a copy that is interrupted has copied nothing.
"""

from __future__ import annotations

import pytest

from conformance.tests.support.histories import cluster_of, histories, play

STOPPED_ONE_BY_ONE = "stop 2; append x 0; replicate 1; replicate 1; acknowledged: x; stop 1 0"
"""C2, step 1: all three replicas stop cleanly; a record is acknowledged after the first has stopped."""

HISTORIES = f"""
== C2 a new minimum of a leaderless partition forgets who may lead
4.3 assignment=201 log=abcde
{STOPPED_ONE_BY_ONE}; described: Leader: none Replicas: 2,0,1 Isr: - Elr: 0,1 LastKnownElr: 0
change_min_insync_replicas 1; described: Leader: none Replicas: 2,0,1 Isr: - Elr: - LastKnownElr: -
start 0 1 2; described: Leader: none Replicas: 2,0,1 Isr: - Elr: - LastKnownElr: -; logs: abcdex abcdex abcde
elect unclean 2; read_all; replicate 0 1; logs: abcde abcde abcde

== C2 any value of the cluster's minimum forgets it, too
4.3 assignment=201 log=abcde
{STOPPED_ONE_BY_ONE}; controller partition_epoch: 3
write_cluster_min_insync_replicas; controller partition_epoch: 4
write_cluster_min_insync_replicas; controller partition_epoch: 4  # nothing is left to be cleared
start 0 1 2; described: Leader: none Replicas: 2,0,1 Isr: - Elr: - LastKnownElr: -

== C2 the present value of the topic changes nothing
4.3 assignment=201 log=abcde
{STOPPED_ONE_BY_ONE}; change_min_insync_replicas 2
described: Leader: none Replicas: 2,0,1 Isr: - Elr: 0,1 LastKnownElr: 0
start 1; described: Leader: 1 Replicas: 2,0,1 Isr: 1 Elr: 0 LastKnownElr: -

== C2 without ELR a new minimum does no harm
4.3 ELR=off assignment=201 log=abcde
{STOPPED_ONE_BY_ONE}; change_min_insync_replicas 1
described: Leader: none Replicas: 2,0,1 Isr: 0 Elr: - LastKnownElr: -
start 2 1 0; described: Leader: 0 Replicas: 2,0,1 Isr: 0 Elr: - LastKnownElr: -; log 0: a b c d e x

== C2 the last known leader of a killed partition is forgotten as well
4.3 log=abcde
kill 2 1 0; [|change_min_insync_replicas 1]; start 1 2 0
described: Leader: [0|none] Replicas: 0,1,2 Isr: [0|-] Elr: - LastKnownElr: -

== C3(a) an eligible broker that is unregistered, or only down, keeps the last known leader out
4.3 log=abcde
kill 2; stop 1; partition elr: 1; [|unregister 1]; partition elr: 1; registration 1 is_registered: [yes|no]
kill 0; described: Leader: none Replicas: 0,1,2 Isr: - Elr: 0,1 LastKnownElr: 0
start 0; described: Leader: none Replicas: 0,1,2 Isr: - Elr: 1 LastKnownElr: 0; log 0: a b c d e

== C3(a) without ELR it does not
4.3 ELR=off log=abcde
kill 2; stop 1; unregister 1; kill 0; described: Leader: none Replicas: 0,1,2 Isr: 0 Elr: - LastKnownElr: -
start 0; described: Leader: 0 Replicas: 0,1,2 Isr: 0 Elr: - LastKnownElr: -; log 0: a b c d e

== C3(a) a broker that was unregistered is not trusted when it comes back
4.3 log=abcde
kill 2; stop 1; unregister 1; unregister 1 ! broker 1 is not registered; name a registered one
start 1; described: Leader: 0 Replicas: 0,1,2 Isr: 0 Elr: - LastKnownElr: -

== C4 the controller counts the replicas of the first partition: one, three, one without ELR
4.3 [replicas_of_partition_0=1|replicas_of_partition_0=3|replicas_of_partition_0=1 ELR=off] log=abcde
stop 2 1; partition elr: [-|1|-]; append x 0; payload: 0,NOT_ENOUGH_REPLICAS,-1,-1
lose_power 0 3; fence 0; read_all; partition isr: [-|-|0]; partition elr: [0|0 1|-]
start 0 1 2; controller leader: [0|1|0]; replicate [1 2|0 2|1 2]
logs: [abc abc abc|abcde abcde abcde|abc abc abc]

== C6 a raised minimum that is read after the ISR loses a record, but not without ELR
4.3 [|ELR=off] replicas=2 log=abcde min_insync_replicas=1
append P 0; acknowledged: -; change_min_insync_replicas 2; begin_shutdown 1 others; beat 1
read_at_once 0; acknowledged: P; partition elr: [1|-]; stop 1; kill 0; start 1
described: Leader: [1 Replicas: 0,1 Isr: 1 Elr: 0|none Replicas: 0,1 Isr: 0 Elr: -] LastKnownElr: -
start 0; replicate [0|1]; logs: [abcde abcde|abcdeP abcdeP]

== C6 a raised minimum that is read first loses nothing
4.3 replicas=2 log=abcde min_insync_replicas=1
append P 0; acknowledged: -; change_min_insync_replicas 2; begin_shutdown 1 others; beat 1
read_all 0; acknowledged: -

== C6 a minimum that was raised before loses nothing
4.3 replicas=2 log=abcde min_insync_replicas=1
change_min_insync_replicas 2; read_all; append P 0; acknowledged: -; begin_shutdown 1 others; beat 1
read_at_once 0; acknowledged: -

== C6 the answer to AlterPartition passes the raised minimum by: the leader has read neither
4.3 replicas=2 log=abcde min_insync_replicas=1
append P 0; advance 10001; check_isr 0; change_min_insync_replicas 2; finish_alter_isr 0
acknowledged: P; described: Leader: 0 Replicas: 0,1 Isr: 0 Elr: 1 LastKnownElr: -

== C8 a clean stop says nothing about the data: the folder of a stopped broker is deleted, and then its leader dies
4.3 [|ELR=off] replicas=2 log=abcde
stop 1; described: Leader: 0 Replicas: 0,1 Isr: 0 Elr: [1|-] LastKnownElr: -; delete_replica 1; logs: abcde -
kill 0; described: Leader: none Replicas: 0,1 Isr: [- Elr: 0,1 LastKnownElr: 0|0 Elr: - LastKnownElr: -]
start 1 0; replicate [0|1]; logs: [- -|abcde abcde]

== C8 the same while the leader lives, and the broker copies
4.3 [|ELR=off] replicas=2 log=abcde
stop 1; delete_replica 1; start 1; kill 0; controller leader: [1|none]
start 0; replicate [0|1]; logs: [- -|abcde abcde]

== C8 nothing is lost if nothing was deleted, or if the broker was killed
4.3 replicas=2 log=abcde
[stop 1|kill 1; delete_replica 1]; kill 0; start 1; controller leader: [1|none]; start 0; replicate [0|1]
logs: abcde abcde

== C8 the same while the leader lives
4.3 replicas=2 log=abcde
[stop 1|kill 1; delete_replica 1]; start 1; kill 0; start 0; replicate [0|1]; logs: abcde abcde

== C8 only the folder of a stopped broker is deleted
4.3 replicas=2 log=abcde
delete_replica 1 ! broker 1 runs; shut it down before the folder of its replica is deleted
stop 1; delete_replica 1; has_stopped_cleanly 1: yes; checkpointed_high_watermark 1: 5  # the file is not in the folder
register 1; high_watermark 1: 0  # it does not exceed the log
lose_disk 1; has_stopped_cleanly 1: no; checkpointed_high_watermark 1: 0

== C11 deleted records come back through the ELR
4.3 [|ELR=off] replicas=2 log=abcde
stop 1; delete_records 0 3; deliver; stop 0; start 1 0; controller leader: [1|0]; log_start_offset [1|0]: [0|3]

== D2 up to 4.2 the report of a directory makes the controller forget the ELR
[4.0 ELR=on|4.1|4.3] replicas=2 log=abcde
stop 1; controller partition_epoch: 1; report_directory 0; deliver; read_all; controller partition_epoch: 2
described: Leader: 0 Replicas: 0,1 Isr: 0 Elr: [-|-|1] LastKnownElr: -
lose_power 0 3; fence 0; read_all; start 0 1; controller leader: [0|0|1]; replicate [1|1|0]
logs: [abc abc|abc abc|abcde abcde]

== D2 a leaderless partition keeps its last known leader when a directory is reported
4.1 replicas=2 log=abcde
stop 1 0; delete_replica 1; register 1; report_directory 1; deliver
described: Leader: none Replicas: 0,1 Isr: - Elr: - LastKnownElr: 0

== up to 4.0 a last known leader that is not unfenced yet is elected
[4.0 ELR=on|4.1] replicas=2 log=abcde
kill 1 0; register 1 0; registration 0 is_fenced: yes; controller leader: [0|none]

== since 4.1 a new controller gives fenced brokers no session
[4.0 ELR=on|4.1] replicas=2 log=abcde
kill 1; fail_over_controller; may_register 1: [no|yes]; may_be_fenced 0: no
crash 0; start_process 0 ! broker 0: the session of its earlier process has not ended

== a new controller forgets for whom a shutdown waits
4.3 replicas=2 log=abcde
begin_shutdown 1 others; beat 1; is_up 1: yes; beat 1; is_up 1: yes; fail_over_controller; beat 1; is_up 1: no
"""


@pytest.mark.parametrize(("cluster", "history"), histories(HISTORIES))
def test_eligible_leaders(cluster: str, history: str) -> None:
    play(cluster_of(cluster), history)

"""Leaders and followers on the executable cluster: high watermark, ISR, acks, fetches, truncation, AlterIsr. Each
history covers one rule of the fact sheet, sections 2 to 5.
"""

from __future__ import annotations

import pytest

from conformance.tests.support.histories import cluster_of, histories, play
from isrcheck.conformance.cluster.configuration.protocol import generation
from isrcheck.conformance.cluster.configuration.settings import ClusterError, Start
from isrcheck.conformance.cluster.controller.controller import Controller
from isrcheck.conformance.cluster.network.messages import AlterIsrRequest, AlterIsrResponse, Errors, LeaderAndIsr
from isrcheck.conformance.cluster.network.network import CONTROLLER, Network

REPLICATION = """
== a cluster starts stable and elected
[0.10|0.11|2.0|2.1] isr=01 log=ab held=2:1
log_end_offset 0: 2; log_end_offset 1: 2; log_end_offset 2: 1; high_watermark 0: 2; high_watermark 1: 2
high_watermark 2: 1; leader_known_to 0: 0 0; leader_known_to 1: 0 0; leader_known_to 2: 0 0; is_truncating 2: no
remote_log_end_offsets 0: 1,2 2,1; isr 0: 0 1; controller isr: 0 1; in_flight: -
epoch_entries 0: 0,0; epoch_entries 1: 0,0; epoch_entries 2: 0,0

== the high watermark follows the slowest ISR member
[0.10|0.11|2.0|2.1]
append a 0; append b 0; fetch 1 0; fetch 2 0; ask 1 0; high_watermark 0: 0
ask 2 0; high_watermark 0: 2; remote_log_end_offsets 0: 1,2 2,2; acknowledged: a b

== a response carries the high watermark from before its fetch
2.1 replicas=2
append a 0; fetch 1 0; append b 0; answer 1 0 high_watermark: 0; high_watermark 0: 1

== a fetch without new records waits for them
2.1 replicas=2
ask 1 0: none; parked_fetches 0: 1,0,500; delayed_fetch 0 1: no; append a 0; complete_parked_fetch 0 1
now: 0; remote_log_end_offsets 0: 1,0; apply 1 0; log 1: a

== a fetch without new records returns the high watermark after 500 ms
2.1 replicas=2
append a 0; fetch 1 0; fetch 1 0; advance 499; delayed_fetch 0 1: no; advance 1; delayed_fetch 0 1: yes
apply 1 0; high_watermark 1: 1

== a follower that lags for more than replica.lag.time.max.ms leaves the ISR; since 2.1 not while it is at the log end
[0.10|2.0|2.1] log=r
advance 5000; fetch 1 0; advance 5000; check_isr 0: no; advance 1; check_isr 0: [yes|yes|no]
isr 0: [0 1|0 1|0 1 2]; controller isr: [0 1|0 1|0 1 2]; append a 0; check_isr 0; isr 0: 0 1

== a follower counts as caught up since its previous fetch
2.1 replicas=2
append a 0; advance 3000; fetch 1 0  # at 0 of 1: not caught up since the start
append b 0; advance 3000; ask 1 0  # at 1 of 2: it has what the leader had at its fetch before, at 3000
last_caught_up_times 0: 1,3000

== only a fetch expands the ISR, and it need not reach the log end
[0.10|0.11|2.0|2.1] isr=01 log=r held=2:0
fetch 2 0; append a 0; isr 0: 0 1; ask 2 0; isr 0: 0 1 2; controller isr: 0 1 2; log_end_offset 2: 1

== a leader of an older epoch cannot write the ISR
2.1 isr=01
elect preferred 1; ask 2 0; isr 0: 0 1; controller isr_writes: 0,0,0,1,2,no

== acks decide when the producer gets its response
2.1 replicas=2
append a 0 0; append b 0 1; append c 0; acknowledged: b; delayed_produces 0: producer,2,3,30000
fetch 1 0; fetch 1 0; acknowledged: b c

== min.insync.replicas is checked before and after the append
2.1 replicas=2
append a 0; advance 10001; check_isr 0; append b 0; append c 0 1
outcomes: NOT_ENOUGH_REPLICAS_AFTER_APPEND NOT_ENOUGH_REPLICAS NONE; log 0: a c; high_watermark 0: 2

== a demoted leader fails waiting requests
2.1 replicas=2
append a 0; elect preferred 1; append b 1; learn 0; outcomes: NOT_LEADER_OR_FOLLOWER NOT_LEADER_OR_FOLLOWER

== a restarted leader starts from its checkpoint
2.1 replicas=2
append a 0; fetch 1 0; fetch 1 0; checkpoint 0; append b 0; bounce 0; high_watermark 0: 1
leader_epoch_start_offset 0: 2; remote_log_end_offsets 0: 1,none; epoch_entries 0: 0,0

== since 2.1 a new leader records its epoch at once
[0.10|0.11|2.0|2.1] replicas=2
elect preferred 1; learn 1; epoch_entries 1: [-|-|-|1,0]; append a 1; epoch_entries 1: 1,0

== 0.10 truncates on becoming follower, and later releases reconcile first
[0.10|0.11] replicas=2
append a 0; elect preferred 1; learn 0; log 0: [-|a]; modes 0: [FETCHING|TRUNCATING]

== 0.11 receives an offset, and 2.0 also an epoch
[0.11|2.0|2.1] replicas=2 log=r
bounce 1; ask 1 0: NONE,[-1|0|0],1; apply 1 0; is_truncating 1: no

== since 2.0 a follower without epochs truncates by itself
[0.11|2.0|2.1] replicas=2
bounce 1; do_work 1 0; in_flight: [1|-|-]; is_truncating 1: [yes|no|no]

== a truncating follower drops fetch responses
2.1 log=r
append a 0; ask 1 0; crash 2; notice_dead 2; learn 1; do_work 1 0: no  # its response is still outstanding
apply 1 0; log 1: r; is_truncating 1: yes

== the response of a former leader is dropped
[0.10|2.1]
append a 0; ask 2 0; elect preferred 1; learn 2; apply 2 0; log 2: -

== the response of a former leader that leads again is dropped, except in 0.10
[0.10|2.1]
append a 0; ask 2 0; elect preferred 1; learn 2; elect preferred 0; learn 2; apply 2 0; log 2: [a|-]

== a fenced fetcher waits for metadata
2.1 replica_fetch_backoff_ms=1000
elect preferred 1; learn 1; elect preferred 0; learn 0; answer 2 0: FENCED_LEADER_EPOCH; apply 2 0; modes 2: FAILED
do_work 2 0: no; learn 2; modes 2: TRUNCATING

== a newer epoch than the leader's is retried after a back-off
2.1 log=r replica_fetch_backoff_ms=1000
elect preferred 1; learn 2; answer 2 1: UNKNOWN_LEADER_EPOCH; apply 2 1; learn 1; do_work 2 1: no
advance 1000; reconcile 2; is_truncating 2: no

== a follower below its leader's log start restarts its log there
2.1 replicas=2 isr=0 log=ab min_insync_replicas=1 replica_fetch_backoff_ms=1000
delete_records 0 2; deliver; answer 1 0: OFFSET_OUT_OF_RANGE; apply 1 0; deliver; apply 1 0; deliver; apply 1 0
log_start_offset 1: 2; log_end_offset 1: 2; epoch_entries 1: -
append c 0; fetch 1 0; crash 1; log 1: c; log_start_offset 1: 2; restart 1; log 1: c; log_start_offset 1: 2

== deleted records are gone everywhere before the response
2.1 replicas=2 log=ab
delete_records 0 1; deliver; log 0: b; log 1: a b; in_flight: -; append c 0; fetch 1 0; log 1: b c
ask 1 0; deliver_to administrator; deletes: 0,NONE,1

== DeleteRecords beyond the high watermark is refused; the leader's own log start is the low watermark of the live
2.1 log=a
crash 2; crash 1; append b 0; delete_records 0 [2|0|-1]; deliver; deliver
deletes: 0,[OFFSET_OUT_OF_RANGE,-1|NONE,0|NONE,1]

== DeleteRecords is refused by a follower
2.1 log=a
crash 2; append b 0; delete_records 1 1; deliver; deliver; deletes: 0,NOT_LEADER_OR_FOLLOWER,-1

== a leader sends a consumer to the follower in its rack that has its position (KIP-392)
2.4 follower_fetching
append a 0; fetch 1 0; tell_consumer 0; seek 1
consume_in 0: none; consume_in 0 0: none  # no rack, and the leader's own
fetch 1 0; consume_in 0 2: none; consume_in 0 1: 1  # broker 2 has fetched nothing
consume 0 ! consumer consumer reads from broker 1; fetch from that broker, or call expire_preferred_read_replica
expire_preferred_read_replica; consume_in 0 1: 1; seek 3; consume_in 1 1: none  # a follower that refuses is given up

== a leader sends a consumer nowhere without replica.selector.class
2.4 replicas=2
consume_in 0 1: none

== since 3.4 a leader sends consumers only to members of the ISR
2.8 READ_REPLICA_IN_ISR=[off|on] replicas=2 isr=0 follower_fetching
tell_consumer 0; consume_in 0 1: [1|none]

== a consumer reads each record once, and no aborted ones if it reads committed ones
2.1 replicas=1 min_insync_replicas=1 idempotent
begin_transaction; append a 0; append a+ 0 all other; end_transaction ABORT; mark 0; read 0; read 0 committed
begin_transaction; append b 0; append b+ 0 all other; end_transaction COMMIT; mark 0; read 0; read 0 committed
begin_transaction; append c 0; append c+ 0 all other; end_transaction ABORT; mark 0
read 0: a a+ b b+ c c+; read 0 committed: a+ b b+ c+; consumer position: 9

== 2.0.1 skips the same leader in the next epoch only
2.0 FOLLOWER_SKIP=SAME_LEADER_NEXT_EPOCH replicas=5
[|crash 3; notice_dead 3;] crash 4; notice_dead 4; learn 1; crash 2; notice_dead 2; learn 1; is_truncating 1: [no|yes]

== a new instance of a producer fences the old one
2.1 replicas=1 min_insync_replicas=1 idempotent
begin_transaction; append a 0; produce b 0; drop; init_producer_id; mark 0; resend 1 0; deliver; append c 0
log 0: a ABORT c; outcomes: NONE NETWORK_EXCEPTION INVALID_PRODUCER_EPOCH NONE; markers: NONE
begin_transaction  # the new instance is in none

== a marker needs a leader and enough replicas
2.1 isr=0 idempotent
begin_transaction; end_transaction COMMIT; mark 0; deliver; mark 1; deliver
markers: NOT_ENOUGH_REPLICAS NOT_LEADER_OR_FOLLOWER

== a run can start with an older checkpoint
2.1 log=ab checkpointed=0:1
high_watermark 0: 2; bounce 0; high_watermark 0: 1

== an election gives only ISR members time to catch up
2.1 isr=01
advance 20000; elect preferred 1; learn 1; append a 1; last_caught_up_times 1: 0,20000 2,0
advance 10000; check_isr 1: no; advance 1; check_isr 1: yes

== a consumer out of range gets an error
2.1 log=a
read 0: a; seek 5; read 0: a; consumer error: OFFSET_OUT_OF_RANGE

== impossible elections are refused in one line
2.1 isr=01
elect fail-over 2 ! fail-over: broker 2 is not in the ISR [0, 1]; name a member
elect preferred 0 ! election: broker 0 leads already, in epoch 0; elect another broker
elect unclean 2 ! unclean election: ISR members [0, 1] are alive; request a fail-over
notice_dead 0 ! broker 0 is alive
notice_dead 2 ! broker 2 is alive
crash 0; notice_dead 0 ! broker 0 leads; request an election
elect preferred 1 ! leader 0 is not alive; request a fail-over
freeze 1; elect fail-over 1 ! broker 1 is not alive; restart or thaw it

== a dead follower is removed in a new epoch, and rejoins by a fetch
2.1 replicas=2
crash 1; notice_dead 1; record: 0 1 1 0; learn 0; isr 0: 0; restart 1; reconcile 1; ask 1 0; controller isr: 0 1

== switches can be set one at a time
2.1 SHRINK_RULE=LAST_CAUGHT_UP replicas=2
advance 10001; check_isr 0: yes
"""


@pytest.mark.parametrize(("cluster", "history"), histories(REPLICATION))
def test_replication(cluster: str, history: str) -> None:
    play(cluster_of(cluster), history)


def test_an_unstable_start_is_refused() -> None:
    with pytest.raises(ClusterError, match=r"the ISR \[1\] has to contain the leader 0"):
        Start(isr=frozenset({1}))
    with pytest.raises(ClusterError, match="broker 1 cannot hold 1 of 0 records"):
        Start(isr=frozenset({0}), held=((1, 1),))


ALTER_ISR = """
== an expansion is pending until the answer arrives
2.8 isr=01
ask 2 0; isr 0: 0 1; proposed_isr 0: 0 1 2; record: 0 0 0 0,1
ask_controller 0; record: 0 0 1 0,1,2; isr 0: 0 1; answer_leader 0; isr 0: 0 1 2; proposed_isr 0: none
partition_epoch 0: 1; partition_epoch 1: 0; partition_epoch 2: 0

== a follower that leaves still counts until the answer arrives
2.8 replicas=2 min_insync_replicas=1
append a 0; advance 10001; check_isr 0: yes; check_isr 0: no  # one change at a time
isr 0: 0 1; proposed_isr 0: 0; high_watermark 0: 0; acknowledged: -
finish_alter_isr 0; isr 0: 0; high_watermark 0: 1; acknowledged: a

== an append needs the committed ISR, and an acknowledgement the maximal one
2.8 replicas=2 isr=0
ask 1 0; append a 0; last_outcome: none; outcomes: NOT_ENOUGH_REPLICAS
finish_alter_isr 0; append b 0; advance 10001; check_isr 0: yes; delayed_fetch 0 1; apply 1 0
ask 1 0; acknowledged: b  # the follower is still counted, so that two members have the record

== a request is sent again if it or the answer is lost
2.8 isr=01
ask 2 0; proposal 0: 0,0,0,1,2,1,1,2,1; [drop|deliver; drop]; proposal 0: 0,0,0,1,2,1,1,2,1
ask_controller 0; finish_alter_isr 0; isr 0: 0 1 2; record: 0 0 1 0,1,2  # as with ZooKeeper

== a leader of an older epoch is refused, and its change stays pending
2.8 isr=01
ask 2 0; elect fail-over 1; ask_controller 0; answer_to_leader 0: FENCED_LEADER_EPOCH; finish_alter_isr 0
isr 0: 0 1; proposed_isr 0: 0 1 2; record: 1 1 1 1

== new metadata drops the pending change, and a late answer is ignored
2.8 isr=01
ask 2 0; ask_controller 0; answer_to_leader 0: NONE; elect preferred 1; elect preferred 0
crash 2; notice_dead 2; learn 0; finish_alter_isr 0; isr 0: 0 1; proposed_isr 0: none; partition_epoch 0: 4
record: 0 3 4 0,1

== a request of an earlier process is refused
2.8 isr=01
ask 2 0; crash 0; start_process 0; ask_controller 0; answer_to_leader 0: STALE_BROKER_EPOCH
answer_leader 0; proposal 0 ! no such message about the ISR is in flight between broker 0 and the controller

== the controller treats a short restart as a failure since 2.8
[2.4|2.8]
crash 0; restart 0; record: [0 0 0 0,1,2|1 1 1 1,2]; is_leader 0: [yes|no]

== a follower that restarts leaves the ISR since 2.8
[2.4|2.8]
crash 1; restart 1; record: [0 0 0 0,1,2|0 1 1 0,2]; is_leader 1: no

== since 3.7 the high watermark waits for min.insync.replicas
2.8 HW_MINISR_GATE=[off|on] replicas=2 isr=0
append a 0 1; high_watermark 0: [1|0]; fetch 1 0; high_watermark 0: [1|0]; fetch 1 0; high_watermark 0: [1|0]
finish_alter_isr 0; high_watermark 0: 1

== since 3.7 min.insync.replicas is at most the number of replicas
2.8 HW_MINISR_GATE=[off|on] replicas=1
append a 0; outcomes: [NOT_ENOUGH_REPLICAS|NONE]
"""


@pytest.mark.parametrize(("cluster", "history"), histories(ALTER_ISR))
def test_alter_isr(cluster: str, history: str) -> None:
    """KIP-497: a leader proposes an ISR, the controller decides, and the leader hears of it."""
    play(cluster_of(cluster), history)


def test_an_older_partition_epoch_is_refused() -> None:
    """No leader of the cluster asks so, because it has one request at a time."""
    network = Network()
    controller = Controller(Start(isr=frozenset({0, 1})), network, lambda _: 1, lambda _: True, generation("2.8"), None)
    for isr in ({0}, {0, 1, 2}):
        request = AlterIsrRequest(0, 0, frozenset(isr))
        controller.receive(network.take(network.send(0, CONTROLLER, request, source_process=1)))
    answers = [message.payload for message in network.in_flight]
    assert answers == [
        AlterIsrResponse(Errors.NONE, 0, 1, frozenset({0})),
        AlterIsrResponse(Errors.INVALID_UPDATE_VERSION),
    ]


def test_only_the_leader_hears_of_a_new_isr() -> None:
    cluster = play(cluster_of("2.8 isr=01"), "ask 2 0; finish_alter_isr 0")
    assert not [message for message in cluster.messages() if isinstance(message.payload, LeaderAndIsr)]
    play(cluster, "fetch 1 0; elect preferred 1; learn 1; isr 1: 0 1 2; partition_epoch 1: 2")


TRUNCATION_ON_FETCH = """
== a fetch names the newest epoch, and the response where it ends
2.8 replicas=2 log=r min_insync_replicas=1
append x 0; elect fail-over 1; learn 0 1; append y 1; modes 0: FETCHING
do_work 0 1; payload: 2,0,1,0; deliver; response 0 1 diverging_epoch: 0,1; response 0 1 records: -
remote_log_end_offsets 1: 0,none; proposed_isr 1: none  # KAFKA-13141 is repaired
apply 0 1; do_work 0 1; log 0: r; fetch 0 1; log 0: r y; ask 0 1; finish_alter_isr 1; controller isr: 0 1

== 8.7(a) a diverging fetch counts, and a record is lost (KAFKA-13141, in 2.8.0)
2.8 DIVERGING_RESP_UPDATES_STATE=on replicas=2 log=r min_insync_replicas=1
append x 0; elect fail-over 1; learn 0 1; append y 1; high_watermark 1: 2; ask 0 1; finish_alter_isr 1
controller isr: 0 1; crash 1; elect fail-over 0; learn 0; log 0: r x

== 8.7(b) before 3.5 a diverging response moves the high watermark over records that were never committed (KAFKA-14704)
2.8[| HW_FROM_DIVERGING_RESP=off] replicas=2 log=r min_insync_replicas=1
append x 0; elect fail-over 1; learn 0 1; append y 1; fetch 0 1
high_watermark 0: [2|1]; modes 0: [TRUNCATING|FETCHING]; do_work 0 1; log 0: r; high_watermark 0: 1

== 8.7(d) an old response truncates in a later epoch (KAFKA-18991): the follower comes back with the same log end
2.8 HW_FROM_DIVERGING_RESP=off RESPONSE_EPOCH_MATCHED=[off|on] log=r min_insync_replicas=1
append x 0; elect fail-over 1; learn 0 1; append y 1; ask 0 1; elect preferred 2; learn 0; elect preferred 1; learn 0
follows 0: 1; apply 0 1; log 0: [r|r x]

== a response that was taken truncates nothing after a new announcement
2.8 log=r min_insync_replicas=1
append x 0; elect fail-over 1; learn 0 1; append y 1; fetch 0 1; is_truncating 0: yes
elect preferred 2; learn 0; is_truncating 0: no; do_work 0 1; do_work 0 2; log 0: r x

== several rounds find the common prefix: the follower lacks the epoch of the answer, and goes back to its previous one
2.8 HW_FROM_DIVERGING_RESP=off replicas=2 log=r min_insync_replicas=1
append a 0; elect fail-over 1; learn 1; append b 1; crash 1; elect unclean 0; learn 0; append c 0; restart 1
fetch 1 0; log 1: r; fetch 1 0; log 1: r a c

== a fetch whose epoch the leader does not know is out of range, with the answer of 2.0 below the first entry
2.8 EPOCH_BELOW_FIRST_ENTRY=UNDEFINED replicas=2 min_insync_replicas=1
append x 0; elect fail-over 1; learn 0 1; answer 0 1: OFFSET_OUT_OF_RANGE
apply 0 1; deliver; apply 0 1; log 0: -  # it asks for the end of the leader's log, and truncates to that
"""


@pytest.mark.parametrize(("cluster", "history"), histories(TRUNCATION_ON_FETCH))
def test_truncation_on_fetch(cluster: str, history: str) -> None:
    """Since 2.7 the response to a fetch says where the logs diverge. Fact sheet 3.5 and 8.7."""
    play(cluster_of(cluster), history)

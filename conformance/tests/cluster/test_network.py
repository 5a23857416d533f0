"""Messages, connections and processes on the executable cluster: late, lost, reordered and stale messages."""

from __future__ import annotations

import pytest

from conformance.tests.support.histories import cluster_of, histories, play
from isrcheck.conformance.cluster.broker.broker import TimerKind
from isrcheck.conformance.cluster.network.messages import FetchRequest

HISTORIES = """
== a fetcher waits for its one request
0.10 replicas=2
do_work 1 0: yes; do_work 1 0: no; advance 29999; do_work 1 0: no; advance 1; do_work 1 0: yes; in_flight: 0 1

== a response to an abandoned request is ignored
0.10 replicas=2
append a 0; ask 1 0; in_flight: 2; advance 30000; do_work 1 0; [deliver|drop] 2; log 1: -; outstanding 1 0: 3

== a follower backs off after any lost message
2.1 replicas=2 replica_fetch_backoff_ms=1000
append a 0; do_work 1 0; outstanding 1 0: 1; [|deliver 1;] drop; outstanding 1 0: none
do_work 1 0: no; advance 1000; do_work 1 0: yes

== a leader's crash loses parked fetches, but no sent responses
2.1
ask 1 0: none; append a 0; ask 2 0; crash 0; outstanding 1 0: none; outstanding 2 0: 2; deliver 3; log 2: a

== a response to an ended process does not reach the next
0.10 replicas=2
append a 0; ask 1 0; bounce 1; deliver 2; log 1: -; in_flight: -

== metadata can be late, reordered or lost: messages 0 to 2 are of the first election, for brokers 0 to 2
2.1
elect preferred 1; elect preferred 2; deliver 3; deliver 0; drop 1; deliver 4
leader_known_to 0: 2 2; leader_known_to 1: 2 2; leader_known_to 2: 0 0; announcements: 2 5

== a starting process receives only the current metadata
2.1
crash 2; elect preferred 1; in_flight: 0 1; start_process 2; leader_known_to 2: none -1
learn 2; leader_known_to 2: 1 1

== metadata for an ended process is lost
2.1
elect preferred 1; crash 2; start_process 2; deliver 2; leader 2: none

== a frozen broker handles nothing until it is thawed
2.1 replicas=2
do_work 1 0; freeze 0
deliver 0 ! message #0: broker 0 is frozen; thaw it, or drop the message
check_isr 0 ! broker 0 is frozen; thaw it first
timers 0: -; thaw 0; deliver 0; parked_fetches 0: 1,0,500

== a broken connection leaves the producer without outcome
2.1 replicas=2
append a 0; produce b 0; crash 0; sent outcome: NETWORK_EXCEPTION none
deliver_requests; sent outcome: NETWORK_EXCEPTION NETWORK_EXCEPTION; sent is_unanswered: yes yes

== a producer respects its limits
2.1 replicas=2 max_in_flight_requests_per_connection=1 retries=1
produce a 0; produce b 0 ! 1 requests to broker 0 are in flight
drop; resend 0 0; drop; resend 1 0 ! producer producer: a was retried 1 times; raise
sent payload: a a; sent retry_of: none 0

== an idempotent producer refuses acks=1
2.1 replicas=2 idempotent
append a 0 1 ! idempotence needs acks=all, not 1

== an idempotent producer refuses the same settings as Kafka's
2.1 replicas=2 idempotent [retries=0|max_in_flight_requests_per_connection=6]
produce a 0 ! [idempotence needs retries; set `retries`|idempotence allows at most 5 requests]

== transactions need idempotence
2.1 replicas=2
produce a 0; begin_transaction ! transactions need idempotence

== batches that overtake one another are refused
2.1 replicas=2 idempotent
produce a 0; produce b 0; deliver 1; deliver 0; log 0: a; deliver; last_outcome: UNKNOWN_PRODUCER_ID

== nonexistent names are refused in one line
2.1 replicas=2
deliver 7 ! no message #7 is in flight; in flight are []
crash 2 ! there is no broker 2; the brokers are [0, 1]
restart 0 ! broker 0 runs already; crash it first
thaw 0 ! broker 0 is not frozen
do_work 0 1 ! broker 0 does not fetch from 1, only from []
resend 0 0 ! producer producer has sent no request 0; it has sent 0
write_marker 0 ! coordinator: no transaction of producer producer is committed or aborted
append a 0 all controller ! the name controller belongs to a client of another kind; use
consume 2 ! there is no broker 2;
produce a 2 ! there is no broker 2;
resend 0 2 ! there is no broker 2;
write_marker 2 ! there is no broker 2;
delete_records 2 0 ! there is no broker 2;
seek 0 ! there is no consumer consumer; create it with consume

== a follower that comes back catches up
2.1 replicas=2
crash 1; append a 0 1; restart 1; reconcile 1; ask 1 0; apply 1 0; fetch 1 0; log 1: a; high_watermark 0: 1
"""


@pytest.mark.parametrize(("cluster", "history"), histories(HISTORIES))
def test_messages(cluster: str, history: str) -> None:
    play(cluster_of(cluster), history)


def test_every_message_can_be_observed() -> None:
    cluster = cluster_of("2.1 replicas=2")
    cluster.fire(1, TimerKind.FETCHER_DO_WORK, 0)
    (message,) = cluster.messages()
    assert (message.number, message.source, message.destination, message.source_process) == (0, 1, 0, 1)
    assert message.payload == FetchRequest(fetch_offset=0, log_start_offset=0, current_leader_epoch=0)
    assert cluster.observe().network == (message,)

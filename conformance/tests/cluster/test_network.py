"""Messages, connections and processes on the executable cluster: late, lost, reordered and stale messages."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from isrcheck.conformance.cluster.acts import (
    append,
    apply,
    ask,
    bounce,
    deliver_requests,
    fetch,
    learn,
    payloads,
    reconcile,
    restart,
    view_of,
)
from isrcheck.conformance.cluster.broker.broker import TimerKind
from isrcheck.conformance.cluster.cluster import Cluster
from isrcheck.conformance.cluster.configuration.settings import ClusterError, Settings, Start
from isrcheck.conformance.cluster.controller.controller import Election
from isrcheck.conformance.cluster.network.messages import Acks, Errors, FetchRequest

PROMPT = Settings(replica_fetch_backoff_ms=0)
PAIR = Start(replicas=2)


def outstanding(cluster: Cluster, follower: int, leader: int) -> int | None:
    (found,) = [each.outstanding for each in view_of(cluster, follower).fetchers if each.source == leader]
    return found


def test_every_message_can_be_observed() -> None:
    cluster = Cluster("2.1", PAIR, PROMPT)
    cluster.fire(1, TimerKind.FETCHER_DO_WORK, 0)
    (message,) = cluster.messages()
    assert (message.number, message.source, message.destination, message.source_process) == (0, 1, 0, 1)
    assert message.payload == FetchRequest(fetch_offset=0, log_start_offset=0, current_leader_epoch=0)
    assert cluster.observe().network == (message,)


def test_a_fetcher_waits_for_its_one_request() -> None:
    cluster = Cluster("0.10", PAIR, PROMPT)
    assert cluster.fire(1, TimerKind.FETCHER_DO_WORK, 0) is True
    assert cluster.fire(1, TimerKind.FETCHER_DO_WORK, 0) is False
    cluster.advance(29_999)
    assert cluster.fire(1, TimerKind.FETCHER_DO_WORK, 0) is False
    cluster.advance(1)
    assert cluster.fire(1, TimerKind.FETCHER_DO_WORK, 0) is True
    assert [each.number for each in cluster.messages()] == [0, 1]


@pytest.mark.parametrize("act", [Cluster.deliver, Cluster.drop])
def test_a_response_to_an_abandoned_request_is_ignored(act: Callable[[Cluster, int], None]) -> None:
    cluster = Cluster("0.10", PAIR, PROMPT)
    append(cluster, "a", leader=0)
    answer = ask(cluster, 1, 0)
    assert answer is not None
    cluster.advance(30_000)
    cluster.fire(1, TimerKind.FETCHER_DO_WORK, 0)
    act(cluster, answer.number)
    assert (payloads(cluster, 1), outstanding(cluster, 1, 0)) == ((), cluster.messages()[-1].number)


@pytest.mark.parametrize("lost", ["request", "answer"])
def test_a_follower_backs_off_after_any_lost_message(lost: str) -> None:
    cluster = Cluster("2.1", PAIR, Settings())
    append(cluster, "a", leader=0)
    cluster.fire(1, TimerKind.FETCHER_DO_WORK, 0)
    request = outstanding(cluster, 1, 0)
    assert request is not None
    if lost == "answer":
        cluster.deliver(request)
        (request,) = [each.number for each in cluster.messages() if each.in_reply_to == request]
    cluster.drop(request)
    assert outstanding(cluster, 1, 0) is None
    assert cluster.fire(1, TimerKind.FETCHER_DO_WORK, 0) is False
    cluster.advance(1_000)
    assert cluster.fire(1, TimerKind.FETCHER_DO_WORK, 0) is True


def test_a_leaders_crash_loses_parked_fetches_but_no_sent_responses() -> None:
    cluster = Cluster("2.1", None, PROMPT)
    ask(cluster, 1, 0)
    append(cluster, "a", leader=0)
    answer = ask(cluster, 2, 0)
    assert answer is not None
    cluster.crash(0)
    assert (outstanding(cluster, 1, 0), outstanding(cluster, 2, 0)) == (None, answer.in_reply_to)
    cluster.deliver(answer.number)
    assert payloads(cluster, 2) == ("a",)


def test_a_response_to_an_ended_process_does_not_reach_the_next() -> None:
    cluster = Cluster("0.10", PAIR, PROMPT)
    append(cluster, "a", leader=0)
    answer = ask(cluster, 1, 0)
    assert answer is not None
    bounce(cluster, 1)
    cluster.deliver(answer.number)
    assert (payloads(cluster, 1), cluster.messages()) == ((), ())


def test_metadata_can_be_late_reordered_or_lost() -> None:
    cluster = Cluster("2.1", None, PROMPT)
    cluster.elect(Election.PREFERRED, 1)
    cluster.elect(Election.PREFERRED, 2)
    told = {each: [m.number for m in cluster.messages() if m.destination == each] for each in cluster.brokers}
    assert {each: len(numbers) for each, numbers in told.items()} == {0: 2, 1: 2, 2: 2}
    cluster.deliver(told[0][1])
    cluster.deliver(told[0][0])
    cluster.drop(told[1][0])
    cluster.deliver(told[1][1])
    assert [(each.leader, each.leader_epoch) for each in cluster.observe().brokers] == [(2, 2), (2, 2), (0, 0)]
    assert [each.number for each in cluster.observe().controller.announcements] == told[2]


def test_a_starting_process_receives_only_the_current_metadata() -> None:
    cluster = Cluster("2.1", None, PROMPT)
    cluster.crash(2)
    cluster.elect(Election.PREFERRED, 1)
    assert [each.destination for each in cluster.messages()] == [0, 1]
    cluster.restart(2)
    assert (view_of(cluster, 2).leader, view_of(cluster, 2).leader_epoch) == (None, -1)
    learn(cluster, 2)
    assert (view_of(cluster, 2).leader, view_of(cluster, 2).leader_epoch) == (1, 1)


def test_metadata_for_an_ended_process_is_lost() -> None:
    cluster = Cluster("2.1", None, PROMPT)
    cluster.elect(Election.PREFERRED, 1)
    (old,) = [each.number for each in cluster.messages() if each.destination == 2]
    cluster.crash(2)
    cluster.restart(2)
    cluster.deliver(old)
    assert view_of(cluster, 2).leader is None


def test_a_frozen_broker_handles_nothing_until_it_is_thawed() -> None:
    cluster = Cluster("2.1", PAIR, PROMPT)
    cluster.fire(1, TimerKind.FETCHER_DO_WORK, 0)
    cluster.freeze(0)
    with pytest.raises(ClusterError, match="message #0: broker 0 is frozen; thaw it, or drop the message"):
        cluster.deliver(0)
    with pytest.raises(ClusterError, match="broker 0 is frozen; thaw it first"):
        cluster.fire(0, TimerKind.ISR_SHRINK_CHECK)
    assert cluster.timers(0) == ()
    cluster.thaw(0)
    cluster.deliver(0)
    assert cluster.timers(0)[-1] == (TimerKind.DELAYED_FETCH, 1)


def test_a_broken_connection_leaves_the_producer_without_outcome() -> None:
    cluster = Cluster("2.1", PAIR, PROMPT)
    append(cluster, "a", leader=0)
    cluster.produce("b", 0)
    cluster.crash(0)
    (sent,) = [sent for _, sent in cluster.observe().sent]
    assert [each.outcome for each in sent] == [Errors.NETWORK_EXCEPTION, None]
    deliver_requests(cluster)
    (sent,) = [sent for _, sent in cluster.observe().sent]
    assert [(each.outcome, each.is_unanswered) for each in sent] == [(Errors.NETWORK_EXCEPTION, True)] * 2


def test_a_producer_respects_its_limits() -> None:
    cluster = Cluster("2.1", PAIR, Settings(max_in_flight_requests_per_connection=1, retries=1))
    first = cluster.produce("a", 0)
    with pytest.raises(ClusterError, match="1 requests to broker 0 are in flight"):
        cluster.produce("b", 0)
    cluster.drop(cluster.messages()[-1].number)
    second = cluster.resend(first, 0)
    cluster.drop(cluster.messages()[-1].number)
    with pytest.raises(ClusterError, match="producer producer: a was retried 1 times; raise"):
        cluster.resend(second, 0)
    (sent,) = [sent for _, sent in cluster.observe().sent]
    assert [(each.payload, each.retry_of) for each in sent] == [("a", None), ("a", 0)]


def test_an_idempotent_producer_refuses_the_same_settings_as_kafkas() -> None:
    cluster = Cluster("2.1", PAIR, Settings(idempotent=True))
    with pytest.raises(ClusterError, match="idempotence needs acks=all, not 1"):
        cluster.produce("a", 0, Acks.LEADER)
    for settings, why in (
        (Settings(idempotent=True, retries=0), "idempotence needs retries; set `retries`"),
        (Settings(idempotent=True, max_in_flight_requests_per_connection=6), "idempotence allows at most 5 requests"),
    ):
        with pytest.raises(ClusterError, match=why):
            Cluster("2.1", PAIR, settings).produce("a", 0)
    sent = Cluster("2.1", PAIR)
    sent.produce("a", 0)
    with pytest.raises(ClusterError, match="transactions need idempotence"):
        sent.begin_transaction()


def test_batches_that_overtake_one_another_are_refused() -> None:
    cluster = Cluster("2.1", PAIR, Settings(idempotent=True))
    cluster.produce("a", 0)
    cluster.produce("b", 0)
    first, second = (each.number for each in cluster.messages())
    cluster.deliver(second)
    cluster.deliver(first)
    assert payloads(cluster, 0) == ("a",)
    (answer,) = cluster.messages()
    cluster.deliver(answer.number)
    assert cluster.observe().sent[0][1][1].outcome is Errors.UNKNOWN_PRODUCER_ID


def test_nonexistent_names_are_refused_in_one_line() -> None:
    cluster = Cluster("2.1", PAIR, PROMPT)
    for act, why in (
        (lambda: cluster.deliver(7), r"^no message #7 is in flight; in flight are \[\]$"),
        (lambda: cluster.crash(2), r"^there is no broker 2; the brokers are \[0, 1\]$"),
        (lambda: cluster.restart(0), r"^broker 0 runs already; crash it first$"),
        (lambda: cluster.thaw(0), r"^broker 0 is not frozen$"),
        (lambda: cluster.fire(0, TimerKind.FETCHER_DO_WORK, 1), r"^broker 0 does not fetch from 1, only from \[\]$"),
        (lambda: cluster.resend(0, 0), r"^producer producer has sent no request 0; it has sent 0$"),
        (lambda: cluster.write_marker(0), r"^coordinator: nothing is decided for producer producer"),
        (lambda: cluster.produce("a", 0, producer="controller"), r"^controller is a client of another kind; use"),
        (lambda: cluster.consume(2), r"^there is no broker 2; "),
        (lambda: cluster.produce("a", 2), r"^there is no broker 2; "),
        (lambda: cluster.resend(0, 2), r"^there is no broker 2; "),
        (lambda: cluster.write_marker(2), r"^there is no broker 2; "),
        (lambda: cluster.delete_records(2, 0), r"^there is no broker 2; "),
        (lambda: cluster.seek(0), r"^there is no consumer consumer; create it with consume$"),
    ):
        with pytest.raises(ClusterError, match=why):
            act()


def test_a_follower_that_comes_back_catches_up() -> None:
    cluster = Cluster("2.1", PAIR, PROMPT)
    cluster.crash(1)
    append(cluster, "a", leader=0, acks=Acks.LEADER)
    restart(cluster, 1)
    reconcile(cluster, 1)
    ask(cluster, 1, 0)
    apply(cluster, 1, 0)
    fetch(cluster, 1, 0)
    assert (payloads(cluster, 1), view_of(cluster, 0).high_watermark) == (("a",), 1)

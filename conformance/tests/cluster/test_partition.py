"""Leaders and followers on the executable cluster: high watermark, ISR, acks, fetches, truncation. Each test covers one
rule of the fact sheet, sections 2 to 5."""

from __future__ import annotations

import pytest

from isrcheck.conformance.cluster.acts import (
    acknowledged,
    append,
    apply,
    ask,
    bounce,
    complete_parked_fetch,
    fetch,
    learn,
    payloads,
    read,
    reconcile,
    restart,
    view_of,
)
from isrcheck.conformance.cluster.broker.broker import TimerKind
from isrcheck.conformance.cluster.broker.fetcher import Mode
from isrcheck.conformance.cluster.cluster import Cluster
from isrcheck.conformance.cluster.configuration.protocol import generation
from isrcheck.conformance.cluster.configuration.settings import ClusterError, Settings, Start
from isrcheck.conformance.cluster.controller.controller import Election
from isrcheck.conformance.cluster.log.epoch_cache import EpochEntry
from isrcheck.conformance.cluster.network.messages import (
    Acks,
    Errors,
    FetchResponse,
    Isolation,
    OffsetsForLeaderEpochResponse,
    Payload,
)
from isrcheck.conformance.cluster.network.network import Message
from isrcheck.conformance.cluster.network.records import Control
from isrcheck.conformance.cluster.observe import LeadershipView

PROMPT = Settings(replica_fetch_backoff_ms=0)
PAIR = Start(replicas=2)
EVERY_PROTOCOL = pytest.mark.parametrize("protocol", ["0.10", "0.11", "2.0", "2.1"])


def leadership(cluster: Cluster, broker: int = 0) -> LeadershipView:
    found = view_of(cluster, broker).leadership
    assert found is not None
    return found


def payload_of(message: Message | None) -> Payload:
    assert message is not None
    return message.payload


def outcomes(cluster: Cluster) -> list[Errors | None]:
    acknowledged(cluster)
    return [each.outcome for _, sent in cluster.observe().sent for each in sent]


@EVERY_PROTOCOL
def test_a_cluster_starts_stable_and_elected(protocol: str) -> None:
    cluster = Cluster(protocol, Start(isr=frozenset({0, 1}), log=("a", "b"), held=((2, 1),)))
    view = cluster.observe()
    assert [(each.log_end_offset, each.high_watermark) for each in view.brokers] == [(2, 2), (2, 2), (1, 1)]
    assert [(each.leader, each.leader_epoch, each.is_truncating) for each in view.brokers] == [(0, 0, False)] * 3
    assert leadership(cluster).remote_log_end_offsets == ((1, 2), (2, 1))
    assert (leadership(cluster).isr, view.controller.isr, view.network) == ({0, 1}, {0, 1}, ())
    assert {each.epoch_entries for each in view.brokers} == {(EpochEntry(0, 0),)}


def test_an_unstable_start_is_refused() -> None:
    with pytest.raises(ClusterError, match=r"the ISR \[1\] has to contain the leader 0"):
        Start(isr=frozenset({1}))
    with pytest.raises(ClusterError, match="broker 1 cannot hold 1 of 0 records"):
        Start(isr=frozenset({0}), held=((1, 1),))


@EVERY_PROTOCOL
def test_the_high_watermark_follows_the_slowest_isr_member(protocol: str) -> None:
    cluster = Cluster(protocol, None, PROMPT)
    append(cluster, "a", leader=0)
    append(cluster, "b", leader=0)
    for follower in (1, 2):
        fetch(cluster, follower, 0)
    ask(cluster, 1, 0)
    assert view_of(cluster, 0).high_watermark == 0
    ask(cluster, 2, 0)
    assert view_of(cluster, 0).high_watermark == 2
    assert leadership(cluster).remote_log_end_offsets == ((1, 2), (2, 2))
    assert acknowledged(cluster) == ("a", "b")


def test_a_response_carries_the_high_watermark_from_before_its_fetch() -> None:
    cluster = Cluster("2.1", PAIR, PROMPT)
    append(cluster, "a", leader=0)
    fetch(cluster, 1, 0)
    append(cluster, "b", leader=0)
    response = payload_of(ask(cluster, 1, 0))
    assert isinstance(response, FetchResponse)
    assert (response.high_watermark, view_of(cluster, 0).high_watermark) == (0, 1)


def test_a_fetch_without_new_records_waits_for_them() -> None:
    cluster = Cluster("2.1", PAIR, PROMPT)
    assert ask(cluster, 1, 0) is None
    assert leadership(cluster).parked_fetches == ((1, 0, 500),)
    assert cluster.fire(0, TimerKind.DELAYED_FETCH, 1) is False
    append(cluster, "a", leader=0)
    complete_parked_fetch(cluster, 0, 1)
    assert (cluster.now, leadership(cluster).remote_log_end_offsets) == (0, ((1, 0),))
    apply(cluster, 1, 0)
    assert payloads(cluster, 1) == ("a",)


def test_a_fetch_without_new_records_returns_the_high_watermark_after_500_ms() -> None:
    cluster = Cluster("2.1", PAIR, PROMPT)
    append(cluster, "a", leader=0)
    fetch(cluster, 1, 0)
    fetch(cluster, 1, 0)
    cluster.advance(499)
    assert cluster.fire(0, TimerKind.DELAYED_FETCH, 1) is False
    cluster.advance(1)
    assert cluster.fire(0, TimerKind.DELAYED_FETCH, 1) is True
    apply(cluster, 1, 0)
    assert view_of(cluster, 1).high_watermark == 1


@pytest.mark.parametrize(("protocol", "exempt"), [("0.10", False), ("2.0", False), ("2.1", True)])
def test_a_follower_that_lags_too_long_leaves_the_isr(protocol: str, exempt: bool) -> None:
    """Followers at the log end are exempt since 2.1, dead or not."""
    cluster = Cluster(protocol, Start(log=("r",)), PROMPT)
    cluster.advance(5_000)
    fetch(cluster, 1, 0)
    cluster.advance(5_000)
    assert cluster.fire(0, TimerKind.ISR_SHRINK_CHECK) is False
    cluster.advance(1)
    assert cluster.fire(0, TimerKind.ISR_SHRINK_CHECK) is not exempt
    assert leadership(cluster).isr == cluster.observe().controller.isr == ({0, 1, 2} if exempt else {0, 1})
    append(cluster, "a", leader=0)
    cluster.fire(0, TimerKind.ISR_SHRINK_CHECK)
    assert leadership(cluster).isr == {0, 1}


def test_a_follower_counts_as_caught_up_since_its_previous_fetch() -> None:
    cluster = Cluster("2.1", PAIR, PROMPT)
    append(cluster, "a", leader=0)
    cluster.advance(3_000)
    fetch(cluster, 1, 0)  # at 0 of 1: not caught up since the start
    append(cluster, "b", leader=0)
    cluster.advance(3_000)
    ask(cluster, 1, 0)  # at 1 of 2: it has what the leader had at its fetch before, at 3000
    assert leadership(cluster).last_caught_up_times == ((1, 3_000),)


@EVERY_PROTOCOL
def test_only_a_fetch_expands_the_isr_and_it_need_not_reach_the_log_end(protocol: str) -> None:
    cluster = Cluster(protocol, Start(isr=frozenset({0, 1}), log=("r",), held=((2, 0),)), PROMPT)
    fetch(cluster, 2, 0)
    append(cluster, "a", leader=0)
    assert leadership(cluster).isr == {0, 1}
    ask(cluster, 2, 0)
    assert leadership(cluster).isr == cluster.observe().controller.isr == {0, 1, 2}
    assert view_of(cluster, 2).log_end_offset == 1


def test_a_leader_of_an_older_epoch_cannot_write_the_isr() -> None:
    cluster = Cluster("2.1", Start(isr=frozenset({0, 1})), PROMPT)
    cluster.elect(Election.PREFERRED, 1)
    ask(cluster, 2, 0)
    assert leadership(cluster).isr == {0, 1}
    assert [each.is_accepted for each in cluster.observe().controller.isr_writes] == [False]


def test_acks_decide_when_the_producer_gets_its_response() -> None:
    cluster = Cluster("2.1", PAIR, PROMPT)
    for payload, acks in (("a", Acks.NONE), ("b", Acks.LEADER), ("c", Acks.ALL)):
        append(cluster, payload, leader=0, acks=acks)
    assert acknowledged(cluster) == ("b",)
    assert leadership(cluster).delayed_produces == (("producer", 2, 3, 30_000),)
    fetch(cluster, 1, 0)
    fetch(cluster, 1, 0)
    assert acknowledged(cluster) == ("b", "c")


def test_min_insync_replicas_is_checked_before_and_after_the_append() -> None:
    cluster = Cluster("2.1", PAIR, PROMPT)
    append(cluster, "a", leader=0)
    cluster.advance(10_001)
    cluster.fire(0, TimerKind.ISR_SHRINK_CHECK)
    append(cluster, "b", leader=0)
    append(cluster, "c", leader=0, acks=Acks.LEADER)
    after, before = Errors.NOT_ENOUGH_REPLICAS_AFTER_APPEND, Errors.NOT_ENOUGH_REPLICAS
    assert outcomes(cluster) == [after, before, Errors.NONE]
    assert payloads(cluster, 0) == ("a", "c")
    assert view_of(cluster, 0).high_watermark == 2


def test_a_demoted_leader_fails_waiting_requests() -> None:
    cluster = Cluster("2.1", PAIR, PROMPT)
    append(cluster, "a", leader=0)
    cluster.elect(Election.PREFERRED, 1)
    append(cluster, "b", leader=1)
    learn(cluster, 0)
    assert outcomes(cluster) == [Errors.NOT_LEADER_OR_FOLLOWER] * 2


def test_a_restarted_leader_starts_from_its_checkpoint() -> None:
    cluster = Cluster("2.1", PAIR, PROMPT)
    append(cluster, "a", leader=0)
    fetch(cluster, 1, 0)
    fetch(cluster, 1, 0)
    cluster.fire(0, TimerKind.HIGH_WATERMARK_CHECKPOINT)
    append(cluster, "b", leader=0)
    bounce(cluster, 0)
    view = leadership(cluster)
    assert view_of(cluster, 0).high_watermark == 1
    assert (view.leader_epoch_start_offset, view.remote_log_end_offsets) == (2, ((1, None),))
    assert view_of(cluster, 0).epoch_entries == (EpochEntry(0, 0),)


@EVERY_PROTOCOL
def test_since_2_1_a_new_leader_records_its_epoch_at_once(protocol: str) -> None:
    cluster = Cluster(protocol, PAIR, PROMPT)
    cluster.elect(Election.PREFERRED, 1)
    learn(cluster, 1)
    assert view_of(cluster, 1).epoch_entries == ((EpochEntry(1, 0),) if protocol == "2.1" else ())
    append(cluster, "a", leader=1)
    assert view_of(cluster, 1).epoch_entries == (EpochEntry(1, 0),)


def test_0_10_truncates_on_becoming_follower_and_later_releases_reconcile_first() -> None:
    for protocol, log, mode in (("0.10", (), Mode.FETCHING), ("0.11", ("a",), Mode.TRUNCATING)):
        cluster = Cluster(protocol, PAIR, PROMPT)
        append(cluster, "a", leader=0)
        cluster.elect(Election.PREFERRED, 1)
        learn(cluster, 0)
        assert payloads(cluster, 0) == log
        assert [each.mode for each in view_of(cluster, 0).fetchers] == [mode]


def test_0_11_receives_an_offset_and_2_0_also_an_epoch() -> None:
    for protocol, epoch in (("0.11", -1), ("2.0", 0), ("2.1", 0)):
        cluster = Cluster(protocol, Start(replicas=2, log=("r",)), PROMPT)
        bounce(cluster, 1)
        answer = payload_of(ask(cluster, 1, 0))
        assert answer == OffsetsForLeaderEpochResponse(Errors.NONE, epoch, 1)
        apply(cluster, 1, 0)
        assert not view_of(cluster, 1).is_truncating


def test_since_2_0_a_follower_without_epochs_truncates_by_itself() -> None:
    for protocol, messages in (("0.11", 1), ("2.0", 0), ("2.1", 0)):
        cluster = Cluster(protocol, PAIR, PROMPT)
        bounce(cluster, 1)
        cluster.fire(1, TimerKind.FETCHER_DO_WORK, 0)
        assert (len(cluster.messages()), view_of(cluster, 1).is_truncating) == (messages, messages == 1)


def test_a_truncating_follower_drops_fetch_responses() -> None:
    cluster = Cluster("2.1", Start(log=("r",)), PROMPT)
    append(cluster, "a", leader=0)
    ask(cluster, 1, 0)
    cluster.crash(2)
    cluster.notice_dead(2)
    learn(cluster, 1)
    assert cluster.fire(1, TimerKind.FETCHER_DO_WORK, 0) is False  # its response is still outstanding
    apply(cluster, 1, 0)
    assert (payloads(cluster, 1), view_of(cluster, 1).is_truncating) == (("r",), True)


def test_a_former_leaders_response_is_dropped_except_in_0_10_after_its_return() -> None:
    for protocol, back, log in (("2.1", False, ()), ("0.10", False, ()), ("0.10", True, ("a",)), ("2.1", True, ())):
        cluster = Cluster(protocol, None, PROMPT)
        append(cluster, "a", leader=0)
        ask(cluster, 2, 0)
        cluster.elect(Election.PREFERRED, 1)
        learn(cluster, 2)
        if back:
            cluster.elect(Election.PREFERRED, 0)
            learn(cluster, 2)
        apply(cluster, 2, 0)
        assert payloads(cluster, 2) == log


def test_a_fenced_fetcher_waits_for_metadata_and_an_unknown_epoch_is_retried() -> None:
    cluster = Cluster("2.1", None, Settings())
    cluster.elect(Election.PREFERRED, 1)
    learn(cluster, 1)
    cluster.elect(Election.PREFERRED, 0)
    learn(cluster, 0)
    assert payload_of(ask(cluster, 2, 0)) == FetchResponse(Errors.FENCED_LEADER_EPOCH, 0)
    apply(cluster, 2, 0)
    assert [each.mode for each in view_of(cluster, 2).fetchers] == [Mode.FAILED]
    assert cluster.fire(2, TimerKind.FETCHER_DO_WORK, 0) is False
    learn(cluster, 2)
    assert [each.mode for each in view_of(cluster, 2).fetchers] == [Mode.TRUNCATING]


def test_a_newer_epoch_than_the_leaders_is_retried_after_a_back_off() -> None:
    cluster = Cluster("2.1", Start(log=("r",)), Settings())
    cluster.elect(Election.PREFERRED, 1)
    learn(cluster, 2)
    assert payload_of(ask(cluster, 2, 1)) == OffsetsForLeaderEpochResponse(Errors.UNKNOWN_LEADER_EPOCH)
    apply(cluster, 2, 1)
    learn(cluster, 1)
    assert cluster.fire(2, TimerKind.FETCHER_DO_WORK, 1) is False
    cluster.advance(1_000)
    reconcile(cluster, 2)
    assert not view_of(cluster, 2).is_truncating


def test_a_follower_below_its_leaders_log_start_restarts_its_log_there() -> None:
    cluster = Cluster("2.1", Start(replicas=2, isr=frozenset({0}), log=("a", "b")), Settings(min_insync_replicas=1))
    cluster.delete_records(0, 2)
    cluster.deliver(cluster.messages()[-1].number)
    answer = ask(cluster, 1, 0)
    assert payload_of(answer) == FetchResponse(Errors.OFFSET_OUT_OF_RANGE, 0)
    apply(cluster, 1, 0)
    for _ in range(2):
        cluster.deliver(cluster.messages()[-1].number)
        apply(cluster, 1, 0)
    view = view_of(cluster, 1)
    assert (view.log_start_offset, view.log_end_offset, view.epoch_entries) == (2, 2, ())
    append(cluster, "c", leader=0)
    fetch(cluster, 1, 0)
    cluster.crash(1)
    assert (payloads(cluster, 1), view_of(cluster, 1).log_start_offset) == (("c",), 2)
    restart(cluster, 1)
    assert (payloads(cluster, 1), view_of(cluster, 1).log_start_offset) == (("c",), 2)


def test_deleted_records_are_gone_everywhere_before_the_response() -> None:
    cluster = Cluster("2.1", Start(replicas=2, log=("a", "b")), PROMPT)
    cluster.delete_records(0, 1)
    cluster.deliver(cluster.messages()[-1].number)
    assert (payloads(cluster, 0), payloads(cluster, 1), cluster.messages()) == (("b",), ("a", "b"), ())
    append(cluster, "c", leader=0)
    fetch(cluster, 1, 0)
    assert payloads(cluster, 1) == ("b", "c")
    ask(cluster, 1, 0)
    (answer,) = [each for each in cluster.messages() if each.destination == "administrator"]
    cluster.deliver(answer.number)
    (told,) = cluster.observe().deletes
    assert told is not None
    assert (told.error, told.low_watermark) == (Errors.NONE, 1)


@pytest.mark.parametrize(
    ("broker", "offset", "error", "low_watermark"),
    [
        (0, 2, Errors.OFFSET_OUT_OF_RANGE, -1),
        (1, 1, Errors.NOT_LEADER_OR_FOLLOWER, -1),
        (0, 0, Errors.NONE, 0),
        (0, -1, Errors.NONE, 1),
    ],
)
def test_delete_records_gets_a_response(broker: int, offset: int, error: Errors, low_watermark: int) -> None:
    """Broker 1 is down, so that the leader's own log start is the low watermark."""
    cluster = Cluster("2.1", Start(replicas=3, log=("a",)), PROMPT)
    cluster.crash(2)
    if broker == 0:
        cluster.crash(1)
    append(cluster, "b", leader=0)
    cluster.delete_records(broker, offset)
    cluster.deliver(cluster.messages()[-1].number)
    cluster.deliver(cluster.messages()[-1].number)
    (told,) = cluster.observe().deletes
    assert told is not None
    assert (told.error, told.low_watermark) == (error, low_watermark)


def test_a_leader_sends_a_consumer_to_the_follower_in_its_rack_that_has_its_position() -> None:
    """KIP-392. A follower that refuses the consumer is given up."""
    cluster = Cluster("2.4", Start(replicas=3), Settings(replica_fetch_backoff_ms=0, follower_fetching=True))
    append(cluster, "a", 0)
    fetch(cluster, 1, 0)
    cluster.tell_consumer(0)

    def sent_to(broker: int, rack: int | None) -> int | None:
        cluster.consume(broker, rack=rack)
        cluster.deliver(cluster.messages()[-1].number)
        cluster.deliver(cluster.messages()[-1].number)
        return cluster.observe_consumers()[0].preferred_read_replica

    cluster.seek(1)
    assert [sent_to(0, None), sent_to(0, 0)] == [None, None]  # no rack, and the leader's own
    fetch(cluster, 1, 0)
    assert [sent_to(0, 2), sent_to(0, 1)] == [None, 1]  # broker 2 has fetched nothing
    with pytest.raises(ClusterError, match="consumer consumer reads from broker 1; ask that one, or expire it"):
        cluster.consume(0)
    cluster.expire_preferred_read_replica()
    assert sent_to(0, 1) == 1
    cluster.seek(3)
    assert sent_to(1, 1) is None  # OFFSET_OUT_OF_RANGE
    alone = Cluster("2.4", Start(replicas=2), Settings(replica_fetch_backoff_ms=0))
    alone.consume(0, rack=1)
    alone.deliver(alone.messages()[-1].number)
    alone.deliver(alone.messages()[-1].number)
    assert alone.observe_consumers()[0].preferred_read_replica is None  # no replica.selector.class


def test_a_consumer_reads_each_record_once_and_no_aborted_ones_if_read_committed() -> None:
    cluster = Cluster("2.1", Start(replicas=1), Settings(min_insync_replicas=1, idempotent=True))
    committed = Isolation.READ_COMMITTED
    for payload, control in (("a", Control.ABORT), ("b", Control.COMMIT), ("c", Control.ABORT)):
        cluster.begin_transaction()
        append(cluster, payload, leader=0)
        append(cluster, f"{payload}+", leader=0, producer="other")
        cluster.end_transaction(control)
        cluster.write_marker(0)
        cluster.deliver(cluster.messages()[-1].number)
        read(cluster, 0)
        read(cluster, 0, "committed", committed)
    assert read(cluster, 0) == ("a", "a+", "b", "b+", "c", "c+")
    assert read(cluster, 0, "committed", committed) == ("a+", "b", "b+", "c+")
    assert [each.position for each in cluster.observe().consumers] == [9, 9]


@pytest.mark.parametrize(("epochs", "is_truncating"), [(1, False), (2, True)])
def test_2_0_1_skips_the_same_leader_in_the_next_epoch_only(epochs: int, is_truncating: bool) -> None:
    protocol = generation("2.0").with_switch("FOLLOWER_SKIP", "SAME_LEADER_NEXT_EPOCH")
    cluster = Cluster(protocol, Start(replicas=5), PROMPT)
    for dead in (3, 4)[2 - epochs :]:
        cluster.crash(dead)
        cluster.notice_dead(dead)
    learn(cluster, 1)
    cluster.crash(2)
    cluster.notice_dead(2)
    learn(cluster, 1)
    assert view_of(cluster, 1).is_truncating is is_truncating


def test_a_new_instance_of_a_producer_fences_the_old_one() -> None:
    cluster = Cluster("2.1", Start(replicas=1), Settings(min_insync_replicas=1, idempotent=True))
    cluster.begin_transaction()
    append(cluster, "a", leader=0)
    late = cluster.produce("b", 0)
    cluster.drop(cluster.messages()[-1].number)
    cluster.init_producer_id()
    cluster.write_marker(0)
    cluster.deliver(cluster.messages()[-1].number)
    cluster.resend(late, 0)
    cluster.deliver(cluster.messages()[-1].number)
    append(cluster, "c", leader=0)
    assert payloads(cluster, 0) == ("a", "ABORT", "c")
    assert outcomes(cluster) == [Errors.NONE, Errors.NETWORK_EXCEPTION, Errors.INVALID_PRODUCER_EPOCH, Errors.NONE]
    assert [each.outcome for each in cluster.observe().markers] == [Errors.NONE]
    cluster.begin_transaction()  # the new instance is in none


def test_a_marker_needs_a_leader_and_enough_replicas() -> None:
    cluster = Cluster("2.1", Start(isr=frozenset({0})), Settings(idempotent=True))
    cluster.begin_transaction()
    cluster.end_transaction(Control.COMMIT)
    for broker in (0, 1):
        cluster.write_marker(broker)
        cluster.deliver(cluster.messages()[-1].number)
        cluster.deliver(cluster.messages()[-1].number)
    refused = [Errors.NOT_ENOUGH_REPLICAS, Errors.NOT_LEADER_OR_FOLLOWER]
    assert [each.outcome for each in cluster.observe().markers] == refused


def test_a_run_can_start_with_an_older_checkpoint() -> None:
    cluster = Cluster("2.1", Start(log=("a", "b"), checkpointed=((0, 1),)), PROMPT)
    assert view_of(cluster, 0).high_watermark == 2
    bounce(cluster, 0)
    assert view_of(cluster, 0).high_watermark == 1


def test_an_election_gives_only_isr_members_time_to_catch_up() -> None:
    cluster = Cluster("2.1", Start(isr=frozenset({0, 1})), PROMPT)
    cluster.advance(20_000)
    cluster.elect(Election.PREFERRED, 1)
    learn(cluster, 1)
    append(cluster, "a", leader=1)
    assert leadership(cluster, 1).last_caught_up_times == ((0, 20_000), (2, 0))
    cluster.advance(10_000)
    assert cluster.fire(1, TimerKind.ISR_SHRINK_CHECK) is False
    cluster.advance(1)
    assert cluster.fire(1, TimerKind.ISR_SHRINK_CHECK) is True


def test_a_consumer_out_of_range_gets_an_error() -> None:
    cluster = Cluster("2.1", Start(log=("a",)), PROMPT)
    assert read(cluster, 0) == ("a",)
    cluster.seek(5)
    assert read(cluster, 0) == ("a",)
    assert cluster.observe().consumers[0].error is Errors.OFFSET_OUT_OF_RANGE


def test_impossible_elections_are_refused_in_one_line() -> None:
    cluster = Cluster("2.1", Start(isr=frozenset({0, 1})))
    for kind, candidate, why in (
        (Election.FAIL_OVER, 2, r"^fail-over: broker 2 is not in the ISR \[0, 1\]; name a member$"),
        (Election.PREFERRED, 0, r"^election: broker 0 leads already, in epoch 0; name another$"),
        (Election.UNCLEAN, 2, r"^unclean election: ISR members \[0, 1\] are alive; request a fail-over$"),
    ):
        with pytest.raises(ClusterError, match=why):
            cluster.elect(kind, candidate)
    for broker, why in ((0, "broker 0 is alive"), (2, "broker 2 is alive")):
        with pytest.raises(ClusterError, match=why):
            cluster.notice_dead(broker)
    cluster.crash(0)
    with pytest.raises(ClusterError, match="broker 0 leads; request an election"):
        cluster.notice_dead(0)
    with pytest.raises(ClusterError, match="leader 0 is not alive; request a fail-over"):
        cluster.elect(Election.PREFERRED, 1)
    cluster.freeze(1)
    with pytest.raises(ClusterError, match="broker 1 is not alive; restart or thaw it"):
        cluster.elect(Election.FAIL_OVER, 1)


def test_a_dead_follower_is_removed_in_a_new_epoch_and_rejoins_by_a_fetch() -> None:
    cluster = Cluster("2.1", PAIR, PROMPT)
    cluster.crash(1)
    cluster.notice_dead(1)
    controller = cluster.observe().controller
    assert (controller.leader, controller.leader_epoch, controller.isr) == (0, 1, {0})
    learn(cluster, 0)
    assert leadership(cluster).isr == {0}
    restart(cluster, 1)
    reconcile(cluster, 1)
    ask(cluster, 1, 0)
    assert cluster.observe().controller.isr == {0, 1}


def test_switches_can_be_set_one_at_a_time() -> None:
    protocol = generation("2.1").with_switch("SHRINK_RULE", "LAST_CAUGHT_UP")
    cluster = Cluster(protocol, PAIR, PROMPT)
    cluster.advance(10_001)
    assert cluster.fire(0, TimerKind.ISR_SHRINK_CHECK) is True

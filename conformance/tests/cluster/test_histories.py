"""The known failures of Kafka's replication on the executable cluster: the record is lost in the affected generations,
and kept in the repaired ones. Numbers are those of the fact sheet, section 8.

A driver does only what is possible from outside: see `test_a_driver_uses_only_the_public_interface`.
"""

from __future__ import annotations

import pytest

from isrcheck.conformance.cluster.acts import (
    acknowledged,
    append,
    apply,
    ask,
    bounce,
    deliver_answers,
    deliver_requests,
    fetch,
    learn,
    payloads,
    read,
    reconcile,
    restart,
    view_of,
)
from isrcheck.conformance.cluster.broker.broker import TimerKind
from isrcheck.conformance.cluster.cluster import Cluster
from isrcheck.conformance.cluster.configuration.protocol import Switches, generation
from isrcheck.conformance.cluster.configuration.settings import ClusterError, Settings, Start
from isrcheck.conformance.cluster.controller.controller import Election
from isrcheck.conformance.cluster.network.messages import Acks, Errors, Isolation
from isrcheck.conformance.cluster.network.records import Control

PROMPT = Settings(replica_fetch_backoff_ms=0)
MIN_ISR_ONE = Settings(replica_fetch_backoff_ms=0, min_insync_replicas=1)


@pytest.mark.parametrize(("protocol", "left"), [("0.10", ()), ("0.11", ("m",)), ("2.0", ("m",)), ("2.1", ("m",))])
def test_8_1_truncation_to_the_high_watermark_loses_an_acknowledged_record(
    protocol: str, left: tuple[str, ...]
) -> None:
    cluster = Cluster(protocol, Start(replicas=2), PROMPT)
    append(cluster, "m", leader=0)
    fetch(cluster, 1, 0)
    fetch(cluster, 1, 0)
    assert acknowledged(cluster) == ("m",)
    assert view_of(cluster, 1).high_watermark == 0  # it hears of the new one with its next response
    bounce(cluster, 1)
    if protocol != "0.10":
        reconcile(cluster, 1)
    cluster.crash(0)
    cluster.elect(Election.FAIL_OVER, 1)
    learn(cluster, 1)
    assert read(cluster, 1) == left
    restart(cluster, 0)
    if protocol != "0.10":
        reconcile(cluster, 0)
    assert payloads(cluster, 0) == left


@pytest.mark.parametrize(
    ("protocol", "unflushed", "second"),
    [("0.10", ("r", "y"), ("r", "x")), ("0.11", ("r", "y"), ("r",)), ("2.1", ("r", "y"), ("r",))],
)
def test_8_2_the_machine_with_the_longer_log_restarts_second(
    protocol: str, unflushed: tuple[str, ...], second: tuple[str, ...]
) -> None:
    """All machines lose power; the one with the shorter log leads first; 0.10 never repairs the difference."""
    cluster = Cluster(protocol, Start(replicas=2, log=("r",)), MIN_ISR_ONE)
    cluster.fire(1, TimerKind.LOG_FLUSH)
    append(cluster, "x", leader=0)
    fetch(cluster, 1, 0)
    fetch(cluster, 1, 0)
    cluster.fire(0, TimerKind.LOG_FLUSH)
    cluster.fire(0, TimerKind.HIGH_WATERMARK_CHECKPOINT)
    cluster.lose_power(0)
    cluster.lose_power(1)
    restart(cluster, 1)
    cluster.elect(Election.FAIL_OVER, 1)
    learn(cluster, 1)
    append(cluster, "y", leader=1)
    assert payloads(cluster, 1) == unflushed
    restart(cluster, 0)
    if protocol != "0.10":
        reconcile(cluster, 0)
    assert payloads(cluster, 0) == second


def fast_fail_over(protocol: str) -> Cluster:
    """KAFKA-6361: the follower has records of an epoch that its leader has never seen."""
    cluster = Cluster(protocol, Start(replicas=2, log=("r",)), MIN_ISR_ONE)
    append(cluster, "x", leader=0)
    cluster.elect(Election.PREFERRED, 1)
    learn(cluster, 1)
    append(cluster, "y", leader=1)
    cluster.elect(Election.PREFERRED, 0)
    learn(cluster, 0, 1)
    append(cluster, "z", leader=0)
    reconcile(cluster, 1)
    fetch(cluster, 1, 0)
    fetch(cluster, 1, 0)
    return cluster


@pytest.mark.parametrize(("protocol", "at_follower"), [("0.11", "ryz"), ("2.0", "rxz"), ("2.1", "rxz")])
def test_8_3_a_follower_that_wrote_in_an_unknown_epoch_diverges_before_kip_279(protocol: str, at_follower: str) -> None:
    cluster = fast_fail_over(protocol)
    assert "".join(read(cluster, 0)) == "rxz"
    assert acknowledged(cluster) == ("x", "z")
    cluster.elect(Election.FAIL_OVER, 1)
    learn(cluster, 1)
    assert "".join(read(cluster, 1, "another")) == at_follower


@pytest.mark.parametrize(("protocol", "at_follower"), [("2.0", "yz"), ("2.1", "xz")])
def test_8_3_remains_in_2_0_if_the_logs_have_no_common_epoch(protocol: str, at_follower: str) -> None:
    """The epoch in the response is below the follower's first entry, so the end offset is used."""
    cluster = Cluster(protocol, Start(replicas=2), MIN_ISR_ONE)
    append(cluster, "x", leader=0)
    cluster.elect(Election.PREFERRED, 1)
    learn(cluster, 1)
    append(cluster, "y", leader=1)
    cluster.elect(Election.PREFERRED, 0)
    learn(cluster, 0, 1)
    append(cluster, "z", leader=0)
    reconcile(cluster, 1)
    fetch(cluster, 1, 0)
    assert payloads(cluster, 0) == ("x", "z")
    assert "".join(payloads(cluster, 1)) == at_follower


def fetches_of_a_zombie(protocol: str) -> Cluster:
    """KAFKA-6880: broker 1 stays in epoch 0, keeps its own record, and continues to fetch from the same leader."""
    cluster = Cluster(protocol, Start(log=("r",)), PROMPT)
    append(cluster, "x", leader=0)
    fetch(cluster, 1, 0)
    cluster.elect(Election.PREFERRED, 2)
    learn(cluster, 0, 2)
    reconcile(cluster, 0)
    assert payloads(cluster, 0) == ("r",)
    cluster.elect(Election.PREFERRED, 0)
    learn(cluster, 0, 2)
    reconcile(cluster, 2)
    append(cluster, "y", leader=0)
    fetch(cluster, 2, 0)
    fetch(cluster, 2, 0)
    ask(cluster, 1, 0)
    return cluster


def test_8_4_without_fencing_a_fetch_of_an_old_epoch_counts() -> None:
    cluster = fetches_of_a_zombie("2.0")
    assert acknowledged(cluster) == ("y",)
    cluster.elect(Election.FAIL_OVER, 1)
    learn(cluster, 1)
    assert payloads(cluster, 1) == ("r", "x")


def test_8_4_since_kip_320_the_old_fetch_is_refused() -> None:
    cluster = fetches_of_a_zombie("2.1")
    assert acknowledged(cluster) == ()
    apply(cluster, 1, 0)
    learn(cluster, 1)
    reconcile(cluster, 1)
    assert payloads(cluster, 1) == ("r",)
    fetch(cluster, 1, 0)
    fetch(cluster, 1, 0)
    assert acknowledged(cluster) == ("y",)
    cluster.elect(Election.FAIL_OVER, 1)
    learn(cluster, 1)
    assert payloads(cluster, 1) == ("r", "y")


@pytest.mark.parametrize(
    ("skip", "at_follower"),
    [("SAME_LEADER", "x"), ("SAME_LEADER_NEXT_EPOCH", ""), ("SAME_LEADER_AND_EPOCH", "")],
)
def test_8_5_a_follower_that_missed_an_epoch_skips_its_truncation(skip: str, at_follower: str) -> None:
    cluster = Cluster(generation("2.0").with_switch("FOLLOWER_SKIP", skip), None, PROMPT)
    append(cluster, "x", leader=0)
    fetch(cluster, 2, 0)
    cluster.elect(Election.PREFERRED, 1)
    learn(cluster, 0, 1)
    reconcile(cluster, 0)
    assert payloads(cluster, 0) == ()
    cluster.elect(Election.PREFERRED, 0)
    learn(cluster, 0, 2)
    append(cluster, "y", leader=0)
    reconcile(cluster, 2)
    assert "".join(payloads(cluster, 2)) == at_follower


def expansion_against_a_lagging_high_watermark(protocol: Switches) -> Cluster:
    """KAFKA-7128: the leader restarts with high watermark 0, and a lagging follower fetches."""
    cluster = Cluster(protocol, Start(isr=frozenset({0, 1})), PROMPT)
    append(cluster, "a", leader=0)
    fetch(cluster, 1, 0)
    fetch(cluster, 1, 0)
    assert acknowledged(cluster) == ("a",)
    bounce(cluster, 0)
    ask(cluster, 2, 0)
    return cluster


def test_8_6_a_follower_joins_the_isr_below_the_start_of_the_epoch() -> None:
    for protocol in (generation("2.0"), generation("2.1").with_switch("EXPAND_EPOCH_START", "off")):
        cluster = expansion_against_a_lagging_high_watermark(protocol)
        assert cluster.observe().controller.isr == {0, 1, 2}
        cluster.elect(Election.FAIL_OVER, 2)
        learn(cluster, 2)
        assert read(cluster, 2) == ()
    for protocol in (generation("2.1"), generation("2.0").with_switch("EXPAND_EPOCH_START", "on")):
        assert expansion_against_a_lagging_high_watermark(protocol).observe().controller.isr == {0, 1}


def test_8_10_the_loss_of_the_last_in_sync_replica_loses_records_on_others() -> None:
    """Without ELR, the controller elects the last member of the ISR even if it has lost records."""
    cluster = Cluster("2.1", None, PROMPT)
    append(cluster, "a", leader=0)
    for follower in (1, 2, 1, 2):
        fetch(cluster, follower, 0)
    assert acknowledged(cluster) == ("a",)
    for follower in (1, 2):
        cluster.crash(follower)
        cluster.notice_dead(follower)
    cluster.lose_power(0)
    assert [payloads(cluster, each) for each in cluster.brokers] == [(), ("a",), ("a",)]
    for broker in cluster.brokers:
        restart(cluster, broker)
    for follower in (1, 2):
        reconcile(cluster, follower)
    assert [payloads(cluster, each) for each in cluster.brokers] == [(), (), ()]


def test_8_12_acks_1_is_lost_with_its_leader() -> None:
    cluster = Cluster("2.1", None, PROMPT)
    append(cluster, "a", leader=0, acks=Acks.LEADER)
    assert acknowledged(cluster) == ("a",)
    cluster.crash(0)
    cluster.elect(Election.FAIL_OVER, 1)
    learn(cluster, 1, 2)
    assert read(cluster, 1) == ()
    restart(cluster, 0)
    reconcile(cluster, 0)
    assert payloads(cluster, 0) == ()


def test_8_13_an_unclean_election_loses_what_was_committed_and_read() -> None:
    cluster = Cluster("2.1", Start(replicas=2, isr=frozenset({0})), MIN_ISR_ONE)
    append(cluster, "a", leader=0)
    assert read(cluster, 0) == ("a",)
    with pytest.raises(ClusterError, match=r"ISR members \[0\] are alive"):
        cluster.elect(Election.UNCLEAN, 1)
    cluster.crash(0)
    with pytest.raises(ClusterError, match=r"broker 1 is not in the ISR \[0\]"):
        cluster.elect(Election.FAIL_OVER, 1)
    cluster.elect(Election.UNCLEAN, 1)
    learn(cluster, 1)
    append(cluster, "b", leader=1)
    restart(cluster, 0)
    reconcile(cluster, 0)
    fetch(cluster, 0, 1)
    assert payloads(cluster, 0) == ("b",)
    assert read(cluster, 1, "another") == ("b",)


def test_8_14_a_power_loss_of_the_whole_isr_loses_unflushed_records() -> None:
    cluster = Cluster("2.1", Start(replicas=2), PROMPT)
    append(cluster, "a", leader=0)
    fetch(cluster, 1, 0)
    fetch(cluster, 1, 0)
    assert acknowledged(cluster) == ("a",)
    cluster.lose_power(0)
    cluster.lose_power(1)
    restart(cluster, 0)
    assert (payloads(cluster, 0), view_of(cluster, 0).leader) == ((), 0)


def test_8_15_a_retry_duplicates_unless_the_producer_is_idempotent() -> None:
    for idempotent, log in ((False, ("a", "a")), (True, ("a",))):
        cluster = Cluster("2.1", Start(replicas=2), Settings(idempotent=idempotent))
        send = append(cluster, "a", leader=0)
        fetch(cluster, 1, 0)
        ask(cluster, 1, 0)
        (answer,) = [each for each in cluster.messages() if each.destination == "producer"]
        cluster.drop(answer.number)
        cluster.resend(send, 0)
        deliver_requests(cluster)
        assert payloads(cluster, 0) == log


def test_8_16_the_high_watermark_of_a_new_leader_is_stale() -> None:
    cluster = Cluster("2.1", Start(), PROMPT)
    append(cluster, "a", leader=0)
    for follower in (1, 2, 1, 2):
        fetch(cluster, follower, 0)
    assert read(cluster, 0) == ("a",)
    cluster.crash(0)
    cluster.elect(Election.FAIL_OVER, 1)
    learn(cluster, 1, 2)
    assert read(cluster, 1, "another") == ()
    reconcile(cluster, 2)
    fetch(cluster, 2, 1)
    assert read(cluster, 1, "another") == ("a",)


def test_8_17_a_late_batch_leaves_a_hanging_transaction() -> None:
    cluster = Cluster("2.1", Start(replicas=1), Settings(min_insync_replicas=1, idempotent=True))
    cluster.begin_transaction()
    cluster.produce("a", 0)
    (late,) = cluster.messages()
    cluster.end_transaction(Control.ABORT)
    cluster.write_marker(0)
    cluster.deliver(cluster.messages()[-1].number)
    cluster.deliver(late.number)
    deliver_answers(cluster)
    append(cluster, "b", leader=0, producer="other")
    assert (view_of(cluster, 0).high_watermark, view_of(cluster, 0).last_stable_offset) == (3, 1)
    assert read(cluster, 0, "committed", Isolation.READ_COMMITTED) == ()
    assert read(cluster, 0, "uncommitted") == ("a", "b")


def test_8_18_a_zombie_leader_acknowledges_only_acks_1() -> None:
    cluster = Cluster("2.1", Start(log=("r",)), PROMPT)
    cluster.elect(Election.FAIL_OVER, 1)
    learn(cluster, 1, 2)
    reconcile(cluster, 2)
    append(cluster, "a", leader=0, acks=Acks.LEADER)
    append(cluster, "b", leader=0)
    cluster.advance(30_000)
    assert cluster.fire(0, TimerKind.ISR_SHRINK_CHECK) is False  # it lags, but the epoch of the write is old
    assert cluster.fire(0, TimerKind.DELAYED_PRODUCE_EXPIRY) is True
    assert cluster.fire(0, TimerKind.DELAYED_PRODUCE_EXPIRY) is False
    assert acknowledged(cluster) == ("a",)
    assert cluster.observe().sent[0][1][1].outcome is Errors.REQUEST_TIMED_OUT
    assert read(cluster, 0) == ("r",)
    learn(cluster, 0)
    reconcile(cluster, 0)
    assert payloads(cluster, 0) == ("r",)


def test_8_20_truncation_outside_the_epochs_leaves_a_difference() -> None:
    """The fetch was out of range, but the leader's log is longer when the follower asks for its end."""
    settings = Settings(min_insync_replicas=1, unclean_leader_election_enable=True)
    cluster = Cluster("0.10", Start(replicas=2, isr=frozenset({0}), log=("a", "b")), settings)
    cluster.crash(0)
    cluster.elect(Election.UNCLEAN, 1)
    learn(cluster, 1)
    append(cluster, "c", leader=1)
    restart(cluster, 0)
    ask(cluster, 0, 1)
    for payload in "de":
        append(cluster, payload, leader=1)
    apply(cluster, 0, 1)
    for _ in ("latest", "earliest"):
        cluster.deliver(cluster.messages()[-1].number)
        apply(cluster, 0, 1)
    fetch(cluster, 0, 1)
    assert [payloads(cluster, each) for each in cluster.brokers] == [("a", "b", "e"), ("c", "d", "e")]


def missed_demotion(protocol: Switches) -> Cluster:
    """A leader is elected again without having learned of its demotion in between."""
    cluster = Cluster(protocol, None, PROMPT)
    append(cluster, "r", leader=0)
    fetch(cluster, 2, 0)
    fetch(cluster, 2, 0)
    cluster.elect(Election.PREFERRED, 1)
    learn(cluster, 1, 2)
    reconcile(cluster, 2)
    assert payloads(cluster, 2) == ()
    cluster.crash(1)
    cluster.elect(Election.FAIL_OVER, 0)
    learn(cluster, 0)
    return cluster


def test_8_24_a_leader_that_misses_its_demotion_acknowledges_records_of_no_other_replica() -> None:
    cluster = missed_demotion(generation("2.1"))
    assert acknowledged(cluster) == ("r",)
    cluster.crash(0)
    cluster.elect(Election.FAIL_OVER, 2)
    learn(cluster, 2)
    assert read(cluster, 2) == ()
    restart(cluster, 0)
    reconcile(cluster, 0)
    assert payloads(cluster, 0) == ()


def test_8_24_forgetting_the_remote_offsets_prevents_it() -> None:
    cluster = missed_demotion(generation("2.1").with_switch("REMOTE_OFFSETS_KEPT_BY_REELECTED_LEADER", "off"))
    assert acknowledged(cluster) == ()
    apply(cluster, 2, 0)  # its fetch that was parked in epoch 0 comes back refused
    learn(cluster, 2)
    reconcile(cluster, 2)
    fetch(cluster, 2, 0)
    fetch(cluster, 2, 0)
    assert acknowledged(cluster) == ("r",)
    cluster.crash(0)
    cluster.elect(Election.FAIL_OVER, 2)
    learn(cluster, 2)
    assert read(cluster, 2) == ("r",)


def test_kafka_10706_an_epoch_entry_at_the_log_end_makes_truncation_endless() -> None:
    """Broker 0 leads without writing; a follower requests its entry at the log end endlessly."""
    for dropped, log in (("off", None), ("on", ("r",))):
        protocol = generation("2.1").with_switch("EPOCH_ENTRY_AT_END_DROPPED", dropped)
        cluster = Cluster(protocol, Start(replicas=2, log=("r",)), MIN_ISR_ONE)
        append(cluster, "x", leader=0)
        cluster.elect(Election.PREFERRED, 1)
        learn(cluster, 1)
        append(cluster, "y", leader=1)
        for leader in (0, 1):
            cluster.elect(Election.PREFERRED, leader)
            learn(cluster, leader)
        learn(cluster, 0)
        if log is None:
            with pytest.raises(ClusterError, match="does not stop truncating"):
                reconcile(cluster, 0)
        else:
            reconcile(cluster, 0)
            assert payloads(cluster, 0) == log


def test_kafka_7414_a_follower_beyond_its_leader_halts_unless_unclean_election_is_allowed() -> None:
    for protocol, unclean, is_up, log in (
        ("2.0", False, False, ("a",)),
        ("2.0", True, True, ()),
        ("2.1", False, True, ()),
    ):
        settings = Settings(replica_fetch_backoff_ms=0, unclean_leader_election_enable=unclean)
        cluster = Cluster(protocol, Start(replicas=2), settings)
        append(cluster, "a", leader=0)
        fetch(cluster, 1, 0)
        cluster.lose_disk(0)
        restart(cluster, 0)
        while view_of(cluster, 1).is_up and view_of(cluster, 1).log_end_offset > 0:
            ask(cluster, 1, 0)
            for _ in range(2):
                apply(cluster, 1, 0)
                if asked := [each for each in cluster.messages() if each.source == 1]:
                    cluster.deliver(asked[0].number)
        assert (view_of(cluster, 1).is_up, payloads(cluster, 1)) == (is_up, log)

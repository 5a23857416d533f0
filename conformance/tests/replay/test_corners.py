"""Traces of unusual configurations, which once diverged, or have a reason why they cannot be replayed."""

from __future__ import annotations

import pytest

from conformance.tests.support.replay import instance_of, must_replay, steps_in, trace_of
from isrcheck.conformance.cluster import acts
from isrcheck.conformance.cluster.configuration.protocol import generation
from isrcheck.conformance.cluster.log.epoch_cache import EpochEntry, LeaderEpochFileCache
from isrcheck.conformance.cluster.log.log import Log
from isrcheck.conformance.implemented import UntimelyError
from isrcheck.conformance.replay.compare import compared, replay
from isrcheck.conformance.replay.driver import Driver
from isrcheck.conformance.replay.timing import timing_of
from isrcheck.conformance.replay.walks import walk
from isrcheck.models.kafka.state.clients import is_remembered
from isrcheck.models.kafka.state.values import Fetch
from isrcheck.models.run import State


@pytest.mark.parametrize("protocol", ["0.10", "2.1"])
@pytest.mark.parametrize("values", [{"brokers_down": 1}, {"brokers_down": 3}, {"brokers_down": 1, "common_records": 2}])
def test_permanently_down_brokers_were_up_once(protocol, values):
    """They received metadata, consumers read committed records, and their last memory is kept."""
    instance = instance_of(protocol, tuple(values.items()))
    for seed in range(len(instance.initial_states) * 4):
        must_replay(walk(instance, seed, 5), seed)


def test_records_beyond_one_producers_limit_come_from_another():
    """Kafka: NetworkClient.canSendRequest. The model's producer never waits for a response."""
    steps = ["producer_appends at 0"] * 2
    trace = trace_of(steps, max_in_flight_requests=1)
    driver = must_replay(trace)
    assert [name for name, _ in driver.cluster.observe().sent] == ["producer", "producer 1"]


def test_each_producer_resends_its_own_records():
    steps = ["producer_appends at 0", "producer_appends at 0", "producer_retries b at 0"]
    sent = dict(must_replay(trace_of(steps, max_in_flight_requests=1, retries=1, log_size=3)).cluster.observe().sent)
    assert [[one.payload for one in each] for each in sent.values()] == [["a"], ["b", "b"]]


def test_the_last_batch_of_a_snapshot_is_remembered_behind_later_ones():
    """A snapshot holds only the last batch; what is appended after the restart does not displace it."""
    steps = steps_in(
        "producer_appends at 0; producer_appends at 0; broker_saves_producer_state at 0; broker_crashes 0;"
        " broker_restarts 0 checkpoint 0; producer_appends at 0"
    )
    values = {"enable_idempotence": 1, "producer_snapshots": 1, "records": 3, "log_size": 3}
    trace = trace_of(steps, "2.4", **values)
    remembered = must_replay(trace).cluster.observe().brokers[0].producers.remembered
    assert [stamp.sequence for stamp, _ in remembered] == [1, 2]
    after = State(trace.instance, trace.states[-1])
    assert [is_remembered(after, 0, record) for record in range(3)] == [False, True, True]


def test_an_idempotent_producer_waits_for_what_it_has_given_up_with_its_id():
    """Broker 1 has lost its disk, so that it refuses b; then c no longer counts in the model, although awaited."""
    steps = steps_in(
        "producer_appends at 0; producer_appends at 0; broker_loses_disk 1;"
        " broker_restarts 1 checkpoint 0; controller_fails_over to 1; broker_becomes_leader 1 in epoch 1;"
        " producer_begins_new_epoch after the answer of 1 to b; producer_appends at 0;"
        " producer_appends at 0"
    )
    values = {"replicas": 2, "records": 5, "log_size": 5, "common_records": 1, "disk_losses": 1, "retries": 1}
    idempotent = {"enable_idempotence": 1, "max_in_flight_requests": 2, "min_insync_replicas": 1}
    must_replay(trace_of(steps[:-1], "2.1", **values, **idempotent))
    with pytest.raises(UntimelyError, match="step 9 sends another record while 2 are unanswered"):
        timing_of(trace_of(steps, "2.1", **values, **idempotent))


IN_EPOCH_1 = ("controller_fails_over to 1", "broker_becomes_leader 1 in epoch 1")
NEXT_IS_REFUSED = {
    "a new epoch while a waits": (
        {"UNKNOWN_PID_POLICY": 1, "unclean_elections": 1},
        steps_in(
            "request_fails of a; producer_appends at 0; leader_handles_fetch 0 from 1;"
            " follower_applies_response 1 from 0; producer_appends at 0; broker_crashes 0;"
            " controller_elects_unclean 1; broker_becomes_leader 1 in epoch 1;"
            " producer_begins_new_epoch after the answer of 1 to d"
        ),
    ),
    "an unknown producer whose records are lost": (
        {"unclean_elections": 1},
        steps_in(
            "producer_appends at 0; request_fails of b; broker_crashes 0; controller_elects_unclean 1;"
            " broker_becomes_leader 1 in epoch 1; producer_begins_new_epoch after the answer of 1 to c"
        ),
    ),
    "from zero, and mistaken": (
        {"delete_records": 1},
        [
            *steps_in(
                "producer_appends at 0; producer_appends at 0; leader_handles_fetch 0 from 1;"
                " leader_deletes_records at 0 before 2; producer_begins_from_zero after the answer of 0 to c;"
                " follower_applies_response 1 from 0; leader_handles_fetch 0 from 1"
            ),
            *IN_EPOCH_1,
            *steps_in("leader_mistakes_request d at 1; leader_mistakes_request c at 1"),
        ],
    ),
    "from zero while b waits": (
        {"delete_records": 1},
        steps_in(
            "producer_appends at 0; request_fails of b; leader_deletes_records at 0 before 1;"
            " producer_begins_from_zero after the answer of 0 to c; producer_resends b at 0;"
            " producer_resends c at 0; producer_appends at 0"
        ),
    ),
    "numbered anew again": (  # an answer to the new numbers counts (ProducerBatch.sequenceHasBeenReset)
        {"UNKNOWN_PID_POLICY": 1, "CLIENT_BUMPS_EPOCH": 1, "preferred_elections": 1, "producer_epochs": 3},
        steps_in(
            "request_fails of a; producer_appends at 0; producer_begins_new_epoch after the answer of 0 to a;"
            " controller_elects_preferred 1; broker_becomes_leader 1 in epoch 1; producer_appends at 1;"
            " producer_begins_new_epoch after the answer of 1 to a; producer_resends a at 1"
        ),
    ),
}


@pytest.mark.parametrize(("values", "steps"), NEXT_IS_REFUSED.values(), ids=NEXT_IS_REFUSED)
def test_a_record_is_refused_while_others_wait(values, steps):
    usual = {"replicas": 2, "records": 4, "log_size": 4, "retries": 2, "min_insync_replicas": 1, "start_isr": 1}
    if "preferred_elections" in values:
        usual = {**usual, "start_isr": 3, "min_insync_replicas": 2}
    must_replay(trace_of(steps, "2.4", enable_idempotence=1, **usual, **values))


def test_a_transaction_has_one_producer_which_waits():
    steps = ["producer_appends_in_transaction at 0 in 0"] * 2
    with pytest.raises(UntimelyError, match="step 2 sends another record of transaction 0 while 1 are unanswered"):
        timing_of(trace_of(steps, max_in_flight_requests=1, transactions=1))
    must_replay(trace_of(steps, max_in_flight_requests=2, transactions=1))


@pytest.mark.sampled
def test_walks_omit_steps_for_which_a_producer_waits():
    instance = instance_of("2.1", (("max_in_flight_requests", 1), ("transactions", 1), ("log_size", 4)))
    for seed in range(40):
        must_replay(walk(instance, seed, 30), seed)


def test_a_response_can_move_the_high_watermark_below_the_log_start():
    """In the 2.1 tree, if a new leader has deleted less. ReplicaFetcherThread.processPartitionData."""
    steps = steps_in(
        "controller_elects_preferred 1; broker_becomes_leader 1 in epoch 1;"
        " leader_deletes_records at 1 before 1; broker_bounces 2 checkpoint 0; controller_fails_over to 2;"
        " broker_becomes_leader 2 in epoch 2; broker_becomes_follower 1 in epoch 2;"
        " follower_reconciles 1 with 2; leader_handles_fetch 2 from 1; leader_answers_parked_fetch 2 to 1;"
        " follower_applies_response 1 from 2"
    )
    values = {"common_records": 1, "delete_records": 1, "preferred_elections": 1, "elections": 3}
    driver = must_replay(trace_of(steps, min_insync_replicas=1, **values))
    broker = driver.cluster.observe().brokers[1]
    assert (broker.log_start_offset, broker.high_watermark) == (1, 0)


def test_a_log_start_that_moved_back_is_checkpointed():
    """Truncation to a high watermark below the log start moves the log start, which a restart loads."""
    steps = steps_in(
        "controller_elects_preferred 1; broker_becomes_leader 1 in epoch 1;"
        " leader_deletes_records at 1 before 1; broker_bounces 2 checkpoint 0; controller_fails_over to 2;"
        " broker_becomes_leader 2 in epoch 2; broker_becomes_follower 1 in epoch 2;"
        " follower_reconciles 1 with 2; leader_handles_fetch 2 from 1; leader_answers_parked_fetch 2 to 1;"
        " follower_applies_response 1 from 2; broker_bounces 1 checkpoint 0; follower_reconciles 1 with 2;"
        " broker_crashes 1"
    )
    values = {"common_records": 1, "delete_records": 1, "preferred_elections": 1, "elections": 3, "bounces": 2}
    driver = must_replay(trace_of(steps, "2.0", min_insync_replicas=1, **values))
    assert driver.cluster.observe().brokers[1].log_start_offset == 0


def test_two_epochs_that_start_at_the_log_start_are_both_loaded():
    """Up to 2.0, LeaderEpochFileCache.clearAndFlushEarliest does nothing where no entry begins below the log start."""
    steps = steps_in(
        "producer_appends at 0; broker_crashes 1; controller_removes_dead_follower 1;"
        " broker_becomes_leader 0 in epoch 1; leader_deletes_records at 0 before 1; producer_appends at 0;"
        " broker_crashes 0; broker_restarts 0 checkpoint 2"
    )
    values = {"replicas": 2, "min_insync_replicas": 1, "crashes": 2, "delete_records": 1}
    driver = must_replay(trace_of(steps, "2.0", **values))
    entries = driver.cluster.observe().brokers[0].epoch_entries
    assert [(one.leader_epoch, one.start_offset) for one in entries] == [(0, 1), (1, 1)]


def test_an_undefined_epoch_ends_only_in_an_empty_kip_101_cache():
    """An empty cache of KIP-101 compares it with its latest epoch, which is undefined, too."""
    for below in ("UNDEFINED", "FIRST_START_OFFSET"):
        switches = generation("0.11").with_switch("EPOCH_BELOW_FIRST_ENTRY", below)
        assert LeaderEpochFileCache([EpochEntry(2, 2)], switches, None).end_offset_for(-1, 4).end_offset == -1
        assert LeaderEpochFileCache([], switches, None).end_offset_for(-1, 4).end_offset == 4


@pytest.mark.parametrize("decided", ["coordinator_aborts 0", "coordinator_commits 0"])
def test_readers_of_both_levels_receive_the_models_records(decided, monkeypatch):
    """Consumers fetch from the leader, so a leader that returns aborted or too many records is detected."""
    steps = ["producer_appends_in_transaction at 0 in 0", decided, "leader_appends_marker of 0 at 0"]
    trace = trace_of(steps, replicas=1, min_insync_replicas=1, transactions=1)
    must_replay(trace)
    with monkeypatch.context() as broken:
        broken.setattr(Log, "aborted_transactions", lambda self, start, end: ())
        found = replay(trace, Driver())
        assert (found and found.variable) == ("read_committed_record" if "aborts" in decided else None)
    monkeypatch.setattr(Log, "last_stable_offset", property(lambda self: self.high_watermark))
    found = replay(trace, Driver())
    assert found is not None
    assert (found.position, found.variable) == (1, "read_committed_record")


def test_a_fetch_missing_in_the_model_is_kept_and_observed():
    trace = trace_of(["producer_appends at 0", "producer_appends at 0"])
    driver = Driver()
    driver.begin(trace)
    driver.take(trace.steps[0])
    acts.ask(driver.cluster, 1, 0)
    driver.take(trace.steps[1])
    assert driver.observe()["fetch"] == (0, 0, 0, Fetch.ANSWERED, 0, 0, 0, 0, 0)
    assert compared(trace.instance, trace.states[2], driver.observe())[0] == "fetch"


@pytest.mark.parametrize("protocol", ["2.0", "2.1"])
def test_an_epoch_that_ends_earlier_in_the_followers_log_is_truncated_there(protocol):
    """KIP-279 truncates to the smaller end; too rare for random walks. Kafka: AbstractFetcherThread.maybeTruncate."""
    steps = steps_in(
        "producer_appends at 0; leader_handles_fetch 0 from 1; follower_applies_response 1 from 0;"
        " controller_elects_preferred 1; broker_becomes_leader 1 in epoch 1; producer_appends at 1;"
        " producer_appends at 0; producer_appends at 0; controller_elects_preferred 0;"
        " broker_becomes_leader 0 in epoch 2; producer_appends at 0; broker_becomes_follower 1 in epoch 2;"
        " follower_reconciles 1 with 0"
    )
    driver = must_replay(trace_of(steps, protocol, records=5, log_size=4, preferred_elections=2))
    assert acts.payloads(driver.cluster, 0) == ("a", "c", "d", "e")
    assert acts.payloads(driver.cluster, 1) == ("a",)

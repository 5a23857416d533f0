"""Traces of the model as fault scripts: real clients get the results, and read the records, that the trace says."""

import asyncio

import pytest

from conformance.tests.support import golden
from conformance.tests.support.replay import (
    DEFAULT,
    EVERY_CLIENT,
    EVERY_FAULT,
    READERS,
    refusal_of,
    steps_in,
    trace_of,
    walk_of,
)
from isrcheck.checker.cli import main as check
from isrcheck.commands.exit_codes import DIVERGED, DONE, NOTHING, UNDECIDED, USAGE
from isrcheck.conformance.cli import main as conform
from isrcheck.conformance.implemented import MissingMechanismError
from isrcheck.conformance.wire.script.played import ClientError, Played, Reading, Told
from isrcheck.conformance.wire.script.player import Player
from isrcheck.conformance.wire.script.report import code_of, lines_of
from isrcheck.conformance.wire.script.stage import Stage
from isrcheck.traces.format import files

pytestmark = pytest.mark.sampled

LOST = "Record a is lost: after step {}, its producer had the result: {}; a new consumer does not read it."
PERMITTED = "The configuration of the trace permits this."

EXPECTED = {
    "kafka_acks_0_send_is_lost": ["nothing (end offset 0)", LOST.format(1, "delivered"), PERMITTED],
    "kafka_acks_1_leader_dies_first": ["nothing (end offset 0)", LOST.format(1, "delivered at offset 0"), PERMITTED],
    "kafka_acks_all_truncation_to_high_watermark": [
        "nothing (end offset 0)",
        LOST.format(4, "delivered at offset 0"),
    ],
    "kafka_isr_expansion_against_a_lagging_high_watermark": [
        "nothing (end offset 0)",
        LOST.format(4, "delivered at offset 0"),
    ],
    "kafka_missed_demotion": ["nothing (end offset 0)", LOST.format(8, "delivered at offset 0")],
    "kafka_retry_after_fail_over": [
        "a a (end offset 2)",
        "No record was reported as delivered.",
        "Record a is read 2 times.",
        PERMITTED,
    ],
    "kafka_two_requests_in_flight": [
        "b a (end offset 2)",
        "No record was reported as delivered.",
        "Record b was sent after a, and is read before it.",
        PERMITTED,
    ],
    "kafka_kip_279_fast_failover": [
        "a b c (end offset 3)",
        "Every record that was reported as delivered is read.",
    ],
    "kafka_truncation_is_not_noticed": [
        "a (end offset 1)",
        LOST.format(4, "delivered at offset 0").replace("Record a", "Record b"),
        "consumer 0 has read: b (position 1)",
        "Consumer 0 has read record b at offset 0; a new consumer reads a there.",
    ],
    "kafka_log_starts_over_below_high_watermark": [
        "nothing (start offset 1, end offset 1)",
        "No record was reported as delivered.",
    ],
}
"""What the report says on a trace, after "a new consumer reads: "."""


def golden_trace(name):
    return golden.derive(golden.read((golden.FOLDER / f"{name}.txt").read_text(encoding="utf-8")))


def play(trace, bug=None):
    said = []
    played = asyncio.run(Player(trace, bug, "127.0.0.1", 0, said.append).play("topic", trace.instance.protocol.name))
    return played, said


@pytest.mark.parametrize("name", EXPECTED)
def test_clients_are_told_and_read_what_the_trace_says(name):
    trace = golden_trace(name)
    played, _ = play(trace)
    assert played.divergence is None
    first, *rest = EXPECTED[name]
    assert lines_of(trace, played) == [f"a new consumer reads: {first}", *rest]
    assert code_of(trace, played) == DONE


IMPOSSIBLE = {
    "kafka_duplicate_in_a_new_epoch": "a broker handles one request of a connection at a time",
    "kafka_snapshot_forgets_batches": "a broker handles one request of a connection at a time",
    "kafka_unknown_producer_out_of_order": "a broker handles one request of a connection at a time",
    # Unlike Kafka's client up to 2.4, that of librdkafka takes a new epoch.
    "kafka_numbers_from_zero": "something else at step 9: it gives record b sequence number 0 in another epoch",
}
"""The traces that no real client can take part in, and why."""

OTHERS = [path.stem for path in sorted(golden.FOLDER.glob("kafka*.txt")) if path.stem not in EXPECTED]


@pytest.mark.whole
@pytest.mark.parametrize("name", OTHERS)
def test_every_other_golden_trace_is_played(name):
    trace = golden_trace(name)
    refused = refusal_of(trace)
    if name in IMPOSSIBLE or refused:
        with pytest.raises(MissingMechanismError if refused else ClientError, match=refused or IMPOSSIBLE[name]):
            play(trace)
    else:
        played, _ = play(trace)
        assert (played.divergence, code_of(trace, played)) == (None, DONE)


def test_a_partition_without_a_leader_is_what_the_trace_says():
    """Where a trace says that nobody can lead again, a consumer that reads nothing agrees with it."""
    trace = golden_trace("kafka_unregistered_broker_stays_eligible")
    leaderless, unread, read = Played(is_leaderless=True), Played(), Played(reading=Reading((), 0, 0))
    assert [code_of(trace, each) for each in (leaderless, unread, read)] == [DONE, UNDECIDED, DIVERGED]
    assert lines_of(trace, leaderless) == [
        "a new consumer cannot read: no broker leads, although the cluster ran on for a minute without a fault"
    ]
    assert lines_of(trace, read)[-1] == (
        "DIVERGED: the trace leaves the partition without a leader for good, but the new consumer reads"
    )
    another = golden_trace("kafka_last_known_leader_is_down")
    assert code_of(another, leaderless) == UNDECIDED


def test_a_producer_with_old_metadata_writes_to_the_former_leader():
    """Both brokers presume leadership; each producer writes where the trace says."""
    steps = ["controller_elects_preferred 1", "broker_becomes_leader 1 in epoch 1"]
    sends = ["producer_appends at 0", "producer_appends at 1", "producer_appends at 0"]
    trace = trace_of(
        [*steps, *sends],
        records=3,
        log_size=3,
        preferred_elections=1,
    )
    played, said = play(trace)
    assert played.divergence is None
    assert [value for _, value in played.reading.records] == ["b"]
    assert said[:5] == [f"{position:>3}  {step}" for position, step in enumerate(trace_steps(trace), start=1)]


def trace_steps(trace):
    return [trace.instance.spell_step(step) for step in trace.steps]


@pytest.mark.parametrize(
    ("protocol", "values", "seed", "code"),
    [
        ("2.1", DEFAULT, 0, DONE),
        ("0.10", EVERY_FAULT, 11, DONE),
        ("2.4", {**EVERY_CLIENT, "transactions": 0}, 10, DONE),  # a retry goes back to the leader of an older epoch
        ("2.1", {"acks": 0}, 3, DONE),  # a record is lost while the leader is down
        ("2.0", {"acks": 1, "retries": 1}, 2, DONE),
        ("2.4", {**READERS, "auto_offset_reset": 1}, 0, DONE),
    ],
)
def test_random_walks_are_played(protocol, values, seed, code):
    trace = walk_of(protocol, values, seed, 25)
    played, _ = play(trace)
    assert (played.divergence, code_of(trace, played)) == (None, code)


def test_what_is_lost_is_undecided_where_no_broker_is_left_to_read_from():
    crashes = ["broker_crashes 1", "broker_crashes 2", "broker_crashes 0"]
    trace = trace_of(["producer_appends at 0", *crashes], "0.10", crashes=3)
    played, _ = play(trace)
    assert (played.divergence, code_of(trace, played)) == (None, UNDECIDED)


def test_with_acks_0_a_request_may_arrive_after_the_callback(monkeypatch):
    """The callback calls the record delivered once it is sent; the broker can be slow."""
    append = Stage.append

    async def late(*given):
        await asyncio.sleep(0.2)
        return await append(*given)

    monkeypatch.setattr(Stage, "append", late)
    played, _ = play(walk_of("2.1", {"acks": 0}, 6, 25))
    assert played.told["a"] == (1, Told(None, None))


def test_a_seeded_bug_makes_the_cluster_diverge():
    played, _ = play(golden_trace("kafka_acks_all_truncation_to_high_watermark"), "ack_before_isr")
    assert played.divergence is not None
    assert (played.divergence.position, played.divergence.variable) == (1, "pending")


def test_clients_that_contradict_the_trace_are_reported():
    trace = golden_trace("kafka_acks_all_truncation_to_high_watermark")
    nothing, everything = Reading((), 0, 0), Reading(((0, "a"),), 0, 1)
    delivered = {"a": (4, Told(None, 0))}
    assert code_of(trace, Played(delivered, reading=nothing)) == DONE
    for told, reading, said in (
        (
            delivered,
            everything,
            "DIVERGED: the trace loses a record, but the new consumer reads every acknowledged one",
        ),
        ({}, nothing, "DIVERGED: the trace acknowledges record a, which was not reported as delivered"),
        (
            {**delivered, "b": (5, Told(None, 1))},
            nothing,
            "DIVERGED: record b was reported as delivered, and the trace does not acknowledge it",
        ),
    ):
        assert code_of(trace, Played(dict(told), reading=reading)) == DIVERGED
        assert lines_of(trace, Played(dict(told), reading=reading))[-1] == said
    assert code_of(trace, Played(delivered)) == UNDECIDED


# -------------------------------------------------------------------------- idempotent producers, transactions, readers

PAIR = {"replicas": 2, "min_insync_replicas": 1}
ALONE = {"replicas": 1, "min_insync_replicas": 1, "log_size": 3}
IDEMPOTENT = {**PAIR, "enable_idempotence": 1, "retries": 1}
READING = {**PAIR, "consumers": 1, "unclean_elections": 1, "records": 3, "log_size": 3}
TO_FOLLOWER = ["leader_handles_fetch 0 from 1", "follower_applies_response 1 from 0"]
COPIED = ["producer_appends at 0", *TO_FOLLOWER]
FAIL_OVER = ["controller_fails_over to 1", "broker_becomes_leader 1 in epoch 1"]
READ_IS_LOST = [
    *COPIED,
    *steps_in(
        "leader_handles_fetch 0 from 1; producer_appends at 0; leader_shrinks_isr 0 by {1};"
        " consumer_fetches 0 at 0; consumer_fetches 0 at 0; broker_crashes 0;"
        " controller_elects_unclean 1; broker_becomes_leader 1 in epoch 1"
    ),
]
"""The consumer has read a and b; the new leader has only a."""

IN_TRANSACTIONS = ["producer_appends_in_transaction at 0 in 0", "producer_appends_in_transaction at 0 in 1"]
B_IS_LOST = LOST.format(6, "delivered at offset 1").replace("Record a", "Record b")
ALL_READ = "Every record that was reported as delivered is read."


@pytest.mark.parametrize(
    ("protocol", "values", "steps", "expected"),
    [
        (  # the same steps as in kafka_retry_after_fail_over: the new leader recognises the request
            "2.1",
            IDEMPOTENT,
            [*COPIED, *FAIL_OVER, "producer_resends a at 1", "producer_appends at 1"],
            ["a b (end offset 2)", ALL_READ],
        ),
        (  # the coordinator writes the marker of transaction 1 afterwards; transaction 2 stays open
            "0.11",
            {**ALONE, "transactions": 3, "records": 3, "log_size": 4},
            [
                *IN_TRANSACTIONS,
                *steps_in(
                    "coordinator_aborts 0; leader_appends_marker of 0 at 0; coordinator_commits 1;"
                    " producer_appends_in_transaction at 0 in 2"
                ),
            ],
            ["a b c (end offset 5)", ALL_READ, "with read_committed it reads: b"],
        ),
        (  # KIP-320: the position returns to the common prefix
            "2.4",
            READING,
            [*READ_IS_LOST, "consumer_follows_new_leader 0 of 1"],
            ["a (end offset 1)", B_IS_LOST, "consumer 0 has read: a b (position 1)"],
        ),
        (  # before that, the consumer is out of range
            "2.1",
            {**READING, "auto_offset_reset": 1},
            [*READ_IS_LOST, "consumer_is_out_of_range 0 at 1", "consumer_fetches 0 at 1"],
            ["a (end offset 1)", B_IS_LOST, "consumer 0 has read: a b a (position 1)"],
        ),
        (  # before an open transaction, and over an aborted record
            "2.4",
            {**ALONE, "transactions": 2, "log_size": 4, "consumers": 1, "isolation_level": 1},
            [
                IN_TRANSACTIONS[0],
                "coordinator_aborts 0",
                "leader_appends_marker of 0 at 0",
                IN_TRANSACTIONS[1],
                "consumer_fetches 0 at 0",
                "consumer_fetches 0 at 0",
                "coordinator_commits 1",
                "leader_appends_marker of 1 at 0",
                "consumer_fetches 0 at 0",
            ],
            [
                "a b (end offset 4)",
                ALL_READ,
                "with read_committed it reads: b",
                "consumer 0 has read: b (position 3)",
            ],
        ),
        (  # KIP-392: its connection to the follower breaks, and the leader sends it there again
            "2.4",
            {**READING, "follower_fetching": 1},
            [
                *COPIED,
                *steps_in(
                    "leader_handles_fetch 0 from 1; producer_appends at 0; leader_answers_parked_fetch 0 to 1;"
                    " follower_applies_response 1 from 0; consumer_is_sent_to_follower 0 by 0 to 1;"
                    " broker_bounces 1 checkpoint 1; consumer_fetches 0 at 1; consumer_returns_to_leader 0;"
                    " consumer_is_sent_to_follower 0 by 0 to 1"
                ),
                *FAIL_OVER,
                *steps_in("consumer_follows_new_leader 0 of 1; consumer_fetches 0 at 1"),
            ],
            ["a b (end offset 2)", ALL_READ, "consumer 0 has read: a b (position 2)"],
        ),
    ],
)
def test_every_kind_of_client_takes_part(protocol, values, steps, expected):
    trace = trace_of(steps, protocol, **values)
    played, said = play(trace)
    assert played.divergence is None
    assert lines_of(trace, played) == [f"a new consumer reads: {expected[0]}", *expected[1:]]
    assert code_of(trace, played) == DONE
    assert len([line for line in said if line[:3].strip().isdigit()]) == len(steps)


def test_readings_that_contradict_the_trace_are_reported():
    steps = [*IN_TRANSACTIONS, "coordinator_aborts 0", "coordinator_commits 1"]
    trace = trace_of(steps, "2.4", **ALONE, transactions=2, consumers=1)
    told = {"a": (1, Told(None, 0)), "b": (2, Told(None, 1))}
    both, first = Reading(((0, "a"), (1, "b")), 0, 2), Reading(((0, "a"),), 0, 2)
    played = Played(told, reading=both, committed=first, consumed=[[(0, "b")]])
    assert lines_of(trace, played)[2:] == [
        "with read_committed it reads: a",
        "Record b is not read with read_committed, and its transaction 1 is committed.",
        "consumer 0 has read: b (position 0)",
        "DIVERGED: consumer 0 has read b at 0, in the trace nothing",
        "DIVERGED: record a is read with read_committed, its transaction 0 is aborted",
    ]
    assert code_of(trace, played) == DIVERGED


def test_an_idempotent_producer_has_sent_the_records_of_the_start():
    """Otherwise the numbers of its records would not be those of the trace's producer."""
    values = {**IDEMPOTENT, "records": 3, "log_size": 4, "elections": 2, "start": 1, "retries": 3}
    trace = walk_of("2.4", values, 10, 12)
    assert "producer_appends" in [step.action for step in trace.steps]
    played, _ = play(trace)
    assert (played.divergence, code_of(trace, played)) == (None, DONE)


def test_a_client_that_infers_an_acknowledgement_contradicts_the_trace():
    """KAFKA-15591: the leader takes the second record first. librdkafka infers from its acknowledgement that the first
    one is in the log, too (rd_kafka_dr_implicit_ack); the model's producer, as Kafka's, does not.
    """
    steps = ["request_fails of a", "producer_appends at 0", *TO_FOLLOWER, "leader_handles_fetch 0 from 1"]
    trace = trace_of(steps, "2.4", **IDEMPOTENT, UNKNOWN_PID_POLICY=1)
    played, _ = play(trace)
    assert lines_of(trace, played) == [
        "a new consumer reads: b (end offset 1)",
        LOST.format(5, "delivered"),
        "DIVERGED: record a was reported as delivered, and the trace does not acknowledge it",
    ]
    assert code_of(trace, played) == DIVERGED


@pytest.mark.parametrize(
    ("protocol", "values", "steps", "why"),
    [
        (
            "2.1",
            IDEMPOTENT,
            ["producer_appends at 0", "producer_appends at 0"],
            "step 2 sends record b to broker 0, where record a of the same producer waits",
        ),
        (  # a leader does not know it: librdkafka's producer sends nothing more, Kafka's takes a new id
            "2.1",
            {**IDEMPOTENT, "unclean_elections": 1, "records": 3, "log_size": 3},
            steps_in(
                "producer_appends at 0; leader_shrinks_isr 0 by {1}; broker_crashes 0;"
                " controller_elects_unclean 1; broker_becomes_leader 1 in epoch 1; request_fails of b;"
                " producer_begins_new_epoch after the answer of 1 to b; producer_appends at 1"
            ),
            "the client did something else at step 8: it does not send record c: .* Local: Fatal error",
        ),
    ],
)
def test_what_no_client_does_is_undecided(protocol, values, steps, why):
    with pytest.raises(ClientError, match=why):
        play(trace_of(steps, protocol, **values))


# -------------------------------------------------------------------------------------------------------- the command


def test_the_classic_loss_under_real_clients(tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    check(["kafka", "--protocol", "0.10", "--bound", "6", "--engine", "local"])
    (path,) = (one for one in files.files(tmp_path / "counterexamples") if "acked_not_lost" in one.name)
    capfd.readouterr()
    assert conform(["serve", "--trace", str(path)]) == DONE
    out, errors = capfd.readouterr()
    assert errors == ""
    assert out.splitlines() == [
        f"{path}: kafka/0.10, 6 steps",
        "  1  producer_appends at 0",
        "  2  leader_handles_fetch 0 from 1",
        "  3  follower_applies_response 1 from 0",
        "  4  leader_handles_fetch 0 from 1",
        "     the producer's callback called record a delivered at offset 0",
        "  5  broker_bounces 1 checkpoint 0",
        "  6  controller_fails_over to 1",
        "     afterwards: ISR 1 2",
        "a new consumer reads: nothing (end offset 0)",
        LOST.format(4, "delivered at offset 0"),
    ]
    assert conform(["serve", "--trace", str(path), "--bug", "ack_before_isr"]) == DIVERGED
    assert "diverges after step 1 (producer_appends at 0), first in pending:" in capfd.readouterr().out
    assert conform(["serve", "--trace", str(path), "--protocol", "2.1"]) == USAGE
    assert "a trace contains its own protocol" in capfd.readouterr().err


def test_a_trace_without_a_producer_has_nothing_to_replay(tmp_path, capfd):
    path = files.write(trace_of(["leader_handles_fetch 0 from 1"]), tmp_path)
    assert conform(["serve", "--trace", str(path)]) == NOTHING
    assert (
        capfd.readouterr().out
        == f"{path}: no client takes part in this trace: no producer sends, and no consumer reads\n"
    )


def test_a_client_that_does_something_else_is_undecided(tmp_path, capfd):
    steps = [IN_TRANSACTIONS[0], "coordinator_commits 0"]
    path = files.write(trace_of(steps, **PAIR, transactions=1), tmp_path)
    assert conform(["serve", "--trace", str(path)]) == UNDECIDED
    out, errors = capfd.readouterr()
    assert errors == ""
    assert out.splitlines() == [
        f"{path}: kafka/2.1, 2 steps",
        "  1  producer_appends_in_transaction at 0 in 0",
        f"{path}: UNDECIDED: step 2 commits transaction 0 before record a is acknowledged; a producer waits until then",
    ]

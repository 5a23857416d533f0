"""Traces of the model as fault scripts: what real clients are told and read is what the trace says."""

import asyncio

import pytest

from conformance.tests.support import golden
from conformance.tests.support.replay import DEFAULT, EVERY_CLIENT, EVERY_FAULT, GENERATIONS, trace_of, walk_of
from isrcheck.checker.cli import main as check
from isrcheck.conformance.cli import main as conform
from isrcheck.conformance.console import DIVERGED, DONE, NOTHING, UNDECIDED, USAGE
from isrcheck.conformance.implemented import MissingMechanismError
from isrcheck.conformance.wire.script.clients import Reading, Told
from isrcheck.conformance.wire.script.played import Played
from isrcheck.conformance.wire.script.player import ClientError, Player
from isrcheck.conformance.wire.script.report import code_of, lines_of
from isrcheck.traces.format import folder

LOST = "Record a is lost: its producer was told after step {} that it is {}, and a new consumer does not read it."
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
        "No producer was told that its record is delivered.",
        "Record a is read 2 times.",
        PERMITTED,
    ],
    "kafka_two_requests_in_flight": [
        "b a (end offset 2)",
        "No producer was told that its record is delivered.",
        "Record b was sent after a, and is read before it.",
        PERMITTED,
    ],
    "kafka_kip_279_fast_failover": [
        "a b c (end offset 3)",
        "Every record whose producer was told that it is delivered is read.",
    ],
    "kafka_log_starts_over_below_high_watermark": [
        "nothing (start offset 1, end offset 1)",
        "No producer was told that its record is delivered.",
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


OTHERS = [path.stem for path in sorted(golden.FOLDER.glob("kafka*.txt")) if path.stem not in EXPECTED]


@pytest.mark.parametrize("name", OTHERS)
def test_every_other_golden_trace_is_played_or_lacks_a_mechanism(name):
    trace = golden_trace(name)
    configuration = trace.instance.configuration
    if configuration.enable_idempotence or configuration.consumers:
        with pytest.raises(ClientError, match="which --trace does not play yet"):
            play(trace)
    elif trace.instance.protocol.name not in GENERATIONS:
        with pytest.raises(MissingMechanismError, match="the executable cluster lacks AlterPartition"):
            play(trace)
    else:
        played, _ = play(trace)
        assert (played.divergence, code_of(trace, played)) == (None, DONE)


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
        ("0.10", EVERY_FAULT, 11, UNDECIDED),  # the last broker has lost its power
        ("2.4", {**EVERY_CLIENT, "transactions": 0}, 10, DONE),  # a retry goes back to the leader of an older epoch
        ("2.1", {"acks": 0}, 3, DONE),  # a record is lost while the leader is down
        ("2.0", {"acks": 1, "retries": 1}, 2, DONE),
    ],
)
def test_random_walks_are_played(protocol, values, seed, code):
    trace = walk_of(protocol, values, seed, 25)
    played, _ = play(trace)
    assert (played.divergence, code_of(trace, played)) == (None, code)


def test_a_seeded_bug_makes_the_cluster_diverge():
    played, _ = play(golden_trace("kafka_acks_all_truncation_to_high_watermark"), "ack_before_isr")
    assert played.divergence is not None
    assert (played.divergence.position, played.divergence.variable) == (1, "pending")


def test_clients_that_contradict_the_trace_are_reported():
    trace = golden_trace("kafka_acks_all_truncation_to_high_watermark")
    nothing, everything = Reading((), 0, 0), Reading(((0, "a"),), 0, 1)
    delivered = {"a": (4, Told(None, 0))}
    assert code_of(trace, Played(delivered, nothing)) == DONE
    for told, reading, said in (
        (
            delivered,
            everything,
            "DIVERGED: the trace loses a record, but the new consumer reads every acknowledged one",
        ),
        ({}, nothing, "DIVERGED: the trace acknowledges record a, its producer was not told"),
        (
            {**delivered, "b": (5, Told(None, 1))},
            nothing,
            "DIVERGED: a producer was told that record b is delivered, the trace does not acknowledge it",
        ),
    ):
        assert code_of(trace, Played(dict(told), reading)) == DIVERGED
        assert lines_of(trace, Played(dict(told), reading))[-1] == said
    assert code_of(trace, Played(delivered, None)) == UNDECIDED


def test_a_trace_with_transactions_is_undecided():
    trace = trace_of(["producer_appends_in_transaction at 0 in 0"], records=1, transactions=1)
    with pytest.raises(ClientError, match="the trace has transactions"):
        Player(trace, None, "127.0.0.1", 0, print)


@pytest.mark.parametrize(
    ("values", "why"), [({"enable_idempotence": 1}, "an idempotent producer"), ({"consumers": 1}, "consumers with")]
)
def test_a_trace_with_clients_that_are_not_played_is_undecided(values, why):
    with pytest.raises(ClientError, match=f"the trace has {why}"):
        Player(trace_of(["producer_appends at 0"], "2.4", **values), None, "127.0.0.1", 0, print)


# -------------------------------------------------------------------------------------------------------- the command


def test_the_classic_loss_under_real_clients(tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    check(["kafka", "--protocol", "0.10", "--bound", "6", "--engine", "local"])
    (path,) = (one for one in folder.files(tmp_path / "counterexamples") if "acked_not_lost" in one.name)
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
    path = folder.write(trace_of(["leader_handles_fetch 0 from 1"]), tmp_path)
    assert conform(["serve", "--trace", str(path)]) == NOTHING
    assert (
        capfd.readouterr().out == f"{path}: no producer sends a record in this trace, so no client is told anything\n"
    )

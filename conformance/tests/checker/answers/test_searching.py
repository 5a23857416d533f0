"""Questions about a case, answered by search: words, depths and bounds."""

from __future__ import annotations

from dataclasses import replace

import pytest

from conformance.tests.sampling import recorded, sampled
from isrcheck.checker.answers.findings import Finding, Source, trace_of
from isrcheck.checker.answers.questions import OUTSIDE, Case, Question, Topic
from isrcheck.checker.results.verdict import Word
from isrcheck.models.kafka.failures.catalogue import History
from isrcheck.models.kafka.generations import MODEL
from isrcheck.models.messages import UsageError

LOSS = Question(Topic.LOSS)
DURABLE = {"min_insync_replicas": 2}
LOST_WITH_ACKS_1 = {**dict.fromkeys(MODEL.protocols, 2), **dict.fromkeys(("3.3", "3.5", "3.7", "4.0", "4.1", "4.3"), 3)}


def reached(finding: Finding) -> list[tuple[str, str]]:
    """The word of each search, and how far it went."""
    return [(result.word.value, result.reach) for _, result in finding.parts]


@pytest.mark.parametrize("protocol", sampled(MODEL.protocols, lambda one: one in ("2.4", "4.1")))
def test_acks_1_loses_a_record_in_every_generation(ask, protocol):
    found = ask(Case(protocol, acks="1"), LOSS)
    assert (found.word, found.depth, found.source) == (Word.PERMITTED, LOST_WITH_ACKS_1[protocol], Source.SEARCHED)
    trace = trace_of(found.history)
    assert (trace.property_name, trace.verdict, trace.length) == ("acked_not_lost", "PERMITTED", found.depth)


def test_a_history_with_fewer_replicas_is_one_of_the_case(ask):
    found = ask(Case("2.4", acks="1", replication_factor=5), LOSS)
    assert (found.word, found.depth, found.source, found.rule) == (Word.PERMITTED, 2, Source.RULE, OUTSIDE)
    assert trace_of(found.history).instance.configuration.replicas == 3
    assert found.parts[0][0].says.endswith(", with 3 of 5 replicas")


def test_a_durable_topic_before_2_8_keeps_its_records(ask):
    found = ask(Case("2.1", replication_factor=2, **DURABLE), LOSS)
    assert (found.word, found.depth, found.history) == (Word.HOLDS, None, None)
    assert reached(found) == [("HOLDS", "to the end")]


@pytest.mark.parametrize(
    ("protocol", "words"),
    [
        recorded(("2.4", [("HOLDS", "to the end")])),
        recorded(("2.8", [("HOLDS", "to the end"), ("HOLDS", "to the end"), ("NO VIOLATION TO DEPTH", "to depth 10")])),
        recorded(("3.7", [("HOLDS", "to the end"), ("HOLDS", "to the end"), ("NO VIOLATION TO DEPTH", "to depth 10")])),
        recorded(("4.1", [("HOLDS", "to the end"), ("HOLDS", "to the end"), ("NO VIOLATION TO DEPTH", "to depth 10")])),
    ],
)
def test_a_durable_topic_of_three_replicas_keeps_its_records(ask, protocol, words):
    found = ask(Case(protocol, **DURABLE), LOSS)
    assert reached(found) == words


def test_an_unclean_election_loses_a_record(ask):
    found = ask(Case("2.4", unclean_election=True, replication_factor=2), LOSS)
    assert (found.word, found.depth) == (Word.PERMITTED, 3)
    assert "unclean_elections=1" in found.history.configuration


def test_min_insync_replicas_above_the_replicas_refuses_every_write(ask):
    case = Case("2.4", replication_factor=2, min_insync_replicas=3)
    assert reached(ask(case, LOSS)) == [("HOLDS", "to the end")]
    written = ask(case, Question(Topic.WRITES))
    assert (written.word, written.depth, written.history) == (Word.UNREACHABLE, None, None)


@pytest.mark.parametrize(
    ("topic", "down", "words"),
    [
        (Topic.WRITES, 1, [("REACHED", 1), ("REACHED", 2)]),
        (Topic.WRITES, 2, [("UNREACHABLE", 2), ("UNREACHABLE", 1)]),
        (Topic.READS, 2, [("REACHED", 2), ("REACHED", 1)]),
    ],
)
def test_availability_stands_for_every_set_of_brokers(ask, topic, down, words):
    found = ask(Case("2.4", **DURABLE), Question(topic, down))
    assert [(result.word.value, search.choices) for search, result in found.parts] == words
    assert found.history is None


@pytest.mark.sampled
def test_a_resend_is_a_duplicate_without_idempotence(ask):
    plain = Case("2.4", enable_idempotence=False, replication_factor=2)
    found = ask(plain, Question(Topic.DUPLICATES))
    assert (found.word, found.depth, found.property_name) == (Word.PERMITTED, 2, "no_duplicates")
    assert ask(plain, Question(Topic.ORDER)).depth == 5
    once = Case("2.4", enable_idempotence=False, retries=False, replication_factor=2)
    assert ask(once, Question(Topic.DUPLICATES)).word is Word.HOLDS


@pytest.mark.sampled
def test_the_answer_of_a_leader_without_followers_may_be_lost_with_any_acks(ask):
    alone, question = Case("2.4", enable_idempotence=False, replication_factor=1), Question(Topic.DUPLICATES)
    of_one, of_all = (ask(replace(alone, acks=acks), question) for acks in ("1", "all"))
    assert of_all.word is Word.PERMITTED
    assert (of_all.history, of_all.depth) == (of_one.history, of_one.depth)
    refused = ask(replace(alone, min_insync_replicas=2), question)
    assert (refused.word, refused.note.split(": ")[1]) == (Word.UNDECIDED, "a record is acknowledged")
    assert ask(Case("2.4", replication_factor=1), question).word is Word.HOLDS


def test_a_request_that_is_overtaken_at_one_replica_is_not_modelled(ask):
    alone, question = Case("2.4", enable_idempotence=False, replication_factor=1), Question(Topic.ORDER)
    found = ask(alone, question)
    assert (found.word, found.parts) == (Word.NOT_APPLICABLE, ())
    assert found.note.endswith("none is overtaken; in Kafka one can be")
    for kept in ({"max_in_flight_requests": 1}, {"retries": False}, {"acks": "0"}, {"enable_idempotence": True}):
        assert ask(replace(alone, **kept), question).word is Word.HOLDS


@pytest.mark.sampled
def test_one_loss_of_power_is_survived_if_everything_is_flushed(ask):
    found = ask(Case("2.4", replication_factor=2, **DURABLE), Question(Topic.POWER))
    assert (found.word, found.property_name) == (Word.PERMITTED, "acked_not_lost")
    flushed = ask(Case("2.4", replication_factor=2, flushes_every_message=True, **DURABLE), Question(Topic.POWER))
    assert flushed.word is Word.HOLDS


def test_transactions_are_those_of_their_own_model(ask):
    found = ask(Case("4.1", transactions=(("protocol", "4.1"),)), Question(Topic.TRANSACTIONS))
    assert (found.word, [search.model for search, _ in found.parts]) == (Word.HOLDS, ["transactions"])
    none = ask(Case("4.1"), Question(Topic.TRANSACTIONS))
    assert (none.word, none.note) == (Word.NOT_APPLICABLE, "no producer has transactions")


def test_a_limit_reads_like_no_answer(ask):
    found = ask(Case("2.4", replication_factor=2, **DURABLE), LOSS, seconds=0.0)
    assert (found.word, found.depth, found.is_known) == (Word.UNDECIDED, None, False)
    assert found.note.startswith("seconds")
    shallow = ask(Case("2.4", replication_factor=2, **DURABLE), LOSS, depth=3)
    assert reached(shallow) == [("NO VIOLATION TO DEPTH", "to depth 3")]


# --- A history is replayed in plain Python, and refused if it is not one of this version ---

LOST = History(
    model="kafka",
    protocol="2.1",
    configuration="acks=1 crashes=0 bounces=0 min_insync_replicas=1",
    property_name="acked_not_lost",
    verdict="PERMITTED",
    start=1,
    steps=("producer_appends at 0", "controller_fails_over to 1"),
)


def test_every_step_is_taken_again():
    trace = trace_of(LOST)
    assert [trace.instance.spell_step(step) for step in trace.steps] == list(LOST.steps)
    assert trace.command.startswith("check kafka --protocol 2.1 ")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"steps": ("producer_sends at 0",)}, "kafka has no step `producer_sends at 0` in this configuration"),
        ({"steps": LOST.steps[:1]}, "acked_not_lost is not broken at step 1"),
        ({"steps": LOST.steps[1:]}, "acked_not_lost is not broken"),
        ({"configuration": "acks=1 spells=1"}, "no configuration entry spells; another version of isrcheck recorded"),
        ({"configuration": "acks=all min_insync_replicas=1"}, "acked_not_lost is not broken"),
        ({"start": 99}, "there is no initial state 99"),
    ],
)
def test_a_history_of_another_version_is_refused(change, message):
    with pytest.raises(UsageError, match=message):
        trace_of(replace(LOST, **change))

"""The delivery model: what it has in common with Kafka, the figures of each generation, and the findings of
docs/exactly_once.md, step by step."""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping
from dataclasses import replace
from typing import NamedTuple

import pytest

from conformance.tests.docs.markdown import blocks
from conformance.tests.support.places import PROJECT
from conformance.tests.support.searches import steps_to
from isrcheck.checker.explicit.explore import explore
from isrcheck.checker.resources.limits import Limits
from isrcheck.checker.results.verdict import verdicts
from isrcheck.models import registry
from isrcheck.models.client_settings import Acks, Truth
from isrcheck.models.exactly_once.state import Partitioner, Resend, Retries
from isrcheck.models.language.declarations import Kind
from isrcheck.models.language.model import Instance, Model
from isrcheck.models.messages import UsageError

MODEL = registry.load("exactly_once")[0]
IDEMPOTENT = {"acks": Acks.ALL, "enable_idempotence": Truth.TRUE, "retries": Retries.MOST}
ONE_IN_FLIGHT = IDEMPOTENT | {"max_in_flight_requests_per_connection": 1}
WITHOUT = {"enable_idempotence": Truth.FALSE}
NEVER = {"retries": Retries.NONE, "application_resends": Resend.NEVER}
UNCLEAN = {"unclean_leader_election_enable": Truth.TRUE}
NO_TIMEOUT = {"delivery_timeouts": 0}
LATE_RETRY = WITHOUT | {"restarts": 0, "lost_connections": 0, **NO_TIMEOUT}
REPAIRED = {"OVERDUE_ERROR_RENUMBERS": 0}
DOCUMENT = PROJECT / "docs" / "exactly_once.md"


class Size(NamedTuple):
    """Whether everything was searched, the distinct states, and the levels."""

    exhausted: bool
    distinct: int
    levels: int


def judged(protocol: str, values: Mapping[str, int]) -> tuple[Size, Mapping[str, str]]:
    """What `judge` says of a configuration of the model. Several tests look at the same search: it is made once."""
    return judged_once(protocol, tuple(sorted(values.items())))


@functools.cache
def judged_once(protocol: str, values: tuple[tuple[str, int], ...]) -> tuple[Size, Mapping[str, str]]:
    return judge(MODEL.instance(protocol, dict(values)))


def judge(instance: Instance) -> tuple[Size, Mapping[str, str]]:
    """The size of a search, and the verdict on each property by name, as HOLDS or as VIOLATED 7 (PERMITTED 5)."""
    exploration = explore(instance, Limits())
    found = {}
    for verdict in verdicts(exploration):
        text = verdict.word.value + (f" {verdict.depth}" if verdict.depth is not None else "")
        if verdict.permitted is not None and verdict.permitted.path is not None and verdict.word.value == "VIOLATED":
            text += f" (PERMITTED {verdict.permitted.path.depth})"
        found[verdict.prop.name] = text
    return Size(exploration.exhausted, exploration.distinct, len(exploration.levels)), found


def shortest(protocol: str, values: Mapping[str, int], name: str, model: Model = MODEL) -> list[str]:
    """The steps of the shortest counterexample, or permitted failure, of a property."""
    return steps_to(model.instance(protocol, values), name)


def first_column(heading: str) -> list[str]:
    """The code spans in the first column of the table below a heading of the document."""
    section = DOCUMENT.read_text(encoding="utf-8").partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    cells = re.findall(r"^\| (.*?) \|", section, flags=re.MULTILINE)[1:]
    return [name for cell in cells for name in re.findall(r"`([^`]*)`", cell)]


def test_the_tables_of_the_document_are_complete():
    assert sorted(first_column("Actions")) == sorted(action.name for action in MODEL.actions)
    assert tuple(first_column("Properties")) == PROPERTIES
    assert first_column("Generations") == list(MODEL.protocols)


# -------------------------------------------------------------------------------------------------------- the figures

PROPERTIES = (
    "acked_not_lost",
    "delivered_at_least_once",
    "no_duplicates",
    "delivered_at_most_once",
    "no_duplicates_across_sessions",
    "no_duplicates_across_partitions",
    "records_stay_in_their_partition",
    "order_preserved",
    "order_across_partitions",
    "sequence_errors_mean_loss",
)
FIGURED = tuple(name for name in PROPERTIES if name != "records_stay_in_their_partition")
"""Those that can fail without `deadlines_in_flight`."""

FIGURES = {
    # lost, left out, duplicated by a retry | at all, across sessions, across partitions | reordered, across partitions
    "0.11": ("0.11", {}, 26_572, 12, "P4 P4 H  P5 P5 P5  P5 P3  N"),
    "1.0": ("1.0", {}, 26_572, 12, "P4 P4 H  P5 P5 P5  P5 P3  N"),
    "2.1": ("2.1", {}, 88_242, 19, "P4 P4 P5  P5 P5 P5  P6 P3  N"),
    "2.5": ("2.5", {}, 88_242, 19, "P4 P4 P5  P5 P5 P5  P6 P3  N"),
    "3.0": ("3.0", {}, 46_502, 18, "H H V7  P5 P5 P5  V10 P3  V8"),
    "4.2": ("4.2", {}, 46_502, 18, "H H V7  P5 P5 P5  V10 P3  V8"),
    "4.3": ("4.3", {}, 46_502, 18, "H H V7  P5 P5 P5  V10 P3  V8"),
    "3.0, an id is given twice": ("3.0", {"overlapping_blocks": 1}, 84_849, 18, "V6 V6 V7  P5 P5 P5  V10 P3  V8"),
    "4.3, no id is given twice": ("4.3", {"overlapping_blocks": 1}, 46_502, 18, "H H V7  P5 P5 P5  V10 P3  V8"),
    "4.5": ("4.5", {}, 44_960, 19, "H H V7  P5 P5 P5  V13 P3  V11"),
    "0.11, idempotent": ("0.11", ONE_IN_FLIGHT, 34_586, 16, "H H H  P5 P5 P5  V7 P3  V7"),
    "1.0, idempotent": ("1.0", IDEMPOTENT, 47_702, 20, "V11 V11 H  P5 P5 P5  V7 P3  V7"),
    "1.0, one in flight": ("1.0", ONE_IN_FLIGHT, 34_586, 16, "H H H  P5 P5 P5  V7 P3  V7"),
    "2.1, idempotent": ("2.1", IDEMPOTENT, 59_336, 19, "V6 V6 H  P5 P5 P5  V7 P3  V7"),
    "2.1, one in flight": ("2.1", ONE_IN_FLIGHT, 44_260, 16, "V6 V6 H  P5 P5 P5  V7 P3  V7"),
    "2.5, idempotent": ("2.5", IDEMPOTENT, 46_502, 18, "H H V7  P5 P5 P5  V10 P3  V8"),
    "3.0, one in flight": ("3.0", ONE_IN_FLIGHT, 32_230, 16, "H H H  P5 P5 P5  H P3  H"),
    "4.5, one session": ("4.5", {"restarts": 0}, 5_257, 18, "H H V7  P5 H P5  H P3  H"),
    "4.5, three records": ("4.5", {"restarts": 0, "records": 3}, 12_303, 18, "H H V7  P5 H P5  H P3  H"),
    "at most once": ("3.0", {"acks": Acks.ZERO, **WITHOUT}, 336, 8, "P2 P2 H  H H H  P5 P3  N"),
    "never again": ("3.0", WITHOUT | NEVER, 666, 8, "H P2 H  H H H  P5 P3  N"),
    "at least once": ("3.0", WITHOUT, 39_772, 18, "H H P5  P5 P5 P5  P6 P3  N"),
    "unclean": ("3.0", ONE_IN_FLIGHT | UNCLEAN, 73_274, 17, "P4 P4 H  P5 P5 P5  H P3  H"),
}
"""What is searched, with the distinct states, the levels, and the verdict on each of FIGURED: Holds, n/a, Permitted
or Violated after so many steps."""

WORDS = {"H": "HOLDS", "N": "n/a", "P": "PERMITTED ", "V": "VIOLATED "}


def test_the_properties_of_the_table_are_those_of_the_model():
    assert tuple(prop.name for prop in MODEL.properties if prop.kind is not Kind.SOMETIMES) == PROPERTIES


@pytest.mark.sampled
@pytest.mark.parametrize("what", FIGURES)
def test_each_configuration_has_its_figures(what):
    protocol, values, distinct, levels, expected = FIGURES[what]
    exploration, found = judged(protocol, values)
    assert exploration.exhausted
    words = [WORDS[word[0]] + word[1:] for word in expected.split()]
    assert {name: found[name] for name in FIGURED} == dict(zip(FIGURED, words, strict=True))
    assert (exploration.distinct, exploration.levels) == (distinct, levels)


@pytest.mark.parametrize("protocol", MODEL.protocols)
def test_what_an_operator_sees_by_default_is_that_of_the_generation(protocol):
    """The client's defaults by version: section 5.4 of the fact sheet."""
    configuration = MODEL.instance(protocol).configuration
    assert (configuration.acks, configuration.enable_idempotence, configuration.retries) == {
        "0.11": (Acks.ONE, Truth.FALSE, Retries.NONE),
        "1.0": (Acks.ONE, Truth.FALSE, Retries.NONE),
        "2.1": (Acks.ONE, Truth.FALSE, Retries.MOST),
        "2.5": (Acks.ONE, Truth.FALSE, Retries.MOST),
        "3.0": (Acks.ALL, Truth.TRUE, Retries.MOST),
        "4.2": (Acks.ALL, Truth.TRUE, Retries.MOST),
        "4.3": (Acks.ALL, Truth.TRUE, Retries.MOST),
        "4.5": (Acks.ALL, Truth.TRUE, Retries.MOST),
    }[protocol]


KEPT = ("acked_not_lost", "delivered_at_least_once", "no_duplicates", "order_preserved", "sequence_errors_mean_loss")
"""What exactly once means, within a session."""


@pytest.mark.recorded
@pytest.mark.parametrize(("protocol", "distinct"), [("2.5", 1_073_446), ("4.5", 1_073_446)])
def test_one_request_in_flight_is_exactly_once_with_twice_the_faults(protocol, distinct):
    faults = ("epoch_bumps", "lost_connections", "rejections", "delivery_timeouts", "reloaded_producers")
    exploration, found = judged(protocol, ONE_IN_FLIGHT | dict.fromkeys(faults, 2) | {"log_size": 6})
    assert {found[name] for name in KEPT} == {"HOLDS"}
    assert (exploration.exhausted, exploration.distinct) == (True, distinct)


@pytest.mark.sampled
@pytest.mark.parametrize(
    ("in_flight", "values", "distinct"),
    [
        (2, {"records": 3}, 137_705),
        (3, {"records": 3}, 140_415),
        (4, {"records": 4, "batches": 5, "partitions": 1}, 192_474),
    ],
)
def test_one_session_alone_is_exactly_once_since_4_5_if_kafka_14397_is_repaired(in_flight, values, distinct):
    faults = dict.fromkeys(("epoch_bumps", "lost_connections", "rejections", "delivery_timeouts"), 2) | REPAIRED
    client = {"max_in_flight_requests_per_connection": in_flight, "idempotent_cache": in_flight}
    exploration, found = judged("4.5", faults | client | {"restarts": 0, "log_size": 6} | values)
    assert exploration.exhausted
    assert {found[name] for name in KEPT} == {"HOLDS"}
    assert exploration.distinct == distinct


# ------------------------------------------------------------------------------------------- what the client refuses


@pytest.mark.parametrize(
    ("protocol", "values", "message"),
    [
        ("3.0", {"acks": Acks.ONE}, "Kafka's client refuses to start: idempotence needs acks=all; set --acks all"),
        ("3.0", {"acks": Acks.ZERO}, "Kafka's client refuses to start: idempotence needs acks=all; set --acks all"),
        ("3.0", {"retries": Retries.NONE}, "Kafka's client refuses to start: idempotence needs retries; set --retries"),
        ("0.11", IDEMPOTENT, "as many requests in flight as brokers remember batches; lower"),
        (
            "3.0",
            {"max_in_flight_requests_per_connection": 3},
            "as many requests in flight as brokers remember batches; lower",
        ),
    ],
)
def test_the_client_refuses_what_idempotence_cannot_do(protocol, values, message):
    with pytest.raises(UsageError, match=re.escape(message)):
        MODEL.instance(protocol, values)


def test_a_client_that_does_not_refuse_exceeds_what_is_remembered():
    """Two requests in flight, and one remembered batch: the retry of the first is taken for a gap."""
    reckless = replace(MODEL, contradictions=())
    values = {"restarts": 0, "rejections": 0, "delivery_timeouts": 0}
    steps = (
        "producer_sends a to 0, producer_sends b to 0, broker_appends batch 0, broker_appends batch 1,"
        " connection_is_lost to 0, producer_retries batch 0, broker_refuses_sequence batch 0,"
        " producer_receives_out_of_order batch 0, producer_retries batch 0, broker_appends batch 0"
    )
    assert shortest("3.0", values | {"idempotent_cache": 1}, "no_duplicates", reckless) == steps.split(", ")
    exploration, found = judge(reckless.instance("3.0", values | {"idempotent_cache": 2}))
    assert (exploration.exhausted, exploration.distinct) == (True, 141)
    assert (found["no_duplicates"], found["order_preserved"]) == ("HOLDS", "HOLDS")


# ------------------------------------------------------------------------------------------------------ the findings

SNAPSHOT = {"restarts": 0, "rejections": 0, "reloaded_producers": 1, **NO_TIMEOUT}

FINDINGS = {
    "A rejected first request": [
        ("3.0", {"restarts": 0, **NO_TIMEOUT}, "no_duplicates"),
        ("4.5", NO_TIMEOUT, "no_duplicates"),
    ],
    "An error after the deadline (KAFKA-14397)": [
        ("4.5", {"restarts": 0}, "no_duplicates"),
        ("2.1", ONE_IN_FLIGHT, "acked_not_lost"),
    ],
    "Only the last batch in a snapshot": [("3.0", SNAPSHOT, "no_duplicates")],
    "A late request after a time-out": [("1.0", ONE_IN_FLIGHT, "order_preserved")],
    "Numbers that are used again": [("1.0", IDEMPOTENT, "acked_not_lost")],
    "Retention forgets a producer": [
        ("0.11", ONE_IN_FLIGHT | NO_TIMEOUT | {"forgotten_producers": 1}, "sequence_errors_mean_loss")
    ],
    "A producer id that is given twice": [("3.0", {"overlapping_blocks": 1}, "acked_not_lost")],
    "A buffer that is used again while it is sent": [
        ("3.0", {"deadlines_in_flight": 1}, "records_stay_in_their_partition")
    ],
}
"""The findings of the document, by heading, with the histories in the document's order."""


def histories() -> list[str]:
    return [block.text for block in blocks(DOCUMENT) if block.info == ("text",)]


@pytest.mark.sampled
def test_the_document_shows_the_histories_of_the_searches():
    found = [shortest(*one) for several in FINDINGS.values() for one in several]
    assert histories() == ["".join(f"{number:>2}  {step}\n" for number, step in enumerate(steps, 1)) for steps in found]


def test_every_finding_has_a_heading():
    text = DOCUMENT.read_text(encoding="utf-8")
    assert re.findall(r"^### (.*)$", text, flags=re.MULTILINE) == list(FINDINGS)


@pytest.mark.parametrize(
    ("protocol", "values", "name"),
    [
        # A rejected first request: not with one request in flight, without a rejection, without a lost answer, before
        # 2.5, or in an empty log since 4.5.
        ("3.0", ONE_IN_FLIGHT, "no_duplicates"),
        ("3.0", {"rejections": 0, **NO_TIMEOUT}, "no_duplicates"),
        ("3.0", {"lost_connections": 0}, "no_duplicates"),
        ("2.1", IDEMPOTENT, "no_duplicates"),
        ("4.5", {"restarts": 0, **NO_TIMEOUT}, "no_duplicates"),
        # An error after the deadline: not with one request in flight since 2.5, without a time-out, or if the client
        # regards the sequence number as unresolved; before 2.1 there is no deadline.
        ("4.5", {"restarts": 0, "max_in_flight_requests_per_connection": 1}, "no_duplicates"),
        ("4.5", {"restarts": 0, **REPAIRED}, "no_duplicates"),
        ("2.5", ONE_IN_FLIGHT, "acked_not_lost"),
        ("2.1", ONE_IN_FLIGHT | REPAIRED, "acked_not_lost"),
        ("1.0", ONE_IN_FLIGHT, "acked_not_lost"),
        # A sequence error without a loss: not with one request in flight since 2.5.
        ("3.0", ONE_IN_FLIGHT, "sequence_errors_mean_loss"),
        # Only the last batch in a snapshot: not with one request in flight; before 2.5, an error is reported.
        ("3.0", SNAPSHOT | ONE_IN_FLIGHT, "no_duplicates"),
        ("1.0", SNAPSHOT | IDEMPOTENT, "no_duplicates"),
        # A late request after a time-out: fenced by the new epoch.
        ("2.5", ONE_IN_FLIGHT, "order_preserved"),
        ("1.0", ONE_IN_FLIGHT | {"EPOCH_BUMP": 1}, "order_preserved"),
        # Numbers that are used again.
        ("2.5", IDEMPOTENT, "acked_not_lost"),
        # Retention forgets a producer.
        ("1.0", ONE_IN_FLIGHT | NO_TIMEOUT | {"forgotten_producers": 1}, "sequence_errors_mean_loss"),
    ],
)
def test_a_finding_is_gone(protocol, values, name):
    exploration, found = judged(protocol, values)
    assert exploration.exhausted
    assert found[name] == "HOLDS"


@pytest.mark.parametrize("in_flight", [1, 2])
@pytest.mark.parametrize("protocol", ["1.0", "2.1", "2.5", "3.0", "4.5"])
def test_without_a_time_out_only_several_requests_from_2_5_to_4_4_break_a_promise(protocol, in_flight):
    values = IDEMPOTENT | NO_TIMEOUT | {"restarts": 0, "max_in_flight_requests_per_connection": in_flight}
    _, found = judged(protocol, values)
    broken = {name: found[name] for name in KEPT if found[name] != "HOLDS"}
    fails = in_flight == 2 and protocol in ("2.5", "3.0")
    assert broken == ({"no_duplicates": "VIOLATED 13", "order_preserved": "VIOLATED 10"} if fails else {})


def test_neighbouring_generations_differ():
    """By the figures above, or by a finding and where it is gone."""
    figures = {name: expected for name, (*_, expected) in FIGURES.items()}
    assert figures["1.0, idempotent"] != figures["2.1, idempotent"] != figures["2.5, idempotent"]
    assert figures["2.5"] != figures["3.0"] != figures["4.5"]
    values = ONE_IN_FLIGHT | NO_TIMEOUT | {"forgotten_producers": 1}
    assert [judged(one, values)[1]["sequence_errors_mean_loss"] for one in ("0.11", "1.0")] == ["VIOLATED 7", "HOLDS"]


SMALL = {"restarts": 0, "batches": 2, "log_size": 1} | dict.fromkeys(
    ("epoch_bumps", "lost_connections", "rejections", "delivery_timeouts"), 0
)
"""A producer that meets no other fault."""


@pytest.mark.parametrize(
    ("protocol", "values", "distinct", "word"),
    [
        ("3.0", {}, 121, "VIOLATED 5"),
        ("4.2", {}, 81, "HOLDS"),
        ("3.0", WITHOUT, 113, "VIOLATED 5"),
        ("4.2", WITHOUT, 81, "HOLDS"),
    ],
)
def test_a_buffer_that_is_used_again_in_flight_takes_a_record_to_another_partition(protocol, values, distinct, word):
    """KAFKA-19012."""
    exploration, found = judged(protocol, SMALL | {"deadlines_in_flight": 1} | values)
    assert (exploration.exhausted, exploration.distinct) == (True, distinct)
    assert found["records_stay_in_their_partition"] == word


# ------------------------------------------------------------------------------------- what the application duplicates


@pytest.mark.parametrize(
    ("values", "across_sessions", "across_partitions", "at_most_once"),
    [
        ({}, "PERMITTED 5", "PERMITTED 5", "PERMITTED 5"),
        ({"partitioner": Partitioner.BY_KEY}, "PERMITTED 5", "HOLDS", "PERMITTED 5"),
        ({"partitioner": Partitioner.ROUND_ROBIN}, "PERMITTED 5", "PERMITTED 5", "PERMITTED 5"),
        ({"restarts": 0}, "HOLDS", "PERMITTED 5", "PERMITTED 5"),
        ({"restarts": 0, "delivery_timeouts": 0}, "HOLDS", "HOLDS", "HOLDS"),
        ({"application_resends": Resend.NEVER}, "HOLDS", "HOLDS", "HOLDS"),
    ],
)
def test_a_resend_is_a_duplicate_that_idempotence_does_not_see(
    values, across_sessions, across_partitions, at_most_once
):
    _, found = judged("3.0", ONE_IN_FLIGHT | values)
    assert found["no_duplicates_across_sessions"] == across_sessions
    assert found["no_duplicates_across_partitions"] == across_partitions
    assert found["delivered_at_most_once"] == at_most_once
    assert found["no_duplicates"] == "HOLDS"


HISTORIES = [
    # A record is written by two sessions.
    (
        ONE_IN_FLIGHT,
        "no_duplicates_across_sessions",
        "producer_sends a to 0, producer_restarts, application_resends a to 0, broker_appends batch 0,"
        " broker_appends batch 1",
    ),
    # A record that timed out is resent to another partition.
    (
        ONE_IN_FLIGHT | {"restarts": 0},
        "no_duplicates_across_partitions",
        "producer_sends a to 0, broker_appends batch 0, connection_is_lost_past_deadline batch 0,"
        " application_resends a to 1, broker_appends batch 1",
    ),
    # Without idempotence, a retry is appended again, or comes too late.
    (
        WITHOUT | {"restarts": 0, **NO_TIMEOUT},
        "no_duplicates",
        "producer_sends a to 0, broker_appends batch 0, connection_is_lost to 0, producer_retries batch 0,"
        " broker_appends batch 0",
    ),
    (
        LATE_RETRY,
        "order_preserved",
        "producer_sends a to 0, producer_sends b to 0, broker_rejects batch 0, producer_receives_error batch 0,"
        " broker_appends batch 1, producer_receives_success batch 1, producer_retries batch 0, broker_appends batch 0",
    ),
    # A forgotten producer is appended again.
    (
        ONE_IN_FLIGHT | NO_TIMEOUT | {"restarts": 0, "forgotten_producers": 1},
        "no_duplicates",
        "producer_sends a to 0, broker_appends batch 0, connection_is_lost to 0, producer_retries batch 0,"
        " producers_are_forgotten of 0, broker_appends batch 0",
    ),
]


@pytest.mark.parametrize(("values", "name", "steps"), HISTORIES)
def test_the_shortest_history_of_a_duplicate_or_of_disorder(values, name, steps):
    assert shortest("3.0", values, name) == steps.split(", ")


def test_one_request_in_flight_keeps_the_order_without_idempotence():
    _, found = judged("3.0", LATE_RETRY | {"max_in_flight_requests_per_connection": 1})
    assert found["order_preserved"] == "HOLDS"

"""Which generation is searched: with the known mistakes repaired, or with one of them alone."""

from __future__ import annotations

import pytest

from isrcheck.checker.answers.planning import Family, effective, family, isolated, mistakes, numbers, repaired
from isrcheck.checker.answers.questions import Case, loses_data
from isrcheck.models.kafka.failures.catalogue import named
from isrcheck.models.kafka.generations import MODEL
from isrcheck.models.kafka.state.values import BrokerStateCheck, Truncation, UnknownProducer

REELECTED = ("REMOTE_OFFSETS_KEPT_BY_REELECTED_LEADER", "off")
MATCHED = ("RESPONSE_EPOCH_MATCHED", "on")
EQUAL = ("EQUAL_PARTITION_EPOCH_REPLACES", "off")
NO_DIVERGING_HW = ("HW_FROM_DIVERGING_RESP", "off")
POSITION = ("POSITION_CHECK", "END_OFFSET_AND_EPOCH")
UNKNOWN = ("UNKNOWN_PID_POLICY", "ANY_UNLESS_EMPTY")
NUMBERED = (("CLIENT_BUMPS_EPOCH", "on"), ("PRODUCER_STATE_KEPT", "on"))
OF_OPERATORS = (
    ("CHANGED_MIN_ISR_ERASES", "ELR"),
    ("DELETED_FOLDER_IS_UNCLEAN", "on"),
    ("DELETION_AWAITS_ELIGIBLE", "on"),
    ("ELR_WITHIN_REPLICAS", "on"),
    ("EXPAND_LOG_START", "on"),
    ("FETCH_COUNTED_IN_ITS_EPOCH", "on"),
    ("MIN_ISR_OF_OWN_REPLICAS", "on"),
    ("RAISED_MIN_ISR_AWAITS_BROKERS", "on"),
    ("UNREGISTERED_LEAVES_ELR", "on"),
)
"""The repairs of mistakes of mechanisms that a search can be without, such as an operator's act."""

WRITTEN = tuple(sorted((*NUMBERED, *OF_OPERATORS, ("EPOCH_ENTRY_AT_END_DROPPED", "on"), POSITION, REELECTED)))


def test_generations_have_families():
    found = {protocol: family(protocol) for protocol in MODEL.protocols}
    assert [name for name, one in found.items() if one is Family.ASKED] == ["2.8"]
    assert [name for name, one in found.items() if one is Family.KRAFT] == ["3.3", "3.5", "3.7", "4.0", "4.1", "4.3"]


@pytest.mark.parametrize("protocol", ["0.8", "0.10", "0.11", "2.0", "2.1", "2.4"])
def test_generations_in_which_the_leader_writes_the_isr_are_repaired_to_the_last_one(protocol):
    found = repaired(Case(protocol))
    assert (found.protocol, found.switches) == ("2.4", WRITTEN)
    assert repaired(found) == found


@pytest.mark.parametrize(
    ("protocol", "switches"),
    [
        ("2.8", (NO_DIVERGING_HW, POSITION, REELECTED, MATCHED, UNKNOWN)),
        ("3.3", (EQUAL, NO_DIVERGING_HW, POSITION, REELECTED, MATCHED, UNKNOWN)),
        ("3.5", (EQUAL, POSITION, REELECTED, MATCHED, UNKNOWN)),
        ("3.7", (EQUAL, POSITION, REELECTED, MATCHED, UNKNOWN)),
        *((protocol, (EQUAL, POSITION, REELECTED, UNKNOWN)) for protocol in ("4.0", "4.1", "4.3")),
    ],
)
def test_later_generations_keep_their_rules_but_for_the_mistakes(protocol, switches):
    found = repaired(Case(protocol))
    assert (found.protocol, found.switches) == (protocol, tuple(sorted((*switches, *OF_OPERATORS))))
    assert repaired(found) == found
    assert not dict(OF_OPERATORS).keys() & effective(numbers(MODEL, dict(found.switches))).keys()


def test_switches_of_a_release_are_kept_unless_they_are_mistakes():
    of_2_7 = (("DIVERGING_RESP_UPDATES_STATE", "on"), ("HW_FROM_DIVERGING_RESP", "off"), ("HW_MINISR_GATE", "on"))
    found = repaired(Case("2.8", of_2_7))
    assert dict(found.switches) == dict(
        [("HW_MINISR_GATE", "on"), NO_DIVERGING_HW, POSITION, REELECTED, MATCHED, UNKNOWN, *OF_OPERATORS]
    )
    old_format = repaired(Case("2.4", (("TRUNC", "HW"),)))
    assert (old_format.protocol, old_format.switches) == ("2.4", WRITTEN)


def test_the_mistakes_of_a_failure_are_what_its_repairs_change():
    assert mistakes("missed_demotion") == {("REMOTE_OFFSETS_KEPT_BY_REELECTED_LEADER", 1): 0}
    assert mistakes("last_replica_standing") == {("ELR", 0): 1}
    truncation = mistakes("fetches_are_not_fenced")
    assert truncation["TRUNC", Truncation.KIP279] == Truncation.KIP320
    assert len(truncation) == 8
    assert mistakes("acks_1") == {}


def test_a_failure_is_searched_without_the_other_mistakes():
    values = isolated(Case("3.7"), named("missed_demotion"))
    assert "REMOTE_OFFSETS_KEPT_BY_REELECTED_LEADER" not in values
    assert values["EQUAL_PARTITION_EPOCH_REPLACES"] == 0
    stale = isolated(Case("3.7"), named("stale_record"))
    assert (stale["REMOTE_OFFSETS_KEPT_BY_REELECTED_LEADER"], stale["RESPONSE_EPOCH_MATCHED"]) == (0, 1)
    assert "EQUAL_PARTITION_EPOCH_REPLACES" not in stale
    # The history of this failure leaves another mistake out, for which the library has no failure of its own.
    assert isolated(Case("3.3"), named("rebooted_follower_joins_the_isr"))["RESTART_BEFORE_FENCING"] == 0


def test_what_the_release_does_with_sequence_numbers_belongs_to_the_case():
    numbering = (("UNKNOWN_PID_POLICY", int(UnknownProducer.SEQUENCE_ZERO)), ("remembered_batches", 5))
    values = isolated(Case("2.4", numbering=numbering), named("numbers_from_zero"))
    assert values["UNKNOWN_PID_POLICY"] == UnknownProducer.SEQUENCE_ZERO
    assert "remembered_batches" not in values


def test_a_switch_of_a_mechanism_that_is_not_there_is_left_out():
    switches = {"UNKNOWN_PID_POLICY": 2, "POSITION_CHECK": 2, "EPOCH_ENTRY_AT_END_DROPPED": 1}
    assert effective(switches) == {"EPOCH_ENTRY_AT_END_DROPPED": 1}
    of_consumers = {"POSITION_CHECK": 2, "EPOCH_ENTRY_AT_END_DROPPED": 1, "consumers": 1}
    assert effective(switches | {"consumers": 1}) == of_consumers


def test_a_failure_that_needs_a_loss_of_data_is_told_apart():
    assert loses_data(named("new_incarnation"))
    assert loses_data(named("rebooted_follower_joins_the_isr"))
    assert not loses_data(named("missed_demotion"))
    fenced = "BROKER_STATE_CHECK", BrokerStateCheck.FENCED
    assert mistakes("rebooted_follower_joins_the_isr") == {fenced: BrokerStateCheck.BROKER_EPOCH}

"""The headline of a trace: exact sentences for the known failures, and for the verdicts of any model."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from conformance.tests.support import trace
from conformance.tests.support.golden import steps_of
from isrcheck.models import registry, run
from isrcheck.models.kafka.failures.catalogue import failures
from isrcheck.models.language.declarations import LIVENESS, Kind
from isrcheck.models.language.model import Instance, Property
from isrcheck.models.messages import ModelError
from isrcheck.traces.explaining.headline import claim_of, headline
from isrcheck.traces.format.trace import HOLDS, VIOLATED, Trace

HISTORIES = {one.name: one.history for one in failures() if one.history is not None}
HEADLINES = {
    "truncation_to_high_watermark": (
        "An acknowledged record is lost: broker 1 cuts it from its log when it restarts, and is elected, "
        "although broker 0 still has it"
    ),
    "power_loss_within_an_epoch": (
        "Brokers 0 and 1 hold different committed records at offset 0: broker 1 takes over the high watermark of "
        "broker 0"
    ),
    "fast_fail_over": (
        "The logs of brokers 0 and 1 part at offset 1, unnoticed: broker 1 appends record c from the answer of broker 0"
    ),
    "fetches_are_not_fenced": (
        "A member of the ISR lacks a record that readers have seen: broker 0 shows it to readers before broker 2 has it"
    ),
    "become_follower_is_skipped": (
        "A member of the ISR lacks a record that readers have seen: broker 0 shows it to readers before broker 2 has it"
    ),
    "expansion_against_a_lagging_high_watermark": (
        "An acknowledged record is lost: broker 2 joins the ISR without it, and is elected"
    ),
    "diverging_fetch_counts": (
        "A member of the ISR lacks a record that readers have seen: broker 1 shows it to readers before broker 0 has it"
    ),
    "high_watermark_of_a_diverging_response": (
        "Brokers 0 and 1 hold different committed records at offset 0: broker 0 takes over the high watermark of "
        "broker 1"
    ),
    "stale_diverging_response": (
        "An acknowledged record is lost: broker 1 cuts it from its log when it restarts, joins the ISR all the "
        "same, and is elected"
    ),
    "high_watermark_over_the_committed_isr": (
        "An acknowledged record is lost: broker 0 does not wait for broker 2, which joins the ISR, and broker 2 "
        "is elected without it"
    ),
    "rebooted_follower_joins_the_isr": (
        "An acknowledged record is lost: broker 2 loses it with its disk, joins the ISR all the same, and is elected"
    ),
    "late_fetch_of_an_earlier_process": (
        "An acknowledged record is lost: broker 2 loses it with its disk, joins the ISR all the same, and is elected"
    ),
    "last_replica_standing": (
        "An acknowledged record is lost: broker 0 loses it in a loss of power, and is elected, although broker 1 "
        "still has it"
    ),
    "acks_1": "An acknowledged record is lost: the leader fails before broker 1 has it",
    "unclean_election": "An acknowledged record is lost: broker 1, which is not in sync, is elected without it",
    "whole_isr_loses_power": (
        "An acknowledged record is lost: broker 0 loses it in a loss of power, and is the leader again, although "
        "broker 1 still has it"
    ),
    "retry_is_appended_twice": (
        "Record a is in the log twice: the producer sends record a again to broker 0, which appends it"
    ),
    "retries_change_the_order": (
        "Records a and b change places: the producer sends record a again to broker 1, which appends it"
    ),
    "stale_high_watermark_after_fail_over": (
        "Consumer 0 goes back behind an end of the log that it knew: broker 1 does not have the position of "
        "consumer 0, which resets it"
    ),
    "late_record_reopens_the_transaction": (
        "Readers of partition 0 hang for ever: partition 0 appends the record of transaction a, which arrives late"
    ),
    "late_record_joins_the_next_transaction": (
        "A record of an aborted transaction is read: the record of transaction a arrives late and is committed "
        "with another one"
    ),
    "marker_of_an_older_coordinator": (
        "A record of a committed transaction is lost: a late abort marker at partition 0 ends transaction b"
    ),
    "late_marker_ends_the_next_transaction": (
        "A record of a committed transaction is lost: a late abort marker at partition 0 ends transaction b"
    ),
    "zombie_is_committed_by_its_successor": (
        "Transaction a of an old producer counts, after a new one has taken over: its record arrives late at "
        "partition 0, and joins the new one"
    ),
    "zombie_leader": "An acknowledged record is lost: broker 1 is elected before it has the record",
    "isr_change_pending_for_ever": (
        "This never happens: A change of the ISR that the leader has asked for is completed or given up at last "
        "(leader takes answer, and nothing that has to happen changes it)"
    ),
    "high_watermark_after_a_shrink": (
        "Readers wait for the end of the log for ever: broker 0 hears that its change of the ISR is granted, and "
        "nothing that has to happen changes it"
    ),
    "out_of_range_after_an_unclean_election": (
        "The logs of brokers 0 and 1 part at offset 0, unnoticed: broker 0 appends record c from the answer of broker 1"
    ),
    "epoch_entry_at_the_log_end": (
        "A member of the ISR lacks a record that readers have seen: broker 2 cuts it from its log to match broker 0"
    ),
    "reconciliation_never_ends": (
        "Broker 0 stays out of the ISR for ever: broker 0 hears that broker 1 leads, in epoch 3, and nothing "
        "that has to happen changes it"
    ),
    "numbers_from_zero": "An acknowledged record is lost: broker 1 takes it for an older one, and appends nothing",
    "unknown_producer_out_of_order": "Records a and b change places: the producer sends record a again to broker 0",
    "duplicate_in_a_new_epoch": "Record b is in the log twice: the producer sends record b again to broker 1",
    "snapshot_forgets_batches": "Record a is in the log twice: the producer sends record a again to broker 1",
    "marker_is_refused_for_ever": (
        "The coordinator can never finish a transaction: the answer of partition 0 to its marker is lost"
    ),
    "producer_id_is_given_twice": (
        "No longer true after producer receives success batch 1: Every record that the producer has reported as "
        "delivered is in a log (with acks=0: or on its way)"
    ),
    "buffer_is_reused_in_flight": (
        "No longer true after broker appends batch 0: A record is in a log only if a batch with it was sent to that "
        "partition"
    ),
    "next_producer_id_is_forgotten": (
        "Producer 0 is refused, although nobody has fenced it: the coordinator's log now says that the transaction is "
        "aborted everywhere"
    ),
    "exhausted_producer_id_is_kept": (
        "Readers of partition 0 hang for ever: partition 0 appends the record of transaction b"
    ),
    "fence_after_the_last_epoch": (
        "Readers of partition 0 hang for ever: partition 0 appends the record of transaction a"
    ),
    "answer_of_an_earlier_coordinator": (
        "The coordinator can never finish a transaction: the coordinator hears of a marker of an earlier coordinator "
        "epoch"
    ),
    "missed_demotion": (
        "An acknowledged record is lost: broker 2, which is elected already, cuts it from its log to match broker 1, "
        "which no longer leads"
    ),
    "stale_record": (
        "An acknowledged record is lost: broker 0 forgets that broker 2 joins the ISR, and broker 2 is elected "
        "without it"
    ),
    "new_incarnation": (
        "An acknowledged record is lost by fewer failures than KIP-966 tolerates: broker 0 loses it in a loss of "
        "power, and is elected, although broker 1 still has it"
    ),
    "acks_0": "An acknowledged record is lost: it never reaches a broker",
    "minimum_of_one": "An acknowledged record is lost: broker 0 loses it in a loss of power, and is the leader again",
    "truncation_is_not_noticed": (
        "Consumer 0 does not notice that a record is gone that it has read: consumer 0 learns that broker 0 "
        "leads, and checks its position"
    ),
    "epoch_below_the_first_entry": (
        "A member of the ISR lacks a record that readers have seen: broker 1 joins the ISR without it"
    ),
    "removed_replica_is_elected_empty": (
        "An acknowledged record is lost: broker 1 deletes its log, because it is no longer a replica, and is "
        "elected, although broker 0 still has it"
    ),
    "stranger_keeps_the_leader_out": (
        "The partition has no leader, and nobody who could return may lead it: broker 0 starts again"
    ),
    "leaderless_partition_takes_back_a_stranger": (
        "An acknowledged record is lost: broker 1 deletes its log, because it is no longer a replica, and is "
        "elected, although broker 0 still has it"
    ),
    "reassignment_through_an_eligible_stranger": (
        "An acknowledged record is lost: broker 0 deletes its log, because it is no longer a replica, and is "
        "elected, although brokers 1 and 2 still have it"
    ),
    "replica_is_removed_below_the_minimum": (
        "An acknowledged record is lost: broker 2 deletes its log, because it is no longer a replica, and is "
        "elected, although brokers 0 and 1 still have it"
    ),
    "cancelled_reassignment_leaves_a_stranger": (
        "An acknowledged record is lost: broker 2 deletes its log, because it is no longer a replica, and is "
        "elected, although brokers 0 and 1 still have it"
    ),
    "changed_minimum_forgets_who_may_lead": (
        "The partition has no leader, and nobody who could return may lead it: an operator sets "
        "min.insync.replicas to 1"
    ),
    "deleted_folder_counts_as_clean": (
        "An acknowledged record is lost: broker 1 loses it with the folder that an operator deletes, and is "
        "elected, although broker 0 still has it"
    ),
    "minimum_of_partition_0": (
        "An acknowledged record is lost by fewer failures than KIP-966 tolerates: broker 0 loses it in a loss of "
        "power, and is elected, although broker 1 still has it"
    ),
    "raised_minimum_overtakes_the_leader": (
        "An acknowledged record is lost: broker 1 joins the ISR without it, and is elected"
    ),
    "unregistered_broker_stays_eligible": (
        "The partition has no leader, and nobody who could return may lead it: an operator unregisters broker 1, "
        "which is down"
    ),
    "reported_directory_empties_the_elr": (
        "An acknowledged record is lost by fewer failures than KIP-966 tolerates: broker 0 loses it in a loss of "
        "power, and is elected, although broker 1 still has it"
    ),
    "last_known_leader_is_down": "Broker 0 is in the ISR, although it is fenced or shuts down: broker 0 starts again",
    "fetch_counts_in_the_next_epoch": (
        "An acknowledged record is lost: broker 1 deletes its log, because it is no longer a replica, and is elected, "
        "although broker 0 still has it"
    ),
    "checked_answer_truncates_later": (
        "A member of the ISR lacks a record that readers have seen: broker 0 cuts it from its log, by an answer that "
        "it has checked before"
    ),
    "applied_change_is_dropped": (
        "Broker 0 stays out of the ISR for ever: broker 1 fails to apply the metadata up to partition epoch 1, and "
        "nothing that has to happen changes it"
    ),
    "deleted_records_come_back": (
        "Broker 1 shows records that a client heard are deleted: broker 1 hears that it leads, in epoch 1"
    ),
    "restart_before_fencing": (
        "An acknowledged record is lost: broker 0 loses it in a loss of power, and is the leader again, although "
        "broker 1 still has it"
    ),
}


@pytest.mark.parametrize("name", HISTORIES)
def test_known_failures(name: str) -> None:
    assert headline(steps_of(HISTORIES[name])) == HEADLINES[name]


# ------------------------------------------------------------------------------------------------------- every property

INSTANCES: dict[str, tuple[str, str, dict[str, int]]] = {
    "kafka with consumers": ("kafka", "2.4", {"consumers": 1, "auto_offset_reset": 1, "delete_records": 1}),
    "kafka with transactions": ("kafka", "2.1", {"transactions": 1}),
    "kafka with ELR": ("kafka", "4.1", {"reassignments": 1, "records": 2, "log_size": 2}),
    "transactions": ("transactions", "2.5", {}),
    "kafka_liveness": ("kafka_liveness", "3.1", {"transactions": 1}),
    "transactions_liveness": ("transactions_liveness", "2.5", {}),
}
"""Configurations in which together every property applies."""


def broken(instance: Instance, prop: Property) -> Trace:
    """A path of one step, which need not be possible, at whose end the property is false."""
    chance = random.Random(prop.name)
    start = instance.initial_states[0]
    ranges = [(one.low, one.high) for one in instance.layouts.values() for _ in range(one.count)]
    step = instance.steps[0]
    for _ in range(20_000):
        share = chance.random()
        cells = tuple(
            chance.randint(*ends) if chance.random() < share else cell for cell, ends in zip(start, ranges, strict=True)
        )
        before = start if chance.random() < 0.5 else cells
        after = cells if before is start else start
        try:
            holds = (
                run.holds_step(instance, prop, before, step, after)
                if prop.of_steps
                else run.holds(instance, prop, after)
            )
        except (IndexError, ModelError):
            continue
        if not holds:
            loop = 1 if prop.kind in LIVENESS else None
            return Trace(instance, (before, after), (step,), prop.name, VIOLATED, "", loop=loop)
    raise AssertionError(f"no state in which {prop.name} is false")


@pytest.mark.parametrize("name", INSTANCES)
def test_every_property_has_words_of_its_own(name: str) -> None:
    model, protocol, values = INSTANCES[name]
    instance = registry.load(model)[0].instance(protocol, values)
    known = {one.property_name for one in HISTORIES.values()}
    for prop in instance.properties:
        if prop.kind is not Kind.SOMETIMES and prop.name not in known:
            assert claim_of(prop) not in headline(broken(instance, prop)), prop.name


# ----------------------------------------------------------------------------------------------- other verdicts, models


def test_what_holds_or_is_reached_is_told_as_such() -> None:
    held = trace.kafka(trace.COMMITTED, "acked_not_lost", HOLDS)
    assert headline(held) == (
        "Nothing goes wrong on this path: The controller's leader holds every record that a producer regards as"
        " written, unless the record was deleted"
    )
    reached = trace.kafka(trace.COMMITTED, "a_write_is_acknowledged")
    assert headline(reached) == "This can happen: a write is acknowledged"
    assert headline(trace.kafka(trace.COMMITTED[:1], None)) == "A behaviour of 1 step"


def test_another_model_is_told_by_its_property_and_its_last_step() -> None:
    assert headline(trace.weak_isr()) == (
        "No longer true after become follower 1 1: Every member of a presumed leader's view of the ISR holds everything"
        " that this leader has exposed"
    )


def test_the_words_come_from_the_steps() -> None:
    """The same failure with another broker, and by another way."""
    other = [step.replace(" 1", " 2") for step in trace.CLASSIC]
    found = trace.kafka(other, "acked_not_lost", start=1)
    assert headline(found) == (
        "An acknowledged record is lost: broker 2 cuts it from its log when it restarts, and is elected,"
        " although broker 0 still has it"
    )
    without = replace(found, steps=found.steps[:-1], states=found.states[:-1], property_name="isr_is_complete")
    assert headline(without) == (
        "A member of the ISR lacks a record that readers have seen: broker 2 cuts it from its log when it restarts"
    )

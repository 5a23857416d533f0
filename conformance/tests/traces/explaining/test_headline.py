"""The headline of a trace: exact sentences for the known failures, and for the verdicts of any model."""

from __future__ import annotations

import random
import re
from dataclasses import replace

import pytest

from conformance.tests.support import trace
from conformance.tests.support.golden import derive, read, steps_of
from conformance.tests.support.places import GOLDEN_FOLDER
from isrcheck.models import registry, run
from isrcheck.models.kafka.failures.catalogue import failures
from isrcheck.models.language.declarations import LIVENESS, Kind
from isrcheck.models.language.model import Instance, Property
from isrcheck.models.messages import ModelError
from isrcheck.traces.explaining.presentation import claim_of, headline
from isrcheck.traces.format.trace import HOLDS, VIOLATED, Trace

HISTORIES = {one.name: one.history for one in failures() if one.history is not None}
HEADLINES_OF = """
power_loss_within_an_epoch
  Brokers 0 and 1 hold different committed records at offset 0: broker 1 takes over the high watermark of broker 0
stale_diverging_response
  An acknowledged record is lost: broker 1 cuts it from its log when it restarts, joins the ISR all the same, and is
  elected
high_watermark_over_the_committed_isr
  An acknowledged record is lost: broker 0 does not wait for broker 2, which joins the ISR, and broker 2 is elected
  without it
acks_1
  An acknowledged record is lost: the leader fails before broker 1 has it
unclean_election
  An acknowledged record is lost: broker 1, which is not in sync, is elected without it
whole_isr_loses_power
  An acknowledged record is lost: broker 0 loses it in a loss of power, and is the leader again, although broker 1
  still has it
retry_is_appended_twice
  Record a is in the log twice: the producer sends record a again to broker 0, which appends it
stale_high_watermark_after_fail_over
  Consumer 0 goes back behind an end of the log that it knew: broker 1 does not have the position of consumer 0, which
  resets it
zombie_leader
  An acknowledged record is lost: broker 1 is elected before it has the record
isr_change_pending_for_ever
  This never happens: {claim} (leader takes answer, and nothing that has to happen changes it)
high_watermark_after_a_shrink
  Readers wait for the end of the log for ever: broker 0 hears that its change of the ISR is granted, and nothing that
  has to happen changes it
out_of_range_after_an_unclean_election
  The logs of brokers 0 and 1 part at offset 0, unnoticed: broker 0 appends record c from the answer of broker 1
reconciliation_never_ends
  Broker 0 stays out of the ISR for ever: broker 0 hears that broker 1 leads, in epoch 3, and nothing that has to
  happen changes it
producer_id_is_given_twice
  No longer true after producer receives success batch 1: Every record that the producer has reported as delivered is
  in a log (with acks=0: or on its way)
buffer_is_reused_in_flight
  No longer true after broker appends batch 0: A record is in a log only if a batch with it was sent to that partition
new_incarnation
  An acknowledged record is lost by fewer failures than KIP-966 tolerates: broker 0 loses it in a loss of power, and
  is elected, although broker 1 still has it
acks_0
  An acknowledged record is lost: it never reaches a broker
minimum_of_one
  An acknowledged record is lost: broker 0 loses it in a loss of power, and is the leader again
deleted_folder_counts_as_clean
  An acknowledged record is lost: broker 1 loses it with the folder that an operator deletes, and is elected, although
  broker 0 still has it
unregistered_broker_stays_eligible
  The partition has no leader, and no broker that could return may lead it: an operator unregisters broker 1, which is
  down
applied_change_is_dropped
  Broker 0 stays out of the ISR for ever: broker 1 fails to apply the metadata up to partition epoch 1, and nothing
  that has to happen changes it
"""
"""Of the histories of which there is no golden trace, whose first line is its headline: the name, and the headline.
`{claim}` is the first sentence of the property's docstring."""

HEADLINES = {
    name: " ".join(lines.split()) for name, lines in re.findall(r"^(\w+)\n((?:  .*\n)+)", HEADLINES_OF, re.MULTILINE)
}


@pytest.mark.parametrize("name", HEADLINES)
def test_known_failures(name: str) -> None:
    found = steps_of(HISTORIES[name])
    assert found.prop is not None
    assert headline(found) == HEADLINES[name].format(claim=claim_of(found.prop))


@pytest.mark.sampled
def test_every_known_failure_has_a_headline_here_or_in_a_golden_trace() -> None:
    def path(found: Trace) -> tuple[object, ...]:
        return found.instance.model.name, found.states, found.steps, found.property_name

    golden = {path(derive(read(file.read_text(encoding="utf-8")))) for file in GOLDEN_FOLDER.glob("*.txt")}
    assert {name for name, history in HISTORIES.items() if path(steps_of(history)) not in golden} == HEADLINES.keys()


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

"""The messages between controller, brokers and clients in one step of Kafka's replication, and the events at each lane.

In:  a step of Kafka's model, and the states before and after it.
Out: arrows and marks between lanes, in the order in which they occur.

This module finds the messages of an action by the action's name. It finds the effects (acknowledgements, reads,
truncations, ISR changes) by comparing the two states, so it finds them for unknown actions, too.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress

from isrcheck.models.client_settings import Acks
from isrcheck.models.kafka.state.values import Fetch, IsolationLevel, TransactionState
from isrcheck.models.language.declarations import NONE
from isrcheck.models.language.model import Instance, Step
from isrcheck.models.language.states import spell_element
from isrcheck.models.run import State
from isrcheck.traces.format.spelling import name_transaction, spell_entry
from isrcheck.traces.format.trace import arguments_of
from isrcheck.traces.kafka import controller_messages
from isrcheck.traces.kafka.lanes import epoch_answer
from isrcheck.traces.kafka.model import end_offset_for, is_answered, is_exposed, is_exposed_as_committed, latest_epoch
from isrcheck.traces.kafka.partition_state import alters_partitions, spell_divergence
from isrcheck.traces.kafka.step_context import Events, LaneNumbers, MessageFinder, StepContext, UnknownArgumentError
from isrcheck.traces.lanes.scene import ELECTION, FAULT, LOST, NOTE, RESPONSE, Arrow, Mark

# ---------------------------------------------------------------------------------------- messages that an action sends


def _produce(context: StepContext) -> Events:
    record = spell_element(context.before.next_record)
    sender = context.lanes.producer
    if "transaction" in context.arguments:
        sender = context.lanes.transaction(context.transaction)
    yield context.to_broker(sender, context.leader, f"produce {record}")


def _refused(context: StepContext) -> Events:
    yield from _produce(context)
    target = context.lanes.producer
    yield Arrow(context.lanes.broker(context.leader), target, "NOT_ENOUGH_REPLICAS")


def _send_lost(context: StepContext) -> Events:
    record = spell_element(context.before.next_record)
    yield Mark(context.lanes.producer, f"{record} sent, never arrives", FAULT)


def _answer_lost(context: StepContext) -> Events:
    yield from _produce(context)
    yield Arrow(context.lanes.broker(context.leader), context.lanes.producer, "ack", LOST)


def _retry(context: StepContext) -> Events:
    again = " again" if context.record < context.before.next_record else ""
    text = f"produce {spell_element(context.record)}{again}"
    yield context.to_broker(context.lanes.producer, context.leader, text)


def _request_fails(context: StepContext) -> Events:
    record = spell_element(context.before.next_record)
    yield Mark(context.lanes.producer, f"{record} sent, not appended", FAULT)


def _new_epoch(context: StepContext) -> Events:
    yield from _retry(context)
    producer = context.lanes.producer
    yield Arrow(context.lanes.broker(context.leader), producer, "OUT_OF_ORDER_SEQUENCE_NUMBER")
    yield Mark(producer, f"producer epoch {context.after.producer_epoch}", ELECTION)


def _from_zero(context: StepContext) -> Events:
    yield from _retry(context)
    producer = context.lanes.producer
    yield Arrow(context.lanes.broker(context.leader), producer, "UNKNOWN_PRODUCER_ID")
    yield Mark(producer, "numbers from 0", ELECTION)


def _consumer_lane(context: StepContext) -> int:
    """A consumer is one of the readers of its isolation level."""
    s = context.before
    is_of_transactions = s.transactions > 0 and s.isolation_level == IsolationLevel.READ_COMMITTED
    return context.lanes.transaction_readers if is_of_transactions else context.lanes.readers


def _consumes(context: StepContext) -> Events:
    s, consumer = context.before, context.consumer
    offset = s.position[consumer]
    yield context.to_broker(_consumer_lane(context), context.broker, f"consumer {consumer} fetches from {offset}")


def _sent_to_follower(context: StepContext) -> Events:
    told = f"consumer {context.consumer}: read from {context.follower}"
    yield Arrow(context.lanes.broker(context.leader), _consumer_lane(context), told)


def _returns_to_leader(context: StepContext) -> Events:
    yield Mark(_consumer_lane(context), f"consumer {context.consumer} asks the leader again", NOTE)


def _validates_position(context: StepContext) -> Events:
    s, consumer, leader = context.before, context.consumer, context.leader
    asked = f"consumer {consumer}: where does e{s.consumed_epoch[consumer]} end?"
    if s.consumed_epoch[consumer] == NONE:
        asked = f"consumer {consumer}: epoch {s.leader_epoch[leader]}"
    yield context.to_broker(_consumer_lane(context), leader, asked)


def _resets_position(context: StepContext) -> Events:
    offset = context.before.position[context.consumer]
    consumer = f"consumer {context.consumer}"
    yield context.to_broker(_consumer_lane(context), context.leader, f"{consumer} fetches from {offset}")
    yield Arrow(context.lanes.broker(context.leader), _consumer_lane(context), "OFFSET_OUT_OF_RANGE")


def _saves_producer_state(context: StepContext) -> Events:
    yield context.befalls(context.broker, "saves its producer state")


def _decide(context: StepContext) -> Events:
    word = TransactionState(context.after.transaction_state[context.transaction]).name.lower()
    yield Mark(context.lanes.transaction(context.transaction), word, ELECTION)


def _marker(context: StepContext) -> Events:
    word = TransactionState(context.after.transaction_state[context.transaction]).name.lower()
    name = name_transaction(context.after, context.transaction)
    yield context.to_broker(context.lanes.transaction(context.transaction), context.leader, f"marker: {name} {word}")


def _fetch(context: StepContext) -> Events:
    leader, follower = context.leader, context.follower
    yield context.between(follower, leader, f"fetch from {context.before.log_end_offset[follower]}")
    if context.after.fetch[follower][leader] == Fetch.PARKED:
        yield context.befalls(leader, "fetch parked")
    else:
        yield _response(context, leader, follower)


def _answer_parked(context: StepContext) -> Events:
    leader, follower = context.leader, context.follower
    if context.after.fetch[follower][leader] == Fetch.ANSWERED:
        yield _response(context, leader, follower)
    else:
        yield context.between(leader, follower, "OFFSET_OUT_OF_RANGE")


def _response(context: StepContext, leader: int, follower: int) -> Arrow:
    return context.between(leader, follower, _content(context.after, follower, leader), RESPONSE)


def _content(s: State, follower: int, leader: int) -> str:
    """The content of a response: its entries and its high watermark, or where the logs diverge."""
    if s.fetch[follower][leader] == Fetch.DIVERGING:
        return spell_divergence(s, follower, leader)
    entries = [
        spell_entry(s, s.response_record[follower][leader][o], s.response_epoch[follower][leader][o])
        for o in range(s.log_size)
        if s.response_record[follower][leader][o] != NONE
    ]
    return f"{' '.join(entries) or 'nothing new'}, HW {s.response_high_watermark[follower][leader]}"


def _apply(context: StepContext) -> Events:
    follower, leader = context.follower, context.leader
    yield context.between(leader, follower, _content(context.before, follower, leader))


def _response_lost(context: StepContext) -> Events:
    yield context.between(context.leader, context.follower, "response", LOST)


def _reconcile(context: StepContext) -> Events:
    s, follower, leader = context.before, context.follower, context.leader
    epoch = latest_epoch(s, follower)
    if epoch == NONE and not is_answered(s, leader, epoch):
        yield context.befalls(follower, "knows no epoch")
        return
    asked = "my log has no epoch" if epoch == NONE else f"where does e{epoch} end?"
    yield context.between(follower, leader, asked)
    answer = epoch_answer(s, follower) or f"no epoch until {end_offset_for(s, leader, epoch)}"
    yield context.between(leader, follower, answer)


def _out_of_range(context: StepContext) -> Events:
    end = context.before.log_end_offset[context.follower]
    yield context.between(context.follower, context.leader, f"fetch from {end}")
    yield context.between(context.leader, context.follower, "OFFSET_OUT_OF_RANGE")
    if not context.after.is_up[context.follower]:
        yield context.befalls(context.follower, "halts", FAULT)


def _starts_over(context: StepContext) -> Events:
    yield from _out_of_range(context)
    start = context.after.log_start_offset[context.follower]
    yield context.befalls(context.follower, f"starts its log over at {start}", FAULT)


def _hears(context: StepContext) -> Events:
    s, epoch = context.before, context.epoch
    members = "".join(str(r) for r in range(s.replicas) if s.metadata_isr[epoch][r])
    text = f"epoch {epoch}: leader {s.metadata_leader[epoch]}, ISR {members}"
    yield context.to_broker(context.lanes.controller, context.broker, text)


def _elects(word: str, kind: str) -> MessageFinder:
    def elect(context: StepContext) -> Events:
        yield Mark(context.lanes.controller, f"{word} {context.elected}", kind)

    return elect


def _removes(context: StepContext) -> Events:
    yield Mark(context.lanes.controller, f"gives up on {context.follower}", ELECTION)


def _befalls(word: str) -> MessageFinder:
    def befall(context: StepContext) -> Events:
        yield context.befalls(context.broker, word, FAULT)

    return befall


def _deletes(context: StepContext) -> Events:
    yield context.to_broker(context.lanes.producer, context.leader, f"delete records before {context.offset}")


def _answers_deletion(context: StepContext) -> Events:
    text = f"records before {context.after.answered_deletion} are deleted"
    yield Arrow(context.lanes.broker(context.leader), context.lanes.producer, text, RESPONSE)


SENT: Mapping[str, MessageFinder] = {
    "producer_appends": _produce,
    "producer_is_refused": _refused,
    "send_is_lost": _send_lost,
    "answer_is_lost": _answer_lost,
    "producer_retries": _retry,
    "producer_resends": _retry,
    "request_fails": _request_fails,
    "producer_begins_new_epoch": _new_epoch,
    "producer_begins_from_zero": _from_zero,
    "leader_mistakes_request": _retry,
    "broker_saves_producer_state": _saves_producer_state,
    "consumer_fetches": _consumes,
    "consumer_finds_nothing": _consumes,
    "consumer_is_sent_to_follower": _sent_to_follower,
    "consumer_returns_to_leader": _returns_to_leader,
    "consumer_follows_new_leader": _validates_position,
    "consumer_is_out_of_range": _resets_position,
    "producer_appends_in_transaction": _produce,
    "coordinator_commits": _decide,
    "coordinator_aborts": _decide,
    "leader_appends_marker": _marker,
    "leader_handles_fetch": _fetch,
    "leader_answers_parked_fetch": _answer_parked,
    "leader_deletes_records": _deletes,
    "leader_answers_deletion": _answers_deletion,
    "follower_reconciles": _reconcile,
    "follower_applies_response": _apply,
    "response_is_lost": _response_lost,
    "follower_is_out_of_range": _out_of_range,
    "follower_starts_over": _starts_over,
    "controller_fails_over": _elects("elects", ELECTION),
    "controller_elects_preferred": _elects("prefers", ELECTION),
    "controller_elects_unclean": _elects("unclean: elects", FAULT),
    "controller_removes_dead_follower": _removes,
    "broker_becomes_leader": _hears,
    "broker_becomes_follower": _hears,
    "broker_bounces": _befalls("bounces"),
    "broker_crashes": _befalls("crashes"),
    "broker_loses_power": _befalls("loses power"),
    "broker_loses_disk": _befalls("loses its disk"),
    "broker_restarts": controller_messages.restarts,
    **controller_messages.SENT,
}
"""The messages of each action. `leader_shrinks_isr` only writes the ISR, or sends AlterPartition, which is found by
comparing the states."""


# ---------------------------------------------------------------------------------------------------- effects of a step


def _isr_written(context: StepContext) -> Events:
    """Add the ISR write of a leader, up to 2.4."""
    before, after = context.before, context.after
    if (
        "leader" not in context.arguments
        or before.controller_epoch != after.controller_epoch
        or alters_partitions(after)
    ):
        return
    members = [r for r in range(after.replicas) if after.controller_isr[r]]
    if members != [r for r in range(before.replicas) if before.controller_isr[r]]:
        leader = context.lanes.broker(context.leader)
        yield Arrow(leader, context.lanes.controller, f"ISR {''.join(map(str, members))}")


def _truncated(context: StepContext) -> Events:
    """Add an event for each log that was truncated."""
    for r in range(context.after.replicas):
        old, new = context.before.log_end_offset[r], context.after.log_end_offset[r]
        if new < old:
            yield context.befalls(r, f"truncates {old} to {new}", FAULT)


def _teller(context: StepContext) -> int | None:
    """The broker that answers the clients in this step, if there is one."""
    brokers = [context.arguments[name] for name in ("leader", "broker") if name in context.arguments]
    return context.lanes.broker(brokers[0]) if brokers else None


def _refused_after_append(context: StepContext) -> Events:
    """Add the requests that a leader answers although too few replicas hold the record; a leader that is demoted need
    not answer."""
    before, after = context.before, context.after
    for record in range(after.records):
        leader = before.pending[record]
        is_answered = leader != after.pending[record] == NONE and after.leader[leader] == leader
        if is_answered and not after.acknowledged[record]:
            target = context.lanes.sender(after, record)
            text = f"{spell_element(record)}: NOT_ENOUGH_REPLICAS_AFTER_APPEND"
            yield Arrow(context.lanes.broker(leader), target, text)


def _acknowledged(context: StepContext) -> Events:
    before, after, teller = context.before, context.after, _teller(context)
    if after.acks == Acks.ZERO:
        return  # there is no answer: a record counts as written when it is sent
    for record in range(after.records):
        if after.acknowledged[record] and not before.acknowledged[record] and teller is not None:
            target = context.lanes.sender(after, record)
            yield Arrow(teller, target, f"ack {spell_element(record)}")


def _read(context: StepContext) -> Events:
    """Add the records that readers see for the first time at an offset."""
    before, after, teller = context.before, context.after, _teller(context)
    fields = [("exposed_record", context.lanes.readers)]
    if after.transactions:
        fields.append(("read_committed_record", context.lanes.transaction_readers))
    for name, lane in fields:
        for offset in range(after.log_size):
            entry = getattr(after, name)[offset]
            is_new = entry != getattr(before, name)[offset] and entry < after.records
            if is_new and teller is not None:
                yield Arrow(teller, lane, f"{spell_element(entry)} at {offset}")


def _read_otherwise(context: StepContext) -> Events:
    """Add the records that a leader exposes at an offset where another record was read first."""
    s = context.after
    shown = [("exposed_record", is_exposed, context.lanes.readers)]
    if s.transactions:
        shown.append(("read_committed_record", is_exposed_as_committed, context.lanes.transaction_readers))
    for first_read, is_shown, readers in shown:
        for leader in range(s.replicas):
            for offset in range(s.log_size):
                entry = _contradiction(s, leader, offset, first_read, is_shown)
                if entry not in (NONE, _contradiction(context.before, leader, offset, first_read, is_shown)):
                    spelled = spell_entry(s, entry, s.log_epoch[leader][offset])
                    yield Arrow(context.lanes.broker(leader), readers, f"{spelled} at {offset}!")


def _contradiction(
    s: State, leader: int, offset: int, first_read: str, is_shown: Callable[[State, int, int], bool]
) -> int:
    """The record that a presumed leader exposes at an offset where another record was read first, or NONE."""
    if s.leader[leader] != leader or not is_shown(s, leader, offset):
        return NONE
    entry: int = s.log_record[leader][offset]
    return NONE if getattr(s, first_read)[offset] in (NONE, entry) else entry


def _elected(context: StepContext) -> Events:
    """Add the election of a broker, which does not hear of it in this step."""
    elected = context.after.controller_leader
    if elected not in (NONE, context.before.controller_leader):
        yield context.befalls(elected, "elected", ELECTION)


BROUGHT_ABOUT = (
    _elected,
    _truncated,
    _isr_written,
    controller_messages.alter_partition_sent,
    _refused_after_append,
    _acknowledged,
    _read,
    _read_otherwise,
)


def events(instance: Instance, lanes: LaneNumbers, before: State, step: Step, after: State) -> Events:
    """Return all messages and events of a step."""
    context = StepContext(lanes, before, after, arguments_of(instance, step))
    sent = SENT.get(step.action)
    if sent is not None:
        with suppress(UnknownArgumentError):
            yield from sent(context)
    for brought_about in BROUGHT_ABOUT:
        yield from brought_about(context)

"""Maps an act of the cluster, with the states before and after it, to the action of the model that it implements.

An act implements at most one action, except a consumer's fetch of several records: one action per record.

The model is not consulted: an act is mapped whether or not the model allows the action.

For a cluster with a KRaft controller, this module also finds the messages that would show a behaviour which the model
lacks (`ModelGap`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import chain
from typing import Any

from isrcheck.conformance.cluster.acts import Act
from isrcheck.conformance.cluster.broker.broker import TimerKind
from isrcheck.conformance.cluster.broker.fetcher import Mode
from isrcheck.conformance.cluster.configuration.protocol import BrokerStateCheck, Switches
from isrcheck.conformance.cluster.controller.controller import Election
from isrcheck.conformance.cluster.network import messages
from isrcheck.conformance.cluster.network.network import Message
from isrcheck.conformance.cluster.network.records import ProducerStamp
from isrcheck.conformance.cluster.observe import BrokerView, ClusterView, ConsumerView
from isrcheck.conformance.follow.format.events import actor_of
from isrcheck.conformance.replay.projection import reader_of
from isrcheck.models.kafka.state.values import Fetch
from isrcheck.models.language import NONE

ELECTIONS = {
    Election.FAIL_OVER.value: "controller_fails_over",
    Election.PREFERRED.value: "controller_elects_preferred",
    Election.UNCLEAN.value: "controller_elects_unclean",
}


@dataclass(frozen=True)
class Moment:
    """A state of a cluster: `view`, as observed; `projected`, as variables of the model; and each payload's number."""

    view: ClusterView
    projected: dict[str, tuple[int, ...]]
    numbers: Mapping[str, int]

    def stage(self, follower: int, leader: int) -> int:
        """The stage of a follower's fetch from a leader: the value of the model's variable `fetch`, such as PARKED."""
        return self.projected["fetch"][follower * len(self.view.brokers) + leader]

    def answer_to(self, request: int) -> Message | None:
        return next((message for message in self.view.network if message.in_reply_to == request), None)

    @property
    def producer_epoch(self) -> int:
        """How many pairs of id and epoch the idempotent producer has had before its present pair."""
        return self.projected["producer_epoch"][0]

    def consumer(self, number: int) -> ConsumerView:
        """The model's consumer with that number."""
        return next(view for view in self.view.consumers if view.name == reader_of(number))


class MappedEvent:
    """An action of the model with its arguments; `broker` is the acting broker, None for the controller and clients."""

    def __init__(self, action: str, **arguments: Any) -> None:
        self.action = action
        self.arguments = arguments
        self.broker: int | None = arguments.get(actor_of(action) or "")


def map_event(act: Act, before: Moment, after: Moment) -> tuple[MappedEvent, ...]:
    """The model's actions that an act implements; record.py maps restarts."""
    match act.name, act.arguments:
        case (("deliver" | "drop"), (Message(payload=messages.ProduceRequest(stamp=ProducerStamp())) as message,)):
            return _numbered(message, before, after)
        case "read", (int(consumer), int(broker)):
            return _read(consumer, broker, before, after)
    event = _single(act, before, after)
    return () if event is None else (event,)


def _single(act: Act, before: Moment, after: Moment) -> MappedEvent | None:
    """The model's action that an act implements, or None; for all acts that implement at most one action."""
    match act.name, act.arguments:
        case "deliver", (Message() as message,):
            return _delivered(message, before, after)
        case "drop", (Message() as message,):
            return _dropped(message, before, after)
        case "fire", (int(broker), TimerKind.ISR_SHRINK_CHECK.value):
            return _shrunk(broker, before.view, after.view)
        case "fire", (int(broker), TimerKind.FETCHER_DO_WORK.value, int(source)):
            if diverging_at(before, broker, source) and not diverging_at(after, broker, source):
                return MappedEvent("follower_truncates", follower=broker, leader=source)
        case "fire", (int(leader), TimerKind.DELAYED_FETCH.value, int(follower)):
            if before.stage(follower, leader) == Fetch.PARKED and after.stage(follower, leader) != Fetch.PARKED:
                return MappedEvent("leader_answers_parked_fetch", leader=leader, follower=follower)
        case "crash", (int(broker),):
            return MappedEvent("broker_crashes", broker=broker)
        case "elect", (str(kind), int(elected)):
            return MappedEvent(ELECTIONS[kind], elected=elected)
        case "notice dead", (int(follower),):
            return MappedEvent("controller_removes_dead_follower", follower=follower)
        case "roll segment", (int(broker),):
            return MappedEvent("broker_saves_producer_state", broker=broker)
    return None


def starts_to_fetch(act: Act, before: Moment, after: Moment) -> tuple[int, int] | None:
    """The follower and the leader, if in this act the follower reconciles its log without a request; otherwise None.

    A follower sends no request if its log has no epoch. Kafka: AbstractFetcherThread.maybeTruncate, since KIP-279.
    """
    match act.name, act.arguments:
        case "fire", (int(broker), TimerKind.FETCHER_DO_WORK.value, int(source)):
            if diverging_at(before, broker, source):
                return None  # a response has shown where the logs diverge
            if (mode_of(before, broker, source), mode_of(after, broker, source)) == (Mode.TRUNCATING, Mode.FETCHING):
                return broker, source
    return None


def diverging_at(moment: Moment, broker: int, source: int) -> bool:
    """Whether a response of the leader `source` requires a truncation of the broker's log that is yet to be done."""
    return any(fetcher.source == source and fetcher.diverging for fetcher in moment.view.brokers[broker].fetchers)


def mode_of(moment: Moment, broker: int, source: int) -> Mode | None:
    return next((fetcher.mode for fetcher in moment.view.brokers[broker].fetchers if fetcher.source == source), None)


def _delivered(message: Message, before: Moment, after: Moment) -> MappedEvent | None:
    there = message.destination
    if isinstance(message.payload, messages.AlterIsrRequest | messages.AlterIsrResponse):
        return _about_isr(message, before)
    if not isinstance(there, int):
        return None
    old, new, source = before.view.brokers[there], after.view.brokers[there], message.source
    match message.payload:
        case messages.LeaderAndIsr() as metadata if _role(old) != _role(new):
            role = "leader" if metadata.leader == there else "follower"
            return MappedEvent(f"broker_becomes_{role}", broker=there, epoch=metadata.leader_epoch)
        case messages.ProduceRequest() as request:
            return _produced(message, request, old, new, after)
        case messages.FetchRequest() if isinstance(source, int) and after.stage(source, there) != Fetch.NONE:
            return MappedEvent("leader_handles_fetch", leader=there, follower=source)
        case messages.FetchResponse() as answer if isinstance(source, int):
            awaited = [fetcher.outstanding for fetcher in old.fetchers if fetcher.source == source]
            is_known = message.in_reply_to in awaited and before.stage(there, source) >= Fetch.ANSWERED
            is_followed = mode_of(before, there, source) is Mode.FETCHING
            if _log(old) != _log(new) or (is_known and is_followed and answer.fetch_offset == old.log_end_offset):
                return MappedEvent(_effect_of(answer, there, source, after), follower=there, leader=source)
            if is_known:
                return MappedEvent("response_is_lost", follower=there, leader=source)
        case messages.OffsetsForLeaderEpochResponse() if isinstance(source, int):
            modes = mode_of(before, there, source), mode_of(after, there, source)
            if modes == (Mode.TRUNCATING, Mode.FETCHING) or _log(old) != _log(new):
                return MappedEvent("follower_reconciles", follower=there, leader=source)
        case messages.DeleteRecordsRequest() if old.log_start_offset != new.log_start_offset:
            return MappedEvent("leader_deletes_records", leader=there, offset=new.log_start_offset)
        case messages.ListOffsetsResponse() as answer if isinstance(source, int) and _log(old) != _log(new):
            action = "follower_is_out_of_range" if answer.kind is messages.OffsetKind.LATEST else "follower_starts_over"
            return MappedEvent(action, follower=there, leader=source)
    return None


def _effect_of(answer: messages.FetchResponse, there: int, source: int, after: Moment) -> str:
    """The name of the model's action in which a follower applies a response."""
    if answer.diverging_epoch is None:
        return "follower_applies_response"
    return "follower_takes_high_watermark_first" if diverging_at(after, there, source) else "follower_truncates"


def _about_isr(message: Message, before: Moment) -> MappedEvent | None:
    """Return the action in which the controller handles a leader's request to change the ISR, or the leader hears the
    answer. None for what the model lacks: refusals (except for ineligible members), requests of earlier processes."""
    if isinstance(message.payload, messages.AlterIsrRequest):
        sender = before.view.brokers[int(message.source)]
        is_earlier = sender.is_up and sender.process != message.source_process
        return None if is_earlier else MappedEvent("controller_handles_alter_partition", leader=sender.number)
    heard = (messages.Errors.NONE, messages.Errors.INELIGIBLE_REPLICA)
    if not isinstance(message.payload, messages.AlterIsrResponse) or message.payload.error not in heard:
        return None
    return MappedEvent("leader_hears_answer", leader=message.destination)


def _produced(
    message: Message, request: messages.ProduceRequest, old: BrokerView, new: BrokerView, after: Moment
) -> MappedEvent | None:
    if new.log_end_offset > old.log_end_offset:
        return MappedEvent("producer_appends", leader=new.number)
    answer = after.answer_to(message.number)
    payload = None if answer is None else answer.payload
    if isinstance(payload, messages.ProduceResponse) and payload.error is messages.Errors.NOT_ENOUGH_REPLICAS:
        return MappedEvent("producer_is_refused", leader=new.number)
    return MappedEvent("send_is_lost") if request.acks is messages.Acks.NONE else None


def _numbered(message: Message, before: Moment, after: Moment) -> tuple[MappedEvent, ...]:
    """The model's actions for a request of an idempotent producer that a broker has handled, or that was lost."""
    assert isinstance(message.payload, messages.ProduceRequest)
    assert isinstance(message.destination, int)
    there, record = message.destination, after.numbers[message.payload.payload]
    is_first = record not in before.numbers.values()
    requests = chain.from_iterable(of_client for _, of_client in after.view.sent)
    sent = next(request for request in requests if request.request == message.number)
    if after.producer_epoch > before.producer_epoch:
        now, was = (moment.view.producers[0].identities[-1] for moment in (after, before))
        action = "producer_begins_from_zero" if now == was else "producer_begins_new_epoch"
        return (MappedEvent(action, leader=there, record=record),)
    is_answered_well = sent.outcome in (None, messages.Errors.NONE)
    if is_answered_well and after.view.brokers[there].mistakes(sent):
        return (MappedEvent("leader_mistakes_request", record=record, leader=there),)
    old, new = before.view.brokers[there], after.view.brokers[there]
    if is_answered_well or new.log_end_offset > old.log_end_offset:  # the request may have been given up before
        if is_first:
            return (MappedEvent("producer_appends", leader=there),)
        return (MappedEvent("producer_resends", record=record, leader=there),)
    if is_first and sent.outcome is messages.Errors.NOT_ENOUGH_REPLICAS:
        return (MappedEvent("producer_is_refused", leader=there),)
    return (MappedEvent("request_fails", record=record),) if is_first else ()


def _read(consumer: int, broker: int, before: Moment, after: Moment) -> tuple[MappedEvent, ...]:
    """The model's actions for a consumer's exchange with a broker. The consumer asks where a leader epoch ends, or
    fetches; the answer to a fetch may reset the consumer, or send it to another broker.
    """
    old, new = before.consumer(consumer), after.consumer(consumer)
    if new.leader_epoch != old.leader_epoch:
        return (MappedEvent("consumer_follows_new_leader", consumer=consumer, leader=broker),)
    if new.preferred_read_replica is not None and old.preferred_read_replica is None:
        follower = new.preferred_read_replica
        return (MappedEvent("consumer_is_sent_to_follower", consumer=consumer, leader=broker, follower=follower),)
    if new.preferred_read_replica != old.preferred_read_replica:
        return (MappedEvent("consumer_returns_to_leader", consumer=consumer),)
    if new.error is messages.Errors.OFFSET_OUT_OF_RANGE:
        reset = MappedEvent("consumer_is_out_of_range", consumer=consumer, leader=broker)
        return (reset,) if new.position != old.position else ()
    if new.position == old.position and new.known_end_offset != old.known_end_offset:
        return (MappedEvent("consumer_finds_nothing", consumer=consumer, broker=broker),)
    fetched = MappedEvent("consumer_fetches", consumer=consumer, broker=broker)
    return (fetched,) * (new.position - old.position)


def _dropped(message: Message, before: Moment, after: Moment) -> MappedEvent | None:
    source, there = message.source, message.destination
    if isinstance(message.payload, messages.AlterIsrResponse) and isinstance(there, int):
        action = "answer_to_leader_is_lost" if before.view.brokers[there].is_up else "leader_hears_answer"
        return MappedEvent(action, leader=there)
    if isinstance(message.payload, messages.ProduceRequest) and message.payload.acks is messages.Acks.NONE:
        return MappedEvent("send_is_lost")
    if not (isinstance(message.payload, messages.FetchResponse) and isinstance(source, int) and isinstance(there, int)):
        return None
    if before.stage(there, source) < Fetch.ANSWERED or after.stage(there, source) != Fetch.NONE:
        return None  # no process awaits it
    return MappedEvent("response_is_lost", follower=there, leader=source)


def _shrunk(leader: int, before: ClusterView, after: ClusterView) -> MappedEvent | None:
    old, new = before.brokers[leader].leadership, after.brokers[leader].leadership
    if old is None or new is None:
        return None
    removed = old.isr - (new.isr if new.proposed_isr is None else new.proposed_isr)
    return MappedEvent("leader_shrinks_isr", leader=leader, removed=sorted(removed)) if removed else None


def _role(broker: BrokerView) -> tuple[object, ...]:
    return broker.is_up, broker.leader, broker.leader_epoch


def _log(broker: BrokerView) -> tuple[object, ...]:
    """The parts of a broker's state that a fetch response can change: its log, its offsets, and whether it runs."""
    return broker.is_up, broker.log, broker.high_watermark, broker.epoch_entries, broker.log_start_offset


KRAFT_EVERYBODYS = (
    "metadata_leader_epoch",
    "is_fenced",
    "is_shutting_down",
    "eligible_leader_replicas",
    "last_known_leader",
)
"""The variables of a KRaft controller, which every event observes."""


def map_kraft_event(act: Act, before: Moment, after: Moment) -> MappedEvent | None:
    """The model's action for an act that occurs only with KRaft; None for other acts."""
    match act.name, act.arguments:
        case (("fence" | "notice dead"), (int(broker),)):
            return _without(broker, "controller_fences", before, after)
        case "deliver", (Message(payload=messages.MetadataImage()) as message,):
            there = int(message.destination)
            was, now = (moment.projected["metadata_position"][there] for moment in (before, after))
            return MappedEvent("broker_applies_metadata", broker=there, partition_epoch=now) if was != now else None
        case "deliver", (Message(payload=messages.BrokerHeartbeatRequest()) as message,):
            return _beaten(int(message.source), before, after)
    return None


def _beaten(broker: int, before: Moment, after: Moment) -> MappedEvent | None:
    """The model's action for a broker's heartbeat; None if the heartbeat has no effect in the model. An answer that
    lets the broker stop arrives in the same act as the heartbeat."""
    if before.view.brokers[broker].is_up and not after.view.brokers[broker].is_up:
        return MappedEvent("broker_shuts_down", broker=broker)
    if before.projected["is_fenced"][broker] and not after.projected["is_fenced"][broker]:
        return MappedEvent("controller_unfences_broker", broker=broker)
    if after.projected["is_shutting_down"][broker] and not before.projected["is_shutting_down"][broker]:
        return _without(broker, "asks_to_shut_down", before, after)
    return None


def _without(broker: int, change: str, before: Moment, after: Moment) -> MappedEvent:
    """Return the action in which a broker is fenced or asks to stop (`change`); it depends on who leads afterwards."""
    leader, elected = (moment.projected["controller_leader"][0] for moment in (before, after))
    role = "broker" if elected == leader else "last_leader" if elected == NONE else "leader"
    arguments = {"broker": broker} | ({"elected": elected} if role == "leader" else {})
    name = f"{change}_{role}" if change == "controller_fences" else f"{role}_{change}"
    return MappedEvent(name, **arguments)


def begins_shutdown(event: MappedEvent, before: Moment) -> bool:
    """Return whether the event begins a shutdown: a broker asks for it, or a fenced broker stops without asking."""
    if event.action == "broker_shuts_down":
        return not before.projected["is_shutting_down"][event.arguments["broker"]]
    return event.action.endswith("asks_to_shut_down")


def is_void_in_model(message: Message, proposals: Mapping[int, messages.AlterIsrRequest]) -> bool:
    """Return whether the message is an answer that the model lacks. The model has no answer that refuses a leader's
    request for another ISR (except for ineligible members), and no answer that comes with a new leader epoch."""
    payload = message.payload
    if not isinstance(payload, messages.AlterIsrResponse) or message.in_reply_to is None:
        return False
    if payload.error is messages.Errors.NONE:
        return payload.leader_epoch != proposals[message.in_reply_to].leader_epoch
    return payload.error is not messages.Errors.INELIGIBLE_REPLICA


def outlives(message: Message, view: ClusterView) -> bool:
    """Whether the message is a heartbeat of a broker's process that has ended."""
    is_beat = isinstance(message.payload, messages.BrokerHeartbeatRequest)
    return is_beat and message.source_process != view.brokers[int(message.source)].process


def lets_stop(message: Message) -> bool:
    """Whether the message is an answer that lets a broker stop."""
    return isinstance(message.payload, messages.BrokerHeartbeatResponse) and message.payload.should_shut_down


def asks_in_vain(message: Message, view: ClusterView, switches: Switches) -> bool:
    """Whether the message is a fetch whose sender the leader would not propose for the ISR: in the metadata that the
    leader has read, the sender is not active, or has another broker epoch."""
    if not isinstance(message.payload, messages.FetchRequest) or not isinstance(message.destination, int):
        return False
    leader, follower = view.brokers[message.destination], int(message.source)
    if leader.leadership is None or follower in leader.leadership.isr:
        return False
    registered = view.controller.log[leader.metadata_offset].brokers[follower]
    is_other = message.source_process != registered.broker_epoch
    return not registered.is_active or (is_other and switches.BROKER_STATE_CHECK >= BrokerStateCheck.BROKER_EPOCH)

"""What is recorded of a cluster with a KRaft controller: the actions of its events, and what the model lacks.

In:  an act of the scheduler, and the state of the cluster before and after it (`Moment`).
Out: the model's action; the `ModelGap` that the act shows, if any; requests that have to be lost, so that it shows
     none.
"""

from __future__ import annotations

from collections.abc import Mapping

from isrcheck.conformance.cluster.acts import Act
from isrcheck.conformance.cluster.configuration.protocol import BrokerStateCheck, Switches
from isrcheck.conformance.cluster.network.messages import (
    AlterIsrRequest,
    AlterIsrResponse,
    BrokerHeartbeatRequest,
    BrokerHeartbeatResponse,
    Errors,
    FetchRequest,
    MetadataImage,
)
from isrcheck.conformance.cluster.network.network import Message
from isrcheck.conformance.cluster.observe import ClusterView
from isrcheck.conformance.follow.recorder.event_mapping import MappedEvent, Moment
from isrcheck.models.language import NONE

EVERYBODYS = (
    *("metadata_leader_epoch", "is_fenced", "is_shutting_down", "eligible_leader_replicas", "last_known_leader"),
)
"""The variables of a KRaft controller, which every event observes."""


def map_kraft_event(act: Act, before: Moment, after: Moment) -> MappedEvent | None:
    """The model action of an act that only a cluster with KRaft knows; None for other acts."""
    match act.name, act.arguments:
        case (("fence" | "notice dead"), (int(broker),)):
            return _without(broker, "controller_fences", before, after, None)
        case "deliver", (Message(payload=MetadataImage()) as message,):
            there = int(message.destination)
            was, now = (moment.projected["metadata_position"][there] for moment in (before, after))
            arguments = {"broker": there, "partition_epoch": now}
            return None if was == now else MappedEvent("broker_applies_metadata", there, arguments)
        case "deliver", (Message(payload=BrokerHeartbeatRequest()) as message,):
            return _beaten(int(message.source), before, after)
    return None


def _beaten(broker: int, before: Moment, after: Moment) -> MappedEvent | None:
    """What a heartbeat has changed. The answer that lets a broker stop arrives in the same event."""
    if before.view.brokers[broker].is_up and not after.view.brokers[broker].is_up:
        return MappedEvent("broker_shuts_down", broker, {"broker": broker})
    if before.projected["is_fenced"][broker] and not after.projected["is_fenced"][broker]:
        return MappedEvent("controller_unfences_broker", None, {"broker": broker})
    if after.projected["is_shutting_down"][broker] and not before.projected["is_shutting_down"][broker]:
        return _without(broker, "asks_to_shut_down", before, after, broker)
    return None


def _without(broker: int, what: str, before: Moment, after: Moment, acting: int | None) -> MappedEvent:
    """The controller goes on without a broker: the leader stays, or another one follows it, or none."""
    leader, elected = (moment.projected["controller_leader"][0] for moment in (before, after))
    role = "broker" if elected == leader else "last_leader" if elected == NONE else "leader"
    arguments = {"broker": broker} | ({"elected": elected} if role == "leader" else {})
    name = f"{what}_{role}" if what == "controller_fences" else f"{role}_{what}"
    return MappedEvent(name, acting, arguments)


def begins_shutdown(event: MappedEvent, before: Moment) -> bool:
    """Whether a broker announces its shutdown, or stops without having done so, because it is fenced."""
    if event.action == "broker_shuts_down":
        return not before.projected["is_shutting_down"][int(str(event.arguments["broker"]))]
    return event.action.endswith("asks_to_shut_down")


def is_void_in_model(message: Message, proposals: Mapping[int, AlterIsrRequest]) -> bool:
    """Whether the model has no answer to a request for another ISR: a refusal, but for ineligible members; and one that
    comes with a new leader epoch.
    """
    told = message.payload
    if not isinstance(told, AlterIsrResponse) or message.in_reply_to is None:
        return False
    if told.error is Errors.NONE:
        return told.leader_epoch != proposals[message.in_reply_to].leader_epoch
    return told.error is not Errors.INELIGIBLE_REPLICA


def outlives(message: Message, view: ClusterView) -> bool:
    """Whether the message is a heartbeat of a process that has ended."""
    is_beat = isinstance(message.payload, BrokerHeartbeatRequest)
    return is_beat and message.source_process != view.brokers[int(message.source)].process


def lets_stop(message: Message) -> bool:
    """Whether the message is an answer that lets a broker stop."""
    return isinstance(message.payload, BrokerHeartbeatResponse) and message.payload.should_shut_down


def asks_in_vain(message: Message, view: ClusterView, switches: Switches) -> bool:
    """Whether a leader would not propose the follower that has sent this fetch, because of what it has read of it."""
    if not isinstance(message.payload, FetchRequest) or not isinstance(message.destination, int):
        return False
    leader, follower = view.brokers[message.destination], int(message.source)
    if leader.leadership is None or follower in leader.leadership.isr:
        return False
    registered = view.controller.log[leader.metadata_offset].brokers[follower]
    is_other = message.source_process != registered.broker_epoch
    return not registered.is_active or (is_other and switches.BROKER_STATE_CHECK >= BrokerStateCheck.BROKER_EPOCH)

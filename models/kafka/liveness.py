"""What must happen eventually in Kafka's replication: liveness. `MODEL` has the state and the generations of `kafka`.

A search for loops needs every reachable state and its transitions, so `check kafka` does not check these properties;
`check kafka_liveness` does.

These steps are fair: brokers hear of metadata, followers reconcile and fetch, leaders answer and drop slow followers
from the ISR, the controller answers and unfences, and the coordinator of a transaction decides. Elections, crashes,
restarts and actions of clients need not happen. Faults have budgets, so an endless behaviour has finitely many faults.
In `kafka` any number of messages can be lost; here no message is lost, since a connection that breaks for ever keeps
followers out. Runs that have used up their partition epochs are exempt: the controller cannot change the ISR.
"""

import importlib
import sys
from dataclasses import replace

from isrcheck.models.kafka.actions import before_3_1
from isrcheck.models.kafka.actions.alter_partition import diverges
from isrcheck.models.kafka.state import fields
from isrcheck.models.kafka.state.broker import (
    can_ask,
    clear_fetch,
    follows,
    has_enough_replicas,
    is_controllers_leader,
    is_pending,
    presumes_leadership,
)
from isrcheck.models.kafka.state.clients import last_stable_offset, marker_of
from isrcheck.models.kafka.state.controller import is_assigned, may_change_leader, may_lose_member
from isrcheck.models.kafka.state.fields import Replica, alters_partitions
from isrcheck.models.kafka.state.log import holds_record, latest_epoch
from isrcheck.models.kafka.state.values import Controller, Fetch, IsrChannel, ShrinkRule, Truncation
from isrcheck.models.language import NONE, action, leads_to, require, weak_fairness
from isrcheck.models.language.model import assemble

generations = importlib.import_module("isrcheck.models.kafka.generations")
"""The module with the generations of the model `kafka`, which this model has as well."""

PAIR = ("follower", "leader")

WORK = [
    weak_fairness("broker_becomes_leader", "broker_becomes_follower", each="broker"),
    weak_fairness("broker_applies_metadata", each="broker"),
    weak_fairness("follower_reconciles", each=PAIR),
    weak_fairness("leader_handles_fetch", each=PAIR),
    weak_fairness("leader_answers_parked_fetch", each=PAIR),
    weak_fairness("follower_applies_response", each=PAIR),
    weak_fairness("response_no_longer_fits", each=PAIR),
    weak_fairness("follower_takes_high_watermark_first", "follower_truncates", each=PAIR),
    weak_fairness("follower_is_out_of_range", "follower_starts_over", each=PAIR),
    weak_fairness("leader_shrinks_isr", each="leader"),
    weak_fairness("controller_handles_alter_partition", "controller_completes_reassignment", each="leader"),
    weak_fairness("leader_hears_answer", each="leader"),
    weak_fairness("controller_unfences_broker", each="broker"),
    weak_fairness("coordinator_commits", "coordinator_aborts", each="transaction"),
    weak_fairness("leader_appends_marker", each=("leader", "transaction")),
]
"""The steps that are eventually taken if they stay possible."""

LOST = ("response_is_lost", "answer_to_leader_is_lost")
"""The actions of `kafka` that lose a message as often as they like."""


@action(shows="of {follower} from {leader}")
def response_no_longer_fits(s, follower: Replica, leader: Replica):
    """The follower drops a response whose fetch does not fit its present leader or log end, and will fetch again."""
    require(s.fetch[follower][leader] >= Fetch.ANSWERED)
    require(s.fetch[follower][leader] != Fetch.DIVERGING or not s.is_truncating[follower])
    require(not follows(s, follower, leader) or s.fetch_offset[follower][leader] != s.log_end_offset[follower])
    clear_fetch(s, follower, leader)


def bounds_are_reached(s):
    """The bounds leave no partition epoch for a change of the ISR, or no leader epoch if a smaller ISR or the removal
    of a replica needs one. Up to 2.4 the ISR can always change."""
    return s.ISR_CHANNEL == IsrChannel.ALTER_PARTITION and not (
        may_change_leader(s) if removes_replicas(s) else may_lose_member(s)
    )


def removes_replicas(s):
    """A reassignment is in progress that removes a replica."""
    return s.reassignments > 0 and any(s.is_removing[r] for r in range(s.replicas))


def takes_part(s, r):
    """The broker runs and, with KRaft, is assigned the partition and not shutting down; it may be fenced."""
    return s.is_up[r] and (s.CONTROLLER == Controller.ZOOKEEPER or (is_assigned(s, r) and not s.is_shutting_down[r]))


def is_led(s):
    """The controller's leader runs, and the bounds allow the controller to change the ISR."""
    return s.controller_leader != NONE and takes_part(s, s.controller_leader) and not bounds_are_reached(s)


def is_left_out(s, r):
    """The broker takes part outside the controller's ISR, and the partition has a leader that could let it in."""
    return takes_part(s, r) and not s.controller_isr[r] and is_led(s)


def follower_is_left_out(s):
    return is_left_out(s, 1)


def first_leader_is_left_out(s):
    return is_left_out(s, 0)


@leads_to(when=follower_is_left_out, fair=WORK, applies=lambda c: c.replicas > 1)
def follower_rejoins_the_isr(s):
    """Broker 1, which stands for all brokers that do not lead at first, eventually rejoins the ISR, unless broker 1 or
    the leader stops."""
    return not follower_is_left_out(s)


@leads_to(when=first_leader_is_left_out, fair=WORK, applies=lambda c: c.replicas > 1)
def first_leader_rejoins_the_isr(s):
    """Broker 0, which leads at first, eventually rejoins the ISR, unless broker 0 or the leader stops."""
    return not first_leader_is_left_out(s)


def looks_for_common_part(s, follower, leader):
    """The follower has to find where its log and its leader's diverge before it gets records; the leader can answer."""
    return can_ask(s, follower, leader) and (
        s.is_truncating[follower]
        or (s.TRUNC == Truncation.ON_FETCH and diverges(s, leader, follower, latest_epoch(s, follower)))
    )


def somebody_reconciles(s):
    return any(
        looks_for_common_part(s, follower, leader)
        for follower in range(s.replicas)
        for leader in range(s.replicas)
        if follower != leader
    )


@leads_to(when=somebody_reconciles, fair=WORK, applies=lambda c: c.replicas > 1 and c.TRUNC != Truncation.HW)
def reconciliation_ends(s):
    """A follower eventually finds the common part of its log and its leader's, or one of them changes its role."""
    return not somebody_reconciles(s)


def a_change_is_pending(s):
    return s.ISR_CHANNEL == IsrChannel.ALTER_PARTITION and any(
        presumes_leadership(s, r) and is_pending(s, r) and not bounds_are_reached(s) for r in range(s.replicas)
    )


@leads_to(when=a_change_is_pending, fair=WORK, applies=alters_partitions)
def isr_changes_complete(s):
    """A change of the ISR that a leader has proposed is eventually committed or dropped."""
    return not a_change_is_pending(s)


def lacks_room_for_marker(s, leader):
    """The leader's log has reached the model's log size, and lacks the marker of a transaction."""
    return s.log_end_offset[leader] == s.log_size and any(
        any(s.transaction_of[record] == transaction for record in range(s.records))
        and not holds_record(s, leader, marker_of(s, transaction))
        for transaction in range(s.transactions)
    )


def holds_readers_back(s, leader):
    """The controller's leader knows its role, has enough replicas, and its last stable offset is below its log end."""
    return (
        is_controllers_leader(s, leader)
        and has_enough_replicas(s, leader)
        and last_stable_offset(s, leader) < s.log_end_offset[leader]
        and not lacks_room_for_marker(s, leader)
        and not bounds_are_reached(s)
    )


def readers_are_held_back(s):
    return any(holds_readers_back(s, leader) for leader in range(s.replicas))


@leads_to(when=readers_are_held_back, fair=WORK, applies=lambda c: c.SHRINK_RULE != ShrinkRule.LAG_MESSAGES)
def last_stable_offset_advances(s):
    """The last stable offset eventually reaches the end of the log, unless the leader stops or its ISR gets too small.

    Does not apply to 0.8: of its two rules for dropping followers, the model lacks the rule that drops dead ones.
    """
    return not readers_are_held_back(s)


def _without_losses(model):
    """Return the model in which no protocol generation has the actions that lose messages (`LOST`)."""
    protocols = {}
    for name, protocol in model.protocols.items():
        chosen = zip(model.actions, protocol.alternatives, strict=True)
        kept = tuple(None if action.name in LOST else alternative for action, alternative in chosen)
        protocols[name] = replace(protocol, alternatives=kept)
    return replace(model, protocols=protocols)


def _generations():
    """Yield the generations of `kafka`; 2.8 has the high watermark rule from before 3.1, and 3.1 is 2.8 without it."""
    for name, generation in generations.MODEL.protocols.items():
        switches = dict(generation.switches)
        if switches.get("CONTROLLER") == Controller.KRAFT:
            yield name, (generations.KRAFT, switches)
        elif switches.get("ISR_CHANNEL") == IsrChannel.ALTER_PARTITION:
            yield name, ([*generations.ALTER_ISR, before_3_1], switches)
            yield "3.1", (generations.ALTER_ISR, switches)
        else:
            yield name, (generations.CONDITIONAL_WRITE, switches)


MODEL = _without_losses(
    assemble(
        "kafka_liveness",
        [fields, sys.modules[__name__]],
        dict(_generations()),
        {
            name: says if name in ("2.7", "3.0") else says.replace("2.8 stands", "3.1 stands")
            for name, says in generations.STAND_INS.items()
        },
    )
)

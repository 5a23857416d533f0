"""What goes wrong in a trace of Kafka's replication, and how, in one sentence.

In:  a trace of Kafka's model that breaks one of its properties, and the words of its last step.
Out: a sentence; None for a property that has no words here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from isrcheck.models.client_settings import Acks
from isrcheck.models.language.declarations import NONE
from isrcheck.models.language.states import spell_element
from isrcheck.traces.explaining.attribution import CLAIM, Loss, find_loss
from isrcheck.traces.explaining.timeline import Timeline
from isrcheck.traces.format.spelling import name_entry
from isrcheck.traces.format.trace import Trace, arguments_of
from isrcheck.traces.format.why_false import why_broken
from isrcheck.traces.kafka.model import first_read, holds_record
from isrcheck.traces.kafka.step_words import brokers

WRONG: Mapping[str, str] = {
    "offsets_ordered": "the offsets of broker {r} are in the wrong order",
    "committed_agrees": "brokers {a} and {b} hold different committed records at offset {offset}",
    "log_matching": "the logs of brokers {a} and {b} part at offset {below}, unnoticed",
    "deleted_records_stay_deleted": "broker {r} shows records that a client heard are deleted",
    "low_watermark_is_minimum": "the log of broker {r} starts before what was deleted",
    "leader_in_isr": "broker {r} leads, but is not in the ISR",
    "isr_within_assigned": "broker {r} counts as a member, but is no replica of the partition",
    "elr_is_complete": "broker {member} may be elected (ELR), but lacks a record that readers have seen",
    "elr_fills_up_isr": "broker {r} is listed as an eligible leader (ELR) when nobody should be",
    "isr_is_active": "broker {r} is in the ISR, although it is fenced or shuts down",
    "elected_from_isr_or_elr": "a broker is elected that is in neither the ISR nor the ELR",
    "offline_only_if_nobody_is_valid": "the partition has no leader, although a broker could lead",
    "leaderless_partition_awaits_a_broker": "the partition has no leader, and nobody who could return may lead it",
    "leader_knows_the_reassignment": "broker {leader} leads, and does not know which replicas are being added",
    "high_watermark_within_maximal_isr": (
        "broker {leader} counts a record as committed that broker {r} lacks, which may be in the ISR"
    ),
    "one_leader_per_epoch": "brokers {a} and {b} lead in the same epoch",
    "high_watermark_monotonic": "the high watermark of broker {r} falls while it leads",
    "consumers_read_what_was_exposed": "consumer {consumer} has read another record than others at offset {offset}",
    "consumers_skip_nothing": "consumer {consumer} skips a record that it could have read",
    "lag_matches_isolation": "the lag of consumer {consumer} is wrong",
    "latest_does_not_go_back": "consumer {consumer} goes back behind an end of the log that it knew",
    "truncation_is_detected": "consumer {consumer} does not notice that a record is gone that it has read",
    "follower_rejoins_the_isr": "broker 1 stays out of the ISR for ever",
    "first_leader_rejoins_the_isr": "broker 0 stays out of the ISR for ever",
    "reconciliation_ends": "a follower looks for the common part of its log and its leader's for ever",
    "isr_changes_complete": "a change of the ISR stays pending for ever",
    "last_stable_offset_advances": "readers wait for the end of the log for ever",
}
"""What goes wrong if a property fails, with the values of the property's variables."""

REMOVALS: Mapping[str, str] = {
    "broker_bounces": "cuts it from its log when it restarts",
    "broker_restarts": "cuts it from its log when it restarts",
    "broker_becomes_follower": "cuts it from its log when it begins to follow",
    "broker_loses_power": "loses it in a loss of power",
    "broker_loses_disk": "loses it with its disk",
    "operator_deletes_replica_folder": "loses it with the folder that an operator deletes",
    "broker_applies_metadata": "deletes its log, because it is no longer a replica",
    "broker_loses_disk_while_it_fetches": "loses it with its disk",
    "follower_reconciles": "cuts it from its log to match broker {leader}",
    "follower_truncates": "cuts it from its log to match broker {leader}",
    "follower_truncates_as_noted": "cuts it from its log, by an answer that it has checked before",
    "follower_is_out_of_range": "cuts it from its log, because its log is longer than that of broker {leader}",
    "follower_starts_over": "drops its log",
    "follower_applies_response": "overwrites it with what broker {leader} sends",
}
"""How a broker loses its copy of a record, by the action that removes it."""


def headline(trace: Trace, how: str) -> str | None:
    """Return what goes wrong; `how` is the last step in words, or what is repeated for ever."""
    timeline, name = Timeline(trace), trace.property_name or ""
    loss = find_loss(trace) if trace.length else None
    if loss is not None:
        return _of_loss(timeline, loss)
    numbers = why_broken(trace).numbers() if trace.loop is None else {}
    if name in TOLD and numbers.keys() >= set(TOLD[name][1]):
        what = TOLD[name][0](timeline, **{key: numbers[key] for key in TOLD[name][1]})
        return f"{what}: {how}"
    if name == "read_committed_is_atomic":
        return f"{_torn_transaction(numbers)}: {how}"
    try:
        return f"{WRONG[name].format(**numbers)}: {how}"
    except KeyError:  # a property that is not told of, or whose variables have other names
        return None


# ------------------------------------------------------------------------------------------------------------ of losses


def _of_loss(timeline: Timeline, loss: Loss) -> str:
    name = timeline.trace.property_name
    if name == "isr_is_complete":
        kind = "a record" if loss.record < timeline.last.records else name_entry(timeline.last, loss.record)
        return f"a member of the ISR lacks {kind} that readers have seen: {_incomplete(timeline, loss)}"
    few = " by fewer failures than KIP-966 tolerates" if name == CLAIM else ""
    return f"an acknowledged record is lost{few}: {_lost(timeline, loss)}"


def _lost(timeline: Timeline, loss: Loss) -> str:
    """How the leader of record comes to lack a record that was acknowledged."""
    who = f"broker {loss.broker}"
    elected = _elected(timeline, loss)
    if loss.removed is not None:
        removed = _removed(timeline, loss.broker, loss.removed)
        if loss.removed == loss.lost:
            return f"{who}, {_leading(timeline, loss)}, {removed}"
        if loss.promised == loss.lost:
            return f"{who}, {_leading(timeline, loss)}, {removed}, and {_acknowledging(timeline, loss)} all the same"
        if loss.promised > loss.removed:
            return f"{who} {removed}, the old leader counts it all the same, and {who} is {elected}"
        if loss.admitted is not None and loss.removed < loss.admitted < loss.lost:
            return f"{who} {removed}, joins the ISR all the same, and is {elected}"
        return f"{who} {removed}, and is {elected}{_held_elsewhere(timeline, loss)}"
    if timeline.trace.steps[loss.lost - 1].action == "leader_mistakes_request":
        return f"{who} takes it for an older one, and appends nothing"
    if not any(holds_record(s, r, loss.record) for s in timeline.states for r in range(s.replicas)):
        return "it never reaches a broker"
    if loss.promised == loss.lost:
        return f"{_acknowledging(timeline, loss)}, while {who} leads without it"
    return _elected_without(timeline, loss, who, elected)


def _elected_without(timeline: Timeline, loss: Loss, who: str, elected: str) -> str:
    """How a broker is elected that never had the record."""
    before, after = timeline.states[loss.lost - 1], timeline.states[loss.lost]
    if before.unclean_elections_left > after.unclean_elections_left:
        return f"{who}, which is not in sync, is elected without it"
    if loss.uncounted is not None:
        leader = f"broker {loss.uncounted.leader}"
        if loss.uncounted.dropped is not None:
            return f"{leader} forgets that {who} joins the ISR, and {who} is {elected} without it"
        return f"{leader} does not wait for {who}, which joins the ISR, and {who} is {elected} without it"
    if loss.admitted is not None:
        return f"{who} joins the ISR without it, and is {elected}"
    former = before.controller_leader
    if after.acks != Acks.ALL:
        fails = former != NONE and not before.is_up[former]
        return f"the leader fails before {who} has it" if fails else f"{who} is {elected} before it has the record"
    return f"{who} is {elected} without it"


def _elected(timeline: Timeline, loss: Loss) -> str:
    """What makes the broker the leader in the last step, as a participle."""
    before, after = timeline.states[loss.lost - 1], timeline.states[loss.lost]
    is_new = before.controller_leader != loss.broker == after.controller_leader
    return "elected" if is_new else "the leader again"


def _leading(timeline: Timeline, loss: Loss) -> str:
    """Whether the leader of record knows that it leads."""
    return "which leads" if timeline.last.leader[loss.broker] == loss.broker else "which is elected already"


def _held_elsewhere(timeline: Timeline, loss: Loss) -> str:
    """The running brokers that still have the record, as the end of a sentence."""
    s = timeline.last
    others = [r for r in range(s.replicas) if s.is_up[r] and holds_record(s, r, loss.record)]
    return f", although {brokers(others)} still {'has' if len(others) == 1 else 'have'} it" if others else ""


def _acknowledging(timeline: Timeline, loss: Loss) -> str:
    step = timeline.trace.steps[loss.promised - 1]
    arguments = arguments_of(timeline.trace.instance, step)
    teller = arguments.get("leader", arguments.get("broker"))
    return "it is acknowledged" if teller is None else f"broker {teller} acknowledges it"


def _incomplete(timeline: Timeline, loss: Loss) -> str:
    """How a member of the ISR comes to lack a record that readers have seen."""
    who = f"broker {loss.broker}"
    rejoins = loss.admitted is not None and loss.admitted == loss.lost
    if loss.removed is not None:
        removed = f"{who} {_removed(timeline, loss.broker, loss.removed)}"
        if loss.removed == loss.lost:
            return removed
        return f"{removed}, and joins the ISR" if rejoins else f"{removed}, and stays in the ISR"
    if loss.promised == loss.lost:
        return f"{_exposing(timeline, loss)} before {who} has it"
    if loss.admitted is not None:
        return f"{who} joins the ISR without it"
    return f"{who} never had it"


def _exposing(timeline: Timeline, loss: Loss) -> str:
    step = timeline.trace.steps[loss.promised - 1]
    leader = arguments_of(timeline.trace.instance, step).get("leader")
    return "it becomes readable" if leader is None else f"broker {leader} shows it to readers"


def _removed(timeline: Timeline, broker: int, position: int) -> str:
    """How a broker loses its copy in a step, as the predicate of a sentence."""
    trace = timeline.trace
    step, after = trace.steps[position - 1], timeline.states[position]
    arguments = arguments_of(trace.instance, step)
    text = REMOVALS.get(step.action)
    if text is None or broker not in (arguments.get("broker"), arguments.get("follower")):
        return "drops it"
    told = text.format(**arguments)
    leader = arguments.get("leader")
    if leader is not None and after.controller_leader != leader:
        told += ", which no longer leads"
    return told


# -------------------------------------------------------------------------------------------------- of other properties


def _read_otherwise(timeline: Timeline, leader: int, offset: int) -> str:
    s = timeline.last
    shown, first = (name_entry(s, one) for one in (s.log_record[leader][offset], first_read(s, offset)))
    return f"readers see {shown} at offset {offset}, where others saw {first}"


def _repeated(timeline: Timeline, r: int, offset: int) -> str:
    return f"record {spell_element(timeline.last.log_record[r][offset])} is in the log twice"


def _disordered(timeline: Timeline, r: int, offset: int, later: int) -> str:
    log = timeline.last.log_record[r]
    return f"records {spell_element(log[later])} and {spell_element(log[offset])} change places"


def _torn_transaction(numbers: Mapping[str, int]) -> str:
    """Which half of the property is false: an aborted record is read, or a part of a transaction only."""
    if "transaction" in numbers:
        return "read_committed readers see a record of an aborted transaction"
    return "read_committed readers see only a part of a transaction"


TOLD: Mapping[str, tuple[Callable[..., str], tuple[str, ...]]] = {
    "consistent_read": (_read_otherwise, ("leader", "offset")),
    "no_duplicates": (_repeated, ("r", "offset")),
    "order_preserved": (_disordered, ("r", "offset", "later")),
}
"""The properties whose failure is told with records, and the variables that this needs."""

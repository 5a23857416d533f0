"""The messages between brokers and controller since 2.8, and what the controller decides: AlterPartition, metadata.

In:  a step of Kafka's model, with the states before and after it.
Out: arrows and marks, by the name of the action. That a leader has sent AlterPartition is found by comparing states.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from isrcheck.models.kafka.state import controller as assignment
from isrcheck.models.kafka.state import controller as requests
from isrcheck.models.kafka.state.values import AlterPartition
from isrcheck.models.language.declarations import NONE
from isrcheck.models.run import State
from isrcheck.traces.kafka.partition_state import (
    alters_partitions,
    has_kraft,
    is_pending,
    known_by_controller,
    requested_isr,
    spell_divergence,
    spell_flags,
)
from isrcheck.traces.kafka.step_context import Events, MessageFinder, StepContext
from isrcheck.traces.lanes.scene import ELECTION, FAULT, LOST, NOTE, REQUEST, RESPONSE, Mark

is_complete_with_request: Callable[[State, int], bool] = assignment.is_complete_with_request
names_no_replica: Callable[[State, int], bool] = requests.names_no_replica

# ------------------------------------------------------------------------------------------------------- AlterPartition


def alter_partition_sent(context: StepContext) -> Events:
    """Add the requests that leaders have sent in this step; they arrive later."""
    before, after = context.before, context.after
    if not alters_partitions(after):
        return
    for leader in range(after.replicas):
        stages = before.alter_partition[leader], after.alter_partition[leader]
        if stages == (AlterPartition.NONE, AlterPartition.REQUESTED):
            yield context.to_controller(leader, _request(after, leader), RESPONSE)


def _request(s: State, leader: int) -> str:
    return f"AlterPartition p{s.requested_partition_epoch[leader]}: ISR {requested_isr(s, leader)}"


def _answer(s: State, leader: int) -> str:
    if s.alter_partition[leader] == AlterPartition.INELIGIBLE:
        return "INELIGIBLE_REPLICA"
    return f"answer p{s.requested_partition_epoch[leader] + 1}: ISR {requested_isr(s, leader)}"


def _handled(context: StepContext) -> Events:
    before, after, leader = context.before, context.after, context.leader
    yield context.to_controller(leader, _request(before, leader))
    if after.controller_leader != before.controller_leader:
        yield context.from_controller(leader, "NEW_LEADER_ELECTED")
    elif after.alter_partition[leader] != AlterPartition.NONE:
        yield context.from_controller(leader, _answer(after, leader), RESPONSE)
    elif after.controller_partition_epoch > before.controller_partition_epoch:
        yield context.from_controller(
            leader, f"answer p{after.controller_partition_epoch}: e{after.controller_epoch} begins"
        )
    else:
        yield context.from_controller(leader, _refusal(before, leader))
    if after.controller_partition_epoch > before.controller_partition_epoch and is_complete_with_request(
        before, leader
    ):
        removed = [r for r in range(before.replicas) if before.is_removing[r]]
        text = f"removes {''.join(map(str, removed))}" if removed else "the reassignment is complete"
        yield Mark(context.lanes.controller, f"{text}{_elected(context)}", ELECTION)


def _refusal(s: State, leader: int) -> str:
    """The error that a controller answers to a request of an old leader epoch, of an old partition epoch, or with a
    member that is no replica."""
    if s.requested_leader_epoch[leader] < s.controller_epoch:
        return "FENCED_LEADER_EPOCH"
    is_new = s.requested_partition_epoch[leader] == s.controller_partition_epoch
    return "INVALID_REQUEST" if is_new and names_no_replica(s, leader) else "INVALID_UPDATE_VERSION"


def _answered(context: StepContext) -> Events:
    yield context.from_controller(context.leader, _answer(context.before, context.leader))
    if not is_pending(context.before, context.leader):
        yield context.befalls(context.leader, "nothing is pending: ignored")


def _answer_lost(context: StepContext) -> Events:
    yield context.from_controller(context.leader, _answer(context.before, context.leader), LOST)
    yield context.to_controller(context.leader, _request(context.after, context.leader), RESPONSE)


# ----------------------------------------------------------------------------------------------------- metadata records


def _metadata(context: StepContext) -> Events:
    s, broker, epoch = context.before, context.broker, context.partition_epoch
    leader = s.metadata_leader[epoch]
    members = spell_flags(s, s.metadata_isr[epoch])
    told = f"{'no leader' if leader == NONE else f'leader {leader}'}, ISR {members}"
    if s.reassignments > 0:
        told += f", replicas {spell_flags(s, s.metadata_assigned[epoch])}"
        if any(s.metadata_adding[epoch][r] for r in range(s.replicas)):
            told += f", adding {spell_flags(s, s.metadata_adding[epoch])}"
    yield context.from_controller(broker, f"metadata p{epoch} e{s.metadata_leader_epoch[epoch]}: {told}")
    skipped = range(s.metadata_position[broker] + 1, epoch)
    if skipped:
        yield context.befalls(broker, f"skips {' '.join(f'p{one}' for one in skipped)}")
    if epoch < s.partition_epoch[broker]:
        yield context.befalls(broker, f"knows p{s.partition_epoch[broker]} already")
    elif is_pending(s, broker) and not is_pending(context.after, broker):
        is_old = epoch == s.partition_epoch[broker]
        proposed = spell_flags(s, s.proposed_isr[broker])
        text = f"drops its pending ISR {proposed}"
        yield context.befalls(
            broker, f"{text}, by a p{epoch} that it knew" if is_old else text, FAULT if is_old else NOTE
        )
    yield from _reads_configuration(context)


def _reads_configuration(context: StepContext) -> Events:
    """The values of min.insync.replicas that a broker reads in this step."""
    before, after, broker = context.before, context.after, context.broker
    if before.min_isr_changes > 0:
        for change in range(before.min_isr_changes_read[broker], after.min_isr_changes_read[broker]):
            yield context.from_controller(broker, f"min.insync.replicas {before.changed_min_isr[change]}")


# ----------------------------------------------------------------------------------------------------- lives of brokers


def _elected(context: StepContext) -> str:
    """Whom the controller elects in this step, as the end of a sentence."""
    before, after = context.before, context.after
    if after.controller_leader == before.controller_leader:
        return ""
    return ", no leader" if after.controller_leader == NONE else f", elects {after.controller_leader}"


def _decides(word: str) -> MessageFinder:
    def decide(context: StepContext) -> Events:
        yield Mark(context.lanes.controller, f"{word} {context.broker}{_elected(context)}", ELECTION)

    return decide


def _reassigns(context: StepContext) -> Events:
    target = spell_flags(context.before, context.target)
    yield Mark(context.lanes.controller, f"reassigns to {target}{_elected(context)}", ELECTION)


def _cancels(context: StepContext) -> Events:
    yield Mark(context.lanes.controller, f"cancels the reassignment{_elected(context)}", ELECTION)


def _changes_minimum(context: StepContext) -> Events:
    text = f"min.insync.replicas {context.minimum}{_forgets(context)}{_elected(context)}"
    yield Mark(context.lanes.controller, text, ELECTION)


def _reports_directory(context: StepContext) -> Events:
    yield context.to_controller(context.broker, "AssignReplicasToDirs")
    if forgotten := _forgets(context):
        yield Mark(context.lanes.controller, forgotten.removeprefix(", "), ELECTION)


def _forgets(context: StepContext) -> str:
    """Which eligible leaders outside the ISR this step makes the controller forget, as the end of a sentence."""
    before, after = known_by_controller(context.before), known_by_controller(context.after)
    names = {"elr": "the ELR", "last": "the last known leader"}
    found = [name for sign, name in names.items() if sign in before and sign not in after]
    return f", forgets {' and '.join(found)}" if found else ""


def _deletes_folder(context: StepContext) -> Events:
    yield context.befalls(context.broker, "its folder is deleted", FAULT)


def _falls_behind(context: StepContext) -> Events:
    yield context.befalls(context.leader, f"{context.follower} is no longer caught up")


def _asks_to_shut_down(context: StepContext) -> Events:
    yield context.to_controller(context.broker, "controlled shutdown")
    if elected := _elected(context):
        yield Mark(context.lanes.controller, elected.removeprefix(", "), ELECTION)


def _shuts_down(context: StepContext) -> Events:
    yield context.befalls(context.broker, "shuts down", ELECTION)


def restarts(context: StepContext) -> Events:
    """Add the restart of a broker; a KRaft controller may elect a leader when it registers."""
    yield context.befalls(context.broker, "restarts", ELECTION)
    if has_kraft(context.after) and (elected := _elected(context)):
        yield Mark(context.lanes.controller, elected.removeprefix(", "), ELECTION)


# ----------------------------------------------------------------------------------- diverging responses, late fetches


def _takes_high_watermark(context: StepContext) -> Events:
    s, follower, leader = context.before, context.follower, context.leader
    text = f"{spell_divergence(s, follower, leader)}, HW {s.response_high_watermark[follower][leader]}"
    yield context.between(leader, follower, text)
    yield context.befalls(follower, f"takes HW {context.after.high_watermark[follower]}")


def _diverges(context: StepContext) -> Events:
    s, follower, leader = context.before, context.follower, context.leader
    yield context.between(leader, follower, spell_divergence(s, follower, leader))


def _stops_while_it_fetches(word: str) -> MessageFinder:
    def stop(context: StepContext) -> Events:
        text = f"fetch from {context.before.log_end_offset[context.follower]}"
        yield context.between(context.follower, context.leader, text, RESPONSE)
        yield context.befalls(context.follower, word, FAULT)

    return stop


def _late_fetch(kind: str) -> MessageFinder:
    def arrive(context: StepContext) -> Events:
        offset = context.before.late_fetch_offset[context.leader][context.follower]
        yield context.between(context.follower, context.leader, f"late fetch from {offset}", kind)

    return arrive


def _admits(context: StepContext) -> Events:
    yield context.between(
        context.follower, context.leader, f"fetch from {context.before.log_end_offset[context.follower]}"
    )
    yield context.befalls(context.leader, "fetch checked, not counted yet")


def _counts(context: StepContext) -> Events:
    offset = context.before.admitted_offset[context.leader][context.follower]
    yield context.befalls(context.leader, f"counts the fetch from {offset} of broker {context.follower}")


def _checks_answer(context: StepContext) -> Events:
    leader, follower = context.leader, context.follower
    yield context.between(leader, follower, spell_divergence(context.before, follower, leader))
    yield context.befalls(follower, "answer checked, not applied yet")


def _applies_checked_answer(context: StepContext) -> Events:
    yield context.befalls(context.follower, "applies the answer that it has checked")


def _drops_metadata(context: StepContext) -> Events:
    yield context.befalls(context.broker, f"fails to apply metadata up to {context.partition_epoch}", FAULT)


SENT: Mapping[str, MessageFinder] = {
    "controller_handles_alter_partition": _handled,
    "leader_hears_answer": _answered,
    "answer_to_leader_is_lost": _answer_lost,
    "broker_applies_metadata": _metadata,
    "controller_fences_broker": _decides("fences"),
    "controller_fences_leader": _decides("fences"),
    "controller_fences_last_leader": _decides("fences"),
    "controller_unfences_broker": _decides("unfences"),
    "broker_asks_to_shut_down": _asks_to_shut_down,
    "leader_asks_to_shut_down": _asks_to_shut_down,
    "last_leader_asks_to_shut_down": _asks_to_shut_down,
    "broker_shuts_down": _shuts_down,
    "controller_begins_reassignment": _reassigns,
    "controller_reassigns_without_leader": _reassigns,
    "controller_cancels_reassignment": _cancels,
    "controller_cancels_without_leader": _cancels,
    "controller_completes_reassignment": _handled,
    "operator_changes_min_insync_replicas": _changes_minimum,
    "broker_reads_configuration": _reads_configuration,
    "broker_drops_metadata": _drops_metadata,
    "controller_unregisters_broker": _decides("unregisters"),
    "operator_deletes_replica_folder": _deletes_folder,
    "broker_reports_directory": _reports_directory,
    "follower_falls_behind": _falls_behind,
    "follower_takes_high_watermark_first": _takes_high_watermark,
    "follower_truncates": _diverges,
    "broker_crashes_while_it_fetches": _stops_while_it_fetches("crashes"),
    "broker_loses_disk_while_it_fetches": _stops_while_it_fetches("loses its disk"),
    "leader_admits_fetch": _admits,
    "leader_counts_fetch": _counts,
    "follower_checks_diverging_answer": _checks_answer,
    "follower_truncates_as_noted": _applies_checked_answer,
    "leader_handles_late_fetch": _late_fetch(REQUEST),
    "late_fetch_is_lost": _late_fetch(LOST),
}
"""The messages of each action that came with 2.8 or later, or with HW_WAIT."""

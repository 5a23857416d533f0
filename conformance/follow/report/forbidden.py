"""Why a step cannot be taken before a line: a guard of the model is false, or a rule of the recording forbids it.

In:  a step, the state before it, and the state after it (taken without its guards).
Out: one line of text, or None if neither forbids it.
"""

from __future__ import annotations

from pathlib import Path

from isrcheck import models
from isrcheck.conformance.follow.observations.requests import DECIDES
from isrcheck.conformance.follow.observations.script import (
    CANCELLATIONS,
    CRASH,
    NOBODY,
    PREFER,
    REASSIGNMENTS,
    RESTART,
    SHRINK,
    SHUTDOWNS,
    Permission,
    Script,
    actors,
    alters_partitions,
)
from isrcheck.conformance.follow.recorded.lines import Sent
from isrcheck.models.kafka.state.values import AlterPartition
from isrcheck.models.language.model import Instance, Step
from isrcheck.models.run import Cells, State, take
from isrcheck.traces.format.why_false import FalseGuard, first_false_guard

ROOT = Path(models.__file__).parents[1]

NO_EPOCH = "the recording shows no other leader epoch"
NO_CHANGE = "the partition epochs of the recording leave no room for another change of leader or ISR"
BUDGETS = {
    "preferred_elections_left": NO_EPOCH,
    "unclean_elections_left": "unclean elections are off",
    "fencings_left": "the recording freezes no broker, so no session expires",
    "shutdowns_left": "the recording shuts no broker down",
    "crashes_left": "the recording kills no broker",
}
"""What the recording determines, by the budget that a guard reads."""

ELECTING = ("may_elect", "may_lose_member", "may_change_leader")
CHANGING = ("may_change_record", "may_lose_member", "may_change_leader")
"""Helpers whose names in a guard show that it compares an epoch with the number of changes that the recording has."""


def forbidden(script: Script, position: int, step: Step, cells: Cells, after: Cells) -> str | None:
    """What forbids a step in a state before the line at this position of the script; None if nothing known does."""
    instance = script.instance
    if take(instance, cells, step) is None:
        return _by_guard(instance, cells, step)
    return _by_recording(script, position, step, State(instance, cells), State(instance, after))


def _by_guard(instance: Instance, cells: Cells, step: Step) -> str:
    guard = first_false_guard(instance, cells, step)
    if guard is None:
        return f"{instance.protocol.name} has no such action"
    path = Path(guard.path)
    place = path.relative_to(ROOT).as_posix() if path.is_relative_to(ROOT) else guard.path
    bound = _bound(State(instance, cells), guard)
    return f"{guard}{'' if bound is None else f': {bound}'} ({place}:{guard.line})"


def _bound(s: State, guard: FalseGuard) -> str | None:
    """What the recording has to do with a guard that is false because a bound is reached."""
    if any(name in guard.source for name in ELECTING) and s.controller_epoch >= s.elections:
        return NO_EPOCH
    if any(name in guard.source for name in CHANGING) and s.controller_partition_epoch >= s.partition_changes:
        return NO_CHANGE
    return next((why for name, why in BUDGETS.items() if any(f"{name} = 0" in one for one in guard.readings)), None)


def _by_recording(script: Script, position: int, step: Step, s: State, after: State) -> str | None:
    recording, stage = script.recording, script.stages[position]
    taking_part = actors(script.instance, step)
    permission = Permission(int(script.permissions[position, step.number]))
    if permission is Permission.NOT:
        frozen = [recording.brokers[replica] for replica in taking_part if replica in stage.frozen]
        if frozen and step.action != CRASH:
            return f"broker {frozen[0]} is frozen at this line"
        if step.action == SHRINK:
            leader = recording.brokers[taking_part[0]]
            return f"no alter_partition line from here on has this ISR as the next one that broker {leader} asks for"
        if step.action == PREFER:
            return "nobody has asked for a preferred election"
        if step.action in (*REASSIGNMENTS, *CANCELLATIONS):
            return "no operator asks for this at this line"
        faults = {CRASH: "kill -9", RESTART: "start"} | dict.fromkeys(SHUTDOWNS, "stop")
        told = faults.get(step.action, step.action)
        return f"the recording has no `{told}` of broker {recording.brokers[taking_part[0]]} at this line"
    if after.next_record > stage.most_sent:
        value = recording.values[int(s.next_record)]
        sent = next((line for line in recording.lines if isinstance(line, Sent) and line.value == value), None)
        return f"{value} is sent only at {sent.spot}" if sent is not None else None
    if after.controller_partition_epoch > stage.most_partition_epoch:
        return f"{NO_CHANGE} before this line"
    if recording.has_epochs and after.controller_epoch > s.controller_epoch:
        epoch, shown = int(after.controller_epoch), recording.first_epoch
        if epoch > stage.most_epoch:
            return f"no metadata line up to the next one with a leader shows the leader epoch {epoch + shown}"
        if epoch == stage.most_epoch and stage.leader not in (NOBODY, after.controller_leader):
            return f"the leader of epoch {epoch + shown} is broker {recording.brokers[stage.leader]} by a metadata line"
    if recording.has_all_requests and alters_partitions(script.instance):
        if step.action in DECIDES:
            return f"the next request of broker {recording.brokers[step.ordinals[0]]} has its line only later"
        for replica, broker in enumerate(recording.brokers):
            if after.alter_partition[replica] == AlterPartition.REQUESTED != s.alter_partition[replica]:
                return f"no alter_partition line from here on has this request as the next one of broker {broker}"
    if any(s.is_up[replica] and not after.is_up[replica] for replica in range(len(recording.brokers))):
        return "the recording lists every death, and none here"
    return None

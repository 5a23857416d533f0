"""The script of a recording: which steps of the model may occur between its lines.

Faults and reassignments happen only where they are recorded, elections only if the recorded leaders require them. Other
actions are always possible, or never happen. Every new action of the model has to be added to a group below.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from isrcheck.conformance.follow.recorded.faults import FaultKind
from isrcheck.conformance.follow.recorded.lines import (
    AlterRequest,
    ElectRequest,
    Fault,
    Line,
    Metadata,
    Reassignment,
    Sent,
)
from isrcheck.conformance.follow.recorded.recording import Recording, requests_in
from isrcheck.conformance.follow.recorded.states import alters_partitions, has_kraft
from isrcheck.models.kafka.state.fields import AlteringReplica, KraftReplica, Replica
from isrcheck.models.language.model import Instance, Step

SHRINK, PREFER, UNCLEAN = "leader_shrinks_isr", "controller_elects_preferred", "controller_elects_unclean"
CRASH, RESTART, SEND_AGAIN = "broker_crashes", "broker_restarts", "producer_retries"

FREE = (
    "producer_appends",
    "producer_is_refused",
    "send_is_lost",
    "answer_is_lost",
    SEND_AGAIN,
    "leader_handles_fetch",
    "leader_answers_parked_fetch",
    SHRINK,
    "follower_falls_behind",
    "follower_reconciles",
    "follower_applies_response",
    "response_is_lost",
    "follower_is_out_of_range",
    "follower_starts_over",
    "broker_becomes_leader",
    "broker_becomes_follower",
    "controller_removes_dead_follower",
    "controller_handles_alter_partition",
    "leader_hears_answer",
    "answer_to_leader_is_lost",
    "follower_takes_high_watermark_first",
    "follower_truncates",
    "broker_applies_metadata",
    "controller_fences_broker",
    "controller_unfences_broker",
)
"""Actions that are not recorded, and always possible. (A follower that halts is a fault: rules.py.)"""

ELECTIONS = (
    "controller_fails_over",
    PREFER,
    UNCLEAN,
    "controller_fences_leader",
    "controller_fences_last_leader",
    "controller_completes_reassignment",
)
REASSIGNMENTS = ("controller_begins_reassignment", "controller_reassigns_without_leader")
CANCELLATIONS = ("controller_cancels_reassignment", "controller_cancels_without_leader")
"""Actions of the controller at the request of an operator; the second of each pair elects another leader."""

SHUTDOWNS = (
    "broker_asks_to_shut_down",
    "leader_asks_to_shut_down",
    "last_leader_asks_to_shut_down",
    "broker_shuts_down",
)
"""The steps of a controlled shutdown with KRaft. Before KRaft, a controlled shutdown counts as a crash."""

ANSWERS = ("leader_handles_fetch", "leader_answers_parked_fetch")
"""Actions of a leader to which the follower contributes only a fetch in flight."""

NEVER = (
    "broker_bounces",
    "broker_loses_power",
    "broker_loses_disk",
    "leader_deletes_records",
    "producer_appends_in_transaction",
    "coordinator_commits",
    "coordinator_aborts",
    "leader_appends_marker",
    "request_fails",
    "producer_resends",
    "producer_begins_new_epoch",
    "broker_saves_producer_state",
    "producer_begins_from_zero",
    "leader_mistakes_request",
    "consumer_fetches",
    "consumer_follows_new_leader",
    "consumer_is_out_of_range",
    "consumer_finds_nothing",
    "consumer_is_sent_to_follower",
    "consumer_returns_to_leader",
    "operator_changes_min_insync_replicas",
    "broker_reads_configuration",
    "operator_deletes_replica_folder",
    "controller_unregisters_broker",
    "broker_reports_directory",
    "broker_drops_metadata",
    "leader_answers_deletion",
    "leader_admits_fetch",
    "leader_counts_fetch",
    "follower_checks_diverging_answer",
    "follower_truncates_as_noted",
    "broker_crashes_while_it_fetches",
    "broker_loses_disk_while_it_fetches",
    "leader_handles_late_fetch",
    "late_fetch_is_lost",
)
"""Actions that never happen: faults that recordings cannot contain, requests that no client sends, and actions that
need switches that are off in every generation."""

BROKERS = (Replica, AlteringReplica, KraftReplica)
"""The domains of parameters that are brokers."""

NOBODY = -1
"""No replica."""

CANCEL = 0
"""In place of a set of replicas: the reassignment is cancelled."""


class Permission(IntEnum):
    """Whether and how a step can be taken before a line."""

    NOT = 0
    FREE = 1
    ELECTION = 2
    KILL = 3
    START = 4
    CLEAN_STOP = 5
    SHUTDOWN = 6


@dataclass
class Away:
    """The brokers that are down, frozen, or about to stop, according to the faults so far."""

    down: set[int] = field(default_factory=set)
    frozen: set[int] = field(default_factory=set)
    stopping: set[int] = field(default_factory=set)

    def befall(self, fault: FaultKind, broker: int) -> None:
        left = {FaultKind.CUT: [], FaultKind.START: [self.frozen, self.down, self.stopping]}.get(fault, [self.frozen])
        for group in left:
            group.discard(broker)
        joined = {FaultKind.FREEZE: self.frozen, FaultKind.KILL: self.down, FaultKind.STOP: self.stopping}.get(fault)
        if joined is not None:
            joined.add(broker)


@dataclass(frozen=True)
class Stage:
    """The situation before a line: the states of brokers, and what may happen. Brokers are given as replica numbers."""

    line: Line

    replica: int
    """The broker of the fault, if the line is a fault, or NOBODY."""

    down: frozenset[int]
    frozen: frozenset[int]

    stopping: frozenset[int]
    """Brokers that are shut down or shutting down."""

    incarnations: tuple[int, ...]
    """The number of starts of each broker."""

    leader: int
    """The leader in the next metadata line that names one (except lines about past epochs), or NOBODY."""

    most_epoch: int
    """The epoch of this leader, or the last epoch that can have begun."""

    most_sent: int
    """The largest number of records that can have been sent."""

    most_partition_epoch: int
    """The latest partition epoch that can have begun."""

    may_prefer: bool
    """A preferred election can happen even without a shutdown."""

    may_be_unclean: bool
    """An unclean election can happen."""

    requested: Mapping[int, frozenset[int]] | None
    """The ISR in the next request of each leader that sends one; None if not all requests are recorded."""

    requested_before: Mapping[int, frozenset[int]]
    """The ISR in the last request of each leader."""

    reassigning: frozenset[int]
    """The sets of replicas, as numbers, that an operator asks for, or CANCEL."""


class Script:
    """The stages of a recording (the situation before each line), and each step's `Permission` in each stage."""

    def __init__(self, recording: Recording, instance: Instance) -> None:
        self.recording = recording
        self.instance = instance
        self.stages = _stages(recording)
        total = instance.first_steps[-1]
        self.permissions: NDArray[np.uint8] = np.zeros((len(self.stages) + 1, total), np.uint8)
        self.actor: NDArray[np.int64] = np.full(total, NOBODY, np.int64)
        self.checkpoint: NDArray[np.int64] = np.zeros(total, np.int64)
        self.sent_again: NDArray[np.int64] = np.full(total, NOBODY, np.int64)
        for step in instance.steps:
            self.actor[step.number] = next(iter(actors(instance, step)), NOBODY)
            if step.action == SEND_AGAIN:
                self.sent_again[step.number] = step.ordinals[0]
            if step.action == RESTART:
                self.checkpoint[step.number] = step.ordinals[1]
        for position, stage in enumerate(self.stages):
            for step in instance.steps:
                self.permissions[position, step.number] = permission(instance, stage, step)

    def column(self, name: str) -> NDArray[np.int64]:
        """The values of a field of `Stage` in every stage, followed by 0 for the situation after the last line."""
        return np.array([*(getattr(stage, name) for stage in self.stages), 0], np.int64)


def actors(instance: Instance, step: Step) -> list[int]:
    """The brokers that take part in a step, the acting broker first. A broker that the controller elects or drops, or
    that a leader drops from the ISR, does not take part."""
    if step.action.startswith("controller_"):
        return []
    ranges = instance.argument_ranges[step.action_index]
    choices = [(choice.parameter, ordinal) for choice, ordinal in zip(ranges, step.ordinals, strict=True)]
    return [ordinal for parameter, ordinal in choices if parameter.domain in BROKERS and parameter.name != "elected"]


def permission(instance: Instance, stage: Stage, step: Step) -> Permission:
    """Whether and how a step can be taken before the line of this stage.

    A frozen broker can be killed, but takes part in no other step, except that a leader answers a fetch that the broker
    sent before it froze. Messages that a leader sent before it froze do not arrive while the leader is frozen; no
    verdict on the existing recordings depends on this.
    """
    taking_part = actors(instance, step)[:1] if step.action in ANSWERS else actors(instance, step)
    if stage.frozen & set(taking_part) and step.action != CRASH:
        return Permission.NOT
    if step.action == SHRINK and not _is_requested(instance, stage, step):
        return Permission.NOT
    if step.action in FREE:
        return Permission.FREE
    if step.action == PREFER and not (stage.may_prefer or (stage.stopping and not has_kraft(instance))):
        return Permission.NOT
    if step.action == UNCLEAN and not stage.may_be_unclean:
        return Permission.NOT
    if step.action in (*REASSIGNMENTS, *CANCELLATIONS):
        target = step.ordinals[0] if step.action in REASSIGNMENTS else CANCEL
        if target not in stage.reassigning:
            return Permission.NOT
        elects = step.action in (REASSIGNMENTS[1], CANCELLATIONS[1])
        return Permission.ELECTION if elects else Permission.FREE
    if step.action in ELECTIONS:
        return Permission.ELECTION
    broker, line = step.ordinals[0] if step.ordinals else NOBODY, stage.line
    if step.action in SHUTDOWNS:
        return Permission.SHUTDOWN if broker in stage.stopping else Permission.NOT
    if step.action not in (CRASH, RESTART):
        return Permission.NOT
    if step.action == CRASH and broker in stage.stopping and not has_kraft(instance):
        return Permission.CLEAN_STOP
    wanted = {CRASH: FaultKind.KILL, RESTART: FaultKind.START}[step.action]
    if isinstance(line, Fault) and line.what is wanted and broker == stage.replica:
        return Permission.KILL if step.action == CRASH else Permission.START
    return Permission.NOT


def _is_requested(instance: Instance, stage: Stage, step: Step) -> bool:
    """Whether the leader's next recorded request leaves out the members that the leader drops in this step; true if not
    all requests are recorded. Before 2.8, the model's leaders change the ISR without a request; such a change may come
    after the line of the recorded request."""
    if stage.requested is None:
        return True
    leader, removed = step.ordinals
    requests = [stage.requested] if alters_partitions(instance) else [stage.requested, stage.requested_before]
    return any(leader in isr and not any(removed >> member & 1 for member in isr[leader]) for isr in requests)


def _stages(recording: Recording) -> tuple[Stage, ...]:
    stages = []
    away, incarnations = Away(), [0] * len(recording.brokers)
    newest = 0
    may_prefer = False
    may_be_unclean = bool(recording.header.unclean_election) or not recording.asks_unclean
    requested_before: dict[int, frozenset[int]] = {}
    requests = requests_in(recording.lines)
    numbers = [sum(1 << recording.replica(broker) for broker in request.target or ()) for request in requests]
    for position, line in enumerate(recording.lines):
        shown, epoch = next_leader(recording, position, newest)
        replica = recording.replica(line.broker) if isinstance(line, Fault) else NOBODY
        stages.append(
            Stage(
                line=line,
                replica=replica,
                down=frozenset(away.down),
                frozen=frozenset(away.frozen),
                stopping=frozenset(away.stopping),
                incarnations=tuple(incarnations),
                leader=NOBODY if shown is None or shown.leader is None else recording.replica(shown.leader),
                most_epoch=epoch,
                most_sent=_most_sent(recording, position),
                most_partition_epoch=_most_partition_epoch(recording, position, newest),
                may_prefer=may_prefer or not recording.header.has_all_requests,
                may_be_unclean=may_be_unclean,
                requested=_requested(recording, position),
                requested_before=dict(requested_before),
                reassigning=frozenset(numbers[at] for at, request in enumerate(requests) if request.is_open(position)),
            )
        )
        match line:
            case Fault():
                away.befall(line.what, replica)
                incarnations[replica] += line.what is FaultKind.START
            case ElectRequest():
                may_prefer |= not line.is_unclean
                may_be_unclean |= line.is_unclean
            case AlterRequest():
                requested_before[recording.replica(line.leader)] = frozenset(map(recording.replica, line.isr))
            case Metadata(leader_epoch=int(shown_epoch)):
                may_prefer &= shown_epoch - recording.first_epoch <= newest
                newest = max(newest, shown_epoch - recording.first_epoch)
    return tuple(stages)


def next_leader(recording: Recording, position: int, newest: int) -> tuple[Metadata | None, int]:
    """The next metadata line, from `position` on, that names a leader, and the line's leader epoch. If there is no such
    line: None, and the last epoch that can have begun.

    Lines about epochs before `newest` do not count.
    """
    for line in recording.lines[position:]:
        if isinstance(line, Metadata) and not line.is_before(newest + recording.first_epoch):
            newest = newest if line.leader_epoch is None else line.leader_epoch - recording.first_epoch
            if line.leader is not None:
                return line, newest
    return None, newest + elections_after_metadata(recording)


def _most_sent(recording: Recording, position: int) -> int:
    """The most records that can have been sent at this position: all before the record of the next `send` line."""
    for line in recording.lines[position:]:
        if isinstance(line, Sent):
            return recording.record(line.value)
    return len(recording.values)


def _requested(recording: Recording, position: int) -> dict[int, frozenset[int]] | None:
    """The ISR in the next request of each leader that later sends a request; None if not all requests are recorded."""
    if not recording.header.has_all_requests:
        return None
    requests: dict[int, frozenset[int]] = {}
    for line in recording.lines[position:]:
        if isinstance(line, AlterRequest):
            requests.setdefault(recording.replica(line.leader), frozenset(map(recording.replica, line.isr)))
    return requests


def _most_partition_epoch(recording: Recording, position: int, newest: int) -> int:
    """The latest partition epoch that can have begun at this position.

    This is the partition epoch of the next metadata line with a partition epoch, minus the number of changes that the
    metadata lines from the position up to that line show. Without such a line, `changes_required` replaces its epoch.
    """
    changes, before = 0, None
    for line in recording.lines[position:]:
        if not isinstance(line, Metadata) or line.is_before(newest + recording.first_epoch):
            continue
        if line.leader_epoch is not None:
            newest = line.leader_epoch - recording.first_epoch
        changes += before is not None and _differ(before, line)
        if line.partition_epoch is not None:
            return max(0, line.partition_epoch - changes)
        before = line
    return max(0, changes_required(recording) - changes)


def _differ(before: Metadata, line: Metadata) -> bool:
    has_replicas = None not in (before.replicas, line.replicas)
    return before.shown != line.shown or (before.replicas != line.replicas and has_replicas)


def changes_required(recording: Recording) -> int:
    """An upper bound on the number of changes of leader and ISR on a path that explains the recording.

    The partition epoch of a metadata line, if recorded, is the number of changes up to the line. Between lines without
    a partition epoch, each of these can be a change: a new leader epoch, a member that joins or leaves the ISR, a
    request that reassigns the partition, a death.
    """
    changes, requests, before = 0, 0, None
    for line in recording.lines:
        requests += isinstance(line, Reassignment)
        if not isinstance(line, Metadata):
            continue
        if line.partition_epoch is not None:
            changes = line.partition_epoch
        elif before is not None:
            changes += line.epochs_since(before) + len(line.isr ^ before.isr) + requests
        requests, before = 0, line
    shown = changes + (0 if before is None or before.partition_epoch is not None else deaths(recording))
    return shown + _changes(*_ending(recording))


def elections_required(recording: Recording) -> int:
    """An upper bound on the number of elections on a path that explains the recording. Without recorded epochs, one is
    counted for each change of the leader and for each death, because dead brokers leave the ISR."""
    shown, unseen = [line for _, line in recording.claims(Metadata)], elections_after_metadata(recording)
    if recording.has_epochs:
        return unseen + max(((line.leader_epoch or 0) - recording.first_epoch for line in shown), default=0)
    leaders = [line.leader for line in shown if line.leader is not None]
    return unseen + deaths(recording) + sum(leader != next_one for leader, next_one in pairwise(leaders))


def elections_after_metadata(recording: Recording) -> int:
    """How many elections may have followed the last metadata line, although no line shows them.

    There is no election as long as the leader of that line runs, no election is requested, and the partition is not
    reassigned.
    """
    metadata, later, away = _ending(recording)
    befallen = away | {line.broker for line in later if isinstance(line, Fault)}
    is_led = metadata is not None and metadata.leader is not None and metadata.leader not in befallen
    if is_led and not recording.first_replicas and not any(isinstance(line, ElectRequest) for line in later):
        return 0
    return _changes(metadata, later, away)


def _changes(metadata: Metadata | None, later: list[Line], away: set[int]) -> int:
    """How often leader and ISR may have changed after the last metadata line, although no line shows the changes.

    Each fault, each request, and each member of the ISR that was not running at that line may have led to a change.
    """
    return len(later) + len(metadata.isr & away if metadata else away)


def _ending(recording: Recording) -> tuple[Metadata | None, list[Line], set[int]]:
    """The last metadata line, the later lines that may have led to a change, and the brokers that were down, frozen or
    stopping at that metadata line."""
    last, metadata = max(recording.claims(Metadata), default=(-1, None), key=lambda claim: claim[0])
    away = Away()
    for position, line in recording.claims(Fault):
        if position <= last:
            away.befall(line.what, line.broker)
    later = [line for line in recording.lines[last + 1 :] if line.may_change_partition]
    return metadata, later, away.down | away.frozen | away.stopping


def deaths(recording: Recording) -> int:
    """The number of times that a broker is killed or shut down."""
    return sum(line.is_death for _, line in recording.claims(Fault))

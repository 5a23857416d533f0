"""The script of a recording: which steps of the model may occur between its lines.

In:  a recording, and the instance of the model.
Out: a `Script`: one stage before each line, with the steps that are possible in this stage.

Every fault is recorded; elections happen only if the recorded leaders require them; all other steps are always
possible.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
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
    Reassigned,
    Reassignment,
    Sent,
)
from isrcheck.conformance.follow.recorded.reassigning import Target, requests_in
from isrcheck.conformance.follow.recorded.recording import Recording
from isrcheck.models.kafka.state.fields import AlteringReplica, KraftReplica, Replica
from isrcheck.models.kafka.state.values import Controller, IsrChannel
from isrcheck.models.language.model import Instance, Step

FREE = (
    *("producer_appends", "producer_is_refused", "send_is_lost", "answer_is_lost", "producer_retries"),
    *("leader_handles_fetch", "leader_answers_parked_fetch", "leader_shrinks_isr", "follower_falls_behind"),
    *("follower_reconciles", "follower_applies_response", "response_is_lost"),
    *("follower_is_out_of_range", "follower_starts_over"),
    *("broker_becomes_leader", "broker_becomes_follower", "controller_removes_dead_follower"),
    *("controller_handles_alter_partition", "leader_hears_answer", "answer_to_leader_is_lost"),
    *("follower_takes_high_watermark_first", "follower_truncates", "broker_applies_metadata"),
    *("controller_fences_broker", "controller_unfences_broker"),
)
"""Actions that are not recorded, and always possible. (A follower that halts is a fault: rules.py.)"""

ELECTIONS = (
    *("controller_fails_over", "controller_elects_preferred", "controller_elects_unclean"),
    *("controller_fences_leader", "controller_fences_last_leader", "controller_completes_reassignment"),
)
REASSIGNMENTS = ("controller_begins_reassignment", "controller_reassigns_without_leader")
CANCELLATIONS = ("controller_cancels_reassignment", "controller_cancels_without_leader")
"""What the controller does when an operator asks for it; the second ones elect another leader."""

SHUTDOWNS = (
    *("broker_asks_to_shut_down", "leader_asks_to_shut_down", "last_leader_asks_to_shut_down"),
    "broker_shuts_down",
)
"""The steps of a controlled shutdown with KRaft. Before, a broker that shuts down in order is one that crashes."""

SHRINK, PREFER, UNCLEAN = "leader_shrinks_isr", "controller_elects_preferred", "controller_elects_unclean"
CRASH, RESTART, SEND_AGAIN = "broker_crashes", "broker_restarts", "producer_retries"

ANSWERS = ("leader_handles_fetch", "leader_answers_parked_fetch")
"""Actions of a leader to which the follower contributes only a fetch that is on its way."""

NEVER = (
    *("broker_bounces", "broker_loses_power", "broker_loses_disk"),
    *("leader_deletes_records", "producer_appends_in_transaction"),
    *("coordinator_commits", "coordinator_aborts", "leader_appends_marker"),
    *("request_fails", "producer_resends", "producer_begins_new_epoch", "broker_saves_producer_state"),
    *("producer_begins_from_zero", "leader_mistakes_request"),
    *("consumer_fetches", "consumer_follows_new_leader", "consumer_is_out_of_range"),
    *("consumer_finds_nothing", "consumer_is_sent_to_follower", "consumer_returns_to_leader"),
    *("operator_changes_min_insync_replicas", "broker_reads_configuration", "operator_deletes_replica_folder"),
    *("controller_unregisters_broker", "broker_reports_directory"),
    *("broker_drops_metadata", "leader_answers_deletion"),
    *("leader_admits_fetch", "leader_counts_fetch"),
    *("follower_checks_diverging_answer", "follower_truncates_as_noted"),
    *("broker_crashes_while_it_fetches", "broker_loses_disk_while_it_fetches"),
    *("leader_handles_late_fetch", "late_fetch_is_lost"),
)
"""Actions that never happen: faults that recordings cannot contain, requests that no client sends, and what needs
switches that are off in every generation."""

BROKERS = (Replica, AlteringReplica, KraftReplica)
"""The domains of parameters that are brokers."""

CHANGING = (Fault, ElectRequest, AlterRequest, Reassignment)
"""Lines after which the controller may change leader or ISR."""

NOBODY = -1
"""No replica."""

CANCEL = 0
"""In the place of a set of replicas: the reassignment is cancelled."""


class Permission(IntEnum):
    """Whether and how a step can be taken before a line."""

    NOT = 0
    FREE = 1
    ELECTION = 2
    KILL = 3
    START = 4
    CLEAN_STOP = 5
    SHUTDOWN = 6


class Passing(IntEnum):
    """When a path passes a line."""

    AT_ONCE = 0
    """As soon as it is true: every step that is possible before it is possible after it, so waiting gains nothing."""

    AT_ANY_TIME = 1
    """A broker freezes, or a request is answered: fewer steps are possible after the line than before it."""

    BY_A_STEP = 2
    """A broker is killed or started, which is a step of the model."""


@dataclass(frozen=True)
class Stage:
    """The situation before a line. Brokers are replica numbers.

    `stopping`: brokers that are shut down or shutting down. `incarnations` counts the starts of each broker. `leader`
    is the leader in the next metadata line that names one (except lines about past epochs), or NOBODY; `most_epoch` is
    its epoch, or the last epoch that can have begun. `most_sent` is the largest number of records that can have
    been sent, `most_partition_epoch` the latest partition epoch that can have begun. `may_prefer`: a preferred election
    can happen, also without a shutdown. `may_be_unclean`: an unclean election can happen. `requested` is the ISR in the
    next request of each leader that sends one, None if not all requests are recorded; `requested_before` is the one in
    its last request. `reassigning` are the sets of replicas, as numbers, that an operator asks for, or CANCEL.
    """

    line: Line
    passing: Passing
    down: frozenset[int]
    frozen: frozenset[int]
    stopping: frozenset[int]
    incarnations: tuple[int, ...]
    leader: int
    most_epoch: int
    most_sent: int
    most_partition_epoch: int
    may_prefer: bool
    may_be_unclean: bool
    requested: Mapping[int, frozenset[int]] | None
    requested_before: Mapping[int, frozenset[int]]
    reassigning: frozenset[int]


class Script:
    """The stages of a recording, and a table that says for each step and stage whether and how the step is possible."""

    def __init__(self, recording: Recording, instance: Instance) -> None:
        self.recording = recording
        self.instance = instance
        self.stages = tuple(_stages(recording))
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


def alters_partitions(instance: Instance) -> bool:
    """Whether leaders change the ISR by requests to the controller, so that partition epochs count the changes."""
    return bool(instance.configuration.ISR_CHANNEL == IsrChannel.ALTER_PARTITION)


def has_kraft(instance: Instance) -> bool:
    """Whether the controller is a KRaft quorum."""
    return bool(instance.configuration.CONTROLLER == Controller.KRAFT)


def actors(instance: Instance, step: Step) -> list[int]:
    """The brokers that take part in a step, the acting one first.

    A broker that the controller elects or drops, or that a leader drops from the ISR, does not take
    part.
    """
    if step.action.startswith("controller_"):
        return []
    ranges = instance.argument_ranges[step.action_index]
    return [
        ordinal
        for one, ordinal in zip(ranges, step.ordinals, strict=True)
        if one.parameter.domain in BROKERS and one.parameter.name != "elected"
    ]


def permission(instance: Instance, stage: Stage, step: Step) -> Permission:
    """Whether and how a step can be taken before the line of this stage.

    A frozen broker takes part in no step, but a leader answers the fetch that a follower sent before it froze. What a
    leader sent before it froze does not arrive while it is frozen; no verdict on the existing recordings depends on it.
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
    if isinstance(line, Fault) and line.what is wanted and broker == _replica_of(stage):
        return Permission.KILL if step.action == CRASH else Permission.START
    return Permission.NOT


def _is_requested(instance: Instance, stage: Stage, step: Step) -> bool:
    """Whether the leader's next request leaves out the members that it drops in this step.

    Before 2.8 there is no request, and the change that stands for it can come after its line.
    """
    if stage.requested is None:
        return True
    leader, removed = step.ordinals
    requests = [stage.requested] if alters_partitions(instance) else [stage.requested, stage.requested_before]
    return any(leader in isr and not any(removed >> member & 1 for member in isr[leader]) for isr in requests)


def _replica_of(stage: Stage) -> int:
    assert isinstance(stage, FaultStage)
    return stage.replica


@dataclass(frozen=True)
class FaultStage(Stage):
    """The situation before a fault; `replica` is the broker with the fault."""

    replica: int


PASSING = {FaultKind.KILL: Passing.BY_A_STEP, FaultKind.START: Passing.BY_A_STEP, FaultKind.FREEZE: Passing.AT_ANY_TIME}


def _stages(recording: Recording) -> Iterator[Stage]:
    down: set[int] = set()
    frozen: set[int] = set()
    stopping: set[int] = set()
    incarnations = [0] * len(recording.brokers)
    newest = 0
    may_prefer = False
    may_be_unclean = bool(recording.unclean_election) or not recording.asks_unclean
    requested_before: dict[int, frozenset[int]] = {}
    requests = requests_in(recording.lines)
    for position, line in enumerate(recording.lines):
        target, epoch = next_leader(recording, position, newest)
        leader = NOBODY if target is None or target.leader is None else recording.replica(target.leader)
        situation = (
            *(frozenset(down), frozenset(frozen), frozenset(stopping), tuple(incarnations)),
            *(leader, epoch, _most_sent(recording, position), _most_partition_epoch(recording, position, newest)),
            *(may_prefer or not recording.has_all_requests, may_be_unclean, _requested(recording, position)),
            dict(requested_before),
            frozenset(_number_of(recording, one.target) for one in requests if one.is_open(position)),
        )
        if isinstance(line, Fault):
            replica = recording.replica(line.broker)
            yield FaultStage(line, PASSING.get(line.what, Passing.AT_ONCE), *situation, replica)
            _befall(line.what, replica, down, frozen, stopping)
            incarnations[replica] += line.what is FaultKind.START
        else:
            is_last_chance = isinstance(line, Reassigned) and not line.is_refused
            yield Stage(line, Passing.AT_ANY_TIME if is_last_chance else Passing.AT_ONCE, *situation)
        if isinstance(line, ElectRequest):
            may_prefer |= not line.is_unclean
            may_be_unclean |= line.is_unclean
        if isinstance(line, AlterRequest):
            requested_before[recording.replica(line.leader)] = frozenset(map(recording.replica, line.isr))
        if isinstance(line, Metadata) and line.leader_epoch is not None:
            may_prefer &= line.leader_epoch - recording.first_epoch <= newest
            newest = max(newest, line.leader_epoch - recording.first_epoch)


def _number_of(recording: Recording, target: Target) -> int:
    """The number of a set of replicas; CANCEL for None."""
    return CANCEL if target is None else sum(1 << recording.replica(broker) for broker in target)


def _befall(what: FaultKind, replica: int, down: set[int], frozen: set[int], stopping: set[int]) -> None:
    if what is not FaultKind.CUT:
        frozen.discard(replica)
    if what is FaultKind.FREEZE:
        frozen.add(replica)
    elif what is FaultKind.KILL:
        down.add(replica)
    elif what is FaultKind.STOP:
        stopping.add(replica)
    elif what is FaultKind.START:
        down.discard(replica)
        stopping.discard(replica)


def next_leader(recording: Recording, position: int, newest: int) -> tuple[Metadata | None, int]:
    """The next metadata line that names a leader, and its epoch; lines about epochs before `newest` do not count.

    `position` is the first line to look at. If there is no such line: None, and the last epoch that can have begun.
    """
    for line in recording.lines[position:]:
        if isinstance(line, Metadata) and not is_old(recording, line, newest):
            newest = newest if line.leader_epoch is None else line.leader_epoch - recording.first_epoch
            if line.leader is not None:
                return line, newest
    return None, newest + elections_after_metadata(recording)


def is_old(recording: Recording, line: Metadata, newest: int) -> bool:
    """Whether the line shows an epoch before `newest`, because the answering broker had not received the later ones."""
    return line.leader_epoch is not None and line.leader_epoch - recording.first_epoch < newest


def _most_sent(recording: Recording, position: int) -> int:
    """The number of records that can have been sent at this position: those before the next `send` line."""
    for line in recording.lines[position:]:
        if isinstance(line, Sent):
            return recording.record(line.value)
    return len(recording.values)


def _requested(recording: Recording, position: int) -> dict[int, frozenset[int]] | None:
    """For each leader that sends a request from this position on, the ISR in the first of them."""
    if not recording.has_all_requests:
        return None
    found: dict[int, frozenset[int]] = {}
    for line in recording.lines[position:]:
        if isinstance(line, AlterRequest):
            found.setdefault(recording.replica(line.leader), frozenset(map(recording.replica, line.isr)))
    return found


def _most_partition_epoch(recording: Recording, position: int, newest: int) -> int:
    """The latest partition epoch that can have begun at this position.

    It is that of the next metadata line that has one, less the changes between the metadata lines before it.
    """
    changes, before = 0, None
    for line in recording.lines[position:]:
        if not isinstance(line, Metadata) or is_old(recording, line, newest):
            continue
        if line.leader_epoch is not None:
            newest = line.leader_epoch - recording.first_epoch
        changes += before is not None and _differ(before, line)
        if line.partition_epoch is not None:
            return max(0, line.partition_epoch - changes)
        before = line
    return max(0, changes_required(recording) - changes)


def _differ(before: Metadata, line: Metadata) -> bool:
    """Whether there is a change between two metadata lines."""
    shown = [(one.leader, one.leader_epoch, one.isr) for one in (before, line)]
    return shown[0] != shown[1] or (before.replicas != line.replicas and None not in (before.replicas, line.replicas))


def changes_required(recording: Recording) -> int:
    """An upper bound on the number of changes of leader and ISR on a path that explains the recording.

    Where metadata lines have a partition epoch, they count the changes. From one line without to the next, each new
    leader epoch and each member that joins or leaves the ISR can be a change, and so can each request that reassigns
    the partition; and so can each death.
    """
    found, asked, before = 0, 0, None
    for line in recording.lines:
        asked += isinstance(line, Reassignment)
        if not isinstance(line, Metadata):
            continue
        if line.partition_epoch is not None:
            found = line.partition_epoch
        elif before is not None:
            epochs = max(0, (line.leader_epoch or 0) - (before.leader_epoch or 0))
            found += epochs + len(line.isr ^ before.isr) + asked
        asked, before = 0, line
    told = found + (0 if before is None or before.partition_epoch is not None else deaths(recording))
    return told + changes_after_metadata(recording)


def elections_required(recording: Recording) -> int:
    """An upper bound on the number of elections on a path that explains the recording.

    Without recorded epochs: one per change of the leader, and one per death, because dead brokers leave the ISR.
    """
    told = [line for _, line in recording.claims(Metadata)]
    if recording.has_epochs:
        most = max((line.leader_epoch or 0) - recording.first_epoch for line in told) if told else 0
        return most + elections_after_metadata(recording)
    leaders = [line.leader for line in told if line.leader is not None]
    changes = sum(one != other for one, other in pairwise(leaders))
    return changes + deaths(recording) + elections_after_metadata(recording)


def changes_after_metadata(recording: Recording) -> int:
    """How often leader and ISR may have changed after the last metadata line, where nothing shows it.

    Each fault and each request may have led to a change, and so may each member of the ISR that did not run before.
    """
    return _changes(*_ending(recording))


def elections_after_metadata(recording: Recording) -> int:
    """How many elections may have followed the last metadata line, where nothing shows them.

    There is none as long as its leader runs, nobody asks for an election, and the partition is not reassigned.
    """
    metadata, later, away = _ending(recording)
    befallen = away | {line.broker for line in later if isinstance(line, Fault)}
    is_led = metadata is not None and metadata.leader is not None and metadata.leader not in befallen
    if is_led and not recording.first_replicas and not any(isinstance(line, ElectRequest) for line in later):
        return 0
    return _changes(metadata, later, away)


def _changes(metadata: Metadata | None, later: list[Line], away: set[int]) -> int:
    return len(later) + len(metadata.isr & away if metadata else away)


def _ending(recording: Recording) -> tuple[Metadata | None, list[Line], set[int]]:
    """The last metadata line, the lines after it that may have led to a change, and the brokers that were away then."""
    down: set[int] = set()
    frozen: set[int] = set()
    stopping: set[int] = set()
    lines = recording.lines
    last = max((at for at, line in enumerate(lines) if isinstance(line, Metadata)), default=-1)
    for line in lines[: last + 1]:
        if isinstance(line, Fault):
            _befall(line.what, line.broker, down, frozen, stopping)
    metadata = lines[last] if last >= 0 else None
    assert metadata is None or isinstance(metadata, Metadata)
    return metadata, [line for line in lines[last + 1 :] if isinstance(line, CHANGING)], down | frozen | stopping


def deaths(recording: Recording) -> int:
    """The number of times that a broker is killed or shut down."""
    return sum(line.what in (FaultKind.KILL, FaultKind.STOP) for _, line in recording.claims(Fault))

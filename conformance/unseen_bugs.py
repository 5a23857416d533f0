"""Says which seeded bugs of the executable systems a configuration cannot show, and why.

A bug is a mistake at one place of a system. It cannot be seen if the configuration, or the direction of the comparison
(replay or follow), never leads to that place, or if the model allows its effect. Other bugs are seen only by chance.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from isrcheck.conformance.cluster.configuration.bugs import AnyBug, Bug, CoordinatorBug, TransactionBug
from isrcheck.conformance.implemented import BUGS
from isrcheck.models.client_settings import Acks
from isrcheck.models.kafka.state.values import BrokerStateCheck, Controller, IsolationLevel, IsrChannel, Truncation
from isrcheck.traces.lanes.table import wrapped


@dataclass(frozen=True)
class Need:
    """A condition that a configuration must meet so that a bug can show: in words, and as a test of a configuration."""

    what: str
    is_met: Callable[[Any], bool]


ALL_ACKS = Need("acks=all", lambda has: has.acks == Acks.ALL)
MIN_ISR = Need("min_insync_replicas of 2 or more", lambda has: has.min_insync_replicas > 1)
ELECTIONS = Need("elections", lambda has: has.elections > 0)
TWO_ELECTIONS = Need("two elections", lambda has: has.elections > 1)
RESTARTS = Need("crashes or bounces", lambda has: has.crashes + has.bounces > 0)
EPOCHS = Need("leader epochs of records (0.11 or later)", lambda has: has.TRUNC >= Truncation.KIP101)
ASKS_FOR_EPOCHS = Need(
    "followers that ask where epochs end (0.11 to 2.4)", lambda has: Truncation.HW < has.TRUNC < Truncation.ON_FETCH
)
FENCED_FETCHES = Need("fetches with leader epochs (2.1 or later)", lambda has: has.TRUNC >= Truncation.KIP320)
ON_FETCH = Need("truncation on fetch (2.8 or later)", lambda has: has.TRUNC == Truncation.ON_FETCH)
EPOCH_START = Need("EXPAND_EPOCH_START=on (2.1 or later)", lambda has: has.EXPAND_EPOCH_START)
ISR_ASKED_FOR = Need(
    "leaders that ask the controller for the ISR (2.8 or later)",
    lambda has: has.ISR_CHANNEL == IsrChannel.ALTER_PARTITION,
)
KRAFT = Need("a KRaft controller (3.3 or later)", lambda has: has.CONTROLLER == Controller.KRAFT)
STATES_CHECKED = Need(
    "BROKER_STATE_CHECK=FENCED (3.3 or later)", lambda has: has.BROKER_STATE_CHECK >= BrokerStateCheck.FENCED
)
BROKER_EPOCHS_CHECKED = Need(
    "BROKER_STATE_CHECK=BROKER_EPOCH (3.5 or later)",
    lambda has: has.BROKER_STATE_CHECK == BrokerStateCheck.BROKER_EPOCH,
)
REASSIGNMENTS = Need("reassignments (3.3 or later)", lambda has: has.reassignments > 0)
MIN_ISR_CHANGES = Need("min_isr_changes (3.3 or later)", lambda has: has.min_isr_changes > 0)
GATE = Need("HW_MINISR_GATE=on (3.7 or later)", lambda has: has.HW_MINISR_GATE)
ELIGIBLE_REPLICAS = Need("eligible leader replicas: ELR=on (4.1)", lambda has: has.ELR)
IDEMPOTENT = Need("an idempotent producer (--set enable_idempotence=on)", lambda has: has.enable_idempotence)
RETRIES = Need("retries", lambda has: has.retries > 0)
SEVERAL_BATCHES = Need("remembered_batches of 2 or more", lambda has: has.remembered_batches > 1)
SNAPSHOTS = Need("producer_snapshots", lambda has: has.producer_snapshots > 0)
NEW_EPOCHS = Need("CLIENT_BUMPS_EPOCH=on", lambda has: has.CLIENT_BUMPS_EPOCH)
TRANSACTIONS = Need("transactions", lambda has: has.transactions > 0)
NUMBERED = Need("an idempotent producer or transactions", lambda has: has.enable_idempotence or has.transactions > 0)
CONSUMERS = Need("consumers", lambda has: has.consumers > 0)
FROM_FOLLOWERS = Need("follower_fetching=on", lambda has: has.follower_fetching)
COMMITTED_READS = Need(
    "isolation_level=read_committed", lambda has: has.isolation_level == IsolationLevel.READ_COMMITTED
)
VERIFIED = Need("TXN_VERIFY", lambda has: has.TXN_VERIFY > 0)
PER_EPOCH = Need("ONGOING_PER_EPOCH=on (4.0 or later)", lambda has: has.ONGOING_PER_EPOCH)
KEPT_ALIVE = Need("PRODUCER_STATE_EXPIRES_EARLY=off (2.5 or later)", lambda has: not has.PRODUCER_STATE_EXPIRES_EARLY)
EQUAL_IS_RETRY = Need("EQUAL_MARKER_EPOCH_IS_RETRY=on (4.2)", lambda has: has.EQUAL_MARKER_EPOCH_IS_RETRY)
FAILOVERS = Need("failovers", lambda has: has.failovers > 0)
LATE_MARKERS = Need("late_markers", lambda has: has.late_markers > 0)
LISTENS_AS_FOLLOWER = Need("LISTENS_AS_FOLLOWER=on (4.0 to 4.3)", lambda has: has.LISTENS_AS_FOLLOWER)
FAILED_FLUSHES = Need(
    "elections or FLUSHES_EMPTY_BATCH=on (4.2 and 4.3)", lambda has: has.elections > 0 or has.FLUSHES_EMPTY_BATCH
)
SEVERAL_WRITES = Need("two writes", lambda has: has.writes > 1)
PARTITIONS = Need("two partitions", lambda has: has.partitions > 1)

NEEDS: Mapping[AnyBug, tuple[Need, ...]] = {
    Bug.ACK_BEFORE_ISR: (ALL_ACKS,),
    Bug.TRUNCATION_TO_WRONG_EPOCH_END: (EPOCHS,),
    Bug.EXPANSION_WITHOUT_EPOCH_START: (EPOCH_START,),
    Bug.EPOCH_CACHE_NOT_TRUNCATED: (EPOCHS,),
    Bug.STALE_FETCHES_COUNTED: (FENCED_FETCHES, ELECTIONS),
    Bug.MIN_ISR_NOT_CHECKED: (ALL_ACKS, MIN_ISR),
    Bug.FETCHER_NOT_CLEARED: (ELECTIONS,),
    Bug.CHECKPOINT_AHEAD: (RESTARTS,),
    Bug.REMOTE_OFFSETS_NOT_RESET: (ELECTIONS,),
    Bug.DUPLICATE_APPENDED: (IDEMPOTENT, RETRIES),
    Bug.DUPLICATE_WINDOW_OF_ONE: (IDEMPOTENT, RETRIES, SEVERAL_BATCHES),
    Bug.OUT_OF_ORDER_ACCEPTED: (IDEMPOTENT,),
    Bug.SNAPSHOT_NOT_TRUNCATED: (IDEMPOTENT, SNAPSHOTS),
    Bug.EPOCH_NOT_RENUMBERED: (IDEMPOTENT, NEW_EPOCHS),
    Bug.FOLLOWER_SHOWS_LOG_END: (CONSUMERS, FROM_FOLLOWERS),
    Bug.LAG_BY_HIGH_WATERMARK: (CONSUMERS, COMMITTED_READS, TRANSACTIONS),
    Bug.POSITION_NOT_VALIDATED: (CONSUMERS,),
    Bug.ISR_WRITE_UNCONDITIONAL: (ELECTIONS,),
    Bug.STALE_METADATA_APPLIED: (TWO_ELECTIONS,),
    Bug.STALE_EPOCH_ANSWER_APPLIED: (ASKS_FOR_EPOCHS,),
    Bug.OPEN_TRANSACTION_READ: (TRANSACTIONS,),
    Bug.ABORT_NOT_INDEXED: (TRANSACTIONS,),
    Bug.PRODUCERS_NOT_REPLICATED: (NUMBERED,),
    Bug.ISR_NOT_MAXIMAL: (ISR_ASKED_FOR,),
    Bug.STALE_ALTER_ISR_ANSWER_APPLIED: (ISR_ASKED_FOR,),
    Bug.SECOND_ALTER_ISR_SENT: (ISR_ASKED_FOR,),
    Bug.DIVERGING_FETCH_COUNTS: (ON_FETCH,),
    Bug.DIVERGENCE_NOT_SEEN: (ON_FETCH,),
    Bug.TRUNCATES_TO_ANSWERED_OFFSET: (ON_FETCH,),
    Bug.FENCED_BROKER_ELIGIBLE: (STATES_CHECKED,),
    Bug.BROKER_EPOCH_NOT_COMPARED: (BROKER_EPOCHS_CHECKED,),
    Bug.PARTITION_EPOCH_NOT_COMPARED: (KRAFT,),
    Bug.INELIGIBLE_CHANGE_KEPT: (STATES_CHECKED,),
    Bug.HIGH_WATERMARK_GATE_MISSING: (GATE, MIN_ISR),
    Bug.UNCLEAN_BROKER_KEEPS_ELIGIBILITY: (ELIGIBLE_REPLICAS,),
    Bug.LAST_KNOWN_LEADER_TOO_EARLY: (ELIGIBLE_REPLICAS,),
    Bug.REMOVAL_KEEPS_LEADER_EPOCH: (REASSIGNMENTS,),
    Bug.OLD_RECORD_APPLIED: (KRAFT,),
    Bug.MIN_ISR_OF_ALL_BROKERS: (REASSIGNMENTS, MIN_ISR),
    Bug.REASSIGNMENT_COMPLETES_EARLY: (REASSIGNMENTS,),
    Bug.CANCEL_KEEPS_ISR: (REASSIGNMENTS,),
    Bug.STRANGER_ELECTED: (REASSIGNMENTS, ELIGIBLE_REPLICAS),
    Bug.REMOVED_REPLICA_KEEPS_LOG: (REASSIGNMENTS,),
    Bug.STRANGER_COUNTED: (REASSIGNMENTS,),
    Bug.NEW_MINIMUM_KEEPS_ELR: (MIN_ISR_CHANGES, ELIGIBLE_REPLICAS),
    Bug.NEW_MINIMUM_NOT_READ: (MIN_ISR_CHANGES,),
    TransactionBug.OLD_COORDINATOR_NOT_FENCED: (FAILOVERS, LATE_MARKERS),
    TransactionBug.GUARD_SURVIVES_MARKER: (VERIFIED,),
    TransactionBug.RECORD_NOT_VERIFIED: (VERIFIED,),
    TransactionBug.ONGOING_OF_ANY_EPOCH: (PER_EPOCH,),
    TransactionBug.MARKER_KEEPS_NO_STATE: (KEPT_ALIVE,),
    TransactionBug.RETRIED_MARKER_REFUSED: (EQUAL_IS_RETRY,),
    TransactionBug.MARKERS_NOT_RESUMED: (FAILOVERS,),
    TransactionBug.COORDINATOR_EPOCH_KEPT: (FAILOVERS,),
    TransactionBug.COMPLETE_AFTER_FIRST_MARKER: (PARTITIONS,),
    CoordinatorBug.ANSWERED_ONE_RECORD_EARLY: (SEVERAL_WRITES,),
    CoordinatorBug.BEYOND_WRITTEN_ACCEPTED: (LISTENS_AS_FOLLOWER, ELECTIONS, SEVERAL_WRITES),
    CoordinatorBug.FAILED_FLUSH_KEEPS_STATE: (FAILED_FLUSHES,),
    CoordinatorBug.OUT_OF_SYNC_NOT_NOTICED: (TWO_ELECTIONS, SEVERAL_WRITES),
    CoordinatorBug.UNLOADING_FORGETS_WRITES: (ELECTIONS,),
    CoordinatorBug.LOADED_TO_HIGH_WATERMARK: (ELECTIONS,),
    CoordinatorBug.FOLLOWER_NOT_UNLOADED: (ELECTIONS,),
    CoordinatorBug.EPOCH_KEPT_BY_ACTIVE: (TWO_ELECTIONS,),
}
"""What a bug needs to show. A bug without an entry can show in every configuration."""

OF_ADMINISTRATORS: Mapping[AnyBug, str] = dict.fromkeys(
    (
        Bug.MIN_ISR_OF_ALL_BROKERS,
        Bug.NEW_MINIMUM_KEEPS_ELR,
        Bug.NEW_MINIMUM_NOT_READ,
        Bug.REASSIGNMENT_COMPLETES_EARLY,
        Bug.CANCEL_KEEPS_ISR,
        Bug.STRANGER_ELECTED,
        Bug.REMOVED_REPLICA_KEEPS_LOG,
        Bug.STRANGER_COUNTED,
    ),
    "a recorded run has neither reassignments nor changes of min.insync.replicas",
)
"""Bugs in the handling of administrators' requests."""

NEVER_IN_REPLAY: Mapping[AnyBug, str] = {
    **dict.fromkeys(
        (Bug.STALE_FETCHES_COUNTED, Bug.STRANGER_COUNTED, Bug.STRANGER_ELECTED),
        "the model takes no step for a request that is refused, so no trace asks the cluster to refuse one",
    ),
    Bug.STALE_METADATA_APPLIED: (
        "the model takes no step for an announcement that is ignored, so no trace delivers an old one"
    ),
    Bug.STALE_EPOCH_ANSWER_APPLIED: (
        "a question about epochs and its answer are one step of the model, so that no answer comes late"
    ),
    Bug.ZOMBIE_NOT_FENCED: "each producer of the model has one instance",
}
"""Bugs that a driver cannot bring about if it only takes the model's steps."""

NEVER_IN_RUNS: Mapping[AnyBug, str] = {
    **OF_ADMINISTRATORS,
    Bug.LAG_BY_HIGH_WATERMARK: "it is made for a reader of an open transaction, and a run has no transactions",
    Bug.STALE_EPOCH_ANSWER_APPLIED: (
        "a question about epochs and its answer are one event, at the model's level of atomicity: no answer is ever"
        " stale"
    ),
    Bug.OPEN_TRANSACTION_READ: "it is made for a reader of an open transaction, and a run has no transactions",
    Bug.ZOMBIE_NOT_FENCED: (
        "it is made for a request of an older producer epoch, and in a run no request arrives after its producer has"
        " begun a new one"
    ),
    Bug.ABORT_NOT_INDEXED: "it is made for a reader of an aborted transaction, and a run has no transactions",
}
"""Bugs that never take effect in a recorded run: its log is the same with them."""

ALLOWED_IN_RUNS: Mapping[AnyBug, str] = {
    Bug.ISR_KEEPS_DEAD_FOLLOWER: (
        "the model has no clock, so its leader may drop or keep a follower that lags. What the bug takes away is"
        " progress, and following asks only whether what happened may happen"
    ),
    TransactionBug.MARKERS_NOT_RESUMED: (
        "a coordinator of the model may wait before it sends a marker. What the bug takes away is progress, and"
        " following asks only whether what happened may happen"
    ),
}
"""Bugs that the model allows: the log of a run differs, and is followed."""


def unmet(bug: AnyBug, configuration: Any) -> Need | None:
    """The first condition of a bug that this configuration does not meet; None if it meets all the bug's conditions."""
    return next((need for need in NEEDS.get(bug, ()) if not need.is_met(configuration)), None)


def told(model: str, configuration: Any, never: Mapping[AnyBug, str], direction: str) -> list[str]:
    """Lines that list the bugs that cannot show, by reason: an unmet need, or "never in `direction`" if in `never`."""
    bugs: list[AnyBug] = list(BUGS[model])
    by_reason: dict[str, list[AnyBug]] = {}
    for bug in bugs:
        need = unmet(bug, configuration)
        if bug in never:
            by_reason.setdefault(f"never in {direction}", []).append(bug)
        elif need is not None:
            by_reason.setdefault(f"without {need.what}", []).append(bug)
    count = sum(map(len, by_reason.values()))
    if not count:
        return []
    lines = [f"{count} of {len(bugs)} seeded bugs (--bug) cannot show here:"]
    for reason, hidden in by_reason.items():
        lines += wrapped(f"{reason}: {', '.join(bug.name.lower() for bug in hidden)}", "  ")
    return lines

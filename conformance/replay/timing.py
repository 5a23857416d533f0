"""Computes when time has to pass, and which checkpoints brokers have to write, so that a cluster can follow a trace.

In:  a trace of `kafka`. In the model, any follower may be slow, and any older high watermark may be checkpointed.
Out: `Timing`: when followers must become slow, and when checkpoints must be written. Or UntimelyError: no timing makes
     a cluster follow the trace.

A leader drops from its ISR the followers that did not catch up within replica.lag.time.max.ms (section 4.1 of the fact
sheet; Partition.getOutOfSyncReplicas, Replica.updateFetchState). So a shrink that drops some followers and keeps others
needs a pause after each dropped follower last caught up, and before each kept follower last caught up. In 0.8 a leader
drops, in one step, all followers that lag by too many messages. A checkpoint is a high watermark that a broker had
since its last start. A transactional or idempotent producer waits while too many of its requests are unanswered.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from isrcheck.conformance.implemented import UntimelyError
from isrcheck.conformance.replay import kraft_timing as kraft
from isrcheck.conformance.replay.kraft_timing import (
    CRASH_WHILE_FETCHING,
    LATE_FETCH,
    STOP,
    KraftTiming,
    kraft_timing_of,
)
from isrcheck.conformance.replay.projection import has_kraft
from isrcheck.models.kafka.state.values import Fetch, ShrinkRule
from isrcheck.models.language import NONE
from isrcheck.models.language.model import Step
from isrcheck.models.run import State
from isrcheck.traces.format.trace import Trace

RESTARTS = ("broker_restarts", "broker_bounces")
SHRINK = "leader_shrinks_isr"
SEND_IN_TRANSACTION = "producer_appends_in_transaction"
SEND_AGAIN_TO = ("producer_resends", "leader_mistakes_request")
NUMBER_ANEW = ("producer_begins_new_epoch", "producer_begins_from_zero")
SEND_AGAIN = (*SEND_AGAIN_TO, *NUMBER_ANEW)
SENDS = ("producer_appends", "producer_is_refused", *SEND_AGAIN)
LOSES_DISK = ("broker_loses_disk", CRASH_WHILE_FETCHING[1])
TIMED = (*RESTARTS, SHRINK, SEND_IN_TRANSACTION, *SENDS, *kraft.TIMED)
"""The actions whose steps a cluster can take only with suitable timing."""


AT_THE_START = -1
"""The position before the first state, at which the last fetches of slow followers were."""


@dataclass(frozen=True)
class Timing:
    """When the driver has to act; a position is the number of a state in the trace (0: the first).

    `pauses`: the positions after which time passes until every follower is slow. `checkpoints`: pairs of a position and
    a broker that then writes its high watermark to its checkpoint file. `checkpointed`: by broker, the high watermark
    in its checkpoint file at the start, if a restart needs it. `slow`: the followers whose last fetches were long
    before the start. `kraft`: the additional timing of a cluster with KRaft.
    """

    pauses: frozenset[int]
    checkpoints: frozenset[tuple[int, int]]
    checkpointed: Mapping[int, int]
    slow: frozenset[int]
    kraft: KraftTiming


class _SlowFromTheStartError(UntimelyError):
    """Raised if a shrink of the ISR needs the followers `brokers` to be slow from the first state on."""

    def __init__(self, brokers: frozenset[int], message: str) -> None:
        super().__init__(message)
        self.brokers = brokers


@dataclass
class _Fetches:
    """What a leader knows of a follower: the positions in the trace when it last caught up and last fetched, and the
    leader's log end at that fetch."""

    caught_up: int = 0
    fetched: int = 0
    end_at_fetch: int = 0


@dataclass(frozen=True)
class _Shrink:
    """A step of the trace, at `position`, that shrinks the ISR. The replay must pause after at least one state in
    `slow`, and after no state in `kept`. `removed`: the dropped followers that have not caught up since the start."""

    position: int
    slow: range
    kept: range
    removed: frozenset[int]


def timing_of(trace: Trace) -> Timing:
    """The timing that a cluster needs to follow this trace. Raises UntimelyError if no timing fits."""
    states = [State(trace.instance, cells) for cells in trace.states]
    slow: frozenset[int] = frozenset()
    while True:
        try:
            return _timing_with(trace, states, slow)
        except _SlowFromTheStartError as found:
            if found.brokers <= slow:
                raise
            slow |= found.brokers


def _timing_with(trace: Trace, states: Sequence[State], slow: frozenset[int]) -> Timing:
    """The timing of this trace, given that the followers `slow` last fetched long before the first state."""
    _must_not_have_to_wait(trace, states)
    if trace.instance.configuration.SHRINK_RULE == ShrinkRule.LAG_MESSAGES:
        _must_drop_all_that_lag(trace, states)
        shrinks = []
    else:
        shrinks = list(_shrinks(trace, states, slow))
    forbidden = {position for shrink in shrinks for position in shrink.kept}
    pauses: set[int] = set()
    for shrink in shrinks:
        allowed = [position for position in shrink.slow if position not in forbidden]
        if not allowed:
            raise _SlowFromTheStartError(
                shrink.removed,
                f"step {shrink.position} drops a follower and keeps a follower that caught up earlier or at the same"
                " time; the model has no clock and allows this, a cluster does not",
            )
        if AT_THE_START not in allowed and not pauses.intersection(allowed):
            pauses.add(allowed[-1])
    written = [
        (broker, *checkpoint)
        for broker in range(trace.instance.configuration.replicas)
        for checkpoint in _checkpoints(trace, states, broker)
    ]
    return Timing(
        frozenset(pauses),
        frozenset((position, broker) for broker, position, _ in written if position >= 0),
        {broker: what for broker, position, what in written if position < 0},
        slow,
        kraft_timing_of(trace.steps, states) if has_kraft(trace.instance.configuration) else KraftTiming(),
    )


def _must_not_have_to_wait(trace: Trace, states: Sequence[State]) -> None:
    """Raise UntimelyError if a producer has more than max.in.flight.requests.per.connection unanswered requests to a
    leader.

    The model does not limit the requests of a transaction, which come from one producer, and does not count requests
    that an idempotent producer gave up when it took a new producer id. Requests without a transaction or sequence
    number are not checked: they can come from several producers. Kafka: NetworkClient.canSendRequest.
    """
    most = trace.instance.configuration.max_in_flight_requests
    for position, step in enumerate(trace.steps, start=1):
        if trace.instance.configuration.enable_idempotence and step.action in SENDS:
            _must_have_room(states[position - 1], position, step)
        if step.action == SEND_IN_TRANSACTION:
            before, (leader, transaction) = states[position - 1], step.ordinals
            unanswered = sum(
                before.transaction_of[record] == transaction and before.pending[record] == leader
                for record in range(before.next_record)
            )
            if unanswered >= most:
                raise UntimelyError(
                    f"step {position} sends another record of transaction {transaction} while {unanswered} are"
                    f" unanswered, with max_in_flight_requests={most}; the producer waits in Kafka, not in the model"
                )


def _must_have_room(before: State, position: int, step: Step) -> None:
    """Raise UntimelyError if the leader already owes the idempotent producer as many answers as Kafka allows."""
    names = ("record", "leader") if step.action in SEND_AGAIN_TO else ("leader", "record")
    sent = dict(zip(names, step.ordinals, strict=False))
    unanswered = sum(
        before.pending[record] == sent["leader"]
        and record != sent.get("record")
        and before.transaction_of[record] == NONE
        for record in range(before.next_record)
    )
    if unanswered >= before.max_in_flight_requests:
        raise UntimelyError(
            f"step {position} sends another record while {unanswered} are unanswered, with max_in_flight_requests="
            f"{before.max_in_flight_requests}; Kafka's producer waits for all answers, the model's producer only for"
            " answers to records that it has not given up"
        )


def _must_drop_all_that_lag(trace: Trace, states: Sequence[State]) -> None:
    """Raise UntimelyError unless each shrink drops exactly the followers that the leader knows to lag by too many
    messages.

    The model may drop any of these followers, and also followers that have not fetched from this leader. Kafka 0.8:
    Partition.getOutOfSyncReplicas, slowReplicas.
    """
    most = trace.instance.configuration.replica_lag_max_messages
    for position, step in enumerate(trace.steps, start=1):
        if step.action == SHRINK:
            before, (leader, removed) = states[position - 1], step.ordinals
            ends = {r: before.remote_log_end_offset[leader][r] for r in range(before.replicas)}
            lagging = {r for r, end in ends.items() if end != NONE and before.log_end_offset[leader] - end > most}
            if removed != sum(1 << r for r in lagging if before.isr[leader][r] and r != leader):
                raise UntimelyError(
                    f"step {position} does not drop exactly the followers that lag by more than {most} messages; a"
                    " leader of Kafka 0.8 does, and never drops a follower that has not fetched from it"
                )


def _shrinks(trace: Trace, states: Sequence[State], slow: frozenset[int]) -> Iterator[_Shrink]:
    """Every step that shrinks the ISR, with the states after which the replay must pause, or must not."""
    replicas = range(trace.instance.configuration.replicas)
    fetches = {}
    for leader in replicas:
        for r in replicas:
            at = AT_THE_START if r in slow else 0
            fetches[leader, r] = _Fetches(at, at, states[0].log_end_offset[leader])
    for position, step in enumerate(trace.steps, start=1):
        before, after = states[position - 1], states[position]
        if step.action == "leader_handles_fetch":
            leader, follower = step.ordinals
            if after.fetch[follower][leader] != Fetch.DIVERGING or after.DIVERGING_RESP_UPDATES_STATE:
                _note_fetch(
                    fetches[leader, follower], position, before.log_end_offset[follower], before.log_end_offset[leader]
                )
        elif step.action == LATE_FETCH:
            leader, follower = step.ordinals
            for offset in (before.late_fetch_offset[leader][follower], before.log_end_offset[follower]):
                _note_fetch(fetches[leader, follower], position, offset, before.log_end_offset[leader])
        elif step.action == SHRINK:
            leader, removed = step.ordinals
            yield _shrink(before, position, leader, removed, fetches)
        for leader in replicas:
            if _enters_epoch(before, after, leader, step.action, step.ordinals):
                _note_election(before, after, leader, position, fetches)


def _note_fetch(fetches: _Fetches, position: int, offset: int, log_end_offset: int) -> None:
    """Update what the leader knows of a follower when it fetches from `offset`. Kafka: Replica.updateFetchState.

    If the follower has reached the log end that the leader had at the previous fetch, the follower counts as caught up
    at the time of the previous fetch.
    """
    if offset >= log_end_offset:
        fetches.caught_up = position
    elif offset >= fetches.end_at_fetch:
        fetches.caught_up = max(fetches.caught_up, fetches.fetched)
    fetches.fetched = position
    fetches.end_at_fetch = max(fetches.end_at_fetch, log_end_offset)


def _enters_epoch(before: State, after: State, leader: int, action: str, ordinals: tuple[int, ...]) -> bool:
    if after.leader[leader] != leader:
        return False
    restarted = action in RESTARTS and ordinals[0] == leader
    return bool(
        restarted or before.leader[leader] != leader or before.leader_epoch[leader] != after.leader_epoch[leader]
    )


def _note_election(
    before: State, after: State, leader: int, position: int, fetches: Mapping[tuple[int, int], _Fetches]
) -> None:
    """Count the ISR's members as caught up when a leader is elected. Kafka: Partition.makeLeader,
    resetLastCaughtUpTime."""
    kept = before.leader[leader] == leader and after.REMOTE_OFFSETS_KEPT_BY_REELECTED_LEADER
    for (of, follower), pair_fetches in fetches.items():
        if of == leader:
            is_member = after.isr[leader][follower]
            pair_fetches.caught_up = position if is_member else 0
            pair_fetches.fetched = position if kept and is_member else 0
            pair_fetches.end_at_fetch = after.log_end_offset[leader] if kept else 0


def _shrink(
    before: State, position: int, leader: int, removed: int, fetches: Mapping[tuple[int, int], _Fetches]
) -> _Shrink:
    slow, kept, last = AT_THE_START, position, set()
    for follower in range(before.replicas):
        if follower == leader or not before.isr[leader][follower]:
            continue
        caught_up = fetches[leader, follower].caught_up
        at_end = before.remote_log_end_offset[leader][follower] == before.log_end_offset[leader]
        if removed >> follower & 1:
            slow = max(slow, caught_up)
            last |= {follower} if caught_up == 0 else set()
        elif before.SHRINK_RULE != ShrinkRule.EXEMPT_AT_LOG_END or not at_end:
            kept = min(kept, caught_up)
    return _Shrink(position, range(slow, min(kept, position)), range(kept, position), frozenset(last))


def _checkpoints(trace: Trace, states: Sequence[State], broker: int) -> Iterator[tuple[int, int]]:
    """The checkpoints that a broker has to write: (position of a state, value); position -1: before the first state.

    At a restart, the broker loads the last written checkpoint, limited by its log end.
    """
    had: dict[int, int] = {}
    in_file: int | None = None
    for position, state in enumerate(states):
        step = trace.steps[position - 1] if position else None
        before = states[position - 1] if position else state
        if step and step.action in LOSES_DISK and step.ordinals[0] == broker:
            had, in_file = {}, 0
        elif step and step.action == STOP and step.ordinals[0] == broker:
            had, in_file = {}, before.high_watermark[broker]
        elif step and before.reassignments and before.leader_epoch[broker] and not state.leader_epoch[broker]:
            if state.is_up[broker]:  # the broker has deleted its log
                had, in_file = {}, 0
        elif step and step.action in RESTARTS and step.ordinals[0] == broker:
            wanted, end = step.ordinals[1], before.log_end_offset[broker]
            loaded = min(wanted, end)
            written = {at: offset for offset, at in had.items() if min(offset, end) == loaded}
            if written:
                yield max(written), written[max(written)]
            elif in_file is None and wanted <= states[0].high_watermark[broker]:
                yield -1, wanted
            elif in_file is None or min(in_file, end) != loaded:
                raise UntimelyError(
                    f"step {position} restarts broker {broker} with a checkpointed high watermark of {wanted},"
                    " but the broker has not had this value since its last start, as it must in Kafka; the model allows"
                    " all values up to the broker's last one"
                )
            had, in_file = {}, written[max(written)] if written else wanted if in_file is None else in_file
        if state.is_up[broker]:
            had[state.high_watermark[broker]] = position

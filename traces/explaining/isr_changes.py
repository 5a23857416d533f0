"""Explains failures by what came with 2.8: which pending change of the ISR a leader did not count, and who was elected.

In:  the timeline of a trace of Kafka's model.
Out: the `PendingChange` that a leader should have counted when it made a promise, and text about it.
"""

from __future__ import annotations

from dataclasses import dataclass

from isrcheck.models.kafka.state.values import AlterPartition, BrokerEpoch
from isrcheck.models.run import State
from isrcheck.traces.explaining.timeline import Timeline
from isrcheck.traces.kafka.model import is_counted
from isrcheck.traces.kafka.partition_state import alters_partitions, has_kraft, is_pending


@dataclass(frozen=True)
class PendingChange:
    """A change of the ISR that a leader proposed in step `proposed` and did not count when it made a promise.

    `dropped` is the step in which the leader dropped the change (None: it was still pending); `is_joining` says that
    the broker was to join the ISR, not to leave it.
    """

    leader: int
    broker: int
    proposed: int
    dropped: int | None
    is_joining: bool


def uncounted_change(timeline: Timeline, leader: int, broker: int, promised: int) -> PendingChange | None:
    """Return the last change of the ISR by which the broker might have been in the ISR of record when the leader made a
    promise without counting it."""
    if not alters_partitions(timeline.last) or is_counted(timeline.states[promised], leader, broker):
        return None

    def is_open(s: State) -> bool:
        return is_pending(s, leader) and bool(s.proposed_isr[leader][broker] or s.isr[leader][broker])

    last = next((i for i in range(promised, -1, -1) if is_open(timeline.states[i])), None)
    if last is None or (last < promised and _is_made(timeline, leader, last + 1)):
        return None
    proposed = timeline.last_change(is_open, until=last)
    is_joining = bool(timeline.states[last].proposed_isr[leader][broker])
    return PendingChange(leader, broker, proposed or 0, None if last == promised else last + 1, is_joining)


def _is_made(timeline: Timeline, leader: int, position: int) -> bool:
    """Whether the ISR that a leader has after a step is the one that it had proposed."""
    before, after = timeline.states[position - 1], timeline.states[position]
    return all(after.isr[leader][r] == before.proposed_isr[leader][r] for r in range(after.replicas))


def lines(timeline: Timeline, change: PendingChange) -> list[str]:
    """Return lines about a change that a leader did not count, and about what made it drop the change."""
    what = "joins" if change.is_joining else "leaves"
    proposed = f"it proposed {timeline.when(change.proposed)} that broker {change.broker} {what} the ISR"
    found = [f"  the leader did not wait for broker {change.broker}: {proposed}"]
    if change.dropped is None:
        return [
            *found,
            f"  that change was pending, so broker {change.broker} could be in the ISR of record (MAXIMAL_ISR)",
        ]
    reason = _reason(timeline, change.leader, change.dropped)
    return [*found, f"  the leader dropped that change {timeline.when(change.dropped)}{reason}"]


def passed_member(timeline: Timeline, leader: int, r: int) -> list[str]:
    """Explain that the high watermark of a leader is above the log end of `r`, a member of its maximal ISR."""
    high_watermark, end = timeline.last.high_watermark[leader], timeline.last.log_end_offset[r]
    risen = timeline.last_change(lambda s: bool(s.high_watermark[leader] == high_watermark))
    ended = timeline.last_change(lambda s: bool(s.log_end_offset[r] == end))
    change = uncounted_change(timeline, leader, r, risen or 0)
    above = f"high watermark {high_watermark} is above log end offset {end} of broker {r}"
    return [
        f"broker {leader}: {above} in its maximal ISR",
        f"  high watermark {high_watermark} {timeline.when(risen, 'since')}",
        *(lines(timeline, change) if change is not None else []),
        f"  log end offset {end} {timeline.when(ended, 'since')}",
    ]


def _reason(timeline: Timeline, leader: int, dropped: int) -> str:
    """Why a leader dropped its pending change in a step, as the end of a sentence."""
    before, after = timeline.states[dropped - 1], timeline.states[dropped]
    if has_kraft(after) and after.metadata_position[leader] > before.metadata_position[leader]:
        epoch = after.metadata_position[leader]
        if epoch == before.partition_epoch[leader]:
            return f": it knew partition epoch {epoch} already (EQUAL_PARTITION_EPOCH_REPLACES)"
        return f": partition epoch {epoch} is newer"
    if before.alter_partition[leader] == AlterPartition.INELIGIBLE:
        return ": the controller refused it (INELIGIBLE_REPLICA)"
    return ""


def earlier_process(timeline: Timeline, leader: int, member: int, promised: int) -> str:
    """Return that the leader knew an earlier process of a follower when it made a promise, as the end of a sentence."""
    s = timeline.states[promised]
    if not has_kraft(s) or s.remote_broker_epoch[leader][member] != BrokerEpoch.EARLIER:
        return ""
    ended = timeline.last_change(lambda s: bool(s.is_up[member]), to=False, until=promised)
    return f", from a process that ended {timeline.when(ended)}"


def election(timeline: Timeline, broker: int, position: int) -> str:
    """Return from where a KRaft controller elects a broker in a step, unless it is one of several in the ISR, as the
    end of a sentence; an unclean election has a name of its own."""
    if position == 0 or not has_kraft(timeline.last):
        return ""
    before, after = timeline.states[position - 1], timeline.states[position]
    if after.controller_leader != broker or before.controller_leader == broker:
        return ""
    if before.eligible_leader_replicas[broker]:
        return f", electing broker {broker} from the ELR"
    if before.controller_isr[broker]:
        is_last = sum(1 for r in range(before.replicas) if before.controller_isr[r]) == 1
        return f", electing broker {broker} as the last member of the ISR" if is_last else ""
    if before.unclean_elections_left > after.unclean_elections_left:
        return ""
    if any(before.controller_isr[r] for r in range(before.replicas)):
        return f", electing broker {broker}, which joins the ISR by the change that completes the reassignment"
    return f", electing broker {broker} as the last known leader, since ISR and ELR are empty"

"""The traces that no cluster follows, because the model has no fetches, and loads whatever a log has.

In:  a trace of `coordinator`.
Out: why no cluster follows it, or None.

A follower's fetch tells the leader how far it has come, unless their logs diverge, and the leader advances its high
watermark at once as far as all have come. The model's leader may wait, and knows what a follower has that has yet to
cut its log. A follower takes a high watermark of its leader that is lower than its own; the model's keeps its own.
Kafka's coordinator fails to load a log in which a record of a consumer group, or another conversion, comes behind a
conversion; the model's loads it.
"""

from __future__ import annotations

from isrcheck.models.coordinator.runtime import Kind
from isrcheck.models.language import NONE
from isrcheck.models.run import State
from isrcheck.traces.format.trace import Trace

FETCHES, ADVANCES, LOADS = "follower_fetches", "leader_advances_high_watermark", "coordinator_loads"
TIMED = (FETCHES, ADVANCES, LOADS)
"""The steps that a cluster may be unable to take as the model does."""


def why_no_cluster_follows(trace: Trace) -> str | None:
    """The first step in which a cluster does something else, as a reason; None if there is none."""
    replicas = range(trace.instance.configuration.replicas)
    known = {(leader, follower): 0 for leader in replicas for follower in replicas}
    for position, step in enumerate(trace.steps, start=1):
        before, after = (State(trace.instance, trace.states[at]) for at in (position - 1, position))
        leader = after.leader
        if step.action == LOADS and not _is_valid(before, step.ordinals[0]):
            return (
                f"step {position} loads a log in which a record of a consumer group comes behind its conversion to a"
                " classic group; Kafka's coordinator fails to load it, the model's does not"
            )
        if step.action == "broker_applies_leadership":
            (broker,) = step.ordinals
            if after.leads[broker] and not before.leads[broker]:
                known |= {(broker, follower): NONE for follower in replicas}
        fetches: tuple[int, ...] = ()
        if step.action == FETCHES:
            fetches = step.ordinals
            if before.high_watermark[fetches[0]] > before.high_watermark[leader]:
                return (
                    f"in step {position}, broker {fetches[0]} fetches from a leader with a lower high watermark, and"
                    " keeps its own; a follower of a cluster takes its leader's"
                )
        elif step.action == ADVANCES:
            fetches = tuple(follower for follower in replicas if not _diverges(before, follower))
        known |= {(leader, follower): before.log_end_offset[follower] for follower in fetches}
        reached = min(known[leader, follower] for follower in replicas if follower != leader)
        if fetches and after.high_watermark[leader] != max(reached, before.high_watermark[leader]):
            return (
                f"in step {position}, the followers of broker {leader} have told it that all have {max(reached, 0)}"
                f" records, and its high watermark is {after.high_watermark[leader]}; a cluster's leader advances it at"
                " once, and no further"
            )
    return None


def _log_of(state: State, broker: int) -> list[int]:
    return [state.log[broker][offset] for offset in range(state.log_end_offset[broker])]


def _diverges(state: State, follower: int) -> bool:
    """Whether a follower's log has what the leader's has not."""
    log = _log_of(state, follower)
    return log != _log_of(state, state.leader)[: len(log)]


def _is_valid(state: State, broker: int) -> bool:
    """Whether only commits come behind the conversion of the group in the log of a broker."""
    kinds = [state.kind[write] for write in _log_of(state, broker)]
    return Kind.CLASSIC not in kinds or {*kinds[kinds.index(Kind.CLASSIC) + 1 :]} <= {Kind.COMMIT}

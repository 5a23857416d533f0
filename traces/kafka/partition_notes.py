"""What the generations since 2.8 add to the lanes of a page, in words.

In:  a state of Kafka's model.
Out: notes for the controller and for each broker. partition_state.py shows the same in signs.
"""

from __future__ import annotations

from isrcheck.models.kafka.state.values import AlterPartition, BrokerEpoch, Stop
from isrcheck.models.run import State
from isrcheck.traces.kafka.partition_state import (
    alters_partitions,
    diverging_responses,
    dropped_request,
    has_kraft,
    is_behind,
    is_partly_flushed,
    is_pending,
    is_told_more,
    known_by_controller,
    late_fetches,
    older_minimum,
    replicas_view,
    spell_flags,
    spell_members,
    stage_of_pending,
    unusual_stop,
    waited_for,
)

CONTROLLER = {
    "last": "last known leader",
    "elr": "ELR",
    "fenced": "fenced:",
    "stopping": "shutting down:",
    "replicas": "replicas",
    "adding": "adding:",
    "removing": "removing:",
    "unregistered": "unregistered:",
    "min": "min.insync.replicas",
}

STAGES = {
    AlterPartition.NONE: "waits for newer metadata",
    AlterPartition.REQUESTED: "request under way",
    AlterPartition.ACCEPTED: "accepted, answer under way",
    AlterPartition.INELIGIBLE: "INELIGIBLE_REPLICA, answer under way",
}


def controller_notes(s: State) -> list[str]:
    """Return what a KRaft controller knows besides leader, epochs and ISR."""
    return [f"{CONTROLLER[sign]} {members}" for sign, members in known_by_controller(s).items()]


def broker_notes(s: State, r: int) -> list[str]:
    """Return what is worth saying of a broker since 2.8 besides its log, its ISR and its followers' offsets."""
    if not alters_partitions(s):
        return []
    found = []
    if is_pending(s, r):
        found += [f"proposes ISR {spell_flags(s, s.proposed_isr[r])}", STAGES[stage_of_pending(s, r)]]
    found += [f"knows {CONTROLLER[sign]} {view}" for sign, view in replicas_view(s, r).items()]
    if (minimum := older_minimum(s, r)) is not None:
        found.append(f"knows min.insync.replicas {minimum}")
    for stage, _, members in dropped_request(s, r):
        found += [f"dropped: ISR {members}", STAGES[stage]]
    if is_behind(s, r):
        found.append(f"knows partition epoch {s.partition_epoch[r]}")
    if is_told_more(s, r):
        found.append(f"metadata read to {s.metadata_position[r]}")
    if (stop := unusual_stop(s, r)) is not None:
        found.append("shut down in order" if stop == Stop.SHUTDOWN else "lost a part of its log")
    if has_kraft(s):
        earlier = spell_members(s, lambda f: bool(s.remote_broker_epoch[r][f] == BrokerEpoch.EARLIER))
        found += [] if earlier == "-" else [f"earlier process known: {earlier}"]
    if is_partly_flushed(s, r):
        found.append(f"flushed to {s.flushed_offset[r]}")
    if waits := waited_for(s, r):
        found.append(f"HW waits for {waits}")
    found += [f"late fetch of {follower} from {offset}" for follower, offset in late_fetches(s, r)]
    return [*found, *(f"{leader} says {told}" for leader, told in diverging_responses(s, r))]

"""What the generations since 2.8 add to the columns of controller and brokers: partition epochs, pending changes, ELR.

In:  a state of Kafka's model.
Out: short items of text for lanes.py, and the meanings of the signs in them.

A leader's view of the ISR is `(isr 01+2>)` while its request that broker 2 may join is under way to the controller,
`(isr 01+2<)` while the answer is under way, `(isr 01+2!)` if that says that a member is ineligible, and `(isr 01+2?)`
if nothing is under way and the leader waits for metadata. A request or an answer to a change that the leader has
dropped is `p1>012` (ISR 012, asked for in partition epoch 1) or `p2<012` (accepted, in partition epoch 2). `2'` says
that what the leader knows of broker 2 comes from an earlier process.

A broker that is behind the controller shows the partition epoch that it knows, `p1`, and how far it has read the
metadata log, `m0`, if an answer told it more than that.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from isrcheck.models.kafka.state.values import (
    AlterPartition,
    BrokerEpoch,
    Controller,
    Fetch,
    HighWatermarkWait,
    IsrChannel,
    Stop,
)
from isrcheck.models.language.declarations import NONE
from isrcheck.models.run import State
from isrcheck.traces.kafka.model import is_counted, known_min_insync_replicas

Flags = Any
"""A field of truth values, one per broker."""

LEGEND = {
    r"\bp\d+(?![<>!\d])": ("p1", "partition epoch 1: of the record; of what a broker knows, if that is older"),
    r"^m\d": ("m0", "has read metadata up to partition epoch 0, and knows more by an answer to AlterPartition"),
    r"^elr": ("elr 2", "eligible leader replicas"),
    r"^last": ("last 0", "last known leader"),
    r"^fenced": ("fenced 2", "fenced brokers"),
    r"^stopping": ("stopping 2", "brokers in controlled shutdown"),
    r"^replicas": ("replicas 01", "the assigned replicas, if not all brokers are"),
    r"^adding": ("adding 2", "replicas that a reassignment in progress adds"),
    r"^removing": ("removing 2", "replicas that a reassignment in progress removes"),
    r"^unregistered": ("unregistered 2", "brokers that are unregistered"),
    r"^min": ("min 1", "min.insync.replicas, once it was changed; of what a broker knows, if that is older"),
    r"^\(replicas": ("(replicas 01)", "the replicas in a leader's view, if the controller's differ"),
    r"^\(adding": ("(adding 2)", "the replicas that are being added in a leader's view, if the controller's differ"),
    r"^n\d": ("n1", "runs, and knows of no leader in epoch 1"),
    r"^clean$": ("clean", "was shut down in order"),
    r"^cut$": ("cut", "lost a part of its log when it stopped"),
    r"[+-]\d+'?>": (
        "(isr 01+2>)",
        "a leader's ISR and its pending change, AlterPartition under way: 2 joins (-2: leaves)",
    ),
    r"[+-]\d+'?<": ("(isr 01+2<)", "a pending change that is accepted, the answer under way"),
    r"[+-]\d+'?!": ("(isr 01+2!)", "a pending change that is refused, as 2 is ineligible, the answer under way"),
    r"[+-]\d+'?\?": ("(isr 01+2?)", "a pending change that waits for newer metadata"),
    r"^p\d+>": ("p1>012", "AlterPartition under way of a change that the leader has dropped: ISR 012, asked for in p1"),
    r"^p\d+<": ("p2<012", "an answer under way to a change that the leader has dropped: ISR 012 in p2"),
    r"^p\d+!": ("p1!012", "an answer under way to a change that the leader has dropped: a member of 012 is ineligible"),
    r"\d'": ("2'", "an earlier process of broker 2, by what the leader knows"),
    r"\bsays e\d": ("0 says e1 until 2", "broker 0's diverging response under way: in its log, epoch 1 ends at 2"),
    r"^flushed": ("flushed 1", "up to where the log is flushed, if a part of it is: a loss of power keeps that"),
    r"^waits": ("waits 2", "HW_WAIT: broker 2 is caught up, so the high watermark waits for it, too"),
    r"^late": ("late 2@1", "a fetch from offset 1 under way, of an earlier process of broker 2"),
}
"""The signs that are explained below a table only if it contains them, by a pattern that finds them in an item."""

STAGES = {
    AlterPartition.NONE: "?",
    AlterPartition.REQUESTED: ">",
    AlterPartition.ACCEPTED: "<",
    AlterPartition.INELIGIBLE: "!",
}
"""The sign of a pending change, by the stage of its request."""


def alters_partitions(s: State) -> bool:
    """Whether changes of the ISR are requests to the controller, as since 2.8."""
    return bool(s.ISR_CHANNEL == IsrChannel.ALTER_PARTITION)


def has_kraft(s: State) -> bool:
    """Whether the controller is a KRaft quorum, as since 3.3."""
    return bool(s.CONTROLLER == Controller.KRAFT)


def spell_members(
    s: State, is_member: Callable[[int], bool], is_earlier: Callable[[int], bool] = lambda _: False
) -> str:
    """Return a set of brokers: their numbers, with a prime after those whose earlier process is meant; `-` if empty."""
    return "".join(f"{r}'" if is_earlier(r) else str(r) for r in range(s.replicas) if is_member(r)) or "-"


def spell_flags(s: State, flags: Flags) -> str:
    """Return the brokers of a field of truth values: their numbers; `-` if there are none."""
    return spell_members(s, lambda r: bool(flags[r]))


def known_by_controller(s: State) -> dict[str, str]:
    """Return what a KRaft controller knows besides leader, epochs and ISR: sets of brokers, by their sign."""
    if not has_kraft(s):
        return {}
    sets = {"elr": s.eligible_leader_replicas, "fenced": s.is_fenced, "stopping": s.is_shutting_down}
    found = {} if s.last_known_leader == NONE else {"last": str(s.last_known_leader)}
    for sign, flags in sets.items():
        if any(flags[r] for r in range(s.replicas)):
            found[sign] = spell_flags(s, flags)
    if s.reassignments > 0:
        if not all(s.is_assigned[r] for r in range(s.replicas)):
            found["replicas"] = spell_flags(s, s.is_assigned)
        for sign, flags in {"adding": s.is_adding, "removing": s.is_removing}.items():
            if any(flags[r] for r in range(s.replicas)):
                found[sign] = spell_flags(s, flags)
    if s.unregistrations > 0 and any(s.is_unregistered[r] for r in range(s.replicas)):
        found["unregistered"] = spell_flags(s, s.is_unregistered)
    if changes_made(s) > 0:
        found["min"] = str(s.changed_min_isr[changes_made(s) - 1])
    return found


def changes_made(s: State) -> int:
    """How many changes of min.insync.replicas the metadata log has."""
    return sum(1 for change in range(s.min_isr_changes) if s.changed_min_isr[change] > 0) if has_kraft(s) else 0


# ----------------------------------------------------------------------------------------------------------- one broker


def broker_items(s: State, r: int) -> list[str]:
    """What is worth showing of a broker besides its log: how far it is behind, its ISR, and messages under way."""
    found = ["clean" if stop == Stop.SHUTDOWN else "cut"] if (stop := unusual_stop(s, r)) is not None else []
    if is_behind(s, r):
        found.append(f"p{s.partition_epoch[r]}")
    if is_told_more(s, r):
        found.append(f"m{s.metadata_position[r]}")
    if s.leader[r] == r and (view := isr_view(s, r)) != spell_flags(s, s.controller_isr):
        found.append(f"(isr {view})")
    found += [f"({sign} {view})" for sign, view in replicas_view(s, r).items()]
    if (minimum := older_minimum(s, r)) is not None:
        found.append(f"min {minimum}")
    found += [f"p{epoch}{STAGES[stage]}{members}" for stage, epoch, members in dropped_request(s, r)]
    if is_partly_flushed(s, r):
        found.append(f"flushed {s.flushed_offset[r]}")
    if waits := waited_for(s, r):
        found.append(f"waits {waits}")
    found += [f"late {follower}@{offset}" for follower, offset in late_fetches(s, r)]
    return [*found, *(f"{leader} says {told}" for leader, told in diverging_responses(s, r))]


def unusual_stop(s: State, r: int) -> Stop | None:
    """How a broker that is down has stopped, if it did not crash."""
    if s.is_up[r] or not has_kraft(s) or s.stopped_by[r] == Stop.CRASH:
        return None
    return Stop(s.stopped_by[r])


def is_behind(s: State, r: int) -> bool:
    """Whether a running broker knows an older partition epoch than the controller's.

    With ZooKeeper, this matters for leaders only.
    """
    matters = has_kraft(s) or s.leader[r] == r
    return bool(s.is_up[r]) and matters and bool(s.partition_epoch[r] != s.controller_partition_epoch)


def is_told_more(s: State, r: int) -> bool:
    """Whether a broker knows more of the partition than it has read in the metadata log, by an answer."""
    return bool(s.is_up[r]) and has_kraft(s) and bool(s.metadata_position[r] != s.partition_epoch[r])


def replicas_view(s: State, leader: int) -> dict[str, str]:
    """What a leader knows of the assigned replicas, and of those that are being added, if the controller's differ."""
    if not has_kraft(s) or s.reassignments == 0 or s.leader[leader] != leader:
        return {}
    views = {
        "replicas": (s.knows_assigned[leader], s.is_assigned),
        "adding": (s.knows_adding[leader], s.is_adding),
    }
    return {
        sign: spell_flags(s, own)
        for sign, (own, flags) in views.items()
        if any(own[r] != flags[r] for r in range(s.replicas))
    }


def older_minimum(s: State, r: int) -> int | None:
    """The value of min.insync.replicas that a running broker knows, if it has not read all changes."""
    if not s.is_up[r] or changes_made(s) == 0 or s.min_isr_changes_read[r] == changes_made(s):
        return None
    return known_min_insync_replicas(s, r)


def is_pending(s: State, leader: int) -> bool:
    """Whether the leader waits for the answer to a proposed change of the ISR."""
    return any(s.proposed_isr[leader][r] for r in range(s.replicas))


def isr_view(s: State, leader: int) -> str:
    """The ISR as the leader has it committed, and its pending change: `01+2>` if it has asked for broker 2 to join."""

    def is_earlier(r: int) -> bool:
        return has_kraft(s) and bool(s.remote_broker_epoch[leader][r] == BrokerEpoch.EARLIER)

    committed, proposed = s.isr[leader], s.proposed_isr[leader]
    text = spell_members(s, lambda r: bool(committed[r]), is_earlier)
    if not is_pending(s, leader):
        return text
    if any(proposed[r] and not committed[r] for r in range(s.replicas)):
        text += "+" + spell_members(s, lambda r: bool(proposed[r] and not committed[r]), is_earlier)
    if any(committed[r] and not proposed[r] for r in range(s.replicas)):
        text += "-" + spell_members(s, lambda r: bool(committed[r] and not proposed[r]), is_earlier)
    return text + STAGES[stage_of_pending(s, leader)]


def stage_of_pending(s: State, leader: int) -> AlterPartition:
    """The stage of the request for the pending change; another request, of an earlier change, does not count."""
    is_same = all(s.requested_isr[leader][r] == s.proposed_isr[leader][r] for r in range(s.replicas))
    return AlterPartition(s.alter_partition[leader]) if is_same else AlterPartition.NONE


def requested_isr(s: State, leader: int) -> str:
    """The ISR that a leader's AlterPartition request names."""

    def is_earlier(r: int) -> bool:
        return has_kraft(s) and bool(s.requested_broker_epoch[leader][r] == BrokerEpoch.EARLIER)

    return spell_members(s, lambda r: bool(s.requested_isr[leader][r]), is_earlier)


def dropped_request(s: State, leader: int) -> list[tuple[AlterPartition, int, str]]:
    """A leader's request under way, or its answer, if it is not about the pending change: stage, partition epoch, ISR.

    A request can outlive its sender, and the change that it is about.
    """
    stage = AlterPartition(s.alter_partition[leader])
    if stage == AlterPartition.NONE or (is_pending(s, leader) and stage_of_pending(s, leader) == stage):
        return []
    epoch = s.requested_partition_epoch[leader] + (stage == AlterPartition.ACCEPTED)
    return [(stage, epoch, requested_isr(s, leader))]


def is_partly_flushed(s: State, r: int) -> bool:
    """Whether a loss of power would remove a part of a broker's log, and keep another part for certain."""
    return has_kraft(s) and bool(s.is_up[r]) and bool(0 < s.flushed_offset[r] < s.log_end_offset[r])


def waited_for(s: State, leader: int) -> str:
    """The replicas outside its ISR that hold a leader's high watermark back (HW_WAIT); empty without any."""
    if s.HW_WAIT == HighWatermarkWait.OFF or s.leader[leader] != leader:
        return ""
    waits = [bool(s.is_caught_up[leader][r]) and not is_counted(s, leader, r) for r in range(s.replicas)]
    return spell_flags(s, waits) if any(waits) else ""


def late_fetches(s: State, leader: int) -> list[tuple[int, int]]:
    """The fetches of earlier processes that are under way to a leader: follower and offset."""
    if not has_kraft(s) or s.late_fetches == 0:
        return []
    offsets = s.late_fetch_offset[leader]
    return [(r, offsets[r]) for r in range(s.replicas) if offsets[r] != NONE]


def diverging_responses(s: State, follower: int) -> list[tuple[int, str]]:
    """The responses under way to a follower that say where its log and a leader's diverge: leader and content."""
    return [
        (leader, spell_divergence(s, follower, leader))
        for leader in range(s.replicas)
        if s.fetch[follower][leader] == Fetch.DIVERGING
    ]


def spell_divergence(s: State, follower: int, leader: int) -> str:
    """What a diverging response says: `e1 until 2` if epoch 1 ends at offset 2 in the leader's log."""
    return f"e{s.diverging_epoch[follower][leader]} until {s.diverging_end_offset[follower][leader]}"

"""A trace of Kafka's replication as a table: one column for the controller, one per broker, one for the clients.

The tables BASICS, SIGNS and SIGNS_SINCE_2_8 explain the signs in the columns of the controller and of the brokers.
Pages show notes in words instead of signs (scene.py). An entry of the leader epoch cache is shown only if it does not
follow from the log or from leadership. Most messages in flight between brokers are shown only with --full.

The clients' column shows what a step changes for clients: records sent in a transaction or sent again, transactions
committed or aborted, records that become readable (with the isolation level, if only at one of the two), and
acknowledgements. A first sending without a transaction is not mentioned, because the leader's log shows the record.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Callable, Iterator, Sequence
from itertools import chain, zip_longest
from typing import Any

from isrcheck.models.kafka.state import fields
from isrcheck.models.kafka.state.fields import Configuration
from isrcheck.models.kafka.state.values import (
    AlterPartition,
    BrokerEpoch,
    Controller,
    Fetch,
    HighWatermarkWait,
    IsrChannel,
    Stop,
    TransactionState,
    Truncation,
)
from isrcheck.models.language.declarations import NONE
from isrcheck.models.language.model import Instance
from isrcheck.models.language.states import FieldLayout, spell_element
from isrcheck.models.run import State
from isrcheck.traces.format.trace import Trace, name_entry, name_transaction, spell_entry
from isrcheck.traces.kafka import model
from isrcheck.traces.kafka.model import Flags
from isrcheck.traces.lanes.scene import Item, declares, notes, numbered, signs
from isrcheck.traces.lanes.table import StepRow

ALWAYS_SHOWN = frozenset(
    {
        "controller_epoch",
        "delete_records_left",
        "deleted_before",
        "leader_epoch",
        "log_start_offset",
        "read_committed_record",
        "response_log_start_offset",
        "transaction_of",
        "transaction_state",
    }
)
"""The fields that are shown although they have no cells, or cells of one value, under some configurations."""


def is_kafka(instance: Instance) -> bool:
    """Whether the model has all state fields and all configuration entries of Kafka's model."""
    return declares(instance, fields.State, Configuration)


def shown_fields(instance: Instance) -> list[FieldLayout]:
    """Return the fields of a model that are shown: all except those that the instance's generation does not have."""
    layouts = instance.layouts.values()
    if not is_kafka(instance):
        return [*layouts]
    return [field for field in layouts if field.name in ALWAYS_SHOWN or (field.count > 0 and field.low < field.high)]


# ---------------------------------------------------------------------------------------------------------------- signs

BASICS = (
    ("L1", "leads in leader epoch 1"),
    ("f1", "follows in epoch 1"),
    ("x", "does not run"),
    ("a0|b1", "record a of epoch 0 below the high watermark, record b of epoch 1 above it"),
    ("(isr 01)", "the ISR in a leader's view, if the controller's differs"),
    ("(e1 until 2)", "the leader's answer to a Truncating follower: where an epoch ends"),
)
"""The signs that every reader needs: an example and its meaning."""

SIGNS = {
    "t": ("t1", "follows in epoch 1, Truncating"),
    ":": (":", "last stable offset"),
    "C": ("C0", "commit marker (1C0: of transaction 1)"),
    "A": ("A0", "abort marker (1A0: of transaction 1)"),
    ".": (".", "deleted"),
    "-": ("-", "an offset below the high watermark that is not in the log"),
    "?": ("?", "a missing entry or epoch within the log"),
    "[": ("[a0]", "an entry beyond the end of the log"),
    "{": ("{1@2}", "leader epoch cache, if it differs from the log: epoch 1 starts at 2 (-: no entry)"),
}
"""The signs that are explained below a table only if it contains them."""

SIGNS_SINCE_2_8 = {
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
"""What a KRaft controller knows in addition to leader, epochs and ISR, by its sign."""

STAGES = {
    AlterPartition.NONE: Item("?", "waits for newer metadata"),
    AlterPartition.REQUESTED: Item(">", "request under way"),
    AlterPartition.ACCEPTED: Item("<", "accepted, answer under way"),
    AlterPartition.INELIGIBLE: Item("!", "INELIGIBLE_REPLICA, answer under way"),
}
"""A change of the ISR, by the stage of its request."""

NEWS = 16
"""The width of the clients' column in a narrow table, which is that of `read_uncommitted`."""

FILLED = ((10_000, 10_000), (22, 20), (22, 14), (18, 14), (15, 14))
"""For each value of `stacked`, the widths of the controller's column and of a broker's in the generations since 2.8.
Items fill these columns as words fill lines, because there are too many items for a line each."""

MOST_STACKED = 4
"""The largest value of `stacked` in `rows`, which gives the narrowest table."""


# ------------------------------------------------------------------------------------------------------------ the table


def titles(instance: Instance) -> list[str]:
    """Return the titles of the columns to the right of the steps."""
    return ["controller", *numbered("broker", instance.configuration.replicas), "clients"]


def rows(trace: Trace, stacked: int = 0) -> list[StepRow]:
    """Return one row per state; unchanged columns are empty.

    A higher `stacked` gives narrower columns with more lines: 1 puts the items after a broker's log on lines of their
    own, 2 also each client event, 3 also the controller's ISR, and 4 also breaks client events that are longer than
    `NEWS` columns.
    """
    step_rows, states = [], trace.named_states
    last_lanes: list[tuple[str, ...]] = []
    for position, (before, s) in enumerate(zip((None, *states), states, strict=False)):
        lanes = [_controller(s), *(_broker(s, r) for r in range(s.replicas))]
        controller, *brokers = (() if lane == last else lane for lane, last in zip_longest(lanes, last_lanes))
        if before is not None:
            brokers = [_with_answer(before, s, r, lane) for r, lane in enumerate(brokers)]
        news = news_of_clients(before, s)
        if stacked < 2:
            news = [", ".join(news)] if news else []
        if stacked > 3:
            news = [line for phrase in news for line in textwrap.wrap(phrase, NEWS, subsequent_indent="  ")]
        if alters_partitions(s):
            widths = FILLED[stacked]
            columns = [_filled(controller, widths[0]), *(_filled(lane, widths[1]) for lane in brokers)]
        else:
            columns = [_lines(controller, stacked > 2), *(_lines(lane, stacked > 0) for lane in brokers)]
        step_rows.append(StepRow(position, trace.spell_row(position), (*columns, tuple(news))))
        last_lanes = lanes
    return step_rows


def _lines(lane: tuple[str, ...], stacked: bool) -> tuple[str, ...]:
    if stacked:
        return (*lane[:1], *(f"  {part}" for part in lane[1:]))
    return (" ".join(lane),) if lane else ()


def _filled(lane: tuple[str, ...], width: int) -> tuple[str, ...]:
    """Put the items of a lane into lines of at most this width; only a longer item makes a longer line."""
    lines: list[str] = []
    for item in lane:
        if lines and len(lines[-1]) + 1 + len(item) <= width:
            lines[-1] += f" {item}"
        else:
            lines.append(f"  {item}" if lines else item)
    return tuple(lines)


def legend(trace: Trace) -> list[str]:
    """Return the meanings of the signs that occur in the lanes of this trace."""
    states = trace.named_states
    lanes = [_broker(s, r) for s in states for r in range(s.replicas)]
    # Lower-case letters in a log are records.
    signs = {sign for log, *_ in lanes for sign in log[3:] if not sign.islower()}
    signs |= {part[0] for lane in lanes for part in lane}
    meanings = [meaning for sign, meaning in SIGNS.items() if sign in signs]
    if alters_partitions(states[0]):
        items = {*chain.from_iterable((*map(_controller, states), *lanes))}
        meanings += [
            meaning for pattern, meaning in SIGNS_SINCE_2_8.items() if any(map(re.compile(pattern).search, items))
        ]
    return spell_legend(meanings)


def spell_legend(meanings: Sequence[tuple[str, str]]) -> list[str]:
    """Return one line per pair: an example of a sign, and its meaning."""
    width = max((len(example) for example, _ in meanings), default=0)
    return [f"  {example:<{width}}  {meaning}" for example, meaning in meanings]


# ------------------------------------------------------------------------------------------------- what is known of all


def alters_partitions(s: State) -> bool:
    """Whether leaders request changes of the ISR from the controller (AlterPartition), as in generations since 2.8."""
    return bool(s.ISR_CHANNEL == IsrChannel.ALTER_PARTITION)


def has_kraft(s: State) -> bool:
    """Whether the controller is a KRaft quorum, as in the model's generations since 3.3."""
    return bool(s.CONTROLLER == Controller.KRAFT)


def spell_members(
    s: State, is_member: Callable[[int], bool], is_earlier: Callable[[int], bool] = lambda _: False
) -> str:
    """Return a set of brokers as their numbers, such as `01'`; `-` is the empty set. A prime marks an earlier process
    of a broker, from before its restart: in the example, of broker 1."""
    return "".join(f"{r}'" if is_earlier(r) else str(r) for r in range(s.replicas) if is_member(r)) or "-"


def _earlier_in(s: State, epochs: Any, leader: int) -> Callable[[int], bool]:
    """Return a function that tells whether the leader's entry in `epochs` for a broker is of an earlier process."""
    return lambda r: has_kraft(s) and bool(epochs[leader][r] == BrokerEpoch.EARLIER)


def spell_flags(s: State, flags: Flags) -> str:
    """Return the numbers of the brokers in a field of truth values; `-` if it has no broker."""
    return spell_members(s, lambda r: bool(flags[r]))


# ------------------------------------------------------------------------------------------------------- the controller


def _controller(s: State) -> tuple[str, ...]:
    leader = "no leader" if s.controller_leader == NONE else f"leader {s.controller_leader}"
    isr = f"isr {spell_flags(s, s.controller_isr)}"
    if not alters_partitions(s):
        return f"e{s.controller_epoch} {leader}", isr
    epochs = f"e{s.controller_epoch} p{s.controller_partition_epoch}"
    return f"{epochs} {leader}", isr, *(f"{sign} {value}" for sign, value in known_by_controller(s).items())


def controller_notes(s: State) -> list[str]:
    """Return notes in words about what a KRaft controller knows in addition to leader, epochs and ISR."""
    return [f"{CONTROLLER[sign]} {value}" for sign, value in known_by_controller(s).items()]


def known_by_controller(s: State) -> dict[str, str]:
    """What a KRaft controller knows in addition to leader, epochs and ISR, as texts by the signs of CONTROLLER."""
    if not has_kraft(s):
        return {}
    sets = {"elr": s.eligible_leader_replicas, "fenced": s.is_fenced, "stopping": s.is_shutting_down}
    if s.reassignments > 0:
        sets |= {"replicas": s.is_assigned, "adding": s.is_adding, "removing": s.is_removing}
    if s.unregistrations > 0:
        sets["unregistered"] = s.is_unregistered
    values = {} if s.last_known_leader == NONE else {"last": str(s.last_known_leader)}
    for sign, flags in sets.items():
        members = [bool(flags[r]) for r in range(s.replicas)]
        if not all(members) if sign == "replicas" else any(members):
            values[sign] = spell_flags(s, flags)
    if changes_made(s) > 0:
        values["min"] = str(s.changed_min_isr[changes_made(s) - 1])
    return values


def changes_made(s: State) -> int:
    """How many changes of min.insync.replicas the metadata log has."""
    return sum(1 for change in range(s.min_isr_changes) if s.changed_min_isr[change] > 0) if has_kraft(s) else 0


# ----------------------------------------------------------------------------------------------------------- one broker


def _broker(s: State, r: int) -> tuple[str, ...]:
    """A broker's lane: its role and log, then unusual facts, such as an ISR that differs from the controller's."""
    lane = [f"{_role(s, r):<2} {_log(s, r)}"]
    if s.TRUNC != Truncation.HW and (cache := epoch_cache_news(s, r)):
        lane.append("{" + " ".join(cache) + "}")
    if alters_partitions(s):
        lane += signs(_stop(s, r), _progress(s, r), _isr_changes(s, r), _under_way(s, r))
    elif s.leader[r] == r and (believed := spell_flags(s, s.isr[r])) != spell_flags(s, s.controller_isr):
        lane.append(f"(isr {believed})")
    return tuple(lane)


def broker_notes(s: State, r: int) -> list[str]:
    """Return notes in words about what generations since 2.8 add to a broker, such as a proposed ISR; none before."""
    if not alters_partitions(s):
        return []
    return notes(_isr_changes(s, r), _progress(s, r), _stop(s, r), _processes(s, r), _under_way(s, r))


def _with_answer(before: State, s: State, r: int, lane: tuple[str, ...]) -> tuple[str, ...]:
    """Return the lane of a follower, with the leader's answer added if this step answers a truncating follower.

    Since 2.8, the answer (where an epoch ends in the leader's log) is a separate response, so the lane stays as it is.
    """
    same = (s.leader[r], s.leader_epoch[r]) == (before.leader[r], before.leader_epoch[r])
    if alters_partitions(s) or not before.is_truncating[r] or not same:
        return lane
    if s.is_truncating[r] and s.log_end_offset[r] == before.log_end_offset[r]:
        return lane
    answer = epoch_answer(before, r)
    return (*lane, f"({answer})") if answer else lane


def epoch_answer(s: State, r: int) -> str:
    """Return the answer to follower `r`, which asks its leader where its latest epoch ends; "" if its log is empty."""
    leader, epoch = s.leader[r], model.latest_epoch(s, r)
    if epoch == NONE:
        if s.log_end_offset[r] == s.log_start_offset[r]:
            return ""
        has_end = model.is_answered(s, leader, epoch)
        return f"no epoch until {model.end_offset_for(s, leader, epoch)}" if has_end else "no epoch"
    if not model.is_answered(s, leader, epoch):
        return f"e{epoch} unknown"
    answered = epoch if s.TRUNC == Truncation.KIP101 else model.epoch_for(s, leader, epoch)
    return f"e{answered} until {model.end_offset_for(s, leader, epoch)}"


def _role(s: State, r: int) -> str:
    if not s.is_up[r]:
        return "x"
    if s.leader[r] == r:
        return f"L{s.leader_epoch[r]}"
    if s.leader[r] == NONE and alters_partitions(s):
        return f"n{s.leader_epoch[r]}"
    return f"{'t' if s.is_truncating[r] else 'f'}{s.leader_epoch[r]}"


def _log(s: State, r: int) -> str:
    """The entries of a broker's log, such as `a0:b0|c1`: `|` is at the high watermark, and `:` at the last stable
    offset, if this is below the high watermark."""
    start, end, high_watermark = s.log_start_offset[r], s.log_end_offset[r], s.high_watermark[r]
    stable = model.last_stable_offset(s, r)
    entries = ["." if o < start else spell_entry(s, s.log_record[r][o], s.log_epoch[r][o]) for o in range(end)]
    entries += ["-"] * (high_watermark - end)
    parts = [" ".join(entries[:stable]), " ".join(entries[stable:high_watermark]), " ".join(entries[high_watermark:])]
    below = ":".join(parts[:2]) if stable < high_watermark else parts[0]
    stray = [f"[{spell_entry(s, s.log_record[r][o], s.log_epoch[r][o])}]" for o in stray_offsets(s, r)]
    return f"{below}|{' '.join([*parts[2:], *stray] if parts[2] else stray)}"


def stray_offsets(s: State, r: int) -> list[int]:
    """Return the offsets at or beyond the log end that hold an entry, which occur only in unreachable states."""
    return [offset for offset in range(s.log_end_offset[r], s.log_size) if s.log_record[r][offset] != NONE]


def epoch_cache_news(s: State, r: int) -> list[str]:
    """Return the entries of the leader epoch cache that differ from the offsets at which the epochs begin in the log.
    In generations whose new leaders enter their epoch at once, an epoch without records begins at the log end."""
    news = []
    for epoch in range(s.elections + 1):
        enters = s.EPOCH_AT_BECOME_LEADER and s.leader[r] == r and s.leader_epoch[r] == epoch
        expected = next(
            (offset for offset in range(s.log_end_offset[r]) if s.log_epoch[r][offset] == epoch),
            s.log_end_offset[r] if enters else NONE,
        )
        start = s.epoch_cache[r][epoch]
        if start != expected:
            news.append(f"{epoch}@{'-' if start == NONE else start}")
    return news


# ------------------------------------------------------------------------------------------------ one broker, since 2.8


def _stop(s: State, r: int) -> Iterator[Item]:
    """How a broker has stopped: by an orderly shutdown, or with the loss of a part of its log; nothing for a crash."""
    if not s.is_up[r] and has_kraft(s) and s.stopped_by[r] != Stop.CRASH:
        is_clean = s.stopped_by[r] == Stop.SHUTDOWN
        yield Item("clean", "shut down in order") if is_clean else Item("cut", "lost a part of its log")


def _progress(s: State, r: int) -> Iterator[Item]:
    """The partition epoch that a running broker knows, if it is not the controller's (with ZooKeeper, only for a
    leader); and the broker's position in the metadata log, if this differs from the partition epoch."""
    if not s.is_up[r]:
        return
    epoch = s.partition_epoch[r]
    if (has_kraft(s) or s.leader[r] == r) and epoch != s.controller_partition_epoch:
        yield Item(f"p{epoch}", f"knows partition epoch {epoch}")
    # By an answer, a broker can know more of the partition than it has read in the metadata log.
    if has_kraft(s) and s.metadata_position[r] != epoch:
        yield Item(f"m{s.metadata_position[r]}", f"metadata read to {s.metadata_position[r]}")


def _isr_changes(s: State, r: int) -> Iterator[Item]:
    """The ISR and the replicas in a leader's view, and its requests to change the ISR."""
    if s.leader[r] == r and (view := _isr_view(s, r)) != spell_flags(s, s.controller_isr):
        yield Item(f"(isr {view})")
    if is_pending(s, r):
        yield Item(note=f"proposes ISR {spell_flags(s, s.proposed_isr[r])}")
        yield Item(note=STAGES[_stage_of_pending(s, r)].note)
    if has_kraft(s) and s.reassignments > 0 and s.leader[r] == r:
        views = {"replicas": (s.knows_assigned[r], s.is_assigned), "adding": (s.knows_adding[r], s.is_adding)}
        for sign, (own, flags) in views.items():
            if any(own[other] != flags[other] for other in range(s.replicas)):
                yield Item(f"({sign} {spell_flags(s, own)})", f"knows {CONTROLLER[sign]} {spell_flags(s, own)}")
    if s.is_up[r] and (changes := changes_made(s)) > 0 and s.min_isr_changes_read[r] != changes:
        minimum = model.known_min_insync_replicas(s, r)
        yield Item(f"min {minimum}", f"knows min.insync.replicas {minimum}")
    # A request can outlive its sender, and the change that it is about.
    stage = AlterPartition(s.alter_partition[r])
    if stage != AlterPartition.NONE and not (is_pending(s, r) and _stage_of_pending(s, r) == stage):
        epoch, isr = s.requested_partition_epoch[r] + (stage == AlterPartition.ACCEPTED), requested_isr(s, r)
        yield Item(f"p{epoch}{STAGES[stage].sign}{isr}", f"dropped: ISR {isr}")
        yield Item(note=STAGES[stage].note)


def _processes(s: State, r: int) -> Iterator[Item]:
    """The brokers of which a leader knows an earlier process."""
    if has_kraft(s):
        earlier = spell_members(s, _earlier_in(s, s.remote_broker_epoch, r))
        if earlier != "-":
            yield Item(note=f"earlier process known: {earlier}")


def _under_way(s: State, r: int) -> Iterator[Item]:
    """The flushed offset, the followers for which the high watermark waits (HW_WAIT), and the messages in flight."""
    if has_kraft(s) and s.is_up[r] and 0 < s.flushed_offset[r] < s.log_end_offset[r]:
        yield Item(f"flushed {s.flushed_offset[r]}", f"flushed to {s.flushed_offset[r]}")
    if s.HW_WAIT != HighWatermarkWait.OFF and s.leader[r] == r:
        waits = [bool(s.is_caught_up[r][other]) and not model.is_counted(s, r, other) for other in range(s.replicas)]
        if any(waits):
            yield Item(f"waits {spell_flags(s, waits)}", f"HW waits for {spell_flags(s, waits)}")
    if has_kraft(s) and s.late_fetches > 0:
        for follower in range(s.replicas):
            if (offset := s.late_fetch_offset[r][follower]) != NONE:
                yield Item(f"late {follower}@{offset}", f"late fetch of {follower} from {offset}")
    for leader in range(s.replicas):
        if s.fetch[r][leader] == Fetch.DIVERGING:
            answer = f"{leader} says {spell_divergence(s, r, leader)}"
            yield Item(answer, answer)


def is_pending(s: State, leader: int) -> bool:
    """Whether the leader waits for the answer to a proposed change of the ISR."""
    return any(s.proposed_isr[leader][r] for r in range(s.replicas))


def _isr_view(s: State, leader: int) -> str:
    """The ISR that the leader knows as committed, and its pending change: `01+2>` if it has asked to add broker 2."""
    committed, proposed = s.isr[leader], s.proposed_isr[leader]
    is_earlier = _earlier_in(s, s.remote_broker_epoch, leader)
    text = spell_members(s, lambda r: bool(committed[r]), is_earlier)
    if not is_pending(s, leader):
        return text
    if any(proposed[r] and not committed[r] for r in range(s.replicas)):
        text += "+" + spell_members(s, lambda r: bool(proposed[r] and not committed[r]), is_earlier)
    if any(committed[r] and not proposed[r] for r in range(s.replicas)):
        text += "-" + spell_members(s, lambda r: bool(committed[r] and not proposed[r]), is_earlier)
    return text + STAGES[_stage_of_pending(s, leader)].sign


def _stage_of_pending(s: State, leader: int) -> AlterPartition:
    """The stage of the request for the pending change; NONE if the request in flight is about an earlier change."""
    is_same = all(s.requested_isr[leader][r] == s.proposed_isr[leader][r] for r in range(s.replicas))
    return AlterPartition(s.alter_partition[leader]) if is_same else AlterPartition.NONE


def requested_isr(s: State, leader: int) -> str:
    """The ISR that a leader's AlterPartition request names."""
    is_earlier = _earlier_in(s, s.requested_broker_epoch, leader)
    return spell_members(s, lambda r: bool(s.requested_isr[leader][r]), is_earlier)


def spell_divergence(s: State, follower: int, leader: int) -> str:
    """What a diverging response says: `e1 until 2` if epoch 1 ends at offset 2 in the leader's log."""
    return f"e{s.diverging_epoch[follower][leader]} until {s.diverging_end_offset[follower][leader]}"


# ---------------------------------------------------------------------------------------------------------- the clients


def news_of_clients(before: State | None, s: State) -> list[str]:
    """Return phrases for what clients did and learned in this step; for the first state, for what they know."""
    read = [*_read(before, s), *_news(before, s, _skipped), *_news(before, s, _contradictions)]
    acknowledged = _news(before, s, _acknowledged)
    if before is None:
        return [*read, *acknowledged]
    return [*_sent(before, s), *_decided(before, s), *read, *_consumed(before, s), *acknowledged]


def _news(before: State | None, s: State, phrases: Callable[[State], list[str]]) -> list[str]:
    """The phrases for the state `s` that did not already apply to the state before; all phrases for the first state."""
    earlier = [] if before is None else phrases(before)
    return [phrase for phrase in phrases(s) if phrase not in earlier]


def _sent(before: State, s: State) -> list[str]:
    """Phrases for records that were sent in a transaction or sent again."""
    phrases = [
        f"sends {spell_element(record)} in {name_transaction(s, s.transaction_of[record])}"
        for record in range(s.records)
        if s.transaction_of[record] != before.transaction_of[record]
    ]
    if s.retries_left < before.retries_left:
        ends = [(r, before.log_end_offset[r]) for r in range(s.replicas)]
        grown = [f"sends {spell_element(s.log_record[r][end])} again" for r, end in ends if end < s.log_end_offset[r]]
        phrases += grown or ["a resend is recognised"]
    elif s.enable_idempotence:
        phrases += _numbered(before, s)
    return phrases


def _numbered(before: State, s: State) -> list[str]:
    """Phrases for records of the idempotent producer that get new sequence numbers, or are sent but not appended."""
    if s.producer_epoch > before.producer_epoch:
        records = [spell_element(record) for record in range(s.records) if s.has_sequence[record]]
        keeps_epoch = s.delete_records > 0 and any(
            s.had_sequence[before.producer_epoch][record] for record in range(s.records)
        )
        change = "numbers from 0" if keeps_epoch else f"producer epoch {s.producer_epoch}"
        return [f"{change}{': ' if records else ''}{' '.join(records)}"]
    is_appended = any(s.log_end_offset[r] > before.log_end_offset[r] for r in range(s.replicas))
    if s.next_record > before.next_record and not is_appended:
        return [f"{spell_element(before.next_record)} is not appended"]
    return []


def _decided(before: State, s: State) -> list[str]:
    return [
        f"{name_transaction(s, t)} {TransactionState(s.transaction_state[t]).name.lower()}"
        for t in range(s.transactions)
        if s.transaction_state[t] != before.transaction_state[t]
    ]


def _read(before: State | None, s: State) -> list[str]:
    """Phrases for records that became readable, and by which readers if the two isolation levels differ."""
    phrases = []
    for offset in range(s.log_size):
        is_new, is_stable = (
            getattr(s, name)[offset] != NONE and (before is None or getattr(before, name)[offset] == NONE)
            for name in ("exposed_record", "read_committed_record")
        )
        record = s.exposed_record[offset] if is_new else s.read_committed_record[offset]
        if not (is_new or is_stable) or record >= s.records:
            continue
        who = "" if s.transactions == 0 or (is_new and is_stable) else f"read_{'un' if is_new else ''}committed "
        again = " again" if any(s.exposed_record[earlier] == record for earlier in range(offset)) else ""
        phrases.append(f"{who}reads {spell_element(record)}{again}")
    return phrases


def _skipped(s: State) -> list[str]:
    """Phrases for the aborted records below a broker's last stable offset, which read_committed readers skip."""
    return [
        f"read_committed skips {spell_element(s.log_record[r][offset])}"
        for r in range(s.replicas)
        for offset in range(min(model.last_stable_offset(s, r), s.log_end_offset[r]))
        if model.is_in_transaction(s, s.log_record[r][offset])
        if s.transaction_state[s.transaction_of[s.log_record[r][offset]]] == TransactionState.ABORTED
    ]


def _consumed(before: State, s: State) -> list[str]:
    """A phrase for each consumer whose position or known log end has changed: the record read, position and lag."""
    phrases = []
    for consumer in range(s.consumers):
        position = s.position[consumer]
        if position != before.position[consumer] or s.known_end_offset[consumer] != before.known_end_offset[consumer]:
            record = s.consumed_record[consumer][position - 1] if position > before.position[consumer] else NONE
            was_reset = s.consumed_epoch[consumer] == NONE  # and the consumer has read nothing since
            read = f"read {spell_element(record)}, " if record != NONE and not was_reset else ""
            lag = s.known_end_offset[consumer] - position
            phrases.append(f"consumer {consumer} {read}at {position}, lag {lag}")
    return phrases


def _contradictions(s: State) -> list[str]:
    """Phrases for records that are readable at an offset where another record was read first."""
    pairs = [
        (s.log_record[r][offset], model.first_read(s, offset))
        for r in range(s.replicas)
        if s.leader[r] == r
        for offset in range(s.log_size)
        if model.is_read(s, r, offset)
    ]
    return [
        f"reads {_short(s, entry)} instead of {_short(s, first)}" for entry, first in pairs if entry != first != NONE
    ]


def _short(s: State, entry: int) -> str:
    return spell_element(entry) if entry < s.records else name_entry(s, entry)


def _acknowledged(s: State) -> list[str]:
    return [f"acked {spell_element(record)}" for record in range(s.records) if s.acknowledged[record]]

"""A trace of Kafka's replication as a table: one column for the controller, one per broker, one for the clients.

In:  a trace of Kafka's model.
Out: titles and rows for table.py, and a legend of the signs that a reader may not know.

A broker is printed as `L1 a0|b1`: it leads (f: follows, t: follows and is Truncating, x: is down) in leader epoch 1,
and holds record a of epoch 0 below its high watermark and record b of epoch 1 above it. `:` marks the last stable
offset, if it is below the high watermark. `C0` and `A0` are the markers that commit or abort a transaction; `1C0` is
the marker of transaction 1 if there are several. `.` is an offset below the log start, `-` an offset below the high
watermark at which the log has no entry. `{1@2}` is an entry of the leader epoch cache (epoch 1 starts at offset 2) that
does not follow from the log or from leadership (`{1@-}`: the entry is missing). `(isr 01)` is the ISR in a leader's
view, if the controller's differs. `(e1 until 2)` is the leader's answer to a follower that reconciles its log: epoch 1
ends at offset 2. Messages in flight between brokers are shown only with --full.

The clients' column shows what the step changed for them (clients.py): records that are sent in a transaction or sent
again, transactions that are decided, records that become readable (and for whom, if not for all readers), and
acknowledgements.

The items that the generations since 2.8 add are those of partition_state.py.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Sequence

from isrcheck.models.kafka.state.values import Truncation
from isrcheck.models.language.declarations import NONE
from isrcheck.models.language.model import Instance
from isrcheck.models.run import State
from isrcheck.traces.format.spelling import spell_entry
from isrcheck.traces.format.trace import Trace
from isrcheck.traces.kafka import clients, partition_state
from isrcheck.traces.kafka.model import end_offset_for, epoch_for, is_answered, last_stable_offset, latest_epoch
from isrcheck.traces.kafka.partition_state import alters_partitions, spell_flags
from isrcheck.traces.lanes.table import StepRow

BASICS = (
    ("L1", "leads in leader epoch 1"),
    ("f1", "follows in epoch 1"),
    ("x", "does not run"),
    ("a0|b1", "record a of epoch 0 below the high watermark, record b of epoch 1 above it"),
    ("(isr 01)", "the ISR in a leader's view, if the controller's differs"),
    ("(e1 until 2)", "the leader's answer to a Truncating follower: where an epoch ends"),
)
"""The signs that every reader needs: an example and its meaning."""

LEGEND = {
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


NEWS = 16
"""The width of the clients' column in a narrow table, which is that of `read_uncommitted`."""

FILLED = ((10_000, 10_000), (22, 20), (22, 14), (18, 14), (15, 14))
"""For each value of `stacked`, the width of the controller's column and of a broker's, which items fill as lines of
text do, in the generations since 2.8: they have more items than lines would have room for."""

MOST_STACKED = 4
"""The largest value of `stacked` in `rows`, which gives the narrowest table."""


def titles(instance: Instance) -> list[str]:
    """Return the titles of the columns after the step."""
    return ["controller", *(f"broker {r}" for r in range(instance.configuration.replicas)), "clients"]


def rows(trace: Trace, stacked: int = 0) -> list[StepRow]:
    """Return one row per state; unchanged columns are empty.

    A higher `stacked` gives narrower columns with more lines: 1 puts the items after a broker's log on lines of their
    own, 2 also each client event, 3 also the controller's ISR, and 4 also breaks client events that are longer than
    `NEWS` columns.
    """
    found = []
    before: State | None = None
    known: list[tuple[str, ...]] = []
    for position, cells in enumerate(trace.states):
        s = State(trace.instance, cells)
        lanes = [_controller(s), *(_broker(s, r) for r in range(s.replicas))]
        shown = [() if known and lane == known[i] else lane for i, lane in enumerate(lanes)]
        if before is not None:
            shown = [shown[0], *(_told(before, s, r, lane) for r, lane in enumerate(shown[1:]))]
        news = clients.news(before, s)
        if stacked < 2:
            news = [", ".join(news)] if news else []
        if stacked > 3:
            news = [line for piece in news for line in textwrap.wrap(piece, NEWS, subsequent_indent="  ")]
        step = trace.spell_row(position)
        controller, *brokers = shown
        if alters_partitions(s):
            widths = FILLED[stacked]
            columns = [_filled(controller, widths[0]), *(_filled(lane, widths[1]) for lane in brokers)]
        else:
            columns = [_lines(controller, stacked > 2), *(_lines(lane, stacked > 0) for lane in brokers)]
        lines = (*columns, tuple(news))
        found.append(StepRow(position, step, lines))
        before, known = s, lanes
    return found


def _lines(lane: tuple[str, ...], stacked: bool) -> tuple[str, ...]:
    if stacked:
        return (*lane[:1], *(f"  {part}" for part in lane[1:]))
    return (" ".join(lane),) if lane else ()


def _filled(lane: tuple[str, ...], width: int) -> tuple[str, ...]:
    """The items of a lane in lines of this width, as far as they fit."""
    found: list[str] = []
    for item in lane:
        if found and len(found[-1]) + 1 + len(item) <= width:
            found[-1] += f" {item}"
        else:
            found.append(f"  {item}" if found else item)
    return tuple(found)


def legend(trace: Trace) -> list[str]:
    """Return the meanings of the signs that occur in the lanes of this trace."""
    states = [State(trace.instance, cells) for cells in trace.states]
    lanes = [_broker(s, r) for s in states for r in range(s.replicas)]
    # Lower-case letters in a log are records.
    signs = {sign for log, *_ in lanes for sign in log[3:] if not sign.islower()}
    signs |= {part[0] for lane in lanes for part in lane}
    meanings = [meaning for sign, meaning in LEGEND.items() if sign in signs]
    if states and alters_partitions(states[0]):
        items = {item for s in states for item in _controller(s)} | {item for lane in lanes for item in lane}
        meanings += [
            meaning
            for pattern, meaning in partition_state.LEGEND.items()
            if any(re.search(pattern, item) for item in items)
        ]
    return spell_legend(meanings)


def spell_legend(meanings: Sequence[tuple[str, str]]) -> list[str]:
    """Return signs and their meanings, one per line."""
    width = max((len(example) for example, _ in meanings), default=0)
    return [f"  {example:<{width}}  {meaning}" for example, meaning in meanings]


def _controller(s: State) -> tuple[str, ...]:
    leader = "no leader" if s.controller_leader == NONE else f"leader {s.controller_leader}"
    isr = f"isr {spell_flags(s, s.controller_isr)}"
    if not alters_partitions(s):
        return f"e{s.controller_epoch} {leader}", isr
    epochs = f"e{s.controller_epoch} p{s.controller_partition_epoch}"
    known = partition_state.known_by_controller(s)
    return f"{epochs} {leader}", isr, *(f"{sign} {members}" for sign, members in known.items())


# ----------------------------------------------------------------------------------------------------------- one broker


def _broker(s: State, r: int) -> tuple[str, ...]:
    """A broker's role and log, and its other items that are worth showing."""
    lane = [f"{_role(s, r):<2} {_log(s, r)}"]
    if s.TRUNC != Truncation.HW and (cache := epoch_cache_news(s, r)):
        lane.append("{" + " ".join(cache) + "}")
    if alters_partitions(s):
        lane += partition_state.broker_items(s, r)
    elif s.leader[r] == r and (believed := spell_flags(s, s.isr[r])) != spell_flags(s, s.controller_isr):
        lane.append(f"(isr {believed})")
    return tuple(lane)


def _told(before: State, s: State, r: int, lane: tuple[str, ...]) -> tuple[str, ...]:
    """The lane of a follower that was Truncating, extended by its leader's answer in this step.

    Since 2.8 the answer is a response, which partition_state.py shows while it is under way.
    """
    if alters_partitions(s):
        return lane
    asked = before.is_truncating[r] and (s.leader[r], s.leader_epoch[r]) == (before.leader[r], before.leader_epoch[r])
    if not asked or (s.is_truncating[r] and s.log_end_offset[r] == before.log_end_offset[r]):
        return lane
    answer = epoch_answer(before, r)
    return (*lane, f"({answer})") if answer else lane


def epoch_answer(s: State, r: int) -> str:
    """Return the leader's answer to a follower that asks where its latest epoch ends; "" if its log is empty."""
    leader, epoch = s.leader[r], latest_epoch(s, r)
    if epoch == NONE:
        if s.log_end_offset[r] == s.log_start_offset[r]:
            return ""
        is_told = is_answered(s, leader, epoch)
        return f"no epoch until {end_offset_for(s, leader, epoch)}" if is_told else "no epoch"
    if not is_answered(s, leader, epoch):
        return f"e{epoch} unknown"
    known = epoch if s.TRUNC == Truncation.KIP101 else epoch_for(s, leader, epoch)
    return f"e{known} until {end_offset_for(s, leader, epoch)}"


def _role(s: State, r: int) -> str:
    if not s.is_up[r]:
        return "x"
    if s.leader[r] == r:
        return f"L{s.leader_epoch[r]}"
    if s.leader[r] == NONE and alters_partitions(s):
        return f"n{s.leader_epoch[r]}"
    return f"{'t' if s.is_truncating[r] else 'f'}{s.leader_epoch[r]}"


def _log(s: State, r: int) -> str:
    """The entries from the first offset on. A sign replaces the space before the first entry that is not stable, and
    before the first entry that is not known to be committed."""
    start, end, high_watermark = s.log_start_offset[r], s.log_end_offset[r], s.high_watermark[r]
    stable = last_stable_offset(s, r)
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
    """Return the entries of the leader epoch cache that differ from the expected ones: the offset at which each epoch
    begins in the log, and, if leaders enter their epochs at once, the offset at which the broker's own epoch will
    begin."""
    found = []
    for epoch in range(s.elections + 1):
        enters = s.EPOCH_AT_BECOME_LEADER and s.leader[r] == r and s.leader_epoch[r] == epoch
        expected = next(
            (offset for offset in range(s.log_end_offset[r]) if s.log_epoch[r][offset] == epoch),
            s.log_end_offset[r] if enters else NONE,
        )
        start = s.epoch_cache[r][epoch]
        if start != expected:
            found.append(f"{epoch}@{'-' if start == NONE else start}")
    return found

"""Explains which entries or offsets contradict each other, and which steps wrote each of them.

In:  the timeline of a trace of Kafka's model, and the values of the property's variables for which it is false.
Out: lines of any length, which table.fitted breaks.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from itertools import pairwise

from isrcheck.models.language.declarations import NONE
from isrcheck.models.run import State
from isrcheck.traces.explaining.isr_changes import passed_member
from isrcheck.traces.explaining.timeline import Timeline
from isrcheck.traces.format.spelling import name_entry, spell_entry
from isrcheck.traces.kafka.model import first_read, last_stable_offset


def _is_committed(r: int, offset: int, s: State) -> bool:
    return bool(s.high_watermark[r] > offset)


def committed_entries(timeline: Timeline, a: int, b: int, offset: int) -> list[str]:
    """Explain that replicas `a` and `b` have different entries at an offset below both their high watermarks."""
    found = [f"offset {offset}: brokers {a} and {b} differ, below both their high watermarks"]
    for r in (a, b):
        committed = timeline.last_change(partial(_is_committed, r, offset))
        held = f"broker {r} has {timeline.entry(r, offset)}: {timeline.origin(r, offset)}"
        found.append(f"  {held}, below its high watermark {timeline.when(committed, 'since')}")
    return found


def matching_entries(timeline: Timeline, a: int, b: int, offset: int, below: int) -> list[str]:
    """Explain that replicas `a` and `b` have entries of one epoch at `offset`, but differ at the offset `below`."""
    epoch = timeline.last.log_epoch[a][offset]
    found = [f"offset {below}: brokers {a} and {b} have different entries of epoch {epoch}"]
    if offset != below:
        found = [
            f"offset {below}: brokers {a} and {b} differ, though both have an entry of epoch {epoch} at offset {offset}"
        ]
    for r in (a, b):
        found.append(f"  broker {r} has {timeline.entry(r, below)}: {timeline.origin(r, below)}")
    return found


def readable_entries(timeline: Timeline, leader: int, offset: int) -> list[str]:
    """Explain that a leader exposes another record at `offset` than the one that was read there first."""
    s = timeline.last
    record, shown = first_read(s, offset), s.log_record[leader][offset]
    held = f"  {timeline.entry(leader, offset)}: {timeline.origin(leader, offset)}"
    if record == NONE:
        return [f"offset {offset}: broker {leader} shows {name_entry(s, shown)}, where nothing was read first", held]
    read = timeline.first(lambda s: first_read(s, offset) == record)
    epoch = _exposed_epoch(timeline.states[read], offset, record)
    told = timeline.sending(record, timeline.appended(offset, record, epoch))
    return [
        f"offset {offset}: broker {leader} shows {name_entry(s, shown)}, where {name_entry(s, record)} was read first",
        held,
        f"  {spell_entry(s, record, epoch)}: {told}, read {timeline.when(read)}",
    ]


def _exposed_epoch(s: State, offset: int, record: int) -> int:
    """The epoch of the record at `offset` in the log of a broker that exposes it."""
    holders = [r for r in range(s.replicas) if s.log_record[r][offset] == record and offset < s.high_watermark[r]]
    return int(s.log_epoch[holders[0]][offset])


def repeated_entries(timeline: Timeline, r: int, offset: int, later: int) -> list[str]:
    """Explain that replica `r` holds the same entry at `offset` and at the offset `later`."""
    name = name_entry(timeline.last, timeline.last.log_record[r][offset])
    return [f"broker {r}, the controller's leader, holds {name} twice", *_standing(timeline, r, offset, later)]


def disordered_entries(timeline: Timeline, r: int, offset: int, later: int) -> list[str]:
    """Explain that replica `r` holds, at the offset `later`, a record that was sent before the one at `offset`."""
    before, behind = (name_entry(timeline.last, timeline.last.log_record[r][o]) for o in (offset, later))
    return [
        f"broker {r}, the controller's leader, holds {behind} behind {before}, which was sent later",
        *_standing(timeline, r, offset, later),
    ]


def _standing(timeline: Timeline, r: int, *offsets: int) -> list[str]:
    return [f"  {timeline.entry(r, offset)} at offset {offset}: {timeline.origin(r, offset)}" for offset in offsets]


def crossed_offsets(timeline: Timeline, r: int) -> list[str]:
    """Explain that two of the log's offsets of replica `r`, such as LEO and HW, are in the wrong order."""
    offsets: dict[str, Callable[[State], int]] = {
        "log start offset": lambda s: s.log_start_offset[r],
        "last stable offset": lambda s: last_stable_offset(s, r),
        "high watermark": lambda s: s.high_watermark[r],
        "log end offset": lambda s: s.log_end_offset[r],
    }
    values = {name: offset(timeline.last) for name, offset in offsets.items()}
    crossed = [pair for pair in pairwise(offsets) if values[pair[0]] > values[pair[1]]]
    if not crossed:
        return []
    below, above = crossed[0]

    def since(name: str) -> str:
        changed = timeline.last_change(lambda s: offsets[name](s) == values[name])
        return f"  {name} {values[name]} {timeline.when(changed, 'since')}"

    found = f"broker {r}: {below} {values[below]} is above {above} {values[above]}"
    return [found, since(below), since(above)]


TELLERS: Mapping[str, tuple[Callable[..., list[str]], tuple[str, ...]]] = {
    "offsets_ordered": (crossed_offsets, ("r",)),
    "committed_agrees": (committed_entries, ("a", "b", "offset")),
    "log_matching": (matching_entries, ("a", "b", "offset", "below")),
    "consistent_read": (readable_entries, ("leader", "offset")),
    "no_duplicates": (repeated_entries, ("r", "offset", "later")),
    "order_preserved": (disordered_entries, ("r", "offset", "later")),
    "high_watermark_within_maximal_isr": (passed_member, ("leader", "r")),
}
"""For each property, the function that explains its failure, and the property's variables that it needs."""


def lines(timeline: Timeline, property_name: str, numbers: Mapping[str, int]) -> list[str]:
    """Return the lines that explain the failure of this property; `numbers` are the values of its variables."""
    teller, names = TELLERS.get(property_name, (None, ()))
    if teller is None or not numbers.keys() >= set(names):
        return []
    return teller(timeline, *(numbers[name] for name in names))

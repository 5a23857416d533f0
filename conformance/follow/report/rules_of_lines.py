"""Rules about a kind of line that no single guard says.

In:  a line that no path passes, its claims that are true in no state, and the states.
Out: lines of text.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from isrcheck.conformance.follow.recorded.lines import Acked, Disk, HighWatermark, Line, Metadata, Read
from isrcheck.conformance.follow.recorded.recording import Recording
from isrcheck.conformance.follow.recorded.states import Cells, Words
from isrcheck.conformance.follow.search.claims import Claim

ACKNOWLEDGED = (
    "a leader acknowledges a record when its high watermark is above it (acks=all), or as it appends it (acks=1)"
)
CHECKPOINT = (
    "a broker's checkpoint is a high watermark that it has had; later ones replace earlier ones, and only a running"
    " broker writes them"
)
HIGH_WATERMARK = (
    "a leader's high watermark is the smallest log end that it knows of its ISR's members, and a follower's is that"
    " of the leader's last answer, at most its log end"
)
NO_GATE = (
    "HW_MINISR_GATE is off, so a high watermark also rises while the leader's ISR has fewer than"
    " min.insync.replicas={least} members, as in all of these states; Kafka holds it back since 3.7 (KAFKA-15583)"
)
READ = "only a broker that takes itself for the leader answers a consumer, and up to its high watermark"
METADATA = (
    "leader, leader epoch and ISR change only by a step of the controller, or by a leader's change that it accepts"
)


def rules_of(line: Line, false: Sequence[Claim], states: Words, cells: Cells, recording: Recording) -> Iterator[str]:
    """The rules about a line whose claims `false` are true in none of these states."""
    if isinstance(line, Acked):
        where = [] if line.offset is None else _offsets(states, recording.record(line.value), cells)
        if where and line.offset not in where:
            told = " or ".join(map(str, where))
            yield (
                "rule: a leader acknowledges a record at the offset at which it has appended it; in these states,"
                f" {line.value} has the offset {told}"
            )
        yield f"rule: {ACKNOWLEDGED}"
    elif isinstance(line, Disk) and any(not claim.cells for claim in false):
        yield f"rule: {CHECKPOINT}"
    elif isinstance(line, HighWatermark):
        yield f"rule: {HIGH_WATERMARK}"
        if _lacks_gate(line, states, cells, recording):
            yield f"rule: {NO_GATE.format(least=cells.instance.configuration.min_insync_replicas)}"
    elif isinstance(line, Read):
        yield f"rule: {READ}"
    elif isinstance(line, Metadata):
        yield f"rule: {METADATA}"


def _offsets(states: Words, record: int, cells: Cells) -> list[int]:
    """The offsets at which any log of any of the states has a record."""
    configuration = cells.instance.configuration
    places = [(replica, at) for replica in range(configuration.replicas) for at in range(configuration.log_size)]
    return sorted({at for replica, at in places if (cells.column(states, "log_record", replica, at) == record).any()})


def _lacks_gate(line: HighWatermark, states: Words, cells: Cells, recording: Recording) -> bool:
    """Whether the gate of min.insync.replicas is off, and would have held back the high watermark in all states."""
    configuration, leader = cells.instance.configuration, recording.replica(line.broker)
    members = sum(cells.column(states, "isr", leader, replica) for replica in range(configuration.replicas))
    is_too_small = members < configuration.min_insync_replicas
    is_higher = cells.column(states, "high_watermark", leader) > line.high_watermark
    leads = cells.column(states, "leader", leader) == leader
    return not configuration.HW_MINISR_GATE and bool((is_too_small & is_higher & leads).all())

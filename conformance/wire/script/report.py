"""Says what the clients of a play were told and read, and compares it with the trace.

In:  a trace, what was played.
Out: lines of text, an exit code.
"""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

from isrcheck.conformance.console import DIVERGED, DONE, UNDECIDED
from isrcheck.conformance.replay.driver import cells_of
from isrcheck.conformance.replay.projection import payload_of
from isrcheck.conformance.wire.script.played import Played
from isrcheck.models.run import State
from isrcheck.traces.format.trace import Trace


def lines_of(trace: Trace, played: Played) -> list[str]:
    """The report on a trace that was played to its end."""
    reading = played.reading
    if reading is None:
        return ["UNDECIDED: the new consumer could not read: the partition has no leader that answers"]
    read = [value for _, value in reading.records]
    start = f"start offset {reading.start_offset}, " if reading.start_offset else ""
    lines = [f"a new consumer reads: {' '.join(read) or 'nothing'} ({start}end offset {reading.end_offset})"]
    for value, (position, told) in sorted(played.told.items()):
        if told.error is None and value not in read:
            lines.append(
                f"Record {value} is lost: its producer was told after step {position} that it is {told},"
                " and a new consumer does not read it."
            )
    lines += [
        f"Record {value} is lost: it was committed at the start, and a new consumer does not read it."
        for value in _common(trace)
        if value not in read and value not in _deleted(trace)
    ]
    if len(lines) == 1:
        delivered = [each for _, each in played.told.values() if each.error is None]
        lines.append(
            "Every record whose producer was told that it is delivered is read."
            if delivered
            else "No producer was told that its record is delivered."
        )
    lines += [f"Record {value} is read {count} times." for value, count in Counter(read).items() if count > 1]
    lines += [
        f"Record {later} was sent after {earlier}, and is read before it."
        for later, earlier in pairwise(dict.fromkeys(read))
        if later > earlier
    ]
    if trace.verdict == "PERMITTED":
        lines.append("The configuration of the trace permits this.")
    return lines + _contradictions(trace, played)


def code_of(trace: Trace, played: Played) -> int:
    """The exit code for a trace that was played to its end."""
    if played.reading is None:
        return UNDECIDED
    return DIVERGED if _contradictions(trace, played) else DONE


def _contradictions(trace: Trace, played: Played) -> list[str]:
    """Where the clients were told or have read something else than the trace says."""
    told = {value for value, (_, each) in played.told.items() if each.error is None}
    meant = _acknowledged(trace) - set(_common(trace))
    found = [
        *(
            f"DIVERGED: the trace acknowledges record {value}, its producer was not told"
            for value in sorted(meant - told)
        ),
        *(
            f"DIVERGED: a producer was told that record {value} is delivered, the trace does not acknowledge it"
            for value in sorted(told - meant)
        ),
    ]
    if trace.property_name == "acked_not_lost" and trace.verdict is not None and played.reading is not None:
        read = {value for _, value in played.reading.records}
        if _acknowledged(trace) - _deleted(trace) <= read:
            found.append("DIVERGED: the trace loses a record, but the new consumer reads every acknowledged one")
    return found


def _acknowledged(trace: Trace) -> set[str]:
    cells = cells_of(trace.instance, trace.states[-1], "acknowledged")
    return {payload_of(record) for record, is_told in enumerate(cells) if is_told}


def _common(trace: Trace) -> list[str]:
    """The records that were committed before the first step."""
    return [payload_of(record) for record in range(cells_of(trace.instance, trace.states[0], "next_record")[0])]


def _deleted(trace: Trace) -> set[str]:
    """The records that DeleteRecords has removed in some log."""
    states = [State(trace.instance, cells) for cells in trace.states]
    removed = {
        state.log_record[replica][offset]
        for state in states
        for replica in range(state.replicas)
        for offset in range(states[-1].deleted_before)
    }
    return {payload_of(record) for record in removed if record >= 0}

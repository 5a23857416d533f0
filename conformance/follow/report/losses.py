"""Tells the loss of an acknowledged record as one: its lines in the recording, the faults, and what permits it.

In:  the path that explains a recording, with the properties that it violates.
Out: one line of text for each acknowledged record that is lost.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from isrcheck.conformance.follow.recorded.faults import FaultKind
from isrcheck.conformance.follow.recorded.lines import Acked, Disk, Fault, Line, Read
from isrcheck.conformance.follow.recorded.recording import Recording
from isrcheck.conformance.follow.search.promises import PROMISE, Failure
from isrcheck.traces.format.trace import VIOLATED
from isrcheck.traces.kafka import failures as attribution

HARMLESS = (FaultKind.START, FaultKind.THAW)
"""Faults that no loss rests on: they end other faults."""


def losses(failures: Sequence[Failure], recording: Recording, passed: Sequence[int]) -> Iterator[str]:
    """A line for each acknowledged record that is lost on the path, which has passed so many lines after each state."""
    for failure in failures:
        if failure.name == PROMISE and failure.loss is not None:
            lost = passed[failure.step - 1] if failure.step else 0
            yield _told(failure, recording.lines, lost, recording.values[failure.loss.record])


def _told(failure: Failure, lines: Sequence[Line], lost: int, value: str) -> str:
    acked = next((line for line in lines if isinstance(line, Acked) and line.value == value), None)
    gone = next((line for line in lines[lost:] if _shows_absence(line, value, acked)), None)
    faults = [line for line in lines[:lost] if isinstance(line, Fault) and line.what not in HARMLESS]
    was = "no line says so" if acked is None else acked.spot
    is_gone = "no line shows it" if gone is None else gone.spot
    rests = "; ".join(f"{line.what.value} broker {line.broker} ({line.spot})" for line in faults) or "no fault"
    permission = attribution.lines(failure.until)[-1].strip()
    verdict = "violated" if failure.verdict == VIOLATED else "broken, which is permitted,"
    return (
        f"record {value} was acknowledged ({was}), and is not in the log any more ({is_gone}): {PROMISE} is {verdict}"
        f" at step {failure.step}; before that: {rests}; {permission}"
    )


def _shows_absence(line: Line, value: str, acked: Acked | None) -> bool:
    """Whether a log, or what a consumer reads up to the record's offset, is without the record."""
    if isinstance(line, Disk):
        return value not in line.log
    reaches = acked is None or acked.offset is None or acked.offset in getattr(line, "offsets", ())
    return isinstance(line, Read) and bool(line.records) and reaches and value not in line.records

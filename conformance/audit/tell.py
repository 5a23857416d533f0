"""Tells an audit in words: for each partition a table of its copies, then the findings, worst first; then the verdict.

In:  `PartitionReport`. Out: lines of text.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from isrcheck.conformance.audit.audit_partition import PartitionReport
from isrcheck.conformance.audit.copy_log import CopyLog
from isrcheck.conformance.audit.findings import Finding, Grade
from isrcheck.conformance.compression import READ
from isrcheck.models.messages import escaped

COLUMNS = ("broker", "log start", "log end", "high watermark", "recovery point", "last epoch")
MOST_WITHOUT_FINDINGS = 10
"""With more partitions than this, those in which nothing but notes was found are only counted."""


def spell_partition(report: PartitionReport) -> Iterator[str]:
    """The table of a partition and its findings; damaged files are told on stderr instead."""
    yield f"{report.partition}: {count(len(report.logs), 'copy', 'copies')}"
    rows = [COLUMNS, *map(_row, report.logs)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(COLUMNS))]
    for row in rows:
        yield "  " + "  ".join(
            [row[0].ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True))]
        )
    for finding in report.findings:
        if finding.grade != Grade.DAMAGED:
            yield spell_finding(report.partition, finding)


def spell_finding(partition: str, finding: Finding) -> str:
    """A finding in one line."""
    return f"{finding.grade}: {partition}: {escaped(finding.what)}"


def is_told(report: PartitionReport, of: int) -> bool:
    """Whether the report of a partition is printed, among so many."""
    return of <= MOST_WITHOUT_FINDINGS or any(finding.grade != Grade.NOTE for finding in report.findings)


def closing(reports: Sequence[PartitionReport], unreadable: int) -> Iterator[str]:
    """What was read, and the verdict."""
    logs = [log for report in reports for log in report.logs]
    read = [
        count(len(reports), "partition"),
        count(len(logs), "copy", "copies"),
        count(sum(log.segments_read for log in logs), "segment"),
        count(sum(log.records_read for log in logs), "record"),
        count(sum(report.snapshots for report in reports), "producer snapshot"),
    ]
    yield f"read: {', '.join(read)}; of these, every checksum is right"
    compressed = sum(sum(number for codec, number in log.compressed.items() if codec not in READ) for log in logs)
    if compressed:
        batches = count(compressed, "batch", "batches")
        yield f"compressed: {batches} with snappy or zstd: compared as a whole, the records in them are not read"
    tallies = [report.acked for report in reports if report.acked is not None]
    if tallies:
        everywhere, asked = sum(tally.everywhere for tally in tallies), sum(tally.asked for tally in tallies)
        yield f"acknowledged: {everywhere} of {count(asked, 'record')} on every copy that has not deleted them"
    yield verdict(reports, unreadable)


def verdict(reports: Sequence[PartitionReport], unreadable: int) -> str:
    """The verdict in one line: the worst grade, and the number of its findings."""
    for grade, word in ((Grade.BROKEN, "BROKEN"), (Grade.DAMAGED, "UNREADABLE"), (Grade.UNDECIDED, "UNDECIDED")):
        number = sum(finding.grade == grade for report in reports for finding in report.findings)
        number += unreadable if grade == Grade.DAMAGED else 0
        if number:
            what = {"BROKEN": "finding", "UNREADABLE": "file or folder", "UNDECIDED": "question"}[word]
            plural = "files or folders" if word == "UNREADABLE" else f"{what}s"
            return f"{word}: {count(number, what, plural)} in {count(len(reports), 'partition')}"
    return f"HOLDS: every invariant, in {count(len(reports), 'partition')}"


def count(number: int, noun: str, plural: str | None = None) -> str:
    """A number with its noun."""
    return f"{number:,} {noun if number == 1 else plural or f'{noun}s'}"


def _row(log: CopyLog) -> tuple[str, ...]:
    copy = log.copy
    cells = (copy.high_watermark, copy.recovery_point, log.last_epoch)
    end = f"{'' if log.is_whole else 'at least '}{log.end}"
    return (escaped(log.broker), str(log.start), end, *("-" if cell is None else str(cell) for cell in cells))

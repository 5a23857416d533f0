"""Audits one partition: reads all its copies once, side by side, and makes every check. Formats the report."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence, Set
from dataclasses import dataclass
from typing import Any

from isrcheck.conformance.audit.acknowledged import Acked, AckedCheck, Tally
from isrcheck.conformance.audit.advice import object_of_ranking, spell_ranking
from isrcheck.conformance.audit.candidates import Membership, Ranking, rank
from isrcheck.conformance.audit.comparison import CommittedCheck, compare
from isrcheck.conformance.audit.copies import Copy, CopyLog
from isrcheck.conformance.audit.findings import Finding, Grade, at_most, count, names, spell_table, worst_first
from isrcheck.conformance.audit.own_checks import SnapshotCheck, check_checkpoints, check_leader_epochs
from isrcheck.conformance.kafka_format.record_batches import READ, Batch
from isrcheck.models.messages import escaped

MOST_FINDINGS = 50
"""The most findings of a kind that differing copies of a partition make."""


@dataclass(frozen=True)
class PartitionReport:
    """The result for one partition: the logs of its copies, and the findings, worst first.

    `snapshots` is the number of producer snapshots that were compared with the log; `acked` counts the acknowledged
    records, if a list was given; `ranking` ranks the candidates for an election, if that was asked.
    """

    partition: str
    logs: tuple[CopyLog, ...]
    findings: tuple[Finding, ...]
    snapshots: int
    acked: Tally | None
    ranking: Ranking | None = None

    def has(self, grade: Grade) -> bool:
        """Whether there is a finding of this grade."""
        return any(finding.grade == grade for finding in self.findings)


def audit_partition(
    partition: str,
    copies: Sequence[Copy],
    brokers: Sequence[str],
    most: int,
    *,
    acked: Sequence[Acked] | None = None,
    isr: Set[str] | None = None,
    membership: Membership | None = None,
    hear: Callable[[Batch], None] = lambda batch: None,
) -> PartitionReport:
    """Audit a partition. `copies`: all copies of the partition; `brokers`: the names of all log folders.

    At most `most` bytes of each segment are read. `hear` is called with each batch that was read. With `membership`,
    the copies are ranked as candidates for an election, and the members of the ELR must hold what is committed, too.
    """
    logs = [CopyLog(copy, most) for copy in copies]
    for log in logs:
        log.heard.append(hear)
    related, findings = _of_one_topic(logs, membership.topic_id if membership is not None else None)
    findings += _absent(logs, brokers)
    snapshots = [SnapshotCheck(log) for log in logs]
    elr = set(membership.elr) if membership is not None else set()
    records = AckedCheck(related, acked, isr, elr) if acked is not None else None
    committed = CommittedCheck(related, isr, elr)
    differences = (finding for region in compare(related) for finding in committed.judge(region))
    findings += at_most(MOST_FINDINGS, differences)
    for log in logs:
        if log not in related:
            for _ in log.batches():  # held against its own checkpoints only
                pass
    for log, check in zip(logs, snapshots, strict=True):
        check.close()
        findings += [*log.findings, *check.findings, *check_checkpoints(log), *check_leader_epochs(log)]
    findings += at_most(MOST_FINDINGS, committed.judge_all())
    if records is not None:
        findings += records.judge_all()
    ranking = None
    if membership is not None:
        left_out = [log.broker for log in logs if log not in related]
        ranking = rank(related, membership, records.where_all() if records is not None else None, left_out)
    for log in logs:
        log.heard.clear()  # the report needs the figures of a log, not what the checks have remembered of it
    compared = sum(check.compared for check in snapshots)
    tally = records.tally if records is not None else None
    return PartitionReport(partition, tuple(logs), tuple(worst_first(findings)), compared, tally, ranking)


def _of_one_topic(logs: Sequence[CopyLog], right: str | None) -> tuple[list[CopyLog], list[Finding]]:
    """Return the logs with the topic id `right`, or with the most frequent one if `right` is not known, and a finding
    if other ids exist; all logs if no ids differ."""
    ids = sorted({log.copy.topic_id for log in logs if log.copy.topic_id is not None})
    if len(ids) < 2:
        return list(logs), []
    by_id = {topic_id: [log for log in logs if log.copy.topic_id == topic_id] for topic_id in ids}
    most = max(ids, key=lambda topic_id: (topic_id == right, len(by_id[topic_id])))
    listed = "; ".join(f"{topic_id} on {names([log.broker for log in by_id[topic_id]])}" for topic_id in ids)
    statement = (
        f"{logs[0].copy.path}: the copies are of different topics of the same name ({listed}): only those of topic id"
        f" {most} are compared; give folders of one cluster and of one moment"
    )
    return by_id[most], [Finding(Grade.DAMAGED, "topic id", statement)]


def _absent(logs: Sequence[CopyLog], brokers: Sequence[str]) -> list[Finding]:
    absent = tuple(broker for broker in brokers if broker not in {log.broker for log in logs})
    if len(logs) == 1:
        statement = f"only {logs[0].broker} has a copy: there is nothing to compare it with"
        return [Finding(Grade.NOTE, "copies", statement, absent)]
    if absent:
        return [
            Finding(Grade.NOTE, "copies", f"{names(absent)} {'has' if len(absent) == 1 else 'have'} no copy", absent)
        ]
    return []


COLUMNS = ("broker", "log start", "log end", "high watermark", "recovery point", "last epoch")
MOST_WITHOUT_FINDINGS = 10
"""With more partitions than this, those in which nothing but notes was found are only counted."""


def spell_partition(report: PartitionReport) -> Iterator[str]:
    """The lines about a partition: a table of its copies, and its findings, except those about damaged files, which
    the command prints on stderr."""
    yield f"{report.partition}: {count(len(report.logs), 'copy', 'copies')}"
    yield from spell_table([COLUMNS, *map(_row, report.logs)])
    for finding in report.findings:
        if finding.grade != Grade.DAMAGED:
            yield spell_finding(report.partition, finding)
    if report.ranking is not None:
        yield ""
        yield from spell_ranking(report.partition, report.ranking)


def spell_finding(partition: str, finding: Finding) -> str:
    """A finding in one line."""
    return f"{finding.grade}: {partition}: {escaped(finding.statement)}"


def is_told(report: PartitionReport, of: int) -> bool:
    """Whether the report of a partition is printed: if at most MOST_WITHOUT_FINDINGS partitions are audited (`of` is
    their number), if a finding has a grade other than NOTE, or if an election of some candidate loses records."""
    loses = report.ranking is not None and any(candidate.losses for candidate in report.ranking.candidates)
    return of <= MOST_WITHOUT_FINDINGS or loses or any(finding.grade != Grade.NOTE for finding in report.findings)


def closing(reports: Sequence[PartitionReport], unreadable: int) -> Iterator[str]:
    """The last lines of an audit: what was read, and the verdict."""
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
        everywhere, listed = sum(tally.everywhere for tally in tallies), sum(tally.asked for tally in tallies)
        yield f"acknowledged: {everywhere} of {count(listed, 'record')} on every copy that has not deleted them"
    yield verdict(reports, unreadable)


def verdict(reports: Sequence[PartitionReport], unreadable: int) -> str:
    """The verdict in one line: the worst grade and how many findings have it; HOLDS if all findings are notes."""
    for grade, word in ((Grade.BROKEN, "BROKEN"), (Grade.DAMAGED, "UNREADABLE"), (Grade.UNDECIDED, "UNDECIDED")):
        number = sum(finding.grade == grade for report in reports for finding in report.findings)
        number += unreadable if grade == Grade.DAMAGED else 0
        if number:
            noun = {"BROKEN": "finding", "UNREADABLE": "file or folder", "UNDECIDED": "question"}[word]
            plural = "files or folders" if word == "UNREADABLE" else f"{noun}s"
            return f"{word}: {count(number, noun, plural)} in {count(len(reports), 'partition')}"
    return f"HOLDS: every invariant, in {count(len(reports), 'partition')}"


def _row(log: CopyLog) -> tuple[str, ...]:
    copy = log.copy
    cells = (copy.high_watermark, copy.recovery_point, log.last_epoch)
    end = f"{'' if log.is_whole else 'at least '}{log.end}"
    return (escaped(log.broker), str(log.start), end, *("-" if cell is None else str(cell) for cell in cells))


def object_of(
    brokers: Sequence[str], reports: Sequence[PartitionReport], unreadable: Sequence[str], remarks: Sequence[str]
) -> dict[str, Any]:
    """The whole audit, as values for `json.dumps`; docs/audit.md describes the keys."""
    return {
        "brokers": list(brokers),
        "partitions": [_partition(report) for report in reports],
        "unreadable": list(unreadable),
        "remarks": list(remarks),
        "verdict": verdict(reports, len(unreadable)).partition(":")[0],
    }


def _partition(report: PartitionReport) -> dict[str, Any]:
    acked = report.acked
    ranking = {} if report.ranking is None else {"election": object_of_ranking(report.ranking)}
    return {
        "partition": report.partition,
        "copies": [_copy(log) for log in report.logs],
        "findings": [_finding(finding) for finding in report.findings],
        "producer_snapshots": report.snapshots,
        "acknowledged": None if acked is None else {"asked": acked.asked, "on_every_copy": acked.everywhere},
        **ranking,
    }


def _copy(log: CopyLog) -> dict[str, Any]:
    copy = log.copy
    return {
        "broker": log.broker,
        "log_start_offset": log.start,
        "log_end_offset": log.end,
        "is_whole": log.is_whole,
        "high_watermark": copy.high_watermark,
        "recovery_point": copy.recovery_point,
        "last_epoch": log.last_epoch,
        "leader_epochs": None if copy.leader_epochs is None else [list(entry) for entry in copy.leader_epochs],
        "batches": log.batches_read,
        "records": log.records_read,
        "compressed_batches": dict(log.compressed),
        "torn": log.torn,
    }


def _finding(finding: Finding) -> dict[str, Any]:
    return {
        "grade": finding.grade.value,
        "check": finding.check,
        "brokers": list(finding.brokers),
        "first_offset": finding.first,
        "last_offset": finding.last,
        "what": finding.statement,
    }

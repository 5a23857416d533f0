"""Audits one partition: reads all its copies once, side by side, and makes every check.

In:  the copies of a partition, what was acknowledged of it, and who was in its ISR. Out: `PartitionReport`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence, Set
from dataclasses import dataclass

from isrcheck.conformance.audit.acked import AckedCheck, Tally
from isrcheck.conformance.audit.acked_list import Acked
from isrcheck.conformance.audit.committed import CommittedCheck
from isrcheck.conformance.audit.copy_log import CopyLog
from isrcheck.conformance.audit.findings import Finding, Grade, at_most, names, worst_first
from isrcheck.conformance.audit.folder import Copy
from isrcheck.conformance.audit.format.batches import Batch
from isrcheck.conformance.audit.matching import compare
from isrcheck.conformance.audit.own_checks import SnapshotCheck, check_checkpoints, check_leader_epochs

MOST_FINDINGS = 50
"""The most findings of a kind that differing copies of a partition make."""


@dataclass(frozen=True)
class PartitionReport:
    """What the copies of a partition are, and what was found, worst first.

    `snapshots` is the number of producer snapshots that were compared with the log; `acked` counts the acknowledged
    records, if a list was given.
    """

    partition: str
    logs: tuple[CopyLog, ...]
    findings: tuple[Finding, ...]
    snapshots: int
    acked: Tally | None

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
    hear: Callable[[Batch], None] = lambda batch: None,
) -> PartitionReport:
    """Audit a partition of which these copies exist in the folders of these brokers.

    At most `most` bytes of each segment are read. `hear` is called with each batch that was read.
    """
    logs = [CopyLog(copy, most) for copy in copies]
    for log in logs:
        log.heard.append(hear)
    related, findings = _of_one_topic(logs)
    findings += _absent(logs, brokers)
    snapshots = [SnapshotCheck(log) for log in logs]
    records = AckedCheck(related, acked, isr) if acked is not None else None
    committed = CommittedCheck(related, isr)
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
    for log in logs:
        log.heard.clear()  # the report needs the figures of a log, not what the checks have remembered of it
    compared = sum(check.compared for check in snapshots)
    tally = records.tally if records is not None else None
    return PartitionReport(partition, tuple(logs), tuple(worst_first(findings)), compared, tally)


def _of_one_topic(logs: Sequence[CopyLog]) -> tuple[list[CopyLog], list[Finding]]:
    """The largest set of logs whose topics can be the same, and a finding about the others."""
    ids = sorted({log.copy.topic_id for log in logs if log.copy.topic_id is not None})
    if len(ids) < 2:
        return list(logs), []
    by_id = {one: [log for log in logs if log.copy.topic_id == one] for one in ids}
    most = max(ids, key=lambda one: len(by_id[one]))
    told = "; ".join(f"{one} on {names([log.broker for log in by_id[one]])}" for one in ids)
    what = (
        f"{logs[0].copy.path}: the copies are of different topics of the same name ({told}): only those of topic id"
        f" {most} are compared; give folders of one cluster and of one moment"
    )
    return by_id[most], [Finding(Grade.DAMAGED, "topic id", what)]


def _absent(logs: Sequence[CopyLog], brokers: Sequence[str]) -> list[Finding]:
    """Remarks about brokers without a copy."""
    absent = tuple(broker for broker in brokers if broker not in {log.broker for log in logs})
    if len(logs) == 1:
        what = f"only {logs[0].broker} has a copy: there is nothing to compare it with"
        return [Finding(Grade.NOTE, "copies", what, absent)]
    if absent:
        return [
            Finding(Grade.NOTE, "copies", f"{names(absent)} {'has' if len(absent) == 1 else 'have'} no copy", absent)
        ]
    return []

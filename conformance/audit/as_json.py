"""Tells an audit as one JSON object; docs/audit.md describes its keys.

In:  `PartitionReport`. Out: values for `json.dumps`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from isrcheck.conformance.audit.audit_partition import PartitionReport
from isrcheck.conformance.audit.copy_log import CopyLog
from isrcheck.conformance.audit.findings import Finding
from isrcheck.conformance.audit.tell import verdict


def object_of(
    brokers: Sequence[str], reports: Sequence[PartitionReport], unreadable: Sequence[str], remarks: Sequence[str]
) -> dict[str, Any]:
    """The whole audit."""
    return {
        "brokers": list(brokers),
        "partitions": [_partition(report) for report in reports],
        "unreadable": list(unreadable),
        "remarks": list(remarks),
        "verdict": verdict(reports, len(unreadable)).partition(":")[0],
    }


def _partition(report: PartitionReport) -> dict[str, Any]:
    acked = report.acked
    return {
        "partition": report.partition,
        "copies": [_copy(log) for log in report.logs],
        "findings": [_finding(finding) for finding in report.findings],
        "producer_snapshots": report.snapshots,
        "acknowledged": None if acked is None else {"asked": acked.asked, "on_every_copy": acked.everywhere},
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
        "what": finding.what,
    }

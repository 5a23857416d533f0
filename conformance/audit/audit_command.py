"""`conform audit`: checks whether log folders of stopped brokers satisfy the invariants of replication."""

from __future__ import annotations

import argparse
import json
import re
import time
from collections.abc import Mapping, Sequence, Set
from pathlib import Path

from isrcheck.checker.results.terminal import ProgressLine
from isrcheck.commands.declarations import Option, path
from isrcheck.commands.exit_codes import USAGE
from isrcheck.commands.program import say
from isrcheck.conformance.audit.acknowledged import Acked, acked_in
from isrcheck.conformance.audit.candidates import Membership
from isrcheck.conformance.audit.copies import PARTITION, Found, copies_in
from isrcheck.conformance.audit.findings import EXIT_CODES, Grade
from isrcheck.conformance.audit.members import BrokerNames, members_in
from isrcheck.conformance.audit.report import (
    PartitionReport,
    audit_partition,
    closing,
    is_told,
    object_of,
    spell_partition,
)
from isrcheck.conformance.console import complain, gravest
from isrcheck.conformance.kafka_format.record_batches import Batch
from isrcheck.models.messages import UsageError, escaped

MOST_BYTES = "64M"
SECONDS_BETWEEN = 0.5


def _size(option: str, text: str) -> int:
    """Read a number of bytes such as 4096, 64K, 512M or 2G. Raises UsageError."""
    match = re.fullmatch(r"([0-9]{1,12})([KMG]?)", text, re.ASCII)
    if not match or not int(match[1]):
        raise UsageError(f"{option} {text}: not a number of bytes; write it as 512M or 2G")
    return int(match[1]) << {"": 0, "K": 10, "M": 20, "G": 30}[match[2]]


OPTIONS = (
    Option(
        "DIR ...",
        "the log folder (log.dirs) of a stopped broker, or the folder of one partition; its name is the broker's",
        path,
        destination="folders",
    ),
    Option("--partition TOPIC-N", "audit only this partition (repeatable)", is_repeated=True),
    Option(
        "--acked [TOPIC-N=]FILE",
        "records acknowledged with acks=all: lines OFFSET [VALUE], or JSON (repeatable)",
        is_repeated=True,
    ),
    Option(
        "--isr [TOPIC-N=]BROKER,...",
        "the brokers that were in the ISR at the end: they must hold what is committed (repeatable)",
        is_repeated=True,
    ),
    Option(
        "--candidates",
        "rank the copies as leaders after an unclean election, by what each would lose; nothing is elected",
    ),
    Option(
        "--elr [TOPIC-N=]BROKER,...",
        "with --candidates: the brokers that were in the ELR at the end (repeatable)",
        is_repeated=True,
    ),
    Option(
        "--replicas [TOPIC-N=]BROKER,...",
        "with --candidates: all replicas of the partition, also those without a folder (repeatable)",
        is_repeated=True,
    ),
    Option(
        "--last-known-elr [TOPIC-N=]BROKER,...",
        "with --candidates: LastKnownElr at the end, which has the last known leader (repeatable)",
        is_repeated=True,
    ),
    Option(
        "--metadata PATH",
        "with --candidates: the metadata log, from which replicas, ISR, ELR and the last known leader are read"
        " (repeatable)",
        path,
        is_repeated=True,
    ),
    Option(
        "--most-bytes SIZE",
        "limit on the bytes read of each segment, such as 512M or 2G (default: %(default)s)",
        _size,
        default=MOST_BYTES,
    ),
    Option("--json", "print one JSON object instead of text"),
)


def run(arguments: argparse.Namespace) -> int:
    """Audit all partitions, even if some files cannot be read; print the report, and return the exit code."""
    folders = copies_in(arguments.folders, arguments.partition)
    names = BrokerNames(folders)
    replicas = _brokers("--replicas", arguments.replicas, folders, names, None)
    others = {broker for those in replicas.values() for broker in those}
    isr = _brokers("--isr", arguments.isr, folders, names, others)
    elr = _brokers("--elr", arguments.elr, folders, names, others, has_others=True)
    last_known = _brokers("--last-known-elr", arguments.last_known_elr, folders, names, others)
    given = {"--replicas": replicas, "--elr": elr, "--last-known-elr": last_known, "--metadata": arguments.metadata}
    for option in (option for option, values in given.items() if values and not arguments.candidates):
        raise UsageError(f"{option} is read only with --candidates; add --candidates")
    told = {**given, "--metadata": None, "--isr": isr}
    for option in (option for option, values in told.items() if values and arguments.metadata):
        raise UsageError(f"{option}: --metadata tells this, too; leave one of them out")
    acked = _acked(arguments.acked, folders)
    codes = {complain(line) for line in folders.unreadable}
    recorded: Mapping[str, Membership] = {}
    if arguments.metadata:
        recorded, remarks = members_in(arguments.metadata, folders, lambda line: codes.add(complain(line)))
        folders.remarks += remarks
    reports: list[PartitionReport] = []
    progress = _Progress(len(folders.copies))
    for partition, copies in sorted(folders.copies.items()):
        named = tuple(each.get(partition, each.get(None, ())) for each in (replicas, isr, elr, last_known))
        membership = recorded.get(partition) or Membership(named[0], named[1], named[2], named[3])
        report = audit_partition(
            partition,
            copies,
            folders.brokers,
            arguments.most_bytes,
            acked=acked.get(partition),
            isr=frozenset(membership.isr) if membership.isr else None,
            membership=membership if arguments.candidates else None,
            hear=progress.hear,
        )
        progress.next_partition()
        reports.append(report)
        codes |= {EXIT_CODES[finding.grade] for finding in report.findings}
        for finding in report.findings:
            if finding.grade == Grade.DAMAGED:
                complain(finding.statement)
        if not arguments.json and is_told(report, len(folders.copies)):
            say(*map(escaped, spell_partition(report)), "")
    if not reports:
        return USAGE
    if arguments.json:
        say(json.dumps(object_of(folders.brokers, reports, folders.unreadable, folders.remarks), indent=2))
    else:
        say(*map(escaped, (*folders.remarks, *closing(reports, len(folders.unreadable)))))
    return gravest(codes)


class _Progress:
    """Reports on stderr, at most twice a second, how much of the log folders was read."""

    def __init__(self, of: int) -> None:
        self.of = of
        self.partitions = self.batches = 0
        self._line = ProgressLine("conform audit")
        self._began = self._told = time.monotonic()

    def hear(self, batch: Batch) -> None:
        self.batches += 1
        now = time.monotonic()
        if now - self._told >= SECONDS_BETWEEN:
            self._told = now
            state = f"{self.partitions:,} of {self.of:,} partitions audited, {self.batches:,} batches read"
            self._line.tell(f"{state}, the last at byte {batch.byte:,} of its segment", now - self._began)

    def next_partition(self) -> None:
        """Count a finished partition, and erase the progress line: the partition's report is printed next."""
        self.partitions += 1
        self._line.clear()


def _brokers(
    option: str,
    texts: Sequence[str],
    folders: Found,
    names: BrokerNames,
    others: Set[str] | None,
    *,
    has_others: bool = False,
) -> Mapping[str | None, tuple[str, ...]]:
    """Return the brokers of each partition, as the values `texts` of an option list them, by their folders or ids; the
    key None is for all partitions that no value names. Raises UsageError if a broker neither has a folder nor is in
    `others`; if `others` is None, every name is allowed, and with `has_others` every id: a broker that a reassignment
    has removed may stay in the ELR."""
    listed: dict[str | None, tuple[str, ...]] = {}
    for text in texts:
        partition, brokers = _for_partition(text, folders)
        found = [names.folder_of(f"{option} {text}", broker) for broker in brokers.split(",")]
        listed[partition] = tuple(dict.fromkeys((*listed.get(partition, ()), *found)))
        for broker in sorted(found):
            is_allowed = others is None or broker in {*folders.brokers, *others} or (has_others and broker.isdecimal())
            if not broker or not is_allowed:
                known = ", ".join((*folders.brokers, *sorted((others or set()) - {*folders.brokers})))
                raise UsageError(f"{option} {text}: {broker!r} is no broker; the brokers are: {known}")
    return listed


def _acked(options: Sequence[str], folders: Found) -> Mapping[str, list[Acked]]:
    acked: dict[str, list[Acked]] = {}
    for text in options:
        named, path = _for_partition(text, folders)
        for record in acked_in(Path(path)):
            partition = record.partition or named or _only_partition(text, folders)
            if partition not in folders.copies:
                raise UsageError(f"{path}:{record.line}: no log folder has the partition {partition}")
            acked.setdefault(partition, []).append(record)
    return acked


def _only_partition(text: str, folders: Found) -> str:
    """Return the only partition outside internal topics, for an --acked option with the value `text`, which names no
    partition. Raises UsageError if there is not exactly one."""
    partitions = [partition for partition in folders.copies if not partition.startswith("__")]
    if len(partitions) != 1:
        raise UsageError(
            f"--acked {text}: no partition is named, and there are {len(partitions)}; give --acked TOPIC-N={text}"
        )
    return partitions[0]


def _for_partition(text: str, folders: Found) -> tuple[str | None, str]:
    """Split TOPIC-N=REST into (TOPIC-N, REST); return (None, `text`) if no name of a partition comes before `=`. Raises
    UsageError if no folder has the partition."""
    partition, equals, rest = text.partition("=")
    if not equals or not PARTITION.fullmatch(partition):
        return None, text
    if partition not in folders.copies:
        raise UsageError(f"{text}: no log folder has the partition {partition}")
    return partition, rest

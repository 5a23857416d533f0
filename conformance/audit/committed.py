"""Is everything that was committed still there, and the same on every copy that has to have it?

In:  the regions in which copies differ; after the last one, the logs. Out: findings.

A record is committed if it is below the high watermark of a broker that holds it. Every later leader has to hold it.
Who differs from it in an earlier leader epoch, or ends before it, may only have been stopped before the others: this is
an error if that broker was in the ISR, which the folders do not say.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence, Set
from itertools import combinations

from isrcheck.conformance.audit.copy_log import CopyLog
from isrcheck.conformance.audit.findings import Finding, Grade, names, offsets
from isrcheck.conformance.audit.matching import Group, Region


class CommittedCheck:
    """Judges the differences between the copies of a partition. `isr`: the brokers in the ISR; None: not known."""

    def __init__(self, logs: Sequence[CopyLog], isr: Set[str] | None) -> None:
        self.logs = logs
        self.isr = isr
        self._high_watermarks = {log.broker: log.copy.high_watermark or 0 for log in logs}
        self._highest = max(self._high_watermarks.values())
        self._cleaned = {log.broker: log.copy.cleaned for log in logs}
        self._told: set[tuple[str, int]] = set()
        self._compacted: dict[str, tuple[int, int]] = {}

    def judge(self, region: Region) -> Iterator[Finding]:
        """What a region in which copies differ means."""
        if region.why is not None:
            brokers = tuple(broker for group in region.groups for broker in group.brokers)
            what = f"{offsets(region.first, region.last)} of {names(brokers)} cannot be compared: {region.why}"
            yield Finding(Grade.UNDECIDED, "matching", what, brokers, region.first, region.last)
        else:
            for one, other in combinations(region.groups, 2):
                yield self._pair(region, *sorted((one, other), key=lambda group: group.epoch))
        for broker in region.holes:
            yield from self._hole(region, broker)

    def judge_all(self) -> Iterator[Finding]:
        """What the logs as a whole mean, after the last region."""
        yield from self._later_leaders()
        for log in self.logs:
            yield from self._behind(log)
        for broker, (first, count) in self._compacted.items():
            what = f"{broker} lacks {count} of the offsets from {first} on, as compaction may do"
            yield Finding(Grade.NOTE, "matching", what, (broker,), first)

    def _pair(self, region: Region, earlier: Group, later: Group) -> Finding:
        """Two groups that differ, of which `later` has the higher leader epoch, if one has."""
        brokers, first = (*earlier.brokers, *later.brokers), region.first
        values = f": {earlier.shown} against {later.shown}" if earlier.shown or later.shown else ""
        who = f"{names(earlier.brokers)} differ{'s' * (len(earlier.brokers) == 1)} from {names(later.brokers)} at"
        if len(brokers) == 2:
            who = f"{names(brokers)} differ at"
        epochs = f"(epoch {earlier.epoch} against {later.epoch}{values})"
        if earlier.epoch == later.epoch:
            what = f"{who} {offsets(first, region.last)}, both of epoch {later.epoch}{values}: an epoch has one leader"
            return Finding(Grade.BROKEN, "matching", what, brokers, first, region.last)
        high_watermark, owner = self._bound(earlier)
        if first < high_watermark:
            self._told |= {(broker, first) for broker in earlier.brokers}
            last = min(region.last, high_watermark - 1)
            what = (
                f"{who} {offsets(first, last)} {epochs}, below the high watermark {high_watermark} of {owner}: a"
                f" committed record differs, and the leader of epoch {later.epoch} did not have it"
            )
            return Finding(Grade.BROKEN, "committed", what, brokers, first, last)
        high_watermark, owner = self._bound(later)
        if first < high_watermark:
            last = min(region.last, high_watermark - 1)
            what = f"{who} {offsets(first, last)} {epochs}, below the high watermark {high_watermark} of {owner} only"
            return self._lacking(what, earlier.brokers, first, last)
        above = "every high watermark" if first >= self._highest else "the high watermarks of both"
        what = (
            f"{who} {offsets(first, region.last)} {epochs}, only above {above}: this is normal, and"
            f" {names(earlier.brokers)} will truncate there"
        )
        return Finding(Grade.NOTE, "matching", what, brokers, first, region.last)

    def _hole(self, region: Region, broker: str) -> Iterator[Finding]:
        if self._cleaned[broker] > region.first:
            first, count = self._compacted.get(broker, (region.first, 0))
            self._compacted[broker] = first, count + region.last - region.first + 1
            return
        holders = tuple(holder for group in region.groups for holder in group.brokers)
        where = offsets(region.first, region.last)
        what = f"{broker} has a hole at {where}, where {names(holders)} {_have(holders)} records"
        if region.first < self._highest:
            what += (
                f", below the high watermark {self._highest}: a committed record is missing from the middle of its log"
            )
            yield Finding(Grade.BROKEN, "committed", what, (broker,), region.first, region.last)
        else:
            yield Finding(
                Grade.NOTE, "matching", f"{what}, above every high watermark", (broker,), region.first, region.last
            )

    def _later_leaders(self) -> Iterator[Finding]:
        """Leaders that began before a record that was committed in an earlier epoch: they did not have it."""
        for log in self.logs:
            committed = min(self._high_watermarks[log.broker], log.end)
            ends = [run.last for run in log.runs]
            for (epoch, start), told_by in _starts(self.logs, log.broker).items():
                place = bisect_left(ends, max(start, log.start))
                if place == len(ends) or log.runs[place].epoch >= epoch:
                    continue
                first = max(log.runs[place].first, start, log.start)
                if first >= committed or (log.broker, first) in self._told:
                    continue
                self._told.add((log.broker, first))
                what = (
                    f"{log.broker} holds {offsets(first, committed - 1)} from epoch {log.runs[place].epoch} on, below"
                    f" its high watermark {committed}, and the leader of epoch {epoch} began at offset {start}"
                    f" (leader epochs of {names(told_by)}): it did not have this committed record"
                )
                yield Finding(Grade.BROKEN, "committed", what, (log.broker, *told_by), first, committed - 1)

    def _behind(self, log: CopyLog) -> Iterator[Finding]:
        """A copy that ends before what is committed on another one."""
        others = [other for other in self.logs if other is not log]
        committed = {other.broker: min(self._high_watermarks[other.broker], other.end) for other in others}
        most = max(committed.values(), default=0)
        if log.end >= most:
            return
        holders = [broker for broker, offset in committed.items() if offset > log.end]
        owners = [broker for broker, offset in committed.items() if offset == most]
        hold = f"{names(holders)} hold{'s' * (len(holders) == 1)}"
        if not log.is_whole:
            what = (
                f"{log.broker} is not read from offset {log.end} on; {hold} offset {log.end}, and what is committed"
                f" below the high watermark {most} of {names(owners)}"
            )
            yield Finding(Grade.UNDECIDED, "committed", what, (log.broker,), log.end, most - 1)
            return
        what = (
            f"{log.broker} lacks {offsets(log.end, most - 1)}, below the high watermark {most} of {names(owners)}"
            f" ({hold} offset {log.end})"
        )
        if self._high_watermarks[log.broker] > log.end:
            what += f"; its own high watermark is {self._high_watermarks[log.broker]}: a committed record is missing"
            yield Finding(Grade.BROKEN, "committed", what, (log.broker,), log.end, most - 1)
        else:
            yield self._lacking(what, (log.broker,), log.end, most - 1)

    def _lacking(self, what: str, brokers: tuple[str, ...], first: int, last: int) -> Finding:
        """These brokers lack what others have committed."""
        return lacking(self.isr, what, brokers, first, last)

    def _bound(self, group: Group) -> tuple[int, str]:
        """The highest high watermark of a group, and whose it is."""
        owner = max(group.brokers, key=lambda broker: self._high_watermarks[broker])
        return self._high_watermarks[owner], owner


def lacking(isr: Set[str] | None, what: str, brokers: tuple[str, ...], first: int, last: int) -> Finding:
    """The finding that these brokers lack something: an error if one of them was in the ISR."""
    if isr is None:
        why = f"if {names(brokers)} {_was(brokers)} in the ISR at the end, this is a loss, else normal; --isr tells"
        return Finding(Grade.UNDECIDED, "committed", f"{what}; {why}", brokers, first, last)
    inside = tuple(broker for broker in brokers if broker in isr)
    if inside:
        why = f"a committed record is missing, for {names(inside)} {_was(inside)} in the ISR"
        return Finding(Grade.BROKEN, "committed", f"{what}: {why}", brokers, first, last)
    why = f"this is normal, for {names(brokers)} {_was(brokers)} not in the ISR"
    return Finding(Grade.NOTE, "committed", f"{what}: {why}", brokers, first, last)


def later_leader_without(logs: Sequence[CopyLog], offset: int, epoch: int) -> tuple[int, int, str] | None:
    """A later leader that began at or before this offset, hence without its record of this epoch: its leader epoch, its
    start offset, and the broker whose log folder says so."""
    found = [
        (later, start, log.broker)
        for log in logs
        for later, start in _leader_epochs(log)
        if later > epoch and start <= offset
    ]
    return min(found, default=None)


def _starts(logs: Sequence[CopyLog], but: str) -> dict[tuple[int, int], list[str]]:
    """The leader epochs and their start offsets as the other brokers know them, and who knows them."""
    found: dict[tuple[int, int], list[str]] = {}
    for log in logs:
        if log.broker != but:
            for entry in _leader_epochs(log):
                found.setdefault(entry, []).append(log.broker)
    return dict(sorted(found.items()))


def _leader_epochs(log: CopyLog) -> Sequence[tuple[int, int]]:
    if log.copy.leader_epochs is not None:
        return log.copy.leader_epochs
    return [(run.epoch, run.first) for run in log.runs]


def _have(brokers: Sequence[str]) -> str:
    return "has" if len(brokers) == 1 else "have"


def _was(brokers: Sequence[str]) -> str:
    return "was" if len(brokers) == 1 else "were"

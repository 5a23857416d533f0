"""Does every copy hold the acknowledged records?

In:  a list of `Acked`; the batches of each copy; after the last one, the logs. Out: findings.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import partial

from isrcheck.conformance.audit.acked_list import Acked
from isrcheck.conformance.audit.committed import lacking, later_leader_without
from isrcheck.conformance.audit.copy_log import CopyLog
from isrcheck.conformance.audit.findings import Finding, Grade, at_most, names
from isrcheck.conformance.audit.format.batches import Batch, BatchError
from isrcheck.conformance.audit.format.records import CompressedError, records_of
from isrcheck.conformance.audit.matching import shown

MOST_TOLD = 20
"""The most acknowledged records of a partition that are reported one by one."""


@dataclass(frozen=True, slots=True)
class There:
    """What a copy has at the offset of an acknowledged record; `is_it` is None if the records could not be read."""

    is_it: bool | None
    epoch: int
    shown: str


@dataclass
class Tally:
    """How many acknowledged records were asked for, and how many every copy holds that has their offset."""

    asked: int = 0
    everywhere: int = 0


class AckedCheck:
    """Looks for the acknowledged records of a partition, while the logs of its copies are read."""

    def __init__(self, logs: Sequence[CopyLog], records: Sequence[Acked], isr: Set[str] | None) -> None:
        self.logs = logs
        self.isr = isr
        self.tally = Tally(len(records))
        self._records = sorted(records, key=lambda record: record.offset)
        self._offsets = [record.offset for record in self._records]
        self._there: dict[tuple[str, int], There] = {}
        for log in logs:
            log.heard.append(partial(self._hear, log))

    def _hear(self, log: CopyLog, batch: Batch) -> None:
        place = bisect_left(self._offsets, max(batch.base_offset, log.start))
        wanted: dict[int, list[int]] = {}
        while place < len(self._records) and self._offsets[place] <= batch.last_offset:
            wanted.setdefault(self._offsets[place], []).append(place)
            place += 1
        if not wanted:
            return
        try:
            for record in records_of(batch):
                told = "a marker" if batch.is_control else shown(record.value)
                for number in wanted.get(record.offset, ()):
                    is_equal = self._records[number].value in (None, record.value)
                    self._there[log.broker, number] = There(is_equal and not batch.is_control, batch.leader_epoch, told)
        except (CompressedError, BatchError) as error:
            for number in (number for numbers in wanted.values() for number in numbers):
                is_there = self._records[number].value is None and isinstance(error, CompressedError)
                self._there[log.broker, number] = There(is_there or None, batch.leader_epoch, str(error))

    def judge_all(self) -> Iterator[Finding]:
        """What the copies have of the acknowledged records."""
        behind: dict[tuple[str, tuple[str, ...]], list[Acked]] = {}
        judged = (self._judge(number, record, behind) for number, record in enumerate(self._records))
        yield from at_most(MOST_TOLD, filter(None, judged))
        for (broker, holders), records in behind.items():
            some = f"the acknowledged record at offset {records[0].offset}"
            if len(records) > 1:
                some = f"{len(records)} acknowledged records, from offset {records[0].offset} on"
            verb = "holds" if len(holders) == 1 else "hold"
            what = f"{broker} lacks {some}, which {names(holders)} {verb}"
            yield lacking(self.isr, what, (broker,), records[0].offset, records[-1].offset)

    def _judge(
        self, number: int, record: Acked, behind: dict[tuple[str, tuple[str, ...]], list[Acked]]
    ) -> Finding | None:
        """What the copies have of one record; copies that lack what others hold are added to `behind`."""
        there = {log.broker: self._there.get((log.broker, number)) for log in self.logs}
        holders = tuple(broker for broker, one in there.items() if one is not None and one.is_it)
        deleted = tuple(log.broker for log in self.logs if record.offset < log.start)
        unknown = tuple(log.broker for log in self.logs if self._is_unknown(log, record, there[log.broker]))
        lack = tuple(broker for broker in there if broker not in (*holders, *deleted, *unknown))
        name = f"the acknowledged record at offset {record.offset} (line {record.line}"
        name += f": {shown(record.value)})" if record.value is not None else ")"
        at = (record.offset, record.offset)
        if not holders:
            if unknown:
                what = f"{name} may be on {names(unknown)}: what is there was not read, or compacted"
                return Finding(Grade.UNDECIDED, "acked", what, unknown, *at)
            if deleted:
                what = f"{name} is below the log start offset of {names(deleted)}: it was deleted"
                return Finding(Grade.NOTE, "acked", what, deleted, *at)
            what = f"{name} is in no copy: {self._instead(there)}"
            return Finding(Grade.BROKEN, "acked", what, lack, *at)
        epoch = max(one.epoch for one in there.values() if one is not None and one.is_it)
        later = later_leader_without(self.logs, record.offset, epoch)
        if later is not None:
            what = (
                f"{name}, of epoch {epoch}, is only on {names(holders)}: the leader of epoch {later[0]} began at offset"
                f" {later[1]} (leader epochs of {later[2]}) without it"
            )
            return Finding(Grade.BROKEN, "acked", what, lack, *at)
        for broker in lack:
            behind.setdefault((broker, holders), []).append(record)
        self.tally.everywhere += not lack and not unknown
        return None

    @staticmethod
    def _is_unknown(log: CopyLog, record: Acked, there: There | None) -> bool:
        """Whether a copy may hold a record where it cannot be read, or held it before compaction."""
        if there is not None:
            return there.is_it is None
        return record.offset >= log.start and (
            record.offset < log.copy.cleaned if record.offset < log.end else not log.is_whole
        )

    def _instead(self, there: Mapping[str, There | None]) -> str:
        """What the copies have at the offset of a record that none of them holds."""
        brokers: dict[str, list[str]] = {}
        for log in self.logs:
            one = there[log.broker]
            what = "there is nothing on" if one is None else f"{one.shown} (epoch {one.epoch}) is there on"
            brokers.setdefault(what, []).append(log.broker)
        return "; ".join(f"{what} {names(those)}" for what, those in brokers.items())

"""Reads a list of records that were acknowledged with acks=all, and checks that every copy of their partition has them.

In:  the list: a text file with lines `OFFSET` or `OFFSET VALUE`, or with JSON objects, or a recording of observations
     or of network traffic; each batch of each copy, when it is read; the logs of the copies after the last batch.
Out: the records of the list as `Acked`, in the order of the file, or a UsageError with file and line; and the findings
     of the check.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from isrcheck.conformance.audit.comparison import lacking, later_leader_without, shown
from isrcheck.conformance.audit.copies import CopyLog, UnreadRecordsError, records_in
from isrcheck.conformance.audit.findings import Finding, Grade, at_most, names
from isrcheck.conformance.follow.format.ndjson import UnreadableError, bad_line, get, only, parsed
from isrcheck.conformance.kafka_format.log_folder import FileError, opened
from isrcheck.conformance.kafka_format.record_batches import Batch, BatchError
from isrcheck.models.messages import UsageError

LONGEST_LINE = 1 << 20
MOST_RECORDS = 1_000_000
KEYS = {"offset", "value", "topic", "partition", "note"}
CURE = 'write OFFSET, OFFSET VALUE, or {"offset": 5, "value": "..."}'


@dataclass(frozen=True, slots=True)
class Acked:
    """An acknowledged record: the number of its line in the list, its offset, its value if the list has it, and its
    partition (TOPIC-N) if the list names it."""

    line: int
    offset: int
    value: bytes | None
    partition: str | None = None


def acked_in(path: Path) -> list[Acked]:
    """The acknowledged records in the file `path`. Raises UsageError if a line is unreadable or there is no record."""
    records: list[Acked] = []
    for number, line in _lines(path):
        try:
            record = _record(number, line)
        except UnreadableError as error:
            raise bad_line(path, number, error) from None
        if record is not None:
            records.append(record)
        if len(records) > MOST_RECORDS:
            raise bad_line(path, number, f"more than {MOST_RECORDS} records; divide the list")
    if not records:
        raise UsageError(f"{path}: no acknowledged record in it; {CURE}")
    return records


def _lines(path: Path) -> Iterator[tuple[int, bytes]]:
    number = 0
    try:
        with opened(path) as (file, _):
            while line := file.readline(LONGEST_LINE + 1):
                number += 1
                if len(line) > LONGEST_LINE:
                    raise bad_line(path, number, f"the line is longer than {LONGEST_LINE} bytes; {CURE}")
                yield number, line.rstrip(b"\r\n")
    except FileError as error:
        raise UsageError(str(error)) from None


def _record(number: int, line: bytes) -> Acked | None:
    """The acknowledged record in line `number` of a list; None if the line has none. Raises UnreadableError."""
    if not line.strip() or line.startswith(b"#"):
        return None
    if line.startswith(b"{"):
        said = parsed(line)
        return _observed(number, said) if "kind" in said else _listed(number, said)
    word, _, value = line.partition(b" ")
    if not word.isdigit() or len(word) > len(str(1 << 63)):
        raise UnreadableError(f"the line does not begin with an offset; {CURE}")
    return Acked(number, _offset(int(word)), value if b" " in line else None)


def _listed(number: int, said: dict[str, Any]) -> Acked:
    only(said, KEYS)
    partition = None
    if "topic" in said or "partition" in said:
        partition = f"{get(said, 'topic', str)}-{get(said, 'partition', int)}"
    return Acked(number, _offset(get(said, "offset", int)), _value(said), partition)


def _observed(number: int, said: dict[str, Any]) -> Acked | None:
    """Return the acknowledged record in `said`, a line of a recording. Return None if `said` has no offset, or is
    neither an `acked` line with acks=all nor a `client_result` line without an error."""
    is_acked = said["kind"] == "acked" and said.get("acks", "all") in ("all", "-1", -1)
    is_result = said.get("what") == "client_result" and said.get("error", "absent") is None
    if not (is_acked or is_result) or said.get("offset") is None:
        return None
    return Acked(number, _offset(get(said, "offset", int)), _value(said))


def _value(said: dict[str, Any]) -> bytes | None:
    value = get(said, "value", str, absent=None) if said.get("value") is not None else None
    return None if value is None else value.encode("utf-8", "surrogatepass")


def _offset(offset: int) -> int:
    if not 0 <= offset < 1 << 63:
        raise UnreadableError(f"{offset} is no offset, which is a number from 0 to {(1 << 63) - 1}")
    return offset


MOST_TOLD = 20
"""The most acknowledged records of a partition that are reported one by one."""


@dataclass(frozen=True, slots=True)
class Entry:
    """What a copy has at the offset of an acknowledged record; `is_it` says whether this is the acknowledged record."""

    is_it: bool | None
    """Whether it is the acknowledged record; None if the records could not be read."""
    epoch: int
    shown: str
    """The value of the record as the report shows it."""


@dataclass(frozen=True, slots=True)
class Whereabouts:
    """Which brokers have an acknowledged record, as far as their copies were read. Each broker is in one of these."""

    record: Acked
    holders: tuple[str, ...]
    deleted: tuple[str, ...]
    """The record is below the log start offset of their copies."""
    unknown: tuple[str, ...]
    """What their copies have at the offset was not read, or compacted."""
    lack: tuple[str, ...]
    epoch: int | None
    """The leader epoch of the record; None if no copy holds it, or if copies hold it in different epochs."""


@dataclass
class Tally:
    """How many acknowledged records were looked for, and how many are in every copy that did not delete them."""

    asked: int = 0
    everywhere: int = 0


class AckedCheck:
    """Looks for the acknowledged records of a partition, while the logs of its copies are read."""

    def __init__(self, logs: Sequence[CopyLog], records: Sequence[Acked], isr: Set[str] | None, elr: Set[str]) -> None:
        self.logs = logs
        self.isr = isr
        self.elr = elr
        self.tally = Tally(len(records))
        self._records = sorted(records, key=lambda record: record.offset)
        self._offsets = [record.offset for record in self._records]
        self._entries: dict[tuple[str, int], Entry] = {}
        for log in logs:
            log.heard.append(partial(self._hear, log))

    def _hear(self, log: CopyLog, batch: Batch) -> None:
        place = bisect_left(self._offsets, max(batch.header.base_offset, log.start))
        wanted: dict[int, list[int]] = {}
        while place < len(self._records) and self._offsets[place] <= batch.header.last_offset:
            wanted.setdefault(self._offsets[place], []).append(place)
            place += 1
        if not wanted:
            return
        try:
            for record in records_in(batch):
                text = "a marker" if batch.header.is_control else shown(record.value)
                for number in wanted.get(record.offset, ()):
                    is_equal = self._records[number].value in (None, record.value)
                    self._entries[log.broker, number] = Entry(
                        is_equal and not batch.header.is_control, batch.header.leader_epoch, text
                    )
        except (UnreadRecordsError, BatchError) as error:
            for number in (number for numbers in wanted.values() for number in numbers):
                is_there = self._records[number].value is None and isinstance(error, UnreadRecordsError)
                self._entries[log.broker, number] = Entry(is_there or None, batch.header.leader_epoch, str(error))

    def judge_all(self) -> Iterator[Finding]:
        """Yield the findings about all acknowledged records, after the logs were read."""
        behind: dict[tuple[str, tuple[str, ...]], list[Acked]] = {}
        judged = (self._judge(number, record, behind) for number, record in enumerate(self._records))
        yield from at_most(MOST_TOLD, filter(None, judged))
        for (broker, holders), records in behind.items():
            some = f"the acknowledged record at offset {records[0].offset}"
            if len(records) > 1:
                some = f"{len(records)} acknowledged records, from offset {records[0].offset} on"
            verb = "holds" if len(holders) == 1 else "hold"
            statement = f"{broker} lacks {some}, which {names(holders)} {verb}"
            yield lacking(self.isr, self.elr, statement, (broker,), records[0].offset, records[-1].offset)

    def where_all(self) -> list[Whereabouts]:
        """Where each acknowledged record is, in the order of the offsets, after the logs were read."""
        return [self._where(number, record) for number, record in enumerate(self._records)]

    def _where(self, number: int, record: Acked) -> Whereabouts:
        entries = self._entries_of(number)
        holders = tuple(broker for broker, entry in entries.items() if entry is not None and entry.is_it)
        deleted = tuple(log.broker for log in self.logs if record.offset < log.start)
        unknown = tuple(log.broker for log in self.logs if self._is_unknown(log, record, entries[log.broker]))
        lack = tuple(broker for broker in entries if broker not in (*holders, *deleted, *unknown))
        epochs = {entry.epoch for entry in entries.values() if entry is not None and entry.is_it}
        return Whereabouts(record, holders, deleted, unknown, lack, epochs.pop() if len(epochs) == 1 else None)

    def _entries_of(self, number: int) -> dict[str, Entry | None]:
        return {log.broker: self._entries.get((log.broker, number)) for log in self.logs}

    def _judge(
        self, number: int, record: Acked, behind: dict[tuple[str, tuple[str, ...]], list[Acked]]
    ) -> Finding | None:
        """Return the finding about `record`, number `number` in `_records`; None if nothing is wrong. If only some
        copies lack `record`, put it into `behind` and return None: such records are reported together."""
        entries = self._entries_of(number)
        where = self._where(number, record)
        holders, deleted, unknown, lack = where.holders, where.deleted, where.unknown, where.lack
        name = f"the acknowledged record at offset {record.offset} (line {record.line}"
        name += f": {shown(record.value)})" if record.value is not None else ")"
        at = (record.offset, record.offset)
        if not holders:
            if unknown:
                statement = f"{name} may be on {names(unknown)}: what is there was not read, or compacted"
                return Finding(Grade.UNDECIDED, "acked", statement, unknown, *at)
            if deleted:
                statement = f"{name} is below the log start offset of {names(deleted)}: it was deleted"
                return Finding(Grade.NOTE, "acked", statement, deleted, *at)
            statement = f"{name} is in no copy: {self._instead(entries)}"
            return Finding(Grade.BROKEN, "acked", statement, lack, *at)
        epoch = max(entry.epoch for entry in entries.values() if entry is not None and entry.is_it)
        later = later_leader_without(self.logs, record.offset, epoch)
        if later is not None:
            statement = (
                f"{name}, of epoch {epoch}, is only on {names(holders)}: the leader of epoch {later[0]} began at offset"
                f" {later[1]} (leader epochs of {later[2]}) without it"
            )
            return Finding(Grade.BROKEN, "acked", statement, lack, *at)
        for broker in lack:
            behind.setdefault((broker, holders), []).append(record)
        self.tally.everywhere += not lack and not unknown
        return None

    @staticmethod
    def _is_unknown(log: CopyLog, record: Acked, entry: Entry | None) -> bool:
        """Whether the check of a copy is undecided: the log was not read at `record`, or may be compacted there."""
        if entry is not None:
            return entry.is_it is None
        return record.offset >= log.start and (
            record.offset < log.copy.cleaned if record.offset < log.end else not log.is_whole
        )

    def _instead(self, entries: Mapping[str, Entry | None]) -> str:
        """Return a text about a record that no copy holds: what each copy has at the record's offset instead."""
        brokers: dict[str, list[str]] = {}
        for log in self.logs:
            entry = entries[log.broker]
            state = "there is nothing on" if entry is None else f"{entry.shown} (epoch {entry.epoch}) is there on"
            brokers.setdefault(state, []).append(log.broker)
        return "; ".join(f"{state} {names(those)}" for state, those in brokers.items())

"""Converts the JSON object of a line to a typed line.

In:  the object of a line (ndjson.py).
Out: a typed line (lines.py). Bad input is a UsageError with file and line.

Each kind of line is one entry of `READERS`; a new kind of line, such as captured network traffic, adds an entry.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any, NoReturn

from isrcheck.conformance.follow.format.ndjson import UnreadableError, bad_line, parsed
from isrcheck.conformance.follow.recorded.faults import FaultKind
from isrcheck.conformance.follow.recorded.lines import (
    NULL,
    Acked,
    AlterRequest,
    Applied,
    Disk,
    ElectRequest,
    Fault,
    Header,
    HighWatermark,
    Holds,
    Line,
    LogEnd,
    Metadata,
    Read,
    Reassigned,
    Reassignment,
    Remark,
    Sent,
    View,
)
from isrcheck.models.client_settings import Acks
from isrcheck.models.messages import UsageError

REMARKS = ("roles", "note", "result", "refused")
"""Kinds of lines without a claim."""

ELECT, ELECT_UNCLEAN = "elect preferred", "elect unclean"
REASSIGN = "reassign"
REMARKED_FAULTS = ("hold", "release", "delay", "pass", "note", "refused", "heal")
"""Interventions of the experimenter; other lines record their effects."""


@dataclass(frozen=True)
class Begins:
    """Where a recording begins: its first offset and its first partition epoch, from which the lines count."""

    offset: int = 0
    partition_epoch: int = 0


class LineReader:
    """Reads the keys of one line, each with its type. Every error names file and line."""

    def __init__(self, path: Path, number: int, keys: Mapping[str, Any], begins: Begins) -> None:
        self.path = path
        self.number = number
        self.keys = keys
        self.begins = begins

    def refuse(self, what: str, cure: str) -> NoReturn:
        """Report a defect of this line."""
        raise bad_line(self.path, self.number, f"{what}; {cure}")

    def only(self, *known: str) -> None:
        """Refuse keys that this kind of line does not have: a mistyped key would silently lose an observation."""
        for key in self.keys:
            if key not in ("n", "t", "kind", "label", "from", *known):
                self.refuse(f"unknown key {key!r}", f"lines of this kind have: {', '.join(known)}")

    def optional(self, key: str, is_right: Callable[[Any], bool], what: str) -> Any:
        """The value of a key, or None if it is missing or null."""
        value = self.keys.get(key)
        if value is not None and not is_right(value):
            self.refuse(f"{key} is {_shown(value)}", f"it has to be {what}")
        return value

    def required(self, key: str, is_right: Callable[[Any], bool], what: str) -> Any:
        """The value of a key that has to be present."""
        if self.keys.get(key) is None:
            self.refuse(f"{key} is missing", f"give it: {what}")
        return self.optional(key, is_right, what)

    def flag(self, key: str) -> bool:
        """The value of a key that is true or false; false if it is missing."""
        return bool(self.optional(key, lambda value: isinstance(value, bool), "true or false"))

    def broker(self) -> int:
        """The broker of the line."""
        broker: int = self.required("broker", is_count, "the number of a broker")
        return broker

    def offset(self, key: str, *, is_required: bool = False) -> int | None:
        """The value of a key that is an offset, counted from the first offset of the recording."""
        given: int | None = (self.required if is_required else self.optional)(key, is_count, "an offset")
        return None if given is None else self._since(key, given, self.begins.offset, "offset")

    def partition_epoch(self, *, is_required: bool = False) -> int | None:
        """The partition epoch of the line, counted from the first one of the recording."""
        key = "partition_epoch"
        given: int | None = (self.required if is_required else self.optional)(key, is_count, "a partition epoch")
        return None if given is None else self._since(key, given, self.begins.partition_epoch, "partition epoch")

    def _since(self, key: str, given: int, first: int, what: str) -> int:
        if given < first:
            self.refuse(f"{key} is {given}, before the first {what} of the recording", f"correct it: {first} or later")
        return given - first

    def records(self, key: str) -> tuple[tuple[int, ...], tuple[str, ...]]:
        """The offsets and the values in a list of [offset, value], without those before the first offset."""
        pairs = self.required(key, _is_list_of(_is_record), "a list of [offset, value]")
        for (before, _), (offset, _) in pairwise(pairs):
            if offset <= before:
                self.refuse(
                    f"{key} has offset {offset} after {before}", "put the records in the order of their offsets"
                )
        first = self.begins.offset
        kept = [(offset - first, NULL if value is None else value) for offset, value in pairs if offset >= first]
        return tuple(offset for offset, _ in kept), tuple(value for _, value in kept)

    def epochs(self, key: str, count: int) -> tuple[int, ...] | None:
        """The `batch_epochs` of the records of a list, of which the last `count` are not before the first offset."""
        found = self.optional("batch_epochs", _is_list_of(is_count), "a list of leader epochs")
        if found is None:
            return None
        if len(found) != len(self.keys[key]):
            what = f"{len(found)} batch_epochs do not fit {len(self.keys[key])} records"
            self.refuse(what, "give one epoch for each record")
        return tuple(found[len(found) - count :])

    def target(self) -> frozenset[int] | None:
        """The replicas that an operator asks for; None: the reassignment is cancelled."""
        if "replicas" not in self.keys:
            self.refuse("replicas is missing", "give it: the replicas that are asked for, or null, which cancels")
        found = self.optional("replicas", _is_list_of(is_count), "a list of brokers, or null")
        if found is not None and (not found or len(set(found)) != len(found)):
            self.refuse(f"replicas is {_shown(found)}", "name at least one broker, and each once")
        return None if found is None else frozenset(found)

    def record(self) -> str:
        """The record that the line is about."""
        if "value" not in self.keys:
            self.refuse("value is missing", "give it: the record")
        found = self.optional("value", _is_value, "the record: a text, or null")
        return NULL if found is None else str(found)

    def acks(self) -> Acks | None:
        """The value of `acks` (all, 1 or 0), or None."""
        acks = self.optional("acks", lambda value: str(value) in _ACKS, "all, 1 or 0")
        return None if acks is None else _ACKS[str(acks)]


_ACKS = {"all": Acks.ALL, "-1": Acks.ALL, "1": Acks.ONE, "0": Acks.ZERO}


def is_count(value: Any) -> bool:
    """Whether a value is a whole number from 0 to Kafka's 32-bit maximum; true and false are not numbers."""
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 1 << 31


def is_peer(value: Any) -> bool:
    """Whether a value is the number of a broker, or a controller."""
    return is_count(value) or (isinstance(value, str) and value.startswith("controller"))


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_value(value: Any) -> bool:
    return value is None or _is_text(value)


def _is_list_of(is_right: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, list) and all(map(is_right, value))


def _is_record(value: Any) -> bool:
    return isinstance(value, list) and len(value) == 2 and is_count(value[0]) and _is_value(value[1])


def _is_epoch_entry(value: Any) -> bool:
    return isinstance(value, list) and len(value) == 2 and all(map(is_count, value))


def _shown(value: Any) -> str:
    text = json.dumps(value)
    return text if len(text) <= 40 else f"{text[:37]}..."


def _acked(line: LineReader, n: int) -> Line:
    line.only("value", "offset", "acks")
    return Acked(line.number, n, line.record(), line.offset("offset"), line.acks())


def _disk(line: LineReader, n: int) -> Line:
    line.only("broker", "log", "batch_epochs", "leader_epoch_checkpoint", "high_watermark_checkpoint")
    offsets, log = line.records("log")
    for position, offset in enumerate(offsets):
        if offset != position:
            what = f"log has offset {offset + line.begins.offset} at position {position}"
            line.refuse(what, "offsets have to be 0, 1, 2, ..., or begin at the first_offset of the header")
    epochs = line.epochs("log", len(log))
    entries = line.optional("leader_epoch_checkpoint", _is_list_of(_is_epoch_entry), "a list of [epoch, start offset]")
    if entries is not None and len({epoch for epoch, _ in entries}) != len(entries):
        line.refuse("leader_epoch_checkpoint names an epoch twice", "give each epoch once")
    return Disk(
        line.number,
        n,
        line.broker(),
        log,
        epochs,
        None if entries is None else _entries_since(entries, line.begins.offset),
        line.offset("high_watermark_checkpoint"),
    )


def _entries_since(entries: list[list[int]], first: int) -> tuple[tuple[int, int], ...]:
    """The entries of a leader epoch checkpoint without the epochs of the records before the first offset.

    The last epoch that begins there also has later records, so it begins at the first offset.
    """
    if not first:
        return tuple((epoch, start) for epoch, start in entries)
    before = [epoch for epoch, start in entries if start <= first]
    kept = [(max(before), 0)] if before else []
    later = [(epoch, start - first) for epoch, start in entries if start > first]
    return (*kept, *later)


def _metadata(line: LineReader, n: int) -> Line:
    line.only("leader", "isr", "leader_epoch", "partition_epoch", "seen_by", "brokers", "replicas")
    seen_by = line.optional("seen_by", is_count, "the number of a broker")
    leader = line.optional("leader", lambda value: is_count(value) or value == -1, "the number of a broker, or -1")
    if "leader" not in line.keys:
        line.refuse("leader is missing", "give the number of a broker, or -1 where there is none")
    isr = line.required("isr", _is_list_of(is_count), "a list of brokers")
    epoch = line.optional("leader_epoch", is_count, "a leader epoch")
    partition_epoch = line.partition_epoch()
    brokers = line.optional("brokers", _is_list_of(is_count), "a list of brokers")
    replicas = line.optional("replicas", _is_list_of(is_count), "a list of brokers")
    shown = None if leader == -1 else leader, frozenset(isr), epoch, frozenset(brokers or ()), partition_epoch, seen_by
    return Metadata(line.number, n, *shown, replicas=None if replicas is None else frozenset(replicas))


def _view(line: LineReader, n: int) -> Line:
    line.only("broker", "leader", "leader_epoch", "isr", "partition_epoch")
    leader = line.required("leader", lambda value: is_count(value) or value == -1, "the number of a broker, or -1")
    isr = line.optional("isr", _is_list_of(is_count), "a list of brokers")
    epoch = line.required("leader_epoch", is_count, "a leader epoch")
    broker = line.optional("broker", is_count, "the number of a broker")
    shown = None if leader == -1 else leader, epoch, None if isr is None else frozenset(isr)
    return View(line.number, n, broker, *shown, line.partition_epoch())


def _read(line: LineReader, n: int) -> Line:
    line.only("records")
    offsets, records = line.records("records")
    return Read(line.number, n, records, offsets)


def _holds(line: LineReader, n: int) -> Line:
    line.only("broker", "records", "batch_epochs")
    offsets, records = line.records("records")
    return Holds(line.number, n, line.broker(), records, offsets, line.epochs("records", len(records)))


def _alter_partition(line: LineReader, n: int) -> Line:
    line.only("leader", "isr", "leader_epoch", "partition_epoch")
    return AlterRequest(
        line.number,
        n,
        line.required("leader", is_count, "the number of a broker"),
        frozenset(line.required("isr", _is_list_of(is_count), "a list of brokers")),
        line.required("leader_epoch", is_count, "a leader epoch"),
        line.partition_epoch(is_required=True) or 0,
    )


def _applied(line: LineReader, n: int) -> Line:
    line.only("broker", "partition_epoch")
    return Applied(line.number, n, line.broker(), line.partition_epoch(is_required=True) or 0)


def _reassigned(line: LineReader, n: int) -> Line:
    line.only("replicas", "refused")
    return Reassigned(line.number, n, line.target(), line.flag("refused"))


def _high_watermark(line: LineReader, n: int) -> Line:
    line.only("broker", "high_watermark")
    return HighWatermark(line.number, n, line.broker(), line.offset("high_watermark", is_required=True) or 0)


def _log_end(line: LineReader, n: int) -> Line:
    line.only("broker", "log_end_offset", "last_epoch")
    end = line.offset("log_end_offset", is_required=True) or 0
    epoch = line.optional("last_epoch", is_count, "a leader epoch")
    return LogEnd(line.number, n, line.broker(), end, epoch if end else None)


def _fault(line: LineReader, n: int) -> Line:
    what = line.required("what", _is_text, "what happened")
    if what in REMARKED_FAULTS:
        return Remark(line.number, n)
    if what in (ELECT, ELECT_UNCLEAN):
        line.only("what", "unasked")
        return ElectRequest(line.number, n, what == ELECT_UNCLEAN, line.flag("unasked"))
    if what == REASSIGN:
        line.only("what", "replicas", "unseen")
        return Reassignment(line.number, n, line.target(), line.flag("unseen"))
    if what == "send":
        line.only("what", "value", "acks")
        return Sent(line.number, n, line.record(), line.acks())
    known = {one.value: one for one in FaultKind}
    if what not in known:
        line.refuse(
            f"unknown fault {_shown(what)}",
            f"there are: {', '.join((*known, 'send', *REMARKED_FAULTS, ELECT, ELECT_UNCLEAN, REASSIGN))}",
        )
    line.only("what", "broker", "frozen_s", *(["peer"] if what == FaultKind.CUT.value else []))
    if what == FaultKind.CUT.value and is_count(line.required("peer", is_peer, "a broker, or a controller")):
        return Remark(line.number, n)  # brokers that do not reach each other: messages are lost, as they may be always
    if str(line.keys.get("broker")).startswith("controller"):
        # It holds no replica; other lines record the effects of its absence.
        return Remark(line.number, n)
    return Fault(line.number, n, known[what], line.broker())


def _remark(line: LineReader, n: int) -> Line:
    unused, unmodelled, copies = (line.keys.get(key) for key in ("unused", "unmodelled", "copies"))
    return Remark(
        line.number,
        n,
        unused=unused if isinstance(unused, str) else "",
        unmodelled=unmodelled if isinstance(unmodelled, str) else "",
        copies=copies if isinstance(copies, int) and is_count(copies) else 0,
    )


def _header(line: LineReader, n: int) -> Line:
    line.only(
        *("min.insync.replicas", "unclean.leader.election.enable", "replicas", "all_requests"),
        *("first_offset", "first_partition_epoch"),
    )
    least = line.optional(
        "min.insync.replicas", lambda value: is_count(value) and value > 0, "a whole number, 1 or more"
    )
    unclean = line.optional("unclean.leader.election.enable", lambda value: isinstance(value, bool), "true or false")
    replicas = line.optional("replicas", _is_list_of(is_count), "a list of brokers")
    return Header(
        *(line.number, n, least, unclean, frozenset(replicas or ()), line.flag("all_requests")),
        *(line.begins.offset, line.begins.partition_epoch),
    )


READERS: Mapping[str, Callable[[LineReader, int], Line]] = {
    "header": _header,
    "acked": _acked,
    "disk": _disk,
    "metadata": _metadata,
    "view": _view,
    "high_watermark": _high_watermark,
    "log_end": _log_end,
    "holds": _holds,
    "alter_partition": _alter_partition,
    "applied": _applied,
    "reassigned": _reassigned,
    "fault": _fault,
    "client_read": _read,
    **dict.fromkeys(REMARKS, _remark),
}
"""The reader of each kind of line."""


def read_line(path: Path, number: int, said: Mapping[str, Any], begins: Begins | None = None) -> Line:
    """The typed line for the object on a line of a file that begins so. Raises UsageError."""
    line = LineReader(path, number, said, begins or begins_of(path, number, said))
    kind = line.required("kind", _is_text, f"one of {', '.join(READERS)}")
    if kind not in READERS:
        line.refuse(f"unknown kind {_shown(kind)}", f"there are: {', '.join(READERS)}")
    is_header = kind == "header"
    n = (line.optional if is_header else line.required)("n", is_count, "the number of the line")
    line.optional("t", lambda value: isinstance(value, int | float) and not isinstance(value, bool), "seconds")
    source = line.optional("from", _is_text, "the name of a file")
    return replace(READERS[kind](line, -1 if n is None else n), source=source)


def begins_of(path: Path, number: int, said: Mapping[str, Any]) -> Begins:
    """Where a recording with this first line begins: a header says so, otherwise at 0. Raises UsageError."""
    if said.get("kind") != "header":
        return Begins()
    header = LineReader(path, number, said, Begins())
    offset = header.optional("first_offset", is_count, "an offset")
    return Begins(offset or 0, header.optional("first_partition_epoch", is_count, "a partition epoch") or 0)


def is_observation(line: bytes) -> bool:
    """Whether the first line of a file begins a recording of observations, that is, has a known kind.

    Event logs begin with the version of their schema.
    """
    try:
        said = parsed(line)
    except UnreadableError:
        return False
    return "schema" not in said and str(said.get("kind")) in READERS


def only_about_kafka(path: Path, model: str | None) -> None:
    """Refuse a recording that is to be one of another model. Raises UsageError."""
    if model not in (None, "kafka"):
        raise UsageError(f"{path}: it is a recording of kafka, not a log of {model}; leave --model out")

"""Converts the JSON object of a line to a typed line.

In:  the object of a line (ndjson.py).
Out: a typed line (lines.py). Bad input is a UsageError with file and line.

Each kind of line is one entry of `READERS`; a new kind of line, such as captured network traffic, adds an entry.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NoReturn

from isrcheck.conformance.follow.format.ndjson import UnreadableError, bad_line, parsed
from isrcheck.conformance.follow.observations.lines import (
    Acked,
    AlterRequest,
    Disk,
    ElectRequest,
    Fault,
    FaultKind,
    Header,
    HighWatermark,
    Line,
    Metadata,
    Read,
    Remark,
    Sent,
)
from isrcheck.models.client_settings import Acks
from isrcheck.models.messages.errors import UsageError

REMARKS = ("roles", "note", "result")
"""Kinds of lines without a claim."""

ELECT = "elect preferred"
REMARKED_FAULTS = ("hold", "release")
"""Interventions of the experimenter; other lines record their effects."""


class LineReader:
    """Reads the keys of one line, each with its type. Every error names file and line."""

    def __init__(self, path: Path, number: int, keys: Mapping[str, Any]) -> None:
        self.path = path
        self.number = number
        self.keys = keys

    def refuse(self, what: str, cure: str) -> NoReturn:
        """Report a defect of this line."""
        raise bad_line(self.path, self.number, f"{what}; {cure}")

    def only(self, *known: str) -> None:
        """Refuse keys that this kind of line does not have: a mistyped key would silently lose an observation."""
        for key in self.keys:
            if key not in ("n", "t", "kind", "label", *known):
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

    def broker(self) -> int:
        """The broker of the line."""
        broker: int = self.required("broker", is_count, "the number of a broker")
        return broker

    def records(self, key: str) -> tuple[str, ...]:
        """The values of a list of [offset, value]; the offsets have to be 0, 1, 2, ..."""
        pairs = self.required(key, _is_list_of(_is_record), "a list of [offset, value]")
        for position, (offset, _) in enumerate(pairs):
            if offset != position:
                self.refuse(f"{key} has offset {offset} at position {position}", "offsets have to be 0, 1, 2, ...")
        return tuple(value for _, value in pairs)

    def acks(self) -> Acks | None:
        """The value of `acks` (all, 1 or 0), or None."""
        acks = self.optional("acks", lambda value: str(value) in _ACKS, "all, 1 or 0")
        return None if acks is None else _ACKS[str(acks)]


_ACKS = {"all": Acks.ALL, "-1": Acks.ALL, "1": Acks.ONE, "0": Acks.ZERO}


def is_count(value: Any) -> bool:
    """Whether a value is a whole number from 0 to Kafka's 32-bit maximum; true and false are not numbers."""
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 1 << 31


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_list_of(is_right: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, list) and all(map(is_right, value))


def _is_record(value: Any) -> bool:
    return isinstance(value, list) and len(value) == 2 and is_count(value[0]) and _is_text(value[1])


def _is_epoch_entry(value: Any) -> bool:
    return isinstance(value, list) and len(value) == 2 and all(map(is_count, value))


def _shown(value: Any) -> str:
    text = json.dumps(value)
    return text if len(text) <= 40 else f"{text[:37]}..."


def _acked(line: LineReader, n: int) -> Line:
    line.only("value", "offset", "acks")
    value = line.required("value", _is_text, "the record")
    offset = line.optional("offset", is_count, "an offset")
    return Acked(line.number, n, value, offset, line.acks())


def _disk(line: LineReader, n: int) -> Line:
    line.only("broker", "log", "batch_epochs", "leader_epoch_checkpoint", "high_watermark_checkpoint")
    log = line.records("log")
    epochs = line.optional("batch_epochs", _is_list_of(is_count), "a list of leader epochs")
    if epochs is not None and len(epochs) != len(log):
        line.refuse(f"{len(epochs)} batch_epochs do not fit {len(log)} records", "give one epoch for each record")
    entries = line.optional("leader_epoch_checkpoint", _is_list_of(_is_epoch_entry), "a list of [epoch, start offset]")
    if entries is not None and len({epoch for epoch, _ in entries}) != len(entries):
        line.refuse("leader_epoch_checkpoint names an epoch twice", "give each epoch once")
    return Disk(
        line.number,
        n,
        line.broker(),
        log,
        None if epochs is None else tuple(epochs),
        None if entries is None else tuple((epoch, offset) for epoch, offset in entries),
        line.optional("high_watermark_checkpoint", is_count, "an offset"),
    )


def _metadata(line: LineReader, n: int) -> Line:
    line.only("leader", "isr", "leader_epoch", "partition_epoch", "seen_by", "brokers")
    line.optional("seen_by", is_count, "the number of a broker")
    leader = line.optional("leader", lambda value: is_count(value) or value == -1, "the number of a broker, or -1")
    if "leader" not in line.keys:
        line.refuse("leader is missing", "give the number of a broker, or -1 where there is none")
    isr = line.required("isr", _is_list_of(is_count), "a list of brokers")
    epoch = line.optional("leader_epoch", is_count, "a leader epoch")
    partition_epoch = line.optional("partition_epoch", is_count, "a partition epoch")
    brokers = line.optional("brokers", _is_list_of(is_count), "a list of brokers")
    leads = None if leader == -1 else leader
    return Metadata(line.number, n, leads, frozenset(isr), epoch, frozenset(brokers or ()), partition_epoch)


def _read(line: LineReader, n: int) -> Line:
    line.only("records")
    return Read(line.number, n, line.records("records"))


def _alter_partition(line: LineReader, n: int) -> Line:
    line.only("leader", "isr", "leader_epoch", "partition_epoch")
    return AlterRequest(
        line.number,
        n,
        line.required("leader", is_count, "the number of a broker"),
        frozenset(line.required("isr", _is_list_of(is_count), "a list of brokers")),
        line.required("leader_epoch", is_count, "a leader epoch"),
        line.required("partition_epoch", is_count, "a partition epoch"),
    )


def _high_watermark(line: LineReader, n: int) -> Line:
    line.only("broker", "high_watermark")
    return HighWatermark(line.number, n, line.broker(), line.required("high_watermark", is_count, "an offset"))


def _fault(line: LineReader, n: int) -> Line:
    what = line.required("what", _is_text, "what happened")
    if what in REMARKED_FAULTS:
        return Remark(line.number, n)
    if what == ELECT:
        return ElectRequest(line.number, n)
    if what == "send":
        line.only("what", "value", "acks")
        return Sent(line.number, n, line.required("value", _is_text, "the record"), line.acks())
    known = {one.value: one for one in FaultKind}
    if what not in known:
        line.refuse(
            f"unknown fault {_shown(what)}", f"there are: {', '.join((*known, 'send', *REMARKED_FAULTS, ELECT))}"
        )
    line.only("what", "broker", "frozen_s")
    if line.keys.get("broker") == "controller":
        # It holds no replica; other lines record the effects of its absence.
        return Remark(line.number, n)
    return Fault(line.number, n, known[what], line.broker())


def _header(line: LineReader, n: int) -> Line:
    line.only("min.insync.replicas", "unclean.leader.election.enable", "replicas", "all_requests")
    least = line.optional(
        "min.insync.replicas", lambda value: is_count(value) and value > 0, "a whole number, 1 or more"
    )
    unclean = line.optional("unclean.leader.election.enable", lambda value: isinstance(value, bool), "true or false")
    replicas = line.optional("replicas", _is_list_of(is_count), "a list of brokers")
    all_requests = line.optional("all_requests", lambda value: isinstance(value, bool), "true or false")
    return Header(line.number, n, least, unclean, frozenset(replicas or ()), bool(all_requests))


READERS: Mapping[str, Callable[[LineReader, int], Line]] = {
    "header": _header,
    "acked": _acked,
    "disk": _disk,
    "metadata": _metadata,
    "high_watermark": _high_watermark,
    "alter_partition": _alter_partition,
    "fault": _fault,
    "client_read": _read,
    **{kind: lambda line, n: Remark(line.number, n) for kind in REMARKS},
}
"""The reader of each kind of line."""


def read_line(path: Path, number: int, said: Mapping[str, Any]) -> Line:
    """The typed line for the object on a line of a file. Raises UsageError."""
    line = LineReader(path, number, said)
    kind = line.required("kind", _is_text, f"one of {', '.join(READERS)}")
    if kind not in READERS:
        line.refuse(f"unknown kind {_shown(kind)}", f"there are: {', '.join(READERS)}")
    is_header = kind == "header"
    n = (line.optional if is_header else line.required)("n", is_count, "the number of the line")
    line.optional("t", lambda value: isinstance(value, int | float) and not isinstance(value, bool), "seconds")
    return READERS[kind](line, -1 if n is None else n)


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

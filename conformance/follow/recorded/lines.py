"""The lines of a recording of observations: one class for each kind.

The methods of a line return what it shows (records, epochs, brokers); what it claims of the state of the model; its
text in words; or a copy of it with other values, or with offsets and epochs counted from the beginning of a window.

For a new kind of line, write a new class. Its `kinds` or `faults` are the names of the kind in JSON. Each field
declares its key in JSON and the type by which it is read (`said`) and rewritten (recording.py). Some methods find in
the fields what a line shows; others, such as `claims`, return nothing unless the class overrides them. Lines that
permit steps of the model are also read by search/script.py.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from enum import IntEnum
from functools import cache, cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any, ClassVar, NoReturn, Self

from isrcheck.conformance.follow.format.ndjson import UnreadableError, bad_line, parsed
from isrcheck.conformance.follow.recorded.faults import FaultKind
from isrcheck.conformance.follow.recorded.window import FalseLine, UnfitLine, Window
from isrcheck.models.client_settings import Acks
from isrcheck.models.kafka.state.values import AlterPartition
from isrcheck.models.language.declarations import NONE

TYPE_CHECKING = False  # wire recordings are read without NumPy
if TYPE_CHECKING:
    from isrcheck.conformance.follow.recorded.states import Claim, Names, Numbers, Place, Truths, Variable, Words

MARKER = "(marker "
"""The prefix of the names of transaction markers, which no producer sends."""

NULL = "(null)"
"""The name of a record whose value is null."""

UNKNOWN = 1 << 31
"""The leader epoch of a record whose epoch no line shows; above all others."""

ELECT, ELECT_UNCLEAN = "elect preferred", "elect unclean"
REASSIGN = "reassign"


class Passing(IntEnum):
    """When a path of the model may pass a line, that is, satisfy the line and go on to the next line."""

    AT_ONCE = 0
    """As soon as it is true: every step that is possible before is possible after it, so waiting gains nothing."""

    AT_ANY_TIME = 1
    """A broker freezes, or a request is answered: fewer steps are possible after the line than before it."""

    BY_A_STEP = 2
    """A broker is killed or started, which is a step of the model."""


# --------------------------------------------------------------------------------------------------------- reading JSON


@dataclass(frozen=True)
class Begins:
    """The first offset and partition epoch of a recording: those in its lines are counted from these numbers."""

    offset: int = 0
    partition_epoch: int = 0


@dataclass
class LineReader:
    """Reads the values in the JSON object of one line, each with its type. Every error names file and line."""

    path: Path
    number: int
    keys: Mapping[str, Any]
    begins: Begins

    common: dict[str, Any] = field(default_factory=dict)
    """The fields of every line."""

    def refuse(self, defect: str, cure: str) -> NoReturn:
        raise bad_line(self.path, self.number, f"{defect}; {cure}")

    def only(self, *allowed: str) -> None:
        """Raise UsageError for keys neither `allowed` nor common to all lines: a typo would lose an observation."""
        for key in self.keys:
            if key not in ("n", "t", "kind", "label", "from", *allowed):
                self.refuse(f"unknown key {key!r}", f"lines of this kind have: {', '.join(dict.fromkeys(allowed))}")

    def value(self, key: str, is_right: Callable[[Any], bool], what: str, *, required: bool = False) -> Any:
        """The value of `key`; None if the key is missing or null. Raises UsageError if the value is not right, or if it
        is `required`, but missing or null; `what` says in the error which values are right."""
        value = self.keys.get(key)
        if value is None and required:
            self.refuse(f"{key} is missing", f"give it: {what}")
        if value is not None and not is_right(value):
            self.refuse(f"{key} is {_shown(value)}", f"it has to be {what}")
        return value

    def flag(self, key: str) -> bool:
        """The value of a key, true or false; false if the key is missing."""
        return bool(self.value(key, lambda value: isinstance(value, bool), "true or false"))

    def broker(self, key: str, *, required: bool = True) -> Any:
        return self.value(key, is_count, "the number of a broker", required=required)

    def replica(self, key: str) -> Any:
        """The value of `key`, the number of a broker that holds the partition."""
        return self.broker(key)

    def leader(self, key: str, *, required: bool = False) -> int | None:
        """The leader's number; None for -1 and, unless `required`, null. Raises UsageError if the key is missing."""
        kind = "the number of a broker, or -1"
        leader: int | None = self.value(key, lambda value: is_count(value) or value == -1, kind, required=required)
        if key not in self.keys:
            self.refuse(f"{key} is missing", f"give {kind} if there is no leader")
        return None if leader == -1 else leader

    def brokers(self, key: str, *, required: bool = False) -> Any:
        """A list of brokers, as a set; None if the key is missing."""
        brokers = self.value(key, _is_list_of(is_count), "a list of brokers", required=required)
        return None if brokers is None else frozenset(brokers)

    def replicas(self, key: str, *, required: bool = False) -> Any:
        """A list of brokers that hold the partition, as a set; None if the key is missing."""
        return self.brokers(key, required=required)

    def some_brokers(self, key: str) -> frozenset[int]:
        """A list of brokers, as a set; empty if the key is missing."""
        return self.brokers(key) or frozenset()

    def epoch(self, key: str, *, required: bool = False) -> Any:
        return self.value(key, is_count, "a leader epoch", required=required)

    def offset(self, key: str, *, required: bool = False) -> Any:
        """An offset, counted from the first offset of the recording; None if the key is missing."""
        return self._since(key, self.begins.offset, "offset", self.value(key, is_count, "an offset", required=required))

    def partition_epoch(self, key: str, *, required: bool = False) -> Any:
        """A partition epoch, counted from the first partition epoch of the recording; None if the key is missing."""
        epoch = self.value(key, is_count, "a partition epoch", required=required)
        return self._since(key, self.begins.partition_epoch, "partition epoch", epoch)

    def _since(self, key: str, first: int, kind: str, value: int | None) -> int | None:
        if value is not None and value < first:
            self.refuse(f"{key} is {value}, before the first {kind} of the recording", f"correct it: {first} or later")
        return None if value is None else value - first

    def pairs(self, key: str) -> list[tuple[int, str]]:
        """The pairs in a list of [offset, value], from the recording's first offset on, which counts as offset 0."""
        pairs = self.value(key, _is_list_of(_is_record), "a list of [offset, value]", required=True)
        for (before, _), (offset, _) in pairwise(pairs):
            if offset <= before:
                self.refuse(
                    f"{key} has offset {offset} after {before}", "put the records in the order of their offsets"
                )
        first = self.begins.offset
        return [(offset - first, NULL if value is None else value) for offset, value in pairs if offset >= first]

    def records(self, key: str) -> tuple[str, ...]:
        """The values in a list of [offset, value], from the recording's first offset on."""
        return tuple(value for _, value in self.pairs(key))

    def offsets(self, key: str) -> tuple[int, ...]:
        """The offsets in a list of [offset, value], counted from the recording's first offset."""
        return tuple(offset for offset, _ in self.pairs(key))

    def log(self, key: str) -> tuple[str, ...]:
        """The values in a list of [offset, value], from the recording's first offset on; offsets must have no gaps."""
        pairs = self.pairs(key)
        for position, (offset, _) in enumerate(pairs):
            if offset != position:
                defect = f"log has offset {offset + self.begins.offset} at position {position}"
                self.refuse(defect, "offsets have to be 0, 1, 2, ..., or begin at the first_offset of the header")
        return tuple(value for _, value in pairs)

    def epochs(self, key: str, *, of: str) -> tuple[int, ...] | None:
        """The leader epochs under `key`, one for each record that `pairs(of)` returns; None if `key` is missing."""
        epochs = self.value(key, _is_list_of(is_count), "a list of leader epochs")
        if epochs is None:
            return None
        if len(epochs) != len(self.keys[of]):
            defect = f"{len(epochs)} batch_epochs do not fit {len(self.keys[of])} records"
            self.refuse(defect, "give one epoch for each record")
        return tuple(epochs[len(epochs) - len(self.pairs(of)) :])

    def epoch_cache(self, key: str) -> tuple[tuple[int, int], ...] | None:
        """The entries of a leader epoch checkpoint, without epochs that ended before the recording's first offset.

        If an epoch began before that offset and has later records, its entry gets the first offset as its start.
        """
        entries = self.value(key, _is_list_of(_is_epoch_entry), "a list of [epoch, start offset]")
        if entries is None:
            return None
        if len({epoch for epoch, _ in entries}) != len(entries):
            self.refuse(f"{key} names an epoch twice", "give each epoch once")
        first = self.begins.offset
        if not first:
            return tuple((epoch, start) for epoch, start in entries)
        before = [epoch for epoch, start in entries if start <= first]
        kept = [(max(before), 0)] if before else []
        return (*kept, *((epoch, start - first) for epoch, start in entries if start > first))

    def target(self, key: str) -> frozenset[int] | None:
        """The replicas that an operator asks for; None: the reassignment is cancelled."""
        if key not in self.keys:
            self.refuse(f"{key} is missing", "give it: the requested replicas, or null, which cancels the reassignment")
        target = self.value(key, _is_list_of(is_count), "a list of brokers, or null")
        if target is not None and (not target or len(set(target)) != len(target)):
            self.refuse(f"{key} is {_shown(target)}", "name at least one broker, and each once")
        return None if target is None else frozenset(target)

    def record(self, key: str) -> str:
        """The value of the record that the line is about; the constant NULL, a text, if the value is null."""
        if key not in self.keys:
            self.refuse(f"{key} is missing", "give it: the record")
        value = self.value(key, _is_value, "the record: a text, or null")
        return NULL if value is None else str(value)

    def acks(self, key: str) -> Acks | None:
        """The acks of a producer: all, 1 or 0; None if the key is missing."""
        acks = self.value(key, lambda value: str(value) in _ACKS, "all, 1 or 0")
        return None if acks is None else _ACKS[str(acks)]


def said(kind: Callable[..., Any], key: str = "", **manner: Any) -> Any:
    """Declares a field of a line. The LineReader method `kind`, with the options `manner`, reads the field from JSON,
    under `key` or, if that is empty, under the field's name."""
    return field(metadata={"kind": kind, "key": key, "manner": manner})


_ACKS = {"all": Acks.ALL, "-1": Acks.ALL, "1": Acks.ONE, "0": Acks.ZERO}


def is_count(value: Any) -> bool:
    """Whether a value is a whole number from 0 to Kafka's 32-bit maximum; true and false are not numbers."""
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 1 << 31


def is_peer(value: Any) -> bool:
    """Whether a value names a broker by its number, or a controller by a text such as "controller"."""
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


# ------------------------------------------------------------------------------------------------------- the base class


KINDS: dict[str, type[Line]] = {}
"""The class of each kind of line."""

FAULTS: dict[str, type[Line]] = {}
"""The class of each line of the kind `fault` that is not a fault of a broker."""


@dataclass(frozen=True)
class Line:
    """One line of a recording. Each kind of line is a subclass; it overrides the methods for what its lines say."""

    number: int
    """The position of the line in the file."""

    n: int
    """The number that the line states."""

    source: str | None = field(default=None, kw_only=True)
    """The file or folder beside the recording from which the line comes; None: the recording itself."""

    kinds: ClassVar[tuple[str, ...]] = ()
    """The values of `kind` of such lines in JSON."""

    faults: ClassVar[tuple[str, ...]] = ()
    """The values of `what` of such lines of the kind `fault`."""

    may_change_partition: ClassVar[bool] = False
    """Whether the controller may change leader or ISR after such a line."""

    is_about_reassignments: ClassVar[bool] = False

    words: ClassVar[str]
    """The line in words, with its fields in braces."""

    def __init_subclass__(cls) -> None:
        KINDS.update(dict.fromkeys(cls.kinds, cls))
        FAULTS.update(dict.fromkeys(cls.faults, cls))

    @classmethod
    @cache
    def keys(cls) -> list[tuple[str, str, Callable[..., Any], Mapping[str, Any]]]:
        """The fields that are read from JSON: name, JSON key, LineReader method, and the options of the method."""
        read = [(field.name, field.metadata) for field in fields(cls) if field.metadata]
        return [(name, said["key"] or name, said["kind"], said["manner"]) for name, said in read]

    @classmethod
    def read(cls, reader: LineReader) -> Line:
        """Read a line of this kind from JSON. Raises UsageError."""
        keys = cls.keys()
        reader.only(*(["what"] if cls.faults else []), *(key for _, key, _, _ in keys))
        return cls(**reader.common, **{name: kind(reader, key, **manner) for name, key, kind, manner in keys})

    @property
    def spot(self) -> str:
        """Where the line is, in words: its number, or the file beside the recording from which it comes."""
        if self.source is None:
            return f"line {self.number}"
        return f"{self.source}:{self.number}" if self.source.endswith(".ndjson") else f"{self.source}/"

    @property
    def says(self) -> str:
        """The line in words."""
        return self.words.format(self)

    # ------------------------------------------------------------------------------------------------ what it shows

    def all(self, *kinds: Callable[..., Any]) -> list[Any]:
        """The values, except None, of all fields that are read by one of these LineReader methods."""
        values = (getattr(self, name) for name, _, kind, _ in self.keys() if kind in kinds)
        return [value for value in values if value is not None]

    def changed(self, changes: Mapping[Callable[..., Any], Callable[[Any], Any]]) -> Self:
        """A copy of the line with changed fields: `changes` maps a LineReader method to the function that changes the
        values of the fields which that method reads."""
        old = {name: (getattr(self, name), kind) for name, _, kind, _ in self.keys() if kind in changes}
        new = {name: changes[kind](value) for name, (value, kind) in old.items() if value is not None}
        return replace(self, **new) if new else self

    def counts(self, *, has_all_requests: bool) -> bool:
        """Whether the line is followed, because it says something about the state, a fault or a request.
        `has_all_requests`: every request has a line (see `Header`)."""
        return True

    @cached_property
    def held(self) -> tuple[str, ...]:
        """The values of the records that the line shows in a log, in order."""
        return next(iter(self.all(LineReader.log, LineReader.records)), ())

    @property
    def held_at(self) -> Sequence[int]:
        """The offsets of the records in `held`."""
        return next(iter(self.all(LineReader.offsets)), range(len(self.held)))

    @property
    def held_in(self) -> tuple[int, ...] | None:
        """The leader epochs of the records in `held`; None: the line does not show them."""
        return next(iter(self.all(LineReader.epochs)), None)

    @property
    def named(self) -> tuple[str, ...]:
        """The values of all records that the line names, in order."""
        return self.held or tuple(self.all(LineReader.record))

    @property
    def placed(self) -> Iterator[tuple[str, int, int]]:
        """The records that the line shows at an offset: value, offset, and leader epoch (UNKNOWN: not shown)."""
        yield from zip(self.held, self.held_at, self.held_in or [UNKNOWN] * len(self.held), strict=True)

    def named_since(self, offset: int) -> Sequence[str]:
        """The records that the line names; if the line shows a log, only the records from this offset on."""
        in_logs = [value for value, at in zip(self.held, self.held_at, strict=True) if at >= offset]
        return in_logs if self.held else self.named

    def lacks(self, value: str, offset: int | None) -> bool:
        """Whether the line shows a log without the record `value`, acknowledged at `offset` (None: not recorded)."""
        return False

    @property
    def bounds(self) -> Sequence[int]:
        """The offsets in the line that are not offsets of records, such as a high watermark or the end of a log."""
        return self.all(LineReader.offset)

    @property
    def epochs(self) -> Sequence[int]:
        return [*self.all(LineReader.epoch), *(self.held_in or ())]

    @property
    def metadata_epoch(self) -> int | None:
        """The leader epoch that the line shows; None if the line is not about the metadata of the cluster."""
        return None

    @property
    def replica_brokers(self) -> frozenset[int]:
        """The brokers that the line shows to hold the partition."""
        return frozenset(self.all(LineReader.replica)).union(*self.all(LineReader.replicas))

    @property
    def high_watermark_of(self) -> int | None:
        """The broker whose high watermark, whose checkpoint of it, or whose start the line shows; None: no broker."""
        return None

    @property
    def passing(self) -> Passing:
        """When a path passes the line: once the line is true, any time while it is true, or in a step of the model."""
        return Passing.AT_ONCE

    # ----------------------------------------------------------------------------------------------- what it claims

    def claims(self, place: Place) -> Iterator[Claim]:
        """The conditions that the line imposes on the state in which it was recorded."""
        yield from ()

    def rules(self, false: Sequence[Claim], states: Words, place: Place) -> Iterator[str]:
        """Rules of Kafka, in words, that may explain why no state meets the line's claims in `false`."""
        yield from ()

    # ------------------------------------------------------------------------------------------------ in the window

    def in_window(self, window: Window) -> Line | None:
        """The line with offsets and partition epochs counted from the window's start; None if it claims nothing there.
        Raises FalseLine if it contradicts the part before the window, and UnfitLine if it cannot be checked."""
        return self.behind_window(window)

    def behind_window(self, window: Window) -> Line:
        """The line for use outside the window, where only what it says of leader, ISR, requests, faults and checkpoints
        matters: its partition epoch and checkpoint are counted from the window's start."""
        return self.changed({LineReader.partition_epoch: lambda epoch: epoch - window.partition_epoch})

    def leave(self, window: Window) -> None:
        """Update what the window remembers for later lines, after this line was passed."""


def _spelled(values: Sequence[object] | frozenset[int]) -> str:
    return " ".join(map(str, sorted(values) if isinstance(values, frozenset) else values))


def _where(offsets: Sequence[int]) -> str:
    """The offsets of records as a text to append, such as " at 3 5"; empty if they are 0, 1, 2, ..."""
    return "" if list(offsets) == list(range(len(offsets))) else f" at {_spelled(offsets)}"


def _leader(leader: int | None) -> str:
    return "no leader" if leader is None else f"leader {leader}"


@dataclass(frozen=True)
class Header(Line):
    """The first line: settings of the cluster (None: not recorded), replicas, and where offsets and epochs begin."""

    min_insync_replicas: int | None = said(
        LineReader.value,
        "min.insync.replicas",
        is_right=lambda value: is_count(value) and value > 0,
        what="a whole number, 1 or more",
    )
    unclean_election: bool | None = said(
        LineReader.value,
        "unclean.leader.election.enable",
        is_right=lambda value: isinstance(value, bool),
        what="true or false",
    )

    replicas: frozenset[int] = said(LineReader.some_brokers)
    """The replicas of the partition at the beginning."""

    has_all_requests: bool = said(LineReader.flag, "all_requests")
    """Every request to change the ISR and every preferred election has a line."""

    first_offset: int = said(lambda reader, key: reader.begins.offset)
    first_partition_epoch: int = said(lambda reader, key: reader.begins.partition_epoch)
    """Where offsets and partition epochs begin."""

    kinds = ("header",)

    def counts(self, *, has_all_requests: bool) -> bool:
        return False


NO_HEADER = Header(0, -1, None, None, frozenset(), has_all_requests=False, first_offset=0, first_partition_epoch=0)
"""The header of a recording without a header."""


# --------------------------------------------------------------------------------------------------- lines about logs


@dataclass(frozen=True)
class Acked(Line):
    """A producer learned that its record was written, at this offset (None: not recorded)."""

    value: str = said(LineReader.record)
    offset: int | None = said(LineReader.offset)
    acks: Acks | None = said(LineReader.acks)  # noqa: RUF009 - a field

    kinds = ("acked",)

    @property
    def says(self) -> str:
        return f"{self.value} is acknowledged{'' if self.offset is None else f' at offset {self.offset}'}"

    @property
    def placed(self) -> Iterator[tuple[str, int, int]]:
        if self.offset is not None:
            yield self.value, self.offset, UNKNOWN

    @property
    def bounds(self) -> Sequence[int]:
        return ()

    def claims(self, place: Place) -> Iterator[Claim]:
        """The claims that the record is acknowledged, and not at another offset than the recorded one."""
        record = place.names.record(self.value)
        variable = "acknowledged", record
        yield place.cell(f"{self.value} is acknowledged", variable, 1, lambda flag: "it is not acknowledged")
        if self.offset is not None:
            elsewhere = place.elsewhere[record]
            yield place.claim(
                f"it was acknowledged at offset {self.offset}, if at all",
                lambda states, monitors: elsewhere.read(monitors) == 0,
                lambda states, monitors: [elsewhere.read(monitors)],
                lambda values: "at another offset",
            )

    def rules(self, false: Sequence[Claim], states: Words, place: Place) -> Iterator[str]:
        """The rules that say when, and at which offset, a leader acknowledges a record."""
        record = place.names.record(self.value)
        offsets = [
            offset
            for offset in range(place.log_size)
            if any((place.column(states, "log_record", replica, offset) == record).any() for replica in place.replicas)
        ]
        if self.offset is not None and offsets and self.offset not in offsets:
            yield (
                "rule: a leader acknowledges a record at the offset at which it has appended it; in these states,"
                f" {self.value} has the offset {' or '.join(map(str, offsets))}"
            )
        yield (
            "rule: a leader acknowledges a record when its high watermark is above it (acks=all), or as it appends it"
            " (acks=1)"
        )

    def in_window(self, window: Window) -> Line | None:
        """The line with its offset counted from the window's start; None if the record is settled at the line's offset,
        and is acknowledged in all states. Raises FalseLine if the record is at another offset or is not acknowledged,
        and UnfitLine if the record is unknown, or was acknowledged in only some states."""
        if self.value in window.values[int(window.has_guard) :]:
            if self.offset is not None and window.has_guard and self.offset <= window.offset:
                raise FalseLine(f"{self.value} is in no log at offset {self.offset}")
            return replace(self, offset=None if self.offset is None else self.offset - window.offset)
        if self.value not in window.settled:
            raise UnfitLine(
                f"{self.value} is acknowledged, but no line sends it, or that line is too long ago to be remembered"
            )
        offset, is_acknowledged = window.settled[self.value]
        if self.offset not in (None, offset):
            raise FalseLine(f"{self.value} is at offset {offset}")
        if is_acknowledged is False:
            raise FalseLine(f"{self.value} is not acknowledged")
        if is_acknowledged is None:
            raise UnfitLine(f"{self.value} was acknowledged in only some states, and in which is no longer known")
        return None

    def leave(self, window: Window) -> None:
        """Let the window forget the record if it is settled (window.py): later lines are not compared with it."""
        window.settled.pop(self.value, None)


@dataclass(frozen=True)
class Disk(Line):
    """The content of a broker's disk: its log and, if recorded, the leader epochs of its records, its epoch cache, and
    the checkpoint of its high watermark."""

    broker: int = said(LineReader.replica)
    log: tuple[str, ...] = said(LineReader.log)
    batch_epochs: tuple[int, ...] | None = said(LineReader.epochs, of="log")
    epoch_cache: tuple[tuple[int, int], ...] | None = said(LineReader.epoch_cache, "leader_epoch_checkpoint")
    checkpoint: int | None = said(LineReader.offset, "high_watermark_checkpoint")

    kinds = ("disk",)

    @property
    def says(self) -> str:
        checkpoint = "" if self.checkpoint is None else f", checkpointed high watermark {self.checkpoint}"
        return f"broker {self.broker} has {_spelled(self.log) or 'nothing'} on disk{checkpoint}"

    @property
    def bare(self) -> Disk:
        """The line without log and epochs, with only the broker and its checkpoint."""
        return replace(self, log=(), batch_epochs=None, epoch_cache=None)

    @property
    def bounds(self) -> Sequence[int]:
        return [len(self.log), *super().bounds, *(start for _, start in self.epoch_cache or ())]

    @property
    def epochs(self) -> Sequence[int]:
        return [*super().epochs, *(epoch for epoch, _ in self.epoch_cache or ())]

    def lacks(self, value: str, offset: int | None) -> bool:
        return value not in self.log

    @property
    def high_watermark_of(self) -> int | None:
        return None if self.checkpoint is None else self.broker

    def claims(self, place: Place) -> Iterator[Claim]:
        """The claims that the broker has this log, these epochs and this epoch cache, and had this high watermark."""
        replica, first, name = place.names.replica(self.broker), place.names.first_epoch, f"broker {self.broker}"
        if len(self.log) > place.log_size:
            yield place.never(f"the log of {name} has {len(self.log)} records", f"none has more than {place.log_size}")
            return
        says = f"the log of {name} is {place.listed(self.log)}"
        yield from _claims_of_log(self, says, "its", range(place.log_size), place)
        if self.epoch_cache is not None:
            yield self._cache_claim(place, replica, {epoch - first: offset for epoch, offset in self.epoch_cache})
        if self.checkpoint is not None:
            yield self._checkpoint_claim(place, replica, self.checkpoint)

    def _cache_claim(self, place: Place, replica: int, cache: Mapping[int, int]) -> Claim:
        first, epochs = place.names.first_epoch, place.configuration.elections + 1

        def spelled(entries: Sequence[tuple[int, int]]) -> str:
            return " ".join(f"{epoch}@{start}" for epoch, start in entries) or "empty"

        says = f"its leader epoch checkpoint is {spelled(sorted(self.epoch_cache or ()))}"
        if any(epoch >= epochs for epoch in cache):
            return place.never(says, f"the metadata shows no epoch after {epochs - 1 + first}")
        return place.equal(
            says,
            [("epoch_cache", replica, epoch) for epoch in range(epochs)],
            [cache.get(epoch, NONE) for epoch in range(epochs)],
            lambda values: spelled([(epoch + first, start) for epoch, start in enumerate(values) if start != NONE]),
        )

    @staticmethod
    def _checkpoint_claim(place: Place, replica: int, value: int) -> Claim:
        sighted, sightings = place.sighted[replica], place.sightings
        if sightings is None:
            return place.never(
                f"its checkpointed high watermark is {value}",
                "it was different, and no process ran that could have written it",
            )

        def columns(states: Words, monitors: Words) -> list[Numbers]:
            return [place.column(states, name, replica) for name in ("high_watermark", "is_up")]

        def is_true(states: Words, monitors: Words) -> Truths:
            truths: Truths = sighted.read(monitors) >= sightings
            if replica in place.stopping:
                # A process writes its checkpoint when it ends.
                high_watermark, is_up = columns(states, monitors)
                truths = truths & ((is_up == 1) | (high_watermark == value))
            return truths

        return place.claim(
            f"it has had the high watermark {value}, not before the last observed checkpoint",
            is_true,
            columns,
            lambda values: f"its high watermark is {values[0]}",
            "high_watermark",
        )

    def rules(self, false: Sequence[Claim], states: Words, place: Place) -> Iterator[str]:
        """The rule that says what a checkpoint is, if the claim about the checkpoint is false."""
        if any(not claim.cells for claim in false):
            yield (
                "rule: a broker's checkpoint is a high watermark that it has had; later ones replace earlier ones, and"
                " only a running broker writes them"
            )

    def in_window(self, window: Window) -> Disk:
        """The line with the log from the window's start on; earlier records are compared with digests of the settled
        records. Raises FalseLine if the digests differ, and UnfitLine if the window lacks a later record."""
        for value in self.log[window.offset :]:
            if value not in window.values:
                raise UnfitLine(f"{value} is on disk before a line sends it")
        if not window.has_guard:
            return self
        checkpoint = self.checkpoint
        if checkpoint is not None and not window.shows(checkpoint):
            window.leave_out(self.number)
            checkpoint = None
        checkpoint = None if checkpoint is None else checkpoint - window.offset
        if len(self.log) <= window.offset:
            window.check_short(self.broker, self.log, self.batch_epochs)
            epochs = None if self.batch_epochs is None else ()
            return replace(self.bare, batch_epochs=epochs, checkpoint=checkpoint)
        window.check_prefix(self.log, self.batch_epochs)
        kept = None
        if self.batch_epochs is not None:
            # The guard's epoch is in the digest; in the window it may count as a later one.
            guard, *later = self.batch_epochs[window.offset :]
            kept = (max(guard, window.epoch), *later)
        entries = None if self.epoch_cache is None else window.cache(self.epoch_cache)
        log = self.log[window.offset :]
        return replace(self, log=log, batch_epochs=kept, epoch_cache=entries, checkpoint=checkpoint)

    def behind_window(self, window: Window) -> Disk:
        if self.checkpoint is None:
            return self
        is_shown = window.shows(self.checkpoint)
        return replace(self, checkpoint=self.checkpoint - window.offset if is_shown else None)


@dataclass(frozen=True)
class Metadata(Line):
    """The leader (None: no running leader) and the ISR that the cluster reports, as the broker `seen_by` knows them."""

    leader: int | None = said(LineReader.leader)
    isr: frozenset[int] = said(LineReader.replicas, required=True)
    leader_epoch: int | None = said(LineReader.epoch)
    partition_epoch: int | None = said(LineReader.partition_epoch)
    seen_by: int | None = said(LineReader.broker, required=False)
    brokers: frozenset[int] = said(LineReader.some_brokers)

    replicas: frozenset[int] | None = said(LineReader.replicas)
    """The replicas of the partition, also those that leave it, in a recording with reassignments."""

    kinds = ("metadata",)

    @property
    def says(self) -> str:
        epoch = "" if self.leader_epoch is None else f" in epoch {self.leader_epoch}"
        replicas = "" if self.replicas is None else f", replicas {_spelled(self.replicas)}"
        return f"{_leader(self.leader)}{epoch}, ISR {_spelled(self.isr)}{replicas}"

    @property
    def metadata_epoch(self) -> int | None:
        return self.leader_epoch

    @property
    def replica_brokers(self) -> frozenset[int]:
        return super().replica_brokers | (frozenset() if self.leader is None else {self.leader})

    @property
    def shown(self) -> tuple[int | None, int | None, frozenset[int]]:
        return self.leader, self.leader_epoch, self.isr

    def is_before(self, epoch: int) -> bool:
        """Whether the line shows an earlier epoch than `epoch`: the answering broker lagged behind."""
        return self.leader_epoch is not None and self.leader_epoch < epoch

    def epochs_since(self, earlier: Metadata) -> int:
        """How many leader epochs have begun since an earlier line; 0 if the lines have no epochs."""
        return max(0, (self.leader_epoch or 0) - (earlier.leader_epoch or 0))

    def claims(self, place: Place) -> Iterator[Claim]:
        """The claims that the controller has this leader, these epochs, this ISR, and these replicas."""
        names = place.names
        if self.is_before(place.newest_epoch + names.first_epoch):
            yield from self._old_view(place)
            return
        if self.leader is None:
            yield self._without_leader(place)
        else:
            leader, variable = names.replica(self.leader), ("controller_leader",)
            yield place.cell(f"the leader is broker {self.leader}", variable, leader, place.spell_broker)
            if self.leader_epoch is not None:
                says, epoch = f"the leader epoch is {self.leader_epoch}", self.leader_epoch - names.first_epoch
                yield place.cell(says, ("controller_epoch",), epoch, place.spell_epoch)
        if self.partition_epoch is not None and place.alters_partitions:
            says, variable = f"the partition epoch is {self.partition_epoch}", ("controller_partition_epoch",)
            yield place.cell(says, variable, self.partition_epoch, "partition epoch {}".format)
        yield place.members("the ISR is", "controller_isr", self.isr)
        if self.replicas is not None and place.configuration.reassignments:
            yield place.members("the replicas are", "is_assigned", self.replicas)

    def _old_view(self, place: Place) -> Iterator[Claim]:
        """A claim that no state meets, if an earlier line names another leader for this line's epoch; else nothing."""
        for earlier in place.earlier:
            if not isinstance(earlier, Metadata) or earlier.leader_epoch != self.leader_epoch:
                continue
            if None not in (self.leader, earlier.leader):
                if self.leader != earlier.leader:
                    says = f"the leader of epoch {self.leader_epoch} was broker {self.leader}"
                    yield place.never(says, f"it was broker {earlier.leader} by line {earlier.number}")
                return

    @staticmethod
    def _without_leader(place: Place) -> Claim:
        def is_true(states: Words, monitors: Words) -> Truths:
            leaders = place.column(states, "controller_leader")
            is_down = [(leaders == r) & (place.column(states, "is_up", r) == 0) for r in place.replicas]
            return place.any_of(states, [leaders == NONE, *is_down])  # NONE with KRaft

        return place.claim(
            "there is no running leader",
            is_true,
            lambda states, monitors: [place.column(states, "controller_leader")],
            lambda values: place.spell_broker(values[0]),
            "controller_leader",
            "is_up",
        )

    def rules(self, false: Sequence[Claim], states: Words, place: Place) -> Iterator[str]:
        yield (
            "rule: leader, leader epoch and ISR change only by a step of the controller, or by a leader's change that"
            " it accepts"
        )


@dataclass(frozen=True)
class View(Line):
    """A broker, or the controller (`broker`: None), names the leader of an epoch, the newest or an older one."""

    broker: int | None = said(LineReader.broker, required=False)
    leader: int | None = said(LineReader.leader, required=True)
    leader_epoch: int = said(LineReader.epoch, required=True)

    isr: frozenset[int] | None = said(LineReader.brokers)
    """None if the view may lag; with a partition epoch it is the ISR of that epoch."""

    partition_epoch: int | None = said(LineReader.partition_epoch)

    kinds = ("view",)

    @property
    def says(self) -> str:
        who = "the controller" if self.broker is None else f"broker {self.broker}"
        isr = "" if self.isr is None else f", ISR {_spelled(self.isr)}"
        return f"{who} shows {_leader(self.leader)} in epoch {self.leader_epoch}{isr}"

    def claims(self, place: Place) -> Iterator[Claim]:
        """The claims that this epoch has or had this leader, and, if the line has an ISR, that ISR."""
        epoch, names = self.leader_epoch - place.names.first_epoch, place.names
        says = f"the leader of epoch {self.leader_epoch} is broker {self.leader}"
        if self.leader is not None:
            if epoch > place.configuration.elections or self.leader not in names.brokers:
                yield place.never(says, "no other line shows this epoch, or this broker")
            else:
                leader = names.replica(self.leader)
                yield place.cell(says, ("metadata_leader", epoch), leader, place.spell_broker)
        if self.isr is not None and self.partition_epoch is None:
            yield place.members("the ISR is", "controller_isr", self.isr)
        elif self.isr is not None:
            says = f"the ISR of partition epoch {self.partition_epoch} is {place.listed(sorted(self.isr))}"
            for line in (line for line in place.earlier if isinstance(line, Metadata)):
                if line.partition_epoch == self.partition_epoch and line.isr != self.isr:
                    yield place.never(says, f"it is {place.listed(sorted(line.isr))} by {line.spot}")
                    return

    def in_window(self, window: Window) -> None:
        """None: the line counts as unchecked, because the window drops metadata that all brokers have received."""
        window.leave_out(self.number)


@dataclass(frozen=True)
class HighWatermark(Line):
    """The high watermark that a broker has in memory, as its answer to a fetch shows it."""

    broker: int = said(LineReader.replica)
    high_watermark: int = said(LineReader.offset, required=True)

    kinds = ("high_watermark",)
    words = "broker {0.broker} has the high watermark {0.high_watermark}"

    @property
    def high_watermark_of(self) -> int | None:
        return self.broker

    def claims(self, place: Place) -> Iterator[Claim]:
        says = f"the high watermark of broker {self.broker} is {self.high_watermark}"
        yield place.cell(says, ("high_watermark", place.names.replica(self.broker)), self.high_watermark)

    def rules(self, false: Sequence[Claim], states: Words, place: Place) -> Iterator[str]:
        """The rule for high watermarks; and the rule for HW_MINISR_GATE=off, if it applies in all `states`."""
        yield (
            "rule: a leader's high watermark is the smallest log end that it knows of its ISR's members, and a"
            " follower's is that of the leader's last answer, at most its log end"
        )
        least = place.configuration.min_insync_replicas
        leader = place.names.replica(self.broker)
        members = sum(place.column(states, "isr", leader, replica) for replica in place.replicas)
        is_higher = place.column(states, "high_watermark", leader) > self.high_watermark
        leads = place.column(states, "leader", leader) == leader
        if not place.configuration.HW_MINISR_GATE and bool(((members < least) & is_higher & leads).all()):
            yield (
                "rule: HW_MINISR_GATE is off, so a high watermark also rises while the leader's ISR has fewer than"
                f" min.insync.replicas={least} members, as in all of these states; Kafka holds it back since 3.7"
                " (KAFKA-15583)"
            )

    def in_window(self, window: Window) -> HighWatermark:
        """The line with its high watermark counted from the window's start; 0 if it is before that start. Raises
        FalseLine if the window remembers a different high watermark of the broker."""
        if window.shows(self.high_watermark):
            return replace(self, high_watermark=self.high_watermark - window.offset)
        short = window.short(self.broker)
        mark = None if short is None else short.high_watermark
        if mark is None:
            window.leave_out(self.number)
        elif mark != self.high_watermark:
            raise FalseLine(f"the high watermark of broker {self.broker} is {mark}")
        return replace(self, high_watermark=0)


@dataclass(frozen=True)
class LogEnd(Line):
    """The log end offset of a follower, as its fetch shows it, and the leader epoch of its last record, if known."""

    broker: int = said(LineReader.replica)
    log_end_offset: int = said(LineReader.offset, required=True)
    last_epoch: int | None = said(LineReader.epoch)

    kinds = ("log_end",)
    words = "the log of broker {0.broker} ends at {0.log_end_offset}"

    @classmethod
    def read(cls, reader: LineReader) -> Line:
        """Read the line from JSON; drop the last record's epoch if the log ends at the recording's first offset."""
        line = super().read(reader)
        return line if any(line.all(LineReader.offset)) else line.changed({LineReader.epoch: lambda epoch: None})

    def claims(self, place: Place) -> Iterator[Claim]:
        replica, end = place.names.replica(self.broker), self.log_end_offset
        if end > place.log_size:
            yield place.never(self.says, f"no log has more than {place.log_size} records")
            return
        yield place.cell(self.says, ("log_end_offset", replica), end)
        if self.last_epoch is not None:
            yield place.cell(
                f"its last record has the epoch {self.last_epoch}",
                ("log_epoch", replica, end - 1),
                self.last_epoch - place.names.first_epoch,
                lambda epoch: "the log is shorter" if epoch == NONE else place.spell_epoch(epoch),
            )

    def in_window(self, window: Window) -> LogEnd:
        """The line with its log end offset counted from the window's start; 0 if it is before that start. Raises
        FalseLine if the broker's log, as the window remembers it, ends elsewhere."""
        if window.shows(self.log_end_offset):
            epoch = self.last_epoch
            if window.has_guard and self.log_end_offset == window.offset + 1 and epoch is not None:
                window.check_guard(epoch)
                epoch = None
            return replace(self, log_end_offset=self.log_end_offset - window.offset, last_epoch=epoch)
        short = window.short(self.broker)
        if short is None:
            raise FalseLine(f"the log of broker {self.broker} has more than {window.offset} records")
        if short.length != self.log_end_offset:
            raise FalseLine(f"the log of broker {self.broker} ends at {short.length}")
        return replace(self, log_end_offset=0, last_epoch=None)


class Records(Line):
    """A line that shows some records at ascending offsets."""

    records: tuple[str, ...]
    offsets: tuple[int, ...]

    @property
    def bounds(self) -> Sequence[int]:
        return (self.offsets[0], self.offsets[-1] + 1) if self.offsets else ()

    def in_window(self, window: Window) -> Line | None:
        """The line with its records from the window's start on; None if the line has no such records. Raises FalseLine
        if an earlier record differs from the settled one, and UnfitLine if the window lacks a later record."""
        offsets, records = window.since_guard(self.number, self.records, self.offsets)
        changes: dict[Callable[..., Any], Callable[[Any], Any]] = {
            LineReader.records: lambda _: records,
            LineReader.offsets: lambda _: offsets,
            LineReader.epochs: lambda epochs: tuple(max(epoch, window.epoch) for epoch in epochs[-len(records) :]),
        }
        return self.changed(changes) if records else None


@dataclass(frozen=True)
class Holds(Records):
    """A broker has these records at these offsets, with these leader epochs, if known, as its answer to a fetch shows.
    The line says nothing about other records of the broker."""

    broker: int = said(LineReader.replica)
    records: tuple[str, ...] = said(LineReader.records)
    offsets: tuple[int, ...] = said(LineReader.offsets, "records")
    batch_epochs: tuple[int, ...] | None = said(LineReader.epochs, of="records")

    kinds = ("holds",)

    @property
    def says(self) -> str:
        return f"broker {self.broker} has {_spelled(self.records)} at {_spelled(self.offsets)}"

    def claims(self, place: Place) -> Iterator[Claim]:
        says = f"broker {self.broker} has {place.listed(self.records)} at {place.listed(self.offsets)}"
        if any(offset >= place.log_size for offset in self.offsets):
            yield place.never(says, f"no log has more than {place.log_size} records")
            return
        yield from _claims_of_log(self, says, "these", self.offsets, place)


def _claims_of_log(line: Disk | Holds, says: str, whose: str, offsets: Sequence[int], place: Place) -> Iterator[Claim]:
    """The claims that the broker's log has the records of `line`, with their epochs, in order at the first `offsets`,
    and no records at the remaining `offsets`."""
    replica, rest = place.names.replica(line.broker), [NONE] * (len(offsets) - len(line.held))
    records = [*map(place.names.record, line.held), *rest]
    yield place.equal(says, [("log_record", replica, offset) for offset in offsets], records, place.spell_records)
    if line.batch_epochs is not None:
        says = f"the epochs of {whose} records are {place.listed(line.batch_epochs)}"
        epochs = [*(epoch - place.names.first_epoch for epoch in line.batch_epochs), *rest]
        yield place.equal(says, [("log_epoch", replica, offset) for offset in offsets], epochs, place.spell_epochs)


# ------------------------------------------------------------------------------------- lines about leaders and requests


@dataclass(frozen=True)
class AlterRequest(Line):
    """A leader's request to the controller to change the ISR to `isr`, with the leader's epochs, is in flight."""

    leader: int = said(LineReader.replica)
    isr: frozenset[int] = said(LineReader.replicas, required=True)
    leader_epoch: int = said(LineReader.epoch, required=True)
    partition_epoch: int = said(LineReader.partition_epoch, required=True)

    kinds = ("alter_partition",)
    may_change_partition = True

    @property
    def says(self) -> str:
        return f"leader {self.leader} asks for ISR {_spelled(self.isr)} in epoch {self.leader_epoch}"

    @property
    def epochs(self) -> Sequence[int]:
        """No epochs, because a request does not show for certain that the epoch which it names has begun."""
        return ()

    @staticmethod
    def variables(leader: int, replicas: int) -> list[Variable]:
        """The model's variables that hold the request of a leader; `replicas` is the number of replicas."""
        return [
            ("alter_partition", leader),
            ("requested_leader_epoch", leader),
            ("requested_partition_epoch", leader),
            *(("requested_isr", leader, replica) for replica in range(replicas)),
        ]

    def cells(self, names: Names) -> dict[Variable, int]:
        """The values of the request's variables while the request is in flight."""
        variables = self.variables(names.replica(self.leader), len(names.brokers))
        isr = [int(broker in self.isr) for broker in names.brokers]
        epochs = self.leader_epoch - names.first_epoch, self.partition_epoch
        return dict(zip(variables, [AlterPartition.REQUESTED, *epochs, *isr], strict=True))

    def claims(self, place: Place) -> Iterator[Claim]:
        """The claim that the request is in flight, if leaders of this generation send requests."""
        if not place.alters_partitions:
            return

        def spell(values: Sequence[int]) -> str:
            if values[0] != AlterPartition.REQUESTED:
                return "it has no request on its way"
            isr, epoch = place.spell_members(values[3:]), values[1] + place.names.first_epoch
            return f"ISR {isr} after partition epoch {values[2]} in epoch {epoch}"

        cells = self.cells(place.names)
        says = (
            f"broker {self.leader} asks for the ISR {place.listed(sorted(self.isr))} after partition epoch"
            f" {self.partition_epoch} in epoch {self.leader_epoch}"
        )
        yield place.equal(says, list(cells), list(cells.values()), spell)


@dataclass(frozen=True)
class Applied(Line):
    """A broker has applied the metadata log at least up to this partition epoch, with KRaft."""

    broker: int = said(LineReader.replica)
    partition_epoch: int = said(LineReader.partition_epoch, required=True)

    kinds = ("applied",)
    words = "broker {0.broker} has applied the metadata up to partition epoch {0.partition_epoch}"

    def claims(self, place: Place) -> Iterator[Claim]:
        """With KRaft, the claim that the broker has applied the metadata up to this partition epoch."""
        if not place.has_kraft:
            return
        replica, least = place.names.replica(self.broker), self.partition_epoch
        yield place.claim(
            self.says,
            lambda states, monitors: place.column(states, "metadata_position", replica) >= least,
            lambda states, monitors: [place.column(states, "metadata_position", replica)],
            lambda values: f"up to {values[0]}",
            "metadata_position",
        )


def _wish(replicas: frozenset[int] | None) -> str:
    return "to cancel the reassignment" if replicas is None else f"for the replicas {_spelled(replicas)}"


@dataclass(frozen=True)
class Reassigned(Line):
    """The controller's answer to a request to reassign the partition: the request was taken, or was refused."""

    replicas: frozenset[int] | None = said(LineReader.target)
    is_refused: bool = said(LineReader.flag, "refused")

    kinds = ("reassigned",)
    is_about_reassignments = True

    @property
    def says(self) -> str:
        return f"the controller {'refuses' if self.is_refused else 'has taken'} the request {_wish(self.replicas)}"

    @property
    def passing(self) -> Passing:
        """AT_ONCE if the request was refused; otherwise AT_ANY_TIME, because the request was taken before this line."""
        return Passing.AT_ONCE if self.is_refused else Passing.AT_ANY_TIME

    def claims(self, place: Place) -> Iterator[Claim]:
        """The claim that all requested brokers are replicas, and that any other replica is being removed; for a request
        that cancels a reassignment, the claim that no reassignment is in progress."""
        if not place.shows_reassignment:
            return
        target, fields, count = self.replicas, ("is_assigned", "is_adding", "is_removing"), len(place.replicas)

        def columns(states: Words, monitors: Words) -> list[Numbers]:
            return [place.column(states, name, replica) for name in fields for replica in place.replicas]

        def is_true(states: Words, monitors: Words) -> Truths:
            values = columns(states, monitors)
            assigned, adding, removing = (values[at * count : (at + 1) * count] for at in range(3))
            if target is None:
                return place.all_of(states, (adding[r] + removing[r] == 0 for r in place.replicas))
            wanted = [broker in target for broker in place.names.brokers]
            taken = (assigned[r] == 1 if wanted[r] else assigned[r] <= removing[r] for r in place.replicas)
            return place.all_of(states, taken)

        def spell(values: Sequence[int]) -> str:
            sets = [place.spell_members(values[at * count : (at + 1) * count]) for at in range(3)]
            return f"its replicas are {sets[0]}, being added {sets[1]}, being removed {sets[2]}"

        says = f"the partition is reassigned to {place.listed(sorted(target or ()))}"
        says = "no reassignment is in progress" if target is None else says
        yield place.claim(says, is_true, columns, spell, *fields)


# --------------------------------------------------------------------------------------- faults, clients and operators


@dataclass(frozen=True)
class Fault(Line):
    """A broker was killed, frozen, thawed, started, stopped, or cut off from a controller."""

    what: FaultKind
    broker: int

    kinds = ("fault",)
    words = "{0.what.value} broker {0.broker}"
    may_change_partition = True

    @classmethod
    def read(cls, reader: LineReader) -> Line:
        """Read a line of the kind `fault`: a fault of a broker, or another act of the experimenter or a client."""
        what = reader.value("what", _is_text, "what happened", required=True)
        if what in FAULTS:
            return FAULTS[what].read(reader)
        kinds = {kind.value: kind for kind in FaultKind}
        if what not in kinds:
            reader.refuse(f"unknown fault {_shown(what)}", f"there are: {', '.join((*kinds, *FAULTS))}")
        is_cut = what == FaultKind.CUT.value
        reader.only("what", "broker", "frozen_s", *(["peer"] if is_cut else []))
        # Messages between brokers may always be lost. A controller holds no replica; other lines record the effects of
        # its absence.
        is_between = is_cut and is_count(reader.value("peer", is_peer, "a broker, or a controller", required=True))
        if is_between or str(reader.keys.get("broker")).startswith("controller"):
            return Remark(**reader.common)
        return cls(**reader.common, what=kinds[what], broker=reader.broker("broker"))

    @property
    def is_death(self) -> bool:
        return self.what in (FaultKind.KILL, FaultKind.STOP)

    @property
    def high_watermark_of(self) -> int | None:
        return self.broker if self.what is FaultKind.START else None

    @property
    def passing(self) -> Passing:
        """A kill or a start is passed by a step of the model, a freeze at any time, any other fault at once."""
        if self.what in (FaultKind.KILL, FaultKind.START):
            return Passing.BY_A_STEP
        return Passing.AT_ANY_TIME if self.what is FaultKind.FREEZE else Passing.AT_ONCE

    def claims(self, place: Place) -> Iterator[Claim]:
        """The claims of a start, which only help to explain a rejection: the line is passed by a step of the model."""
        if self.what is not FaultKind.START:
            return
        replica = place.names.replica(self.broker)
        yield place.cell(f"broker {self.broker} does not run", ("is_up", replica), 0, lambda flag: "it runs")
        yield place.claim(
            "it restarts with a checkpoint that agrees with the observations and is not above its last high watermark",
            lambda states, monitors: place.may_start(
                monitors, replica, place.column(states, "high_watermark", replica)
            ),
            lambda states, monitors: [place.column(states, "high_watermark", replica)],
            lambda values: f"its last high watermark was {values[0]}",
        )

    def leave(self, window: Window) -> None:
        """After a start, let the window forget the broker's high watermark, which may now be an earlier one."""
        if self.what is FaultKind.START:
            window.forget_high_watermark(self.broker)


@dataclass(frozen=True)
class Read(Records):
    """A consumer read these records, at these ascending offsets; markers and aborted records are not among them."""

    records: tuple[str, ...] = said(LineReader.records)
    offsets: tuple[int, ...] = said(LineReader.offsets, "records")

    kinds = ("client_read",)

    @property
    def says(self) -> str:
        return f"a consumer reads {_spelled(self.records) or 'nothing'}{_where(self.offsets)}"

    def lacks(self, value: str, offset: int | None) -> bool:
        """Whether the record `value` is not among the records read, although one at `offset` (None: any offset) is."""
        return bool(self.records) and (offset is None or offset in self.offsets) and value not in self.records

    def claims(self, place: Place) -> Iterator[Claim]:
        """The claim that a broker takes itself for the leader, is not frozen, and can return these records.

        There is no claim without records: the consumer may have reached no broker.
        """
        if not self.records:
            return
        log_size, wanted, end = place.log_size, [*map(place.names.record, self.records)], self.offsets[-1] + 1
        servers = [replica for replica in place.replicas if replica not in place.frozen]

        def serves(states: Words, replica: int) -> Truths:
            if end > log_size:
                return place.any_of(states, ())
            return place.all_of(
                states,
                [
                    place.column(states, "leader", replica) == replica,
                    place.column(states, "high_watermark", replica) >= end,
                    *(
                        place.column(states, "log_record", replica, offset) == record
                        for offset, record in zip(self.offsets, wanted, strict=True)
                    ),
                ],
            )

        def columns(states: Words, monitors: Words) -> list[Numbers]:
            values = []
            for replica in servers:
                leads = place.column(states, "leader", replica) == replica
                high_watermark = place.column(states, "high_watermark", replica)
                for offset in range(log_size):
                    held = place.column(states, "log_record", replica, offset)
                    values.append(place.where(leads & (offset < high_watermark), held))
            return values

        def spell(values: Sequence[int]) -> str:
            parts = []
            for position, replica in enumerate(servers):
                records = values[position * log_size : (position + 1) * log_size]
                if any(record != NONE for record in records):
                    parts.append(f"{place.spell_broker(replica)} can return {place.spell_records(records)}")
            return " and ".join(parts) or "no broker can return anything"

        yield place.claim(
            f"a running leader can return {place.listed(self.records)}{_where(self.offsets)}",
            lambda states, monitors: place.any_of(states, (serves(states, replica) for replica in servers)),
            columns,
            spell,
            "leader",
            "log_record",
            "high_watermark",
        )

    def rules(self, false: Sequence[Claim], states: Words, place: Place) -> Iterator[str]:
        yield "rule: only a broker that takes itself for the leader answers a consumer, and up to its high watermark"


@dataclass(frozen=True)
class Sent(Line):
    """A producer sends a record, for the first time."""

    value: str = said(LineReader.record)
    acks: Acks | None = said(LineReader.acks)  # noqa: RUF009 - a field

    faults = ("send",)
    words = "{0.value} is sent"


@dataclass(frozen=True)
class Remark(Line):
    """A line that says nothing about the state of the cluster."""

    unused: str = ""
    """What the recording holds in addition to its lines."""

    unmodelled: str = ""
    """The event here that no path of the model has; empty: none."""

    copies: int = 0
    """The number of copies of records that leaders may have appended, as far as the traffic shows the requests."""

    kinds = ("roles", "note", "result", "refused")
    faults = ("hold", "release", "delay", "pass", "note", "refused", "heal")

    @classmethod
    def read(cls, reader: LineReader) -> Remark:
        """Read a remark, or an act of the experimenter whose effects other lines record."""
        if reader.keys["kind"] == "fault":
            return cls(**reader.common)
        unused, unmodelled, copies = (reader.keys.get(key) for key in ("unused", "unmodelled", "copies"))
        return cls(
            **reader.common,
            unused=unused if isinstance(unused, str) else "",
            unmodelled=unmodelled if isinstance(unmodelled, str) else "",
            copies=copies if isinstance(copies, int) and is_count(copies) else 0,
        )

    @property
    def says_something(self) -> bool:
        return bool(self.unused or self.unmodelled or self.copies)

    def counts(self, *, has_all_requests: bool) -> bool:
        return False


@dataclass(frozen=True)
class ElectRequest(Line):
    """An administrator asks for a preferred election, or for an unclean one."""

    is_unasked: bool = said(LineReader.flag, "unasked")
    """From here on the controller may elect the preferred leader without a request (auto.leader.rebalance.enable)."""

    is_unclean: bool = said(lambda reader, key: reader.keys[key] == ELECT_UNCLEAN, "what")

    faults = (ELECT, ELECT_UNCLEAN)
    may_change_partition = True

    @property
    def says(self) -> str:
        if self.is_unasked:
            return "from here on, the controller may elect the preferred leader without a request"
        return f"an administrator asks for {'an unclean' if self.is_unclean else 'a preferred'} election"

    def counts(self, *, has_all_requests: bool) -> bool:
        """Whether the line is followed: requests for preferred elections only if all requests have lines."""
        return has_all_requests or self.is_unclean


@dataclass(frozen=True)
class Reassignment(Line):
    """An operator requests a reassignment to `replicas`, or cancels a reassignment (None). The controller may take the
    request at any time between this line and the line with the answer.
    """

    replicas: frozenset[int] | None = said(LineReader.target)

    is_unseen: bool = said(LineReader.flag, "unseen")
    """No line shows the request; later ones show replicas that it explains."""

    faults = (REASSIGN,)
    may_change_partition = True
    is_about_reassignments = True

    @property
    def says(self) -> str:
        who = "perhaps, from here on, an operator" if self.is_unseen else "an operator"
        return f"{who} asks {_wish(self.replicas)}{'; no line shows it' if self.is_unseen else ''}"


# ----------------------------------------------------------------------------------------------------- reading a line


def read_line(path: Path, number: int, keys: Mapping[str, Any], begins: Begins | None = None) -> Line:
    """The `Line` for the JSON object on a line of a file; `begins` is None for the first line. Raises UsageError."""
    reader = LineReader(path, number, keys, begins or begins_of(path, number, keys))
    kind = reader.value("kind", _is_text, f"one of {', '.join(KINDS)}", required=True)
    if kind not in KINDS:
        reader.refuse(f"unknown kind {_shown(kind)}", f"there are: {', '.join(KINDS)}")
    n = reader.value("n", is_count, "the number of the line", required=kind not in Header.kinds)
    reader.value("t", lambda value: isinstance(value, int | float) and not isinstance(value, bool), "seconds")
    source = reader.value("from", _is_text, "the name of a file")
    reader.common = {"number": number, "n": -1 if n is None else n, "source": source}
    return KINDS[kind].read(reader)


def begins_of(path: Path, number: int, keys: Mapping[str, Any]) -> Begins:
    """A recording's first offset and partition epoch, if its first line is a header; otherwise 0. Raises UsageError."""
    if keys.get("kind") not in Header.kinds:
        return Begins()
    header = LineReader(path, number, keys, Begins())
    offset = header.value("first_offset", is_count, "an offset")
    return Begins(offset or 0, header.value("first_partition_epoch", is_count, "a partition epoch") or 0)


def is_observation(line: bytes) -> bool:
    """Whether `line`, the first of a file, begins a recording of observations: it has a known kind. The first line of
    an event log has the version of its schema instead."""
    try:
        keys = parsed(line)
    except UnreadableError:
        return False
    return "schema" not in keys and str(keys.get("kind")) in KINDS

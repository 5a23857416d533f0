"""A whole recording. Lines that contradict earlier lines are refused.

In:  a file of lines.
Out: a `Recording`. Every defect is one UsageError with file and line.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

from isrcheck.conformance.follow.format.ndjson import bad_line, objects_of
from isrcheck.conformance.follow.recorded.faults import ALLOWED, BECOMES, FaultKind
from isrcheck.conformance.follow.recorded.lines import (
    MARKER,
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
    Reassigned,
    Reassignment,
    Remark,
    Sent,
    View,
)
from isrcheck.conformance.follow.recorded.reading import REMARKS, begins_of, read_line
from isrcheck.conformance.follow.recorded.reassigning import requests_in
from isrcheck.conformance.follow.recorded.repeated import named_by, told_apart
from isrcheck.models.client_settings import Acks
from isrcheck.models.messages import UsageError

L = TypeVar("L", bound=Line)

MOST_BYTES = 16 << 20
"""The largest recording, in bytes; each of its lines requires a search."""

Objects = Iterable[tuple[int, dict[str, Any]]]
"""The objects on the lines of a recording, each with the number of its line."""


@dataclass(frozen=True)
class Recording:
    """The observations of one partition, in order.

    `lines` are the lines about the state or a fault, without header and remarks. `brokers` are all that are replicas at
    some time, in ascending order; if the partition is reassigned, its `first_replicas` replicas at the beginning come
    first (0: it is not). `values` are the records in the order in which they were sent, as far as that order is known.
    `has_epochs`: every metadata line has a `leader_epoch`; `first_epoch` is the smallest of them. `has_all_requests`:
    every request to change the ISR and every preferred election has a line. All offsets in the lines are counted from
    `first_offset`. `is_folded`: some of its records stand for several (folding.py). `lost`: the `send` lines that were
    taken out, of records that reach nobody (lost_sends.py). `remarks` say what is not modelled, and what is not used.
    """

    path: Path
    lines: tuple[Line, ...]
    brokers: tuple[int, ...]
    values: tuple[str, ...]
    min_insync_replicas: int | None
    unclean_election: bool | None
    acks: Acks | None
    has_epochs: bool
    first_epoch: int
    has_all_requests: bool = False
    first_offset: int = 0
    is_folded: bool = False
    lost: tuple[Sent, ...] = ()
    remarks: tuple[Remark, ...] = ()
    first_replicas: int = 0

    @property
    def unmodelled(self) -> Remark | None:
        """The first line that says that something happens which is not modelled."""
        return next((line for line in self.remarks if line.unmodelled), None)

    @property
    def unused(self) -> str:
        """What the recording holds beside its lines, in words; empty: nothing."""
        return unused_in(self.remarks)

    @property
    def copies(self) -> int:
        """How many copies of records there can be: 0 unless a line shows one, since producers are idempotent then.

        A log with a record twice, or with more records than there are, has copies. Others may have been truncated; so
        where the traffic shows the requests that were sent again, all of them count.
        """
        told = [line for line in self.lines if not isinstance(line, Sent | Acked)]
        shown = max((len(named_by(line)) - len(set(named_by(line))) for line in told), default=0)
        sent_again = sum(line.copies for line in self.remarks)
        is_longer = any(line.log_end_offset > len(self.values) for line in told if isinstance(line, LogEnd))
        return max(shown, sent_again) if shown or (sent_again and is_longer) else 0

    @property
    def asks_unclean(self) -> bool:
        """Whether an administrator asks for an unclean election."""
        return any(isinstance(line, ElectRequest) and line.is_unclean for line in self.lines)

    def until(self, n: int) -> Recording:
        """The recording of the lines before the one with this number."""
        lines = tuple(line for line in self.lines if line.n < n)
        named = {value for line in lines for value in named_by(line)}
        return replace(self, lines=lines, values=tuple(value for value in self.values if value in named))

    def without_reassignments(self, why: str) -> Recording:
        """The recording for a model that has no reassignments; `why` says what is not modelled."""
        lines = tuple(
            replace(line, replicas=None) if isinstance(line, Metadata) else line
            for line in self.lines
            if not isinstance(line, Reassignment | Reassigned)
        )
        remarks = [
            Remark(line.number, line.n, unmodelled=why, source=line.source)
            for line in self.lines
            if isinstance(line, Reassignment)
        ]
        told = tuple(sorted((*self.remarks, *remarks), key=lambda line: line.n))
        return replace(self, lines=lines, remarks=told, first_replicas=0)

    @property
    def is_empty(self) -> bool:
        """Whether the recording has no line about the state or a fault."""
        return not self.lines

    def replica(self, broker: int) -> int:
        """The model's number of a broker."""
        return self.brokers.index(broker)

    def record(self, value: str) -> int:
        """The model's number of a record."""
        return self.values.index(value)

    def claims(self, kind: type[L]) -> Iterator[tuple[int, L]]:
        """The lines of one kind, with their positions in `lines`."""
        return ((position, line) for position, line in enumerate(self.lines) if isinstance(line, kind))


def remarks_in(path: Path, objects: Objects) -> list[Remark]:
    """The remarks that say something. For a recording that is followed online, an unclean election is not modelled, nor
    is a reassignment."""
    found = []
    for number, said in objects:
        line = read_line(path, number, said) if said.get("kind") in (*REMARKS, "fault") else None
        if isinstance(line, ElectRequest) and line.is_unclean:
            found.append(Remark(line.number, line.n, unmodelled="a request for an unclean election"))
        elif isinstance(line, Reassignment):
            found.append(Remark(line.number, line.n, unmodelled="a reassignment of replicas"))
        elif isinstance(line, Remark) and line.says_something:
            found.append(line)
    return found


def unused_in(remarks: Iterable[Remark]) -> str:
    """What a recording holds beside its lines, in words; empty: nothing."""
    return "; ".join(line.unused for line in remarks if line.unused)


def read_recording(path: Path, content: bytes | None = None, objects: Objects | None = None) -> Recording:
    """The recording in a file, or in `content`, or of these objects with their line numbers. Raises UsageError."""
    lines = told_apart(list(_lines(path, objects or _objects(path, content))))
    _check_order(path, lines)
    header = next((line for line in lines if isinstance(line, Header)), None)
    has_all_requests = header is not None and header.has_all_requests
    claims = _without_first_starts(line for line in _without_late_views(lines) if _counts(line, has_all_requests))
    first = _first_replicas(path, claims, header)
    replicas = _brokers(path, claims, set() if header is None else set(header.replicas))
    brokers = tuple(sorted(replicas, key=lambda broker: (broker not in first, broker)))
    epochs = [epoch for line in claims for epoch in _epochs(line)]
    return Recording(
        path,
        tuple(line for line in claims if not isinstance(line, Fault) or line.broker in brokers),
        brokers,
        _values(path, claims),
        None if header is None else header.min_insync_replicas,
        None if header is None else header.unclean_election,
        _acks(path, claims),
        _has_epochs(path, claims),
        min(epochs, default=0),
        has_all_requests,
        0 if header is None else header.first_offset,
        remarks=tuple(line for line in lines if isinstance(line, Remark) and line.says_something),
        first_replicas=len(first),
    )


def _counts(line: Line, has_all_requests: bool) -> bool:
    """Whether a line says something about the state, a fault or a request."""
    if isinstance(line, ElectRequest):
        return has_all_requests or line.is_unclean
    return not isinstance(line, Header | Remark)


def _lines(path: Path, objects: Objects) -> Iterator[Line]:
    begins = None
    for number, said in objects:
        begins = begins or begins_of(path, number, said)
        yield read_line(path, number, said, begins)


def _objects(path: Path, content: bytes | None) -> Iterator[tuple[int, dict[str, Any]]]:
    size = len(content) if content is not None else path.stat().st_size if path.is_file() else 0
    if size > MOST_BYTES:
        raise UsageError(f"{path}: larger than {MOST_BYTES >> 20} MiB; give a shorter recording")
    return objects_of(path, content)


def _check_order(path: Path, lines: list[Line]) -> None:
    before = -1
    for position, line in enumerate(lines):
        if isinstance(line, Header):
            if position:
                raise bad_line(path, line.number, "a header after other lines; put one header first")
            continue
        if line.n <= before:
            raise bad_line(path, line.number, f"n is {line.n} after {before}; put the lines in the order of n")
        before = line.n


def _without_first_starts(claims: Iterator[Line]) -> list[Line]:
    """The lines except the starts of brokers at the beginning, which start the whole cluster."""
    found: list[Line] = []
    for line in claims:
        if found or not (isinstance(line, Fault) and line.what is FaultKind.START):
            found.append(line)
    return found


def _without_late_views(lines: list[Line]) -> Iterator[Line]:
    """The lines; a broker's metadata that an earlier state of the same leader epoch explains is only a view.

    The broker may lag behind. It may also show the newest state, which looks the same; so after such a line, what was
    the last known state before may be an old one, too.
    """
    states: dict[int, list[Metadata]] = {}
    is_doubtful = False
    for line in lines:
        if isinstance(line, Metadata) and line.leader_epoch is not None and line.partition_epoch is None:
            before = states.setdefault(line.leader_epoch, [])
            is_last = bool(before) and before[-1].isr == line.isr
            is_known = any(one.isr == line.isr for one in before)
            if line.seen_by is not None and is_known and (is_doubtful or not is_last):
                is_doubtful = True
                shown = line.leader, line.leader_epoch, None
                yield View(line.number, line.n, line.seen_by, *shown, source=line.source)
                continue
            is_doubtful &= is_last
            before.append(line)
        yield line


def _first_replicas(path: Path, claims: list[Line], header: Header | None) -> frozenset[int]:
    """The replicas before a reassignment, by the header or the first metadata; empty: no line asks for one, and none
    shows others. Raises UsageError if no line says who they are.
    """
    request = next((line for line in claims if isinstance(line, Reassignment)), None)
    shown = [] if header is None or not header.replicas else [header.replicas]
    for line in claims:
        if line is request and not shown:
            cure = "give replicas in the header"
            raise bad_line(path, line.number, f"no line before says which replicas are reassigned; {cure}")
        if isinstance(line, Metadata) and line.replicas:
            shown.append(line.replicas)
    return shown[0] if request is not None or len(set(shown)) > 1 else frozenset()


def _brokers(path: Path, claims: list[Line], replicas: set[int]) -> set[int]:
    """The replicas: the brokers in disk lines, in the metadata, in requests that reassign the partition, or in the
    header. Faults may name other brokers."""
    known: set[int] = set()
    for request in requests_in(claims):
        replicas |= request.target if request.target is not None and not request.is_refused else set()
    for line in claims:
        if isinstance(line, Applied | Disk | HighWatermark | Holds | LogEnd):
            replicas.add(line.broker)
        elif isinstance(line, AlterRequest):
            replicas |= line.isr | {line.leader}
        elif isinstance(line, Metadata):
            replicas |= line.isr | (line.replicas or set()) | (set() if line.leader is None else {line.leader})
            known |= line.brokers
    if claims and not replicas:
        cure = "replicas are the brokers that appear on disk or in the metadata, or as replicas of a header"
        raise bad_line(path, claims[0].number, f"no line names the brokers that hold the partition; {cure}")
    conditions = dict.fromkeys(replicas, ("running", 0))
    for line in claims:
        if not isinstance(line, Fault):
            continue
        if line.broker not in replicas | known:
            cure = "replicas are the brokers that appear on disk or in the metadata: correct the number"
            raise bad_line(path, line.number, f"broker {line.broker} is unknown; {cure}")
        if line.broker in replicas:
            condition, since = conditions[line.broker]
            if condition not in ALLOWED[line.what]:
                told = f"is {condition} since line {since}" if since else "runs from the start"
                cure = "correct the line, or add the missing one"
                raise bad_line(path, line.number, f"{line.what.value}: broker {line.broker} {told}; {cure}")
            conditions[line.broker] = (BECOMES.get(line.what, condition), line.number)
    return replicas


def _values(path: Path, claims: list[Line]) -> tuple[str, ...]:
    """The records in the order in which they first appear; if a log has one record before another, so does the result.

    A response can be lost or arrive late; then the log is the evidence that the record was sent. But where a line says
    when the other one was sent, a record that appears later was sent later, unless no producer sends it: a marker.
    """
    found: dict[str, int] = {}
    sent: set[str] = set()
    order: list[str] = []
    for line in claims:
        if isinstance(line, Sent) and line.value in found:
            what = f"{line.value} is sent after it was observed at line {found[line.value]}"
            raise bad_line(path, line.number, f"{what}; give each record a distinct value")
        next_one: str | None = None
        for value in reversed(dict.fromkeys(named_by(line))):  # copies appear later
            if value not in found:
                found[value] = line.number
                is_last = next_one is None or (next_one in sent and not value.startswith(MARKER))
                order.insert(len(order) if is_last else order.index(str(next_one)), value)
            next_one = value
        sent |= {line.value} if isinstance(line, Sent) else set()
    return tuple(order)


def _acks(path: Path, claims: list[Line]) -> Acks | None:
    """The producer's acks, if recorded; the model has one kind of producer at a time."""
    told = [(line, line.acks) for line in claims if isinstance(line, Acked | Sent) and line.acks is not None]
    for line, acks in told:
        if acks != told[0][1]:
            what = f"acks={acks.spelling} after acks={told[0][1].spelling} at line {told[0][0].number}"
            raise bad_line(path, line.number, f"{what}; split the recording: acks may not change in it")
    return told[0][1] if told else None


def _epochs(line: Line) -> list[int]:
    if isinstance(line, LogEnd):
        return [] if line.last_epoch is None else [line.last_epoch]
    if isinstance(line, Holds):
        return list(line.batch_epochs or ())
    if isinstance(line, View):
        return [line.leader_epoch]
    if isinstance(line, Metadata):
        return [] if line.leader_epoch is None else [line.leader_epoch]
    if isinstance(line, Disk):
        return [*(line.batch_epochs or ()), *(epoch for epoch, _ in line.epoch_cache or ())]
    return []


def _has_epochs(path: Path, claims: list[Line]) -> bool:
    told = [line for line in claims if isinstance(line, Metadata)]
    with_epochs = any(map(_epochs, claims))
    for line in told:
        if with_epochs and line.leader_epoch is None:
            what = "leader_epoch is missing, but other lines have epochs"
            raise bad_line(path, line.number, f"{what}; give it in every metadata line, or in none")
    return with_epochs

"""Reads a whole recording: gives records with equal values distinct names, leaves out records that reach no broker, and
folds batches.

A line that contradicts earlier lines raises UsageError with file and line.

The controller may act on a request to reassign the partition at any time between the line of the request and the line
of its answer, which names the same replicas. It never acts on a refused request; on a request without an answer it may
act at any later time.

Several records with the same value get distinct names: `x` at the offsets 3 and 5 is `x@3` and `x@5`, if `x` was sent
or acknowledged twice. A value that a log holds twice, but that was sent and acknowledged at most once, can be a record
and its copy; it keeps its name. A `send` line, and an `acked` line without an offset, does not say which of the equal
records it is about: these lines are assigned to the records in the order in which leaders appended them, by epoch and
offset. If any order explains the recording, this order does, because equal records can change places. A `send` line is
ignored if an earlier line shows the record that is assigned to it.

If only a `send` line names a record, it is unknown whether the record has reached a leader. If a leader has appended
the record, its log had the record at least for a time, and later records were appended after it. So the recording is
followed with and without the records of each such request, and is rejected if no combination explains it. The records
of one request arrive together.

A producer sends many records as one batch, which a log holds completely or not at all. The model appends records one
after the other, so a batch has many states that no line shows. Consecutive records are folded if every log has all of
them or none, always at the same offsets and in one leader epoch; if they are sent, and acknowledged, directly after
each other; and if no line names an offset between them. A path with the folded record stands for a path that appends
its records one after the other. So an explanation of the folded recording also explains the recording itself; but if
the folded recording has no explanation, the recording itself may still have one.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, combinations, count, dropwhile, groupby
from pathlib import Path
from typing import Any, TypeVar

from isrcheck.conformance.follow.format.ndjson import bad_line, objects_of
from isrcheck.conformance.follow.recorded.faults import ALLOWED, BECOMES, FaultKind
from isrcheck.conformance.follow.recorded.lines import (
    KINDS,
    MARKER,
    NO_HEADER,
    UNKNOWN,
    Acked,
    ElectRequest,
    Fault,
    Header,
    Line,
    LineReader,
    LogEnd,
    Metadata,
    Reassigned,
    Reassignment,
    Remark,
    Sent,
    View,
    begins_of,
    read_line,
)
from isrcheck.conformance.follow.recorded.states import Names
from isrcheck.models.client_settings import Acks
from isrcheck.models.messages import UsageError

L = TypeVar("L", bound=Line)

MOST_BYTES = 16 << 20
"""The largest recording, in bytes; each of its lines requires a search."""

Objects = Iterable[tuple[int, dict[str, Any]]]
"""The objects on the lines of a recording, each with the number of its line."""


@dataclass(frozen=True, kw_only=True)
class Recording(Names):
    """The observations of one partition, in order.

    `brokers` are all brokers that are replicas at some time, in ascending order, but the replicas at the beginning come
    first if the partition is reassigned. `values` are the records in the order in which they were sent, as far as that
    order is known. `first_epoch` is the smallest leader epoch.
    """

    path: Path

    lines: tuple[Line, ...]
    """The lines about the state or a fault, without header and remarks."""

    header: Header
    """The settings. All offsets in the lines are counted from its `first_offset`."""

    acks: Acks | None
    """The acks of the producers, if recorded; the model has one kind of producer at a time."""

    has_epochs: bool
    """Every metadata line has a leader epoch."""

    is_folded: bool = False
    """Some of its records stand for several records."""

    lost: tuple[Sent, ...] = ()
    """The removed `send` lines, whose records reach no broker."""

    remarks: tuple[Remark, ...] = ()
    """The remarks about events that are not modelled, and about parts that are not used."""

    first_replicas: int = 0
    """How many of the brokers are the replicas at the beginning, if the partition is reassigned; 0: it is not."""

    @property
    def unmodelled(self) -> Remark | None:
        """The first remark about an event that is not modelled, or None."""
        return next((line for line in self.remarks if line.unmodelled), None)

    @property
    def unused(self) -> str:
        """The contents of the recording that are not used, in words; empty: everything is used."""
        return unused_in(self.remarks)

    @property
    def copies(self) -> int:
        """Return how many copies of records the logs may hold; 0, as for idempotent producers, if no line shows any.

        A line shows a copy if a log has a record twice, or if it has more records than were sent and the traffic shows
        requests that were sent again. Copies may have been truncated: so all records of such requests count as copied.
        """
        shown = max((len(line.held) - len(set(line.held)) for line in self.lines), default=0)
        sent_again = sum(line.copies for line in self.remarks)
        is_longer = any(line.log_end_offset > len(self.values) for _, line in self.claims(LogEnd))
        return max(shown, sent_again) if shown or (sent_again and is_longer) else 0

    @property
    def asks_unclean(self) -> bool:
        return any(line.is_unclean for _, line in self.claims(ElectRequest))

    def until(self, n: int) -> Recording:
        """The recording with only the lines in which the key `n`, the line's number, is less than the parameter `n`."""
        lines = tuple(line for line in self.lines if line.n < n)
        named = {value for line in lines for value in line.named}
        return replace(self, lines=lines, values=tuple(value for value in self.values if value in named))

    def without_reassignments(self, why: str) -> Recording:
        """The recording without its lines about reassignments, which the model lacks. For each request, a remark is
        added that says what is not modelled (`why`)."""
        kept = [line for line in self.lines if not line.is_about_reassignments]
        lines = tuple(replace(line, replicas=None) if isinstance(line, Metadata) else line for line in kept)
        requests = [line for _, line in self.claims(Reassignment)]
        remarks = [Remark(line.number, line.n, unmodelled=why, source=line.source) for line in requests]
        remarks = sorted((*self.remarks, *remarks), key=lambda line: line.n)
        return replace(self, lines=lines, remarks=tuple(remarks), first_replicas=0)

    def claims(self, kind: type[L]) -> Iterator[tuple[int, L]]:
        """The lines of one class, with their positions in `lines`."""
        return ((position, line) for position, line in enumerate(self.lines) if isinstance(line, kind))


def remarks_in(path: Path, objects: Objects) -> list[Remark]:
    """Return the remarks about unused contents and unmodelled events, for following a recording online. Requests for
    unclean elections and for reassignments become remarks too, which following online does not model."""
    remarks = []
    for number, keys in objects:
        kind = KINDS.get(str(keys.get("kind")))
        line = read_line(path, number, keys) if kind in (Remark, Fault) else None
        if isinstance(line, ElectRequest) and line.is_unclean:
            remarks.append(Remark(line.number, line.n, unmodelled="a request for an unclean election"))
        elif isinstance(line, Reassignment):
            remarks.append(Remark(line.number, line.n, unmodelled="a reassignment of replicas"))
        elif isinstance(line, Remark) and line.says_something:
            remarks.append(line)
    return remarks


def unused_in(remarks: Iterable[Remark]) -> str:
    """The unused contents of a recording, in words; empty: everything is used."""
    return "; ".join(line.unused for line in remarks if line.unused)


# ---------------------------------------------------------------------------------------------------- reading the lines


def typed(path: Path, objects: Objects) -> Iterator[Line]:
    """The `Line` objects for the JSON objects of a recording, in order. Raises UsageError."""
    begins, before = None, -1
    for position, (number, keys) in enumerate(objects):
        begins = begins or begins_of(path, number, keys)
        line = read_line(path, number, keys, begins)
        if isinstance(line, Header):
            if position:
                raise bad_line(path, number, "a header after other lines; put one header first")
        elif line.n <= before:
            raise bad_line(path, number, f"n is {line.n} after {before}; put the lines in the order of n")
        before = line.n
        yield line


def since_start(lines: Iterable[Line]) -> Iterator[Line]:
    """Return the lines after the leading `start` lines, in which brokers start because the whole cluster starts."""
    return dropwhile(lambda line: isinstance(line, Fault) and line.what is FaultKind.START, lines)


class Consistency:
    """The facts that later lines must not contradict: the conditions of brokers, and the acks of producers."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.acks: Acks | None = None
        self._acks_line = 0
        self._conditions: dict[int, tuple[str, int]] = {}

    def befall(self, line: Fault) -> None:
        """Note a fault of a replica. Raises UsageError if the broker's condition excludes the fault."""
        condition, since = self._conditions.get(line.broker, ("running", 0))
        if condition not in ALLOWED[line.what]:
            why = f"broker {line.broker} " + (f"is {condition} since line {since}" if since else "runs from the start")
            cure = "correct the line, or add the missing one"
            raise bad_line(self.path, line.number, f"{line.what.value}: {why}; {cure}")
        self._conditions[line.broker] = (BECOMES.get(line.what, condition), line.number)

    def produce(self, line: Line) -> None:
        """Note the acks that the line shows, if any. Raises UsageError if an earlier line shows different acks."""
        for acks in line.all(LineReader.acks):
            if self.acks not in (None, acks):
                defect = f"acks={acks.spelling} after acks={self.acks.spelling} at line {self._acks_line}"
                raise bad_line(self.path, line.number, f"{defect}; split the recording: acks may not change in it")
            if self.acks is None:
                self.acks, self._acks_line = acks, line.number

    def without_epoch(self, line: Metadata | None) -> None:
        """Raise UsageError for `line` if given: a metadata line without leader epoch, although others have epochs."""
        if line is not None:
            defect = "leader_epoch is missing, but other lines have epochs; give it in every metadata line, or in none"
            raise bad_line(self.path, line.number, defect)


def read_recording(path: Path, content: bytes | None = None, objects: Objects | None = None) -> Recording:
    """Return the recording that the file or, if given, `content` or `objects` holds. Raises UsageError."""
    size = len(content) if content is not None else path.stat().st_size if path.is_file() else 0
    if not objects and size > MOST_BYTES:
        raise UsageError(f"{path}: larger than {MOST_BYTES >> 20} MiB; give a shorter recording")
    lines = _told_apart(list(typed(path, objects or objects_of(path, content))))
    header = next((line for line in lines if isinstance(line, Header)), NO_HEADER)
    claiming = (line for line in _without_late_views(lines) if line.counts(has_all_requests=header.has_all_requests))
    claims = list(since_start(claiming))
    consistency = Consistency(path)
    first = _first_replicas(path, claims, header)
    replicas = _brokers(path, claims, header, consistency)
    values = _values(path, claims)
    for line in claims:
        consistency.produce(line)
    epochs = [epoch for line in claims for epoch in line.epochs]
    if epochs:
        shown = (line for line in claims if isinstance(line, Metadata))
        consistency.without_epoch(next((line for line in shown if line.leader_epoch is None), None))
    return Recording(
        path=path,
        lines=tuple(line for line in claims if not isinstance(line, Fault) or line.broker in replicas),
        brokers=tuple(sorted(replicas, key=lambda broker: (broker not in first, broker))),
        values=values,
        header=header,
        acks=consistency.acks,
        has_epochs=bool(epochs),
        first_epoch=min(epochs, default=0),
        remarks=tuple(line for line in lines if isinstance(line, Remark) and line.says_something),
        first_replicas=len(first),
    )


def _without_late_views(lines: list[Line]) -> Iterator[Line]:
    """Yield the lines; a metadata line whose ISR may be outdated becomes a `View` line, which claims no ISR.

    A line with an older ISR of its leader epoch may be outdated, because its broker may lag. But the ISR may also have
    changed back. So after such a line, lines that repeat the last known ISR may be outdated: they become `View` lines.
    """
    states: defaultdict[int, list[frozenset[int]]] = defaultdict(list)
    is_doubtful = False
    for line in lines:
        if isinstance(line, Metadata) and line.leader_epoch is not None and line.partition_epoch is None:
            before = states[line.leader_epoch]
            is_last = before[-1:] == [line.isr]
            if line.seen_by is not None and line.isr in before and (is_doubtful or not is_last):
                is_doubtful = True
                shown = line.seen_by, line.leader, line.leader_epoch, None, None
                yield View(line.number, line.n, *shown, source=line.source)
                continue
            is_doubtful &= is_last
            before.append(line.isr)
        yield line


def _first_replicas(path: Path, claims: list[Line], header: Header) -> frozenset[int]:
    """The replicas before a reassignment, according to the header or the first metadata line; empty if no line requests
    a reassignment or shows a change of replicas. Raises UsageError if no line before the first request names
    replicas."""
    request = next((line for line in claims if isinstance(line, Reassignment)), None)
    shown = [header.replicas] if header.replicas else []
    for line in claims:
        if line is request and not shown:
            cure = "give replicas in the header"
            raise bad_line(path, line.number, f"no earlier line shows the replicas that are reassigned; {cure}")
        if isinstance(line, Metadata) and line.replicas:
            shown.append(line.replicas)
    return shown[0] if request is not None or len(set(shown)) > 1 else frozenset()


def _brokers(path: Path, claims: list[Line], header: Header, consistency: Consistency) -> set[int]:
    """Return the brokers that the header, disk lines, metadata or requests show as replicas at some time. Raises
    UsageError if no line names a replica, if a fault hits a broker that is neither a replica nor in the metadata, or if
    the condition of a replica (tracked by `consistency`) excludes its fault."""
    replicas = set(header.replicas).union(*(line.replica_brokers for line in claims))
    for request in requests_in(claims):
        replicas |= request.target if request.target is not None and not request.is_refused else set()
    if claims and not replicas:
        cure = "give them as `replicas` in a header, or in a `disk` or `metadata` line"
        raise bad_line(path, claims[0].number, f"no line names the brokers that hold the partition; {cure}")
    others = {broker for line in claims if isinstance(line, Metadata) for broker in line.brokers}
    for line in claims:
        if isinstance(line, Fault) and line.broker in replicas:
            consistency.befall(line)
        elif isinstance(line, Fault) and line.broker not in others:
            why = f"broker {line.broker} is unknown: no `disk`, `metadata` or header line names it"
            raise bad_line(path, line.number, f"{why}; correct the number")
    return replicas


def _values(path: Path, claims: list[Line]) -> tuple[str, ...]:
    """Return the records in the order in which they were sent, as far as the lines show it. Raises UsageError.

    A record that first appears in a log comes before the next record of that log. But if the next record already has a
    `send` line, the new record was sent later, unless it is a marker, which no producer sends.
    """
    first_lines: dict[str, int] = {}
    sent: set[str] = set()
    order: list[str] = []
    for line in claims:
        if isinstance(line, Sent) and line.value in first_lines:
            defect = f"{line.value} is sent after it was observed at line {first_lines[line.value]}"
            raise bad_line(path, line.number, f"{defect}; give each record a distinct value")
        next_one: str | None = None
        for value in reversed(dict.fromkeys(line.named)):  # copies appear later
            if value not in first_lines:
                first_lines[value] = line.number
                is_last = next_one is None or (next_one in sent and not value.startswith(MARKER))
                order.insert(len(order) if is_last else order.index(str(next_one)), value)
            next_one = value
        sent |= {line.value} if isinstance(line, Sent) else set()
    return tuple(order)


# ------------------------------------------------------------------------------------- requests to reassign a partition


@dataclass
class Request:
    """An operator's request to reassign the partition: `since` is the position of its line, `until` of its answer."""

    target: frozenset[int] | None
    """The requested replicas; None: the reassignment is cancelled."""

    since: int
    until: int | None = None
    is_refused: bool = False

    def is_open(self, position: int) -> bool:
        """Whether the controller may take the request directly before the line at this position."""
        return not self.is_refused and self.since < position and (self.until is None or position <= self.until)


def requests_in(lines: Sequence[Line]) -> list[Request]:
    """The requests to reassign the partition. An answer belongs to the earliest unanswered request for its replicas."""
    requests: list[Request] = []
    for position, line in enumerate(lines):
        if isinstance(line, Reassignment):
            requests.append(Request(line.replicas, position))
        elif isinstance(line, Reassigned):
            for request in requests:
                if request.until is None and request.target == line.replicas:
                    request.until, request.is_refused = position, line.is_refused
                    break
    return requests


def is_shown_at(requests: Iterable[Request], position: int) -> bool:
    """Whether the line at this position answers a request whose effect the state at that line must show.

    The state need not show the effect if the request was refused, or if another request may have been taken later and
    have changed the effect.
    """
    taken = [request for request in requests if not request.is_refused]
    answered = next((request for request in taken if request.until == position), None)
    return answered is not None and not any(
        other.since < position and (other.until is None or other.until > answered.since)
        for other in taken
        if other is not answered
    )


# ------------------------------------------------------------------------------------------- records with equal values


def _told_apart(lines: Sequence[Line]) -> list[Line]:
    """The lines, with a distinct name for each of several records with the same value."""
    repeated: set[str] = set()
    for kind in (Sent, Acked):
        counted = Counter(line.value for line in lines if isinstance(line, kind))
        repeated |= {value for value, times in counted.items() if times > 1}
    return list(_OwnNames(lines, repeated).renamed(lines)) if repeated else list(lines)


class _OwnNames:
    """Gives a distinct name to each record whose value is repeated."""

    def __init__(self, lines: Sequence[Line], repeated: set[str]) -> None:
        header = next((line for line in lines if isinstance(line, Header)), NO_HEADER)
        self.first = header.first_offset
        self.repeated = repeated
        self.others = {value for line in lines for value in line.named} - repeated
        epochs: defaultdict[str, dict[int, int]] = defaultdict(dict)
        for line in lines:
            for value, offset, epoch in line.placed:
                epochs[value][offset] = min(epoch, epochs[value].get(offset, UNKNOWN))
        acked = {(line.value, line.offset) for line in lines if isinstance(line, Acked)}
        self.next: dict[type[Line], dict[str, Iterator[str]]] = {Sent: {}, Acked: {}}
        """The names of the records that are sent, and acknowledged without an offset, in turn."""
        for value in repeated:
            offsets = [offset for _, offset in sorted((epoch, offset) for offset, epoch in epochs[value].items())]
            open_ones = [offset for offset in offsets if (value, offset) not in acked]
            self.next[Sent][value] = self._in_turn(value, offsets, len(offsets))
            self.next[Acked][value] = self._in_turn(value, open_ones, len(offsets))

    def _in_turn(self, value: str, offsets: Sequence[int], shown: int) -> Iterator[str]:
        """Yield names for the records of value x: x@5 for offset 5 and so on, then x#n for n from `shown` + 1 on."""
        unseen = (self._own(f"{value}#{number}") for number in count(shown + 1))
        return chain((self._at(value, offset) for offset in offsets), unseen)

    def _at(self, value: str, offset: int) -> str:
        return self._own(f"{value}@{offset + self.first}") if value in self.repeated else value

    def _own(self, name: str) -> str:
        while name in self.others:
            name += "'"
        return name

    def renamed(self, lines: Sequence[Line]) -> Iterator[Line]:
        """The lines with distinct names; a record's second acknowledgement, or late `send` line, becomes a remark."""
        shown: set[str] = set()
        acked: set[str] = set()
        for line in lines:
            renamed = self._renamed(line)
            is_repeated = any(value in self.repeated for value in line.all(LineReader.record))
            is_late = isinstance(renamed, Sent) and renamed.value in shown
            is_again = isinstance(renamed, Acked) and renamed.value in acked
            if is_repeated and (is_late or is_again):
                renamed = Remark(line.number, line.n, source=line.source)
            shown.update(renamed.named)
            acked |= {renamed.value} if isinstance(renamed, Acked) else set()
            yield renamed

    def _renamed(self, line: Line) -> Line:
        def renamed(value: str) -> str:
            offset = next((offset for _, offset, _ in line.placed), None)
            if value not in self.repeated:
                return value
            return next(self.next[type(line)][value]) if offset is None else self._at(value, offset)

        def in_log(values: Sequence[str]) -> tuple[str, ...]:
            return tuple(self._at(value, offset) for value, offset in zip(values, line.held_at, strict=True))

        return line.changed({LineReader.record: renamed, LineReader.records: in_log, LineReader.log: in_log})


# --------------------------------------------------------------------------------------- records that only a line sends

MOST_REQUESTS = 4
"""The most requests of unknown fate for which all ways are tried; each request doubles the number of ways."""

Batch = tuple[Sent, ...]
"""The records of one request of a producer."""


def unknown_requests(recording: Recording) -> list[Batch]:
    """Return the producers' requests that may not have reached a leader: only `send` lines name their records."""
    shown = {value for line in recording.lines if not isinstance(line, Sent) for value in line.named}
    unknown = groupby(recording.lines, lambda line: isinstance(line, Sent) and line.value not in shown and line.number)
    return [tuple(line for line in lines if isinstance(line, Sent)) for number, lines in unknown if number]


def ways(recording: Recording, requests: Sequence[Batch]) -> Iterator[Recording]:
    """Yield the recording without any of `requests`, with all of them, then without each smaller choice of them."""
    yield _without(recording, requests)
    if requests:
        yield recording
    for count_lost in range(len(requests) - 1, 0, -1):
        yield from (_without(recording, lost) for lost in combinations(requests, count_lost))


def _without(recording: Recording, requests: Sequence[Batch]) -> Recording:
    lost = tuple(line for request in requests for line in request)
    values = {line.value for line in lost}
    return replace(
        recording,
        lines=tuple(line for line in recording.lines if line not in lost),
        values=tuple(value for value in recording.values if value not in values),
        lost=lost,
    )


# ------------------------------------------------------------------------------------------------- records of one batch

FEWEST = 5
"""The fewest records that are folded: a few records have few states."""


def folded(recording: Recording) -> Recording | None:
    """The recording with each batch of FEWEST or more records as a single record; None: no batch has so many."""
    places = _places(recording)
    bounds = {offset for line in recording.lines for offset in line.bounds}
    groups: list[list[str]] = []
    for value in recording.values:
        if groups and _is_together(recording, groups[-1][-1], value, places, bounds):
            groups[-1].append(value)
        else:
            groups.append([value])
    large = [group for group in groups if len(group) >= FEWEST]
    return _with_groups(recording, large, places) if large else None


def _places(recording: Recording) -> dict[str, int]:
    """Return the offset of each record that lines show at one offset only, if they show no other record there."""
    offsets: defaultdict[str, set[int]] = defaultdict(set)
    values: defaultdict[int, set[str]] = defaultdict(set)
    for line in recording.lines:
        for value, offset, _ in line.placed:
            offsets[value].add(offset)
            values[offset].add(value)
    return {value: min(at) for value, at in offsets.items() if len(at) == 1 == len(values[min(at)])}


def _is_together(recording: Recording, earlier: str, later: str, places: Mapping[str, int], bounds: set[int]) -> bool:
    if earlier not in places or places.get(later) != places[earlier] + 1 or places[later] in bounds:
        return False
    for line in recording.lines:
        if (earlier in line.held) != (later in line.held):
            return False
        if line.held_in and earlier in line.held:
            at = line.held.index(earlier)
            if line.held_in[at] != line.held_in[at + 1]:
                return False
    return all(_follows(recording, kind, earlier, later) for kind in (Sent, Acked))


def _follows(recording: Recording, kind: type[Sent | Acked], earlier: str, later: str) -> bool:
    """Whether the two records' lines of this kind directly follow each other, or neither record has such a line."""
    positions = {line.value: at for at, line in recording.claims(kind) if line.value in (earlier, later)}
    return not positions or (len(positions) == 2 and positions[later] == positions[earlier] + 1)


def _with_groups(recording: Recording, groups: Sequence[Sequence[str]], places: Mapping[str, int]) -> Recording:
    """The recording with each group of records as a single record.

    Of the lines about single records of a group, only the line about the group's last record is kept: it says the most.
    """
    names = {group[0]: f"{group[0]} to {group[-1]}" for group in groups}
    dropped = {value for group in groups for value in group[1:]}
    lasts = {group[-1]: names[group[0]] for group in groups}
    gone = {*names, *dropped} - lasts.keys()
    removed = [places[value] for value in dropped]

    def records(values: Iterable[str]) -> tuple[str, ...]:
        return tuple(names.get(value, value) for value in values if value not in dropped)

    def moved(offset: int) -> int:
        return offset - sum(at <= offset for at in removed)

    def with_groups(line: Line) -> Line:
        def of_those_that_stay(items: Iterable[int]) -> tuple[int, ...]:
            return tuple(item for value, item in zip(line.held, items, strict=True) if value not in dropped)

        return line.changed(
            {
                LineReader.record: lambda value: lasts.get(value, value),
                LineReader.records: records,
                LineReader.log: records,
                LineReader.offset: moved,
                LineReader.offsets: lambda offsets: tuple(map(moved, of_those_that_stay(offsets))),
                LineReader.epochs: of_those_that_stay,
                LineReader.epoch_cache: lambda entries: tuple((epoch, moved(at)) for epoch, at in entries),
            }
        )

    lines = tuple(with_groups(line) for line in recording.lines if gone.isdisjoint(line.all(LineReader.record)))
    return replace(recording, lines=lines, values=records(recording.values), is_folded=True)

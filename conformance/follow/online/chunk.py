"""Reads a recording that is followed online: first a summary of all its lines (`Outlook`); then, again and again, the
next lines as a small recording (`Chunk`).

The summary keeps the lines about leaders, requests, faults and checkpoints, because the next leader, request or
restart, however far away, can decide whether a step may occur before a line. These lines are few: their number
grows with the changes of leader and ISR, not with the records.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path

from isrcheck.conformance.follow.recorded.faults import FaultKind
from isrcheck.conformance.follow.recorded.lines import (
    NO_HEADER,
    Acked,
    AlterRequest,
    Disk,
    ElectRequest,
    Fault,
    Header,
    Line,
    Metadata,
    Remark,
    Sent,
)
from isrcheck.conformance.follow.recorded.recording import Consistency, Objects, Recording, since_start, typed
from isrcheck.conformance.follow.recorded.window import FalseLine, UnfitLine, Window
from isrcheck.models.client_settings import Acks

MOST_NAMES = 10_000
"""The number of remembered records, to see whether lines send them before other lines show them."""


@dataclass
class Changes:
    """An upper bound on the changes of leader and ISR up to the line `last` (compare script.py, `changes_required`)."""

    bound: int = 0

    last: Metadata | None = None
    """The last metadata line."""

    def take(self, line: Metadata) -> None:
        """Add the changes between the line `last` and `line`, the next metadata line."""
        if line.partition_epoch is not None:
            self.bound = line.partition_epoch
        elif self.last is not None:
            self.bound += line.epochs_since(self.last) + len(line.isr ^ self.last.isr)
        self.last = line


class Outlook:
    """A summary of a whole recording, made before it is followed. Positions count the followed lines, from 0 on."""

    def __init__(self, path: Path, header: Header) -> None:
        self.path = path
        self.header = header
        self.lines = 0
        self.deaths = 0

        self.changes = 0
        """The upper bound on changes of leader and ISR before the last line of `control`."""

        self.most_open = 0
        """The largest number of records that were sent after the last acknowledged record."""

        self.names: set[str] = set()
        """The records, up to MOST_NAMES or a few more."""

        self.control: list[tuple[int, Line]] = []
        """The lines about leaders, requests, faults and checkpoints, with their positions."""

        self.unsent: Line | None = None
        """The first line that shows a record which no line before has sent."""

        self.faults: set[FaultKind] = set()
        self.epochs: set[int] = set()
        self._replicas = set(header.replicas)
        self._consistency = Consistency(path)
        self._changes = Changes()
        self._open: dict[str, int] = {}
        self._sent = 0
        self._unseen: dict[str, tuple[int, Line]] = {}
        self._without_epoch: Metadata | None = None

    @property
    def brokers(self) -> tuple[int, ...]:
        return tuple(sorted(self._replicas))

    @property
    def acks(self) -> Acks | None:
        return self._consistency.acks

    @property
    def lost(self) -> tuple[int, Line] | None:
        """The position and line of the first `send` whose record no later line shows: perhaps the record has reached no
        broker. None: there is no such line."""
        return min(self._unseen.values(), key=lambda unseen: unseen[0], default=None)

    def take(self, line: Line) -> None:
        """Add the next followed line to the summary. Raises UsageError."""
        position = self.lines
        self.lines += 1
        self._consistency.produce(line)
        self._clients(position, line)
        self.epochs.update(line.epochs)
        if isinstance(line, Metadata):
            self._without_epoch = self._without_epoch or (line if line.leader_epoch is None else None)
            self._changes.take(line)
            line = replace(line, replicas=None) if line.replicas is not None else line
        if isinstance(line, Fault):
            self._consistency.befall(line)
            self.deaths += line.is_death
            self.faults.add(line.what)
        self._replicas |= line.replica_brokers
        is_checkpoint = isinstance(line, Disk) and line.checkpoint is not None
        if is_checkpoint or isinstance(line, Metadata | AlterRequest | ElectRequest | Fault):
            self.control.append((position, line.bare if isinstance(line, Disk) else line))
            self.changes = max(self.changes, self._changes.bound)

    def _clients(self, position: int, line: Line) -> None:
        if len(self.names) < MOST_NAMES:
            is_new = not self.names.issuperset(line.named)
            if is_new and not isinstance(line, Sent):
                self.unsent = self.unsent or line
            self.names.update(line.named)
        if isinstance(line, Sent):
            self._sent += 1
            self._open[line.value] = self._sent
            if len(self._unseen) < MOST_NAMES:
                self._unseen[line.value] = (position, line)
        else:
            for value in line.named:
                self._unseen.pop(value, None)
        if isinstance(line, Acked) and line.value in self._open:
            last = self._open[line.value]
            self._open = {value: number for value, number in self._open.items() if number > last}
        self.most_open = max(self.most_open, len(self._open))

    def check(self) -> None:
        """Raise UsageError if some lines have leader epochs, and a metadata line has none."""
        if self.epochs:
            self._consistency.without_epoch(self._without_epoch)


def followed(lines: Iterable[Line], header: Header) -> Iterator[Line]:
    """The lines that are followed online: all but the header, remarks, initial starts of brokers, and lines about
    reassignments. Requests for elections are followed only if the header says that all requests have lines."""
    return since_start(
        line
        for line in lines
        if line.counts(has_all_requests=True) and not line.is_about_reassignments
        if header.has_all_requests or not isinstance(line, ElectRequest)
    )


def outlook_of(path: Path, objects: Objects) -> Outlook:
    """Read a whole recording, and summarize it. Raises UsageError."""
    lines = typed(path, objects)
    first = next(lines, None)
    header = first if isinstance(first, Header) else NO_HEADER
    outlook = Outlook(path, header)
    for line in followed(chain([] if first is None else [first], lines), header):
        outlook.take(line)
    outlook.check()
    return outlook


@dataclass
class Past:
    """A summary of the passed lines: it keeps all of their content on which later steps of the model depend."""

    position: int = 0

    changes: Changes = field(default_factory=Changes)
    """The upper bound on the changes of leader and ISR so far, and the last metadata."""

    deaths: int = 0

    requests: dict[int, AlterRequest] = field(default_factory=dict)
    """The last request of each leader."""

    wish: ElectRequest | None = None
    """The request for an election in the present epoch."""

    stories: dict[int, list[Line]] = field(default_factory=dict)
    """The faults of each broker's process, and the last checkpoint after each of them."""

    leaders: dict[int, Metadata] = field(default_factory=dict)
    """The first lines that name the leader of each epoch."""

    def add(self, line: Line) -> None:
        self.position += 1
        match line:
            case Metadata():
                self._metadata(line)
            case AlterRequest():
                self.requests[line.leader] = line
            case ElectRequest():
                self.wish = line
            case Fault():
                self._fault(line)
            case Disk(checkpoint=int()):
                story = self.stories.setdefault(line.broker, [])
                if story and isinstance(story[-1], Disk):
                    story.pop()
                story.append(line.bare)

    @property
    def newest(self) -> Metadata | None:
        return self.changes.last

    def _metadata(self, line: Metadata) -> None:
        before = self.newest
        if before is not None and is_earlier(line, before):
            return
        if line.leader_epoch is not None and line.leader is not None:
            self.leaders.setdefault(line.leader_epoch, line)
        if before is not None and line.epochs_since(before) > 0:
            self.wish = None
        self.changes.take(line)

    def _fault(self, line: Fault) -> None:
        story = self.stories.setdefault(line.broker, [])
        self.deaths += line.is_death
        match line.what:
            case FaultKind.CUT:
                pass
            case FaultKind.START:
                story.clear()
            case FaultKind.THAW:
                story[:] = [passed for passed in story if isinstance(passed, Disk)][-1:]
            case _:
                story.append(line)

    def frozen(self) -> frozenset[int]:
        return frozenset(
            broker
            for broker, story in self.stories.items()
            if [line.what for line in story if isinstance(line, Fault)][-1:] == [FaultKind.FREEZE]
        )

    def lines(self, window: Window, total_deaths: int, old: Iterable[Metadata]) -> Iterator[Line]:
        """Yield the lines in `old`, then the other passed lines on which later steps of the model depend, with offsets
        and partition epochs counted from the window's beginning."""
        yield from old
        if self.newest is not None:
            deaths = total_deaths if self.newest.partition_epoch is None else 0
            yield replace(self.newest, partition_epoch=max(0, self.changes.bound + deaths - window.partition_epoch))
        for request in self.requests.values():
            # A request from before the window is no longer held by any leader, and counts from 0 like everything that
            # is over (moving.py).
            epoch, partition_epoch = request.leader_epoch, max(0, request.partition_epoch - window.partition_epoch)
            yield replace(request, leader_epoch=max(epoch, window.epoch), partition_epoch=partition_epoch)
        if self.wish is not None:
            yield self.wish
        for broker, story in self.stories.items():
            if broker in window.brokers:
                yield from (line.behind_window(window) for line in story)


def is_earlier(line: Metadata, than: Metadata) -> bool:
    """Whether `line` shows an earlier leader epoch than the line `than`."""
    return than.leader_epoch is not None and line.is_before(than.leader_epoch)


@dataclass(frozen=True)
class Chunk:
    """The next lines as a small recording, with the earlier and later lines on which the steps within it depend."""

    recording: Recording

    first: int
    end: int
    """`recording.lines[first:end]` are the lines to pass."""

    original: tuple[Line, ...]
    """The same lines as they were recorded."""

    blocked: FalseLine | UnfitLine | None
    """Why the line after `end` cannot be in this chunk; None: there is no room for its record, or its turn has not
    come."""

    is_full: bool

    unsent: tuple[int, ...]
    """For each line, the number of records that it shows first, although no line sends them."""

    def joined(self, count: int) -> int:
        """Return how many records of this chunk may have been sent once its first `count` lines are passed: those of
        the passed `send` lines, and those that appear without a `send` line before the next `send` line."""
        records = 0
        for at, (line, unsent) in enumerate(zip(self.original, self.unsent, strict=True)):
            if isinstance(line, Sent) and at >= count:
                break
            records += isinstance(line, Sent) + unsent
        return records


def next_chunk(lines: Sequence[Line], window: Window, past: Past, outlook: Outlook) -> Chunk:
    """Make a chunk of the first `lines`, as many as fit the window; add the records of these lines to the window."""
    rewritten: list[Line] = []
    unsent: list[int] = []
    blocked: FalseLine | UnfitLine | None = None
    is_full = False
    for line in lines:
        records_known = () if isinstance(line, Sent) else window.known
        new = [value for value in dict.fromkeys(line.named_since(window.offset)) if value not in records_known]
        if len(window.values) + len(new) > window.records:
            is_full = True
            break
        held = len(window.values)
        if isinstance(line, Sent) and (line.value in window.values or line.value in window.settled):
            blocked = UnfitLine(f"{line.value} is sent twice")
            break
        window.values.extend(new)
        try:
            rewritten.append(line.in_window(window) or Remark(line.number, line.n))
        except (FalseLine, UnfitLine) as error:
            blocked = error
            del window.values[held:]
            break
        unsent.append(0 if isinstance(line, Sent) else len(new))
    original, header = tuple(lines[: len(rewritten)]), outlook.header
    before = list(past.lines(window, outlook.deaths, _old_views(original, past)))
    after = _later(past.position + len(rewritten), window, past, original, outlook)
    recording = Recording(
        path=outlook.path,
        lines=(*before, *rewritten, *after),
        brokers=outlook.brokers,
        values=tuple(window.values),
        header=replace(header, first_offset=header.first_offset + window.offset),
        acks=outlook.acks,
        has_epochs=bool(outlook.epochs),
        first_epoch=window.epoch,
    )
    first = len(before)
    return Chunk(recording, first, first + len(rewritten), original, blocked, is_full, tuple(unsent))


def _old_views(lines: Sequence[Line], past: Past) -> list[Metadata]:
    """The lines of `past` that first named the leaders of the epochs in `lines`, without the newest epoch of `past`."""
    wanted = {line.leader_epoch for line in lines if isinstance(line, Metadata) and line.leader_epoch is not None}
    newest = None if past.newest is None else past.newest.leader_epoch
    leaders = [past.leaders[epoch] for epoch in sorted(wanted) if epoch in past.leaders and epoch != newest]
    return [replace(line, partition_epoch=None) for line in leaders]


def _later(position: int, window: Window, past: Past, passed: Sequence[Line], outlook: Outlook) -> Iterator[Line]:
    """The lines after a chunk on which the model's steps in the chunk depend, such as the next that names a leader."""
    newest = past.newest
    for line in passed:
        if isinstance(line, Metadata) and (newest is None or not is_earlier(line, newest)):
            newest = line
    has_leader = has_changes = False
    started: set[int] = set()
    asking: set[int] = set()
    for at, line in outlook.control:
        if at < position:
            continue
        if isinstance(line, Metadata):
            if newest is not None and is_earlier(line, newest):
                continue
            if not (has_leader and has_changes):
                yield line.behind_window(window)
            newest = line
            has_leader |= line.leader is not None
            has_changes |= line.partition_epoch is not None
        elif isinstance(line, AlterRequest) and line.leader not in asking:
            asking.add(line.leader)
            yield line.behind_window(window)
        elif isinstance(line, Fault | Disk) and line.broker in outlook.brokers and line.broker not in started:
            yield line.behind_window(window)
            if isinstance(line, Fault) and line.what is FaultKind.START:
                started.add(line.broker)

"""What the script of a search needs of the lines around a window: the first pass over a recording (`Outlook`), and a
small recording of the next lines (`Chunk`).

In:  the lines of a recording; the next lines, the window, and what is known from the lines before (`Past`).
Out: the settings, the brokers, and the few lines about leaders, requests, faults and checkpoints; a recording in terms
     of the window, of which the first lines are passed already, and the last lines are not reached.

The lines about leaders, requests, faults and checkpoints are kept, because a step before a line may depend on the next
leader, request or restart, however far away it is. There are few: their number grows with the changes of leader and
ISR, not with the records.
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
class Outlook:
    """What is known of a whole recording. Positions count the lines that say something, from 0 on."""

    path: Path
    lines: int = 0
    header: Header = NO_HEADER
    brokers: tuple[int, ...] = ()
    acks: Acks | None = None
    has_epochs: bool = False
    first_epoch: int = 0
    last_epoch: int = 0

    most_open: int = 0
    """The largest number of records that were sent after the last acknowledged record."""

    deaths: int = 0

    records: int = 0
    """The number of records, up to MOST_NAMES or a few more."""

    control: list[tuple[int, Line]] = field(default_factory=list)
    """The lines about leaders, requests, faults and checkpoints, with their positions."""

    changes: int = 0
    """The upper bound on changes of leader and ISR (script.py, `changes_required`)."""

    unsent: Line | None = None
    """The first line that shows a record which no line before has sent."""

    lost: tuple[int, Line] | None = None
    """The first line that sends a record which no later line shows, with its position: perhaps the record has reached
    no broker."""

    faults: set[FaultKind] = field(default_factory=set)


def followed(lines: Iterable[Line], header: Header) -> Iterator[Line]:
    """The lines that are followed online: those that say something, except the starts of the whole cluster."""
    return since_start(
        line
        for line in lines
        if line.counts(has_all_requests=True) and not line.is_about_reassignments
        if header.has_all_requests or not isinstance(line, ElectRequest)
    )


def outlook_of(path: Path, objects: Objects) -> Outlook:
    """Read a recording once. Raises UsageError."""
    lines = typed(path, objects)
    first = next(lines, None)
    header = first if isinstance(first, Header) else NO_HEADER
    survey = _Survey(Outlook(path, header=header))
    for line in followed(chain([] if first is None else [first], lines), header):
        survey.take(line)
    return survey.finish()


class _Survey:
    """The first pass."""

    def __init__(self, outlook: Outlook) -> None:
        self.outlook = outlook
        self.consistency = Consistency(outlook.path)
        self.epochs: set[int] = set()
        self.replicas = set(outlook.header.replicas)
        self.open: dict[str, int] = {}
        self.names: set[str] = set()
        self.sent = 0
        self.unseen: dict[str, tuple[int, Line]] = {}
        self.before: Metadata | None = None
        self.bound = 0
        self.without_epoch: Metadata | None = None

    def take(self, line: Line) -> None:
        """Note one line, which is at the next position."""
        outlook = self.outlook
        position = outlook.lines
        outlook.lines += 1
        self.consistency.produce(line)
        self._clients(position, line)
        self.epochs.update(line.epochs)
        if isinstance(line, Metadata):
            self._metadata(line)
            line = replace(line, replicas=None) if line.replicas is not None else line
        if isinstance(line, Fault):
            self.consistency.befall(line)
            outlook.deaths += line.is_death
            outlook.faults.add(line.what)
        self.replicas |= line.replica_brokers
        is_checkpoint = isinstance(line, Disk) and line.checkpoint is not None
        if is_checkpoint or isinstance(line, Metadata | AlterRequest | ElectRequest | Fault):
            outlook.control.append((position, line.bare if isinstance(line, Disk) else line))
            outlook.changes = max(outlook.changes, self.bound)

    def _clients(self, position: int, line: Line) -> None:
        outlook = self.outlook
        if len(self.names) < MOST_NAMES:
            new = [value for value in line.named if value not in self.names]
            if new and not isinstance(line, Sent):
                outlook.unsent = outlook.unsent or line
            self.names.update(new)
            outlook.records = len(self.names)
        if isinstance(line, Sent):
            self.sent += 1
            self.open[line.value] = self.sent
            if len(self.unseen) < MOST_NAMES:
                self.unseen[line.value] = (position, line)
        else:
            for value in line.named:
                self.unseen.pop(value, None)
        if isinstance(line, Acked) and line.value in self.open:
            last = self.open[line.value]
            self.open = {value: number for value, number in self.open.items() if number > last}
        outlook.most_open = max(outlook.most_open, len(self.open))

    def _metadata(self, line: Metadata) -> None:
        if line.leader_epoch is None:
            self.without_epoch = self.without_epoch or line
        if line.partition_epoch is not None:
            self.bound = line.partition_epoch
        elif self.before is not None:
            self.bound += line.epochs_since(self.before) + len(line.isr ^ self.before.isr)
        self.before = line

    def finish(self) -> Outlook:
        """Note the facts that only the whole recording shows. Raises UsageError."""
        outlook = self.outlook
        outlook.acks = self.consistency.acks
        outlook.lost = min(self.unseen.values(), key=lambda unseen: unseen[0], default=None)
        outlook.brokers = tuple(sorted(self.replicas))
        outlook.has_epochs = bool(self.epochs)
        outlook.first_epoch, outlook.last_epoch = min(self.epochs, default=0), max(self.epochs, default=0)
        if outlook.has_epochs:
            self.consistency.without_epoch(self.without_epoch)
        return outlook


@dataclass
class Past:
    """What is known from the passed lines."""

    position: int = 0

    newest: Metadata | None = None
    """The last metadata."""

    changes: int = 0
    """The upper bound on the changes of leader and ISR so far (script.py)."""

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
        """Note a line that was passed."""
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

    def _metadata(self, line: Metadata) -> None:
        before = self.newest
        if before is not None and is_earlier(line, before):
            return
        if line.leader_epoch is not None and line.leader is not None:
            self.leaders.setdefault(line.leader_epoch, line)
        is_later = before is not None and line.epochs_since(before) > 0
        self.wish = None if is_later else self.wish
        if line.partition_epoch is not None:
            self.changes = line.partition_epoch
        elif before is not None:
            self.changes += line.epochs_since(before) + len(line.isr ^ before.isr)
        self.newest = line

    def _fault(self, line: Fault) -> None:
        story = self.stories.setdefault(line.broker, [])
        self.deaths += line.is_death
        match line.what:
            case FaultKind.CUT:
                pass
            case FaultKind.START:
                story.clear()
            case FaultKind.THAW:
                story[:] = [one for one in story if isinstance(one, Disk)][-1:]
            case _:
                story.append(line)

    def frozen(self) -> frozenset[int]:
        """The brokers that are frozen."""
        return frozenset(
            broker
            for broker, story in self.stories.items()
            if [one.what for one in story if isinstance(one, Fault)][-1:] == [FaultKind.FREEZE]
        )

    def lines(self, window: Window, total_deaths: int, old: Iterable[Metadata]) -> Iterator[Line]:
        """The lines that stand for the past, in terms of the window."""
        yield from old
        if self.newest is not None:
            deaths = total_deaths if self.newest.partition_epoch is None else 0
            yield replace(self.newest, partition_epoch=max(0, self.changes + deaths - window.partition_epoch))
        yield from (_answered(line, window) for line in self.requests.values())
        if self.wish is not None:
            yield self.wish
        for broker, story in self.stories.items():
            if broker in window.brokers:
                yield from (line.behind_window(window) for line in story)


def _answered(line: AlterRequest, window: Window) -> AlterRequest:
    """A leader's last request in terms of the window. A request from before the window is no longer held by any leader,
    and counts from 0 like everything that is over (moving.py).
    """
    partition_epoch = max(0, line.partition_epoch - window.partition_epoch)
    return replace(line, leader_epoch=max(line.leader_epoch, window.epoch), partition_epoch=partition_epoch)


def is_earlier(line: Metadata, than: Metadata) -> bool:
    """Whether a line shows an epoch before that of another line."""
    return than.leader_epoch is not None and line.is_before(than.leader_epoch)


@dataclass(frozen=True)
class Chunk:
    """`recording.lines[first:end]` are the lines to pass; `original` are the same lines as they were recorded.

    `blocked` says why the line after them cannot be in this chunk: a `FalseLine`, an `UnfitLine`, or None if there is
    no room for its record, or its turn has not come. `unsent` counts for each line the records that it shows first,
    although no line sends them.
    """

    recording: Recording
    first: int
    end: int
    original: tuple[Line, ...]
    blocked: FalseLine | UnfitLine | None
    is_full: bool
    unsent: tuple[int, ...]

    def joined(self, count: int) -> int:
        """How many records of this chunk may be sent after its first `count` lines: those that these lines send, and
        those without a line that sends them, up to the next line that sends one.
        """
        found = 0
        for at, (line, unsent) in enumerate(zip(self.original, self.unsent, strict=True)):
            if isinstance(line, Sent) and at >= count:
                break
            found += isinstance(line, Sent) + unsent
        return found


def next_chunk(lines: Sequence[Line], window: Window, past: Past, outlook: Outlook) -> Chunk:
    """The chunk of the next lines, as many as the window has room for. Their records join the window."""
    rewritten: list[Line] = []
    unsent: list[int] = []
    blocked: FalseLine | UnfitLine | None = None
    is_full = False
    for line in lines:
        known = () if isinstance(line, Sent) else window.known
        new = [value for value in dict.fromkeys(line.named_since(window.offset)) if value not in known]
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
    original = tuple(lines[: len(rewritten)])
    before = list(past.lines(window, outlook.deaths, _old_views(original, past)))
    after = _later(past.position + len(rewritten), window, past, original, outlook)
    header = outlook.header
    recording = Recording(
        path=outlook.path,
        lines=(*before, *rewritten, *after),
        brokers=outlook.brokers,
        values=tuple(window.values),
        header=replace(header, first_offset=header.first_offset + window.offset),
        acks=outlook.acks,
        has_epochs=outlook.has_epochs,
        first_epoch=window.epoch,
    )
    end = len(before) + len(rewritten)
    return Chunk(recording, len(before), end, original, blocked, is_full, tuple(unsent))


def _old_views(lines: Sequence[Line], past: Past) -> list[Metadata]:
    """The lines that named the leaders of earlier epochs to which some of these lines return."""
    wanted = {line.leader_epoch for line in lines if isinstance(line, Metadata) and line.leader_epoch is not None}
    newest = None if past.newest is None else past.newest.leader_epoch
    found = [past.leaders[epoch] for epoch in sorted(wanted) if epoch in past.leaders and epoch != newest]
    return [replace(line, partition_epoch=None) for line in found]


def _later(position: int, window: Window, past: Past, passed: Sequence[Line], outlook: Outlook) -> Iterator[Line]:
    """The later lines on which steps before them depend."""
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

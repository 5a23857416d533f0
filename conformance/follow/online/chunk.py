"""What the script of a search needs of the lines around a window: the first pass over a recording (`Outlook`), and a
small recording of the next lines (`Chunk`).

In:  the lines of a recording; the next lines, the window, and what the lines before have left (`Past`).
Out: the settings, the brokers, and the few lines about leaders, requests, faults and checkpoints; a recording in terms
     of the window, of which the first lines are passed already, and the last ones are not reached.

The lines about leaders, requests, faults and checkpoints are kept, because a step before a line may depend on the next
leader, request or restart, however far away it is. There are few: their number grows with the changes of leader and
ISR, not with the records.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from isrcheck.conformance.follow.format.ndjson import bad_line
from isrcheck.conformance.follow.recorded.faults import ALLOWED, BECOMES, FaultKind
from isrcheck.conformance.follow.recorded.lines import (
    Acked,
    AlterRequest,
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
from isrcheck.conformance.follow.recorded.reading import begins_of, read_line
from isrcheck.conformance.follow.recorded.recording import Objects, Recording
from isrcheck.conformance.follow.recorded.window import FalseLine, UnfitLine, Window, shown
from isrcheck.models.client_settings import Acks

MOST_NAMES = 10_000
"""So many records are remembered, to see whether lines send them before others show them."""

DEATHS = (FaultKind.KILL, FaultKind.STOP)


@dataclass
class Outlook:
    """What is known of a whole recording. Positions count the lines that say something, from 0 on.

    `changes` is the upper bound on changes of leader and ISR up to each line in `control` (script.py,
    `changes_required`). `most_open` is the largest number of records that were sent after the
    last one that is acknowledged. `records` counts the records, up to MOST_NAMES or a few more. `unsent` is the first
    line that shows a record which no line before has sent. `lost` is the first line that sends a record which no later
    line shows, with its position: perhaps the record has reached nobody.
    """

    path: Path
    lines: int = 0
    header: Header | None = None
    brokers: tuple[int, ...] = ()
    acks: Acks | None = None
    has_epochs: bool = False
    first_epoch: int = 0
    last_epoch: int = 0
    most_open: int = 0
    deaths: int = 0
    records: int = 0
    control: list[tuple[int, Line]] = field(default_factory=list)
    changes: list[int] = field(default_factory=list)
    unsent: Line | None = None
    lost: tuple[int, Line] | None = None
    faults: set[FaultKind] = field(default_factory=set)

    @property
    def has_all_requests(self) -> bool:
        """Every request to change the ISR, and every preferred election, has a line."""
        return self.header is not None and self.header.has_all_requests


def typed(path: Path, objects: Objects, has_all_requests: bool) -> Iterator[Line]:
    """The lines of a recording that say something, in order, without the starts of the whole cluster."""
    begins, before, has_begun = None, -1, False
    for position, (number, said) in enumerate(objects):
        begins = begins or begins_of(path, number, said)
        line = read_line(path, number, said, begins)
        if isinstance(line, Header):
            if position:
                raise bad_line(path, number, "a header after other lines; put one header first")
            yield line
            continue
        if line.n <= before:
            raise bad_line(path, number, f"n is {line.n} after {before}; put the lines in the order of n")
        before = line.n
        if isinstance(line, Remark | Reassignment | Reassigned):
            continue
        if isinstance(line, ElectRequest) and not has_all_requests:
            continue
        if not has_begun and isinstance(line, Fault) and line.what is FaultKind.START:
            continue
        has_begun = True
        yield line


def outlook_of(path: Path, objects: Objects) -> Outlook:
    """Read a recording once. Raises UsageError."""
    found = Outlook(path)
    epochs: set[int] = set()
    replicas: set[int] = set()
    survey = _Survey(found, epochs, replicas)
    for line in _all(path, objects, found):
        survey.take(line)
    survey.finish()
    return found


def _all(path: Path, objects: Objects, found: Outlook) -> Iterator[Line]:
    # Whether lines about preferred elections count is said by the header, which comes first.
    for line in typed(path, objects, has_all_requests=True):
        if isinstance(line, Header):
            found.header = line
        elif not isinstance(line, ElectRequest) or found.has_all_requests:
            yield line


class _Survey:
    def __init__(self, found: Outlook, epochs: set[int], replicas: set[int]) -> None:
        self.found = found
        self.epochs = epochs
        self.replicas = replicas
        self.conditions: dict[int, tuple[str, int]] = {}
        self.faulty: dict[int, Fault] = {}
        self.acks_line = 0
        self.open: dict[str, int] = {}
        self.names: set[str] = set()
        self.sent = 0
        self.unseen: dict[str, tuple[int, Line]] = {}
        self.before: Metadata | None = None
        self.is_known = False
        self.bound = 0
        self.without_epoch: Metadata | None = None

    def take(self, line: Line) -> None:
        """Note one line, which is at the next position."""
        found = self.found
        position = found.lines
        found.lines += 1
        self._brokers(line)
        self._acks(line)
        self._clients(line)
        if isinstance(line, Metadata):
            self._metadata(line)
        if isinstance(line, Fault):
            self._fault(line)
        is_checkpoint = isinstance(line, Disk) and line.checkpoint is not None
        if is_checkpoint or isinstance(line, Metadata | AlterRequest | ElectRequest | Fault):
            found.control.append((position, _bare(line)))
            found.changes.append(self.bound)
        if isinstance(line, Disk):
            self.epochs.update(line.batch_epochs[-1:] if line.batch_epochs else ())
            self.epochs.update(line.batch_epochs[:1] if line.batch_epochs else ())
        if isinstance(line, View):
            self.epochs.add(line.leader_epoch)
        if isinstance(line, Holds) and line.batch_epochs:
            self.epochs |= {min(line.batch_epochs), max(line.batch_epochs)}
        if isinstance(line, LogEnd) and line.last_epoch is not None:
            self.epochs.add(line.last_epoch)

    def _clients(self, line: Line) -> None:
        found = self.found
        if len(self.names) < MOST_NAMES:
            new = [value for value in shown(line) if value not in self.names]
            if new and not isinstance(line, Sent):
                found.unsent = found.unsent or line
            self.names.update(new)
            found.records = len(self.names)
        if isinstance(line, Sent):
            self.sent += 1
            self.open[line.value] = self.sent
            if len(self.unseen) < MOST_NAMES:
                self.unseen[line.value] = (found.lines - 1, line)
        else:
            for value in shown(line):
                self.unseen.pop(value, None)
        if isinstance(line, Acked) and line.value in self.open:
            last = self.open[line.value]
            self.open = {value: number for value, number in self.open.items() if number > last}
        found.most_open = max(found.most_open, len(self.open))

    def _metadata(self, line: Metadata) -> None:
        if line.leader_epoch is None:
            self.without_epoch = self.without_epoch or line
        else:
            self.epochs.add(line.leader_epoch)
        before = self.before
        if line.partition_epoch is not None:
            self.bound = line.partition_epoch
        elif before is not None:
            epochs = max(0, (line.leader_epoch or 0) - (before.leader_epoch or 0))
            self.bound += epochs + len(line.isr ^ before.isr)
        self.before = line

    def _brokers(self, line: Line) -> None:
        if isinstance(line, Disk | HighWatermark | LogEnd | Holds):
            self.replicas.add(line.broker)
        elif isinstance(line, AlterRequest):
            self.replicas |= line.isr | {line.leader}
        elif isinstance(line, Metadata):
            self.replicas |= line.isr | (set() if line.leader is None else {line.leader})

    def _acks(self, line: Line) -> None:
        if isinstance(line, Acked | Sent) and line.acks is not None:
            if self.found.acks not in (None, line.acks):
                what = f"acks={line.acks.spelling} after acks={self.found.acks.spelling} at line {self.acks_line}"
                raise bad_line(self.found.path, line.number, f"{what}; split the recording: acks may not change in it")
            if self.found.acks is None:
                self.found.acks, self.acks_line = line.acks, line.number

    def _fault(self, line: Fault) -> None:
        condition, since = self.conditions.get(line.broker, ("running", 0))
        if condition not in ALLOWED[line.what]:
            told = f"is {condition} since line {since}" if since else "runs from the start"
            cure = "correct the line, or add the missing one"
            what = f"{line.what.value}: broker {line.broker} {told}; {cure}"
            raise bad_line(self.found.path, line.number, what)
        self.conditions[line.broker] = (BECOMES.get(line.what, condition), line.number)
        self.found.deaths += line.what in DEATHS
        self.found.faults.add(line.what)

    def finish(self) -> None:
        """Note what only the whole recording shows."""
        found = self.found
        if found.header is not None:
            self.replicas |= found.header.replicas
        found.lost = min(self.unseen.values(), key=lambda one: one[0], default=None)
        found.brokers = tuple(sorted(self.replicas))
        found.has_epochs = bool(self.epochs)
        found.first_epoch, found.last_epoch = min(self.epochs, default=0), max(self.epochs, default=0)
        if found.has_epochs and self.without_epoch is not None:
            what = "leader_epoch is missing, but other lines have epochs; give it in every metadata line, or in none"
            raise bad_line(found.path, self.without_epoch.number, what)


def _bare(line: Line) -> Line:
    """A line without the log that it shows, which is of no use before its turn."""
    if isinstance(line, Disk):
        return Disk(line.number, line.n, line.broker, (), None, None, line.checkpoint, source=line.source)
    return line


@dataclass
class Past:
    """What the lines that were passed have left: the last metadata, requests, and the faults of each process.

    `changes` is the upper bound on the changes of leader and ISR so far (script.py), `leaders` are the first lines that
    name the leader of each epoch.
    """

    position: int = 0
    newest: Metadata | None = None
    changes: int = 0
    deaths: int = 0
    requests: dict[int, AlterRequest] = field(default_factory=dict)
    wish: ElectRequest | None = None
    stories: dict[int, list[Line]] = field(default_factory=dict)
    leaders: dict[int, Metadata] = field(default_factory=dict)

    def add(self, line: Line) -> None:
        """Note a line that was passed."""
        self.position += 1
        if isinstance(line, Metadata):
            self._metadata(line)
        elif isinstance(line, AlterRequest):
            self.requests[line.leader] = line
        elif isinstance(line, ElectRequest):
            self.wish = line
        elif isinstance(line, Fault):
            self._fault(line)
        elif isinstance(line, Disk) and line.checkpoint is not None:
            story = self.stories.setdefault(line.broker, [])
            if story and isinstance(story[-1], Disk):
                story.pop()
            story.append(replace(line, log=(), batch_epochs=None, epoch_cache=None))

    def _metadata(self, line: Metadata) -> None:
        before = self.newest
        if before is not None and is_earlier(line, before):
            return
        if line.leader_epoch is not None and line.leader is not None:
            self.leaders.setdefault(line.leader_epoch, line)
        is_later = before is not None and (line.leader_epoch or 0) > (before.leader_epoch or 0)
        self.wish = None if is_later else self.wish
        if line.partition_epoch is not None:
            self.changes = line.partition_epoch
        elif before is not None:
            epochs = max(0, (line.leader_epoch or 0) - (before.leader_epoch or 0))
            self.changes += epochs + len(line.isr ^ before.isr)
        self.newest = line

    def _fault(self, line: Fault) -> None:
        story = self.stories.setdefault(line.broker, [])
        self.deaths += line.what in DEATHS
        if line.what is FaultKind.CUT:
            return
        if line.what is FaultKind.START:
            story.clear()
        elif line.what is FaultKind.THAW:
            seen = [one for one in story if isinstance(one, Disk)]
            story[:] = seen[-1:]
        else:
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
                yield from map(window.rewrite_control, story)


def _answered(line: AlterRequest, window: Window) -> AlterRequest:
    """A leader's last request in terms of the window. If it is from before the window, no leader has it any more, and
    it counts from 0 as all that is over does (window/moving.py).
    """
    partition_epoch = max(0, line.partition_epoch - window.partition_epoch)
    return replace(line, leader_epoch=max(line.leader_epoch, window.epoch), partition_epoch=partition_epoch)


def is_earlier(line: Metadata, than: Metadata) -> bool:
    """Whether a line shows an epoch before that of another line."""
    return None not in (line.leader_epoch, than.leader_epoch) and (line.leader_epoch or 0) < (than.leader_epoch or 0)


@dataclass(frozen=True)
class Chunk:
    """`recording.lines[first:end]` are the lines to pass; `original` are the same lines as they were recorded.

    `blocked` says why the line after them cannot be in this chunk: a `FalseLine`, an `UnfitLine`, or None if there is
    no room for its record, or it is only not the turn of it. `unsent` counts for each line the records that it shows
    first, although no line sends them.
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
        new = window.new_records(line)
        if len(window.values) + len(new) > window.records:
            is_full = True
            break
        held = len(window.values)
        if isinstance(line, Sent) and (line.value in window.values or line.value in window.settled):
            blocked = UnfitLine(f"{line.value} is sent twice")
            break
        window.values.extend(new)
        try:
            rewritten.append(window.rewrite(line) or Remark(line.number, line.n))
        except (FalseLine, UnfitLine) as error:
            blocked = error
            del window.values[held:]
            break
        unsent.append(0 if isinstance(line, Sent) else len(new))
    original = tuple(lines[: len(rewritten)])
    before = list(past.lines(window, outlook.deaths, _old_views(original, past)))
    after = _later(past.position + len(rewritten), window, past, original, outlook)
    header = outlook.header
    return Chunk(
        Recording(
            outlook.path,
            (*before, *rewritten, *after),
            outlook.brokers,
            tuple(window.values),
            None if header is None else header.min_insync_replicas,
            None if header is None else header.unclean_election,
            outlook.acks,
            outlook.has_epochs,
            window.epoch,
            outlook.has_all_requests,
            window.offset + (0 if header is None else header.first_offset),
        ),
        len(before),
        len(before) + len(rewritten),
        original,
        blocked,
        is_full,
        tuple(unsent),
    )


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
                yield window.rewrite_control(line)
            newest = line
            has_leader |= line.leader is not None
            has_changes |= line.partition_epoch is not None
        elif isinstance(line, AlterRequest) and line.leader not in asking:
            asking.add(line.leader)
            yield window.rewrite_control(line)
        elif isinstance(line, Fault | Disk) and line.broker in outlook.brokers and line.broker not in started:
            yield window.rewrite_control(line)
            if isinstance(line, Fault) and line.what is FaultKind.START:
                started.add(line.broker)

"""A small recording of the next lines, with what the script of a search needs of the lines before and after them.

In:  the next lines, the window, and what the lines before have left (`Past`).
Out: a `Chunk`: a recording in terms of the window. Its first lines are passed already, its last ones are not reached.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from isrcheck.conformance.follow.online.outlook import DEATHS, Outlook
from isrcheck.conformance.follow.online.window.position import FalseLine, UnfitLine, Window
from isrcheck.conformance.follow.recorded.lines import (
    AlterRequest,
    Disk,
    ElectRequest,
    Fault,
    FaultKind,
    Line,
    Metadata,
    Remark,
    Sent,
)
from isrcheck.conformance.follow.recorded.recording import Recording


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

"""The first pass over a recording: what the script of a window has to know of later lines.

In:  the lines of a recording.
Out: an `Outlook`: the settings, the brokers, and the few lines about leaders, requests, faults and checkpoints.

These lines are kept, because a step before a line may depend on the next leader, request or restart, however far away
it is. There are few: their number grows with the changes of leader and ISR, not with the records.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from isrcheck.conformance.follow.format.ndjson import bad_line
from isrcheck.conformance.follow.online.window.position import shown
from isrcheck.conformance.follow.recorded.lines import (
    Acked,
    AlterRequest,
    Disk,
    ElectRequest,
    Fault,
    FaultKind,
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
from isrcheck.conformance.follow.recorded.recording import ALLOWED, BECOMES, Objects
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

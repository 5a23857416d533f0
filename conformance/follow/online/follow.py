"""Follows a recording online: window by window, with all states that are possible after each line."""

from __future__ import annotations

import gc
import time
from collections import Counter, deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path

import numpy as np

from isrcheck.checker.compile.kernel import kernel_of
from isrcheck.checker.compile.machine_code import OutOfTimeError, compiling_within
from isrcheck.checker.resources.limits import Budget, Limits, Spent
from isrcheck.commands.exit_codes import DIVERGED, DONE, INTERRUPTED, UNDECIDED, VIOLATED
from isrcheck.conformance.follow.format.ndjson import lines_of, objects_of
from isrcheck.conformance.follow.online.chunk import Chunk, Outlook, Past, followed, next_chunk, outlook_of
from isrcheck.conformance.follow.online.moving import (
    Request,
    Table,
    drop_late_requests,
    drop_late_responses,
    longest_move,
    move,
    read_ahead,
)
from isrcheck.conformance.follow.online.steps_of_chunk import ChunkSearch
from isrcheck.conformance.follow.recorded.lines import AlterRequest, Line, Remark
from isrcheck.conformance.follow.recorded.recording import Objects, remarks_in, typed, unused_in
from isrcheck.conformance.follow.recorded.states import Numbers, Words
from isrcheck.conformance.follow.recorded.window import FalseLine, Window
from isrcheck.conformance.follow.search.explain import UnmetClaim, not_modelled, unmet_claim
from isrcheck.conformance.follow.search.monitor import Monitor
from isrcheck.conformance.follow.search.promises import PROMISE, Keeping
from isrcheck.conformance.follow.search.script import Script
from isrcheck.conformance.follow.search.search import Report
from isrcheck.conformance.follow.search.size import Size, instance_for
from isrcheck.conformance.follow.wire.convert import observations_of
from isrcheck.conformance.follow.wire.messages import is_wire
from isrcheck.models.language.model import Instance
from isrcheck.models.messages import UsageError

LONG = 1_000
"""A recording with at least this many observations is followed online, unless a history is requested."""

Stream = Callable[[], Objects]


def stream_of(path: Path) -> Stream:
    """A function that reads the JSON objects of a recording, each with its line number. Reading raises UsageError."""
    if is_wire(path):
        return lambda: observations_of(path, is_online=True)
    return lambda: objects_of(path)


def is_long(path: Path, stream: Stream) -> bool:
    """Whether a recording has at least LONG (1,000) observations. Raises UsageError."""
    # First without decoding the lines: one line shows one observation, or two.
    return all(next(islice(lines, LONG - 1, None), None) is not None for lines in (lines_of(path), stream()))


@dataclass(frozen=True)
class Cost:
    """How many lines were followed (`lines` out of `of`), and the effort: states, successors, windows, seconds."""

    lines: int

    of: int
    """The number of lines of the recording that say something."""

    states: int

    most: int
    """The largest number of states before one line."""

    generated: int
    windows: int
    seconds: float


@dataclass(frozen=True)
class Online:
    """The common part of the verdicts on recordings followed online: generation, cost, and possibilities left out."""

    path: Path
    generation: str
    cost: Cost

    unchecked: int
    """The number of lines whose part before the window was not checked."""

    left_out: str | None
    """The possibilities that were not followed, and from which line on; None: all were followed."""

    unused: str = field(default="", kw_only=True)
    """The contents of the recording beside its lines."""


@dataclass(frozen=True)
class Followed(Online):
    """There is a behaviour of the model in which all lines are true."""

    keeps: bool | None
    """Whether one such behaviour loses no acknowledged record without permission; None: undecided."""

    lost: Line | None = None
    """If `keeps` is False: the first line before which every behaviour has lost a record."""

    @property
    def exit_code(self) -> int:
        """VIOLATED if every behaviour loses an acknowledged record without permission, otherwise DONE."""
        return VIOLATED if self.keeps is False else DONE


@dataclass(frozen=True)
class RejectedOnline(Online):
    """The model has no behaviour in which `line` and all lines before it are true."""

    instance: Instance
    line: Line

    possible: int
    """The number of states before the line."""

    unmet: tuple[UnmetClaim, ...]
    """The claims of the line, in terms of the window, which begins at `offset` and `partition_epoch`."""

    why: str | None
    """The reason, if no claim is unmet."""

    offset: int
    partition_epoch: int
    exit_code: int = DIVERGED


@dataclass(frozen=True)
class UndecidedOnline(Online):
    """It is not decided whether `line` can be true; a behaviour of the model explains all lines before it."""

    line: Line | None
    """None: the limit was reached while the next line was read."""

    why: str
    """interrupt, memory, seconds, or a sentence."""

    @property
    def exit_code(self) -> int:
        return INTERRUPTED if self.why == "interrupt" else UNDECIDED


OnlineOutcome = Followed | RejectedOnline | UndecidedOnline


@dataclass(frozen=True)
class Kept:
    """The contents of the monitors of all possible states, from which the next chunk's monitors are made. Each state
    has a monitor, which records what the lines need to know about the path to the state (search/monitor.py).

    For each broker: the observed checkpoints of its process, as offsets in the recording; how many of them have
    occurred (`sighted`); and the high watermarks since the last of them, as a bit mask (`since`). For each record, by
    its value: whether it was acknowledged at an offset other than the recorded one (`elsewhere`).
    """

    checkpoints: tuple[tuple[int, ...], ...]
    sighted: tuple[Numbers, ...]
    since: tuple[Numbers | None, ...]
    elsewhere: dict[str, Numbers]


def kept(monitor: Monitor, values: tuple[str, ...], offset: int, position: int, monitors: Words) -> Kept:
    """The contents of a chunk's `monitors` before its line at `position`; the window has `values` from `offset` on."""
    incarnations = monitor.incarnations[position]
    processes = [monitor.sightings.processes[replica][count] for replica, count in enumerate(incarnations)]
    return Kept(
        tuple(tuple(value + offset for value in process.values) for process in processes),
        tuple(bits.read(monitors) for bits in monitor.sighted),
        tuple(None if bits is None else bits.read(monitors) for bits in monitor.since),
        {values[record]: bits.read(monitors) for record, bits in monitor.elsewhere.items()},
    )


def resumed(monitor: Monitor, values: tuple[str, ...], offset: int, position: int, before: Kept) -> Words:
    """A chunk's first monitors: the lines before `position` are passed; the rest is from the last chunk (`before`)."""
    count = len(before.sighted[0])
    monitors: Words = np.zeros(count, np.uint64)
    monitor.passed.write(monitors, np.full(count, position))
    incarnations = monitor.incarnations[position]
    for replica, bits in enumerate(monitor.sighted):
        now = tuple(value + offset for value in monitor.sightings.processes[replica][incarnations[replica]].values)
        gone = _dropped(before.checkpoints[replica], now)
        bits.write(monitors, np.clip(before.sighted[replica] - gone, 0, len(now)))
        since, held = monitor.since[replica], before.since[replica]
        if since is not None and held is not None:
            since.write(monitors, held)
    for record, bits in monitor.elsewhere.items():
        flags = before.elsewhere.get(values[record])
        if flags is not None:
            bits.write(monitors, flags)
    return monitors


def _dropped(before: tuple[int, ...], now: tuple[int, ...]) -> int:
    """How many checkpoints at the start of `before` are missing in `now`, which begins with the rest of `before`."""
    for gone in range(len(before)):
        remaining = before[gone:]
        if now[: len(remaining)] == remaining[: len(now)]:
            return gone
    return len(before)


def moved(before: Kept, guard: int) -> Kept:
    """The content of the monitors after the window has moved to `guard`: high watermarks up to this offset become 0."""

    def shifted(held: Numbers) -> Numbers:
        low = (held & ((2 << guard) - 1)) != 0
        marks: Numbers = (held >> guard) & ~np.int64(1) | low.astype(np.int64)
        return marks

    return replace(before, since=tuple(None if held is None else shifted(held) for held in before.since))


MOST_LINES = 40
"""The most lines of a chunk."""

LEAST_RECORDS, MOST_RECORDS = 10, 40
"""The records of a window: more than producers have unacknowledged at one time."""

MOST_EPOCHS, MOST_CHANGES = 6, 12
"""The leader epochs and the partition epochs after the first that a window has room for."""

UNSENT = "no line sends the records of {0.spot}; they are assumed to be sent only shortly before a line shows them"
"""The possibilities left out of a recording without `send` lines that is longer than a chunk."""

LOST = "no line shows the record of {0.spot} after it was sent, and behaviours in which it reaches nobody are left out"
"""The possibilities left out after a line that sends a record of unknown fate."""

CHUNKS_BETWEEN_COLLECTIONS = 8
"""Claims of a chunk refer to each other. Only the garbage collector frees them, and it rarely runs by itself."""


@dataclass(frozen=True)
class Possible:
    """The possible states at the beginning of a chunk, and for each of them what its monitor holds (`memory`)."""

    states: Words
    memory: Kept


def follow_online(
    path: Path,
    stream: Stream,
    protocol: str,
    values: Mapping[str, int] | None = None,
    *,
    memory: int = 4 << 30,
    seconds: float | None = None,
    report: Report = lambda words, seconds: None,
    announce: Callable[[str], None] = lambda message: None,
) -> OnlineOutcome:
    """Decide whether the generation `protocol` of the model explains a recording, in memory independent of its length.

    `values` are configuration entries and switches, as for `follow_recording`, except `retries`. Raises UsageError.
    """
    settings = dict(values or {})
    if "retries" in settings:
        raise UsageError(f"{path}: retries cannot be set when a recording is followed online; add --history")
    following: list[_Following] = []
    budget, began = Budget(seconds, memory), time.monotonic()
    try:
        with budget.kept(), compiling_within(budget.left):
            outlook = outlook_of(path, stream())

            def run(*, keeps: bool) -> OnlineOutcome:
                following.append(_Following(stream, outlook, protocol, settings, budget, report, announce, keeps=keeps))
                return following[-1].run()

            outcome = run(keeps=True)
            if following[0].has_broken and following[0].is_stuck:
                # Some states were left out because of a loss: perhaps a behaviour continues from one of them.
                again = run(keeps=False)
                if isinstance(again, Followed) and isinstance(outcome, RejectedOnline):
                    again = replace(again, keeps=False, lost=outcome.line)
                outcome = again
    except (Spent, OutOfTimeError) as error:
        why = error.why if isinstance(error, Spent) else "seconds"
        if not following:
            return UndecidedOnline(path, protocol, Cost(0, 0, 0, 0, 0, 0, time.monotonic() - began), 0, None, None, why)
        outcome = following[-1].ended(why)
    return _with_remarks(outcome, remarks_in(path, stream()))


def _with_remarks(outcome: OnlineOutcome, remarks: Sequence[Remark]) -> OnlineOutcome:
    """Return the outcome, with the unused contents that `remarks` name; or an undecided outcome, if a remark names an
    event that the model lacks, before the rejected line, or before the line at which a record is lost (`lost`)."""
    outcome = replace(outcome, unused=unused_in(remarks))
    line = outcome.lost if isinstance(outcome, Followed) else outcome.line
    unmodelled = next((remark for remark in remarks if remark.unmodelled), None)
    if unmodelled is None or line is None or unmodelled.n > line.n or isinstance(outcome, UndecidedOnline):
        return outcome
    common = outcome.path, outcome.generation, outcome.cost, outcome.unchecked, outcome.left_out
    return UndecidedOnline(*common, line, not_modelled(unmodelled), unused=outcome.unused)


class _Following:
    def __init__(
        self,
        stream: Stream,
        outlook: Outlook,
        protocol: str,
        values: Mapping[str, int],
        budget: Budget,
        report: Report,
        announce: Callable[[str], None],
        *,
        keeps: bool,
    ) -> None:
        self.outlook = outlook
        self.budget = budget
        self.report = report
        self.started = time.monotonic()
        records = min(MOST_RECORDS, max(LEAST_RECORDS, outlook.most_open + LEAST_RECORDS // 2 + 1))
        try:
            self.instance = instance_for(_size(outlook, records), protocol, values, 1)
            self.kernel = kernel_of(self.instance, announce)
        except UsageError as error:
            raise UsageError(f"{outlook.path}: {error}") from None
        self.promise = Keeping(self.instance, self.kernel, PROMISE) if keeps else None
        self.has_broken = self.is_stuck = False
        self.window = Window(outlook.brokers, min(outlook.epochs, default=0), records)
        self.past = Past()
        self.possible: Possible | None = None
        self.left_out = None if outlook.unsent is None or outlook.lines <= MOST_LINES else UNSENT.format(outlook.unsent)
        self.lines = followed(typed(outlook.path, stream()), outlook.header)
        self.waiting: deque[Line] = deque()
        self.states = self.most = self.generated = self.windows = self.chunks = 0

    # ------------------------------------------------------------------------------------------------- the loop

    def run(self) -> OnlineOutcome:
        try:
            return self._run()
        except KeyboardInterrupt:
            if not self.waiting:
                raise
            return self.ended("interrupt")

    def ended(self, why: str) -> UndecidedOnline:
        """The outcome if a limit, or the user, ends the work before the next line; `why` says which."""
        return UndecidedOnline(*self._common(), self.waiting[0] if self.waiting else None, why)

    def _run(self) -> OnlineOutcome:
        while True:
            self.waiting.extend(islice(self.lines, MOST_LINES - len(self.waiting)))
            if not self.waiting:
                return Followed(*self._common(), None if self.promise is None else True)
            held, chunk = self._next_chunk()
            if not chunk.original:
                return self._without_lines(chunk)
            search = self._search(chunk)
            if search.stopped is not None:
                line = chunk.original[search.at - chunk.first]
                return UndecidedOnline(*self._common(search.at - chunk.first), line, search.stopped)
            if search.at < chunk.end:
                return self._rejected(chunk, search)
            if not self._go_on(chunk, search, held):
                return self._stuck(self.waiting[0], 0, ())

    def _next_chunk(self) -> tuple[int, Chunk]:
        """Move the window, if possible; return the number of records in the moved window, and the next chunk."""
        for is_crowded in (False, True):
            if self.possible is not None:
                self._move(is_crowded=is_crowded)
            held = len(self.window.values)
            chunk = next_chunk(list(self.waiting), self.window, self.past, self.outlook)
            if chunk.original or not chunk.is_full:
                break
        return held, chunk

    def _search(self, chunk: Chunk) -> ChunkSearch:
        limits = self.budget.limits(Limits(None, self.budget.memory // 2))
        script = Script(chunk.recording, self.instance)

        def tell(words: str, seconds: float) -> None:
            lines = f"line {self.past.position:,} of {self.outlook.lines:,} that say something"
            self.report(f"{lines}, {search.nodes.store.count:,} states", time.monotonic() - self.started)

        search = ChunkSearch(
            chunk, script, self.kernel, limits, tell, has_guard=self.window.has_guard, keeping=self.promise
        )
        if self.possible is None:
            search.begin_first()
        else:
            monitors = resumed(
                search.monitor, chunk.recording.values, self.window.offset, chunk.first, self.possible.memory
            )
            search.begin(self.possible.states, monitors)
        search.run()
        self.most = max(self.most, search.peak)
        self.states += search.total
        self.generated += search.expander.generated
        self.has_broken |= search.has_broken
        if search.guard.left_out is not None and self.left_out is None:
            self.left_out = f"{search.guard.left_out}, from about line {chunk.original[0].number} on"
        return search

    def _go_on(self, chunk: Chunk, search: ChunkSearch, held: int) -> bool:
        """Drop the passed lines, and keep the states that are possible after them; return whether there are any."""
        end, states, monitors = search.after()
        self.has_broken |= search.has_broken
        if not len(states):
            return False
        passed = chunk.original[: end - chunk.first]
        values = chunk.recording.values
        self.possible = Possible(states, kept(search.monitor, values, self.window.offset, end, monitors))
        del self.window.values[held + chunk.joined(len(passed)) :]
        for line in passed:
            line.leave(self.window)
            self.window.pass_line(line.number)
            self.past.add(line)
            self.waiting.popleft()
        self.chunks += 1
        if self.chunks % CHUNKS_BETWEEN_COLLECTIONS == 0:
            gc.collect()
        return True

    # ------------------------------------------------------------------------------------------------ the window

    def _move(self, *, is_crowded: bool) -> None:
        """Simplify the states, and move the window past the settled records, which can no longer change (moving.py)."""
        assert self.possible is not None
        table = Table(self.instance, self.kernel.layout, self.possible.states)
        brokers, memory = self.outlook.brokers, self.possible.memory
        frozen = frozenset(brokers.index(broker) for broker in self.past.frozen() if broker in brokers)
        read_ahead(table, frozen)
        drop_late_requests(table, self._expected())
        by = longest_move(table, frozen, is_crowded=is_crowded)
        if by is not None and (by.guard or not self.window.has_guard):
            self.windows += 1
            move(table, by)
            self.window.move(by)
            memory = moved(memory, by.guard)
        if self.window.has_guard:
            drop_late_responses(table)
        self.possible = _distinct(table.packed(), memory)

    def _expected(self) -> list[Request]:
        """The requests to change the ISR that later lines show, with epochs counted from the window's first epochs."""
        window, brokers = self.window, self.outlook.brokers
        epoch, partition_epoch = window.epoch, window.partition_epoch
        return [
            (brokers.index(line.leader), line.leader_epoch - epoch, line.partition_epoch - partition_epoch)
            for position, line in self.outlook.control
            if position >= self.past.position and isinstance(line, AlterRequest)
        ]

    # ----------------------------------------------------------------------------------------------- the verdicts

    def _common(self, passed: int = 0) -> tuple[Path, str, Cost, int, str | None]:
        seconds = time.monotonic() - self.started
        lines = self.past.position + passed
        cost = Cost(lines, self.outlook.lines, self.states, self.most, self.generated, self.windows, seconds)
        return self.outlook.path, self.instance.protocol.name, cost, self.window.unchecked, self.left_out

    def _without_lines(self, chunk: Chunk) -> OnlineOutcome:
        """The verdict if a chunk has no lines: rejected if the next line contradicts the part before the window;
        undecided if this line does not fit the window, or if possibilities were left out."""
        line, blocked = self.waiting[0], chunk.blocked
        self._note_lost_record()
        if isinstance(blocked, FalseLine) and self.left_out is None:
            possible = 0 if self.possible is None else len(self.possible.states)
            return self._refused(line, possible, (), str(blocked))
        records = f"{len(self.window.values)} records, the most that fit the window, may still differ between the logs"
        return UndecidedOnline(*self._common(), line, self._why(records if blocked is None else str(blocked)))

    def _rejected(self, chunk: Chunk, search: ChunkSearch) -> OnlineOutcome:
        line = chunk.original[search.at - chunk.first]
        states, monitors = search.here()
        unmet = tuple(unmet_claim(claim, states, monitors) for claim in search.claims.of_line[search.at])
        self.past.position += search.at - chunk.first
        return self._stuck(line, len(states), unmet)

    def _stuck(self, line: Line, possible: int, unmet: tuple[UnmetClaim, ...]) -> OnlineOutcome:
        """The verdict if no followed state makes `line` true: rejected, or undecided if possibilities were left out."""
        self.is_stuck = True
        self._note_lost_record()
        if self.left_out is not None:
            return UndecidedOnline(
                *self._common(), line, self._why("the next line is true in no state that was followed")
            )
        return self._refused(line, possible, unmet, None)

    def _note_lost_record(self) -> None:
        """If no line shows the record of an earlier `send` line, note that paths without the record are left out."""
        if self.left_out is None and self.outlook.lost is not None:
            position, line = self.outlook.lost
            if position < self.past.position:
                self.left_out = LOST.format(line)

    def _refused(self, line: Line, possible: int, unmet: tuple[UnmetClaim, ...], why: str | None) -> RejectedOnline:
        offset, partition_epoch = self.window.offset, self.window.partition_epoch
        return RejectedOnline(*self._common(), self.instance, line, possible, unmet, why, offset, partition_epoch)

    def _why(self, why: str) -> str:
        return why if self.left_out is None else f"{why}; {self.left_out}"


def _distinct(states: Words, memory: Kept) -> Possible:
    """The pairs of a state and the content of its monitor, each pair once."""
    columns = [*memory.sighted, *(held for held in memory.since if held is not None), *memory.elsewhere.values()]
    rows = np.column_stack([states, *(column.astype(np.uint64) for column in columns)])
    _, first = np.unique(rows, axis=0, return_index=True)
    return Possible(
        np.ascontiguousarray(states[first]),
        replace(
            memory,
            sighted=tuple(sighted[first] for sighted in memory.sighted),
            since=tuple(None if held is None else held[first] for held in memory.since),
            elsewhere={value: flags[first] for value, flags in memory.elsewhere.items()},
        ),
    )


def _size(outlook: Outlook, records: int) -> Size:
    epochs = max(outlook.epochs) - min(outlook.epochs) if outlook.epochs else len(outlook.control)
    return Size(
        len(outlook.brokers),
        min(records, max(1, len(outlook.names))),
        min(MOST_EPOCHS, epochs),
        min(3, outlook.deaths),
        min(MOST_CHANGES, outlook.changes + outlook.deaths),
        Counter(outlook.faults),
        outlook.header.min_insync_replicas,
        outlook.header.unclean_election,
        outlook.acks,
    )

"""Follows a recording online: window by window, with all states that are possible after each line.

In:  the path of a recording, its lines as a stream that can be read twice, and a generation of the model.
Out: an outcome (outcome.py).
"""

from __future__ import annotations

import gc
import time
from collections import Counter, deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path

import numpy as np

from isrcheck.checker.compile.kernel import kernel_of
from isrcheck.checker.compile.machine_code import OutOfTimeError, compiling_within
from isrcheck.checker.resources.limits import Budget, Limits, Spent
from isrcheck.conformance.follow.observations.explain import UnmetClaim, not_modelled, unmet_claim
from isrcheck.conformance.follow.observations.script import Script, alters_partitions
from isrcheck.conformance.follow.observations.search import Progress as SearchProgress
from isrcheck.conformance.follow.observations.size import Size, instance_for
from isrcheck.conformance.follow.online.chunk import Chunk, Past, next_chunk
from isrcheck.conformance.follow.online.monitors import Kept, kept, moved, resumed
from isrcheck.conformance.follow.online.outcome import Cost, Followed, OnlineOutcome, RejectedOnline, UndecidedOnline
from isrcheck.conformance.follow.online.outlook import Outlook, outlook_of, typed
from isrcheck.conformance.follow.online.steps_of_chunk import ChunkSearch
from isrcheck.conformance.follow.online.stream import Stream
from isrcheck.conformance.follow.online.window.moving import move
from isrcheck.conformance.follow.online.window.position import FalseLine, Window
from isrcheck.conformance.follow.online.window.settled import longest_move
from isrcheck.conformance.follow.online.window.stale import Request, drop_late_requests, drop_late_responses, read_ahead
from isrcheck.conformance.follow.online.window.table import Table
from isrcheck.conformance.follow.paths.cells import Words
from isrcheck.conformance.follow.paths.keeping import Keeping
from isrcheck.conformance.follow.recorded.lines import AlterRequest, ElectRequest, Header, Line, Remark
from isrcheck.conformance.follow.recorded.recording import Objects, remarks_in, unused_in
from isrcheck.conformance.follow.report.losses import PROMISE
from isrcheck.models.client_settings import Acks
from isrcheck.models.messages.errors import UsageError

MOST_LINES = 40
"""The most lines of a chunk."""

LEAST_RECORDS, MOST_RECORDS = 10, 40
"""The records of a window: more than producers have unacknowledged at one time."""

MOST_EPOCHS, MOST_CHANGES = 6, 12
"""The leader epochs and the partition epochs after the first that a window has room for."""


UNSENT = "no line sends the records of {0.spot}; such records are sent only shortly before a line shows them"
"""What is left out of a recording without `send` lines that is longer than a chunk."""

LOST = "no line shows the record of {0.spot} after it was sent, and behaviours in which it reaches nobody are left out"
"""What is left out after a line that sends a record of unknown fate."""

CHUNKS_BETWEEN_COLLECTIONS = 8
"""The claims of a chunk refer to each other, so that only the garbage collector frees them; by itself it waits long."""


@dataclass(frozen=True)
class Progress:
    """How far the recording is followed."""

    seconds: float
    lines: int
    of: int
    states: int


@dataclass(frozen=True)
class Possible:
    """The possible states at the beginning of a chunk, and what is remembered of them."""

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
    report: Callable[[Progress], None] = lambda progress: None,
    announce: Callable[[str], None] = lambda message: None,
) -> OnlineOutcome:
    """Decide whether a generation of the model explains a recording, in memory that does not grow with its length.

    `values` are configuration entries and switches, as for `follow_recording`; without `retries`. Raises UsageError.
    """
    given = dict(values or {})
    if "retries" in given:
        raise UsageError(f"{path}: retries cannot be set when a recording is followed online; add --history")
    following: list[_Following] = []
    budget, began = Budget(seconds, memory), time.monotonic()
    try:
        with budget.kept(), compiling_within(budget.left):
            outlook = outlook_of(path, stream())

            def run(*, keeps: bool) -> OnlineOutcome:
                following.append(
                    _Following(path, stream, outlook, protocol, given, budget, memory, report, announce, keeps=keeps)
                )
                return following[-1].run()

            found = run(keeps=True)
            if following[0].has_broken and following[0].is_stuck:
                # Some states were left because of a loss: perhaps a behaviour goes on from one of them.
                again = run(keeps=False)
                if isinstance(again, Followed) and isinstance(found, RejectedOnline):
                    again = replace(again, keeps=False, lost=found.line)
                found = again
    except (Spent, OutOfTimeError) as error:
        why = error.why if isinstance(error, Spent) else "seconds"
        if not following:
            return UndecidedOnline(path, protocol, Cost(0, 0, 0, 0, 0, 0, time.monotonic() - began), 0, None, None, why)
        found = following[-1].ended(why)
    return _with_remarks(found, remarks_in(path, stream()))


def _with_remarks(found: OnlineOutcome, remarks: Sequence[Remark]) -> OnlineOutcome:
    """The outcome with what is not used; and undecided instead, after a line about something that is not modelled."""
    found = replace(found, unused=unused_in(remarks))
    line = found.lost if isinstance(found, Followed) else found.line
    unmodelled = next((one for one in remarks if one.unmodelled), None)
    if unmodelled is None or line is None or unmodelled.n > line.n or isinstance(found, UndecidedOnline):
        return found
    common = found.path, found.generation, found.cost, found.unchecked, found.left_out
    return UndecidedOnline(*common, line, not_modelled(unmodelled), unused=found.unused)


class _Following:
    """One recording while it is followed."""

    def __init__(
        self,
        path: Path,
        stream: Stream,
        outlook: Outlook,
        protocol: str,
        values: Mapping[str, int],
        budget: Budget,
        memory: int,
        report: Callable[[Progress], None],
        announce: Callable[[str], None],
        *,
        keeps: bool,
    ) -> None:
        self.path = path
        self.outlook = outlook
        self.budget = budget
        self.memory = memory
        self.report = report
        self.started = time.monotonic()
        records = min(MOST_RECORDS, max(LEAST_RECORDS, outlook.most_open + LEAST_RECORDS // 2 + 1))
        try:
            self.instance = instance_for(_size(outlook, records), protocol, values, {}, 1)
            self.kernel = kernel_of(self.instance, announce)
        except UsageError as error:
            raise UsageError(f"{path}: {error}") from None
        self.promise = Keeping(self.instance, self.kernel, PROMISE) if keeps else None
        self.has_broken = self.is_stuck = False
        self.window = Window(outlook.brokers, outlook.first_epoch, records, self.instance.configuration.log_size)
        self.past = Past()
        self.possible: Possible | None = None
        self.left_out = None if outlook.unsent is None or outlook.lines <= MOST_LINES else UNSENT.format(outlook.unsent)
        self.lines = self._lines(stream())
        self.waiting: deque[Line] = deque()
        self.states = self.most = self.generated = self.windows = self.chunks = 0

    def _lines(self, objects: Objects) -> Iterator[Line]:
        for line in typed(self.path, objects, self.outlook.has_all_requests):
            if not isinstance(line, Header) and (self.outlook.has_all_requests or not isinstance(line, ElectRequest)):
                yield line

    # ------------------------------------------------------------------------------------------------- the loop

    def run(self) -> OnlineOutcome:
        """Follow all lines."""
        try:
            return self._run()
        except KeyboardInterrupt:
            if not self.waiting:
                raise
            return self.ended("interrupt")

    def ended(self, why: str) -> UndecidedOnline:
        """The outcome if a limit, or the user, ends the work before the next line."""
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
        """The next chunk, and the number of records in the window before it."""
        for is_crowded in (False, True):
            if self.possible is not None:
                self._move(is_crowded=is_crowded)
            held = len(self.window.values)
            chunk = next_chunk(list(self.waiting), self.window, self.past, self.outlook)
            if chunk.original or not chunk.is_full:
                break
        return held, chunk

    def _search(self, chunk: Chunk) -> ChunkSearch:
        limits = self.budget.limits(Limits(None, self.memory // 2))
        script = Script(chunk.recording, self.instance)
        search = ChunkSearch(
            *(chunk, script, self.instance, self.kernel, True, limits, self._tell),
            has_guard=self.window.has_guard,
            keeping=self.promise,
        )
        if self.possible is None:
            search.begin_first()
        else:
            monitors = resumed(
                search.monitor, chunk.recording.values, self.window.offset, chunk.first, self.possible.memory
            )
            search.begin(self.possible.states, monitors)
        search.follow()
        self.most = max(self.most, search.peak)
        self.states += search.total
        self.generated += search.generated
        self.has_broken |= search.has_broken
        if search.rules.left_out is not None and self.left_out is None:
            self.left_out = f"{search.rules.left_out}, from about line {chunk.original[0].number} on"
        return search

    def _tell(self, progress: SearchProgress) -> None:
        seconds = time.monotonic() - self.started
        self.report(Progress(seconds, self.past.position, self.outlook.lines, progress.states))

    def _go_on(self, chunk: Chunk, search: ChunkSearch, held: int) -> bool:
        """Drop the lines that were passed, and keep the states after them; False if there are none."""
        end, states, monitors = search.after()
        self.has_broken |= search.has_broken
        if not len(states):
            return False
        passed = chunk.original[: end - chunk.first]
        values = chunk.recording.values
        self.possible = Possible(states, kept(search.monitor, values, self.window.offset, end, monitors))
        del self.window.values[held + chunk.joined(len(passed)) :]
        for line in passed:
            self.window.pass_line(line)
            self.past.add(line)
            self.waiting.popleft()
        self.chunks += 1
        if self.chunks % CHUNKS_BETWEEN_COLLECTIONS == 0:
            gc.collect()
        return True

    # ------------------------------------------------------------------------------------------------ the window

    def _move(self, *, is_crowded: bool) -> None:
        """Simplify the states, and move the window behind the records that are settled, if there are any."""
        assert self.possible is not None
        table = Table(self.instance, self.kernel.layout, self.possible.states)
        frozen, memory = self._frozen(), self.possible.memory
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
        """The requests to change the ISR that later lines show, in terms of the window."""
        window, brokers = self.window, self.outlook.brokers
        return [
            (
                brokers.index(line.leader),
                line.leader_epoch - window.epoch,
                line.partition_epoch - window.partition_epoch,
            )
            for position, line in self.outlook.control
            if position >= self.past.position and isinstance(line, AlterRequest)
        ]

    def _frozen(self) -> frozenset[int]:
        brokers = self.outlook.brokers
        return frozenset(brokers.index(broker) for broker in self.past.frozen() if broker in brokers)

    # ----------------------------------------------------------------------------------------------- the verdicts

    def _common(self, more: int = 0) -> tuple[Path, str, Cost, int, str | None]:
        seconds = time.monotonic() - self.started
        lines = self.past.position + more
        cost = Cost(lines, self.outlook.lines, self.states, self.most, self.generated, self.windows, seconds)
        return self.path, self.instance.protocol.name, cost, self.window.unchecked, self.left_out

    def _without_lines(self, chunk: Chunk) -> OnlineOutcome:
        """The verdict if the next line cannot be followed at all."""
        line = self.waiting[0]
        self._note_lost_record()
        if isinstance(chunk.blocked, FalseLine) and self.left_out is None:
            return self._refused(line, 0 if self.possible is None else len(self.possible.states), (), chunk.blocked)
        if chunk.blocked is not None:
            return UndecidedOnline(*self._common(), line, self._why(str(chunk.blocked)))
        records = len(self.window.values)
        why = f"{records} records are not settled, which fill the window"
        return UndecidedOnline(*self._common(), line, self._why(why))

    def _rejected(self, chunk: Chunk, search: ChunkSearch) -> OnlineOutcome:
        line = chunk.original[search.at - chunk.first]
        states, monitors = search.here()
        unmet = tuple(unmet_claim(claim, states, monitors) for claim in search.claims.of_line[search.at])
        self.past.position += search.at - chunk.first
        return self._stuck(line, len(states), unmet)

    def _stuck(self, line: Line, possible: int, unmet: tuple[UnmetClaim, ...]) -> OnlineOutcome:
        """The verdict if no state passes a line."""
        self.is_stuck = True
        self._note_lost_record()
        if self.left_out is not None:
            told = "no state that was followed passes it"
            return UndecidedOnline(*self._common(), line, self._why(told))
        return self._refused(line, possible, unmet, None)

    def _note_lost_record(self) -> None:
        """What is left out at this line, if a record of unknown fate was sent before it."""
        if self.left_out is None and self.outlook.lost is not None:
            position, line = self.outlook.lost
            if position < self.past.position:
                self.left_out = LOST.format(line)

    def _refused(
        self, line: Line, possible: int, unmet: tuple[UnmetClaim, ...], why: FalseLine | None
    ) -> RejectedOnline:
        return RejectedOnline(
            *self._common(), line, possible, unmet, None if why is None else str(why), self.window.offset,
            self.window.partition_epoch, Acks(self.instance.configuration.acks), alters_partitions(self.instance),
        )  # fmt: skip

    def _why(self, what: str) -> str:
        return what if self.left_out is None else f"{what}; {self.left_out}"


def _distinct(states: Words, memory: Kept) -> Possible:
    """The states with what is remembered of them, each pair once."""
    columns = [*memory.seen, *(held for held in memory.since if held is not None), *memory.elsewhere.values()]
    rows = np.column_stack([states, *(column.astype(np.uint64) for column in columns)])
    _, first = np.unique(rows, axis=0, return_index=True)
    return Possible(
        np.ascontiguousarray(states[first]),
        Kept(
            memory.checkpoints,
            tuple(seen[first] for seen in memory.seen),
            tuple(None if held is None else held[first] for held in memory.since),
            {value: flags[first] for value, flags in memory.elsewhere.items()},
        ),
    )


def _size(outlook: Outlook, records: int) -> Size:
    epochs = outlook.last_epoch - outlook.first_epoch if outlook.has_epochs else len(outlook.control)
    return Size(
        len(outlook.brokers),
        min(records, max(1, outlook.records)),
        min(MOST_EPOCHS, epochs),
        min(3, outlook.deaths),
        min(MOST_CHANGES, max(outlook.changes, default=0) + outlook.deaths),
        Counter(outlook.faults),
        None if outlook.header is None else outlook.header.min_insync_replicas,
        None if outlook.header is None else outlook.header.unclean_election,
        outlook.acks,
    )

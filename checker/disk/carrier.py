"""The carrier for a search on disk: the same counts and paths as in memory, within a limit on the whole process.

In:  a `SearchContext`, a `DiskRequest`.
Out: states in files, level by level (checker/disk/stored_states.py); counts in the context; checkpoints.

The states of a level are read from disk in pieces, judged, and expanded on the calling thread. A checkpoint is written
at the end of a level, within a level after some minutes, and when the search is stopped.
"""

from __future__ import annotations

import operator
import time
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import replace
from enum import Enum
from functools import partial
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from isrcheck.checker.disk.checkpoint import question_of, state_in, text_of
from isrcheck.checker.disk.files import DamagedError, DiskError, Folder
from isrcheck.checker.disk.interrupts import Interrupts
from isrcheck.checker.disk.known_states import bytes_of_state
from isrcheck.checker.disk.request import DiskRequest
from isrcheck.checker.disk.stored_states import StoredStates
from isrcheck.checker.disk.summary import DiskSummary
from isrcheck.checker.explicit.carrier import Carrier, SearchContext
from isrcheck.checker.explicit.kernel_runner import KernelRunner
from isrcheck.checker.explicit.visited_set import MOST_STATES, Batch, RecentStates
from isrcheck.checker.outcome.exploration import Progress
from isrcheck.checker.outcome.kernel_results import KernelResults
from isrcheck.checker.resources.machine_memory import whole_resident
from isrcheck.models.messages import UsageError

BATCH_BYTES = 1 << 18
"""The size in bytes of the buffer for successors: small enough for the second-level cache."""

RESERVED = 56 << 20
"""The memory for buffers, and for what the process allocates while it searches."""

LEAST_ROOM = 1 << 10
"""The fewest states in memory."""

SHARE_FOR_CHECKPOINTS = 0.1
"""At the ends of levels, checkpoints take at most this part of the time."""

UNJUDGED = "a search on disk does not judge {}, which needs all states in memory; leave out --disk"


class Phase(Enum):
    """What has been done with the newest level: nothing; some states are judged; or all are, and some expanded."""

    NEW = "new"
    JUDGING = "judging"
    EXPANDING = "expanding"


class DiskCarrier(Carrier):
    """Does all work of a search on the calling thread, with its states in a folder. Raises UsageError.

    `lost` is the message about a disk that is full or fails.
    """

    visited: StoredStates
    without_stores = UNJUDGED

    def __init__(self, context: SearchContext, asked: DiskRequest, folder: Folder) -> None:
        super().__init__(context)
        self.asked = asked
        self.folder = folder
        self.lost = ""
        self.resumed_at: int | None = None
        self.checkpoints = 0
        self._words, self._steps = context.kernel.layout.words, context.instance.first_steps[-1]
        layout = context.kernel.layout
        self.runner = KernelRunner(context.kernel)
        self.room = max(4 * self._steps, BATCH_BYTES // (8 * layout.words + 16))
        self.batch = Batch.of(self.room, layout.words)
        self.recent = RecentStates(layout.words)
        self.before = layout.buffer(context.instance)
        self.after = layout.buffer(context.instance)
        self.visited = StoredStates(folder, layout.words, self._steps, self._room_for_states())
        self.question = question_of(context)
        self.interrupts = Interrupts()
        self._stack = ExitStack()
        self._phase = Phase.NEW
        self._position = 0
        self._results = KernelResults(len(context.properties))
        """The results of the level that is being expanded, which the context gets when the level is complete."""
        self._before = self._results
        """The results before the newest level was judged."""
        self._kept_at = time.monotonic()
        self._seconds_of_checkpoint = 0.0

    def _room_for_states(self) -> int:
        if self.asked.room is not None:
            return self.asked.room
        used = whole_resident() + RESERVED
        room = int((self.context.limits.memory - used) / bytes_of_state(self._words))
        if room < LEAST_ROOM:
            raise UsageError(
                f"--memory: with {self.asked.option} the limit is for the whole process, which needs"
                f" {(used >> 20) + 2}M before the search begins; give --memory {-(-2 * used >> 20)}M or more"
            )
        return min(room, MOST_STATES)

    def summary(self) -> DiskSummary:
        """How the search used the disk."""
        return DiskSummary(
            str(self.folder.path),
            self.folder.used,
            self.folder.most,
            len(self.visited.runs),
            self.visited.known.room,
            self.checkpoints,
            self.resumed_at,
            self.lost,
        )

    def __enter__(self) -> Self:
        self._stack.enter_context(self.interrupts.deferred())
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> bool:
        """If the disk is full or has failed, end the search without an error; its result holds what was found so
        far."""
        try:
            if self._can_go_on(error):
                self._write_checkpoint()
        except DiskError as failed:
            error = failed
        finally:
            self._stack.close()
        if self._phase is Phase.EXPANDING:
            self._add_results()
        if isinstance(error, DiskError):
            self.context.result.stopped, self.lost = "disk", str(error)
            return True
        return False

    def _can_go_on(self, error: BaseException | None) -> bool:
        """Whether something is left to search, and everything is consistent."""
        if error is None:
            return self.context.result.stopped is not None or self.context.expanded < self.visited.count
        is_consistent = bool(self.visited.levels) and not self.interrupts.is_at_once
        return isinstance(error, KeyboardInterrupt) and is_consistent

    # ------------------------------------------------------------------------------------------------------ levels

    def start(self) -> int:
        """Store the states that the search starts from, each as its own predecessor; or resume from the checkpoint."""
        if self.asked.is_resumed:
            self._resume()
            return self.visited.firsts[-2]
        for low in range(0, len(self.context.starts), self.room):
            size = self.put_starts(self.batch, low, self.room)
            self._add(size, 0)
        self.visited.close_level(lambda: False)
        self._write_checkpoint()
        return 0

    def _add(self, size: int, offset: int) -> None:
        self.visited.add(self.batch, self.recent.sift(self.batch, size), offset)

    def check(self, first: int, last: int) -> None:
        """Judge the properties in the states of the newest level, piece by piece."""
        assert last == self.visited.count
        if self._phase is Phase.EXPANDING:  # the search was resumed within this level
            return
        context = self.context
        self._phase, self._before = Phase.JUDGING, context.results.duplicate()
        results = KernelResults(len(context.properties))
        for at, states in self.visited.levels[-1].pieces():
            results.clear()
            self.runner.check(states.ctypes.data, 0, len(states) // self._words, self.before, context.active, results)
            context.results.add(results, partial(operator.add, first + at))
            if self.is_out_of_time():
                return
        self._begin_expanding()

    def _begin_expanding(self) -> None:
        self._phase, self._position = Phase.EXPANDING, 0
        self._results.clear()

    def expand(self, first: int, last: int) -> None:
        """Expand the states of the newest level, piece by piece, and remove duplicates. Raises Full, DiskError."""
        assert last == self.visited.count
        if self._phase is not Phase.EXPANDING:  # nothing was to be judged
            self._begin_expanding()
        for at, states in self.visited.levels[-1].pieces(self._position):
            if not self._expand_piece(first, at, states):
                return
        if not self.visited.close_level(self._is_stopped):
            return
        self._add_results()
        self._phase = Phase.NEW

    def _expand_piece(self, first: int, at: int, states: NDArray[np.uint64]) -> bool:
        """Expand the states of a piece, which begins at a position of the level; False if the search is stopped."""
        context, done, size = self.context, 0, len(states) // self._words
        results = KernelResults(len(context.properties))
        while done < size:
            results.clear()
            done, generated = self.runner.expand(
                *(states.ctypes.data, done, size, self.before, self.after, self.batch, self.room),
                *(context.fired, context.active, results),
            )
            self._results.add(results, partial(operator.add, first + at))
            context.result.generated += generated
            self._add(generated, at)
            self._position = at + done
            context.expanded = first + at + done
            if self._is_stopped():
                return False
            self.runner.optimize_for(context.expanded, context.deadline)
        if time.monotonic() - self._kept_at > self.asked.seconds_between_checkpoints:
            self._write_checkpoint()
        return True

    def _add_results(self) -> None:
        self.context.results.add(self._results, lambda number: number)

    def close_level(self) -> None:
        """Write a checkpoint, unless the last one took more than its share of the time since."""
        since = time.monotonic() - self._kept_at
        if self._seconds_of_checkpoint < SHARE_FOR_CHECKPOINTS * since:
            self._write_checkpoint()

    def _is_stopped(self) -> bool:
        self.interrupts.look()
        return self.is_out_of_time()

    def is_out_of_time(self) -> bool:
        """Report progress every 0.5 s; return whether the time limit is reached. Raises KeyboardInterrupt."""
        self.interrupts.look()
        return super().is_out_of_time()

    def progress(self, seconds: float) -> Progress:
        """The report of the search after this time, with what lies on disk."""
        known = super().progress(seconds)
        return replace(known, bytes_on_disk=self.folder.used, candidates=self.visited.candidates)

    # ------------------------------------------------------------------------------------------------- checkpoints

    def _write_checkpoint(self) -> None:
        """Write everything from which the search can go on. Raises DiskError."""
        began = time.monotonic()
        self.visited.flush()
        context, result = self.context, self.context.result
        results = self._before if self._phase is Phase.JUDGING else context.results
        levels = result.levels[: len(self.visited.levels) - 1]
        state = {
            "stored": self.visited.described(),
            "result": [levels, result.generated, result.judged, began - context.started],
            "arrays": [results.words, context.fired.tolist(), context.active.tolist()],
            "errors": context.errors,
            "expanded": context.expanded,
            "level": [self._results.words, self._position] if self._phase is Phase.EXPANDING else None,
        }
        self.folder.write_checkpoint(text_of(self.question, state))
        self.checkpoints += 1
        self._kept_at = time.monotonic()
        self._seconds_of_checkpoint = self._kept_at - began

    def _resume(self) -> None:
        """Restore the state of an earlier run. Raises UsageError."""
        where = f"--resume {self.folder.path}"
        text = self.folder.read_checkpoint()
        if text is None:
            raise UsageError(f"{where}: there is no checkpoint; begin the search with --disk {self.folder.path}")
        try:
            state = state_in(text, self.question, where)
            depth = len(state["stored"]["levels"]) - 1
            bound = self.context.limits.depth
            if bound is not None and (depth > bound or (depth == bound and state["level"] is not None)):
                raise UsageError(f"{where}: the checkpoint is at depth {depth}; give a greater --bound than {bound}")
            self.visited.restore(state["stored"])
        except DamagedError as damaged:
            raise UsageError(
                f"{where}: {damaged} is missing or damaged; begin again in a new folder with --disk"
            ) from None
        self._restore(state)
        self.resumed_at = depth

    def _restore(self, state: Mapping[str, Any]) -> None:
        context, result = self.context, self.context.result
        result.levels, result.generated, result.judged, seconds = state["result"]
        result.depth = len(result.levels)
        words, context.fired[:], context.active[:] = state["arrays"]
        context.results = KernelResults.of(len(context.properties), words)
        context.errors = state["errors"]
        context.expanded = state["expanded"]
        context.started -= seconds
        if state["level"] is not None:
            words, self._position = state["level"]
            self._results = KernelResults.of(len(context.properties), words)
            self._phase = Phase.EXPANDING

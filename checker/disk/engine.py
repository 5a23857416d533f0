"""Runs a search on disk: begins it in a new folder, or resumes it in the folder of an earlier run. The search has the
same counts and paths as a search in memory. Its memory limit is for the whole process.

The calling thread reads the states of a level from disk in pieces, judges the properties in them, and expands them. It
writes a checkpoint at the end of a level, after some minutes within a level, and when the search is stopped early. A
checkpoint is one small file: a description of the search (the `question`), a digest, and the `state` of the search,
which names all its files, with their sizes and checksums (checker/disk/files.py). A checkpoint is refused if it was
modified, or if it is from another model, configuration, layout of states, or version of isrcheck.
"""

from __future__ import annotations

import hashlib
import json
import operator
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import replace
from enum import Enum
from functools import partial
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from isrcheck.checker.compile.kernel import Kernel, kernel_of
from isrcheck.checker.disk.files import CHECKPOINT, DamagedError, DiskError, Folder
from isrcheck.checker.disk.request import DiskRequest
from isrcheck.checker.disk.stored_states import StoredStates, bytes_of_state
from isrcheck.checker.disk.summary import DiskSummary
from isrcheck.checker.explicit.carrier import (
    BATCH_BYTES,
    NO_REDUCTION,
    Carrier,
    KernelRunner,
    SearchContext,
    SearchRequest,
)
from isrcheck.checker.explicit.explore import Search
from isrcheck.checker.explicit.reduced_search import concluded
from isrcheck.checker.explicit.visited_set import MOST_STATES, Batch, RecentStates
from isrcheck.checker.resources.cache import engine_digest
from isrcheck.checker.resources.limits import DeferredInterrupts, Limits, resident
from isrcheck.checker.results.exploration import Exploration, Progress
from isrcheck.checker.results.kernel_results import KernelResults
from isrcheck.models.language.model import Instance
from isrcheck.models.messages import UsageError

KIND = "isrcheck search on disk"


def text_of(question: Mapping[str, Any], state: Mapping[str, Any]) -> str:
    """Return the text of a checkpoint: the description of the search (`question`), its `state`, and a digest."""
    content = {"question": question, "state": state}
    return json.dumps({**content, "digest": _digest(content)})


def reduction_in(text: str | None) -> tuple[str, frozenset[tuple[str, str]]] | None:
    """Return the reduction that a checkpoint records: in words, and its clearings (`Reduction.clears`), each a field
    and the condition under which its cells are dead. Return None if the checkpoint cannot be read."""
    try:
        says, clears = json.loads(text or "")["question"]["reduction"]
        return str(says), frozenset((str(field), str(where)) for field, where in clears)
    except (ValueError, RecursionError, LookupError, TypeError):
        return None


def state_in(text: str, question: Mapping[str, Any], option: str) -> dict[str, Any]:
    """Return a checkpoint's `state`. Raises DamagedError, or UsageError if the checkpoint is from another search."""
    try:
        checkpoint = json.loads(text)
    except (ValueError, RecursionError):
        checkpoint = None
    if not isinstance(checkpoint, dict) or checkpoint.pop("digest", None) != _digest(checkpoint):
        raise DamagedError(CHECKPOINT)
    for name, ours in question.items():
        theirs, ours = checkpoint["question"].get(name), json.loads(json.dumps(ours))
        if theirs != ours:
            raise UsageError(
                f"{option}: the checkpoint belongs to another search: {name} {_difference(theirs, ours)};"
                " repeat the command that began it, or name a new folder with --disk"
            )
    state: dict[str, Any] = checkpoint["state"]
    return state


def _difference(theirs: Any, ours: Any) -> str:
    """Return, in words, how an entry of `question` differs between a checkpoint and this command."""
    if isinstance(theirs, dict) and isinstance(ours, dict):
        names = [name for name in dict.fromkeys([*ours, *theirs]) if theirs.get(name) != ours.get(name)]
        differences = (f"{name}={theirs.get(name, 'none')} there, {ours.get(name, 'none')} here" for name in names)
        return ", ".join(differences) or "differs"
    if isinstance(theirs, list) and isinstance(ours, list) and theirs[:1] != ours[:1]:
        return f"{theirs[0]} there, {ours[0]} here"
    return "differs"


def _digest(content: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


RESERVED = 56 << 20
"""The memory, in bytes, that is kept free for buffers and for other allocations during the search."""

LEAST_ROOM = 1 << 10
"""The least number of states for which the memory must have room."""

SHARE_FOR_CHECKPOINTS = 0.1
"""At the ends of levels, checkpoints take at most this part of the time."""


class Phase(Enum):
    """How far the work on the newest level is: not begun; properties are being judged; states are being expanded."""

    NEW = "new"
    JUDGING = "judging"
    EXPANDING = "expanding"


class DiskCarrier(Carrier):
    """Does the work of a search on the calling thread, and keeps the states in a folder. Raises UsageError if the
    memory limit is too small. `lost` is the error message if the disk was full or failed, otherwise empty."""

    visited: StoredStates
    without_stores = "a search on disk does not judge {}, which needs all states in memory; leave out --disk"

    def __init__(self, context: SearchContext, options: DiskRequest, folder: Folder) -> None:
        super().__init__(context)
        self.options = options
        self.folder = folder
        self.lost = ""
        self.resumed_at: int | None = None
        self.checkpoints = 0
        layout, steps = context.kernel.layout, context.instance.first_steps[-1]
        self.runner = KernelRunner(context.kernel, context.instance)
        self.room = max(4 * steps, BATCH_BYTES // (8 * layout.words + 16))
        self.batch = Batch.of(self.room, layout.words)
        self.recent = RecentStates(layout.words)
        self.visited = StoredStates(folder, layout.words, steps, self._room_for_states(layout.words))
        self.question = {"kind": KIND, "version of isrcheck": engine_digest(), **context.question()}
        self.interrupts = DeferredInterrupts()
        self._stack = ExitStack()
        self._phase = Phase.NEW
        self._position = 0
        self._results = KernelResults(len(context.properties))
        """The results of the level that is being expanded, which the context gets when the level is complete."""
        self._before = self._results
        """The results before the newest level was judged."""
        self._kept_at = time.monotonic()
        self._seconds_of_checkpoint = 0.0

    def _room_for_states(self, words: int) -> int:
        if self.options.room is not None:
            return self.options.room
        used = resident(with_files=True) + RESERVED
        room = int((self.context.limits.memory - used) / bytes_of_state(words))
        if room < LEAST_ROOM:
            raise UsageError(
                f"--memory: with {self.options.option} the limit is for the whole process, which needs"
                f" {(used >> 20) + 2}M before the search begins; give --memory {-(-2 * used >> 20)}M or more"
            )
        return min(room, MOST_STATES)

    def summary(self) -> DiskSummary:
        """How much the search has used the disk so far."""
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
        """Write a checkpoint if the search can go on later. A full or failed disk ends the search without an error."""
        try:
            if self._can_go_on(error):
                self._write_checkpoint()
        except DiskError as failed:
            error = failed
        finally:
            self._stack.close()
        if self._phase is Phase.EXPANDING:
            self.context.results.add(self._results, lambda number: number)
        if isinstance(error, DiskError):
            self.context.result.stopped, self.lost = "disk", str(error)
            return True
        return False

    def _can_go_on(self, error: BaseException | None) -> bool:
        """Whether a last checkpoint can be written: the search is unfinished, and its data are consistent."""
        if error is None:
            return self.context.result.stopped is not None or self.context.expanded < self.visited.count
        is_consistent = bool(self.visited.levels) and not self.interrupts.is_at_once
        return isinstance(error, KeyboardInterrupt) and is_consistent

    # ------------------------------------------------------------------------------------------------------ levels

    def start(self) -> int:
        """Store the states that the search starts from, each as its own predecessor, or resume from the checkpoint.
        Return the number of the first state of the newest level."""
        if self.options.is_resumed:
            self._resume()
            return self.visited.firsts[-2]
        for low in range(0, len(self.context.starts), self.room):
            size = self.put_starts(self.batch, low, self.room)
            self.visited.add(self.batch, self.recent.sift(self.batch, size), 0)
        self.visited.close_level(lambda: False)
        self._write_checkpoint()
        return 0

    def check(self, first: int, last: int) -> None:
        """Judge the properties in the states first..last-1, which are the newest level, piece by piece."""
        assert last == self.visited.count
        if self._phase is Phase.EXPANDING:  # the search was resumed within this level
            return
        context = self.context
        self._phase, self._before = Phase.JUDGING, context.results.duplicate()
        results = KernelResults(len(context.properties))
        for at, states in self.visited.levels[-1].pieces():
            results.clear()
            size = len(states) // self.visited.words
            self.runner.check(states.ctypes.data, 0, size, context.active, results)
            context.results.add(results, partial(operator.add, first + at))
            if self.is_out_of_time():
                return
        self._begin_expanding()

    def _begin_expanding(self) -> None:
        self._phase, self._position = Phase.EXPANDING, 0
        self._results.clear()

    def expand(self, first: int, last: int) -> None:
        """Expand the states first..last-1, the newest level, in pieces; remove duplicates. Raises Full, DiskError."""
        assert last == self.visited.count
        if self._phase is not Phase.EXPANDING:  # nothing was to be judged
            self._begin_expanding()
        for at, states in self.visited.levels[-1].pieces(self._position):
            if not self._expand_piece(first, at, states):
                return
        if self.visited.close_level(self.is_out_of_time):
            self.context.results.add(self._results, lambda number: number)
            self._phase = Phase.NEW

    def _expand_piece(self, first: int, at: int, states: NDArray[np.uint64]) -> bool:
        """Expand a piece of the level's states, from position `first + at` on; return False if the search must stop."""
        context, done, size = self.context, 0, len(states) // self.visited.words
        results = KernelResults(len(context.properties))
        while done < size:
            results.clear()
            counts = context.fired, context.active, results
            done, generated = self.runner.expand(states.ctypes.data, done, size, self.batch, *counts)
            self._results.add(results, partial(operator.add, first + at))
            context.result.generated += generated
            self.visited.add(self.batch, self.recent.sift(self.batch, generated), at)
            self._position = at + done
            context.expanded = first + at + done
            if self.is_out_of_time():
                return False
            self.runner.optimize_for(context.expanded, context.deadline)
        if time.monotonic() - self._kept_at > 60 * self.options.minutes:
            self._write_checkpoint()
        return True

    def close_level(self) -> None:
        """Write a checkpoint, unless checkpoints would take more than SHARE_FOR_CHECKPOINTS of the time."""
        if self._seconds_of_checkpoint < SHARE_FOR_CHECKPOINTS * (time.monotonic() - self._kept_at):
            self._write_checkpoint()

    def is_out_of_time(self) -> bool:
        """Report progress every 0.5 s; return whether the time limit is reached. Raises KeyboardInterrupt."""
        self.interrupts.look()
        return super().is_out_of_time()

    def progress(self, seconds: float) -> Progress:
        """The progress of the search after `seconds`, with the bytes on disk."""
        progress = super().progress(seconds)
        return replace(progress, bytes_on_disk=self.folder.used, candidates=self.visited.candidates)

    # ------------------------------------------------------------------------------------------------- checkpoints

    def _write_checkpoint(self) -> None:
        """Write a checkpoint, from which the search can go on. Raises DiskError."""
        began = time.monotonic()
        self.visited.flush()
        context = self.context
        state = {
            **context.counts(self._before if self._phase is Phase.JUDGING else context.results),
            "stored": self.visited.described(),
            "seconds": began - context.started,
            "expanded": context.expanded,
            "level": [self._results.words, self._position] if self._phase is Phase.EXPANDING else None,
        }
        self.folder.write_checkpoint(text_of(self.question, state))
        self.checkpoints += 1
        self._kept_at = time.monotonic()
        self._seconds_of_checkpoint = self._kept_at - began

    def _resume(self) -> None:
        """Restore the search from its checkpoint. Raises UsageError if that is impossible."""
        where = f"--resume {self.folder.path}"
        text = self.folder.read_checkpoint()
        if text is None:
            raise UsageError(f"{where}: there is no checkpoint; begin the search with --disk {self.folder.path}")
        try:
            state = state_in(text, self.question, where)
            depth = len(state["stored"]["levels"]) - 1
            bound = self.context.limits.depth
            if bound is not None and (depth > bound or (depth == bound and state["level"] is not None)):
                raise UsageError(
                    f"{where}: the search has already reached depth {depth}; give a greater --bound than {bound}"
                )
            self.visited.restore(state["stored"])
        except DamagedError as damaged:
            raise UsageError(
                f"{where}: the file {damaged} is missing or damaged; begin again in a new folder with --disk"
            ) from None
        self._restore(state)
        self.resumed_at = depth

    def _restore(self, state: Mapping[str, Any]) -> None:
        context, result = self.context, self.context.result
        context.restore(state)
        result.levels = result.levels[: len(self.visited.levels) - 1]  # the newest level is counted again
        result.depth = len(result.levels)
        context.expanded = state["expanded"]
        context.started -= state["seconds"]
        if state["level"] is not None:
            words, self._position = state["level"]
            self._results = KernelResults.of(len(context.properties), words)
            self._phase = Phase.EXPANDING


def cleared_before(options: DiskRequest) -> frozenset[tuple[str, str]] | None:
    """The clearings of dead cells (`Reduction.clears`) in the earlier run of a search, which a resumed run must use,
    too; None if the search is new, or if its checkpoint cannot be read."""
    try:
        path = options.folder / CHECKPOINT
        before = reduction_in(path.read_text(encoding="utf-8", errors="replace")) if options.is_resumed else None
    except OSError:
        return None  # the search itself says why
    return None if before is None else before[1]


def explore_on_disk(
    options: DiskRequest,
    instance: Instance,
    limits: Limits,
    kernel: Kernel,
    *,
    count_all: bool = False,
    report: Callable[[Progress], None] = lambda progress: None,
) -> tuple[Exploration, DiskSummary]:
    """Search an instance within limits, with the states in files on disk; the memory limit is for the whole process.

    Raises UsageError for a folder that cannot be used. If the disk is full, the result covers the search until then. At
    the end of a complete search, its files are deleted. If the earlier run had to repeat its search without a reduction
    (checker/explicit/reduced_search.py), the resumed search does not use a reduction either.
    """
    folder = Folder.of(options)
    try:
        if options.is_resumed and (reduction_in(folder.read_checkpoint()) or ("",))[0] == NO_REDUCTION:
            kernel = kernel if kernel.reduction is None else kernel_of(instance)
        request = SearchRequest(count_all=count_all)
        carrier: DiskCarrier | None = None

        def search_with(kernel: Kernel, limits: Limits) -> Exploration:
            nonlocal carrier, options
            if carrier is not None:  # the repetition begins anew
                folder.empty()
                options = replace(options, is_resumed=False)
            context = SearchContext(instance, limits, kernel, request, report)
            carrier = DiskCarrier(context, options, folder)
            return Search(context, carrier).run()

        exploration = concluded(search_with, kernel, limits)
        assert carrier is not None
        if exploration.frontier == 0 and exploration.stopped is None:
            folder.clear()
        return exploration, carrier.summary()
    finally:
        folder.close()

"""Makes several searches at a time, each on one thread in a process of its own.

In:  the searches that will be asked for, in their order, and then each of them again, when its result is needed.
Out: a `Result` for each.

Independent searches share nothing, so this uses two cores better than two threads of one search do: those have to wait
for each other at the end of every level.
"""

from __future__ import annotations

import multiprocessing
import signal
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection, wait

from isrcheck.checker.doctor.searches.request import Request
from isrcheck.checker.questions.answering import Result
from isrcheck.checker.questions.planning import asked_of
from isrcheck.checker.questions.scenarios import Scenario
from isrcheck.checker.resources.limits import Limits

Serve = Callable[[Connection], None]
"""What a process runs: a function of a module, for it is imported there; it answers what arrives on the pipe."""

SECONDS_TO_STOP = 5.0
"""After Ctrl-C, how long a search may take to end."""


@dataclass(eq=False)
class _Task:
    """A search. One that is expected has a `weight`, and gets a share of the time when it begins."""

    scenario: Scenario
    limits: Limits
    weight: float = 0.0
    outcome: Result | Exception | None = None


class _Worker:
    """A process, and the search that it makes, if any."""

    def __init__(self, serve: Serve) -> None:
        context = multiprocessing.get_context("spawn")
        resource_tracker.ensure_running()  # otherwise it is started below, and lets Ctrl-C through again
        self.pipe, its_end = context.Pipe()
        self.process = context.Process(target=serve, args=(its_end,), daemon=True)
        before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            self.process.start()
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
        its_end.close()
        self.task: _Task | None = None

    def begin(self, task: _Task, limits: Limits, left: float | None) -> None:
        """Begin a search; if the process has ended, the search ends when it is waited for."""
        self.task = task
        with suppress(OSError):
            self.pipe.send(Request(asked_of(task.scenario), limits, left))

    def end(self, why_lost: str) -> bool:
        """Take the outcome of the search, and return whether the process goes on; otherwise `why_lost` has stopped the
        search."""
        assert self.task is not None
        try:
            self.task.outcome = self.pipe.recv()
        except (EOFError, OSError):
            self.task.outcome = Result.not_begun(self.task.scenario.prop, why_lost)
            return False
        finally:
            self.task = None
        return True

    def kill(self) -> None:
        """End the process at once."""
        self.process.kill()
        self.process.join()
        self.pipe.close()


class SideBySide:
    """Makes searches in `count` processes, each of which runs `serve` (worker.py); `left` returns the seconds that the
    command has left (None: no limit).

    Call `close` at the end.
    """

    def __init__(self, count: int, left: Callable[[], float | None], serve: Serve) -> None:
        self.left = left
        self.serve = serve
        self.workers = [_Worker(serve) for _ in range(count)]
        self.is_interrupted = False
        self._tasks: dict[str, _Task] = {}
        self._waiting: list[_Task] = []
        self._reserve = 0.0
        self._part = 1.0

    def expect(
        self, searches: Sequence[tuple[Scenario, float]], limits: Limits, reserve: float = 0.0, part: float = 1.0
    ) -> None:
        """Begin searches whose results will be needed, in their order, each with its weight. What was expected before
        and has not begun is forgotten.

        All of them together, and what will be asked later, get this part of the time that is left. A search gets the
        share that its weight is of all weights that wait, and of the `reserve`, the weight of what will be asked later.
        """
        self._tasks = {key: one for key, one in self._tasks.items() if one not in self._waiting}
        self._waiting, self._reserve, self._part = [], reserve, part
        for scenario, weight in searches:
            key = asked_of(scenario).identity
            if key not in self._tasks:
                self._tasks[key] = _Task(scenario, limits, weight)
                self._waiting.append(self._tasks[key])
        self._begin()

    def __call__(self, scenario: Scenario, limits: Limits) -> Result:
        """The result of a search. After Ctrl-C it is what was found so far; raises KeyboardInterrupt if that is
        nothing. Raises the error that has ended the search."""
        key = asked_of(scenario).identity
        task = self._tasks.setdefault(key, _Task(scenario, limits))
        is_running = any(one.task is task for one in self.workers)
        if task.outcome is None and not is_running:
            if limits.seconds == 0:
                return Result.not_begun(scenario.prop, "seconds")
            self._waiting = [task, *(one for one in self._waiting if one is not task)]
        try:
            while task.outcome is None and not self.is_interrupted:
                self._begin()
                self._take()
        except KeyboardInterrupt:
            self._interrupt()
        if task.outcome is None:
            raise KeyboardInterrupt
        if isinstance(task.outcome, Exception):
            raise task.outcome
        if task.outcome.stopped is not None:
            del self._tasks[key]  # with more time, the answer may be another one
        return task.outcome

    def close(self) -> None:
        """End all processes."""
        for one in self.workers:
            one.kill()
        self.workers = []

    def _seconds(self, task: _Task) -> float | None:
        """The time limit of a search that waits, and begins now."""
        left = self.left()
        if not task.weight or left is None:
            return task.limits.seconds
        total = self._reserve + sum(one.weight for one in self._waiting)
        return left * self._part * min(1.0, len(self.workers) * task.weight / total)

    def _begin(self) -> None:
        """Give every process that is free a search that waits."""
        for worker in self.workers:
            if worker.task is None and self._waiting:
                task = self._waiting[0]
                seconds = self._seconds(task)
                self._waiting = self._waiting[1:]
                # A search that has the machine for itself uses all of it.
                is_alone = not self._waiting and all(one.task is None for one in self.workers)
                threads = task.limits.threads if is_alone else max(1, task.limits.threads // len(self.workers))
                memory = task.limits.memory // len(self.workers)
                worker.begin(task, replace(task.limits, seconds=seconds, threads=threads, memory=memory), self.left())

    def _take(self) -> None:
        """Wait until a search has ended, and take the outcomes of all that have."""
        busy = [one for one in self.workers if one.task is not None]
        ready = wait([one.pipe for one in busy])
        for worker in busy:
            # As a rule it is a system without memory that kills a process.
            if worker.pipe in ready and not worker.end("memory"):
                worker.kill()
                self.workers[self.workers.index(worker)] = _Worker(self.serve)

    def _interrupt(self) -> None:
        """End the searches that run, and take what they have found."""
        self.is_interrupted = True
        for one in self.workers:
            one.process.terminate()
        deadline = time.monotonic() + SECONDS_TO_STOP
        for one in self.workers:
            if one.task is not None and one.pipe.poll(max(0.0, deadline - time.monotonic())):
                one.end("interrupt")

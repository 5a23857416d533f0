"""Random walks in groups, on one thread or several.

In:  an instance with its kernel; the number of walks, their length, the seed; threads, a deadline.
Out: a `Simulation`: the same for every number of threads, unless the time ends first.

Each walk has random numbers of its own. The groups are always the same ones, and are put together in their order: once
every property is decided, what later groups have done is dropped.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from queue import SimpleQueue

import numpy as np

from isrcheck.checker.compile.compiling import OutOfTimeError, compiling_within
from isrcheck.checker.compile.kernel import Kernel
from isrcheck.checker.explicit.starts import Starts
from isrcheck.checker.simulation.chance import Numbers
from isrcheck.checker.simulation.group import SimulationRequest, Walkers
from isrcheck.checker.simulation.result import JUDGED, Simulation, Tally
from isrcheck.models.language.model import Instance

GROUP = 4096
"""The most walks at once."""

GROUP_STEPS = 1 << 24
"""The most steps that a group remembers: 64 MiB."""

SECONDS_BETWEEN_REPORTS = 0.2

Report = Callable[[str, float], None]


def simulate(
    instance: Instance,
    kernel: Kernel,
    request: SimulationRequest,
    deadline: float = float("inf"),
    report: Report = lambda what, seconds: None,
    *,
    threads: int = 1,
) -> Simulation:
    """Walk until all walks are done, every property is decided, the deadline (of time.monotonic) is reached, or Ctrl-C
    is pressed; the steps of walks that were not ended are counted, too."""
    simulation = Simulation.begun(instance, request.walks, request.depth, request.seed, dict(request.weights))
    walking = _Walking(instance, kernel, request, deadline, threads)
    try:
        for tally in walking.tallies(lambda seconds: report(_progress(simulation), seconds)):
            simulation.add(tally)
            if _is_decided(simulation):
                simulation.stopped = "decided" if simulation.walks < request.walks else None
                break
        else:
            simulation.stopped = "seconds" if simulation.walks < request.walks else None
    except OutOfTimeError:
        simulation.stopped = "seconds"
    except KeyboardInterrupt:
        simulation.stopped = "interrupt"
        for tally in walking.rest():
            simulation.add(tally)
    finally:
        walking.end()
    simulation.seconds = time.monotonic() - walking.started
    return simulation


def _progress(simulation: Simulation) -> str:
    return f"{simulation.walks:,} walks, {simulation.steps:,} steps"


def _is_decided(simulation: Simulation) -> bool:
    """Whether no walk can change a verdict; a model without properties of states or steps is walked to the end."""
    judged = [prop for prop in simulation.instance.properties if prop.kind in JUDGED]
    found = simulation.findings
    return bool(judged) and all(prop.name in found and found[prop.name].found.path is not None for prop in judged)


class _Walking:
    """The groups of a simulation, their threads, and the groups that the threads walk now."""

    def __init__(
        self, instance: Instance, kernel: Kernel, request: SimulationRequest, deadline: float, threads: int
    ) -> None:
        self.started = time.monotonic()
        self.deadline = deadline
        self.is_ended = False
        self.starts = kernel.layout.pack_rows(Starts.initial(instance).cells)
        size = max(1, min(GROUP, request.walks, GROUP_STEPS // max(1, request.depth)))
        self.groups = deque(
            np.arange(first, min(first + size, request.walks), dtype=np.int64)
            for first in range(0, request.walks, size)
        )
        self.walkers: SimpleQueue[Walkers] = SimpleQueue()
        self.threads = min(threads, len(self.groups))
        for _ in range(self.threads):
            self.walkers.put(Walkers(instance, kernel, request, self._is_over))
        self.pool = ThreadPoolExecutor(self.threads)
        self.running: deque[Future[Tally]] = deque()

    def tallies(self, look: Callable[[float], None]) -> Iterator[Tally]:
        """Yield what each group did, in order, up to the one that the time ends. Calls `look` while it waits."""
        while not self._is_over() or self.running:
            while self.groups and len(self.running) <= self.threads and not self._is_over():
                self.running.append(self.pool.submit(self._walk, self.groups.popleft()))
            if not self.running:
                return
            try:
                tally = self.running[0].result(SECONDS_BETWEEN_REPORTS)
            except TimeoutError:
                look(time.monotonic() - self.started)
                continue
            self.running.popleft()
            yield tally

    def rest(self) -> Iterator[Tally]:
        """End the groups that are walked now, and yield what they did so far."""
        self.is_ended = True
        while self.running:
            yield self.running.popleft().result()

    def end(self) -> None:
        """End all threads."""
        self.is_ended = True
        self.pool.shutdown(cancel_futures=True)

    def _walk(self, numbers: Numbers) -> Tally:
        walkers, left = self.walkers.get(), self.deadline - time.monotonic()
        try:
            # Where a declared range is left, a walk compiles its kernel anew, more carefully.
            with compiling_within(None if left == float("inf") else left):
                return walkers.walk(numbers, self.starts)
        finally:
            self.walkers.put(walkers)

    def _is_over(self) -> bool:
        return self.is_ended or time.monotonic() > self.deadline

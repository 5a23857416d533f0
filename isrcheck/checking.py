"""Searches one model from Python, or takes random walks: the command `check MODEL` without a command line.

Files are written only to the folder `out`, and nothing is printed unless `progress` is set.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from isrcheck.certified_trace import Trace
from isrcheck.checker.resources.limits import Budget, Limits, Memory, Spent, machine_memory
from isrcheck.checker.results.exploration import Progress
from isrcheck.checker.results.terminal import ProgressLine
from isrcheck.checker.running import simulation
from isrcheck.checker.running.session import SearchSession, reduction_for
from isrcheck.checker.running.trace_writer import TraceWriter
from isrcheck.checker.simulation.walks import SimulationRequest
from isrcheck.commands.declarations import count, steps
from isrcheck.commands.declarations import memory as memory_of
from isrcheck.commands.declarations import seconds as seconds_of
from isrcheck.commands.declarations import seed as seed_of
from isrcheck.commands.declarations import threads as threads_of
from isrcheck.commands.program import interrupts
from isrcheck.loading import Named, Value, instance_of, target_of
from isrcheck.models.messages import UsageError
from isrcheck.result import Result, SimulationResult

ENGINES = ("local", "z3", "all")


class _Silent(ProgressLine):
    """A progress line for calls without `progress=True`: it shows nothing."""

    def announce(self, message: str) -> None:
        pass

    def report(self, progress: Progress) -> None:
        pass

    def tell(self, what: str, seconds: float) -> None:
        pass

    def clear(self) -> None:
        pass


def check(
    model: Named,
    *,
    protocol: str | None = None,
    bound: int | None = None,
    engine: str = "local",
    prove: bool = False,
    count_all: bool = False,
    deadlock: bool = True,
    symmetry: bool = False,
    reduction: bool = True,
    seconds: float | None = None,
    memory: str | None = None,
    threads: int = 1,
    swaps: Mapping[str, str] | None = None,
    out: str | os.PathLike[str] | None = None,
    progress: bool = False,
    settings: Mapping[str, Value] | None = None,
    **values: Value,
) -> Result:
    """Search a model, decide each of its properties as far as the limits allow, and return the result.

    `model` is a name such as "kafka", the path of a model file (which is run), or the result of `load`. `protocol`
    names the generation if a model has several. `bound` limits the search to behaviours of at most this many steps;
    without it, the search covers the whole state space. Every other keyword sets a configuration entry, as in
    `check("kafka", protocol="2.1", replicas=3, acks="all")`; `settings` does the same for entries whose names cannot be
    keywords, such as {"min.insync.replicas": 2}. `swaps` maps an action to the protocol whose version of it is used.

    `engine` is "local" (the explorer), "z3" (bounded model checking) or "all" (both, which must agree); the last two
    need a bound. `prove` looks for proofs for any depth. `count_all` counts all violating states. With
    `deadlock=False`, states in which no step is enabled are not reported. `symmetry` visits one state of each group of
    states that differ only in the names of equivalent elements, such as replicas. `reduction=False` visits every state;
    otherwise the explorer clears values that no later step reads, and uses the model's declared symmetries, unless
    `prove` or `count_all` needs every state. `seconds`, `memory` (such as "8G") and `threads` limit the search. `out`
    is a folder for trace files; without it none are written. `progress` prints the progress on stderr.

    Raises UsageError for bad input, and KeyboardInterrupt when the search is interrupted.
    """
    instance = instance_of(model, protocol, {**(settings or {}), **values}, swaps or {})
    _refuse(engine, bound, prove=prove, count_all=count_all)
    needs = (
        ("prove=True", prove, "compares lemmas with every state"),
        ("count_all=True", count_all, "counts every violating state"),
        ("reduction=False", not reduction, "visits every state"),
        ("engine='z3'", engine == "z3", "visits no states"),
    )
    how = reduction_for(
        needs, "symmetry=True", is_symmetric=symmetry, is_off=not reduction, visits_states=engine != "z3"
    )
    depth = None if bound is None else steps("bound", str(bound))
    limits = _limits(depth, memory, seconds, threads, deadlock=deadlock)
    traces = TraceWriter(None if out is None else Path(out))
    with _session(limits, progress=progress, count_all=count_all) as session:
        if engine == "z3":
            run = session.run_z3(instance, target_of(model), traces)
        else:
            run = session.run(instance, target_of(model), traces, limits=limits, keep_states=prove, reduction=how)
            if engine == "all":
                run = session.compare_with_z3(run)
            if prove:
                run = session.prove(run, traces)
        if run.is_interrupted:
            raise KeyboardInterrupt
    return Result(run, _traces(traces))


def simulate(
    model: Named,
    *,
    walks: int,
    depth: int,
    protocol: str | None = None,
    seed: int = 0,
    weights: Mapping[str, int] | None = None,
    deadlock: bool = True,
    seconds: float | None = None,
    memory: str | None = None,
    threads: int = 1,
    swaps: Mapping[str, str] | None = None,
    out: str | os.PathLike[str] | None = None,
    progress: bool = False,
    settings: Mapping[str, Value] | None = None,
    **values: Value,
) -> SimulationResult:
    """Take random walks through a model, check its properties on the walks, shorten the traces of failures, and return
    the result.

    `walks` is the number of walks, and `depth` the most steps of each; equal seeds give equal walks. `weights` maps
    actions to numbers: an action with weight 3 is chosen three times as often as an action with weight 1, the default.
    The other arguments are those of `check`. Walks can show failures, but not the absence of failures.

    Raises UsageError for bad input, and KeyboardInterrupt when the simulation is interrupted.
    """
    instance = instance_of(model, protocol, {**(settings or {}), **values}, swaps or {})
    numbers = [(name, count("weights", str(number))) for name, number in (weights or {}).items()]
    request = SimulationRequest(
        count("walks", str(walks)),
        count("depth", str(depth)),
        seed_of("seed", str(seed)),
        deadlock,
        simulation.weights_of(numbers, instance),
    )
    limits = _limits(None, memory, seconds, threads, deadlock=deadlock)
    traces = TraceWriter(None if out is None else Path(out))
    with _session(limits, progress=progress) as session:
        try:
            run = simulation.simulated(instance, target_of(model), request, session, traces)
        except Spent as spent:
            what = f"the simulation did not begin: the limit of {spent.why} is too low"
            raise UsageError(f"{what}; raise this limit") from None
        if run.simulation.stopped == "interrupt":
            raise KeyboardInterrupt
    return SimulationResult(run, _traces(traces))


def _limits(depth: int | None, memory: str | None, seconds: float | None, threads: int, *, deadlock: bool) -> Limits:
    return Limits(
        depth,
        machine_memory() // 2 if memory is None else memory_of("memory", memory),
        None if seconds is None else seconds_of("seconds", str(seconds)),
        threads_of("threads", str(threads)),
        deadlock,
    )


@contextmanager
def _session(limits: Limits, *, progress: bool, count_all: bool = False) -> Iterator[SearchSession]:
    with interrupts() as seen:
        try:
            line = ProgressLine if progress else _Silent
            budget = Budget(limits.seconds, limits.memory)
            yield SearchSession(limits, budget, seen, count_all=count_all, progress_line=line)
        finally:
            Memory.lift()


def _traces(traces: TraceWriter) -> dict[str, Trace]:
    if traces.failure:
        raise UsageError(traces.failure)
    return {name: Trace(trace) for name, trace in traces.shortest.items()}


def _refuse(engine: str, bound: int | None, *, prove: bool, count_all: bool) -> None:
    if engine not in ENGINES:
        raise UsageError(f"no engine {engine!r} in Python code; give one of: {', '.join(ENGINES)}")
    if engine != "local" and bound is None:
        raise UsageError(f"engine={engine!r} searches depth by depth, up to a bound; give a bound, as in bound=6")
    if engine == "z3" and prove:
        raise UsageError("prove=True needs the explorer, which engine='z3' does not use; leave engine='z3' out")
    if engine != "local" and count_all:
        raise UsageError(f"count_all=True counts states, but Z3 does not; leave count_all or engine={engine!r} out")

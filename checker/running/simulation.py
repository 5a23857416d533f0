"""Simulation: random walks, for bounds too large for a search; the results as text and as an object.

Out: a `SimulationRun` with its verdicts and trace files; lines of text, and the `--json` object (docs/json.md).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from isrcheck.checker.compile.kernel import Kernel
from isrcheck.checker.results.instance_facts import (
    actions_of,
    command_of,
    configuration_line,
    configuration_of,
    disabled_actions,
    faults_line,
    identity_of,
    introduction,
    label_of,
    title,
)
from isrcheck.checker.results.kernel_results import EntryKind
from isrcheck.checker.results.run import range_lines
from isrcheck.checker.results.terminal import counted, table
from isrcheck.checker.results.verdict import WHY_STOPPED, Verdict, Word, exit_code
from isrcheck.checker.running.session import SearchSession
from isrcheck.checker.running.trace_writer import TraceWriter
from isrcheck.checker.simulation.shorten import shortened
from isrcheck.checker.simulation.walks import Simulation, SimulationRequest, simulate, verdicts
from isrcheck.models.language.model import DEADLOCK, IN_RANGE, Instance
from isrcheck.models.messages import UsageError, nearest

SHORTEN = 10.0
"""The most seconds that a violation is shortened, also without `--seconds`."""

COUNTED = ("asked", "depth", "seed", "weights", "walks", "visited", "steps", "longest", "ended", "generated")
"""The fields of a `Simulation` that the object of `--json` contains."""

MOST_VALUES, MOST_LISTED = 8, 100
"""The most values of a field that are listed as never seen, in text and in an object."""


@dataclass(frozen=True)
class SimulationRun:
    """A finished simulation, with its verdicts and trace files."""

    simulation: Simulation
    verdicts: Sequence[Verdict]
    traces: Mapping[str, Path]
    depths: Mapping[str, int]
    """By property, the length of the path that a walk found, before it was shortened."""
    command: str
    """The command that repeats the simulation."""
    own_model: Sequence[str] = ()
    """The options with which `trace show` finds the model, if it is a file."""

    @property
    def word(self) -> Word:
        """The overall verdict: VIOLATED if a property is violated, otherwise UNDECIDED."""
        words = {verdict.word for verdict in self.verdicts}
        return Word.VIOLATED if Word.VIOLATED in words else Word.UNDECIDED


def simulated(
    instance: Instance, target: str, request: SimulationRequest, session: SearchSession, traces: TraceWriter
) -> SimulationRun:
    """Take random walks through an instance of model `target`; shorten and write paths to failures. Raises Spent."""
    limits = session.limits
    command = (
        f"{command_of(target, instance, None, deadlock=limits.deadlock)}"
        f" --simulate {request.walks} --depth {request.depth} --seed {request.seed}"
        f"{''.join(f' --weight {name}={weight}' for name, weight in request.weights.items())}"
    )
    progress = session.progress_line(title(instance))
    kernel = session.begin(instance, progress).kernel
    left = session.budget.left
    deadline = float("inf") if left is None else time.monotonic() + left
    simulation = simulate(instance, kernel, request, deadline, progress.tell, threads=limits.threads)
    depths: dict[str, int] = {}
    if simulation.stopped != "interrupt":
        try:
            depths = _shorten(simulation, kernel, session, progress.tell)
        except KeyboardInterrupt:
            simulation.stopped = "interrupt"
    progress.clear()
    judged = verdicts(simulation, instance.properties)
    files = traces.write(target, instance, judged, command=command)
    own = ["--model", target] if target.endswith(".py") else []
    return SimulationRun(simulation, judged, files, depths, command, own)


def exit_code_of(result: SimulationRun, *, strict: bool) -> int:
    """Return the exit code of a search with the same failures, or of an UNDECIDED search if there are no failures."""
    failures = (Word.VIOLATED, Word.PERMITTED) if strict else (Word.VIOLATED,)
    failing = [verdict for verdict in result.verdicts if verdict.word in failures]
    return exit_code(Word.VIOLATED if failing else Word.UNDECIDED, strict=strict, found=failing)


def weights_of(typed: Sequence[tuple[str, int]], instance: Instance) -> dict[str, int]:
    """Return the weights that the user typed, by action, without weights of 1. Raises UsageError if an action is
    unknown or has two weights."""
    names = [name for _, name in actions_of(instance)]
    weights: dict[str, int] = {}
    for name, weight in typed:
        if name not in names:
            raise UsageError(f"--weight {name}={weight}: {title(instance)} has no such action; {nearest(name, names)}")
        if weights.setdefault(name, weight) != weight:
            raise UsageError(f"--weight {name} is given twice, as {weights[name]} and as {weight}; keep one of them")
    return {name: weight for name, weight in weights.items() if weight != 1}


def _shorten(
    simulation: Simulation, kernel: Kernel, session: SearchSession, tell: Callable[[str, float], None]
) -> dict[str, int]:
    """Shorten the paths to failures in place; return their earlier lengths by property. Raises KeyboardInterrupt."""
    instance = simulation.instance
    depths: dict[str, int] = {}
    props = {prop.name: prop for prop in (*instance.properties, DEADLOCK, IN_RANGE)}
    for name, findings in list(simulation.findings.items()):
        for kind, finding in ((EntryKind.FOUND, findings.found), (EntryKind.PERMITTED, findings.permitted)):
            if finding.path is not None:
                left = session.budget.left
                limits = replace(session.limits, seconds=SHORTEN if left is None else min(left, SHORTEN))
                depths.setdefault(name, finding.path.depth)
                finding.path = shortened(instance, kernel, props[name], kind, finding.path, limits, tell)
    return depths


# ----------------------------------------------------------------------------------------------------------- the report


def text(run: SimulationRun) -> str:
    """Return the results of a simulation as text, whose last line is the verdict."""
    simulation = run.simulation
    instance = simulation.instance
    starts = counted(len(instance.initial_states), "initial state")
    shown = [[name, " ".join(["trace show", str(path), *run.own_model])] for name, path in run.traces.items()]
    weights = ", ".join(f"{name}={weight}" for name, weight in simulation.weights.items())
    return "\n".join(
        [
            introduction(instance),
            "",
            f"configuration  {configuration_line(instance)}",
            f"faults         {faults_line(instance)}",
            f"simulation     {_walks(simulation.asked, simulation)}, seed {simulation.seed}, from {starts}",
            *([f"weights        {weights}; 1 for the other actions"] if weights else []),
            "",
            *_property_lines(run),
            "",
            *_action_lines(simulation),
            "",
            *_value_lines(simulation),
            "",
            *_totals(simulation),
            *_coverage(simulation),
            *(["", *table(shown)] if shown else []),
            "",
            verdict_line(run),
        ]
    )


def _walks(count: int, simulation: Simulation) -> str:
    return f"{counted(count, 'walk')} of at most {counted(simulation.depth, 'step')}"


def _property_lines(run: SimulationRun) -> list[str]:
    rows = []
    for verdict in run.verdicts:
        before = run.depths.get(verdict.prop.name)
        is_shorter = before is not None and verdict.depth is not None and before > verdict.depth
        rows.append([label_of(verdict.prop), verdict.text, f"shortened from step {before}" if is_shorter else ""])
    return [*table(rows), *range_lines(run.verdicts)]


def _action_lines(simulation: Simulation) -> list[str]:
    rows = [["action", "enabled", "taken"]]
    rows += [[action, f"{count['enabled']:,}", f"{count['taken']:,}"] for action, count in _actions(simulation).items()]
    return table(rows, right=frozenset({1, 2}))


def _actions(simulation: Simulation) -> dict[str, dict[str, int]]:
    enabled, taken = simulation.enabled.tolist(), simulation.taken.tolist()
    return {name: {"enabled": enabled[slot], "taken": taken[slot]} for slot, name in actions_of(simulation.instance)}


def _value_lines(simulation: Simulation) -> list[str]:
    """Return a table of fields with declared values that no walk visited, and a line that names all other fields."""
    every = [name for name, values in simulation.values.items() if not values.missing]
    rows = [
        [name, f"{values.declared:,}", f"{values.seen:,}", _spelled(simulation, name, values.missing)]
        for name, values in simulation.values.items()
        if values.missing
    ]
    lines = table([["field", "values", "seen", "never seen"], *rows], right=frozenset({1, 2})) if rows else []
    return [*lines, *([f"every declared value was seen: {', '.join(every)}"] if every else [])]


def _totals(simulation: Simulation) -> list[str]:
    seconds = max(simulation.seconds, 1e-9)
    walks = counted(simulation.walks, "walk")
    walked = f"{walks}, {simulation.steps:,} steps, the longest walk has {simulation.longest}"
    ended = f"{counted(simulation.ended, 'walk')} ended in a state without a step"
    judged = f"{simulation.generated:,} successors judged"
    return [f"{walked}; {ended}; {judged}", f"{simulation.seconds:.2f} s: {simulation.steps / seconds:,.0f} steps/s"]


def _coverage(simulation: Simulation) -> list[str]:
    instance = simulation.instance
    off = {instance.model.actions[slot].name for slot in disabled_actions(instance)}
    remarks = {
        "disabled by the configuration": sorted(off),
        "warning: never enabled in this simulation": [name for name in simulation.never_enabled if name not in off],
        "warning: never taken in this simulation": simulation.never_taken,
    }
    return [f"{remark}: {', '.join(actions)}" for remark, actions in remarks.items() if actions]


def _spelled(simulation: Simulation, name: str, values: Sequence[int]) -> str:
    place = simulation.instance.layouts[name]
    others = len(values) - MOST_VALUES
    return " ".join([*map(place.spell, values[:MOST_VALUES]), *([f"and {others} more"] if others > 0 else [])])


def verdict_line(run: SimulationRun) -> str:
    """Return the verdict as a line of text: VIOLATED, with the properties; or UNDECIDED, with the number of walks."""
    simulation = run.simulation
    failing = [verdict for verdict in run.verdicts if verdict.word is Word.VIOLATED]
    if failing:
        names = ", ".join(f"{verdict.prop.name} at step {verdict.depth}" for verdict in failing)
        return f"VIOLATED: {names}: found by simulation; not known to be shortest"
    why = f"{WHY_STOPPED[simulation.stopped]}; " if simulation.stopped in WHY_STOPPED else ""
    walks = _walks(simulation.walks, simulation)
    return f"UNDECIDED: simulation: {why}{walks} found no violation"


def as_object(run: SimulationRun) -> dict[str, Any]:
    """Return the simulation as the object for `--json`."""
    simulation, instance = run.simulation, run.simulation.instance
    return {
        **identity_of(instance),
        "configuration": configuration_of(instance),
        **{name: getattr(simulation, name) for name in COUNTED},
        "actions": _actions(simulation),
        "fields": {
            name: {
                "declared": values.declared,
                "seen": values.seen,
                "never_seen": [instance.layouts[name].spell(value) for value in values.missing[:MOST_LISTED]],
            }
            for name, values in simulation.values.items()
        },
        "stopped": simulation.stopped,
        "seconds": round(simulation.seconds, 3),
        "properties": [_property_object(run, verdict) for verdict in run.verdicts],
        "command": run.command,
        "verdict": run.word.value,
    }


def _property_object(run: SimulationRun, verdict: Verdict) -> dict[str, Any]:
    name = verdict.prop.name
    trace = run.traces.get(name)
    return {
        "name": name,
        "kind": verdict.prop.kind.value,
        "verdict": verdict.word.value,
        "depth": verdict.depth,
        "found_at_depth": run.depths.get(name),
        "trace": str(trace) if trace else None,
    }

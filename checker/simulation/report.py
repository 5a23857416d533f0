"""A simulation as text, and as the object that `--json` prints.

In:  a `Simulation` with its verdicts and trace files.
Out: lines of text, and the object (documented in docs/json.md).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from isrcheck.checker.outcome.verdict import WHY_STOPPED, Verdict, Word
from isrcheck.checker.session.disabled_actions import disabled_actions
from isrcheck.checker.session.formatting import counted, table
from isrcheck.checker.session.naming import configuration_of, faults_line, title
from isrcheck.checker.simulation.walks import Simulation
from isrcheck.models.language.declarations import Kind
from isrcheck.models.language.model import IN_RANGE

MOST_VALUES, MOST_LISTED = 8, 100
"""The most values of a field that are listed as never seen, in text and in an object."""


@dataclass(frozen=True)
class SimulationRun:
    """A simulation, the verdicts, and the trace files; `found` has the lengths of the violations before they were
    shortened, `command` repeats the simulation, and `show` returns the command that shows a trace."""

    simulation: Simulation
    verdicts: Sequence[Verdict]
    traces: Mapping[str, Path]
    found: Mapping[str, int]
    command: str
    own_model: Sequence[str] = ()

    @property
    def word(self) -> Word:
        """The gravest verdict; never better than UNDECIDED, unless something fails."""
        words = {verdict.word for verdict in self.verdicts}
        return Word.VIOLATED if Word.VIOLATED in words else Word.UNDECIDED


def text(run: SimulationRun) -> str:
    """Return the report; its last line is the verdict."""
    simulation = run.simulation
    instance = simulation.instance
    documentation = instance.model.documentation.splitlines()
    configuration = ", ".join(f"{name}={value}" for name, value in configuration_of(instance).items())
    starts = counted(len(instance.initial_states), "initial state")
    return "\n".join(
        [
            f"{title(instance)}: {documentation[0] if documentation else ''}",
            "",
            f"configuration  {configuration or 'nothing to configure'}",
            f"faults         {faults_line(instance)}",
            f"simulation     {_asked(simulation)}, seed {simulation.seed}, from {starts}",
            *([f"weights        {_weights(simulation)}; 1 for the other actions"] if simulation.weights else []),
            "",
            *_property_lines(run),
            "",
            *_action_lines(simulation),
            "",
            *_value_lines(simulation),
            "",
            *_totals(simulation),
            *_coverage(simulation),
            *(["", *_trace_lines(run)] if run.traces else []),
            "",
            verdict_line(run),
        ]
    )


def _asked(simulation: Simulation) -> str:
    return f"{counted(simulation.asked, 'walk')} of at most {counted(simulation.depth, 'step')}"


def _weights(simulation: Simulation) -> str:
    return ", ".join(f"{name}={weight}" for name, weight in simulation.weights.items())


def _property_lines(run: SimulationRun) -> list[str]:
    rows = []
    for verdict in run.verdicts:
        sought = "sometimes " if verdict.prop.kind is Kind.SOMETIMES else ""
        before = run.found.get(verdict.prop.name)
        is_shorter = before is not None and verdict.depth is not None and before > verdict.depth
        rows.append([sought + verdict.prop.name, verdict.text, f"shortened from step {before}" if is_shorter else ""])
    notes = [f"  {one.note} (step {one.depth})" for one in run.verdicts if one.prop is IN_RANGE]
    return [*table(rows), *notes]


def _action_lines(simulation: Simulation) -> list[str]:
    rows = [["action", "enabled", "taken"]]
    for action, chosen, enabled, taken in _actions(simulation):
        if chosen is not None:
            rows.append([action, f"{enabled:,}", f"{taken:,}"])
    return table(rows, right=frozenset({1, 2}))


def _actions(simulation: Simulation) -> list[tuple[str, int | None, int, int]]:
    instance = simulation.instance
    names = [action.name for action in instance.model.actions]
    counts = simulation.enabled.tolist(), simulation.taken.tolist()
    return list(zip(names, instance.alternatives, *counts, strict=True))


def _value_lines(simulation: Simulation) -> list[str]:
    """Return the values that each field had; fields that had all their values are only counted."""
    rows = [["field", "values", "seen", "never seen"]]
    every = [name for name, values in simulation.values.items() if not values.missing]
    for name, values in simulation.values.items():
        if values.missing:
            rows.append([name, f"{values.declared:,}", f"{values.seen:,}", _spelled(simulation, name, values.missing)])
    lines = table(rows, right=frozenset({1, 2})) if len(rows) > 1 else []
    return [*lines, *([f"every declared value was seen: {', '.join(every)}"] if every else [])]


def _totals(simulation: Simulation) -> list[str]:
    seconds = max(simulation.seconds, 1e-9)
    walked = (
        f"{counted(simulation.walks, 'walk')}, {simulation.steps:,} steps, the longest walk has {simulation.longest}"
    )
    ended = f"{counted(simulation.ended, 'walk')} ended without a step; {simulation.generated:,} successors judged"
    return [f"{walked}; {ended}", f"{simulation.seconds:.2f} s: {simulation.steps / seconds:,.0f} steps/s"]


def _coverage(simulation: Simulation) -> list[str]:
    """Return warnings: what no walk did or saw."""
    instance = simulation.instance
    off = {instance.model.actions[slot].name for slot in disabled_actions(instance)}
    lines = [f"disabled by the configuration: {', '.join(sorted(off))}"] if off else []
    never = [name for name in simulation.never_enabled if name not in off]
    lines += [f"warning: never enabled in this simulation: {', '.join(never)}"] if never else []
    if simulation.never_taken:
        lines.append(f"warning: never taken in this simulation: {', '.join(simulation.never_taken)}")
    return lines


def _spelled(simulation: Simulation, name: str, values: Sequence[int]) -> str:
    place = simulation.instance.layouts[name]
    more = len(values) - MOST_VALUES
    return " ".join([*map(place.spell, values[:MOST_VALUES]), *([f"and {more} more"] if more > 0 else [])])


def _trace_lines(run: SimulationRun) -> list[str]:
    return table([[name, " ".join(["trace show", str(path), *run.own_model])] for name, path in run.traces.items()])


def verdict_line(run: SimulationRun) -> str:
    """Return the line that says what the walks found."""
    simulation = run.simulation
    failing = [verdict for verdict in run.verdicts if verdict.word is Word.VIOLATED]
    if failing:
        names = ", ".join(f"{one.prop.name} at step {one.depth}" for one in failing)
        return f"VIOLATED: {names}: found by simulation; not known to be shortest"
    why = f"{WHY_STOPPED[simulation.stopped]}; " if simulation.stopped in WHY_STOPPED else ""
    walks = f"{counted(simulation.walks, 'walk')} of at most {counted(simulation.depth, 'step')}"
    return f"UNDECIDED: simulation: {why}{walks} found no violation"


def as_object(run: SimulationRun) -> dict[str, Any]:
    """Return the object of the simulation."""
    simulation, instance = run.simulation, run.simulation.instance
    return {
        "model": instance.model.name,
        "protocol": instance.protocol.name or None,
        "swaps": dict(instance.swaps),
        "digest": instance.model.digest,
        "configuration": configuration_of(instance),
        "asked": simulation.asked,
        "depth": simulation.depth,
        "seed": simulation.seed,
        "weights": simulation.weights,
        "walks": simulation.walks,
        "visited": simulation.visited,
        "steps": simulation.steps,
        "longest": simulation.longest,
        "ended": simulation.ended,
        "generated": simulation.generated,
        "actions": {
            action: {"enabled": enabled, "taken": taken}
            for action, chosen, enabled, taken in _actions(simulation)
            if chosen is not None
        },
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
        "found_at_depth": run.found.get(name),
        "trace": str(trace) if trace else None,
    }

"""The result of a search or a simulation, as Python code and notebooks see it."""

from __future__ import annotations

import html
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from isrcheck.certified_trace import Trace
from isrcheck.checker.results import run as text
from isrcheck.checker.results.exploration import Exploration
from isrcheck.checker.results.instance_facts import configuration_of, title
from isrcheck.checker.results.run import Run
from isrcheck.checker.results.verdict import Verdict, exit_code
from isrcheck.checker.running import simulation as report
from isrcheck.checker.running.simulation import exit_code_of


@dataclass(frozen=True)
class PropertyResult:
    """The verdict on one property, with the traces of its failure."""

    name: str
    kind: str
    """The decorator that declares the property, such as `always`."""
    verdict: str
    """One of the verdicts of README.md, such as HOLDS."""
    text: str
    """The verdict as text, with the step of the failure or the depth of the search."""
    depth: int | None
    violating: int
    """The number of states or transitions that violate the property."""
    trace: Trace | None
    """The shortest path to a violation or, without a violation, to a permitted failure."""
    permitted_trace: Trace | None
    """The path to a permitted failure, if the property is also violated."""


RunOf = TypeVar("RunOf", Run, report.SimulationRun)


@dataclass(frozen=True)
class Outcome(Generic[RunOf]):
    """The common part of `Result` (a search) and `SimulationResult` (random walks)."""

    run: RunOf
    """The result in the form that `isrcheck.checker` uses."""
    traces: Mapping[str, Trace]
    """A certified trace for every property that fails, whether the failure is a violation or permitted."""

    @property
    def verdict(self) -> str:
        """The gravest verdict on any property, such as VIOLATED, HOLDS or NO VIOLATION TO DEPTH."""
        return self.run.word.value

    @property
    def properties(self) -> dict[str, PropertyResult]:
        """The result for each property, by its name."""
        return {verdict.prop.name: _property(verdict, self.traces) for verdict in self.run.verdicts}

    @property
    def command(self) -> str:
        """The command that repeats the search or the walks."""
        return self.run.command

    def show(self) -> None:
        """Print the report, followed by each trace."""
        print("\n\n".join([str(self), *(f"{name}\n{trace}" for name, trace in self.traces.items())]))

    def _repr_html_(self) -> str:
        """Return the report as HTML for a notebook; each trace below it opens when its heading is clicked."""
        folded: list[str] = [
            f"<details><summary>{html.escape(name)}</summary>{trace._repr_html_()}</details>"
            for name, trace in self.traces.items()
        ]
        return "".join([f"<pre>{html.escape(str(self))}</pre>", *folded])


class Result(Outcome[Run]):
    """The result of one search."""

    @property
    def exit_code(self) -> int:
        """The exit code of `check` for this result, the first that applies: 12 if a property that must always hold is
        violated, 11 for a deadlock, 13 if a possibility or liveness property is violated, 10 for UNREACHABLE, 3 if a
        property is undecided or unproved, 0 if nothing is violated."""
        return exit_code(self.run.word, strict=False, found=self.run.verdicts)

    @property
    def is_safe(self) -> bool:
        """Whether no property is violated within the limits of the search. An undecided result is not safe."""
        return self.exit_code == 0

    @property
    def configuration(self) -> dict[str, str]:
        """Every configuration entry, spelled as on the command line."""
        return configuration_of(self.run.exploration.instance)

    @property
    def depth(self) -> int:
        """The number of steps up to which every state was checked; -1 if some initial states were not checked."""
        return self.run.exploration.judged

    @property
    def is_exhaustive(self) -> bool:
        """Whether the whole state space under this configuration was searched."""
        return self.run.exploration.exhausted

    @property
    def distinct(self) -> int | None:
        """The number of distinct states; None if only Z3 searched."""
        return self._explored.distinct if self._explored else None

    @property
    def generated(self) -> int | None:
        """The number of transitions taken; None if only Z3 searched."""
        return self._explored.generated if self._explored else None

    @property
    def states_per_level(self) -> tuple[int, ...] | None:
        """The number of new states in each level, the initial level first; None if only Z3 searched."""
        return tuple(self._explored.levels) if self._explored else None

    @property
    def seconds(self) -> float:
        """The duration of the search in seconds."""
        return self.run.exploration.seconds

    @property
    def _explored(self) -> Exploration | None:
        exploration = self.run.exploration
        return exploration if isinstance(exploration, Exploration) else None

    def as_object(self) -> dict[str, Any]:
        """Return the object that `check MODEL --json` prints (docs/json.schema.json), ready for json.dumps."""
        return {"runs": [text.as_object(self.run)], "verdict": self.verdict}

    def __str__(self) -> str:
        return text.text(self.run)

    def __repr__(self) -> str:
        return f"<Result of {title(self.run.exploration.instance)}: {text.verdict_line(self.run)}>"


class SimulationResult(Outcome[report.SimulationRun]):
    """The result of random walks: VIOLATED or UNDECIDED, because walks cannot show that nothing fails.

    The traces are shortened, but not known to be shortest, and `violating` counts the violating states on all walks.
    """

    @property
    def exit_code(self) -> int:
        """The exit code of `check MODEL --simulate` for this result: as for a search if a property is violated, and
        otherwise 3 (undecided)."""
        return exit_code_of(self.run, strict=False)

    def as_object(self) -> dict[str, Any]:
        """Return the object that `check MODEL --simulate --json` prints (docs/json.schema.json), ready for
        json.dumps."""
        return report.as_object(self.run)

    def __str__(self) -> str:
        return report.text(self.run)

    def __repr__(self) -> str:
        return f"<SimulationResult of {title(self.run.simulation.instance)}: {report.verdict_line(self.run)}>"


def _property(verdict: Verdict, traces: Mapping[str, Trace]) -> PropertyResult:
    name = verdict.prop.name
    return PropertyResult(
        name,
        verdict.prop.kind.value,
        verdict.word.value,
        verdict.text,
        verdict.depth,
        verdict.violating,
        traces.get(name),
        traces.get(f"{name} (permitted)"),
    )

"""Several counterexamples of one property with distinct causes, and how results show them.

Out: `DistinctCauses` of one property, filled by the search for causes; `Causes` of all properties, for one run.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from isrcheck.checker.results.exploration import Exploration
from isrcheck.checker.results.instance_facts import spaced
from isrcheck.checker.results.run import Part, Run
from isrcheck.checker.results.terminal import counted
from isrcheck.checker.results.verdict import WHY_STOPPED, Word
from isrcheck.models.language.declarations import WHOLE
from isrcheck.models.language.model import Property
from isrcheck.traces.explaining.cause import Cause
from isrcheck.traces.format.trace import Trace


@dataclass(frozen=True)
class Counterexample:
    """A counterexample, its cause, and the file to which it was written (None: not written)."""

    trace: Trace
    cause: Cause
    path: Path | None = None


@dataclass(frozen=True)
class DistinctCauses:
    """Why one property is violated (or has permitted failures): a counterexample for each distinct cause."""

    prop: Property
    word: Word
    """VIOLATED or PERMITTED."""
    asked: int
    """The number of causes that were requested."""
    exploration: Exploration
    """The search that found the candidates."""
    candidates: int = 0
    """The number of paths to different failures."""
    looked_at: int = 0
    """The number of these paths that were examined."""
    stopped: str | None = None
    """Why the examination ended early; None if it did not."""
    found: tuple[Counterexample, ...] = ()
    """One counterexample for each cause."""

    @property
    def reach(self) -> str:
        """Whether there may be further causes, and how far the search for causes went, as the end of a line."""
        if self.stopped is not None:
            return f"UNDECIDED whether there are more: {WHY_STOPPED[self.stopped]}"
        if len(self.found) == self.asked:
            why = self.exploration.stopped
            fewer = f", some with fewer faults: {WHY_STOPPED[why]}" if why is not None else ""
            return f"as many as requested; there may be more{fewer}"
        far = "in the whole state space" if self.exploration.exhausted else f"to depth {self.exploration.judged}"
        paths = f"a shortest path to each of {self.candidates:,} first failures"
        alike = self.candidates - self.looked_at
        if alike:
            paths += f", of which {alike:,} take the same actions in the same order as {MOST_ALIKE} that were examined"
        return f"no other cause was found {far} in {paths}"

    def lines(self, show: Callable[[Path], str]) -> list[str]:
        """The counterexamples as lines of text; `show` returns the command that shows a trace file."""
        count = counted(len(self.found), "counterexample") + " with different causes" * (len(self.found) != 1)
        lines = ["", f"{self.prop.name}, {self.word.value}: {count}, {self.reach}"]
        for number, example in enumerate(self.found, 1):
            cause = example.cause
            faults = ", ".join(f"{spaced(name)} {times}" for name, times in cause.faults) or "no fault"
            lines.append(f"  {number}. {counted(example.trace.length, 'step')}, {faults}: {', '.join(cause.happened)}")
            lines.append(f"     false: {cause.broken[0] if cause.broken else self.prop.name}")
            lines += [] if example.path is None else [f"     {show(example.path)}"]
        return lines

    def as_object(self, show: Callable[[Path], str]) -> dict[str, Any]:
        """The counterexamples as an object for `--json`."""
        return {
            "property": self.prop.name,
            "verdict": self.word.value,
            "asked": self.asked,
            "stopped": self.stopped,
            "exhausted": self.exploration.exhausted,
            "judged_to_depth": self.exploration.judged,
            "first_failures": self.candidates,
            "looked_at": self.looked_at,
            "reach": self.reach,
            "found": [
                {
                    "length": example.trace.length,
                    "faults": dict(example.cause.faults),
                    "happened": list(example.cause.happened),
                    "broken": list(example.cause.broken),
                    "trace": None if example.path is None else str(example.path),
                    "show": None if example.path is None else show(example.path),
                    "command": example.trace.command,
                }
                for example in self.found
            ],
        }


@dataclass(frozen=True)
class Causes(Part):
    """The distinct causes of the failures of each property in a run."""

    key: ClassVar[str] = "counterexamples"
    is_below_traces: ClassVar[bool] = True

    of_failures: tuple[DistinctCauses, ...]

    @property
    def stopped(self) -> str | None:
        """The word `interrupt` if Ctrl-C ended the search for causes; otherwise None."""
        return "interrupt" if any(causes.stopped == "interrupt" for causes in self.of_failures) else None

    def lines(self, run: Run, /) -> list[str]:
        """The counterexamples as lines of text, and a line for each failure whose causes are not compared."""
        lines = [line for causes in self.of_failures for line in causes.lines(run.show)]
        return lines + [
            f"{verdict.prop.name}: only the first counterexample; causes of {verdict.prop.kind.value} are not compared"
            for verdict in run.verdicts
            if verdict.prop.kind in WHOLE and verdict.failing_paths
        ]

    def screen_lines(self, run: Run, _width: int, /) -> list[str]:
        """The same lines as `lines`, whatever the width, because commands in them must not be wrapped."""
        return self.lines(run)

    def as_object(self, run: Run, /) -> list[dict[str, Any]]:
        """The list under `counterexamples` in the `--json` output."""
        return [causes.as_object(run.show) for causes in self.of_failures]


MOST_ALIKE = 4
"""The most candidates that are examined among those with the same actions in the same order and the same faults."""

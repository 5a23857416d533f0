"""What a search has found, as Python code and notebooks see it.

In:  a run of `checker.session`, and its traces.
Out: a `Result`, with a `PropertyResult` for every property.
"""

from __future__ import annotations

import html
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from isrcheck.certified_trace import Trace
from isrcheck.checker.outcome.exploration import Exploration
from isrcheck.checker.outcome.verdict import Verdict, exit_code
from isrcheck.checker.session import text
from isrcheck.checker.session.naming import configuration_of, title
from isrcheck.checker.session.text import Run


@dataclass(frozen=True)
class PropertyResult:
    """What is known of one property.

    `verdict` is one of the words of the verdict table; `text` also says at which step or to which depth. `trace` is the
    shortest path that shows a violation or what is permitted; `permitted_trace` the one that is permitted where there
    is a violation as well. `violating` is the number of violating states, or of transitions.
    """

    name: str
    kind: str
    verdict: str
    text: str
    depth: int | None
    violating: int
    trace: Trace | None
    permitted_trace: Trace | None


@dataclass(frozen=True)
class Result:
    """What one search has found; `run` is the value that `isrcheck.checker` works with.

    `traces` holds a certified trace for every property that fails, whether it breaks a promise or is permitted.
    """

    run: Run
    traces: Mapping[str, Trace]

    @property
    def verdict(self) -> str:
        """The gravest verdict, such as VIOLATED, HOLDS or NO VIOLATION TO DEPTH."""
        return self.run.word.value

    @property
    def exit_code(self) -> int:
        """What the command `check` would exit with: 0 where nothing that is promised is broken."""
        return exit_code(self.run.word, strict=False, found=self.run.verdicts)

    @property
    def is_safe(self) -> bool:
        """Whether nothing that is promised is broken, as far as was asked. What is undecided is not safe."""
        return self.exit_code == 0

    @property
    def properties(self) -> dict[str, PropertyResult]:
        """What is known of each property, by its name."""
        return {verdict.prop.name: self._property(verdict) for verdict in self.run.verdicts}

    @property
    def configuration(self) -> dict[str, str]:
        """Every configuration entry, spelled as on the command line."""
        return configuration_of(self.run.exploration.instance)

    @property
    def depth(self) -> int:
        """To which depth every state was judged; -1 where none was."""
        return self.run.exploration.judged

    @property
    def is_exhaustive(self) -> bool:
        """Whether the whole state space of these bounds was searched."""
        return self.run.exploration.exhausted

    @property
    def distinct(self) -> int | None:
        """How many distinct states were found; None where Z3 alone was asked."""
        return self._explored.distinct if self._explored else None

    @property
    def generated(self) -> int | None:
        """How many transitions were taken; None where Z3 alone was asked."""
        return self._explored.generated if self._explored else None

    @property
    def states_per_level(self) -> tuple[int, ...] | None:
        """How many new states each level has, the initial one first; None where Z3 alone was asked."""
        return tuple(self._explored.levels) if self._explored else None

    @property
    def seconds(self) -> float:
        """How long the search took."""
        return self.run.exploration.seconds

    @property
    def command(self) -> str:
        """The command that repeats the search."""
        return self.run.command

    @property
    def _explored(self) -> Exploration | None:
        found = self.run.exploration
        return found if isinstance(found, Exploration) else None

    def as_object(self) -> dict[str, Any]:
        """The object that `check --json` prints for one run, ready for json.dumps."""
        return text.as_object(self.run)

    def show(self) -> None:
        """Print the report, and each trace under it."""
        print("\n\n".join([str(self), *(f"{name}\n{trace}" for name, trace in self.traces.items())]))

    def __str__(self) -> str:
        return text.text(self.run)

    def __repr__(self) -> str:
        return f"<Result of {title(self.run.exploration.instance)}: {text.verdict_line(self.run)}>"

    def _repr_html_(self) -> str:
        """What a notebook shows: the report, and the page of each trace, folded up."""
        folded = [
            f"<details><summary>{html.escape(name)}</summary>{trace._repr_html_()}</details>"
            for name, trace in self.traces.items()
        ]
        return "".join([f"<pre>{html.escape(str(self))}</pre>", *folded])

    def _property(self, verdict: Verdict) -> PropertyResult:
        name = verdict.prop.name
        return PropertyResult(
            name,
            verdict.prop.kind.value,
            verdict.word.value,
            verdict.text,
            verdict.depth,
            verdict.violating,
            self.traces.get(name),
            self.traces.get(f"{name} (permitted)"),
        )

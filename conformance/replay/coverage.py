"""Records what replayed traces never exercised: actions of the model, and lines of the cluster."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

from isrcheck.models.language.model import Instance
from isrcheck.traces.format.trace import Trace

CLUSTER = Path(__file__).parents[1] / "cluster"


@dataclass
class Coverage:
    """The protocols of the replayed traces, the actions that were taken, and the lines of the cluster that ran."""

    instances: dict[str, Instance] = field(default_factory=dict)
    taken: set[tuple[str, str]] = field(default_factory=set)
    ran: set[tuple[str, int]] = field(default_factory=set)

    def note(self, trace: Trace) -> None:
        """Record the protocol and the actions of a replayed trace."""
        protocol = f"{trace.instance.model.name}/{trace.instance.protocol.name}"
        self.instances.setdefault(protocol, trace.instance)
        self.taken |= {(protocol, step.action) for step in trace.steps}

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Record the lines of the cluster that run inside this context; they run several times slower meanwhile."""
        before = sys.gettrace()
        sys.settrace(self._call)
        try:
            yield
        finally:
            sys.settrace(before)

    def _call(self, frame: FrameType, event: str, _argument: Any) -> Any:
        return self._line if frame.f_code.co_filename.startswith(str(CLUSTER)) else None

    def _line(self, frame: FrameType, event: str, _argument: Any) -> Any:
        if event == "line":
            self.ran.add((frame.f_code.co_filename, frame.f_lineno))
        return self._line

    def untouched_actions(self) -> dict[str, list[str]]:
        """For each protocol, the actions that no trace contains."""
        return {
            protocol: [
                action.name
                for number, action in enumerate(instance.model.actions)
                if instance.alternatives[number] is not None and (protocol, action.name) not in self.taken
            ]
            for protocol, instance in self.instances.items()
        }

    def untouched_lines(self) -> dict[Path, tuple[list[int], int]]:
        """For each file of the cluster: the function lines that never ran, and the number of all function lines."""
        untouched = {}
        for path in sorted(CLUSTER.rglob("*.py")):
            lines = set(_lines_of(compile(path.read_text(encoding="utf-8"), str(path), "exec")))
            untouched[path] = (sorted(line for line in lines if (str(path), line) not in self.ran), len(lines))
        return untouched


def _lines_of(code: CodeType) -> Iterator[int]:
    """The lines with code inside functions. (The code of modules and classes runs on import, so it is not counted.)"""
    if code.co_flags & inspect.CO_OPTIMIZED:
        yield from (line for _, _, line in code.co_lines() if line is not None and line != code.co_firstlineno)
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _lines_of(constant)


def spelled(coverage: Coverage) -> list[str]:
    """The report on what was never exercised, as lines of text."""
    report = ["never taken:"]
    for protocol, actions in coverage.untouched_actions().items():
        report.append(f"  {protocol}: {', '.join(actions) or 'every action was taken'}")
    lines = coverage.untouched_lines()
    total, missed = sum(count for _, count in lines.values()), sum(len(numbers) for numbers, _ in lines.values())
    report.append(f"lines of the cluster that never ran: {missed} of {total}")
    report += [f"  {path.relative_to(CLUSTER)}: {_ranges(one)}" for path, (one, _) in lines.items() if one]
    return report


def _ranges(lines: list[int]) -> str:
    """Line numbers as text; consecutive numbers are joined to a range."""
    parts: list[list[int]] = []
    for line in lines:
        if parts and line == parts[-1][-1] + 1:
            parts[-1].append(line)
        else:
            parts.append([line])
    return " ".join(str(part[0]) if len(part) == 1 else f"{part[0]}-{part[-1]}" for part in parts)

"""Counterexamples with different causes, as text and as objects.

In:  the `DistinctCauses` of properties.
Out: lines of text, an object for `--json`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from isrcheck.checker.outcome.causes import DistinctCauses
from isrcheck.traces.explaining.cause import Cause


def different_lines(different: Sequence[DistinctCauses], show: Callable[[Path], str]) -> list[str]:
    """Return the counterexamples as lines of text; `show` returns the command that shows a trace file."""
    lines = []
    for one in different:
        lines += ["", f"{one.prop.name}, {one.word.value}: {_counted(len(one.found))}, {one.reach}"]
        for number, example in enumerate(one.found, 1):
            length = f"{example.trace.length} step{'s' * (example.trace.length != 1)}"
            lines.append(f"  {number}. {length}, {_faults(example.cause)}: {', '.join(example.cause.happened)}")
            lines.append(f"     false: {example.cause.broken[0] if example.cause.broken else one.prop.name}")
            if example.path is not None:
                lines.append(f"     {show(example.path)}")
    return lines


def _counted(count: int) -> str:
    return f"{count} counterexamples with different causes" if count != 1 else "1 counterexample"


def _faults(cause: Cause) -> str:
    return ", ".join(f"{name.replace('_', ' ')} {count}" for name, count in cause.faults) or "no fault"


def different_object(one: DistinctCauses, show: Callable[[Path], str]) -> dict[str, Any]:
    """Return the counterexamples of one property as an object for `--json`."""
    return {
        "property": one.prop.name,
        "verdict": one.word.value,
        "asked": one.asked,
        "stopped": one.stopped,
        "exhausted": one.exploration.exhausted,
        "judged_to_depth": one.exploration.judged,
        "first_failures": one.candidates,
        "looked_at": one.looked_at,
        "reach": one.reach,
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
            for example in one.found
        ],
    }

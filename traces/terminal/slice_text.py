"""Prints the slice of a trace.

In:  a trace, and its slice.
Out: lines about the removed steps, with the reasons, and the remaining steps.
"""

from __future__ import annotations

from isrcheck.traces.explaining.slicing import Slice
from isrcheck.traces.format.trace import Trace, heading
from isrcheck.traces.lanes.table import Cells, grid


def tell(trace: Trace, found: Slice) -> list[str]:
    """Return lines with the removed steps and the reasons, and with the remaining steps."""
    why = f"{trace.property_name} {trace.verdict}"
    if not found.left_out:
        if found.is_minimal:
            return [f"none of the {trace.length} steps can be removed, nor any two of them; nothing is written"]
        return [f"no removable step among {trace.length} was found before the time limit; nothing is written"]
    width = len(str(trace.length))
    lines = [heading(trace.instance), "", f"removed from {trace.length} steps:"]
    rows: list[Cells] = [[("",), ("",), ("",)]]
    for number in found.left_out:
        because = "outside the causal cone" if number in found.outside else "not needed for the failure"
        rows.append([(str(number).rjust(width),), (trace.spell_row(number),), (because,)])
    lines += grid(rows)[1:]
    lines += ["", f"remaining: {found.trace.length} steps, which end in {why} for the same cause; certified"]
    if not found.is_minimal:
        lines.append("the time limit ended the slicing: more steps may be removable; slice the result again")
    return lines

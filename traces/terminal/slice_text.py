"""The slice of a trace as text.

In:  a trace, and its slice.
Out: lines that say which steps were left out and why, and what is left.
"""

from __future__ import annotations

from isrcheck.traces.explaining.slicing import Slice
from isrcheck.traces.format.trace import Trace
from isrcheck.traces.lanes.table import Cells, grid
from isrcheck.traces.terminal.show import heading


def tell(trace: Trace, found: Slice) -> list[str]:
    """What is left out and why, and what is left."""
    why = f"{trace.property_name} {trace.verdict}"
    if not found.left_out:
        if found.is_minimal:
            return [f"none of the {trace.length} steps can be left out, and no two of them; nothing is written"]
        return [f"nothing to leave out of {trace.length} steps was found before the time was up; nothing is written"]
    width = len(str(trace.length))
    lines = [heading(trace.instance), "", f"left out of {trace.length} steps:"]
    rows: list[Cells] = [[("",), ("",), ("",)]]
    for number in found.left_out:
        because = "outside the causal cone" if number in found.outside else "can be spared as well"
        rows.append([(str(number).rjust(width),), (trace.spell_row(number),), (because,)])
    lines += grid(rows)[1:]
    lines += ["", f"left: {found.trace.length} steps, which end in {why} for the same cause; certified"]
    if not found.is_minimal:
        lines.append("the time was up before everything was tried: perhaps more can be left out; slice the slice")
    return lines

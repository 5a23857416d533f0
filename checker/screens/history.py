"""One history as a screen shows it: what goes wrong, and the steps, one per line.

In:  a certified trace.
Out: lines of text that fit the terminal.
"""

from __future__ import annotations

import shutil
import sys

from isrcheck.traces.format.trace import PERMITTED, Trace, says
from isrcheck.traces.kafka.failures import permitting
from isrcheck.traces.kafka.lanes import BASICS, is_kafka
from isrcheck.traces.lanes.table import UNCHANGED, WIDTH, Look, wrapped
from isrcheck.traces.terminal.show import legend, step_table, told

NEEDED = 4
"""The signs of Kafka's columns that almost every history has: the first ones of BASICS."""


def look_of_output() -> Look:
    """Return the look of what goes to stdout: without colours, and as wide as its terminal; else of a usual width."""
    is_terminal = sys.stdout.isatty()
    width = shutil.get_terminal_size((WIDTH, 1)).columns if is_terminal else WIDTH
    return Look(max(1, width), fits=is_terminal)


def lines(trace: Trace, look: Look) -> list[str]:
    """Return the history of a failure."""
    prop = trace.prop
    assert prop is not None, "the trace of a failure has a property"
    what = told(trace) or [f"{prop.name} fails at step {trace.length}{says(prop.function.documentation)}"]
    if trace.verdict == PERMITTED and (reasons := permitting(trace)):
        what.append(f"permitted: {' and '.join(reasons)}")
    top = [line for one in what for line in wrapped(one, width=look.width)]
    return [*top, *step_table(trace, look), *_signs(trace, look.width), *legend(trace, look)]


def _signs(trace: Trace, width: int) -> list[str]:
    """Explain the signs in the columns of Kafka's brokers."""
    if not is_kafka(trace.instance):
        return []
    signs = "; ".join(f"`{sign}` {meaning}" for sign, meaning in BASICS[:NEEDED])
    return wrapped(f"{signs}; `{UNCHANGED}` is unchanged", width=width)

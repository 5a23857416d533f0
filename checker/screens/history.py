"""One history as a screen shows it: what goes wrong, and the steps, one per line.

In:  a certified trace.
Out: lines of text that fit the terminal.
"""

from __future__ import annotations

import shutil
import sys

from isrcheck.traces.format.trace import Trace
from isrcheck.traces.kafka.lanes import BASICS
from isrcheck.traces.kafka.model import is_kafka
from isrcheck.traces.lanes.heading import says
from isrcheck.traces.lanes.table import UNCHANGED, WIDTH, wrapped
from isrcheck.traces.terminal.colour import Look
from isrcheck.traces.terminal.show import legend, step_table, told

NEEDED = 4
"""The signs of Kafka's columns that almost every history has: the first ones of BASICS."""


def terminal_width() -> int:
    """Return the columns of the terminal that shows the output; without a terminal, a usual width."""
    return shutil.get_terminal_size((WIDTH, 1)).columns if sys.stdout.isatty() else WIDTH


def lines(trace: Trace, width: int) -> list[str]:
    """Return the history of a failure."""
    look = Look(width, fits=sys.stdout.isatty())
    prop = trace.prop
    assert prop is not None, "the trace of a failure has a property"
    what = told(trace) or [f"{prop.name} fails at step {trace.length}{says(prop.function.documentation)}"]
    top = [line for one in what for line in wrapped(one, width=width)]
    return [*top, *step_table(trace, look), *_signs(trace, width), *legend(trace, look)]


def _signs(trace: Trace, width: int) -> list[str]:
    """Explain the signs in the columns of Kafka's brokers."""
    if not is_kafka(trace.instance):
        return []
    signs = "; ".join(f"`{sign}` {meaning}" for sign, meaning in BASICS[:NEEDED])
    return wrapped(f"{signs}; `{UNCHANGED}` is unchanged", width=width)

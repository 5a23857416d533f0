"""Which kind of line is missing most in a recording whose search a limit has ended.

In:  the search.
Out: one sentence: before which line most states wait, in what they differ most, and which kind of line would say it.

A line that says what differs leaves only the states in which it is true, so the search need not go on from the others.
It costs states of its own, because it is one line more.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from isrcheck.conformance.follow.observations.script import alters_partitions
from isrcheck.conformance.follow.observations.search import ObservationSearch
from isrcheck.conformance.follow.paths.cells import Variable

MOST_STATES = 100_000
"""The states that are looked at; a sample at equal distances if there are more."""


@dataclass(frozen=True)
class Unknown:
    """Something that no line says: the variable, what it is, and the line that says it."""

    variable: Variable
    what: str
    line: str


def hint(search: ObservationSearch) -> str:
    """The sentence; empty if the states do not differ in anything that a line can say."""
    nodes = search.nodes()
    passed = search.monitor.passed.read(nodes[:, search.words])
    stage = int(np.argmax(np.bincount(passed, minlength=search.lines + 1)[: search.lines]))
    rows = np.flatnonzero(passed == stage)
    chosen = nodes[rows[:: 1 + len(rows) // MOST_STATES], : search.words]
    found = [(_bits(search, chosen, one), one) for one in _unknown(search)]
    bits, most = max(found, key=lambda pair: pair[0])
    if not bits:
        return ""
    values = len(np.unique(search.cells.column(chosen, *most.variable)))
    spot = search.script.recording.lines[stage].spot
    return (
        f"{len(rows):,} of {len(passed):,} states wait before {spot}."
        f" They differ most in {most.what} ({values:,} values);"
        f" {most.line} before it would say it."
    )


def _bits(search: ObservationSearch, states: np.ndarray, one: Unknown) -> float:
    """How much a line about this would say: the entropy of its values."""
    _, counts = np.unique(search.cells.column(states, *one.variable), return_counts=True)
    shares = counts / counts.sum()
    return float(-(shares * np.log2(shares)).sum())


def _unknown(search: ObservationSearch) -> Iterator[Unknown]:
    yield Unknown(("next_record",), "how many records are sent", "a `send` line for each record")
    if alters_partitions(search.instance):
        what = "how often leader and ISR have changed"
        yield Unknown(("controller_partition_epoch",), what, "a `metadata` line with a partition epoch")
    else:
        what = "how often the leader has changed"
        yield Unknown(("controller_epoch",), what, "a `metadata` line with a leader epoch")
    for replica, broker in enumerate(search.script.recording.brokers):
        end = f"a `log_end` or `disk` line of broker {broker}"
        yield Unknown(("log_end_offset", replica), f"the log end offset of broker {broker}", end)
        mark = f"a `high_watermark` line of broker {broker}"
        yield Unknown(("high_watermark", replica), f"the high watermark of broker {broker}", mark)

"""What is remembered of a path besides its last state (monitor.py), carried from one chunk to the next.

In:  the monitors at the end of a chunk, and the next chunk.
Out: the monitors at its beginning.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from isrcheck.conformance.follow.observations.monitor import Monitor
from isrcheck.conformance.follow.paths.cells import Numbers, Words


@dataclass(frozen=True)
class Kept:
    """What monitors hold, spelled out: for each broker the observed checkpoints of its process, how many of them have
    occurred, and the high watermarks since the last one; for each record whether it was acknowledged elsewhere.

    Offsets are counted as in the recording, records by name.
    """

    checkpoints: tuple[tuple[int, ...], ...]
    seen: tuple[Numbers, ...]
    since: tuple[Numbers | None, ...]
    elsewhere: dict[str, Numbers]


def kept(monitor: Monitor, values: tuple[str, ...], offset: int, position: int, monitors: Words) -> Kept:
    """Spell out the monitors of a chunk, whose window begins at `offset`, before the line at `position`."""
    incarnations = monitor.incarnations[position]
    processes = [monitor.sightings.processes[replica][count] for replica, count in enumerate(incarnations)]
    return Kept(
        tuple(tuple(value + offset for value in process.values) for process in processes),
        tuple(bits.read(monitors) for bits in monitor.seen),
        tuple(None if bits is None else bits.read(monitors) for bits in monitor.since),
        {values[record]: bits.read(monitors) for record, bits in monitor.elsewhere.items()},
    )


def resumed(monitor: Monitor, values: tuple[str, ...], offset: int, position: int, before: Kept) -> Words:
    """The monitors at the beginning of a chunk, whose first lines up to `position` are passed already."""
    count = len(before.seen[0])
    monitors: Words = np.zeros(count, np.uint64)
    monitor.passed.write(monitors, np.full(count, position))
    incarnations = monitor.incarnations[position]
    for replica, bits in enumerate(monitor.seen):
        now = tuple(value + offset for value in monitor.sightings.processes[replica][incarnations[replica]].values)
        gone = _dropped(before.checkpoints[replica], now)
        bits.write(monitors, np.clip(before.seen[replica] - gone, 0, len(now)))
        since, held = monitor.since[replica], before.since[replica]
        if since is not None and held is not None:
            since.write(monitors, held)
    for record, bits in monitor.elsewhere.items():
        flags = before.elsewhere.get(values[record])
        if flags is not None:
            bits.write(monitors, flags)
    return monitors


def _dropped(before: tuple[int, ...], now: tuple[int, ...]) -> int:
    """How many of the first observed checkpoints are no longer in the list, which goes on with later ones."""
    for gone in range(len(before)):
        rest = before[gone:]
        if now[: len(rest)] == rest[: len(now)]:
            return gone
    return len(before)


def moved(before: Kept, guard: int) -> Kept:
    """The same after a move of the window: high watermarks up to the guard become 0."""
    since = tuple(None if held is None else _shifted(held, guard) for held in before.since)
    return Kept(before.checkpoints, before.seen, since, before.elsewhere)


def _shifted(held: Numbers, guard: int) -> Numbers:
    low = (held & ((2 << guard) - 1)) != 0
    found: Numbers = (held >> guard) & ~np.int64(1) | low.astype(np.int64)
    return found

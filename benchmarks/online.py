"""Measures time and memory of following long recordings online.

Run: python -m benchmarks.online [LINES ...]

For each number of lines, a run of the executable cluster of 2.4 is observed, and followed by a process of its own: once
calm, and once with faults and slow messages, which leave many more states possible before a line. The processor time is
that of the process, and the memory is the largest that it had resident.
"""

from __future__ import annotations

import json
import resource
import sys
import tempfile
from multiprocessing import get_context
from pathlib import Path

from isrcheck.conformance.follow.online.follow import Followed, follow_online, stream_of
from isrcheck.conformance.follow.recorder.plan import Plan
from isrcheck.conformance.follow.recorder.record import ObservedRun

GENERATION = "2.4"
NEVER = 1 << 40
RARELY = 2_000_000
"""Mean intervals between faults, in milliseconds of virtual time."""


def observe(path: Path, lines: int, fault_interval: int) -> None:
    """Write the observations of a run of the cluster."""
    plan = Plan(protocol=GENERATION, seed=1)
    with path.open("w", encoding="utf-8") as file:
        for line in ObservedRun(plan, fault_interval, is_calm=fault_interval == NEVER).lines(lines):
            file.write(f"{json.dumps(line)}\n")


def follow(path: Path, name: str) -> None:
    """Follow a recording, and print what it took. Raise AssertionError unless it is followed."""
    outcome = follow_online(path, stream_of(path), GENERATION)
    assert isinstance(outcome, Followed), outcome
    used = resource.getrusage(resource.RUSAGE_SELF)
    print(
        f"{outcome.cost.of + 1:>7,} lines, {name:<11} {used.ru_utime:6.1f} s of processor time,"
        f" {used.ru_maxrss >> 10:>4} MiB, {outcome.cost.states:>10,} states, {outcome.cost.most:>7,} at most,"
        f" {outcome.cost.windows:>4} moves",
        flush=True,
    )


def main() -> None:
    """Measure, and print two lines for each number."""
    with tempfile.TemporaryDirectory() as folder:
        for lines in [int(word) for word in sys.argv[1:]] or [1_000, 4_000, 16_000]:
            for name, interval in (("calm", NEVER), ("with faults", RARELY)):
                path = Path(folder) / f"{lines}.ndjson"
                observe(path, lines, interval)
                process = get_context("spawn").Process(target=follow, args=(path, name))
                process.start()
                process.join()


if __name__ == "__main__":
    main()

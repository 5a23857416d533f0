"""Measures how many events per second are followed on one core, in complete logs of random runs.

Run: python -m benchmarks.following [EVENTS]

For each generation, a run is recorded to a file and followed from the file three times; the median counts. For
comparison, the JSON of the same lines is parsed, which every follower has to do, and the limit loop of
benchmarks/limit_loop.py shows the speed of the machine. Times are processor times.

Measured on 2 shared cores (limit loop 2.19 s), 5,000 events each: 0.10 3,033 events/s, 0.11 3,175, 2.0 4,146,
2.1 3,473; with the other core busy as well (limit loop 4.44 s) 3,804, 2,961, 3,738 and 3,556.
"""

from __future__ import annotations

import json
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from benchmarks.limit_loop import limit_loop
from isrcheck.conformance.follow.recorder.plan import Plan
from isrcheck.conformance.follow.recorder.record import record
from isrcheck.conformance.follow.runs import Verdict, follow_log
from isrcheck.models import registry

ROUNDS = 3


def seconds(work: Callable[[], None]) -> float:
    """The median of the processor times of ROUNDS calls, in seconds."""
    times = []
    for _ in range(ROUNDS):
        started = time.process_time()
        work()
        times.append(time.process_time() - started)
    return statistics.median(times)


def parse(path: Path) -> None:
    """Parse only the JSON of every line."""
    with path.open(encoding="utf-8") as file:
        for line in file:
            json.loads(line)


def follow(path: Path) -> None:
    """Follow the log. Raise AssertionError unless all of it is followed."""
    assert {outcome.verdict for outcome in follow_log(path)} == {Verdict.FOLLOWED}


def main() -> None:
    """Measure, and print a line for each generation."""
    events = int(sys.argv[1]) if len(sys.argv) > 1 else 5_000
    print(f"limit loop {limit_loop():.2f} s; {events:,} events of each generation")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "log.ndjson"
        for protocol in registry.load("kafka")[0].protocols:
            with path.open("w", encoding="utf-8") as stream:
                started = time.process_time()
                record(Plan(protocol=protocol, seed=1, events=events), stream, str(path))
                recorded = time.process_time() - started
            followed, parsed = seconds(lambda: follow(path)), seconds(lambda: parse(path))
            print(
                f"{protocol:5} followed {events / followed:7,.0f} events/s; recorded {events / recorded:7,.0f};"
                f" parsed {events / parsed:7,.0f}; {path.stat().st_size / events:,.0f} bytes an event",
                flush=True,
            )


if __name__ == "__main__":
    main()

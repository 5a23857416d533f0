"""Measures how long a user waits for a trace page: 60 steps on 5 brokers, from the file to the page.

Run: python -m benchmarks.viewer [ROUNDS]

The command `trace page` runs in a process of its own, including the start of Python, with the limit loop of
benchmarks/limit_loop.py before each round.
"""

import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.limit_loop import insert_nothing_much, limit_loop
from conformance.tests.support import trace as trace_support
from isrcheck.traces.format import files


def main() -> None:
    """Measure, and print one line per round and the medians."""
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    insert_nothing_much()
    trace = trace_support.long_walk()
    seconds, limits = [], []
    with tempfile.TemporaryDirectory() as here:
        path = files.write(trace, Path(here))
        page = Path(here) / "page.html"
        words = [sys.executable, "-m", "isrcheck.traces", "page", str(path), "-o", str(page), "--force"]
        for number in range(rounds):
            limits.append(limit_loop())
            started = time.perf_counter()
            subprocess.run(words, check=True, stdout=subprocess.DEVNULL)
            seconds.append(time.perf_counter() - started)
            print(f"round {number}: limit loop {limits[-1]:.2f} s, page {seconds[-1]:.2f} s", flush=True)
        size = page.stat().st_size
    ratio = statistics.median(one / limit for one, limit in zip(seconds, limits, strict=True))
    brokers = trace.instance.configuration.replicas
    print(
        f"limit loop {statistics.median(limits):.2f} s; page of {trace.length} steps on {brokers} brokers"
        f" {statistics.median(seconds):.2f} s, {ratio:.2f} times as long; {size:,} bytes"
    )


if __name__ == "__main__":
    main()

"""Compares a search on disk, of which a fifth fits in memory, with the same search in memory.

Run: python -m benchmarks.on_disk [ROUNDS]

Published KIP-320 with 3 replicas, log size 2, 2 records and epochs 0..3: 9,985,570 states, 2 million of them in memory.
Both searches run in turn, so that changes in the machine's speed hardly affect their ratio. docs/performance.md has the
command for 358 million states in 4 GB.
"""

import statistics
import sys
import tempfile
from pathlib import Path

from isrcheck.checker.compile.kernel import kernel_of
from isrcheck.checker.disk.engine import explore_on_disk
from isrcheck.checker.disk.request import DiskRequest
from isrcheck.checker.explicit.explore import explore
from isrcheck.checker.resources.limits import Limits
from isrcheck.models import published

STATES = 9_985_570
IN_MEMORY = 2_000_000


def main() -> None:
    """Measure, and print one line per round and the medians."""
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 3
    instance = published.MODEL.instance("kip_320", {"replicas": 3, "log_size": 2, "records": 2, "max_epoch": 3})
    kernel = kernel_of(instance, print, is_optimized=True)
    ratios = []
    for number in range(rounds):
        memory = explore(instance, Limits(), kernel=kernel, count_all=True)
        with tempfile.TemporaryDirectory() as folder:
            request = DiskRequest(Path(folder) / "states", room=IN_MEMORY)
            disk, summary = explore_on_disk(request, instance, Limits(), kernel, count_all=True)
        assert memory.distinct == disk.distinct == STATES
        assert (memory.levels, memory.generated, memory.findings) == (disk.levels, disk.generated, disk.findings)
        ratios.append(disk.seconds / memory.seconds)
        print(
            f"round {number}: in memory {memory.seconds:.2f} s, on disk {disk.seconds:.2f} s with {summary.runs} sorted"
            f" runs and at most {summary.most / STATES:.1f} bytes a state on disk",
            flush=True,
        )
    print(
        f"{STATES:,} states, {IN_MEMORY:,} in memory: on disk {statistics.median(ratios):.2f} times as long"
        f" ({min(ratios):.2f} to {max(ratios):.2f})"
    )


if __name__ == "__main__":
    main()

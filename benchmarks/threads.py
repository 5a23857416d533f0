"""Measures the gain of a second thread for the explorer, and compares the explorer with the limit loop.

Run: python -m benchmarks.threads [ROUNDS]

Published KIP-320 with 3 replicas, log size 2, 2 records and epochs 0..3: 9,985,570 states, searched on one thread and
on two in turn, with the limit loop of benchmarks/limit_loop.py before each pair, so that changes in the machine's speed
hardly affect the ratios.
"""

import statistics
import sys

from benchmarks.limit_loop import STATES, insert_nothing_much, limit_loop
from isrcheck.checker.compile.kernel import kernel_of
from isrcheck.checker.explicit.explore import explore
from isrcheck.checker.resources.limits import Limits
from isrcheck.models import published


def main() -> None:
    """Measure, and print one line per round and the medians."""
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    instance = published.MODEL.instance("kip_320", {"replicas": 3, "log_size": 2, "records": 2, "max_epoch": 3})
    kernel = kernel_of(instance, print)
    insert_nothing_much()
    memory, ones, twos, limits = 0.0, [], [], []
    for number in range(rounds):
        limits.append(limit_loop())
        one = explore(instance, Limits(), kernel=kernel)
        two = explore(instance, Limits(threads=2), kernel=kernel)
        assert one.distinct == two.distinct == STATES
        assert (one.levels, one.generated, one.findings) == (two.levels, two.generated, two.findings)
        ones.append(one.seconds)
        twos.append(two.seconds)
        memory = two.bytes_used / STATES
        print(
            f"round {number}: limit loop {limits[-1]:.2f} s, one thread {ones[-1]:.2f} s, two threads {twos[-1]:.2f} s",
            flush=True,
        )
    of_limit = [one / limit for one, limit in zip(ones, limits, strict=True)]
    gains = [one / two for one, two in zip(ones, twos, strict=True)]
    print(
        f"limit loop {statistics.median(limits):.2f} s; one thread {statistics.median(of_limit):.2f} times as long;"
        f" two threads {statistics.median(gains):.2f} times as fast as one ({min(gains):.2f} to {max(gains):.2f}),"
        f" {memory:.1f} bytes a state"
    )


if __name__ == "__main__":
    main()

"""How much faster a search is with symmetry: the same models to the end, without and with, in turns.

Prints for each model the states and the CPU seconds of both, each the least of several runs, and the ratio.

Run: python -m benchmarks.reductions [RUNS]
"""

from __future__ import annotations

import sys
import time

from isrcheck.checker.compile.kernel import kernel_of
from isrcheck.checker.explicit.explore import explore
from isrcheck.checker.reductions.find import reduction_of
from isrcheck.checker.resources.limits import Limits
from isrcheck.models import registry

CASES = (
    ("published", "kip_320", {"replicas": 3, "log_size": 2, "records": 2, "max_epoch": 2}),
    ("published", "truncate_to_high_watermark", {"replicas": 3, "log_size": 2, "records": 2, "max_epoch": 2}),
    ("kafka", "0.10", {"replicas": 3, "log_size": 2, "records": 2, "elections": 1}),
    ("kafka", "2.1", {"replicas": 3, "log_size": 2, "records": 2, "elections": 1}),
)


def main(runs: int = 3) -> None:
    """Measure every case."""
    for name, protocol, values in CASES:
        instance = registry.load(name)[0].instance(protocol, values)
        reduction, _ = reduction_of(instance, symmetry=True)
        kernels = [kernel_of(instance, is_optimized=True, reduction=one) for one in (None, reduction)]
        best = [float("inf")] * len(kernels)
        states = [0] * len(kernels)
        for _ in range(runs):
            for number, kernel in enumerate(kernels):
                began = time.process_time()
                found = explore(instance, Limits(), kernel=kernel)
                best[number] = min(best[number], time.process_time() - began)
                states[number] = found.distinct
        sizes = ", ".join(f"{key}={value}" for key, value in values.items())
        print(
            f"{name} {protocol} {sizes}: {states[0]:,} states in {best[0]:.2f} s, {states[1]:,} in {best[1]:.2f} s:"
            f" {best[0] / best[1]:.2f} times as fast",
            flush=True,
        )


if __name__ == "__main__":
    main(*map(int, sys.argv[1:2]))

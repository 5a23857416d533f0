"""How many states, and how much time, reductions save: the same models without and with, in turns.

Prints for each model of CASES, with symmetry, the states and the CPU seconds of both, each the least of several runs,
and the ratio; and for every registered model in which there are dead cells, the states without and with them.

Run: python -m benchmarks.reductions [RUNS]
"""

from __future__ import annotations

import sys
import time

from isrcheck.checker.compile.kernel import kernel_of
from isrcheck.checker.explicit.explore import explore
from isrcheck.checker.reductions.find import dead_cells, reduction_of
from isrcheck.checker.reductions.reduction import Reduction
from isrcheck.checker.resources.limits import Limits
from isrcheck.models import registry

CASES = (
    ("published", "kip_320", {"replicas": 3, "log_size": 2, "records": 2, "max_epoch": 2}),
    ("published", "truncate_to_high_watermark", {"replicas": 3, "log_size": 2, "records": 2, "max_epoch": 2}),
    ("kafka", "0.10", {"replicas": 3, "log_size": 2, "records": 2, "elections": 1}),
    ("kafka", "2.1", {"replicas": 3, "log_size": 2, "records": 2, "elections": 1}),
)

DEAD: tuple[tuple[str, dict[str, int], int | None], ...] = (
    *((name, {}, None) for name in registry.SINGLE if name != "examples/two_phase_commit"),
    ("examples/two_phase_commit", {"resource_managers": 7}, None),
    ("kafka", {"replicas": 3}, 8),
    ("transactions", {}, 24),
    ("exactly_once", {}, 12),
    ("published", {"replicas": 3, "log_size": 2, "records": 2, "max_epoch": 2}, 8),
)
"""Models in which dead cells are looked for, with all their protocols; sizes, and the depth of the search."""


def main(runs: int = 3) -> None:
    """Measure every case."""
    for name, protocol, values in CASES:
        instance = registry.load(name)[0].instance(protocol, values)
        reduction, _ = reduction_of(instance, symmetry=True, dead=False)
        kernels = [kernel_of(instance, is_optimized=True, reduction=one) for one in (None, reduction)]
        best = [float("inf")] * len(kernels)
        states = [0] * len(kernels)
        for _ in range(runs):
            for number, kernel in enumerate(kernels):
                began = time.process_time()
                exploration = explore(instance, Limits(), kernel=kernel)
                best[number] = min(best[number], time.process_time() - began)
                states[number] = exploration.distinct
        sizes = ", ".join(f"{key}={value}" for key, value in values.items())
        print(
            f"{name} {protocol} {sizes}: {states[0]:,} states in {best[0]:.2f} s, {states[1]:,} in {best[1]:.2f} s:"
            f" {best[0] / best[1]:.2f} times as fast",
            flush=True,
        )
    for name, values, depth in DEAD:
        for protocol in registry.load(name)[0].protocols:
            print_dead(name, protocol, values, depth)


def print_dead(name: str, protocol: str, values: dict[str, int], depth: int | None) -> None:
    """Search one model without and with clearing its dead cells, if it has any, and print both numbers of states."""
    instance = registry.load(name)[0].instance(protocol, values)
    reduction = Reduction(dead=dead_cells(instance))
    if reduction.dead:
        whole, cleared = (
            explore(instance, Limits(depth), kernel=kernel_of(instance, reduction=one), count_all=True).distinct
            for one in (None, reduction)
        )
        until = "" if depth is None else f" to depth {depth}"
        print(f"{name} {protocol}{until}: {whole:,} states, {cleared:,} with dead cells cleared: {whole / cleared:.3f}")
    else:
        print(f"{name} {protocol}: nothing is dead")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:2]))

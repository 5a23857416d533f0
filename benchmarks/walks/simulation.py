"""Measures how many steps a second a simulation walks, compared with walks of the plain interpreter.

Run: python -m benchmarks.walks.simulation [ROUNDS]

Kafka 0.10 in the default bounds, walks of at most 60 steps. Both kinds of walks alternate, so that changes in the
machine's speed hardly affect the ratio. A simulation judges every property in every state and on every successor; the
plain walks only look for the successors (models/run.py) and choose one.
"""

import random
import statistics
import sys
import time

from isrcheck.checker.compile.kernel import kernel_of
from isrcheck.checker.simulation.walks import SimulationRequest, simulate
from isrcheck.models import registry, run
from isrcheck.models.language.model import Instance

DEPTH, WALKS, PLAIN_WALKS = 60, 8000, 2


def plain_walks(instance: Instance, seed: int) -> float:
    """Walk in plain Python; return the steps a second."""
    chance = random.Random(seed)
    began, steps = time.monotonic(), 0
    for _ in range(PLAIN_WALKS):
        cells = chance.choice(instance.initial_states)
        for _ in range(DEPTH):
            following = [after for _, after in run.successors(instance, cells)]
            if not following:
                break
            cells = chance.choice(following)
            steps += 1
    return steps / (time.monotonic() - began)


def main() -> None:
    """Measure, and print one line per round and the median of the ratios."""
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    instance = registry.load("kafka")[0].instance("0.10")
    kernel = kernel_of(instance, print, is_optimized=True)
    ratios = []
    for number in range(rounds):
        found = simulate(instance, kernel, SimulationRequest(WALKS, DEPTH, number))
        compiled, plain = found.steps / found.seconds, plain_walks(instance, number)
        ratios.append(compiled / plain)
        print(f"round {number}: {compiled:,.0f} steps/s, plain Python {plain:,.0f} steps/s", flush=True)
    print(f"median of the ratios: {statistics.median(ratios):,.0f}")


if __name__ == "__main__":
    main()

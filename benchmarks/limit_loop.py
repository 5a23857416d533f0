"""Compares the explorer with the limit loop, which only inserts the same number of states.

Run: python -m benchmarks.limit_loop [ROUNDS]; it needs Numba, which `make benchmark` installs

The limit loop inserts 9,985,570 random states of 40 bytes, one at a time, into an open-addressing table with 16-bit
tags. Any exact search on one thread has to do this at least once per distinct state. The explorer searches published
KIP-320 with 3 replicas, log size 2, 2 records and epochs 0..3, which has as many states. Both run in turn, so that
changes in the machine's speed hardly affect their ratio. Then the reference semantics (CPython) expands states from the
middle of the search.
"""

import resource
import statistics
import sys
import time

import numpy as np
from numba import njit

from isrcheck.checker.compile.kernel import kernel_of
from isrcheck.checker.explicit.carrier import SearchContext
from isrcheck.checker.explicit.explore import Search, explore
from isrcheck.checker.resources.limits import Limits
from isrcheck.models import published, run

STATES = 9_985_570
WORDS = 5
BITS = 24
REFERENCE_STATES = 3_000


@njit(cache=True)
def insert_random_states(table, tags, store, count, seed):
    """Insert `count` random states of WORDS words; return the number of new states."""
    mask = np.uint64(len(table) - 1)
    state = np.empty(WORDS, np.uint64)
    new = 0
    for _ in range(count):
        mixed = np.uint64(0)
        for word in range(WORDS):
            seed ^= seed << np.uint64(13)
            seed ^= seed >> np.uint64(7)
            seed ^= seed << np.uint64(17)
            state[word] = seed
            mixed = (mixed ^ seed) * np.uint64(0x9E3779B97F4A7C15)
            mixed ^= mixed >> np.uint64(32)
        slot = np.int64(mixed & mask)
        tag = np.uint16(mixed >> np.uint64(48)) | np.uint16(1)
        while tags[slot] != 0:
            if tags[slot] == tag:
                at = table[slot] * WORDS
                same = True
                for word in range(WORDS):
                    if store[at + word] != state[word]:
                        same = False
                        break
                if same:
                    break
            slot = (slot + 1) & np.int64(mask)
        if tags[slot] == 0:
            for word in range(WORDS):
                store[new * WORDS + word] = state[word]
            tags[slot] = tag
            table[slot] = new
            new += 1
    return new


def insert_nothing_much() -> None:
    """Compile the loop, so that its compilation is not measured."""
    insert_random_states(np.zeros(16, np.int64), np.zeros(16, np.uint16), np.zeros(80, np.uint64), 4, np.uint64(1))


def limit_loop() -> float:
    """Run the limit loop; return its seconds."""
    table = np.zeros(1 << BITS, np.int64)
    tags = np.zeros(1 << BITS, np.uint16)
    store = np.zeros(STATES * WORDS, np.uint64)
    started = time.perf_counter()
    assert insert_random_states(table, tags, store, STATES, np.uint64(88172645463325252)) == STATES
    return time.perf_counter() - started


def states_of_depth(instance, kernel, depth):
    """Reachable states in the middle of the search, spread evenly over their level."""
    search = Search(SearchContext(instance, Limits(depth=depth), kernel))
    result = search.run()
    first = sum(result.levels[:-1])
    spread = range(first, result.distinct, max(1, result.levels[-1] // REFERENCE_STATES))
    words = kernel.layout.words
    states = search.visited.states
    return [kernel.layout.unpack([int(w) for w in states[i * words : (i + 1) * words]]) for i in spread]


def main() -> None:
    """Measure, and print one line per round and the medians."""
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    bounds = {"replicas": 3, "log_size": 2, "records": 2, "max_epoch": 3}
    instance = published.MODEL.instance("kip_320", bounds)
    kernel = kernel_of(instance, print)
    insert_nothing_much()
    explore(instance, Limits(depth=3), kernel=kernel)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    first = explore(instance, Limits(), kernel=kernel)
    resident = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024
    assert first.distinct == STATES
    limits, searches = [], []
    for number in range(rounds):
        limits.append(limit_loop())
        searches.append(explore(instance, Limits(), kernel=kernel).seconds)
        print(f"round {number}: limit loop {limits[-1]:.2f} s, explorer {searches[-1]:.2f} s", flush=True)
    ratios = [search / limit for search, limit in zip(searches, limits, strict=True)]
    print(
        f"limit loop {statistics.median(limits):.2f} s; explorer {statistics.median(searches):.2f} s;"
        f" ratio {statistics.median(ratios):.2f} (smallest {min(ratios):.2f}, largest {max(ratios):.2f})"
    )
    print(
        f"{STATES:,} states: {first.bytes_used / STATES:.1f} bytes a state kept,"
        f" {resident / STATES:.1f} bytes a state of resident memory at the peak"
    )
    sample = states_of_depth(instance, kernel, depth=12)[:REFERENCE_STATES]
    started = time.perf_counter()
    for cells in sample:
        for _ in run.successors(instance, cells):
            pass
    reference = len(sample) / (time.perf_counter() - started)
    explorer = STATES / statistics.median(searches)
    print(f"reference {reference:,.0f} states expanded/s, explorer {explorer:,.0f}: {explorer / reference:,.0f} times")


if __name__ == "__main__":
    main()

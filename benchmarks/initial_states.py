"""Compares two ways to make initial states: a generator in the modelling language, and dictionaries from plain Python.

    python -m benchmarks.initial_states [VALUES]

The model has one initial state for each of VALUES^3 combinations (default: 172, so 5,088,448 states); the dictionaries
are made for a tenth of the values of the first parameter, because they take long. Times are processor times.

Measured on 2 shared cores: 3,626,922 states a second from the generator, 257,573 from dictionaries: 14 times as many.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from isrcheck.checker.explicit.initial_states import generate_initial_states
from isrcheck.models.language.model import Instance
from isrcheck.models.registry import load_file

VALUES = 172
MEMORY = 4 << 30

MODEL = """
from isrcheck.language import Domain, Flag, action, between, bound, field, initial, require

class Configuration:
    values = bound(10, "different offsets", least=1)
    few = bound(1, "those of the first replica", least=1)

class Offset(Domain, size="values"):
    pass

class First(Domain, size="few"):
    pass

class Replica(Domain, size=3):
    pass

class State:
    log_end_offset = field(Replica, values=between(0, "values"))
    high_watermark = field(Replica, values=between(0, "values"))
    is_leader = field(Replica, values=Flag)

@action
def starts_again(s):
    require(s.high_watermark[0] > 0)
    s.high_watermark[0] = 0
"""

GENERATOR = """
@initial
def any_offsets(s, first: First, second: Offset, third: Offset):
    s.log_end_offset[0] = first
    s.log_end_offset[1] = second
    s.log_end_offset[2] = third
    s.is_leader[0] = True
    for replica in range(3):
        s.high_watermark[replica] = min(first, min(second, third))
"""

DICTIONARIES = """
@initial
def any_offsets(configuration):
    for first in range(configuration.few):
        for second in range(configuration.values):
            for third in range(configuration.values):
                yield {
                    "log_end_offset": [first, second, third],
                    "high_watermark": [min(first, second, third)] * 3,
                    "is_leader": [True, False, False],
                }
"""


def rate(start: str, values: int, few: int, enumerate_them: Callable[[Instance], object]) -> tuple[int, float]:
    """The number of initial states, and how many are made in a second of processor time."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "offsets.py"
        path.write_text(MODEL + start, encoding="utf-8")
        instance = load_file(path).instance(None, {"values": values, "few": few})
        assert instance.layouts
        began = time.process_time()
        enumerate_them(instance)
        return len(instance.initial_states), len(instance.initial_states) / (time.process_time() - began)


def main() -> None:
    """Print the number of states and their rates."""
    values = int(sys.argv[1]) if len(sys.argv) > 1 else VALUES

    def compiled(instance: Instance) -> None:
        generate_initial_states(instance, MEMORY, lambda count, size: None)

    rate(GENERATOR, values, 1, compiled)  # compile the functions, which a cache keeps
    count, fast = rate(GENERATOR, values, values, compiled)
    few, slow = rate(DICTIONARIES, values, max(1, values // 10), lambda instance: instance.initial_states)
    print(f"generator:    {count:>10,} states, {fast:>12,.0f} a second")
    print(f"dictionaries: {few:>10,} states, {slow:>12,.0f} a second")
    print(f"ratio: {fast / slow:.0f}")


if __name__ == "__main__":
    main()

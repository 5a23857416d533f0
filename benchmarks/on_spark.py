"""Measures the cost of Spark on one machine: runs searches on local[2] and in one process with two threads, in turn.

Run: python -m benchmarks.on_spark [parts|search] [ROUNDS]

`parts`: Kafka 2.1 from any of its 87 initial states, to depth 14: 5,550,099 states. States per second count a state
once for each part that found it; the time includes joining the parts, but not the start of Spark.
`search`: published KIP-320 with 3 replicas, log size 2, 2 records and epochs 0..3: 9,985,570 states in 32 levels. The
time of an almost empty level is measured with a model of few states, and subtracted.
"""

import statistics
import sys

from benchmarks.limit_loop import insert_nothing_much, limit_loop
from isrcheck.checker.compile.kernel import kernel_of
from isrcheck.checker.explicit.explore import explore
from isrcheck.checker.resources.limits import Limits
from isrcheck.checker.spark.engine import explore_on_spark
from isrcheck.checker.spark.request import Mode, SparkOptions, SparkRequest
from isrcheck.checker.spark.session import Session, spark_session
from isrcheck.models import published, registry
from isrcheck.models.language.model import Instance

OPTIONS = SparkOptions(master="local[2]", driver_memory=4 << 30)
MEMORY = 8 << 30


def on_spark(session: Session, mode: Mode, instance: Instance, limits: Limits):
    """The exploration on Spark, and the summary of its distribution."""
    request = SparkRequest(mode, None, OPTIONS, None)
    kernel = kernel_of(instance)
    return explore_on_spark(session, request, instance, limits, kernel, count_all=True, report=lambda progress: None)


def seconds_of_empty_level(session: Session) -> float:
    """The seconds that a level with a handful of states takes."""
    few = registry.load("examples/two_phase_commit")[0].instance(None, {"resource_managers": 3})
    exploration, _ = on_spark(session, Mode.SEARCH, few, Limits(memory=MEMORY))
    return exploration.seconds / len(exploration.levels)


def parts(session: Session, rounds: int) -> None:
    """Compare parts by initial state on Spark with one process."""
    instance = registry.load("kafka")[0].instance("2.1", {"start": 1})
    limits = Limits(14, MEMORY)
    kernel = kernel_of(instance)
    ratios = []
    for number in range(rounds):
        limit = limit_loop()
        here = explore(instance, Limits(14, MEMORY, threads=2), count_all=True, kernel=kernel)
        exploration, spread = on_spark(session, Mode.PARTS, instance, limits)
        assert exploration.levels == here.levels
        assert spread.overlap is not None
        rate = spread.overlap.found / exploration.seconds
        ratios.append(rate / (here.distinct / here.seconds))
        print(
            f"round {number}: limit loop {limit:.2f} s; two threads {here.seconds:.2f} s, {here.distinct:,} states;"
            f" {spread.parts} parts {exploration.seconds:.2f} s, {spread.overlap.found:,} states with overlap,"
            f" {spread.overlap.by_several / here.distinct:.0%} of the states found more than once",
            flush=True,
        )
    print(f"states a second, overlap counted: {statistics.median(ratios):.2f} times that of two threads")


def search(session: Session, rounds: int) -> None:
    """Compare one search on Spark with one process."""
    instance = published.MODEL.instance("kip_320", {"replicas": 3, "log_size": 2, "records": 2, "max_epoch": 3})
    kernel = kernel_of(instance)
    ratios = []
    for number in range(rounds):
        limit = limit_loop()
        empty = seconds_of_empty_level(session)
        here = explore(instance, Limits(memory=MEMORY, threads=2), count_all=True, kernel=kernel)
        exploration, spread = on_spark(session, Mode.SEARCH, instance, Limits(memory=MEMORY))
        assert (exploration.levels, exploration.generated) == (here.levels, here.generated)
        assert exploration.findings == here.findings
        rest = exploration.seconds - empty * len(exploration.levels)
        ratios.append(rest / here.seconds)
        print(
            f"round {number}: limit loop {limit:.2f} s; two threads {here.seconds:.2f} s;"
            f" one search {exploration.seconds:.2f} s, {len(exploration.levels)} levels of {empty:.2f} s when empty,"
            f" rest {rest:.2f} s;"
            f" {spread.shuffled / exploration.distinct:.0f} bytes shuffled a state",
            flush=True,
        )
    print(f"without the time of empty levels: {statistics.median(ratios):.2f} times as long as two threads")


def main() -> None:
    """Measure the chosen mode, or both."""
    rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 3
    chosen = sys.argv[1:2] or ["parts", "search"]
    insert_nothing_much()
    with spark_session(OPTIONS, print) as session:
        print(f"Spark started in {session.start_seconds:.1f} s")
        # Executors import and compile once.
        seconds_of_empty_level(session)
        for name in chosen:
            {"parts": parts, "search": search}[name](session, rounds)


if __name__ == "__main__":
    main()

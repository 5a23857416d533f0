"""The explorer on Spark: one question, divided as it was asked for.

In:  a running session, what was asked of Spark, an instance, limits. Out: an `Exploration` and its `Spread`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from checker.explore import Exploration, Limits, Progress, Search
from checker.kernel import Kernel
from checker.spark.everywhere import require_same
from checker.spark.parts import explore_parts
from checker.spark.search import SpreadSearch
from checker.spark.session import Session
from checker.spark_options import SparkAsked
from checker.spread import Mode, Spread
from models.language.model import Instance


def explore_on_spark(
    session: Session,
    asked: SparkAsked,
    instance: Instance,
    limits: Limits,
    kernel: Kernel,
    *,
    count_all: bool,
    report: Callable[[Progress], None],
) -> tuple[Exploration, Spread]:
    """Search an instance within limits; the time that Spark needed to start does not count.

    Raises LeavesDeclaration, UsageError; where Spark loses something, what was found so far is given.
    """
    require_same(session)
    if asked.mode is Mode.PARTS:

        def prepared(some: Limits) -> Search:
            search = Search(instance, some, kernel)
            search.count_all = count_all
            return search

        exploration, spread = explore_parts(session, prepared, limits, asked.split_depth, report)
    else:
        search = SpreadSearch(instance, limits, kernel, report, session, asked.checkpoint)
        search.count_all = count_all
        exploration = search.run()
        spread = search.spread()
    return exploration, replace(spread, start_seconds=session.start_seconds)

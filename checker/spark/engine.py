"""Runs a search on Spark in the requested mode: by parts, or as one search by all executors.

In:  a running session, the request, an instance, limits.
Out: an `Exploration` and its `SparkSummary`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from isrcheck.checker.compile.kernel import Kernel
from isrcheck.checker.explicit.carrier import SearchContext, SearchRequest
from isrcheck.checker.explicit.explore import concluded
from isrcheck.checker.explicit.search import Search
from isrcheck.checker.resources.limits import Limits
from isrcheck.checker.results.exploration import Exploration, Progress
from isrcheck.checker.spark.carrier import SparkCarrier
from isrcheck.checker.spark.parts import explore_parts
from isrcheck.checker.spark.request import Mode, SparkRequest
from isrcheck.checker.spark.runtime.environment_check import require_same
from isrcheck.checker.spark.runtime.session import Session
from isrcheck.checker.spark.summary import SparkSummary
from isrcheck.models.language.model import Instance


def explore_on_spark(
    session: Session,
    asked: SparkRequest,
    instance: Instance,
    limits: Limits,
    kernel: Kernel,
    *,
    count_all: bool,
    report: Callable[[Progress], None],
) -> tuple[Exploration, SparkSummary]:
    """Search an instance within limits, which do not include the time to start Spark.

    Raises UsageError. If Spark fails during the search, the result holds what was found until then.
    """
    require_same(session)
    spread: SparkSummary

    def search_with(kernel: Kernel, limits: Limits) -> Exploration:
        nonlocal spread
        exploration, spread = _explore(session, asked, instance, limits, kernel, count_all, report)
        return exploration

    exploration = concluded(search_with(kernel, limits), kernel, search_with)
    return exploration, replace(spread, start_seconds=session.start_seconds)


def _explore(
    session: Session,
    asked: SparkRequest,
    instance: Instance,
    limits: Limits,
    kernel: Kernel,
    count_all: bool,
    report: Callable[[Progress], None],
) -> tuple[Exploration, SparkSummary]:
    request = SearchRequest(count_all=count_all)
    if asked.mode is Mode.PARTS:

        def prepared(some: Limits, enough: int | None) -> SearchContext:
            return SearchContext(instance, some, kernel, replace(request, enough=enough))

        exploration, spread = explore_parts(session, prepared, limits, asked.split_depth, report)
    else:
        context = SearchContext(instance, limits, kernel, request, report)
        carrier = SparkCarrier(context, session, asked.checkpoint)
        exploration = Search(context, carrier).run()
        spread = carrier.spread()
    return exploration, spread

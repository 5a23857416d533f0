"""Search by parts: the initial states are divided into parts, and each part is searched on its own.

If there are few initial states, the states at some depth are divided instead. Every shortest path to a deeper state
goes through one of the divided states, so verdicts, depths and the least counterexample are those of a single search.
In the end the visited states of all parts are merged, shard by shard, to count the distinct states.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise, zip_longest

import numpy as np
from numpy.typing import NDArray

from isrcheck.checker.compile.instance_specification import InstanceSpecification
from isrcheck.checker.explicit.carrier import Carrier, SearchContext, SearchRequest, Starts
from isrcheck.checker.explicit.explore import Search
from isrcheck.checker.explicit.visited_set import Full, VisitedSet
from isrcheck.checker.resources.limits import Limits
from isrcheck.checker.results.exploration import (
    Exploration,
    Finding,
    Findings,
    PlainData,
    Progress,
    StepPath,
    exploration_of,
    plain_data_of,
)
from isrcheck.checker.spark.faults import SparkLostError
from isrcheck.checker.spark.request import Mode
from isrcheck.checker.spark.session import Session
from isrcheck.checker.spark.shuffle import ShardIntake, ShuffleWriter, partitioned, unpack
from isrcheck.checker.spark.summary import Overlap, SparkSummary
from isrcheck.checker.spark.tasks import TaskStatistics, run_job, task_memory, task_statistics, values_of
from isrcheck.models.language.model import DEADLOCK, IN_RANGE

Prepared = Callable[[Limits, int | None], SearchContext]
"""A function that makes a search context from limits, and from a number of states: a level of that size ends the search
(None: none does)."""

ENOUGH_STARTS = 64
"""With fewer initial states than this, the states at some depth are divided instead."""

MOST_PARTS = 64
"""The greatest number of parts: the set of parts that found a state is stored in 64 bits."""

PARTS_A_CORE = 2
WORST_FIRST = ("interrupt", "lost", "memory", "seconds", "decided")
"""The reasons why a search ended early, the worst first; a merged result gets the worst reason of its parts."""

DEPTH = "depth"
FAR = np.iinfo(np.uint32).max
BEFORE = -1
"""The `origin` of Arrow batches with the states that were found before the parts started."""


@dataclass(frozen=True)
class PartTask:
    """The input that the searches of all parts share. A part's number and start states are passed separately."""

    subject: InstanceSpecification
    first_depth: int
    """The depth of the states to start from."""
    depth: int | None
    memory: int
    deadline: float | None
    """When the searches must end, by time.time, because executors share no other clock; None: no limit."""
    watched: tuple[str, ...]
    """The names of the properties to judge."""
    deadlock: bool
    count_all: bool
    shards: int


@dataclass(frozen=True)
class ShardCount:
    """How many distinct states a shard has: in `levels` by depth, in `states_by_parts` by the set of parts that found
    them (an integer, whose bit i stands for part i). `is_full`: the shard's memory was not sufficient."""

    levels: tuple[int, ...]
    states_by_parts: dict[int, int]
    is_full: bool = False


# ------------------------------------------------------------------------------------------------------ on executors


def search_part(
    question: PartTask, statistics: TaskStatistics, number: int, starts: Starts
) -> Iterator[tuple[int, bytes]]:
    """Search part `number` from its start states, report the result to the driver, and yield the visited states with
    their depths, as Arrow batches by shard."""
    seconds = None if question.deadline is None else max(0.0, question.deadline - time.time())
    depth = None if question.depth is None else question.depth - question.first_depth
    limits = Limits(depth, question.memory, seconds)
    kernel = question.subject.kernel()
    instance = question.subject.instance()
    request = SearchRequest(
        watched=tuple(prop for prop in instance.properties if prop.name in question.watched),
        deadlock=question.deadlock,
        count_all=question.count_all,
        starts=starts,
        starts_are_judged=True,
    )
    search = Search(SearchContext(instance, limits, kernel, request))
    result = search.run()
    statistics.add({number: plain_data_of(result)})
    yield from _states_by_shard(search, question.first_depth, question.shards, number)


def _states_by_shard(search: Search, first_depth: int, shards: int, number: int) -> Iterator[tuple[int, bytes]]:
    """Yield the visited states of the search of part `number`, with their depths, as Arrow batches by shard."""
    words, visited, levels = search.context.kernel.layout.words, search.visited, search.result.levels
    depths = np.repeat(np.arange(first_depth, first_depth + len(levels), dtype=np.uint32), levels)
    outbox = ShuffleWriter(words, shards, origin=number)
    yield from outbox.send_all(visited.states[: visited.count * words], {DEPTH: depths})
    yield from outbox.rest()


def count_shard(words: int, memory: int, arrived: Iterable[tuple[int, bytes]]) -> Iterator[ShardCount]:
    """Yield one `ShardCount`: how many distinct states are in the Arrow batches that have arrived at a shard."""
    visited = VisitedSet(words, 1, memory)
    arrivals = ShardIntake(visited)
    parts: NDArray[np.uint64] = np.zeros(0, np.uint64)
    depths: NDArray[np.uint32] = np.zeros(0, np.uint32)
    for _, packed in arrived:
        blob = unpack(packed)
        before = visited.count
        try:
            arrivals.take(blob)
        except Full:
            yield ShardCount((), {}, is_full=True)
            return
        if visited.count > len(parts):
            parts = np.concatenate([parts[:before], np.zeros(2 * visited.count - before, np.uint64)])
            depths = np.concatenate([depths[:before], np.full(2 * visited.count - before, FAR, np.uint32)])
        # A blob contains no state twice, so each position is written once.
        places = visited.places_of(blob.states)
        depths[places] = np.minimum(depths[places], blob.columns[DEPTH])
        if blob.about["origin"] != BEFORE:
            parts[places] |= np.uint64(1 << blob.about["origin"])
    sets, counts = np.unique(parts[: visited.count], return_counts=True)
    levels = np.bincount(depths[: visited.count])
    yield ShardCount(tuple(levels.tolist()), dict(zip(sets.tolist(), counts.tolist(), strict=True)))


# -------------------------------------------------------------------------------------------------------- on the driver


@dataclass(frozen=True)
class SplitSearch:
    """The search before the parts, the states that are divided among the parts, and the paths to these states."""

    search: Search
    starts: Starts
    paths: Sequence[StepPath]

    @property
    def depth(self) -> int:
        """The depth of the states to be divided."""
        return self.search.result.depth

    @property
    def is_all(self) -> bool:
        """Whether the parts have nothing to do: this search was stopped, is complete, or reached its depth limit."""
        result = self.search.result
        return result.stopped is not None or not result.frontier or result.depth == result.limits.depth


def begin(prepared: Prepared, limits: Limits, split_depth: int | None) -> SplitSearch:
    """Search up to the states that are divided among the parts: the states at `split_depth` or, if `split_depth` is
    None, at the first depth with enough states."""
    depths = [depth for depth in (limits.depth, split_depth) if depth is not None]
    enough = ENOUGH_STARTS if split_depth is None else None
    search = Search(prepared(replace(limits, depth=min(depths, default=None)), enough))
    result = search.run()
    result.limits = limits
    last = result.levels[-1]
    layout, numbers = search.context.kernel.layout, range(result.distinct - last, result.distinct)
    states = np.array(list(search.visited.states_at(numbers)), np.uint64).reshape(-1, layout.words)
    starts = Starts(range(last), layout.unpack_rows(states))
    return SplitSearch(search, starts, [search.path(number) for number in numbers])


def explore_parts(
    session: Session, prepared: Prepared, limits: Limits, split_depth: int | None, report: Callable[[Progress], None]
) -> tuple[Exploration, SparkSummary]:
    """Search by parts, and return the merged result and a summary. Raises UsageError if Spark's set-up is wrong."""
    began, clock = time.monotonic(), time.time()
    beginning = begin(prepared, limits, split_depth)
    search, starts, result = beginning.search, beginning.starts, beginning.search.result
    began_with, spark = search.context, session.context
    cores = spark.defaultParallelism
    spread = SparkSummary(Mode.PARTS, session.master, cores, 0, len(starts), beginning.depth)
    if beginning.is_all:
        return result, spread
    count = min(MOST_PARTS, PARTS_A_CORE * cores, len(starts))
    question = PartTask(
        InstanceSpecification.of(began_with.instance, began_with.kernel.reduction),
        beginning.depth,
        limits.depth,
        task_memory(session, limits.memory),
        None if limits.seconds is None else clock + limits.seconds,
        tuple(prop.name for number, prop in began_with.properties if began_with.active[number]),
        bool(began_with.active[-1]),
        began_with.request.count_all,
        cores,
    )
    statistics = task_statistics(spark)
    bounds = pairwise(len(starts) * number // count for number in range(count + 1))
    parts = [(number, starts[first:last]) for number, (first, last) in enumerate(bounds)]
    before = list(_states_by_shard(search, 0, cores, BEFORE))

    def look() -> None:
        answers = list(values_of(statistics).values())
        depth = beginning.depth + max((answer["depth"] for answer in answers), default=0)
        distinct = result.distinct + sum(sum(answer["levels"]) for answer in answers)
        generated = result.generated + sum(answer["generated"] for answer in answers)
        used = sum(answer["bytes_used"] for answer in answers)
        report(Progress(time.monotonic() - began, depth, distinct, generated, count - len(answers), used))

    def count_states() -> list[ShardCount]:
        words, memory = began_with.kernel.layout.words, question.memory
        searched = spark.parallelize(parts, count).flatMap(lambda part: search_part(question, statistics, *part))
        routed = partitioned(spark.union([searched, spark.parallelize(before, 1)]), cores)
        return routed.mapPartitions(lambda arrived: count_shard(words, memory, arrived)).collect()

    counted: Sequence[ShardCount] = ()
    stopped, lost = None, ""
    try:
        counted = run_job(session, count_states, look)
    except KeyboardInterrupt:
        stopped = "interrupt"
    except SparkLostError as error:
        stopped, lost = "lost", str(error)
    answers = values_of(statistics)
    merged = Merge(beginning, began_with.request.count_all).merged(answers, stopped if len(answers) < count else None)
    merged.seconds = time.monotonic() - began
    ended = sum(answer["stopped"] in (None, "decided") for answer in answers.values())
    spread = replace(spread, parts=count, ended=ended, lost=lost)
    if counted and not any(shard.is_full for shard in counted):
        merged.levels = _sum([shard.levels for shard in counted])
        if merged.stopped is None:
            # A part may have reached a state on a longer path than another part.
            merged.depth = len(merged.levels) - 1
            merged.judged = min(merged.judged, merged.depth)
            # States at the bound were not expanded; all others were, by the part that found them first.
            merged.frontier = merged.levels[limits.depth] if len(merged.levels) - 1 == limits.depth else 0
        states_by_parts: Counter[int] = sum((Counter(shard.states_by_parts) for shard in counted), Counter())
        spread = replace(spread, overlap=Overlap(count, dict(sorted(states_by_parts.items()))))
    return merged, spread


def _sum(columns: Sequence[Sequence[int]]) -> list[int]:
    return list(map(sum, zip_longest(*columns, fillvalue=0)))


@dataclass(frozen=True)
class Merge:
    """Merges the result of the search before the parts with the results of the parts."""

    beginning: SplitSearch
    count_all: bool

    def merged(self, answers: Mapping[int, PlainData], stopped: str | None) -> Exploration:
        """Return the merged result, in which counts are sums. `answers` has the results of the parts; `stopped` is the
        reason why some parts have no result, or None if every part has a result."""
        result, instance = self.beginning.search.result, self.beginning.search.context.instance
        parts = [exploration_of(answer, instance, result.limits) for _, answer in sorted(answers.items())]
        first = self.beginning.depth
        reasons = [stopped, *(part.stopped for part in parts)]
        depth = first + max((part.depth for part in parts), default=0)
        # An exhausted part has judged every depth; a part without a result, only its starts.
        judged = [part.judged for part in parts if not part.exhausted] + [0] * (stopped is not None)
        return replace(
            result,
            levels=_sum([result.levels, *([0] * (first + 1) + part.levels[1:] for part in parts)]),
            generated=result.generated + sum(part.generated for part in parts),
            frontier=sum(part.frontier for part in parts),
            depth=depth,
            judged=first + min(judged) if judged else depth,
            stopped=next((reason for reason in WORST_FIRST if reason in reasons), None),
            bytes_used=result.bytes_used + sum(part.bytes_used for part in parts),
            fired=_sum([result.fired, *(part.fired for part in parts)]),
            new=_sum([result.new, *(part.new for part in parts)]),
            outside=result.outside + sum(part.outside for part in parts),
            findings=self._all_findings(parts),
        )

    def _all_findings(self, parts: Sequence[Exploration]) -> dict[str, Findings]:
        before = self.beginning.search.result.findings
        implicit = (IN_RANGE.name, DEADLOCK.name)
        declared = {name: self._findings(name, parts) for name in before if name not in implicit}
        ends = self._ends(declared, self._findings(DEADLOCK.name, parts))
        errors = self._errors(declared, ends, self._findings(IN_RANGE.name, parts))
        undeclared = {DEADLOCK.name: ends, IN_RANGE.name: errors}
        return declared | {name: findings for name, findings in undeclared.items() if findings is not None}

    def _findings(self, name: str, parts: Sequence[Exploration]) -> Findings:
        before = self.beginning.search.result.findings.get(name, Findings())
        of_parts = [part.findings[name] for part in parts if name in part.findings]
        found = self._finding(before.found, [findings.found for findings in of_parts])
        permitted = self._finding(before.permitted, [findings.permitted for findings in of_parts])
        erred = self._finding(before.erred, [findings.erred for findings in of_parts])
        if not self.count_all and found.path:
            # A single search would have stopped earlier; the part did not know of the other's result.
            permitted, erred = _until(permitted, found.path.depth), _until(erred, found.path.depth)
        if not before.unjudged:
            return Findings(found, permitted, erred)
        # No part has the states before the parts, which may also be stuck, or the steps between the parts.
        prop = next(prop for prop in self.beginning.search.context.instance.properties if prop.name == name)
        return Findings(found, permitted, erred, Carrier.without_stores.format(prop.kind.value))

    def _end(self, declared: Mapping[str, Findings]) -> float:
        """Return the depth at which a single search would end because all properties in `declared` are decided;
        infinity if a property is undecided, or if `count_all` is true."""
        paths = [findings.found.path for findings in declared.values()]
        if self.count_all or not paths:
            return float("inf")
        return max(float("inf") if path is None else path.depth for path in paths)

    def _ends(self, declared: Mapping[str, Findings], ends: Findings) -> Findings | None:
        """Return the findings about `deadlock` that a single search would report, or None without any. `declared`
        has the merged findings about the model's properties, and `ends` those about `deadlock`. A single search does
        not expand the states at the depth at which the last of the model's properties is decided."""
        last = self._end(declared) - 1  # the states at the end would not be expanded
        ends = Findings(_until(ends.found, last), erred=_until(ends.erred, last))
        return ends if ends.found.path is not None or ends.erred.path is not None else None

    def _errors(self, declared: Mapping[str, Findings], ends: Findings | None, errors: Findings) -> Findings | None:
        """Return the findings about `in_range` that a single search would report; None if it would report none. The
        arguments are the merged findings about the model's properties, `deadlock` and `in_range`, in this order."""
        steps = _until(errors.erred, self._end(declared))
        others = [*declared.values(), *([] if ends is None else [ends])]
        erred = [finding for finding in (steps, *(findings.erred for findings in others)) if finding.path is not None]
        if not erred:
            return None
        least = _first(erred)
        assert least is not None
        if not self.count_all:
            erred = [finding for finding in erred if finding.path is not None and finding.path.depth == least.depth]
        return Findings(Finding(sum(finding.count for finding in erred), least), erred=steps)

    def _finding(self, before: Finding, of_parts: Sequence[Finding]) -> Finding:
        whole = [replace(finding, path=self._whole(finding.path)) for finding in of_parts if finding.path is not None]
        return Finding(before.count + sum(finding.count for finding in of_parts), _first([before, *whole]))

    def _whole(self, witness: StepPath) -> StepPath:
        """Return a path of a part, extended backwards so that it begins in an initial state of the instance."""
        path = self.beginning.paths[witness.initial]
        return StepPath(path.initial, path.steps + witness.steps)


def _first(findings: Iterable[Finding]) -> StepPath | None:
    """Return the findings' path that is first in the order of StepPath; None if no finding has a path."""
    paths = (finding.path for finding in findings if finding.path is not None)
    return min(paths, key=lambda path: path.order, default=None)


def _until(finding: Finding, depth: float) -> Finding:
    """Return an empty finding if the finding's path has more than `depth` steps, otherwise the finding."""
    return finding if finding.path is None or finding.path.depth <= depth else Finding()

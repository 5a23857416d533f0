"""Search by parts: the initial states are divided into parts, and each part is searched on its own.

If there are few initial states, the states at some depth are divided instead. Every longer shortest path goes through
one of these states, so verdicts, depths and the least counterexample are those of a single search. Finally the visited
states of all parts are merged, shard by shard, to count the distinct ones.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest

import numpy as np
from numpy.typing import NDArray

from isrcheck.checker.compile.instance_specification import InstanceSpecification
from isrcheck.checker.explicit.carrier import Carrier, SearchContext, SearchRequest, Start, Starts
from isrcheck.checker.explicit.explore import Search
from isrcheck.checker.explicit.visited_set import Full, VisitedSet
from isrcheck.checker.resources.limits import Limits
from isrcheck.checker.results.exploration import Exploration, Finding, Findings, Progress, StepPath, exploration_of
from isrcheck.checker.results.exploration import PlainData as Record
from isrcheck.checker.results.exploration import plain_data_of as unjudged_record_of
from isrcheck.checker.spark.faults import SparkLostError
from isrcheck.checker.spark.request import Mode
from isrcheck.checker.spark.session import Session
from isrcheck.checker.spark.shuffle import ShardIntake, ShuffleWriter, partitioned, unpack
from isrcheck.checker.spark.summary import Overlap, SparkSummary
from isrcheck.checker.spark.tasks import TaskStatistics, run_job, task_memory, task_statistics, values_of
from isrcheck.models.language.model import DEADLOCK, IN_RANGE

Prepared = Callable[[Limits, int | None], SearchContext]
"""Makes a search context from limits, and from a number of states: a level of that size ends the search."""

ENOUGH_STARTS = 64
"""With fewer initial states than this, the states at some depth are divided instead."""

MOST_PARTS = 64
"""The greatest number of parts: the set of parts that found a state is stored in 64 bits."""

PARTS_A_CORE = 2
WORST_FIRST = ("interrupt", "lost", "memory", "seconds", "decided")
"""Why a search ended early, worst reason first; a merged result gets the worst reason of its parts."""

DEPTH = "depth"
FAR = np.iinfo(np.uint32).max
BEFORE = -1
"""The `origin` of Arrow batches with the states that were found before the parts started."""


@dataclass(frozen=True)
class PartTask:
    """The input of the search of each part; `deadline` is a time of day, because executors share no other clock."""

    subject: InstanceSpecification
    first_depth: int
    depth: int | None
    memory: int
    deadline: float | None
    watched: tuple[str, ...]
    deadlock: bool
    count_all: bool
    shards: int


@dataclass(frozen=True)
class ShardCount:
    """How many distinct states a shard has, by depth, and by the set of parts that found them (as bits)."""

    levels: tuple[int, ...]
    states_by_parts: dict[int, int]
    is_full: bool = False


# ------------------------------------------------------------------------------------------------------ on executors


def search_part(
    question: PartTask, statistics: TaskStatistics, number: int, starts: Sequence[Start]
) -> Iterator[tuple[int, bytes]]:
    """Search a part from its start states; report the result to the driver; yield the states by shard, with depths."""
    seconds = None if question.deadline is None else max(0.0, question.deadline - time.time())
    depth = None if question.depth is None else question.depth - question.first_depth
    limits = Limits(depth, question.memory, seconds)
    kernel = question.subject.kernel()
    instance = question.subject.instance()
    request = SearchRequest(
        watched=tuple(prop for prop in instance.properties if prop.name in question.watched),
        deadlock=question.deadlock,
        count_all=question.count_all,
        starts=Starts.of(starts, instance.cells),
        starts_are_judged=True,
    )
    search = Search(SearchContext(instance, limits, kernel, request))
    result = search.run()
    statistics.add({number: unjudged_record_of(result)})
    yield from _seen(search, question.first_depth, question.shards, number)


def _seen(search: Search, first_depth: int, shards: int, number: int) -> Iterator[tuple[int, bytes]]:
    words, visited, levels = search.context.kernel.layout.words, search.visited, search.result.levels
    depths = np.repeat(np.arange(first_depth, first_depth + len(levels), dtype=np.uint32), levels)
    outbox = ShuffleWriter(words, shards, origin=number)
    yield from outbox.send_all(visited.states[: visited.count * words], {DEPTH: depths})
    yield from outbox.rest()


def count_shard(words: int, memory: int, arrived: Iterable[tuple[int, bytes]]) -> Iterator[ShardCount]:
    """Count the distinct states of a shard, by depth and by the set of parts that found them."""
    visited = VisitedSet(words, 1, memory)
    arrivals = ShardIntake(visited)
    parts: NDArray[np.uint64] = np.zeros(0, np.uint64)
    depths: NDArray[np.uint32] = np.zeros(0, np.uint32)
    for _, packed in arrived:
        blob = unpack(packed)
        known = visited.count
        try:
            arrivals.take(blob)
        except Full:
            yield ShardCount((), {}, is_full=True)
            return
        if visited.count > len(parts):
            parts = np.concatenate([parts[:known], np.zeros(2 * visited.count - known, np.uint64)])
            depths = np.concatenate([depths[:known], np.full(2 * visited.count - known, FAR, np.uint32)])
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
    """The search before the parts start, the states to be divided among the parts, and the paths to these states."""

    search: Search
    starts: Sequence[Start]
    paths: Sequence[StepPath]

    @property
    def depth(self) -> int:
        """The depth of the states to be divided."""
        return self.search.result.depth

    @property
    def is_all(self) -> bool:
        """Whether the search is complete without any part."""
        result = self.search.result
        return result.stopped is not None or not result.frontier or result.depth == result.limits.depth


def begin(prepared: Prepared, limits: Limits, split_depth: int | None) -> SplitSearch:
    """Search for the states to be divided: those at the split depth (None: the first depth with enough states)."""
    depths = [depth for depth in (limits.depth, split_depth) if depth is not None]
    enough = ENOUGH_STARTS if split_depth is None else None
    search = Search(prepared(replace(limits, depth=min(depths, default=None)), enough))
    result = search.run()
    result.limits = limits
    last = result.levels[-1]
    layout, numbers = search.context.kernel.layout, range(result.distinct - last, result.distinct)
    starts = [
        Start(number, layout.unpack([int(word) for word in words]))
        for number, words in enumerate(search.visited.states_at(numbers))
    ]
    return SplitSearch(search, starts, [search.path(number) for number in numbers])


def explore_parts(
    session: Session, prepared: Prepared, limits: Limits, split_depth: int | None, report: Callable[[Progress], None]
) -> tuple[Exploration, SparkSummary]:
    """Search by parts; return the merged result, and how the search was divided. Raises UsageError."""
    began, clock = time.monotonic(), time.time()
    beginning = begin(prepared, limits, split_depth)
    search, result = beginning.search, beginning.search.result
    began_with, spark = search.context, session.context
    cores = spark.defaultParallelism
    spread = SparkSummary(Mode.PARTS, session.master, cores, 0, len(beginning.starts), beginning.depth)
    if beginning.is_all:
        return result, spread
    count = min(MOST_PARTS, PARTS_A_CORE * cores, len(beginning.starts))
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
    parts = [
        (
            number,
            beginning.starts[len(beginning.starts) * number // count : len(beginning.starts) * (number + 1) // count],
        )
        for number in range(count)
    ]
    before = list(_seen(search, 0, cores, BEFORE))

    def look() -> None:
        answers = list(values_of(statistics).values())
        report(
            Progress(
                time.monotonic() - began,
                beginning.depth + max((answer.get("depth", 0) for answer in answers), default=0),
                result.distinct + sum(sum(answer.get("levels", ())) for answer in answers),
                result.generated + sum(answer.get("generated", 0) for answer in answers),
                count - len(answers),
                sum(answer.get("bytes_used", 0) for answer in answers),
            )
        )

    def count_states() -> list[ShardCount]:
        words, memory = began_with.kernel.layout.words, question.memory
        searched = spark.parallelize(parts, count).flatMap(lambda part: search_part(question, statistics, *part))
        seen = spark.union([searched, spark.parallelize(before, 1)])
        routed = partitioned(seen, cores)
        counted: list[ShardCount] = routed.mapPartitions(lambda arrived: count_shard(words, memory, arrived)).collect()
        return counted

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
        spread = replace(spread, overlap=_overlap(count, counted))
    return merged, spread


def _sum(columns: Sequence[Sequence[int]]) -> list[int]:
    return [sum(one) for one in zip_longest(*columns, fillvalue=0)]


def _overlap(parts: int, counted: Sequence[ShardCount]) -> Overlap:
    together: Counter[int] = Counter()
    for shard in counted:
        together.update(shard.states_by_parts)
    return Overlap(parts, dict(sorted(together.items())))


class Merge:
    """Merges the result of the search before the parts with the results of the parts."""

    def __init__(self, beginning: SplitSearch, count_all: bool) -> None:
        self.beginning = beginning
        self.count_all = count_all

    def merged(self, answers: Mapping[int, Record], stopped: str | None) -> Exploration:
        """The merged exploration; counts are sums. `stopped` says why parts without a result ended, if any did."""
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
            stopped=next((one for one in WORST_FIRST if one in reasons), None),
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
        broken = self._errors(declared, ends, self._findings(IN_RANGE.name, parts))
        found = {DEADLOCK.name: ends, IN_RANGE.name: broken}
        return declared | {name: one for name, one in found.items() if one is not None}

    def _findings(self, name: str, parts: Sequence[Exploration]) -> Findings:
        before = self.beginning.search.result.findings.get(name, Findings())
        parts_found = [part.findings[name] for part in parts if name in part.findings]
        found = self._finding(before.found, [one.found for one in parts_found])
        permitted = self._finding(before.permitted, [one.permitted for one in parts_found])
        erred = self._finding(before.erred, [one.erred for one in parts_found])
        if not self.count_all and found.path:
            # A single search would have stopped earlier; the part did not know of the other's result.
            permitted, erred = _until(permitted, found.path.depth), _until(erred, found.path.depth)
        if not before.unjudged:
            return Findings(found, permitted, erred)
        # No part has the states before the parts, which may also be stuck, or the steps between the parts.
        prop = next(prop for prop in self.beginning.search.context.instance.properties if prop.name == name)
        return Findings(found, permitted, erred, Carrier.without_stores.format(prop.kind.value))

    def _end(self, declared: Mapping[str, Findings]) -> int | None:
        """The depth at which every property is decided, so that a single search would end; None if there is none."""
        decided = [one.found.path.depth for one in declared.values() if one.found.path]
        return max(decided) if not self.count_all and declared and len(decided) == len(declared) else None

    def _ends(self, declared: Mapping[str, Findings], found: Findings) -> Findings | None:
        """The findings of `deadlock`, as a single search would report them; None if there are none."""
        end = self._end(declared)
        if end is not None:  # the states at that depth would not be expanded
            found = Findings(_until(found.found, end - 1), erred=_until(found.erred, end - 1))
        return found if found.found.path is not None or found.erred.path is not None else None

    def _errors(self, declared: Mapping[str, Findings], ends: Findings | None, found: Findings) -> Findings | None:
        """The findings of `in_range`, as a single search would report them; None if there are none."""
        steps, end = found.erred, self._end(declared)
        if end is not None:
            steps = _until(steps, end)
        others = [*declared.values(), *([] if ends is None else [ends])]
        errors = [one for one in (steps, *(one.erred for one in others)) if one.path is not None]
        if not errors:
            return None
        least = min((one.path for one in errors if one.path is not None), key=lambda path: path.order)
        if not self.count_all:
            errors = [one for one in errors if one.path is not None and one.path.depth == least.depth]
        return Findings(Finding(sum(one.count for one in errors), least), erred=steps)

    def _finding(self, before: Finding, found: Sequence[Finding]) -> Finding:
        every = [replace(one, path=self._whole(one.path)) for one in found if one.path is not None]
        if before.path is not None:
            every.append(before)
        witnesses = [one.path for one in every if one.path is not None]
        least = min(witnesses, key=lambda path: path.order, default=None)
        return Finding(before.count + sum(one.count for one in found), least)

    def _whole(self, witness: StepPath) -> StepPath:
        """Extend a path of a part backwards to an initial state."""
        path = self.beginning.paths[witness.initial]
        return StepPath(path.initial, path.steps + witness.steps)


def _until(finding: Finding, depth: int) -> Finding:
    """The finding, if its path has at most this length; otherwise an empty finding."""
    return finding if finding.path is None or finding.path.depth <= depth else Finding()

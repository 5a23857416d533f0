"""Computes the searches of the atlas, and writes its record; a later run continues an earlier one.

The file of results has a line of JSON for each search that has ended or reached its limit; the record
(checker/answers/recorded.py) is made from this file. Several processes may share the file, each with its own part of
the cells; or each search is a task of Spark. A search that a limit has cut short is recorded as undecided, with the
depth that it reached.
"""

from __future__ import annotations

import datetime as dt
import json
import math
import os
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from isrcheck.checker.answers.findings import FAILS, Result, Search
from isrcheck.checker.answers.planning import planned
from isrcheck.checker.answers.questions import settings_of_topic
from isrcheck.checker.answers.recorded import Record, result_of, search_of_record, texts_digest, written
from isrcheck.checker.atlas.cells import Cell
from isrcheck.checker.resources.limits import Limits
from isrcheck.checker.results.terminal import ProgressLine
from isrcheck.checker.results.verdict import Word
from isrcheck.models import registry
from isrcheck.models.messages import UsageError

if TYPE_CHECKING:
    from isrcheck.checker.spark.session import Session


def read_results(path: Path) -> dict[str, Result]:
    """Return the results in a file, by `Search.identity`. Raises UsageError if a line is not a result."""
    results: dict[str, Result] = {}
    text = path.read_text(encoding="utf-8") if path.exists() else ""
    for number, line in enumerate(text.splitlines(), 1):
        try:
            content = json.loads(line)
            fields = content["result"] | {"seconds": content["seconds"]}
            fields |= {"word": Word(fields["word"]), "steps": tuple(fields["steps"])}
            results[content["search"]] = Result(**fields)
        except (ValueError, KeyError, TypeError):
            raise UsageError(f"{path}:{number}: this line is not the result of a search; move the file away") from None
    return results


def recorded_results(record: Record) -> dict[str, Result]:
    """Return the results in a record, by `Search.identity`; without those of models that have changed since."""
    digests = record.header["models"]
    current = {name for name in digests if registry.load(name)[0].digest == digests[name]}
    return {
        search_of_record(search).identity: result_of(search)
        for search in record.every_search()
        if search["model"] in current
    }


class Computing:
    """Answers cells from a file of results; searches for missing results, and adds them to the file."""

    def __init__(self, path: Path, results: Mapping[str, Result], search: Callable[[Search], Result]) -> None:
        """`results` are known; `search` makes a missing search, whose result is added to the file `path`."""
        self.results = dict(results)
        self.path, self.search = path, search

    def answer(self, wanted: Sequence[Cell], deadline: float = math.inf) -> None:
        """Make the searches whose results these cells lack, one after another. After the deadline, a value of
        time.monotonic, no search is begun. Raises KeyboardInterrupt; the results until then are kept."""
        for cell in wanted:
            while time.monotonic() < deadline and (search := self.missing(cell)) is not None:
                self.add(search.identity, timed(partial(self.search, search)))

    def missing(self, cell: Cell) -> Search | None:
        """The first search whose result a cell lacks; None if it lacks no result."""
        return _answer(cell, self.results)[1]

    def add(self, identity: str, result: Result) -> None:
        """Keep the result of the search with this identity, and write it to the file."""
        self.results[identity] = result
        content = asdict(result)
        seconds = content.pop("seconds")
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps({"search": identity, "result": content, "seconds": seconds}) + "\n")
            file.flush()
            os.fsync(file.fileno())


def timed(search: Callable[[], Result]) -> Result:
    """Make a search; return its result with the day and the seconds it took. Raises KeyboardInterrupt after Ctrl-C."""
    began = time.monotonic()
    result = search()
    if result.stopped == "interrupt":
        raise KeyboardInterrupt
    day = dt.datetime.now(tz=dt.UTC).date().isoformat()
    return replace(result, day=day, seconds=round(time.monotonic() - began, 2))


# --- On Spark ---


def compute_on_spark(
    session: Session,
    computing: Computing,
    wanted: Sequence[Cell],
    search: Callable[[Search, Limits], Result],
    limits: Limits,
    seconds: float,
) -> None:
    """Make the missing searches of the cells on Spark, each within the limits, until `seconds` have passed. An executor
    calls `search` for one search. A cell needs its second search only if its first search finds no failure, and so on:
    so the searches are made in rounds, each with the next missing search of every cell. Cells that share a search share
    its task. Raises KeyboardInterrupt, SparkLostError; the results until then are kept."""
    from isrcheck.checker.spark.tasks import require_same, results_of

    require_same(session)
    deadline, progress = time.time() + seconds, ProgressLine("atlas")  # a time of day: executors share no other clock
    began = time.monotonic()
    on_executor = partial(_made_on_executor, search, limits, deadline)
    try:
        while time.time() < deadline:
            lacks = {cell: first for cell in wanted if (first := computing.missing(cell)) is not None}
            missing = {first.identity: first for first in lacks.values()}
            if not missing:
                return
            wanted = list(lacks)  # the others are answered, and need no new plan

            def look(done: int, total: int = len(missing)) -> None:
                progress.tell(f"{done:,} of {total:,} searches", time.monotonic() - began)

            keys = list(missing)
            for position, result in results_of(session, list(missing.values()), on_executor, look):
                if result is not None:
                    computing.add(keys[position], result)
    finally:
        progress.clear()


def _made_on_executor(
    make: Callable[[Search, Limits], Result], limits: Limits, deadline: float, search: Search
) -> Result | None:
    """Make a search on an executor; None if the deadline, a value of time.time, has passed."""
    if time.time() >= deadline:
        return None
    return timed(lambda: make(search, limits))


# --- The record ---


def write_record(path: Path, cells: Iterable[Cell], results: Mapping[str, Result], limit: float) -> tuple[int, int]:
    """Write the record of all cells whose results are complete; return the numbers of cells and of searches. `limit` is
    the time limit of one search, in seconds."""
    searches: dict[str, dict[str, Any]] = {}
    numbers: dict[str, int] = {}
    groups: dict[str, dict[str, Any]] = {}
    for cell in cells:
        name, settings = cell.key
        answer, missing = _answer(cell, results)
        if missing is not None:
            continue
        group = groups.setdefault(name, {"settings": settings_of_topic(cell.question), "cells": {}})
        if isinstance(answer, str):
            group["cells"][settings] = answer
            continue
        for search in answer:
            if search.identity not in numbers:
                numbers[search.identity] = len(numbers)
                searches[search.identity] = written(search, results[search.identity])
        group["cells"][settings] = [numbers[search.identity] for search in answer]
    models = sorted({content["model"] for content in searches.values()})
    header: dict[str, Any] = {
        "isrcheck": "atlas",
        "groups": len(groups),
        "cells": sum(len(group["cells"]) for group in groups.values()),
        "searches": len(searches),
        "seconds": round(sum(results[identity].seconds for identity in searches)),
        "limit": limit,
        "models": {name: registry.load(name)[0].digest for name in models},
        "texts": texts_digest(),
    }
    lines = [header, *({"group": name, **group} for name, group in groups.items()), *searches.values()]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return header["cells"], header["searches"]


def _answer(cell: Cell, results: Mapping[str, Result]) -> tuple[list[Search] | str, Search | None]:
    """Return the searches that answer a cell, and the first search whose result is missing (None: all results exist).
    The searches are those with results, up to the first failure. If nothing can be searched, the reason replaces
    them."""
    searches = planned(cell.case, cell.question)
    if isinstance(searches, str):
        return searches, None
    made: list[Search] = []
    for search in searches:
        if search.identity not in results:
            return made, search
        made.append(search)
        if results[search.identity].word in FAILS:
            break
    return made, None

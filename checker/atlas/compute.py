"""Computes the searches of the atlas; a later run goes on where an earlier one has ended.

In:  a file of results, a function that makes a search, and the time for all of them together.
Out: the results, a line of JSON for each search, in the order of their importance.

A search is in the file once it has ended or reached its limit. Several processes may share a file, each with its own
part of the cells.
"""

from __future__ import annotations

import datetime as dt
import json
import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from isrcheck.checker.atlas.cells import Cell, cells
from isrcheck.checker.questions.answering import Result, assembled
from isrcheck.checker.questions.planning import asked_of, planned
from isrcheck.checker.questions.recorded import asked_of_record, result_of
from isrcheck.checker.questions.scenarios import Scenario
from isrcheck.checker.results.verdict import Word
from isrcheck.models import registry
from isrcheck.models.kafka.atlas.catalogue import Record
from isrcheck.models.messages import UsageError


@dataclass(frozen=True)
class Known:
    """A recorded result, and the seconds of its search."""

    result: Result
    seconds: float


def read_results(path: Path) -> dict[str, Known]:
    """The results in a file, by the identity of their search. Raises UsageError for another file."""
    found: dict[str, Known] = {}
    if not path.exists():
        return found
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        try:
            content = json.loads(line)
            found[content["search"]] = Known(_result(content["result"]), content["seconds"])
        except (ValueError, KeyError, TypeError):
            raise UsageError(f"{path}:{number}: no result of a search; move the file away") from None
    return found


def results_of(record: Record) -> dict[str, Known]:
    """The results in a record, by the identity of their search. They count only for the same models and searches."""
    digests = record.header["models"]
    current = {name for name in digests if registry.load(name)[0].digest == digests[name]}
    return {
        asked_of_record(one).identity: Known(result_of(one), one["seconds"])
        for one in record.every_search()
        if one["model"] in current
    }


def _result(content: dict[str, Any]) -> Result:
    return Result(**{**content, "word": Word(content["word"]), "steps": tuple(content["steps"])})


class Computing:
    """Answers cells from a file of results, and adds the results that it lacks."""

    def __init__(self, path: Path, known: Mapping[str, Known], search: Callable[[Scenario], Result]) -> None:
        """New results, of `search`, are added to the file."""
        self.known = dict(known)
        self.path = path
        self.search = search

    def answer(self, cell: Cell) -> None:
        """Make the searches that the answer to a cell lacks. Raises KeyboardInterrupt."""
        while (found := self.missing(cell)) is not None:
            _, scenario = found
            self.add(asked_of(scenario).identity, known_of(partial(self.search, scenario)))

    def missing(self, cell: Cell) -> tuple[int, Scenario] | None:
        """The first search that the answer to a cell lacks, behind its number among those of the cell."""
        searches = planned(cell.case, cell.question)
        if isinstance(searches, str):
            return None
        lacking: list[int] = []
        asked = [asked_of(one) for one in searches]

        def result_at(number: int) -> Result | None:
            key = asked[number].identity
            if key not in self.known:
                lacking.append(number)
                return None
            return self.known[key].result

        assembled(asked, result_at)
        return (lacking[0], searches[lacking[0]]) if lacking else None

    def add(self, key: str, known: Known) -> None:
        """Keep the result of the search with this identity, and write it to the file."""
        self.known[key] = known
        line = {"search": key, "result": asdict(known.result), "seconds": known.seconds}
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(line) + "\n")
            file.flush()
            os.fsync(file.fileno())


def known_of(search: Callable[[], Result]) -> Known:
    """Make a search, and note its day and how long it took. Raises KeyboardInterrupt if it was interrupted."""
    began = time.monotonic()
    result = search()
    if result.stopped == "interrupt":
        raise KeyboardInterrupt
    result = replace(result, day=dt.datetime.now(tz=dt.UTC).date().isoformat())
    return Known(result, round(time.monotonic() - began, 2))


def compute(computing: Computing, wanted: Sequence[Cell], deadline: float) -> None:
    """Make the missing searches of the cells, one after another, until the deadline, a value of time.monotonic. Raises
    KeyboardInterrupt; the results until then are kept."""
    for cell in wanted:
        if time.monotonic() >= deadline:
            return
        computing.answer(cell)


def part_of(number: int, parts: int) -> list[Cell]:
    """The cells of one of several processes, which share the work."""
    return [cell for place, cell in enumerate(cells()) if place % parts == number]

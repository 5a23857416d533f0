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
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from isrcheck.checker.atlas.cells import Cell, cells
from isrcheck.checker.outcome.verdict import Word
from isrcheck.checker.questions.answering import Result, assembled
from isrcheck.checker.questions.planning import asked_of, planned
from isrcheck.checker.questions.recorded import asked_of_record, result_of
from isrcheck.checker.questions.rules import SEARCHED_WHOLE
from isrcheck.checker.questions.scenarios import Scenario
from isrcheck.models import registry
from isrcheck.models.kafka.atlas.catalogue import Record
from isrcheck.models.messages.errors import UsageError


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

    def answer(self, cell: Cell, *, is_searched: bool) -> bool:
        """Whether the cell is answered, if need be by new searches. Raises KeyboardInterrupt."""
        searches = planned(cell.case, cell.question)
        if isinstance(searches, str):
            return False

        asked = [asked_of(one) for one in searches]

        def result_at(position: int) -> Result | None:
            key = asked[position].identity
            if key not in self.known and is_searched:
                self._search(key, searches[position])
            return self.known[key].result if key in self.known else None

        return assembled(asked, result_at) is not None

    def _search(self, key: str, scenario: Scenario) -> None:
        began = time.monotonic()
        result = self.search(scenario)
        if result.stopped == "interrupt":
            raise KeyboardInterrupt
        result = replace(result, day=dt.datetime.now(tz=dt.UTC).date().isoformat())
        self.known[key] = Known(result, round(time.monotonic() - began, 2))
        line = {"search": key, "result": asdict(result), "seconds": self.known[key].seconds}
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(line) + "\n")
            file.flush()
            os.fsync(file.fileno())


def is_computed(cell: Cell) -> bool:
    """Whether a cell is searched. One with more replicas is recorded if a rule answers it from fewer."""
    return cell.case.replication_factor <= SEARCHED_WHOLE


def compute(
    computing: Computing,
    deadline: float,
    part: tuple[int, int] = (0, 1),
) -> Iterator[Cell]:
    """Yield the cells of a part (its number, and the number of parts) that could be answered until the deadline, a
    value of time.monotonic. Raises KeyboardInterrupt."""
    number, parts = part
    mine = [cell for place, cell in enumerate(cells()) if place % parts == number]
    for cell in mine:
        if time.monotonic() >= deadline:
            return
        if computing.answer(cell, is_searched=is_computed(cell)):
            yield cell

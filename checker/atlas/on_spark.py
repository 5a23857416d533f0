"""Computes the searches of the atlas on Spark: each search is a task.

In:  a Spark session, the cells, and the results that are known already.
Out: the new results, which are added to the known ones as their tasks end.

A cell whose search finds no failure needs the next one: the searches are made in rounds, each with the next missing
search of every cell. Cells that share a search share its task.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from isrcheck.checker.atlas.cells import Cell
from isrcheck.checker.atlas.compute import Computing, Known, known_of
from isrcheck.checker.questions.answering import Result
from isrcheck.checker.questions.case import Case
from isrcheck.checker.questions.planning import asked_of
from isrcheck.checker.questions.question import Question
from isrcheck.checker.resources.limits import Limits
from isrcheck.checker.results.terminal import ProgressLine
from isrcheck.checker.spark.session import Session
from isrcheck.checker.spark.tasks import require_same, results_of


@dataclass(frozen=True)
class Task:
    """A search: its number among those of a question about a case, the limits, and when it is too late to begin (a
    value of time.time)."""

    case: Case
    question: Question
    number: int
    limits: Limits
    deadline: float


Search = Callable[[Case, Question, int, Limits], Result]
"""What makes a search of a question, by its number, within limits (search_on_executor in checker/questions)."""


def compute_on_spark(
    session: Session, computing: Computing, wanted: Sequence[Cell], search: Search, limits: Limits, seconds: float
) -> None:
    """Make the missing searches of the cells, each within the limits, until so many seconds are over.

    Raises KeyboardInterrupt, SparkLostError; the results until then are kept.
    """
    require_same(session)
    deadline, progress = time.time() + seconds, ProgressLine("atlas")  # a time of day: executors share no other clock
    began = time.monotonic()
    try:
        while time.time() < deadline:
            missing: dict[str, Task] = {}
            lacking = [(cell, found) for cell in wanted if (found := computing.missing(cell)) is not None]
            for cell, (number, scenario) in lacking:
                task = Task(cell.case, cell.question, number, limits, deadline)
                missing.setdefault(asked_of(scenario).identity, task)
            if not missing:
                return
            wanted = [cell for cell, _ in lacking]  # the others are answered, and are not planned again

            def look(done: int, total: int = len(missing)) -> None:
                progress.tell(f"{done:,} of {total:,} searches", time.monotonic() - began)

            keys = list(missing)
            for position, known in results_of(session, list(missing.values()), partial(_searched, search), look):
                if known is not None:
                    computing.add(keys[position], known)
    finally:
        progress.clear()


def _searched(search: Search, task: Task) -> Known | None:
    """Make a search on an executor; None if it is too late."""
    if time.time() >= task.deadline:
        return None
    return known_of(lambda: search(task.case, task.question, task.number, task.limits))

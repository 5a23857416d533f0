"""Runs a sweep on Spark: each case is a task.

In:  a Spark session, the cases of a sweep. Out: the position and the record of each case, when its task ends.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import replace

from isrcheck.checker.outcome.records import Record
from isrcheck.checker.resources.limits import Budget
from isrcheck.checker.session.progress import ProgressLine
from isrcheck.checker.spark.session import Session
from isrcheck.checker.spark.tasks import require_same, results_of, task_memory
from isrcheck.checker.sweep.case import Case
from isrcheck.checker.sweep.cases import RunCases, bar, search_case


def run_cases_on_spark(session: Session, progress: ProgressLine, total: int, budget: Budget) -> RunCases:
    """Return a function that runs cases on executors. The time limit of a case is the time that remains when the case
    begins; `total` includes the cases that an earlier run has finished. The function raises SparkLostError if the
    connection to Spark is lost."""

    def run_cases(cases: Sequence[Case]) -> Iterator[tuple[int, Record]]:
        require_same(session)
        began = time.monotonic()
        # A time of day, because executors share no other clock.
        deadline = None if budget.left is None else time.time() + budget.left
        tasks = [replace(case, threads=1, memory=task_memory(session, case.memory)) for case in cases]

        def look(done: int) -> None:
            progress.subject = bar(total - len(cases) + done, total)
            progress.tell("on Spark", time.monotonic() - began)

        for position, record in results_of(session, tasks, lambda case: _search(case, deadline), look):
            yield tasks[position].position, record
        progress.clear()

    return run_cases


def _search(case: Case, deadline: float | None) -> Record:
    if deadline is not None:
        case = replace(case, seconds=max(0.0, deadline - time.time()))
    return search_case(case)

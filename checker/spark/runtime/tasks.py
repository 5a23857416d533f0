"""Independent tasks on executors: the driver gets the result of each when it ends.

In:  a session whose executors have been checked (environment_check.py), the tasks, and a function that runs one of
     them on an executor.
Out: the position and the result of each task.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

from isrcheck.checker.spark.runtime.session import Session
from isrcheck.checker.spark.runtime.task_statistics import running, task_statistics, values_of

T = TypeVar("T")
R = TypeVar("R")


def results_of(
    session: Session, tasks: Sequence[T], run: Callable[[T], R], look: Callable[[int], object]
) -> Iterator[tuple[int, R]]:
    """Run each task once, and yield its position and result soon after it has ended, in any order.

    Every 0.2 s, `look` is called with the number of finished tasks. Results are small: they travel as task statistics.
    Ctrl-C cancels the tasks. Raises SparkLostError or UsageError if Spark fails, and every exception of `run`.
    """
    statistics, given = task_statistics(session.context), set[int]()

    def work() -> None:
        spread = session.context.parallelize(list(enumerate(tasks)), max(1, len(tasks)))
        spread.foreach(lambda one: statistics.add({one[0]: run(one[1])}))

    def new() -> Iterator[tuple[int, R]]:
        for position, result in values_of(statistics).items():
            if position not in given:
                given.add(position)
                yield position, result

    for _ in running(session, work):
        yield from new()
        look(len(given))
    yield from new()

"""The searches of a sweep: determines which searches are needed, and runs a search in this or another process.

In:  a `Sweep`; a `Case`.
Out: the cases of a sweep; the `Record` of a search, a JSON object from which its `Exploration` can be rebuilt.

`run_cases_here` runs the cases one after another in this process; checker/sweep/on_spark.py runs them on executors.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from isrcheck.checker.command.form import Options
from isrcheck.checker.compile.instance_specification import InstanceSpecification
from isrcheck.checker.compile.kernel import Kernels
from isrcheck.checker.explicit.explore import explore
from isrcheck.checker.outcome.exploration import Exploration
from isrcheck.checker.outcome.records import Record, record_of
from isrcheck.checker.resources.limits import UNLIMITED, Budget, Spent
from isrcheck.checker.session.beginning import begin, enumerate_initial_states
from isrcheck.checker.session.progress import ProgressLine
from isrcheck.checker.sweep.axes import Sweep
from isrcheck.checker.sweep.case import Case
from isrcheck.models.language.model import Instance
from isrcheck.models.messages import ModelError, UsageError

BAR = 20
"""The length of the progress bar in characters."""

RunCases = Callable[[Sequence[Case]], Iterator[tuple[int, Record]]]
"""A function that runs cases and yields the position and record of each, in any order. It may raise KeyboardInterrupt;
the search of its last record may have been interrupted."""


def cases_of(sweep: Sweep, options: Options) -> tuple[list[Case], dict[int, int]]:
    """Return the cases to search, and for each row with an instance the position of its case.

    Rows with the same transition system share one case.
    """
    cases, answers = [], {}
    first: dict[object, int] = {}
    for position, row in enumerate(sweep.rows):
        instance = row.instance
        if instance is None:
            continue
        system = instance.configuration, instance.alternatives
        answers[position] = first.setdefault(system, position)
        if answers[position] == position:
            cases.append(_case(position, row.name, sweep, instance, options))
    return cases, answers


def _case(position: int, name: str, sweep: Sweep, instance: Instance, options: Options) -> Case:
    limits = options.limits
    return Case(
        position,
        name,
        sweep.target,
        InstanceSpecification.of(instance),
        options.count_all,
        limits.depth,
        limits.memory,
        limits.seconds,
        limits.threads,
        limits.deadlock,
    )


# ------------------------------------------------------------------------------------------------------------ search

_KERNELS = Kernels()
"""The compiled kernels, which a process reuses for later cases."""


def search_case(case: Case, progress: ProgressLine | None = None, interrupts: Sequence[int] = ()) -> Record:
    """Search one case and return its record. `interrupts` is not empty after Ctrl-C was pressed.

    Raises KeyboardInterrupt; UsageError if the model differs in this process.
    """
    instance = case.subject.instance()
    budget = Budget(case.seconds, case.memory)
    try:
        beginning = begin(instance, budget, _KERNELS.of, progress)
        if interrupts:
            raise KeyboardInterrupt
        report = progress.report if progress else lambda progress: None
        limits = budget.limits(case.limits)
        found = explore(instance, limits, count_all=case.count_all, kernel=beginning.kernel, report=report)
        found.seconds += beginning.seconds
    except Spent as spent:
        return record_of(Exploration.without_beginning(instance, case.limits, spent.why))
    except ModelError as error:
        return {"failed": str(error)}
    except UsageError as error:
        return {"refused": str(error)}
    return {"instance": instance.digest, **record_of(found)}


def is_current(record: Record, case: Case, budget: Budget) -> bool:
    """Whether a record still belongs to the case: a file with initial states may have changed since the search.

    Raises Spent.
    """
    if "instance" not in record:  # no search began
        return True
    instance = case.subject.instance()
    enumerate_initial_states(instance, budget)
    return bool(record["instance"] == instance.digest)


def bar(done: int, total: int) -> str:
    """Return the progress of a sweep as text: a bar, and the number of the next case."""
    full = BAR * done // total
    return f"[{'#' * full}{'.' * (BAR - full)}] {min(done + 1, total)} of {total}"


def run_cases_here(
    progress: ProgressLine, interrupts: Sequence[int], total: int, budget: Budget = UNLIMITED
) -> RunCases:
    """Return a function that runs cases one after another in this process, each with the remaining time. `total`
    includes the cases that an earlier run has finished."""

    def run_cases(cases: Sequence[Case]) -> Iterator[tuple[int, Record]]:
        began = time.monotonic()
        for done, case in enumerate(cases, total - len(cases)):
            progress.subject = f"{bar(done, total)}, {case.name}"
            if progress.is_terminal:
                progress.tell("begins", time.monotonic() - began)
            yield case.position, search_case(replace(case, seconds=budget.left), progress, interrupts)
        progress.clear()

    return run_cases

"""One configuration of a sweep as plain data, and its search: from the case alone, in this process or in another one.

In:  a `Case`: what to search, with numbers and texts only.
Out: a `Record`, an object of JSON: what the search did and found, from which its `Exploration` is made again.

A carrier takes cases and gives each one's position and record, in any order, as they are done. `carry_here` searches
one after the other in this process; another one calls `search_case` wherever it likes.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from isrcheck.checker.command.options import Options
from isrcheck.checker.compile.instance_specification import InstanceSpecification
from isrcheck.checker.compile.kernels import Kernels
from isrcheck.checker.explicit.explore import explore
from isrcheck.checker.outcome.exploration import Exploration
from isrcheck.checker.outcome.records import Record, record_of
from isrcheck.checker.resources.budget import UNLIMITED, Budget, Spent
from isrcheck.checker.session.beginning import begin, enumerate_initial_states
from isrcheck.checker.session.progress import ProgressLine
from isrcheck.checker.sweep.axes import Sweep
from isrcheck.checker.sweep.case import Case
from isrcheck.models.language.model import Instance
from isrcheck.models.messages.errors import ModelError, UsageError

BAR = 20
"""How many signs long the bar of the progress is."""


Carry = Callable[[Sequence[Case]], Iterator[tuple[int, Record]]]
"""A carrier: gives the position and the record of every case, in any order. It may raise KeyboardInterrupt, and may
give a record whose search was interrupted as its last one."""


def cases_of(sweep: Sweep, options: Options) -> tuple[list[Case], dict[int, int]]:
    """What has to be searched, and for each row that can be, the position of the case that answers for it.

    Rows that are one transition system under two names are searched once.
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
    )


# ------------------------------------------------------------------------------------------------------------ search

_KERNELS = Kernels()
"""What a process keeps from one case to the next."""


def search_case(case: Case, progress: ProgressLine | None = None, interrupts: Sequence[int] = ()) -> Record:
    """Search a case; everything that it takes is in the case. `interrupts` notes that Ctrl-C was pressed.

    Raises UsageError where the model that is found here is another one.
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


def is_of_today(record: Record, case: Case, budget: Budget) -> bool:
    """Whether a record is of the case as it is now: what initial states are read from need not be in the model's text.

    Raises Spent.
    """
    if "instance" not in record:  # nothing was searched
        return True
    instance = case.subject.instance()
    enumerate_initial_states(instance, budget)
    return bool(record["instance"] == instance.digest)


def bar(done: int, total: int) -> str:
    """How far a sweep is: a bar, and which case is next."""
    full = BAR * done // total
    return f"[{'#' * full}{'.' * (BAR - full)}] {min(done + 1, total)} of {total}"


def carry_here(progress: ProgressLine, interrupts: Sequence[int], total: int, budget: Budget = UNLIMITED) -> Carry:
    """The carrier that searches one case after the other in this process, each with what is left of the time; `total`
    counts those done before as well."""

    def carry(cases: Sequence[Case]) -> Iterator[tuple[int, Record]]:
        began = time.monotonic()
        for done, case in enumerate(cases, total - len(cases)):
            progress.subject = f"{bar(done, total)}, {case.name}"
            if progress.is_terminal:
                progress.tell("begins", time.monotonic() - began)
            yield case.position, search_case(replace(case, seconds=budget.left), progress, interrupts)
        progress.clear()

    return carry


# ----------------------------------------------------------------------------------------------------------- records

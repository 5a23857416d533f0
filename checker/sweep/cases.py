"""One configuration of a sweep as plain data, and its search: from the case alone, in this process or in another one.

In:  a `Case`: what to search, with numbers and texts only.
Out: a `Record`, an object of JSON: what the search did and found, from which its `Exploration` is made again.

A carrier takes cases and gives each one's position and record, in any order, as they are done. `carry_here` searches
one after the other in this process; another one calls `search_case` wherever it likes.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from isrcheck.checker.command.console import ProgressLine
from isrcheck.checker.command.options import Options
from isrcheck.checker.compile.instance_specification import Subject
from isrcheck.checker.compile.kernels import Kernels
from isrcheck.checker.explicit.search import Exploration, Finding, Findings, Limits, Witness, explore
from isrcheck.checker.outcome.verdict import verdicts
from isrcheck.checker.resources.budget import UNLIMITED, Budget, Spent
from isrcheck.checker.session.beginning import begin, enumerate_initial_states
from isrcheck.checker.sweep.axes import Sweep
from isrcheck.models.language.model import Instance
from isrcheck.models.messages.errors import ModelError, UsageError

Record = dict[str, Any]
"""`refused` or `failed` with the reason; or the fields of an exploration, its `verdicts` in words, and the digest of
the `instance` that was searched."""

BAR = 20
"""How many signs long the bar of the progress is."""


@dataclass(frozen=True)
class Case:
    """One search: `position` is that of the row, `target` is how the model is named on the command line."""

    position: int
    name: str
    target: str
    subject: Subject
    count_all: bool
    depth: int | None
    memory: int
    seconds: float | None
    threads: int

    @property
    def limits(self) -> Limits:
        """What its search may use."""
        return Limits(self.depth, self.memory, self.seconds, self.threads)


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
        system = instance.configuration, instance.choices
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
        Subject.of(instance),
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


def record_of(exploration: Exploration) -> Record:
    """What a search did and found, as plain data, with its verdicts in words."""
    words = {verdict.prop.name: verdict.bare for verdict in verdicts(exploration)}
    return {"verdicts": words, **unjudged_record_of(exploration)}


def unjudged_record_of(exploration: Exploration) -> Record:
    """The same without verdicts: for part of a search, whose paths do not begin in an initial state."""
    return {
        "levels": [int(count) for count in exploration.levels],
        "generated": int(exploration.generated),
        "frontier": int(exploration.frontier),
        "depth": exploration.depth,
        "judged": exploration.judged,
        "stopped": exploration.stopped,
        "seconds": exploration.seconds,
        "bytes_used": int(exploration.bytes_used),
        "fired": [int(count) for count in exploration.fired],
        "new": [int(count) for count in exploration.new],
        "findings": {
            name: {"found": _written(one.found), "permitted": _written(one.permitted), "erred": _written(one.erred)}
            for name, one in exploration.findings.items()
        },
    }


def _written(finding: Finding) -> Record:
    path = finding.witness
    witness = None if path is None else {"initial": int(path.initial), "steps": [int(step) for step in path.steps]}
    return {"count": int(finding.count), "witness": witness}


def exploration_of(record: Record, instance: Instance, limits: Limits) -> Exploration:
    """The search that a record is of."""
    plain = {name: value for name, value in record.items() if name not in ("instance", "verdicts", "findings")}
    findings = {
        name: Findings(_read(one["found"]), _read(one["permitted"]), _read(one["erred"]))
        for name, one in record["findings"].items()
    }
    return Exploration(instance, limits, findings=findings, **plain)


def _read(written: Record) -> Finding:
    path = written["witness"]
    return Finding(written["count"], None if path is None else Witness(path["initial"], tuple(path["steps"])))

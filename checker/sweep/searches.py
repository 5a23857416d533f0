"""The searches of a sweep, in this process or on Spark: one for every combination of values in `--vary KEY=V1,V2`.

Out: a `Sweep`: each combination with its instance of the model, or with the reason why the model refuses it; the
     searches (`Case`), and their results (records) as plain data, from which the `Exploration` can be rebuilt.

A key is `protocol`, the name of an entry or a switch of the model (in the model's or Kafka's spelling), or a Kafka
property for which the model has an entry with another name (checker/cluster/settings.py). A value that its key does not
permit is bad input. If the values of a combination contradict each other, its row in the table shows the reason.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import TYPE_CHECKING

from isrcheck.checker.cluster.property_files import READERS
from isrcheck.checker.cluster.settings import MODELLED
from isrcheck.checker.command.forms import SWEPT
from isrcheck.checker.command.options import Options
from isrcheck.checker.compile.instance_specification import InstanceSpecification
from isrcheck.checker.compile.kernel import Kernels
from isrcheck.checker.explicit.explore import explore
from isrcheck.checker.resources.limits import Budget, Limits, Spent
from isrcheck.checker.results.exploration import Exploration, PlainData, plain_data_of
from isrcheck.checker.results.terminal import ProgressLine
from isrcheck.checker.results.verdict import Verdict, verdicts
from isrcheck.checker.running.session import begin, enumerate_initial_states
from isrcheck.commands.settings import entry_of, model_of, protocol_of, swaps_of, values_of
from isrcheck.models.language.model import Instance, Model, parse, refuse_out_of_range, spell
from isrcheck.models.messages import ModelError, UsageError, nearest

if TYPE_CHECKING:
    from isrcheck.checker.spark.session import Session

MOST_ROWS = 10_000
"""The most combinations of a sweep, because nobody reads a longer table."""

PROTOCOL = "protocol"

USUAL_PROTOCOL = "2.1"
"""The generation of Kafka whose configurations are searched if no protocol is given: its logs hold two records."""


@dataclass(frozen=True)
class Axis:
    """A `--vary` option: the key as typed, and the entry of the model that the key sets (None: the key is `protocol`).
    `values` maps the text of each value to its number in the model, or to the name of the protocol."""

    key: str
    entry: str | None
    values: Mapping[str, int | str]


@dataclass(frozen=True)
class Combination:
    """A combination of values (`varied`: text by key), with its instance or the reason why the model refuses it."""

    varied: Mapping[str, str]
    instance: Instance | None
    refusal: str = ""

    @property
    def name(self) -> str:
        """The varied keys and their values as one line."""
        return ", ".join(f"{key}={value}" for key, value in self.varied.items())


@dataclass(frozen=True)
class Sweep:
    """A model, its varied keys, and one row for each combination of values; the last key changes fastest."""

    target: str
    model: Model
    axes: tuple[Axis, ...]
    rows: tuple[Combination, ...]

    @property
    def instances(self) -> list[Instance]:
        """The instances of the combinations that the model accepts."""
        return [row.instance for row in self.rows if row.instance is not None]


def read_sweep(options: Options) -> Sweep:
    """Read the keys and values of `--vary`, and return every combination. Raises UsageError for an invalid key or
    value, for too many combinations, and if the model refuses all combinations."""
    assert options.model.target is not None
    model, named = model_of(options.model)
    fixed, swaps = values_of(model, options.model), swaps_of(options.model)
    axes = tuple(_axis(model, text) for text in options.own["vary"])
    protocol = protocol_of(options.model, named)
    _refuse_twice(axes, fixed, protocol)
    count = prod(len(axis.values) for axis in axes)
    if count > MOST_ROWS:
        raise UsageError(f"--vary gives {count:,} combinations, more than {MOST_ROWS:,}; give fewer values")
    if protocol is None and model.name == SWEPT:
        protocol = USUAL_PROTOCOL
    rows = []
    for values in itertools.product(*(axis.values for axis in axes)):
        varied = {axis.key: value for axis, value in zip(axes, values, strict=True)}
        chosen = {axis.entry: axis.values[varied[axis.key]] for axis in axes}
        one_protocol = chosen.pop(None, protocol)
        numbers = {entry: int(number) for entry, number in chosen.items() if entry is not None}
        try:
            instance = model.instance(None if one_protocol is None else str(one_protocol), fixed | numbers, swaps)
            rows.append(Combination(varied, instance))
        except UsageError as error:
            rows.append(Combination(varied, None, str(error)))
    if all(row.instance is None for row in rows):
        raise UsageError(refused_throughout(rows[0].refusal))
    return Sweep(options.model.target, model, axes, tuple(rows))


def refused_throughout(why: str) -> str:
    """Return the message for a sweep in which no combination can be searched; `why` is the first refusal's reason."""
    return f"no combination of a sweep can be searched: {why}"


def _axis(model: Model, text: str) -> Axis:
    key, equals, listed = (part.strip() for part in text.partition("="))
    typed = [value.strip() for value in listed.split(",")]
    if not equals or not key or not all(typed):
        raise UsageError(f"--vary {text}: no key with values; write it as --vary KEY=VALUE,VALUE,...")
    entry = _entry(model, key)
    values: dict[str, int | str] = {}
    for word in typed:
        shown, value = _value(model, key, entry, word)
        same = next((other for other, known in values.items() if known == value), None)
        if same is not None:
            again = f"{word} is given twice" if same == shown else f"{same} and {word} mean the same to the model"
            raise UsageError(f"--vary {text}: {again}; keep one of them")
        values[shown] = value
    return Axis(key, entry, values)


def _entry(model: Model, key: str) -> str | None:
    """Return the model's entry that a key sets; None for the key `protocol`. Raises UsageError for an unknown key."""
    if key == PROTOCOL:
        return None
    if _is_of_kafka(model, key):
        return MODELLED[key][0]
    try:
        return entry_of(model, key, is_switch=False)
    except UsageError:
        keys = [*model.entries, *(MODELLED if model.name == SWEPT else ()), PROTOCOL]
        raise UsageError(f"--vary {key}: {model.name} has no such entry; {nearest(key, keys)}") from None


def _is_of_kafka(model: Model, key: str) -> bool:
    return model.name == SWEPT and key in MODELLED


def _value(model: Model, key: str, entry: str | None, text: str) -> tuple[str, int | str]:
    """Return a value's text for the table, and its number or protocol name. Raises UsageError for an invalid value."""
    if entry is None:
        return text, model.protocol(text).name
    declared = model.entries[entry]
    if _is_of_kafka(model, key):
        try:
            value = MODELLED[key][1](READERS[key](text))
        except ValueError as error:
            raise UsageError(f"--vary {key}: {error}") from None
        refuse_out_of_range(entry, declared, value)
        return text.lower(), value
    value = parse(entry, declared, text)
    refuse_out_of_range(entry, declared, value)
    return spell(declared, value), value


def _refuse_twice(axes: tuple[Axis, ...], fixed: Mapping[str, int], protocol: str | None) -> None:
    varied: dict[str | None, str] = {}
    for axis in axes:
        if axis.entry in varied:
            other = varied[axis.entry]
            twice = f"{axis.key} twice" if other == axis.key else f"{other} and {axis.key}, which mean the same"
            raise UsageError(f"--vary sets {twice}; write all values in one --vary")
        varied[axis.entry] = axis.key
        if axis.entry in fixed or (axis.entry is None and protocol is not None):
            raise UsageError(f"{axis.key} is in --vary, and another option sets it; leave out one of the two options")


# --------------------------------------------------------------------------------------------------------- the searches


@dataclass(frozen=True)
class Case:
    """One search of a sweep, as plain data that can be sent to another process."""

    position: int
    """The position of the case's row in the table, from 0."""
    name: str
    """The varied values."""
    target: str
    """The name of the model on the command line."""
    subject: InstanceSpecification
    count_all: bool
    limits: Limits


RunCases = Callable[[Sequence[Case]], Iterator[tuple[int, PlainData]]]
"""A function that runs cases and yields the position and result of each, in any order. It may raise KeyboardInterrupt;
the last search may have been interrupted.

A result has either the key `refused` or `failed`, with the reason; or it is an exploration with its `verdicts` in words
and, if the search began, the digest of the `instance` that was searched."""

BAR = 20
"""The length of the progress bar in characters."""


def cases_of(sweep: Sweep, options: Options) -> tuple[list[Case], dict[int, int]]:
    """Return the searches to run, and a dictionary from the position of each row with an instance to the position of
    its search. Rows with the same transition system share one search, which has the first row's position."""
    cases, answers = [], {}
    first: dict[object, int] = {}
    for position, row in enumerate(sweep.rows):
        instance = row.instance
        if instance is None:
            continue
        system = instance.configuration, instance.alternatives
        answers[position] = first.setdefault(system, position)
        if answers[position] == position:
            subject = InstanceSpecification.of(instance)
            cases.append(Case(position, row.name, sweep.target, subject, options.search.count_all, options.limits))
    return cases, answers


KERNELS = Kernels()
"""The compiled kernels, which a process reuses for later cases."""


def search_case(case: Case, progress: ProgressLine | None = None, signals: Sequence[int] = ()) -> PlainData:
    """Run one search and return its result as plain data. Raises KeyboardInterrupt if `signals` has an entry (for
    Ctrl-C) before the search begins, and UsageError if `case` was made with another version of the model."""
    instance = case.subject.instance()
    budget = Budget(case.limits.seconds, case.limits.memory)
    try:
        beginning = begin(instance, budget, KERNELS.of, progress)
        if signals:
            raise KeyboardInterrupt
        report = progress.report if progress else lambda progress: None
        limits = budget.limits(case.limits)
        exploration = explore(instance, limits, count_all=case.count_all, kernel=beginning.kernel, report=report)
        exploration.seconds += beginning.seconds
    except Spent as spent:
        return _judged(Exploration.without_beginning(instance, case.limits, spent.why))
    except ModelError as error:
        return {"failed": str(error)}
    except UsageError as error:
        return {"refused": str(error)}
    return {"instance": instance.digest, **_judged(exploration)}


def _judged(exploration: Exploration) -> PlainData:
    return {"verdicts": words_of(verdicts(exploration)), **plain_data_of(exploration)}


def words_of(judged: Sequence[Verdict]) -> dict[str, str]:
    """Return the text of each verdict, by the property's name."""
    return {verdict.prop.name: verdict.bare for verdict in judged}


def is_current(record: PlainData, case: Case, budget: Budget) -> bool:
    """Whether `record`, the result of an earlier run, is still valid for the search `case`: a file from which the model
    reads its initial states may have changed. Raises Spent if the budget of time or memory is used up."""
    if "instance" not in record:  # no search began
        return True
    instance = case.subject.instance()
    enumerate_initial_states(instance, budget)
    return bool(record["instance"] == instance.digest)


def bar(done: int, total: int) -> str:
    """Return the progress of a sweep as text: a bar, and the number of the next search."""
    full = BAR * done // total
    return f"[{'#' * full}{'.' * (BAR - full)}] {min(done + 1, total)} of {total}"


def run_cases_here(
    progress: ProgressLine, signals: Sequence[int], total: int, budget: Budget, cases: Sequence[Case]
) -> Iterator[tuple[int, PlainData]]:
    """Run searches one after another in this process, each with the remaining time, and yield the position and result
    of each. `total` includes the searches that an earlier run has finished."""
    began = time.monotonic()
    for done, case in enumerate(cases, total - len(cases)):
        progress.subject = f"{bar(done, total)}, {case.name}"
        if progress.is_terminal:
            progress.tell("begins", time.monotonic() - began)
        yield case.position, search_case(_within(case, budget.left), progress, signals)
    progress.clear()


def run_cases_on_spark(
    session: Session, progress: ProgressLine, total: int, budget: Budget, cases: Sequence[Case]
) -> Iterator[tuple[int, PlainData]]:
    """Run searches on executors, and yield the position and result of each. The time limit of a search is the time that
    remains when it begins; `total` is as for `run_cases_here`. Raises SparkLostError if the connection is lost."""
    from isrcheck.checker.spark.tasks import require_same, results_of, task_memory

    require_same(session)
    began = time.monotonic()
    # A time of day, because executors share no other clock.
    deadline = None if budget.left is None else time.time() + budget.left
    limits = [replace(case.limits, threads=1, memory=task_memory(session, case.limits.memory)) for case in cases]
    tasks = [replace(case, limits=within) for case, within in zip(cases, limits, strict=True)]

    def look(done: int) -> None:
        progress.subject = bar(total - len(cases) + done, total)
        progress.tell("on Spark", time.monotonic() - began)

    def search(case: Case) -> PlainData:
        return search_case(case if deadline is None else _within(case, max(0.0, deadline - time.time())))

    for position, record in results_of(session, tasks, search, look):
        yield tasks[position].position, record
    progress.clear()


def _within(case: Case, seconds: float | None) -> Case:
    return replace(case, limits=replace(case.limits, seconds=seconds))

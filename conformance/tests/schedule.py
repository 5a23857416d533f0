"""When each test runs: in `make test`, in CI (`make test-all`), or only with `make verify`; and in which order.

The marks of a test say when it runs. A test without any of these marks takes less than a second, and runs always:

    sampled     a sample of its parameters runs, at even distances: in `make test` as many as take a second,
                in CI as many as take two seconds, but at least one; `make verify` runs the others
    whole       as `sampled` in `make test`, and all in CI, since each parameter checks something of its own
    exhaustive  not in `make test`, but in CI: somebody decided this, for the test or for a parameter (sampling.py)
    recorded    only with `make verify`: somebody decided this, for the test or for a parameter

timings.toml says how long a parameter takes: the processor seconds of one call, the mean over its parameters.
`make timings` measures them, and nobody edits them; `pytest -m "not recorded" --timings conformance/tests/timings.toml
FILE` measures one file. `pytest --when` prints for each test how many parameters run when, and runs none. A test that
takes more than a second and has no mark makes test_suite.py fail.

The tests of a file are a group: they share fixtures and compiled kernels, which two workers would build twice. The
tests of Spark are two groups: tests that share one session, and tests that start their own sessions or share a cluster.
Both wait for Spark most of the time, so they begin, side by side. The other groups follow, the slowest first, so that
all workers end at about the same time. A test with its own group mark keeps that group. A session takes long to start,
so the tests that share one run with the exhaustive tests.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from typing import TypeVar

import pytest

from conformance.tests.timings import TESTS, place_of, stored

T = TypeVar("T")

TEST_SECONDS, CI_SECONDS = 1, 2
"""The seconds of the sample of a test in `make test` and in CI."""

MARKS = ("sampled", "whole", "exhaustive", "recorded")

UNMARKED = pytest.StashKey[list[str]]()
"""The slow tests of a run that have none of these marks."""

SPARK_PROCESSES = "sessions and a cluster of Spark"
SPARK = "one session of Spark"
SPARK_GROUPS = (SPARK_PROCESSES, SPARK)

timings = cache(stored)


def seconds_of(item: pytest.Item) -> float:
    """The measured seconds of one call of a test; 0 if it takes little or was not measured."""
    file, name = place_of(item)
    return timings().get(file, {}).get(name, 0)


def has(item: pytest.Item, *marks: str) -> bool:
    """Whether a test has one of the marks."""
    return any(item.get_closest_marker(mark) for mark in marks)


def tests_of(items: Iterable[pytest.Item]) -> list[list[pytest.Item]]:
    """The parameters of each test."""
    tests: dict[tuple[str, str], list[pytest.Item]] = {}
    for item in items:
        tests.setdefault(place_of(item), []).append(item)
    return [*tests.values()]


def spread(items: Sequence[T], count: int) -> list[T]:
    """So many of the items, at even distances."""
    count = min(count, len(items))
    return [items[number * len(items) // count] for number in range(count)]


def mark(items: Iterable[pytest.Item], least: int) -> None:
    """Mark every test with its group, and what does not run in `make test` or in CI as `exhaustive` or `recorded`.

    `least` is the least number of parameters of a test in CI.
    """
    for item in items:
        if uses_shared_session(item):
            item.add_marker(pytest.mark.exhaustive)
        if not has(item, "xdist_group"):
            item.add_marker(pytest.mark.xdist_group(group_of(item)))
    for parameters in tests_of(item for item in items if has(item, "sampled", "whole") and seconds_of(item)):
        in_ci = [item for item in parameters if not has(item, "recorded")]
        quick = [item for item in in_ci if not has(item, "exhaustive")]
        in_test, in_sample = sample(quick, in_ci, seconds_of(parameters[0]), least)
        for item in in_ci:
            if item not in in_test:
                is_in_ci = has(item, "whole") or item in in_sample
                item.add_marker(pytest.mark.exhaustive if is_in_ci else pytest.mark.recorded)


def sample(quick: Sequence[T], in_ci: Sequence[T], seconds: float, least: int = 1) -> tuple[list[T], list[T]]:
    """The parameters that run in `make test`, all of them quick, and those that run in CI, the former included."""
    in_test = spread(quick, int(TEST_SECONDS / seconds))
    others = [parameter for parameter in in_ci if parameter not in in_test]
    return in_test, [*in_test, *spread(others, max(least, int(CI_SECONDS / seconds)) - len(in_test))]


def unmarked(items: Iterable[pytest.Item]) -> list[str]:
    """The tests that take more than a second of `make test`, and have no mark that says when they run."""
    return [
        "::".join(place_of(parameters[0]))
        for parameters in tests_of(items)
        if sum(map(seconds_of, parameters)) > TEST_SECONDS and not any(has(item, *MARKS) for item in parameters)
    ]


def runs(items: Iterable[pytest.Item]) -> Iterator[str]:
    """A line for each test: how many of its parameters run when."""
    for parameters in tests_of(items):
        in_ci = [item for item in parameters if not has(item, "recorded")]
        in_test = [item for item in in_ci if not has(item, "exhaustive")]
        yield (
            f"{'::'.join(place_of(parameters[0]))}: {seconds_of(parameters[0]):.2f} s for each of {len(parameters)}; "
            f"make test {len(in_test)}, CI {len(in_ci)}, make verify {len(parameters) - len(in_ci)}"
        )


def group_of(item: pytest.Item) -> str:
    """The group of a test."""
    for group in item.iter_markers("xdist_group"):
        return str(group.args[0])
    if uses_shared_session(item):
        return SPARK
    file = item.path.relative_to(TESTS).with_suffix("").as_posix()
    return SPARK_PROCESSES if "spark" in file else file


def uses_shared_session(item: pytest.Item | None) -> bool:
    """Whether a test uses the session that consecutive tests share."""
    return "local_spark" in getattr(item, "fixturenames", ())


def sort(items: list[pytest.Item]) -> None:
    """Sort the tests that run: the groups of Spark, then the others, those that take longest first."""
    seconds = dict.fromkeys(map(group_of, items), 0.0)
    for item in items:
        seconds[group_of(item)] += seconds_of(item)
    items.sort(key=lambda item: (*(group_of(item) != group for group in SPARK_GROUPS), -seconds[group_of(item)]))

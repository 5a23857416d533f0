"""Groups the tests that stay together on one worker, orders the groups, and limits how many parameters a test has.

In:  the tests that pytest has collected; volume.toml beside this file.
Out: a group for each test, and their order: the slowest groups first, so that all workers end at about the same time.
     Marks `exhaustive` and `recorded` for the parameters that volume.toml leaves out of `make test` and of CI.

The tests of a file are a group: they share fixtures and compiled kernels, which two workers would build twice. The
tests of Spark are two groups: tests that share one session, and tests that start their own sessions or share a cluster.
Both groups wait for Spark most of the time, so they run side by side. A test with its own group mark keeps that group.
A session takes long to start, so the tests that share one run with the exhaustive tests.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import TypeVar

import pytest

T = TypeVar("T")

TESTS = Path(__file__).parent
SPARK = "one session of Spark"
SPARK_PROCESSES = "sessions and a cluster of Spark"

SECONDS: Mapping[str, int] = {
    SPARK_PROCESSES: 220,
    SPARK: 170,
    "docs/test_commands": 138,
    "checker/atlas/test_pages_browser": 109,
    "isrcheck/test_wheel": 75,
    "traces/drawing/test_page_browser": 73,
    "follow/test_observations": 61,
    "checker/disk/test_disk": 45,
    "models/test_kafka": 44,
    "checker/symbolic/test_bounded_model_checking": 52,
    "isrcheck/test_command": 38,
    "traces/browser/test_browser": 33,
    "follow/test_command": 33,
    "wire/test_trace": 32,
    "checker/explicit/test_search": 28,
    "follow/wire/test_wire": 25,
    "models/cap/test_cuts": 24,
    "follow/online/test_online": 24,
    "follow/test_many": 22,
    "checker/test_process": 22,
    "replay/test_bugs": 21,
    "models/language/test_language": 21,
    "checker/proofs/test_prove": 21,
    "follow/test_runs": 21,
    "models/published/test_other_models": 19,
    "traces/terminal/test_explore": 19,
    "checker/symbolic/test_evaluator": 18,
    "fuzz/test_fuzz": 18,
    "checker/explicit/test_possible_states": 17,
    "follow/test_search": 17,
    "models/quorum/test_quorum": 17,
    "follow/test_transactions": 16,
    "checker/sweep/test_sweep": 16,
    "follow/test_in_time": 15,
    "models/liveness/test_kafka": 14,
    "checker/reductions/test_dead": 13,
    "replay/test_state_machines": 13,
    "checker/comparisons/test_matrix": 13,
    "isrcheck/test_pytest_plugin": 13,
    "checker/proofs/test_unbounded_abstraction": 12,
    "follow/test_bugs": 11,
    "replay/test_histories": 11,
    "checker/symbolic/test_and_inverter_graph": 11,
    "checker/test_cli": 11,
    "replay/test_command": 11,
    "checker/explicit/test_in_range": 11,
    "cluster/test_runs": 11,
    "checker/reductions/test_symmetry": 11,
    "test_suite": 11,
    "checker/graph/test_page": 11,
    "checker/compile/test_kernel": 10,
    "wire/test_clients": 10,
    "checker/answers/test_searched": 21,
    "checker/answers/test_rules": 10,
    "follow/recorded/test_records": 10,
}
"""Seconds of the slow groups in a run of all tests, roughly; only their order matters. Spark waits, and so begins."""


@cache
def volume() -> Mapping[str, Mapping[str, Mapping[str, int]]]:
    """The content of volume.toml: for each file and test, how many parameters run."""
    return tomllib.loads((TESTS / "volume.toml").read_text(encoding="utf-8"))


def limit_volume(items: Sequence[pytest.Item]) -> None:
    """Mark the parameters that volume.toml leaves out of `make test` or of CI."""
    tests: dict[tuple[str, str], list[pytest.Item]] = {}
    for item in items:
        file = item.path.relative_to(TESTS).as_posix() if item.path.is_relative_to(TESTS) else ""
        name = getattr(item, "originalname", item.name)
        if name in volume().get(file, {}):
            tests.setdefault((file, name), []).append(item)
    for (file, name), parameters in tests.items():
        limits = volume()[file][name]
        quick = [one for one in parameters if not has(one, "exhaustive") and not has(one, "recorded")]
        in_ci = [one for one in parameters if not has(one, "recorded")]
        most = limits.get("all", len(in_ci))
        kept = spread(quick, min(limits.get("test", len(quick)), most))
        others = [one for one in in_ci if one not in kept]
        more = spread(others, most - len(kept))
        for one in others:
            one.add_marker(pytest.mark.exhaustive if one in more else pytest.mark.recorded)


def has(item: pytest.Item, mark: str) -> bool:
    """Whether a test has a mark."""
    return item.get_closest_marker(mark) is not None


def spread(items: Sequence[T], count: int) -> list[T]:
    """So many of the items, at even distances."""
    count = min(count, len(items))
    return [items[number * len(items) // count] for number in range(count)]


def group_of(item: pytest.Item) -> str:
    """The group of a test."""
    marks = [str(mark.args[0]) for mark in item.iter_markers("xdist_group")]
    if marks:
        return marks[0]
    file = item.path.relative_to(TESTS).with_suffix("").as_posix()
    if uses_shared_session(item):
        return SPARK
    return SPARK_PROCESSES if "spark" in file else file


def uses_shared_session(item: pytest.Item | None) -> bool:
    """Whether a test uses the session that consecutive tests share."""
    return "local_spark" in getattr(item, "fixturenames", ())


def schedule(items: list[pytest.Item]) -> None:
    """Mark every test with its group, and what volume.toml leaves out; sort the tests."""
    limit_volume(items)
    groups = {item: group_of(item) for item in items}
    for item, group in groups.items():
        if uses_shared_session(item):
            item.add_marker(pytest.mark.exhaustive)
        if not any(item.iter_markers("xdist_group")):
            item.add_marker(pytest.mark.xdist_group(group))
    items.sort(key=lambda item: (-SECONDS.get(groups[item], 0), not uses_shared_session(item)))

"""Measures the processor time of each test: `pytest --timings FILE`, or `make timings` for all tests.

In:  the tests of a run, on one worker or several; the file of an earlier measurement.
Out: the file: for each test the seconds of one call, mean over its parameters. Tests that did not run keep theirs.

The time is that of the process and of the processes that it has started and awaited, in set-up and call. What a test
waits for (Spark, a browser, a timer) does not count.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest

TESTS = Path(__file__).parent
REGISTER = TESTS / "timings.toml"
LEAST = 0.05
"""Tests of fewer seconds have no entry."""

HEAD = """\
# Processor seconds of one call of each test, the mean over its parameters: `make timings` measures them anew.
# Tests without an entry take less. How many parameters of a test run where follows from this (schedule.py).
"""

Timings = Mapping[str, Mapping[str, float]]
"""The seconds of one call, by file and test."""


def stored(path: Path = REGISTER) -> Timings:
    """The content of the register."""
    return tomllib.loads(path.read_text(encoding="utf-8"))


def place_of(item: pytest.Item) -> tuple[str, str]:
    """The file of a test, from the folder of the tests, and its name without parameters."""
    file = item.path.relative_to(TESTS).as_posix() if item.path.is_relative_to(TESTS) else item.path.name
    return file, getattr(item, "originalname", None) or item.name


class Measurement:
    """The calls of each test and their seconds; those of several workers can be added."""

    def __init__(self) -> None:
        self.calls: dict[str, list[float]] = {}

    @contextmanager
    def of(self, item: pytest.Item, calls: int) -> Iterator[None]:
        """Measure a part of a test, which counts as so many calls."""
        began = _processor_seconds()
        yield
        measured = self.calls.setdefault("::".join(place_of(item)), [0, 0.0])
        measured[0] += calls
        measured[1] += _processor_seconds() - began

    def add(self, calls: Mapping[str, list[float]]) -> None:
        """Add what a worker has measured."""
        for test, (count, seconds) in calls.items():
            measured = self.calls.setdefault(test, [0, 0.0])
            measured[0] += count
            measured[1] += seconds

    def write(self, path: Path) -> None:
        """Write the register, with the earlier seconds of the tests that were not measured."""
        files = {file: dict(tests) for file, tests in (stored(path) if path.exists() else {}).items()}
        for test, (count, seconds) in self.calls.items():
            file, _, name = test.partition("::")
            if count:
                files.setdefault(file, {})[name] = round(seconds / count, 2)
        lines = [HEAD]
        for file in sorted(files):
            slow = {name: seconds for name, seconds in sorted(files[file].items()) if seconds >= LEAST}
            if slow and (TESTS / file).exists():
                lines.append(f'["{file}"]\n' + "".join(f"{name} = {seconds}\n" for name, seconds in slow.items()))
        path.write_text("\n".join(lines), encoding="utf-8")


def _processor_seconds() -> float:
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system

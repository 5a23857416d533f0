"""Measures the processor time of each test: `pytest --timings FILE`, which `make timings` does for all tests.

In:  the tests of a run, on one worker or several; the file of an earlier measurement.
Out: the file, renewed every minute and at the end: for each test the seconds of one call, the mean over its parameters
     except the first, which also pays for what all of them share. Tests that did not run keep their seconds; tests that
     no longer exist lose them.

The time is that of the call, in this process and in all processes that descend from it, such as browsers and Spark.
"""

from __future__ import annotations

import os
import time
import tomllib
from collections.abc import Generator, Mapping
from functools import cache
from pathlib import Path
from statistics import mean

import pytest

TESTS = Path(__file__).parent
REGISTER = TESTS / "timings.toml"
LEAST = 0.02
"""Tests of fewer seconds have no entry."""

HEAD = f"""\
# Processor seconds of one call of each test, the mean over its parameters: measured by `make timings`, never edited.
# Tests without an entry take less than {LEAST} s, or run with `make verify` only. schedule.py uses this file.
"""

Timings = Mapping[str, Mapping[str, float]]
"""The seconds of one call, by file and test."""


def stored(path: Path = REGISTER) -> Timings:
    """The content of the register."""
    return tomllib.loads(path.read_text(encoding="utf-8")) if path.exists() else {}


def place_of(item: pytest.Item) -> tuple[str, str]:
    """The file of a test, from the folder of the tests, and its name without parameters."""
    file = item.path.relative_to(TESTS).as_posix() if item.path.is_relative_to(TESTS) else item.path.name
    return file, getattr(item, "originalname", None) or item.name


def has_test(file: str, name: str) -> bool:
    """Whether a file defines a test."""
    return f"def {name}(" in _content(file)


@cache
def _content(file: str) -> str:
    path = TESTS / file
    return path.read_text(encoding="utf-8") if path.exists() else ""


class Measurement:
    """A plugin of pytest that measures the calls of tests. Workers send their seconds with the reports."""

    def __init__(self, path: Path, *, is_worker: bool) -> None:
        self.path = path
        self.is_worker = is_worker
        self.calls: dict[tuple[str, str], list[float]] = {}
        self.written = time.monotonic()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> Generator[None, object, object]:
        """Attach the seconds of a call to its report."""
        report = yield
        if call.when == "call":
            vars(report)["measured"] = [*place_of(item), item.stash[SECONDS]]
        return report

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Generator[None, None, None]:
        """Measure a call."""
        began = processor_seconds()
        try:
            return (yield)
        finally:
            item.stash[SECONDS] = processor_seconds() - began

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Add the seconds of a call; write the register every minute, so that an interrupted run loses little."""
        if measured := vars(report).get("measured"):
            file, name, seconds = measured
            self.calls.setdefault((file, name), []).append(seconds)
        if time.monotonic() - self.written > 60:
            self.write()

    def pytest_sessionfinish(self) -> None:
        """Write the register."""
        self.write()

    def write(self) -> None:
        """Write the register, with the earlier seconds of the tests that were not measured. Workers write nothing."""
        if self.is_worker:
            return
        self.written = time.monotonic()
        files = {file: dict(tests) for file, tests in stored(self.path).items()}
        for (file, name), seconds in self.calls.items():
            files.setdefault(file, {})[name] = round(mean(seconds[1:] or seconds), 2)
        lines = [HEAD]
        for file, tests in sorted(files.items()):
            kept = [f"{name} = {t}\n" for name, t in sorted(tests.items()) if t >= LEAST and has_test(file, name)]
            if kept:
                lines.append(f'["{file}"]\n' + "".join(kept))
        self.path.write_text("\n".join(lines), encoding="utf-8")


SECONDS = pytest.StashKey[float]()
"""The processor seconds of the call of a test."""


def processor_seconds() -> float:
    """The processor seconds of this process and of its descendants, living or awaited."""
    parents, ticks = {}, {}
    for path in Path("/proc").glob("[0-9]*/stat"):  # without /proc, only processes that were awaited count
        try:
            fields = path.read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
        except OSError:
            continue  # the process has just ended
        process = int(path.parent.name)
        parents[process], ticks[process] = int(fields[1]), sum(map(int, fields[11:15]))  # proc_pid_stat(5)
    times = os.times()
    own = times.user + times.system + times.children_user + times.children_system
    descendants = {os.getpid()}
    while more := {process for process, parent in parents.items() if parent in descendants} - descendants:
        descendants |= more
    return own + sum(ticks.get(process, 0) for process in descendants - {os.getpid()}) / os.sysconf("SC_CLK_TCK")

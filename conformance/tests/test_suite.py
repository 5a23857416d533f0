"""Tests of the test suite: groups of tests, excluded tests, and the sum of several runs."""

from __future__ import annotations

import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from conformance.tests import verify
from conformance.tests.schedule import UNMARKED, sample, spread
from conformance.tests.support.places import PROJECT
from conformance.tests.timings import LEAST, Measurement, has_test, stored
from isrcheck.checker.comparisons.matrix_record import recorded
from isrcheck.models import registry

pytestmark = pytest.mark.sampled

REPORT = '<testsuites><testsuite tests="{}" failures="{}" errors="{}" skipped="{}"/></testsuites>'


def total(*paths: Path) -> tuple[int, list[str]]:
    done = subprocess.run(
        [sys.executable, ".ci/total.py", *map(str, paths)], cwd=PROJECT, capture_output=True, text=True, check=False
    )
    return done.returncode, done.stdout.splitlines()


def test_the_last_line_of_ci_sums_both_runs_of_the_tests(tmp_path: Path) -> None:
    (tmp_path / "a.xml").write_text(REPORT.format(10, 1, 2, 3), encoding="utf-8")
    (tmp_path / "b.xml").write_text(REPORT.format(5, 0, 0, 0), encoding="utf-8")
    assert total(tmp_path / "a.xml", tmp_path / "b.xml") == (0, ["9 passed, 3 failed, 3 skipped"])


def test_an_unfinished_test_run_is_reported(tmp_path: Path) -> None:
    (tmp_path / "a.xml").write_text(REPORT.format(10, 0, 0, 0), encoding="utf-8")
    missing = tmp_path / "b.xml"
    assert total(tmp_path / "a.xml", missing) == (
        1,
        [f"{missing}: this test run did not end; see above", "10 passed, 0 failed, 0 skipped"],
    )


def pytest_prints(*words: str) -> str:
    """The output of a run of pytest."""
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-q", *words]
    return subprocess.run(command, cwd=PROJECT, capture_output=True, text=True, check=False).stdout


@pytest.mark.exhaustive
def test_the_number_of_deselected_tests_is_reported() -> None:
    file = "conformance/tests/follow/test_observations.py"
    left = re.search(
        r"^exhaustive tests left out: (\d+); they run with: make test-exhaustive\n"
        r"recorded tests left out: (\d+); they run with: make verify\n[^\n]*\((\d+) deselected\)",
        pytest_prints("--collect-only", "-m", "not exhaustive and not recorded", file),
        re.MULTILINE,
    )
    assert left is not None
    exhaustive, recorded, together = map(int, left.groups())
    assert (exhaustive > 0, recorded > 0, exhaustive + recorded) == (True, True, together)


@pytest.mark.exhaustive
def test_when_each_test_runs_is_printed() -> None:
    """The counts are those of the tests that the marks select."""
    file = "conformance/tests/checker/explicit/test_in_range.py"
    name = "test_every_engine_finds_what_a_naive_search_finds"
    counts = []
    for marks in ("not exhaustive and not recorded", "not recorded", "recorded"):
        lines = pytest_prints("--collect-only", "-m", marks, file).splitlines()
        counts.append(sum(f"::{name}[" in line for line in lines))
    (line,) = (line for line in pytest_prints("--when", file).splitlines() if f"::{name}: " in line)
    assert line.endswith("; make test {}, CI {}, make verify {}".format(*counts))


def test_the_groups_are_honoured(request: pytest.FixtureRequest) -> None:
    """pytest-xdist reads the group from the end of a test's name. Without groups, workers repeat each other's work."""
    if not request.config.getoption("loadgroup", default=False):
        pytest.skip("this run has one process")
    assert request.node.nodeid.endswith("@test_suite")


def test_a_slow_test_says_when_it_runs(request: pytest.FixtureRequest) -> None:
    assert request.config.stash[UNMARKED] == [], "give them a mark, such as `sampled`: conformance/tests/schedule.py"


def test_every_measured_test_exists() -> None:
    measured = [(file, name) for file, tests in stored().items() for name in tests]
    assert len(measured) > 100
    gone = [place for place in measured if not has_test(*place)]
    assert gone == [], "measure their files: pytest -m 'not recorded' --timings conformance/tests/timings.toml FILE"


def test_a_sample_takes_a_second_in_make_test_and_two_in_ci() -> None:
    quick, in_ci = range(10), range(20)
    for seconds, counts in {0.05: (10, 20), 0.4: (2, 5), 1.2: (0, 1), 9: (0, 1)}.items():
        in_test, in_sample = sample(quick, in_ci, seconds)
        assert (len(in_test), len(in_sample)) == counts
        assert in_sample[: len(in_test)] == in_test
    assert sample([0], [0], 9) == ([], [0])  # a test without parameters never leaves CI


def test_parameters_are_spread_evenly() -> None:
    assert [spread(range(10), count) for count in (0, 1, 3, 10, 12)] == [
        [], [0], [0, 3, 6], [*range(10)], [*range(10)],
    ]  # fmt: skip


def test_every_record_can_be_computed_anew() -> None:
    short, long = verify.short_records(), verify.long_records(1)
    assert {f"the matrix, {run.title}" for run in recorded()} < short.keys()
    assert {f"the matrix, kafka {protocol}" for protocol in registry.load("kafka")[0].protocols} < short.keys()
    assert {"the state counts of the published models", "the proofs of the matrix"} < short.keys()
    assert long.keys() == {"golden traces and drawings", "the tests that are marked recorded", "random programs"}


def test_a_sample_of_too_many_records_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    count = len(verify.short_records())
    assert verify.main(["--sample", str(count + 1)]) == 2
    expected = f"--sample {count + 1}: there are {count} records; give 1 to {count}\n"
    assert capsys.readouterr().err == expected


@pytest.mark.sampled
def test_a_run_of_the_matrix_that_differs_is_reported() -> None:
    run = next(run for run in recorded() if run.title == "kafka 0.8 retries")
    assert verify.of_run(run) == ""
    changed = replace(run, permitted={**run.permitted, "no_duplicates": 3}, states=1)
    assert verify.of_run(changed).splitlines() == [
        "no_duplicates: permitted at step 2, recorded 3",
        f"{run.states} states, recorded 1",
    ]


def test_a_measurement_keeps_what_it_does_not_measure_and_drops_what_is_gone(tmp_path: Path) -> None:
    register = tmp_path / "timings.toml"
    register.write_text(
        '["test_suite.py"]\ntest_gone = 2.0\n\n["test_architecture.py"]\ntest_imports_follow_the_table = 1.0\n'
    )
    measurement = Measurement(register, is_worker=False)
    measurement.calls["test_suite.py", "test_parameters_are_spread_evenly"] = [2.0, 0.5, 1.0]
    measurement.calls["test_suite.py", "test_the_groups_are_honoured"] = [LEAST / 2]
    measurement.write()
    assert stored(register) == {
        "test_suite.py": {"test_parameters_are_spread_evenly": 0.75},
        "test_architecture.py": {"test_imports_follow_the_table": 1.0},
    }


@pytest.mark.exhaustive
def test_workers_measure_processes_that_a_test_starts(tmp_path: Path) -> None:
    register = tmp_path / "timings.toml"
    name = "test_the_number_of_deselected_tests_is_reported"
    pytest_prints("-n", "1", "--timings", str(register), "conformance/tests/test_suite.py", "-k", name)
    assert [*stored(register)["test_suite.py"]] == [name]
